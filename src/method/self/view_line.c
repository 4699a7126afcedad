/* The view-line along the longest axis of some vertices, by their covariance (Cheng 2011, section
 * 4.1.2, after Gottschalk et al. 1996). They are those of the mesh if the caller gives no line, or
 * those of a companion inside it, such as a rod in a sleeve. */
#include "self/self.h"

#include "geom/principal_axes.h"

#include <math.h>

/* Length of the line relative to the extent along the axis: triangles near the ends see the end as
 * a point. */
#define LINE_EXTENT_FRACTION 0.6

/* Number of sampled vertices of a large mesh, spread over it. No guarantee depends on the line. */
enum { SAMPLE_VERTICES = 2048 };
#define SAMPLE_STRIDE 2654435761u /* a prime: avoids sampling a single row or column of a grid */

static uint32_t sample_size(uint32_t count) {
    return count < SAMPLE_VERTICES ? count : SAMPLE_VERTICES;
}

static uint32_t sample_at(uint32_t i, uint32_t count) {
    return count <= SAMPLE_VERTICES ? i : (uint32_t)((uint64_t)i * SAMPLE_STRIDE % count);
}

/* Vertices relative to the first one and in units of `scale`, so that nothing overflows. */
typedef struct cloud {
    const vec3 *positions; /* at the start */
    uint32_t count;
    vec3 from;
    double scale;
    vec3 mean, axis;
} cloud;

static vec3 cloud_position(const cloud *c, vec3 p) {
    return v3_scale(v3_sub(p, c->from), c->scale);
}

static vec3 mean_of(const cloud *c, const vec3 *positions) {
    vec3 sum = v3(0, 0, 0);
    uint32_t taken = sample_size(c->count);
    for (uint32_t i = 0; i < taken; i++)
        sum = v3_add(sum, cloud_position(c, positions[sample_at(i, c->count)]));
    return v3_scale(sum, 1.0 / taken);
}

static vec3 axis_of(const cloud *c) {
    double m[3][3] = {{0}};
    for (uint32_t i = 0; i < sample_size(c->count); i++) {
        vec3 d = v3_sub(cloud_position(c, c->positions[sample_at(i, c->count)]), c->mean);
        m[0][0] += d.x * d.x;
        m[0][1] += d.x * d.y;
        m[0][2] += d.x * d.z;
        m[1][1] += d.y * d.y;
        m[1][2] += d.y * d.z;
        m[2][2] += d.z * d.z;
    }
    m[1][0] = m[0][1];
    m[2][0] = m[0][2];
    m[2][1] = m[1][2];
    vec3 axes[3];
    principal_axes(m, axes);
    const int best = m[1][1] > m[0][0] ? 1 : 0;
    return axes[m[2][2] > m[best][best] ? 2 : best];
}

/* The axis at the end: each vertex is weighted by its coordinate along the axis at the start. So
 * the axis rotates and stretches with a companion, and approximates one that bends. */
static vec3 axis_at_end(const cloud *c, const vec3 *end, vec3 mean_end) {
    vec3 sum = v3(0, 0, 0);
    double square = 0;
    for (uint32_t i = 0; i < sample_size(c->count); i++) {
        uint32_t at = sample_at(i, c->count);
        double along = v3_dot(v3_sub(cloud_position(c, c->positions[at]), c->mean), c->axis);
        sum = v3_along(sum, along, v3_sub(cloud_position(c, end[at]), mean_end));
        square += along * along;
    }
    return square > 0 ? v3_scale(sum, 1 / square) : c->axis;
}

/* Transforms back from the cloud, clamped to the coordinate range. */
static vec3 world_position(const cloud *c, vec3 p) {
    const vec3 limit = v3(ABUT_COORDINATE_MAX, ABUT_COORDINATE_MAX, ABUT_COORDINATE_MAX);
    vec3 at = v3_along(c->from, 1 / c->scale, p);
    return v3_max(v3_scale(limit, -1), v3_min(at, limit));
}

abut_self_line abuti_view_axis(const vec3 *start, const vec3 *end, uint32_t count) {
    cloud c = {.positions = start, .count = count, .from = start[0]};
    double size = 0, lo = 0, hi = 0;
    for (uint32_t i = 0; i < sample_size(count); i++) {
        uint32_t at = sample_at(i, count);
        size = real_max(size, real_max(v3_max_abs(v3_sub(start[at], c.from)),
                                       v3_max_abs(v3_sub(end[at], c.from))));
    }
    int exponent;
    frexp(size, &exponent);
    c.scale = size > 0 && exponent > -1000 ? ldexp(1, -exponent) : 1;
    c.mean = mean_of(&c, start);
    c.axis = axis_of(&c);
    vec3 mean_end = mean_of(&c, end), axis_end = axis_at_end(&c, end, mean_end);
    for (uint32_t i = 0; i < sample_size(count); i++) {
        vec3 from_mean = v3_sub(cloud_position(&c, start[sample_at(i, count)]), c.mean);
        double along = v3_dot(from_mean, c.axis);
        lo = real_min(lo, along);
        hi = real_max(hi, along);
    }
    abut_self_line line;
    for (int k = 0; k < 2; k++) {
        double reach = LINE_EXTENT_FRACTION * (k ? hi : lo);
        line.start[k] = world_position(&c, v3_along(c.mean, reach, c.axis));
        line.end[k] = world_position(&c, v3_along(mean_end, reach, axis_end));
    }
    return line;
}

static abut_status check_positions(const char *what, const vec3 *p, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!abuti_is_position(p[i]))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_self_fit_line: %s: vertex %u is at (%g, %g, %g); coordinates "
                              "must be finite and at most 1e90 in magnitude",
                              what, i, p[i].x, p[i].y, p[i].z);
    return ABUT_OK;
}

abut_status abut_self_fit_line(const abut_vec3 *start, const abut_vec3 *end, uint32_t count,
                               abut_self_line *line) {
    if (!start || !end || !line)
        return abuti_null(__func__, !start ? "start" : !end ? "end" : "line");
    if (count == 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_self_fit_line: count is 0; it must be at least 1");
    abut_status status = check_positions("start", start, count);
    if (!status)
        status = check_positions("end", end, count);
    if (!status)
        *line = abuti_view_axis(start, end, count);
    return status;
}
