/* A small animal for scenes: a body, a head with two ears, and a tail. */
#ifndef ABUT_CRITTER_H
#define ABUT_CRITTER_H

#include <abut/abut.h>

/* Creates a closed mesh, about four units long. `detail` (0.3 to 8) scales the number of cells
 * along each side; 1 gives some six thousand triangles. */
abut_status critter_create(abut_context *context, double detail, abut_mesh **mesh);

#endif
