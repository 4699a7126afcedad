/* The loops over lists of features, compiled for 4, 8 and 16 lanes; see regions.h. */
#include "nearest/regions.h"

#include "base/simd_lanes.h"
#include "nearest/feature_lanes_shared.h"

/* ---- gather ---- */

static void gather(const regions_row *rows, regions_list *list) {
    const uint32_t count = list->count, *names = list->names;
    for (uint32_t i = 0; i < count; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            row[k] = rows[names[i + k < count ? i + k : count - 1]].column;
        for (uint32_t c = 0; c < REGIONS_COLUMNS; c += 4) {
            wide column[4];
            fw_columns(row, c, column);
            for (uint32_t k = 0; k < 4; k++)
                store(list->columns + (size_t)(c + k) * list->stride + i, column[k]);
        }
    }
}

#if LANES == 16

/* Columns are near by, rows may be anywhere. */
static void take(const regions_row *rows, const regions_list *from, const uint32_t *places,
                 regions_list *list) {
    (void)rows;
    float *to = list->columns;
    for (uint32_t i = 0; i < list->count;) {
        uint32_t group = places[i] / LANES * LANES, begin = i;
        unsigned bits = 0;
        for (; i < list->count && places[i] < group + LANES; i++)
            bits |= 1u << (places[i] - group);
        for (uint32_t c = 0; c < REGIONS_COLUMNS; c++)
            fw_pack(to + (size_t)c * list->stride + begin, bits,
                    load(from->columns + (size_t)c * from->stride + group));
    }
    for (uint32_t c = 0; c < REGIONS_COLUMNS; c++, to += list->stride)
        store(to + list->count, all(to[list->count - 1]));
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
    const float *from = list->columns + i;
#define COLUMN(c) load(from + (size_t)(c)*list->stride)
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

/* For each feature: the square of its distance from the centre of the box, infinite where the box
 * is outside its region, and by how much a point of the box may be nearer. Gives the square of the
 * distance of the centre from the mesh, or more. */
static float look_from_centre(const regions_list *list, const regions_box *box, float radius,
                              float *scratch) {
    const wide endless = all(INFINITY), margin = all(box->margin), rho = all(radius);
    wide centre[3], half[3], r[3], best = endless;
    for (int k = 0; k < 3; k++) {
        centre[k] = all(box->centre[k]);
        half[k] = all(box->half[k]);
    }
    for (uint32_t i = 0; i < list->count; i += LANES) {
        const feature_lanes f = load_features(list, i, centre, r);
        const feature_look l = feature_look_at(&f, r);
        const wide deep = feature_extent(half, f.third);
        const wide out = feature_outside_box(&f, &l, half, deep);
        best = least(best, feature_bound_sq(&l, margin));
        store(scratch + 2 * (size_t)i, choose(is_less_equal(out, margin), l.distance_sq, endless));
        store(scratch + 2 * (size_t)i + LANES, choose(f.face, deep, rho));
    }
    return fw_least(best);
}

static uint32_t filter(const regions_list *list, const regions_box *box, float *scratch,
                       uint32_t *kept, float *nearest) {
    const float radius = regions_radius(box);
    *nearest = sqrtf(look_from_centre(list, box, radius, scratch));
    float upper = *nearest * NEAREST_SLACK + radius;
    upper = (upper < box->reach ? upper : box->reach) + 4 * box->margin;
    const wide limit = all(upper * NEAREST_SLACK);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i += LANES) {
        wide sq = load(scratch + 2 * (size_t)i),
             reach = add(limit, load(scratch + 2 * (size_t)i + LANES));
        count += fw_number(kept + count, i, mask_bits(is_less(sq, mul(reach, reach))));
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

const regions_kernel BY_LANES(abuti_regions) = {gather, take, filter, winners};
