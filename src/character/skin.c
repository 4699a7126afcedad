/* Skinning: vertices follow the bones that they are bound to.
 *
 * Linear: the mean of the bones' matrices, by weights. Dual quaternions (Kavan et al., Geometric
 * skinning with approximate dual quaternion blending, 2008, with the two phases of section 4.4):
 * each matrix is a rotation and shift after a linear rest, M = T R S; the mean of the rests moves
 * the vertex first, the normalised mean of the dual quaternions of T R next. So rigid bones bend
 * without loss of volume, and scaled, sheared and mirrored ones still lead where their matrix does
 * where one bone has all the weight.
 *
 * The first weight is the largest, at least 1/8, and all quaternions are taken on its side: their
 * mean is at least 1/8 long along it, so that its inverse is bounded. */
#include "character/character.h"

enum { GRAIN = 1024 };

/* Means of matrices do not leave the range that each of them stays in; those of dual quaternions
 * by less than the square of 8, and sums of three axes. */
#define REACH_MAX (ABUT_COORDINATE_MAX / 1024)

typedef struct dual {
    quat turn, moved; /* rotation; half the translation times it */
    mat3 rest;
} dual;

typedef struct skin_work {
    const abut_character *character;
    const abut_character_matrix *matrices;
    const dual *duals;
    abut_vec3 *positions;
} skin_work;

/* ---- linear ---- */

static void skin_linear(void *data, size_t chunk, size_t begin, size_t end) {
    const skin_work *work = data;
    const abut_character *c = work->character;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        const uint32_t *bones = c->weight_bones + c->weight_stride * v;
        const double *weights = c->weights + c->weight_stride * v;
        abut_character_matrix mean = {{{0}}};
        for (uint32_t i = 0; i < c->weight_stride && weights[i] > 0; i++)
            for (int k = 0; k < 12; k++)
                mean.m[k / 4][k % 4] += weights[i] * work->matrices[bones[i]].m[k / 4][k % 4];
        work->positions[v] = matrix_apply(&mean, abuti_mesh_position(c->mesh, (uint32_t)v));
    }
}

/* ---- dual quaternions ---- */

/* A rotation whose product with an upper triangle is the linear part, by Gram and Schmidt; any
 * perpendicular axis where a column is zero or lies in those before. */
static mat3 rotation_of(const abut_character_matrix *a) {
    vec3 x = v3_normalise(v3(a->m[0][0], a->m[1][0], a->m[2][0]));
    vec3 y = v3_normalise(v3(a->m[0][1], a->m[1][1], a->m[2][1]));
    if (v3_max_abs(x) == 0)
        x = v3(1, 0, 0);
    y = v3_sub(y, v3_scale(x, v3_dot(x, y)));
    if (!(v3_length(y) > 1e-9)) /* else what is left is rounding */
        y = v3_cross(x, fabs(x.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0));
    y = v3_normalise(y);
    y = v3_normalise(v3_sub(y, v3_scale(x, v3_dot(x, y)))); /* what rounding left */
    mat3 columns = {{x, y, v3_cross(x, y)}};
    return m3_transpose(&columns);
}

static abut_status dual_of(const abut_character_matrix *a, dual *made) {
    mat3 turn = rotation_of(a), back = m3_transpose(&turn), linear;
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
    *made = (dual){rigid.rotation, quat_multiply(t, rigid.rotation), m3_multiply(&back, &linear)};
    return ABUT_OK;
}

static void quat_add(quat *to, quat q, double factor) {
    to->x += factor * q.x;
    to->y += factor * q.y;
    to->z += factor * q.z;
    to->w += factor * q.w;
}

