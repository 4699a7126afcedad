/* Contact manifold of two solids, for the normal and depth of solid_separation.c.
 *
 * The touching feature of each core is the face, edge or vertex that faces most along the normal.
 * Projected along the normal, one feature is clipped by the sides of the other (Sutherland and
 * Hodgman 1974). The corners of the clipped polygon are the contact points, each with its own
 * depth. The point that realises the depth is added if clipping has not found it. The end of a
 * cylinder is an octagon with corners fixed to the cylinder, plus the deepest point of its rim.
 *
 * Ids do not depend on which feature is clipped, since this changes with every small rotation of
 * bodies that lie flat on each other. A corner of the clipped polygon has the id of the nearest
 * vertex of a within a tolerance, otherwise that of the nearest vertex of b, otherwise that of the
 * pair of edges that cross there. So four pairs of coinciding vertices are four contacts with fixed
 * ids, however edges cross around them. The reduction ignores small differences of depth, so it
 * does not depend on which of the eight points of two flat faces is deepest.
 */
#include "contact/find.h"
#include "contact/solid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MIN_FACE_COSINE 0.5     /* smallest cosine between the normal and a touching face or side */
#define STRICT_FACE_COSINE 0.99 /* the same if the contact normal is not that of a face */
#define ANGLE_TOLERANCE 3e-4    /* faces and edges whose angles differ by less are equivalent */
/* Largest sine between an edge and the contact plane for a touching edge. */
#define MAX_EDGE_SINE 0.5
#define MAX_PARALLEL_SINE 0.01 /* largest sine between two edges that touch along their length */
#define LENGTH_TOLERANCE 1e-9  /* of the size */
/* Largest sine between the end of a cylinder and the contact plane if it lies flat. */
#define FLAT_TILT_SINE 2e-4

/* Of the extent of the smaller feature: points within this distance of a vertex have its id.
 * Vertices that should coincide differ by less, and a contact area that is 1% smaller supports
 * equally well. */
#define VERTEX_RADIUS 0.01
/* Faces lie flat on each other if their depths differ by less than this fraction of the extent, and
 * by less than a fraction of depth plus margin. Rotations of 1e-4 change depths by 2e-4 of the
 * extent. The reduction does not prefer the deepest point of such faces. */
#define FLAT_RANGE 1e-3
#define FLAT_FRACTION 0.5

enum { MAX_CORNERS = 16, RIM_POINTS = 8, CYLINDER_SIDE_ID = 4 * RIM_POINTS };

/* ---- features ---- */

typedef struct feature_corner {
    vec3 at;
    uint32_t vertex;
    uint32_t edge; /* from this corner to the next */
} feature_corner;

/* A face, edge or vertex of a core, in the frame. */
typedef struct feature {
    uint32_t count; /* 3 or more: a face; 2: an edge; 1: a vertex */
    feature_corner corner[MAX_CORNERS];
    vec3 normal; /* of a face, outward */
} feature;

/* Copies a face of a polytope; of a face with too many corners, a subset. */
static void set_face(const solid_body *s, uint32_t face, feature *f) {
    const solid_face *from = &s->core.faces[face];
    f->count = from->count < MAX_CORNERS ? from->count : MAX_CORNERS;
    f->normal = solid_rotate(s, from->normal);
    for (uint32_t i = 0; i < f->count; i++) {
        const solid_loop *loop =
            &s->core.loops[from->begin + (uint32_t)((uint64_t)i * from->count / f->count)];
        f->corner[i] = (feature_corner){solid_vertex(s, loop->vertex), loop->vertex, loop->edge};
    }
}

