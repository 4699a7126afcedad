/* The closest point of a mesh to one point; search_lanes.c has the method. */
#include "nearest/nearest.h"

#include "base/simd.h"
#include "geom/closest_shared.h"

#include <math.h>

void abuti_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius, bvh_hint *hint,
                         abut_nearest *nearest) {
    nearest_found found = {INFINITY, {0, 0, 0}, ABUT_NONE};
    const bvh_wide *tree = abuti_bvh_find_wide(bvh);
    if (tree && v3_max_abs(v3_sub(point, bvh->mesh->origin)) * bvh->scale < NEAREST_FAR)
        ABUTI_BY_LANES(abuti_nearest_search)(bvh, tree, point, radius, hint, &found);
    else if (abuti_nearest_k(bvh, point, radius, 1, nearest))
        return;
    nearest->distance = found.distance;
    nearest->triangle = found.triangle;
    memcpy(nearest->barycentric, found.weight, sizeof found.weight);
    if (found.triangle == ABUT_NONE) {
        nearest->point = point;
        nearest->feature = ABUT_FEATURE_FACE;
        return;
    }
    nearest->feature = weights_feature(found.weight);
    nearest->point = weights_point(bvh_triangle(bvh->mesh, found.triangle), found.weight);
    if (hint) {
        /* not from the absolute point, which far from 0 is less precise than the mesh */
        const uint32_t *corner = bvh->mesh->indices + 3 * (size_t)found.triangle;
        hint->known = true;
        hint->point = v3(0, 0, 0);
        for (int i = 0; i < 3; i++)
            hint->point = v3_along(hint->point, found.weight[i], bvh->mesh->positions[corner[i]]);
    }
}

abut_status abut_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius,
                               abut_nearest *nearest) {
    abut_status status;
    if ((status = abuti_bvh_check(__func__, bvh, nearest, "nearest")) ||
        (status = abuti_bvh_check_point(__func__, "point", point)) ||
        (status = abuti_bvh_check_limit(__func__, "radius", radius)))
        return status;
    abuti_bvh_earn_wide(bvh, 1);
    abuti_nearest_point(bvh, point, radius, NULL, nearest);
    return ABUT_OK;
}

/* ---- reliability ---- */

abut_reliability abut_nearest_reliability(const abut_mesh_report *report) {
    (void)report;
    return abuti_guaranteed(
        "There are no requirements: every triangle counts, a degenerate one as the "
        "segment or point that it is.");
}
