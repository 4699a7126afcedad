/* The teapot as one closed surface: its outside, without interior parts.
 *
 * Three changes turn the published mesh into a solid. The gap between lid and rim, 0.1 wide, is
 * closed by a ring, so that lid, rim, body and bottom are one surface. The end of the spout, which
 * the patches leave open below the lip, gets a cap. Handle and spout end at the body:
 *
 *  1. On every line along a tube, the point where it leaves the body is found by bisection. The
 *     rows of the tube are distributed between this point and the next seam; all their points still
 *     lie on the patches.
 *  2. These points form a closed curve on the body. Since all rows of the body are scaled copies of
 *     one curve, (y/|x|, z) maps the grid of the body on that side to straight columns and rows.
 *     The cells that the curve touches or encloses lie in a rectangle there, which is removed.
 *  3. The region between rectangle and curve is triangulated in that plane. Both are symmetric in
 *     y. One half is bounded by the rectangle on its right and the curve on its left, both of which
 *     descend: a monotone polygon. The other half is its mirror image.
 *
 * The handle makes the surface one of genus 1, with Euler characteristic 0. That no two triangles
 * intersect is not proven. It was checked for every number of segments from 2 to 100, and for 150
 * and 300; the tests repeat a part of that.
 */
#include "shape/shape.h"

#define HOLES 3

/* The hole in the body where a tube enters it. */
typedef struct hole {
    abuti_tube_kind tube;
    bool at_end;   /* at the last row of the tube, not the first */
    int facing;    /* the side of the body: 1 for +x, -1 for -x */
    double *exits; /* parameters along the tube, columns 0 to n; the others are mirror images */
    uint32_t top, bottom, width; /* rows of the rectangle; columns from its middle to either side */
    uint32_t ring;               /* vertex of the tube's row there in column 0 */
    uint32_t corners;            /* of each half polygon */
} hole;

typedef struct teapot_builder {
    abut_context *context;
    uint32_t n;
    hole holes[HOLES];
    uint32_t *vertex; /* vertices of rows 1 to 6n, 4n each */
    abuti_builder builder;
} teapot_builder;

/* ---- where tubes leave the body ---- */

/* Distance of p from the body in the direction of x, positive outside. */
static double distance_outside(vec3 p) {
    double slope = fabs(p.y) / fabs(p.x), lo = 0, hi = 2;
    for (int i = 0; i < 60; i++) { /* z decreases with v */
        double middle = 0.5 * (lo + hi);
        *(abuti_teapot_body(middle).z > p.z ? &lo : &hi) = middle;
    }
    abuti_profile row = abuti_teapot_body(lo);
    lo = 0;
    hi = 1;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (lo + hi);
        abuti_vec2 at = abuti_teapot_quarter(row, middle);
        *(at.y < slope * at.x ? &lo : &hi) = middle;
    }
    return fabs(p.x) - abuti_teapot_quarter(row, lo).x;
}

/* Searches along a column, from the end of the tube inside the body, for the point where it leaves
 * the body. The innermost line of the handle ends on the body itself: if rounding puts that end
 * outside, it is the result. */
static double find_exit(const hole *h, uint32_t column, uint32_t n) {
    const double step = h->at_end ? -1.0 / 64 : 1.0 / 64;
    double inside = h->at_end ? 2 : 0, outside = inside;
    if (distance_outside(abuti_tube_point(h->tube, inside, column, n)) > 0)
        return inside;
    do {
        inside = outside;
        outside += step;
        assert(outside > 0 && outside < 2);
    } while (distance_outside(abuti_tube_point(h->tube, outside, column, n)) <= 0);
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (inside + outside);
        *(distance_outside(abuti_tube_point(h->tube, middle, column, n)) > 0 ? &outside : &inside) =
            middle;
    }
    return inside;
}

/* ---- the plane (y/|x|, z) ---- */

