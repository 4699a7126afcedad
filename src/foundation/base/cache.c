/* Files of the disk cache.
 *
 * A file consists of a head with magic, version, kind, key and size, and of the content. The head
 * has a checksum. Content that is loaded as a whole is followed by its checksum; fields have a
 * checksum for each block, so they are read as a stream without a copy. A file is written aside
 * and renamed, and never modified: readers see a complete file or none, and two writers of a key
 * write the same content. base/folder.c rejects files and folders that another user owns or can
 * write, because a program is executed and other content is trusted to match its key. Damage is
 * therefore all that the checksums must detect. No size in a file is trusted: it must match that of
 * the file system before memory is allocated.
 *
 * Entries of old versions, drivers or meshes are never used again. Each use updates the
 * modification time of a file, and each store evicts the least recently used files.
 */
#include "base/cache.h"

#include "base/checksum.h"
#include "base/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\211abutc\r\n"
enum { VERSION = 2, BYTE_ORDER_MARK = 0x01020304, NAME_BYTES = 2 * ABUTI_DIGEST_BYTES + 17 };

typedef struct cache_head {
    unsigned char magic[8];
    uint32_t order, version, kind, reserved;
    unsigned char key[ABUTI_DIGEST_BYTES];
    uint64_t bytes;    /* of everything that follows the head */
    uint64_t checksum; /* of all preceding members */
} cache_head;

_Static_assert(sizeof(cache_head) == 72, "layout of cache files");

/* A program takes 0.1 to 1 MB; a field of 512^3 cells takes 30 to 500. */
const abuti_cache_kind abuti_cache_programs = {.what = "the program is",
                                               .suffix = ".program",
                                               .folder = "",
                                               .number = 1,
                                               .max_mebibytes = 256},
                       abuti_cache_fields = {.what = "the field is",
                                             .suffix = ".fields",
                                             .folder = "/fields",
                                             .number = 2,
                                             .max_mebibytes = 16384},
                       abuti_cache_samples = {.what = "the samples are",
                                              .suffix = ".samples",
                                              .folder = "/fields",
                                              .number = 3,
                                              .max_mebibytes = 4096};

/* ---- paths ---- */

/* Returns false if there is no folder or its path is too long. */
static bool find_folder(const abuti_cache_kind *kind, const char *given,
                        char folder[ABUTI_FOLDER_BYTES]) {
    char own[ABUTI_FOLDER_BYTES] = "";
    if (!given[0] && !abuti_folder_own(own, sizeof own))
        return false;
    int length = snprintf(folder, ABUTI_FOLDER_BYTES, "%s%s", given[0] ? given : own,
                          given[0] ? "" : kind->folder);
    return length > 0 && length < ABUTI_FOLDER_BYTES;
}

void abuti_cache_find(abut_context *context, const abuti_cache_kind *kind, const char *folder,
                      const unsigned char key[ABUTI_DIGEST_BYTES], abuti_cache_entry *entry) {
    char where[ABUTI_FOLDER_BYTES], own[ABUTI_FOLDER_BYTES], name[ABUTI_HEX_BYTES];
    entry->kind = kind;
    entry->path[0] = 0;
    memcpy(entry->key, key, sizeof entry->key);
    if (!find_folder(kind, folder, where)) {
        if (folder[0] || abuti_folder_own(own, sizeof own))
            abuti_log(context, ABUT_LOG_WARNING,
                      "the path of the cache folder is too long, so nothing is cached");
        return;
    }
    abuti_folder_name(key, name);
    snprintf(entry->path, sizeof entry->path, "%s/%s%s", where, name, kind->suffix);
    if (!abuti_folder_is_usable(context, entry->path))
        entry->path[0] = 0;
}

bool abuti_cache_exists(const abuti_cache_entry *entry) {
    return entry->path[0] && (access(entry->path, F_OK) == 0 || errno != ENOENT);
}

/* ---- read ---- */

static abut_status fail_format(const abuti_source *source, const char *what) {
    return source->failed ? abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", source->name)
                          : abuti_fail(ABUT_ERROR_FORMAT, "%s: %s", source->name, what);
}

