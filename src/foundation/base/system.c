#ifdef __linux__
#define _GNU_SOURCE /* madvise(), sched_getaffinity() */
#endif

#include "base/system.h"

#include <dlfcn.h>
#include <errno.h>
#ifdef ABUT_HAS_THREADS
#include <sched.h>
#include <signal.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large arrays are usually written once from end to end, and half of that time is page faults.
 * Linux provides large pages on request. */
#ifdef MADV_HUGEPAGE
enum { LARGE_PAGE = ABUTI_LARGE_PAGE, LARGE_ALLOCATION_MIN = 4 * LARGE_PAGE };

static void *allocate_large(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, LARGE_PAGE, bytes))
        return NULL;
    (void)madvise(memory, bytes & ~(size_t)(LARGE_PAGE - 1), MADV_HUGEPAGE); /* only a hint */
    return memory;
}
#endif

/* Since Linux 5.14; headers may be older. */
#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

void abuti_system_populate_pages(void *memory, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + bytes) / page * page;
    if (begin < end)
        (void)madvise((void *)begin, end - begin,
                      MADV_POPULATE_WRITE); /* on failure pages come on first touch */
#else
    (void)memory;
    (void)bytes;
#endif
}

void *abuti_system_allocate(size_t bytes, size_t alignment) {
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE_ALLOCATION_MIN)
        return allocate_large(bytes);
#endif
    return aligned_alloc(alignment, bytes);
}

void abuti_system_release(void *memory) {
    free(memory);
}

int abuti_system_duplicate(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

char *abuti_system_real_path(const char *path) {
    return realpath(path, NULL);
}

int abuti_system_set_mode(int descriptor, mode_t mode) {
    return fchmod(descriptor, mode);
}

int abuti_system_sync(int descriptor) {
    return fsync(descriptor);
}

int abuti_system_make_folder(const char *path) {
    return mkdir(path, 0700);
}

bool abuti_system_is_private(const struct stat *about) {
    return about->st_uid == geteuid() && !(about->st_mode & (S_IWGRP | S_IWOTH));
}

/* ---- files in an open folder ---- */

/* Arguments for the system calls whose names end in "at". */
static int at_folder(int folder) {
    return folder == ABUTI_NO_FOLDER ? AT_FDCWD : folder;
}

static const char *at_name(int folder, const char *path) {
    const char *slash = folder == ABUTI_NO_FOLDER ? NULL : strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int abuti_system_open_private(int parent, const char *path, const char **problem) {
    struct stat about;
    bool is_link = abuti_system_stat(parent, path, &about) == 0 && S_ISLNK(about.st_mode);
    *problem = NULL;
    if (is_link && (parent != ABUTI_NO_FOLDER || (about.st_uid != geteuid() && about.st_uid))) {
        *problem =
            parent != ABUTI_NO_FOLDER ? "is a symbolic link" : "is a symbolic link of another user";
        return -1;
    }
    /* In a folder with the sticky bit, such as /tmp, no other user can exchange a link of the user
     * or of root. A path that was no link at the check above is opened without following links. */
    int folder =
        abuti_system_open(parent, path,
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW), 0);
    if (folder < 0)
        return -1;
    if (fstat(folder, &about) == 0 && abuti_system_is_private(&about))
        return folder;
    *problem =
        about.st_uid != geteuid() ? "belongs to another user" : "can be written by other users";
    close(folder);
    return -1;
}

void abuti_system_close_folder(int folder) {
    if (folder != ABUTI_NO_FOLDER)
        close(folder);
}

int abuti_system_open(int folder, const char *path, int flags, mode_t mode) {
    return openat(at_folder(folder), at_name(folder, path), flags, mode);
}

int abuti_system_stat(int folder, const char *path, struct stat *about) {
    return fstatat(at_folder(folder), at_name(folder, path), about, AT_SYMLINK_NOFOLLOW);
}

int abuti_system_rename(int folder, const char *from, const char *to) {
    return renameat(at_folder(folder), at_name(folder, from), at_folder(folder),
                    at_name(folder, to));
}

int abuti_system_unlink(int folder, const char *path) {
    return unlinkat(at_folder(folder), at_name(folder, path), 0);
}

struct timespec abuti_system_modified_at(const struct stat *about) {
#ifdef __APPLE__
    return about->st_mtimespec;
#else
    return about->st_mtim;
#endif
}

void abuti_system_touch(const char *path) {
    (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

int abuti_system_stat_entry(DIR *folder, const char *path, const char *name, struct stat *about) {
    (void)path;
    return fstatat(dirfd(folder), name, about, AT_SYMLINK_NOFOLLOW);
}

int abuti_system_remove_entry(DIR *folder, const char *path, const char *name) {
    (void)path;
    return unlinkat(dirfd(folder), name, 0);
}

void *abuti_system_load_library(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *abuti_system_find_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

#ifdef ABUT_HAS_THREADS
bool abuti_system_start_thread(pthread_t *thread, void *(*work)(void *unused)) {
    enum { STACK_BYTES = 8 << 20 }; /* the default of Linux; other systems give new threads less */
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes))
        return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, &attributes, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

uint32_t abuti_system_processors(void) {
#ifdef __linux__
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) > 0)
        return (uint32_t)CPU_COUNT(&mine);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
#endif
