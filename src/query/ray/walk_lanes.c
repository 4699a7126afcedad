/* Rays in the wide tree (wide.h), many at once, for as many LANES as this file is compiled for.
 *
 * A single ray in a tree is bound by latency: of memory, of the previous step, and of mispredicted
 * branches. So several rays are active at a time, each with its own stack. In a round all pop the
 * top of their stacks, and then all nodes are tested, and all leaves: steps without branches that
 * do not depend on each other. A ray that has finished is replaced by the next.
 *
 * Decisions in floats. A ray begins at p, at most P <= 16 from 0 on each axis, if necessary after
 * it has been moved near the mesh. Let e = 2^-24, and m = 16 e (P + 3).
 *   - Projections. A corner is origin + q step on each axis, at most 2; the projection along z,
 * with slopes of at most 1, is a constant plus q_x step_x plus q_z (slope step_z). The slope and
 * the offset of p give errors of 2 e and 2 P e, the constant, with two sums, 4 (P + 2) e, products
 * 12 e and the two other sums 2 (2 P + 12) e: less than m in total. Quantisation adds half a step
 * on two axes, so the margin of a leaf is m plus its longest step. The same holds for z.
 *   - Slabs. The interval of the origin is wider by m on either side, which covers the rounding of
 *     p, of the sum with m and of its product with 1 / d, and of a plane, origin + q step, less
 * than (3 P + 12) e. The remaining errors are relative, less than 2^-21 for entry and exit
 * together; ROUNDING_FACTOR is eight times that. pierce_cl.h derives the errors of edge sides and
 * of the parameter from that of projections.
 *
 * A triangle that is certainly hit is a candidate as long as it may be the first: if one remains in
 * the end, its parameter and weights are computed exactly. All uncertain triangles are decided by
 * the exact predicate at once. So results are those of a search through all triangles, and depend
 * neither on LANES nor on floats.
 */
#include "ray/ray.h"

#include "base/simd_lanes.h"

#include <math.h>
#include <stdlib.h>

enum {
    ACTIVE_RAYS = 24, /* at a time */
    STACK = 256,      /* a tree of nine levels needs at most 151 with 16 lanes */
    CANDIDATES = 8
};

#define MAX_FLOAT_ORIGIN 0x1p20f
#define BALL_RADIUS 4.0
#define MAX_UNMOVED_ORIGIN 8.0 /* rays that begin nearer are not moved */
#define PARALLEL 0x1p-60
#define ROUNDING_FACTOR (1.0f + 0x1p-18f)

/* An active ray. */
typedef struct active_ray {
    float entry_offset[4], exit_offset[4]; /* slabs: minus the ends of the interval of the origin
                                              over the direction, */
    float inverse[3];                      /* and 1 / d */
    float slope_x, slope_y, add_x, add_y, per_z, add_z; /* the projection of corners */
    float margin;
    float reach;                /* the first hit is not beyond */
    float certain_within;       /* a hit up to here is certainly within the limit */
    uint32_t first[3], last[3]; /* planes of boxes where the ray enters and leaves */
    uint32_t x, y, z;           /* axes */
    uint32_t octant, ray, used;
    double unit, moved; /* from parameters to those of the frame: times `unit`, minus `moved` */
    bool has_hit;       /* a hit has been computed, in `best` */
    uint32_t candidate_count;
    float from[CANDIDATES];
    uint32_t candidate[CANDIDATES];
    abut_ray_hit best;
    float key[STACK + LANES];
    uint32_t child[STACK + LANES];
} active_ray;

typedef struct ray_walk {
    ray_row *row;
    const wide_node *nodes;
    const wide_leaf *leaves;
    uint32_t pending_count;
    ray_pierce pending[RAY_PIERCES];
    active_ray rays[ACTIVE_RAYS];
} ray_walk;

/* ---- start of a ray ---- */

static inline double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

static inline int exponent_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52 & 2047) - 1023;
}

static inline void aim_slabs(active_ray *f, const double p[3], const double d[3]) {
    f->octant = 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        const bool parallel = !(fabs(d[axis]) >= PARALLEL);
        const uint32_t negative = d[axis] < 0 && !parallel;
        const float inverse = 1.0f / (parallel ? 0x1p-100f : (float)d[axis]), at = (float)p[axis],
                    widen = negative ? -f->margin : f->margin;
        f->inverse[axis] = inverse;
        f->entry_offset[axis] = -(at + widen) * inverse;
        f->exit_offset[axis] = -(at - widen) * inverse;
        f->first[axis] = axis + 3 * negative;
        f->last[axis] = axis + 3 - 3 * negative;
        f->octant |= negative << axis;
    }
}

