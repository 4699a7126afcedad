/* Pairs of posed meshes: equal, bit for bit, to a search through all pairs of triangles of meshes
 * that were transformed. */
#include "bvh/meshes.h"
#include "pair/frame.h"

#include "base/simd.h"
#include "pair/disc_bounds.h"

/* ---- the obvious way ---- */

typedef struct slow_answer {
    uint64_t meeting_count;
    abut_pair_intersection *meetings; /* to be freed */
    abut_separation closest;          /* of surfaces */
    double least;                     /* distance of all */
} slow_answer;

static abut_mesh *transformed(const abut_bvh *bvh, abut_pose at) {
    abut_mesh *moved = NULL;
    assert_ok(abut_mesh_transform(abut_bvh_mesh(bvh), 1, at, &moved));
    return moved;
}

/* By how much distances differ that count as equal: as of copies where poses are far away. */
static double tie_of(const abut_collider *a, const abut_collider *b, abut_mesh *moved_a,
                     abut_mesh *moved_b) {
    pair_frame frame;
    if (!init_frame(a, b, &frame)) {
        abut_collider copy[2] = {*a, *b};
        memset(&copy[0].pose, 0, sizeof copy[0].pose);
        memset(&copy[1].pose, 0, sizeof copy[1].pose);
        copy[0].shape.body.bvh = hierarchy(abut_mesh_retain(moved_a));
        copy[1].shape.body.bvh = hierarchy(abut_mesh_retain(moved_b));
        assert_true(init_frame(&copy[0], &copy[1], &frame));
        abut_bvh_destroy((abut_bvh *)(uintptr_t)copy[0].shape.body.bvh);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)copy[1].shape.body.bvh);
    }
    return frame.tie;
}

/* The lowest of all pairs that are no further than the nearest, within the tolerance of ties. */
static slow_answer slowly(const abut_mesh *a, const abut_mesh *b, double tie) {
    slow_answer slow;
    uint32_t count_a = abut_mesh_triangle_count(a), count_b = abut_mesh_triangle_count(b);
    memset(&slow, 0, sizeof slow);
    slow.closest.distance = slow.least = INFINITY;
    slow.meetings = malloc(((size_t)count_a * count_b + 1) * sizeof *slow.meetings);
    assert_non_null(slow.meetings);
    for (uint32_t i = 0; i < count_a; i++)
        for (uint32_t j = 0; j < count_b; j++) {
            abut_triangle s = triangle_of(a, i), t = triangle_of(b, j);
            abut_pair_intersection *m = &slow.meetings[slow.meeting_count];
            memset(m, 0, sizeof *m);
            m->triangle_a = i;
            m->triangle_b = j;
            assert_ok(abut_triangle_triangle_intersect(&s, &t, &m->kind, &m->segment));
            slow.meeting_count += m->kind != ABUT_INTERSECTION_NONE;
        }
    for (uint32_t i = 0; i < 2 * count_a && !slow.meeting_count; i++)
        for (uint32_t j = 0; j < count_b; j++) {
            abut_triangle s = triangle_of(a, i % count_a), t = triangle_of(b, j);
            abut_closest_pair pair;
            assert_ok(abut_triangle_triangle_closest(&s, &t, &pair));
            slow.least = fmin(slow.least, pair.distance);
            if (i >= count_a && pair.distance <= pair_tie_reach(slow.least, tie) &&
                isinf(slow.closest.distance)) {
                slow.closest.distance = pair.distance;
                slow.closest.point_a = pair.point_a;
                slow.closest.point_b = pair.point_b;
                slow.closest.triangle_a = i - count_a;
                slow.closest.triangle_b = j;
            }
        }
    return slow;
}

/* Whether some vertex of a used triangle is inside: of surfaces that do not intersect, and with
 * closed surfaces around. */
static bool some_inside(const abut_mesh *inner, const abut_mesh *outer) {
    for (uint32_t i = 0; i < abut_mesh_triangle_count(inner); i++) {
        abut_triangle t = triangle_of(inner, i);
        if (fabs(brute_winding(outer, t.corner[0])) >= 0.5)
            return true;
    }
    return false;
}

