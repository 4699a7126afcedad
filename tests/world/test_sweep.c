/* Sweeps of worlds: against all single pairs, samples of time, and invalid arguments. */
#include "world/scene.h"

static bool in_both(const abut_world_item *items, uint32_t a, uint32_t b, abut_collider_kind kind) {
    return items[a].collider.kind == kind || items[b].collider.kind == kind;
}

/* The lowest point of an item above a plane at a time, by all of its vertices. */
static double height_above(const abut_world_item *item, const test_motion_path *path,
                           const abut_world_item *plane, const test_motion_path *plane_path,
                           double t) {
    abut_pose at, on;
    contact_motion m, n;
    assert_ok(abut_pose_interpolate(&path->from, &path->to, t, &at));
    assert_ok(abut_pose_interpolate(&plane_path->from, &plane_path->to, t, &on));
    assert_ok(abuti_contact_pose("test", "a pose", &at, &m));
    assert_ok(abuti_contact_pose("test", "a pose", &on, &n));
    const abut_plane *p = &plane->collider.shape.plane;
    double length = v3_length(p->normal), least = HUGE_VAL;
    abut_vec3 normal = m3_apply(&n.turn, v3_scale(p->normal, 1 / length)), corner = {0, 0, 0};
    const bool sphere = item->collider.kind == ABUT_COLLIDER_SPHERE,
               box = item->collider.kind == ABUT_COLLIDER_BOX,
               capsule = item->collider.kind == ABUT_COLLIDER_CAPSULE;
    const abut_mesh *mesh =
        item->collider.kind == ABUT_COLLIDER_BODY   ? item->collider.shape.body.bvh->mesh
        : item->collider.kind == ABUT_COLLIDER_HULL ? item->collider.shape.hull->mesh
                                                    : NULL;
    uint32_t count = sphere ? 1 : box ? 8 : capsule ? 2 : mesh ? mesh->vertex_count : 0;
    if (item->collider.kind ==
        ABUT_COLLIDER_CYLINDER) { /* the lowest point of the rim of either end */
        abut_vec3 u = m3_apply(&m.turn, v3_normalise(v3_sub(item->collider.shape.cylinder.end[1],
                                                            item->collider.shape.cylinder.end[0])));
        double up = v3_dot(u, normal),
               down = item->collider.shape.cylinder.radius * sqrt(1 - up * up);
        for (int i = 0; i < 2; i++)
            least = fmin(least,
                         v3_dot(normal,
                                v3_sub(contact_to_world(&m, item->collider.shape.cylinder.end[i]),
                                       on.translation)) -
                             down);
    }
    for (uint32_t i = 0; i < count; i++) {
        const abut_vec3 h = item->collider.shape.half;
        corner = sphere    ? item->collider.shape.sphere.centre
                 : capsule ? item->collider.shape.capsule.end[i]
                 : box     ? v3(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, i & 4 ? h.z : -h.z)
                           : v3_add(mesh->positions[i], mesh->origin);
        least = fmin(least, v3_dot(normal, v3_sub(contact_to_world(&m, corner), on.translation)));
    }
    return least - p->offset / length -
           (sphere    ? item->collider.shape.sphere.radius
            : capsule ? item->collider.shape.capsule.radius
                      : 0);
}

/* The solids of random_item() as what stands for them here: a point, a segment or a box, and a
 * radius. Triangles that are only a point or a segment count as that. */
typedef struct axis {
    abut_bvh *bvh;
    double radius;
} axis;

