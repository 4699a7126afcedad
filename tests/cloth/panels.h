/* Two flat panels that seams make a tube around a cylinder. */
#ifndef TEST_CLOTH_PANELS_H
#define TEST_CLOTH_PANELS_H

#include "fixture.h"

enum { GRID = 10, SIDE = GRID + 1 }; /* vertices of a panel are in rows of SIDE */

typedef struct panels {
    abut_mesh *front, *back, *body;
    abut_cloth *c;
} panels;

/* A square in the plane of x and z, 1 m wide. */
static inline abut_status create_panel(abut_context *context, double y, abut_mesh **mesh) {
    const abut_pose upright = {{sqrt(0.5), 0, 0, sqrt(0.5)}, {0, y, 0}};
    return create_shape(context, ABUT_SHAPE_SHEET, GRID, GRID, 1, upright, mesh);
}

/* Two panels on both sides of a vertical cylinder, whose circumference is `round` m. */
static inline abut_status create_panels(abut_context *context, abut_device *device, double gravity,
                                        double round, panels *p) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material m = abut_cloth_material_default();
    const double radius = round / 6.2832, wide = 2 * radius;
    uint32_t index;
    options.gravity.z = gravity;
    options.device = device;
    m.friction = 0.5;
    m.bend = 1e-5;
    m.damping = 0.5;
    abut_status status = create_panel(context, -radius - 0.1, &p->front);
    NEXT(create_panel(context, radius + 0.1, &p->back));
    if (round > 0) {
        NEXT(create_shape(context, ABUT_SHAPE_CYLINDER, 24, 6, wide, pose_at(0, 0, 0), &p->body));
    }
    NEXT(abut_cloth_create(context, &options, &p->c));
    NEXT(abut_cloth_add_sheet(p->c, p->front, &m, &index));
    NEXT(abut_cloth_add_sheet(p->c, p->back, &m, &index));
    if (round > 0)
        NEXT(add_body(p->c, p->body));
    if (!status)
        p->c->grain = 32;
    return status;
}

static inline void destroy_panels(panels *p) {
    abut_cloth_destroy(p->c);
    abut_mesh_destroy(p->front);
    abut_mesh_destroy(p->back);
    abut_mesh_destroy(p->body);
}

/* The vertical edges of both panels. */
static inline void list_sides(abut_cloth_seam seams[2 * SIDE]) {
    for (uint32_t i = 0; i < 2 * SIDE; i++) {
        const uint32_t v = i / 2 * SIDE + (i % 2 ? GRID : 0);
        seams[i] = (abut_cloth_seam){.sheet_a = 0, .vertex_a = v, .sheet_b = 1, .vertex_b = v};
    }
}

static inline abut_status sew_sides(abut_cloth *c) {
    abut_cloth_seam seams[2 * SIDE];
    list_sides(seams);
    return abut_cloth_sew(c, seams, 2 * SIDE);
}

#endif
