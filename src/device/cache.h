/* Built programs on disk, one file each, named by the hash of all that they were made from. A cache
 * only ever saves time: every failure and every doubt means "not there". */
#ifndef ABUTI_DEVICE_CACHE_H
#define ABUTI_DEVICE_CACHE_H

#include "base/base.h"
#include "base/digest.h"

/* Looks up the program of this key. False where it is not there, damaged, foreign or unreadable;
 * otherwise *program is to be released with abuti_release. */
bool abuti_cache_read(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                      unsigned char **program, size_t *bytes);

/* Keeps a program. `about` is a line for people who look into the file. Failures are logged. */
void abuti_cache_write(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                       const char *about, const unsigned char *program, size_t bytes);

/* Removes the entries beside `path` that were not used for longest until all of them have at most
 * `most_bytes`; `path` itself stays. Happens after every write. */
void abuti_cache_clean(abut_context *context, const char *path, uint64_t most_bytes);

/* Where the file of a key is; false where there is no cache. */
bool abuti_cache_path(const unsigned char key[ABUTI_DIGEST_BYTES], char *path, size_t path_bytes);

#endif
