/* Points and moving particles against radial fields, for C and OpenCL C alike. On a device
 * ABUTI_REAL_BITS is 64.
 *
 * The cell (i, j) is the wedge between the half-planes of columns i and i + 1 and between rows j
 * and j + 1. Its surface is two triangles on both sides of the diagonal from sample (i, j) to (i +
 * 1, j + 1) (paper, section 6.3.1). Their edges lie in the walls of the wedge, so surfaces of
 * neighbours meet. Within the wedge the axis is below both planes; so what is below the surface is
 * below both planes where the diagonal is a ridge, and below one of them where it is a valley. No
 * test of the diagonal is needed, and none can miss there.
 *
 * A particle moves straight in field space, from where it was relative to the frame before to where
 * it would be relative to that of now (figure 2). In steps (section 6.2) it is tried at n + 1
 * points. In every cell on its way the two planes are met in closed form: within a cell the first
 * moment below the surface is exact but for rounding, and a particle that comes into a cell below
 * its surface is found there. So no speed is too great.
 *
 * The response has equations 5 to 11, with the signs that make V_t act against the motion (the
 * paper's V_p - V_n in equation 7 should be V_p + V_n, and V_t should be subtracted), and V_n up to
 * the surface, not to where pCCD stopped.
 */
#ifndef ABUTI_RADIAL_COLLIDE_SHARED_H
#define ABUTI_RADIAL_COLLIDE_SHARED_H

#include "radial/radial_shared.h"

/* A field as it is now. */
typedef struct radial_body {
    word32 around, along, first, first_turn;
    word32 top, bottom; /* as radial_mark */
    float step;
    ABUTI_GLOBAL const float *radii;
    ABUTI_GLOBAL const radial_turn *turns;
} radial_body;

/* The surface of a cell: below n . (x, y, (z - j) step) = k for one plane or two. */
typedef struct radial_planes {
    float n[2][3], k[2];
    float rim;  /* greatest radius of its corners: beyond is outside */
    int count;  /* 0 = empty */
    int convex; /* below the surface is below both, else below any */
} radial_planes;

static inline float radial_sample(const radial_body *b, word32 i, int j) {
    const float radius = b->radii[b->first + (word32)j * b->around + i];
    const int closed =
        (word32)j + 1u == b->top || (b->bottom != 0u && (word32)j == b->along - b->bottom);
    return closed && radius == INFINITY ? 0.0f : radius;
}

