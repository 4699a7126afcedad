/* A mesh of several components: closed ones and ones with small holes contain their interior,
 * sheets contain nothing. The referee knows the kind of each component, and adds the solid
 * angles of those that are not sheets. */
#include "bvh/meshes.h"

#include <abut/abut.h>

enum { PARTS_MAX = 5, ROUNDS = 40, BALLS = 40 };

typedef enum part_kind { PART_CLOSED, PART_CAVITY, PART_HOLE, PART_SHEET, PART_STRAY } part_kind;

typedef struct parts {
    abut_vec3 corners[PARTS_MAX * 3 * 400];
    bool of_solid[PARTS_MAX * 400];
    uint32_t count; /* triangles */
    bool holed;     /* some part has a small hole */
} parts;

static abut_vec3 placed(const abut_vec3 *p, abut_vec3 at, double size) {
    return vec(at.x + size * p->x, at.y + size * p->y, at.z + size * p->z);
}

static void add_triangle(parts *all, const abut_vec3 corner[3], abut_vec3 at, double size,
                         bool turned, bool solid) {
    assert_true(all->count < PARTS_MAX * 400);
    for (int k = 0; k < 3; k++)
        all->corners[3 * all->count + (uint32_t)k] = placed(&corner[turned ? 2 - k : k], at, size);
    all->of_solid[all->count++] = solid;
}

/* A ball or box about (0, 0, 0) with sides of 2, as a soup, so that only coordinates connect it. */
static void add_part(parts *all, part_kind kind, abut_vec3 at, double size, bool turned,
                     test_random *random) {
    const bool round = test_random_below(random, 2);
    abut_shape shape = abut_shape_default(round ? ABUT_SHAPE_ICOSPHERE : ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    shape.extent = vec(2, 2, 2);
    shape.radius = 1;
    shape.segments = 4;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    const uint32_t count = kind == PART_STRAY ? 1 : abut_mesh_triangle_count(mesh);
    const bool solid = kind != PART_SHEET && kind != PART_STRAY;
    all->holed |= kind == PART_HOLE;
    for (uint32_t t = 0; t < count; t++) {
        abut_vec3 corner[3];
        double z = 0;
        for (uint32_t k = 0; k < 3; k++) {
            corner[k] = abut_mesh_local_positions(mesh)[abut_mesh_indices(mesh)[3 * t + k]];
            z += corner[k].z / 3;
        }
        if ((kind == PART_HOLE && t == 0) || (kind == PART_SHEET && z > 0.6))
            continue;
        add_triangle(all, corner, at, size, turned != (kind == PART_CAVITY), solid);
    }
    abut_mesh_destroy(mesh);
}

static void make_parts(parts *all, test_random *random) {
    const uint32_t count = 1 + test_random_below(random, PARTS_MAX);
    memset(all, 0, sizeof *all);
    for (uint32_t i = 0; i < count;) {
        const part_kind kind = (part_kind)test_random_below(random, 5);
        const abut_vec3 at = random_vec(random, 1.5);
        const double size = test_random_real(random, 0.4, 1.6);
        if (kind == PART_CAVITY && i + 2 <= count) {
            add_part(all, PART_CLOSED, at, 2 * size, false, random);
            add_part(all, PART_CAVITY, at, size, false, random);
            i += 2;
        } else {
            add_part(all, kind == PART_CAVITY ? PART_CLOSED : kind, at, size,
                     kind != PART_SHEET && test_random_below(random, 8) == 0, random);
            i++;
        }
    }
}

/* Of the parts that are no sheets. */
static double winding_of(const parts *all, abut_vec3 p) {
    double sum = 0, angle;
    for (uint32_t t = 0; t < all->count; t++) {
        abut_triangle triangle;
        memcpy(triangle.corner, all->corners + 3 * (size_t)t, sizeof triangle.corner);
        assert_ok(abut_triangle_solid_angle(&triangle, p, &angle));
        sum += all->of_solid[t] ? angle : 0;
    }
    return sum / (16 * atan(1));
}

static abut_patches find_patches(const abut_collider *a, const abut_collider *b, double margin,
                                 bool unchecked) {
    static abut_patch list[256];
    static abut_contact contacts[1024];
    abut_patches patches = {.size = sizeof patches,
                            .patches.list = list,
                            .patches.capacity = 256,
                            .contacts.list = contacts,
                            .contacts.capacity = 1024};
    abut_patch_options options = abut_patch_options_default();
    options.margin = margin;
    options.skip_verification = unchecked;
    assert_ok(abut_contact_find(a, b, &options, &patches));
    return patches;
}

static uint64_t count_patches(const abut_collider *a, const abut_collider *b) {
    return find_patches(a, b, 0, false).patches.count;
}

static uint64_t count_solid_patches(const abut_collider *a, abut_vec3 at, double radius) {
    abut_collider ball = {.kind = ABUT_COLLIDER_SPHERE};
    ball.shape.sphere.centre = at;
    ball.shape.sphere.radius = radius;
    return count_patches(a, &ball);
}

static abut_world *make_world(abut_mesh *large, abut_mesh *ball, abut_world_method method) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    options.method = method;
    assert_ok(abut_world_create(NULL, &options, &world));
    for (int i = 0; i < 2; i++) {
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.collider.kind = ABUT_COLLIDER_MESH;
        item.collider.shape.mesh.mesh = i ? ball : large;
        assert_ok(abut_world_add(world, &item, &id));
    }
    return world;
}

