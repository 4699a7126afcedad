/* Measures a region of the overlap along a normal: penetration depth and candidate contact points.
 *
 * Depth, at a position across the normal: from the lowest point of a to the highest point of b,
 * along the normal. In a plain region the triangles inside the other body determine both, with
 * their true planes instead of those of the skins. If the bodies have gone through each other (both
 * sides of a component are inside the other body), all triangles of both bodies determine them, or
 * two rays if there are more than WHOLE triangles.
 *
 * Candidates: the outermost points of the contour, measured a little inwards, because at a side
 * face rounding errors decide; the lowest and outermost inside vertices of a, the highest and
 * outermost ones of b. patch_choose.c keeps a few of them.
 */
#include "contact/patch_measure.h"

#include <abut/ray.h>

#include <math.h>
#include <string.h>

#define EDGE_COSINE 0.7 /* between the normal and the inward direction at a boundary edge */
#define INSET 0.02      /* of the way from the contour to its middle */
#define AS_DEEP 2e-3    /* of the depth, by which others are as deep */
#define NAMED 1e-3      /* of the contour: a vertex so near gives its name */
#define NEAR_SKIN 0.05  /* of the extent: crossings of skins that are further away are others */
#define LITTLE 1e-6 /* of the contour: no difference by which a vertex is deeper, or further in */

enum {
    DIRECTIONS = PATCH_DIRECTIONS, /* across the normal, and as many opposite ones */
    WHOLE = 8192, /* triangles of two bodies that are measured as a whole, at most */
    SEEDS = 16    /* starting points of the search for the far side */
};

/* ---- rays ---- */

/* How far it is from a point along a direction of the frame to where a body ends. If the point is
 * outside, first where it begins is looked for: ahead, and if it is not there, behind. */
bool abuti_measure_exit(const patch_body *body, vec3 from, vec3 way, double *far) {
    const abut_mesh *mesh = body->bvh->mesh;
    if (body->turns) {
        mat3 back = m3_transpose(&body->turn);
        from = m3_apply(&back, v3_sub(from, body->shift));
        way = m3_apply(&back, way);
    }
    from = v3_add(from, mesh->origin);
    for (int turn = 0; turn < 2; turn++) {
        double gone = 0;
        for (int hits = 0; hits < 16; hits++) {
            abut_ray ray = {v3_along(from, turn ? -gone : gone, way),
                            turn ? v3_scale(way, -1) : way};
            abut_ray_hit hit;
            if (abut_ray_first(body->bvh, &ray, HUGE_VAL, &hit) || hit.triangle == ABUT_NONE)
                break;
            abut_triangle t = bvh_triangle(mesh, hit.triangle);
            vec3 n = v3_cross(v3_sub(t.corner[1], t.corner[0]), v3_sub(t.corner[2], t.corner[0]));
            gone += hit.parameter;
            if (v3_dot(n, way) * (body->skin->inward ? -1 : 1) > 0) {
                *far = turn ? -gone : gone;
                return true;
            }
            gone += 1e-9 * body->skin->size;
        }
    }
    return false;
}

/* Whether the body of a point ends there: at a vertex, or at the boundary edge of a sheet that lies
 * across the normal. */
static bool ends_own_body(const measure *m, const patch_point *point) {
    const patch_body *body = &m->work->body[point->side];
    const uint32_t *faces;
    if (point->kind == ABUT_CONTACT_VERTEX)
        return true;
    if (!m->work->is_sheet_edge || point->element == ABUT_NONE ||
        abuti_edge_faces(&body->skin->view, point->element, &faces) != 1)
        return false;
    const uint32_t *ends = body->skin->view.edges + 2 * (size_t)point->element;
    const vec3 from = patch_true(body, ends[0]), along = v3_sub(patch_true(body, ends[1]), from);
    const vec3 in = v3_normalise(
        v3_cross(v3_cross(along, v3_sub(patch_face_middle(body, faces[0]), from)), along));
    return v3_dot(in, m->normal) * (point->side ? -1 : 1) > EDGE_COSINE;
}