static void find_polytope_feature(const solid_body *s, vec3 direction, double min_cosine,
                                  feature *f) {
    const solid_polytope *core = &s->core;
    vec3 d = solid_rotate_back(s, direction);
    uint32_t vertex = abuti_solid_support_vertex(s, direction), face = ABUT_NONE, edge = ABUT_NONE;
    uint32_t corners = 0; /* of the face; slivers beside a face of rounded vertices have fewer */
    double best = min_cosine, flattest = MAX_EDGE_SINE * MAX_EDGE_SINE; /* ties go to the first */
    for (uint32_t i = 0; i < core->edge_count; i++) {
        const solid_edge *e = &core->edges[i];
        if (e->vertex[0] != vertex && e->vertex[1] != vertex)
            continue;
        for (int k = 0; k < 2 && e->face[k] != ABUT_NONE; k++) {
            double here = v3_dot(core->faces[e->face[k]].normal, d);
            double same = ANGLE_TOLERANCE * sqrt(real_max(1 - here * here, 0));
            uint32_t count = core->faces[e->face[k]].count;
            bool first = count > corners || (count == corners && e->face[k] < face);
            if (here > best + same || (here >= best - same && first)) {
                best = real_max(here, best);
                face = e->face[k];
                corners = count;
            }
        }
        vec3 along = v3_sub(core->vertices[e->vertex[1]], core->vertices[e->vertex[0]]);
        double rise = v3_dot(along, d), length_sq = v3_length_sq(along);
        double slope_sq = length_sq > 0 ? rise * rise / length_sq : 1;
        if (slope_sq < flattest - ANGLE_TOLERANCE || (slope_sq < flattest && edge == ABUT_NONE)) {
            flattest = slope_sq;
            edge = i;
        }
    }
    f->count = 0;
    if (face != ABUT_NONE) {
        set_face(s, face, f);
        return;
    }
    if (edge == ABUT_NONE) {
        f->corner[f->count++] = (feature_corner){solid_vertex(s, vertex), vertex, 0};
        return;
    }
    for (int k = 0; k < 2; k++) {
        uint32_t at = core->edges[edge].vertex[k];
        f->corner[f->count++] = (feature_corner){solid_vertex(s, at), at, edge};
    }
}

/* The end of a cylinder: fixed corners, and the deepest rim point unless the end lies flat, since
 * its direction would be arbitrary. */
static void set_cylinder_end(const solid_body *s, vec3 direction, bool high, feature *f) {
    vec3 across[2], own_axis = solid_rotate_back(s, s->axis);
    abuti_patch_tangents(own_axis, across);
    vec3 x = solid_rotate(s, across[0]), y = solid_rotate(s, across[1]);
    vec3 middle = v3_along(s->shift, high ? s->half_length : -s->half_length, s->axis);
    y = high ? y : v3_scale(y, -1); /* counterclockwise seen from outside */
    const double eighth = 3.141592653589793 / 4, u = v3_dot(direction, x), v = v3_dot(direction, y);
    double turn = atan2(v, u) / eighth;
    turn = turn < 0 ? turn + RIM_POINTS : turn;
    const bool has_deepest = hypot(u, v) > FLAT_TILT_SINE && !(fabs(turn - round(turn)) < 1e-6);
    f->normal = high ? s->axis : v3_scale(s->axis, -1);
    for (uint32_t k = 0; k < RIM_POINTS + (uint32_t)has_deepest; k++) {
        const bool is_deepest = has_deepest && k == (uint32_t)turn + 1;
        const uint32_t corner = has_deepest && k > turn ? k - 1 : k,
                       number = (high ? 2 * RIM_POINTS : 0) + (is_deepest ? RIM_POINTS : corner);
        const double angle = (is_deepest ? turn : corner) * eighth;
        vec3 at = v3_along(v3_along(middle, s->cylinder_radius * cos(angle), x),
                           s->cylinder_radius * sin(angle), y);
        f->corner[f->count++] = (feature_corner){at, number, number};
    }
}

static void find_cylinder_feature(const solid_body *s, vec3 direction, double min_cosine,
                                  feature *f) {
    double along = v3_dot(direction, s->axis);
    vec3 across = v3_along(direction, -along, s->axis);
    double beside = v3_length(across);
    f->count = 0;
    if (fabs(along) >= min_cosine && fabs(along) >= beside) {
        set_cylinder_end(s, direction, along > 0, f);
    } else if (beside >= min_cosine || fabs(along) <= 1e-7) {
        vec3 side = v3_along(s->shift, s->cylinder_radius / beside, across);
        for (uint32_t k = 0; k < 2; k++)
            f->corner[f->count++] =
                (feature_corner){v3_along(side, k ? s->half_length : -s->half_length, s->axis),
                                 CYLINDER_SIDE_ID + k, CYLINDER_SIDE_ID};
    } else {
        f->corner[f->count++] = (feature_corner){abuti_solid_support(s, direction),
                                                 along > 0 ? 3 * RIM_POINTS : RIM_POINTS, 0};
    }
}

static void find_feature(const solid_body *s, vec3 direction, double min_cosine, feature *f) {
    if (s->kind == ABUT_COLLIDER_CYLINDER)
        find_cylinder_feature(s, direction, min_cosine, f);
    else
        find_polytope_feature(s, direction, min_cosine, f);
}

/* ---- contact points ---- */

typedef struct manifold {
    const solid_body *a, *b;
    feature feature[2]; /* the touching features; without corners if b is a plane */
    vec3 normal, along[2];
    double depth; /* the largest */
    double max_gap, size;
    uint32_t count;
    patch_candidate found[PATCH_CANDIDATES];
} manifold;

