/* The scenes of examples/layers against exact overlaps, and the pairs that CInDeR as published
 * misses. */
#include "support/support.h"

#include "cinder.h"
#include "falls.h"

#include <stdlib.h>

static test_memory memory;
static abut_context *serial;

static const abut_vec3 aslant = {-0.5, 1, -0.4};

static abut_mesh *make_box(double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    shape.extent = (abut_vec3){x, y, z};
    shape.segments = 1;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    return mesh;
}

static uint64_t classic(const abut_collider *solids, uint32_t count, abut_vec3 direction,
                        const cinder_options *options, abut_world_pair *to) {
    abut_world_pair *pairs;
    uint64_t found;
    assert_ok(cinder_find(serial, solids, count, direction, options, &pairs, &found, NULL));
    memcpy(to, pairs, (size_t)found * sizeof *pairs);
    abut_context_free(serial, pairs);
    return found;
}

/* Three boxes in a row, as in section 4.2.1 of the document. */
TEST(classic_finds_what_it_can) {
    AUTO(mesh) box = make_box(1, 1, 1);
    abut_collider boxes[3] = {abut_collider_from_mesh(box, abut_pose_identity()),
                              abut_collider_from_mesh(box, abut_pose_identity()),
                              abut_collider_from_mesh(box, abut_pose_identity())};
    abut_world_pair pairs[16];
    for (int i = 0; i < 3; i++)
        boxes[i].pose.translation = (abut_vec3){0.7 * i, 0.6 * i, 0.5 * i};
    for (int k = 0; k < 2; k++) {
        cinder_options options = {.resolution = 200, .prevent = k};
        assert_int_equal(classic(boxes, 3, aslant, &options, pairs), 2);
        assert_true(pairs[0].a == 0 && pairs[0].b == 1 && pairs[1].a == 1 && pairs[1].b == 2);
    }
    /* Apart. */
    for (int i = 0; i < 3; i++)
        boxes[i].pose.translation = (abut_vec3){1.5 * i, 0.2 * i, 0};
    cinder_options options = {.resolution = 100, .halvings = 2};
    assert_int_equal(classic(boxes, 3, aslant, &options, pairs), 0);
}

/* Rods through plates, one pair behind the other: the last one hides the others, but from us. */
TEST(classic_loses_what_is_behind) {
    enum { PAIRS = 4 };
    AUTO(mesh) plate = make_box(2, 0.2, 2), *rod = make_box(0.3, 1, 0.3);
    abut_collider solids[2 * PAIRS];
    abut_world_pair found[64];
    AUTO(layers) layers;
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pairs[16];
    abut_layers_result all = {.size = sizeof all, .pairs.list = pairs, .pairs.capacity = 16};
    assert_ok(abut_layers_create(serial, NULL, &layers));
    for (int i = 0; i < 2 * PAIRS; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(i % 2 ? rod : plate,
                                                                     abut_pose_identity())};
        item.collider.pose.translation.y = 3 * (i / 2);
        solids[i] = item.collider;
        assert_ok(abut_layers_add(layers, &item, NULL));
    }
    cinder_options options = {.resolution = 100};
    query.resolution = 100;
    assert_ok(abut_layers_find(layers, &query, &all));
    assert_int_equal(all.pairs.count, PAIRS);
    assert_true(classic(solids, 2 * PAIRS, (abut_vec3){0, 1, 0}, &options, found) < PAIRS);
}

/* The image of one view of a dense ball, and of another ball in it if `count` is 2. */
static cinder_report report_of(const abut_collider *solids, uint32_t count,
                               const cinder_options *options, uint64_t *found) {
    cinder_report report = {0};
    abut_world_pair *pairs;
    assert_ok(cinder_find(serial, solids, count, aslant, options, &pairs, found, &report));
    abut_context_free(serial, pairs);
    abut_context_free(serial, report.image);
    return report;
}

/* Section 4.3.1: a dense mesh is inside itself by rounding. Prevention removes all of these pixels,
 * and offset edges some. */
