/* Measures a region of the overlap along a normal: penetration depth and candidate contact points.
 *
 * Depth at a position across the normal: the distance along the normal from the lowest point of a
 * to the highest point of b. In a plain region the triangles inside the other body determine both,
 * with their true planes instead of those of the skins. If the bodies have passed through each
 * other (both sides of a component are inside the other body), all triangles of both bodies
 * determine them, or two rays if there are more than MAX_PROJECTED_FACES triangles.
 *
 * Candidates: the outermost points of the contour, measured slightly inwards, because rounding
 * errors decide at a face along the normal; the lowest and outermost inside vertices of a; the
 * highest and outermost inside vertices of b. patch_reduce.c keeps a few of them. */
#include "contact/patch_measure.h"

#include "geom/closest_shared.h"
#include "ray/ray.h"

#include <math.h>
#include <string.h>

#define RAY_STEP 1e-9           /* of the body: from a hit to the start of the next ray */
#define BOUNDARY_COSINE 0.7     /* between the normal and the inward direction at a boundary edge */
#define INSET 0.02              /* of the distance from the contour to its centre */
#define DEPTH_TOLERANCE 2e-3    /* of the depth: candidates within it count as deepest */
#define VERTEX_DISTANCE 1e-3    /* of the contour: a nearer vertex identifies a crossing */
#define POSITION_TOLERANCE 1e-6 /* of the contour: nearer positions and heights count as equal */

enum {
    MAX_PROJECTED_FACES = 8192, /* of both bodies: with more triangles, rays are used */
    MAX_RAY_HITS = 16           /* of one line with a body */
};
_Static_assert(PATCH_DIRECTIONS + 2 * (PATCH_DIRECTIONS + 1) < PATCH_CANDIDATES,
               "contour, vertices of both bodies, and the deepest point");

/* ---- rays ---- */

bool abuti_measure_exit_distance(const patch_body *body, vec3 from, vec3 direction,
                                 double *distance) {
    const abut_mesh *mesh = body->bvh->mesh;
    if (body->surface.is_rotated) {
        mat3 back = m3_transpose(&body->surface.rotation);
        from = m3_apply(&back, v3_sub(from, body->surface.shift));
        direction = m3_apply(&back, direction);
    }
    from = v3_add(from, mesh->origin);
    for (int backward = 0; backward < 2; backward++) {
        double travelled = 0;
        for (int hit_count = 0; hit_count < MAX_RAY_HITS; hit_count++) {
            abut_ray ray = {v3_along(from, backward ? -travelled : travelled, direction),
                            backward ? v3_scale(direction, -1) : direction};
            const abut_ray_hit hit = abuti_ray_first(body->bvh, &ray, HUGE_VAL);
            if (hit.triangle == ABUT_NONE)
                break;
            abut_triangle t = bvh_triangle(mesh, hit.triangle);
            vec3 n = v3_cross(v3_sub(t.corner[1], t.corner[0]), v3_sub(t.corner[2], t.corner[0]));
            travelled += hit.parameter;
            if (v3_dot(n, direction) * (body->skin->is_reversed ? -1 : 1) > 0) {
                *distance = backward ? -travelled : travelled;
                return true;
            }
            travelled += RAY_STEP * body->skin->size;
        }
    }
    return false;
}

/* Returns whether the body of a point ends at the point: at a vertex, or at a boundary edge of a
 * sheet if the sheet leaves the edge along the normal. */
static bool ends_own_body(const patch_measurement *m, const patch_point *point) {
    const patch_body *body = &m->work->body[point->side];
    const uint32_t *faces;
    if (point->kind == ABUT_CONTACT_VERTEX)
        return true;
    if (!m->work->is_sheet_edge || point->element == ABUT_NONE ||
        abuti_edge_faces(&body->skin->view, point->element, &faces) != 1)
        return false;
    const uint32_t *ends = body->skin->view.edges + 2 * (size_t)point->element;
    const vec3 from = patch_position(body, ends[0]),
               along = v3_sub(patch_position(body, ends[1]), from);
    const vec3 in = v3_normalise(
        v3_cross(v3_cross(along, v3_sub(patch_face_centroid(body, faces[0]), from)), along));
    return v3_dot(in, m->normal) * (point->side ? -1 : 1) > BOUNDARY_COSINE;
}