/* Adds a contact point halfway between points of both cores. */
static void add_point(manifold *p, vec3 at_a, vec3 at_b, uint32_t side, uint32_t kind,
                      uint32_t element, uint32_t part) {
    double height = v3_dot(p->normal, v3_sub(at_b, at_a));
    double depth = real_min(height + p->a->radius + p->b->radius, p->depth);
    if (p->count == PATCH_CANDIDATES || !(depth >= -p->max_gap))
        return;
    vec3 middle = v3_lerp(v3_along(at_a, -p->a->radius, p->normal),
                          v3_along(at_b, p->b->radius, p->normal), 0.5);
    p->found[p->count++] = (patch_candidate){{.at = middle,
                                              .depth = depth,
                                              .side = side,
                                              .kind = kind,
                                              .element = element,
                                              .part = part & CONTACT_ID_PART_MAX},
                                             v3_dot(middle, p->along[0]),
                                             v3_dot(middle, p->along[1])};
}

/* ---- clipping ---- */

/* A corner of the clipped polygon, with the edge to the next corner. */
typedef struct clip_corner {
    vec3 at;
    double u, v;
    uint32_t side, kind, element, part;
    bool is_inner; /* the edge to the next belongs to the feature that is clipped */
    uint32_t edge; /* its number; of an edge of the other feature its index there */
} clip_corner;

typedef struct clip_polygon {
    manifold *p;
    const feature *outer; /* the clipping feature */
    uint32_t inner_side;
    uint32_t count;
    clip_corner corner[2 * MAX_CORNERS + 2];
} clip_polygon;

static clip_corner make_crossing(const clip_polygon *c, const clip_corner *from,
                                 const clip_corner *to, double t, uint32_t line, bool leaves) {
    const feature *outer = c->outer;
    clip_corner next = {.at = v3_lerp(from->at, to->at, t),
                        .u = from->u + t * (to->u - from->u),
                        .v = from->v + t * (to->v - from->v),
                        .is_inner = leaves ? false : from->is_inner,
                        .edge = leaves ? line : from->edge};
    if (from->is_inner) { /* named by the edges of a and b, independent of which is clipped */
        next.side = 0;
        next.kind = ABUT_CONTACT_CROSSING;
        next.element = c->inner_side ? outer->corner[line].edge : from->edge;
        next.part = c->inner_side ? from->edge : outer->corner[line].edge;
    } else { /* two edges of the clipping feature: their corner */
        bool wraps = (line + 1) % outer->count == from->edge;
        next.side = !c->inner_side;
        next.kind = ABUT_CONTACT_SOLID;
        next.element = outer->corner[wraps ? from->edge : line].vertex;
    }
    return next;
}

/* Clips by one edge of the other feature. `turn` is 1 if that is counterclockwise, otherwise -1. */
static void clip_by_edge(clip_polygon *c, uint32_t line, double turn) {
    const manifold *p = c->p;
    const feature *outer = c->outer;
    vec3 from = outer->corner[line].at, to = outer->corner[(line + 1) % outer->count].at;
    double u = v3_dot(from, p->along[0]), v = v3_dot(from, p->along[1]);
    double du = turn * (v3_dot(to, p->along[0]) - u), dv = turn * (v3_dot(to, p->along[1]) - v);
    double length = hypot(du, dv), inside[2 * MAX_CORNERS + 2];
    clip_corner old[2 * MAX_CORNERS + 2];
    uint32_t count = c->count;
    if (!(length > 0))
        return;
    assert(count <= 2 * MAX_CORNERS + 2);
    memcpy(old, c->corner, count * sizeof *old);
    for (uint32_t i = 0; i < count; i++) {
        inside[i] = (du * (old[i].v - v) - dv * (old[i].u - u)) / length;
        if (fabs(inside[i]) <= LENGTH_TOLERANCE * p->size)
            inside[i] = 0;
    }
    c->count = 0;
    for (uint32_t i = 0; i < count && c->count < 2 * MAX_CORNERS; i++) {
        uint32_t next = i + 1 == count ? 0 : i + 1;
        if (inside[i] >= 0)
            c->corner[c->count++] = old[i];
        if ((inside[i] > 0 && inside[next] < 0) || (inside[i] < 0 && inside[next] > 0)) {
            c->corner[c->count++] =
                make_crossing(c, &old[i], &old[next], inside[i] / (inside[i] - inside[next]), line,
                              inside[i] > 0);
        } else if (inside[i] == 0 && inside[next] < 0) {
            c->corner[c->count - 1].is_inner = false;
            c->corner[c->count - 1].edge = line;
        }
    }
}

