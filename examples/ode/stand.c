/* See stand.h. */
#include "stand.h"

#include <math.h>
#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP 0.005
#define MARGIN 0.005 /* contacts begin this far apart */
#define FRICTION 0.6
#define REST 1e-5
#define PLATE 0.005

/* A body, or the floor, which has none. */
typedef struct thing {
    dBodyID body;
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_pose fixed;
    double height; /* where its middle belongs at the end */
    abut_vec3 start;
} thing;

typedef struct world {
    abut_context *context;
    const stand_options *options;
    dWorldID ode;
    dJointGroupID joints;
    abut_world *space; /* its ids are those of the things */
    thing *things;     /* the floor first */
    uint32_t count, room;
    abut_pose *poses; /* of all things */
    abut_pose *ends;  /* of those that are fast, and their ids */
    uint32_t *ids;
    abut_contact *list; /* and events and impacts: grown where they are too short */
    uint64_t list_room;
    abut_world_event *events;
    uint64_t event_room;
    abut_world_impact *impacts;
    uint64_t impact_room;
    double deepest;
    uint64_t contacts;
} world;

/* ---- bodies ---- */

static abut_status make_mesh(abut_context *context, const abut_shape *shape, thing *t) {
    abut_status status = abut_shape_create(context, shape, &t->mesh);
    return status ? status : abut_bvh_create(t->mesh, NULL, &t->bvh);
}

/* A box, or where size.y is negative a ball; without a density it is fixed. */
static abut_status add(world *w, abut_vec3 size, abut_vec3 at, double density, double height) {
    thing *t = &w->things[w->count];
    abut_shape shape = abut_shape_default(size.y > 0 ? ABUT_SHAPE_BOX : ABUT_SHAPE_ICOSPHERE);
    shape.extent = size;
    shape.radius = 0.5 * size.x;
    shape.segments = size.y > 0 ? 1 : 8;
    abut_status status = make_mesh(w->context, &shape, t);
    t->fixed = (abut_pose){{0, 0, 0, 1}, at};
    t->start = at;
    t->height = height;
    w->count++;
    abut_world_item item = {.kind = ABUT_WORLD_BODY,
                            .motion = density > 0 ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC,
                            .pose = t->fixed};
    uint32_t id;
    item.shape.body.bvh = t->bvh;
    status = status ? status : abut_world_add(w->space, &item, &id);
    if (status || !(density > 0))
        return status;
    dMass mass;
    if (size.y > 0)
        dMassSetBox(&mass, density, size.x, size.y, size.z);
    else
        dMassSetSphere(&mass, density, 0.5 * size.x);
    t->body = dBodyCreate(w->ode);
    dBodySetMass(t->body, &mass);
    dBodySetPosition(t->body, at.x, at.y, at.z);
    return ABUT_OK;
}

static double jitter(uint32_t *seed, double most) {
    *seed = *seed * 1664525u + 1013904223u;
    return most * ((double)(*seed >> 8) / 0xffffff * 2 - 1);
}

static abut_status build(world *w, uint32_t bodies) {
    uint32_t seed = w->options->seed + 1;
    const abut_vec3 cube = {1, 1, 1}, plate = {1, 1, PLATE}, ball = {0.1, -1, 0.1};
    bool shot = w->options->kind == STAND_SHOT;
    abut_status status = shot ? add(w, (abut_vec3){1, 1, 0.002}, (abut_vec3){0, 0, 0}, 0, 0)
                              : add(w, (abut_vec3){40, 40, 1}, (abut_vec3){0, 0, -0.5}, 0, 0);
    for (uint32_t i = 0; i < bodies && !status; i++) {
        abut_vec3 at = {jitter(&seed, 0.005), jitter(&seed, 0.005), 0};
        switch (w->options->kind) {
        case STAND_STACK:
            at.z = 0.5 + 1.001 * i;
            status = add(w, cube, at, 1, 0.5 + i);
            break;
        case STAND_WALL: /* whole bricks, and halves at the ends of every second row */
            for (uint32_t k = 0; k < 5 && !status; k++) {
                bool half = i % 2 && (k == 0 || k == 4);
                double x = i % 2 ? (k == 0 ? -3.5 : k == 4 ? 3.5 : 2.0 * k - 4) : 2.0 * k - 3;
                if (i % 2 == 0 && k == 4)
                    break;
                status = add(w, (abut_vec3){half ? 0.998 : 1.998, 1, 1},
                             (abut_vec3){x, 0, 0.5 + 1.001 * i}, 1, 0.5 + i);
            }
            break;
        case STAND_PLATES:
            at.x *= 10;
            at.y *= 10;
            at.z = 0.1 + 0.1 * i;
            status = add(w, plate, at, 100, PLATE * (0.5 + i));
            break;
        case STAND_SHOT:
            at = (abut_vec3){0.1, 0.2, 0.151};
            status = add(w, ball, at, 1000, 0.051);
            if (!status)
                dBodySetLinearVel(w->things[w->count - 1].body, 0, 0, -100);
            break;
        }
    }
    return status;
}

