/* Which way two convex cores are separated, and by how much.
 *
 * Let s(n) be the least of n . x over a less the largest over b. A unit n with s(n) >= 0 separates
 * them, and the largest s is their distance; where they overlap, a shift of a by -s(n) along n
 * separates them, and the largest s gives the shortest shift. So every n that is tried gives a
 * certain answer, and the best n makes it exact:
 *  - apart: the direction between the nearest places (Gilbert, Johnson and Keerthi 1988);
 *  - overlapping polytopes: normals of faces of both, and products of two edges whose arcs of
 * normals cross (Gregorius 2013, "The separating axis test between convex polyhedra"). These are
 * all faces of the Minkowski difference, and the place of its surface that is nearest to the origin
 *    is on one of them;
 *  - an overlapping cylinder and a polytope: also the axis, the axis times each edge, directions
 *    from the axis to vertices, and for each edge the best normal of its arc, by bounds:
 *    -s(n) >= p . n for every place p of the difference, so that two places bound an arc;
 *  - two overlapping cylinders: also the best normals across each axis, found the same way, and all
 *    others by triangles of directions, with bounds of the same kind.
 * A normal of faces or edges is preferred to that of nearest places where both are as good, since
 * the latter is rounded where the gap is small.
 */
#include "contact/solid.h"

#include "geom/solid_shared.h"

#include <math.h>

#define TOUCH 1e-11 /* of the size: cores that are nearer are taken as touching */
#define SAME 1e-12  /* of the size: separations that are equal */
#define NEAR 1e-3   /* of the size: gaps across which products of edges tell more than places */

#define ENOUGH 3e-7 /* of the size: bounds that are this near end a search of all normals */

enum {
    STEPS = 256,
    ARC_STEPS = 48,
    ARC_PARTS = 8,
    AROUND_STEPS = 40,
    ALL_STEPS = 4096,
    ALL_STACK = 64,
    EDGES = 64,
    KNOWN = 8
};

typedef struct search {
    const solid_body *a, *b;
    double size;
    double hair; /* of the size: by so much is a normal better */
    vec3 hint;
    bool any; /* has a way */
    solid_way way;
    vec3 known[KNOWN]; /* places of the difference that were found last: each bounds all normals */
    uint32_t known_count;
} search;

/* ---- separations ---- */

/* The place of the difference b - a that is furthest along n. */
static vec3 difference(search *s, vec3 n) {
    vec3 p = v3_sub(abuti_solid_support(s->b, n), abuti_solid_support(s->a, v3_scale(n, -1)));
    s->known[s->known_count++ % KNOWN] = p;
    return p;
}

/* Whether no unit vector among `count`, or between them, is better than what there is by a hair, as
 * places that are known tell. */
static bool are_worse(const search *s, const vec3 *n, int count, double hair) {
    uint32_t known = s->known_count < KNOWN ? s->known_count : KNOWN;
    for (uint32_t i = 0; i < known && s->any; i++) {
        double least = INFINITY;
        for (int k = 0; k < count; k++)
            least = real_min(least, v3_dot(s->known[i], n[k]));
        /* Between them, p . n is no less than at both ends only where it is positive. */
        if (least >= -s->way.separation - hair * s->size && (count == 1 || least > 0))
            return true;
    }
    return false;
}

/* Tries a unit normal, which must be better than what there is by a hair. `face` tells that it is
 * the normal of a face of one of them. */
static void try_normal(search *s, vec3 n, bool face) {
    if (v3_dot(n, s->hint) < 0 || are_worse(s, &n, 1, s->hair))
        return;
    double here = -v3_dot(n, difference(s, n));
    if (s->any && !(here > s->way.separation + s->hair * s->size))
        return;
    s->way = (solid_way){.normal = n, .separation = here, .of_face = face};
    s->any = true;
}

static void try_both(search *s, vec3 direction, bool face) {
    vec3 n = v3_normalise(direction);
    if (v3_max_abs(n) == 0)
        return;
    bool back = v3_dot(n, v3_sub(s->a->shift, s->b->shift)) < 0; /* the likely one first */
    try_normal(s, back ? v3_scale(n, -1) : n, face);
    try_normal(s, back ? n : v3_scale(n, -1), face);
}

