/* The manifest of a batch: JSON lines, append-only, shared by any number of processes.
 *
 * A line is added by one write under a lock. A truncated line, after a power failure or on a
 * full disk, is not valid JSON and is ignored; the next line begins after a newline.
 *
 * Locks are POSIX record locks: they end with their process, and NFS supports them. Closing any
 * other descriptor of the file would release them, so that there is only one descriptor. */
#include "batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Offsets of the locked bytes, beyond the end of any manifest. */
static const off_t APPENDING = ((off_t)1 << 60) - 1, CLAIMS = (off_t)1 << 60;

enum { FIRST_BUFFER = 1 << 20, MEMBERS = 24 };

static bool set_manifest_error(const batch_manifest *manifest, const char *what) {
    tool_text words = {0};
    text_safe(&words, manifest->path);
    text_print(&words, ": %s: %s", what, strerror(errno));
    abut_set_error(ABUT_ERROR_FILE, words.data ? words.data : "out of memory");
    text_free(&words);
    return false;
}

static bool fail_memory(void) {
    abut_set_error(ABUT_ERROR_MEMORY, "not enough memory for the manifest");
    return false;
}

/* ---- locks ---- */

/* Returns false if another process holds the lock, or a signal arrived. */
static bool lock(const batch_manifest *manifest, off_t byte, short type, bool wait) {
    struct flock about = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do
        result = fcntl(manifest->file, wait ? F_SETLKW : F_SETLK, &about);
    while (result < 0 && errno == EINTR && !tool_cancelled());
    return result == 0;
}

static off_t claim_of(const char *output) {
    uint64_t hash = hash_bytes(HASH_START, output, strlen(output));
    return CLAIMS + (off_t)(hash & ((uint64_t)CLAIMS - 1));
}

bool manifest_claim(const batch_manifest *manifest, const char *output, bool wait) {
    return lock(manifest, claim_of(output), F_WRLCK, wait);
}

void manifest_release(const batch_manifest *manifest, const char *output) {
    lock(manifest, claim_of(output), F_UNLCK, false);
}

/* ---- records ---- */

static batch_record *slot_of(batch_record *records, size_t room, const char *output) {
    size_t at = (size_t)hash_bytes(HASH_START, output, strlen(output)) & (room - 1);
    while (records[at].output && strcmp(records[at].output, output) != 0)
        at = (at + 1) & (room - 1);
    return &records[at];
}

const batch_record *manifest_find(const batch_manifest *manifest, const char *output) {
    const batch_record *record =
        manifest->room ? slot_of(manifest->records, manifest->room, output) : NULL;
    return record && record->output ? record : NULL;
}

static bool make_room(batch_manifest *manifest) {
    if (2 * manifest->count < manifest->room)
        return true;
    size_t room = manifest->room ? 2 * manifest->room : 1024;
    batch_record *larger = calloc(room, sizeof *larger);
    if (!larger)
        return fail_memory();
    for (size_t i = 0; i < manifest->room; i++)
        if (manifest->records[i].output)
            *slot_of(larger, room, manifest->records[i].output) = manifest->records[i];
    free(manifest->records);
    manifest->records = larger;
    manifest->room = room;
    return true;
}

/* Adds the record of a line, which is modified. Ignores lines that are not valid records. */
static bool add_line_record(batch_manifest *manifest, char *line, uint64_t at) {
    flat_member members[MEMBERS];
    size_t count = flat_parse(line, members, MEMBERS);
    const char *output = flat_value(members, count, "output"),
               *status = flat_value(members, count, "status"),
               *key = flat_value(members, count, "key"),
               *bytes = flat_value(members, count, "bytes");
    if (!output || !status || !key)
        return true;
    if (!make_room(manifest))
        return false;
    batch_record *record = slot_of(manifest->records, manifest->room, output);
    if (!record->output) {
        if (!(record->output = strdup(output)))
            return fail_memory();
        manifest->count++;
    }
    record->key = strtoull(key, NULL, 16);
    record->bytes = bytes ? strtoull(bytes, NULL, 10) : 0;
    record->at = at;
    record->done = strcmp(status, "done") == 0;
    return true;
}

/* Adds the complete lines of the buffer. Returns their bytes, or -1. */
static ssize_t add_complete_lines(batch_manifest *manifest, size_t bytes) {
    size_t start = 0;
    char *end;
    while ((end = memchr(manifest->buffer + start, '\n', bytes - start))) {
        *end = 0;
        if (!add_line_record(manifest, manifest->buffer + start, manifest->read_to + start))
            return -1;
        start = (size_t)(end - manifest->buffer) + 1;
    }
    return (ssize_t)start;
}