/* Where a ends below and b above, by rays from a point; the body of `place` may end there. */
static bool by_rays(const measure *m, vec3 from, vec3 place, const patch_point *point, double *low,
                    double *high) {
    const double at = v3_dot(from, m->normal), end = v3_dot(place, m->normal);
    const bool ends = ends_own_body(m, point);
    double down = at - end, up = end - at;
    if ((!(ends && point->side == 0) &&
         !abuti_measure_exit(&m->work->body[0], from, v3_scale(m->normal, -1), &down)) ||
        (!(ends && point->side == 1) &&
         !abuti_measure_exit(&m->work->body[1], from, m->normal, &up)))
        return false;
    *low = at - down;
    *high = at + up;
    return true;
}

/* ---- candidates ---- */

/* What candidates that are only there for their depth must exceed: all depths so far; but of those
 * that are about as deep, as along the ridge of a roof, the one with the lowest name is wanted. */
static double least_depth(const measure *m) {
    return m->deepest > m->plain_deepest + m->place ? m->deepest - m->place : m->deepest;
}

/* Whether another candidate replaces the one that is only there for its depth. */
static bool replaces_deepest(const measure *m, double depth, const patch_point *point) {
    const patch_point *kept = &m->found[m->plain_count].point;
    if (m->count == m->plain_count || kept->depth < real_max(m->deepest, depth) - m->place)
        return depth > m->deepest;
    return depth > least_depth(m) && patch_name(point) < patch_name(kept);
}

/* Adds a candidate that is measured at a point of the frame and placed at another. Of those that
 * are only there for their depth the deepest alone. */
static void add_at(measure *m, vec3 at, patch_column column, vec3 place, const patch_point *point) {
    double u = v3_dot(at, m->along[0]), v = v3_dot(at, m->along[1]), h = v3_dot(at, m->normal);
    double low, high;
    if (!(m->rays ? by_rays(m, at, place, point, &low, &high)
                  : abuti_patch_heights(&m->work->view, u, v, column, h, &low, &high)))
        return;
    if (m->deeper && !replaces_deepest(m, high - low, point)) {
        m->deepest = real_max(m->deepest, high - low);
        return;
    }
    patch_candidate *c = &m->found[m->deeper ? m->plain_count : m->count];
    m->count = m->deeper ? m->plain_count + 1 : m->count + 1;
    c->point = *point;
    c->u = u = v3_dot(place, m->along[0]);
    c->v = v = v3_dot(place, m->along[1]);
    c->point.depth = high - low;
    c->point.normal = v3(0, 0, 0);
    vec3 across = v3_add(v3_scale(m->along[0], u), v3_scale(m->along[1], v));
    c->point.at = v3_along(across, 0.5 * (low + high), m->normal);
    m->deepest = real_max(m->deepest, c->point.depth);
}

/* Of a sheet that ends in the other body, a little inwards: it may end on a face along the normal.
 */
static void add(measure *m, vec3 at, const patch_point *point) {
    vec3 from = m->work->is_sheet_edge ? v3_along(at, LITTLE, v3_sub(m->region->centre, at)) : at;
    add_at(m, from, point->side ? PATCH_BELOW : PATCH_ABOVE, at, point);
}

/* Whether an edge is between two triangles in one plane. */
static bool is_flat_edge(const patch_body *body, uint32_t edge) {
    const uint32_t *faces;
    return abuti_edge_faces(&body->skin->view, edge, &faces) == 2 &&
           v3_dot(patch_face_normal(body, faces[0]), patch_face_normal(body, faces[1])) >
               PATCH_SAME_COSINE;
}

/* The name of a crossing: that of a vertex if there is one at the same place, of a first, since
 * which edges cross there is a matter of chance; else edge and triangle. */
