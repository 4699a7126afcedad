/* Proof of the least distance where many pairs of triangles have it.
 *
 * Two parts of surfaces are no nearer than their gap along any direction. Where two walls face each
 * other, or a rim lies over a plate, the gap along the line of the closest pair so far is all of
 * its distance; so it is along the normal of a wall. The proof goes down both hierarchies, as a
 * search does, but ends at two boxes whose corners lie beyond the ends of that line, those of each
 * side by themselves or both taken together, or whose walls are apart. Directions are such in
 * doubles, and reaches good to a few roundings, so that this holds for the distances of doubles but
 * for the doubt of a frame; half of it is left for those roundings.
 *
 * Then a second search finds the lowest pair that is equally near: by boxes that may hold it, in
 * the order of their lowest triangles, so that it ends soon after the first one found. Where all of
 * both surfaces lies beyond the ends of the line, two that are as near must overlap as seen along
 * it.
 */
#include "pair/closest_proof.h"

#include "pair/closest_queue.h"

#include <math.h>

enum {
    ACROSS = 4,        /* directions across the line */
    MEASURE_STEPS = 8, /* what it takes to measure two triangles */
};

/* Two boxes, and whether corners of each are known to lie beyond its end of the line. */
typedef struct pending_tie {
    float size[2];
    uint32_t place[2];
    bool beyond[2];
} pending_tie;

typedef struct tie_search {
    const pair_frame *frame;
    const pair_wall *const *walls;
    float upper_sq;
    double best, doubt;   /* of a proof */
    vec3 way[2];          /* the unit vector of the line towards the other side, along own axes */
    double end[2];        /* how far corners may reach along it, as positions of the mesh */
    double near_end;      /* how near to it two must reach that are equally near, where */
    bool whole;           /* all of both sides lies beyond the ends */
    double beside;        /* how far two that are equally near may then be apart across the line */
    double shift[ACROSS]; /* from side 0 to side 1 along each direction across it, */
    vec3 across[2][ACROSS]; /* which are these, along the axes of both */
    uint64_t steps, steps_most;
} tie_search;

static bool is_over(tie_search *t) {
    return ++t->steps > t->steps_most ||
           (t->steps % PAIR_STEPS == 0 && abuti_stop(t->frame->side[0].bvh->context, "pairs"));
}

/* ---- one side ---- */

/* How far corners at a place reach beyond the end of the line, at most; negative where they do not.
 */
static double past_end(const tie_search *t, int k, uint32_t place) {
    const abut_bvh *bvh = t->frame->side[k].bvh;
    double reach =
        real_min(pair_box_reach(bvh, place, t->way[k]), wall_reach(&t->walls[k][place], t->way[k]));
    return (v3_dot(t->way[k], pair_middle(bvh, place)) + reach) / bvh->scale - t->end[k];
}

/* The same of a triangle. */
static double triangle_past_end(const tie_search *t, int k, uint32_t triangle) {
    return pair_triangle_reach(t->frame->side[k].bvh->mesh, triangle, t->way[k]) - t->end[k];
}

static bool leaf_beyond(const tie_search *t, int k, uint32_t leaf) {
    const abut_bvh *bvh = t->frame->side[k].bvh;
    uint32_t fill = bvh_leaf_fill(bvh, leaf);
    bool beyond = true;
    for (uint32_t i = 0; i < fill; i++)
        beyond = beyond && triangle_past_end(t, k, bvh->order[(size_t)leaf * BVH_WIDTH + i]) <= 0;
    return beyond;
}

/* Whether all corners at a place lie beyond the end of the line. */
static bool is_beyond_end(tie_search *t, int k, uint32_t place) {
    const abut_bvh *bvh = t->frame->side[k].bvh;
    uint32_t stack[3 * BVH_DEPTH + 4], used = 0;
    stack[used++] = place;
    while (used) {
        uint32_t next = stack[--used], child = pair_child(&t->frame->side[k], next);
        if (is_over(t))
            return false;
        if (next != PAIR_ROOT && past_end(t, k, next) <= 0)
            continue;
        if (child & BVH_LEAF) {
            if (!leaf_beyond(t, k, child & ~BVH_LEAF))
                return false;
            continue;
        }
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (bvh->nodes[child].child[slot] != ABUT_NONE)
                stack[used++] = child * BVH_WIDTH + slot;
    }
    return true;
}

