/* The thread pool that all contexts share. */
#ifndef ABUTI_BASE_POOL_H
#define ABUTI_BASE_POOL_H

#include <stdint.h>

/* Calls task(data, i) for every i below count, at most 2^31, on the calling thread and on up to
 * `threads` - 1 helpers, and returns when all tasks are done. Inside a task of another run, all
 * tasks run on the calling thread. */
void abuti_pool_run(uint32_t threads, uint32_t count, void (*task)(void *data, uint32_t index),
                    void *data);

/* Number of threads if the context sets none: the environment variable ABUT_THREADS, or the
 * number of processors that this process may use. */
uint32_t abuti_pool_default_threads(void);
uint32_t abuti_pool_processors(void);

#endif
