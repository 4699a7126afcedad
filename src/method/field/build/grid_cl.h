/* A grid in the scaled frame of a BVH, for kernels, and blocks of its cells.
 *
 * Blocks are cubes of cells with a power of two along each side, numbered like cells, x fastest.
 * The centre of a block is computed in floats. The first centre, and the step times an integer,
 * have an error of one or two roundings of the largest coordinate. This is far below the quarter of
 * a margin that box_of() of feature_cl.h adds to every box. */
#ifndef ABUTI_FIELD_BUILD_GRID_CL_H
#define ABUTI_FIELD_BUILD_GRID_CL_H

#include "field/build/device_shared.h"
#include "nearest/feature_cl.h"

#define GROUP FIELD_GROUP

typedef struct block_place {
    uint x, y, z;
} block_place;

static inline uint blocks_along(uint count, uint side) {
    return (count + side - 1) / side;
}

static inline block_place place_of(const field_grid *g, uint block, uint side) {
    uint wide = blocks_along(g->count[0], side), high = blocks_along(g->count[1], side);
    block_place p;
    p.x = block % wide;
    p.y = block / wide % high;
    p.z = block / wide / high;
    return p;
}

/* The index of a block, or ABUT_NONE outside the grid. */
static inline uint block_at(const field_grid *g, uint side, uint x, uint y, uint z) {
    uint wide = blocks_along(g->count[0], side), high = blocks_along(g->count[1], side);
    return x < wide && y < high && z < blocks_along(g->count[2], side) ? x + wide * (y + high * z)
                                                                       : ABUT_NONE;
}

static inline float4 middle_of(const field_grid *g, uint x, uint y, uint z, uint side) {
    float half_side = 0.5f * (float)(side - 1);
    return (float4)(fma((float)x + half_side, g->step, g->base[0]),
                    fma((float)y + half_side, g->step, g->base[1]),
                    fma((float)z + half_side, g->step, g->base[2]), 0.0f);
}

/* The bounding box of the centres of side x side x side cells from (x, y, z) on. */
static inline box box_at(const field_grid *g, uint x, uint y, uint z, uint side) {
    float half_size = 0.5f * (float)(side - 1) * g->step;
    float4 middle = middle_of(g, x, y, z, side),
           h = (float4)(half_size, half_size, half_size, 0.0f);
    return box_of(middle - h, middle + h, g->margin);
}

/* Features farther from a block than this are not needed. `bound` is the squared distance of the
 * centre of the block, as a word. */
static inline float upper_of(const field_grid *g, const box *b, uint bound) {
    return fmin(sqrt(as_float(bound)) * NEAREST_SLACK + b->radius, g->reach) + 4.0f * b->margin;
}

#endif
