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

#if LANES == 16
#define DW(name) d8_##name
typedef d8 dw;
#else
#define DW(name) d4_##name
typedef d4 dw;
#endif
enum { DOUBLES = LANES / 2 };

#define MIN_NORMAL_PRODUCT 0x1p-300

/* exact_entry, and a vector of them. */
typedef struct pair_lanes {
    dw hi, lo;
} pair_lanes;

/* exact_difference */
static inline pair_lanes difference(dw a, dw b) {
    pair_lanes d;
    d.hi = DW(sub)(a, b);
    dw b_virtual = DW(sub)(a, d.hi);
    dw a_virtual = DW(add)(d.hi, b_virtual);
    d.lo = DW(add)(DW(sub)(a, a_virtual), DW(sub)(b_virtual, b));
    return d;
}

static inline pair_lanes pair_minus(pair_lanes a, pair_lanes b) {
    pair_lanes d = difference(a.hi, b.hi), r;
    d.lo = DW(add)(d.lo, DW(sub)(a.lo, b.lo));
    r.hi = DW(add)(d.hi, d.lo);
    r.lo = DW(sub)(d.lo, DW(sub)(r.hi, d.hi));
    return r;
}

static inline pair_lanes pair_times(pair_lanes a, pair_lanes b) {
    pair_lanes r;
    dw p = DW(mul)(a.hi, b.hi);
    dw tail =
        DW(add)(DW(mul_sub)(a.hi, b.hi, p), DW(add)(DW(mul)(a.hi, b.lo), DW(mul)(a.lo, b.hi)));
    r.hi = DW(add)(p, tail);
    r.lo = DW(sub)(tail, DW(sub)(r.hi, p));
    return r;
}

/* det3_pairs; clears the bits of lanes in which det3_value would not use it. */
static inline dw determinant(const pair_lanes a[3], const pair_lanes b[3], const pair_lanes c[3],
                             unsigned *is_certain) {
    pair_lanes value = {DW(all)(0), DW(all)(0)};
    dw permanent = DW(all)(0);
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1, k = 3 - i - j;
        pair_lanes left = pair_times(b[j], c[k]), right = pair_times(b[k], c[j]);
        value = pair_minus(value, pair_times(a[i], pair_minus(right, left)));
        permanent = DW(add)(permanent, DW(mul)(DW(abs)(a[i].hi),
                                               DW(add)(DW(abs)(left.hi), DW(abs)(right.hi))));
    }
    *is_certain &= DW(bits)(DW(less)(DW(mul)(DW(all)(0x1p-40), permanent), DW(abs)(value.hi)));
    return value.hi;
}

/* Differences of two points; clears the bits of lanes with a number that is tiny and not 0. */
static inline void difference_row(pair_lanes row[3], const dw a[3], const dw b[3],
                                  unsigned *is_certain) {
    for (int axis = 0; axis < 3; axis++) {
        row[axis] = difference(a[axis], b[axis]);
        dw hi = DW(abs)(row[axis].hi), lo = DW(abs)(row[axis].lo), zero = DW(all)(0);
        unsigned not_small = DW(bits)(DW(less)(DW(all)(MIN_NORMAL_PRODUCT), hi)),
                 not_small_lo = DW(bits)(DW(less)(DW(all)(MIN_NORMAL_PRODUCT), lo));
        *is_certain &= (not_small | DW(bits)(DW(equal)(hi, zero))) &
                       (not_small_lo | DW(bits)(DW(equal)(lo, zero)));
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
    dw corner[3][3], origin[3], direction[3], zero[3];
    DW(load_three)(origins, origin);
    DW(load_three)(directions, direction);
    for (int k = 0; k < 3; k++)
        DW(load_three)(from[k], corner[k]);
    for (int axis = 0; axis < 3; axis++) {
        zero[axis] = DW(all)(0);
        for (int k = 0; k < 3; k++)
            corner[k][axis] = DW(add)(DW(all)(v3_get(mesh->origin, axis)), corner[k][axis]);
    }
    pair_lanes along[3], ab[3], ac[3], ao[3], seen[3][3];
    difference_row(along, direction, zero, &is_certain);
    difference_row(ab, corner[1], corner[0], &is_certain);
    difference_row(ac, corner[2], corner[0], &is_certain);
    difference_row(ao, origin, corner[0], &is_certain);
    for (int k = 0; k < 3; k++)
        difference_row(seen[k], corner[k], origin, &is_certain);
    dw at_from = determinant(ab, ac, ao, &is_certain),
       change = determinant(along, ab, ac, &is_certain);
    dw weight[3], sum;
    double parameter[DOUBLES], weights[3][DOUBLES];
    for (int k = 0; k < 3; k++)
        weight[k] = determinant(along, seen[k == 2 ? 0 : k + 1], seen[k ? k - 1 : 2], &is_certain);
    sum = DW(add)(DW(add)(weight[0], weight[1]), weight[2]);
    DW(store)(parameter, DW(div)(DW(negative)(at_from), change));
    for (int k = 0; k < 3; k++)
        DW(store)(weights[k], DW(div)(weight[k], sum));
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
