/* The loops over lists of features, compiled for 4, 8 and 16 lanes; see regions.h. */
#include "nearest/regions.h"

#include "base/simd_lanes.h"
#include "nearest/feature_lanes_shared.h"

/* ---- gather ---- */

static void gather(const regions_row *rows, regions_list *list) {
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
                store(to + REGIONS_GROUP * (c + k), column[k]);
        }
    }
}

#if LANES == 16

/* Columns are near by, rows may be anywhere. What is taken at a time comes from one group and goes
 * to one. */
static void take(const regions_row *rows, const regions_list *from, const uint32_t *places,
                 regions_list *list) {
    const uint32_t count = list->count, last = (count - 1) % REGIONS_GROUP;
    (void)rows;
    for (uint32_t i = 0; i < count;) {
        const uint32_t group = places[i] / REGIONS_GROUP * REGIONS_GROUP, begin = i;
        unsigned bits = 0;
        do
            bits |= 1u << (places[i++] - group);
        while (i < count && i % REGIONS_GROUP && places[i] < group + REGIONS_GROUP);
        const unsigned taken = (1u << (i - begin)) - 1;
        const float *source = from->columns + regions_columns_at(group);
        float *to = list->columns + regions_columns_at(begin);
        for (uint32_t c = 0; c < REGIONS_COLUMNS; c++)
            fw_pack_first(to + REGIONS_GROUP * c, taken, bits, load(source + REGIONS_GROUP * c));
    }
    float *to = list->columns + regions_columns_at(count - 1 - last);
    for (uint32_t c = 0; c < REGIONS_COLUMNS; c++, to += REGIONS_GROUP)
        fw_store_some(to, 0xffffu << last, all(to[last]));
}

#else

static void take(const regions_row *rows, const regions_list *from, const uint32_t *places,
                 regions_list *list) {
    (void)from;
    (void)places;
    gather(rows, list);
}

#endif

/* ---- filter ---- */

/* Features of a list from the i-th on, and where a point is from each. */
static inline feature_lanes load_features(const regions_list *list, uint32_t i, const wide p[3],
                                          wide r[3]) {
    const float *from = list->columns + regions_columns_at(i);
#define COLUMN(c) load(from + REGIONS_GROUP * (c))
    const wide offset = COLUMN(REGIONS_OFFSET);
    const feature_lanes f = {
        .first = {COLUMN(REGIONS_FIRST), COLUMN(REGIONS_FIRST + 1), COLUMN(REGIONS_FIRST + 2)},
        .second = {COLUMN(REGIONS_SECOND), COLUMN(REGIONS_SECOND + 1), COLUMN(REGIONS_SECOND + 2)},
        .third = {COLUMN(REGIONS_THIRD_X), COLUMN(REGIONS_THIRD_Y), COLUMN(REGIONS_THIRD_Z)},
        .fourth = {COLUMN(REGIONS_FOURTH), COLUMN(REGIONS_FOURTH + 1), COLUMN(REGIONS_FOURTH + 2)},
        .length = magnitude(offset),
        .face = is_less(offset, all(0))};
    for (uint32_t k = 0; k < 3; k++)
        r[k] = sub(p[k], COLUMN(REGIONS_PLACE + k));
#undef COLUMN
    return f;
}

/* What a box is tested with: its half extents and their length, with the margin; and the way to its
 * centre from the nearest point of the mesh that is known, with what the square of that amounts to
 * for all of the box. */
typedef struct limits {
    wide half[3], twice[3], way[3], limit;
    float rho;
} limits;

static inline void set_limits(const regions_box *box, limits *l) {
    const float m = box->margin;
    float half_sq = 0;
    for (int k = 0; k < 3; k++) {
        float half = box->half[k] + m;
        l->half[k] = all(half);
        l->twice[k] = all(2 * half);
        l->way[k] = all(box->near[k]);
        half_sq += half * half;
    }
    l->rho = sqrtf(half_sq) * NEAREST_SLACK + m;
    l->limit = all(box->near_sq + 16 * m * (sqrtf(box->near_sq) + 2 * l->rho + m));
}