static void skin_dual(void *data, size_t chunk, size_t begin, size_t end) {
    const skin_work *work = data;
    const abut_character *c = work->character;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        const uint32_t *bones = c->weight_bones + c->weight_stride * v;
        const double *weights = c->weights + c->weight_stride * v;
        const quat first = work->duals[bones[0]].turn;
        vec3 p = abuti_mesh_position(c->mesh, (uint32_t)v), rest = v3(0, 0, 0);
        quat mean = {0, 0, 0, 0}, moved = {0, 0, 0, 0};
        for (uint32_t i = 0; i < c->weight_stride && weights[i] > 0; i++) {
            const dual *d = &work->duals[bones[i]];
            double side = d->turn.x * first.x + d->turn.y * first.y + d->turn.z * first.z +
                          d->turn.w * first.w;
            double factor = side < 0 ? -weights[i] : weights[i];
            quat_add(&mean, d->turn, factor);
            quat_add(&moved, d->moved, factor);
            rest = v3_add(rest, v3_scale(m3_apply(&d->rest, p), weights[i]));
        }
        double sq = mean.x * mean.x + mean.y * mean.y + mean.z * mean.z + mean.w * mean.w;
        quat shift = quat_multiply(moved, quat_conjugate(mean));
        mat3 turn = quat_matrix(mean);
        work->positions[v] =
            v3_add(m3_apply(&turn, rest), v3(2 * shift.x / sq, 2 * shift.y / sq, 2 * shift.z / sq));
    }
}

/* ---- the whole ---- */

/* The matrices from the mesh to the world. */
static abut_status reach(const abut_character *c, const abut_character_matrix *bones,
                         abut_character_matrix *matrices) {
    for (uint32_t i = 0; i < c->info.bone_count; i++) {
        if (!c->moves[i])
            continue;
        matrices[i] = matrix_multiply(&bones[i], &c->binds[i]);
        for (int k = 0; k < 3; k++) {
            const double *row = matrices[i].m[k];
            double far = fabs(row[0]) * fmax(c->extent.x, 1) + fabs(row[1]) * fmax(c->extent.y, 1) +
                         fabs(row[2]) * fmax(c->extent.z, 1) + fabs(row[3]);
            if (!(far <= REACH_MAX)) /* NaN is not */
                return abuti_fail(ABUT_ERROR_ARGUMENT,
                                  "abut_character_skin: the matrix of bone %u is not finite, or "
                                  "leads beyond %g",
                                  i, REACH_MAX);
        }
    }
    return ABUT_OK;
}

abut_status abut_character_skin(const abut_character *character, const abut_character_matrix *bones,
                                abut_character_skinning skinning, abut_vec3 *positions) {
    if (!character || !bones || !positions)
        return abuti_null(__func__, !character ? "character" : bones ? "positions" : "bones");
    if ((unsigned)skinning > ABUT_CHARACTER_SKINNING_DUAL)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_character_skin: there is no skinning %d",
                          (int)skinning);
    const abut_character *c = character;
    bool is_dual = skinning == ABUT_CHARACTER_SKINNING_DUAL;
    size_t count = c->info.bone_count;
    abut_character_matrix *matrices = abuti_allocate(c->context, count, sizeof *matrices);
    dual *duals = abuti_allocate(c->context, is_dual ? count : 0, sizeof *duals);
    abut_status status = matrices && duals ? reach(c, bones, matrices) : ABUT_ERROR_MEMORY;
    for (size_t i = 0; is_dual && i < count && !status; i++)
        if (c->moves[i])
            status = dual_of(&matrices[i], &duals[i]);
    if (!status) {
        skin_work work = {c, matrices, duals, positions};
        abuti_parallel_for(c->context, c->info.vertex_count, GRAIN,
                           is_dual ? skin_dual : skin_linear, &work);
    }
    ABUTI_RELEASE(c->context, matrices, duals);
    return status;
}

abut_status abut_character_mesh(const abut_character *character, const abut_character_matrix *bones,
                                abut_character_skinning skinning, abut_mesh **mesh) {
    if (!character || !mesh)
        return abuti_null(__func__, character ? "mesh" : "character");
    const abut_character *c = character;
    size_t triangles = c->info.triangle_count, vertices = c->info.vertex_count;
    abut_vec3 *positions = abuti_allocate(c->context, vertices, sizeof *positions);
    uint32_t *indices = abuti_allocate(c->context, 3 * triangles, sizeof *indices);
    abut_status status = positions && indices ? abut_character_skin(c, bones, skinning, positions)
                                              : ABUT_ERROR_MEMORY;
    if (status) {
        ABUTI_RELEASE(c->context, positions, indices);
        return status;
    }
    memcpy(indices, c->mesh->indices, 3 * triangles * sizeof *indices);
    abut_mesh *made = NULL;
    status = abuti_mesh_adopt(c->context, "abut_character_mesh", positions, vertices, indices,
                              triangles, &made);
    if (status)
        return status;
    made->up = c->mesh->up;
    *mesh = made;
    return ABUT_OK;
}
