/* abut on several processes with MPI: a separate library (libabut-mpi) on top of libabut.
 *
 * libabut itself does not depend on MPI. All functions except abut_mpi_clean() are collective:
 * every process of the communicator calls them with the same arguments. Results have the same bytes
 * for any number of processes. See docs/mpi.md.
 */
#ifndef ABUT_MPI_H
#define ABUT_MPI_H

#include <abut/field.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Communication statistics of a process. */
typedef struct abut_mpi_traffic {
    uint64_t sent;    /* bytes sent to other processes, counted once per receiver */
    uint64_t written; /* bytes written to files */
    double waited;    /* seconds in MPI calls */
    double processor; /* processor seconds of these: Open MPI polls while it waits */
} abut_mpi_traffic;

/* Builds a sparse signed distance field and writes it to `path` (.abutf), with the same bytes as
 * abut_field_create() and abut_field_write() in one process. The mesh must be the same in all
 * processes, and all processes must be able to write `path`. MPI-IO writes a temporary file, which
 * is synced. The first process renames it after success. If the job fails or is killed, the old
 * file is unchanged. `plain` has the meaning of abut_field_write_options. `info` and `traffic` may
 * be null; the statistics are added to `traffic`. A failure in one process is returned in all
 * processes. One thread per process may call it at a time. */
abut_status abut_mpi_field_write(MPI_Comm processes, abut_mesh *mesh,
                                 const abut_field_options *options, const char *path, bool plain,
                                 abut_field_info *info, abut_mpi_traffic *traffic);

/* Concatenates the data of all processes in `all`, in every process. `own` is the data of this
 * process, and bytes[i] the size of the data of process i. Sizes may exceed 2^31. One thread per
 * process may call it at a time. */
void abut_mpi_gather(MPI_Comm processes, const void *own, const uint64_t *bytes, void *all,
                     abut_mpi_traffic *traffic);
/* The same, but only the first process receives the data; `all` may be null in the others. One
 * thread per process may call it at a time. */
void abut_mpi_collect(MPI_Comm processes, const void *own, const uint64_t *bytes, void *all,
                      abut_mpi_traffic *traffic);

/* Removes the temporary file of a field that is being written, if there is one; the write then
 * fails. Not collective. Call it when a signal ends the process, which may be waiting for a process
 * that no longer exists. Makes one system call; safe in a signal handler. */
void abut_mpi_clean(void);

#ifdef __cplusplus
}
#endif

#endif
