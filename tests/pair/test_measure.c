/* The intersection of two solids: against sums over pairs of tetrahedra in long doubles, which
 * do not use surfaces, against closed forms, and against itself at other positions. */
#include "base/simd.h"
#include "bvh/meshes.h"
#include "pair/tetrahedra.h"
#include "support/pose.h"

#include <math.h>
#include <pthread.h>

/* ---- comparing ---- */

static abut_pair_measures common_of(const abut_collider *a, const abut_collider *b) {
    abut_pair_measures common = abut_pair_measures_default();
    assert_ok(abut_pair_measure(a, b, NULL, &common));
    return common;
}

#define assert_near(wanted, got, error)                                                \
    do {                                                                               \
        double near_wanted = (double)(wanted), near_got = (got);                       \
        if (!(fabs(near_wanted - near_got) <= (error)))                                \
            fail_msg("line %d: %.17g instead of %.17g, off by %g", __LINE__, near_got, \
                     near_wanted, near_got - near_wanted);                             \
    } while (0)

static void check_slowly(const abut_collider *a, const abut_collider *b, bool areas) {
    abut_pair_measures found = common_of(a, b);
    slow_common slow = slowly(a, b, b->pose.translation);
    assert_near(slow.volume, found.volume, 1e-13 + 1e-12 * fabsl(slow.volume));
    if (slow.volume > 1e-6L) {
        const double centroid[3] = {found.centroid.x, found.centroid.y, found.centroid.z},
                     around[3] = {b->pose.translation.x, b->pose.translation.y,
                                  b->pose.translation.z};
        for (int i = 0; i < 3; i++)
            assert_near(slow.moment[i] / slow.volume + around[i], centroid[i], 1e-9);
    }
    if (areas) {
        assert_near(slow.area_a, found.area_a, 1e-11);
        assert_near(slow.area_b, found.area_b, 1e-11);
    }
}

TEST(random_solids) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX,   ABUT_SHAPE_ICOSPHERE,
                                            ABUT_SHAPE_TORUS, ABUT_SHAPE_LETTER_G,
                                            ABUT_SHAPE_TUBE,  ABUT_SHAPE_STAIRS};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    test_random random = {41};
    abut_bvh *trees[KINDS];
    for (int i = 0; i < KINDS; i++)
        trees[i] = hierarchy(make_shape(NULL, kinds[i], kinds[i] == ABUT_SHAPE_ICOSPHERE ? 2 : 3));
    for (uint32_t round = 0; round < test_rounds(96); round++) {
        abut_collider a = abut_collider_from_bvh(trees[round % KINDS], random_pose(&random, 0.5)),
                      b = abut_collider_from_bvh(trees[test_random_below(&random, KINDS)],
                                                 random_pose(&random, 0.5));
        check_slowly(&a, &b, true);
    }
    for (int i = 0; i < KINDS; i++)
        abut_bvh_destroy(trees[i]);
}

static const uint32_t tetrahedron_indices[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};

/* Some tetrahedra with corners on a grid, in one mesh: they overlap, share faces, or are the same.
 */
static abut_mesh *grid_mesh(test_random *random, uint32_t count) {
    abut_mesh *all = NULL;
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 p[4];
        tetrahedron t;
        do
            for (int k = 0; k < 4; k++) {
                p[k] = vec(test_random_below(random, 3), test_random_below(random, 3),
                           test_random_below(random, 3));
                t.p[k] = (point){{p[k].x, p[k].y, p[k].z}};
            }
        while (determinant(&t) <= 0);
        abut_mesh *one = test_mesh(NULL, p, 4, tetrahedron_indices, 4);
        all = all ? make_joined(all, one) : one;
    }
    return all;
}

/* Corners in few places: vertices on vertices, edges on edges, faces in one plane; exactly, and but
 * for the rounding of a pose that both have. */
TEST(tetrahedra_on_a_grid) {
    test_random random = {42};
    for (uint32_t round = 0; round < test_rounds(4000); round++) {
        uint32_t count = round % 4 ? 1 : 3;
        abut_mesh *mesh[2] = {grid_mesh(&random, count), grid_mesh(&random, count)};
        abut_collider a = abut_collider_from_bvh(hierarchy(mesh[0]), abut_pose_identity()),
                      b = abut_collider_from_bvh(hierarchy(mesh[1]), abut_pose_identity());
        slow_common slow = slowly(&a, &b, vec(0, 0, 0));
        assert_near(slow.volume, common_of(&a, &b).volume, 1e-13);
        assert_near(slow.volume, common_of(&b, &a).volume, 1e-13);
        a.pose = random_pose(&random, 1);
        abut_mesh *moved = NULL;
        assert_ok(abut_mesh_transform(abut_bvh_mesh(b.shape.body.bvh), 1, a.pose, &moved));
        abut_collider c = abut_collider_from_bvh(hierarchy(moved), abut_pose_identity());
        assert_near(slow.volume, common_of(&a, &c).volume, 1e-12);
        assert_near(slow.volume, common_of(&c, &a).volume, 1e-12);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)a.shape.body.bvh);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)b.shape.body.bvh);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)c.shape.body.bvh);
    }
}

