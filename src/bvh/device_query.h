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

typedef struct ray_kernels {
    abuti_kernel check, find, measure;
} ray_kernels;

typedef struct ray_scratch {
    abuti_buffer counts, places, refused;
} ray_scratch;

/* The frame of a hierarchy, as kernels take it. */
typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

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
    ray_kernels ray; /* none until there are rays */
    ray_scratch ray_scratch;
    abuti_buffer in, out; /* of points and answers that come from the host */
};

typedef struct abuti_kernel_name {
    abuti_kernel *kernel;
    const char *name;
} abuti_kernel_name;

/* Makes kernels of a module. On failure some may have been made. */
abut_status abuti_device_kernels(abut_device_bvh *bvh, const char *module,
                                 const abuti_kernel_name *list, size_t count);

static inline size_t groups_of(size_t count, size_t group) {
    return count / group + (count % group != 0);
}

static inline mesh_frame frame_of(const abut_device_bvh *bvh) {
    vec3 origin = bvh->tree.mesh->origin;
    mesh_frame frame = {{origin.x, origin.y, origin.z}, bvh->tree.scale};
    return frame;
}

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

/* ---- device_ray.c ---- */

void abuti_device_rays_destroy(abut_device_bvh *bvh);

/* `count` rays (abut_ray) in a buffer to hits (abut_bvh_hit) in another; with `any` to a byte each.
 * As above. */
abut_status abuti_device_bvh_rays(abut_device_bvh *bvh, const abuti_buffer *rays, size_t count,
                                  double most, bool any, abuti_buffer *hits);

#endif
