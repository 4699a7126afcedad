/* Layers against rays through every pixel and against exact overlaps; and known volumes. */
#include "layers/layers_shared.h"
#include "layers/scene.h"

#include <time.h>

static abut_layers_query one_view(const abut_raster_view *view) {
    abut_layers_query query = abut_layers_query_default();
    query.views = view;
    query.view_count = 1;
    return query;
}

/* ---- against rays ---- */

static void check_pair(const reference *r, const reference_pair *p, const abut_layers_pair *found) {
    double area = r->view.pixel * r->view.pixel, depth = r->view.depth;
    uint64_t pixels = found ? found->pixels : 0;
    double length = found ? found->length : 0, volume = found ? found->volume : 0,
           eps = 1e-7 * depth;
    if (!p->pixels && !p->doubt_pixels)
        assert_null(found);
    assert_in_range(pixels, p->pixels, p->pixels + p->doubt_pixels);
    assert_true(length >= p->length - eps);
    assert_true(length <= fmax(p->length, p->doubt_length) + eps);
    assert_true(volume >= p->volume - eps * area * (double)(pixels + 1));
    assert_true(volume <= p->volume + p->doubt_volume + eps * area * (double)(pixels + 1));
    if (!found || p->doubt_pixels)
        return;
    assert_int_equal(found->intervals, p->intervals);
    assert_int_equal(found->view_count, 1);
    assert_true(fabs(found->mean_length - volume / area / (double)pixels) < eps);
    assert_true(fabs(found->depth - length) < eps);
    vec3 centre = v3_scale(p->moment, 1 / p->volume);
    assert_true(v3_length(v3_sub(found->centre, centre)) < 1e-6 * depth);
    for (int k = 0; k < 3; k++) {
        assert_true(v3_get(found->box.lo, k) <= v3_get(p->box.lo, k) + eps);
        assert_true(v3_get(found->box.hi, k) >= v3_get(p->box.hi, k) - eps);
    }
}

static uint64_t check_scene(const scene *s, const abut_raster_view *view, bool every_pixel) {
    static abut_layers_pair pairs[PAIRS_MAX], own[PAIRS_MAX];
    abut_layers_query query = one_view(view);
    query.find_self = every_pixel;
    abut_layers_result found = find_pairs(s->layers, &query, pairs, own);
    reference *r = scene_reference(s, view, found.tolerance);
    for (uint32_t a = 0; a < s->count; a++) {
        for (uint32_t b = a + 1; b < s->count; b++)
            check_pair(r, &r->pairs[a][b], pair_of(pairs, found.pairs.count, a, b));
        if (every_pixel)
            check_pair(r, &r->pairs[a][a], pair_of(own, found.own.count, a, a));
    }
    assert_true(fabs(found.tolerance - 1e-6 * r->view.depth) < 1e-8 * r->view.depth);
    reference_free(r);
    return found.pairs.count;
}

TEST(random_scenes_agree_with_rays) {
    test_random random = {1};
    uint64_t pairs = 0;
    for (uint32_t round = 0; round < test_rounds(320); round++) {
        scene s;
        scene_random(&s, &random, 2 + test_random_below(&random, 9), round % 3 ? 0.7 : 1.4);
        scene_begin(&s, serial);
        /* Every third view cuts solids off, in front, behind and at the sides. */
        abut_raster_view view = random_view(&random, round % 3 == 2 ? 0.6 : 3, 24 + round % 40);
        pairs += check_scene(&s, &view, round % 2);
        scene_end(&s);
    }
    assert_true(pairs > 200);
}

