/* See fits.h. */
#include "fits.h"

#include "bowl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRAVITY 9.81
#define PEG_SIDE 0.5
#define PEG_HEIGHT 1.2
#define TRAY_TILT 0.4 /* radians */
#define RING_RADIUS 0.3
#define RING_TUBE 0.05
#define RING_STEP 0.48 /* between centres; at most 2 (RING_RADIUS - RING_TUBE) */
#define FALLEN 0.866   /* cosine of the tilt of a fallen domino */

enum {
    STACK_COUNT = 10,
    WALL_ROWS = 5,
    DOMINO_COUNT = 12,
    RING_COUNT = 50,
    PILE_COUNT = 21,
    BOWL_COUNT = 200,
    CONTACT_ROOM = 1 << 16
};
enum { TILE_WIDTH = 320, TILE_HEIGHT = 320 };

static const char *const names[FIT_KINDS] = {"peg",  "tray",  "stack", "wall", "dominoes",
                                             "shot", "chain", "pile",  "bowl"};

/* ---- scenes ---- */

/* Owns the mesh. */
static abut_status add_mesh(fit_scene *s, abut_mesh *mesh) {
    const uint32_t i = s->mesh_count++;
    s->meshes[i] = mesh;
    return abut_bvh_create(mesh, NULL, &s->hierarchies[i]);
}

static abut_status add_shape(fit_scene *s, const abut_shape *shape, double scale, abut_pose pose) {
    abut_mesh *raw = NULL, *mesh = NULL;
    abut_status status = abut_shape_create(NULL, shape, &raw);
    if (!status)
        status = abut_mesh_transform(raw, scale, pose, &mesh);
    abut_mesh_destroy(raw);
    if (status)
        return status;
    return add_mesh(s, mesh);
}

static abut_status add_box(fit_scene *s, double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = (abut_vec3){x, y, z};
    shape.segments = 1;
    return add_shape(s, &shape, 1, (abut_pose){0});
}

static void add_body(fit_scene *s, uint32_t mesh, bool is_fixed, abut_pose start) {
    s->bodies[s->body_count++] = (fit_body){.mesh = mesh, .is_fixed = is_fixed, .start = start};
}

static abut_pose at(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

/* A square peg is 0.3 deep in a hole through a block of 2 x 2 x 1 and slides down to the floor. */
static abut_status build_peg(fit_scene *s) {
    const double eighth = 0.39269908169872414; /* of pi: half the angle of the rotation */
    abut_shape tube = abut_shape_default(ABUT_SHAPE_TUBE);
    tube.radius = sqrt(2);
    tube.radius2 = sqrt(2) * (0.5 * PEG_SIDE + FIT_CLEARANCE);
    tube.height = 1;
    tube.segments = 4;
    tube.rings = 1;
    abut_status status = add_box(s, 4, 4, 0.5);
    if (!status)
        status = add_shape(s, &tube, 1, (abut_pose){{0, 0, sin(eighth), cos(eighth)}, {0, 0, 0}});
    if (!status)
        status = add_box(s, PEG_SIDE, PEG_SIDE, PEG_HEIGHT);
    add_body(s, 0, true, at(0, 0, -0.25));
    add_body(s, 1, true, at(0, 0, 0.5));
    add_body(s, 2, false, at(0.3 * FIT_CLEARANCE, -0.2 * FIT_CLEARANCE, 0.7 + 0.5 * PEG_HEIGHT));
    s->seconds = 2;
    return status;
}

/* A block of 2 x 2 x 1.2 with a pocket for a unit cube: its floor is z = 0, its rim z = 1. */
static abut_status add_tray(fit_scene *s) {
    const double side[] = {1, 1, 0.5 + FIT_CLEARANCE, 0.5 + FIT_CLEARANCE}, z[] = {-0.2, 1, 1, 0};
    abut_vec3 points[16];
    uint32_t quads[14][4] = {{3, 2, 1, 0}, {12, 13, 14, 15}}, indices[84];
    abut_mesh *mesh = NULL;
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t j = (i + 1) % 4;
            points[4 * k + i] = (abut_vec3){i == 0 || i == 3 ? side[k] : -side[k],
                                            i < 2 ? side[k] : -side[k], z[k]};
            if (k < 3)
                memcpy(quads[2 + 4 * k + i],
                       (uint32_t[]){4 * k + i, 4 * k + j, 4 * k + 4 + j, 4 * k + 4 + i},
                       sizeof quads[0]);
        }
    for (uint32_t i = 0; i < 84; i++)
        indices[i] = quads[i / 6][(const uint32_t[]){0, 1, 2, 0, 2, 3}[i % 6]];
    const abut_mesh_input input = abut_mesh_input_doubles(points, 16, indices, 28);
    abut_status status = abut_mesh_create(NULL, &input, &mesh);
    if (status)
        return status;
    return add_mesh(s, mesh);
}

