/* The direction in which two convex cores have the largest separation.
 *
 * Let s(n) be the minimum of n . x over a minus the maximum over b. A unit n with s(n) >= 0
 * separates them, and the largest s is their distance. If they overlap, a shift of a by -s(n) along
 * n separates them, and the largest s gives the shortest shift. So every n that is tried gives a
 * valid result, and the best n makes it exact:
 *  - apart: the direction between the closest points (GJK: Gilbert, Johnson and Keerthi 1988);
 *  - overlapping polytopes: face normals of both, and products of two edges whose arcs of normals
 *    cross on the Gauss map (separating axis test, Gregorius 2013, "The separating axis test
 *    between convex polyhedra"). These are all faces of the Minkowski difference, and its surface
 *    point nearest to the origin is on one of them;
 *  - overlapping cylinder and polytope: also the axis, the product of the axis with each edge,
 *    directions from the axis to vertices, and for each edge the best normal of its arc. Bounds
 *    prune this search: -s(n) >= p . n for every point p of the difference, so two points bound an
 *    arc;
 *  - two overlapping cylinders: also the best normals perpendicular to each axis, found the same
 *    way, and all others by triangles of directions, with bounds of the same kind.
 *
 * Of equally good normals, one of faces or edges is preferred to that of closest points, since the
 * latter has a large rounding error if the gap is small.
 */
#include "contact/solid.h"

#include "geom/solid_shared.h"

#include <math.h>

#define TOUCH_TOLERANCE 1e-11 /* of the size: cores with a smaller distance count as touching */
#define EQUAL_TOLERANCE 1e-12 /* of the size: separations that differ by less are equal */
/* Of the size: for smaller gaps products of edges are more accurate than closest points. */
#define NEAR_GAP 1e-3

/* Of the size: a search of all normals ends when its bounds are this tight. */
#define SEARCH_TOLERANCE 3e-7

enum {
    GJK_STEPS = 256, /* limits of iterations; results are valid, but not optimal, at a limit */
    ARC_STEPS = 48,
    SPHERE_STEPS = 4096,
    ARC_PARTS = 8,     /* of a circle of normals */
    SPHERE_STACK = 64, /* pending triangles of directions */
    CACHED_EDGES = 64, /* edges of b that are transformed once */
    KNOWN_POINTS = 8   /* of the difference, kept as bounds */
};

typedef struct normal_search {
    const solid_body *a, *b;
    double size;
    double min_gain; /* of the size: a normal must be better by more than this */
    vec3 hint;
    bool has_best; /* `best` is set */
    solid_separation best;
    vec3 known[KNOWN_POINTS]; /* the last points of the difference: each bounds the separation along
                                 all normals */
    uint32_t known_count;
} normal_search;

/* ---- separations ---- */

/* The support point of the difference b - a along n. */
static vec3 difference_support(normal_search *s, vec3 n) {
    vec3 p = v3_sub(abuti_solid_support(s->b, n), abuti_solid_support(s->a, v3_scale(n, -1)));
    s->known[s->known_count++ % KNOWN_POINTS] = p;
    return p;
}

/* Whether the known points prove that no unit vector between `count` given ones is better than the
 * best by more than `gain`. */
static bool bounds_exclude(const normal_search *s, const vec3 *n, int count, double gain) {
    uint32_t known = s->known_count < KNOWN_POINTS ? s->known_count : KNOWN_POINTS;
    for (uint32_t i = 0; i < known && s->has_best; i++) {
        double minimum = INFINITY;
        for (int k = 0; k < count; k++)
            minimum = real_min(minimum, v3_dot(s->known[i], n[k]));
        /* Between the given vectors p . n is at least its minimum there only if this is positive.
         */
        if (minimum >= -s->best.separation - gain * s->size && (count == 1 || minimum > 0))
            return true;
    }
    return false;
}

/* Tries a unit normal, which replaces the best if it is better by more than min_gain. `face`: it is
 * a face normal. */
static void try_normal(normal_search *s, vec3 n, bool face) {
    if (v3_dot(n, s->hint) < 0 || bounds_exclude(s, &n, 1, s->min_gain))
        return;
    double here = -v3_dot(n, difference_support(s, n));
    if (s->has_best && !(here > s->best.separation + s->min_gain * s->size))
        return;
    s->best = (solid_separation){.normal = n, .separation = here, .is_face_normal = face};
    s->has_best = true;
}