/* Computes the lower end of a and the upper end of b by rays from a point. The body of `point` may
 * end at `position`. */
static bool measure_by_rays(const patch_measurement *m, vec3 from, vec3 position,
                            const patch_point *point, double *low, double *high) {
    const double at = v3_dot(from, m->normal), end = v3_dot(position, m->normal);
    const bool ends = ends_own_body(m, point);
    double down = at - end, up = end - at;
    if ((!(ends && point->side == 0) &&
         !abuti_measure_exit_distance(&m->work->body[0], from, v3_scale(m->normal, -1), &down)) ||
        (!(ends && point->side == 1) &&
         !abuti_measure_exit_distance(&m->work->body[1], from, m->normal, &up)))
        return false;
    *low = at - down;
    *high = at + up;
    return true;
}

/* ---- candidates ---- */

/* Returns the depth that a candidate must exceed if it is added only for its depth. Of candidates
 * that are about equally deep, as along the ridge of a roof, the one with the lowest key is kept,
 * so the limit is lower by merge_distance. */
static double depth_to_exceed(const patch_measurement *m) {
    return m->deepest > m->plain_deepest + m->merge_distance ? m->deepest - m->merge_distance
                                                             : m->deepest;
}

/* Returns whether a candidate replaces the one that was added only for its depth. */
static bool replaces_deepest(const patch_measurement *m, double depth, const patch_point *point) {
    const patch_point *kept = &m->found[m->plain_count].point;
    if (m->count == m->plain_count || kept->depth < real_max(m->deepest, depth) - m->merge_distance)
        return depth > m->deepest;
    return depth > depth_to_exceed(m) && patch_point_key(point) < patch_point_key(kept);
}

/* Adds a candidate that is measured at a point of the frame and reported at `position`. With
 * only_deeper, only the deepest one is kept. */
static void add_candidate_at(patch_measurement *m, vec3 at, patch_column column, vec3 position,
                             const patch_point *point) {
    double u = v3_dot(at, m->tangent[0]), v = v3_dot(at, m->tangent[1]), h = v3_dot(at, m->normal);
    double low, high;
    if (!(m->uses_rays
              ? measure_by_rays(m, at, position, point, &low, &high)
              : abuti_patch_find_heights(&m->work->projection, u, v, column, h, &low, &high)))
        return;
    if (m->only_deeper && !replaces_deepest(m, high - low, point)) {
        m->deepest = real_max(m->deepest, high - low);
        return;
    }
    assert(m->count < PATCH_CANDIDATES || (m->only_deeper && m->plain_count < PATCH_CANDIDATES));
    patch_candidate *c = &m->found[m->only_deeper ? m->plain_count : m->count];
    m->count = m->only_deeper ? m->plain_count + 1 : m->count + 1;
    c->point = *point;
    c->u = u = v3_dot(position, m->tangent[0]);
    c->v = v = v3_dot(position, m->tangent[1]);
    c->point.depth = high - low;
    c->point.normal = v3(0, 0, 0);
    vec3 across = v3_add(v3_scale(m->tangent[0], u), v3_scale(m->tangent[1], v));
    c->point.at = v3_along(across, 0.5 * (low + high), m->normal);
    m->deepest = real_max(m->deepest, c->point.depth);
}

/* Adds a candidate at a point. A sheet may end on a face along the normal, so it is measured
 * slightly inwards. */
static void add_candidate(patch_measurement *m, vec3 at, const patch_point *point) {
    vec3 from = m->work->is_sheet_edge
                    ? v3_along(at, POSITION_TOLERANCE, v3_sub(m->region->centre, at))
                    : at;
    add_candidate_at(m, from, point->side ? PATCH_COLUMN_BELOW : PATCH_COLUMN_ABOVE, at, point);
}

/* Returns whether an edge is between two coplanar triangles. */
static bool is_flat_edge(const patch_body *body, uint32_t edge) {
    const uint32_t *faces;
    return abuti_edge_faces(&body->skin->view, edge, &faces) == 2 &&
           v3_dot(patch_face_normal(body, faces[0]), patch_face_normal(body, faces[1])) >
               PATCH_SAME_COSINE;
}