/* A unit cube slides into a tilted tray. */
static abut_status build_tray(fit_scene *s) {
    abut_pose tilt, start = at(0, 0, 0.8);
    abut_status status = add_tray(s);
    if (!status)
        status = add_box(s, 1, 1, 1);
    if (!status)
        status = abut_pose_from_axis_angle((abut_vec3){1, -1, 0}, TRAY_TILT, (abut_vec3){0, 0, 0},
                                           &tilt);
    if (!status)
        status = abut_pose_compose(&tilt, &start, &start);
    if (status)
        return status;
    add_body(s, 0, true, tilt);
    add_body(s, 1, false, start);
    s->seconds = 3;
    return ABUT_OK;
}

static abut_status build_stack(fit_scene *s) {
    abut_status status = add_box(s, 8, 8, 1);
    if (!status)
        status = add_box(s, 1, 1, 1);
    add_body(s, 0, true, at(0, 0, -0.5));
    for (int i = 0; i < STACK_COUNT; i++)
        add_body(s, 1, false, at(0.003 * (i % 3), -0.002 * (i % 2), 0.5 + 1.001 * i));
    s->seconds = 5;
    return status;
}

/* Halves are at the ends of every second row. */
static abut_status build_wall(fit_scene *s) {
    abut_status status = add_box(s, 20, 20, 1);
    if (!status)
        status = add_box(s, 1.998, 1, 1);
    if (!status)
        status = add_box(s, 0.998, 1, 1);
    add_body(s, 0, true, at(0, 0, -0.5));
    for (int i = 0; i < WALL_ROWS; i++)
        for (int k = 0; k < 4 + i % 2; k++) {
            const bool half = i % 2 && (k == 0 || k == 4);
            const double x = half ? (k ? 3.5 : -3.5) : 2.0 * k - (i % 2 ? 4 : 3);
            add_body(s, half ? 2 : 1, false, at(x, 0, 0.5 + 1.001 * i));
        }
    s->seconds = 5;
    return status;
}

/* The first one already rotates about its lower edge. */
static abut_status build_dominoes(fit_scene *s) {
    const double thick = 0.2, tall = 2, spin = 0.6;
    abut_status status = add_box(s, 20, 20, 1);
    if (!status)
        status = add_box(s, thick, 1, tall);
    add_body(s, 0, true, at(0, 0, -0.5));
    for (int i = 0; i < DOMINO_COUNT; i++)
        add_body(s, 1, false, at(i - 0.5 * (DOMINO_COUNT - 1), 0, 0.5 * tall));
    s->bodies[1].spin = (abut_vec3){0, spin, 0};
    s->bodies[1].velocity = (abut_vec3){0.5 * spin * tall, 0, 0.5 * spin * thick};
    s->seconds = 5;
    return status;
}

static abut_status build_shot(fit_scene *s) {
    abut_shape ball = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    ball.radius = 0.05;
    ball.segments = 8;
    abut_status status = add_box(s, 1, 1, 0.002);
    if (!status)
        status = add_shape(s, &ball, 1, (abut_pose){0});
    add_body(s, 0, true, at(0, 0, -0.001));
    add_body(s, 1, false, at(0.1, 0.2, 0.15));
    s->bodies[1].velocity = (abut_vec3){0, 0, -100};
    s->seconds = 1;
    return status;
}

/* Rings, each at a right angle to the previous one. */
static abut_status build_chain(fit_scene *s) {
    abut_shape ring = abut_shape_default(ABUT_SHAPE_TORUS);
    ring.radius = RING_RADIUS;
    ring.radius2 = RING_TUBE;
    ring.segments = 24;
    ring.rings = 8;
    abut_status status = add_shape(s, &ring, 1, (abut_pose){0});
    const double half = 0.70710678118654752, first = -0.5 * RING_STEP * (RING_COUNT + 1);
    for (int i = 0; i < RING_COUNT + 2; i++) {
        /* fixed ones come first */
        const int place = i == 0 ? 0 : i == 1 ? RING_COUNT + 1 : i - 1;
        abut_pose start = at(first + RING_STEP * place, 0, 0);
        if (place % 2)
            start.rotation = (abut_quat){half, 0, 0, half};
        add_body(s, 0, i < 2, start);
    }
    s->seconds = 5;
    s->is_iterative = true;
    return status;
}

