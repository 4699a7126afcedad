/* path_pierce() of geom/path_shared.h for several hits at once, with the same bits: the point where
 * a line pierces a triangle that it certainly intersects.
 *
 * Every operation is that of the scalar function, in the same order, with one hit per double lane.
 * Tails of products are fused multiply-adds here and Dekker products there, which are equal as long
 * as nothing underflows. Numbers below 2^-300 that are not 0 are left to the scalar function, and
 * so are determinants that are too small compared with their terms for pairs.
 */
#include "ray/ray.h"

#include "base/simd_lanes.h"

#ifdef ABUTI_SIMD_WIDE

enum { DOUBLES = 4 };

#define MIN_NORMAL_PRODUCT 0x1p-300

/* exact_entry, and a vector of them. */
typedef struct pair_lanes {
    d4 hi, lo;
} pair_lanes;

/* exact_difference */
static inline pair_lanes difference(d4 a, d4 b) {
    pair_lanes d;
    d.hi = d4_sub(a, b);
    d4 b_virtual = d4_sub(a, d.hi);
    d4 a_virtual = d4_add(d.hi, b_virtual);
    d.lo = d4_add(d4_sub(a, a_virtual), d4_sub(b_virtual, b));
    return d;
}

static inline pair_lanes pair_minus(pair_lanes a, pair_lanes b) {
    pair_lanes d = difference(a.hi, b.hi), r;
    d.lo = d4_add(d.lo, d4_sub(a.lo, b.lo));
    r.hi = d4_add(d.hi, d.lo);
    r.lo = d4_sub(d.lo, d4_sub(r.hi, d.hi));
    return r;
}

static inline pair_lanes pair_times(pair_lanes a, pair_lanes b) {
    pair_lanes r;
    d4 p = d4_mul(a.hi, b.hi);
    d4 tail = d4_add(d4_mul_sub(a.hi, b.hi, p), d4_add(d4_mul(a.hi, b.lo), d4_mul(a.lo, b.hi)));
    r.hi = d4_add(p, tail);
    r.lo = d4_sub(tail, d4_sub(r.hi, p));
    return r;
}

/* det3_pairs; clears the bits of lanes in which det3_value would not use it. */
static inline d4 determinant(const pair_lanes a[3], const pair_lanes b[3], const pair_lanes c[3],
                             unsigned *is_certain) {
    pair_lanes value = {d4_all(0), d4_all(0)};
    d4 permanent = d4_all(0);
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1, k = 3 - i - j;
        pair_lanes left = pair_times(b[j], c[k]), right = pair_times(b[k], c[j]);
        value = pair_minus(value, pair_times(a[i], pair_minus(right, left)));
        permanent =
            d4_add(permanent, d4_mul(d4_abs(a[i].hi), d4_add(d4_abs(left.hi), d4_abs(right.hi))));
    }
    *is_certain &= d4_bits(d4_less(d4_mul(d4_all(0x1p-40), permanent), d4_abs(value.hi)));
    return value.hi;
}

/* Differences of two points; clears the bits of lanes with a number that is tiny and not 0. */
static inline void difference_row(pair_lanes row[3], const d4 a[3], const d4 b[3],
                                  unsigned *is_certain) {
    for (int axis = 0; axis < 3; axis++) {
        row[axis] = difference(a[axis], b[axis]);
        d4 hi = d4_abs(row[axis].hi), lo = d4_abs(row[axis].lo), zero = d4_all(0);
        unsigned not_small = d4_bits(d4_less(d4_all(MIN_NORMAL_PRODUCT), hi)),
                 not_small_lo = d4_bits(d4_less(d4_all(MIN_NORMAL_PRODUCT), lo));
        *is_certain &= (not_small | d4_bits(d4_equal(hi, zero))) &
                       (not_small_lo | d4_bits(d4_equal(lo, zero)));
    }
}

/* As many hits as there are double lanes. */
static void pierce_some(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count) {
    const double *from[3][DOUBLES], *origins[DOUBLES], *directions[DOUBLES];
    for (uint32_t i = 0; i < DOUBLES; i++) {
        const ray_pierce *hit = &hits[i < count ? i : count - 1];
        for (uint32_t k = 0; k < 3; k++)
            from[k][i] = &mesh->positions[mesh->indices[3 * (size_t)hit->triangle + k]].x;
        origins[i] = &hit->ray->origin.x;
        directions[i] = &hit->ray->direction.x;
    }
    unsigned is_certain = (1u << DOUBLES) - 1;
    d4 corner[3][3], origin[3], direction[3], zero[3];
    d4_load_three(origins, origin);
    d4_load_three(directions, direction);
    for (int k = 0; k < 3; k++)
        d4_load_three(from[k], corner[k]);
    for (int axis = 0; axis < 3; axis++) {
        zero[axis] = d4_all(0);
        for (int k = 0; k < 3; k++)
            corner[k][axis] = d4_add(d4_all(v3_get(mesh->origin, axis)), corner[k][axis]);
    }
    pair_lanes along[3], ab[3], ac[3], ao[3], seen[3][3];
    difference_row(along, direction, zero, &is_certain);
    difference_row(ab, corner[1], corner[0], &is_certain);
    difference_row(ac, corner[2], corner[0], &is_certain);
    difference_row(ao, origin, corner[0], &is_certain);
    for (int k = 0; k < 3; k++)
        difference_row(seen[k], corner[k], origin, &is_certain);
    d4 at_from = determinant(ab, ac, ao, &is_certain),
       change = determinant(along, ab, ac, &is_certain);
    d4 weight[3], sum;
    double parameter[DOUBLES], weights[3][DOUBLES];
    for (int k = 0; k < 3; k++)
        weight[k] = determinant(along, seen[k == 2 ? 0 : k + 1], seen[k ? k - 1 : 2], &is_certain);
    sum = d4_add(d4_add(weight[0], weight[1]), weight[2]);
    d4_store(parameter, d4_div(d4_negative(at_from), change));
    for (int k = 0; k < 3; k++)
        d4_store(weights[k], d4_div(weight[k], sum));
    for (uint32_t i = 0; i < count; i++) {
        if (!(is_certain >> i & 1)) {
            abuti_ray_pierce(mesh, &hits[i]);
            continue;
        }
        abut_ray_hit *hit = hits[i].hit;
        memset(hit, 0, sizeof *hit);
        hit->parameter = parameter[i];
        hit->triangle = hits[i].triangle;
        for (int k = 0; k < 3; k++)
            hit->barycentric[k] = weights[k][i];
    }
}

#else

enum { DOUBLES = 1 };

static void pierce_some(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count) {
    (void)count;
    abuti_ray_pierce(mesh, hits);
}

#endif

void BY_LANES(abuti_ray_pierce)(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count) {
    for (uint32_t i = 0; i < count; i += DOUBLES)
        pierce_some(mesh, hits + i, count - i < DOUBLES ? count - i : DOUBLES);
}
