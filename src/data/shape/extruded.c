/* Stairs and block letters: cells of a rectangular grid, extruded.
 *
 * All of them are unions of rectangles: a grid with a mask of filled cells. Each filled cell adds a
 * quad to both caps; each side between a filled and an empty cell adds a strip of wall. Grid lines
 * are complete, so there are no T-junctions, and all triangles have a right angle. The plane of the
 * grid is (u, v); layers follow w, with u x v = w.
 */
#include "shape/shape.h"

/* ---- letters ---- */

/* Grid lines in twentieths of the height, and one bit mask per row of cells, lowest row first, bit
 * k for column k. */
typedef struct letter {
    uint8_t u_count, v_count; /* grid lines */
    uint8_t u[6], v[6];
    uint8_t filled[5];
} letter;

static const letter letter_e = {
    4, 6, {0, 4, 10, 12}, {0, 4, 8, 12, 16, 20}, {0x7, 0x1, 0x3, 0x1, 0x7}};
static const letter letter_g = {
    5, 6, {0, 4, 7, 10, 14}, {0, 4, 8, 11, 16, 20}, {0xf, 0x9, 0xd, 0x1, 0xf}};

static const letter *find_letter(abut_shape_kind kind) {
    return kind == ABUT_SHAPE_LETTER_E ? &letter_e : &letter_g;
}

/* The coordinate of a grid line `units` above the lower end of `total`, both in twentieths of the
 * height. */
static double letter_line(double height, uint32_t units, uint32_t total) {
    return height * ((2.0 * units - total) / 40.0);
}

/* Whether a cell of the coarse grid is filled; -1 is outside, like all others that do not exist. */
static bool is_letter_cell(const letter *form, int column, int row) {
    return column >= 0 && column + 1 < form->u_count && row >= 0 && row + 1 < form->v_count &&
           form->filled[row] >> column & 1;
}

/* The nearest side between a filled and an empty cell; negative in a filled cell. */
double abuti_letter_distance(abut_shape_kind kind, double height, abuti_vec2 p) {
    const letter *form = find_letter(kind);
    const int columns = form->u_count - 1, rows = form->v_count - 1;
    double u[6], v[6], nearest = HUGE_VAL;
    bool inside = false;
    for (int i = 0; i <= columns; i++)
        u[i] = letter_line(height, form->u[i], form->u[columns]);
    for (int i = 0; i <= rows; i++)
        v[i] = letter_line(height, form->v[i], form->v[rows]);
    for (int row = 0; row <= rows; row++)
        for (int column = 0; column <= columns; column++) {
            const bool here = is_letter_cell(form, column, row);
            const abuti_vec2 corner = {u[column], v[row]};
            if (here != is_letter_cell(form, column - 1, row))
                nearest =
                    real_min(nearest, abuti_segment_distance(p, corner,
                                                             (abuti_vec2){u[column], v[row + 1]}));
            if (here != is_letter_cell(form, column, row - 1))
                nearest =
                    real_min(nearest, abuti_segment_distance(p, corner,
                                                             (abuti_vec2){u[column + 1], v[row]}));
            inside |= here && p.x >= u[column] && p.x < u[column + 1] && p.y >= v[row] &&
                      p.y < v[row + 1];
        }
    return inside ? -nearest : nearest;
}

/* ---- grids ---- */

typedef struct extruded_grid {
    const abut_shape *shape;
    uint64_t columns, rows, layers; /* cells along u, v and w */
    double *u, *v;                  /* grid lines: columns + 1, rows + 1 */
    uint32_t *u_part, *v_part;      /* letters: the coarse column or row of each cell */
    uint32_t *first;                /* vertex of each grid point in layer 0 */
    uint64_t vertex_count, triangle_count;
} extruded_grid;

static bool is_filled(const extruded_grid *b, uint64_t column, uint64_t row) {
    if (column >= b->columns || row >= b->rows) /* unsigned: -1 is out of range too */
        return false;
    if (b->shape->kind == ABUT_SHAPE_STAIRS)
        return row <= column;
    return find_letter(b->shape->kind)->filled[b->v_part[row]] >> b->u_part[column] & 1;
}

/* Number of filled cells among the four around a grid point. */
static int filled_around(const extruded_grid *b, uint64_t column, uint64_t row) {
    return is_filled(b, column, row) + is_filled(b, column - 1, row) +
           is_filled(b, column, row - 1) + is_filled(b, column - 1, row - 1);
}