/* The plane through a, b and c; 0 where there is none. */
static inline int radial_plane(const float a[3], const float b[3], const float c[3], float n[3],
                               float *k) {
    const float p[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    const float q[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    const float x = p[1] * q[2] - p[2] * q[1], y = p[2] * q[0] - p[0] * q[2];
    const float z = p[0] * q[1] - p[1] * q[0];
    const float length = radial_sqrt(x * x + y * y + z * z);
    if (!(length > 0.0f))
        return 0;
    n[0] = x / length;
    n[1] = y / length;
    n[2] = z / length;
    *k = n[0] * a[0] + n[1] * a[1] + n[2] * a[2];
    return 1;
}

/* Corners of a cell: (i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1), relative to row `base`. */
static inline int radial_corners(const radial_body *b, word32 i, int j, int base, float r[4],
                                 float v[4][3]) {
    for (int k = 0; k < 4; k++) {
        const word32 column = i + (word32)(k & 1) == b->around ? 0u : i + (word32)(k & 1);
        const radial_turn turn = b->turns[b->first_turn + column];
        const float radius = radial_sample(b, column, j + k / 2);
        if (radius == INFINITY)
            return 0;
        r[k] = radius;
        v[k][0] = radius * turn.c;
        v[k][1] = radius * turn.s;
        v[k][2] = (float)(j - base + k / 2) * b->step;
    }
    return 1;
}

static inline int radial_surface_of(const radial_body *b, word32 i, int j, int base,
                                    radial_planes *s) {
    float r[4], v[4][3];
    s->count = 0;
    s->convex = 1;
    if (j < 0 || j + 1 >= (int)b->along || !radial_corners(b, i, j, base, r, v))
        return 0;
    s->rim = 0.0f;
    for (int k = 0; k < 4; k++)
        s->rim = r[k] > s->rim ? r[k] : s->rim;
    /* A triangle with a corner on the axis may lie in a wall of the wedge, and is none. */
    if (r[0] != 0.0f && (r[1] != 0.0f || r[3] != 0.0f))
        s->count = radial_plane(v[0], v[1], v[3], s->n[0], &s->k[0]);
    if (r[3] != 0.0f && (r[0] != 0.0f || r[2] != 0.0f))
        s->count += radial_plane(v[0], v[3], v[2], s->n[s->count], &s->k[s->count]);
    if (s->count == 2) {
        const float *n = s->n[0];
        s->convex = n[0] * v[2][0] + n[1] * v[2][1] + n[2] * v[2][2] <= s->k[0];
    }
    return s->count;
}

/* The same; the cells beyond a closed end go on with the planes that meet on the axis there. */
static inline int radial_cell(const radial_body *b, word32 i, int j, radial_planes *s) {
    if (radial_surface_of(b, i, j, j, s))
        return s->count;
    const int above = b->top != 0u && j + 1 == (int)b->top;
    const int below = b->bottom != 0u && j + 1 == (int)(b->along - b->bottom);
    const word32 next = i + 1u == b->around ? 0u : i + 1u;
    const int row = above ? j : j + 1;
    if ((!above && !below) || radial_sample(b, i, row) != 0.0f ||
        radial_sample(b, next, row) != 0.0f)
        return 0;
    return radial_surface_of(b, i, above ? j - 1 : j + 1, j, s);
}

/* Rows with cells: z from lo to hi. */
static inline int radial_low(const radial_body *b) {
    return b->bottom == b->along ? -1 : 0;
}
static inline int radial_high(const radial_body *b) {
    return (int)b->along - (b->top == b->along ? 0 : 1);
}

/* How far a point is above a plane. */
static inline float radial_above(const radial_planes *s, int k, float x, float y, float up) {
    return s->n[k][0] * x + s->n[k][1] * y + s->n[k][2] * up - s->k[k];
}

static inline int radial_is_beyond(const radial_planes *s, float x, float y, float radius) {
    const float rim = s->rim * 1.00001f + 4.0f * radius;
    return x * x + y * y > rim * rim;
}

/* How far a point is above the surface of its cell, and the plane that counts. */
static inline float radial_height(const radial_planes *s, float x, float y, float up, int *which) {
    const float a = radial_above(s, 0, x, y, up);
    *which = 0;
    if (s->count == 1)
        return a;
    const float b = radial_above(s, 1, x, y, up);
    *which = s->convex ? b > a : b < a;
    return *which ? b : a;
}

/* The column whose wedge a point is in; any on the axis. */
static inline word32 radial_find_column(const radial_body *b, float x, float y) {
    const float turn = radial_angle(x, y, (float)b->around);
    if (!(turn >= 0.0f))
        return 0u;
    word32 i = (word32)turn;
    i = i >= b->around ? b->around - 1u : i;
    for (int k = 0; k < 2; k++) { /* the angle is nearly right */
        const word32 next = i + 1u == b->around ? 0u : i + 1u;
        const radial_turn low = b->turns[b->first_turn + i], high = b->turns[b->first_turn + next];
        if (low.c * y - low.s * x < 0.0f)
            i = i ? i - 1u : b->around - 1u;
        else if (high.c * y - high.s * x >= 0.0f)
            i = next;
        else
            break;
    }
    return i;
}

/* The cell that a point is in: 0 where there is none or it is empty. */
static inline int radial_find_cell(const radial_body *b, float x, float y, float z, word32 *i,
                                   int *j, radial_planes *s) {
    const int low = radial_low(b), high = radial_high(b);
    if (!(z >= (float)low && z <= (float)high))
        return 0;
    *j = (int)(z + 1.0f) - 1;
    *j = *j >= high ? high - 1 : *j;
    *i = radial_find_column(b, x, y);
    return radial_cell(b, *i, *j, s);
}

/* ---- motion ---- */

/* Where a particle comes below the surface. */
typedef struct radial_entry {
    float time;    /* of the way */
    float n[3], k; /* the plane, relative to row `row` */
    int row;
    float p[3]; /* where, in units of length relative to the same row */
} radial_entry;

static inline void radial_enter(radial_entry *e, const radial_planes *s, int which, int row,
                                float time, float x, float y, float up) {
    e->time = time;
    e->row = row;
    for (int k = 0; k < 3; k++)
        e->n[k] = s->n[which][k];
    e->k = s->k[which];
    e->p[0] = x;
    e->p[1] = y;
    e->p[2] = up;
}

/* The part of a way in doubles that is within a field's cylinder: its rows and `reach`. */
static inline int radial_clip(const double a[3], const double b[3], double low, double high,
                              double reach, double *from, double *to) {
    /* Most ways are all inside or all on one side, which takes no division to tell. */
    double t0 = 0.0, t1 = 1.0;
    if ((a[2] < low && b[2] < low) || (a[2] > high && b[2] > high))
        return 0;
    const double sq = reach * reach, dx = b[0] - a[0], dy = b[1] - a[1];
    if (a[0] * a[0] + a[1] * a[1] > sq || b[0] * b[0] + b[1] * b[1] > sq) {
        /* The distance of the line is told by the cross product, without cancellation. */
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

/* When two linear heights come below zero within [0, 1] of a piece, as the surface has it; 2 =
 * never. */
static inline float radial_meet(const radial_planes *s, const float begin[2], const float end[2],
                                int *which) {
    float enter[2], leave[2];
    for (int k = 0; k < s->count; k++) {
        const float a = begin[k], b = end[k];
        enter[k] = a < 0.0f ? 0.0f : b < 0.0f ? a / (a - b) : 2.0f;
        leave[k] = a < 0.0f && b >= 0.0f ? a / (a - b) : 1.0f;
    }
    *which = 0;
    if (s->count == 1)
        return enter[0];
    if (!s->convex) {
        *which = enter[1] < enter[0] || (enter[1] == enter[0] && begin[1] < begin[0]);
        return enter[*which];
    }
    *which = enter[1] > enter[0] || (enter[1] == enter[0] && begin[1] > begin[0]);
    const float out = leave[0] < leave[1] ? leave[0] : leave[1];
    return enter[*which] <= out ? enter[*which] : 2.0f;
}

/* Goes from a to b, both within the cylinder, through every cell. Coordinates as in field space. */
static inline int radial_walk(const radial_body *b, const float from[3], const float to[3],
                              float radius, radial_entry *found) {
    const int low = radial_low(b), high = radial_high(b);
    const float dx = to[0] - from[0], dy = to[1] - from[1], dz = to[2] - from[2];
    /* Angles go one way along a straight line. */
    const int forward = from[0] * to[1] - from[1] * to[0] >= 0.0f;
    int row = (int)(radial_range(from[2], (float)low, (float)high) + 1.0f) - 1;
    row = row >= high ? high - 1 : row;
    word32 column = radial_find_column(b, from[0], from[1]);
    float t = 0.0f;
    for (word32 visit = 0; visit < 2u * b->around + b->along + 8u; visit++) {
        /* how this cell is left */
        float end = 1.0f;
        int leaves = 0;
        if (dz != 0.0f) {
            const float z = ((float)(dz > 0.0f ? row + 1 : row) - from[2]) / dz;
            if (z < end) {
                end = z;
                leaves = 1;
            }
        }
        const word32 next = column + 1u == b->around ? 0u : column + 1u;
        const radial_turn wall = b->turns[b->first_turn + (forward ? next : column)];
        float sa = wall.c * from[1] - wall.s * from[0], sb = wall.c * to[1] - wall.s * to[0];
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
        radial_planes s;
        if (radial_cell(b, column, row, &s)) {
            /* Planes go on beyond the rim; where one is met there, the way is cut to within. */
            float begin = t;
            for (int cut = 0; cut < 2; cut++) {
                float heights[2][2];
                for (int e = 0; e < 2; e++) {
                    const float at = e ? end : begin, x = from[0] + at * dx, y = from[1] + at * dy;
                    const float up = (from[2] + at * dz - (float)row) * b->step;
                    for (int k = 0; k < s.count; k++)
                        heights[e][k] = radial_above(&s, k, x, y, up) - radius;
                }
                int which;
                const float part = radial_meet(&s, heights[0], heights[1], &which);
                if (!(part <= 1.0f))
                    break;
                const float at = begin + part * (end - begin);
                const float x = from[0] + at * dx, y = from[1] + at * dy;
                if (cut || !radial_is_beyond(&s, x, y, radius)) {
                    radial_enter(found, &s, which, row, at, x, y,
                                 (from[2] + at * dz - (float)row) * b->step);
                    return 1;
                }
                const float rim = s.rim * 1.00001f + 4.0f * radius, dd = dx * dx + dy * dy;
                const float ad = from[0] * dx + from[1] * dy, cross = from[0] * dy - from[1] * dx;
                const float under = rim * rim * dd - cross * cross;
                if (!(under > 0.0f))
                    break;
                begin = (-ad - radial_sqrt(under)) / dd;
                begin = begin < t ? t : begin;
                if (begin >= end || begin < at)
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
            column = forward ? next : column ? column - 1u : b->around - 1u;
        t = end;
    }
    return 0;
}

/* The same at `steps` + 1 places of the way, as far as they are within the cylinder: from `begin`
 * to `end`. */
static inline int radial_step(const radial_body *b, const double from[3], const double to[3],
                              double begin, double end, float radius, word32 steps,
                              radial_entry *found) {
    for (word32 k = 0; k <= steps; k++) {
        const double t = (double)k / (double)steps;
        if (t < begin || t > end)
            continue;
        const float x = radial_float(from[0] + t * (to[0] - from[0]));
        const float y = radial_float(from[1] + t * (to[1] - from[1]));
        const float z = radial_float(from[2] + t * (to[2] - from[2]));
        radial_planes s;
        word32 i;
        int j, which;
        if (!radial_find_cell(b, x, y, z, &i, &j, &s))
            continue;
        const float up = (z - (float)j) * b->step;
        if (radial_height(&s, x, y, up, &which) < radius && !radial_is_beyond(&s, x, y, radius)) {
            radial_enter(found, &s, which, j, (float)t, x, y, up);
            return 1;
        }
    }
    return 0;
}

/* ---- particles ---- */

#define RADIAL_ROUNDS 4      /* of ways that are met */
#define RADIAL_PROJECTIONS 8 /* out of what is left */
#define RADIAL_LANES 8       /* work-items a particle */

#define RADIAL_LIFT 1e-4 /* of a row */

/* Where a field is, for the broad phase: a box around its axis, with a row more at both ends,
 * relative to the middle of the scene. Between the frames before and now a point x that goes with
 * the field moves by no more than move + turn |x - centre|, so that much is added to the box of a
 * particle's way. The paper's cylinders (section 6.1) need the way in the space of each field. */
typedef struct radial_bound {
    float lo[3], hi[3]; /* none where the field has no samples */
    float centre[3];    /* of the axis before */
    float side[3];      /* how far it reaches along x, y and z for each unit of radius */
    float move, turn;
} radial_bound;

/* All fields. */
typedef struct radial_scene {
    ABUTI_GLOBAL const radial_field *fields;
    ABUTI_GLOBAL const radial_frame *now, *before;
    ABUTI_GLOBAL const radial_bound *bounds;
    ABUTI_GLOBAL const radial_mark *marks;
    ABUTI_GLOBAL const float *radii;
    ABUTI_GLOBAL const radial_turn *turns;
    vec3 middle; /* that bounds are relative to */
    double unit;
    word32 count, unused;
} radial_scene;

/* What is asked. */
typedef struct radial_order {
    double radius; /* in the world */
    float friction;
    word32 steps; /* 0 = every cell */
} radial_order;

/* As abut_radial_hit. */
typedef struct radial_result {
    word32 field; /* that was met first; ABUT_NONE = none */
    float time;   /* when */
    float normal[3];
    float left; /* how deep it is still inside */
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

/* Meets one field; `a` and `b` are in its space. */
static inline int radial_meet_field(const radial_scene *s, word32 i, const double a[3],
                                    const double b[3], const radial_order *order,
                                    radial_entry *found) {
    const radial_body body = radial_body_of(s, i);
    const float radius = radial_float(order->radius / s->unit);
    /* rounding of floats is far below the width that is added */
    const double reach = (radial_as_float(s->marks[i].reach) + radius) * 1.0001;
    double t0, t1;
    if (!radial_clip(a, b, radial_low(&body), radial_high(&body), reach, &t0, &t1))
        return 0;
    if (order->steps)
        return radial_step(&body, a, b, t0, t1, radius, order->steps, found);
    float from[3], to[3];
    for (int k = 0; k < 3; k++) {
        from[k] = radial_float(a[k] + t0 * (b[k] - a[k]));
        to[k] = radial_float(a[k] + t1 * (b[k] - a[k]));
    }
    if (!radial_walk(&body, from, to, radius, found))
        return 0;
    found->time = (float)(t0 + found->time * (t1 - t0));
    return 1;
}

/* A way for the broad phase. */
typedef struct radial_way {
    float from[3], lo[3], hi[3];
    float pad; /* rounding, and the radius */
} radial_way;

static inline radial_way radial_way_of(const radial_scene *s, vec3 from, vec3 to, double radius) {
    const vec3 a = v3_sub(from, s->middle), b = v3_sub(to, s->middle);
    const double p[3] = {a.x, a.y, a.z}, q[3] = {b.x, b.y, b.z};
    radial_way w;
    float size = 0.0f;
    for (int k = 0; k < 3; k++) {
        const float x = radial_float(p[k] / s->unit), y = radial_float(q[k] / s->unit);
        w.from[k] = x;
        w.lo[k] = x < y ? x : y;
        w.hi[k] = x < y ? y : x;
        size += (x < 0.0f ? -x : x) + (y < 0.0f ? -y : y);
    }
    w.pad = radial_float(radius / s->unit) * 1.001f + 1e-5f * size;
    return w;
}

/* Whether a way may meet a field: 0 = it does not. */
static inline int radial_may_meet(const radial_scene *s, word32 i, const radial_way *w, int moves) {
    ABUTI_GLOBAL const radial_bound *b = &s->bounds[i];
    const float reach = radial_as_float(s->marks[i].reach);
    float pad = w->pad;
    if (moves) {
        float away = 0.0f;
        for (int k = 0; k < 3; k++) {
            const float d = w->from[k] - b->centre[k];
            away += d < 0.0f ? -d : d;
        }
        pad += b->move + b->turn * away;
    }
    for (int k = 0; k < 3; k++) {
        const float wide = pad + reach * b->side[k];
        if (!(w->lo[k] - wide <= b->hi[k] && b->lo[k] <= w->hi[k] + wide))
            return 0;
    }
    return 1;
}

/* From field space to the world, a direction. */
static inline vec3 radial_out(ABUTI_GLOBAL const radial_frame *f, const double d[3], double unit) {
    const vec3 a = f->axis[0], b = f->axis[1], c = f->axis[2];
    return v3_scale(v3_add(v3_add(v3_scale(a, d[0]), v3_scale(b, d[1])), v3_scale(c, d[2])), unit);
}

/* Equations 5 to 11 in the space of a field, in units of length relative to a row: the shift of
 * `end`; `begin` is where the particle was, relative to the frame of now. It ends a little `above`
 * the surface, so that rounding does not find it inside again. */
static inline void radial_respond(const radial_entry *e, const double begin[3], const double end[3],
                                  double radius, double friction, double above, double shift[3]) {
    /* a way of any length asks for a unit vector in doubles */
    const double x = e->n[0], y = e->n[1], z = e->n[2], one = real_sqrt(x * x + y * y + z * z);
    const double n[3] = {x / one, y / one, z / one}, k = e->k / one + radius;
    double below = -k, start = -k, across = 0.0, rest = 0.0, t[3], m[3], mn = 0.0, pn = 0.0;
    for (int c = 0; c < 3; c++) {
        below += n[c] * end[c];
        start += n[c] * begin[c];
        pn += n[c] * (end[c] - e->p[c]);
    }
    const double lift = below < 0.0 ? above - below : 0.0; /* V_n */
    /* p_true: where the particle's own way meets the plane (equations 8 and 9) */
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
    /* equation 10: no more than its own motion below the surface, nor than V_p's */
    const double most = rest < across ? rest : across;
    const double factor = across > 0.0 ? friction * real_sqrt(most / across) : 0.0;
    for (int c = 0; c < 3; c++)
        shift[c] = lift * n[c] - factor * t[c];
}

/* The field that a particle is in deepest, and the shift that takes it out. */
typedef struct radial_exit {
    float deepest; /* below 0; 0 = in none */
    word32 field;
    double shift[3];
} radial_exit;

/* Looks at every `stride`-th field from `begin` on. */
static inline radial_exit radial_find_exit(const radial_scene *s, const radial_order *order,
                                           vec3 at, word32 begin, word32 stride) {
    const float radius = radial_float(order->radius / s->unit);
    const radial_way way = radial_way_of(s, at, at, order->radius);
    radial_exit e = {0.0f, ABUT_NONE, {0.0, 0.0, 0.0}};
    for (word32 i = begin; i < s->count; i += stride) {
        double q[3];
        radial_planes planes;
        word32 column;
        int row, which;
        if (!radial_may_meet(s, i, &way, 0))
            continue;
        radial_place(&s->now[i], at, q);
        const double reach = radial_as_float(s->marks[i].reach) + radius;
        if (q[0] * q[0] + q[1] * q[1] > reach * reach)
            continue;
        const radial_body body = radial_body_of(s, i);
        const float x = radial_float(q[0]), y = radial_float(q[1]), z = radial_float(q[2]);
        if (!radial_find_cell(&body, x, y, z, &column, &row, &planes))
            continue;
        const float up = (z - (float)row) * body.step;
        const float height = radial_height(&planes, x, y, up, &which) - radius;
        if (height < e.deepest && !radial_is_beyond(&planes, x, y, radius)) {
            e.deepest = height;
            e.field = i;
            for (int k = 0; k < 3; k++)
                e.shift[k] = -1.000001 * height * planes.n[which][k];
        }
    }
    return e;
}

/* A particle on its way: from `begin`, where it was with the frames before, or with those of now
 * from the second round on. */
typedef struct radial_mover {
    vec3 begin, to;
    radial_result result;
    int round;
} radial_mover;

static inline radial_mover radial_mover_of(vec3 from, vec3 to) {
    radial_mover m = {from, to, {ABUT_NONE, 1.0f, {0.0f, 0.0f, 0.0f}, 0.0f}, 0};
    return m;
}

/* What is met first of every `stride`-th field from `first` on; its field, or ABUT_NONE with the
 * time 2. */
static inline word32 radial_find_entry(const radial_scene *s, const radial_order *order,
                                       const radial_mover *m, word32 first, word32 stride,
                                       radial_entry *found) {
    const radial_way way = radial_way_of(s, m->begin, m->to, order->radius);
    word32 field = ABUT_NONE;
    found->time = 2.0f;
    for (word32 i = first; i < s->count; i += stride) {
        double a[3], b[3];
        radial_entry entry;
        if (!radial_may_meet(s, i, &way, m->round == 0))
            continue;
        radial_place(m->round ? &s->now[i] : &s->before[i], m->begin, a);
        radial_place(&s->now[i], m->to, b);
        if (radial_meet_field(s, i, a, b, order, &entry) && entry.time < found->time) {
            *found = entry;
            field = i;
        }
    }
    return field;
}

/* Puts a particle back on the surface of the field that it met. */
static inline void radial_answer(const radial_scene *s, const radial_order *order, word32 field,
                                 const radial_entry *met, radial_mover *m) {
    ABUTI_GLOBAL const radial_frame *now = &s->now[field];
    double was[3], end[3], shift[3], p[3];
    radial_place(now, m->begin, was);
    radial_place(now, m->to, end);
    const double step = now->length / (double)(s->fields[field].along - 1u) / s->unit;
    was[2] = (was[2] - met->row) * step;
    end[2] = (end[2] - met->row) * step;
    radial_respond(met, was, end, order->radius / s->unit, order->friction, RADIAL_LIFT * step,
                   shift);
    /* the next way begins above the surface */
    for (int k = 0; k < 3; k++)
        p[k] = met->p[k] + RADIAL_LIFT * step * met->n[k];
    p[2] += met->row * step;
    if (m->result.field == ABUT_NONE) {
        const double n[3] = {met->n[0], met->n[1], met->n[2]};
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
    if (m->round == RADIAL_ROUNDS) /* what is behind has not been looked at */
        m->to = m->begin;
}

#ifndef __OPENCL_C_VERSION__
/* A particle from `from`, where it was with the frames before, to `to`, which is changed. On a
 * device several work-items share the fields of a particle: radial.cl. */
static inline radial_result radial_collide(const radial_scene *s, const radial_order *order,
                                           vec3 from, vec3 *to) {
    radial_mover m = radial_mover_of(from, *to);
    while (m.round < RADIAL_ROUNDS) {
        radial_entry met;
        const word32 field = radial_find_entry(s, order, &m, 0u, 1u, &met);
        if (field == ABUT_NONE) { /* then it is inside of none either */
            *to = m.to;
            return m.result;
        }
        radial_answer(s, order, field, &met, &m);
    }
    /* out of what it is still in */
    for (int round = 0; round <= RADIAL_PROJECTIONS; round++) {
        const radial_exit e = radial_find_exit(s, order, m.to, 0u, 1u);
        m.result.left = -e.deepest * (float)s->unit;
        if (e.field == ABUT_NONE || round == RADIAL_PROJECTIONS)
            break;
        m.to = v3_add(m.to, radial_out(&s->now[e.field], e.shift, s->unit));
    }
    *to = m.to;
    return m.result;
}
#endif

#endif
