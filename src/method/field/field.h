/* Private types and functions of signed distance fields: storage, builders, files and caches.
 *
 * A dense field stores one value for each cell, x fastest. A sparse field stores bricks: brick (a,
 * b, c) has the 9 x 9 x 9 values that start at cell (8a, 8b, 8c). Neighbouring bricks share a layer
 * of values, so interpolation at a point needs one brick only. The corners of all bricks form a
 * coarse dense grid, which is interpolated where no brick is stored. Bricks at the end of the grid
 * may extend beyond it.
 *
 * A value of 16 bits is an integer; the distance is the integer times `step`, which is exact as a
 * float.
 */
#ifndef ABUTI_FIELD_H
#define ABUTI_FIELD_H

#include "base/base.h"
#include "base/cache.h"
#include "base/math_shared.h"

#include "bvh/bvh.h"
#include "device/device.h"
#include "field/field_shared.h"

#include <abut/field.h>

#include <stdatomic.h>

struct abut_field {
    abut_context *context; /* retained */
    atomic_uint holds;     /* reference count: the caller's references and those of worlds */
    abut_mesh *mesh;       /* retained; null unless the field was built from a mesh */
    bool has_digest; /* `digest` is that of the mesh: the mesh is not retained, or the cache needed
                        the digest */
    unsigned char digest[ABUTI_DIGEST_BYTES];
    abut_grid grid;
    abut_field_layout layout;
    abut_field_type type;
    abut_sign_method sign;
    bool closed;
    abut_reliability reliability; /* of the signs */
    abut_device *device; /* on which the field is being built, otherwise null; not retained */
    abut_buffer *there;  /* dense floats on a device; null = the values are only on the CPU */
    atomic_int host;     /* if there are device values: a field_host_state */
    bool broken;         /* an update on the device failed, so that the values are invalid */
    uint64_t updates;    /* how often the values were updated */
    double band, step;   /* band is infinite if unlimited; step is 0 for floats */
    double lowest, highest;
    void *values; /* value_count floats or int16_t. With device values, null until
                     abuti_field_host() */
    size_t value_count;
    /* Sparse fields only. */
    uint32_t bricks[3], brick_count;
    uint32_t first_brick; /* first stored brick; 0 except in distributed.c */
    uint32_t *index;      /* number of each brick; ABUT_NONE if it is not stored */
    float *coarse;        /* values at the corners of bricks, bricks[k] + 1 along axis k */
    field_view view; /* pointers into this field for interpolation; set by abuti_field_finish() */
};

typedef enum field_host_state {
    FIELD_HOST_NONE = 0,
    FIELD_HOST_DOWNLOADING,
    FIELD_HOST_READY
} field_host_state;

/* Whether values that a device has computed stay on it: only dense floats do. */
static inline bool field_can_stay_on_device(const abut_field *field) {
    return field->layout == ABUT_FIELD_DENSE && field->type == ABUT_FIELD_FLOAT;
}

static inline float field_value(const abut_field *field, size_t i) {
    return field->type == ABUT_FIELD_FLOAT
               ? ((const float *)field->values)[i]
               : (float)((const int16_t *)field->values)[i] * (float)field->step;
}

/* Whether the values of brick number `brick` are stored. False for ABUT_NONE. */
static inline bool field_has_brick(const abut_field *field, uint32_t brick) {
    return brick - field->first_brick < field->value_count / FIELD_VALUES && brick != ABUT_NONE;
}

static inline size_t grid_cells(const abut_grid *grid) {
    return (size_t)grid->count[0] * grid->count[1] * grid->count[2];
}

static inline size_t grid_at(const uint32_t count[3], uint32_t i, uint32_t j, uint32_t k) {
    return i + (size_t)count[0] * (j + (size_t)count[1] * k);
}

/* The centre of a cell. All code computes centres by this expression, so that they round equally.
 */
static inline vec3 grid_centre(const abut_grid *grid, uint32_t i, uint32_t j, uint32_t k) {
    return v3(grid->origin.x + grid->cell * i, grid->origin.y + grid->cell * j,
              grid->origin.z + grid->cell * k);
}

