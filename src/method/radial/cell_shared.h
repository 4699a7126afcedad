/* The surface of radial fields between samples, cell by cell, for C and OpenCL C.
 *
 * Cell (i, j) is the wedge between the half-planes of columns i and i + 1 and between rows j and j
 * + 1. Its surface consists of two triangles on both sides of the diagonal from sample (i, j) to (i
 * + 1, j + 1) (Friston and Steed 2019, section 6.3.1). Their edges lie in the sides of the wedge,
 * so the surfaces of neighbouring cells join. Within the wedge the axis is below both planes. So a
 * point is below the surface if it is below both planes (convex diagonal) or below one of them
 * (concave diagonal). The diagonal needs no test of its own, so no rounding error can occur there.
 *
 * Planes and corners are separate members instead of arrays, so that they stay in registers when
 * one is selected at run time.
 */
#ifndef ABUTI_RADIAL_CELL_SHARED_H
#define ABUTI_RADIAL_CELL_SHARED_H

#include "radial/radial_shared.h"

/* The current state of a field. */
typedef struct radial_body {
    word32 around, along, first, first_turn;
    word32 top, bottom; /* as in radial_mark */
    float step;
    ABUTI_GLOBAL const float *radii;
    ABUTI_GLOBAL const radial_turn *turns;
} radial_body;

/* A point is below the plane if x px + y py + z pz < k. z is in units of length, relative to a row.
 */
typedef struct radial_plane {
    float x, y, z, k;
} radial_plane;

/* The surface of a cell. */
typedef struct radial_planes {
    radial_plane a, b;
    int count;  /* 0 = empty; 1 = only a */
    int convex; /* below the surface means below both planes, otherwise below any */
} radial_planes;

/* The wedge between columns i and i + 1. */
typedef struct radial_wedge {
    word32 i, next;
    radial_turn low, high;
} radial_wedge;

/* Radii at (i, j), (i + 1, j), (i, j + 1) and (i + 1, j + 1). */
typedef struct radial_corners {
    float a, b, c, d;
    float max_radius; /* the largest radius: farther points are outside */
    int row;          /* j */
} radial_corners;

/* The range of z that has cells. A closed end adds a row. */
static inline int radial_low(const radial_body *b) {
    return b->bottom == b->along ? -1 : 0;
}
static inline int radial_high(const radial_body *b) {
    return (int)b->along - (b->top == b->along ? 0 : 1);
}

static inline int radial_is_closed(const radial_body *b, int j) {
    return (word32)j + 1u == b->top || (b->bottom != 0u && (word32)j == b->along - b->bottom);
}

/* ---- lookup of cells ---- */

static inline radial_wedge radial_wedge_of(const radial_body *b, word32 i) {
    radial_wedge w;
    w.i = i;
    w.next = i + 1u == b->around ? 0u : i + 1u;
    w.low = b->turns[b->first_turn + i];
    w.high = b->turns[b->first_turn + w.next];
    return w;
}

/* The signed distance of a point from a half-plane: positive towards larger angles. */
static inline float radial_side(radial_turn turn, float x, float y) {
    return turn.c * y - turn.s * x;
}

/* The wedge that contains a point; any wedge for points on the axis. */
static inline radial_wedge radial_find_wedge(const radial_body *b, float x, float y) {
    const float turn = radial_angle(x, y, (float)b->around);
    if (!(turn >= 0.0f))
        return radial_wedge_of(b, 0u);
    const word32 i = (word32)turn;
    radial_wedge w = radial_wedge_of(b, i >= b->around ? b->around - 1u : i);
    for (int k = 0; k < 2; k++) { /* corrects the approximate angle */
        if (radial_side(w.low, x, y) < 0.0f)
            w = radial_wedge_of(b, w.i ? w.i - 1u : b->around - 1u);
        else if (radial_side(w.high, x, y) >= 0.0f)
            w = radial_wedge_of(b, w.next);
        else
            break;
    }
    return w;
}

/* The row of cells that contains z. */
static inline int radial_find_row(float z, int high) {
    const int j = (int)(z + 1.0f) - 1;
    return j >= high ? high - 1 : j;
}

/* ---- corners ---- */

/* Loads the corners of a cell. Returns 0 if it has no surface. */
static inline int radial_corners_at(const radial_body *b, const radial_wedge *w, int j,
                                    radial_corners *c) {
    if (j < 0 || j + 1 >= (int)b->along)
        return 0;
    const word32 row = b->first + (word32)j * b->around;
    float r0 = b->radii[row + w->i], r1 = b->radii[row + w->next];
    float r2 = b->radii[row + b->around + w->i], r3 = b->radii[row + b->around + w->next];
    if (radial_is_closed(b, j)) {
        r0 = r0 == INFINITY ? 0.0f : r0;
        r1 = r1 == INFINITY ? 0.0f : r1;
    }
    if (radial_is_closed(b, j + 1)) {
        r2 = r2 == INFINITY ? 0.0f : r2;
        r3 = r3 == INFINITY ? 0.0f : r3;
    }
    const float low = r0 > r1 ? r0 : r1, high = r2 > r3 ? r2 : r3;
    c->a = r0;
    c->b = r1;
    c->c = r2;
    c->d = r3;
    c->row = j;
    c->max_radius = low > high ? low : high;
    /* A triangle with a corner on the axis may degenerate into a side of the wedge, and does not
     * count. */
    return c->max_radius < INFINITY && ((r0 != 0.0f && (r1 != 0.0f || r3 != 0.0f)) ||
                                        (r3 != 0.0f && (r0 != 0.0f || r2 != 0.0f)));
}

