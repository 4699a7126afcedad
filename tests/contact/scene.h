/* Scenes of rigid bodies on exact contacts: a small solver, and bounds of what scenes must keep to.
 *
 * Semi-implicit Euler, sequential impulses with soft constraints in substeps (Catto, Solver2D,
 * 2024: "soft step"), warm starting by ids. */
#ifndef ABUT_TESTS_CONTACT_SCENE_H
#define ABUT_TESTS_CONTACT_SCENE_H

#include "contact/contact_models.h"

enum { BODY_CAPACITY = 256, CONTACT_CAPACITY = 16384, EVENT_CAPACITY = 4096, SUBSTEPS = 4 };

#define SHEET_MASS 0.2 /* of an open mesh, for each unit of its area */

static bool prints, uses_goals;

/* ---- bounds ---- */

typedef enum quantity { OUTSIDE, RATIO, KINETIC, QUANTITIES } quantity;

static const char *const quantity_name[] = {"outside", "depth ratio", "kinetic energy"};

/* What a kind of scene must keep to. The goal is that of the contract; a bound above it says that
 * the engine does not reach it yet. NOT_YET: no bound at all. */
typedef struct bound {
    const char *scene;
    quantity quantity;
    double bound, goal;
} bound;

#define NOT_YET INFINITY

/* The worst of all scenes of a kind. */
typedef struct outcome {
    double value[QUANTITIES];
    char note[QUANTITIES][96];
} outcome;

static inline void judge_scene(const bound *bounds, size_t bound_count, const char *kind,
                               const outcome *got) {
    uint32_t failures = 0, judged = 0;
    char text[256] = "";
    for (size_t i = 0; i < bound_count; i++) {
        const bound *b = &bounds[i];
        if (strcmp(b->scene, kind) || (b->quantity == KINETIC && test_brief()))
            continue; /* brief scenes end before bodies rest */
        const double value = got->value[b->quantity];
        double allowed = uses_goals ? b->goal : b->bound;
        if (getenv("ABUT_TEST_SEED") && !uses_goals && b->quantity != OUTSIDE)
            allowed = INFINITY; /* tails, judged with the default seed */
        assert_true(b->bound >= b->goal);
        judged++;
        if (prints)
            printf("  %s: %s is %.3g (%s); the goal is %g%s\n", kind, quantity_name[b->quantity],
                   value, got->note[b->quantity], b->goal, value <= b->goal ? "" : ": NOT REACHED");
        if (!(value <= allowed) && !failures++)
            snprintf(text, sizeof text, "%s: %s is %g, allowed is %g (%s)", kind,
                     quantity_name[b->quantity], value, allowed, got->note[b->quantity]);
    }
    fflush(stdout);
    assert_true(judged > 0);
    if (failures)
        fail_msg("%s; %u bounds are exceeded", text, failures);
}

/* Whether all combinations are run: in a thorough run, but not where a sanitizer makes all slow. */
static inline bool runs_all(void) {
#if defined(TEST_ADDRESS_SANITIZER) || defined(TEST_THREAD_SANITIZER)
    return false;
#else
    return test_thorough();
#endif
}

/* ---- bodies and solver ---- */

typedef struct body {
    const model *model;
    abut_pose at;
    abut_vec3 velocity, spin;
    double mass;         /* 0 of what is fixed */
    double inverse_mass; /* 0 also of what is driven or on an axle */
    mat3 inertia, inverse_inertia, inverse_inertia_world;
} body;

/* A contact as a constraint; (a, b, id) name it from step to step. */
typedef struct constraint {
    uint64_t id;
    uint32_t a, b;
    abut_vec3 normal, tangent[2], local_a, local_b, arm_a, arm_b;
    double mass[3], impulse[3]; /* along the normal and the tangents */
} constraint;

typedef struct scene {
    body bodies[BODY_CAPACITY];
    uint32_t body_count;
    double margin, rate, friction, gravity;
    abut_world *world;
    constraint *now, *before;
    uint32_t now_count, before_count;
    double deepest, ratio; /* of all steps */
    uint32_t checks;       /* of ratios */
} scene;

static scene s;
static constraint constraints[2][CONTACT_CAPACITY];
static abut_contact contacts[CONTACT_CAPACITY];
static abut_world_event events[EVENT_CAPACITY];

