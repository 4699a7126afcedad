/* The table of features, and lists that are collected from the BVH and filtered from other lists;
 * see regions.h.
 *
 * Boxes of the BVH are culled by distance, and by a point g of the mesh: let c be the centre of a
 * box of points and h its half extents. The contents of the box B of a node are useless if |p - q|
 * > |p - g| for all points p = c + e of the one and q of the other. With everything relative to c,
 *     |p - q|^2 - |p - g|^2 = |q|^2 - |g|^2 + 2 e . (g - q),
 * which is linear in e, so its minimum is |q|^2 - |g|^2 - 2 sum h_i |g_i - q_i|. Distances alone
 * would keep a shell around c of thickness 2 |h|; this test keeps a patch of about that width: on a
 * flat surface g - q is along it, and |q|^2 - |g|^2 is its square. The minimum in B is found axis
 * by axis: (q - c)^2 - 2 h |g - q| is the lower of two parabolas with their vertices at c + h and c
 * - h, so it is minimal where one of these is clamped to B. With a margin m that bounds all errors
 * of coordinates (here twice that of the lists), the box is enlarged by m, and the squares have
 * errors of 4 m R + 4 m^2 for the distance by which g must be nearer, and of 6 m R themselves,
 * where R = |g| + 2 |h| bounds |p - g|. The limit includes 16 m (R + m).
 */
#include "nearest/regions.h"

#include "base/simd.h"

enum {
    FEATURES_PER_TASK = 4096,
    CHUNK_FEATURES = 512,     /* features of the table that are filtered at a time */
    SHORT_LIST_FEATURES = 16, /* not filtered further */
};

/* ---- table ---- */

/* Converts a record to a row, in place. */
static void convert_record(feature_kind kind, bool marked, regions_row *row) {
    float *column = row->column;
    uint32_t bits;
    memcpy(&bits, &column[REGIONS_OFFSET], sizeof bits);
    bits &= ~3u;
    memcpy(&column[REGIONS_OFFSET], &bits, sizeof bits);
    if (kind == FEATURE_FACE)
        column[REGIONS_OFFSET] = -column[REGIONS_OFFSET];
    if (!marked)
        return;
    column[REGIONS_THIRD_X] = column[REGIONS_THIRD_Y] = column[REGIONS_THIRD_Z] = 0;
    memset(column + REGIONS_SECOND, 0, 3 * sizeof *column);
    if (kind == FEATURE_EDGE)
        return;
    memset(column + REGIONS_FIRST, 0, 3 * sizeof *column);
    memset(column + REGIONS_FOURTH, 0, 3 * sizeof *column);
}

static void rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    regions_table *table = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abuti_features *features = &table->features;
        feature_kind kind = feature_kind_of(&features->records[i]);
        convert_record(kind, feature_is_marked(features, (uint32_t)i), &table->rows[i]);
        if (kind == FEATURE_EDGE && table->rows[i].column[REGIONS_OFFSET] == 0) {
            /* too short for a float: the row of its first vertex */
            uint32_t ends[2];
            feature_ends(table->bvh->mesh->indices, feature_source(features, (uint32_t)i), ends);
            features->source[i] = ends[0] | (features->source[i] & FEATURE_MARK);
        }
    }
}

abut_status abuti_regions_create(const abut_bvh *bvh, unsigned wanted, regions_table *table) {
    regions_table made = {.bvh = bvh};
    abut_context *context = bvh->context;
    abut_status status = abuti_features_create(bvh->mesh, bvh->scale, bvh->order, bvh->leaf_count,
                                               wanted | FEATURES_WELDED, &made.features);
    if (status)
        return status;
    _Static_assert(sizeof(regions_row) == sizeof(feature_record), "rows take the place of records");
    made.rows = (regions_row *)(void *)made.features.records;
    status = abuti_parallel_try(context, "features", made.features.count, FEATURES_PER_TASK,
                                rows_task, &made);
    if (status)
        abuti_regions_destroy(&made);
    else
        *table = made;
    return status;
}

void abuti_regions_destroy(regions_table *table) {
    if (!table->bvh)
        return;
    abuti_features_destroy(&table->features);
    memset(table, 0, sizeof *table);
}