/* ---- closed forms ---- */

typedef struct block {
    double lo[3], hi[3];
} block;

static abut_bvh *block_tree(const block *b, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    shape.extent = vec(b->hi[0] - b->lo[0], b->hi[1] - b->lo[1], b->hi[2] - b->lo[2]);
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return hierarchy(make_moved(mesh, 1,
                                vec((b->lo[0] + b->hi[0]) / 2, (b->lo[1] + b->hi[1]) / 2,
                                    (b->lo[2] + b->hi[2]) / 2)));
}

/* What two blocks have in common; `error` is for a size of 1. */
static void check_blocks(const block *a, const block *b, const abut_pair_measures *found,
                         double error) {
    double size[3], lo[3], hi[3], inside_a = 0, inside_b = 0, shared = 0, flush = 0, volume = 1;
    int flat = 0, a_more = 0, b_more = 0;
    for (int i = 0; i < 3; i++) {
        lo[i] = fmax(a->lo[i], b->lo[i]);
        hi[i] = fmin(a->hi[i], b->hi[i]);
        size[i] = hi[i] - lo[i];
        flat += size[i] == 0 ? 1 : size[i] < 0 ? 4 : 0;
        a_more += a->lo[i] < b->lo[i] || a->hi[i] > b->hi[i];
        b_more += b->lo[i] < a->lo[i] || b->hi[i] > a->hi[i];
        volume *= size[i];
    }
    for (int i = 0; i < 3; i++) {
        double side = size[(i + 1) % 3] * size[(i + 2) % 3];
        inside_a += side * ((a->lo[i] > b->lo[i]) + (a->hi[i] < b->hi[i]));
        inside_b += side * ((b->lo[i] > a->lo[i]) + (b->hi[i] < a->hi[i]));
        shared += side * ((a->lo[i] == b->lo[i]) + (a->hi[i] == b->hi[i]));
        flush += flat == 1 && size[i] == 0 ? side : 0;
    }
    abut_pair_kind kind = flat >= 4            ? ABUT_PAIR_KIND_APART
                          : flat               ? ABUT_PAIR_KIND_TOUCH
                          : !a_more && !b_more ? ABUT_PAIR_KIND_SAME
                          : !a_more            ? ABUT_PAIR_KIND_A_INSIDE
                          : !b_more            ? ABUT_PAIR_KIND_B_INSIDE
                                               : ABUT_PAIR_KIND_OVERLAP;
    assert_string_equal(abut_pair_kind_name(kind), abut_pair_kind_name(found->kind));
    assert_int_equal(ABUT_RELIABILITY_GUARANTEED, found->reliability.level);
    assert_near(flush, found->flush_area, error);
    assert_near(flat ? 0 : volume, found->volume, error);
    assert_near(flat ? 0 : inside_a, found->area_a, error);
    assert_near(flat ? 0 : inside_b, found->area_b, error);
    assert_near(flat ? 0 : shared, found->shared_area, error);
    assert_near(flat ? 0 : inside_a + inside_b + shared, found->area, error);
}

static block random_block(test_random *random) {
    block b;
    for (int i = 0; i < 3; i++) {
        b.lo[i] = test_random_below(random, 3);
        b.hi[i] = b.lo[i] + 1 + test_random_below(random, 3);
    }
    return b;
}

/* Blocks on a grid, where faces often lie on each other: as they are, and both moved by one pose,
 * if they do so within rounding errors. */
TEST(blocks) {
    test_random random = {43};
    for (uint32_t round = 0; round < test_rounds(1600); round++) {
        block a = random_block(&random), b = random_block(&random);
        if (round % 8 == 0)
            b = a;
        abut_collider p = abut_collider_from_bvh(block_tree(&a, 1 + test_random_below(&random, 3)),
                                                 abut_pose_identity()),
                      q = abut_collider_from_bvh(block_tree(&b, 1 + test_random_below(&random, 3)),
                                                 abut_pose_identity());
        abut_pair_measures found = common_of(&p, &q);
        check_blocks(&a, &b, &found, 1e-13);
        if (found.kind > ABUT_PAIR_KIND_TOUCH)
            for (int i = 0; i < 3; i++) {
                const double *lo = &found.bounds.lo.x, *hi = &found.bounds.hi.x,
                             *c = &found.centroid.x;
                assert_near(fmax(a.lo[i], b.lo[i]), lo[i], 1e-13);
                assert_near(fmin(a.hi[i], b.hi[i]), hi[i], 1e-13);
                assert_near((lo[i] + hi[i]) / 2, c[i], 1e-13);
            }
        p.pose = q.pose = random_pose(&random, 10);
        found = common_of(&p, &q);
        check_blocks(&a, &b, &found, 1e-12);
        /* One of them as another mesh, so that nothing turns the same way. */
        abut_mesh *moved = NULL;
        assert_ok(abut_mesh_transform(abut_bvh_mesh(p.shape.body.bvh), 1, p.pose, &moved));
        abut_collider r = abut_collider_from_bvh(hierarchy(moved), abut_pose_identity());
        found = common_of(&r, &q);
        check_blocks(&a, &b, &found, 1e-12);
        found = common_of(&q, &r);
        check_blocks(&b, &a, &found, 1e-12);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)p.shape.body.bvh);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)q.shape.body.bvh);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)r.shape.body.bvh);
    }
}