static patch_point name_of(const measure *m, const patch_crossing *c) {
    double least = real_max(NAMED * m->region->length, 3 * m->work->body[0].grow);
    for (uint32_t side = 0; side < 2; side++) {
        const patch_body *body = &m->work->body[side];
        const uint32_t *near = side == c->side ? body->skin->view.edges + 2 * (size_t)c->edge
                                               : body->skin->corner + 3 * (size_t)c->face;
        for (int k = 0; k < (side == c->side ? 2 : 3); k++)
            if (v3_length_sq(v3_sub(patch_true(body, near[k]), c->at)) < least * least)
                return (patch_point){.side = side, .kind = ABUT_CONTACT_VERTEX, .element = near[k]};
    }
    return (patch_point){.side = c->side,
                         .kind = ABUT_CONTACT_CROSSING,
                         .element = c->edge,
                         .part = c->face & 0x3ffffff};
}

/* Outermost points in several directions: of those that are about as far out the one with the
 * lowest name. The first pass measures, the second one chooses. */
typedef struct outermost {
    int count;
    double most[2 * DIRECTIONS], extent; /* the largest width */
    uint32_t best[2 * DIRECTIONS];
    uint64_t name[2 * DIRECTIONS];
    patch_point point[2 * DIRECTIONS];
} outermost;

static void start_outermost(outermost *o, int count) {
    o->count = count;
    for (int d = 0; d < count; d++) {
        o->best[d] = ABUT_NONE;
        o->most[d] = -INFINITY;
    }
}

static void measure_outermost(outermost *o, double u, double v) {
    for (int d = 0; d < o->count; d += 2) {
        double extent = patch_extent(d, u, v);
        o->most[d] = real_max(o->most[d], extent);
        o->most[d + 1] = real_max(o->most[d + 1], -extent);
    }
}

static void end_measuring(outermost *o) {
    o->extent = 0;
    for (int d = 0; d < o->count; d += 2)
        o->extent = real_max(o->extent, o->most[d] + o->most[d + 1]);
}

/* Whether a point may be among the outermost, whatever its name. */
static bool may_be_outermost(const outermost *o, double u, double v) {
    const double band = PATCH_VERTEX_BAND * o->extent;
    for (int d = 0; d < o->count; d += 2) {
        double extent = patch_extent(d, u, v);
        if (extent >= o->most[d] - band || -extent >= o->most[d + 1] - band)
            return true;
    }
    return false;
}

/* `is_flat`: a crossing of an edge between triangles in one plane, where the contour has no corner:
 * others come first. */
static void choose_outermost(outermost *o, double u, double v, uint32_t number,
                             const patch_point *point, bool is_flat) {
    double band = patch_band(point, o->extent);
    uint64_t name = patch_name(point) | (uint64_t)is_flat << 63;
    for (int d = 0; d < o->count; d++)
        if (patch_extent(d, u, v) >= o->most[d] - band &&
            (o->best[d] == ABUT_NONE || name < o->name[d])) {
            o->best[d] = number;
            o->name[d] = name;
            o->point[d] = *point;
        }
}

/* Whether a direction has a point that none before it has. */
static bool is_new(const outermost *o, int d) {
    bool again = o->best[d] == ABUT_NONE;
    for (int k = 0; k < d; k++)
        again |= o->best[k] == o->best[d];
    return !again;
}

/* Where the edge of a crossing goes through the plane of its triangle, without their skins. Where
 * that is not on the edge, or further away than `range`, as of edges that lie flat: the crossing of
 * the skins, a little inwards. */
