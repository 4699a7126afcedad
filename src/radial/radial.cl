/* Radial fields, in three launches:
 *
 * radial_move     a work-item a vertex that a field sees: to field space; samples and marks are
 *                 emptied by the way
 * radial_draw     a work-item a pair of field and triangle: samples, by atomic minimum
 * radial_collide_all  a work-item a particle
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

__kernel void radial_collide_all(uint particles, uint fields, uint wants_hits, uint steps,
                                 float friction, double radius, double unit, double x, double y,
                                 double z, __global const radial_field *all_fields,
                                 __global const radial_frame *frames,
                                 __global const radial_frame *before,
                                 __global const radial_mark *marks, __global const float *radii,
                                 __global const radial_turn *turns, __global const double *from,
                                 __global double *to, __global radial_result *hits,
                                 volatile __global uint *counts) {
    const size_t i = get_global_id(0);
    if (i >= particles)
        return;
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
    radial_result result = {ABUT_NONE, 1.0f, {0.0f, 0.0f, 0.0f}, 0.0f};
    if (is_odd(begin) || is_odd(wish)) {
        atomic_inc(&counts[1]);
    } else {
        vec3 end = wish;
        result = radial_collide(&scene, &order, begin, &end);
        to[3 * i] = end.x;
        to[3 * i + 1] = end.y;
        to[3 * i + 2] = end.z;
    }
    if (result.field != ABUT_NONE)
        atomic_inc(&counts[0]);
    if (wants_hits)
        hits[i] = result;
}

#endif