/* ---- boxes ---- */

/* A box, which is a, and a point. */
static void find_point_way(const solid_body *a, const solid_body *b, solid_way *way) {
    vec3 point = solid_vertex(b, 0), p = solid_in(a, v3_sub(point, a->shift)), half = a->own[7];
    vec3 near = v3_max(v3_scale(half, -1), v3_min(half, p)), out = v3_sub(p, near);
    int beyond = (out.x != 0) + (out.y != 0) + (out.z != 0);
    *way = (solid_way){.of_face = beyond < 2, .has_places = true, .at[1] = point};
    if (beyond) {
        way->separation = v3_length(out);
    } else { /* inside: the nearest face */
        vec3 to = v3_sub(half, v3_abs(p));
        int axis = to.x <= to.y && to.x <= to.z ? 0 : to.y <= to.z ? 1 : 2;
        double *side = axis == 0 ? &out.x : axis == 1 ? &out.y : &out.z;
        double *at = axis == 0 ? &near.x : axis == 1 ? &near.y : &near.z;
        *side = copysign(1, v3_get(p, axis));
        *at = copysign(v3_get(half, axis), *side);
        way->separation = -v3_get(to, axis);
    }
    way->normal = v3_scale(solid_out(a, v3_normalise(out)), -1);
    way->at[0] = v3_add(solid_out(a, near), a->shift);
}

/* Axes of two boxes, and their products. Both are symmetric, so of each only the way towards a's
 * centre matters, unless a hint forbids it. */
static void try_boxes(search *s) {
    vec3 axis[2][3];
    for (int k = 0; k < 3; k++) {
        vec3 own = v3(k == 0, k == 1, k == 2);
        axis[0][k] = solid_out(s->a, own);
        axis[1][k] = own;
    }
    vec3 to = v3_sub(s->a->shift, s->b->shift);
    bool both = v3_max_abs(s->hint) > 0;
    for (int i = 0; i < 15; i++) { /* b's faces first */
        vec3 n = i < 6 ? axis[i < 3][i % 3]
                       : v3_normalise(v3_cross(axis[0][(i - 6) / 3], axis[1][(i - 6) % 3]));
        if (both)
            try_both(s, n, i < 6);
        else if (v3_max_abs(n) > 0)
            try_normal(s, v3_dot(n, to) < 0 ? v3_scale(n, -1) : n, i < 6);
    }
}

/* A box, which is a, and a segment whose nearest end is across a face; false where it is not. */
static bool find_segment_way(const solid_body *a, const solid_body *b, solid_way *way) {
    vec3 half = a->own[7], p[2], at[2];
    for (uint32_t end = 0; end < 2; end++) {
        at[end] = solid_vertex(b, end);
        p[end] = solid_in(a, v3_sub(at[end], a->shift));
    }
    for (int axis = 0; axis < 3; axis++)
        for (int sign = -1; sign < 2; sign += 2) {
            double x[2] = {sign * v3_get(p[0], axis), sign * v3_get(p[1], axis)};
            int end = x[1] < x[0];
            int j = (axis + 1) % 3, k = (axis + 2) % 3;
            double apart = x[end] - v3_get(half, axis);
            if (!(apart > 0 && fabs(v3_get(p[end], j)) <= v3_get(half, j) &&
                  fabs(v3_get(p[end], k)) <= v3_get(half, k)))
                continue;
            vec3 out = v3(axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0);
            vec3 normal = v3_scale(solid_out(a, out), -1);
            *way = (solid_way){.normal = normal,
                               .separation = apart,
                               .of_face = true,
                               .has_places = true,
                               .at = {v3_along(at[end], apart, normal), at[end]}};
            return true;
        }
    return false;
}

/* ---- faces and edges ---- */

