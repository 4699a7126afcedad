/* The loops over lists, for any number of lanes. Included once by each file that has a kernel,
 * after it has set LANES to 4 or 8. */
#include "base/simd.h"
#include "bvh/lists.h"

#if LANES == 8
#define LANED(name) f8_##name
typedef f8 wide;
typedef m8 mask;
#define mask_bits m8_bits
#else
#define LANED(name) f4_##name
typedef f4 wide;
typedef m4 mask;
#define mask_bits m4_bits
#endif
#define all LANED(all)
#define load LANED(load)
#define store LANED(store)
#define add LANED(add)
#define sub LANED(sub)
#define mul LANED(mul)
#define fused LANED(fused)
#define least LANED(min)
#define most LANED(max)
#define magnitude LANED(abs)
#define is_less LANED(less)
#define is_less_equal LANED(less_equal)
#define choose LANED(select)

/* ---- gather ---- */

static void gather(const lists_table *table, const uint32_t *places, uint32_t count,
                   lists_list *list) {
    list->count = count;
    for (uint32_t i = 0; i < count; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            row[k] = table->rows[places[i + k < count ? i + k : count - 1]].column;
        for (uint32_t c = 0; c < LISTS_COLUMNS; c += 4) {
            wide column[4];
            LANED(columns)(row, column);
            for (uint32_t k = 0; k < 4; k++)
                store(list->columns + (size_t)(c + k) * list->room + i, column[k]);
            for (uint32_t k = 0; k < LANES; k++)
                row[k] += 4;
        }
    }
    /* with four lanes the last eight may be half done */
    for (uint32_t i = (count + LANES - 1) / LANES * LANES; i < list->room; i++)
        for (uint32_t c = 0; c < LISTS_COLUMNS; c++)
            list->columns[(size_t)c * list->room + i] =
                list->columns[(size_t)c * list->room + count - 1];
    for (uint32_t i = 0; i < count; i++)
        list->places[i] = places[i];
}

/* ---- a point and triangles laid flat ---- */

/* Column c at i. */
static inline wide at(const lists_list *list, uint32_t c, uint32_t i) {
    return load(list->columns + (size_t)c * list->room + i);
}

static inline wide plane(const lists_list *list, uint32_t c, uint32_t i, const wide p[3]) {
    wide sum = fused(at(list, c, i), p[0], at(list, c + 3, i));
    sum = fused(at(list, c + 1, i), p[1], sum);
    return fused(at(list, c + 2, i), p[2], sum);
}

/* Where is the point seen from the half triangle on its side? Below the base, the base is next;
 * above it, the slanted side, unless the point is inside. */
typedef struct sight {
    wide x, y, z, normal_x, normal_y;
    mask mirrored, below, beyond;
    wide over;  /* beyond the end of the base */
    wide h, dt; /* above the slanted side, and along it beyond its ends */
} sight;

static inline sight look(const lists_list *list, uint32_t i, const wide p[3]) {
    sight s;
    const wide zero = all(0);
    wide x = plane(list, LISTS_U, i, p);
    s.y = plane(list, LISTS_W, i, p);
    s.z = plane(list, LISTS_N, i, p);
    s.mirrored = is_less(x, zero);
    s.x = magnitude(x);
    wide height = at(list, LISTS_HEIGHT, i);
    wide base = choose(s.mirrored, at(list, LISTS_LEFT, i), at(list, LISTS_RIGHT, i));
    s.normal_x = choose(s.mirrored, at(list, LISTS_LEFT + 1, i), at(list, LISTS_RIGHT + 1, i));
    s.normal_y = choose(s.mirrored, at(list, LISTS_LEFT + 2, i), at(list, LISTS_RIGHT + 2, i));
    wide length = fused(s.normal_y, base, mul(s.normal_x, height));
    wide lowered = sub(s.y, height);
    s.h = fused(s.normal_x, s.x, mul(s.normal_y, lowered));
    wide t = sub(mul(s.normal_y, s.x), mul(s.normal_x, lowered));
    s.dt = sub(t, least(most(t, zero), length));
    s.below = is_less(s.y, zero);
    s.beyond = is_less(zero, s.h);
    s.over = most(sub(s.x, base), zero);
    return s;
}

static inline wide distance_sq(const lists_list *list, uint32_t i, const wide p[3]) {
    sight s = look(list, i, p);
    wide slanted = choose(s.beyond, fused(s.h, s.h, mul(s.dt, s.dt)), all(0));
    wide flat = choose(s.below, fused(s.y, s.y, mul(s.over, s.over)), slanted);
    return fused(s.z, s.z, flat);
}