static abut_pair_relation relation_slowly(const slow_answer *slow, const abut_mesh *a,
                                          const abut_mesh *b) {
    return slow->meeting_count ? ABUT_PAIR_INTERSECTING
           : some_inside(a, b) ? ABUT_PAIR_A_INSIDE
           : some_inside(b, a) ? ABUT_PAIR_B_INSIDE
                               : ABUT_PAIR_APART;
}

/* ---- checks ---- */

static uint64_t relations_seen[4], meetings_seen;

static bool same_point(abut_vec3 a, abut_vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* Whether a point is on the part of a triangle that it is said to be on, about. */
static void assert_on_feature(abut_triangle t, abut_feature feature, abut_vec3 point, double size) {
    abut_closest_on_triangle on;
    if (feature >= ABUT_FEATURE_VERTEX_0) {
        assert_true(same_point(point, t.corner[feature - ABUT_FEATURE_VERTEX_0]));
        return;
    }
    if (feature != ABUT_FEATURE_FACE) {
        int k = (int)feature - ABUT_FEATURE_EDGE_0;
        t.corner[(k + 2) % 3] = t.corner[k];
    }
    assert_ok(abut_triangle_closest_point(&t, point, &on));
    assert_true(on.distance <= 1e-14 * size);
}

static void check_distance(const abut_collider *a, const abut_collider *b, const abut_mesh *moved_a,
                           const abut_mesh *moved_b, const slow_answer *slow,
                           abut_pair_cache *cache) {
    abut_pair_options options = abut_pair_options_default();
    abut_separation got;
    options.surface_only = true;
    memset(&got, 0x5a, sizeof got);
    assert_ok(abut_pair_distance(a, b, &options, cache, &got));
    double size = fmax(largest_coordinate(moved_a), largest_coordinate(moved_b));
    if (slow->meeting_count) {
        assert_int_equal(got.relation, ABUT_PAIR_INTERSECTING);
        assert_true(got.distance == 0 && same_point(got.point_a, got.point_b));
        bool listed = false;
        for (uint64_t i = 0; i < slow->meeting_count; i++)
            listed = listed || (slow->meetings[i].triangle_a == got.triangle_a &&
                                slow->meetings[i].triangle_b == got.triangle_b);
        assert_true(listed);
    } else {
        const abut_separation *e = &slow->closest;
        assert_int_equal(got.relation, ABUT_PAIR_APART);
        /* what docs/choosing.md, docs/limits.md and docs/pair.md promise */
        const double error = fabs(got.distance - slow->least);
        if (!(error <= 1e-12 * size && error <= 1e-3 * slow->least))
            fail_msg("a distance of %.17g instead of %.17g, coordinates up to %g", got.distance,
                     slow->least, size);
        if (e->distance > 30 * fmax(largest_extent(moved_a), largest_extent(moved_b))) {
            assert_true(fabs(got.distance - e->distance) <= 1e-12 * size); /* see far_apart() */
            return;
        }
        if (got.distance != e->distance || got.triangle_a != e->triangle_a ||
            got.triangle_b != e->triangle_b || !same_point(got.point_a, e->point_a) ||
            !same_point(got.point_b, e->point_b))
            fail_msg("triangles %u and %u at %.17g instead of %u and %u at %.17g", got.triangle_a,
                     got.triangle_b, got.distance, e->triangle_a, e->triangle_b, e->distance);
        assert_on_feature(triangle_of(moved_a, got.triangle_a), got.feature_a, got.point_a, size);
        assert_on_feature(triangle_of(moved_b, got.triangle_b), got.feature_b, got.point_b, size);
    }
    bool within;
    double distance = slow->meeting_count ? 0 : slow->least;
    assert_ok(abut_pair_within(a, b, distance, &options, cache, &within, NULL));
    assert_true(within);
    assert_ok(abut_pair_within(a, b, 2 * distance, &options, NULL, &within, NULL));
    assert_true(within);
    if (distance > 0) {
        assert_ok(abut_pair_within(a, b, nextafter(distance, 0), &options, cache, &within, NULL));
        assert_false(within);
        assert_ok(abut_pair_within(a, b, distance / 2, &options, NULL, &within, NULL));
        assert_false(within);
    }
}

/* With 4, 8 and 16 lanes by turns. */
static void check_meetings(const abut_collider *a, const abut_collider *b,
                           const slow_answer *slow) {
    abut_pair_intersection *got = calloc(slow->meeting_count + 1, sizeof *got);
    assert_non_null(got);
    uint64_t count = 77;
    if (slow->meeting_count) {
        got[0].triangle_a = 99;
        abut_pair_intersection_list crossings = {got, slow->meeting_count - 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                     abut_pair_intersections(a, b, &crossings));
        count = crossings.count;
        assert_true(count == slow->meeting_count && got[0].triangle_a == 99);
    }
    static int turn;
    abuti_simd_limit_lanes(4 << turn++ % 3);
    abut_pair_intersection_list crossings = {got, slow->meeting_count, 0};
    assert_ok(abut_pair_intersections(a, b, &crossings));
    count = crossings.count;
    abuti_simd_limit_lanes(16);
    assert_int_equal(count, slow->meeting_count);
    for (uint64_t i = 0; i < count; i++) {
        const abut_pair_intersection *g = &got[i], *e = &slow->meetings[i];
        assert_true(g->triangle_a == e->triangle_a && g->triangle_b == e->triangle_b);
        assert_true(g->kind == e->kind && same_point(g->segment.end[0], e->segment.end[0]) &&
                    same_point(g->segment.end[1], e->segment.end[1]));
    }
    meetings_seen += count;
    free(got);
}

/* Everything about two posed meshes, cold and with a cache. `solid`: containment too. */
static void check_pair(const abut_bvh *bvh_a, abut_pose pose_a, const abut_bvh *bvh_b,
                       abut_pose pose_b, bool solid, abut_pair_cache *cache) {
    abut_collider a = abut_collider_from_bvh(bvh_a, pose_a),
                  b = abut_collider_from_bvh(bvh_b, pose_b);
    abut_mesh *moved_a = transformed(bvh_a, pose_a), *moved_b = transformed(bvh_b, pose_b);
    slow_answer slow = slowly(moved_a, moved_b, tie_of(&a, &b, moved_a, moved_b));
    abut_pair_options options = abut_pair_options_default();
    abut_pair_relation relation;
    options.surface_only = true;
    for (int warm = 0; warm < 2; warm++) {
        assert_ok(relation_of(&a, &b, &options, warm ? cache : NULL, &relation));
        assert_int_equal(relation, slow.meeting_count ? ABUT_PAIR_INTERSECTING : ABUT_PAIR_APART);
        check_distance(&a, &b, moved_a, moved_b, &slow, warm ? cache : NULL);
    }
    check_meetings(&a, &b, &slow);
    if (solid) {
        abut_pair_relation expected = relation_slowly(&slow, moved_a, moved_b);
        relations_seen[expected]++;
        assert_ok(relation_of(&a, &b, NULL, cache, &relation));
        assert_int_equal(relation, expected);
        abut_separation got;
        assert_ok(abut_pair_distance(&a, &b, NULL, cache, &got));
        assert_int_equal(got.relation, expected);
        assert_true((got.distance == 0) == (expected != ABUT_PAIR_APART));
        if (expected == ABUT_PAIR_A_INSIDE || expected == ABUT_PAIR_B_INSIDE) {
            bool inner_b = expected == ABUT_PAIR_B_INSIDE;
            assert_int_equal(inner_b ? got.triangle_a : got.triangle_b, ABUT_NONE);
            assert_true(same_point(got.point_a, got.point_b));
            assert_on_feature(inner_b ? triangle_of(moved_b, got.triangle_b)
                                      : triangle_of(moved_a, got.triangle_a),
                              inner_b ? got.feature_b : got.feature_a, got.point_a, 1);
            bool within;
            assert_ok(abut_pair_within(&a, &b, 0, NULL, cache, &within, NULL));
            assert_true(within);
        }
    }
    free(slow.meetings);
    abut_mesh_destroy(moved_a);
    abut_mesh_destroy(moved_b);
}

static const abut_pose still = {{0, 0, 0, 0}, {0, 0, 0}};

/* ---- tests ---- */

TEST(shapes) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX,  ABUT_SHAPE_UVSPHERE, ABUT_SHAPE_TORUS,
                                            ABUT_SHAPE_TUBE, ABUT_SHAPE_LETTER_G, ABUT_SHAPE_CONE};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static const double scales[] = {0.0625, 12, 0.7};
    test_random random = {11};
    for (int i = 0; i < KINDS; i++)
        for (int j = i; j < KINDS; j++) {
            AUTO(bvh) a = hierarchy(make_shape(NULL, kinds[i], kinds[i] == ABUT_SHAPE_BOX ? 2 : 5));
            AUTO(bvh)
            b = hierarchy(
                make_moved(make_shape(NULL, kinds[j], 4), scales[(i + j) % 3], vec(0, 0, 0)));
            abut_pair_cache cache;
            memset(&cache, 0, sizeof cache);
            for (int k = 0; k < 4; k++)
                check_pair(a, any_pose(&random, k < 2 ? 0.02 : 0.5), b,
                           any_pose(&random, k == 0  ? 0.05
                                             : k < 4 ? 0.8
                                                     : 2),
                           true, &cache);
        }
    for (int i = 0; i < 4; i++)
        assert_true(relations_seen[i] > 1);
    assert_true(meetings_seen > 500);
}

