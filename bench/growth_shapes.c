/* Closed surfaces of any number of triangles, to measure growth. All except the scan have points
 * that are equally far from thousands of triangles: the centre of a sphere, the axis of a torus
 * or cylinder, the planes and surfaces half-way between walls. Computed with +, -, x, / and
 * square roots only and rounded to float, so that they are the same on every machine. */
#include "growth.h"

#include <math.h>
#include <string.h>

/* ---- mesh builder ---- */

typedef struct maker {
    float *positions;
    uint32_t *indices;
    uint32_t vertex_count, triangle_count;
} maker;

static maker reserve(bench_state *state, uint64_t vertices, uint64_t triangles) {
    return (maker){.positions = bench_array(state, 3 * vertices, sizeof(float)),
                   .indices = bench_array(state, 3 * triangles, sizeof(uint32_t))};
}

static void add_vertex(maker *m, double x, double y, double z) {
    float *p = m->positions + 3 * (size_t)m->vertex_count++;
    p[0] = (float)x;
    p[1] = (float)y;
    p[2] = (float)z;
}

/* Two triangles; `turned` reverses their orientation. */
static void add_quad(maker *m, uint32_t a, uint32_t b, uint32_t c, uint32_t d, bool turned) {
    const uint32_t corners[6] = {a, b, c, a, c, d}, other[6] = {a, c, b, a, d, c};
    memcpy(m->indices + 3 * (size_t)m->triangle_count, turned ? other : corners, sizeof corners);
    m->triangle_count += 2;
}

static abut_status finish(const bench_state *state, const maker *m, abut_mesh **mesh) {
    abut_mesh_input input =
        abut_mesh_input_floats(m->positions, m->vertex_count, m->indices, m->triangle_count);
    return abut_mesh_create(state->context, &input, mesh);
}

static uint32_t at_least(double value, uint32_t least) {
    return value > least ? (uint32_t)(value + 0.5) : least;
}

/* ---- the scan ---- */

/* From -1 to 1, at a corner of the lattice. */
static double lattice(int32_t x, int32_t y, int32_t z) {
    uint64_t state = (uint64_t)(x + 1024) << 40 ^ (uint64_t)(y + 1024) << 20 ^ (uint64_t)(z + 1024);
    return (double)(bench_random(&state) >> 11) * 0x1p-52 - 1;
}

/* Value noise: corners of the lattice, interpolated smoothly. */
static double noise(const double at[3]) {
    int32_t cell[3];
    double s[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        double below = floor(at[k]), t = at[k] - below;
        cell[k] = (int32_t)below;
        s[k] = t * t * (3 - 2 * t);
    }
    for (int c = 0; c < 8; c++) {
        double weight = 1;
        for (int k = 0; k < 3; k++)
            weight *= c >> k & 1 ? s[k] : 1 - s[k];
        sum += weight * lattice(cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2 & 1));
    }
    return sum;
}

/* Lumps of half the size down to fine folds, each octave half as high as the previous one, and
 * the error of a scanner: a twentieth of an edge. No two parts of it are equal. */
static abut_status make_scan(bench_state *state, uint32_t triangles, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = at_least(sqrt(triangles / 20.0), 1);
    abut_mesh *ball = NULL;
    TRY(abut_shape_create(state->context, &shape, &ball));
    uint32_t count = abut_mesh_vertex_count(ball);
    const abut_vec3 *from = abut_mesh_local_positions(ball);
    double edge = sqrt(29.0 / triangles) * shape.radius; /* 4 pi r^2 = n sqrt(3) / 4 edge^2 */
    uint64_t random = 21;
    maker m = reserve(state, count, abut_mesh_triangle_count(ball));
    for (uint32_t v = 0; v < count; v++) {
        double p[3] = {from[v].x / shape.radius, from[v].y / shape.radius,
                       from[v].z / shape.radius};
        double radius = 1, frequency = 1.7, high = 0.32;
        for (int octave = 0; octave < 6; octave++, frequency *= 2.03, high /= 2) {
            const double at[3] = {frequency * p[0] + 7.3, frequency * p[1] + 1.9,
                                  frequency * p[2] - 4.1};
            radius += high * noise(at);
        }
        radius += bench_random_real(&random, -0.05, 0.05) * edge;
        add_vertex(&m, radius * p[0], 0.75 * radius * p[1], 0.6 * radius * p[2]);
    }
    m.triangle_count = abut_mesh_triangle_count(ball);
    memcpy(m.indices, abut_mesh_indices(ball), 3 * (size_t)m.triangle_count * sizeof *m.indices);
    abut_mesh_destroy(ball);
    return finish(state, &m, mesh);
}

