/* Collision of one particle with all fields, for C and OpenCL C. The including file defines
 * radial_find_near_fields(), the broad phase. */
#ifndef ABUTI_RADIAL_PARTICLE_SHARED_H
#define ABUTI_RADIAL_PARTICLE_SHARED_H

#include "radial/collide_shared.h"

enum { RADIAL_LIST = 64 }; /* fields that are tested at once */

/* Lists those of at most RADIAL_LIST fields from `first` on that a path may hit, ascending. Defined
 * in collide.c and in radial.cl. `moves`: the fields move, too. */
static word32 radial_find_near_fields(const radial_scene *s, const radial_path_box *way, bool moves,
                                      word32 first, word32 list[RADIAL_LIST]);

/* The field that is hit first, or ABUT_NONE. */
static inline word32 radial_find_first_hit(const radial_scene *s,
                                           const radial_collision_options *order,
                                           const radial_mover *m, radial_entry *found) {
    const float radius = radial_float(order->radius);
    const radial_path_box way = radial_path_box_of(s, m->begin, m->to, order->radius);
    word32 field = ABUT_NONE, list[RADIAL_LIST];
    found->time = 2.0f;
    for (word32 first = 0; first < s->count; first += RADIAL_LIST) {
        const word32 count = radial_find_near_fields(s, &way, m->round == 0, first, list);
        for (word32 k = 0; k < count; k++) {
            const radial_body body = radial_body_of(s, list[k]);
            radial_path path;
            radial_entry entry;
            if (radial_find_path(s, &body, list[k], m, radius, &path) &&
                radial_walk_path(&body, &path, radius, &entry) && entry.time < found->time) {
                *found = entry;
                field = list[k];
            }
        }
    }
    return field;
}

/* The field in which a particle is deepest; its field is ABUT_NONE if there is none. */
static inline radial_exit
radial_find_deepest_field(const radial_scene *s, const radial_collision_options *order, vec3 at) {
    const radial_path_box way = radial_path_box_of(s, at, at, order->radius);
    radial_exit e, other;
    word32 list[RADIAL_LIST];
    e.height = 0.0f;
    e.field = ABUT_NONE;
    for (word32 first = 0; first < s->count; first += RADIAL_LIST) {
        const word32 count = radial_find_near_fields(s, &way, false, first, list);
        for (word32 k = 0; k < count; k++)
            if (radial_find_exit(s, order, at, list[k], &other) && other.height < e.height)
                e = other;
    }
    return e;
}

/* Moves a particle from `from`, relative to the previous frames, to `to`, which is corrected. */
static inline radial_result radial_collide_particle(const radial_scene *s,
                                                    const radial_collision_options *order,
                                                    vec3 from, vec3 *to) {
    radial_mover m = radial_mover_of(from, *to);
    while (m.round < RADIAL_ROUNDS) {
        radial_entry met;
        const word32 field = radial_find_first_hit(s, order, &m, &met);
        if (field == ABUT_NONE) { /* then it is inside none either */
            *to = m.to;
            return m.result;
        }
        radial_respond_to_hit(s, order, field, &met, &m);
    }
    /* moves it out of fields that still contain it */
    for (int round = 0; round <= RADIAL_PROJECTIONS; round++) {
        const radial_exit e = radial_find_deepest_field(s, order, m.to);
        m.result.left = -e.height * (float)s->unit;
        if (e.field == ABUT_NONE || round == RADIAL_PROJECTIONS)
            break;
        m.to = v3_add(m.to, radial_out(&s->now[e.field], e.shift, s->unit));
    }
    *to = m.to;
    return m.result;
}

#endif
