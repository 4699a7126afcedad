/* The scene of drop.h.
 *
 * Every model is moved so that its centroid is at the origin, and has one field and one set of
 * samples, which a hundred geoms share. The bowl is a fixed surface of revolution: it has a
 * field and needs no samples, since those of the falling bodies are tested against it. */
#include "drop.h"

#include "abut_ode.h"
#include "bowl.h"
#include "critter.h"
#include "trimesh.h"

#include <math.h>
#include <stdlib.h>

enum {
    MODELS = 3,
    MODEL_CELLS = 40,
    MODEL_SAMPLES = 300,
    BOWL_CELLS = 144,
    CONTACTS = 64, /* of a pair */
    STEPS_A_SECOND = 180,
    FRAMES_A_SECOND = 30,
    WAVE = 9 /* bodies that are released side by side */
};
#define SIZE 1.5 /* of a body */
#define WAVE_HEIGHT 4.0
#define WAVE_SECONDS 0.5
#define PLANE_HEIGHT 2.4

typedef struct model {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    abut_samples *samples;
    dMass mass;
    abut_colour colour;
    trimesh own; /* for ODE's own colliders */
} model;

struct drop_scene {
    abut_context *context;
    model models[MODELS], bowl;
};

typedef struct body {
    dBodyID body;
    dGeomID geom;
    const model *model;
} body;

/* Two geoms whose boxes overlap, and their contacts. */
typedef struct near_pair {
    dGeomID geom[2];
    int count;
    dContactGeom contacts[CONTACTS];
} near_pair;

/* One run. */
typedef struct run {
    drop_scene *scene;
    dWorldID world;
    dSpaceID space;
    dJointGroupID joints;
    dGeomID bowl; /* or the plane */
    body *bodies;
    abut_pose *poses;
    uint32_t count, falling; /* bodies, and how many of them have been released */
    bool trimesh, plane, out_of_memory;
    near_pair *pairs;
    size_t pair_count, pair_room;
    uint64_t contacts;
    double collide;
} run;

/* ---- models ---- */

static abut_status make_field(model *m, uint32_t cells, uint32_t samples) {
    abut_field_options field = abut_field_options_default();
    abut_samples_options even = abut_samples_options_default();
    field.cells = cells;
    even.kinds = ABUT_SAMPLES_SURFACE;
    even.count = samples;
    abut_status status = abut_bvh_create(m->mesh, NULL, &m->bvh);
    if (!status)
        status = abut_field_create_from(m->bvh, &field, &m->field);
    return status || !samples ? status : abut_samples_create(m->mesh, &even, &m->samples);
}

static abut_status make_model(abut_context *context, int which, model *m) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_TEAPOT_SOLID, ABUT_SHAPE_TORUS};
    static const abut_colour colours[MODELS] = {{0.85f, 0.55f, 0.30f, 1},
                                                {0.30f, 0.55f, 0.80f, 1},
                                                {0.45f, 0.70f, 0.40f, 1}};
    abut_mesh *raw = NULL;
    abut_status status;
    m->colour = colours[which];
    if (which < 2) {
        abut_shape shape = abut_shape_default(kinds[which]);
        shape.segments = which ? 32 : 4;
        shape.rings = 16;
        status = abut_shape_create(context, &shape, &raw);
    } else {
        status = critter_create(context, 1, &raw);
    }
    status = status ? status : body_mesh_create(raw, SIZE, &m->mesh, &m->mass);
    abut_mesh_destroy(raw);
    return status ? status : make_field(m, MODEL_CELLS, MODEL_SAMPLES);
}

static void free_model(model *m) {
    trimesh_destroy(&m->own);
    abut_samples_destroy(m->samples);
    abut_field_destroy(m->field);
    abut_bvh_destroy(m->bvh);
    abut_mesh_destroy(m->mesh);
}

