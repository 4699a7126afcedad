/* Discs are made of the blocks: first mean normals, from the leaves up, then each leaf is shown to
 * all discs above it. That takes about as long as fitting boxes, a hundred searches, or one of
 * those that need them most; so they are made when that much has been spent without. */
#include "pair/disc_bounds.h"

#include <math.h>

/* Steps of searches for a leaf, beyond which discs are made. */
#define STEPS_A_LEAF 1
/* Normals that add up to less of their area than this are no direction. */
#define NORMAL_MIN 0.25f
/* 16 roundings: what t and r may err by, of coordinates up to 2. */
#define DISC_SLACK 0x1p-20f

typedef struct discs_part {
    bvh_part part;
    pair_disc *list;
} discs_part;

/* A disc that is being made: where, and how far corners reach along its normal and from it. */
typedef struct disc_level {
    float centre[3], m[3], reach_sq, step;
    f4 lo, hi, far_sq;
} disc_level;

typedef struct disc_maker {
    pair_side side; /* the hierarchy by itself */
    pair_disc *list;
    disc_level level[BVH_DEPTH + 1];
} disc_maker;

/* ---- normals ---- */

/* Of a leaf: the sum of its normals, and of their lengths. */
static void sum_leaf(const pair_side *side, uint32_t place, float sum[4]) {
    wide3 corner[3];
    float lane[4][4];
    pair_corners(side, place, corner);
    wide3 n = cross3(sub3(corner[1], corner[0]), sub3(corner[2], corner[0]));
    f4_store(lane[0], n.x);
    f4_store(lane[1], n.y);
    f4_store(lane[2], n.z);
    f4_store(lane[3], length3(n));
    for (int k = 0; k < 4; k++)
        sum[k] = lane[k][0] + lane[k][1] + lane[k][2] + lane[k][3];
}

/* Sums of normals as m and of areas as t, of all slots; children stand behind their parents. */
static void sum_normals(const disc_maker *maker) {
    const abut_bvh *bvh = maker->side.bvh;
    for (uint32_t node = bvh->node_count; node-- > 0;)
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            uint32_t child = bvh->nodes[node].child[slot];
            float sum[4] = {0, 0, 0, 0};
            if (child == ABUT_NONE)
                continue;
            if (child & BVH_LEAF) {
                sum_leaf(&maker->side, node * BVH_WIDTH + slot, sum);
            } else {
                const pair_disc *below = &maker->list[child];
                for (uint32_t i = 0; i < BVH_WIDTH; i++)
                    if (bvh->nodes[child].child[i] != ABUT_NONE) {
                        for (int axis = 0; axis < 3; axis++)
                            sum[axis] += below->m[axis][i];
                        sum[3] += below->t[i];
                    }
            }
            for (int axis = 0; axis < 3; axis++)
                maker->list[node].m[axis][slot] = sum[axis];
            maker->list[node].t[slot] = sum[3];
        }
}

/* ---- discs ---- */

/* Begins the disc of a slot: along its mean normal, or across its box where that has none. */
static void level_open(disc_maker *maker, disc_level *level, uint32_t node, uint32_t slot) {
    const bvh_node *boxes = &maker->side.bvh->nodes[node];
    const pair_disc *disc = &maker->list[node];
    float length_sq = 0, half[3];
    int thin = 0;
    level->reach_sq = level->step = 0;
    for (int axis = 0; axis < 3; axis++) {
        float lo = boxes->lo[axis][slot], hi = boxes->hi[axis][slot];
        level->centre[axis] = (lo + hi) * 0.5f;
        half[axis] = (hi - lo) * 0.5f;
        thin = half[axis] < half[thin] ? axis : thin;
        level->reach_sq += half[axis] * half[axis];
        length_sq += disc->m[axis][slot] * disc->m[axis][slot];
    }
    float length = sqrtf(length_sq);
    bool flat = length_sq > FLT_MIN && length >= NORMAL_MIN * disc->t[slot];
    for (int axis = 0; axis < 3; axis++)
        level->m[axis] = flat ? disc->m[axis][slot] / length : axis == thin;
    level->lo = f4_all(INFINITY);
    level->hi = f4_all(-INFINITY);
    level->far_sq = f4_all(0);
}