static abut_bvh *shape_tree(abut_shape_kind kind, uint32_t segments) {
    return hierarchy(make_shape(NULL, kind, segments));
}

static double volume_of(const abut_bvh *bvh) {
    double volume = 0;
    const abut_mesh *mesh = abut_bvh_mesh(bvh);
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_triangle t = triangle_of(mesh, i);
        volume += v3_dot(t.corner[0], v3_cross(t.corner[1], t.corner[2])) / 6;
    }
    return volume;
}

/* ---- the same in other places ---- */

static const abut_pose still;

/* Exchanged, both moved, far away, and larger or smaller. */
TEST(invariant) {
    test_random random = {44};
    AUTO(bvh) torus = shape_tree(ABUT_SHAPE_TORUS, 12), *ball = shape_tree(ABUT_SHAPE_ICOSPHERE, 4);
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        abut_collider a = abut_collider_from_bvh(torus, random_pose(&random, 0.4)),
                      b = abut_collider_from_bvh(ball, random_pose(&random, 0.4));
        abut_pair_measures here = common_of(&a, &b), turned = common_of(&b, &a);
        assert_near(here.volume, turned.volume, 1e-14);
        assert_near(here.area_a, turned.area_b, 1e-13);
        assert_near(here.area_b, turned.area_a, 1e-13);
        assert_int_equal(here.kind, turned.kind);
        /* The part of a inside b and that of b inside a close each other. */
        assert_near(0, v3_length(v3_add(here.area_vector, turned.area_vector)), 1e-13);
        /* It is the gradient of the volume. */
        abut_collider before = a, after = a;
        abut_vec3 way = random_vec(&random, 1e-5);
        before.pose.translation = v3_sub(a.pose.translation, way);
        after.pose.translation = v3_add(a.pose.translation, way);
        assert_near(2 * v3_dot(here.area_vector, way),
                    common_of(&after, &b).volume - common_of(&before, &b).volume, 1e-11);
        abut_pose move = random_pose(&random, 1e6);
        if (round % 2)
            move.rotation = (abut_quat){0, 0, 0, 1};
        abut_collider c = abut_collider_from_bvh(torus, pose_multiply(&move, &a.pose)),
                      d = abut_collider_from_bvh(ball, pose_multiply(&move, &b.pose));
        abut_pair_measures there = common_of(&c, &d);
        /* Poses that far away are rounded, and what they differ by is a shift of a body. */
        mat3 turn = quat_matrix(move.rotation);
        abut_vec3 lost = v3_sub(v3_sub(c.pose.translation, d.pose.translation),
                                m3_apply(&turn, v3_sub(a.pose.translation, b.pose.translation)));
        assert_near(here.volume, there.volume, 4 * v3_length(lost) + 1e-14);
        assert_near(0, v3_length(v3_sub(pose_apply(&move, here.centroid), there.centroid)),
                    here.volume > 0 ? 1e-8 : 1e7);
        for (int k = -9; k <= 9; k += 18) {
            double scale = pow(10, k);
            abut_mesh *mesh[2] = {NULL, NULL};
            assert_ok(abut_mesh_transform(abut_bvh_mesh(torus), scale, still, &mesh[0]));
            assert_ok(abut_mesh_transform(abut_bvh_mesh(ball), scale, still, &mesh[1]));
            abut_collider e = abut_collider_from_bvh(hierarchy(mesh[0]), a.pose),
                          f = abut_collider_from_bvh(hierarchy(mesh[1]), b.pose);
            e.pose.translation = v3_scale(e.pose.translation, scale);
            f.pose.translation = v3_scale(f.pose.translation, scale);
            abut_pair_measures scaled = common_of(&e, &f);
            assert_near(here.volume, scaled.volume / pow(scale, 3), 1e-13);
            assert_near(here.area_a, scaled.area_a / pow(scale, 2), 1e-13);
            assert_int_equal(here.kind, scaled.kind);
            abut_bvh_destroy((abut_bvh *)(uintptr_t)e.shape.body.bvh);
            abut_bvh_destroy((abut_bvh *)(uintptr_t)f.shape.body.bvh);
        }
    }
}

