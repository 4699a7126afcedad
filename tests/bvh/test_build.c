/* The BVH: its invariants on any mesh, its size, and that it is the same on any number
 * of threads; refitting; failures in the middle. */
#include "apps/get.h"
#include "tree.h"

#include "base/simd.h"
#include "bvh/wide.h"

#include <stdatomic.h>
#include <time.h>

/* ---- invariants ---- */

/* 40 bytes a triangle; the object itself and one node are there in any case. */
static void check_size(const abut_bvh *bvh, const test_memory *memory, uint64_t mesh_bytes) {
    abut_bvh_info info = get_bvh_info(bvh);
    if (memory) { /* each of five allocations may be rounded up to 64 bytes */
        assert_true(memory->live_bytes - mesh_bytes >= info.bytes);
        assert_true(memory->live_bytes - mesh_bytes < info.bytes + 5 * 64);
    }
    assert_true(info.bytes <= 40 * (uint64_t)info.triangle_count + 400);
}

TEST(invariants) {
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t count = 1; count <= 3000; count = count < 40 ? count + 1 : 2 * count + 1) {
            test_memory memory = {0};
            abut_context *context = test_context(&memory, 1);
            abut_mesh *mesh = make_kind(context, (soup_kind)kind, count, count);
            uint64_t before = memory.live_bytes;
            abut_bvh *bvh;
            assert_ok(abut_bvh_create(mesh, NULL, &bvh));
            check_tree(bvh);
            check_size(bvh, &memory, before);
            abut_bvh_destroy(bvh);
            abut_mesh_destroy(mesh);
            abut_context_destroy(context);
            assert_int_equal(memory.live_count, 0);
        }
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_mesh *mesh = make_shape(NULL, (abut_shape_kind)kind, 16);
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        check_tree(bvh);
        check_size(bvh, NULL, 0);
        assert_ptr_equal(abut_bvh_mesh(bvh), mesh);
        abut_mesh_destroy(mesh); /* the BVH holds a reference */
        assert_int_equal(abut_mesh_triangle_count(abut_bvh_mesh(bvh)), bvh->triangle_count);
        abut_bvh_destroy(bvh);
    }
}

/* Many boxes at one place, and each inside the next: bounded depth, no quadratic time. */
/* From a file and from arrays in one call: the BVH of the same mesh, which it keeps. */
TEST(one_call) {
    static const double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const uint32_t indices[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    static const char off[] = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
                              "3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";
    const char *path = test_file("tetrahedron.off", off, sizeof off - 1);
    abut_mesh_input input = abut_mesh_input_doubles(positions, 4, indices, 4);
    abut_bvh *bvhs[2];
    assert_ok(abut_bvh_create_from_arrays(NULL, &input, &bvhs[0]));
    assert_ok(abut_bvh_read(NULL, path, &bvhs[1]));
    for (int i = 0; i < 2; i++) {
        abut_nearest nearest;
        check_tree(bvhs[i]);
        assert_int_equal(abut_mesh_triangle_count(abut_bvh_mesh(bvhs[i])), 4);
        assert_ok(abut_nearest_point(bvhs[i], (abut_vec3){-3, 0, 0}, HUGE_VAL, &nearest));
        assert_true(nearest.distance == 3);
        abut_bvh_destroy(bvhs[i]);
    }
    abut_bvh *none = NULL;
    assert_refused("bvh is null", abut_bvh_read(NULL, path, NULL));
    assert_refused("bvh is null", abut_bvh_create_from_arrays(NULL, &input, NULL));
    assert_fails(ABUT_ERROR_FILE, "missing.ply", abut_bvh_read(NULL, "missing.ply", &none));
    input.triangle_count = 0;
    assert_refused("triangle", abut_bvh_create_from_arrays(NULL, &input, &none));
    assert_null(none);
}

TEST(hostile) {
    static const soup_kind kinds[] = {SOUP_EQUAL, SOUP_POINT, SOUP_GROWING, SOUP_LINE};
    for (int i = 0; i < 4; i++) {
        uint32_t count = 50000;
        abut_mesh *mesh = make_kind(NULL, kinds[i], count, 3);
        abut_bvh *bvh = hierarchy(mesh);
        check_tree(bvh);
        check_size(bvh, NULL, 0);
        abut_nearest nearest;
        assert_ok(abut_nearest_point(bvh, vec(0.25, 0.25, 5), HUGE_VAL, &nearest));
        if (kinds[i] == SOUP_EQUAL)
            assert_true(nearest.triangle == 0 && nearest.distance == 4.5);
        if (kinds[i] == SOUP_POINT)
            assert_int_equal(nearest.triangle, 0);
        abut_bvh_destroy(bvh);
    }
}

/* ---- threads ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_bvh(const abut_bvh *bvh) {
    uint64_t hash =
        hash_bytes(0xcbf29ce484222325u, bvh->nodes, bvh->node_count * sizeof *bvh->nodes);
    hash = hash_bytes(hash, bvh->blocks, bvh->leaf_count * sizeof *bvh->blocks);
    hash = hash_bytes(hash, bvh->order, (size_t)bvh->leaf_count * BVH_WIDTH * sizeof *bvh->order);
    return hash_bytes(hash, &bvh->cost, sizeof bvh->cost);
}

/* The same tree and the same answers on 1, 2 and 4 threads, with 16, 8 and 4 lanes, and in every
 * build: the numbers below hold for SIMD and scalar code, all compilers and processors. */
TEST_THREADS(threads) {
    enum { POINTS = 2000 };
    uint64_t trees[5], answers[5];
    for (uint32_t i = 0; i < 5; i++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, 1u << i % 3);
        abuti_simd_limit_lanes(i == 4 ? 4 : i == 3 ? 8 : 16);
        abut_mesh *mesh = make_shape(context, ABUT_SHAPE_ICOSPHERE, 50); /* 50,000 triangles */
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        trees[i] = hash_bvh(bvh);
        static double points[POINTS][3];
        static abut_nearest nearest[POINTS];
        for (int p = 0; p < POINTS; p++) /* from -1.5 to 1.5, whatever ABUT_TEST_SEED is */
            for (int axis = 0; axis < 3; axis++)
                points[p][axis] = (p * (7919 + 1013 * axis) % 3001) / 1000.0 - 1.5;
        abut_array input = abut_array_host(points);
        assert_ok(abut_nearest_point_batch(bvh, input, POINTS, HUGE_VAL, abut_array_host(nearest)));
        answers[i] = hash_bytes(0xcbf29ce484222325u, nearest, sizeof nearest);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
    }
    abuti_simd_limit_lanes(16);
    for (int i = 1; i < 5; i++)
        assert_true(trees[0] == trees[i] && answers[0] == answers[i]);
    if (trees[0] != 0x029acfef109eb0f2u || answers[0] != 0x1cd896541c624345u)
        fail_msg("the tree is %016llx with answers %016llx", (unsigned long long)trees[0],
                 (unsigned long long)answers[0]);
}

