/* The figure: a surface of ellipses on a spine of four bones. */
#include "figure.h"

#include "vector.h"

#define PI 3.14159265358979323846
#define HEIGHT 1.7
#define DEPTH 0.72 /* from front to back, of the width */

enum { BONES = 4, KEYS = 25, TURNS = 3 /* bones that turn */ };
#define SECONDS 4.0

/* Heights at which bones begin, as parts of the whole: foot, hip, chest, head. */
static const double joints[BONES] = {0, 0.48, 0.62, 0.84};

/* Half of the width at a height. */
static double width_at(double t) {
    static const double at[][2] = {{0, 0.16},     {0.25, 0.13},  {0.5, 0.18},
                                   {0.62, 0.125}, {0.74, 0.16},  {0.82, 0.075},
                                   {0.9, 0.1},    {0.97, 0.075}, {1, 0.02}};
    size_t k = 0;
    while (k < sizeof at / sizeof *at - 2 && t > at[k + 1][0])
        k++;
    double s = (t - at[k][0]) / (at[k + 1][0] - at[k][0]);
    s = s * s * (3 - 2 * s);
    return at[k][1] + s * (at[k + 1][1] - at[k][1]);
}

/* How much a bone, with all above it, has of a vertex. */
static double share_of(int bone, double t) {
    double s = bone ? (t - joints[bone]) / 0.12 + 0.5 : 1;
    s = fmin(fmax(s, 0), 1);
    return s * s * (3 - 2 * s);
}

typedef struct figure {
    abut_character_bone bones[BONES];
    abut_character_channel channels[TURNS + 1];
    double times[KEYS], shift[KEYS][3], turn[TURNS][KEYS][4];
    abut_character_clip clip;
} figure;

static void make_bones(figure *f) {
    for (uint32_t i = 0; i < BONES; i++) {
        f->bones[i] = abut_character_bone_default();
        f->bones[i].parent = i ? i - 1 : ABUT_NONE;
        f->bones[i].translation.z = i ? HEIGHT * (joints[i] - joints[i - 1]) : 0;
    }
}

/* Sways twice, twists once and bows a little, each bone later than the one below. */
static void make_clip(figure *f) {
    for (int k = 0; k < KEYS; k++) {
        double phase = 2 * PI * k / (KEYS - 1);
        f->times[k] = SECONDS * k / (KEYS - 1);
        f->shift[k][0] = 0.25 * sin(phase);
        f->shift[k][1] = 0.12 * (1 - cos(phase));
        for (int i = 0; i < TURNS; i++) {
            double later = phase - 0.6 * i, sway = 0.16 * sin(2 * later), bow = 0.12 * sin(later),
                   twist = 0.35 * sin(later);
            double *q = f->turn[i][k];
            double w = sqrt(fmax(1 - sway * sway - bow * bow - twist * twist, 0));
            q[0] = bow;
            q[1] = sway;
            q[2] = twist;
            q[3] = w;
        }
    }
    for (int i = 0; i <= TURNS; i++)
        f->channels[i] = (abut_character_channel){.bone = (uint32_t)i,
                                                  .target = i ? ABUT_CHARACTER_TARGET_ROTATION
                                                              : ABUT_CHARACTER_TARGET_TRANSLATION,
                                                  .key_count = KEYS,
                                                  .times = f->times,
                                                  .values = i ? f->turn[i - 1][0] : f->shift[0]};
    f->clip = (abut_character_clip){"dance", 0, TURNS + 1, f->channels};
}

/* Rings from the foot to the head, closed by a vertex at either end. */
static abut_status make_mesh(abut_context *context, uint32_t around, uint32_t along,
                             abut_mesh **mesh) {
    uint32_t vertices = around * (along + 1) + 2, first = vertices - 2, used = 0;
    vec *p = abut_context_allocate(context, vertices, sizeof *p);
    uint32_t *c = abut_context_allocate(context, 6 * (size_t)around * (along + 1), sizeof *c);
    abut_status status = p && c ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i <= along && !status; i++)
        for (uint32_t j = 0; j < around; j++) {
            double t = (double)i / along, angle = 2 * PI * (j + 0.5 * (i & 1)) / around;
            double r = width_at(t), toes = -0.05 * fmax(1 - t / 0.05, 0); /* -y is the front */
            p[i * around + j] = vec_of(r * cos(angle), DEPTH * r * sin(angle) + toes, HEIGHT * t);
        }
    for (uint32_t i = 0; i < along && !status; i++)
        for (uint32_t j = 0; j < around; j++) {
            uint32_t next = (j + 1) % around, low = i * around, high = low + around;
            const uint32_t even[6] = {low + j,    low + next,  high + j,
                                      low + next, high + next, high + j};
            const uint32_t odd[6] = {low + j, high + next, high + j,
                                     low + j, low + next,  high + next};
            memcpy(c + used, i & 1 ? odd : even, sizeof even);
            used += 6;
        }
    for (uint32_t j = 0; j < around && !status; j++) {
        uint32_t next = (j + 1) % around, high = along * around;
        const uint32_t caps[6] = {first, next, j, first + 1, high + j, high + next};
        memcpy(c + used, caps, sizeof caps);
        used += 6;
    }
    if (!status) {
        p[first] = vec_of(0, -0.05, 0);
        p[first + 1] = vec_of(0, 0, HEIGHT);
        abut_mesh_input input = abut_mesh_input_doubles(p, vertices, c, used / 3);
        status = abut_mesh_create(context, &input, mesh);
    }
    abut_context_release(context, p);
    abut_context_release(context, c);
    return status;
}

static void weigh(const abut_mesh *mesh, uint32_t *bones, double *weights) {
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        double t = (abut_mesh_origin(mesh).z + abut_mesh_positions(mesh)[i].z) / HEIGHT;
        for (int k = 0; k < BONES; k++) {
            bones[BONES * (size_t)i + (size_t)k] = (uint32_t)k;
            weights[BONES * (size_t)i + (size_t)k] =
                share_of(k, t) * (k + 1 < BONES ? 1 - share_of(k + 1, t) : 1);
        }
    }
}

abut_status figure_create(abut_context *context, uint32_t triangles, abut_character **character) {
    uint32_t around = (uint32_t)fmax(sqrt(triangles / 4.0), 6), along = 2 * around;
    abut_mesh *mesh = NULL;
    figure *f = abut_context_allocate(context, 1, sizeof *f);
    abut_status status = f ? make_mesh(context, around, along, &mesh) : ABUT_ERROR_MEMORY;
    size_t count = (size_t)BONES * (status ? 0 : abut_mesh_vertex_count(mesh));
    uint32_t *bones = status ? NULL : abut_context_allocate(context, count, sizeof *bones);
    double *weights = status ? NULL : abut_context_allocate(context, count, sizeof *weights);
    if (!status && bones && weights) {
        memset(f, 0, sizeof *f);
        make_bones(f);
        make_clip(f);
        weigh(mesh, bones, weights);
        abut_character_input input = abut_character_input_default();
        input.mesh = mesh;
        input.bone_count = BONES;
        input.bones = f->bones;
        input.weight_count = BONES;
        input.weight_bones = bones;
        input.weights = weights;
        input.clip_count = 1;
        input.clips = &f->clip;
        status = abut_character_create(context, &input, character);
    } else if (!status) {
        status = ABUT_ERROR_MEMORY;
    }
    abut_context_release(context, bones);
    abut_context_release(context, weights);
    abut_context_release(context, f);
    abut_mesh_destroy(mesh);
    return status;
}
