/* Inside or outside, winding numbers and signed distances, for one point and for many.
 *
 * In a batch the sign of a point often comes from the one before: a ball around a point as large as
 * its distance holds no surface, so everything in it is on the same side, unless the surface has a
 * border. Distances are right to 4 ulp, and the ball is taken smaller by far more.
 */
#include "bvh/points.h"
#include "bvh/sign.h"

#include <math.h>

#define BALL (1 - 0x1p-40)

static abut_status check_prepared(const char *function, const abut_bvh *bvh) {
    return bvh->sign ? ABUT_OK
                     : abuti_fail(ABUT_ERROR_ARGUMENT,
                                  "%s: the hierarchy knows no inside yet; call "
                                  "abut_bvh_prepare_sign() first",
                                  function);
}

/* ---- one point ---- */

static double winding_of(const abut_bvh *bvh, vec3 point) {
    int64_t winding;
    bool on_surface;
    if (!bvh->sign->closed)
        return abuti_bvh_winding(bvh, bvh->sign->far, point);
    abuti_bvh_crossing(bvh, NULL, point, &winding, &on_surface);
    return on_surface ? 0.5 : (double)winding;
}

static bool is_inside(const abut_bvh *bvh, vec3 point) {
    double winding = winding_of(bvh, point);
    if (bvh->sign->closed)
        return winding != 0;
    return winding * bvh->sign->facing >= 0.5 || abuti_bvh_touches(bvh, point);
}

/* The last point of a batch whose side is known. */
typedef struct side_hint {
    bool known, inside;
    vec3 point;
    double distance;
} side_hint;

/* Whether two points are in a ball without surface. */
static bool same_side(const side_hint *hint, vec3 point, double distance) {
    vec3 d = v3_sub(point, hint->point);
    return v3_max_abs(d) > 1e-150 && /* the square of less is no number to rely on */
           v3_length(d) < BALL * real_max(distance, hint->distance);
}

/* Sets the sign of a distance. */
static void sign_nearest(const abut_bvh *bvh, vec3 point, side_hint *hint, abut_nearest *nearest) {
    const struct bvh_sign *sign = bvh->sign;
    double distance = nearest->distance;
    if (!(distance > 0 && distance < INFINITY))
        return;
    bool inside;
    double side = 0;
    if (sign->method == ABUT_SIGN_NORMAL)
        side = abuti_bvh_normals_side(bvh, point, nearest) * sign->facing;
    if (side != 0)
        inside = side < 0;
    else if (!sign->closed)
        inside = winding_of(bvh, point) * sign->facing >= 0.5;
    else if (hint && hint->known && same_side(hint, point, distance))
        inside = hint->inside;
    else
        inside = winding_of(bvh, point) != 0;
    if (hint && side == 0) /* only what is certain spreads */
        *hint = (side_hint){true, inside, point, distance};
    if (inside)
        nearest->distance = -distance;
}

abut_status abut_bvh_inside(const abut_bvh *bvh, abut_vec3 point, bool *inside) {
    abut_status status = abuti_bvh_check(__func__, bvh, inside, "inside");
    status = status ? status : check_prepared(__func__, bvh);
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    if (!status)
        *inside = is_inside(bvh, point);
    return status;
}

abut_status abut_bvh_winding(const abut_bvh *bvh, abut_vec3 point, double *winding) {
    abut_status status = abuti_bvh_check(__func__, bvh, winding, "winding");
    status = status ? status : check_prepared(__func__, bvh);
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    if (!status)
        *winding = winding_of(bvh, point);
    return status;
}

abut_status abut_bvh_nearest_signed(const abut_bvh *bvh, abut_vec3 point, double radius,
                                    abut_nearest *nearest) {
    abut_status status = abuti_bvh_check(__func__, bvh, nearest, "nearest");
    status = status ? status : check_prepared(__func__, bvh);
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    if (status)
        return status;
    abuti_bvh_nearest(bvh, point, radius, NULL, nearest);
    sign_nearest(bvh, point, NULL, nearest);
    return ABUT_OK;
}

/* ---- many points ---- */

typedef struct sign_batch {
    const abut_bvh *bvh;
    bvh_points points;
    box3 bounds;
    double radius;
    bool *inside; /* one of these */
    double *winding;
    abut_nearest *nearest;
} sign_batch;

static void inside_visit(void *data, const bvh_place *places, size_t begin, size_t end) {
    sign_batch *b = data;
    for (size_t i = begin; i < end; i++) {
        size_t point = bvh_place_of(places, i);
        b->inside[point] = is_inside(b->bvh, bvh_point_at(&b->points, point));
    }
}

static void winding_visit(void *data, const bvh_place *places, size_t begin, size_t end) {
    sign_batch *b = data;
    for (size_t i = begin; i < end; i++) {
        size_t point = bvh_place_of(places, i);
        b->winding[point] = winding_of(b->bvh, bvh_point_at(&b->points, point));
    }
}

static void nearest_visit(void *data, const bvh_place *places, size_t begin, size_t end) {
    sign_batch *b = data;
    bvh_hint hint;
    side_hint side;
    memset(&side, 0, sizeof side);
    hint.known = false;
    for (size_t i = begin; i < end; i++) {
        size_t point = bvh_place_of(places, i);
        vec3 p = bvh_point_at(&b->points, point);
        abuti_bvh_nearest(b->bvh, p, b->radius, &hint, &b->nearest[point]);
        sign_nearest(b->bvh, p, &side, &b->nearest[point]);
    }
}

/* What all batches check first. */
static abut_status batch_start(const char *function, sign_batch *b, const abut_points *points,
                               const void *out, const char *out_name) {
    abut_status status = abuti_bvh_check(function, b->bvh, points, "points");
    status = status ? status : check_prepared(function, b->bvh);
    status = status ? status : abuti_bvh_points_read(function, points, &b->points);
    if (!status && !out && b->points.count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null", function, out_name);
    status = status ? status : abuti_bvh_check_limit(function, "radius", b->radius);
    return status ? status : abuti_bvh_points_check(function, &b->points, &b->bounds);
}

static abut_status batch_run(sign_batch *b, const char *stage, bvh_visit *visit) {
    return abuti_bvh_points_visit(b->bvh->context, &b->points, &b->bounds, stage, visit, b);
}

abut_status abut_bvh_inside_batch(const abut_bvh *bvh, const abut_points *points, bool *inside) {
    sign_batch b = {.bvh = bvh, .inside = inside};
    abut_status status = batch_start(__func__, &b, points, inside, "inside");
    return status ? status : batch_run(&b, "inside", inside_visit);
}

abut_status abut_bvh_winding_batch(const abut_bvh *bvh, const abut_points *points,
                                   double *winding) {
    sign_batch b = {.bvh = bvh, .winding = winding};
    abut_status status = batch_start(__func__, &b, points, winding, "winding");
    return status ? status : batch_run(&b, "winding", winding_visit);
}

abut_status abut_bvh_nearest_signed_batch(const abut_bvh *bvh, const abut_points *points,
                                          double radius, abut_nearest *nearest) {
    sign_batch b = {.bvh = bvh, .radius = radius, .nearest = nearest};
    abut_status status = batch_start(__func__, &b, points, nearest, "nearest");
    return status ? status : batch_run(&b, "nearest", nearest_visit);
}
