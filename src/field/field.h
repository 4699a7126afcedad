/* What the files of the field share: how values are kept, and how they are asked for.
 *
 * Dense fields keep one value for each cell, x fastest. Sparse ones keep bricks: brick (a, b, c)
 * has the 9 x 9 x 9 values from cell (8a, 8b, 8c) on, so that neighbours share a layer and a point
 * between centres needs one brick only. The corners of all bricks are a coarse dense grid of their
 * own, which answers where there is no brick. Bricks at the end of the grid may reach beyond it.
 *
 * Values of 16 bits stand for themselves times `step`, which is a float.
 */
#ifndef ABUTI_FIELD_H
#define ABUTI_FIELD_H

#include "base/base.h"
#include "base/digest.h"
#include "base/math_shared.h"

#include "bvh/bvh.h"
#include "device/device.h"
#include "field/field_shared.h"

#include <abut/field.h>

#include <stdatomic.h>

struct abut_field {
    abut_context *context; /* held */
    atomic_uint holds;     /* references: the caller's, and those of worlds */
    abut_mesh *mesh;       /* held; null where it came from a file, values or other fields */
    bool has_digest;       /* of the mesh; where that is not held any more, or was needed before */
    unsigned char digest[ABUTI_DIGEST_BYTES];
    abut_grid grid;
    abut_field_layout layout;
    abut_field_type type;
    abut_sign_method sign;
    bool closed;
    abut_reliability reliability; /* what signs are worth */
    abut_device *device;          /* while it is built on one, else null; not held */
    abut_buffer *there; /* dense floats that are on a device; null = they are on the CPU alone */
    atomic_int host;    /* of such a field: a field_host_state */
    bool broken;        /* an update on the device failed half-way */
    uint64_t updates;   /* of its values so far */
    double band, step;  /* infinite without a limit; 0 for floats */
    double lowest, highest;
    void *values; /* float or int16_t; value_count of them. None until abuti_field_host() */
    size_t value_count;
    /* Of sparse fields only. */
    uint32_t bricks[3], brick_count;
    uint32_t first_brick; /* of those whose values are here: not 0 only in a part, see team.c */
    uint32_t *index;      /* brick_count's number of each brick; ABUT_NONE where it is not stored */
    float *coarse;        /* (bricks + 1) along each axis */
    field_view view;      /* of all this, for interpolation; made by abuti_field_finish() */
};

typedef enum field_host_state {
    FIELD_HOST_NONE = 0,
    FIELD_HOST_COMING,
    FIELD_HOST_READY
} field_host_state;

/* Whether values that a device has computed stay there: dense ones, and floats. */
static inline bool field_can_stay(const abut_field *field) {
    return field->layout == ABUT_FIELD_DENSE && field->type == ABUT_FIELD_FLOAT;
}

static inline float field_value(const abut_field *field, size_t i) {
    return field->type == ABUT_FIELD_FLOAT
               ? ((const float *)field->values)[i]
               : (float)((const int16_t *)field->values)[i] * (float)field->step;
}

