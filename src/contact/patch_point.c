/* What a region of the overlap says to a solver: which way out, how deep, and a few points.
 *
 * Normals that are measured: -S / |S| of patch_contour.c, the direction in which the overlap
 * shrinks fastest; and those of faces of one body that look one way and hold a part of S, which do
 * not tilt where the bodies overhang. patch.c chooses.
 *
 * Depth, at a place across the normal: from where a ends below to where b ends above, along the
 * normal. Over a plain region both are told by the triangles that are inside the other body, with
 * the true planes of these, not the skin's. Where the bodies go through each other (both sides of a
 * part are in the other) by all triangles of both, or by two rays where these are many.
 *
 * Points: the outermost of the contour, measured a little inwards, since what is right at a side
 * face is told by chance; the lowest and outermost inside vertices of a, the highest and outermost
 * of b. patch_choose.c keeps a few of them.
 */
#include "contact/patch.h"

#include <abut/ray.h>

#include <math.h>
#include <string.h>

#define WALL_COSINE 0.7     /* between the normals of a wall and of its triangles: 45 degrees */
#define NARROW_COSINE 0.9   /* the same of narrow walls: 26 degrees, as of gaps */
#define LONG_COLUMN 0.05    /* of the smaller body: what is longer may belong to another wall */
#define RIM_COLUMN 0.2      /* the same where faces look about one way: those at their rim, if it */
#define RIM_THICKNESS 10.0  /* times as long as the region is thick on average; of a pyramid 3 */
#define SHORT_COLUMN 0.0125 /* the same: what is shorter belongs to this one */
#define DEEP_WALL 0.05      /* of the smaller body: walls that are deeper, and */
#define DEEPER_WALL 2.0     /* than this many times the shallowest, are not ways out */
#define LARGE_WALL 0.02     /* of all areas: smaller walls only count if they are shallow: */
#define WIDE_WALL 0.1       /* of their width, the root of the area */
#define LEAST_WALL 1e-4     /* of all areas: smaller walls do not count */
#define EDGE_COSINE \
    0.7            /* between the normal and the inward direction at a boundary edge: 45 degrees */
#define INSET 0.02 /* of the way from the contour to its middle */
#define SAME 0.9999995 /* the cosine of a thousandth: faces that look one way */
#define SOME 0.2       /* of |S|: what such faces hold, to be tried */
#define ALL 0.98       /* the same, to be the only ones */
#define MUCH 0.3       /* the same where nothing is checked */
#define PIERCED 0.35   /* rho below this: through each other */
#define PART 0.15    /* of what a side has inside: faces that are tried there beside the largest */
#define CLEARLY 0.97 /* times as deep, or less */
#define AS_DEEP 2e-3 /* of the depth, by which others are as deep */
#define NAMED 1e-3   /* of the contour: a vertex so near gives its name */
#define NEAR_SKIN 0.05 /* of the extent: crossings of skins that are further away are others */
#define NARROW 16.0    /* radii of normals of points: contours that are shorter are of one place */
#define LITTLE 1e-6 /* of the contour: no difference by which a vertex is deeper, or further in */

enum {
    DIRECTIONS = PATCH_DIRECTIONS, /* across the normal, and as many opposite ones */
    CANDIDATES = PATCH_CANDIDATES, /* at least 4 DIRECTIONS + SEEDS + 3 */
    FACES = 3,                     /* directions of faces of each body that are tried */
    WHOLE = 8192,                  /* triangles of two bodies that are looked at as a whole */
    EXITS = 4096,                  /* vertices of a part inside whose ways out are looked at */
    COLUMNS = 8,                   /* that are measured before a whole region is */
    SEEDS = 16                     /* places from which the far side is looked for */
};

typedef patch_candidate candidate;

typedef struct measure {
    patch_work *work;
    const patch_region *region;
    vec3 normal, along[2];
    vec3 centre;  /* of the points of the contour that count */
    bool is_wall; /* only its triangles count */
    bool rays;
    bool deeper;   /* what is added is only there for its depth */
    uint32_t keep; /* points that are wanted; 0 = the depth alone */
    uint32_t count, plain_count;
    candidate found[CANDIDATES];
    double deepest;       /* of them */
    double plain_deepest; /* of those that are not only there for their depth */
    double place;         /* what is nearer is in one place, or as deep */
} measure;

