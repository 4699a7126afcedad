/* Values of blocks of cells: the distance at the centre of each cell, negative inside.
 *
 * Tiles of rows of blocks are shared out to the threads. A worker counts the crossings of the rows
 * of its tile (sign_rows.c), then goes through cubes of blocks, with lists of features that shrink
 * on the way from the cube to sixteen cells (cells.h). Where a list would be too long it is not
 * made, and smaller boxes are tried; where that is still so for sixteen cells, each is searched.
 * Values are floats of exact distances, so that it does not matter who computes what.
 */
#include "field/cells.h"

#include "base/simd.h"
#include "bvh/sign.h"
#include "geom/closest_shared.h"

#include <math.h>

enum {
    CUBE = 4,                        /* blocks along a side of what lists begin with */
    TILE_LONG = 32,                  /* blocks of a tile along x */
    LIST_MOST = 16384,               /* features */
    ROOM = 32768,                    /* features of all lists on the way down */
    CHUNK = 2048,                    /* features of the table that are filtered at a time */
    SHORT_LIST = 16,                 /* not filtered again but for sixteen cells */
    MEASURE_LIST = 4,                /* nor for those */
    TILE_CELLS = CUBE * FIELD_BRICK, /* and one for bricks that share a layer */
    TILE_ROW = TILE_LONG * FIELD_BRICK
};
/* Cells further from the middle than this, in the frame, are searched for one by one. */
#define NEAR_CELLS 8.0

/* All threads read it. */
typedef struct computing {
    const field_job *job;
    cells_table table;
    const cells_kernel *kernel;
    sign_border border;
    bool closed;
    double *frame[3];             /* coordinates of cells in the frame */
    uint32_t end[3];              /* of cells that have values, along each axis */
    uint32_t tiles[3], tile_rows; /* blocks of a tile along y and z */
    struct worker *workers;
    uint64_t *seen; /* of all workers */
    size_t begin;   /* of the tiles that run */
} computing;

typedef struct worker {
    const computing *c;
    cells_rule rule;
    /* the tile: its first block, how many, and their places in `wanted` */
    uint32_t first[3], blocks[3];
    size_t at[TILE_LONG * CUBE * CUBE];
    sign_rows rows;
    int32_t winding[(TILE_CELLS + 1) * (TILE_CELLS + 1) * (TILE_ROW + 1)];
    unsigned char inside[(TILE_CELLS + 1) * (TILE_CELLS + 1) * (TILE_ROW + 1)];
    cells_lanes x[TILE_ROW / CELLS_X + 1], y[TILE_CELLS / CELLS_Y + 1], z[TILE_CELLS / CELLS_Z + 1];
    /* the block */
    float values[FIELD_VALUES];
    uint32_t touching[FIELD_VALUES], touching_count; /* cells on the surface, or as good as that */
    float touching_value[FIELD_VALUES];
    uint32_t origin[3];
    /* lists */
    uint32_t used; /* of the room */
    uint32_t kept[LIST_MOST + CELLS_GROUP];
    uint64_t *seen; /* a bit for each group of the table */
    float scratch[2 * (LIST_MOST + CELLS_GROUP)];
    uint32_t names[ROOM];
    float columns[ROOM * CELLS_COLUMNS];
} worker;

static const size_t NOT_WANTED = (size_t)-1;

static size_t seen_words(const cells_table *table) {
    return table->features.count / (64 * CELLS_GROUP) + 1;
}

/* ---- lists ---- */

static cells_box box_of(const worker *w, const cells_span *s) {
    cells_box box;
    for (int k = 0; k < 3; k++) {
        double lo = w->c->frame[k][s->begin[k]], hi = w->c->frame[k][s->begin[k] + s->count[k] - 1];
        box.centre[k] = (float)(0.5 * (lo + hi));
        box.half[k] = (float)(0.5 * (hi - lo)) + 0.25f * w->rule.margin; /* and rounding */
    }
    box.margin = w->rule.margin;
    box.reach = (float)(w->rule.band * w->c->table.bvh->scale) * LISTS_SLACK;
    return box;
}

static float radius_of(const cells_box *box) {
    const float *h = box->half;
    return sqrtf(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) * LISTS_SLACK;
}