/* ---- shapes with an axis ---- */

static abut_status make_torus(bench_state *state, uint32_t triangles, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    shape.radius = 1;
    shape.radius2 = 0.4;
    shape.rings = at_least(sqrt(triangles / 5.0), 3);
    shape.segments = at_least(2.5 * shape.rings, 3);
    return abut_shape_create(state->context, &shape, mesh);
}

static abut_status make_cylinder(bench_state *state, uint32_t triangles, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    shape.radius = 0.1;
    shape.height = 4;
    shape.segments = at_least(sqrt(triangles / 12.8), 3);
    shape.rings = at_least(6.4 * shape.segments, 1);
    return abut_shape_create(state->context, &shape, mesh);
}

/* Eight concentric spheres, every other one oriented inwards: four shells. */
static abut_status make_nested(bench_state *state, uint32_t triangles, abut_mesh **mesh) {
    enum { SPHERES = 8 };
    abut_mesh *balls[SPHERES] = {NULL};
    uint64_t vertices = 0, all = 0;
    for (uint32_t i = 0; i < SPHERES; i++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
        shape.radius = (SPHERES - i) / (double)SPHERES;
        shape.segments = at_least(sqrt(triangles / 63.75) * shape.radius, 1);
        TRY(abut_shape_create(state->context, &shape, &balls[i]));
        vertices += abut_mesh_vertex_count(balls[i]);
        all += abut_mesh_triangle_count(balls[i]);
    }
    maker m = reserve(state, vertices, all);
    for (uint32_t i = 0; i < SPHERES; i++) {
        const abut_vec3 *p = abut_mesh_local_positions(balls[i]);
        const uint32_t *from = abut_mesh_indices(balls[i]);
        uint32_t first = m.vertex_count, *to = m.indices + 3 * (size_t)m.triangle_count;
        for (uint32_t v = 0; v < abut_mesh_vertex_count(balls[i]); v++)
            add_vertex(&m, p[v].x, p[v].y, p[v].z);
        m.triangle_count += abut_mesh_triangle_count(balls[i]);
        for (size_t k = 0; k < 3 * (size_t)abut_mesh_triangle_count(balls[i]); k += 3) {
            to[k] = first + from[k];
            to[k + 1] = first + from[k + 1 + i % 2];
            to[k + 2] = first + from[k + 2 - i % 2];
        }
    }
    for (uint32_t i = 0; i < SPHERES; i++)
        abut_mesh_destroy(balls[i]);
    return finish(state, &m, mesh);
}

/* ---- walls ---- */

/* Both faces and the rim of a wall. Each face has columns x rows vertices, row by row from
 * `first` on, those of the back after those of the front. */
