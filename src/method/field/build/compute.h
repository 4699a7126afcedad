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
    CUBE_CELLS = TILE_CELLS * TILE_CELLS * TILE_CELLS,
    TILE_ROW = TILE_LONG * FIELD_BRICK
};
/* Read by all threads. */
typedef struct computing {
    const field_job *job;
    regions_table table;
    bool closed, by_normals; /* by_normals: signs are those of pseudo-normals */
    bool is_searched;        /* each cell is a closest-point query */
    double *frame[3];        /* coordinates of cells in the scaled frame */
    uint32_t end[3];         /* number of cells along each axis */
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
    /* the cube */
    uint32_t origin[3];
    float values[CUBE_CELLS];
    uint32_t touching[CUBE_CELLS], touching_count; /* cells that may be on the surface */
    float touching_value[CUBE_CELLS];
    regions_winners winners; /* of the sixteen cells that were measured last */
    cells_feature exact[CELLS_CACHE];
    bvh_hint hint; /* warm start from the previous query in the same cube */
    regions_room lists;
} worker;

#define NOT_WANTED ((size_t)-1)

/* Blocks are given by their first cells. Advances to the next one of a span; returns false after
 * the last one. */
static inline bool compute_next_block(const cells_span *s, uint32_t block[3]) {
    for (int k = 0; k < 3; k++) {
        block[k] += FIELD_BRICK;
        if (block[k] < s->begin[k] + s->count[k])
            return true;
        block[k] = s->begin[k];
    }
    return false;
}

/* The index of a block in `wanted`, or NOT_WANTED. */
static inline size_t *compute_wanted(worker *w, const uint32_t block[3]) {
    return &w->at[block[0] / FIELD_BRICK - w->first[0] +
                  TILE_LONG * (block[1] / FIELD_BRICK - w->first[1] +
                               CUBE * (block[2] / FIELD_BRICK - w->first[2]))];
}

/* Whether the distances of a block are known. */
static inline bool compute_is_known(const worker *w, const uint32_t block[3]) {
    const field_job *job = w->c->job;
    return job->known && job->known[grid_at(job->blocks, block[0] / FIELD_BRICK,
                                            block[1] / FIELD_BRICK, block[2] / FIELD_BRICK)];
}

/* The index of a cell in the values of the cube. */
static inline uint32_t compute_index(const worker *w, uint32_t x, uint32_t y, uint32_t z) {
    return x - w->origin[0] + TILE_CELLS * (y - w->origin[1] + TILE_CELLS * (z - w->origin[2]));
}

/* Computes the distances of a cube, and its signs in `rows`. `is_far`: it is too far from the mesh
 * for lists. */
void abuti_compute_cells(worker *w, const cells_span *s, bool is_far);

#endif