/* Room for a list of so many, or false. */
static bool take_room(worker *w, uint32_t count, cells_list *list) {
    uint32_t stride = cells_stride(count);
    if (stride > ROOM - w->used)
        return false;
    list->count = count;
    list->stride = stride;
    list->columns = w->columns + (size_t)w->used * CELLS_COLUMNS;
    list->names = w->names + w->used;
    w->used += stride;
    return true;
}

/* Which children of a node are within reach of a box. */
static unsigned children_within(const bvh_node *node, const cells_box *box, float reach) {
    f4 sum = f4_all(0), zero = f4_all(0);
    for (int k = 0; k < 3; k++) {
        f4 below = f4_sub(f4_load(node->lo[k]), f4_all(box->centre[k] + box->half[k]));
        f4 above = f4_sub(f4_all(box->centre[k] - box->half[k]), f4_load(node->hi[k]));
        f4 gap = f4_max(f4_max(below, above), zero);
        sum = f4_add(sum, f4_mul(gap, gap));
    }
    return m4_bits(f4_less_equal(sum, f4_all(reach * reach * LISTS_SLACK)));
}

/* A collection of names; groups of the table are filtered some at a time. */
typedef struct collection {
    worker *w;
    cells_box box;
    uint32_t begin, end; /* groups that wait */
    uint32_t count, most;
    uint32_t *names;
} collection;

/* Filters what waits; false where there are too many. */
static bool collect_some(collection *c) {
    worker *w = c->w;
    const cells_table *table = &w->c->table;
    const uint32_t first = c->begin * CELLS_GROUP, left = table->features.count - first;
    cells_list list = {(c->end - c->begin) * CELLS_GROUP, table->stride, table->columns + first,
                       NULL};
    if (c->begin == c->end)
        return true;
    list.count = list.count < left ? list.count : left;
    float nearest;
    uint32_t kept = w->c->kernel->filter(&list, &c->box, w->scratch, w->kept, &nearest);
    if (kept > c->most - c->count)
        return false;
    for (uint32_t i = 0; i < kept; i++)
        c->names[c->count++] = first + w->kept[i];
    return true;
}

/* Adds the features of a leaf. Groups may have some of other leaves: no harm, but each only once.
 */
static bool collect_leaf(collection *c, uint32_t leaf) {
    const uint32_t *features = c->w->c->table.features.leaf_begin + leaf;
    for (uint32_t g = features[0] / CELLS_GROUP; g * CELLS_GROUP < features[1]; g++) {
        uint64_t *word = &c->w->seen[g / 64], bit = (uint64_t)1 << g % 64;
        if (*word & bit)
            continue;
        *word |= bit;
        if (g != c->end || c->end - c->begin == CHUNK / CELLS_GROUP) {
            if (!collect_some(c))
                return false;
            c->begin = g;
        }
        c->end = g + 1;
    }
    return true;
}

/* Puts faces first and vertices last, so that loops need not jump between them. */
static void sort_kinds(worker *w, cells_list *list) {
    uint32_t faces = 0, edges = 0, vertices = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t name = list->names[i];
        float offset = w->c->table.rows[name].column[CELLS_OFFSET];
        if (offset < 0)
            list->names[faces++] = name;
        else if (offset > 0)
            w->kept[edges++] = name;
        else
            w->kept[LIST_MOST - ++vertices] = name;
    }
    memcpy(list->names + faces, w->kept, edges * sizeof *list->names);
    memcpy(list->names + faces + edges, w->kept + LIST_MOST - vertices,
           vertices * sizeof *list->names);
}

/* What tells which children of a node can hold the nearest of a cell; see lists.h. */
typedef struct culling {
    lists_block block;
    lists_limits limits;
    float nearest[3], limit;
} culling;

static culling culling_of(const worker *w, const cells_box *box, const abut_nearest *nearest) {
    const abut_bvh *bvh = w->c->table.bvh;
    const uint32_t *index = bvh->mesh->indices + 3 * (size_t)nearest->triangle;
    culling c = {.block = {.margin = 2 * box->margin}};
    vec3 g = v3(0, 0, 0);
    float sq = 0;
    for (int k = 0; k < 3; k++)
        g = v3_along(g, nearest->barycentric[k] * bvh->scale, bvh->mesh->positions[index[k]]);
    for (int k = 0; k < 3; k++) {
        c.block.centre[k] = box->centre[k];
        c.block.half[k] = box->half[k];
        c.nearest[k] = (float)v3_get(g, k);
        sq += (c.nearest[k] - box->centre[k]) * (c.nearest[k] - box->centre[k]);
    }
    c.limits = lists_limits_of(&c.block);
    c.limit = lists_limit(&c.block, &c.limits, sq);
    return c;
}