static void add_wall(maker *m, uint32_t first, uint32_t columns, uint32_t rows) {
    uint32_t back = columns * rows;
    for (uint32_t j = 0; j + 1 < rows; j++)
        for (uint32_t i = 0; i + 1 < columns; i++) {
            uint32_t a = first + j * columns + i, b = a + 1, c = b + columns, d = a + columns;
            add_quad(m, a, b, c, d, false);
            add_quad(m, back + a, back + b, back + c, back + d, true);
        }
    for (uint32_t i = 0; i + 1 < columns; i++) {
        uint32_t a = first + i, d = first + (rows - 1) * columns + i;
        add_quad(m, a, a + 1, back + a + 1, back + a, true);
        add_quad(m, d, d + 1, back + d + 1, back + d, false);
    }
    for (uint32_t j = 0; j + 1 < rows; j++) {
        uint32_t a = first + j * columns, b = a + columns - 1;
        add_quad(m, a, a + columns, back + a + columns, back + a, false);
        add_quad(m, b, b + columns, back + b + columns, back + b, true);
    }
}

static uint64_t wall_triangles(uint64_t columns, uint64_t rows) {
    return 4 * (columns - 1) * (rows - 1) + 4 * (columns - 1) + 4 * (rows - 1);
}

/* Sixteen plates of 1 x 1 x 0.02, 0.06 between their centres. */
static abut_status make_plates(bench_state *state, uint32_t triangles, abut_mesh **mesh) {
    enum { PLATES = 16 };
    uint32_t side = 1 + at_least(sqrt(triangles / (4.0 * PLATES) + 1) - 1, 1);
    uint64_t each = 2 * (uint64_t)side * side;
    maker m = reserve(state, PLATES * each, PLATES * wall_triangles(side, side));
    for (uint32_t n = 0; n < PLATES; n++) {
        uint32_t first = m.vertex_count;
        for (uint32_t k = 0; k < 2; k++)
            for (uint32_t j = 0; j < side; j++)
                for (uint32_t i = 0; i < side; i++)
                    add_vertex(&m, (double)i / (side - 1) - 0.5, (double)j / (side - 1) - 0.5,
                               0.06 * n - 0.02 * k - 0.44);
        add_wall(&m, first, side, side);
    }
    return finish(state, &m, mesh);
}

/* A sheet 0.03 thick and 1.5 high that is rolled up eight times, 0.1 from turn to turn; r^2 is
 * linear in the parameter, and so is the arc length. */
static abut_status make_spiral(bench_state *state, uint32_t triangles, abut_mesh **mesh) {
    const double inner = 0.2, pitch = 0.1, turns = 8, outer = inner + pitch * turns;
    const double length = 3.14159265 * (outer * outer - inner * inner) / pitch, high = 1.5;
    uint32_t rows = 1 + at_least(sqrt(triangles / 4.0 * high / length + 0.3) - 0.5, 1);
    uint32_t columns = 1 + at_least((rows - 1) * length / high, 48);
    maker m = reserve(state, 2 * (uint64_t)rows * columns, wall_triangles(columns, rows));
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t j = 0; j < rows; j++)
            for (uint32_t i = 0; i < columns; i++) {
                double share = (double)i / (columns - 1), x, y;
                double r = sqrt(inner * inner + share * (outer * outer - inner * inner));
                double turn = (r - inner) / pitch;
                bench_circle(turn - floor(turn), &x, &y);
                r += k ? -0.015 : 0.015;
                add_vertex(&m, r * x, r * y, high * j / (rows - 1) - 0.5 * high);
            }
    add_wall(&m, 0, columns, rows);
    return finish(state, &m, mesh);
}

/* ---- table ---- */

static const struct {
    const char *name;
    abut_status (*make)(bench_state *, uint32_t, abut_mesh **);
} shapes[] = {
    {"scan", make_scan},         {"torus", make_torus},   {"nested", make_nested},
    {"cylinder", make_cylinder}, {"plates", make_plates}, {"spiral", make_spiral},
};

abut_status growth_shape_create(bench_state *state, const char *name, uint32_t triangles,
                                abut_mesh **mesh) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return shapes[i].make(state, triangles, mesh);
    return bench_fail(ABUT_ERROR_ARGUMENT,
                      "ABUT_BENCH_SHAPE is '%s'; scan, torus, nested, cylinder, plates or spiral",
                      name);
}
