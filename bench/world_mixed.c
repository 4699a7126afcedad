/* Cases: one step of worlds with a method that the world or the caller selects.
 *
 * mixed: a walking figure, a waving sheet and a growing ball deform, and touch each other,
 * teapots and rings around them, a box and the ground. The others are pairs of a teapot and a
 * ring that overlap, computed by one method: the time per pair. And a figure against a ring, a
 * box, a sheet and another figure, one pair each. */
#include "bench.h"
#include "reproduce/friston/conditions.h"

#include <math.h>
#include <stdlib.h>

enum { MIXED, EXACT, FIELD, MAP, LAYERS, FIGURE };
enum { MESHES = 4, FIGURES = 2, MOST_ITEMS = 256 };

typedef struct mixed_data {
    abut_mesh *meshes[MESHES]; /* teapot, ring, sheet, ball */
    abut_character *character;
    abut_radial *radial[FIGURES];
    abut_character_matrix *bones;
    abut_vec3 *positions[3]; /* of the figure, the sheet and the ball */
    abut_world *world;
    uint32_t ids[3]; /* of deforming items; ABUT_NONE = it does not deform */
    abut_contact *list;
    size_t room;
    uint64_t pairs;
    abut_pose poses[MOST_ITEMS];
    uint32_t count, round;
} mixed_data;

static size_t last_pairs, last_contacts;

static abut_status add(mixed_data *data, abut_world_item *item, uint32_t *id) {
    uint32_t any;
    if (data->count == MOST_ITEMS)
        return bench_fail(ABUT_ERROR_ARGUMENT, "too many items");
    data->poses[data->count++] = item->collider.pose;
    return abut_world_add(data->world, item, id ? id : &any);
}

static abut_world_item of_mesh(abut_mesh *mesh, abut_world_method method, abut_vec3 at) {
    abut_world_item item = abut_world_item_default();
    item.collider.kind = ABUT_COLLIDER_MESH;
    item.method = method;
    item.collider.pose.translation = at;
    item.collider.shape.mesh.mesh = mesh;
    return item;
}

static abut_status make_meshes(bench_state *state, mixed_data *data) {
    const abut_shape_kind kinds[MESHES] = {ABUT_SHAPE_TEAPOT_SOLID, ABUT_SHAPE_TORUS,
                                           ABUT_SHAPE_SHEET, ABUT_SHAPE_ICOSPHERE};
    for (int i = 0; i < MESHES; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        static const uint32_t segments[2][MESHES] = {{6, 64, 32, 8}, {2, 16, 8, 4}};
        shape.segments = segments[state->quick][i];
        if (kinds[i] == ABUT_SHAPE_TORUS || kinds[i] == ABUT_SHAPE_SHEET)
            shape.rings = state->quick ? 8 : 32;
        MAKE(data->meshes[i], abut_shape_create(state->context, &shape, &data->meshes[i]));
    }
    return ABUT_OK;
}

/* A figure at an instant of its walk, shifted along z. */
static abut_status make_figure(bench_state *state, mixed_data *data, int which) {
    if (!data->character)
        MAKE(data->character,
             state->quick ? rival_ball(0.8, 6, &data->character)
                          : abut_character_create_figure(state->context, NULL, &data->character));
    abut_radial_options cells = abut_radial_options_default();
    cells.cell = state->quick ? 0.06 : 0;
    MAKE(data->radial[which], abut_radial_create(data->character, &cells, &data->radial[which]));
    const abut_character_info info = get_character_info(data->character);
    if (!data->bones)
        data->bones = bench_array(state, info.bone_count, sizeof *data->bones);
    if (!data->positions[0])
        data->positions[0] = bench_array(state, info.vertex_count, sizeof *data->positions[0]);
    abut_character_pose_options pose = abut_character_pose_options_default();
    pose.time = 0.25;
    TRY(abut_character_pose(data->character, &pose, data->bones));
    for (uint32_t i = 0; i < info.bone_count; i++)
        data->bones[i].m[2][3] += which ? 0.25 : 0;
    TRY(abut_character_skin(data->character, data->bones, ABUT_CHARACTER_SKINNING_LINEAR,
                            data->positions[0]));
    return abut_radial_set_positions(data->radial[which], data->bones,
                                     abut_array_host(data->positions[0]));
}

