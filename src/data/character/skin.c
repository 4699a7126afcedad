/* Skinning: validation and preparation of bone matrices, the CPU back end, and the public
 * functions. The formulas are in skin_shared.h. */
#include "character/character.h"
#include "character/skin_shared.h"
#include "device/array.h"

enum { VERTICES_PER_TASK = 1024 };

/* Bound of coordinates. Means of matrices stay within the range of each matrix. Means of dual
 * quaternions exceed it by a factor of less than 8^2 and the sum over three axes. */
#define POSITION_MAX (ABUT_COORDINATE_MAX / 1024)

/* ---- preparation of bones ---- */

/* The rotation R of the QR decomposition of the linear part, by Gram-Schmidt. Any perpendicular
 * axis if a column is zero or depends on the previous ones. */
static mat3 qr_rotation(const abut_character_matrix *a) {
    vec3 x = v3_normalise(v3(a->m[0][0], a->m[1][0], a->m[2][0]));
    vec3 y = v3_normalise(v3(a->m[0][1], a->m[1][1], a->m[2][1]));
    if (v3_max_abs(x) == 0)
        x = v3(1, 0, 0);
    y = v3_sub(y, v3_scale(x, v3_dot(x, y)));
    if (!(v3_length(y) > 1e-9)) /* otherwise y is only rounding error */
        y = v3_cross(x, fabs(x.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0));
    y = v3_normalise(y);
    y = v3_normalise(v3_sub(y, v3_scale(x, v3_dot(x, y)))); /* removes rounding error */
    mat3 columns = {{x, y, v3_cross(x, y)}};
    return m3_transpose(&columns);
}

/* Writes the SKIN_DUAL numbers of a matrix. */
static abut_status compute_dual(const abut_character_matrix *a, double *numbers) {
    mat3 turn = qr_rotation(a), back = m3_transpose(&turn), linear;
    abut_pose rigid;
    double rows[12];
    for (int i = 0; i < 3; i++) {
        vec3 row = turn.row[i];
        const double four[4] = {row.x, row.y, row.z, a->m[i][3]};
        for (int k = 0; k < 4; k++)
            rows[4 * i + k] = four[k];
        linear.row[i] = v3(a->m[i][0], a->m[i][1], a->m[i][2]);
    }
    abut_status status = abut_pose_from_matrix(rows, &rigid);
    if (status)
        return status;
    quat t = {rigid.translation.x / 2, rigid.translation.y / 2, rigid.translation.z / 2, 0};
    quat q = rigid.rotation, moved = quat_multiply(t, q);
    mat3 rest = m3_multiply(&back, &linear);
    const double made[SKIN_DUAL] = {q.x,           q.y,           q.z,           q.w,
                                    moved.x,       moved.y,       moved.z,       moved.w,
                                    rest.row[0].x, rest.row[0].y, rest.row[0].z, rest.row[1].x,
                                    rest.row[1].y, rest.row[1].z, rest.row[2].x, rest.row[2].y,
                                    rest.row[2].z};
    memcpy(numbers, made, sizeof made);
    return ABUT_OK;
}

/* The matrix from mesh to world space. Fails if it moves a vertex within `extent` too far. */
static abut_status compute_skin_matrix(const char *function, const abut_character_matrix *bone,
                                       const abut_character_matrix *bind, vec3 extent,
                                       uint32_t number, abut_character_matrix *made) {
    *made = matrix_multiply(bone, bind);
    for (int k = 0; k < 3; k++) {
        const double *row = made->m[k];
        double far = fabs(row[0]) * extent.x + fabs(row[1]) * extent.y + fabs(row[2]) * extent.z +
                     fabs(row[3]);
        if (!(far <= POSITION_MAX)) /* false for NaN */
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "%s: the matrix of bone %u is not finite, or moves vertices beyond %g", function,
                number, POSITION_MAX);
    }
    return ABUT_OK;
}

/* Copies the weights of morph targets and computes the extent of the vertices with them. */
static abut_status copy_morph_weights(const abut_character *c, const char *function,
                                      const double *morphs, double *weights, vec3 *extent) {
    vec3 far = c->extent;
    for (uint32_t i = 0; i < c->info.morph_count; i++) {
        weights[i] = morphs ? morphs[i] : c->morphs[i].weight;
        far = v3_along(far, fabs(weights[i]), c->morph_extents[i]);
        if (!(fabs(weights[i]) <= ABUT_COORDINATE_MAX && v3_max_abs(far) <= ABUT_COORDINATE_MAX &&
              far.x == far.x && far.y == far.y && far.z == far.z))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: the weight of morph target %u is %g; it must be finite, and "
                              "vertices must stay within %g",
                              function, i, weights[i], ABUT_COORDINATE_MAX);
    }
    *extent = v3_max(far, v3(1, 1, 1));
    return ABUT_OK;
}

