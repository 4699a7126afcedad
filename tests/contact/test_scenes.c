/* Scenes of rigid bodies on exact contacts: pegs in holes, a cube in a tray, a key in its lock,
 * stacks, a chain, concave bodies in a bowl. Nothing falls through, nothing explodes, and bodies
 * come to rest. The solver is a small one of its own: semi-implicit Euler, sequential impulses with
 * soft constraints in substeps (Catto, Solver2D, 2024: "soft step"), warm starting by ids.
 *
 *   test_contact_scenes             all scenes, as ctest runs them
 *   test_contact_scenes tray        one kind of scene, with the outcome of each
 *
 * ABUT_TEST_PRINT=1 prints all outcomes; ABUT_TEST_GOALS=1 demands the goals of the contract where
 * the bounds of the table are still above them. `thorough` runs all clearances, margins and rates.
 */
#include "contact/contact_models.h"

enum { BODY_CAPACITY = 256, CONTACT_CAPACITY = 16384, EVENT_CAPACITY = 4096, SUBSTEPS = 4 };

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

static const bound bounds[] = {
    {"peg", OUTSIDE, NOT_YET, 0.01}, /* how far bodies are from where they belong at the end */
    {"peg", RATIO, NOT_YET, 2},      /* reported depth / a shift that separates */
    {"peg", KINETIC, NOT_YET, 1e-5}, /* the largest of the last quarter of a second */
    {"press", OUTSIDE, NOT_YET, 0.01},
    {"press", RATIO, NOT_YET, 2},
    {"tray", OUTSIDE, NOT_YET, 0.01},
    {"tray", RATIO, NOT_YET, 2},
    {"tray", KINETIC, NOT_YET, 1e-9},
    {"parts", OUTSIDE, 0.01, 0.01},
    {"parts", RATIO, 2, 2},
    {"parts", KINETIC, 1e-9, 1e-9},
    {"key", OUTSIDE, NOT_YET, 0.01},
    {"key", RATIO, NOT_YET, 2},
    {"key", KINETIC, NOT_YET, 1e-5},
    {"stack", OUTSIDE, 0.02, 0.02},
    {"stack", RATIO, 2, 2},
    {"stack", KINETIC, 1e-6, 1e-9},
    {"solids", OUTSIDE, 0.05, 0.02},
    {"solids", KINETIC, 0.02, 1e-9},
    {"chain", OUTSIDE, 0.03, 0.03},
    {"chain", RATIO, 2, 2},
    {"bowl", OUTSIDE, 0.02, 0.02},
    {"bowl", RATIO, NOT_YET, 2},
    {"bowl", KINETIC, 1e-2, 1e-2},
};

/* The worst of all scenes of a kind. */
typedef struct outcome {
    double value[QUANTITIES];
    char note[QUANTITIES][96];
} outcome;

static void judge(const char *scene, const outcome *got) {
    uint32_t failures = 0, judged = 0;
    char text[256] = "";
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const bound *b = &bounds[i];
        if (strcmp(b->scene, scene) || (b->quantity == KINETIC && test_brief()))
            continue; /* brief scenes end before bodies rest */
        const double value = got->value[b->quantity], allowed = uses_goals ? b->goal : b->bound;
        assert_true(b->bound >= b->goal);
        judged++;
        if (prints)
            printf("  %s: %s is %.3g (%s); the goal is %g%s\n", scene, quantity_name[b->quantity],
                   value, got->note[b->quantity], b->goal, value <= b->goal ? "" : ": NOT REACHED");
        if (!(value <= allowed) && !failures++)
            snprintf(text, sizeof text, "%s: %s is %g, allowed is %g (%s)", scene,
                     quantity_name[b->quantity], value, allowed, got->note[b->quantity]);
    }
    fflush(stdout);
    assert_true(judged > 0);
    if (failures)
        fail_msg("%s; %u bounds are exceeded", text, failures);
}