abut_status drop_create(abut_context *context, drop_scene **scene) {
    drop_scene *made = calloc(1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    dInitODE2(0);
    made->context = context;
    abut_status status = bowl_create(context, &made->bowl.mesh);
    status = status ? status : make_field(&made->bowl, BOWL_CELLS, 0);
    status = status ? status : trimesh_create(made->bowl.mesh, &made->bowl.own);
    for (int i = 0; i < MODELS && !status; i++) {
        status = make_model(context, i, &made->models[i]);
        status = status ? status : trimesh_create(made->models[i].mesh, &made->models[i].own);
    }
    if (status) {
        drop_destroy(made);
        return status;
    }
    *scene = made;
    return ABUT_OK;
}

void drop_destroy(drop_scene *scene) {
    if (!scene)
        return;
    for (int i = 0; i < MODELS; i++)
        free_model(&scene->models[i]);
    free_model(&scene->bowl);
    dCloseODE();
    free(scene);
}

abut_mesh *drop_mesh(const drop_scene *scene, uint32_t index, abut_colour *colour) {
    const model *m = &scene->models[index % MODELS];
    *colour = m->colour;
    return m->mesh;
}

abut_mesh *drop_bowl(const drop_scene *scene) {
    return scene->bowl.mesh;
}

abut_vec3 drop_top(void) {
    return (abut_vec3){0, 0, WAVE_HEIGHT + SIZE};
}

double drop_plane(void) {
    return PLANE_HEIGHT;
}

/* ---- the engine ---- */

/* ODE finds near pairs; their contacts are computed together, on all threads. */
static void near_callback(void *data, dGeomID a, dGeomID b) {
    run *r = data;
    dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    bool moves = (body_a && dBodyIsEnabled(body_a)) || (body_b && dBodyIsEnabled(body_b));
    if (!moves || r->out_of_memory)
        return;
    if (r->pair_count == r->pair_room) {
        size_t room = 2 * r->pair_room + 64;
        near_pair *more = realloc(r->pairs, room * sizeof *more);
        r->out_of_memory = !more;
        if (!more)
            return;
        r->pairs = more;
        r->pair_room = room;
    }
    r->pairs[r->pair_count].geom[0] = a;
    r->pairs[r->pair_count++].geom[1] = b;
}

static void find_pairs(void *data, size_t chunk, size_t begin, size_t end) {
    (void)chunk;
    for (near_pair *pair = (near_pair *)data + begin; pair < (near_pair *)data + end; pair++)
        pair->count = dCollide(pair->geom[0], pair->geom[1], CONTACTS, pair->contacts,
                               sizeof *pair->contacts);
}

static void find_contacts(run *r) {
    double start = clock_now();
    if (r->trimesh) /* ODE's own colliders share memory with each other */
        find_pairs(r->pairs, 0, 0, r->pair_count);
    else
        abut_context_parallel_for(NULL, r->pair_count, 4, find_pairs, r->pairs);
    r->collide += clock_now() - start;
}

static void add_joints(run *r) {
    for (size_t i = 0; i < r->pair_count; i++) {
        const near_pair *pair = &r->pairs[i];
        r->contacts += (uint64_t)pair->count;
        for (int k = 0; k < pair->count; k++) {
            dContact contact = {.geom = pair->contacts[k]};
            contact.surface.mode = dContactApprox1 | dContactSoftCFM | dContactSoftERP;
            contact.surface.mu = 0.5;
            contact.surface.soft_cfm = 1e-4;
            contact.surface.soft_erp = 0.3;
            dJointAttach(dJointCreateContact(r->world, r->joints, &contact),
                         dGeomGetBody(pair->geom[0]), dGeomGetBody(pair->geom[1]));
        }
    }
}

static void step_world(run *r) {
    r->pair_count = 0;
    dSpaceCollide(r->space, r, near_callback);
    find_contacts(r);
    add_joints(r);
    dWorldQuickStep(r->world, 1.0 / STEPS_A_SECOND);
    dJointGroupEmpty(r->joints);
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* From -1 to 1. */
static double random_real(void *state) {
    return 2 * ((double)(next_random(state) >> 11) * 0x1p-53) - 1;
}

/* The initial position of a body: over a plane the first one is in the centre. */
static void place_body(body *b, uint32_t index, bool plane, uint64_t *random) {
    uint32_t in = (index + (plane ? WAVE / 2 : 0)) % WAVE;
    double x = ((double)(in % 3) - 1) * 1.9, y = ((double)(in / 3) - 1) * 1.9;
    double turn = index / WAVE, c = cos(turn),
           s = sin(turn); /* each wave is rotated against the last */
    dBodySetPosition(b->body, c * x - s * y, s * x + c * y, WAVE_HEIGHT);
    body_turn(b->body, random_real, random);
    dBodyDisable(b->body);
    dGeomDisable(b->geom);
}

/* Releases the next wave when its time has come. */
static void release_wave(run *r, double time) {
    while (r->falling < r->count && time >= WAVE_SECONDS * (r->falling / WAVE))
        for (uint32_t i = 0; i < WAVE && r->falling < r->count; i++) {
            body *b = &r->bodies[r->falling++];
            dBodyEnable(b->body);
            dGeomEnable(b->geom);
        }
}

static bool fill_world(run *r, const drop_options *options) {
    uint64_t random = options->seed;
    r->world = dWorldCreate();
    r->space = dSweepAndPruneSpaceCreate(NULL, dSAP_AXES_XYZ);
    r->joints = dJointGroupCreate(0);
    dWorldSetGravity(r->world, 0, 0, -9.81);
    dWorldSetQuickStepNumIterations(r->world, 30);
    dWorldSetContactMaxCorrectingVel(r->world, 1);
    dWorldSetContactSurfaceLayer(r->world, 0.002);
    dWorldSetLinearDamping(r->world, 1e-3);
    dWorldSetAngularDamping(r->world, 5e-3);
    dWorldSetAutoDisableFlag(r->world, 1);
    dWorldSetAutoDisableLinearThreshold(r->world, 0.08);
    dWorldSetAutoDisableAngularThreshold(r->world, 0.12);
    dWorldSetAutoDisableAverageSamplesCount(r->world, 10);
    r->bowl = options->plane ? dCreatePlane(r->space, 0, 0, 1, PLANE_HEIGHT)
              : options->trimesh
                  ? dCreateTriMesh(r->space, r->scene->bowl.own.data, NULL, NULL, NULL)
                  : abut_ode_create(r->space, r->scene->bowl.bvh, r->scene->bowl.field, NULL);
    for (uint32_t i = 0; i < r->count; i++) {
        body *b = &r->bodies[i];
        b->model = &r->scene->models[i % MODELS];
        b->body = dBodyCreate(r->world);
        dBodySetMass(b->body, &b->model->mass);
        b->geom = options->trimesh ? dCreateTriMesh(r->space, b->model->own.data, NULL, NULL, NULL)
                                   : abut_ode_create(r->space, b->model->bvh, b->model->field,
                                                     b->model->samples);
        if (!b->geom)
            return false;
        dGeomSetBody(b->geom, b->body);
        place_body(b, i, options->plane, &random);
    }
    return r->bowl != NULL;
}

static void empty_world(run *r) {
    if (r->joints)
        dJointGroupDestroy(r->joints);
    if (r->space)
        dSpaceDestroy(r->space); /* and its geoms */
    if (r->world)
        dWorldDestroy(r->world); /* and its bodies */
    free(r->bodies);
    free(r->poses);
    free(r->pairs);
}

/* ---- measures ---- */

/* Of all bodies: those that are not released yet are at rest. */
static double energy_of(const run *r) {
    double sum = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        dBodyID b = r->bodies[i].body;
        const dMass *m = &r->bodies[i].model->mass;
        const dReal *v = dBodyGetLinearVel(b), *p = dBodyGetPosition(b);
        dVector3 w, iw;
        const dReal *spin = dBodyGetAngularVel(b);
        dBodyVectorFromWorld(b, spin[0], spin[1], spin[2], w);
        for (int k = 0; k < 3; k++)
            iw[k] = m->I[4 * k] * w[0] + m->I[4 * k + 1] * w[1] + m->I[4 * k + 2] * w[2];
        sum += 0.5 * m->mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        sum += 0.5 * (w[0] * iw[0] + w[1] * iw[1] + w[2] * iw[2]);
        /* relative to the bottom of the bowl, so that the total is no difference of large
         * numbers */
        sum += m->mass * 9.81 * (p[2] + BOWL_RADIUS);
    }
    return sum;
}

static void read_poses(run *r) {
    for (uint32_t i = 0; i < r->count; i++)
        r->poses[i] = body_pose(r->bodies[i].body);
}

static double depth_of(const abut_collider *a, const abut_collider *b) {
    abut_contact few[512];
    abut_contacts contacts = {.size = sizeof contacts, .list = few, .capacity = 512};
    double deepest = 0;
    abut_status status = abut_contact_find_sampled(a, b, NULL, &contacts);
    if (status == ABUT_ERROR_BUFFER) {
        contacts.capacity = contacts.count;
        contacts.list = malloc(contacts.count * sizeof *contacts.list);
        status =
            contacts.list ? abut_contact_find_sampled(a, b, NULL, &contacts) : ABUT_ERROR_MEMORY;
    }
    for (uint64_t i = 0; !status && i < contacts.count; i++)
        deepest = fmax(deepest, contacts.list[i].depth);
    if (contacts.list != few)
        free(contacts.list);
    return deepest;
}

/* The depth of the lowest vertex below the plane. */
static double depth_below(const model *m, abut_pose pose) {
    const abut_vec3 o = abut_mesh_local_origin(m->mesh), *from = abut_mesh_local_positions(m->mesh);
    const abut_quat q = pose.rotation;
    const abut_vec3 up = {2 * (q.x * q.z - q.w * q.y), 2 * (q.y * q.z + q.w * q.x),
                          1 - 2 * (q.x * q.x + q.y * q.y)}; /* of the body */
    double lowest = HUGE_VAL;
    for (uint32_t i = 0; i < abut_mesh_vertex_count(m->mesh); i++)
        lowest = fmin(lowest, up.x * (o.x + from[i].x) + up.y * (o.y + from[i].y) +
                                  up.z * (o.z + from[i].z));
    return PLANE_HEIGHT - pose.translation.z - lowest;
}

/* The largest penetration depth of bodies in each other and in the bowl, by fields, or in the
 * plane, for either kind of contacts. */
static double deepest_of(run *r) {
    double deepest = 0;
    abut_collider bowl = abut_collider_from_field(r->scene->bowl.field, NULL, abut_pose_identity());
    read_poses(r);
    for (uint32_t i = 0; i < r->falling; i++) {
        const model *m = r->bodies[i].model;
        abut_collider a = abut_collider_from_field(m->field, m->samples, r->poses[i]);
        deepest = fmax(deepest, r->plane ? depth_below(m, r->poses[i]) : depth_of(&a, &bowl));
        for (uint32_t j = i + 1; j < r->falling; j++) {
            abut_vec3 p = r->poses[i].translation, q = r->poses[j].translation;
            if (hypot(hypot(p.x - q.x, p.y - q.y), p.z - q.z) > 2 * SIZE)
                continue;
            abut_collider b = abut_collider_from_field(r->bodies[j].model->field,
                                                       r->bodies[j].model->samples, r->poses[j]);
            deepest = fmax(deepest, depth_of(&a, &b));
        }
    }
    return deepest;
}

/* The unit of depths. */
static double cell_of(const run *r) {
    abut_field_info info = abut_field_info_default();
    abut_field_get_info(r->plane ? r->scene->models[0].field : r->scene->bowl.field, &info);
    return info.grid.cell;
}

static void finish(run *r, drop_result *result) {
    result->deepest_last = deepest_of(r) / cell_of(r);
    result->deepest = fmax(result->deepest, result->deepest_last);
    result->energy_last = energy_of(r);
    for (uint32_t i = 0; i < r->count; i++) {
        const dReal *v = dBodyGetLinearVel(r->bodies[i].body);
        const dReal *p = dBodyGetPosition(r->bodies[i].body);
        double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        bool resting = !dBodyIsEnabled(r->bodies[i].body);
        result->speed_last = fmax(result->speed_last, resting ? 0 : speed);
        result->lost += p[2] < (r->plane ? PLANE_HEIGHT : -(BOWL_RADIUS + BOWL_WALL));
    }
}

double drop_seconds(uint32_t bodies) {
    return WAVE_SECONDS * ((bodies + WAVE - 1) / WAVE) + 3;
}

static abut_status simulate(run *r, const drop_options *options, drop_result *result) {
    double seconds = options->seconds > 0 ? options->seconds : drop_seconds(r->count), frames = 0;
    uint32_t steps = (uint32_t)(seconds * STEPS_A_SECOND);
    double energy = energy_of(r);
    result->energy_first = energy;
    for (uint32_t step = 0; step < steps; step++) {
        double start = clock_now();
        release_wave(r, (double)step / STEPS_A_SECOND);
        step_world(r);
        if (r->out_of_memory)
            return ABUT_ERROR_MEMORY;
        result->wall += clock_now() - start;
        if ((step + 1) % (STEPS_A_SECOND / 10) == 0) {
            double next = energy_of(r);
            result->energy_growth =
                fmax(result->energy_growth, (next - energy) / result->energy_first);
            energy = next;
        }
        if ((step + 1) % (STEPS_A_SECOND / 6) == 0)
            result->deepest = fmax(result->deepest, deepest_of(r) / cell_of(r));
        double time = (double)(step + 1) / STEPS_A_SECOND;
        if (options->frame && time * FRAMES_A_SECOND >= frames) {
            read_poses(r);
            frames += 1;
            if (!options->frame(options->user, time, r->poses, r->falling))
                return ABUT_ERROR_CANCELLED;
        }
    }
    result->steps = steps;
    result->seconds = (double)steps / STEPS_A_SECOND;
    return ABUT_OK;
}

abut_status drop_run(drop_scene *scene, const drop_options *options, drop_result *result) {
    run r = {.scene = scene,
             .trimesh = options->trimesh,
             .plane = options->plane,
             .count = options->bodies ? options->bodies : 100};
    drop_result ours = {.bodies = r.count};
    r.bodies = calloc(r.count, sizeof *r.bodies);
    r.poses = calloc(r.count, sizeof *r.poses);
    abut_status status =
        r.bodies && r.poses && fill_world(&r, options) ? ABUT_OK : ABUT_ERROR_MEMORY;
    status = status ? status : simulate(&r, options, &ours);
    if (!status) {
        finish(&r, &ours);
        ours.contacts = (double)r.contacts / ours.steps;
        ours.collide = r.collide;
        *result = ours;
    }
    empty_world(&r);
    return status;
}
