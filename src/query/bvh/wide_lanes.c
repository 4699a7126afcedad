/* The wide tree of a BVH for as many LANES as this file is compiled for; see wide.h.
 *
 * A node starts with the children of a node of the BVH. Then, while there are free slots, the child
 * with the largest surface is replaced by its own children. Subtrees of at most LANES triangles
 * become a leaf, and neighbours that fit into one leaf are joined: leaves are 60 to 97% full. A
 * first pass determines the nodes, a second one fills them on all threads.
 */
#include "bvh/wide.h"

#include "base/simd_lanes.h"

#include <math.h>

enum { LEAVES_MAX = LANES / BVH_WIDTH, NODES_PER_TASK = 32 };

typedef struct wide_box {
    float lo[3], hi[3];
} wide_box;

/* A child of a wide node: a node of the BVH, or some neighbours that become one leaf. */
typedef struct wide_child {
    uint32_t leaf_count; /* of the BVH; more than LEAVES_MAX: a node */
    uint32_t part_count, part[LEAVES_MAX];
    float lo[3], hi[3], area;
} wide_child;

typedef struct wide_plan {
    const abut_bvh *bvh;
    uint8_t *below;       /* leaves below each node of the BVH, at most LEAVES_MAX + 1 */
    uint8_t *slots;       /* its children, after some have been joined */
    uint32_t *roots;      /* the node of the BVH that each wide node starts with */
    uint32_t *leaves;     /* the first of its leaves; they are consecutive */
    uint32_t *wide_index; /* the wide node that starts with each node of the BVH */
    uint32_t node_count, leaf_count;
} wide_plan;

/* Half the surface area of the box around two children, which may be the same. */
static float joint_area(const wide_child *a, const wide_child *b) {
    float extent[3];
    for (int axis = 0; axis < 3; axis++) {
        const float lo = a->lo[axis] < b->lo[axis] ? a->lo[axis] : b->lo[axis];
        const float hi = a->hi[axis] > b->hi[axis] ? a->hi[axis] : b->hi[axis];
        extent[axis] = hi - lo;
    }
    return extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
}

/* Joins the two children that fit into one leaf and have the smallest joint area, if that is not
 * above the sum of both: a leaf costs the same for any number of triangles. Returns false if there
 * are none. */
static bool join_closest(wide_child *c, uint32_t count) {
    float least = INFINITY;
    uint32_t first = 0, second = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count; k++) {
            if (c[i].leaf_count + c[k].leaf_count > LEAVES_MAX)
                continue;
            const float area = joint_area(&c[i], &c[k]);
            if (area < least && area <= c[i].area + c[k].area) {
                least = area;
                first = i;
                second = k;
            }
        }
    if (!second)
        return false;
    wide_child *to = &c[first];
    const wide_child *from = &c[second];
    to->area = least;
    to->leaf_count += from->leaf_count;
    for (uint32_t i = 0; i < from->part_count; i++)
        to->part[to->part_count++] = from->part[i];
    for (int axis = 0; axis < 3; axis++) {
        to->lo[axis] = from->lo[axis] < to->lo[axis] ? from->lo[axis] : to->lo[axis];
        to->hi[axis] = from->hi[axis] > to->hi[axis] ? from->hi[axis] : to->hi[axis];
    }
    c[second] = c[count - 1];
    return true;
}

/* Lists the children of a node of the BVH. */
static uint32_t list_slots(const wide_plan *plan, uint32_t index, wide_child c[BVH_WIDTH]) {
    const bvh_node *node = &plan->bvh->nodes[index];
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        const uint32_t child = node->child[slot];
        if (child == ABUT_NONE)
            continue;
        wide_child *to = &c[count++];
        to->leaf_count = child & BVH_LEAF ? 1 : plan->below[child];
        to->part_count = 1;
        to->part[0] = child;
        for (int axis = 0; axis < 3; axis++) {
            to->lo[axis] = node->lo[axis][slot];
            to->hi[axis] = node->hi[axis][slot];
        }
        to->area = joint_area(to, to);
    }
    while (join_closest(c, count))
        count--;
    return count;
}

