/* Collision of moving particles with radial fields, for C and OpenCL C. On a device ABUTI_REAL_BITS
 * is 64.
 *
 * A particle moves linearly in field space, from its position relative to the previous frame to
 * that relative to the current frame (Friston and Steed 2019, figure 2). The intersection with the
 * two planes of every cell on the path is computed in closed form, instead of tests at a few points
 * (section 6.2). Within a cell the first time below the surface is exact up to rounding, and a
 * particle that enters a cell below its surface is found there. So no speed is too high.
 *
 * The response is that of equations 5 to 11, with the signs that make V_t act against the motion:
 * V_p - V_n in equation 7 of the paper should be V_p + V_n, and V_t should be subtracted. V_n ends
 * at the surface.
 *
 * The result is the hit with the smallest time, and of equal times the lowest field. Broad phases
 * of the CPU and of devices differ, which does not matter, since they only skip fields that are not
 * hit.
 */
#ifndef ABUTI_RADIAL_COLLIDE_SHARED_H
#define ABUTI_RADIAL_COLLIDE_SHARED_H

#include "radial/cell_shared.h"

/* ---- motion ---- */

/* The point where a particle passes below the surface. */
typedef struct radial_entry {
    float time;         /* fraction of the path */
    radial_plane plane; /* relative to row `row` */
    int row;
    float p[3]; /* the point, in units of length relative to the same row */
} radial_entry;

static inline void radial_enter(radial_entry *e, radial_plane plane, int row, float time, float x,
                                float y, float up) {
    e->time = time;
    e->plane = plane;
    e->row = row;
    e->p[0] = x;
    e->p[1] = y;
    e->p[2] = up;
}

/* Clips a path to the cylinder of a field: its rows and `reach`. */
static inline int radial_clip(const double a[3], const double b[3], double low, double high,
                              double reach, double *from, double *to) {
    /* Most paths are completely inside or completely on one side, which needs no division. */
    double t0 = 0.0, t1 = 1.0;
    if ((a[2] < low && b[2] < low) || (a[2] > high && b[2] > high))
        return 0;
    const double sq = reach * reach, dx = b[0] - a[0], dy = b[1] - a[1];
    if (a[0] * a[0] + a[1] * a[1] > sq || b[0] * b[0] + b[1] * b[1] > sq) {
        /* The distance of the line from the axis follows from the cross product, without
         * cancellation. */
        const double dd = dx * dx + dy * dy, ad = a[0] * dx + a[1] * dy;
        const double cross = a[0] * dy - a[1] * dx, under = sq * dd - cross * cross;
        if (!(under >= 0.0) || !(dd > 0.0) || (ad >= 0.0 && a[0] * a[0] + a[1] * a[1] > sq) ||
            (ad + dd <= 0.0 && b[0] * b[0] + b[1] * b[1] > sq))
            return 0;
        const double root = real_sqrt(under);
        t0 = real_max(t0, (-ad - root) / dd);
        t1 = real_min(t1, (-ad + root) / dd);
    }
    if (a[2] < low || a[2] > high || b[2] < low || b[2] > high) {
        const double dz = b[2] - a[2], s = (low - a[2]) / dz, e = (high - a[2]) / dz;
        t0 = real_max(t0, real_min(s, e));
        t1 = real_min(t1, real_max(s, e));
    }
    *from = t0;
    *to = t1;
    return t0 <= t1;
}

/* The time in [0, 1] when a linear height becomes negative (2 = never), and when it becomes
 * non-negative again. */
static inline float radial_time_entering(float a, float b) {
    return a < 0.0f ? 0.0f : b < 0.0f ? a / (a - b) : 2.0f;
}
static inline float radial_time_leaving(float a, float b) {
    return a < 0.0f && b >= 0.0f ? a / (a - b) : 1.0f;
}