static vec3 corner_true(const patch_body *body, uint32_t face, int k) {
    return patch_true(body, body->skin->corner[3 * (size_t)face + (size_t)k]);
}

static vec3 middle_of(const patch_body *body, uint32_t face) {
    vec3 sum = v3_add(corner_true(body, face, 0), corner_true(body, face, 1));
    return v3_scale(v3_add(sum, corner_true(body, face, 2)), 1.0 / 3);
}

/* ---- normals ---- */

/* What a way to try is. */
typedef struct patch_way {
    vec3 normal;
    double held; /* of the area, by the faces that look so; 0 = no face does */
} patch_way;

static bool among(const patch_way *ways, int count, vec3 normal) {
    for (int i = 0; i < count; i++)
        if (v3_dot(ways[i].normal, normal) > SAME)
            return true;
    return false;
}

static vec3 true_normal(const patch_body *body, uint32_t face) {
    return abuti_unit_normal(corner_true(body, face, 0), corner_true(body, face, 1),
                             corner_true(body, face, 2));
}

/* A power of two by which areas become such that their squares neither overflow nor underflow. */
static double area_unit(const patch_work *work) {
    int exponent;
    frexp(real_min(work->body[0].skin->size, work->body[1].skin->size), &exponent);
    return ldexp(1, exponent < -500 ? 1000 : -2 * exponent);
}

/* The direction of the faces of one side that look one way, and how much they hold: those with the
 * largest face of all that look otherwise than the ways so far. */
static patch_way dominant(const patch_work *work, const patch_region *r, uint32_t side,
                          const patch_way *ways, int count) {
    const patch_facet *facets = work->facets;
    const patch_body *body = &work->body[side];
    double largest = 0, turn = side == 0 ? -1 : 1, unit = area_unit(work);
    patch_way found = {v3(0, 0, 0), 0};
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        double size = v3_length_sq(v3_scale(facets[i].area, unit));
        if (facets[i].side != side || !(size > largest))
            continue;
        vec3 normal = v3_scale(true_normal(body, facets[i].face), turn);
        if (among(ways, count, normal))
            continue;
        largest = size;
        found.normal = normal;
    }
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        vec3 area = v3_scale(facets[i].area, unit);
        double along = turn * v3_dot(area, found.normal);
        if (facets[i].side == side && along > 0 &&
            along * along >= SAME * SAME * v3_length_sq(area))
            found.held += along / unit;
    }
    return found;
}

/* The area of what one side has inside. */
static double area_of(const patch_work *work, const patch_region *r, uint32_t side) {
    double sum = 0;
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++)
        if (work->facets[i].side == side)
            sum += patch_area_length(work->facets[i].area);
    return sum;
}

/* 1 for a plain contact, near 0 where bodies go through each other. */
static double plainness(const patch_work *work, const patch_region *r, vec3 normal) {
    double sum[2] = {0, 0};
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++)
        sum[work->facets[i].side] += fabs(v3_dot(work->facets[i].area, normal));
    double most = real_max(sum[0], sum[1]);
    return most > 0 ? real_min(1, patch_area_length(r->area) / most) : 1;
}

bool abuti_patch_cancels(const patch_work *work, const patch_region *r) {
    return v3_max_abs(r->area) == 0 || plainness(work, r, v3_normalise(r->area)) < PIERCED;
}

/* ---- rays ---- */

/* How far it is from a point along a direction of the frame to where a body ends. If the point is
 * outside, first where it begins is looked for: ahead, and if it is not there, behind. */
static bool reach(const patch_body *body, vec3 from, vec3 way, double *far) {
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
    const vec3 in =
        v3_normalise(v3_cross(v3_cross(along, v3_sub(middle_of(body, faces[0]), from)), along));
    return v3_dot(in, m->normal) * (point->side ? -1 : 1) > EDGE_COSINE;
}

