/* The loops over feature lists, compiled for 4, 8 and 16 lanes; see regions.h. */
#include "nearest/regions.h"

#include "base/simd_lanes.h"
#include "nearest/feature_lanes_shared.h"

/* ---- gather ---- */

static void gather_columns(const regions_row *rows, regions_list *list) {
    const uint32_t count = list->count, *names = list->names;
    for (uint32_t i = 0; i < count; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++) {
            const uint32_t place = i + k < count ? i + k : count - 1;
            row[k] = rows[names[place]].column;
        }
        float *to = list->columns + regions_columns_at(i);
        for (uint32_t c = 0; c < REGIONS_COLUMNS; c += 4) {
            wide column[4];
            fw_columns(row, c, column);
            for (uint32_t k = 0; k < 4; k++)
                v_store(to + REGIONS_GROUP * (c + k), column[k]);
        }
    }
}

/* ---- filter ---- */

/* Values that all boxes share: their half extents and the length of these, with the margin. */
typedef struct box_extents {
    wide half[3], twice[3], rho, outside, reach_sq;
    float margin, rho_max;
} box_extents;

/* The state of a box: the nearest known point of the mesh, as the vector from it to the centre, and
 * the limit that its square implies for the whole box. Positions of candidate features are kept. */
typedef struct box_state {
    wide centre[3], offset[3], limit, best;
    uint32_t count, *kept;
} box_state;

/* Features that are tested together, and how far boxes extend along their vectors. */
typedef struct feature_group {
    feature_lanes f;
    wide place[3], reach[4];
} feature_group;

static inline box_extents extents_of(const regions_box *box) {
    box_extents e = {.outside = v_all(box->outside), .margin = box->margin};
    float half_sq = 0;
    for (int k = 0; k < 3; k++) {
        float half = box->half[k] + box->margin;
        e.half[k] = v_all(half);
        e.twice[k] = v_all(2 * half);
        half_sq += half * half;
    }
    e.rho_max = sqrtf(half_sq) * NEAREST_SLACK + box->margin;
    const float reach = box->reach + 4 * box->margin + e.rho_max;
    e.rho = v_all(e.rho_max);
    e.reach_sq = v_all(reach * reach * NEAREST_SLACK);
    return e;
}

static inline void set_near(const box_extents *e, const regions_box *box, box_state *p) {
    const float m = e->margin;
    for (int k = 0; k < 3; k++)
        p->offset[k] = v_all(box->near[k]);
    p->best = v_all(box->near_sq);
    p->limit = v_all(box->near_sq + 16 * m * (sqrtf(box->near_sq) + 2 * e->rho_max + m));
}

static inline void load_group(const regions_list *list, uint32_t i, const box_extents *e,
                              feature_group *g) {
    const float *from = list->columns + regions_columns_at(i);
#define COLUMN(c) v_load(from + REGIONS_GROUP * (c))
    const wide offset = COLUMN(REGIONS_OFFSET);
    g->f = (feature_lanes){
        .first = {COLUMN(REGIONS_FIRST), COLUMN(REGIONS_FIRST + 1), COLUMN(REGIONS_FIRST + 2)},
        .second = {COLUMN(REGIONS_SECOND), COLUMN(REGIONS_SECOND + 1), COLUMN(REGIONS_SECOND + 2)},
        .third = {COLUMN(REGIONS_THIRD_X), COLUMN(REGIONS_THIRD_Y), COLUMN(REGIONS_THIRD_Z)},
        .fourth = {COLUMN(REGIONS_FOURTH), COLUMN(REGIONS_FOURTH + 1), COLUMN(REGIONS_FOURTH + 2)},
        .length = v_abs(offset),
        .face = v_less(offset, v_all(0))};
    for (uint32_t k = 0; k < 3; k++)
        g->place[k] = COLUMN(REGIONS_PLACE + k);
#undef COLUMN
    g->reach[0] = feature_extent(e->half, g->f.first);
    g->reach[1] = feature_extent(e->half, g->f.second);
    g->reach[2] = feature_extent(e->half, g->f.third);
    g->reach[3] = feature_extent(e->half, g->f.fourth);
}

/* The position of the centre of a box relative to features: how far it is beyond the limits of
 * regions; the vector to it from the nearest point of each, and its square. */
