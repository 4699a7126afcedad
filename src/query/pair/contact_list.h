/* Contacts and patches of all methods: ids, validation of output lists, reduction. */
#ifndef ABUTI_PAIR_CONTACT_LIST_H
#define ABUTI_PAIR_CONTACT_LIST_H

#include "base/base.h"
#include "pair/contact_reduction_shared.h"

#include <abut/pair.h>
#include <assert.h>
#include <math.h>

/* Layout of a contact id, from the lowest bit: element (32), part (26), kind (3), unused (2), side
 * (1). The kernels in world.cl use the same layout. */
enum {
    CONTACT_ID_PART = 32,
    CONTACT_ID_PART_BITS = 26,
    CONTACT_ID_KIND = CONTACT_ID_PART + CONTACT_ID_PART_BITS,
    CONTACT_ID_KIND_BITS = 3,
    CONTACT_ID_SPARE = CONTACT_ID_KIND + CONTACT_ID_KIND_BITS,
    CONTACT_ID_SPARE_BITS = 2,
    CONTACT_ID_SIDE = CONTACT_ID_SPARE + CONTACT_ID_SPARE_BITS,
    CONTACT_ID_PART_MAX = (1 << CONTACT_ID_PART_BITS) - 1
};
_Static_assert(CONTACT_ID_SIDE == 63, "an id has 64 bits");
_Static_assert(ABUT_CONTACT_OVERLAP < 1 << CONTACT_ID_KIND_BITS, "every kind fits into an id");
_Static_assert(sizeof((abut_contact){0}.id) == 8, "an id has 64 bits");

static inline uint64_t contact_id(uint32_t side, uint32_t kind, uint32_t element, uint32_t part) {
    assert(side < 2 && kind < 1 << CONTACT_ID_KIND_BITS && part >> CONTACT_ID_PART_BITS == 0);
    return (uint64_t)side << CONTACT_ID_SIDE | (uint64_t)kind << CONTACT_ID_KIND |
           (uint64_t)part << CONTACT_ID_PART | element;
}

/* Validates the lists of the caller, and stores their counts: fails with ABUT_ERROR_BUFFER if a
 * list is too short. */
abut_status abuti_patches_check(const char *function, const abut_patches *patches);
abut_status abuti_patches_count(const char *function, uint64_t count, uint64_t contact_count,
                                abut_patches *patches);

/* ---- reduction ----
 *
 * The method is in contact_reduction_shared.h. The caller decides by weights which candidates may
 * be chosen, and which are preferred; here the one that adds most is found. */

enum { CONTACT_KEEP_MAX = 64 }; /* contacts that are kept of a patch */

typedef struct reduction_point {
    vec3 at;
    double weight; /* of its distance or area; 0: it is not chosen */
    uint64_t key;  /* of equally good candidates, the one with the lowest key is chosen */
} reduction_point;

typedef struct contact_reduction {
    size_t begin, end; /* candidates */
    vec3 normal;       /* areas are projected along it; zero: only distances count */
    double spread;     /* weight of squared distances relative to squared areas */
    double tolerance;  /* fraction of the largest gain: candidates within it are equally good */
} contact_reduction;

/* Returns the candidate that adds most to the `kept` >= 1 points, or SIZE_MAX if none may be
 * chosen. `read` returns candidate i. *gain: a squared distance, or the square of twice an area if
 * `kept` is 2 or 3; without weight. */
static inline size_t contact_reduction_next(const contact_reduction *r,
                                            reduction_point (*read)(const void *data, size_t i),
                                            const void *data, const vec3 *points, uint32_t kept,
                                            double *gain) {
    const double share = (1 - r->tolerance) * (1 - r->tolerance);
    double max_value = 0;
    uint64_t key = UINT64_MAX;
    size_t best = SIZE_MAX;
    for (int pass = 0; pass < 2; pass++) /* the largest value, then the lowest key near it */
        for (size_t i = r->begin; i < r->end; i++) {
            const reduction_point p = read(data, i);
            double distance_sq = INFINITY;
            if (!(p.weight > 0))
                continue;
            for (uint32_t k = 0; k < kept; k++)
                distance_sq = real_min(distance_sq, v3_length_sq(v3_sub(p.at, points[k])));
            double here =
                contact_support_gain(kept, points, r->normal, p.at, distance_sq, r->spread);
            double value = p.weight * p.weight * here;
            if (!pass) {
                max_value = real_max(max_value, value);
            } else if (!(value < share * max_value) && (best == SIZE_MAX || p.key < key)) {
                *gain = here;
                key = p.key;
                best = i;
            }
        }
    return best;
}

/* Replaces the defaults and limits of abut_contact_reduce(): returns the cosine of the angle and
 * updates the number of contacts to keep for each patch. */
double abuti_contact_reduction(double angle, uint32_t *keep);
/* Moves the `keep` <= count contacts of one patch that span the largest support area to its front.
 * The first contact must be the deepest. If `normal` is zero, as for a patch around a corner, there
 * is no such area: the deepest contact and those farthest from all that are kept are chosen. */
void abuti_contact_choose(abut_contact *patch, size_t count, size_t keep, abut_vec3 normal);

#endif
