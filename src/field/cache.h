/* Fields on disk: one file for each mesh, named by the digest of that, with any number of fields.
 */
#ifndef ABUTI_FIELD_CACHE_H
#define ABUTI_FIELD_CACHE_H

#include "field/field.h"

#include "base/folder.h"

#define CACHE_ENDING ".fields"
enum { CACHE_PATH_BYTES = 1024, CACHE_NAME_BYTES = ABUTI_HEX_BYTES + 16 };

/* ---- cache_file.c: one file ---- */

typedef struct cache_item {
    unsigned char key[ABUTI_DIGEST_BYTES]; /* of what the field was asked to be */
    uint64_t offset, bytes;
} cache_item;

typedef struct cache_file {
    abuti_source source;
    unsigned char mesh[ABUTI_DIGEST_BYTES];
    cache_item *items;
    size_t count;
} cache_file;

/* Opens a file and reads its table. Where it fails there is nothing to close. */
abut_status abuti_cache_file_open(cache_file *file, abut_context *context, const char *path);
void abuti_cache_file_close(cache_file *file);
const cache_item *abuti_cache_file_find(const cache_file *file, const unsigned char *key);
/* Reads a field and holds it against the mesh of the file. */
abut_status abuti_cache_file_load(cache_file *file, const cache_item *item, abut_field **field);
/* Reads only what a field is; its range is not known then. */
abut_status abuti_cache_file_peek(cache_file *file, const cache_item *item, abut_field_info *info);
/* Writes the file anew with a field in addition, or in the place of one with the same key. An old
 * file that cannot be used is forgotten. */
abut_status abuti_cache_file_add(abut_context *context, const char *path, const unsigned char *mesh,
                                 const unsigned char *key, const abut_field *field);

/* ---- cache.c: where a field would be ---- */

typedef struct cache_place {
    char path[CACHE_PATH_BYTES]; /* empty = nowhere */
    unsigned char mesh[ABUTI_DIGEST_BYTES], key[ABUTI_DIGEST_BYTES];
} cache_place;

/* The folder that a user names; false where it is none, or too long. */
bool abuti_cache_folder(const char *given, char *folder, size_t bytes);
/* The path of a file named by a digest, in a folder that a user names; empty where there is none.
 */
void abuti_cache_file_path(abut_context *context, const char *folder, const unsigned char *digest,
                           const char *ending, char path[CACHE_PATH_BYTES]);
/* Looks for the field that these options ask for; *field stays as it is where there is none. Fails
 * only where memory ends or the user cancels. */
abut_status abuti_cache_recall(abut_mesh *mesh, const abut_field_options *options,
                               cache_place *place, abut_field **field);
/* Keeps a field there. Failures are logged. */
void abuti_cache_keep(const cache_place *place, const abut_field *field);

/* ---- cache_list.c: the files of a folder, for all kinds of them ---- */

typedef struct cache_names {
    abut_context *context;
    char folder[CACHE_PATH_BYTES];
    char (*names)[CACHE_NAME_BYTES]; /* of files that may be ours, in order */
    size_t count;
} cache_names;

/* Finds the files of an ending (at most 15 bytes). The names are the caller's to release; there are
 * none where it fails or there is no folder. */
abut_status abuti_cache_names(const char *function, abut_context *context, const char *folder,
                              const char *ending, cache_names *names);
/* As abut_field_cache_clear(), for files of an ending. */
abut_status abuti_cache_clear(const char *function, const char *folder, const char *ending,
                              double age, uint64_t *files, uint64_t *bytes);

#endif
