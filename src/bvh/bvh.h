/* What the files of the hierarchy share: its layout, and how triangles and boxes get into it.
 *
 * Layout, all of it flat arrays with 32-bit indices that can go to a device as they are:
 *  - nodes of up to four children each: boxes as structure of arrays, so that one SIMD operation
 *    looks at all four, and a reference to each child. Parents stand before their children; node 0
 *    is the root.
 *  - leaves of exactly four triangles (the last one is filled up with its last triangle): leaf
 *    j has the triangles order[4j] to order[4j + 3].
 *  - blocks, one a leaf: the corners of its triangles as 16-bit steps inside the leaf's box.
 *    They are good for distances that err by a known bound, never for an answer.
 *
 * Boxes are floats in the frame of the hierarchy: positions relative to the mesh's origin times a
 * power of two that brings the largest coordinate between 1 and 2. The product is exact unless it
 * underflows, and the box is rounded outwards, so that it holds the triangle of doubles.
 */
#ifndef ABUTI_BVH_H
#define ABUTI_BVH_H

#include "base/base.h"
#include "bvh/bvh_shared.h"
#include "mesh/mesh.h"

#include <abut/bvh.h>

#include <stdatomic.h>

_Static_assert(sizeof(bvh_node) == 112 && sizeof(bvh_block) == 72, "the layout that devices read");

/* The device's side of a hierarchy; see on_device.h. */
typedef struct bvh_on_device bvh_on_device;
typedef struct bvh_compact bvh_compact;

/* ---- attachments.c: what higher floors keep with a hierarchy ----
 *
 * A part begins with a bvh_part, and its kind is the key by which it is found. It is made when it
 * is first wanted, told when the tree has been refitted, and destroyed with its owner: a hierarchy,
 * or the device's side of one.
 */
typedef struct bvh_part {
    const struct bvh_part_kind *kind;
    abut_context *context; /* that of its owner */
    struct bvh_part *next;
} bvh_part;

typedef struct bvh_part_kind {
    size_t bytes;
    /* Fills in what is zero. On failure `destroy` follows. */
    abut_status (*create)(bvh_part *part, void *owner);
    /* The tree has changed; null = that does not matter. A part that fails is destroyed, and so is
     * one that has abuti_bvh_part_forget() here, until it is wanted again. */
    abut_status (*refit)(bvh_part *part);
    /* Gives up what it has, but not the part itself. */
    void (*destroy)(bvh_part *part);
} bvh_part_kind;

typedef struct bvh_parts {
    _Atomic(bvh_part *) first;
} bvh_parts;

/* The part of a kind, or null. */
static inline bvh_part *abuti_bvh_part(const bvh_parts *parts, const bvh_part_kind *kind) {
    bvh_part *part = parts->first;
    while (part && part->kind != kind)
        part = part->next;
    return part;
}
/* The same; made if there is none. Not thread-safe. */
abut_status abuti_bvh_part_get(abut_context *context, bvh_parts *parts, const bvh_part_kind *kind,
                               void *owner, bvh_part **part);
/* The same for a part of a hierarchy that is made of it alone, which is the owner; on the CPU.
 * Thread-safe among questions, as a const hierarchy may be asked by many. */
abut_status abuti_bvh_part_share(const abut_bvh *bvh, const bvh_part_kind *kind, bvh_part **part);
/* The same where it is made only when questions have spent enough without it, of which `more` come
 * to those that `spent` counts: null until then, while another thread makes it, and for as long
 * again where there is no memory. */
bvh_part *abuti_bvh_part_earned(const abut_bvh *bvh, const bvh_part_kind *kind,
                                atomic_size_t *spent, size_t more, size_t enough);
/* Makes a part that is in no list yet, and puts one there instead of that of its kind. */
abut_status abuti_bvh_part_make(abut_context *context, const bvh_part_kind *kind, void *owner,
                                bvh_part **part);
void abuti_bvh_part_put(bvh_parts *parts, bvh_part *part);
abut_status abuti_bvh_part_forget(bvh_part *part);
/* Tells all; the first failure is told. */
abut_status abuti_bvh_parts_refit(bvh_parts *parts);
void abuti_bvh_parts_destroy(bvh_parts *parts);

