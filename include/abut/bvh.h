/* BVH of a mesh: a tree of bounding boxes (AABBs) over its triangles, which all other queries use:
 * <abut/nearest.h>, <abut/sign.h>, <abut/ray.h>, <abut/pair.h>, <abut/field.h>. This header also
 * has range queries: all triangles that intersect a box.
 *
 * Method: top-down build by the surface area heuristic with bins (Wald 2007), nodes with four
 * children, leaves with four triangles.
 *
 * Guarantee: results equal those of a loop over all triangles with the functions of <abut/geom.h>.
 * Yes-or-no results are exact, and distances are as accurate as there. If several triangles are
 * equally near, the one with the lowest index is returned. Results do not depend on the number of
 * threads or on the processor. Points, rays and boxes are in the absolute coordinates of the input
 * mesh.
 *
 * Queries only read a BVH, so any number of threads may query it at once. Some queries need data in
 * addition to the tree. The BVH keeps this data from query to query, and abut_bvh_prepare() builds
 * it in advance.
 *
 * Devices: a BVH can be built and kept on a device, with its own queue and scratch memory.
 *  - Batches (functions that end in _batch) run on the device, one at a time for each BVH. Results
 *    equal those of the CPU bit for bit, except winding numbers of open surfaces, which depend on
 *    the tree (<abut/sign.h>).
 *  - Single queries run on the CPU. The first one downloads the tree, also while a batch runs.
 *  - Some results depend on the tree: distances of overlapping bodies, contacts, intersection
 *    volumes and rigid sweeps. For these the CPU builds its own tree at the first such query, and
 *    the BVH keeps it.
 *  - On a device without doubles, batches return ABUT_ERROR_DEVICE, except those of <abut/pair.h>
 *    and abut_nearest_point_batch() with arrays of the host.
 *  - If a device fails during a batch, some results have been written. The BVH stays valid.
 *
 * Inputs and outputs of a batch are arrays (abut_array): host memory or buffers on the device of
 * the BVH, in any combination. Data in buffers stays on the device. A buffer is rejected with
 * ABUT_ERROR_ARGUMENT if the BVH is on the CPU or on another device, and with ABUT_ERROR_BUFFER if
 * it is too small. Points (abut_vec3), rays and boxes may be floats, and may have a stride in host
 * memory; see abut_array.
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
    abut_device *device; /* the device that builds and keeps the BVH and runs batches; null = CPU */
} abut_bvh_options;

ABUT_DEFAULT(abut_bvh_options)

/* Builds the BVH of a mesh and keeps a reference to the mesh. The time is O(n log n) for any input,
 * and the BVH has at most 40 bytes per triangle. `options` may be null. A device builds another
 * tree of about the same quality, the same on every device. Results are the same, except those that
 * are documented to depend on the tree. The BVH keeps a reference to the device. Returns
 * ABUT_ERROR_DEVICE if the device fails. Uses the context of the mesh. Reports progress as stage
 * "bvh". Thread-safe. */
ABUT_API abut_status abut_bvh_create(abut_mesh *mesh, const abut_bvh_options *options,
                                     abut_bvh **bvh);
/* Creates a mesh from arrays, as abut_mesh_create(), and builds its BVH on the CPU. abut_bvh_mesh()
 * returns the mesh. Thread-safe. */
ABUT_API abut_status abut_bvh_create_from_arrays(abut_context *context,
                                                 const abut_mesh_input *input, abut_bvh **bvh);
/* Reads a mesh from a file, as abut_mesh_read(), and builds its BVH on the CPU. abut_bvh_mesh()
 * returns the mesh. Thread-safe. */
ABUT_API abut_status abut_bvh_read(abut_context *context, const char *path, abut_bvh **bvh);
/* Releases the caller's reference. Worlds and maps that use the BVH keep it alive. Null is allowed.
 * Thread-safe if no other thread uses the caller's reference. */
ABUT_API void abut_bvh_destroy(abut_bvh *bvh);

/* Refits the BVH to a mesh with the same triangles (equal indices) and new positions, in about a
 * tenth of the time of a build. Results are as exact as after a build. Queries become slower if
 * triangles that were close to each other move apart: see abut_bvh_info. Returns
 * ABUT_ERROR_ARGUMENT if the triangles differ; the BVH is then unchanged. Returns ABUT_ERROR_MEMORY
 * if data that other queries keep with the BVH cannot be updated; the BVH is then refitted and
 * valid, and that data is created again when it is needed. If a device fails during a refit, all
 * queries return ABUT_ERROR_DEVICE until a refit succeeds. Not thread-safe: no other thread may use
 * the BVH during the call. */
