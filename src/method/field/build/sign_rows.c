/* Winding numbers of all cells of a box, along rows.
 *
 * Problem: the exact side of a surface for each cell of a grid. Method: a row of cells along x is a
 * ray from infinity. Each triangle is scanned over the rows that its projection on the yz plane
 * covers. Where a row crosses it, the winding number changes by one from the first cell beyond the
 * crossing on. A prefix sum along the row gives the number of each cell. The row is shifted by (e,
 * e^2) as in sign/winding_exact.c, with the same exact predicates, so that it passes through no
 * edge and no vertex. Guarantee: for a surface without boundary edges, the number is that of
 * abuti_sign_crossing() for every cell that is not on the surface. Candidate rows and cells are
 * found in doubles with a margin; the decisions are exact.
 */
#include "field/build/cells.h"

#include "bvh/cull.h"
#include "sign/crossing_shared.h"

#include <assert.h>
#include <math.h>

/* Bound of the rounding error of a few operations on absolute coordinates, relative to the largest.
 */
#define COORDINATE_ROUNDING 0x1p-48

typedef struct scan {
    const abut_grid *grid;
    sign_rows *rows;
    double doubt[3]; /* error bound in cells, along each axis */
} scan;

typedef struct range {
    uint32_t begin, end;
} range;

/* The cells of the box along an axis that may lie between two coordinates. */
static range cells_between(const scan *s, int axis, double lo, double hi) {
    double first = v3_get(s->grid->origin, axis), cell = s->grid->cell;
    double from = ceil((lo - first) / cell - s->doubt[axis]);
    double to = floor((hi - first) / cell + s->doubt[axis]);
    uint32_t begin = s->rows->cells.begin[axis], end = begin + s->rows->cells.count[axis];
    range r = {begin, end}; /* kept if cells are so small that from and to are not finite */
    if (from > begin)
        r.begin = from < end ? (uint32_t)from : end;
    if (to < end - 1)
        r.end = to < begin ? begin : (uint32_t)to + 1;
    return r;
}

/* The interval in which the projected triangle intersects the line at z, extended by rounding. */
static void project_at(triangle3 t, double z, double rounding, double *lo, double *hi) {
    *lo = HUGE_VAL;
    *hi = -HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        vec3 p = t.corner[k], q = t.corner[k == 2 ? 0 : k + 1];
        if (z < real_min(p.z, q.z) - rounding || z > real_max(p.z, q.z) + rounding)
            continue;
        double way = q.z - p.z, ends[2] = {p.y, q.y};
        if (fabs(way) > 4 * rounding) {
            /* the edge may be so flat that a rounding error of z is a long way along it */
            double wide = 2 * rounding / fabs(way), at = (z - p.z) / way;
            for (int side = 0; side < 2; side++) {
                double f = real_clamp(at + (side ? wide : -wide), 0, 1);
                ends[side] = p.y + f * (q.y - p.y);
            }
        }
        *lo = real_min(*lo, real_min(ends[0], ends[1]));
        *hi = real_max(*hi, real_max(ends[0], ends[1]));
    }
}

static void scan_triangle(const scan *s, triangle3 t) {
    const sign_rows *rows = s->rows;
    const abut_grid *grid = s->grid;
    const vec3 *c = t.corner;
    double rounding = s->doubt[2] * grid->cell;
    range ks = cells_between(s, 2, real_min(c[0].z, real_min(c[1].z, c[2].z)),
                             real_max(c[0].z, real_max(c[1].z, c[2].z)));
    for (uint32_t k = ks.begin; k < ks.end; k++) {
        vec3 p = v3(0, 0, grid->origin.z + grid->cell * k);
        double lo, hi;
        project_at(t, p.z, rounding, &lo, &hi);
        if (!(lo <= hi))
            continue;
        range js = cells_between(s, 1, lo, hi);
        for (uint32_t j = js.begin; j < js.end; j++) {
            p.y = grid->origin.y + grid->cell * j;
            int side = side_of_edge(0, c[0], c[1], p);
            if (side == 0 || side_of_edge(0, c[1], c[2], p) != side ||
                side_of_edge(0, c[2], c[0], p) != side)
                continue;
            const uint32_t end = rows->cells.begin[0] + rows->cells.count[0];
            const uint32_t cell[3] = {triangle_first_beyond(t, side, p, grid->origin.x, grid->cell,
                                                            rows->cells.begin[0], end),
                                      j, k};
            if (cell[0] == end)
                continue;
            size_t at = sign_rows_at(rows, cell), row = sign_rows_row(rows, cell);
            if (!rows->crossed[row]) /* the first crossing: most rows are never crossed */
                memset(rows->winding + row * rows->cells.count[0], 0,
                       rows->cells.count[0] * sizeof *rows->winding);
            rows->winding[at] -= side;
            rows->crossed[row] = 1;
        }
    }
}

static void sum_rows(const sign_rows *rows) {
    const uint32_t *count = rows->cells.count;
    size_t all = (size_t)count[1] * count[2];
    for (size_t r = 0; r < all; r++) {
        int32_t *row = rows->winding + r * count[0], sum = 0;
        unsigned char *inside = rows->inside + r * count[0];
        if (!rows->crossed[r]) {
            memset(inside, 0, count[0]);
            continue;
        }
        for (uint32_t i = 0; i < count[0]; i++) {
            sum += row[i];
            row[i] = sum;
        }
        for (uint32_t i = 0; i < count[0]; i++)
            inside[i] = row[i] != 0;
    }
}

void abuti_sign_rows(const abut_bvh *bvh, const abut_grid *grid, sign_rows *rows) {
    scan s = {.grid = grid, .rows = rows};
    uint32_t end[3];
    for (int axis = 0; axis < 3; axis++)
        end[axis] = rows->cells.begin[axis] + rows->cells.count[axis];
    const uint32_t *begin = rows->cells.begin, *count = rows->cells.count;
    vec3 lo = grid_centre(grid, begin[0], begin[1], begin[2]);
    vec3 hi = grid_centre(grid, end[0], end[1], end[2]);
    for (int axis = 0; axis < 3; axis++) {
        double largest = real_max(real_max(fabs(v3_get(lo, axis)), fabs(v3_get(hi, axis))),
                                  real_max(fabs(v3_get(grid->origin, axis)),
                                           real_max(fabs(v3_get(bvh->mesh->bounds.lo, axis)),
                                                    fabs(v3_get(bvh->mesh->bounds.hi, axis)))));
        s.doubt[axis] = COORDINATE_ROUNDING * largest / grid->cell;
    }
    memset(rows->crossed, 0, (size_t)count[1] * count[2]);
    abut_box box = {{-HUGE_VAL, lo.y, lo.z}, hi};
    bvh_region region = bvh_region_of(bvh, &box);
    uint32_t stack[BVH_STACK], used = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            uint32_t leaf = next & ~BVH_LEAF;
            for (uint32_t i = 0; i < bvh_leaf_fill(bvh, leaf); i++)
                scan_triangle(&s, bvh_triangle(bvh->mesh, bvh->order[leaf * BVH_WIDTH + i]));
            continue;
        }
        const bvh_node *node = &bvh->nodes[next];
        unsigned met = bvh_region_boxes(&region, node);
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (met >> slot & 1 && node->child[slot] != ABUT_NONE) {
                assert(used < BVH_STACK);
                stack[used++] = node->child[slot];
            }
    }
    sum_rows(rows);
}
