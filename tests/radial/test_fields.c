/* Samples of radial fields against rays in doubles through all triangles; frames of scaled and
 * sheared bones; fitting; invalid arguments; memory. */
#include "apps/get.h"
#include "geom/closest_shared.h"
#include "radial/body.h"

/* The nearest outward crossing of the ray of a sample, in doubles; *doubt where an edge or another
 * crossing is so near that floats may differ. */
static double referee(const abut_radial_view *v, const abut_vec3 *positions,
                      const uint32_t *triangles, uint32_t count, bool flip, uint32_t i, uint32_t j,
                      bool *doubt) {
    const double a = 6.283185307179586 * i / v->around;
    const vec3 o = v3_along(v->begin, v->step * j, v->axis);
    const vec3 d = v3_add(v3_scale(v->normal, cos(a)), v3_scale(v->tangent, sin(a)));
    double best = HUGE_VAL;
    *doubt = false;
    for (uint32_t t = 0; t < count; t++) {
        vec3 p[3];
        double e[3];
        for (int k = 0; k < 3; k++)
            p[k] = v3_sub(positions[triangles[3 * t + (uint32_t)k]], o);
        for (int k = 0; k < 3; k++)
            e[k] = v3_dot(d, v3_cross(p[(k + 1) % 3], p[(k + 2) % 3]));
        const vec3 n = v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]));
        const double facing = v3_dot(n, d), r = v3_dot(n, p[0]) / facing;
        const double size = fmax(v3_length(p[0]), fmax(v3_length(p[1]), v3_length(p[2])));
        const double slack = 1e-5 * size * size;
        const bool inside = e[0] > 0 && e[1] > 0 && e[2] > 0;
        const bool reverse = e[0] < 0 && e[1] < 0 && e[2] < 0;
        if (fmin(e[0], fmin(e[1], e[2])) > -slack || fmax(e[0], fmax(e[1], e[2])) < slack)
            *doubt |= !(inside || reverse) ||
                      (fabs(e[0]) < slack || fabs(e[1]) < slack || fabs(e[2]) < slack);
        if ((flip ? reverse : inside) && r >= 0 && r < best)
            best = r;
    }
    return best;
}

/* Compares all samples; returns how many had a radius. */
static uint32_t check_samples(abut_radial *radial, const abut_mesh *mesh,
                              const abut_character_matrix *bone, bool flip, double tolerance,
                              uint32_t *doubts) {
    const uint32_t vertices = abut_mesh_vertex_count(mesh), count = abut_mesh_triangle_count(mesh);
    const uint32_t *triangles = abut_mesh_indices(mesh);
    const abut_radial_view v = get_radial_field(radial, 0);
    abut_vec3 *positions = malloc(vertices * sizeof *positions);
    uint32_t found = 0;
    for (uint32_t i = 0; i < vertices; i++)
        positions[i] = matrix_move(bone, body_position(mesh, i));
    for (uint32_t j = 0; j < v.along; j++)
        for (uint32_t i = 0; i < v.around; i++) {
            bool doubt;
            const double meant = referee(&v, positions, triangles, count, flip, i, j, &doubt);
            const double here = v.radii[j * v.around + i];
            *doubts += doubt;
            found += here < HUGE_VAL;
            if (doubt || (here == 0 && meant == HUGE_VAL)) /* a closed end */
                continue;
            if (!(here == meant || fabs(here - meant) <= tolerance * fmax(meant, 1e-30)))
                fail_msg("sample %u, %u: %.9g instead of %.9g", i, j, here, meant);
        }
    free(positions);
    return found;
}