static inline mat3 inverse(const mat3 *m) {
    const abut_vec3 *r = m->row;
    const abut_vec3 c[3] = {v3_cross(r[1], r[2]), v3_cross(r[2], r[0]), v3_cross(r[0], r[1])};
    const double scale = 1 / v3_dot(r[0], c[0]);
    mat3 columns;
    for (int i = 0; i < 3; i++)
        columns.row[i] = v3_scale(c[i], scale);
    return m3_transpose(&columns);
}

static inline abut_vec3 turned(quat q, abut_vec3 v) {
    const mat3 m = quat_matrix(q);
    return m3_apply(&m, v);
}

static inline void begin_scene(double margin, double rate, double friction) {
    abut_world_options options = abut_world_options_default();
    abut_world_destroy(s.world);
    memset(&s, 0, sizeof s);
    s.margin = options.margin = margin;
    s.rate = rate;
    s.friction = friction;
    s.gravity = 9.81;
    s.now = constraints[0];
    s.before = constraints[1];
    static test_memory memory;
    static abut_context *context;
    if (!context)
        context = test_context(&memory, 1);
    assert_ok(abut_world_create(context, &options, &s.world));
}

/* Adds a body; what it is to the world is a mesh, unless `kind` is a box or hull. */
static inline body *add_body(const model *m, abut_pose at, bool is_fixed, abut_collider_kind kind) {
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = kind,
                            .collider.pose = at};
    const double *i = m->report.inertia;
    uint32_t id;
    body *b = &s.bodies[s.body_count];
    *b = (body){.model = m, .at = at};
    if (!is_fixed) {
        const double k = m->report.is_solid ? 1 : SHEET_MASS;
        b->mass = k * (m->report.is_solid ? m->report.volume : m->report.area);
        b->inverse_mass = 1 / b->mass;
        b->inertia.row[0] = v3_scale(v3(i[0], i[3], i[5]), k);
        b->inertia.row[1] = v3_scale(v3(i[3], i[1], i[4]), k);
        b->inertia.row[2] = v3_scale(v3(i[5], i[4], i[2]), k);
        b->inverse_inertia = inverse(&b->inertia);
    }
    item.motion = is_fixed ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
    if (kind == ABUT_COLLIDER_BOX)
        item.collider.shape.half = v3_scale(v3(m->size, m->size, m->size), 0.5);
    else if (kind == ABUT_COLLIDER_HULL)
        item.collider.shape.hull = m->bvh;
    else
        item.collider.shape.body.bvh = m->bvh;
    assert_ok(abut_world_add(s.world, &item, &id));
    assert_int_equal(id, s.body_count);
    assert_true(++s.body_count < BODY_CAPACITY);
    return b;
}

/* The deepest normals of the step before, which worlds pass as hints. */
static abut_vec3 last_normals[BODY_CAPACITY][BODY_CAPACITY];

/* Prints a pair as programs of the contract read it, with the hint that the world has. */
static inline void print_pair(const abut_world_event *e, double ratio) {
    const bool is_new = e->kind == ABUT_WORLD_EVENT_BEGIN;
    const abut_vec3 hint = is_new ? v3_sub(s.bodies[e->b].velocity, s.bodies[e->a].velocity)
                                  : last_normals[e->a][e->b];
    printf("    depth %.4g, ratio %.3g: pose %s %s %g ", e->deepest.depth, ratio,
           s.bodies[e->a].model->name, s.bodies[e->b].model->name, s.margin);
    for (int k = 0; k < 2; k++) {
        const abut_pose *p = &s.bodies[k ? e->b : e->a].at;
        printf(" %.17g %.17g %.17g %.17g %.17g %.17g %.17g%s", p->translation.x, p->translation.y,
               p->translation.z, p->rotation.x, p->rotation.y, p->rotation.z, p->rotation.w,
               k ? "" : " ");
    }
    printf("  %.17g %.17g %.17g\n", hint.x, hint.y, hint.z);
}

/* By how much a reported depth exceeds a shift that separates the pair: 1 if no shift of at most
 * half the depth is found among many: along the normals, and along sides and diagonals of cubes
 * that are turned as the world and as either body. */
