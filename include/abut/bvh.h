/* Bounding volume hierarchy of a mesh, on which all questions about meshes stand: <abut/nearest.h>,
 * <abut/sign.h>, <abut/ray.h>, <abut/pair.h>; and the triangles in a box.
 *
 * Answers are those of a search through all triangles with the functions of <abut/geom.h>, only
 * faster: yes and no are exact, distances are accurate as there, and where several triangles are
 * equally near the one of lowest index is given. They depend neither on the number of threads nor
 * on the processor. Points, rays and boxes are in absolute coordinates, as the mesh came in.
 *
 * Queries only read, so any number of threads may ask the same hierarchy at once.
 *
 * A hierarchy may be on a device, with a queue and scratch memory of its own: it is built there and
 * stays there. Batches (functions that end in _batch) then run on the device, one at a time for one
 * hierarchy. Their answers are those of the CPU, bit for bit, except for winding numbers of
 * surfaces with a border, which depend on the tree (<abut/sign.h>). Single questions run on the CPU
 * all the same: it gets a copy of the tree when it is first asked, also while a batch runs. Where
 * an answer depends on the tree (distances of bodies that touch, contacts, common volumes, rigid
 * sweeps), the CPU builds its own at the first such question, and the hierarchy keeps it. Batches
 * that need doubles fail with ABUT_ERROR_DEVICE on a device that has none. If a device fails
 * half-way through a batch, part of the answers has been written, and the hierarchy may still be
 * asked.
 *
 * Questions and answers of a batch are arrays (abut_array): memory of the host, or buffers on the
 * device of the hierarchy, in any combination. What is in a buffer stays there, but for winding
 * numbers of surfaces with a border, which end on the host. A buffer is refused where the hierarchy
 * is on the CPU or on another device, and with ABUT_ERROR_BUFFER where it is too small.
 */
#ifndef ABUT_BVH_H
#define ABUT_BVH_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_bvh abut_bvh;

typedef struct abut_bvh_options {
    size_t size;
    abut_device *device; /* where it is, and where batches run; null = the CPU */
} abut_bvh_options;

ABUT_DEFAULT(abut_bvh_options)

/* Builds the hierarchy of a mesh, which it keeps: O(n log n) for any input, at most 40 bytes a
 * triangle when done. `options` may be null. On a device the tree is another one of about the same
 * quality, the same on every device, and answers are the same except those documented to depend on
 * the hierarchy; the caller's hold on the device is not needed any longer. Fails with
 * ABUT_ERROR_DEVICE where the device does. Uses the context of the mesh; reports progress as stage
 * "bvh". Thread-safe. */
ABUT_API abut_status abut_bvh_create(abut_mesh *mesh, const abut_bvh_options *options,
                                     abut_bvh **bvh);
/* Releases the caller's reference; worlds and maps that use the hierarchy keep it alive. Null is
 * allowed. Thread-safe when no one else uses the caller's reference. */
ABUT_API void abut_bvh_destroy(abut_bvh *bvh);

/* Follows moved vertices: takes a mesh with the same triangles (same indices) and new positions,
 * and fits all boxes to it, in about a tenth of the time of a build. Answers are as exact as
 * after a build; speed suffers when triangles that were together move apart: see abut_bvh_info.
 * On failure the hierarchy is as before; but if a device fails half-way, it answers no more until a
 * refit succeeds. Not thread-safe: no one may ask it meanwhile. */
ABUT_API abut_status abut_bvh_set_mesh(abut_bvh *bvh, abut_mesh *mesh);

typedef struct abut_bvh_info {
    size_t size; /* sizeof(abut_bvh_info), set by the default function */
    uint32_t triangle_count;
    uint32_t node_count, depth; /* nodes of four children; nodes from the root to the deepest */
    uint64_t bytes;             /* beyond the mesh */
    double cost;         /* expected work of a random ray, in visits (surface area heuristic):
                          * the sum of the areas of all boxes over that of the root */
    double built_cost;   /* as it was after the build; on a device, when first told */
    bool should_rebuild; /* cost has grown by more than half: building anew will pay */
} abut_bvh_info;

ABUT_DEFAULT(abut_bvh_info)

/* Gets the size and the quality of a hierarchy. `info->size` must be set. A hierarchy on a device
 * uses its copy on the CPU; the cost is 0 if that copy cannot be made. Thread-safe. */
ABUT_API abut_status abut_bvh_get_info(const abut_bvh *bvh, abut_bvh_info *info);

/* The mesh that answers are about; null for null. It lives as long as the hierarchy keeps it.
 * Thread-safe. */
ABUT_API abut_mesh *abut_bvh_mesh(const abut_bvh *bvh);

/* ---- points ---- */

/* Points in the caller's memory, or in a buffer. */
typedef struct abut_points {
    size_t size;
    const void *points;    /* three scalars each; any alignment */
    abut_scalar_type type; /* must be said, unless there are none */
    size_t stride;         /* bytes from point to point; 0 = packed, as in a buffer always */
    size_t count;
    const abut_buffer *buffer; /* instead of `points`: on the device of the hierarchy; else null */
    bool is_sorted; /* points that follow each other lie close together, as along a surface or in
                     * rows of a grid: batches need not sort them. Answers are the same, only the
                     * time is not */
} abut_points;

ABUT_DEFAULT(abut_points)

/* Packed points of doubles (also an array of abut_vec3) or of floats. */
static inline abut_points abut_points_doubles(const void *points, size_t count) {
    abut_points made = abut_points_default();
    made.points = points;
    made.type = ABUT_SCALAR_FLOAT64;
    made.count = count;
    return made;
}
static inline abut_points abut_points_floats(const void *points, size_t count) {
    abut_points made = abut_points_doubles(points, count);
    made.type = ABUT_SCALAR_FLOAT32;
    return made;
}

/* ---- boxes ---- */

/* Finds all triangles that meet a box (lo <= hi on every axis), exactly; ascending. Writes them if
 * there are at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in
 * either case. `triangles` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_bvh_find_in_box(const abut_bvh *bvh, const abut_box *box,
                                          uint64_t capacity, uint32_t *triangles, uint64_t *count);

/* The same for many boxes on all threads: of `count` abut_box to offsets (uint64_t) and triangles
 * (uint32_t), with their total and errors as abut_ray_all_batch(); the triangles of box i begin at
 * triangles[offsets[i]]. Reports progress as stage "boxes". Thread-safe; on a device one batch at a
 * time. */
ABUT_API abut_status abut_bvh_find_in_box_batch(const abut_bvh *bvh, abut_array boxes, size_t count,
                                                uint64_t capacity, abut_array offsets,
                                                abut_array triangles, uint64_t *total);

#ifdef __cplusplus
}
#endif

#endif