/* ---- attachments ---- */

typedef struct slow_part {
    bvh_attachment attachment;
} slow_part;

static atomic_int slow_parts; /* that exist */

/* Takes so long that several threads create one at the same time. */
static abut_status create_slowly(bvh_attachment *attachment, void *owner) {
    const struct timespec pause = {.tv_nsec = 5000000};
    atomic_fetch_add(&slow_parts, 1);
    nanosleep(&pause, NULL);
    return ABUT_OK;
}

static void destroy_slow_part(bvh_attachment *attachment) {
    atomic_fetch_sub(&slow_parts, 1);
}

static const bvh_attachment_kind slow_kind = {sizeof(slow_part), create_slowly, NULL,
                                              destroy_slow_part};

static void share_slow_part(void *data, size_t chunk, size_t begin, size_t end) {
    bvh_attachment *part;
    if (abuti_bvh_share_attachment(data, &slow_kind, &part) ||
        part != abuti_bvh_find_attachment(&((abut_bvh *)data)->parts, &slow_kind))
        atomic_fetch_add(&slow_parts, 1000);
}

/* Threads that create an attachment at the same time share one. */
TEST_THREADS(attachments_are_shared) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 4);
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abuti_parallel_for(context, 16, 1, share_slow_part, bvh);
    assert_int_equal(1, atomic_load(&slow_parts));
    abut_bvh_destroy(bvh);
    assert_int_equal(0, atomic_load(&slow_parts));
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

/* ---- refit ---- */

/* Moves every vertex by something that depends on its place. */
static abut_mesh *bend(const abut_mesh *mesh, double by) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_vec3 o = abut_mesh_local_origin(mesh), *moved;
    abut_mesh *bent;
    input.vertex_count = abut_mesh_vertex_count(mesh);
    assert_non_null(moved = malloc(input.vertex_count * sizeof *moved));
    for (uint32_t i = 0; i < input.vertex_count; i++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[i];
        moved[i] = vec(o.x + p.x + by * sin(3 * p.y), o.y + p.y * (1 + by), o.z + p.z + by * p.x);
    }
    input.positions = moved;
    input.indices = abut_mesh_indices(mesh);
    input.triangle_count = abut_mesh_triangle_count(mesh);
    assert_ok(abut_mesh_create(NULL, &input, &bent));
    free(moved);
    return bent;
}

