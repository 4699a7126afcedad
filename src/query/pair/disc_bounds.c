/* Construction of slabs. Mean normals are computed from the leaves up: each is the sum of the
 * normals below it, with either sign. Then the corners of each leaf extend all slabs above it. This
 * costs about as much as a hundred searches, or as one of the searches that need slabs most. So
 * slabs are built once searches without them have cost as much. Extents from those of the children
 * instead of corners are built in half the time, but searches of scans take 1.5 times as long. */
#include "pair/disc_bounds.h"

#include <math.h>

/* Steps of searches per leaf after which slabs are built. */
#define STEPS_PER_LEAF 1
/* The error of an extent of a slab, 20 roundings, for a box with half diagonal 1. */
#define SLAB_ERROR 0x1p-48
/* 16 roundings of floats: the error of t and r, for coordinates up to 2 and an axis of floats. */
#define DISC_ROUNDING 0x1p-20

/* A slab under construction. */
typedef struct slab_level {
    pair_slab *slab;
    vec3 centre, m;
    double far_sq; /* the largest squared distance of a corner from the axis */
} slab_level;

typedef struct slab_builder {
    const abut_bvh *bvh;
    pair_slabs *to;
    vec3 *normals; /* of all places */
    slab_level level[BVH_DEPTH + 1];
} slab_builder;

/* ---- normals ---- */

/* The corners of a triangle in the frame of the BVH. */
static abut_triangle triangle_in_frame(const abut_bvh *bvh, uint32_t triangle) {
    const abut_mesh *mesh = bvh->mesh;
    abut_triangle t;
    for (size_t k = 0; k < 3; k++)
        t.corner[k] =
            v3_scale(mesh->positions[mesh->indices[3 * (size_t)triangle + k]], bvh->scale);
    return t;
}

/* Adds a normal with the sign that lengthens the sum. */
static vec3 add_unoriented_normal(vec3 sum, vec3 n) {
    return v3_dot(sum, n) < 0 ? v3_sub(sum, n) : v3_add(sum, n);
}

/* Sums the normals of the triangles of a leaf, or those of the places of a node. */
static vec3 sum_normals(const slab_builder *builder, uint32_t child) {
    const abut_bvh *bvh = builder->bvh;
    const uint32_t leaf = child & ~BVH_LEAF;
    const uint32_t count = child & BVH_LEAF ? bvh_leaf_fill(bvh, leaf) : BVH_WIDTH;
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (child & BVH_LEAF) {
            abut_triangle t = triangle_in_frame(bvh, bvh->order[(size_t)leaf * BVH_WIDTH + i]);
            sum = add_unoriented_normal(sum, v3_cross(v3_sub(t.corner[1], t.corner[0]),
                                                      v3_sub(t.corner[2], t.corner[0])));
        } else if (bvh->nodes[child].child[i] != ABUT_NONE) {
            sum = add_unoriented_normal(sum, builder->normals[child * BVH_WIDTH + i]);
        }
    }
    return sum;
}

/* ---- slabs ---- */

static double box_half_diagonal(const abut_bvh *bvh, uint32_t place) {
    const bvh_node *node = &bvh->nodes[place / BVH_WIDTH];
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double size = (double)node->hi[axis][place % BVH_WIDTH] - node->lo[axis][place % BVH_WIDTH];
        sum += size * size;
    }
    return 0.5 * sqrt(sum);
}

static void begin_slab(slab_builder *builder, uint32_t place, slab_level *level) {
    const vec3 sum = builder->normals[place];
    const vec3 m = v3_max_abs(sum) > 0 ? v3_normalise(sum) : v3(0, 0, 1);
    *level = (slab_level){&builder->to->slabs[place], pair_box_centre(builder->bvh, place), m, 0};
    *level->slab = (pair_slab){{m.x, m.y, m.z}, INFINITY, -INFINITY, 0, ABUT_NONE};
}

static void extend_slab(slab_level *level, const abut_triangle *t, uint32_t triangle) {
    pair_slab *slab = level->slab;
    for (int k = 0; k < 3; k++) {
        vec3 from = v3_sub(t->corner[k], level->centre);
        double along = v3_dot(level->m, from);
        slab->lo = real_min(slab->lo, along);
        slab->hi = real_max(slab->hi, along);
        level->far_sq =
            real_max(level->far_sq, v3_length_sq(v3_sub(from, v3_scale(level->m, along))));
    }
    slab->first = triangle < slab->first ? triangle : slab->first;
}

