/* From lists of features to the distances of the cells of a block; see cells.h for the method. */
#include "field/build/compute.h"

#include "base/simd.h"
#include "geom/closest_shared.h"
#include "sign/sign.h"

#include <math.h>

/* ---- lists ---- */

static cells_box box_of(const worker *w, const cells_span *s) {
    cells_box box;
    for (int k = 0; k < 3; k++) {
        double lo = w->c->frame[k][s->begin[k]], hi = w->c->frame[k][s->begin[k] + s->count[k] - 1];
        box.centre[k] = (float)(0.5 * (lo + hi));
        box.half[k] = (float)(0.5 * (hi - lo)) + 0.25f * w->rule.margin; /* and rounding */
    }
    box.margin = w->rule.margin;
    box.reach = (float)(w->rule.band * w->c->table.bvh->scale) * NEAREST_SLACK;
    return box;
}

static float radius_of(const cells_box *box) {
    const float *h = box->half;
    return sqrtf(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) * NEAREST_SLACK;
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
    return m4_bits(f4_less_equal(sum, f4_all(reach * reach * NEAREST_SLACK)));
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

/* Puts faces first and vertices last, so that loops need not jump between them. Each name is
 * written to where it would go as any kind, and what is wrong is written over: no branch, since
 * none could be foreseen. */
static void sort_kinds(worker *w, cells_list *list) {
    const float *offset = w->c->table.columns + (size_t)CELLS_OFFSET * w->c->table.stride;
    uint32_t faces = 0, edges = 0, vertices = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t name = list->names[i];
        const float o = offset[name];
        list->names[faces] = name;
        w->kept[edges] = name;
        w->kept[LIST_MOST - 1 - vertices] = name;
        faces += o < 0;
        edges += o > 0;
        vertices += o == 0;
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

/* Makes a list for a box from the hierarchy. */
static outcome collect(worker *w, const cells_span *s, cells_list *list, bool *clear) {
    const abut_bvh *bvh = w->c->table.bvh;
    collection c = {.w = w, .box = box_of(w, s)};
    const float rho = radius_of(&c.box);
    vec3 centre = v3(c.box.centre[0], c.box.centre[1], c.box.centre[2]);
    abut_nearest nearest;
    abuti_nearest_point(bvh, v3_along(bvh->mesh->origin, w->rule.to_world, centre),
                        w->rule.band + 1.001 * w->rule.to_world * (rho + 4 * c.box.margin), NULL,
                        &nearest);
    *clear = nearest.distance * bvh->scale > rho + 4 * (double)c.box.margin;
    if (nearest.triangle == ABUT_NONE)
        return NOTHING_NEAR;
    float upper = (float)(nearest.distance * bvh->scale) * NEAREST_SLACK + rho + c.box.margin;
    c.box.reach = upper < c.box.reach ? upper : c.box.reach;
    culling cull = culling_of(w, &c.box, &nearest);
    uint32_t stack[BVH_STACK], used = 0, room = ROOM - w->used; /* no list is there yet */
    c.names = w->names + w->used;
    c.most = room < LIST_MOST + 3 * CELLS_GROUP ? room - 3 * CELLS_GROUP : LIST_MOST;
    memset(w->seen, 0, cells_seen_words(&w->c->table) * sizeof *w->seen);
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

outcome abuti_compute_narrow(worker *w, const cells_span *s, const cells_list **list,
                             cells_list *own, bool *clear) {
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
    return (i - w->origin[0]) +
           FIELD_BRICK * ((j - w->origin[1]) + FIELD_BRICK * (k - w->origin[2]));
}

/* The sign of a cell that is so near to the surface that it may be on it: as in sign/signed.c,
 * where a distance of 0 has none, and what rounding makes of 0 is inside. */
static double sign_touching(const computing *c, vec3 p, double distance) {
    int64_t winding;
    bool on_surface, inside;
    if (!(distance > 0))
        return distance;
    if (c->closed) {
        abuti_sign_crossing(c->table.bvh, NULL, p, &winding, &on_surface);
        inside = on_surface || winding != 0;
    } else {
        const struct bvh_sign *sign = bvh_sign_of(c->table.bvh);
        inside = abuti_sign_winding(c->table.bvh, sign->far, p) * sign->facing >= 0.5;
    }
    return inside ? -distance : distance;
}

static void search_cell(worker *w, const uint32_t cell[3], float *value) {
    const computing *c = w->c;
    vec3 p = grid_centre(c->job->grid, cell[0], cell[1], cell[2]);
    abut_nearest nearest;
    abuti_nearest_point(c->table.bvh, p, INFINITY, &w->hint, &nearest);
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
    const feature_support *f = &table->exact[name];
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

/* A cell that several features may be nearest to: the n-th of those that were measured. */
static void settle_cell(worker *w, const uint32_t *names, uint32_t count, uint32_t n,
                        const uint32_t cell[3], float *value) {
    const computing *c = w->c;
    const float reach_sq = cells_reach_sq(&w->winners, &w->rule, n);
    vec3 p = v3(c->frame[0][cell[0]], c->frame[1][cell[1]], c->frame[2][cell[2]]);
    double best = INFINITY, marked = INFINITY;
    for (uint32_t k = 0; k < count && count <= CELLS_KEPT; k++) {
        if (!(w->winners.square[k][n] <= reach_sq))
            continue;
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
    unsigned doubtful =
        c->kernel->measure(&c->table, names, count, at, &w->rule, &w->winners, values);
    for (uint32_t n = 0; doubtful >> n; n++) {
        const uint32_t step[3] = {n % CELLS_X, n / CELLS_X % CELLS_Y, n / (CELLS_X * CELLS_Y)};
        if (!(doubtful >> n & 1) || step[0] >= s->count[0] || step[1] >= s->count[1] ||
            step[2] >= s->count[2])
            continue;
        const uint32_t cell[3] = {s->begin[0] + step[0], s->begin[1] + step[1],
                                  s->begin[2] + step[2]};
        settle_cell(w, names, count, n, cell, &values[n]);
    }
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            float *row = &w->values[place_of(w, s->begin[0], s->begin[1] + j, s->begin[2] + k)];
            const float *from = values + CELLS_X * (j + CELLS_Y * k);
            if (s->count[0] == CELLS_X)
                memcpy(row, from, CELLS_X * sizeof *row);
            else
                memcpy(row, from, s->count[0] * sizeof *row);
        }
}

void abuti_compute_set(worker *w, const cells_span *s, bool search) {
    const uint32_t side = FIELD_BRICK;
    uint32_t cell[3];
    if (!search && s->count[0] == side && s->count[1] == side && s->count[2] == side) {
        const float band = (float)w->rule.band;
        for (uint32_t i = 0; i < side * side * side; i++)
            w->values[i] = band;
        return;
    }
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++) {
            float *row = &w->values[place_of(w, s->begin[0], cell[1], cell[2])];
            const float band = (float)w->rule.band;
            for (uint32_t i = 0; !search && i < s->count[0]; i++)
                row[i] = band;
            for (cell[0] = s->begin[0]; search && cell[0] < s->begin[0] + s->count[0]; cell[0]++)
                search_cell(w, cell, &row[cell[0] - s->begin[0]]);
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
        abuti_compute_set(w, s, w->rule.band == INFINITY);
}

/* Cuts a number of cells in two; a part is a multiple of `least`, or all there is. */
static uint32_t first_part(uint32_t count, uint32_t least) {
    if (count <= least)
        return count;
    uint32_t half = (count / 2 + least - 1) / least * least;
    return half < count ? half : count - least;
}

/* Recursion ends after some four levels: every cut halves. */
void abuti_compute_cells(worker *w, const cells_span *s, const cells_list *list) {
    bool last = s->count[0] <= CELLS_X && s->count[1] <= CELLS_Y && s->count[2] <= CELLS_Z;
    uint32_t before = w->used;
    cells_list own;
    if (last && list) {
        finish_cells(w, s, list);
        return;
    }
    bool clear;
    outcome found = abuti_compute_narrow(w, s, &list, &own, &clear);
    if (found == NOTHING_NEAR)
        abuti_compute_set(w, s, w->rule.band == INFINITY);
    else if (last && list)
        measure_cells(w, s, list->names, list->count);
    else if (last)
        abuti_compute_set(w, s, true);
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
                abuti_compute_cells(w, &sub, list);
        }
    }
    w->used = before;
}
