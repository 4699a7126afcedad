/* Arguments of the kernels of map queries, for C and OpenCL C. */
#ifndef ABUTI_MAP_DEVICE_SHARED_H
#define ABUTI_MAP_DEVICE_SHARED_H

#include "map/map_shared.h"

#define MAP_GROUP 64

/* A query for one body. */
typedef struct map_query {
    vec3 origin;   /* of the mesh of the map */
    pose inverse;  /* to the coordinates of the body */
    mat3 turn;     /* rotation of directions back */
    double radius; /* in world units; may be infinite */
    double slack;  /* upper bound of the error of distances to the body, without their rounding to
                      floats */
    float limit;   /* the radius in the scaled frame of the body */
    float lo[3], hi[3]; /* bounding box of the body in its scaled frame */
    word32 count;       /* number of samples */
    word32 resolution;
    word32 triangle_count; /* of the body */
    word32 other;          /* its index */
    word32 first;          /* 1: there are no results yet */
    word32 moved;          /* 1: the pose is not the identity */
    word32 has_sign;
    word32 warm; /* 1: the previous results refer to the same triangles and bound the traversal */
} map_query;

/* The result of a sample for one body, without sign. */
typedef struct map_found {
    float distance;
    float vector[3];
    word32 triangle, feature;
} map_found;

#endif