ABUT_API abut_status abut_bvh_set_mesh(abut_bvh *bvh, abut_mesh *mesh);

typedef struct abut_bvh_info {
    size_t size; /* sizeof(abut_bvh_info), set by the default function */
    uint32_t triangle_count;
    uint32_t node_count, depth; /* nodes with four children; nodes from the root to the deepest */
    uint64_t bytes;             /* of the tree, without the mesh and without prepared data */
    double cost;         /* expected number of node visits of a random ray (surface area heuristic):
                          * the sum of the surface areas of all boxes over that of the root */
    double built_cost;   /* cost after the build; on a device, when the CPU first copied the tree */
    bool should_rebuild; /* cost exceeds 1.5 times built_cost: a new build pays */
} abut_bvh_info;

ABUT_DEFAULT(abut_bvh_info)

/* Stores size and quality. For a BVH on a device it uses the copy on the CPU; if that copy cannot
 * be made, cost is 0. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_bvh_get_info(const abut_bvh *bvh, abut_bvh_info *info);

/* Returns the mesh of the BVH; null for null. The pointer is valid as long as the BVH refers to
 * that mesh. Thread-safe. */
ABUT_API abut_mesh *abut_bvh_mesh(const abut_bvh *bvh);

/* ---- preparation ---- */

/* Bits of abut_bvh_prepare(): data that queries keep with a BVH. */
enum {
    ABUT_PREPARE_RAYS = 1, /* rays and closest points: a wider tree, 30 to 50 bytes per triangle */
    ABUT_PREPARE_OVERLAP = 2,  /* overlap tests and rigid sweeps: components and boundary of the
                                * surface; a few bytes if it is closed, up to 20 per triangle if it
                                * is open */
    ABUT_PREPARE_DISTANCE = 4, /* OVERLAP and RAYS, and for distances: bounds along mean normals,
                                * about 30 bytes per triangle */
    ABUT_PREPARE_CONTACTS = 8, /* DISTANCE, and for abut_contact_find(): topology and components,
                                * about 125 bytes per triangle */
    ABUT_PREPARE_VOLUME = 16, /* DISTANCE, and for abut_pair_measure(): topology, about 75 bytes per
                               * triangle */
    ABUT_PREPARE_HULL = 32,   /* colliders of kind ABUT_COLLIDER_HULL: faces and edges. The
                               * preparation verifies that the mesh is closed and convex */
    ABUT_PREPARE_SIGNS = 64   /* queries of <abut/sign.h>: as abut_sign_prepare() without options,
                               * unless it was called before */
};

/* Builds data for queries in advance: `data` combines the bits above by |. Data that exists is
 * kept. After this call, and until abut_bvh_set_mesh(), such queries build nothing.
 *
 * Without this call, queries build the data themselves: OVERLAP, CONTACTS, VOLUME and HULL in the
 * first query that needs them, RAYS and DISTANCE when queries without them have taken about as long
 * as building takes. Queries of signs never do; they require a preparation. Results are the same
 * with and without preparation. A query that builds data takes longer and allocates memory.
 *
 * abut_bvh_set_mesh() updates all data except RAYS and DISTANCE, which it discards; CONTACTS and
 * VOLUME then lack the part that DISTANCE includes. Call abut_bvh_prepare() again to complete them.
 *
 * On a device, RAYS and SIGNS prepare batches on that device. All other bits are for queries on the
 * CPU, and build a tree of the CPU. Returns ABUT_ERROR_ARGUMENT for unknown bits, and with HULL for
 * a mesh that is not closed and convex. On failure a part of the data may have been built, which is
 * harmless. Not thread-safe: no other thread may use the BVH during the call. */
ABUT_API abut_status abut_bvh_prepare(abut_bvh *bvh, uint32_t data);

/* ---- boxes ---- */

/* Finds all triangles that intersect a box, exactly, in ascending order. Returns
 * ABUT_ERROR_ARGUMENT if lo exceeds hi on an axis. Thread-safe. */
ABUT_API abut_status abut_bvh_find_in_box(const abut_bvh *bvh, const abut_box *box,
                                          abut_index_list *triangles);

/* The same for `count` boxes (abut_box), on all threads. The triangles (uint32_t) of box i are
 * triangles[offsets[i]] up to but not including triangles[offsets[i + 1]]; `offsets` (uint64_t) has
 * count + 1 elements. `total` and errors are as in abut_ray_all_batch(). Reports progress as stage
 * "boxes". Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_bvh_find_in_box_batch(const abut_bvh *bvh, abut_array boxes, size_t count,
                                                uint64_t capacity, abut_array offsets,
                                                abut_array triangles, uint64_t *total);

#ifdef __cplusplus
}
#endif

#endif
