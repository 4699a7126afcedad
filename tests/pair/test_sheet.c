/* One rule for open surfaces: a sheet, whose holes exceed a tenth of its area, has no inside, and
 * every function that compares bodies says so; small holes leave an inside. */
#include "apps/get.h"
#include "bvh/meshes.h"

#include "bvh/bvh.h"

#include <abut/abut.h>

static void assert_near(double wanted, double got, double within) {
    if (!(fabs(wanted - got) <= within))
        fail_msg("%.17g instead of %.17g", got, wanted);
}

/* ---- meshes ---- */

typedef bool keep_triangle(const abut_vec3 *corner, uint32_t triangle);

/* A shape without some of its triangles; `soup`: triangles without shared vertices. */
static abut_mesh *cut_open(abut_shape shape, keep_triangle *keep, bool soup) {
    AUTO(mesh) whole = NULL;
    assert_ok(abut_shape_create(NULL, &shape, &whole));
    const uint32_t count = abut_mesh_triangle_count(whole);
    AUTO_FREE abut_vec3 *corners = malloc(3 * (size_t)count * sizeof *corners);
    uint32_t kept = 0;
    assert_non_null(corners);
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t *from = abut_mesh_indices(whole) + 3 * (size_t)t;
        for (uint32_t k = 0; k < 3; k++)
            corners[3 * kept + k] = abut_mesh_local_positions(whole)[from[k]];
        kept += keep(corners + 3 * (size_t)kept, t);
    }
    abut_mesh *mesh = make_soup(NULL, corners, kept), *welded = NULL;
    if (soup)
        return mesh;
    assert_ok(abut_mesh_weld(mesh, 0, &welded));
    abut_mesh_destroy(mesh);
    return welded;
}

static abut_shape shape_of(abut_shape_kind kind, double size, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    shape.extent = vec(size, size, size);
    shape.radius = size / 2;
    shape.segments = segments;
    return shape;
}

static bool below_top(const abut_vec3 *c, uint32_t t) {
    return !(c[0].z > 1.99 && c[1].z > 1.99 && c[2].z > 1.99);
}

static bool not_first(const abut_vec3 *c, uint32_t t) {
    return t != 0;
}

static bool not_windows(const abut_vec3 *c, uint32_t t) {
    const double x = c[0].x + c[1].x + c[2].x, z = c[0].z + c[1].z + c[2].z;
    return !(z > 0.5 && fabs(x) > 0.5) && z > -4 && t % 7;
}

/* Five walls of a box of 4. */
static abut_mesh *room(bool soup) {
    return cut_open(shape_of(ABUT_SHAPE_BOX, 4, 4), below_top, soup);
}

/* A box of 4 with a hole of one of 768 triangles. */
static abut_mesh *box_with_hole(bool soup) {
    return cut_open(shape_of(ABUT_SHAPE_BOX, 4, 8), not_first, soup);
}

/* A body with windows, without a floor, and with cracks, as models of cars are. */
static abut_mesh *car(void) {
    return cut_open(shape_of(ABUT_SHAPE_ICOSPHERE, 4, 8), not_windows, false);
}

