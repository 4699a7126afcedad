/* Listing, verifying and clearing the files of a cache folder. */
#include "field/cache.h"

#include "base/system.h"

#include <errno.h>
#include <stdlib.h>

typedef struct listing {
    abut_context *context;
    bool verify, ended; /* `ended`: the visitor has stopped the listing */
    abut_field_cache_visit *visit;
    void *user;
} listing;

static abut_status open_folder(const char *function, const char *given, char *folder,
                               DIR **opened) {
    *opened = NULL;
    if (!given)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: folder is null; use \"\" for the user's own cache folder", function);
    if (!abuti_cache_folder(given, folder, CACHE_PATH_BYTES)) {
        if (!given[0])
            return ABUT_OK; /* without a folder there is no cache */
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: folder is too long; use a shorter path",
                          function);
    }
    *opened = opendir(folder);
    if (!*opened && errno != ENOENT)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot be opened: %s", folder, strerror(errno));
    return ABUT_OK;
}

/* ---- list and verify ---- */

static int compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Collects all names before files are opened, since files may be added or removed meanwhile. */
static abut_status collect_names(cache_names *n, DIR *folder, const char *ending) {
    size_t room = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        room += abuti_folder_is_name(entry->d_name, ending);
    n->names = abuti_allocate(n->context, room, sizeof *n->names);
    if (!n->names)
        return ABUT_ERROR_MEMORY;
    rewinddir(folder);
    for (struct dirent *entry; n->count < room && (entry = readdir(folder));)
        if (abuti_folder_is_name(entry->d_name, ending))
            strcpy(n->names[n->count++], entry->d_name);
    qsort(n->names, n->count, sizeof *n->names, compare_names);
    return ABUT_OK;
}

abut_status abuti_cache_names(const char *function, abut_context *context, const char *folder,
                              const char *ending, cache_names *names) {
    DIR *opened;
    names->context = context;
    names->names = NULL;
    names->count = 0;
    abut_status status = open_folder(function, folder, names->folder, &opened);
    if (status || !opened)
        return status;
    status = collect_names(names, opened, ending);
    closedir(opened);
    return status;
}

/* Visits a field of a file. */
static abut_status list_item(listing *l, cache_file *file, const cache_item *item,
                             abut_field_cache_entry *entry) {
    char problem[1024];
    abut_field *field = NULL;
    abut_field_info info = abut_field_info_default();
    entry->info = &info;
    abut_status status = abuti_cache_file_load_info(file, item, &info);
    if (!status && l->verify)
        status = abuti_cache_file_load(file, item, &field);
    if (status == ABUT_ERROR_MEMORY || status == ABUT_ERROR_CANCELLED)
        return status;
    if (field)
        abut_field_get_info(field, &info);
    abut_field_destroy(field);
    entry->stored_bytes = item->bytes;
    snprintf(problem, sizeof problem, "%s", abut_last_error());
    entry->problem = status ? problem : NULL;
    l->ended = !l->visit(l->user, entry);
    entry->info = NULL;
    return ABUT_OK;
}

static abut_status list_file(listing *l, const char *folder, const char *name) {
    char path[CACHE_PATH_BYTES + CACHE_NAME_BYTES], problem[1024];
    cache_file file;
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (abuti_system_stat(ABUTI_NO_FOLDER, path, &about) != 0)
        return ABUT_OK; /* was removed meanwhile */
    const abut_field_info unknown = abut_field_info_default();
    abut_field_cache_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.size = sizeof entry;
    entry.path = path;
    entry.info = &unknown;
    entry.age = abuti_system_age(&about);
    memcpy(entry.mesh, name, sizeof entry.mesh - 1);
    abut_status status = abuti_cache_file_open(&file, l->context, path);
    if (status == ABUT_ERROR_MEMORY)
        return status;
    if (status) {
        snprintf(problem, sizeof problem, "%s", abut_last_error());
        entry.problem = problem;
        entry.stored_bytes = (uint64_t)about.st_size;
        l->ended = !l->visit(l->user, &entry);
        return ABUT_OK;
    }
    for (size_t i = 0; i < file.count && !status && !l->ended; i++)
        status = list_item(l, &file, &file.items[i], &entry);
    abuti_cache_file_close(&file);
    return status;
}

static abut_status list_folder(const char *function, const char *folder, listing *l) {
    cache_names files;
    if (!l->visit)
        return abuti_null(function, "visit");
    abut_status status = abuti_cache_names(function, l->context, folder, CACHE_SUFFIX, &files);
    for (size_t i = 0; i < files.count && !status && !l->ended; i++)
        status = list_file(l, files.folder, files.names[i]);
    abuti_release(l->context, files.names);
    return status;
}

abut_status abut_field_cache_list(abut_context *context, const char *folder,
                                  abut_field_cache_visit *visit, void *user) {
    listing l = {.context = abuti_context_of(context), .visit = visit, .user = user};
    return list_folder("abut_field_cache_list", folder, &l);
}

abut_status abut_field_cache_verify(abut_context *context, const char *folder,
                                    abut_field_cache_visit *visit, void *user) {
    listing l = {.context = abuti_context_of(context),
                 .visit = visit,
                 .user = user,
                 .verify = true};
    return list_folder("abut_field_cache_verify", folder, &l);
}

/* ---- clear ---- */

abut_status abuti_cache_clear(const char *function, const char *folder, const char *ending,
                              double age, uint64_t *files, uint64_t *bytes) {
    char path[CACHE_PATH_BYTES];
    DIR *opened;
    uint64_t removed = 0, sum = 0;
    if (!(age >= 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: age is %g; it must be 0 seconds or more",
                          function, age);
    abut_status status = open_folder(function, folder, path, &opened);
    for (struct dirent *entry; !status && opened && (entry = readdir(opened));) {
        struct stat about;
        const char *name = entry->d_name;
        if ((!abuti_folder_is_name(name, ending) && !abuti_folder_is_temporary(name)) ||
            abuti_system_stat_entry(opened, path, name, &about) != 0 || S_ISDIR(about.st_mode) ||
            abuti_system_age(&about) < age)
            continue;
        if (abuti_system_remove_entry(opened, path, name) == 0) {
            removed++;
            sum += (uint64_t)about.st_size;
        } else if (errno != ENOENT) {
            status = abuti_fail(ABUT_ERROR_FILE, "%s/%s: cannot be removed: %s", path, name,
                                strerror(errno));
        }
    }
    if (opened)
        closedir(opened);
    if (!status && files)
        *files = removed;
    if (!status && bytes)
        *bytes = sum;
    return status;
}

abut_status abut_field_cache_clear(abut_context *context, const char *folder, double age,
                                   uint64_t *files, uint64_t *bytes) {
    (void)context;
    return abuti_cache_clear(__func__, folder, CACHE_SUFFIX, age, files, bytes);
}
