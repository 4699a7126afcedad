/* The tree for batches of rays, built from the BVH for as many LANES as this file is compiled for;
 * see ray.h.
 *
 * A node starts with the children of a node of the BVH. Then, while there are free slots, the child
 * with the largest surface is replaced by its own children. Subtrees of at most LANES triangles
 * become a leaf. A first pass determines the nodes, a second one fills them on all threads.
 */
#include "ray/ray.h"

#include "base/simd_lanes.h"

#include <math.h>

enum { LEAVES_MAX = LANES / BVH_WIDTH, NODES_PER_TASK = 32 };

typedef struct wide_plan {
    const abut_bvh *bvh;
    uint8_t *below;       /* leaves below each node of the BVH, at most LEAVES_MAX + 1 */
    uint32_t *roots;      /* the node of the BVH that each wide node starts with */
    uint32_t *leaves;     /* the first of its leaves; they are consecutive */
    uint32_t *wide_index; /* the wide node that starts with each node of the BVH */
    uint32_t node_count, leaf_count;
} wide_plan;

/* The child in a slot of a node of the BVH. */
static inline uint32_t slot_child(const abut_bvh *bvh, uint32_t item) {
    return bvh->nodes[item / BVH_WIDTH].child[item % BVH_WIDTH];
}

static bool fits_leaf(const wide_plan *plan, uint32_t child) {
    return child & BVH_LEAF || plan->below[child] <= LEAVES_MAX;
}

static float slot_area(const abut_bvh *bvh, uint32_t item) {
    const bvh_node *node = &bvh->nodes[item / BVH_WIDTH];
    float extent[3];
    for (int axis = 0; axis < 3; axis++)
        extent[axis] = node->hi[axis][item % BVH_WIDTH] - node->lo[axis][item % BVH_WIDTH];
    return extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
}

static uint32_t list_slots(const abut_bvh *bvh, uint32_t node, uint32_t items[BVH_WIDTH]) {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (bvh->nodes[node].child[slot] != ABUT_NONE)
            items[count++] = node * BVH_WIDTH + slot;
    return count;
}

/* The children of the wide node that starts with a node of the BVH. */
static uint32_t list_children(const wide_plan *plan, uint32_t root, uint32_t items[LANES]) {
    const abut_bvh *bvh = plan->bvh;
    uint32_t count = list_slots(bvh, root, items), kids[LANES][BVH_WIDTH], kid_count[LANES];
    float surface[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        kid_count[i] = ABUT_NONE; /* not visited */
    for (;;) {
        uint32_t best = ABUT_NONE;
        for (uint32_t i = 0; i < count; i++) {
            if (kid_count[i] == ABUT_NONE) {
                uint32_t child = slot_child(bvh, items[i]);
                kid_count[i] = fits_leaf(plan, child) ? 0 : list_slots(bvh, child, kids[i]);
                surface[i] = slot_area(bvh, items[i]);
            }
            if (kid_count[i] && count - 1 + kid_count[i] <= LANES &&
                (best == ABUT_NONE || surface[i] > surface[best]))
                best = i;
        }
        if (best == ABUT_NONE)
            return count;
        const uint32_t opened = kid_count[best];
        items[best] = kids[best][0];
        kid_count[best] = ABUT_NONE;
        for (uint32_t k = 1; k < opened; k++)
            items[count++] = kids[best][k];
    }
}

static void count_below(const wide_plan *plan) {
    const abut_bvh *bvh = plan->bvh;
    for (uint32_t node = bvh->node_count;
         node-- > 0;) { /* children have higher indices than their parents */
        uint32_t items[BVH_WIDTH], count = list_slots(bvh, node, items), below = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t child = slot_child(bvh, items[i]);
            below += child & BVH_LEAF ? 1 : plan->below[child];
        }
        plan->below[node] = (uint8_t)(below < LEAVES_MAX + 1 ? below : LEAVES_MAX + 1);
    }
}

static void find_nodes(wide_plan *plan) {
    count_below(plan);
    plan->roots[0] = 0;
    plan->node_count = 1;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        uint32_t items[LANES], count = list_children(plan, plan->roots[node], items);
        plan->leaves[node] = plan->leaf_count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t child = slot_child(plan->bvh, items[i]);
            if (fits_leaf(plan, child)) {
                plan->leaf_count++;
                continue;
            }
            plan->wide_index[child] = plan->node_count;
            plan->roots[plan->node_count++] = child;
        }
    }
}

/* ---- filling ---- */

typedef struct fill_data {
    const wide_plan *plan;
    const ray_wide *tree;
} fill_data;

/* Puts the triangles below a child into a leaf, beginning at a lane. Returns the lane after the
 * last one. */
