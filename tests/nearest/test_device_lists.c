/* Lists from a device: k nearest, all within a radius, all hits, triangles in boxes. The bits of
 * the CPU's results, and no leak if the device or memory fails at any call. */
#include "bvh/device_queries.h"

/* ---- questions with lists of answers ---- */

static double radius; /* of `within` */

typedef struct lists {
    size_t question_bytes, answer_bytes, compared_bytes;
    abut_status (*ask)(const abut_bvh *bvh, const void *questions, size_t count, uint64_t capacity,
                       uint64_t *offsets, void *answers, uint64_t *total);
    /* The obvious way. */
    bool (*holds)(const void *question, const abut_triangle *t);
    size_t triangle_at; /* in an answer */
} lists;

static abut_status ask_within_of(const abut_bvh *bvh, const void *questions, size_t count,
                                 uint64_t capacity, uint64_t *offsets, void *answers,
                                 uint64_t *total) {
    return abut_nearest_within_batch(bvh, abut_array_host(questions), count, radius, capacity,
                                     abut_array_host(offsets), abut_array_host(answers), total);
}

static bool within_holds(const void *question, const abut_triangle *t) {
    abut_closest_on_triangle closest;
    assert_ok(abut_triangle_closest_point(t, *(const abut_vec3 *)question, &closest));
    return closest.distance <= radius;
}

static abut_status ask_rays_of(const abut_bvh *bvh, const void *questions, size_t count,
                               uint64_t capacity, uint64_t *offsets, void *answers,
                               uint64_t *total) {
    return abut_ray_all_batch(bvh, abut_array_host(questions), count, capacity,
                              abut_array_host(offsets), abut_array_host(answers), total);
}

static bool rays_holds(const void *question, const abut_triangle *t) {
    bool meet;
    abut_ray_triangle_hit hit;
    assert_ok(abut_ray_triangle_intersect(question, t, &meet, &hit));
    return meet;
}

static abut_status ask_boxes_of(const abut_bvh *bvh, const void *questions, size_t count,
                                uint64_t capacity, uint64_t *offsets, void *answers,
                                uint64_t *total) {
    return abut_bvh_find_in_box_batch(bvh, abut_array_host(questions), count, capacity,
                                      abut_array_host(offsets), abut_array_host(answers), total);
}

static bool boxes_holds(const void *question, const abut_triangle *t) {
    bool meet;
    assert_ok(abut_box_triangle_intersect(question, t, &meet));
    return meet;
}

enum { WITHIN, RAYS, BOXES, LISTS };

static const lists all_lists[LISTS] = {
    {sizeof(abut_vec3), sizeof(abut_nearest), sizeof(abut_nearest), ask_within_of, within_holds,
     offsetof(abut_nearest, triangle)},
    {sizeof(abut_ray), sizeof(abut_ray_hit), offsetof(abut_ray_hit, triangle) + 4, ask_rays_of,
     rays_holds, offsetof(abut_ray_hit, triangle)},
    {sizeof(abut_box), 4, 4, ask_boxes_of, boxes_holds, 0},
};

static uint64_t answer_count;

/* Every triangle tested separately. */
static void check_slowly(const lists *l, const abut_mesh *mesh, const unsigned char *question,
                         const unsigned char *answers, uint64_t count) {
    uint64_t wanted = 0;
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        abut_triangle triangle = triangle_of(mesh, t);
        wanted += l->holds(question, &triangle);
    }
    assert_int_equal(wanted, count);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t t;
        memcpy(&t, answers + i * l->answer_bytes + l->triangle_at, sizeof t);
        abut_triangle triangle = triangle_of(mesh, t);
        assert_true(l->holds(question, &triangle));
    }
}