static axis axis_of(const abut_world_item *item) {
    abut_vec3 corners[3];
    axis made = {NULL, 0};
    abut_mesh *mesh;
    if (item->collider.kind == ABUT_COLLIDER_BODY)
        return (axis){(abut_bvh *)item->collider.shape.body.bvh, 0};
    if (item->collider.kind == ABUT_COLLIDER_HULL)
        return (axis){(abut_bvh *)item->collider.shape.hull, 0};
    if (item->collider.kind == ABUT_COLLIDER_CYLINDER) { /* inscribed, in another way */
        const abut_cylinder *c = &item->collider.shape.cylinder;
        abut_vec3 rim[200], u = v3_normalise(v3_sub(c->end[1], c->end[0])),
                            v = v3_normalise(v3_cross(u, v3(0, 0, 1))), w = v3_cross(u, v);
        for (int i = 0; i < 200; i++)
            rim[i] =
                v3_along(v3_along(c->end[i % 2], c->radius * cos(0.0628318530718 * (i / 2)), v),
                         c->radius * sin(0.0628318530718 * (i / 2)), w);
        assert_ok(abut_mesh_create_hull(serial, rim, 200, &mesh));
    } else if (item->collider.kind == ABUT_COLLIDER_BOX) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        shape.extent = v3_scale(item->collider.shape.half, 2);
        assert_ok(abut_shape_create(serial, &shape, &mesh));
    } else {
        const bool sphere = item->collider.kind == ABUT_COLLIDER_SPHERE;
        for (int i = 0; i < 3; i++)
            corners[i] = sphere ? item->collider.shape.sphere.centre
                                : item->collider.shape.capsule.end[i / 2];
        made.radius =
            sphere ? item->collider.shape.sphere.radius : item->collider.shape.capsule.radius;
        mesh = test_mesh(serial, corners, 3, NULL, 1);
    }
    assert_ok(abut_bvh_create(mesh, NULL, &made.bvh));
    abut_mesh_destroy(mesh);
    return made;
}

static double gap_at(const axis *p, const test_motion_path *path_p, const axis *q,
                     const test_motion_path *path_q, double t) {
    abut_collider a = abut_collider_from_bvh(p->bvh, abut_pose_identity()),
                  b = abut_collider_from_bvh(q->bvh, abut_pose_identity());
    abut_separation apart;
    assert_ok(abut_pose_interpolate(&path_p->from, &path_p->to, t, &a.pose));
    assert_ok(abut_pose_interpolate(&path_q->from, &path_q->to, t, &b.pose));
    assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
    return apart.distance - p->radius - q->radius;
}

/* Pairs with a solid: apart before, and near when they are said to touch. */
static void check_solids(const abut_world_item *items[2], const test_motion_path paths[2],
                         const abut_sweep_rigid_result *touch, double separation) {
    enum { TIMES = 60 };
    axis axes[2] = {axis_of(items[0]), axis_of(items[1])};
    double until = touch ? touch->time : 1;
    for (int i = 0; i < TIMES && until > 0; i++)
        assert_true(gap_at(&axes[0], &paths[0], &axes[1], &paths[1], until * i / TIMES) >
                    separation - 1e-12);
    if (touch) {
        double gap = gap_at(&axes[0], &paths[0], &axes[1], &paths[1], until);
        double beyond = 3e-3 * (axes[0].radius + axes[1].radius) + 1e-5;
        for (int k = 0; k < 2; k++) /* outside of it, and what stands for it here inside */
            beyond += items[k]->collider.kind == ABUT_COLLIDER_CYLINDER
                          ? 2e-3 * items[k]->collider.shape.cylinder.radius
                          : 0;
        assert_true(gap < separation + beyond);
        assert_true(until == 0 || gap > separation - 1e-9);
        assert_true(until == 0 || fabs(v3_length(touch->normal) - 1) < 1e-12);
        for (int k = 0; k < 2; k++)
            assert_int_equal(touch->triangle[k] != ABUT_NONE || until == 0,
                             items[k]->collider.kind == ABUT_COLLIDER_BODY ||
                                 items[k]->collider.kind == ABUT_COLLIDER_HULL || until == 0);
    }
    for (int k = 0; k < 2; k++)
        if (items[k]->collider.kind != ABUT_COLLIDER_BODY &&
            items[k]->collider.kind != ABUT_COLLIDER_HULL)
            abut_bvh_destroy(axes[k].bvh);
}

static bool has_bvh(const abut_world_item *item) {
    return item->collider.kind || item->collider.shape.body.bvh;
}

