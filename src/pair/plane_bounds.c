/* Walls are made from the leaves up: a normal is the sum of those below, of either sense, and how
 * far corners reach follows from what they reach below. Where all is flat that is so to the last
 * digits of doubles. */
#include "pair/closest_proof.h"

#include <math.h>

/* The effort of searches for a leaf, in pairs of leaves, beyond which walls are made: it takes
 * about as long. And not for the few of a small mesh. */
#define EFFORT_A_LEAF 4
#define EFFORT_MIN (1 << 15)
/* What a reach may err by, 20 roundings, for a box of half the diagonal 1. */
#define WALL_SLACK 0x1p-48

typedef struct walls_part {
    bvh_part part;
    pair_wall *list;
} walls_part;

typedef struct wall_maker {
    const abut_bvh *bvh;
    pair_wall *walls;
    vec3 *normals;
} wall_maker;

/* Adds a normal of either sense. */
static vec3 add_normal(vec3 sum, vec3 n) {
    return v3_dot(sum, n) < 0 ? v3_sub(sum, n) : v3_add(sum, n);
}

/* Begins a wall along a normal; along an axis where there is none. */
static vec3 wall_begin(pair_wall *wall, vec3 n) {
    vec3 m = v3_max_abs(n) > 0 ? v3_normalise(n) : v3(0, 0, 1);
    *wall = (pair_wall){{m.x, m.y, m.z}, INFINITY, -INFINITY, 0, ABUT_NONE};
    return m;
}

static void wall_extend(pair_wall *wall, double lo, double hi, double r, uint32_t first) {
    float outer = bvh_float_above(r);
    wall->lo = real_min(wall->lo, lo);
    wall->hi = real_max(wall->hi, hi);
    wall->r = outer > wall->r ? outer : wall->r;
    wall->first = first < wall->first ? first : wall->first;
}

/* Half the diagonal of a box. */
static double half_of(const bvh_node *node, uint32_t slot) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double size = (double)node->hi[axis][slot] - node->lo[axis][slot];
        sum += size * size;
    }
    return 0.5 * sqrt(sum);
}

/* A corner of a triangle in the frame. */
static vec3 corner_of(const abut_bvh *bvh, uint32_t triangle, size_t k) {
    const abut_mesh *mesh = bvh->mesh;
    return v3_scale(mesh->positions[mesh->indices[3 * (size_t)triangle + k]], bvh->scale);
}

static void make_leaf(const wall_maker *maker, uint32_t place, uint32_t leaf) {
    const abut_bvh *bvh = maker->bvh;
    const uint32_t *order = bvh->order + (size_t)leaf * BVH_WIDTH;
    uint32_t fill = bvh_leaf_fill(bvh, leaf);
    vec3 c = pair_middle(bvh, place), sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < fill; i++) {
        vec3 at = corner_of(bvh, order[i], 0);
        sum = add_normal(sum, v3_cross(v3_sub(corner_of(bvh, order[i], 1), at),
                                       v3_sub(corner_of(bvh, order[i], 2), at)));
    }
    pair_wall *wall = &maker->walls[place];
    vec3 m = wall_begin(wall, sum);
    for (uint32_t i = 0; i < 3 * fill; i++) {
        vec3 from = v3_sub(corner_of(bvh, order[i / 3], i % 3), c);
        double along = v3_dot(m, from);
        wall_extend(wall, along, along, v3_length(v3_sub(from, v3_scale(m, along))), order[i / 3]);
    }
    maker->normals[place] = sum;
}

static void make_node(const wall_maker *maker, uint32_t place, uint32_t node) {
    const abut_bvh *bvh = maker->bvh;
    const bvh_node *boxes = &bvh->nodes[node];
    vec3 c = pair_middle(bvh, place), sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        if (boxes->child[i] != ABUT_NONE)
            sum = add_normal(sum, maker->normals[node * BVH_WIDTH + i]);
    pair_wall *wall = &maker->walls[place];
    vec3 m = wall_begin(wall, sum), back = v3_scale(m, -1);
    for (uint32_t i = 0; i < BVH_WIDTH; i++) {
        uint32_t below = node * BVH_WIDTH + i;
        if (boxes->child[i] == ABUT_NONE)
            continue;
        vec3 from = v3_sub(pair_middle(bvh, below), c);
        double along = v3_dot(m, from), beside = v3_length(v3_sub(from, v3_scale(m, along)));
        wall_extend(wall, along - wall_reach(&maker->walls[below], back),
                    along + wall_reach(&maker->walls[below], m), beside + half_of(boxes, i),
                    maker->walls[below].first);
    }
    maker->normals[place] = sum;
}

/* Children stand behind their parents. */
static void make_walls(const wall_maker *maker) {
    const bvh_node *nodes = maker->bvh->nodes;
    for (uint32_t place = maker->bvh->node_count * BVH_WIDTH; place-- > 0;) {
        uint32_t child = nodes[place / BVH_WIDTH].child[place % BVH_WIDTH];
        if (child == ABUT_NONE)
            continue;
        if (child & BVH_LEAF)
            make_leaf(maker, place, child & ~BVH_LEAF);
        else
            make_node(maker, place, child);
        pair_wall *wall = &maker->walls[place];
        double slack = WALL_SLACK * half_of(&nodes[place / BVH_WIDTH], place % BVH_WIDTH);
        wall->lo -= slack;
        wall->hi += slack;
        wall->r = bvh_float_above(wall->r + slack);
    }
}

/* ---- the part of a hierarchy ---- */

static abut_status create(bvh_part *part, void *owner) {
    walls_part *walls = (walls_part *)(void *)part;
    const abut_bvh *bvh = owner;
    size_t count = (size_t)bvh->node_count * BVH_WIDTH;
    vec3 *normals = abuti_allocate(part->context, count, sizeof *normals);
    walls->list = abuti_allocate_zeroed(part->context, count, sizeof *walls->list);
    if (normals && walls->list)
        make_walls(&(wall_maker){bvh, walls->list, normals});
    abuti_release(part->context, normals);
    return normals && walls->list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy(bvh_part *part) {
    walls_part *walls = (walls_part *)(void *)part;
    abuti_release(part->context, walls->list);
    walls->list = NULL;
}

static const bvh_part_kind walls_kind = {sizeof(walls_part), create, abuti_bvh_part_forget,
                                         destroy};

const pair_wall *abuti_pair_walls(const abut_bvh *bvh, uint64_t effort) {
    bvh_part *part =
        abuti_bvh_part_earned(bvh, &walls_kind, &((abut_bvh *)(uintptr_t)bvh)->pair_effort,
                              (size_t)effort, EFFORT_MIN + (size_t)EFFORT_A_LEAF * bvh->leaf_count);
    return part ? ((const walls_part *)(const void *)part)->list : NULL;
}

const pair_wall *abuti_pair_walls_now(const abut_bvh *bvh) {
    bvh_part *part;
    return abuti_bvh_part_share(bvh, &walls_kind, &part)
               ? NULL
               : ((const walls_part *)(const void *)part)->list;
}
