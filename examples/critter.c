/* Unites the fields of several solids, and extracts a mesh. */
#include "critter.h"

abut_status critter_create(abut_context *context, double detail, abut_mesh **mesh) {
    static const struct {
        abut_shape_kind kind;
        double radius, height;
        abut_pose pose;
    } parts[] = {
        {ABUT_SHAPE_ICOSPHERE, 1.0, 0, {{0, 0, 0, 1}, {0, 0, 0}}},
        {ABUT_SHAPE_ICOSPHERE, 0.6, 0, {{0, 0, 0, 1}, {0.9, 0, 0.9}}},
        {ABUT_SHAPE_CAPSULE, 0.2, 0.9, {{0.13, -0.22, 0, 0.967}, {0.6, 0.35, 1.75}}},
        {ABUT_SHAPE_CAPSULE, 0.2, 0.9, {{-0.13, -0.22, 0, 0.967}, {0.6, -0.35, 1.75}}},
        {ABUT_SHAPE_ICOSPHERE, 0.35, 0, {{0, 0, 0, 1}, {-1.05, 0, -0.2}}},
    };
    abut_field_options options = abut_field_options_default();
    uint32_t more = detail < 1; /* so that rounding cuts nothing off */
    options.grid = (abut_grid){{-1.7, -1.4, -1.4},
                               0.09 / detail,
                               {(uint32_t)(38 * detail) + more, (uint32_t)(32 * detail) + more,
                                (uint32_t)(46 * detail) + more}};
    abut_field *all = NULL;
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
        abut_shape shape = abut_shape_default(parts[i].kind);
        abut_mesh *raw = NULL, *placed = NULL;
        abut_field *field = NULL, *joined = NULL;
        shape.radius = parts[i].radius;
        shape.height = parts[i].height;
        shape.segments = (uint32_t)(shape.segments * (detail > 1 ? detail : 1));
        shape.rings = (uint32_t)(shape.rings * (detail > 1 ? detail : 1));
        status = abut_shape_create(context, &shape, &raw);
        if (!status)
            status = abut_mesh_transform(raw, 1, parts[i].pose, &placed);
        if (!status)
            status = abut_field_create(placed, &options, &field);
        if (!status && all)
            status = abut_field_combine(all, field, ABUT_COMBINATION_UNION, &joined);
        else
            joined = field;
        if (joined != field)
            abut_field_destroy(field);
        abut_field_destroy(all);
        all = joined;
        abut_mesh_destroy(placed);
        abut_mesh_destroy(raw);
    }
    if (!status)
        status = abut_field_isosurface(all, 0, mesh);
    abut_field_destroy(all);
    return status;
}