/* The first time when a point is below the surface, on a part of its path within the cell. */
static inline float radial_first_time_below(const radial_planes *s, const float from[3],
                                            const float to[3], float radius, radial_plane *plane) {
    const float a0 = radial_above(s->a, from[0], from[1], from[2]) - radius;
    const float a1 = radial_above(s->a, to[0], to[1], to[2]) - radius;
    const float a = radial_time_entering(a0, a1);
    *plane = s->a;
    if (s->count == 1)
        return a;
    const float b0 = radial_above(s->b, from[0], from[1], from[2]) - radius;
    const float b1 = radial_above(s->b, to[0], to[1], to[2]) - radius;
    const float b = radial_time_entering(b0, b1);
    if (!s->convex) {
        const int second = b < a || (b == a && b0 < a0);
        *plane = second ? s->b : s->a;
        return second ? b : a;
    }
    const int second = b > a || (b == a && b0 > a0);
    const float la = radial_time_leaving(a0, a1), lb = radial_time_leaving(b0, b1);
    const float in = second ? b : a, out = la < lb ? la : lb;
    *plane = second ? s->b : s->a;
    return in <= out ? in : 2.0f;
}

/* Traverses every cell from a to b, both within the cylinder. Coordinates are those of field space.
 */
static inline int radial_walk(const radial_body *b, const float from[3], const float to[3],
                              float radius, radial_entry *found) {
    const int low = radial_low(b), high = radial_high(b);
    const float dx = to[0] - from[0], dy = to[1] - from[1], dz = to[2] - from[2];
    /* The angle is monotonic along a straight line. */
    const int forward = from[0] * to[1] - from[1] * to[0] >= 0.0f;
    int row = radial_find_row(radial_clamp(from[2], (float)low, (float)high), high);
    radial_wedge w = radial_find_wedge(b, from[0], from[1]);
    float t = 0.0f;
    for (word32 visit = 0; visit < 2u * b->around + b->along + 8u; visit++) {
        /* how the path leaves this cell */
        float end = 1.0f;
        int leaves = 0;
        if (dz != 0.0f) {
            const float z = ((float)(dz > 0.0f ? row + 1 : row) - from[2]) / dz;
            if (z < end) {
                end = z;
                leaves = 1;
            }
        }
        const radial_turn wall = forward ? w.high : w.low;
        float sa = radial_side(wall, from[0], from[1]), sb = radial_side(wall, to[0], to[1]);
        sa = forward ? sa : -sa;
        sb = forward ? sb : -sb;
        if (sb > 0.0f) {
            const float c = sa < 0.0f ? sa / (sa - sb) : 0.0f;
            if (c < end) {
                end = c;
                leaves = 2;
            }
        }
        end = end < t ? t : end;
        radial_corners corners;
        radial_planes s = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, 0, 0};
        if (radial_find_corners(b, &w, row, &corners) &&
            radial_planes_of(b, &w, &corners, row, &s)) {
            /* Planes extend beyond the largest radius. If a plane is hit there, the path is clipped
             * to the inside. */
            float begin = t;
            for (int cut = 0; cut < 2; cut++) {
                const float at[3] = {from[0] + begin * dx, from[1] + begin * dy,
                                     (from[2] + begin * dz - (float)row) * b->step};
                const float there[3] = {from[0] + end * dx, from[1] + end * dy,
                                        (from[2] + end * dz - (float)row) * b->step};
                radial_plane plane = {0.0f, 0.0f, 0.0f, 0.0f};
                const float part = radial_first_time_below(&s, at, there, radius, &plane);
                if (!(part <= 1.0f))
                    break;
                const float when = begin + part * (end - begin);
                const float x = from[0] + when * dx, y = from[1] + when * dy;
                if (cut || !radial_is_beyond(&corners, x, y, radius)) {
                    radial_enter(found, plane, row, when, x, y,
                                 (from[2] + when * dz - (float)row) * b->step);
                    return 1;
                }
                const float max_radius = corners.max_radius * 1.00001f + 4.0f * radius,
                            dd = dx * dx + dy * dy;
                const float ad = from[0] * dx + from[1] * dy, cross = from[0] * dy - from[1] * dx;
                const float under = max_radius * max_radius * dd - cross * cross;
                if (!(under > 0.0f))
                    break;
                begin = (-ad - radial_sqrt(under)) / dd;
                begin = begin < t ? t : begin;
                if (begin >= end || begin < when)
                    break;
            }
        }
        if (!leaves)
            return 0;
        if (leaves == 1) {
            row += dz > 0.0f ? 1 : -1;
            if (row < low || row >= high)
                return 0;
        } else
            w = radial_wedge_of(b, forward ? w.next : w.i ? w.i - 1u : b->around - 1u);
        t = end;
    }
    return 0;
}

