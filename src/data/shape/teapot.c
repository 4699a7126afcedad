/* The Utah teapot as published: 32 bicubic Bezier patches, evaluated on a regular grid.
 *
 * Patches of one part share the vertices of their seams. Mirror images are exact: the weights of t
 * and 1 - t are equal numbers in reverse order, and sums go from the ends to the middle. Parts
 * (lid, body, handle, spout) are separate: they penetrate each other.
 */
#include "shape/shape.h"

#include "shape/teapot_data.h"

/* ---- curves ---- */

typedef struct bezier_weights {
    double w[4];
} bezier_weights;

static bezier_weights bezier_weights_at(double t) {
    bool reversed = t > 0.5;
    double a = reversed ? 1 - t : t, b = 1 - a;
    bezier_weights k = {{b * b * b, 3 * a * b * b, 3 * a * a * b, a * a * a}};
    if (reversed)
        k = (bezier_weights){{k.w[3], k.w[2], k.w[1], k.w[0]}};
    return k;
}

/* The same for step i of n, exactly symmetric about the middle. */
static bezier_weights bezier_weights_of_step(uint32_t i, uint32_t n) {
    bool reversed = i > n - i;
    bezier_weights k = bezier_weights_at((double)(reversed ? n - i : i) / (double)n);
    if (reversed)
        k = (bezier_weights){{k.w[3], k.w[2], k.w[1], k.w[0]}};
    return k;
}

static double blend(bezier_weights k, double a, double b, double c, double d) {
    return (k.w[0] * a + k.w[3] * d) + (k.w[1] * b + k.w[2] * c);
}

/* ---- the part of revolution ---- */

static abuti_profile blend_profile(bezier_weights k, const double piece[4][3]) {
    return (abuti_profile){blend(k, piece[0][0], piece[1][0], piece[2][0], piece[3][0]),
                           blend(k, piece[0][1], piece[1][1], piece[2][1], piece[3][1]),
                           blend(k, piece[0][2], piece[1][2], piece[2][2], piece[3][2])};
}

abuti_profile abuti_teapot_row(uint32_t row, uint32_t n) {
    bool in_lid = row <= TEAPOT_LID_PIECES * n;
    uint32_t step = in_lid ? row : row - TEAPOT_LID_PIECES * n - 1;
    uint32_t most = in_lid ? TEAPOT_LID_PIECES - 1 : TEAPOT_BODY_PIECES - 1;
    uint32_t piece = step / n < most ? step / n : most;
    return blend_profile(bezier_weights_of_step(step - piece * n, n),
                         in_lid ? teapot_lid + 3 * piece : teapot_body + 3 * piece);
}

abuti_profile abuti_teapot_body(double v) {
    int piece = v > 1;
    return blend_profile(bezier_weights_at(v - piece), teapot_body + 3 * (piece + 1));
}

/* Control points (r, 0), (r, h), (h, r), (0, r). */
static abuti_vec2 blend_quarter(bezier_weights k, abuti_profile row) {
    return (abuti_vec2){(k.w[0] + k.w[1]) * row.r + k.w[2] * row.h,
                        (k.w[3] + k.w[2]) * row.r + k.w[1] * row.h};
}

abuti_vec2 abuti_teapot_quarter(abuti_profile row, double u) {
    return blend_quarter(bezier_weights_at(u), row);
}

vec3 abuti_teapot_point(abuti_profile row, uint32_t column, uint32_t n) {
    abuti_vec2 p = blend_quarter(bezier_weights_of_step(column % n, n), row);
    for (uint32_t quarter = column / n; quarter > 0; quarter--)
        p = (abuti_vec2){0.0 - p.y, p.x};
    return v3(p.x, p.y, row.z);
}

void abuti_add_revolved_cell(abuti_builder *builder, uint32_t upper, uint32_t upper_next,
                             uint32_t lower, uint32_t lower_next) {
    if (upper == upper_next)
        abuti_add_triangle(builder, lower, lower_next, upper);
    else if (lower == lower_next)
        abuti_add_triangle(builder, lower, upper_next, upper);
    else
        abuti_add_quad(builder, lower, lower_next, upper_next, upper);
}

