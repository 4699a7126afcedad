/* Contacts of two solids: a few places for the normal and the depth of solid_way.c.
 *
 * What touches is a face, an edge or a vertex of each core, the one that looks most along the
 * normal. As seen along it, the one is cut by the sides of the other (Sutherland and Hodgman 1974);
 * the corners of what is left are the places, with the depths there. The place that told the depth
 * is added where cutting has not given it. A cylinder's end is an octagon whose corners stay with
 * the cylinder, and the deepest place of its rim.
 *
 * Ids do not depend on which of the two is cut, which changes with every small rotation of bodies
 * that lie flat on each other. A corner of the common polygon is named after the vertex of a
 * nearest to it, within a tolerance, otherwise after the nearest vertex of b, otherwise after the
 * pair of edges that cross there. So four pairs of coinciding vertices are four contacts with fixed
 * ids, however edges cross around them. Points are chosen by depths that ignore small differences,
 * so that the choice does not follow the deepest of eight points of two flat faces either.
 */
#include "contact/solid.h"

#include <math.h>
#include <string.h>

#define LOOKS 0.5         /* the cosine with the normal from which on a face or a side counts */
#define LOOKS_ONE 0.99    /* the same where the normal is not that of a face */
#define SAME_ANGLE 3e-4   /* faces and edges whose angles differ by less are equal */
#define LIES 0.5          /* the sine of an edge's rise up to which it counts */
#define LIES_FLAT 0.99999 /* the cosine from which on a normal is as good as that of a face */
#define PARALLEL 0.01     /* the sine up to which two edges touch along their length */
#define HAIR 1e-9         /* of the size */
#define ASIDE 0.05     /* of a cylinder's radius: what is nearer to its axis is on no side of it */
#define FLAT_TILT 2e-4 /* the sine up to which the end of a cylinder lies flat */

/* Of the extent of the smaller feature: points that are this near to a vertex have its name. Bodies
 * that should coincide differ by less; a contact area that is 1% smaller supports as well. */
#define VERTEX_RADIUS 0.01
/* Faces are flat on each other if their depths differ by less than this, of the extent and of the
 * depth and margin: rotations of 1e-4 make depths differ by 2e-4 of the extent. Of the points of
 * such faces the deepest is not preferred. */
#define FLAT_RANGE 1e-3
#define FLAT_FRACTION 0.5
#define SAME_REACH 1e-3 /* of the size: vertices that are as far out */

enum { SIDES = 16, RIM = 8, CYLINDER_SIDE = 4 * RIM };

/* ---- features ---- */

typedef struct feature_corner {
    vec3 at;
    uint32_t vertex;
    uint32_t edge; /* from it to the next */
} feature_corner;

/* A face, an edge or a vertex of a core in the frame. */
typedef struct feature {
    uint32_t count; /* 3 or more: a face */
    feature_corner corner[SIDES];
    vec3 normal; /* of a face, outward */
} feature;

/* The face of a polytope; of one with many corners some. */
static void set_face(const solid_body *s, uint32_t face, feature *f) {
    const solid_face *from = &s->core.faces[face];
    f->count = from->count < SIDES ? from->count : SIDES;
    f->normal = solid_out(s, from->normal);
    for (uint32_t i = 0; i < f->count; i++) {
        const solid_loop *loop =
            &s->core.loops[from->begin + (uint32_t)((uint64_t)i * from->count / f->count)];
        f->corner[i] = (feature_corner){solid_vertex(s, loop->vertex), loop->vertex, loop->edge};
    }
}

