/* Box, spheres, torus, cone, cylinder, capsule, tube and sheet.
 *
 * Solids of revolution have a profile of points (r, z), from the lower pole along the outside to
 * the upper pole, or counter-clockwise around a closed curve. All vertices lie on the ideal
 * surface, so that volume and distance converge with the square of the edge length.
 */
#include "shape/shape.h"

/* ---- solids of revolution about the z axis ---- */

typedef struct profile_size {
    uint64_t rows; /* points of the profile */
    bool closed;   /* a ring without poles */
} profile_size;

static profile_size profile_rows(const abut_shape *shape) {
    uint64_t rings = shape->rings;
    switch (shape->kind) {
    case ABUT_SHAPE_UVSPHERE:
        return (profile_size){rings + 1, false};
    case ABUT_SHAPE_TORUS:
        return (profile_size){rings, true};
    case ABUT_SHAPE_CONE:
        return (profile_size){rings + 2, false};
    case ABUT_SHAPE_CYLINDER:
        return (profile_size){rings + 3, false};
    case ABUT_SHAPE_CAPSULE:
        return (profile_size){2 * rings + 2, false};
    default:
        assert(shape->kind == ABUT_SHAPE_TUBE);
        return (profile_size){2 * rings + 2, true};
    }
}

/* Point j of the profile of a capsule: two quarter circles. */
static abuti_vec2 cap_point(const abut_shape *shape, uint64_t j) {
    uint64_t rings = shape->rings;
    double straight = shape->height;
    bool upper = j > rings;
    uint64_t step = upper ? j - 1 : j;
    abuti_vec2 turn = abuti_turn(step, 4 * rings);
    double z = (upper ? 0.5 * straight : -0.5 * straight) - shape->radius * turn.x;
    return (abuti_vec2){shape->radius * turn.y, z};
}

/* Point j of the profile: x is the distance from the axis, y is z. */
static abuti_vec2 profile_point(const abut_shape *shape, uint64_t j) {
    uint64_t rings = shape->rings, last = profile_rows(shape).rows - 1;
    double radius = shape->radius, height = shape->height;
    abuti_vec2 turn;
    switch (shape->kind) {
    case ABUT_SHAPE_UVSPHERE:
        turn = abuti_turn(j, 2 * rings);
        return (abuti_vec2){radius * turn.y, 0.0 - radius * turn.x};
    case ABUT_SHAPE_TORUS:
        turn = abuti_turn(j, rings);
        return (abuti_vec2){radius + shape->radius2 * turn.x, shape->radius2 * turn.y};
    case ABUT_SHAPE_CONE:
        if (j == 0)
            return (abuti_vec2){0, -0.5 * height};
        return (abuti_vec2){radius * ((double)(last - j) / (double)rings),
                            abuti_lattice(height, j - 1, rings)};
    case ABUT_SHAPE_CYLINDER:
        if (j == 0 || j == last)
            return (abuti_vec2){0, j ? 0.5 * height : -0.5 * height};
        return (abuti_vec2){radius, abuti_lattice(height, j - 1, rings)};
    case ABUT_SHAPE_CAPSULE:
        return cap_point(shape, j);
    default:
        if (j <= rings)
            return (abuti_vec2){radius, abuti_lattice(height, j, rings)};
        return (abuti_vec2){shape->radius2, abuti_lattice(height, last - j, rings)};
    }
}

/* The triangles between two rows of vertices, or between a pole and a row. */
static void add_strip(abuti_builder *builder, uint32_t lower, bool lower_pole, uint32_t upper,
                      bool upper_pole, uint32_t segments) {
    for (uint32_t k = 0; k < segments; k++) {
        uint32_t next = k + 1 < segments ? k + 1 : 0;
        if (lower_pole)
            abuti_add_triangle(builder, lower, upper + next, upper + k);
        else if (upper_pole)
            abuti_add_triangle(builder, lower + k, lower + next, upper);
        else
            abuti_add_quad(builder, lower + k, lower + next, upper + next, upper + k);
    }
}

abut_status abuti_build_revolved(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    uint32_t segments = shape->segments;
    profile_size profile = profile_rows(shape);
    uint64_t full_rows = profile.closed ? profile.rows : profile.rows - 2;
    uint64_t around = abuti_multiply_saturated(full_rows, segments);
    abuti_builder builder;
    abut_status status =
        abuti_builder_open(&builder, context, abuti_add_saturated(around, profile.closed ? 0 : 2),
                           abuti_multiply_saturated(2, around));
    if (status)
        return status;
    uint32_t before = 0;
    for (uint64_t j = 0; j < profile.rows; j++) {
        abuti_vec2 at = profile_point(shape, j);
        bool first_pole = !profile.closed && j == 0;
        bool last_pole = !profile.closed && j == profile.rows - 1;
        uint32_t row = (uint32_t)builder.vertex_count;
        if (first_pole || last_pole)
            abuti_add_vertex(&builder, v3(0, 0, at.y));
        else
            for (uint32_t k = 0; k < segments; k++) {
                abuti_vec2 turn = abuti_turn(k, segments);
                abuti_add_vertex(&builder, v3(at.x * turn.x, at.x * turn.y, at.y));
            }
        if (j > 0)
            add_strip(&builder, before, !profile.closed && j == 1, row, last_pole, segments);
        before = row;
    }
    if (profile.closed)
        add_strip(&builder, before, false, 0, false, segments);
    return abuti_builder_finish(&builder, mesh);
}