/* ---- the tubes ---- */

vec3 abuti_tube_point(abuti_tube_kind tube, double v, uint32_t column, uint32_t n) {
    const teapot_tube_rows *rows = tube == ABUTI_HANDLE ? &teapot_handle : &teapot_spout;
    bool mirrored = column > n;
    bezier_weights around = bezier_weights_of_step(mirrored ? 2 * n - column : column, n);
    int piece = v > 1;
    bezier_weights along = bezier_weights_at(v - piece);
    double p[3];
    for (int axis = 0; axis < 3; axis++) {
        double line[4];
        for (int k = 0; k < 4; k++) {
            const double(*row)[3] = (*rows)[3 * piece + k];
            line[k] = blend(around, row[0][axis], row[1][axis], row[2][axis], row[3][axis]);
        }
        p[axis] = blend(along, line[0], line[1], line[2], line[3]);
    }
    return v3(p[0], mirrored ? 0.0 - p[1] : p[1], p[2]);
}

void abuti_add_tube_quads(abuti_builder *builder, uint32_t first, uint32_t n) {
    for (uint32_t row = 0; row < 2 * n; row++)
        for (uint32_t column = 0; column < 2 * n; column++) {
            uint32_t next = column + 1 < 2 * n ? column + 1 : 0;
            uint32_t near_ring = first + row * 2 * n, far_ring = near_ring + 2 * n;
            abuti_add_quad(builder, near_ring + column, near_ring + next, far_ring + next,
                           far_ring + column);
        }
}

/* ---- the published teapot ---- */

/* The vertex of a row and column; poles have one vertex for all columns. */
static uint32_t revolved_vertex(uint32_t row, uint32_t column, uint32_t n) {
    bool pole = row == 0 || row == 6 * n + 1;
    return row == 0 ? 0 : 1 + (row - 1) * 4 * n + (pole ? 0 : column % (4 * n));
}

static void add_revolved_part(abuti_builder *builder, uint32_t n) {
    for (uint32_t row = 0; row <= 6 * n + 1; row++) {
        abuti_profile profile = abuti_teapot_row(row, n);
        uint32_t columns = row == 0 || row == 6 * n + 1 ? 1 : 4 * n;
        for (uint32_t column = 0; column < columns; column++)
            abuti_add_vertex(builder, abuti_teapot_point(profile, column, n));
    }
    for (uint32_t row = 0; row <= 6 * n; row++)
        for (uint32_t column = 0; column < 4 * n; column++)
            if (row != 2 * n) /* the gap between lid and rim */
                abuti_add_revolved_cell(builder, revolved_vertex(row, column, n),
                                        revolved_vertex(row, column + 1, n),
                                        revolved_vertex(row + 1, column, n),
                                        revolved_vertex(row + 1, column + 1, n));
}

abut_status abuti_build_teapot(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    uint64_t squared = abuti_multiply_saturated(shape->segments, shape->segments);
    uint32_t n = shape->segments;
    /* 2n + 4n rows of 4n and two poles, two tubes of (2n + 1) 2n; two triangles per cell of 32
     * patches, except one where eight of them end in a pole */
    abuti_builder builder;
    abut_status status =
        abuti_builder_open(&builder, context,
                           abuti_add_saturated(abuti_multiply_saturated(32, squared),
                                               abuti_add_saturated(2, 4 * (uint64_t)n)),
                           abuti_multiply_saturated(64, squared) - 8 * (uint64_t)n);
    if (status)
        return status;
    add_revolved_part(&builder, n);
    for (int tube = ABUTI_HANDLE; tube <= ABUTI_SPOUT; tube++) {
        uint32_t first = (uint32_t)builder.vertex_count;
        for (uint32_t row = 0; row <= 2 * n; row++)
            for (uint32_t column = 0; column < 2 * n; column++)
                abuti_add_vertex(&builder, abuti_tube_point((abuti_tube_kind)tube,
                                                            (double)row / (double)n, column, n));
        abuti_add_tube_quads(&builder, first, n);
    }
    return abuti_builder_finish(&builder, mesh);
}
