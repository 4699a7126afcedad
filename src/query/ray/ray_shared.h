/* Constants of ray.cl that the host shares. */
#ifndef ABUTI_RAY_SHARED_H
#define ABUTI_RAY_SHARED_H

#define RAY_GROUP 128  /* work-items of a work-group */
#define RAY_POOL 16    /* rays per work-item, at most */
#define AIMED_BYTES 64 /* of aimed_ray, and of small_node */
#define SMALL_BYTES 64
#define RAY_MEASURE_BYTES (44 * RAY_GROUP + 16) /* local memory of ray_measure per work-group */
#define RAY_CANDIDATES 8                        /* triangles that may be hit first, per ray */

#endif