/* Whether the values of a brick, by its number, are here; ABUT_NONE is not. */
static inline bool field_holds(const abut_field *field, uint32_t brick) {
    return brick - field->first_brick < field->value_count / FIELD_VALUES && brick != ABUT_NONE;
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

/* The box of the mesh; where it is not kept, that of the grid. */
static inline box3 field_bounds(const abut_field *field) {
    const abut_grid *g = &field->grid;
    box3 box = {g->origin, grid_centre(g, g->count[0] - 1, g->count[1] - 1, g->count[2] - 1)};
    return field->mesh ? field->mesh->bounds : box;
}

/* ---- device.c ---- */

/* Fails where an update on a device has lost the values. */
abut_status abuti_field_check(const abut_field *field);
/* Brings values to the CPU; once, whoever asks. */
abut_status abuti_field_bring(const abut_field *field);
/* The door of every question that needs values on the CPU. Thread-safe. Null is allowed. */
static inline abut_status abuti_field_host(const abut_field *field) {
    return !field || !field->there ||
                   atomic_load_explicit(&((abut_field *)(uintptr_t)field)->host,
                                        memory_order_acquire) == FIELD_HOST_READY
               ? ABUT_OK
               : abuti_field_bring(field);
}
/* Where its values are; null = on the CPU. */
static inline abut_device *field_device(const abut_field *field) {
    return field->there ? field->there->memory.device : NULL;
}
/* The values in the memory of a device; null where they are not in its cl_context. */
static inline const abuti_buffer *field_values_on(const abut_field *field, const abut_device *on) {
    return field->there && abut_device_native(field_device(field)) == abut_device_native(on)
               ? &field->there->memory
               : NULL;
}
/* The values on the device have changed. */
void abuti_field_forget(abut_field *field);
/* Copies values that can stay there to a device. */
abut_status abuti_field_send(abut_field *field, abut_device *device);

/* ---- field.c ---- */

/* The grid and the band that options mean for a mesh. */
abut_status abuti_field_plan(const abut_mesh *mesh, const abut_field_options *o, abut_grid *grid,
                             double *band);
/* Checked options, with defaults for what they lack. */
abut_status abuti_field_read_options(const abut_field_options *options, abut_field_options *ours);
/* Says what a field of such options will be, but for values. */
abut_status abuti_field_shape(const abut_bvh *bvh, const abut_field_options *o, abut_field *field);
/* Prepares a hierarchy for signs, unless it is; refused where it is for others. */
abut_status abuti_field_signs(const char *function, abut_bvh *bvh, abut_sign_method method);
/* Refuses a grid with too few cells or too far away; sentences begin with `name`. */
abut_status abuti_field_check_grid(const char *name, const abut_grid *grid);

/* ---- compute.c: values of blocks of cells ---- */

/* Blocks of FIELD_BRICK cells along each axis are computed in any order, on all threads. Values
 * beyond the band are the band with their sign. */
typedef struct field_job {
    const abut_bvh *bvh; /* ready for signs */
    const abut_grid *grid;
    double band;            /* infinite without a limit */
    uint32_t blocks[3];     /* along each axis */
    const uint32_t *wanted; /* ascending numbers of blocks; null = all */
    size_t wanted_count;
    /* Of each wanted block the cells that are wanted, a bit for each FIELD_LAYER; null = all. */
    const unsigned char *layers;
    /* Takes the values of a block, x fastest; from any thread. Those of cells beyond the grid, or
     * that are not wanted, are whatever. `at` is its place in `wanted`, or its number. */
    void (*put)(void *data, size_t at, const uint32_t begin[3], const float *values);
    void *data;
    /* Blocks whose distances are known, by their numbers, and what gives them; null where there are
     * none. They still get their signs and are put. None may have a cell on the surface. */
    const unsigned char *known;
    void (*get)(const void *known_data, const uint32_t begin[3], float *distances);
    const void *known_data;
    const struct regions_table
        *table;        /* of the hierarchy (nearest/regions.h); null = made for this job */
    bool always_lists; /* tests: also for grids of few cells */
    double from, to;   /* what it is of all that is reported as progress */
} field_job;

/* Bit x + 2 y + 4 z of a block's layers: where x is 1 its first layer along that axis only, for the
 * brick before it; bit 0 is the whole block. */
enum { FIELD_WHOLE = 1, FIELD_LAYERS = 8, BLOCK_CELLS = FIELD_BRICK * FIELD_BRICK * FIELD_BRICK };

abut_status abuti_field_compute(const field_job *job);
/* The same values by a batch of searches; plain.c. */
abut_status abuti_field_compute_plain(const field_job *job);

/* ---- values.c ---- */

/* Of fields whose values are of no mesh that is known. */
abut_reliability abuti_field_values_reliability(void);
/* A field without anything. */
abut_status abuti_field_new(abut_context *context, abut_field **field);
/* Adds a reference, which abut_field_destroy() releases. Null is allowed. Thread-safe. */
abut_field *abuti_field_retain(const abut_field *field);
/* The number of values and of bricks along each axis, where grid, layout and brick_count stand. */
void abuti_field_count(abut_field *field);
/* The same and their memory, where the type stands too. */
abut_status abuti_field_reserve(abut_field *field);
static inline size_t field_value_bytes(const abut_field *field) {
    return field->type == ABUT_FIELD_FLOAT ? sizeof(float) : sizeof(int16_t);
}
/* SHA-256 of positions and indices. */
void abuti_mesh_digest(const abut_mesh *mesh, unsigned char digest[ABUTI_DIGEST_BYTES]);
/* The digest of the mesh; false where the field came from none. */
bool abuti_field_digest(const abut_field *field, unsigned char digest[ABUTI_DIGEST_BYTES]);

/* ---- files ---- */

/* One for each format. */
abut_status abuti_field_save(const abut_field *field, abuti_sink *sink, bool plain);
abut_status abuti_field_export(const abut_field *field, abuti_sink *sink, const char *path,
                               abut_field_format format);
/* Blocks of a section that stand in a file one after the other, as abuti_field_save() writes them;
 * of values, only where those bricks are here. */
typedef enum field_section {
    SECTION_INDEX,
    SECTION_COARSE,
    SECTION_VALUES,
    SECTION_COUNT
} field_section;
enum { FIELD_FILE_BLOCK = 256 * 1024, FIELD_FILE_BLOCK_HEAD = 16, FIELD_FILE_HEAD = 144 };
uint64_t abuti_field_section_bytes(const abut_field *field, field_section which);
/* Gives the bytes used of `to`, which has room for FIELD_FILE_BLOCK_HEAD + FIELD_FILE_BLOCK each.
 */
abut_status abuti_field_save_blocks(const abut_field *field, field_section which, bool plain,
                                    uint64_t begin, uint64_t end, unsigned char *to, size_t *used);
void abuti_field_save_head(const abut_field *field, unsigned char to[FIELD_FILE_HEAD]);
#define FIELD_MAGIC "\211abutf\r\n"
enum { FIELD_MAGIC_BYTES = 8 };
abut_status abuti_field_restore(abuti_source *source, const char *name, abut_field **field);
/* Reads the head alone: what a field is but for its range. */
abut_status abuti_field_peek(abuti_source *source, const char *name, abut_field_info *info);
abut_status abuti_field_read_dcache(abuti_source *source, const char *name,
                                    const abut_field_read_options *options, abut_field **field);

/* block.c: pieces of a file. Differences of neighbours, lowest bytes of all first, then zstd.
 * Gives the bytes stored, or 0 where it does not get shorter. `to` and `scratch` have room for
 * `bytes`. */
size_t abuti_block_press(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                         void *to);
/* The reverse; false where `from` is not that. */
bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes);
bool abuti_block_can_press(void);

