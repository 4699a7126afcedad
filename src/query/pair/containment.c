/* Whether a mesh is inside another, component by component.
 *
 * If no triangles of two surfaces intersect, a component of one is entirely inside the other or
 * entirely outside, so one vertex decides for all of it. Components of the other mesh that are
 * sheets (abuti_bvh_interior) have no interior. A point is inside if the winding number of the
 * remaining components is at least one half: components that face inwards inside others are
 * cavities, and components may overlap.
 */
#include "pair/pair.h"
#include "sign/sign.h"

#include <math.h>

/* ---- inside ---- */

/* Whether a point may be in the box of a posed mesh. False is certain. */
static bool box_may_contain(const pair_frame *frame, const pair_side *side, vec3 point) {
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

abut_status abuti_pair_vertex_inside(const pair_frame *frame, int inner,
                                     const abut_pose *outer_pose, uint32_t vertex, bool *inside,
                                     unsigned *flags) {
    const pair_side *in = &frame->side[inner], *out = &frame->side[!inner];
    const bvh_interior *around;
    vec3 p = abuti_motion_apply(&in->motion, abuti_mesh_position(in->bvh->mesh, vertex));
    bool on_surface;
    *inside = false;
    if (frame->reach > PAIR_FAR_DISTANCE || !box_may_contain(frame, out, p))
        return ABUT_OK;
    abut_status status = abuti_bvh_interior(out->bvh, &around);
    if (status)
        return status;
    if (around->has_sheets || around->border_count)
        *flags |= (unsigned)(!around->border_count ? PAIR_SHEET
                             : around->flipped     ? PAIR_FLIPS
                                                   : PAIR_HOLES)
                  << !inner;
    *inside = fabs(abuti_sign_crossing_solids(out->bvh, around, outer_pose, p, &on_surface)) >= 0.5;
    return ABUT_OK;
}

/* Finds the first component of one side that is inside the other. Writes ABUT_NONE if there is
 * none. */
static abut_status find_component_inside(const pair_frame *frame, int inner,
                                         const abut_pose *outer_pose, uint32_t *vertex,
                                         unsigned *flags) {
    const bvh_components *parts;
    abut_status status = abuti_bvh_components(frame->side[inner].bvh, &parts);
    *vertex = ABUT_NONE;
    for (uint32_t i = 0; !status && i < parts->count && *vertex == ABUT_NONE; i++) {
        bool inside;
        status =
            abuti_pair_vertex_inside(frame, inner, outer_pose, parts->vertex[i], &inside, flags);
        if (!status && inside)
            *vertex = parts->vertex[i];
    }
    return status;
}

abut_status abuti_pair_contains(const pair_frame *frame, const abuti_posed *a, const abuti_posed *b,
                                abut_pair_relation *relation, uint32_t *vertex, unsigned *flags) {
    *relation = ABUT_PAIR_APART;
    if (frame->reach > PAIR_FAR_DISTANCE)
        return ABUT_OK;
    for (int inner = 0; inner < 2; inner++) {
        abut_status status =
            find_component_inside(frame, inner, inner ? &a->pose : &b->pose, vertex, flags);
        if (status)
            return status;
        if (*vertex != ABUT_NONE) {
            *relation = inner ? ABUT_PAIR_B_INSIDE : ABUT_PAIR_A_INSIDE;
            return ABUT_OK;
        }
    }
    return ABUT_OK;
}

/* ---- reliability ---- */

abut_reliability abuti_pair_reliability_of(unsigned flags) {
    static const char *const sheets[] = {
        "Exact. Mesh a is a sheet, or some of its components are: their holes exceed a tenth of "
        "their area, so they have no interior, and nothing is reported as inside them.",
        "Exact. Mesh b is a sheet, or some of its components are: their holes exceed a tenth of "
        "their area, so they have no interior, and nothing is reported as inside them.",
        "Exact. Both meshes are sheets, or some of their components are: their holes exceed a "
        "tenth of their area, so they have no interior, and nothing is reported as inside them."};
    static const char *const holes[] = {
        "Mesh a is not closed, so its interior is a guess near its holes and extra faces: close "
        "it, or count surfaces only.",
        "Mesh b is not closed, so its interior is a guess near its holes and extra faces: close "
        "it, or count surfaces only.",
        "Both meshes are not closed, so their interior is a guess near their holes and extra "
        "faces: close them, or count surfaces only."};
    static const char *const flips[] = {
        "Neighbouring triangles of mesh a face opposite ways, so its interior is unknown: orient "
        "the mesh first.",
        "Neighbouring triangles of mesh b face opposite ways, so its interior is unknown: orient "
        "the mesh first.",
        "Neighbouring triangles of both meshes face opposite ways, so their interior is "
        "unknown: orient the meshes first."};
    const unsigned flipped = flags / PAIR_FLIPS % 4, open = flags / PAIR_HOLES % 4,
                   sheet = flags / PAIR_SHEET % 4;
    if (flipped)
        return abuti_unreliable(flips[flipped - 1]);
    if (open)
        return abuti_limited(holes[open - 1]);
    return abuti_guaranteed(sheet ? sheets[sheet - 1] : "The result is exact.");
}
