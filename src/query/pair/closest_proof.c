/* Proof of the smallest distance if many pairs of triangles have it.
 *
 * The distance of two parts of surfaces is at least their gap along any direction. For two parallel
 * faces, or an edge above a plate, the gap along the line of the closest pair so far equals its
 * distance, and so does the gap along the normal of a face. The proof descends in both BVHs, as a
 * search does. It stops at two boxes whose corners are beyond the ends of that line, each side by
 * itself or both together, or whose slabs are apart. Directions are unit vectors in doubles, and
 * projections have errors of a few roundings. So the proof holds for distances in doubles up to the
 * position error of the frame; half of the tolerance covers those roundings.
 *
 * Then a second search finds the lowest tied pair: it visits boxes in the order of their lowest
 * triangles, so it ends soon after the first one found. If both surfaces are entirely beyond the
 * ends of the line, two tied triangles must overlap in the projection along it.
 */
#include "pair/closest_proof.h"

#include "pair/closest_queue.h"

#include <assert.h>
#include <math.h>

enum {
    CROSS_DIRECTIONS = 4, /* directions across the line */
    DISTANCE_STEPS = 8,   /* cost of the distance of two triangles, in steps */
};

/* Two boxes, and whether the corners of each are known to be beyond its end of the line. */
typedef struct pending_proof {
    float size[2];
    uint32_t place[2];
    bool beyond[2];
} pending_proof;

typedef struct proof_search {
    const pair_frame *frame;
    const pair_slab *const *slabs;
    float upper_sq;
    double best, tolerance; /* of the proof */
    vec3 direction[2];      /* of the line towards the other side, unit, along own axes */
    double end[2];          /* the largest allowed coordinate along it, from the local origin */
    double end_tolerance;   /* two triangles that tie are at most this far from their ends, if */
    bool covers_all;        /* both surfaces are entirely beyond the ends */
    double cross_tolerance; /* two triangles that tie are then at most this far apart across the
                               line */
    double shift[CROSS_DIRECTIONS];   /* from side 0 to side 1 along each cross direction */
    vec3 across[2][CROSS_DIRECTIONS]; /* the cross directions along the axes of both sides */
    uint64_t steps, steps_max;
} proof_search;

static bool is_exhausted(proof_search *t) {
    return ++t->steps > t->steps_max || (t->steps % PAIR_STEPS_PER_STOP_CHECK == 0 &&
                                         abuti_stop(t->frame->side[0].bvh->context, "pairs"));
}

/* ---- one side ---- */

/* The largest distance of corners at a place past the end of the line; negative if all are beyond
 * it. */
static double max_past_end(const proof_search *t, int k, uint32_t place) {
    const abut_bvh *bvh = t->frame->side[k].bvh;
    double reach = real_min(pair_box_reach(bvh, place, t->direction[k]),
                            slab_reach(&t->slabs[k][place], t->direction[k]));
    return (v3_dot(t->direction[k], pair_box_centre(bvh, place)) + reach) / bvh->scale - t->end[k];
}

/* The same for a triangle. */
static double triangle_past_end(const proof_search *t, int k, uint32_t triangle) {
    return pair_triangle_reach(t->frame->side[k].bvh->mesh, triangle, t->direction[k]) - t->end[k];
}

static bool is_leaf_beyond_end(const proof_search *t, int k, uint32_t leaf) {
    const abut_bvh *bvh = t->frame->side[k].bvh;
    uint32_t fill = bvh_leaf_fill(bvh, leaf);
    bool beyond = true;
    for (uint32_t i = 0; i < fill; i++)
        beyond = beyond && triangle_past_end(t, k, bvh->order[(size_t)leaf * BVH_WIDTH + i]) <= 0;
    return beyond;
}

/* Whether all corners at a place are beyond the end of the line. */
static bool is_beyond_end(proof_search *t, int k, uint32_t place) {
    const abut_bvh *bvh = t->frame->side[k].bvh;
    uint32_t stack[3 * BVH_DEPTH + 4], used = 0;
    stack[used++] = place;
    while (used) {
        uint32_t next = stack[--used], child = pair_child(&t->frame->side[k], next);
        if (is_exhausted(t))
            return false;
        if (next != PAIR_ROOT && max_past_end(t, k, next) <= 0)
            continue;
        if (child & BVH_LEAF) {
            if (!is_leaf_beyond_end(t, k, child & ~BVH_LEAF))
                return false;
            continue;
        }
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (bvh->nodes[child].child[slot] != ABUT_NONE)
                stack[used++] = child * BVH_WIDTH + slot;
        assert(used <= sizeof stack / sizeof *stack);
    }
    return true;
}

/* ---- both sides ---- */

