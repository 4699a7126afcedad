/* A hierarchy on a device with what its batches share: a queue, tools, buffers for what comes from
 * the host and goes there. What each kind of question needs beside is a part; see bvh.h. */
#ifndef ABUTI_BVH_ON_DEVICE_H
#define ABUTI_BVH_ON_DEVICE_H

#include "bvh/device.h"
#include "bvh/points.h"
#include "device/kit.h"
#include "device/tools.h"

/* Buffers of all batches. */
enum {
    BVH_IN,  /* questions of the host */
    BVH_OUT, /* answers to it */
    BVH_IO
};

struct bvh_on_device {
    abut_context *context; /* held */
    const abut_bvh *bvh;   /* whose tree it is, and which has signs and the CPU's arrays */
    abuti_queue queue;     /* of the device, which it holds */
    abuti_tools *tools;
    abuti_bvh_builder *builder; /* of a tree that was built here, else null */
    abuti_bvh_device tree;
    bool broken; /* a refit failed half-way */
    abuti_kit io;
    bvh_parts parts;
};

/* Only the device's side of a copy. */
abut_status abuti_bvh_there_copy(const abut_bvh *bvh, abut_device *device, bvh_on_device **there);

/* The compiler's options for kernels that walk through the tree. */
enum { ABUTI_OPTIONS_BYTES = 64 };
void abuti_device_options(const bvh_on_device *bvh, char options[ABUTI_OPTIONS_BYTES]);
/* Those of a tree of some depth that is on a device, or will be. */
void abuti_device_options_of(const abut_device *device, uint32_t depth,
                             char options[ABUTI_OPTIONS_BYTES]);
/* A kit on its queue with these options. */
abut_status abuti_there_kit(bvh_on_device *there, const abuti_kit_table *table, abuti_kit *kit);
/* Its part of a kind, made if there is none. */
abut_status abuti_there_part(bvh_on_device *there, const bvh_part_kind *kind, bvh_part **part);

/* Brings answers from BVH_OUT to the host, many of them on all threads. Reports. */
abut_status abuti_there_answers(bvh_on_device *there, void *host, size_t count, size_t bytes);

static inline bool there_has_doubles(const bvh_on_device *there) {
    return there->tree.corners.device != NULL;
}
/* Fails where it has none. */
abut_status abuti_device_check_doubles(const char *function, const bvh_on_device *bvh);

static inline size_t groups_of(size_t count, size_t group) {
    return count / group + (count % group != 0);
}

/* The frame of a hierarchy, as kernels take it. */
typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

static inline mesh_frame frame_of(const bvh_on_device *bvh) {
    vec3 origin = bvh->tree.mesh->origin;
    mesh_frame frame = {{origin.x, origin.y, origin.z}, bvh->tree.scale};
    return frame;
}

/* Arrays of the tree as arguments. */
#define TREE(there, array) ABUTI_BUFFER(&(there)->tree.array)

#endif