static void check_list(const lists *l, const both *b, const void *questions, size_t count,
                       bool slowly) {
    uint64_t *wanted_offsets = malloc((count + 1) * sizeof *wanted_offsets);
    uint64_t *offsets = malloc((count + 1) * sizeof *offsets), total = 77, told = 77;
    assert_true(wanted_offsets && offsets);
    memset(offsets, 0x5a, (count + 1) * sizeof *offsets);
    abut_status status = l->ask(b->bvh, questions, count, 0, NULL, NULL, &total);
    assert_int_equal(status, total ? ABUT_ERROR_BUFFER : ABUT_OK);
    assert_int_equal(status, l->ask(b->there, questions, count, 0, NULL, NULL, &told));
    assert_int_equal(told, total);
    answer_count += total;
    unsigned char *wanted = malloc(total * l->answer_bytes + 1);
    unsigned char *got = malloc(total * l->answer_bytes + 1);
    assert_true(wanted && got);
    assert_ok(l->ask(b->bvh, questions, count, total, wanted_offsets, wanted, &told));
    assert_true(told == total && wanted_offsets[count] == total);
    memset(got, 0x5a, total * l->answer_bytes + 1);
    if (total) {
        told = 77;
        assert_int_equal(ABUT_ERROR_BUFFER,
                         l->ask(b->there, questions, count, total - 1, offsets, got, &told));
        assert_int_equal(told, total);
        for (size_t i = 0; i <= count; i++)
            assert_int_equal(offsets[i], 0x5a5a5a5a5a5a5a5a);
        for (size_t i = 0; i < total * l->answer_bytes; i++)
            assert_int_equal(got[i], 0x5a);
    }
    assert_ok(l->ask(b->there, questions, count, total, offsets, got, &told));
    assert_int_equal(told, total);
    assert_memory_equal(offsets, wanted_offsets, (count + 1) * sizeof *offsets);
    for (uint64_t i = 0; i < total; i++)
        if (memcmp(got + i * l->answer_bytes, wanted + i * l->answer_bytes, l->compared_bytes) != 0)
            fail_msg("list %zu: answer %llu of %llu is another", (size_t)(l - all_lists),
                     (unsigned long long)i, (unsigned long long)total);
    assert_int_equal(got[total * l->answer_bytes], 0x5a);
    for (size_t i = 0; slowly && i < count; i += 7)
        check_slowly(l, b->mesh, (const unsigned char *)questions + i * l->question_bytes,
                     got + offsets[i] * l->answer_bytes, offsets[i + 1] - offsets[i]);
    free(wanted_offsets);
    free(offsets);
    free(wanted);
    free(got);
}

/* Boxes of all sizes: around, on the surface, flat, points, the whole mesh, far away. */
static abut_box *make_boxes(const abut_mesh *mesh, size_t count, uint64_t seed) {
    test_random random = {seed};
    abut_box *boxes = malloc(count * sizeof *boxes);
    assert_non_null(boxes);
    double size = largest_extent(mesh);
    for (size_t i = 0; i < count; i++) {
        double wide = size * pow(10, -test_random_real(&random, 0, 8));
        abut_vec3 a = i % 3 ? target(mesh, &random) : point_around(mesh, &random, 1.5);
        abut_vec3 d = random_vec(&random, wide);
        if (i % 8 < 3)
            (&d.x)[i % 3] = 0;
        if (i % 16 == 5)
            d = vec(0, 0, 0);
        abut_vec3 b = vec(a.x + d.x, a.y + d.y, a.z + d.z);
        if (i % 16 == 9)
            b = i % 32 == 9 ? vec(1e99, -1e99, 1e99) : target(mesh, &random);
        if (i % 64 == 11) { /* all */
            a = vec(-ABUT_COORDINATE_MAX, -ABUT_COORDINATE_MAX, -ABUT_COORDINATE_MAX);
            b = vec(ABUT_COORDINATE_MAX, ABUT_COORDINATE_MAX, ABUT_COORDINATE_MAX);
        }
        boxes[i].lo = vec(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z));
        boxes[i].hi = vec(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z));
        for (int k = 0; k < 6; k++)
            (&boxes[i].lo.x)[k] = clamp((&boxes[i].lo.x)[k]);
    }
    return boxes;
}

/* ---- several nearest ---- */

static void check_most(const both *b, abut_array points, size_t count, double within, uint32_t most,
                       size_t room) {
    size_t bytes = count * room * sizeof(abut_nearest);
    abut_nearest *got = malloc(bytes + 1), *wanted = malloc(bytes + 1);
    uint32_t *counts = malloc((count + 1) * sizeof *counts);
    uint32_t *wanted_counts = malloc((count + 1) * sizeof *wanted_counts);
    assert_true(got && wanted && counts && wanted_counts);
    memset(got, 0x5a, bytes);
    memset(wanted, 0x5a, bytes);
    memset(counts, 0x5a, count * sizeof *counts);
    assert_ok(abut_nearest_k_batch(b->bvh, points, count, within, most, abut_array_host(wanted),
                                   abut_array_host(wanted_counts)));
    assert_ok(abut_nearest_k_batch(b->there, points, count, within, most, abut_array_host(got),
                                   abut_array_host(counts)));
    assert_memory_equal(counts, wanted_counts, count * sizeof *counts);
    assert_nearest(got, wanted, count * room);
    free(got);
    free(wanted);
    free(counts);
    free(wanted_counts);
}