/* Rings, tubes and letters whose longest sides are `size` fall into the bowl in layers of
 * side x side. */
static abut_status build_falling(fit_scene *s, int count, int side, double size) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_TORUS, ABUT_SHAPE_TUBE, ABUT_SHAPE_LETTER_E};
    abut_mesh *bowl = NULL;
    abut_status status = bowl_create(NULL, &bowl);
    if (!status)
        status = add_mesh(s, bowl);
    for (int i = 0; i < 3 && !status; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        abut_mesh *raw = NULL;
        abut_topology *topology = NULL;
        abut_mesh_report report = abut_mesh_report_default();
        shape.segments = i < 2 ? 16 : 4;
        shape.rings = i ? 2 : 8;
        status = abut_shape_create(NULL, &shape, &raw);
        if (!status)
            status = abut_topology_create(raw, &topology);
        if (!status)
            status = abut_mesh_examine(topology, &report);
        if (!status) {
            const abut_box box = abut_mesh_bounds(raw);
            const double scale =
                size / fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
            const abut_vec3 c = report.centroid;
            status =
                add_shape(s, &shape, scale,
                          (abut_pose){{0, 0, 0, 1}, {-scale * c.x, -scale * c.y, -scale * c.z}});
        }
        abut_topology_destroy(topology);
        abut_mesh_destroy(raw);
    }
    add_body(s, 0, true, at(0, 0, 0));
    for (int i = 0; i < count && !status; i++) {
        abut_pose start;
        const double gap = 19.0 / 15 * size, middle = 0.5 * (side - 1);
        const abut_vec3 axis = {sin(i), cos(1.7 * i), sin(2.3 * i + 1)};
        const abut_vec3 place = {gap * (i % side - middle), gap * (i / side % side - middle),
                                 4.0 / 3 * size * (i / (side * side)) - 1};
        status = abut_pose_from_axis_angle(axis, 1.1 * i, place, &start);
        add_body(s, 1 + (uint32_t)i % 3, false, start);
    }
    s->is_iterative = true;
    return status;
}

static abut_status build_pile(fit_scene *s) {
    s->seconds = 6;
    return build_falling(s, PILE_COUNT, 3, 1.5);
}

static abut_status build_bowl(fit_scene *s) {
    s->seconds = 8;
    return build_falling(s, BOWL_COUNT, 4, 1);
}

static void destroy_scene(fit_scene *s) {
    if (!s)
        return;
    abut_world_destroy(s->world);
    for (uint32_t i = 0; i < s->mesh_count; i++) {
        abut_bvh_destroy(s->hierarchies[i]);
        abut_mesh_destroy(s->meshes[i]);
    }
    free(s->contacts);
    free(s);
}

static abut_status weigh(fit_scene *s, uint32_t mesh) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abut_topology_create(s->meshes[mesh], &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    s->masses[mesh] = report.volume;
    return status;
}

static abut_status create_scene(fit_kind kind, fit_scene **scene) {
    static abut_status (*const build[FIT_KINDS])(
        fit_scene *) = {build_peg,  build_tray,  build_stack, build_wall, build_dominoes,
                        build_shot, build_chain, build_pile,  build_bowl};
    fit_scene *s = calloc(1, sizeof *s);
    if (!s)
        return ABUT_ERROR_MEMORY;
    s->kind = kind;
    s->is_finite = true;
    abut_world_options options = abut_world_options_default();
    options.margin = FIT_MARGIN;
    s->contacts = malloc(CONTACT_ROOM * sizeof *s->contacts);
    abut_status status = s->contacts ? build[kind](s) : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < s->mesh_count && !status; i++)
        status = weigh(s, i);
    if (!status)
        status = abut_world_create(NULL, &options, &s->world);
    for (uint32_t i = 0; i < s->body_count && !status; i++) {
        const fit_body *b = &s->bodies[i];
        uint32_t id;
        abut_world_item item = abut_world_item_default();
        item.collider = abut_collider_from_bvh(s->hierarchies[b->mesh], b->start);
        item.motion = b->is_fixed ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
        status = abut_world_add(s->world, &item, &id);
    }
    if (status)
        destroy_scene(s);
    else
        *scene = s;
    return status;
}

