/* Folders of caches, and files in them that only their owner can have written. */
#ifndef ABUTI_BASE_FOLDER_H
#define ABUTI_BASE_FOLDER_H

#include "base/base.h"
#include "base/digest.h"

/* The user's own: ABUT_CACHE_DIR, else $XDG_CACHE_HOME/abut, else ~/.cache/abut. False where there
 * is none, where it does not fit, or with ABUT_CACHE_DIR=off. */
bool abuti_folder_own(char *folder, size_t bytes);

/* Makes the folder of a file and those above it, where they are missing, for their owner alone. */
void abuti_folder_make(char *path);

enum { ABUTI_HEX_BYTES = 2 * ABUTI_DIGEST_BYTES + 1 };
/* A digest as a name, in lower case. */
void abuti_folder_name(const unsigned char digest[ABUTI_DIGEST_BYTES], char name[ABUTI_HEX_BYTES]);
/* Whether a name is that of a digest and then this ending. */
bool abuti_folder_is_name(const char *name, const char *ending);
/* Whether a name is that of a file that was being written when its process died, or is now. */
bool abuti_folder_is_temporary(const char *name);

/* As abuti_source_open(), but refuses what is no regular file of ours that no one else may write.
 */
abut_status abuti_source_open_own(abuti_source *source, abut_context *context, const char *path);

#endif