static void finish_slab(const slab_builder *builder, uint32_t place, const slab_level *level) {
    const double slack = SLAB_ERROR * box_half_diagonal(builder->bvh, place);
    level->slab->lo -= slack;
    level->slab->hi += slack;
    level->slab->r = bvh_float_above(sqrt(level->far_sq) + slack);
}

static void set_disc(const pair_slab *slab, pair_disc *disc, uint32_t slot) {
    const double s = 0.5 * (slab->lo + slab->hi), t = 0.5 * (slab->hi - slab->lo), r = slab->r;
    const double slack = DISC_ROUNDING * (1 + fabs(s) + t + r);
    for (int axis = 0; axis < 3; axis++)
        disc->m[axis][slot] = (float)slab->m[axis];
    disc->s[slot] = (float)s;
    disc->t[slot] = (float)(t + slack);
    disc->r[slot] = (float)(r + slack);
}

/* Extends the slabs above the leaves below a node, and builds the slabs below it. */
static void build_slabs(slab_builder *builder, uint32_t node, uint32_t depth) {
    const abut_bvh *bvh = builder->bvh;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        const uint32_t child = bvh->nodes[node].child[slot], place = node * BVH_WIDTH + slot;
        if (child == ABUT_NONE)
            continue;
        begin_slab(builder, place, &builder->level[depth]);
        if (child & BVH_LEAF) {
            const uint32_t leaf = child & ~BVH_LEAF;
            for (uint32_t i = 0; i < bvh_leaf_fill(bvh, leaf); i++) {
                const uint32_t triangle = bvh->order[(size_t)leaf * BVH_WIDTH + i];
                const abut_triangle t = triangle_in_frame(bvh, triangle);
                for (uint32_t k = 0; k <= depth; k++)
                    extend_slab(&builder->level[k], &t, triangle);
            }
        } else {
            build_slabs(builder, child, depth + 1);
        }
        finish_slab(builder, place, &builder->level[depth]);
        set_disc(builder->level[depth].slab, &builder->to->discs[node], slot);
    }
}

/* ---- attachment of a BVH ---- */

static abut_status create_slabs(bvh_attachment *attachment, void *owner) {
    const abut_bvh *bvh = owner;
    pair_slabs *to = (pair_slabs *)(void *)attachment;
    const size_t count = (size_t)bvh->node_count * BVH_WIDTH;
    slab_builder builder = {.bvh = bvh, .to = to};
    builder.normals = abuti_allocate(attachment->context, count, sizeof *builder.normals);
    to->slabs = abuti_allocate_zeroed(attachment->context, count, sizeof *to->slabs);
    to->discs = abuti_allocate_zeroed(attachment->context, bvh->node_count, sizeof *to->discs);
    const bool has_memory = builder.normals && to->slabs && to->discs;
    /* children have higher indices than their parents */
    for (size_t place = has_memory ? count : 0; place-- > 0;) {
        const uint32_t child = bvh->nodes[place / BVH_WIDTH].child[place % BVH_WIDTH];
        if (child != ABUT_NONE)
            builder.normals[place] = sum_normals(&builder, child);
    }
    if (has_memory)
        build_slabs(&builder, 0, 0);
    abuti_release(attachment->context, builder.normals);
    return has_memory ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy_slabs(bvh_attachment *attachment) {
    pair_slabs *of = (pair_slabs *)(void *)attachment;
    ABUTI_RELEASE(attachment->context, of->slabs, of->discs);
}

static const bvh_attachment_kind slabs_kind = {sizeof(pair_slabs), create_slabs,
                                               abuti_bvh_discard_attachment, destroy_slabs};

const pair_slabs *abuti_pair_slabs(const abut_bvh *bvh, size_t cost) {
    return (const pair_slabs *)(const void *)
        abuti_bvh_earn_attachment(bvh, &slabs_kind, &((abut_bvh *)(uintptr_t)bvh)->pair_steps, cost,
                                  (size_t)STEPS_PER_LEAF * bvh->leaf_count);
}

const pair_slabs *abuti_pair_slabs_now(const abut_bvh *bvh) {
    bvh_attachment *attachment;
    return abuti_bvh_share_attachment(bvh, &slabs_kind, &attachment)
               ? NULL
               : (const pair_slabs *)(const void *)attachment;
}