static abut_mesh *robot(void) {
    abut_mesh *mesh = NULL;
    const abut_shape shape = shape_of(ABUT_SHAPE_ICOSPHERE, 0.6, 4);
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static double hole_share(abut_mesh *mesh) {
    const abut_mesh_report report = test_examine(mesh);
    assert_int_equal(report.is_sheet,
                     !strncmp(abut_pair_reliability(&report).reason, "A sheet", 7));
    return report.hole_fraction;
}

static abut_bvh *create_bvh(abut_mesh *mesh) {
    abut_bvh *bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

/* ---- every function about two bodies ---- */

typedef struct levels {
    abut_pair_relation relation;
    abut_reliability_level level;
    const char *reason;
    double distance;
} levels;

static void check_reason(const levels *wanted, abut_reliability reliability) {
    assert_int_equal(wanted->level, reliability.level);
    if (!strstr(reliability.reason, wanted->reason))
        fail_msg("'%s' does not say '%s'", reliability.reason, wanted->reason);
}

static void check_pairs(const abut_collider *a, const abut_collider *b, const levels *wanted) {
    abut_overlap overlap;
    abut_separation apart, many;
    abut_pair_relation relation;
    abut_reliability reliability;
    bool within;
    assert_ok(abut_pair_overlap(a, b, NULL, NULL, &overlap));
    assert_int_equal(wanted->relation, overlap.relation);
    check_reason(wanted, overlap.reliability);
    assert_ok(abut_pair_distance(a, b, NULL, NULL, &apart));
    assert_int_equal(wanted->relation, apart.relation);
    check_reason(wanted, apart.reliability);
    assert_near(wanted->distance, apart.distance, 0.05);
    assert_ok(abut_pair_within(a, b, 0.1, NULL, NULL, &within, &reliability));
    assert_int_equal(wanted->relation != ABUT_PAIR_APART, within);
    check_reason(wanted, reliability);
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = a->shape.body.bvh;
    poses.b = b->shape.body.bvh;
    poses.poses_a = &a->pose;
    poses.poses_b = &b->pose;
    poses.count = 1;
    assert_ok(abut_pair_overlap_batch(&poses, NULL, &relation, &reliability));
    assert_int_equal(wanted->relation, relation);
    check_reason(wanted, reliability);
    assert_ok(abut_pair_distance_batch(&poses, NULL, &many));
    assert_int_equal(wanted->relation, many.relation);
    check_reason(wanted, many.reliability);
    assert_ok(abut_pair_within_batch(&poses, 0.1, NULL, &within, &reliability));
    assert_int_equal(wanted->relation != ABUT_PAIR_APART, within);
    check_reason(wanted, reliability);
}

static uint64_t count_patches(const abut_collider *a, const abut_collider *b) {
    abut_patch list[16];
    abut_contact contacts[64];
    abut_patches patches = {.size = sizeof patches,
                            .patches.list = list,
                            .patches.capacity = 16,
                            .contacts.list = contacts,
                            .contacts.capacity = 64};
    assert_ok(abut_contact_find(a, b, NULL, &patches));
    return patches.patches.count;
}

static uint64_t count_ball_patches(const abut_collider *a) {
    abut_collider ball = {.kind = ABUT_COLLIDER_SPHERE};
    ball.shape.sphere.radius = 0.3;
    return count_patches(a, &ball);
}

static uint64_t count_world_contacts(abut_mesh *outer, abut_mesh *inner) {
    abut_world_options options = abut_world_options_default();
    AUTO(world) world = NULL;
    abut_mesh *meshes[2] = {outer, inner};
    abut_contact list[1024];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 1024};
    assert_ok(abut_world_create(NULL, &options, &world));
    for (int i = 0; i < 2; i++) {
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.collider.kind = ABUT_COLLIDER_MESH;
        item.collider.shape.mesh.mesh = meshes[i];
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_ok(abut_world_contacts(world, &found));
    return found.count;
}

static void check_sweep(const abut_bvh *outer, const abut_bvh *inner, const levels *wanted) {
    const abut_collider a = abut_collider_from_bvh(outer, abut_pose_identity()),
                        b = abut_collider_from_bvh(inner, abut_pose_identity());
    const abut_pose end = {{0, 0, 0, 1}, {1, 0, 0}};
    abut_sweep_rigid_result touch;
    assert_ok(abut_sweep_rigid(&a, NULL, &b, &end, NULL, &touch));
    assert_int_equal(wanted->relation != ABUT_PAIR_APART, touch.hit);
    check_reason(wanted, touch.reliability);
}

static void check_all(abut_mesh *outer, const levels *wanted) {
    AUTO(mesh) inner = robot();
    const bool inside = wanted->relation != ABUT_PAIR_APART;
    AUTO(bvh) a = create_bvh(abut_mesh_retain(outer)), *b = create_bvh(abut_mesh_retain(inner));
    const abut_collider at[2] = {abut_collider_from_bvh(a, abut_pose_identity()),
                                 abut_collider_from_bvh(b, abut_pose_identity())};
    abut_pair_measures common = abut_pair_measures_default();
    check_pairs(&at[0], &at[1], wanted);
    const levels swapped = {inside ? ABUT_PAIR_A_INSIDE : ABUT_PAIR_APART, wanted->level,
                            !strncmp(wanted->reason, "Mesh a", 6) ? "Mesh b" : wanted->reason,
                            wanted->distance};
    check_pairs(&at[1], &at[0], &swapped);
    assert_ok(abut_pair_measure(&at[0], &at[1], NULL, &common));
    assert_int_equal(inside ? ABUT_PAIR_KIND_B_INSIDE : ABUT_PAIR_KIND_APART, common.kind);
    assert_int_equal(inside, count_patches(&at[0], &at[1]) > 0);
    assert_int_equal(inside, count_ball_patches(&at[0]) > 0);
    assert_int_equal(inside, count_world_contacts(outer, inner) > 0);
    check_sweep(a, b, wanted);
    abut_mesh_destroy(outer);
}

/* The walls are 1.7 from a robot in the middle of a scanned room. */
TEST(robot_in_an_open_room_is_apart) {
    const levels wanted = {ABUT_PAIR_APART, ABUT_RELIABILITY_GUARANTEED, "Mesh a is a sheet", 1.7};
    AUTO(mesh) mesh = room(false);
    assert_near(hole_share(mesh), 16 * 16 / (16 * atan(1)) / 80, 1e-12);
    check_all(room(false), &wanted);
    check_all(room(true), &wanted);
}

TEST(small_hole_leaves_an_inside) {
    const levels wanted = {ABUT_PAIR_B_INSIDE, ABUT_RELIABILITY_LIMITED, "Mesh a is not closed", 0};
    AUTO(mesh) mesh = box_with_hole(false);
    assert_true(hole_share(mesh) < 0.01);
    check_all(box_with_hole(false), &wanted);
    check_all(box_with_hole(true), &wanted); /* also if no vertex is shared */
}

TEST(robot_in_a_car_is_apart) {
    const levels wanted = {ABUT_PAIR_APART, ABUT_RELIABILITY_GUARANTEED, "Mesh a is a sheet", 1.65};
    AUTO(mesh) mesh = car();
    assert_true(hole_share(mesh) > 0.3);
    check_all(car(), &wanted);
}

/* ---- the share ---- */

/* Cells of a grid of 16 x 16 that stay, on a sheet of 16 x 16. */
static abut_mesh *grid(bool (*stays)(uint32_t, uint32_t), double scale) {
    enum { N = 16 };
    abut_vec3 positions[(N + 1) * (N + 1)];
    uint32_t indices[2 * N * N][3], count = 0;
    for (uint32_t i = 0; i < (N + 1) * (N + 1); i++)
        positions[i] = vec(scale * (i % (N + 1)), scale * (i / (N + 1)), 0);
    for (uint32_t y = 0; y < N; y++)
        for (uint32_t x = 0; x < N; x++) {
            const uint32_t a = y * (N + 1) + x, c = a + N + 2;
            const uint32_t two[2][3] = {{a, a + 1, c}, {a, c, c - 1}};
            if (stays(x, y))
                memcpy(indices[2 * count++], two, sizeof two);
        }
    return test_mesh(NULL, positions, (N + 1) * (N + 1), indices, 2 * count);
}

static bool all_stay(uint32_t x, uint32_t y) {
    return true;
}

/* Two holes that touch in a vertex, which count as two. */
static bool two_go(uint32_t x, uint32_t y) {
    return !((x == 3 && y == 3) || (x == 4 && y == 4));
}

TEST(share_of_holes_is_known) {
    const double pi = 4 * atan(1), outside = 64 * 64 / (4 * pi);
    AUTO(mesh) whole = grid(all_stay, 1), *two = grid(two_go, 1);
    assert_near(hole_share(whole), outside / 256, 1e-12);
    assert_near(hole_share(two), (outside + 2 * 16 / (4 * pi)) / 254, 1e-12);
    const double scales[] = {1e-90, 1e-70, 1e-45, 1e45, 1e88};
    for (size_t i = 0; i < 5; i++) {
        AUTO(mesh) scaled = grid(two_go, scales[i]);
        assert_near(hole_share(scaled), hole_share(two), 1e-9);
    }
}

/* Neighbours that face opposite ways have no hole between them; a sheet stays one if some do. */
TEST(turned_triangles_are_no_holes) {
    abut_shape shape = shape_of(ABUT_SHAPE_BOX, 4, 4);
    abut_mesh *box = NULL, *open = room(false), *meshes[2], *ball_mesh = robot();
    assert_ok(abut_shape_create(NULL, &shape, &box));
    meshes[0] = box;
    meshes[1] = open;
    AUTO(bvh) ball = create_bvh(ball_mesh);
    for (int i = 0; i < 2; i++) {
        const uint32_t count = abut_mesh_triangle_count(meshes[i]);
        AUTO_FREE uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices);
        memcpy(indices, abut_mesh_indices(meshes[i]), 3 * (size_t)count * sizeof *indices);
        for (uint32_t t = 0; t < count; t += 5) {
            const uint32_t kept = indices[3 * t];
            indices[3 * t] = indices[3 * t + 1];
            indices[3 * t + 1] = kept;
        }
        abut_mesh *turned = test_mesh(NULL, abut_mesh_local_positions(meshes[i]),
                                      abut_mesh_vertex_count(meshes[i]), indices, count);
        assert_near(hole_share(meshes[i]), hole_share(turned), 1e-12);
        AUTO(bvh) bvh = create_bvh(turned);
        const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                            b = abut_collider_from_bvh(ball, abut_pose_identity());
        abut_overlap overlap;
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
        assert_int_equal(i ? ABUT_RELIABILITY_GUARANTEED : ABUT_RELIABILITY_UNRELIABLE,
                         overlap.reliability.level);
        if (i)
            assert_int_equal(ABUT_PAIR_APART, overlap.relation);
        abut_mesh_destroy(meshes[i]);
    }
}

/* A closed box with a wall across its inside, whose edges have three faces each, has no hole; nor
 * has one with a fin of a hundredth of its area much of one. */
TEST(extra_faces_are_no_holes) {
    abut_shape shape = shape_of(ABUT_SHAPE_BOX, 4, 2);
    AUTO(mesh) box = NULL;
    assert_ok(abut_shape_create(NULL, &shape, &box));
    const uint32_t vertices = abut_mesh_vertex_count(box), count = abut_mesh_triangle_count(box);
    for (int fin = 0; fin < 2; fin++) {
        AUTO_FREE abut_vec3 *positions = malloc((vertices + 4) * sizeof *positions);
        uint32_t(*indices)[3] = malloc((count + 8) * sizeof *indices), used = count, ring[8];
        assert_true(positions && indices);
        memcpy(positions, abut_mesh_local_positions(box), vertices * sizeof *positions);
        memcpy(indices, abut_mesh_indices(box), count * sizeof *indices);
        positions[vertices] = fin ? vec(2.4, 0, 1) : vec(0, 0, 0);
        static const int around[8][2] = {{-2, -2}, {0, -2}, {2, -2}, {2, 0},
                                         {2, 2},   {0, 2},  {-2, 2}, {-2, 0}};
        for (uint32_t k = 0; k < 8; k++) { /* the vertices of the box in the plane z = 0 */
            ring[k] = 0;
            while (positions[ring[k]].z != 0 || positions[ring[k]].x != around[k][0] ||
                   positions[ring[k]].y != around[k][1])
                ring[k]++;
        }
        for (uint32_t k = 0; k < (fin ? 1u : 8u); k++) {
            const uint32_t triangle[3] = {ring[fin ? 3 : k], ring[fin ? 4 : (k + 1) % 8], vertices};
            memcpy(indices[used++], triangle, sizeof triangle);
        }
        abut_mesh *extra = test_mesh(NULL, positions, vertices + 1, indices, used);
        const double share = hole_share(extra);
        assert_true(fin ? share > 0.01 && share < 0.1 : share == 0);
        AUTO(bvh) bvh = create_bvh(extra), *ball = create_bvh(robot());
        const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                            b = abut_collider_from_bvh(ball,
                                                       (abut_pose){{0, 0, 0, 1}, {0.5, -0.5, 1}});
        abut_overlap overlap;
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
        assert_int_equal(ABUT_PAIR_B_INSIDE, overlap.relation);
        assert_int_equal(ABUT_RELIABILITY_LIMITED, overlap.reliability.level);
        free(indices);
    }
}

/* A hole that grows when the vertices move. */
TEST(refit_measures_holes_again) {
    abut_mesh *small = box_with_hole(false), *large = NULL;
    const uint32_t count = abut_mesh_vertex_count(small);
    AUTO_FREE abut_vec3 *moved = malloc(count * sizeof *moved);
    uint32_t boundary[3] = {0, 0, 0}, used = 0;
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(small, &topology));
    const abut_topology_arrays view = get_topology_arrays(topology);
    assert_int_equal(1, view.loop_count);
    for (uint32_t i = view.loop_begin[0]; i < view.loop_begin[1] && used < 3; i++)
        boundary[used++] = view.loop_vertices[i];
    memcpy(moved, abut_mesh_local_positions(small), count * sizeof *moved);
    for (uint32_t i = 0; i < 3; i++) /* far from each other, around the body */
        moved[boundary[i]] = vec(9 * cos(2.1 * i), 9 * sin(2.1 * i), 9);
    large = test_mesh(NULL, moved, count, (const uint32_t(*)[3])abut_mesh_indices(small),
                      abut_mesh_triangle_count(small));
    AUTO(bvh) bvh = create_bvh(abut_mesh_retain(small)), *ball = create_bvh(robot());
    const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                        b = abut_collider_from_bvh(ball, abut_pose_identity());
    abut_overlap overlap;
    assert_true(hole_share(large) > ABUT_SHEET_HOLE_FRACTION);
    for (int round = 0; round < 4; round++) {
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
        assert_int_equal(round % 2 ? ABUT_PAIR_APART : ABUT_PAIR_B_INSIDE, overlap.relation);
        assert_ok(abut_bvh_set_mesh(bvh, round % 2 ? small : large));
    }
    abut_mesh_destroy(small);
    abut_mesh_destroy(large);
}

static abut_status ask_room(abut_context *context, void *data) {
    AUTO(mesh) mesh = NULL;
    AUTO(bvh) bvh = NULL;
    const bvh_interior *interior = NULL;
    const abut_mesh_input input =
        abut_mesh_input_doubles(abut_mesh_local_positions(data), abut_mesh_vertex_count(data),
                                abut_mesh_indices(data), abut_mesh_triangle_count(data));
    abut_status status = abut_mesh_create(context, &input, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status : abuti_bvh_interior(bvh, &interior);
    assert_true(status || (interior->has_sheets && !interior->has_solids));
    return status;
}

TEST(memory_may_run_out) {
    AUTO(mesh) mesh = room(false);
    assert_true(test_every_allocation(ask_room, mesh) > 5);
}