static uint64_t count_contacts(abut_world *world, abut_pose pose) {
    static abut_contact list[4096];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 4096};
    const uint32_t id = 1;
    assert_ok(abut_world_set_poses(world, &id, abut_array_host(&pose), 1));
    assert_ok(abut_world_contacts(world, &found));
    return found.count;
}

static bool group_touches(const abut_collider *a, const abut_collider *b) {
    abut_pair_group group = abut_pair_group_default();
    const abut_pair_object both[2] = {{.size = sizeof(abut_pair_object),
                                       .bvh = a->shape.body.bvh,
                                       .poses = &a->pose},
                                      {.bvh = b->shape.body.bvh, .poses = &b->pose}};
    bool any;
    group.objects = both;
    group.object_count = 2;
    group.configuration_count = 1;
    assert_ok(abut_pair_group_any(&group, &any, NULL));
    return any;
}

TEST(every_part_counts_by_itself) {
    static parts all;
    test_random random = {11};
    uint32_t seen[4] = {0, 0, 0, 0}, inside_mixed = 0;
    AUTO(mesh) ball = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2), *small = NULL;
    const double radius = 0.08;
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    assert_ok(abut_mesh_transform(ball, radius / 0.5, still, &small));
    AUTO(bvh) inner = NULL;
    assert_ok(abut_bvh_create(small, NULL, &inner));
    const abut_vec3 first = abut_mesh_local_positions(small)[0];
    for (int round = 0; round < ROUNDS; round++) {
        make_parts(&all, &random);
        AUTO(mesh) mesh = make_soup(NULL, all.corners, all.count);
        AUTO(bvh) outer = NULL;
        assert_ok(abut_bvh_create(mesh, NULL, &outer));
        const abut_mesh_report report = test_examine(mesh);
        bool solids = false, sheets = false;
        for (uint32_t t = 0; t < all.count; t++) {
            solids |= all.of_solid[t];
            sheets |= !all.of_solid[t];
        }
        assert_int_equal(sheets, report.has_sheets);
        assert_int_equal(!solids, report.is_sheet);
        AUTO(world) world = make_world(mesh, small, ABUT_WORLD_EXACT);
        for (int i = 0; i < BALLS; i++) {
            const abut_collider a = abut_collider_from_bvh(outer, still);
            abut_collider b = abut_collider_from_bvh(inner, still);
            abut_overlap surfaces, overlap;
            abut_separation apart;
            abut_pair_options options = abut_pair_options_default();
            bool within;
            b.pose.translation = random_vec(&random, 2);
            options.surface_only = true;
            const double winding = fabs(winding_of(&all, placed(&first, b.pose.translation, 1)));
            assert_ok(abut_pair_overlap(&a, &b, &options, NULL, &surfaces));
            const bool meets = surfaces.relation == ABUT_PAIR_INTERSECTING;
            if (!meets && fabs(winding - 0.5) < 1e-6)
                continue;
            const bool touches = meets || winding >= 0.5;
            assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
            assert_int_equal(meets     ? ABUT_PAIR_INTERSECTING
                             : touches ? ABUT_PAIR_B_INSIDE
                                       : ABUT_PAIR_APART,
                             overlap.relation);
            if (!all.holed || meets)
                assert_int_equal(ABUT_RELIABILITY_GUARANTEED, overlap.reliability.level);
            assert_ok(abut_pair_overlap(&b, &a, NULL, NULL, &overlap));
            assert_int_equal(meets     ? ABUT_PAIR_INTERSECTING
                             : touches ? ABUT_PAIR_A_INSIDE
                                       : ABUT_PAIR_APART,
                             overlap.relation);
            assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
            assert_int_equal(touches, apart.distance == 0);
            assert_ok(abut_pair_within(&a, &b, 0, NULL, NULL, &within, NULL));
            assert_int_equal(touches, within);
            assert_int_equal(touches, group_touches(&a, &b));
            if (touches != (count_patches(&a, &b) > 0))
                fail_msg("round %d, ball %d: %d by the referee, winding number %g", round, i,
                         touches, winding);
            assert_int_equal(touches, count_contacts(world, b.pose) > 0);
            if (!meets && !all.holed) /* of the sphere about the ball, other points may be inside */
                assert_true(count_solid_patches(&a, b.pose.translation, radius) > 0 || !touches);
            seen[overlap.relation]++;
            inside_mixed += touches && !meets && sheets;
        }
    }
    assert_true(seen[ABUT_PAIR_APART] > 50 && seen[ABUT_PAIR_INTERSECTING] > 50 &&
                seen[ABUT_PAIR_A_INSIDE] > 50 && inside_mixed > 10);
}