static vec3 true_crossing(const measure *m, const patch_crossing *c, double range) {
    const patch_body *own = &m->work->body[c->side], *other = &m->work->body[!c->side];
    const uint32_t *ends = own->skin->view.edges + 2 * (size_t)c->edge;
    vec3 from = patch_true(own, ends[0]), way = v3_sub(patch_true(own, ends[1]), from);
    vec3 p = patch_corner(other, c->face, 0);
    vec3 n = v3_cross(v3_sub(patch_corner(other, c->face, 1), p),
                      v3_sub(patch_corner(other, c->face, 2), p));
    double along = v3_dot(n, v3_sub(p, from)) / v3_dot(n, way);
    vec3 at = v3_along(from, along, way);
    if (along >= 0 && along <= 1 && v3_length_sq(v3_sub(at, c->at)) <= range * range)
        return at;
    vec3 in = v3_sub(m->centre, c->at);
    double skin = 1.5 * m->work->body[0].grow, far = v3_length(in);
    return v3_along(c->at, skin < far ? skin / far : 0, in);
}

/* Whether one of several triangles belongs to the wall that is measured. */
static bool is_of_wall(const measure *m, uint32_t side, const uint32_t *faces, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (v3_dot(patch_face_normal(&m->work->body[side], faces[i]), m->normal) * (side ? 1 : -1) >
            m->work->view.wall_cosine)
            return true;
    return false;
}

/* Whether a point of the contour counts: of a wall, those of its triangles. */
static bool crossing_counts(const measure *m, const patch_crossing *c) {
    const uint32_t *faces;
    if (!m->is_wall || is_of_wall(m, !c->side, &c->face, 1))
        return true;
    uint32_t count = abuti_edge_faces(&m->work->body[c->side].skin->view, c->edge, &faces);
    return is_of_wall(m, c->side, faces, count);
}

/* The same of an inside vertex. */
static bool vertex_counts(const measure *m, uint32_t side, uint32_t vertex) {
    const abut_topology_arrays *view = &m->work->body[side].skin->view;
    const uint32_t begin = view->vertex_face_begin[vertex];
    return !m->is_wall || is_of_wall(m, side, view->vertex_faces + begin,
                                     view->vertex_face_begin[vertex + 1] - begin);
}

/* The contour's outermost points: in eight directions, or in twice as many where more than four
 * points are kept. */
static void add_contour(measure *m) {
    const patch_region *r = m->region;
    const patch_crossing *crossings = m->work->crossings;
    vec3 sum = v3(0, 0, 0);
    uint32_t counted = 0;
    outermost o;
    start_outermost(&o, m->keep > 4 ? 2 * DIRECTIONS : DIRECTIONS);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = r->point_begin; i < r->point_end; i++) {
            const patch_crossing *c = &crossings[m->work->points[i]];
            vec3 p = v3_sub(c->at, r->centre);
            double u = v3_dot(p, m->along[0]), v = v3_dot(p, m->along[1]);
            if ((pass && !may_be_outermost(&o, u, v)) || !crossing_counts(m, c))
                continue;
            if (!pass) {
                measure_outermost(&o, u, v);
                sum = v3_add(sum, c->at);
                counted++;
            } else {
                patch_point point = name_of(m, c);
                choose_outermost(&o, u, v, m->work->points[i], &point,
                                 point.kind != ABUT_CONTACT_VERTEX &&
                                     is_flat_edge(&m->work->body[c->side], c->edge));
            }
        }
        end_measuring(&o);
    }
    if (m->is_wall && counted)
        m->centre = v3_scale(sum, 1.0 / counted);
    for (int d = 0; d < o.count; d++) {
        if (!is_new(&o, d))
            continue;
        /* Measured a little inwards; placed where it is, or at its vertex. */
        vec3 at = true_crossing(m, &crossings[o.best[d]], NEAR_SKIN * o.extent);
        vec3 place = o.point[d].kind == ABUT_CONTACT_VERTEX
                         ? patch_true(&m->work->body[o.point[d].side], o.point[d].element)
                         : at;
        add_at(m, v3_along(at, INSET, v3_sub(m->centre, at)), PATCH_NEAREST, place, &o.point[d]);
    }
}

/* Inside vertices of one side: the outermost, and those that are furthest along the normal, into
 * the other body, where add_deeper_vertices() does not find them. */
