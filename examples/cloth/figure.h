/* A figure to dress: a skittle with a spine that sways, twists and bows, for demos and tests that
 * have no character of their own. */
#ifndef ABUT_CLOTH_FIGURE_H
#define ABUT_CLOTH_FIGURE_H

#include <abut/abut.h>

/* 1.7 m tall, z is up, one clip of some four seconds. `triangles` about, at least 100. */
abut_status figure_create(abut_context *context, uint32_t triangles, abut_character **character);

#endif