static void check_many(const both *b, const abut_vec3 *list, size_t count) {
    uint32_t all = abut_mesh_triangle_count(b->mesh);
    const uint32_t most[] = {0, 1, 2, 9, all / 2 + 1};
    abut_array points = abut_array_host(list);
    const size_t some = count < 20 ? count : 20;
    for (int i = 0; i < 5; i++)
        check_most(b, points, count, i == 3 ? radius : HUGE_VAL, most[i], most[i]);
    check_most(b, points, some, HUGE_VAL, all, all);
    check_most(b, points, some, HUGE_VAL, all + 3, all + 3);
    check_most(b, points, 1, HUGE_VAL, UINT32_MAX, all);
    float(*floats)[4] = malloc(count * sizeof *floats);
    assert_non_null(floats);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            double x = (&list[i].x)[k];
            floats[i][k] = fabs(x) < FLT_MAX ? (float)x : 0;
        }
    points = abut_array_floats(floats);
    points.stride = sizeof *floats;
    check_most(b, points, count, HUGE_VAL, 4, 4);
    free(floats);
}

/* ---- meshes ---- */

/* Takes the mesh. */
static void check_mesh(abut_mesh *mesh, size_t count, uint64_t seed) {
    both b = make_both(mesh);
    abut_vec3 *points = make_points(mesh, count, seed);
    abut_ray *rays = make_rays(mesh, count, seed);
    abut_box *boxes = make_boxes(mesh, count, seed);
    bool small = abut_mesh_triangle_count(mesh) < 400;
    radius = 0.1 * largest_extent(mesh);
    check_many(&b, points, count);
    check_list(&all_lists[WITHIN], &b, points, count, small);
    check_list(&all_lists[RAYS], &b, rays, count, small);
    check_list(&all_lists[BOXES], &b, boxes, count, small);
    radius = 0;
    check_list(&all_lists[WITHIN], &b, points, count, false);
    radius = HUGE_VAL;
    check_list(&all_lists[WITHIN], &b, points, count < 20 ? count : 20, false);
    free(points);
    free(rays);
    free(boxes);
    free_both(&b);
}

TEST(shapes) {
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 5), test_rounds(160), 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 16), test_rounds(160), 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 100, 3);
    assert_true(answer_count > 3000);
    /* the middle of a sphere: all triangles are equally near */
    both b = make_both(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 16));
    abut_vec3 middles[20] = {{0, 0, 0}};
    for (int i = 1; i < 20; i++)
        middles[i] = vec(ldexp(1, -2 * i), 0, 0);
    check_many(&b, middles, 20);
    free_both(&b);
}

TEST(soups) {
    check_soups_there(check_mesh, 60, 24);
}

TEST(sizes) {
    check_sizes_there(check_mesh, 24);
}

/* A tree that was built on the device answers too, also after a refit. */
TEST(built_there) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4), *moved;
    abut_pose away = {{0.1, 0.2, 0.3, 0.9}, {3, -2, 1}};
    assert_ok(abut_mesh_transform(mesh, 1.75, away, &moved));
    both b = {moved, NULL, NULL};
    assert_ok(abut_bvh_create(moved, NULL, &b.bvh));
    assert_ok(build_there(mesh, &b.there));
    assert_ok(abut_bvh_set_mesh(b.there, moved));
    abut_vec3 *points = make_points(moved, 100, 4);
    abut_ray *rays = make_rays(moved, 100, 4);
    check_many(&b, points, 100);
    check_list(&all_lists[RAYS], &b, rays, 100, false);
    free(points);
    free(rays);
    free_both(&b);
    abut_mesh_destroy(mesh);
}

/* ---- parts, and stopping between them ---- */

/* A device of little memory, so that questions go in parts of a few, as many as there is room for
 * their candidates. */
