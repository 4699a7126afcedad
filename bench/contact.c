/* Cases: contacts of two fields of 64^3 with 500 samples each, one of them at random poses of
 * which about half overlap; the same against spheres. Exact patches of stacked cubes, with an
 * offset and rotated, of balls that overlap by a twentieth, and of the solid teapot at these
 * poses; and the time of impact of that teapot with itself along a path past it. Cubes of 768
 * triangles that slide along each other at a gap of 1e-6, every other one spinning. Primitives with
 * each other: stacked boxes, all kinds with a box, hulls of a ball; and the solid teapot with
 * balls, floors and boxes. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

enum { BODIES, CUBES, BALLS, TEAPOTS, RIGID, SLIDING };
/* Pairs of primitives; and a mesh with them. */
enum { SOLIDS = 16, WITH_MESH = 32 };

#define ROOM 4096

typedef struct contact_data {
    abut_mesh *mesh;
    abut_bvh *bvh; /* for patches */
    abut_field *field;
    abut_samples *samples;
    abut_pose *poses;
    abut_contact *list;
    uint32_t count;
} contact_data;

static void make_poses(contact_data *data) {
    uint64_t random = 5;
    abut_box box = abut_mesh_bounds(data->mesh);
    double size[3] = {box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z};
    for (uint32_t i = 0; i < data->count; i++) {
        double t[3];
        for (int k = 0; k < 3; k++)
            t[k] = bench_random_real(&random, -0.75, 0.75) * size[k];
        data->poses[i].rotation = bench_turn(i);
        data->poses[i].translation = (abut_vec3){t[0], t[1], t[2]};
    }
}

static abut_status contact_setup(bench_state *state) {
    contact_data *data = state->data;
    TRY(bench_body(state, &data->mesh, &data->field, &data->samples));
    data->count = state->quick ? 50 : 2000;
    state->elements = data->count;
    data->poses = bench_array(state, data->count, sizeof *data->poses);
    data->list = bench_array(state, ROOM, sizeof *data->list);
    make_poses(data);
    return ABUT_OK;
}

/* ---- exact patches ---- */

static abut_status patch_setup(bench_state *state) {
    static const abut_shape_kind kinds[] = {[CUBES] = ABUT_SHAPE_BOX,
                                            [BALLS] = ABUT_SHAPE_ICOSPHERE,
                                            [TEAPOTS] = ABUT_SHAPE_TEAPOT_SOLID,
                                            [RIGID] = ABUT_SHAPE_TEAPOT_SOLID};
    contact_data *data = state->data;
    int variant = state->which->variant;
    variant = variant >= WITH_MESH ? TEAPOTS : variant >= SOLIDS ? CUBES : variant;
    abut_shape shape = abut_shape_default(kinds[variant]);
    if (variant == CUBES) {
        shape.extent = (abut_vec3){1, 1, 1};
        shape.segments = 1;
    }
    if (variant == BALLS)
        shape.segments = 8; /* 1,280 triangles */
    data->count = state->quick ? (state->which->variant == RIGID ? 10 : 50) : 1000;
    state->elements = data->count;
    data->poses = bench_array(state, data->count, sizeof *data->poses);
    data->list = bench_array(state, ROOM, sizeof *data->list);
    MAKE(data->mesh, abut_shape_create(state->context, &shape, &data->mesh));
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    make_poses(data);
    uint64_t random = 6;
    for (uint32_t i = 0; i < data->count && (variant == CUBES || variant == BALLS); i++) {
        abut_pose *p = &data->poses[i];
        double x = bench_random_real(&random, -0.4, 0.4), y = bench_random_real(&random, -0.4, 0.4);
        double angle = i % 2 ? bench_random_real(&random, -0.5, 0.5) : 0;
        if (variant == CUBES) {
            *p = (abut_pose){{0, 0, angle, 1}, {x, y, 0.999}};
        } else { /* the same distance in any direction */
            double z = sqrt(1 - x * x - y * y), far = 1.9 * shape.radius;
            p->translation = (abut_vec3){far * x, far * y, far * z};
        }
    }
    return ABUT_OK;
}