static void try_faces(search *s) {
    for (uint32_t i = 0; i < s->b->core.face_count; i++)
        try_normal(s, s->b->core.faces[i].normal, true);
    for (uint32_t i = 0; i < s->a->core.face_count; i++)
        try_normal(s, v3_scale(solid_out(s->a, s->a->core.faces[i].normal), -1), true);
    for (int side = 0; side < 2; side++) {
        const solid_body *body = side ? s->b : s->a;
        if (body->kind == ABUT_SOLID_CYLINDER)
            try_both(s, body->axis, true);
    }
}

/* An edge in the frame, and the normals of its faces; those are zero where it has none. */
typedef struct frame_edge {
    vec3 from, along, normal[2], turn;
} frame_edge;

static frame_edge edge_of(const solid_body *s, uint32_t i) {
    const solid_edge *edge = &s->core.edges[i];
    frame_edge e;
    e.from = solid_vertex(s, edge->vertex[0]);
    e.along = v3_sub(solid_vertex(s, edge->vertex[1]), e.from);
    for (int k = 0; k < 2; k++)
        e.normal[k] = edge->face[k] == ABUT_NONE
                          ? v3(0, 0, 0)
                          : solid_out(s, s->core.faces[edge->face[k]].normal);
    e.turn = v3_cross(e.normal[1], e.normal[0]);
    return e;
}

static bool has_faces(const frame_edge *e) {
    return v3_max_abs(e->turn) > 0;
}

/* Whether the arcs of normals cross, those of b turned round; an edge without faces has all normals
 * across it. */
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

static void try_edges(search *s, const frame_edge *a, const frame_edge *b) {
    vec3 n = v3_normalise(v3_cross(a->along, b->along));
    vec3 out = v3_sub(v3_add(b->normal[0], b->normal[1]), v3_add(a->normal[0], a->normal[1]));
    if (!has_faces(a) && !has_faces(b))
        try_both(s, n, false);
    else if (v3_max_abs(n) > 0)
        try_normal(s, v3_dot(n, out) < 0 ? v3_scale(n, -1) : n, false);
}

/* Whether no normal of the arc between l and r is better than what there is. */
static bool arc_is_worse(search *s, vec3 l, vec3 r) {
    vec3 ends[2] = {l, r};
    if (are_worse(s, ends, 2, 0))
        return true;
    difference(s, v3_normalise(v3_add(l, r)));
    return are_worse(s, ends, 2, 0);
}

static void try_products(search *s) {
    frame_edge some[EDGES]; /* of b, if they are few */
    uint32_t count = s->b->core.edge_count;
    for (uint32_t k = 0; k < count && count <= EDGES; k++)
        some[k] = edge_of(s->b, k);
    for (uint32_t i = 0; i < s->a->core.edge_count; i++) {
        frame_edge a = edge_of(s->a, i), made;
        if (has_faces(&a) && arc_is_worse(s, v3_scale(a.normal[0], -1), v3_scale(a.normal[1], -1)))
            continue;
        for (uint32_t k = 0; k < count; k++) {
            if (count > EDGES)
                made = edge_of(s->b, k);
            const frame_edge *b = count > EDGES ? &made : &some[k];
            if (arcs_cross(&a, b))
                try_edges(s, &a, b);
        }
    }
}

/* ---- cylinders ---- */

/* Tries the best normal on the short arc between two, at most a quarter of a circle: outward from
 * b, by places of the Minkowski difference b - a. */
static void try_arc(search *s, vec3 left, vec3 right) {
    struct end {
        vec3 n, p;
    } stack[ARC_STEPS][2];
    uint32_t count = 1;
    stack[0][0].n = left;
    stack[0][1].n = right;
    for (int k = 0; k < 2; k++)
        stack[0][k].p = difference(s, stack[0][k].n);
    for (int step = 0; step < ARC_STEPS && count; step++) {
        struct end l = stack[count - 1][0], r = stack[count - 1][1], m;
        count--;
        /* The normal between both where their places bound the shift equally. */
        vec3 d = v3_sub(l.p, r.p);
        double at_l = v3_dot(d, l.n), at_r = -v3_dot(d, r.n);
        if (!(at_l > 0 && at_r > 0)) /* one place for both: the ends are best */
            continue;
        m.n = v3_normalise(v3_add(v3_scale(l.n, at_r), v3_scale(r.n, at_l)));
        double bound = real_max(v3_dot(l.p, m.n), v3_dot(r.p, m.n));
        if (s->any && bound >= -s->way.separation - 1e-13 * s->size)
            continue;
        try_normal(s, m.n, false);
        m.p = difference(s, m.n);
        if (count + 2 > ARC_STEPS)
            return;
        stack[count][0] = l;
        stack[count++][1] = m;
        stack[count][0] = m;
        stack[count++][1] = r;
    }
}