/* Features that may be nearest somewhere in the box, by the ways to its centre and their squares,
 * less what is nearer along the feature. */
static inline mask may_be_nearest(const limits *l, wide square, const wide way[3]) {
    wide sum = square;
    for (int k = 0; k < 3; k++)
        sum = fused_less(l->twice[k], magnitude(sub(way[k], l->way[k])), sum);
    return is_less_equal(sum, l->limit);
}

/* For each feature: the way to the centre of the box, from its nearest point; and the square of
 * that less what a point of the box may be nearer along the feature, infinite where the box is
 * outside its region or beyond reach. Finds the nearest of all. */
static void look_from_centre(const regions_list *list, regions_box *box, const limits *l,
                             float *scratch) {
    const wide endless = all(INFINITY), outside = all(box->outside), rho = all(l->rho);
    const float reach = box->reach + 4 * box->margin + l->rho;
    const wide reach_sq = all(reach * reach * NEAREST_SLACK);
    const wide centre[3] = {all(box->centre[0]), all(box->centre[1]), all(box->centre[2])};
    wide r[3], nearest[3] = {l->way[0], l->way[1], l->way[2]}, best = all(box->near_sq);
    for (uint32_t i = 0; i < list->count; i += LANES) {
        const feature_lanes f = load_features(list, i, centre, r);
        const feature_look look = feature_look_at(&f, r);
        float *to = scratch + 4 * (size_t)i;
        /* s^2 - 2 x s along the feature, where the box reaches x, is least at s = x */
        const wide extent = choose(f.face, rho, feature_extent(l->half, f.fourth));
        const wide s = choose(f.face, rho, least(extent, f.length));
        const wide square = fused(s, sub(sub(s, extent), extent), look.distance_sq);
        wide way[3];
        for (int k = 0; k < 3; k++)
            way[k] = choose(f.face, mul(look.t[2], f.third[k]), look.way[k]);
        if (!mask_bits(may_be_nearest(l, square, way))) {
            store(to, endless);
            continue;
        }
        const wide deep = feature_extent(l->half, f.third);
        const wide out = feature_outside_box(&f, &look, l->half, deep);
        const wide bound = feature_bound_sq(&look, outside);
        const mask nearer = is_less(bound, best);
        best = least(bound, best);
        for (int k = 0; k < 3; k++) {
            nearest[k] = choose(nearer, way[k], nearest[k]);
            store(to + (k + 1) * LANES, way[k]);
        }
        store(to, choose(is_less_equal(most(sub(out, outside), sub(look.distance_sq, reach_sq)),
                                       all(0)),
                         square, endless));
    }
    box->near_sq = fw_least(best);
    unsigned bits = mask_bits(is_less_equal(best, all(box->near_sq)));
    const uint32_t winner = (uint32_t)__builtin_ctz(bits);
    for (int k = 0; k < 3; k++) {
        float lanes[LANES];
        store(lanes, nearest[k]);
        box->near[k] = lanes[winner];
    }
}

static uint32_t filter(const regions_list *list, regions_box *box, float *scratch, uint32_t *kept) {
    limits l;
    set_limits(box, &l);
    look_from_centre(list, box, &l, scratch);
    set_limits(box, &l);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i += LANES) {
        const float *from = scratch + 4 * (size_t)i;
        const wide square = load(from);
        if (!mask_bits(is_less(square, all(INFINITY))))
            continue;
        const wide way[3] = {load(from + LANES), load(from + 2 * LANES), load(from + 3 * LANES)};
        count += fw_number(kept + count, i, mask_bits(may_be_nearest(&l, square, way)));
    }
    while (count && kept[count - 1] >= list->count) /* what the last group is filled up with */
        count--;
    return count;
}

/* ---- measure ---- */