/* Clips the inner feature by the outer one, which is a face, and adds the corners of the result. */
static void clip_features(manifold *p, const feature *inner, const feature *outer,
                          uint32_t inner_side) {
    clip_polygon c; /* corners are set below */
    c.p = p;
    c.outer = outer;
    c.inner_side = inner_side;
    c.count = 0;
    for (uint32_t i = 0; i < inner->count; i++) {
        const feature_corner *from = &inner->corner[i];
        c.corner[c.count++] = (clip_corner){.at = from->at,
                                            .u = v3_dot(from->at, p->along[0]),
                                            .v = v3_dot(from->at, p->along[1]),
                                            .side = inner_side,
                                            .kind = ABUT_CONTACT_SOLID,
                                            .element = from->vertex,
                                            .is_inner = true,
                                            .edge = from->edge};
    }
    double rise = v3_dot(outer->normal, p->normal);
    for (uint32_t i = 0; i < outer->count; i++)
        clip_by_edge(&c, i, rise > 0 ? 1 : -1);
    for (uint32_t i = 0; i < c.count; i++) {
        const clip_corner *k = &c.corner[i];
        double up = v3_dot(outer->normal, v3_sub(outer->corner[0].at, k->at)) / rise;
        vec3 other = v3_along(k->at, up, p->normal);
        add_point(p, inner_side ? other : k->at, inner_side ? k->at : other, k->side, k->kind,
                  k->element, k->part);
    }
}

/* Adds both ends of the common part of two edges that are nearly parallel in projection. */
static void add_parallel_edges(manifold *p, const feature *a, const feature *b) {
    vec3 d = v3_sub(a->corner[1].at, a->corner[0].at), e = v3_sub(b->corner[1].at, b->corner[0].at);
    double du = v3_dot(d, p->along[0]), dv = v3_dot(d, p->along[1]);
    double eu = v3_dot(e, p->along[0]), ev = v3_dot(e, p->along[1]);
    double d_sq = du * du + dv * dv, e_sq = eu * eu + ev * ev;
    if (!(fabs(du * ev - dv * eu) < MAX_PARALLEL_SINE * sqrt(d_sq * e_sq)))
        return;
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; k < 2; k++) {
            const feature *own = side ? b : a, *other = side ? a : b;
            vec3 at = own->corner[k].at, to = v3_sub(at, other->corner[0].at);
            double tu = v3_dot(to, p->along[0]), tv = v3_dot(to, p->along[1]);
            double t = side ? (tu * du + tv * dv) / d_sq : (tu * eu + tv * ev) / e_sq;
            if (!(t >= -LENGTH_TOLERANCE && t <= 1 + LENGTH_TOLERANCE))
                continue;
            vec3 there = v3_lerp(other->corner[0].at, other->corner[1].at, real_clamp(t, 0, 1));
            add_point(p, side ? there : at, side ? at : there, (uint32_t)side, ABUT_CONTACT_SOLID,
                      own->corner[k].vertex, 0);
        }
}

/* ---- measures ---- */

static double max_depth(const manifold *p) {
    double deepest = -INFINITY;
    for (uint32_t i = 0; i < p->count; i++)
        deepest = real_max(deepest, p->found[i].point.depth);
    return deepest;
}

/* Sorts by u, then v. */
static void sort_by_position(patch_candidate *list, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        patch_candidate next = list[i];
        uint32_t k = i;
        for (; k > 0 &&
               (list[k - 1].u > next.u || (list[k - 1].u == next.u && list[k - 1].v > next.v));
             k--)
            list[k] = list[k - 1];
        list[k] = next;
    }
}

/* The area of the convex hull of all points (monotone chain, Andrew 1979). */
static double hull_area(const manifold *p) {
    patch_candidate sorted[PATCH_CANDIDATES], hull[2 * PATCH_CANDIDATES];
    if (p->count < 3)
        return 0;
    memcpy(sorted, p->found, p->count * sizeof *sorted);
    sort_by_position(sorted, p->count);
    uint32_t n = 0, min_count = 2;
    for (uint32_t pass = 0; pass < 2; pass++, min_count = n + 1)
        for (uint32_t i = pass; i < p->count; i++) {
            const patch_candidate *c = &sorted[pass ? p->count - 1 - i : i];
            while (n >= min_count &&
                   (hull[n - 1].u - hull[n - 2].u) * (c->v - hull[n - 2].v) -
                           (hull[n - 1].v - hull[n - 2].v) * (c->u - hull[n - 2].u) <=
                       0)
                n--;
            hull[n++] = *c;
        }
    double area = 0;
    for (uint32_t i = 0; i + 1 < n; i++)
        area += (hull[i].u - hull[0].u) * (hull[i + 1].v - hull[0].v) -
                (hull[i].v - hull[0].v) * (hull[i + 1].u - hull[0].u);
    return 0.5 * area;
}