/* A sphere deep inside an inverted box, whose normals point to it, leaves by the nearest side. */
TEST(sphere_leaves_an_inverted_part) {
    AUTO(mesh) box = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    const uint32_t count = abut_mesh_triangle_count(box);
    uint32_t turned[64][3];
    assert_true(count <= 64);
    for (uint32_t t = 0; t < count; t++)
        for (uint32_t k = 0; k < 3; k++)
            turned[t][k] = abut_mesh_indices(box)[3 * t + 2 - k];
    AUTO(mesh)
    mesh =
        test_mesh(NULL, abut_mesh_local_positions(box), abut_mesh_vertex_count(box), turned, count);
    const double side = abut_mesh_bounds(mesh).hi.x;
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    abut_collider a = abut_collider_from_bvh(NULL, still);
    AUTO(bvh) bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    a.shape.body.bvh = bvh;
    abut_collider ball = {.kind = ABUT_COLLIDER_SPHERE};
    ball.shape.sphere.centre = vec(0.5 * side, 0, 0);
    ball.shape.sphere.radius = 0.25 * side;
    const abut_patches patches = find_patches(&a, &ball, 0, false);
    assert_int_equal(1, patches.patches.count);
    assert_true(patches.is_verified);
    assert_true(fabs(patches.patches.list->depth - 0.75 * side) < 1e-9 &&
                patches.patches.list->normal.x < -1 + 1e-9);
}

/* ---- near a hole ---- */

static bool below_cap(const abut_vec3 *c, double height) {
    return c[0].z < height && c[1].z < height && c[2].z < height;
}

/* A ball without a cap. */
static abut_mesh *make_bowl(double height) {
    AUTO(mesh) whole = make_shape(NULL, ABUT_SHAPE_UVSPHERE, 32);
    const uint32_t count = abut_mesh_triangle_count(whole);
    const abut_vec3 *positions = abut_mesh_local_positions(whole);
    uint32_t(*kept)[3] = malloc(count * sizeof *kept), used = 0;
    assert_non_null(kept);
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t *from = abut_mesh_indices(whole) + 3 * (size_t)t;
        const abut_vec3 corner[3] = {positions[from[0]], positions[from[1]], positions[from[2]]};
        memcpy(kept[used], from, sizeof *kept);
        used += below_cap(corner, height);
    }
    abut_mesh *bowl = test_mesh(NULL, positions, abut_mesh_vertex_count(whole), kept, used);
    free(kept);
    return bowl;
}

