/* The layout of a BVH, and functions that its files share.
 *
 * Layout: flat arrays with 32-bit indices that can be uploaded to a device unchanged.
 *  - Nodes with up to four children: boxes as a structure of arrays, so that one SIMD operation
 *    tests all four, and a reference to each child. Parents precede their children; node 0 is the
 *    root.
 *  - Leaves of exactly four triangles (the last one is filled up with its last triangle): leaf j
 *    has the triangles order[4j] to order[4j + 3].
 *  - Blocks, one per leaf: the corners of its triangles, quantised to 16 bits inside the box of the
 *    leaf. They give distances with a known error bound, never final results.
 *
 * Boxes are floats in the frame of the BVH: positions relative to the local origin of the mesh,
 * times a power of two that brings the largest coordinate between 1 and 2. The product is exact
 * unless it underflows, and the box is rounded outwards, so it contains the triangle in doubles.
 */
#ifndef ABUTI_BVH_H
#define ABUTI_BVH_H

#include "base/base.h"
#include "bvh/bvh_shared.h"
#include "mesh/mesh.h"

#include <abut/bvh.h>

#include <stdatomic.h>

_Static_assert(sizeof(bvh_node) == 112 && sizeof(bvh_block) == 72, "the layout that devices read");

/* The BVH on a device; see on_device.h. */
typedef struct bvh_on_device bvh_on_device;

/* ---- attachments.c: data of other modules that a BVH owns ----
 *
 * An attachment begins with a bvh_attachment, and its kind is the key by which it is found. It is
 * created on first use, notified when the tree has been refitted, and destroyed with its owner: a
 * BVH, or its device side. */
typedef struct bvh_attachment {
    const struct bvh_attachment_kind *kind;
    abut_context *context; /* that of its owner */
    struct bvh_attachment *next;
    bool is_unwanted; /* set by refit(): it is destroyed */
} bvh_attachment;

typedef struct bvh_attachment_kind {
    size_t bytes;
    /* Initialises a zeroed attachment. On failure `destroy` follows. */
    abut_status (*create)(bvh_attachment *attachment, void *owner);
    /* The tree has been refitted; null = does not matter. An attachment that fails is destroyed. So
     * is one that has abuti_bvh_discard_attachment() here; it is created again on next use. */
    abut_status (*refit)(bvh_attachment *attachment);
    /* Releases what the attachment owns, but not the attachment itself. */
    void (*destroy)(bvh_attachment *attachment);
} bvh_attachment_kind;

typedef struct bvh_attachments {
    _Atomic(bvh_attachment *) first;
} bvh_attachments;

/* Returns the attachment of a kind, or null. */
static inline bvh_attachment *abuti_bvh_find_attachment(const bvh_attachments *attachments,
                                                        const bvh_attachment_kind *kind) {
    bvh_attachment *attachment = attachments->first;
    while (attachment && attachment->kind != kind)
        attachment = attachment->next;
    return attachment;
}
/* The same; creates it if there is none. Not thread-safe. */
abut_status abuti_bvh_get_attachment(abut_context *context, bvh_attachments *attachments,
                                     const bvh_attachment_kind *kind, void *owner,
                                     bvh_attachment **attachment);
/* The same for an attachment of a BVH on the CPU that depends on the BVH only; the BVH is its
 * owner. Thread-safe for concurrent queries of a const BVH. */
abut_status abuti_bvh_share_attachment(const abut_bvh *bvh, const bvh_attachment_kind *kind,
                                       bvh_attachment **attachment);
/* The same, but creates the attachment only after queries without it have cost `threshold`. Adds
 * `cost` to the counter of that cost. Returns null until then, while another thread creates it, and
 * for as long again if memory is exhausted. */
bvh_attachment *abuti_bvh_earn_attachment(const abut_bvh *bvh, const bvh_attachment_kind *kind,
                                          atomic_size_t *counter, size_t cost, size_t threshold);
/* Creates an attachment that is in no list yet; adds an attachment to a list and destroys the
 * previous one of its kind. */
abut_status abuti_bvh_create_attachment(abut_context *context, const bvh_attachment_kind *kind,
                                        void *owner, bvh_attachment **attachment);
void abuti_bvh_replace_attachment(bvh_attachments *attachments, bvh_attachment *attachment);
abut_status abuti_bvh_discard_attachment(bvh_attachment *attachment);
/* Notifies all attachments. Returns the first failure. */
abut_status abuti_bvh_refit_attachments(bvh_attachments *attachments);
void abuti_bvh_destroy_attachments(bvh_attachments *attachments);

