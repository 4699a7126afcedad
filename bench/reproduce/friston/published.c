#include "published.h"

#include <math.h>

#define PERPENDICULAR 0.985 /* cosine of normal and axis above which triangles are culled */

static double dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* A corner in the space of the field: across and along the axis, and in columns and rows. */
typedef struct corner {
    double x, y, z, r, column, row;
} corner;

static corner corner_of(const abut_radial_view *v, abut_vec3 p) {
    const abut_vec3 d = {p.x - v->begin.x, p.y - v->begin.y, p.z - v->begin.z};
    corner c = {dot(d, v->normal), dot(d, v->tangent), dot(d, v->axis), 0, 0, 0};
    c.r = hypot(c.x, c.y);
    c.column = atan2(c.y, c.x) * v->around / (2 * acos(-1));
    c.row = c.z / v->step;
    return c;
}

/* Twice the area of the triangle of two corners and a sample, in columns and rows. */
static double left_of(const corner *a, const corner *b, double column, double row) {
    return (b->column - a->column) * (row - a->row) - (b->row - a->row) * (column - a->column);
}

static void draw_triangle(const abut_radial_view *v, const corner c[3], double *radii) {
    const corner *a = &c[0], *b = &c[1], *d = &c[2];
    const double ux = b->x - a->x, uy = b->y - a->y, uz = b->z - a->z;
    const double wx = d->x - a->x, wy = d->y - a->y, wz = d->z - a->z;
    const double nx = uy * wz - uz * wy, ny = uz * wx - ux * wz, nz = ux * wy - uy * wx;
    if (!(fabs(nz) < PERPENDICULAR * sqrt(nx * nx + ny * ny + nz * nz)))
        return;
    const double nearest = fmin(a->r, fmin(b->r, d->r)), farthest = fmax(a->r, fmax(b->r, d->r));
    const double first = ceil(fmin(a->column, fmin(b->column, d->column)));
    const double last = floor(fmax(a->column, fmax(b->column, d->column)));
    const double low = fmax(0, ceil(fmin(a->row, fmin(b->row, d->row))));
    const double high = fmin(v->along - 1.0, floor(fmax(a->row, fmax(b->row, d->row))));
    for (double j = low; j <= high; j++)
        for (double i = first; i <= last; i++) {
            if (left_of(a, b, i, j) < 0 || left_of(b, d, i, j) < 0 || left_of(d, a, i, j) < 0)
                continue;
            const double angle = 2 * acos(-1) * i / v->around;
            const double facing = nx * cos(angle) + ny * sin(angle);
            if (!(facing > 0))
                continue;
            const double along = nx * a->x + ny * a->y + nz * (a->z - j * v->step);
            const double radius = fmin(fmax(along / facing, nearest), farthest);
            const uint32_t column = (uint32_t)(i + 2.0 * v->around) % v->around;
            double *sample = &radii[(uint32_t)j * v->around + column];
            *sample = fmin(*sample, radius);
        }
}

void friston_samples(const abut_radial_view *v, const abut_vec3 *positions, const uint32_t *indices,
                     uint32_t triangle_count, double *radii) {
    for (uint32_t i = 0; i < v->around * v->along; i++)
        radii[i] = INFINITY;
    for (uint32_t t = 0; t < triangle_count; t++) {
        corner c[3];
        double turn = 0; /* of the corners about the axis */
        for (int k = 0; k < 3; k++)
            c[k] = corner_of(v, positions[indices[3 * t + (uint32_t)k]]);
        for (int k = 0; k < 3; k++)
            turn += remainder(c[(k + 1) % 3].column - c[k].column, v->around);
        for (int k = 1; k < 3; k++) /* to the same side of the seam as the first corner */
            c[k].column = c[0].column + remainder(c[k].column - c[0].column, v->around);
        if (fabs(turn) < 0.5 * v->around) /* otherwise it is around the axis */
            draw_triangle(v, c, radii);
    }
}

abut_status friston_time(abut_radial *radial, abut_vec3 from, abut_vec3 to, uint32_t steps,
                         double *time) {
    *time = INFINITY;
    for (uint32_t k = 0; k <= steps && *time > 1; k++) {
        const double t = (double)k / steps;
        const abut_vec3 at = {from.x + t * (to.x - from.x), from.y + t * (to.y - from.y),
                              from.z + t * (to.z - from.z)};
        abut_radial_answer answer;
        abut_status status =
            abut_radial_evaluate(radial, abut_array_host(&at), 1, 0, abut_array_host(&answer));
        if (status)
            return status;
        *time = answer.distance < 0 ? t : INFINITY;
    }
    return ABUT_OK;
}