static void try_both_signs(normal_search *s, vec3 direction, bool face) {
    vec3 n = v3_normalise(direction);
    if (v3_max_abs(n) == 0)
        return;
    bool back = v3_dot(n, v3_sub(s->a->shift, s->b->shift)) < 0; /* the more likely sign first */
    try_normal(s, back ? v3_scale(n, -1) : n, face);
    try_normal(s, back ? n : v3_scale(n, -1), face);
}

/* ---- faces and edges ---- */

static void try_face_normals(normal_search *s) {
    for (uint32_t i = 0; i < s->b->core.face_count; i++)
        try_normal(s, s->b->core.faces[i].normal, true);
    for (uint32_t i = 0; i < s->a->core.face_count; i++)
        try_normal(s, v3_scale(solid_rotate(s->a, s->a->core.faces[i].normal), -1), true);
    for (int side = 0; side < 2; side++) {
        const solid_body *body = side ? s->b : s->a;
        if (body->kind == ABUT_COLLIDER_CYLINDER)
            try_both_signs(s, body->axis, true);
    }
}

/* An edge in the frame, and the normals of its faces, which are zero for a segment. */
typedef struct frame_edge {
    vec3 from, along, normal[2], turn;
} frame_edge;

static frame_edge get_frame_edge(const solid_body *s, uint32_t i) {
    const solid_edge *edge = &s->core.edges[i];
    frame_edge e;
    e.from = solid_vertex(s, edge->vertex[0]);
    e.along = v3_sub(solid_vertex(s, edge->vertex[1]), e.from);
    for (int k = 0; k < 2; k++)
        e.normal[k] = edge->face[k] == ABUT_NONE
                          ? v3(0, 0, 0)
                          : solid_rotate(s, s->core.faces[edge->face[k]].normal);
    e.turn = v3_cross(e.normal[1], e.normal[0]);
    return e;
}

static bool has_faces(const frame_edge *e) {
    return v3_max_abs(e->turn) > 0;
}

/* Whether the arcs of normals cross, with those of b negated. A segment has all normals
 * perpendicular to it. */
static bool arcs_cross(const frame_edge *a, const frame_edge *b) {
    if (!has_faces(a) || !has_faces(b)) {
        const frame_edge *segment = has_faces(a) ? b : a, *edge = has_faces(a) ? a : b;
        return !has_faces(edge) ||
               v3_dot(edge->normal[0], segment->along) * v3_dot(edge->normal[1], segment->along) <
                   0;
    }
    double c = -v3_dot(b->normal[0], a->turn), d = -v3_dot(b->normal[1], a->turn);
    if (!(c * d < 0))
        return false;
    double e = v3_dot(a->normal[0], b->turn), f = v3_dot(a->normal[1], b->turn);
    return e * f < 0 && c * f > 0;
}

static void try_edge_product(normal_search *s, const frame_edge *a, const frame_edge *b) {
    vec3 n = v3_normalise(v3_cross(a->along, b->along));
    vec3 out = v3_sub(v3_add(b->normal[0], b->normal[1]), v3_add(a->normal[0], a->normal[1]));
    if (!has_faces(a) && !has_faces(b))
        try_both_signs(s, n, false);
    else if (v3_max_abs(n) > 0)
        try_normal(s, v3_dot(n, out) < 0 ? v3_scale(n, -1) : n, false);
}

/* Whether no normal of the arc between l and r is better than the best one. */
static bool bounds_exclude_arc(normal_search *s, vec3 l, vec3 r) {
    vec3 ends[2] = {l, r};
    if (bounds_exclude(s, ends, 2, 0))
        return true;
    difference_support(s, v3_normalise(v3_add(l, r)));
    return bounds_exclude(s, ends, 2, 0);
}

static void try_edge_products(normal_search *s) {
    frame_edge cached[CACHED_EDGES]; /* of b, if they fit */
    uint32_t count = s->b->core.edge_count;
    for (uint32_t k = 0; k < count && count <= CACHED_EDGES; k++)
        cached[k] = get_frame_edge(s->b, k);
    for (uint32_t i = 0; i < s->a->core.edge_count; i++) {
        frame_edge a = get_frame_edge(s->a, i), computed;
        if (has_faces(&a) &&
            bounds_exclude_arc(s, v3_scale(a.normal[0], -1), v3_scale(a.normal[1], -1)))
            continue;
        for (uint32_t k = 0; k < count; k++) {
            if (count > CACHED_EDGES)
                computed = get_frame_edge(s->b, k);
            const frame_edge *b = count > CACHED_EDGES ? &computed : &cached[k];
            if (arcs_cross(&a, b))
                try_edge_product(s, &a, b);
        }
    }
}