/* ---- nodes ---- */

/* The children of a node that are within reach of a box. */
static unsigned children_within_reach(const bvh_node *node, const regions_box *box, float reach) {
    f4 sum = f4_all(0), zero = f4_all(0);
    for (int k = 0; k < 3; k++) {
        f4 below = f4_sub(f4_load(node->lo[k]), f4_all(box->centre[k] + box->half[k]));
        f4 above = f4_sub(f4_all(box->centre[k] - box->half[k]), f4_load(node->hi[k]));
        f4 gap = f4_max(f4_max(below, above), zero);
        sum = f4_add(sum, f4_mul(gap, gap));
    }
    return m4_bits(f4_less_equal(sum, f4_all(reach * reach * NEAREST_SLACK)));
}

/* A point of the mesh that culls children which cannot contain the nearest point. */
typedef struct near_point_cull {
    float centre[3], half[3], nearest[3], limit;
} near_point_cull;

static near_point_cull make_cull(const abut_bvh *bvh, const regions_box *box,
                                 const abut_nearest *nearest) {
    const uint32_t *index = bvh->mesh->indices + 3 * (size_t)nearest->triangle;
    const float m = 2 * box->margin;
    near_point_cull c;
    vec3 g = v3(0, 0, 0);
    float sq = 0, half_sq = 0;
    for (int k = 0; k < 3; k++)
        g = v3_along(g, nearest->barycentric[k] * bvh->scale, bvh->mesh->positions[index[k]]);
    for (int k = 0; k < 3; k++) {
        c.centre[k] = box->centre[k];
        c.half[k] = box->half[k] + m;
        c.nearest[k] = (float)v3_get(g, k);
        sq += (c.nearest[k] - box->centre[k]) * (c.nearest[k] - box->centre[k]);
        half_sq += c.half[k] * c.half[k];
    }
    c.limit = sq + 16 * m * (sqrtf(sq) + 2 * (sqrtf(half_sq) * NEAREST_SLACK + m) + m);
    return c;
}

static unsigned children_not_culled(const bvh_node *node, const near_point_cull *cull) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 lo = f4_load(node->lo[axis]), hi = f4_load(node->hi[axis]);
        f4 c = f4_all(cull->centre[axis]), g = f4_all(cull->nearest[axis]);
        f4 twice = f4_all(2 * cull->half[axis]), parabola[2];
        for (int side = 0; side < 2; side++) {
            f4 vertex = f4_all(cull->centre[axis] + (side ? cull->half[axis] : -cull->half[axis]));
            f4 q = f4_min(f4_max(vertex, lo), hi), d = f4_sub(q, c);
            f4 part = f4_mul(twice, side ? f4_sub(g, q) : f4_sub(q, g));
            parabola[side] = f4_add(f4_mul(d, d), part);
        }
        sum = f4_add(sum, f4_min(parabola[0], parabola[1]));
    }
    return m4_bits(f4_less_equal(sum, f4_all(cull->limit))); /* an empty slot gives NaN */
}

/* ---- lists ---- */

/* Allocates a list of so many features in the workspace, or returns false. */
static bool allocate_list(regions_room *workspace, uint32_t count, regions_list *list) {
    uint32_t capacity = regions_capacity(count);
    if (capacity > REGIONS_ROOM - workspace->used)
        return false;
    list->count = count;
    list->columns = workspace->columns + (size_t)workspace->used * REGIONS_COLUMNS;
    list->names = workspace->names + workspace->used;
    workspace->used += capacity;
    return true;
}

/* A collection of features; groups of the table are filtered some at a time. */
typedef struct collection {
    regions_room *workspace;
    regions_box box;
    uint32_t pending, groups[CHUNK_FEATURES / REGIONS_GROUP];
    uint32_t count, max_count;
    uint32_t *names;
} collection;

/* The features of the pending groups, as a list. Only the last group of the table may be
 * incomplete: it is added last. */