bool manifest_refresh(batch_manifest *manifest) {
    while (manifest->file >= 0) {
        ssize_t got = pread(manifest->file, manifest->buffer, manifest->buffer_bytes,
                            (off_t)manifest->read_to);
        if (got < 0 && errno == EINTR && !tool_cancelled())
            continue;
        if (got < 0)
            return set_manifest_error(manifest, "cannot be read");
        ssize_t taken = add_complete_lines(manifest, (size_t)got);
        if (taken < 0)
            return false;
        manifest->read_to += (uint64_t)taken;
        if ((size_t)got < manifest->buffer_bytes)
            return true; /* the rest is an incomplete line */
        if (!taken) {
            char *larger = realloc(manifest->buffer, 2 * manifest->buffer_bytes);
            if (!larger)
                return fail_memory();
            manifest->buffer = larger;
            manifest->buffer_bytes *= 2;
        }
    }
    return true;
}

/* ---- appending lines ---- */

static bool write_bytes(int file, const char *bytes, size_t count) {
    while (count) {
        ssize_t put = write(file, bytes, count);
        if (put < 0 && errno == EINTR)
            continue; /* a short line is completed even after cancellation */
        if (put <= 0)
            return false;
        bytes += put;
        count -= (size_t)put;
    }
    return true;
}

static bool append_locked(batch_manifest *manifest, const tool_text *line) {
    struct stat about;
    char last = '\n';
    if (fstat(manifest->file, &about) != 0 ||
        (about.st_size && pread(manifest->file, &last, 1, about.st_size - 1) != 1))
        return set_manifest_error(manifest, "cannot be read");
    if ((last == '\n' || write_bytes(manifest->file, "\n", 1)) &&
        write_bytes(manifest->file, line->data, line->used) && fdatasync(manifest->file) == 0)
        return true;
    int error = errno;
    bool cut = ftruncate(manifest->file, about.st_size) == 0;
    errno = error;
    return set_manifest_error(manifest,
                              cut ? "no line could be added; the run stops"
                                  : "only a part of a line could be added; the run stops");
}

bool manifest_append(batch_manifest *manifest, const tool_text *line) {
    if (line->failed)
        return fail_memory();
    struct flock about = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = APPENDING,
                          .l_len = 1};
    while (fcntl(manifest->file, F_SETLKW, &about) != 0)
        if (errno != EINTR)
            return set_manifest_error(manifest, "cannot be locked");
    bool fine = append_locked(manifest, line);
    lock(manifest, APPENDING, F_UNLCK, false);
    return fine;
}

/* ---- opening and closing ---- */

static bool open_file(batch_manifest *manifest, bool look) {
    manifest->file =
        open(manifest->path, look ? O_RDONLY | O_CLOEXEC : O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC,
             0666);
    if (manifest->file < 0)
        return (look && errno == ENOENT) || set_manifest_error(manifest, "cannot be opened");
    struct stat about;
    if (fstat(manifest->file, &about) == 0 && !S_ISREG(about.st_mode)) {
        errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        return set_manifest_error(manifest, "is not a regular file");
    }
    if (!look &&
        !(lock(manifest, APPENDING, F_WRLCK, true) && lock(manifest, APPENDING, F_UNLCK, false)))
        return set_manifest_error(
            manifest, "cannot be locked, which 'abut batch' requires; use --manifest with "
                      "a file on another file system");
    return true;
}

int manifest_open(tool_run *tool, batch_manifest *manifest, char *path, bool look) {
    *manifest = (batch_manifest){.file = -1, .path = path, .buffer_bytes = FIRST_BUFFER};
    manifest->buffer = malloc(manifest->buffer_bytes);
    bool fine = manifest->buffer ? true : fail_memory();
    fine = fine && open_file(manifest, look) && manifest_refresh(manifest);
    manifest->begun = manifest->read_to;
    return fine ? 0 : tool_fail(tool, ABUT_ERROR_FILE);
}

void manifest_close(batch_manifest *manifest) {
    if (manifest->file >= 0)
        close(manifest->file);
    for (size_t i = 0; i < manifest->room; i++)
        free(manifest->records[i].output);
    free(manifest->records);
    free(manifest->buffer);
    free(manifest->path);
    *manifest = (batch_manifest){.file = -1};
}
