/* Radial fields, in three launches:
 *
 * radial_move     a work-item a vertex that a field sees: to field space; samples and marks are
 *                 emptied by the way
 * radial_draw     a work-item a pair of field and triangle: samples, by atomic minimum
 * radial_collide_all  RADIAL_LANES work-items a particle
 *
 * Minima and maxima do not depend on who comes first, so samples are those of the CPU. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "radial/collide_shared.h"

#define ODD_MAX 1e90 /* ABUT_COORDINATE_MAX */

static int is_odd(vec3 p) {
    return !(fabs(p.x) <= ODD_MAX && fabs(p.y) <= ODD_MAX && fabs(p.z) <= ODD_MAX);
}

static vec3 get(__global const double *list, size_t i) {
    return v3(list[3 * i], list[3 * i + 1], list[3 * i + 2]);
}

/* A position that is not finite makes a point that is not a number. */
__kernel void radial_move(uint seen, uint samples, uint fields,
                          __global const radial_field *all_fields,
                          __global const radial_frame *frames, __global const uint *vertices,
                          __global const uint *point_fields, __global const double *positions,
                          __global radial_point *points, __global uint *radii,
                          __global radial_mark *marks) {
    const uint i = (uint)get_global_id(0), size = (uint)get_global_size(0);
    for (uint k = i; k < samples; k += size)
        radii[k] = RADIAL_EMPTY;
    if (i < fields) {
        const radial_mark none = {0u, 0u, 0u, 0u};
        marks[i] = none;
    }
    if (i >= seen)
        return;
    const uint field = point_fields[i];
    const radial_frame frame = frames[field];
    const vec3 p = get(positions, vertices[i]);
    radial_point q = radial_to_field(&frame, all_fields[field].around, p);
    if (is_odd(p))
        q.x = NAN;
    points[i] = q;
}

__kernel void radial_draw(uint pairs, uint plane, __global const radial_field *fields,
                          __global const radial_frame *frames, __global const radial_turn *turns,
                          __global const uint *triangles, __global const uint *pair_fields,
                          __global const radial_point *points, __global uint *radii,
                          __global radial_mark *marks) {
    const size_t i = get_global_id(0);
    if (i >= pairs)
        return;
    const uint field = pair_fields[i];
    const radial_field f = fields[field];
    const uint mirrored = frames[field].mirrored;
    if (frames[field].collapsed)
        return;
    radial_point p[3];
    for (int k = 0; k < 3; k++) {
        p[k] = points[triangles[3 * i + (size_t)k]];
        if (p[k].x != p[k].x)
            return;
    }
    __global radial_mark *mark = marks + field;
    if (plane)
        radial_draw_plane(&f, mirrored, frames[field].step, turns, p, radii, &mark->reach);
    else
        radial_draw_polar(&f, mirrored, turns, p, radii, &mark->reach, &mark->top, &mark->bottom);
}

/* What the work-items of a particle tell each other. */
typedef struct radial_word_of_lane {
    float value; /* the least counts; of equal ones that of the lowest field */
    uint field;
} radial_word_of_lane;

/* The lane whose word counts. */
static uint winner(__local const radial_word_of_lane *words) {
    uint best = 0;
    for (uint k = 1; k < RADIAL_LANES; k++) {
        const int less = words[k].value < words[best].value;
        const int same = words[k].value == words[best].value && words[k].field < words[best].field;
        best = less || same ? k : best;
    }
    return best;
}

/* RADIAL_LANES work-items a particle, each with every RADIAL_LANES-th field: a particle meets few
 * of them, one after the other on one work-item. All of them make the same steps; rounds are
 * counted through, since nobody may leave before the others have passed all barriers. */
__kernel void radial_collide_all(uint particles, uint fields, uint wants_hits, uint steps,
                                 float friction, double radius, double unit, double x, double y,
                                 double z, __global const radial_field *all_fields,
                                 __global const radial_frame *frames,
                                 __global const radial_frame *before,
                                 __global const radial_mark *marks, __global const float *radii,
                                 __global const radial_turn *turns, __global const double *from,
                                 __global double *to, __global radial_result *hits,
                                 volatile __global uint *counts, __local radial_word_of_lane *words,
                                 __local radial_entry *entries, __local double *shifts) {
    const uint lane = (uint)get_local_id(0) % RADIAL_LANES;
    const uint own = (uint)get_local_id(0) / RADIAL_LANES, first = own * RADIAL_LANES;
    const size_t given = get_global_id(0) / RADIAL_LANES;
    const size_t i = given < particles ? given : 0;
    radial_scene scene;
    scene.fields = all_fields;
    scene.now = frames;
    scene.before = before;
    scene.bounds = (__global const radial_bound *)(before + fields); /* they stand behind */
    scene.marks = marks;
    scene.radii = radii;
    scene.turns = turns;
    scene.middle = v3(x, y, z);
    scene.unit = unit;
    scene.count = fields;
    const radial_order order = {radius, friction, steps};
    const vec3 begin = get(from, i), wish = get(to, i);
    const int odd = is_odd(begin) || is_odd(wish);
    radial_mover m = radial_mover_of(begin, wish);
    int goes_on = given < particles && !odd;
    for (int round = 0; round < RADIAL_ROUNDS; round++) {
        radial_entry entry;
        entry.time = 2.0f;
        uint field = ABUT_NONE;
        if (goes_on)
            field = radial_find_entry(&scene, &order, &m, lane, RADIAL_LANES, &entry);
        words[first + lane].value = entry.time;
        words[first + lane].field = field;
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint best = winner(words + first);
        const uint met = words[first + best].field;
        if (lane == best)
            entries[own] = entry;
        barrier(CLK_LOCAL_MEM_FENCE);
        entry = entries[own];
        goes_on = goes_on && met != ABUT_NONE;
        if (goes_on)
            radial_answer(&scene, &order, met, &entry, &m);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int round = 0; round <= RADIAL_PROJECTIONS; round++) {
        radial_exit e = {0.0f, ABUT_NONE, {0.0, 0.0, 0.0}};
        if (goes_on)
            e = radial_find_exit(&scene, &order, m.to, lane, RADIAL_LANES);
        words[first + lane].value = e.deepest;
        words[first + lane].field = e.field;
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint best = winner(words + first);
        const uint in = words[first + best].field;
        const float deepest = words[first + best].value;
        if (lane == best)
            for (int k = 0; k < 3; k++)
                shifts[3 * own + k] = e.shift[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        const double shift[3] = {shifts[3 * own], shifts[3 * own + 1], shifts[3 * own + 2]};
        if (goes_on)
            m.result.left = -deepest * (float)unit;
        goes_on = goes_on && in != ABUT_NONE && round < RADIAL_PROJECTIONS;
        if (goes_on)
            m.to = v3_add(m.to, radial_out(&scene.now[in], shift, unit));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (given < particles && lane == 0) {
        if (odd) {
            atomic_inc(&counts[1]);
        } else {
            to[3 * i] = m.to.x;
            to[3 * i + 1] = m.to.y;
            to[3 * i + 2] = m.to.z;
        }
        if (m.result.field != ABUT_NONE)
            atomic_inc(&counts[0]);
        if (wants_hits)
            hits[i] = m.result;
    }
}

#endif