typedef enum outcome { LISTED, NOTHING_NEAR, TOO_MANY } outcome;

/* Makes a list for a box from the hierarchy. */
static outcome collect(worker *w, const cells_span *s, cells_list *list, bool *clear) {
    const abut_bvh *bvh = w->c->table.bvh;
    collection c = {.w = w, .box = box_of(w, s)};
    const float rho = radius_of(&c.box);
    vec3 centre = v3(c.box.centre[0], c.box.centre[1], c.box.centre[2]);
    abut_nearest nearest;
    abuti_bvh_nearest(bvh, v3_along(bvh->mesh->origin, w->rule.to_world, centre),
                      w->rule.band + 1.001 * w->rule.to_world * (rho + 4 * c.box.margin), NULL,
                      &nearest);
    *clear = nearest.distance * bvh->scale > rho + 4 * (double)c.box.margin;
    if (nearest.triangle == ABUT_NONE)
        return NOTHING_NEAR;
    float upper = (float)(nearest.distance * bvh->scale) * LISTS_SLACK + rho + c.box.margin;
    c.box.reach = upper < c.box.reach ? upper : c.box.reach;
    culling cull = culling_of(w, &c.box, &nearest);
    uint32_t stack[BVH_STACK], used = 0, room = ROOM - w->used; /* no list is there yet */
    c.names = w->names + w->used;
    c.most = room < LIST_MOST + 3 * CELLS_GROUP ? room - 3 * CELLS_GROUP : LIST_MOST;
    memset(w->seen, 0, seen_words(&w->c->table) * sizeof *w->seen);
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            if (!collect_leaf(&c, next & ~BVH_LEAF))
                return TOO_MANY;
            continue;
        }
        const bvh_node *node = &bvh->nodes[next];
        unsigned met = children_within(node, &c.box, c.box.reach + 4 * c.box.margin) &
                       lists_boxes_met(node, &cull.block, &cull.limits, cull.nearest, cull.limit);
        for (uint32_t slot = BVH_WIDTH; slot-- > 0;) /* the first is taken first */
            if (met >> slot & 1 && node->child[slot] != ABUT_NONE)
                stack[used++] = node->child[slot];
    }
    if (!collect_some(&c))
        return TOO_MANY;
    if (!c.count)
        return NOTHING_NEAR;
    take_room(w, c.count, list);
    sort_kinds(w, list);
    w->c->kernel->gather(w->c->table.rows, list);
    return LISTED;
}

/* Makes a list for a box, from that of a larger one unless that is null. LISTED may leave the
 * larger one as it is. `clear`: no surface passes through the box. */
static outcome narrow(worker *w, const cells_span *s, const cells_list **list, cells_list *own,
                      bool *clear) {
    *clear = false;
    if (!*list) {
        outcome found = collect(w, s, own, clear);
        *list = found == LISTED ? own : NULL;
        return found;
    }
    if ((*list)->count <= SHORT_LIST)
        return LISTED;
    cells_box box = box_of(w, s);
    float nearest;
    uint32_t kept = w->c->kernel->filter(*list, &box, w->scratch, w->kept, &nearest);
    *clear = w->rule.band == INFINITY && nearest > radius_of(&box) + 4 * box.margin;
    if (kept == 0)
        return NOTHING_NEAR;
    if (kept > (*list)->count / 4 * 3 || !take_room(w, kept, own))
        return LISTED;
    for (uint32_t i = 0; i < kept; i++)
        own->names[i] = (*list)->names[w->kept[i]];
    w->c->kernel->take(w->c->table.rows, *list, w->kept, own);
    *list = own;
    return LISTED;
}

/* ---- cells ---- */

static uint32_t place_of(const worker *w, uint32_t i, uint32_t j, uint32_t k) {
    uint32_t side = w->c->job->block;
    return (i - w->origin[0]) + side * ((j - w->origin[1]) + side * (k - w->origin[2]));
}

/* The sign of a cell that is so near to the surface that it may be on it: as in bvh/signed.c, where
 * a distance of 0 has none, and what rounding makes of 0 is inside. */
