/* Coincident faces of two closed surfaces.
 *
 * Coincident triangles (within a tolerance, since rotations round) are counted twice, once or not
 * at all in the sums of intersection_measures.c, depending on the symbolic shift of contour.c. Such
 * pairs are therefore clipped against each other, and their share in the sums is recorded, so that
 * it can be subtracted.
 */
#include "pair/contour.h"

#include <assert.h>
#include <math.h>

/* A clip of n corners leaves at most n + n / 2, whatever the signs: 4, 6, 9 and 13 after four clips
 * of a triangle. */
enum { POLYGON_CORNERS_MAX = 16 };

/* A part of a triangle: corners, and their heights above the plane of the other triangle. */
typedef struct clipped_face {
    int count;
    vec3 at[POLYGON_CORNERS_MAX];
    double height[POLYGON_CORNERS_MAX];
} clipped_face;

/* Removes the part with negative values. */
static void clip_negative(clipped_face *p, const double *value) {
    clipped_face out = {.count = 0};
    for (int i = 0; i < p->count; i++) {
        int k = i + 1 == p->count ? 0 : i + 1;
        if (value[i] >= 0) {
            out.at[out.count] = p->at[i];
            out.height[out.count++] = p->height[i];
        }
        if ((value[i] < 0) != (value[k] < 0)) {
            double t = value[i] / (value[i] - value[k]);
            out.at[out.count] = v3_lerp(p->at[i], p->at[k], t);
            out.height[out.count++] = p->height[i] + t * (p->height[k] - p->height[i]);
        }
    }
    assert(out.count <= POLYGON_CORNERS_MAX);
    *p = out;
}

/* The part of face[side] whose projection is on the other face. */
static clipped_face clip_to_other_face(const contour_pair *pair, int side) {
    const contour_face *f = pair->face[side], *other = pair->face[!side];
    clipped_face p = {.count = 3};
    for (int k = 0; k < 3; k++) {
        p.at[k] = f->at[k];
        p.height[k] = pair->of[side].value[k] / v3_length(other->normal);
    }
    for (int k = 0; k < 3; k++) {
        double value[POLYGON_CORNERS_MAX];
        vec3 in = v3_cross(other->normal, other->direction[k]);
        for (int i = 0; i < p.count; i++)
            value[i] = v3_dot(in, v3_sub(p.at[i], other->at[k]));
        clip_negative(&p, value);
    }
    return p;
}

/* Returns the area along a unit normal. Adds to the first moment. */
static double polygon_area(const clipped_face *p, vec3 normal, vec3 *moment) {
    double area = 0;
    for (int i = 2; i < p->count; i++) {
        vec3 d0 = v3_sub(p->at[i - 1], p->at[0]), d1 = v3_sub(p->at[i], p->at[0]);
        double one = 0.5 * v3_dot(normal, v3_cross(d0, d1));
        area += one;
        *moment = v3_along(*moment, one, v3_along(p->at[0], 1.0 / 3, v3_add(d0, d1)));
    }
    return area;
}

/* Clips a part to the inside of the other body, as far as the plane of the other triangle
 * determines it. Updates the largest depth. */
static void clip_to_inside(const contour_flush *sum, const contour_pair *pair, int side,
                           clipped_face *p, double *depth) {
    double inward = -sum->facing[!side], value[POLYGON_CORNERS_MAX];
    if (pair->of[side].zeros == 3) {
        p->count = inward * pair->of[side].above[0] > 0 ? p->count : 0;
        return;
    }
    for (int i = 0; i < p->count; i++) {
        value[i] = inward * p->height[i];
        *depth = real_max(*depth, value[i]);
    }
    clip_negative(p, value);
}

static bool is_coincident(const contour_pair *pair, int side, double tolerance) {
    const double *value = pair->of[side].value;
    double max_height = real_max(fabs(value[0]), real_max(fabs(value[1]), fabs(value[2])));
    return max_height <= tolerance * v3_length(pair->face[!side]->normal);
}

void abuti_contour_add_coincident(contour_flush *sum, const contour_pair *pair, double cosine) {
    if (!is_coincident(pair, 0, sum->tolerance) && !is_coincident(pair, 1, sum->tolerance))
        return;
    bool same = (cosine > 0) == (sum->facing[0] == sum->facing[1]);
    double depth = 0;
    for (int side = 0; side < 2; side++) {
        const contour_face *f = pair->face[side];
        double length = v3_length(f->normal);
        vec3 normal = v3_scale(f->normal, sum->facing[side] / length);
        vec3 moment = v3(0, 0, 0), none = moment;
        vec3 flat = v3_scale(f->normal, 1 / length);
        clipped_face p = clip_to_other_face(pair, side);
        double area = polygon_area(&p, flat, &moment);
        if (!(area > 0))
            return;
        if (side == 0) {
            sum->area[same] += area;
            for (int i = 0; i < p.count; i++) {
                sum->perimeter +=
                    same ? v3_length(v3_sub(p.at[i], p.at[i ? i - 1 : p.count - 1])) : 0;
                if (!same)
                    sum->box = box_grow(sum->box, m3_apply(&sum->world, p.at[i]));
            }
            sum->vector = same ? sum->vector : v3_along(sum->vector, area, normal);
            sum->moment = same ? sum->moment : v3_add(sum->moment, moment);
        }
        clip_to_inside(sum, pair, side, &p, &depth);
        double inside = polygon_area(&p, flat, &none);
        sum->inside[side] += inside;
        sum->inside_vector[side] = v3_along(sum->inside_vector[side], inside, normal);
    }
    if (!same)
        sum->depth = real_max(sum->depth, depth);
}
