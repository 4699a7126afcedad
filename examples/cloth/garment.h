/* Garments around any upright character: a dress without straps, and a cape. */
#ifndef ABUT_CLOTH_GARMENT_H
#define ABUT_CLOTH_GARMENT_H

#include <abut/abut.h>

typedef enum garment_kind {
    GARMENT_DRESS = 0, /* a tube from the chest to the knees */
    GARMENT_CAPE       /* a sheet from the shoulders down the back */
} garment_kind;

typedef struct garment_options {
    garment_kind kind;
    uint32_t triangles; /* about */
    abut_vec3 up;       /* unit */
    double ease;        /* distance from the body, where it is next to it */
} garment_options;

/* Makes a garment around a body at rest that stands upright with its arms away from its sides. Its
 * first `held` vertices are those that the body has to hold. Refused: bodies that are not between
 * 0.3 and 30 tall, or that are not around a vertical axis. */
abut_status garment_create(abut_context *context, abut_mesh *body, const garment_options *options,
                           abut_mesh **mesh, uint32_t *held);

#endif
