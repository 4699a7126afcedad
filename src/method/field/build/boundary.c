/* Boundary edges of a surface: a bound on the change of winding numbers, and a test for strips.
 *
 * Boundary edges are sorted along a space-filling curve (Morton 1966). Four consecutive edges form
 * a group with a bounding ball, a bounding box, and the sums of their lengths and of their vectors.
 * Four groups form a group of the next level, up to a single one. A group that is far from a point
 * compared with its radius is treated as a whole. So a bound needs some dozens of balls, whatever
 * the length of the boundary.
 *
 * The whole contributes less than the sum of its parts. With K(r) = r / |r|^3, the gradient of the
 * winding number is 1 / (4 pi) times the sum of dl x K(x - q) over the boundary, where x is a point
 * within rho of p. Let c be the centre of a ball, a its radius, S the sum of its vectors, L the sum
 * of their lengths, and d = |p - c| - rho - a. K(x - q) differs from K(x - c) by at most a times
 * the largest derivative between, 2 / d^3. So the ball contributes at most |S| / (d + a)^2 + 2 a L
 * / d^3. Around a whole hole S is 0, and nearly 0 where boundaries run side by side in opposite
 * directions.
 */
#include "base/simd.h"
#include "base/sort.h"
#include "field/build/cells.h"
#include "sign/sign.h"

#include <assert.h>
#include <math.h>

#define PI 3.14159265358979323846
/* A ball at this distance, in radii, is treated as a whole. */
#define WHOLE_BALL_RADII 3.0f
/* Upper bound of the rounding error of float sums of vectors, relative to the sum of their lengths.
 */
#define VECTOR_SUM_ERROR 1e-5f

enum { WIDTH = BOUNDARY_WIDTH, STACK_MAX = WIDTH * BOUNDARY_LEVELS };

/* An edge with its direction, or a whole group with half the sum of its vectors. */
typedef struct boundary_item {
    float middle[3], along[3], half, radius;
    double lo[3], hi[2];
} boundary_item;

/* A group on the traversal stack. */
typedef struct boundary_step {
    uint32_t level, group;
} boundary_step;

/* Number of groups for `count` items; at least one. */
static size_t groups_of(size_t count) {
    return count ? (count + WIDTH - 1) / WIDTH : 1;
}

/* ---- build ---- */

/* Sorts the edges along a Morton curve over their own bounding box. */
static sort_key *sort_edges(const abut_bvh *bvh, const bvh_solid *solid, sort_key *keys) {
    const vec3 *positions = bvh->mesh->positions;
    const size_t n = solid->border_count;
    vec3 lo = v3(INFINITY, INFINITY, INFINITY), hi = v3_scale(lo, -1);
    for (size_t i = 0; i < n; i++) {
        lo = v3_min(lo, positions[solid->border[i][0]]);
        hi = v3_max(hi, positions[solid->border[i][0]]);
    }
    const double extent = v3_max_abs(v3_sub(hi, lo)),
                 per_cell = extent > 1e-300 ? 1023 / extent : 0;
    for (size_t i = 0; i < n; i++) {
        vec3 at = v3_scale(v3_sub(positions[solid->border[i][0]], lo), per_cell);
        keys[i].key = morton_code((uint32_t)at.x, (uint32_t)at.y, (uint32_t)at.z);
        keys[i].value = (uint32_t)i;
    }
    return abuti_sort_by_key(keys, keys + n, n);
}

/* An item of no length that is near no point, for unused lanes. */
static boundary_item empty_item(void) {
    return (boundary_item){.middle = {0x1p50f, 0x1p50f, 0x1p50f},
                           .lo = {INFINITY, INFINITY, INFINITY},
                           .hi = {-INFINITY, -INFINITY}};
}

static boundary_item item_of_edge(const abut_bvh *bvh, const uint32_t edge[2]) {
    vec3 a = bvh->mesh->positions[edge[0]], b = bvh->mesh->positions[edge[1]];
    vec3 middle = v3_lerp(a, b, 0.5), lo = v3_min(a, b), hi = v3_max(a, b);
    vec3 along = v3_normalise(v3_sub(b, a));
    boundary_item e = {.half = (float)(0.5 * v3_length(v3_sub(b, a)) * bvh->scale),
                       .hi = {hi.y, hi.z}};
    e.radius = e.half;
    for (int k = 0; k < 3; k++) {
        e.middle[k] = (float)(v3_get(middle, k) * bvh->scale);
        e.along[k] = (float)v3_get(along, k);
        e.lo[k] = v3_get(lo, k);
    }
    return e;
}