TEST(parts) {
    enum { COUNT = 200 };
    stopping when = {"rays", 0};
    abut_context *context = stopping_context(&when);
    uint64_t memory = device->info.memory_bytes;
    device->info.memory_bytes = 1;
    both b = make_both(make_shape(context, ABUT_SHAPE_TORUS, 8));
    abut_vec3 *points = make_points(b.mesh, COUNT, 1);
    abut_ray *rays = make_rays(b.mesh, COUNT, 1);
    abut_box *boxes = make_boxes(b.mesh, COUNT, 1);
    radius = 0.2 * largest_extent(b.mesh);
    check_many(&b, points, COUNT / 4);
    check_list(&all_lists[WITHIN], &b, points, COUNT, false);
    check_list(&all_lists[RAYS], &b, rays, COUNT, false);
    check_list(&all_lists[BOXES], &b, boxes, COUNT, false);
    uint64_t offsets[COUNT + 1], total;
    when.reports = 2;
    assert_int_equal(abut_ray_all_batch(b.there, abut_array_host(rays), COUNT, 0,
                                        abut_array_host(offsets), abut_array_host(NULL), &total),
                     ABUT_ERROR_CANCELLED);
    assert_int_equal(when.reports, 0);
    when.reports = 1;
    assert_int_equal(abut_ray_all_batch(b.bvh, abut_array_host(rays), COUNT, 0,
                                        abut_array_host(offsets), abut_array_host(NULL), &total),
                     ABUT_ERROR_CANCELLED);
    device->info.memory_bytes = memory;
    free(points);
    free(rays);
    free(boxes);
    free_both(&b);
    abut_context_destroy(context);
}

/* ---- failures ---- */

enum { ASKED = 16, MOST = 3, ROOM = 4000 };

typedef struct asking {
    abut_vec3 *points;
    abut_ray *rays;
    abut_box *boxes;
    abut_nearest many[ASKED * MOST], within[ROOM];
    abut_ray_hit hits[ROOM];
    uint32_t triangles[ROOM], counts[ASKED];
    uint64_t offsets[3][ASKED + 1], total;
} asking;

static abut_status ask_many(abut_bvh *there, void *data) {
    asking *a = data;
    const abut_array points = abut_array_host(a->points);
    return abut_nearest_k_batch(there, points, ASKED, HUGE_VAL, MOST, abut_array_host(a->many),
                                abut_array_host(a->counts));
}

static abut_status ask_within(abut_bvh *there, void *data) {
    asking *a = data;
    return ask_within_of(there, a->points, ASKED, ROOM, a->offsets[0], a->within, &a->total);
}

static abut_status ask_rays(abut_bvh *there, void *data) {
    asking *a = data;
    return ask_rays_of(there, a->rays, ASKED, ROOM, a->offsets[1], a->hits, &a->total);
}

static abut_status ask_boxes(abut_bvh *there, void *data) {
    asking *a = data;
    return ask_boxes_of(there, a->boxes, ASKED, ROOM, a->offsets[2], a->triangles, &a->total);
}

static asking *make_asking(const abut_mesh *mesh) {
    asking *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->points = make_points(mesh, ASKED, 3);
    a->rays = make_rays(mesh, ASKED, 3);
    a->boxes = make_boxes(mesh, ASKED, 3);
    radius = 0.1 * largest_extent(mesh);
    return a;
}

static void free_asking(asking *a) {
    free(a->points);
    free(a->rays);
    free(a->boxes);
    free(a);
}

TEST(failing_device) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    abut_bvh *bvh = hierarchy(mesh);
    asking *a = make_asking(mesh), *wanted = make_asking(mesh);
    const abut_array points = abut_array_host(a->points);
    assert_ok(abut_nearest_k_batch(bvh, points, ASKED, HUGE_VAL, MOST,
                                   abut_array_host(wanted->many), abut_array_host(wanted->counts)));
    assert_ok(abut_nearest_within_batch(bvh, points, ASKED, radius, ROOM,
                                        abut_array_host(wanted->offsets[0]),
                                        abut_array_host(wanted->within), &wanted->total));
    assert_ok(abut_ray_all_batch(bvh, abut_array_host(a->rays), ASKED, ROOM,
                                 abut_array_host(wanted->offsets[1]), abut_array_host(wanted->hits),
                                 &wanted->total));
    assert_ok(abut_bvh_find_in_box_batch(bvh, abut_array_host(a->boxes), ASKED, ROOM,
                                         abut_array_host(wanted->offsets[2]),
                                         abut_array_host(wanted->triangles), &wanted->total));
    check_failing(bvh, false, ask_many, a);
    check_failing(bvh, false, ask_within, a);
    check_failing(bvh, false, ask_rays, a);
    check_failing(bvh, false, ask_boxes, a);
    assert_nearest(a->many, wanted->many, ASKED * MOST);
    assert_memory_equal(a->counts, wanted->counts, sizeof a->counts);
    assert_memory_equal(a->offsets, wanted->offsets, sizeof a->offsets);
    assert_nearest(a->within, wanted->within, wanted->offsets[0][ASKED]);
    assert_hits(a->hits, wanted->hits, wanted->offsets[1][ASKED]);
    assert_memory_equal(a->triangles, wanted->triangles, sizeof a->triangles);
    free_asking(a);
    free_asking(wanted);
    abut_bvh_destroy(bvh);
}

