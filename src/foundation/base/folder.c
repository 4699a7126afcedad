/* Folders of the caches (programs, fields, samples).
 *
 * Cache entries are used without further verification; a program is even executed as code. Files
 * are therefore only read from and written to folders that belong to the user and that no other
 * user can write. The folder is opened first, and the open folder is checked. Files are then
 * opened, created and renamed relative to it, without following symbolic links. Another user can
 * therefore neither place a file or a link in it, nor exchange the folder between check and use,
 * nor hold a lock in it.
 */
#include "base/cache.h"
#include "base/system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define HOME_VARIABLE "LOCALAPPDATA"
#define CACHE_FORMAT "%s/abut"
#else
#define HOME_VARIABLE "HOME"
#define CACHE_FORMAT "%s/.cache/abut"
#endif

bool abuti_folder_own(char *folder, size_t bytes) {
    const char *own = getenv("ABUT_CACHE_DIR");
    const char *shared = getenv("XDG_CACHE_HOME"), *home = getenv(HOME_VARIABLE);
    int length = -1;
    if (own && strcmp(own, "off") == 0)
        return false;
    if (own && own[0])
        length = snprintf(folder, bytes, "%s", own);
    else if (shared && shared[0] == '/') /* the XDG specification ignores relative paths */
        length = snprintf(folder, bytes, "%s/abut", shared);
    else if (home && home[0])
        length = snprintf(folder, bytes, CACHE_FORMAT, home);
    return length > 0 && (size_t)length < bytes;
}

/* Creates the missing folders of a path, with access for the user only. */
static void make_folders(const char *path) {
    char folder[ABUTI_FOLDER_BYTES];
    for (size_t i = 0; path[i] && i + 1 < sizeof folder; i++) {
        folder[i] = path[i];
        folder[i + 1] = 0;
        if (i && path[i + 1] == '/')
            abuti_system_make_folder(folder);
    }
}

void abuti_folder_name(const unsigned char digest[ABUTI_DIGEST_BYTES], char name[ABUTI_HEX_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ABUTI_DIGEST_BYTES; i++) {
        name[2 * i] = digits[digest[i] >> 4];
        name[2 * i + 1] = digits[digest[i] & 15];
    }
    name[ABUTI_HEX_BYTES - 1] = 0;
}

bool abuti_folder_is_name(const char *name, const char *ending) {
    return strspn(name, "0123456789abcdef") == 2 * ABUTI_DIGEST_BYTES &&
           strcmp(name + 2 * ABUTI_DIGEST_BYTES, ending) == 0;
}

bool abuti_folder_is_temporary(const char *name) {
    return strncmp(name, ".abut-", 6) == 0;
}

/* ---- files that only the user can have written ---- */

/* Opens the folder of a file. A folder directly below the cache folder is only as private as the
 * cache folder, because another user could replace it there. Returns -1 if it cannot be used:
 * *problem has the reason, as a phrase about `folder`, and errno is EPERM; or *problem is null and
 * errno has the reason. */
static int open_folder_of(const char *path, char folder[ABUTI_FOLDER_BYTES], const char **problem) {
    char own[ABUTI_FOLDER_BYTES];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    *problem = NULL;
    if (length >= ABUTI_FOLDER_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    while (length > 1 && path[length - 1] == '/') /* a link followed by a slash would be followed */
        length--;
    memcpy(folder, path, length);
    folder[length] = 0;
    if (!length)
        strcpy(folder, slash ? "/" : ".");
    int parent = ABUTI_NO_FOLDER, opened;
    const char *last = strrchr(folder, '/');
    bool below = last && last != folder && abuti_folder_own(own, sizeof own) &&
                 strlen(own) == (size_t)(last - folder) && !strncmp(folder, own, strlen(own));
    if (below && (parent = abuti_system_open_private(parent, own, problem)) < 0) {
        strcpy(folder, own);
        opened = -1;
    } else {
        opened = abuti_system_open_private(parent, folder, problem);
    }
    int error = *problem ? EPERM : errno;
    abuti_system_close_folder(parent);
    errno = error;
    return opened;
}

/* True unless the previous warning was about the same folder, compared by hash (FNV-1a). */
static bool is_new_warning(const char *folder) {
    static atomic_uint_least32_t last;
    uint_least32_t hash = 2166136261u;
    for (; *folder; folder++)
        hash = (hash ^ (unsigned char)*folder) * 16777619u;
    return atomic_exchange(&last, hash) != hash;
}

bool abuti_folder_is_usable(abut_context *context, const char *path) {
    char folder[ABUTI_FOLDER_BYTES];
    const char *problem;
    int opened = open_folder_of(path, folder, &problem);
    if (opened >= 0)
        abuti_system_close_folder(opened);
    if (!problem) /* a missing folder is created later; other errors are reported on use */
        return true;
    if (is_new_warning(folder))
        abuti_log(context, ABUT_LOG_WARNING,
                  "the cache is not used: the folder %s %s; set ABUT_CACHE_DIR to a folder that "
                  "belongs to you and that no other user can write (chmod 700)",
                  folder, problem);
    return false;
}

abut_status abuti_source_open_own(abuti_source *source, abut_context *context, const char *path) {
    char where[ABUTI_FOLDER_BYTES];
    const char *problem;
    struct stat about;
    int file = -1, folder = open_folder_of(path, where, &problem);
    if (folder >= 0) {
        /* without O_NONBLOCK, opening a pipe would wait for its other end */
        file = abuti_system_open(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
        int error = errno;
        abuti_system_close_folder(folder);
        errno = error;
    }
    bool is_private = file < 0 ? errno != EPERM && errno != ELOOP
                               : fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                                     abuti_system_is_private(&about);
    if (is_private)
        return abuti_source_open_descriptor(source, context, file, path);
    if (file >= 0)
        close(file);
    return abuti_fail(ABUT_ERROR_FILE,
                      "%s: is not used: it must be a regular file that belongs to you and that no "
                      "other user can write, and so must its folder",
                      path);
}

abut_status abuti_sink_open_own(abuti_sink *sink, abut_context *context, const char *path) {
    char where[ABUTI_FOLDER_BYTES];
    const char *problem;
    make_folders(path);
    int folder = open_folder_of(path, where, &problem);
    if (folder < 0)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot be written: its folder %s", path,
                          problem ? problem : strerror(errno));
    return abuti_sink_open_in(sink, context, folder, path);
}

double abuti_system_age(const struct stat *about) {
    struct timespec now;
    const struct timespec then = abuti_system_modified_at(about);
    clock_gettime(CLOCK_REALTIME, &now);
    double age = difftime(now.tv_sec, then.tv_sec) + 1e-9 * (double)(now.tv_nsec - then.tv_nsec);
    return age > 0 ? age : 0;
}
