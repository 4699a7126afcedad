/* Compiled programs on disk, one file each, named by the hash of all their inputs. A cache only
 * saves time: after any failure or doubt, the entry counts as missing. */
#ifndef ABUTI_DEVICE_CACHE_H
#define ABUTI_DEVICE_CACHE_H

#include "base/base.h"
#include "base/digest.h"

/* Reads the program of this key. Returns false if it is missing, damaged, owned by another user or
 * unreadable; otherwise the caller releases *program with abuti_release(). */
bool abuti_cache_read(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                      unsigned char **program, size_t *bytes);

/* Stores a program. `about` is a line of text for people who open the file. Failures are logged. */
void abuti_cache_write(abut_context *context, const unsigned char key[ABUTI_DIGEST_BYTES],
                       const char *about, const unsigned char *program, size_t bytes);

/* Removes the least recently used entries in the folder of `path` until all of them have at most
 * `bytes_max`; `path` itself stays. Called after every write. */
void abuti_cache_clean(abut_context *context, const char *path, uint64_t bytes_max);

/* Writes the path of the file of a key; false if there is no cache. */
bool abuti_cache_path(const unsigned char key[ABUTI_DIGEST_BYTES], char *path, size_t path_bytes);

#endif
