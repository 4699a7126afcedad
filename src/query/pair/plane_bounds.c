/* Construction of slabs from the leaves up. A normal is the sum of the normals below it, with
 * either sign, and the extents of corners follow from the extents below. For flat surfaces they are
 * accurate to the last digits of doubles. */
#include "pair/closest_proof.h"

#include <math.h>

/* The effort of searches per leaf, in pairs of leaves, after which slabs are built: the
 * construction costs about as much. The minimum keeps small meshes without slabs. */
#define EFFORT_PER_LEAF 4
#define BUILD_EFFORT_MIN (1 << 15)
/* The error of an extent, 20 roundings, for a box with half diagonal 1. */
#define REACH_ERROR 0x1p-48

typedef struct slab_attachment {
    bvh_attachment attachment;
    pair_slab *list;
} slab_attachment;

typedef struct slab_builder {
    const abut_bvh *bvh;
    pair_slab *slabs;
    vec3 *normals;
} slab_builder;

/* Adds a normal with the sign that lengthens the sum. */
static vec3 add_unoriented_normal(vec3 sum, vec3 n) {
    return v3_dot(sum, n) < 0 ? v3_sub(sum, n) : v3_add(sum, n);
}

/* Begins a slab along a normal; along an axis if there is none. Returns the direction. */
static vec3 begin_slab(pair_slab *slab, vec3 n) {
    vec3 m = v3_max_abs(n) > 0 ? v3_normalise(n) : v3(0, 0, 1);
    *slab = (pair_slab){{m.x, m.y, m.z}, INFINITY, -INFINITY, 0, ABUT_NONE};
    return m;
}

static void extend_slab(pair_slab *slab, double lo, double hi, double r, uint32_t first) {
    float outer = bvh_float_above(r);
    slab->lo = real_min(slab->lo, lo);
    slab->hi = real_max(slab->hi, hi);
    slab->r = outer > slab->r ? outer : slab->r;
    slab->first = first < slab->first ? first : slab->first;
}

/* Half the diagonal of a box. */
static double half_diagonal(const bvh_node *node, uint32_t slot) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double size = (double)node->hi[axis][slot] - node->lo[axis][slot];
        sum += size * size;
    }
    return 0.5 * sqrt(sum);
}

/* A corner of a triangle in the frame of the BVH. */
static vec3 corner_in_frame(const abut_bvh *bvh, uint32_t triangle, size_t k) {
    const abut_mesh *mesh = bvh->mesh;
    return v3_scale(mesh->positions[mesh->indices[3 * (size_t)triangle + k]], bvh->scale);
}

static void build_leaf_slab(const slab_builder *builder, uint32_t place, uint32_t leaf) {
    const abut_bvh *bvh = builder->bvh;
    const uint32_t *order = bvh->order + (size_t)leaf * BVH_WIDTH;
    uint32_t fill = bvh_leaf_fill(bvh, leaf);
    vec3 c = pair_box_centre(bvh, place), sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < fill; i++) {
        vec3 at = corner_in_frame(bvh, order[i], 0);
        sum = add_unoriented_normal(sum, v3_cross(v3_sub(corner_in_frame(bvh, order[i], 1), at),
                                                  v3_sub(corner_in_frame(bvh, order[i], 2), at)));
    }
    pair_slab *slab = &builder->slabs[place];
    vec3 m = begin_slab(slab, sum);
    for (uint32_t i = 0; i < 3 * fill; i++) {
        vec3 from = v3_sub(corner_in_frame(bvh, order[i / 3], i % 3), c);
        double along = v3_dot(m, from);
        extend_slab(slab, along, along, v3_length(v3_sub(from, v3_scale(m, along))), order[i / 3]);
    }
    builder->normals[place] = sum;
}

static void build_node_slab(const slab_builder *builder, uint32_t place, uint32_t node) {
    const abut_bvh *bvh = builder->bvh;
    const bvh_node *boxes = &bvh->nodes[node];
    vec3 c = pair_box_centre(bvh, place), sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        if (boxes->child[i] != ABUT_NONE)
            sum = add_unoriented_normal(sum, builder->normals[node * BVH_WIDTH + i]);
    pair_slab *slab = &builder->slabs[place];
    vec3 m = begin_slab(slab, sum), back = v3_scale(m, -1);
    for (uint32_t i = 0; i < BVH_WIDTH; i++) {
        uint32_t below = node * BVH_WIDTH + i;
        if (boxes->child[i] == ABUT_NONE)
            continue;
        vec3 from = v3_sub(pair_box_centre(bvh, below), c);
        double along = v3_dot(m, from), radius = v3_length(v3_sub(from, v3_scale(m, along)));
        extend_slab(slab, along - slab_reach(&builder->slabs[below], back),
                    along + slab_reach(&builder->slabs[below], m), radius + half_diagonal(boxes, i),
                    builder->slabs[below].first);
    }
    builder->normals[place] = sum;
}

/* Children have higher indices than their parents. */
static void build_slabs(const slab_builder *builder) {
    const bvh_node *nodes = builder->bvh->nodes;
    for (uint32_t place = builder->bvh->node_count * BVH_WIDTH; place-- > 0;) {
        uint32_t child = nodes[place / BVH_WIDTH].child[place % BVH_WIDTH];
        if (child == ABUT_NONE)
            continue;
        if (child & BVH_LEAF)
            build_leaf_slab(builder, place, child & ~BVH_LEAF);
        else
            build_node_slab(builder, place, child);
        pair_slab *slab = &builder->slabs[place];
        double slack = REACH_ERROR * half_diagonal(&nodes[place / BVH_WIDTH], place % BVH_WIDTH);
        slab->lo -= slack;
        slab->hi += slack;
        slab->r = bvh_float_above(slab->r + slack);
    }
}

/* ---- attachment of a BVH ---- */

static abut_status create_slabs(bvh_attachment *attachment, void *owner) {
    slab_attachment *slabs = (slab_attachment *)(void *)attachment;
    const abut_bvh *bvh = owner;
    size_t count = (size_t)bvh->node_count * BVH_WIDTH;
    vec3 *normals = abuti_allocate(attachment->context, count, sizeof *normals);
    slabs->list = abuti_allocate_zeroed(attachment->context, count, sizeof *slabs->list);
    if (normals && slabs->list)
        build_slabs(&(slab_builder){bvh, slabs->list, normals});
    abuti_release(attachment->context, normals);
    return normals && slabs->list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy_slabs(bvh_attachment *attachment) {
    slab_attachment *slabs = (slab_attachment *)(void *)attachment;
    abuti_release(attachment->context, slabs->list);
    slabs->list = NULL;
}

static const bvh_attachment_kind slabs_kind = {sizeof(slab_attachment), create_slabs,
                                               abuti_bvh_discard_attachment, destroy_slabs};

const pair_slab *abuti_pair_slabs(const abut_bvh *bvh, uint64_t effort) {
    bvh_attachment *attachment =
        abuti_bvh_earn_attachment(bvh, &slabs_kind, &((abut_bvh *)(uintptr_t)bvh)->pair_effort,
                                  (size_t)effort,
                                  BUILD_EFFORT_MIN + (size_t)EFFORT_PER_LEAF * bvh->leaf_count);
    return attachment ? ((const slab_attachment *)(const void *)attachment)->list : NULL;
}

const pair_slab *abuti_pair_slabs_now(const abut_bvh *bvh) {
    bvh_attachment *attachment;
    return abuti_bvh_share_attachment(bvh, &slabs_kind, &attachment)
               ? NULL
               : ((const slab_attachment *)(const void *)attachment)->list;
}