patch_point abuti_patch_snap_crossing(const patch_work *work, patch_point crossing, uint32_t face,
                                      double radius) {
    for (uint32_t side = 0; side < 2; side++) {
        const patch_body *body = &work->body[side];
        const bool is_edge = side == crossing.side;
        if (!is_edge && face == ABUT_NONE)
            continue;
        const uint32_t *near = is_edge ? body->skin->view.edges + 2 * (size_t)crossing.element
                                       : body->skin->corner + 3 * (size_t)face;
        for (int k = 0; k < (is_edge ? 2 : 3); k++) {
            const vec3 offset = v3_sub(patch_position(body, near[k]), crossing.at);
            if (v3_length_sq(offset) < radius * radius)
                return (patch_point){.at = crossing.at,
                                     .depth = crossing.depth,
                                     .side = side,
                                     .kind = ABUT_CONTACT_VERTEX,
                                     .element = near[k]};
        }
    }
    return crossing;
}

/* Returns the crossing of the skins, slightly inwards. */
static vec3 move_inwards(const patch_measurement *m, vec3 at) {
    vec3 in = v3_sub(m->centre, at);
    double skin = 1.5 * m->work->body[0].surface.skin_width, length = v3_length(in);
    return v3_along(at, skin < length ? skin / length : 0, in);
}

/* Returns whether one of several triangles belongs to the wall that is measured. */
static bool has_wall_face(const patch_measurement *m, uint32_t side, const uint32_t *faces,
                          uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (v3_dot(patch_face_normal(&m->work->body[side], faces[i]), m->normal) * (side ? 1 : -1) >
            m->work->projection.wall_cosine)
            return true;
    return false;
}

/* Returns whether a crossing is measured. For a wall, only those of its triangles are. */
static bool is_crossing_measured(const patch_measurement *m, const patch_crossing *c) {
    const uint32_t *faces;
    if (!m->is_wall || has_wall_face(m, !c->side, &c->face, 1))
        return true;
    uint32_t count = abuti_edge_faces(&m->work->body[c->side].skin->view, c->edge, &faces);
    return has_wall_face(m, c->side, faces, count);
}

/* The same for an inside vertex. */
static bool is_vertex_measured(const patch_measurement *m, uint32_t side, uint32_t vertex) {
    const abut_topology_arrays *view = &m->work->body[side].skin->view;
    const uint32_t begin = view->vertex_face_begin[vertex];
    return !m->is_wall || has_wall_face(m, side, view->vertex_faces + begin,
                                        view->vertex_face_begin[vertex + 1] - begin);
}

/* Adds the outermost points of the contour: in eight directions, or in 16 if more than four points
 * are kept. Crossings of edges between coplanar triangles, where the contour has no corner, come
 * last. */