static uint32_t fill_leaf(const abut_bvh *bvh, uint32_t child, wide_leaf *leaf, uint32_t lane) {
    if (!(child & BVH_LEAF)) {
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (bvh->nodes[child].child[slot] != ABUT_NONE)
                lane = fill_leaf(bvh, bvh->nodes[child].child[slot], leaf, lane);
        return lane;
    }
    const uint32_t index = child & ~BVH_LEAF, fill = bvh_leaf_fill(bvh, index);
    const abut_mesh *mesh = bvh->mesh;
    for (uint32_t i = 0; i < fill; i++, lane++) {
        uint32_t triangle = bvh->order[(size_t)index * BVH_WIDTH + i];
        leaf->triangle[lane] = triangle;
        for (size_t k = 0; k < 3; k++) {
            vec3 p = mesh->positions[mesh->indices[3 * (size_t)triangle + k]];
            for (int axis = 0; axis < 3; axis++)
                leaf->corner[k][axis][lane] = (float)(v3_get(p, axis) * bvh->scale);
        }
    }
    return lane;
}

/* Sorts children by their distance along the diagonal of an octant, the furthest first; the
 * opposite octant has the reverse order. */
static void fill_order(wide_node *node, uint32_t count) {
    for (uint32_t octant = 0; octant < 4; octant++) {
        float along[LANES];
        uint8_t *order = node->order[octant], *back = node->order[7 - octant];
        for (uint32_t i = 0; i < LANES; i++) {
            along[i] = 0;
            for (int axis = 0; axis < 3 && i < count; axis++) {
                float middle = node->planes[axis][i] + node->planes[axis + 3][i];
                along[i] += octant >> axis & 1 ? -middle : middle;
            }
            uint32_t place = i;
            for (; i < count && place > 0 && along[order[place - 1]] < along[i]; place--)
                order[place] = order[place - 1];
            order[place] = (uint8_t)i;
        }
        for (uint32_t i = 0; i < LANES; i++)
            back[i] = order[i < count ? count - 1 - i : i];
    }
}

static void fill_node(const fill_data *fill, uint32_t index) {
    const wide_plan *plan = fill->plan;
    const abut_bvh *bvh = plan->bvh;
    wide_node *node = (wide_node *)fill->tree->nodes + index;
    uint32_t items[LANES], count = list_children(plan, plan->roots[index], items);
    uint32_t leaf = plan->leaves[index];
    for (uint32_t i = 0; i < LANES; i++) {
        node->child[i] = ABUT_NONE;
        for (int axis = 0; axis < 3; axis++) {
            const bvh_node *from = i < count ? &bvh->nodes[items[i] / BVH_WIDTH] : NULL;
            node->planes[axis][i] = from ? from->lo[axis][items[i] % BVH_WIDTH] : INFINITY;
            node->planes[axis + 3][i] = from ? from->hi[axis][items[i] % BVH_WIDTH] : -INFINITY;
        }
        if (i >= count)
            continue;
        uint32_t child = slot_child(bvh, items[i]);
        if (!fits_leaf(plan, child)) {
            node->child[i] = plan->wide_index[child];
            continue;
        }
        wide_leaf *to = (wide_leaf *)fill->tree->leaves + leaf;
        for (uint32_t lane = fill_leaf(bvh, child, to, 0); lane < LANES; lane++) {
            to->triangle[lane] = ABUT_NONE;
            for (int k = 0; k < 9; k++)
                to->corner[k / 3][k % 3][lane] = NAN;
        }
        node->child[i] = BVH_LEAF | leaf++;
    }
    fill_order(node, count);
}

static void fill_task(void *data, size_t chunk, size_t begin, size_t end) {
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        fill_node(data, (uint32_t)i);
}

static abut_status create_wide_tree(bvh_attachment *attachment, void *owner) {
    ray_wide *tree = (ray_wide *)attachment;
    const abut_bvh *bvh = owner;
    abut_context *context = attachment->context;
    wide_plan plan = {.bvh = bvh};
    plan.below = abuti_allocate(context, bvh->node_count, 1);
    plan.roots = abuti_allocate(context, bvh->node_count, sizeof *plan.roots);
    plan.leaves = abuti_allocate(context, bvh->node_count, sizeof *plan.leaves);
    plan.wide_index = abuti_allocate(context, bvh->node_count, sizeof *plan.wide_index);
    if (plan.below && plan.roots && plan.leaves && plan.wide_index) {
        find_nodes(&plan);
        tree->node_count = plan.node_count;
        tree->leaf_count = plan.leaf_count;
        tree->nodes = abuti_allocate(context, plan.node_count, sizeof(wide_node));
        tree->leaves = abuti_allocate(context, plan.leaf_count, sizeof(wide_leaf));
    }
    const bool made = tree->nodes && tree->leaves;
    if (made) {
        fill_data fill = {&plan, tree};
        abuti_parallel_for(context, plan.node_count, NODES_PER_TASK, fill_task, &fill);
    }
    ABUTI_RELEASE(context, plan.below, plan.roots, plan.leaves, plan.wide_index);
    return made ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy_wide_tree(bvh_attachment *attachment) {
    ray_wide *tree = (ray_wide *)attachment;
    ABUTI_RELEASE(attachment->context, tree->nodes, tree->leaves);
}

const bvh_attachment_kind BY_LANES(abuti_ray_wide) = {sizeof(ray_wide), create_wide_tree,
                                                      abuti_bvh_discard_attachment,
                                                      destroy_wide_tree};