TEST(changes_are_seen) {
    test_random random = {2};
    scene s;
    scene_random(&s, &random, 10, 0.8);
    scene_begin(&s, serial);
    abut_raster_view view = random_view(&random, 3, 40);
    for (uint32_t round = 0; round < test_rounds(80); round++) {
        uint32_t ids[2] = {test_random_below(&random, s.count),
                           test_random_below(&random, s.count)};
        abut_pose poses[2] = {random_pose(&random, 0.8), random_pose(&random, 0.8)};
        s.poses[ids[0]] = poses[0]; /* of an id that comes twice the last stays */
        s.poses[ids[1]] = poses[1];
        assert_ok(abut_layers_set_poses(s.layers, ids, abut_array_host(poses), 2));
        uint32_t id = test_random_below(&random, s.count);
        if (round % 3 == 0) {
            scene_deform(&s, id, test_random_real(&random, -0.2, 0.2));
            assert_ok(abut_layers_set_positions(s.layers, id, abut_array_host(s.deformed[id])));
        } else if (round % 3 == 1 && s.deformed[id]) {
            free(s.deformed[id]);
            s.deformed[id] = NULL;
            assert_ok(abut_layers_set_positions(s.layers, id, abut_array_host(NULL)));
        } else if (round % 3 == 2) {
            assert_ok(abut_layers_remove(s.layers, id));
            assert_refused("", abut_layers_remove(s.layers, id));
            free(s.deformed[id]);
            s.deformed[id] = NULL;
            s.model[id] = test_random_below(&random, MODELS);
            abut_layers_item item = scene_item(&s, id);
            uint32_t again;
            assert_ok(abut_layers_add(s.layers, &item, &again));
            assert_int_equal(again, id);
        }
        check_scene(&s, &view, false);
    }
    scene_end(&s);
}

static void assert_same(const abut_layers_pair *p, const abut_layers_pair *q) {
    assert_true(p->a == q->a && p->b == q->b && p->relation == q->relation);
    assert_true(p->view_count == q->view_count && p->pixels == q->pixels);
    assert_true(p->intervals == q->intervals);
    assert_true(p->edges_a == q->edges_a && p->edges_b == q->edges_b);
    size_t measures = offsetof(abut_layers_pair, normal) - offsetof(abut_layers_pair, length);
    assert_memory_equal(&p->length, &q->length, measures);
    assert_memory_equal(&p->normal, &q->normal, sizeof p->normal);
    assert_memory_equal(&p->centre, &q->centre, sizeof p->centre);
    assert_memory_equal(&p->box, &q->box, sizeof p->box);
}

/* Where boxes of solids do not overlap nothing is looked at, and the answers are the same. */
TEST(culled_pixels_have_nothing) {
    test_random random = {3};
    uint64_t fragments[2] = {0, 0};
    for (uint32_t round = 0; round < test_rounds(64); round++) {
        static abut_layers_pair pairs[2][PAIRS_MAX], own[2][PAIRS_MAX];
        abut_layers_query query = abut_layers_query_default();
        abut_layers_result found[2] = {abut_layers_result_default(), abut_layers_result_default()};
        scene s;
        scene_random(&s, &random, 8, 1.2);
        scene_begin(&s, serial);
        query.resolution = 50;
        query.count_edges = query.find_hits = round % 2;
        for (int k = 0; k < 2; k++) {
            query.every_pixel = k;
            uint64_t hits = 0;
            abut_layers_hit *list = calloc(20000, sizeof *list);
            assert_non_null(list);
            found[k] = (abut_layers_result){.size = sizeof(abut_layers_result),
                                            .pairs.list = pairs[k],
                                            .pairs.capacity = PAIRS_MAX,
                                            .own.list = own[k],
                                            .own.capacity = PAIRS_MAX,
                                            .hits.list = list,
                                            .hits.capacity = 20000};
            assert_ok(abut_layers_find(s.layers, &query, &found[k]));
            hits = found[k].hits.count;
            assert_true(round % 2 || hits == 0);
            free(list);
            fragments[k] += found[k].fragments;
        }
        assert_int_equal(found[0].pairs.count, found[1].pairs.count);
        assert_int_equal(found[0].hits.count, found[1].hits.count);
        for (uint64_t i = 0; i < found[0].pairs.count; i++)
            assert_same(&pairs[0][i], &pairs[1][i]);
        scene_end(&s);
    }
    assert_true(fragments[0] < fragments[1]);
}