/* The same bits with any number of lanes. */
TEST(lanes) {
    test_random random = {48};
    AUTO(bvh) torus = shape_tree(ABUT_SHAPE_TORUS, 12), *ball = shape_tree(ABUT_SHAPE_ICOSPHERE, 6);
    for (uint32_t round = 0; round < test_rounds(80); round++) {
        abut_collider a = abut_collider_from_bvh(torus, random_pose(&random, 0.4)),
                      b = abut_collider_from_bvh(ball, random_pose(&random, 0.4));
        abut_pair_measures wide = common_of(&a, &b);
        for (int lanes = 4; lanes < 16; lanes *= 2) {
            abuti_simd_limit_lanes(lanes);
            abut_pair_measures found = common_of(&a, &b);
            abuti_simd_limit_lanes(16);
            assert_memory_equal(&wide.volume, &found.volume, 6 * sizeof(double));
            assert_memory_equal(&wide.area_vector, &found.area_vector, 6 * sizeof(double));
            assert_memory_equal(&wide.bounds, &found.bounds, sizeof wide.bounds);
        }
    }
}

/* A large block with a cavity in the form of a solid; takes the mesh. */
static abut_bvh *around(abut_mesh *mesh) {
    abut_mesh *box = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 2), 8, vec(0, 0, 0));
    return hierarchy(make_joined(box, make_flipped(mesh)));
}

/* What is in b and what is in the rest of space is all of a; with cavities, and seams that only
 * coordinates close. */
TEST(rest) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TUBE,
                                            ABUT_SHAPE_LETTER_G};
    test_random random = {45};
    AUTO(bvh) a = shape_tree(ABUT_SHAPE_TORUS, 16);
    double volume = volume_of(a);
    for (int kind = 0; kind < 3; kind++) {
        AUTO(bvh) b = shape_tree(kinds[kind], 6), *rest = around(make_shape(NULL, kinds[kind], 6));
        for (uint32_t round = 0; round < test_rounds(160); round++) {
            abut_collider p = abut_collider_from_bvh(a, random_pose(&random, 0.4)),
                          q = abut_collider_from_bvh(b, random_pose(&random, 0.4)),
                          r = abut_collider_from_bvh(rest, q.pose);
            abut_pair_measures in = common_of(&p, &q), out = common_of(&p, &r);
            assert_near(volume, in.volume + out.volume, 1e-13);
            assert_near(0, v3_length(v3_add(in.area_vector, out.area_vector)), 1e-12);
        }
    }
}

/* ---- kinds ---- */

static abut_pair_measures at(const abut_bvh *a, const abut_bvh *b, double x, double y, double z) {
    abut_collider p = abut_collider_from_bvh(a, abut_pose_identity()),
                  q = abut_collider_from_bvh(b, (abut_pose){{0, 0, 0, 1}, {x, y, z}});
    return common_of(&p, &q);
}