TEST(soups) {
    test_random random = {5};
    for (int i = 0; i < SOUP_COUNT; i++)
        for (int j = i; j < SOUP_COUNT; j++) {
            AUTO(bvh) a = hierarchy(make_kind(NULL, (soup_kind)i, 25, (uint64_t)i + 1));
            AUTO(bvh) b = hierarchy(make_kind(NULL, (soup_kind)j, 19, (uint64_t)j + 91));
            abut_pair_cache cache;
            memset(&cache, 0, sizeof cache);
            check_pair(a, still, b, still, false, &cache);
            for (int k = 0; k < 2; k++)
                check_pair(a, any_pose(&random, 1), b, any_pose(&random, k < 1 ? 2 : 9), false,
                           &cache);
        }
}

/* Contacts without any depth: whole coordinates, so that shifts are exact. */
TEST(touching) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = vec(2, 2, 2);
    shape.segments = 2;
    abut_mesh *mesh = NULL;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    AUTO(bvh) box = hierarchy(mesh);
    static const abut_quat turns[] = {{0, 0, 0, 0}, {1, 0, 0, 1}, {1, 1, 1, 1}, {0, 0, 1, 0}};
    for (size_t t = 0; t < sizeof turns / sizeof *turns; t++)
        for (int x = 0; x < 4; x++)
            for (int y = 0; y <= x; y++) {
                static const double shifts[4] = {0, 1, 2, 2.5};
                abut_pose at = {turns[t], {shifts[x], shifts[y], y == 2 ? 2 : 0}};
                check_pair(box, still, box, at, true, NULL);
            }
    abut_collider a = abut_collider_from_bvh(box, still), b = abut_collider_from_bvh(box, still);
    abut_pair_relation relation;
    static const struct {
        abut_vec3 by;
        abut_pair_relation relation;
    } cases[] = {
        {{0, 0, 0}, ABUT_PAIR_INTERSECTING},           /* the same */
        {{2, 0, 0}, ABUT_PAIR_INTERSECTING},           /* face on face */
        {{2, 2, 0}, ABUT_PAIR_INTERSECTING},           /* edge on edge */
        {{2, 2, 2}, ABUT_PAIR_INTERSECTING},           /* corner on corner */
        {{2.0000000000000004, 0, 0}, ABUT_PAIR_APART}, /* one step of a double further */
        {{1.5, 0, 0}, ABUT_PAIR_INTERSECTING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b.pose.translation = cases[i].by;
        assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
        assert_int_equal(relation, cases[i].relation);
    }
    abut_separation got;
    b.pose.translation = vec(5, 0, 0);
    assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &got));
    assert_true(got.distance == 3 && got.point_a.x == 1 && got.point_b.x == 4);
}

