/* Radial fields, in two launches:
 *
 *   radial_draw_pairs  some work-items per pair of field and triangle: samples, by atomic minimum
 *   radial_collide  16 or 32 work-items per particle
 *   radial_clear    clears samples; particle kernels also do this for the next update
 *
 * Minima and maxima do not depend on the order of work-items, so samples are those of the CPU. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "radial/work_group_shared.h"

static vec3 load_position(__global const double *list, size_t i) {
    return v3(list[3 * i], list[3 * i + 1], list[3 * i + 2]);
}

/* ---- samples ---- */

static void clear_samples(uint samples, uint fields, __global uint *radii,
                          __global radial_mark *marks) {
    const uint i = (uint)get_global_id(0), size = (uint)get_global_size(0);
    const radial_mark none = {0u, 0u, 0u, 0u};
    for (uint k = i; k < samples; k += size)
        radii[k] = RADIAL_EMPTY;
    for (uint k = i; k < fields; k += size)
        marks[k] = none;
}

__kernel void radial_clear(uint samples, uint fields, __global uint *radii,
                           __global radial_mark *marks) {
    clear_samples(samples, fields, radii, marks);
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

/* ---- particles ----
 *
 * The work-items of a particle form a team. In each round they share the boxes of all fields, then
 * the fields whose boxes overlap the path: one field each. All work-items execute the same steps.
 * The teams of a work-group, which is not wider than the SIMD width of the device, end together,
 * since no work-item may leave before a barrier. */

typedef struct team_member {
    uint lane, lanes; /* index in the team, size of the team */
    uint teams;       /* of the work-group */
    __local radial_group *group;
    __local radial_team *team;
} team_member;

static team_member make_team_member(uint lanes, __local radial_group *group) {
    const uint item = (uint)get_local_id(0), first = item / lanes * lanes;
    team_member w;
    w.lane = item - first;
    w.lanes = lanes;
    w.teams = RADIAL_GROUP / lanes;
    w.group = group;
    w.team = &group->teams[item / lanes];
    return w;
}

/* Lists the fields of `chunk` that a path may hit. */
static void find_near_fields(const radial_scene *s, const radial_path_box *way, int moves,
                             int goes_on, uint chunk, const team_member *w) {
    const uint end = s->count - chunk < RADIAL_LIST ? s->count : chunk + RADIAL_LIST;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (w->lane == 0)
        w->team->near_count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = goes_on ? chunk + w->lane : end; i < end; i += w->lanes)
        if (radial_may_hit(s, i, way, moves))
            w->team->near[atomic_inc(&w->team->near_count)] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Whether a team of the work-group continues. */
static int any_team_continues(int goes_on, const team_member *w) {
    int any = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (w->lane == 0)
        w->team->goes_on = (uint)goes_on;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < w->teams; k++)
        any |= w->group->teams[k].goes_on != 0u;
    return any;
}

/* Finds the smallest value of the team, of equal ones that of the lowest field. Returns whether it
 * belongs to this work-item. A field of ABUT_NONE does not count. */
