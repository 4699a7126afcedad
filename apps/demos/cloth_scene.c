/* The scenes of cloth_scene.h. Solids move by formulas of time, so that all runs are equal. */
#include "cloth_stress.h"

#include "critter.h"
#include "vectors.h"

#include <math.h>
#include <time.h>

#define PI 3.14159265358979323846
#define FRAME_SECONDS (1.0 / 60)

/* ball */
#define BALL_RADIUS 1.0
#define CRITTER_RADIUS 0.82 /* of the smallest ball around its rest position that contains it */
#define CRITTER_RISE 0.4
#define CRITTER_PERIOD 2.4
#define CRITTER_SQUASH 0.12
/* sleeve */
#define ROD_RADIUS 0.2
#define ROD_LENGTH 5.0
#define ROD_BUMP 0.06 /* of the radius */
#define ROD_BEND 2.6  /* radians from end to end */
#define ROD_SECONDS 5.0
#define ROD_BEND_SLIGHT 1.4 /* its ends are steeper than friction allows: the sleeve slides */
#define ROD_SECONDS_SLIGHT 8.0
#define SLEEVE_RADIUS 0.29
#define SLEEVE_LENGTH 2.6
#define SLEEVE_SHIFT (-0.9)
/* sheet */
#define BOARD_SIDE 1.0
#define BOARD_THICK 0.08
#define SHEET_SIDE 1.7
/* garments */
#define CHARACTER_SECONDS (1.0 / 30)
#define BLEND_SECONDS 1.0 /* from the rest pose into the clip */
#define EASE 0.0105       /* of the height */
#define HUMAN_HEIGHT 1.7
#define DRESS_WIND 2.5   /* times that of the sheet: dresses are attached, and should fold */
#define RADIAL_STEPS 4   /* per frame: vertices leave the body at the end of each */
#define LEAVE_DEPTH 0.15 /* deeper ones stay inside: they entered elsewhere */

typedef abut_vec3 vec;

static vec point(double x, double y, double z) {
    return (vec){x, y, z};
}
static vec vec_scale(vec a, double s) {
    return point(a.x * s, a.y * s, a.z * s);
}
static vec vec_round(vec a) { /* to floats, as cloth does */
    return point((double)(float)a.x, (double)(float)a.y, (double)(float)a.z);
}