static double sign_touching(const computing *c, vec3 p, double distance) {
    int64_t winding;
    bool on_surface, inside;
    if (!(distance > 0))
        return distance;
    if (c->closed) {
        abuti_bvh_crossing(c->table.bvh, NULL, p, &winding, &on_surface);
        inside = on_surface || winding != 0;
    } else {
        const struct bvh_sign *sign = c->table.bvh->sign;
        inside = abuti_bvh_winding(c->table.bvh, sign->far, p) * sign->facing >= 0.5;
    }
    return inside ? -distance : distance;
}

static void search_cell(worker *w, const uint32_t cell[3], float *value) {
    const computing *c = w->c;
    vec3 p = grid_centre(c->job->grid, cell[0], cell[1], cell[2]);
    abut_nearest nearest;
    abuti_bvh_nearest(c->table.bvh, p, INFINITY, NULL, &nearest);
    *value = (float)(nearest.distance > c->job->band ? c->job->band : nearest.distance);
    if (nearest.distance <= 2 * w->rule.error * w->rule.to_world) {
        w->touching[w->touching_count] = place_of(w, cell[0], cell[1], cell[2]);
        w->touching_value[w->touching_count++] =
            (float)real_clamp(sign_touching(c, p, nearest.distance), -c->job->band, c->job->band);
    }
}

static vec3 position_of(const abut_bvh *bvh, uint32_t vertex) {
    return v3_scale(bvh->mesh->positions[vertex], bvh->scale);
}

/* The distance from a feature, exactly but for rounding, if that is less than `best`. */
static double measure_feature(const cells_table *table, uint32_t name, vec3 p, double best) {
    const cells_exact *f = &table->exact[name];
    const uint32_t *ends = table->features.ends[name];
    vec3 a = v3(f->place[0], f->place[1], f->place[2]), r = v3_sub(p, a);
    vec3 v = v3(f->vector[0], f->vector[1], f->vector[2]);
    double along = v3_dot(r, v);
    if (f->is_face > 0) {
        abut_triangle t;
        if (fabs(along) > best)
            return INFINITY;
        for (size_t k = 0; k < 3; k++)
            t.corner[k] =
                position_of(table->bvh, table->bvh->mesh->indices[3 * (size_t)ends[0] + k]);
        return triangle_closest_point(t, p).distance;
    }
    vec3 b = position_of(table->bvh, ends[1]);
    if (along <= 0)
        return v3_length(r);
    return along >= v3_dot(v3_sub(b, a), v) ? v3_length(v3_sub(p, b))
                                            : v3_length(v3_along(r, -along, v));
}

/* A cell that several features may be nearest to. */
static void settle_cell(worker *w, const uint32_t *names, uint32_t count, const uint32_t cell[3],
                        float *value) {
    const computing *c = w->c;
    vec3 p = v3(c->frame[0][cell[0]], c->frame[1][cell[1]], c->frame[2][cell[2]]);
    double best = INFINITY, marked = INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        double d = measure_feature(&c->table, names[k], p, best);
        best = real_min(best, d);
        if (c->table.exact[names[k]].is_marked > 0)
            marked = real_min(marked, d);
    }
    if (marked <= best + 4 * (double)w->rule.margin || !cells_value(&w->rule, best, value))
        search_cell(w, cell, value);
}

/* Sixteen cells or fewer. */
static void measure_cells(worker *w, const cells_span *s, const uint32_t *names, uint32_t count) {
    const computing *c = w->c;
    const uint32_t *first = w->rows.cells.begin;
    const cells_lanes *const at[3] = {&w->x[(s->begin[0] - first[0]) / CELLS_X],
                                      &w->y[(s->begin[1] - first[1]) / CELLS_Y],
                                      &w->z[(s->begin[2] - first[2]) / CELLS_Z]};
    float values[CELLS_COUNT];
    unsigned doubtful = c->kernel->measure(&c->table, names, count, at, &w->rule, values);
    for (uint32_t n = 0; doubtful >> n; n++) {
        const uint32_t step[3] = {n % CELLS_X, n / CELLS_X % CELLS_Y, n / (CELLS_X * CELLS_Y)};
        if (!(doubtful >> n & 1) || step[0] >= s->count[0] || step[1] >= s->count[1] ||
            step[2] >= s->count[2])
            continue;
        const uint32_t cell[3] = {s->begin[0] + step[0], s->begin[1] + step[1],
                                  s->begin[2] + step[2]};
        settle_cell(w, names, count, cell, &values[n]);
    }
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            float *row = &w->values[place_of(w, s->begin[0], s->begin[1] + j, s->begin[2] + k)];
            const float *from = values + CELLS_X * (j + CELLS_Y * k);
            for (uint32_t i = 0; i < s->count[0]; i++)
                row[i] = from[i];
        }
}

