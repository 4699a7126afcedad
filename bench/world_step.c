/* Cases: steps of a world in time. Two figures walk in dresses among 96 rigid bodies that turn
 * about them: cloth, impacts and contacts of all. Quick runs have a sheet, a ball that deforms and
 * four bodies, without trigonometry, so that they are the same on every machine. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

enum { CPU, DEVICE };
enum { FIGURES = 2, PROPS = 96, MODELS = 3, FRAMES = 6, BLEND_FRAMES = 30 };

#define FIGURE_TRIANGLES 27000
#define DRESS_VERTICES 4000
#define FRAME_SECONDS (1.0 / 60)

typedef struct step_data {
    abut_device *device;
    abut_character *figure;
    abut_garment *dress;
    abut_character_matrix *bones;
    abut_character_skinner *skinner; /* on the device, if there is one, as in an engine */
    abut_buffer *skinned;
    abut_mesh *models[MODELS], *body, *sheet;
    abut_vec3 *positions;
    abut_world *world;
    uint32_t figures[FIGURES], props[PROPS], frame;
    abut_world_step_result last;
    uint64_t hash;
    double skin_ms, refit_ms;
} step_data;

/* Milliseconds per step of the last run, for the line after it. */
static struct {
    double skin, refit, cloth, impacts, contacts;
    uint64_t pairs, touches;
} parts;

static uint32_t figure_count(const bench_state *state) {
    return state->quick ? 1 : FIGURES;
}
static uint32_t prop_count(const bench_state *state) {
    return state->quick ? 4 : PROPS;
}

/* ---- motion ---- */

/* A figure in its rest pose, which then walks; or a ball that becomes flatter. Sets its positions
 * in memory of the host or of the device. */
static abut_status place_figure(const bench_state *state, step_data *data, uint32_t which,
                                uint32_t frame, abut_array to) {
    const uint32_t count = abut_mesh_vertex_count(data->body);
    if (state->quick) {
        for (uint32_t i = 0; i < count; i++) {
            const abut_vec3 o = abut_mesh_local_origin(data->body),
                            p = abut_mesh_local_positions(data->body)[i];
            data->positions[i] =
                (abut_vec3){o.x + p.x, o.y + p.y, (o.z + p.z) * (1 - 0.015625 * frame)};
        }
        return ABUT_OK;
    }
    abut_character_pose_options pose = abut_character_pose_options_default();
    pose.clip = ABUT_NONE;
    pose.other = 0;
    pose.other_time = pose.time = frame * FRAME_SECONDS + 0.3 * which;
    pose.blend = fmin((double)frame / BLEND_FRAMES, 1);
    TRY(abut_character_pose(data->figure, &pose, data->bones));
    for (uint32_t i = 0; i < get_character_info(data->figure).bone_count; i++)
        data->bones[i].m[0][3] += 1.5 * which;
    return abut_character_skinner_run(data->skinner, data->bones, NULL, to);
}

/* Bodies on circles about the figures, from near the ground to their heads. */
static abut_pose prop_pose(const bench_state *state, uint32_t i, uint32_t frame) {
    abut_pose pose = {bench_turn(i), {0, 0, 0}};
    if (state->quick) {
        pose.translation = (abut_vec3){0.4 * (i % 2), 0.3 * i, -0.6 - 0.0625 * frame};
        return pose;
    }
    const double angle = 0.4 * i + 0.02 * frame * (i % 3 ? 1 : -1), radius = 0.42 + 0.04 * (i % 5);
    pose.translation = (abut_vec3){1.5 * (i % FIGURES) + radius * cos(angle), 0.1 + 0.018 * i,
                                   radius * sin(angle)};
    return pose;
}

/* ---- the world ---- */

