#include "pair/witness_bound.h"

#include <math.h>

_Static_assert(WITNESS_CACHE_SIZE == 1 << 8, "decide_reach() uses the highest eight bits");

/* ---- one side ---- */

/* The centre of a box relative to the local origin of the mesh. */
static vec3 box_centre_in_mesh(const abut_bvh *bvh, uint32_t place) {
    return v3_scale(pair_box_centre(bvh, place), 1 / bvh->scale);
}

/* How far triangles at a place extend from the centre of its box along a unit vector, by its box
 * and slab. */
static double half_extent_along(const witness_bound *witness, int k, uint32_t place, vec3 n) {
    const abut_bvh *bvh = witness->frame->side[k].bvh;
    double reach =
        real_min(pair_box_reach(bvh, place, n), slab_reach(&witness->slabs[k][place], n));
    return reach / bvh->scale;
}

/* An upper bound of how far a place extends past the end. */
static double place_past_end(const witness_bound *witness, int k, uint32_t place) {
    const vec3 n = witness->direction[k];
    return v3_dot(n, box_centre_in_mesh(witness->frame->side[k].bvh, place)) +
           half_extent_along(witness, k, place, n) - witness->end[k];
}

/* Writes these bounds for the children of a node. */
static void project_children(const witness_bound *witness, int k, uint32_t node,
                             double past[BVH_WIDTH]) {
    const bvh_node *boxes = &witness->frame->side[k].bvh->nodes[node];
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        past[i] = boxes->child[i] == ABUT_NONE ? -INFINITY
                                               : place_past_end(witness, k, node * BVH_WIDTH + i);
}

/* The same for the triangles of a leaf. */
static double leaf_past_end(const witness_bound *witness, int k, uint32_t leaf) {
    const abut_bvh *bvh = witness->frame->side[k].bvh;
    const uint32_t *order = bvh->order + (size_t)leaf * BVH_WIDTH;
    uint32_t fill = bvh_leaf_fill(bvh, leaf);
    double past = -INFINITY;
    for (uint32_t i = 0; i < fill; i++)
        past = real_max(past, pair_triangle_reach(bvh->mesh, order[i], witness->direction[k]));
    return past - witness->end[k];
}

/* Tightens the bounds of a place until they decide whether it extends past the end by more than
 * `limit`. Starts with cached bounds. */
static witness_reach decide_reach(witness_bound *witness, int k, uint32_t place, double upper,
                                  double limit) {
    witness_reach *cached = &witness->cache[k][(place * 0x9e3779b9u) >> 24];
    witness_reach reach = {upper, -INFINITY, place, witness->generation};
    if (cached->generation == witness->generation && cached->place == place)
        reach = *cached;
    if (reach.upper <= limit || reach.lower > limit)
        return reach;
    uint32_t child = pair_child(&witness->frame->side[k], place);
    if (child & BVH_LEAF) {
        reach.upper = reach.lower = leaf_past_end(witness, k, child & ~BVH_LEAF);
        return *cached = reach;
    }
    double past[BVH_WIDTH], below = -INFINITY;
    project_children(witness, k, child, past);
    for (;;) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < BVH_WIDTH; i++)
            next = past[i] > past[next] ? i : next;
        if (past[next] <= limit) {
            reach.upper = real_max(below, past[next]);
            return *cached = reach;
        }
        witness_reach one = decide_reach(witness, k, child * BVH_WIDTH + next, past[next], limit);
        reach.lower = real_max(reach.lower, one.lower);
        if (one.upper > limit)
            return *cached = reach;
        below = real_max(below, one.upper);
        past[next] = -INFINITY;
    }
}

/* ---- both sides ---- */

/* Whether two slabs are further apart than `upper` along the normal of one of them. */
static bool slabs_are_apart(const witness_bound *witness, const uint32_t place[2], vec3 between,
                            double upper) {
    for (int k = 0; k < 2; k++) {
        const pair_slab *slab = &witness->slabs[k][place[k]];
        vec3 n = v3(slab->m[0], slab->m[1], slab->m[2]);
        n = k ? m3_apply(&witness->rotation, n) : n;
        n = v3_dot(n, between) < 0 ? v3_scale(n, -1) : n;
        const vec3 own[2] = {n, v3_scale(m3_apply(&witness->inverse, n), -1)};
        double gap = v3_dot(n, between);
        for (int j = 0; j < 2; j++)
            gap -= slab_reach(&witness->slabs[j][place[j]], own[j]) /
                   witness->frame->side[j].bvh->scale;
        if (gap >= upper)
            return true;
    }
    return false;
}

/* The gap of two places across the line, along the direction between their centres. */
static double gap_across(const witness_bound *witness, const uint32_t place[2], vec3 between) {
    const vec3 line = witness->direction[0];
    vec3 across = v3_sub(between, v3_scale(line, v3_dot(line, between)));
    /* A smaller remainder may be a rounding error of any direction, even along the line. */
    if (!(v3_max_abs(across) > 0x1p-16 * v3_max_abs(between)))
        return 0;
    across = v3_normalise(across); /* squares may underflow */
    return v3_dot(across, between) - witness->frame->position_error -
           half_extent_along(witness, 0, place[0], across) -
           half_extent_along(witness, 1, place[1],
                             v3_scale(m3_apply(&witness->inverse, across), -1));
}

