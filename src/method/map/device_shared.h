/* Arguments of the kernels of map queries, for C and OpenCL C. */
#ifndef ABUTI_MAP_DEVICE_SHARED_H
#define ABUTI_MAP_DEVICE_SHARED_H

#include "map/map_shared.h"

#define MAP_GROUP 64

/* A query for one body. */
typedef struct map_query {
    vec3 origin;  /* of the mesh of the map */
    pose inverse; /* to the coordinates of the body */
    mat3 turn;    /* rotation of directions back */
    word32 count; /* number of samples */
    word32 resolution;
    word32 other; /* index of the body */
    word32 first; /* 1: there are no results yet */
    word32 moved; /* 1: the pose is not the identity */
    /* for map_apart only */
    word32 triangle_count;
    word32 warm;   /* 1: the previous results are of the same triangles and bound the traversal */
    float limit;   /* the radius in the scaled frame */
    double radius; /* in world units; may be infinite */
} map_query;

#endif