/* A part inside a solid, in its cavity, and beside it. */
TEST(containment) {
    AUTO(mesh) small = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2);
    abut_mesh *large = make_moved(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 8), 8, vec(0, 0, 0));
    abut_mesh *wall = NULL, *hollow = NULL, *two = NULL, *far = NULL;
    assert_ok(abut_mesh_transform(large, -0.5, still, &wall)); /* mirrored: faces inwards? */
    AUTO(topology) topology = NULL;
    abut_mesh *both[2] = {large, wall}, *joined = NULL;
    assert_ok(abut_mesh_join(both, 2, &joined));
    assert_ok(abut_topology_create(joined, &topology));
    assert_ok(abut_mesh_orient(topology, &hollow, NULL));
    abut_mesh_destroy(joined);
    assert_ok(abut_mesh_transform(small, 1, (abut_pose){{0, 0, 0, 0}, {40, 0, 0}}, &far));
    both[0] = far;
    both[1] = small;
    assert_ok(abut_mesh_join(both, 2, &two));
    AUTO(bvh) solid = hierarchy(large), *shell = hierarchy(hollow), *pair = hierarchy(two);
    double radius = abut_mesh_bounds(abut_bvh_mesh(solid)).hi.z;
    static const abut_pair_relation in_solid[] = {ABUT_PAIR_B_INSIDE, ABUT_PAIR_B_INSIDE,
                                                  ABUT_PAIR_APART, ABUT_PAIR_INTERSECTING};
    static const abut_pair_relation in_shell[] = {ABUT_PAIR_APART, ABUT_PAIR_B_INSIDE,
                                                  ABUT_PAIR_APART, ABUT_PAIR_INTERSECTING};
    const double heights[] = {0, 0.75, 2, 1};
    for (int i = 0; i < 4; i++) {
        abut_pose at = {{0, 0, 0, 0}, {0, 0, heights[i] * radius}};
        abut_collider a = abut_collider_from_bvh(solid, still),
                      b = abut_collider_from_bvh(pair, at);
        abut_pair_relation relation;
        assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
        assert_int_equal(relation, in_solid[i]);
        assert_ok(relation_of(&b, &a, NULL, NULL, &relation));
        assert_int_equal(relation,
                         in_solid[i] == ABUT_PAIR_B_INSIDE ? ABUT_PAIR_A_INSIDE : in_solid[i]);
        a.shape.body.bvh = shell;
        assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
        assert_int_equal(relation, in_shell[i]);
        check_pair(shell, still, pair, at, true, NULL);
        check_pair(solid, still, pair, at, true, NULL);
    }
    abut_mesh_destroy(wall);
    abut_mesh_destroy(far);
}