static void level_add(disc_level *level, const wide3 corner[3], float step) {
    wide3 centre = all3(level->centre[0], level->centre[1], level->centre[2]);
    wide3 m = all3(level->m[0], level->m[1], level->m[2]);
    level->step = step > level->step ? step : level->step;
    for (int k = 0; k < 3; k++) {
        wide3 from = sub3(corner[k], centre);
        f4 along = dot3(m, from);
        level->lo = f4_min(along, level->lo);
        level->hi = f4_max(along, level->hi);
        level->far_sq = f4_max(f4_sub(dot3(from, from), f4_mul(along, along)), level->far_sq);
    }
}

/* Corners are off by less than their step; the rest is rounding. */
static void level_close(const disc_level *level, pair_disc *disc, uint32_t slot) {
    f4 zero = f4_all(0);
    float lo = f4_least(level->lo), hi = -f4_least(f4_sub(zero, level->hi));
    float far_sq = -f4_least(f4_sub(zero, level->far_sq));
    float slack = level->step + DISC_SLACK * (1 + sqrtf(level->reach_sq));
    for (int axis = 0; axis < 3; axis++)
        disc->m[axis][slot] = level->m[axis];
    disc->s[slot] = (hi + lo) * 0.5f;
    disc->t[slot] = (hi - lo) * 0.5f + slack;
    disc->r[slot] = sqrtf(far_sq + DISC_SLACK * level->reach_sq) + slack;
}

/* Shows the leaves below a node to the discs above them, and makes those below it. */
static void make_discs(disc_maker *maker, uint32_t node, uint32_t depth) {
    disc_level *level = &maker->level[depth];
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        uint32_t child = maker->side.bvh->nodes[node].child[slot];
        if (child == ABUT_NONE)
            continue;
        level_open(maker, level, node, slot);
        if (child & BVH_LEAF) {
            wide3 corner[3];
            float step = pair_corners(&maker->side, node * BVH_WIDTH + slot, corner);
            for (uint32_t i = 0; i <= depth; i++)
                level_add(&maker->level[i], corner, step);
        } else {
            make_discs(maker, child, depth + 1);
        }
        level_close(level, &maker->list[node], slot);
    }
}

/* ---- the part of a hierarchy ---- */

static abut_status create(bvh_part *part, void *owner) {
    discs_part *discs = (discs_part *)(void *)part;
    const abut_bvh *bvh = owner;
    disc_maker maker;
    memset(&maker.side, 0, sizeof maker.side);
    maker.side.bvh = bvh;
    maker.side.unit = 1;
    discs->list = abuti_allocate_zeroed(part->context, bvh->node_count, sizeof *discs->list);
    if (!discs->list)
        return ABUT_ERROR_MEMORY;
    maker.list = discs->list;
    sum_normals(&maker);
    make_discs(&maker, 0, 0);
    return ABUT_OK;
}

static void destroy(bvh_part *part) {
    discs_part *discs = (discs_part *)(void *)part;
    abuti_release(part->context, discs->list);
    discs->list = NULL;
}

static const bvh_part_kind discs_kind = {sizeof(discs_part), create, abuti_bvh_part_forget,
                                         destroy};

const pair_disc *abuti_pair_discs(const abut_bvh *bvh, uint32_t steps) {
    bvh_part *part =
        abuti_bvh_part_earned(bvh, &discs_kind, &((abut_bvh *)(uintptr_t)bvh)->pair_steps, steps,
                              (size_t)STEPS_A_LEAF * bvh->leaf_count);
    return part ? ((const discs_part *)(const void *)part)->list : NULL;
}
