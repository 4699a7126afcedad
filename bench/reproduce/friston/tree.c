/* The BVH with eight children per node. Triangles are sorted once, by halving along the longest
 * side of the box of their centres; halves are divided such that whole nodes stay together. */
#include "parts.h"
#include "tree_shared.h"

typedef struct tree_rival {
    rival base;
    tree_shape tree;
} tree_rival;

typedef struct tree_work {
    tree_rival *t;
    const abut_vec3 *positions;
    const rival_particles *particles;
    word32 level;
} tree_work;

/* ---- order ---- */

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t spare = *a;
    *a = *b;
    *b = spare;
}

/* Moves the smallest to the front, up to `place` exclusive (Hoare's selection). */
static void select_smallest(uint32_t *order, const vec3 *centres, int axis, size_t begin,
                            size_t place, size_t end) {
    while (end - begin > 1) {
        real pivot = v3_get(centres[order[begin + (end - begin) / 2]], axis);
        size_t i = begin, j = end - 1;
        for (;;) {
            while (v3_get(centres[order[i]], axis) < pivot)
                i++;
            while (v3_get(centres[order[j]], axis) > pivot)
                j--;
            if (i >= j)
                break;
            swap(&order[i++], &order[j--]);
        }
        size_t cut = j + 1; /* all before are no larger than all from here on */
        if (cut >= end)
            cut = end - 1;
        if (place < cut)
            end = cut;
        else if (place > cut)
            begin = cut;
        else
            return;
    }
}

/* Leaves from `begin` to `end`; `node` leaves are in a node of the current level. */
static void put_in_order(uint32_t *order, const vec3 *centres, size_t count, size_t begin,
                         size_t end, size_t node) {
    while (node > 1 && end - begin <= node)
        node /= TREE_WIDE;
    if (end - begin <= 1)
        return;
    const size_t nodes = (end - begin + node - 1) / node, middle = begin + nodes / 2 * node;
    const size_t last = TREE_LEAF * end < count ? TREE_LEAF * end : count;
    box3 box = box_empty();
    for (size_t k = TREE_LEAF * begin; k < last; k++)
        box = box_grow(box, centres[order[k]]);
    vec3 sides = v3_sub(box.hi, box.lo);
    int axis = sides.x >= sides.y && sides.x >= sides.z ? 0 : sides.y >= sides.z ? 1 : 2;
    select_smallest(order, centres, axis, TREE_LEAF * begin, TREE_LEAF * middle, last);
    put_in_order(order, centres, count, begin, middle, node);
    put_in_order(order, centres, count, middle, end, node);
}

static void shape_tree(tree_shape *tree, uint32_t triangles) {
    tree->triangle_count = triangles;
    tree->leaf_count = (triangles + TREE_LEAF - 1) / TREE_LEAF;
    word32 count = tree->leaf_count, begin = 0;
    do {
        count = (count + TREE_WIDE - 1) / TREE_WIDE;
        tree->begin[tree->levels] = begin;
        tree->count[tree->levels++] = count;
        begin += count;
    } while (count > 1);
}

/* ---- steps ---- */

static void fit_leaves(void *user, size_t chunk, size_t begin, size_t end) {
    const tree_work *work = user;
    void *const *here = work->t->base.here;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        tree_fit_leaf(&work->t->tree, here[RIVAL_CORNERS], work->positions, here[RIVAL_TRIANGLES],
                      here[RIVAL_NODES], (word32)i);
}

static void fit_nodes(void *user, size_t chunk, size_t begin, size_t end) {
    const tree_work *work = user;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        tree_fit_node(&work->t->tree, work->t->base.here[RIVAL_NODES], work->level, (word32)i);
}

static void collide_range(void *user, size_t chunk, size_t begin, size_t end) {
    const tree_work *work = user;
    const rival_particles *p = work->particles;
    void *const *here = work->t->base.here;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        tree_collide(&work->t->tree, here[RIVAL_TRIANGLES], here[RIVAL_NODES], p->from, p->to,
                     p->friction, (word32)i);
}

