/* How often a surface winds around a point, exactly.
 *
 * Problem: a surface without border (every directed edge is balanced by opposite ones) splits space
 * into regions, and around all points of one of them it winds the same whole number of times:
 * once inside a simple solid that faces outwards, minus once inside one that faces inwards, twice
 * where two such solids overlap. On the surface itself there is no such number.
 * Method: a ray parallel to an axis, which leaves the box of the mesh soonest, crosses the surface;
 * crossings count by the side that they come from. The ray is moved aside by (e, e^2), with e
 * smaller than any number, as in Edelsbrunner & Muecke 1990, "Simulation of Simplicity": then it
 * meets no vertex and no edge, and no triangle edge-on, and every crossing is one of the inside of
 * a triangle. Off the surface such a small step changes nothing. Boxes of nodes are tested in
 * floats, and none is missed that the closed ray meets.
 * Guarantee: all decisions are signs of determinants of degree two or three, which are exact; so
 * are the number, and whether the point is on the surface.
 *
 * A posed mesh has the vertices that abuti_motion_apply() gives, rounded as there. Its boxes are
 * not made: the ray goes into the frame of the hierarchy instead. With u = 2^-53 and M the rounded
 * matrix:
 *   - the rounded position of v is off from M v + t by 4u (|M| |v| + |t|) on each axis, where |M|
 *     |v| is at most 1.8 V if V bounds the coordinates of the mesh: by less than 8u (V + T);
 *   - a normalised quaternion is of length 1 within 4u, which makes the entries of its matrix wrong
 *     by less than 22u, roundings included: M' M (M' is M transposed) differs from 1 by 132u;
 *   - so a point x' of the posed triangle that is on the ray, and the point x of the same weights
 *     in the triangle at rest: M' (x' - t) differs from x by 132u sqrt(3) V + 14u (V + T);
 *   - M' (p - t) is rounded: by less than 12u (P + T), and less than that again in the frame.
 * All together less than 2^10 u times the sum of the three largest coordinates. M' e, the direction
 * of the ray, is a row of M and has no error.
 */
#include "bvh/cull.h"
#include "sign/sign.h"
#include "sign/strips_shared.h"

#include <math.h>

#define POSE_ERROR 0x1p-43

typedef struct walk {
    const abut_bvh *bvh;
    bool posed;
    abuti_motion motion;
    axis_ray ray;
    bvh_region region;
    bvh_ray_slabs slab; /* where posed */
    int64_t winding;
    bool on_surface;
    bool goes_on;      /* where the point is on the surface, whose triangles there count nothing */
    const bool *skips; /* by triangle; null if none is skipped */
} walk;

/* ---- triangles ---- */

static bool cross_leaf(walk *w, uint32_t leaf) {
    for (uint32_t i = 0; i < bvh_leaf_fill(w->bvh, leaf); i++) {
        const uint32_t triangle = w->bvh->order[leaf * BVH_WIDTH + i];
        if (w->skips && w->skips[triangle])
            continue;
        abut_triangle t = bvh_triangle(w->bvh->mesh, triangle);
        for (int k = 0; w->posed && k < 3; k++)
            t.corner[k] = abuti_motion_apply(&w->motion, t.corner[k]);
        int on_surface = 0;
        w->winding += triangle_cross(&w->ray, t, &on_surface);
        if (on_surface && !w->goes_on)
            return true;
    }
    return false;
}

/* ---- the walk ---- */

static void cross_all(walk *w) {
    uint32_t stack[BVH_STACK], used = 0;
    float entry[BVH_WIDTH];
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            if (cross_leaf(w, next & ~BVH_LEAF)) {
                w->on_surface = true;
                w->winding = 0;
                return;
            }
            continue;
        }
        const bvh_node *node = &w->bvh->nodes[next];
        unsigned met = !w->posed       ? bvh_region_boxes(&w->region, node)
                       : w->slab.is_usable ? bvh_ray_overlap_mask(&w->slab, node, INFINITY, entry)
                                       : 15;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (met >> slot & 1 && node->child[slot] != ABUT_NONE)
                stack[used++] = node->child[slot];
    }
}