TEST(classic_finds_dense_meshes_inside_themselves) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    AUTO(mesh) ball;
    uint64_t found, before = 0;
    shape.segments = 20;
    assert_ok(abut_shape_create(serial, &shape, &ball));
    const abut_collider solid = abut_collider_from_mesh(ball, abut_pose_identity());
    cinder_options options = {.resolution = 300};
    const cinder_report plain = report_of(&solid, 1, &options, &found);
    assert_true(plain.self_pixels > plain.edge_pixels / 20);
    assert_int_equal(found, 0); /* filtered */
    for (int k = 0; k < 3; k++) {
        options.offset = (const double[]){0.25, 1, 4}[k];
        const cinder_report offset = report_of(&solid, 1, &options, &found);
        assert_true(offset.self_pixels < (k ? before : plain.self_pixels));
        before = offset.self_pixels;
    }
    options = (cinder_options){.resolution = 300, .prevent = true};
    assert_int_equal(report_of(&solid, 1, &options, &found).self_pixels, 0);
}

/* Section 4.3.2: a steered reduction and packing keep all pairs, and read fewer pixels. */
TEST(classic_reductions_lose_nothing) {
    falls_options options = {.kind = FALLS_STAIRS, .count = 60, .resolution = 200, .seed = 5};
    static abut_world_pair all[1000], some[1000];
    uint64_t steered = 0, plain = 0;
    falls *s;
    assert_ok(falls_create(serial, &options, &s));
    for (uint32_t frame = 0; frame < 6; frame++) {
        cinder_options way = {.resolution = 200};
        uint64_t found;
        const uint64_t count = classic(s->solids, s->count, aslant, &way, all);
        plain += report_of(s->solids, s->count, &way, &found).read_pixels;
        assert_true(count > 3);
        for (int k = 0; k < 2; k++) {
            way.reduction = k ? CINDER_PACK : CINDER_STEER;
            assert_int_equal(classic(s->solids, s->count, aslant, &way, some), count);
            assert_memory_equal(some, all, (size_t)count * sizeof *all);
            const cinder_report report = report_of(s->solids, s->count, &way, &found);
            assert_true(report.read_pixels >= count || !k);
            if (k)
                assert_true(report.read_pixels < report.edge_pixels);
            else
                steered += report.read_pixels;
        }
        for (int k = 0; k < 10; k++)
            assert_ok(falls_step(s));
        assert_ok(falls_find(s));
    }
    assert_true(steered <= plain);
    falls_destroy(s);
}

/* One solid in another: the image shrinks to one pixel. Without any pair, too. */
TEST(classic_steering_ends_at_one_pixel) {
    AUTO(mesh) box = make_box(1, 1, 1);
    abut_collider boxes[2] = {abut_collider_from_mesh(box, abut_pose_identity()),
                              abut_collider_from_mesh(box, abut_pose_identity())};
    const cinder_options options = {.resolution = 100, .reduction = CINDER_STEER};
    for (int apart = 0; apart < 2; apart++) {
        uint64_t found;
        boxes[1].pose.translation = (abut_vec3){apart ? 2 : 0.7, 0.6, 0.5};
        assert_int_equal(report_of(boxes, 2, &options, &found).read_pixels, 1);
        assert_int_equal(found, !apart);
    }
}

static bool has_pair(const abut_pair_group_hit *list, uint64_t count, abut_world_pair pair) {
    for (uint64_t i = 0; i < count; i++)
        if (list[i].a == pair.a && list[i].b == pair.b)
            return true;
    return false;
}

static bool is_swept(const falls *s, abut_world_pair pair) {
    for (uint64_t i = 0; i < s->swept_count; i++)
        if (s->swept[i].a == pair.a && s->swept[i].b == pair.b)
            return true;
    return false;
}

/* Bodies at ten times the speed pass through others between two frames. Sweeps find every pair that
 * overlaps at some instant; exact tests at both frames do not. */
