/* Bodies for tests of radial fields. */
#ifndef ABUT_TEST_RADIAL_BODY_H
#define ABUT_TEST_RADIAL_BODY_H

#include "apps/get.h"
#include "geom/types_shared.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

static inline abut_character_matrix matrix_none(void) {
    return (abut_character_matrix){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
}

static inline abut_vec3 matrix_move(const abut_character_matrix *a, abut_vec3 p) {
    return v3(a->m[0][0] * p.x + a->m[0][1] * p.y + a->m[0][2] * p.z + a->m[0][3],
              a->m[1][0] * p.x + a->m[1][1] * p.y + a->m[1][2] * p.z + a->m[1][3],
              a->m[2][0] * p.x + a->m[2][1] * p.y + a->m[2][2] * p.z + a->m[2][3]);
}

static inline abut_vec3 body_position(const abut_mesh *mesh, uint32_t i) {
    return v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
}

/* A shape of the library about the origin. */
static inline abut_mesh *body_mesh(abut_context *context, abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

/* One field along z from `lo` to `hi` that sees all of a mesh. */
static inline abut_radial *body_field(abut_mesh *mesh, double lo, double hi, uint32_t around,
                                      uint32_t along) {
    abut_radial_axis axis = {0};
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    axis.begin.z = lo;
    axis.end.z = hi;
    axis.normal.x = 1;
    axis.around = around;
    axis.along = along;
    options.axes = &axis;
    options.axis_count = 1;
    assert_ok(abut_radial_create_mesh(mesh, 1, &options, &radial));
    return radial;
}

/* Moves fields of a mesh with one bone. */
static inline void body_pose(abut_radial *radial, const abut_mesh *mesh,
                             const abut_character_matrix *bone) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *positions = malloc((count ? count : 1) * sizeof *positions);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = matrix_move(bone, body_position(mesh, i));
    assert_ok(abut_radial_set_positions(radial, bone, abut_array_host(positions)));
    free(positions);
}

/* A bent snake of rings along x with `bones` bones, closed at both ends: a character. */
typedef struct snake {
    abut_mesh *mesh;
    abut_character *character;
} snake;

static inline snake make_snake(abut_context *context, uint32_t bones, uint32_t rings,
                               uint32_t around) {
    const uint32_t vertex_count = rings * around + 2, triangle_count = 2 * around * rings;
    double *p = calloc(3 * (size_t)vertex_count, sizeof *p);
    uint32_t *t = calloc(3 * (size_t)triangle_count, sizeof *t), n = 0;
    uint32_t *weight_bones = calloc(2 * (size_t)vertex_count, sizeof *weight_bones);
    double *weights = calloc(2 * (size_t)vertex_count, sizeof *weights);
    abut_character_bone *list = calloc(bones, sizeof *list);
    for (uint32_t v = 0; v < vertex_count; v++) {
        const uint32_t ring = v / around, k = v % around;
        const bool tip = v >= rings * around;
        const double x =
            tip ? (v == rings * around ? 0 : bones) : bones * (0.3 + ring) / (rings - 1 + 0.6);
        const double a = 6.283185307179586 * k / around;
        const double r =
            tip ? 0 : 0.25 + 0.04 * sin(3 * x) - 0.12 * (ring == 0 || ring == rings - 1);
        p[3 * v] = x;
        p[3 * v + 1] = r * cos(a);
        p[3 * v + 2] = r * sin(a);
        const double at = fmin(fmax(x - 0.5, 0), bones - 1.0);
        weight_bones[2 * v] = (uint32_t)at;
        weight_bones[2 * v + 1] = (uint32_t)fmin(at + 1, bones - 1.0);
        weights[2 * v + 1] = at - floor(at);
        weights[2 * v] = 1 - weights[2 * v + 1];
    }
    for (uint32_t i = 0; i < rings * around; i++) {
        const uint32_t next = i % around + 1 == around ? i + 1 - around : i + 1;
        if (i < around) {
            const uint32_t one[3] = {rings * around, next, i};
            memcpy(t + 3 * n++, one, sizeof one);
        }
        if (i / around + 1 < rings) {
            const uint32_t two[6] = {i, next, next + around, i, next + around, i + around};
            memcpy(t + 3 * n, two, sizeof two);
            n += 2;
        } else {
            const uint32_t one[3] = {rings * around + 1, i, next};
            memcpy(t + 3 * n++, one, sizeof one);
        }
    }
    for (uint32_t b = 0; b < bones; b++) {
        list[b] = abut_character_bone_default();
        list[b].parent = b ? b - 1 : ABUT_NONE;
        list[b].translation.x = b ? 1 : 0;
    }
    snake s = {test_mesh(context, p, vertex_count, t, n), NULL};
    abut_character_input input = abut_character_input_default();
    input.mesh = s.mesh;
    input.bone_count = bones;
    input.bones = list;
    input.weight_count = 2;
    input.weight_bones = weight_bones;
    input.weights = weights;
    assert_ok(abut_character_create(context, &input, &s.character));
    free(p);
    free(t);
    free(weight_bones);
    free(weights);
    free(list);
    return s;
}

static inline void free_snake(snake *s) {
    abut_character_destroy(s->character);
    abut_mesh_destroy(s->mesh);
}

/* Poses: each bone turned about z by `angle`, shifted with time. */
static inline void bend_snake(const snake *s, double angle, double shift,
                              abut_character_matrix *bones, abut_vec3 *positions) {
    const uint32_t n = get_character_info(s->character).bone_count;
    double x = 0, y = shift, turn = 0;
    for (uint32_t b = 0; b < n; b++) {
        turn += b ? angle : 0;
        const double c = cos(turn), sn = sin(turn);
        bones[b] = (abut_character_matrix){{{c, -sn, 0, x}, {sn, c, 0, y}, {0, 0, 1, 0}}};
        x += c;
        y += sn;
    }
    assert_ok(abut_character_skin(s->character, bones, ABUT_CHARACTER_SKINNING_LINEAR, positions));
}

#endif