TEST(nested) {
    abut_mesh *small = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3), 0.1, vec(0, 0, 0));
    AUTO(bvh) ball = hierarchy(small), *hollow = around(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 6));
    double volume = volume_of(ball);
    assert_int_equal(ABUT_PAIR_KIND_APART, at(ball, hollow, 0, 0, 0).kind); /* in the cavity */
    assert_int_equal(ABUT_PAIR_KIND_APART, at(ball, hollow, 20, 0, 0).kind);
    abut_pair_measures wall = at(ball, hollow, 1.5, 0, 0), turned = at(hollow, ball, 1.5, 0, 0);
    assert_int_equal(ABUT_PAIR_KIND_A_INSIDE, wall.kind);
    assert_int_equal(ABUT_PAIR_KIND_B_INSIDE, turned.kind);
    assert_near(volume, wall.volume, 1e-15);
    assert_near(volume, turned.volume, 1e-15);
    assert_near(0, wall.area_b, 0);
    assert_near(0, v3_length(wall.centroid), 1e-12);
    assert_int_equal(ABUT_PAIR_KIND_OVERLAP, at(ball, hollow, 0.5, 0, 0).kind);
    assert_int_equal(ABUT_PAIR_KIND_OVERLAP, at(ball, hollow, 4, 0, 0).kind);
    /* So is what has no volume, or hardly any. */
    static const double heights[] = {0, 1e-14, 1e-11, 1e-6};
    for (int i = 0; i < 4; i++) {
        block foil = {{-0.5, -0.5, 0}, {0.5, 0.5, 1}};
        AUTO(bvh) flat = block_tree(&foil, 2);
        uint32_t count = abut_mesh_vertex_count(abut_bvh_mesh(flat));
        AUTO_FREE abut_vec3 *positions = malloc(count * sizeof *positions);
        assert_non_null(positions);
        for (uint32_t k = 0; k < count; k++) {
            positions[k] = abut_mesh_local_positions(abut_bvh_mesh(flat))[k];
            positions[k].z *= heights[i];
        }
        AUTO(bvh)
        sheet = hierarchy(test_mesh(NULL, positions, count, abut_mesh_indices(abut_bvh_mesh(flat)),
                                    abut_mesh_triangle_count(abut_bvh_mesh(flat))));
        abut_pair_measures in = at(sheet, hollow, 2, 0, 0);
        assert_int_equal(ABUT_PAIR_KIND_A_INSIDE, in.kind);
        assert_near(heights[i], in.volume, 1e-10);
        assert_near(0, v3_length(in.centroid), 1e-6);
        assert_int_equal(ABUT_PAIR_KIND_B_INSIDE, at(hollow, sheet, 2, 0, 0).kind);
        assert_int_equal(ABUT_PAIR_KIND_APART, at(sheet, hollow, 20, 0, 0).kind);
    }
    /* Of several parts each counts for itself. */
    abut_mesh *list = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3), 0.1, vec(0, 0, 0));
    for (int i = 1; i < 5; i++)
        list = make_joined(list, make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3), 0.1,
                                            vec(0.3 * i, 0, 0)));
    AUTO(bvh) parts = hierarchy(list), *box = shape_tree(ABUT_SHAPE_BOX, 1);
    abut_pair_measures three =
        at(parts, box, 0.1, 0, 0); /* x from -0.4 to 0.6: at 0, 0.3 and 0.6 */
    assert_int_equal(ABUT_PAIR_KIND_OVERLAP, three.kind);
    assert_near(2.5 * volume, three.volume, 1e-15);
}

/* A ball in a box that is larger by up to 1e12, or half-way through its side. */
TEST(specks) {
    AUTO(bvh) box = shape_tree(ABUT_SHAPE_BOX, 2);
    for (int power = 0; power <= 12; power += 3) {
        double size = pow(10, -power);
        abut_mesh *ball = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4), size, vec(0, 0, 0));
        AUTO(bvh) speck = hierarchy(ball);
        double volume = volume_of(speck);
        abut_pair_measures found = at(speck, box, -0.25 * (power > 0), 0, 0);
        assert_int_equal(ABUT_PAIR_KIND_A_INSIDE, found.kind);
        assert_near(volume, found.volume, 1e-13 * volume);
        found = at(box, speck, 0, 0.25 * (power > 0), 0);
        assert_int_equal(ABUT_PAIR_KIND_B_INSIDE, found.kind);
        assert_near(volume, found.volume, 1e-13 * volume);
        assert_int_equal(ABUT_PAIR_KIND_APART, at(box, speck, 0.5 + size, 0, 0).kind);
        found = at(box, speck, 0.5, 0, 0); /* where edges of the box are rounded */
        assert_int_equal(ABUT_PAIR_KIND_OVERLAP, found.kind);
        assert_near(volume / 2, found.volume, (1e-12 + 1e-15 / size) * volume);
        assert_near(found.area_b, at(speck, box, -0.5, 0, 0).area_a,
                    (1e-12 + 1e-15 / size) * size * size);
    }
}

