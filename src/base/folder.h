/* Folders of caches, and files in them that only the user can have written. */
#ifndef ABUTI_BASE_FOLDER_H
#define ABUTI_BASE_FOLDER_H

#include "base/base.h"
#include "base/digest.h"

/* The user's own: ABUT_CACHE_DIR, else $XDG_CACHE_HOME/abut, else ~/.cache/abut. False where there
 * is none, where it does not fit, or with ABUT_CACHE_DIR=off. */
bool abuti_folder_own(char *folder, size_t bytes);

enum { ABUTI_FOLDER_BYTES = 1024 }; /* longest path of a folder, with its end */

/* Whether a cache may use the folder of a file, which need not exist: it belongs to the user, and
 * nobody else can write it; so does ABUT_CACHE_DIR if the folder is right below it. Otherwise a
 * warning says why, once for each folder. */
bool abuti_folder_is_usable(abut_context *context, const char *path);

enum { ABUTI_HEX_BYTES = 2 * ABUTI_DIGEST_BYTES + 1 };
/* A digest as a name, in lower case. */
void abuti_folder_name(const unsigned char digest[ABUTI_DIGEST_BYTES], char name[ABUTI_HEX_BYTES]);
/* Whether a name is that of a digest and then this ending. */
bool abuti_folder_is_name(const char *name, const char *ending);
/* Whether a name is that of a file that was being written when its process died, or is now. */
bool abuti_folder_is_temporary(const char *name);

/* Opens a file of such a folder; `flags` are those of open(), and with O_CREAT the missing folders
 * are made, for the user alone. Returns -1 with errno set: EPERM if the folder is none of these, or
 * the file not a regular one of the user that nobody else can write; ELOOP if it is a symbolic
 * link. */
int abuti_folder_open_file(const char *path, int flags);
/* The same as abuti_source_open() for a file of such a folder. */
abut_status abuti_source_open_own(abuti_source *source, abut_context *context, const char *path);
/* The same as abuti_sink_open(); makes the missing folders, for the user alone. Whatever has the
 * name of the file is replaced; a symbolic link is never followed. */
abut_status abuti_sink_open_own(abuti_sink *sink, abut_context *context, const char *path);

#endif
