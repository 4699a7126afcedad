/* Cases: a step of a world of 3,000 teapots, each with a field of 64^3 and 500 samples, packed
 * so that boxes of about 10,000 pairs overlap: all poses are set, candidates found and all pairs
 * tested in both directions. On the CPU; on a device with contacts kept there, also with poses
 * there and few contacts per patch; and with contacts on the host. Also the candidates alone,
 * for 3,000 and 10,000 bodies. And exact contacts of 1,000 pairs of a teapot and a ring, which
 * overlap by 0.005 to 0.05. And a pen: 100 or 1,000 bodies of five models of about 500
 * triangles, dropped one after the other onto the floor and the previous ones, with a margin.
 *
 * The same pen with sensors, of which only events are computed.
 *
 * Contacts of pairs at rest are kept, so all bodies move in each step, together. Two cases
 * measure this: 1,000 rings of 512 triangles in contact, all of which get their poses in each
 * step; one pose differs from the step before, or none. Two more move a ball far from them, and
 * compute contacts and events: of all rings, or of rings that are asleep.
 *
 * Sweeps of the pen: all bodies move and turn by about 0.001, as at rest in a solver, and ten fly
 * through it by three times their size. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

enum {
    CPU,
    DEVICE,
    DEVICE_HOST,
    DEVICE_REDUCED,
    PATCHES,
    PEN_100,
    PEN_1000,
    ONE_MOVES,
    REST,
    SENSORS,
    AWAKE,
    ASLEEP,
    SWEEP,
    PAIRS,
    PAIRS_10000
};
enum { MODELS = 5, WALLS = 5, FAST = 10 };

#define ROOM 16384          /* impacts */
#define SMALL_SHIFT 0x1p-20 /* per step; no contacts begin or end by it */

typedef struct world_data {
    abut_device *device;
    abut_mesh *mesh;
    abut_field *field;
    abut_samples *samples;
    abut_mesh *ring;
    abut_bvh *trees[MODELS]; /* of bodies, in turn */
    abut_bvh *walls[WALLS];  /* of a pen: the floor and the walls around it */
    uint32_t model_count;
    abut_world *world;
    abut_pose *poses;   /* of the step; then those at the start */
    abut_buffer *there; /* the same on the device */
    abut_contact *list;
    size_t room, count;
    abut_world_event *events;
    size_t event_room;
    uint64_t pairs;
    uint32_t bodies, round;
    abut_pose *ends; /* of sweeps */
    double *times;
    abut_world_impact *impacts;
    uint64_t impact_count;
} world_data;

static bool is_pen(int variant) {
    return variant == PEN_100 || variant == PEN_1000 || variant == SENSORS || variant == SWEEP;
}

static bool is_crowd(int variant) {
    return variant == ONE_MOVES || variant == REST || variant == AWAKE || variant == ASLEEP;
}

static bool has_events(int variant) {
    return variant == SENSORS || variant == AWAKE || variant == ASLEEP;
}

/* Of the last case, for the line after it. */
static size_t last_pairs, last_contacts;

static void make_poses(world_data *data) {
    uint64_t random = 9;
    abut_box box = abut_mesh_bounds(data->mesh);
    double volume = (box.hi.x - box.lo.x) * (box.hi.y - box.lo.y) * (box.hi.z - box.lo.z);
    /* Boxes of size s at random in a cube of side L have n^2 / 2 times 8 volumes / L^3 pairs;
     * here 10 pairs for 3 bodies. */
    double side = cbrt(volume * 1.75 * data->bodies);
    side = (double)(float)side; /* the last bits of cbrt differ between machines */
    for (uint32_t i = 0; i < data->bodies; i++) {
        double t[3];
        for (int k = 0; k < 3; k++)
            t[k] = bench_random_real(&random, 0, 1) * side;
        data->poses[i].rotation = bench_turn(i);
        data->poses[i].translation = (abut_vec3){t[0], t[1], t[2]};
    }
}

/* Pairs on a lattice so wide that they are separate. The second body approaches along a
 * direction until they nearly touch, and then moves a little further. */
