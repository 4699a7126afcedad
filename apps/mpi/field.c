/* abut_field_write_distributed() over MPI, and writing the file.
 *
 * All messages are bytes whose lengths every process knows. MPI counts with an int, so long
 * messages are divided. The file is written beside its target, under a name that the first
 * process creates, and renamed when it is complete. */
#include <abut/mpi.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 28, PATH_BYTES = 4096, TAG = 7 };

/* The name of the file that is being written; empty if there is none. */
static char aside[PATH_BYTES];

void abut_mpi_clean(void) {
    if (aside[0])
        unlink(aside);
}

/* ---- exchange ---- */

typedef struct moment {
    double seconds, processor;
} moment;

static moment now(void) {
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (moment){MPI_Wtime(), (double)used.tv_sec + 1e-9 * (double)used.tv_nsec};
}

/* Adds the bytes and the time of a call of MPI. */
static void add(abut_mpi_traffic *traffic, moment begun, uint64_t sent, uint64_t written) {
    const moment ended = now();
    if (!traffic)
        return;
    traffic->sent += sent;
    traffic->written += written;
    traffic->waited += ended.seconds - begun.seconds;
    traffic->processor += ended.processor - begun.processor;
}

typedef struct place {
    int rank, count;
} place;

static place place_in(MPI_Comm processes) {
    place p;
    MPI_Comm_rank(processes, &p.rank);
    MPI_Comm_size(processes, &p.count);
    return p;
}

static int piece_of(uint64_t bytes, uint64_t at) {
    return (int)(bytes - at < PIECE ? bytes - at : PIECE);
}

void abut_mpi_gather(MPI_Comm processes, const void *own, const uint64_t *bytes, void *all,
                     abut_mpi_traffic *traffic) {
    const place p = place_in(processes);
    const moment begun = now();
    unsigned char *to = all;
    for (int i = 0; i < p.count; to += bytes[i++]) {
        if (i == p.rank && bytes[i])
            memcpy(to, own, bytes[i]);
        for (uint64_t at = 0; at < bytes[i]; at += PIECE)
            MPI_Bcast(to + at, piece_of(bytes[i], at), MPI_BYTE, i, processes);
    }
    add(traffic, begun, bytes[p.rank] * (uint64_t)(p.count - 1), 0);
}

void abut_mpi_collect(MPI_Comm processes, const void *own, const uint64_t *bytes, void *all,
                      abut_mpi_traffic *traffic) {
    const place p = place_in(processes);
    const moment begun = now();
    unsigned char *to = all;
    for (int i = 0; i < p.count && p.rank == 0; to += bytes[i++]) {
        if (i == 0 && bytes[i])
            memcpy(to, own, bytes[i]);
        for (uint64_t at = 0; i && at < bytes[i]; at += PIECE)
            MPI_Recv(to + at, piece_of(bytes[i], at), MPI_BYTE, i, TAG, processes,
                     MPI_STATUS_IGNORE);
    }
    for (uint64_t at = 0; p.rank && at < bytes[p.rank]; at += PIECE)
        MPI_Send((const unsigned char *)own + at, piece_of(bytes[p.rank], at), MPI_BYTE, 0, TAG,
                 processes);
    add(traffic, begun, p.rank ? bytes[p.rank] : 0, 0);
}

/* ---- the file ---- */

/* The state of a field that is being written. */
typedef struct writing {
    MPI_Comm processes;
    MPI_File file;
    abut_mpi_traffic traffic;
    bool is_synchronised; /* the other processes have received the status of this one */
} writing;

static bool team_gather(void *user, const void *own, const uint64_t *bytes, void *all) {
    writing *w = user;
    w->is_synchronised = true;
    abut_mpi_gather(w->processes, own, bytes, all, &w->traffic);
    return true;
}

static bool team_write(void *user, uint64_t offset, const void *data, size_t bytes) {
    writing *w = user;
    const moment begun = now();
    int result = MPI_File_write_at_all(w->file, (MPI_Offset)offset, data, (int)bytes, MPI_BYTE,
                                       MPI_STATUS_IGNORE);
    add(&w->traffic, begun, 0, bytes);
    return result == MPI_SUCCESS;
}

/* Follows symbolic links, as abut_field_write() does. */
static bool find_target(const char *path, char target[PATH_BYTES]) {
    char *real = realpath(path, NULL);
    const int length = snprintf(target, PATH_BYTES, "%s", real ? real : path);
    free(real);
    errno = ENAMETOOLONG;
    return length < PATH_BYTES;
}