/* Sets cells of the block to the band, or searches for each. */
static void set_cells(worker *w, const cells_span *s, bool search) {
    uint32_t cell[3];
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++)
            for (cell[0] = s->begin[0]; cell[0] < s->begin[0] + s->count[0]; cell[0]++) {
                float *value = &w->values[place_of(w, cell[0], cell[1], cell[2])];
                if (search)
                    search_cell(w, cell, value);
                else
                    *value = (float)w->rule.band;
            }
}

/* The last step: a list for sixteen cells. */
static void finish_cells(worker *w, const cells_span *s, const cells_list *list) {
    const uint32_t *names = list->names;
    uint32_t count = list->count;
    if (count > MEASURE_LIST) {
        cells_box box = box_of(w, s);
        float nearest;
        count = w->c->kernel->filter(list, &box, w->scratch, w->kept, &nearest);
        for (uint32_t i = 0; i < count; i++)
            w->kept[i] = names[w->kept[i]];
        names = w->kept;
    }
    if (count)
        measure_cells(w, s, names, count);
    else
        set_cells(w, s, w->rule.band == INFINITY);
}

/* Cuts a number of cells in two; a part is a multiple of `least`, or all there is. */
static uint32_t first_part(uint32_t count, uint32_t least) {
    if (count <= least)
        return count;
    uint32_t half = (count / 2 + least - 1) / least * least;
    return half < count ? half : count - least;
}

/* Goes through the cells of a block with a list for more than these, or null where there is none.
 * Recursion ends after some four levels: every cut halves. */
static void divide_cells(worker *w, const cells_span *s, const cells_list *list) {
    bool last = s->count[0] <= CELLS_X && s->count[1] <= CELLS_Y && s->count[2] <= CELLS_Z;
    uint32_t before = w->used;
    cells_list own;
    if (last && list) {
        finish_cells(w, s, list);
        return;
    }
    bool clear;
    outcome found = narrow(w, s, &list, &own, &clear);
    if (found == NOTHING_NEAR)
        set_cells(w, s, w->rule.band == INFINITY);
    else if (last && list)
        measure_cells(w, s, list->names, list->count);
    else if (last)
        set_cells(w, s, true);
    else {
        const uint32_t part[3] = {first_part(s->count[0], CELLS_X),
                                  first_part(s->count[1], CELLS_Y),
                                  first_part(s->count[2], CELLS_Z)};
        for (int octant = 0; octant < 8; octant++) {
            cells_span sub;
            bool empty = false;
            for (int k = 0; k < 3; k++) {
                bool second = octant >> k & 1;
                sub.begin[k] = s->begin[k] + (second ? part[k] : 0);
                sub.count[k] = second ? s->count[k] - part[k] : part[k];
                empty = empty || !sub.count[k];
            }
            if (!empty)
                divide_cells(w, &sub, list);
        }
    }
    w->used = before;
}

/* ---- blocks ---- */

/* The cells of some blocks of the tile. */
static cells_span span_of(const worker *w, const uint32_t block[3], const uint32_t count[3]) {
    cells_span s;
    uint32_t shared = w->c->job->block - FIELD_BRICK;
    for (int k = 0; k < 3; k++) {
        s.begin[k] = (w->first[k] + block[k]) * FIELD_BRICK;
        uint32_t end = s.begin[k] + count[k] * FIELD_BRICK + shared;
        s.count[k] = (end < w->c->end[k] ? end : w->c->end[k]) - s.begin[k];
    }
    return s;
}

static size_t *wanted_at(worker *w, const uint32_t block[3]) {
    return &w->at[block[0] + TILE_LONG * (block[1] + CUBE * block[2])];
}