/* ---- cylinders ---- */

/* Tries the best normal of the arc between two, at most a quarter of a circle. They are outward
 * from b; points of the Minkowski difference b - a are bounds. */
static void try_arc(normal_search *s, vec3 left, vec3 right) {
    struct end {
        vec3 n, p;
    } stack[ARC_STEPS][2];
    uint32_t count = 1;
    stack[0][0].n = left;
    stack[0][1].n = right;
    for (int k = 0; k < 2; k++)
        stack[0][k].p = difference_support(s, stack[0][k].n);
    for (int step = 0; step < ARC_STEPS && count; step++) {
        struct end l = stack[count - 1][0], r = stack[count - 1][1], m;
        count--;
        /* The normal between both for which their points give equal bounds. */
        vec3 d = v3_sub(l.p, r.p);
        double at_l = v3_dot(d, l.n), at_r = -v3_dot(d, r.n);
        if (!(at_l > 0 && at_r > 0)) /* the same point for both: an end is best */
            continue;
        m.n = v3_normalise(v3_add(v3_scale(l.n, at_r), v3_scale(r.n, at_l)));
        double bound = real_max(v3_dot(l.p, m.n), v3_dot(r.p, m.n));
        if (s->has_best && bound >= -s->best.separation - 1e-13 * s->size)
            continue;
        try_normal(s, m.n, false);
        m.p = difference_support(s, m.n);
        if (count + 2 > ARC_STEPS)
            return;
        stack[count][0] = l;
        stack[count++][1] = m;
        stack[count][0] = m;
        stack[count++][1] = r;
    }
}

/* Tries the best of all normals perpendicular to an axis. */
static void try_circle(normal_search *s, vec3 axis) {
    vec3 across[2];
    abuti_patch_tangents(axis, across);
    for (int k = 0; k < ARC_PARTS; k++) {
        double t[2] = {2 * 3.141592653589793 * k / ARC_PARTS,
                       2 * 3.141592653589793 * (k + 1) / ARC_PARTS};
        vec3 left = v3_along(v3_scale(across[0], cos(t[0])), sin(t[0]), across[1]);
        try_normal(s, left, false);
        try_arc(s, left, v3_along(v3_scale(across[0], cos(t[1])), sin(t[1]), across[1]));
    }
}

/* Tries directions from the axis of a cylinder to vertices, and products of the axis with edges.
 * `side` is that of the cylinder. */
static void try_cylinder_sides(normal_search *s, const solid_body *cylinder,
                               const solid_body *other, int side) {
    for (uint32_t i = 0; i < other->core.vertex_count; i++) {
        vec3 to = v3_sub(solid_vertex(other, i), cylinder->shift);
        to = v3_normalise(v3_along(to, -v3_dot(to, cylinder->axis), cylinder->axis));
        if (v3_max_abs(to) > 0)
            try_normal(s, side ? to : v3_scale(to, -1), false);
        else
            try_both_signs(s, v3_orthogonal(cylinder->axis), false);
    }
    for (uint32_t i = 0; i < other->core.edge_count; i++) {
        frame_edge e = get_frame_edge(other, i);
        try_both_signs(s, v3_cross(cylinder->axis, e.along), false);
    }
}

/* Tries the arc of normals of each edge. `side` is that of the cylinder. */
static void try_rim_arcs(normal_search *s, const solid_body *other, int side) {
    for (uint32_t i = 0; i < other->core.edge_count; i++) {
        frame_edge e = get_frame_edge(other, i);
        if (!has_faces(&e)) {
            try_circle(s, v3_normalise(e.along));
            continue;
        }
        vec3 l = v3_scale(e.normal[0], side ? 1 : -1), r = v3_scale(e.normal[1], side ? 1 : -1);
        vec3 m = v3_normalise(v3_add(l, r));
        if (bounds_exclude_arc(s, l, r))
            continue;
        try_normal(s, m, false);
        try_arc(s, l, m);
        try_arc(s, m, r);
    }
}