struct abut_bvh {
    abut_context *context; /* held */
    atomic_uint holds;     /* references: the caller's, and those of worlds and maps */
    abut_mesh *mesh;       /* held */
    uint32_t triangle_count, leaf_count, node_count, depth;
    double scale; /* into the frame; a power of two */
    /* The CPU's arrays; of a hierarchy on a device none until abuti_bvh_host(). */
    bvh_node *nodes;
    bvh_block *blocks;
    uint32_t *order;      /* 4 a leaf */
    bvh_compact *compact; /* null where there is none; see compact.h */
    double cost, built_cost;
    atomic_int host;                   /* of a hierarchy on a device: a bvh_host_state */
    bvh_on_device *there;              /* null = it is on the CPU */
    const struct abut_bvh *base;       /* of a copy on a device: has the CPU's arrays; else null */
    _Atomic(struct bvh_solid *) solid; /* made when first wanted; see solid.c */
    bvh_parts parts;                   /* what higher floors keep with it on the CPU */
    atomic_size_t ray_count;           /* rays in batches since it was built or refitted */
    atomic_size_t pair_steps;  /* the same of searches for distances; see pair/disc_bounds.h */
    atomic_size_t pair_effort; /* and of those for pairs equally near; see pair/closest_proof.h */
};

/* Adds a reference, which abut_bvh_destroy() releases. Null is allowed. Thread-safe. */
abut_bvh *abuti_bvh_retain(const abut_bvh *bvh);

/* ---- build.c: which triangles stand together ---- */

/* A node of the binary tree. The left child follows; a leaf has no right one (0). */
typedef struct bvh_split {
    float area;
    uint32_t right, leaf;
} bvh_split;

/* Sorts the triangles into leaves and gives the tree over them, 2 leaf_count - 1 nodes. */
abut_status abuti_bvh_split(abut_context *context, const abut_mesh *mesh, double scale,
                            uint32_t *order, bvh_split *splits);
/* The same tree, with AVX2: minima and single roundings are the same. */
abut_status abuti_bvh_split_8(abut_context *context, const abut_mesh *mesh, double scale,
                              uint32_t *order, bvh_split *splits);

/* ---- on_device.c: hierarchies on a device ---- */

typedef enum bvh_host_state { BVH_HOST_NONE = 0, BVH_HOST_COMING, BVH_HOST_READY } bvh_host_state;

/* Makes sure that the CPU has the arrays: a hierarchy on a device is copied back when that is first
 * needed. Thread-safe, also while a batch runs on the device. */
abut_status abuti_bvh_host(const abut_bvh *bvh);
/* Builds on a device. On failure `bvh` has nothing there. */
abut_status abuti_bvh_there_build(abut_bvh *bvh, abut_device *device);
/* Fits to a mesh of the same indices, and forgets the CPU's arrays. */
abut_status abuti_bvh_there_refit(abut_bvh *bvh, abut_mesh *mesh);
void abuti_bvh_there_destroy(bvh_on_device *there);
/* Fails where the tree on the device is none: a refit failed half-way. */
abut_status abuti_bvh_there_check(const char *function, const abut_bvh *bvh);
/* Copies a hierarchy of the CPU to a device, for batches there. `from` must outlive the copy and is
 * not refitted meanwhile, nor is the copy. */
abut_status abuti_bvh_copy(const abut_bvh *from, abut_device *device, abut_bvh **copy);

/* ---- fit.c: boxes, from the leaves up ---- */

double abuti_bvh_scale(const abut_mesh *mesh);
/* Fits all boxes and blocks to the positions of a mesh. */
void abuti_bvh_fit(abut_bvh *bvh, const abut_mesh *mesh);
/* The same bits, with AVX2: every operation is rounded once. */
void abuti_bvh_fit_8(abut_bvh *bvh, const abut_mesh *mesh);
/* Of boxes that stand; see abut_bvh_info. */
double abuti_bvh_cost(const abut_bvh *bvh);

/* ---- compact.c: a tree of sixteen children for single searches ---- */

/* Makes it where there should be one, without boxes. */
abut_status abuti_bvh_compact_create(abut_bvh *bvh);
/* Fits its boxes to those of the hierarchy, unless another thread does. Whether they are fitted. */
bool abuti_bvh_compact_fit(const abut_bvh *bvh);
/* The boxes of the hierarchy have changed. */
void abuti_bvh_compact_forget(abut_bvh *bvh);
size_t abuti_bvh_compact_bytes(const bvh_compact *tree);
/* What the CPU's arrays take. */
uint64_t abuti_bvh_bytes(const abut_bvh *bvh);

/* The largest float that is not above x, and the smallest not below. The step to the next float is
 * one of whole numbers, without a branch, since none could be foreseen. */