static bool is_known(const worker *w, const uint32_t block[3]) {
    const field_job *job = w->c->job;
    return job->known && job->known[grid_at(job->blocks, w->first[0] + block[0],
                                            w->first[1] + block[1], w->first[2] + block[2])];
}

/* Signs the values of the block and gives them away. */
static void finish_block(worker *w, const cells_span *s, size_t at, bool is_signed) {
    const computing *c = w->c;
    if (!is_signed)
        abuti_sign_open(c->table.bvh, c->job->grid, &c->border, &w->rows, s, c->job->block,
                        w->values);
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            float *row = w->values + c->job->block * (j + (size_t)c->job->block * k);
            const unsigned char *inside = w->rows.inside + sign_rows_at(&w->rows, cell);
            for (uint32_t i = 0; i < s->count[0]; i++)
                row[i] = inside[i] ? -row[i] : row[i];
        }
    for (uint32_t i = 0; i < w->touching_count; i++)
        w->values[w->touching[i]] = w->touching_value[i];
    c->job->put(c->job->data, at, s->begin, w->values);
}

/* What is known of a box of blocks: a list, or null; that nothing of it is within the band; that
 * cells have signs. */
typedef struct known {
    const cells_list *list;
    bool is_beyond, is_signed, is_far; /* far: too far from the mesh for floats */
} known;

static void compute_block(worker *w, const uint32_t block[3], const known *k) {
    static const uint32_t one[3] = {1, 1, 1};
    size_t at = *wanted_at(w, block);
    if (at == NOT_WANTED)
        return;
    cells_span s = span_of(w, block, one);
    memcpy(w->origin, s.begin, sizeof w->origin);
    w->touching_count = 0;
    if (is_known(w, block))
        w->c->job->get(w->c->job->known_data, s.begin, w->values);
    else if (k->is_beyond || k->is_far)
        set_cells(w, &s, k->is_far || w->rule.band == INFINITY);
    else
        divide_cells(w, &s, k->list);
    finish_block(w, &s, at, k->is_signed);
}

/* Some blocks of which nothing more can be known. */
static void compute_blocks(worker *w, const uint32_t first[3], const uint32_t count[3],
                           const known *k) {
    uint32_t b[3];
    for (b[2] = first[2]; b[2] < first[2] + count[2]; b[2]++)
        for (b[1] = first[1]; b[1] < first[1] + count[1]; b[1]++)
            for (b[0] = first[0]; b[0] < first[0] + count[0]; b[0]++)
                compute_block(w, b, k);
}

/* Whether distances of some of these blocks must be found. */
static bool any_wanted(worker *w, const uint32_t first[3], const uint32_t count[3]) {
    uint32_t b[3];
    for (b[2] = first[2]; b[2] < first[2] + count[2]; b[2]++)
        for (b[1] = first[1]; b[1] < first[1] + count[1]; b[1]++)
            for (b[0] = first[0]; b[0] < first[0] + count[0]; b[0]++)
                if (*wanted_at(w, b) != NOT_WANTED && !is_known(w, b))
                    return true;
    return false;
}

/* Signs cells that no surface passes through, if that can be done at once. */
static bool sign_clear(worker *w, const cells_span *s, bool always) {
    const computing *c = w->c;
    return abuti_sign_open_clear(c->table.bvh, c->job->grid, &c->border, &w->rows, s, always);
}

/* Goes through blocks of the tile as divide_cells() does through cells. */
static void divide_blocks(worker *w, const uint32_t first[3], const uint32_t count[3], known k) {
    uint32_t before = w->used;
    cells_list own;
    bool clear;
    bool single = count[0] == 1 && count[1] == 1 && count[2] == 1;
    if (single || !any_wanted(w, first, count)) {
        compute_blocks(w, first, count, &k);
        return;
    }
    cells_span s = span_of(w, first, count);
    k.is_beyond = narrow(w, &s, &k.list, &own, &clear) == NOTHING_NEAR;
    if (!k.is_signed && (clear || k.is_beyond))
        k.is_signed = sign_clear(w, &s, k.is_beyond);
    for (int octant = 0; octant < 8 && !k.is_beyond; octant++) {
        uint32_t begin[3], part[3];
        bool empty = false;
        for (int axis = 0; axis < 3; axis++) {
            uint32_t half = (count[axis] + 1) / 2;
            bool second = octant >> axis & 1;
            begin[axis] = first[axis] + (second ? half : 0);
            part[axis] = second ? count[axis] - half : half;
            empty = empty || !part[axis];
        }
        if (!empty)
            divide_blocks(w, begin, part, k);
    }
    if (k.is_beyond)
        compute_blocks(w, first, count, &k);
    w->used = before;
}