/* ---- checks ---- */

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The height of the ground, above which bodies have potential energy. */
static double ground_of(const fit_scene *s) {
    return s->kind >= FIT_PILE ? -BOWL_RADIUS : s->kind == FIT_CHAIN ? -0.5 * RING_COUNT : 0;
}

static void observe_motion(fit_scene *s, const abut_pose *poses, double energy) {
    double whole = energy;
    s->drift = 0;
    for (uint32_t i = 0; i < s->body_count; i++) {
        const abut_vec3 p = poses[i].translation, q = s->bodies[i].start.translation;
        if (s->bodies[i].is_fixed)
            continue;
        whole += s->masses[s->bodies[i].mesh] * GRAVITY * (p.z - ground_of(s));
        s->drift = fmax(s->drift, hypot(p.x - q.x, p.y - q.y));
    }
    s->whole_first = s->whole_first > 0 ? s->whole_first : whole;
    s->growth = s->whole > 0 ? fmax(s->growth, (whole - s->whole) / s->whole_first) : 0;
    s->whole = whole;
}

static abut_status observe_depths(fit_scene *s, const abut_pose *poses) {
    abut_contacts found = {.size = sizeof found, .list = s->contacts, .capacity = CONTACT_ROOM};
    abut_status status =
        abut_world_set_poses(s->world, NULL, abut_array_host(poses), s->body_count);
    if (!status)
        status = abut_world_contacts(s->world, &found);
    s->deepest_end = 0;
    for (uint64_t i = 0; i < found.count && !status; i++)
        s->deepest_end = fmax(s->deepest_end, found.list[i].depth);
    s->deepest = fmax(s->deepest, s->deepest_end);
    return status;
}

abut_status fit_observe(fit_scene *s, const abut_pose *poses, double energy) {
    const double begun = processor_seconds();
    for (uint32_t i = 0; i < s->body_count; i++) {
        const double *x = &poses[i].rotation.x, *y = &poses[i].translation.x;
        for (int k = 0; k < 7; k++) /* beyond 1e6 it is as invalid as if it were not a number */
            s->is_finite &= fabs(k < 4 ? x[k] : y[k - 4]) < 1e6;
    }
    if (!s->is_finite)
        return ABUT_OK;
    memcpy(s->poses, poses, s->body_count * sizeof *poses);
    s->energy = energy;
    observe_motion(s, poses, energy);
    const abut_status status = observe_depths(s, poses);
    s->observing += processor_seconds() - begun;
    return status;
}

static double beyond(double x, double lo, double hi) {
    return fmax(0, fmax(lo - x, x - hi));
}

/* The distance of a body from its expected final position. */
static double measure_astray(const fit_scene *s, uint32_t i) {
    abut_vec3 p = s->poses[i].translation;
    const double reach = FIT_CLEARANCE;
    double height = 0.5;
    switch (s->kind) {
    case FIT_PEG:
        height = 0.5 * PEG_HEIGHT;
        break;
    case FIT_TRAY: {
        abut_pose back, local;
        abut_pose_invert(&s->poses[0], &back);
        abut_pose_compose(&back, &s->poses[i], &local);
        p = local.translation;
        break;
    }
    case FIT_STACK:
        p.x -= s->bodies[i].start.translation.x;
        p.y -= s->bodies[i].start.translation.y;
        height = i - 0.5;
        break;
    case FIT_WALL:
        p.x -= s->bodies[i].start.translation.x;
        height = floor(s->bodies[i].start.translation.z) + 0.5;
        break;
    case FIT_DOMINOES: {
        const abut_quat q = s->poses[i].rotation;
        return beyond(1 - 2 * (q.x * q.x + q.y * q.y), -1, FALLEN);
    }
    case FIT_SHOT:
        return beyond(p.z, 0.049, 0.1); /* on the upper side */
    case FIT_CHAIN: {
        const abut_vec3 q = s->poses[i == 2 ? 0 : i - 1].translation;
        const double x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
        return beyond(sqrt(x * x + y * y + z * z), 0, 2 * (RING_RADIUS - RING_TUBE));
    }
    default:
        return beyond(sqrt(p.x * p.x + p.y * p.y + p.z * p.z), 0, BOWL_RADIUS);
    }
    return fmax(beyond(p.z, height, height),
                fmax(beyond(p.x, -reach, reach), beyond(p.y, -reach, reach)));
}

