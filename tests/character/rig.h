/* A character at random: a sphere, any number of bones with up to eight weights a vertex, morph
 * targets on some of its vertices. */
#ifndef ABUT_TEST_RIG_H
#define ABUT_TEST_RIG_H

#include "support/support.h"

#include <math.h>
#include <stdlib.h>

enum { RIG_BONES = 12, RIG_MORPHS = 3, RIG_WEIGHTS = 8 };

typedef struct rig {
    abut_mesh *mesh;
    uint32_t vertices;
    uint32_t *weight_bones;
    double *weights;
    abut_character_bone bones[RIG_BONES];
    abut_character_matrix binds[RIG_BONES];
    uint32_t *moved[RIG_MORPHS];
    abut_vec3 *shifts[RIG_MORPHS];
    abut_character_morph morphs[RIG_MORPHS];
    abut_character_input input;
} rig;

static inline abut_vec3 rig_vector(test_random *random, double size) {
    double x = test_random_real(random, -size, size), y = test_random_real(random, -size, size);
    return (abut_vec3){x, y, test_random_real(random, -size, size)};
}

/* `far`: where the sphere is, so that its mesh has an origin of its own. */
static inline rig *rig_make(uint64_t seed, uint32_t segments, bool morphs, double far) {
    static const abut_character_matrix none = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_UVSPHERE);
    test_random random = {seed};
    rig *r = calloc(1, sizeof *r);
    abut_mesh *sphere;
    shape.segments = segments;
    shape.rings = segments / 2;
    assert_ok(abut_shape_create(NULL, &shape, &sphere));
    r->vertices = abut_mesh_vertex_count(sphere);
    double(*positions)[3] = malloc(r->vertices * sizeof *positions);
    r->weight_bones = malloc(RIG_WEIGHTS * r->vertices * sizeof *r->weight_bones);
    r->weights = malloc(RIG_WEIGHTS * r->vertices * sizeof *r->weights);
    for (uint32_t v = 0; v < r->vertices; v++) {
        abut_vec3 p = abut_mesh_local_positions(sphere)[v], o = abut_mesh_local_origin(sphere);
        const double at[3] = {p.x + o.x + far, p.y + o.y + far, p.z + o.z};
        memcpy(positions[v], at, sizeof at);
        uint32_t count = 1 + test_random_below(&random, RIG_WEIGHTS);
        for (uint32_t i = 0; i < RIG_WEIGHTS; i++) {
            r->weight_bones[RIG_WEIGHTS * v + i] = test_random_below(&random, RIG_BONES);
            r->weights[RIG_WEIGHTS * v + i] = i < count ? test_random_real(&random, 0.05, 1) : 0;
        }
    }
    r->mesh = test_mesh(NULL, positions, r->vertices, abut_mesh_indices(sphere),
                        abut_mesh_triangle_count(sphere));
    for (uint32_t i = 0; i < RIG_BONES; i++) {
        r->bones[i] = abut_character_bone_default();
        r->bones[i].parent = i ? test_random_below(&random, i) : ABUT_NONE;
        r->bones[i].translation = rig_vector(&random, 1);
        r->binds[i] = none;
    }
    for (uint32_t k = 0; morphs && k < RIG_MORPHS; k++) {
        uint32_t count = 0;
        r->moved[k] = malloc(r->vertices * sizeof *r->moved[k]);
        r->shifts[k] = malloc(r->vertices * sizeof *r->shifts[k]);
        for (uint32_t v = 0; v < r->vertices; v++)
            if (test_random_below(&random, 3) == 0) {
                r->moved[k][count] = v;
                r->shifts[k][count++] = rig_vector(&random, 0.5);
            }
        r->morphs[k] = (abut_character_morph){NULL, 0.25 * k, count, r->moved[k], r->shifts[k]};
    }
    r->input = abut_character_input_default();
    r->input.mesh = r->mesh;
    r->input.bone_count = RIG_BONES;
    r->input.bones = r->bones;
    r->input.binds = r->binds;
    r->input.weight_count = RIG_WEIGHTS;
    r->input.weight_bones = r->weight_bones;
    r->input.weights = r->weights;
    r->input.morph_count = morphs ? RIG_MORPHS : 0;
    r->input.morphs = r->morphs;
    free(positions);
    abut_mesh_destroy(sphere);
    return r;
}

static inline void rig_end(rig **it) {
    rig *r = *it;
    abut_mesh_destroy(r->mesh);
    free(r->weight_bones);
    free(r->weights);
    for (int k = 0; k < RIG_MORPHS; k++) {
        free(r->moved[k]);
        free(r->shifts[k]);
    }
    free(r);
}
#define AUTO_RIG __attribute__((cleanup(rig_end))) rig

static inline void test_end_character_skinner(abut_character_skinner **it) {
    abut_character_skinner_destroy(*it);
}

/* Rotations by any angle, and shifts; `sheared` ones are any affine maps. */
static inline void rig_pose(test_random *random, bool sheared, abut_character_matrix *bones,
                            abut_pose *poses) {
    for (int i = 0; i < RIG_BONES; i++) {
        abut_vec3 axis = rig_vector(random, 1);
        abut_pose p = {{axis.x, axis.y, axis.z, test_random_real(random, -1, 1)},
                       rig_vector(random, 2)};
        double length = sqrt(p.rotation.x * p.rotation.x + p.rotation.y * p.rotation.y +
                             p.rotation.z * p.rotation.z + p.rotation.w * p.rotation.w);
        p.rotation.x /= length, p.rotation.y /= length;
        p.rotation.z /= length, p.rotation.w /= length;
        const abut_vec3 units[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        abut_vec3 to[4];
        for (int k = 0; k < 4; k++)
            assert_ok(abut_pose_apply(&p, units[k], &to[k]));
        for (int k = 0; k < 3; k++) {
            bones[i].m[0][k] = to[k + 1].x - to[0].x;
            bones[i].m[1][k] = to[k + 1].y - to[0].y;
            bones[i].m[2][k] = to[k + 1].z - to[0].z;
        }
        bones[i].m[0][3] = to[0].x, bones[i].m[1][3] = to[0].y, bones[i].m[2][3] = to[0].z;
        for (int k = 0; sheared && k < 9; k++)
            bones[i].m[k / 3][k % 3] += test_random_real(random, -0.5, 0.5);
        if (poses)
            poses[i] = p;
    }
}

#endif
