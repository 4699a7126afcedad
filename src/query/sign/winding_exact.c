/* The winding number of a surface around a point, exactly.
 *
 * Problem: a surface without boundary (every directed edge is balanced by opposite ones) splits
 * space into regions, and its winding number is the same integer around all points of a region: 1
 * inside a simple solid that faces outwards, -1 inside one that faces inwards, 2 where two such
 * solids overlap. On the surface itself it is undefined. Method: a ray parallel to an axis, in the
 * direction in which it leaves the box of the mesh soonest, crosses the surface; crossings count
 * with the sign of their side. The ray is shifted symbolically by (e, e^2), with e smaller than any
 * number, as in Edelsbrunner & Muecke 1990, "Simulation of Simplicity": then it intersects no
 * vertex, no edge and no triangle edge-on, and every crossing is in the interior of a triangle. Off
 * the surface such a small shift changes nothing. Boxes of nodes are tested in floats,
 * conservatively for the closed ray. Guarantee: all decisions are signs of determinants of degree
 * two or three, which are exact; so are the number, and whether the point is on the surface.
 *
 * A posed mesh has the vertices that abuti_motion_apply() computes, rounded as there. Its boxes are
 * not computed: the ray is transformed to the frame of the BVH instead. With u = 2^-53 and M the
 * rounded matrix:
 *   - the rounded position of v differs from M v + t by 4u (|M| |v| + |t|) on each axis, where |M|
 *     |v| is at most 1.8 V if V bounds the coordinates of the mesh: by less than 8u (V + T);
 *   - a normalised quaternion has length 1 within 4u, so the entries of its matrix have errors
 *     below 22u, roundings included: M' M (M' is M transposed) differs from 1 by 132u;
 *   - so for a point x' of the posed triangle that is on the ray, and the point x of the same
 *     weights in the triangle at rest, M' (x' - t) differs from x by 132u sqrt(3) V + 14u (V + T);
 *   - M' (p - t) is rounded: by less than 12u (P + T), and less than that again in the frame.
 *     Together less than 2^10 u times the sum of the three largest coordinates. M' e, the direction
 *     of the ray, is a row of M and has no error.
 */
#include "bvh/cull.h"
#include "sign/sign.h"
#include "sign/strips_shared.h"

#include <math.h>

#define POSE_ERROR 0x1p-43

typedef struct crossing_query {
    const abut_bvh *bvh;
    bool is_posed;
    abuti_motion motion;
    axis_ray ray;
    bvh_region region;
    bvh_ray_slabs slab; /* if posed */
    int64_t winding;
    bool on_surface;
    bool continues; /* continues if the point is on the surface; the triangles there count 0 */
    const bool *is_skipped; /* by triangle; null if none is skipped */
} crossing_query;

/* ---- triangles ---- */

static bool add_leaf_crossings(crossing_query *w, uint32_t leaf) {
    for (uint32_t i = 0; i < bvh_leaf_fill(w->bvh, leaf); i++) {
        const uint32_t triangle = w->bvh->order[leaf * BVH_WIDTH + i];
        if (w->is_skipped && w->is_skipped[triangle])
            continue;
        abut_triangle t = bvh_triangle(w->bvh->mesh, triangle);
        for (int k = 0; w->is_posed && k < 3; k++)
            t.corner[k] = abuti_motion_apply(&w->motion, t.corner[k]);
        int on_surface = 0;
        w->winding += triangle_cross(&w->ray, t, &on_surface);
        if (on_surface && !w->continues)
            return true;
    }
    return false;
}

/* ---- traversal ---- */

static void traverse(crossing_query *w) {
    uint32_t stack[BVH_STACK], used = 0;
    float entry[BVH_WIDTH];
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            if (add_leaf_crossings(w, next & ~BVH_LEAF)) {
                w->on_surface = true;
                w->winding = 0;
                return;
            }
            continue;
        }
        const bvh_node *node = &w->bvh->nodes[next];
        unsigned met = !w->is_posed        ? bvh_region_boxes(&w->region, node)
                       : w->slab.is_usable ? bvh_ray_overlap_mask(&w->slab, node, INFINITY, entry)
                                           : 15;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (met >> slot & 1 && node->child[slot] != ABUT_NONE)
                stack[used++] = node->child[slot];
    }
}