typedef struct fit_verdict {
    uint32_t count, in_place;
    double astray; /* the largest distance from where a body should be */
    bool holds;
} fit_verdict;

static fit_verdict judge(const fit_scene *s) {
    const double tolerance = 0.02; /* of positions, and of depths at the end */
    const double quiet = s->kind == FIT_CHAIN      ? HUGE_VAL
                         : s->kind >= FIT_PILE     ? 0.1
                         : s->kind >= FIT_DOMINOES ? 1e-3
                                                   : 1e-4; /* J */
    fit_verdict v = {0};
    for (uint32_t i = 0; i < s->body_count; i++) {
        if (s->bodies[i].is_fixed)
            continue;
        const double away = s->is_finite ? measure_astray(s, i) : INFINITY;
        v.count++;
        v.in_place += away <= tolerance;
        v.astray = fmax(v.astray, away);
    }
    v.holds =
        v.in_place == v.count && (s->is_cut || s->energy < quiet) && s->deepest_end < tolerance;
    return v;
}

/* Prints the result of a scene. `seconds`: processor time of all steps; 0 = unknown. */
static void print_result(const fit_scene *s, const fit_verdict *v, const char *by, double seconds,
                         bool json) {
    const double step_ms = 1e3 * seconds / (s->seconds / FIT_STEP);
    const double astray = fmin(v->astray, 1e300), energy = fmin(s->energy, 1e300);
    if (json)
        printf("{\"scene\": \"%s\", \"contacts\": \"%s\", \"holds\": %s, \"bodies\": %u, "
               "\"in_place\": %u, \"astray\": %.3g, \"drift\": %.3g, \"deepest\": %.3g, "
               "\"deepest_end\": %.3g, \"energy\": %.3g, \"growth\": %.3g, \"step_ms\": %.3g}\n",
               names[s->kind], by, v->holds ? "true" : "false", v->count, v->in_place, astray,
               s->drift, s->deepest, s->deepest_end, energy, s->growth, step_ms);
    else
        printf("%-8s %-7s %s: %u of %u in place, %.2g astray; depth %.2g at most, %.2g at the end; "
               "kinetic energy %.2g J; %.2g ms a step\n",
               names[s->kind], by, v->holds ? "holds" : "FAILS", v->in_place, v->count, v->astray,
               s->deepest, s->deepest_end, s->energy, step_ms);
    fflush(stdout);
}

/* ---- pictures ---- */

/* Draws the latest poses into a tile of an image. */
static abut_status draw_tile(const fit_scene *s, uint8_t *pixels, size_t row_bytes) {
    static const abut_vec3 reach[FIT_KINDS][2] = {
        {{-1.3, -1.3, 0}, {1.3, 1.3, 1.4}}, {{-1.3, -1.3, -0.5}, {1.3, 1.3, 1.6}},
        {{-3, -3, 0}, {3, 3, 10}},          {{-4, -1, 0}, {4, 1, 5}},
        {{-7, -1, 0}, {7, 1, 2}},           {{-0.6, -0.6, -0.3}, {0.6, 0.6, 0.3}},
        {{-12, -0.5, -4}, {12, 0.5, 0.5}},  {{-5, -5, -4.5}, {5, 5, 2.5}},
        {{-5, -5, -4.5}, {5, 5, 2.5}}};
    abut_picture_options camera = abut_picture_options_default();
    abut_picture *picture = NULL;
    uint8_t *tile = malloc((size_t)TILE_WIDTH * TILE_HEIGHT * 4);
    camera.width = TILE_WIDTH;
    camera.height = TILE_HEIGHT;
    camera.eye_direction = (abut_vec3){0.5, -1, s->kind == FIT_STACK ? 0.2 : 0.8};
    abut_status status = tile ? abut_picture_create(NULL, &camera, &picture) : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < 8 && !status;
         i++) { /* so that all tiles of a scene have the same view */
        const abut_vec3 *r = reach[s->kind];
        const abut_vec3 corner = {r[i & 1].x, r[i >> 1 & 1].y, r[i >> 2].z};
        status = abut_picture_add_point(picture, corner, 0.1, (abut_colour){1, 1, 1, 0.01f});
    }
    for (uint32_t i = 0; i < s->body_count && !status; i++) {
        const abut_vec3 p = s->poses[i].translation;
        abut_mesh_style style = abut_mesh_style_default();
        style.colour = abut_picture_colour(i);
        if (s->bodies[i].is_fixed)
            style.colour = (abut_colour){0.80f, 0.84f, 0.90f, 0.35f};
        if ((s->kind == FIT_PEG || (s->kind >= FIT_STACK && s->kind <= FIT_DOMINOES)) && i == 0)
            continue; /* the floor */
        if (sqrt(p.x * p.x + p.y * p.y + p.z * p.z) < 15)
            status =
                abut_picture_add_mesh(picture, s->meshes[s->bodies[i].mesh], s->poses[i], &style);
    }
    if (!status)
        status = abut_picture_render(picture, (size_t)TILE_WIDTH * TILE_HEIGHT * 4, tile);
    for (uint32_t y = 0; y < TILE_HEIGHT && !status; y++)
        memcpy(pixels + y * row_bytes, tile + (size_t)y * TILE_WIDTH * 4, (size_t)TILE_WIDTH * 4);
    abut_picture_destroy(picture);
    free(tile);
    return status;
}