typedef enum start_result { START_SEARCH, START_MISS, START_UNSUPPORTED } start_result;

/* Moves a ray that begins far away near the mesh. Returns false if it certainly misses. */
static bool move_near_mesh(vec3 *o, vec3 along, double *moved) {
    double middle = -v3_dot(*o, along) / v3_dot(along, along), towards = middle > 0 ? middle : 0;
    vec3 nearest = v3_along(*o, towards, along);
    *moved = middle - BALL_RADIUS > 0 ? middle - BALL_RADIUS : 0;
    *o = v3_along(*o, *moved, along);
    return v3_dot(nearest, nearest) <= BALL_RADIUS * BALL_RADIUS;
}

static start_result start_ray(active_ray *f, const ray_row *row, uint32_t index) {
    const abut_ray *ray = &row->rays[index];
    const abut_bvh *bvh = row->bvh;
    const int exponent = exponent_of(v3_max_abs(ray->direction)),
              of_scale = exponent_of(bvh->scale);
    vec3 o = v3_scale(v3_sub(ray->origin, bvh->mesh->origin), bvh->scale);
    double exit_offset = v3_max_abs(o);
    if (!(exit_offset < (double)MAX_FLOAT_ORIGIN) || exponent < -900 ||
        abs(exponent + of_scale) > 900)
        return START_UNSUPPORTED;
    vec3 along = v3_scale(ray->direction, power_of_two(-exponent));
    f->moved = 0;
    if (exit_offset > MAX_UNMOVED_ORIGIN) {
        if (!move_near_mesh(&o, along, &f->moved))
            return START_MISS;
        exit_offset = v3_max_abs(o);
    }
    f->unit = power_of_two(exponent + of_scale);
    f->margin = 0x1p-20f * ((float)exit_offset + 3.0f);
    const double p[3] = {o.x, o.y, o.z}, d[3] = {along.x, along.y, along.z};
    aim_slabs(f, p, d);
    f->z = fabs(d[0]) >= fabs(d[1]) && fabs(d[0]) >= fabs(d[2]) ? 0
           : fabs(d[1]) >= fabs(d[2])                           ? 1
                                                                : 2;
    f->x = f->z == 2 ? 0 : f->z + 1;
    f->y = f->z == 0 ? 2 : f->z - 1;
    const double per_z = 1 / d[f->z], slope_x = d[f->x] * per_z, slope_y = d[f->y] * per_z;
    f->slope_x = (float)-slope_x;
    f->slope_y = (float)-slope_y;
    f->add_x = (float)(p[f->z] * slope_x - p[f->x]);
    f->add_y = (float)(p[f->z] * slope_y - p[f->y]);
    f->per_z = (float)per_z;
    f->add_z = (float)(-p[f->z] * per_z);
    const double limit = row->limit * f->unit - f->moved;
    f->reach = limit < 16 ? (float)limit + f->margin : INFINITY;
    f->certain_within = limit < 16 ? (float)limit - f->margin : INFINITY;
    f->ray = index;
    f->has_hit = false;
    f->candidate_count = 0;
    f->key[0] = 0;
    f->child[0] = 0;
    f->used = f->reach >= 0;
    return START_SEARCH;
}

/* ---- hits ---- */

/* Records one of all hits. */
static void record_hit(ray_row *row, const active_ray *f, uint32_t triangle, bool certain) {
    row->counts[f->ray]++;
    if (row->found_count < row->found_max)
        row->found[row->found_count++] =
            (ray_found){.ray = f->ray & 0xffff, .certain = certain, .triangle = triangle};
}

/* Updates the first hit with one that has been computed. */
static void update_best(active_ray *f, const abut_ray_hit *hit) {
    if (f->has_hit && (f->best.parameter < hit->parameter ||
                       (f->best.parameter == hit->parameter && f->best.triangle < hit->triangle)))
        return;
    f->best = *hit;
    f->has_hit = true;
    float end = (float)(hit->parameter * f->unit - f->moved) + f->margin;
    f->reach = end < f->reach ? end : f->reach;
}

