/* Meshes, points, pairs, contacts, motions, worlds and files at all scales (project/range.h). */
#include "project/range.h"

static void try_meshes(trial *t) {
    abut_topology *topology = NULL;
    abut_normals *normals = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_mesh *made = NULL;
    uint32_t count, elements[1024];
    assert_ok(abut_topology_create(t->mesh[0], &topology));
    if (TRY(abut_normals_create(topology, &normals)))
        same(t, "normal", get_normals_arrays(normals).faces[3].x, 0, ROUNDED);
    if (TRY(abut_mesh_examine(topology, &report))) {
        same(t, "closed", report.is_closed, 0, EXACT);
        same(t, "area", report.area, 2, ROUNDED);
        same(t, "volume", report.volume, 3, ROUNDED);
        same(t, "centroid", report.centroid.x + t->scale, 1, ROUNDED);
    }
    for (int kind = 0; kind < ABUT_PROBLEM_SELF_INTERSECTION; kind++) {
        abut_index_list listed = {elements, 1024, 0};
        TRY(abut_mesh_get_problem_elements(topology, (abut_problem_kind)kind, &listed));
    }
    if (TRY(abut_mesh_orient(topology, &made, &count)))
        same(t, "flipped", count, 0, EXACT);
    abut_mesh_destroy(made);
    made = NULL;
    if (TRY(abut_mesh_weld(t->mesh[0], 1e-6 * t->scale, &made)))
        same(t, "welded", abut_mesh_vertex_count(made), 0, EXACT);
    abut_mesh_destroy(made);
    made = NULL;
    TRY(abut_mesh_weld(t->mesh[0], 0, &made));
    abut_mesh_destroy(made);
    made = NULL;
    if (TRY(abut_mesh_transform(t->mesh[0], 0.5, pose_at(t, 0.1, 0, 0), &made)))
        same(t, "moved", abut_mesh_bounds(made).hi.x, 1, ROUNDED);
    abut_mesh_destroy(made);
    made = NULL;
    TRY(abut_mesh_join((abut_mesh *const[]){t->mesh[0], t->mesh[1]}, 2, &made));
    abut_mesh_destroy(made);
    abut_normals_destroy(normals);
    abut_topology_destroy(topology);

    abut_vec3 points[64];
    test_random random = {3};
    for (int i = 0; i < 64; i++) {
        const double x = test_random_real(&random, -1, 1), y = test_random_real(&random, -1, 1);
        points[i] = at(t, x, y, test_random_real(&random, -1, 1));
    }
    made = NULL;
    if (TRY(abut_mesh_create_hull(NULL, points, 64, &made)))
        same(t, "hull", abut_mesh_triangle_count(made), 0, EXACT);
    abut_mesh_destroy(made);

    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        double distance;
        shape.extent = at(t, shape.extent.x, shape.extent.y, shape.extent.z);
        shape.radius *= t->scale;
        shape.radius2 *= t->scale;
        shape.height *= t->scale;
        if (kind == ABUT_SHAPE_TEAPOT || kind == ABUT_SHAPE_TEAPOT_SOLID)
            shape.segments = 2;
        made = NULL;
        TRY(abut_shape_create(NULL, &shape, &made));
        abut_mesh_destroy(made);
        if (kind < ABUT_SHAPE_TEAPOT)
            TRY(abut_shape_distance(&shape, at(t, 2, 0.3, 0.1), &distance));
    }
}

