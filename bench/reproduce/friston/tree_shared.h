/* A BVH of uniform depth with eight children per node, for C and OpenCL C.
 *
 * Triangles are in an order that is computed once, four per leaf. Leaf j is child j % 8 of node
 * j / 8 of level 0, and node j of a level is child j % 8 of node j / 8 of the next. So there are
 * no links. A node stores the boxes of its children as structure of arrays. Each frame all boxes
 * are refitted from the leaves up. */
#ifndef ABUT_BENCH_TREE_SHARED_H
#define ABUT_BENCH_TREE_SHARED_H

#include "rivals_shared.h"

#define TREE_WIDE 8
#define TREE_LEAF 4    /* triangles per leaf */
#define TREE_LEVELS 10 /* 2^32 triangles have no more */
#define TREE_STACK (TREE_LEVELS * (TREE_WIDE - 1) + 1)

typedef struct tree_node {
    real lo[3][TREE_WIDE], hi[3][TREE_WIDE]; /* lo > hi if there is no child */
} tree_node;

typedef struct tree_shape {
    word32 triangle_count, leaf_count;
    word32 levels;             /* of nodes; the last one has one node */
    word32 begin[TREE_LEVELS]; /* the first node of each */
    word32 count[TREE_LEVELS];
    real reach;
} tree_shape;

static inline void tree_set(ABUTI_GLOBAL tree_node *nodes, word32 parent, word32 child, box3 box) {
    ABUTI_GLOBAL tree_node *node = nodes + parent;
    node->lo[0][child] = box.lo.x;
    node->lo[1][child] = box.lo.y;
    node->lo[2][child] = box.lo.z;
    node->hi[0][child] = box.hi.x;
    node->hi[1][child] = box.hi.y;
    node->hi[2][child] = box.hi.z;
}

/* Refits leaf j: its triangles, in their order, and its box. */
static inline void tree_fit_leaf(const tree_shape *tree, ABUTI_GLOBAL const word32 *corners,
                                 ABUTI_GLOBAL const rival_point *positions,
                                 ABUTI_GLOBAL rival_triangle *triangles,
                                 ABUTI_GLOBAL tree_node *nodes, word32 j) {
    box3 box = box_empty();
    for (word32 k = TREE_LEAF * j; k < TREE_LEAF * (j + 1) && k < tree->triangle_count; k++) {
        rival_triangle t = rival_triangle_at(corners, positions, k);
        triangles[k] = t;
        for (int c = 0; c < 3; c++)
            box = box_grow(box, t.corner[c]);
    }
    tree_set(nodes, j / TREE_WIDE, j % TREE_WIDE, box);
}

/* Refits the box of node j of a level, whose children are complete, in its parent. */
static inline void tree_fit_node(const tree_shape *tree, ABUTI_GLOBAL tree_node *nodes,
                                 word32 level, word32 j) {
    ABUTI_GLOBAL const tree_node *node = nodes + tree->begin[level] + j;
    box3 box = box_empty();
    for (int k = 0; k < TREE_WIDE; k++) {
        box.lo = v3_min(box.lo, v3(node->lo[0][k], node->lo[1][k], node->lo[2][k]));
        box.hi = v3_max(box.hi, v3(node->hi[0][k], node->hi[1][k], node->hi[2][k]));
    }
    tree_set(nodes, tree->begin[level + 1] + j / TREE_WIDE, j % TREE_WIDE, box);
}

/* A bit mask of the children with a point within reach of their box. */
static inline word32 tree_children(ABUTI_GLOBAL const tree_node *node, vec3 p, real r) {
    int within[TREE_WIDE];
    word32 bits = 0;
    for (int k = 0; k < TREE_WIDE; k++)
        within[k] = (node->lo[0][k] - r <= p.x) & (p.x <= node->hi[0][k] + r) &
                    (node->lo[1][k] - r <= p.y) & (p.y <= node->hi[1][k] + r) &
                    (node->lo[2][k] - r <= p.z) & (p.z <= node->hi[2][k] + r);
    for (int k = 0; k < TREE_WIDE; k++)
        bits |= (word32)within[k] << k;
    return bits;
}

static inline void tree_collide(const tree_shape *tree,
                                ABUTI_GLOBAL const rival_triangle *triangles,
                                ABUTI_GLOBAL const tree_node *nodes,
                                ABUTI_GLOBAL const rival_point *from, ABUTI_GLOBAL rival_point *to,
                                real friction, word32 i) {
    vec3 p = rival_near(to[i]);
    rival_hit hit = rival_hit_none(tree->reach);
    word32 stack[TREE_STACK], depth = 1;
    stack[0] = (tree->levels - 1) << 28;
    while (depth) {
        word32 level = stack[--depth] >> 28, j = stack[depth] & 0xfffffffu;
        word32 bits = tree_children(nodes + tree->begin[level] + j, p, hit.farness);
        for (word32 c = 0; c < TREE_WIDE; c++) {
            if (!(bits >> c & 1))
                continue;
            if (level) {
                stack[depth++] = (level - 1) << 28 | (TREE_WIDE * j + c);
                continue;
            }
            word32 first = TREE_LEAF * (TREE_WIDE * j + c);
            for (word32 k = first; k < first + TREE_LEAF && k < tree->triangle_count; k++) {
                rival_triangle t = triangles[k];
                rival_look(&hit, &t, k, p);
            }
        }
    }
    rival_respond(&hit, from, to, i, friction);
}

#endif