/* ---- both ---- */

/* A direction of a side along the axes of the world. */
static vec3 to_world(const pair_side *side, vec3 n) {
    return side->motion.rotates ? m3_apply(&side->motion.rotation, n) : n;
}

/* The middle of a box in the world. */
static vec3 world_middle(const pair_side *side, uint32_t place) {
    vec3 own = v3_scale(pair_middle(side->bvh, place), 1 / side->bvh->scale);
    return abuti_motion_apply(&side->motion, v3_add(side->bvh->mesh->origin, own));
}

/* Whether two walls are as far apart as the closest pair along the normal of one of them. */
static bool walls_apart(const tie_search *t, const uint32_t place[2]) {
    const pair_side *side = t->frame->side;
    vec3 between = v3_sub(world_middle(&side[1], place[1]), world_middle(&side[0], place[0]));
    for (int k = 0; k < 2; k++) {
        const pair_wall *wall = &t->walls[k][place[k]];
        vec3 n = to_world(&side[k], v3(wall->m[0], wall->m[1], wall->m[2]));
        double gap = v3_dot(n, between);
        n = gap < 0 ? v3_scale(n, -1) : n;
        gap = fabs(gap);
        for (int j = 0; j < 2; j++) {
            vec3 own = pair_to_side(&side[j], j ? v3_scale(n, -1) : n);
            gap -= wall_reach(&t->walls[j][place[j]], own) / side[j].bvh->scale;
        }
        if (gap >= t->best - 0.5 * t->doubt)
            return true;
    }
    return false;
}

/* Puts the children on the stack of which boxes may have a pair as near. */
static uint32_t push_children(const tie_search *t, pending_tie *stack, uint32_t used,
                              pending_tie next, int open, uint32_t child) {
    const pair_side *side = &t->frame->side[open];
    const bvh_node *node = &side->bvh->nodes[child];
    pair_box box = pair_box_at(&t->frame->side[!open], next.place[!open]);
    pair_view view = pair_view_of(side, &box, t->frame->pad);
    f4 offset[3], half[3], all = boxes_lower_sq(side, &view, node, t->frame->pad, offset, half);
    unsigned near = m4_bits(f4_less_equal(all, f4_all(t->upper_sq)));
    float size[4];
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2]));
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (near >> slot & 1 && node->child[slot] != ABUT_NONE) {
            stack[used] = next;
            stack[used].size[open] = size[slot];
            stack[used++].place[open] = child * BVH_WIDTH + slot;
        }
    return used;
}

/* In doubles, as searches measure. */
static double distance_of(tie_search *t, const abut_triangle *a, const abut_triangle *b) {
    abut_feature features[2];
    t->steps += MEASURE_STEPS;
    return triangle_triangle_closest_features(*a, *b, features).distance;
}

/* Whether some triangles of two leaves are nearer than the best by more than the doubt. */
static bool leaves_nearer(tie_search *t, const uint32_t leaf[2]) {
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
                !pair_faces_beyond(a, b, t->best - 0.5 * t->doubt) &&
                distance_of(t, a, b) < t->best - t->doubt)
                return true;
        }
    return false;
}

static pending_tie roots_of(const pair_frame *frame) {
    pending_tie root = {{0, 0}, {PAIR_ROOT, PAIR_ROOT}, {false, false}};
    for (int k = 0; k < 2; k++)
        root.size[k] = pair_box_at(&frame->side[k], PAIR_ROOT).size;
    return root;
}

/* The leaves at two places, where both are such. */
static bool leaves_at(const uint32_t child[2], uint32_t leaf[2]) {
    for (int k = 0; k < 2; k++)
        leaf[k] = child[k] & ~BVH_LEAF;
    return child[0] & BVH_LEAF && child[1] & BVH_LEAF;
}

static int larger_of(const pending_tie *next, const uint32_t child[2]) {
    return child[0] & BVH_LEAF || (!(child[1] & BVH_LEAF) && next->size[1] > next->size[0]);
}