TEST_THREADS(same_on_any_number_of_threads) {
    enum { ITEMS = 36, ROOM = 1000, HITS = 40000 };
    abut_layers_pair *pairs[2];
    abut_layers_hit *hits[2];
    abut_layers_result found[2] = {abut_layers_result_default(), abut_layers_result_default()};
    for (int n = 0; n < 2; n++) {
        test_memory memory = {0};
        test_random random = {4};
        abut_context *context = test_context(&memory, n ? 4 : 1);
        abut_layers *layers;
        abut_layers_query query = abut_layers_query_default();
        assert_ok(abut_layers_create(context, NULL, &layers));
        for (uint32_t i = 0; i < ITEMS; i++) {
            add_mesh(layers, models[i % MODELS], random_pose(&random, 1.6));
        }
        query.resolution = 16;
        query.find_hits = query.find_self = true;
        pairs[n] = calloc(ROOM, sizeof *pairs[n]);
        hits[n] = calloc(HITS, sizeof *hits[n]);
        assert_true(pairs[n] && hits[n]);
        found[n] = (abut_layers_result){.size = sizeof(abut_layers_result),
                                        .pairs.list = pairs[n],
                                        .pairs.capacity = ROOM,
                                        .hits.list = hits[n],
                                        .hits.capacity = HITS};
        abut_layers_pair own[ITEMS];
        found[n].own.list = own;
        found[n].own.capacity = ITEMS;
        assert_ok(abut_layers_find(layers, &query, &found[n]));
        abut_layers_destroy(layers);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_true(found[0].pairs.count > 20 && found[0].hits.count > 100);
    assert_int_equal(found[0].pairs.count, found[1].pairs.count);
    assert_int_equal(found[0].own.count, found[1].own.count);
    assert_int_equal(found[0].hits.count, found[1].hits.count);
    assert_int_equal(found[0].fragments, found[1].fragments);
    for (uint64_t i = 0; i < found[0].pairs.count; i++)
        assert_same(&pairs[0][i], &pairs[1][i]);
    for (uint64_t i = 0; i < found[0].hits.count; i++) {
        const abut_layers_hit *p = &hits[0][i], *q = &hits[1][i];
        assert_memory_equal(&p->penetrating, &q->penetrating, 8 * sizeof(uint32_t));
        assert_memory_equal(&p->point, &q->point, 2 * sizeof(abut_vec3));
    }
    for (int n = 0; n < 2; n++) {
        free(pairs[n]);
        free(hits[n]);
    }
}

/* ---- against exact overlaps ---- */

/* Moves item b of two that are apart until they overlap by some part of `by`, or just do not. */
static void bring_together(scene *s, uint32_t a, uint32_t b, double by) {
    for (int round = 0; round < 30; round++) {
        abut_collider p = abut_collider_from_bvh(trees[s->model[a]], s->poses[a]),
                      q = abut_collider_from_bvh(trees[s->model[b]], s->poses[b]);
        abut_separation apart;
        assert_ok(abut_pair_distance(&p, &q, NULL, NULL, &apart));
        if (apart.relation != ABUT_PAIR_APART || apart.distance < 1e-14)
            return;
        double more = apart.distance < 2 * fabs(by) ? by : 0;
        vec3 way = v3_sub(apart.point_a, apart.point_b);
        s->poses[b].translation = v3_along(s->poses[b].translation, 1 + more / apart.distance, way);
    }
}

/* All that overlap are in the list, and no other (except for those within rounding with
 * `measure_volume`). 0 plain, 1 volume, 2 exact. */
static uint64_t check_exact(const scene *s, uint32_t resolution, int skip, uint32_t *total) {
    static abut_layers_pair pairs[PAIRS_MAX];
    abut_layers_query query = abut_layers_query_default();
    uint64_t missed = 0;
    bool overlaps[SCENE_MAX][SCENE_MAX];
    for (uint32_t a = 0; a < s->count; a++)
        for (uint32_t b = a + 1; b < s->count; b++)
            *total += overlaps[a][b] = scene_overlap(s, a, b);
    query.resolution = resolution;
    for (int k = 0; k < 3; k++) {
        if (k == skip)
            continue;
        query.measure_volume = k == 1;
        query.is_exact = k == 2;
        abut_layers_result found = find_pairs(s->layers, &query, pairs, NULL);
        for (uint32_t a = 0; a < s->count; a++)
            for (uint32_t b = a + 1; b < s->count; b++) {
                bool overlap = overlaps[a][b];
                const abut_layers_pair *p = pair_of(pairs, found.pairs.count, a, b);
                missed += k == 0 && overlap && !p;
                if (k > 0 && overlap)
                    assert_non_null(p);
                if (!overlap) /* what is within the tolerance of volumes touches */
                    assert_true(!p || (k == 1 && p->kind == ABUT_PAIR_KIND_TOUCH));
                assert_true(!p || k == 0 || p->relation != ABUT_PAIR_APART);
            }
    }
    return missed;
}

TEST(exact_and_volume_miss_nothing) {
    test_random random = {5};
    uint64_t missed = 0;
    uint32_t total = 0;
    for (uint32_t round = 0; round < test_rounds(1000); round++) {
        scene s;
        scene_random(&s, &random, 4, 2);
        for (uint32_t i = 0; i < 4; i++) {
            free(s.deformed[i]);
            s.deformed[i] = NULL;
        }
        double by = pow(10, test_random_real(&random, -9, -2));
        bring_together(&s, 0, 1, by);
        bring_together(&s, 2, 3, round % 4 ? by : -by);
        scene_begin(&s, serial);
        missed += check_exact(&s, 8 + test_random_below(&random, 57), 1 + round % 2, &total);
        scene_end(&s);
    }
    /* Rays alone do miss such overlaps: otherwise this would show nothing. */
    assert_true(missed > total / 10);
}

TEST(exact_pairs_are_all_pairs_that_overlap) {
    test_random random = {6};
    uint32_t total = 0;
    for (uint32_t round = 0; round < test_rounds(96); round++) {
        scene s;
        scene_random(&s, &random, 10, 0.9);
        scene_begin(&s, serial);
        check_exact(&s, 30, 1, &total);
        scene_end(&s);
    }
    assert_true(total > 60);
}

/* ---- what queries cost ---- */

static abut_mesh *box_mesh(vec3 extent) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    shape.extent = extent;
    shape.segments = 1;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    return mesh;
}