/* ---- ids ---- */

/* The vertices of a feature, projected along the normal. */
typedef struct projected_vertices {
    uint32_t count, vertex[MAX_CORNERS];
    double u[MAX_CORNERS], v[MAX_CORNERS];
    double extent; /* half of the largest distance between two corners of the feature */
} projected_vertices;

/* Points of a cylinder's rim that move around it are excluded. */
static void project_vertices(const manifold *p, uint32_t side, projected_vertices *projected) {
    const feature *f = &p->feature[side];
    bool rim = (side ? p->b : p->a)->kind == ABUT_COLLIDER_CYLINDER && f->count > 2;
    double max_sq = 0;
    projected->count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t k = projected->count;
        projected->vertex[k] = f->corner[i].vertex;
        projected->u[k] = v3_dot(f->corner[i].at, p->along[0]);
        projected->v[k] = v3_dot(f->corner[i].at, p->along[1]);
        for (uint32_t j = 0; j < k; j++) {
            double du = projected->u[k] - projected->u[j], dv = projected->v[k] - projected->v[j];
            max_sq = real_max(max_sq, du * du + dv * dv);
        }
        projected->count += !(rim && projected->vertex[k] % (2 * RIM_POINTS) >= RIM_POINTS);
    }
    projected->extent = 0.5 * sqrt(max_sq);
}

/* The vertex nearest to a point within `radius`, or ABUT_NONE. */
static uint32_t nearest_vertex(const projected_vertices *projected, const patch_candidate *c,
                               double radius) {
    uint32_t nearest = ABUT_NONE;
    double min_sq = radius * radius;
    for (uint32_t i = 0; i < projected->count; i++) {
        double du = projected->u[i] - c->u, dv = projected->v[i] - c->v;
        if (du * du + dv * dv <= min_sq) {
            min_sq = du * du + dv * dv;
            nearest = projected->vertex[i];
        }
    }
    return nearest;
}

/* Gives points near a vertex the id of this vertex and keeps one point for each id: the one whose
 * previous id is lowest, unless another is deeper by more than `slack`. Sorts the points by id, so
 * that the order in which they were found does not matter. */
static void assign_ids(manifold *p, const projected_vertices projected[2], double radius,
                       double slack) {
    patch_candidate sorted[PATCH_CANDIDATES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) { /* by their previous ids */
        uint32_t k = count++;
        for (; k > 0 && patch_point_key(&sorted[k - 1].point) > patch_point_key(&p->found[i].point);
             k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = p->found[i];
    }
    p->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        patch_candidate c = sorted[i];
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t vertex = nearest_vertex(&projected[side], &c, radius);
            if (vertex == ABUT_NONE)
                continue;
            c.point.side = side;
            c.point.kind = ABUT_CONTACT_SOLID;
            c.point.element = vertex;
            c.point.part = 0;
            break;
        }
        uint64_t order = patch_point_key(&c.point);
        uint32_t k = p->count;
        while (k > 0 && patch_point_key(&p->found[k - 1].point) > order)
            k--;
        if (k > 0 && patch_point_key(&p->found[k - 1].point) == order) {
            if (c.point.depth > p->found[k - 1].point.depth + slack)
                p->found[k - 1] = c;
            continue;
        }
        memmove(&p->found[k + 1], &p->found[k], (p->count - k) * sizeof c);
        p->found[k] = c;
        p->count++;
    }
}

/* Restores the depths of the chosen points. The deepest point comes first and has the depth of the
 * patch, which exceeds its own depth by at most the slack. */
static void restore_depths(const manifold *p, patch_answer *answer) {
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < answer->count; i++) {
        patch_point *point = &answer->points[i];
        for (uint32_t k = 0; k < p->count; k++)
            if (patch_point_key(&p->found[k].point) == patch_point_key(point))
                *point = p->found[k].point;
        if (point->depth > answer->points[deepest].depth)
            deepest = i;
    }
    patch_point first = answer->points[deepest];
    answer->points[deepest] = answer->points[0];
    answer->points[0] = first;
    answer->points[0].depth = p->depth;
}