/* Whether no pair is nearer than the best but for the doubt. */
static bool prove(tie_search *t) {
    const pair_side *side = t->frame->side;
    pending_tie stack[PAIR_STACK];
    uint32_t used = 0, leaf[2];
    stack[used++] = roots_of(t->frame);
    while (used) {
        pending_tie next = stack[--used];
        if (is_over(t))
            return false;
        for (int k = 0; k < 2; k++)
            next.beyond[k] = next.beyond[k] || is_beyond_end(t, k, next.place[k]);
        if (next.beyond[0] && next.beyond[1]) {
            t->whole = next.place[0] == PAIR_ROOT && next.place[1] == PAIR_ROOT;
            continue;
        }
        if (next.place[0] != PAIR_ROOT && next.place[1] != PAIR_ROOT &&
            (past_end(t, 0, next.place[0]) + past_end(t, 1, next.place[1]) <= 0 ||
             walls_apart(t, next.place)))
            continue;
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        if (!leaves_at(child, leaf)) {
            int open = larger_of(&next, child);
            used = push_children(t, stack, used, next, open, child[open]);
            continue;
        }
        if (leaves_nearer(t, leaf))
            return false;
    }
    return true;
}

/* ---- the lowest ---- */

/* The lowest triangles at two places. */
static void lowest_at(const tie_search *t, const uint32_t place[2], uint32_t lowest[2]) {
    for (int k = 0; k < 2; k++)
        lowest[k] = place[k] == PAIR_ROOT ? 0 : t->walls[k][place[k]].first;
}

/* Whether two boxes may reach the ends of the line, and overlap as seen along it. */
static bool may_overlap(const tie_search *t, const uint32_t place[2]) {
    const abut_bvh *bvh[2] = {t->frame->side[0].bvh, t->frame->side[1].bvh};
    if (place[0] == PAIR_ROOT || place[1] == PAIR_ROOT || !t->whole)
        return true;
    for (int k = 0; k < 2; k++)
        if (past_end(t, k, place[k]) < -t->near_end)
            return false;
    vec3 middle[2] = {pair_middle(bvh[0], place[0]), pair_middle(bvh[1], place[1])};
    for (int i = 0; i < ACROSS; i++) {
        double at[2], reach[2];
        for (int k = 0; k < 2; k++) {
            at[k] = v3_dot(t->across[k][i], middle[k]) / bvh[k]->scale;
            reach[k] = pair_box_reach(bvh[k], place[k], t->across[k][i]) / bvh[k]->scale;
        }
        if (fabs(at[1] - at[0] + t->shift[i]) > reach[0] + reach[1] + t->beside)
            return false;
    }
    return true;
}

/* The same for two triangles. */
static bool may_overlap_at(const tie_search *t, const uint32_t which[2]) {
    if (!t->whole)
        return true;
    for (int i = 0; i < ACROSS; i++) {
        double at[2][3];
        for (int k = 0; k < 2; k++) {
            const abut_mesh *mesh = t->frame->side[k].bvh->mesh;
            const uint32_t *corner = mesh->indices + 3 * (size_t)which[k];
            for (int j = 0; j < 3; j++)
                at[k][j] =
                    v3_dot(t->across[k][i], mesh->positions[corner[j]]) + (k ? t->shift[i] : 0);
        }
        if (gap_of(at[0], at[1]) > t->beside)
            return false;
    }
    return true;
}

/* Looks at the pairs of two leaves. False where one may be as near or not, by the doubt. */
static bool look_at_leaves(tie_search *t, const uint32_t leaf[2], double reach,
                           uint32_t lowest[2]) {
    uint32_t list[2][BVH_WIDTH], count[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        const abut_bvh *bvh = t->frame->side[k].bvh;
        uint32_t fill = bvh_leaf_fill(bvh, leaf[k]);
        for (uint32_t i = 0; i < fill; i++) {
            uint32_t triangle = bvh->order[(size_t)leaf[k] * BVH_WIDTH + i];
            if (!t->whole || triangle_past_end(t, k, triangle) >= -t->near_end)
                list[k][count[k]++] = triangle;
        }
    }
    for (uint32_t i = 0; i < count[0] * count[1]; i++) {
        const uint32_t pair[2] = {list[0][i / count[1]], list[1][i % count[1]]};
        t->steps++;
        if (!is_lower(pair, lowest) || !may_overlap_at(t, pair))
            continue;
        abut_triangle at_a = pair_triangle(&t->frame->side[0], pair[0]);
        abut_triangle at_b = pair_triangle(&t->frame->side[1], pair[1]);
        double distance = distance_of(t, &at_a, &at_b);
        if (distance <= reach - t->doubt) {
            memcpy(lowest, pair, sizeof pair);
        } else if (distance <= reach) {
            return false;
        }
    }
    return true;
}