/* A mesh without some of its triangles, its vertices shared or not. */
static abut_mesh *with_holes(abut_mesh *mesh, uint32_t every, bool shared) {
    uint32_t count = abut_mesh_triangle_count(mesh), kept = 0;
    AUTO_FREE uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices);
    AUTO_FREE abut_vec3 *corners = malloc(3 * (size_t)count * sizeof *corners);
    assert_true(indices && corners);
    for (uint32_t t = 0; t < count; t++) {
        if (t % every == 0)
            continue;
        abut_triangle triangle = triangle_of(mesh, t);
        memcpy(&corners[3 * kept], triangle.corner, sizeof triangle.corner);
        memcpy(&indices[3 * kept], &abut_mesh_indices(mesh)[3 * t], 3 * sizeof *indices);
        kept++;
    }
    abut_mesh *holed = NULL;
    if (shared) {
        holed = test_mesh(NULL, abut_mesh_local_positions(mesh), abut_mesh_vertex_count(mesh),
                          indices, kept);
    } else {
        holed = make_soup(NULL, corners, kept);
    }
    abut_mesh_destroy(mesh);
    return holed;
}

/* Surfaces with small holes contain where they wind by half or more, sheets nothing; ones whose
 * vertices only happen to be in one place are like those that share them. */