/* ---- paths ---- */

/* The path of a particle in the space of a field, and the part of it within the cylinder. */
typedef struct radial_path {
    double a[3], b[3];
    double from, to;
} radial_path;

static inline void radial_at(const radial_path *p, double t, float q[3]) {
    for (int k = 0; k < 3; k++)
        q[k] = radial_float(p->a[k] + t * (p->b[k] - p->a[k]));
}

/* ---- fields ---- */

#define RADIAL_ROUNDS 4      /* paths that may be hit and continued */
#define RADIAL_PROJECTIONS 8 /* corrections of the remaining penetration */

#define RADIAL_LIFT 1e-4 /* of a row */

#ifdef __OPENCL_C_VERSION__
#define RADIAL_BY_FOURS __attribute__((aligned(16))) /* loaded as four floats */
#else
#define RADIAL_BY_FOURS
#endif

/* Bounds of a field for the broad phase: a box around its axis, extended by a row at both ends,
 * relative to the middle of the scene. Between the previous and the current frame, a point x that
 * moves with the field moves by at most move + turn |x - centre|, so the box of a particle's path
 * is extended by that. The cylinders of Friston and Steed (2019, section 6.1) would need the path
 * in the space of each field. */
typedef struct radial_bound {
    float lo[3]; /* above hi if the field has no samples */
    float move;
    float hi[3];
    float turn;
    float centre[3]; /* of the previous axis */
    float unused;
    float side[3]; /* extent along x, y and z per unit of radius */
    float unused_too;
} RADIAL_BY_FOURS radial_bound;

/* All fields. */
typedef struct radial_scene {
    ABUTI_GLOBAL const radial_field *fields;
    ABUTI_GLOBAL const radial_frame *now, *before;
    ABUTI_GLOBAL const radial_bound *bounds;
    ABUTI_GLOBAL const radial_mark *marks;
    ABUTI_GLOBAL const float *radii;
    ABUTI_GLOBAL const radial_turn *turns;
    vec3 middle;       /* origin of the bounds */
    double unit, each; /* a power of two, and 1 / unit */
    word32 count, unused;
    ABUTI_GLOBAL const float *bound_lists; /* only on the CPU: see collide.c */
} radial_scene;

/* Options of a collision query. */
typedef struct radial_collision_options {
    double radius;   /* in units of field space */
    double friction; /* from 0 to 1 */
} radial_collision_options;

/* The layout of abut_radial_hit. */
typedef struct radial_result {
    word32 field; /* that was hit first; ABUT_NONE = none */
    float time;   /* of the hit */
    float normal[3];
    float left; /* remaining penetration depth */
} radial_result;

static inline float radial_as_float(word32 bits) {
#ifdef __OPENCL_C_VERSION__
    return as_float(bits);
#else
    union {
        word32 bits;
        float real;
    } both = {bits};
    return both.real;
#endif
}

static inline radial_body radial_body_of(const radial_scene *s, word32 i) {
    radial_body b;
    b.around = s->fields[i].around;
    b.along = s->fields[i].along;
    b.first = s->fields[i].first;
    b.first_turn = s->fields[i].first_turn;
    b.top = s->marks[i].top;
    b.bottom = s->marks[i].bottom;
    b.step = s->now[i].step;
    b.radii = s->radii;
    b.turns = s->turns;
    return b;
}

static inline void radial_place(ABUTI_GLOBAL const radial_frame *f, vec3 p, double q[3]) {
    const vec3 d = v3_sub(p, f->origin);
    for (int k = 0; k < 3; k++)
        q[k] = v3_dot(f->to[k], d);
}