struct scene {
    abut_context *context;
    scene_kind kind;
    abut_cloth *cloth;
    abut_mesh *meshes[2]; /* cloth, solid */
    abut_mesh *sheets[STRESS_SHEETS_MAX];
    uint32_t sheet_count;
    vec *solid; /* its vertices at rest */
    vec *solid_end;
    uint32_t solid_vertices;
    double time;
    abut_character *character;
    abut_character_matrix *bones;
    abut_radial *radial;
    abut_device *device;             /* with fields; null = the CPU */
    abut_character_skinner *skinner; /* these if there is a device */
    abut_buffer *skinned;
    scene_parts parts;
    bool outside;
    abut_garment *garment; /* what it wears */
    double size;           /* relative to a human */
    uint32_t clip;         /* ABUT_NONE = no motion */
    bool windy, slight;
    vec up;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *scene_name(scene_kind kind) {
    static const char *const names[] = {"ball", "sleeve",   "sheet",           "twist",
                                        "knot", "pile",     "funnel",          "dress",
                                        "cape", "overcoat", "trousers-and-top"};
    return (unsigned)kind < SCENE_COUNT ? names[kind] : NULL;
}

/* ---- surfaces along a line ---- */

/* A grid of `around` x `along` + 1 vertices on a cylinder about the x axis, with an additional
 * vertex at either end if `closed`. `radius` returns the radius of each vertex. */
static abut_status make_tube(abut_context *context, uint32_t around, uint32_t along, double length,
                             double (*radius)(double angle, double t), bool closed,
                             abut_mesh **mesh) {
    size_t vertices = (size_t)around * (along + 1) + (closed ? 2 : 0);
    size_t triangles = 2 * (size_t)around * (along + (closed ? 1 : 0)), used = 0;
    vec *p = abut_context_allocate(context, vertices, sizeof *p);
    uint32_t *t = abut_context_allocate(context, 3 * triangles, sizeof *t);
    abut_status status = ABUT_ERROR_MEMORY;
    if (p && t) {
        for (uint32_t i = 0; i <= along; i++)
            for (uint32_t j = 0; j < around; j++) {
                /* every other ring is rotated by half a step: equilateral triangles */
                double angle = 2 * PI * (j + 0.5 * (i & 1)) / around, at = (double)i / along;
                double r = radius(angle, at);
                p[(size_t)i * around + j] =
                    vec_round(point((at - 0.5) * length, r * cos(angle), r * sin(angle)));
            }
        uint32_t first = around * (along + 1), second = first + 1;
        if (closed) {
            p[first] = point(-0.5 * length, 0, 0);
            p[second] = point(0.5 * length, 0, 0);
        }
        for (uint32_t i = 0; i < along; i++)
            for (uint32_t j = 0; j < around; j++) {
                uint32_t next = (j + 1) % around, low = i * around, high = low + around;
                const uint32_t even[6] = {low + j,    low + next,  high + j,
                                          low + next, high + next, high + j};
                const uint32_t odd[6] = {low + j, high + next, high + j,
                                         low + j, low + next,  high + next};
                memcpy(t + used, i & 1 ? odd : even, sizeof even);
                used += 6;
            }
        for (uint32_t j = 0; j < around && closed; j++) {
            uint32_t next = (j + 1) % around, high = along * around;
            const uint32_t caps[6] = {first, next, j, second, high + j, high + next};
            memcpy(t + used, caps, sizeof caps);
            used += 6;
        }
        abut_mesh_input input =
            abut_mesh_input_doubles(p, (uint32_t)vertices, t, (uint32_t)triangles);
        status = abut_mesh_create(context, &input, mesh);
    }
    abut_context_free(context, p);
    abut_context_free(context, t);
    return status;
}

static double sleeve_radius(double angle, double t) {
    (void)angle;
    (void)t;
    return SLEEVE_RADIUS;
}

/* Round ends, and bumps between them. */
static double rod_radius(double angle, double t) {
    double end = fmin(t, 1 - t) * ROD_LENGTH / ROD_RADIUS; /* in radii from the nearer end */
    double cap = end < 1 ? sqrt(fmax(1 - (1 - end) * (1 - end), 0)) : 1;
    return ROD_RADIUS * fmax(cap, 0.2) * (1 + ROD_BUMP * cos(5 * angle) * cos(2 * PI * 14 * t));
}

/* Numbers of equilateral triangles around and along a cylinder. */
static void divide(uint32_t triangles, double radius, double length, uint32_t *around,
                   uint32_t *along) {
    double cells = triangles / 2.0, side = sqrt(2 * PI * radius * length / cells / 0.866);
    *around = (uint32_t)fmax(floor(2 * PI * radius / side + 0.5), 5);
    *along = (uint32_t)fmax(floor(cells / *around + 0.5), 2);
}

/* ---- models ---- */

static abut_status make_ball(scene *s, const scene_options *o) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *raw = NULL;
    shape.radius = BALL_RADIUS;
    shape.segments = (uint32_t)fmax(floor(sqrt(o->triangles / 20.0) + 0.5), 2);
    abut_status status = abut_shape_create(s->context, &shape, &s->meshes[0]);
    double detail = sqrt(o->solid_triangles / 6000.0);
    detail = fmin(fmax(detail, 0.3), 8);
    if (!status)
        status = critter_create(s->context, detail, &raw);
    if (!status) {
        abut_box b = abut_mesh_bounds(raw);
        vec middle = vec_scale(vec_add(b.lo, b.hi), 0.5);
        double furthest = 0;
        for (uint32_t i = 0; i < abut_mesh_vertex_count(raw); i++) {
            vec p = vec_add(abut_mesh_local_origin(raw), abut_mesh_local_positions(raw)[i]);
            furthest = fmax(furthest, vec_length(vec_along(p, -1, middle)));
        }
        double scale = CRITTER_RADIUS / furthest;
        abut_pose pose = {{0, 0, 0, 0}, vec_scale(middle, -scale)};
        status = abut_mesh_transform(raw, scale, pose, &s->meshes[1]);
    }
    abut_mesh_destroy(raw);
    return status;
}

static abut_status make_sleeve(scene *s, const scene_options *o) {
    uint32_t around, along;
    abut_mesh *raw = NULL;
    divide(o->triangles, SLEEVE_RADIUS, SLEEVE_LENGTH, &around, &along);
    abut_status status =
        make_tube(s->context, around, along, SLEEVE_LENGTH, sleeve_radius, false, &raw);
    abut_pose aside = {{0, 0, 0, 0}, {SLEEVE_SHIFT, 0, 0}};
    if (!status)
        status = abut_mesh_transform(raw, 1, aside, &s->meshes[0]);
    abut_mesh_destroy(raw);
    divide(o->solid_triangles, ROD_RADIUS, ROD_LENGTH, &around, &along);
    if (status)
        return status;
    return make_tube(s->context, around, along, ROD_LENGTH, rod_radius, true, &s->meshes[1]);
}