/* Applies the exact predicate. */
static void test_triangle_exactly(ray_row *row, active_ray *f, uint32_t triangle) {
    abut_ray_hit hit;
    if (!abuti_ray_meet(row, f->ray, triangle, &hit))
        return;
    if (row->what == RAY_ALL)
        record_hit(row, f, triangle, false);
    else
        update_best(f, &hit);
}

/* Prunes candidates beyond the first hit. */
static void prune_candidates(active_ray *f) {
    uint32_t kept = 0;
    wide bound = v_all(f->reach * ROUNDING_FACTOR);
    for (uint32_t i = 0; i < f->used; i += LANES) {
        wide key = v_load(f->key + i);
        unsigned bits = v_mask_bits(v_less_equal(key, bound));
        bits &= f->used - i < LANES ? (1u << (f->used - i)) - 1 : ~0u;
        kept += fw_pack_pairs(f->key + kept, f->child + kept, key, f->child + i, bits);
    }
    f->used = kept;
}

/* Adds candidates of a leaf: those whose bits are set are hit between `low` and `high`. */
static void add_certain_candidates(ray_row *row, active_ray *f, const wide_leaf *leaf,
                                   unsigned bits, const float low[LANES], const float high[LANES]) {
    for (unsigned rest = bits; rest; rest &= rest - 1) {
        float end = high[__builtin_ctz(rest)];
        f->reach = end < f->reach ? end : f->reach;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->candidate_count; i++) {
        f->from[kept] = f->from[i];
        f->candidate[kept] = f->candidate[i];
        kept += f->from[i] <= f->reach;
    }
    for (; bits; bits &= bits - 1) {
        unsigned lane = (unsigned)__builtin_ctz(bits);
        if (low[lane] > f->reach)
            continue;
        if (kept == CANDIDATES) {
            test_triangle_exactly(row, f, leaf->triangle[lane]);
            continue;
        }
        f->from[kept] = low[lane];
        f->candidate[kept++] = leaf->triangle[lane];
    }
    f->candidate_count = kept;
}

/* Adds the triangles of a leaf that may be hit; those whose bits are in `certain` are. */
static __attribute__((noinline)) void add_hits(ray_walk *w, active_ray *f, const wide_leaf *leaf,
                                               unsigned may, unsigned certain, wide low_,
                                               wide high_) {
    ray_row *row = w->row;
    float low[LANES], high[LANES];
    v_store(low, low_);
    v_store(high, high_);
    for (unsigned rest = certain; rest;
         rest &= rest - 1) { /* before the ray, or beyond the limit */
        unsigned lane = (unsigned)__builtin_ctz(rest);
        if (!(low[lane] > 0 && high[lane] <= f->certain_within))
            certain &= ~(1u << lane);
    }
    if (row->what == RAY_ANY && certain) {
        f->has_hit = true;
        f->used = 0;
        return;
    }
    if (row->what <= RAY_EXIT && certain)
        add_certain_candidates(row, f, leaf, certain, low, high);
    for (unsigned rest = row->what == RAY_ALL ? certain : 0; rest; rest &= rest - 1)
        record_hit(row, f, leaf->triangle[__builtin_ctz(rest)], true);
    for (unsigned rest = may & ~certain; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        if (low[lane] <= f->reach)
            test_triangle_exactly(row, f, leaf->triangle[lane]);
    }
    if (row->what == RAY_ANY && f->has_hit)
        f->used = 0;
    else if (row->what <= RAY_EXIT)
        prune_candidates(f);
}

/* ---- steps ---- */

static inline void node_step(const wide_node *node, active_ray *f) {
    wide enter = v_all(0), leave = v_all(f->reach);
    for (int axis = 0; axis < 3; axis++) {
        const float inverse = f->inverse[axis], from = node->origin[axis] * inverse;
        const wide step = v_all(node->step[axis] * inverse);
        wide in = v_mul_add(fw_load_u8(node->planes[f->first[axis]]), step,
                            v_all(from + f->entry_offset[axis]));
        wide out = v_mul_add(fw_load_u8(node->planes[f->last[axis]]), step,
                             v_all(from + f->exit_offset[axis]));
        enter = v_max(enter, in);
        leave = v_min(leave, out);
    }
    f->used +=
        fw_pack_ordered(f->key + f->used, f->child + f->used, enter, node->child,
                        node->order[f->octant],
                        v_less_equal(enter, v_mul(leave, v_all(ROUNDING_FACTOR))), node->count);
}

