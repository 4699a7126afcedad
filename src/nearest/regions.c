/* The table of features as rows for lists, and lists from the hierarchy and from other lists; see
 * regions.h.
 *
 * Boxes of the hierarchy are culled by distance, and by a point g of the mesh: let c be the middle
 * of a box of points and h its half extents. What the box B of a node holds is of no use if |p - q|
 * > |p - g| for all points p = c + e of the one and q of the other. With everything relative to c,
 *     |p - q|^2 - |p - g|^2 = |q|^2 - |g|^2 + 2 e . (g - q),
 * which is linear in e, so its least value is |q|^2 - |g|^2 - 2 sum h_i |g_i - q_i|. Distances
 * alone would keep all of a shell around c that is 2 |h| thick, this a patch of about that width:
 * where the surface is flat g - q is the way along it, and |q|^2 - |g|^2 its square. The least
 * value in B is found axis by axis: (q - c)^2 - 2 h |g - q| is the lesser of two parabolas with
 * their vertices at c + h and c - h, so it is least where one of these is clamped to B.
 * With a margin m that bounds all errors of coordinates (here twice that of the lists), the box is
 * made larger by m, and the squares err by 4 m R + 4 m^2 for the distance by which g has to be
 * nearer, and by 6 m R themselves, where R = |g| + 2 |h| bounds |p - g|. The limit has 16 m (R +
 * m).
 */
#include "nearest/regions.h"

#include "base/simd.h"

enum {
    FEATURES_A_TASK = 4096,
    CHUNK = 512,     /* features of the table that are filtered at a time */
    SHORT_LIST = 16, /* not made shorter */
};

/* ---- table ---- */