/* The parameter at which a ray from inside a box leaves it. */
static double exit_parameter(const box3 *box, vec3 from, vec3 direction) {
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

/* Any of the six directions is correct; the shortest exit probably crosses the fewest boxes. `rows`
 * are the world axes in the mesh. */
static void choose_direction(crossing_query *w, const box3 *box, vec3 from, const mat3 *rows) {
    double best = INFINITY;
    w->ray.axis = 0;
    w->ray.sense = 1;
    for (int axis = 0; axis < 3; axis++)
        for (int sense = -1; sense <= 1; sense += 2) {
            double out = exit_parameter(box, from, v3_scale(rows->row[axis], sense));
            if (out < best) {
                best = out;
                w->ray.axis = axis;
                w->ray.sense = sense;
            }
        }
}

/* Initialises a query for a mesh at rest. Returns false if the point is outside its box. */
static bool init_at_rest(crossing_query *w) {
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

/* Whether the posed box, enlarged by rounding errors, contains the point. */
static bool posed_box_contains(const crossing_query *w, const mat3 *rows, double error) {
    const box3 *box = &w->bvh->mesh->bounds;
    vec3 middle = box_centre(*box), half = v3_sub(box->hi, middle);
    for (int axis = 0; axis < 3; axis++) {
        vec3 row = rows->row[axis];
        double at = v3_dot(row, middle) + v3_get(w->motion.translation, axis);
        double reach = fabs(row.x) * half.x + fabs(row.y) * half.y + fabs(row.z) * half.z;
        if (!(fabs(v3_get(w->ray.from, axis) - at) <= reach + error))
            return false;
    }
    return true;
}

/* The same for a posed mesh. */
static bool init_posed(crossing_query *w, const abut_pose *motion) {
    static const mat3 identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const abut_mesh *mesh = w->bvh->mesh;
    w->motion = abuti_motion_of(motion);
    mat3 rows = w->motion.rotates ? w->motion.rotation : identity;
    vec3 t = w->motion.translation;
    double error =
        POSE_ERROR * (real_max(v3_max_abs(mesh->bounds.lo), v3_max_abs(mesh->bounds.hi)) +
                      v3_max_abs(t) + v3_max_abs(w->ray.from));
    if (!posed_box_contains(w, &rows, error))
        return false;
    mat3 back = m3_transpose(&rows);
    vec3 from = m3_apply(&back, v3_sub(w->ray.from, t));
    choose_direction(w, &mesh->bounds, from, &rows);
    vec3 origin = v3_scale(v3_sub(from, mesh->origin), w->bvh->scale);
    w->slab = bvh_ray_slabs_of(origin, v3_scale(rows.row[w->ray.axis], w->ray.sense),
                               error * w->bvh->scale);
    return true;
}

void abuti_sign_crossing(const abut_bvh *bvh, const abut_pose *pose_or_null, abut_vec3 point,
                         int64_t *winding, bool *on_surface) {
    crossing_query w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.is_posed = pose_or_null != NULL;
    if (w.is_posed ? init_posed(&w, pose_or_null) : init_at_rest(&w))
        traverse(&w);
    *winding = w.winding;
    *on_surface = w.on_surface;
}

/* The winding number of a surface with these boundary edges, after traverse(). */
static double add_strips(const crossing_query *w, const uint32_t (*border)[2],
                         uint32_t border_count) {
    half_angles sum = {1, 0, 0};
    for (uint32_t i = 0; i < border_count; i++) {
        vec3 from = abuti_mesh_position(w->bvh->mesh, border[i][0]);
        vec3 to = abuti_mesh_position(w->bvh->mesh, border[i][1]);
        if (w->is_posed) {
            from = abuti_motion_apply(&w->motion, from);
            to = abuti_motion_apply(&w->motion, to);
        }
        half_angles_add_strip(&sum, &w->ray, from, to, strip_end_of(&w->ray, from, w->bvh->scale),
                              strip_end_of(&w->ray, to, w->bvh->scale));
    }
    return strips_winding((int)w->winding, &sum);
}

double abuti_sign_crossing_solids(const abut_bvh *bvh, const bvh_interior *interior,
                                  const abut_pose *pose_or_null, abut_vec3 point,
                                  bool *on_surface) {
    crossing_query w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.is_posed = pose_or_null != NULL;
    w.is_skipped = interior->is_sheet;
    *on_surface = false;
    if (!interior->has_solids || !(w.is_posed ? init_posed(&w, pose_or_null) : init_at_rest(&w)))
        return 0;
    traverse(&w);
    *on_surface = w.on_surface;
    return add_strips(&w, (const uint32_t(*)[2])interior->border, interior->border_count);
}

bool abuti_sign_boundary_inside(const abut_bvh *bvh, vec3 point) {
    const box3 *box = &bvh->mesh->bounds;
    const boundary_view boundary = abuti_sign_boundary_view(bvh);
    const double facing = bvh_sign_of(bvh)->facing;
    crossing_query w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.continues = true;
    if (axis_ray_along_x(&w.ray, box->lo, box->hi)) {
        const abut_box row = {{-HUGE_VAL, point.y, point.z}, point};
        w.region = bvh_region_of(bvh, &row);
        traverse(&w);
    }
    return boundary_inside(&boundary, &w.ray, (int)w.winding, facing);
}

bool abuti_sign_touches(const abut_bvh *bvh, abut_vec3 point) {
    crossing_query w;
    memset(&w, 0, sizeof w);
    w.bvh = bvh;
    w.ray.from = point;
    w.ray.sense = 1;
    abut_box here = {point, point};
    w.region = bvh_region_of(bvh, &here);
    traverse(&w);
    return w.on_surface;
}