TEST(samples_are_what_rays_meet) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_UVSPHERE, ABUT_SHAPE_BOX, ABUT_SHAPE_TORUS,
                                            ABUT_SHAPE_CAPSULE};
    test_random random = {1};
    uint32_t doubts = 0, samples = 0;
    for (int k = 0; k < 4; k++) {
        abut_mesh *mesh = body_mesh(NULL, kinds[k], 9);
        abut_radial *radial = body_field(mesh, -1.3, 1.4, 37, 23);
        for (uint32_t round = 0; round < test_rounds(24); round++) {
            /* any affine map that is not too flat: turned, sheared, scaled, mirrored */
            abut_character_matrix bone;
            double volume;
            do {
                for (int c = 0; c < 12; c++)
                    bone.m[c / 4][c % 4] = test_random_real(&random, -2, 2);
                const vec3 x = v3(bone.m[0][0], bone.m[0][1], bone.m[0][2]);
                const vec3 y = v3(bone.m[1][0], bone.m[1][1], bone.m[1][2]);
                volume = v3_dot(v3(bone.m[2][0], bone.m[2][1], bone.m[2][2]), v3_cross(x, y));
            } while (fabs(volume) < 0.5);
            body_pose(radial, mesh, &bone);
            samples += check_samples(radial, mesh, &bone, volume < 0, 2e-4, &doubts);
        }
        abut_radial_destroy(radial);
        abut_mesh_destroy(mesh);
    }
    if (samples < 1200 * test_rounds(24))
        fail_msg("%u samples", samples);
    if (doubts > samples / 10)
        fail_msg("%u of %u samples are in doubt", doubts, samples);
}

/* Rays through vertices and along edges: a sphere whose axis is through its poles, with columns and
 * rows where its vertices are. No sample may be lost. */
TEST(nothing_is_lost_at_edges) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 16);
    const abut_box box = abut_mesh_bounds(mesh);
    const double r = box.hi.z;
    for (uint32_t around = 4; around <= 64; around *= 2) {
        abut_radial *radial = body_field(mesh, -0.8 * r, 0.8 * r, around, 33);
        const abut_character_matrix none = matrix_none();
        body_pose(radial, mesh, &none);
        const abut_radial_view v = get_radial_field(radial, 0);
        for (uint32_t i = 0; i < v.around * v.along; i++) {
            const double z = -0.8 * r + v.step * (i / around), meant = sqrt(r * r - z * z);
            if (!(v.radii[i] <= meant * 1.0001 && v.radii[i] > 0.85 * meant))
                fail_msg("%u around: sample %u is %g instead of %g", around, i, (double)v.radii[i],
                         meant);
        }
        assert_true(v.reach >= r * 0.9 && v.reach <= r * 1.0001);
        abut_radial_destroy(radial);
    }
    abut_mesh_destroy(mesh);
}

/* Whatever the turn about its axis, and wherever the seam is, a cylinder has the same radii. */
TEST(seams_do_not_show) {
    test_random random = {2};
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_CYLINDER, 24);
    abut_radial *radial = body_field(mesh, -0.4, 0.4, 40, 9);
    for (uint32_t round = 0; round < 20; round++) {
        const double a = test_random_real(&random, 0, 7);
        /* the mesh turns, its bone does not */
        abut_character_matrix turn = matrix_none(), none = matrix_none();
        turn.m[0][0] = turn.m[1][1] = cos(a);
        turn.m[0][1] = -(turn.m[1][0] = sin(a));
        const uint32_t count = abut_mesh_vertex_count(mesh);
        abut_vec3 *p = malloc(count * sizeof *p);
        double r = 0;
        for (uint32_t i = 0; i < count; i++) {
            p[i] = matrix_move(&turn, body_position(mesh, i));
            r = fmax(r, sqrt(p[i].x * p[i].x + p[i].y * p[i].y));
        }
        assert_ok(abut_radial_set_positions(radial, &none, abut_array_host(p)));
        const abut_radial_view v = get_radial_field(radial, 0);
        for (uint32_t i = 0; i < v.around * v.along; i++)
            assert_true(v.radii[i] <= r * 1.0001 && v.radii[i] >= r * 0.98);
        free(p);
    }
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

TEST(closed_ends) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 24);
    const double r = abut_mesh_bounds(mesh).hi.z;
    abut_radial *radial = body_field(mesh, -1.2 * r, 1.2 * r, 24, 25);
    const abut_character_matrix none = matrix_none();
    abut_mesh *surface = NULL;
    body_pose(radial, mesh, &none);
    const abut_radial_view v = get_radial_field(radial, 0);
    uint32_t zeros = 0, empty = 0;
    for (uint32_t i = 0; i < v.around * v.along; i++) {
        zeros += v.radii[i] == 0;
        empty += v.radii[i] == INFINITY;
    }
    assert_int_equal(zeros, 2 * v.around);
    /* rows at -1.2 r to 1.2 r by 0.1 r: 19 within, two of zeros at the poles */
    assert_in_range(empty, 2 * v.around, 4 * v.around);
    assert_ok(abut_radial_surface(radial, 0, &surface));
    const abut_box box = abut_mesh_bounds(surface);
    assert_true(box.hi.z >= 0.99999 * r && box.hi.z <= r + 1.01 * v.step &&
                box.lo.z <= -0.99999 * r);
    abut_mesh_destroy(surface);
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