static void try_points(trial *t) {
    const abut_vec3 point = at(t, 0.3, 0.2, 0.9);
    const abut_array points = abut_array_host(&point);
    const abut_bvh *bvh = t->bvh[0];
    abut_nearest nearest, many[8], several[512];
    abut_ray ray = {point, at(t, 0, 0.01, -1)};
    abut_ray_hit hit, hits[1024];
    abut_box box = {at(t, 0, 0, 0), at(t, 1, 1, 1)};
    uint32_t triangles[1024];
    uint64_t count, offsets[2];
    bool any;
    double value;
    uint32_t some;
    NEED(abut_nearest_point(bvh, point, INFINITY, &nearest));
    same(t, "nearest", nearest.distance, 1, ROUNDED);
    NEED(abut_nearest_point_batch(bvh, points, 1, INFINITY, abut_array_host(&nearest)));
    same(t, "nearest batch", nearest.distance, 1, ROUNDED);
    abut_nearest_list neighbours = {many, 8, 0};
    NEED(abut_nearest_k(bvh, point, INFINITY, &neighbours));
    count = neighbours.count;
    same(t, "eighth", many[7].distance, 1, ROUNDED);
    NEED(abut_nearest_k_batch(bvh, points, 1, INFINITY, 8, abut_array_host(many),
                              abut_array_host(&some)));
    abut_nearest_list within = {several, 512, 0};
    NEED(abut_nearest_within(bvh, point, 0.8 * t->scale, &within));
    count = within.count;
    same(t, "within", (double)count, 0, EXACT);
    NEED(abut_nearest_within_batch(bvh, points, 1, 0.8 * t->scale, 512, abut_array_host(offsets),
                                   abut_array_host(several), &count));
    NEED(abut_ray_first(bvh, &ray, INFINITY, &hit));
    if (t->compares)
        same(t, "ray", hit.parameter, 0, ROUNDED);
    NEED(abut_ray_any(bvh, &ray, 1, &any));
    abut_ray_hit_list ray_hits = {hits, 1024, 0};
    NEED(abut_ray_all(bvh, &ray, &ray_hits));
    count = ray_hits.count;
    ray.direction = (abut_vec3){0, 0, -1};
    NEED(abut_ray_first_batch(bvh, abut_array_host(&ray), 1, INFINITY, abut_array_host(&hit)));
    TRY(abut_ray_thickness(bvh, &value));
    abut_index_list inside = {triangles, 1024, 0};
    NEED(abut_bvh_find_in_box(bvh, &box, &inside));
    count = inside.count;
    if (t->compares)
        same(t, "box", (double)count, 0, EXACT);
    for (int method = ABUT_SIGN_WINDING; method <= ABUT_SIGN_NORMAL; method++) {
        abut_sign_options options = abut_sign_options_default();
        AUTO(bvh) own = NULL;
        options.method = (abut_sign_method)method;
        assert_ok(abut_bvh_create(t->mesh[1], NULL, &own));
        if (TRY(abut_sign_prepare(own, &options))) {
            NEED(abut_sign_inside(own, at(t, 0.1, 0.1, 0.1), &any));
            if (t->compares)
                assert_true(any);
            NEED(abut_sign_inside_batch(own, points, 1, abut_array_host(&any)));
            NEED(abut_sign_nearest(own, point, INFINITY, &nearest));
            same(t, method == ABUT_SIGN_NORMAL ? "signed by normal" : "signed", nearest.distance, 1,
                 ROUNDED);
            NEED(abut_sign_winding(own, at(t, 0.1, 0.1, 0.1), &value));
        }
    }
    AUTO(bvh) refitted = NULL;
    assert_ok(abut_bvh_create(t->mesh[0], NULL, &refitted));
    NEED(abut_bvh_set_mesh(refitted, t->mesh[0]));
    const abut_bvh_info info = get_bvh_info(refitted);
    assert_true(isfinite(info.cost));
}

