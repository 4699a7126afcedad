/* Cameras of views: axes, scale and range of depths. */
#include "raster/raster.h"

#include <math.h>

abut_status abuti_raster_view_read(const abut_raster_view *theirs, const char *what,
                                   abut_raster_view *ours) {
    *ours = abut_raster_view_default();
    return abuti_options_read(ours, sizeof *ours, theirs, what);
}

static abut_status check_view(const char *function, const abut_raster_view *v) {
    if (!abuti_is_position(v->direction) || !abuti_is_position(v->up) ||
        !abuti_is_position(v->eye) || !abuti_is_position(v->region.lo) ||
        !abuti_is_position(v->region.hi))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a vector of the view is not finite, or exceeds 1e90", function);
    if (v->region.lo.x > v->region.hi.x || v->region.lo.y > v->region.hi.y ||
        v->region.lo.z > v->region.hi.z)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the region of the view has lo > hi", function);
    if (v->width > ABUT_RASTER_MAX || v->height > ABUT_RASTER_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: the view has %u x %u pixels; each must be at most %d", function,
                          v->width, v->height, ABUT_RASTER_MAX);
    if (!(v->angle >= 0 && v->angle < 3.1))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the angle of the view is %g; it must be from 0 to 3.1 radians",
                          function, v->angle);
    if (!(v->near_distance >= 0 && v->near_distance <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the near_distance of the view is %g; it must be from 0 to 1e90",
                          function, v->near_distance);
    return ABUT_OK;
}

static mat3 compute_axes(const abut_raster_view *v) {
    vec3 forward = v3_normalise(v->direction), up = v3_normalise(v->up);
    if (v3_max_abs(forward) == 0)
        forward = v3(0, 0, -1);
    if (v3_max_abs(up) == 0)
        up = v3(0, 0, 1);
    vec3 right = v3_cross(forward, up);
    if (v3_length(right) < 1e-6) {
        up = fabs(forward.y) < 0.9 ? v3(0, 1, 0) : v3(0, 0, 1);
        right = v3_cross(forward, up);
    }
    right = v3_normalise(right);
    vec3 down = v3_cross(forward, right);
    return (mat3){{right, down, forward}};
}

/* Smaller extents count as 0. With larger scales of pixels or depths, points up to
 * ABUT_COORDINATE_MAX would become infinite. */
#define EXTENT_MIN 1e-190

static uint32_t round_up_pixels(double pixels) {
    return !(pixels >= 1) ? 1 : pixels > 2e9 ? 2000000000u : (uint32_t)ceil(pixels);
}

void abuti_raster_size(raster_lens *lens, uint32_t width, uint32_t height, uint32_t bits) {
    uint32_t side = width > height ? width : height, whole = 2;
    while (side > 1u << (whole - 2))
        whole++;
    lens->width = width;
    lens->height = height;
    lens->middle_x = 0.5 * width;
    lens->middle_y = 0.5 * height;
    lens->guard = (double)(1u << whole);
    lens->shift = bits - whole;
    if (lens->shift > 20) /* finer than the error of any projection */
        lens->shift = 20;
}

static abut_status fit_orthographic(const char *function, const abut_raster_view *v, box3 region,
                                    uint32_t resolution, raster_camera *c) {
    vec3 half = v3_scale(v3_sub(region.hi, region.lo), 0.5);
    double reach[3];
    for (int k = 0; k < 3; k++) {
        reach[k] = v3_dot(v3_abs(c->axes.row[k]), half);
        reach[k] = reach[k] < EXTENT_MIN ? 0 : reach[k];
    }
    const double largest = v3_max_abs(half);
    if (largest > 0 && largest < EXTENT_MIN)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the region of a view is %g long; it must be a point, or at least %g "
                          "long",
                          function, 2 * largest, 2 * EXTENT_MIN);
    double widest = real_max(reach[0], reach[1]);
    uint32_t width = v->width, height = v->height;
    if (!width && !height) {
        width = reach[0] >= reach[1] ? resolution : 0;
        height = reach[0] >= reach[1] ? 0 : resolution;
    }
    c->scale = DBL_MAX;
    if (width && reach[0] > 0)
        c->scale = real_min(c->scale, width / (2 * reach[0]));
    if (height && reach[1] > 0)
        c->scale = real_min(c->scale, height / (2 * reach[1]));
    if (c->scale == DBL_MAX) /* the region is a line or a point on the image */
        c->scale = widest > 0 ? (width ? width : height) / (2 * widest) : 1;
    width = width ? width : round_up_pixels(2 * reach[0] * c->scale);
    height = height ? height : round_up_pixels(2 * reach[1] * c->scale);
    if (width > ABUT_RASTER_MAX || height > ABUT_RASTER_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: the view needs %u x %u pixels; each must be at most %d", function,
                          width, height, ABUT_RASTER_MAX);
    c->origin = box_centre(region);
    c->begin = reach[2] * (1 + 1e-9) + 1e-9 * widest;
    if (!(c->begin > 0))
        c->begin = 1;
    c->lens = (raster_lens){.depth = RASTER_DEPTHS / (2 * c->begin)};
    abuti_raster_size(&c->lens, width, height, RASTER_BITS);
    return ABUT_OK;
}

