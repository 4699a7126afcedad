/* Cases: whole steps of view-based culling on a device, from positions to the result, with
 * positions from the host or already on the device. A ball that is dented, and the recording
 * that ABUT_BENCH_RECORDING names (of 'abut demo'), ten steps from its middle. One run is all
 * these steps except the first, which does not start where the last run ended and is made
 * between runs. Results are compared with the CPU's before the timing, and one thread of the CPU
 * is timed as well, by view-point and by view-line. */
#include "bench.h"

#include "device/device.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 10, HERE = 0, THERE = 1, BALL = 0, RECORDING = 2 };

typedef struct self_data {
    abut_mesh *mesh;
    abut_frames *frames;
    abut_device *device;
    abut_self *view;
    uint32_t vertex_count, step_count;
    abut_vec3 *start[STEPS], *end[STEPS]; /* a null start is the last end */
    abut_buffer *start_there[STEPS], *end_there[STEPS];
    abut_self_result results[STEPS];
} self_data;

/* Of the last case, for the line after it. */
static double cpu_ms[2];
static uint64_t calls;
static uint32_t at_once, completely;

static abut_vec3 *room_for(const self_data *data) {
    return malloc((data->vertex_count + (size_t)1) * sizeof(abut_vec3));
}

/* ---- scenes ---- */

/* The dent grows, and shortly before the ball touches itself shrinks again, so that the next run
 * can start where this one ended. */
static abut_status make_ball(bench_state *state, self_data *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = state->quick ? 6 : 49;
    abut_status status = abut_shape_create(state->context, &shape, &data->mesh);
    data->vertex_count = status ? 0 : abut_mesh_vertex_count(data->mesh);
    for (data->step_count = 0; !status && data->step_count < STEPS; data->step_count++) {
        const uint32_t k = data->step_count;
        const double deep = 0.16 * (k < STEPS / 2 ? k + 1 : STEPS - 1 - k);
        abut_vec3 *end = data->end[k] = room_for(data);
        if (!end)
            return bench_fail(ABUT_ERROR_MEMORY, "no memory");
        for (uint32_t i = 0; i < data->vertex_count; i++) {
            abut_vec3 p = abut_mesh_local_positions(data->mesh)[i];
            /* no exp(), which differs between machines */
            double off = 1 + 3 * (p.x * p.x + p.y * p.y);
            p.z -= p.z > 0 ? 2 * deep * p.z / (off * off * off * off) : 0;
            end[i] = p;
        }
    }
    return status;
}

/* As 'abut replay' does: from a frame to the aims of its vertices, if the file contains them. */
static abut_status read_recording(bench_state *state, self_data *data) {
    const char *path = getenv("ABUT_BENCH_RECORDING");
    if (!path || !path[0]) {
        state->skipped = true;
        return bench_fail(ABUT_ERROR_ARGUMENT, "ABUT_BENCH_RECORDING names no recording");
    }
    abut_status status = abut_frames_open(state->context, path, &data->frames);
    abut_frames_info info = get_frames_info(data->frames);
    if (!status && info.frame_count < STEPS + 1)
        status = bench_fail(ABUT_ERROR_ARGUMENT, "%s has too few frames", path);
    if (status)
        return status;
    data->mesh = abut_mesh_retain(abut_frames_mesh(data->frames, 0));
    data->vertex_count = (uint32_t)info.vertex_count; /* its own come first */
    const uint64_t last = info.frame_count - 1 - STEPS;
    const uint64_t first = info.frame_count / 2 < last ? info.frame_count / 2 : last;
    abut_vec3 *spare = room_for(data);
    for (uint32_t k = 0; k < STEPS && !status; k++) {
        const uint64_t frame = first + k;
        data->start[k] = room_for(data);
        data->end[k] = room_for(data);
        if (!data->start[k] || !data->end[k] || !spare)
            status = bench_fail(ABUT_ERROR_MEMORY, "no memory");
        status = status ? status : abut_frames_read(data->frames, frame, data->start[k], NULL);
        if (!status)
            status = info.aims ? abut_frames_read(data->frames, frame + 1, spare, data->end[k])
                               : abut_frames_read(data->frames, frame + 1, data->end[k], NULL);
        data->step_count++;
    }
    free(spare);
    return status;
}

/* ---- steps ---- */

static abut_status take_steps(const self_data *data, abut_self *view, bool there, uint32_t from,
                              uint32_t to, abut_self_result *results) {
    abut_status status = ABUT_OK;
    for (uint32_t k = from; k < to && !status; k++) {
        abut_self_step step = abut_self_step_default();
        step.start_is_free = true;
        step.start =
            there ? abut_array_buffer(data->start_there[k]) : abut_array_host(data->start[k]);
        step.end = there ? abut_array_buffer(data->end_there[k]) : abut_array_host(data->end[k]);
        results[k].size = sizeof results[k];
        status = abut_self_find(view, &step, NULL, &results[k]);
    }
    return status;
}

