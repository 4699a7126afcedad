/* Builder of fields on a device: the data that a BVH on a device keeps for fields, and the entry
 * points.
 *
 * The heads of field_lists.cl, field_rows.cl, field_sides.cl, field_cells.cl and field_resolve.cl
 * describe the method. Every value equals the result of the closest-point query.
 */
#ifndef ABUTI_FIELD_BUILD_DEVICE_H
#define ABUTI_FIELD_BUILD_DEVICE_H

#include "device/kit.h"
#include "field/build/device_shared.h"
#include "field/field.h"
#include "nearest/device.h"
#include "sign/device.h"

_Static_assert(sizeof(field_grid) == 128, "the layout that kernels read");

typedef enum field_kernel {
    FIELD_SEED,
    FIELD_TOP,
    FIELD_FILTER,
    FIELD_CUT,
    FIELD_CELLS,
    FIELD_FEW_CELLS,
    FIELD_CROSS,
    FIELD_SUM,
    FIELD_SHIFTS,
    FIELD_SIDES,
    FIELD_REST,
    FIELD_RESOLVE,
    FIELD_BRICKS,
    FIELD_KERNELS
} field_kernel;

typedef enum field_memory {
    /* computed once */
    FIELD_BOUNDARY_NODES,    /* boundary_node */
    FIELD_BOUNDARY_VERTICES, /* three doubles each */
    /* computed in each build */
    FIELD_LISTS, /* of all levels */
    FIELD_BOUNDS,
    FIELD_POOL,
    FIELD_COUNTERS,
    FIELD_DOUBTS,
    FIELD_LONG,
    FIELD_LONGER,
    FIELD_CUT_LISTS,
    FIELD_CUT_BOUNDS,
    FIELD_COARSE_SHIFTS, /* signs */
    FIELD_FINE_SHIFTS,
    FIELD_UNDECIDED,
    FIELD_MIXED,
    FIELD_ROWS,
    /* of sparse fields: a window of the grid, and the bricks copied from it */
    FIELD_WINDOW,
    FIELD_BRICK_CELLS,
    FIELD_BRICK_VALUES,
    FIELD_MEMORIES
} field_memory;

/* Data of a BVH on a device for fields. Scratch memory grows as needed. */
typedef struct field_parts {
    bvh_attachment part;
    const sign_attachment *sign;
    bool closed;         /* no boundary */
    abuti_kit kit;       /* on the queue of the BVH */
    uint32_t node_count; /* of the boundary tree */
    device_features *features;
    bool is_ready;
    double cells_min; /* cells per triangle; smaller grids are computed by closest-point queries */
    uint32_t slices_max; /* per list */
    size_t pool_count;
    bool pool_fixed; /* for tests: starts with the current pool size */
    /* of the last build */
    uint32_t counters[FIELD_COUNTS];
    bool is_searched; /* all cells were computed by closest-point queries */
} field_parts;

/* Returns the field data of a BVH; creates them on the first call. */
abut_status abuti_field_parts(bvh_on_device *bvh, field_parts **parts);

/* Compiles the programs that a field of a mesh needs on a device, several in parallel. */
void abuti_field_prepare(abut_device *device, uint32_t triangle_count);

/* Fills a buffer with the values of a grid, x fastest, and finds the lowest and highest value. If
 * `first` is not null, `grid` has the size of a window whose first cell is `first`. Blocks until
 * done. */
abut_status abuti_device_field_fill(bvh_on_device *bvh, const abut_grid *grid,
                                    const uint32_t first[3], double band, abuti_buffer *values,
                                    double *lowest, double *highest);

/* ---- device_layout.c ---- */

/* Whether a BVH that is prepared for signs is on a device that returns the values of the CPU. */
bool abuti_field_fits_on_device(const abut_bvh *bvh);

#endif
