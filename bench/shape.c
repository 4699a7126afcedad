/* Cases: generated models, each at its defaults or finer. */
#include "bench.h"

static abut_status shape_run(bench_state *state) {
    abut_shape shape = abut_shape_default((abut_shape_kind)state->which->variant);
    if (!state->quick)
        shape.segments *= 8;
    abut_mesh *mesh = NULL;
    TRY(abut_shape_create(state->context, &shape, &mesh));
    state->data = mesh;
    return ABUT_OK;
}

static abut_status shape_finish(bench_state *state) {
    abut_mesh *mesh = state->data;
    state->elements = abut_mesh_triangle_count(mesh);
    state->hash = bench_hash_mesh(0, mesh);
    state->result_bytes = bench_mesh_bytes(mesh);
    abut_mesh_destroy(mesh);
    state->data = NULL;
    return ABUT_OK;
}

#define SHAPE(name_, kind_)                                                                   \
    {                                                                                         \
        .name = "shape/" name_, .unit = "triangle", .run = shape_run, .finish = shape_finish, \
        .variant = kind_                                                                      \
    }

const bench_case bench_shape_cases[] = {
    SHAPE("box", ABUT_SHAPE_BOX),
    SHAPE("uvsphere", ABUT_SHAPE_UVSPHERE),
    SHAPE("icosphere", ABUT_SHAPE_ICOSPHERE),
    SHAPE("torus", ABUT_SHAPE_TORUS),
    SHAPE("cone", ABUT_SHAPE_CONE),
    SHAPE("cylinder", ABUT_SHAPE_CYLINDER),
    SHAPE("capsule", ABUT_SHAPE_CAPSULE),
    SHAPE("tube", ABUT_SHAPE_TUBE),
    SHAPE("sheet", ABUT_SHAPE_SHEET),
    SHAPE("stairs", ABUT_SHAPE_STAIRS),
    SHAPE("letter-e", ABUT_SHAPE_LETTER_E),
    SHAPE("letter-g", ABUT_SHAPE_LETTER_G),
    SHAPE("teapot", ABUT_SHAPE_TEAPOT),
    SHAPE("teapot-solid", ABUT_SHAPE_TEAPOT_SOLID),
    {.name = NULL},
};
