/* The scenes of stand.h: models with fields if these give the contacts, bodies, and geometries of
 * ODE's own colliders. */
#include "bowl.h"
#include "critter.h"
#include "stand_world.h"

#include <math.h>

#define SIZE 1.5 /* of bodies in the bowl and on the plane */
#define WAVE_HEIGHT 4.0
#define PLANE_HEIGHT 1.6 /* of bodies released above the plane */
#define SLAB 40.0        /* side of the slab below it */

enum { MODEL_CELLS = 40, FLOOR_CELLS = 144 };

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
static abut_status add_solid(world *w, abut_vec3 size, abut_vec3 at, double density,
                             double height) {
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
        abut_status status = add_solid(w, (abut_vec3){half ? 0.998 : 1.998, 1, 1},
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
    abut_status status = add_solid(w, (abut_vec3){thick, 1, tall}, at, 1, 0);
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
    if (w->options->kind == STAND_PLANE && !t->body) {
        t->geom = dCreatePlane(w->geoms, 0, 0, 1, 0);
        dGeomSetData(t->geom, t);
        return ABUT_OK;
    }
    abut_status status = model_add_trimesh(m);
    if (status)
        return status;
    t->geom = dCreateTriMesh(w->geoms, m->data, NULL, NULL, NULL);
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
    static const abut_shape_kind kinds[STAND_MIXED_MODELS - 1] = {ABUT_SHAPE_BOX, ABUT_SHAPE_BOX,
                                                                  ABUT_SHAPE_TORUS,
                                                                  ABUT_SHAPE_LETTER_E,
                                                                  ABUT_SHAPE_LETTER_G};
    for (int i = 0; i < STAND_MIXED_MODELS - 1; i++) {
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
    uint32_t in = (i + (plane ? STAND_WAVE / 2 : 0)) % STAND_WAVE, wave = i / STAND_WAVE;
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
    t->release = STAND_WAVE_SECONDS * wave;
    if (uses_fields(w))
        return model_add_field(t->model, MODEL_CELLS, w->options->device);
    if (!w->options->own)
        return ABUT_OK;
    abut_status status = add_geom(w, t);
    if (!status)
        dGeomDisable(t->geom);
    return status;
}

/* The floor: a bowl, or a slab below the plane z = 0. */
static abut_status add_floor(world *w) {
    const bool plane = w->options->kind == STAND_PLANE;
    abut_shape slab = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *raw;
    slab.extent = (abut_vec3){SLAB, SLAB, 1};
    slab.segments = 1;
    abut_status status =
        plane ? abut_shape_create(w->context, &slab, &raw) : bowl_create(w->context, &raw);
    if (!status)
        status = add_model(w, raw, 0, true);
    if (status)
        return status;
    thing *floor = add_body(w, &w->models[0], (abut_vec3){0, 0, plane ? -0.5 : 0}, 0);
    return uses_fields(w)    ? model_add_field(floor->model, FLOOR_CELLS, w->options->device)
           : w->options->own ? add_geom(w, floor)
                             : ABUT_OK;
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
        if (t->body) {
            dBodySetQuaternion(t->body, (dQuaternion){b->start.rotation.w, b->start.rotation.x,
                                                      b->start.rotation.y, b->start.rotation.z});
            dBodySetLinearVel(t->body, b->velocity.x, b->velocity.y, b->velocity.z);
            dBodySetAngularVel(t->body, b->spin.x, b->spin.y, b->spin.z);
        }
        if (w->options->own)
            status = add_geom(w, t);
        if (status)
            return status;
    }
    return ABUT_OK;
}

abut_status stand_build(world *w, uint32_t bodies) {
    uint32_t seed = w->options->seed + 1;
    const abut_vec3 cube = {1, 1, 1}, plate = {1, 1, STAND_PLATE}, ball = {0.1, -1, 0.1};
    if (w->options->scene)
        return build_scene(w, w->options->scene);
    if (is_pile(w))
        return build_pile(w, bodies);
    abut_status status = w->options->kind == STAND_SHOT
                             ? add_solid(w, (abut_vec3){1, 1, 0.002}, (abut_vec3){0, 0, 0}, 0, 0)
                             : add_solid(w, (abut_vec3){40, 40, 1}, (abut_vec3){0, 0, -0.5}, 0, 0);
    for (uint32_t i = 0; i < bodies && !status; i++) {
        abut_vec3 at = {0.005 * random_real(&seed), 0.005 * random_real(&seed), 0};
        switch (w->options->kind) {
        case STAND_STACK:
            at.z = 0.5 + 1.001 * i;
            status = add_solid(w, cube, at, 1, 0.5 + i);
            break;
        case STAND_WALL:
            status = add_row(w, i);
            break;
        case STAND_PLATES:
            at.x *= 10;
            at.y *= 10;
            at.z = 0.1 + 0.1 * i;
            status = add_solid(w, plate, at, 100, STAND_PLATE * (0.5 + i));
            break;
        case STAND_DOMINOES:
            status = add_domino(w, i, bodies);
            break;
        default: /* STAND_SHOT */
            at = (abut_vec3){0.1, 0.2, 0.151};
            status = add_solid(w, ball, at, 1000, 0.051);
            if (!status)
                dBodySetLinearVel(w->things[w->count - 1].body, 0, 0, -100);
        }
    }
    return status;
}
