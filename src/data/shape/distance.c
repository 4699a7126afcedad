/* Exact signed distances to the ideal shapes.
 *
 * In exact arithmetic, each formula is the distance to the nearest surface point, inside and
 * outside. In doubles, the error is a few ulps of the largest number involved. hypot() avoids
 * overflow of squares. Solids of revolution are computed in the half-plane (rho, z), extruded
 * shapes in their plane and along the thickness.
 */
#include "shape/shape.h"

static double length3(double x, double y, double z) {
    return hypot(hypot(x, y), z);
}

/* Signed distance to the product of two sets, from the signed distances to each. If both are
 * positive, a corner is nearest; otherwise the larger one is the distance to the nearest face. */
static double product_distance(double a, double b) {
    if (a > 0 && b > 0)
        return hypot(a, b);
    return a > b ? a : b;
}

double abuti_segment_distance(abuti_vec2 p, abuti_vec2 a, abuti_vec2 b) {
    double length = hypot(b.x - a.x, b.y - a.y);
    double ux = (b.x - a.x) / length, uy = (b.y - a.y) / length;
    double along = (p.x - a.x) * ux + (p.y - a.y) * uy;
    if (along <= 0)
        return hypot(p.x - a.x, p.y - a.y);
    if (along >= length)
        return hypot(p.x - b.x, p.y - b.y);
    return fabs((p.x - a.x) * uy - (p.y - a.y) * ux);
}

/* The triangle (0,-h/2) (r,-h/2) (0,h/2) revolved about the axis, which is not part of the surface.
 */
static double cone_distance(const abut_shape *shape, double rho, double z) {
    double r = shape->radius, half = 0.5 * shape->height;
    abuti_vec2 p = {rho, z}, rim = {r, -half}, centre = {0, -half}, apex = {0, half};
    double base = abuti_segment_distance(p, centre, rim),
           slant = abuti_segment_distance(p, rim, apex);
    double nearest = base < slant ? base : slant;
    bool inside = z > -half && (z - half) * r + rho * shape->height < 0;
    return inside ? -nearest : nearest;
}

/* ---- stairs ---- */

static uint64_t clamp_step(double step, uint64_t steps) {
    return !(step > 0) ? 0 : step < (double)steps ? (uint64_t)step : steps - 1;
}

static double lesser(double a, double b) {
    return a < b ? a : b;
}

/* Distance in the (x, z) plane, in constant time for any number of steps. Apart from floor and
 * back, the nearest point is inside a tread (vertically above or below), inside a riser
 * (horizontally in front or behind), or a corner. Outer corners are equally spaced on a line, and
 * so are inner ones, so that the nearest one is found by projection; one more step on each side
 * covers rounding. All compared points lie on the surface, so the minimum is the distance. */
static double stairs_distance(const abut_shape *shape, double x, double z) {
    uint64_t n = shape->segments;
    double run = shape->extent.x / (double)n, rise = shape->extent.z / (double)n;
    double from_x = x + 0.5 * shape->extent.x, from_z = z + 0.5 * shape->extent.z;
    double slope_length = hypot(run, rise), ux = run / slope_length, uz = rise / slope_length;
    /* outer corner j is (j run, (j+1) rise) and inner corner j is (j run, j rise) */
    double inner = (from_x * ux + from_z * uz) / slope_length;
    double outer = inner - uz * (rise / slope_length);
    uint64_t guesses[4] = {clamp_step(from_x / run, n), clamp_step(from_z / rise, n),
                           clamp_step(inner + 0.5, n), clamp_step(outer + 0.5, n)};
    double half_x = 0.5 * shape->extent.x, half_z = 0.5 * shape->extent.z;
    abuti_vec2 p = {x, z}, front = {-half_x, -half_z}, back = {half_x, -half_z};
    abuti_vec2 top = {half_x, half_z};
    double nearest =
        lesser(abuti_segment_distance(p, front, back), abuti_segment_distance(p, back, top));
    for (int i = 0; i < 4; i++)
        for (uint64_t j = guesses[i] ? guesses[i] - 1 : 0; j < n && j <= guesses[i] + 1; j++) {
            abuti_vec2 foot = {abuti_lattice(shape->extent.x, j, n),
                               abuti_lattice(shape->extent.z, j, n)};
            abuti_vec2 nose = {foot.x, abuti_lattice(shape->extent.z, j + 1, n)};
            abuti_vec2 end = {abuti_lattice(shape->extent.x, j + 1, n), nose.y};
            nearest = lesser(nearest, abuti_segment_distance(p, foot, nose));
            nearest = lesser(nearest, abuti_segment_distance(p, nose, end));
        }
    uint64_t step = guesses[0]; /* rounding may have chosen the wrong side of a riser */
    if (x < abuti_lattice(shape->extent.x, step, n) && step > 0)
        step--;
    else if (x > abuti_lattice(shape->extent.x, step + 1, n) && step + 1 < n)
        step++;
    bool inside =
        fabs(x) < half_x && z > -half_z && z < abuti_lattice(shape->extent.z, step + 1, n);
    return inside ? -nearest : nearest;
}

/* ---- dispatch ---- */

double abuti_shape_signed_distance(const abut_shape *shape, vec3 point) {
    double x = fabs(point.x), y = fabs(point.y), z = fabs(point.z);
    double rho = hypot(x, y), half = 0.5 * shape->height;
    vec3 extent = v3_scale(shape->extent, 0.5);
    switch (shape->kind) {
    case ABUT_SHAPE_BOX:
        return product_distance(product_distance(x - extent.x, y - extent.y), z - extent.z);
    case ABUT_SHAPE_UVSPHERE:
    case ABUT_SHAPE_ICOSPHERE:
        return hypot(rho, z) - shape->radius;
    case ABUT_SHAPE_TORUS:
        return hypot(rho - shape->radius, z) - shape->radius2;
    case ABUT_SHAPE_CONE:
        return cone_distance(shape, rho, point.z);
    case ABUT_SHAPE_CYLINDER:
        return product_distance(rho - shape->radius, z - half);
    case ABUT_SHAPE_CAPSULE:
        return hypot(rho, z > half ? z - half : 0) - shape->radius;
    case ABUT_SHAPE_TUBE:
        rho =
            rho - shape->radius > shape->radius2 - rho ? rho - shape->radius : shape->radius2 - rho;
        return product_distance(rho, z - half);
    case ABUT_SHAPE_SHEET:
        return length3(x > extent.x ? x - extent.x : 0, y > extent.y ? y - extent.y : 0, z);
    case ABUT_SHAPE_STAIRS:
        return product_distance(stairs_distance(shape, point.x, point.z), y - extent.y);
    default:
        assert(shape->kind == ABUT_SHAPE_LETTER_E || shape->kind == ABUT_SHAPE_LETTER_G);
        return product_distance(abuti_letter_distance(shape->kind, shape->height,
                                                      (abuti_vec2){point.x, point.y}),
                                fabs(point.z) - 0.5 * shape->extent.z);
    }
}