static inline double measure_ratio(const abut_world_event *e) {
    const double fractions[] = {0.5, 0.25, 0.1, 0.03, 0.01, 0.003};
    const double depth = e->deepest.depth;
    const body *bodies[] = {&s.bodies[e->a], &s.bodies[e->b]};
    abut_collider a = abut_collider_from_bvh(bodies[0]->model->bvh, bodies[0]->at);
    const abut_collider b = abut_collider_from_bvh(bodies[1]->model->bvh, bodies[1]->at);
    double ratio = 1;
    for (uint64_t i = 0; i < e->count + 81; i++) {
        const int k = (int)i - (int)e->count;
        abut_vec3 way =
            k < 0 ? contacts[e->first + i].normal : v3(k % 3 - 1, k / 3 % 3 - 1, k / 9 % 3 - 1);
        if (v3_length(way) < 0.5)
            continue;
        way = v3_normalise(k < 27 ? way : turned(bodies[k / 27 - 1]->at.rotation, way));
        for (int f = 0; f < 6; f++) {
            abut_overlap overlap;
            if (1 / fractions[f] <= ratio)
                continue;
            a.pose.translation = v3_along(bodies[0]->at.translation, fractions[f] * depth, way);
            assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
            if (overlap.relation == ABUT_PAIR_APART)
                ratio = 1 / fractions[f];
        }
    }
    return ratio;
}

static inline int by_name_of_constraint(const void *x, const void *y) {
    const constraint *c = x, *d = y;
    if (c->a != d->a)
        return c->a < d->a ? -1 : 1;
    if (c->b != d->b)
        return c->b < d->b ? -1 : 1;
    return (c->id > d->id) - (c->id < d->id);
}

static inline void find_constraints(void) {
    const double checked_depth = 0.004; /* soft constraints leave less than this */
    const double large_depth = 0.02;    /* few of these are expected, so more are checked */
    abut_pose poses[BODY_CAPACITY];
    abut_contacts found = {.size = sizeof found, .list = contacts, .capacity = CONTACT_CAPACITY};
    uint64_t count;
    for (uint32_t i = 0; i < s.body_count; i++)
        poses[i] = s.bodies[i].at;
    assert_ok(abut_world_set_poses(s.world, NULL, abut_array_host(poses), s.body_count));
    assert_ok(abut_world_contacts(s.world, &found));
    abut_world_event_list event_list = {events, EVENT_CAPACITY, 0};
    assert_ok(abut_world_events(s.world, &event_list));
    count = event_list.count;
    constraint *old = s.before;
    s.before = s.now;
    s.before_count = s.now_count;
    s.now = old;
    s.now_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        const abut_world_event *e = &events[i];
        if (e->kind == ABUT_WORLD_EVENT_END)
            continue;
        const bool is_record = e->deepest.depth > real_max(s.deepest, large_depth);
        const uint32_t limit = e->deepest.depth < large_depth ? 100 : runs_all() ? 2000 : 400;
        s.deepest = real_max(s.deepest, e->deepest.depth);
        if (is_record || (e->deepest.depth > checked_depth && s.checks < limit)) {
            s.checks++;
            const double ratio = measure_ratio(e);
            if (prints && ratio > 2 && ratio > s.ratio)
                print_pair(e, ratio);
            s.ratio = real_max(s.ratio, ratio);
        }
        last_normals[e->a][e->b] = e->deepest.normal;
        for (uint64_t k = e->first; k < e->first + e->count; k++) {
            const abut_contact *c = &contacts[k];
            constraint *n = &s.now[s.now_count++];
            const body *a = &s.bodies[e->a], *b = &s.bodies[e->b];
            *n = (constraint){.id = c->id, .a = e->a, .b = e->b, .normal = c->normal};
            n->local_a =
                turned(quat_conjugate(a->at.rotation),
                       v3_sub(v3_along(c->point, -0.5 * c->depth, c->normal), a->at.translation));
            n->local_b =
                turned(quat_conjugate(b->at.rotation),
                       v3_sub(v3_along(c->point, 0.5 * c->depth, c->normal), b->at.translation));
            const abut_vec3 other = fabs(c->normal.x) > 0.57 ? v3(0, 1, 0) : v3(1, 0, 0);
            n->tangent[0] = v3_normalise(v3_cross(c->normal, other));
            n->tangent[1] = v3_cross(c->normal, n->tangent[0]);
            const constraint *was =
                bsearch(n, s.before, s.before_count, sizeof *n, by_name_of_constraint);
            if (!was)
                continue;
            const abut_vec3 slide = v3_along(v3_scale(was->tangent[0], was->impulse[1]),
                                             was->impulse[2], was->tangent[1]);
            n->impulse[0] = was->impulse[0];
            n->impulse[1] = v3_dot(slide, n->tangent[0]);
            n->impulse[2] = v3_dot(slide, n->tangent[1]);
        }
    }
}

