/* Traversal of the broad phase, compiled for 4, 8 and 16 lanes. See broad.h. */
#include "sweep/broad.h"

#include "base/simd_lanes.h"

/* One box, in every lane. */
typedef struct wide_box {
    wide lo[3], hi[3];
} wide_box;

static inline wide_box box_at(const sweep_group *group, uint32_t at) {
    wide_box box;
    for (int axis = 0; axis < 3; axis++) {
        box.lo[axis] = v_all(group->lo[axis][at]);
        box.hi[axis] = v_all(group->hi[axis][at]);
    }
    return box;
}

/* Bit k is set if box k of the group overlaps the box. */
static inline unsigned overlap_bits(const sweep_group *group, const wide_box *box) {
    unsigned bits = 0;
    for (uint32_t i = 0; i < SWEEP_GROUP; i += LANES) {
        unsigned part = ~0u;
        for (int axis = 0; axis < 3; axis++) {
            part &= v_mask_bits(v_less_equal(v_load(group->lo[axis] + i), box->hi[axis]));
            part &= v_mask_bits(v_less_equal(box->lo[axis], v_load(group->hi[axis] + i)));
        }
        bits |= part << i;
    }
    return bits;
}

/* The same. `sure` has the bits of overlaps that no pair of equal floats decides. */
static inline unsigned overlap_bits_with_doubt(const sweep_group *group, const wide_box *box,
                                               unsigned *sure) {
    unsigned bits = 0, inner = 0;
    for (uint32_t i = 0; i < SWEEP_GROUP; i += LANES) {
        unsigned part = ~0u, inside = ~0u;
        for (int axis = 0; axis < 3; axis++) {
            wide lo = v_load(group->lo[axis] + i), hi = v_load(group->hi[axis] + i);
            part &= v_mask_bits(v_less_equal(lo, box->hi[axis]));
            part &= v_mask_bits(v_less_equal(box->lo[axis], hi));
            inside &= v_mask_bits(v_less(lo, box->hi[axis]));
            inside &= v_mask_bits(v_less(box->lo[axis], hi));
        }
        bits |= part << i;
        inner |= inside << i;
    }
    *sure = inner;
    return bits;
}

/* ---- sets ---- */

static inline unsigned sets_at(const sweep_group_sets *sets, uint32_t at) {
    return (sets->has[0] >> at & 1u) | (sets->has[1] >> at & 1u) << 1 |
           (sets->has[2] >> at & 1u) << 2;
}

/* The bits of those that are candidates with a feature, or a group, of some sets. */
static inline unsigned candidate_bits(const sweep_group_sets *of, unsigned sets) {
    if (sets & 4)
        return ~0u;
    return of->has[2] | (sets & 1 ? of->has[1] : 0u) | (sets & 2 ? of->has[0] : 0u);
}

/* ---- traversal: groups that overlap a box ---- */

typedef struct group_traversal {
    const sweep_tree *tree;
    wide_box box;
    unsigned sets;  /* of the group, if there are any */
    uint32_t owner; /* groups with this owner are skipped */
    uint32_t from;  /* groups before this one are skipped */
    uint32_t level;
    uint32_t at[SWEEP_LEVELS]; /* by level from `level` up: index of the group */
    unsigned left[SWEEP_LEVELS];
} group_traversal;

static inline void visit_node(group_traversal *w, uint32_t level, uint32_t at) {
    uint32_t first = (uint32_t)((uint64_t)w->from >> 4 * (level - 1)), here = SWEEP_GROUP * at;
    unsigned bits = overlap_bits(&w->tree->groups[level][at], &w->box);
    if (w->tree->sets[level])
        bits &= candidate_bits(&w->tree->sets[level][at], w->sets);
    if (first > here)
        bits = first - here < SWEEP_GROUP ? bits & ~0u << (first - here) : 0;
    w->level = level;
    w->at[level] = at;
    w->left[level] = bits;
}

/* The next group of features, or UINT32_MAX. */
static inline uint32_t next_group(group_traversal *w) {
    for (;;) {
        while (!w->left[w->level])
            if (w->level++ == w->tree->top)
                return UINT32_MAX;
        uint32_t child = SWEEP_GROUP * w->at[w->level] + abuti_lowest_bit(w->left[w->level]);
        w->left[w->level] &= w->left[w->level] - 1;
        if (w->owner != SWEEP_MIXED && w->tree->owner[w->level - 1][child] == w->owner)
            continue;
        if (w->level == 1)
            return child;
        visit_node(w, w->level - 1, child);
    }
}

/* ---- pairs of features ---- */

/* Clears the bits of features whose boxes do not overlap in doubles. */
static unsigned clear_false_overlaps(const sweep_sides *sides, uint32_t first, uint32_t second,
                                     unsigned bits, unsigned doubtful) {
    for (; doubtful; doubtful &= doubtful - 1) {
        uint32_t k = abuti_lowest_bit(doubtful);
        if (!abuti_broad_overlap(sides, first, second + k))
            bits &= ~(1u << k);
    }
    return bits;
}

