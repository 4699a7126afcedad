/* Scenes of the cases of rivals.
 *
 * Clothes are a second figure of the same shape, tessellated for the number of particles, of
 * which the vertices nearest to the middle of the body are kept. It follows the bones as the
 * body does. The target of each particle is from 4 mm below its surface to 16 mm above it; that
 * of one in fifty, which moves fast, is 3 cm below. All start at least 8 mm above it. */
#include "conditions.h"
#include "apps/get.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct condition {
    const char *body, *cloth;
    int figure;
    uint32_t triangles, particles;
} condition;

#ifdef ABUT_CHARACTER_FIGURE_TRIANGLES_MIN
enum {
    MALE = ABUT_CHARACTER_FIGURE_MALE,
    FEMALE = ABUT_CHARACTER_FIGURE_FEMALE,
    OGRE = ABUT_CHARACTER_FIGURE_OGRE
};
#else
enum { MALE, FEMALE, OGRE };
#endif
enum { BALL = 100 };

static const condition conditions[RIVAL_CONDITIONS + 1] = {
    {"Ball", "Shell", BALL, 0, 100},
    {"Male Low", "Trouser & Top Low", MALE, 10827, 1297},
    {"Male Low", "Trouser & Top Med", MALE, 10827, 4825},
    {"Male Med", "Trouser & Top Low", MALE, 37744, 1297},
    {"Male Med", "Trouser & Top Med", MALE, 37744, 4825},
    {"Female Med", "Overcoat Med", FEMALE, 37744, 5118},
    {"Female Med", "Overcoat High", FEMALE, 37744, 13090},
    {"Female High", "Overcoat Med", FEMALE, 64176, 5118},
    {"Female High", "Overcoat High", FEMALE, 64176, 13090},
    {"Ogre", "Cape Med", OGRE, 17211, 8562},
    {"Ogre", "Cape High", OGRE, 17211, 29737},
};

static abut_status no_memory(void) {
    return bench_fail(ABUT_ERROR_MEMORY, "no memory");
}

/* ---- characters ---- */

abut_status rival_ball(double radius, uint32_t segments, abut_character **made) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    shape.radius = radius;
    shape.segments = segments;
    abut_status status = abut_shape_create(NULL, &shape, &mesh);
    const uint32_t count = status ? 0 : abut_mesh_vertex_count(mesh);
    uint32_t *owners = calloc(2 * (size_t)count + 1, sizeof *owners);
    double *weights = calloc(2 * (size_t)count + 1, sizeof *weights);
    abut_character_bone bones[2] = {abut_character_bone_default(), abut_character_bone_default()};
    bones[1].parent = 0;
    for (size_t i = 0; owners && weights && i < count; i++) {
        const double x = abut_mesh_local_positions(mesh)[i].x + abut_mesh_local_origin(mesh).x;
        owners[2 * i + 1] = 1;
        weights[2 * i] = fmin(fmax(0.5 + 1 / radius * x, 0), 1);
        weights[2 * i + 1] = 1 - weights[2 * i];
    }
    /* Keys that need no libm: constant rotations, and a straight path. */
    static const double times[4] = {0, 2, 4, 10},
                        values[16] = {0, 0,          0, 1,          20 / 101.0, 0, 0, 99 / 101.0,
                                      0, 20 / 101.0, 0, 99 / 101.0, 0,          0, 0, 1};
    static const double way_times[2] = {0, 10}, way[6] = {0, 0, 0, 3, 2, -1};
    const abut_character_channel channels[2] = {
        {.bone = 1,
         .target = ABUT_CHARACTER_TARGET_ROTATION,
         .interpolation = ABUT_CHARACTER_INTERPOLATION_STEP,
         .key_count = 4,
         .times = times,
         .values = values},
        {.bone = 0,
         .target = ABUT_CHARACTER_TARGET_TRANSLATION,
         .interpolation = ABUT_CHARACTER_INTERPOLATION_LINEAR,
         .key_count = 2,
         .times = way_times,
         .values = way},
    };
    const abut_character_clip clip = {.channel_count = 2, .channels = channels};
    abut_character_input input = abut_character_input_default();
    input.mesh = mesh;
    input.bone_count = 2;
    input.bones = bones;
    input.weight_count = 2;
    input.weight_bones = owners;
    input.weights = weights;
    input.clip_count = 1;
    input.clips = &clip;
    if (!status)
        status = owners && weights ? abut_character_create(NULL, &input, made) : no_memory();
    abut_mesh_destroy(mesh);
    free(owners);
    free(weights);
    return status;
}

