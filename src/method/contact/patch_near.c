/* Tests one triangle against four in floats: which are within the range, and which may contain a
 * local minimum of the distance.
 *
 * Guarantee: conservative. Let e bound the rounding error of distances and heights: 16 roundings of
 * the largest coordinate. Pairs whose distance exceeds the range by more than e are rejected. Let d
 * be the distance of the closest points. A pair of points whose distance is at most d + e has a
 * direction that differs from theirs by at most sqrt(2 e / d): both differences are in the convex
 * set of all differences of points of the two triangles, so their scalar product is at least d^2.
 * At a local minimum the direction is in the cone of the normals around each triangle
 * (patch_skin.c). A pair is rejected if its direction is outside by more than that angle plus
 * CONE_TOLERANCE. */
#include "contact/patch_proximity.h"

#include <math.h>

#define ROUNDING 0x1p-20f      /* of the largest coordinate: error of distances and heights */
#define CONE_TOLERANCE 1e-4f   /* in addition to the tolerances of a minimum in doubles */
#define CERTAIN_DISTANCE 16.0f /* in errors: below it, directions are unreliable */

static void compute_near_face(const patch_body *body, const near_space *space, uint32_t side,
                              uint32_t face, near_face *f) {
    const bvh_interior *interior = space->interior[side];
    f->face = face;
    f->corner = body->skin->corner + 3 * (size_t)face;
    for (int k = 0; k < 3; k++)
        f->at.corner[k] = patch_position(body, f->corner[k]);
    f->normal = abuti_unit_normal(f->at.corner[0], f->at.corner[1], f->at.corner[2]);
    f->two_sided = interior->is_sheet ? interior->is_sheet[face] : !interior->has_solids;
}

static void store_lane(float to[3][4], uint32_t lane, vec3 v) {
    to[0][lane] = (float)v.x;
    to[1][lane] = (float)v.y;
    to[2][lane] = (float)v.z;
}

static wide3 load_lanes3(const float from[3][4]) {
    return make3(f4_load(from[0]), f4_load(from[1]), f4_load(from[2]));
}

void abuti_near_load_leaf(const patch_body *body, const near_space *space, uint32_t side,
                          uint32_t leaf, near_leaf *out) {
    float corner[3][3][4], normal[3][4], axis[3][4], cosine[4], min_height[4], min_facing_cosine[4];
    uint32_t fill = bvh_leaf_fill(body->bvh, leaf);
    double max_coordinate = 0;
    out->valid = 0;
    out->is_prepared = false;
    for (uint32_t lane = 0; lane < BVH_WIDTH; lane++) {
        near_face *f = &out->face[lane];
        uint32_t index = leaf * BVH_WIDTH + (lane < fill ? lane : 0);
        compute_near_face(body, space, side, body->bvh->order[index], f);
        bool valid = lane < fill && !abuti_is_collapsed(f->corner) && v3_max_abs(f->normal) > 0;
        const patch_cone *cone = &body->skin->cones[f->face];
        vec3 cone_axis = v3(cone->axis[0], cone->axis[1], cone->axis[2]);
        out->valid |= (uint32_t)valid << lane;
        for (int k = 0; k < 3; k++) {
            vec3 at = v3_scale(v3_sub(f->at.corner[k], space->origin), space->scale);
            max_coordinate = real_max(max_coordinate, v3_max_abs(at));
            store_lane(corner[k], lane, at);
        }
        store_lane(normal, lane, f->normal);
        store_lane(axis, lane,
                   body->surface.is_rotated ? m3_apply(&body->surface.rotation, cone_axis)
                                            : cone_axis);
        cosine[lane] = f->two_sided ? -2 : cone->cosine;
        min_facing_cosine[lane] = f->two_sided ? -2 : 0;
        min_height[lane] =
            -(float)((f->two_sided ? space->range : space->touch_distance) * space->scale);
    }
    for (int k = 0; k < 3; k++)
        out->triangles.corner[k] = load_lanes3(corner[k]);
    out->normal = load_lanes3(normal);
    out->offset = dot3(out->normal, out->triangles.corner[0]);
    out->axis = load_lanes3(axis);
    out->cosine = f4_load(cosine);
    out->min_height = f4_load(min_height);
    out->min_facing_cosine = f4_load(min_facing_cosine);
    out->max_coordinate = (float)max_coordinate;
}