/* The grid of the corners of bricks. */
static inline abut_grid field_corners(const abut_field *field) {
    abut_grid grid = {field->grid.origin,
                      FIELD_BRICK * field->grid.cell,
                      {field->bricks[0] + 1, field->bricks[1] + 1, field->bricks[2] + 1}};
    return grid;
}

/* ---- who computes values ---- */

typedef struct field_builder {
    /* All values of a dense field, whose memory it makes. Of `known` blocks the distances are those
     * of `old`; both may be null. */
    abut_status (*dense)(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                         const unsigned char *known);
    /* Of a sparse one: first those of all corners of bricks, then those of all bricks that have
     * numbers, of which none is above `reach`. `work` is what these two share. */
    abut_status (*begin)(abut_field *field, const abut_bvh *bvh, void **work);
    abut_status (*corners)(abut_field *field, const abut_bvh *bvh, void *work);
    abut_status (*bricks)(abut_field *field, const abut_bvh *bvh, void *work, double reach);
    void (*end)(abut_field *field, const abut_bvh *bvh, void *work);
    /* Follows the mesh of a hierarchy. */
    abut_status (*update)(abut_field *field, const abut_bvh *bvh, uint64_t *recomputed);
} field_builder;

extern const field_builder abuti_field_on_cpu;    /* fill.c */
extern const field_builder abuti_field_on_device; /* device_layout.c */

static inline const field_builder *field_builder_of(const abut_device *on) {
    return on ? &abuti_field_on_device : &abuti_field_on_cpu;
}

/* ---- fill.c ---- */

/* Stores values from place `at` on. */
void abuti_field_put(abut_field *field, size_t at, const float *values, size_t count);

/* Fills a field whose grid, options and device stand; `old` and `known` as above. */
abut_status abuti_field_build(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                              const unsigned char *known);
/* What 16 bits stand for; 0 for floats. */
double abuti_field_step(const abut_field *field);

/* ---- sparse.c, bricks.c ---- */

/* Fills a sparse field whose grid and options stand. */
abut_status abuti_field_build_sparse(abut_field *field, const abut_bvh *bvh,
                                     const field_builder *builder);
/* Numbers the bricks that are stored; no value of one is above `reach`. What 16 bits stand for may
 * have to be more than it was. */
abut_status abuti_field_number_bricks(abut_field *field, double *reach);
/* Makes room for the values of some bricks, or of all. */
abut_status abuti_field_hold_bricks(abut_field *field, uint32_t first, uint32_t count);
/* Memory for the index and the corners. */
abut_status abuti_field_reserve_index(abut_field *field);
/* Stores the corners of a block of them. */
void abuti_field_put_corners(abut_field *field, const uint32_t begin[3], const float *values);
/* What abuti_field_on_cpu has for them. */
abut_status abuti_field_sparse_begin(abut_field *field, const abut_bvh *bvh, void **work);
abut_status abuti_field_sparse_corners(abut_field *field, const abut_bvh *bvh, void *work);
abut_status abuti_field_sparse_bricks(abut_field *field, const abut_bvh *bvh, void *work,
                                      double reach);
void abuti_field_sparse_end(abut_field *field, const abut_bvh *bvh, void *work);
/* Sets `marks` of bricks that some triangle of the mesh is no farther from than the band; of some
 * others too, by a little. The outcome depends on nothing else. */
void abuti_field_mark_bricks(const abut_field *field, atomic_uchar *marks);

/* ---- update.c ---- */

/* As abuti_field_on_cpu has it: on failure the field is as before. */
abut_status abuti_field_update_here(abut_field *field, const abut_bvh *bvh, uint64_t *recomputed);

/* ---- finish.c ---- */

/* Gets a field ready to be asked once its values stand: finds their range and makes the view. */
void abuti_field_finish(abut_field *field);
/* The same where the range is known. */
void abuti_field_finish_with(abut_field *field, float least, float most);
/* Widens the range by values; whether all are finite. */
bool abuti_field_range(const float *values, size_t count, float *lowest, float *highest);
/* The same for values as a field has them. */
bool abuti_field_values_range(const abut_field *field, const void *values, size_t count,
                              float *lowest, float *highest);

#endif