static abut_status update(rival *r, const abut_character_matrix *bones, abut_array positions) {
    tree_rival *t = (tree_rival *)r;
    const tree_shape *tree = &t->tree;
    (void)bones;
    if (!r->there) {
        tree_work work = {.t = t, .positions = positions.host};
        abut_context_parallel_for(r->context, tree->leaf_count, 256, fit_leaves, &work);
        for (work.level = 0; work.level + 1 < tree->levels; work.level++)
            abut_context_parallel_for(r->context, tree->count[work.level], 1024, fit_nodes, &work);
        return ABUT_OK;
    }
    const abuti_buffer *at = rival_positions(r, positions);
    ABUTI_KIT_RUN(&r->kit, RIVAL_TREE_LEAVES, tree->leaf_count, RIVAL_GROUP, ABUTI_VALUE(*tree),
                  RIVAL_MEMORY(r, RIVAL_CORNERS), ABUTI_BUFFER(at),
                  RIVAL_MEMORY(r, RIVAL_TRIANGLES), RIVAL_MEMORY(r, RIVAL_NODES));
    if (tree->levels > 2)
        ABUTI_KIT_RUN(&r->kit, RIVAL_TREE_NODES, 256, 256, ABUTI_VALUE(*tree),
                      RIVAL_MEMORY(r, RIVAL_NODES));
    return ABUT_OK;
}

static abut_status collide(rival *r, const rival_particles *p) {
    tree_rival *t = (tree_rival *)r;
    if (!r->there) {
        tree_work work = {.t = t, .particles = p};
        abut_context_parallel_for(r->context, p->count, 256, collide_range, &work);
        return ABUT_OK;
    }
    ABUTI_KIT_RUN(&r->kit, RIVAL_TREE_COLLIDE, p->count, RIVAL_GROUP, ABUTI_VALUE(t->tree),
                  RIVAL_MEMORY(r, RIVAL_TRIANGLES), RIVAL_MEMORY(r, RIVAL_NODES),
                  ABUTI_BUFFER(p->from_there), ABUTI_BUFFER(p->to_there), ABUTI_VALUE(p->friction),
                  ABUTI_VALUE(p->count));
    return ABUT_OK;
}

/* ---- create ---- */

static void fill(const rival *r, vec3 *centres, uint32_t *order, uint32_t *corners,
                 size_t top_leaves) {
    const uint32_t *indices = abut_mesh_indices(r->rest);
    const abut_vec3 *positions = abut_mesh_local_positions(r->rest);
    const size_t leaves = (r->triangle_count + (size_t)TREE_LEAF - 1) / TREE_LEAF;
    for (uint32_t i = 0; i < r->triangle_count; i++) {
        const uint32_t *c = indices + 3 * (size_t)i;
        vec3 sum = v3_add(rival_near(positions[c[0]]), rival_near(positions[c[1]]));
        centres[i] = v3_add(sum, rival_near(positions[c[2]]));
        order[i] = i;
    }
    put_in_order(order, centres, r->triangle_count, 0, leaves, top_leaves);
    for (uint32_t i = 0; i < r->triangle_count; i++)
        for (size_t k = 0; k < 3; k++)
            corners[3 * (size_t)i + k] = indices[3 * (size_t)order[i] + k];
}

static abut_status put_nodes(rival *r, size_t count) {
    tree_node *nodes = abut_context_allocate(r->context, count, sizeof *nodes);
    if (!nodes)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < TREE_WIDE; k++)
            tree_set(nodes, (word32)i, k, box_empty());
    abut_status status = rival_put(r, RIVAL_NODES, nodes, count, sizeof *nodes);
    abut_context_free(r->context, nodes);
    return status;
}

static abut_status create(rival *r) {
    tree_rival *t = (tree_rival *)r;
    const size_t n = r->triangle_count;
    shape_tree(&t->tree, r->triangle_count);
    t->tree.reach = (real)(0.5 * r->options.cell);
    const word32 top = t->tree.levels - 1;
    vec3 *centres = abut_context_allocate(r->context, n, sizeof *centres);
    uint32_t *order = abut_context_allocate(r->context, n, sizeof *order);
    uint32_t *corners = abut_context_allocate(r->context, n, 3 * sizeof *corners);
    abut_status status = centres && order && corners ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        fill(r, centres, order, corners, (size_t)1 << 3 * t->tree.levels);
        status = rival_put(r, RIVAL_CORNERS, corners, n, 3 * sizeof *corners);
    }
    if (!status)
        status = rival_put(r, RIVAL_TRIANGLES, NULL, n, sizeof(rival_triangle));
    if (!status)
        status = put_nodes(r, (size_t)t->tree.begin[top] + t->tree.count[top]);
    abut_context_free(r->context, centres);
    abut_context_free(r->context, order);
    abut_context_free(r->context, corners);
    return status;
}

const rival_methods rival_tree = {.name = "tree",
                                  .bytes = sizeof(tree_rival),
                                  .create = create,
                                  .update = update,
                                  .collide = collide};