static inline abut_vec3 relative_velocity(const constraint *c) {
    const body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
    return v3_sub(v3_add(a->velocity, v3_cross(a->spin, c->arm_a)),
                  v3_add(b->velocity, v3_cross(b->spin, c->arm_b)));
}

static inline void apply_impulse(const constraint *c, abut_vec3 impulse) {
    body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
    a->velocity = v3_along(a->velocity, a->inverse_mass, impulse);
    a->spin = v3_add(a->spin, m3_apply(&a->inverse_inertia_world, v3_cross(c->arm_a, impulse)));
    b->velocity = v3_along(b->velocity, -b->inverse_mass, impulse);
    b->spin = v3_sub(b->spin, m3_apply(&b->inverse_inertia_world, v3_cross(c->arm_b, impulse)));
}

static inline double effective_mass(const constraint *c, abut_vec3 way) {
    const body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
    const abut_vec3 x = v3_cross(c->arm_a, way), y = v3_cross(c->arm_b, way);
    const double k = a->inverse_mass + b->inverse_mass +
                     v3_dot(x, m3_apply(&a->inverse_inertia_world, x)) +
                     v3_dot(y, m3_apply(&b->inverse_inertia_world, y));
    return k > 0 ? 1 / k : 0;
}

/* One pass of impulses; `is_soft` pushes out what is in, at most with MAX_PUSH. */
static inline void solve_constraints(double h, bool is_soft) {
    const double MAX_PUSH = 1, damping = 10, hertz = real_min(30, 0.25 / h);
    const double omega = 2 * PI * hertz, a1 = 2 * damping + h * omega, a2 = h * omega * a1;
    const double bias_rate = omega / a1, mass_scale = a2 / (1 + a2), impulse_scale = 1 / (1 + a2);
    for (uint32_t i = 0; i < s.now_count; i++) {
        constraint *c = &s.now[i];
        const body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
        const double gap =
            v3_dot(v3_sub(v3_add(a->at.translation, c->arm_a), v3_add(b->at.translation, c->arm_b)),
                   c->normal);
        double bias = 0, soft = 1, relax = 0;
        if (gap > 0) {
            bias = gap / h;
        } else if (is_soft) {
            bias = real_max(bias_rate * gap, -MAX_PUSH);
            soft = mass_scale;
            relax = impulse_scale;
        }
        const double speed = v3_dot(relative_velocity(c), c->normal);
        const double wanted =
            c->impulse[0] - c->mass[0] * soft * (speed + bias) - relax * c->impulse[0];
        const double pushed = real_max(0, wanted);
        apply_impulse(c, v3_scale(c->normal, pushed - c->impulse[0]));
        c->impulse[0] = pushed;
        const abut_vec3 slip = relative_velocity(c);
        double t[2], length, limit = s.friction * pushed;
        for (int k = 0; k < 2; k++)
            t[k] = c->impulse[k + 1] - c->mass[k + 1] * v3_dot(slip, c->tangent[k]);
        length = sqrt(t[0] * t[0] + t[1] * t[1]);
        for (int k = 0; k < 2; k++) {
            t[k] *= length > limit && length > 0 ? limit / length : 1;
            apply_impulse(c, v3_scale(c->tangent[k], t[k] - c->impulse[k + 1]));
            c->impulse[k + 1] = t[k];
        }
    }
}

static inline void update_inertia(body *b) {
    const mat3 turn = quat_matrix(b->at.rotation), back = m3_transpose(&turn);
    const mat3 half = m3_multiply(&turn, &b->inverse_inertia);
    b->inverse_inertia_world = m3_multiply(&half, &back);
}

static inline void update_arms(void) {
    for (uint32_t i = 0; i < s.now_count; i++) {
        constraint *c = &s.now[i];
        c->arm_a = turned(s.bodies[c->a].at.rotation, c->local_a);
        c->arm_b = turned(s.bodies[c->b].at.rotation, c->local_b);
    }
}

static inline void integrate_body(body *b, double h) {
    const abut_vec3 w = b->spin;
    const quat q = b->at.rotation, d = {0.5 * h * w.x, 0.5 * h * w.y, 0.5 * h * w.z, 0};
    const quat turn = quat_multiply(d, q);
    b->at.translation = v3_along(b->at.translation, h, b->velocity);
    b->at.rotation = quat_normalise((quat){q.x + turn.x, q.y + turn.y, q.z + turn.z, q.w + turn.w});
    update_inertia(b);
}