/* Makes a row of a record, in its place. */
static void make_row(feature_kind kind, bool marked, regions_row *row) {
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
        feature_kind kind = feature_kind_of(&table->features.records[i]);
        make_row(kind, feature_is_marked(&table->features, (uint32_t)i), &table->rows[i]);
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
    status = abuti_parallel_try(context, "features", made.features.count, FEATURES_A_TASK,
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

/* Which children of a node are within reach of a box. */
static unsigned children_within(const bvh_node *node, const regions_box *box, float reach) {
    f4 sum = f4_all(0), zero = f4_all(0);
    for (int k = 0; k < 3; k++) {
        f4 below = f4_sub(f4_load(node->lo[k]), f4_all(box->centre[k] + box->half[k]));
        f4 above = f4_sub(f4_all(box->centre[k] - box->half[k]), f4_load(node->hi[k]));
        f4 gap = f4_max(f4_max(below, above), zero);
        sum = f4_add(sum, f4_mul(gap, gap));
    }
    return m4_bits(f4_less_equal(sum, f4_all(reach * reach * NEAREST_SLACK)));
}

/* What a point of the mesh says about which children can hold the nearest of a point. */
typedef struct culling {
    float centre[3], half[3], nearest[3], limit;
} culling;

static culling culling_of(const abut_bvh *bvh, const regions_box *box,
                          const abut_nearest *nearest) {
    const uint32_t *index = bvh->mesh->indices + 3 * (size_t)nearest->triangle;
    const float m = 2 * box->margin;
    culling c;
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

static unsigned children_met(const bvh_node *node, const culling *cull) {
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

/* Room for a list of so many, or false. */
static bool take_room(regions_room *room, uint32_t count, regions_list *list) {
    uint32_t capacity = regions_capacity(count);
    if (capacity > REGIONS_ROOM - room->used)
        return false;
    list->count = count;
    list->columns = room->columns + (size_t)room->used * REGIONS_COLUMNS;
    list->names = room->names + room->used;
    room->used += capacity;
    return true;
}

/* A collection of names; groups of the table are filtered some at a time. */
typedef struct collection {
    regions_room *room;
    regions_box box;
    uint32_t waiting, groups[CHUNK / REGIONS_GROUP];
    uint32_t count, most;
    uint32_t *names;
} collection;

/* The features of the groups that wait, as a list. Only the last one of the table may not be full:
 * it comes last. */
static regions_list list_waiting(collection *c) {
    regions_room *room = c->room;
    const uint32_t features = room->table->features.count, last = (features - 1) / REGIONS_GROUP;
    uint32_t *names = room->names + REGIONS_ROOM - CHUNK; /* no list reaches that far yet */
    for (uint32_t i = 0; i < c->waiting; i++)
        if (c->groups[i] == last) {
            c->groups[i] = c->groups[c->waiting - 1];
            c->groups[c->waiting - 1] = last;
        }
    for (uint32_t i = 0; i < c->waiting; i++)
        for (uint32_t k = 0; k < REGIONS_GROUP; k++)
            names[REGIONS_GROUP * i + k] = REGIONS_GROUP * c->groups[i] + k;
    regions_list list = {.count = REGIONS_GROUP * c->waiting,
                         .columns = room->columns,
                         .names = names};
    while (names[list.count - 1] >= features)
        list.count--;
    room->kernel->gather(room->table->rows, &list);
    return list;
}

/* Filters what waits; false where there are too many. */
static bool collect_some(collection *c) {
    regions_room *room = c->room;
    if (!c->waiting)
        return true;
    const regions_list list = list_waiting(c);
    uint32_t kept;
    room->kernel->filter(&list, &c->box, 1, room->kept, &kept);
    if (kept > c->most - c->count)
        return false;
    for (uint32_t i = 0; i < kept; i++)
        c->names[c->count++] = list.names[room->kept[i]];
    c->waiting = 0;
    return true;
}

/* Adds the features of a leaf. Groups may have some of other leaves: no harm, but each only once.
 * They are on their way from memory while others wait. */
static bool collect_leaf(collection *c, uint32_t leaf) {
    const regions_table *table = c->room->table;
    const uint32_t *features = table->features.leaf_begin + leaf;
    for (uint32_t g = features[0] / REGIONS_GROUP; g * REGIONS_GROUP < features[1]; g++) {
        uint64_t *word = &c->room->seen[g / 64], bit = (uint64_t)1 << g % 64;
        if (*word & bit)
            continue;
        *word |= bit;
        if (c->waiting == CHUNK / REGIONS_GROUP && !collect_some(c))
            return false;
        for (uint32_t i = REGIONS_GROUP * g;
             i < REGIONS_GROUP * (g + 1) && i < table->features.count; i++)
            __builtin_prefetch(&table->rows[i]);
        c->groups[c->waiting++] = g;
    }
    return true;
}

/* Puts faces first and vertices last, so that loops need not jump between them. Each name is
 * written to where it would go as any kind, and what is wrong is written over: no branch, since
 * none could be foreseen. */
static void sort_kinds(regions_room *room, regions_list *list) {
    const regions_row *rows = room->table->rows;
    uint32_t faces = 0, edges = 0, vertices = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t name = list->names[i];
        const float o = rows[name].column[REGIONS_OFFSET];
        list->names[faces] = name;
        room->kept[edges] = name;
        room->kept[REGIONS_LIST_MAX - 1 - vertices] = name;
        faces += o < 0;
        edges += o > 0;
        vertices += o == 0;
    }
    memcpy(list->names + faces, room->kept, edges * sizeof *list->names);
    memcpy(list->names + faces + edges, room->kept + REGIONS_LIST_MAX - vertices,
           vertices * sizeof *list->names);
}

static void start_near(const float near[3], regions_box *box) {
    box->near_sq = 0;
    for (int k = 0; k < 3; k++) {
        box->near[k] = box->centre[k] - near[k];
        box->near_sq += box->near[k] * box->near[k];
    }
}

/* Goes down the hierarchy; false where there are too many. */
static bool collect_nodes(collection *c, const culling *cull) {
    const abut_bvh *bvh = c->room->table->bvh;
    uint32_t stack[BVH_STACK], used = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            if (!collect_leaf(c, next & ~BVH_LEAF))
                return false;
            continue;
        }
        const bvh_node *node = &bvh->nodes[next];
        unsigned met = children_met(node, cull);
        if (c->box.reach < INFINITY)
            met &= children_within(node, &c->box, c->box.reach + 4 * c->box.margin);
        for (uint32_t slot = BVH_WIDTH; slot-- > 0;) /* the first is taken first */
            if (met >> slot & 1 && node->child[slot] != ABUT_NONE)
                stack[used++] = node->child[slot];
    }
    return collect_some(c);
}

regions_outcome abuti_regions_collect(regions_room *room, const regions_box *box, uint32_t most,
                                      regions_list *list, bool *clear) {
    const regions_table *table = room->table;
    const abut_bvh *bvh = table->bvh;
    collection c = {.room = room, .box = *box};
    const float rho = regions_radius(box), margin = box->margin;
    const double to_world = 1 / bvh->scale;
    vec3 centre = v3(box->centre[0], box->centre[1], box->centre[2]);
    abut_nearest nearest;
    abuti_nearest_point(bvh, v3_along(bvh->mesh->origin, to_world, centre),
                        1.001 * to_world * ((double)box->reach + rho + 4 * margin), &room->hint,
                        &nearest);
    *clear = nearest.distance * bvh->scale > rho + 4 * (double)margin;
    if (nearest.triangle == ABUT_NONE)
        return REGIONS_NOTHING;
    culling cull = culling_of(bvh, &c.box, &nearest);
    start_near(cull.nearest, &c.box);
    room->used = 0;
    c.names = room->names;
    c.most = most < REGIONS_LIST_MAX ? most : REGIONS_LIST_MAX;
    memset(room->seen, 0, regions_seen_words(table) * sizeof *room->seen);
    if (!collect_nodes(&c, &cull))
        return REGIONS_TOO_MANY;
    if (!c.count)
        return REGIONS_NOTHING;
    take_room(room, c.count, list);
    memcpy(list->near, cull.nearest, sizeof list->near);
    sort_kinds(room, list);
    room->kernel->gather(table->rows, list);
    return REGIONS_LISTED;
}

/* Gives places of a list. */
static void filter(regions_room *room, const regions_list *list, regions_box *boxes,
                   uint32_t box_count, uint32_t *kept_count) {
    for (uint32_t i = 0; i < box_count; i++)
        start_near(list->near, &boxes[i]);
    room->kernel->filter(list, boxes, box_count, room->kept, kept_count);
}

void abuti_regions_filter(regions_room *room, const regions_list *list, regions_box *boxes,
                          uint32_t box_count, uint32_t *kept_count) {
    filter(room, list, boxes, box_count, kept_count);
    for (uint32_t i = 0; i < box_count; i++) {
        uint32_t *kept = room->kept + (size_t)i * regions_stride(list->count);
        for (uint32_t k = 0; k < kept_count[i]; k++) {
            kept[k] = list->names[kept[k]];
            ABUTI_PREFETCH(&room->table->rows[kept[k]]);
        }
    }
}

void abuti_regions_narrow(regions_room *room, const regions_list *from, regions_box *boxes,
                          uint32_t box_count, regions_narrowed *made) {
    uint32_t kept_count[REGIONS_BOXES];
    const bool is_short = from->count <= SHORT_LIST;
    if (!is_short)
        filter(room, from, boxes, box_count, kept_count);
    for (uint32_t i = 0; i < box_count; i++) {
        const regions_box *box = &boxes[i];
        regions_list *own = &made[i].own;
        made[i].list = from;
        made[i].clear = false;
        if (is_short)
            continue;
        const uint32_t *kept = room->kept + (size_t)i * regions_stride(from->count);
        made[i].clear =
            box->reach == INFINITY && sqrtf(box->near_sq) > regions_radius(box) + 4 * box->margin;
        if (kept_count[i] == 0)
            made[i].list = NULL;
        if (kept_count[i] == 0 || kept_count[i] > from->count / 4 * 3 ||
            !take_room(room, kept_count[i], own))
            continue;
        for (uint32_t k = 0; k < kept_count[i]; k++) {
            own->names[k] = from->names[kept[k]];
            ABUTI_PREFETCH(&room->table->rows[own->names[k]]);
        }
        for (int k = 0; k < 3; k++)
            own->near[k] = box->centre[k] - box->near[k];
        room->kernel->gather(room->table->rows, own);
        made[i].list = own;
    }
}