/* Searches all normals by branch and bound over triangles of directions. The shift along n is at
 * least p . n for every point p of the difference. So the support point p of the middle direction
 * bounds the shift for all normals of a triangle by the minimum of p . n at its corners. */
static void search_sphere(normal_search *s, double tolerance) {
    vec3 stack[SPHERE_STACK][3];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 8; i++, count++) {
        stack[i][0] = v3(i & 1 ? 1 : -1, 0, 0);
        stack[i][1] = v3(0, i & 2 ? 1 : -1, 0);
        stack[i][2] = v3(0, 0, i & 4 ? 1 : -1);
    }
    for (int step = 0; step < SPHERE_STEPS && count; step++) {
        vec3 n[3] = {stack[count - 1][0], stack[count - 1][1], stack[count - 1][2]};
        count--;
        vec3 middle = v3_normalise(v3_add(n[0], v3_add(n[1], n[2])));
        if (bounds_exclude(s, n, 3, tolerance))
            continue;
        difference_support(s, middle);
        if (bounds_exclude(s, n, 3, tolerance))
            continue;
        try_normal(s, middle, false);
        if (count + 4 > SPHERE_STACK)
            continue;
        vec3 half[3];
        for (int k = 0; k < 3; k++)
            half[k] = v3_normalise(v3_add(n[k], n[(k + 1) % 3]));
        for (int k = 0; k < 4; k++, count++) {
            stack[count][0] = k < 3 ? n[k] : half[0];
            stack[count][1] = k < 3 ? half[k] : half[1];
            stack[count][2] = k < 3 ? half[(k + 2) % 3] : half[2];
        }
    }
}

static void try_cylinder_axes(normal_search *s) {
    vec3 to = v3_sub(s->a->shift, s->b->shift);
    try_both_signs(s, v3_cross(s->a->axis, s->b->axis), false);
    for (int side = 0; side < 2; side++) {
        vec3 axis = side ? s->b->axis : s->a->axis;
        try_both_signs(s, v3_along(to, -v3_dot(to, axis), axis), false);
        try_both_signs(s, v3_orthogonal(axis), false); /* for coaxial cylinders */
    }
}

/* ---- closest points (GJK) ---- */

/* A point of the difference a - b, and the points of a and b that it comes from. */
typedef struct simplex_vertex {
    vec3 w, at[2];
} simplex_vertex;

typedef struct simplex {
    simplex_vertex corner[4];
    double weight[4];
    int count;
    vec3 v; /* its point nearest to the origin */
} simplex;

/* Keeps the vertices with positive weight. */
static void keep_weighted(simplex *s) {
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (s->weight[i] > 0) {
            s->corner[kept] = s->corner[i];
            s->weight[kept++] = s->weight[i];
        }
    s->count = kept;
}

static void nearest_on_face(simplex *s) {
    const simplex_vertex *c = s->corner;
    closest_on_triangle closest =
        triangle_closest_point((triangle3){{c[0].w, c[1].w, c[2].w}}, v3(0, 0, 0));
    for (int i = 0; i < 3; i++)
        s->weight[i] = closest.barycentric[i];
    s->v = closest.point;
}

/* Computes the point `v` of the simplex nearest to the origin and reduces the simplex to the
 * vertices that span it. Returns false if the origin is inside. */
static bool reduce_simplex(simplex *s) {
    if (s->count == 1) {
        s->weight[0] = 1;
        s->v = s->corner[0].w;
    } else if (s->count == 2) {
        closest_on_segment closest =
            segment_closest_point((segment3){{s->corner[0].w, s->corner[1].w}}, v3(0, 0, 0));
        s->weight[0] = 1 - closest.parameter;
        s->weight[1] = closest.parameter;
        s->v = closest.point;
    } else if (s->count == 3) {
        nearest_on_face(s);
    } else {
        simplex best = {.count = 0};
        double minimum = INFINITY;
        for (int i = 0; i < 4; i++) { /* faces, each without vertex i */
            simplex face = {.count = 3};
            for (int k = 0, to = 0; k < 4; k++)
                if (k != i)
                    face.corner[to++] = s->corner[k];
            vec3 p = face.corner[0].w;
            vec3 n = v3_cross(v3_sub(face.corner[1].w, p), v3_sub(face.corner[2].w, p));
            if (v3_dot(n, v3_sub(s->corner[i].w, p)) * -v3_dot(n, p) > 0)
                continue; /* the origin is on the inner side */
            nearest_on_face(&face);
            if (v3_length_sq(face.v) < minimum) {
                minimum = v3_length_sq(face.v);
                best = face;
            }
        }
        if (!best.count)
            return false;
        *s = best;
    }
    keep_weighted(s);
    return true;
}