static boundary_item load_item(const boundary_group *g, uint32_t lane) {
    boundary_item e = {.half = g->half[lane], .radius = g->radius[lane]};
    for (int k = 0; k < 3; k++) {
        e.middle[k] = g->middle[k][lane];
        e.along[k] = g->along[k][lane];
        e.lo[k] = g->lo[k][lane];
    }
    e.hi[0] = g->hi[0][lane];
    e.hi[1] = g->hi[1][lane];
    return e;
}

static void store_item(boundary_group *g, uint32_t lane, const boundary_item *e) {
    for (int k = 0; k < 3; k++) {
        g->middle[k][lane] = e->middle[k];
        g->along[k][lane] = e->along[k];
        g->lo[k][lane] = e->lo[k];
    }
    g->hi[0][lane] = e->hi[0];
    g->hi[1][lane] = e->hi[1];
    g->half[lane] = e->half;
    g->radius[lane] = e->radius;
}

/* The item of the next level for the first `count` items of a group. The ball is centred at the
 * mean of the centres. */
static boundary_item item_of_group(const boundary_group *g, size_t count, bool edges) {
    boundary_item all = empty_item();
    double radius = 0, half = 0;
    count = count < WIDTH ? count : WIDTH;
    for (int k = 0; k < 3; k++) {
        float lo = INFINITY, hi = -INFINITY;
        for (uint32_t lane = 0; lane < count; lane++) {
            lo = fminf(lo, g->middle[k][lane]);
            hi = fmaxf(hi, g->middle[k][lane]);
        }
        all.middle[k] = 0.5f * (lo + hi);
        all.along[k] = 0;
    }
    for (uint32_t lane = 0; lane < count; lane++) {
        boundary_item e = load_item(g, lane);
        double sq = 0;
        for (int k = 0; k < 3; k++) {
            double way = (double)e.middle[k] - all.middle[k];
            sq += way * way;
            all.lo[k] = real_min(all.lo[k], e.lo[k]);
            all.along[k] += edges ? e.half * e.along[k] : e.along[k];
        }
        all.hi[0] = real_max(all.hi[0], e.hi[0]);
        all.hi[1] = real_max(all.hi[1], e.hi[1]);
        radius = real_max(radius, sqrt(sq) + e.radius);
        half += e.half;
    }
    all.radius = (float)(radius * (1 + 1e-6));
    all.half = (float)(half * (1 + 1e-6));
    return all;
}

abut_status abuti_sign_boundary(const abut_bvh *bvh, sign_boundary *border) {
    const bvh_solid *solid;
    abut_status status;
    if ((status = abuti_bvh_solid(bvh, &solid)) || (status = abuti_sign_far(bvh)))
        return status;
    const size_t n = solid->border_count;
    size_t groups = 0;
    for (size_t count = n; groups == 0 || count > 1;)
        groups += count = groups_of(count);
    sort_key *keys = abuti_allocate(bvh->context, 2 * n, sizeof *keys);
    boundary_group *group = keys ? abuti_allocate(bvh->context, groups, sizeof *group) : NULL;
    if (!group) {
        abuti_release(bvh->context, keys);
        return ABUT_ERROR_MEMORY;
    }
    border->solid = solid;
    border->groups = group;
    border->levels = 0;
    const sort_key *sorted = sort_edges(bvh, solid, keys);
    const boundary_group *below = NULL;
    for (size_t count = n, parts = 0; !below || count > 1; border->levels++) {
        border->first[border->levels] = (uint32_t)(group - border->groups);
        for (size_t i = 0; i < WIDTH * groups_of(count); i++) {
            boundary_item e = empty_item();
            if (i < count && !below)
                e = item_of_edge(bvh, solid->border[sorted[i].value]);
            else if (i < count)
                e = item_of_group(&below[i], parts - WIDTH * i, border->levels == 1);
            store_item(&group[i / WIDTH], i % WIDTH, &e);
        }
        below = group;
        parts = count;
        count = groups_of(count);
        group += count;
    }
    abuti_release(bvh->context, keys);
    return ABUT_OK;
}

void abuti_sign_boundary_destroy(const abut_bvh *bvh, sign_boundary *border) {
    abuti_release(bvh->context, border->groups);
    border->groups = NULL;
}

/* ---- bounds ---- */

