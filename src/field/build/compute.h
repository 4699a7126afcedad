/* What the two halves of the engine share: what is computed, and what a worker works with. */
#ifndef ABUTI_FIELD_BUILD_COMPUTE_H
#define ABUTI_FIELD_BUILD_COMPUTE_H

#include "field/build/cells.h"
#include "nearest/nearest.h"

enum {
    CUBE = 4,         /* blocks along a side of what lists begin with, at most */
    CUBE_MIN = 2,     /* and at least */
    TILES_EACH = 8,   /* for a thread, so that all end at about the same time */
    TILE_LONG = 32,   /* blocks of a tile along x */
    MEASURE_LIST = 6, /* features; not filtered again */
    TILE_CELLS = CUBE * FIELD_BRICK,
    TILE_ROW = TILE_LONG * FIELD_BRICK
};
/* All threads read it. */
typedef struct computing {
    const field_job *job;
    regions_table table;
    const cells_kernel *kernel;
    sign_border border;
    bool closed, is_searched; /* each cell by itself */
    double *frame[3];         /* coordinates of cells in the frame */
    uint32_t end[3];          /* of cells that have values, along each axis */
    uint32_t cube, tiles[3];
    struct worker *workers;
    uint64_t *seen; /* of all workers */
} computing;

typedef struct worker {
    const computing *c;
    cells_rule rule;
    /* the tile: its first block, how many, and their places in `wanted` */
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
    uint32_t touching[BLOCK_CELLS], touching_count; /* cells on the surface, or as good as that */
    float touching_value[BLOCK_CELLS];
    uint32_t origin[3];
    bvh_hint hint; /* of the cell that was searched for before, in the same cube */
    regions_room lists;
} worker;

/* ---- compute_cells.c: from lists to distances ---- */

/* Makes lists for some spans, at most regions_boxes_at_once(), from that of a larger one. */
void abuti_compute_narrow(worker *w, const regions_list *list, const cells_span *spans,
                          uint32_t count, regions_narrowed *made);
/* Makes a list for a span from the hierarchy. */
regions_outcome abuti_compute_collect(worker *w, const cells_span *s, regions_narrowed *made);
/* Finds the distances of cells of a block with a list for these and more, or null where there is
 * none. */
void abuti_compute_cells(worker *w, const cells_span *s, const regions_list *list);
/* The same with a list for these. */
void abuti_compute_divide(worker *w, const cells_span *s, const regions_list *list);
/* Sets cells of the block to the band, or searches for each. */
void abuti_compute_set(worker *w, const cells_span *s, bool search);

#endif