/* ---- broad phase ---- */

/* The bounding box of a path or of several paths. */
typedef struct radial_path_box {
    float lo[3], hi[3];
    float pad; /* rounding error plus radius */
} radial_path_box;

static inline radial_path_box radial_path_box_of(const radial_scene *s, vec3 from, vec3 to,
                                                 double radius) {
    const vec3 a = v3_sub(from, s->middle), b = v3_sub(to, s->middle);
    const double p[3] = {a.x, a.y, a.z}, q[3] = {b.x, b.y, b.z};
    radial_path_box w;
    float size = 0.0f;
    for (int k = 0; k < 3; k++) {
        const float x = radial_float(p[k] * s->each), y = radial_float(q[k] * s->each);
        w.lo[k] = x < y ? x : y;
        w.hi[k] = x < y ? y : x;
        size += (x < 0.0f ? -x : x) + (y < 0.0f ? -y : y);
    }
    w.pad = radial_float(radius) * 1.001f + 1e-5f * size;
    return w;
}

/* ---- narrow phase ---- */

/* A particle and its path. `begin` refers to the previous frames, and to the current ones from the
 * second round on. */
typedef struct radial_mover {
    vec3 begin, to;
    radial_result result;
    int round;
} radial_mover;

static inline radial_mover radial_mover_of(vec3 from, vec3 to) {
    radial_mover m = {from, to, {ABUT_NONE, 1.0f, {0.0f, 0.0f, 0.0f}, 0.0f}, 0};
    return m;
}

/* The path of a particle in the space of a field. Returns 0 if no part is within its cylinder. */
static inline int radial_find_path(const radial_scene *s, const radial_body *body, word32 i,
                                   const radial_mover *m, float radius, radial_path *p) {
    /* rounding errors of floats are far below the added width */
    const double reach = (radial_as_float(s->marks[i].reach) + radius) * 1.0001;
    radial_place(m->round ? &s->now[i] : &s->before[i], m->begin, p->a);
    radial_place(&s->now[i], m->to, p->b);
    return radial_clip(p->a, p->b, radial_low(body), radial_high(body), reach, &p->from, &p->to);
}

/* Traverses every cell of a path. */
static inline int radial_walk_path(const radial_body *b, const radial_path *p, float radius,
                                   radial_entry *found) {
    float from[3], to[3];
    radial_at(p, p->from, from);
    radial_at(p, p->to, to);
    if (!radial_walk(b, from, to, radius, found))
        return 0;
    found->time = (float)(p->from + found->time * (p->to - p->from));
    return 1;
}

/* ---- response ---- */

/* Transforms a direction from field space to the world. */
static inline vec3 radial_out(ABUTI_GLOBAL const radial_frame *f, const double d[3], double unit) {
    const vec3 a = f->axis[0], b = f->axis[1], c = f->axis[2];
    return v3_scale(v3_add(v3_add(v3_scale(a, d[0]), v3_scale(b, d[1])), v3_scale(c, d[2])), unit);
}

/* Equations 5 to 11 in the space of a field, in units of length relative to a row: the shift of
 * `end`. `begin` is the previous position relative to the current frame. The particle ends at the
 * height `above` over the surface, so that rounding does not put it inside again. */
