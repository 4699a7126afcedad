/* See stand.h. */
#include "stand.h"

#include "abut_ode.h"
#include "bowl.h"
#include "critter.h"
#include "model.h"

#include <math.h>
#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP FIT_STEP
#define MARGIN FIT_MARGIN /* largest gap with contacts */
#define FRICTION FIT_FRICTION
#define GRAVITY 9.81
#define CORRECTION 0.5 /* m/s: largest speed at which depths are corrected */
#define REST 1e-5
#define PLATE 0.005
#define FALLEN 30.0 /* degrees */
#define SIZE 1.5    /* of bodies in the bowl and on the plane */
#define WAVE_HEIGHT 4.0
#define PLANE_HEIGHT 1.6 /* of bodies released above the plane */
#define WAVE_SECONDS 0.75

enum {
    WAVE = 9, /* bodies that are released side by side */
    MIXED = 6,
    MODEL_CELLS = 40,
    MODEL_SAMPLES = 300,
    BOWL_CELLS = 144,
    GEOM_CONTACTS = 64 /* of a pair */
};

/* A body, or the floor, which has no ODE body. */
typedef struct thing {
    model *model;
    dBodyID body;
    dGeomID geom; /* if ODE finds the pairs */
    abut_pose fixed;
    double height;  /* expected height of its centre at the end */
    double release; /* time of its release */
    double fell;    /* time of its fall; 0 = not yet */
    abut_vec3 start;
} thing;

typedef struct world {
    abut_context *context;
    const stand_options *options;
    dWorldID ode;
    dJointGroupID joints;
    dSpaceID geoms;
    abut_world *space; /* its ids are those of the things */
    thing *things;     /* the floor first, the others in the order of release */
    model *models;
    uint32_t count, released, model_count, room;
    abut_pose *poses; /* of all things */
    abut_mesh **meshes;
    abut_pose *ends; /* of fast ones, and their ids */
    uint32_t *ids;
    abut_contact *list; /* and events and impacts: grown if they are too short */
    uint64_t list_room;
    abut_world_event *events;
    uint64_t event_room;
    abut_world_impact *impacts;
    uint64_t impact_room;
    double time, deepest;
    double energy, energy_first; /* total energy, a tenth of a second ago and at the start */
    uint64_t contacts;
} world;

/* Scenes of bodies that fall in waves. */
static bool is_pile(const world *w) {
    return !w->options->scene && w->options->kind >= STAND_BOWL;
}

/* Whether ODE finds the pairs, and geometries of fields or of ODE itself their contacts. */
static bool uses_geoms(const world *w) {
    return w->options->own || (is_pile(w) && w->options->kind != STAND_BOWL);
}

static double clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- bodies ---- */

/* Takes ownership of the mesh: see model_create(). */
static abut_status add_model(world *w, abut_mesh *raw, double size, bool is_fixed) {
    return model_create(raw, size, is_fixed, &w->models[w->model_count++]);
}

static abut_status add_shape(world *w, const abut_shape *shape, double size) {
    abut_mesh *raw;
    abut_status status = abut_shape_create(w->context, shape, &raw);
    if (status)
        return status;
    return add_model(w, raw, size, false);
}

/* Without a density it is fixed. */
static thing *add_body(world *w, model *m, abut_vec3 at, double density) {
    thing *t = &w->things[w->count++];
    *t = (thing){.model = m, .fixed = {{0, 0, 0, 1}, at}, .start = at};
    if (density > 0) {
        dMass mass = m->mass;
        dMassAdjust(&mass, density * mass.mass);
        t->body = dBodyCreate(w->ode);
        dBodySetMass(t->body, &mass);
        dBodySetPosition(t->body, at.x, at.y, at.z);
    }
    return t;
}

/* A box, or a ball if size.y is negative. */
static abut_status add(world *w, abut_vec3 size, abut_vec3 at, double density, double height) {
    abut_shape shape = abut_shape_default(size.y > 0 ? ABUT_SHAPE_BOX : ABUT_SHAPE_ICOSPHERE);
    shape.extent = size;
    shape.radius = 0.5 * size.x;
    shape.segments = size.y > 0 ? 1 : 8;
    abut_status status = add_shape(w, &shape, 0);
    if (status)
        return status;
    add_body(w, &w->models[w->model_count - 1], at, density)->height = height;
    return ABUT_OK;
}

/* From -1 to 1. */
static double random_real(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 0xffffff * 2 - 1;
}

