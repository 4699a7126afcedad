/* Creation of fields: validation of options, choice of the grid, and information about a field. */
#include "field/build/device.h"

#include "sign/sign.h"

#include <math.h>

enum {
    CELLS_DEFAULT = 64,
    BAND_CELLS = 3,   /* of a sparse field by default */
    MARGIN_CELLS = 2, /* minimum around the mesh */
};
#define CELLS_MAX ((uint64_t)1 << 40) /* of a grid; memory limits the stored values */
/* Far within the range of floats (1e-38 to 3e38), so that distances and the reciprocal of a cell
 * neither overflow nor underflow. */
#define COORDINATE_MAX 1e30
#define CELL_MIN 1e-30

/* ---- options ---- */

static abut_status check_options(const abut_field_options *o) {
    const char *function = "abut_field_create";
    abut_status status = abuti_check_length(function, "options->cell", o->cell);
    if (!status)
        status = abuti_check_length(function, "options->margin", o->margin);
    if (!status)
        status = abuti_check_length(function, "options->band", o->band);
    if (!status && (unsigned)o->layout > ABUT_FIELD_SPARSE)
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT,
                       "abut_field_create: options->layout is %u; it must be an abut_field_layout",
                       (unsigned)o->layout);
    if (!status && (unsigned)o->type > ABUT_FIELD_INT16)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "abut_field_create: options->type is %u; it must be an abut_field_type",
                            (unsigned)o->type);
    if (!status && o->cells && o->cell > 0)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "abut_field_create: options->cells is %u and options->cell is %g; only "
                            "one of them may be set",
                            o->cells, o->cell);
    if (!status && o->cells == 1)
        status = abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_field_create: options->cells is 1; it must be 0 (default) or at least 2");
    return status;
}

static bool is_in_coordinate_range(vec3 p) {
    return p.x == p.x && p.y == p.y && p.z == p.z && v3_max_abs(p) <= COORDINATE_MAX;
}

abut_status abuti_field_check_grid(const char *name, const abut_grid *g) {
    vec3 end = grid_centre(g, g->count[0], g->count[1], g->count[2]);
    if (!(g->cell >= CELL_MIN && is_in_coordinate_range(g->origin) && is_in_coordinate_range(end)))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the grid has cells of %g from (%g, %g, %g) on; cells must be at "
                          "least %g and all within %g of the origin, since values are floats",
                          name, g->cell, g->origin.x, g->origin.y, g->origin.z, CELL_MIN,
                          COORDINATE_MAX);
    for (int axis = 0; axis < 3; axis++)
        if (g->count[axis] < 2 || g->count[axis] > INT32_MAX)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: the grid has %u x %u x %u cells; each axis needs at least 2 "
                              "and at most %d",
                              name, g->count[0], g->count[1], g->count[2], INT32_MAX);
    return ABUT_OK;
}

static abut_status check_grid(const abut_field_options *o) {
    if (o->cells || o->cell > 0 || o->margin > 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_create: options->grid is given, so "
                                               "cells, cell and margin must be 0");
    return abuti_field_check_grid("abut_field_create: options->grid", &o->grid);
}

/* ---- grid ---- */

typedef struct spacing {
    double cell, margin;
} spacing;

/* Default cell size and margin. If the number of cells is given and the margin is not, the margin
 * is a number of cells, or the band and one cell. This determines the cell size. With few cells at
 * least one remains for the mesh. */
static spacing choose_spacing(const abut_field_options *o, double longest) {
    double cells = o->cells ? o->cells : CELLS_DEFAULT;
    double around =
        o->layout == ABUT_FIELD_SPARSE && !(o->band > 0) ? BAND_CELLS + 1 : MARGIN_CELLS;
    spacing s = {o->cell, o->margin};
    if (o->margin > 0) {
        s.cell = o->cell > 0 ? o->cell : (longest + 2 * o->margin) / cells;
    } else if (o->cell > 0) {
        s.margin = real_max(around * s.cell, o->band + s.cell);
    } else {
        around = real_min(around, (cells - 1) / 2);
        s.cell = longest / (cells - 2 * around);
        s.margin = around * s.cell;
        if (o->band + s.cell > s.margin && cells > 2) {
            s.cell = (longest + 2 * o->band) / (cells - 2);
            s.margin = o->band + s.cell;
        }
    }
    return s;
}

/* Divides the bounding box, extended by the margin, into cubes around its centre; `origin` is the
 * centre of the first one. */
