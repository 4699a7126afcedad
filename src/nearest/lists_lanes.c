/* The loops over lists, compiled for 4, 8 and 16 lanes. */
#include "nearest/lists.h"

#if LANES == 16
#define MEASURE_LANES 8
#endif
#include "base/simd_lanes.h"
#include "nearest/measure_lanes.h"

#include <math.h>

/* Column c of triangles i, i + 1, ... */
static inline wide at(const lists_group *groups, uint32_t c, uint32_t i) {
    return load(&groups[i / LISTS_GROUP].column[c][i % LISTS_GROUP]);
}

/* ---- gather ---- */

static void gather(const lists_table *table, const uint32_t *places, uint32_t count,
                   lists_list *list) {
    lists_group *groups = list->groups;
    const lists_row *rows = table->rows;
    uint32_t room = lists_group_count(count) * LISTS_GROUP;
    for (uint32_t i = 0; i < room; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            row[k] = rows[places[i + k < count ? i + k : count - 1]].column;
        float *to = &groups[i / LISTS_GROUP].column[0][i % LISTS_GROUP];
        wide column[LISTS_ROW];
        for (uint32_t c = 0; c < LISTS_ROW; c += 4)
            fw_columns(row, c, column + c);
        for (uint32_t c = 0; c < LISTS_ROW; c++)
            store(to + (size_t)c * LISTS_GROUP, column[c]);
        const wide *u = column + LISTS_U, *w = column + LISTS_W;
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t d = (c + 1) % 3, e = (c + 2) % 3;
            store(to + (size_t)(LISTS_N + c) * LISTS_GROUP,
                  fused_less(u[e], w[d], mul(u[d], w[e])));
        }
        wide diameter = mul(add(column[LISTS_LEFT], column[LISTS_RIGHT]), all(NEAREST_SLACK));
        store(to + (size_t)LISTS_DIAMETER * LISTS_GROUP, diameter);
    }
    list->count = count;
    memcpy(list->places, places, count * sizeof *places);
}

/* ---- a point and triangles laid flat ---- */

/* Where a point is, seen from the half of the triangle on its side. Below the base, the base is
 * nearest; above it the slanted side, unless the point is inside. */
typedef struct sight {
    wide x, y, z, normal_x, normal_y;
    mask mirrored, below, beyond;
    wide over;  /* beyond the end of the base */
    wide h, dt; /* above the slanted side, and along it beyond its ends */
    wide lowered;
} sight;

static inline wide plane(const lists_group *groups, uint32_t c, uint32_t i, const wide p[3]) {
    wide sum = fused(at(groups, c, i), p[0], at(groups, c + 3, i));
    sum = fused(at(groups, c + 1, i), p[1], sum);
    return fused(at(groups, c + 2, i), p[2], sum);
}

static inline sight look(const lists_group *groups, uint32_t i, const wide p[3]) {
    sight s;
    const wide zero = all(0);
    wide x = plane(groups, LISTS_U, i, p);
    s.y = plane(groups, LISTS_W, i, p);
    s.z = fused(at(groups, LISTS_N, i), p[0], at(groups, LISTS_DN, i));
    s.z = fused(at(groups, LISTS_N + 1, i), p[1], s.z);
    s.z = fused(at(groups, LISTS_N + 2, i), p[2], s.z);
    s.mirrored = is_less(x, zero);
    s.x = magnitude(x);
    wide height = at(groups, LISTS_HEIGHT, i);
    wide base = choose(s.mirrored, at(groups, LISTS_LEFT, i), at(groups, LISTS_RIGHT, i));
    s.normal_x = choose(s.mirrored, at(groups, LISTS_LEFT + 1, i), at(groups, LISTS_RIGHT + 1, i));
    s.normal_y = choose(s.mirrored, at(groups, LISTS_LEFT + 2, i), at(groups, LISTS_RIGHT + 2, i));
    wide length = fused(s.normal_y, base, mul(s.normal_x, height));
    wide lowered = sub(s.y, height);
    s.lowered = lowered;
    s.h = fused(s.normal_x, s.x, mul(s.normal_y, lowered));
    wide t = fused_less(s.normal_x, lowered, mul(s.normal_y, s.x));
    s.dt = sub(t, least(most(t, zero), length));
    s.below = is_less(s.y, zero);
    /* h alone would do, were it not for needles and right angles, where it may vanish outside */
    wide over = sub(s.x, base);
    s.beyond = is_less(zero, most(s.h, most(over, lowered)));
    s.over = most(over, zero);
    return s;
}