static void try_triangles(trial *t) {
    const abut_triangle a = {{at(t, 0, 0, 0), at(t, 1, 0, 0), at(t, 0, 1, 0)}},
                        b = {{at(t, 0, 0, 0.5), at(t, 1, 0.2, 0.7), at(t, 0.3, 1, 1)}};
    const abut_segment p = {{a.corner[0], b.corner[2]}}, q = {{b.corner[0], a.corner[1]}};
    const abut_vec3 point = at(t, 0.2, 0.3, 0.4);
    abut_closest_on_segment on_segment;
    abut_closest_on_triangle on_triangle;
    abut_closest_pair pair;
    abut_intersection meeting;
    abut_sweep_result sweep;
    double angle;
    int sign;
    bool meet;
    NEED(abut_segment_closest_point(&p, point, &on_segment));
    NEED(abut_triangle_closest_point(&a, point, &on_triangle));
    same(t, "triangle", on_triangle.distance, 1, ROUNDED);
    NEED(abut_segment_segment_closest(&p, &q, &pair));
    NEED(abut_triangle_triangle_closest(&a, &b, &pair));
    same(t, "two triangles", pair.distance, 1, ROUNDED);
    NEED(abut_triangle_triangle_intersect(&a, &b, &meeting, NULL));
    NEED(abut_segment_triangle_intersect(&q, &a, &meet, NULL));
    NEED(abut_triangle_solid_angle(&a, point, &angle));
    same(t, "solid angle", angle, 0, ROUNDED);
    NEED(abut_orient3d(a.corner[0], a.corner[1], a.corner[2], point, &sign));
    if (t->compares)
        same(t, "orient3d", sign, 0, EXACT);
    const abut_vec3 start[4] = {point, a.corner[0], a.corner[1], a.corner[2]},
                    end[4] = {at(t, 0.2, 0.3, -1), a.corner[0], a.corner[1], a.corner[2]};
    NEED(abut_sweep_vertex_face(start, end, NULL, &sweep));
    NEED(abut_sweep_edge_edge(start, end, NULL, &sweep));
}