static abut_status make_touching(world_data *data) {
    enum { SIDE = 10 };
    uint64_t random = 10;
    for (uint32_t i = 0; i + 1 < data->bodies; i += 2) {
        abut_collider a = abut_collider_from_bvh(data->trees[0],
                                                 (abut_pose){bench_turn(i), {0, 0, 0}}),
                      b = abut_collider_from_bvh(data->trees[1],
                                                 (abut_pose){bench_turn(i + 1), {0, 0, 0}});
        double way[3], length = 0, far = 8,
                       cell[3] = {i / 2 % SIDE, i / 2 / SIDE % SIDE, i / 2 / SIDE / SIDE};
        for (int k = 0; k < 3; k++) {
            way[k] = bench_random_real(&random, -1, 1);
            length += way[k] * way[k];
        }
        length = sqrt(length);
        abut_separation apart = {.distance = 1};
        for (int round = 0; round < 40 && apart.distance > 1e-3 && far > 0; round++) {
            abut_vec3 *at = &b.pose.translation;
            *at = (abut_vec3){far * way[0] / length, far * way[1] / length, far * way[2] / length};
            TRY(abut_pair_distance(&a, &b, NULL, NULL, &apart));
            far = (double)(float)(far - apart.distance);
        }
        far -= bench_random_real(&random, 0.005, 0.05);
        for (int k = 0; k < 3; k++) {
            (&a.pose.translation.x)[k] = 20 * cell[k];
            (&b.pose.translation.x)[k] = 20 * cell[k] + far * way[k] / length;
        }
        data->poses[i] = a.pose;
        data->poses[i + 1] = b.pose;
    }
    return ABUT_OK;
}

/* Rings on a lattice, rotated at random, so near that most touch a neighbour. */
static void make_crowd(world_data *data) {
    enum { SIDE = 10 };
    const abut_box box = abut_mesh_bounds(data->ring);
    const double width = 0.93 * (box.hi.x - box.lo.x);
    for (uint32_t i = 0; i < data->bodies; i++) {
        data->poses[i].rotation = bench_turn(i);
        data->poses[i].translation =
            (abut_vec3){width * (i % SIDE), width * (i / SIDE % SIDE), width * (i / SIDE / SIDE)};
    }
}

/* ---- the pen ---- */

#define PEN_SPACING 1.1
#define PEN_MARGIN 0.005 /* as solvers use it */
#define PEN_DEPTH 0.002  /* penetration depth of each body */

static abut_status make_tree(bench_state *state, abut_shape shape, double size, abut_bvh **bvh) {
    abut_mesh *mesh = NULL, *scaled = NULL;
    TRY(abut_shape_create(state->context, &shape, &mesh));
    const abut_box box = abut_mesh_bounds(mesh);
    const double longest =
        fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
    TRY(abut_mesh_transform(mesh, size > 0 ? size / longest : 1, here, &scaled));
    MAKE(*bvh, abut_bvh_create(scaled, NULL, bvh));
    abut_mesh_destroy(scaled);
    abut_mesh_destroy(mesh);
    return ABUT_OK;
}

static uint32_t pen_side(const world_data *data) {
    return (uint32_t)ceil(sqrt(data->bodies / 4.0)); /* about four layers */
}

static abut_status make_models(bench_state *state, world_data *data) {
    const abut_shape_kind kinds[MODELS] = {ABUT_SHAPE_TORUS, ABUT_SHAPE_CAPSULE,
                                           ABUT_SHAPE_LETTER_E, ABUT_SHAPE_ICOSPHERE,
                                           ABUT_SHAPE_TEAPOT_SOLID};
    const uint32_t segments[MODELS] = {20, 16, 0, 5, 3}, rings[MODELS] = {12, 6, 0, 0, 0};
    const double side = PEN_SPACING * pen_side(data);
    data->model_count = MODELS;
    for (int i = 0; i < MODELS; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        shape.segments = segments[i] ? segments[i] : shape.segments;
        shape.rings = rings[i] ? rings[i] : shape.rings;
        TRY(make_tree(state, shape, kinds[i] == ABUT_SHAPE_ICOSPHERE ? 0.8 : 1, &data->trees[i]));
    }
    for (int i = 0; i < WALLS; i++) {
        abut_shape wall = abut_shape_default(ABUT_SHAPE_BOX);
        wall.extent = i == 0  ? (abut_vec3){side + 2, side + 2, 1}
                      : i < 3 ? (abut_vec3){1, side + 2, 12}
                              : (abut_vec3){side + 2, 1, 12};
        wall.segments = 1;
        TRY(make_tree(state, wall, 0, &data->walls[i]));
    }
    return ABUT_OK;
}

