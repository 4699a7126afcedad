/* Radial fields:
 *
 *   radial_clear       clears samples
 *   radial_draw_pairs  some work-items per pair of field and triangle: samples, by atomic minimum
 *   radial_collide     one work-item per particle
 *
 * Minima and maxima do not depend on the order of work-items, so samples are those of the CPU. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "radial/particle_shared.h"

static vec3 load_position(__global const double *list, size_t i) {
    return v3(list[3 * i], list[3 * i + 1], list[3 * i + 2]);
}

/* ---- samples ---- */

__kernel void radial_clear(uint samples, uint fields, __global uint *radii,
                           __global radial_mark *marks) {
    const uint i = (uint)get_global_id(0);
    const radial_mark none = {0u, 0u, 0u, 0u};
    if (i < samples)
        radii[i] = RADIAL_EMPTY;
    if (i < fields)
        marks[i] = none;
}

/* Each pair transforms its corners to field space itself, which is faster than sharing them. A
 * position that is not finite has no samples. Frames are stored behind bounds. */
__kernel void radial_draw_pairs(uint pairs, uint lanes, uint field_count,
                                __global const radial_field *fields,
                                __global const radial_bound *bounds,
                                __global const radial_turn *turns, __global const uint *corners,
                                __global const uint *pair_fields, __global const double *positions,
                                __global uint *radii, __global radial_mark *marks) {
    const uint i = (uint)(get_global_id(0) / lanes), lane = (uint)(get_global_id(0) % lanes);
    if (i >= pairs)
        return;
    __global const radial_frame *frames = (__global const radial_frame *)(bounds + field_count);
    const uint field = pair_fields[i];
    const radial_field f = fields[field];
    const radial_frame frame = frames[field];
    if (frame.collapsed)
        return;
    radial_point p[3];
    int odd = 0;
    for (int k = 0; k < 3; k++) {
        const vec3 at = load_position(positions, corners[3 * (size_t)i + (size_t)k]);
        odd |= !radial_is_in_range(at);
        p[k] = radial_to_field(&frame, f.around, at);
    }
    if (odd)
        return;
    __global radial_mark *mark = marks + field;
    radial_draw(&f, frame.mirrored, turns, p, (int)lane, (int)lanes, radii, &mark->reach,
                &mark->top, &mark->bottom);
}

/* ---- particles ---- */

/* Whether a path may hit a field; 0 = it does not. */
static int may_hit(const radial_scene *s, word32 i, const radial_path_box *w, bool moves) {
    const radial_bound b = s->bounds[i];
    const float reach = radial_as_float(s->marks[i].reach);
    float pad = w->pad;
    if (moves) {
        float away = 0.0f;
        for (int k = 0; k < 3; k++) {
            const float low = b.centre[k] - w->lo[k], high = w->hi[k] - b.centre[k];
            away += low > high ? low : high;
        }
        pad += b.move + b.turn * away;
    }
    int may = 1;
    for (int k = 0; k < 3; k++) {
        const float wide = pad + reach * b.side[k];
        may &= w->lo[k] - wide <= b.hi[k] && b.lo[k] <= w->hi[k] + wide;
    }
    return may;
}

static word32 radial_find_near_fields(const radial_scene *s, const radial_path_box *way, bool moves,
                                      word32 first, word32 list[RADIAL_LIST]) {
    const uint end = min(s->count, first + RADIAL_LIST);
    uint found = 0;
    for (uint i = first; i < end; i++)
        if (may_hit(s, i, way, moves))
            list[found++] = i;
    return found;
}

/* Frames are stored behind bounds. */
__kernel void radial_collide(uint particles, uint field_count, uint wants_hits, double friction,
                             double radius, double unit, double each, double x, double y, double z,
                             __global const radial_field *fields,
                             __global const radial_bound *bounds,
                             __global const radial_bound *bounds_before,
                             __global const radial_mark *marks, __global const float *radii,
                             __global const radial_turn *turns, __global const double *from,
                             __global double *to, __global radial_result *hits,
                             volatile __global uint *counts) {
    const size_t i = get_global_id(0);
    if (i >= particles)
        return;
    radial_scene scene;
    scene.fields = fields;
    scene.now = (__global const radial_frame *)(bounds + field_count);
    scene.before = (__global const radial_frame *)(bounds_before + field_count);
    scene.bounds = bounds;
    scene.marks = marks;
    scene.radii = radii;
    scene.turns = turns;
    scene.middle = v3(x, y, z);
    scene.unit = unit;
    scene.each = each;
    scene.count = field_count;
    const radial_collision_options order = {radius, friction};
    const vec3 begin = load_position(from, i);
    vec3 end = load_position(to, i);
    radial_result result = {ABUT_NONE, 1.0f, {0.0f, 0.0f, 0.0f}, 0.0f};
    if (radial_is_in_range(begin) && radial_is_in_range(end)) {
        result = radial_collide_particle(&scene, &order, begin, &end);
        to[3 * i] = end.x;
        to[3 * i + 1] = end.y;
        to[3 * i + 2] = end.z;
    } else {
        atomic_inc(&counts[1]);
    }
    if (result.field != ABUT_NONE)
        atomic_inc(&counts[0]);
    if (wants_hits)
        hits[i] = result;
}

#endif