/* ---- other engines ---- */

static void print_vector(FILE *file, const char *name, const double *values, int count) {
    fprintf(file, "\"%s\": [", name);
    for (int k = 0; k < count; k++)
        fprintf(file, "%s%.17g", k ? ", " : "", values[k]);
    fputs("]", file);
}

static void print_bodies(const fit_scene *s, FILE *file) {
    fprintf(file,
            "{\"scene\": \"%s\", \"seconds\": %g, \"step\": %g, \"friction\": %g, \"bodies\": [",
            names[s->kind], s->seconds, FIT_STEP, FIT_FRICTION);
    for (uint32_t i = 0; i < s->body_count; i++) {
        const fit_body *b = &s->bodies[i];
        fprintf(file, "%s\n {\"mesh\": %u, \"fixed\": %s, ", i ? "," : "", b->mesh,
                b->is_fixed ? "true" : "false");
        print_vector(file, "position", &b->start.translation.x, 3);
        fputs(", ", file);
        print_vector(file, "rotation", &b->start.rotation.x, 4);
        fputs(", ", file);
        print_vector(file, "velocity", &b->velocity.x, 3);
        fputs(", ", file);
        print_vector(file, "spin", &b->spin.x, 3);
        fputs("}", file);
    }
    fputs("\n]}\n", file);
}

/* Writes mesh-N.obj and scene.json. */
static abut_status export_scene(const fit_scene *s, const char *folder) {
    char path[4096];
    for (uint32_t i = 0; i < s->mesh_count; i++) {
        snprintf(path, sizeof path, "%s/mesh-%u.obj", folder, i);
        const abut_status status = abut_mesh_write(s->meshes[i], path, NULL);
        if (status)
            return status;
    }
    snprintf(path, sizeof path, "%s/scene.json", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return ABUT_ERROR_FILE;
    print_bodies(s, file);
    return fclose(file) ? ABUT_ERROR_FILE : ABUT_OK;
}

/* Observes poses from a file; a body that does not move has its own line, too. */
static abut_status replay_poses(fit_scene *s, const char *path) {
    FILE *file = fopen(path, "r");
    abut_pose poses[FIT_BODIES] = {0};
    double energy;
    abut_status status = file ? ABUT_OK : ABUT_ERROR_FILE;
    while (!status && fscanf(file, "%lf", &energy) == 1) {
        for (uint32_t i = 0; i < s->body_count && !status; i++) {
            abut_vec3 *p = &poses[i].translation;
            abut_quat *q = &poses[i].rotation;
            if (fscanf(file, "%lf%lf%lf%lf%lf%lf%lf", &p->x, &p->y, &p->z, &q->x, &q->y, &q->z,
                       &q->w) != 7)
                status = ABUT_ERROR_FORMAT;
        }
        if (!status)
            status = fit_observe(s, poses, energy);
    }
    if (file)
        fclose(file);
    return status;
}

/* ---- the program ---- */

typedef struct fit_request {
    bool kinds[FIT_KINDS];
    uint32_t kind_count;
    bool ways[2]; /* contacts of abut, of the engine */
    bool json;
    double seconds;
    const char *png, *folder, *poses;
} fit_request;

static bool read_request(int argc, char **argv, fit_request *r) {
    *r = (fit_request){.ways = {true, false}};
    for (int i = 1; i < argc; i++) {
        uint32_t k = 0;
        while (k < FIT_KINDS && strcmp(argv[i], names[k]) != 0)
            k++;
        if (k < FIT_KINDS)
            r->kinds[k] = true;
        else if (!strcmp(argv[i], "--own"))
            r->ways[0] = !(r->ways[1] = true);
        else if (!strcmp(argv[i], "--compare"))
            r->ways[1] = true;
        else if (!strcmp(argv[i], "--json"))
            r->json = true;
        else if (!strcmp(argv[i], "--png") && i + 1 < argc)
            r->png = argv[++i];
        else if (!strcmp(argv[i], "--export") && i + 1 < argc)
            r->folder = argv[++i];
        else if (!strcmp(argv[i], "--poses") && i + 1 < argc)
            r->poses = argv[++i];
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc &&
                 (r->seconds = atof(argv[i + 1])) > 0)
            i++;
        else
            return false;
    }
    for (uint32_t k = 0; k < FIT_KINDS; k++)
        r->kind_count += r->kinds[k];
    if ((r->folder || r->poses) && r->kind_count != 1)
        return false;
    for (uint32_t k = 0; k < FIT_KINDS && r->kind_count == 0; k++)
        r->kinds[k] = true;
    r->kind_count = r->kind_count ? r->kind_count : FIT_KINDS;
    return true;
}

