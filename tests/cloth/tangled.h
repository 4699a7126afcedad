/* Cloths that start crossed, at random, for tests of abut_cloth_untangle(). */
#ifndef TEST_CLOTH_TANGLED_H
#define TEST_CLOTH_TANGLED_H

#include "fixture.h"

typedef enum tangle_kind {
    TANGLE_SHEETS, /* two sheets at random */
    TANGLE_LOOP,   /* a strip that forms a loop and passes through itself */
    TANGLE_FLAP,   /* a sheet whose folded corner is pushed through its other half */
    TANGLE_CORNER, /* the corner or side of a sheet in a ball or box */
    TANGLE_LIMB,   /* a capsule that ends in front of or behind a sheet, and pierces it */
    TANGLE_BULGE,  /* a tube around a capsule whose skin bulges through it in places */
    TANGLE_LAYERS, /* four sheets at random */
    TANGLE_WAVES,  /* a sheet that random waves crumple */
    TANGLE_COUNT
} tangle_kind;

static const char *const tangle_names[TANGLE_COUNT] = {
    "sheet through sheet", "strip through itself", "corner through its sheet",
    "sheet in a body",     "limb through a sheet", "body through a garment",
    "four sheets",         "crumpled sheet"};

static inline abut_pose random_pose(test_random *random, double range) {
    return (abut_pose){{test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                        test_random_real(random, -1, 1), test_random_real(random, -1, 1)},
                       {test_random_real(random, -range, range),
                        test_random_real(random, -range, range),
                        test_random_real(random, -range, range)}};
}

/* A sheet whose vertices are moved. */
static inline abut_mesh *make_bent_sheet(uint32_t segments, uint32_t rings,
                                         vec (*bend)(vec p, const double *numbers),
                                         const double *numbers) {
    abut_mesh *flat = NULL;
    assert_ok(create_shape(serial, ABUT_SHAPE_SHEET, segments, rings, 1, pose_at(0, 0, 0), &flat));
    const uint32_t count = abut_mesh_vertex_count(flat);
    vec *p = malloc(count * sizeof *p);
    assert_non_null(p);
    assert_ok(abut_mesh_get_positions(flat, p));
    for (uint32_t i = 0; i < count; i++)
        p[i] = bend(p[i], numbers);
    abut_mesh *mesh =
        test_mesh(serial, p, count, abut_mesh_indices(flat), abut_mesh_triangle_count(flat));
    free(p);
    abut_mesh_destroy(flat);
    return mesh;
}

/* A strip along x that turns in its middle, so that one end passes through the other. numbers:
 * turns, tilt, width, radius from 0 to 1. */
static inline vec bend_to_loop(vec p, const double *numbers) {
    const double s = 2 * p.x, radius = 0.12 + 0.05 * numbers[3]; /* from -1 to 1 */
    const double angle = 3.14159265 * numbers[0] * tanh(s / 0.4);
    const double away = fmax(fabs(s) - 0.6, 0) * 0.7, y = numbers[2] * p.y + numbers[1] * s;
    return v3(radius * sin(angle) + (s < 0 ? -away : away) * cos(angle), y,
              -radius * cos(angle) + (s < 0 ? -away : away) * sin(angle));
}

/* The corner beyond a diagonal is folded over by more than 180 degrees, so that it passes through
 * the rest of the sheet. numbers: distance of the diagonal from the centre, angle, radius. */
static inline vec bend_corner(vec p, const double *numbers) {
    const vec out = v3(0.70710678, 0.70710678, 0);
    const double beyond = v3_dot(p, out) - numbers[0], radius = numbers[2];
    if (beyond <= 0)
        return p;
    const double angle = fmin(beyond / radius, numbers[1]), rest = beyond - angle * radius;
    const vec foot = v3_along(p, -beyond, out);
    const double along = radius * sin(angle) + rest * cos(angle),
                 up = radius * (1 - cos(angle)) + rest * sin(angle);
    return v3_add(v3_along(foot, along, out), v3(0, 0, up));
}

/* Six waves; numbers: of each the wave vector, the phases and the amplitudes. */
static inline vec bend_by_waves(vec p, const double *numbers) {
    vec to = p;
    for (const double *n = numbers; n < numbers + 54; n += 9) {
        const double at = n[0] * p.x + n[1] * p.y;
        to = v3_add(to, v3(n[6] * sin(at + n[3]), n[7] * sin(at + n[4]), n[8] * sin(at + n[5])));
    }
    return to;
}

