/* View-based culling on a device: the first impact of all pairs, the sets of the CPU bit for
 * bit, and no leak if the device or the memory fails. */
#include "apps/get.h"
#include "device/open.h"

#include "self/deform.h"
#include "self/self.h"

#include <math.h>

static abut_device *device;

enum { SCHEMES = 5 };

/* For each scheme one view here, one there, and one there whose positions are there too. */
typedef struct couple {
    abut_self *here, *there, *resident;
} couple;

static abut_buffer *buffers[2]; /* for the start and the end of `resident` */

/* The same step with positions on the device. */
static abut_self_step step_there(const abut_self_step *step, uint32_t count) {
    const abut_vec3 *from[2] = {step->start.host, step->end.host};
    abut_self_step there = *step;
    for (int side = 0; side < 2; side++) {
        size_t bytes = count * sizeof *from[side];
        if (abut_buffer_bytes(buffers[side]) < bytes) {
            abut_buffer_destroy(buffers[side]);
            assert_ok(abut_buffer_create(device, bytes, &buffers[side]));
        }
        if (from[side])
            assert_ok(abut_buffer_write(buffers[side], 0, from[side], bytes));
    }
    there.start = abut_array_buffer(from[0] ? buffers[0] : NULL);
    there.end = abut_array_buffer(buffers[1]);
    return there;
}

static void open_couples(abut_mesh *mesh, couple couples[SCHEMES]) {
    const abut_self_scheme schemes[SCHEMES] = {ABUT_SELF_AUTO, ABUT_SELF_POINT, ABUT_SELF_LINE,
                                               ABUT_SELF_LINE, ABUT_SELF_COMPLETE};
    for (int k = 0; k < SCHEMES; k++) {
        abut_self_options options = abut_self_options_default();
        options.scheme = schemes[k];
        options.box_boundary = k == 3;
        assert_ok(abut_self_create(mesh, &options, &couples[k].here));
        options.device = device;
        assert_ok(abut_self_create(mesh, &options, &couples[k].there));
        assert_ok(abut_self_create(mesh, &options, &couples[k].resident));
    }
}

static void close_couples(couple couples[SCHEMES]) {
    for (int k = 0; k < SCHEMES; k++) {
        abut_self_destroy(couples[k].here);
        abut_self_destroy(couples[k].there);
        abut_self_destroy(couples[k].resident);
    }
}

static void same_results(const abut_self_result *here, const abut_self_result *there) {
    assert_int_equal(here->hit, there->hit);
    if (here->hit)
        same_impact(&here->impact, &there->impact);
    assert_int_equal(here->scheme, there->scheme);
    assert_int_equal(here->reason, there->reason);
    assert_memory_equal(here->sets, there->sets, sizeof here->sets);
    assert_memory_equal(here->entered, there->entered, sizeof here->entered);
    assert_memory_equal(here->left, there->left, sizeof here->left);
    assert_memory_equal(here->regions, there->regions, sizeof here->regions);
}

static void same_sets(const abut_self *a, const abut_self *b) {
    const unsigned char *sets = abut_self_sets(a), *same = abut_self_sets(b);
    assert_int_equal(!sets, !same);
    if (sets)
        assert_memory_equal(sets, same, get_self_info(a).triangle_count);
}

/* Now and then through the host, the start, the end or both, which must not matter. */
static void check_resident(const couple *c, const abut_self_step *step,
                           const abut_sweep_find_options *sweep, const abut_self_result *expected,
                           double time) {
    abut_self_step moved = step_there(step, c->there->vertex_count);
    abut_self_result result = abut_self_result_default();
    if (time > 0.9 || time < 0.2)
        moved.start = step->start;
    if (time > 0.9 || (time > 0.2 && time < 0.3))
        moved.end = step->end;
    assert_ok(abut_self_find(c->resident, &moved, sweep, &result));
    same_results(expected, &result);
    assert_int_equal(expected->vertex_face, result.vertex_face);
    assert_int_equal(expected->edge_edge, result.edge_edge);
    same_sets(c->there, c->resident);
}