/* Grid points inside the outline have two vertices, one per cap; points on it have one per
 * layer. */
static void count_elements(extruded_grid *b) {
    uint64_t wall_sides = 0, cells = 0;
    for (uint64_t row = 0; row <= b->rows; row++)
        for (uint64_t column = 0; column <= b->columns; column++) {
            int around = filled_around(b, column, row);
            b->vertex_count += around == 0 ? 0 : around == 4 ? 2 : b->layers + 1;
            bool here = is_filled(b, column, row);
            cells += here;
            wall_sides += here != is_filled(b, column - 1, row);
            wall_sides += here != is_filled(b, column, row - 1);
        }
    b->triangle_count =
        abuti_add_saturated(abuti_multiply_saturated(4, cells),
                            abuti_multiply_saturated(2, abuti_multiply_saturated(wall_sides,
                                                                                 b->layers)));
}

/* Maps (u, v, w) to the axes of the shape: letters lie in the xy plane, stairs in the zx plane. */
static vec3 grid_position(const extruded_grid *b, double u, double v, uint64_t layer) {
    if (b->shape->kind == ABUT_SHAPE_STAIRS) /* x, z, -y is a right-handed frame */
        return v3(u, 0.0 - abuti_lattice(b->shape->extent.y, layer, b->layers), v);
    return v3(u, v, abuti_lattice(b->shape->extent.z, layer, b->layers));
}

static void add_points(abuti_builder *builder, const extruded_grid *b) {
    for (uint64_t row = 0; row <= b->rows; row++)
        for (uint64_t column = 0; column <= b->columns; column++) {
            int around = filled_around(b, column, row);
            if (around == 0)
                continue;
            b->first[row * (b->columns + 1) + column] = (uint32_t)builder->vertex_count;
            for (uint64_t layer = 0; layer <= b->layers; layer += around == 4 ? b->layers : 1)
                abuti_add_vertex(builder, grid_position(b, b->u[column], b->v[row], layer));
        }
}

/* The vertices of a grid point are consecutive, from layer 0 up. */
static uint32_t grid_vertex(const extruded_grid *b, uint64_t column, uint64_t row, bool upper_cap) {
    uint32_t first = b->first[row * (b->columns + 1) + column];
    if (!upper_cap)
        return first;
    return first + (filled_around(b, column, row) == 4 ? 1 : (uint32_t)b->layers);
}

static void add_caps(abuti_builder *builder, const extruded_grid *b) {
    for (uint64_t row = 0; row < b->rows; row++)
        for (uint64_t column = 0; column < b->columns; column++) {
            if (!is_filled(b, column, row))
                continue;
            for (int upper = 0; upper < 2; upper++) {
                uint32_t p = grid_vertex(b, column, row, upper),
                         q = grid_vertex(b, column + 1, row, upper);
                uint32_t r = grid_vertex(b, column + 1, row + 1, upper);
                uint32_t s = grid_vertex(b, column, row + 1, upper);
                abuti_add_quad(builder, p, upper ? q : s, r, upper ? s : q);
            }
        }
}

/* Adds the wall above the side between two grid points; the solid is on its left. */
static void add_wall(abuti_builder *builder, const extruded_grid *b, uint32_t from, uint32_t to) {
    for (uint32_t layer = 0; layer < b->layers; layer++)
        abuti_add_quad(builder, from + layer, to + layer, to + layer + 1, from + layer + 1);
}

static void add_walls(abuti_builder *builder, const extruded_grid *b) {
    for (uint64_t row = 0; row <= b->rows; row++)
        for (uint64_t column = 0; column <= b->columns; column++) {
            bool here = is_filled(b, column, row);
            if (here != is_filled(b, column - 1, row)) {
                uint32_t low = grid_vertex(b, column, row, false);
                uint32_t high = grid_vertex(b, column, row + 1, false);
                add_wall(builder, b, here ? high : low, here ? low : high);
            }
            if (here != is_filled(b, column, row - 1)) {
                uint32_t left = grid_vertex(b, column, row, false);
                uint32_t right = grid_vertex(b, column + 1, row, false);
                add_wall(builder, b, here ? left : right, here ? right : left);
            }
        }
}