/* `total` is the size of the file. */
static abut_status read_head(abuti_source *source, const abuti_cache_entry *entry, uint64_t total) {
    cache_head head;
    if (abuti_source_read(source, &head, sizeof head) != sizeof head)
        return fail_format(source, "is damaged: it ends too early");
    if (memcmp(head.magic, MAGIC, sizeof head.magic) != 0)
        return fail_format(source, "is not a cache file");
    if (head.order != BYTE_ORDER_MARK || head.version > VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED, "%s: was written %s; remove it", source->name,
                          head.order != BYTE_ORDER_MARK ? "on a machine with the other byte order"
                                                        : "by a newer version of abut");
    if (head.version != VERSION ||
        head.checksum != abuti_checksum(&head, offsetof(cache_head, checksum)))
        return fail_format(source, "is damaged or of an older version of abut");
    if (head.kind != entry->kind->number || head.reserved ||
        memcmp(head.key, entry->key, sizeof head.key) != 0)
        return fail_format(source, "belongs to another key: it was renamed");
    if (head.bytes != total - sizeof head)
        return fail_format(source, "is damaged: its length does not match its head");
    return abuti_source_seek(source, sizeof head, head.bytes);
}

abut_status abuti_cache_open(abut_context *context, const abuti_cache_entry *entry,
                             abuti_source *source) {
    abut_status status = abuti_source_open_own(source, context, entry->path);
    if (status)
        return status;
    if ((status = read_head(source, entry, source->total)))
        abuti_source_close(source);
    return status;
}

abut_status abuti_cache_load(abut_context *context, const abuti_cache_entry *entry,
                             unsigned char **data, size_t *bytes) {
    abuti_source source;
    unsigned char *content = NULL;
    abut_status status = abuti_cache_open(context, entry, &source);
    if (status)
        return status;
    const uint64_t total = source.total;
    uint64_t sum = 0;
    if (total < sizeof sum || total > SIZE_MAX)
        status = fail_format(&source, "is damaged: its length is invalid");
    else if (!(content = abuti_allocate(context, (size_t)total, 1)))
        status = ABUT_ERROR_MEMORY;
    else if (abuti_source_read(&source, content, (size_t)total) != total)
        status = fail_format(&source, "is damaged: it ends too early");
    if (!status) {
        sum = abuti_checksum(content, (size_t)total - sizeof sum);
        if (memcmp(content + (total - sizeof sum), &sum, sizeof sum) != 0)
            status = fail_format(&source, "is damaged: its checksum does not match");
    }
    abuti_source_close(&source);
    if (status) {
        abuti_release(context, content);
        return status;
    }
    *data = content;
    *bytes = (size_t)total - sizeof sum;
    return ABUT_OK;
}

abut_status abuti_cache_end(abut_context *context, const abuti_cache_entry *entry,
                            abut_status status) {
    if (!status)
        abuti_system_touch(entry->path);
    else if (status != ABUT_ERROR_MEMORY && status != ABUT_ERROR_CANCELLED) {
        abuti_log(context, ABUT_LOG_WARNING, "%s computed, since the cache file is unusable: %s",
                  entry->kind->what, abut_last_error());
        status = ABUT_OK;
    }
    return status;
}

/* ---- write ---- */

/* ABUT_CACHE_MAX in MiB, or the default if it is not set or not a number. */
static uint64_t read_cache_limit(const abuti_cache_kind *kind) {
    const char *text = getenv("ABUT_CACHE_MAX");
    char *end = NULL;
    unsigned long mebibytes = text && text[0] ? strtoul(text, &end, 10) : kind->max_mebibytes;
    if (end && (*end || text[0] == '-' || mebibytes > 1u << 20))
        mebibytes = kind->max_mebibytes;
    return (uint64_t)mebibytes << 20;
}

typedef struct cache_content {
    const void *data;
    size_t bytes;
} cache_content;

