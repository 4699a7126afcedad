/* The scenes of cloth_stress.h. */
#include "cloth_stress.h"

#include "vectors.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* twist: a cylinder between two rings, about the x axis */
#define TWIST_RADIUS 0.1
#define TWIST_LENGTH 2.0
#define TWIST_RING 0.06 /* length of a ring, */
#define TWIST_GAP 0.02  /* and its distance from the cylinder */
#define TWIST_TURNS 10.0
#define TWIST_SECONDS 5.0
#define TWIST_SHORTER 0.8 /* metres by which the rings approach */
/* knot: a tube along a trefoil that is open at one point, with a ball at either end */
#define KNOT_SCALE 0.1
#define KNOT_CUT 0.3     /* of the parameter of the curve, at either end */
#define KNOT_RADIUS 0.05 /* of the tube; its strands are 0.166 apart */
#define KNOT_SECONDS 4.0
#define KNOT_END 0.88 /* final distance of the balls from the centre */
/* pile: square sheets above a plate */
#define PILE_SIDE 0.8
#define PILE_SPACING 0.07
/* funnel: a square sheet, pulled through by a ball under its centre */
#define FUNNEL_TOP 0.75   /* radius at FUNNEL_RIM, */
#define FUNNEL_SPOUT 0.26 /* and of the spout, from FUNNEL_NECK to FUNNEL_BOTTOM */
#define FUNNEL_RIM 0.45   /* heights */
#define FUNNEL_NECK (-0.1)
#define FUNNEL_BOTTOM (-0.45)
#define FUNNEL_SHEET 1.3  /* side */
#define FUNNEL_ABOVE 0.05 /* height of the sheet above the rim */
#define FUNNEL_BALL 0.1   /* radius */
#define FUNNEL_PINS 0.07  /* radius in which vertices are pinned to the ball */
#define FUNNEL_SECONDS 4.0
#define FUNNEL_DEPTH 1.7 /* by which the ball descends */

typedef abut_vec3 vec;

static vec point(double x, double y, double z) {
    return (vec){x, y, z};
}
static vec vec_scale(vec a, double s) {
    return point(a.x * s, a.y * s, a.z * s);
}
static vec vec_unit(vec a) {
    return vec_scale(a, 1 / vec_length(a));
}

/* ---- tubes ---- */

/* Circles of vertices around a line of points; every other one is rotated by half a step, which
 * makes triangles equilateral. */
typedef struct tube {
    uint32_t around, along; /* vertices of a circle; circles - 1 */
    vec *centres, *tangents;
    double *radii;
} tube;

static void tube_destroy(abut_context *context, tube *t) {
    abut_context_free(context, t->centres);
    abut_context_free(context, t->tangents);
    abut_context_free(context, t->radii);
}

/* A tube of about as many equilateral triangles. */
static abut_status tube_create(abut_context *context, uint32_t triangles, double radius,
                               double length, tube *t) {
    const double cells = triangles / 2.0, side = sqrt(2 * PI * radius * length / cells / 0.866);
    t->around = (uint32_t)fmax(floor(2 * PI * radius / side + 0.5), 5);
    t->along = (uint32_t)fmax(floor(cells / t->around + 0.5), 2);
    t->centres = abut_context_allocate(context, t->along + 1, sizeof *t->centres);
    t->tangents = abut_context_allocate(context, t->along + 1, sizeof *t->tangents);
    t->radii = abut_context_allocate(context, t->along + 1, sizeof *t->radii);
    for (uint32_t i = 0; i <= t->along && t->radii; i++)
        t->radii[i] = radius;
    return t->centres && t->tangents && t->radii ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static uint32_t add_quads(const tube *t, uint32_t *corners) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < t->along; i++)
        for (uint32_t j = 0; j < t->around; j++) {
            const uint32_t next = (j + 1) % t->around, low = i * t->around, high = low + t->around;
            const uint32_t even[6] = {low + j,    low + next,  high + j,
                                      low + next, high + next, high + j};
            const uint32_t odd[6] = {low + j, high + next, high + j,
                                     low + j, low + next,  high + next};
            memcpy(corners + used, i & 1 ? odd : even, sizeof even);
            used += 6;
        }
    return used / 3;
}