static inline void step_scene(void) {
    const double h = 1 / s.rate / SUBSTEPS;
    for (uint32_t i = 0; i < s.body_count; i++)
        update_inertia(&s.bodies[i]);
    find_constraints();
    update_arms();
    for (uint32_t i = 0; i < s.now_count; i++) {
        constraint *c = &s.now[i];
        c->mass[0] = effective_mass(c, c->normal);
        c->mass[1] = effective_mass(c, c->tangent[0]);
        c->mass[2] = effective_mass(c, c->tangent[1]);
    }
    for (int k = 0; k < SUBSTEPS; k++) {
        for (uint32_t i = 0; i < s.body_count; i++)
            if (s.bodies[i].inverse_mass > 0)
                s.bodies[i].velocity.z -= h * s.gravity;
        update_arms();
        for (uint32_t i = 0; i < s.now_count; i++) {
            const constraint *c = &s.now[i];
            const abut_vec3 slide =
                v3_along(v3_scale(c->tangent[0], c->impulse[1]), c->impulse[2], c->tangent[1]);
            apply_impulse(c, v3_along(slide, c->impulse[0], c->normal));
        }
        solve_constraints(h, true);
        for (uint32_t i = 0; i < s.body_count; i++)
            if (s.bodies[i].mass > 0)
                integrate_body(&s.bodies[i], h);
        update_arms();
        solve_constraints(h, false);
    }
    qsort(s.now, s.now_count, sizeof *s.now, by_name_of_constraint);
}

static inline double kinetic_energy(void) {
    double energy = 0;
    for (uint32_t i = 0; i < s.body_count; i++) {
        const body *b = &s.bodies[i];
        const abut_vec3 own = turned(quat_conjugate(b->at.rotation), b->spin);
        energy += 0.5 * b->mass * v3_length_sq(b->velocity) +
                  0.5 * v3_dot(own, m3_apply(&b->inertia, own));
    }
    return energy;
}

/* Runs the scene; the largest kinetic energy of the last quarter of a second. Unless the run is
 * thorough, it ends as soon as the energy has been below REST_ENERGY for half a second. */
static inline double run_scene(double seconds) {
    const double REST_ENERGY = 1e-10; /* J; the least bound of a scene is 1e-9 */
    const uint32_t steps = (uint32_t)(seconds * s.rate), last = (uint32_t)(0.25 * s.rate);
    uint32_t quiet = 0; /* steps in a row */
    double kinetic = 0;
    for (uint32_t i = 0; i < steps && (runs_all() || quiet < 2 * last); i++) {
        step_scene();
        const double energy = kinetic_energy();
        quiet = energy < REST_ENERGY ? quiet + 1 : 0;
        if (i + last >= steps)
            kinetic = real_max(kinetic, energy);
    }
    return kinetic;
}

static inline void keep_worst(outcome *worst, double outside, double kinetic, const char *note) {
    const double value[QUANTITIES] = {outside, s.ratio, kinetic};
    for (int k = 0; k < QUANTITIES; k++)
        if (!(value[k] <= worst->value[k]) || !worst->note[k][0]) {
            worst->value[k] = isnan(value[k]) ? INFINITY : value[k];
            snprintf(worst->note[k], sizeof worst->note[k], "%s", note);
        }
    if (prints)
        printf("    %s: outside %.4g, deepest %.4g, ratio %.3g, kinetic %.3g\n", note, outside,
               s.deepest, s.ratio, kinetic);
}

static inline abut_pose at(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

static inline double beyond(double x, double lo, double hi) {
    return real_max(0, real_max(lo - x, x - hi));
}

static inline void destroy_model(model *m) {
    abut_bvh_destroy(m->bvh);
}

/* Whether a combination is run, by the sum of its indices: all in a thorough run, few where a
 * sanitizer makes all slow. */
static inline bool is_chosen(int sum, int one_in) {
    return runs_all() || sum % (test_brief() ? 4 * one_in : one_in) == 0;
}

static const double rates[] = {120, 480};

/* The program: an argument chooses the tests whose names begin with it, and demands the goals. */
static inline int run_scenes(int argc, char **argv) {
    const char *print = getenv("ABUT_TEST_PRINT"), *goals = getenv("ABUT_TEST_GOALS");
    prints = (print && print[0]) || argc > 1;
    uses_goals = (goals && goals[0]) || argc > 1;
    if (argc > 1) {
        static char pattern[64]; /* cmocka keeps the pointer */
        snprintf(pattern, sizeof pattern, "%.32s*", argv[1]);
        cmocka_set_test_filter(pattern);
    }
    return test_run(NULL, NULL);
}

#endif
