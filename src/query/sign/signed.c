/* Inside or outside, winding numbers and signed distances, for one point and for batches. */
#include "nearest/batch.h"
#include "sign/sign.h"

#include <math.h>

static abut_status check_prepared(const char *function, const abut_bvh *bvh) {
    if (!bvh_sign_of(bvh))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: signs are not prepared for this BVH; call abut_sign_prepare() first",
                          function);
    return ABUT_OK;
}

/* ---- one point ---- */

static double winding_of(const abut_bvh *bvh, vec3 point) {
    int64_t winding;
    bool on_surface;
    if (!bvh_sign_of(bvh)->closed)
        return abuti_sign_winding(bvh, bvh_sign_of(bvh)->far, point);
    abuti_sign_crossing(bvh, NULL, point, &winding, &on_surface);
    return on_surface ? 0.5 : (double)winding;
}

static bool is_inside(const abut_bvh *bvh, vec3 point) {
    double winding = winding_of(bvh, point);
    if (bvh_sign_of(bvh)->closed)
        return winding != 0;
    return winding * bvh_sign_of(bvh)->facing >= 0.5 || abuti_sign_touches(bvh, point);
}

/* Error bound of fast winding numbers, with slack for other orders of summation. */
#define FAST_WINDING_ERROR 0.0105

bool abuti_sign_open_inside(const abut_bvh *bvh, double fast, abut_vec3 point, double distance) {
    const double facing = bvh_sign_of(bvh)->facing;
    bool sure = fabs(fast * facing - 0.5) > FAST_WINDING_ERROR && distance > sign_near(bvh);
    return sure ? fast * facing >= 0.5 : abuti_sign_boundary_inside(bvh, point);
}

void abuti_sign_set(const abut_bvh *bvh, vec3 point, abut_nearest *nearest) {
    const struct bvh_sign *sign = bvh_sign_of(bvh);
    double distance = nearest->distance, side = 0;
    if (!(distance > 0 && distance < INFINITY))
        return;
    if (sign->method == ABUT_SIGN_NORMAL)
        side = abuti_sign_normals_side(sign, point, nearest) * sign->facing;
    bool inside = side != 0      ? side < 0
                  : sign->closed ? winding_of(bvh, point) != 0
                                 : winding_of(bvh, point) * sign->facing >= 0.5;
    if (inside)
        nearest->distance = -distance;
}

/* Validates the arguments of a query, and prepares it. */
static abut_status begin_query(const char *function, const abut_bvh *bvh, abut_vec3 point,
                               const void *out, const char *out_name) {
    abut_status status;
    if ((status = abuti_bvh_check(function, bvh, out, out_name)) ||
        (status = check_prepared(function, bvh)) ||
        (status = abuti_bvh_check_point(function, "point", point)))
        return status;
    return abuti_sign_far(bvh);
}

abut_status abut_sign_inside(const abut_bvh *bvh, abut_vec3 point, bool *inside) {
    abut_status status = begin_query(__func__, bvh, point, inside, "inside");
    if (!status)
        *inside = is_inside(bvh, point);
    return status;
}

abut_status abut_sign_winding(const abut_bvh *bvh, abut_vec3 point, double *winding) {
    abut_status status = begin_query(__func__, bvh, point, winding, "winding");
    if (!status)
        *winding = winding_of(bvh, point);
    return status;
}

abut_status abut_sign_nearest(const abut_bvh *bvh, abut_vec3 point, double radius,
                              abut_nearest *nearest) {
    abut_status status;
    if ((status = begin_query(__func__, bvh, point, nearest, "nearest")) ||
        (status = abuti_bvh_check_limit(__func__, "radius", radius)))
        return status;
    abuti_bvh_earn_wide(bvh, 1);
    abuti_nearest_point(bvh, point, radius, NULL, nearest);
    abuti_sign_set(bvh, point, nearest);
    return ABUT_OK;
}

/* ---- batches ---- */

typedef struct sign_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    const char *stage;
    bool *inside; /* one of these two outputs is set */
    double *winding;
} sign_batch;

enum { POINTS_PER_STOP_CHECK = 16 }; /* points between two calls of abuti_stop() */

static void compute_batch(void *data, const bvh_sorted_point *places, size_t begin, size_t end) {
    sign_batch *b = data;
    for (size_t i = begin; i < end; i++) {
        const size_t point = bvh_point_index(places, i);
        const vec3 at = bvh_point_at(&b->points, point);
        if (i % POINTS_PER_STOP_CHECK == 0 && abuti_stop(b->bvh->context, b->stage))
            return;
        if (b->inside)
            b->inside[point] = is_inside(b->bvh, at);
        else
            b->winding[point] = winding_of(b->bvh, at);
    }
}

/* Validates the arguments of a batch, and prepares it. */
static abut_status init_batch(const char *function, sign_batch *b, abut_array points, size_t count,
                              abut_array out, const char *out_name, size_t element_bytes) {
    const abut_bvh *bvh = b->bvh;
    abut_status status;
    if ((status = abuti_bvh_check_batch(function, bvh, bvh, "bvh")) ||
        (status = check_prepared(function, bvh)) ||
        (status = abuti_bvh_points_read(function, bvh, points, count, &b->points)) ||
        (status =
             abuti_bvh_check_array(function, out_name, bvh, out, b->points.count, element_bytes)) ||
        (status = abuti_bvh_check_limit(function, "radius", b->radius)) ||
        (status = abuti_bvh_points_check(function, bvh->context, &b->points)))
        return status;
    if (bvh->there && (status = abuti_sign_check_on_device(function, bvh->there, bvh_sign_of(bvh))))
        return status;
    return abuti_sign_far(bvh);
}

static abut_status run_batch(sign_batch *b) {
    return abuti_bvh_points_visit(b->bvh, &b->points, b->stage, compute_batch, b);
}

abut_status abut_sign_inside_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                   abut_array inside) {
    sign_batch b = {.bvh = bvh, .stage = "inside", .inside = inside.host};
    abut_status status = init_batch(__func__, &b, points, count, inside, "inside", sizeof(bool));
    if (status)
        return status;
    return bvh->there ? abuti_sign_query_on_device(__func__, bvh->there, &b.points, QUEST_INSIDE, 0,
                                                   inside)
                      : run_batch(&b);
}

abut_status abut_sign_winding_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                    abut_array winding) {
    sign_batch b = {.bvh = bvh, .stage = "winding", .winding = winding.host};
    abut_status status =
        init_batch(__func__, &b, points, count, winding, "winding", sizeof(double));
    if (status)
        return status;
    return bvh->there ? abuti_sign_query_on_device(__func__, bvh->there, &b.points, QUEST_WINDING,
                                                   0, winding)
                      : run_batch(&b);
}

abut_status abut_sign_nearest_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                    double radius, abut_array nearest) {
    sign_batch b = {.bvh = bvh, .radius = radius};
    abut_status status =
        init_batch(__func__, &b, points, count, nearest, "nearest", sizeof(abut_nearest));
    if (status)
        return status;
    if (bvh->there)
        return abuti_sign_query_on_device(__func__, bvh->there, &b.points, QUEST_SIGN, radius,
                                          nearest);
    nearest_batch run = {.bvh = bvh,
                         .points = b.points,
                         .radius = radius,
                         .nearest = nearest.host,
                         .complete = abuti_sign_set};
    return abuti_batch_nearest(&run);
}
