/* Families of public functions at scales from ABUT_MESH_SIZE_MIN to ABUT_COORDINATE_MAX: each
 * call succeeds, or returns an error with a message. Results are finite, and if a call succeeds
 * its lengths, areas, volumes and counts are those of scale 1, scaled; test_min_size.c tests the
 * rejection of smaller meshes. docs/limits.md has the ranges. Sanitizers detect the rest:
 * uninitialised indices, overflow, NaN as an integer.
 *
 * Scales are powers of two if results are compared, so that input is scaled without rounding.
 * Each file test_range*.c defines try_families(), and gets the tests at the end of this one. */
#ifndef ABUT_TESTS_PROJECT_RANGE_H
#define ABUT_TESTS_PROJECT_RANGE_H

#include "apps/get.h"
#include "support/support.h"

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
    abut_collider posed[2]; /* they overlap */
    abut_collider apart;    /* the second one, apart from the first one */
} trial;

static fact facts[FACTS];
static uint32_t fact_count;
static uint32_t refused; /* calls at the scale that was tried last */

/* Counts a refusal; a call at scale 1 must succeed. */
static inline bool succeeds(trial *t, const char *call, abut_status status) {
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
static inline void same(const trial *t, const char *name, double value, int power,
                        double tolerance) {
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

static inline abut_vec3 at(const trial *t, double x, double y, double z) {
    return (abut_vec3){x * t->scale, y * t->scale, z * t->scale};
}

static inline abut_pose pose_at(const trial *t, double x, double y, double z) {
    return (abut_pose){{0.1, 0.2, 0, 1}, at(t, x, y, z)};
}

static inline abut_mesh *scaled(const trial *t, abut_shape_kind kind, uint32_t segments,
                                uint32_t rings) {
    abut_shape shape = abut_shape_default(kind);
    AUTO(mesh) unit = NULL;
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
    return made;
}

/* ---- scales ---- */

/* Calls all functions of the file at the scale of the trial. */
static void try_families(trial *t);

static inline void try_flattened(double scale, double flatness, bool compares) {
    trial made = {.scale = scale, .flatness = flatness, .compares = compares}, *t = &made;
    t->mesh[0] = scaled(t, ABUT_SHAPE_TORUS, 12, 8);
    t->mesh[1] = scaled(t, ABUT_SHAPE_ICOSPHERE, 2, 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(abut_bvh_create(t->mesh[i], NULL, &t->bvh[i]));
        t->posed[i].shape.body.bvh = t->bvh[i];
    }
    t->posed[1].pose = pose_at(t, 0.9, 0.3, 0.2);
    t->apart = abut_collider_from_bvh(t->bvh[1], pose_at(t, 0.5, 0.4, 5));
    refused = 0;
    try_families(t);
    for (int i = 0; i < 2; i++) {
        abut_bvh_destroy(t->bvh[i]);
        abut_mesh_destroy(t->mesh[i]);
    }
}

static inline void try_scale(double scale, bool compares) {
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

#endif
