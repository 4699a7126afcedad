/* Rigid bodies of `abut simulate`: contacts of the world become contacts of the engine. Bodies that
 * move further than half the margin in a step are swept first, and impacts become contacts with a
 * gap, so that nothing passes through anything within a step. */
#include "simulate.h"

#ifdef ABUT_HAS_ODE
#include "rigid.h"

#include <string.h>

void sim_rigid_create(simulation *s) {
    if (!s->rigid_count)
        return;
    ensure(rigid_create(s->scene.gravity, &s->engine));
    for (uint32_t i = 0; i < s->body_count; i++) {
        const abut_scene_body *from = s->bodies[i].scene;
        rigid_body body = {.mass = from->mass,
                           .centre = from->centre,
                           .pose = from->collider.pose,
                           .velocity = from->velocity,
                           .spin = from->spin};
        memcpy(body.inertia, from->inertia, sizeof body.inertia);
        if (s->bodies[i].kind == SIM_RIGID)
            ensure(rigid_add(s->engine, &body, &s->bodies[i].rigid));
    }
}

void sim_rigid_destroy(simulation *s) {
    rigid_destroy(s->engine);
}

/* ---- velocities ---- */

/* Of a character: that of the vertex closest to the point. */
static abut_vec3 velocity_of_skin(const sim_body *body, abut_vec3 point, double step) {
    uint32_t best = 0;
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < sim_vertex_count(body); i++) {
        const abut_vec3 way = vec_sub(body->positions[i], point);
        const double square = vec_dot(way, way);
        if (square < least) {
            least = square;
            best = i;
        }
    }
    return vec_divide(vec_sub(body->positions[best], body->previous[best]), step);
}

/* The velocity of the surface of a body that no force moves. */
static abut_vec3 surface_velocity(const simulation *s, const sim_body *body, abut_vec3 point) {
    abut_vec3 spin = body->scene->spin;
    if (body->kind == SIM_CHARACTER)
        return s->time > 0 ? velocity_of_skin(body, point, s->step) : (abut_vec3){0, 0, 0};
    if (body->kind != SIM_KINEMATIC)
        return (abut_vec3){0, 0, 0};
    return vec_add(body->scene->velocity, vec_cross(spin, vec_sub(point, body->pose.translation)));
}

/* ---- contacts ---- */

static bool concerns_engine(const simulation *s, uint32_t a, uint32_t b) {
    const sim_kind k = s->bodies[a].kind, l = s->bodies[b].kind;
    return a != b && k != SIM_SHEET && l != SIM_SHEET && (k == SIM_RIGID || l == SIM_RIGID);
}

static void add_contact(simulation *s, uint32_t a, uint32_t b, abut_vec3 point, abut_vec3 normal,
                        double depth) {
    const sim_body *p = &s->bodies[a], *q = &s->bodies[b];
    rigid_contact contact = {.a = p->rigid,
                             .b = q->rigid,
                             .point = point,
                             .normal = normal,
                             .depth = depth,
                             .friction = 0.5 * (p->scene->friction + q->scene->friction),
                             .bounce = fmax(p->scene->bounce, q->scene->bounce)};
    if (p->rigid == ABUT_NONE || q->rigid == ABUT_NONE)
        contact.velocity = surface_velocity(s, p->rigid == ABUT_NONE ? p : q, point);
    rigid_touch(s->engine, &contact, s->step);
}

/* The speed at which two bodies approach each other along the normal of b. */
static double closing_speed(const simulation *s, uint32_t a, uint32_t b, abut_vec3 point,
                            abut_vec3 normal) {
    abut_vec3 v[2];
    for (int k = 0; k < 2; k++) {
        const sim_body *body = &s->bodies[k ? b : a];
        v[k] = body->rigid != ABUT_NONE ? rigid_velocity(s->engine, body->rigid, point)
                                        : surface_velocity(s, body, point);
    }
    return -vec_dot(vec_sub(v[0], v[1]), normal);
}

/* Whether some vertex may move by more than half the margin. */
static bool is_fast(const simulation *s, const abut_pose *from, const abut_pose *to,
                    const abut_mesh *mesh) {
    const abut_box box = abut_mesh_bounds(mesh);
    for (int k = 0; k < 8; k++) {
        const abut_vec3 corner = {k & 1 ? box.hi.x : box.lo.x, k & 2 ? box.hi.y : box.lo.y,
                                  k & 4 ? box.hi.z : box.lo.z};
        abut_vec3 p, q;
        if (abut_pose_apply(from, corner, &p) || abut_pose_apply(to, corner, &q) ||
            vec_length(vec_sub(q, p)) > 0.5 * s->margin)
            return true;
    }
    return false;
}

