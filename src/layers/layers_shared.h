/* Sums over the rays of a view, for C and OpenCL C alike: whole numbers all of them, so that their
 * order does not matter.
 *
 * With W = ABUT_RASTER_MOST pixels a side there are fewer than 2^34 rays, and lengths, places and
 * depths are below 2^32; so sums of products of two need 98 bits and get 128. */
#ifndef ABUTI_LAYERS_SHARED_H
#define ABUTI_LAYERS_SHARED_H

#include "raster/raster_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef ulong word64;
#else
typedef uint64_t word64;
#endif

typedef struct layers_wide {
    word64 low, high;
} layers_wide;

static inline void layers_add(layers_wide *sum, word64 more) {
    sum->low += more;
    sum->high += sum->low < more;
}

/* Of a pair in a view. */
typedef struct layers_sum {
    word32 a, b;
    word64 pixels, intervals;
    word64 edges_a, edges_b;    /* of a inside b, and of b inside a */
    word64 enters_a, leaves_a;  /* intervals that begin or end with the surface of a */
    word64 last_pixel;          /* not a sum: which was counted last */
    layers_wide length, volume; /* along rays */
    layers_wide x, y, z;        /* times volume */
    word32 longest;
    word32 x0, x1, y0, y1, z0, z1; /* pixels and depths, ends included */
} layers_sum;

#endif
