/* abut on several processes, by MPI: a small library of its own (libabut-mpi) over libabut, which
 * knows nothing of it. All functions are collective: every process of the communicator calls them
 * with the same arguments. See docs/mpi.md.
 */
#ifndef ABUT_MPI_H
#define ABUT_MPI_H

#include <abut/field.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a process has exchanged. */
typedef struct abut_mpi_traffic {
    uint64_t sent;    /* bytes that went from here to others, each receiver counted */
    uint64_t written; /* bytes to files */
    double waited;    /* seconds in calls of MPI */
    double
        processor; /* of these, processor seconds: Open MPI asks again and again while it waits */
} abut_mpi_traffic;

/* Builds a sparse field and writes it to `path` (.abutf), all or nothing: the very bytes that one
 * process writes by abut_field_create() and abut_field_write(). The mesh must be the same in all
 * processes, and `path` a file that all of them can write. The file is written aside by MPI-IO,
 * synced, and renamed by the first process once all is well; a job that fails or is killed leaves
 * the old one. `plain` as in abut_field_write_options. `info` and `traffic` may be null; else the
 * size of `info` must be set, and what is exchanged is added to `traffic`. What fails in one
 * process fails in all. One thread of a process calls it. */
abut_status abut_mpi_field_write(MPI_Comm processes, abut_mesh *mesh,
                                 const abut_field_options *options, const char *path, bool plain,
                                 abut_field_info *info, abut_mpi_traffic *traffic);

/* Gives bytes[i] of each process i to all, one after the other; `own` has those of this one.
 * Counts beyond 2^31 are fine. */
void abut_mpi_gather(MPI_Comm processes, const void *own, const uint64_t *bytes, void *all,
                     abut_mpi_traffic *traffic);
/* The same to the first process alone; `all` may be null in others. */
void abut_mpi_collect(MPI_Comm processes, const void *own, const uint64_t *bytes, void *all,
                      abut_mpi_traffic *traffic);

/* Removes the file that a field is being written to, if there is one, so that the call fails: for
 * handlers of signals that end a process, which may wait for one that is gone. Makes one system
 * call. */
void abut_mpi_clean(void);

#ifdef __cplusplus
}
#endif

#endif