static inline feature_position_lanes locate_centre(const feature_group *g, const wide centre[3]) {
    const feature_lanes *f = &g->f;
    const wide r[3] = {v_sub(centre[0], g->place[0]), v_sub(centre[1], g->place[1]),
                       v_sub(centre[2], g->place[2])};
    feature_position_lanes l = feature_locate(f, r);
    for (int k = 0; k < 3; k++)
        l.offset[k] = v_select(f->face, v_mul(l.t[2], f->third[k]), l.offset[k]);
    return l;
}

/* The square minus the amount by which a point of the box may be nearer along the feature: s^2 - 2
 * x s, where the box extends x, is minimal at s = x. */
static inline wide min_square(const feature_group *g, const box_extents *e, wide distance_sq) {
    const wide extent = v_select(g->f.face, e->rho, g->reach[3]),
               s = v_select(g->f.face, e->rho, v_min(g->reach[3], g->f.length));
    return v_mul_add(s, v_sub(v_sub(s, extent), extent), distance_sq);
}

/* How far the point of the box that is least outside a region is outside. */
static inline wide min_outside(const feature_group *g, const feature_position_lanes *l) {
    const wide beside = v_max(v_max(v_sub(l->t[0], g->reach[0]), v_sub(l->t[1], g->reach[1])),
                              v_sub(l->t[3], g->reach[3]));
    return v_select(g->f.face, beside, v_max(beside, v_sub(l->t[2], g->reach[2])));
}

/* Features that may be nearest somewhere in the box. */
static inline mask may_be_nearest_in_box(const box_extents *e, const box_state *p, wide square,
                                         const wide offset[3]) {
    wide sum = square;
    for (int k = 0; k < 3; k++)
        sum = v_mul_from(e->twice[k], v_abs(v_sub(offset[k], p->offset[k])), sum);
    return v_less_equal(sum, p->limit);
}

/* Updates the nearest known point of the mesh. */
static void update_nearest(const box_extents *e, wide bound, const wide offset[3], regions_box *box,
                           box_state *p) {
    float lanes[LANES];
    box->near_sq = fw_least(bound);
    const unsigned bits = v_mask_bits(v_less_equal(bound, v_all(box->near_sq)));
    for (int k = 0; k < 3; k++) {
        v_store(lanes, offset[k]);
        box->near[k] = lanes[__builtin_ctz(bits)];
    }
    set_near(e, box, p);
}

static inline void test_group(const feature_group *g, const box_extents *e, uint32_t i,
                              regions_box *boxes, uint32_t box_count, box_state *passages) {
    for (uint32_t b = 0; b < box_count; b++) {
        box_state *p = &passages[b];
        const feature_position_lanes l = locate_centre(g, p->centre);
        const wide square = min_square(g, e, l.distance_sq);
        const wide bound = feature_bound_sq(&l, e->outside);
        if (v_mask_bits(v_less(bound, p->best))) {
            const wide offset[3] = {l.offset[0], l.offset[1], l.offset[2]};
            update_nearest(e, bound, offset, &boxes[b], p);
        }
        const wide out =
            v_max(v_sub(min_outside(g, &l), e->outside), v_sub(l.distance_sq, e->reach_sq));
        const unsigned bits = v_mask_bits(may_be_nearest_in_box(e, p, square, l.offset)) &
                              v_mask_bits(v_less_equal(out, v_all(0)));
        p->count += fw_number(p->kept + p->count, i, bits);
    }
}

/* The nearest point is known soon enough that a second pass would remove almost nothing. */
static void filter_list(const regions_list *list, regions_box *boxes, uint32_t box_count,
                        uint32_t *kept, uint32_t *kept_count) {
    const size_t stride = regions_stride(list->count);
    const box_extents e = extents_of(boxes);
    box_state passages[REGIONS_BOXES];
    for (uint32_t b = 0; b < box_count; b++) {
        box_state *p = &passages[b];
        for (int k = 0; k < 3; k++)
            p->centre[k] = v_all(boxes[b].centre[k]);
        p->count = 0;
        p->kept = kept + b * stride;
        set_near(&e, &boxes[b], p);
    }
    for (uint32_t i = 0; i < list->count; i += LANES) {
        feature_group g;
        load_group(list, i, &e, &g);
        test_group(&g, &e, i, boxes, box_count, passages);
    }
    for (uint32_t b = 0; b < box_count; b++) {
        const box_state *p = &passages[b];
        kept_count[b] = p->count;
        while (kept_count[b] && p->kept[kept_count[b] - 1] >= list->count)
            kept_count[b]--; /* copies of the last feature that fill the last group */
    }
}

/* ---- measure ---- */

