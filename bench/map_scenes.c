/* Scenes of the cases of maps. They do not call libm, so that they are the same on every
 * machine. */
#include "map_scenes.h"

#include <stdlib.h>

#define MOST_FRAMES 100
#define BODY_COUNT 100

static uint32_t bodies_of(const bench_state *state) {
    return state->quick ? 8 : BODY_COUNT;
}

/* An approximation of the sine with period 1. */
static double wave(double t) {
    t -= (double)(int)t;
    double half = t < 0.5 ? 2 * t : 2 * t - 1, up = 4 * half * (1 - half);
    return t < 0.5 ? up : -up;
}

/* Rotates (*x, *y) by the angle whose half has this tangent. */
static void turn(double tangent, double *x, double *y) {
    double below = 1 + tangent * tangent, c = (1 - tangent * tangent) / below,
           s = 2 * tangent / below, kept = *x;
    *x = c * kept - s * *y;
    *y = s * kept + c * *y;
}

/* A ball with dents and two ears. */
static abut_vec3 with_bumps(abut_vec3 p) {
    double ear = p.z + 0.6 * (p.x < 0 ? -p.x : p.x) - 0.5, r = 1;
    r += 2.4 * p.x * p.y * p.z + 0.6 * (p.x * p.x - p.y * p.z);
    r += ear > 0 ? 20 * ear * ear : 0;
    return (abut_vec3){r * p.x, r * p.y, r * p.z};
}

static abut_vec3 deform(map_scene_kind kind, uint32_t body, double t, abut_vec3 p) {
    switch (kind) {
    case MAP_LETTERS:
        turn((body ? -0.8 : 0.8) * wave(t) * p.y, &p.x, &p.z);
        p.y *= 1 + 0.15 * wave(2 * t + 0.2 * body);
        p.x += body ? 0.68 + 0.1 * wave(t + 0.25) : 0;
        break;
    case MAP_SOLIDS:
        turn((body ? -0.5 : 0.5) * wave(t) * p.z, &p.x, &p.y);
        p.z *= 1 + 0.2 * wave(t + 0.3 * body);
        p.x += (body ? 1.05 + 0.1 * wave(t + 0.25) : 0) + 0.2 * wave(t) * p.z * p.z;
        break;
    case MAP_FIGURE:
        if (body == 0) {
            turn(0.2 * wave(t) * p.z, &p.x, &p.y);
            p.x += 0.1 * wave(2 * t) * p.z * p.z;
        }
        break;
    default:
        break;
    }
    return p;
}

static abut_status make_moved(bench_state *state, const abut_mesh *mesh, map_scene_kind kind,
                              uint32_t body, double t, abut_mesh **moved) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *points = malloc(count * sizeof *points), origin = abut_mesh_local_origin(mesh);
    if (!points)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    for (uint32_t v = 0; v < count; v++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[v];
        p = (abut_vec3){p.x + origin.x, p.y + origin.y, p.z + origin.z};
        if (t < 0)
            points[v] = with_bumps(p);
        else
            points[v] = deform(kind, body, t, p);
    }
    abut_mesh_input input = abut_mesh_input_doubles(points, count, abut_mesh_indices(mesh),
                                                    abut_mesh_triangle_count(mesh));
    TRY(abut_mesh_create(state->context, &input, moved));
    free(points);
    return ABUT_OK;
}

static abut_status make_bumpy(bench_state *state, uint32_t segments, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *ball;
    shape.radius = 0.5;
    shape.segments = segments;
    TRY(abut_shape_create(state->context, &shape, &ball));
    TRY(make_moved(state, ball, MAP_SOLIDS, 0, -1, mesh));
    abut_mesh_destroy(ball);
    return ABUT_OK;
}

static abut_status make_box(bench_state *state, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_pose up = {{0, 0, 0, 1}, {0, 0, 1.5}};
    abut_mesh *box;
    shape.extent = (abut_vec3){9, 7, 5};
    shape.segments = 1;
    TRY(abut_shape_create(state->context, &shape, &box));
    TRY(abut_mesh_transform(box, 1, up, mesh));
    abut_mesh_destroy(box);
    return ABUT_OK;
}

/* Scans are a torus with noise, tessellated in two ways. */
static abut_status make_scan(bench_state *state, uint32_t body, abut_mesh **mesh) {
    bench_grid grid;
    const char *folder = getenv("ABUT_BENCH_SCANS");
    TRY(state->quick ? bench_grid_create(30 + body, 20 - body, &grid)
                     : bench_grid_create(250 + body, 200 - body, &grid));
    TRY(bench_grid_mesh(state, &grid, mesh));
    bench_grid_destroy(&grid);
    if (folder && folder[0]) {
        char path[512];
        snprintf(path, sizeof path, "%s/scan-%u.ply", folder, body);
        TRY(abut_mesh_write(*mesh, path, NULL));
    }
    return ABUT_OK;
}

