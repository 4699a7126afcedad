/* Construction of discs from the quantised corners of leaves. Mean normals are computed from the
 * leaves up; then the corners of each leaf extend all discs above it. This costs about as much as
 * refitting boxes, a hundred searches, or one of the searches that need discs most. So discs are
 * built once searches without them have cost as much.
 *
 * Slabs are built from the leaves up. A normal is the sum of the normals below it, with either
 * sign, and the extents of corners follow from the extents below. */
#include "pair/disc_bounds.h"

#include <math.h>

/* Steps of searches per leaf after which discs are built. */
#define STEPS_PER_LEAF 1
/* A mean normal is used if the sum of area normals is at least this fraction of the area. */
#define MEAN_NORMAL_MIN 0.25f
/* 16 roundings: the error of t and r, for coordinates up to 2. */
#define DISC_ROUNDING 0x1p-20f

/* The effort of searches per leaf, in pairs of leaves, after which slabs are built: the
 * construction costs about as much. The minimum keeps small meshes without slabs. */
#define EFFORT_PER_LEAF 4
#define SLAB_EFFORT_MIN (1 << 15)
/* The error of an extent of a slab, 20 roundings, for a box with half diagonal 1. */
#define SLAB_ERROR 0x1p-48

typedef struct bounds_attachment {
    bvh_attachment attachment;
    void *list; /* of discs or slabs */
} bounds_attachment;

/* A disc under construction: its position, and the extents of corners along its normal and from its
 * axis. */
typedef struct disc_bounds {
    float centre[3], m[3], reach_sq, step;
    f4 lo, hi, far_sq;
} disc_bounds;

typedef struct disc_builder {
    pair_side side; /* the BVH by itself */
    pair_disc *list;
    disc_bounds level[BVH_DEPTH + 1];
} disc_builder;

/* ---- normals ---- */

/* Sums the normals of a leaf and their lengths. */
static void sum_leaf_normals(const pair_side *side, uint32_t place, float sum[4]) {
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

/* Stores sums of normals in m and sums of areas in t, for all slots. Children have higher indices
 * than their parents. */
static void sum_normals(const disc_builder *builder) {
    const abut_bvh *bvh = builder->side.bvh;
    for (uint32_t node = bvh->node_count; node-- > 0;)
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            uint32_t child = bvh->nodes[node].child[slot];
            float sum[4] = {0, 0, 0, 0};
            if (child == ABUT_NONE)
                continue;
            if (child & BVH_LEAF) {
                sum_leaf_normals(&builder->side, node * BVH_WIDTH + slot, sum);
            } else {
                const pair_disc *below = &builder->list[child];
                for (uint32_t i = 0; i < BVH_WIDTH; i++)
                    if (bvh->nodes[child].child[i] != ABUT_NONE) {
                        for (int axis = 0; axis < 3; axis++)
                            sum[axis] += below->m[axis][i];
                        sum[3] += below->t[i];
                    }
            }
            for (int axis = 0; axis < 3; axis++)
                builder->list[node].m[axis][slot] = sum[axis];
            builder->list[node].t[slot] = sum[3];
        }
}

/* ---- discs ---- */

/* Begins the disc of a slot: along its mean normal, or across its box if there is none. */
static void begin_disc(disc_builder *builder, disc_bounds *level, uint32_t node, uint32_t slot) {
    const bvh_node *boxes = &builder->side.bvh->nodes[node];
    const pair_disc *disc = &builder->list[node];
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
    bool flat = length_sq > FLT_MIN && length >= MEAN_NORMAL_MIN * disc->t[slot];
    for (int axis = 0; axis < 3; axis++)
        level->m[axis] = flat ? disc->m[axis][slot] / length : axis == thin;
    level->lo = f4_all(INFINITY);
    level->hi = f4_all(-INFINITY);
    level->far_sq = f4_all(0);
}

static void extend_disc(disc_bounds *level, const wide3 corner[3], float step) {
    wide3 centre = broadcast3(level->centre[0], level->centre[1], level->centre[2]);
    wide3 m = broadcast3(level->m[0], level->m[1], level->m[2]);
    level->step = step > level->step ? step : level->step;
    for (int k = 0; k < 3; k++) {
        wide3 from = sub3(corner[k], centre);
        f4 along = dot3(m, from);
        level->lo = f4_min(along, level->lo);
        level->hi = f4_max(along, level->hi);
        level->far_sq = f4_max(f4_sub(dot3(from, from), f4_mul(along, along)), level->far_sq);
    }
}

