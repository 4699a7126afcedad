/* Cases: the complete scenes of examples/ode/stand.c: contacts of a world in the Open Dynamics
 * Engine, which takes most of the time in some of them. A scene fails if a body is not at its
 * expected position at the end. */
#include "bench.h"

#ifdef ABUT_HAS_ODE
#include "stand.h"

/* Of the last run, for the line after it. */
static stand_result last;

static abut_status ode_setup(bench_state *state) {
    stand_options *options = state->data;
    options->kind = (stand_kind)state->which->variant;
    options->bodies = state->quick && options->kind != STAND_SHOT ? 2 : 0;
    options->seconds = state->quick ? 0.05 : stand_seconds(options->kind, 0);
    options->seed = 1;
    state->elements = options->seconds / 0.005;
    return ABUT_OK;
}

static abut_status ode_run(bench_state *state) {
    return stand_run(state->context, state->data, &last);
}

static abut_status ode_finish(bench_state *state) {
    state->hash = bench_hash(0, &last.bodies, sizeof last.bodies);
    if (last.out_of_place && !state->quick)
        return bench_fail(ABUT_ERROR_LIMIT, "%u of %u bodies are not where they belong",
                          last.out_of_place, last.bodies);
    return ABUT_OK;
}

static void ode_print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("    contacts %.2f s of it, %.0f a step; sunk %.2g of the size, %.2g at the end; energy "
           "grew by %.2g; at rest from %.3g s\n",
           last.collide, last.contacts, last.sunk, last.sunk_end, last.energy_growth, last.rest);
}
#else
typedef int stand_options;
enum { STAND_STACK, STAND_WALL, STAND_PLATES, STAND_SHOT, STAND_DOMINOES, STAND_BOWL };
#define ode_run NULL
#define ode_finish NULL
#define ode_print_details NULL

static abut_status ode_setup(bench_state *state) {
    state->skipped = true;
    return bench_fail(ABUT_ERROR_UNSUPPORTED, "this build has no physics engine");
}
#endif

#define ODE(name_, variant_)                                                                    \
    {                                                                                           \
        .name = name_, .unit = "step", .data_bytes = sizeof(stand_options), .setup = ode_setup, \
        .run = ode_run, .finish = ode_finish, .variant = variant_,                              \
        .print_details = ode_print_details                                                      \
    }

const bench_case bench_ode_cases[] = {
    ODE("ode/stack", STAND_STACK),
    ODE("ode/wall", STAND_WALL),
    ODE("ode/plates", STAND_PLATES),
    ODE("ode/shot", STAND_SHOT),
    ODE("ode/dominoes", STAND_DOMINOES),
    ODE("ode/bowl", STAND_BOWL),
    {.name = NULL},
};
