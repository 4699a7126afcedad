/* Groups of objects in many configurations: equal to all pairs one after the other, on any number
 * of threads; refits; groups, masks and ignored pairs; memory that runs out; invalid arguments. */
#include "bvh/meshes.h"

enum { OBJECTS = 70, CONFIGURATIONS = 20, KINDS = 4 };

typedef struct scene {
    abut_bvh *bvh[KINDS];
    abut_pair_object objects[OBJECTS];
    abut_pose poses[CONFIGURATIONS][OBJECTS];
    abut_pair_group group;
} scene;

static void make_kinds(scene *s, abut_context *context) {
    s->bvh[0] = hierarchy(make_shape(context, ABUT_SHAPE_TORUS, 10));
    s->bvh[1] = hierarchy(make_shape(context, ABUT_SHAPE_BOX, 2));
    s->bvh[2] = hierarchy(make_shape(context, ABUT_SHAPE_LETTER_G, 2));
    s->bvh[3] = hierarchy(make_shape(context, ABUT_SHAPE_ICOSPHERE, 3));
}

/* Every third object has one pose for all configurations. */
static void make_scene(scene *s, abut_context *context, uint32_t count, double reach) {
    test_random random = {count};
    make_kinds(s, context);
    s->group = abut_pair_group_default();
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < CONFIGURATIONS; k++)
            s->poses[k][i] = any_pose(&random, reach);
        abut_pair_object object = {sizeof object,
                                   s->bvh[i % KINDS],
                                   &s->poses[0][i],
                                   i % 3 ? sizeof s->poses[0] : 0,
                                   0,
                                   0};
        s->objects[i] = object;
    }
    s->group.objects = s->objects;
    s->group.object_count = count;
    s->group.configuration_count = CONFIGURATIONS;
}

static void free_scene(scene *s) {
    for (int i = 0; i < KINDS; i++)
        abut_bvh_destroy(s->bvh[i]);
}

static abut_collider object_at(const scene *s, uint32_t object, uint32_t configuration) {
    abut_collider posed =
        abut_collider_from_bvh(s->objects[object].bvh,
                               s->poses[s->objects[object].stride ? configuration : 0][object]);
    return posed;
}

static bool touches(const scene *s, uint32_t configuration, uint32_t a, uint32_t b) {
    abut_collider at_a = object_at(s, a, configuration), at_b = object_at(s, b, configuration);
    abut_pair_options options = abut_pair_options_default();
    bool within;
    options.surface_only = s->group.surface_only;
    assert_ok(abut_pair_within(&at_a, &at_b, s->group.margin, &options, NULL, &within, NULL));
    return within;
}

typedef struct answers {
    bool any[CONFIGURATIONS];
    abut_pair_group_hit hits[CONFIGURATIONS * OBJECTS * 4];
    uint64_t count;
    abut_pair_group_closest closest[CONFIGURATIONS];
} answers;

static void run_queries(const scene *s, answers *a) {
    memset(a, 0, sizeof *a);
    assert_ok(abut_pair_group_any(&s->group, a->any, NULL));
    abut_pair_group_hit_list group_hits = {a->hits, sizeof a->hits / sizeof *a->hits, 0};
    assert_ok(abut_pair_group_list(&s->group, &group_hits, NULL));
    a->count = group_hits.count;
    assert_ok(abut_pair_group_distance(&s->group, a->closest));
}

/* All pairs one after the other, of those that `tested` allows. */
static void check(const scene *s, const answers *a,
                  bool (*tested)(const scene *s, uint32_t a, uint32_t b)) {
    uint64_t place = 0;
    for (uint32_t k = 0; k < CONFIGURATIONS; k++) {
        bool any = false;
        double least = INFINITY;
        for (uint32_t i = 0; i < s->group.object_count; i++)
            for (uint32_t j = i + 1; j < s->group.object_count; j++) {
                if (tested && !tested(s, i, j))
                    continue;
                abut_collider at_a = object_at(s, i, k), at_b = object_at(s, j, k);
                abut_pair_options options = abut_pair_options_default();
                options.surface_only = s->group.surface_only;
                if (touches(s, k, i, j)) {
                    any = true;
                    assert_true(place < a->count && a->hits[place].configuration == k &&
                                a->hits[place].a == i && a->hits[place].b == j);
                    place++;
                }
                abut_separation separation;
                bool nearer;
                assert_ok(abut_pair_within(&at_a, &at_b, least, &options, NULL, &nearer, NULL));
                if (!nearer)
                    continue;
                assert_ok(abut_pair_distance(&at_a, &at_b, &options, NULL, &separation));
                least = separation.distance < least ? separation.distance : least;
            }
        assert_true(a->any[k] == any);
        assert_true(a->closest[k].separation.distance == least);
        assert_true((a->closest[k].a == ABUT_NONE) == isinf(least));
    }
    assert_true(place == a->count);
}

