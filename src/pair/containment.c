/* Whether a mesh lies inside another, part by part.
 *
 * Where no triangles of two surfaces intersect, a connected part of one is wholly inside the other
 * or wholly outside, so one vertex decides for all of it. Of the other, parts that are sheets
 * (abuti_bvh_interior) have no inside. What the remaining parts together wind around by at least a
 * half is inside: parts that face inwards inside others are cavities, and parts may overlap.
 */
#include "pair/pair.h"
#include "sign/sign.h"

#include <math.h>

/* ---- inside ---- */

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

abut_status abuti_pair_vertex_inside(const pair_frame *frame, int inner,
                                     const abut_pose *outer_pose, uint32_t vertex, bool *inside,
                                     unsigned *doubt) {
    const pair_side *in = &frame->side[inner], *out = &frame->side[!inner];
    const bvh_interior *around;
    vec3 p = abuti_motion_apply(&in->motion, abuti_mesh_position(in->bvh->mesh, vertex));
    bool on_surface;
    *inside = false;
    if (frame->reach > PAIR_FAR || !box_may_hold(frame, out, p))
        return ABUT_OK;
    abut_status status = abuti_bvh_interior(out->bvh, &around);
    if (status)
        return status;
    if (around->has_sheets || around->border_count)
        *doubt |= (unsigned)(!around->border_count ? PAIR_SHEET
                             : around->flipped     ? PAIR_FLIPS
                                                   : PAIR_HOLES)
                  << !inner;
    *inside = fabs(abuti_sign_crossing_solids(out->bvh, around, outer_pose, p, &on_surface)) >= 0.5;
    return ABUT_OK;
}

/* The first part of one side that is inside the other; ABUT_NONE where none is. */
static abut_status part_inside(const pair_frame *frame, int inner, const abut_pose *outer_pose,
                               uint32_t *vertex, unsigned *doubt) {
    const bvh_solid_parts *parts;
    abut_status status = abuti_bvh_solid_parts(frame->side[inner].bvh, &parts);
    *vertex = ABUT_NONE;
    for (uint32_t i = 0; !status && i < parts->count && *vertex == ABUT_NONE; i++) {
        bool inside;
        status =
            abuti_pair_vertex_inside(frame, inner, outer_pose, parts->vertex[i], &inside, doubt);
        if (!status && inside)
            *vertex = parts->vertex[i];
    }
    return status;
}

abut_status abuti_pair_contains(const pair_frame *frame, const abut_posed *a, const abut_posed *b,
                                abut_pair_relation *relation, uint32_t *vertex, unsigned *doubt) {
    *relation = ABUT_PAIR_APART;
    if (frame->reach > PAIR_FAR)
        return ABUT_OK;
    for (int inner = 0; inner < 2; inner++) {
        abut_status status = part_inside(frame, inner, inner ? &a->pose : &b->pose, vertex, doubt);
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

abut_reliability abuti_pair_doubt(unsigned doubt) {
    static const char *const sheets[] = {
        "Exact. A is a sheet, or some of its parts are: their holes exceed a tenth of their area, "
        "so they have no inside, and nothing is reported as inside them.",
        "Exact. B is a sheet, or some of its parts are: their holes exceed a tenth of their area, "
        "so they have no inside, and nothing is reported as inside them.",
        "Exact. Both meshes are sheets, or some of their parts are: their holes exceed a tenth of "
        "their area, so they have no inside, and nothing is reported as inside them."};
    static const char *const holes[] = {
        "A is not closed, so what is inside it is a guess near its holes and extra faces: close "
        "it, or count surfaces only.",
        "B is not closed, so what is inside it is a guess near its holes and extra faces: close "
        "it, or count surfaces only.",
        "Both meshes are not closed, so what is inside them is a guess near their holes and extra "
        "faces: close them, or count surfaces only."};
    static const char *const flips[] = {
        "Neighbouring triangles of A face opposite ways, so what is inside it is not known: orient "
        "the mesh first.",
        "Neighbouring triangles of B face opposite ways, so what is inside it is not known: orient "
        "the mesh first.",
        "Neighbouring triangles of both meshes face opposite ways, so what is inside them is not "
        "known: orient the meshes first."};
    const unsigned flipped = doubt / PAIR_FLIPS % 4, open = doubt / PAIR_HOLES % 4,
                   sheet = doubt / PAIR_SHEET % 4;
    if (flipped)
        return abuti_unfit(flips[flipped - 1]);
    if (open)
        return abuti_limited(holes[open - 1]);
    return abuti_guaranteed(sheet ? sheets[sheet - 1] : "The answer is exact.");
}