/* ---- box ---- */

/* Index of lattice point (x, y, z) among those on the surface of an n-lattice: the whole lowest
 * layer, one ring per layer, the whole highest layer. */
static uint32_t box_vertex(uint64_t n, uint64_t x, uint64_t y, uint64_t z) {
    uint64_t full = (n + 1) * (n + 1);
    if (z == 0)
        return (uint32_t)(y * (n + 1) + x);
    if (z == n)
        return (uint32_t)(full + (n - 1) * 4 * n + y * (n + 1) + x);
    uint64_t ring = y == 0 ? x : x == n ? n + y : y == n ? 3 * n - x : 4 * n - y;
    return (uint32_t)(full + (z - 1) * 4 * n + ring);
}

static void add_box_vertices(abuti_builder *builder, vec3 extent, uint64_t n) {
    builder->vertex_count = builder->vertex_room;
    for (uint64_t z = 0; z <= n; z++)
        for (uint64_t y = 0; y <= n; y++) {
            bool inner_row = z > 0 && z < n && y > 0 && y < n;
            for (uint64_t x = 0; x <= n; x += inner_row ? n : 1)
                builder->positions[box_vertex(n, x, y, z)] =
                    v3(abuti_lattice(extent.x, x, n), abuti_lattice(extent.y, y, n),
                       abuti_lattice(extent.z, z, n));
        }
}

/* Adds one of the two sides across `axis`; u and v are the next axes, so that u x v = axis. */
static void add_box_side(abuti_builder *builder, uint64_t n, int axis, bool far_side) {
    for (uint64_t v = 0; v < n; v++)
        for (uint64_t u = 0; u < n; u++) {
            uint32_t corner[4];
            for (uint64_t k = 0; k < 4; k++) {
                uint64_t at[3];
                at[axis] = far_side ? n : 0;
                at[(axis + 1) % 3] = u + (k == 1 || k == 2);
                at[(axis + 2) % 3] = v + (k == 2 || k == 3);
                corner[far_side ? k : (4 - k) % 4] = box_vertex(n, at[0], at[1], at[2]);
            }
            abuti_add_quad(builder, corner[0], corner[1], corner[2], corner[3]);
        }
}

abut_status abuti_build_box(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    uint64_t n = shape->segments, squared = abuti_multiply_saturated(n, n);
    abuti_builder builder;
    abut_status status =
        abuti_builder_open(&builder, context,
                           abuti_add_saturated(abuti_multiply_saturated(6, squared), 2),
                           abuti_multiply_saturated(12, squared));
    if (status)
        return status;
    add_box_vertices(&builder, shape->extent, n);
    for (int axis = 0; axis < 3; axis++) {
        add_box_side(&builder, n, axis, false);
        add_box_side(&builder, n, axis, true);
    }
    return abuti_builder_finish(&builder, mesh);
}

/* ---- sheet ---- */

abut_status abuti_build_sheet(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    uint64_t columns = shape->segments, rows = shape->rings;
    abuti_builder builder;
    abut_status status =
        abuti_builder_open(&builder, context, abuti_multiply_saturated(columns + 1, rows + 1),
                           abuti_multiply_saturated(2, abuti_multiply_saturated(columns, rows)));
    if (status)
        return status;
    for (uint64_t y = 0; y <= rows; y++)
        for (uint64_t x = 0; x <= columns; x++)
            abuti_add_vertex(&builder, v3(abuti_lattice(shape->extent.x, x, columns),
                                          abuti_lattice(shape->extent.y, y, rows), 0));
    for (uint64_t y = 0; y < rows; y++)
        for (uint64_t x = 0; x < columns; x++) {
            uint32_t a = (uint32_t)(y * (columns + 1) + x), d = (uint32_t)(a + columns + 1);
            abuti_add_quad(&builder, a, a + 1, d + 1, d);
        }
    return abuti_builder_finish(&builder, mesh);
}

/* ---- icosphere ---- */

/* Corners of the icosahedron are (0, +-1, +-g) and its cyclic permutations, where g is the golden
 * ratio; corners at distance 2 are connected. A corner is stored as one + g golden with integers:
 * points of faces are sums of corners, and sums of integers are exact, so that mirror images are
 * exact. Vertices are numbered in the order 12 corners, inner points of edges, inner points of
 * faces, so that neighbouring faces share them. */
typedef struct icosahedron {
    vec3 one[12], golden[12];
    uint32_t edge[12][12]; /* index of the edge between two corners, or ABUT_NONE */
} icosahedron;

static const double golden_ratio = 1.61803398874989484820;

static vec3 ico_corner(const icosahedron *solid, int i) {
    return v3_along(solid->one[i], golden_ratio, solid->golden[i]);
}

