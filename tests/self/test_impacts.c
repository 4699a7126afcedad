/* All impacts with view-based culling: the list is that part of ABUT_SWEEP_ALL whose features
 * have triangles that the sets do not exclude, bit for bit, on the CPU and on a device; it is
 * empty only if the step is free; and the meaning of a separation with sets. */
#include "device/open.h"

#include "self/deform.h"
#include "self/self.h"

#include <math.h>

static abut_device *device; /* null if there is none */

enum { SCHEMES = 4, ROOM = 20000 };

/* A motion over all pairs, and views that are held against it. */
typedef struct scene {
    abut_mesh *mesh;
    abut_sweep *motion;
    abut_self *views[2 * SCHEMES];
    uint32_t view_count;
    abut_impact *all, *seen;
    uint32_t lists, shorter, empty;
    uint32_t completed, proven;
} scene;

static scene open_scene(abut_mesh *mesh) {
    const abut_self_scheme schemes[SCHEMES] = {ABUT_SELF_COMPLETE, ABUT_SELF_POINT, ABUT_SELF_LINE,
                                               ABUT_SELF_AUTO};
    scene s = {.mesh = mesh};
    assert_ok(abut_sweep_create(&mesh, 1, NULL, &s.motion));
    for (int k = 0; k < SCHEMES; k++)
        for (int there = 0; there < (device ? 2 : 1); there++) {
            abut_self_options options = abut_self_options_default();
            options.scheme = schemes[k];
            options.device = there ? device : NULL;
            assert_ok(abut_self_create(mesh, &options, &s.views[s.view_count++]));
        }
    s.all = malloc(ROOM * sizeof *s.all);
    s.seen = malloc(ROOM * sizeof *s.seen);
    return s;
}

static void close_scene(scene *s) {
    for (uint32_t k = 0; k < s->view_count; k++)
        abut_self_destroy(s->views[k]);
    abut_sweep_destroy(s->motion);
    abut_mesh_destroy(s->mesh);
    free(s->all);
    free(s->seen);
}
#define AUTO_SCENE __attribute__((cleanup(close_scene))) scene

/* Sets of all triangles with a vertex, or with both ends of an edge. */
static unsigned sets_around(const abut_mesh *mesh, const unsigned char *sets,
                            const uint32_t *vertices, int count) {
    const uint32_t *corner = abut_mesh_indices(mesh);
    unsigned found = 0;
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        int met = 0;
        for (int i = 0; i < count; i++)
            for (int k = 0; k < 3; k++)
                met += corner[3 * t + (uint32_t)k] == vertices[i];
        if (met == count)
            found |= 1u << sets[t];
    }
    return found;
}

/* The obvious rule: some triangle of the one and some of the other is a pair that is looked at. */
static bool is_looked_at(const scene *s, const unsigned char *sets, const abut_impact *impact) {
    const uint32_t *corner = abut_mesh_indices(s->mesh);
    const unsigned in_doubt = 1u << ABUT_SELF_GRAZING | 1u << ABUT_SELF_VIOLATED;
    unsigned a, b;
    if (impact->kind == ABUT_IMPACT_EDGE_EDGE) {
        a = sets_around(s->mesh, sets, s->motion->edges + 2 * (size_t)impact->element[0], 2);
        b = sets_around(s->mesh, sets, s->motion->edges + 2 * (size_t)impact->element[1], 2);
    } else {
        a = sets_around(s->mesh, sets, impact->element, 1);
        b = sets_around(s->mesh, sets, corner + 3 * (size_t)impact->element[1], 3);
    }
    const bool across = (a >> ABUT_SELF_POSITIVE & b >> ABUT_SELF_NEGATIVE & 1) ||
                        (b >> ABUT_SELF_POSITIVE & a >> ABUT_SELF_NEGATIVE & 1);
    return across || ((a | b) & in_doubt);
}