static inline wide distance_sq(const sight *s) {
    wide slanted = where(s->beyond, fused(s->h, s->h, mul(s->dt, s->dt)));
    wide flat = choose(s->below, fused(s->y, s->y, mul(s->over, s->over)), slanted);
    return fused(s->z, s->z, flat);
}

/* How clear of the edges the region of a corner the point is, if that is nearest: for all points
 * around p within this distance the same corner is nearest. Else negative or zero. */
static inline wide clearance(const lists_group *groups, uint32_t i, const sight *s) {
    /* the end of the base: beyond it, and beyond the end of the slanted side */
    wide end = least(s->over, s->dt);
    /* the top: beyond the ends of both slanted sides */
    wide other_x =
        choose(s->mirrored, at(groups, LISTS_RIGHT + 1, i), at(groups, LISTS_LEFT + 1, i));
    wide other_y =
        choose(s->mirrored, at(groups, LISTS_RIGHT + 2, i), at(groups, LISTS_LEFT + 2, i));
    wide other = fused(other_y, s->x, mul(other_x, s->lowered));
    return most(end, least(other, sub(all(0), s->dt)));
}

/* The closest point to p, relative to p; and the clearance. */
static inline wide foot(const lists_group *groups, uint32_t i, const wide p[3], wide f[3]) {
    sight s = look(groups, i, p);
    wide x = fused(s.h, s.normal_x, mul(s.dt, s.normal_y));
    wide y = fused_less(s.dt, s.normal_x, mul(s.h, s.normal_y));
    x = choose(s.below, s.over, where(s.beyond, x));
    y = choose(s.below, s.y, where(s.beyond, y));
    x = choose(s.mirrored, x, sub(all(0), x)); /* and turned from here to there */
    for (uint32_t k = 0; k < 3; k++) {
        wide along = fused_less(y, at(groups, LISTS_W + k, i), mul(x, at(groups, LISTS_U + k, i)));
        f[k] = fused_less(s.z, at(groups, LISTS_N + k, i), along);
    }
    return clearance(groups, i, &s);
}

/* ---- filter ---- */

/* Feet of the centre, and the squares of their distances less what s can take away, into the
 * scratch: four for each LANES triangles. Gives the nearest, and its square. */
static float find_feet(const lists_list *list, const lists_block *block, float *scratch,
                       float nearest[3], float radius) {
    const lists_group *groups = list->groups;
    const uint32_t end = list->count;
    const wide centre[3] = {all(block->centre[0]), all(block->centre[1]), all(block->centre[2])};
    const wide rho = all(radius);
    wide best = all(INFINITY), closest[3] = {best, best, best};
    for (uint32_t i = 0; i < end; i += LANES) {
        wide f[3];
        wide clear = foot(groups, i, centre, f);
        wide sq = fused(f[0], f[0], fused(f[1], f[1], mul(f[2], f[2])));
        mask nearer = is_less(sq, best);
        best = least(sq, best);
        for (uint32_t k = 0; k < 3; k++) {
            closest[k] = choose(nearer, f[k], closest[k]);
            store(scratch + 4 * (size_t)i + k * LANES, f[k]);
        }
        /* s^2 - 2 rho s is least at the largest s up to rho; s = 0 at a corner */
        wide s = where(is_less_equal(clear, rho), least(at(groups, LISTS_DIAMETER, i), rho));
        store(scratch + 4 * (size_t)i + 3 * LANES, fused(s, sub(sub(s, rho), rho), sq));
    }
    float least_sq = fw_least(best);
    unsigned bits = mask_bits(is_less_equal(best, all(least_sq)));
    uint32_t winner = 0;
    while (!(bits >> winner & 1))
        winner++;
    for (uint32_t k = 0; k < 3; k++) {
        float lanes[LANES];
        store(lanes, closest[k]);
        nearest[k] = lanes[winner];
    }
    return least_sq;
}

/* Takes away the numbers of what a last group is filled up with. */
static inline uint32_t trim(const uint32_t *numbers, uint32_t count, uint32_t end) {
    while (count && numbers[count - 1] >= end)
        count--;
    return count;
}

static uint32_t filter(const lists_list *list, const lists_block *block, float *scratch,
                       uint32_t *kept, float *nearest_sq) {
    float nearest[3];
    lists_limits limits = lists_limits_of(block);
    *nearest_sq = find_feet(list, block, scratch, nearest, limits.rho);
    const wide limit = all(lists_limit(block, &limits, *nearest_sq));
    const wide g[3] = {all(nearest[0]), all(nearest[1]), all(nearest[2])};
    const wide twice[3] = {all(2 * limits.half[0]), all(2 * limits.half[1]),
                           all(2 * limits.half[2])};
    const uint32_t end = list->count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < end; i += LANES) {
        const float *from = scratch + 4 * (size_t)i;
        wide sum = load(from + 3 * LANES);
        for (uint32_t k = 0; k < 3; k++)
            sum = fused_less(twice[k], magnitude(sub(load(from + k * LANES), g[k])), sum);
        count += fw_number(kept + count, i, mask_bits(is_less_equal(sum, limit)));
    }
    return trim(kept, count, end);
}

