/* Cases: whole steps of view-based culling, and of the complete search. On a device, positions come
 * from the host or are there already, and results are compared with those of the CPU. A ball that
 * is dented, a sleeve that is pinched while it shortens, and a sheet that is pleated until one
 * pleat leans over to the next; ten steps per run, of which the last has an impact. Everything is
 * computed with +, -, x and /, so that it is the same on every machine. */
#include "bench.h"

#include <stdlib.h>

enum {
    STEPS = 10,
    BALL = 0,
    SLEEVE = 4,
    SHEET = 8,
    SCENES = 12,
    SCHEMES = 3,
    DEVICE = 32,
    RESIDENT = 64
};

typedef struct self_data {
    abut_mesh *mesh;
    abut_self *view;
    uint32_t vertex_count;
    abut_vec3 *at[STEPS + 1];
    abut_device *device;
    abut_buffer *there[STEPS + 1]; /* the same positions, for RESIDENT */
    abut_self_result results[STEPS];
    uint64_t expected; /* hash of the CPU's results, for DEVICE */
} self_data;

/* ---- scenes ---- */

/* Up and down between -1 and 1 with period 2 in x. */
static double zigzag(double x) {
    double left = x / 2;
    left -= (double)(int64_t)left - (left < 0);
    left -= left >= 1;
    return left < 0.5 ? 4 * left - 1 : 3 - 4 * left;
}

static double bump(double x, double y, double narrow) {
    double off = 1 + narrow * (x * x + y * y);
    return 1 / (off * off * off * off);
}

/* A sheet of `wide` x `high` quads over -1 to 1; round: a tube along z, open at both ends, by
 * the rational circle. */
static abut_status make_grid(bench_state *state, self_data *data, uint32_t wide, uint32_t high,
                             bool round) {
    const uint32_t columns = round ? wide : wide + 1;
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_vec3 *p = bench_array(state, (size_t)columns * (high + 1), sizeof *p);
    uint32_t *indices = bench_array(state, 6 * (size_t)wide * high, sizeof *indices), used = 0;
    for (uint32_t i = 0; i < columns * (high + 1); i++) {
        double along = 2.0 * (i / columns) / high - 1, t = 4.0 * (i % columns) / wide;
        int quarter = (int)t;
        t -= quarter;
        double x = (1 - t * t) / (1 + t * t), y = 2 * t / (1 + t * t);
        double turned[4][2] = {{x, y}, {-y, x}, {-x, -y}, {y, -x}};
        p[i] = round
                   ? (abut_vec3){0.5 * turned[quarter & 3][0], 0.5 * turned[quarter & 3][1], along}
                   : (abut_vec3){2.0 * (i % columns) / wide - 1, along, 0};
    }
    for (uint32_t j = 0; j < high; j++)
        for (uint32_t i = 0; i < wide; i++) {
            uint32_t a = j * columns + i, b = j * columns + (round ? (i + 1) % wide : i + 1);
            const uint32_t two[6] = {a, b, b + columns, a, b + columns, a + columns};
            for (int k = 0; k < 6; k++)
                indices[used++] = two[k];
        }
    input.positions = p;
    input.vertex_count = columns * (high + 1);
    input.indices = indices;
    input.triangle_count = used / 3;
    return abut_mesh_create(state->context, &input, &data->mesh);
}

static abut_status make_mesh(bench_state *state, self_data *data) {
    const int scene = state->which->variant & SCENES;
    const uint32_t across = state->quick ? 32 : 96, along = state->quick ? 16 : 96; /* its folds */
    if (scene == SHEET)
        return make_grid(state, data, across, along, false);
    if (scene == SLEEVE)
        return make_grid(state, data, along, across, true);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = state->quick ? 6 : state->which->variant & DEVICE ? 49 : 24;
    return abut_shape_create(state->context, &shape, &data->mesh);
}

/* The position of a vertex at a time of the scene from 0 to 1; the mesh touches itself shortly
 * after. */
static abut_vec3 deformed(int scene, abut_vec3 p, double far) {
    if (scene == BALL) { /* its upper side moves down to the lower one */
        p.z -= p.z > 0 ? 1.8 * far * p.z * bump(p.x, p.y, 3) : 0;
    } else if (scene == SLEEVE) { /* rings, and one side that moves over to the other */
        double wider = 1 + 0.1 * far * zigzag(16 * p.z);
        double over = p.x > 0 ? 1.6 * far * p.x * bump(p.y, p.z, 20) : 0;
        p = (abut_vec3){p.x * wider - over, p.y * wider, p.z * (1 - 0.5 * far)};
    } else { /* pleats along y, of which one leans over */
        double height = zigzag(8 * p.x);
        double over = height > 0 ? 0.05 * far * height * bump(p.x - 0.125, p.y, 100) : 0;
        p = (abut_vec3){p.x * (1 - 0.6 * far) + over, p.y, 0.1 * far * height};
    }
    return p;
}

static abut_status self_run(bench_state *state) {
    self_data *data = state->data;
    for (int k = 0; k < STEPS; k++) {
        abut_self_step step = abut_self_step_default();
        step.start =
            data->there[k] ? abut_array_buffer(data->there[k]) : abut_array_host(data->at[k]);
        step.end = data->there[k + 1] ? abut_array_buffer(data->there[k + 1])
                                      : abut_array_host(data->at[k + 1]);
        step.start_is_free = true;
        data->results[k].size = sizeof data->results[k];
        TRY(abut_self_find(data->view, &step, NULL, &data->results[k]));
    }
    return ABUT_OK;
}

