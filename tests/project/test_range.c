/* Every family of public functions that is given coordinates, at scales from ABUT_MESH_SIZE_MIN to
 * ABUT_COORDINATE_MAX: each call succeeds, or is refused with a sentence. Answers are finite, and
 * where a call succeeds its lengths, areas, volumes and counts are those of scale 1, scaled;
 * test_tiny.c has the refusal of smaller meshes. docs/limits.md has the ranges. Sanitizers look for
 * the rest: uninitialised indices, overflow, NaN as an integer.
 *
 * Scales are powers of two where answers are compared, so that input is scaled without rounding. */
#include "support/support.h"
#include "tools/get.h"

#include <math.h>
#include <stdio.h>

enum { FACTS = 256, NAME = 48 };

/* A number that a call has answered at scale 1. */
typedef struct fact {
    char name[NAME];
    double value;
} fact;

typedef struct trial {
    double scale;
    double flatness;    /* by which z of meshes is multiplied */
    bool compares;      /* the scale is in the range where answers are promised */
    abut_mesh *mesh[2]; /* a torus and a ball */
    abut_bvh *bvh[2];
    abut_posed posed[2]; /* they overlap */
    abut_posed apart;    /* the second one, apart from the first one */
} trial;

static fact facts[FACTS];
static uint32_t fact_count;
static uint32_t refused; /* calls at the scale that was tried last */

/* Counts a refusal; a call at scale 1 must succeed. */
static bool succeeds(trial *t, const char *call, abut_status status) {
    if (!status)
        return true;
    if (t->scale == 1 || (status != ABUT_ERROR_ARGUMENT && status != ABUT_ERROR_LIMIT) ||
        !abut_last_error()[0])
        fail_msg("scale %g: %s: %s: %s", t->scale, call, abut_status_name(status),
                 abut_last_error());
    refused++;
    return false;
}
#define TRY(call) succeeds(t, #call, call)

/* A call that must succeed at all scales. */
#define NEED(call)                                                                       \
    do {                                                                                 \
        if (!TRY(call))                                                                  \
            fail_msg("scale %g: %s is refused: %s", t->scale, #call, abut_last_error()); \
    } while (0)

/* Holds an answer in units of length^power against that of scale 1. */
static void same(const trial *t, const char *name, double value, int power, double tolerance) {
    if (!isfinite(value))
        fail_msg("scale %g: %s is %g", t->scale, name, value);
    uint32_t i = 0;
    while (i < fact_count && strcmp(facts[i].name, name) != 0)
        i++;
    if (t->scale == 1) {
        assert_true(i == fact_count && i < FACTS && strlen(name) < NAME);
        strcpy(facts[i].name, name);
        facts[i].value = value;
        fact_count++;
        return;
    }
    if (i == fact_count)
        fail_msg("%s is no fact of scale 1", name);
    if (!t->compares)
        return;
    double meant = facts[i].value;
    for (int k = 0; k < power; k++)
        meant *= t->scale;
    if (!(fabs(value - meant) <= tolerance * fabs(meant)))
        fail_msg("scale %g: %s is %g; %g is right", t->scale, name, value, meant);
}
#define EXACT 0.0
#define ROUNDED 1e-9
#define COARSE 1e-3

static abut_vec3 at(const trial *t, double x, double y, double z) {
    return (abut_vec3){x * t->scale, y * t->scale, z * t->scale};
}

static abut_pose pose_at(const trial *t, double x, double y, double z) {
    return (abut_pose){{0.1, 0.2, 0, 1}, at(t, x, y, z)};
}

static abut_mesh *scaled(const trial *t, abut_shape_kind kind, uint32_t segments, uint32_t rings) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *unit = NULL;
    shape.segments = segments;
    shape.rings = rings;
    assert_ok(abut_shape_create(NULL, &shape, &unit));
    const uint32_t count = abut_mesh_vertex_count(unit);
    abut_vec3 *positions = test_malloc(count * sizeof *positions);
    const abut_vec3 *from = abut_mesh_local_positions(unit), origin = abut_mesh_local_origin(unit);
    for (uint32_t i = 0; i < count; i++)
        positions[i] =
            at(t, origin.x + from[i].x, origin.y + from[i].y, t->flatness * (origin.z + from[i].z));
    abut_mesh *made =
        test_mesh(NULL, positions, count, abut_mesh_indices(unit), abut_mesh_triangle_count(unit));
    test_free(positions);
    abut_mesh_destroy(unit);
    return made;
}