/* Faces, edges and corners on faces, edges and corners: the same however both are turned. */
TEST(touching) {
    static const abut_vec3 corners[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    AUTO(bvh) box = shape_tree(ABUT_SHAPE_BOX, 2);
    AUTO(bvh) tip = hierarchy(test_mesh(NULL, corners, 4, tetrahedron_indices, 4));
    const struct {
        abut_vec3 at;
        abut_pair_kind kind;
        double flush;
    } cases[] = {
        {{0.5, 0, 0}, ABUT_PAIR_KIND_TOUCH, 0.25},       /* a face, a part of it beyond */
        {{0.5, -0.5, -0.5}, ABUT_PAIR_KIND_TOUCH, 0.5},  /* a face */
        {{0.5, 0.5, -0.25}, ABUT_PAIR_KIND_TOUCH, 0},    /* an edge */
        {{0.5, 0.5, 0.5}, ABUT_PAIR_KIND_TOUCH, 0},      /* a corner */
        {{-0.25, -0.25, -1.5}, ABUT_PAIR_KIND_TOUCH, 0}, /* the tip on a face */
        {{-0.25, -0.25, -1.5 - 1e-6}, ABUT_PAIR_KIND_APART, 0},
        {{-0.25, -0.25, -1.5 + 1e-6}, ABUT_PAIR_KIND_OVERLAP, 0},
        {{0.5 - 1e-6, 0, 0}, ABUT_PAIR_KIND_OVERLAP, 0},
        {{0.5 + 1e-6, 0, 0}, ABUT_PAIR_KIND_APART, 0},
        {{-0.5, -0.5, -0.5}, ABUT_PAIR_KIND_B_INSIDE, 0},
    };
    test_random random = {46};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int turn = 0; turn < 8; turn++) {
            abut_collider a = abut_collider_from_bvh(box, abut_pose_identity()),
                          b = abut_collider_from_bvh(tip, (abut_pose){{0, 0, 0, 1}, cases[i].at});
            if (turn) {
                abut_pose move = random_pose(&random, 3);
                a.pose = pose_multiply(&move, &a.pose);
                b.pose = pose_multiply(&move, &b.pose);
            }
            abut_pair_measures found = common_of(&a, &b);
            if (found.kind != cases[i].kind)
                fail_msg("case %zu, turn %d: %s", i, turn, abut_pair_kind_name(found.kind));
            assert_near(cases[i].flush, found.flush_area, 1e-12);
            if (found.kind != ABUT_PAIR_KIND_TOUCH)
                continue;
            assert_near(0, found.volume, 0);
            assert_near(cases[i].flush, v3_length(found.area_vector), 1e-12);
            /* The point is in the box, and that where it should be. */
            abut_pose back = pose_inverse(&a.pose);
            abut_vec3 p = pose_apply(&back, found.centroid);
            assert_true(v3_max_abs(p) <= 0.5 + 1e-9 && v3_max_abs(p) >= 0.5 - 1e-9);
            assert_true(found.bounds.lo.x <= found.centroid.x + 1e-9 &&
                        found.bounds.hi.z >= found.centroid.z - 1e-9);
        }
    /* A tolerance makes more of it. */
    abut_pair_measure_options options = abut_pair_measure_options_default();
    abut_collider a = abut_collider_from_bvh(box, abut_pose_identity()),
                  b = abut_collider_from_bvh(tip,
                                             (abut_pose){{0, 0, 0, 1}, {0.5 + 1e-6, -0.5, -0.5}});
    abut_pair_measures found = abut_pair_measures_default();
    options.tolerance = 2e-6;
    assert_ok(abut_pair_measure(&a, &b, &options, &found));
    assert_int_equal(ABUT_PAIR_KIND_TOUCH, found.kind);
    assert_near(0.5, found.flush_area, 1e-12);
    b.pose.translation.x = 0.5 - 1e-6;
    assert_ok(abut_pair_measure(&a, &b, &options, &found));
    assert_int_equal(ABUT_PAIR_KIND_TOUCH, found.kind);
    assert_near(0.5, found.flush_area, 1e-5);
}

/* ---- hard input ---- */

/* Turned inside out, as loose triangles, with triangles that have no area, and cut by itself. */
TEST(odd_meshes) {
    test_random random = {47};
    abut_bvh *torus = shape_tree(ABUT_SHAPE_TORUS, 12), *ball = shape_tree(ABUT_SHAPE_ICOSPHERE, 4);
    abut_bvh *inward = hierarchy(make_flipped(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4)));
    abut_bvh *soup =
        hierarchy(make_flipped(make_flipped(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4))));
    AUTO(mesh) whole = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4);
    uint32_t count = abut_mesh_triangle_count(whole);
    AUTO_FREE abut_vec3 *corners = malloc(3 * ((size_t)count + 3) * sizeof *corners);
    assert_non_null(corners);
    for (uint32_t i = 0; i < count; i++) {
        abut_triangle t = triangle_of(whole, i);
        memcpy(corners + 3 * (size_t)i, t.corner, sizeof t.corner);
    }
    /* The middle of an edge of one triangle: two halves, and a degenerate triangle that closes the
     * gap. */
    abut_vec3 p = corners[0], q = corners[1], r = corners[2], m = v3_scale(v3_add(p, q), 0.5);
    const abut_vec3 more[4][3] = {{m, q, r}, {p, q, m}, {p, p, q}, {r, r, r}};
    corners[1] = m;
    memcpy(corners + 3 * (size_t)count, more, 3 * sizeof *more);
    abut_bvh *needle = hierarchy(make_soup(NULL, corners, count + 3));
    abut_bvh *twice = hierarchy(make_joined(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4),
                                            make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4)));
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        abut_collider a = abut_collider_from_bvh(torus, random_pose(&random, 0.4)),
                      b = abut_collider_from_bvh(ball, random_pose(&random, 0.4));
        abut_pair_measures plain = common_of(&a, &b), found = abut_pair_measures_default();
        b.shape.body.bvh = inward;
        found = common_of(&a, &b);
        assert_near(plain.volume, found.volume, 1e-15);
        assert_near(plain.area_a, found.area_a, 1e-14);
        assert_near(plain.area_b, found.area_b, 1e-14);
        assert_near(0, v3_length(v3_sub(plain.area_vector, found.area_vector)), 1e-14);
        assert_int_equal(plain.kind, found.kind);
        assert_non_null(strstr(found.reliability.reason, "Mesh b faces inwards"));
        found = common_of(&b, &a);
        assert_near(plain.volume, found.volume, 1e-15);
        b.shape.body.bvh = soup;
        found = common_of(&a, &b);
        assert_near(plain.volume, found.volume, 1e-15);
        assert_int_equal(plain.kind, found.kind);
        b.shape.body.bvh = needle;
        found = common_of(&a, &b);
        assert_near(plain.volume, found.volume, 1e-14);
        assert_near(plain.area_a, found.area_a, 1e-14);
        assert_near(plain.area_b, found.area_b, 1e-14);
        b.shape.body.bvh = twice;
        found = common_of(&a, &b);
        assert_near(2 * plain.volume, found.volume, 1e-14);
    }
    abut_collider a = abut_collider_from_bvh(inward, abut_pose_identity()),
                  b = abut_collider_from_bvh(ball, abut_pose_identity());
    assert_int_equal(ABUT_PAIR_KIND_SAME, common_of(&a, &b).kind);
    a.shape.body.bvh = needle;
    assert_int_equal(ABUT_PAIR_KIND_SAME, common_of(&a, &b).kind);
    abut_bvh *trees[] = {torus, ball, inward, soup, needle, twice};
    for (int i = 0; i < 6; i++)
        abut_bvh_destroy(trees[i]);
}

