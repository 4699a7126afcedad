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

enum { PATCHES = 64, CONTACTS = 256 };

/* A body, or the floor, which has none. */
typedef struct thing {
    dBodyID body;
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_pose fixed;
    double radius;
    double height; /* where its middle belongs at the end */
    abut_vec3 start;
} thing;

/* What is remembered of two bodies that touched. */
typedef struct memory {
    bool touched;
    abut_vec3 normal;
} memory;

typedef struct world {
    abut_context *context;
    const stand_options *options;
    dWorldID ode;
    dJointGroupID joints;
    thing *things; /* the floor first */
    uint32_t count, room;
    memory *memories; /* room x room */
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
    t->radius = 0.5 * sqrt(size.x * size.x + size.y * size.y + size.z * size.z);
    w->count++;
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

static abut_vec3 motion_of(const thing *a, const thing *b) {
    const dReal *v = dBodyGetLinearVel(a->body), none[3] = {0, 0, 0};
    const dReal *u = b->body ? dBodyGetLinearVel(b->body) : none;
    return (abut_vec3){v[0] - u[0], v[1] - u[1], v[2] - u[2]};
}

static abut_status collide(world *w, uint32_t i, uint32_t k) {
    thing *a = &w->things[i], *b = &w->things[k];
    memory *last = &w->memories[(size_t)i * w->room + k];
    abut_posed posed[2] = {{a->bvh, pose_of(a)}, {b->bvh, pose_of(b)}};
    abut_vec3 p = posed[0].pose.translation, q = posed[1].pose.translation, v = motion_of(a, b);
    double apart =
        sqrt((p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y) + (p.z - q.z) * (p.z - q.z));
    double moves = STEP * sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
    if (apart > a->radius + b->radius + MARGIN + moves)
        return ABUT_OK;
    abut_patch list[PATCHES];
    abut_contact contacts[CONTACTS];
    abut_patches found = {.list = list,
                          .capacity = PATCHES,
                          .contacts = contacts,
                          .contact_capacity = CONTACTS};
    abut_patch_options options = abut_patch_options_default();
    options.margin = MARGIN;
    options.hint = last->touched ? last->normal : (abut_vec3){-v.x, -v.y, -v.z};
    abut_status status = abut_contact_patches(&posed[0], &posed[1], &options, &found);
    if (status)
        return status;
    last->touched = found.count > 0;
    if (found.count)
        last->normal = list[0].normal;
    for (uint64_t c = 0; c < found.contact_count; c++) {
        give(w, a, b, contacts[c].point, contacts[c].normal, contacts[c].depth);
        w->deepest = fmax(w->deepest, contacts[c].depth);
    }
    if (found.count || moves < MARGIN)
        return ABUT_OK;
    /* Fast and still apart: what would they meet within the step? */
    abut_path path_a = {posed[0].pose, pose_after(a, &posed[0].pose)};
    abut_path path_b = {posed[1].pose, pose_after(b, &posed[1].pose)};
    abut_sweep_touch touch;
    status = abut_sweep_rigid(a->bvh, &path_a, b->bvh, &path_b, NULL, &touch);
    if (!status && touch.hit) {
        double speed = closing(a, b, touch.point, touch.normal);
        if (speed > 0)
            give(w, a, b, touch.point, touch.normal, -touch.time * speed * STEP);
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
    w->deepest = 0;
    for (uint32_t i = 1; i < w->count; i++)
        for (uint32_t k = 0; k < i; k++) {
            abut_status status = collide(w, i, k);
            if (status)
                return status;
        }
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
    w.memories = calloc((size_t)w.room * w.room, sizeof *w.memories);
    abut_status status = w.things && w.memories ? build(&w, bodies) : ABUT_ERROR_MEMORY;
    status = status ? status : run(&w, result);
    for (uint32_t i = 0; i < w.count; i++) {
        abut_bvh_destroy(w.things[i].bvh);
        abut_mesh_destroy(w.things[i].mesh);
    }
    free(w.things);
    free(w.memories);
    dJointGroupDestroy(w.joints);
    dWorldDestroy(w.ode);
    dCloseODE();
    return status;
}