/* Against the pair by itself; `touch` is null if there is none. */
static void check_single(const abut_world_item *p, const abut_pose *end_p, const abut_world_item *q,
                         const abut_pose *end_q, const abut_sweep_rigid_options *options,
                         const abut_sweep_rigid_result *touch) {
    abut_sweep_rigid_result wanted;
    assert_ok(abut_sweep_rigid(&p->collider, end_p, &q->collider, end_q, options, &wanted));
    assert_int_equal(wanted.hit, touch != NULL);
    if (!touch)
        return;
    /* Bounds of items include their fields, on which default tolerances depend. */
    if ((!p->collider.kind && p->collider.shape.body.field) ||
        (!q->collider.kind && q->collider.shape.body.field)) {
        assert_true(fabs(wanted.time - touch->time) < 1e-4);
        return;
    }
    assert_true(wanted.time == touch->time && wanted.kind == touch->kind);
    assert_memory_equal(&wanted.point, &touch->point, sizeof wanted.point);
    assert_memory_equal(&wanted.normal, &touch->normal, sizeof wanted.normal);
    assert_memory_equal(wanted.triangle, touch->triangle, sizeof wanted.triangle);
    assert_int_equal(wanted.reliability.level, touch->reliability.level);
}

/* Against every pair by itself, and planes against 200 samples of time. */
static void check_sweep(const scene *s, const abut_pose *ends,
                        const abut_world_sweep_options *options, size_t sums[3]) {
    enum { ROOM = MOST * MOST / 2, SAMPLES = 200 };
    abut_sweep_rigid_options rigid = abut_sweep_rigid_options_default();
    rigid.separation = options ? options->separation : 0;
    rigid.tolerance = options ? options->tolerance : 0;
    static abut_world_impact list[ROOM];
    abut_world_impacts to = {.size = sizeof to, .list = list, .capacity = ROOM};
    assert_ok(abut_world_sweep(s->world, NULL, abut_array_host(ends), s->count, options, &to));
    size_t at = 0, of_planes = 0, of_solids = 0;
    uint64_t unknown = 0;
    double time = 1;
    for (uint32_t a = 0; a < s->count; a++)
        for (uint32_t b = a + 1; b < s->count; b++) {
            const abut_world_item *p = &s->items[a], *q = &s->items[b];
            const test_motion_path paths[2] = {{p->collider.pose, ends[a]},
                                               {q->collider.pose, ends[b]}};
            const bool listed = at < to.count && list[at].a == a && list[at].b == b;
            const abut_sweep_rigid_result *touch = &list[at].result;
            at += listed;
            if (!may_meet(p, q) || method_of(p, q, &s->options) == ABUT_WORLD_AUTO) {
                assert_false(listed);
                continue;
            }
            if (listed)
                assert_int_equal(list[at - 1].is_sensor, p->is_sensor || q->is_sensor);
            if (listed && touch->time > 0 && !p->is_sensor && !q->is_sensor)
                time = fmin(time, touch->time);
            if (has_bvh(p) && has_bvh(q) &&
                !(p->collider.kind == ABUT_COLLIDER_PLANE &&
                  q->collider.kind == ABUT_COLLIDER_PLANE))
                check_single(p, &ends[a], q, &ends[b], &rigid, listed ? touch : NULL);
            if (!in_both(s->items, a, b, ABUT_COLLIDER_PLANE)) {
                if ((!p->collider.kind && !p->collider.shape.body.bvh) ||
                    (!q->collider.kind && !q->collider.shape.body.bvh)) {
                    assert_false(listed);
                    unknown++; /* at most: boxes may be apart */
                    continue;
                }
                if (p->collider.kind || q->collider.kind) {
                    check_solids((const abut_world_item *[2]){p, q}, paths, listed ? touch : NULL,
                                 options ? options->separation : 0);
                    of_solids += listed;
                    continue;
                }
                continue; /* compared above */
            }
            const bool first = p->collider.kind == ABUT_COLLIDER_PLANE;
            const abut_world_item *item = first ? q : p;
            if (item->collider.kind == ABUT_COLLIDER_BODY && !item->collider.shape.body.bvh) {
                assert_false(listed);
                unknown++;
                continue;
            }
            of_planes += listed;
            const double until = listed ? touch->time : 1,
                         separation = options ? options->separation : 0;
            for (int i = 0; i < SAMPLES; i++)
                assert_true(height_above(item, &paths[first], first ? p : q, &paths[!first],
                                         until * i / SAMPLES) > separation - 1e-12 ||
                            until == 0);
            if (listed) {
                double height =
                    height_above(item, &paths[first], first ? p : q, &paths[!first], until);
                /* 1e-6 of the item; or what stands around a cylinder */
                assert_true(height <
                            separation +
                                (item->collider.kind == ABUT_COLLIDER_CYLINDER ? 1e-3 : 1e-5));
                assert_true(until == 0 || height > -1e-9);
                assert_true(until == 0 || fabs(v3_length(touch->normal) - 1) < 1e-12);
            }
        }
    assert_int_equal(at, to.count);
    /* Pairs that touch at the start may allow less, test_sweep_resting.c. */
    assert_true(to.unswept_count <= unknown && to.time <= time);
    sums[0] += to.count - of_planes - of_solids;
    sums[1] += of_planes;
    sums[2] += of_solids;
}