TEST(refit) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 6);
    abut_bvh *bvh, *fresh;
    test_random random = {12};
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    uint64_t before = hash_bvh(bvh);
    assert_ok(abut_bvh_set_mesh(bvh, mesh));
    assert_true(hash_bvh(bvh) == before);
    assert_false(get_bvh_info(bvh).should_rebuild);
    for (int i = 0; i < 3; i++) {
        abut_mesh *bent = bend(mesh, 0.2 + 40 * i);
        assert_ok(abut_bvh_set_mesh(bvh, bent));
        assert_ok(abut_bvh_create(bent, NULL, &fresh));
        check_tree(bvh);
        for (int k = 0; k < 300; k++) {
            abut_nearest a, b;
            abut_vec3 p = point_around(bent, &random, 1.5);
            assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &a));
            assert_ok(abut_nearest_point(fresh, p, HUGE_VAL, &b));
            assert_memory_equal(&a, &b, sizeof a);
            const abut_ray ray = {p, v3_sub(point_around(bent, &random, 0.5), p)};
            abut_ray_hit hits[2];
            assert_ok(abut_ray_first(bvh, &ray, HUGE_VAL, &hits[0]));
            assert_ok(abut_ray_first(fresh, &ray, HUGE_VAL, &hits[1]));
            assert_memory_equal(&hits[0], &hits[1], sizeof hits[0]);
        }
        assert_non_null(abuti_bvh_find_wide(bvh)); /* refitted with the BVH, while it is used */
        abut_bvh_destroy(fresh);
        abut_mesh_destroy(bent);
    }
    for (int i = 0; i < 3; i++)
        assert_ok(abut_bvh_set_mesh(bvh, mesh));
    assert_null(abuti_bvh_find_wide(bvh));
    /* Triangles at random places: no order is left. */
    abut_mesh *noise = make_kind(NULL, SOUP_SMALL, 2000, 1),
              *other = make_kind(NULL, SOUP_SMALL, 2000, 2);
    assert_ok(abut_bvh_create(noise, NULL, &fresh));
    assert_ok(abut_bvh_set_mesh(fresh, other));
    assert_true(get_bvh_info(fresh).should_rebuild);
    assert_true(get_bvh_info(fresh).cost > get_bvh_info(fresh).built_cost);
    uint64_t kept = hash_bvh(fresh);
    abut_mesh *box = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_mesh *sphere = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 10); /* also 2000 */
    assert_int_equal(abut_mesh_triangle_count(sphere), 2000);
    assert_refused("12 triangles, but the BVH has 2000", abut_bvh_set_mesh(fresh, box));
    assert_refused("triangle 0 has vertex", abut_bvh_set_mesh(fresh, sphere));
    assert_refused("mesh is null", abut_bvh_set_mesh(fresh, NULL));
    assert_refused("bvh is null", abut_bvh_set_mesh(NULL, box));
    assert_true(hash_bvh(fresh) == kept);
    abut_mesh_destroy(box);
    abut_mesh_destroy(sphere);
    abut_mesh_destroy(noise);
    abut_mesh_destroy(other);
    abut_bvh_destroy(fresh);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* ---- failures ---- */

static abut_status build_and_refit(abut_context *context, void *data) {
    (void)data;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 5;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    double points[80][3];
    abut_nearest nearest[80];
    memset(points, 0, sizeof points);
    abut_array input = abut_array_host(points);
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status =
        status ? status : abut_nearest_point_batch(bvh, input, 80, 2, abut_array_host(nearest));
    status = status ? status : abut_bvh_set_mesh(bvh, mesh);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(every_allocation) {
    assert_true(test_every_allocation(build_and_refit, NULL) >= 10);
}

static bool stop_at(void *user, const char *stage, double fraction) {
    int *left = user;
    assert_true(fraction >= 0 && fraction <= 1);
    assert_true(strcmp(stage, "bvh") == 0 || strcmp(stage, "nearest") == 0 ||
                strcmp(stage, "rays") == 0 || strcmp(stage, "mesh") == 0);
    return (*left)-- > 0;
}

TEST(cancelled) {
    int left = 1 << 30;
    abut_context *context = test_watched(stop_at, &left);
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_ICOSPHERE, 40);
    abut_bvh *bvh = NULL;
    int calls = 0;
    for (;; calls++) {
        left = calls;
        abut_status status = abut_bvh_create(mesh, NULL, &bvh);
        if (!status)
            break;
        assert_int_equal(status, ABUT_ERROR_CANCELLED);
        assert_null(bvh);
    }
    assert_true(calls >= 3);
    abut_vec3 p = vec(0, 0, 0);
    abut_nearest nearest;
    abut_array points = abut_array_host(&p);
    left = 0;
    assert_int_equal(abut_nearest_point_batch(bvh, points, 1, 5, abut_array_host(&nearest)),
                     ABUT_ERROR_CANCELLED);
    abut_ray ray = {{0, 0, 0}, {1, 0, 0}};
    abut_ray_hit hit;
    assert_int_equal(abut_ray_first_batch(bvh, abut_array_host(&ray), 1, 5, abut_array_host(&hit)),
                     ABUT_ERROR_CANCELLED);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

TEST(refusals) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh = NULL;
    assert_refused("mesh is null", abut_bvh_create(NULL, NULL, &bvh));
    assert_refused("bvh is null", abut_bvh_create(mesh, NULL, NULL));
    abut_bvh_options options = abut_bvh_options_default();
    options.size = 0;
    assert_refused("size", abut_bvh_create(mesh, &options, &bvh));
    assert_null(bvh);
    options.size = sizeof options;
    assert_ok(abut_bvh_create(mesh, &options, &bvh));
    abut_bvh_destroy(bvh);
    abut_bvh_destroy(NULL);
    assert_null(abut_bvh_mesh(NULL));
    assert_int_equal(get_bvh_info(NULL).bytes, 0);
    abut_mesh_destroy(mesh);
}