/* A tube of radius numbers[0] around the z axis; open at its seam. */
static inline vec bend_to_tube(vec p, const double *numbers) {
    const double angle = 6.0 * p.x;
    return v3(numbers[0] * cos(angle), numbers[0] * sin(angle), p.y);
}

typedef struct tangle {
    abut_cloth *c;
    abut_mesh *meshes[4];
    uint32_t mesh_count;
} tangle;

static inline void add_to_tangle(tangle *t, abut_mesh *mesh, bool is_body, double thickness) {
    uint32_t index;
    abut_cloth_material material = abut_cloth_material_default();
    material.bend = 1e-4;
    material.thickness = thickness;
    material.damping = 1;
    t->meshes[t->mesh_count++] = mesh;
    if (is_body)
        assert_ok(abut_cloth_add_body(t->c, mesh, NULL, &index));
    else
        assert_ok(abut_cloth_add_sheet(t->c, mesh, &material, &index));
}

static inline abut_mesh *make_capsule(double radius, double height, uint32_t segments,
                                      abut_pose at) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CAPSULE);
    abut_mesh *raw = NULL, *mesh = NULL;
    shape.radius = radius;
    shape.height = height;
    shape.segments = segments;
    shape.rings = segments;
    assert_ok(abut_shape_create(serial, &shape, &raw));
    assert_ok(abut_mesh_transform(raw, 1, at, &mesh));
    abut_mesh_destroy(raw);
    return mesh;
}

static inline void add_tangle(tangle *t, tangle_kind kind, test_random *random) {
    const uint32_t n = 12 + test_random_below(random, 10);
    abut_pose at = random_pose(random, 0.3);
    double numbers[54];
    switch (kind) {
    case TANGLE_SHEETS:
        add_to_tangle(t, make_shape_at(ABUT_SHAPE_SHEET, n, 1, abut_pose_identity()), false, 0);
        add_to_tangle(t, make_shape_at(ABUT_SHAPE_SHEET, n, 1, at), false, 0);
        break;
    case TANGLE_LOOP:
        numbers[0] = test_random_real(random, 0.75, 0.95);
        numbers[1] = test_random_real(random, -0.1, 0.1);
        numbers[2] = test_random_real(random, 0.15, 0.4);
        numbers[3] = test_random_real(random, 0, 1);
        add_to_tangle(t, make_bent_sheet(60, 8, bend_to_loop, numbers), false, 0);
        break;
    case TANGLE_FLAP:
        numbers[0] = test_random_real(random, 0, 0.2);
        numbers[1] = 3.14159265 * test_random_real(random, 1.15, 1.4);
        numbers[2] = test_random_real(random, 0.03, 0.08);
        add_to_tangle(t, make_bent_sheet(24, 24, bend_corner, numbers), false, 0);
        break;
    case TANGLE_CORNER: {
        const bool is_box = test_random_below(random, 2);
        at.translation = v3_along(at.translation, 1, v3(0.5, 0.5, 0));
        add_to_tangle(t, make_shape_at(ABUT_SHAPE_SHEET, n, 1, abut_pose_identity()), false, 0);
        add_to_tangle(t,
                      make_shape_at(is_box ? ABUT_SHAPE_BOX : ABUT_SHAPE_ICOSPHERE, is_box ? 4 : 5,
                                    is_box ? 0.6 : 0.7, at),
                      true, 0);
        break;
    }
    case TANGLE_LIMB: {
        at.rotation = (abut_quat){test_random_real(random, -0.3, 0.3),
                                  test_random_real(random, -0.3, 0.3), 0, 1};
        at.translation.z = test_random_real(random, 0, 0.3);
        at.translation.x *= 0.5;
        at.translation.y *= 0.5;
        add_to_tangle(t, make_shape_at(ABUT_SHAPE_SHEET, n + 6, 1, abut_pose_identity()), false, 0);
        add_to_tangle(t, make_capsule(test_random_real(random, 0.06, 0.15), 0.6, 14, at), true, 0);
        break;
    }
    case TANGLE_BULGE: {
        numbers[0] = test_random_real(random, 0.2, 0.24);
        abut_pose shift = pose_at(test_random_real(random, -0.06, 0.06),
                                  test_random_real(random, -0.06, 0.06), 0);
        shift.rotation = (abut_quat){test_random_real(random, -0.1, 0.1),
                                     test_random_real(random, -0.1, 0.1), 0, 1};
        add_to_tangle(t, make_bent_sheet(40, 24, bend_to_tube, numbers), false, 0);
        add_to_tangle(t, make_capsule(0.2, 1.4, 30, shift), true, 0);
        break;
    }
    case TANGLE_WAVES:
        for (int i = 0; i < 54; i++)
            numbers[i] = i % 9 < 3   ? test_random_real(random, -14, 14)
                         : i % 9 < 6 ? test_random_real(random, 0, 6.3)
                                     : test_random_real(random, -0.2, 0.2);
        add_to_tangle(t, make_bent_sheet(24, 24, bend_by_waves, numbers), false, 0);
        break;
    default:
        add_to_tangle(t, make_shape_at(ABUT_SHAPE_SHEET, n, 1, abut_pose_identity()), false, 0);
        for (int i = 0; i < 3; i++)
            add_to_tangle(t, make_shape_at(ABUT_SHAPE_SHEET, n, 1, random_pose(random, 0.3)), false,
                          0);
    }
}

