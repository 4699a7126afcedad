/* The disk cache of compiled programs, fields and samples: one file for each entry, named by the
 * digest of everything that determines its content. A cache only saves time. An entry that is
 * missing, damaged or not trusted is computed again, and one that cannot be stored is logged. */
#ifndef ABUTI_BASE_CACHE_H
#define ABUTI_BASE_CACHE_H

#include "base/base.h"
#include "base/digest.h"

/* ---- folder.c: folders of caches, and files in them that only the user can have written ---- */

/* The cache folder of the user: ABUT_CACHE_DIR, else $XDG_CACHE_HOME/abut, else ~/.cache/abut.
 * Returns false if there is none, if it does not fit into `bytes`, or if ABUT_CACHE_DIR is "off".
 */
bool abuti_folder_own(char *folder, size_t bytes);

enum { ABUTI_FOLDER_BYTES = 1024 }; /* longest path of a folder, with its terminator */

/* Whether a cache may use the folder of a file, which need not exist: it belongs to the user, and
 * no other user can write it. The same must hold for ABUT_CACHE_DIR if the folder is directly below
 * it. Otherwise logs a warning with the reason, once for each folder. */
bool abuti_folder_is_usable(abut_context *context, const char *path);

enum { ABUTI_HEX_BYTES = 2 * ABUTI_DIGEST_BYTES + 1 };
/* Writes a digest as a file name, in lower-case hexadecimal digits. */
void abuti_folder_name(const unsigned char digest[ABUTI_DIGEST_BYTES], char name[ABUTI_HEX_BYTES]);
/* Whether a name consists of a digest and this ending. */
bool abuti_folder_is_name(const char *name, const char *ending);
/* Whether a name is that of a temporary file: it is being written now, or its process was killed.
 */
bool abuti_folder_is_temporary(const char *name);

/* As abuti_source_open() for a file in such a folder. Fails unless it is a regular file of the user
 * that no other user can write; a symbolic link is never followed. */
abut_status abuti_source_open_own(abuti_source *source, abut_context *context, const char *path);
/* As abuti_sink_open() for a file in such a folder; creates the missing folders, with access for
 * the user only. An existing entry of that name is replaced; a symbolic link is never followed. */
abut_status abuti_sink_open_own(abuti_sink *sink, abut_context *context, const char *path);

/* ---- cache.c ---- */

/* What is cached. Entries of different kinds may share a folder. */
typedef struct abuti_cache_kind {
    const char *what;       /* for messages: "the field is" */
    const char *suffix;     /* of file names, at most 15 bytes */
    const char *folder;     /* below the cache folder of the user: "" or "/fields" */
    uint32_t number;        /* in the heads of files */
    uint32_t max_mebibytes; /* bound on all files of this kind in a folder; ABUT_CACHE_MAX
                             * replaces it */
} abuti_cache_kind;

extern const abuti_cache_kind abuti_cache_programs, abuti_cache_fields, abuti_cache_samples;

enum { ABUTI_CACHE_PATH_BYTES = ABUTI_FOLDER_BYTES + 2 * ABUTI_DIGEST_BYTES + 17 };

typedef struct abuti_cache_entry {
    const abuti_cache_kind *kind;
    unsigned char key[ABUTI_DIGEST_BYTES];
    char path[ABUTI_CACHE_PATH_BYTES]; /* empty = there is no usable cache */
} abuti_cache_entry;

/* Initialises an entry. `folder` "" selects the folder of the user. Logs a warning if the folder
 * cannot be used. */
void abuti_cache_find(abut_context *context, const abuti_cache_kind *kind, const char *folder,
                      const unsigned char key[ABUTI_DIGEST_BYTES], abuti_cache_entry *entry);
bool abuti_cache_exists(const abuti_cache_entry *entry);

/* Opens an entry: verifies its head, and the stream consists of its content. */
abut_status abuti_cache_open(abut_context *context, const abuti_cache_entry *entry,
                             abuti_source *source);
/* Loads the whole content and verifies its checksum. The caller releases *data. */
abut_status abuti_cache_load(abut_context *context, const abuti_cache_entry *entry,
                             unsigned char **data, size_t *bytes);
/* Ends a use of an entry: marks it as used, or logs why it cannot be used. Returns `status` if
 * memory is exhausted or the caller has cancelled, otherwise ABUT_OK. */
abut_status abuti_cache_end(abut_context *context, const abuti_cache_entry *entry,
                            abut_status status);

/* Stores an entry, then removes the least recently used ones until the folder is within its bound.
 * Failures are logged. */
void abuti_cache_store(abut_context *context, const abuti_cache_entry *entry, const void *data,
                       size_t bytes);
/* The same as a stream for kinds with their own checksums: `write` writes the content. */
void abuti_cache_store_stream(abut_context *context, const abuti_cache_entry *entry,
                              abut_status (*write)(const void *data, abuti_sink *sink),
                              const void *data);
/* Removes the least recently used files of a kind in the folder of an entry until they have at most
 * `bytes_max`; the entry itself stays. */
void abuti_cache_evict(abut_context *context, const abuti_cache_entry *entry, uint64_t bytes_max);

/* Receives one file of a folder. Sets *more to false to end the listing. */
typedef struct abuti_cache_file {
    abuti_cache_entry entry;
    uint64_t bytes;
    double age; /* seconds since the last use */
} abuti_cache_file;
typedef abut_status abuti_cache_visit(void *user, const abuti_cache_file *file, bool *more);

/* Visits the files of a kind, least recently used first. A missing folder is empty. `function` is
 * named in messages about arguments. */
abut_status abuti_cache_list(const char *function, abut_context *context,
                             const abuti_cache_kind *kind, const char *folder,
                             abuti_cache_visit *visit, void *user);
/* Removes the files of a kind that were not used for `age` seconds. `files` and `bytes` may be
 * null. */
abut_status abuti_cache_clear(const char *function, abut_context *context,
                              const abuti_cache_kind *kind, const char *folder, double age,
                              uint64_t *files, uint64_t *bytes);

#endif
