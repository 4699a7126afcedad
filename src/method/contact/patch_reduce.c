/* Contact reduction: chooses a few of many candidate points of a patch.
 *
 * Candidates at the same position are merged. Chosen are the deepest candidate, the one furthest
 * from it, the one furthest from the line through both, and the one that adds the largest area.
 * Distances and areas are weighted by depth (Moravanszky and Terdiman 2004, "Fast contact reduction
 * for dynamics simulation"). */
#include "contact/patch.h"

#include <math.h>

#define VALUE_TOLERANCE 0.03   /* fraction of a value: candidates within it count as equally good */
#define MIN_GAIN 1e-6          /* of the distance of the first two points: of a further point */
#define VERTEX_PREFERENCE 1.01 /* factor of the weight of vertices */
#define MIN_WEIGHT 0.01        /* of a candidate that is within the margin */
#define MERGE_FRACTION 1e-4    /* of the extent of the contact: nearer candidates are merged */

/* They differ by 12.94 degrees from axes and diagonals, so that no two corners of boxes and regular
 * polygons are equally far out. */
const double abuti_patch_directions[PATCH_DIRECTIONS][2] = {
    {0.97460509867730605, 0.2239305732413476},   {0.5308070473997597, 0.84749270110765507},
    {-0.22393057324134749, 0.97460509867730605}, {-0.84749270110765518, 0.53080704739975959},
    {0.81472318256962506, 0.57985009768354911},  {0.16608035104114791, 0.98611222332858706},
    {-0.57985009768354923, 0.81472318256962495}, {-0.98611222332858706, 0.16608035104114774}};

/* Returns the candidate with the largest value that is not used; of nearly equal ones, the one with
 * the lowest key; ABUT_NONE if all are used. */
static uint32_t find_best(const patch_choice *choice, const double *value, const bool *is_used) {
    uint32_t best = ABUT_NONE;
    double max_value = 0;
    for (uint32_t i = 0; i < choice->count; i++)
        max_value = is_used[i] ? max_value : real_max(max_value, value[i]);
    for (uint32_t i = 0; i < choice->count; i++)
        if (!is_used[i] && value[i] >= (1 - VALUE_TOLERANCE) * max_value &&
            (best == ABUT_NONE || patch_point_key(&choice->found[i].point) <
                                      patch_point_key(&choice->found[best].point)))
            best = i;
    return best;
}

static bool same_feature(const patch_point *a, const patch_point *b) {
    return a->side == b->side && a->kind == b->kind && a->element == b->element &&
           a->part == b->part;
}

/* Adds a candidate to the patch, and marks all candidates of its feature as used. */
static void choose_point(const patch_choice *choice, uint32_t i, bool *is_used,
                         patch_answer *answer) {
    for (uint32_t k = 0; k < choice->count; k++)
        is_used[k] |= same_feature(&choice->found[k].point, &choice->found[i].point);
    answer->points[answer->count++] = choice->found[i].point;
}

/* Computes the weight of each candidate: its depth relative to the deepest one, with a tolerance
 * for the tilt of nearly parallel faces, and slightly more for vertices. Candidates with a gap
 * above the maximum are marked as used. */
static void weigh_candidates(const patch_choice *choice, double extent, double max_gap,
                             double *weight, bool *is_used) {
    double scale = choice->deepest + max_gap;
    for (uint32_t i = 0; i < choice->count; i++) {
        const patch_point *p = &choice->found[i].point;
        is_used[i] = p->depth < -max_gap;
        weight[i] = scale > 0 ? real_clamp((p->depth + max_gap + choice->tilt * extent) / scale,
                                           MIN_WEIGHT, 1)
                              : 1;
        if (p->kind == ABUT_CONTACT_VERTEX) /* persists longer than a crossing next to it */
            weight[i] *= VERTEX_PREFERENCE;
    }
}

static double planar_distance(const patch_candidate *a, const patch_candidate *b) {
    double u = a->u - b->u, v = a->v - b->v;
    return sqrt(u * u + v * v);
}

/* Returns the distance of a candidate from the line through two others, positive on its left. */
static double signed_line_distance(const patch_candidate *from, const patch_candidate *to,
                                   const patch_candidate *at) {
    double du = to->u - from->u, dv = to->v - from->v;
    return (du * (at->v - from->v) - dv * (at->u - from->u)) / sqrt(du * du + dv * dv);
}

/* Returns the area that a fourth point adds to the triangle of three chosen ones, times two: the
 * sum over the sides that the point is outside of. */
static double area_gain(const patch_candidate *c, const uint32_t chosen[3],
                        const patch_candidate *at) {
    double sum = 0, orientation = signed_line_distance(&c[chosen[0]], &c[chosen[1]], &c[chosen[2]]);
    for (int k = 0; k < 3; k++) {
        const patch_candidate *from = &c[chosen[k]], *to = &c[chosen[k == 2 ? 0 : k + 1]];
        double outside = orientation > 0 ? -signed_line_distance(from, to, at)
                                         : signed_line_distance(from, to, at);
        sum += outside > 0 ? outside * planar_distance(from, to) : 0;
    }
    return sum;
}

/* Returns what a candidate adds to those chosen: as second its distance, as third its distance from
 * their line, as fourth the area divided by a length; then its distance from the nearest chosen
 * one. */
