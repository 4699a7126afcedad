#include "cells.h"

#include <math.h>

abut_status sundholm_ray(const abut_collider *body, const abut_ray *ray, double limit,
                         sundholm_hit *hit) {
    const abut_field *field = body->shape.body.field;
    abut_field_info info = abut_field_info_default();
    double m[12];
    abut_status status = abut_field_get_info(field, &info);
    if (!status)
        status = abut_pose_to_matrix(&body->pose, m);
    if (status)
        return status;
    const abut_grid *g = &info.grid;
    const double o[3] = {ray->origin.x - m[3], ray->origin.y - m[7], ray->origin.z - m[11]};
    const double w[3] = {ray->direction.x, ray->direction.y, ray->direction.z};
    const double first[3] = {g->origin.x, g->origin.y, g->origin.z};
    /* the ray in cells: rotated back, relative to the first centre; clipped to all cells */
    double at[3], by[3], from = 0, to = limit;
    *hit = (sundholm_hit){.parameter = INFINITY};
    for (int k = 0; k < 3; k++) {
        at[k] = (m[k] * o[0] + m[k + 4] * o[1] + m[k + 8] * o[2] - first[k]) / g->cell;
        by[k] = (m[k] * w[0] + m[k + 4] * w[1] + m[k + 8] * w[2]) / g->cell;
        const double a = (-0.5 - at[k]) / by[k], b = (g->count[k] - 0.5 - at[k]) / by[k];
        if (by[k] == 0 && (at[k] < -0.5 || at[k] > g->count[k] - 0.5))
            return ABUT_OK;
        from = by[k] == 0 ? from : fmax(from, fmin(a, b));
        to = by[k] == 0 ? to : fmin(to, fmax(a, b));
    }
    /* parameters at which the ray leaves its cell along each axis */
    uint32_t cell[3];
    double next[3];
    for (int k = 0; k < 3; k++) {
        const double nearest = floor(at[k] + from * by[k] + 0.5);
        cell[k] = (uint32_t)fmin(fmax(nearest, 0), g->count[k] - 1);
        next[k] = by[k] == 0 ? INFINITY : (cell[k] + (by[k] > 0 ? 0.5 : -0.5) - at[k]) / by[k];
    }
    while (from <= to) {
        const uint32_t one[3] = {1, 1, 1};
        float value;
        if ((status = abut_field_copy(field, cell, one, &value)))
            return status;
        if (value < 0) {
            const double p[3] = {first[0] + g->cell * cell[0], first[1] + g->cell * cell[1],
                                 first[2] + g->cell * cell[2]};
            double c[3];
            for (int k = 0; k < 3; k++)
                c[k] = m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3];
            const double along = (c[0] - ray->origin.x) * w[0] + (c[1] - ray->origin.y) * w[1] +
                                 (c[2] - ray->origin.z) * w[2];
            hit->parameter = along / (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            hit->parameter = fmin(fmax(hit->parameter, 0), limit);
            hit->point = (abut_vec3){c[0], c[1], c[2]};
            hit->depth = -(double)value;
            return ABUT_OK;
        }
        const int k = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
        if (by[k] > 0 ? cell[k] + 1 == g->count[k] : cell[k] == 0)
            return ABUT_OK;
        cell[k] += by[k] > 0 ? 1 : UINT32_MAX;
        from = next[k];
        next[k] += 1 / fabs(by[k]);
    }
    return ABUT_OK;
}