TEST(fitted_to_a_snake) {
    snake s = make_snake(NULL, 4, 33, 20);
    const abut_character_info c = get_character_info(s.character);
    abut_character_matrix bones[4];
    abut_vec3 *positions = malloc(c.vertex_count * sizeof *positions);
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    options.cell = 0.05;
    assert_ok(abut_radial_create(s.character, &options, &radial));
    const abut_radial_info info = get_radial_info(radial);
    assert_int_equal(info.field_count, 4);
    assert_int_equal(info.unseen_count, 0);
    assert_true(info.pair_count > c.triangle_count && info.pair_count < 2 * c.triangle_count);
    assert_false(info.has_samples);
    assert_null(get_radial_field(radial, 0).radii);
    bend_snake(&s, 0.5, 0, bones, positions);
    assert_ok(abut_radial_set_positions(radial, bones, abut_array_host(positions)));
    for (uint32_t f = 0; f < 4; f++) {
        const abut_radial_view v = get_radial_field(radial, f);
        assert_int_equal(v.bone, f);
        /* along x of the bone, and through the middle */
        const vec3 along = v3(bones[f].m[0][0], bones[f].m[1][0], bones[f].m[2][0]);
        assert_true(fabs(v3_dot(along, v.axis)) > 0.97);
        assert_true(v.reach > 0.2 && v.reach < 0.9);
        assert_true(v.around >= 24 && v.around < 60 && v.along > 20);
    }
    assert_int_equal(get_radial_field(radial, 4).around, 0);
    free(positions);
    abut_radial_destroy(radial);
    free_snake(&s);
}

/* A sheet that bends a little, as a cape does: lines far away would see all of it, and bury what is
 * between. */
TEST(axes_stay_near_open_sheets) {
    enum { SIDE = 9 };
    abut_vec3 p[SIDE * SIDE];
    uint32_t t[6 * (SIDE - 1) * (SIDE - 1)], n = 0;
    abut_mesh *mesh = NULL;
    abut_radial *radial = NULL;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        double x = (i % SIDE) / (SIDE - 1.0) - 0.5, y = (double)(i / SIDE) / (SIDE - 1.0) - 0.5;
        p[i] = v3(x, y, -0.2 * x * x);
    }
    for (uint32_t i = 0; i + SIDE < SIDE * SIDE; i++) {
        if (i % SIDE == SIDE - 1)
            continue;
        const uint32_t two[6] = {i, i + 1, i + SIDE, i + 1, i + SIDE + 1, i + SIDE};
        memcpy(t + n, two, sizeof two);
        n += 6;
    }
    abut_mesh_input input = abut_mesh_input_doubles(p, SIDE * SIDE, t, n / 3);
    abut_character_bone bone = abut_character_bone_default();
    abut_character_input cape = abut_character_input_default();
    abut_character *character = NULL;
    uint32_t bones[SIDE * SIDE] = {0};
    double weights[SIDE * SIDE];
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        weights[i] = 1;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    cape.mesh = mesh;
    cape.bone_count = cape.weight_count = 1;
    cape.bones = &bone;
    cape.weight_bones = bones;
    cape.weights = weights;
    assert_ok(abut_character_create(NULL, &cape, &character));
    assert_ok(abut_radial_create(character, NULL, &radial));
    const abut_character_matrix none = matrix_none();
    body_pose(radial, mesh, &none);
    abut_radial_view view = get_radial_field(radial, 0);
    assert_true(view.begin.z < -0.1 && view.begin.z > -0.5); /* without a bound at -3 */
    assert_true(view.reach > 0.1 && view.reach < 0.8);
    abut_radial_destroy(radial);
    abut_character_destroy(character);
    abut_mesh_destroy(mesh);
}

/* ---- several parts of a bone ---- */

enum { COMB_X = 10, COMB_Y = 9, COMB_CORNERS = 2 * (COMB_X + 1) * (COMB_Y + 1) };