static inline wide dot_row(const float *row, const wide r[3]) {
    return v_mul_add(v_all(row[0]), r[0],
                     v_mul_add(v_all(row[1]), r[1], v_mul(v_all(row[2]), r[2])));
}

static void find_winners(const regions_row *rows, const uint32_t *names, uint32_t count,
                         const float *const at[3], float m, regions_winners *w) {
    const wide zero = v_all(0), endless = v_all(INFINITY), margin = v_all(m);
    for (uint32_t i = 0; i < REGIONS_POINTS; i += LANES) {
        const wide p[3] = {v_load(at[0] + i), v_load(at[1] + i), v_load(at[2] + i)};
        wide bound = endless, best = endless, next = endless, place = zero;
        for (uint32_t k = 0; k < count; k++) {
            const float *row = rows[names[k]].column;
            const wide r[3] = {v_sub(p[0], v_all(row[REGIONS_PLACE])),
                               v_sub(p[1], v_all(row[REGIONS_PLACE + 1])),
                               v_sub(p[2], v_all(row[REGIONS_PLACE + 2]))};
            const float offset = row[REGIONS_OFFSET];
            wide t2 = v_mul_add(v_all(row[REGIONS_THIRD_X]), r[0],
                                v_mul_add(v_all(row[REGIONS_THIRD_Y]), r[1],
                                          v_mul(v_all(row[REGIONS_THIRD_Z]), r[2])));
            wide along = dot_row(row + REGIONS_FOURTH, r), out = dot_row(row + REGIONS_SECOND, r);
            wide sq;
            if (offset < 0) { /* a face */
                out =
                    v_max(out, v_max(dot_row(row + REGIONS_FIRST, r), v_add(along, v_all(offset))));
                sq = v_mul(t2, t2);
                bound = v_min(bound, v_select(v_less(out, v_sub(zero, margin)), sq, endless));
            } else if (offset > 0) { /* an edge, whose first vector is the reversed fourth */
                wide s = v_min(v_max(along, zero), v_all(offset));
                out = v_max(v_max(out, t2), v_max(v_sub(along, v_all(offset)), v_sub(zero, along)));
                wide q[3] = {v_mul_from(s, v_all(row[REGIONS_FOURTH]), r[0]),
                             v_mul_from(s, v_all(row[REGIONS_FOURTH + 1]), r[1]),
                             v_mul_from(s, v_all(row[REGIONS_FOURTH + 2]), r[2])};
                sq = feature_dot(q, q);
                bound = v_min(bound, sq);
            } else {
                out = v_max(v_max(out, t2), v_max(dot_row(row + REGIONS_FIRST, r), along));
                sq = feature_dot(r, r);
                bound = v_min(bound, sq);
            }
            sq = v_select(v_less_equal(out, margin), sq, endless);
            v_store(w->square[k % REGIONS_KEPT] + i, sq);
            next = v_min(next, v_max(best, sq));
            place = v_select(v_less(sq, best), v_all((float)k), place);
            best = v_min(sq, best);
        }
        v_store(w->bound + i, bound);
        v_store(w->best + i, best);
        v_store(w->next + i, next);
        v_store(w->place + i, place);
    }
}

static void list_candidates(uint32_t count, float m, unsigned points, regions_winners *w) {
    _Static_assert(((uint64_t)REGIONS_KEPT << REGIONS_POINTS) <= UINT32_MAX, "place and bits");
    wide reach_sq[REGIONS_POINTS / LANES];
    w->candidate_count = 0;
    if (count > REGIONS_KEPT)
        return;
    for (uint32_t i = 0; i < REGIONS_POINTS; i += LANES) { /* as regions_reach_sq() */
        const wide reach = v_add(fw_sqrt(v_load(w->bound + i)), v_all(2 * m));
        reach_sq[i / LANES] = v_mul(v_mul(reach, reach), v_all(NEAREST_SLACK));
    }
    for (uint32_t k = 0; k < count; k++) {
        unsigned bits = 0;
        for (uint32_t i = 0; i < REGIONS_POINTS; i += LANES)
            bits |= v_mask_bits(v_less_equal(v_load(w->square[k] + i), reach_sq[i / LANES])) << i;
        bits &= points;
        w->candidate[w->candidate_count] = k << REGIONS_POINTS | bits;
        w->candidate_count += bits != 0;
    }
}

const regions_kernel BY_LANES(abuti_regions) = {gather_columns, filter_list, find_winners,
                                                list_candidates};