/* Converts a direction of a side to the world. */
static vec3 to_world(const pair_side *side, vec3 n) {
    return side->motion.rotates ? m3_apply(&side->motion.rotation, n) : n;
}

/* The centre of a box in the world. */
static vec3 world_centre(const pair_side *side, uint32_t place) {
    vec3 own = v3_scale(pair_box_centre(side->bvh, place), 1 / side->bvh->scale);
    return abuti_motion_apply(&side->motion, v3_add(side->bvh->mesh->origin, own));
}

/* Whether two slabs are as far apart as the closest pair along the normal of one of them. */
static bool slabs_are_apart(const proof_search *t, const uint32_t place[2]) {
    const pair_side *side = t->frame->side;
    vec3 between = v3_sub(world_centre(&side[1], place[1]), world_centre(&side[0], place[0]));
    for (int k = 0; k < 2; k++) {
        const pair_slab *slab = &t->slabs[k][place[k]];
        vec3 n = to_world(&side[k], v3(slab->m[0], slab->m[1], slab->m[2]));
        double gap = v3_dot(n, between);
        n = gap < 0 ? v3_scale(n, -1) : n;
        gap = fabs(gap);
        for (int j = 0; j < 2; j++) {
            vec3 own = pair_to_side(&side[j], j ? v3_scale(n, -1) : n);
            gap -= slab_reach(&t->slabs[j][place[j]], own) / side[j].bvh->scale;
        }
        if (gap >= t->best - 0.5 * t->tolerance)
            return true;
    }
    return false;
}

/* Pushes the children whose boxes may contain a tied pair. */
static uint32_t push_close_children(const proof_search *t, pending_proof *stack, uint32_t used,
                                    pending_proof next, int open, uint32_t child) {
    const pair_side *side = &t->frame->side[open];
    const bvh_node *node = &side->bvh->nodes[child];
    pair_box box = pair_box_at(&t->frame->side[!open], next.place[!open]);
    pair_view view = pair_view_of(side, &box, t->frame->pad);
    f4 offset[3], half[3],
        all = boxes_lower_bound_sq(side, &view, node, t->frame->pad, offset, half);
    unsigned candidates = m4_bits(f4_less_equal(all, f4_all(t->upper_sq)));
    float size[4];
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2]));
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (candidates >> slot & 1 && node->child[slot] != ABUT_NONE) {
            stack[used] = next;
            stack[used].size[open] = size[slot];
            stack[used++].place[open] = child * BVH_WIDTH + slot;
        }
    assert(used <= PAIR_STACK);
    return used;
}

/* The distance in doubles, as in a search. */
static double measure_distance(proof_search *t, const abut_triangle *a, const abut_triangle *b) {
    abut_feature features[2];
    t->steps += DISTANCE_STEPS;
    return triangle_triangle_closest_features(*a, *b, features).distance;
}

/* Whether any triangles of two leaves are nearer than the best by more than the tolerance. */
static bool has_nearer_pair(proof_search *t, const uint32_t leaf[2]) {
    const pair_side *side = t->frame->side;
    uint32_t fill[2];
    double past[2][BVH_WIDTH];
    abut_triangle at[2][BVH_WIDTH];
    for (int k = 0; k < 2; k++) {
        fill[k] = bvh_leaf_fill(side[k].bvh, leaf[k]);
        for (uint32_t i = 0; i < fill[k]; i++) {
            uint32_t triangle = side[k].bvh->order[(size_t)leaf[k] * BVH_WIDTH + i];
            past[k][i] = triangle_past_end(t, k, triangle);
            at[k][i] = pair_triangle(&side[k], triangle);
        }
    }
    for (uint32_t i = 0; i < fill[0]; i++)
        for (uint32_t j = 0; j < fill[1]; j++) {
            const abut_triangle *a = &at[0][i], *b = &at[1][j];
            t->steps++;
            if (!(past[0][i] + past[1][j] <= 0) &&
                !pair_normals_exceed(a, b, t->best - 0.5 * t->tolerance) &&
                measure_distance(t, a, b) < t->best - t->tolerance)
                return true;
        }
    return false;
}

static pending_proof root_pair(const pair_frame *frame) {
    pending_proof root = {{0, 0}, {PAIR_ROOT, PAIR_ROOT}, {false, false}};
    for (int k = 0; k < 2; k++)
        root.size[k] = pair_box_at(&frame->side[k], PAIR_ROOT).size;
    return root;
}

/* Whether both children are leaves; writes their indices. */
static bool are_leaves(const uint32_t child[2], uint32_t leaf[2]) {
    for (int k = 0; k < 2; k++)
        leaf[k] = child[k] & ~BVH_LEAF;
    return child[0] & BVH_LEAF && child[1] & BVH_LEAF;
}

