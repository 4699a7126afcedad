/* Converts positions in doubles to floats rounded down and up, in the frame of a BVH, and to
 * corners of triangles; for devices with doubles. The host converts for the others, with the same
 * bits. */
#include "device/group_cl.h"

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

/* One work-item per coordinate. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_positions(__global const double *positions, __global float *vertices, double scale,
                uint count) {
    size_t i = get_global_id(0);
    if (i >= (size_t)count * 3)
        return;
    double x = positions[i] * scale;
    size_t to = i / 3 * 6 + i % 3;
    vertices[to] = convert_float_rtn(x);
    vertices[to + 3] = convert_float_rtp(x);
}

/* Corners of triangles in absolute coordinates: the bits of the input (see bvh_triangle()). One
 * work-item per corner. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_corners(__global const double *positions, __global const uint *indices, double origin_x,
              double origin_y, double origin_z, uint count, __global double *corners) {
    size_t i = get_global_id(0);
    if (i >= (size_t)count * 3)
        return;
    __global const double *p = positions + 3 * (size_t)indices[i];
    corners[3 * i] = origin_x + p[0];
    corners[3 * i + 1] = origin_y + p[1];
    corners[3 * i + 2] = origin_z + p[2];
}
