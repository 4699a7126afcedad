/* Skinning and morph targets at random against the plain formulas. */
#include "apps/get.h"
#include "character/rig.h"

/* Vertex v, moved by morph targets. */
static abut_vec3 morphed(const rig *r, uint32_t v, const double *weights) {
    abut_vec3 p = abut_mesh_local_positions(r->mesh)[v], o = abut_mesh_local_origin(r->mesh);
    p.x += o.x, p.y += o.y, p.z += o.z;
    for (uint32_t k = 0; k < r->input.morph_count; k++)
        for (uint32_t i = 0; i < r->morphs[k].shift_count; i++)
            if (r->morphs[k].vertices[i] == v) {
                p.x += weights[k] * r->morphs[k].shifts[i].x;
                p.y += weights[k] * r->morphs[k].shifts[i].y;
                p.z += weights[k] * r->morphs[k].shifts[i].z;
            }
    return p;
}

static double total_of(const rig *r, uint32_t v) {
    double total = 0;
    for (uint32_t i = 0; i < RIG_WEIGHTS; i++)
        total += r->weights[RIG_WEIGHTS * v + i];
    return total;
}

static abut_vec3 by_matrices(const rig *r, uint32_t v, abut_vec3 p,
                             const abut_character_matrix *bones) {
    double to[3] = {0, 0, 0};
    for (uint32_t i = 0; i < RIG_WEIGHTS; i++) {
        const abut_character_matrix *m = &bones[r->weight_bones[RIG_WEIGHTS * v + i]];
        for (int k = 0; k < 3; k++)
            to[k] += r->weights[RIG_WEIGHTS * v + i] / total_of(r, v) *
                     (m->m[k][0] * p.x + m->m[k][1] * p.y + m->m[k][2] * p.z + m->m[k][3]);
    }
    return (abut_vec3){to[0], to[1], to[2]};
}