static int side_to_open(const pending_proof *next, const uint32_t child[2]) {
    return child[0] & BVH_LEAF || (!(child[1] & BVH_LEAF) && next->size[1] > next->size[0]);
}

/* Whether no pair is nearer than the best by more than the tolerance. */
static bool prove_minimum(proof_search *t) {
    const pair_side *side = t->frame->side;
    pending_proof stack[PAIR_STACK];
    uint32_t used = 0, leaf[2];
    stack[used++] = root_pair(t->frame);
    while (used) {
        pending_proof next = stack[--used];
        if (is_exhausted(t))
            return false;
        for (int k = 0; k < 2; k++)
            next.beyond[k] = next.beyond[k] || is_beyond_end(t, k, next.place[k]);
        if (next.beyond[0] && next.beyond[1]) {
            t->covers_all = next.place[0] == PAIR_ROOT && next.place[1] == PAIR_ROOT;
            continue;
        }
        if (next.place[0] != PAIR_ROOT && next.place[1] != PAIR_ROOT &&
            (max_past_end(t, 0, next.place[0]) + max_past_end(t, 1, next.place[1]) <= 0 ||
             slabs_are_apart(t, next.place)))
            continue;
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        if (!are_leaves(child, leaf)) {
            int open = side_to_open(&next, child);
            used = push_close_children(t, stack, used, next, open, child[open]);
            continue;
        }
        if (has_nearer_pair(t, leaf))
            return false;
    }
    return true;
}

/* ---- the lowest pair ---- */

/* The lowest triangles at two places. */
static void lowest_triangles(const proof_search *t, const uint32_t place[2], uint32_t lowest[2]) {
    for (int k = 0; k < 2; k++)
        lowest[k] = place[k] == PAIR_ROOT ? 0 : t->slabs[k][place[k]].first;
}

/* Whether two boxes may contain a tied pair: they extend to the ends of the line and overlap in the
 * projection along it. */
static bool boxes_may_tie(const proof_search *t, const uint32_t place[2]) {
    const abut_bvh *bvh[2] = {t->frame->side[0].bvh, t->frame->side[1].bvh};
    if (place[0] == PAIR_ROOT || place[1] == PAIR_ROOT || !t->covers_all)
        return true;
    for (int k = 0; k < 2; k++)
        if (max_past_end(t, k, place[k]) < -t->end_tolerance)
            return false;
    vec3 centre[2] = {pair_box_centre(bvh[0], place[0]), pair_box_centre(bvh[1], place[1])};
    for (int i = 0; i < CROSS_DIRECTIONS; i++) {
        double at[2], reach[2];
        for (int k = 0; k < 2; k++) {
            at[k] = v3_dot(t->across[k][i], centre[k]) / bvh[k]->scale;
            reach[k] = pair_box_reach(bvh[k], place[k], t->across[k][i]) / bvh[k]->scale;
        }
        if (fabs(at[1] - at[0] + t->shift[i]) > reach[0] + reach[1] + t->cross_tolerance)
            return false;
    }
    return true;
}

/* The same for two triangles. */
static bool triangles_may_tie(const proof_search *t, const uint32_t which[2]) {
    if (!t->covers_all)
        return true;
    for (int i = 0; i < CROSS_DIRECTIONS; i++) {
        double at[2][3];
        for (int k = 0; k < 2; k++) {
            const abut_mesh *mesh = t->frame->side[k].bvh->mesh;
            const uint32_t *corner = mesh->indices + 3 * (size_t)which[k];
            for (int j = 0; j < 3; j++)
                at[k][j] =
                    v3_dot(t->across[k][i], mesh->positions[corner[j]]) + (k ? t->shift[i] : 0);
        }
        if (projected_gap(at[0], at[1]) > t->cross_tolerance)
            return false;
    }
    return true;
}

/* Tests the pairs of two leaves. Returns false if the tolerance does not decide whether a pair
 * ties. */
static bool test_leaf_pairs(proof_search *t, const uint32_t leaf[2], double reach,
                            uint32_t lowest[2]) {
    uint32_t list[2][BVH_WIDTH], count[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        const abut_bvh *bvh = t->frame->side[k].bvh;
        uint32_t fill = bvh_leaf_fill(bvh, leaf[k]);
        for (uint32_t i = 0; i < fill; i++) {
            uint32_t triangle = bvh->order[(size_t)leaf[k] * BVH_WIDTH + i];
            if (!t->covers_all || triangle_past_end(t, k, triangle) >= -t->end_tolerance)
                list[k][count[k]++] = triangle;
        }
    }
    for (uint32_t i = 0; i < count[0] * count[1]; i++) {
        const uint32_t pair[2] = {list[0][i / count[1]], list[1][i % count[1]]};
        t->steps++;
        if (!is_lower_pair(pair, lowest) || !triangles_may_tie(t, pair))
            continue;
        abut_triangle triangle_a = pair_triangle(&t->frame->side[0], pair[0]);
        abut_triangle triangle_b = pair_triangle(&t->frame->side[1], pair[1]);
        double distance = measure_distance(t, &triangle_a, &triangle_b);
        if (distance <= reach - t->tolerance) {
            memcpy(lowest, pair, sizeof pair);
        } else if (distance <= reach) {
            return false;
        }
    }
    return true;
}