/* Scaled so that lengths are similar to those on the body, whose radius is about 2. */
static abuti_vec2 project_to_plane(vec3 p) {
    return (abuti_vec2){2 * fabs(p.y) / fabs(p.x), p.z};
}

static double column_coordinate(uint32_t column, uint32_t n) {
    return project_to_plane(abuti_teapot_point(abuti_teapot_body(1), column, n)).x;
}

static double row_coordinate(uint32_t row, uint32_t n) {
    return abuti_teapot_row(row, n).z;
}

static abuti_vec2 curve_point(const hole *h, uint32_t column, uint32_t n) {
    return project_to_plane(abuti_tube_point(h->tube, h->exits[column], column, n));
}

/* Finds the smallest rectangle of rows and columns that contains the curve with a margin of a fifth
 * of a cell, if possible. */
static void enclose_curve(hole *h, uint32_t n) {
    const uint32_t first = 3 * n + 1, last = 5 * n + 1; /* the body from rim to bottom */
    const double room = 0.2;
    double high = -1, low = 10, wide = 0;
    for (uint32_t i = 0; i <= n; i++) {
        abuti_vec2 at = curve_point(h, i, n);
        high = real_max(high, at.y);
        low = real_min(low, at.y);
        wide = real_max(wide, at.x);
    }
    h->top = first;
    while (h->top < last) {
        double next = row_coordinate(h->top + 1, n), after = row_coordinate(h->top + 2, n);
        if (next - room * (next - after) < high)
            break;
        h->top++;
    }
    h->bottom = last;
    while (h->bottom > first) {
        double next = row_coordinate(h->bottom - 1, n), after = row_coordinate(h->bottom - 2, n);
        if (next + room * (after - next) > low)
            break;
        h->bottom--;
    }
    h->width = 1;
    while (h->width + 1 < n) {
        double here = column_coordinate(h->width, n), before = column_coordinate(h->width - 1, n);
        if (here - room * (here - before) > wide)
            break;
        h->width++;
    }
    h->corners = n + 2 + 2 * h->width + h->bottom - h->top;
}

/* ---- the body with its holes ---- */

/* Number of columns from the left side of the hole; 0 to 4n - 1. */
static uint32_t column_in_hole(const hole *h, uint32_t column, uint32_t n) {
    uint32_t middle = h->facing > 0 ? 0 : 2 * n;
    return (column + 4 * n + h->width - middle) % (4 * n);
}

static bool is_vertex_removed(const teapot_builder *p, uint32_t row, uint32_t column) {
    for (int i = 0; i < HOLES; i++) {
        const hole *h = &p->holes[i];
        uint32_t in_hole = column_in_hole(h, column, p->n);
        if (row > h->top && row < h->bottom && in_hole > 0 && in_hole < 2 * h->width)
            return true;
    }
    return false;
}

static bool is_cell_removed(const teapot_builder *p, uint32_t row, uint32_t column) {
    for (int i = 0; i < HOLES; i++) {
        const hole *h = &p->holes[i];
        if (row >= h->top && row < h->bottom && column_in_hole(h, column, p->n) < 2 * h->width)
            return true;
    }
    return false;
}

static uint32_t revolved_vertex(const teapot_builder *p, uint32_t row, uint32_t column) {
    uint32_t n = p->n;
    if (row == 0 || row == 6 * n + 1)
        return row == 0 ? 0 : 1;
    return p->vertex[(size_t)(row - 1) * 4 * n + column % (4 * n)];
}

