/* The cache of fields on disk: one file for each mesh, named by the digest of the mesh, with any
 * number of fields.
 */
#ifndef ABUTI_FIELD_CACHE_H
#define ABUTI_FIELD_CACHE_H

#include "field/field.h"

#include "base/folder.h"

#define CACHE_SUFFIX ".fields"
enum { CACHE_PATH_BYTES = 1024, CACHE_NAME_BYTES = ABUTI_HEX_BYTES + 16 };

/* ---- cache_file.c: one file ---- */

typedef struct cache_item {
    unsigned char key[ABUTI_DIGEST_BYTES]; /* of everything that determines the values */
    uint64_t offset, bytes;
} cache_item;

typedef struct cache_file {
    abuti_source source;
    unsigned char mesh[ABUTI_DIGEST_BYTES];
    cache_item *items;
    size_t count;
} cache_file;

/* Opens a file and reads its table. On failure nothing needs to be closed. */
abut_status abuti_cache_file_open(cache_file *file, abut_context *context, const char *path);
void abuti_cache_file_close(cache_file *file);
const cache_item *abuti_cache_file_find(const cache_file *file, const unsigned char *key);
/* Reads a field and verifies that it belongs to the mesh of the file. */
abut_status abuti_cache_file_load(cache_file *file, const cache_item *item, abut_field **field);
/* Reads only the head of a field. The range of values is not set. */
abut_status abuti_cache_file_load_info(cache_file *file, const cache_item *item,
                                       abut_field_info *info);
/* Rewrites the file with an additional field, which replaces one with the same key. An unreadable
 * old file is replaced. */
abut_status abuti_cache_file_add(abut_context *context, const char *path, const unsigned char *mesh,
                                 const unsigned char *key, const abut_field *field);

/* ---- cache.c: location of a field ---- */

typedef struct cache_place {
    char path[CACHE_PATH_BYTES]; /* empty = no file */
    unsigned char mesh[ABUTI_DIGEST_BYTES], key[ABUTI_DIGEST_BYTES];
} cache_place;

/* Gets the cache folder; `given` "" selects the user's own. Returns false if it does not exist or
 * its name is too long. */
bool abuti_cache_folder(const char *given, char *folder, size_t bytes);
/* Gets the path of the file for a digest in a cache folder. The path is empty if there is no usable
 * folder. */
void abuti_cache_file_path(abut_context *context, const char *folder, const unsigned char *digest,
                           const char *ending, char path[CACHE_PATH_BYTES]);
/* Loads the field that these options describe. *field is unchanged if it is not cached. Fails only
 * if memory is exhausted or the caller cancels. */
abut_status abuti_cache_load(abut_mesh *mesh, const abut_field_options *options, cache_place *place,
                             abut_field **field);
/* Stores a field at a location. Failures are logged. */
void abuti_cache_store(const cache_place *place, const abut_field *field);

/* ---- cache_list.c: the files of a cache folder, for all kinds of caches ---- */

typedef struct cache_names {
    abut_context *context;
    char folder[CACHE_PATH_BYTES];
    char (*names)[CACHE_NAME_BYTES]; /* names of possible cache files, sorted */
    size_t count;
} cache_names;

/* Lists the files with an ending of at most 15 bytes. The caller releases the names. The list is
 * empty on failure or without a folder. */
abut_status abuti_cache_names(const char *function, abut_context *context, const char *folder,
                              const char *ending, cache_names *names);
/* abut_field_cache_clear() for files with a given ending. */
abut_status abuti_cache_clear(const char *function, const char *folder, const char *ending,
                              double age, uint64_t *files, uint64_t *bytes);

#endif