static abut_status choose_grid(const abut_mesh *mesh, const abut_field_options *o,
                               abut_grid *grid) {
    vec3 lo = mesh->bounds.lo, extent = v3_sub(mesh->bounds.hi, lo);
    double longest = real_max(extent.x, real_max(extent.y, extent.z));
    if (!(longest > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_create: the mesh is a single point, so "
                                               "no cell size follows from it; set options->grid");
    spacing chosen = choose_spacing(o, longest);
    double cell = chosen.cell, margin = chosen.margin;
    if (!(cell > 0x1p-40 * (v3_max_abs(v3_max(v3_abs(lo), v3_abs(mesh->bounds.hi))) + margin)))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_field_create: cells of %g are too small for the coordinates of "
                          "this mesh; use larger cells",
                          cell);
    grid->cell = cell;
    for (int axis = 0; axis < 3; axis++) {
        double wide = v3_get(extent, axis) + 2 * margin, cells = ceil(wide / cell * (1 - 1e-12));
        if (!(cells <= INT32_MAX))
            return abuti_fail(
                ABUT_ERROR_LIMIT,
                "abut_field_create: %g cells along an axis are too many; use cells larger than %g",
                cells, cell);
        grid->count[axis] = (uint32_t)real_max(cells, 2);
        double middle = v3_get(lo, axis) + 0.5 * v3_get(extent, axis);
        double first = middle - 0.5 * cell * (grid->count[axis] - 1);
        *(axis == 0 ? &grid->origin.x : axis == 1 ? &grid->origin.y : &grid->origin.z) = first;
    }
    return ABUT_OK;
}

/* Fails if the number of cells is beyond any memory. The message states the memory. */
static abut_status check_cells(const abut_grid *g, abut_field_type type, abut_field_layout layout) {
    double cells = (double)g->count[0] * g->count[1] * g->count[2];
    double bytes = cells * (type == ABUT_FIELD_FLOAT ? 4 : 2);
    double most = layout == ABUT_FIELD_SPARSE ? (double)CELLS_MAX * 512 : (double)CELLS_MAX;
    double blocks = 1; /* block indices are 32 bits */
    for (int axis = 0; axis < 3; axis++)
        blocks *= g->count[axis] / 8.0 + 2;
    if (cells <= most && blocks < (double)UINT32_MAX)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_LIMIT,
                      "abut_field_create: %u x %u x %u cells would need %.3g GiB; use larger cells",
                      g->count[0], g->count[1], g->count[2], bytes / 0x1p30);
}

/* ---- create and destroy ---- */

abut_status abuti_field_plan(const abut_mesh *mesh, const abut_field_options *o, abut_grid *grid,
                             double *band) {
    abut_status status = ABUT_OK;
    if (o->grid.count[0] || o->grid.count[1] || o->grid.count[2]) {
        status = check_grid(o);
        *grid = o->grid;
    } else {
        status = choose_grid(mesh, o, grid);
        if (!status)
            status = abuti_field_check_grid("abut_field_create", grid);
    }
    if (!status &&
        !(is_in_coordinate_range(mesh->bounds.lo) && is_in_coordinate_range(mesh->bounds.hi)))
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "abut_field_create: the mesh has coordinates beyond %g, which the "
                            "floats of a field do not support; scale the mesh down",
                            COORDINATE_MAX);
    *band = o->band > 0                      ? o->band
            : o->layout == ABUT_FIELD_SPARSE ? BAND_CELLS * grid->cell
                                             : INFINITY;
    return status ? status : check_cells(grid, o->type, o->layout);
}

/* The device of the options, otherwise that of the BVH if the builder supports it there. */
static abut_device *choose_device(const abut_bvh *bvh, const abut_field_options *o) {
    return o->device || !abuti_field_fits_on_device(bvh) ? o->device : bvh->there->queue.device;
}

abut_status abuti_field_set_up(const abut_bvh *bvh, const abut_field_options *o,
                               abut_field *field) {
    abut_sign_info sign = abut_sign_info_default();
    abut_sign_get_info(bvh, &sign);
    field->layout = o->layout;
    field->type = o->type;
    field->sign = sign.method;
    field->closed = sign.is_closed;
    field->reliability = sign.reliability;
    field->device = choose_device(bvh, o);
    abut_status status = abuti_field_plan(bvh->mesh, o, &field->grid, &field->band);
    if (!status)
        abuti_field_count(field);
    return status;
}

/* Builds the field. Stores it in the cache if the options name one. */
static abut_status build_field(const abut_bvh *bvh, const abut_field_options *o,
                               const field_cache *cache, abut_field **field) {
    abut_field *made;
    if (abuti_field_new(bvh->context, &made))
        return ABUT_ERROR_MEMORY;
    made->mesh = abut_mesh_retain(bvh->mesh);
    if (o->cache) {
        made->has_digest = true;
        memcpy(made->digest, cache->mesh, sizeof made->digest);
    }
    abut_status status = abuti_field_set_up(bvh, o, made);
    if (!status)
        status = abuti_field_build(made, bvh, NULL, NULL);
    if (status) {
        abut_field_destroy(made);
        return status;
    }
    abuti_field_cache_store(cache, made);
    *field = made;
    return ABUT_OK;
}

abut_status abuti_field_read_options(const abut_field_options *options, abut_field_options *ours) {
    *ours = abut_field_options_default();
    abut_status status = abuti_options_read(ours, sizeof *ours, options, "abut_field_create");
    return status ? status : check_options(ours);
}