/* a b of quaternions x y z w. */
static void product(const double *a, const double *b, double *ab) {
    ab[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    ab[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    ab[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    ab[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

/* The mean of dual quaternions on the side of the bone with the largest weight. */
static abut_vec3 by_duals(const rig *r, uint32_t v, abut_vec3 p, const abut_pose *poses) {
    const uint32_t *bones = r->weight_bones + RIG_WEIGHTS * v;
    const double *weights = r->weights + RIG_WEIGHTS * v;
    double mean[4] = {0}, moved[4] = {0}, dual[4], turned[4], there[4];
    int chief = 0;
    for (int i = 1; i < RIG_WEIGHTS; i++)
        chief = weights[i] > weights[chief] ? i : chief;
    for (int i = 0; i < RIG_WEIGHTS; i++) {
        abut_quat q = poses[bones[i]].rotation, c = poses[bones[chief]].rotation;
        abut_vec3 t = poses[bones[i]].translation;
        const double real[4] = {q.x, q.y, q.z, q.w}, half[4] = {t.x / 2, t.y / 2, t.z / 2, 0};
        double side = q.x * c.x + q.y * c.y + q.z * c.z + q.w * c.w;
        product(half, real, dual);
        for (int k = 0; k < 4; k++) {
            mean[k] += (side < 0 ? -weights[i] : weights[i]) * real[k];
            moved[k] += (side < 0 ? -weights[i] : weights[i]) * dual[k];
        }
    }
    double sq = mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2] + mean[3] * mean[3];
    const double back[4] = {-mean[0] / sq, -mean[1] / sq, -mean[2] / sq, mean[3] / sq};
    const double at[4] = {p.x, p.y, p.z, 0};
    product(mean, at, turned);
    product(turned, back, there);
    product(moved, back, dual);
    return (abut_vec3){there[0] + 2 * dual[0], there[1] + 2 * dual[1], there[2] + 2 * dual[2]};
}

static void near_to(abut_vec3 meant, abut_vec3 found, double tolerance) {
    if (!(fabs(meant.x - found.x) <= tolerance && fabs(meant.y - found.y) <= tolerance &&
          fabs(meant.z - found.z) <= tolerance))
        fail_msg("%.17g %.17g %.17g instead of %.17g %.17g %.17g", found.x, found.y, found.z,
                 meant.x, meant.y, meant.z);
}

TEST(against_plain_formulas) {
    AUTO_RIG *r = rig_make(1, 16, true, 0);
    test_random random = {2};
    AUTO(character) character = NULL;
    AUTO_FREE abut_vec3 *found = malloc(r->vertices * sizeof *found);
    assert_ok(abut_character_create(NULL, &r->input, &character));
    for (int how = 0; how < 2; how++) {
        abut_character_skinner_options options = abut_character_skinner_options_default();
        AUTO(character_skinner) skinner = NULL;
        options.skinning = (abut_character_skinning)how;
        assert_ok(abut_character_skinner_create(character, &options, &skinner));
        for (int round = 0; round < 4; round++) {
            abut_character_matrix bones[RIG_BONES];
            abut_pose poses[RIG_BONES];
            const double weights[RIG_MORPHS] = {test_random_real(&random, -1, 2),
                                                test_random_real(&random, 0, 1), 0};
            rig_pose(&random, false, bones, poses);
            assert_ok(abut_character_skinner_run(skinner, bones, weights, abut_array_host(found)));
            for (uint32_t v = 0; v < r->vertices; v++) {
                abut_vec3 p = morphed(r, v, weights);
                near_to(how ? by_duals(r, v, p, poses) : by_matrices(r, v, p, bones), found[v],
                        how ? 1e-11 : 1e-13);
            }
        }
    }
}

/* Without weights of its own a skinner takes those at rest, as the rest mesh and the functions
 * without a skinner do; and it keeps the character. */
TEST(morphs_at_rest) {
    AUTO_RIG *r = rig_make(3, 10, true, 100);
    abut_character *character = NULL;
    abut_character_matrix bones[RIG_BONES];
    AUTO(character_skinner) skinner = NULL;
    AUTO(mesh) mesh = NULL, *other = NULL;
    assert_ok(abut_character_create(NULL, &r->input, &character));
    assert_int_equal(RIG_MORPHS, get_character_info(character).morph_count);
    assert_string_equal("morph-2", get_character_morph(character, 2).name);
    assert_true(get_character_morph(character, 2).weight == 0.5);
    assert_int_equal(0, get_character_morph(character, RIG_MORPHS).shift_count);
    assert_ok(abut_character_pose(character, NULL, bones));
    assert_ok(abut_character_skinner_create(character, NULL, &skinner));
    assert_ok(abut_character_mesh(character, bones, ABUT_CHARACTER_SKINNING_LINEAR, &other));
    const double rest[RIG_MORPHS] = {0, 0.25, 0.5};
    for (uint32_t v = 0; v < r->vertices; v++) {
        abut_vec3 o = abut_mesh_local_origin(other), p = abut_mesh_local_positions(other)[v];
        near_to(by_matrices(r, v, morphed(r, v, rest), bones),
                (abut_vec3){p.x + o.x, p.y + o.y, p.z + o.z}, 1e-11);
    }
    abut_character_destroy(character);
    assert_ok(abut_character_skinner_mesh(skinner, bones, NULL, &mesh));
    assert_memory_equal(abut_mesh_local_positions(mesh), abut_mesh_local_positions(other),
                        r->vertices * sizeof(abut_vec3));
}

TEST(morphs_of_clips) {
    AUTO_RIG *r = rig_make(4, 8, true, 0);
    const double times[3] = {0, 1, 3}, steps[3] = {1, 2, 5};
    const double spline[9] = {0, 1, 2, 1, 3, -1, 0, 0, 0}; /* in, value, out */
    const abut_character_channel channels[2] = {
        {0, ABUT_CHARACTER_TARGET_MORPH, ABUT_CHARACTER_INTERPOLATION_LINEAR, 3, times, steps},
        {2, ABUT_CHARACTER_TARGET_MORPH, ABUT_CHARACTER_INTERPOLATION_CUBIC, 3, times, spline}};
    const abut_character_clip clips[2] = {{"smile", 0, 2, channels}, {"still", 1, 0, NULL}};
    AUTO(character) character = NULL;
    abut_character_pose_options options = abut_character_pose_options_default();
    double found[RIG_MORPHS];
    r->input.clips = clips;
    r->input.clip_count = 2;
    assert_ok(abut_character_create(NULL, &r->input, &character));
    options.time = 0.5;
    assert_ok(abut_character_pose_morphs(character, &options, found));
    assert_true(found[0] == 1.5 && found[1] == 0.25);
    /* Hermite at 1/2: (1 + 3) / 2 + (2 - 1) / 8 */
    assert_true(fabs(found[2] - 2.125) < 1e-14);
    options.blend = 0.5; /* with the rest pose: 0, 0.25, 0.5 */
    options.other = 1;
    assert_ok(abut_character_pose_morphs(character, &options, found));
    assert_true(found[0] == 0.75 && found[1] == 0.25 && fabs(found[2] - 1.3125) < 1e-14);
    assert_ok(abut_character_pose_morphs(character, NULL, found));
    assert_true(found[0] == 0 && found[1] == 0.25 && found[2] == 0.5);
    options.clip = 2;
    assert_refused("no clip 2", abut_character_pose_morphs(character, &options, found));
    assert_refused("weights is null", abut_character_pose_morphs(character, NULL, NULL));
    abut_character_matrix bones[RIG_BONES];
    options.clip = 0;
    assert_ok(abut_character_pose(character, &options, bones)); /* leaves morph targets alone */
}

#define REFUSED(part, change)                                                \
    do {                                                                     \
        AUTO_RIG *r = rig_make(5, 8, true, 0);                               \
        abut_character *none = NULL;                                         \
        change;                                                              \
        assert_refused(part, abut_character_create(NULL, &r->input, &none)); \
        assert_null(none);                                                   \
    } while (0)

TEST(refusals) {
    REFUSED("input.morphs is null", r->input.morphs = NULL);
    REFUSED("morph target 1 refers to a vertex that", r->moved[1][3] = r->vertices);
    REFUSED("morph target 2 has shifts that", r->shifts[2][0].y = (double)NAN);
    REFUSED("morph target 0 has shift_count > 0", r->morphs[0].shifts = NULL);
    REFUSED("morph target 0 has a weight", r->morphs[0].weight = (double)INFINITY);
    REFUSED("more shifts than", r->morphs[0].vertices = NULL;
            r->morphs[0].shift_count = r->vertices + 1);
    REFUSED("the weight of morph target 0", r->morphs[0].weight = 1e89; r->shifts[0][0].x = 1e80);

    AUTO_RIG *r = rig_make(6, 8, true, 0);
    AUTO(character) character = NULL;
    AUTO(character_skinner) skinner = NULL;
    abut_character_skinner_options options = abut_character_skinner_options_default();
    abut_character_matrix bones[RIG_BONES];
    double weights[RIG_MORPHS] = {0, (double)NAN, 0};
    AUTO_FREE abut_vec3 *found = malloc(r->vertices * sizeof *found);
    abut_mesh *mesh = NULL;
    found[0].x = 42;
    assert_ok(abut_character_create(NULL, &r->input, &character));
    options.skinning = (abut_character_skinning)7;
    assert_refused("skinning is 7", abut_character_skinner_create(character, &options, &skinner));
    assert_refused("character is null", abut_character_skinner_create(NULL, NULL, &skinner));
    assert_null(skinner);
    assert_ok(abut_character_skinner_create(character, NULL, &skinner));
    assert_ok(abut_character_pose(character, NULL, bones));
    assert_refused("weight of morph target 1",
                   abut_character_skinner_run(skinner, bones, weights, abut_array_host(found)));
    weights[1] = 1e300;
    assert_refused("weight of morph target 1",
                   abut_character_skinner_mesh(skinner, bones, weights, &mesh));
    weights[1] = 1e89; /* vertices may be there, but bones may not lead there */
    assert_refused("matrix of bone 0",
                   abut_character_skinner_run(skinner, bones, weights, abut_array_host(found)));
    assert_refused("positions is null",
                   abut_character_skinner_run(skinner, bones, NULL, abut_array_host(NULL)));
    assert_refused("bones is null", abut_character_skinner_mesh(skinner, NULL, NULL, &mesh));
    assert_true(found[0].x == 42);
    assert_null(mesh);
    abut_character_skinner_destroy(NULL);
}

/* A target may name a vertex twice, or all of them by no list. */
TEST(any_list_of_vertices) {
    AUTO_RIG *r = rig_make(7, 8, false, 0);
    const uint32_t twice[2] = {3, 3};
    const abut_vec3 shifts[4] = {{1, 0, 0}, {0, 2, 0}, {0, 0, 4}, {8, 0, 0}};
    const abut_character_morph morphs[3] = {{"twice", 1, 2, twice, shifts},
                                            {"first", 1, 4, NULL, shifts},
                                            {"none", 1, 0, NULL, NULL}};
    AUTO(character) character = NULL;
    r->input.morphs = morphs;
    r->input.morph_count = 3;
    for (uint32_t i = 0; i < RIG_BONES; i++)
        r->bones[i].translation = (abut_vec3){0, 0, 0};
    assert_ok(abut_character_create(NULL, &r->input, &character));
    for (uint32_t v = 0; v < 5; v++) {
        abut_vec3 p = abut_mesh_local_positions(r->mesh)[v];
        abut_vec3 q = abut_mesh_local_positions(abut_character_rest_mesh(character))[v];
        abut_vec3 way = {v == 0 ? 1 : v == 3 ? 8 + 1 : 0, v == 1 || v == 3 ? 2 : 0, v == 2 ? 4 : 0};
        near_to((abut_vec3){p.x + way.x, p.y + way.y, p.z + way.z}, q, 1e-14);
    }
}

static abut_status all_of_it(abut_context *context, void *data) {
    rig *r = data;
    AUTO(character) character = NULL;
    AUTO(character_skinner) skinner = NULL;
    abut_character_matrix bones[RIG_BONES];
    double weights[RIG_MORPHS];
    AUTO(mesh) mesh = NULL;
    abut_character_pose_options options = abut_character_pose_options_default();
    options.clip = options.other = ABUT_NONE;
    options.blend = 0.5;
    abut_status status = abut_character_create(context, &r->input, &character);
    status = status ? status : abut_character_pose(character, &options, bones);
    status = status ? status : abut_character_pose_morphs(character, &options, weights);
    status = status ? status : abut_character_skinner_create(character, NULL, &skinner);
    return status ? status : abut_character_skinner_mesh(skinner, bones, weights, &mesh);
}

TEST(every_allocation_may_fail) {
    AUTO_RIG *r = rig_make(8, 8, true, 0);
    assert_true(test_every_allocation(all_of_it, r) > 20);
}

/* A sphere whose every triangle has vertices of its own is closed again, and moves as before. */
TEST(seams_are_closed) {
    AUTO_RIG *r = rig_make(11, 12, true, 3);
    const uint32_t *corner = abut_mesh_indices(r->mesh);
    const uint32_t triangles = abut_mesh_triangle_count(r->mesh), count = 3 * triangles;
    double(*positions)[3] = malloc(count * sizeof *positions);
    uint32_t *bones = malloc(RIG_WEIGHTS * count * sizeof *bones), moved = 0;
    AUTO_FREE double *weights = malloc(RIG_WEIGHTS * count * sizeof *weights);
    AUTO_FREE uint32_t *moves = malloc(count * sizeof *moves);
    AUTO_FREE abut_vec3 *shifts = malloc(count * sizeof *shifts);
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 p = morphed(r, corner[i], (double[RIG_MORPHS]){0, 0, 0});
        const double at[3] = {p.x, p.y, p.z};
        memcpy(positions[i], at, sizeof at);
        memcpy(bones + RIG_WEIGHTS * i, r->weight_bones + RIG_WEIGHTS * corner[i],
               RIG_WEIGHTS * sizeof *bones);
        memcpy(weights + RIG_WEIGHTS * i, r->weights + RIG_WEIGHTS * corner[i],
               RIG_WEIGHTS * sizeof *weights);
        for (uint32_t k = 0; k < r->morphs[0].shift_count; k++)
            if (r->moved[0][k] == corner[i]) {
                moves[moved] = i;
                shifts[moved++] = r->shifts[0][k];
            }
    }
    const abut_character_morph split_morph = {"one", 0.5, moved, moves, shifts};
    abut_character_input input = r->input;
    AUTO(character) whole = NULL, *split = NULL, *welded = NULL;
    abut_character_report report = abut_character_report_default();
    abut_character_matrix pose[RIG_BONES];
    test_random random = {12};
    r->input.morph_count = 1;
    r->morphs[0].weight = 0.5;
    input.mesh = test_mesh(NULL, positions, count, NULL, triangles);
    input.weight_bones = bones;
    input.weights = weights;
    input.morph_count = 1;
    input.morphs = &split_morph;
    assert_ok(abut_character_create(NULL, &r->input, &whole));
    assert_ok(abut_character_create(NULL, &input, &split));
    assert_ok(abut_character_get_report(split, &report));
    assert_int_equal(count - r->vertices,
                     report.problems[ABUT_CHARACTER_PROBLEM_SEAM_VERTEX].count);
    assert_ok(abut_character_weld(split, &welded));
    assert_ok(abut_character_get_report(welded, &report));
    assert_int_equal(0, report.problems[ABUT_CHARACTER_PROBLEM_SEAM_VERTEX].count);
    abut_character_info info = get_character_info(welded);
    assert_int_equal(r->vertices, info.vertex_count);
    assert_int_equal(triangles, info.triangle_count);
    rig_pose(&random, true, pose, NULL);
    abut_vec3 *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    assert_ok(abut_character_skin(whole, pose, ABUT_CHARACTER_SKINNING_LINEAR, a));
    assert_ok(abut_character_skin(welded, pose, ABUT_CHARACTER_SKINNING_LINEAR, b));
    const uint32_t *to = abut_mesh_indices(abut_character_rest_mesh(welded));
    for (uint32_t i = 0; i < count; i++)
        near_to(a[corner[i]], b[to[i]], 1e-12);
    free(a);
    free(b);
    abut_character_destroy(welded);
    welded = NULL;
    abut_character_destroy(split);

    /* vertices that move otherwise stay apart: all that have more than one weight */
    uint32_t apart = 0;
    for (uint32_t i = 0; i < count; i++)
        weights[RIG_WEIGHTS * i] += 0.001 * (i + 1), apart += weights[RIG_WEIGHTS * i + 1] > 0;
    assert_ok(abut_character_create(NULL, &input, &split));
    assert_ok(abut_character_weld(split, &welded));
    assert_true(get_character_info(welded).vertex_count >= apart && apart > r->vertices);
    assert_refused("welded is null", abut_character_weld(split, NULL));
    assert_refused("character is null", abut_character_weld(NULL, &welded));
    abut_mesh_destroy(input.mesh);
    free(positions);
    free(bones);
}

static abut_status weld_it(abut_context *context, void *data) {
    rig *r = data;
    AUTO(character) character = NULL, *welded = NULL, *part = NULL;
    const uint32_t last = r->input.bone_count - 1;
    abut_status status = abut_character_create(context, &r->input, &character);
    status = status ? status : abut_character_weld(character, &welded);
    return status ? status : abut_character_remove_bones(character, &last, 1, &part);
}

static bool is_below(const abut_character *c, uint32_t bone, uint32_t above) {
    while (bone != ABUT_NONE && bone != above)
        bone = get_character_bone(c, bone).parent;
    return bone == above;
}

/* A part is what a bone and those below it move; all else stays as it was, in any pose. */
TEST(parts_are_left_out) {
    abut_character *whole = NULL, *part = NULL, *none = NULL;
    abut_character_figure_options figure = abut_character_figure_options_default();
    abut_character_pose_options pose = abut_character_pose_options_default();
    figure.triangles = ABUT_CHARACTER_FIGURE_TRIANGLES_MIN;
    assert_ok(abut_character_create_figure(NULL, &figure, &whole));
    abut_character_info info = get_character_info(whole);
    uint32_t neck = 0, all = 0, triangles = 0, next = 0;
    while (strcmp("Neck", get_character_bone(whole, neck).name) != 0)
        neck++;
    assert_ok(abut_character_remove_bones(whole, &neck, 1, &part));
    abut_character_info left = get_character_info(part);
    assert_int_equal(info.bone_count, left.bone_count);
    assert_int_equal(info.clip_count, left.clip_count);
    AUTO_FREE bool *used = calloc(info.vertex_count, sizeof *used);
    const uint32_t *corner = abut_mesh_indices(abut_character_rest_mesh(whole));
    for (uint32_t t = 0; t < info.triangle_count; t++) {
        bool kept = true;
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
            double weights[ABUT_CHARACTER_WEIGHT_COUNT];
            assert_true(abut_character_weights(whole, corner[3 * t + k], bones, weights) > 0);
            kept = kept && !is_below(whole, bones[0], neck);
        }
        triangles += kept;
        for (uint32_t k = 0; k < 3 && kept; k++)
            used[corner[3 * t + k]] = true;
    }
    assert_int_equal(triangles, left.triangle_count);
    assert_true(triangles > 0 && triangles < info.triangle_count);
    AUTO_FREE abut_character_matrix *bones = malloc(info.bone_count * sizeof *bones);
    AUTO_FREE abut_vec3 *a = malloc(info.vertex_count * sizeof *a),
                        *b = malloc(left.vertex_count * sizeof *b);
    pose.time = 0.4;
    assert_ok(abut_character_pose(part, &pose, bones));
    assert_ok(abut_character_skin(whole, bones, ABUT_CHARACTER_SKINNING_LINEAR, a));
    assert_ok(abut_character_skin(part, bones, ABUT_CHARACTER_SKINNING_LINEAR, b));
    for (uint32_t v = 0; v < info.vertex_count; v++)
        if (used[v])
            near_to(a[v], b[next++], 1e-12);
    assert_int_equal(next, left.vertex_count);
    abut_character_destroy(part);
    assert_ok(abut_character_remove_bones(whole, NULL, 0, &part));
    assert_int_equal(info.triangle_count, get_character_info(part).triangle_count);
    assert_refused("no triangle would remain", abut_character_remove_bones(whole, &all, 1, &none));
    assert_refused("bones[0] is", abut_character_remove_bones(whole, &info.bone_count, 1, &none));
    assert_refused("bones is null", abut_character_remove_bones(whole, NULL, 1, &none));
    assert_refused("reduced is null", abut_character_remove_bones(whole, &neck, 1, NULL));
    assert_refused("character is null", abut_character_remove_bones(NULL, &neck, 1, &none));
    assert_null(none);
    abut_character_destroy(part);
    abut_character_destroy(whole);
}

TEST(every_allocation_of_welding_may_fail) {
    AUTO_RIG *r = rig_make(8, 8, true, 0);
    assert_true(test_every_allocation(weld_it, r) > 30);
}
