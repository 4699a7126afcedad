/* The winding number of a surface with boundary around a point, for C and OpenCL C, with the same
 * bits on both.
 *
 * Problem: the generalised winding number w of a surface around a point p (Jacobson, Kavan &
 * Sorkine-Hornung 2013, "Robust inside-outside segmentation using generalized winding numbers") is
 * the solid angle of all its triangles over 4 pi. It is an integer without boundary, and fades
 * across holes.
 *
 * Method: strips from the boundary edges to infinity, against a ray from p, close the surface. The
 * ray crosses no strip and ends outside, so the closed surface winds around p N times, the signed
 * crossings of the ray and the surface: w = N - S, where S is the solid angle of the strips over 4
 * pi (Martens & Bessmeltsev 2024, "One-shot method for computing generalized winding numbers").
 * N and the side of each strip are decided by the same exact predicates (crossing_shared.h).
 *
 * The boundary consists of closed loops. A binary tree over each (boundary_tree.c) has a chain of
 * consecutive edges at each node, from vertex a to vertex b, which are in a ball. Replacing the
 * chain by the edge from a to b removes a surface T in the ball from the surface, whose boundary is
 * the chain and the edge back. If the ray misses the ball, N stays, and
 *     w = N - S' + w(T),    w(T) = 1 / (4 pi) integral over T of n.K(r + s),  K(x) = x / |x|^3,
 * where r is from p to the centre of the ball, s from there to a point of T with normal n, and S'
 * has one strip for the chain. With R = |r|, the vector area A of T and the moment M = integral of
 * n s',
 *     4 pi w(T) = A.r / R^3 + (trace M) / R^3 - 3 r'M r / R^5 + remainder.
 * Chains that are far from p compared with their length are replaced; the others are divided.
 * Nodes above whole loops have several loops and no strip.
 *
 * Guarantee. K is minus the gradient of 1/x. The k-th derivative of 1/x along unit vectors is at
 * most k! / x^(k+1) (Legendre polynomials are at most 1 in magnitude; for mixed directions by
 * Banach's theorem on symmetric forms). So the remainder is at most 3 B / (R - a)^4, where a is the
 * radius of the ball and B the integral of |s|^2 over T. A chain of m of all n edges is replaced if
 * this is at most 4 pi t m / n. The replaced chains are disjoint, so the error of w is at most t.
 * Added rounding errors: 2^-50 per evaluated strip, times the length of its edge over its distance
 * if that is larger than 1.
 *
 * Box of points: between points with no strip between them, S changes only because the boundary
 * moves. By the law of Biot and Savart its gradient is at most 1 / (4 pi) times the sum of the
 * integrals of 1 / x^2 along the edges; along an edge at distance d that is at most its length over
 * d^2, and at most pi / d. The gradient of w(T) is at most 2 / (4 pi) area(T) / (R - a)^3.
 */
#ifndef ABUTI_SIGN_BOUNDARY_SHARED_H
#define ABUTI_SIGN_BOUNDARY_SHARED_H

#include "sign/strips_shared.h"

#ifdef ABUTI_PREDICATES

/* In the scaled frame of the BVH, relative to the origin of the mesh. Nodes are in preorder: a node
 * of m edges is followed by its 2 m - 2 descendants. */
typedef struct boundary_node {
    double centre[3], radius;
    double area[3];   /* A */
    double moment[6]; /* M, symmetric and without its trace: xx yy zz xy yz zx */
    double reach;     /* (3 B n / (4 pi m))^(1/4): replaced if R - a is t^(-1/4) times this */
    double spread;    /* (3 B / area)^(1/2) */
    double surface;   /* upper bound of the area of T */
    word32 first;     /* first vertex of the chain; ABUT_NONE for several loops */
    word32 edges;     /* m */
} boundary_node;

/* The tree over the boundary; vertices are absolute, and the first of each loop is repeated at its
 * end. */
typedef struct boundary_view {
    const ABUTI_GLOBAL boundary_node *nodes;
    const ABUTI_GLOBAL double *vertices; /* x y z */
    double origin[3], scale;
    word32 node_count;
} boundary_view;

/* t^(-1/4) of the first level for signs, for winding numbers, and of the last level, whose error is
 * 2^-40, less than 1e-12. */
#define BOUNDARY_ROUGH 2.0
#define BOUNDARY_FINE 8.0
#define BOUNDARY_EXACT 1024.0
/* The error of winding numbers, and more than the rounding errors of N - S. */
#define BOUNDARY_VALUE_ERROR 0x1p-14
#define BOUNDARY_ROUNDING 0x1p-40
/* For points farther away w is 0 in practice; squares of coordinates stay in range. */
#define BOUNDARY_COORDINATE_MAX 0x1p60