abut_status abuti_field_prepare_signs(const char *function, abut_bvh *bvh,
                                      abut_sign_method method) {
    abut_sign_options sign = abut_sign_options_default();
    sign.method = method;
    if (!bvh_sign_of(bvh))
        return abut_sign_prepare(bvh, &sign);
    if (method == ABUT_SIGN_AUTO || method == bvh_sign_of(bvh)->method)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: the BVH was prepared for another sign method; call abut_sign_prepare() "
                      "with the method of the field first",
                      function);
}

abut_status abut_field_create_from(abut_bvh *bvh, const abut_field_options *options,
                                   abut_field **field) {
    abut_field_options ours;
    field_cache cache;
    abut_field *found = NULL;
    abut_status status;
    if (!bvh || !field)
        return abuti_null(__func__, bvh ? "field" : "bvh");
    if ((status = abuti_field_read_options(options, &ours)) ||
        (status = abuti_field_prepare_signs(__func__, bvh, ours.sign)))
        return status;
    ours.sign = bvh_sign_of(bvh)->method;
    status = abuti_field_cache_load(bvh->mesh, &ours, choose_device(bvh, &ours), &cache, &found);
    if (!status && !found)
        status = build_field(bvh, &ours, &cache, &found);
    if (!status)
        *field = found;
    return status;
}

abut_status abut_field_create(abut_mesh *mesh, const abut_field_options *options,
                              abut_field **field) {
    abut_field_options ours;
    abut_bvh *bvh = NULL;
    abut_bvh_options tree = abut_bvh_options_default();
    abut_sign_options sign = abut_sign_options_default();
    field_cache cache;
    abut_field *found = NULL;
    abut_status status;
    if (!mesh || !field)
        return abuti_null(__func__, mesh ? "field" : "mesh");
    if ((status = abuti_field_read_options(options, &ours)) ||
        (status = abuti_field_cache_load(mesh, &ours, ours.device, &cache, &found)))
        return status;
    if (!found) {
        tree.device = ours.device;
        sign.method = ours.sign;
        if (ours.device)
            abuti_field_prepare(ours.device, mesh->triangle_count);
        status = abut_bvh_create(mesh, &tree, &bvh);
        if (!status)
            status = abut_sign_prepare(bvh, &sign);
        if (!status)
            status = build_field(bvh, &ours, &cache, &found);
        abut_bvh_destroy(bvh);
    }
    if (!status)
        *field = found;
    return status;
}

abut_field *abuti_field_retain(const abut_field *field) {
    abut_field *shared = (abut_field *)(uintptr_t)field;
    if (shared)
        atomic_fetch_add_explicit(&shared->holds, 1, memory_order_relaxed);
    return shared;
}

void abut_field_destroy(abut_field *field) {
    if (!field || atomic_fetch_sub_explicit(&field->holds, 1, memory_order_acq_rel) != 1)
        return;
    abut_context *context = field->context;
    abut_mesh_destroy(field->mesh);
    abut_buffer_destroy(field->there);
    ABUTI_RELEASE(context, field->values, field->index, field->coarse, field);
    abut_context_destroy(context);
}

/* ---- info ---- */

abut_status abut_field_get_info(const abut_field *field, abut_field_info *info) {
    if (!field || !info)
        return abuti_null(__func__, field ? "info" : "field");
    abut_field_info made = abut_field_info_default();
    made.grid = field->grid;
    made.layout = field->layout;
    made.type = field->type;
    made.band = field->band;
    made.step = field->step;
    made.lowest = field->lowest;
    made.highest = field->highest;
    made.closed = field->closed;
    made.reliability = field->reliability;
    made.sign = field->sign;
    made.bricks = field->brick_count;
    made.bytes = (uint64_t)field->value_count * field_value_bytes(field);
    if (field->layout == ABUT_FIELD_SPARSE) {
        const uint32_t *b = field->bricks;
        made.bytes = (uint64_t)field->brick_count * FIELD_VALUES * field_value_bytes(field);
        made.bytes += sizeof *field->index * ((uint64_t)b[0] * b[1] * b[2]);
        made.bytes += sizeof *field->coarse * ((uint64_t)(b[0] + 1) * (b[1] + 1) * (b[2] + 1));
    }
    return abuti_info_write(info, &made, sizeof made, __func__);
}

/* ---- names ---- */

const char *abut_field_layout_name(abut_field_layout layout) {
    static const char *const names[] = {"dense", "sparse"};
    return ABUTI_NAME(names, layout);
}

const char *abut_field_type_name(abut_field_type type) {
    static const char *const names[] = {"float", "int16"};
    return ABUTI_NAME(names, type);
}

const char *abut_interpolation_name(abut_interpolation interpolation) {
    static const char *const names[] = {"linear", "cubic"};
    return ABUTI_NAME(names, interpolation);
}

const char *abut_combination_name(abut_combination combination) {
    static const char *const names[] = {"union", "intersection", "difference"};
    return ABUTI_NAME(names, combination);
}

const char *abut_field_format_name(abut_field_format format) {
    static const char *const names[] = {"auto", "abutf", "vti", "npy", "raw"};
    return ABUTI_NAME(names, format);
}
