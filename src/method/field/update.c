/* Update of a field after its mesh has moved.
 *
 * Problem: when a mesh deforms locally, most distances stay unchanged. Method: a distance can
 * change only if a triangle that moved was the nearest one or is now, that is if its old or new
 * position is no farther than the old distance. All moved triangles at their old and new positions
 * form a BVH. For each block of cells, a closest-point query from its centre searches this BVH
 * within the largest relevant distance of the block. Signs may change anywhere, since a distant
 * part of the surface may have moved across any cell. So all blocks are signed again, which is
 * fast. Guarantee: unchanged values are the floats that a new field would have, since the nearest
 * triangles have the same corners.
 */
#include "field/field.h"

#include "sign/sign.h"

#include <math.h>

enum { BLOCKS_PER_TASK = 64 };

typedef struct update_state {
    const abut_field *field;
    const abut_bvh *moved; /* old and new positions of triangles that have moved */
    double error;          /* distances up to this value may be 0 */
    uint32_t blocks[3];
    unsigned char *known; /* for each block, whether its distances stay */
} update_state;

/* ---- moved triangles ---- */

static bool has_moved(const abut_mesh *old, const abut_mesh *mesh, size_t triangle) {
    for (size_t k = 0; k < 3; k++) {
        uint32_t vertex = old->indices[3 * triangle + k];
        vec3 a = abuti_mesh_position(old, vertex), b = abuti_mesh_position(mesh, vertex);
        if (a.x != b.x || a.y != b.y || a.z != b.z)
            return true;
    }
    return false;
}