static inline void radial_respond(const radial_entry *e, const double begin[3], const double end[3],
                                  double radius, double friction, double above, double shift[3]) {
    /* paths may have any length, so the normal needs unit length in doubles */
    const double x = e->plane.x, y = e->plane.y, z = e->plane.z;
    const double one = 1.0 / real_sqrt(x * x + y * y + z * z);
    const double n[3] = {x * one, y * one, z * one}, k = e->plane.k * one + radius;
    double below = -k, start = -k, across = 0.0, rest = 0.0, t[3], m[3], mn = 0.0, pn = 0.0;
    for (int c = 0; c < 3; c++) {
        below += n[c] * end[c];
        start += n[c] * begin[c];
        pn += n[c] * (end[c] - e->p[c]);
    }
    const double lift = below < 0.0 ? above - below : 0.0; /* V_n */
    /* p_true: where the particle's own motion intersects the plane (equations 8 and 9) */
    const double own = below - start; /* along n */
    const double s = own != 0.0 ? real_clamp(-start / own, 0.0, 1.0) : 0.0;
    for (int c = 0; c < 3; c++) {
        t[c] = end[c] - e->p[c] - pn * n[c]; /* tangential part of V_p */
        m[c] = (1.0 - s) * (end[c] - begin[c]);
        mn += m[c] * n[c];
        across += t[c] * t[c];
    }
    for (int c = 0; c < 3; c++)
        rest += (m[c] - mn * n[c]) * (m[c] - mn * n[c]);
    /* equation 10: at most the own motion below the surface, and at most that of V_p */
    const double most = rest < across ? rest : across;
    const double factor = across > 0.0 ? friction * real_sqrt(most / across) : 0.0;
    for (int c = 0; c < 3; c++)
        shift[c] = lift * n[c] - factor * t[c];
}

/* A field that contains a particle, and the shift that moves it to the surface. */
typedef struct radial_exit {
    float height; /* below 0; 0 = not inside */
    word32 field;
    double shift[3];
} radial_exit;

/* Tests one field. */
static inline int radial_find_exit(const radial_scene *s, const radial_collision_options *order,
                                   vec3 at, word32 i, radial_exit *e) {
    const float radius = radial_float(order->radius);
    const double reach = radial_as_float(s->marks[i].reach) + radius;
    double q[3];
    radial_cell_position spot;
    radial_place(&s->now[i], at, q);
    if (q[0] * q[0] + q[1] * q[1] > reach * reach)
        return 0;
    const radial_body body = radial_body_of(s, i);
    const float x = radial_float(q[0]), y = radial_float(q[1]), z = radial_float(q[2]);
    if (!radial_locate(&body, x, y, z, radius, &spot) || !(spot.height - radius < 0.0f))
        return 0;
    e->height = spot.height - radius;
    e->field = i;
    e->shift[0] = -1.000001 * e->height * spot.plane.x;
    e->shift[1] = -1.000001 * e->height * spot.plane.y;
    e->shift[2] = -1.000001 * e->height * spot.plane.z;
    return 1;
}

/* Moves a particle back to the surface of the field that it hit. */
static inline void radial_respond_to_hit(const radial_scene *s,
                                         const radial_collision_options *order, word32 field,
                                         const radial_entry *met, radial_mover *m) {
    ABUTI_GLOBAL const radial_frame *now = &s->now[field];
    double was[3], end[3], shift[3], p[3];
    radial_place(now, m->begin, was);
    radial_place(now, m->to, end);
    const double step = now->row, n[3] = {met->plane.x, met->plane.y, met->plane.z};
    was[2] = (was[2] - met->row) * step;
    end[2] = (end[2] - met->row) * step;
    radial_respond(met, was, end, order->radius, order->friction, RADIAL_LIFT * step, shift);
    /* The next path begins above the surface; a step may have found the particle below it. */
    const double height =
        n[0] * met->p[0] + n[1] * met->p[1] + n[2] * met->p[2] - met->plane.k - order->radius;
    const double lift = RADIAL_LIFT * step - (height < 0.0 ? height : 0.0);
    for (int k = 0; k < 3; k++)
        p[k] = met->p[k] + lift * n[k];
    p[2] += met->row * step;
    if (m->result.field == ABUT_NONE) {
        const vec3 normal = radial_out(now, n, 1.0);
        m->result.field = field;
        m->result.time = met->time;
        m->result.normal[0] = (float)normal.x;
        m->result.normal[1] = (float)normal.y;
        m->result.normal[2] = (float)normal.z;
    }
    m->to = v3_add(m->to, radial_out(now, shift, s->unit));
    m->begin = v3_add(now->origin, radial_out(now, p, s->unit));
    m->round++;
    if (m->round == RADIAL_ROUNDS) /* the path beyond has not been tested */
        m->to = m->begin;
}

#endif
