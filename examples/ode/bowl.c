/* See bowl.h. */
#include "bowl.h"

#include <math.h>
#include <stdlib.h>

enum { BOWL_AROUND = 96, BOWL_ALONG = 40 };
#define PI 3.14159265358979323846

/* A point of the bowl's profile: from the bottom up inside, over the rim, and down outside. */
static abut_vec3 bowl_point(uint32_t along, uint32_t around) {
    double most = PI / 2 + asin(BOWL_RIM); /* from the bottom to the rim */
    bool inside = along <= BOWL_ALONG / 2;
    double t = inside ? (double)along / (BOWL_ALONG / 2)
                      : (double)(BOWL_ALONG + 1 - along) / (BOWL_ALONG / 2);
    double r = inside ? BOWL_RADIUS : BOWL_RADIUS + BOWL_WALL, a = most * t;
    double turn = 2 * PI * around / BOWL_AROUND;
    return (abut_vec3){r * sin(a) * cos(turn), r * sin(a) * sin(turn), -r * cos(a)};
}

abut_status bowl_create(abut_context *context, abut_mesh **mesh) {
    /* rings 1 to BOWL_ALONG, and a pole at either end */
    enum { VERTICES = BOWL_AROUND * BOWL_ALONG + 2, TRIANGLES = 2 * BOWL_AROUND * BOWL_ALONG };
    abut_vec3 *positions = malloc(VERTICES * sizeof *positions);
    uint32_t *indices = malloc(3 * TRIANGLES * sizeof *indices), used = 0;
    abut_status status = ABUT_ERROR_MEMORY;
    if (positions && indices) {
        for (uint32_t i = 0; i < BOWL_ALONG; i++)
            for (uint32_t j = 0; j < BOWL_AROUND; j++)
                positions[i * BOWL_AROUND + j] = bowl_point(i + 1, j);
        positions[VERTICES - 2] = bowl_point(0, 0);
        positions[VERTICES - 1] = bowl_point(BOWL_ALONG + 1, 0);
        for (uint32_t j = 0; j < BOWL_AROUND; j++) {
            uint32_t next = (j + 1) % BOWL_AROUND, last = (BOWL_ALONG - 1) * BOWL_AROUND;
            const uint32_t caps[6] = {VERTICES - 2, j, next, last + j, VERTICES - 1, last + next};
            for (int k = 0; k < 6; k++)
                indices[used++] = caps[k];
            for (uint32_t i = 0; i + 1 < BOWL_ALONG; i++) {
                uint32_t a = i * BOWL_AROUND + j, b = i * BOWL_AROUND + next;
                const uint32_t quad[6] = {a, a + BOWL_AROUND, b,
                                          b, a + BOWL_AROUND, b + BOWL_AROUND};
                for (int k = 0; k < 6; k++)
                    indices[used++] = quad[k];
            }
        }
        abut_mesh_input input = abut_mesh_input_doubles(positions, VERTICES, indices, TRIANGLES);
        status = abut_mesh_create(context, &input, mesh);
    }
    free(positions);
    free(indices);
    return status;
}
