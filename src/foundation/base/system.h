/* Differences between operating systems: files, folders and threads in the terms of POSIX. Files of
 * the library include this header instead of system headers. It declares functions for calls that
 * Windows or macOS do not have. */
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
#define O_NOFOLLOW 0 /* links are rare on Windows and need privileges */
#define O_NONBLOCK 0
#endif

#ifdef ABUT_HAS_THREADS
/* Starts a thread with all signals blocked; false if the system cannot start another one. */
bool abuti_system_start_thread(pthread_t *thread, void *(*work)(void *unused));
/* Number of processors that this process may use. */
uint32_t abuti_system_processors(void);
/* Spin-loop hint to the processor. */
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
/* Populates the pages of memory that is about to be written completely, if the system supports
 * that. Affects only speed. Threads that populate the same large page concurrently each clear a
 * copy, of which one is used. Therefore each thread should start at a multiple of ABUTI_LARGE_PAGE.
 */
enum { ABUTI_LARGE_PAGE = 1 << 21 };
void abuti_system_populate_pages(void *memory, size_t bytes);

/* Duplicates a descriptor: same open file, binary mode, not inherited by child processes. */
int abuti_system_duplicate(int descriptor);
/* The absolute path without links and dots, to be freed; null if there is no such file. Folders in
 * it are separated by slashes. */
char *abuti_system_real_path(const char *path);
/* Sets the permissions of an open file, on systems that have them. */
int abuti_system_set_mode(int descriptor, mode_t mode);
/* Blocks until the file is on disk. */
int abuti_system_sync(int descriptor);
int abuti_system_make_folder(const char *path);
/* Whether a file belongs to the user and no other user can write it. Always true on Windows, where
 * the access rights of the folder apply to its files. */
bool abuti_system_is_private(const struct stat *about);

/* Opens a folder in which only the user can create, rename or remove files, for the calls below.
 * Otherwise returns -1: *problem has the reason, or is null and errno has it. If `parent` is such a
 * folder, only the last component of the path is looked up in it and must not be a symbolic link.
 * If it is ABUTI_NO_FOLDER, the last component may be a link of the user or of root. On Windows
 * only checks that the folder exists. */
enum { ABUTI_NO_FOLDER = -1 };
int abuti_system_open_private(int parent, const char *path, const char **problem);
void abuti_system_close_folder(int folder);
/* open(), lstat(), rename() and unlink() for the last component of a path in an open folder, or for
 * the whole path with ABUTI_NO_FOLDER. In an open folder, no symbolic link can redirect the call.
 * Windows always uses the path. */
int abuti_system_open(int folder, const char *path, int flags, mode_t mode);
int abuti_system_stat(int folder, const char *path, struct stat *about);
int abuti_system_rename(int folder, const char *from, const char *to);
int abuti_system_unlink(int folder, const char *path);
/* Time of the last modification. */
struct timespec abuti_system_modified_at(const struct stat *about);
/* Seconds since the last modification. */
double abuti_system_age(const struct stat *about);
/* Sets the time of the last modification to now; does not follow a symbolic link. */
void abuti_system_touch(const char *path);
/* lstat() and unlink() for an entry of an open folder with this path. */
int abuti_system_stat_entry(DIR *folder, const char *path, const char *name, struct stat *about);
int abuti_system_remove_entry(DIR *folder, const char *path, const char *name);

/* Loads a shared library at run time; never unloads it. Null if there is none. */
void *abuti_system_load_library(const char *name);
void *abuti_system_find_symbol(void *library, const char *name);

#endif