/* The bounding box of the mesh, or that of the cell centres if no mesh is retained. */
static inline box3 field_bounds(const abut_field *field) {
    const abut_grid *g = &field->grid;
    box3 box = {g->origin, grid_centre(g, g->count[0] - 1, g->count[1] - 1, g->count[2] - 1)};
    return field->mesh ? field->mesh->bounds : box;
}

/* ---- device.c ---- */

/* Returns ABUT_ERROR_DEVICE if an update on a device failed and the values are invalid. */
abut_status abuti_field_check_valid(const abut_field *field);
/* Downloads the values. Concurrent callers wait for one download. */
abut_status abuti_field_download(const abut_field *field);
/* Makes the values available on the CPU. Queries that read values call it first. Null is allowed.
 * Thread-safe. */
static inline abut_status abuti_field_host(const abut_field *field) {
    return !field || !field->there ||
                   atomic_load_explicit(&((abut_field *)(uintptr_t)field)->host,
                                        memory_order_acquire) == FIELD_HOST_READY
               ? ABUT_OK
               : abuti_field_download(field);
}
/* The device that has the values; null if they are only on the CPU. */
static inline abut_device *field_device(const abut_field *field) {
    return field->there ? field->there->memory.device : NULL;
}
/* The device memory of the values; null if it does not belong to the cl_context of `on`. */
static inline const abuti_buffer *field_values_on(const abut_field *field, const abut_device *on) {
    return field->there && abut_device_native(field_device(field)) == abut_device_native(on)
               ? &field->there->memory
               : NULL;
}
/* Discards the values on the CPU after those on the device have changed. */
void abuti_field_invalidate_host(abut_field *field);
/* Copies dense floats to a device. Does nothing for other fields. */
abut_status abuti_field_upload(abut_field *field, abut_device *device);

/* ---- field.c ---- */

/* Computes the grid and the band for a mesh from options. */
abut_status abuti_field_plan(const abut_mesh *mesh, const abut_field_options *o, abut_grid *grid,
                             double *band);
/* Copies and validates options. Members that the caller's version lacks get their defaults. */
abut_status abuti_field_read_options(const abut_field_options *options, abut_field_options *ours);
/* Sets layout, type, signs, grid and band of a field from options. Computes no values. */
abut_status abuti_field_set_up(const abut_bvh *bvh, const abut_field_options *o, abut_field *field);
/* Prepares a BVH for signs unless it is prepared. Fails if it is prepared for another method. */
abut_status abuti_field_prepare_signs(const char *function, abut_bvh *bvh, abut_sign_method method);
/* Validates cell size, coordinates and cell counts of a grid. Messages begin with `name`. */
abut_status abuti_field_check_grid(const char *name, const abut_grid *grid);

/* ---- compute.c: values of blocks of cells ---- */

/* Computes values of blocks with FIELD_BRICK cells along each axis, in any order, on all threads. A
 * value beyond the band is the band with the sign of the distance. */
typedef struct field_job {
    const abut_bvh *bvh; /* prepared for signs */
    const abut_grid *grid;
    double band;            /* infinite if unlimited */
    uint32_t blocks[3];     /* along each axis */
    const uint32_t *wanted; /* ascending indices of the blocks to compute; null = all */
    size_t wanted_count;
    /* Receives the values of a block, x fastest, on any thread. Values of cells beyond the grid are
     * undefined. `at` is the index in `wanted`, or the block index. */
    void (*store)(void *data, size_t at, const uint32_t begin[3], const float *values);
    void *data;
    /* Per block, whether its distances are known, and the function that returns them. Null = none
     * is known. Known blocks are signed and stored as well. None of their cells may be on the
     * surface. */
    const unsigned char *known;
    void (*load)(const void *known_data, const uint32_t begin[3], float *distances);
    const void *known_data;
    const struct regions_table *table; /* of the BVH; null = created for this job */
    bool always_lists; /* for tests: use feature lists also for grids with few cells */
    double from, to;   /* part of the reported progress that this job covers */
} field_job;

enum { BLOCK_CELLS = FIELD_BRICK * FIELD_BRICK * FIELD_BRICK };

abut_status abuti_field_compute(const field_job *job);

/* ---- storage.c ---- */