/* The floor ends at z = 0; the walls are on all sides of it. */
static abut_pose pen_wall(const world_data *data, int i) {
    const double away = 0.5 * (PEN_SPACING * pen_side(data) + 1);
    const abut_vec3 places[WALLS] = {
        {0, 0, -0.5}, {-away, 0, 6}, {away, 0, 6}, {0, -away, 6}, {0, away, 6}};
    return (abut_pose){{0, 0, 0, 1}, places[i]};
}

/* The distance of body i from walls and previous bodies, or more than `far`. */
static abut_status pen_distance(const world_data *data, uint32_t i, double far, double *distance) {
    const abut_collider body = abut_collider_from_bvh(data->trees[i % MODELS], data->poses[i]);
    const abut_vec3 at = body.pose.translation;
    *distance = far;
    for (uint32_t k = 0; k < i + WALLS; k++) {
        abut_collider other = abut_collider_from_bvh(NULL, abut_pose_identity());
        abut_separation apart = {.distance = far};
        if (k < i) {
            const abut_vec3 there = data->poses[k].translation;
            if (fmax(fabs(there.x - at.x), fmax(fabs(there.y - at.y), fabs(there.z - at.z))) > 2)
                continue;
            other = abut_collider_from_bvh(data->trees[k % MODELS], data->poses[k]);
        } else {
            other = abut_collider_from_bvh(data->walls[k - i], pen_wall(data, (int)(k - i)));
        }
        TRY(abut_pair_distance(&body, &other, NULL, NULL, &apart));
        *distance = fmin(*distance, apart.distance);
    }
    return ABUT_OK;
}

/* Each body moves down until it nearly touches another, and then a little further. */
static abut_status make_pen(world_data *data) {
    const uint32_t side = pen_side(data);
    uint64_t random = 11;
    for (uint32_t i = 0; i < data->bodies; i++) {
        const uint32_t cell = i % (side * side), layer = i / (side * side);
        abut_vec3 *at = &data->poses[i].translation;
        double apart = 1;
        data->poses[i].rotation = bench_turn(i);
        at->x = PEN_SPACING * (cell % side + 0.5 - 0.5 * side) +
                bench_random_real(&random, -0.05, 0.05);
        at->y = PEN_SPACING * (cell / side + 0.5 - 0.5 * side) +
                bench_random_real(&random, -0.05, 0.05);
        at->z = 1.3 * (layer + 1);
        for (int round = 0; round < 60 && apart > 1e-3; round++) {
            TRY(pen_distance(data, i, 0.5, &apart));
            at->z = (double)(float)(at->z - apart);
        }
        at->z -= PEN_DEPTH;
    }
    return ABUT_OK;
}

/* Where bodies are at the end of a sweep. */
static void make_ends(bench_state *state, world_data *data) {
    uint64_t random = 12;
    data->ends = bench_array(state, data->bodies, sizeof *data->ends);
    data->times = bench_array(state, data->bodies, sizeof *data->times);
    data->impacts = bench_array(state, ROOM, sizeof *data->impacts);
    for (uint32_t i = 0; i < data->bodies; i++) {
        const double by = i % (data->bodies / FAST) == 0 ? 3 : 1e-3;
        abut_pose *end = &data->ends[i];
        *end = data->poses[i];
        end->translation.x += bench_random_real(&random, -by, by);
        end->translation.y += bench_random_real(&random, -by, by);
        end->translation.z += bench_random_real(&random, -by, by);
        end->rotation.x += bench_random_real(&random, -1e-3, 1e-3);
        end->rotation.y += bench_random_real(&random, -1e-3, 1e-3);
    }
}

