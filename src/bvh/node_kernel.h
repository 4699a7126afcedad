/* Nodes of a hierarchy as kernels read them, and what every walk through them needs. */
#ifndef ABUTI_NODE_KERNEL_H
#define ABUTI_NODE_KERNEL_H

#define WIDTH 4
#define LEAF 0x80000000u
#define NONE 0xffffffffu

#ifndef STACK
#define STACK 211 /* BVH_STACK; the host may say less for a flat tree */
#endif

/* As bvh_node. */
typedef struct node {
    float4 lo[3], hi[3];
    uint4 child;
} node;

static inline void sort_two(uint *a, uint *b) {
    uint low = min(*a, *b), high = max(*a, *b);
    *a = low;
    *b = high;
}

/* The child whose number is in the lowest bits of a key. */
#define NAME_OF(key) ((key)&2 ? ((key)&1 ? name.w : name.z) : ((key)&1 ? name.y : name.x))

#endif