/* Sorts places by their lowest triangles, the lowest pair last. */
static void sort_by_lowest(const proof_search *t, pending_proof *stack, uint32_t first,
                           uint32_t used) {
    for (uint32_t i = first + 1; i < used; i++) {
        pending_proof item = stack[i];
        uint32_t own[2], before[2], j = i;
        lowest_triangles(t, item.place, own);
        for (; j > first; j--) {
            lowest_triangles(t, stack[j - 1].place, before);
            if (!is_lower_pair(before, own))
                break;
            stack[j] = stack[j - 1];
        }
        stack[j] = item;
    }
}

/* Finds the lowest pair that ties. `lowest` is a tied pair on entry. Returns false if it is not
 * decided. */
static bool find_lowest_pair(proof_search *t, double reach, uint32_t lowest[2]) {
    const pair_side *side = t->frame->side;
    pending_proof stack[PAIR_STACK];
    uint32_t used = 0, leaf[2];
    stack[used++] = root_pair(t->frame);
    while (used) {
        pending_proof next = stack[--used];
        uint32_t first[2];
        if (is_exhausted(t))
            return false;
        lowest_triangles(t, next.place, first);
        if (!is_lower_pair(first, lowest) || !boxes_may_tie(t, next.place))
            continue;
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        if (are_leaves(child, leaf)) {
            if (!test_leaf_pairs(t, leaf, reach, lowest))
                return false;
            continue;
        }
        int open = side_to_open(&next, child);
        uint32_t from = used;
        used = push_close_children(t, stack, used, next, open, child[open]);
        sort_by_lowest(t, stack, from, used);
    }
    return true;
}

/* Sets the cross directions, every 45 degrees. The distance of two tied triangles beyond the ends
 * is at most `reach`, of which at least best - tolerance is along the line. This bounds their
 * distance across it. */
static void set_cross_directions(proof_search *t, vec3 line, double reach) {
    const pair_side *side = t->frame->side;
    const double h = sqrt(0.5), proved = real_max(t->best - t->tolerance, 0);
    vec3 e = fabs(line.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0), u = v3_cross(line, e), v;
    vec3 between = v3_sub(pair_origin(&side[1]), pair_origin(&side[0]));
    u = v3_scale(u, 1 / v3_length(u));
    v = v3_cross(line, u);
    const vec3 direction[CROSS_DIRECTIONS] = {u, v, v3_scale(v3_add(u, v), h),
                                              v3_scale(v3_sub(u, v), h)};
    t->cross_tolerance = sqrt(reach - proved) * sqrt(reach + proved) + t->tolerance;
    t->end_tolerance = reach - proved + t->tolerance;
    for (int i = 0; i < CROSS_DIRECTIONS; i++) {
        t->shift[i] = v3_dot(direction[i], between);
        for (int k = 0; k < 2; k++)
            t->across[k][i] = pair_to_side(&side[k], direction[i]);
    }
}

bool abuti_pair_prove_closest(closest_proof *proof) {
    const pair_frame *frame = proof->frame;
    const closest_pair *closest = &proof->closest;
    proof_search t = {.frame = frame,
                      .slabs = proof->slabs,
                      .upper_sq = proof->upper_sq,
                      .best = closest->distance,
                      .tolerance = PROOF_ERRORS * frame->position_error,
                      .steps_max = proof->steps_max};
    vec3 line = v3_sub(closest->point_b, closest->point_a);
    const double reach = pair_tie_reach(t.best, frame->tie);
    if (!(v3_max_abs(line) > 0) || !(reach - t.best >= 4 * t.tolerance))
        return false;
    line = v3_normalise(line);
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &frame->side[k];
        vec3 direction = k ? v3_scale(line, -1) : line;
        vec3 end = v3_sub(k ? closest->point_b : closest->point_a, pair_origin(side));
        t.direction[k] = pair_to_side(side, direction);
        t.end[k] =
            v3_dot(direction, end) + 0.25 * t.tolerance; /* the other half is for rounding errors */
    }
    bool is_proved = prove_minimum(&t);
    if (is_proved) {
        set_cross_directions(&t, line, reach);
        is_proved = find_lowest_pair(&t, reach, proof->lowest);
    }
    proof->steps = t.steps;
    return is_proved;
}
