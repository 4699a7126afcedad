/* A small rigid body solver for tests of contacts at rest: semi-implicit Euler steps and sequential
 * impulses with friction (Catto 2006, "Fast and simple physics using sequential impulses").
 * Impulses of the last step are the first guess for contacts with the same id, so stacks come to
 * rest only if ids last. */
#ifndef ABUT_TESTS_CONTACT_RESTING_SOLVER_H
#define ABUT_TESTS_CONTACT_RESTING_SOLVER_H

#include "contact/solids.h"

enum { REST_BODIES = 16, REST_CONTACTS = 256, REST_ITERATIONS = 300 };

#define REST_STEP (1.0 / 120)
#define REST_GRAVITY 9.81
#define REST_REACH 2.0 /* bodies whose origins are further apart do not touch */
#define REST_FRICTION 0.6
#define REST_MARGIN 0.005
#define REST_ALLOWED_DEPTH 0.0005
#define REST_CONVERGED 1e-8 /* m/s */
#define REST_PUSH 0.2       /* of the depth beyond that, a step */

typedef struct rest_body {
    abut_collider solid;
    double inverse_mass;    /* 0: does not move */
    double inverse_inertia; /* about any axis through the origin of the pose, as that of a cube */
    vec3 velocity, angular; /* in the world */
} rest_body;

typedef struct rest_contact {
    uint32_t body[2];
    uint64_t id;
    vec3 arm[2], way[3];           /* the normal, and two directions across it */
    double impulse[3], inverse[3]; /* along these; of their effective masses */
    double target;                 /* velocity along the normal, at least */
} rest_contact;

typedef struct rest_scene {
    rest_body body[REST_BODIES];
    uint32_t body_count;
    rest_contact contact[REST_CONTACTS];
    uint32_t contact_count;
    uint64_t ids_kept, ids_seen;
} rest_scene;

static inline void rest_push(rest_scene *s, const rest_contact *c, int way, double impulse) {
    for (int k = 0; k < 2; k++) {
        rest_body *b = &s->body[c->body[k]];
        vec3 p = v3_scale(c->way[way], k ? -impulse : impulse);
        b->velocity = v3_along(b->velocity, b->inverse_mass, p);
        b->angular = v3_along(b->angular, b->inverse_inertia, v3_cross(c->arm[k], p));
    }
}

static inline double rest_speed(const rest_scene *s, const rest_contact *c, int way) {
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        const rest_body *b = &s->body[c->body[k]];
        vec3 v = v3_add(b->velocity, v3_cross(b->angular, c->arm[k]));
        sum += (k ? -1 : 1) * v3_dot(v, c->way[way]);
    }
    return sum;
}

static inline rest_contact rest_prepare(const rest_scene *s, uint32_t a, uint32_t b,
                                        const abut_contact *from) {
    rest_contact c = {.body = {a, b}, .id = from->id};
    c.way[0] = from->normal;
    c.way[1] = v3_normalise(
        v3_cross(from->normal, fabs(from->normal.x) < 0.8 ? v3(1, 0, 0) : v3(0, 1, 0)));
    c.way[2] = v3_cross(c.way[0], c.way[1]);
    for (int k = 0; k < 2; k++)
        c.arm[k] = v3_sub(from->point, s->body[c.body[k]].solid.pose.translation);
    for (int i = 0; i < 3; i++) {
        double mass = 0;
        for (int k = 0; k < 2; k++) {
            const rest_body *body = &s->body[c.body[k]];
            vec3 across = v3_cross(c.arm[k], c.way[i]);
            mass += body->inverse_mass + body->inverse_inertia * v3_length_sq(across);
        }
        c.inverse[i] = 1 / mass;
    }
    double beyond = real_max(from->depth - REST_ALLOWED_DEPTH, 0);
    c.target = from->depth < 0 ? from->depth / REST_STEP : REST_PUSH * beyond / REST_STEP;
    return c;
}