static void check_couple(const couple *c, const abut_self_step *step,
                         const abut_sweep_find_options *sweep, brute_hit truth) {
    abut_self_result here = abut_self_result_default(), there = abut_self_result_default();
    assert_ok(abut_self_find(c->here, step, sweep, &here));
    assert_ok(abut_self_find(c->there, step, sweep, &there));
    check_resident(c, step, sweep, &there, truth.time);
    if (c->there->options.scheme != ABUT_SELF_AUTO) {
        same_results(&here, &there);
        same_sets(c->here, c->there);
    } else { /* which searches completely there */
        assert_int_equal(ABUT_SELF_COMPLETE, there.scheme);
        assert_int_equal(here.hit, there.hit);
        if (here.hit)
            same_impact(&here.impact, &there.impact);
    }
    assert_truth(truth, there.hit, &there.impact);
}

/* Steps of random motion; every third gives its start, the others begin where the last ended. After
 * an impact it goes on from shortly before. */
static void follow(abut_mesh *mesh, test_random *random, uint32_t steps, double size,
                   uint32_t outcomes[2]) {
    uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
    couple couples[SCHEMES];
    bool ended_here = true;
    open_couples(mesh, couples);
    for (uint32_t s = 0; s < steps; s++) {
        abut_sweep_find_options exact = abut_sweep_find_options_default();
        abut_self_step step = abut_self_step_default();
        random_motion(random, start, end, count, size, 0.02);
        brute_hit truth = brute_find(mesh, start, end, tolerance_of(start, count));
        step.start = abut_array_host(ended_here && s % 3 ? NULL : start);
        step.end = abut_array_host(end);
        exact.exact = truth.time <= 1 && s % 2;
        for (int k = 0; k < SCHEMES; k++)
            check_couple(&couples[k], &step, &exact, truth);
        outcomes[truth.time <= 1]++;
        ended_here = truth.time > 1;
        for (uint32_t i = 0; i < count; i++)
            start[i] = ended_here ? end[i] : v3_lerp(start[i], end[i], 0.9 * truth.time);
    }
    free(start);
    free(end);
    close_couples(couples);
    abut_mesh_destroy(mesh);
}

TEST(closed_meshes) {
    const abut_shape_kind kinds[3] = {ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS, ABUT_SHAPE_BOX};
    test_random random = {11};
    uint32_t outcomes[2] = {0, 0};
    for (uint32_t k = 0; k < 3; k++)
        follow(make_shape(one_thread(), kinds[k], k == 1 ? 7 : 3), &random, 8, k % 2 ? 0.5 : 0.25,
               outcomes);
    assert_true(outcomes[0] > 0 && outcomes[1] > 0);
}

TEST(open_meshes) {
    test_random random = {9};
    uint32_t outcomes[2] = {0, 0};
    for (uint32_t k = 0; k < 2; k++)
        follow(make_sheet(one_thread(), 6, 6, k), &random, 10, k ? 0.4 : 0.8, outcomes);
    assert_true(outcomes[0] > 0 && outcomes[1] > 0);
}

/* A ball of more than one level of blocks that is dented until it touches itself: free at once,
 * then free by a search of a part, then not. */