static icosahedron icosahedron_make(void) {
    icosahedron solid;
    for (int i = 0; i < 12; i++) {
        double one = i & 1 ? 1 : -1, golden = i & 2 ? 1 : -1;
        solid.one[i] = i < 4 ? v3(0, one, 0) : i < 8 ? v3(0, 0, one) : v3(one, 0, 0);
        solid.golden[i] = i < 4 ? v3(0, 0, golden) : i < 8 ? v3(golden, 0, 0) : v3(0, golden, 0);
    }
    uint32_t edges = 0;
    for (int i = 0; i < 12; i++) {
        solid.edge[i][i] = ABUT_NONE;
        for (int j = i + 1; j < 12; j++) {
            bool joined = v3_length_sq(v3_sub(ico_corner(&solid, i), ico_corner(&solid, j))) < 5;
            solid.edge[i][j] = solid.edge[j][i] = joined ? edges++ : ABUT_NONE;
        }
    }
    assert(edges == 30);
    return solid;
}

/* The face of the corners i < j < k, with points (a, b): a steps to j, b steps to k. */
typedef struct ico_face {
    const icosahedron *solid;
    int i, j, k;
    uint64_t n, inner_begin;
} ico_face;

static uint32_t edge_vertex(const ico_face *face, int from, int to, uint64_t step) {
    return (uint32_t)(12 + face->solid->edge[from][to] * (face->n - 1) + step - 1);
}

static uint32_t ico_vertex(const ico_face *face, uint64_t a, uint64_t b) {
    uint64_t n = face->n;
    if (a + b == 0)
        return (uint32_t)face->i;
    if (a == n)
        return (uint32_t)face->j;
    if (b == n)
        return (uint32_t)face->k;
    if (b == 0)
        return edge_vertex(face, face->i, face->j, a);
    if (a == 0)
        return edge_vertex(face, face->i, face->k, b);
    if (a + b == n)
        return edge_vertex(face, face->j, face->k, b);
    /* rows of constant b, each one shorter than the previous one, the first with n - 2 points */
    uint64_t rows_before = (b - 1) * (n - 2) - (b - 1) * (b - 2) / 2;
    return (uint32_t)(face->inner_begin + rows_before + a - 1);
}

/* The point (a, b) of a face, projected to the sphere. */
static vec3 ico_point(const ico_face *face, uint64_t a, uint64_t b, double radius) {
    const vec3 *one = face->solid->one, *golden = face->solid->golden;
    double to_i = (double)(face->n - a - b), to_j = (double)a, to_k = (double)b;
    vec3 ones =
        v3_along(v3_along(v3_scale(one[face->i], to_i), to_j, one[face->j]), to_k, one[face->k]);
    vec3 goldens = v3_along(v3_along(v3_scale(golden[face->i], to_i), to_j, golden[face->j]), to_k,
                            golden[face->k]);
    return v3_scale(v3_normalise(v3_along(ones, golden_ratio, goldens)), radius);
}

static void add_ico_face(abuti_builder *builder, const ico_face *face, double radius) {
    uint64_t n = face->n;
    vec3 i = ico_corner(face->solid, face->i), j = ico_corner(face->solid, face->j);
    bool outwards = v3_dot(i, v3_cross(j, ico_corner(face->solid, face->k))) > 0;
    for (uint64_t b = 0; b <= n; b++)
        for (uint64_t a = 0; a + b <= n; a++) {
            builder->positions[ico_vertex(face, a, b)] = ico_point(face, a, b, radius);
            for (int down = 0; down < 2; down++) {
                if (a + b + 1 + (uint64_t)down > n)
                    continue;
                uint32_t p = down ? ico_vertex(face, a + 1, b + 1) : ico_vertex(face, a, b);
                uint32_t q = ico_vertex(face, a + 1, b), r = ico_vertex(face, a, b + 1);
                bool keep = outwards == !down;
                abuti_add_triangle(builder, p, keep ? q : r, keep ? r : q);
            }
        }
}

abut_status abuti_build_icosphere(abut_context *context, const abut_shape *shape,
                                  abut_mesh **mesh) {
    uint64_t n = shape->segments, squared = abuti_multiply_saturated(n, n);
    abuti_builder builder;
    abut_status status =
        abuti_builder_open(&builder, context,
                           abuti_add_saturated(abuti_multiply_saturated(10, squared), 2),
                           abuti_multiply_saturated(20, squared));
    if (status)
        return status;
    builder.vertex_count = builder.vertex_room;
    icosahedron solid = icosahedron_make();
    ico_face face = {.solid = &solid, .n = n, .inner_begin = 12 + 30 * (n - 1)};
    for (face.i = 0; face.i < 12; face.i++)
        for (face.j = face.i + 1; face.j < 12; face.j++)
            for (face.k = face.j + 1; face.k < 12; face.k++) {
                if (solid.edge[face.i][face.j] == ABUT_NONE ||
                    solid.edge[face.j][face.k] == ABUT_NONE ||
                    solid.edge[face.i][face.k] == ABUT_NONE)
                    continue;
                add_ico_face(&builder, &face, shape->radius);
                face.inner_begin += (n - 1) * (n - 2) / 2;
            }
    return abuti_builder_finish(&builder, mesh);
}
