/* The closest point of a mesh to a point.
 *
 * Method: depth-first traversal from the root, nearest child first, with an upper bound of the
 * distance. Everything is in floats, four boxes or four triangles at once (eight with enough
 * lanes); corners are those of the blocks, quantised to 16 bits inside the box of a leaf. That
 * gives distances with errors below a known margin. Every triangle whose distance minus the margin
 * is not above the bound becomes a candidate, and its distance plus the margin is a new bound. At
 * the end the few candidates that are still not above the bound are measured by
 * triangle_closest_point() in doubles, and the first one with the smallest distance is the result.
 * Hence no triangle is pruned that could be nearest, and the result is that of a search through all
 * triangles.
 *
 * The margin. Let e = 2^-24 be the rounding error of a float, and M a bound of all coordinate
 * differences between the query point and the mesh, in the frame. A corner has an error of half a
 * quantisation step on each axis, less than a step in total, and some e M for the arithmetic; the
 * query point has the latter. The distance to the triangle of such corners is computed as in
 * closest_shared.h, whose frame (u, w) limits the error to a few e M for every shape of triangle;
 * one round of it is sufficient here. Edges are measured in that frame as well: with the foot at
 * (s, r) and a point of the triangle at (x, y) the square is h h + (x - s)^2 u.u + (y - r)^2 w.w.
 * The omitted term is 2 (x - s) (beside . u + y u . w), where `beside` is the offset minus its
 * component along u, since the terms with r cancel, and |y| <= 1: a few e M times the distance. The
 * distance in doubles, with which it is compared, has an error of 4 ulp of doubles, which is
 * negligible. The margin is 32 e M plus the longest step, with two of those of the node in the
 * compact tree; tests/nearest measures errors below a quarter of it.
 *
 * Far away, where floats do not distinguish neighbouring triangles, boxes are measured in doubles
 * and all remaining triangles become candidates.
 */
#include "nearest/nearest_walk.h"

#include "bvh/compact.h"

/* ---- distant points ---- */

typedef struct pending_node {
    double distance_sq;
    uint32_t place;
} pending_node;

/* In units in which the point is at the distance 1 from the local origin: nothing overflows, and a
 * mesh that underflows is a point. */
static void search_far(search *s) {
    const abut_mesh *mesh = s->bvh->mesh;
    vec3 p = v3_sub(s->point, mesh->origin);
    double unit = 1 / v3_max_abs(p), per_frame = unit / s->bvh->scale;
    double at[3] = {p.x * unit, p.y * unit, p.z * unit};
    pending_node stack[BVH_STACK];
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
            pending_node child = {sum, index * BVH_WIDTH + slot};
            uint32_t i = used++;
            for (; i > first && stack[i - 1].distance_sq < sum; i--)
                stack[i] = stack[i - 1];
            stack[i] = child;
        }
        bool found = false;
        while (used && !found) {
            pending_node next = stack[--used];
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
    if (!init_float_search(&s, hint))
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
        /* not from the absolute point, which far from 0 is less precise than the mesh */
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
        "There are no requirements: every triangle counts, a degenerate one as the "
        "segment or point that it is.");
}