static abut_status make_trees(bench_state *state, world_data *data) {
    abut_shape ring = abut_shape_default(ABUT_SHAPE_TORUS);
    const bool crowd = is_crowd(state->which->variant);
    data->model_count = 2;
    ring.segments = crowd ? 32 : 64;
    ring.rings = crowd ? 8 : 32;
    MAKE(data->ring, abut_shape_create(state->context, &ring, &data->ring));
    MAKE(data->trees[1], abut_bvh_create(data->ring, NULL, &data->trees[1]));
    MAKE(data->trees[0], abut_bvh_create(crowd ? data->ring : data->mesh, NULL, &data->trees[0]));
    return ABUT_OK;
}

static abut_status make_world(bench_state *state, world_data *data) {
    abut_world_options options = abut_world_options_default();
    abut_world_item item = abut_world_item_default();
    uint32_t id;
    item.collider.shape.body.field = data->field;
    item.collider.shape.body.samples = data->samples;
    options.device = data->device;
    options.max_patch_contacts = state->which->variant == DEVICE_REDUCED ? 4 : 0;
    options.margin = is_pen(state->which->variant) ? PEN_MARGIN : 0;
    MAKE(data->world, abut_world_create(state->context, &options, &data->world));
    item.is_sensor = state->which->variant == SENSORS;
    for (uint32_t i = 0; i < data->bodies; i++) {
        item.collider.pose = data->poses[i];
        item.collider.shape.body.bvh =
            data->model_count ? data->trees[i % data->model_count] : NULL;
        TRY(abut_world_add(data->world, &item, &id));
    }
    if (state->which->variant == AWAKE || state->which->variant == ASLEEP) {
        item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1},
                                                  (abut_pose){{0, 0, 0, 1}, {-1000, 0, 0}});
        TRY(abut_world_add(data->world, &item, &id));
    }
    item.motion = ABUT_WORLD_STATIC;
    for (int i = 0; i < WALLS && data->walls[i]; i++) {
        item.collider.pose = pen_wall(data, i);
        item.collider.shape.body.bvh = data->walls[i];
        TRY(abut_world_add(data->world, &item, &id));
    }
    return ABUT_OK;
}

static bool on_device(int variant) {
    return variant == DEVICE || variant == DEVICE_HOST || variant == DEVICE_REDUCED;
}

/* Uploads poses, for the case with poses on the device. */
static abut_status send_poses(bench_state *state, world_data *data) {
    const size_t bytes = data->bodies * sizeof *data->poses;
    MAKE(data->there, abut_buffer_create(data->device, bytes, &data->there));
    return abut_buffer_write(data->there, 0, data->poses, bytes);
}

