/* A world with cloth, shapes that deform and fast solids, of which states are saved; and the check
 * that a restored world makes the same steps. */
#ifndef ABUT_TESTS_WORLD_SAVED_STEPS_H
#define ABUT_TESTS_WORLD_SAVED_STEPS_H

#include "world/mesh_items.h"

enum { SAVED_AT = 6, LAST_FRAME = 14, COVER = 0, SOFT, BULLET, TABLE, WORM, ITEMS, PAIRS = 64 };

typedef struct stage {
    abut_world *world;
    abut_mesh *cover, *soft;
    double density; /* of the sheet; 0 = as usual */
} stage;

static inline abut_status create_meshes(abut_context *context, stage *s) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    shape.segments = shape.rings = 6;
    shape.extent = v3(2, 2, 0);
    abut_status status = abut_shape_create(context, &shape, &s->cover);
    shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 2;
    return status ? status : abut_shape_create(context, &shape, &s->soft);
}

/* A sheet above a table, a ball below of which a half turns inside out, and a small ball that flies
 * through everything. Of the fields of the worm, only one world at a time may use them. */
static inline abut_status create_stage(abut_context *context, abut_device *device, stage *s) {
    abut_world_options options = abut_world_options_default();
    abut_cloth_options air = abut_cloth_options_default();
    abut_cloth_material cotton = abut_cloth_material_default();
    abut_cloth_attachment pin;
    abut_cloth *cloth = NULL;
    const uint32_t corner = 0;
    uint32_t sheet_index;
    air.gravity.z = -9.81;
    air.body_may_lag = true;
    cotton.friction = 0.4;
    cotton.density = s->density;
    options.cloth = &air;
    options.device = device;
    options.margin = 0.02;
    abut_status status = create_meshes(context, s);
    status = status ? status : abut_world_create(context, &options, &s->world);
    for (uint32_t i = 0; i < ITEMS && !status; i++) {
        static const int sorts[ITEMS] = {SHEET, DEFORMS, SOLIDS + 1, SOLIDS + 3, CHARACTER};
        static const double heights[ITEMS] = {0.45, -3, -5, 0, 0};
        abut_world_item item = of_sort(sorts[i], v3(0, 0, 0));
        uint32_t id;
        if (i == COVER || i == SOFT) {
            item.collider.shape.mesh.mesh = i ? s->soft : s->cover;
            item.collider.shape.mesh.resolution = 0;
            item.method = ABUT_WORLD_EXACT;
            item.self_collides = i == SOFT;
        }
        item.cloth = i == COVER ? &cotton : NULL;
        item.collider.pose.translation.z = heights[i];
        status = abut_world_add(s->world, &item, &id);
        assert_true(status || id == i);
    }
    status = status ? status : abut_world_get_cloth(s->world, COVER, &cloth, &sheet_index);
    status = status ? status : abut_cloth_bind(cloth, sheet_index, ABUT_NONE, &corner, 1, 0, &pin);
    return status ? status : abut_cloth_attach(cloth, sheet_index, &pin, 1);
}

static inline void destroy_stage(stage *s) {
    abut_world_destroy(s->world);
    abut_mesh_destroy(s->cover);
    abut_mesh_destroy(s->soft);
}

/* Sets everything that cloth does not move. */
static inline void place_stage_quietly(stage *s, int frame, abut_status *status) {
    abut_vec3 positions[4096];
    abut_character_matrix bones[BONES];
    const uint32_t id = BULLET;
    const abut_pose to = {{0, 0, 0, 1}, v3(0.3, 0.1, -5 + 1.3 * (frame % 3))};
    for (uint32_t i = 0; i < abut_mesh_vertex_count(s->soft); i++) {
        const abut_vec3 p = body_position(s->soft, i);
        positions[i] = v3(p.x, p.y, p.x > 0 ? p.z * (1 - 0.2 * frame) : p.z);
    }
    if (!*status)
        *status = abut_world_set_positions(s->world, SOFT, NULL, abut_array_host(positions));
    assert_true(abut_mesh_vertex_count(worm.mesh) <= 4096);
    bend_snake(&worm, 0.1 + 0.02 * frame, 0, bones, positions);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(worm.mesh); i++)
        positions[i].y += 3;
    for (int b = 0; b < BONES; b++)
        bones[b].m[1][3] += 3;
    if (!*status)
        *status = abut_world_set_positions(s->world, WORM, bones, abut_array_host(positions));
    if (!*status)
        *status = abut_world_set_poses(s->world, &id, abut_array_host(&to), 1);
}

static inline void place_stage(stage *s, int frame) {
    abut_status status = ABUT_OK;
    place_stage_quietly(s, frame, &status);
    assert_ok(status);
}

static inline abut_world_step_result step(abut_world *world) {
    abut_world_step_result result = abut_world_step_result_default();
    assert_ok(abut_world_step(world, 1.0 / 60, &result));
    return result;
}