/* Corners have an error of less than their quantisation step; the rest is rounding. */
static void finish_disc(const disc_bounds *level, pair_disc *disc, uint32_t slot) {
    f4 zero = f4_all(0);
    float lo = f4_least(level->lo), hi = -f4_least(f4_sub(zero, level->hi));
    float far_sq = -f4_least(f4_sub(zero, level->far_sq));
    float slack = level->step + DISC_ROUNDING * (1 + sqrtf(level->reach_sq));
    for (int axis = 0; axis < 3; axis++)
        disc->m[axis][slot] = level->m[axis];
    disc->s[slot] = (hi + lo) * 0.5f;
    disc->t[slot] = (hi - lo) * 0.5f + slack;
    disc->r[slot] = sqrtf(far_sq + DISC_ROUNDING * level->reach_sq) + slack;
}

/* Extends the discs above the leaves below a node, and builds the discs below it. */
static void build_discs(disc_builder *builder, uint32_t node, uint32_t depth) {
    disc_bounds *level = &builder->level[depth];
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        uint32_t child = builder->side.bvh->nodes[node].child[slot];
        if (child == ABUT_NONE)
            continue;
        begin_disc(builder, level, node, slot);
        if (child & BVH_LEAF) {
            wide3 corner[3];
            float step = pair_corners(&builder->side, node * BVH_WIDTH + slot, corner);
            for (uint32_t i = 0; i <= depth; i++)
                extend_disc(&builder->level[i], corner, step);
        } else {
            build_discs(builder, child, depth + 1);
        }
        finish_disc(level, &builder->list[node], slot);
    }
}

/* ---- slabs ---- */

/* Adds a normal with the sign that lengthens the sum. */
static vec3 add_unoriented_normal(vec3 sum, vec3 n) {
    return v3_dot(sum, n) < 0 ? v3_sub(sum, n) : v3_add(sum, n);
}

static void extend_slab(pair_slab *slab, double lo, double hi, double r, uint32_t first) {
    float outer = bvh_float_above(r);
    slab->lo = real_min(slab->lo, lo);
    slab->hi = real_max(slab->hi, hi);
    slab->r = outer > slab->r ? outer : slab->r;
    slab->first = first < slab->first ? first : slab->first;
}

static double box_half_diagonal(const abut_bvh *bvh, uint32_t place) {
    const bvh_node *node = &bvh->nodes[place / BVH_WIDTH];
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double size = (double)node->hi[axis][place % BVH_WIDTH] - node->lo[axis][place % BVH_WIDTH];
        sum += size * size;
    }
    return 0.5 * sqrt(sum);
}

/* The corners of a triangle in the frame of the BVH. */
static abut_triangle triangle_in_frame(const abut_bvh *bvh, uint32_t triangle) {
    const abut_mesh *mesh = bvh->mesh;
    abut_triangle t;
    for (size_t k = 0; k < 3; k++)
        t.corner[k] =
            v3_scale(mesh->positions[mesh->indices[3 * (size_t)triangle + k]], bvh->scale);
    return t;
}

/* Builds the slab of a place from its triangles or from the slabs below it. */
static void build_slab(const abut_bvh *bvh, uint32_t place, pair_slab *slabs, vec3 *normals) {
    uint32_t child = bvh->nodes[place / BVH_WIDTH].child[place % BVH_WIDTH];
    uint32_t count = child & BVH_LEAF ? bvh_leaf_fill(bvh, child & ~BVH_LEAF) : BVH_WIDTH;
    const uint32_t *order = bvh->order + (size_t)(child & ~BVH_LEAF) * BVH_WIDTH;
    const vec3 centre = pair_box_centre(bvh, place);
    abut_triangle t[BVH_WIDTH];
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (child & BVH_LEAF) {
            t[i] = triangle_in_frame(bvh, order[i]);
            const vec3 *corner = t[i].corner;
            sum = add_unoriented_normal(sum, v3_cross(v3_sub(corner[1], corner[0]),
                                                      v3_sub(corner[2], corner[0])));
        } else if (bvh->nodes[child].child[i] != ABUT_NONE) {
            sum = add_unoriented_normal(sum, normals[child * BVH_WIDTH + i]);
        }
    }
    vec3 m = v3_max_abs(sum) > 0 ? v3_normalise(sum) : v3(0, 0, 1), back = v3_scale(m, -1);
    pair_slab slab = {{m.x, m.y, m.z}, INFINITY, -INFINITY, 0, ABUT_NONE};
    for (uint32_t i = 0; i < count; i++) {
        if (child & BVH_LEAF) {
            for (int k = 0; k < 3; k++) {
                vec3 from = v3_sub(t[i].corner[k], centre);
                double along = v3_dot(m, from);
                extend_slab(&slab, along, along, v3_length(v3_sub(from, v3_scale(m, along))),
                            order[i]);
            }
        } else if (bvh->nodes[child].child[i] != ABUT_NONE) {
            const uint32_t below = child * BVH_WIDTH + i;
            vec3 from = v3_sub(pair_box_centre(bvh, below), centre);
            double along = v3_dot(m, from), radius = v3_length(v3_sub(from, v3_scale(m, along)));
            extend_slab(&slab, along - slab_reach(&slabs[below], back),
                        along + slab_reach(&slabs[below], m),
                        radius + box_half_diagonal(bvh, below), slabs[below].first);
        }
    }
    const double slack = SLAB_ERROR * box_half_diagonal(bvh, place);
    slab.lo -= slack;
    slab.hi += slack;
    slab.r = bvh_float_above(slab.r + slack);
    slabs[place] = slab;
    normals[place] = sum;
}

