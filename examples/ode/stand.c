/* See stand.h. */
#include "bowl.h"
#include "stand_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP FIT_STEP
#define MARGIN FIT_MARGIN /* largest gap with contacts */
#define FRICTION FIT_FRICTION
#define GRAVITY 9.81
#define CORRECTION 0.5 /* m/s: largest speed at which depths are corrected */
#define REST 1e-5
#define FALLEN 30.0 /* degrees */

enum { GEOM_CONTACTS = 64 /* of a pair */, FIELD_CONTACTS = 4 /* of a patch */ };

static double clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- contacts ---- */

static abut_pose pose_of(const thing *t) {
    if (!t->body)
        return t->fixed;
    const dReal *p = dBodyGetPosition(t->body), *q = dBodyGetQuaternion(t->body);
    return (abut_pose){{q[1], q[2], q[3], q[0]}, {p[0], p[1], p[2]}};
}

static bool is_awake(const thing *t) {
    return t->body && dBodyIsEnabled(t->body);
}

/* The pose after a step without collisions. */
static abut_pose pose_after(const thing *t, const abut_pose *now) {
    if (!t->body)
        return *now;
    const dReal *v = dBodyGetLinearVel(t->body), *w = dBodyGetAngularVel(t->body);
    double speed = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    abut_pose turn = {{0, 0, 0, 1}, {0, 0, 0}}, there = *now;
    if (speed > 0)
        abut_pose_from_axis_angle((abut_vec3){w[0], w[1], w[2]}, fmin(speed * STEP, 3),
                                  (abut_vec3){0, 0, 0}, &turn);
    there.translation = (abut_vec3){0, 0, 0};
    abut_pose_compose(&turn, &there, &there);
    there.translation =
        (abut_vec3){now->translation.x + STEP * v[0], now->translation.y + STEP * v[1],
                    now->translation.z + STEP * v[2]};
    return there;
}

/* Creates a contact joint. A gap is a contact that allows the bodies to approach by exactly the
 * gap in the step. */
static void add_contact_joint(world *w, const thing *a, const thing *b, abut_vec3 point,
                              abut_vec3 normal, double depth) {
    dContact contact;
    memset(&contact, 0, sizeof contact);
    contact.surface.mode = dContactApprox1;
    contact.surface.mu = FRICTION;
    if (depth < 0) {
        contact.surface.mode |= dContactMotionN;
        contact.surface.motionN = depth / STEP;
    }
    contact.geom.depth = depth > 0 ? depth : 0;
    for (int k = 0; k < 3; k++) {
        contact.geom.pos[k] = (&point.x)[k];
        contact.geom.normal[k] = (&normal.x)[k];
    }
    dJointAttach(dJointCreateContact(w->ode, w->joints, &contact), a->body, b->body);
    w->contacts++;
}

/* The approach speed of two bodies along a normal at a point. */
static double closing(const thing *a, const thing *b, abut_vec3 point, abut_vec3 normal) {
    double sum = 0;
    const thing *both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        dVector3 v = {0, 0, 0, 0};
        if (both[i]->body)
            dBodyGetPointVel(both[i]->body, point.x, point.y, point.z, v);
        sum += (i ? 1 : -1) * (v[0] * normal.x + v[1] * normal.y + v[2] * normal.z);
    }
    return sum;
}

/* Grows an array to a number of elements. */
static abut_status grow(void *array, uint64_t count, uint64_t *room, size_t bytes) {
    void *more = realloc(*(void **)array, count * bytes);
    if (!more)
        return ABUT_ERROR_MEMORY;
    *(void **)array = more;
    *room = count;
    return ABUT_OK;
}

/* Computes the contacts of all pairs in a world. */
static abut_status find_contacts(world *w, abut_world *space, uint64_t *count) {
    abut_contacts found = {.size = sizeof found, .list = w->list, .capacity = w->list_room};
    for (uint32_t i = 0; i < w->released; i++)
        w->poses[i] = pose_of(&w->things[i]);
    abut_status status = abut_world_set_poses(space, NULL, abut_array_host(w->poses), w->released);
    if (status)
        return status;
    status = abut_world_contacts(space, &found);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->list, found.count, &w->list_room, sizeof *w->list);
        if (status)
            return status;
        found.list = w->list;
        found.capacity = w->list_room;
        status = abut_world_contacts(space, &found);
    }
    *count = found.count;
    return status;
}

/* The normals of the world point from the second item to the first; ODE's joints need a body
 * first. */
static void add_pair_joint(world *w, uint32_t first, uint32_t second, abut_vec3 point,
                           abut_vec3 normal, double depth) {
    add_contact_joint(w, &w->things[second], &w->things[first], point,
                      (abut_vec3){-normal.x, -normal.y, -normal.z}, depth);
}

