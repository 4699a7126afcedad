/* The closest triangles of two surfaces that do not meet, for many poses: a group for each pose.
 *
 * Method: as pair_closest.c, with the same bounds and margins, but many pairs at a time. Pairs of
 * boxes wait on a stack in local memory, of which 32 are opened together, an item for each child;
 * the children that are near enough go back sorted, the nearest on top. Pairs of leaves are looked
 * at eight at a time, an item for each two triangles, which must be near enough along the line
 * between their middles. What is left is measured in floats, 128 pairs at a time. The bound of the
 * distance comes from all of these: from the far ends of two boxes, from the middles of two
 * triangles, and from distances. Pairs of triangles that may be the closest, within the margin, go
 * to the host, which measures them in doubles: no pair is lost that could win. Nothing is capped:
 * where there is no room for them all the host is told so.
 */
#include "bvh/pair_kernel.h"

#define GROUP 128
#define OPENED (GROUP / WIDTH)           /* pairs of boxes at a time */
#define LOOKED (GROUP / (WIDTH * WIDTH)) /* pairs of leaves at a time */
#define STACK 1024                       /* pairs of boxes */
#define LEAVES (GROUP + LOOKED)          /* pairs of leaves */
#define LIKELY (2 * GROUP)               /* pairs of triangles to be measured */
#define KEPT (2 * GROUP)                 /* pairs of triangles that may be closest */
#define ROUNDS 16384                     /* then the host had better do it, which can settle */
#define MEETS 0xffffffffu
#define TOO_MUCH 0xfffffffeu
#define WITHIN 0xfffffffdu

/* As in pair_closest.c. */
#define SLACK (1.0f + 0x1p-20f)
#define TINY 1e-30f

/* ---- boxes ---- */

/* The distance of the middles of two boxes, and a lower bound of their own, squared. */
static inline float boxes_lower_sq(const pair_pose *p, const box *a, const box *b, float *between) {
    vec offset = vec_sub(a->middle, turned(p, b->middle));
    const float at[3] = {offset.x, offset.y, offset.z};
    const float ha[3] = {a->half_size.x, a->half_size.y, a->half_size.z};
    const float hb[3] = {b->half_size.x, b->half_size.y, b->half_size.z};
    float own_sq = 0.0f, other_sq = 0.0f, sum = 0.0f;
    for (int i = 0; i < 3; i++) {
        float own = p->pad + ha[i], other = p->pad + hb[i], along = 0.0f;
        for (int j = 0; j < 3; j++) {
            own += fabs(p->turn[j][i]) * hb[j];
            other += fabs(p->turn[i][j]) * ha[j];
            along += at[j] * p->turn[i][j];
        }
        sum += fabs(at[i]) * ha[i] + fabs(along) * (hb[i] + p->pad);
        own = fmax(fabs(at[i]) - own, 0.0f);
        other = fmax(fabs(along) - other, 0.0f);
        own_sq += own * own;
        other_sq += other * other;
    }
    float length = sqrt(vec_dot(offset, offset));
    float gap = fmax(length - sum / fmax(length, TINY) - p->pad, 0.0f);
    *between = length;
    return fmax(gap * gap, fmax(own_sq, other_sq));
}

/* ---- triangles ---- */

/* With what distances need again and again; see pair_closest.c. */
typedef struct triangle {
    vec corner[3], edge[3];
    float per_edge_sq[3];
    vec w;
    float k, per_ww;
    bool flat;
} triangle;