static abut_status world_setup(bench_state *state) {
    int variant = state->which->variant;
    world_data *data = state->data;
    data->bodies = (variant == PAIRS_10000 ? 10000u
                    : variant == PATCHES   ? 2000u
                    : variant == PEN_100   ? 100u
                    : is_pen(variant)      ? 1000u
                    : is_crowd(variant)    ? 1000u
                                           : 3000u) /
                   (state->quick ? 30u : 1u);
    if (on_device(variant))
        TRY(bench_device_open(state, &data->device));
    if (variant == PATCHES) {
        abut_shape teapot = abut_shape_default(ABUT_SHAPE_TEAPOT_SOLID);
        MAKE(data->mesh, abut_shape_create(state->context, &teapot, &data->mesh));
    }
    if (variant == PATCHES || is_crowd(variant))
        TRY(make_trees(state, data));
    else if (is_pen(variant))
        TRY(make_models(state, data));
    else
        TRY(bench_body(state, &data->mesh, &data->field, &data->samples));
    data->poses = bench_array(state, 2 * (size_t)data->bodies, sizeof *data->poses);
    if (variant == PATCHES)
        TRY(make_touching(data));
    else if (is_crowd(variant))
        make_crowd(data);
    else if (is_pen(variant))
        TRY(make_pen(data));
    else
        make_poses(data);
    memcpy(data->poses + data->bodies, data->poses, data->bodies * sizeof *data->poses);
    TRY(make_world(state, data));
    if (variant == DEVICE_REDUCED)
        TRY(send_poses(state, data));
    if (variant == SWEEP) { /* engines compute contacts, then sweep */
        abut_contacts none = {.size = sizeof none, .capacity = 0};
        make_ends(state, data);
        if (abut_world_contacts(data->world, &none) != ABUT_ERROR_BUFFER)
            return bench_fail(ABUT_ERROR_ARGUMENT, "nothing touches");
    }
    if (variant >= SWEEP) {
        state->elements = data->bodies;
        return ABUT_OK;
    }
    abut_contacts none = {.size = sizeof none, .capacity = 0};
    abut_world_event_list events = {NULL, 0, 0};
    const abut_status status = abut_world_contacts(data->world, &none),
                      counted = abut_world_events(data->world, &events);
    if (counted == ABUT_OK)
        return bench_fail(ABUT_ERROR_ARGUMENT, "nothing touches");
    if (counted != ABUT_ERROR_BUFFER || (status && status != ABUT_ERROR_BUFFER))
        return counted != ABUT_ERROR_BUFFER ? counted : status;
    data->event_room = 2 * events.count;
    data->events = bench_array(state, data->event_room, sizeof *data->events);
    data->room = none.count + none.count / 8; /* rounding of moved bodies may add some */
    data->list = bench_array(state, data->room, sizeof *data->list);
    abut_world_pair_list pairs = {NULL, 0, 0};
    abut_world_pairs(data->world, &pairs);
    data->pairs = pairs.count;
    state->elements = (double)data->pairs;
    return variant == ASLEEP ? abut_world_set_asleep(data->world, NULL, data->bodies, true)
                             : ABUT_OK;
}

static abut_status sweep_run(world_data *data) {
    abut_world_impacts found = abut_world_impacts_default();
    found.list = data->impacts;
    found.capacity = ROOM;
    found.times = data->times;
    TRY(abut_world_sweep(data->world, NULL, abut_array_host(data->ends), data->bodies, NULL,
                         &found));
    data->impact_count = found.count;
    return ABUT_OK;
}

/* Moves one body, or all of them in the same way, forward and back. */
static void move_on(const bench_state *state, world_data *data) {
    const int variant = state->which->variant;
    const uint32_t round = data->round++;
    for (uint32_t i = 0; i < data->bodies && variant != REST; i++)
        if (variant != ONE_MOVES)
            data->poses[i].translation.x += round % 2 ? -SMALL_SHIFT : SMALL_SHIFT;
        else if (i == round % data->bodies)
            data->poses[i].translation.x += round / data->bodies % 2 ? -SMALL_SHIFT : SMALL_SHIFT;
}

/* A ball moves far from the rings, which are asleep or awake. */
static abut_status run_beside_rings(world_data *data) {
    const abut_pose pose = {{0, 0, 0, 1}, {-1000, 0, 0.001 * (data->round++ % 1000)}};
    abut_world_event_list events = {data->events, data->event_room, 0};
    abut_contacts found = {.size = sizeof found, .list = data->list, .capacity = data->room};
    TRY(abut_world_set_poses(data->world, &data->bodies, abut_array_host(&pose), 1));
    TRY(abut_world_contacts(data->world, &found));
    return abut_world_events(data->world, &events);
}