static abut_status make_sheet(scene *s, const scene_options *o) {
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET),
               board = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *raw = NULL;
    sheet.extent = point(SHEET_SIDE, SHEET_SIDE, 0);
    sheet.segments = sheet.rings = (uint32_t)fmax(floor(sqrt(o->triangles / 2.0) + 0.5), 2);
    board.extent = point(BOARD_SIDE, BOARD_SIDE, BOARD_THICK);
    board.segments = (uint32_t)fmax(floor(sqrt(o->solid_triangles / 12.0) + 0.5), 1);
    abut_status status = abut_shape_create(s->context, &sheet, &raw);
    /* not aligned with the board, and slightly above it */
    abut_pose over = {{0, 0, 0.2, 1}, {0, 0, BOARD_THICK / 2 + 0.03}};
    if (!status)
        status = abut_mesh_transform(raw, 1, over, &s->meshes[0]);
    abut_mesh_destroy(raw);
    if (status)
        return status;
    return abut_shape_create(s->context, &board, &s->meshes[1]);
}

static bool is_stress(const scene *s) {
    return s->kind >= SCENE_STRESS_FIRST && s->kind < SCENE_SOLID_COUNT;
}

/* Pins vertices to the solid. */
static abut_status pin_stress(scene *s) {
    const uint32_t count = abut_mesh_vertex_count(s->meshes[0]);
    uint32_t *pins = abut_context_allocate(s->context, count, sizeof *pins), used = 0;
    abut_cloth_attachment *list = abut_context_allocate(s->context, count, sizeof *list);
    abut_status status = pins && list ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count && !status; i++)
        if (stress_is_pinned(s->kind, vec_add(abut_mesh_local_origin(s->meshes[0]),
                                              abut_mesh_local_positions(s->meshes[0])[i])))
            pins[used++] = i;
    if (!status && used)
        status = abut_cloth_bind(s->cloth, 0, 0, pins, used, 0, list);
    if (!status && used)
        status = abut_cloth_attach(s->cloth, 0, list, used);
    abut_context_free(s->context, pins);
    abut_context_free(s->context, list);
    return status;
}

/* ---- characters ---- */

static bool has_character(const scene *s) {
    return s->kind >= SCENE_SOLID_COUNT;
}

/* A unit vector perpendicular to `up`. */
static vec across(vec up) {
    vec side = fabs(up.x) < 0.9 ? point(1, 0, 0) : point(0, 1, 0);
    side = vec_along(side, -vec_dot(side, up), up);
    return vec_scale(side, 1 / vec_length(side));
}

/* The pose of the bones: from the rest pose into the clip, then repeated. */
static abut_status bones_at(scene *s, double time) {
    abut_character_pose_options pose = abut_character_pose_options_default();
    pose.clip = ABUT_NONE;
    if (s->clip != ABUT_NONE) {
        pose.other = s->clip;
        pose.blend = fmin(fmax(time / BLEND_SECONDS, 0), 1);
        pose.blend *= pose.blend * (3 - 2 * pose.blend);
        /* forwards and backwards: a jump from the end to the start would pass through the cloth */
        abut_character_clip clip;
        abut_status status = abut_character_get_clip(s->character, s->clip, &clip);
        if (status)
            return status;
        double length = clip.duration;
        double on = fmax(time - BLEND_SECONDS, 0);
        double twice = on - 2 * length * floor(on / (2 * length));
        pose.other_time = length > 0 ? fmin(twice, 2 * length - twice) : 0;
        pose.clamp = true;
    }
    return abut_character_pose(s->character, &pose, s->bones);
}

/* The positions of the body, as floats. */
static abut_status pose_at(scene *s, double time) {
    abut_status status = bones_at(s, time);
    if (!status)
        status = abut_character_skin(s->character, s->bones, ABUT_CHARACTER_SKINNING_LINEAR,
                                     s->solid_end);
    for (uint32_t i = 0; i < s->solid_vertices && !status; i++)
        s->solid_end[i] = vec_round(s->solid_end[i]);
    return status;
}