TEST(borders) {
    test_random random = {21};
    abut_mesh *speck = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 1), 1e-3, vec(0, 0, 0));
    AUTO(bvh) point = hierarchy(speck);
    uint32_t seen[2] = {0, 0};
    for (int kind = 0; kind < 6; kind++) {
        static const uint32_t holes[] = {2, 5, 1000};
        abut_mesh *whole = make_shape(NULL, kind % 2 ? ABUT_SHAPE_UVSPHERE : ABUT_SHAPE_LETTER_G,
                                      kind % 2 ? 9 : 2);
        AUTO(bvh) shared = hierarchy(with_holes(abut_mesh_retain(whole), holes[kind / 2], true));
        AUTO(bvh) soup = hierarchy(with_holes(whole, holes[kind / 2], false));
        const bool sheet = test_examine(abut_bvh_mesh(shared)).is_sheet;
        for (int i = 0; i < 60; i++) {
            abut_collider a = abut_collider_from_bvh(shared, i % 3 ? any_pose(&random, 1) : still);
            AUTO(mesh) moved = transformed(shared, a.pose);
            abut_collider b = abut_collider_from_bvh(point, still);
            b.pose.translation = point_around(moved, &random, 0.9);
            if (i % 3 == 0 && i % 2) { /* right behind a vertex, along an axis */
                abut_vec3 corner = triangle_of(moved, (uint32_t)i).corner[0];
                abut_triangle speck_triangle = triangle_of(abut_bvh_mesh(point), 0);
                b.pose.translation.x = corner.x - speck_triangle.corner[0].x;
                b.pose.translation.y = corner.y - speck_triangle.corner[0].y;
            }
            AUTO(mesh) moved_b = transformed(point, b.pose);
            abut_vec3 o = abut_mesh_local_origin(moved_b),
                      p = abut_mesh_local_positions(moved_b)[0];
            double turns = fabs(brute_winding(moved, vec(o.x + p.x, o.y + p.y, o.z + p.z)));
            abut_pair_relation relation, again;
            assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
            a.shape.body.bvh = soup;
            assert_ok(relation_of(&a, &b, NULL, NULL, &again));
            assert_int_equal(relation, again);
            if (relation != ABUT_PAIR_INTERSECTING && fabs(turns - 0.5) > 1e-6) {
                const bool inside = !sheet && turns > 0.5;
                assert_int_equal(relation, inside ? ABUT_PAIR_B_INSIDE : ABUT_PAIR_APART);
                seen[inside]++;
            }
        }
    }
    assert_true(seen[0] > 50 && seen[1] > 30);
}

/* Sizes and places at which doubles are coarse or floats have no exponent. */
TEST(extremes) {
    static const double scales[] = {1e-30, 1e30, 1, 1e-80, 1e80};
    test_random random = {8};
    for (int i = 0; i < 5; i++)
        for (int j = test_brief() ? i % 2 : 0; j < 5; j += test_brief() ? 2 : 1) {
            AUTO(bvh)
            a = hierarchy(
                make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 5), scales[i], vec(0, 0, 0)));
            AUTO(bvh)
            b = hierarchy(
                make_moved(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 4), scales[j], vec(0, 0, 0)));
            abut_pair_cache cache;
            memset(&cache, 0, sizeof cache);
            for (int k = 0; k < 2; k++)
                check_pair(a, any_pose(&random, 0.5 * scales[i]), b, any_pose(&random, scales[j]),
                           true, &cache);
        }
    /* together, but far from the origin */
    static const double places[] = {1e3, 1e6, 1e10, 1e15, 1e16, 1e30};
    for (int i = 0; i < 6; i++) {
        AUTO(bvh) a = hierarchy(make_shape(NULL, ABUT_SHAPE_TORUS, 5));
        AUTO(bvh)
        b = hierarchy(make_moved(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 5), 1,
                                 vec(places[i], -places[i], places[i] / 3)));
        for (int k = 0; k < 2; k++) {
            abut_pose at = any_pose(&random, 0.7), turned = any_pose(&random, 0.7);
            at.translation.x += places[i];
            at.translation.y -= places[i];
            at.translation.z += places[i] / 3;
            check_pair(a, at, b, still, true, NULL);
            check_pair(a, turned, a, at, true, NULL);
            check_pair(a, at, a, at, true, NULL);
        }
    }
}

