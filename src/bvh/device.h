/* A hierarchy on a device: the arrays of bvh.h, byte for byte, for kernels to walk through.
 *
 * It comes from a hierarchy of the CPU by upload, or from a mesh by a build on the device itself;
 * either can go back to the CPU. Held by value; zero means "none", which may be destroyed too.
 */
#ifndef ABUTI_BVH_DEVICE_H
#define ABUTI_BVH_DEVICE_H

#include "bvh/bvh.h"
#include "device/device.h"

typedef struct abuti_bvh_device {
    abut_device *device; /* held; null = none */
    abut_mesh *mesh;     /* held */
    abuti_buffer nodes;  /* bvh_node, node_count; there may be room for more */
    abuti_buffer blocks; /* bvh_block, leaf_count */
    abuti_buffer order;  /* uint32_t, 4 a leaf */
    /* Where asked for. Corners of the triangle at place i of `order` are floats 9 i to 9 i + 8, in
     * the frame, rounded to nearest. */
    abuti_buffer triangles;
    /* Where asked for and the device has doubles, else none. Corners of triangle t are doubles 9 t
     * to 9 t + 8, absolute: exactly those that came in. */
    abuti_buffer corners;
    uint32_t triangle_count, leaf_count, node_count, depth;
    double scale; /* into the frame; a power of two */
} abuti_bvh_device;

enum { ABUTI_BVH_TRIANGLES = 1, ABUTI_BVH_CORNERS = 2 };

/* Copies a hierarchy to the device of the queue, with what `extras` names beside. Waits. On failure
 * `to` is left as it was. */
abut_status abuti_bvh_device_upload(abuti_queue *queue, const abut_bvh *bvh, uint32_t extras,
                                    abuti_bvh_device *to);
/* Makes a hierarchy for the CPU of one on a device. Waits. */
abut_status abuti_bvh_device_download(abuti_queue *queue, const abuti_bvh_device *from,
                                      abut_bvh **bvh);
void abuti_bvh_device_destroy(abuti_bvh_device *bvh);

#endif
