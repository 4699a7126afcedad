/* Numbers of ray.cl that the host has to know as well. */
#ifndef ABUTI_RAY_SHARED_H
#define ABUTI_RAY_SHARED_H

#define RAY_GROUP 128    /* items of a work-group */
#define RAY_CANDIDATES 8 /* triangles that may be hit first, a ray */

#endif