/* At large distances the result is that of all pairs within rounding errors. */
TEST(far_apart) {
    static const double places[] = {100, 1e4, 1e9, 1e20, 1e30, 1e80};
    test_random random = {9};
    AUTO(bvh) a = hierarchy(make_shape(NULL, ABUT_SHAPE_TORUS, 6));
    AUTO(bvh) b = hierarchy(make_shape(NULL, ABUT_SHAPE_LETTER_E, 2));
    for (int i = 0; i < 24; i++) {
        double place = places[i % 6];
        abut_collider at_a = abut_collider_from_bvh(a, any_pose(&random, i < 12 ? 1 : place));
        abut_collider at_b = abut_collider_from_bvh(b, any_pose(&random, place));
        at_b.pose.translation.x = at_a.pose.translation.x + place;
        AUTO(mesh) moved_a = transformed(a, at_a.pose), *moved_b = transformed(b, at_b.pose);
        slow_answer slow = slowly(moved_a, moved_b, tie_of(&at_a, &at_b, moved_a, moved_b));
        abut_separation got, again;
        abut_pair_cache cache;
        memset(&cache, 0, sizeof cache);
        cache.known = 1;
        cache.triangle_a = 3;
        assert_ok(abut_pair_distance(&at_a, &at_b, NULL, NULL, &got));
        assert_ok(abut_pair_distance(&at_a, &at_b, NULL, &cache, &again));
        assert_memory_equal(&got, &again, sizeof got);
        double largest = 3 * place;
        assert_true(fabs(got.distance - slow.closest.distance) <= 1e-12 * largest);
        bool within;
        assert_ok(abut_pair_within(&at_a, &at_b, got.distance, NULL, NULL, &within, NULL));
        assert_true(within);
        assert_ok(abut_pair_within(&at_a, &at_b, 0.9 * got.distance, NULL, NULL, &within, NULL));
        assert_false(within);
        free(slow.meetings);
    }
}

/* ---- tiny meshes ---- */

static void note_warning(void *user, abut_log_level level, const char *message) {
    int *warnings = user;
    *warnings += level == ABUT_LOG_WARNING && strstr(message, "are not 0") != NULL;
}

/* How many pairs of triangles two rings have in common at a scale, or -1 if the mesh is refused. */
static int64_t pairs_at(double scale) {
    int warnings = 0;
    abut_context_options options = abut_context_options_default();
    options.log = note_warning;
    options.log_user = &warnings;
    abut_context *context = NULL;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    shape.segments = 12;
    shape.rings = 8;
    abut_mesh *ring = NULL, *small = NULL;
    AUTO(bvh) bvh = NULL;
    uint64_t count = 0;
    assert_ok(abut_context_create(&options, &context));
    assert_ok(abut_shape_create(context, &shape, &ring));
    assert_int_equal(0, warnings);
    abut_status status = abut_mesh_transform(ring, scale, still, &small);
    if (status) {
        assert_int_equal(ABUT_ERROR_ARGUMENT, status);
        abut_mesh_destroy(ring);
        abut_context_destroy(context);
        return -1;
    }
    assert_ok(abut_bvh_create(small, NULL, &bvh));
    abut_collider a = abut_collider_from_bvh(bvh, still), b = abut_collider_from_bvh(bvh, still);
    b.pose.translation.x = 0.25 * scale;
    abut_pair_intersection_list crossings = {NULL, 0, 0};
    status = abut_pair_intersections(&a, &b, &crossings);
    count = crossings.count;
    assert_true(status == ABUT_OK || status == ABUT_ERROR_BUFFER);
    abut_mesh_destroy(small);
    abut_mesh_destroy(ring);
    abut_context_destroy(context);
    assert_int_equal(0, warnings);
    return (int64_t)count;
}

/* Scales by powers of two change no answer, down to where products of three coordinates are no
 * doubles any more: such meshes are refused. */
TEST(tiny_meshes) {
    const int64_t known = pairs_at(1);
    assert_true(known > 20);
    assert_int_equal(known, pairs_at(0x1p-100)); /* 1e-30 */
    assert_int_equal(known, pairs_at(0x1p-199)); /* 1e-60 */
    assert_int_equal(known, pairs_at(0x1p-240)); /* 1e-72 */
    assert_int_equal(-1, pairs_at(0x1p-332));    /* 1e-100 */
    assert_int_equal(-1, pairs_at(0x1p-498));    /* 1e-150 */
    assert_int_equal(-1, pairs_at(0x1p-996));    /* 1e-300 */
}