static abut_status add_figure(mixed_data *data, int which, uint32_t *id) {
    abut_world_item item = abut_world_item_default();
    item.collider.kind = ABUT_COLLIDER_CHARACTER;
    item.collider.shape.character = data->radial[which];
    return add(data, &item, id);
}

/* Other positions of a mesh, about its origin. */
static void make_positions(bench_state *state, const abut_mesh *mesh, bool sheet,
                           abut_vec3 **positions) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    const abut_vec3 o = abut_mesh_local_origin(mesh), *from = abut_mesh_local_positions(mesh);
    abut_vec3 *to = *positions = bench_array(state, count, sizeof *to);
    for (uint32_t i = 0; i < count; i++) {
        const abut_vec3 p = {from[i].x + o.x, from[i].y + o.y, from[i].z + o.z};
        to[i] = sheet ? (abut_vec3){p.x, p.y, 0.2 * p.x * p.y + 0.1 * p.x * p.x}
                      : (abut_vec3){1.1 * p.x, 0.9 * p.y, 1.2 * p.z};
    }
}

static abut_status fill_mixed(bench_state *state, mixed_data *data) {
    uint64_t random = 21;
    TRY(make_figure(state, data, 0));
    TRY(add_figure(data, 0, &data->ids[0]));
    for (int i = 0; i < 2; i++) {
        abut_world_item item =
            of_mesh(data->meshes[2 + i], ABUT_WORLD_AUTO, (abut_vec3){0.2 * i, 0.9, 0.1 + 0.3 * i});
        item.collider.shape.mesh.deforms = true;
        item.collider.shape.mesh.resolution = 64;
        make_positions(state, data->meshes[2 + i], i == 0, &data->positions[1 + i]);
        TRY(add(data, &item, &data->ids[1 + i]));
    }
    for (uint32_t i = 0; i < (state->quick ? 2u : 24u); i++) {
        double at[3];
        for (int k = 0; k < 3; k++)
            at[k] = bench_random_real(&random, -2, 2);
        abut_world_item item =
            of_mesh(data->meshes[i % 2], ABUT_WORLD_AUTO, (abut_vec3){at[0], at[1], at[2]});
        item.collider.pose.rotation = bench_turn(i);
        TRY(add(data, &item, NULL));
    }
    abut_world_item solid = abut_world_item_default();
    solid.collider.kind = ABUT_COLLIDER_BOX;
    solid.collider.pose.translation = (abut_vec3){0.1, 0.5, 0.1};
    solid.collider.shape.half = (abut_vec3){0.3, 0.3, 0.1};
    TRY(add(data, &solid, NULL));
    solid = abut_world_item_default();
    solid.collider.kind = ABUT_COLLIDER_PLANE;
    solid.motion = ABUT_WORLD_STATIC;
    solid.collider.shape.plane.normal.y = 1;
    return add(data, &solid, NULL);
}

static abut_status fill_figure(bench_state *state, mixed_data *data) {
    TRY(make_figure(state, data, 1));
    TRY(make_figure(state, data, 0));
    for (int i = 0; i < 3; i++) {
        abut_world_item item =
            of_mesh(data->meshes[i == 0 ? 1 : 2], ABUT_WORLD_AUTO, (abut_vec3){0, 1, 0});
        item.group = 2; /* tested against the figures only */
        item.mask = 1;
        if (i == 2) {
            item.collider.kind = ABUT_COLLIDER_BOX;
            item.collider.shape.half = (abut_vec3){0.3, 0.3, 0.1};
        }
        TRY(add(data, &item, NULL));
    }
    TRY(add_figure(data, 0, NULL));
    return add_figure(data, 1, NULL);
}

static abut_status fill_pairs(bench_state *state, mixed_data *data, abut_world_method method) {
    for (uint32_t i = 0; i < (state->quick ? 2u : 64u); i++)
        for (int k = 0; k < 2; k++) {
            abut_world_item item =
                of_mesh(data->meshes[k], method,
                        (abut_vec3){8.0 * (i % 8) + 1.1 * k, 8.0 * (i / 8), 0.6 * k});
            item.collider.pose.rotation = bench_turn(2 * i + (uint32_t)k);
            TRY(add(data, &item, NULL));
        }
    return ABUT_OK;
}