/* Depths in world coordinates are rounded equally on most machines as floats only. */
static void hash_contact(bench_state *state, const abut_contact *c) {
    float depth = (float)c->depth;
    state->hash = bench_hash(state->hash, &c->id, sizeof c->id);
    state->hash = bench_hash(state->hash, &depth, sizeof depth);
}

static abut_status find_patches(bench_state *state, const abut_collider *a,
                                const abut_collider *b) {
    contact_data *data = state->data;
    abut_patch list[256];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = 256,
                          .contacts.list = data->list,
                          .contacts.capacity = ROOM};
    TRY(abut_contact_find(a, b, NULL, &found));
    for (uint64_t k = 0; k < found.contacts.count; k++)
        hash_contact(state, &data->list[k]);
    return ABUT_OK;
}

static abut_status patch_run(bench_state *state) {
    contact_data *data = state->data;
    for (uint32_t i = 0; i < data->count; i++) {
        abut_collider a = abut_collider_from_bvh(data->bvh, data->poses[i]),
                      b = abut_collider_from_bvh(data->bvh, abut_pose_identity());
        TRY(find_patches(state, &a, &b));
    }
    return ABUT_OK;
}

/* ---- primitives ---- */

/* The kind that a case is about; a hull of the case's mesh. */
static abut_collider solid_of(const contact_data *data, abut_collider_kind kind, abut_pose pose) {
    abut_collider s = {.kind = kind, .pose = pose};
    const abut_capsule capsule = {{{0, 0, -0.1}, {0, 0, 0.1}}, 0.4};
    const abut_cylinder cylinder = {{{0, 0, -0.5}, {0, 0, 0.5}}, 0.4};
    if (kind == ABUT_COLLIDER_PLANE)
        s.shape.plane = (abut_plane){{0, 0, 1}, 0};
    else if (kind == ABUT_COLLIDER_SPHERE)
        s.shape.sphere = (abut_sphere){{0, 0, 0}, 0.5};
    else if (kind == ABUT_COLLIDER_BOX)
        s.shape.half = (abut_vec3){0.5, 0.5, 0.5};
    else if (kind == ABUT_COLLIDER_HULL)
        s.shape.hull = data->bvh;
    else if (kind == ABUT_COLLIDER_CAPSULE)
        s.shape.capsule = capsule;
    else
        s.shape.cylinder = cylinder;
    return s;
}

static abut_status solid_run(bench_state *state) {
    contact_data *data = state->data;
    int variant = state->which->variant;
    abut_collider_kind kind = (abut_collider_kind)(variant % SOLIDS);
    for (uint32_t i = 0; i < data->count; i++) {
        abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}}, at = data->poses[i];
        abut_collider posed = abut_collider_from_bvh(data->bvh, still);
        abut_collider a = solid_of(data, kind, at), b = solid_of(data, ABUT_COLLIDER_BOX, still);
        if (kind == ABUT_COLLIDER_HULL)
            b = solid_of(data, kind, still);
        TRY(variant >= WITH_MESH ? find_patches(state, &posed, &a) : find_patches(state, &a, &b));
    }
    return ABUT_OK;
}

/* From ten units away on one side to ten on the other, rotating by half a turn or less. */
static abut_status rigid_run(bench_state *state) {
    contact_data *data = state->data;
    const abut_collider rests = abut_collider_from_bvh(data->bvh, abut_pose_identity());
    for (uint32_t i = 0; i < data->count; i++) {
        abut_collider moves = abut_collider_from_bvh(data->bvh, data->poses[i]);
        abut_pose end = data->poses[(i + 1) % data->count];
        abut_sweep_rigid_result touch;
        moves.pose.translation.x += 10;
        end.translation.x -= 10;
        TRY(abut_sweep_rigid(&moves, &end, &rests, NULL, NULL, &touch));
        float time = (float)touch.time;
        state->hash = bench_hash(state->hash, &time, sizeof time);
    }
    return ABUT_OK;
}

