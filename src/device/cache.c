/* The program cache.
 *
 * A file is: magic (16 bytes), its whole length (8 bytes, little end first), the key (32), the
 * length of the description (4), the description, the program, and the SHA-256 of all before it
 * (32). It is written aside and renamed, so that readers see all of it or nothing. Since the
 * content is code that will run, base/folder.c refuses files and folders that another user owns or
 * can write. Nothing here fails a caller: without an entry the program is built from its text.
 *
 * New versions of the library, the driver or the device leave entries behind that no one will ask
 * for again. So an entry is stamped with the time of its last use, and after each new one the
 * oldest go until the folder is within its bound.
 */
#include "device/cache.h"

#include "base/folder.h"
#include "base/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAGIC "abut program 01\n"
#define MAGIC_BYTES 16
#define HEAD_BYTES (MAGIC_BYTES + 8 + ABUTI_DIGEST_BYTES + 4)
#define MOST_BYTES                                                                \
    ((uint64_t)1 << 30) /* no program is that large; a length beyond it is damage \
                         */

/* ---- where ---- */

bool abuti_cache_path(const unsigned char key[ABUTI_DIGEST_BYTES], char *path, size_t path_bytes) {
    char name[ABUTI_HEX_BYTES];
    if (!abuti_folder_own(path, path_bytes))
        return false;
    abuti_folder_name(key, name);
    size_t used = strlen(path);
    int length = snprintf(path + used, path_bytes - used, "/%s.program", name);
    return length > 0 && (size_t)length < path_bytes - used;
}

/* ---- numbers ---- */