/* ---- families ---- */

static void try_meshes(trial *t) {
    abut_topology *topology = NULL;
    abut_normals *normals = NULL;
    abut_mesh_report report;
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
    for (int kind = 0; kind < ABUT_PROBLEM_SELF_INTERSECTION; kind++)
        TRY(abut_mesh_get_problem_elements(topology, (abut_problem_kind)kind, 1024, elements,
                                           &count));
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
    const abut_points points = abut_points_doubles(&point, 1);
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
    NEED(abut_nearest_point_batch(bvh, &points, INFINITY, abut_array_host(&nearest)));
    same(t, "nearest batch", nearest.distance, 1, ROUNDED);
    NEED(abut_nearest_k(bvh, point, INFINITY, 8, many, &count));
    same(t, "eighth", many[7].distance, 1, ROUNDED);
    NEED(abut_nearest_k_batch(bvh, &points, INFINITY, 8, abut_array_host(many),
                              abut_array_host(&some)));
    NEED(abut_nearest_within(bvh, point, 0.8 * t->scale, 512, several, &count));
    same(t, "within", (double)count, 0, EXACT);
    NEED(abut_nearest_within_batch(bvh, &points, 0.8 * t->scale, 512, abut_array_host(offsets),
                                   abut_array_host(several), &count));
    NEED(abut_ray_first(bvh, &ray, INFINITY, &hit));
    if (t->compares)
        same(t, "ray", hit.parameter, 0, ROUNDED);
    NEED(abut_ray_any(bvh, &ray, 1, &any));
    NEED(abut_ray_all(bvh, &ray, 1024, hits, &count));
    ray.direction = (abut_vec3){0, 0, -1};
    NEED(abut_ray_first_batch(bvh, abut_array_host(&ray), 1, INFINITY, abut_array_host(&hit)));
    TRY(abut_ray_thickness(bvh, &value));
    NEED(abut_bvh_find_in_box(bvh, &box, 1024, triangles, &count));
    if (t->compares)
        same(t, "box", (double)count, 0, EXACT);
    for (int method = ABUT_SIGN_WINDING; method <= ABUT_SIGN_NORMAL; method++) {
        abut_sign_options options = abut_sign_options_default();
        abut_bvh *own = NULL;
        options.method = (abut_sign_method)method;
        assert_ok(abut_bvh_create(t->mesh[1], NULL, &own));
        if (TRY(abut_sign_prepare(own, &options))) {
            NEED(abut_sign_inside(own, at(t, 0.1, 0.1, 0.1), &any));
            if (t->compares)
                assert_true(any);
            NEED(abut_sign_inside_batch(own, &points, abut_array_host(&any)));
            NEED(abut_sign_nearest(own, point, INFINITY, &nearest));
            same(t, method == ABUT_SIGN_NORMAL ? "signed by normal" : "signed", nearest.distance, 1,
                 ROUNDED);
            NEED(abut_sign_winding(own, at(t, 0.1, 0.1, 0.1), &value));
        }
        abut_bvh_destroy(own);
    }
    abut_bvh *refitted = NULL;
    assert_ok(abut_bvh_create(t->mesh[0], NULL, &refitted));
    NEED(abut_bvh_set_mesh(refitted, t->mesh[0]));
    const abut_bvh_info info = get_bvh_info(refitted);
    assert_true(isfinite(info.cost));
    abut_bvh_destroy(refitted);
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
    const abut_posed *a = &t->posed[0], *b = &t->posed[1];
    abut_overlap overlap;
    abut_separation separation;
    abut_pair_measures common;
    abut_reliability reliability;
    abut_mesh_report report;
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
    const abut_status status = abut_pair_intersections(a, b, 0, NULL, &count);
    assert_true(!status || status == ABUT_ERROR_BUFFER);
    if (t->compares)
        same(t, "meetings", (double)count, 0, EXACT);
    if (TRY(abut_pair_measure(a, b, NULL, &common))) {
        if (t->compares)
            same(t, "common kind", common.kind, 0, EXACT);
        same(t, "common volume", common.volume, 3, ROUNDED);
        same(t, "common area", common.area, 2, ROUNDED);
    }
    if (TRY(abut_pair_self_intersects(a->bvh, NULL, &any)) && t->compares)
        assert_false(any);
    abut_topology *topology = NULL;
    assert_ok(abut_topology_create(abut_bvh_mesh(a->bvh), &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    TRY(abut_pair_examine(a->bvh, NULL, &report));
    abut_topology_destroy(topology);
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = a->bvh;
    poses.b = b->bvh;
    poses.poses_b = &t->apart.pose;
    poses.count = 1;
    abut_pair_relation relation;
    NEED(abut_pair_overlap_batch(&poses, NULL, &relation, &reliability));
    NEED(abut_pair_distance_batch(&poses, NULL, &separation));
    NEED(abut_pair_within_batch(&poses, t->scale, NULL, &any, &reliability));
    const abut_path path = {t->apart.pose, b->pose}, still = {a->pose, a->pose};
    NEED(abut_sweep_rigid(a->bvh, &still, b->bvh, &path, NULL, &touch));
    if (t->compares)
        same(t, "time of impact", touch.time, 0, COARSE);
}

static void try_contacts(trial *t) {
    enum { ROOM = 4096 };
    static abut_patch list[ROOM];
    static abut_contact contacts[8 * ROOM];
    abut_patches found = {.list = list,
                          .capacity = ROOM,
                          .contacts = contacts,
                          .contact_capacity = sizeof contacts / sizeof *contacts};
    abut_patch_options options = abut_patch_options_default();
    if (TRY(abut_contact_patches(&t->posed[0], &t->posed[1], NULL, &found)) && t->compares) {
        assert_true(found.count > 0);
        same(t, "patch depth", list[0].depth, 1, COARSE);
        same(t, "patch volume", list[0].volume, 3, COARSE);
    }
    options.margin = 0.1 * t->scale;
    TRY(abut_contact_patches(&t->posed[0], &t->posed[1], &options, &found));
    TRY(abut_contact_patches(&t->posed[0], &t->apart, &options, &found));
    /* Many poses of one pair: all lanes of the grid are used in some of them. */
    for (int i = 0; i < 12; i++) {
        abut_posed other = t->posed[0];
        other.pose.translation = at(t, 0.1 * i - 0.5, 0.07 * (i % 5), 0);
        TRY(abut_contact_patches(&t->posed[0], &other, NULL, &found));
    }
    abut_solid solids[6] = {
        {.kind = ABUT_SOLID_PLANE, .shape.plane = {{0, 0, 1}, 0.1 * t->scale}},
        {.kind = ABUT_SOLID_SPHERE, .shape.sphere = {at(t, 0.3, 0, 0), t->scale}},
        {.kind = ABUT_SOLID_CAPSULE,
         .shape.capsule = {{at(t, 0, 0, 0), at(t, 0, 0.1, 1)}, 0.3 * t->scale}},
        {.kind = ABUT_SOLID_BOX, .shape.half = at(t, 1, 0.5, 0.4)},
        {.kind = ABUT_SOLID_CYLINDER,
         .shape.cylinder = {{at(t, 0, 0, -1), at(t, 0, 0.1, 1)}, 0.3 * t->scale}},
        {.kind = ABUT_SOLID_HULL, .shape.hull = t->bvh[1]}};
    for (int i = 0; i < 6; i++) {
        char name[NAME];
        for (int k = 0; k < 6; k++) {
            snprintf(name, sizeof name, "solids %d %d", i, k);
            if ((i || k) && TRY(abut_contact_solids(&solids[i], &solids[k], NULL, &found)) &&
                found.count)
                same(t, name, list[0].depth, 1, COARSE);
        }
        snprintf(name, sizeof name, "solid %d", i);
        if (TRY(abut_contact_solid(&t->posed[0], &solids[i], NULL, &found)) && found.count)
            same(t, name, list[0].depth, 1, COARSE);
    }
}

static void try_fields(trial *t) {
    abut_field_options options = abut_field_options_default();
    abut_samples_options samples_options = abut_samples_options_default();
    abut_field *field = NULL;
    abut_samples *samples = NULL;
    abut_mesh *surface = NULL;
    abut_field_value value;
    static abut_contact list[8192];
    abut_contacts contacts = {.list = list, .capacity = 8192};
    options.cells = 24;
    samples_options.kinds =
        ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES | ABUT_SAMPLES_FACES | ABUT_SAMPLES_SURFACE;
    samples_options.cell = 0.1 * t->scale;
    const bool has_samples = TRY(abut_samples_create(t->mesh[0], &samples_options, &samples));
    if (has_samples && t->compares)
        same(t, "samples", get_samples_arrays(samples).count, 0, 0.05);
    samples_options = abut_samples_options_default();
    samples_options.count = 200;
    samples_options.kinds = ABUT_SAMPLES_SURFACE;
    abut_samples *even = NULL;
    TRY(abut_samples_create(t->mesh[1], &samples_options, &even));
    abut_samples_destroy(even);
    even = NULL;
    TRY(abut_samples_create(t->mesh[1], NULL, &even));
    abut_samples_destroy(even);
    if (TRY(abut_field_create(t->mesh[0], &options, &field))) {
        NEED(abut_field_evaluate(field, at(t, 0.3, 0.2, 0.1), ABUT_INTERPOLATION_LINEAR, &value));
        same(t, "field", value.distance, 1, 1e-5);
        TRY(abut_field_isosurface(field, 0, &surface));
        abut_mesh_destroy(surface);
        const abut_body a = {field, samples, t->posed[0].pose},
                        b = {field, samples, t->posed[1].pose};
        const abut_plane plane = {{0, 0, 1}, 0.1 * t->scale};
        const abut_sphere sphere = {at(t, 0.8, 0, 0), 0.5 * t->scale};
        const abut_ray ray = {at(t, 3, 0, 0), at(t, -1, 0, 0)};
        abut_field_hit hit;
        TRY(abut_contact_bodies(&a, &b, NULL, &contacts));
        TRY(abut_contact_plane(&a, &plane, NULL, &contacts));
        TRY(abut_contact_sphere(&a, &sphere, NULL, &contacts));
        TRY(abut_contact_ray(&a, &ray, INFINITY, ABUT_CONTACT_RAY_TRACE, &hit));
    }
    abut_field_destroy(field);
    field = NULL;
    options.layout = ABUT_FIELD_SPARSE;
    options.type = ABUT_FIELD_INT16;
    TRY(abut_field_create(t->mesh[0], &options, &field));
    abut_field_destroy(field);
    abut_samples_destroy(samples);
}

static void try_measures(trial *t, const abut_map *map, const char *name, bool exact) {
    abut_map_measure_options options = abut_map_measure_options_default();
    abut_map_measures m;
    const double half = 0.5;
    double value;
    options.within = t->scale;
    options.quantiles = &half;
    options.quantile_count = 1;
    options.exact = exact;
    if (!TRY(abut_map_measure(map, &options, &value, &m)))
        return;
    if (t->flatness != 1 && !m.found)
        return; /* it has no thickness */
    assert_true(m.found > 0);
    char fact_name[NAME];
    snprintf(fact_name, sizeof fact_name, "%s least", name);
    same(t, fact_name, m.min.distance, 1, 1e-5);
    snprintf(fact_name, sizeof fact_name, "%s greatest", name);
    same(t, fact_name, m.max.distance, 1, 1e-5);
    snprintf(fact_name, sizeof fact_name, "%s half", name);
    same(t, fact_name, value, 1, 1e-5);
    const double barycentric[3] = {0.2, 0.3, 0.5};
    double areas[4];
    abut_map_value here;
    TRY(abut_map_evaluate(map, 3, barycentric, &here));
    TRY(abut_map_histogram(map, 0, t->scale, 4, areas));
}

static void try_maps(trial *t) {
    enum { ROOM = 4096 };
    static abut_patch list[ROOM];
    static abut_contact contacts[8 * ROOM];
    abut_patches found = {.list = list,
                          .capacity = ROOM,
                          .contacts = contacts,
                          .contact_capacity = sizeof contacts / sizeof *contacts};
    abut_map_options options = abut_map_options_default();
    abut_map_query query = abut_map_query_default();
    abut_patch_options patch_options = abut_patch_options_default();
    abut_map_hausdorff_result result;
    abut_map *map = NULL;
    options.resolution = 40;
    patch_options.margin = 0.1 * t->scale;
    if (TRY(abut_map_create(t->mesh[0], &options, &map))) {
        assert_true(isfinite(get_map_info(map).reach) && get_map_info(map).reach > 0);
        if (TRY(abut_map_compute_distance(map, &t->apart, 1, NULL)))
            try_measures(t, map, "map apart", true);
        if (TRY(abut_map_compute_distance(map, &t->posed[1], 1, NULL))) {
            try_measures(t, map, "map", false);
            TRY(abut_map_contacts(map, &patch_options, &found));
        }
        query.limit = t->scale;
        const abut_posed both[2] = {t->posed[1], t->apart};
        TRY(abut_map_compute_distance(map, both, 2, &query));
        if (TRY(abut_map_compute_self_distance(map, NULL)))
            try_measures(t, map, "map self", false);
        query.geodesic = 0.3 * t->scale;
        TRY(abut_map_compute_self_distance(map, &query));
        for (int kind = 0; kind <= ABUT_MAP_THICKNESS_BALL; kind++)
            if (TRY(abut_map_compute_thickness(map, (abut_map_thickness)kind, NULL)))
                try_measures(t, map, kind ? "ball" : "thickness", false);
        TRY(abut_map_set_mesh(map, t->mesh[0]));
        TRY(abut_map_replace_mesh(map, t->mesh[1], NULL));
    }
    abut_map_destroy(map);
    if (TRY(abut_map_hausdorff(t->bvh[0], t->bvh[1], NULL, &result))) {
        assert_true(result.lower <= result.upper);
        same(t, "hausdorff lower", result.lower, 1, 1e-5);
        same(t, "hausdorff upper", result.upper, 1, 1e-5);
    }
    TRY(abut_map_hausdorff(t->bvh[0], t->bvh[0], NULL, &result));
}

static void try_images(trial *t) {
    static uint32_t items[64 * 64];
    static float pixels[64 * 64], depths[64 * 64];
    static uint8_t colours[4 * 96 * 64];
    abut_raster_view view = abut_raster_view_default();
    abut_raster *raster = NULL;
    const abut_raster_item drawn[2] = {{t->mesh[0], t->posed[0].pose},
                                       {t->mesh[1], t->posed[1].pose}};
    abut_raster_image image = {.capacity = 64 * 64, .items = abut_array_host(items)},
                      deep = {.capacity = 64 * 64, .depths = abut_array_host(depths)};
    view.width = view.height = 64;
    assert_ok(abut_raster_create(NULL, NULL, &raster));
    for (int k = 0; k < 2; k++) {
        view.perspective = k;
        view.eye = at(t, 3, 3, 3);
        view.direction = (abut_vec3){-1, -1, -1};
        view.angle = k;
        if (TRY(abut_raster_draw(raster, &view, drawn, 2, &image)) && t->compares) {
            uint32_t covered = 0;
            for (int i = 0; i < 64 * 64; i++)
                covered += items[i] != ABUT_NONE;
            same(t, k ? "pixels with an eye" : "pixels", covered, 0, 0.01);
        }
        if (TRY(abut_raster_draw(raster, &view, drawn, 2, &deep))) {
            float least = INFINITY;
            for (int i = 0; i < 64 * 64; i++)
                least = fminf(least, depths[i]);
            same(t, k ? "depth from an eye" : "depth", (double)least, 1, 1e-5);
        }
    }
    abut_raster_destroy(raster);

    abut_layers *layers = NULL;
    abut_layers_pair pairs[4];
    abut_layers_result result = {.pairs = pairs, .capacity = 4};
    abut_layers_query query = abut_layers_query_default();
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    bool added = true;
    for (int i = 0; i < 3; i++) {
        uint32_t id;
        abut_layers_item item = {.mesh = t->mesh[i > 0],
                                 .pose = i == 2 ? t->apart.pose : t->posed[i].pose};
        added = TRY(abut_layers_add(layers, &item, &id)) && added;
    }
    query.resolution = 64;
    for (int k = 0; k < 3 && added; k++) {
        query.is_exact = k == 1;
        query.measure_volume = k == 2;
        if (TRY(abut_layers_find(layers, &query, &result)) && t->compares) {
            assert_int_equal(1, result.count);
            same(t,
                 k == 0   ? "layers"
                 : k == 1 ? "layers exact"
                          : "layers volume",
                 pairs[0].volume, 3, COARSE);
        }
    }
    uint32_t width = 0, height = 0;
    abut_raster_view along = abut_raster_view_default();
    along.width = along.height = 64;
    if (added && TRY(abut_layers_image(layers, &along, ABUT_LAYERS_LENGTH, 64 * 64, pixels, &width,
                                       &height)))
        same(t, "length", (double)pixels[32 * 64 + 32], 1, 1e-5);
    if (added &&
        TRY(abut_layers_image(layers, &along, ABUT_LAYERS_COUNT, 64 * 64, pixels, &width, &height)))
        same(t, "count", (double)pixels[32 * 64 + 32], 0, EXACT);
    abut_layers_destroy(layers);

    abut_picture_options options = abut_picture_options_default();
    abut_picture *picture = NULL;
    options.width = 96;
    options.height = 64;
    options.ground = true;
    assert_ok(abut_picture_create(NULL, &options, &picture));
    TRY(abut_picture_add_mesh(picture, t->mesh[0], t->posed[0].pose, NULL));
    TRY(abut_picture_add_mesh(picture, t->mesh[1], t->posed[1].pose, NULL));
    TRY(abut_picture_add_line(picture, at(t, 0, 0, 0), at(t, 1, 1, 1), 1, abut_picture_colour(1)));
    TRY(abut_picture_add_point(picture, at(t, 1, 0, 0), 3, abut_picture_colour(2)));
    TRY(abut_picture_render(picture, sizeof colours, colours));
    abut_picture_destroy(picture);
}

static void try_motions(trial *t) {
    abut_mesh *meshes[2] = {t->mesh[0], t->mesh[1]};
    abut_sweep *motion = NULL;
    static abut_impact list[1 << 17];
    abut_impacts impacts = {.list = list, .capacity = 1 << 17};
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
        abut_self_result result;
        abut_self *self = NULL;
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
        abut_self_destroy(self);
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
        abut_world *world = NULL;
        abut_contacts contacts = {.list = list, .capacity = 4096};
        abut_world_event events[16];
        abut_world_impact hits[16];
        abut_world_impacts impacts = {.list = hits, .capacity = 16};
        uint64_t count;
        if (method == ABUT_WORLD_RADIAL)
            continue;
        options.margin = 0.01 * t->scale;
        assert_ok(abut_world_create(NULL, &options, &world));
        bool added = true;
        for (int i = 0; i < 3; i++) {
            uint32_t id;
            abut_world_item item = {.kind = ABUT_WORLD_MESH,
                                    .method = (abut_world_method)method,
                                    .pose = i == 2 ? t->apart.pose : t->posed[i].pose};
            item.shape.mesh.mesh = t->mesh[i > 0];
            item.shape.mesh.resolution = method == ABUT_WORLD_FIELD ? 16 : 64;
            added = TRY(abut_world_add(world, &item, &id)) && added;
        }
        abut_world_item ball = {.kind = ABUT_WORLD_SPHERE};
        ball.shape.sphere = (abut_sphere){at(t, 1, 0, 0), 0.2 * t->scale};
        uint32_t id;
        TRY(abut_world_add(world, &ball, &id));
        if (added && TRY(abut_world_contacts(world, &contacts)) && t->compares)
            assert_true(contacts.count > 0);
        if (added) {
            TRY(abut_world_events(world, 16, events, &count));
            const uint32_t last = 2;
            TRY(abut_world_sweep(world, &last, &t->posed[1].pose, 1, NULL, &impacts));
        }
        abut_world_destroy(world);
    }
}

static void try_radial(trial *t) {
    abut_mesh *mesh = scaled(t, ABUT_SHAPE_CAPSULE, 12, 6);
    const uint32_t triangles = abut_mesh_triangle_count(mesh);
    uint32_t *all = test_malloc(triangles * sizeof *all);
    for (uint32_t i = 0; i < triangles; i++)
        all[i] = i;
    abut_radial_axis axis = {.begin = at(t, 0, 0, -0.5),
                             .end = at(t, 0, 0, 0.5),
                             .triangles = all,
                             .triangle_count = triangles};
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    options.axes = &axis;
    options.axis_count = 1;
    const abut_character_matrix still = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    for (int kind = 0; kind <= ABUT_RADIAL_DISTANCE_PLANE; kind++) {
        options.distance = (abut_radial_distance)kind;
        options.cell = kind ? 0.1 * t->scale : 0;
        radial = NULL;
        if (TRY(abut_radial_create_mesh(mesh, 1, &options, &radial))) {
            const uint32_t count = abut_mesh_vertex_count(mesh);
            abut_vec3 *positions = test_malloc(count * sizeof *positions);
            const abut_vec3 *from = abut_mesh_local_positions(mesh),
                            o = abut_mesh_local_origin(mesh);
            for (uint32_t i = 0; i < count; i++)
                positions[i] = (abut_vec3){o.x + from[i].x, o.y + from[i].y, o.z + from[i].z};
            if (TRY(abut_radial_set_positions(radial, &still, abut_array_host(positions)))) {
                const abut_vec3 point = at(t, 0.7, 0.1, 0.1);
                abut_radial_answer answer;
                if (TRY(abut_radial_evaluate(radial, 1, abut_array_host(&point), INFINITY,
                                             abut_array_host(&answer))) &&
                    t->compares)
                    same(t, kind ? "radial plane" : "radial", answer.distance, 1, 1e-5);
                abut_vec3 to = at(t, -0.7, 0.1, 0.1), from_point = point;
                abut_radial_hit hit;
                abut_radial_particles particles = abut_radial_particles_default();
                particles.count = 1;
                particles.from = abut_array_host(&from_point);
                particles.to = abut_array_host(&to);
                particles.hits = abut_array_host(&hit);
                if (TRY(abut_radial_collide(radial, &particles)) && t->compares)
                    assert_int_equal(1, particles.hit_count);
                abut_mesh *surface = NULL;
                TRY(abut_radial_surface(radial, 0, &surface));
                abut_mesh_destroy(surface);
                abut_radial_measures measures;
                TRY(abut_radial_measure(radial, mesh, NULL, &measures));
                static abut_contact list[64];
                abut_contacts contacts = {.list = list, .capacity = 64};
                const abut_capsule capsule = {{at(t, 0.5, 0, 0), at(t, 1, 0, 0.2)}, 0.1 * t->scale};
                TRY(abut_radial_contacts(radial, 1, &capsule, NULL, &contacts));
            }
            test_free(positions);
        }
        abut_radial_destroy(radial);
    }
    test_free(all);
    abut_mesh_destroy(mesh);
}

static void try_files(trial *t) {
    static const char *const names[] = {"range.obj", "range.ply", "range.off", "range.stl"};
    for (int i = 0; i < 4; i++) {
        abut_mesh *read = NULL;
        if (TRY(abut_mesh_write(t->mesh[1], test_path(names[i]), NULL)) &&
            TRY(abut_mesh_read(NULL, test_path(names[i]), NULL, &read)))
            same(t, names[i], abut_mesh_bounds(read).hi.x, 1, 1e-6);
        abut_mesh_destroy(read);
    }
}

/* A body of this scale with one of scale 1, and questions from the largest distance there is. */
static void try_mixed(trial *t) {
    enum { ROOM = 4096 };
    static abut_patch list[ROOM];
    static abut_contact contacts[8 * ROOM];
    static uint32_t triangles[1024];
    abut_patches found = {.list = list,
                          .capacity = ROOM,
                          .contacts = contacts,
                          .contact_capacity = sizeof contacts / sizeof *contacts};
    const trial one = {.scale = 1};
    abut_mesh *mesh = scaled(&one, ABUT_SHAPE_TORUS, 12, 8);
    abut_bvh *bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const abut_posed a = t->posed[0], b = {bvh, {{0.1, 0.2, 0, 1}, at(t, 0.4, 0.1, 0)}},
                     c = {bvh, {{0, 0, 0, 1}, {0.5, 0, 0}}};
    const abut_posed *others[2] = {&b, &c};
    abut_overlap overlap;
    abut_separation separation;
    abut_pair_measures common;
    abut_sweep_rigid_result touch;
    abut_map_hausdorff_result result;
    for (int i = 0; i < 2; i++) {
        const abut_path from = {others[i]->pose, a.pose}, still = {a.pose, a.pose};
        NEED(abut_pair_overlap(&a, others[i], NULL, NULL, &overlap));
        NEED(abut_pair_distance(&a, others[i], NULL, NULL, &separation));
        assert_true(isfinite(separation.distance));
        if (TRY(abut_pair_measure(&a, others[i], NULL, &common)))
            assert_true(isfinite(common.volume));
        if (TRY(abut_contact_patches(&a, others[i], NULL, &found)))
            for (uint64_t k = 0; k < found.count; k++)
                assert_true(isfinite(list[k].depth) && isfinite(list[k].volume));
        TRY(abut_contact_patches(others[i], &a, NULL, &found));
        TRY(abut_sweep_rigid(a.bvh, &still, others[i]->bvh, &from, NULL, &touch));
    }
    TRY(abut_map_hausdorff(a.bvh, bvh, NULL, &result));
    const double most = ABUT_COORDINATE_MAX;
    const abut_box all = {{-most, -most, -most}, {most, most, most}};
    const abut_ray ray = {{most, 0.1 * t->scale, 0}, {-1, 0, 0}};
    const abut_vec3 points[3] = {{most, most, -most}, at(t, 5, 0, 1), {5e-324, 0, 1e-200}};
    const abut_points three = abut_points_doubles(points, 3);
    abut_nearest nearest[3];
    abut_ray_hit hit;
    uint64_t count;
    NEED(abut_bvh_find_in_box(a.bvh, &all, 1024, triangles, &count));
    assert_int_equal(abut_mesh_triangle_count(t->mesh[0]), count);
    NEED(abut_ray_first(a.bvh, &ray, INFINITY, &hit));
    NEED(abut_nearest_point_batch(a.bvh, &three, INFINITY, abut_array_host(nearest)));
    for (int i = 0; i < 3; i++)
        assert_true(isfinite(nearest[i].distance) &&
                    nearest[i].triangle < abut_mesh_triangle_count(t->mesh[0]));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static void try_flattened(double scale, double flatness, bool compares) {
    trial made = {.scale = scale, .flatness = flatness, .compares = compares}, *t = &made;
    t->mesh[0] = scaled(t, ABUT_SHAPE_TORUS, 12, 8);
    t->mesh[1] = scaled(t, ABUT_SHAPE_ICOSPHERE, 2, 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(abut_bvh_create(t->mesh[i], NULL, &t->bvh[i]));
        t->posed[i].bvh = t->bvh[i];
    }
    t->posed[1].pose = pose_at(t, 0.9, 0.3, 0.2);
    t->apart = (abut_posed){t->bvh[1], pose_at(t, 0.5, 0.4, 5)};
    refused = 0;
    static void (*const families[])(trial *) = {try_meshes,   try_points, try_triangles, try_pairs,
                                                try_contacts, try_fields, try_maps,      try_images,
                                                try_motions,  try_worlds, try_radial,    try_files,
                                                try_mixed};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        families[i](t);
    for (int i = 0; i < 2; i++) {
        abut_bvh_destroy(t->bvh[i]);
        abut_mesh_destroy(t->mesh[i]);
    }
}

static void try_scale(double scale, bool compares) {
    try_flattened(scale, 1, compares);
}

TEST(one) {
    (void)state;
    fact_count = 0;
    try_scale(1, true);
}

/* The range of what has distances as floats: nothing is refused. */
TEST(floats) {
    (void)state;
    try_scale(0x1p-90, true); /* 8.1e-28 */
    assert_int_equal(0, refused);
    try_scale(0x1p90, true); /* 1.2e27 */
    assert_int_equal(0, refused);
}

TEST(small) {
    (void)state;
    try_scale(0x1p-149, true); /* 1.4e-45, the least float */
    try_scale(0x1p-298, true); /* 2e-90 */
}

TEST(large) {
    (void)state;
    try_scale(0x1p126, true); /* 8.5e37 */
    try_scale(0x1p149, true); /* 7.1e44 */
    try_scale(0x1p296, true); /* 1.3e89 */
    try_scale(1e38, false);
    try_scale(1e45, false);
    try_scale(1e89, false);
}

/* Tiny coordinates of a legal mesh, whose products underflow: there is no promise but that calls
 * end and answers are finite. */
TEST(flat) {
    (void)state;
    try_flattened(2, 1e-100, false);
    try_flattened(2, 1e-200, false);
    try_flattened(2, 1e-310, false);
    try_flattened(2, 0, false);
}
