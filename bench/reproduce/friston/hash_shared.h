/* Spatial hash of triangles (Teschner et al. 2003), for C and OpenCL C.
 *
 * A table of buckets of fixed size. Each frame counts are cleared, and every triangle is
 * inserted into the bucket of each cell that it overlaps, by the conservative test of Schwarz &
 * Seidel (2010). A particle searches the cells within reach, at most eight. If two cells share a
 * bucket, this only costs time. A full bucket loses triangles, which is reported. */
#ifndef ABUT_BENCH_HASH_SHARED_H
#define ABUT_BENCH_HASH_SHARED_H

#include "rivals_shared.h"

typedef struct hash_table {
    real inverse; /* cells per unit */
    real reach;
    word32 buckets;
    word32 capacity; /* of a bucket */
    word32 triangle_count, unused;
} hash_table;

static inline word32 hash_bucket(const hash_table *table, int x, int y, int z) {
    word32 key = (word32)x * 73856093u ^ (word32)y * 19349663u ^ (word32)z * 83492791u;
    return (key ^ key >> 15) % table->buckets;
}

/* Returns whether the projection of a cell's square, from (x, y) on, is on the inner side of an
 * edge from (px, py) along (ex, ey). */
static inline int hash_beside(real ex, real ey, real px, real py, real side, real x, real y) {
    real nx = -ey * side, ny = ex * side;
    return nx * (x - px) + ny * (y - py) + real_max(nx, REAL(0.0)) + real_max(ny, REAL(0.0)) >=
           REAL(0.0);
}

/* Returns whether a triangle, in cells, overlaps the cell from p on; its box does. */
static inline int hash_overlaps(const vec3 *v, const vec3 *e, vec3 n, vec3 p) {
    vec3 r = v3_sub(p, v[0]);
    vec3 far = v3(n.x > REAL(0.0), n.y > REAL(0.0), n.z > REAL(0.0));
    vec3 near = v3(REAL(1.0) - far.x, REAL(1.0) - far.y, REAL(1.0) - far.z);
    real at = v3_dot(n, r);
    if ((at + v3_dot(n, far)) * (at + v3_dot(n, near)) > REAL(0.0))
        return 0;
    real sx = n.x < REAL(0.0) ? REAL(-1.0) : REAL(1.0);
    real sy = n.y < REAL(0.0) ? REAL(-1.0) : REAL(1.0);
    real sz = n.z < REAL(0.0) ? REAL(-1.0) : REAL(1.0);
    for (int k = 0; k < 3; k++)
        if (!hash_beside(e[k].x, e[k].y, v[k].x, v[k].y, sz, p.x, p.y) ||
            !hash_beside(e[k].y, e[k].z, v[k].y, v[k].z, sx, p.y, p.z) ||
            !hash_beside(e[k].z, e[k].x, v[k].z, v[k].x, sy, p.z, p.x))
            return 0;
    return 1;
}

/* Inserts triangle i. `full` counts triangles that did not fit. */
static inline void hash_enter(const hash_table *table, ABUTI_GLOBAL const word32 *corners,
                              ABUTI_GLOBAL const rival_point *positions,
                              ABUTI_GLOBAL rival_triangle *triangles, RIVAL_CHANGED word32 *counts,
                              ABUTI_GLOBAL word32 *entries, RIVAL_CHANGED word32 *full, word32 i) {
    rival_triangle t = rival_triangle_at(corners, positions, i);
    triangles[i] = t;
    if (v3_dot(t.normal, t.normal) == REAL(0.0))
        return;
    vec3 v[3], e[3];
    for (int k = 0; k < 3; k++)
        v[k] = v3_scale(t.corner[k], table->inverse);
    for (int k = 0; k < 3; k++)
        e[k] = v3_sub(v[(k + 1) % 3], v[k]);
    vec3 lo = v3_min(v3_min(v[0], v[1]), v[2]), hi = v3_max(v3_max(v[0], v[1]), v[2]);
    int x0 = rival_floor(lo.x), x1 = rival_floor(hi.x);
    int y0 = rival_floor(lo.y), y1 = rival_floor(hi.y);
    int z0 = rival_floor(lo.z), z1 = rival_floor(hi.z);
    int single = x0 == x1 && y0 == y1 && z0 == z1;
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                if (!single && !hash_overlaps(v, e, t.normal, v3((real)x, (real)y, (real)z)))
                    continue;
                word32 bucket = hash_bucket(table, x, y, z);
                word32 place = rival_count_up(counts + bucket);
                if (place < table->capacity)
                    entries[(size_t)bucket * table->capacity + place] = i;
                else
                    rival_count_up(full);
            }
}

static inline void hash_collide(const hash_table *table,
                                ABUTI_GLOBAL const rival_triangle *triangles,
                                ABUTI_GLOBAL const word32 *counts,
                                ABUTI_GLOBAL const word32 *entries,
                                ABUTI_GLOBAL const rival_point *from, ABUTI_GLOBAL rival_point *to,
                                real friction, word32 i) {
    vec3 p = rival_near(to[i]);
    rival_hit hit = rival_hit_none(table->reach);
    real r = table->reach;
    int x0 = rival_floor((p.x - r) * table->inverse), x1 = rival_floor((p.x + r) * table->inverse);
    int y0 = rival_floor((p.y - r) * table->inverse), y1 = rival_floor((p.y + r) * table->inverse);
    int z0 = rival_floor((p.z - r) * table->inverse), z1 = rival_floor((p.z + r) * table->inverse);
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                word32 bucket = hash_bucket(table, x, y, z), count = counts[bucket];
                ABUTI_GLOBAL const word32 *entry = entries + (size_t)bucket * table->capacity;
                count = count < table->capacity ? count : table->capacity;
                for (word32 k = 0; k < count; k++) {
                    rival_triangle t = triangles[entry[k]];
                    rival_look(&hit, &t, entry[k], p);
                }
            }
    rival_respond(&hit, from, to, i, friction);
}

#endif
