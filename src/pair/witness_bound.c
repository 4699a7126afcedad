#include "pair/witness_bound.h"

#include <math.h>

/* 32 u: what shadows of discs may err by, see children_past() */
#define LINE_SLACK 0x1p-19

_Static_assert(LINE_MEMORY == 1 << 8, "find_reach() takes the highest eight bits");

/* ---- one side ---- */

/* How far the children of a node reach past the end, at most: by their boxes and discs in floats.
 *
 * With coordinates up to 2 the middle of a box is off by 4u along any way, products and sums with
 * it by 14u more, and the last sum by 7u: 25u. The shadow of a disc is off by 14u of s and t, since
 * cosines are (disc_bounds.h), by 4u of r, and by 6u of all three for products and sums; that of a
 * box by 5u of itself, which is no more than sqrt(3) of all three. */
static void children_past(const pair_line *line, int k, uint32_t node, double past[BVH_WIDTH]) {
    const abut_bvh *bvh = line->frame->side[k].bvh;
    const bvh_node *boxes = &bvh->nodes[node];
    const pair_disc *disc = &line->discs[k][node];
    const float way[3] = {(float)line->way[k].x, (float)line->way[k].y, (float)line->way[k].z};
    f4 zero = f4_all(0), half = f4_all(0.5f), at = zero, box = zero, cosine = zero;
    for (int i = 0; i < 3; i++) {
        f4 lo = f4_load(boxes->lo[i]), hi = f4_load(boxes->hi[i]), n = f4_all(way[i]);
        at = f4_add(at, f4_mul(f4_mul(f4_add(lo, hi), half), n));
        box = f4_add(box, f4_mul(f4_mul(f4_sub(hi, lo), half), f4_abs(n)));
        cosine = f4_add(cosine, f4_mul(f4_load(disc->m[i]), n));
    }
    f4 s = f4_load(disc->s), t = f4_load(disc->t), r = f4_load(disc->r);
    f4 reach =
        f4_add(f4_mul(s, cosine), f4_add(f4_mul(f4_abs(cosine), t), f4_mul(sine_of(cosine), r)));
    f4 size = f4_add(f4_abs(s), f4_add(t, r));
    f4 slack = f4_mul(f4_add(f4_all(1), size), f4_all((float)LINE_SLACK));
    float most[BVH_WIDTH];
    f4_store(most, f4_add(f4_add(at, f4_min(reach, box)), slack));
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        past[i] = boxes->child[i] == ABUT_NONE ? -INFINITY : most[i] / bvh->scale - line->end[k];
}

/* Of the triangles of a leaf, in doubles. */
static double leaf_past(const pair_line *line, int k, uint32_t leaf) {
    const abut_bvh *bvh = line->frame->side[k].bvh;
    const uint32_t *order = bvh->order + (size_t)leaf * BVH_WIDTH;
    uint32_t fill = bvh_leaf_fill(bvh, leaf);
    double past = -INFINITY;
    for (uint32_t i = 0; i < fill; i++)
        past = real_max(past, pair_triangle_reach(bvh->mesh, order[i], line->way[k]));
    return past - line->end[k];
}

/* What is known of how far a place reaches, so well that it tells whether that is beyond a limit.
 * It begins with what is known already. */
static line_reach find_reach(pair_line *line, int k, uint32_t place, double most, double limit) {
    line_reach *kept = &line->memory[k][(place * 0x9e3779b9u) >> 24];
    line_reach reach = {most, -INFINITY, place, line->age};
    if (kept->age == line->age && kept->place == place)
        reach = *kept;
    if (reach.most <= limit || reach.least > limit)
        return reach;
    uint32_t child = pair_child(&line->frame->side[k], place);
    if (child & BVH_LEAF) {
        reach.most = reach.least = leaf_past(line, k, child & ~BVH_LEAF);
        return *kept = reach;
    }
    double past[BVH_WIDTH], below = -INFINITY;
    children_past(line, k, child, past);
    for (;;) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < BVH_WIDTH; i++)
            next = past[i] > past[next] ? i : next;
        if (past[next] <= limit) {
            reach.most = real_max(below, past[next]);
            return *kept = reach;
        }
        line_reach one = find_reach(line, k, child * BVH_WIDTH + next, past[next], limit);
        reach.least = real_max(reach.least, one.least);
        if (one.most > limit)
            return *kept = reach;
        below = real_max(below, one.most);
        past[next] = -INFINITY;
    }
}

static double place_past(const pair_line *line, int k, uint32_t place) {
    double past[BVH_WIDTH];
    children_past(line, k, place / BVH_WIDTH, past);
    return past[place % BVH_WIDTH];
}

/* ---- both ---- */

/* The middle of a box, as positions of the mesh. */
static vec3 middle_of(const abut_bvh *bvh, uint32_t place) {
    return v3_scale(pair_middle(bvh, place), 1 / bvh->scale);
}