/* ---- attachments of a BVH ---- */

static abut_status create_discs(bvh_attachment *attachment, void *owner) {
    const abut_bvh *bvh = owner;
    pair_disc *discs = abuti_allocate_zeroed(attachment->context, bvh->node_count, sizeof *discs);
    disc_builder builder;
    if (!discs)
        return ABUT_ERROR_MEMORY;
    memset(&builder.side, 0, sizeof builder.side);
    builder.side.bvh = bvh;
    builder.side.unit = 1;
    builder.list = discs;
    sum_normals(&builder);
    build_discs(&builder, 0, 0);
    ((bounds_attachment *)(void *)attachment)->list = discs;
    return ABUT_OK;
}

static abut_status create_slabs(bvh_attachment *attachment, void *owner) {
    const abut_bvh *bvh = owner;
    size_t count = (size_t)bvh->node_count * BVH_WIDTH;
    vec3 *normals = abuti_allocate(attachment->context, count, sizeof *normals);
    pair_slab *slabs = abuti_allocate_zeroed(attachment->context, count, sizeof *slabs);
    /* children have higher indices than their parents */
    for (size_t place = normals && slabs ? count : 0; place-- > 0;)
        if (bvh->nodes[place / BVH_WIDTH].child[place % BVH_WIDTH] != ABUT_NONE)
            build_slab(bvh, (uint32_t)place, slabs, normals);
    abuti_release(attachment->context, normals);
    ((bounds_attachment *)(void *)attachment)->list = slabs;
    return normals && slabs ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy_bounds(bvh_attachment *attachment) {
    bounds_attachment *bounds = (bounds_attachment *)(void *)attachment;
    abuti_release(attachment->context, bounds->list);
    bounds->list = NULL;
}

static const bvh_attachment_kind discs_kind = {sizeof(bounds_attachment), create_discs,
                                               abuti_bvh_discard_attachment, destroy_bounds};
static const bvh_attachment_kind slabs_kind = {sizeof(bounds_attachment), create_slabs,
                                               abuti_bvh_discard_attachment, destroy_bounds};

static const void *list_of(const bvh_attachment *attachment) {
    return attachment ? ((const bounds_attachment *)(const void *)attachment)->list : NULL;
}

static const void *share_bounds(const abut_bvh *bvh, const bvh_attachment_kind *kind) {
    bvh_attachment *attachment;
    return abuti_bvh_share_attachment(bvh, kind, &attachment) ? NULL : list_of(attachment);
}

const pair_disc *abuti_pair_discs(const abut_bvh *bvh, uint32_t steps) {
    return list_of(abuti_bvh_earn_attachment(bvh, &discs_kind,
                                             &((abut_bvh *)(uintptr_t)bvh)->pair_steps, steps,
                                             (size_t)STEPS_PER_LEAF * bvh->leaf_count));
}

const pair_disc *abuti_pair_discs_now(const abut_bvh *bvh) {
    return share_bounds(bvh, &discs_kind);
}

const pair_slab *abuti_pair_slabs(const abut_bvh *bvh, uint64_t effort) {
    return list_of(
        abuti_bvh_earn_attachment(bvh, &slabs_kind, &((abut_bvh *)(uintptr_t)bvh)->pair_effort,
                                  (size_t)effort,
                                  SLAB_EFFORT_MIN + (size_t)EFFORT_PER_LEAF * bvh->leaf_count));
}

const pair_slab *abuti_pair_slabs_now(const abut_bvh *bvh) {
    return share_bounds(bvh, &slabs_kind);
}