/* The children of the wide node that starts with a node of the BVH. */
static uint32_t list_children(const wide_plan *plan, uint32_t root, wide_child c[LANES]) {
    uint32_t count = list_slots(plan, root, c);
    for (;;) {
        wide_child slots[BVH_WIDTH];
        uint32_t best = ABUT_NONE;
        for (uint32_t i = 0; i < count; i++)
            if (c[i].leaf_count > LEAVES_MAX && count - 1 + plan->slots[c[i].part[0]] <= LANES &&
                (best == ABUT_NONE || c[i].area > c[best].area))
                best = i;
        if (best == ABUT_NONE)
            return count;
        const uint32_t opened = list_slots(plan, c[best].part[0], slots);
        c[best] = slots[0];
        for (uint32_t k = 1; k < opened; k++)
            c[count++] = slots[k];
    }
}

static void count_below(const wide_plan *plan) {
    const abut_bvh *bvh = plan->bvh;
    for (uint32_t node = bvh->node_count;
         node-- > 0;) { /* children have higher indices than their parents */
        uint32_t below = 0;
        wide_child c[BVH_WIDTH];
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            const uint32_t child = bvh->nodes[node].child[slot];
            below += child == ABUT_NONE ? 0 : child & BVH_LEAF ? 1 : plan->below[child];
        }
        plan->below[node] = (uint8_t)(below < LEAVES_MAX + 1 ? below : LEAVES_MAX + 1);
        plan->slots[node] = (uint8_t)list_slots(plan, node, c);
    }
}

static void find_nodes(wide_plan *plan) {
    count_below(plan);
    plan->roots[0] = 0;
    plan->node_count = 1;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        wide_child c[LANES];
        const uint32_t count = list_children(plan, plan->roots[node], c);
        plan->leaves[node] = plan->leaf_count;
        for (uint32_t i = 0; i < count; i++) {
            if (c[i].leaf_count <= LEAVES_MAX) {
                plan->leaf_count++;
                continue;
            }
            plan->wide_index[c[i].part[0]] = plan->node_count;
            plan->roots[plan->node_count++] = c[i].part[0];
        }
    }
}

/* ---- filling ---- */

typedef struct fill_data {
    const wide_plan *plan;
    const bvh_wide *tree;
} fill_data;

/* Lists the triangles below a child; returns their number. */
static uint32_t list_triangles(const abut_bvh *bvh, uint32_t child, uint32_t *triangles) {
    uint32_t count = 0;
    if (child & BVH_LEAF) {
        const uint32_t leaf = child & ~BVH_LEAF;
        count = bvh_leaf_fill(bvh, leaf);
        memcpy(triangles, bvh->order + (size_t)leaf * BVH_WIDTH, count * sizeof *triangles);
        return count;
    }
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (bvh->nodes[child].child[slot] != ABUT_NONE)
            count += list_triangles(bvh, bvh->nodes[child].child[slot], triangles + count);
    return count;
}

/* Sets the corners of a leaf, and its box. A step is 0 if it would be no normal float; the error
 * is then less than 2^-110. */