static void fill_patch(manifold *p, uint32_t keep, patch_answer *answer) {
    projected_vertices projected[2];
    for (uint32_t side = 0; side < 2; side++)
        project_vertices(p, side, &projected[side]);
    double extent = real_min(projected[0].extent, projected[1].extent), spread = 0;
    for (uint32_t i = 1; i < p->count; i++)
        spread = real_max(spread, 0.5 * hypot(p->found[i].u - p->found[0].u,
                                              p->found[i].v - p->found[0].v));
    if (p->b->kind == ABUT_COLLIDER_PLANE)
        extent = real_max(extent, spread);
    /* Nearby points have similar depths on faces that are not parallel, too. */
    double flat_range =
        real_min(FLAT_RANGE * real_min(extent, spread), FLAT_FRACTION * (p->depth + p->max_gap));
    double shallowest = p->depth;
    for (uint32_t i = 0; i < p->count; i++)
        shallowest = real_min(shallowest, p->found[i].point.depth);
    double slack =
        real_max(flat_range - (p->depth - shallowest), 0); /* continuous: 0 at the limit */
    vec3 sum = v3(0, 0, 0);
    answer->area = hull_area(p);
    assign_ids(p, projected, VERTEX_RADIUS * extent, slack);
    patch_candidate flat[PATCH_CANDIDATES];
    for (uint32_t i = 0; i < p->count; i++) {
        flat[i] = p->found[i];
        flat[i].point.depth = real_min(flat[i].point.depth + slack, p->depth);
        sum = v3_add(sum, flat[i].point.at);
    }
    patch_choice choice = {.found = flat,
                           .count = p->count,
                           .deepest = p->depth,
                           .depth_tolerance = 1e-6};
    abuti_patch_choose(&choice, keep, p->max_gap, answer);
    restore_depths(p, answer);
    answer->is_face_normal = false;
    answer->normal = p->normal;
    answer->depth = p->depth;
    answer->centre = v3_scale(sum, 1.0 / p->count);
    answer->volume = 0;
}

/* Adds the vertices of a polytope that may support it on a plane: the deepest, and the outermost
 * ones within the margin. */
static void add_outermost_vertices(manifold *p) {
    const solid_body *a = p->a;
    patch_outermost o;
    patch_candidate found[PATCH_DIRECTIONS + 1];
    abuti_patch_init_outermost(&o, PATCH_DIRECTIONS / 2);
    for (uint32_t i = 0; i < a->core.vertex_count; i++) {
        vec3 at = solid_vertex(a, i);
        const patch_candidate c = {{.kind = ABUT_CONTACT_VERTEX, .element = i},
                                   v3_dot(at, p->along[0]),
                                   v3_dot(at, p->along[1])};
        if (v3_dot(at, p->normal) - a->radius <= p->max_gap &&
            abuti_patch_extend_outermost(&o, c.u, c.v))
            abuti_patch_add_outermost(&o, &c, i);
    }
    uint32_t count = abuti_patch_copy_outermost(&o, found);
    found[count].point.element = abuti_solid_support_vertex(a, v3_scale(p->normal, -1));
    for (uint32_t i = 0; i <= count; i++) {
        vec3 at = solid_vertex(a, found[i].point.element);
        add_point(p, at, v3_along(at, -v3_dot(at, p->normal), p->normal), 0, ABUT_CONTACT_SOLID,
                  found[i].point.element, 0);
    }
}

/* The patch of a solid and a plane b, which passes through the origin of the frame. */
static void compute_plane_patch(manifold *p, uint32_t keep, patch_answer *answer) {
    p->normal = p->b->axis;
    abuti_patch_tangents(p->normal, p->along);
    vec3 down = v3_scale(p->normal, -1);
    p->depth = p->a->radius - v3_dot(p->normal, abuti_solid_support(p->a, down));
    if (!(p->depth >= -p->max_gap))
        return;
    if (p->a->kind == ABUT_COLLIDER_CYLINDER) {
        feature f;
        find_feature(p->a, down, MIN_FACE_COSINE, &f);
        for (uint32_t i = 0; i < f.count; i++)
            add_point(p, f.corner[i].at,
                      v3_along(f.corner[i].at, -v3_dot(f.corner[i].at, p->normal), p->normal), 0,
                      ABUT_CONTACT_SOLID, f.corner[i].vertex, 0);
    } else {
        add_outermost_vertices(p);
    }
    fill_patch(p, keep, answer);
}

static vec3 project_to_plane(const manifold *p, vec3 at) {
    return v3_along(at, -v3_dot(at, p->normal), p->normal);
}

