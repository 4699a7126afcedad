/* The nearest point of a mesh to a point.
 *
 * Method: depth first from the root, nearest child first, with an upper bound of the distance. All
 * of it in floats, four boxes or four triangles at once (eight where there are so many lanes);
 * corners come from the blocks, rounded to 16 bits inside the leaf's box. That gives distances that
 * err by less than a known margin. Every triangle whose distance less the margin is not above the
 * bound becomes a candidate, and its distance plus the margin a new bound. At the end the few
 * candidates that are still not above the bound are measured by triangle_closest_point() in
 * doubles, and the first of the least wins. Hence no triangle is dropped that could win, and the
 * answer is that of a search through all.
 *
 * The margin. Let e = 2^-24 be the rounding of a float, and M bound all coordinate differences
 * between the query and the mesh, in the frame. A corner is off by half a step of the block on
 * each axis, less than a step in all, and by some e M for the arithmetic; so is the query. The
 * distance to the triangle of such corners is found as in closest_shared.h, whose frame (u, w)
 * keeps the error to a few e M for every shape of triangle; one round of it is enough here. Edges
 * are measured in that frame as well: with the foot at (s, r) and a point of the triangle at (x, y)
 * the square is h h + (x - s)^2 u.u + (y - r)^2 w.w. What is left out is 2 (x - s) (beside . u +
 * y u . w), since the terms with r cancel, and |y| <= 1: a few e M times the distance. The
 * distance in doubles, against which it will stand, is off by 4 ulp of doubles, which is nothing
 * beside that. The margin is 32 e M and the longest step, with two of the node's in the compact
 * tree; tests/nearest measures errors below a quarter of it.
 *
 * Far away, where floats no longer tell one triangle from the next, boxes are measured in doubles
 * and all triangles that remain become candidates.
 */
#include "nearest/nearest_walk.h"

#include "bvh/compact.h"

/* ---- far away ---- */

typedef struct pending_far {
    double distance_sq;
    uint32_t place;
} pending_far;

/* In units in which the point is 1 away from the origin of the mesh: nothing overflows, and a mesh
 * that underflows is a point, as it should be. */
static void search_far(search *s) {
    const abut_mesh *mesh = s->bvh->mesh;
    vec3 p = v3_sub(s->point, mesh->origin);
    double unit = 1 / v3_max_abs(p), per_frame = unit / s->bvh->scale;
    double at[3] = {p.x * unit, p.y * unit, p.z * unit};
    pending_far stack[BVH_STACK];
    uint32_t used = 0, index = 0;
    for (;;) {
        const bvh_node *node = &s->bvh->nodes[index];
        uint32_t first = used;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            if (node->child[slot] == ABUT_NONE)
                continue;
            double sum = 0;
            for (int axis = 0; axis < 3; axis++) {
                double lo = node->lo[axis][slot] * per_frame, hi = node->hi[axis][slot] * per_frame;
                double d = real_max(real_max(lo - at[axis], at[axis] - hi), 0);
                sum += d * d;
            }
            pending_far child = {sum, index * BVH_WIDTH + slot};
            uint32_t i = used++;
            for (; i > first && stack[i - 1].distance_sq < sum; i--)
                stack[i] = stack[i - 1];
            stack[i] = child;
        }
        bool found = false;
        while (used && !found) {
            pending_far next = stack[--used];
            double limit = real_min(s->best, s->radius) * unit;
            if (next.distance_sq > limit * limit * SLACK_FAR)
                continue;
            uint32_t child = s->bvh->nodes[next.place / BVH_WIDTH].child[next.place % BVH_WIDTH];
            found = !(child & BVH_LEAF);
            index = child;
            uint32_t leaf = child & ~BVH_LEAF;
            for (uint32_t i = 0; !found && i < bvh_leaf_fill(s->bvh, leaf); i++)
                measure_triangle(s, s->bvh->order[leaf * BVH_WIDTH + i]);
        }
        if (!found)
            return;
    }
}

/* ---- one point ---- */

static inline void search_by_lanes(search *s) {
#ifdef ABUTI_WIDE_FILES
    if (abuti_simd_lanes() >= 16 && bvh_compact_ready(s->bvh))
        abuti_bvh_search_16(s);
    else
        (abuti_simd_lanes() >= 8 ? abuti_bvh_search_8 : abuti_bvh_search_4)(s);
#else
    abuti_bvh_search_4(s);
#endif
}

void abuti_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius, bvh_hint *hint,
                         abut_nearest *nearest) {
    search s;
    s.bvh = bvh;
    s.point = point;
    s.radius = radius;
    s.best = INFINITY;
    s.winner = ABUT_NONE;
    if (!start_near(&s, hint))
        search_far(&s);
    else
        search_by_lanes(&s);
    nearest->distance = s.best;
    nearest->triangle = s.winner;
    if (s.winner == ABUT_NONE) {
        nearest->point = point;
        nearest->feature = ABUT_FEATURE_FACE;
        nearest->barycentric[0] = nearest->barycentric[1] = nearest->barycentric[2] = 0;
        return;
    }
    memcpy(nearest->barycentric, s.weight, sizeof s.weight);
    nearest->feature = weights_feature(s.weight);
    nearest->point = weights_point(bvh_triangle(bvh->mesh, s.winner), s.weight);
    if (hint) {
        /* not from the absolute point, which far from 0 is coarser than the mesh */
        const uint32_t *corner = bvh->mesh->indices + 3 * (size_t)s.winner;
        hint->known = true;
        hint->point = v3(0, 0, 0);
        for (int i = 0; i < 3; i++)
            hint->point = v3_along(hint->point, s.weight[i], bvh->mesh->positions[corner[i]]);
    }
}

abut_status abut_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius,
                               abut_nearest *nearest) {
    abut_status status = abuti_bvh_check(__func__, bvh, nearest, "nearest");
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    if (status)
        return status;
    abuti_nearest_point(bvh, point, radius, NULL, nearest);
    return ABUT_OK;
}

/* ---- reliability ---- */

abut_reliability abut_nearest_reliability(const abut_mesh_report *report) {
    (void)report;
    return abuti_guaranteed(
        "Asks nothing of a mesh: every triangle counts, a degenerate one as the "
        "segment or point that it is.");
}