static void add_revolved_part(teapot_builder *p) {
    uint32_t n = p->n;
    abuti_add_vertex(&p->builder, v3(0, 0, row_coordinate(0, n)));
    abuti_add_vertex(&p->builder, v3(0, 0, row_coordinate(6 * n + 1, n)));
    for (uint32_t row = 1; row <= 6 * n; row++) {
        abuti_profile profile = abuti_teapot_row(row, n);
        for (uint32_t column = 0; column < 4 * n; column++)
            if (!is_vertex_removed(p, row, column))
                p->vertex[(size_t)(row - 1) * 4 * n + column] =
                    abuti_add_vertex(&p->builder, abuti_teapot_point(profile, column, n));
    }
    for (uint32_t row = 0; row <= 6 * n; row++)
        for (uint32_t column = 0; column < 4 * n; column++)
            if (!is_cell_removed(p, row, column))
                abuti_add_revolved_cell(&p->builder, revolved_vertex(p, row, column),
                                        revolved_vertex(p, row, column + 1),
                                        revolved_vertex(p, row + 1, column),
                                        revolved_vertex(p, row + 1, column + 1));
}

/* ---- tubes ---- */

/* The parameter of a row along a tube with the given ends. */
static double row_parameter(double begin, double end, uint32_t row, uint32_t n) {
    if (row == n)
        return 1;
    return row < n ? begin + (1 - begin) * ((double)row / n)
                   : 1 + (end - 1) * ((double)(row - n) / n);
}

static void add_tube(teapot_builder *p, abuti_tube_kind tube, const double *begin,
                     const double *end) {
    uint32_t n = p->n, first = (uint32_t)p->builder.vertex_count;
    for (uint32_t row = 0; row <= 2 * n; row++)
        for (uint32_t column = 0; column < 2 * n; column++) {
            uint32_t line = column > n ? 2 * n - column : column;
            double v = row_parameter(begin[line], end ? end[line] : 2, row, n);
            abuti_add_vertex(&p->builder, abuti_tube_point(tube, v, column, n));
        }
    abuti_add_tube_quads(&p->builder, first, n);
    for (int i = 0; i < HOLES; i++)
        if (p->holes[i].tube == tube)
            p->holes[i].ring = first + (p->holes[i].at_end ? 4 * n * n : 0);
}

/* Closes the lip of the spout with a level cap: strips from each vertex to its mirror image. */
static void add_cap(teapot_builder *p) {
    uint32_t n = p->n, ring = (uint32_t)p->builder.vertex_count - 2 * n;
    abuti_add_triangle(&p->builder, ring, ring + 1, ring + 2 * n - 1);
    for (uint32_t i = 1; i + 1 < n; i++)
        abuti_add_quad(&p->builder, ring + i, ring + i + 1, ring + 2 * n - i - 1, ring + 2 * n - i);
    abuti_add_triangle(&p->builder, ring + n - 1, ring + n, ring + n + 1);
}

/* ---- between rectangle and curve ---- */

/* Corner i of a half polygon: the middle of the top of the rectangle, the curve from top to bottom,
 * then along the rectangle to the middle of its bottom. Returns its vertex in the half where y has
 * the sign `side`, and its position in the plane. */
static uint32_t half_corner(const teapot_builder *p, const hole *h, uint32_t i, int side,
                            abuti_vec2 *place) {
    uint32_t n = p->n;
    if (i > 0 && i < n + 2) {
        bool upwards = curve_point(h, 0, n).y < curve_point(h, n, n).y;
        uint32_t column = upwards ? n + 1 - i : i - 1;
        *place = curve_point(h, column, n);
        return h->ring + (side < 0 ? column : (2 * n - column) % (2 * n));
    }
    uint32_t row = h->top, across = 0;
    if (i > 0) {
        uint32_t along = i - (n + 1), down = h->bottom - h->top;
        if (along <= h->width) {
            across = along;
        } else if (along <= h->width + down) {
            row += along - h->width;
            across = h->width;
        } else {
            row = h->bottom;
            across = 2 * h->width + down - along;
        }
    }
    *place = (abuti_vec2){column_coordinate(across, n), row_coordinate(row, n)};
    uint32_t middle = h->facing > 0 ? 4 * n : 2 * n;
    return revolved_vertex(p, row, h->facing * side > 0 ? middle + across : middle - across);
}

