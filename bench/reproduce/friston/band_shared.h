/* Distances in a narrow band, with one grid per bone, for C and OpenCL C (Friston & Steed 2019,
 * section 9.3, after Fisher & Lin 2001).
 *
 * Grids move rigidly with their bones; their coordinates are in cells. Every triangle of a bone
 * computes its distance from all cells in its box, extended so far that all eight corners around
 * a point within reach have a value; the minimum is kept. One word per cell: the distance, and
 * in the lowest bit whether it is behind the triangle. */
#ifndef ABUT_BENCH_BAND_SHARED_H
#define ABUT_BENCH_BAND_SHARED_H

#include "rivals_shared.h"

#define BAND_EMPTY 0xffffffffu
#define BAND_REACH REAL(0.5) /* cells: half a cell deep, as for the other methods */
#define BAND_LANES 8         /* work-items that share a triangle */

/* From the world to a grid: rows of a rotation times cells per unit, and a translation. */
typedef struct band_frame {
    vec3 row[3], shift;
} band_frame;

typedef struct band_grid {
    band_frame now, before;
    vec3 centre;     /* of a ball around it now, in the world */
    real radius;     /* including the motion of its points */
    word32 count[3]; /* cells */
    word32 begin;    /* its first cell */
} band_grid;

typedef struct band_pair {
    word32 triangle, grid;
} band_pair;

static inline vec3 band_apply(ABUTI_GLOBAL const band_frame *f, vec3 p) {
    return v3(v3_dot(f->row[0], p) + f->shift.x, v3_dot(f->row[1], p) + f->shift.y,
              v3_dot(f->row[2], p) + f->shift.z);
}

/* Converts a direction from a grid to the world: cells become units if `unit` is cell^2. */
static inline vec3 band_back(ABUTI_GLOBAL const band_frame *f, vec3 d, real unit) {
    vec3 sum = v3_scale(f->row[0], d.x);
    sum = v3_along(v3_along(sum, d.y, f->row[1]), d.z, f->row[2]);
    return v3_scale(sum, unit);
}

/* The cells of a triangle that one lane processes: every `lanes`-th. */
static inline void band_draw(ABUTI_GLOBAL const band_grid *grids, band_pair pair,
                             ABUTI_GLOBAL const word32 *corners,
                             ABUTI_GLOBAL const rival_point *positions, RIVAL_CHANGED word32 *cells,
                             int lane, int lanes) {
    ABUTI_GLOBAL const band_grid *g = grids + pair.grid;
    ABUTI_GLOBAL const word32 *corner = corners + 3 * (size_t)pair.triangle;
    rival_triangle t = rival_triangle_of(band_apply(&g->now, rival_near(positions[corner[0]])),
                                         band_apply(&g->now, rival_near(positions[corner[1]])),
                                         band_apply(&g->now, rival_near(positions[corner[2]])));
    if (v3_dot(t.normal, t.normal) == REAL(0.0))
        return;
    vec3 lo = v3_min(v3_min(t.corner[0], t.corner[1]), t.corner[2]);
    vec3 hi = v3_max(v3_max(t.corner[0], t.corner[1]), t.corner[2]);
    const real grown = BAND_REACH + REAL(1.0);
    int begin[3], count[3];
    for (int k = 0; k < 3; k++) {
        real most = (real)g->count[k] - REAL(1.0);
        int first = -rival_floor(-real_clamp(v3_get(lo, k) - grown, REAL(0.0), most));
        int last = rival_floor(real_clamp(v3_get(hi, k) + grown, REAL(0.0), most));
        begin[k] = first;
        count[k] = last - first + 1;
    }
    if (count[0] <= 0 || count[1] <= 0 || count[2] <= 0)
        return;
    for (int k = lane; k < count[0] * count[1] * count[2]; k += lanes) {
        int x = begin[0] + k % count[0], row = k / count[0];
        int y = begin[1] + row % count[1], z = begin[2] + row / count[1];
        vec3 p = v3((real)x, (real)y, (real)z), a = v3_sub(t.corner[0], p);
        vec3 offset = rival_nearest(a, v3_sub(t.corner[1], p), v3_sub(t.corner[2], p));
        real along = v3_dot(t.normal, a);
        real far = rival_farness(v3_length(offset), along);
        size_t at = g->begin + (((size_t)z * g->count[1] + (size_t)y) * g->count[0] + (size_t)x);
        rival_lower(cells + at, rival_bits(far) << 1 | (word32)(along > REAL(0.0)));
    }
}

/* The distance at a point of a grid and its gradient, trilinear; returns false if a corner is
 * empty. */