struct abut_bvh {
    abut_context *context; /* holds a reference */
    atomic_uint holds;     /* reference count: the caller, worlds and maps */
    abut_mesh *mesh;       /* holds a reference */
    uint32_t triangle_count, leaf_count, node_count, depth;
    double scale;       /* from mesh positions to the frame; a power of two */
    bool has_no_inside; /* all components are sheets, whatever their holes are: cloth */
    /* Arrays of the CPU; a BVH on a device has none until abuti_bvh_ensure_host(). */
    bvh_node *nodes;
    bvh_block *blocks;
    uint32_t *order; /* 4 per leaf */
    double cost, built_cost;
    atomic_int host;      /* of a BVH on a device: a bvh_host_state */
    bvh_on_device *there; /* null = on the CPU */
    const struct abut_bvh
        *base; /* of a copy on a device: the original with the arrays of the CPU; otherwise null */
    _Atomic(struct bvh_solid *) solid; /* created on first use; see solid.c */
    bvh_attachments parts;             /* data of other modules, on the CPU */
    atomic_size_t query_count; /* points and rays since the build or the last refit; see wide.h */
    atomic_size_t pair_steps;  /* the same for steps of distance searches; see pair/disc_bounds.h */
};

/* Allocates a BVH without a tree, with references to a context and a mesh; null = no memory. */
abut_bvh *abuti_bvh_allocate(abut_context *context, abut_mesh *mesh);
/* Adds a reference, which abut_bvh_destroy() releases. Null is allowed. Thread-safe. */
abut_bvh *abuti_bvh_retain(const abut_bvh *bvh);

/* ---- build_lanes.c: the binary tree ---- */

/* A node of the binary tree. The left child follows it; a leaf has no right child (0). */
typedef struct bvh_split {
    float area;
    uint32_t right, leaf;
} bvh_split;

/* Sorts the triangles into leaves and builds the binary tree over them, 2 leaf_count - 1 nodes. */
typedef abut_status bvh_splitter(abut_context *context, const abut_mesh *mesh, double scale,
                                 uint32_t *order, bvh_split *splits);
bvh_splitter abuti_bvh_split_4, abuti_bvh_split_8, abuti_bvh_split_16;

/* ---- on_device.c: BVHs on a device ---- */

typedef enum bvh_host_state { BVH_HOST_NONE = 0, BVH_HOST_LOADING, BVH_HOST_READY } bvh_host_state;

/* Makes sure that the CPU has the arrays: a BVH on a device is downloaded on first use.
 * Thread-safe, also while a batch runs on the device. */
abut_status abuti_bvh_ensure_host(const abut_bvh *bvh);
/* Builds on a device. On failure `bvh` has no device side. */
abut_status abuti_bvh_build_on_device(abut_bvh *bvh, abut_device *device);
/* Refits to a mesh with the same indices, and discards the arrays of the CPU. */
abut_status abuti_bvh_refit_on_device(abut_bvh *bvh, abut_mesh *mesh);
void abuti_bvh_destroy_on_device(bvh_on_device *there);
/* Fails if the tree on the device is invalid because a refit failed. */
abut_status abuti_bvh_check_on_device(const char *function, const abut_bvh *bvh);
/* Uploads a BVH of the CPU to a device, for batches there. `from` must outlive the copy. Neither
 * may be refitted meanwhile. */
abut_status abuti_bvh_copy_to_device(const abut_bvh *from, abut_device *device, abut_bvh **copy);

/* The factor from positions of a mesh to the frame. */
double abuti_bvh_scale(const abut_mesh *mesh);

/* ---- refit_lanes.c: boxes, from the leaves up ---- */

/* Fits all boxes and blocks to the positions of a mesh, and computes their cost. */
typedef void bvh_fitter(abut_bvh *bvh, const abut_mesh *mesh);
bvh_fitter abuti_bvh_fit, abuti_bvh_fit_4, abuti_bvh_fit_8, abuti_bvh_fit_16;

/* The largest float that is not above x, and the smallest not below. The next float is computed
 * with integers, since a branch would be unpredictable. */
static inline float bvh_float_below(double x) {
    float f = (float)x;
    uint32_t bits, step = f > x;
    memcpy(&bits, &f, sizeof bits);
    bits |= (step & (uint32_t)(bits << 1 == 0)) << 31; /* the float below 0 is that below -0 */
    bits += step * (2 * (bits >> 31) - 1);
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline float bvh_float_above(double x) {
    return -bvh_float_below(-x);
}

/* The corners in absolute coordinates: the bits of the input. */
static inline abut_triangle bvh_triangle(const abut_mesh *mesh, uint32_t triangle) {
    abut_triangle t;
    for (int k = 0; k < 3; k++)
        t.corner[k] =
            v3_add(mesh->origin, mesh->positions[mesh->indices[3 * (size_t)triangle + (size_t)k]]);
    return t;
}

/* The bounding box of a triangle in the frame. */
static inline void bvh_triangle_box(const abut_mesh *mesh, double scale, uint32_t triangle,
                                    double lo[3], double hi[3]) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    box3 box = {mesh->positions[corner[0]], mesh->positions[corner[0]]};
    box = box_grow(box_grow(box, mesh->positions[corner[1]]), mesh->positions[corner[2]]);
    lo[0] = box.lo.x * scale;
    lo[1] = box.lo.y * scale;
    lo[2] = box.lo.z * scale;
    hi[0] = box.hi.x * scale;
    hi[1] = box.hi.y * scale;
    hi[2] = box.hi.z * scale;
}

