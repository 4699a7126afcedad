/* Winding numbers of neighbouring points, compiled for 4, 8 and 16 lanes: winding.c describes the
 * method.
 *
 * One traversal for eight points. A child is far if it is for all of them, which is usually the
 * same for neighbours; otherwise its children are evaluated, which is only more accurate. So the
 * numbers differ from those of abuti_sign_winding() by at most the errors of both, and are the same
 * with any number of lanes.
 */
#include "base/simd.h"
#include "sign/sign.h"
#include "sign/winding_shared.h"

#include "base/simd_lanes.h"

enum {
    POINTS_PER_GROUP = 8,
    VECTORS = LANES < POINTS_PER_GROUP ? POINTS_PER_GROUP / LANES : 1,
    GROUP_CAPACITY = VECTORS * LANES
};

/* Some points in the frame, in vectors of LANES, and their sums so far. */
typedef struct point_group {
    uint32_t count;
    float at[3][GROUP_CAPACITY];
    double sum[POINTS_PER_GROUP];
    half_angles near[POINTS_PER_GROUP];
} point_group;

static inline wide dot_coefficients(const float (*coefficients)[BVH_WIDTH], uint32_t slot,
                                    const wide *powers, int count) {
    wide sum = v_mul(v_all(coefficients[0][slot]), powers[0]);
    for (int i = 1; i < count; i++)
        sum = v_add(v_mul(v_all(coefficients[i][slot]), powers[i]), sum);
    return sum;
}

/* The field of a child at the vector r. */
static inline wide evaluate_field(const bvh_far_node *field, uint32_t slot, const wide r[3],
                                  wide r_sq) {
    const wide inverse = fw_div(v_all(1), fw_sqrt(r_sq));
    const wide x = v_mul(r[0], inverse), y = v_mul(r[1], inverse), z = v_mul(r[2], inverse);
    const wide xx = v_mul(x, x), yy = v_mul(y, y), zz = v_mul(z, z);
    const wide xy = v_mul(x, y), yz = v_mul(y, z), zx = v_mul(z, x);
    const wide one[3] = {x, y, z}, two[6] = {xx, yy, zz, xy, yz, zx};
    const wide three[10] = {v_mul(xx, x), v_mul(yy, y), v_mul(zz, z), v_mul(xx, y), v_mul(yy, z),
                            v_mul(zz, x), v_mul(xy, y), v_mul(yz, z), v_mul(zx, x), v_mul(xy, z)};
    const wide n = dot_coefficients(field->n, slot, one, 3),
               m = dot_coefficients(field->m, slot, two, 6),
               k = dot_coefficients(field->k, slot, three, 10);
    const wide rest = v_add(v_mul(v_mul(k, v_all(7.5f)), inverse), v_mul(m, v_all(-3)));
    return v_mul(v_mul(v_add(v_mul(rest, inverse), n), inverse), inverse);
}

/* Points that are at some distance from the box of a child, as a mask. */
static unsigned distant_points(const point_group *v, const bvh_node *node, uint32_t slot) {
    unsigned apart = 0;
    for (uint32_t part = 0; part < VECTORS; part++) {
        wide gap_sq = v_all(0);
        float size_sq = 0;
        for (int axis = 0; axis < 3; axis++) {
            const float lo = node->lo[axis][slot], hi = node->hi[axis][slot];
            const wide at = v_load(v->at[axis] + part * LANES);
            const wide gap = v_max(v_max(v_sub(v_all(lo), at), v_sub(at, v_all(hi))), v_all(0));
            gap_sq = v_add(v_mul(gap, gap), gap_sq);
            size_sq += 0.25f * (hi - lo) * (hi - lo);
        }
        apart |= v_mask_bits(v_less(v_all(size_sq * (DISTANT_RATIO * DISTANT_RATIO)), gap_sq))
                 << part * LANES;
    }
    return apart;
}

static void add_leaf(point_group *v, const abut_bvh *bvh, const bvh_node *node, uint32_t slot,
                     const vec3 *points) {
    const unsigned apart = distant_points(v, node, slot);
    for (uint32_t i = 0; i < v->count; i++)
        abuti_sign_add_leaf(&v->near[i], bvh, node, slot, apart >> i & 1, points[i],
                            (const float[3]){v->at[0][i], v->at[1][i], v->at[2][i]});
}

/* Adds the field of a child that is far from all points. Returns false if it is not. */
static bool add_far_child(point_group *v, const bvh_far_node *far, const bvh_node *node,
                          uint32_t slot) {
    const unsigned every = (1u << LANES) - 1;
    wide r[VECTORS][3], r_sq[VECTORS];
    for (uint32_t part = 0; part < VECTORS; part++) {
        for (int k = 0; k < 3; k++)
            r[part][k] = v_sub(v_all((node->lo[k][slot] + node->hi[k][slot]) * 0.5f),
                               v_load(v->at[k] + part * LANES));
        const wide *d = r[part];
        r_sq[part] = v_add(v_mul(d[0], d[0]), v_add(v_mul(d[1], d[1]), v_mul(d[2], d[2])));
        if (v_mask_bits(v_less(v_all(far->near_sq[slot]), r_sq[part])) != every)
            return false;
    }
    float field[GROUP_CAPACITY];
    for (uint32_t part = 0; part < VECTORS; part++)
        v_store(field + part * LANES, evaluate_field(far, slot, r[part], r_sq[part]));
    for (uint32_t i = 0; i < POINTS_PER_GROUP; i++)
        v->sum[i] += (double)field[i];
    return true;
}

static void evaluate_far_node(const abut_bvh *bvh, const bvh_far_node *far, const vec3 *points,
                              point_group *v) {
    uint32_t stack[BVH_STACK], used = 0;
    stack[used++] = 0;
    while (used) {
        const uint32_t index = stack[--used];
        const bvh_node *node = &bvh->nodes[index];
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            const uint32_t child = node->child[slot];
            if (child == ABUT_NONE || add_far_child(v, &far[index], node, slot))
                continue;
            if (!(child & BVH_LEAF))
                stack[used++] = child;
            else
                add_leaf(v, bvh, node, slot, points);
        }
    }
}

void BY_LANES(abuti_sign_windings)(const abut_bvh *bvh, const bvh_far_node *far, const vec3 *points,
                                   uint32_t count, double *windings) {
    for (uint32_t begin = 0; begin < count; begin += POINTS_PER_GROUP) {
        point_group v = {.count =
                             count - begin < POINTS_PER_GROUP ? count - begin : POINTS_PER_GROUP};
        bool somewhere = true;
        for (uint32_t i = 0; i < GROUP_CAPACITY; i++) {
            vec3 p = v3_sub(points[begin + (i < v.count ? i : 0)], bvh->mesh->origin);
            p = v3_scale(p, bvh->scale);
            somewhere = somewhere && v3_max_abs(p) < FLOAT_COORDINATE_MAX;
            for (int k = 0; k < 3; k++)
                v.at[k][i] = somewhere ? (float)v3_get(p, k) : 0;
        }
        for (uint32_t i = 0; i < POINTS_PER_GROUP; i++)
            v.near[i] = (half_angles){1, 0, 0};
        if (somewhere)
            evaluate_far_node(bvh, far, points + begin, &v);
        for (uint32_t i = 0; i < v.count; i++)
            windings[begin + i] =
                somewhere ? winding_value(v.sum[i], v.near[i].x, v.near[i].y, v.near[i].turns)
                          : abuti_sign_winding(bvh, far, points[begin + i]);
    }
}