static void add_contour_points(patch_measurement *m) {
    const patch_region *r = m->region;
    vec3 sum = v3(0, 0, 0);
    uint32_t crossing_count = 0;
    patch_candidate found[PATCH_DIRECTIONS];
    patch_outermost o;
    const double snap_radius =
        real_max(VERTEX_DISTANCE * r->length, 3 * m->work->body[0].surface.skin_width);
    abuti_patch_init_outermost(&o, m->max_points > 4 ? PATCH_DIRECTIONS : PATCH_DIRECTIONS / 2);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = r->points.begin; i < r->points.end; i++) {
            const patch_crossing *c = &m->work->crossings[m->work->region_crossings[i]];
            vec3 p = v3_sub(c->at, r->centre);
            double u = v3_dot(p, m->tangent[0]), v = v3_dot(p, m->tangent[1]);
            if (!is_crossing_measured(m, c))
                continue;
            if (!pass) {
                sum = v3_add(sum, c->at);
                crossing_count++;
            }
            if (!abuti_patch_extend_outermost(&o, u, v) || !pass)
                continue;
            const patch_point crossing = {.at = c->at,
                                          .side = c->side,
                                          .kind = ABUT_CONTACT_CROSSING,
                                          .element = c->edge,
                                          .part = c->face & CONTACT_ID_PART_MAX};
            const patch_candidate candidate = {abuti_patch_snap_crossing(m->work, crossing, c->face,
                                                                         snap_radius),
                                               u, v};
            const bool is_flat = candidate.point.kind != ABUT_CONTACT_VERTEX &&
                                 is_flat_edge(&m->work->body[c->side], c->edge);
            abuti_patch_add_outermost(&o, &candidate,
                                      patch_point_key(&candidate.point) | (uint64_t)is_flat << 63);
        }
    if (m->is_wall && crossing_count)
        m->centre = v3_scale(sum, 1.0 / crossing_count);
    const uint32_t count = abuti_patch_copy_outermost(&o, found);
    for (uint32_t i = 0; i < count; i++) {
        /* Measured slightly inwards; reported at the crossing, or at its vertex. */
        const patch_point *point = &found[i].point;
        vec3 at = move_inwards(m, point->at);
        vec3 position = point->kind == ABUT_CONTACT_VERTEX
                            ? patch_position(&m->work->body[point->side], point->element)
                            : at;
        add_candidate_at(m, v3_along(at, INSET, v3_sub(m->centre, at)), PATCH_COLUMN_NEAREST,
                         position, point);
    }
}

/* Adds inside vertices of one side: the outermost ones, and the outermost ones whose depth is at
 * least PATCH_DEEP_FRACTION of the maximum, which support a round body. Heights are relative to the
 * centre of the contour. With rays, also adds the vertex furthest along the normal into the other
 * body, because add_deeper_vertices() is not called then. */
static void add_inside_vertices(patch_measurement *m, uint32_t side) {
    const patch_region *r = m->region;
    const patch_body *body = &m->work->body[side];
    patch_candidate found[PATCH_DIRECTIONS + 1];
    patch_outermost o, deep;
    uint32_t deepest = ABUT_NONE;
    double deepest_height = -INFINITY;
    abuti_patch_init_outermost(&o, PATCH_DIRECTIONS / 2);
    abuti_patch_init_outermost(&deep, PATCH_DIRECTIONS / 2);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = r->vertices.begin; i < r->vertices.end; i++) {
            const patch_vertex *vertex = &m->work->vertices[m->work->region_vertices[i]];
            if (vertex->side != side || !is_vertex_measured(m, side, vertex->vertex))
                continue;
            vec3 p = v3_sub(patch_position(body, vertex->vertex), r->centre);
            const patch_candidate c = {{.side = side,
                                        .kind = ABUT_CONTACT_VERTEX,
                                        .element = vertex->vertex},
                                       v3_dot(p, m->tangent[0]),
                                       v3_dot(p, m->tangent[1])};
            double h = (side ? 1 : -1) * v3_dot(p, m->normal);
            if (abuti_patch_extend_outermost(&o, c.u, c.v) && pass)
                abuti_patch_add_outermost(&o, &c, patch_point_key(&c.point));
            if (pass && h >= PATCH_DEEP_FRACTION * deepest_height &&
                abuti_patch_extend_outermost(&deep, c.u, c.v))
                abuti_patch_add_outermost(&deep, &c, patch_point_key(&c.point));
            deepest_height = real_max(deepest_height, h);
            if (pass && h >= deepest_height - POSITION_TOLERANCE * r->length &&
                vertex->vertex < deepest)
                deepest = vertex->vertex;
        }
    for (int d = 0; d < deep.direction_count; d++) /* each vertex once */
        for (int k = 0; k < o.direction_count; k++)
            if (deep.key[d] == o.key[k])
                deep.key[d] = UINT64_MAX;
    uint32_t count = abuti_patch_copy_outermost(&o, found);
    count += abuti_patch_copy_outermost(&deep, found + count);
    bool is_known = !m->uses_rays || deepest == ABUT_NONE;
    for (uint32_t i = 0; i < count; i++)
        is_known |= found[i].point.element == deepest;
    if (!is_known)
        found[count++].point =
            (patch_point){.side = side, .kind = ABUT_CONTACT_VERTEX, .element = deepest};
    for (uint32_t i = 0; i < count; i++)
        add_candidate(m, patch_position(body, found[i].point.element), &found[i].point);
}