static inline const abut_world_step_pair *find_pair(const abut_world_step_result *result,
                                                    uint32_t a, uint32_t b) {
    for (uint64_t i = 0; i < result->pair_count; i++)
        if (result->pairs[i].a == a && result->pairs[i].b == b)
            return &result->pairs[i];
    return NULL;
}

static inline void run_stage(stage *s, int from, int to) {
    for (int frame = from; frame < to; frame++) {
        place_stage(s, frame);
        step(s->world);
    }
}

static inline unsigned char *save_world(abut_world *world, size_t *bytes) {
    abut_byte_list saved = {NULL, 0, 0};
    assert_int_equal(abut_world_save(world, &saved), ABUT_ERROR_BUFFER);
    *bytes = saved.count;
    unsigned char *bytes_of = malloc(*bytes);
    saved = (abut_byte_list){bytes_of, *bytes, 0};
    assert_ok(abut_world_save(world, &saved));
    return bytes_of;
}

/* Shape and contacts of a world, and in a run the result of its step. */
typedef struct stage_frame {
    abut_vec3 positions[64], velocities[64];
    uint64_t contact_count, pair_count;
    abut_contact contacts[4096];
    struct {
        uint32_t a, b, has_impact;
        uint64_t first, count;
        double time;
        abut_vec3 point, normal;
    } pairs[PAIRS];
    double gap;
    uint32_t cloth_impacts;
} stage_frame;

static inline void read_cloth(stage *s, stage_frame *to) {
    abut_cloth *cloth = NULL;
    uint32_t index;
    assert_ok(abut_world_get_cloth(s->world, COVER, &cloth, &index));
    assert_ok(abut_cloth_get_positions(cloth, index, abut_array_host(to->positions)));
    assert_ok(abut_cloth_get_velocities(cloth, index, abut_array_host(to->velocities)));
}

static inline void read_stage(stage *s, stage_frame *to) {
    memset(to, 0, sizeof *to);
    abut_contacts found = {.size = sizeof found, .list = to->contacts, .capacity = 4096};
    read_cloth(s, to);
    assert_ok(abut_world_contacts(s->world, &found));
    to->contact_count = found.count;
}

static inline void record_step(stage *s, int frame, stage_frame *to) {
    memset(to, 0, sizeof *to);
    place_stage(s, frame);
    const abut_world_step_result result = step(s->world);
    assert_true(result.contact_count <= 4096 && result.pair_count <= PAIRS);
    to->contact_count = result.contact_count;
    if (result.contact_count)
        memcpy(to->contacts, result.contacts, result.contact_count * sizeof *to->contacts);
    to->pair_count = result.pair_count;
    for (uint64_t i = 0; i < result.pair_count; i++) {
        const abut_world_step_pair *p = &result.pairs[i];
        to->pairs[i].a = p->a;
        to->pairs[i].b = p->b;
        to->pairs[i].has_impact = p->has_impact;
        to->pairs[i].first = p->first;
        to->pairs[i].count = p->count;
        to->pairs[i].time = p->time;
        to->pairs[i].point = p->point;
        to->pairs[i].normal = p->normal;
    }
    to->gap = result.cloth->gap;
    to->cloth_impacts = result.cloth->impacts;
    read_cloth(s, to);
}

/* Saves a run, continues it, and continues again from the state in the same world and in a new one.
 */
static inline void check_restored_steps(abut_context *context, abut_device *device) {
    static stage_frame expected[LAST_FRAME], again;
    stage s = {0};
    size_t bytes, bytes_again;
    uint64_t impacts = 0, self_contacts = 0, cloth_contacts = 0;
    assert_ok(create_stage(context, device, &s));
    run_stage(&s, 0, SAVED_AT);
    unsigned char *saved = save_world(s.world, &bytes);
    for (int frame = SAVED_AT; frame < LAST_FRAME; frame++) {
        const stage_frame *e = &expected[frame];
        record_step(&s, frame, &expected[frame]);
        for (uint64_t i = 0; i < e->pair_count; i++) {
            impacts += e->pairs[i].has_impact;
            self_contacts += e->pairs[i].a == e->pairs[i].b ? e->pairs[i].count : 0;
            cloth_contacts += e->pairs[i].a == COVER ? e->pairs[i].count : 0;
        }
    }
    assert_true(impacts > 3 && self_contacts > 0 && cloth_contacts > 10);
    for (int run = 0; run < 2; run++) {
        if (run) {
            destroy_stage(&s);
            s = (stage){0};
            assert_ok(create_stage(context, device, &s));
        }
        place_stage(&s, SAVED_AT - 1);
        assert_ok(abut_world_restore(s.world, saved, bytes));
        unsigned char *same = save_world(s.world, &bytes_again);
        assert_int_equal(bytes, bytes_again);
        assert_memory_equal(saved, same, bytes);
        free(same);
        for (int frame = SAVED_AT; frame < LAST_FRAME; frame++) {
            record_step(&s, frame, &again);
            assert_memory_equal(&expected[frame], &again, sizeof again);
        }
    }
    free(saved);
    destroy_stage(&s);
}

#endif