static void add_vertices(measure *m, uint32_t side) {
    const patch_region *r = m->region;
    const patch_body *body = &m->work->body[side];
    outermost o;
    patch_point point = {.side = side, .kind = ABUT_CONTACT_VERTEX, .element = ABUT_NONE};
    uint32_t deepest = ABUT_NONE;
    double most = -INFINITY;
    start_outermost(&o, DIRECTIONS);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = r->vertex_begin; i < r->vertex_end; i++) {
            const patch_vertex *vertex = &m->work->vertices[m->work->inner[i]];
            if (vertex->side != side || !vertex_counts(m, side, vertex->vertex))
                continue;
            vec3 p = v3_sub(patch_true(body, vertex->vertex), r->centre);
            double u = v3_dot(p, m->along[0]), v = v3_dot(p, m->along[1]);
            double h = (side ? 1 : -1) * v3_dot(p, m->normal);
            point.element = vertex->vertex;
            if (!pass)
                measure_outermost(&o, u, v);
            else
                choose_outermost(&o, u, v, vertex->vertex, &point, false);
            most = real_max(most, h);
            if (pass && h >= most - LITTLE * r->length && vertex->vertex < deepest)
                deepest = vertex->vertex;
        }
        end_measuring(&o);
    }
    for (int d = 0; d < o.count; d++) {
        point.element = o.best[d];
        if (is_new(&o, d))
            add(m, patch_true(body, o.best[d]), &point);
        deepest = deepest == o.best[d] ? ABUT_NONE : deepest;
    }
    point.element = deepest;
    if (m->rays && deepest != ABUT_NONE)
        add(m, patch_true(body, deepest), &point);
}

/* ---- the deepest ----
 *
 * Seen along the normal, the depth is linear between corners and crossings of edges, so it is
 * largest at one of these. Most are left out by their own height and the other side's highest. */

static void add_deeper_vertex(measure *m, uint32_t side, uint32_t vertex) {
    const patch_view *view = &m->work->view;
    vec3 at = patch_true(&m->work->body[side], vertex);
    double h = v3_dot(at, m->normal);
    patch_point point = {.side = side, .kind = ABUT_CONTACT_VERTEX, .element = vertex};
    double least = least_depth(m);
    if ((side ? h - view->bottom : view->top - h) > least &&
        abuti_patch_bound(view, v3_dot(at, m->along[0]), v3_dot(at, m->along[1]), side, h) > least)
        add(m, at, &point);
}

static void add_deeper_vertices(measure *m, bool whole) {
    const patch_region *r = m->region;
    for (uint32_t side = 0; side < 2 && whole; side++) {
        const abut_topology_arrays *view = &m->work->body[side].skin->view;
        for (uint32_t v = 0; v < view->vertex_count; v++)
            if (view->vertex_face_begin[v] != view->vertex_face_begin[v + 1])
                add_deeper_vertex(m, side, v);
    }
    for (uint32_t i = r->vertex_begin; i < r->vertex_end && !whole; i++) {
        const patch_vertex *vertex = &m->work->vertices[m->work->inner[i]];
        add_deeper_vertex(m, vertex->side, vertex->vertex);
    }
}

/* The lowest face of an edge, by which the edge is told whichever of its faces it was met at. */
static uint32_t lowest_face(const patch_skin *skin, uint32_t face, int k) {
    const uint32_t *faces;
    uint32_t edge = skin->view.triangle_edges[3 * (size_t)face + (size_t)k];
    uint32_t count = abuti_edge_faces(&skin->view, edge, &faces);
    for (uint32_t i = 0; i < count; i++)
        face = faces[i] < face ? faces[i] : face;
    return face;
}

/* A crossing of two edges, as seen along the normal. */
static double add_deeper_edge(void *data, const patch_plane *a, int k, double along,
                              const patch_plane *b, int l) {
    measure *m = data;
    const patch_body *body = &m->work->body[0];
    vec3 p = patch_corner(body, a->face, k), q = patch_corner(body, a->face, k == 2 ? 0 : k + 1);
    patch_point point = {.side = 0,
                         .kind = ABUT_CONTACT_CROSSING,
                         .element =
                             body->skin->view.triangle_edges[3 * (size_t)a->face + (size_t)k],
                         .part = lowest_face(m->work->body[1].skin, b->face, l) & 0x3ffffff};
    add(m, v3_lerp(p, q, along), &point);
    return least_depth(m);
}

