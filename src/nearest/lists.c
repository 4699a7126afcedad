/* The table of triangles laid flat, and lists from the hierarchy.
 *
 * Errors. Let e = 2^-24 be the rounding of a float, and M bound the coordinates of points and
 * twice those of the mesh, in the frame of the hierarchy. A row is found in doubles and rounded.
 *  - The axes err by e in each coordinate, and x, y and z are sums of four such products: they are
 *    those of a point that is off by less than 16 e M. So is the point itself, by 2 e M.
 *  - h and dt are sums of three products of such numbers. They are exact for a point that is off
 *    by some 8 e M more.
 * So the foot of a point p is the exact foot of some p' on some triangle T', with |p' - p| and the
 * corners of T' from those of T less than m = 32 e M away: the margin. tests/bvh measures a quarter
 * of it.
 *  - `measure`: distances err by m at most, so the nearest is among those that are at most 2 m
 *    above the least.
 *  - `filter`: the inequality of lists.h holds for p' and T' when the block is made larger by m.
 *    Let R = |g| + 2 rho, which bounds |p - g|. The triangle is really further than some other if
 *    d(p, T') > |p - g| + 2 m, so if the difference of the squares exceeds 4 m R + 4 m^2. The two
 *    squares of the inequality err by 2 m times the distance each, which is 2 m R and, for
 *    distances up to 2 R, 4 m R; beyond that T is out in any case. All in all 10 m R + 4 m^2; the
 *    rounding of the sum itself is some e R^2, far less. The limit has 16 m (R + m).
 *  - the distance in doubles, against which all this stands, is off by 4 ulp of doubles: nothing.
 */
#include "nearest/lists.h"

#include <math.h>

enum { ROWS_A_TASK = 2048 };

/* ---- table ---- */

/* Some unit vector at right angles to a unit vector. */
static vec3 any_normal(vec3 u) {
    vec3 axis = fabs(u.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    return v3_normalise(v3_cross(u, axis));
}

/* An axis through the origin of the row. The offset is taken from the rounded axis, so that only
 * what lies between the point and the triangle meets the rounding. */
static void set_axis(vec3 axis, vec3 origin, float to[4]) {
    to[0] = (float)axis.x;
    to[1] = (float)axis.y;
    to[2] = (float)axis.z;
    to[3] = (float)-v3_dot(v3(to[0], to[1], to[2]), origin);
}

/* One half: base on the axis, height at its end. */
static void set_half(double base, double height, float to[3]) {
    double length = sqrt(base * base + height * height);
    to[0] = (float)base;
    to[1] = length > 0 ? (float)(height / length) : 1;
    to[2] = length > 0 ? (float)(base / length) : 0;
}

static lists_row make_row(const vec3 corner[3], int *left_corner) {
    int longest = 0;
    double length_sq = -1;
    for (int i = 0; i < 3; i++) {
        double sq = v3_length_sq(v3_sub(corner[(i + 1) % 3], corner[i]));
        if (sq > length_sq) {
            length_sq = sq;
            longest = i;
        }
    }
    vec3 a = corner[longest], b = corner[(longest + 1) % 3], c = corner[(longest + 2) % 3];
    vec3 u = v3_normalise(v3_sub(b, a));
    double length = v3_length(v3_sub(b, a));
    if (!(length > 0))
        u = v3(1, 0, 0);
    double left = real_clamp(v3_dot(v3_sub(c, a), u), 0, length);
    vec3 origin = v3_along(a, left, u), rise = v3_sub(c, origin);
    double height = v3_length(rise);
    /* a needle's rise is mostly rounding: take out what it has of u once more */
    vec3 w = v3_normalise(v3_along(rise, -v3_dot(rise, u), u));
    w = v3_normalise(v3_along(w, -v3_dot(w, u), u));
    if (!(height > 1e-12 * length && v3_length_sq(w) > 0.5))
        w = any_normal(u);
    lists_row row;
    *left_corner = longest;
    float *column = row.column;
    set_axis(u, origin, column + LISTS_U);
    set_axis(w, origin, column + LISTS_W);
    float n[4]; /* kernels find the first three again from the rounded u and w */
    set_axis(v3_cross(v3(column[LISTS_U], column[LISTS_U + 1], column[LISTS_U + 2]),
                      v3(column[LISTS_W], column[LISTS_W + 1], column[LISTS_W + 2])),
             origin, n);
    column[LISTS_DN] = n[3];
    column[LISTS_HEIGHT] = (float)height;
    set_half(left, height, column + LISTS_LEFT);
    set_half(length - left, height, column + LISTS_RIGHT);
    return row;
}

static void rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    const lists_table *table = data;
    const abut_mesh *mesh = table->bvh->mesh;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t *index = mesh->indices + 3 * (size_t)table->bvh->order[i];
        vec3 corner[3];
        for (int k = 0; k < 3; k++)
            corner[k] = v3_scale(mesh->positions[index[k]], table->bvh->scale);
        int left;
        table->rows[i] = make_row(corner, &left);
        lists_name name = {{index[left], index[(left + 1) % 3], index[(left + 2) % 3]},
                           table->bvh->order[i]};
        table->names[i] = name;
    }
}

abut_status abuti_lists_create(const abut_bvh *bvh, lists_table *table) {
    lists_table made = {bvh, NULL, NULL};
    made.rows = abuti_allocate(bvh->context, bvh->triangle_count, sizeof *made.rows);
    made.names = abuti_allocate(bvh->context, bvh->triangle_count, sizeof *made.names);
    if (!made.rows || !made.names) {
        abuti_lists_destroy(&made);
        return ABUT_ERROR_MEMORY;
    }
    abuti_parallel_for(bvh->context, bvh->triangle_count, ROWS_A_TASK, rows_task, &made);
    *table = made;
    return ABUT_OK;
}

void abuti_lists_destroy(lists_table *table) {
    if (!table->bvh)
        return;
    ABUTI_RELEASE(table->bvh->context, table->rows, table->names);
    table->rows = NULL;
    table->names = NULL;
}

/* ---- lists from the hierarchy ---- */

uint32_t abuti_lists_collect(const abut_bvh *bvh, const lists_block *block, const float nearest[3],
                             uint32_t most_places, uint32_t *places) {
    float sq = 0;
    for (int axis = 0; axis < 3; axis++) {
        float d = nearest[axis] - block->centre[axis];
        sq += d * d;
    }
    lists_limits limits = lists_limits_of(block);
    float limit = lists_limit(block, &limits, sq);
    uint32_t stack[BVH_STACK], used = 0, count = 0;
    stack[used++] = 0;
    while (used) {
        const bvh_node *node = &bvh->nodes[stack[--used]];
        unsigned met = lists_boxes_met(node, block, &limits, nearest, limit);
        for (uint32_t slot = 0; met; slot++, met >>= 1) {
            if (!(met & 1))
                continue;
            uint32_t child = node->child[slot];
            if (!(child & BVH_LEAF)) {
                stack[used++] = child;
                continue;
            }
            uint32_t leaf = child & ~BVH_LEAF, fill = bvh_leaf_fill(bvh, leaf);
            if (fill > most_places - count)
                return ABUT_NONE;
            for (uint32_t i = 0; i < fill; i++)
                places[count++] = leaf * BVH_WIDTH + i;
        }
    }
    return count;
}

const lists_kernel *abuti_lists_kernel(void) {
    return ABUTI_BY_LANES(abuti_lists);
}