/* With `volume` alone nothing is drawn; with `exact` too, depths are known. */
TEST(volumes_draw_no_images) {
    AUTO(mesh) ball = shape_mesh(ABUT_SHAPE_ICOSPHERE, 1, 4);
    AUTO(layers) layers;
    abut_layers_pair pairs[2][4];
    assert_ok(abut_layers_create(serial, NULL, &layers));
    for (int i = 0; i < 4; i++) {
        add_mesh(layers, ball, shifted(0.9 * i, 0, 0));
    }
    for (int images = 0; images < 2; images++) {
        abut_layers_query query = abut_layers_query_default();
        query.measure_volume = true;
        query.is_exact = images;
        abut_layers_result found = find_pairs(layers, &query, pairs[images], NULL);
        assert_int_equal(found.pairs.count, 3);
        assert_int_equal(found.candidates, 3);
        assert_true(images ? found.fragments > 0 : found.fragments == 0);
        for (uint64_t i = 0; i < found.pairs.count; i++) {
            const abut_layers_pair *p = &pairs[images][i];
            assert_true(images ? p->depth > 0 && p->pixels > 0 : p->depth == 0 && p->pixels == 0);
            assert_int_equal(p->kind, ABUT_PAIR_KIND_OVERLAP);
            assert_true(p->volume == pairs[0][i].volume && p->volume > 0);
        }
    }
}

/* Processor time of a query for so many boxes in a row, all in few pixels. */
static double row_seconds(abut_mesh *box, uint32_t count, bool volume) {
    abut_layers *layers;
    abut_layers_query query = abut_layers_query_default();
    abut_layers_result found = {.size = sizeof found, .pairs.capacity = 0};
    query.resolution = volume ? 0 : 16;
    query.measure_volume = volume;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    for (uint32_t i = 0; i < count; i++) {
        add_mesh(layers, box, shifted(1.5 * i, 0, 0));
    }
    clock_t begin = clock();
    assert_ok(abut_layers_find(layers, &query, &found));
    clock_t end = clock();
    assert_int_equal(found.pairs.count, 0);
    abut_layers_destroy(layers);
    return (double)(end - begin) / CLOCKS_PER_SEC;
}