static abut_status sliding_setup(bench_state *state) {
    contact_data *data = state->data;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = (abut_vec3){1, 1, 1};
    shape.segments = state->quick ? 2 : 8;
    data->count = state->quick ? 10 : 200;
    state->elements = data->count;
    MAKE(data->mesh, abut_shape_create(state->context, &shape, &data->mesh));
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    return ABUT_OK;
}

static abut_status sliding_run(bench_state *state) {
    contact_data *data = state->data;
    const abut_collider rests = abut_collider_from_bvh(data->bvh, abut_pose_identity());
    uint64_t random = 9;
    for (uint32_t i = 0; i < data->count; i++) {
        abut_pose from = {{0, 0, 0, 1}, {0, 0, 1 + 1e-6}}, to = from;
        from.translation.x = bench_random_real(&random, -0.4, 0.4);
        from.translation.y = bench_random_real(&random, -0.4, 0.4);
        to.translation.x = bench_random_real(&random, -0.4, 0.4);
        to.translation.y = bench_random_real(&random, -0.4, 0.4);
        to.rotation.z = i % 2 ? bench_random_real(&random, -0.5, 0.5) : 0;
        const abut_collider moves = abut_collider_from_bvh(data->bvh, from);
        abut_sweep_rigid_result touch;
        TRY(abut_sweep_rigid(&moves, &to, &rests, NULL, NULL, &touch));
        state->hash = bench_hash(state->hash, &touch.hit, sizeof touch.hit);
    }
    return ABUT_OK;
}

/* ---- fields ---- */

static abut_status touch(bench_state *state, uint32_t i) {
    contact_data *data = state->data;
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    const abut_collider a = abut_collider_from_field(data->field, data->samples, still),
                        b = abut_collider_from_field(data->field, data->samples, data->poses[i]);
    abut_contacts found = {.size = sizeof found, .list = data->list, .capacity = ROOM};
    TRY(abut_contact_find_sampled(&a, &b, NULL, &found));
    for (size_t k = 0; k < found.count; k++)
        hash_contact(state, &data->list[k]);
    return ABUT_OK;
}

static abut_status contact_run(bench_state *state) {
    contact_data *data = state->data;
    for (uint32_t i = 0; i < data->count; i++)
        TRY(touch(state, i));
    return ABUT_OK;
}

#define CONTACT(name_, setup_, run_, variant_)                                              \
    {                                                                                       \
        .name = name_, .unit = "pair", .data_bytes = sizeof(contact_data), .setup = setup_, \
        .run = run_, .variant = variant_                                                    \
    }
#define PATCH(name_, variant_) CONTACT(name_, patch_setup, patch_run, variant_)
#define SOLID(name_, variant_) CONTACT(name_, patch_setup, solid_run, variant_)

const bench_case bench_contact_cases[] = {
    CONTACT("contact/bodies-teapot", contact_setup, contact_run, BODIES),
    PATCH("contact/patches-cubes", CUBES),
    PATCH("contact/patches-balls", BALLS),
    PATCH("contact/patches-teapot", TEAPOTS),
    SOLID("contact/solids-plane", SOLIDS + ABUT_COLLIDER_PLANE),
    SOLID("contact/solids-sphere", SOLIDS + ABUT_COLLIDER_SPHERE),
    SOLID("contact/solids-capsule", SOLIDS + ABUT_COLLIDER_CAPSULE),
    SOLID("contact/solids-box", SOLIDS + ABUT_COLLIDER_BOX),
    SOLID("contact/solids-cylinder", SOLIDS + ABUT_COLLIDER_CYLINDER),
    SOLID("contact/solids-hull", SOLIDS + ABUT_COLLIDER_HULL),
    SOLID("contact/solids-teapot-plane", WITH_MESH + ABUT_COLLIDER_PLANE),
    SOLID("contact/solids-teapot-sphere", WITH_MESH + ABUT_COLLIDER_SPHERE),
    SOLID("contact/solids-teapot-box", WITH_MESH + ABUT_COLLIDER_BOX),
    CONTACT("sweep/rigid-teapot", patch_setup, rigid_run, RIGID),
    CONTACT("sweep/rigid-sliding", sliding_setup, sliding_run, SLIDING),
    {.name = NULL},
};