/* Measures the largest depth relative to the size of a body, of contacts that are exact. */
static void measure_depth(world *w, uint64_t count) {
    w->deepest = 0;
    for (uint64_t i = 0; i < count; i++)
        w->deepest = fmax(w->deepest, w->list[i].depth / w->things[w->list[i].b].model->size);
}

static abut_status collide(world *w) {
    uint64_t count = 0;
    abut_status status = find_contacts(w, w->space, &count);
    for (uint64_t i = 0; i < count && !status; i++) {
        const abut_contact *c = &w->list[i];
        add_pair_joint(w, c->a, c->b, c->point, c->normal, c->depth);
    }
    if (!status && w->space == w->exact)
        measure_depth(w, count);
    return status;
}

/* The contacts of two geometries whose bounding boxes overlap. */
static void collide_geoms(void *data, dGeomID first, dGeomID second) {
    world *w = data;
    dContactGeom found[GEOM_CONTACTS];
    const thing *a = dGeomGetData(first), *b = dGeomGetData(second);
    if (!is_awake(a) && !is_awake(b))
        return;
    int count = dCollide(first, second, GEOM_CONTACTS, found, sizeof *found);
    for (int i = 0; i < count; i++) {
        const dReal *p = found[i].pos, *n = found[i].normal;
        add_contact_joint(w, a, b, (abut_vec3){p[0], p[1], p[2]}, (abut_vec3){n[0], n[1], n[2]},
                          found[i].depth);
    }
}

/* An upper bound of the speed of its points. */
static double speed_of(const thing *t) {
    const dReal *v = dBodyGetLinearVel(t->body), *u = dBodyGetAngularVel(t->body);
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) +
           t->model->radius * sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
}

/* Sweeps bodies that move further than half the margin in a step, and adds contacts for their
 * impacts. Pairs that touch already have contacts there, but may hit each other elsewhere. */
static abut_status sweep_fast_bodies(world *w) {
    uint32_t count = 0;
    for (uint32_t i = 1; i < w->released; i++) {
        if (!w->things[i].body || STEP * speed_of(&w->things[i]) < 0.5 * MARGIN)
            continue;
        w->ids[count] = i;
        w->ends[count++] = pose_after(&w->things[i], &w->poses[i]);
    }
    if (!count)
        return ABUT_OK;
    abut_world_impacts found = {.size = sizeof found,
                                .list = w->impacts,
                                .capacity = w->impact_room};
    abut_status status =
        abut_world_sweep(w->space, w->ids, abut_array_host(w->ends), count, NULL, &found);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->impacts, found.count, &w->impact_room, sizeof *w->impacts);
        if (status)
            return status;
        found.list = w->impacts;
        found.capacity = w->impact_room;
        status = abut_world_sweep(w->space, w->ids, abut_array_host(w->ends), count, NULL, &found);
    }
    if (status)
        return status;
    for (uint64_t i = 0; i < found.count; i++) {
        const abut_world_impact *m = &w->impacts[i];
        const abut_sweep_rigid_result *touch = &m->result;
        double speed = -closing(&w->things[m->b], &w->things[m->a], touch->point, touch->normal);
        const double gap = touch->time * speed * STEP;
        if (gap > 0.5 * MARGIN) /* nearer ones are contacts already */
            add_pair_joint(w, m->a, m->b, touch->point, touch->normal, -gap);
    }
    return ABUT_OK;
}

/* ---- measures ---- */

static double tilt_of(const thing *t) {
    double up = dBodyGetRotation(t->body)[10];
    return acos(up > 1 ? 1 : up) * 57.29577951308232;
}

static double energy_of(const thing *t) {
    const dReal *v = dBodyGetLinearVel(t->body), *u = dBodyGetAngularVel(t->body);
    dMass m;
    dBodyGetMass(t->body, &m);
    dVector3 own;
    dBodyVectorFromWorld(t->body, u[0], u[1], u[2], own);
    double sum = m.mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            sum += own[i] * m.I[4 * i + k] * own[k];
    return 0.5 * sum;
}

/* Including potential energy above the lowest possible position. */
static double whole_energy(const world *w) {
    double sum = 0, lowest = is_pile(w) && w->options->kind != STAND_PLANE ? -BOWL_RADIUS : 0;
    for (uint32_t i = 1; i < w->count; i++) {
        dMass m;
        if (!w->things[i].body)
            continue;
        dBodyGetMass(w->things[i].body, &m);
        sum += energy_of(&w->things[i]) +
               m.mass * GRAVITY * (dBodyGetPosition(w->things[i].body)[2] - lowest);
    }
    return sum;
}