static abut_status write_content(const void *data, abuti_sink *sink) {
    const cache_content *content = data;
    const uint64_t sum = abuti_checksum(content->data, content->bytes);
    abuti_sink_write(sink, content->data, content->bytes);
    abuti_sink_write(sink, &sum, sizeof sum);
    return ABUT_OK;
}

static abut_status write_entry(abut_context *context, const abuti_cache_entry *entry,
                               abut_status (*write)(const void *data, abuti_sink *sink),
                               const void *data) {
    abuti_sink sink;
    cache_head head = {.order = BYTE_ORDER_MARK, .version = VERSION, .kind = entry->kind->number};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    memcpy(head.key, entry->key, sizeof head.key);
    abut_status status = abuti_sink_open_own(&sink, context, entry->path);
    if (status)
        return status;
    abuti_sink_write(&sink, &head, sizeof head); /* again when the size is known */
    if ((status = write(data, &sink))) {
        abuti_sink_discard(&sink);
        return status;
    }
    const off_t end = sink.error ? 0 : ftello(sink.file);
    if (!sink.error && (end < (off_t)sizeof head || fseeko(sink.file, 0, SEEK_SET) != 0))
        sink.error = errno;
    head.bytes = (uint64_t)end - sizeof head;
    head.checksum = abuti_checksum(&head, offsetof(cache_head, checksum));
    abuti_sink_write(&sink, &head, sizeof head);
    return abuti_sink_commit(&sink);
}

void abuti_cache_store_stream(abut_context *context, const abuti_cache_entry *entry,
                              abut_status (*write)(const void *data, abuti_sink *sink),
                              const void *data) {
    if (!entry->path[0])
        return;
    if (write_entry(context, entry, write, data))
        abuti_log(context, ABUT_LOG_WARNING, "%s not stored in the cache: %s", entry->kind->what,
                  abut_last_error());
    else
        abuti_cache_evict(context, entry, read_cache_limit(entry->kind));
}

void abuti_cache_store(abut_context *context, const abuti_cache_entry *entry, const void *data,
                       size_t bytes) {
    const cache_content content = {data, bytes};
    abuti_cache_store_stream(context, entry, write_content, &content);
}

/* ---- folders ---- */

typedef struct cache_name {
    char name[NAME_BYTES];
    bool is_temporary; /* is being written now, or its process was killed */
    uint64_t bytes;
    struct timespec used;
    double age;
} cache_name;

/* The files of a kind, least recently used first. */
typedef struct cache_scan {
    abut_context *context;
    char folder[ABUTI_FOLDER_BYTES];
    DIR *opened; /* null = there is no folder */
    cache_name *files;
    size_t count, capacity;
} cache_scan;

static int compare_use(const void *left, const void *right) {
    const cache_name *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* The folder of `scan` is set. The caller calls end_scan(), also on failure. */
static abut_status scan_folder(cache_scan *scan, const abuti_cache_kind *kind) {
    scan->opened = opendir(scan->folder);
    if (!scan->opened)
        return errno == ENOENT ? ABUT_OK
                               : abuti_fail(ABUT_ERROR_FILE, "%s: cannot be opened: %s",
                                            scan->folder, strerror(errno));
    for (struct dirent *item; (item = readdir(scan->opened));) {
        struct stat about;
        const char *name = item->d_name;
        const bool is_temporary = abuti_folder_is_temporary(name);
        if ((!is_temporary && !abuti_folder_is_name(name, kind->suffix)) ||
            strlen(name) >= NAME_BYTES ||
            abuti_system_stat_entry(scan->opened, scan->folder, name, &about) != 0 ||
            S_ISDIR(about.st_mode))
            continue;
        abut_status status = abuti_grow(scan->context, &scan->files, scan->count, scan->count + 1,
                                        sizeof *scan->files, &scan->capacity);
        if (status)
            return status;
        cache_name *file = &scan->files[scan->count++];
        *file = (cache_name){.is_temporary = is_temporary,
                             .bytes = (uint64_t)about.st_size,
                             .used = abuti_system_modified_at(&about),
                             .age = abuti_system_age(&about)};
        strcpy(file->name, name);
    }
    if (scan->count)
        qsort(scan->files, scan->count, sizeof *scan->files, compare_use);
    return ABUT_OK;
}

/* Scans the folder that a caller of the library names. */
static abut_status scan_given(const char *function, cache_scan *scan, const abuti_cache_kind *kind,
                              const char *folder) {
    if (!folder)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: folder is null; use \"\" for the user's own cache folder", function);
    if (find_folder(kind, folder, scan->folder))
        return scan_folder(scan, kind);
    return folder[0] ? abuti_fail(ABUT_ERROR_ARGUMENT, "%s: folder is too long; use a shorter path",
                                  function)
                     : ABUT_OK; /* the user has no cache */
}

