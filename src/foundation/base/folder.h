/* Folders of caches, and files in them that only the user can have written. */
#ifndef ABUTI_BASE_FOLDER_H
#define ABUTI_BASE_FOLDER_H

#include "base/base.h"
#include "base/digest.h"

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

#endif