/* A loose pile, in which some overlap; each has its own rotation, and moves about its position. */
static abut_pose pose_in_pile(uint32_t body, uint32_t frame, uint32_t frames) {
    uint64_t random = body;
    double at[3] = {body % 5, body / 5 % 5, body / 25}, t = (double)frame / frames;
    for (int k = 0; k < 3; k++)
        at[k] = 1.15 * at[k] + bench_random_real(&random, -0.1, 0.1) +
                0.05 * wave(t + bench_random_real(&random, 0, 1));
    return (abut_pose){bench_turn(body), {at[0], at[1], at[2]}};
}

/* All bodies of the pile as one mesh. */
static abut_status make_joined(bench_state *state, uint32_t frame, uint32_t frames,
                               abut_mesh **joined) {
    const uint32_t count = bodies_of(state);
    abut_mesh *one = NULL, *all[BODY_COUNT] = {NULL};
    TRY(make_bumpy(state, state->quick ? 2 : 7, &one));
    for (uint32_t i = 0; i < count; i++)
        TRY(abut_mesh_transform(one, 1, pose_in_pile(i, frame, frames), &all[i]));
    TRY(abut_mesh_join(all, count, joined));
    for (uint32_t i = 0; i < count; i++)
        abut_mesh_destroy(all[i]);
    abut_mesh_destroy(one);
    return ABUT_OK;
}

static abut_status make_rest(bench_state *state, map_scene_kind kind, uint32_t body,
                             abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(kind == MAP_FIGURE ? ABUT_SHAPE_TEAPOT_SOLID
                                          : body             ? ABUT_SHAPE_LETTER_G
                                                             : ABUT_SHAPE_LETTER_E);
    switch (kind) {
    case MAP_SCANS:
        return make_scan(state, body, mesh);
    case MAP_SOLIDS:
        return make_bumpy(state, state->quick ? 4 : 10, mesh);
    case MAP_BODIES:
        return make_bumpy(state, state->quick ? 2 : 7, mesh);
    case MAP_JOINED:
        return make_joined(state, 0, 1, mesh);
    case MAP_FIGURE:
        if (body)
            return make_box(state, mesh);
        shape.segments = state->quick ? 4 : 16;
        break;
    default:
        shape.segments = state->quick ? 4 : body ? 12 : 15;
    }
    return abut_shape_create(state->context, &shape, mesh);
}

/* The poses of the others relative to each body. */
static abut_status make_poses(bench_state *state, map_scene *scene, map_scene_kind kind) {
    const uint32_t each = scene->count - 1;
    scene->others =
        bench_array(state, (size_t)scene->frames * scene->count * each, sizeof *scene->others);
    abut_collider *to = scene->others;
    for (uint32_t frame = 0; frame < scene->frames; frame++)
        for (uint32_t i = 0; i < scene->count; i++)
            for (uint32_t j = 0; j < scene->count; j++) {
                abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}}, there = here;
                if (i == j)
                    continue;
                if (kind == MAP_BODIES) {
                    abut_pose mine = pose_in_pile(i, frame, scene->frames);
                    there = pose_in_pile(j, frame, scene->frames);
                    TRY(abut_pose_invert(&mine, &here));
                    TRY(abut_pose_compose(&here, &there, &there));
                }
                (to++)->pose = there; /* the caller sets the BVH */
            }
    return ABUT_OK;
}

abut_status map_scene_make(bench_state *state, map_scene_kind kind, map_scene *scene) {
    bool deforms = kind != MAP_BODIES && kind != MAP_SCANS;
    scene->count = kind == MAP_BODIES ? bodies_of(state) : kind == MAP_JOINED ? 1 : 2;
    scene->frames = state->quick || kind == MAP_SCANS ? 1 : kind == MAP_LETTERS ? MOST_FRAMES : 16;
    scene->rest = bench_array(state, scene->count, sizeof(abut_mesh *));
    scene->moved = bench_array(state, (size_t)scene->count * scene->frames, sizeof(abut_mesh *));
    for (uint32_t i = 0; i < scene->count; i++)
        if (kind == MAP_BODIES && i > 0)
            scene->rest[i] = scene->rest[0];
        else
            MAKE(scene->rest[i], make_rest(state, kind, i, &scene->rest[i]));
    for (uint32_t i = 0; i < scene->count * scene->frames && deforms; i++) {
        double t = (i / scene->count + 0.6) / scene->frames;
        MAKE(scene->moved[i], kind == MAP_JOINED
                                  ? make_joined(state, i, scene->frames, &scene->moved[i])
                                  : make_moved(state, scene->rest[i % scene->count], kind,
                                               i % scene->count, t, &scene->moved[i]));
    }
    return make_poses(state, scene, kind);
}