/* Removes the pairs from index `from` on that no_self or no_others exclude. */
static void remove_excluded_pairs(const sweep_sides *sides, uint32_t from, sweep_candidates *to) {
    const uint32_t *owner = sides->broad->owner;
    uint32_t kept = from;
    for (uint32_t i = from; i < to->count; i++) {
        const uint32_t *corners = to->corners + 4 * (size_t)i;
        bool same = owner[corners[0]] == owner[corners[3]];
        memmove(to->corners + 4 * (size_t)kept, corners, 4 * sizeof *corners);
        memmove(to->pairs + 2 * (size_t)kept, to->pairs + 2 * (size_t)i, 2 * sizeof *to->pairs);
        kept += !(same ? sides->no_self : sides->no_others);
    }
    to->count = kept;
}

/* Adds the pairs of one vertex with the faces second + k of all bits k, except faces that contain
 * the vertex. */
static inline void add_vertex_face_pairs(const sweep_tree *faces, uint32_t vertex, uint32_t second,
                                         unsigned bits, sweep_candidates *to) {
    uint32_t n = to->count;
    for (; bits; bits &= bits - 1) {
        uint32_t face = second + abuti_lowest_bit(bits);
        const uint32_t *corner = faces->corner + 3 * (size_t)face;
        uint32_t *pair = to->pairs + 2 * (size_t)n, *corners = to->corners + 4 * (size_t)n;
        pair[0] = vertex;
        pair[1] = face;
        corners[0] = vertex;
        corners[1] = corner[0];
        corners[2] = corner[1];
        corners[3] = corner[2];
        n += (corner[0] != vertex) & (corner[1] != vertex) & (corner[2] != vertex);
    }
    to->count = n;
}

static inline void add_edge_pairs(const sweep_tree *edges, uint32_t first, uint32_t second,
                                  unsigned bits, sweep_candidates *to) {
    const uint32_t a = edges->corner[2 * (size_t)first], b = edges->corner[2 * (size_t)first + 1];
    uint32_t n = to->count;
    for (; bits; bits &= bits - 1) {
        uint32_t edge = second + abuti_lowest_bit(bits);
        uint32_t c = edges->corner[2 * (size_t)edge], d = edges->corner[2 * (size_t)edge + 1];
        uint32_t *pair = to->pairs + 2 * (size_t)n, *corners = to->corners + 4 * (size_t)n;
        pair[0] = first;
        pair[1] = edge;
        corners[0] = a;
        corners[1] = b;
        corners[2] = c;
        corners[3] = d;
        n += (a != c) & (a != d) & (b != c) & (b != d);
    }
    to->count = n;
}

/* All pairs of two groups. */
static void collect_pairs_of_groups(const sweep_sides *sides, uint32_t group, uint32_t other,
                                    sweep_candidates *to) {
    const sweep_tree *first = sides->first, *second = sides->second;
    const bool same = first == second;
    const sweep_group *ours = &first->groups[0][group], *theirs = &second->groups[0][other];
    const uint32_t here = SWEEP_GROUP * group, there = SWEEP_GROUP * other, from = to->count;
    wide_box around = box_at(&second->groups[1][other / SWEEP_GROUP], other % SWEEP_GROUP);
    for (unsigned rows = overlap_bits(ours, &around); rows; rows &= rows - 1) {
        uint32_t k = abuti_lowest_bit(rows);
        wide_box box = box_at(ours, k);
        unsigned sure, bits = overlap_bits_with_doubt(theirs, &box, &sure);
        if (same && group == other)
            bits &= ~0u << k << 1;
        if (first->sets[0])
            bits &= candidate_bits(&second->sets[0][other], sets_at(&first->sets[0][group], k));
        unsigned doubtful = sides->closed ? 0 : bits & ~sure;
        if (doubtful)
            bits = clear_false_overlaps(sides, here + k, there, bits, doubtful);
        if (same)
            add_edge_pairs(second, here + k, there, bits, to);
        else
            add_vertex_face_pairs(second, here + k, there, bits, to);
    }
    if (sides->no_self || sides->no_others)
        remove_excluded_pairs(sides, from, to);
}

void BY_LANES(abuti_collect)(const sweep_sides *sides, sweep_cursor *cursor, sweep_candidates *to) {
    const sweep_tree *first = sides->first;
    for (; cursor->group < cursor->end; cursor->group++) {
        const uint32_t group = cursor->group;
        group_traversal w = {.tree = sides->second};
        w.box = box_at(&first->groups[1][group / SWEEP_GROUP], group % SWEEP_GROUP);
        if (first->sets[1])
            w.sets = sets_at(&first->sets[1][group / SWEEP_GROUP], group % SWEEP_GROUP);
        w.owner = first->owner[0] ? first->owner[0][group] : SWEEP_MIXED;
        w.from = first == sides->second && cursor->next < group ? group : cursor->next;
        visit_node(&w, w.tree->top, 0);
        for (;;) {
            uint32_t other = next_group(&w);
            if (other == UINT32_MAX)
                break;
            if (to->count > SWEEP_PORTION - SWEEP_GROUP * SWEEP_GROUP) {
                cursor->next = other;
                return;
            }
            collect_pairs_of_groups(sides, group, other, to);
        }
        cursor->next = 0;
    }
}