/* The old and new positions of all moved triangles, as one mesh; null if none has moved. */
static abut_status gather_moved(const abut_mesh *old, const abut_mesh *mesh, abut_mesh **moved) {
    abut_context *context = old->context;
    size_t count = 0;
    for (size_t t = 0; t < old->triangle_count; t++)
        count += has_moved(old, mesh, t);
    *moved = NULL;
    if (!count)
        return ABUT_OK;
    vec3 *positions = abuti_allocate(context, 6 * count, sizeof *positions);
    uint32_t *indices = abuti_allocate(context, 6 * count, sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    size_t at = 0;
    for (size_t t = 0; t < old->triangle_count; t++) {
        if (!has_moved(old, mesh, t))
            continue;
        for (size_t k = 0; k < 6; k++, at++) {
            uint32_t vertex = old->indices[3 * t + k % 3];
            positions[at] = abuti_mesh_position(k < 3 ? old : mesh, vertex);
            indices[at] = (uint32_t)at;
        }
    }
    return abuti_mesh_derive(context, "abut_field_set_mesh", positions, 6 * count, indices,
                             2 * count, moved);
}

/* ---- blocks ---- */

/* Whether all distances of a block stay unchanged. */
static bool keeps_distances(const update_state *u, const uint32_t begin[3]) {
    const abut_field *f = u->field;
    double lowest = INFINITY, highest = 0;
    uint32_t end[3];
    for (int k = 0; k < 3; k++) {
        end[k] = begin[k] + FIELD_BRICK;
        end[k] = end[k] < f->grid.count[k] ? end[k] : f->grid.count[k];
    }
    for (uint32_t k = begin[2]; k < end[2]; k++)
        for (uint32_t j = begin[1]; j < end[1]; j++)
            for (uint32_t i = begin[0]; i < end[0]; i++) {
                double d = fabs(field_value(f, grid_at(f->grid.count, i, j, k)));
                lowest = real_min(lowest, d);
                highest = real_max(highest, d);
            }
    if (!(lowest - f->step > u->error && highest < FLT_MAX))
        return false; /* a cell may be on the surface, or too far away for floats */
    vec3 lo = grid_centre(&f->grid, begin[0], begin[1], begin[2]);
    vec3 hi = grid_centre(&f->grid, end[0] - 1, end[1] - 1, end[2] - 1),
         middle = v3_lerp(lo, hi, 0.5);
    double rho = real_max(v3_length(v3_sub(hi, middle)), v3_length(v3_sub(lo, middle)));
    abut_nearest nearest;
    abuti_nearest_point(u->moved, middle, (highest + f->step + rho) * (1 + 0x1p-20) + u->error,
                        NULL, &nearest);
    return nearest.triangle == ABUT_NONE;
}

static void blocks_task(void *data, size_t chunk, size_t begin, size_t end) {
    update_state *u = data;
    (void)chunk;
    for (size_t b = begin; b < end; b++) {
        const uint32_t first[3] = {FIELD_BRICK * (uint32_t)(b % u->blocks[0]),
                                   FIELD_BRICK * (uint32_t)(b / u->blocks[0] % u->blocks[1]),
                                   FIELD_BRICK * (uint32_t)(b / u->blocks[0] / u->blocks[1])};
        u->known[b] = keeps_distances(u, first);
    }
}

/* An upper bound of the coordinates of grid, old mesh and new mesh. */
static double bound_coordinates(const abut_field *f, const abut_bvh *bvh) {
    const abut_grid *g = &f->grid;
    vec3 end = grid_centre(g, g->count[0], g->count[1], g->count[2]);
    double grid = real_max(v3_max_abs(g->origin), v3_max_abs(end));
    return grid + v3_max_abs(bvh->mesh->bounds.lo) + v3_max_abs(bvh->mesh->bounds.hi) +
           v3_max_abs(f->mesh->bounds.lo) + v3_max_abs(f->mesh->bounds.hi);
}

/* Finds the blocks of a dense field whose distances stay, unless `all` must be computed. Sets
 * *changed to the number of the other blocks. */
static abut_status find_unchanged_blocks(const abut_field *field, const abut_bvh *bvh, bool all,
                                         unsigned char **known, uint64_t *changed) {
    update_state u = {.field = field, .error = 0x1p-44 * bound_coordinates(field, bvh)};
    abut_mesh *moved;
    abut_bvh *hierarchy = NULL;
    size_t count = 1;
    for (int k = 0; k < 3; k++) {
        u.blocks[k] = (field->grid.count[k] + FIELD_BRICK - 1) / FIELD_BRICK;
        count *= u.blocks[k];
    }
    *changed = count;
    if (all)
        return ABUT_OK;
    abut_status status = gather_moved(field->mesh, bvh->mesh, &moved);
    if (status)
        return status;
    *known = abuti_allocate(field->context, count, 1);
    if (!*known)
        status = ABUT_ERROR_MEMORY;
    else
        memset(*known, 1, count);
    if (!status && moved) {
        status = abut_bvh_create(moved, NULL, &hierarchy);
        u.moved = hierarchy;
        u.known = *known;
        if (!status)
            abuti_parallel_for(field->context, count, BLOCKS_PER_TASK, blocks_task, &u);
    }
    for (size_t i = 0; !status && i < count; i++)
        *changed -= (*known)[i];
    abut_bvh_destroy(hierarchy);
    abut_mesh_destroy(moved);
    return status;
}

/* ---- the field ---- */

/* Builds the successor of a field for the mesh of a BVH. */
static abut_status build_successor(const abut_field *field, const abut_bvh *bvh, abut_field **next,
                                   uint64_t *changed) {
    unsigned char *known = NULL;
    abut_field *made = abuti_allocate_zeroed(field->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    *made = *field;
    made->context = abuti_context_retain(field->context);
    atomic_init(&made->holds, 1);
    made->mesh = abut_mesh_retain(bvh->mesh);
    made->has_digest = false; /* it was that of the old mesh */
    made->values = NULL;
    made->index = NULL;
    made->coarse = NULL;
    made->brick_count = 0;
    made->closed = bvh_sign_of(bvh)->closed;
    abut_sign_info sign = abut_sign_info_default();
    abut_sign_get_info(bvh, &sign);
    made->reliability = sign.reliability;
    bool all = field->layout == ABUT_FIELD_SPARSE || field->sign == ABUT_SIGN_NORMAL ||
               abuti_field_step(made) != field->step;
    abut_status status = find_unchanged_blocks(field, bvh, all, &known, changed);
    if (!status)
        status = abuti_field_build(made, bvh, field, known);
    abuti_release(field->context, known);
    if (status)
        abut_field_destroy(made);
    else
        *next = made;
    return status;
}

abut_status abuti_field_update_on_cpu(abut_field *field, const abut_bvh *bvh,
                                      uint64_t *recomputed) {
    abut_field *next = NULL;
    abut_status status;
    if ((status = abuti_bvh_ensure_host(bvh)) ||
        (status = build_successor(field, bvh, &next, recomputed)))
        return status;
    /* The field pointer and its references stay valid; the contents are exchanged. */
    const unsigned holds = atomic_load_explicit(&field->holds, memory_order_relaxed);
    abut_field old = *field;
    *field = *next;
    *next = old;
    atomic_store_explicit(&field->holds, holds, memory_order_relaxed);
    atomic_store_explicit(&next->holds, 1, memory_order_relaxed);
    abut_field_destroy(next);
    if (field->layout == ABUT_FIELD_SPARSE)
        *recomputed = field->brick_count;
    return ABUT_OK;
}

static abut_status check_update(const char *function, const abut_field *field, const void *by,
                                const char *name) {
    if (!field || !by)
        return abuti_null(function, field ? name : "field");
    if (!field->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the field has no mesh to compare with, since it was not built from "
                          "one in this process; build a new field",
                          function);
    return ABUT_OK;
}

abut_status abut_field_update_from(abut_field *field, abut_bvh *bvh, uint64_t *recomputed) {
    uint64_t changed = 0;
    abut_status status = check_update(__func__, field, bvh, "bvh");
    if (!status && field->mesh != bvh->mesh)
        status = abuti_bvh_check_refit(__func__, field->mesh, bvh->mesh);
    if (!status)
        status = abuti_field_prepare_signs(__func__, bvh, field->sign);
    if (status)
        return status;
    const uint64_t updates = field->updates;
    status = field_builder_of(field_device(field))->update(field, bvh, &changed);
    field->updates = updates + 1; /* the builder may have replaced all members of the field */
    if (!status && recomputed)
        *recomputed = changed;
    return status;
}

abut_status abut_field_set_mesh(abut_field *field, abut_mesh *mesh, uint64_t *recomputed) {
    abut_bvh *bvh = NULL;
    abut_bvh_options tree = abut_bvh_options_default();
    abut_status status;
    if ((status = check_update(__func__, field, mesh, "mesh")) ||
        (status = abuti_bvh_check_refit(__func__, field->mesh, mesh)))
        return status;
    tree.device = field_device(field);
    status = abut_bvh_create(mesh, &tree, &bvh);
    if (!status)
        status = abut_field_update_from(field, bvh, recomputed);
    abut_bvh_destroy(bvh);
    return status;
}