static void try_pairs(trial *t) {
    const abut_collider *a = &t->posed[0], *b = &t->posed[1];
    abut_overlap overlap;
    abut_separation separation;
    abut_pair_measures common = abut_pair_measures_default();
    abut_reliability reliability;
    abut_mesh_report report = abut_mesh_report_default();
    abut_sweep_rigid_result touch;
    uint64_t count = 0;
    bool any;
    NEED(abut_pair_overlap(a, b, NULL, NULL, &overlap));
    if (t->compares)
        assert_int_equal(ABUT_PAIR_INTERSECTING, overlap.relation);
    NEED(abut_pair_overlap(a, &t->apart, NULL, NULL, &overlap));
    assert_int_equal(ABUT_PAIR_APART, overlap.relation);
    NEED(abut_pair_distance(a, &t->apart, NULL, NULL, &separation));
    same(t, "distance", separation.distance, 1, 1e-3);
    NEED(abut_pair_within(a, &t->apart, 5 * t->scale, NULL, NULL, &any, &reliability));
    abut_pair_intersection_list crossings = {NULL, 0, 0};
    const abut_status status = abut_pair_intersections(a, b, &crossings);
    count = crossings.count;
    assert_true(!status || status == ABUT_ERROR_BUFFER);
    if (t->compares)
        same(t, "meetings", (double)count, 0, EXACT);
    if (TRY(abut_pair_measure(a, b, NULL, &common))) {
        if (t->compares)
            same(t, "common kind", common.kind, 0, EXACT);
        same(t, "common volume", common.volume, 3, ROUNDED);
        same(t, "common area", common.area, 2, ROUNDED);
    }
    if (TRY(abut_pair_self_intersects(a->shape.body.bvh, NULL, &any)) && t->compares)
        assert_false(any);
    abut_topology *topology = NULL;
    assert_ok(abut_topology_create(abut_bvh_mesh(a->shape.body.bvh), &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    TRY(abut_pair_examine(a->shape.body.bvh, NULL, &report));
    abut_topology_destroy(topology);
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = a->shape.body.bvh;
    poses.b = b->shape.body.bvh;
    poses.poses_b = &t->apart.pose;
    poses.count = 1;
    abut_pair_relation relation;
    NEED(abut_pair_overlap_batch(&poses, NULL, &relation, &reliability));
    NEED(abut_pair_distance_batch(&poses, NULL, &separation));
    NEED(abut_pair_within_batch(&poses, t->scale, NULL, &any, &reliability));
    abut_collider moves = *b;
    moves.pose = t->apart.pose;
    NEED(abut_sweep_rigid(a, NULL, &moves, &b->pose, NULL, &touch));
    if (t->compares)
        same(t, "time of impact", touch.time, 0, COARSE);
}

static void try_contacts(trial *t) {
    enum { ROOM = 4096 };
    static abut_patch list[ROOM];
    static abut_contact contacts[8 * ROOM];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = ROOM,
                          .contacts.list = contacts,
                          .contacts.capacity = sizeof contacts / sizeof *contacts};
    abut_patch_options options = abut_patch_options_default();
    if (TRY(abut_contact_find(&t->posed[0], &t->posed[1], NULL, &found)) && t->compares) {
        assert_true(found.patches.count > 0);
        same(t, "patch depth", list[0].depth, 1, COARSE);
        same(t, "patch volume", list[0].volume, 3, COARSE);
    }
    options.margin = 0.1 * t->scale;
    TRY(abut_contact_find(&t->posed[0], &t->posed[1], &options, &found));
    TRY(abut_contact_find(&t->posed[0], &t->apart, &options, &found));
    /* Many poses of one pair: all lanes of the grid are used in some of them. */
    for (int i = 0; i < 12; i++) {
        abut_collider other = t->posed[0];
        other.pose.translation = at(t, 0.1 * i - 0.5, 0.07 * (i % 5), 0);
        TRY(abut_contact_find(&t->posed[0], &other, NULL, &found));
    }
    abut_collider solids[6] = {
        {.kind = ABUT_COLLIDER_PLANE, .shape.plane = {{0, 0, 1}, 0.1 * t->scale}},
        {.kind = ABUT_COLLIDER_SPHERE, .shape.sphere = {at(t, 0.3, 0, 0), t->scale}},
        {.kind = ABUT_COLLIDER_CAPSULE,
         .shape.capsule = {{at(t, 0, 0, 0), at(t, 0, 0.1, 1)}, 0.3 * t->scale}},
        {.kind = ABUT_COLLIDER_BOX, .shape.half = at(t, 1, 0.5, 0.4)},
        {.kind = ABUT_COLLIDER_CYLINDER,
         .shape.cylinder = {{at(t, 0, 0, -1), at(t, 0, 0.1, 1)}, 0.3 * t->scale}},
        {.kind = ABUT_COLLIDER_HULL, .shape.hull = t->bvh[1]}};
    for (int i = 0; i < 6; i++) {
        char name[NAME];
        for (int k = 0; k < 6; k++) {
            snprintf(name, sizeof name, "solids %d %d", i, k);
            if ((i || k) && TRY(abut_contact_find(&solids[i], &solids[k], NULL, &found)) &&
                found.patches.count)
                same(t, name, list[0].depth, 1, COARSE);
        }
        snprintf(name, sizeof name, "solid %d", i);
        if (TRY(abut_contact_find(&t->posed[0], &solids[i], NULL, &found)) && found.patches.count)
            same(t, name, list[0].depth, 1, COARSE);
    }
}

static void try_motions(trial *t) {
    abut_mesh *meshes[2] = {t->mesh[0], t->mesh[1]};
    abut_sweep *motion = NULL;
    static abut_impact list[1 << 17];
    abut_impact_list impacts = {.list = list, .capacity = 1 << 17};
    uint32_t count = 0;
    for (int m = 0; m < 2; m++)
        count += abut_mesh_vertex_count(meshes[m]);
    abut_vec3 *start = test_malloc(count * sizeof *start), *end = test_malloc(count * sizeof *end);
    uint32_t first = abut_mesh_vertex_count(meshes[0]);
    for (uint32_t i = 0; i < count; i++) {
        const abut_mesh *from = meshes[i >= first];
        const abut_vec3 p = abut_mesh_local_positions(from)[i < first ? i : i - first];
        const abut_vec3 o = abut_mesh_local_origin(from);
        start[i] = end[i] = (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
        if (i >= first) {
            start[i].x = end[i].x += 0.5 * t->scale;
            start[i].z += 2.1 * t->scale;
            end[i].z += 0.3 * t->scale;
        }
    }
    if (TRY(abut_sweep_create(meshes, 2, NULL, &motion))) {
        NEED(abut_sweep_set_positions(motion, abut_array_host(start), abut_array_host(end)));
        for (int mode = 0; mode <= ABUT_SWEEP_ALL; mode++)
            if (TRY(abut_sweep_find(motion, (abut_sweep_mode)mode, NULL, &impacts, NULL)) &&
                t->compares && mode == ABUT_SWEEP_EARLIEST) {
                assert_int_equal(1, impacts.count);
                same(t, "impact", list[0].time, 0, 1e-6);
            }
        abut_sweep_find_options options = abut_sweep_find_options_default();
        options.exact = true;
        TRY(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, &options, &impacts, NULL));
    }
    abut_sweep_destroy(motion);
    static const char *const schemes[] = {"self", "self by a point", "self by a line",
                                          "self complete"};
    for (int scheme = 0; scheme <= ABUT_SELF_COMPLETE; scheme++) {
        abut_self_options options = abut_self_options_default();
        abut_self_step step = abut_self_step_default();
        abut_self_result result = abut_self_result_default();
        AUTO(self) self = NULL;
        options.scheme = (abut_self_scheme)scheme;
        step.start = abut_array_host(start);
        step.end = abut_array_host(end);
        for (uint32_t i = 0; i < first; i++)
            end[i].z = start[i].z + 0.5 * start[i].x;
        if (TRY(abut_self_create(t->mesh[0], &options, &self))) {
            if (TRY(abut_self_find(self, &step, NULL, &result)) && t->compares)
                same(t, schemes[scheme], result.hit, 0, EXACT);
            TRY(abut_self_find_all(self, &step, NULL, &impacts, &result));
        }
    }
    abut_self_line line;
    TRY(abut_self_fit_line(start, end, first, &line));
    test_free(start);
    test_free(end);
}

static void try_worlds(trial *t) {
    static abut_contact list[4096];
    for (int method = ABUT_WORLD_AUTO; method <= ABUT_WORLD_LAYERS; method++) {
        abut_world_options options = abut_world_options_default();
        AUTO(world) world = NULL;
        abut_contacts contacts = {.size = sizeof contacts, .list = list, .capacity = 4096};
        abut_world_event events[16];
        abut_world_impact hits[16];
        abut_world_impacts impacts = {.size = sizeof impacts, .list = hits, .capacity = 16};
        if (method == ABUT_WORLD_RADIAL)
            continue;
        options.margin = 0.01 * t->scale;
        assert_ok(abut_world_create(NULL, &options, &world));
        bool added = true;
        for (int i = 0; i < 3; i++) {
            uint32_t id;
            abut_world_item item = {.size = sizeof(abut_world_item),
                                    .collider.kind = ABUT_COLLIDER_MESH,
                                    .method = (abut_world_method)method,
                                    .collider.pose = i == 2 ? t->apart.pose : t->posed[i].pose};
            item.collider.shape.mesh.mesh = t->mesh[i > 0];
            item.collider.shape.mesh.resolution = method == ABUT_WORLD_FIELD ? 16 : 64;
            added = TRY(abut_world_add(world, &item, &id)) && added;
        }
        abut_world_item ball = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_SPHERE};
        ball.collider.shape.sphere = (abut_sphere){at(t, 1, 0, 0), 0.2 * t->scale};
        uint32_t id;
        TRY(abut_world_add(world, &ball, &id));
        if (added && TRY(abut_world_contacts(world, &contacts)) && t->compares)
            assert_true(contacts.count > 0);
        if (added) {
            abut_world_event_list event_list = {events, 16, 0};
            TRY(abut_world_events(world, &event_list));
            const uint32_t last = 2;
            TRY(abut_world_sweep(world, &last, abut_array_host(&t->posed[1].pose), 1, NULL,
                                 &impacts));
        }
    }
}