/* Borders and triangles that face opposite ways: a kind, and a reason for the rest. */
TEST(open_meshes) {
    AUTO(bvh) sheet = shape_tree(ABUT_SHAPE_SHEET, 3), *box = shape_tree(ABUT_SHAPE_BOX, 1);
    abut_pair_measures found = at(sheet, box, 0, 0, 0);
    assert_int_equal(ABUT_PAIR_KIND_OVERLAP, found.kind);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, found.reliability.level);
    assert_non_null(strstr(found.reliability.reason, "Mesh a has boundary edges"));
    assert_near(0, found.volume + found.area + found.flush_area, 0);
    assert_non_null(
        strstr(at(box, sheet, 0, 0, 0).reliability.reason, "Mesh b has boundary edges"));
    assert_non_null(strstr(at(sheet, sheet, 0, 0, 0).reliability.reason, "Both meshes"));
    assert_int_equal(ABUT_PAIR_KIND_APART, at(sheet, box, 0, 0, 3).kind);
    uint32_t indices[36];
    const abut_mesh *mesh = abut_bvh_mesh(box);
    memcpy(indices, abut_mesh_indices(mesh), sizeof indices);
    indices[0] = abut_mesh_indices(mesh)[1];
    indices[1] = abut_mesh_indices(mesh)[0];
    AUTO(bvh)
    turned = hierarchy(test_mesh(NULL, abut_mesh_local_positions(mesh),
                                 abut_mesh_vertex_count(mesh), indices, 12));
    found = at(turned, box, 0.5, 0, 0);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, found.reliability.level);
    assert_non_null(strstr(found.reliability.reason, "opposite ways"));
}

/* Nothing but finite numbers, whatever comes: sizes from 1e-80 to 1e80, far away, soups, and soups
 * that are closed since each triangle is there both ways round. */
TEST(hostile) {
    test_random random = {49};
    enum { SIZES = 5 };
    abut_bvh *trees[SIZES + 2 * SOUP_COUNT];
    uint32_t count = 0;
    for (int i = 0; i < SIZES; i++)
        trees[count++] = hierarchy(make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2),
                                              pow(10, 40 * (i - 2)), vec(0, 0, 0)));
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        trees[count++] = hierarchy(make_kind(NULL, (soup_kind)kind, 24, 7));
        trees[count++] =
            hierarchy(make_joined(make_kind(NULL, (soup_kind)kind, 24, 7),
                                  make_flipped(make_kind(NULL, (soup_kind)kind, 24, 7))));
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            abut_collider a = abut_collider_from_bvh(trees[i], abut_pose_identity()),
                          b = abut_collider_from_bvh(trees[j], abut_pose_identity());
            if ((i + j) % 3)
                b.pose = random_pose(&random, (i + j) % 3 == 1 ? 0.3 : 1e30);
            abut_pair_measures c = common_of(&a, &b);
            const double *numbers[] = {&c.volume, &c.area_vector.x, &c.bounds.lo.x};
            const int counts[] = {6, 6, 6};
            for (int list = 0; list < 3; list++)
                for (int k = 0; k < counts[list]; k++)
                    assert_true(isfinite(numbers[list][k]));
            if (j >= SIZES && (j - SIZES) % 2 == 1 && c.volume != 0)
                fail_msg("trees %u and %u: volume %g, %s", i, j, c.volume,
                         abut_pair_kind_name(c.kind));
        }
    for (uint32_t i = 0; i < count; i++)
        abut_bvh_destroy(trees[i]);
}

