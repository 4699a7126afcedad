/* A hierarchy on a device: the arrays of bvh.h, byte for byte, for kernels to walk through.
 *
 * It comes from a hierarchy of the CPU by upload, or from a mesh by a build on the device itself;
 * either can go back to the CPU. Held by value; zero means "none", which may be destroyed too.
 */
#ifndef ABUTI_BVH_DEVICE_H
#define ABUTI_BVH_DEVICE_H

#include "bvh/bvh.h"
#include "device/kit.h"

typedef struct abuti_bvh_device {
    abut_device *device; /* held; null = none */
    abut_mesh *mesh;     /* held */
    abuti_buffer nodes;  /* bvh_node, node_count; there may be room for more */
    abuti_buffer blocks; /* bvh_block, leaf_count */
    abuti_buffer order;  /* uint32_t, 4 a leaf */
    /* Where asked for. Corners of the triangle at place i of `order` are floats 9 i to 9 i + 8, in
     * the frame, each less than one float off. */
    abuti_buffer triangles;
    /* Where asked for and the device has doubles, else none. Corners of triangle t are doubles 9 t
     * to 9 t + 8, absolute: exactly those that came in. */
    abuti_buffer corners;
    /* Of one that was built on a device, for refits: 3 indices a triangle, and for every slot of a
     * node the first leaf below and how many there are. */
    abuti_buffer indices, ranges;
    uint32_t triangle_count, leaf_count, node_count, depth;
    double scale; /* into the frame; a power of two */
} abuti_bvh_device;

enum { ABUTI_BVH_TRIANGLES = 1, ABUTI_BVH_CORNERS = 2 };

/* Copies a hierarchy to the device of the queue, with what `extras` names beside. Waits. On failure
 * `to` is left as it was. */
abut_status abuti_bvh_device_upload(abuti_queue *queue, const abut_bvh *bvh, uint32_t extras,
                                    abuti_bvh_device *to);
/* Makes a hierarchy for the CPU of one on a device, in a context; null = that of its mesh. Waits.
 */
abut_status abuti_bvh_device_download(abuti_queue *queue, const abuti_bvh_device *from,
                                      abut_context *context, abut_bvh **bvh);
void abuti_bvh_device_destroy(abuti_bvh_device *bvh);

/* ---- device_build.c ---- */

/* What builds need again and again: kernels and scratch memory, which grows and is kept. Belongs to
 * one queue, which must outlive it, and to one user at a time. */
typedef struct abuti_bvh_builder abuti_bvh_builder;
/* The kernels whose programs it builds first: one of each. */
enum { BVH_BUILDER_PLANS = 5 };
void abuti_bvh_builder_plans(const abut_device *device, abuti_kit_plan plans[BVH_BUILDER_PLANS]);
abut_status abuti_bvh_builder_create(abuti_queue *queue, abuti_bvh_builder **builder);
void abuti_bvh_builder_destroy(abuti_bvh_builder *builder);

/* Builds the hierarchy of a mesh, with what `extras` names beside. Waits once, at the end. On
 * failure `to` is left as it was. */
abut_status abuti_bvh_device_build(abuti_bvh_builder *builder, abut_mesh *mesh, uint32_t extras,
                                   abuti_bvh_device *to);
/* Fits boxes and blocks to a mesh of the same indices; that they are is for the caller to know. The
 * hierarchy must have been built on the device. On failure of the device it must be built anew. */
abut_status abuti_bvh_device_refit(abuti_bvh_builder *builder, abuti_bvh_device *bvh,
                                   abut_mesh *mesh);

/* Where the time of a build goes, on the device. */
typedef enum abuti_bvh_phase {
    ABUTI_BVH_START = 0,
    ABUTI_BVH_LEVELS,
    ABUTI_BVH_CHUNKS,
    ABUTI_BVH_PLAN,
    ABUTI_BVH_NODES,
    ABUTI_BVH_FIT,
    ABUTI_BVH_PHASES
} abuti_bvh_phase;
/* From now on builds note the time of each phase here, in milliseconds, and wait after each; null
 * ends that. */
void abuti_bvh_builder_time(abuti_bvh_builder *builder, double phase_ms[ABUTI_BVH_PHASES]);

#endif