/* The support point of a feature of side `inner`. If the feature lies flat, it is the point nearest
 * to the centre of the other body in projection. */
static vec3 support_point(const manifold *p, const feature *f, int inner) {
    vec3 best = f->corner[0].at, middle = project_to_plane(p, inner ? p->a->shift : p->b->shift);
    double sign = inner ? 1 : -1, min_distance = INFINITY;
    for (uint32_t i = 1; i < f->count; i++)
        if (sign * v3_dot(p->normal, v3_sub(f->corner[i].at, best)) > 0)
            best = f->corner[i].at;
    vec3 nearest = best;
    for (uint32_t i = 0; i < f->count && f->count > 1; i++) {
        vec3 from = f->corner[i].at, to = f->corner[i + 1 == f->count ? 0 : i + 1].at;
        segment3 flat = {{project_to_plane(p, from), project_to_plane(p, to)}};
        closest_on_segment closest = segment_closest_point(flat, middle);
        vec3 at = v3_lerp(from, to, closest.parameter);
        if (closest.distance < min_distance &&
            sign * v3_dot(p->normal, v3_sub(at, best)) >= -LENGTH_TOLERANCE * p->size) {
            min_distance = closest.distance;
            nearest = at;
        }
    }
    return nearest;
}

/* Adds the point that realises the depth. For a face normal it is the support point of the other
 * body, on side `inner`. Otherwise it is a vertex, or the crossing of two edges in projection. */
static void add_depth_point(manifold *p, const solid_separation *best, const feature faces[2],
                            int inner) {
    feature f[2];
    vec3 at[2] = {best->at[0], best->at[1]}, down = v3_scale(p->normal, -1);
    int side = inner;
    bool edges = false;
    if (!best->is_face_normal) {
        find_feature(p->a, down, 2, &f[0]);
        find_feature(p->b, p->normal, 2, &f[1]);
        edges = f[0].count == 2 && f[1].count == 2;
        side = f[1].count == 1 && (f[0].count > 1 || p->a->kind == ABUT_COLLIDER_CYLINDER);
    }
    const feature *deep_feature = best->is_face_normal ? &faces[side] : &f[side];
    if (!best->has_points) {
        at[side] = best->is_face_normal ? support_point(p, deep_feature, side)
                                        : deep_feature->corner[0].at;
        if (edges) {
            segment3 flat[2];
            for (int k = 0; k < 4; k++)
                flat[k / 2].end[k % 2] = project_to_plane(p, f[k / 2].corner[k % 2].at);
            vec3 closest = segment_segment_closest_rounded(flat[0], flat[1]).point_a;
            at[0] = v3_lerp(f[0].corner[0].at, f[0].corner[1].at,
                            segment_closest_point(flat[0], closest).parameter);
        }
        at[!side] = v3_along(at[side], side ? best->separation : -best->separation, p->normal);
    }
    add_point(p, at[0], at[1], (uint32_t)side, edges ? ABUT_CONTACT_CROSSING : ABUT_CONTACT_SOLID,
              edges ? f[0].corner[0].edge : deep_feature->corner[0].vertex,
              edges ? f[1].corner[0].edge : 0);
}

/* Computes the patch of two solids in the frame; without points if their distance exceeds the
 * margin. */
static void compute_patch(const solid_body *a, const solid_body *b, double margin, vec3 hint,
                          uint32_t keep, patch_answer *answer) {
    manifold p; /* candidates are set later */
    p.a = a;
    p.b = b;
    p.feature[0].count = p.feature[1].count = 0;
    p.size = a->size + b->size + a->radius + b->radius;
    p.count = 0;
    p.max_gap = margin + 1e-15 * p.size;
    answer->count = 0;
    if (b->kind == ABUT_COLLIDER_PLANE) {
        compute_plane_patch(&p, keep, answer);
        return;
    }
    solid_separation best;
    if (!abuti_solid_find_separation(a, b, p.max_gap + a->radius + b->radius, hint, &best))
        return;
    p.normal = best.normal;
    abuti_patch_tangents(p.normal, p.along);
    p.depth = a->radius + b->radius - best.separation;
    feature *f = p.feature;
    vec3 down = v3_scale(p.normal, -1);
    double min_cosine = best.is_face_normal ? MIN_FACE_COSINE : STRICT_FACE_COSINE;
    find_feature(a, down, min_cosine, &f[0]);
    find_feature(b, p.normal, min_cosine, &f[1]);
    bool faces[2] = {f[0].count > 2, f[1].count > 2};
    if (faces[0] && faces[1]) /* the face that is more nearly perpendicular to the normal clips */
        faces[0] = -v3_dot(f[0].normal, p.normal) > v3_dot(f[1].normal, p.normal) + 1e-12;
    if (faces[0] || faces[1])
        clip_features(&p, &f[faces[0]], &f[!faces[0]], faces[0]);
    else if (f[0].count == 2 && f[1].count == 2)
        add_parallel_edges(&p, &f[0], &f[1]);
    /* The deepest rim point of a cylinder's end that lies flat is omitted. It is deeper by at most
     * 0.08 of the tilt. Vertices of a face that is tilted against the end may be on the rim. */
    double omitted_depth = 0;
    bool parallel =
        f[0].count > 2 && f[1].count > 2 &&
        v3_length_sq(v3_cross(f[0].normal, f[1].normal)) <= 4 * FLAT_TILT_SINE * FLAT_TILT_SINE;
    for (int side = 0; side < 2 && parallel; side++)
        if ((side ? b : a)->kind == ABUT_COLLIDER_CYLINDER && f[side].count > 2)
            omitted_depth += 0.08 * FLAT_TILT_SINE * (side ? b : a)->cylinder_radius;
    if (!(max_depth(&p) >= p.depth - LENGTH_TOLERANCE * p.size - omitted_depth))
        add_depth_point(&p, &best, f, faces[0]);
    fill_patch(&p, keep, answer);
}