/* Where a body has gone through the other: its furthest corner on the far side, found by going down
 * from corner to corner. */
static uint32_t furthest(const measure *m, uint32_t side, uint32_t vertex) {
    const patch_body *body = &m->work->body[side];
    const abut_topology_arrays *view = &body->skin->view;
    double sign = side ? 1 : -1, best = sign * v3_dot(patch_true(body, vertex), m->normal);
    for (uint32_t before = ABUT_NONE; before != vertex;) {
        before = vertex;
        for (uint32_t i = view->vertex_face_begin[before]; i < view->vertex_face_begin[before + 1];
             i++)
            for (int k = 0; k < 3; k++) {
                uint32_t next = body->skin->corner[3 * (size_t)view->vertex_faces[i] + (size_t)k];
                double h = sign * v3_dot(patch_true(body, next), m->normal);
                if (h > best) {
                    best = h;
                    vertex = next;
                }
            }
    }
    return vertex;
}

static void add_far_side(measure *m) {
    const patch_work *work = m->work;
    const patch_region *r = m->region;
    uint32_t seen[SEEDS], used = 0, step = (r->point_end - r->point_begin) / SEEDS + 1;
    for (uint32_t i = r->point_begin; i < r->point_end && used < SEEDS; i += step) {
        const patch_crossing *c = &work->crossings[work->points[i]];
        const patch_body *body = &work->body[c->side];
        uint32_t vertex = furthest(m, c->side, body->skin->view.edges[2 * (size_t)c->edge]);
        bool again = false;
        for (uint32_t k = 0; k < used; k++)
            again |= seen[k] == (vertex ^ c->side << 31);
        if (again)
            continue;
        seen[used++] = vertex ^ c->side << 31;
        patch_point point = {.side = c->side, .kind = ABUT_CONTACT_VERTEX, .element = vertex};
        add(m, patch_true(body, vertex), &point);
    }
}

/* ---- a few of them ---- */

void abuti_measure_choose(const measure *m, uint32_t keep, double gap, patch_answer *answer) {
    patch_choice choice = {.found = m->found,
                           .count = m->count,
                           .deepest = m->deepest,
                           .as_deep = AS_DEEP,
                           .flat = PATCH_FLAT,
                           .place = m->place,
                           .extra = m->deeper && m->count > m->plain_count};
    abuti_patch_choose(&choice, keep, gap, answer);
}

/* ---- a region ---- */

void abuti_measure_start(measure *m, patch_work *work, const patch_region *r, vec3 normal,
                         uint32_t keep) {
    m->work = work;
    m->region = r;
    m->normal = normal;
    m->centre = r->centre;
    m->is_wall = false;
    abuti_patch_across(normal, m->along);
    m->count = 0;
    m->deepest = m->plain_deepest = -INFINITY;
    m->place = PATCH_PLACE * real_min(work->body[0].skin->size, work->body[1].skin->size);
    m->rays = m->deeper = false;
    m->keep = keep;
}

static void add_all(measure *m) {
    add_contour(m);
    add_vertices(m, 0);
    add_vertices(m, 1);
}

/* Bodies that go through each other are measured as a whole. */
patch_scope abuti_measure_scope(const patch_work *work, const patch_region *r, vec3 normal) {
    if (work->is_sheet_edge)
        return PATCH_INSIDE;
    return patch_plainness(work, r, normal) < PATCH_PIERCED ? PATCH_BODIES : PATCH_REGION;
}

