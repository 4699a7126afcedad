/* The nearest surface of each pixel.
 *
 * raster_small          one work-item per triangle: draws small shapes, lists the others
 * raster_large_parts    one work-group per part of a large shape: every n-th block of pixels
 * raster_finish         converts keys to the requested images
 *
 * The first two run twice: all depths are written first, and then the triangles of equal depth.
 * If the list is too small, its shapes are still counted, and the host enlarges it and draws again.
 * Drawing twice does not change pixels that are complete.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "raster/draw_shared.h"

enum { TRIANGLE = 0, DEPTH = 1 }; /* words of a key */

/* Both only decrease, so that a value that was read too early only costs an atomic operation. */
static void write_key(__global uint *keys, size_t pixel, uint z, uint triangle, uint how) {
    volatile __global uint *key = keys + 2 * pixel;
    if (how == RASTER_PASS_DEPTHS) {
        if (z < key[DEPTH])
            atomic_min(&key[DEPTH], z);
    } else if (z == key[DEPTH] && triangle < key[TRIANGLE]) {
        atomic_min(&key[TRIANGLE], triangle);
    }
}

static void write_pixel(__global const raster_job *job, __global uint *keys, const raster_shape *s,
                        int x, int y, uint how) {
    const size_t pixel = (size_t)(y - job->in.y0) * job->camera.lens.width + (size_t)x;
    write_key(keys, pixel, raster_draw_depth(s, x, y, (int)job->touching), s->part, how);
}

/* Draws a small shape, or lists a large one; it is already listed if triangles follow depths. */
static void draw_shape(__global const raster_job *job, const raster_lens *lens,
                       const raster_shape *s, __global uint *keys, __global raster_large *large,
                       __global uint *large_count, uint how) {
    const raster_setup pen = raster_setup_of(lens, s, job->in, (int)job->touching);
    const raster_rect box = pen.box;
    const ulong pixels = (ulong)(box.x1 - box.x0 + 1) * (ulong)(box.y1 - box.y0 + 1);
    if (pixels <= RASTER_SMALL) {
        for (int y = box.y0; y <= box.y1; y++)
            for (int x = box.x0; x <= box.x1; x++)
                if (raster_covers(pen.side, x, y))
                    write_pixel(job, keys, s, x, y, how);
    } else if (how == RASTER_PASS_DEPTHS) {
        const ulong wanted = pixels / (RASTER_ITEMS * RASTER_PART_BLOCKS) + 1;
        const uint parts = (uint)min(wanted, (ulong)job->parts);
        const uint at = atomic_add(large_count, parts);
        for (uint k = 0; k < parts && at + k < job->room; k++) {
            large[at + k].shape = *s;
            large[at + k].part = k;
            large[at + k].parts = parts;
        }
    }
}

__kernel void raster_small(__global const raster_job *job, __global const raster_placed *items,
                           __global const double *vertices, __global const uint *indices,
                           __global uint *keys, __global raster_large *large,
                           __global uint *large_count, uint how) {
    const uint triangle = (uint)get_global_id(0);
    if (triangle >= job->triangles)
        return;
    __global const raster_placed *item = items + raster_item_of(items, job->items, triangle);
    const raster_frame frame = item->frame;
    const raster_lens lens = job->camera.lens;
    raster_corner corner[3];
    for (int k = 0; k < 3; k++) {
        const uint t = item->first_triangle + triangle - item->first;
        const uint v = item->first_vertex + indices[3 * (size_t)t + k];
        __global const double *from = vertices + 3 * (size_t)v;
        corner[k] = raster_corner_of(&lens, &frame, v3(from[0], from[1], from[2]));
    }
    raster_shape shapes[RASTER_CORNERS];
    const int made = raster_shapes(&lens, &corner[0], &corner[1], &corner[2], 0, triangle,
                                   (int)job->touching, job->in, shapes);
    for (int k = 0; k < made; k++)
        draw_shape(job, &lens, &shapes[k], keys, large, large_count, how);
}

__kernel void raster_large_parts(__global const raster_job *job, __global const raster_large *large,
                                 __global const uint *large_count, __global uint *keys, uint how) {
    const uint count = min(*large_count, job->room);
    const int dx = (int)get_local_id(0) % 8, dy = (int)get_local_id(0) / 8;
    const raster_lens lens = job->camera.lens;
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        const raster_shape s = large[i].shape;
        const raster_setup pen = raster_setup_of(&lens, &s, job->in, (int)job->touching);
        const int x0 = pen.box.x0 / 8, y0 = pen.box.y0 / 8;
        const uint across = (uint)(pen.box.x1 / 8 - x0 + 1);
        const uint blocks = across * (uint)(pen.box.y1 / 8 - y0 + 1);
        for (uint k = large[i].part; k < blocks; k += large[i].parts) {
            const int left = 8 * (x0 + (int)(k % across)), top = 8 * (y0 + (int)(k / across));
            long inside = 0; /* negative: the whole block is outside a side */
            for (int e = 0; e < 3; e++)
                inside |= raster_at(&pen.side[e], left + (pen.side[e].dx > 0 ? 7 : 0),
                                    top + (pen.side[e].dy > 0 ? 7 : 0));
            const int x = left + dx, y = top + dy;
            if (inside >= 0 && x >= pen.box.x0 && x <= pen.box.x1 && y >= pen.box.y0 &&
                y <= pen.box.y1 && raster_covers(pen.side, x, y))
                write_pixel(job, keys, &s, x, y, how);
        }
    }
}

/* Each array has its own index of the first element. */
__kernel void raster_finish(__global const raster_job *job, __global const raster_placed *items,
                            __global const uint *keys, uint wanted, __global float *depths,
                            ulong first_depth, __global uint *item_of, ulong first_item,
                            __global uint *triangles, ulong first_triangle) {
    const size_t pixel = get_global_id(0);
    const size_t rows = (size_t)(job->in.y1 - job->in.y0 + 1);
    if (pixel >= rows * job->camera.lens.width)
        return;
    const uint z = keys[2 * pixel + DEPTH], triangle = keys[2 * pixel + TRIANGLE];
    const int empty = triangle == ABUT_NONE;
    const uint item = empty ? ABUT_NONE : raster_item_of(items, job->items, triangle);
    if (wanted & RASTER_WANT_DEPTHS)
        depths[first_depth + pixel] =
            empty ? INFINITY : (float)raster_distance(&job->camera, (double)z);
    if (wanted & RASTER_WANT_ITEMS)
        item_of[first_item + pixel] = item;
    if (wanted & RASTER_WANT_TRIANGLES)
        triangles[first_triangle + pixel] = empty ? ABUT_NONE : triangle - items[item].first;
}

#endif