static inline void destroy_tangle(tangle *t) {
    abut_cloth_destroy(t->c);
    for (uint32_t i = 0; i < t->mesh_count; i++)
        abut_mesh_destroy(t->meshes[i]);
    *t = (tangle){0};
}

/* A random tangle of a kind that has intersections. */
static inline tangle make_tangle(abut_context *context, tangle_kind kind, test_random *random) {
    for (;;) {
        tangle t = {0};
        abut_cloth_options options = abut_cloth_options_default();
        assert_ok(abut_cloth_create(context, &options, &t.c));
        add_tangle(&t, kind, random);
        if (!is_free(t.c))
            return t;
        destroy_tangle(&t);
    }
}

/* Two sheets that cross, one of which is pinned at some vertices, and a ball in it. */
typedef struct crossing {
    abut_cloth *c;
    abut_mesh *flat, *steep, *ball;
} crossing;

enum { FLAT_SEGMENTS = 6, FLAT_VERTICES = 49 };

static inline abut_status create_crossing(abut_context *context, abut_device *device, uint32_t pins,
                                          crossing *s) {
    const abut_pose steep = {{0.6, 0.1, 0.2, 0.7}, {0.05, 0.1, 0.2}};
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_attachment list[FLAT_VERTICES];
    uint32_t index, vertices[FLAT_VERTICES];
    options.gravity.z = -9;
    options.substeps = 4;
    options.body_may_lag = true;
    options.device = device;
    for (uint32_t i = 0; i < pins; i++)
        vertices[i] = i;
    abut_status status = create_shape(context, ABUT_SHAPE_SHEET, FLAT_SEGMENTS, FLAT_SEGMENTS, 1,
                                      abut_pose_identity(), &s->flat);
    NEXT(create_shape(context, ABUT_SHAPE_SHEET, 5, 5, 0.6, steep, &s->steep));
    NEXT(
        create_shape(context, ABUT_SHAPE_ICOSPHERE, 3, 3, 0.2, pose_at(-0.3, 0.3, -0.1), &s->ball));
    NEXT(abut_cloth_create(context, &options, &s->c));
    NEXT(abut_cloth_add_sheet(s->c, s->flat, NULL, &index));
    NEXT(abut_cloth_add_sheet(s->c, s->steep, NULL, &index));
    NEXT(abut_cloth_add_body(s->c, s->ball, NULL, &index));
    if (!status && pins) {
        NEXT(abut_cloth_bind(s->c, 0, ABUT_NONE, vertices, pins, 0, list));
        list[0].stiffness = 20; /* a spring */
        NEXT(abut_cloth_attach(s->c, 0, list, pins));
    }
    return status;
}

static inline void destroy_crossing(crossing *s) {
    abut_cloth_destroy(s->c);
    abut_mesh_destroy(s->flat);
    abut_mesh_destroy(s->steep);
    abut_mesh_destroy(s->ball);
    *s = (crossing){0};
}

#endif