static inline int band_sample(ABUTI_GLOBAL const band_grid *g, ABUTI_GLOBAL const word32 *cells,
                              vec3 p, real *distance, vec3 *gradient) {
    int x = rival_floor(p.x), y = rival_floor(p.y), z = rival_floor(p.z);
    if (x < 0 || y < 0 || z < 0 || x + 1 >= (int)g->count[0] || y + 1 >= (int)g->count[1] ||
        z + 1 >= (int)g->count[2])
        return 0;
    ABUTI_GLOBAL const word32 *at =
        cells + g->begin + (((size_t)z * g->count[1] + (size_t)y) * g->count[0] + (size_t)x);
    real d[8];
    word32 filled = 0;
    for (int k = 0; k < 8; k++) {
        size_t step = (size_t)(k & 1) + ((k & 2) ? (size_t)g->count[0] : 0) +
                      ((k & 4) ? (size_t)g->count[0] * g->count[1] : 0);
        word32 word = at[step];
        filled += word != BAND_EMPTY;
        d[k] = (word & 1 ? REAL(-1.0) : REAL(1.0)) * rival_float(word >> 1);
    }
    if (filled < 8)
        return 0;
    real u = p.x - (real)x, v = p.y - (real)y, w = p.z - (real)z;
    real x00 = d[0] + u * (d[1] - d[0]), x10 = d[2] + u * (d[3] - d[2]);
    real x01 = d[4] + u * (d[5] - d[4]), x11 = d[6] + u * (d[7] - d[6]);
    real y0 = x00 + v * (x10 - x00), y1 = x01 + v * (x11 - x01);
    *distance = y0 + w * (y1 - y0);
    real g00 = d[1] - d[0], g10 = d[3] - d[2], g01 = d[5] - d[4], g11 = d[7] - d[6];
    real g0 = g00 + v * (g10 - g00), g1 = g01 + v * (g11 - g01);
    gradient->x = g0 + w * (g1 - g0);
    gradient->y = (x10 - x00) + w * ((x11 - x01) - (x10 - x00));
    gradient->z = y1 - y0;
    return 1;
}

/* Samples the path from the particle's previous position in the grid to its current one (section
 * 6.2); the first point inside is the entry point. */
static inline int band_walk(ABUTI_GLOBAL const band_grid *g, ABUTI_GLOBAL const word32 *cells,
                            vec3 start, vec3 end, word32 steps, vec3 *offset, vec3 *normal) {
    vec3 lo = v3_min(start, end), hi = v3_max(start, end);
    if (hi.x < REAL(0.0) || hi.y < REAL(0.0) || hi.z < REAL(0.0) || lo.x > (real)g->count[0] ||
        lo.y > (real)g->count[1] || lo.z > (real)g->count[2])
        return 0;
    for (word32 s = 1; s <= steps; s++) {
        vec3 p = s == steps ? end : v3_lerp(start, end, (real)s / (real)steps), gradient;
        real d;
        if (!band_sample(g, cells, p, &d, &gradient) || !(d < REAL(0.0)))
            continue;
        real length = v3_length(gradient);
        if (!(length > REAL(0.0)))
            continue;
        *normal = v3_scale(gradient, REAL(1.0) / length);
        *offset = v3_sub(v3_along(p, -d, *normal), end);
        return v3_dot(*offset, *normal) > REAL(0.0); /* otherwise it has left again */
    }
    return 0;
}

static inline void band_collide(ABUTI_GLOBAL const band_grid *grids, word32 grid_count,
                                ABUTI_GLOBAL const word32 *cells, real unit, word32 steps,
                                ABUTI_GLOBAL const rival_point *from, ABUTI_GLOBAL rival_point *to,
                                real friction, word32 i) {
    rival_point begin = from[i], end = to[i];
    vec3 q = rival_near(begin);
    int moved = 0;
    for (word32 k = 0; k < grid_count; k++) {
        ABUTI_GLOBAL const band_grid *g = grids + k;
        vec3 q1 = rival_near(end), offset, normal;
        real far = g->radius + v3_length(v3_sub(q1, q));
        vec3 apart = v3_sub(q1, g->centre);
        if (!(v3_dot(apart, apart) <= far * far) ||
            !band_walk(g, cells, band_apply(&g->before, q), band_apply(&g->now, q1), steps, &offset,
                       &normal))
            continue;
        end = rival_moved(begin, end, band_back(&g->now, offset, unit),
                          v3_normalise(band_back(&g->now, normal, REAL(1.0))), friction);
        moved = 1;
    }
    if (moved)
        to[i] = end;
}

#endif
