/* Public functions of the shape module: names, defaults, validation, dispatch. */
#include "shape/shape.h"

#include <string.h>

/* Which fields of abut_shape a kind reads. */
enum {
    EXTENT_X = 1,
    EXTENT_Y = 2,
    EXTENT_Z = 4,
    RADIUS = 8,
    RADIUS2 = 16,
    HEIGHT = 32,
    EXTENT = EXTENT_X | EXTENT_Y | EXTENT_Z
};

typedef struct kind_traits {
    const char *name;
    abut_status (*build)(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
    unsigned sizes; /* fields that it reads */
    vec3 extent;    /* defaults, also of fields that it does not read */
    double radius, radius2, height;
    uint32_t segments, rings;         /* defaults; rings 0 = not read */
    uint32_t min_segments, min_rings; /* minimum that encloses a volume */
} kind_traits;

static const kind_traits kinds[ABUT_SHAPE_COUNT] = {
    [ABUT_SHAPE_BOX] = {"box", abuti_build_box, EXTENT, {1, 1, 1}, 0, 0, 0, 8, 0, 1, 0},
    [ABUT_SHAPE_UVSPHERE] =
        {"uvsphere", abuti_build_revolved, RADIUS, {0, 0, 0}, 0.5, 0, 0, 32, 16, 3, 2},
    [ABUT_SHAPE_ICOSPHERE] =
        {"icosphere", abuti_build_icosphere, RADIUS, {0, 0, 0}, 0.5, 0, 0, 8, 0, 1, 0},
    [ABUT_SHAPE_TORUS] =
        {"torus", abuti_build_revolved, RADIUS | RADIUS2, {0, 0, 0}, 0.5, 0.2, 0, 48, 24, 3, 3},
    [ABUT_SHAPE_CONE] =
        {"cone", abuti_build_revolved, RADIUS | HEIGHT, {0, 0, 0}, 0.5, 0, 1, 32, 8, 3, 1},
    [ABUT_SHAPE_CYLINDER] =
        {"cylinder", abuti_build_revolved, RADIUS | HEIGHT, {0, 0, 0}, 0.5, 0, 1, 32, 8, 3, 1},
    [ABUT_SHAPE_CAPSULE] =
        {"capsule", abuti_build_revolved, RADIUS | HEIGHT, {0, 0, 0}, 0.3, 0, 0.8, 32, 8, 3, 1},
    [ABUT_SHAPE_TUBE] = {"tube",
                         abuti_build_revolved,
                         RADIUS | RADIUS2 | HEIGHT,
                         {0, 0, 0},
                         0.5,
                         0.35,
                         1,
                         32,
                         8,
                         3,
                         1},
    [ABUT_SHAPE_SHEET] =
        {"sheet", abuti_build_sheet, EXTENT_X | EXTENT_Y, {1, 1, 0}, 0, 0, 0, 32, 32, 1, 1},
    [ABUT_SHAPE_STAIRS] = {"stairs", abuti_build_stairs, EXTENT, {1.6, 1, 1}, 0, 0, 0, 11, 8, 1, 1},
    [ABUT_SHAPE_LETTER_E] =
        {"letter-e", abuti_build_letter, EXTENT_Z | HEIGHT, {0, 0, 0.2}, 0, 0, 1, 16, 0, 1, 0},
    [ABUT_SHAPE_LETTER_G] =
        {"letter-g", abuti_build_letter, EXTENT_Z | HEIGHT, {0, 0, 0.2}, 0, 0, 1, 16, 0, 1, 0},
    [ABUT_SHAPE_TEAPOT] = {"teapot", abuti_build_teapot, 0, {0, 0, 0}, 0, 0, 0, 10, 0, 2, 0},
    [ABUT_SHAPE_TEAPOT_SOLID] =
        {"teapot-solid", abuti_build_teapot_solid, 0, {0, 0, 0}, 0, 0, 0, 10, 0, 2, 0},
};

static bool is_kind(abut_shape_kind kind) {
    return (unsigned)kind < ABUT_SHAPE_COUNT;
}

abut_shape abut_shape_default(abut_shape_kind kind) {
    if (!is_kind(kind))
        kind = ABUT_SHAPE_BOX;
    const kind_traits *traits = &kinds[kind];
    return (abut_shape){.size = sizeof(abut_shape),
                        .kind = kind,
                        .extent = traits->extent,
                        .radius = traits->radius,
                        .radius2 = traits->radius2,
                        .height = traits->height,
                        .segments = traits->segments,
                        .rings = traits->rings};
}

const char *abut_shape_kind_name(abut_shape_kind kind) {
    return is_kind(kind) ? kinds[kind].name : NULL;
}

abut_status abut_shape_kind_from_name(const char *name, abut_shape_kind *kind) {
    if (!name || !kind)
        return abuti_null(__func__, name ? "kind" : "name");
    char known[256] = "";
    for (int i = 0; i < ABUT_SHAPE_COUNT; i++) {
        if (!strcmp(name, kinds[i].name)) {
            *kind = (abut_shape_kind)i;
            return ABUT_OK;
        }
        strcat(strcat(known, i ? ", " : ""), kinds[i].name);
    }
    char shown[64];
    abuti_escape(name, shown, sizeof shown);
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "abut_shape_kind_from_name: there is no shape '%s'; it must be one of %s",
                      shown, known);
}