/* Only impacts, so that all schemes have the same hash. */
static uint64_t hash_of(const self_data *data) {
    uint64_t hash = 0;
    for (int k = 0; k < STEPS; k++) {
        const abut_self_result *r = &data->results[k];
        hash = bench_hash(hash, &r->hit, sizeof r->hit);
        if (!r->hit)
            continue;
        hash = bench_hash(hash, &r->impact.time, sizeof r->impact.time);
        hash = bench_hash(hash, r->impact.element, sizeof r->impact.element);
    }
    return hash;
}

static abut_status self_setup(bench_state *state) {
    self_data *data = state->data;
    MAKE(data->mesh, make_mesh(state, data));
    data->vertex_count = abut_mesh_vertex_count(data->mesh);
    const abut_vec3 o = abut_mesh_local_origin(data->mesh),
                    *p = abut_mesh_local_positions(data->mesh);
    for (int k = 0; k <= STEPS; k++) {
        double far = k < STEPS ? 0.1 * k : 1.5;
        data->at[k] = bench_array(state, data->vertex_count, sizeof *data->at[k]);
        for (uint32_t i = 0; i < data->vertex_count; i++)
            data->at[k][i] = deformed(state->which->variant & SCENES,
                                      (abut_vec3){o.x + p[i].x, o.y + p[i].y, o.z + p[i].z}, far);
    }
    abut_self_options options = abut_self_options_default();
    options.scheme = (abut_self_scheme)(state->which->variant & SCHEMES);
    state->elements = STEPS;
    MAKE(data->view, abut_self_create(data->mesh, &options, &data->view));
    if (!(state->which->variant & DEVICE))
        return ABUT_OK;
    TRY(self_run(state));
    data->expected = hash_of(data);
    const size_t bytes = data->vertex_count * sizeof(abut_vec3);
    TRY(bench_device_open(state, &data->device));
    for (int k = 0; k <= STEPS && state->which->variant & RESIDENT; k++) {
        MAKE(data->there[k], abut_buffer_create(data->device, bytes, &data->there[k]));
        TRY(abut_buffer_write(data->there[k], 0, data->at[k], bytes));
    }
    options.device = data->device;
    MAKE(data->view, abut_self_create(data->mesh, &options, &data->view));
    return ABUT_OK;
}

/* Of the last run, for the line after it. */
static double stages[5], doubtful;
static uint32_t hits;

static abut_status self_finish(bench_state *state) {
    const self_data *data = state->data;
    state->hash = hash_of(data);
    hits = 0;
    doubtful = 0;
    for (int k = 0; k < 5; k++)
        stages[k] = 0;
    for (int k = 0; k < STEPS; k++) {
        const abut_self_result *r = &data->results[k];
        const abut_self_times *t = &r->times;
        const double of_step[5] = {t->bounds, t->view, t->boundary, t->marks, t->search};
        hits += r->hit;
        doubtful += (double)(r->sets[1] + r->sets[2] + r->sets[3]) / STEPS;
        for (int s = 0; s < 5; s++)
            stages[s] += of_step[s] / STEPS;
    }
    if (data->device && state->hash != data->expected)
        return bench_fail(ABUT_ERROR_DEVICE, "the results are not those of the CPU");
    if (hits != 1 || !data->results[STEPS - 1].hit)
        return bench_fail(ABUT_ERROR_LIMIT, "%u steps have an impact, not the last alone", hits);
    return ABUT_OK;
}

static void print_details(const bench_case *which, const bench_result *result) {
    static const char *const names[5] = {"bounds", "view", "boundary", "marks", "search"};
    (void)which;
    printf("  a step: %.3f ms, %.0f triangles in doubt;", result->median_ms / result->elements,
           doubtful);
    for (int k = 0; k < 5; k++)
        printf("%s %s %.3f", k ? "," : "", names[k], 1e3 * stages[k]);
}

#define SELF(name_, variant_)                                                                \
    {                                                                                        \
        .name = name_, .unit = "step", .data_bytes = sizeof(self_data), .setup = self_setup, \
        .run = self_run, .finish = self_finish, .print_details = print_details,              \
        .variant = variant_                                                                  \
    }

const bench_case bench_self_cases[] = {
    SELF("self/ball-point", BALL | ABUT_SELF_POINT),
    SELF("self/ball-line", BALL | ABUT_SELF_LINE),
    SELF("self/ball-auto", BALL | ABUT_SELF_AUTO),
    SELF("self/ball-complete", BALL | ABUT_SELF_COMPLETE),
    SELF("self/sleeve-point", SLEEVE | ABUT_SELF_POINT),
    SELF("self/sleeve-line", SLEEVE | ABUT_SELF_LINE),
    SELF("self/sleeve-auto", SLEEVE | ABUT_SELF_AUTO),
    SELF("self/sleeve-complete", SLEEVE | ABUT_SELF_COMPLETE),
    SELF("self/sheet-point", SHEET | ABUT_SELF_POINT),
    SELF("self/sheet-line", SHEET | ABUT_SELF_LINE),
    SELF("self/sheet-auto", SHEET | ABUT_SELF_AUTO),
    SELF("self/sheet-complete", SHEET | ABUT_SELF_COMPLETE),
    SELF("self/device-ball", BALL | DEVICE | ABUT_SELF_AUTO),
    SELF("self/device-ball-resident", BALL | DEVICE | RESIDENT | ABUT_SELF_AUTO),
    {.name = NULL},
};