bool abuti_witness_bound_excludes(witness_bound *witness, const uint32_t place[2], double upper,
                                  bool descend) {
    const abut_bvh *bvh[2] = {witness->frame->side[0].bvh, witness->frame->side[1].bvh};
    const bool has_root = place[0] == PAIR_ROOT || place[1] == PAIR_ROOT;
    double along = upper, past[2] = {witness->past[0], witness->past[1]};
    vec3 between = v3(0, 0, 0);
    if (past[0] + past[1] <= witness->length - upper)
        return true;
    if (!has_root) {
        vec3 to = v3_add(m3_apply(&witness->rotation, box_centre_in_mesh(bvh[1], place[1])),
                         witness->shift);
        between = v3_sub(to, box_centre_in_mesh(bvh[0], place[0]));
        double gap = gap_across(witness, place, between);
        if (gap > upper)
            return true;
        if (gap > 0)
            along = sqrt(upper - gap) * sqrt(upper + gap);
    }
    const double allowed = witness->length - along;
    for (int k = 0; k < 2; k++)
        if (place[k] != PAIR_ROOT)
            past[k] = real_min(past[k], place_past_end(witness, k, place[k]));
    if (has_root || !descend)
        return past[0] + past[1] <= allowed;
    for (int k = 0; k < 2 && past[0] + past[1] > allowed; k++)
        past[k] =
            decide_reach(witness, k, place[k], past[k], real_max(0.5 * allowed, allowed - past[!k]))
                .upper;
    return past[0] + past[1] <= allowed || slabs_are_apart(witness, place, between, upper);
}

/* Positions have errors of 4u of the direction and 16u of the leaves, and distances 64u of both: as
 * in abuti_pair_bounds() 32u of more than twice the largest coordinate. */
#define CORNERS_ERROR 0x1p-17f
/* triangle_distance_sq() treats lengths below sqrt(TINY) as 0. */
#define CORNERS_ERROR_MIN 0x1p-47f

float abuti_witness_bound_corners(const witness_bound *witness, const uint32_t place[2], wide3 a[3],
                                  wide3 b[3]) {
    const pair_frame *frame = witness->frame;
    vec3 from[2];
    float sum = 0;
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &frame->side[k];
        const bvh_node *node = &side->bvh->nodes[place[k] / BVH_WIDTH];
        uint32_t slot = place[k] % BVH_WIDTH;
        from[k] = v3_scale(v3(node->lo[0][slot], node->lo[1][slot], node->lo[2][slot]),
                           1 / side->bvh->scale);
        for (int axis = 0; axis < 3; axis++)
            sum += (node->hi[axis][slot] - node->lo[axis][slot]) * side->unit;
        pair_quantised_corners(side, place[k], k ? b : a);
    }
    vec3 centre = box_centre_in_mesh(frame->side[0].bvh, place[0]);
    from[1] = v3_add(m3_apply(&witness->rotation, from[1]), witness->shift);
    for (int k = 0; k < 2; k++) {
        vec3 at = v3_scale(v3_sub(from[k], centre), frame->scale);
        wide3 base = broadcast3((float)at.x, (float)at.y, (float)at.z);
        for (int j = 0; j < 3; j++)
            if (k)
                b[j] = pair_transform_from(&frame->side[0], b[j], base);
            else
                a[j] = add3(a[j], base);
        sum += (float)(fabs(at.x) + fabs(at.y) + fabs(at.z));
    }
    return CORNERS_ERROR * sum + (float)(2 * frame->position_error * frame->scale) +
           CORNERS_ERROR_MIN;
}

/* ---- the closest pair ---- */

/* Tests whether each surface is entirely beyond its end, up to rounding errors. */
static void test_surfaces(witness_bound *witness) {
    const double limit = 0.5 * witness->frame->position_error;
    for (int k = 0; k < 2; k++) {
        double children[BVH_WIDTH], past = -INFINITY;
        project_children(witness, k, 0, children);
        for (uint32_t i = 0; i < BVH_WIDTH && past <= limit; i++)
            past = real_max(past, decide_reach(witness, k, i, children[i], limit).upper);
        witness->past[k] = past <= limit ? past : INFINITY;
    }
}

void abuti_witness_bound_update(witness_bound *witness, const closest_pair *closest) {
    vec3 direction = v3_normalise(v3_sub(closest->point_b, closest->point_a));
    witness->length = closest->distance;
    witness->generation++;
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &witness->frame->side[k];
        vec3 end = v3_sub(k ? closest->point_b : closest->point_a, pair_origin(side));
        witness->direction[k] = pair_to_side(side, direction);
        witness->end[k] = v3_dot(direction, end);
        direction = v3_scale(direction, -1);
    }
    test_surfaces(witness);
}

void abuti_witness_bound_start(witness_bound *witness, const pair_frame *frame,
                               const pair_slabs *const slabs[2], const closest_pair *closest) {
    const pair_side *side = frame->side;
    witness->frame = frame;
    witness->generation = 0;
    for (int k = 0; k < 2; k++) {
        witness->slabs[k] = slabs[k]->slabs;
        for (uint32_t i = 0; i < WITNESS_CACHE_SIZE; i++)
            witness->cache[k][i].generation = 0;
    }
    mat3 back = m3_transpose(&side[0].motion.rotation);
    witness->rotation = m3_multiply(&back, &side[1].motion.rotation);
    witness->inverse = m3_transpose(&witness->rotation);
    witness->shift = pair_to_side(&side[0], v3_sub(pair_origin(&side[1]), pair_origin(&side[0])));
    abuti_witness_bound_update(witness, closest);
}