/* Where a ends below and b above, by rays from a point; the body of `place` may end there. */
static bool by_rays(const measure *m, vec3 from, vec3 place, const patch_point *point, double *low,
                    double *high) {
    const double at = v3_dot(from, m->normal), end = v3_dot(place, m->normal);
    const bool ends = ends_own_body(m, point);
    double down = at - end, up = end - at;
    if ((!(ends && point->side == 0) &&
         !reach(&m->work->body[0], from, v3_scale(m->normal, -1), &down)) ||
        (!(ends && point->side == 1) && !reach(&m->work->body[1], from, m->normal, &up)))
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
    candidate *c = &m->found[m->deeper ? m->plain_count : m->count];
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
           v3_dot(true_normal(body, faces[0]), true_normal(body, faces[1])) > SAME;
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
    vec3 p = corner_true(other, c->face, 0);
    vec3 n = v3_cross(v3_sub(corner_true(other, c->face, 1), p),
                      v3_sub(corner_true(other, c->face, 2), p));
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
        if (v3_dot(true_normal(&m->work->body[side], faces[i]), m->normal) * (side ? 1 : -1) >
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
    vec3 p = corner_true(body, a->face, k), q = corner_true(body, a->face, k == 2 ? 0 : k + 1);
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

static void choose(const measure *m, uint32_t keep, double gap, patch_answer *answer) {
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

static void start(measure *m, patch_work *work, const patch_region *r, vec3 normal, uint32_t keep) {
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
static patch_scope scope_of(const patch_work *work, const patch_region *r, vec3 normal) {
    if (work->is_sheet_edge)
        return PATCH_INSIDE;
    return plainness(work, r, normal) < PIERCED ? PATCH_BODIES : PATCH_REGION;
}

/* Measures what the view has; ends early where it is deeper than `limit`. */
static void measure_seen(measure *m, patch_scope scope, double limit) {
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
static abut_status measure_along(measure *m, patch_work *work, const patch_region *r, vec3 normal,
                                 uint32_t keep, patch_scope scope, double limit) {
    start(m, work, r, normal, keep);
    if (scope != PATCH_INSIDE &&
        (scope != PATCH_BODIES ||
         work->body[0].bvh->triangle_count + work->body[1].bvh->triangle_count <= WHOLE)) {
        abut_status status = abuti_patch_see(work, r, normal, scope);
        if (status)
            return status;
        if (work->view.count)
            measure_seen(m, scope, limit);
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
static double depth_at(patch_work *work, const patch_region *r, vec3 normal, double least_cosine,
                       vec3 at) {
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
static double depth_through(patch_work *work, const patch_region *r, vec3 normal, double limit) {
    measure m;
    const patch_point point = {.kind = ABUT_CONTACT_CROSSING, .element = ABUT_NONE};
    uint32_t step = (r->point_end - r->point_begin) / COLUMNS + 1;
    start(&m, work, r, normal, 0);
    m.rays = true;
    for (uint32_t i = r->point_begin; i < r->point_end && !(m.deepest > limit); i += step) {
        vec3 at = work->crossings[work->points[i]].at;
        add(&m, v3_along(at, INSET, v3_sub(r->centre, at)), &point);
    }
    return m.deepest;
}

/* Of a contour that is hardly there areas say nothing: the mean of the faces along it. */
static vec3 speck_way(const patch_work *work, const patch_region *r, uint32_t region) {
    vec3 sum = v3(0, 0, 0);
    for (size_t i = 0; i < work->segment_count; i++) {
        const patch_segment *s = &work->segments[i];
        if (work->region_of[s->from] != region)
            continue;
        double length =
            v3_length(v3_sub(work->crossings[s->to].at, work->crossings[s->from].at)) / r->length;
        sum = v3_along(sum, length, true_normal(&work->body[1], s->face[1]));
        sum = v3_along(sum, -length, true_normal(&work->body[0], s->face[0]));
    }
    return v3_normalise(sum);
}

/* The normals to try; few where nothing will be checked. *is_pierced: a body has gone through the
 * other, and opposite normals are tried too. So are those of faces across S that are larger than S:
 * both sides of a plate that lies in another at the same height. */
static int ways_of(const patch_work *work, const patch_region *r, bool unchecked,
                   patch_way ways[PATCH_WAYS], bool *is_pierced) {
    double size = patch_area_length(r->area);
    vec3 steepest = v3_scale(v3_normalise(r->area), -1);
    int count = 0;
    *is_pierced = false;
    if (r->length < PATCH_SPECK * real_min(work->body[0].skin->size, work->body[1].skin->size)) {
        vec3 way = speck_way(work, r, (uint32_t)(r - work->regions));
        if (v3_max_abs(way) > 0) {
            ways[0] = (patch_way){way, 0};
            return 1;
        }
    }
    *is_pierced = abuti_patch_cancels(work, r);
    for (uint32_t side = 0; side < 2; side++)
        for (int k = 0; k < (*is_pierced && unchecked ? 1 : FACES); k++) {
            patch_way way = dominant(work, r, side, ways, count);
            if (!(way.held > (unchecked ? MUCH : SOME) * size) ||
                (*is_pierced && k && way.held < PART * area_of(work, r, side)))
                break;
            const double cosine = v3_dot(way.normal, steepest);
            if (!*is_pierced && way.held > ALL * size && cosine > ALL &&
                real_max(area_of(work, r, 0), area_of(work, r, 1)) < 2 * size) {
                ways[0] = way;
                return 1;
            }
            const bool is_across = fabs(cosine) < SOME && way.held > size;
            if (!*is_pierced && !is_across && cosine <= SOME)
                break;
            ways[count++] = way;
            if (*is_pierced || is_across)
                ways[count++] = (patch_way){v3_scale(way.normal, -1), way.held};
        }
    if (size > 0 && !among(ways, count, steepest)) {
        ways[count++] = (patch_way){steepest, 0};
        if (*is_pierced)
            ways[count++] = (patch_way){v3_scale(steepest, -1), 0};
    }
    return count;
}

int abuti_patch_ways(const patch_work *work, const patch_region *r, vec3 normals[PATCH_WAYS]) {
    patch_way ways[PATCH_WAYS];
    bool is_pierced;
    int count = ways_of(work, r, false, ways, &is_pierced);
    for (int i = 0; i < count; i++)
        normals[i] = ways[i].normal;
    return count;
}

/* Whether an answer comes before another: less deep; but a normal of faces is only left for another
 * that is clearly less deep. */
static bool better(const patch_answer *a, const patch_answer *b) {
    if (a->of_faces && !b->of_faces)
        return !(a->depth > 0 && b->depth < CLEARLY * a->depth);
    if (b->of_faces && !a->of_faces)
        return a->depth < CLEARLY * b->depth && b->depth > 0;
    return a->depth < b->depth;
}

static void answer_with(const measure *m, uint32_t keep, double gap, patch_answer *answer) {
    const patch_region *r = m->region;
    *answer = (patch_answer){.normal = m->normal,
                             .depth = m->deepest,
                             .area = fabs(v3_dot(r->area, m->normal)),
                             .volume = r->volume,
                             .centre = r->centre,
                             .region = (uint32_t)(r - m->work->regions)};
    choose(m, keep, gap, answer);
    if (m->is_wall)
        answer->centre = patch_middle(answer);
}

static abut_status answer_along(patch_work *work, const patch_region *r, vec3 normal,
                                patch_scope scope, uint32_t keep, double gap,
                                patch_answer *answer) {
    measure m;
    abut_status status = measure_along(&m, work, r, normal, keep, scope, INFINITY);
    if (!status)
        answer_with(&m, keep, gap, answer);
    return status;
}

abut_status abuti_patch_points_along(patch_work *work, const patch_region *r, vec3 normal,
                                     patch_scope scope, uint32_t keep, double gap,
                                     patch_answer *answer) {
    scope = scope == PATCH_AUTO ? scope_of(work, r, normal) : scope;
    return answer_along(work, r, normal, scope, keep, gap, answer);
}

/* Measures a wall. Where it ends, columns of the overlap along its normal may be those of a wall
 * beside it and many times as long, as at the rim of a tray: then those longer than `column` do not
 * count. */
static abut_status measure_wall(patch_work *work, const patch_region *r, vec3 normal,
                                patch_scope scope, double column, uint32_t keep, double gap,
                                patch_answer *answer) {
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    abut_status status = answer_along(work, r, normal, scope, keep, gap, answer);
    if (status || !answer->count || answer->depth < column * size || scope == PATCH_BODIES)
        return status;
    if (scope != PATCH_WALL &&
        answer->depth * patch_area_length(r->area) < RIM_THICKNESS * fabs(r->volume))
        return ABUT_OK;
    measure local;
    start(&local, work, r, normal, keep);
    work->view.longest = column * size;
    measure_seen(&local, scope, SHORT_COLUMN * size); /* the view is still that of the wall */
    work->view.longest = INFINITY;
    if (local.count && local.deepest < SHORT_COLUMN * size) {
        answer_with(&local, keep, gap, answer);
        answer->is_rim = true;
    }
    return ABUT_OK;
}

/* Whether a way is known to be deeper than an answer along faces, without being measured. */
static bool is_deeper(patch_work *work, const patch_region *r, const patch_way *way, bool pierced,
                      const patch_answer *best) {
    if (!best->of_faces || !(best->depth > 0))
        return false;
    double limit = (way->held > 0 ? 1 : CLEARLY) * best->depth;
    double depth = pierced ? depth_through(work, r, way->normal, limit)
                           : depth_at(work, r, way->normal, 0, best->points[0].at);
    return depth > limit;
}

abut_status abuti_patch_points(patch_work *work, const patch_region *r, vec3 hint, uint32_t keep,
                               double gap, bool unchecked, patch_answer *best) {
    patch_way ways[PATCH_WAYS];
    bool is_pierced, has_hint = v3_max_abs(hint) > 0;
    int count = ways_of(work, r, unchecked, ways, &is_pierced);
    best->count = 0;
    if (is_pierced && has_hint) { /* those on its side */
        int kept = 0;
        for (int i = 0; i < count; i++)
            if (v3_dot(ways[i].normal, hint) > 0)
                ways[kept++] = ways[i];
        count = kept;
        if (!count)
            ways[count++] = (patch_way){v3_normalise(hint), 0};
    }
    for (int i = 0; i < count; i++) {
        patch_answer answer;
        if (best->count && is_deeper(work, r, &ways[i], is_pierced, best))
            continue;
        abut_status status =
            measure_wall(work, r, ways[i].normal, scope_of(work, r, ways[i].normal), RIM_COLUMN,
                         keep, gap, &answer);
        if (status)
            return status;
        answer.of_faces = ways[i].held > 0;
        if (answer.count && (!best->count || better(&answer, best)))
            *best = answer;
    }
    return ABUT_OK;
}

/* ---- walls ---- */

/* The area of a facet along the normal of a wall that it belongs to: towards a. */
static vec3 area_towards_a(const patch_facet *f) {
    return f->side ? f->area : v3_scale(f->area, -1);
}

/* The sum of the areas within the cone of a wall around a normal. With `taken`, of those that
 * belong to no wall, which then belong to this one. */
static vec3 sum_cone(patch_work *work, const patch_region *r, vec3 normal, bool *taken, bool take) {
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        vec3 area = area_towards_a(&work->facets[i]);
        double along = v3_dot(area, normal), length = patch_area_length(area);
        if (taken[i - r->facet_begin] || !(along > work->view.wall_cosine * length))
            continue;
        sum = v3_add(sum, area);
        taken[i - r->facet_begin] = take;
        work->has_wide_walls |= take && along < NARROW_COSINE * length;
    }
    return sum;
}

void abuti_patch_local_normals(const patch_work *work, patch_answer *answer) {
    const patch_region *r = &work->regions[answer->region];
    patch_around around[PATCH_POINTS];
    bool tilted = false;
    for (uint32_t k = 1; k < answer->count; k++) {
        const patch_point *point = &answer->points[k];
        around[k] = abuti_patch_around(work, point->at, answer->depth, 1u << !point->side);
        if (r->length < NARROW * around[k].radius)
            return;
    }
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        const patch_facet *f = &work->facets[i];
        vec3 normal = v3_normalise(area_towards_a(f));
        double cosine = v3_dot(normal, answer->normal);
        if (cosine < WALL_COSINE)
            continue;
        tilted |= cosine < PATCH_FLAT_COSINE;
        for (uint32_t k = 1; k < answer->count; k++)
            abuti_patch_around_add(&around[k], f->side, f->face, normal);
    }
    for (uint32_t k = 1; k < answer->count && tilted; k++)
        answer->points[k].normal =
            patch_local_normal(abuti_patch_around_normal(&around[k]), answer->normal);
}

static abut_status measure_walls(patch_work *work, const patch_region *r, uint32_t keep, double gap,
                                 patch_answer answers[PATCH_WAYS], int *count) {
    uint32_t facets = r->facet_end - r->facet_begin;
    bool *taken = abuti_patch_take(work->memory, facets, sizeof *taken);
    double total = area_of(work, r, 0) + area_of(work, r, 1), limit = INFINITY;
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    *count = 0;
    if (!taken)
        return ABUT_ERROR_MEMORY;
    memset(taken, 0, facets * sizeof *taken);
    for (int i = 0; i < PATCH_WAYS; i++) {
        double largest = LEAST_WALL * total;
        vec3 normal = v3(0, 0, 0), middle = v3(0, 0, 0);
        for (uint32_t k = 0; k < facets; k++) {
            const patch_facet *f = &work->facets[r->facet_begin + k];
            double area = patch_area_length(f->area);
            if (taken[k] || !(area > largest / facets))
                continue;
            largest = area * facets;
            normal = v3_normalise(area_towards_a(f));
            middle = middle_of(&work->body[f->side], f->face);
        }
        if (v3_max_abs(normal) == 0)
            break;
        vec3 mean = v3_normalise(sum_cone(work, r, normal, taken, false));
        normal = v3_max_abs(mean) > 0 ? mean : normal;
        double area = v3_dot(sum_cone(work, r, normal, taken, true), normal);
        double widest = area > LARGE_WALL * total ? INFINITY : WIDE_WALL * sqrt(area);
        if (depth_at(work, r, normal, work->view.wall_cosine, middle) >
            (*count ? real_min(limit, widest) : widest))
            continue;
        patch_answer answer;
        abut_status status =
            measure_wall(work, r, normal, PATCH_WALL, LONG_COLUMN, keep, gap, &answer);
        if (status)
            return status;
        if (!answer.count || answer.depth > widest)
            continue;
        answer.of_faces = true;
        answer.area = 0.5 * area; /* of triangles of both bodies */
        int at = (*count)++;
        for (; at > 0 && answers[at - 1].depth < answer.depth; at--)
            answers[at] = answers[at - 1];
        answers[at] = answer;
        limit = real_max(DEEP_WALL * size, DEEPER_WALL * answers[*count - 1].depth);
    }
    return ABUT_OK;
}

abut_status abuti_patch_walls(patch_work *work, const patch_region *r, bool narrow, uint32_t keep,
                              double gap, patch_answer answers[PATCH_WAYS], int *count) {
    narrow = narrow && (work->walls_of != r || work->has_wide_walls);
    work->view.wall_cosine = narrow ? NARROW_COSINE : WALL_COSINE;
    if (narrow)
        return measure_walls(work, r, keep, gap, answers, count);
    if (!work->walls)
        work->walls = abuti_patch_take(work->memory, PATCH_WAYS, sizeof *work->walls);
    if (!work->walls)
        return ABUT_ERROR_MEMORY;
    if (work->walls_of != r) {
        work->walls_of = NULL;
        work->has_wide_walls = false;
        abut_status status = measure_walls(work, r, keep, gap, work->walls, &work->wall_count);
        if (status)
            return status;
        work->walls_of = r;
    }
    *count = work->wall_count;
    memcpy(answers, work->walls, (size_t)*count * sizeof *answers);
    return ABUT_OK;
}

/* ---- a part inside the other body ---- */

/* Whether a vertex belongs to a connected part. */
static bool is_of_part(const abut_topology_arrays *view, uint32_t vertex, uint32_t part) {
    uint32_t first = view->vertex_face_begin[vertex];
    return first != view->vertex_face_begin[vertex + 1] &&
           view->triangle_component[view->vertex_faces[first]] == part;
}

/* Adds vertices of the inner part as they leave the outer body along the normal; false as soon as
 * one is deeper than `limit`. */
static bool add_exits(measure *m, uint32_t inner, const uint32_t *vertices, uint32_t count,
                      double limit) {
    const patch_body *body = &m->work->body[inner];
    vec3 way = inner ? v3_scale(m->normal, -1) : m->normal;
    m->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        double far;
        vec3 at = patch_true(body, vertices[i]);
        if (!reach(&m->work->body[!inner], at, way, &far))
            continue;
        if (far > limit)
            return false;
        candidate *c = &m->found[m->count++];
        c->u = v3_dot(at, m->along[0]);
        c->v = v3_dot(at, m->along[1]);
        c->point = (patch_point){.at = v3_along(at, 0.5 * far, way),
                                 .depth = far,
                                 .side = inner,
                                 .kind = ABUT_CONTACT_VERTEX,
                                 .element = vertices[i]};
        m->deepest = real_max(m->deepest, far);
    }
    return m->count > 0;
}

void abuti_patch_inside(patch_work *work, uint32_t inner, uint32_t part, vec3 hint, uint32_t keep,
                        patch_answer *answer) {
    const patch_body *body = &work->body[inner];
    const abut_topology_arrays *view = &body->skin->view;
    uint32_t vertices[CANDIDATES], all = 0, count = 0, seen = 0;
    box3 box = box_empty();
    for (uint32_t v = 0; v < view->vertex_count; v++)
        all += is_of_part(view, v, part);
    uint32_t step = all / CANDIDATES + 1;
    for (uint32_t v = 0; v < view->vertex_count; v++)
        if (is_of_part(view, v, part)) {
            box = box_grow(box, patch_true(body, v));
            if (seen++ % step == 0)
                vertices[count++] = v;
        }
    vec3 centre = box_centre(box);
    patch_region region = {.centre = centre, .origin = centre};
    double least = INFINITY;
    measure m;
    answer->count = 0;
    for (int i = 0; i < 28; i++) {
        vec3 way = v3(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1);
        if (i == 27)
            way = hint;
        way = v3_normalise(way);
        if (v3_max_abs(way) == 0)
            continue;
        start(&m, work, &region, way, keep);
        if (!add_exits(&m, inner, vertices, count, least))
            continue;
        if (m.deepest >= least)
            continue;
        least = answer->depth = m.deepest;
        answer->normal = way;
        choose(&m, keep, 0, answer);
    }
    step = all / EXITS + 1;
    seen = 0;
    for (uint32_t v = 0; v < view->vertex_count && answer->count;
         v++) /* the deepest of nearly all */
        if (is_of_part(view, v, part) && seen++ % step == 0) {
            start(&m, work, &region, answer->normal, keep);
            if (add_exits(&m, inner, &v, 1, INFINITY) && m.deepest > answer->depth) {
                answer->points[0] = m.found[0].point;
                answer->depth = m.deepest;
            }
        }
    answer->centre = centre;
    answer->region = ABUT_NONE;
    answer->area = answer->volume = 0;
}

/* A lower bound of the depth of all regions along a normal: the largest of a few columns, or the
 * first that is above the limit. */
static double depth_of_columns(patch_work *work, vec3 normal, double limit) {
    double depth = -INFINITY;
    for (size_t i = 0; i < work->region_count && i < COLUMNS && !(depth > limit); i++) {
        const patch_region *r = &work->regions[i];
        if (!r->gap)
            depth = real_max(depth, scope_of(work, r, normal) == PATCH_BODIES
                                        ? depth_through(work, r, normal, limit)
                                        : depth_at(work, r, normal, 0, r->centre));
    }
    return depth;
}

abut_status abuti_patch_depth(patch_work *work, vec3 normal, double limit, double *depth) {
    measure m;
    bool whole = false; /* both bodies have been measured as a whole, all regions with them */
    *depth = limit < INFINITY && !work->is_sheet_edge ? depth_of_columns(work, normal, limit)
                                                      : -INFINITY;
    for (size_t i = 0; i < work->region_count && !(*depth > limit); i++) {
        const patch_region *r = &work->regions[i];
        patch_scope scope = r->gap ? PATCH_REGION : scope_of(work, r, normal);
        if (r->gap || (whole && scope == PATCH_BODIES))
            continue;
        abut_status status = measure_along(&m, work, r, normal, 0, scope, limit);
        if (status)
            return status;
        *depth = real_max(*depth, m.deepest);
        whole |= scope == PATCH_BODIES && !m.rays;
    }
    return ABUT_OK;
}
