/* A BVH on a device: nodes and order of bvh.h, byte for byte, for traversal by kernels.
 *
 * It is uploaded from a BVH of the CPU, or built from a mesh on the device; either can be
 * downloaded. Owned by value; zero means "none", which may be destroyed too.
 */
#ifndef ABUTI_BVH_DEVICE_H
#define ABUTI_BVH_DEVICE_H

#include "bvh/bvh.h"
#include "device/kit.h"

typedef struct abuti_bvh_device {
    abut_device *device; /* holds a reference; null = none */
    abut_mesh *mesh;     /* holds a reference */
    abuti_buffer nodes;  /* bvh_node, node_count; the capacity may be larger */
    abuti_buffer order;  /* uint32_t, 4 per leaf */
    /* On request. Corners of the triangle at place i of `order` are floats 9 i to 9 i + 8, in the
     * frame, each with an error of less than one ulp. */
    abuti_buffer triangles;
    /* On request, if the device has doubles. Corners of triangle t are doubles 9 t to 9 t + 8,
     * absolute: the bits of the input. */
    abuti_buffer corners;
    /* Of a BVH that was built on a device, for refits: 3 indices per triangle, and for every slot
     * of a node the first leaf below it and their number. */
    abuti_buffer indices, ranges;
    uint32_t triangle_count, leaf_count, node_count, depth;
    double scale; /* from mesh positions to the frame; a power of two */
} abuti_bvh_device;

enum { ABUTI_BVH_TRIANGLES = 1, ABUTI_BVH_CORNERS = 2 };

/* Uploads a BVH to the device of the queue, with the arrays that `extras` selects. Waits. On
 * failure `to` stays unchanged. */
abut_status abuti_bvh_device_upload(abuti_queue *queue, const abut_bvh *bvh, uint32_t extras,
                                    abuti_bvh_device *to);
/* Creates a BVH of the CPU from one on a device, in a context; null = that of its mesh. Fits
 * blocks, which a device does not need, and boxes, which have the same bits as before. Waits. */
abut_status abuti_bvh_device_download(abuti_queue *queue, const abuti_bvh_device *from,
                                      abut_context *context, abut_bvh **bvh);
void abuti_bvh_device_destroy(abuti_bvh_device *bvh);

/* ---- device_build.c ---- */

/* Kernels and scratch memory of builds; the memory grows and is kept. Belongs to one queue, which
 * must outlive it, and to one user at a time. */
typedef struct abuti_bvh_builder abuti_bvh_builder;
/* The kernels whose programs it builds first: one of each program. */
enum { BVH_BUILDER_PLANS = 4 };
void abuti_bvh_builder_plans(abuti_kit_plan plans[BVH_BUILDER_PLANS]);
abut_status abuti_bvh_builder_create(abuti_queue *queue, abuti_bvh_builder **builder);
void abuti_bvh_builder_destroy(abuti_bvh_builder *builder);

/* Builds the BVH of a mesh, with the arrays that `extras` selects. Waits once, at the end. On
 * failure `to` stays unchanged. */
abut_status abuti_bvh_device_build(abuti_bvh_builder *builder, abut_mesh *mesh, uint32_t extras,
                                   abuti_bvh_device *to);
/* Fits boxes to a mesh with the same indices; the caller has checked that. The BVH must
 * have been built on the device. If the device fails, it must be built again. */
abut_status abuti_bvh_device_refit(abuti_bvh_builder *builder, abuti_bvh_device *bvh,
                                   abut_mesh *mesh);

#endif