/* ---- tiles ---- */

/* The rule for cells whose coordinates are at most `largest` in the frame. */
static void set_rule(worker *w, double largest) {
    w->rule.margin = cells_margin((float)largest);
    w->rule.error = 0x1p-46 * (largest + 2);
}

/* A cube of blocks, from the hierarchy on. */
static void compute_cube(worker *w, const uint32_t first[3], const uint32_t count[3]) {
    const computing *c = w->c;
    cells_span s = span_of(w, first, count);
    double largest = 0;
    for (int k = 0; k < 3; k++)
        largest = real_max(largest, real_max(fabs(c->frame[k][s.begin[k]]),
                                             fabs(c->frame[k][s.begin[k] + s.count[k] - 1])));
    known k = {.is_signed = c->closed, .is_far = !(largest <= NEAR_CELLS)};
    set_rule(w, largest);
    w->used = 0;
    if (k.is_far)
        compute_blocks(w, first, count, &k);
    else
        divide_blocks(w, first, count, k);
}

/* The first of the wanted blocks that is not before a number. */
static size_t wanted_from(const field_job *job, size_t number) {
    size_t lo = 0, hi = job->wanted_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (job->wanted[middle] < number)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Lists the places of the tile's blocks; false where none is wanted. */
static bool list_wanted(worker *w) {
    const field_job *job = w->c->job;
    bool any = false;
    for (uint32_t z = 0; z < w->blocks[2]; z++)
        for (uint32_t y = 0; y < w->blocks[1]; y++) {
            const uint32_t row[3] = {0, y, z};
            size_t *at = wanted_at(w, row);
            size_t number = grid_at(job->blocks, w->first[0], w->first[1] + y, w->first[2] + z);
            for (uint32_t x = 0; x < w->blocks[0]; x++)
                at[x] = job->wanted ? NOT_WANTED : number + x;
            if (!job->wanted) {
                any = true;
                continue;
            }
            for (size_t i = wanted_from(job, number);
                 i < job->wanted_count && job->wanted[i] < number + w->blocks[0]; i++) {
                at[job->wanted[i] - number] = i;
                any = true;
            }
        }
    return any;
}

/* Coordinates of sixteen cells at a time, along each axis of the tile. */
static void make_lanes(worker *w) {
    cells_lanes *const lanes[3] = {w->x, w->y, w->z};
    static const uint32_t step[3] = {CELLS_X, CELLS_Y, CELLS_Z};
    static const uint32_t stride[3] = {1, CELLS_X, CELLS_X * CELLS_Y};
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < w->rows.cells.count[k]; i += step[k])
            for (uint32_t n = 0; n < CELLS_COUNT; n++) {
                uint32_t cell = i + n / stride[k] % step[k], last = w->rows.cells.count[k] - 1;
                double x = w->c->frame[k][w->rows.cells.begin[k] + (cell < last ? cell : last)];
                lanes[k][i / step[k]].exact[n] = x;
                lanes[k][i / step[k]].rounded[n] = (float)x;
            }
}

static void compute_tile(worker *w, size_t tile) {
    const computing *c = w->c;
    const uint32_t size[3] = {TILE_LONG, c->tile_rows, c->tile_rows};
    const size_t place[3] = {tile % c->tiles[0], tile / c->tiles[0] % c->tiles[1],
                             tile / c->tiles[0] / c->tiles[1]};
    static const uint32_t none[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        w->first[k] = (uint32_t)place[k] * size[k];
        uint32_t left = c->job->blocks[k] - w->first[k];
        w->blocks[k] = left < size[k] ? left : size[k];
    }
    if (!list_wanted(w))
        return;
    cells_span s = span_of(w, none, w->blocks);
    w->rows.cells = s;
    w->rows.winding = w->winding;
    w->rows.inside = w->inside;
    make_lanes(w);
    abuti_sign_rows(c->table.bvh, c->job->grid, &w->rows);
    for (uint32_t x = 0; x < w->blocks[0]; x += c->tile_rows) {
        uint32_t left = w->blocks[0] - x;
        const uint32_t first[3] = {x, 0, 0}, count[3] = {left < c->tile_rows ? left : c->tile_rows,
                                                         w->blocks[1], w->blocks[2]};
        compute_cube(w, first, count);
    }
}