static abut_status add_figure(const bench_state *state, step_data *data, uint32_t which) {
    abut_world_item item = abut_world_item_default();
    abut_cloth_material cotton = abut_cloth_material_default();
    abut_cloth *cloth = NULL;
    uint32_t id = 0, sheet = 0, body = 0, pin_count = 0;
    const uint32_t *pins = state->quick ? NULL : abut_garment_pins(data->dress, &pin_count);
    TRY(place_figure(state, data, which, 0, abut_array_host(data->positions)));
    const abut_mesh_input input =
        abut_mesh_input_doubles(data->positions, abut_mesh_vertex_count(data->body),
                                abut_mesh_indices(data->body),
                                abut_mesh_triangle_count(data->body));
    abut_mesh *placed = NULL;
    TRY(abut_mesh_create(state->context, &input, &placed));
    item.collider = abut_collider_from_mesh(placed, abut_pose_identity());
    item.collider.shape.mesh.deforms = item.self_collides = true;
    abut_status status = abut_world_add(data->world, &item, &data->figures[which]);
    abut_mesh_destroy(placed);
    TRY(status);
    cotton.bend = 1e-4;
    cotton.friction = 0.3;
    item = abut_world_item_default();
    item.collider = abut_collider_from_mesh(data->sheet,
                                            (abut_pose){{0, 0, 0, 1},
                                                        {1.5 * which, 0, state->quick ? 0.56 : 0}});
    item.cloth = &cotton;
    TRY(abut_world_add(data->world, &item, &id));
    TRY(abut_world_get_cloth(data->world, id, &cloth, &sheet));
    TRY(abut_world_get_cloth(data->world, data->figures[which], &cloth, &body));
    abut_cloth_attachment *list = calloc(pin_count + 1, sizeof *list);
    status =
        list ? abut_cloth_bind(cloth, sheet, body, pins, pin_count, 200, list) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_cloth_attach(cloth, sheet, list, pin_count);
    free(list);
    return status;
}

static abut_status add_props(const bench_state *state, step_data *data) {
    for (uint32_t i = 0; i < prop_count(state); i++) {
        abut_world_item item = abut_world_item_default();
        const abut_pose at = prop_pose(state, i, 0);
        item.collider = i % 4 < MODELS
                            ? abut_collider_from_mesh(data->models[i % 4], at)
                            : abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.05}, at);
        item.method = i % 4 < MODELS ? ABUT_WORLD_EXACT : ABUT_WORLD_AUTO;
        TRY(abut_world_add(data->world, &item, &data->props[i]));
    }
    return ABUT_OK;
}

static abut_status step(const bench_state *state, step_data *data) {
    data->frame++;
    for (uint32_t i = 0; i < figure_count(state); i++) {
        const abut_array at =
            data->skinned ? abut_array_buffer(data->skinned) : abut_array_host(data->positions);
        const double begun = bench_now_ms();
        TRY(place_figure(state, data, i, data->frame, at));
        const double skinned = bench_now_ms();
        TRY(abut_world_set_positions(data->world, data->figures[i], NULL, at));
        data->skin_ms += skinned - begun;
        data->refit_ms += bench_now_ms() - skinned;
    }
    abut_pose poses[PROPS];
    for (uint32_t i = 0; i < prop_count(state); i++)
        poses[i] = prop_pose(state, i, data->frame);
    TRY(abut_world_set_poses(data->world, data->props, abut_array_host(poses), prop_count(state)));
    data->last = abut_world_step_result_default();
    TRY(abut_world_step(data->world, FRAME_SECONDS, &data->last));
    for (uint64_t i = 0; i < data->last.pair_count; i++) {
        const abut_world_step_pair *p = &data->last.pairs[i];
        const double facts[] = {p->a, p->b, (double)p->count, p->time, p->point.x, p->point.y};
        data->hash = bench_hash(data->hash, facts, sizeof facts);
    }
    return ABUT_OK;
}

static abut_status start(const bench_state *state, step_data *data) {
    abut_world_options options = abut_world_options_default();
    abut_cloth_options air = abut_cloth_options_default();
    *(state->quick ? &air.gravity.z : &air.gravity.y) = -9.81;
    air.body_may_lag = true;
    options.cloth = &air;
    options.device = data->device;
    options.margin = 0.005;
    options.max_patch_contacts = 4;
    abut_world_destroy(data->world);
    data->world = NULL;
    data->frame = 0;
    TRY(abut_world_create(state->context, &options, &data->world));
    for (uint32_t i = 0; i < figure_count(state); i++)
        TRY(add_figure(state, data, i));
    TRY(add_props(state, data));
    for (uint32_t i = 0; i < (state->quick ? 2u : BLEND_FRAMES); i++)
        TRY(step(state, data));
    data->hash = 0;
    return ABUT_OK;
}

/* ---- the case ---- */

static abut_status make_models(bench_state *state, step_data *data) {
    const abut_shape_kind kinds[MODELS] = {ABUT_SHAPE_TEAPOT_SOLID, ABUT_SHAPE_TORUS,
                                           ABUT_SHAPE_BOX};
    for (int i = 0; i < MODELS; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        abut_mesh *raw = NULL;
        shape.segments = i == 0 ? 2 : i == 1 ? 16 : 1;
        TRY(abut_shape_create(state->context, &shape, &raw));
        const abut_status status =
            abut_mesh_transform(raw, i == 0 ? 0.03 : 0.09, abut_pose_identity(), &data->models[i]);
        abut_mesh_destroy(raw);
        TRY(status);
        bench_keep(state, data->models[i]);
    }
    return ABUT_OK;
}