/* Four fingers on a palm, or without it. */
static bool is_solid(int x, int y, bool has_palm) {
    return x >= 0 && x < COMB_X && y >= 0 && y < COMB_Y && ((has_palm && y < 2) || x % 3 == 0);
}

/* The surface of unit cubes, without coincident vertices. */
static abut_mesh *make_comb(bool has_palm) {
    static const int quads[6][4][3] = {{{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}},
                                       {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0}},
                                       {{0, 1, 0}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}},
                                       {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1}},
                                       {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}},
                                       {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}}};
    static const int side[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    static abut_vec3 positions[COMB_CORNERS];
    static uint32_t names[COMB_CORNERS], triangles[6 * 6 * COMB_X * COMB_Y];
    uint32_t corners = 0, count = 0;
    abut_mesh *mesh = NULL;
    memset(names, 0xff, sizeof names);
    for (int i = 0; i < 6 * COMB_X * COMB_Y; i++) {
        const int x = i / 6 % COMB_X, y = i / 6 / COMB_X, q = i % 6;
        if (!is_solid(x, y, has_palm) ||
            (q < 4 && is_solid(x + side[q][0], y + side[q][1], has_palm)))
            continue;
        uint32_t quad[4];
        for (int k = 0; k < 4; k++) {
            const int *at = quads[q][k];
            uint32_t *name = &names[(at[2] * (COMB_Y + 1) + y + at[1]) * (COMB_X + 1) + x + at[0]];
            if (*name == ABUT_NONE) {
                positions[corners] = v3(x + at[0], y + at[1], at[2]);
                *name = corners++;
            }
            quad[k] = *name;
        }
        const uint32_t two[6] = {quad[0], quad[1], quad[2], quad[0], quad[2], quad[3]};
        memcpy(triangles + 3 * (size_t)count, two, sizeof two);
        count += 2;
    }
    const abut_mesh_input input = abut_mesh_input_doubles(positions, corners, triangles, count);
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    return mesh;
}

/* Creates fields for a mesh that one bone moves. */
static abut_radial *create_rigid(abut_mesh *mesh, double cell) {
    uint32_t bones[COMB_CORNERS] = {0};
    double weights[COMB_CORNERS];
    abut_character_bone bone = abut_character_bone_default();
    abut_character_input input = abut_character_input_default();
    abut_radial_options options = abut_radial_options_default();
    abut_character *character = NULL;
    abut_radial *radial = NULL;
    for (int i = 0; i < COMB_CORNERS; i++)
        weights[i] = 1;
    input.mesh = mesh;
    input.bone_count = input.weight_count = 1;
    input.bones = &bone;
    input.weight_bones = bones;
    input.weights = weights;
    options.cell = cell;
    assert_ok(abut_character_create(NULL, &input, &character));
    assert_ok(abut_radial_create(character, &options, &radial));
    abut_character_destroy(character);
    return radial;
}

/* No axis represents several fingers. */
TEST(parts_of_a_bone) {
    for (int has_palm = 0; has_palm < 2; has_palm++) {
        abut_mesh *mesh = make_comb(has_palm);
        abut_radial *radial = create_rigid(mesh, 0.1);
        abut_radial_info info = abut_radial_info_default();
        abut_radial_measures measures = abut_radial_measures_default();
        const abut_character_matrix none = matrix_none();
        body_pose(radial, mesh, &none);
        assert_ok(abut_radial_get_info(radial, &info));
        assert_ok(abut_radial_measure(radial, mesh, NULL, &measures));
        print_message("%u fields, missing %g, buried %g of %g\n", info.field_count,
                      measures.missing_area, measures.buried_area, measures.area);
        assert_true(info.field_count >= 4 && info.field_count <= 16);
        assert_true(measures.missing_area <= 0.01 * measures.area);
        assert_true(measures.buried_area <= 0.01 * measures.area);
        abut_radial_destroy(radial);
        abut_mesh_destroy(mesh);
    }
}