TEST(refused) {
    AUTO(bvh) box = shape_tree(ABUT_SHAPE_BOX, 1);
    abut_collider a = abut_collider_from_bvh(box, abut_pose_identity()),
                  none = abut_collider_from_bvh(NULL, abut_pose_identity());
    abut_pair_measure_options options = abut_pair_measure_options_default();
    abut_pair_measures found = {.size = sizeof found, .volume = 7};
    assert_refused("a is null", abut_pair_measure(NULL, &a, NULL, &found));
    assert_refused("b->shape.body.bvh is null", abut_pair_measure(&a, &none, NULL, &found));
    assert_refused("measures is null", abut_pair_measure(&a, &a, NULL, NULL));
    static const double wrong[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        abut_collider b = a;
        options.tolerance = wrong[i];
        assert_refused("tolerance", abut_pair_measure(&a, &a, &options, &found));
        b.pose.translation.y = i ? wrong[i] : 1e200;
        assert_refused("pose of b", abut_pair_measure(&a, &b, NULL, &found));
    }
    assert_near(7, found.volume, 0);
    assert_string_equal("same", abut_pair_kind_name(ABUT_PAIR_KIND_SAME));
    assert_null(abut_pair_kind_name((abut_pair_kind)99));
}

/* After a refit the shell is that of the new positions. */
TEST(refitted) {
    abut_mesh *mesh = make_flipped(make_flipped(make_shape(NULL, ABUT_SHAPE_BOX, 2)));
    AUTO(mesh) larger = NULL;
    assert_ok(abut_mesh_transform(mesh, 2, still, &larger));
    AUTO(bvh) box = hierarchy(mesh), *ball = shape_tree(ABUT_SHAPE_ICOSPHERE, 3);
    assert_int_equal(ABUT_PAIR_KIND_B_INSIDE, at(box, ball, 0, 0, 0).kind);
    assert_near(1, at(box, box, 0, 0, 0).volume, 1e-15);
    assert_ok(abut_bvh_set_mesh(box, larger));
    assert_near(8, at(box, box, 0, 0, 0).volume, 1e-14);
    assert_int_equal(ABUT_PAIR_KIND_SAME, at(box, box, 0, 0, 0).kind);
    /* A corner that comes apart opens it. */
    uint32_t count = abut_mesh_vertex_count(larger);
    AUTO_FREE abut_vec3 *positions = malloc(count * sizeof *positions);
    assert_non_null(positions);
    memcpy(positions, abut_mesh_local_positions(larger), count * sizeof *positions);
    positions[abut_mesh_indices(larger)[0]].x += 0.3;
    AUTO(mesh)
    open = test_mesh(NULL, positions, count, abut_mesh_indices(larger),
                     abut_mesh_triangle_count(larger));
    assert_ok(abut_bvh_set_mesh(box, open));
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, at(box, ball, 0, 0, 0).reliability.level);
}

static abut_status measure_shape(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(*(const abut_shape_kind *)data);
    AUTO(mesh) mesh = NULL;
    AUTO(bvh) bvh = NULL;
    abut_pair_measures found = abut_pair_measures_default();
    shape.segments = shape.rings = 4;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    for (int i = 0; i < 3 && !status; i++) {
        abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                      b = abut_collider_from_bvh(bvh,
                                                 (abut_pose){{0, 0, 0, 1}, {0.3 * i, 0.1 * i, 0}});
        status = abut_pair_measure(&a, &b, NULL, &found);
    }
    return status;
}

TEST(no_memory) {
    abut_shape_kind kinds[] = {ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TEAPOT};
    for (int i = 0; i < 2; i++)
        assert_true(test_every_allocation(measure_shape, &kinds[i]) > 8);
}

typedef struct shared {
    const abut_bvh *bvh;
    double volume;
} shared;

static void *ask_shared(void *data) {
    shared *s = data;
    abut_collider a = abut_collider_from_bvh(s->bvh, abut_pose_identity()),
                  b = abut_collider_from_bvh(s->bvh, (abut_pose){{0, 0, 0, 1}, {0.2, 0.1, 0}});
    abut_pair_measures found = {.size = sizeof found, .volume = -1};
    abut_pair_measure(&a, &b, NULL, &found);
    s->volume = found.volume;
    return NULL;
}

TEST_THREADS(many_at_once) {
    enum { THREADS = 4 };
    AUTO(bvh) ball = shape_tree(ABUT_SHAPE_ICOSPHERE, 3);
    pthread_t threads[THREADS];
    shared all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = (shared){ball, 0};
        assert_int_equal(0, pthread_create(&threads[i], NULL, ask_shared, &all[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_true(all[i].volume == all[0].volume && all[i].volume > 0);
}
