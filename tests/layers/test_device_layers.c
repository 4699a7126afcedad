/* Layers on a device: the results of the CPU, bit for bit; and no leak if the device or the
 * memory fails. */
#include "device/open.h"
#include "layers/layers.h"
#include "support/pose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MESHES = 5, SOLIDS = 40, ROOM = 12000, HITS = 65536 };

static abut_device *device;
static abut_mesh *meshes[MESHES];

static abut_mesh *make(abut_shape_kind kind, double size) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = kind == ABUT_SHAPE_BOX ? 1 : 6;
    shape.rings = 5;
    shape.radius *= size;
    shape.radius2 *= size;
    shape.height *= size;
    shape.extent = (abut_vec3){1.3 * size, size, 0.7 * size};
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

/* The same mesh turned inside out. */
static abut_mesh *inside_out(const abut_mesh *mesh) {
    uint32_t count = abut_mesh_triangle_count(mesh), vertices = abut_mesh_vertex_count(mesh);
    uint32_t *indices = malloc(3 * count * sizeof *indices);
    abut_vec3 *positions = malloc(vertices * sizeof *positions),
              origin = abut_mesh_local_origin(mesh);
    assert_true(indices && positions);
    for (uint32_t i = 0; i < 3 * count; i++)
        indices[i] = abut_mesh_indices(mesh)[i / 3 * 3 + 2 - i % 3];
    for (uint32_t v = 0; v < vertices; v++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[v];
        positions[v] = (abut_vec3){p.x + origin.x, p.y + origin.y, p.z + origin.z};
    }
    abut_mesh_input input = abut_mesh_input_doubles(positions, vertices, indices, count);
    abut_mesh *made = NULL;
    assert_ok(abut_mesh_create(NULL, &input, &made));
    free(indices);
    free(positions);
    return made;
}

typedef struct answer {
    abut_layers_pair pairs[ROOM], own[ROOM];
    abut_layers_hit hits[HITS];
    abut_layers_result result;
} answer;

static void run_query(abut_layers *layers, const abut_layers_query *query, answer *to) {
    memset(to, 0, sizeof *to);
    to->result = (abut_layers_result){.size = sizeof(abut_layers_result),
                                      .pairs.list = to->pairs,
                                      .pairs.capacity = ROOM,
                                      .own.list = to->own,
                                      .own.capacity = ROOM,
                                      .hits.list = to->hits,
                                      .hits.capacity = HITS};
    assert_ok(abut_layers_find(layers, query, &to->result));
}

/* Both find the same. */
static uint64_t compare(abut_layers *here, abut_layers *there, const abut_layers_query *query) {
    answer *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    assert_true(a && b);
    run_query(here, query, a);
    run_query(there, query, b);
    assert_int_equal(a->result.pairs.count, b->result.pairs.count);
    assert_int_equal(a->result.own.count, b->result.own.count);
    assert_int_equal(a->result.hits.count, b->result.hits.count);
    assert_int_equal(a->result.fragments, b->result.fragments);
    assert_memory_equal(a->pairs, b->pairs, sizeof a->pairs);
    assert_memory_equal(a->own, b->own, sizeof a->own);
    assert_memory_equal(a->hits, b->hits, sizeof a->hits);
    uint64_t count = a->result.pairs.count + a->result.hits.count;
    free(a);
    free(b);
    return count;
}

static abut_layers *create(abut_device *on) {
    abut_layers_options options = abut_layers_options_default();
    abut_layers *layers = NULL;
    options.device = on;
    assert_ok(abut_layers_create(NULL, &options, &layers));
    return layers;
}

static void add_both(abut_layers *const both[2], const abut_mesh *mesh, abut_pose at) {
    abut_layers_item item = abut_layers_item_default();
    item.collider = abut_collider_from_mesh(mesh, at);
    for (int k = 0; k < 2; k++)
        assert_ok(abut_layers_add(both[k], &item, NULL));
}