/* Squared distances of a point from four edges: from the middles, minus the part along the edge. */
static f4 distances_to_edges_sq(const boundary_group *g, f4 x, f4 y, f4 z) {
    f4 dx = f4_sub(x, f4_load(g->middle[0])), dy = f4_sub(y, f4_load(g->middle[1])),
       dz = f4_sub(z, f4_load(g->middle[2])), half = f4_load(g->half);
    f4 ux = f4_load(g->along[0]), uy = f4_load(g->along[1]), uz = f4_load(g->along[2]);
    f4 s = f4_add(f4_add(f4_mul(dx, ux), f4_mul(dy, uy)), f4_mul(dz, uz));
    s = f4_max(f4_min(s, half), f4_sub(f4_all(0), half));
    dx = f4_sub(dx, f4_mul(s, ux));
    dy = f4_sub(dy, f4_mul(s, uy));
    dz = f4_sub(dz, f4_mul(s, uz));
    return f4_add(f4_add(f4_mul(dx, dx), f4_mul(dy, dy)), f4_mul(dz, dz));
}

static f4 length_sq(const float v[3][BOUNDARY_WIDTH], f4 x, f4 y, f4 z) {
    f4 dx = f4_sub(x, f4_load(v[0])), dy = f4_sub(y, f4_load(v[1])), dz = f4_sub(z, f4_load(v[2]));
    return f4_add(f4_add(f4_mul(dx, dx), f4_mul(dy, dy)), f4_mul(dz, dz));
}

double abuti_sign_boundary_change(const sign_boundary *border, vec3 p, double rho) {
    const f4 x = f4_all((float)p.x), y = f4_all((float)p.y), z = f4_all((float)p.z);
    const f4 around = f4_all((float)rho * (1 + 0x1p-20f) + 0x1p-18f), zero = f4_all(0);
    const float factor = (float)(rho / (2 * PI)) * 1.001f;
    float sum = 0;
    boundary_step stack[STACK_MAX];
    uint32_t used = 0;
    if (!(v3_max_abs(p) < 8 && rho < 8))
        return 1;
    stack[used++] = (boundary_step){border->levels - 1, 0};
    while (used && factor * sum < 0.5f) {
        const boundary_step at = stack[--used];
        const boundary_group *g = &border->groups[border->first[at.level] + at.group];
        const f4 half = f4_load(g->half);
        f4 apart, part;
        unsigned counted = 0xf;
        if (at.level == 0) {
            apart = f4_sub(f4_sqrt(distances_to_edges_sq(g, x, y, z)), around);
            part = f4_div(half, f4_mul(apart, apart));
        } else {
            f4 radius = f4_load(g->radius);
            f4 centre = f4_sub(f4_sqrt(length_sq(g->middle, x, y, z)), around);
            f4 net = f4_add(f4_sqrt(length_sq(g->along, zero, zero, zero)),
                            f4_mul(half, f4_all(VECTOR_SUM_ERROR)));
            apart = f4_sub(centre, radius);
            f4 rest =
                f4_div(f4_mul(f4_add(radius, radius), half), f4_mul(f4_mul(apart, apart), apart));
            part = f4_add(f4_div(net, f4_mul(centre, centre)), rest);
            counted = m4_bits(f4_less_equal(f4_mul(radius, f4_all(WHOLE_BALL_RADII)), apart));
        }
        float lane[WIDTH];
        f4_store(lane, f4_select(f4_less(zero, apart), part, f4_all(INFINITY)));
        for (uint32_t i = 0; i < WIDTH; i++)
            if (counted >> i & 1)
                sum += lane[i];
            else {
                assert(used < STACK_MAX);
                stack[used++] = (boundary_step){at.level - 1, WIDTH * at.group + i};
            }
    }
    return factor * sum;
}

bool abuti_sign_boundary_intersects(const sign_boundary *border, vec3 lo, vec3 hi) {
    boundary_step stack[STACK_MAX];
    uint32_t used = 0;
    stack[used++] = (boundary_step){border->levels - 1, 0};
    while (used) {
        const boundary_step at = stack[--used];
        const boundary_group *g = &border->groups[border->first[at.level] + at.group];
        for (uint32_t i = 0; i < WIDTH; i++) {
            bool met = g->lo[0][i] <= hi.x && g->lo[1][i] <= hi.y && g->lo[2][i] <= hi.z &&
                       g->hi[0][i] >= lo.y && g->hi[1][i] >= lo.z;
            if (met && at.level == 0)
                return true;
            if (met) {
                assert(used < STACK_MAX);
                stack[used++] = (boundary_step){at.level - 1, WIDTH * at.group + i};
            }
        }
    }
    return false;
}
