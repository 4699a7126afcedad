/* Whether a mesh lies inside another, part by part.
 *
 * Where no triangles of two surfaces intersect, a connected part of one is wholly inside the other
 * or wholly outside, so one vertex tells for all of it. Parts are connected through shared
 * vertices; the list of one vertex a part is made when it is first wanted and kept by the
 * hierarchy, since it does not change when vertices move.
 */
#include "bvh/pair.h"

#include "geom/solid_shared.h"

#include <math.h>

/* ---- parts ---- */

/* The lowest vertex of each part into `list`, which has room for all vertices. `parent` gives the
 * lowest vertex that one is joined with. */
static uint32_t list_parts(const abut_mesh *mesh, uint32_t *parent, uint32_t *list) {
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        parent[v] = ABUT_NONE; /* in no triangle */
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        parent[mesh->indices[i]] = mesh->indices[i];
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        abuti_join(parent, corner[0], corner[1]);
        abuti_join(parent, corner[0], corner[2]);
    }
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (parent[v] == v)
            list[count++] = v;
    return count;
}

/* The parts of a hierarchy: their number, then a vertex of each. */
static abut_status parts_of(const abut_bvh *bvh, const uint32_t **parts) {
    _Atomic(uint32_t *) *kept = &((abut_bvh *)(uintptr_t)bvh)->parts;
    uint32_t *made = atomic_load(kept), *none = NULL;
    *parts = made;
    if (made)
        return ABUT_OK;
    const abut_mesh *mesh = bvh->mesh;
    uint32_t *work = abuti_allocate(bvh->context, mesh->vertex_count, 2 * sizeof *work);
    if (!work)
        return ABUT_ERROR_MEMORY;
    uint32_t *list = work + mesh->vertex_count, count = list_parts(mesh, work, list);
    made = abuti_allocate(bvh->context, (size_t)count + 1, sizeof *made);
    if (made) {
        made[0] = count;
        memcpy(made + 1, list, count * sizeof *made);
    }
    abuti_release(bvh->context, work);
    if (!made)
        return ABUT_ERROR_MEMORY;
    *parts = made;
    if (!atomic_compare_exchange_strong(kept, &none, made)) {
        abuti_release(bvh->context, made); /* another thread was faster */
        *parts = none;
    }
    return ABUT_OK;
}

/* ---- inside ---- */

/* Whether a posed mesh winds around a point that is not on it. */
static bool winds_around(const pair_side *side, vec3 point) {
    double sum = 0;
    for (uint32_t t = 0; t < side->bvh->triangle_count; t++)
        sum += triangle_solid_angle(pair_triangle(side, t), point);
    return fabs(sum) >= 2 * 3.14159265358979323846;
}

/* Whether a point may be in the box of a posed mesh; false is certain. */
static bool box_may_hold(const pair_frame *frame, const pair_side *side, vec3 point) {
    pair_box box = pair_box_at(side, PAIR_ROOT);
    mat3 back = m3_transpose(&side->motion.rotation);
    vec3 p =
        v3_sub(m3_apply(&back, v3_sub(point, side->motion.translation)), side->bvh->mesh->origin);
    for (int axis = 0; axis < 3; axis++)
        if (!(fabs(v3_get(p, axis) * frame->scale - box.centre[axis]) <=
              (double)box.half[axis] + frame->pad))
            return false;
    return true;
}

/* The first part of one side that is inside the other; ABUT_NONE where none is. */
static abut_status part_inside(const pair_frame *frame, int inner, uint32_t *vertex) {
    const pair_side *in = &frame->side[inner], *out = &frame->side[!inner];
    const uint32_t *parts;
    abut_status status = parts_of(in->bvh, &parts);
    *vertex = ABUT_NONE;
    for (uint32_t i = 1; !status && i <= parts[0] && *vertex == ABUT_NONE; i++) {
        vec3 p = abuti_motion_apply(&in->motion, abuti_mesh_position(in->bvh->mesh, parts[i]));
        if (box_may_hold(frame, out, p) && winds_around(out, p))
            *vertex = parts[i];
    }
    return status;
}

abut_status abuti_pair_contains(const pair_frame *frame, const abut_posed *a, const abut_posed *b,
                                abut_pair_relation *relation, uint32_t *vertex) {
    (void)a;
    (void)b;
    *relation = ABUT_PAIR_APART;
    if (frame->reach > PAIR_FAR)
        return ABUT_OK;
    for (int inner = 0; inner < 2; inner++) {
        abut_status status = part_inside(frame, inner, vertex);
        if (status)
            return status;
        if (*vertex != ABUT_NONE) {
            *relation = inner ? ABUT_PAIR_B_INSIDE : ABUT_PAIR_A_INSIDE;
            return ABUT_OK;
        }
    }
    return ABUT_OK;
}