static abut_status mixed_run(bench_state *state) {
    mixed_data *data = state->data;
    abut_contacts found = {.size = sizeof found, .list = data->list, .capacity = data->room};
    for (int i = 0; i < 3; i++)
        if (data->ids[i] != ABUT_NONE)
            TRY(abut_world_set_positions(data->world, data->ids[i], i ? NULL : data->bones,
                                         abut_array_host(data->positions[i])));
    if (data->ids[0] == ABUT_NONE) { /* contacts of pairs at rest are kept */
        const double shift = data->round++ % 2 ? -0x1p-20 : 0x1p-20;
        for (uint32_t i = 0; i < data->count && state->which->variant != FIGURE; i++)
            data->poses[i].translation.x += shift;
        TRY(abut_world_set_poses(data->world, NULL, abut_array_host(data->poses), data->count));
    }
    return abut_world_contacts(data->world, &found);
}

static abut_status mixed_setup(bench_state *state) {
    mixed_data *data = state->data;
    const int variant = state->which->variant;
    static const abut_world_method methods[] = {ABUT_WORLD_AUTO, ABUT_WORLD_EXACT, ABUT_WORLD_FIELD,
                                                ABUT_WORLD_MAP, ABUT_WORLD_LAYERS};
    abut_world_options options = abut_world_options_default();
    options.margin = 0.005;
    options.max_patch_contacts = 4;
    for (int i = 0; i < 3; i++)
        data->ids[i] = ABUT_NONE;
    TRY(make_meshes(state, data));
    MAKE(data->world, abut_world_create(state->context, &options, &data->world));
    TRY(variant == MIXED    ? fill_mixed(state, data)
        : variant == FIGURE ? fill_figure(state, data)
                            : fill_pairs(state, data, methods[variant]));
    /* Twice, so that exact contacts have a hint of the step before. */
    abut_status status = ABUT_OK;
    for (int i = 0; i < 2 && (!status || status == ABUT_ERROR_BUFFER); i++)
        status = mixed_run(state);
    if (!status)
        return bench_fail(ABUT_ERROR_ARGUMENT, "nothing touches");
    if (status != ABUT_ERROR_BUFFER)
        return status;
    abut_contacts none = {.size = sizeof none, .capacity = 0};
    status = abut_world_contacts(data->world, &none);
    data->room = 2 * (size_t)none.count;
    data->list = bench_array(state, data->room, sizeof *data->list);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    abut_world_pair_list pairs = {NULL, 0, 0};
    status = abut_world_pairs(data->world, &pairs);
    data->pairs = pairs.count;
    state->elements = (double)data->pairs;
    return status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
}

static abut_status mixed_finish(bench_state *state) {
    mixed_data *data = state->data;
    abut_contacts found = {.size = sizeof found, .list = data->list, .capacity = data->room};
    TRY(data->round % 2 ? mixed_run(state) : ABUT_OK); /* back to the start */
    TRY(abut_world_contacts(data->world, &found));
    state->hash = bench_hash(0, &data->pairs, sizeof data->pairs);
    TRY(bench_hash_contacts(data->world, &found, &state->hash));
    last_pairs = (size_t)data->pairs;
    last_contacts = (size_t)found.count;
    return ABUT_OK;
}

static void mixed_print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("    %zu pairs, %zu contacts\n", last_pairs, last_contacts);
}

#define MIXED_CASE(name_, variant_)                                                            \
    {                                                                                          \
        .name = name_, .unit = "pair", .data_bytes = sizeof(mixed_data), .setup = mixed_setup, \
        .run = mixed_run, .finish = mixed_finish, .variant = variant_, .threaded = true,       \
        .print_details = mixed_print_details                                                   \
    }

const bench_case bench_world_mixed_cases[] = {
    MIXED_CASE("world/mixed", MIXED),
    MIXED_CASE("world/mixed-exact", EXACT),
    MIXED_CASE("world/mixed-field", FIELD),
    MIXED_CASE("world/mixed-map", MAP),
    MIXED_CASE("world/mixed-layers", LAYERS),
    MIXED_CASE("world/mixed-figure", FIGURE),
    {.name = NULL},
};