/* ---- filter ---- */

/* The closest point to p, relative to p. */
static inline void foot(const lists_list *list, uint32_t i, const wide p[3], wide f[3]) {
    sight s = look(list, i, p);
    const wide zero = all(0);
    wide x = fused(s.h, s.normal_x, mul(s.dt, s.normal_y));
    wide y = sub(mul(s.h, s.normal_y), mul(s.dt, s.normal_x));
    x = choose(s.below, s.over, choose(s.beyond, x, zero));
    y = choose(s.below, s.y, choose(s.beyond, y, zero));
    x = choose(s.mirrored, x, sub(zero, x)); /* and turned from here to there */
    for (uint32_t k = 0; k < 3; k++) {
        wide along = sub(mul(x, at(list, LISTS_U + k, i)), mul(y, at(list, LISTS_W + k, i)));
        f[k] = sub(along, mul(s.z, at(list, LISTS_N + k, i)));
    }
}

static uint32_t filter(const lists_list *list, const lists_block *block, float *scratch,
                       uint32_t *kept, float *nearest_sq) {
    const uint32_t room = list->room;
    const wide centre[3] = {all(block->centre[0]), all(block->centre[1]), all(block->centre[2])};
    wide best = all(INFINITY), closest[3] = {best, best, best};
    for (uint32_t i = 0; i < list->count; i += LANES) {
        wide f[3];
        foot(list, i, centre, f);
        wide sq = fused(f[0], f[0], fused(f[1], f[1], mul(f[2], f[2])));
        mask nearer = is_less(sq, best);
        best = least(sq, best);
        for (uint32_t k = 0; k < 3; k++) {
            closest[k] = choose(nearer, f[k], closest[k]);
            store(scratch + k * room + i, f[k]);
        }
        store(scratch + 3 * room + i, sq);
    }
    float bests[LANES], lanes[3][LANES];
    uint32_t winner = 0;
    store(bests, best);
    for (uint32_t k = 0; k < 3; k++)
        store(lanes[k], closest[k]);
    for (uint32_t k = 1; k < LANES; k++)
        winner = bests[k] < bests[winner] ? k : winner;
    *nearest_sq = bests[winner];
    lists_limits limits = lists_limits_of(block, bests[winner]);
    const wide limit = all(limits.limit), rho = all(limits.rho);
    wide g[3], half[3];
    for (uint32_t k = 0; k < 3; k++) {
        g[k] = all(lanes[k][winner]);
        half[k] = all(-2 * limits.half[k]);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i += LANES) {
        wide sum = load(scratch + 3 * room + i);
        for (uint32_t k = 0; k < 3; k++)
            sum = fused(half[k], magnitude(sub(load(scratch + k * room + i), g[k])), sum);
        wide s = least(at(list, LISTS_DIAMETER, i), rho); /* s^2 - 2 rho s is least there */
        sum = fused(s, sub(sub(s, rho), rho), sum);
        unsigned bits = mask_bits(is_less_equal(sum, limit));
        for (uint32_t k = 0; k < LANES; k++) { /* no branch: none could be foreseen */
            kept[count] = i + k;
            count += bits >> k & 1;
        }
    }
    while (count && kept[count - 1] >= list->count)
        count--;
    return count;
}

/* ---- measure ---- */

static uint32_t measure(const lists_list *list, const float point[3], float margin, float *scratch,
                        uint32_t *found) {
    const wide p[3] = {all(point[0]), all(point[1]), all(point[2])};
    wide best = all(INFINITY);
    for (uint32_t i = 0; i < list->count; i += LANES) {
        wide sq = distance_sq(list, i, p);
        best = least(sq, best);
        store(scratch + i, sq);
    }
    float bests[LANES], nearest = INFINITY;
    store(bests, best);
    for (uint32_t k = 0; k < LANES; k++)
        nearest = bests[k] < nearest ? bests[k] : nearest;
    float reach = sqrtf(nearest) + 2 * margin;
    const wide limit = all(reach * reach * LISTS_SLACK);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i += LANES) {
        unsigned bits = mask_bits(is_less_equal(load(scratch + i), limit));
        for (uint32_t k = 0; bits; k++, bits >>= 1)
            if (bits & 1 && i + k < list->count)
                found[count++] = i + k;
    }
    return count;
}