static regions_list list_pending_groups(collection *c) {
    regions_room *workspace = c->workspace;
    const uint32_t features = workspace->table->features.count,
                   last = (features - 1) / REGIONS_GROUP;
    uint32_t *names =
        workspace->names + REGIONS_ROOM - CHUNK_FEATURES; /* no list extends that far yet */
    for (uint32_t i = 0; i < c->pending; i++)
        if (c->groups[i] == last) {
            c->groups[i] = c->groups[c->pending - 1];
            c->groups[c->pending - 1] = last;
        }
    for (uint32_t i = 0; i < c->pending; i++)
        for (uint32_t k = 0; k < REGIONS_GROUP; k++)
            names[REGIONS_GROUP * i + k] = REGIONS_GROUP * c->groups[i] + k;
    regions_list list = {.count = REGIONS_GROUP * c->pending,
                         .columns = workspace->columns,
                         .names = names};
    while (names[list.count - 1] >= features)
        list.count--;
    workspace->kernel->gather(workspace->table->rows, &list);
    return list;
}

/* Filters the pending groups. Returns false if there are too many features. */
static bool filter_pending_groups(collection *c) {
    regions_room *workspace = c->workspace;
    if (!c->pending)
        return true;
    const regions_list list = list_pending_groups(c);
    uint32_t kept;
    workspace->kernel->filter(&list, &c->box, 1, workspace->kept, &kept);
    if (kept > c->max_count - c->count)
        return false;
    for (uint32_t i = 0; i < kept; i++)
        c->names[c->count++] = list.names[workspace->kept[i]];
    c->pending = 0;
    return true;
}

/* Adds the features of a leaf. Groups may contain some of other leaves: that does no harm, but each
 * is added once. They are prefetched while others are pending. */
static bool add_leaf_features(collection *c, uint32_t leaf) {
    const regions_table *table = c->workspace->table;
    const uint32_t *features = table->features.leaf_begin + leaf;
    for (uint32_t g = features[0] / REGIONS_GROUP; g * REGIONS_GROUP < features[1]; g++) {
        uint64_t *word = &c->workspace->seen[g / 64], bit = (uint64_t)1 << g % 64;
        if (*word & bit)
            continue;
        *word |= bit;
        if (c->pending == CHUNK_FEATURES / REGIONS_GROUP && !filter_pending_groups(c))
            return false;
        for (uint32_t i = REGIONS_GROUP * g;
             i < REGIONS_GROUP * (g + 1) && i < table->features.count; i++)
            __builtin_prefetch(&table->rows[i]);
        c->groups[c->pending++] = g;
    }
    return true;
}

/* Puts faces first and vertices last, so that loops need no branches. Each feature is written to
 * its destination as any kind, and wrong ones are overwritten: without a branch, which would be
 * unpredictable. */
static void sort_by_kind(regions_room *workspace, regions_list *list) {
    const regions_row *rows = workspace->table->rows;
    uint32_t faces = 0, edges = 0, vertices = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t name = list->names[i];
        const float o = rows[name].column[REGIONS_OFFSET];
        list->names[faces] = name;
        workspace->kept[edges] = name;
        workspace->kept[REGIONS_LIST_MAX - 1 - vertices] = name;
        faces += o < 0;
        edges += o > 0;
        vertices += o == 0;
    }
    memcpy(list->names + faces, workspace->kept, edges * sizeof *list->names);
    memcpy(list->names + faces + edges, workspace->kept + REGIONS_LIST_MAX - vertices,
           vertices * sizeof *list->names);
}

static void set_near_point(const float near[3], regions_box *box) {
    box->near_sq = 0;
    for (int k = 0; k < 3; k++) {
        box->near[k] = box->centre[k] - near[k];
        box->near_sq += box->near[k] * box->near[k];
    }
}

/* Traverses the BVH. Returns false if there are too many features. */
static bool traverse_nodes(collection *c, const near_point_cull *cull) {
    const abut_bvh *bvh = c->workspace->table->bvh;
    uint32_t stack[BVH_STACK], used = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            if (!add_leaf_features(c, next & ~BVH_LEAF))
                return false;
            continue;
        }
        const bvh_node *node = &bvh->nodes[next];
        unsigned met = children_not_culled(node, cull);
        if (c->box.reach < INFINITY)
            met &= children_within_reach(node, &c->box, c->box.reach + 4 * c->box.margin);
        for (uint32_t slot = BVH_WIDTH; slot-- > 0;) /* the first child is popped first */
            if (met >> slot & 1 && node->child[slot] != ABUT_NONE)
                stack[used++] = node->child[slot];
    }
    return filter_pending_groups(c);
}