/* The touch of a world's sweep at time 0, for a ball that stays or moves a little. */
static bool sweep_touches(abut_world *world, abut_pose pose, double *time) {
    abut_world_impact list[4];
    abut_world_impacts found = {.size = sizeof found, .list = list, .capacity = 4};
    const uint32_t id = 1;
    abut_pose end = pose;
    end.translation.x += 1e-3;
    assert_ok(abut_world_sweep(world, &id, abut_array_host(&end), 1, NULL, &found));
    *time = found.time;
    return found.count && list[0].result.time == 0;
}

/* A small ball on its way through the opening of a ball with a hole of a twentieth of its area:
 * where they overlap, they have contacts, and the other way round. */
TEST(overlap_and_contacts_agree_in_a_hole) {
    AUTO(mesh) bowl = make_bowl(0.45), *unit = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3);
    AUTO(mesh) ball = NULL;
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    const double share = test_examine(bowl).hole_fraction;
    if (!(share > 0.03 && share < ABUT_SHEET_HOLE_FRACTION))
        fail_msg("holes of %g", share);
    assert_ok(abut_mesh_transform(unit, 0.12 / 0.5, still, &ball));
    AUTO(bvh) outer = NULL, *inner = NULL;
    assert_ok(abut_bvh_create(bowl, NULL, &outer));
    assert_ok(abut_bvh_create(ball, NULL, &inner));
    AUTO(world) world = make_world(bowl, ball, ABUT_WORLD_AUTO);
    abut_world_pair_info manner = abut_world_pair_info_default();
    assert_ok(abut_world_get_pair_info(world, 0, 1, &manner));
    assert_int_equal(ABUT_WORLD_GUARANTEE_LIMITED, manner.guarantee);
    assert_true(isinf(manner.error) && strstr(manner.reason, "holes"));
    uint32_t touching = 0, lost = 0, extra = 0, in_world = 0, swept = 0, inside = 0;
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i <= 100; i++) {
            const double angle = turn, s = sin(angle / 2), c = cos(angle / 2), x = 0.02 * turn;
            const abut_collider a = abut_collider_from_bvh(outer, still),
                                b = abut_collider_from_bvh(inner,
                                                           (abut_pose){{s * 0.6, s * 0.8, 0, c},
                                                                       {x, 0, 0.2 + 0.004 * i}});
            abut_overlap overlap;
            double time;
            assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
            const bool touches = overlap.relation != ABUT_PAIR_APART;
            const bool contacts = count_patches(&a, &b) > 0;
            assert_int_equal(contacts, count_patches(&b, &a) > 0);
            assert_int_equal(contacts, find_patches(&a, &b, 0, true).patches.count > 0);
            assert_true(!contacts || find_patches(&a, &b, 0.01, false).patches.count > 0);
            touching += touches;
            inside += overlap.relation == ABUT_PAIR_B_INSIDE;
            lost += touches && !contacts;
            extra += contacts && !touches;
            in_world += touches != (count_contacts(world, b.pose) > 0);
            swept += touches != sweep_touches(world, b.pose, &time);
        }
    assert_true(touching > 100 && inside > 100 && touching < 3 * 101);
    if (lost || extra || in_world || swept)
        fail_msg("of %u poses that touch %u have no contact; %u others have one; worlds differ in "
                 "%u contacts and %u sweeps",
                 touching, lost, extra, in_world, swept);
}

/* ---- reliability of contacts ---- */

/* Contacts with an open mesh are limited only if its boundary can decide: where surfaces touch
 * within the margin, and where one is in the box of a mesh with small holes. */