/* Eight times as many solids in the same pixels: 64 times the time if all pairs were compared. */
TEST(many_in_few_pixels) {
    AUTO(mesh) box = box_mesh(v3(1, 1, 1));
    for (int volume = 0; volume < 2; volume++) {
        double few = row_seconds(box, 2000, volume), many = row_seconds(box, 16000, volume);
        assert_true(many < 24 * few + 0.05);
    }
}

/* ---- what is known ---- */

typedef struct known {
    abut_mesh *a, *b;
    abut_pose pose_a, pose_b; /* before both are turned */
    double volume;
} known;

/* The pair at a resolution, turned by a pose as a whole, by three views. */
static abut_layers_pair measure_overlap(const known *k, const abut_pose *turn, uint32_t resolution,
                                        bool exact) {
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pair;
    abut_layers_result found = {.size = sizeof found, .pairs.list = &pair, .pairs.capacity = 1};
    abut_layers *layers;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    add_mesh(layers, k->a, pose_multiply(turn, &k->pose_a));
    add_mesh(layers, k->b, pose_multiply(turn, &k->pose_b));
    query.resolution = resolution;
    query.is_exact = query.measure_volume = exact;
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 1);
    abut_layers_destroy(layers);
    return pair;
}

static double mesh_volume(abut_mesh *mesh) {
    abut_topology *topology;
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    abut_topology_destroy(topology);
    return report.volume;
}

enum { KNOWN = 4 };

/* Boxes; a corner of a torus, by mirror images an eighth of it; half a ball; the lens of two fine
 * balls. */
static void make_known(known k[KNOWN]) {
    k[0] = (known){box_mesh(v3(1, 1, 1)), box_mesh(v3(2, 0.5, 1)), at_origin,
                   shifted(1.2, 0.4, -0.7), 0.3 * 0.35 * 0.3};
    abut_mesh *torus = shape_mesh(ABUT_SHAPE_TORUS, 1.2, 24),
              *ball = shape_mesh(ABUT_SHAPE_ICOSPHERE, 1, 8);
    k[1] =
        (known){torus, box_mesh(v3(2, 2, 2)), at_origin, shifted(1, 1, 1), mesh_volume(torus) / 8};
    k[2] =
        (known){ball, box_mesh(v3(2, 2, 2)), at_origin, shifted(0, -1, 0), mesh_volume(ball) / 2};
    const double r = 0.5, d = 0.7, pi = 3.14159265358979;
    abut_mesh *fine = shape_mesh(ABUT_SHAPE_ICOSPHERE, 1, 24);
    k[3] = (known){fine, abut_mesh_retain(fine), at_origin, shifted(d, 0, 0),
                   pi * (4 * r + d) * (2 * r - d) * (2 * r - d) / 12};
}

TEST(volumes_of_boxes_balls_and_tori) {
    test_random random = {7};
    known k[KNOWN];
    make_known(k);
    for (int i = 0; i < KNOWN; i++) {
        double error[2] = {0, 0}, bound[2] = {0, 0};
        for (int turn = 0; turn < 4; turn++)
            for (int fine = 0; fine < 2; fine++) {
                abut_pose turned = random_pose(&random, 3);
                abut_layers_pair p = measure_overlap(&k[i], &turned, fine ? 256 : 32, false);
                double off = fabs(p.volume - k[i].volume), ideal = i == 3 ? 8e-3 * k[i].volume : 0;
                assert_true(off <= p.volume_error + ideal);
                assert_int_equal(p.view_count, 3);
                error[fine] += off;
                bound[fine] += p.volume_error;
            }
        assert_true(error[1] < 0.25 * error[0] + (i == 3 ? 3.2e-2 * k[i].volume : 0));
        assert_true(bound[1] < 0.4 * bound[0]);
        assert_true(error[1] < 0.02 * 4 * k[i].volume);
        for (int turn = 0; turn < 4 && i < 3; turn++) { /* of the triangles themselves */
            abut_pose turned = random_pose(&random, 3);
            abut_layers_pair p = measure_overlap(&k[i], &turned, 32, true);
            assert_true(fabs(p.volume - k[i].volume) < 1e-12);
            assert_int_equal(p.kind, ABUT_PAIR_KIND_OVERLAP);
        }
    }
    for (int i = 0; i < KNOWN; i++) {
        abut_mesh_destroy(k[i].a);
        abut_mesh_destroy(k[i].b);
    }
}

