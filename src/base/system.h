/* What differs between operating systems: files, folders and threads as POSIX has them. Files of
 * the library include this instead of the headers of the system, and where Windows or macOS have
 * no call of the same name, call one of these. */
#ifndef ABUTI_BASE_SYSTEM_H
#define ABUTI_BASE_SYSTEM_H

#include <dirent.h>
#include <fcntl.h>
#ifdef ABUT_HAS_THREADS
#include <pthread.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef _WIN32
#define O_CLOEXEC (O_BINARY | O_NOINHERIT)
#define O_NOFOLLOW 0 /* links are rare there, and need rights of their own */
#define O_NONBLOCK 0
#endif

#ifdef ABUT_HAS_THREADS
/* Starts a thread that gets no signals; false where there can be no more. */
bool abuti_system_start(pthread_t *thread, void *(*work)(void *unused));
/* How many this process may use. */
uint32_t abuti_system_processors(void);
/* Tells the processor that this thread looks for a change of memory. */
static inline void abuti_system_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
#endif

/* Memory for abuti_system_release(); `bytes` is a multiple of the alignment. */
void *abuti_system_allocate(size_t bytes, size_t alignment);
void abuti_system_release(void *memory);
/* Memory that is about to be written from end to end, for the first time perhaps: asks for large
 * pages, where the system has such. Nothing but speed changes. */
void abuti_system_wish_large(void *memory, size_t bytes);
/* Gets the pages of such memory now, where the system can. Threads that do it for one large page at
 * once clear it each, and one of them is used: better each has its own, from a multiple of this. */
enum { ABUTI_LARGE_PAGE = 1 << 21 };
void abuti_system_get_pages(void *memory, size_t bytes);

/* Another descriptor of the same open file, not passed on to programs that are started; bytes go
 * through it as they are. */
int abuti_system_duplicate(int descriptor);
/* The path without links and dots, to be freed; null where there is no such file. Names of folders
 * in it end with a slash. */
char *abuti_system_real_path(const char *path);
/* Gives an open file the permissions of a mode, where there are such. */
int abuti_system_permit(int descriptor, mode_t mode);
/* Waits until a file is on disk. */
int abuti_system_sync(int descriptor);
int abuti_system_make_folder(const char *path);
/* Whether a file belongs to the user and no other user can write it. True on Windows, where the
 * access rights of the folder apply to the files in it. */
bool abuti_system_is_private(const struct stat *about);

/* Opens a folder in which only the user can create, rename or remove files, for the calls below.
 * Returns -1 otherwise: *problem says why, or is null if errno does. `parent` is such a folder, in
 * which only the last component of the path is looked up and must not be a symbolic link, or
 * ABUTI_NO_FOLDER; then the last component may be a link of the user or of root. On Windows only
 * checks that the folder exists. */
enum { ABUTI_NO_FOLDER = -1 };
int abuti_system_open_private(int parent, const char *path, const char **problem);
void abuti_system_close_folder(int folder);
/* open(), lstat(), rename() and unlink() for the last component of a path in an open folder, or for
 * the whole path with ABUTI_NO_FOLDER. Nobody can redirect the former by a symbolic link. Windows
 * always uses the path. */
int abuti_system_open(int folder, const char *path, int flags, mode_t mode);
int abuti_system_stat(int folder, const char *path, struct stat *about);
int abuti_system_rename(int folder, const char *from, const char *to);
int abuti_system_unlink(int folder, const char *path);
/* When it was last written. */
struct timespec abuti_system_written(const struct stat *about);
/* How many seconds ago that was. */
double abuti_system_age(const struct stat *about);
/* Sets the time of the last write to now; does not follow a symbolic link. */
void abuti_system_touch(const char *path);
/* Of a name in a folder that is open, itself where it is a link. `path` is the folder's. */
int abuti_system_about(DIR *folder, const char *path, const char *name, struct stat *about);
int abuti_system_remove(DIR *folder, const char *path, const char *name);
/* Waits for one byte of a file, which need not have it, until it is closed. */
void abuti_system_lock(int descriptor, uint64_t byte);

/* A library at run time, never closed; null where there is none. */
void *abuti_system_library(const char *name);
void *abuti_system_symbol(void *library, const char *name);

#endif