TEST(contacts_far_from_an_open_mesh_are_guaranteed) {
    static const struct {
        int mesh; /* 0 = a bowl with a small hole, 1 = a sheet, 2 = the bowl with flipped triangles
                   */
        double z, margin;
        abut_reliability_level wanted;
    } cases[] = {
        {0, 9, 0, ABUT_RELIABILITY_GUARANTEED},     {0, 9, 10, ABUT_RELIABILITY_LIMITED},
        {0, 0, 0, ABUT_RELIABILITY_LIMITED},        {0, -0.5, 0, ABUT_RELIABILITY_LIMITED},
        {0, -0.65, 0, ABUT_RELIABILITY_GUARANTEED}, {0, -0.65, 0.1, ABUT_RELIABILITY_LIMITED},
        {1, 9, 0, ABUT_RELIABILITY_GUARANTEED},     {1, 0.3, 0, ABUT_RELIABILITY_GUARANTEED},
        {1, 0, 0, ABUT_RELIABILITY_LIMITED},        {2, 9, 0, ABUT_RELIABILITY_GUARANTEED},
        {2, 0, 0, ABUT_RELIABILITY_UNRELIABLE},     {2, -0.5, 0, ABUT_RELIABILITY_UNRELIABLE}};
    abut_mesh *bowl = make_bowl(0.45), *unit = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3);
    AUTO(mesh) ball = NULL;
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    const uint32_t count = abut_mesh_triangle_count(bowl);
    AUTO_FREE uint32_t *turned = malloc(3 * (size_t)count * sizeof *turned);
    assert_non_null(turned);
    memcpy(turned, abut_mesh_indices(bowl), 3 * (size_t)count * sizeof *turned);
    for (uint32_t t = 0; t < count; t += 5) {
        const uint32_t kept = turned[3 * t];
        turned[3 * t] = turned[3 * t + 1];
        turned[3 * t + 1] = kept;
    }
    abut_mesh *meshes[3] = {bowl, make_shape(NULL, ABUT_SHAPE_SHEET, 4),
                            test_mesh(NULL, abut_mesh_local_positions(bowl),
                                      abut_mesh_vertex_count(bowl), (const uint32_t(*)[3])turned,
                                      count)};
    abut_bvh *outer[3], *inner = NULL;
    assert_ok(abut_mesh_transform(unit, 0.12 / 0.5, still, &ball));
    assert_ok(abut_bvh_create(ball, NULL, &inner));
    for (int i = 0; i < 3; i++)
        assert_ok(abut_bvh_create(meshes[i], NULL, &outer[i]));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const abut_collider a = abut_collider_from_bvh(outer[cases[i].mesh], still);
        abut_collider b = abut_collider_from_bvh(inner, still);
        b.pose.translation.z = cases[i].z;
        for (int swap = 0; swap < 2; swap++) {
            const abut_reliability found =
                find_patches(swap ? &b : &a, swap ? &a : &b, cases[i].margin, false).reliability;
            if (found.level != cases[i].wanted)
                fail_msg("case %d: %s: %s", (int)i, abut_reliability_level_name(found.level),
                         found.reason);
        }
        if (cases[i].margin > 0)
            continue;
        abut_collider sphere = {.kind = ABUT_COLLIDER_SPHERE},
                      plane = {.kind = ABUT_COLLIDER_PLANE};
        sphere.shape.sphere.centre.z = cases[i].z;
        sphere.shape.sphere.radius = 0.12;
        plane.shape.plane = (abut_plane){{0, 0, 1}, -cases[i].z};
        assert_int_equal(cases[i].wanted, find_patches(&a, &sphere, 0, false).reliability.level);
        if (cases[i].z > 1) /* then the plane is below all of it */
            assert_int_equal(ABUT_RELIABILITY_GUARANTEED,
                             find_patches(&a, &plane, 0, false).reliability.level);
    }
    for (int i = 0; i < 3; i++) {
        abut_bvh_destroy(outer[i]);
        abut_mesh_destroy(meshes[i]);
    }
    abut_bvh_destroy(inner);
    abut_mesh_destroy(unit);
}