TEST(steps_agree_with_every_pair) {
    test_random random = {33};
    size_t impacts[3] = {0, 0, 0}; /* of bodies, with planes, with solids */
    const uint32_t rounds = test_rounds(32);
    bool has_all = false; /* sorts of impacts; a few rounds more may be needed for that */
    for (uint32_t round = 0; round < rounds || (!has_all && round < 10 * rounds); round++) {
        scene s = {.options = abut_world_options_default(), .count = 20};
        abut_pose ends[MOST];
        abut_world_sweep_options options = abut_world_sweep_options_default();
        options.separation = round % 3 == 1 ? 0.05 : 0;
        s.options.margin = round % 2 ? 0.1 : 0;
        for (uint32_t i = 0; i < s.count; i++) {
            s.items[i] = varied_item(&random, round % 2 ? 4 : 2);
            if (i < 2) {
                s.items[i].collider.kind = ABUT_COLLIDER_PLANE;
                s.items[i].collider.shape.plane = (abut_plane){{0.3, 0.2, 2}, -7};
                s.items[i].collider.pose.rotation = (abut_quat){0.1 * i, 0, 0, 1};
            }
            ends[i] = random_pose(&random, 2);
            if (i == 0 || round % 4 == 3) /* a plane that stands still; none of them turns */
                ends[i].rotation = s.items[i].collider.pose.rotation;
            if (i == 0)
                ends[i] = s.items[i].collider.pose;
        }
        scene_begin(&s, serial);
        check_sweep(&s, ends, round % 3 ? &options : NULL, impacts);
        abut_world_destroy(s.world);
        has_all = impacts[0] > 2 && impacts[1] > 2 && impacts[2] > 2;
    }
    assert_true(has_all);
}

