/* State of the CPU builder of fields, shared by compute.c and compute_cells.c. */
#ifndef ABUTI_FIELD_BUILD_COMPUTE_H
#define ABUTI_FIELD_BUILD_COMPUTE_H

#include "field/build/cells.h"
#include "nearest/nearest.h"

enum {
    CUBE = 4, /* maximum blocks along a side of a cube, the unit for which lists are collected */
    CUBE_MIN = 2,   /* minimum */
    TILES_EACH = 8, /* tiles per thread, so that all threads end at about the same time */
    TILE_LONG = 32, /* blocks of a tile along x */
    TILE_CELLS = CUBE * FIELD_BRICK,
    TILE_ROW = TILE_LONG * FIELD_BRICK
};
/* Read by all threads. */
typedef struct computing {
    const field_job *job;
    regions_table table;
    bool closed, is_searched; /* is_searched: each cell is a closest-point query */
    double *frame[3];         /* coordinates of cells in the scaled frame */
    uint32_t end[3];          /* number of cells along each axis */
    uint32_t cube, tiles[3];
    struct worker *workers;
    uint64_t *seen; /* bit sets of all workers */
} computing;

typedef struct worker {
    const computing *c;
    cells_rule rule;
    /* the tile: its first block, number of blocks, and their indices in `wanted` */
    uint32_t first[3], blocks[3];
    size_t at[TILE_LONG * CUBE * CUBE];
    sign_rows rows;
    int32_t winding[TILE_CELLS * TILE_CELLS * TILE_ROW];
    unsigned char inside[TILE_CELLS * TILE_CELLS * TILE_ROW];
    unsigned char crossed[TILE_CELLS * TILE_CELLS];
    cells_lanes x[TILE_ROW / CELLS_X], y[TILE_CELLS / CELLS_Y], z[TILE_CELLS / CELLS_Z];
    /* the block */
    float values[BLOCK_CELLS];
    regions_winners winners; /* of the sixteen cells that were measured last */
    cells_feature exact[CELLS_CACHE];
    uint32_t touching[BLOCK_CELLS], touching_count; /* cells that may be on the surface */
    float touching_value[BLOCK_CELLS];
    uint32_t origin[3];
    bvh_hint hint; /* warm start from the previous query in the same cube */
    regions_room lists;
} worker;

/* ---- compute_cells.c: from lists to distances ---- */

/* Makes lists for at most regions_boxes_at_once() spans from the list of a larger span. */
void abuti_compute_narrow(worker *w, const regions_list *list, const cells_span *spans,
                          uint32_t count, regions_narrowed *made);
/* Makes a list for a span from the BVH. */
regions_outcome abuti_compute_collect(worker *w, const cells_span *s, regions_narrowed *made);
/* Computes the distances of cells of a block. `list` is that of a larger span, or null if there is
 * none. */
void abuti_compute_cells(worker *w, const cells_span *s, const regions_list *list);
/* The same with a list for exactly this span. */
void abuti_compute_divide(worker *w, const cells_span *s, const regions_list *list);
/* Sets cells of the block to the band, or computes each by a closest-point query. */
void abuti_compute_set(worker *w, const cells_span *s, bool search);

#endif