/* 70 objects are sorted otherwise than 9; with 1 thread and with 4. */
TEST_THREADS(group_is_all_pairs) {
    AUTO_FREE scene *s = malloc(sizeof *s);
    AUTO_FREE answers *all = malloc(2 * sizeof *all);
    assert_true(s && all);
    static const struct {
        uint32_t count;
        double reach, margin;
        bool surfaces;
    } cases[] = {{9, 1.5, 0, false}, {9, 4, 0.3, true}, {OBJECTS, 4, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t run = 0; run < 2; run++) {
            test_memory memory = {0};
            abut_context *context = test_context(&memory, run ? 4 : 1);
            make_scene(s, context, cases[i].count, cases[i].reach);
            s->group.margin = cases[i].margin;
            s->group.surface_only = cases[i].surfaces;
            run_queries(s, &all[run]);
            if (!run)
                check(s, &all[0], NULL);
            assert_true(all[run].count > 0);
            free_scene(s);
            abut_context_destroy(context);
            assert_int_equal(memory.live_count, 0);
            if (run) {
                assert_memory_equal(all[0].any, all[1].any, sizeof all->any);
                assert_memory_equal(all[0].hits, all[1].hits, sizeof all->hits);
                assert_memory_equal(all[0].closest, all[1].closest, sizeof all->closest);
            }
        }
}

static uint32_t split;

static bool is_tested(const scene *s, uint32_t a, uint32_t b) {
    for (size_t i = 0; i < s->group.ignored_count; i++) {
        const uint32_t *pair = s->group.ignored + 2 * i;
        if ((pair[0] == a && pair[1] == b) || (pair[0] == b && pair[1] == a))
            return false;
    }
    return (a < split) != (b < split);
}

/* Only pairs of one of the first objects with one of the others, and of these not all: with few
 * objects on one side, and with many on both. */
TEST(filters) {
    static const uint32_t ignored[] = {5, 1, 0, 4, 3, 8, 1, 5, 2, 2};
    AUTO_FREE scene *s = malloc(sizeof *s);
    AUTO_FREE answers *a = malloc(sizeof *a);
    assert_true(s && a);
    for (int run = 0; run < 2; run++) {
        uint32_t count = run ? 9 : OBJECTS;
        split = run ? 4 : 33;
        make_scene(s, NULL, count, run ? 1 : 3);
        for (uint32_t i = 0; i < count; i++) {
            s->objects[i].group = i < split ? 1 : 2;
            s->objects[i].mask = i < split ? 2 : 1;
        }
        s->group.ignored = ignored;
        s->group.ignored_count = 5;
        run_queries(s, a);
        check(s, a, is_tested);
        assert_true(a->count > 0);
        if (!run)
            free_scene(s);
    }
    for (uint32_t i = 0; i < 9; i++) /* no pair at all */
        s->objects[i].mask = 4;
    run_queries(s, a);
    assert_true(a->count == 0 && !a->any[0] && isinf(a->closest[0].separation.distance) &&
                a->closest[0].a == ABUT_NONE && a->closest[0].b == ABUT_NONE);
    s->group.object_count = 0;
    s->group.ignored_count = 0;
    run_queries(s, a);
    assert_true(a->count == 0 && !a->any[3]);
    free_scene(s);
}

/* Boxes are those of the mesh after a refit, also far away, where positions are rounded. */
TEST(boxes_follow) {
    abut_pose at[2] = {{{0, 0, 0, 0}, {0, 0, 0}}, {{0, 0, 0, 0}, {3, 0, 0}}};
    AUTO(bvh) ball = hierarchy(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4));
    AUTO(bvh) other = hierarchy(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4));
    abut_pair_object objects[2] = {{sizeof(abut_pair_object), ball, &at[0], 0, 0, 0},
                                   {sizeof(abut_pair_object), other, &at[1], 0, 0, 0}};
    abut_pair_group group = abut_pair_group_default();
    bool any = true;
    group.objects = objects;
    group.object_count = 2;
    group.configuration_count = 1;
    assert_ok(abut_pair_group_any(&group, &any, NULL));
    assert_false(any);
    AUTO(mesh) large = NULL;
    assert_ok(abut_mesh_transform(abut_bvh_mesh(ball), 10, at[0], &large));
    assert_ok(abut_bvh_set_mesh(ball, large));
    assert_ok(abut_pair_group_any(&group, &any, NULL));
    assert_true(any);
    /* two boxes with a common face: coordinates of 1e9 are rotated back to the origin */
    abut_mesh *box = make_shape(NULL, ABUT_SHAPE_BOX, 1), *away = NULL;
    abut_pose shift = {{0, 0, 0, 0}, {1e9, 0, 0}};
    assert_ok(abut_mesh_transform(box, 1, shift, &away));
    AUTO(bvh) near_box = hierarchy(box), *far_box = hierarchy(away);
    for (int i = 0; i < 100; i++) {
        double angle = 0.061 * i;
        abut_pose back = {{0, 0, sin(angle / 2), cos(angle / 2)},
                          {-1e9 * cos(angle), -1e9 * sin(angle), 0.99999999}};
        objects[0].bvh = near_box;
        objects[1].bvh = far_box;
        at[1] = back;
        abut_collider posed[2] = {abut_collider_from_bvh(near_box, at[0]),
                                  abut_collider_from_bvh(far_box, at[1])};
        abut_overlap overlap;
        assert_ok(abut_pair_overlap(&posed[0], &posed[1], NULL, NULL, &overlap));
        assert_ok(abut_pair_group_any(&group, &any, NULL));
        assert_true(any == (overlap.relation != ABUT_PAIR_APART));
    }
}