/* Finds the contacts of all pairs; those with the id of one of the last step keep its impulse. */
static inline void rest_collide(rest_scene *s) {
    static rest_contact last[REST_CONTACTS];
    uint32_t last_count = s->contact_count;
    memcpy(last, s->contact, last_count * sizeof *last);
    s->contact_count = 0;
    for (uint32_t a = 0; a < s->body_count; a++)
        for (uint32_t b = a + 1; b < s->body_count; b++) {
            const rest_body *p = &s->body[a], *q = &s->body[b];
            vec3 way = v3_sub(p->solid.pose.translation, q->solid.pose.translation);
            bool moves = p->inverse_mass > 0 || q->inverse_mass > 0;
            if (!moves || v3_length(way) > REST_REACH)
                continue;
            abut_patches found =
                find_solid_patches(&s->body[a].solid, &s->body[b].solid, REST_MARGIN);
            for (uint64_t i = 0; i < found.contacts.count; i++) {
                assert_true(s->contact_count < REST_CONTACTS);
                rest_contact c = rest_prepare(s, a, b, &contacts[i]);
                s->ids_seen++;
                for (uint32_t k = 0; k < last_count; k++)
                    if (last[k].body[0] == a && last[k].body[1] == b && last[k].id == c.id) {
                        memcpy(c.impulse, last[k].impulse, sizeof c.impulse);
                        s->ids_kept++;
                        break;
                    }
                s->contact[s->contact_count++] = c;
            }
        }
}

static inline void rest_solve(rest_scene *s) {
    for (uint32_t i = 0; i < s->contact_count; i++)
        for (int way = 0; way < 3; way++)
            rest_push(s, &s->contact[i], way, s->contact[i].impulse[way]);
    double change = INFINITY; /* of the relative velocity in a contact, the largest */
    for (int iteration = 0; iteration < REST_ITERATIONS && change > REST_CONVERGED; iteration++) {
        change = 0;
        for (uint32_t i = 0; i < s->contact_count; i++) { /* upwards and downwards in turn */
            rest_contact *c = &s->contact[iteration % 2 ? s->contact_count - 1 - i : i];
            for (int way = 2; way >= 0; way--) { /* friction first */
                double most = REST_FRICTION * c->impulse[0], before = c->impulse[way];
                double speed = rest_speed(s, c, way) - (way ? 0 : c->target);
                double after = before - speed * c->inverse[way];
                c->impulse[way] = way ? real_clamp(after, -most, most) : real_max(after, 0);
                rest_push(s, c, way, c->impulse[way] - before);
                change = real_max(change, fabs(c->impulse[way] - before) / c->inverse[way]);
            }
        }
    }
}

static inline void rest_advance(rest_scene *s) {
    for (uint32_t i = 0; i < s->body_count; i++)
        if (s->body[i].inverse_mass > 0)
            s->body[i].velocity.z -= REST_GRAVITY * REST_STEP;
    rest_collide(s);
    rest_solve(s);
    for (uint32_t i = 0; i < s->body_count; i++) {
        rest_body *b = &s->body[i];
        abut_pose *at = &b->solid.pose;
        at->translation = v3_along(at->translation, REST_STEP, b->velocity);
        quat spin = {b->angular.x, b->angular.y, b->angular.z, 0};
        quat turn = quat_multiply(spin, at->rotation);
        double *q = &at->rotation.x, *d = &turn.x, sum = 0;
        for (int k = 0; k < 4; k++) {
            q[k] += 0.5 * REST_STEP * d[k];
            sum += q[k] * q[k];
        }
        for (int k = 0; k < 4; k++)
            q[k] /= sqrt(sum);
    }
}

static inline double rest_energy(const rest_scene *s) {
    double sum = 0;
    for (uint32_t i = 0; i < s->body_count; i++) {
        const rest_body *b = &s->body[i];
        if (!(b->inverse_mass > 0))
            continue;
        sum += 0.5 * (v3_length_sq(b->velocity) / b->inverse_mass +
                      v3_length_sq(b->angular) / b->inverse_inertia);
    }
    return sum;
}

#endif