/* Sorts places by their lowest triangles, the lowest pair last. */
static void sort_from(const tie_search *t, pending_tie *stack, uint32_t first, uint32_t used) {
    for (uint32_t i = first + 1; i < used; i++) {
        pending_tie item = stack[i];
        uint32_t own[2], before[2], j = i;
        lowest_at(t, item.place, own);
        for (; j > first; j--) {
            lowest_at(t, stack[j - 1].place, before);
            if (!is_lower(before, own))
                break;
            stack[j] = stack[j - 1];
        }
        stack[j] = item;
    }
}

/* The lowest pair that is equally near; it begins with one that is. */
static bool find_lowest(tie_search *t, double reach, uint32_t lowest[2]) {
    const pair_side *side = t->frame->side;
    pending_tie stack[PAIR_STACK];
    uint32_t used = 0, leaf[2];
    stack[used++] = roots_of(t->frame);
    while (used) {
        pending_tie next = stack[--used];
        uint32_t first[2];
        if (is_over(t))
            return false;
        lowest_at(t, next.place, first);
        if (!is_lower(first, lowest) || !may_overlap(t, next.place))
            continue;
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        if (leaves_at(child, leaf)) {
            if (!look_at_leaves(t, leaf, reach, lowest))
                return false;
            continue;
        }
        int open = larger_of(&next, child);
        uint32_t from = used;
        used = push_children(t, stack, used, next, open, child[open]);
        sort_from(t, stack, from, used);
    }
    return true;
}

/* Directions across the line: every 45 degrees. Two triangles beyond its ends that are equally
 * near, up to `reach`, are apart across it by no more than what is left of that. */
static void set_across(tie_search *t, vec3 line, double reach) {
    const pair_side *side = t->frame->side;
    const double h = sqrt(0.5), proved = real_max(t->best - t->doubt, 0);
    vec3 e = fabs(line.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0), u = v3_cross(line, e), v;
    vec3 between = v3_sub(pair_origin(&side[1]), pair_origin(&side[0]));
    u = v3_scale(u, 1 / v3_length(u));
    v = v3_cross(line, u);
    const vec3 way[ACROSS] = {u, v, v3_scale(v3_add(u, v), h), v3_scale(v3_sub(u, v), h)};
    t->beside = sqrt(reach - proved) * sqrt(reach + proved) + t->doubt;
    t->near_end = reach - proved + t->doubt;
    for (int i = 0; i < ACROSS; i++) {
        t->shift[i] = v3_dot(way[i], between);
        for (int k = 0; k < 2; k++)
            t->across[k][i] = pair_to_side(&side[k], way[i]);
    }
}

bool abuti_pair_tied(pair_tie *tie) {
    const pair_frame *frame = tie->frame;
    const closest_pair *closest = &tie->closest;
    tie_search t = {.frame = frame,
                    .walls = tie->walls,
                    .upper_sq = tie->upper_sq,
                    .best = closest->distance,
                    .doubt = PROOF_DOUBTS * frame->doubt,
                    .steps_most = tie->steps_most};
    vec3 line = v3_sub(closest->point_b, closest->point_a);
    const double reach = pair_tie_reach(t.best, frame->tie);
    if (!(v3_max_abs(line) > 0) || !(reach - t.best >= 4 * t.doubt))
        return false;
    line = v3_normalise(line);
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &frame->side[k];
        vec3 way = k ? v3_scale(line, -1) : line;
        vec3 end = v3_sub(k ? closest->point_b : closest->point_a, pair_origin(side));
        t.way[k] = pair_to_side(side, way);
        t.end[k] = v3_dot(way, end) + 0.25 * t.doubt; /* the rest is for rounding */
    }
    bool tied = prove(&t);
    if (tied) {
        set_across(&t, line, reach);
        tied = find_lowest(&t, reach, tie->lowest);
    }
    tie->steps = t.steps;
    return tied;
}
