/* See fits.h. */
#include "fits.h"

#include "bowl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEG_SIDE 0.5
#define PEG_HEIGHT 1.2
#define TRAY_TILT 0.4 /* radians */
#define PILE_SIZE 1.5

enum { STACK_COUNT = 10, PILE_COUNT = 21, CONTACT_ROOM = 1 << 16 };
enum { TILE_WIDTH = 320, TILE_HEIGHT = 320 };

static const char *const names[FIT_KINDS] = {"peg", "tray", "stack", "pile"};

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
    s->bodies[s->body_count++] = (fit_body){mesh, is_fixed, start};
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

/* Rings, tubes and letters fall into the bowl in layers of nine. */
static abut_status build_pile(fit_scene *s) {
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
            const double scale = PILE_SIZE / fmax(box.hi.x - box.lo.x,
                                                  fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
            const abut_vec3 c = report.centroid;
            status =
                add_shape(s, &shape, scale,
                          (abut_pose){{0, 0, 0, 1}, {-scale * c.x, -scale * c.y, -scale * c.z}});
        }
        abut_topology_destroy(topology);
        abut_mesh_destroy(raw);
    }
    add_body(s, 0, true, at(0, 0, 0));
    for (int i = 0; i < PILE_COUNT && !status; i++) {
        abut_pose start;
        const abut_vec3 axis = {sin(i), cos(1.7 * i), sin(2.3 * i + 1)};
        const abut_vec3 place = {1.9 * (i % 3 - 1), 1.9 * (i / 3 % 3 - 1), 2.0 * (i / 9) - 1};
        status = abut_pose_from_axis_angle(axis, 1.1 * i, place, &start);
        add_body(s, 1 + (uint32_t)i % 3, false, start);
    }
    s->seconds = 5;
    return status;
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

static abut_status create_scene(fit_kind kind, fit_scene **scene) {
    static abut_status (*const build[FIT_KINDS])(fit_scene *) = {build_peg, build_tray, build_stack,
                                                                 build_pile};
    fit_scene *s = calloc(1, sizeof *s);
    if (!s)
        return ABUT_ERROR_MEMORY;
    s->kind = kind;
    s->is_finite = true;
    abut_world_options options = abut_world_options_default();
    options.margin = FIT_MARGIN;
    s->contacts = malloc(CONTACT_ROOM * sizeof *s->contacts);
    abut_status status = s->contacts ? build[kind](s) : ABUT_ERROR_MEMORY;
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

abut_status fit_observe(fit_scene *s, const abut_pose *poses, double energy) {
    for (uint32_t i = 0; i < s->body_count; i++) {
        const double *x = &poses[i].rotation.x, *y = &poses[i].translation.x;
        for (int k = 0; k < 7; k++) /* beyond 1e6 it is as invalid as if it were not a number */
            s->is_finite &= fabs(k < 4 ? x[k] : y[k - 4]) < 1e6;
    }
    if (!s->is_finite)
        return ABUT_OK;
    memcpy(s->poses, poses, s->body_count * sizeof *poses);
    s->energy = energy;
    s->deepest_end = 0;
    abut_contacts found = {.size = sizeof found, .list = s->contacts, .capacity = CONTACT_ROOM};
    abut_status status =
        abut_world_set_poses(s->world, NULL, abut_array_host(poses), s->body_count);
    if (!status)
        status = abut_world_contacts(s->world, &found);
    for (uint64_t i = 0; i < found.count && !status; i++)
        s->deepest_end = fmax(s->deepest_end, found.list[i].depth);
    s->deepest = fmax(s->deepest, s->deepest_end);
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
    default:
        return beyond(sqrt(p.x * p.x + p.y * p.y + p.z * p.z), 0, BOWL_RADIUS);
    }
    return fmax(beyond(p.z, height, height),
                fmax(beyond(p.x, -reach, reach), beyond(p.y, -reach, reach)));
}

