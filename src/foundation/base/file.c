/* Reading streams, and writing files atomically: a file is replaced completely or not at all. */
#ifdef __linux__
#define _GNU_SOURCE /* O_TMPFILE */
#endif

#include "base/base.h"
#include "base/system.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES \
    (256u * 1024u) /* 64 KiB to 1 MiB measure alike; this size fits into the L2 cache */
#define READ_BYTES_MAX \
    (16u << 20) /* upper bound of one read between two calls of the progress callback */

/* ---- sources ---- */

abut_status abuti_source_open(abuti_source *source, abut_context *context, const char *path) {
    int descriptor = strcmp(path, ABUTI_STANDARD_INPUT) == 0 ? abuti_system_duplicate(STDIN_FILENO)
                                                             : open(path, O_RDONLY | O_CLOEXEC);
    return abuti_source_open_descriptor(source, context, descriptor, path);
}

abut_status abuti_source_open_descriptor(abuti_source *source, abut_context *context,
                                         int descriptor, const char *path) {
    if (descriptor < 0)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat about;
    if (fstat(descriptor, &about) != 0 || S_ISDIR(about.st_mode)) {
        close(descriptor);
        return abuti_fail(ABUT_ERROR_FILE, "%s: is a directory, not a file", path);
    }
    unsigned char *buffer = abuti_allocate(context, WINDOW_BYTES, 1);
    if (!buffer) {
        close(descriptor);
        return ABUT_ERROR_MEMORY;
    }
    *source = (abuti_source){.context = context,
                             .name = path,
                             .descriptor = descriptor,
                             .buffer = buffer,
                             .start = buffer,
                             .at = buffer,
                             .end = buffer,
                             .left = UINT64_MAX};
    if (S_ISREG(about.st_mode) && about.st_size > 0)
        source->total = (uint64_t)about.st_size;
    return ABUT_OK;
}

void abuti_source_memory(abuti_source *source, abut_context *context, const void *data,
                         size_t bytes, const char *name) {
    *source = (abuti_source){.context = context,
                             .name = name,
                             .descriptor = -1,
                             .start = data,
                             .at = data,
                             .end = bytes ? (const unsigned char *)data + bytes : data,
                             .total = bytes};
}

void abuti_source_close(abuti_source *source) {
    if (source->descriptor >= 0)
        close(source->descriptor);
    abuti_release(source->context, source->buffer);
    *source = (abuti_source){.descriptor = -1};
}

/* Calls the progress callback and returns true if reading is cancelled. Called before each read,
 * also after a read that a signal interrupted: a pipe may deliver bytes forever, or none. */
static bool is_cancelled(abuti_source *source) {
    if (!source->stage || source->cancelled)
        return source->cancelled;
    double done = source->total ? (double)abuti_source_offset(source) / (double)source->total : 0;
    source->cancelled = abuti_progress(source->context, source->stage, done < 1 ? done : 1);
    return source->cancelled;
}

abut_status abuti_source_outcome(const abuti_source *source, abut_status status) {
    if (!source->cancelled)
        return status;
    return abuti_fail(ABUT_ERROR_CANCELLED, "%s: cancelled by the progress callback",
                      source->stage);
}

/* Reads from the file, within the range that is to be read. */
static ssize_t read_within_limit(abuti_source *source, void *to, size_t bytes) {
    ssize_t got = 0;
    bytes = bytes < READ_BYTES_MAX ? bytes : READ_BYTES_MAX;
    if (bytes > source->left)
        bytes = (size_t)source->left;
    do
        got = is_cancelled(source) ? -1 : bytes ? read(source->descriptor, to, (unsigned)bytes) : 0;
    while (got < 0 && errno == EINTR && !source->cancelled);
    source->left -= got > 0 ? (uint64_t)got : 0;
    source->failed = source->failed || got < 0;
    return got;
}

abut_status abuti_source_seek(abuti_source *source, uint64_t offset, uint64_t bytes) {
    if (offset > INT64_MAX || lseek(source->descriptor, (off_t)offset, SEEK_SET) < 0)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot seek to byte %llu", source->name,
                          (unsigned long long)offset);
    source->start = source->at = source->end = source->buffer;
    source->consumed = 0;
    source->total = source->left = bytes;
    return ABUT_OK;
}

size_t abuti_source_fill(abuti_source *source, size_t wanted) {
    size_t visible = (size_t)(source->end - source->at);
    if (visible >= wanted || source->descriptor < 0)
        return visible;
    source->consumed += (uint64_t)(source->at - source->start);
    memmove(source->buffer, source->at, visible);
    source->at = source->buffer; /* offsets are correct during the read */
    while (visible < wanted) {
        ssize_t got = read_within_limit(source, source->buffer + visible, WINDOW_BYTES - visible);
        if (got <= 0)
            break;
        visible += (size_t)got;
    }
    source->end = source->buffer + visible;
    return visible;
}

