/* Arithmetic of points and boxes for the command and its pictures. A part of tool.h. */
#ifndef ABUT_TOOL_VECTORS_H
#define ABUT_TOOL_VECTORS_H

#include <abut/mesh.h>

#include <math.h>

static inline abut_vec3 vec_of(const double n[3]) {
    return (abut_vec3){n[0], n[1], n[2]};
}

static inline abut_vec3 vec_add(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline abut_vec3 vec_sub(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

/* p + s d. */
static inline abut_vec3 vec_along(abut_vec3 p, double s, abut_vec3 d) {
    return (abut_vec3){p.x + s * d.x, p.y + s * d.y, p.z + s * d.z};
}

static inline abut_vec3 vec_divide(abut_vec3 v, double by) {
    return (abut_vec3){v.x / by, v.y / by, v.z / by};
}

static inline abut_vec3 vec_centroid(abut_vec3 a, abut_vec3 b, abut_vec3 c) {
    return vec_divide(vec_add(vec_add(a, b), c), 3);
}

static inline double vec_dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline abut_vec3 vec_cross(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double vec_length(abut_vec3 v) {
    return hypot(hypot(v.x, v.y), v.z);
}

/* A box without points; box_add() adds one. */
static const abut_box empty_box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL},
                                   {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};

static inline void box_add(abut_box *box, abut_vec3 p) {
    box->lo = (abut_vec3){fmin(box->lo.x, p.x), fmin(box->lo.y, p.y), fmin(box->lo.z, p.z)};
    box->hi = (abut_vec3){fmax(box->hi.x, p.x), fmax(box->hi.y, p.y), fmax(box->hi.z, p.z)};
}

static inline double box_diagonal(const abut_box *box) {
    return vec_length(vec_sub(box->hi, box->lo));
}

/* The length of the longest side. */
static inline double box_longest(const abut_box *box) {
    return fmax(box->hi.x - box->lo.x, fmax(box->hi.y - box->lo.y, box->hi.z - box->lo.z));
}

/* One of the eight corners. */
static inline abut_vec3 box_corner(const abut_box *box, int corner) {
    return (abut_vec3){corner & 1 ? box->lo.x : box->hi.x, corner & 2 ? box->lo.y : box->hi.y,
                       corner & 4 ? box->lo.z : box->hi.z};
}

/* The absolute position of a vertex. */
static inline abut_vec3 mesh_point(const abut_mesh *mesh, uint32_t vertex) {
    return vec_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[vertex]);
}

#endif