static size_t bone_numbers(abut_character_skinning skinning) {
    return skinning == ABUT_CHARACTER_SKINNING_DUAL ? SKIN_DUAL : SKIN_LINEAR;
}

size_t abuti_skin_numbers(const abut_character *c, abut_character_skinning skinning) {
    return bone_numbers(skinning) * c->info.bone_count + c->info.morph_count;
}

abut_status abuti_skin_prepare(const abut_character *c, const char *function,
                               const abut_character_matrix *bones, const double *morphs,
                               abut_character_skinning skinning, double *numbers) {
    const size_t width = bone_numbers(skinning), count = c->info.bone_count;
    vec3 extent = c->extent;
    abut_status status = copy_morph_weights(c, function, morphs, numbers + width * count, &extent);
    for (uint32_t i = 0; i < count && !status; i++) {
        abut_character_matrix matrix;
        if (!c->moves[i])
            continue;
        status = compute_skin_matrix(function, &bones[i], &c->binds[i], extent, i, &matrix);
        if (status)
            break;
        if (skinning == ABUT_CHARACTER_SKINNING_DUAL)
            status = compute_dual(&matrix, numbers + width * i);
        else
            memcpy(numbers + width * i, matrix.m, sizeof matrix.m);
    }
    return status;
}

/* ---- vertices on the CPU ---- */

typedef struct skin_work {
    const abut_character *character;
    abut_character_skinning skinning;
    const double *numbers;
    abut_vec3 *positions;
} skin_work;

static void skin_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const skin_work *work = data;
    const abut_character *c = work->character;
    const skin_weights weights = {c->weight_bones, c->weights, 1, c->weight_stride};
    const double *numbers = work->numbers;
    const skin_morphs morphs = {c->shifts.starts, c->shifts.targets,
                                c->shifts.count ? &c->shifts.shifts[0].x : NULL,
                                numbers + bone_numbers(work->skinning) * c->info.bone_count};
    const bool is_dual = work->skinning == ABUT_CHARACTER_SKINNING_DUAL;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        vec3 p = abuti_mesh_position(c->mesh, (uint32_t)v);
        if (morphs.starts)
            p = skin_morph(&morphs, (uint32_t)v, p);
        const size_t first = (size_t)c->weight_stride * v;
        work->positions[v] = is_dual ? skin_dual(numbers, &weights, first, p)
                                     : skin_linear(numbers, &weights, first, p);
    }
}

static void skin_all(const abut_character *c, abut_character_skinning skinning,
                     const double *numbers, abut_vec3 *positions) {
    skin_work work = {c, skinning, numbers, positions};
    abuti_parallel_for(c->context, c->info.vertex_count, VERTICES_PER_TASK, skin_vertices, &work);
}

static abut_status check_skinning(const char *function, abut_character_skinning skinning) {
    if ((unsigned)skinning > ABUT_CHARACTER_SKINNING_DUAL)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: skinning is %d; it must be a value of abut_character_skinning",
                          function, (int)skinning);
    return ABUT_OK;
}

static abut_status skin_to_host(const abut_character *c, const char *function,
                                const abut_character_matrix *bones,
                                abut_character_skinning skinning, abut_vec3 *positions) {
    abut_status status = check_skinning(function, skinning);
    if (status)
        return status;
    double *numbers = abuti_allocate(c->context, abuti_skin_numbers(c, skinning), sizeof *numbers);
    status = numbers ? abuti_skin_prepare(c, function, bones, NULL, skinning, numbers)
                     : ABUT_ERROR_MEMORY;
    if (!status)
        skin_all(c, skinning, numbers, positions);
    abuti_release(c->context, numbers);
    return status;
}

abut_status abut_character_skin(const abut_character *character, const abut_character_matrix *bones,
                                abut_character_skinning skinning, abut_vec3 *positions) {
    if (!character || !bones || !positions)
        return abuti_null(__func__, !character ? "character" : bones ? "positions" : "bones");
    return skin_to_host(character, __func__, bones, skinning, positions);
}

/* ---- meshes ---- */

