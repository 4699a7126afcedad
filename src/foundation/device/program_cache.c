/* The program cache: compiled OpenCL programs on disk.
 *
 * A file consists of: magic (16 bytes), its total length (8 bytes, little-endian), the key (32),
 * the length of the description (4), the description, the program, and the SHA-256 of everything
 * before it (32). It is written to a temporary file and renamed, so that readers see a complete
 * file or none. Because the content is executed, base/folder.c rejects files and folders that
 * another user owns or can write. No failure here fails the caller: without an entry the program is
 * compiled from its source.
 *
 * New versions of the library, the driver or the device leave entries that are never used again.
 * Therefore each use updates the modification time of an entry, and after each new entry the least
 * recently used entries are removed until the folder is within its limit.
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
#define ENTRY_BYTES_MAX \
    ((uint64_t)1 << 30) /* no program is that large; a longer length means damage */

/* ---- paths ---- */

bool abuti_cache_path(const unsigned char key[ABUTI_DIGEST_BYTES], char *path, size_t path_bytes) {
    char name[ABUTI_HEX_BYTES];
    if (!abuti_folder_own(path, path_bytes))
        return false;
    abuti_folder_name(key, name);
    size_t used = strlen(path);
    int length = snprintf(path + used, path_bytes - used, "/%s.program", name);
    return length > 0 && (size_t)length < path_bytes - used;
}

/* ---- little-endian numbers ---- */

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

/* ---- eviction ---- */

static bool is_cache_file(const char *name) {
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

/* Sums the bytes of all entries. Writes the name of the least recently used one except `kept`; an
 * empty name if there is none. */
static uint64_t sum_entries(DIR *folder, const char *path, const char *kept, char *oldest,
                            size_t oldest_bytes) {
    uint64_t sum = 0;
    struct stat about, best;
    struct dirent *entry;
    memset(&best, 0, sizeof best);
    oldest[0] = 0;
    rewinddir(folder);
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (!is_cache_file(name) || strlen(name) >= oldest_bytes ||
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

void abuti_cache_clean(abut_context *context, const char *path, uint64_t bytes_max) {
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
    /* One new entry rarely evicts more than one. The bound limits the time in a huge folder; the
     * next write continues. */
    enum { REMOVED_MAX = 32 };
    for (int removed = 0; removed < REMOVED_MAX; removed++) {
        if (sum_entries(folder, folder_path, name + 1, oldest, sizeof oldest) <= bytes_max ||
            !oldest[0])
            break;
        if (abuti_system_remove_entry(folder, folder_path, oldest) != 0 && errno != ENOENT)
            break; /* ENOENT: another process has removed it */
        abuti_log(context, ABUT_LOG_INFO, "program cache: removed %s to stay within the limit",
                  oldest);
    }
    closedir(folder);
}

/* ABUT_CACHE_MAX in MiB; 256 if it is not set or not a number. */
static uint64_t read_cache_limit(void) {
    const char *text = getenv("ABUT_CACHE_MAX");
    char *end = NULL;
    unsigned long mebibytes = text && text[0] ? strtoul(text, &end, 10) : 256;
    if (end && (*end || text[0] == '-' || mebibytes > 1u << 20))
        mebibytes = 256;
    return (uint64_t)mebibytes << 20;
}

/* ---- reading ---- */

/* Whether these bytes are a complete entry of this key; *start is the offset of its program. */
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
    bool is_valid = !abuti_source_open_own(&source, context, path);
    if (is_valid) {
        length = (size_t)source.total;
        is_valid = source.total >= HEAD_BYTES + ABUTI_DIGEST_BYTES &&
                   source.total <= ENTRY_BYTES_MAX && (file = abuti_allocate(context, length, 1)) &&
                   abuti_source_read(&source, file, length) == length &&
                   abuti_source_fill(&source, 1) == 0 && is_entry(file, length, key, &start);
        abuti_source_close(&source);
    }
    if (!is_valid) {
        abuti_log(context, ABUT_LOG_INFO, "%s: not a valid program; it is compiled again", path);
        abuti_release(context, file);
        return false;
    }
    abuti_system_touch(path); /* mark as used */
    *bytes = length - start - ABUTI_DIGEST_BYTES;
    memmove(file, file + start, *bytes);
    *program = file;
    return true;
}

/* ---- writing ---- */

void abuti_cache_write(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                       const char *about, const unsigned char *program, size_t bytes) {
    char path[1024];
    unsigned char head[HEAD_BYTES] = MAGIC, sum[ABUTI_DIGEST_BYTES];
    size_t about_bytes = strlen(about);
    abuti_sink sink;
    if (!abuti_cache_path(key, path, sizeof path) || !abuti_folder_is_usable(context, path) ||
        bytes > ENTRY_BYTES_MAX / 2)
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
        abuti_cache_clean(context, path, read_cache_limit());
    if (status)
        abuti_log(context, ABUT_LOG_INFO, "program cache: %s", abut_last_error());
}