/* From b to a; and where the overlap is. */
TEST(normals_and_centres) {
    test_random random = {8};
    AUTO(mesh) fine = shape_mesh(ABUT_SHAPE_ICOSPHERE, 1, 12);
    for (int round = 0; round < 8; round++) {
        known k = {fine, fine, at_origin, shifted(0.8, 0, 0), 0};
        abut_pose turn = random_pose(&random, 1);
        abut_layers_pair p = measure_overlap(&k, &turn, 128, false);
        vec3 centre = pose_apply(&turn, v3(0.4, 0, 0)),
             normal = v3_sub(turn.translation, pose_apply(&turn, v3(1, 0, 0)));
        assert_true(v3_length(v3_sub(p.centre, centre)) < 0.01);
        assert_true(v3_dot(p.normal, normal) > 0.99);
        assert_true(fabs(v3_length(p.normal) - 1) < 1e-9);
        /* The circle in which both intersect, of radius 0.3. */
        assert_true(fabs(p.area - 0.2827) < 0.02);
    }
}

/* Boxes that touch along a whole side do not overlap, turned as they may be; pushed together by
 * more than the tolerance they do. */
TEST(flush_boxes) {
    test_random random = {9};
    AUTO(mesh) box = box_mesh(v3(1, 1, 1));
    for (uint32_t round = 0; round < test_rounds(128); round++) {
        abut_pose turn = round ? random_pose(&random, 2) : at_origin;
        for (int push = 0; push < 2; push++) {
            AUTO(layers) layers;
            abut_layers_query query = abut_layers_query_default();
            abut_layers_pair pairs[3];
            abut_layers_result found = {.size = sizeof found,
                                        .pairs.list = pairs,
                                        .pairs.capacity = 3};
            assert_ok(abut_layers_create(serial, NULL, &layers));
            for (int i = 0; i < 3; i++) {
                abut_pose place = shifted((push ? 0.999 : 1) * i, 0.2 * i, 0.1 * i);
                add_mesh(layers, box, pose_multiply(&turn, &place));
            }
            query.resolution = 64;
            query.tolerance = 1e-5;
            assert_ok(abut_layers_find(layers, &query, &found));
            assert_int_equal(found.pairs.count, push ? 2 : 0);
        }
    }
}

/* Shells in shells: what is in the cavity of another overlaps it not. */
TEST(cavities_are_outside) {
    abut_mesh *shells[4] = {shell_mesh(4, 3.5), shell_mesh(3, 2.5), shell_mesh(2, 1.5),
                            shape_mesh(ABUT_SHAPE_ICOSPHERE, 1, 2)};
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pairs[8];
    query.resolution = 100;
    for (int inside = 0; inside < 2; inside++) {
        AUTO(layers) layers;
        abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 8};
        assert_ok(abut_layers_create(serial, NULL, &layers));
        for (int i = 0; i < 4; i++) {
            add_mesh(layers, shells[i], shifted(inside && i == 3 ? 0.4 : 0, 0, 0));
        }
        assert_ok(abut_layers_find(layers, &query, &found));
        assert_int_equal(found.pairs.count, inside);
        assert_true(!inside || (pairs[0].a == 2 && pairs[0].b == 3));
        query.is_exact = inside;
    }
    for (int i = 0; i < 4; i++)
        abut_mesh_destroy(shells[i]);
}

/* A mesh of two boxes that overlap by half: only with itself, and only if requested. */
TEST(solids_that_overlap_themselves) {
    abut_mesh *box = box_mesh(v3(1, 1, 1)), *moved, *both;
    assert_ok(abut_mesh_transform(box, 1, shifted(0.5, 0, 0), &moved));
    both = joined_mesh(box, moved);
    AUTO(layers) layers;
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pairs[2], own[2];
    assert_ok(abut_layers_create(serial, NULL, &layers));
    const uint32_t id = add_mesh(layers, both, abut_pose_identity());
    query.resolution = 100;
    query.find_self = true;
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = pairs,
                                .pairs.capacity = 2,
                                .own.list = own,
                                .own.capacity = 2};
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 0);
    assert_int_equal(found.own.count, 1);
    assert_true(own[0].a == id && own[0].b == id);
    assert_true(fabs(own[0].volume - 0.5) < 0.03);
    abut_mesh_destroy(both);
}

