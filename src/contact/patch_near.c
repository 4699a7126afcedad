/* One triangle against four in floats: which are within the range, and which may hold a local
 * minimum of the distance.
 *
 * Guarantee: conservative. Let e bound the rounding error of distances and heights: 16 roundings of
 * the largest coordinate. What is further than the range by more than e is dropped. A pair of
 * points that is at most e further apart than the closest points, which are d apart, differs from
 * these in direction by at most sqrt(2 e / d): both are in the convex set of all differences of
 * points of the two triangles, so the scalar product of both differences is at least d^2. At a
 * local minimum the direction lies in the cone of the normals around each triangle (patch_skin.c);
 * a pair is dropped if it does not, by more than that angle and CONE_TOLERANCE. */
#include "contact/patch_near.h"

#include <math.h>

#define ROUNDING 0x1p-20f      /* of the largest coordinate: error of distances and heights */
#define CONE_TOLERANCE 1e-4f   /* beyond the tolerances of a minimum in doubles */
#define CERTAIN_DISTANCE 16.0f /* errors: smaller distances say nothing of directions */

static void fill_face(const patch_body *body, const near_space *space, uint32_t side, uint32_t face,
                      near_face *f) {
    const bvh_interior *interior = space->interior[side];
    f->face = face;
    f->corner = body->skin->corner + 3 * (size_t)face;
    for (int k = 0; k < 3; k++)
        f->at.corner[k] = patch_true(body, f->corner[k]);
    f->normal = abuti_unit_normal(f->at.corner[0], f->at.corner[1], f->at.corner[2]);
    f->two_sided = interior->is_sheet ? interior->is_sheet[face] : !interior->has_solids;
}

static void store_lane(float to[3][4], uint32_t lane, vec3 v) {
    to[0][lane] = (float)v.x;
    to[1][lane] = (float)v.y;
    to[2][lane] = (float)v.z;
}

static wide3 load3(const float from[3][4]) {
    return make3(f4_load(from[0]), f4_load(from[1]), f4_load(from[2]));
}

void abuti_near_leaf(const patch_body *body, const near_space *space, uint32_t side, uint32_t leaf,
                     near_leaf *out) {
    float corner[3][3][4], normal[3][4], axis[3][4], cosine[4], behind[4], facing[4];
    uint32_t fill = bvh_leaf_fill(body->bvh, leaf);
    double reach = 0;
    out->valid = 0;
    out->prepared = false;
    for (uint32_t lane = 0; lane < BVH_WIDTH; lane++) {
        near_face *f = &out->face[lane];
        uint32_t place = leaf * BVH_WIDTH + (lane < fill ? lane : 0);
        fill_face(body, space, side, body->bvh->order[place], f);
        bool valid = lane < fill && !abuti_is_collapsed(f->corner) && v3_max_abs(f->normal) > 0;
        const patch_cone *cone = &body->skin->cones[f->face];
        vec3 way = v3(cone->axis[0], cone->axis[1], cone->axis[2]);
        out->valid |= (uint32_t)valid << lane;
        for (int k = 0; k < 3; k++) {
            vec3 at = v3_scale(v3_sub(f->at.corner[k], space->origin), space->scale);
            reach = real_max(reach, v3_max_abs(at));
            store_lane(corner[k], lane, at);
        }
        store_lane(normal, lane, f->normal);
        store_lane(axis, lane, body->turns ? m3_apply(&body->turn, way) : way);
        cosine[lane] = f->two_sided ? -2 : cone->cosine;
        facing[lane] = f->two_sided ? -2 : 0;
        behind[lane] = -(float)((f->two_sided ? space->range : space->touch) * space->scale);
    }
    for (int k = 0; k < 3; k++)
        out->four.corner[k] = load3(corner[k]);
    out->normal = load3(normal);
    out->offset = dot3(out->normal, out->four.corner[0]);
    out->axis = load3(axis);
    out->cosine = f4_load(cosine);
    out->behind = f4_load(behind);
    out->facing = f4_load(facing);
    out->reach = (float)reach;
}

static inline wide one_lane(wide from, uint32_t lane) {
    float all[4];
    f4_store(all, from);
    return f4_all(all[lane]);
}

static inline wide3 one_lane3(wide3 from, uint32_t lane) {
    return make3(one_lane(from.x, lane), one_lane(from.y, lane), one_lane(from.z, lane));
}

/* ---- distances, as triangles_sq() has them, with the vector from a to b ---- */

typedef struct near_gap {
    wide square;
    wide3 way;
} near_gap;

static inline void shorten(near_gap *best, wide3 way, wide_mask mask) {
    wide square = f4_select(mask, dot3(way, way), f4_all(FLT_MAX));
    wide_mask less = wide_less(square, best->square);
    best->square = f4_select(less, square, best->square);
    best->way.x = f4_select(less, way.x, best->way.x);
    best->way.y = f4_select(less, way.y, best->way.y);
    best->way.z = f4_select(less, way.z, best->way.z);
}

static inline void shorten_by_edges(near_gap *best, const wide_triangle *a, int i,
                                    const wide_triangle *b, int j) {
    wide3 u = a->edge[i], v = b->edge[j], gap = sub3(b->corner[j], a->corner[i]);
    wide zero = f4_all(0);
    wide k = wide_mul(dot3(u, v), a->per_edge_sq[i]);
    wide foot = wide_mul(dot3(gap, u), a->per_edge_sq[i]);
    wide3 w = sub_scaled3(v, k, u), beside = sub_scaled3(gap, foot, u);
    wide t = wide_div(dot3(beside, w), wide_max(dot3(w, w), f4_all(LENGTH_SQ_MIN)));
    t = unit_clamp(wide_sub(zero, t));
    wide s = unit_clamp(wide_add(foot, wide_mul(k, t)));
    wide3 from = sub_scaled3(gap, s, u);
    t = unit_clamp(wide_sub(zero, wide_mul(dot3(from, v), b->per_edge_sq[j])));
    shorten(best, add_scaled3(from, t, v), wide_less(f4_all(-1), zero));
}