/* Prints the result of a scene; returns whether it passes. */
static bool judge(const fit_scene *s, const char *by) {
    const double tolerance = 0.02; /* of positions, and of depths at the end */
    const double quiet = s->kind == FIT_PILE ? 0.1 : 1e-4; /* J */
    uint32_t lost = 0, count = 0;
    double astray = 0;
    for (uint32_t i = 0; i < s->body_count; i++) {
        if (s->bodies[i].is_fixed)
            continue;
        const double away = s->is_finite ? measure_astray(s, i) : INFINITY;
        count++;
        lost += away > tolerance;
        astray = fmax(astray, away);
    }
    const bool holds = !lost && (s->is_cut || s->energy < quiet) && s->deepest_end < tolerance;
    printf("%-5s %-7s %s: %u of %u in place, %.2g astray; depth %.2g at most, %.2g at the end; "
           "kinetic energy %.2g J\n",
           names[s->kind], by, holds ? "holds" : "FAILS", count - lost, count, astray, s->deepest,
           s->deepest_end, s->energy);
    fflush(stdout);
    return holds;
}

/* ---- pictures ---- */

/* Draws the latest poses into a tile of an image. */
static abut_status draw_tile(const fit_scene *s, uint8_t *pixels, size_t row_bytes) {
    static const abut_vec3 reach[FIT_KINDS][2] = {{{-1.3, -1.3, 0}, {1.3, 1.3, 1.4}},
                                                  {{-1.3, -1.3, -0.5}, {1.3, 1.3, 1.6}},
                                                  {{-3, -3, 0}, {3, 3, 10}},
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
        if ((s->kind == FIT_PEG || s->kind == FIT_STACK) && i == 0)
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

/* ---- the program ---- */

typedef struct fit_request {
    bool kinds[FIT_KINDS];
    uint32_t kind_count;
    bool ways[2]; /* contacts of abut, of the engine */
    double seconds;
    const char *png;
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
        else if (!strcmp(argv[i], "--png") && i + 1 < argc)
            r->png = argv[++i];
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc &&
                 (r->seconds = atof(argv[i + 1])) > 0)
            i++;
        else
            return false;
    }
    for (uint32_t k = 0; k < FIT_KINDS; k++)
        r->kind_count += r->kinds[k];
    for (uint32_t k = 0; k < FIT_KINDS && r->kind_count == 0; k++)
        r->kinds[k] = true;
    r->kind_count = r->kind_count ? r->kind_count : FIT_KINDS;
    return true;
}

int fits_main(int argc, char **argv, const char *engine, fit_run *run) {
    fit_request request;
    if (!read_request(argc, argv, &request)) {
        fprintf(stderr,
                "usage: %s [--own | --compare] [--seconds S] [--png FILE] [peg | tray | stack | "
                "pile]...\n",
                argv[0]);
        return 2;
    }
    const uint32_t width = TILE_WIDTH * request.kind_count;
    const uint32_t height = TILE_HEIGHT * (request.ways[0] && request.ways[1] ? 2u : 1u);
    uint8_t *pixels = calloc((size_t)width * height, 4);
    abut_status status = pixels ? ABUT_OK : ABUT_ERROR_MEMORY;
    bool holds = true;
    for (uint32_t k = 0, x = 0; k < FIT_KINDS && !status; k++) {
        if (!request.kinds[k])
            continue;
        for (uint32_t way = 0, y = 0; way < 2 && !status; way++) {
            fit_scene *scene = NULL;
            if (!request.ways[way])
                continue;
            status = create_scene((fit_kind)k, &scene);
            if (!status && request.seconds > 0) {
                scene->is_cut = request.seconds < scene->seconds;
                scene->seconds = request.seconds;
            }
            if (!status)
                status = run(scene, way);
            if (!status && !judge(scene, way ? engine : "abut") && !way)
                holds = false;
            if (!status && request.png)
                status = draw_tile(scene, pixels + 4 * ((size_t)y * width + x), (size_t)width * 4);
            destroy_scene(scene);
            y += TILE_HEIGHT;
        }
        x += TILE_WIDTH;
    }
    if (!status && request.png)
        status = abut_picture_write_pixels(NULL, request.png, pixels, width, height);
    if (status)
        fprintf(stderr, "%s: %s: %s\n", argv[0], abut_status_name(status), abut_last_error());
    free(pixels);
    return status ? 2 : !holds;
}