/* Created at the first call, then shared. */
static abut_status get_figure(int figure, uint32_t triangles, abut_character **made) {
    static struct {
        int figure;
        uint32_t triangles;
        abut_character *character;
    } kept[24];
    size_t k = 0;
    for (; k < sizeof kept / sizeof *kept && kept[k].character; k++)
        if (kept[k].figure == figure && kept[k].triangles == triangles) {
            *made = kept[k].character;
            return ABUT_OK;
        }
    if (k == sizeof kept / sizeof *kept)
        return bench_fail(ABUT_ERROR_LIMIT, "too many figures");
    abut_status status;
#ifdef ABUT_CHARACTER_FIGURE_TRIANGLES_MIN
    abut_character_figure_options options = abut_character_figure_options_default();
    options.figure = (abut_character_figure)figure;
    options.triangles = triangles;
    if (figure != BALL)
        status = abut_character_create_figure(NULL, &options, &kept[k].character);
    else
#endif
        status = rival_ball(0.1, (uint32_t)sqrt(triangles / 20.0), &kept[k].character);
    kept[k].figure = figure;
    kept[k].triangles = triangles;
    *made = kept[k].character;
    return status;
}

/* ---- clothes ---- */

typedef struct ranked {
    double key;
    uint32_t vertex;
} ranked;

static int by_key(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* The `count` vertices of a figure that are kept, and the mesh between them at rest. */
static abut_status cut_cloth(const abut_character *figure, uint32_t count, uint32_t *kept,
                             abut_mesh **cloth) {
    const abut_mesh *rest = abut_character_rest_mesh(figure);
    const uint32_t all = abut_mesh_vertex_count(rest), *indices = abut_mesh_indices(rest);
    const abut_vec3 *positions = abut_mesh_local_positions(rest);
    const abut_box box = abut_mesh_bounds(rest);
    const double middle = 0.5 * (box.lo.y + box.hi.y) - abut_mesh_local_origin(rest).y;
    ranked *order = malloc(all * sizeof *order);
    uint32_t *place = malloc(all * sizeof *place), *corners = NULL, triangles = 0;
    abut_vec3 *at = malloc(count * sizeof *at);
    corners = malloc(3 * (size_t)abut_mesh_triangle_count(rest) * sizeof *corners);
    abut_status status = order && place && at && corners ? ABUT_OK : no_memory();
    if (!status && all < count)
        status = bench_fail(ABUT_ERROR_LIMIT, "too few vertices for a cloth");
    for (uint32_t i = 0; i < all && !status; i++) {
        order[i] = (ranked){fabs(positions[i].y - middle), i};
        place[i] = ABUT_NONE;
    }
    if (!status)
        qsort(order, all, sizeof *order, by_key);
    for (uint32_t i = 0; i < count && !status; i++)
        kept[i] = order[i].vertex;
    for (uint32_t i = 0; i < count && !status; i++) {
        place[kept[i]] = i;
        at[i] = positions[kept[i]];
    }
    for (uint32_t t = 0; t < abut_mesh_triangle_count(rest) && !status; t++) {
        const uint32_t *c = indices + 3 * (size_t)t;
        if (place[c[0]] == ABUT_NONE || place[c[1]] == ABUT_NONE || place[c[2]] == ABUT_NONE)
            continue;
        for (size_t k = 0; k < 3; k++)
            corners[3 * (size_t)triangles + k] = place[c[k]];
        triangles++;
    }
    abut_mesh_input input = abut_mesh_input_doubles(at, count, corners, triangles);
    if (!status)
        status = abut_mesh_create(NULL, &input, cloth);
    free(order);
    free(place);
    free(corners);
    free(at);
    return status;
}

/* Area-weighted sums of the normals of triangles, normalised. */
static void find_normals(const abut_mesh *mesh, const abut_vec3 *at, abut_vec3 *normals) {
    const uint32_t *c = abut_mesh_indices(mesh);
    memset(normals, 0, abut_mesh_vertex_count(mesh) * sizeof *normals);
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++, c += 3) {
        const abut_vec3 a = at[c[0]], b = at[c[1]], d = at[c[2]];
        const double u[3] = {b.x - a.x, b.y - a.y, b.z - a.z};
        const double v[3] = {d.x - a.x, d.y - a.y, d.z - a.z};
        for (int k = 0; k < 3; k++) {
            normals[c[k]].x += u[1] * v[2] - u[2] * v[1];
            normals[c[k]].y += u[2] * v[0] - u[0] * v[2];
            normals[c[k]].z += u[0] * v[1] - u[1] * v[0];
        }
    }
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        abut_vec3 *n = &normals[i];
        const double length = sqrt(n->x * n->x + n->y * n->y + n->z * n->z);
        const double scale = length > 0 ? 1 / length : 0;
        *n = (abut_vec3){n->x * scale, n->y * scale, n->z * scale};
    }
}