TEST(sweeps_find_what_passes_between_frames) {
    for (int k = 0; k < 2; k++) {
        AUTO(mesh) model = make_box(1, 1, 1.2);
        const falls_options options = {.kind = k ? FALLS_SNOW : FALLS_STAIRS,
                                       .count = 60,
                                       .resolution = 200,
                                       .seed = 11,
                                       .speed = 10,
                                       .model = k ? model : NULL};
        uint64_t touched = 0, between = 0;
        falls *s;
        assert_ok(falls_create(serial, &options, &s));
        for (uint32_t frame = 0; frame < 25; frame++) {
            static abut_pair_group_hit before[1000];
            assert_ok(falls_find(s));
            assert_ok(falls_check(s));
            const uint64_t before_count = s->exact_count;
            assert_true(before_count < 1000);
            memcpy(before, s->exact, (size_t)before_count * sizeof *before);
            assert_ok(falls_step(s));
            assert_ok(falls_sample(s));
            assert_ok(falls_sweep(s));
            assert_ok(falls_check(s));
            for (uint64_t i = 0; i < s->sampled_count; i++, touched++) {
                assert_true(is_swept(s, s->sampled[i]));
                between += !has_pair(before, before_count, s->sampled[i]) &&
                           !has_pair(s->exact, s->exact_count, s->sampled[i]);
            }
        }
        assert_true(touched > 50 && between > 5);
        falls_destroy(s);
    }
}

/* Pairs of one way against the exact ones. */
static void score(falls *s, bool exact, falls_score *to) {
    s->query.is_exact = exact;
    assert_ok(falls_find(s));
    abut_world_pair *names = malloc((size_t)(s->pair_count + 1) * sizeof *names);
    assert_non_null(names);
    falls_names(s, names);
    falls_compare(s, names, s->pair_count, to);
    free(names);
}

TEST(stairs_lose_nothing_of_two_pixels) {
    falls_options options = {.kind = FALLS_STAIRS, .count = 30, .resolution = 100, .seed = 7};
    falls_score plain = {0}, exact = {0}, published = {0};
    static abut_world_pair pairs[10000];
    falls *s;
    assert_ok(falls_create(serial, &options, &s));
    for (uint32_t frame = 0; frame < test_rounds(1000); frame++) {
        assert_ok(falls_check(s));
        double before = plain.missed_ball;
        plain.missed_ball = 0;
        if (frame % 5 == 0) {
            cinder_options way = {.resolution = 100, .halvings = 2};
            uint64_t count = classic(s->solids, s->count, aslant, &way, pairs), kept = 0;
            for (uint64_t i = 0; i < count; i++)
                if (falls_tries(s, pairs[i].a, pairs[i].b))
                    pairs[kept++] = pairs[i];
            falls_compare(s, pairs, kept, &published);
            score(s, true, &exact);
        }
        score(s, false, &plain);
        assert_true(plain.missed_ball <= 2 * falls_pixel(s));
        plain.missed_ball = plain.missed_ball > before ? plain.missed_ball : before;
        assert_ok(falls_step(s));
    }
    assert_true(plain.found > 150 && plain.false_pairs == 0);
    assert_true(plain.missed < plain.found / 3);
    assert_true(exact.found > 30 && exact.missed == 0 && exact.false_pairs == 0);
    assert_true(published.missed > published.found / 10);
    falls_destroy(s);
}

TEST(snow_sticks_and_spheres_bounce) {
    for (int k = 0; k < 2; k++) {
        falls_options options = {.kind = k ? FALLS_BOUNCE : FALLS_SNOW,
                                 .count = 30,
                                 .resolution = k ? 64 : 400,
                                 .seed = 3};
        falls_score plain = {0};
        AUTO(mesh) model = make_box(1, 1, 1.2);
        uint64_t hits = 0;
        falls *s;
        options.model = model;
        assert_ok(falls_create(serial, &options, &s));
        for (uint32_t frame = 0; frame < 70; frame++) {
            assert_ok(falls_check(s));
            score(s, false, &plain);
            assert_ok(falls_step(s));
            for (uint32_t i = 0; i < s->count; i++)
                hits += s->hit[i];
        }
        assert_true(plain.found > 3 && plain.false_pairs == 0);
        assert_true(hits > 3 && (k || s->stuck_count == hits));
        falls_destroy(s);
    }
}

static int begin(void **state) {
    serial = test_context(&memory, 1);
    return 0;
}

static int end(void **state) {
    abut_context_destroy(serial);
    assert_int_equal(memory.live_count, 0);
    return 0;
}

int main(void) {
    return test_run(begin, end);
}