/* ---- the views ---- */

/* Rays from within a solid are in it from their begin on. */
TEST(eye_inside_a_solid) {
    AUTO(mesh) large = box_mesh(v3(4, 4, 4)), *small = box_mesh(v3(1, 1, 1));
    AUTO(layers) layers;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    add_mesh(layers, large, abut_pose_identity());
    add_mesh(layers, small, shifted(0, 0, -2));
    abut_raster_view view = abut_raster_view_default();
    view.perspective = true;
    view.direction = v3(0, 0, -1);
    view.eye = v3(0.01, 0.02, 1.5);
    view.region = (abut_box){v3(-3, -3, -3), v3(3, 3, 3)};
    view.width = view.height = 64;
    view.near_distance = 0.1;
    abut_layers_pair pair;
    abut_layers_result found = {.size = sizeof found, .pairs.list = &pair, .pairs.capacity = 1};
    abut_layers_query query = one_view(&view);
    assert_ok(abut_layers_find(layers, &query, &found));
    /* The small one reaches from -2.5 to -1.5, and the large one ends at -2. */
    assert_int_equal(found.pairs.count, 1);
    assert_true(fabs(pair.length - 0.5) < 0.06);
    assert_true(fabs(pair.volume - 0.5) < 0.06);
    /* Within both: the near plane cuts both open. */
    view.eye = v3(0, 0, -1.6);
    query = one_view(&view);
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 1);
    assert_int_equal(pair.pixels, 64 * 64);
    assert_true(pair.length > 0.3 && pair.length < 0.3 * 1.3);
}

TEST(groups_and_masks) {
    AUTO(mesh) box = box_mesh(v3(1, 1, 1));
    AUTO(layers) layers;
    abut_layers_pair pairs[6];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 6};
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 20;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    const uint32_t groups[4] = {1, 2, 2, 4}, masks[4] = {0, 1, 1, 2};
    for (int i = 0; i < 4; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(box, shifted(0.1 * i, 0, 0)),
                                 .group = groups[i],
                                 .mask = masks[i]};
        uint32_t id;
        assert_ok(abut_layers_add(layers, &item, &id));
    }
    for (int k = 0; k < 2; k++) {
        query.is_exact = k;
        assert_ok(abut_layers_find(layers, &query, &found));
        /* 0 with 1 and 2; 1 and 2 not with each other; 3 is of a group that 0 collides with, but
         * collides with 2 and 1 alone, who do not with it. */
        assert_int_equal(found.pairs.count, 2);
        assert_true(pairs[0].a == 0 && pairs[0].b == 1 && pairs[1].a == 0 && pairs[1].b == 2);
    }
}

/* Edges of a small box within a large one, beside the diagonals of its side; and of the large one
 * in the small one. */