regions_outcome abuti_regions_collect(regions_room *workspace, const regions_box *box,
                                      uint32_t max_count, regions_list *list) {
    const regions_table *table = workspace->table;
    const abut_bvh *bvh = table->bvh;
    collection c = {.workspace = workspace, .box = *box};
    const float rho = regions_radius(box), margin = box->margin;
    const double to_world = 1 / bvh->scale;
    vec3 centre = v3(box->centre[0], box->centre[1], box->centre[2]);
    abut_nearest nearest;
    abuti_nearest_point(bvh, v3_along(bvh->mesh->origin, to_world, centre),
                        1.001 * to_world * ((double)box->reach + rho + 4 * margin),
                        &workspace->hint, &nearest);
    if (nearest.triangle == ABUT_NONE)
        return REGIONS_NOTHING;
    near_point_cull cull = make_cull(bvh, &c.box, &nearest);
    set_near_point(cull.nearest, &c.box);
    workspace->used = 0;
    c.names = workspace->names;
    c.max_count = max_count < REGIONS_LIST_MAX ? max_count : REGIONS_LIST_MAX;
    memset(workspace->seen, 0, regions_seen_words(table) * sizeof *workspace->seen);
    if (!traverse_nodes(&c, &cull))
        return REGIONS_TOO_MANY;
    if (!c.count)
        return REGIONS_NOTHING;
    allocate_list(workspace, c.count, list);
    memcpy(list->near, cull.nearest, sizeof list->near);
    sort_by_kind(workspace, list);
    workspace->kernel->gather(table->rows, list);
    return REGIONS_LISTED;
}

/* Writes positions in a list. */
static void filter_places(regions_room *workspace, const regions_list *list, regions_box *boxes,
                          uint32_t box_count, uint32_t *kept_count) {
    for (uint32_t i = 0; i < box_count; i++)
        set_near_point(list->near, &boxes[i]);
    workspace->kernel->filter(list, boxes, box_count, workspace->kept, kept_count);
}

void abuti_regions_filter(regions_room *workspace, const regions_list *list, regions_box *boxes,
                          uint32_t box_count, uint32_t *kept_count) {
    filter_places(workspace, list, boxes, box_count, kept_count);
    for (uint32_t i = 0; i < box_count; i++) {
        uint32_t *kept = workspace->kept + (size_t)i * regions_stride(list->count);
        for (uint32_t k = 0; k < kept_count[i]; k++) {
            kept[k] = list->names[kept[k]];
            ABUTI_PREFETCH(&workspace->table->rows[kept[k]]);
        }
    }
}

void abuti_regions_narrow(regions_room *workspace, const regions_list *from, regions_box *boxes,
                          uint32_t box_count, regions_narrowed *made) {
    uint32_t kept_count[REGIONS_BOXES];
    const bool is_short = from->count <= SHORT_LIST_FEATURES;
    if (!is_short)
        filter_places(workspace, from, boxes, box_count, kept_count);
    for (uint32_t i = 0; i < box_count; i++) {
        const regions_box *box = &boxes[i];
        regions_list *own = &made[i].own;
        made[i].list = from;
        if (is_short)
            continue;
        const uint32_t *kept = workspace->kept + (size_t)i * regions_stride(from->count);
        if (kept_count[i] == 0)
            made[i].list = NULL;
        if (kept_count[i] == 0 || kept_count[i] > from->count / 4 * 3 ||
            !allocate_list(workspace, kept_count[i], own))
            continue;
        for (uint32_t k = 0; k < kept_count[i]; k++) {
            own->names[k] = from->names[kept[k]];
            ABUTI_PREFETCH(&workspace->table->rows[own->names[k]]);
        }
        for (int k = 0; k < 3; k++)
            own->near[k] = box->centre[k] - box->near[k];
        workspace->kernel->gather(workspace->table->rows, own);
        made[i].list = own;
    }
}