static abut_status make_and_ask(abut_context *context, void *data) {
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_bvh *there = NULL;
    abut_status status = abut_shape_create(context, &box, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status : abuti_bvh_copy_to_device(bvh, device, &there);
    status = status ? status : ask_many(there, data);
    status = status ? status : ask_within(there, data);
    status = status ? status : ask_rays(there, data);
    status = status ? status : ask_boxes(there, data);
    abut_bvh_destroy(there);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(no_memory) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    asking *a = make_asking(mesh);
    assert_true(test_every_allocation(make_and_ask, a) > 8);
    free_asking(a);
    abut_mesh_destroy(mesh);
}

/* ---- bad arguments ---- */

TEST(bad_arguments) {
    both b = make_both(make_shape(NULL, ABUT_SHAPE_BOX, 1));
    abut_vec3 list[2] = {{0, 0, 0}, {0, NAN, 0}};
    abut_ray rays[2] = {{{0, 0, 0}, {1, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    abut_box boxes[2] = {{{0, 0, 0}, {1, 1, 1}}, {{0, 2, 0}, {1, 1, 1}}};
    abut_nearest nearest[4], kept;
    abut_ray_hit hits[4];
    uint32_t counts[2] = {77, 77}, triangles[20] = {77};
    uint64_t offsets[3] = {77, 77, 77}, total = 77;
    memset(nearest, 0x5a, sizeof nearest);
    kept = nearest[0];
    const abut_array points = abut_array_host(list), none = abut_array_host(NULL);
    assert_refused("point 1",
                   abut_nearest_k_batch(b.there, points, 2, 1, 2, abut_array_host(nearest),
                                        abut_array_host(counts)));
    assert_refused("point 1",
                   abut_nearest_within_batch(b.there, points, 2, 1, 2, abut_array_host(offsets),
                                             abut_array_host(nearest), &total));
    assert_refused("bvh is null",
                   abut_nearest_k_batch(NULL, points, 1, 1, 2, abut_array_host(nearest),
                                        abut_array_host(counts)));
    assert_refused("points is null",
                   abut_nearest_k_batch(b.there, none, 1, 1, 2, abut_array_host(nearest),
                                        abut_array_host(counts)));
    assert_refused("nearest is null",
                   abut_nearest_k_batch(b.there, points, 1, 1, 2, abut_array_host(NULL),
                                        abut_array_host(counts)));
    assert_refused("counts is null",
                   abut_nearest_k_batch(b.there, points, 1, 1, 2, abut_array_host(nearest),
                                        abut_array_host(NULL)));
    assert_refused("radius is nan",
                   abut_nearest_k_batch(b.there, points, 1, NAN, 2, abut_array_host(nearest),
                                        abut_array_host(counts)));
    assert_refused("bvh is null",
                   abut_nearest_within_batch(NULL, points, 1, 1, 2, abut_array_host(offsets),
                                             abut_array_host(nearest), &total));
    assert_refused("offsets is null",
                   abut_nearest_within_batch(b.there, points, 1, 1, 2, abut_array_host(NULL),
                                             abut_array_host(nearest), &total));
    assert_refused("nearest is null, but capacity is 2",
                   abut_nearest_within_batch(b.there, points, 1, 1, 2, abut_array_host(offsets),
                                             abut_array_host(NULL), &total));
    assert_refused("radius is -1",
                   abut_nearest_within_batch(b.there, points, 1, -1, 2, abut_array_host(offsets),
                                             abut_array_host(nearest), &total));
    assert_refused("ray 1: direction is zero",
                   abut_ray_all_batch(b.there, abut_array_host(rays), 2, 4,
                                      abut_array_host(offsets), abut_array_host(hits), &total));
    assert_refused("rays is null",
                   abut_ray_all_batch(b.there, abut_array_host(NULL), 2, 4,
                                      abut_array_host(offsets), abut_array_host(hits), &total));
    assert_refused("bvh is null",
                   abut_ray_all_batch(NULL, abut_array_host(rays), 1, 4, abut_array_host(offsets),
                                      abut_array_host(hits), &total));
    assert_refused("hits is null",
                   abut_ray_all_batch(b.there, abut_array_host(rays), 1, 4,
                                      abut_array_host(offsets), abut_array_host(NULL), &total));
    assert_refused("boxes[1] has lo",
                   abut_bvh_find_in_box_batch(b.there, abut_array_host(boxes), 2, 4,
                                              abut_array_host(offsets), abut_array_host(triangles),
                                              &total));
    assert_refused("boxes is null", abut_bvh_find_in_box_batch(b.there, abut_array_host(NULL), 2, 4,
                                                               abut_array_host(offsets),
                                                               abut_array_host(triangles), &total));
    assert_refused("bvh is null", abut_bvh_find_in_box_batch(NULL, abut_array_host(boxes), 1, 4,
                                                             abut_array_host(offsets),
                                                             abut_array_host(triangles), &total));
    assert_refused("offsets is null",
                   abut_bvh_find_in_box_batch(b.there, abut_array_host(boxes), 1, 4,
                                              abut_array_host(NULL), abut_array_host(triangles),
                                              &total));
    assert_true(counts[0] == 77 && offsets[0] == 77 && triangles[0] == 77 && total == 77);
    assert_memory_equal(&nearest[0], &kept, sizeof kept);
    assert_ok(
        abut_nearest_k_batch(b.there, none, 0, 1, 2, abut_array_host(NULL), abut_array_host(NULL)));
    assert_ok(abut_nearest_within_batch(b.there, none, 0, 1, 0, abut_array_host(offsets),
                                        abut_array_host(NULL), &total));
    assert_int_equal(offsets[0], 0);
    offsets[0] = 77;
    assert_ok(abut_ray_all_batch(b.there, abut_array_host(NULL), 0, 0, abut_array_host(offsets),
                                 abut_array_host(NULL), &total));
    assert_int_equal(offsets[0], 0);
    offsets[0] = 77;
    assert_ok(abut_bvh_find_in_box_batch(b.there, abut_array_host(NULL), 0, 0,
                                         abut_array_host(offsets), abut_array_host(NULL), &total));
    assert_int_equal(offsets[0], 0);
    free_both(&b);
}

/* A device without doubles says by name what it cannot do. */
TEST(no_doubles) {
    both b = make_both(make_shape(NULL, ABUT_SHAPE_BOX, 1));
    abut_vec3 list[1] = {{0, 0, 0}};
    abut_ray rays[1] = {{{0, 0, 0}, {1, 0, 0}}};
    abut_box boxes[1] = {{{0, 0, 0}, {1, 1, 1}}};
    abut_nearest nearest[4];
    abut_ray_hit hits[4];
    uint32_t counts[2], triangles[20];
    uint64_t offsets[3], total;
    const abut_array points = abut_array_host(list);
    abut_bvh_destroy(b.there);
    bool doubles = device->info.has_doubles;
    device->info.has_doubles = false;
    assert_ok(abuti_bvh_copy_to_device(b.bvh, device, &b.there));
    assert_fails(ABUT_ERROR_DEVICE, "abut_nearest_k_batch",
                 abut_nearest_k_batch(b.there, points, 1, 1, 2, abut_array_host(nearest),
                                      abut_array_host(counts)));
    assert_fails(ABUT_ERROR_DEVICE, "abut_nearest_within_batch",
                 abut_nearest_within_batch(b.there, points, 1, 1, 2, abut_array_host(offsets),
                                           abut_array_host(nearest), &total));
    assert_fails(ABUT_ERROR_DEVICE, "abut_ray_all_batch",
                 abut_ray_all_batch(b.there, abut_array_host(rays), 1, 4, abut_array_host(offsets),
                                    abut_array_host(hits), &total));
    assert_fails(ABUT_ERROR_DEVICE, "abut_bvh_find_in_box_batch",
                 abut_bvh_find_in_box_batch(b.there, abut_array_host(boxes), 1, 4,
                                            abut_array_host(offsets), abut_array_host(triangles),
                                            &total));
    device->info.has_doubles = doubles;
    free_both(&b);
}

int main(void) {
    RUN_THERE();
}