/* Solids without thickness: a square, a point, a segment and a thin triangle that fall on it. */
TEST(thin_solids_meet) {
    abut_world *world;
    uint32_t ids[4];
    abut_pose ends[4];
    assert_ok(abut_world_create(serial, NULL, &world));
    for (int i = 0; i < 4; i++) {
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_BOX,
                                .motion = ABUT_WORLD_STATIC};
        item.collider.shape.half = v3(1, 1, 0);
        if (i) {
            item.motion = ABUT_WORLD_KINEMATIC;
            item.is_sensor = true;
            item.collider.pose = (abut_pose){{0, 0, 0, 1}, {0.3 * i, 0.1, 1}};
        }
        if (i == 1) {
            item.collider.kind = ABUT_COLLIDER_SPHERE;
            item.collider.shape.sphere = (abut_sphere){{0, 0, 0}, 0};
        } else if (i == 2) {
            item.collider.kind = ABUT_COLLIDER_CAPSULE;
            item.collider.shape.capsule = (abut_capsule){{{-0.1, 0, 0}, {0.1, 0, 0}}, 0};
        } else if (i == 3) {
            item.collider.shape.half = v3(0, 0, 0.25);
        }
        assert_ok(abut_world_add(world, &item, &ids[i]));
        ends[i] = item.collider.pose;
        ends[i].translation.z = -1;
    }
    abut_world_impact list[6];
    abut_world_impacts to = {.size = sizeof to, .list = list, .capacity = 6};
    assert_ok(abut_world_sweep(world, ids + 1, abut_array_host(ends + 1), 3, NULL, &to));
    assert_int_equal(to.count, 3);
    const double when[3] = {0.5, 0.5, 0.375};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(list[i].a == 0 && list[i].b == i + 1);
        assert_true(fabs(list[i].result.time - when[i]) < 1e-5 && list[i].result.time <= when[i]);
    }
    /* Through it, and no contact is left out. */
    for (int i = 1; i < 4; i++)
        ends[i].translation.z = 0;
    assert_ok(abut_world_set_poses(world, ids + 1, abut_array_host(ends + 1), 3));
    abut_world_event events[6];
    uint64_t count = events_of(world, events, 6);
    assert_int_equal(count, 3);
    abut_world_destroy(world);
}

/* A ball of 0.05 at 100 m/s and a plate of 0.002, in steps of a sixtieth of a second. */
TEST(fast_balls_meet_thin_plates) {
    abut_shape shapes[2] = {abut_shape_default(ABUT_SHAPE_BOX),
                            abut_shape_default(ABUT_SHAPE_ICOSPHERE)};
    abut_mesh *meshes[2];
    abut_bvh *trees[2];
    abut_world *world;
    uint32_t ids[2];
    shapes[0].extent = v3(1, 1, 0.002);
    shapes[1].radius = 0.05;
    assert_ok(abut_world_create(serial, NULL, &world));
    for (int i = 0; i < 2; i++) {
        assert_ok(abut_shape_create(serial, &shapes[i], &meshes[i]));
        assert_ok(abut_bvh_create(meshes[i], NULL, &trees[i]));
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .motion = i ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC,
                                .collider.pose = {{0, 0, 0, 1}, {0.1 * i, 0.2 * i, 0.7 * i}}};
        item.collider.shape.body.bvh = trees[i];
        assert_ok(abut_world_add(world, &item, &ids[i]));
    }
    abut_pose end = {{0, 0, 0, 1}, {0.1, 0.2, 0.7 - 100.0 / 60}};
    abut_world_impact impact;
    abut_world_impacts to = {.size = sizeof to, .list = &impact, .capacity = 1};
    assert_ok(abut_world_sweep(world, &ids[1], abut_array_host(&end), 1, NULL, &to));
    assert_int_equal(to.count, 1);
    assert_true(fabs(to.time - (0.7 - 0.001 - 0.05) * 60 / 100) < 1e-4 && to.time < 0.3895);
    assert_true(impact.a == 0 && impact.b == 1 && impact.result.normal.z < -0.99);
    assert_true(to.time == impact.result.time && to.unswept_count == 0);
    to.capacity = 0;
    to.time = 7;
    assert_fails(ABUT_ERROR_BUFFER, "1 impacts",
                 abut_world_sweep(world, &ids[1], abut_array_host(&end), 1, NULL, &to));
    assert_true(to.count == 1 && to.time == 7);
    end.translation.x = 9; /* beside it */
    assert_ok(abut_world_sweep(world, &ids[1], abut_array_host(&end), 1, NULL, &to));
    assert_true(to.count == 0 && to.time == 1);
    /* The world is as it was; and a step is nothing where it ends where it begins. */
    assert_ok(abut_world_sweep(world, NULL, abut_array_host(NULL), 0, NULL, &to));
    assert_true(to.count == 0 && to.time == 1);
    assert_ok(abut_world_ignore(world, 0, 1, true));
    end.translation.x = 0.1;
    assert_ok(abut_world_sweep(world, &ids[1], abut_array_host(&end), 1, NULL, &to));
    assert_true(to.count == 0);

    assert_refused("world is null",
                   abut_world_sweep(NULL, ids, abut_array_host(&end), 1, NULL, &to));
    assert_refused("impacts is null",
                   abut_world_sweep(world, ids, abut_array_host(&end), 1, NULL, NULL));
    assert_refused("ends is null",
                   abut_world_sweep(world, ids, abut_array_host(NULL), 1, NULL, &to));
    assert_refused("3 poses, but the world has only 2",
                   abut_world_sweep(world, NULL, abut_array_host(&end), 3, NULL, &to));
    to.list = NULL;
    to.capacity = 1;
    assert_refused("the list of impacts is null",
                   abut_world_sweep(world, ids, abut_array_host(&end), 1, NULL, &to));
    to.capacity = 0;
    uint32_t wrong = 2;
    assert_refused("no item 2",
                   abut_world_sweep(world, &wrong, abut_array_host(&end), 1, NULL, &to));
    end.translation.y = NAN;
    assert_refused("finite", abut_world_sweep(world, ids, abut_array_host(&end), 1, NULL, &to));
    end.translation.y = 0;
    abut_world_sweep_options options = abut_world_sweep_options_default();
    options.separation = -1;
    assert_refused("separation",
                   abut_world_sweep(world, ids, abut_array_host(&end), 1, &options, &to));
    options.separation = 0;
    options.tolerance = NAN;
    assert_refused("tolerance",
                   abut_world_sweep(world, ids, abut_array_host(&end), 1, &options, &to));
    abut_world_destroy(world);
    for (int i = 0; i < 2; i++) {
        abut_bvh_destroy(trees[i]);
        abut_mesh_destroy(meshes[i]);
    }
}