/* The reliability of signs that were not computed from a known mesh. */
abut_reliability abuti_field_values_reliability(void);
/* Allocates an empty field. */
abut_status abuti_field_new(abut_context *context, abut_field **field);
/* Adds a reference, which abut_field_destroy() releases. Null is allowed. Thread-safe. */
abut_field *abuti_field_retain(const abut_field *field);
/* Computes the number of values and of bricks along each axis from grid, layout and brick_count. */
void abuti_field_count(abut_field *field);
/* The same, and allocates memory for values of the field's type. */
abut_status abuti_field_reserve(abut_field *field);
static inline size_t field_value_bytes(const abut_field *field) {
    return field->type == ABUT_FIELD_FLOAT ? sizeof(float) : sizeof(int16_t);
}
/* SHA-256 of positions and indices. */
void abuti_mesh_digest(const abut_mesh *mesh, unsigned char digest[ABUTI_DIGEST_BYTES]);
/* Gets the digest of the mesh. Returns false if the field was not built from a mesh. */
bool abuti_field_digest(const abut_field *field, unsigned char digest[ABUTI_DIGEST_BYTES]);

/* ---- files ---- */

/* One function for each file format. */
abut_status abuti_field_save(const abut_field *field, abuti_sink *sink, bool plain);
abut_status abuti_field_export(const abut_field *field, abuti_sink *sink, const char *path,
                               abut_field_format format);
/* The sections of a file, each a sequence of blocks. abuti_field_save_blocks() writes blocks
 * `begin` to `end` of a section as abuti_field_save() does. The values of their bricks must be
 * stored. */
typedef enum field_section {
    SECTION_INDEX,
    SECTION_COARSE,
    SECTION_VALUES,
    SECTION_COUNT
} field_section;
enum { FIELD_FILE_BLOCK = 256 * 1024, FIELD_FILE_BLOCK_HEAD = 16, FIELD_FILE_HEAD = 144 };
uint64_t abuti_field_section_bytes(const abut_field *field, field_section which);
/* Sets *used to the bytes written. `to` has space for FIELD_FILE_BLOCK_HEAD + FIELD_FILE_BLOCK
 * bytes per block. */
abut_status abuti_field_save_blocks(const abut_field *field, field_section which, bool plain,
                                    uint64_t begin, uint64_t end, unsigned char *to, size_t *used);
void abuti_field_save_head(const abut_field *field, unsigned char to[FIELD_FILE_HEAD]);
#define FIELD_MAGIC "\211abutf\r\n"
enum { FIELD_MAGIC_BYTES = 8 };
abut_status abuti_field_restore(abuti_source *source, const char *name, abut_field **field);
/* Reads only the head: all members of `info` except the range of values, and the digest of the mesh
 * (zeros if it is unknown). */
abut_status abuti_field_restore_info(abuti_source *source, const char *name, abut_field_info *info,
                                     unsigned char mesh[ABUTI_DIGEST_BYTES]);

/* cache.c */
typedef struct field_cache {
    abuti_cache_entry entry;
    unsigned char mesh[ABUTI_DIGEST_BYTES]; /* set only if the options name a cache folder */
} field_cache;

/* Loads the field that these options describe to the device (may be null). *field is unchanged if
 * it is not cached. Fails only if memory is exhausted, the caller cancels or the device fails. */
abut_status abuti_field_cache_load(abut_mesh *mesh, const abut_field_options *options,
                                   abut_device *device, field_cache *cache, abut_field **field);
/* Stores a field in its entry. Failures are logged. */
void abuti_field_cache_store(const field_cache *cache, const abut_field *field);

/* block.c: compression of file blocks by differences of neighbours, byte planes and zstd. Returns
 * the compressed size, or 0 if compression gains nothing. `to` and `scratch` have space for
 * `bytes`. */
size_t abuti_block_compress(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                            void *to);
/* Reverses abuti_block_compress(). Returns false if `from` is not valid compressed data. */
bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes);
bool abuti_block_can_compress(void);

/* The grid of brick corners. */
static inline abut_grid field_corners(const abut_field *field) {
    abut_grid grid = {field->grid.origin,
                      FIELD_BRICK * field->grid.cell,
                      {field->bricks[0] + 1, field->bricks[1] + 1, field->bricks[2] + 1}};
    return grid;
}