/* ---- deepest point ----
 *
 * In the projection along the normal, the depth is linear between corners and crossings of edges,
 * so it is largest at one of these. Most are culled by their own height and the extreme height of
 * the other side. */

static void add_deeper_vertex(patch_measurement *m, uint32_t side, uint32_t vertex) {
    const patch_projection *projection = &m->work->projection;
    vec3 at = patch_position(&m->work->body[side], vertex);
    double h = v3_dot(at, m->normal);
    patch_point point = {.side = side, .kind = ABUT_CONTACT_VERTEX, .element = vertex};
    double limit = depth_to_exceed(m);
    if ((side ? h - projection->min_a : projection->max_b - h) > limit &&
        abuti_patch_bound_depth(projection, v3_dot(at, m->tangent[0]), v3_dot(at, m->tangent[1]),
                                side, h) > limit)
        add_candidate(m, at, &point);
}

static void add_deeper_vertices(patch_measurement *m, bool all_vertices) {
    const patch_region *r = m->region;
    for (uint32_t side = 0; side < 2 && all_vertices; side++) {
        const abut_topology_arrays *view = &m->work->body[side].skin->view;
        for (uint32_t v = 0; v < view->vertex_count; v++)
            if (view->vertex_face_begin[v] != view->vertex_face_begin[v + 1])
                add_deeper_vertex(m, side, v);
    }
    for (uint32_t i = r->vertices.begin; i < r->vertices.end && !all_vertices; i++) {
        const patch_vertex *vertex = &m->work->vertices[m->work->region_vertices[i]];
        add_deeper_vertex(m, vertex->side, vertex->vertex);
    }
}

/* Adds a crossing of two edges in the projection along the normal. */
static double add_deeper_edge(void *data, const patch_projected_face *a, int k, double along,
                              const patch_projected_face *b, int l) {
    patch_measurement *m = data;
    const patch_body *body = &m->work->body[0];
    vec3 p = patch_corner(body, a->face, k), q = patch_corner(body, a->face, k == 2 ? 0 : k + 1);
    patch_point point = {.side = 0,
                         .kind = ABUT_CONTACT_CROSSING,
                         .element =
                             body->skin->view.triangle_edges[3 * (size_t)a->face + (size_t)k],
                         .part = patch_edge_part(m->work->body[1].skin, b->face, (uint32_t)l)};
    add_candidate(m, v3_lerp(p, q, along), &point);
    return depth_to_exceed(m);
}

/* ---- choice ---- */

void abuti_measure_choose(const patch_measurement *m, uint32_t max_points, double max_gap,
                          patch_answer *answer) {
    patch_choice choice = {.found = m->found,
                           .count = m->count,
                           .deepest = m->deepest,
                           .depth_tolerance = DEPTH_TOLERANCE,
                           .tilt = PATCH_TILT,
                           .merge_distance = m->merge_distance,
                           .last_is_deepest = m->only_deeper && m->count > m->plain_count};
    abuti_patch_choose(&choice, max_points, max_gap, answer);
}

/* ---- regions ---- */

void abuti_measure_init(patch_measurement *m, patch_work *work, const patch_region *r, vec3 normal,
                        uint32_t max_points) {
    m->work = work;
    m->region = r;
    m->normal = normal;
    m->centre = r->centre;
    m->is_wall = false;
    abuti_patch_tangents(normal, m->tangent);
    m->count = 0;
    m->deepest = m->plain_deepest = -INFINITY;
    m->merge_distance =
        PATCH_MERGE_DISTANCE * real_min(work->body[0].skin->size, work->body[1].skin->size);
    m->uses_rays = m->only_deeper = false;
    m->max_points = max_points;
}

static void add_plain_candidates(patch_measurement *m) {
    add_contour_points(m);
    add_inside_vertices(m, 0);
    add_inside_vertices(m, 1);
}

patch_scope abuti_measure_choose_scope(const patch_work *work, const patch_region *r, vec3 normal) {
    if (work->is_sheet_edge)
        return PATCH_SCOPE_RAYS;
    return patch_area_ratio(work, r, normal) < PATCH_THROUGH_RATIO ? PATCH_SCOPE_BODIES
                                                                   : PATCH_SCOPE_REGION;
}