/* Runs a scene, in an engine or from a file, and prints the result. */
static abut_status run_scene(const fit_request *r, fit_scene *s, fit_run *run, bool is_own,
                             const char *engine, bool *holds) {
    if (r->seconds > 0) {
        s->is_cut = r->seconds < s->seconds;
        s->seconds = r->seconds;
    }
    const double begun = processor_seconds();
    const abut_status status = r->poses ? replay_poses(s, r->poses) : run(s, is_own);
    if (status)
        return status;
    const double seconds = r->poses ? 0 : processor_seconds() - begun - s->observing;
    const fit_verdict v = judge(s);
    *holds = v.holds;
    print_result(s, &v, r->poses ? "file" : is_own ? engine : "abut", seconds, r->json);
    return ABUT_OK;
}

int fits_main(int argc, char **argv, const char *engine, fit_run *run) {
    fit_request request;
    if (!read_request(argc, argv, &request)) {
        fprintf(stderr,
                "usage: %s [--own | --compare] [--seconds S] [--png FILE] [--json] "
                "[--export FOLDER | --poses FILE] [SCENE]...\n"
                "scenes: peg, tray, stack, wall, dominoes, shot, chain, pile, bowl\n",
                argv[0]);
        return 2;
    }
    const uint32_t width = TILE_WIDTH * request.kind_count;
    const uint32_t height = TILE_HEIGHT * (request.ways[0] && request.ways[1] ? 2u : 1u);
    uint8_t *pixels = calloc((size_t)width * height, 4);
    abut_status status = pixels ? ABUT_OK : ABUT_ERROR_MEMORY;
    bool all_hold = true;
    for (uint32_t k = 0, x = 0; k < FIT_KINDS && !status; k++) {
        if (!request.kinds[k])
            continue;
        for (uint32_t way = 0, y = 0; way < 2 && !status; way++) {
            fit_scene *scene = NULL;
            bool holds = true;
            if (!request.ways[way])
                continue;
            status = create_scene((fit_kind)k, &scene);
            if (!status && request.folder)
                status = export_scene(scene, request.folder);
            else if (!status)
                status = run_scene(&request, scene, run, way, engine, &holds);
            if (!status && request.png)
                status = draw_tile(scene, pixels + 4 * ((size_t)y * width + x), (size_t)width * 4);
            destroy_scene(scene);
            all_hold &= way || holds;
            y += TILE_HEIGHT;
        }
        x += TILE_WIDTH;
    }
    if (!status && request.png)
        status = abut_picture_write_pixels(NULL, request.png, pixels, width, height);
    if (status)
        fprintf(stderr, "%s: %s: %s\n", argv[0], abut_status_name(status), abut_last_error());
    free(pixels);
    return status ? 2 : !all_hold;
}
