/* Fields on a device among their own files: what a hierarchy keeps for them, and how they are made.
 *
 * The method stands at the head of field_lists.cl, field_rows.cl, field_sides.cl, field_cells.cl
 * and field_settle.cl. Every value is the one that the search of the hierarchy gives.
 */
#ifndef ABUTI_FIELD_BUILD_DEVICE_H
#define ABUTI_FIELD_BUILD_DEVICE_H

#include "bvh/device_query.h"
#include "field/field.h"
#include "nearest/features.h"

/* Where the time goes, on the device; the last one as the host sees it. */
typedef enum field_stage {
    FIELD_STAGE_CLEAR = 0,
    FIELD_STAGE_CROSS, /* what rows cross */
    FIELD_STAGE_SUM,   /* and sums along them */
    FIELD_STAGE_SIDES, /* of surfaces with a border */
    FIELD_STAGE_TOP,   /* lists of the largest blocks */
    FIELD_STAGE_FILTER,
    FIELD_STAGE_CELLS,
    FIELD_STAGE_CUT, /* blocks with long lists */
    FIELD_STAGE_PARTS,
    FIELD_STAGE_FEW,
    FIELD_STAGE_SETTLE, /* cells in doubt */
    FIELD_STAGE_SIGNS,  /* of cells whose signs are not known, as the host sees it */
    FIELD_STAGE_SEARCH, /* all cells, the same */
    FIELD_STAGES
} field_stage;

/* What a build did, for benchmarks and tests. */
typedef struct field_account {
    double stage_ms[FIELD_STAGES];
    uint64_t doubtful; /* cells that were measured again as the search does it */
    uint64_t unsure;   /* cells whose signs winding numbers told */
    uint64_t cut;      /* blocks whose lists were too long */
    uint64_t cut_again;
    uint64_t unsettled; /* large blocks whose signs are not all the same */
    uint64_t entries;   /* of the lists of two levels, at most */
    bool searched;      /* the whole field was left */
} field_account;

enum {
    FIELD_LEVELS = 32,
    FIELD_BLOCK = 8,   /* side of the blocks that a group measures, the last with lists */
    FIELD_GROUP = 128, /* items of most kernels */
    FIELD_COARSE = 32, /* side of the blocks for which signs are found first */
};

/* A feature in doubles. Of an edge and a vertex: a place, a unit vector and a length, both 0 for a
 * vertex; of a face a place and its unit normal. */
typedef struct feature_exact {
    double place[2];        /* x, y: absolute */
    double place_z, length; /* the length in the frame */
    double direction[2];    /* x, y */
    double direction_z;     /* z */
    uint32_t triangle, is;  /* of a face; FIELD_IS_FACE, FIELD_IS_LOW */
} feature_exact;

_Static_assert(sizeof(feature_exact) == 64, "the layout that field_cells.cl reads");

enum {
    FIELD_IS_FACE = 1,
    FIELD_IS_LOW = 2 /* beside a triangle that is too low to be a feature */
};

/* As field_grid of grid_cl.h. */
typedef struct grid_argument {
    double origin[3], cell, mesh_origin[3], scale, per_scale, band;
    float base[3], step, margin, reach;
    uint32_t count[3], first[3];
} grid_argument;

_Static_assert(sizeof(grid_argument) == 128, "the layout that kernels read");

/* What a hierarchy keeps for fields; scratch memory grows as needed. */
typedef struct field_parts {
    abuti_kernel seed, top, filter, siblings, cut, cells, few, put, cross, sum, shifts, sides, rest;
    abuti_kernel settle, points, turn, bricks;
    abuti_buffer records, exact, incident_begin, incidents; /* of features */
    abuti_buffer border;                                    /* two ends an edge, four floats each */
    uint32_t feature_count, border_count;
    bool is_ready;
    double cells_least;   /* a triangle; grids of fewer cells are left to the search, all of them */
    double short_share;   /* lists are called short with fewer features than this a small block */
    uint32_t slices_most; /* of a list */
    abuti_buffer lists, bounds; /* of all levels */
    abuti_buffer pool, counters, doubts, settled;
    abuti_buffer long_blocks, longer, cut_lists, cut_bounds;
    abuti_buffer coarse, fine, unsettled, mixed, rows; /* signs */
    abuti_queue aside;                                 /* for signs, while lists are made */
    abuti_buffer unsure, unsure_points, unsure_order, unsure_sums, unsure_inside;
    size_t pool_count;
    bool pool_fixed;        /* for tests: begins with what it has */
    field_account *account; /* null unless someone wants to know */
} field_parts;

/* The parts of a hierarchy, made if there are none. */
abut_status abuti_field_parts(bvh_on_device *bvh, field_parts **parts);

/* From now on builds for this hierarchy are accounted for here, and wait after each stage; null
 * ends that. */
abut_status abuti_device_field_account(bvh_on_device *bvh, field_account *account);

/* Fills a buffer with the values of a grid, x fastest, and finds the least and the greatest; of a
 * part of it, whose size `grid` has, where `first` is not null: its first cell. Waits. */
abut_status abuti_device_field_fill(bvh_on_device *bvh, const abut_grid *grid,
                                    const uint32_t first[3], double band, abuti_buffer *values,
                                    double *least, double *most);

/* Refuses hierarchies that know no inside, devices without doubles, and grids that are too large.
 */
abut_status abuti_device_field_check(const char *function, bvh_on_device *bvh,
                                     const abut_grid *grid);

#endif