void abuti_measure_projected(patch_measurement *m, patch_scope scope, double limit) {
    m->is_wall = scope == PATCH_SCOPE_WALL;
    if (m->max_points)
        add_plain_candidates(m);
    if (m->deepest > limit)
        return;
    m->plain_count = m->count;
    m->plain_deepest = m->deepest;
    m->only_deeper = true;
    add_deeper_vertices(m, scope == PATCH_SCOPE_BODIES);
    if (!(m->deepest > limit))
        abuti_patch_visit_edge_crossings(&m->work->projection, depth_to_exceed(m), add_deeper_edge,
                                         m);
}

void abuti_measure_along(patch_measurement *m, patch_work *work, const patch_region *r, vec3 normal,
                         uint32_t max_points, patch_scope scope, double limit) {
    abuti_measure_init(m, work, r, normal, max_points);
    if (scope != PATCH_SCOPE_RAYS &&
        (scope != PATCH_SCOPE_BODIES ||
         work->body[0].bvh->triangle_count + work->body[1].bvh->triangle_count <=
             MAX_PROJECTED_FACES)) {
        abuti_patch_project(work, r, normal, scope);
        if (work->projection.count)
            abuti_measure_projected(m, scope, limit);
    }
    if (!m->count && scope != PATCH_SCOPE_WALL) { /* the bodies have passed through each other, or
                                                     no height is known */
        m->uses_rays = true;
        m->only_deeper = false;
        add_plain_candidates(m);
    }
}

/* ---- normals of points on curved walls ----
 *
 * The points of a curved wall, as the flank of a thread, do not have the normal of the wall. The
 * normal of the triangle at a point is not stable: near an edge or a vertex, rounding errors decide
 * which triangle that is. So a point has the mean of the normals of all triangles within a radius.
 * The weight of a triangle is its area, at most the square of the radius, times (1 - distance /
 * radius)^2, where distance is that from the point to the triangle. So the normal is a continuous
 * function of the point. The radius is a multiple of the depth or gap. Triangles of the body whose
 * vertex or edge the point is do not count: a vertex on a face has the normal of the face. */

#define RADIUS_DEPTHS 2.0 /* radius / depth or gap */
#define MIN_RADIUS 1e-3   /* of the smaller body: far above rounding errors */

patch_normal_sum abuti_patch_normal_begin(const patch_work *work, vec3 at, double depth,
                                          unsigned sides) {
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    return (patch_normal_sum){.work = work,
                              .at = at,
                              .radius = RADIUS_DEPTHS * depth + MIN_RADIUS * size,
                              .sides = sides};
}

void abuti_patch_normal_add(patch_normal_sum *sum, uint32_t side, uint32_t face, vec3 normal) {
    const patch_body *body = &sum->work->body[side];
    if (!(sum->sides >> side & 1))
        return;
    abut_triangle t;
    double reach = 0;
    for (int k = 0; k < 3; k++)
        t.corner[k] = patch_position(body, body->skin->corner[3 * (size_t)face + (size_t)k]);
    for (int k = 1; k < 3; k++)
        reach = real_max(reach, v3_length_sq(v3_sub(t.corner[k], t.corner[0])));
    reach = sum->radius + sqrt(reach);
    if (v3_length_sq(v3_sub(t.corner[0], sum->at)) > reach * reach)
        return;
    double weight = 1 - triangle_closest_point(t, sum->at).distance / sum->radius;
    if (!(weight > 0))
        return;
    vec3 edge[2] = {v3_scale(v3_sub(t.corner[1], t.corner[0]), 1 / sum->radius),
                    v3_scale(v3_sub(t.corner[2], t.corner[0]), 1 / sum->radius)};
    double area = 0.5 * patch_area_length(v3_cross(edge[0], edge[1]));
    sum->sum = v3_along(sum->sum, weight * weight * real_min(area, 1), normal);
}

vec3 abuti_patch_normal_end(const patch_normal_sum *sum) {
    return v3_normalise(sum->sum);
}