int main(void) {
    return test_run(make_things, free_things);
}

/* A box without a triangle around a ball that moves: what is inside is limited, also for pairs that
 * are in no list. */
TEST(reliability_of_a_sweep) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.segments = 8;
    abut_mesh *closed = NULL, *ball = NULL;
    assert_ok(abut_shape_create(NULL, &shape, &closed));
    abut_mesh *holed =
        test_mesh(NULL, abut_mesh_local_positions(closed), abut_mesh_vertex_count(closed),
                  abut_mesh_indices(closed), abut_mesh_triangle_count(closed) - 1);
    shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = 0.1;
    assert_ok(abut_shape_create(NULL, &shape, &ball));
    for (int i = 0; i < 2; i++) {
        abut_world *world = NULL;
        abut_world_impact list[4];
        abut_world_impacts impacts = {.size = sizeof impacts, .list = list, .capacity = 4};
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_MESH};
        const abut_pose end = {.translation = {0.05, 0, 0}};
        uint32_t walls, id;
        assert_ok(abut_world_create(NULL, NULL, &world));
        item.collider.shape.mesh.mesh = i ? holed : closed;
        assert_ok(abut_world_add(world, &item, &walls));
        item.collider.shape.mesh.mesh = ball;
        assert_ok(abut_world_add(world, &item, &id));
        assert_ok(abut_world_sweep(world, &id, abut_array_host(&end), 1, NULL, &impacts));
        assert_int_equal(i ? ABUT_RELIABILITY_LIMITED : ABUT_RELIABILITY_GUARANTEED,
                         impacts.reliability.level);
        assert_non_null(impacts.reliability.reason);
        assert_ok(abut_world_sweep(world, NULL, abut_array_host(NULL), 0, NULL,
                                   &impacts)); /* nothing moves */
        assert_int_equal(ABUT_RELIABILITY_GUARANTEED, impacts.reliability.level);
        abut_world_destroy(world);
    }
    abut_mesh_destroy(ball);
    abut_mesh_destroy(holed);
    abut_mesh_destroy(closed);
}
