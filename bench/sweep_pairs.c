/* Cases: elementary sweeps, on pairs whose swept boxes overlap: those that stay apart, as most
 * do, and those that hit; by ours, and by exact arithmetic. One thread; a run processes the same
 * pairs several times. */
#include "bench.h"

#include "geom/sweep.h"

#include <string.h>

enum { INPUTS = 4096, QUICK_INPUTS = 256, ROUNDS = 20 };
enum { FREE_FACE, FREE_EDGE, HIT_FACE, HIT_EDGE };

typedef struct sweep_data {
    int kind;
    uint32_t count;
    vec3 start[4 * INPUTS], end[4 * INPUTS];
    uint32_t four[4 * INPUTS], survivors[INPUTS];
    double answers[INPUTS];
} sweep_data;

static vec3 random_point(uint64_t *random, double size) {
    vec3 p;
    p.x = bench_random_real(random, -size, size);
    p.y = bench_random_real(random, -size, size);
    p.z = bench_random_real(random, -size, size);
    return p;
}

/* As in a deforming mesh: features of one size, which move by about as much. */
static bool random_pair(uint64_t *random, int kind, vec3 *start, vec3 *end) {
    box3 box[2] = {box_empty(), box_empty()};
    vec3 centre = random_point(random, 1), motion[2];
    motion[0] = random_point(random, 0.5);
    motion[1] = random_point(random, 0.5);
    for (int k = 0; k < 4; k++) {
        start[k] = v3_add(random_point(random, 0.5), k < kind ? centre : v3(0, 0, 0));
        end[k] = v3_add(v3_add(start[k], motion[k < kind]), random_point(random, 0.05));
        box[k < kind] = box_grow(box_grow(box[k < kind], start[k]), end[k]);
    }
    return box_overlaps(box[0], box[1]);
}

static abut_status sweep_setup(bench_state *state) {
    sweep_data *data = state->data;
    const int variant = state->which->variant;
    const bool hits = variant == HIT_FACE || variant == HIT_EDGE;
    const sweep_limits limits = {0, SWEEP_TOLERANCE, 1, SWEEP_STEPS};
    uint64_t random = 8;
    data->count = state->quick ? QUICK_INPUTS : INPUTS;
    data->kind = variant == FREE_FACE || variant == HIT_FACE ? SWEEP_VERTEX_FACE : SWEEP_EDGE_EDGE;
    for (uint32_t i = 0; i < data->count;) {
        vec3 *start = data->start + 4 * i, *end = data->end + 4 * i;
        sweep_answer answer;
        if (!random_pair(&random, data->kind, start, end) ||
            hits != sweep_pair(data->kind, start, end, &limits, &answer))
            continue;
        for (uint32_t k = 0; k < 4; k++)
            data->four[4 * i + k] = 4 * i + k;
        i++;
    }
    state->elements = (double)data->count * (state->quick ? 1 : ROUNDS);
    return ABUT_OK;
}

static int rounds_of(const bench_state *state) {
    return state->quick ? 1 : ROUNDS;
}

/* As in a search: filter, then sweep the remaining pairs. */
static abut_status run_ours(bench_state *state) {
    sweep_data *data = state->data;
    const sweep_limits limits = {0, SWEEP_TOLERANCE, 1, SWEEP_STEPS};
    for (int round = 0; round < rounds_of(state); round++) {
        memset(data->answers, 0, sizeof data->answers);
        size_t left = abuti_sweep_filter(data->kind, data->start, data->end, data->four,
                                         data->count, &limits, data->survivors);
        for (size_t i = 0; i < left; i++) {
            const uint32_t at = data->survivors[i];
            sweep_answer answer;
            if (sweep_pair(data->kind, data->start + 4 * at, data->end + 4 * at, &limits, &answer))
                data->answers[at] = 1 + answer.time;
        }
    }
    return ABUT_OK;
}

static abut_status run_exact(bench_state *state) {
    sweep_data *data = state->data;
    for (int round = 0; round < rounds_of(state); round++)
        for (size_t i = 0; i < data->count; i++) {
            bool touches;
            abut_status status =
                abuti_sweep_exact(abuti_context_of(NULL), data->kind, data->start + 4 * i,
                                  data->end + 4 * i, &touches);
            if (status)
                return status;
            data->answers[i] = touches;
        }
    return ABUT_OK;
}

static abut_status sweep_finish(bench_state *state) {
    sweep_data *data = state->data;
    state->hash = bench_hash(0, data->answers, data->count * sizeof *data->answers);
    return ABUT_OK;
}

#define SWEEP(name_, run_, variant_)                                                           \
    {                                                                                          \
        .name = name_, .unit = "pair", .data_bytes = sizeof(sweep_data), .setup = sweep_setup, \
        .run = run_, .finish = sweep_finish, .variant = variant_                               \
    }

const bench_case bench_sweep_pair_cases[] = {
    SWEEP("sweep/free-vertex-face", run_ours, FREE_FACE),
    SWEEP("sweep/free-edge-edge", run_ours, FREE_EDGE),
    SWEEP("sweep/hit-vertex-face", run_ours, HIT_FACE),
    SWEEP("sweep/hit-edge-edge", run_ours, HIT_EDGE),
    SWEEP("sweep/hit-vertex-face-exact", run_exact, HIT_FACE),
    SWEEP("sweep/hit-edge-edge-exact", run_exact, HIT_EDGE),
    {.name = NULL},
};