static abut_status build_grid_mesh(abut_context *context, extruded_grid *b, abut_mesh **mesh) {
    abuti_builder builder;
    count_elements(b);
    abut_status status = abuti_builder_open(&builder, context, b->vertex_count, b->triangle_count);
    if (status)
        return status;
    b->first =
        abuti_allocate(context, (size_t)((b->columns + 1) * (b->rows + 1)), sizeof *b->first);
    if (!b->first) {
        abuti_builder_close(&builder);
        return ABUT_ERROR_MEMORY;
    }
    add_points(&builder, b);
    add_caps(&builder, b);
    add_walls(&builder, b);
    return abuti_builder_finish(&builder, mesh);
}

/* Allocates the grid lines. Rejects grids with too many triangles before any loop over their cells:
 * in all shapes, at least half of the cells are filled, and the outline is at least as long as that
 * of the whole grid. */
static abut_status allocate_grid(abut_context *context, extruded_grid *b) {
    uint64_t cells = abuti_multiply_saturated(b->columns, b->rows);
    uint64_t sides = abuti_multiply_saturated(b->layers, abuti_add_saturated(b->columns, b->rows));
    abut_status status =
        abuti_check_counts(0, abuti_add_saturated(abuti_multiply_saturated(2, cells),
                                                  abuti_multiply_saturated(4, sides)));
    if (status)
        return status;
    return ABUTI_ALLOCATE(context, ABUTI_ARRAY(b->u, (size_t)b->columns + 1),
                          ABUTI_ARRAY(b->v, (size_t)b->rows + 1),
                          ABUTI_ARRAY(b->u_part, (size_t)b->columns),
                          ABUTI_ARRAY(b->v_part, (size_t)b->rows));
}

static void release_grid(abut_context *context, extruded_grid *b) {
    ABUTI_RELEASE(context, b->u, b->v, b->u_part, b->v_part, b->first);
}

abut_status abuti_build_stairs(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    uint64_t steps = shape->segments;
    extruded_grid b = {.shape = shape, .columns = steps, .rows = steps, .layers = shape->rings};
    abut_status status = allocate_grid(context, &b);
    if (!status) {
        for (uint64_t i = 0; i <= steps; i++) {
            b.u[i] = abuti_lattice(shape->extent.x, i, steps);
            b.v[i] = abuti_lattice(shape->extent.z, i, steps);
        }
        status = build_grid_mesh(context, &b, mesh);
    }
    release_grid(context, &b);
    return status;
}

/* ---- letters: the coarse grid is divided into cells whose diagonal is at most height / segments
 * ---- */

/* Number of cells of a length, which is given as a multiple of the height. */
static uint64_t divide_length(double length, uint32_t segments) {
    double count = ceil(length * segments * 1.41421356237309504880);
    return count < 1 ? 1 : count < 1e10 ? (uint64_t)count : (uint64_t)1e10;
}

static uint64_t count_cells(const uint8_t *lines, uint32_t line_count, uint32_t segments) {
    uint64_t cells = 0;
    for (uint32_t i = 0; i + 1 < line_count; i++)
        cells += divide_length((lines[i + 1] - lines[i]) / 20.0, segments);
    return cells;
}

static void divide_lines(const uint8_t *lines, uint32_t line_count, const abut_shape *shape,
                         double *fine, uint32_t *part) {
    uint64_t next = 0;
    uint32_t total = lines[line_count - 1];
    for (uint32_t i = 0; i + 1 < line_count; i++) {
        uint64_t count = divide_length((lines[i + 1] - lines[i]) / 20.0, shape->segments);
        double from = letter_line(shape->height, lines[i], total);
        double to = letter_line(shape->height, lines[i + 1], total);
        for (uint64_t k = 0; k < count; k++) {
            part[next] = i;
            fine[next++] = from + (to - from) * ((double)k / (double)count);
        }
    }
    fine[next] = letter_line(shape->height, total, total);
}

abut_status abuti_build_letter(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    const letter *form = find_letter(shape->kind);
    extruded_grid b = {.shape = shape,
                       .columns = count_cells(form->u, form->u_count, shape->segments),
                       .rows = count_cells(form->v, form->v_count, shape->segments),
                       .layers = divide_length(shape->extent.z / shape->height, shape->segments)};
    abut_status status = allocate_grid(context, &b);
    if (!status) {
        divide_lines(form->u, form->u_count, shape, b.u, b.u_part);
        divide_lines(form->v, form->v_count, shape, b.v, b.v_part);
        status = build_grid_mesh(context, &b, mesh);
    }
    release_grid(context, &b);
    return status;
}
