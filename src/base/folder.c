#include "base/folder.h"
#include "base/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define HOME "LOCALAPPDATA"
#define CACHES "%s/abut"
#else
#define HOME "HOME"
#define CACHES "%s/.cache/abut"
#endif

bool abuti_folder_own(char *folder, size_t bytes) {
    const char *own = getenv("ABUT_CACHE_DIR");
    const char *shared = getenv("XDG_CACHE_HOME"), *home = getenv(HOME);
    int length = -1;
    if (own && strcmp(own, "off") == 0)
        return false;
    if (own && own[0])
        length = snprintf(folder, bytes, "%s", own);
    else if (shared && shared[0] == '/') /* the standard says to ignore relative ones */
        length = snprintf(folder, bytes, "%s/abut", shared);
    else if (home && home[0])
        length = snprintf(folder, bytes, CACHES, home);
    return length > 0 && (size_t)length < bytes;
}

void abuti_folder_make(char *path) {
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            abuti_system_make_folder(path);
            *at = '/';
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

abut_status abuti_source_open_own(abuti_source *source, abut_context *context, const char *path) {
    struct stat about;
    if (stat(path, &about) != 0)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) /* opening a pipe would wait for its writer */
        return abuti_fail(ABUT_ERROR_FILE, "%s: is no regular file", path);
    abut_status status = abuti_source_open(source, context, path);
    if (status)
        return status;
    if (fstat(source->descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
        abuti_system_is_private(&about))
        return ABUT_OK;
    abuti_source_close(source);
    return abuti_fail(ABUT_ERROR_FILE, "%s: is not ours, or others may write it", path);
}

double abuti_system_age(const struct stat *about) {
    struct timespec now;
    const struct timespec then = abuti_system_written(about);
    clock_gettime(CLOCK_REALTIME, &now);
    double age = difftime(now.tv_sec, then.tv_sec) + 1e-9 * (double)(now.tv_nsec - then.tv_nsec);
    return age > 0 ? age : 0;
}
