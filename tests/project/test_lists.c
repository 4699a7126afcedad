/* Output lists (ABUT_LIST) of all functions that have one.
 *
 * Each function rejects a null list, a null array with a capacity and a capacity beyond the address
 * space, and changes nothing then. With a capacity that is too small it sets only the count. The
 * count that it returns is sufficient, and elements beyond the count stay unchanged.
 */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct any_list {
    void *list;
    uint64_t capacity, count;
} any_list;

/* The objects that the functions use. */
static abut_bvh *bvh;
static abut_topology *topology;
static abut_mesh *split;
static abut_map *map;
static abut_world *world;
static abut_sweep *sweep;
static abut_pair_group group;
static abut_cloth *cloth;

static abut_status call_box(any_list *to) {
    const abut_box all = {{-9, -9, -9}, {9, 9, 9}};
    return abut_bvh_find_in_box(bvh, &all, (abut_index_list *)to);
}
static abut_status call_within(any_list *to) {
    return abut_nearest_within(bvh, (abut_vec3){0, 0, 0}, 9, (abut_nearest_list *)to);
}
static abut_status call_rays(any_list *to) {
    const abut_ray ray = {{-9, 0.1, 0.2}, {1, 0, 0}};
    return abut_ray_all(bvh, &ray, (abut_ray_hit_list *)to);
}
static abut_status call_problems(any_list *to) {
    return abut_mesh_get_problem_elements(topology, ABUT_PROBLEM_BOUNDARY_EDGE,
                                          (abut_index_list *)to);
}
static abut_status call_split(any_list *to) {
    abut_mesh_list *solids = (abut_mesh_list *)to;
    const abut_status status = abut_mesh_split(split, solids);
    for (uint64_t i = 0; !status && i < solids->count; i++)
        abut_mesh_destroy(solids->list[i]);
    return status;
}
static abut_status call_below(any_list *to) {
    return abut_map_find_below(map, 9, (abut_index_list *)to);
}
static abut_status call_intersections(any_list *to) {
    const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity());
    return abut_pair_intersections(&a, &a, (abut_pair_intersection_list *)to);
}
static abut_status call_self(any_list *to) {
    return abut_pair_self_intersections(bvh, NULL, (abut_pair_self_intersection_list *)to);
}
static abut_status call_group(any_list *to) {
    return abut_pair_group_list(&group, (abut_pair_group_hit_list *)to, NULL);
}
static abut_status call_sweep(any_list *to) {
    return abut_sweep_find(sweep, ABUT_SWEEP_ALL, NULL, (abut_impact_list *)to, NULL);
}
static abut_status call_cloth(any_list *to) {
    return abut_cloth_find_intersections(cloth, (abut_cloth_intersection_list *)to);
}
static abut_status call_pairs(any_list *to) {
    return abut_world_pairs(world, (abut_world_pair_list *)to);
}
static abut_status call_events(any_list *to) {
    return abut_world_events(world, (abut_world_event_list *)to);
}
static abut_status call_ids(any_list *to) {
    return abut_world_ids(world, (abut_index_list *)to);
}
static abut_status call_save(any_list *to) {
    return abut_world_save(world, (abut_byte_list *)to);
}
static abut_status call_save_cloth(any_list *to) {
    return abut_cloth_save(cloth, (abut_byte_list *)to);
}

static const struct {
    const char *name; /* of the parameter */
    size_t bytes;     /* of an element */
    abut_status (*call)(any_list *to);
} functions[] = {
    {"triangles", sizeof(uint32_t), call_box},
    {"nearest", sizeof(abut_nearest), call_within},
    {"hits", sizeof(abut_ray_hit), call_rays},
    {"elements", sizeof(uint32_t), call_problems},
    {"solids", sizeof(abut_mesh *), call_split},
    {"texels", sizeof(uint32_t), call_below},
    {"intersections", sizeof(abut_pair_intersection), call_intersections},
    {"pairs", sizeof(abut_pair_self_intersection), call_self},
    {"hits", sizeof(abut_pair_group_hit), call_group},
    {"impacts", sizeof(abut_impact), call_sweep},
    {"intersections", sizeof(abut_cloth_intersection), call_cloth},
    {"pairs", sizeof(abut_world_pair), call_pairs},
    {"events", sizeof(abut_world_event), call_events},
    {"ids", sizeof(uint32_t), call_ids},
    {"bytes", 1, call_save},
    {"bytes", 1, call_save_cloth},
};

/* Two crossing squares, with boundaries: one mesh that intersects itself. */
static abut_mesh *make_cross(void) {
    static const double positions[8][3] = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0},
                                           {0, -1, -1}, {0, 1, -1}, {0, 1, 1}, {0, -1, 1}};
    static const uint32_t indices[12] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7};
    abut_mesh_input input = abut_mesh_input_doubles(positions, 8, indices, 4);
    abut_mesh *mesh = NULL;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    return mesh;
}

