/* Points on a device: sorts them and finds the candidates for their closest points; sign queries
 * use it too. */
#ifndef ABUTI_NEAREST_DEVICE_H
#define ABUTI_NEAREST_DEVICE_H

#include "bvh/on_device.h"
#include "nearest/features.h"
#include "nearest/nearest.h"

/* Buffers for a batch of points; most of them in sorted order. */
enum {
    NEAREST_EXACT,  /* in doubles, in the order of the caller */
    NEAREST_POINTS, /* in the frame, with a margin, in the order of the caller */
    NEAREST_SORTED,
    NEAREST_KEYS, /* of the sort; unused after it */
    NEAREST_ORDER,
    NEAREST_COUNTS, /* of candidate triangles */
    NEAREST_PLACES, /* and their places */
    NEAREST_INVALID,
    /* of k_nearest.cl */
    NEAREST_HEAPS,
    NEAREST_REACHES,
    NEAREST_BUFFERS
};

enum {
    NEAREST_CHECK,
    NEAREST_FRAME,
    NEAREST_GATHER,
    NEAREST_FIND,
    NEAREST_MEASURE,
    NEAREST_COMPLETE,
    NEAREST_MANY_BOUND,
    NEAREST_MANY_FIND,
    NEAREST_MANY_DECIDE,
    NEAREST_KERNELS
};

/* ---- device_features.c: features (features.h), computed on the device ---- */

enum {
    FEATURES_RECORDS,
    FEATURES_EXACT,
    FEATURES_INCIDENT_BEGIN,
    FEATURES_INCIDENT_PLACES, /* places in the order */
    /* scratch memory */
    FEATURES_INDICES, /* only if the BVH has no indices on the device */
    FEATURES_PLACES,
    FEATURES_HAS_FACE,
    FEATURES_DEGREES,
    FEATURES_CORNER_BEGIN,
    FEATURES_CORNERS_OF,
    FEATURES_FIRST_BITS,
    FEATURES_FIRST_SUMS,
    FEATURES_FOUND,
    FEATURES_SOURCES,
    FEATURES_BUFFERS
};

/* A feature in doubles. Edge and vertex: base point, unit direction and length, the last two 0 for
 * a vertex. Face: base point and unit normal. */
typedef struct feature_exact {
    double place[2];        /* x, y; absolute */
    double place_z, length; /* length in the scaled frame */
    double direction[2];    /* x, y */
    double direction_z;     /* z */
    uint32_t triangle, is;  /* triangle of a face; FEATURE_IS_FACE, FEATURE_IS_LOW */
} feature_exact;

_Static_assert(sizeof(feature_exact) == 64, "the layout that kernels read");

typedef struct device_features {
    bvh_attachment attachment;
    abuti_kit kit;  /* on the queue of the BVH */
    uint32_t count; /* 0 = a vertex has more than FEATURES_DEGREE corners */
    bool is_ready;
} device_features;

#define FEATURE(features, which) KIT_BUFFER(&(features)->kit, FEATURES_##which)

/* Computes the features of a BVH whose device has doubles, unless they are ready. Commands may
 * still be running. */
abut_status abuti_features_on_device(bvh_on_device *there, device_features **features);
/* The program of its kernels, which takes the options of the tree. */
abuti_kit_plan abuti_device_features_plan(const char *options);

/* Returns the kit of a BVH; creates it if there is none. */
abut_status abuti_nearest_get_kit(bvh_on_device *there, bvh_kit **nearest);

/* A query about many points. */
typedef struct point_query {
    const char *function, *stage;
    double radius;
    bool nearest;       /* results begin with an abut_nearest */
    abut_array results; /* of the caller */
    size_t result_bytes;
    void *user;
    /* Enqueues the kernels that follow for `count` sorted points, whose results are in a buffer
     * from `first` on; null = nothing. */
    void (*enqueue)(const struct point_query *query, bvh_kit *nearest, uint32_t count,
                    uint32_t first, const abuti_buffer *results);
} point_query;

/* Runs it in batches that fit the device, which has doubles. Points of the host have been
 * validated. */
abut_status abuti_nearest_points(bvh_on_device *there, const bvh_points *points,
                                 const point_query *query);

/* Fails for the first invalid point of a buffer. Waits. */
abut_status abuti_nearest_check(bvh_kit *nearest, const char *function, const bvh_points *points);
/* Enqueues the upload and the sort of `count` points from `begin` on: the kit then has them as
 * described in nearest.cl. */
void abuti_nearest_sort(bvh_kit *nearest, const bvh_points *points, size_t begin, uint32_t count);
/* A radius in floats of the frame, rounded up and limited to the range of floats. */
float abuti_nearest_reach(const bvh_on_device *there, double radius);

#endif