/* A mesh as the skinner makes it, or without one as `skinning` says. */
static abut_status make_mesh(const abut_character *c, const char *function,
                             abut_character_skinner *skinner, const abut_character_matrix *bones,
                             abut_character_skinning skinning, const double *morphs,
                             abut_mesh **mesh) {
    const size_t vertices = c->info.vertex_count, corners = 3 * (size_t)c->info.triangle_count;
    vec3 *positions = abuti_allocate(c->context, vertices, sizeof *positions);
    uint32_t *indices = abuti_allocate(c->context, corners, sizeof *indices);
    abut_mesh *made = NULL;
    abut_status status = ABUT_ERROR_MEMORY;
    if (positions && indices)
        status = skinner ? skinner->backend->run(skinner, function, bones, morphs,
                                                 abut_array_host(positions))
                         : skin_to_host(c, function, bones, skinning, positions);
    if (status) {
        abuti_release(c->context, positions);
        abuti_release(c->context, indices);
        return status;
    }
    memcpy(indices, c->mesh->indices, corners * sizeof *indices);
    status =
        abuti_mesh_adopt(c->context, function, positions, vertices, indices, corners / 3, &made);
    if (!status) {
        made->up = c->mesh->up;
        *mesh = made;
    }
    return status;
}

abut_status abut_character_mesh(const abut_character *character, const abut_character_matrix *bones,
                                abut_character_skinning skinning, abut_mesh **mesh) {
    if (!character || !bones || !mesh)
        return abuti_null(__func__, !character ? "character" : bones ? "mesh" : "bones");
    return make_mesh(character, __func__, NULL, bones, skinning, NULL, mesh);
}

/* ---- skinners ---- */

static abut_status create_cpu(abut_character_skinner *s) {
    s->numbers = abuti_allocate(s->context, abuti_skin_numbers(s->character, s->options.skinning),
                                sizeof *s->numbers);
    return s->numbers ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy_cpu(abut_character_skinner *s) {
    abuti_release(s->context, s->numbers);
}

static abut_status run_cpu(abut_character_skinner *s, const char *function,
                           const abut_character_matrix *bones, const double *morphs,
                           abut_array positions) {
    abut_status status =
        abuti_skin_prepare(s->character, function, bones, morphs, s->options.skinning, s->numbers);
    if (!status)
        skin_all(s->character, s->options.skinning, s->numbers, positions.host);
    return status;
}

static const skinner_backend on_cpu = {create_cpu, destroy_cpu, run_cpu};

abut_status abut_character_skinner_create(abut_character *character,
                                          const abut_character_skinner_options *options,
                                          abut_character_skinner **skinner) {
    if (!character || !skinner)
        return abuti_null(__func__, character ? "skinner" : "character");
    abut_character_skinner_options ours = abut_character_skinner_options_default();
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_character_skinner_create: options");
    if (status || (status = check_skinning(__func__, ours.skinning)))
        return status;
    abut_context *context = character->context;
    abut_character_skinner *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = context;
    made->character = abuti_character_retain(character);
    made->options = ours;
    made->backend = ours.device ? &abuti_skinner_on_device : &on_cpu;
    status = made->backend->create(made);
    if (status)
        abut_character_skinner_destroy(made);
    else
        *skinner = made;
    return status;
}

void abut_character_skinner_destroy(abut_character_skinner *skinner) {
    if (!skinner)
        return;
    abut_character *character = skinner->character;
    skinner->backend->destroy(skinner);
    abuti_release(skinner->context, skinner);
    abut_character_destroy(character);
}

abut_status abut_character_skinner_run(abut_character_skinner *skinner,
                                       const abut_character_matrix *bones, const double *morphs,
                                       abut_array positions) {
    if (!skinner || !bones || (!positions.host && !positions.buffer))
        return abuti_null(__func__, !skinner ? "skinner" : bones ? "positions" : "bones");
    abut_status plain = abuti_array_check_plain(__func__, "positions", positions);
    if (plain)
        return plain;
    if (positions.buffer && !skinner->options.device)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: positions is a device buffer, but this skinner runs on the CPU; "
                          "create it with options.device",
                          __func__);
    if (positions.buffer) {
        abut_status status =
            abuti_buffer_check(positions.buffer, __func__, "positions", skinner->options.device,
                               skinner->character->info.vertex_count, sizeof(abut_vec3));
        if (status)
            return status;
    }
    return skinner->backend->run(skinner, __func__, bones, morphs, positions);
}

abut_status abut_character_skinner_mesh(abut_character_skinner *skinner,
                                        const abut_character_matrix *bones, const double *morphs,
                                        abut_mesh **mesh) {
    if (!skinner || !bones || !mesh)
        return abuti_null(__func__, !skinner ? "skinner" : bones ? "mesh" : "bones");
    return make_mesh(skinner->character, __func__, skinner, bones, ABUT_CHARACTER_SKINNING_LINEAR,
                     morphs, mesh);
}