static void try_files(trial *t) {
    static const char *const names[] = {"range.obj", "range.ply", "range.off", "range.stl"};
    for (int i = 0; i < 4; i++) {
        AUTO(mesh) read = NULL;
        if (TRY(abut_mesh_write(t->mesh[1], test_path(names[i]), NULL)) &&
            TRY(abut_mesh_read(NULL, test_path(names[i]), NULL, &read)))
            same(t, names[i], abut_mesh_bounds(read).hi.x, 1, 1e-6);
    }
}

/* A body of this scale with one of scale 1, and questions from the largest distance there is. */
static void try_mixed(trial *t) {
    enum { ROOM = 4096 };
    static abut_patch list[ROOM];
    static abut_contact contacts[8 * ROOM];
    static uint32_t triangles[1024];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = ROOM,
                          .contacts.list = contacts,
                          .contacts.capacity = sizeof contacts / sizeof *contacts};
    const trial one = {.scale = 1};
    AUTO(mesh) mesh = scaled(&one, ABUT_SHAPE_TORUS, 12, 8);
    AUTO(bvh) bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const abut_collider a = t->posed[0],
                        b = abut_collider_from_bvh(bvh, (abut_pose){{0.1, 0.2, 0, 1},
                                                                    at(t, 0.4, 0.1, 0)}),
                        c = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {0.5, 0, 0}});
    const abut_collider *others[2] = {&b, &c};
    abut_overlap overlap;
    abut_separation separation;
    abut_pair_measures common = abut_pair_measures_default();
    abut_sweep_rigid_result touch;
    abut_pair_hausdorff_result result = abut_pair_hausdorff_result_default();
    for (int i = 0; i < 2; i++) {
        NEED(abut_pair_overlap(&a, others[i], NULL, NULL, &overlap));
        NEED(abut_pair_distance(&a, others[i], NULL, NULL, &separation));
        assert_true(isfinite(separation.distance));
        if (TRY(abut_pair_measure(&a, others[i], NULL, &common)))
            assert_true(isfinite(common.volume));
        if (TRY(abut_contact_find(&a, others[i], NULL, &found)))
            for (uint64_t k = 0; k < found.patches.count; k++)
                assert_true(isfinite(list[k].depth) && isfinite(list[k].volume));
        TRY(abut_contact_find(others[i], &a, NULL, &found));
        TRY(abut_sweep_rigid(&a, NULL, others[i], &a.pose, NULL, &touch));
    }
    TRY(abut_pair_hausdorff(a.shape.body.bvh, bvh, NULL, &result));
    const double most = ABUT_COORDINATE_MAX;
    const abut_box all = {{-most, -most, -most}, {most, most, most}};
    const abut_ray ray = {{most, 0.1 * t->scale, 0}, {-1, 0, 0}};
    const abut_vec3 points[3] = {{most, most, -most}, at(t, 5, 0, 1), {5e-324, 0, 1e-200}};
    const abut_array three = abut_array_host(points);
    abut_nearest nearest[3];
    abut_ray_hit hit;
    uint64_t count;
    abut_index_list inside = {triangles, 1024, 0};
    NEED(abut_bvh_find_in_box(a.shape.body.bvh, &all, &inside));
    count = inside.count;
    assert_int_equal(abut_mesh_triangle_count(t->mesh[0]), count);
    NEED(abut_ray_first(a.shape.body.bvh, &ray, INFINITY, &hit));
    NEED(abut_nearest_point_batch(a.shape.body.bvh, three, 3, INFINITY, abut_array_host(nearest)));
    for (int i = 0; i < 3; i++)
        assert_true(isfinite(nearest[i].distance) &&
                    nearest[i].triangle < abut_mesh_triangle_count(t->mesh[0]));
}

static void try_families(trial *t) {
    try_meshes(t);
    try_points(t);
    try_triangles(t);
    try_pairs(t);
    try_contacts(t);
    try_motions(t);
    try_worlds(t);
    try_files(t);
    try_mixed(t);
}