/* `turn`: 1 if the point is of a, -1 if it is of b. */
static inline void shorten_over_face(near_gap *best, const wide_triangle *t, wide3 p, float turn) {
    wide zero = f4_all(0), one = f4_all(1);
    wide3 from = sub3(p, t->corner[0]);
    wide s = wide_mul(dot3(from, t->edge[0]), t->per_edge_sq[0]);
    wide3 beside = sub_scaled3(from, s, t->edge[0]);
    wide r = wide_mul(dot3(beside, t->w), t->per_ww), along = wide_sub(s, wide_mul(t->k, r));
    wide_mask inside = wide_and(wide_and(wide_less(zero, r), wide_less(zero, along)),
                                wide_and(wide_less(wide_add(r, along), one), t->has_face));
    wide3 rest = sub_scaled3(beside, r, t->w);
    wide sign = f4_all(-turn);
    shorten(best, make3(wide_mul(sign, rest.x), wide_mul(sign, rest.y), wide_mul(sign, rest.z)),
            inside);
}

static inline near_gap triangles_gap_vector(const wide_triangle *a, const wide_triangle *b) {
    near_gap best = {f4_all(FLT_MAX), broadcast3(0, 0, 0)};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            shorten_by_edges(&best, a, i, b, j);
    for (int i = 0; i < 3; i++) {
        shorten_over_face(&best, b, a->corner[i], 1);
        shorten_over_face(&best, a, b->corner[i], -1);
    }
    return best;
}

/* ---- rows ---- */

/* The least and the highest of three heights. */
static inline void find_heights(wide3 normal, wide offset, const wide3 corner[3], wide *low,
                                wide *high) {
    *low = wide_sub(project_min3(normal, corner), offset);
    *high = wide_sub(project_max3(normal, corner), offset);
}

/* Lanes where a is not above b; also where one is no number. */
static inline unsigned not_above(wide a, wide b) {
    return ~m4_bits(wide_less(b, a)) & 15;
}

void abuti_near_row(const near_space *space, const near_leaf *a, uint32_t i, near_leaf *b,
                    unsigned bits, near_row *row) {
    const float error = ROUNDING * (a->reach + b->reach),
                range = (float)(space->range * space->scale);
    const wide limit = f4_all(range + error), e = f4_all(error), minus_e = f4_all(-error);
    wide_triangle one;
    wide3 normal = one_lane3(a->normal, i);
    wide low[2], high[2], length;
    broadcast_triangle(a->four.corner, i, one.corner);
    find_heights(b->normal, b->offset, one.corner, &low[0], &high[0]);
    find_heights(normal, one_lane(a->offset, i), b->four.corner, &low[1], &high[1]);
    wide gap = triangles_gap(one.corner, b->four.corner, &length);
    bits &= not_above(wide_max(low[0], low[1]), limit);
    bits &= not_above(wide_sub(b->behind, high[0]), e);
    bits &= not_above(wide_sub(one_lane(a->behind, i), high[1]), e);
    bits &= not_above(gap, wide_add(wide_mul(limit, length), f4_all(GAP_UNDERFLOW)));
    row->near = row->crosses = 0;
    if (!bits)
        return;
    row->crosses = bits & not_above(wide_max(low[0], low[1]), e) &
                   not_above(minus_e, wide_min(high[0], high[1]));
    if (!b->prepared)
        triangle_prepare(&b->four);
    b->prepared = true;
    triangle_prepare(&one);
    near_gap closest = triangles_gap_vector(&one, &b->four);
    wide distance = wide_sqrt(closest.square);
    row->near = bits & not_above(distance, limit);
    row->certain = bits & m4_bits(wide_and(wide_less(f4_all(CERTAIN_DISTANCE * error), distance),
                                           wide_less(distance, f4_all(range - error))));
    wide slack = wide_add(wide_sqrt(wide_mul(f4_all(2 * error), distance)),
                          wide_mul(f4_all(CONE_TOLERANCE), distance));
    wide_mask lowest = wide_less(wide_sub(wide_mul(one_lane(a->cosine, i), distance), slack),
                                 dot3(closest.way, one_lane3(a->axis, i)));
    lowest = wide_and(lowest, wide_less(wide_sub(wide_mul(one_lane(a->facing, i), distance), slack),
                                        dot3(closest.way, normal)));
    lowest = wide_and(lowest, wide_less(dot3(closest.way, b->axis),
                                        wide_sub(slack, wide_mul(b->cosine, distance))));
    lowest = wide_and(lowest, wide_less(dot3(closest.way, b->normal),
                                        wide_sub(slack, wide_mul(b->facing, distance))));
    row->lowest = bits & m4_bits(lowest);
    float d[4], tilt[4], way[3][4];
    f4_store(d, distance);
    f4_store(tilt, slack);
    f4_store(way[0], closest.way.x);
    f4_store(way[1], closest.way.y);
    f4_store(way[2], closest.way.z);
    for (int k = 0; k < 4; k++) {
        row->distance[k] = d[k] / space->scale;
        row->slack[k] = tilt[k] / d[k];
        row->way[k] = v3_scale(v3(way[0][k], way[1][k], way[2][k]), -1.0 / d[k]);
    }
    row->error = error / space->scale;
}