/* How far triangles reach from there along a unit vector across the line. */
static double reach_along(const pair_line *line, int k, uint32_t place, vec3 n) {
    const abut_bvh *bvh = line->frame->side[k].bvh;
    const pair_disc *disc = &line->discs[k][place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    double s = disc->s[slot], t = disc->t[slot], r = disc->r[slot];
    double cosine = n.x * disc->m[0][slot] + n.y * disc->m[1][slot] + n.z * disc->m[2][slot];
    double reach =
        s * cosine + fabs(cosine) * t + sqrt(real_max(1 + LINE_SLACK - cosine * cosine, 0)) * r;
    reach += LINE_SLACK * (fabs(s) + t + r);
    return real_min(pair_box_reach(bvh, place, n), reach) / bvh->scale;
}

/* How far apart two places are across the line, as their middles are. */
static double gap_beside(const pair_line *line, const uint32_t place[2]) {
    const abut_bvh *bvh[2] = {line->frame->side[0].bvh, line->frame->side[1].bvh};
    vec3 to = v3_add(m3_apply(&line->turn, middle_of(bvh[1], place[1])), line->shift);
    vec3 between = v3_sub(to, middle_of(bvh[0], place[0]));
    vec3 across = v3_sub(between, v3_scale(line->way[0], v3_dot(line->way[0], between)));
    /* A smaller remainder may be rounding error, which has any direction, even along the line. */
    if (!(v3_max_abs(across) > 0x1p-16 * v3_max_abs(between)))
        return 0;
    across = v3_normalise(across); /* whose squares may underflow */
    double length = v3_dot(across, between);
    mat3 back = m3_transpose(&line->turn);
    vec3 other = v3_scale(m3_apply(&back, across), -1);
    return length - reach_along(line, 0, place[0], across) - reach_along(line, 1, place[1], other) -
           line->frame->doubt;
}

bool abuti_pair_line_beyond(pair_line *line, const uint32_t place[2], double most) {
    double beside = gap_beside(line, place), least = most, past[2];
    if (beside > most)
        return true;
    if (beside > 0)
        least = sqrt(most - beside) * sqrt(most + beside);
    double allowed = line->length - least;
    for (int k = 0; k < 2; k++)
        past[k] = place_past(line, k, place[k]);
    for (int k = 0; k < 2 && past[0] + past[1] > allowed; k++)
        past[k] =
            find_reach(line, k, place[k], past[k], real_max(0.5 * allowed, allowed - past[!k]))
                .most;
    return past[0] + past[1] <= allowed;
}

/* Places are off by 4u of the way and 16u of the leaves, and distances by 64u of both: as those of
 * abuti_pair_bounds() by 32u of more than twice the largest coordinate. */
#define CORNERS_MARGIN 0x1p-17f
/* Lengths below sqrt(TINY) are none to triangles_sq(). */
#define CORNERS_MIN 0x1p-47f

float abuti_pair_line_corners(const pair_line *line, const uint32_t place[2], wide3 a[3],
                              wide3 b[3]) {
    const pair_frame *frame = line->frame;
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
        pair_steps(side, place[k], k ? b : a);
    }
    vec3 middle = middle_of(frame->side[0].bvh, place[0]);
    from[1] = v3_add(m3_apply(&line->turn, from[1]), line->shift);
    for (int k = 0; k < 2; k++) {
        vec3 at = v3_scale(v3_sub(from[k], middle), frame->scale);
        wide3 base = all3((float)at.x, (float)at.y, (float)at.z);
        for (int j = 0; j < 3; j++)
            if (k)
                b[j] = pair_turn_from(&frame->side[0], b[j], base);
            else
                a[j] = add3(a[j], base);
        sum += (float)(fabs(at.x) + fabs(at.y) + fabs(at.z));
    }
    return CORNERS_MARGIN * sum + (float)(2 * frame->doubt * frame->scale) + CORNERS_MIN;
}

/* ---- the line ---- */

void abuti_pair_line_change(pair_line *line, const closest_pair *closest) {
    vec3 way = v3_normalise(v3_sub(closest->point_b, closest->point_a));
    line->length = closest->distance;
    line->age++;
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &line->frame->side[k];
        vec3 end = v3_sub(k ? closest->point_b : closest->point_a, pair_origin(side));
        line->way[k] = pair_to_side(side, way);
        line->end[k] = v3_dot(way, end);
        way = v3_scale(way, -1);
    }
}

void abuti_pair_line_start(pair_line *line, const pair_frame *frame,
                           const pair_disc *const discs[2], const closest_pair *closest) {
    const pair_side *side = frame->side;
    line->frame = frame;
    memcpy(line->discs, discs, sizeof line->discs);
    line->age = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < LINE_MEMORY; i++)
            line->memory[k][i].age = 0;
    mat3 back = m3_transpose(&side[0].motion.rotation);
    line->turn = m3_multiply(&back, &side[1].motion.rotation);
    line->shift = pair_to_side(&side[0], v3_sub(pair_origin(&side[1]), pair_origin(&side[0])));
    abuti_pair_line_change(line, closest);
}