TEST(odd_bones) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 12);
    abut_radial *radial = body_field(mesh, -0.5, 0.5, 16, 9);
    abut_character_matrix flat = matrix_none(), none = matrix_none();
    flat.m[2][2] = 0; /* the axis has no length */
    body_pose(radial, mesh, &flat);
    abut_radial_view v = get_radial_field(radial, 0);
    assert_true(v.step == 0);
    for (uint32_t i = 0; i < v.around * v.along; i++)
        assert_true(v.radii[i] == INFINITY);
    flat = none;
    flat.m[0][0] = 0; /* no direction where angles begin */
    body_pose(radial, mesh, &flat);
    body_pose(radial, mesh, &none); /* and back */
    v = get_radial_field(radial, 0);
    for (uint32_t i = 0; i < v.around * v.along; i++)
        assert_true(v.radii[i] < 2);
    flat.m[0][0] = NAN;
    assert_refused("bones[0]", abut_radial_set_positions(radial, &flat, abut_array_host(&none)));
    flat.m[0][0] = 1e200;
    assert_refused("bones[0]", abut_radial_set_positions(radial, &flat, abut_array_host(&none)));
    assert_refused("positions", abut_radial_set_positions(radial, &none, abut_array_host(NULL)));
    assert_refused("bones", abut_radial_set_positions(radial, NULL, abut_array_host(&none)));
    assert_refused("radial", abut_radial_set_positions(NULL, &none, abut_array_host(&none)));
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *p = calloc(count, sizeof *p);
    p[count - 1].y = NAN;
    assert_refused("position", abut_radial_set_positions(radial, &none, abut_array_host(p)));
    assert_true(get_radial_field(radial, 0).radii[0] < 2); /* as before */
    p[count - 1].y = 1e80;                                 /* huge is allowed */
    assert_ok(abut_radial_set_positions(radial, &none, abut_array_host(p)));
    free(p);
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

/* Meshes of odd sizes have the samples of ordinary ones. */
TEST(sizes) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 12);
    float *meant = NULL;
    for (int k = -1; k < 4; k++) {
        static const double factors[] = {0x1p-180, 0x1p180, 0x1p-60, 0x1p60};
        const double factor = k < 0 ? 1 : factors[k];
        const uint32_t count = abut_mesh_vertex_count(mesh);
        abut_vec3 *p = malloc(count * sizeof *p);
        for (uint32_t i = 0; i < count; i++)
            p[i] = v3_scale(body_position(mesh, i), factor);
        abut_mesh *scaled =
            test_mesh(NULL, p, count, abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh));
        abut_radial *radial = body_field(scaled, -0.5 * factor, 0.5 * factor, 16, 9);
        const abut_character_matrix none = matrix_none();
        body_pose(radial, scaled, &none);
        const abut_radial_view v = get_radial_field(radial, 0);
        if (!meant) {
            meant = malloc(v.around * v.along * sizeof *meant);
            memcpy(meant, v.radii, v.around * v.along * sizeof *meant);
        }
        for (uint32_t i = 0; i < v.around * v.along; i++)
            assert_true(fabs(v.radii[i] * v.unit / factor - (double)meant[i]) < 1e-5);
        free(p);
        abut_radial_destroy(radial);
        abut_mesh_destroy(scaled);
    }
    free(meant);
    abut_mesh_destroy(mesh);
}