/* ---- builders ---- */

typedef struct field_builder {
    /* Allocates and computes all values of a dense field. Distances of `known` blocks are copied
     * from `old`. Both may be null. */
    abut_status (*dense)(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                         const unsigned char *known);
    /* For a sparse field: `corners` computes the values at all corners of bricks, `bricks` those of
     * all numbered bricks. No value of a brick exceeds `reach`. `work` is their shared state. */
    abut_status (*begin)(abut_field *field, const abut_bvh *bvh, void **work);
    abut_status (*corners)(abut_field *field, const abut_bvh *bvh, void *work);
    abut_status (*bricks)(abut_field *field, const abut_bvh *bvh, void *work, double reach);
    void (*end)(abut_field *field, const abut_bvh *bvh, void *work);
    /* Updates the field to the current mesh of a BVH. */
    abut_status (*update)(abut_field *field, const abut_bvh *bvh, uint64_t *recomputed);
} field_builder;

extern const field_builder abuti_field_on_cpu;    /* fill.c */
extern const field_builder abuti_field_on_device; /* device_layout.c */

static inline const field_builder *field_builder_of(const abut_device *on) {
    return on ? &abuti_field_on_device : &abuti_field_on_cpu;
}

/* ---- fill.c ---- */

/* Stores `count` values from index `at` on, converted to the type of the field. */
void abuti_field_store(abut_field *field, size_t at, const float *values, size_t count);

/* Computes the values of a field whose grid, options and device are set. `old` and `known` as in
 * field_builder. */
abut_status abuti_field_build(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                              const unsigned char *known);
/* The distance that one unit of a 16-bit value represents; 0 for floats. */
double abuti_field_step(const abut_field *field);

/* ---- sparse.c, bricks.c ---- */

/* Computes a sparse field whose grid and options are set. */
abut_status abuti_field_build_sparse(abut_field *field, const abut_bvh *bvh,
                                     const field_builder *builder);
/* Numbers the bricks that are stored. No value in a stored brick exceeds *reach. May increase the
 * step of 16-bit values. */
abut_status abuti_field_number_bricks(abut_field *field, double *reach);
/* Allocates memory for the values of `count` bricks from `first` on. */
abut_status abuti_field_reserve_bricks(abut_field *field, uint32_t first, uint32_t count);
/* Allocates the brick index and the values at corners. */
abut_status abuti_field_reserve_index(abut_field *field);
/* Stores the values of a block of corners. */
void abuti_field_store_corners(abut_field *field, const uint32_t begin[3], const float *values);
/* The functions of abuti_field_on_cpu for sparse fields. */
abut_status abuti_field_sparse_begin(abut_field *field, const abut_bvh *bvh, void **work);
abut_status abuti_field_sparse_corners(abut_field *field, const abut_bvh *bvh, void *work);
abut_status abuti_field_sparse_bricks(abut_field *field, const abut_bvh *bvh, void *work,
                                      double reach);
void abuti_field_sparse_end(abut_field *field, const abut_bvh *bvh, void *work);
/* Marks every brick that has a point within the band of the mesh. May mark a few bricks that are
 * slightly farther. The result depends only on mesh, grid and band. */
void abuti_field_mark_bricks(const abut_field *field, atomic_uchar *marks);

/* ---- update.c ---- */

/* The update of abuti_field_on_cpu. On failure the field is unchanged. */
abut_status abuti_field_update_on_cpu(abut_field *field, const abut_bvh *bvh, uint64_t *recomputed);

/* ---- storage.c: ranges ---- */

/* Prepares a field for queries when its values are complete: computes their range and sets the
 * view. */
void abuti_field_finish(abut_field *field);
/* The same if the range is known. */
void abuti_field_finish_with(abut_field *field, float least, float most);
/* Extends the range by `count` values. Returns whether all are finite. */
bool abuti_field_range(const float *values, size_t count, float *lowest, float *highest);
/* The same for values of the field's type. */
bool abuti_field_values_range(const abut_field *field, const void *values, size_t count,
                              float *lowest, float *highest);

#endif