static void fit_leaf(const abut_bvh *bvh, wide_leaf *leaf, wide_box *box) {
    const abut_mesh *mesh = bvh->mesh;
    double corner[3][3][LANES];
    leaf->step_max = 0;
    for (uint32_t i = 0; i < LANES; i++)
        for (size_t k = 0; k < 3; k++) {
            vec3 p = mesh->positions[mesh->indices[3 * (size_t)leaf->triangle[i] + k]];
            corner[k][0][i] = p.x * bvh->scale;
            corner[k][1][i] = p.y * bvh->scale;
            corner[k][2][i] = p.z * bvh->scale;
        }
    for (int axis = 0; axis < 3; axis++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < LANES; i++) {
                lo = corner[k][axis][i] < lo ? corner[k][axis][i] : lo;
                hi = corner[k][axis][i] > hi ? corner[k][axis][i] : hi;
            }
        const float origin = bvh_float_below(lo), step = (float)((hi - origin) / BVH_STEPS);
        leaf->origin[axis] = box->lo[axis] = origin;
        box->hi[axis] = bvh_float_above(hi);
        leaf->step[axis] = step < FLT_MIN ? 0 : step;
        if (step < FLT_MIN)
            continue;
        leaf->step_max = step > leaf->step_max ? step : leaf->step_max;
        const double per_step = 1 / (double)step;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < LANES; i++) {
                const double steps = (corner[k][axis][i] - origin) * per_step + 0.5;
                leaf->corner[k][axis][i] = (uint16_t)(steps < BVH_STEPS ? steps : BVH_STEPS);
            }
    }
}

static void fill_leaf(const abut_bvh *bvh, const wide_child *c, wide_leaf *leaf) {
    wide_box box;
    memset(leaf, 0, sizeof *leaf);
    for (uint32_t i = 0; i < c->part_count; i++)
        leaf->count += list_triangles(bvh, c->part[i], leaf->triangle + leaf->count);
    for (uint32_t i = leaf->count; i < LANES; i++)
        leaf->triangle[i] = leaf->triangle[leaf->count - 1];
    fit_leaf(bvh, leaf, &box);
}

/* Sorts children by their distance along the diagonal of an octant, the furthest first; the
 * opposite octant has the reverse order. */
static void fill_order(wide_node *node, const wide_child *c) {
    const uint32_t count = node->count;
    for (uint32_t octant = 0; octant < 4; octant++) {
        float along[LANES];
        uint8_t *order = node->order[octant], *back = node->order[7 - octant];
        for (uint32_t i = 0; i < count; i++) {
            along[i] = 0;
            for (int axis = 0; axis < 3; axis++) {
                float middle = c[i].lo[axis] + c[i].hi[axis];
                along[i] += octant >> axis & 1 ? -middle : middle;
            }
            uint32_t place = i;
            for (; place > 0 && along[order[place - 1]] < along[i]; place--)
                order[place] = order[place - 1];
            order[place] = (uint8_t)i;
        }
        for (uint32_t i = 0; i < count; i++)
            back[i] = order[count - 1 - i];
    }
}

/* The quotients have errors below 2^-14 steps. */
static void quantise_boxes(wide_node *node, const wide_child *c) {
    const float outwards = 1.0f / 64 + 0x1p-14f;
    for (int axis = 0; axis < 3; axis++) {
        float lo = INFINITY, hi = -INFINITY;
        for (uint32_t i = 0; i < node->count; i++) {
            lo = c[i].lo[axis] < lo ? c[i].lo[axis] : lo;
            hi = c[i].hi[axis] > hi ? c[i].hi[axis] : hi;
        }
        float step = (hi - lo) / 254.75f;
        step = step > 0x1p-100f ? step : 0x1p-100f;
        node->origin[axis] = lo;
        node->step[axis] = step;
        for (uint32_t i = 0; i < node->count; i++) {
            const float low = (c[i].lo[axis] - lo) / step - outwards,
                        high = (c[i].hi[axis] - lo) / step + outwards;
            node->planes[axis][i] = low > 0 ? (uint8_t)low : 0;
            node->planes[axis + 3][i] = (uint8_t)(high + 1);
        }
    }
}

static void fill_node(const fill_data *fill, uint32_t index) {
    const wide_plan *plan = fill->plan;
    const abut_bvh *bvh = plan->bvh;
    wide_node *node = (wide_node *)fill->tree->nodes + index;
    uint32_t leaf = plan->leaves[index];
    wide_child c[LANES];
    memset(node, 0, sizeof *node);
    node->count = list_children(plan, plan->roots[index], c);
    for (uint32_t i = 0; i < node->count; i++)
        if (c[i].leaf_count <= LEAVES_MAX) {
            fill_leaf(bvh, &c[i], (wide_leaf *)fill->tree->leaves + leaf);
            node->child[i] = BVH_LEAF | leaf++;
        } else {
            node->child[i] = plan->wide_index[c[i].part[0]];
        }
    quantise_boxes(node, c);
    fill_order(node, c);
}