/* When a ray from inside a box leaves it. */
static double exit_of(const box3 *box, vec3 from, vec3 direction) {
    double first = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        double d = v3_get(direction, axis);
        if (d != 0)
            first = real_min(first, ((d > 0 ? v3_get(box->hi, axis) : v3_get(box->lo, axis)) -
                                     v3_get(from, axis)) /
                                        d);
    }
    return first;
}

/* Any of the six directions would do; the shortest way out is likely to meet the least. `rows`:
 * what the axes of the world are in the mesh. */
static void choose_direction(walk *w, const box3 *box, vec3 from, const mat3 *rows) {
    double best = INFINITY;
    w->ray.axis = 0;
    w->ray.sense = 1;
    for (int axis = 0; axis < 3; axis++)
        for (int sense = -1; sense <= 1; sense += 2) {
            double out = exit_of(box, from, v3_scale(rows->row[axis], sense));
            if (out < best) {
                best = out;
                w->ray.axis = axis;
                w->ray.sense = sense;
            }
        }
}

/* Gets ready for a mesh where it is; false where the point is outside its box. */
static bool start_at_rest(walk *w) {
    static const mat3 identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const box3 *box = &w->bvh->mesh->bounds;
    if (!box_contains(*box, w->ray.from))
        return false;
    choose_direction(w, box, w->ray.from, &identity);
    double lo[3] = {w->ray.from.x, w->ray.from.y, w->ray.from.z}, hi[3] = {lo[0], lo[1], lo[2]};
    (w->ray.sense > 0 ? hi : lo)[w->ray.axis] = w->ray.sense * HUGE_VAL;
    abut_box ray = {{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
    w->region = bvh_region_of(w->bvh, &ray);
    return true;
}

/* Whether the posed box, with all that rounding may add, holds the point. */
static bool posed_box_holds(const walk *w, const mat3 *rows, double wrong) {
    const box3 *box = &w->bvh->mesh->bounds;
    vec3 middle = box_centre(*box), half = v3_sub(box->hi, middle);
    for (int axis = 0; axis < 3; axis++) {
        vec3 row = rows->row[axis];
        double at = v3_dot(row, middle) + v3_get(w->motion.translation, axis);
        double reach = fabs(row.x) * half.x + fabs(row.y) * half.y + fabs(row.z) * half.z;
        if (!(fabs(v3_get(w->ray.from, axis) - at) <= reach + wrong))
            return false;
    }
    return true;
}

/* The same for a posed mesh. */
static bool start_posed(walk *w, const abut_pose *motion) {
    static const mat3 identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const abut_mesh *mesh = w->bvh->mesh;
    w->motion = abuti_motion_of(motion);
    mat3 rows = w->motion.rotates ? w->motion.rotation : identity;
    vec3 t = w->motion.translation;
    double wrong =
        POSE_ERROR * (real_max(v3_max_abs(mesh->bounds.lo), v3_max_abs(mesh->bounds.hi)) +
                      v3_max_abs(t) + v3_max_abs(w->ray.from));
    if (!posed_box_holds(w, &rows, wrong))
        return false;
    mat3 back = m3_transpose(&rows);
    vec3 from = m3_apply(&back, v3_sub(w->ray.from, t));
    choose_direction(w, &mesh->bounds, from, &rows);
    vec3 origin = v3_scale(v3_sub(from, mesh->origin), w->bvh->scale);
    w->slab = bvh_ray_slabs_of(origin, v3_scale(rows.row[w->ray.axis], w->ray.sense),
                               wrong * w->bvh->scale);
    return true;
}

void abuti_sign_crossing(const abut_bvh *bvh, const abut_pose *pose_or_null, abut_vec3 point,
                         int64_t *winding, bool *on_surface) {
    walk w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.posed = pose_or_null != NULL;
    if (w.posed ? start_posed(&w, pose_or_null) : start_at_rest(&w))
        cross_all(&w);
    *winding = w.winding;
    *on_surface = w.on_surface;
}

/* A point seen from the query: what of it is across the ray, and length + part against the ray. */
typedef struct ray_view {
    double first, second, beside;
} ray_view;

/* Of a point straight ahead only the direction in which the ray is moved aside counts. */
static ray_view view_of(const walk *w, vec3 p) {
    vec3 d = v3_sub(p, w->ray.from);
    ray_view view = {v3_get(d, (w->ray.axis + 1) % 3), v3_get(d, (w->ray.axis + 2) % 3), 0};
    double against = -w->ray.sense * v3_get(d, w->ray.axis), length = v3_length(d);
    double across_sq = view.first * view.first + view.second * view.second;
    view.beside = against >= 0 ? length + against : across_sq / (length - against);
    if (across_sq == 0 && against < 0)
        view.first = -1;
    return view;
}

/* The solid angle of the strip from an edge, run along from `to` to `from`, to infinity against the
 * ray: that of a triangle with one corner there (Van Oosterom & Strackee 1983). For unit vectors c
 * their |a| |b| + a . b + (a . c) |b| + (b . c) |a| is (|a| + a . c) (|b| + b . c) plus the product
 * of what is across c, which loses no digits. On which side of the ray the edge is, is asked as for
 * triangles, so that both agree where it is on neither. */
static double strip_angle(const walk *w, vec3 from, vec3 to) {
    int side = w->ray.sense * side_of_edge(w->ray.axis, from, to, w->ray.from);
    ray_view a = view_of(w, to), b = view_of(w, from);
    double volume = a.first * b.second - a.second * b.first;
    double rest = a.beside * b.beside + (a.first * b.first + a.second * b.second);
    return side * 2 * atan2(fabs(volume), rest);
}

/* The strips against the ray from all edges of the border close the surface, and the ray crosses
 * none of them and ends outside: what it crosses is the winding number of the whole, and what the
 * strips contribute is known (Martens & Bessmeltsev 2024, "One-shot method for computing
 * generalized winding numbers").
 */
static double strip_sum(const walk *w, const uint32_t (*border)[2], uint32_t border_count) {
    double sum = 0;
    for (uint32_t i = 0; i < border_count; i++) {
        vec3 from = abuti_mesh_position(w->bvh->mesh, border[i][0]);
        vec3 to = abuti_mesh_position(w->bvh->mesh, border[i][1]);
        if (w->posed) {
            from = abuti_motion_apply(&w->motion, from);
            to = abuti_motion_apply(&w->motion, to);
        }
        sum += strip_angle(w, from, to);
    }
    return sum;
}

double abuti_sign_crossing_solids(const abut_bvh *bvh, const bvh_interior *interior,
                                  const abut_pose *pose_or_null, abut_vec3 point,
                                  bool *on_surface) {
    walk w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.posed = pose_or_null != NULL;
    w.skips = interior->is_sheet;
    *on_surface = false;
    if (!interior->has_solids || !(w.posed ? start_posed(&w, pose_or_null) : start_at_rest(&w)))
        return 0;
    cross_all(&w);
    *on_surface = w.on_surface;
    const double strips =
        strip_sum(&w, (const uint32_t(*)[2])interior->border, interior->border_count);
    return (double)w.winding - strips / (4 * 3.14159265358979323846);
}

double abuti_sign_strips(const abut_bvh *bvh, abut_vec3 point, const uint32_t (*border)[2],
                         uint32_t border_count) {
    walk w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray = (axis_ray){point, 0, -1};
    w.goes_on = true;
    abut_box row = {{-HUGE_VAL, point.y, point.z}, point};
    w.region = bvh_region_of(bvh, &row);
    cross_all(&w);
    half_angles sum = {1, 0, 0};
    for (uint32_t i = 0; i < border_count; i++) {
        vec3 from = abuti_mesh_position(bvh->mesh, border[i][0]),
             to = abuti_mesh_position(bvh->mesh, border[i][1]);
        half_angles_add_strip(&sum, side_of_edge(0, from, to, point), from, to, point);
    }
    return strips_winding((int)w.winding, &sum);
}

bool abuti_sign_touches(const abut_bvh *bvh, abut_vec3 point) {
    walk w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.ray.sense = 1;
    abut_box here = {point, point};
    w.region = bvh_region_of(bvh, &here);
    cross_all(&w);
    return w.on_surface;
}