/* Holds the list of one view against that of all pairs. */
static void check_view(scene *s, uint32_t which, const abut_self_step *step,
                       const abut_sweep_find_options *options, uint64_t count, bool is_free) {
    abut_impact_list impacts = {s->seen, ROOM, 99};
    abut_self_result result = abut_self_result_default();
    uint64_t used = 0;
    assert_ok(abut_self_find_all(s->views[which], step, options, &impacts, &result));
    const unsigned char *sets = abut_self_sets(s->views[which]);
    for (uint64_t i = 0; i < count; i++)
        if (!sets || is_looked_at(s, sets, &s->all[i])) {
            assert_true(used < impacts.count);
            same_impact(&s->all[i], &s->seen[used++]);
        }
    assert_int_equal(used, impacts.count);
    assert_int_equal(used > 0, result.hit);
    if (result.hit)
        same_impact(&s->seen[0], &result.impact);
    if (!used)
        assert_true(is_free);
    if (used && !(options->separation > 0)) /* the first is among them */
        assert_true(s->seen[0].time == s->all[0].time);
    s->lists += used > 0;
    s->shorter += used < count;
    s->empty += !used && count > 0;
}

/* A complete list is that of all pairs with every scheme. */
static void check_complete(scene *s, uint32_t which, const abut_self_step *step,
                           const abut_sweep_find_options *options, uint64_t count) {
    abut_impact_list impacts = {s->seen, ROOM, 99};
    abut_self_result result = abut_self_result_default();
    assert_ok(abut_self_find_all(s->views[which], step, options, &impacts, &result));
    assert_int_equal(count, impacts.count);
    assert_int_equal(count > 0, result.hit);
    for (uint64_t i = 0; i < count; i++)
        same_impact(&s->all[i], &s->seen[i]);
    if (count) {
        assert_int_equal(ABUT_SELF_COMPLETE, result.scheme);
        assert_null(abut_self_sets(s->views[which]));
    }
    s->completed += result.reason == ABUT_SELF_IMPACTS;
    s->proven += result.scheme != ABUT_SELF_COMPLETE;
}

static void check_step(scene *s, const abut_vec3 *start, const abut_vec3 *end, double separation) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    abut_impact_list impacts = {s->all, ROOM, 0};
    abut_self_step step = step_of(start, end);
    step.partial_separation = true;
    assert_ok(abut_sweep_set_positions(s->motion, step.start, step.end));
    assert_ok(abut_sweep_find(s->motion, ABUT_SWEEP_ALL, &options, &impacts, NULL));
    const bool is_free = impacts.count == 0;
    options.separation = separation;
    assert_ok(abut_sweep_find(s->motion, ABUT_SWEEP_ALL, &options, &impacts, NULL));
    for (uint32_t k = 0; k < s->view_count; k++)
        check_view(s, k, &step, &options, impacts.count, is_free);
    options.separation = 0;
    options.exact = true;
    assert_ok(abut_sweep_find(s->motion, ABUT_SWEEP_ALL, &options, &impacts, NULL));
    step.complete_list = true;
    for (uint32_t k = 0; k < s->view_count; k++)
        check_complete(s, k, &step, &options, impacts.count);
}

static void follow(scene *s, test_random *random, uint32_t steps, double size, double separation) {
    const uint32_t count = abut_mesh_vertex_count(s->mesh);
    AUTO_FREE abut_vec3 *start = positions_of(s->mesh), *end = positions_of(s->mesh);
    for (uint32_t i = 0; i < steps; i++) {
        random_motion(random, start, end, count, size, i % 2 ? 0.01 : 0);
        check_step(s, start, end, i % 3 ? separation : 0);
        const double share = brute_find(s->mesh, start, end, 1e-9).time;
        for (uint32_t v = 0; v < count; v++)
            start[v] = share > 1 ? end[v] : v3_lerp(start[v], end[v], 0.8 * share);
    }
}