/* ---- queries ---- */

/* Validates the arguments of a query that the CPU computes: fails on null pointers, and makes sure
 * that the CPU has the arrays. */
abut_status abuti_bvh_check(const char *function, const abut_bvh *bvh, const void *out,
                            const char *out_name);
/* Validates the arguments of a query that runs where the BVH is. */
abut_status abuti_bvh_check_batch(const char *function, const abut_bvh *bvh, const void *out,
                                  const char *out_name);
/* Validates an array of the caller: memory of the host, or a buffer of the device of the BVH that
 * is large enough. */
abut_status abuti_bvh_check_array(const char *function, const char *what, const abut_bvh *bvh,
                                  abut_array array, uint64_t count, size_t element_bytes);
/* Checks that a mesh has the same triangles as the one that a BVH was built for. */
abut_status abuti_bvh_check_refit(const char *function, const abut_mesh *old,
                                  const abut_mesh *mesh);
abut_status abuti_bvh_check_point(const char *function, const char *what, abut_vec3 point);
abut_status abuti_bvh_check_limit(const char *function, const char *what, double limit);

/* The number of triangles of a leaf. */
static inline uint32_t bvh_leaf_fill(const abut_bvh *bvh, uint32_t leaf) {
    uint32_t left = bvh->triangle_count - BVH_WIDTH * leaf;
    return left < BVH_WIDTH ? left : BVH_WIDTH;
}

/* Returns the CPU tree of the mesh of a BVH that a device has built; others are their own. The
 * first call builds it; it is refitted with its owner. Thread-safe. */
abut_status abuti_bvh_cpu_tree(const abut_bvh *bvh, const abut_bvh **tree);

/* ---- solid.c: components, boundary and interior of a surface ---- */

/* Components, connected through shared vertices. */
typedef struct bvh_components {
    uint32_t count;
    uint32_t *vertex; /* the lowest vertex in a triangle of each component */
    uint32_t *part;   /* of each vertex, as by abuti_vertex_components(); null if the surface has no
                         boundary   edges */
} bvh_components;

/* The interior of a surface: that of its components that are not sheets. */
typedef struct bvh_interior {
    bool has_solids, has_sheets;
    bool flipped;          /* as in bvh_solid, for the solid components */
    uint32_t border_count; /* of the solid components */
    uint32_t (*border)[2];
    bool *is_sheet; /* whether a triangle belongs to a sheet; null unless there are both sheets and
                       solids */
} bvh_interior;

/* The boundary: the directed edges that triangles traverse more often than in the opposite
 * direction, as many times as the difference. Vertices with equal coordinates are merged if the
 * surface would have a boundary otherwise. */
typedef struct bvh_solid {
    uint32_t border_count;
    bool flipped; /* some edge has a difference of two, as between neighbours that face opposite
                     ways */
    uint32_t (*border)[2]; /* from, to */
    bool *single;          /* whether such an edge has exactly one face */
    uint32_t *names; /* the lowest vertex with equal coordinates; null if vertices are not merged */
    uint32_t *table; /* a hash table for boundary vertices with equal coordinates after a refit */
    size_t table_size;               /* a power of two, or 0 without a boundary */
    _Atomic(bvh_components *) parts; /* null until the first query; so is `interior` */
    _Atomic(bvh_interior *) interior;
} bvh_solid;

/* Returns the solid of a BVH. The first call computes it; the BVH owns it. Thread-safe. */
abut_status abuti_bvh_solid(const abut_bvh *bvh, const bvh_solid **solid);
/* The same for its components. */
abut_status abuti_bvh_components(const abut_bvh *bvh, const bvh_components **parts);
/* The same for its interior. A component is a sheet, without an interior, if its holes exceed
 * ABUT_SHEET_HOLE_FRACTION of its area. Computed again after a refit. */
abut_status abuti_bvh_interior(const abut_bvh *bvh, const bvh_interior **interior);
/* Whether merged corners of triangles still have equal coordinates. The mesh has the triangles of
 * the mesh that was merged; its unused vertices may differ, even in number. */
bool abuti_bvh_merged_vertices_coincide(const abut_mesh *mesh, const uint32_t *names);
/* After a refit: discards the solid if merged vertices have separated, or if boundary vertices have
 * become equal. Always discards the interior. */
void abuti_bvh_solid_fit(abut_bvh *bvh);
void abuti_bvh_solid_destroy(abut_bvh *bvh);

#endif