/* ---- contacts ---- */

static abut_pose pose_of(const thing *t) {
    if (!t->body)
        return t->fixed;
    const dReal *p = dBodyGetPosition(t->body), *q = dBodyGetQuaternion(t->body);
    return (abut_pose){{q[1], q[2], q[3], q[0]}, {p[0], p[1], p[2]}};
}

/* Where it would be after a step in which nothing is in its way. */
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

/* A gap is a contact that lets the bodies come together by just that much in the step. */
static void give(world *w, const thing *a, const thing *b, abut_vec3 point, abut_vec3 normal,
                 double depth) {
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

/* How fast two bodies come together along a normal at a point. */
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

/* Makes room for as many elements as there are. */
static abut_status grow(void *array, uint64_t count, uint64_t *room, size_t bytes) {
    void *more = realloc(*(void **)array, count * bytes);
    if (!more)
        return ABUT_ERROR_MEMORY;
    *(void **)array = more;
    *room = count;
    return ABUT_OK;
}

/* Contacts of all pairs, and which pair has which. */
static abut_status find(world *w, uint64_t *event_count) {
    abut_contacts found = {.list = w->list, .capacity = w->list_room};
    abut_status status = abut_world_contacts(w->space, &found);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->list, found.count, &w->list_room, sizeof *w->list);
        found.list = w->list;
        found.capacity = w->list_room;
        status = status ? status : abut_world_contacts(w->space, &found);
    }
    if (status)
        return status;
    status = abut_world_events(w->space, w->event_room, w->events, event_count);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->events, *event_count, &w->event_room, sizeof *w->events);
        status =
            status ? status : abut_world_events(w->space, w->event_room, w->events, event_count);
    }
    return status;
}

/* The world says from the second to the first, ODE's joints have a body first. */
static void give_pair(world *w, uint32_t first, uint32_t second, abut_vec3 point, abut_vec3 normal,
                      double depth) {
    give(w, &w->things[second], &w->things[first], point,
         (abut_vec3){-normal.x, -normal.y, -normal.z}, depth);
}

static abut_status collide(world *w, uint64_t *event_count) {
    for (uint32_t i = 0; i < w->count; i++)
        w->poses[i] = pose_of(&w->things[i]);
    abut_status status = abut_world_move(w->space, NULL, w->poses, w->count);
    status = status ? status : find(w, event_count);
    for (uint64_t i = 0; !status && i < *event_count; i++) {
        const abut_world_event *e = &w->events[i];
        for (uint64_t c = e->first; c < e->first + e->count; c++) {
            const abut_contact *contact = &w->list[c];
            give_pair(w, e->a, e->b, contact->point, contact->normal, contact->depth);
            w->deepest = fmax(w->deepest, contact->depth);
        }
    }
    return status;
}

/* Those that go further than half the margin in a step: what would they meet within it? */
static abut_status look_ahead(world *w, uint64_t event_count) {
    uint32_t count = 0;
    for (uint32_t i = 1; i < w->count; i++) {
        const dReal *v = dBodyGetLinearVel(w->things[i].body);
        if (STEP * sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) < 0.5 * MARGIN)
            continue;
        w->ids[count] = i;
        w->ends[count++] = pose_after(&w->things[i], &w->poses[i]);
    }
    if (!count)
        return ABUT_OK;
    abut_world_impacts found = {.list = w->impacts, .capacity = w->impact_room};
    abut_status status = abut_world_sweep(w->space, w->ids, w->ends, count, NULL, &found);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->impacts, found.count, &w->impact_room, sizeof *w->impacts);
        found.list = w->impacts;
        found.capacity = w->impact_room;
        status = status ? status : abut_world_sweep(w->space, w->ids, w->ends, count, NULL, &found);
    }
    for (uint64_t i = 0, e = 0; !status && i < found.count; i++) {
        const abut_world_impact *m = &w->impacts[i];
        const abut_world_event *events = w->events;
        while (e < event_count && (events[e].change == ABUT_WORLD_END || events[e].a < m->a ||
                                   (events[e].a == m->a && events[e].b < m->b)))
            e++;
        if (e < event_count && events[e].a == m->a && events[e].b == m->b)
            continue; /* has contacts already */
        const abut_sweep_touch *touch = &m->touch;
        double speed = -closing(&w->things[m->b], &w->things[m->a], touch->point, touch->normal);
        if (speed > 0)
            give_pair(w, m->a, m->b, touch->point, touch->normal, -touch->time * speed * STEP);
    }
    return status;
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
    return 0.5 * m.mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) +
           0.5 * (m.I[0] * own[0] * own[0] + m.I[5] * own[1] * own[1] + m.I[10] * own[2] * own[2]);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static abut_status frame_of(const world *w, double time) {
    abut_pose poses[256];
    abut_mesh *meshes[256];
    if (!w->options->frame)
        return ABUT_OK;
    for (uint32_t i = 0; i < w->count; i++) {
        poses[i] = pose_of(&w->things[i]);
        meshes[i] = w->things[i].mesh;
    }
    return w->options->frame(w->options->user, time, poses, meshes, w->count)
               ? ABUT_OK
               : ABUT_ERROR_CANCELLED;
}