/* Finds the impacts of fast bodies, and adds contacts with a gap for those that do not touch. */
static abut_status sweep_fast_bodies(simulation *s) {
    size_t count = 0;
    for (uint32_t i = 0; i < s->body_count; i++) {
        const sim_body *body = &s->bodies[i];
        abut_pose end;
        if (body->kind == SIM_RIGID)
            end = rigid_pose_after(s->engine, body->rigid, s->step);
        else if (body->kind != SIM_KINEMATIC ||
                 abut_scene_pose_body(s->assembly.scene, i, s->time + s->step, &end, NULL))
            continue;
        if (!is_fast(s, &body->pose, &end, body->scene->mesh))
            continue;
        s->ids[count] = i;
        s->ends[count++] = end;
    }
    abut_world_impacts found = {.size = sizeof found,
                                .list = s->impacts,
                                .capacity = s->impact_room};
    abut_status status =
        count ? abut_world_sweep(s->world, s->ids, abut_array_host(s->ends), count, NULL, &found)
              : ABUT_OK;
    if (status == ABUT_ERROR_BUFFER) {
        s->impact_room = (size_t)found.count;
        s->impacts = tool_resize(s->impacts, s->impact_room, sizeof *s->impacts);
        found.list = s->impacts;
        found.capacity = s->impact_room;
        status = abut_world_sweep(s->world, s->ids, abut_array_host(s->ends), count, NULL, &found);
    }
    for (uint64_t i = 0; i < found.count && !status; i++) {
        const abut_world_impact *m = &found.list[i];
        const abut_sweep_rigid_result *r = &m->result;
        if (!concerns_engine(s, m->a, m->b) || sim_has_contacts(s, m->a, m->b))
            continue;
        const double speed = closing_speed(s, m->a, m->b, r->point, r->normal);
        if (speed > 0)
            add_contact(s, m->a, m->b, r->point, r->normal, -r->time * speed * s->step);
    }
    return status;
}

abut_status sim_rigid_advance(simulation *s) {
    if (!s->engine)
        return ABUT_OK;
    const double start = seconds_now();
    for (uint64_t i = 0; i < s->contact_count; i++) {
        const abut_contact *c = &s->contacts[i];
        if (concerns_engine(s, c->a, c->b))
            add_contact(s, c->a, c->b, c->point, c->normal, c->depth);
    }
    abut_status status = sweep_fast_bodies(s);
    if (!status)
        rigid_step(s->engine, s->step);
    for (uint32_t i = 0; i < s->body_count && !status; i++)
        if (s->bodies[i].kind == SIM_RIGID)
            s->bodies[i].pose = rigid_pose(s->engine, s->bodies[i].rigid);
    s->totals.rigid_seconds += seconds_now() - start;
    return status;
}

/* ---- states ---- */

size_t sim_rigid_bytes(const simulation *s) {
    return s->rigid_count ? sizeof(uint64_t) + s->rigid_count * sizeof(rigid_state) : 0;
}

void sim_rigid_save(const simulation *s, void *to) {
    const uint64_t seed = rigid_get_seed();
    unsigned char *next = to;
    if (!s->rigid_count)
        return;
    memcpy(next, &seed, sizeof seed);
    next += sizeof seed;
    for (uint32_t i = 0; i < s->rigid_count; i++, next += sizeof(rigid_state)) {
        const rigid_state state = rigid_get_state(s->engine, i);
        memcpy(next, &state, sizeof state);
    }
}

static bool is_near(abut_vec3 v) {
    return fabs(v.x) <= ABUT_COORDINATE_MAX && fabs(v.y) <= ABUT_COORDINATE_MAX &&
           fabs(v.z) <= ABUT_COORDINATE_MAX;
}

static bool state_is_valid(const rigid_state *state) {
    const double *q = state->rotation,
                 square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return fabs(square - 1) < 1e-6 && is_near(state->place) && is_near(state->velocity) &&
           is_near(state->spin);
}

bool sim_rigid_restore(simulation *s, const void *from) {
    const unsigned char *next = from;
    uint64_t seed;
    if (!s->rigid_count)
        return true;
    memcpy(&seed, next, sizeof seed);
    next += sizeof seed;
    for (uint32_t i = 0; i < s->rigid_count; i++, next += sizeof(rigid_state)) {
        rigid_state state;
        memcpy(&state, next, sizeof state);
        if (!state_is_valid(&state))
            return false;
        rigid_set_state(s->engine, i, &state);
    }
    rigid_set_seed(seed);
    for (uint32_t i = 0; i < s->body_count; i++)
        if (s->bodies[i].kind == SIM_RIGID)
            s->bodies[i].pose = rigid_pose(s->engine, s->bodies[i].rigid);
    return true;
}

void sim_rigid_push(simulation *s) {
    for (uint32_t i = 0; i < s->body_count && s->sheet_count; i++) {
        const sim_body *body = &s->bodies[i];
        abut_cloth *cloth = NULL;
        uint32_t index;
        abut_vec3 centre, impulse, moment;
        if (body->kind != SIM_RIGID || abut_world_get_cloth(s->world, i, &cloth, &index))
            continue;
        ensure(abut_pose_apply(&body->pose, body->scene->centre, &centre));
        ensure(abut_cloth_get_body_impulse(cloth, index, centre, &impulse, &moment));
        rigid_push(s->engine, body->rigid, impulse, moment);
    }
}

#else

void sim_rigid_push(simulation *s) {
    (void)s;
}

size_t sim_rigid_bytes(const simulation *s) {
    (void)s;
    return 0;
}

void sim_rigid_save(const simulation *s, void *to) {
    (void)s;
    (void)to;
}

bool sim_rigid_restore(simulation *s, const void *from) {
    (void)s;
    (void)from;
    return true;
}

void sim_rigid_create(simulation *s) {
    if (s->rigid_count)
        tool_fail_with(s->tool, "not supported",
                       "the scene has bodies with a mass, and this build has no physics engine; "
                       "install libode-dev and build again");
}

abut_status sim_rigid_advance(simulation *s) {
    (void)s;
    return ABUT_OK;
}

void sim_rigid_destroy(simulation *s) {
    (void)s;
}

#endif