static bool contains_vertex(const simplex *s, vec3 w) {
    for (int i = 0; i < s->count; i++)
        if (v3_equal(s->corner[i].w, w))
            return true;
    return false;
}

typedef enum gjk_result { GJK_OVERLAP, GJK_APART, GJK_BEYOND_REACH } gjk_result;

/* The point of a simplex nearest to the origin. */
static simplex_vertex simplex_point(const simplex *s) {
    simplex_vertex c = {.w = s->v};
    for (int i = 0; i < s->count; i++)
        for (int side = 0; side < 2; side++)
            c.at[side] = v3_along(c.at[side], s->weight[i], s->corner[i].at[side]);
    return c;
}

/* Adds a point of the difference. It may be nearer than the simplex, by the plane perpendicular to
 * v, while rounding errors prevent progress. Then the simplex becomes the segment from its nearest
 * point to the new one. Returns false if the simplex contains the origin. */
static bool extend_simplex(simplex *s, const simplex_vertex *next, double length, double along,
                           bool *nearer) {
    simplex before = *s;
    double minimum = s->count ? length : INFINITY;
    s->corner[s->count++] = *next;
    bool outside = reduce_simplex(s);
    *nearer = outside && v3_length(s->v) < minimum;
    if (*nearer || !before.count || (!outside && !(along > 0)))
        return outside;
    s->count = 2;
    s->corner[0] = simplex_point(&before);
    s->corner[1] = *next;
    reduce_simplex(s);
    *nearer = v3_length(s->v) < minimum;
    if (!*nearer)
        *s = before;
    return true;
}

/* Computes the normal and closest points of two cores if they are apart. */
static gjk_result run_gjk(normal_search *of, double reach, solid_separation *best) {
    const solid_body *a = of->a, *b = of->b;
    simplex s;
    s.count = 0;
    s.v = v3_sub(a->shift, b->shift);
    if (v3_max_abs(s.v) == 0)
        s.v.x = 1;
    bool nearer = true;
    for (int step = 0; step < GJK_STEPS && nearer; step++) {
        simplex_vertex next;
        next.at[0] = abuti_solid_support(a, v3_scale(s.v, -1));
        next.at[1] = abuti_solid_support(b, s.v);
        next.w = v3_sub(next.at[0], next.at[1]);
        double length = v3_length(s.v), along = v3_dot(s.v, next.w) / length;
        if (along > reach)
            return GJK_BEYOND_REACH;
        if (s.count && (length - along <= 1e-16 * of->size || contains_vertex(&s, next.w)))
            break;
        if (!extend_simplex(&s, &next, length, along, &nearer) ||
            v3_length(s.v) <= TOUCH_TOLERANCE * of->size)
            return GJK_OVERLAP;
    }
    simplex_vertex nearest = simplex_point(&s);
    best->normal = v3_normalise(s.v);
    best->separation = -v3_dot(best->normal, difference_support(of, best->normal));
    best->at[0] = nearest.at[0];
    best->at[1] = nearest.at[1];
    best->is_face_normal = false;
    best->has_points = true;
    return GJK_APART;
}

/* ---- all normals ---- */