/* The same for all normals across an axis. */
static void try_circle(search *s, vec3 axis) {
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

/* Directions across the axis of a cylinder to vertices, and products of the axis with edges. `side`
 * is that of the cylinder. */
static void try_sides(search *s, const solid_body *cylinder, const solid_body *other, int side) {
    for (uint32_t i = 0; i < other->core.vertex_count; i++) {
        vec3 to = v3_sub(solid_vertex(other, i), cylinder->shift);
        to = v3_normalise(v3_along(to, -v3_dot(to, cylinder->axis), cylinder->axis));
        if (v3_max_abs(to) > 0)
            try_normal(s, side ? to : v3_scale(to, -1), false);
        else
            try_both(s, v3_orthogonal(cylinder->axis), false);
    }
    for (uint32_t i = 0; i < other->core.edge_count; i++) {
        frame_edge e = edge_of(other, i);
        try_both(s, v3_cross(cylinder->axis, e.along), false);
    }
}

/* For each edge, the normals of its arc. `side` is that of the cylinder. */
static void try_rims(search *s, const solid_body *other, int side) {
    for (uint32_t i = 0; i < other->core.edge_count; i++) {
        frame_edge e = edge_of(other, i);
        if (!has_faces(&e)) {
            try_circle(s, v3_normalise(e.along));
            continue;
        }
        vec3 l = v3_scale(e.normal[0], side ? 1 : -1), r = v3_scale(e.normal[1], side ? 1 : -1);
        vec3 m = v3_normalise(v3_add(l, r));
        if (arc_is_worse(s, l, r))
            continue;
        try_normal(s, m, false);
        try_arc(s, l, m);
        try_arc(s, m, r);
    }
}

/* Tries all normals, by triangles of directions: the place p of the difference that is furthest
 * along the middle of one bounds the shift along all of its normals by the least of p . n at its
 * corners, since the shift is at least p . n everywhere. */
static void try_all(search *s, double enough) {
    vec3 stack[ALL_STACK][3];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 8; i++, count++) {
        stack[i][0] = v3(i & 1 ? 1 : -1, 0, 0);
        stack[i][1] = v3(0, i & 2 ? 1 : -1, 0);
        stack[i][2] = v3(0, 0, i & 4 ? 1 : -1);
    }
    for (int step = 0; step < ALL_STEPS && count; step++) {
        vec3 n[3] = {stack[count - 1][0], stack[count - 1][1], stack[count - 1][2]};
        count--;
        vec3 middle = v3_normalise(v3_add(n[0], v3_add(n[1], n[2])));
        if (are_worse(s, n, 3, enough))
            continue;
        difference(s, middle);
        if (are_worse(s, n, 3, enough))
            continue;
        try_normal(s, middle, false);
        if (count + 4 > ALL_STACK)
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

/* Goes down from the best so far, which is near a smooth minimum of the shift p . n: against its
 * slope p - (p . n) n, by steps as long as the last change of the slope tells (Barzilai and Borwein
 * 1988). */
static void try_around(search *s) {
    vec3 n = s->way.normal, p = difference(s, n), slope = v3_along(p, -v3_dot(p, n), n);
    double step = 0.1 / s->size;
    for (int i = 0; i < AROUND_STEPS && v3_length(slope) > SAME * s->size; i++) {
        vec3 next = v3_normalise(v3_along(n, -step, slope));
        p = difference(s, next);
        vec3 there = v3_along(p, -v3_dot(p, next), next);
        vec3 way = v3_sub(next, n), change = v3_sub(there, slope);
        double along = fabs(v3_dot(way, change));
        if (!(along > 0))
            return;
        step = v3_length_sq(way) / along;
        n = next;
        slope = there;
        s->hair = 0; /* a smaller slope tells the places better, however little the shift gains */
        try_normal(s, n, false);
        s->hair = SAME;
    }
}

static void try_cylinders(search *s) {
    vec3 to = v3_sub(s->a->shift, s->b->shift);
    try_both(s, v3_cross(s->a->axis, s->b->axis), false);
    for (int side = 0; side < 2; side++) {
        vec3 axis = side ? s->b->axis : s->a->axis;
        try_both(s, v3_along(to, -v3_dot(to, axis), axis), false);
        try_both(s, v3_orthogonal(axis), false); /* where one axis is the other's */
    }
}

/* ---- nearest places ---- */

/* A place of the difference a - b, and the places that it is of. */
typedef struct corner {
    vec3 w, at[2];
} corner;

typedef struct simplex {
    corner corner[4];
    double weight[4];
    int count;
    vec3 v; /* its place nearest to the origin */
} simplex;

/* Keeps the corners with a weight. */
static void keep_weighted(simplex *s) {
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (s->weight[i] > 0) {
            s->corner[kept] = s->corner[i];
            s->weight[kept++] = s->weight[i];
        }
    s->count = kept;
}

static void nearest_of_three(simplex *s) {
    const corner *c = s->corner;
    closest_on_triangle near =
        triangle_closest_point((triangle3){{c[0].w, c[1].w, c[2].w}}, v3(0, 0, 0));
    for (int i = 0; i < 3; i++)
        s->weight[i] = near.barycentric[i];
    s->v = near.point;
}

/* Moves `v` to the place of the simplex nearest to the origin. False where the origin is inside. */
static bool nearest_of(simplex *s) {
    if (s->count == 1) {
        s->weight[0] = 1;
        s->v = s->corner[0].w;
    } else if (s->count == 2) {
        closest_on_segment near =
            segment_closest_point((segment3){{s->corner[0].w, s->corner[1].w}}, v3(0, 0, 0));
        s->weight[0] = 1 - near.parameter;
        s->weight[1] = near.parameter;
        s->v = near.point;
    } else if (s->count == 3) {
        nearest_of_three(s);
    } else {
        simplex best = {.count = 0};
        double least = INFINITY;
        for (int i = 0; i < 4; i++) { /* faces, each without corner i */
            simplex face = {.count = 3};
            for (int k = 0, to = 0; k < 4; k++)
                if (k != i)
                    face.corner[to++] = s->corner[k];
            vec3 p = face.corner[0].w;
            vec3 n = v3_cross(v3_sub(face.corner[1].w, p), v3_sub(face.corner[2].w, p));
            if (v3_dot(n, v3_sub(s->corner[i].w, p)) * -v3_dot(n, p) > 0)
                continue; /* the origin is on the side of the rest */
            nearest_of_three(&face);
            if (v3_length_sq(face.v) < least) {
                least = v3_length_sq(face.v);
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

static bool holds(const simplex *s, vec3 w) {
    for (int i = 0; i < s->count; i++)
        if (v3_equal(s->corner[i].w, w))
            return true;
    return false;
}

typedef enum gap { GAP_NONE, GAP_SOME, GAP_FAR } gap;

/* The place of a simplex that is nearest to the origin, as a corner. */
static corner middle_of(const simplex *s) {
    corner c = {.w = s->v};
    for (int i = 0; i < s->count; i++)
        for (int side = 0; side < 2; side++)
            c.at[side] = v3_along(c.at[side], s->weight[i], s->corner[i].at[side]);
    return c;
}

/* Adds a place of the difference. Where rounding does not let the simplex come nearer, although the
 * place is nearer than all of it by the plane across v, the simplex becomes the segment from its
 * nearest place to that one. False where it holds the origin. */
static bool extend(simplex *s, const corner *next, double length, double along, bool *nearer) {
    simplex before = *s;
    double least = s->count ? length : INFINITY;
    s->corner[s->count++] = *next;
    bool outside = nearest_of(s);
    *nearer = outside && v3_length(s->v) < least;
    if (*nearer || !before.count || (!outside && !(along > 0)))
        return outside;
    s->count = 2;
    s->corner[0] = middle_of(&before);
    s->corner[1] = *next;
    nearest_of(s);
    *nearer = v3_length(s->v) < least;
    if (!*nearer)
        *s = before;
    return true;
}

/* Whether two cores are apart, and how: a normal and the nearest places. */
static gap find_gap(search *of, double reach, solid_way *way) {
    const solid_body *a = of->a, *b = of->b;
    simplex s;
    s.count = 0;
    s.v = v3_sub(a->shift, b->shift);
    if (v3_max_abs(s.v) == 0)
        s.v.x = 1;
    bool nearer = true;
    for (int step = 0; step < STEPS && nearer; step++) {
        corner next;
        next.at[0] = abuti_solid_support(a, v3_scale(s.v, -1));
        next.at[1] = abuti_solid_support(b, s.v);
        next.w = v3_sub(next.at[0], next.at[1]);
        double length = v3_length(s.v), along = v3_dot(s.v, next.w) / length;
        if (along > reach)
            return GAP_FAR;
        if (s.count && (length - along <= 1e-16 * of->size || holds(&s, next.w)))
            break;
        if (!extend(&s, &next, length, along, &nearer) || v3_length(s.v) <= TOUCH * of->size)
            return GAP_NONE;
    }
    corner nearest = middle_of(&s);
    way->normal = v3_normalise(s.v);
    way->separation = -v3_dot(way->normal, difference(of, way->normal));
    way->at[0] = nearest.at[0];
    way->at[1] = nearest.at[1];
    way->of_face = false;
    way->has_places = true;
    return GAP_SOME;
}

/* ---- all of it ---- */

/* Normals by closed forms, and by searches where cores overlap. */
static void find_normals(search *s, bool overlap, bool products) {
    const solid_body *a = s->a, *b = s->b;
    bool round_a = a->kind == ABUT_SOLID_CYLINDER, round_b = b->kind == ABUT_SOLID_CYLINDER;
    bool boxes = a->kind == ABUT_SOLID_BOX && b->kind == ABUT_SOLID_BOX;
    if (boxes)
        try_boxes(s);
    else
        try_faces(s);
    if (round_a && round_b)
        try_cylinders(s);
    else if (round_a)
        try_sides(s, a, b, 0);
    else if (round_b)
        try_sides(s, b, a, 1);
    else if (products && !boxes)
        try_products(s);
    if (overlap && round_a && round_b) {
        try_circle(s, a->axis);
        try_circle(s, b->axis);
        /* Roughly first, so that what is left for the last pass is little. */
        static const double enough[] = {1e-2, 1e-4, ENOUGH};
        for (int pass = 0; pass < 3; pass++) {
            double before = s->way.separation;
            s->hair = ENOUGH; /* normals across an axis tell the places better */
            try_all(s, enough[pass]);
            s->hair = SAME;
            if (s->way.separation > before)
                try_around(s);
        }
    } else if (overlap && (round_a || round_b)) {
        try_rims(s, round_a ? b : a, round_a ? 0 : 1);
    }
    if (v3_max_abs(s->hint) > 0)
        try_normal(s, v3_normalise(s->hint), false);
    if (s->any)
        return;
    /* Points and segments: away from each other, else across, else anywhere. */
    try_both(s, v3_sub(a->shift, b->shift), false);
    const solid_body *segment = a->core.edge_count ? a : b;
    if (segment->core.edge_count) {
        frame_edge e = edge_of(segment, 0);
        try_both(s, v3_orthogonal(e.along), false);
    }
    try_both(s, v3(0, 0, 1), false);
}

/* The place of a cylinder's surface nearest to a point outside of it, past its rim: the only one
 * that faces do not tell. */
static void try_corner(search *s, const solid_body *cylinder, vec3 point, double sign) {
    vec3 to = v3_sub(point, cylinder->shift);
    double along = v3_dot(to, cylinder->axis);
    vec3 across = v3_along(to, -along, cylinder->axis);
    double past = fabs(along) - cylinder->half, beside = v3_length(across) - cylinder->wide;
    if (past > 0 && beside > 0)
        try_normal(s,
                   v3_normalise(v3_add(v3_scale(cylinder->axis, -sign * copysign(past, along)),
                                       v3_scale(v3_normalise(across), -sign * beside))),
                   false);
}

static void find_all(search *s, bool overlap, bool products) {
    find_normals(s, overlap, products);
    if (!s->any) { /* all are against the hint */
        s->hint = v3(0, 0, 0);
        find_normals(s, overlap, products);
    }
}

bool abuti_solid_way(const solid_body *a, const solid_body *b, double reach, vec3 hint,
                     solid_way *way) {
    search s; /* most of it is not for now */
    s.a = a;
    s.b = b;
    s.size = a->size + b->size;
    s.hair = SAME;
    s.hint = v3(0, 0, 0);
    s.any = false;
    s.known_count = 0;
    bool round_a = a->kind == ABUT_SOLID_CYLINDER, round_b = b->kind == ABUT_SOLID_CYLINDER;
    if ((round_a && b->core.vertex_count == 1) || (round_b && a->core.vertex_count == 1)) {
        const solid_body *point = round_a ? b : a;
        find_all(&s, true, false);
        try_corner(&s, round_a ? a : b, solid_vertex(point, 0), round_a ? 1 : -1);
        if (s.way.separation < a->radius + b->radius && v3_dot(s.way.normal, hint) < 0) {
            s.any = false; /* they overlap: another way out */
            s.hint = hint;
            find_all(&s, true, false);
        }
        *way = s.way;
        return way->separation <= reach;
    }
    if (a->kind == ABUT_SOLID_BOX && b->core.vertex_count == 1) {
        find_point_way(a, b, way);
        if (v3_dot(way->normal, hint) >= 0 || way->separation > b->radius)
            return way->separation <= reach;
    }
    if (a->kind == ABUT_SOLID_BOX && b->core.vertex_count == 2 && find_segment_way(a, b, way) &&
        (v3_dot(way->normal, hint) >= 0 || way->separation > b->radius))
        return way->separation <= reach;
    if (a->kind == ABUT_SOLID_BOX && b->kind == ABUT_SOLID_BOX) { /* cheap, and tells most */
        find_all(&s, true, true);
        if (s.way.separation <= TOUCH * s.size && v3_dot(s.way.normal, hint) < 0) {
            s.any = false; /* they overlap: another way out */
            s.hint = hint;
            find_all(&s, true, true);
        }
        *way = s.way;
        if (!(way->separation > TOUCH * s.size && way->separation <= reach))
            return way->separation <= reach;
        s.hint = v3(0, 0, 0);
        s.any = false;
    }
    gap found = find_gap(&s, reach, way);
    if (found == GAP_FAR)
        return false;
    bool against = found == GAP_SOME && way->separation < a->radius + b->radius &&
                   v3_dot(way->normal, hint) < 0;
    if (found == GAP_NONE || against) {
        s.hint = hint;
        find_all(&s, true, true);
        *way = s.way;
    } else {
        bool faces = a->core.face_count || b->core.face_count || round_a || round_b;
        if (faces || way->separation <= NEAR * s.size)
            find_normals(&s, false, way->separation <= NEAR * s.size);
        if (s.any && s.way.separation >= way->separation - 10 * SAME * s.size) {
            way->normal = s.way.normal;
            way->separation = s.way.separation;
            way->of_face = s.way.of_face;
            vec3 off = v3_along(v3_sub(way->at[0], way->at[1]), -way->separation, way->normal);
            way->has_places = v3_length(off) <= 1e-9 * s.size; /* else features tell better */
        }
    }
    return way->separation <= reach;
}