static abut_status fit_perspective(const char *function, const abut_raster_view *v, box3 region,
                                   uint32_t resolution, raster_camera *c) {
    uint32_t width = v->width, height = v->height;
    if (!width && !height)
        width = height = resolution;
    width = width ? width : height;
    height = height ? height : width;
    vec3 forward = c->axes.row[2], half = v3_scale(v3_sub(region.hi, region.lo), 0.5);
    double far =
        v3_dot(v3_sub(box_centre(region), v->eye), forward) + v3_dot(v3_abs(forward), half);
    double near = v->near_distance > 0 ? v->near_distance : far / 1000;
    if (!(far > near))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the region ends at a distance of %g from the eye, but rays begin at "
                          "%g, so that the view sees nothing of it",
                          function, far, near);
    if (!(near >= EXTENT_MIN))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: rays of a view begin at a distance of %g from the eye; it must be at least %g",
            function, near, EXTENT_MIN);
    double angle = v->angle > 0 ? v->angle : 1;
    c->scale = 0.5 * height / tan(0.5 * angle);
    c->origin = v->eye;
    c->begin = 0;
    c->lens =
        (raster_lens){.depth = RASTER_DEPTHS * (1 - 1e-9) / (1 / near - 1 / far), .near = near};
    abuti_raster_size(&c->lens, width, height, RASTER_BITS);
    return ABUT_OK;
}

abut_status abuti_raster_camera(const char *function, const abut_raster_view *view, box3 region,
                                uint32_t resolution, raster_camera *camera) {
    abut_status status = check_view(function, view);
    if (status)
        return status;
    vec3 span = v3_sub(view->region.hi, view->region.lo);
    if (v3_max_abs(span) > 0)
        region = view->region;
    camera->axes = compute_axes(view);
    return view->perspective ? fit_perspective(function, view, region, resolution, camera)
                             : fit_orthographic(function, view, region, resolution, camera);
}

/* Squares of depths and of their differences are finite floats, as in fields and maps. */
#define DEPTH_MIN 1e-30
#define DEPTH_MAX 1e30

abut_status abuti_raster_check_depths(const char *function, const raster_camera *c) {
    const double end = raster_distance(c, RASTER_DEPTHS * (1 - 1e-6)); /* less than infinity */
    if (end >= DEPTH_MIN && end <= DEPTH_MAX)
        return ABUT_OK;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "%s: depths of the view reach %g; the largest must be from %g to %g, because depths are "
        "floats; use another unit of length",
        function, end, DEPTH_MIN, DEPTH_MAX);
}

vec3 abuti_raster_point(const raster_camera *c, double x, double y, double z) {
    const raster_lens *l = &c->lens;
    double right = (x - l->middle_x) / c->scale, down = (y - l->middle_y) / c->scale, forward;
    if (l->near > 0) {
        forward = raster_distance(c, z) + l->near;
        right *= forward;
        down *= forward;
    } else {
        forward = raster_distance(c, z) - c->begin;
    }
    vec3 p = v3_along(c->origin, right, c->axes.row[0]);
    return v3_along(v3_along(p, down, c->axes.row[1]), forward, c->axes.row[2]);
}