/* The frames of the circles are transported without rotation about the line. */
static abut_status tube_mesh(abut_context *context, const tube *t, abut_mesh **mesh) {
    const uint32_t vertices = t->around * (t->along + 1);
    vec *p = abut_context_allocate(context, vertices, sizeof *p);
    uint32_t *corners = abut_context_allocate(context, 6 * (size_t)vertices, sizeof *corners);
    abut_status status = ABUT_ERROR_MEMORY;
    vec side = fabs(t->tangents[0].z) < 0.8 ? point(0, 0, 1) : point(0, 1, 0);
    for (uint32_t i = 0; i <= t->along && p && corners; i++) {
        const vec along = t->tangents[i];
        side = vec_unit(vec_along(side, -vec_dot(side, along), along));
        const vec other = vec_cross(along, side);
        for (uint32_t j = 0; j < t->around; j++) {
            const double angle = 2 * PI * (j + 0.5 * (i & 1)) / t->around;
            vec at = vec_along(t->centres[i], t->radii[i] * cos(angle), side);
            p[i * t->around + j] = vec_along(at, t->radii[i] * sin(angle), other);
        }
    }
    if (p && corners) {
        const uint32_t count = add_quads(t, corners);
        const abut_mesh_input input = abut_mesh_input_doubles(p, vertices, corners, count);
        status = abut_mesh_create(context, &input, mesh);
    }
    abut_context_free(context, p);
    abut_context_free(context, corners);
    return status;
}

/* A straight cylinder along x. */
static abut_status make_cylinder(abut_context *context, uint32_t triangles, double radius,
                                 double from, double to, abut_mesh **mesh) {
    tube t = {0};
    abut_status status = tube_create(context, triangles, radius, to - from, &t);
    for (uint32_t i = 0; i <= t.along && !status; i++) {
        t.centres[i] = point(from + (to - from) * i / t.along, 0, 0);
        t.tangents[i] = point(1, 0, 0);
    }
    if (!status)
        status = tube_mesh(context, &t, mesh);
    tube_destroy(context, &t);
    return status;
}

/* ---- twist ---- */

static abut_status make_twist(abut_context *context, const scene_options *o, abut_mesh **sheet,
                              abut_mesh **parts) {
    const double half = 0.5 * TWIST_LENGTH, ring = half + TWIST_GAP;
    abut_status status = make_cylinder(context, o->triangles, TWIST_RADIUS, -half, half, sheet);
    if (!status)
        status = make_cylinder(context, o->solid_triangles / 2, TWIST_RADIUS, ring,
                               ring + TWIST_RING, &parts[0]);
    if (!status)
        status = make_cylinder(context, o->solid_triangles / 2, TWIST_RADIUS, -ring - TWIST_RING,
                               -ring, &parts[1]);
    return status;
}

static double ramp(double time, double seconds) {
    return fmin(fmax(time / seconds, 0), 1);
}

static vec ring_at(vec p, double time) {
    const double t = ramp(time, TWIST_SECONDS), side = p.x > 0 ? 1 : -1;
    const double angle = side * PI * TWIST_TURNS * t;
    return point(p.x - side * 0.5 * TWIST_SHORTER * t * t, p.y * cos(angle) - p.z * sin(angle),
                 p.y * sin(angle) + p.z * cos(angle));
}

/* ---- knot ---- */

/* A trefoil on a torus. */
static vec knot_at(double t) {
    const double r = KNOT_SCALE * (2 + cos(3 * t));
    return point(r * cos(2 * t), r * sin(2 * t), KNOT_SCALE * sin(3 * t));
}

static vec knot_tangent(double t) {
    return vec_unit(vec_along(knot_at(t + 1e-5), -1, knot_at(t - 1e-5)));
}

/* The centre of the ball at the end with positive or negative y. */
static vec knot_ball(double side) {
    const double t = side > 0 ? KNOT_CUT : 2 * PI - KNOT_CUT;
    return vec_along(knot_at(t), -side * 1.6 * KNOT_RADIUS, knot_tangent(t));
}

enum { KNOT_SAMPLES = 4000 };

/* The parameters of circles at equal distances along the curve. */
static void place_knot(tube *t) {
    const double from = KNOT_CUT, step = (2 * PI - 2 * KNOT_CUT) / KNOT_SAMPLES;
    double length = 0, at = 0;
    for (int i = 0; i < KNOT_SAMPLES; i++)
        length +=
            vec_length(vec_along(knot_at(from + (i + 1) * step), -1, knot_at(from + i * step)));
    uint32_t next = 0;
    for (int i = 0; i < KNOT_SAMPLES && next <= t->along; i++) {
        const double s = from + i * step;
        const double part = vec_length(vec_along(knot_at(s + step), -1, knot_at(s)));
        while (next <= t->along &&
               (at + part >= length * next / t->along || i + 1 == KNOT_SAMPLES)) {
            const double here = s + step * fmin((length * next / t->along - at) / part, 1);
            t->centres[next] = knot_at(here);
            t->tangents[next++] = knot_tangent(here);
        }
        at += part;
    }
}