/* Measures what the view has; ends early where it is deeper than `limit`. */
void abuti_measure_seen(measure *m, patch_scope scope, double limit) {
    m->is_wall = scope == PATCH_WALL;
    if (m->keep)
        add_all(m);
    if (m->deepest > limit)
        return;
    m->plain_count = m->count;
    m->plain_deepest = m->deepest;
    m->deeper = true;
    add_deeper_vertices(m, scope == PATCH_BODIES);
    if (!(m->deepest > limit))
        abuti_patch_edges(&m->work->view, least_depth(m), add_deeper_edge, m);
}

/* Measures along a normal; ends early where it is deeper than `limit`. */
abut_status abuti_measure_along(measure *m, patch_work *work, const patch_region *r, vec3 normal,
                                uint32_t keep, patch_scope scope, double limit) {
    abuti_measure_start(m, work, r, normal, keep);
    if (scope != PATCH_INSIDE &&
        (scope != PATCH_BODIES ||
         work->body[0].bvh->triangle_count + work->body[1].bvh->triangle_count <= WHOLE)) {
        abut_status status = abuti_patch_see(work, r, normal, scope);
        if (status)
            return status;
        if (work->view.count)
            abuti_measure_seen(m, scope, limit);
    }
    if (!m->count && scope != PATCH_WALL) { /* through each other, or no triangle says how high */
        m->rays = true;
        m->deeper = false;
        add_all(m);
        if (scope != PATCH_INSIDE)
            add_far_side(m);
    }
    return ABUT_OK;
}

/* A lower bound of the depth along a normal: that at the place of a point. Triangles that are
 * steeper than the least cosine do not count. */
double abuti_measure_depth_at(patch_work *work, const patch_region *r, vec3 normal,
                              double least_cosine, vec3 at) {
    double low = INFINITY, high = -INFINITY;
    vec3 along[2];
    abuti_patch_across(normal, along);
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        const patch_facet *f = &work->facets[i];
        double up = v3_dot(f->area, normal) * (f->side ? 1 : -1);
        if (!(up > 0) || up < least_cosine * patch_area_length(f->area))
            continue;
        patch_body *body = &work->body[f->side];
        const uint32_t *corner = body->skin->corner + 3 * (size_t)f->face;
        double u[3], v[3];
        for (int k = 0; k < 3; k++) {
            vec3 p = v3_sub(patch_place(body, corner[k]), at);
            u[k] = v3_dot(p, along[0]);
            v[k] = v3_dot(p, along[1]);
        }
        double side[3] = {u[0] * v[1] - v[0] * u[1], u[1] * v[2] - v[1] * u[2],
                          u[2] * v[0] - v[2] * u[0]};
        if (!((side[0] > 0 && side[1] > 0 && side[2] > 0) ||
              (side[0] < 0 && side[1] < 0 && side[2] < 0)))
            continue;
        vec3 p = patch_true(body, corner[0]);
        vec3 n = v3_cross(v3_sub(patch_true(body, corner[1]), p),
                          v3_sub(patch_true(body, corner[2]), p));
        double h = v3_dot(n, v3_sub(p, at)) / v3_dot(n, normal);
        if (f->side)
            high = real_max(high, h);
        else
            low = real_min(low, h);
    }
    return high - low;
}

/* The same where bodies go through each other: by rays from a few places of the contour, until it
 * is above the limit. */
double abuti_measure_depth_through(patch_work *work, const patch_region *r, vec3 normal,
                                   double limit) {
    measure m;
    const patch_point point = {.kind = ABUT_CONTACT_CROSSING, .element = ABUT_NONE};
    uint32_t step = (r->point_end - r->point_begin) / PATCH_COLUMNS + 1;
    abuti_measure_start(&m, work, r, normal, 0);
    m.rays = true;
    for (uint32_t i = r->point_begin; i < r->point_end && !(m.deepest > limit); i += step) {
        vec3 at = work->crossings[work->points[i]].at;
        add(&m, v3_along(at, INSET, v3_sub(r->centre, at)), &point);
    }
    return m.deepest;
}
