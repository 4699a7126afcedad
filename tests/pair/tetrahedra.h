/* The intersection of two solids by the plain method: sums over pairs of tetrahedra in long
 * doubles, which do not use surfaces. */
#ifndef ABUT_TEST_PAIR_TETRAHEDRA_H
#define ABUT_TEST_PAIR_TETRAHEDRA_H

#include "bvh/meshes.h"

#include <math.h>

typedef long double real_t;

typedef struct point {
    real_t x[3];
} point;

typedef struct tetrahedron {
    point p[4];
} tetrahedron;

typedef struct slow_common {
    real_t volume, moment[3], area_a, area_b;
} slow_common;

static point minus(point a, point b) {
    return (point){{a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2]}};
}

static point cross(point a, point b) {
    return (point){{a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2],
                    a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
}

static real_t dot(point a, point b) {
    return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2];
}

static real_t determinant(const tetrahedron *t) {
    return dot(minus(t->p[1], t->p[0]), cross(minus(t->p[2], t->p[0]), minus(t->p[3], t->p[0])));
}

static point between(point a, point b, real_t at_a, real_t at_b) {
    real_t t = at_a / (at_a - at_b);
    point r;
    for (int i = 0; i < 3; i++)
        r.x[i] = a.x[i] + t * (b.x[i] - a.x[i]);
    return r;
}

/* Adds the part of a tetrahedron above the planes from `plane` on. */
static void add_clipped(const tetrahedron *t, const point *normal, const point *at, int plane,
                        real_t sign, slow_common *sum) {
    if (plane == 4) {
        real_t volume = sign * fabsl(determinant(t)) / 6;
        sum->volume += volume;
        for (int i = 0; i < 3; i++)
            sum->moment[i] +=
                volume * (t->p[0].x[i] + t->p[1].x[i] + t->p[2].x[i] + t->p[3].x[i]) / 4;
        return;
    }
    real_t value[4];
    int in[4], out[4], ins = 0, outs = 0;
    for (int k = 0; k < 4; k++) {
        value[k] = dot(normal[plane], minus(t->p[k], at[plane]));
        if (value[k] >= 0)
            in[ins++] = k;
        else
            out[outs++] = k;
    }
#define CUT(i, o) between(t->p[i], t->p[o], value[i], value[o])
    tetrahedron parts[3];
    int count = 0;
    if (ins == 4) {
        parts[count++] = *t;
    } else if (ins == 1) {
        parts[count++] = (tetrahedron){
            {t->p[in[0]], CUT(in[0], out[0]), CUT(in[0], out[1]), CUT(in[0], out[2])}};
    } else if (ins == 2 || ins == 3) { /* a prism: its top and its base */
        point top[3], base[3];
        if (ins == 3) {
            for (int k = 0; k < 3; k++) {
                top[k] = t->p[in[k]];
                base[k] = CUT(in[k], out[0]);
            }
        } else {
            for (int k = 0; k < 2; k++) {
                point three[3] = {t->p[in[k]], CUT(in[k], out[0]), CUT(in[k], out[1])};
                memcpy(k ? base : top, three, sizeof three);
            }
        }
        parts[count++] = (tetrahedron){{top[0], top[1], top[2], base[2]}};
        parts[count++] = (tetrahedron){{top[0], top[1], base[1], base[2]}};
        parts[count++] = (tetrahedron){{top[0], base[0], base[1], base[2]}};
    }
#undef CUT
    for (int k = 0; k < count; k++)
        add_clipped(&parts[k], normal, at, plane + 1, sign, sum);
}

/* Inward normals of the faces of a tetrahedron, and points on them. */
static void planes_of(const tetrahedron *t, point *normal, point *at) {
    for (int k = 0; k < 4; k++) {
        point a = t->p[(k + 1) % 4], b = t->p[(k + 2) % 4], c = t->p[(k + 3) % 4];
        normal[k] = cross(minus(b, a), minus(c, a));
        at[k] = a;
        if (dot(normal[k], minus(t->p[k], a)) < 0)
            for (int i = 0; i < 3; i++)
                normal[k].x[i] = -normal[k].x[i];
    }
}