static abut_status take_character(scene *s, const scene_options *o) {
    abut_character_info info = abut_character_info_default();
    abut_character_get_info(o->character, &info);
    vec up = o->up;
    double length = vec_length(up);
    if (!o->character)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "this scene needs a character");
    if (o->clip >= info.clip_count && o->clip != ABUT_NONE)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              info.clip_count ? "the character has no such clip"
                                              : "the character has no clip that would move it; "
                                                "it can only stand in the wind");
    if (!(length >= 0 && length <= 1e30))
        return abut_set_error(ABUT_ERROR_ARGUMENT, "up must be finite");
    s->up = length > 0 ? vec_scale(up, 1 / length) : point(0, 1, 0);
    s->character = o->character;
    s->clip = o->clip;
    s->windy = o->windy;
    s->bones = abut_context_allocate(s->context, info.bone_count, sizeof *s->bones);
    return s->bones ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* The initial mesh of the body. */
static abut_status make_body(scene *s) {
    abut_mesh *rest = abut_character_rest_mesh(s->character);
    uint32_t count = abut_mesh_vertex_count(rest);
    s->solid_end = abut_context_allocate(s->context, count, sizeof *s->solid_end);
    if (!s->solid_end)
        return ABUT_ERROR_MEMORY;
    s->solid_vertices = count;
    abut_status status = pose_at(s, 0);
    abut_mesh_input input = abut_mesh_input_doubles(s->solid_end, count, abut_mesh_indices(rest),
                                                    abut_mesh_triangle_count(rest));
    if (status)
        return status;
    return abut_mesh_create(s->context, &input, &s->meshes[1]);
}

/* The garment with the name of the scene. */
static abut_garment_kind garment_kind(const scene *s) {
    int kind = 0;
    while (strcmp(scene_name(s->kind), abut_garment_kind_name((abut_garment_kind)kind)) != 0)
        kind++;
    return (abut_garment_kind)kind;
}

/* A garment of about as many triangles, its vertices as floats. */
static abut_status make_garment(scene *s, const scene_options *o, double ease) {
    abut_garment_options options = abut_garment_options_default();
    double half = o->triangles / 2.0; /* vertices, except for those of boundaries */
    options.kind = garment_kind(s);
    if (half + 1.6 * sqrt(half) > ABUT_GARMENT_PARTICLES_MAX)
        return abut_set_error(ABUT_ERROR_LIMIT, "a garment has at most 398000 triangles");
    options.particles = (uint32_t)fmax(half + 1.6 * sqrt(half), ABUT_GARMENT_PARTICLES_MIN);
    options.ease = ease;
    options.joints = o->joints;
    abut_status status = abut_garment_create(s->character, &options, &s->garment);
    if (status)
        return status;
    abut_mesh *mesh = abut_character_rest_mesh(abut_garment_character(s->garment));
    uint32_t count = abut_mesh_vertex_count(mesh);
    vec *p = abut_context_allocate(s->context, count, sizeof *p);
    if (!p)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        p[i] = vec_round(vec_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]));
    abut_mesh_input input =
        abut_mesh_input_doubles(p, count, abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh));
    status = abut_mesh_create(s->context, &input, &s->meshes[0]);
    abut_context_free(s->context, p);
    return status;
}

static double height_of(const scene *s) {
    double low = (double)INFINITY, high = -low;
    for (uint32_t i = 0; i < s->solid_vertices; i++) {
        double at = vec_dot(s->solid_end[i], s->up);
        low = fmin(low, at);
        high = fmax(high, at);
    }
    return high - low;
}

/* The positions of the body after the last skinning: on the device, if there is one. */
static abut_array body_now(const scene *s) {
    return s->skinned ? abut_array_buffer(s->skinned) : abut_array_host(s->solid_end);
}

/* Poses and skins a body with fields. On a device the positions are not downloaded. */
static abut_status skin_at(scene *s, double time) {
    abut_status status = bones_at(s, time);
    if (!status && s->skinner)
        return abut_character_skinner_run(s->skinner, s->bones, NULL, body_now(s));
    if (status)
        return status;
    return abut_character_skin(s->character, s->bones, ABUT_CHARACTER_SKINNING_LINEAR,
                               s->solid_end);
}

static abut_status make_fields(scene *s, const scene_options *o) {
    abut_radial_options fields = abut_radial_options_default();
    fields.cell = SCENE_CELL;
    fields.device = s->device = o->device;
    s->outside = o->outside;
    abut_status status = abut_radial_create(s->character, &fields, &s->radial);
    if (!status && s->device) {
        abut_character_skinner_options skinning = abut_character_skinner_options_default();
        skinning.device = s->device;
        status = abut_character_skinner_create(s->character, &skinning, &s->skinner);
        if (!status)
            status = abut_buffer_create(s->device, s->solid_vertices * sizeof(vec), &s->skinned);
    }
    if (status)
        return status;
    status = skin_at(s, 0);
    if (status)
        return status;
    status = abut_radial_set_positions(s->radial, s->bones, body_now(s));
    if (status)
        return status;
    return abut_cloth_add_radial(s->cloth, s->radial);
}

