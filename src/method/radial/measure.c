/* Accuracy of fields: the error of the field distance at the centroid of every triangle of the true
 * surface, where the distance is 0. */
#include "radial/radial.h"

#include <stdlib.h>

typedef struct measured {
    double error, area;
    uint32_t triangle;
} measured;

static int compare_errors(const void *a, const void *b) {
    const measured *x = a, *y = b;
    const double p = fabs(x->error), q = fabs(y->error);
    return p != q ? (p > q) - (p < q) : (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

/* The error that a fraction `share` of the area does not exceed; the list is sorted. */
static double quantile(const measured *list, size_t count, double area, double share) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += list[i].area;
        if (sum >= share * area)
            return fabs(list[i].error);
    }
    return count ? fabs(list[count - 1].error) : 0;
}

static void sum_up_errors(const abut_radial *r, const measured *list, size_t count,
                          abut_radial_measures *m) {
    const double cell = r->info.cell;
    for (size_t i = 0; i < count; i++) {
        const double e = list[i].error, a = list[i].area;
        m->area += a;
        m->missing_area += e > cell ? a : 0;
        m->buried_area += e < -cell ? a : 0;
        if (fabs(e) > cell)
            continue;
        m->seen_area += a;
        m->mean += a * fabs(e);
        m->rms += a * e * e;
    }
    if (m->seen_area > 0) {
        m->mean /= m->seen_area;
        m->rms = sqrt(m->rms / m->seen_area);
    }
    m->p50 = quantile(list, count, m->area, 0.5);
    m->p90 = quantile(list, count, m->area, 0.9);
    m->p99 = quantile(list, count, m->area, 0.99);
    m->max = count ? fabs(list[count - 1].error) : 0;
    m->max_triangle = count ? list[count - 1].triangle : ABUT_NONE;
}

abut_status abut_radial_measure(abut_radial *radial, const abut_mesh *mesh, double *errors,
                                abut_radial_measures *measures) {
    if (!radial || !mesh || !measures)
        return abuti_null(__func__, !radial ? "radial" : mesh ? "measures" : "mesh");
    if (mesh->triangle_count != radial->info.triangle_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the mesh has %u triangles; the mesh of the fields has %u", __func__,
                          mesh->triangle_count, radial->info.triangle_count);
    abut_radial_measures found = abut_radial_measures_default();
    abut_status status = abuti_info_check(measures, sizeof *measures, __func__);
    if (status)
        return status;
    const size_t count = mesh->triangle_count;
    vec3 *middles;
    abut_radial_answer *answers;
    measured *list;
    status = ABUTI_ALLOCATE(radial->context, ABUTI_ARRAY(middles, count),
                            ABUTI_ARRAY(answers, count), ABUTI_ARRAY(list, count));
    for (size_t i = 0; i < count && !status; i++) {
        vec3 p[3];
        for (size_t k = 0; k < 3; k++)
            p[k] = abuti_mesh_position(mesh, mesh->indices[3 * i + k]);
        middles[i] = v3_scale(v3_add(v3_add(p[0], p[1]), p[2]), 1.0 / 3);
        list[i].area = 0.5 * v3_length(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0])));
        list[i].triangle = (uint32_t)i;
    }
    if (!status)
        status = abut_radial_evaluate(radial, abut_array_host(middles), count, 0,
                                      abut_array_host(answers));
    if (!status) {
        for (size_t i = 0; i < count; i++) {
            list[i].error = answers[i].distance;
            if (errors)
                errors[i] = answers[i].distance;
        }
        qsort(list, count, sizeof *list, compare_errors);
        sum_up_errors(radial, list, count, &found);
        status = abuti_info_write(measures, &found, sizeof found, __func__);
    }
    ABUTI_RELEASE(radial->context, middles, answers, list);
    return status;
}