TEST(a_dent) {
    AUTO(mesh) mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 12);
    uint32_t count = abut_mesh_vertex_count(mesh), at_once = 0, searched = 0, hits = 0;
    AUTO_FREE abut_vec3 *from = positions_of(mesh), *end = positions_of(mesh);
    couple couples[SCHEMES];
    open_couples(mesh, couples);
    for (int frame = 1; frame <= 20 && !hits; frame++) {
        abut_self_step step = abut_self_step_default();
        abut_self_result here = abut_self_result_default(), there = abut_self_result_default(),
                         complete = abut_self_result_default();
        for (uint32_t i = 0; i < count; i++) {
            vec3 p = from[i];
            p.z -= 0.12 * frame * exp(-6 * (p.x * p.x + p.y * p.y)) * (p.z > 0);
            end[i] = p;
        }
        step.end = abut_array_host(end);
        assert_ok(abut_self_find(couples[4].there, &step, NULL, &complete));
        for (int k = 1; k < 4; k++) {
            assert_ok(abut_self_find(couples[k].here, &step, NULL, &here));
            assert_ok(abut_self_find(couples[k].there, &step, NULL, &there));
            same_results(&here, &there);
            check_resident(&couples[k], &step, NULL, &there, frame % 4 == 3);
            assert_int_equal(complete.hit, there.hit);
            assert_true(!there.hit || there.impact.time == complete.impact.time);
            assert_true(there.edge_edge < complete.edge_edge || there.hit);
            at_once += there.sets[ABUT_SELF_POSITIVE] == abut_mesh_triangle_count(mesh);
            searched += there.edge_edge > 0;
        }
        hits += complete.hit;
    }
    assert_true(at_once > 0 && searched > 0 && hits > 0);
    close_couples(couples);
}

/* What is refused leaves the view as it was. */
TEST(positions_that_are_refused) {
    AUTO(mesh) mesh = make_sheet(one_thread(), 4, 4, false);
    uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *end = positions_of(mesh);
    couple couples[SCHEMES];
    abut_self_result result = {.size = sizeof result, .vertex_face = 99};
    AUTO(buffer) small;
    open_couples(mesh, couples);
    abut_self *view = couples[1].resident;
    abut_self_step here = abut_self_step_default(), step;
    assert_ok(abut_buffer_create(device, (count - 1) * sizeof *end, &small));
    here.end = abut_array_host(end);
    step = step_there(&here, count);
    assert_refused("no device", abut_self_find(couples[1].here, &step, NULL, &result));
    step.end.host = end;
    assert_refused("end has a host array and a device buffer",
                   abut_self_find(view, &step, NULL, &result));
    step.end.host = NULL;
    step.start = abut_array_buffer(small);
    assert_fails(ABUT_ERROR_BUFFER, "step->start has", abut_self_find(view, &step, NULL, &result));
    step.start = step.end;
    step.end = abut_array_buffer(NULL);
    assert_refused("end is null", abut_self_find(view, &step, NULL, &result));
    end[count - 1].y = NAN;
    step = step_there(&here, count);
    assert_refused("step->end[24] is (", abut_self_find(view, &step, NULL, &result));
    assert_refused("step->end[24] is (", abut_self_find(couples[1].there, &here, NULL, &result));
    for (uint32_t i = 0; i < count; i++)
        end[i] = (abut_vec3){i % 3 * 1e-100, i % 5 * 1e-100, 0};
    step = step_there(&here, count);
    assert_refused("step->end: the longest side", abut_self_find(view, &step, NULL, &result));
    assert_refused("step->end: the longest side",
                   abut_self_find(couples[1].there, &here, NULL, &result));
    assert_int_equal(99, result.vertex_face);
    AUTO_FREE abut_vec3 *again = positions_of(mesh);
    for (uint32_t i = 0; i < count; i++)
        again[i].z += 0.01 * i;
    here.end = abut_array_host(again);
    step = step_there(&here, count);
    abut_self_result expected = abut_self_result_default();
    assert_ok(abut_self_find(couples[1].there, &here, NULL, &expected));
    assert_ok(abut_self_find(view, &step, NULL, &result));
    same_results(&expected, &result);
    /* what the tolerance is by: the mesh without its ghosts, which stand out of it */
    box3 box = couples[1].here->motion->place.end_box;
    assert_memory_equal(&box, &view->motion->place.start_box, sizeof box);
    assert_memory_equal(&box, &couples[1].there->motion->place.start_box, sizeof box);
    close_couples(couples);
}