static void follow_shape(abut_mesh *mesh, uint64_t seed, double size, double separation,
                         uint32_t sums[5]) {
    test_random random = {seed};
    AUTO_SCENE s = open_scene(mesh);
    follow(&s, &random, test_rounds(6) < 3 ? 3 : test_rounds(6), size, separation);
    sums[0] += s.lists;
    sums[1] += s.shorter;
    sums[2] += s.empty;
    sums[3] += s.completed;
    sums[4] += s.proven;
}

TEST(test_lists) {
    uint32_t sums[5] = {0};
    follow_shape(make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 4), 3, 0.8, 0.05, sums);
    follow_shape(make_shape(one_thread(), ABUT_SHAPE_TORUS, 8), 4, 0.6, 0.02, sums);
    follow_shape(make_sheet(one_thread(), 8, 8, true), 5, 0.6, 0.02, sums);
    follow_shape(make_two(one_thread(), 2.2, 1), 6, 0.8, 0.1, sums);
    assert_true(sums[0] > 0 && sums[1] > 0 && sums[3] > 0 && sums[4] > 0);
}

/* A bowl with a narrow groove whose walls both face the view-point: they come nearer to each other
 * than the separation, which no set in between shows. */
TEST(test_groove) {
    abut_mesh *mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 8);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
    AUTO_SCENE s = open_scene(mesh);
    for (uint32_t i = 0; i < count; i++) { /* star-shaped about the origin: all is in V+ */
        const vec3 p = start[i];
        start[i] = v3_scale(p, p.z > 0 ? 1 - 0.8 * exp(-160 * p.x * p.x) : 1);
        end[i] = v3_scale(start[i], 1.01);
    }
    const abut_self_line middle = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    abut_sweep_find_options options = abut_sweep_find_options_default();
    abut_impact_list impacts = {s.seen, ROOM, 0};
    abut_self_result result = abut_self_result_default();
    abut_self_step step = step_of(start, end);
    step.line = &middle;
    options.separation = 0.02;
    for (uint32_t k = 0; k < s.view_count; k++) {
        const bool by_point = s.views[k]->options.scheme == ABUT_SELF_POINT;
        step.partial_separation = true;
        assert_ok(abut_self_find_all(s.views[k], &step, &options, &impacts, &result));
        if (by_point) {
            assert_int_equal(ABUT_SELF_POINT, result.scheme);
            assert_int_equal(abut_mesh_triangle_count(mesh), result.sets[ABUT_SELF_POSITIVE]);
            assert_int_equal(0, impacts.count);
            assert_false(result.hit);
        }
        step.partial_separation = false; /* then all pairs are looked at */
        assert_ok(abut_self_find_all(s.views[k], &step, &options, &impacts, &result));
        assert_int_equal(ABUT_SELF_COMPLETE, result.scheme);
        assert_true(impacts.count > 0 && result.hit);
    }
}

/* A simple response ends with a mesh that does not intersect itself. */
TEST(test_response) {
    abut_mesh *mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 6);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
    AUTO_SCENE s = open_scene(mesh);
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < count; i++)
        end[i].z -= 2.6 * exp(-6 * (end[i].x * end[i].x + end[i].y * end[i].y)) * (end[i].z > 0);
    abut_impact_list impacts = {s.seen, ROOM, 1};
    abut_self_result result = abut_self_result_default();
    abut_self_step step = step_of(start, end);
    while (impacts.count && rounds++ < 100) {
        assert_ok(abut_self_find_all(s.views[device ? 2 : 1], &step, NULL, &impacts, &result));
        for (uint64_t i = 0; i < impacts.count; i++) { /* who hits stops short of it */
            const abut_impact *hit = &s.seen[i];
            uint32_t four[4];
            abuti_motion_corners(s.motion, hit->kind, hit->element[0], hit->element[1], four);
            for (int k = 0; k < 4; k++)
                end[four[k]] = v3_lerp(start[four[k]], end[four[k]], 0.5 * hit->time);
        }
    }
    assert_true(rounds > 1);
    assert_int_equal(0, impacts.count);
    assert_true(brute_find(mesh, start, end, 1e-10).time > 1);
}

