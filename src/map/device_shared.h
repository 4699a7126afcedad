/* What the host tells kernels of a query, for C and OpenCL C alike. */
#ifndef ABUTI_MAP_DEVICE_SHARED_H
#define ABUTI_MAP_DEVICE_SHARED_H

#include "map/map_shared.h"

#define MAP_GROUP 64

/* A question to one body. */
typedef struct map_asking {
    vec3 origin;   /* of the mesh of the map */
    pose inverse;  /* to the coordinates of the body */
    mat3 turn;     /* and back */
    double radius; /* in the world; may be infinite */
    double slack;  /* more than distances of the body err by, beside their rounding to floats */
    float limit;   /* the same in the frame of the body */
    float lo[3], hi[3]; /* box of the body in its frame */
    word32 count;       /* of samples */
    word32 resolution;
    word32 triangle_count; /* of the body */
    word32 other;          /* its number */
    word32 first;          /* 1: there are no answers yet */
    word32 moved;          /* 1: it has a pose */
    word32 has_sign;
    word32 warm; /* 1: what was found the last time was found on the same triangles */
} map_asking;

/* What a body has for a sample, without sign. */
typedef struct map_found {
    float distance;
    float vector[3];
    word32 triangle, feature;
} map_found;

#endif