static inline vec vec_along(vec a, float s, vec b) {
    return make_vec(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline float unit_clamp(float t) {
    return fmin(fmax(t, 0.0f), 1.0f);
}

static inline void triangle_prepare(triangle *t) {
    for (int i = 0; i < 3; i++) {
        t->edge[i] = vec_sub(t->corner[i == 2 ? 0 : i + 1], t->corner[i]);
        t->per_edge_sq[i] = 1.0f / fmax(vec_dot(t->edge[i], t->edge[i]), TINY);
    }
    vec v = vec_sub(t->corner[2], t->corner[0]);
    t->k = vec_dot(t->edge[0], v) * t->per_edge_sq[0];
    t->w = vec_along(v, -t->k, t->edge[0]);
    float ww = vec_dot(t->w, t->w);
    t->per_ww = 1.0f / fmax(ww, TINY);
    t->flat = ww > TINY;
}

/* Squared distance of p to the face of t where its foot is inside, else `other`. */
static inline float over_face_sq(const triangle *t, vec p, float other) {
    vec from = vec_sub(p, t->corner[0]);
    float s = vec_dot(from, t->edge[0]) * t->per_edge_sq[0];
    vec beside = vec_along(from, -s, t->edge[0]);
    float r = vec_dot(beside, t->w) * t->per_ww, along = s - t->k * r;
    vec rest = vec_along(beside, -r, t->w);
    bool inside = r > 0.0f && along > 0.0f && r + along < 1.0f && t->flat;
    return inside ? fmin(other, vec_dot(rest, rest)) : other;
}

/* Squared distance of edge i of a and edge j of b. */
static inline float edges_sq(const triangle *a, int i, const triangle *b, int j) {
    vec u = a->edge[i], v = b->edge[j], gap = vec_sub(b->corner[j], a->corner[i]);
    float k = vec_dot(u, v) * a->per_edge_sq[i], foot = vec_dot(gap, u) * a->per_edge_sq[i];
    vec w = vec_along(v, -k, u), beside = vec_along(gap, -foot, u);
    float t = unit_clamp(-(vec_dot(beside, w) / fmax(vec_dot(w, w), TINY)));
    float s = unit_clamp(foot + k * t);
    vec from = vec_along(gap, -s, u);
    t = unit_clamp(-(vec_dot(from, v) * b->per_edge_sq[j]));
    vec rest = vec_along(from, t, v);
    return vec_dot(rest, rest);
}

static float distance_sq(triangle *a, triangle *b) {
    float least = FLT_MAX;
    triangle_prepare(a);
    triangle_prepare(b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            least = fmin(least, edges_sq(a, i, b, j));
    for (int i = 0; i < 3; i++) {
        least = over_face_sq(a, b->corner[i], least);
        least = over_face_sq(b, a->corner[i], least);
    }
    return least;
}

/* ---- a pose ---- */

/* How many there are of each, and the bits of the upper bound: those of floats that are not
 * negative stand in the order of the floats. */
enum { WAITING, FOUND, CLOSE, CANDIDATES, UPPER, PLACE, NUMBERS };

typedef struct lists {
    __local uint2 *stack, *leaves, *likely, *kept;
    __local float *stack_sq, *leaves_sq, *kept_lower, *keys;
    __local uint *numbers;
} lists;

static inline lists lists_in(__local uint2 *room) {
    lists l;
    l.stack = room;
    l.leaves = l.stack + STACK;
    l.likely = l.leaves + LEAVES;
    l.kept = l.likely + LIKELY;
    l.stack_sq = (__local float *)(l.kept + KEPT);
    l.leaves_sq = l.stack_sq + STACK;
    l.kept_lower = l.leaves_sq + LEAVES;
    l.keys = l.kept_lower + KEPT;
    l.numbers = (__local uint *)(l.keys + GROUP);
    return l;
}

static inline void lower_upper(const lists *l, float upper) {
    if (upper < as_float(l->numbers[UPPER]))
        atomic_min(&l->numbers[UPPER], as_uint(upper));
}

static inline float square_of(float upper) {
    return upper * upper * SLACK + FLT_MIN;
}

/* Puts a pair of each item, where it has one and its boxes are near enough, among those of leaves
 * or back on the stack, of which `kept` have stayed there. */
static inline void file_pairs(const lists *l, const pair_pose *p, const side *a, const side *b,
                              uint2 pair, uint kept) {
    uint item = (uint)get_local_id(0);
    float lower_sq = INFINITY, key = -1.0f;
    if (pair.x != NONE && child_at(a, pair.x) != NONE && child_at(b, pair.y) != NONE) {
        box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
        float between;
        lower_sq = boxes_lower_sq(p, &box_a, &box_b, &between);
        lower_upper(l, between + sqrt(vec_dot(box_a.half_size, box_a.half_size)) +
                           sqrt(vec_dot(box_b.half_size, box_b.half_size)) + p->margin);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    bool near = lower_sq <= square_of(as_float(l->numbers[UPPER]));
    if (near && leaves_both(a, b, pair)) {
        uint place = atomic_inc(&l->numbers[FOUND]);
        l->leaves[place] = pair;
        l->leaves_sq[place] = lower_sq;
    } else if (near) {
        key = lower_sq;
    }
    l->keys[item] = key;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = 0, all = 0; /* those further away, or as far and of an item before this one */
    for (uint j = 0; j < GROUP; j++) {
        float other = l->keys[j];
        all += other >= 0.0f;
        before += other > key || (other == key && j < item);
    }
    if (key >= 0.0f) {
        l->stack[kept + before] = pair;
        l->stack_sq[kept + before] = lower_sq;
    }
    if (item == 0)
        l->numbers[WAITING] = kept + all;
}

/* Which triangles of the last `count` pairs of leaves are worth measuring. */
static inline void look_at_leaves(const lists *l, const pair_pose *p, const side *a, const side *b,
                                  uint found, uint count) {
    uint item = (uint)get_local_id(0), which = item / (WIDTH * WIDTH);
    float gap = INFINITY, length = 0.0f;
    uint2 at;
    if (which < count &&
        l->leaves_sq[found - count + which] <= square_of(as_float(l->numbers[UPPER]))) {
        vec ta[3], tb[3];
        at = triangles_of(a, b, l->leaves[found - count + which], item % (WIDTH * WIDTH));
        load_pair(p, a, b, at, ta, tb);
        vec n = make_vec((tb[0].x + tb[1].x + tb[2].x) - (ta[0].x + ta[1].x + ta[2].x),
                         (tb[0].y + tb[1].y + tb[2].y) - (ta[0].y + ta[1].y + ta[2].y),
                         (tb[0].z + tb[1].z + tb[2].z) - (ta[0].z + ta[1].z + ta[2].z));
        gap = fmin(fmin(vec_dot(n, tb[0]), vec_dot(n, tb[1])), vec_dot(n, tb[2])) -
              fmax(fmax(vec_dot(n, ta[0]), vec_dot(n, ta[1])), vec_dot(n, ta[2]));
        length = sqrt(vec_dot(n, n));
        lower_upper(l, length * (1.0f / 3.0f) + p->margin);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    /* where the square of a length underflows, nothing is known */
    if (length < 1e-15f ? gap < INFINITY
                        : gap <= (as_float(l->numbers[UPPER]) + p->margin) * length)
        l->likely[atomic_inc(&l->numbers[CLOSE])] = at;
    if (item == 0)
        l->numbers[FOUND] = found - count;
}

/* Measures the last `count` of the likely pairs. */
static inline void measure_pairs(const lists *l, const pair_pose *p, const side *a, const side *b,
                                 uint likely, uint count) {
    uint item = (uint)get_local_id(0);
    float distance = INFINITY;
    uint2 at;
    if (item < count) {
        triangle ta, tb;
        at = l->likely[likely - count + item];
        load_pair(p, a, b, at, ta.corner, tb.corner);
        distance = sqrt(distance_sq(&ta, &tb));
        lower_upper(l, distance + p->margin);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float lower = distance - p->margin;
    if (lower <= as_float(l->numbers[UPPER])) {
        uint place = atomic_inc(&l->numbers[CANDIDATES]);
        l->kept[place] = at;
        l->kept_lower[place] = lower;
    }
    if (item == 0)
        l->numbers[CLOSE] = likely - count;
}

/* Drops candidates that have been beaten. */
static inline void drop_beaten(const lists *l) {
    uint item = (uint)get_local_id(0), count = l->numbers[CANDIDATES];
    float upper = as_float(l->numbers[UPPER]), lower[KEPT / GROUP];
    uint2 at[KEPT / GROUP];
    for (uint k = 0; k < KEPT / GROUP; k++) {
        uint i = k * GROUP + item;
        lower[k] = i < count ? l->kept_lower[i] : INFINITY;
        at[k] = l->kept[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        l->numbers[CANDIDATES] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < KEPT / GROUP; k++)
        if (lower[k] <= upper) {
            uint place = atomic_inc(&l->numbers[CANDIDATES]);
            l->kept[place] = at[k];
            l->kept_lower[place] = lower[k];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Finds all candidates. False where there are too many of anything; true too where some are closer
 * than `sure`, which ends the search. */
static inline bool search(const lists *l, const pair_pose *p, const side *a, const side *b) {
    uint item = (uint)get_local_id(0);
    file_pairs(l, p, a, b,
               item < WIDTH * WIDTH ? (uint2)(item / WIDTH, item % WIDTH) : (uint2)(NONE, NONE), 0);
    for (uint round = 0; round < ROUNDS; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = l->numbers[WAITING], found = l->numbers[FOUND], close = l->numbers[CLOSE];
        uint kept = l->numbers[CANDIDATES];
        float upper = as_float(l->numbers[UPPER]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (waiting + found + close == 0 || upper <= p->sure)
            return true;
        if (close >= GROUP || (close && waiting + found == 0)) {
            if (kept > KEPT - GROUP) {
                drop_beaten(l);
                if (l->numbers[CANDIDATES] > KEPT - GROUP)
                    return false;
            }
            measure_pairs(l, p, a, b, close, min(close, (uint)GROUP));
        } else if (found >= LOOKED || waiting == 0) {
            look_at_leaves(l, p, a, b, found, min(found, (uint)LOOKED));
        } else {
            uint opened = min(min(waiting, (uint)OPENED), (STACK - waiting) / 3);
            uint2 pair = (uint2)(NONE, NONE);
            if (opened == 0)
                return false;
            uint from = waiting - opened + item / WIDTH;
            if (item / WIDTH < opened && l->stack_sq[from] <= square_of(upper))
                pair = pair_below(a, b, l->stack[from], item % WIDTH);
            file_pairs(l, p, a, b, pair, waiting - opened);
        }
    }
    return false;
}

/* For each pose where pair_meet of pair.cl has found no meeting: where in `pairs` its candidates
 * begin and how many they are, or TOO_MUCH, or WITHIN. `total` starts with 0. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void pair_closest(
    __global const node *nodes_a, __global const node *nodes_b, __global const float *triangles_a,
    __global const float *triangles_b, __global const uint *order_a, __global const uint *order_b,
    __global const pair_pose *poses, __global const uint *meetings, __global uint2 *results,
    __global uint2 *pairs, __global uint *total, __local uint2 *room) {
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    pair_pose p = poses[pose];
    const side a = {nodes_a, triangles_a, order_a, p.unit_a};
    const side b = {nodes_b, triangles_b, order_b, p.unit_b};
    const lists l = lists_in(room);
    if (meetings[pose] == MEETS || meetings[pose] == TOO_MUCH)
        return;
    if (item < NUMBERS)
        l.numbers[item] = item == UPPER ? as_uint(p.upper) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    bool done = search(&l, &p, &a, &b);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!done || as_float(l.numbers[UPPER]) <= p.sure) {
        if (item == 0)
            results[pose] = (uint2)(0, done ? WITHIN : TOO_MUCH);
        return;
    }
    drop_beaten(&l);
    uint count = l.numbers[CANDIDATES];
    if (item == 0) {
        l.numbers[PLACE] = count <= GROUP ? atomic_add(total, count) : 0;
        results[pose] = (uint2)(l.numbers[PLACE], count <= GROUP ? count : TOO_MUCH);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (count <= GROUP && item < count)
        pairs[l.numbers[PLACE] + item] = (uint2)(a.order[l.kept[item].x], b.order[l.kept[item].y]);
}