/* A row of bricks in running bond: halves at the ends of every second row. */
static abut_status add_row(world *w, uint32_t i) {
    for (uint32_t k = 0; k < 4 + i % 2; k++) {
        bool half = i % 2 && (k == 0 || k == 4);
        double x = i % 2 ? (k == 0 ? -3.5 : k == 4 ? 3.5 : 2.0 * k - 4) : 2.0 * k - 3;
        abut_status status = add(w, (abut_vec3){half ? 0.998 : 1.998, 1, 1},
                                 (abut_vec3){x, 0, 0.5 + 1.001 * i}, 1, 0.5 + i);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* The first one already rotates about its lower edge. */
static abut_status add_domino(world *w, uint32_t i, uint32_t bodies) {
    const double thick = 0.2, tall = 2, spin = 0.6;
    abut_vec3 at = {i - 0.5 * (bodies - 1), 0, 0.5 * tall};
    abut_status status = add(w, (abut_vec3){thick, 1, tall}, at, 1, 0);
    if (!status && i == 0) {
        dBodyID body = w->things[w->count - 1].body;
        dBodySetAngularVel(body, 0, spin, 0);
        dBodySetLinearVel(body, 0.5 * spin * tall, 0, 0.5 * spin * thick);
    }
    return status;
}

/* ---- geometries ---- */

static abut_status add_geom(world *w, thing *t) {
    model *m = t->model;
    abut_pose p = t->fixed;
    if (!m->mesh) {
        t->geom = dCreatePlane(w->geoms, 0, 0, 1, 0);
        dGeomSetData(t->geom, t);
        return ABUT_OK;
    }
    abut_status status = w->options->own ? model_add_trimesh(m)
                         : t->body       ? model_add_field(m, MODEL_CELLS, MODEL_SAMPLES)
                                         : model_add_field(m, BOWL_CELLS, 0);
    if (status)
        return status;
    t->geom = w->options->own ? dCreateTriMesh(w->geoms, m->data, NULL, NULL, NULL)
                              : abut_ode_create(w->geoms, m->bvh, m->field, m->samples);
    if (!t->geom)
        return ABUT_ERROR_MEMORY;
    dGeomSetData(t->geom, t);
    dGeomSetBody(t->geom, t->body);
    if (!t->body) {
        dGeomSetPosition(t->geom, p.translation.x, p.translation.y, p.translation.z);
        dGeomSetQuaternion(t->geom,
                           (dQuaternion){p.rotation.w, p.rotation.x, p.rotation.y, p.rotation.z});
    }
    return ABUT_OK;
}

/* ---- the bowl and the plane ---- */

static abut_status add_critter(world *w, double detail) {
    abut_mesh *raw;
    abut_status status = critter_create(w->context, detail, &raw);
    if (status)
        return status;
    return add_model(w, raw, SIZE, false);
}

/* Cubes, plates, rings, letters and critters. */
static abut_status add_mixed(world *w) {
    static const abut_shape_kind kinds[MIXED - 1] = {ABUT_SHAPE_BOX, ABUT_SHAPE_BOX,
                                                     ABUT_SHAPE_TORUS, ABUT_SHAPE_LETTER_E,
                                                     ABUT_SHAPE_LETTER_G};
    for (int i = 0; i < MIXED - 1; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        if (i < 2) {
            shape.extent = i ? (abut_vec3){1, 1, 0.04} : (abut_vec3){1, 1, 1};
            shape.segments = 1;
        } else if (i == 2) {
            shape.segments = 24;
            shape.rings = 12;
        }
        abut_status status = add_shape(w, &shape, i ? SIZE : 0.6 * SIZE);
        if (status)
            return status;
    }
    return add_critter(w, 0.4);
}

/* Teapots, rings and critters. */
static abut_status add_smooth(world *w) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_TEAPOT_SOLID, ABUT_SHAPE_TORUS};
    for (int i = 0; i < 2; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        shape.segments = i ? 32 : 4;
        shape.rings = 16;
        abut_status status = add_shape(w, &shape, SIZE);
        if (status)
            return status;
    }
    return add_critter(w, 1);
}

/* Released in waves of nine, at random angles; over a plane the first one is in the centre. */
static abut_status add_falling(world *w, uint32_t i, uint32_t *seed) {
    const bool plane = w->options->kind == STAND_PLANE;
    uint32_t in = (i + (plane ? WAVE / 2 : 0)) % WAVE, wave = i / WAVE;
    double x = ((double)(in % 3) - 1) * 1.9, y = ((double)(in / 3) - 1) * 1.9;
    double c = cos(wave), s = sin(wave); /* each wave is rotated against the last */
    thing *t =
        add_body(w, &w->models[1 + i % (w->model_count - 1)],
                 (abut_vec3){c * x - s * y, s * x + c * y, plane ? PLANE_HEIGHT : WAVE_HEIGHT}, 1);
    dQuaternion q;
    double length = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = random_real(seed);
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++)
        q[k] /= sqrt(length);
    dBodySetQuaternion(t->body, q);
    dBodyDisable(t->body);
    t->release = WAVE_SECONDS * wave;
    if (!uses_geoms(w))
        return ABUT_OK;
    abut_status status = add_geom(w, t);
    if (!status)
        dGeomDisable(t->geom);
    return status;
}