/* One step; what it shows goes into the result. */
static abut_status step(world *w, double time, stand_result *r) {
    double before = now();
    uint64_t event_count = 0;
    w->deepest = 0;
    abut_status status = collide(w, &event_count);
    status = status ? status : look_ahead(w, event_count);
    if (status)
        return status;
    r->collide += now() - before;
    if (time > 1)
        r->sunk = fmax(r->sunk, w->deepest);
    if (w->options->quick)
        dWorldQuickStep(w->ode, STEP);
    else
        dWorldStep(w->ode, STEP);
    dJointGroupEmpty(w->joints);
    r->energy = r->tilt_end = 0;
    for (uint32_t i = 1; i < w->count; i++) {
        r->energy += energy_of(&w->things[i]);
        r->tilt_end = fmax(r->tilt_end, tilt_of(&w->things[i]));
    }
    r->tilt = fmax(r->tilt, r->tilt_end);
    if (!(r->energy < REST))
        r->rest = -1;
    else if (r->rest < 0)
        r->rest = time;
    return ABUT_OK;
}

static abut_status run(world *w, stand_result *r) {
    double seconds = w->options->seconds > 0 ? w->options->seconds : 10, begin = now(), shown = 0;
    uint32_t steps = (uint32_t)ceil(seconds / STEP);
    abut_status status = ABUT_OK;
    r->rest = -1;
    for (uint32_t s = 0; s < steps && !status; s++) {
        status = step(w, s * STEP, r);
        if (!status && s * STEP >= shown) {
            status = frame_of(w, s * STEP);
            shown += 1.0 / 60;
        }
    }
    r->bodies = w->count - 1;
    r->seconds = seconds;
    r->wall = now() - begin;
    r->contacts = (double)w->contacts / steps;
    for (uint32_t i = 1; i < w->count; i++) {
        abut_vec3 p = pose_of(&w->things[i]).translation, q = w->things[i].start;
        r->drift = fmax(r->drift, hypot(p.x - q.x, p.y - q.y));
        r->out_of_place += fabs(p.z - w->things[i].height) > 0.5 * PLATE;
    }
    return status;
}

abut_status stand_run(abut_context *context, const stand_options *options, stand_result *result) {
    static const uint32_t usual[] = {10, 5, 4, 1};
    uint32_t bodies = options->bodies ? options->bodies : usual[options->kind];
    world w = {.context = context, .options = options, .room = 5 * bodies + 1};
    memset(result, 0, sizeof *result);
    dInitODE();
    w.ode = dWorldCreate();
    w.joints = dJointGroupCreate(0);
    dWorldSetGravity(w.ode, 0, 0, -9.81);
    dWorldSetERP(w.ode, 0.2);
    dWorldSetCFM(w.ode, 1e-9);
    dWorldSetQuickStepNumIterations(w.ode, 40);
    w.things = calloc(w.room, sizeof *w.things);
    w.poses = calloc(w.room, sizeof *w.poses);
    w.ends = calloc(w.room, sizeof *w.ends);
    w.ids = calloc(w.room, sizeof *w.ids);
    abut_world_options space = abut_world_options_default();
    space.margin = MARGIN;
    abut_status status = w.things && w.poses && w.ends && w.ids
                             ? abut_world_create(context, &space, &w.space)
                             : ABUT_ERROR_MEMORY;
    status = status ? status : build(&w, bodies);
    status = status ? status : run(&w, result);
    abut_world_destroy(w.space);
    for (uint32_t i = 0; i < w.count; i++) {
        abut_bvh_destroy(w.things[i].bvh);
        abut_mesh_destroy(w.things[i].mesh);
    }
    free(w.things);
    free(w.poses);
    free(w.ends);
    free(w.ids);
    free(w.list);
    free(w.events);
    free(w.impacts);
    dJointGroupDestroy(w.joints);
    dWorldDestroy(w.ode);
    dCloseODE();
    return status;
}