/* ---- public function ---- */

/* Whether, of two equal solids, the one with pose a comes first. The coordinate with the largest
 * difference decides, so that bodies resting on each other keep their order while they vibrate. The
 * factors avoid ties of solids that are diagonally above each other, as bricks are. */
static bool poses_are_ordered(const abut_pose *a, const abut_pose *b) {
    vec3 offset = v3_sub(b->translation, a->translation);
    double x = offset.x, y = 1.1 * offset.y, z = 1.3 * offset.z;
    double largest = fabs(z) >= fabs(x) && fabs(z) >= fabs(y) ? z : fabs(y) >= fabs(x) ? y : x;
    return largest != 0 ? largest < 0 : memcmp(a, b, sizeof *a) <= 0;
}

/* Whether a comes first: by kind, with planes last, then by parameters, then by pose. */
static bool solids_are_ordered(const abut_collider *a, const abut_collider *b) {
    if (a->kind != b->kind)
        return a->kind > b->kind;
    static const size_t bytes[] = {[ABUT_COLLIDER_PLANE] = sizeof(abut_plane),
                                   [ABUT_COLLIDER_SPHERE] = sizeof(abut_sphere),
                                   [ABUT_COLLIDER_CAPSULE] = sizeof(abut_capsule),
                                   [ABUT_COLLIDER_BOX] = sizeof(abut_vec3),
                                   [ABUT_COLLIDER_CYLINDER] = sizeof(abut_cylinder)};
    int order = 0;
    if (a->kind != ABUT_COLLIDER_HULL) {
        order = memcmp(&a->shape, &b->shape, bytes[a->kind]);
    } else {
        order = abuti_patch_order(a->shape.hull, b->shape.hull);
    }
    return order ? order < 0 : poses_are_ordered(&a->pose, &b->pose);
}

abut_status abuti_contact_primitives(const abut_collider *a, const abut_collider *b,
                                     const abut_patch_options *options, abut_patches *patches) {
    patch_frame frame = {.function = "abut_contact_find"};
    abut_patch_options o;
    abut_status status = abuti_patch_options(frame.function, options, patches, &o);
    if (!status)
        status = abuti_solid_check(frame.function, "a", a);
    if (!status)
        status = abuti_solid_check(frame.function, "b", b);
    if (status)
        return status;
    frame.swapped = !solids_are_ordered(a, b);
    frame.a = o.a;
    frame.b = o.b;
    solid_body body[2];
    patch_answer answer;
    answer.count = 0;
    if (a->kind != ABUT_COLLIDER_PLANE || b->kind != ABUT_COLLIDER_PLANE) {
        abuti_solid_transform(frame.swapped ? b : a, frame.swapped ? a : b, &body[0], &body[1],
                              &frame.motion, &frame.origin);
        mat3 back = m3_transpose(&frame.motion.rotation);
        vec3 hint = m3_apply(&back, v3_scale(o.hint, frame.swapped ? -1 : 1));
        compute_patch(&body[0], &body[1], o.margin, hint, o.max_contacts, &answer);
    }
    return abuti_patch_write(&frame, &answer, answer.count > 0, true,
                             abuti_guaranteed("Both solids are convex: a shift by the depth along "
                                              "the normal separates them."),
                             patches);
}