/* Attaches the pins of the garment to the body. */
static abut_status hold_garment(scene *s, double stiffness) {
    uint32_t count;
    const uint32_t *pins = abut_garment_pins(s->garment, &count);
    abut_cloth_attachment *list = abut_context_allocate(s->context, count, sizeof *list);
    abut_status status = list ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_cloth_bind(s->cloth, 0, 0, pins, count, stiffness, list);
    if (!status)
        status = abut_cloth_attach(s->cloth, 0, list, count);
    abut_context_free(s->context, list);
    return status;
}

/* ---- cloth ---- */

static void choose_material(const scene *s, abut_cloth_material *m, abut_cloth_options *o) {
    m->damping = 0.2;
    m->stretch = 150;
    m->bend = 5e-5;
    m->friction = 0.3;
    o->gravity.z = -9.81;
    o->drag = 0.3;
    if (is_stress(s)) {
        stress_choose(s->kind, m, o);
        return;
    }
    switch (s->kind) {
    case SCENE_BALL:
        m->stretch = 60;
        m->bend = 2e-4;
        m->pressure = 0.6;
        o->gravity.z = -4; /* two ears carry all of it */
        break;
    case SCENE_SLEEVE:
        m->bend = 1e-4;
        m->friction = 0.12;
        break;
    case SCENE_DRESS:
    case SCENE_CAPE:
    case SCENE_OVERCOAT:
    case SCENE_TROUSERS_AND_TOP:
        /* folds and swings as on a human, also if the unit of the model is not a metre */
        m->stretch *= pow(s->size, 2);
        m->bend *= pow(s->size, 4);
        o->body_may_lag = true;
        o->gravity = vec_scale(s->up, -9.81 * s->size);
        break;
    default:
        m->shear = 60;
        m->friction = 0.35;
    }
}

static abut_status make_cloth(scene *s, const scene_options *o) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    choose_material(s, &material, &options);
    options.device = o->device;
    /* a pass propagates forces from vertex to vertex, so finer cloth needs more of them */
    options.substeps = (uint32_t)fmin(fmax(10 * sqrt(o->triangles / 6000.0), 10), 40);
    if (has_character(s)) {
        options.substeps *= 2; /* frames are twice as long */
        options.ignore_self = o->radial && !o->self;
        if (o->radial)
            options.substeps = (options.substeps + RADIAL_STEPS - 1) / RADIAL_STEPS;
    }
    uint32_t index;
    abut_status status = abut_cloth_create(s->context, &options, &s->cloth);
    if (!status)
        status = abut_cloth_add_sheet(s->cloth, s->sheet_count ? s->sheets[0] : s->meshes[0],
                                      &material, &index);
    for (uint32_t i = 1; i < s->sheet_count && !status; i++)
        status = abut_cloth_add_sheet(s->cloth, s->sheets[i], &material, &index);
    if (!status)
        status = abut_cloth_add_body(s->cloth, s->meshes[1], NULL, &index);
    return status;
}

/* Dresses the body. The first step checks that there are no intersections. */
static abut_status dress(scene *s, const scene_options *o) {
    abut_status status = make_body(s);
    s->size = status ? 1 : height_of(s) / HUMAN_HEIGHT;
    if (!status)
        status = make_garment(s, o, o->ease > 0 ? o->ease : EASE * height_of(s));
    if (!status)
        status = make_cloth(s, o);
    if (!status && o->radial)
        status = make_fields(s, o);
    if (status)
        return status;
    return hold_garment(s, 50 * pow(s->size, 2));
}

/* ---- motion ---- */

static double ease(double t) {
    t = fmin(fmax(t, 0), 1);
    return t * t * (3 - 2 * t);
}

/* Up and down, slower between the ends than at the turns. */
static vec critter_at(vec p, double time) {
    double phase = 2 * PI * time / CRITTER_PERIOD, q = CRITTER_SQUASH * sin(phase);
    double start = ease(time / 0.5);
    return point(p.x * (1 - 0.5 * q * start), p.y * (1 - 0.5 * q * start),
                 p.z * (1 + q * start) + start * CRITTER_RISE * sin(phase));
}