/* The floor: a bowl, or a model without a mesh for the plane z = 0. */
static abut_status add_floor(world *w) {
    abut_mesh *raw;
    if (w->options->kind == STAND_PLANE) {
        w->model_count++;
        return ABUT_OK;
    }
    abut_status status = bowl_create(w->context, &raw);
    if (status)
        return status;
    return add_model(w, raw, 0, true);
}

static abut_status build_pile(world *w, uint32_t bodies) {
    uint32_t seed = w->options->seed + 1;
    abut_status status = add_floor(w);
    if (status)
        return status;
    status = w->options->kind == STAND_BOWL ? add_mixed(w) : add_smooth(w);
    if (status)
        return status;
    dWorldSetAutoDisableFlag(w->ode, 1); /* for bodies from here on */
    dWorldSetAutoDisableLinearThreshold(w->ode, 0.02);
    dWorldSetAutoDisableAngularThreshold(w->ode, 0.03);
    dWorldSetAutoDisableAverageSamplesCount(w->ode, 10);
    thing *floor = add_body(w, &w->models[0], (abut_vec3){0, 0, 0}, 0);
    if (uses_geoms(w))
        status = add_geom(w, floor);
    for (uint32_t i = 0; i < bodies && !status; i++)
        status = add_falling(w, i, &seed);
    return status;
}

/* ---- scenes of fits.h ---- */

/* One model per body. */
static abut_status build_scene(world *w, const fit_scene *scene) {
    for (uint32_t i = 0; i < scene->body_count; i++) {
        const fit_body *b = &scene->bodies[i];
        abut_status status = add_model(w, abut_mesh_retain(scene->meshes[b->mesh]), 0, b->is_fixed);
        if (status)
            return status;
        thing *t = add_body(w, &w->models[i], b->start.translation, !b->is_fixed);
        t->fixed = b->start;
        if (t->body)
            dBodySetQuaternion(t->body, (dQuaternion){b->start.rotation.w, b->start.rotation.x,
                                                      b->start.rotation.y, b->start.rotation.z});
        if (w->options->own)
            status = add_geom(w, t);
        if (status)
            return status;
    }
    return ABUT_OK;
}

