/* Cases: geometric primitives, one call after the other on one thread. Each run goes several times
 * over the same few thousand random inputs, which stay in the cache. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 4096, ROUNDS = 100, VALUES = 8 };

typedef struct geom_input {
    abut_triangle a, b;
    abut_vec3 point;
} geom_input;

typedef struct geom_data {
    geom_input inputs[INPUTS];
    double answers[INPUTS][VALUES];
} geom_data;

static abut_vec3 random_point(uint64_t *random, double size) {
    abut_vec3 p;
    p.x = bench_random_real(random, -size, size);
    p.y = bench_random_real(random, -size, size);
    p.z = bench_random_real(random, -size, size);
    return p;
}

/* A point of one tilted plane with whole coordinates: the determinant of four of them is 0, which
 * no filter can print_details, so that the exact arithmetic has to. */
static abut_vec3 lattice_point(uint64_t *random) {
    double i = (double)(bench_random(random) % 1024), j = (double)(bench_random(random) % 1024);
    abut_vec3 p = {3 * i + 11 * j, 5 * i - 2 * j, 7 * i + 13 * j};
    return p;
}

enum { GENERAL, COPLANAR };

static abut_status geom_setup(bench_state *state) {
    geom_data *data = state->data;
    uint64_t random = 6;
    for (int i = 0; i < INPUTS; i++) {
        geom_input *input = &data->inputs[i];
        bool flat = state->which->variant == COPLANAR;
        for (int k = 0; k < 3; k++) {
            input->a.corner[k] = flat ? lattice_point(&random) : random_point(&random, 1);
            input->b.corner[k] = flat ? lattice_point(&random) : random_point(&random, 1);
        }
        input->point = flat ? lattice_point(&random) : random_point(&random, 1.5);
    }
    state->elements = (double)INPUTS * (state->quick ? 1 : ROUNDS);
    return ABUT_OK;
}

static void keep(double *answer, double value, abut_vec3 p, abut_vec3 q) {
    answer[0] = value;
    answer[1] = p.x;
    answer[2] = p.y;
    answer[3] = p.z;
    answer[4] = q.x;
    answer[5] = q.y;
    answer[6] = q.z;
}

/* One call; each gives its numbers to `answer`. */
static abut_status call_closest(const geom_input *in, double *answer) {
    abut_closest_on_triangle closest;
    TRY(abut_triangle_closest_point(&in->a, in->point, &closest));
    keep(answer, closest.distance, closest.point,
         (abut_vec3){closest.barycentric[0], closest.barycentric[1], closest.barycentric[2]});
    answer[7] = closest.feature;
    return ABUT_OK;
}

static abut_status call_meet(const geom_input *in, double *answer) {
    abut_intersection meeting;
    abut_segment segment = {{{0, 0, 0}, {0, 0, 0}}};
    TRY(abut_triangle_triangle_intersect(&in->a, &in->b, &meeting, &segment));
    if (meeting)
        keep(answer, meeting, segment.end[0], segment.end[1]);
    return ABUT_OK;
}

static abut_status call_pair(const geom_input *in, double *answer) {
    abut_closest_pair closest;
    TRY(abut_triangle_triangle_closest(&in->a, &in->b, &closest));
    keep(answer, closest.distance, closest.point_a, closest.point_b);
    return ABUT_OK;
}

static abut_status call_segments(const geom_input *in, double *answer) {
    abut_segment a = {{in->a.corner[0], in->a.corner[1]}}, b = {{in->b.corner[0], in->b.corner[1]}};
    abut_closest_pair closest;
    TRY(abut_segment_segment_closest(&a, &b, &closest));
    keep(answer, closest.distance, closest.point_a, closest.point_b);
    return ABUT_OK;
}

static abut_status call_ray(const geom_input *in, double *answer) {
    abut_ray ray = {in->point, in->b.corner[0]};
    abut_ray_triangle_hit hit;
    bool meet;
    TRY(abut_ray_triangle_intersect(&ray, &in->a, &meet, &hit));
    if (meet)
        keep(answer, hit.parameter,
             (abut_vec3){hit.barycentric[0], hit.barycentric[1], hit.barycentric[2]},
             (abut_vec3){0, 0, 0});
    return ABUT_OK;
}

static abut_status call_box(const geom_input *in, double *answer) {
    abut_box box = {{-0.25, -0.25, -0.25}, {0.25, 0.25, 0.25}};
    bool meet;
    TRY(abut_box_triangle_intersect(&box, &in->a, &meet));
    answer[0] = meet;
    return ABUT_OK;
}

static abut_status call_angle(const geom_input *in, double *answer) {
    return abut_triangle_solid_angle(&in->a, in->point, &answer[0]);
}

static abut_status call_orient(const geom_input *in, double *answer) {
    int sign;
    TRY(abut_orient3d(in->a.corner[0], in->a.corner[1], in->a.corner[2], in->point, &sign));
    answer[0] = sign;
    return ABUT_OK;
}

static abut_status call_all(bench_state *state,
                            abut_status (*call)(const geom_input *in, double *answer)) {
    geom_data *data = state->data;
    for (int round = 0; round < (state->quick ? 1 : ROUNDS); round++)
        for (int i = 0; i < INPUTS; i++) {
            TRY(call(&data->inputs[i], data->answers[i]));
        }
    return ABUT_OK;
}

#define RUNNER(name)                                    \
    static abut_status run_##name(bench_state *state) { \
        return call_all(state, call_##name);            \
    }
RUNNER(closest)
RUNNER(meet)
RUNNER(pair)
RUNNER(segments)
RUNNER(ray)
RUNNER(box)
RUNNER(angle)
RUNNER(orient)

static abut_status geom_finish(bench_state *state) {
    geom_data *data = state->data;
    state->hash = bench_hash(0, data->answers, sizeof data->answers);
    return ABUT_OK;
}

#define GEOM(name_, run_, variant_)                                                          \
    {                                                                                        \
        .name = name_, .unit = "call", .data_bytes = sizeof(geom_data), .setup = geom_setup, \
        .run = run_, .finish = geom_finish, .variant = variant_                              \
    }

const bench_case bench_geom_cases[] = {
    GEOM("geom/triangle-closest-point", run_closest, GENERAL),
    GEOM("geom/triangle-triangle-meet", run_meet, GENERAL),
    GEOM("geom/triangle-triangle-coplanar", run_meet, COPLANAR),
    GEOM("geom/triangle-triangle-closest", run_pair, GENERAL),
    GEOM("geom/segment-segment-closest", run_segments, GENERAL),
    GEOM("geom/ray-triangle-meet", run_ray, GENERAL),
    GEOM("geom/box-triangle-meet", run_box, GENERAL),
    GEOM("geom/triangle-solid-angle", run_angle, GENERAL),
    GEOM("geom/orient3d", run_orient, GENERAL),
    GEOM("geom/orient3d-coplanar", run_orient, COPLANAR),
    {.name = NULL},
};