#define BOUNDARY_INVERSE_4_PI 0.07957747154594767

/* The points for which S is computed: p, or those of a box around it in the scaled frame. */
typedef struct boundary_box {
    double half_size[3]; /* half extents */
    double radius;       /* half the diagonal; 0 for a single point */
    double error;        /* result: upper bound of the error of S, except rounding errors */
    double slope;        /* result: upper bound of the gradient of S; infinite if a strip may pass
                            through the box */
} boundary_box;

static inline vec3 boundary_vertex(const boundary_view *b, word32 vertex) {
    const ABUTI_GLOBAL double *at = b->vertices + 3 * (size_t)vertex;
    return v3(at[0], at[1], at[2]);
}

/* A vector in the order across, across, along the ray. */
static inline vec3 ray_components(const axis_ray *ray, vec3 v) {
    return v3(v3_get(v, (ray->axis + 1) % 3), v3_get(v, (ray->axis + 2) % 3),
              ray->sense * v3_get(v, ray->axis));
}

/* Integral of 1 / x^2 along an edge at a distance. */
static inline double edge_slope(double length, double distance) {
    return distance > 0.0 ? real_min(length / (distance * distance), WINDING_PI / distance)
                          : HUGE_VAL;
}

/* The slope by an edge whose ends are at a and b from the middle of a box; infinite if its strip
 * may pass through the box. */
static inline double boundary_edge_slope(const axis_ray *ray, const boundary_box *box, vec3 a,
                                         vec3 b) {
    vec3 e = v3_sub(b, a), p = ray_components(ray, a), q = ray_components(ray, b),
         h = ray_components(ray, v3(box->half_size[0], box->half_size[1], box->half_size[2]));
    double along = fabs(h.z);
    int beside =
        real_min(p.x, q.x) > h.x || real_max(p.x, q.x) < -h.x || real_min(p.y, q.y) > h.y ||
        real_max(p.y, q.y) < -h.y || real_max(p.z, q.z) < -along ||
        fabs(p.x * q.y - p.y * q.x) > 1.0000001 * (h.x * fabs(q.y - p.y) + h.y * fabs(q.x - p.x));
    if (!beside)
        return HUGE_VAL;
    double ee = v3_dot(e, e), t = ee > 0.0 ? real_clamp(-v3_dot(a, e) / ee, 0.0, 1.0) : 0.0;
    return edge_slope(sqrt(ee), 0.9999999 * v3_length(v3_along(a, t, e)) - box->radius);
}

/* 4 pi w(T), except for the remainder; `r` from the point to the centre, at a distance. */
static inline double boundary_field(const ABUTI_GLOBAL boundary_node *n, vec3 r, double distance) {
    double inverse = 1.0 / distance, x = r.x * inverse, y = r.y * inverse, z = r.z * inverse;
    double first = n->area[0] * x + n->area[1] * y + n->area[2] * z;
    double second = n->moment[0] * x * x + n->moment[1] * y * y + n->moment[2] * z * z +
                    n->moment[3] * x * y + n->moment[4] * y * z + n->moment[5] * z * x;
    return (first - 3.0 * second * inverse) * inverse * inverse;
}

/* S - w(T) of all replaced chains, for the origin of the ray; `k` is t^(-1/4). With a box, also
 * finds the slope. */