static abut_status world_run(bench_state *state) {
    world_data *data = state->data;
    if (state->which->variant == AWAKE || state->which->variant == ASLEEP)
        return run_beside_rings(data);
    if (state->which->variant == SWEEP)
        return sweep_run(data);
    move_on(state, data);
    abut_array poses = data->there ? abut_array_buffer(data->there) : abut_array_host(data->poses);
    TRY(abut_world_set_poses(data->world, NULL, poses, data->bodies));
    if (has_events(state->which->variant)) {
        abut_world_event_list events = {data->events, data->event_room, 0};
        return abut_world_events(data->world, &events);
    }
    if (state->which->variant >= PAIRS) {
        abut_world_pair_list pairs = {NULL, 0, 0};
        const abut_status status = abut_world_pairs(data->world, &pairs);
        data->pairs = pairs.count;
        return status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
    }
    if (state->which->variant == DEVICE || state->which->variant == DEVICE_REDUCED) {
        abut_world_device_contacts records = abut_world_device_contacts_default();
        return abut_world_get_device_contacts(data->world, &records);
    }
    abut_contacts found = {.size = sizeof found, .list = data->list, .capacity = data->room};
    return abut_world_contacts(data->world, &found);
}

static abut_status world_finish(bench_state *state) {
    world_data *data = state->data;
    uint64_t pairs = data->pairs;
    state->hash = bench_hash(0, &pairs, sizeof pairs);
    if (state->which->variant == SWEEP)
        state->hash = bench_hash(0, &data->impact_count, sizeof data->impact_count);
    if (state->which->variant < SWEEP) {
        abut_contacts found = {.size = sizeof found, .list = data->list, .capacity = data->room};
        const bool sleeps = state->which->variant == ASLEEP;
        if (state->which->variant != AWAKE && !sleeps)
            data->round = 0;
        TRY(abut_world_set_asleep(data->world, NULL, data->bodies, false));
        memcpy(data->poses, data->poses + data->bodies, data->bodies * sizeof *data->poses);
        TRY(abut_world_set_poses(data->world, NULL, abut_array_host(data->poses), data->bodies));
        TRY(abut_world_contacts(data->world, &found));
        data->count = found.count;
        TRY(bench_hash_contacts(data->world, &found, &state->hash));
        if (sleeps) {
            TRY(abut_world_set_asleep(data->world, NULL, data->bodies, true));
            TRY(abut_world_contacts(data->world, &found));
        }
    }
    last_pairs = data->pairs;
    last_contacts = state->which->variant == SWEEP ? data->impact_count : data->count;
    return ABUT_OK;
}

static void world_print_details(const bench_case *which, const bench_result *result) {
    (void)result;
    if (which->variant == SWEEP)
        printf("    %zu impacts\n", last_contacts);
    else if (which->variant >= PAIRS)
        printf("    %zu pairs\n", last_pairs);
    else
        printf("    %zu pairs, %zu contacts\n", last_pairs, last_contacts);
}

#define WORLD(name_, variant_, unit_, goal_)                                                  \
    {                                                                                         \
        .name = name_, .unit = unit_, .data_bytes = sizeof(world_data), .setup = world_setup, \
        .run = world_run, .finish = world_finish, .variant = variant_,                        \
        .threaded = variant_ < DEVICE || variant_ > DEVICE_REDUCED, .goal_ms = goal_,         \
        .print_details = world_print_details                                                  \
    }

const bench_case bench_world_cases[] = {
    WORLD("world/contacts-teapots", CPU, "pair", 0),
    WORLD("world/patches-1000", PATCHES, "pair", 0),
    WORLD("world/pen-100", PEN_100, "pair", 0),
    WORLD("world/pen-1000", PEN_1000, "pair", 40),
    WORLD("world/one-moves-1000", ONE_MOVES, "body", 0),
    WORLD("world/rest-1000", REST, "body", 0),
    WORLD("world/sensors-1000", SENSORS, "pair", 0),
    WORLD("world/awake-1000", AWAKE, "body", 0),
    WORLD("world/asleep-1000", ASLEEP, "body", 0),
    WORLD("world/sweep-1000", SWEEP, "body", 0),
    WORLD("world/pairs-3000", PAIRS, "body", 1),
    WORLD("world/pairs-10000", PAIRS_10000, "body", 0),
    WORLD("world/device-teapots", DEVICE, "pair", 3),
    WORLD("world/device-teapots-host", DEVICE_HOST, "pair", 0),
    WORLD("world/device-teapots-reduced", DEVICE_REDUCED, "pair", 0),
    {.name = NULL},
};
