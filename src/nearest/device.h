/* Points on a device: the engine that sorts them and finds what may be nearest, which signs use
 * too. */
#ifndef ABUTI_NEAREST_DEVICE_H
#define ABUTI_NEAREST_DEVICE_H

#include "bvh/on_device.h"
#include "nearest/nearest.h"

/* Scratch memory of a part of the points; most of it in their sorted order. */
enum {
    NEAREST_EXACT,  /* in doubles, as they come */
    NEAREST_POINTS, /* in the frame, with a margin, as they come */
    NEAREST_SORTED,
    NEAREST_KEYS, /* of the sort; free after it */
    NEAREST_ORDER,
    NEAREST_BOUNDS,
    NEAREST_SEEDS,
    NEAREST_COUNTS, /* of triangles or features that may win */
    NEAREST_PLACES, /* and where they are */
    NEAREST_REFUSED,
    NEAREST_BOXES, /* of blocks */
    NEAREST_WANTED,
    NEAREST_LEFT,
    /* The arrays of abuti_features; none until a batch is large enough for them. */
    NEAREST_RECORDS,
    NEAREST_LEAF_BEGIN,
    NEAREST_INCIDENT_BEGIN,
    NEAREST_INCIDENTS,
    /* of many.cl */
    NEAREST_HEAPS,
    NEAREST_REACHES,
    NEAREST_BUFFERS
};

enum {
    NEAREST_CHECK,
    NEAREST_FRAME,
    NEAREST_BOUND,
    NEAREST_KEY,
    NEAREST_GATHER,
    NEAREST_SEED,
    NEAREST_FIND,
    NEAREST_MEASURE,
    NEAREST_COMPLETE,
    NEAREST_REGION_BOXES,
    NEAREST_REGION_SEED,
    NEAREST_REGION_FIND,
    NEAREST_REGION_MEASURE,
    NEAREST_MANY_BOUND,
    NEAREST_MANY_FIND,
    NEAREST_MANY_JUDGE,
    NEAREST_KERNELS
};

typedef struct nearest_there {
    bvh_attachment part;
    bvh_on_device *there;
    abuti_kit kit;
    bool has_features;
    size_t features_least; /* points of a part for which features pay */
} nearest_there;

/* That of a hierarchy, made if there is none. */
abut_status abuti_nearest_part(bvh_on_device *there, nearest_there **nearest);

/* A question about many points. */
typedef struct point_quest {
    const char *function, *stage;
    double radius;
    bool nearest;       /* answers begin as nearest points */
    abut_array answers; /* the caller's */
    size_t answer_bytes;
    void *user;
    /* Queues what follows for `count` sorted points, whose answers stand in a buffer from `first`
     * on; null = nothing. */
    void (*queue)(const struct point_quest *quest, nearest_there *nearest, uint32_t count,
                  uint32_t first, const abuti_buffer *answers);
} point_quest;

/* Asks it in parts that fit the device, which has doubles. Points of the host have been checked. */
abut_status abuti_nearest_points(bvh_on_device *there, const bvh_points *points,
                                 const point_quest *quest);

/* Refuses the first point of a buffer that is not legal. Waits. */
abut_status abuti_nearest_check(nearest_there *nearest, const char *function,
                                const bvh_points *points);
/* Queues what brings `count` points from `begin` on to the device and sorts them: the kit then has
 * them as nearest.cl says. `room` is for as many points that do not lie close together. */
void abuti_nearest_sort(nearest_there *nearest, const bvh_points *points, size_t begin,
                        uint32_t count, void *room);
/* A radius in floats of the frame, not too small; nothing near is further. */
float abuti_nearest_reach(const bvh_on_device *there, double radius);

#endif