static void store_little_endian(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t load_little_endian(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

/* ---- old entries ---- */

static bool is_ours(const char *name) {
    return abuti_folder_is_temporary(name) || abuti_folder_is_name(name, ".program");
}

static bool is_older(const struct stat *a, const char *a_name, const struct stat *b,
                     const char *b_name) {
    const struct timespec p = abuti_system_modified_at(a), q = abuti_system_modified_at(b);
    if (p.tv_sec != q.tv_sec)
        return p.tv_sec < q.tv_sec;
    if (p.tv_nsec != q.tv_nsec)
        return p.tv_nsec < q.tv_nsec;
    return strcmp(a_name, b_name) < 0;
}

/* The bytes of all entries, and the name of the one that was not used for longest, other than
 * `kept`; an empty name where there is none. */
static uint64_t measure_folder(DIR *folder, const char *path, const char *kept, char *oldest,
                               size_t oldest_bytes) {
    uint64_t sum = 0;
    struct stat about, best;
    struct dirent *entry;
    memset(&best, 0, sizeof best);
    oldest[0] = 0;
    rewinddir(folder);
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (!is_ours(name) || strlen(name) >= oldest_bytes ||
            abuti_system_stat_entry(folder, path, name, &about) != 0 || !S_ISREG(about.st_mode))
            continue;
        sum += (uint64_t)about.st_size;
        if (strcmp(name, kept) != 0 && (!oldest[0] || is_older(&about, name, &best, oldest))) {
            best = about;
            strcpy(oldest, name);
        }
    }
    return sum;
}

void abuti_cache_clean(abut_context *context, const char *path, uint64_t most_bytes) {
    char folder_path[1024], oldest[256];
    const char *name = strrchr(path, '/');
    if (!name || (size_t)(name - path) >= sizeof folder_path)
        return;
    memcpy(folder_path, path, (size_t)(name - path));
    folder_path[name - path] = 0;
    if (name == path)
        strcpy(folder_path, "/");
    DIR *folder = opendir(folder_path);
    if (!folder)
        return;
    /* One new entry rarely drives out more than one; the bound keeps a huge folder from holding us
     * up, and the next entry goes on. */
    enum { REMOVED_MAX = 32 };
    for (int removed = 0; removed < REMOVED_MAX; removed++) {
        if (measure_folder(folder, folder_path, name + 1, oldest, sizeof oldest) <= most_bytes ||
            !oldest[0])
            break;
        if (abuti_system_remove_entry(folder, folder_path, oldest) != 0 && errno != ENOENT)
            break; /* another process may have been faster, but then it is gone */
        abuti_log(context, ABUT_LOG_INFO, "the program cache: %s made room", oldest);
    }
    closedir(folder);
}

/* ABUT_CACHE_MAX in MiB; 256 where that is no number. */
static uint64_t most_bytes(void) {
    const char *words = getenv("ABUT_CACHE_MAX");
    char *end = NULL;
    unsigned long mebibytes = words && words[0] ? strtoul(words, &end, 10) : 256;
    if (end && (*end || words[0] == '-' || mebibytes > 1u << 20))
        mebibytes = 256;
    return (uint64_t)mebibytes << 20;
}

/* ---- in ---- */

/* Whether these bytes are a whole entry of this key; then where its program starts. */
static bool is_entry(const unsigned char *file, size_t bytes, const unsigned char *key,
                     size_t *start) {
    unsigned char sum[ABUTI_DIGEST_BYTES];
    abuti_digest digest;
    if (memcmp(file, MAGIC, MAGIC_BYTES) != 0 ||
        load_little_endian(file + MAGIC_BYTES, 8) != bytes ||
        memcmp(file + MAGIC_BYTES + 8, key, ABUTI_DIGEST_BYTES) != 0)
        return false;
    uint64_t about = load_little_endian(file + HEAD_BYTES - 4, 4);
    if (about > bytes - HEAD_BYTES - ABUTI_DIGEST_BYTES)
        return false;
    abuti_digest_begin(&digest);
    abuti_digest_add(&digest, file, bytes - ABUTI_DIGEST_BYTES);
    abuti_digest_end(&digest, sum);
    *start = HEAD_BYTES + (size_t)about;
    return memcmp(sum, file + bytes - ABUTI_DIGEST_BYTES, sizeof sum) == 0;
}

bool abuti_cache_read(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                      unsigned char **program, size_t *bytes) {
    char path[1024];
    abuti_source source;
    if (!abuti_cache_path(key, path, sizeof path) || !abuti_folder_is_usable(context, path) ||
        access(path, F_OK) != 0)
        return false;
    size_t length = 0, start = 0;
    unsigned char *file = NULL;
    bool fine = !abuti_source_open_own(&source, context, path);
    if (fine) {
        length = (size_t)source.total;
        fine = source.total >= HEAD_BYTES + ABUTI_DIGEST_BYTES && source.total <= MOST_BYTES &&
               (file = abuti_allocate(context, length, 1)) &&
               abuti_source_read(&source, file, length) == length &&
               abuti_source_fill(&source, 1) == 0 && is_entry(file, length, key, &start);
        abuti_source_close(&source);
    }
    if (!fine) {
        abuti_log(context, ABUT_LOG_INFO, "%s: not a usable program; it is built again", path);
        abuti_release(context, file);
        return false;
    }
    abuti_system_touch(path); /* used now */
    *bytes = length - start - ABUTI_DIGEST_BYTES;
    memmove(file, file + start, *bytes);
    *program = file;
    return true;
}

/* ---- out ---- */

void abuti_cache_write(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                       const char *about, const unsigned char *program, size_t bytes) {
    char path[1024];
    unsigned char head[HEAD_BYTES] = MAGIC, sum[ABUTI_DIGEST_BYTES];
    size_t about_bytes = strlen(about);
    abuti_sink sink;
    if (!abuti_cache_path(key, path, sizeof path) || !abuti_folder_is_usable(context, path) ||
        bytes > MOST_BYTES / 2)
        return;
    store_little_endian(head + MAGIC_BYTES, HEAD_BYTES + about_bytes + bytes + sizeof sum, 8);
    memcpy(head + MAGIC_BYTES + 8, key, ABUTI_DIGEST_BYTES);
    store_little_endian(head + HEAD_BYTES - 4, about_bytes, 4);
    abuti_digest digest;
    abuti_digest_begin(&digest);
    abuti_digest_add(&digest, head, sizeof head);
    abuti_digest_add(&digest, about, about_bytes);
    abuti_digest_add(&digest, program, bytes);
    abuti_digest_end(&digest, sum);
    abut_status status = abuti_sink_open_own(&sink, context, path);
    if (!status) {
        abuti_sink_write(&sink, head, sizeof head);
        abuti_sink_write(&sink, about, about_bytes);
        abuti_sink_write(&sink, program, bytes);
        abuti_sink_write(&sink, sum, sizeof sum);
        status = abuti_sink_commit(&sink);
    }
    if (!status)
        abuti_cache_clean(context, path, most_bytes());
    if (status)
        abuti_log(context, ABUT_LOG_INFO, "the program cache: %s", abut_last_error());
}
