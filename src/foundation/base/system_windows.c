#include "base/system.h"

#include "base/locale.h"

#include <direct.h>
#include <errno.h>
#include <io.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utime.h>
#include <windows.h>

/* ---- locales ---- */

static _Thread_local char old_name[128];
static _Thread_local int old_mode;

locale_t newlocale(int mask, const char *name, locale_t base) {
    (void)mask;
    (void)base;
    return _create_locale(LC_ALL, name);
}

void freelocale(locale_t locale) {
    _free_locale(locale);
}

locale_t uselocale(locale_t locale) {
    if (locale) {
        old_mode = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
        snprintf(old_name, sizeof old_name, "%s", setlocale(LC_NUMERIC, NULL));
        setlocale(LC_NUMERIC, "C");
    } else {
        setlocale(LC_NUMERIC, old_name);
        _configthreadlocale(old_mode);
    }
    return NULL;
}

/* ---- memory ---- */

void abuti_system_populate_pages(void *memory, size_t bytes) {
    (void)memory;
    (void)bytes;
}

void *abuti_system_allocate(size_t bytes, size_t alignment) {
    return _aligned_malloc(bytes, alignment);
}

void abuti_system_release(void *memory) {
    _aligned_free(memory);
}

/* ---- files ---- */

int abuti_system_duplicate(int descriptor) {
    int copy = _dup(descriptor);
    if (copy >= 0)
        _setmode(copy, _O_BINARY);
    return copy;
}

char *abuti_system_real_path(const char *path) {
    if (_access(path, 0) != 0)
        return NULL;
    char *real = _fullpath(NULL, path, 0);
    for (char *at = real; at && *at; at++)
        *at = *at == '\\' ? '/' : *at;
    return real;
}

int abuti_system_set_mode(int descriptor, mode_t mode) {
    (void)descriptor;
    (void)mode;
    return 0;
}

int abuti_system_sync(int descriptor) {
    return _commit(descriptor);
}

int abuti_system_open_private(int parent, const char *path, const char **problem) {
    struct stat about;
    (void)parent;
    *problem = NULL;
    if (stat(path, &about) != 0)
        return -1;
    errno = ENOTDIR;
    return S_ISDIR(about.st_mode) ? 0 : -1; /* any value except ABUTI_NO_FOLDER; it is not used */
}

void abuti_system_close_folder(int folder) {
    (void)folder;
}

int abuti_system_open(int folder, const char *path, int flags, mode_t mode) {
    (void)folder;
    return open(path, flags, mode);
}

int abuti_system_stat(int folder, const char *path, struct stat *about) {
    (void)folder;
    return stat(path, about);
}

int abuti_system_unlink(int folder, const char *path) {
    (void)folder;
    return _unlink(path);
}

int abuti_system_rename(int folder, const char *from, const char *to) {
    (void)folder;
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return 0;
    errno = EACCES; /* most often the file is open in another program */
    return -1;
}

int abuti_system_make_folder(const char *path) {
    return _mkdir(path);
}

bool abuti_system_is_private(const struct stat *about) {
    (void)about;
    return true;
}

struct timespec abuti_system_modified_at(const struct stat *about) {
    return (struct timespec){.tv_sec = about->st_mtime};
}

void abuti_system_touch(const char *path) {
    (void)_utime(path, NULL);
}

static bool join_path(char *out, size_t bytes, const char *path, const char *name) {
    int length = snprintf(out, bytes, "%s/%s", path, name);
    errno = ENAMETOOLONG;
    return length > 0 && (size_t)length < bytes;
}

int abuti_system_stat_entry(DIR *folder, const char *path, const char *name, struct stat *about) {
    char whole[2048];
    (void)folder;
    return join_path(whole, sizeof whole, path, name) ? stat(whole, about) : -1;
}

int abuti_system_remove_entry(DIR *folder, const char *path, const char *name) {
    char whole[2048];
    (void)folder;
    return join_path(whole, sizeof whole, path, name) ? _unlink(whole) : -1;
}

/* ---- libraries ---- */

void *abuti_system_load_library(const char *name) {
    return (void *)LoadLibraryA(name);
}

void *abuti_system_find_symbol(void *library, const char *name) {
    FARPROC symbol = GetProcAddress((HMODULE)library, name);
    void *address;
    memcpy(&address, &symbol, sizeof address);
    return address;
}

/* ---- threads ---- */

#ifdef ABUT_HAS_THREADS
/* Pins the library: it cannot be unloaded while a thread may run its code. */
bool abuti_system_start_thread(pthread_t *thread, void *(*work)(void *unused)) {
    HMODULE here;
    const DWORD how = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
    return GetModuleHandleExA(how, (LPCSTR)(uintptr_t)work, &here) &&
           pthread_create(thread, NULL, work, NULL) == 0;
}

uint32_t abuti_system_processors(void) {
    SYSTEM_INFO about;
    GetSystemInfo(&about);
    return about.dwNumberOfProcessors ? about.dwNumberOfProcessors : 1;
}
#endif