TEST(refusals) {
    snake s = make_snake(NULL, 2, 5, 6);
    abut_radial *radial = NULL;
    abut_radial_axis axis = {0};
    abut_radial_options o = abut_radial_options_default();
    const uint32_t beyond = 1000000;
    assert_refused("character", abut_radial_create(NULL, NULL, &radial));
    assert_refused("radial", abut_radial_create(s.character, NULL, NULL));
    assert_refused("axes", abut_radial_create_mesh(s.mesh, 1, NULL, &radial));
    o.cell = -1;
    assert_refused("cell is -1", abut_radial_create(s.character, &o, &radial));
    o.cell = NAN;
    assert_refused("cell is", abut_radial_create(s.character, &o, &radial));
    o.cell = 1e-9;
    assert_fails(ABUT_ERROR_LIMIT, "larger cells", abut_radial_create(s.character, &o, &radial));
    o.cell = 0;
    o.weight = 1.5;
    assert_refused("weight is 1.5", abut_radial_create(s.character, &o, &radial));
    o.weight = 0;
    o.axis_count = 1;
    assert_refused("axes", abut_radial_create(s.character, &o, &radial));
    o.axes = &axis;
    axis.bone = 2;
    assert_refused("bone is 2", abut_radial_create(s.character, &o, &radial));
    axis.bone = 1;
    axis.end.x = INFINITY;
    assert_refused("axes[0] has coordinates that are not finite",
                   abut_radial_create(s.character, &o, &radial));
    axis.end.x = 1;
    static const uint32_t counts[][2] = {{3, 0}, {100000, 0}, {0, 1}, {0, 100000}};
    for (int i = 0; i < 4; i++) {
        axis.around = counts[i][0];
        axis.along = counts[i][1];
        assert_refused("samples around", abut_radial_create(s.character, &o, &radial));
    }
    axis.around = axis.along = 0;
    axis.triangle_count = 1;
    assert_refused("triangles", abut_radial_create(s.character, &o, &radial));
    axis.triangles = &beyond;
    assert_refused("triangle 1000000", abut_radial_create(s.character, &o, &radial));
    assert_null(radial);
    /* an axis of no length, and a field that sees nothing, are empty */
    axis.end.x = 0;
    axis.triangle_count = 0;
    assert_ok(abut_radial_create(s.character, &o, &radial));
    abut_character_matrix bones[2];
    abut_mesh *surface = NULL;
    abut_vec3 positions[32], point = {0, 0, 0};
    abut_radial_answer answer;
    bend_snake(&s, 0, 0, bones, positions);
    assert_ok(abut_radial_set_positions(radial, bones, abut_array_host(positions)));
    assert_refused("no surface", abut_radial_surface(radial, ABUT_NONE, &surface));
    assert_refused("field is 1", abut_radial_surface(radial, 1, &surface));
    assert_ok(
        abut_radial_evaluate(radial, abut_array_host(&point), 1, 0, abut_array_host(&answer)));
    assert_true(answer.distance == HUGE_VAL && answer.field == ABUT_NONE);
    abut_radial_destroy(radial);
    abut_radial_destroy(NULL);
    assert_int_equal(get_radial_info(NULL).field_count, 0);
    free_snake(&s);
}

/* How far a point is from a mesh that a bone has moved. */
static double true_distance(const abut_mesh *mesh, const abut_character_matrix *bone, vec3 p) {
    const uint32_t *corner = abut_mesh_indices(mesh);
    double least = HUGE_VAL;
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        triangle3 triangle;
        for (int k = 0; k < 3; k++)
            triangle.corner[k] =
                matrix_move(bone, body_position(mesh, corner[3 * t + (uint32_t)k]));
        least = fmin(least, triangle_closest_point(triangle, p).distance);
    }
    return least;
}

TEST(the_mesh_is_within) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_UVSPHERE, ABUT_SHAPE_BOX, ABUT_SHAPE_TORUS};
    enum { POINTS = 50 };
    test_random random = {5};
    uint32_t asked = 0, known = 0, near = 0;
    for (uint32_t round = 0; round < test_rounds(30); round++) {
        abut_mesh *mesh = body_mesh(NULL, kinds[round % 3], 7);
        abut_radial *radial = body_field(mesh, -1.3, 1.4, 23, 17);
        abut_character_matrix bone = matrix_none();
        abut_vec3 points[POINTS];
        abut_radial_answer answers[POINTS];
        for (int c = 0; c < 12; c++)
            bone.m[c / 4][c % 4] += test_random_real(&random, -0.3, 0.3);
        body_pose(radial, mesh, &bone);
        for (int i = 0; i < POINTS; i++)
            for (int k = 0; k < 3; k++)
                (&points[i].x)[k] = test_random_real(&random, -2, 2);
        assert_ok(abut_radial_evaluate(radial, abut_array_host(points), POINTS, 0,
                                       abut_array_host(answers)));
        for (int i = 0; i < POINTS; i++) {
            const double meant = true_distance(mesh, &bone, points[i]);
            assert_true(meant <= answers[i].within);
            asked++;
            known += answers[i].within < HUGE_VAL;
            /* half a cell is 0.14 wide at most, and so far are samples from what is between them */
            near += answers[i].within < fabs(answers[i].distance) + 0.3;
        }
        abut_radial_destroy(radial);
        abut_mesh_destroy(mesh);
    }
    assert_true(known > asked * 9 / 10 && near > asked * 9 / 10);
}

/* ---- memory and threads ---- */

enum { PARTICLES = 700 };