static abut_status ask_group(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    AUTO(mesh) mesh = NULL;
    AUTO(bvh) bvh = NULL;
    abut_pose *at = data;
    shape.segments = shape.rings = 6;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_pair_object objects[2] = {{sizeof(abut_pair_object), bvh, &at[0], 0, 0, 0},
                                   {sizeof(abut_pair_object), bvh, &at[1], 0, 0, 0}};
    uint32_t ignored[2] = {0, 0};
    abut_pair_group group = abut_pair_group_default();
    abut_pair_group_hit hit;
    abut_pair_group_closest closest;
    bool any;
    group.objects = objects;
    group.object_count = 2;
    group.configuration_count = 1;
    group.ignored = ignored;
    group.ignored_count = 1;
    status = status ? status : abut_pair_group_any(&group, &any, NULL);
    abut_pair_group_hit_list group_hits = {&hit, 1, 0};
    status = status ? status : abut_pair_group_list(&group, &group_hits, NULL);
    status = status ? status : abut_pair_group_distance(&group, &closest);
    return status;
}

TEST(out_of_memory) {
    abut_pose near[2] = {{{0, 0, 0, 0}, {0, 0, 0}}, {{0, 0, 0, 0}, {0.1, 0, 0}}};
    abut_pose far[2] = {{{1, 2, 3, 4}, {1e30, 0, 0}}, {{1, 0, 0, 1}, {1e30, 1e14, 0}}};
    test_every_allocation(ask_group, near);
    test_every_allocation(ask_group, far);
}

TEST(refusals) {
    AUTO_FREE scene *s = malloc(sizeof *s);
    bool any[CONFIGURATIONS];
    const uint32_t beyond[] = {1, 9};
    assert_true(s);
    make_scene(s, NULL, 9, 1);
    abut_pair_group *g = &s->group, before = *g;
    memset(any, 1, sizeof any);
    assert_refused("group is null", abut_pair_group_any(NULL, any, NULL));
    assert_refused("any is null", abut_pair_group_any(g, NULL, NULL));
    assert_refused("closest is null", abut_pair_group_distance(g, NULL));
    assert_refused("hits is null", abut_pair_group_list(g, NULL, NULL));
    assert_refused("the list of hits is null",
                   abut_pair_group_list(g, &(abut_pair_group_hit_list){NULL, 3, 0}, NULL));
    g->objects = NULL;
    assert_refused("objects is null", abut_pair_group_any(g, any, NULL));
    *g = before;
    g->ignored_count = 1;
    assert_refused("ignored is null", abut_pair_group_any(g, any, NULL));
    g->ignored = beyond;
    assert_refused("names object 9, but there are 9", abut_pair_group_any(g, any, NULL));
    *g = before;
    g->margin = -1;
    assert_refused("margin is -1", abut_pair_group_any(g, any, NULL));
    *g = before;
    s->poses[7][2].translation.y = NAN;
    assert_refused("the pose of object 2 in configuration 7 is not finite",
                   abut_pair_group_any(g, any, NULL));
    s->poses[7][2].translation.y = 1e91;
    assert_refused("object 2 in configuration 7", abut_pair_group_any(g, any, NULL));
    s->poses[7][2].translation.y = 0;
    s->objects[4].bvh = NULL;
    assert_refused("objects[4].bvh is null", abut_pair_group_any(g, any, NULL));
    s->objects[4].bvh = s->bvh[0];
    for (int i = 0; i < CONFIGURATIONS; i++)
        assert_true(any[i]);
    abut_pair_group_hit_list group_hits = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, " hits, but the capacity of hits is 0",
                 abut_pair_group_list(g, &group_hits, NULL));
    assert_true(group_hits.count > 0);
    free_scene(s);
}