/* Bent upwards into an arc with a fixed centre; unless `slight`, then tilted to both sides. */
static vec rod_at(vec p, double time, bool slight) {
    double bend = slight ? ROD_BEND_SLIGHT * ease(time / ROD_SECONDS_SLIGHT)
                         : ROD_BEND * ease(time / ROD_SECONDS);
    double curvature = bend / ROD_LENGTH;
    double tilt =
        slight ? 0 : 0.5 * ease((time - ROD_SECONDS) / 2) * sin(0.8 * (time - ROD_SECONDS));
    if (curvature > 1e-6) {
        double angle = p.x * curvature, r = 1 / curvature - p.z;
        p = point(r * sin(angle), p.y, 1 / curvature - r * cos(angle));
    }
    return point(p.x * cos(tilt) - p.z * sin(tilt), p.y, p.x * sin(tilt) + p.z * cos(tilt));
}

static vec board_at(vec p, double time) {
    double turn = 0.35 * ease((time - 1) / 2) * sin(0.9 * (time - 1));
    return point(p.x * cos(turn) - p.z * sin(turn), p.y, p.x * sin(turn) + p.z * cos(turn));
}

/* In gusts, from changing sides. */
static vec wind_at(const scene *s, double time) {
    double strength =
        3.0 * ease((time - 0.8) / 1.0) * (1 + 0.6 * sin(2.1 * time) * sin(0.7 * time));
    double side = 0.9 * sin(0.45 * time);
    vec wind = point(strength * cos(side), strength * sin(side), 0.35 * strength * sin(3.3 * time));
    if (!has_character(s))
        return wind;
    vec aside = across(s->up), front = vec_cross(aside, s->up);
    wind = vec_scale(wind, DRESS_WIND * s->size);
    return vec_along(vec_along(vec_scale(front, -wind.x), wind.y, aside), wind.z, s->up);
}

static abut_status place_solid(scene *s, double time) {
    if (has_character(s))
        return pose_at(s, time);
    for (uint32_t i = 0; i < s->solid_vertices; i++) {
        vec p = s->solid[i];
        s->solid_end[i] = vec_round(is_stress(s)              ? stress_solid_at(s->kind, p, time)
                                    : s->kind == SCENE_BALL   ? critter_at(p, time)
                                    : s->kind == SCENE_SLEEVE ? rod_at(p, time, s->slight)
                                                              : board_at(p, time));
    }
    return ABUT_OK;
}

/* ---- scenes ---- */

/* Creates the cloth of a scene without a character. */
static abut_status begin(scene *s, const scene_options *o) {
    s->solid_vertices = abut_mesh_vertex_count(s->meshes[1]);
    s->solid = abut_context_allocate(s->context, s->solid_vertices, sizeof *s->solid);
    s->solid_end = abut_context_allocate(s->context, s->solid_vertices, sizeof *s->solid_end);
    if (!s->solid || !s->solid_end)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < s->solid_vertices; i++)
        s->solid[i] = vec_add(abut_mesh_local_origin(s->meshes[1]),
                              abut_mesh_local_positions(s->meshes[1])[i]);
    abut_status status = make_cloth(s, o);
    return status || !is_stress(s) ? status : pin_stress(s);
}

static abut_status prepare(scene *s, const scene_options *o) {
    abut_status status = has_character(s) ? take_character(s, o) : ABUT_OK;
    if (status)
        return status;
    if (has_character(s))
        return dress(s, o);
    if (is_stress(s)) {
        status = stress_make(s->context, o, s->sheets, &s->sheet_count, &s->meshes[1]);
        if (!status)
            status = abut_mesh_join(s->sheets, s->sheet_count, &s->meshes[0]);
        return status ? status : begin(s, o);
    }
    status = s->kind == SCENE_BALL     ? make_ball(s, o)
             : s->kind == SCENE_SLEEVE ? make_sleeve(s, o)
                                       : make_sheet(s, o);
    return status ? status : begin(s, o);
}

abut_status scene_create(abut_context *context, const scene_options *options, scene **made) {
    scene_options o = *options;
    if (!scene_name(o.kind))
        return abut_set_error(ABUT_ERROR_ARGUMENT, "there is no such scene");
    o.triangles = o.triangles ? o.triangles : 6000;
    o.solid_triangles = o.solid_triangles ? o.solid_triangles : o.triangles / 2;
    if (o.triangles > 10000000 || o.solid_triangles > 10000000)
        return abut_set_error(ABUT_ERROR_LIMIT, "a scene has at most ten million triangles");
    scene *s = abut_context_allocate(context, 1, sizeof *s);
    if (!s)
        return ABUT_ERROR_MEMORY;
    memset(s, 0, sizeof *s);
    s->context = context;
    s->kind = o.kind;
    s->windy = o.kind == SCENE_SHEET;
    s->slight = o.slight;
    abut_status status = prepare(s, &o);
    if (status)
        scene_destroy(s);
    else
        *made = s;
    return status;
}