/* The area of a triangle inside four planes. */
static real_t area_inside(const point *corner, const point *normal, const point *at) {
    point list[16], next[16];
    int count = 3;
    memcpy(list, corner, 3 * sizeof *list);
    for (int plane = 0; plane < 4; plane++) {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            point p = list[i], q = list[(i + 1) % count];
            real_t v = dot(normal[plane], minus(p, at[plane])),
                   w = dot(normal[plane], minus(q, at[plane]));
            if (v >= 0)
                next[kept++] = p;
            if ((v < 0) != (w < 0))
                next[kept++] = between(p, q, v, w);
        }
        count = kept;
        memcpy(list, next, (size_t)count * sizeof *list);
    }
    real_t area = 0;
    for (int i = 2; i < count; i++) {
        point n = cross(minus(list[i - 1], list[0]), minus(list[i], list[0]));
        area += sqrtl(dot(n, n)) / 2;
    }
    return area;
}

/* The corners of all triangles at a pose, relative to a point near both. */
static point *corners_of(const abut_collider *posed, abut_vec3 around) {
    const abut_mesh *mesh = abut_bvh_mesh(posed->shape.body.bvh);
    uint32_t count = abut_mesh_triangle_count(mesh);
    point *list = malloc(3 * (size_t)count * sizeof *list);
    assert_non_null(list);
    const abut_quat *r = &posed->pose.rotation;
    real_t q[4] = {r->x, r->y, r->z, r->w},
           length = sqrtl(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] = length > 0 ? q[i] / length : i == 3;
    for (uint32_t t = 0; t < count; t++) {
        abut_triangle triangle = triangle_of(mesh, t);
        for (int k = 0; k < 3; k++) {
            abut_vec3 c = triangle.corner[k];
            point p = {{c.x, c.y, c.z}}, u = {{q[0], q[1], q[2]}}, v = cross(u, p);
            for (int i = 0; i < 3; i++)
                v.x[i] += q[3] * p.x[i];
            v = cross(u, v);
            const double move[3] = {posed->pose.translation.x, posed->pose.translation.y,
                                    posed->pose.translation.z},
                         middle[3] = {around.x, around.y, around.z};
            for (int i = 0; i < 3; i++)
                list[3 * (size_t)t + (size_t)k].x[i] =
                    p.x[i] + 2 * v.x[i] + ((real_t)move[i] - (real_t)middle[i]);
        }
    }
    return list;
}

/* A triangle and a point, as part of a solid. */
typedef struct piece {
    tetrahedron whole;
    point normal[4], at[4];
    real_t sign;
} piece;

static piece *pieces_of(const abut_collider *posed, abut_vec3 around, uint32_t *count) {
    static const point apex = {{0.0123L, 0.0271L, -0.0391L}};
    AUTO_FREE point *corners = corners_of(posed, around);
    *count = abut_mesh_triangle_count(abut_bvh_mesh(posed->shape.body.bvh));
    piece *list = malloc(*count * sizeof *list);
    assert_non_null(list);
    for (uint32_t i = 0; i < *count; i++) {
        list[i].whole.p[0] = apex;
        memcpy(list[i].whole.p + 1, corners + 3 * (size_t)i, 3 * sizeof *corners);
        list[i].sign = determinant(&list[i].whole) < 0 ? -1 : 1;
        planes_of(&list[i].whole, list[i].normal, list[i].at);
    }
    return list;
}

static slow_common slowly(const abut_collider *a, const abut_collider *b, abut_vec3 around) {
    slow_common sum = {0};
    uint32_t count_a, count_b;
    AUTO_FREE piece *of_a = pieces_of(a, around, &count_a), *of_b = pieces_of(b, around, &count_b);
    for (uint32_t i = 0; i < count_a; i++)
        for (uint32_t j = 0; j < count_b; j++) {
            const piece *s = &of_a[i], *t = &of_b[j];
            add_clipped(&s->whole, t->normal, t->at, 0, s->sign * t->sign, &sum);
            sum.area_a += t->sign * area_inside(s->whole.p + 1, t->normal, t->at);
            sum.area_b += s->sign * area_inside(t->whole.p + 1, s->normal, s->at);
        }
    return sum;
}

#endif
