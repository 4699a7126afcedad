/* What the files of characters share. */
#ifndef ABUTI_CHARACTER_H
#define ABUTI_CHARACTER_H

#include "mesh/mesh.h"

#include <abut/character.h>

/* Memory that goes at once. */
typedef struct character_pool {
    abut_context *context;
    void **items;
    size_t count, room;
} character_pool;

void *abuti_character_allocate(character_pool *pool, size_t count, size_t element_bytes);
void abuti_character_release(character_pool *pool);

struct abut_character {
    abut_context *context; /* held */
    character_pool pool;   /* of all arrays */
    abut_mesh *mesh;       /* as the binds take it */
    abut_mesh *rest;
    abut_character_info info;
    abut_vec3 extent; /* the largest coordinates of all vertices of `mesh`, without sign */
    abut_character_bone *bones;
    uint32_t *order; /* of bones: parents before children */
    abut_character_matrix *binds;
    unsigned char *moves;   /* of each bone: whether it has a weight */
    uint32_t weight_stride; /* weights a vertex, the largest first; 0 = no more */
    uint32_t *weight_bones;
    double *weights;
    abut_character_clip *clips;
    abut_character_report report;
};

/* Makes a character. `who` stands first in sentences. The weights of vertex v are those from
 * starts[v] to before starts[v + 1]; null = weight_count each. */
abut_status abuti_character_make(abut_context *context, const char *who,
                                 const abut_character_input *input, const size_t *starts,
                                 abut_character **character);

static inline vec3 matrix_apply(const abut_character_matrix *a, vec3 p) {
    return v3(a->m[0][0] * p.x + a->m[0][1] * p.y + a->m[0][2] * p.z + a->m[0][3],
              a->m[1][0] * p.x + a->m[1][1] * p.y + a->m[1][2] * p.z + a->m[1][3],
              a->m[2][0] * p.x + a->m[2][1] * p.y + a->m[2][2] * p.z + a->m[2][3]);
}

/* First b, then a. */
static inline abut_character_matrix matrix_multiply(const abut_character_matrix *a,
                                                    const abut_character_matrix *b) {
    abut_character_matrix c;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            c.m[i][k] = a->m[i][0] * b->m[0][k] + a->m[i][1] * b->m[1][k] +
                        a->m[i][2] * b->m[2][k] + (k == 3 ? a->m[i][3] : 0);
    return c;
}

static inline bool matrix_is_sound(const abut_character_matrix *a) {
    for (int i = 0; i < 12; i++)
        if (!(fabs(a->m[i / 4][i % 4]) <= ABUT_COORDINATE_MAX)) /* NaN is not */
            return false;
    return true;
}

#endif