static void fill_task(void *data, size_t chunk, size_t begin, size_t end) {
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        fill_node(data, (uint32_t)i);
}

static abut_status create_wide_tree(bvh_attachment *attachment, void *owner) {
    bvh_wide *tree = (bvh_wide *)attachment;
    const abut_bvh *bvh = tree->bvh = owner;
    abut_context *context = attachment->context;
    wide_plan plan = {.bvh = bvh};
    plan.below = abuti_allocate(context, bvh->node_count, 1);
    plan.slots = abuti_allocate(context, bvh->node_count, 1);
    plan.roots = abuti_allocate(context, bvh->node_count, sizeof *plan.roots);
    plan.leaves = abuti_allocate(context, bvh->node_count, sizeof *plan.leaves);
    plan.wide_index = abuti_allocate(context, bvh->node_count, sizeof *plan.wide_index);
    if (plan.below && plan.slots && plan.roots && plan.leaves && plan.wide_index) {
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
    ABUTI_RELEASE(context, plan.below, plan.slots, plan.roots, plan.leaves, plan.wide_index);
    return made ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* ---- refit ---- */

typedef struct refit_data {
    const bvh_wide *tree;
    wide_box *boxes; /* of leaves, then of nodes */
} refit_data;

static void fit_leaves_task(void *data, size_t chunk, size_t begin, size_t end) {
    const refit_data *refit = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        fit_leaf(refit->tree->bvh, (wide_leaf *)refit->tree->leaves + i, &refit->boxes[i]);
}

static void fit_node(const refit_data *refit, uint32_t index) {
    const uint32_t leaf_count = refit->tree->leaf_count;
    wide_node *node = (wide_node *)refit->tree->nodes + index;
    wide_box *box = &refit->boxes[leaf_count + index];
    wide_child c[LANES];
    for (uint32_t i = 0; i < node->count; i++) {
        const uint32_t child = node->child[i];
        const wide_box *from =
            &refit->boxes[child & BVH_LEAF ? child & ~BVH_LEAF : leaf_count + child];
        for (int axis = 0; axis < 3; axis++) {
            const float lo = c[i].lo[axis] = from->lo[axis], hi = c[i].hi[axis] = from->hi[axis];
            box->lo[axis] = i && box->lo[axis] < lo ? box->lo[axis] : lo;
            box->hi[axis] = i && box->hi[axis] > hi ? box->hi[axis] : hi;
        }
    }
    quantise_boxes(node, c);
    fill_order(node, c);
}

static abut_status refit_wide_tree(bvh_attachment *attachment) {
    bvh_wide *tree = (bvh_wide *)attachment;
    refit_data refit = {.tree = tree};
    attachment->is_unwanted = !atomic_exchange(&tree->is_used, false);
    if (attachment->is_unwanted)
        return ABUT_OK;
    refit.boxes = abuti_allocate(attachment->context, (size_t)tree->leaf_count + tree->node_count,
                                 sizeof *refit.boxes);
    if (!refit.boxes)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(attachment->context, tree->leaf_count, LANES * NODES_PER_TASK,
                       fit_leaves_task, &refit);
    for (uint32_t i = tree->node_count; i-- > 0;)
        fit_node(&refit, i);
    abuti_release(attachment->context, refit.boxes);
    return ABUT_OK;
}

static void destroy_wide_tree(bvh_attachment *attachment) {
    bvh_wide *tree = (bvh_wide *)attachment;
    ABUTI_RELEASE(attachment->context, tree->nodes, tree->leaves);
}

const bvh_attachment_kind BY_LANES(abuti_bvh_wide) = {sizeof(bvh_wide), create_wide_tree,
                                                      refit_wide_tree, destroy_wide_tree};
