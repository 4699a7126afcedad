/* The bowl that bodies fall into: a surface of revolution with a wall, around z. */
#ifndef ABUT_BOWL_H
#define ABUT_BOWL_H

#include <abut/abut.h>

#define BOWL_RADIUS 5.0 /* inside; its centre is the origin */
#define BOWL_WALL 0.4
#define BOWL_RIM 0.5 /* of the radius, above the centre */

/* Closed, 7,680 triangles. */
abut_status bowl_create(abut_context *context, abut_mesh **mesh);

#endif