static inline float bvh_float_below(double x) {
    float f = (float)x;
    uint32_t bits, step = f > x;
    memcpy(&bits, &f, sizeof bits);
    bits |= (step & (uint32_t)(bits << 1 == 0)) << 31; /* below 0 is -0 and one more */
    bits += step * (2 * (bits >> 31) - 1);
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline float bvh_float_above(double x) {
    return -bvh_float_below(-x);
}

/* The corners in absolute coordinates: exactly those that came in. */
static inline abut_triangle bvh_triangle(const abut_mesh *mesh, uint32_t triangle) {
    abut_triangle t;
    for (int k = 0; k < 3; k++)
        t.corner[k] =
            v3_add(mesh->origin, mesh->positions[mesh->indices[3 * (size_t)triangle + (size_t)k]]);
    return t;
}

/* The box of a triangle in the frame. */
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

/* The door of every question that the CPU answers: refuses null, and sees to the CPU's arrays. */
abut_status abuti_bvh_check(const char *function, const abut_bvh *bvh, const void *out,
                            const char *out_name);
/* The door of every question that is asked where the hierarchy is. */
abut_status abuti_bvh_check_batch(const char *function, const abut_bvh *bvh, const void *out,
                                  const char *out_name);
/* Whether a hierarchy can use a caller's array: memory of the host, or a buffer of its device that
 * is large enough. */
abut_status abuti_bvh_check_array(const char *function, const char *what, const abut_bvh *bvh,
                                  abut_array array, uint64_t count, size_t element_bytes);
/* Whether a mesh has the same triangles as the one that a hierarchy was built for. */
abut_status abuti_bvh_check_refit(const char *function, const abut_mesh *old,
                                  const abut_mesh *mesh);
abut_status abuti_bvh_check_point(const char *function, const char *what, abut_vec3 point);
abut_status abuti_bvh_check_limit(const char *function, const char *what, double limit);

/* How many triangles a leaf has. */
static inline uint32_t bvh_leaf_fill(const abut_bvh *bvh, uint32_t leaf) {
    uint32_t left = bvh->triangle_count - BVH_WIDTH * leaf;
    return left < BVH_WIDTH ? left : BVH_WIDTH;
}

/* ---- cpu_tree.c ---- */

/* The CPU's hierarchy for the mesh of one that a device has built; others are their own. Made by
 * the first call, and refitted with its owner. Thread-safe. */
abut_status abuti_bvh_cpu_tree(const abut_bvh *bvh, const abut_bvh **tree);

/* ---- solid.c: what a surface is made of ---- */

/* Connected parts, through shared vertices. */
typedef struct bvh_solid_parts {
    uint32_t count;
    uint32_t *vertex; /* of each the lowest in a triangle */
    uint32_t *part;   /* of each vertex, as by abuti_vertex_components(); null if the surface has no
                       * border */
} bvh_solid_parts;

/* What the surface contains: of its parts, those that are no sheets have an inside. */
typedef struct bvh_interior {
    bool has_solids, has_sheets;
    bool flipped;          /* as bvh_solid, of the solid parts */
    uint32_t border_count; /* of the solid parts */
    uint32_t (*border)[2];
    bool *is_sheet; /* whether a triangle is of a sheet; null if there are not both */
} bvh_interior;

/* The border: the directed edges by which triangles run more often than the other way, as often as
 * that. Vertices of equal coordinates count as one where the surface would have a border otherwise.
 */
typedef struct bvh_solid {
    uint32_t border_count;
    bool flipped;          /* some edge is run along twice more often one way, as where neighbours
                            * face opposite ways */
    uint32_t (*border)[2]; /* from, to */
    bool *single;          /* whether such an edge has one face alone */
    uint32_t *names;       /* the lowest vertex in the place of each; null where not looked at */
    uint32_t *table;       /* room to look for border vertices in one place after a refit */
    size_t table_size;     /* a power of two, or 0 without a border */
    _Atomic(bvh_solid_parts *) parts; /* null until the first query, as the next */
    _Atomic(bvh_interior *) interior;
} bvh_solid;

/* Gives it; made by the first call and kept by the hierarchy. Thread-safe. */
abut_status abuti_bvh_solid(const abut_bvh *bvh, const bvh_solid **solid);
/* The same for its parts. */
abut_status abuti_bvh_solid_parts(const abut_bvh *bvh, const bvh_solid_parts **parts);
/* The same for what it contains. A part is a sheet, without an inside, if its holes exceed
 * ABUT_SHEET_HOLE_FRACTION of its area. Measured again after a refit. */
abut_status abuti_bvh_interior(const abut_bvh *bvh, const bvh_interior **interior);
/* Whether corners of triangles that were in one place, by name, still are. The mesh has the
 * triangles of the one that was named, and may have other vertices that none uses, even fewer. */
bool abuti_bvh_names_hold(const abut_mesh *mesh, const uint32_t *names);
/* After the vertices have moved: forgets it if vertices that were in one place no longer are, or if
 * vertices of the border have come into one place; and how large the holes are in any case. */
void abuti_bvh_solid_fit(abut_bvh *bvh);
void abuti_bvh_solid_destroy(abut_bvh *bvh);

#endif