static abut_status upload_positions(const self_data *data, const abut_vec3 *from,
                                    abut_buffer **to) {
    const size_t bytes = data->vertex_count * sizeof *from;
    abut_status status = abut_buffer_create(data->device, bytes, to);
    return status ? status : abut_buffer_write(*to, 0, from, bytes);
}

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* One thread, the better of two runs, in ms per step; and its results. */
static abut_status run_here(self_data *data, abut_self_scheme scheme, double *ms,
                            abut_self_result *results) {
    abut_self_options options = abut_self_options_default();
    abut_self *view = NULL;
    options.scheme = scheme;
    abut_status status = abut_self_create(data->mesh, &options, &view);
    *ms = HUGE_VAL;
    for (int k = 0; k < 3 && !status; k++) { /* the first to warm up */
        status = take_steps(data, view, false, 0, 1, results);
        double begun = now_ms();
        status = status ? status : take_steps(data, view, false, 1, data->step_count, results);
        double took = (now_ms() - begun) / (data->step_count - 1);
        *ms = k && took < *ms ? took : *ms;
    }
    abut_self_destroy(view);
    return status;
}

static abut_status check(bench_state *state, self_data *data) {
    abut_self_result expected[STEPS];
    const bool there = state->which->variant & THERE;
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && !status; k++)
        status = run_here(data, k ? ABUT_SELF_LINE : ABUT_SELF_POINT, &cpu_ms[k], expected);
    for (int k = 0; k < 2 && !status; k++) /* the second time with known order and capacity */
        status = take_steps(data, data->view, there, 0, data->step_count, data->results);
    at_once = completely = 0;
    for (uint32_t k = 1; k < data->step_count && !status; k++) {
        const abut_self_result *a = &expected[k], *b = &data->results[k];
        if (a->hit != b->hit || (a->hit && a->impact.time != b->impact.time))
            return bench_fail(ABUT_ERROR_DEVICE, "step %u is not as on the CPU", k);
        completely += b->scheme == ABUT_SELF_COMPLETE;
        at_once += b->scheme != ABUT_SELF_COMPLETE && !b->edge_edge && !b->vertex_face;
    }
    return status ? status : take_steps(data, data->view, there, 0, 1, data->results);
}

static abut_status self_setup(bench_state *state) {
    self_data *data = state->data;
    abut_status status = bench_device_open(state, &data->device);
    if (!status)
        status = state->which->variant & RECORDING ? read_recording(state, data)
                                                   : make_ball(state, data);
    for (uint32_t k = 0; k < data->step_count && !status && state->which->variant & THERE; k++) {
        status = upload_positions(data, data->end[k], &data->end_there[k]);
        if (!status && data->start[k])
            status = upload_positions(data, data->start[k], &data->start_there[k]);
    }
    abut_self_options options = abut_self_options_default();
    options.device = data->device;
    status = status ? status : abut_self_create(data->mesh, &options, &data->view);
    state->elements = data->step_count - 1;
    return status ? status : check(state, data);
}

static abut_status self_run(bench_state *state) {
    self_data *data = state->data;
    const uint64_t before = abuti_opencl_calls();
    abut_status status = take_steps(data, data->view, state->which->variant & THERE, 1,
                                    data->step_count, data->results);
    calls = (abuti_opencl_calls() - before) / (data->step_count - 1);
    return status;
}

static abut_status self_finish(bench_state *state) {
    self_data *data = state->data;
    state->hash = 0;
    for (uint32_t k = 1; k < data->step_count; k++) {
        const abut_self_result *r = &data->results[k];
        state->hash = bench_hash(state->hash, &r->hit, sizeof r->hit);
        if (r->hit)
            state->hash = bench_hash(state->hash, &r->impact.time, sizeof r->impact.time);
    }
    return take_steps(data, data->view, state->which->variant & THERE, 0, 1, data->results);
}

static void self_teardown(bench_state *state) {
    self_data *data = state->data;
    abut_self_destroy(data->view);
    for (int k = 0; k < STEPS; k++) {
        abut_buffer_destroy(data->start_there[k]);
        abut_buffer_destroy(data->end_there[k]);
        free(data->start[k]);
        free(data->end[k]);
    }
    abut_mesh_destroy(data->mesh);
    abut_frames_close(data->frames);
    abut_device_destroy(data->device);
}

static void print_details(const bench_case *which, const bench_result *result) {
    double ms = result->median_ms / result->elements;
    double best = cpu_ms[0] < cpu_ms[1] ? cpu_ms[0] : cpu_ms[1];
    (void)which;
    printf(
        "  a step: %.3f ms, %.1f x one CPU thread (point %.2f, line %.2f); %llu calls of OpenCL; "
        "of %.0f steps %u free at once, %u complete",
        ms, best / ms, cpu_ms[0], cpu_ms[1], (unsigned long long)calls, result->elements, at_once,
        completely);
}

#define SELF(name_, variant_)                                                                \
    {                                                                                        \
        .name = name_, .unit = "step", .data_bytes = sizeof(self_data), .setup = self_setup, \
        .run = self_run, .finish = self_finish, .teardown = self_teardown,                   \
        .print_details = print_details, .variant = variant_                                  \
    }

const bench_case bench_device_self_cases[] = {
    SELF("self/device-ball", BALL | HERE),
    SELF("self/device-ball-resident", BALL | THERE),
    SELF("self/device-file", RECORDING | HERE),
    SELF("self/device-file-resident", RECORDING | THERE),
    {.name = NULL},
};