static inline double boundary_strips(const boundary_view *b, const axis_ray *ray, double k,
                                     boundary_box *box) {
    const vec3 p =
        v3_scale(v3_sub(ray->from, v3(b->origin[0], b->origin[1], b->origin[2])), b->scale);
    double fields = 0.0;
    half_angles sum;
    strip_end end; /* of the last strip, at the vertex `reached`, where the next usually begins */
    word32 reached = ABUT_NONE;
    sum.x = 1.0;
    sum.y = sum.turns = box->slope = box->error = 0.0;
    double relative = k < BOUNDARY_EXACT ? 0.5 * k * k : HUGE_VAL;
    if (!(v3_max_abs(p) < BOUNDARY_COORDINATE_MAX))
        return 0.0;
    for (word32 i = 0; i < b->node_count && box->slope < HUGE_VAL;) {
        const ABUTI_GLOBAL boundary_node *n = b->nodes + i;
        if (n->edges > 1) {
            vec3 r = v3_sub(v3(n->centre[0], n->centre[1], n->centre[2]), p);
            double sq = v3_dot(r, r), a = n->radius;
            double ahead = ray->sense * v3_get(r, ray->axis);
            int first = (ray->axis + 1) % 3, second = (ray->axis + 2) % 3;
            int hit = fabs(v3_get(r, first)) <= a + box->half_size[first] &&
                      fabs(v3_get(r, second)) <= a + box->half_size[second] &&
                      ahead >= -(a + box->half_size[ray->axis]);
            double distance = sqrt(sq), near = distance - a, gap = near - box->radius;
            double least = box->radius > 0.0 ? a : 0.0;
            if (hit || !(gap > least &&
                         (near > k * n->reach || near * near > relative * n->spread * distance))) {
                i++;
                continue;
            }
            double inverse_sq = 1.0 / (near * near);
            box->error += n->surface * n->spread * n->spread * inverse_sq * inverse_sq;
            fields += boundary_field(n, r, distance);
            if (box->radius > 0.0)
                box->slope += edge_slope(2.0 * a, gap) + 2.0 * n->surface / (gap * gap * gap);
        }
        if (n->first != ABUT_NONE) {
            vec3 from = boundary_vertex(b, n->first), to = boundary_vertex(b, n->first + n->edges);
            strip_end begin = n->first == reached ? end : strip_end_of(ray, from, b->scale);
            reached = n->first + n->edges;
            end = strip_end_of(ray, to, b->scale);
            half_angles_add_strip(&sum, ray, from, to, begin, end);
            if (box->radius > 0.0 && n->edges == 1)
                box->slope +=
                    boundary_edge_slope(ray, box, v3_scale(v3_sub(from, ray->from), b->scale),
                                        v3_scale(v3_sub(to, ray->from), b->scale));
        }
        i += 2 * n->edges - 1;
    }
    box->slope *= BOUNDARY_INVERSE_4_PI;
    box->error *= BOUNDARY_INVERSE_4_PI;
    return winding_value(0.0, sum.x, sum.y, sum.turns) - fields * BOUNDARY_INVERSE_4_PI;
}

/* A box of one point. */
static inline boundary_box boundary_point(void) {
    boundary_box box;
    box.half_size[0] = box.half_size[1] = box.half_size[2] = box.radius = box.error = box.slope =
        0.0;
    return box;
}

/* The winding number around the origin of a ray with N crossings, with an error of
 * BOUNDARY_VALUE_ERROR. If `sign_only`, only to decide whether it is at least 1/2 times `facing` (1
 * or -1): with any error that does, or the least. */
static inline double boundary_winding(const boundary_view *b, const axis_ray *ray, int crossings,
                                      int sign_only, double facing) {
    double k = sign_only ? BOUNDARY_ROUGH : BOUNDARY_FINE;
    for (;; k = real_min(1.5 * k, BOUNDARY_EXACT)) {
        boundary_box box = boundary_point();
        double w = crossings - boundary_strips(b, ray, k, &box);
        double allowed =
            sign_only ? fabs(facing * w - 0.5) - BOUNDARY_ROUNDING : BOUNDARY_VALUE_ERROR;
        if (box.error < allowed || k == BOUNDARY_EXACT)
            return w;
    }
}

/* Computes S, for rays towards lower x, in the middle of a box of cells whose outermost centres are
 * at lo and hi. Returns 1 if that decides all signs: no integer minus S is within the error bound
 * of 1/2. Otherwise returns -1 if a strip may pass through the box or an edge is near, or 0. */
static inline int boundary_decide_box(const boundary_view *b, vec3 lo, vec3 hi, double cell,
                                      double *shift) {
    vec3 half_size = v3_scale(v3_sub(hi, lo), 0.5);
    double error = 0x1p-20 * cell + 0x1p-48 * (v3_max_abs(lo) + v3_max_abs(hi));
    boundary_box box = boundary_point();
    axis_ray ray;
    ray.from = v3_add(lo, half_size);
    ray.axis = 0;
    ray.sense = -1;
    for (int k = 0; k < 3; k++)
        box.half_size[k] = (v3_get(half_size, k) + error) * b->scale;
    box.radius = v3_length(v3(box.half_size[0], box.half_size[1], box.half_size[2]));
    *shift = boundary_strips(b, &ray, BOUNDARY_ROUGH, &box);
    double apart = fabs(*shift - 0.5 - rint(*shift - 0.5));
    if (apart > box.error + BOUNDARY_ROUNDING + box.slope * box.radius)
        return 1;
    return box.slope < HUGE_VAL ? 0 : -1;
}

#endif
#endif