/* ---- validation ---- */

/* Within these limits, products of three sizes and squares of the shortest edges are normal
 * doubles. */
#define SIZE_MIN ABUT_MESH_SIZE_MIN
#define MAX_SIZE ABUT_COORDINATE_MAX
/* Minimum thickness of a ring or tube relative to its radius: leaves 7 digits. */
#define WALL_MIN 1e-9

/* Replaces 0 by the default and rejects invalid sizes. */
static abut_status resolve_size(const char *function, const char *name, const char *field,
                                double fallback, double *size) {
    if (*size == 0)
        *size = fallback;
    if (*size >= SIZE_MIN && *size <= MAX_SIZE)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s of the %s is %g; it must be from %g to %g, or 0 for the default",
                      function, field, name, *size, SIZE_MIN, MAX_SIZE);
}

static abut_status resolve_count(const char *function, const char *name, const char *field,
                                 uint32_t fallback, uint32_t least, uint32_t *count) {
    if (!*count)
        *count = fallback;
    if (*count >= least)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s of the %s is %u; it must be at least %u, or 0 for the default",
                      function, field, name, *count, least);
}

static abut_status resolve_sizes(const char *function, const kind_traits *traits,
                                 abut_shape *shape) {
    const struct {
        unsigned flag;
        const char *field;
        double fallback, *size;
    } sizes[] = {
        {EXTENT_X, "extent.x", traits->extent.x, &shape->extent.x},
        {EXTENT_Y, "extent.y", traits->extent.y, &shape->extent.y},
        {EXTENT_Z, "extent.z", traits->extent.z, &shape->extent.z},
        {RADIUS, "radius", traits->radius, &shape->radius},
        {RADIUS2, "radius2", traits->radius2, &shape->radius2},
        {HEIGHT, "height", traits->height, &shape->height},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (!(traits->sizes & sizes[i].flag))
            continue;
        abut_status status =
            resolve_size(function, traits->name, sizes[i].field, sizes[i].fallback, sizes[i].size);
        if (status)
            return status;
    }
    if (traits->sizes & RADIUS2 && !(shape->radius2 < shape->radius))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: radius2 of the %s is %g; it must be less than radius, which is %g",
                          function, traits->name, shape->radius2, shape->radius);
    double wall = shape->kind == ABUT_SHAPE_TORUS ? shape->radius2 : shape->radius - shape->radius2;
    if (traits->sizes & RADIUS2 && !(wall >= WALL_MIN * shape->radius))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: the %s is %g thick at a radius of %g; the thickness must be at least %g of the "
            "radius for double precision",
            function, traits->name, wall, shape->radius, WALL_MIN);
    return ABUT_OK;
}

/* Copies the description, fills in defaults and rejects invalid values. */
static abut_status resolve_shape(const char *function, const abut_shape *given, abut_shape *shape) {
    if (!given)
        return abuti_null(function, "shape");
    *shape = (abut_shape){.size = sizeof *shape};
    abut_status status = abuti_options_read(shape, sizeof *shape, given, function);
    if (status)
        return status;
    if (!is_kind(shape->kind))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: kind is %u; it must be a value of abut_shape_kind", function,
                          (unsigned)shape->kind);
    const kind_traits *traits = &kinds[shape->kind];
    status = resolve_sizes(function, traits, shape);
    if (!status)
        status = resolve_count(function, traits->name, "segments", traits->segments,
                               traits->min_segments, &shape->segments);
    if (!status && traits->rings)
        status = resolve_count(function, traits->name, "rings", traits->rings, traits->min_rings,
                               &shape->rings);
    return status;
}

/* ---- public functions ---- */

abut_status abut_shape_create(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    abut_shape resolved;
    if (!mesh)
        return abuti_null(__func__, "mesh");
    abut_status status = resolve_shape("abut_shape_create", shape, &resolved);
    return status ? status : kinds[resolved.kind].build(abuti_context_of(context), &resolved, mesh);
}

abut_status abut_shape_distance(const abut_shape *shape, abut_vec3 point, double *distance) {
    abut_shape resolved;
    if (!distance)
        return abuti_null(__func__, "distance");
    abut_status status = resolve_shape("abut_shape_distance", shape, &resolved);
    if (status)
        return status;
    if (!(v3_max_abs(point) <= ABUT_COORDINATE_MAX) || isnan(point.x + point.y + point.z))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_shape_distance: point is (%g, %g, %g); coordinates must be "
                          "finite and at most %g in magnitude",
                          point.x, point.y, point.z, ABUT_COORDINATE_MAX);
    if (resolved.kind == ABUT_SHAPE_TEAPOT || resolved.kind == ABUT_SHAPE_TEAPOT_SOLID)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "abut_shape_distance: the %s has no exact distance function; compute the "
                          "distance to its mesh instead",
                          kinds[resolved.kind].name);
    *distance = abuti_shape_signed_distance(&resolved, point);
    return ABUT_OK;
}