static inline wide broadcast_lane(wide from, uint32_t lane) {
    float all[4];
    f4_store(all, from);
    return f4_all(all[lane]);
}

static inline wide3 broadcast_lane3(wide3 from, uint32_t lane) {
    return make3(broadcast_lane(from.x, lane), broadcast_lane(from.y, lane),
                 broadcast_lane(from.z, lane));
}

/* ---- distances as in triangles_sq(), with the vector from a to b ---- */

typedef struct closest_vector {
    wide square;
    wide3 vector;
} closest_vector;

/* Replaces the vector in the lanes of the mask in which another is shorter. */
static inline void update_closest(closest_vector *best, wide3 vector, wide_mask mask) {
    wide square = f4_select(mask, dot3(vector, vector), f4_all(FLT_MAX));
    wide_mask less = wide_less(square, best->square);
    best->square = f4_select(less, square, best->square);
    best->vector.x = f4_select(less, vector.x, best->vector.x);
    best->vector.y = f4_select(less, vector.y, best->vector.y);
    best->vector.z = f4_select(less, vector.z, best->vector.z);
}

static inline void test_edges(closest_vector *best, const wide_triangle *a, int i,
                              const wide_triangle *b, int j) {
    wide3 u = a->edge[i], v = b->edge[j], gap = sub3(b->corner[j], a->corner[i]);
    wide zero = f4_all(0);
    wide k = wide_mul(dot3(u, v), a->per_edge_sq[i]);
    wide foot = wide_mul(dot3(gap, u), a->per_edge_sq[i]);
    wide3 w = sub_scaled3(v, k, u), perpendicular = sub_scaled3(gap, foot, u);
    wide t = wide_div(dot3(perpendicular, w), wide_max(dot3(w, w), f4_all(LENGTH_SQ_MIN)));
    t = unit_clamp(wide_sub(zero, t));
    wide s = unit_clamp(wide_add(foot, wide_mul(k, t)));
    wide3 from = sub_scaled3(gap, s, u);
    t = unit_clamp(wide_sub(zero, wide_mul(dot3(from, v), b->per_edge_sq[j])));
    update_closest(best, add_scaled3(from, t, v), wide_less(f4_all(-1), zero));
}

/* Tests a vertex p over the face of a triangle. `side_sign`: 1 if p is a vertex of a, -1 if it is a
 * vertex of b. */
static inline void test_vertex_face(closest_vector *best, const wide_triangle *t, wide3 p,
                                    float side_sign) {
    wide zero = f4_all(0), one = f4_all(1);
    wide3 from = sub3(p, t->corner[0]);
    wide s = wide_mul(dot3(from, t->edge[0]), t->per_edge_sq[0]);
    wide3 perpendicular = sub_scaled3(from, s, t->edge[0]);
    wide r = wide_mul(dot3(perpendicular, t->w), t->per_ww), along = wide_sub(s, wide_mul(t->k, r));
    wide_mask inside = wide_and(wide_and(wide_less(zero, r), wide_less(zero, along)),
                                wide_and(wide_less(wide_add(r, along), one), t->has_face));
    wide3 normal_part = sub_scaled3(perpendicular, r, t->w);
    wide sign = f4_all(-side_sign);
    update_closest(best,
                   make3(wide_mul(sign, normal_part.x), wide_mul(sign, normal_part.y),
                         wide_mul(sign, normal_part.z)),
                   inside);
}

static inline closest_vector find_closest_vectors(const wide_triangle *a, const wide_triangle *b) {
    closest_vector best = {f4_all(FLT_MAX), broadcast3(0, 0, 0)};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            test_edges(&best, a, i, b, j);
    for (int i = 0; i < 3; i++) {
        test_vertex_face(&best, b, a->corner[i], 1);
        test_vertex_face(&best, a, b->corner[i], -1);
    }
    return best;
}

