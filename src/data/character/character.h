/* Private types of the character module. */
#ifndef ABUTI_CHARACTER_H
#define ABUTI_CHARACTER_H

#include "device/device.h"
#include "mesh/mesh.h"

#include <abut/character.h>

/* Allocations that are released together. */
typedef struct character_pool {
    abut_context *context;
    void **items;
    size_t count, room;
} character_pool;

ABUTI_API void *abuti_character_allocate(character_pool *pool, size_t count, size_t element_bytes);
ABUTI_API void abuti_character_release(character_pool *pool);

/* Offsets of morph targets by vertex: those of vertex v are [starts[v], starts[v + 1]), by
 * ascending target. */
typedef struct character_shifts {
    uint32_t count;
    uint32_t *starts; /* null = there are none */
    uint32_t *targets;
    vec3 *shifts;
} character_shifts;

struct abut_character {
    abut_context *context; /* reference */
    atomic_uint reference_count;
    character_pool pool; /* of all arrays */
    abut_mesh *mesh;     /* the space of the bind matrices */
    abut_mesh *rest;
    abut_character_info info;
    abut_vec3 extent; /* largest absolute coordinates of the vertices of `mesh` */
    abut_character_bone *bones;
    uint32_t *order; /* bones, parents before children */
    abut_character_matrix *binds;
    unsigned char *moves;   /* by bone: whether it has a weight */
    uint32_t weight_stride; /* weights per vertex, in descending order; 0 ends the list */
    uint32_t *weight_bones;
    double *weights;
    abut_character_clip *clips;
    abut_character_morph *morphs;
    vec3 *morph_extents; /* by morph target: largest absolute offsets along the axes */
    character_shifts shifts;
    abut_character_report report;
};

abut_character *abuti_character_retain(abut_character *character);

/* A copy that lives as long as the character; null if memory is exhausted. */
void *abuti_character_copy(abut_character *c, const void *from, size_t count, size_t element_bytes);
/* A copy of a name, or KIND-NUMBER if it is null. */
const char *abuti_character_copy_name(abut_character *c, const char *name, const char *kind,
                                      uint32_t number);

/* morph.c: validates and copies morph targets. */
abut_status abuti_character_copy_morphs(abut_character *c, const char *who,
                                        const abut_character_input *input);

/* weld.c: for every vertex, the lowest one with equal position, weights and morph offsets. */
abut_status abuti_character_seams(const abut_character *c, uint32_t *same);

/* Numbers per key. */
static inline uint32_t channel_width(const abut_character_channel *channel) {
    uint32_t width = channel->target == ABUT_CHARACTER_TARGET_ROTATION ? 4
                     : channel->target == ABUT_CHARACTER_TARGET_MORPH  ? 1
                                                                       : 3;
    return channel->interpolation == ABUT_CHARACTER_INTERPOLATION_CUBIC ? 3 * width : width;
}

/* ---- skinning ---- */

/* Number of doubles that one frame needs for all bones and morph targets: SKIN_LINEAR or SKIN_DUAL
 * per bone, then one weight per morph target. */
size_t abuti_skin_numbers(const abut_character *c, abut_character_skinning skinning);
/* Validates and writes them. Error messages begin with `function`. */
abut_status abuti_skin_prepare(const abut_character *c, const char *function,
                               const abut_character_matrix *bones, const double *morphs,
                               abut_character_skinning skinning, double *numbers);

typedef struct skinner_backend {
    abut_status (*create)(abut_character_skinner *skinner);
    void (*destroy)(abut_character_skinner *skinner);
    /* Called after all checks except those of `bones` and `morphs`. */
    abut_status (*run)(abut_character_skinner *skinner, const char *function,
                       const abut_character_matrix *bones, const double *morphs,
                       abut_array positions);
} skinner_backend;

extern const skinner_backend abuti_skinner_on_device;

struct abut_character_skinner {
    abut_context *context;     /* of the character */
    abut_character *character; /* reference */
    abut_character_skinner_options options;
    const skinner_backend *backend;
    double *numbers;               /* on the CPU */
    struct skinner_device *device; /* null on the CPU */
};

/* Creates a character. Error messages begin with `who`. The weights of vertex v are [starts[v],
 * starts[v + 1]); null = weight_count each. */
ABUTI_API abut_status abuti_character_make(abut_context *context, const char *who,
                                           const abut_character_input *input, const size_t *starts,
                                           abut_character **character);

static inline vec3 matrix_apply(const abut_character_matrix *a, vec3 p) {
    return v3(a->m[0][0] * p.x + a->m[0][1] * p.y + a->m[0][2] * p.z + a->m[0][3],
              a->m[1][0] * p.x + a->m[1][1] * p.y + a->m[1][2] * p.z + a->m[1][3],
              a->m[2][0] * p.x + a->m[2][1] * p.y + a->m[2][2] * p.z + a->m[2][3]);
}

/* The product: b is applied first. */
static inline abut_character_matrix matrix_multiply(const abut_character_matrix *a,
                                                    const abut_character_matrix *b) {
    abut_character_matrix c;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            c.m[i][k] = a->m[i][0] * b->m[0][k] + a->m[i][1] * b->m[1][k] +
                        a->m[i][2] * b->m[2][k] + (k == 3 ? a->m[i][3] : 0);
    return c;
}

static inline bool matrix_is_valid(const abut_character_matrix *a) {
    for (int i = 0; i < 12; i++)
        if (!(fabs(a->m[i / 4][i % 4]) <= ABUT_COORDINATE_MAX)) /* false for NaN */
            return false;
    return true;
}

#endif