void scene_destroy(scene *s) {
    if (!s)
        return;
    abut_context *context = s->context;
    abut_cloth_destroy(s->cloth);
    abut_radial_destroy(s->radial);
    abut_character_skinner_destroy(s->skinner);
    abut_buffer_destroy(s->skinned);
    abut_garment_destroy(s->garment);
    abut_mesh_destroy(s->meshes[0]);
    abut_mesh_destroy(s->meshes[1]);
    for (uint32_t i = 0; i < s->sheet_count; i++)
        abut_mesh_destroy(s->sheets[i]);
    abut_context_free(context, s->solid);
    abut_context_free(context, s->solid_end);
    abut_context_free(context, s->bones);
    abut_context_free(context, s);
}

/* A frame against radial fields: several steps with a common report. */
static abut_status radial_step(scene *s, abut_cloth_report *report) {
    double seconds = scene_frame_seconds(s) / RADIAL_STEPS;
    abut_cloth_report all = abut_cloth_report_default();
    all.fraction = 1;
    all.gap = 1e300;
    abut_status status = ABUT_OK;
    for (int i = 0; i < RADIAL_STEPS && !status; i++) {
        abut_cloth_report one = abut_cloth_report_default();
        double start = now();
        status = skin_at(s, s->time + seconds);
        double skinned = now();
        if (!status)
            status = abut_radial_set_positions(s->radial, s->bones, body_now(s));
        if (!status)
            status = abut_cloth_set_body_positions(s->cloth, 0, body_now(s));
        if (!status && s->windy)
            status = abut_cloth_set_wind(s->cloth, wind_at(s, s->time));
        double updated = now();
        if (!status)
            status = abut_cloth_step(s->cloth, seconds, &one);
        if (status)
            break;
        s->parts.skin += skinned - start;
        s->parts.fields += updated - skinned;
        s->parts.self += one.contact_seconds;
        s->parts.solve += one.motion_seconds;
        s->parts.collide += one.impact_seconds;
        s->time += seconds;
        all.contacts += one.contacts;
        all.impacts += one.impacts;
        all.depth = fmax(all.depth, one.depth);
        all.gap = fmin(all.gap, one.gap);
        all.guarantee = one.guarantee;
        all.motion_seconds += one.motion_seconds;
        all.contact_seconds += one.contact_seconds + updated - start;
        all.impact_seconds += one.impact_seconds;
    }
    if (!status && s->outside) {
        uint32_t moved = 0;
        double depth = 0, start = now();
        status = abut_cloth_push_out(s->cloth, LEAVE_DEPTH, &moved, &depth);
        all.impacts += moved;
        s->parts.outside += now() - start;
        all.impact_seconds += now() - start;
    }
    if (!status)
        *report = all;
    return status;
}

abut_status scene_step(scene *s, abut_cloth_report *report) {
    if (s->radial)
        return radial_step(s, report);
    double seconds = scene_frame_seconds(s);
    abut_status status = place_solid(s, s->time + seconds);
    if (!status)
        status = abut_cloth_set_body_positions(s->cloth, 0, abut_array_host(s->solid_end));
    if (!status && s->windy)
        status = abut_cloth_set_wind(s->cloth, wind_at(s, s->time));
    if (!status)
        status = abut_cloth_step(s->cloth, seconds, report);
    if (!status)
        s->time += seconds * report->fraction;
    return status;
}

uint32_t scene_vertex_count(const scene *s) {
    return abut_mesh_vertex_count(s->meshes[0]) + s->solid_vertices;
}

typedef abut_status get_state(abut_cloth *cloth, uint32_t sheet, abut_array to);

/* Copies a state of all sheets. */
static abut_status get_sheets(const scene *s, get_state *get, vec *to) {
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < (s->sheet_count ? s->sheet_count : 1) && !status; i++) {
        status = get(s->cloth, i, abut_array_host(to));
        to += abut_mesh_vertex_count(s->sheet_count ? s->sheets[i] : s->meshes[0]);
    }
    return status;
}