typedef struct life {
    abut_vec3 to[PARTICLES];
    uint64_t hits;
    float sum; /* of radii, in order */
} life;

/* Makes a snake and its fields, moves it twice, queries and collides. */
static abut_status live(abut_context *context, void *data) {
    life *l = data;
    snake s = {NULL, NULL};
    abut_radial *radial = NULL;
    abut_mesh *surface = NULL, *mesh = body_mesh(NULL, ABUT_SHAPE_CAPSULE, 16), *own = NULL;
    abut_radial_axis axes[2] = {{.bone = 0, .begin = {0, 0, -1}, .end = {0, 0, 1}},
                                {.bone = 1, .begin = {-1, 0, 0}, .end = {1, 0.1, 0}}};
    abut_radial_options options = abut_radial_options_default();
    abut_radial_particles particles = abut_radial_particles_default();
    abut_character_matrix bones[2] = {matrix_none(), matrix_none()};
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_mesh_input input =
        abut_mesh_input_doubles(abut_mesh_local_positions(mesh), count, abut_mesh_indices(mesh),
                                abut_mesh_triangle_count(mesh));
    abut_vec3 from[PARTICLES];
    abut_radial_answer answers[PARTICLES];
    test_random random = {3};
    (void)s;
    for (int i = 0; i < PARTICLES; i++)
        for (int k = 0; k < 3; k++) {
            (&from[i].x)[k] = test_random_real(&random, -2, 2);
            (&l->to[i].x)[k] = test_random_real(&random, -2, 2);
        }
    options.cell = 0.05;
    options.axes = axes;
    options.axis_count = 2;
    particles.count = PARTICLES;
    particles.from = abut_array_host(from);
    particles.to = abut_array_host(l->to);
    abut_status status = abut_mesh_create(context, &input, &own);
    status = status ? status : abut_radial_create_mesh(own, 2, &options, &radial);
    for (int k = 0; k < 2 && !status; k++) {
        bones[1].m[0][3] = 0.1 * k;
        status = abut_radial_set_positions(radial, bones,
                                           abut_array_host(abut_mesh_local_positions(mesh)));
    }
    status = status ? status : abut_radial_collide(radial, &particles);
    status =
        status ? status
               : abut_radial_evaluate(radial, particles.to, PARTICLES, 0, abut_array_host(answers));
    status = status ? status : abut_radial_surface(radial, ABUT_NONE, &surface);
    if (!status) {
        l->hits = particles.hit_count;
        l->sum = 0;
        for (uint32_t f = 0; f < 2; f++) {
            const abut_radial_view v = get_radial_field(radial, f);
            for (uint32_t i = 0; i < v.around * v.along; i++)
                l->sum += v.radii[i] < INFINITY ? v.radii[i] : 0;
        }
    }
    abut_mesh_destroy(surface);
    abut_radial_destroy(radial);
    abut_mesh_destroy(own);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(every_allocation) {
    life l;
    assert_true(test_every_allocation(live, &l) > 15);
}

/* A character, which abut_character_create() takes from its own context. */
static abut_status fit(abut_context *context, void *data) {
    (void)context;
    abut_radial *radial = NULL;
    abut_status status = abut_radial_create(data, NULL, &radial);
    abut_radial_destroy(radial);
    return status;
}

TEST(fitting_without_memory) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    snake s = make_snake(context, 3, 9, 8);
    const uint64_t live_before = memory.live_count;
    uint64_t n = 1;
    for (;; n++) {
        memory.fail_at = memory.calls + n;
        abut_status status = fit(context, s.character);
        memory.fail_at = 0;
        assert_int_equal(memory.live_count, live_before);
        if (!status)
            break;
        assert_int_equal(status, ABUT_ERROR_MEMORY);
    }
    assert_true(n > 20);
    free_snake(&s);
    abut_context_destroy(context);
}

TEST_THREADS(same_on_any_number_of_threads) {
    life one, many;
    test_memory memory[2];
    memset(memory, 0, sizeof memory);
    for (int k = 0; k < 2; k++) {
        abut_context *context = test_context(&memory[k], k ? 5 : 1);
        assert_ok(live(context, k ? &many : &one));
        abut_context_destroy(context);
    }
    assert_true(one.hits > 20 && one.hits == many.hits && one.sum == many.sum);
    assert_memory_equal(one.to, many.to, sizeof one.to);
}