/* The same; cells beyond a closed end use the corners of the cells that end on the axis there. */
static inline int radial_find_corners(const radial_body *b, const radial_wedge *w, int j,
                                      radial_corners *c) {
    if (radial_corners_at(b, w, j, c))
        return 1;
    const int above = b->top != 0u && j + 1 == (int)b->top;
    const int below = b->bottom != 0u && j + 1 == (int)(b->along - b->bottom);
    if (!above && !below)
        return 0;
    const word32 row = b->first + (word32)(above ? j : j + 1) * b->around;
    const float r0 = b->radii[row + w->i], r1 = b->radii[row + w->next];
    if ((r0 != 0.0f && r0 != INFINITY) || (r1 != 0.0f && r1 != INFINITY))
        return 0;
    return radial_corners_at(b, w, above ? j - 1 : j + 1, c);
}

static inline int radial_is_beyond(const radial_corners *c, float x, float y, float radius) {
    const float max_radius = c->max_radius * 1.00001f + 4.0f * radius;
    return x * x + y * y > max_radius * max_radius;
}

/* ---- planes ---- */

/* The plane with normal p x q through (x, y, z). Returns 0 if the normal is zero. */
static inline int radial_plane_of(float px, float py, float pz, float qx, float qy, float qz,
                                  float x, float y, float z, radial_plane *plane) {
    const float nx = py * qz - pz * qy, ny = pz * qx - px * qz, nz = px * qy - py * qx;
    const float length = radial_sqrt(nx * nx + ny * ny + nz * nz);
    if (!(length > 1e-30f))
        return 0;
    const float by = 1.0f / length;
    plane->x = nx * by;
    plane->y = ny * by;
    plane->z = nz * by;
    plane->k = plane->x * x + plane->y * y + plane->z * z;
    return 1;
}

/* The planes through corners; heights are relative to row `base`. */
static inline int radial_planes_of(const radial_body *b, const radial_wedge *w,
                                   const radial_corners *c, int base, radial_planes *s) {
    const float z = (float)(c->row - base) * b->step, top = (float)(c->row - base + 1) * b->step;
    const float ax = c->a * w->low.c, ay = c->a * w->low.s;
    const float bx = c->b * w->high.c, by = c->b * w->high.s;
    const float cx = c->c * w->low.c, cy = c->c * w->low.s;
    const float dx = c->d * w->high.c - ax, dy = c->d * w->high.s - ay, dz = top - z;
    radial_plane second;
    int first = 0, has = 0;
    if (c->a != 0.0f && (c->b != 0.0f || c->d != 0.0f))
        first = radial_plane_of(bx - ax, by - ay, 0.0f, dx, dy, dz, ax, ay, z, &s->a);
    if (c->d != 0.0f && (c->a != 0.0f || c->c != 0.0f))
        has = radial_plane_of(dx, dy, dz, cx - ax, cy - ay, dz, ax, ay, z, &second);
    if (has && first)
        s->b = second;
    else if (has)
        s->a = second;
    s->count = first + has;
    s->convex = s->count < 2 || s->a.x * cx + s->a.y * cy + s->a.z * top <= s->a.k;
    return s->count;
}

/* The height of a point above a plane. */
static inline float radial_above(radial_plane p, float x, float y, float up) {
    return p.x * x + p.y * y + p.z * up - p.k;
}

/* The height of a point above the surface of its cell, and the plane that determines it. */
static inline float radial_height(const radial_planes *s, float x, float y, float up,
                                  radial_plane *plane) {
    const float a = radial_above(s->a, x, y, up);
    *plane = s->a;
    if (s->count == 1)
        return a;
    const float b = radial_above(s->b, x, y, up);
    const int second = s->convex ? b > a : b < a;
    *plane = second ? s->b : s->a;
    return second ? b : a;
}

/* ---- points ---- */

/* The position of a point relative to the surface of its cell. */
typedef struct radial_cell_position {
    radial_plane plane; /* the plane that determines the height, relative to row `row` */
    int row;
    float up, height;
} radial_cell_position;

/* Returns 0 if the cell of a point is empty, or the point is too far from the surface. */
static inline int radial_locate(const radial_body *b, float x, float y, float z, float radius,
                                radial_cell_position *spot) {
    const int low = radial_low(b), high = radial_high(b);
    radial_corners c;
    radial_planes s;
    if (!(z >= (float)low && z <= (float)high))
        return 0;
    spot->row = radial_find_row(z, high);
    const radial_wedge w = radial_find_wedge(b, x, y);
    if (!radial_find_corners(b, &w, spot->row, &c) || radial_is_beyond(&c, x, y, radius) ||
        !radial_planes_of(b, &w, &c, spot->row, &s))
        return 0;
    spot->up = (z - (float)spot->row) * b->step;
    spot->height = radial_height(&s, x, y, spot->up, &spot->plane);
    return 1;
}

#endif