/* The side of the line on which an edge passes, for u, v and w of pierce_cl.h. */
static inline wide edge_side(wide ax, wide ay, wide bx, wide by) {
    return v_mul_from(ay, bx, v_mul(ax, by));
}

static inline void leaf_step(ray_walk *w, const wide_leaf *leaf, active_ray *f) {
    wide x[3], y[3], z[3], size[3], m = v_all(f->margin + leaf->step_max), zero = v_all(0);
    const float origin_z = leaf->origin[f->z], step_z = leaf->step[f->z];
    const wide step_x = v_all(leaf->step[f->x]), step_y = v_all(leaf->step[f->y]),
               step_xz = v_all(f->slope_x * step_z), step_yz = v_all(f->slope_y * step_z),
               step_zz = v_all(f->per_z * step_z),
               from_x = v_all(leaf->origin[f->x] + f->slope_x * origin_z + f->add_x),
               from_y = v_all(leaf->origin[f->y] + f->slope_y * origin_z + f->add_y),
               from_z = v_all(f->per_z * origin_z + f->add_z);
    for (int k = 0; k < 3; k++) {
        wide cx = fw_load_u16(leaf->corner[k][f->x]), cy = fw_load_u16(leaf->corner[k][f->y]),
             cz = fw_load_u16(leaf->corner[k][f->z]);
        x[k] = v_mul_add(cx, step_x, v_mul_add(cz, step_xz, from_x));
        y[k] = v_mul_add(cy, step_y, v_mul_add(cz, step_yz, from_y));
        z[k] = v_mul_add(cz, step_zz, from_z);
        size[k] = v_add(v_add(v_abs(x[k]), v_abs(y[k])), m);
    }
    wide u = edge_side(x[1], y[1], x[2], y[2]), v = edge_side(x[2], y[2], x[0], y[0]),
         s = edge_side(x[0], y[0], x[1], y[1]), twice = v_add(m, m);
    wide eu = v_mul(twice, v_add(size[1], size[2])), ev = v_mul(twice, v_add(size[2], size[0])),
         es = v_mul(twice, v_add(size[0], size[1]));
    wide d = v_add(v_add(u, v), s), e = v_add(v_add(eu, ev), es);
    wide left = v_max(v_max(v_sub(u, eu), v_sub(v, ev)), v_sub(s, es));
    wide right = v_min(v_min(v_add(u, eu), v_add(v, ev)), v_add(s, es));
    wide certain_within =
        v_min(v_min(v_sub(v_abs(u), eu), v_sub(v_abs(v), ev)), v_sub(v_abs(s), es));
    unsigned both = v_mask_bits(v_less(zero, left)) & v_mask_bits(v_less(right, zero));
    wide low = v_min(v_min(z[0], z[1]), z[2]), high = v_max(v_max(z[0], z[1]), z[2]);
    unsigned may = v_mask_bits(v_less_equal(zero, v_add(high, m))) &
                   v_mask_bits(v_less_equal(v_sub(low, m), v_all(f->reach))) & ~both &
                   ((1u << leaf->count) - 1);
    if (!may)
        return;
    mask certain = mw_and(v_less(zero, certain_within), v_less(v_add(e, e), v_abs(d)));
    if (w->row->what == RAY_EXIT) /* d has the sign of the cosine with the normal, over d_z */
        may &= ~v_mask_bits(mw_and(certain, v_less(v_mul(d, v_all(f->per_z)), zero)));
    wide per_d = fw_quotient(v_all(1), v_select(certain, d, v_all(1)));
    wide wrong = v_mul_add(v_mul(v_mul(v_all(4), e), v_abs(per_d)), v_sub(high, low), twice);
    wide t = v_mul(v_mul_add(u, z[0], v_mul_add(v, z[1], v_mul(s, z[2]))), per_d);
    low = v_sub(low, m);
    high = v_add(high, m);
    low = v_select(certain, v_max(low, v_sub(t, wrong)), low);
    high = v_select(certain, v_min(high, v_add(t, wrong)), high);
    may &= v_mask_bits(v_less_equal(zero, high)) & v_mask_bits(v_less_equal(low, v_all(f->reach)));
    if (may)
        add_hits(w, f, leaf, may, may & v_mask_bits(certain), low, high);
}