static void find_polytope_feature(const solid_body *s, vec3 direction, double looks, feature *f) {
    const solid_polytope *core = &s->core;
    vec3 d = solid_in(s, direction);
    uint32_t vertex = abuti_solid_furthest(s, direction), face = ABUT_NONE, edge = ABUT_NONE;
    uint32_t corners = 0; /* of the face: slivers beside a face of rounded vertices have fewer */
    double best = looks, flattest = LIES * LIES; /* of equals the first */
    for (uint32_t i = 0; i < core->edge_count; i++) {
        const solid_edge *e = &core->edges[i];
        if (e->vertex[0] != vertex && e->vertex[1] != vertex)
            continue;
        for (int k = 0; k < 2 && e->face[k] != ABUT_NONE; k++) {
            double here = v3_dot(core->faces[e->face[k]].normal, d);
            double same = SAME_ANGLE * sqrt(real_max(1 - here * here, 0));
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
        if (slope_sq < flattest - SAME_ANGLE || (slope_sq < flattest && edge == ABUT_NONE)) {
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

/* The end of a cylinder: fixed corners, the one that is furthest, unless the end lies flat, and
 * that towards a place, unless it is near the axis: otherwise both may be anywhere on the rim. */
static void find_end(const solid_body *s, vec3 direction, vec3 towards, bool high, feature *f) {
    vec3 across[2], own = solid_in(s, s->axis);
    abuti_patch_tangents(own, across);
    vec3 x = solid_out(s, across[0]), y = solid_out(s, across[1]), way = v3_sub(towards, s->shift);
    vec3 middle = v3_along(s->shift, high ? s->half : -s->half, s->axis);
    y = high ? y : v3_scale(y, -1); /* counterclockwise for who looks at it */
    double angle[RIM + 2];
    uint32_t name[RIM + 2], count = RIM;
    const double eighth = 3.141592653589793 / 4;
    for (uint32_t k = 0; k < RIM; k++) {
        angle[k] = k;
        name[k] = k;
    }
    for (uint32_t extra = 0; extra < 2; extra++) {
        vec3 d = extra ? way : direction;
        double u = v3_dot(d, x), v = v3_dot(d, y), turn = atan2(v, u) / eighth;
        turn = turn < 0 ? turn + RIM : turn;
        if (!(hypot(u, v) > (extra ? ASIDE * s->wide : FLAT_TILT)) ||
            fabs(turn - round(turn)) < 1e-6)
            continue;
        uint32_t k = count++;
        for (; angle[k - 1] > turn; k--) {
            angle[k] = angle[k - 1];
            name[k] = name[k - 1];
        }
        angle[k] = turn;
        name[k] = RIM + extra;
    }
    f->normal = high ? s->axis : v3_scale(s->axis, -1);
    for (uint32_t k = 0; k < count; k++) {
        double u = s->wide * cos(angle[k] * eighth), v = s->wide * sin(angle[k] * eighth);
        uint32_t number = (high ? 2 * RIM : 0) + name[k];
        f->corner[f->count++] =
            (feature_corner){v3_along(v3_along(middle, u, x), v, y), number, number};
    }
}

static void find_cylinder_feature(const solid_body *s, vec3 direction, vec3 towards, double looks,
                                  feature *f) {
    double along = v3_dot(direction, s->axis);
    vec3 across = v3_along(direction, -along, s->axis);
    double beside = v3_length(across);
    f->count = 0;
    if (fabs(along) >= looks && fabs(along) >= beside) {
        find_end(s, direction, towards, along > 0, f);
    } else if (beside >= looks || fabs(along) <= 1e-7) {
        vec3 side = v3_along(s->shift, s->wide / beside, across);
        for (uint32_t k = 0; k < 2; k++)
            f->corner[f->count++] =
                (feature_corner){v3_along(side, k ? s->half : -s->half, s->axis), CYLINDER_SIDE + k,
                                 CYLINDER_SIDE};
    } else {
        f->corner[f->count++] =
            (feature_corner){abuti_solid_support(s, direction), along > 0 ? 3 * RIM : RIM, 0};
    }
}

/* The other body is `towards` a place. */
static void find_feature(const solid_body *s, vec3 direction, vec3 towards, double looks,
                         feature *f) {
    if (s->kind == ABUT_SOLID_CYLINDER)
        find_cylinder_feature(s, direction, towards, looks, f);
    else
        find_polytope_feature(s, direction, looks, f);
}

/* ---- places ---- */

typedef struct places {
    const solid_body *a, *b;
    feature feature[2]; /* that touch; without corners if b is a plane */
    vec3 normal, along[2];
    double depth; /* the largest */
    double gap, size;
    uint32_t count;
    patch_candidate found[PATCH_CANDIDATES];
} places;

/* Adds a place halfway between places of both cores. */
static void add_place(places *p, vec3 at_a, vec3 at_b, uint32_t side, uint32_t kind,
                      uint32_t element, uint32_t part) {
    double height = v3_dot(p->normal, v3_sub(at_b, at_a));
    double depth = real_min(height + p->a->radius + p->b->radius, p->depth);
    if (p->count == PATCH_CANDIDATES || !(depth >= -p->gap))
        return;
    vec3 middle = v3_lerp(v3_along(at_a, -p->a->radius, p->normal),
                          v3_along(at_b, p->b->radius, p->normal), 0.5);
    p->found[p->count++] = (patch_candidate){{.at = middle,
                                              .depth = depth,
                                              .side = side,
                                              .kind = kind,
                                              .element = element,
                                              .part = part & 0x3ffffff},
                                             v3_dot(middle, p->along[0]),
                                             v3_dot(middle, p->along[1])};
}

/* ---- cutting ---- */

/* A corner of what is left: on side `side` of the pair, with the edge to the next. */
typedef struct cut_corner {
    vec3 at;
    double u, v;
    uint32_t side, kind, element, part;
    bool straight; /* edges cross in it that go almost the same way, so that it is no corner */
    bool own;      /* the edge to the next is one of the feature that is cut */
    uint32_t edge; /* its number; of an edge of the other its place there */
} cut_corner;

typedef struct cut {
    places *p;
    const feature *outer; /* by which it is cut */
    uint32_t inner_side;
    double inner_turn; /* 1 where what is cut runs counterclockwise, -1 clockwise, 0 an edge */
    uint32_t count;
    cut_corner corner[2 * SIDES + 2];
} cut;

static cut_corner crossing_of(const cut *c, const cut_corner *from, const cut_corner *to, double t,
                              uint32_t line, bool leaves) {
    const feature *outer = c->outer;
    cut_corner next = {.at = v3_lerp(from->at, to->at, t),
                       .u = from->u + t * (to->u - from->u),
                       .v = from->v + t * (to->v - from->v),
                       .own = leaves ? false : from->own,
                       .edge = leaves ? line : from->edge};
    if (from->own) { /* named by the edge of a, then that of b, whichever is cut */
        next.side = 0;
        next.kind = ABUT_CONTACT_CROSSING;
        next.element = c->inner_side ? outer->corner[line].edge : from->edge;
        next.part = c->inner_side ? from->edge : outer->corner[line].edge;
    } else { /* two lines of the other: their corner */
        bool wraps = (line + 1) % outer->count == from->edge;
        next.side = !c->inner_side;
        next.kind = ABUT_CONTACT_SOLID;
        next.element = outer->corner[wraps ? from->edge : line].vertex;
    }
    return next;
}

/* Cuts by one side of the other. `turn` is 1 where that runs counterclockwise. */
static void cut_by(cut *c, uint32_t line, double turn) {
    const places *p = c->p;
    const feature *outer = c->outer;
    vec3 from = outer->corner[line].at, to = outer->corner[(line + 1) % outer->count].at;
    double u = v3_dot(from, p->along[0]), v = v3_dot(from, p->along[1]);
    double du = turn * (v3_dot(to, p->along[0]) - u), dv = turn * (v3_dot(to, p->along[1]) - v);
    double length = hypot(du, dv), inside[2 * SIDES + 2];
    cut_corner old[2 * SIDES + 2];
    uint32_t count = c->count;
    if (!(length > 0))
        return;
    memcpy(old, c->corner, count * sizeof *old);
    for (uint32_t i = 0; i < count; i++) {
        inside[i] = (du * (old[i].v - v) - dv * (old[i].u - u)) / length;
        if (fabs(inside[i]) <= HAIR * p->size)
            inside[i] = 0;
    }
    c->count = 0;
    for (uint32_t i = 0; i < count && c->count < 2 * SIDES; i++) {
        uint32_t next = i + 1 == count ? 0 : i + 1;
        if (inside[i] >= 0)
            c->corner[c->count++] = old[i];
        if ((inside[i] > 0 && inside[next] < 0) || (inside[i] < 0 && inside[next] > 0)) {
            cut_corner *at = &c->corner[c->count++];
            *at = crossing_of(c, &old[i], &old[next], inside[i] / (inside[i] - inside[next]), line,
                              inside[i] > 0);
            double u_way = old[next].u - old[i].u, v_way = old[next].v - old[i].v;
            double along = c->inner_turn * (du * u_way + dv * v_way);
            at->straight = old[i].own && fabs(du * v_way - dv * u_way) < PARALLEL * along;
        } else if (inside[i] == 0 && inside[next] < 0) {
            c->corner[c->count - 1].own = false;
            c->corner[c->count - 1].edge = line;
        }
    }
}

/* Cuts the inner feature by the outer one, which is a face, and adds what is left. */
static void cut_features(places *p, const feature *inner, const feature *outer,
                         uint32_t inner_side) {
    cut c; /* corners come below */
    c.p = p;
    c.outer = outer;
    c.inner_side = inner_side;
    c.count = 0;
    for (uint32_t i = 0; i < inner->count; i++) {
        const feature_corner *from = &inner->corner[i];
        c.corner[c.count++] = (cut_corner){.at = from->at,
                                           .u = v3_dot(from->at, p->along[0]),
                                           .v = v3_dot(from->at, p->along[1]),
                                           .side = inner_side,
                                           .kind = ABUT_CONTACT_SOLID,
                                           .element = from->vertex,
                                           .own = true,
                                           .edge = from->edge};
    }
    double rise = v3_dot(outer->normal, p->normal);
    c.inner_turn = inner->count < 3 ? 0 : v3_dot(inner->normal, p->normal) > 0 ? 1 : -1;
    for (uint32_t i = 0; i < outer->count; i++)
        cut_by(&c, i, rise > 0 ? 1 : -1);
    for (uint32_t i = 0; i < c.count; i++) {
        const cut_corner *k = &c.corner[i];
        if (k->straight)
            continue;
        double up = v3_dot(outer->normal, v3_sub(outer->corner[0].at, k->at)) / rise;
        vec3 other = v3_along(k->at, up, p->normal);
        add_place(p, inner_side ? other : k->at, inner_side ? k->at : other, k->side, k->kind,
                  k->element, k->part);
    }
}

/* Two edges that are nearly parallel as seen along the normal: both ends of what they share. */
static void share_edges(places *p, const feature *a, const feature *b) {
    vec3 d = v3_sub(a->corner[1].at, a->corner[0].at), e = v3_sub(b->corner[1].at, b->corner[0].at);
    double du = v3_dot(d, p->along[0]), dv = v3_dot(d, p->along[1]);
    double eu = v3_dot(e, p->along[0]), ev = v3_dot(e, p->along[1]);
    double d_sq = du * du + dv * dv, e_sq = eu * eu + ev * ev;
    if (!(fabs(du * ev - dv * eu) < PARALLEL * sqrt(d_sq * e_sq)))
        return;
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; k < 2; k++) {
            const feature *own = side ? b : a, *other = side ? a : b;
            vec3 at = own->corner[k].at, to = v3_sub(at, other->corner[0].at);
            double tu = v3_dot(to, p->along[0]), tv = v3_dot(to, p->along[1]);
            double t = side ? (tu * du + tv * dv) / d_sq : (tu * eu + tv * ev) / e_sq;
            if (!(t >= -HAIR && t <= 1 + HAIR))
                continue;
            vec3 there = v3_lerp(other->corner[0].at, other->corner[1].at, real_clamp(t, 0, 1));
            add_place(p, side ? there : at, side ? at : there, (uint32_t)side, ABUT_CONTACT_SOLID,
                      own->corner[k].vertex, 0);
        }
}

/* ---- the answer ---- */

static double deepest_of(const places *p) {
    double deepest = -INFINITY;
    for (uint32_t i = 0; i < p->count; i++)
        deepest = real_max(deepest, p->found[i].point.depth);
    return deepest;
}

/* Sorts by u, then v. */
static void sort_places(patch_candidate *list, uint32_t count) {
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

/* The area of the convex hull of all, by its lower and upper chain (Andrew 1979). */
static double area_of(const places *p) {
    patch_candidate sorted[PATCH_CANDIDATES], hull[2 * PATCH_CANDIDATES];
    if (p->count < 3)
        return 0;
    memcpy(sorted, p->found, p->count * sizeof *sorted);
    sort_places(sorted, p->count);
    uint32_t n = 0, least = 2;
    for (uint32_t pass = 0; pass < 2; pass++, least = n + 1)
        for (uint32_t i = pass; i < p->count; i++) {
            const patch_candidate *c = &sorted[pass ? p->count - 1 - i : i];
            while (n >= least && (hull[n - 1].u - hull[n - 2].u) * (c->v - hull[n - 2].v) -
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

/* ---- names ---- */

/* The vertices of a feature as seen along the normal. */
typedef struct seen_vertices {
    uint32_t count, vertex[SIDES];
    double u[SIDES], v[SIDES];
    double extent; /* half of the largest distance between two corners of the feature */
} seen_vertices;

/* Points of a cylinder's rim that move around it are no vertices. */
static void see_vertices(const places *p, uint32_t side, seen_vertices *seen) {
    const feature *f = &p->feature[side];
    bool rim = (side ? p->b : p->a)->kind == ABUT_SOLID_CYLINDER && f->count > 2;
    double most_sq = 0;
    seen->count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t k = seen->count;
        seen->vertex[k] = f->corner[i].vertex;
        seen->u[k] = v3_dot(f->corner[i].at, p->along[0]);
        seen->v[k] = v3_dot(f->corner[i].at, p->along[1]);
        for (uint32_t j = 0; j < k; j++) {
            double du = seen->u[k] - seen->u[j], dv = seen->v[k] - seen->v[j];
            most_sq = real_max(most_sq, du * du + dv * dv);
        }
        seen->count += !(rim && seen->vertex[k] % (2 * RIM) >= RIM);
    }
    seen->extent = 0.5 * sqrt(most_sq);
}

/* The vertex nearest to a point, if that is within `radius`; otherwise ABUT_NONE. */
static uint32_t vertex_near(const seen_vertices *seen, const patch_candidate *c, double radius) {
    uint32_t nearest = ABUT_NONE;
    double least_sq = radius * radius;
    for (uint32_t i = 0; i < seen->count; i++) {
        double du = seen->u[i] - c->u, dv = seen->v[i] - c->v;
        if (du * du + dv * dv <= least_sq) {
            least_sq = du * du + dv * dv;
            nearest = seen->vertex[i];
        }
    }
    return nearest;
}

/* Names the points after vertices where they are near to one, and leaves one of each name: that
 * with the lowest name before, unless another is deeper by more than `slack`. Sorts them by name,
 * so that the order in which they were found does not matter. */
static void name_places(places *p, const seen_vertices seen[2], double radius, double slack) {
    patch_candidate sorted[PATCH_CANDIDATES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) { /* by the names that they have */
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
            uint32_t vertex = vertex_near(&seen[side], &c, radius);
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

/* Gives the chosen points their depths again. The deepest comes first, with the depth of the patch,
 * which is at most the slack more than its own. */
static void restore_depths(const places *p, patch_answer *answer) {
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

static void finish(places *p, uint32_t keep, patch_answer *answer) {
    seen_vertices seen[2];
    for (uint32_t side = 0; side < 2; side++)
        see_vertices(p, side, &seen[side]);
    double extent = real_min(seen[0].extent, seen[1].extent), spread = 0;
    for (uint32_t i = 1; i < p->count; i++)
        spread = real_max(spread, 0.5 * hypot(p->found[i].u - p->found[0].u,
                                              p->found[i].v - p->found[0].v));
    if (p->b->kind == ABUT_SOLID_PLANE)
        extent = real_max(extent, spread);
    /* Points near each other have similar depths on faces that are not parallel, too. */
    double flat_range =
        real_min(FLAT_RANGE * real_min(extent, spread), FLAT_FRACTION * (p->depth + p->gap));
    double shallowest = p->depth;
    for (uint32_t i = 0; i < p->count; i++)
        shallowest = real_min(shallowest, p->found[i].point.depth);
    double slack = real_max(flat_range - (p->depth - shallowest), 0); /* 0 at the range: no jump */
    vec3 sum = v3(0, 0, 0);
    answer->area = area_of(p);
    name_places(p, seen, VERTEX_RADIUS * extent, slack);
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
    abuti_patch_choose(&choice, keep, p->gap, answer);
    restore_depths(p, answer);
    answer->is_face_normal = false;
    answer->normal = p->normal;
    answer->depth = p->depth;
    answer->centre = v3_scale(sum, 1.0 / p->count);
    answer->volume = 0;
}

/* The vertices of a large polytope that may matter on a plane: the deepest, and the outermost of
 * those that are deep enough. Of those that are outermost within `tolerance` the first. */
static void add_outermost(places *p, double tolerance) {
    const solid_body *a = p->a;
    uint32_t best[RIM + 1];
    double most[RIM + 1];
    for (int k = 0; k <= RIM; k++)
        most[k] = -INFINITY;
    for (uint32_t i = 0; i < a->core.vertex_count; i++) {
        vec3 at = solid_vertex(a, i);
        double height = v3_dot(at, p->normal);
        if (height - a->radius > p->gap)
            continue;
        double u = v3_dot(at, p->along[0]), v = v3_dot(at, p->along[1]);
        for (int k = 0; k <= RIM; k++) {
            static const double way[RIM][2] = {{1, 0},  {.75, .75},   {0, 1},  {-.75, .75},
                                               {-1, 0}, {-.75, -.75}, {0, -1}, {.75, -.75}};
            double here = k == RIM ? -height : u * way[k][0] + v * way[k][1];
            if (here > most[k] + (k == RIM ? 0 : tolerance)) {
                most[k] = here;
                best[k] = i;
            }
        }
    }
    for (int k = RIM; k >= 0; k--) {
        bool again = !(most[k] > -INFINITY);
        for (int i = RIM; i > k && !again; i--)
            again = best[i] == best[k];
        if (again)
            continue;
        vec3 at = solid_vertex(a, best[k]);
        add_place(p, at, v3_along(at, -v3_dot(at, p->normal), p->normal), 0, ABUT_CONTACT_SOLID,
                  best[k], 0);
    }
}

/* b is a plane, through the origin of the frame. */
static void answer_plane(places *p, uint32_t keep, patch_answer *answer) {
    p->normal = p->b->axis;
    abuti_patch_tangents(p->normal, p->along);
    vec3 down = v3_scale(p->normal, -1);
    p->depth = p->a->radius - v3_dot(p->normal, abuti_solid_support(p->a, down));
    if (!(p->depth >= -p->gap))
        return;
    if (p->a->kind == ABUT_SOLID_CYLINDER) {
        feature f;
        find_feature(p->a, down, p->a->shift, LOOKS, &f);
        for (uint32_t i = 0; i < f.count; i++)
            add_place(p, f.corner[i].at,
                      v3_along(f.corner[i].at, -v3_dot(f.corner[i].at, p->normal), p->normal), 0,
                      ABUT_CONTACT_SOLID, f.corner[i].vertex, 0);
    } else {
        add_outermost(p, SAME_REACH * (p->a->size - v3_length(p->a->shift)));
    }
    finish(p, keep, answer);
}

static vec3 flattened(const places *p, vec3 at) {
    return v3_along(at, -v3_dot(at, p->normal), p->normal);
}

/* The place of a feature of side `inner` that is furthest; where it lies flat, the one that is
 * nearest to the middle of the other as seen along the normal. */
static vec3 furthest_of(const places *p, const feature *f, int inner) {
    vec3 best = f->corner[0].at, middle = flattened(p, inner ? p->a->shift : p->b->shift);
    double sign = inner ? 1 : -1, least = INFINITY;
    for (uint32_t i = 1; i < f->count; i++)
        if (sign * v3_dot(p->normal, v3_sub(f->corner[i].at, best)) > 0)
            best = f->corner[i].at;
    vec3 nearest = best;
    for (uint32_t i = 0; i < f->count && f->count > 1; i++) {
        vec3 from = f->corner[i].at, to = f->corner[i + 1 == f->count ? 0 : i + 1].at;
        segment3 flat = {{flattened(p, from), flattened(p, to)}};
        closest_on_segment near = segment_closest_point(flat, middle);
        vec3 at = v3_lerp(from, to, near.parameter);
        if (near.distance < least &&
            sign * v3_dot(p->normal, v3_sub(at, best)) >= -HAIR * p->size) {
            least = near.distance;
            nearest = at;
        }
    }
    return nearest;
}

/* The place that the depth is of. Along the normal of a face it is what is furthest of the other,
 * on side `inner`; else a corner, or where two edges cross as seen along the normal. */
static void add_told(places *p, const solid_way *way, const feature faces[2], int inner) {
    feature f[2];
    vec3 at[2] = {way->at[0], way->at[1]}, down = v3_scale(p->normal, -1);
    int side = inner;
    bool edges = false;
    if (!way->of_face) {
        find_feature(p->a, down, p->b->shift, 2, &f[0]);
        find_feature(p->b, p->normal, p->a->shift, 2, &f[1]);
        edges = f[0].count == 2 && f[1].count == 2;
        side = f[1].count == 1 && (f[0].count > 1 || p->a->kind == ABUT_SOLID_CYLINDER);
    }
    const feature *told = way->of_face ? &faces[side] : &f[side];
    if (!way->has_places) {
        at[side] = way->of_face ? furthest_of(p, told, side) : told->corner[0].at;
        if (edges) {
            segment3 flat[2];
            for (int k = 0; k < 4; k++)
                flat[k / 2].end[k % 2] = flattened(p, f[k / 2].corner[k % 2].at);
            vec3 near = segment_segment_closest_rounded(flat[0], flat[1]).point_a;
            at[0] = v3_lerp(f[0].corner[0].at, f[0].corner[1].at,
                            segment_closest_point(flat[0], near).parameter);
        }
        at[!side] = v3_along(at[side], side ? way->separation : -way->separation, p->normal);
    }
    add_place(p, at[0], at[1], (uint32_t)side, edges ? ABUT_CONTACT_CROSSING : ABUT_CONTACT_SOLID,
              edges ? f[0].corner[0].edge : told->corner[0].vertex,
              edges ? f[1].corner[0].edge : 0);
}

/* Whether a direction is that of a face but for small rotations, as products of edges that are
 * almost parallel are. */
static bool is_of_face(const solid_body *s, vec3 direction) {
    feature f;
    if (s->kind == ABUT_SOLID_CYLINDER)
        return fabs(v3_dot(s->axis, direction)) > LIES_FLAT;
    find_polytope_feature(s, direction, LIES_FLAT, &f);
    return f.count > 2;
}

/* The patch of two solids, in the frame; no points where they are further apart than the margin. */
static void answer_solids(const solid_body *a, const solid_body *b, double margin, vec3 hint,
                          uint32_t keep, patch_answer *answer) {
    places p; /* candidates come later */
    p.a = a;
    p.b = b;
    p.feature[0].count = p.feature[1].count = 0;
    p.size = a->size + b->size + a->radius + b->radius;
    p.count = 0;
    p.gap = margin + 1e-15 * p.size;
    answer->count = 0;
    if (b->kind == ABUT_SOLID_PLANE) {
        answer_plane(&p, keep, answer);
        return;
    }
    solid_way way;
    if (!abuti_solid_way(a, b, p.gap + a->radius + b->radius, hint, &way))
        return;
    p.normal = way.normal;
    abuti_patch_tangents(p.normal, p.along);
    p.depth = a->radius + b->radius - way.separation;
    feature *f = p.feature;
    vec3 down = v3_scale(p.normal, -1);
    double looks = LOOKS_ONE;
    if (way.of_face || is_of_face(a, down) || is_of_face(b, p.normal))
        looks = LOOKS;
    find_feature(a, down, b->shift, looks, &f[0]);
    find_feature(b, p.normal, a->shift, looks, &f[1]);
    bool faces[2] = {f[0].count > 2, f[1].count > 2};
    if (faces[0] && faces[1]) /* by the one that lies flatter */
        faces[0] = -v3_dot(f[0].normal, p.normal) > v3_dot(f[1].normal, p.normal) + 1e-12;
    if (faces[0] || faces[1])
        cut_features(&p, &f[faces[0]], &f[!faces[0]], faces[0]);
    else if (f[0].count == 2 && f[1].count == 2)
        share_edges(&p, &f[0], &f[1]);
    /* The furthest of a rim that lies flat is left out; it is 0.08 of the tilt deeper, at most.
     * Vertices of a face that is tilted against the end of a cylinder may be on the rim. */
    double left_out = 0;
    bool parallel = f[0].count > 2 && f[1].count > 2 &&
                    v3_length_sq(v3_cross(f[0].normal, f[1].normal)) <= 4 * FLAT_TILT * FLAT_TILT;
    for (int side = 0; side < 2 && parallel; side++)
        if ((side ? b : a)->kind == ABUT_SOLID_CYLINDER && f[side].count > 2)
            left_out += 0.08 * FLAT_TILT * (side ? b : a)->wide;
    if (!(deepest_of(&p) >= p.depth - HAIR * p.size - left_out))
        add_told(&p, &way, f, faces[0]);
    finish(&p, keep, answer);
}

/* ---- the question ---- */

/* Whether of two equal solids the one with pose a comes first: by the coordinate in which they are
 * furthest apart, so that bodies that rest on each other keep their order while they tremble. The
 * factors keep solids that are diagonally above each other, as bricks are, away from ties. */
static bool poses_in_order(const abut_pose *a, const abut_pose *b) {
    vec3 way = v3_sub(b->translation, a->translation);
    double x = way.x, y = 1.1 * way.y, z = 1.3 * way.z;
    double most = fabs(z) >= fabs(x) && fabs(z) >= fabs(y) ? z : fabs(y) >= fabs(x) ? y : x;
    return most != 0 ? most < 0 : memcmp(a, b, sizeof *a) <= 0;
}

/* Whether a comes first: planes last, else by kind and numbers. */
static bool in_order(const abut_solid *a, const abut_solid *b) {
    if (a->kind != b->kind)
        return a->kind > b->kind;
    static const size_t bytes[] = {sizeof(abut_plane), sizeof(abut_sphere), sizeof(abut_capsule),
                                   sizeof(abut_vec3), sizeof(abut_cylinder)};
    int order = 0;
    if (a->kind != ABUT_SOLID_HULL) {
        order = memcmp(&a->shape, &b->shape, bytes[a->kind]);
    } else {
        order = abuti_patch_order(a->shape.hull, b->shape.hull);
    }
    return order ? order < 0 : poses_in_order(&a->pose, &b->pose);
}

abut_status abut_contact_solids(const abut_solid *a, const abut_solid *b,
                                const abut_patch_options *options, abut_patches *patches) {
    patch_frame frame = {.function = "abut_contact_solids"};
    abut_patch_options o;
    abut_status status = abuti_patch_options(frame.function, options, patches, &o);
    status = status ? status : abuti_solid_check(frame.function, "a", a);
    status = status ? status : abuti_solid_check(frame.function, "b", b);
    if (status)
        return status;
    frame.swapped = !in_order(a, b);
    frame.pair = o.pair;
    solid_body body[2];
    patch_answer answer;
    answer.count = 0;
    if (a->kind != ABUT_SOLID_PLANE || b->kind != ABUT_SOLID_PLANE) {
        abuti_solid_place(frame.swapped ? b : a, frame.swapped ? a : b, &body[0], &body[1],
                          &frame.motion, &frame.origin);
        mat3 back = m3_transpose(&frame.motion.rotation);
        vec3 hint = m3_apply(&back, v3_scale(o.hint, frame.swapped ? -1 : 1));
        answer_solids(&body[0], &body[1], o.margin, hint, o.max_contacts, &answer);
    }
    return abuti_patch_write(&frame, &answer, answer.count > 0, true,
                             abuti_guaranteed("Both solids are convex: a shift by the depth along "
                                              "the normal separates them."),
                             patches);
}