static int is_team_minimum(uint value, uint field, const team_member *w) {
    __local radial_team *team = w->team;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (w->lane == 0) {
        team->best = ABUT_NONE;
        team->field = ABUT_NONE;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Unconditional for all work-items: PoCL 3.1 compiled a conditional differently on both sides
     * of a barrier, and lost a field. */
    atomic_min(&team->best, field == ABUT_NONE ? ABUT_NONE : value);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_min(&team->field, value == team->best ? field : ABUT_NONE);
    barrier(CLK_LOCAL_MEM_FENCE);
    return field != ABUT_NONE && value == team->best && field == team->field;
}

static int is_first(const radial_entry *entry, uint field, const radial_entry *found,
                    uint found_field) {
    return entry->time < found->time || (entry->time == found->time && field < found_field);
}

/* The first hit of this work-item in the listed fields. Returns its field, or ABUT_NONE. */
static uint find_first_hit(const radial_scene *s, const radial_collision_options *order,
                           const radial_mover *m, int goes_on, const team_member *w, uint field,
                           radial_entry *found) {
    const float radius = radial_float(order->radius);
    for (uint k = goes_on ? w->lane : RADIAL_LIST; k < w->team->near_count; k += w->lanes) {
        const uint i = w->team->near[k];
        const radial_body body = radial_body_of(s, i);
        radial_path path;
        radial_entry entry;
        if (radial_find_path(s, &body, i, m, radius, &path) &&
            radial_walk_path(&body, &path, radius, &entry) && is_first(&entry, i, found, field)) {
            *found = entry;
            field = i;
        }
    }
    return field;
}

static void collide_all(uint particles, uint wants_hits, const radial_scene *scene,
                        const radial_collision_options *order, __global const double *from,
                        __global double *to, __global radial_result *hits,
                        volatile __global uint *counts, const team_member *w) {
    __local radial_team *team = w->team;
    const size_t given = get_global_id(0) / w->lanes;
    const size_t i = given < particles ? given : 0;
    const vec3 begin = load_position(from, i), wish = load_position(to, i);
    const int odd = !radial_is_in_range(begin) || !radial_is_in_range(wish);
    radial_mover m = radial_mover_of(begin, wish);
    int goes_on = given < particles && !odd, any = 1;
    for (int round = 0; round < RADIAL_ROUNDS && any; round++) {
        const radial_path_box way = radial_path_box_of(scene, m.begin, m.to, order->radius);
        radial_entry entry;
        uint field = ABUT_NONE;
        entry.time = 2.0f;
        for (uint chunk = 0; chunk < scene->count; chunk += RADIAL_LIST) {
            find_near_fields(scene, &way, round == 0, goes_on, chunk, w);
            field = find_first_hit(scene, order, &m, goes_on, w, field, &entry);
        }
        if (is_team_minimum(radial_bits(entry.time), field, w))
            team->entry = entry;
        barrier(CLK_LOCAL_MEM_FENCE);
        goes_on = goes_on && team->field != ABUT_NONE;
        if (goes_on) {
            entry = team->entry;
            radial_respond_to_hit(scene, order, team->field, &entry, &m);
        }
        any = any_team_continues(goes_on, w);
    }
    for (int round = 0; round <= RADIAL_PROJECTIONS && any; round++) {
        const radial_path_box way = radial_path_box_of(scene, m.to, m.to, order->radius);
        radial_exit e;
        e.height = 0.0f;
        e.field = ABUT_NONE;
        for (uint chunk = 0; chunk < scene->count; chunk += RADIAL_LIST) {
            find_near_fields(scene, &way, 0, goes_on, chunk, w);
            for (uint k = goes_on ? w->lane : RADIAL_LIST; k < team->near_count; k += w->lanes) {
                radial_exit other;
                if (radial_find_exit(scene, order, m.to, team->near[k], &other) &&
                    (other.height < e.height ||
                     (other.height == e.height && other.field < e.field)))
                    e = other;
            }
        }
        /* heights are negative: the largest bits are those of the deepest */
        const int won = is_team_minimum(~radial_bits(e.height), e.field, w);
        for (int k = 0; k < 3 && won; k++)
            team->shift[k] = e.shift[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        const double shift[3] = {team->shift[0], team->shift[1], team->shift[2]};
        const uint in = team->field;
        const float deepest = in == ABUT_NONE ? 0.0f : radial_as_float(~team->best);
        if (goes_on)
            m.result.left = -deepest * (float)scene->unit;
        goes_on = goes_on && in != ABUT_NONE && round < RADIAL_PROJECTIONS;
        if (goes_on)
            m.to = v3_add(m.to, radial_out(&scene->now[in], shift, scene->unit));
        any = any_team_continues(goes_on, w);
    }
    if (given < particles && w->lane == 0) {
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

/* Frames are stored behind bounds. `spare` samples are cleared, 0 = none. */
__kernel __attribute__((reqd_work_group_size(RADIAL_GROUP, 1, 1))) void
radial_collide(uint particles, uint lanes, uint field_count, uint wants_hits, uint spare,
               double friction, double radius, double unit, double each, double x, double y,
               double z, __global const radial_field *fields, __global const radial_bound *bounds,
               __global const radial_bound *bounds_before, __global const radial_mark *marks,
               __global const float *radii, __global const radial_turn *turns,
               __global const double *from, __global double *to, __global radial_result *hits,
               volatile __global uint *counts, __global uint *spare_radii,
               __global radial_mark *spare_marks, __local radial_group *group) {
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
    if (spare)
        clear_samples(spare, field_count, spare_radii, spare_marks);
    const team_member w = make_team_member(lanes, group);
    collide_all(particles, wants_hits, &scene, &order, from, to, hits, counts, &w);
}

#endif