static abut_status build(world *w, uint32_t bodies) {
    uint32_t seed = w->options->seed + 1;
    const abut_vec3 cube = {1, 1, 1}, plate = {1, 1, PLATE}, ball = {0.1, -1, 0.1};
    if (w->options->scene)
        return build_scene(w, w->options->scene);
    if (is_pile(w))
        return build_pile(w, bodies);
    abut_status status = w->options->kind == STAND_SHOT
                             ? add(w, (abut_vec3){1, 1, 0.002}, (abut_vec3){0, 0, 0}, 0, 0)
                             : add(w, (abut_vec3){40, 40, 1}, (abut_vec3){0, 0, -0.5}, 0, 0);
    for (uint32_t i = 0; i < bodies && !status; i++) {
        abut_vec3 at = {0.005 * random_real(&seed), 0.005 * random_real(&seed), 0};
        switch (w->options->kind) {
        case STAND_STACK:
            at.z = 0.5 + 1.001 * i;
            status = add(w, cube, at, 1, 0.5 + i);
            break;
        case STAND_WALL:
            status = add_row(w, i);
            break;
        case STAND_PLATES:
            at.x *= 10;
            at.y *= 10;
            at.z = 0.1 + 0.1 * i;
            status = add(w, plate, at, 100, PLATE * (0.5 + i));
            break;
        case STAND_DOMINOES:
            status = add_domino(w, i, bodies);
            break;
        default: /* STAND_SHOT */
            at = (abut_vec3){0.1, 0.2, 0.151};
            status = add(w, ball, at, 1000, 0.051);
            if (!status)
                dBodySetLinearVel(w->things[w->count - 1].body, 0, 0, -100);
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

/* Computes the contacts of all pairs, and the events that assign them to pairs. */
static abut_status find_contacts(world *w, uint64_t *event_count) {
    abut_contacts found = {.size = sizeof found, .list = w->list, .capacity = w->list_room};
    for (uint32_t i = 0; i < w->released; i++)
        w->poses[i] = pose_of(&w->things[i]);
    abut_status status =
        abut_world_set_poses(w->space, NULL, abut_array_host(w->poses), w->released);
    if (status)
        return status;
    status = abut_world_contacts(w->space, &found);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->list, found.count, &w->list_room, sizeof *w->list);
        if (status)
            return status;
        found.list = w->list;
        found.capacity = w->list_room;
        status = abut_world_contacts(w->space, &found);
    }
    if (status)
        return status;
    abut_world_event_list events = {w->events, w->event_room, 0};
    status = abut_world_events(w->space, &events);
    if (status == ABUT_ERROR_BUFFER) {
        status = grow(&w->events, events.count, &w->event_room, sizeof *w->events);
        if (status)
            return status;
        events.list = w->events;
        events.capacity = w->event_room;
        status = abut_world_events(w->space, &events);
    }
    *event_count = events.count;
    return status;
}

/* The normals of the world point from the second item to the first; ODE's joints need a body
 * first. */
static void add_pair_joints(world *w, uint32_t first, uint32_t second, abut_vec3 point,
                            abut_vec3 normal, double depth) {
    add_contact_joint(w, &w->things[second], &w->things[first], point,
                      (abut_vec3){-normal.x, -normal.y, -normal.z}, depth);
}

/* Finds the contacts of all pairs and their largest depth; with `joints` creates contact joints. */
static abut_status collide(world *w, bool joints, uint64_t *event_count) {
    abut_status status = find_contacts(w, event_count);
    if (status)
        return status;
    w->deepest = 0;
    for (uint64_t i = 0; i < *event_count; i++) {
        const abut_world_event *e = &w->events[i];
        for (uint64_t c = e->first; c < e->first + e->count; c++) {
            const abut_contact *contact = &w->list[c];
            if (joints)
                add_pair_joints(w, e->a, e->b, contact->point, contact->normal, contact->depth);
            w->deepest = fmax(w->deepest, contact->depth / w->things[e->b].model->size);
        }
    }
    return ABUT_OK;
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
 * impacts. */
static abut_status sweep_fast_bodies(world *w, uint64_t event_count) {
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
    for (uint64_t i = 0, e = 0; i < found.count; i++) {
        const abut_world_impact *m = &w->impacts[i];
        const abut_world_event *events = w->events;
        while (e < event_count && (events[e].kind == ABUT_WORLD_EVENT_END || events[e].a < m->a ||
                                   (events[e].a == m->a && events[e].b < m->b)))
            e++;
        if (e < event_count && events[e].a == m->a && events[e].b == m->b)
            continue; /* has contacts already */
        const abut_sweep_rigid_result *touch = &m->result;
        double speed = -closing(&w->things[m->b], &w->things[m->a], touch->point, touch->normal);
        if (speed > 0)
            add_pair_joints(w, m->a, m->b, touch->point, touch->normal,
                            -touch->time * speed * STEP);
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
        uint32_t id;
        if (t->release > w->time)
            break;
        item.collider = t->model->bvh ? abut_collider_from_bvh(t->model->bvh, pose_of(t))
                                      : abut_collider_from_plane((abut_plane){{0, 0, 1}, 0},
                                                                 abut_pose_identity());
        item.motion = t->body ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC;
        abut_status status = abut_world_add(w->space, &item, &id);
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
    uint64_t event_count = 0;
    abut_status status = release(w);
    if (status)
        return status;
    if (uses_geoms(w)) {
        dSpaceCollide(w->geoms, w, collide_geoms);
    } else {
        status = collide(w, true, &event_count);
        if (status)
            return status;
        status = sweep_fast_bodies(w, event_count);
        if (status)
            return status;
    }
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
    return !(fabs(p.z - t->height) < 0.5 * PLATE);
}

static abut_status observe(const world *w, const stand_result *r) {
    abut_pose poses[FIT_BODIES];
    for (uint32_t i = 0; i < w->count; i++)
        poses[i] = pose_of(&w->things[i]);
    return fit_observe(w->options->scene, poses, r->energy);
}

/* Measures every tenth of a second, and at the end. */
static abut_status measure_scene(world *w, stand_result *r) {
    uint64_t event_count;
    const double energy = whole_energy(w);
    r->energy_growth = fmax(r->energy_growth, (energy - w->energy) / w->energy_first);
    w->energy = energy;
    if (w->options->scene)
        return observe(w, r);
    return uses_geoms(w) ? collide(w, false, &event_count) : ABUT_OK;
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
    return kind >= STAND_BOWL ? WAVE_SECONDS * ceil(usual_bodies(kind, bodies) / (double)WAVE) + 5
                              : 10;
}

abut_status stand_run(abut_context *context, const stand_options *options, stand_result *result) {
    uint32_t bodies =
        options->scene ? options->scene->body_count : usual_bodies(options->kind, options->bodies);
    world w = {.context = context,
               .options = options,
               .room = 5 * bodies + MIXED + 1}; /* a row of the wall has up to five bricks */
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
    status = abut_world_create(context, &space, &w.space);
    if (status)
        goto done;
    status = build(&w, bodies);
    if (status)
        goto done;
    status = run(&w, result);
done:
    abut_world_destroy(w.space);
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
    free(w.events);
    free(w.impacts);
    dJointGroupDestroy(w.joints);
    dWorldDestroy(w.ode);
    dCloseODE();
    return status;
}