/* ---- failures ---- */

typedef struct life {
    bool is_open, is_there; /* the mesh; its positions */
} life;

/* Positions to the device, which may fail. */
static abut_status move_there(abut_self_step *step, uint32_t count, abut_buffer **buffer) {
    abut_status status = ABUT_OK;
    if (!*buffer)
        status = abut_buffer_create(device, count * sizeof(vec3), buffer);
    status = status ? status : abut_buffer_write(*buffer, 0, step->end.host, count * sizeof(vec3));
    step->end = abut_array_buffer(*buffer);
    return status;
}

/* The same steps twice: the first may fail, and is then repeated. */
static abut_status live_a_little(abut_context *context, void *data) {
    const life *l = data;
    const bool open = l->is_open;
    AUTO(buffer) buffer = NULL;
    abut_self_options options = abut_self_options_default();
    AUTO(mesh) mesh = NULL;
    AUTO(self) view = NULL;
    abut_shape shape = abut_shape_default(open ? ABUT_SHAPE_SHEET : ABUT_SHAPE_ICOSPHERE);
    shape.segments = shape.rings = open ? 6 : 2;
    options.device = device;
    options.scheme = open ? ABUT_SELF_POINT : ABUT_SELF_LINE;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_self_create(mesh, &options, &view);
    for (int s = 0; s < 2 && !status; s++) {
        AUTO_FREE abut_vec3 *end = positions_of(mesh);
        abut_self_step step = abut_self_step_default();
        abut_self_result result = {.size = sizeof result, .vertex_face = 99};
        /* all but one vertex stay; that one goes through to the other side of the ball */
        if (open)
            end[0].z = s ? 0.7 : -0.2;
        else
            end[0] = v3_scale(end[0], s ? -1.5 : 1.1);
        step.end = abut_array_host(end);
        step.start_is_free = true;
        if (l->is_there)
            status = move_there(&step, abut_mesh_vertex_count(mesh), &buffer);
        const bool is_moved = !status;
        status = status ? status : abut_self_find(view, &step, NULL, &result);
        assert_int_equal(status != ABUT_OK, result.vertex_face == 99);
        if (is_moved && status == ABUT_ERROR_DEVICE) { /* the next try is as good as any */
            abuti_opencl_fail_at(0);
            assert_ok(abut_self_find(view, &step, NULL, &result));
        }
        if (result.vertex_face != 99) {
            assert_int_equal(!open && s, result.hit);
            assert_int_equal(result.scheme != ABUT_SELF_COMPLETE, abut_self_sets(view) != NULL);
        }
    }
    return status;
}

TEST(every_call_of_the_device) {
    for (int k = 0; k < 4; k++) {
        life l = {k % 2, k / 2};
        /* Every argument of a kernel is a call: one in 13 is tried. */
        test_every_device_call(live_a_little, &l, 0, 13);
    }
}

TEST(every_allocation) {
    for (int k = 0; k < 2; k++) {
        life l = {true, k};
        assert_true(test_every_allocation(live_a_little, &l) > 20);
    }
}

TEST(other_devices_are_refused) {
    AUTO(mesh) mesh = make_shape(one_thread(), ABUT_SHAPE_BOX, 1);
    abut_self_options options = abut_self_options_default();
    abut_self *view = NULL;
    options.device = device;
    device->info.has_doubles = false;
    assert_fails(ABUT_ERROR_DEVICE, "has no doubles", abut_self_create(mesh, &options, &view));
    device->info.has_doubles = true;
    bool same = device->info.same_bits;
    device->info.same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, "round", abut_self_create(mesh, &options, &view));
    device->info.same_bits = same;
    assert_null(view);
}

static int set_up(void **state) {
    device = test_device(NULL);
    return 0;
}

static int tear_down(void **state) {
    for (int side = 0; side < 2; side++)
        abut_buffer_destroy(buffers[side]);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
