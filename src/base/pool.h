/* Threads that help the one that enters the library. */
#ifndef ABUTI_BASE_POOL_H
#define ABUTI_BASE_POOL_H

#include <stdint.h>

/* Calls task(data, i) for every i below count, at most 2^31, on the calling thread and on up to
 * `threads` - 1 others, and returns when all are done. In a task of another run: on this thread
 * alone. */
void abuti_pool_run(uint32_t threads, uint32_t count, void (*task)(void *data, uint32_t index),
                    void *data);

/* How many threads to take where nobody says: OMP_NUM_THREADS, as schedulers of clusters set it, or
 * the processors that this process may use. */
uint32_t abuti_pool_offered(void);
uint32_t abuti_pool_processors(void);

#endif