/* ---- measure ---- */

/* The number of the nearest vertex, or 3 where it is not clear that it is one. */
static inline wide vertex_of(const lists_group *groups, uint32_t i, const sight *s, wide margin,
                             wide height) {
    const wide none = all(3);
    wide vertex = choose(is_less(s->dt, all(0)), all(2), choose(s->mirrored, all(0), all(1)));
    vertex = choose(is_less(margin, clearance(groups, i, s)), vertex, none);
    return choose(is_less(height, at(groups, LISTS_HEIGHT, i)), vertex, none);
}

static uint32_t measure(const lists_list *list, const float point[3], float margin, float *scratch,
                        uint32_t *found) {
    const lists_group *groups = list->groups;
    const uint32_t end = list->count;
    const wide p[3] = {all(point[0]), all(point[1]), all(point[2])};
    const wide clear = all(LISTS_CLEAR * margin), height = all(LISTS_HEIGHT_LEAST * margin);
    float *vertices = scratch + (size_t)lists_group_count(end) * LISTS_GROUP;
    wide best = all(INFINITY);
    for (uint32_t i = 0; i < end; i += LANES) {
        sight s = look(groups, i, p);
        wide sq = distance_sq(&s);
        best = least(sq, best);
        store(scratch + i, sq);
        store(vertices + i, vertex_of(groups, i, &s, clear, height));
    }
    float reach = sqrtf(fw_least(best)) + 2 * margin;
    const wide limit = all(reach * reach * NEAREST_SLACK);
    uint32_t count = 0;
    for (uint32_t i = 0; i < end; i += LANES)
        count += fw_number(found + count, i, mask_bits(is_less_equal(load(scratch + i), limit)));
    return trim(found, count, end);
}

/* ---- pairs in doubles: half as many are as wide ---- */

#if LANES > 4

static void exact(const abut_mesh *mesh, const vec3 *points, lists_pair *pairs, uint32_t count) {
    for (uint32_t begin = 0; begin < count; begin += MEASURE_LANES) {
        double column[12][MEASURE_LANES];
        for (uint32_t k = 0; k < MEASURE_LANES; k++) {
            const lists_pair *pair = &pairs[begin + k < count ? begin + k : count - 1];
            const uint32_t *index = mesh->indices + 3 * (size_t)pair->triangle;
            for (int c = 0; c < 4; c++) {
                const vec3 *from = c < 3 ? &mesh->positions[index[c]] : &points[pair->point];
                column[3 * c][k] = from->x;
                column[3 * c + 1][k] = from->y;
                column[3 * c + 2][k] = from->z;
            }
        }
        vec3d absolute[4], origin = v3d_all(mesh->origin);
        for (int c = 0; c < 4; c++) {
            vec3d at = {DW(load)(column[3 * c]), DW(load)(column[3 * c + 1]),
                        DW(load)(column[3 * c + 2])};
            absolute[c] = c < 3 ? v3d_add(origin, at) : at;
        }
        measured out;
        measure_lanes(absolute, absolute[3], &out);
        vec3d closest = weights_at_dw(absolute, out.edge, out.weight);
        for (int c = 0; c < 3; c++)
            DW(store)(column[c], out.weight[c]);
        DW(store)(column[3], out.distance);
        DW(store)(column[4], closest.x);
        DW(store)(column[5], closest.y);
        DW(store)(column[6], closest.z);
        for (uint32_t k = 0; k < MEASURE_LANES && begin + k < count; k++) {
            lists_pair *pair = &pairs[begin + k];
            pair->distance = column[3][k];
            pair->closest = v3(column[4][k], column[5][k], column[6][k]);
            for (int c = 0; c < 3; c++)
                pair->weight[c] = column[c][k];
            if (out.left >> k & 1)
                lists_measure_pair(mesh, points, pair);
        }
    }
}

#else

static void exact(const abut_mesh *mesh, const vec3 *points, lists_pair *pairs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        lists_measure_pair(mesh, points, &pairs[i]);
}

#endif

const lists_kernel BY_LANES(abuti_lists) = {gather, filter, measure, exact};