/* Too little capacity: the count is returned, and the same step can be made again. */
TEST(test_room) {
    abut_mesh *mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 5);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *end = positions_of(mesh);
    AUTO_SCENE s = open_scene(mesh);
    for (uint32_t i = 0; i < count; i++)
        end[i].z = end[i].z > 0.4 ? -1.4 * end[i].z : end[i].z;
    for (uint32_t k = 0; k < s.view_count; k++) {
        abut_self_step step = abut_self_step_default();
        abut_impact_list none = {NULL, 0, 0}, some = {s.seen, 1, 0}, enough = {s.seen, ROOM, 0};
        abut_self_result result = {.size = sizeof result, .vertex_face = 99};
        step.end = abut_array_host(end);
        assert_fails(ABUT_ERROR_BUFFER, "impacts, but the capacity of impacts is 0",
                     abut_self_find_all(s.views[k], &step, NULL, &none, &result));
        assert_true(!strncmp(abut_last_error(), "abut_self_find_all: ", 20));
        assert_fails(ABUT_ERROR_BUFFER, "impacts, but the capacity of impacts is 1",
                     abut_self_find_all(s.views[k], &step, NULL, &some, &result));
        assert_int_equal(99, result.vertex_face);
        assert_ok(abut_self_find_all(s.views[k], &step, NULL, &enough, &result));
        assert_true(enough.count > 1);
        assert_int_equal(enough.count, some.count);
        assert_int_equal(enough.count, none.count);
    }
}

TEST(test_refused) {
    AUTO(mesh) mesh = make_shape(one_thread(), ABUT_SHAPE_BOX, 1);
    abut_self_step step = abut_self_step_default();
    abut_impact_list impacts = {NULL, 3, 7};
    abut_self_result result = {.size = sizeof result, .vertex_face = 99};
    AUTO(self) view;
    assert_ok(abut_self_create(mesh, NULL, &view));
    assert_refused("view is null", abut_self_find_all(NULL, &step, NULL, &impacts, &result));
    assert_refused("step is null", abut_self_find_all(view, NULL, NULL, &impacts, &result));
    assert_refused("impacts is null", abut_self_find_all(view, &step, NULL, NULL, &result));
    assert_refused("result is null", abut_self_find_all(view, &step, NULL, &impacts, NULL));
    assert_refused("capacity is 3", abut_self_find_all(view, &step, NULL, &impacts, &result));
    impacts.capacity = 0;
    assert_refused("end is null", abut_self_find_all(view, &step, NULL, &impacts, &result));
    assert_int_equal(7, impacts.count);
    assert_int_equal(99, result.vertex_face);
}

/* Memory that ends anywhere. */
static abut_status find_some(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    AUTO(mesh) mesh = NULL;
    AUTO(self) view = NULL;
    abut_self_options options = abut_self_options_default();
    static abut_impact room[ROOM];
    abut_impact_list impacts = {room, ROOM, 0};
    abut_self_result result = abut_self_result_default();
    shape.segments = 3;
    options.scheme = *(const abut_self_scheme *)data;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_self_create(mesh, &options, &view);
    if (!status) {
        AUTO_FREE abut_vec3 *end = positions_of(mesh);
        abut_self_step step = abut_self_step_default();
        end[0] = v3_scale(end[0], -1.5);
        step.end = abut_array_host(end);
        status = abut_self_find_all(view, &step, NULL, &impacts, &result);
        assert_true(status || impacts.count > 0);
    }
    return status;
}

TEST(test_no_memory) {
    abut_self_scheme schemes[2] = {ABUT_SELF_POINT, ABUT_SELF_AUTO};
    for (int k = 0; k < 2; k++)
        assert_true(test_every_allocation(find_some, &schemes[k]) > 10);
}

static int set_up(void **state) {
    (void)state;
    device = test_device_absence() ? NULL : test_device(NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    abut_device_destroy(device);
    return 0;
}

int main(void) {
    return test_run(set_up, tear_down);
}