static abut_pose shifted(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

TEST(same_as_the_cpu) {
    test_random random = {31};
    uint64_t found = 0;
    for (uint32_t round = 0; round < test_rounds(8); round++) {
        abut_layers *both[2] = {create(NULL), create(device)};
        for (uint32_t i = 0; i < SOLIDS; i++) {
            abut_layers_item item = {
                .size = sizeof(abut_layers_item),
                .collider = abut_collider_from_mesh(meshes[test_random_below(&random, MESHES)],
                                                    random_pose(&random, 2)),
                .value = i};
            if (round % 4 == 1)
                item.group = 1u << i % 3, item.mask = i % 5 ? 0 : 3;
            for (int k = 0; k < 2; k++)
                assert_ok(abut_layers_add(both[k], &item, NULL));
        }
        abut_layers_query query = abut_layers_query_default();
        query.resolution = 40 + 37 * round;
        query.find_self = round % 4 == 2;
        query.count_edges = round % 2;
        query.find_hits = round == 3;
        query.every_pixel = round == 5;
        abut_raster_view views[2] = {abut_raster_view_default(), abut_raster_view_default()};
        if (round % 3 == 1) { /* an eye within, and a region that cuts */
            views[0].perspective = true;
            views[0].eye = (abut_vec3){0.3, -0.2, 0.1};
            views[0].direction = (abut_vec3){1, 0.4, -0.3};
            views[0].width = 90;
            views[1].direction = (abut_vec3){1, 2, -3};
            views[1].region = (abut_box){{-1, -1, -1}, {0.4, 0.5, 0.6}};
            query.views = views;
            query.view_count = 2;
        }
        found += compare(both[0], both[1], &query);
        for (uint32_t step = 0; step < 2; step++) { /* moved, exchanged, bent */
            abut_pose poses[SOLIDS];
            for (uint32_t i = 0; i < SOLIDS; i++)
                poses[i] = random_pose(&random, 1.6);
            uint32_t count = abut_mesh_vertex_count(meshes[1]), bent = ABUT_NONE;
            abut_vec3 *positions = malloc(count * sizeof *positions);
            assert_non_null(positions);
            for (uint32_t v = 0; v < count; v++) {
                abut_vec3 p = abut_mesh_local_positions(meshes[1])[v],
                          o = abut_mesh_local_origin(meshes[1]);
                positions[v] = (abut_vec3){1.5 * (p.x + o.x), p.y + o.y + 0.2 * step, p.z + o.z};
            }
            abut_layers_item item = {.size = sizeof(abut_layers_item),
                                     .collider = abut_collider_from_mesh(meshes[1], poses[3])};
            for (int k = 0; k < 2; k++) {
                assert_ok(abut_layers_set_poses(both[k], NULL, abut_array_host(poses), SOLIDS));
                assert_ok(abut_layers_remove(both[k], 3));
                assert_ok(abut_layers_add(both[k], &item, &bent));
                assert_int_equal(bent, 3);
                assert_ok(abut_layers_set_positions(both[k], bent, abut_array_host(positions)));
            }
            found += compare(both[0], both[1], &query);
            positions[0].x += 0.7;
            for (int k = 0; k < 2; k++) /* only these go there */
                assert_ok(abut_layers_set_positions(both[k], bent, abut_array_host(positions)));
            found += compare(both[0], both[1], &query);
            free(positions);
        }
        abut_layers_destroy(both[0]);
        abut_layers_destroy(both[1]);
    }
    assert_true(found > 100);
}

TEST(rays_that_are_too_long_for_it) {
    abut_layers *both[2] = {create(NULL), create(device)};
    for (uint32_t i = 0; i < 60; i++)
        add_both(both, meshes[0], shifted(0, 0, 0.3 * i));
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 32;
    query.count_edges = true;
    assert_true(compare(both[0], both[1], &query) >= 59);
    query.count_edges = false; /* and with clean lists again */
    compare(both[0], both[1], &query);
    abut_layers_destroy(both[0]);
    abut_layers_destroy(both[1]);
}

/* All solids in one place: more overlaps along each ray, and in each tile, than it adds up. */
TEST(crowds) {
    for (uint32_t count = 3; count < 12; count += 4) {
        abut_layers *both[2] = {create(NULL), create(device)};
        for (uint32_t i = 0; i < count; i++)
            add_both(both, meshes[i % 2], shifted(0.02 * i, 0.01 * i, 0.03 * i));
        abut_layers_query query = abut_layers_query_default();
        query.resolution = count == 3 ? 16 : 50;
        query.find_hits = count == 3;
        assert_true(compare(both[0], both[1], &query) >= count * (count - 1) / 2);
        abut_layers_destroy(both[0]);
        abut_layers_destroy(both[1]);
    }
}

TEST(poses_and_positions_in_buffers) {
    test_random random = {44};
    abut_layers *both[2] = {create(NULL), create(device)};
    abut_pose poses[8];
    uint32_t count = abut_mesh_vertex_count(meshes[2]);
    abut_vec3 *positions = malloc(count * sizeof *positions);
    abut_buffer *at = NULL, *bent = NULL;
    assert_non_null(positions);
    for (uint32_t v = 0; v < count; v++) {
        positions[v] = abut_mesh_local_positions(meshes[2])[v];
        positions[v].z *= 1.7;
    }
    for (uint32_t i = 0; i < 8; i++) {
        poses[i] = random_pose(&random, 0.4);
        add_both(both, meshes[2], abut_pose_identity());
    }
    assert_ok(abut_buffer_create(device, sizeof poses, &at));
    assert_ok(abut_buffer_create(device, count * sizeof *positions, &bent));
    assert_ok(abut_buffer_write(at, 0, poses, sizeof poses));
    assert_ok(abut_buffer_write(bent, 0, positions, count * sizeof *positions));
    assert_ok(abut_layers_set_poses(both[0], NULL, abut_array_host(poses), 8));
    assert_ok(abut_layers_set_positions(both[0], 2, abut_array_host(positions)));
    assert_ok(abut_layers_set_poses(both[1], NULL, abut_array_buffer(at), 8));
    assert_ok(abut_layers_set_positions(both[1], 2, abut_array_buffer(bent)));
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 64;
    assert_true(compare(both[0], both[1], &query) > 3);
    assert_refused("no device", abut_layers_set_poses(both[0], NULL, abut_array_buffer(at), 8));
    assert_fails(ABUT_ERROR_BUFFER, "are needed",
                 abut_layers_set_positions(both[1], 2, abut_array_buffer(at)));
    abut_buffer_destroy(at);
    abut_buffer_destroy(bent);
    abut_layers_destroy(both[0]);
    abut_layers_destroy(both[1]);
    free(positions);
}

/* Positions that come from buffers again and again; bad ones change nothing. */
TEST(bad_positions_in_buffers) {
    abut_layers *both[2] = {create(NULL), create(device)};
    const uint32_t count = abut_mesh_vertex_count(meshes[1]);
    abut_vec3 *positions = malloc(count * sizeof *positions);
    abut_buffer *buffer = NULL;
    assert_non_null(positions);
    assert_ok(abut_buffer_create(device, count * sizeof *positions, &buffer));
    for (uint32_t i = 0; i < 3; i++)
        add_both(both, meshes[1], shifted(0.1 * i, 0, 0));
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 40;
    for (uint32_t round = 0; round < 6; round++) {
        for (uint32_t v = 0; v < count; v++) {
            positions[v] = abut_mesh_local_positions(meshes[1])[v];
            positions[v].x *= 1 + 0.05 * round;
        }
        assert_ok(abut_buffer_write(buffer, 0, positions, count * sizeof *positions));
        assert_ok(abut_layers_set_positions(both[0], round % 3, abut_array_host(positions)));
        assert_ok(abut_layers_set_positions(both[1], round % 3, abut_array_buffer(buffer)));
        positions[7].y = NAN;
        positions[9].x = INFINITY;
        assert_ok(abut_buffer_write(buffer, 0, positions, count * sizeof *positions));
        assert_refused("positions[7] ",
                       abut_layers_set_positions(both[1], 1, abut_array_buffer(buffer)));
        assert_true(compare(both[0], both[1], &query) >= 3);
    }
    assert_ok(abut_layers_set_positions(both[0], 0, abut_array_host(NULL)));
    assert_ok(abut_layers_set_positions(both[1], 0, abut_array_host(NULL)));
    assert_true(compare(both[0], both[1], &query) >= 3);
    abut_buffer_destroy(buffer);
    abut_layers_destroy(both[0]);
    abut_layers_destroy(both[1]);
    free(positions);
}

static abut_status live_a_little(abut_context *context, void *user) {
    abut_layers_options options = abut_layers_options_default();
    abut_layers *layers = NULL;
    (void)user;
    options.device = device;
    abut_status status = abut_layers_create(context, &options, &layers);
    for (uint32_t i = 0; i < 6 && !status; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider =
                                     abut_collider_from_mesh(meshes[i % 2], abut_pose_identity())};
        item.collider.pose.translation.x = 0.4 * i;
        status = abut_layers_add(layers, &item, NULL);
    }
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 24;
    query.count_edges = true;
    abut_layers_pair pairs[20];
    abut_layers_result result = {.size = sizeof result, .pairs.list = pairs, .pairs.capacity = 20};
    if (!status && !(status = abut_layers_find(layers, &query, &result)))
        assert_true(result.pairs.count >= 5);
    abut_layers_destroy(layers);
    return status;
}

TEST(every_call_of_the_device) {
    test_every_device_call(live_a_little, NULL, UINT64_MAX, 1);
}

TEST(every_allocation) {
    assert_true(test_every_allocation(live_a_little, NULL) > 12);
}

TEST(other_rounding_is_refused) {
    abut_layers_options options = abut_layers_options_default();
    abut_layers *layers = NULL;
    bool same = device->info.same_bits;
    options.device = device;
    device->info.same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, "round", abut_layers_create(NULL, &options, &layers));
    device->info.same_bits = same;
    assert_null(layers);
}

static int set_up(void **state) {
    (void)state;
    device = test_device(NULL);
    meshes[0] = make(ABUT_SHAPE_BOX, 1);
    meshes[1] = make(ABUT_SHAPE_ICOSPHERE, 0.5);
    meshes[2] = make(ABUT_SHAPE_TORUS, 0.8);
    meshes[3] = make(ABUT_SHAPE_LETTER_G, 1);
    meshes[4] = inside_out(meshes[2]);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < MESHES; i++)
        abut_mesh_destroy(meshes[i]);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