/* Tries normals in closed form and, for overlapping cores, by searches. */
static void try_normals(normal_search *s, bool overlap, bool products) {
    const solid_body *a = s->a, *b = s->b;
    bool round_a = a->kind == ABUT_COLLIDER_CYLINDER, round_b = b->kind == ABUT_COLLIDER_CYLINDER;
    try_face_normals(s);
    if (round_a && round_b)
        try_cylinder_axes(s);
    else if (round_a)
        try_cylinder_sides(s, a, b, 0);
    else if (round_b)
        try_cylinder_sides(s, b, a, 1);
    else if (products)
        try_edge_products(s);
    if (overlap && round_a && round_b) {
        try_circle(s, a->axis);
        try_circle(s, b->axis);
        /* Coarse passes first: they leave little work for the last one. */
        static const double tolerances[] = {1e-2, 1e-4, SEARCH_TOLERANCE};
        for (int pass = 0; pass < 3; pass++) {
            /* Normals perpendicular to an axis are preferred: they give better points. */
            s->min_gain = SEARCH_TOLERANCE;
            search_sphere(s, tolerances[pass]);
            s->min_gain = EQUAL_TOLERANCE;
        }
    } else if (overlap && (round_a || round_b)) {
        try_rim_arcs(s, round_a ? b : a, round_a ? 0 : 1);
    }
    if (v3_max_abs(s->hint) > 0)
        try_normal(s, v3_normalise(s->hint), false);
    if (s->has_best)
        return;
    /* Points and segments: the direction between centres, then a perpendicular one, then any. */
    try_both_signs(s, v3_sub(a->shift, b->shift), false);
    const solid_body *segment = a->core.edge_count ? a : b;
    if (segment->core.edge_count) {
        frame_edge e = get_frame_edge(segment, 0);
        try_both_signs(s, v3_orthogonal(e.along), false);
    }
    try_both_signs(s, v3(0, 0, 1), false);
}

/* Tries the normal at the rim of a cylinder towards a point outside: the only closest point of its
 * surface that face normals do not cover. */
static void try_rim_normal(normal_search *s, const solid_body *cylinder, vec3 point, double sign) {
    vec3 to = v3_sub(point, cylinder->shift);
    double along = v3_dot(to, cylinder->axis);
    vec3 across = v3_along(to, -along, cylinder->axis);
    double past = fabs(along) - cylinder->half_length,
           beside = v3_length(across) - cylinder->cylinder_radius;
    if (past > 0 && beside > 0)
        try_normal(s,
                   v3_normalise(v3_add(v3_scale(cylinder->axis, -sign * copysign(past, along)),
                                       v3_scale(v3_normalise(across), -sign * beside))),
                   false);
}

static void search_normals(normal_search *s, bool overlap, bool products) {
    try_normals(s, overlap, products);
    if (!s->has_best) { /* all normals oppose the hint */
        s->hint = v3(0, 0, 0);
        try_normals(s, overlap, products);
    }
}

bool abuti_solid_find_separation(const solid_body *a, const solid_body *b, double reach, vec3 hint,
                                 solid_separation *best) {
    normal_search s; /* other members are set later */
    s.a = a;
    s.b = b;
    s.size = a->size + b->size;
    s.min_gain = EQUAL_TOLERANCE;
    s.hint = v3(0, 0, 0);
    s.has_best = false;
    s.known_count = 0;
    bool round_a = a->kind == ABUT_COLLIDER_CYLINDER, round_b = b->kind == ABUT_COLLIDER_CYLINDER;
    if ((round_a && b->core.vertex_count == 1) || (round_b && a->core.vertex_count == 1)) {
        const solid_body *point = round_a ? b : a;
        search_normals(&s, true, false);
        try_rim_normal(&s, round_a ? a : b, solid_vertex(point, 0), round_a ? 1 : -1);
        if (s.best.separation < a->radius + b->radius && v3_dot(s.best.normal, hint) < 0) {
            s.has_best = false; /* overlap: find a direction that agrees with the hint */
            s.hint = hint;
            search_normals(&s, true, false);
        }
        *best = s.best;
        return best->separation <= reach;
    }
    gjk_result found = run_gjk(&s, reach, best);
    if (found == GJK_BEYOND_REACH)
        return false;
    bool opposes_hint = found == GJK_APART && best->separation < a->radius + b->radius &&
                        v3_dot(best->normal, hint) < 0;
    if (found == GJK_OVERLAP || opposes_hint) {
        s.hint = hint;
        search_normals(&s, true, true);
        *best = s.best;
    } else {
        bool faces = a->core.face_count || b->core.face_count || round_a || round_b;
        if (faces || best->separation <= NEAR_GAP * s.size)
            try_normals(&s, false, best->separation <= NEAR_GAP * s.size);
        if (s.has_best && s.best.separation >= best->separation - 10 * EQUAL_TOLERANCE * s.size) {
            best->normal = s.best.normal;
            best->separation = s.best.separation;
            best->is_face_normal = s.best.is_face_normal;
            vec3 off = v3_along(v3_sub(best->at[0], best->at[1]), -best->separation, best->normal);
            /* Otherwise the closest points do not match the normal; features give better ones. */
            best->has_points = v3_length(off) <= 1e-9 * s.size;
        }
    }
    return best->separation <= reach;
}
