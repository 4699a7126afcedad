/* A hierarchy on a device with what its queries need: a queue, tools, kernels, scratch memory. */
#ifndef ABUTI_BVH_DEVICE_QUERY_H
#define ABUTI_BVH_DEVICE_QUERY_H

#include "bvh/device.h"
#include "device/tools.h"

typedef struct nearest_kernels {
    abuti_kernel bounds, keys, gather, seed, find;
    abuti_kernel check, frame, measure, complete;                        /* with doubles */
    abuti_kernel region_boxes, region_seed, region_find, region_measure; /* with features */
} nearest_kernels;

/* Of nearest points; grows as needed and is kept. */
typedef struct nearest_scratch {
    abuti_buffer exact, points, sorted, keys, order, bounds, seeds, counts, places, refused;
    abuti_buffer boxes, wanted, left;
} nearest_scratch;

/* The arrays of abuti_features; none until a batch is large enough for them. */
typedef struct device_features {
    abuti_buffer records, leaf_begin, incident_begin, incidents;
} device_features;

struct abut_device_bvh {
    abut_context *context; /* held */
    abuti_queue queue;     /* of the device, which it holds */
    abuti_tools *tools;
    abuti_bvh_builder *builder; /* of a tree that was built here, else null */
    abuti_bvh_device tree;
    abut_bvh *host; /* owned; of devices without doubles, else null */
    nearest_kernels nearest;
    device_features features;
    size_t features_least; /* points of a batch for which features pay */
    nearest_scratch scratch;
    abuti_buffer in, out; /* of points and answers that come from the host */
};

/* ---- device_nearest.c ---- */

abut_status abuti_device_nearest_create(abut_device_bvh *bvh);
void abuti_device_nearest_destroy(abut_device_bvh *bvh);
/* The tree has changed. */
void abuti_device_nearest_forget(abut_device_bvh *bvh);

/* `count` points in a buffer of floats or doubles, three each, to abut_nearest in another. Only
 * queues work, but for a point that is not legal: fails with ABUT_ERROR_ARGUMENT before anything is
 * written. For devices with doubles. */
abut_status abuti_device_bvh_nearest(abut_device_bvh *bvh, const abuti_buffer *points,
                                     abut_scalar_type type, size_t count, double radius,
                                     abuti_buffer *nearest);

#endif