static abut_status make_quick(bench_state *state, step_data *data) {
    abut_shape ball = abut_shape_default(ABUT_SHAPE_ICOSPHERE),
               sheet = abut_shape_default(ABUT_SHAPE_SHEET);
    ball.segments = 4;
    sheet.segments = sheet.rings = 8;
    MAKE(data->body, abut_shape_create(state->context, &ball, &data->body));
    MAKE(data->sheet, abut_shape_create(state->context, &sheet, &data->sheet));
    return ABUT_OK;
}

static abut_status make_figures(bench_state *state, step_data *data) {
    abut_character_figure_options figure = abut_character_figure_options_default();
    abut_garment_options garment = abut_garment_options_default();
    figure.figure = ABUT_CHARACTER_FIGURE_FEMALE;
    figure.triangles = FIGURE_TRIANGLES;
    garment.kind = ABUT_GARMENT_DRESS;
    garment.particles = DRESS_VERTICES;
    MAKE(data->figure, abut_character_create_figure(state->context, &figure, &data->figure));
    TRY(abut_garment_create(data->figure, &garment, &data->dress));
    data->body = abut_character_rest_mesh(data->figure);
    data->sheet = abut_character_rest_mesh(abut_garment_character(data->dress));
    data->bones =
        bench_array(state, get_character_info(data->figure).bone_count, sizeof *data->bones);
    abut_character_skinner_options skinning = abut_character_skinner_options_default();
    skinning.device = data->device;
    TRY(abut_character_skinner_create(data->figure, &skinning, &data->skinner));
    if (data->device)
        TRY(abut_buffer_create(data->device, abut_mesh_vertex_count(data->body) * sizeof(abut_vec3),
                               &data->skinned));
    return ABUT_OK;
}

static abut_status step_setup(bench_state *state) {
    step_data *data = state->data;
    if (state->which->variant == DEVICE)
        TRY(bench_device_open(state, &data->device));
    TRY(make_models(state, data));
    TRY(state->quick ? make_quick(state, data) : make_figures(state, data));
    data->positions =
        bench_array(state, abut_mesh_vertex_count(data->body), sizeof *data->positions);
    state->elements = FRAMES;
    return start(state, data);
}

static abut_status step_run(bench_state *state) {
    step_data *data = state->data;
    double cloth = 0, impacts = 0, contacts = 0;
    data->skin_ms = data->refit_ms = 0;
    for (int i = 0; i < FRAMES; i++) {
        TRY(step(state, data));
        const abut_cloth_report *c = data->last.cloth;
        cloth += c->contact_seconds + c->motion_seconds + c->impact_seconds;
        impacts += data->last.impact_seconds;
        contacts += data->last.contact_seconds;
    }
    parts.skin = data->skin_ms / FRAMES;
    parts.refit = data->refit_ms / FRAMES;
    parts.cloth = 1e3 * cloth / FRAMES;
    parts.impacts = 1e3 * impacts / FRAMES;
    parts.contacts = 1e3 * contacts / FRAMES;
    parts.pairs = data->last.pair_count;
    parts.touches = data->last.contact_count;
    return ABUT_OK;
}

/* The next run starts where this one started. */
static abut_status step_finish(bench_state *state) {
    step_data *data = state->data;
    state->hash = data->hash;
    return start(state, data);
}

static void step_teardown(bench_state *state) {
    step_data *data = state->data;
    abut_world_destroy(data->world);
    abut_character_skinner_destroy(data->skinner);
    abut_buffer_destroy(data->skinned);
    abut_garment_destroy(data->dress);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf(
        "    a step, ms: skinning %.1f, refits %.1f, impacts %.1f, cloth %.1f, contacts %.1f; %llu "
        "pairs, %llu contacts\n",
        parts.skin, parts.refit, parts.impacts, parts.cloth, parts.contacts,
        (unsigned long long)parts.pairs, (unsigned long long)parts.touches);
}

#define STEP_CASE(name_, variant_)                                                              \
    {                                                                                           \
        .name = name_, .unit = "step", .data_bytes = sizeof(step_data), .setup = step_setup,    \
        .run = step_run, .finish = step_finish, .teardown = step_teardown, .variant = variant_, \
        .print_details = print_details, .threaded = variant_ == CPU                             \
    }

const bench_case bench_world_step_cases[] = {
    STEP_CASE("world/step", CPU),
    STEP_CASE("world/device-step", DEVICE),
    {.name = NULL},
};