enum { UNTOUCHED = 0x5a };

static void check_list(size_t k) {
    const char *name = functions[k].name;
    const size_t bytes = functions[k].bytes;
    char message[96];
    snprintf(message, sizeof message, "%s is null", name);
    assert_refused(message, functions[k].call(NULL));
    any_list to = {NULL, 3, 77};
    snprintf(message, sizeof message, "the list of %s is null, but its capacity is 3", name);
    assert_refused(message, functions[k].call(&to));
    unsigned char one[1024];
    to = (any_list){one, UINT64_MAX, 77};
    snprintf(message, sizeof message, "the capacity of %s is 18446744073709551615", name);
    if (bytes > 1)
        assert_refused(message, functions[k].call(&to));
    assert_int_equal(to.count, 77);

    /* Query the count. */
    to = (any_list){NULL, 0, 77};
    snprintf(message, sizeof message, " %s, but the capacity of %s is 0", name, name);
    assert_fails(ABUT_ERROR_BUFFER, message, functions[k].call(&to));
    const uint64_t count = to.count;
    assert_in_range(count, 1, 100000);
    AUTO_FREE unsigned char *room = malloc((size_t)(count + 1) * bytes);
    assert_non_null(room);
    memset(room, UNTOUCHED, (size_t)(count + 1) * bytes);
    to = (any_list){room, count - 1, 77};
    assert_int_equal(ABUT_ERROR_BUFFER, functions[k].call(&to));
    assert_true(to.list == room && to.capacity == count - 1 && to.count == count);
    for (size_t i = 0; i < (size_t)(count + 1) * bytes; i++)
        assert_int_equal(UNTOUCHED, room[i]);
    to = (any_list){room, count + 1, 77};
    assert_ok(functions[k].call(&to));
    assert_true(to.list == room && to.capacity == count + 1 && to.count == count);
    for (size_t i = (size_t)count * bytes; i < (size_t)(count + 1) * bytes; i++)
        assert_int_equal(UNTOUCHED, room[i]);
}

/* The capacity of abut_nearest_k() is k. */
static void check_k(void) {
    abut_nearest room[8];
    abut_nearest_list to = {room, 0, 77};
    const abut_vec3 centre = {0, 0, 0};
    for (uint64_t k = 0; k <= 8; k++) {
        to.capacity = k;
        assert_ok(abut_nearest_k(bvh, centre, 9, &to));
        assert_int_equal(to.count, k < 4 ? k : 4);
    }
    to = (abut_nearest_list){room, (uint64_t)UINT32_MAX + 1, 77};
    assert_refused("the capacity of nearest is 4294967296; it must be at most 4294967295",
                   abut_nearest_k(bvh, centre, 9, &to));
    to = (abut_nearest_list){NULL, 1, 77};
    assert_refused("the list of nearest is null", abut_nearest_k(bvh, centre, 9, &to));
    assert_refused("nearest is null", abut_nearest_k(bvh, centre, 9, NULL));
    assert_int_equal(to.count, 77);
}

TEST(of_all_functions) {
    AUTO(mesh) mesh = make_cross();
    const abut_map_options small = {.size = sizeof small, .resolution = 16};
    abut_collider body;
    abut_vec3 end[8];
    split = mesh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_map_create(mesh, &small, &map));
    body = abut_collider_from_bvh(bvh, abut_pose_identity());
    assert_ok(abut_map_compute_distance(map, &body, 1, NULL));
    assert_ok(abut_sweep_create(&mesh, 1, NULL, &sweep));
    assert_ok(abut_mesh_get_positions(mesh, end));
    for (int i = 4; i < 8; i++)
        end[i].x += 3;
    assert_ok(abut_sweep_set_positions(sweep, abut_array_host(NULL), abut_array_host(end)));
    abut_pair_object objects[2] = {{.size = sizeof(abut_pair_object), .bvh = bvh}, {.bvh = bvh}};
    group = abut_pair_group_default();
    group.objects = objects;
    group.object_count = 2;
    group.configuration_count = 1;
    uint32_t sheet;
    assert_ok(abut_cloth_create(NULL, NULL, &cloth));
    assert_ok(abut_cloth_add_sheet(cloth, mesh, NULL, &sheet));
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (int i = 0; i < 2; i++) {
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.collider =
            abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1 + i}, abut_pose_identity());
        assert_ok(abut_world_add(world, &item, &id));
    }
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        check_list(k);
    check_k();
    abut_cloth_destroy(cloth);
    abut_world_destroy(world);
    abut_sweep_destroy(sweep);
    abut_map_destroy(map);
    abut_topology_destroy(topology);
    abut_bvh_destroy(bvh);
}
