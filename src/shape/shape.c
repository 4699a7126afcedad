/* The public face of the generators: names, defaults, checks, dispatch. */
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

typedef struct kind_facts {
    const char *name;
    abut_status (*build)(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
    unsigned sizes; /* the fields above that it reads */
    vec3 extent;    /* defaults, also where not read */
    double radius, radius2, height;
    uint32_t segments, rings;             /* defaults; rings 0 = not read */
    uint32_t least_segments, least_rings; /* to enclose a volume */
} kind_facts;

static const kind_facts kinds[ABUT_SHAPE_COUNT] = {
    [ABUT_SHAPE_BOX] = {"box", abuti_build_box, EXTENT, {1, 1, 1}, 0, 0, 0, 8, 0, 1, 0},
    [ABUT_SHAPE_UVSPHERE] =
        {"uvsphere", abuti_build_turned, RADIUS, {0, 0, 0}, 0.5, 0, 0, 32, 16, 3, 2},
    [ABUT_SHAPE_ICOSPHERE] =
        {"icosphere", abuti_build_icosphere, RADIUS, {0, 0, 0}, 0.5, 0, 0, 8, 0, 1, 0},
    [ABUT_SHAPE_TORUS] =
        {"torus", abuti_build_turned, RADIUS | RADIUS2, {0, 0, 0}, 0.5, 0.2, 0, 48, 24, 3, 3},
    [ABUT_SHAPE_CONE] =
        {"cone", abuti_build_turned, RADIUS | HEIGHT, {0, 0, 0}, 0.5, 0, 1, 32, 8, 3, 1},
    [ABUT_SHAPE_CYLINDER] =
        {"cylinder", abuti_build_turned, RADIUS | HEIGHT, {0, 0, 0}, 0.5, 0, 1, 32, 8, 3, 1},
    [ABUT_SHAPE_CAPSULE] =
        {"capsule", abuti_build_turned, RADIUS | HEIGHT, {0, 0, 0}, 0.3, 0, 0.8, 32, 8, 3, 1},
    [ABUT_SHAPE_TUBE] = {"tube",
                         abuti_build_turned,
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
    const kind_facts *facts = &kinds[kind];
    return (abut_shape){.size = sizeof(abut_shape),
                        .kind = kind,
                        .extent = facts->extent,
                        .radius = facts->radius,
                        .radius2 = facts->radius2,
                        .height = facts->height,
                        .segments = facts->segments,
                        .rings = facts->rings};
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
                      "abut_shape_kind_from_name: no shape is called '%s'; there are %s", shown,
                      known);
}

/* ---- checks ---- */

/* Between these, products of three sizes and squares of the smallest edges stay normal doubles. */
#define SIZE_LEAST ABUT_MESH_SIZE_MIN
#define SIZE_MOST ABUT_COORDINATE_MAX
/* Thickness of a ring or tube, as a part of its radius: leaves it 7 digits. */
#define WALL_LEAST 1e-9

/* Puts the default where a size is zero; refuses what is not a size. */
static abut_status settle_size(const char *function, const char *name, const char *field,
                               double fallback, double *size) {
    if (*size == 0)
        *size = fallback;
    if (*size >= SIZE_LEAST && *size <= SIZE_MOST)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s of the %s is %g; sizes go from %g to %g, and 0 means the default",
                      function, field, name, *size, SIZE_LEAST, SIZE_MOST);
}

static abut_status settle_count(const char *function, const char *name, const char *field,
                                uint32_t fallback, uint32_t least, uint32_t *count) {
    if (!*count)
        *count = fallback;
    if (*count >= least)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s of the %s is %u; at least %u are needed",
                      function, field, name, *count, least);
}

static abut_status settle_sizes(const char *function, const kind_facts *facts, abut_shape *shape) {
    const struct {
        unsigned flag;
        const char *field;
        double fallback, *size;
    } sizes[] = {
        {EXTENT_X, "extent.x", facts->extent.x, &shape->extent.x},
        {EXTENT_Y, "extent.y", facts->extent.y, &shape->extent.y},
        {EXTENT_Z, "extent.z", facts->extent.z, &shape->extent.z},
        {RADIUS, "radius", facts->radius, &shape->radius},
        {RADIUS2, "radius2", facts->radius2, &shape->radius2},
        {HEIGHT, "height", facts->height, &shape->height},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (!(facts->sizes & sizes[i].flag))
            continue;
        abut_status status =
            settle_size(function, facts->name, sizes[i].field, sizes[i].fallback, sizes[i].size);
        if (status)
            return status;
    }
    if (facts->sizes & RADIUS2 && !(shape->radius2 < shape->radius))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: radius2 of the %s is %g; it must be below radius, which is %g",
                          function, facts->name, shape->radius2, shape->radius);
    double wall = shape->kind == ABUT_SHAPE_TORUS ? shape->radius2 : shape->radius - shape->radius2;
    if (facts->sizes & RADIUS2 && !(wall >= WALL_LEAST * shape->radius))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: the %s is %g thick at a radius of %g; below %g of the radius, double "
            "precision cannot hold it",
            function, facts->name, wall, shape->radius, WALL_LEAST);
    return ABUT_OK;
}

/* Copies the caller's description, fills in defaults and refuses what cannot be built. */
static abut_status settle(const char *function, const abut_shape *given, abut_shape *shape) {
    if (!given)
        return abuti_null(function, "shape");
    *shape = (abut_shape){.size = sizeof *shape};
    abut_status status = abuti_options_read(shape, sizeof *shape, given, function);
    if (status)
        return status;
    if (!is_kind(shape->kind))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there is no shape of kind %u", function,
                          (unsigned)shape->kind);
    const kind_facts *facts = &kinds[shape->kind];
    status = settle_sizes(function, facts, shape);
    if (!status)
        status = settle_count(function, facts->name, "segments", facts->segments,
                              facts->least_segments, &shape->segments);
    if (!status && facts->rings)
        status = settle_count(function, facts->name, "rings", facts->rings, facts->least_rings,
                              &shape->rings);
    return status;
}

/* ---- doing it ---- */

abut_status abut_shape_create(abut_context *context, const abut_shape *shape, abut_mesh **mesh) {
    abut_shape settled;
    if (!mesh)
        return abuti_null(__func__, "mesh");
    abut_status status = settle("abut_shape_create", shape, &settled);
    return status ? status : kinds[settled.kind].build(abuti_context_of(context), &settled, mesh);
}

abut_status abut_shape_distance(const abut_shape *shape, abut_vec3 point, double *distance) {
    abut_shape settled;
    if (!distance)
        return abuti_null(__func__, "distance");
    abut_status status = settle("abut_shape_distance", shape, &settled);
    if (status)
        return status;
    if (!(v3_max_abs(point) <= ABUT_COORDINATE_MAX) || isnan(point.x + point.y + point.z))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_shape_distance: the point is (%g, %g, %g); coordinates must be "
                          "finite and at most %g in magnitude",
                          point.x, point.y, point.z, ABUT_COORDINATE_MAX);
    if (settled.kind == ABUT_SHAPE_TEAPOT || settled.kind == ABUT_SHAPE_TEAPOT_SOLID)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "abut_shape_distance: the %s has no exact distance function; measure the "
                          "distance to its mesh instead",
                          kinds[settled.kind].name);
    *distance = abuti_measure(&settled, point);
    return ABUT_OK;
}
