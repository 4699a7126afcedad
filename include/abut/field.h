/* Signed distance fields: the distance to a mesh at every cell of a grid, negative inside.
 *
 * Each value is the distance that abut_bvh_nearest_signed() gives at the centre of the cell,
 * rounded once to a float: exact, not spread from neighbours. Between centres values are
 * interpolated. The same mesh and options give the same values on every processor, device and
 * number of threads.
 */
#ifndef ABUT_FIELD_H
#define ABUT_FIELD_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/device.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Cubes in rows: cell (i, j, k) has its centre at origin + cell x (i, j, k). */
typedef struct abut_grid {
    abut_vec3 origin;
    double cell; /* length of an edge */
    uint32_t count[3];
} abut_grid;

typedef enum abut_field_layout {
    ABUT_FIELD_DENSE = 0, /* a value for every cell */
    ABUT_FIELD_SPARSE     /* bricks of 8 x 8 x 8 cells where the band is; one value for each corner
                           * of a brick elsewhere */
} abut_field_layout;

typedef enum abut_field_type {
    ABUT_FIELD_FLOAT = 0, /* 4 bytes a value */
    ABUT_FIELD_INT16      /* 2 bytes: multiples of abut_field_info.step, rounded to the nearest */
} abut_field_type;

typedef struct abut_field_options {
    size_t size;
    uint32_t cells; /* along the longest side of the grid; 0 = 64, unless `cell` is given */
    double cell;    /* length of an edge; 0 = by `cells` */
    double margin;  /* between the box of the mesh and that of the grid; 0 = two cells, or the band
                     * and one cell if that is more */
    abut_grid grid; /* exactly this one, where its counts are not 0; the three above are then 0 */
    double band;    /* distances beyond are not looked for: a dense field has the band with its sign
                     * there. 0 = no limit for dense fields, three cells for sparse ones */
    abut_field_layout layout;
    abut_field_type type;
    abut_sign_method sign; /* refused by pseudo-normals: a mesh with a border */
    abut_device *device;   /* where it is built; null = the CPU. The values are the same */
} abut_field_options;

static inline abut_field_options abut_field_options_default(void) {
    abut_field_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

typedef struct abut_field abut_field;

/* Builds the field of a mesh, which it keeps. `options` may be null. Takes at most 1.5 times the
 * result and 64 MiB meanwhile, beside the hierarchy of the mesh. Fails with ABUT_ERROR_LIMIT where
 * there would be too many cells, and names the memory that they would take. Uses the context of the
 * mesh; reports progress as stage "field". Thread-safe. */
ABUT_API abut_status abut_field_create(abut_mesh *mesh, const abut_field_options *options,
                                       abut_field **field);
/* The same for a mesh whose hierarchy is there already. It is only read. */
ABUT_API abut_status abut_field_create_from(const abut_bvh *bvh, const abut_field_options *options,
                                            abut_field **field);
/* Follows a mesh that has moved: takes one with the same triangles (same indices) and new
 * positions, and keeps it instead. Grid, band and the like stay. Values are those of a new field on
 * this grid, bit for bit, but distances are found anew only in blocks of 8 x 8 x 8 cells that can
 * have changed: where a triangle that has moved is, or was, no farther than the largest value of
 * the block. `recomputed` (may be null) gets their number. Sparse fields, signs by pseudo-normals
 * and 16 bits with another step are computed as a whole. On failure the field is as before. Not
 * thread-safe: no one may ask it meanwhile. */
ABUT_API abut_status abut_field_update(abut_field *field, abut_mesh *mesh, uint64_t *recomputed);
/* Null is allowed. Thread-safe when no one else uses the field. */
ABUT_API void abut_field_destroy(abut_field *field);

typedef struct abut_field_info {
    abut_grid grid;
    abut_field_layout layout;
    abut_field_type type;
    double band;        /* infinity where there is no limit */
    double step;        /* between neighbouring values of 16 bits; 0 for floats */
    double least, most; /* of all values */
    bool closed;        /* the mesh has no border */
    abut_sign_method sign;
    uint64_t bytes;
    uint32_t bricks; /* that are stored; 0 for dense fields */
} abut_field_info;

/* Tells what a field is. Null gives zeros. Thread-safe. */
ABUT_API abut_field_info abut_field_info_get(const abut_field *field);

/* Copies the values of a box of cells, from `begin` on, `count` along each axis: x runs fastest.
 * `values` has room for all. Cells that a sparse field does not store get what interpolating
 * between the corners of their brick gives. Refused: cells beyond the grid. Thread-safe. */
ABUT_API abut_status abut_field_read(const abut_field *field, const uint32_t begin[3],
                                     const uint32_t count[3], float *values);

/* ---- value and gradient ---- */

typedef struct abut_field_value {
    double distance;
    abut_vec3 gradient; /* of what is interpolated: about 1 long, pointing away from the mesh */
    bool within;        /* the point is between centres of cells */
} abut_field_value;

typedef enum abut_interpolation {
    ABUT_INTERPOLATION_LINEAR = 0, /* trilinear: continuous */
    ABUT_INTERPOLATION_CUBIC       /* tricubic (Catmull & Rom): the gradient is continuous too; for
                                    * dense fields, linear elsewhere */
} abut_interpolation;

/* Interpolates at a point. Beyond the grid the distance is not more than the true one to the mesh,
 * as far as that is within the grid, and the gradient points there. Takes no memory. Thread-safe.
 */
ABUT_API abut_status abut_field_at(const abut_field *field, abut_vec3 point,
                                   abut_interpolation interpolation, abut_field_value *value);
/* The same for many points on all threads. Refused before anything is written: a point that is not
 * legal. Thread-safe. */
ABUT_API abut_status abut_field_at_batch(const abut_field *field, const abut_points *points,
                                         abut_interpolation interpolation,
                                         abut_field_value *values);

/* ---- on a device ---- */

/* A dense field of floats in the memory of a device. For one user at a time. */
typedef struct abut_device_field abut_device_field;

/* Builds the field of a mesh whose hierarchy is on a device: the values of abut_field_create(), bit
 * for bit. The hierarchy is a copy of one that was prepared by abut_bvh_prepare_sign(); it keeps
 * what it needs for the next field. Fails with ABUT_ERROR_DEVICE on a device without doubles, and
 * for a surface with a border on one that does not round floats as the CPU does. */
ABUT_API abut_status abut_device_field_build(abut_device_bvh *bvh,
                                             const abut_field_options *options,
                                             abut_device_field **field);
/* Computes all values again, on the same grid, for another hierarchy on the same device or one
 * that has changed. On failure some of them may have been written. */
ABUT_API abut_status abut_device_field_update(abut_device_field *field, abut_device_bvh *bvh);
/* Copies a field to a device, any layout and type: as a dense field of floats there. */
ABUT_API abut_status abut_device_field_create(const abut_field *field, abut_device *device,
                                              abut_device_field **device_field);
/* Null is allowed. */
ABUT_API void abut_device_field_destroy(abut_device_field *field);
/* Tells what it is. Null gives zeros. */
ABUT_API abut_field_info abut_device_field_info_get(const abut_device_field *field);
/* Its values, a float a cell, x fastest. The field owns them; null for null. */
ABUT_API const abut_buffer *abut_device_field_values(const abut_device_field *field);
/* Copies the values of a box of cells to the host, as abut_field_read() does. */
ABUT_API abut_status abut_device_field_read(const abut_device_field *field, const uint32_t begin[3],
                                            const uint32_t count[3], float *values);

#ifdef __cplusplus
}
#endif

#endif