static abut_status frame_of(const world *w, double time) {
    if (!w->options->frame)
        return ABUT_OK;
    for (uint32_t i = 0; i < w->released; i++) {
        w->poses[i] = pose_of(&w->things[i]);
        w->meshes[i] = w->things[i].model->mesh;
    }
    return w->options->frame(w->options->user, time, w->poses, w->meshes, w->released)
               ? ABUT_OK
               : ABUT_ERROR_CANCELLED;
}

/* Releases bodies whose time has come. */
static abut_status release(world *w) {
    for (; w->released < w->count; w->released++) {
        thing *t = &w->things[w->released];
        abut_world_item item = abut_world_item_default();
        abut_status status = ABUT_OK;
        uint32_t id;
        if (t->release > w->time)
            break;
        item.motion = t->body ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC;
        if (w->space) {
            item.collider =
                t->model->field
                    ? abut_collider_from_field(t->model->field, t->model->samples, pose_of(t))
                    : abut_collider_from_bvh(t->model->bvh, pose_of(t));
            status = abut_world_add(w->space, &item, &id);
        }
        if (!status && w->exact != w->space) {
            item.collider = abut_collider_from_bvh(t->model->bvh, pose_of(t));
            status = abut_world_add(w->exact, &item, &id);
        }
        if (status)
            return status;
        if (t->body)
            dBodyEnable(t->body);
        if (t->geom)
            dGeomEnable(t->geom);
    }
    return ABUT_OK;
}

/* Updates the result after a step. */
static void update_result(world *w, stand_result *r) {
    r->sunk_end = w->deepest;
    if (w->time > 1)
        r->sunk = fmax(r->sunk, w->deepest);
    r->energy = r->tilt_end = 0;
    for (uint32_t i = 1; i < w->count; i++) {
        thing *t = &w->things[i];
        if (!t->body)
            continue;
        double tilt = tilt_of(t);
        if (is_awake(t))
            r->energy += energy_of(t);
        r->tilt_end = fmax(r->tilt_end, tilt);
        if (tilt > FALLEN && !(t->fell > 0))
            t->fell = w->time;
    }
    r->tilt = fmax(r->tilt, r->tilt_end);
    if (!(r->energy < REST) || w->released < w->count)
        r->rest = -1;
    else if (r->rest < 0)
        r->rest = w->time;
}

static abut_status step(world *w, stand_result *r) {
    double before = clock_now();
    abut_status status = release(w);
    if (status)
        return status;
    if (w->options->own)
        dSpaceCollide(w->geoms, w, collide_geoms);
    else
        status = collide(w);
    if (!status && w->space == w->exact)
        status = sweep_fast_bodies(w);
    if (status)
        return status;
    r->collide += clock_now() - before;
    if (w->options->quick || is_pile(w))
        dWorldQuickStep(w->ode, STEP);
    else
        dWorldStep(w->ode, STEP);
    dJointGroupEmpty(w->joints);
    r->wall += clock_now() - before;
    update_result(w, r);
    return ABUT_OK;
}

/* Returns whether a body is not at its expected position, or a domino did not fall after the
 * previous one. */
static bool is_astray(const world *w, uint32_t i) {
    const thing *t = &w->things[i];
    abut_vec3 p = pose_of(t).translation;
    if (w->options->kind == STAND_DOMINOES)
        return !(t->fell > 0) || (i > 1 && t->fell < w->things[i - 1].fell);
    if (w->options->kind == STAND_PLANE)
        return !(p.z > 0);
    if (is_pile(w))
        return !(p.z > -BOWL_RADIUS &&
                 p.x * p.x + p.y * p.y + p.z * p.z < BOWL_RADIUS * BOWL_RADIUS);
    return !(fabs(p.z - t->height) < 0.5 * STAND_PLATE);
}

static abut_status observe(const world *w, const stand_result *r) {
    abut_pose poses[FIT_BODIES];
    for (uint32_t i = 0; i < w->count; i++)
        poses[i] = pose_of(&w->things[i]);
    return fit_observe(w->options->scene, poses, r->energy);
}

/* Measures every tenth of a second, and at the end. */
static abut_status measure_scene(world *w, stand_result *r) {
    const double energy = whole_energy(w);
    r->energy_growth = fmax(r->energy_growth, (energy - w->energy) / w->energy_first);
    w->energy = energy;
    if (w->options->scene)
        return observe(w, r);
    if (w->space == w->exact)
        return ABUT_OK;
    uint64_t count = 0;
    abut_status status = find_contacts(w, w->exact, &count);
    if (!status)
        measure_depth(w, count);
    return status;
}