/* ---- frames ---- */

static abut_status pose(const abut_character *character, uint32_t clip, double time,
                        abut_character_matrix **bones, abut_vec3 **positions) {
    abut_character_pose_options options = abut_character_pose_options_default();
    const abut_character_info info = get_character_info(character);
    options.clip = clip;
    options.time = time;
    *bones = malloc(info.bone_count * sizeof **bones);
    *positions = malloc(info.vertex_count * sizeof **positions);
    abut_status status =
        *bones && *positions ? abut_character_pose(character, &options, *bones) : no_memory();
    if (status)
        return status;
    return abut_character_skin(character, *bones, ABUT_CHARACTER_SKINNING_LINEAR, *positions);
}

/* The particles of a frame: `offset` is the height of each target above the surface. */
static abut_status make_particles(const rival_scene *s, const abut_character *figure,
                                  const uint32_t *kept, rival_frame *f) {
    const abut_mesh *rest = abut_character_rest_mesh(figure);
    const uint32_t all = abut_mesh_vertex_count(rest);
    abut_vec3 *at = malloc(all * sizeof *at), *normals = malloc(all * sizeof *normals);
    f->from = malloc(s->particles * sizeof *f->from);
    f->to = malloc(s->particles * sizeof *f->to);
    abut_status status = at && normals && f->from && f->to ? ABUT_OK : no_memory();
    for (int now = 0; now < 2 && !status; now++) {
        uint64_t random = 1;
        status = abut_character_skin(figure, f->bones[now], ABUT_CHARACTER_SKINNING_LINEAR, at);
        if (status)
            break;
        find_normals(rest, at, normals);
        for (uint32_t i = 0; i < s->particles; i++) {
            const abut_vec3 p = at[kept[i]], n = normals[kept[i]];
            double offset = bench_random_real(&random, -0.004, 0.016);
            const bool fast = bench_random(&random) % 50 == 0;
            offset = now ? (fast ? -0.03 : offset) : fmax(offset, 0.008);
            (now ? f->to : f->from)[i] =
                (abut_vec3){p.x + offset * n.x, p.y + offset * n.y, p.z + offset * n.z};
        }
    }
    free(at);
    free(normals);
    return status;
}

static uint32_t clip_named(const abut_character *character, const char *name) {
    const uint32_t count = get_character_info(character).clip_count;
    for (uint32_t k = 0; k < count; k++) {
        const char *its = get_character_clip(character, k).name;
        if (its && strcmp(its, name) == 0)
            return k;
    }
    return 0;
}

static abut_status make(uint32_t number, rival_scene *s) {
    const condition *c = &conditions[number];
    abut_character *figure = NULL;
    uint32_t wanted = c->figure == BALL ? 320 : (uint32_t)(2 / 0.72 * c->particles);
#ifdef ABUT_CHARACTER_FIGURE_TRIANGLES_MIN
    if (number && wanted < ABUT_CHARACTER_FIGURE_TRIANGLES_MIN)
        wanted = ABUT_CHARACTER_FIGURE_TRIANGLES_MIN;
#endif
    s->condition = number;
    s->body_name = c->body;
    s->cloth_name = c->cloth;
    s->particles = c->particles;
    s->cell = 0.01;
    s->field_cell = c->figure == OGRE ? 0.035 : 0.01;
    abut_status status =
        get_figure(c->figure, c->figure == BALL ? 500 : c->triangles, &s->character);
    if (!status)
        status = get_figure(c->figure, wanted, &figure);
    if (status)
        return status;
    s->triangles = get_character_info(s->character).triangle_count;
    s->vertices = get_character_info(s->character).vertex_count;
    uint32_t *kept = malloc(s->particles * sizeof *kept);
    status = kept ? cut_cloth(figure, s->particles, kept, &s->cloth) : no_memory();
    const uint32_t clip = clip_named(s->character, "gymnastics");
    for (int k = 0; k < RIVAL_FRAMES && !status; k++) {
        rival_frame *f = &s->frames[k];
        const double time = 0.6 + 1.6 * k;
        for (int now = 0; now < 2 && !status; now++)
            status = pose(s->character, clip, time + (now ? 0 : -1 / 60.0), &f->bones[now],
                          &f->body[now]);
        if (!status)
            status = make_particles(s, figure, kept, f);
    }
    free(kept);
    return status;
}

const rival_scene *rival_scene_get(uint32_t number) {
    static rival_scene scenes[RIVAL_CONDITIONS + 1];
    static bool made[RIVAL_CONDITIONS + 1];
    if (number > RIVAL_CONDITIONS)
        return NULL;
    if (!made[number] && make(number, &scenes[number]))
        return NULL;
    made[number] = true;
    return &scenes[number];
}