/* ---- rows ---- */

/* Computes the lowest and the highest of three heights above a plane. */
static inline void compute_height_range(wide3 normal, wide offset, const wide3 corner[3], wide *low,
                                        wide *high) {
    *low = wide_sub(project_min3(normal, corner), offset);
    *high = wide_sub(project_max3(normal, corner), offset);
}

/* Returns the lanes in which a is not above b, or one of them is NaN. */
static inline unsigned not_above(wide a, wide b) {
    return ~m4_bits(wide_less(b, a)) & 15;
}

void abuti_near_test_row(const near_space *space, const near_leaf *a, uint32_t i, near_leaf *b,
                         unsigned bits, near_row *row) {
    const float error = ROUNDING * (a->max_coordinate + b->max_coordinate),
                range = (float)(space->range * space->scale);
    const wide limit = f4_all(range + error), e = f4_all(error), minus_e = f4_all(-error);
    wide_triangle one;
    wide3 normal = broadcast_lane3(a->normal, i);
    wide low[2], high[2], length;
    broadcast_triangle(a->triangles.corner, i, one.corner);
    compute_height_range(b->normal, b->offset, one.corner, &low[0], &high[0]);
    compute_height_range(normal, broadcast_lane(a->offset, i), b->triangles.corner, &low[1],
                         &high[1]);
    wide gap = triangles_gap(one.corner, b->triangles.corner, &length);
    bits &= not_above(wide_max(low[0], low[1]), limit);
    bits &= not_above(wide_sub(b->min_height, high[0]), e);
    bits &= not_above(wide_sub(broadcast_lane(a->min_height, i), high[1]), e);
    bits &= not_above(gap, wide_add(wide_mul(limit, length), f4_all(GAP_UNDERFLOW)));
    row->near = row->may_intersect = 0;
    if (!bits)
        return;
    row->may_intersect = bits & not_above(wide_max(low[0], low[1]), e) &
                         not_above(minus_e, wide_min(high[0], high[1]));
    if (!b->is_prepared)
        triangle_prepare(&b->triangles);
    b->is_prepared = true;
    triangle_prepare(&one);
    closest_vector closest = find_closest_vectors(&one, &b->triangles);
    wide distance = wide_sqrt(closest.square);
    row->near = bits & not_above(distance, limit);
    row->is_certain = bits & m4_bits(wide_and(wide_less(f4_all(CERTAIN_DISTANCE * error), distance),
                                              wide_less(distance, f4_all(range - error))));
    wide angle_error = wide_add(wide_sqrt(wide_mul(f4_all(2 * error), distance)),
                                wide_mul(f4_all(CONE_TOLERANCE), distance));
    wide_mask may_be_minimum =
        wide_less(wide_sub(wide_mul(broadcast_lane(a->cosine, i), distance), angle_error),
                  dot3(closest.vector, broadcast_lane3(a->axis, i)));
    may_be_minimum =
        wide_and(may_be_minimum,
                 wide_less(wide_sub(wide_mul(broadcast_lane(a->min_facing_cosine, i), distance),
                                    angle_error),
                           dot3(closest.vector, normal)));
    may_be_minimum =
        wide_and(may_be_minimum, wide_less(dot3(closest.vector, b->axis),
                                           wide_sub(angle_error, wide_mul(b->cosine, distance))));
    may_be_minimum =
        wide_and(may_be_minimum,
                 wide_less(dot3(closest.vector, b->normal),
                           wide_sub(angle_error, wide_mul(b->min_facing_cosine, distance))));
    row->may_be_minimum = bits & m4_bits(may_be_minimum);
    float d[4];
    f4_store(d, distance);
    for (int k = 0; k < 4; k++)
        row->distance[k] = d[k] / space->scale;
    row->error = error / space->scale;
}