static abut_status fill_hole(teapot_builder *p, const hole *h) {
    uint32_t count = h->corners;
    abuti_vec2 *places;
    uint32_t *vertices, *indices;
    abut_status status = ABUTI_ALLOCATE(p->context, ABUTI_ARRAY(places, count),
                                        ABUTI_ARRAY(vertices, 2 * (size_t)count),
                                        ABUTI_ARRAY(indices, 3 * (size_t)count));
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t half = 0; half < 2; half++)
            vertices[half * count + i] = half_corner(p, h, i, half ? 1 : -1, &places[i]);
    status = abuti_triangulate_monotone(p->context, places, p->n + 2, count, indices);
    for (uint32_t half = 0; !status && half < 2; half++)
        for (uint32_t i = 0; i + 2 < count; i++) {
            const uint32_t *t = indices + 3 * i, *v = vertices + half * count;
            bool turned_over = (h->facing > 0) != (half == 1);
            abuti_add_triangle(&p->builder, v[t[0]], v[t[turned_over ? 2 : 1]],
                               v[t[turned_over ? 1 : 2]]);
        }
    ABUTI_RELEASE(p->context, places, vertices, indices);
    return status;
}

/* ---- assembly ---- */

/* Counts of the published teapot, plus ring and cap, with holes instead of cells. */
static abut_status open_builder(teapot_builder *p) {
    uint64_t n = p->n, vertices = 32 * n * n + 4 * n + 2;
    uint64_t triangles = 64 * n * n - 8 * n + 8 * n + 2 * n - 2;
    for (int i = 0; i < HOLES; i++) {
        const hole *h = &p->holes[i];
        uint64_t rows = h->bottom - h->top, columns = 2 * h->width;
        vertices -= (rows - 1) * (columns - 1);
        triangles += 2 * (uint64_t)(h->corners - 2);
        triangles -= 2 * rows * columns;
    }
    return abuti_builder_open(&p->builder, p->context, vertices, triangles);
}

static abut_status assemble(teapot_builder *p, abut_mesh **mesh) {
    for (int i = 0; i < HOLES; i++) {
        hole *h = &p->holes[i];
        for (uint32_t column = 0; column <= p->n; column++)
            h->exits[column] = find_exit(h, column, p->n);
        enclose_curve(h, p->n);
    }
    abut_status status = open_builder(p);
    if (status)
        return status;
    add_revolved_part(p);
    add_tube(p, ABUTI_HANDLE, p->holes[0].exits, p->holes[1].exits);
    add_tube(p, ABUTI_SPOUT, p->holes[2].exits, NULL);
    add_cap(p);
    for (int i = 0; i < HOLES && !status; i++)
        status = fill_hole(p, &p->holes[i]);
    if (status) {
        abuti_builder_close(&p->builder);
        return status;
    }
    return abuti_builder_finish(&p->builder, mesh);
}

abut_status abuti_build_teapot_solid(abut_context *context, const abut_shape *shape,
                                     abut_mesh **mesh) {
    uint64_t n = shape->segments;
    abut_status status =
        abuti_check_counts(0, abuti_multiply_saturated(64, abuti_multiply_saturated(n, n)));
    if (status)
        return status;
    teapot_builder p = {.context = context,
                        .n = shape->segments,
                        .holes = {{.tube = ABUTI_HANDLE, .facing = -1},
                                  {.tube = ABUTI_HANDLE, .facing = -1, .at_end = true},
                                  {.tube = ABUTI_SPOUT, .facing = 1}}};
    double *exits;
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(exits, HOLES * (size_t)(n + 1)),
                                 ABUTI_ARRAY(p.vertex, (size_t)(24 * n * n)))))
        return status;
    for (uint32_t i = 0; i < HOLES; i++)
        p.holes[i].exits = exits + i * (n + 1);
    status = assemble(&p, mesh);
    ABUTI_RELEASE(context, exits, p.vertex);
    return status;
}