typedef struct part {
    computing *c;
    size_t begin, end;
    atomic_size_t taken;
} part;

/* Takes tiles as long as there are any. */
static void worker_task(void *data, size_t chunk, size_t begin, size_t end) {
    part *p = data;
    worker *w = &p->c->workers[chunk];
    (void)begin;
    (void)end;
    w->c = p->c;
    w->seen = p->c->seen + chunk * seen_words(&p->c->table);
    w->rule.to_world = 1 / p->c->table.bvh->scale;
    w->rule.band = p->c->job->band;
    for (;;) {
        size_t tile = p->begin + atomic_fetch_add(&p->taken, 1);
        if (tile >= p->end)
            return;
        compute_tile(w, tile);
    }
}

/* ---- jobs ---- */

/* Coordinates of all cells in the frame. */
static abut_status make_frame(computing *c) {
    const field_job *job = c->job;
    const abut_bvh *bvh = job->bvh;
    for (int k = 0; k < 3; k++) {
        c->end[k] =
            job->block == FIELD_BRICK ? job->grid->count[k] : job->blocks[k] * FIELD_BRICK + 1;
        c->frame[k] = abuti_allocate(bvh->context, c->end[k], sizeof *c->frame[k]);
        if (!c->frame[k])
            return ABUT_ERROR_MEMORY;
        for (uint32_t i = 0; i < c->end[k]; i++) /* as grid_centre() */
            c->frame[k][i] = (v3_get(job->grid->origin, k) + job->grid->cell * i -
                              v3_get(bvh->mesh->origin, k)) *
                             bvh->scale;
    }
    return ABUT_OK;
}

static abut_status run_tiles(computing *c, uint32_t workers) {
    const field_job *job = c->job;
    abut_context *context = job->bvh->context;
    size_t all = (size_t)c->tiles[0] * c->tiles[1] * c->tiles[2], most = 16 * (size_t)workers;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < all && !status; begin += most) {
        part p = {.c = c, .begin = begin, .end = all - begin < most ? all : begin + most};
        abuti_parallel_for(context, workers, 1, worker_task, &p);
        status = abuti_progress(context, "field",
                                job->from + (job->to - job->from) * (double)p.end / (double)all);
    }
    return status;
}

abut_status abuti_field_compute(const field_job *job) {
    const abut_bvh *bvh = job->bvh;
    abut_context *context = bvh->context;
    if (bvh->sign->method == ABUT_SIGN_NORMAL)
        return abuti_field_compute_plain(job);
    computing c = {.job = job, .kernel = abuti_cells_kernel(), .closed = bvh->sign->closed};
    uint32_t workers = abuti_context_threads(context);
    workers = workers < 4 ? 4 : workers; /* a caller's tasks may be more */
    c.tile_rows = CUBE;
    for (int k = 0; k < 3; k++) {
        uint32_t size = k == 0 ? TILE_LONG : c.tile_rows;
        c.tiles[k] = (job->blocks[k] + size - 1) / size;
    }
    size_t tiles = (size_t)c.tiles[0] * c.tiles[1] * c.tiles[2];
    workers = workers < tiles ? workers : (uint32_t)tiles;
    c.workers = abuti_allocate(context, workers, sizeof *c.workers);
    abut_status status = c.workers ? make_frame(&c) : ABUT_ERROR_MEMORY;
    if (!status && job->table)
        c.table = *job->table;
    else if (!status)
        status = abuti_cells_create(bvh, &c.table);
    if (!status && !c.closed)
        status = abuti_sign_border(bvh, &c.border);
    if (!status) {
        c.seen = abuti_allocate(context, seen_words(&c.table), workers * sizeof *c.seen);
        status = c.seen ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    status = status ? status : run_tiles(&c, workers);
    abuti_sign_border_destroy(bvh, &c.border);
    if (!job->table)
        abuti_cells_destroy(&c.table);
    for (int k = 0; k < 3; k++)
        abuti_release(context, c.frame[k]);
    abuti_release(context, c.seen);
    abuti_release(context, c.workers);
    return status;
}