static abut_status make_knot(abut_context *context, const scene_options *o, abut_mesh **sheet,
                             abut_mesh **parts) {
    tube t = {0};
    abut_status status = tube_create(context, o->triangles, KNOT_RADIUS, 28 * KNOT_SCALE, &t);
    if (!status) {
        place_knot(&t);
        status = tube_mesh(context, &t, sheet);
    }
    tube_destroy(context, &t);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *ball = NULL;
    shape.radius = 1.1 * KNOT_RADIUS;
    shape.segments = (uint32_t)fmin(fmax(sqrt(o->solid_triangles / 40.0), 2), 100);
    if (!status)
        status = abut_shape_create(context, &shape, &ball);
    for (int k = 0; k < 2 && !status; k++) {
        const abut_pose to = {{0, 0, 0, 0}, knot_ball(k ? -1 : 1)};
        status = abut_mesh_transform(ball, 1, to, &parts[k]);
    }
    abut_mesh_destroy(ball);
    return status;
}

/* The balls move apart along y, to the middle of the height. */
static vec knot_ball_at(vec p, double time) {
    const double side = p.y > 0 ? 1 : -1, t = ramp(time, KNOT_SECONDS);
    const vec from = knot_ball(side), to = point(0.25, side * KNOT_END, 0);
    return vec_along(p, t, vec_along(to, -1, from));
}

/* ---- pile ---- */

static abut_status make_pile(abut_context *context, const scene_options *o, abut_mesh **sheets,
                             abut_mesh **plate) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *flat = NULL;
    shape.extent = point(PILE_SIDE, PILE_SIDE, 0);
    shape.segments = shape.rings =
        (uint32_t)fmax(floor(sqrt(o->triangles / 2.0 / STRESS_SHEETS_MAX) + 0.5), 2);
    abut_status status = abut_shape_create(context, &shape, &flat);
    for (uint32_t i = 0; i < STRESS_SHEETS_MAX && !status; i++) {
        const double half = 0.5 * 2.4 * i; /* the golden angle, nearly */
        const abut_pose to = {{0, 0, sin(half), cos(half)},
                              {0.03 * sin(5.0 * i), 0.03 * cos(3.0 * i), PILE_SPACING * (i + 1)}};
        status = abut_mesh_transform(flat, 1, to, &sheets[i]);
    }
    abut_mesh_destroy(flat);
    abut_shape board = abut_shape_default(ABUT_SHAPE_BOX);
    board.extent = point(1.4, 1.4, 0.1);
    board.segments = (uint32_t)fmax(floor(sqrt(o->solid_triangles / 12.0) + 0.5), 1);
    if (!status)
        status = abut_shape_create(context, &board, plate);
    return status;
}

/* ---- funnel ---- */

#define FUNNEL_CENTRE (FUNNEL_RIM + FUNNEL_ABOVE - FUNNEL_BALL - 0.02) /* of the ball */

static abut_status make_funnel(abut_context *context, const scene_options *o, abut_mesh **sheet,
                               abut_mesh **parts) {
    const double cone = hypot(FUNNEL_TOP - FUNNEL_SPOUT, FUNNEL_RIM - FUNNEL_NECK);
    const double length = cone + FUNNEL_NECK - FUNNEL_BOTTOM;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET),
               ball = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *raw = NULL;
    tube t = {0};
    shape.extent = point(FUNNEL_SHEET, FUNNEL_SHEET, 0);
    shape.segments = shape.rings = (uint32_t)fmax(floor(sqrt(o->triangles / 2.0) + 0.5), 2);
    abut_status status = abut_shape_create(context, &shape, &raw);
    const abut_pose above = {{0, 0, 0.2, 1}, {0, 0, FUNNEL_RIM + FUNNEL_ABOVE}};
    if (!status)
        status = abut_mesh_transform(raw, 1, above, sheet);
    abut_mesh_destroy(raw);
    if (!status)
        status = tube_create(context, o->solid_triangles, 0.4, length, &t);
    t.around = t.around > 16 ? t.around : 16;
    for (uint32_t i = 0; i <= t.along && !status; i++) {
        const double down = length * i / t.along, part = fmin(down / cone, 1);
        t.tangents[i] = point(0, 0, -1);
        t.centres[i] =
            point(0, 0, FUNNEL_RIM + part * (FUNNEL_NECK - FUNNEL_RIM) - fmax(down - cone, 0));
        t.radii[i] = FUNNEL_TOP + part * (FUNNEL_SPOUT - FUNNEL_TOP);
    }
    if (!status)
        status = tube_mesh(context, &t, &parts[0]);
    tube_destroy(context, &t);
    raw = NULL;
    ball.radius = FUNNEL_BALL;
    ball.segments = 4;
    if (!status)
        status = abut_shape_create(context, &ball, &raw);
    const abut_pose below = {{0, 0, 0, 0}, {0, 0, FUNNEL_CENTRE}};
    if (!status)
        status = abut_mesh_transform(raw, 1, below, &parts[1]);
    abut_mesh_destroy(raw);
    return status;
}