size_t abuti_source_read(abuti_source *source, void *to, size_t bytes) {
    unsigned char *out = to;
    size_t got = (size_t)(source->end - source->at);
    got = got < bytes ? got : bytes;
    if (got)
        memcpy(out, source->at, got);
    source->at += got;
    while (got < bytes && source->descriptor >= 0) {
        ssize_t more = read_within_limit(source, out + got, bytes - got);
        if (more <= 0)
            break;
        got += (size_t)more;
        source->consumed += (uint64_t)more;
    }
    return got;
}

/* ---- sinks ---- */

enum { TEMPORARY_BYTES = 64 }; /* length of the name of a temporary file */

/* Returns the target of a symbolic link, so that the link stays and its target is replaced. */
static char *resolve_links(abut_context *context, const char *path) {
    char *real = strcmp(path, ABUTI_STANDARD_OUTPUT) ? abuti_system_real_path(path) : NULL;
    const char *text = real ? real : path;
    char *copy = abuti_allocate(context, strlen(text) + 1, 1);
    if (copy)
        strcpy(copy, text);
    free(real);
    return copy;
}

static void close_sink(abuti_sink *sink) {
    abuti_system_close_folder(sink->folder);
    ABUTI_RELEASE(sink->context, sink->path, sink->temporary);
    *sink = (abuti_sink){.folder = ABUTI_NO_FOLDER};
}

#ifdef O_TMPFILE
/* linkat() from /proc names a file that was opened without a name. */
#define NAMELESS_FORMAT "/proc/self/fd/%d"