static double candidate_gain(const patch_candidate *c, const uint32_t *chosen, uint32_t count,
                             uint32_t i) {
    const patch_candidate *first = &c[chosen[0]], *second = &c[chosen[count > 1]], *at = &c[i];
    if (count == 2)
        return fabs(signed_line_distance(first, second, at));
    if (count == 3)
        return area_gain(c, chosen, at) / planar_distance(first, second);
    double min_distance = INFINITY;
    for (uint32_t k = 0; k < count; k++)
        min_distance = real_min(min_distance, planar_distance(at, &c[chosen[k]]));
    return min_distance;
}

/* Returns the centre of the bounding rectangle of all candidates, and their largest distance from
 * it. */
static patch_candidate find_centre(const patch_choice *choice, double *extent) {
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (uint32_t i = 0; i < choice->count; i++) {
        const double at[2] = {choice->found[i].u, choice->found[i].v};
        for (int k = 0; k < 2; k++) {
            lo[k] = real_min(lo[k], at[k]);
            hi[k] = real_max(hi[k], at[k]);
        }
    }
    patch_candidate centre = {.u = 0.5 * (lo[0] + hi[0]), .v = 0.5 * (lo[1] + hi[1])};
    *extent = 0;
    for (uint32_t i = 0; i < choice->count; i++)
        *extent = real_max(*extent, planar_distance(&choice->found[i], &centre));
    return centre;
}

/* Drops the last candidate if it was added only for its depth, and others are as deep up to the
 * tilt of nearly parallel faces. */
static void drop_redundant_deepest(patch_choice *choice, double max_gap) {
    double depth = -INFINITY, extent;
    patch_choice others = *choice;
    if (!choice->last_is_deepest || choice->count < 2)
        return;
    others.count--;
    find_centre(&others, &extent);
    for (uint32_t i = 0; i < others.count; i++)
        depth = real_max(depth, choice->found[i].point.depth);
    if (depth >= real_max(choice->deepest - choice->tilt * extent, -max_gap))
        choice->count--;
}

/* Merges candidates at the same position: the one with the lowest key is kept, with the largest
 * depth. Returns their number. */
static uint32_t merge_candidates(const patch_choice *choice, double extent,
                                 patch_candidate *merged) {
    double merge_distance = real_max(MERGE_FRACTION * extent, choice->merge_distance);
    uint32_t count = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        const patch_candidate *c = &choice->found[i];
        uint32_t k = 0;
        while (k < count && !(fabs(c->u - merged[k].u) <= merge_distance &&
                              fabs(c->v - merged[k].v) <= merge_distance))
            k++;
        if (k == count) {
            merged[count++] = *c;
            continue;
        }
        double depth = real_max(c->point.depth, merged[k].point.depth);
        if (patch_point_key(&c->point) < patch_point_key(&merged[k].point))
            merged[k] = *c;
        merged[k].point.depth = depth;
    }
    return count;
}

/* Moves the deepest of the chosen points to the front, and sets its depth to that of the patch. Its
 * own depth is smaller by the tilt of nearly parallel faces at most. */
static void move_deepest_first(double deepest, patch_answer *answer) {
    patch_point *points = answer->points;
    uint32_t first = 0;
    for (uint32_t i = 1; i < answer->count; i++)
        if (points[i].depth > points[first].depth)
            first = i;
    patch_point point = points[first];
    points[first] = points[0];
    points[0] = point;
    points[0].depth = deepest;
}

void abuti_patch_choose(const patch_choice *from, uint32_t max_points, double max_gap,
                        patch_answer *answer) {
    assert(from->count <= PATCH_CANDIDATES && max_points <= PATCH_POINTS);
    patch_candidate merged[PATCH_CANDIDATES];
    patch_choice merged_choice = *from, *choice = &merged_choice;
    double extent;
    drop_redundant_deepest(choice, max_gap);
    const patch_candidate centre = find_centre(choice, &extent);
    choice->count = merge_candidates(choice, extent, merged);
    choice->found = merged;
    bool is_used[PATCH_CANDIDATES];
    double value[PATCH_CANDIDATES], weight[PATCH_CANDIDATES];
    uint32_t chosen[PATCH_POINTS];
    const patch_candidate *c = choice->found;
    answer->count = 0;
    if (!choice->count || choice->deepest < -max_gap)
        return;
    weigh_candidates(choice, extent, max_gap, weight, is_used);
    double depth_limit = real_min((1 - choice->depth_tolerance) * (choice->deepest + max_gap),
                                  choice->deepest + max_gap - choice->tilt * extent);
    for (uint32_t i = 0; i < choice->count; i++) /* the outermost of the deepest ones */
        value[i] = c[i].point.depth + max_gap >= depth_limit
                       ? weight[i] * planar_distance(&c[i], &centre)
                       : 0;
    chosen[0] = find_best(choice, value, is_used);
    if (chosen[0] == ABUT_NONE) /* the deepest point is not a candidate: choose the next deepest */
        for (uint32_t i = chosen[0] = 0; i < choice->count; i++)
            chosen[0] = c[i].point.depth > c[chosen[0]].point.depth ? i : chosen[0];
    choose_point(choice, chosen[0], is_used, answer);
    while (answer->count < max_points) {
        uint32_t n = answer->count;
        for (uint32_t i = 0; i < choice->count; i++)
            value[i] = weight[i] * candidate_gain(c, chosen, n, i);
        uint32_t next = find_best(choice, value, is_used);
        if (next == ABUT_NONE ||
            !(value[next] > MIN_GAIN * planar_distance(&c[chosen[0]], &c[chosen[n > 1]])))
            break;
        chosen[n] = next;
        choose_point(choice, next, is_used, answer);
    }
    move_deepest_first(choice->deepest, answer);
}
