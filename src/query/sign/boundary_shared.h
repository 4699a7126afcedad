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
 * has one strip for the chain. With R = |r| and e = r / R (Barill, Dickson, Schmidt, Levin &
 * Jacobson 2018, "Fast winding numbers for soups and clouds", section 3),
 *     4 pi w(T) = 1/R^2 [ N(e) - 3 / R M(e) + 15 / 2 / R^2 K(e) ] + remainder
 *     N(e) = integral of n.e,  M(e) = integral of (s.e)(n.e),  K(e) = integral of (s.e)^2 (n.e),
 * where M and K are the polynomials without their traces: multiples of x^2 + y^2 + z^2 do not
 * contribute to the field of 1/R. Chains that are far from p compared with their length are
 * replaced; the others are divided. Nodes above whole loops have several loops and no strip.
 *
 * Guarantee. The field is minus the gradient of 1/x. The k-th derivative of 1/x along unit vectors
 * is at most k! / x^(k+1) (Legendre polynomials are at most 1 in magnitude; for mixed directions by
 * Banach's theorem on symmetric forms). So the remainder is at most 4 B / (R - a)^5, where a is the
 * radius of the ball and B the integral of |s|^3 over T. The sum of these bounds over the replaced
 * chains, which are disjoint, bounds the error of w. A chain of m of all n edges is replaced if its
 * bound is at most 4 pi t m / n, so that the sum is at most t; and on the first levels also if it
 * is small compared with the solid angle of T. A query begins with a large t, and reduces it until
 * the error bound decides. Rounding errors are added: 2^-50 per evaluated strip, times the length
 * of its edge over its distance if that is larger than 1.
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
    double n[3];  /* N: x y z */
    double m[6];  /* M: xx yy zz xy yz zx */
    double k[10]; /* K: xxx yyy zzz xxy yyz zzx xyy yzz zxx xyz */
    double bound; /* 4 B / (4 pi) */
    double area;  /* upper bound of the area of T */
    word32 first; /* first vertex of the chain; ABUT_NONE for several loops */
    word32 edges; /* m */
} boundary_node;

/* The tree over the boundary; vertices are absolute, and the first of each loop is repeated at its
 * end. */
typedef struct boundary_view {
    const ABUTI_GLOBAL boundary_node *nodes;
    const ABUTI_GLOBAL double *vertices; /* x y z */
    double origin[3], scale;
    word32 node_count;
} boundary_view;

/* t of the first level and of the last one, less than 1e-12, and the factor between levels. */
#define BOUNDARY_ROUGH 0x1p-4
#define BOUNDARY_EXACT 0x1p-40
#define BOUNDARY_STEP 0.125
/* More than the rounding errors of N - S. */
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
static inline double boundary_field(const ABUTI_GLOBAL boundary_node *t, vec3 r, double distance) {
    double inverse = 1.0 / distance, x = r.x * inverse, y = r.y * inverse, z = r.z * inverse;
    double xx = x * x, yy = y * y, zz = z * z;
    double n = t->n[0] * x + t->n[1] * y + t->n[2] * z;
    double m = t->m[0] * xx + t->m[1] * yy + t->m[2] * zz + t->m[3] * x * y + t->m[4] * y * z +
               t->m[5] * z * x;
    double k = xx * (t->k[0] * x + t->k[3] * y + t->k[8] * z) +
               yy * (t->k[6] * x + t->k[1] * y + t->k[4] * z) +
               zz * (t->k[5] * x + t->k[7] * y + t->k[2] * z) + t->k[9] * x * y * z;
    return (n + (7.5 * k * inverse - 3.0 * m) * inverse) * inverse * inverse;
}

/* S - w(T) of all replaced chains, for the origin of the ray. Also finds the error bound, and the
 * slope for a box. */
static inline double boundary_strips(const boundary_view *b, const axis_ray *ray, double t,
                                     boundary_box *box) {
    const vec3 p =
        v3_scale(v3_sub(ray->from, v3(b->origin[0], b->origin[1], b->origin[2])), b->scale);
    double fields = 0.0;
    half_angles sum;
    strip_end end; /* of the last strip, at the vertex `reached`, where the next usually begins */
    word32 reached = ABUT_NONE;
    sum.x = 1.0;
    sum.y = sum.turns = box->slope = box->error = 0.0;
    /* The first levels replace T whose error is this small compared with area / (4 pi R^2). */
    double relative = t > BOUNDARY_EXACT ? t * BOUNDARY_INVERSE_4_PI : 0.0;
    double share = b->node_count > 0 ? t / b->nodes[0].edges : 0.0;
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
            double inverse = 1.0 / near, inverse_sq = inverse * inverse;
            double error = n->bound * inverse_sq * inverse_sq * inverse;
            if (hit || !(gap > (box->radius > 0.0 ? a : 0.0)) ||
                !(error <= share * n->edges || error * sq <= relative * n->area)) {
                i++;
                continue;
            }
            box->error += error;
            fields += boundary_field(n, r, distance);
            if (box->radius > 0.0)
                box->slope += edge_slope(2.0 * a, gap) + 2.0 * n->area / (gap * gap * gap);
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
    return winding_value(0.0, sum.x, sum.y, sum.turns) - fields * BOUNDARY_INVERSE_4_PI;
}

/* A box of one point. */
static inline boundary_box boundary_point(void) {
    boundary_box box;
    box.half_size[0] = box.half_size[1] = box.half_size[2] = box.radius = box.error = box.slope =
        0.0;
    return box;
}

/* Whether the winding number around the origin of a ray with N crossings, times `facing` (1 or -1),
 * is at least 1/2: with the first error that decides, or the last one. */
static inline int boundary_inside(const boundary_view *b, const axis_ray *ray, int crossings,
                                  double facing) {
    for (double t = BOUNDARY_ROUGH;; t = real_max(BOUNDARY_STEP * t, BOUNDARY_EXACT)) {
        boundary_box box = boundary_point();
        double w = facing * (crossings - boundary_strips(b, ray, t, &box)) - 0.5;
        if (fabs(w) > box.error + BOUNDARY_ROUNDING || t == BOUNDARY_EXACT)
            return w >= 0.0;
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
