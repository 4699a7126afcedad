/* Closed surfaces of any number of triangles, for cases that measure growth. */
#ifndef ABUT_BENCH_GROWTH_H
#define ABUT_BENCH_GROWTH_H

#include "bench.h"

/* By name: "scan", "torus", "nested", "cylinder", "plates", "spiral"; with approximately this
 * number of triangles. */
abut_status growth_shape_create(bench_state *state, const char *name, uint32_t triangles,
                                abut_mesh **mesh);

#endif