static vec funnel_at(vec p, double time) {
    if (hypot(p.x, p.y) < 0.5 * (FUNNEL_BALL + FUNNEL_SPOUT)) /* the ball */
        p.z -= FUNNEL_DEPTH * ramp(time, FUNNEL_SECONDS);
    return p;
}

/* ---- all ---- */

abut_status stress_make(abut_context *context, const scene_options *o, abut_mesh **sheets,
                        uint32_t *count, abut_mesh **solid) {
    abut_mesh *parts[2] = {NULL, NULL};
    *count = o->kind == SCENE_PILE ? STRESS_SHEETS_MAX : 1;
    if (o->kind == SCENE_PILE)
        return make_pile(context, o, sheets, solid);
    abut_status status = o->kind == SCENE_TWIST  ? make_twist(context, o, sheets, parts)
                         : o->kind == SCENE_KNOT ? make_knot(context, o, sheets, parts)
                                                 : make_funnel(context, o, sheets, parts);
    if (!status)
        status = abut_mesh_join(parts, 2, solid);
    abut_mesh_destroy(parts[0]);
    abut_mesh_destroy(parts[1]);
    return status;
}

void stress_choose(scene_kind kind, abut_cloth_material *m, abut_cloth_options *o) {
    m->shear = m->stretch;
    m->friction = 0.2;
    if (kind == SCENE_TWIST || kind == SCENE_KNOT) {
        o->gravity = point(0, 0, 0);
        m->damping = 1;
        m->friction = 0.4;
    }
    if (kind == SCENE_PILE)
        m->thickness = 0.01;
    if (kind == SCENE_FUNNEL)
        m->thickness = 0.006;
}

bool stress_is_pinned(scene_kind kind, abut_vec3 p) {
    if (kind == SCENE_TWIST)
        return fabs(p.x) > 0.5 * TWIST_LENGTH - 1e-6;
    if (kind == SCENE_KNOT)
        for (int k = 0; k < 2; k++) { /* the circles at the ends */
            const double t = k ? 2 * PI - KNOT_CUT : KNOT_CUT;
            const vec off = vec_along(p, -1, knot_at(t));
            if (vec_length(off) < 1.001 * KNOT_RADIUS && fabs(vec_dot(off, knot_tangent(t))) < 1e-4)
                return true;
        }
    return kind == SCENE_FUNNEL && hypot(p.x, p.y) < FUNNEL_PINS;
}

abut_vec3 stress_solid_at(scene_kind kind, abut_vec3 p, double time) {
    return kind == SCENE_TWIST    ? ring_at(p, time)
           : kind == SCENE_KNOT   ? knot_ball_at(p, time)
           : kind == SCENE_FUNNEL ? funnel_at(p, time)
                                  : p;
}

double stress_rest_time(scene_kind kind) {
    return kind == SCENE_TWIST    ? TWIST_SECONDS
           : kind == SCENE_KNOT   ? KNOT_SECONDS
           : kind == SCENE_FUNNEL ? FUNNEL_SECONDS
                                  : 0;
}

abut_box stress_view(scene_kind kind) {
    return kind == SCENE_TWIST    ? (abut_box){{-0.95, -0.15, -0.15}, {0.95, 0.15, 0.15}}
           : kind == SCENE_KNOT   ? (abut_box){{-0.2, -0.85, -0.15}, {0.3, 0.85, 0.15}}
           : kind == SCENE_FUNNEL ? (abut_box){{-0.7, -0.7, -1.1}, {0.7, 0.7, 0.55}}
                                  : (abut_box){{-0.6, -0.6, -0.05}, {0.6, 0.6, 0.8}};
}

abut_vec3 stress_eye(scene_kind kind) {
    return kind == SCENE_KNOT     ? point(1, 0.1, 0.5)
           : kind == SCENE_FUNNEL ? point(0.3, -1, 0.55)
                                  : point(0.25, -1, 0.3);
}
