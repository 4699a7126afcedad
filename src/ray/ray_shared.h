/* Numbers of ray.cl that the host has to know as well. */
#ifndef ABUTI_RAY_SHARED_H
#define ABUTI_RAY_SHARED_H

#define RAY_GROUP 128  /* items of a work-group */
#define RAY_POOL 16    /* rays that an item searches for, at most */
#define AIMED_BYTES 64 /* of aimed_ray, and of small_node */
#define SMALL_BYTES 64
#define RAY_ROOM (44 * RAY_GROUP + 16) /* bytes of ray_measure, a group */
#define RAY_CANDIDATES 8               /* triangles that may be hit first, a ray */

#endif