static abut_status run(world *w, stand_result *r) {
    double seconds = w->options->seconds, shown = 0;
    seconds = seconds > 0 ? seconds : stand_seconds(w->options->kind, w->options->bodies);
    uint32_t steps = (uint32_t)ceil(seconds / STEP);
    r->rest = -1;
    w->energy = w->energy_first = whole_energy(w);
    for (uint32_t s = 0; s < steps; s++) {
        w->time = s * STEP;
        abut_status status = step(w, r);
        if (!status && (s % 20 == 19 || s + 1 == steps))
            status = measure_scene(w, r);
        if (!status && w->time >= shown) {
            status = frame_of(w, w->time);
            shown += 1.0 / 60;
        }
        if (status)
            return status;
    }
    r->bodies = w->count - 1;
    r->seconds = seconds;
    r->contacts = (double)w->contacts / steps;
    for (uint32_t i = 1; i < w->count; i++) {
        abut_vec3 p = pose_of(&w->things[i]).translation, q = w->things[i].start;
        r->drift = fmax(r->drift, hypot(p.x - q.x, p.y - q.y));
        r->out_of_place += !w->options->scene && is_astray(w, i);
    }
    return ABUT_OK;
}

static uint32_t usual_bodies(stand_kind kind, uint32_t bodies) {
    static const uint32_t usual[] = {10, 5, 4, 1, 12, 100, 100, 1};
    return bodies ? bodies : usual[kind];
}

double stand_seconds(stand_kind kind, uint32_t bodies) {
    return kind >= STAND_BOWL
               ? STAND_WAVE_SECONDS * ceil(usual_bodies(kind, bodies) / (double)STAND_WAVE) + 5
               : 10;
}

abut_status stand_run(abut_context *context, const stand_options *options, stand_result *result) {
    uint32_t bodies =
        options->scene ? options->scene->body_count : usual_bodies(options->kind, options->bodies);
    world w = {.context = context,
               .options = options,
               .room = 5 * bodies + STAND_MIXED_MODELS +
                       1}; /* a row of the wall has up to five bricks */
    memset(result, 0, sizeof *result);
    dInitODE();
    w.ode = dWorldCreate();
    w.joints = dJointGroupCreate(0);
    w.geoms = dSimpleSpaceCreate(NULL);
    dWorldSetGravity(w.ode, 0, 0, -GRAVITY);
    dWorldSetERP(w.ode, 0.2);
    /* With 1e-9 a contact halfway between two others, which is redundant, makes ODE's system
     * singular. */
    dWorldSetCFM(w.ode, 1e-7);
    dWorldSetContactMaxCorrectingVel(w.ode, CORRECTION);
    dWorldSetQuickStepNumIterations(w.ode, 40);
    w.things = calloc(w.room, sizeof *w.things);
    w.models = calloc(w.room, sizeof *w.models);
    w.poses = calloc(w.room, sizeof *w.poses);
    w.meshes = calloc(w.room, sizeof *w.meshes);
    w.ends = calloc(w.room, sizeof *w.ends);
    w.ids = calloc(w.room, sizeof *w.ids);
    abut_world_options space = abut_world_options_default();
    space.margin = MARGIN;
    abut_status status = ABUT_ERROR_MEMORY;
    if (!w.things || !w.models || !w.poses || !w.meshes || !w.ends || !w.ids)
        goto done;
    status = abut_world_create(context, &space, &w.exact);
    if (status)
        goto done;
    if (uses_fields(&w)) {
        space.device = options->device;
        space.margin = 0;
        space.max_patch_contacts = FIELD_CONTACTS;
        space.skip_edges = true; /* contacts at samples only, as in Sundholm (2010) */
        status = abut_world_create(context, &space, &w.space);
        if (status)
            goto done;
    } else if (!options->own) {
        w.space = w.exact;
    }
    status = stand_build(&w, bodies);
    if (status)
        goto done;
    status = run(&w, result);
done:
    if (w.space != w.exact)
        abut_world_destroy(w.space);
    abut_world_destroy(w.exact);
    dSpaceDestroy(w.geoms); /* and its geoms */
    for (uint32_t i = 0; i < w.model_count; i++)
        model_destroy(&w.models[i]);
    free(w.things);
    free(w.models);
    free(w.poses);
    free(w.meshes);
    free(w.ends);
    free(w.ids);
    free(w.list);
    free(w.impacts);
    dJointGroupDestroy(w.joints);
    dWorldDestroy(w.ode);
    dCloseODE();
    return status;
}
