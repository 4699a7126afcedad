/* What the files of the field share: how values are kept, and how they are asked for.
 *
 * Dense fields keep one value for each cell, x fastest. Sparse ones keep bricks: brick (a, b, c)
 * has the 9 x 9 x 9 values from cell (8a, 8b, 8c) on, so that neighbours share a layer and a point
 * between centres needs one brick only. The corners of all bricks are a coarse dense grid of their
 * own, which answers where there is no brick. Bricks at the end of the grid may reach beyond it.
 *
 * Values of 16 bits stand for themselves times `step`.
 */
#ifndef ABUTI_FIELD_H
#define ABUTI_FIELD_H

#include "base/base.h"
#include "base/math_shared.h"

#include "bvh/bvh.h"

#include <abut/field.h>

enum {
    FIELD_BRICK = 8,              /* cells from brick to brick */
    FIELD_SIDE = FIELD_BRICK + 1, /* values along a side of a brick */
    FIELD_VALUES = FIELD_SIDE * FIELD_SIDE * FIELD_SIDE,
};

struct abut_field {
    abut_context *context; /* held */
    abut_mesh *mesh;       /* held */
    abut_grid grid;
    abut_field_layout layout;
    abut_field_type type;
    abut_sign_method sign;
    bool closed;
    abut_device *device; /* while it is built on one, else null; not held */
    double band, step;   /* infinite without a limit; 0 for floats */
    double least, most;
    void *values; /* float or int16_t; value_count of them */
    size_t value_count;
    /* Of sparse fields only. */
    uint32_t bricks[3], brick_count;
    uint32_t *index; /* brick_count's number of each brick; ABUT_NONE where it is not stored */
    float *coarse;   /* (bricks + 1) along each axis */
};

static inline float field_value(const abut_field *field, size_t i) {
    return field->type == ABUT_FIELD_FLOAT
               ? ((const float *)field->values)[i]
               : (float)(((const int16_t *)field->values)[i] * field->step);
}

static inline size_t grid_cells(const abut_grid *grid) {
    return (size_t)grid->count[0] * grid->count[1] * grid->count[2];
}

static inline size_t grid_at(const uint32_t count[3], uint32_t i, uint32_t j, uint32_t k) {
    return i + (size_t)count[0] * (j + (size_t)count[1] * k);
}

/* The centre of a cell; everyone rounds as here. */
static inline vec3 grid_centre(const abut_grid *grid, uint32_t i, uint32_t j, uint32_t k) {
    return v3(grid->origin.x + grid->cell * i, grid->origin.y + grid->cell * j,
              grid->origin.z + grid->cell * k);
}

/* ---- field.c ---- */

/* Reads and checks options; gives the grid and the band that they mean for a mesh. */
abut_status abuti_field_options(const abut_field_options *options, abut_field_options *ours);
abut_status abuti_field_plan(const abut_mesh *mesh, const abut_field_options *o, abut_grid *grid,
                             double *band);

/* ---- compute.c: values of blocks of cells ---- */

/* Blocks of block x block x block cells, the first of which begin at multiples of FIELD_BRICK, are
 * computed in any order, on all threads. Values beyond the band are the band with their sign. */
typedef struct field_job {
    const abut_bvh *bvh; /* ready for signs */
    const abut_grid *grid;
    double band;            /* infinite without a limit */
    uint32_t block;         /* FIELD_BRICK or FIELD_SIDE */
    uint32_t blocks[3];     /* along each axis */
    const uint32_t *wanted; /* ascending numbers of blocks; null = all */
    size_t wanted_count;
    /* Takes the values of a block, x fastest; from any thread. Those of cells beyond the grid are
     * whatever where the block is FIELD_BRICK. `at` is its place in `wanted`, or its number. */
    void (*put)(void *data, size_t at, const uint32_t begin[3], const float *values);
    void *data;
    /* Blocks whose distances are known, by their numbers, and what gives them; null where there are
     * none. They still get their signs and are put. None may have a cell on the surface. */
    const unsigned char *known;
    void (*get)(const void *known_data, const uint32_t begin[3], float *distances);
    const void *known_data;
    const struct cells_table *table; /* of the hierarchy (cells.h); null = made for this job */
    double from, to;                 /* what it is of all that is reported as progress */
} field_job;

abut_status abuti_field_compute(const field_job *job);
/* The same values by a batch of searches; plain.c. */
abut_status abuti_field_compute_plain(const field_job *job);

/* ---- device_dense.c ---- */

/* Computes a dense field on its device; `put` takes the values of some cells in a row. */
abut_status abuti_field_dense_on(abut_field *field, const abut_bvh *bvh,
                                 void (*put)(abut_field *field, size_t at, const float *values,
                                             size_t count));

/* ---- build.c ---- */

/* Fills a field whose grid and options stand. Of a dense one, distances of `known` blocks are those
 * of `old`; both may be null. */
abut_status abuti_field_build(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                              const unsigned char *known);
/* What 16 bits stand for; 0 for floats. */
double abuti_field_step(const abut_field *field);

#endif