abut_status scene_get_positions(const scene *s, abut_vec3 *positions, abut_vec3 *aims) {
    const uint32_t first = abut_mesh_vertex_count(s->meshes[0]);
    abut_status status = get_sheets(s, abut_cloth_get_positions, positions);
    if (!status)
        status = abut_cloth_get_body_positions(s->cloth, 0, abut_array_host(positions + first));
    if (status || !aims)
        return status;
    memcpy(aims + first, s->skinned || s->time == 0 ? positions + first : s->solid_end,
           s->solid_vertices * sizeof *aims);
    return get_sheets(s, abut_cloth_get_aims, aims);
}

abut_status scene_create_mesh(const scene *s, uint32_t which, abut_mesh **mesh) {
    const abut_mesh *like = s->meshes[0];
    const uint32_t count = abut_mesh_vertex_count(like);
    if (which)
        return abut_cloth_create_body_mesh(s->cloth, 0, mesh);
    vec *at = abut_context_allocate(s->context, count, sizeof *at);
    abut_status status = at ? get_sheets(s, abut_cloth_get_positions, at) : ABUT_ERROR_MEMORY;
    const abut_mesh_input input =
        abut_mesh_input_doubles(at, count, abut_mesh_indices(like), abut_mesh_triangle_count(like));
    if (!status)
        status = abut_mesh_create(s->context, &input, mesh);
    abut_context_free(s->context, at);
    return status;
}

abut_status scene_depth(const scene *s, double *depth) {
    abut_mesh *body = NULL;
    abut_bvh *bvh = NULL;
    uint32_t count = abut_mesh_vertex_count(s->meshes[0]);
    vec *points = abut_context_allocate(s->context, count, sizeof *points);
    abut_nearest *answers = abut_context_allocate(s->context, count, sizeof *answers);
    abut_status status = points && answers
                             ? abut_cloth_get_positions(s->cloth, 0, abut_array_host(points))
                             : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_cloth_create_body_mesh(s->cloth, 0, &body);
    if (!status)
        status = abut_bvh_create(body, NULL, &bvh);
    if (!status)
        status = abut_sign_prepare(bvh, NULL);
    if (!status)
        status = abut_sign_nearest_batch(bvh, abut_array_host(points), count, HUGE_VAL,
                                         abut_array_host(answers));
    double deepest = 0;
    for (uint32_t i = 0; i < count && !status; i++)
        deepest = fmax(deepest, -answers[i].distance);
    if (!status)
        *depth = deepest;
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(body);
    abut_context_free(s->context, points);
    abut_context_free(s->context, answers);
    return status;
}

scene_parts scene_parts_of(const scene *s) {
    return s->parts;
}
abut_cloth *scene_cloth(const scene *s) {
    return s->cloth;
}
abut_mesh *scene_mesh(const scene *s, uint32_t which) {
    return s->meshes[which ? 1 : 0];
}
double scene_rest_time(const scene *s) {
    return is_stress(s) ? stress_rest_time(s->kind) : (double)INFINITY;
}
double scene_time(const scene *s) {
    return s->time;
}
double scene_frame_seconds(const scene *s) {
    return has_character(s) ? CHARACTER_SECONDS : FRAME_SECONDS;
}
abut_vec3 scene_up(const scene *s) {
    return has_character(s) ? s->up : point(0, 0, 1);
}
abut_vec3 scene_eye(const scene *s) {
    if (has_character(s)) {
        vec side = across(s->up);
        vec front = vec_scale(vec_cross(side, s->up), s->kind == SCENE_CAPE ? -1 : 1);
        return vec_along(vec_along(front, 0.5, side), 0.15, s->up);
    }
    return is_stress(s)             ? stress_eye(s->kind)
           : s->kind == SCENE_SHEET ? point(0.5, -1, 0.45)
                                    : point(0.25, -1, 0.2);
}
abut_box scene_view(const scene *s) {
    if (has_character(s)) { /* it walks away */
        abut_mesh *body = NULL;
        abut_status status = abut_cloth_create_body_mesh(s->cloth, 0, &body);
        abut_box box = abut_mesh_bounds(status ? s->meshes[1] : body);
        abut_mesh_destroy(body);
        return box;
    }
    if (is_stress(s))
        return stress_view(s->kind);
    static const abut_box views[SCENE_STRESS_FIRST] = {{{-0.9, -0.9, -1.4}, {0.9, 0.9, 1.3}},
                                                       {{-2.4, -0.5, -0.8}, {2.4, 0.5, 1.5}},
                                                       {{-0.7, -0.7, -0.75}, {0.7, 0.7, 0.25}}};
    return views[s->kind];
}