static void end_scan(cache_scan *scan) {
    if (scan->opened)
        closedir(scan->opened);
    abuti_release(scan->context, scan->files);
}

void abuti_cache_evict(abut_context *context, const abuti_cache_entry *entry, uint64_t bytes_max) {
    cache_scan scan = {.context = context};
    const char *slash = strrchr(entry->path, '/');
    uint64_t sum = 0;
    if (!slash)
        return;
    snprintf(scan.folder, sizeof scan.folder, "%.*s", (int)(slash - entry->path + 1), entry->path);
    abut_status status = scan_folder(&scan, entry->kind);
    for (size_t i = 0; i < scan.count; i++)
        sum += scan.files[i].bytes;
    for (size_t i = 0; i < scan.count && !status && sum > bytes_max; i++) {
        const cache_name *file = &scan.files[i];
        if (strcmp(file->name, slash + 1) == 0)
            continue;
        if (abuti_system_remove_entry(scan.opened, scan.folder, file->name) != 0 && errno != ENOENT)
            break; /* ENOENT: another process has removed it */
        sum -= file->bytes;
        abuti_log(context, ABUT_LOG_INFO, "cache: removed %s to stay within the limit", file->name);
    }
    end_scan(&scan);
}

static unsigned char hex_value(char digit) {
    return (unsigned char)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

abut_status abuti_cache_list(const char *function, abut_context *context,
                             const abuti_cache_kind *kind, const char *folder,
                             abuti_cache_visit *visit, void *user) {
    cache_scan scan = {.context = context};
    abut_status status = scan_given(function, &scan, kind, folder);
    bool more = true;
    for (size_t i = 0; i < scan.count && !status && more; i++) {
        const cache_name *name = &scan.files[i];
        if (name->is_temporary)
            continue;
        abuti_cache_file file = {.entry.kind = kind, .bytes = name->bytes, .age = name->age};
        snprintf(file.entry.path, sizeof file.entry.path, "%s/%s", scan.folder, name->name);
        for (size_t k = 0; k < ABUTI_DIGEST_BYTES; k++)
            file.entry.key[k] = (unsigned char)(hex_value(name->name[2 * k]) << 4 |
                                                hex_value(name->name[2 * k + 1]));
        status = visit(user, &file, &more);
    }
    end_scan(&scan);
    return status;
}

abut_status abuti_cache_clear(const char *function, abut_context *context,
                              const abuti_cache_kind *kind, const char *folder, double age,
                              uint64_t *files, uint64_t *bytes) {
    cache_scan scan = {.context = context};
    uint64_t removed = 0, sum = 0;
    if (!(age >= 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: age is %g; it must be 0 seconds or more",
                          function, age);
    abut_status status = scan_given(function, &scan, kind, folder);
    for (size_t i = 0; i < scan.count && !status; i++) {
        const cache_name *file = &scan.files[i];
        if (file->age < age)
            continue;
        if (abuti_system_remove_entry(scan.opened, scan.folder, file->name) == 0) {
            removed++;
            sum += file->bytes;
        } else if (errno != ENOENT) {
            status = abuti_fail(ABUT_ERROR_FILE, "%s/%s: cannot be removed: %s", scan.folder,
                                file->name, strerror(errno));
        }
    }
    end_scan(&scan);
    if (!status && files)
        *files = removed;
    if (!status && bytes)
        *bytes = sum;
    return status;
}