TEST(edges_inside) {
    AUTO(mesh) large = box_mesh(v3(2, 2, 2)), *small = box_mesh(v3(0.5, 0.5, 0.5));
    AUTO(layers) layers;
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pair;
    enum { HITS = 20000 };
    abut_layers_hit *hits = calloc(HITS, sizeof *hits);
    assert_non_null(hits);
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = &pair,
                                .pairs.capacity = 1,
                                .hits.list = hits,
                                .hits.capacity = HITS};
    query.resolution = 100;
    query.find_hits = true;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    uint32_t id;
    abut_layers_item item = {.size = sizeof(abut_layers_item),
                             .collider = abut_collider_from_mesh(large, abut_pose_identity()),
                             .value = 17};
    assert_ok(abut_layers_add(layers, &item, &id));
    item = (abut_layers_item){.size = sizeof(abut_layers_item),
                              .collider = abut_collider_from_mesh(small, shifted(1.1, 0.6, 0.02)),
                              .value = 23};
    assert_ok(abut_layers_add(layers, &item, &id));
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 1);
    assert_int_equal(pair.edges_a, 0); /* no edge of the large one is in the small one */
    assert_true(pair.edges_b > 100);
    assert_int_equal(found.hits.count, pair.edges_b);
    for (uint64_t i = 0; i < found.hits.count; i++) {
        const abut_layers_hit *h = &hits[i];
        assert_true(h->penetrating == 1 && h->penetrated == 0 && h->value == 23);
        assert_true(h->triangle < 12 && h->edge < 3 && h->view < 3 && h->x < 100 && h->y < 100);
        assert_true(v3_max_abs(h->point) < 1.03);
        vec3 local = v3_sub(h->point, v3(1.1, 0.6, 0.02));
        assert_true(fabs(v3_max_abs(local) - 0.25) < 0.03);
        assert_true(fabs(v3_dot(local, h->normal) - 0.25) < 0.06);
        assert_true(fabs(v3_length(h->normal) - 1) < 1e-12);
    }
    /* With a corner of the large one in the small one, both have edges in the other. */
    abut_pose poses[2] = {at_origin, shifted(1.1, 1.1, 1.1)};
    assert_ok(abut_layers_set_poses(layers, NULL, abut_array_host(poses), 2));
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_true(pair.edges_a > 10 && pair.edges_b > 10);
    assert_int_equal(found.hits.count, pair.edges_a + pair.edges_b);
    found.hits.capacity = 3;
    uint64_t count = found.hits.count;
    assert_int_equal(abut_layers_find(layers, &query, &found), ABUT_ERROR_BUFFER);
    assert_int_equal(found.hits.count, count);
    assert_int_equal(found.pairs.count, 1);
    free(hits);
}

/* Images against rays: where the reference is sure. */
TEST(images_agree_with_rays) {
    test_random random = {10};
    static float pixels[40 * 40];
    for (uint32_t round = 0; round < test_rounds(32); round++) {
        scene s;
        uint32_t width, height;
        scene_random(&s, &random, 6, 0.8);
        scene_begin(&s, serial);
        abut_raster_view view = random_view(&random, 3, 40);
        reference *r = scene_reference(&s, &view, 1e-6 * 6);
        uint32_t *counts = calloc(1600, sizeof *counts);
        double *nearest = calloc(1600, sizeof *nearest);
        assert_true(counts && nearest);
        for (size_t i = r->count; i-- > 0;) {
            nearest[r->crossings[i].pixel] = r->crossings[i].depth;
            counts[r->crossings[i].pixel]++;
        }
        for (int show = 0; show < 2; show++) {
            assert_ok(abut_layers_image(s.layers, &view,
                                        show ? ABUT_LAYERS_NEAREST : ABUT_LAYERS_COUNT, 1600,
                                        pixels, &width, &height));
            assert_true(width == view.width && height == view.height);
            for (uint32_t i = 0; i < width * height; i++)
                if (!r->doubt[i] && show)
                    assert_true(counts[i] ? fabs(pixels[i] - nearest[i]) < 1e-5 : pixels[i] > 1e30);
                else if (!r->doubt[i])
                    assert_true(pixels[i] == (float)counts[i]);
        }
        /* Lengths sum up to the volumes of all pairs. */
        static abut_layers_pair pairs[PAIRS_MAX];
        abut_layers_query query = one_view(&view);
        abut_layers_result found = find_pairs(s.layers, &query, pairs, NULL);
        double sum = 0, lengths = 0;
        for (uint64_t i = 0; i < found.pairs.count; i++)
            sum += pairs[i].volume;
        assert_ok(
            abut_layers_image(s.layers, &view, ABUT_LAYERS_LENGTH, 1600, pixels, &width, &height));
        for (uint32_t i = 0; i < width * height; i++)
            lengths += pixels[i];
        assert_true(fabs(sum - lengths * r->view.pixel * r->view.pixel) < 1e-4 * (sum + 0.01));
        free(counts);
        free(nearest);
        reference_free(r);
        scene_end(&s);
    }
}

int main(void) {
    return test_run(make_models, free_models);
}