static inline wide dot_row(const float *row, const wide r[3]) {
    return fused(all(row[0]), r[0], fused(all(row[1]), r[1], mul(all(row[2]), r[2])));
}

static void winners(const regions_row *rows, const uint32_t *names, uint32_t count,
                    const float *const at[3], float m, regions_winners *w) {
    const wide zero = all(0), endless = all(INFINITY), margin = all(m);
    for (uint32_t i = 0; i < REGIONS_POINTS; i += LANES) {
        const wide p[3] = {load(at[0] + i), load(at[1] + i), load(at[2] + i)};
        wide bound = endless, best = endless, next = endless, place = zero;
        for (uint32_t k = 0; k < count; k++) {
            const float *row = rows[names[k]].column;
            const wide r[3] = {sub(p[0], all(row[REGIONS_PLACE])),
                               sub(p[1], all(row[REGIONS_PLACE + 1])),
                               sub(p[2], all(row[REGIONS_PLACE + 2]))};
            const float offset = row[REGIONS_OFFSET];
            wide t2 =
                fused(all(row[REGIONS_THIRD_X]), r[0],
                      fused(all(row[REGIONS_THIRD_Y]), r[1], mul(all(row[REGIONS_THIRD_Z]), r[2])));
            wide along = dot_row(row + REGIONS_FOURTH, r), out = dot_row(row + REGIONS_SECOND, r);
            wide sq;
            if (offset < 0) { /* a face */
                out = most(out, most(dot_row(row + REGIONS_FIRST, r), add(along, all(offset))));
                sq = mul(t2, t2);
                bound = least(bound, choose(is_less(out, sub(zero, margin)), sq, endless));
            } else if (offset > 0) { /* an edge, of which the first is the fourth backwards */
                wide s = least(most(along, zero), all(offset));
                out = most(most(out, t2), most(sub(along, all(offset)), sub(zero, along)));
                wide q[3] = {fused_less(s, all(row[REGIONS_FOURTH]), r[0]),
                             fused_less(s, all(row[REGIONS_FOURTH + 1]), r[1]),
                             fused_less(s, all(row[REGIONS_FOURTH + 2]), r[2])};
                sq = feature_dot(q, q);
                bound = least(bound, sq);
            } else {
                out = most(most(out, t2), most(dot_row(row + REGIONS_FIRST, r), along));
                sq = feature_dot(r, r);
                bound = least(bound, sq);
            }
            sq = choose(is_less_equal(out, margin), sq, endless);
            store(w->square[k % REGIONS_KEPT] + i, sq);
            next = least(next, most(best, sq));
            place = choose(is_less(sq, best), all((float)k), place);
            best = least(sq, best);
        }
        store(w->bound + i, bound);
        store(w->best + i, best);
        store(w->next + i, next);
        store(w->place + i, place);
    }
}

static void candidates(uint32_t count, float m, unsigned points, regions_winners *w) {
    _Static_assert(((uint64_t)REGIONS_KEPT << REGIONS_POINTS) <= UINT32_MAX, "place and bits");
    wide reach_sq[REGIONS_POINTS / LANES];
    w->candidate_count = 0;
    if (count > REGIONS_KEPT)
        return;
    for (uint32_t i = 0; i < REGIONS_POINTS; i += LANES) { /* as regions_reach_sq() */
        const wide reach = add(fw_sqrt(load(w->bound + i)), all(2 * m));
        reach_sq[i / LANES] = mul(mul(reach, reach), all(NEAREST_SLACK));
    }
    for (uint32_t k = 0; k < count; k++) {
        unsigned bits = 0;
        for (uint32_t i = 0; i < REGIONS_POINTS; i += LANES)
            bits |= mask_bits(is_less_equal(load(w->square[k] + i), reach_sq[i / LANES])) << i;
        bits &= points;
        w->candidate[w->candidate_count] = k << REGIONS_POINTS | bits;
        w->candidate_count += bits != 0;
    }
}

const regions_kernel BY_LANES(abuti_regions) = {gather, take, filter, winners, candidates};