/* Whether all combinations are run: in a thorough run, but not where a sanitizer makes all slow. */
static bool runs_all(void) {
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
    double mass, inverse_mass; /* 0 of what is fixed */
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

static mat3 inverse(const mat3 *m) {
    const abut_vec3 *r = m->row;
    const abut_vec3 c[3] = {v3_cross(r[1], r[2]), v3_cross(r[2], r[0]), v3_cross(r[0], r[1])};
    const double scale = 1 / v3_dot(r[0], c[0]);
    mat3 columns;
    for (int i = 0; i < 3; i++)
        columns.row[i] = v3_scale(c[i], scale);
    return m3_transpose(&columns);
}

static abut_vec3 turned(quat q, abut_vec3 v) {
    const mat3 m = quat_matrix(q);
    return m3_apply(&m, v);
}

static void begin_scene(double margin, double rate, double friction) {
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
static body *add_body(const model *m, abut_pose at, bool is_fixed, abut_world_kind kind) {
    abut_world_item item = {.kind = kind, .pose = at};
    const double *i = m->report.inertia;
    uint32_t id;
    body *b = &s.bodies[s.body_count];
    *b = (body){.model = m, .at = at};
    if (!is_fixed) {
        b->mass = m->report.volume;
        b->inverse_mass = 1 / b->mass;
        b->inertia.row[0] = v3(i[0], i[3], i[5]);
        b->inertia.row[1] = v3(i[3], i[1], i[4]);
        b->inertia.row[2] = v3(i[5], i[4], i[2]);
        b->inverse_inertia = inverse(&b->inertia);
    }
    item.motion = is_fixed ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
    if (kind == ABUT_WORLD_BOX)
        item.shape.half = v3_scale(v3(m->size, m->size, m->size), 0.5);
    else if (kind == ABUT_WORLD_HULL)
        item.shape.hull = m->bvh;
    else
        item.shape.body.bvh = m->bvh;
    assert_ok(abut_world_add(s.world, &item, &id));
    assert_int_equal(id, s.body_count);
    assert_true(++s.body_count < BODY_CAPACITY);
    return b;
}

/* By how much a reported depth exceeds a shift that separates the pair: 1 if no shift of at most
 * half the depth is found among many. */
static double measure_ratio(const abut_world_event *e) {
    const double fractions[] = {0.5, 0.25, 0.1, 0.03, 0.01};
    const double depth = e->deepest.depth;
    abut_posed a = {s.bodies[e->a].model->bvh, s.bodies[e->a].at};
    const abut_posed b = {s.bodies[e->b].model->bvh, s.bodies[e->b].at};
    double ratio = 1;
    for (uint64_t i = 0; i < e->count + 27; i++) {
        const int k = (int)i - (int)e->count;
        abut_vec3 way =
            k < 0 ? contacts[e->first + i].normal : v3(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1);
        if (v3_length(way) < 0.5)
            continue;
        way = v3_normalise(way);
        for (int f = 0; f < 5; f++) {
            abut_overlap overlap;
            a.pose.translation = v3_along(s.bodies[e->a].at.translation, fractions[f] * depth, way);
            assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
            if (overlap.relation == ABUT_PAIR_APART)
                ratio = real_max(ratio, 1 / fractions[f]);
        }
    }
    return ratio;
}

static int by_name_of_constraint(const void *x, const void *y) {
    const constraint *c = x, *d = y;
    if (c->a != d->a)
        return c->a < d->a ? -1 : 1;
    if (c->b != d->b)
        return c->b < d->b ? -1 : 1;
    return (c->id > d->id) - (c->id < d->id);
}

static void find_constraints(void) {
    const double checked_depth = 0.004; /* soft constraints leave less than this */
    const double large_depth = 0.02;    /* few of these are expected, so more are checked */
    abut_pose poses[BODY_CAPACITY];
    abut_contacts found = {.list = contacts, .capacity = CONTACT_CAPACITY};
    uint64_t count;
    for (uint32_t i = 0; i < s.body_count; i++)
        poses[i] = s.bodies[i].at;
    assert_ok(abut_world_move(s.world, NULL, abut_array_host(poses), s.body_count));
    assert_ok(abut_world_contacts(s.world, &found));
    assert_ok(abut_world_events(s.world, EVENT_CAPACITY, events, &count));
    constraint *old = s.before;
    s.before = s.now;
    s.before_count = s.now_count;
    s.now = old;
    s.now_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        const abut_world_event *e = &events[i];
        if (e->change == ABUT_WORLD_END)
            continue;
        s.deepest = real_max(s.deepest, e->deepest.depth);
        if (e->deepest.depth > checked_depth &&
            s.checks < (e->deepest.depth > large_depth ? 400 : 100)) {
            s.checks++;
            s.ratio = real_max(s.ratio, measure_ratio(e));
        }
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

static abut_vec3 relative_velocity(const constraint *c) {
    const body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
    return v3_sub(v3_add(a->velocity, v3_cross(a->spin, c->arm_a)),
                  v3_add(b->velocity, v3_cross(b->spin, c->arm_b)));
}

static void apply_impulse(const constraint *c, abut_vec3 impulse) {
    body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
    a->velocity = v3_along(a->velocity, a->inverse_mass, impulse);
    a->spin = v3_add(a->spin, m3_apply(&a->inverse_inertia_world, v3_cross(c->arm_a, impulse)));
    b->velocity = v3_along(b->velocity, -b->inverse_mass, impulse);
    b->spin = v3_sub(b->spin, m3_apply(&b->inverse_inertia_world, v3_cross(c->arm_b, impulse)));
}

static double effective_mass(const constraint *c, abut_vec3 way) {
    const body *a = &s.bodies[c->a], *b = &s.bodies[c->b];
    const abut_vec3 x = v3_cross(c->arm_a, way), y = v3_cross(c->arm_b, way);
    const double k = a->inverse_mass + b->inverse_mass +
                     v3_dot(x, m3_apply(&a->inverse_inertia_world, x)) +
                     v3_dot(y, m3_apply(&b->inverse_inertia_world, y));
    return k > 0 ? 1 / k : 0;
}

/* One pass of impulses; `is_soft` pushes out what is in, at most with MAX_PUSH. */
static void solve_constraints(double h, bool is_soft) {
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

static void update_inertia(body *b) {
    const mat3 turn = quat_matrix(b->at.rotation), back = m3_transpose(&turn);
    const mat3 half = m3_multiply(&turn, &b->inverse_inertia);
    b->inverse_inertia_world = m3_multiply(&half, &back);
}

static void update_arms(void) {
    for (uint32_t i = 0; i < s.now_count; i++) {
        constraint *c = &s.now[i];
        c->arm_a = turned(s.bodies[c->a].at.rotation, c->local_a);
        c->arm_b = turned(s.bodies[c->b].at.rotation, c->local_b);
    }
}

static void integrate_body(body *b, double h) {
    const abut_vec3 w = b->spin;
    const quat q = b->at.rotation, d = {0.5 * h * w.x, 0.5 * h * w.y, 0.5 * h * w.z, 0};
    const quat turn = quat_multiply(d, q);
    b->at.translation = v3_along(b->at.translation, h, b->velocity);
    b->at.rotation = quat_normalise((quat){q.x + turn.x, q.y + turn.y, q.z + turn.z, q.w + turn.w});
    update_inertia(b);
}

static void step_scene(void) {
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
            if (s.bodies[i].mass > 0)
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

static double kinetic_energy(void) {
    double energy = 0;
    for (uint32_t i = 0; i < s.body_count; i++) {
        const body *b = &s.bodies[i];
        const abut_vec3 own = turned(quat_conjugate(b->at.rotation), b->spin);
        energy += 0.5 * b->mass * v3_length_sq(b->velocity) +
                  0.5 * v3_dot(own, m3_apply(&b->inertia, own));
    }
    return energy;
}

/* Runs the scene; the largest kinetic energy of the last quarter of a second. */
static double run_scene(double seconds) {
    const uint32_t steps = (uint32_t)(seconds * s.rate), last = (uint32_t)(0.25 * s.rate);
    double kinetic = 0;
    for (uint32_t i = 0; i < steps; i++) {
        step_scene();
        if (i + last >= steps)
            kinetic = real_max(kinetic, kinetic_energy());
    }
    return kinetic;
}

static void keep_worst(outcome *worst, double outside, double kinetic, const char *note) {
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

static abut_pose at(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

static double beyond(double x, double lo, double hi) {
    return real_max(0, real_max(lo - x, x - hi));
}

static void destroy_model(model *m) {
    abut_bvh_destroy(m->bvh);
}

/* Whether a combination is run, by the sum of its indices: all in a thorough run, few where a
 * sanitizer makes all slow. */
static bool is_chosen(int sum, int one_in) {
    return runs_all() || sum % (test_brief() ? 4 * one_in : one_in) == 0;
}

static const double rates[] = {120, 480};

/* ---- scenes ---- */

/* A square peg slides down a hole with clearance onto the floor. Without one it is held, or slides,
 * but stays in the hole. */
static void run_pegs(bool is_press, const double *clearances, int clearance_count,
                     const char *name) {
    const double margins[] = {0.0005, 0.005, 0.02};
    outcome worst = {0};
    model ground = box_model("ground", 4, 4, 0.5, 1), peg = box_model("peg", 0.5, 0.5, 1.2, 1);
    for (int c = 0; c < clearance_count; c++)
        for (int m = 0; m < 3; m++)
            for (int r = 0; r < 2; r++) {
                if (!is_chosen(c + m + r, 2))
                    continue;
                const double clearance = clearances[c], start = 1.3;
                model hole = hole_model(0.25, 0.25, clearance, 0);
                begin_scene(margins[m], rates[r], 0.2);
                add_body(&ground, at(0, 0, -0.25), true, ABUT_WORLD_BODY);
                add_body(&hole, at(0, 0, 0.5), true, ABUT_WORLD_BODY);
                add_body(&peg, at(0.3 * clearance, -0.2 * clearance, start), false,
                         ABUT_WORLD_BODY);
                const double kinetic = run_scene(2);
                const abut_vec3 x = s.bodies[2].at.translation;
                const double reach = real_max(clearance, 0);
                double outside = beyond(x.z, 0.6, is_press ? start : 0.6);
                outside = real_max(outside, beyond(x.x, -reach, reach));
                outside = real_max(outside, beyond(x.y, -reach, reach));
                char note[96];
                snprintf(note, sizeof note, "clearance %g margin %g at %g Hz", clearance,
                         margins[m], rates[r]);
                keep_worst(&worst, outside, kinetic, note);
                destroy_model(&hole);
            }
    destroy_model(&ground);
    destroy_model(&peg);
    judge(name, &worst);
}

TEST(peg_slides_through_a_hole) {
    const double clearances[] = {0.02, 0.01, 0.001};
    run_pegs(false, clearances, 3, "peg");
}

TEST(press_fit_does_not_explode) {
    const double clearances[] = {0, -0.0005};
    run_pegs(true, clearances, 2, "press");
}

/* The tray of tray_model() as one mesh, or as five boxes that do not overlap each other. */
static uint32_t add_tray(bool is_boxes, double clearance, int subdivisions, abut_pose tilt,
                         model parts[5]) {
    const double inner = 0.5 + clearance, wall = 0.5 * (1 - inner);
    const abut_vec3 half[] = {v3(1, 1, 0.1), v3(wall, 1, 0.5), v3(inner, wall, 0.5)};
    const abut_vec3 centre[] = {v3(0, 0, -0.1), v3(inner + wall, 0, 0.5), v3(-inner - wall, 0, 0.5),
                                v3(0, inner + wall, 0.5), v3(0, -inner - wall, 0.5)};
    if (!is_boxes) {
        parts[0] = tray_model(clearance, subdivisions, 0);
        add_body(&parts[0], tilt, true, ABUT_WORLD_BODY);
        return 1;
    }
    for (int i = 0; i < 5; i++) {
        const abut_vec3 h = half[(i + 1) / 2];
        abut_pose part = at(centre[i].x, centre[i].y, centre[i].z);
        parts[i] = box_model("part", 2 * h.x, 2 * h.y, 2 * h.z, 1);
        assert_ok(abut_pose_compose(&tilt, &part, &part));
        add_body(&parts[i], part, true, ABUT_WORLD_BODY);
    }
    return 5;
}

/* A unit cube falls into a tilted tray and slides into its lowest corner. */
static void run_trays(bool is_boxes, const char *name) {
    const double clearances[] = {0.0005, 0.001, 0.002, 0.005, 0.02};
    const double margins[] = {0.0005, 0.001, 0.005, 0.02};
    outcome worst = {0};
    model cube = box_model("cube", 1, 1, 1, 1);
    for (int c = 0; c < 5; c++)
        for (int m = 0; m < 4; m++)
            for (int r = 0; r < 2; r++) {
                if (!is_chosen(c + 2 * m + r, is_boxes ? 6 : 3))
                    continue;
                model parts[5];
                abut_pose tilt, local, start = at(0, 0, 0.8);
                assert_ok(abut_pose_from_axis_angle(v3(1, -1, 0), 0.4, v3(0, 0, 0), &tilt));
                assert_ok(abut_pose_compose(&tilt, &start, &start));
                begin_scene(margins[m], rates[r], 0.6);
                const uint32_t count = add_tray(is_boxes, clearances[c], c % 2, tilt, parts);
                add_body(&cube, start, false, ABUT_WORLD_BODY);
                const double kinetic = run_scene(3);
                assert_ok(abut_pose_invert(&tilt, &tilt));
                assert_ok(abut_pose_compose(&tilt, &s.bodies[count].at, &local));
                const abut_vec3 x = local.translation;
                double outside = beyond(x.z, 0.5, 0.5);
                outside = real_max(outside, beyond(x.x, -clearances[c], clearances[c]));
                outside = real_max(outside, beyond(x.y, -clearances[c], clearances[c]));
                char note[96];
                snprintf(note, sizeof note, "clearance %g margin %g at %g Hz", clearances[c],
                         margins[m], rates[r]);
                keep_worst(&worst, outside, kinetic, note);
                for (uint32_t i = 0; i < count; i++)
                    destroy_model(&parts[i]);
            }
    destroy_model(&cube);
    judge(name, &worst);
}

TEST(tray_holds_a_cube) {
    run_trays(false, "tray");
}

/* The same tray as five boxes: that the solver and the goals are not what fails. */
TEST(parts_of_a_tray_hold_a_cube) {
    run_trays(true, "parts");
}

/* A key with five ridges slides down its lock, clearance 0.01. */
TEST(key_slides_into_its_lock) {
    const double margins[] = {0.0005, 0.005, 0.02};
    outline_point outer[60], inner[60], outline[60];
    outcome worst = {0};
    for (int i = 0; i < 60; i++)
        outer[i] = (outline_point){cos(2 * PI * i / 60), sin(2 * PI * i / 60)};
    key_outline(0.01, inner);
    key_outline(0, outline);
    model lock = ring_model("lock", outer, inner, 60, -0.5, 0.5, 0);
    model key = star_model("key", outline, 60, -0.6, 0.6, 1, 0);
    model ground = box_model("ground", 4, 4, 0.5, 1);
    for (int m = 0; m < 3; m++)
        for (int r = 0; r < 2; r++) {
            if (!is_chosen(m + r, 2))
                continue;
            begin_scene(margins[m], rates[r], 0.2);
            add_body(&ground, at(0, 0, -0.25), true, ABUT_WORLD_BODY);
            add_body(&lock, at(0, 0, 0.5), true, ABUT_WORLD_BODY);
            add_body(&key, at(0.002, 0.001, 1.3), false, ABUT_WORLD_BODY);
            const double kinetic = run_scene(2);
            const abut_vec3 x = s.bodies[2].at.translation;
            double outside = beyond(x.z, 0.6, 0.6);
            outside = real_max(outside, beyond(x.x, -0.015, 0.015));
            outside = real_max(outside, beyond(x.y, -0.015, 0.015));
            char note[96];
            snprintf(note, sizeof note, "margin %g at %g Hz", margins[m], rates[r]);
            keep_worst(&worst, outside, kinetic, note);
        }
    destroy_model(&lock);
    destroy_model(&key);
    destroy_model(&ground);
    judge("key", &worst);
}

/* Ten cubes on each other, a little aside. */
static void run_stack(abut_world_kind kind, uint32_t segments, double rate, const char *note,
                      outcome *worst) {
    test_random random = {31};
    model ground = box_model("ground", 6, 6, 0.5, 1), cube = box_model("cube", 1, 1, 1, segments);
    abut_vec3 start[10];
    begin_scene(0.005, rate, 0.6);
    add_body(&ground, at(0, 0, -0.25), true, ABUT_WORLD_BODY);
    for (int i = 0; i < 10; i++) {
        start[i] = v3(test_random_real(&random, -0.005, 0.005),
                      test_random_real(&random, -0.005, 0.005), 0.5 + 1.001 * i);
        add_body(&cube, at(start[i].x, start[i].y, start[i].z), false, kind);
    }
    const double kinetic = run_scene(test_brief() ? 2 : 16);
    double outside = 0;
    for (int i = 0; i < 10; i++) {
        const abut_vec3 x = s.bodies[i + 1].at.translation;
        outside = real_max(outside, v3_length(v3(x.x - start[i].x, x.y - start[i].y, 0)));
        outside = real_max(outside, beyond(x.z, 0.5 + i - 0.03, 0.5 + i + 0.005));
    }
    keep_worst(worst, outside, kinetic, note);
    destroy_model(&ground);
    destroy_model(&cube);
}

TEST(stack_of_meshes_rests) {
    outcome worst = {0};
    run_stack(ABUT_WORLD_BODY, 1, 120, "12 triangles at 120 Hz", &worst);
    if (runs_all()) {
        run_stack(ABUT_WORLD_BODY, 1, 480, "12 triangles at 480 Hz", &worst);
        run_stack(ABUT_WORLD_BODY, 8, 120, "768 triangles at 120 Hz", &worst);
    }
    judge("stack", &worst);
}

TEST(solids_stack_and_rest) {
    outcome worst = {0};
    run_stack(ABUT_WORLD_BOX, 1, 120, "boxes at 120 Hz", &worst);
    run_stack(ABUT_WORLD_HULL, 1, 120, "hulls at 120 Hz", &worst);
    judge("solids", &worst);
}

/* Links hang in each other and swing; none comes off. */
TEST(chain_of_links_holds) {
    const uint32_t count = runs_all() ? 50 : 8;
    const double radius = 0.5, tube = 0.12, pitch = 2 * (radius - tube), stretch = 0.02;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    outcome worst = {0};
    shape.radius = radius;
    shape.radius2 = tube;
    shape.segments = 24;
    shape.rings = 10;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    model link = model_of("link", mesh, 0, true);
    begin_scene(0.005, 240, 0.6);
    for (uint32_t i = 0; i < count; i++) {
        abut_pose upright, across;
        assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), PI / 2, v3(0, 0, 0), &upright));
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), PI / 2 * (i % 2), v3(0, 0, -pitch * i),
                                            &across));
        assert_ok(abut_pose_compose(&across, &upright, &across));
        body *b = add_body(&link, across, i == 0, ABUT_WORLD_BODY);
        b->velocity = i ? v3(1.0 * i / count, 0, 0) : v3(0, 0, 0);
    }
    const double kinetic = run_scene(3);
    double outside = 0;
    for (uint32_t i = 1; i < count; i++) {
        const double distance =
            v3_length(v3_sub(s.bodies[i].at.translation, s.bodies[i - 1].at.translation));
        outside = real_max(outside, beyond(distance, 0, pitch + stretch));
    }
    char note[96];
    snprintf(note, sizeof note, "%u links", count);
    keep_worst(&worst, outside, kinetic, note);
    destroy_model(&link);
    judge("chain", &worst);
}

/* Tori, knots, gears and letters fall into a bowl and come to rest in it. */
TEST(bowl_holds_concave_bodies) {
    const uint32_t count = runs_all() ? 60 : test_brief() ? 4 : 12;
    const double radius = 3, wall = 0.4;
    test_random random = {37};
    outline_point outline[128];
    outcome worst = {0};
    model bowl = bowl_model(radius, wall, 32, 10, 0);
    const uint32_t teeth = gear_outline(8, outline);
    model kinds[] = {shape_model("torus", ABUT_SHAPE_TORUS, 20, 10, 0, 0.9),
                     knot_model(0.35, 48, 6, 0.9),
                     star_model("gear", outline, teeth, -0.25, 0.25, 1, 0.8),
                     shape_model("letter-e", ABUT_SHAPE_LETTER_E, 2, 0, 0, 0.9)};
    begin_scene(0.005, 120, 0.5);
    add_body(&bowl, at(0, 0, 0), true, ABUT_WORLD_BODY);
    for (uint32_t i = 0; i < count; i++) {
        abut_pose start = random_pose(&random, 0.05);
        start.translation =
            v3_add(start.translation,
                   v3(-0.6 + 1.2 * (i % 2), -0.6 + 1.2 * (i / 2 % 2), -1 + 1.0 * (i / 4)));
        add_body(&kinds[i % 4], start, false, ABUT_WORLD_BODY);
    }
    const double kinetic = run_scene(test_brief() ? 1 : 5 + 0.1 * count);
    double outside = 0;
    uint32_t lost = 0;
    for (uint32_t i = 1; i <= count; i++) {
        const abut_vec3 x = s.bodies[i].at.translation;
        const double away = x.z > 0 ? v3_length(v3(x.x, x.y, 0)) : v3_length(x);
        const double gone = beyond(away, 0, radius - wall);
        lost += gone > 0.02;
        outside = real_max(outside, gone);
    }
    char note[96];
    snprintf(note, sizeof note, "%u bodies, %u lost", count, lost);
    keep_worst(&worst, outside, kinetic, note);
    destroy_model(&bowl);
    for (int i = 0; i < 4; i++)
        destroy_model(&kinds[i]);
    judge("bowl", &worst);
}

int main(int argc, char **argv) {
    const char *print = getenv("ABUT_TEST_PRINT"), *goals = getenv("ABUT_TEST_GOALS");
    prints = (print && print[0]) || argc > 1;
    uses_goals = (goals && goals[0]) || argc > 1;
    if (argc > 1) {
        char pattern[64];
        snprintf(pattern, sizeof pattern, "%.32s*", argv[1]);
        cmocka_set_test_filter(pattern);
    }
    return test_run(NULL, NULL);
}