/* Creates a new file beside the target, with its permissions. */
static bool make_aside(const char *target, char made[PATH_BYTES]) {
    const char *slash = strrchr(target, '/');
    const int folder = slash ? (int)(slash - target) + 1 : 0;
    struct stat old;
    const bool exists = stat(target, &old) == 0;
    if (exists && (!S_ISREG(old.st_mode) || access(target, W_OK) != 0)) {
        errno = S_ISREG(old.st_mode) ? errno : S_ISDIR(old.st_mode) ? EISDIR : EINVAL;
        return false;
    }
    if (snprintf(made, PATH_BYTES, "%.*s.abut-mpi-XXXXXX", folder, target) >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    const mode_t mask = umask(0);
    umask(mask);
    const int descriptor = mkstemp(made);
    if (descriptor < 0)
        return false;
    if (fchmod(descriptor, exists ? old.st_mode & 0777 : 0666 & ~mask) != 0) {
        close(descriptor);
        unlink(made);
        return false;
    }
    return close(descriptor) == 0;
}

/* The status of the file, from the first process to all. */
typedef struct notice {
    int error;
    char path[PATH_BYTES];
} notice;

/* All processes must fail together, so the first broadcasts its status. */
static abut_status broadcast_status(MPI_Comm processes, notice *n, const char *path) {
    MPI_Bcast(n, sizeof *n, MPI_BYTE, 0, processes);
    if (!n->error)
        return ABUT_OK;
    char words[PATH_BYTES + 200];
    snprintf(words, sizeof words, "%.3900s: cannot be written: %s", path, strerror(n->error));
    return abut_set_error(ABUT_ERROR_FILE, words);
}

static abut_status open_aside(writing *w, const char *path, char target[PATH_BYTES]) {
    notice n = {0};
    if (place_in(w->processes).rank == 0) {
        const bool made = find_target(path, target) && make_aside(target, n.path);
        n.error = made ? 0 : errno ? errno : EIO;
    }
    abut_status status = broadcast_status(w->processes, &n, path);
    if (status)
        return status;
    memcpy(aside, n.path, sizeof aside);
    int result = MPI_File_open(w->processes, n.path, MPI_MODE_WRONLY, MPI_INFO_NULL, &w->file),
        worst;
    MPI_Allreduce(&result, &worst, 1, MPI_INT, MPI_MAX, w->processes);
    if (worst == MPI_SUCCESS)
        return ABUT_OK;
    if (result == MPI_SUCCESS)
        w->file = MPI_FILE_NULL; /* closing it would wait for processes that have not opened it */
    return abut_set_error(ABUT_ERROR_FILE, "the file beside the target cannot be opened by every "
                                           "process; is it on a disk that all of them have?");
}

/* Renames the file to its target, or removes it. */
static abut_status end_aside(writing *w, abut_status status, const char *path, const char *target) {
    notice n = {0};
    int own = 0, worst = 0;
    const moment begun = now();
    if (w->file != MPI_FILE_NULL) {
        if (!status)
            own = MPI_File_sync(w->file) != MPI_SUCCESS;
        own = MPI_File_close(&w->file) != MPI_SUCCESS || own;
    }
    MPI_Allreduce(&own, &worst, 1, MPI_INT, MPI_MAX, w->processes);
    add(&w->traffic, begun, 0, 0);
    if (place_in(w->processes).rank == 0) {
        if (worst)
            n.error = EIO;
        else if (!status && rename(aside, target) != 0)
            n.error = errno;
        if (status || n.error)
            unlink(aside);
    }
    aside[0] = 0;
    char kept[600]; /* the message of the earlier error */
    snprintf(kept, sizeof kept, "%s", status ? abut_last_error() : "");
    abut_status ended = broadcast_status(w->processes, &n, path);
    return status ? abut_set_error(status, kept) : ended;
}

abut_status abut_mpi_field_write(MPI_Comm processes, abut_mesh *mesh,
                                 const abut_field_options *options, const char *path, bool plain,
                                 abut_field_info *info, abut_mpi_traffic *traffic) {
    if (!mesh || !path)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "abut_mpi_field_write: mesh and path must be given");
    writing w = {.processes = processes, .file = MPI_FILE_NULL};
    const place p = place_in(processes);
    char target[PATH_BYTES] = "";
    abut_field_team team = abut_field_team_default();
    team.rank = (uint32_t)p.rank;
    team.count = (uint32_t)p.count;
    team.user = &w;
    team.gather = team_gather;
    team.write = team_write;
    abut_status status = open_aside(&w, path, target);
    const bool opened = aside[0] != 0;
    if (!status) {
        status = abut_field_write_distributed(mesh, options, plain, &team, info);
        if (status && !w.is_synchronised) /* out of memory, and the other processes wait */
            MPI_Abort(processes, 1);
    }
    if (opened)
        status = end_aside(&w, status, path, target);
    if (traffic) {
        traffic->sent += w.traffic.sent;
        traffic->written += w.traffic.written;
        traffic->waited += w.traffic.waited;
        traffic->processor += w.traffic.processor;
    }
    return status;
}