/* Opens an unnamed file in an open folder, or in the folder of this path. */
static int open_nameless(int folder, const char *path, mode_t mode) {
    if (access("/proc/self/fd", X_OK) != 0)
        return -1;
    const char *where = folder == ABUTI_NO_FOLDER && *path ? path : ".";
    return openat(folder == ABUTI_NO_FOLDER ? AT_FDCWD : folder, where,
                  O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

static int link_nameless(int descriptor, int folder, const char *path, size_t folder_bytes) {
    char link[32];
    snprintf(link, sizeof link, NAMELESS_FORMAT, descriptor);
    return folder == ABUTI_NO_FOLDER
               ? linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW)
               : linkat(AT_FDCWD, link, folder, path + folder_bytes, AT_SYMLINK_FOLLOW);
}
#else
static int open_nameless(int folder, const char *path, mode_t mode) {
    (void)folder;
    (void)path;
    (void)mode;
    return -1;
}

static int link_nameless(int descriptor, int folder, const char *path, size_t folder_bytes) {
    (void)descriptor;
    (void)folder;
    (void)path;
    (void)folder_bytes;
    errno = ENOTSUP;
    return -1;
}
#endif

/* Creates the temporary file under an unused name in the folder of the target, or links an unnamed
 * file to such a name. The names are short, so that the target may have any name that the file
 * system allows. */
static int try_names(abuti_sink *sink, int nameless, mode_t mode) {
    static atomic_uint serial;
    int result;
    do {
        snprintf(sink->temporary + sink->folder_bytes, TEMPORARY_BYTES, ".abut-%ld-%u",
                 (long)getpid(), atomic_fetch_add(&serial, 1));
        result = nameless >= 0
                     ? link_nameless(nameless, sink->folder, sink->temporary, sink->folder_bytes)
                     : abuti_system_open(sink->folder, sink->temporary,
                                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (result < 0 && errno == EEXIST);
    return result;
}

/* Creates a file in the folder of the target, with the permissions of the target, or with `mode` if
 * there is no target. If the system supports it, the file has no name before it is complete, so
 * that even a killed process leaves no file behind. */
static FILE *open_temporary(abuti_sink *sink, const struct stat *old, mode_t mode) {
    const char *slash = strrchr(sink->path, '/');
    size_t folder = slash ? (size_t)(slash - sink->path) + 1 : 0;
    sink->temporary = abuti_allocate(sink->context, folder + TEMPORARY_BYTES, 1);
    if (!sink->temporary) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(sink->temporary, sink->path, folder);
    sink->temporary[folder] = 0;
    int descriptor = open_nameless(sink->folder, sink->temporary, mode);
    sink->nameless = descriptor >= 0;
    sink->folder_bytes = folder;
    if (!sink->nameless)
        descriptor = try_names(sink, -1, mode);
    if (descriptor < 0)
        return NULL;
    FILE *file = NULL;
    if (!old || abuti_system_set_mode(descriptor, old->st_mode & 0777) == 0)
        file = fdopen(descriptor, "wb");
    if (!file) {
        int error = errno;
        close(descriptor);
        if (!sink->nameless)
            abuti_system_unlink(sink->folder, sink->temporary);
        errno = error;
    }
    return file;
}

/* Standard output is written directly, without a temporary file. */
static FILE *open_standard_output(void) {
    int descriptor = abuti_system_duplicate(STDOUT_FILENO);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (descriptor >= 0 && !file)
        close(descriptor);
    return file;
}

abut_status abuti_sink_open(abuti_sink *sink, abut_context *context, const char *path) {
    *sink = (abuti_sink){.context = context, .folder = ABUTI_NO_FOLDER};
    sink->path = resolve_links(context, path);
    if (!sink->path)
        return ABUT_ERROR_MEMORY;
    struct stat old;
    bool standard = strcmp(path, ABUTI_STANDARD_OUTPUT) == 0;
    bool exists = !standard && stat(sink->path, &old) == 0;
    if (standard)
        sink->file = open_standard_output();
    else if (!exists && (errno != ENOENT || !path[0]))
        ; /* the path is invalid: report it now, not after the data was written */
    else if (exists && S_ISDIR(old.st_mode))
        errno = EISDIR;
    else if (exists && !S_ISREG(old.st_mode))
        sink->file = fopen(sink->path, "wb");
    else if (exists && access(sink->path, W_OK) != 0)
        ; /* a read-only file is not replaced, even if its folder allows it */
    else
        sink->file = open_temporary(sink, exists ? &old : NULL, 0666);
    if (sink->file)
        return ABUT_OK;
    int error = errno;
    close_sink(sink);
    return abuti_fail(error == ENOMEM ? ABUT_ERROR_MEMORY : ABUT_ERROR_FILE,
                      "%s: cannot be written: %s", path, strerror(error));
}

abut_status abuti_sink_open_in(abuti_sink *sink, abut_context *context, int folder,
                               const char *path) {
    struct stat old;
    *sink = (abuti_sink){.context = context, .folder = folder, .expendable = true};
    sink->path = abuti_allocate(context, strlen(path) + 1, 1);
    if (!sink->path) {
        close_sink(sink);
        return ABUT_ERROR_MEMORY;
    }
    strcpy(sink->path, path);
    if (abuti_system_stat(folder, path, &old) == 0 && S_ISDIR(old.st_mode))
        errno = EISDIR;
    else
        sink->file = open_temporary(sink, NULL, 0600);
    if (sink->file)
        return ABUT_OK;
    int error = errno;
    close_sink(sink);
    return abuti_fail(error == ENOMEM ? ABUT_ERROR_MEMORY : ABUT_ERROR_FILE,
                      "%s: cannot be written: %s", path, strerror(error));
}

void abuti_sink_write(abuti_sink *sink, const void *data, size_t bytes) {
    if (!sink->error && bytes && fwrite(data, 1, bytes, sink->file) != bytes)
        sink->error = errno ? errno : EIO;
}

void abuti_sink_print(abuti_sink *sink, const char *format, ...) {
    if (sink->error)
        return;
    va_list arguments;
    va_start(arguments, format);
    if (vfprintf(sink->file, format, arguments) < 0)
        sink->error = errno ? errno : EIO;
    va_end(arguments);
}

/* A rename is durable only after the folder has been synced too. Not every file system can sync a
 * folder, so a failure here does not fail the write. */
static void sync_folder(char *path) {
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    int folder = open(!slash ? "." : slash == path ? "/" : path, O_RDONLY);
    if (slash)
        *slash = '/';
    if (folder < 0)
        return;
    abuti_system_sync(folder);
    close(folder);
}

abut_status abuti_sink_commit(abuti_sink *sink) {
    if (!sink->error && fflush(sink->file) != 0)
        sink->error = errno;
    bool sync = sink->temporary && !sink->expendable;
    if (!sink->error && sync && abuti_system_sync(fileno(sink->file)) != 0)
        sink->error = errno;
    if (!sink->error && sink->nameless) {
        if (try_names(sink, fileno(sink->file), 0) == 0)
            sink->nameless = false;
        else
            sink->error = errno;
    }
    if (fclose(sink->file) != 0 && !sink->error)
        sink->error = errno;
    if (!sink->error && sink->temporary) {
        if (abuti_system_rename(sink->folder, sink->temporary, sink->path) != 0)
            sink->error = errno;
        else if (sync)
            sync_folder(sink->path);
    }
    abut_status status = ABUT_OK;
    if (sink->error) {
        status = abuti_fail(ABUT_ERROR_FILE, "%s: could not be written: %s%s", sink->path,
                            strerror(sink->error),
                            sink->temporary ? "; the previous file is unchanged" : "");
        if (sink->temporary && !sink->nameless)
            abuti_system_unlink(sink->folder, sink->temporary);
    }
    close_sink(sink);
    return status;
}

void abuti_sink_discard(abuti_sink *sink) {
    fclose(sink->file);
    if (sink->temporary && !sink->nameless)
        abuti_system_unlink(sink->folder, sink->temporary);
    close_sink(sink);
}

abut_status abut_context_write_file(abut_context *context, const char *path, const void *data,
                                    size_t bytes) {
    if (!path || (!data && bytes))
        return abuti_null(__func__, path ? "data" : "path");
    abuti_sink sink;
    abut_status status = abuti_sink_open(&sink, abuti_context_of(context), path);
    if (status)
        return status;
    abuti_sink_write(&sink, data, bytes);
    return abuti_sink_commit(&sink);
}