/* ---- end of a ray ---- */

/* Prefetches the top of a stack. */
static inline void prefetch_top(const ray_walk *w, const active_ray *f) {
    const uint32_t top = f->child[f->used - 1];
    const char *from =
        top & BVH_LEAF ? (const char *)&w->leaves[top & ~BVH_LEAF] : (const char *)&w->nodes[top];
    for (size_t i = 0; i < sizeof(wide_leaf); i += 64)
        ABUTI_PREFETCH(from + i);
}

static void compute_pending_hits(ray_walk *w) {
    BY_LANES(abuti_ray_pierce)(w->row->bvh->mesh, w->pending, w->pending_count);
    w->pending_count = 0;
}

static void finish_ray(ray_walk *w, active_ray *f) {
    ray_row *row = w->row;
    if (row->what > RAY_EXIT) {
        if (row->what == RAY_ANY)
            row->any[f->ray] = f->has_hit;
        return;
    }
    if (f->candidate_count == 1 && !f->has_hit) {
        w->pending[w->pending_count++] =
            (ray_pierce){&row->rays[f->ray], f->candidate[0], &row->hits[f->ray]};
        if (w->pending_count == RAY_PIERCES)
            compute_pending_hits(w);
        return;
    }
    for (uint32_t i = 0; i < f->candidate_count; i++)
        test_triangle_exactly(row, f, f->candidate[i]);
    if (f->has_hit) {
        ray_write_hit(&row->hits[f->ray], &f->best);
        return;
    }
    memset(&row->hits[f->ray], 0, sizeof *row->hits);
    row->hits[f->ray].parameter = INFINITY;
    row->hits[f->ray].triangle = ABUT_NONE;
}

/* Starts the next ray that needs a traversal. Returns false if there is none. */
static bool start_next_ray(ray_walk *w, active_ray *f, uint32_t *next) {
    ray_row *row = w->row;
    while (*next < row->count) {
        uint32_t index = (*next)++;
        start_result how = start_ray(f, row, index);
        if (how == START_SEARCH && f->used)
            return true;
        if (how == START_UNSUPPORTED) {
            row->unfinished[row->unfinished_count++] = index;
            continue;
        }
        f->ray = index;
        f->has_hit = false;
        f->candidate_count = 0;
        finish_ray(w, f);
    }
    return false;
}

void BY_LANES(abuti_ray_walk)(ray_row *row) {
    ray_walk w;
    active_ray *on_way[ACTIVE_RAYS], *at_node[ACTIVE_RAYS], *at_leaf[ACTIVE_RAYS];
    uint32_t count = 0, next = 0;
    w.row = row;
    w.nodes = row->tree->nodes;
    w.leaves = row->tree->leaves;
    w.pending_count = 0;
    row->unfinished_count = 0;
    while (count < ACTIVE_RAYS && start_next_ray(&w, &w.rays[count], &next)) {
        on_way[count] = &w.rays[count];
        count++;
    }
    while (count) {
        uint32_t nodes = 0, leaves = 0, kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            active_ray *f = on_way[i];
            uint32_t top = f->child[--f->used];
            at_node[nodes] = at_leaf[leaves] = f;
            leaves += top >> 31;
            nodes += 1 - (top >> 31);
        }
        for (uint32_t i = 0; i < nodes; i++)
            node_step(&w.nodes[at_node[i]->child[at_node[i]->used]], at_node[i]);
        for (uint32_t i = 0; i < leaves; i++)
            leaf_step(&w, &w.leaves[at_leaf[i]->child[at_leaf[i]->used] & ~BVH_LEAF], at_leaf[i]);
        for (uint32_t i = 0; i < count; i++) {
            active_ray *f = on_way[i];
            on_way[kept] = f;
            if (f->used && f->used <= STACK - LANES) {
                kept++;
                prefetch_top(&w, f);
                continue;
            }
            if (f->used)
                row->unfinished[row->unfinished_count++] = f->ray;
            else
                finish_ray(&w, f);
            kept += start_next_ray(&w, f, &next);
        }
        count = kept;
    }
    compute_pending_hits(&w);
}
