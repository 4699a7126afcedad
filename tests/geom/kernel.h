/* The computation of the one-source test for one item, in C and in OpenCL C: the same text, so
 * the same bits are expected. Input is 18 numbers: two triangles, parts of which serve as
 * points, segments, rays and boxes. The first of all numbers also serve as the values of a
 * distance field. */
#ifndef ABUT_TEST_KERNEL_H
#define ABUT_TEST_KERNEL_H

#include "contact/contact_shared.h"
#include "geom/distance_shared.h"
#include "geom/solid_shared.h"

#define NUMBERS_IN 18
#define NUMBERS_OUT 20
#define ANSWERS_OUT 6

#if ABUTI_REAL_BITS == 32
/* A point and an edge against a field of 7 x 7 x 7 cells. */
static inline void evaluate_contact(ABUTI_GLOBAL const float *all, const float *in, float *number) {
    field_view f = {0};
    contact_frame frame = {0};
    contact_point p, q;
    float place[12];
    for (int i = 0; i < 12; i++)
        place[i] = in[i] > 9.0f ? 9.0f : in[i] > -9.0f ? in[i] : -9.0f;
    f.floats = all;
    f.count[0] = f.count[1] = f.count[2] = 7;
    f.cell = 0.5f;
    f.scale = 1.0f;
    frame.turn[0] = frame.turn[5] = frame.turn[7] = 1.0f;
    frame.shift[0] = frame.shift[1] = frame.shift[2] = 3.0f;
    frame.away[2] = 1.0f;
    frame.per_cell = 2.0f;
    frame.band = 3e38f;
    frame.margin = 0.25f;
    p.x = place[0];
    p.y = place[1];
    p.z = place[2];
    p.nx = place[3];
    p.ny = place[4];
    p.nz = place[5];
    q = p;
    q.x = place[6];
    q.y = place[7];
    q.z = place[8];
    contact_found found = contact_test_point(&f, &frame, p),
                  edge = contact_test_edge(&f, &frame, p, q);
    number[0] = found.depth;
    number[1] = found.x;
    number[2] = found.y;
    number[3] = found.z;
    number[4] = edge.depth;
    number[5] = edge.x;
    number[6] = edge.z;
    number[7] = edge.along;
}
#endif

static inline void evaluate(const real *in, real *number, int *answer) {
    vec3 p[6];
    for (int i = 0; i < 6; i++)
        p[i] = v3(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
    triangle3 a, b;
    segment3 sa, sb;
    box3 box;
    ray3 ray;
    for (int i = 0; i < 3; i++) {
        a.corner[i] = p[i];
        b.corner[i] = p[3 + i];
    }
    sa.end[0] = p[0];
    sa.end[1] = p[1];
    sb.end[0] = ray.origin = p[3];
    sb.end[1] = ray.direction = p[4];
    box.lo = v3_min(p[3], p[4]);
    box.hi = v3_max(p[3], p[4]);

    closest_on_segment on_segment = segment_closest_point(sa, p[3]);
    closest_on_triangle on_triangle = triangle_closest_point(a, p[3]);
    closest_pair segments = segment_segment_closest_rounded(sa, sb);
    number[0] = on_segment.distance;
    number[1] = on_triangle.distance;
    number[2] = on_triangle.barycentric[1];
    number[3] = segments.distance;
    number[4] = plane_closest_point(p[0], p[1].x, p[2]).distance;
    number[5] = sphere_closest_point(p[0], p[1].x, p[2]).distance;
    number[6] = capsule_closest_point(sa, p[2].x, p[3]).distance;
    number[7] = box_closest_point(box, p[0]).distance;
    for (int i = 8; i < NUMBERS_OUT; i++)
        number[i] = REAL(0.0);
    answer[0] = (int)on_triangle.feature;
    for (int i = 1; i < ANSWERS_OUT; i++)
        answer[i] = 0;
#ifdef ABUTI_PREDICATES
    segment3 common;
    common.end[0] = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    path_hit hit;
    path3 path = ray_path(ray), line = segment_path(sb);
    answer[1] = orient3d(p[0], p[1], p[2], p[3]);
    answer[2] = (int)triangle_triangle_intersect(a, b, &common);
    answer[3] = path_triangle_intersect(&path, a, &hit);
    answer[4] = path_triangle_intersect(&line, a, 0);
    answer[5] = box_triangle_intersect(box, a);
    number[8] = triangle_triangle_closest(a, b).distance;
    number[9] = segment_segment_closest(sa, sb).distance;
    number[10] = common.end[0].x;
    number[11] = answer[3] ? (real)hit.parameter : REAL(0.0);
#endif
}

#ifdef __OPENCL_VERSION__
__kernel void evaluate_all(__global const real *in, __global real *number, __global int *answer) {
    size_t item = get_global_id(0);
    real local_in[NUMBERS_IN], local_number[NUMBERS_OUT];
    int local_answer[ANSWERS_OUT];
    for (int i = 0; i < NUMBERS_IN; i++)
        local_in[i] = in[item * NUMBERS_IN + i];
    evaluate(local_in, local_number, local_answer);
#if ABUTI_REAL_BITS == 32
    evaluate_contact(in, local_in, local_number + NUMBERS_OUT - 8);
#endif
    for (int i = 0; i < NUMBERS_OUT; i++)
        number[item * NUMBERS_OUT + i] = local_number[i];
    for (int i = 0; i < ANSWERS_OUT; i++)
        answer[item * ANSWERS_OUT + i] = local_answer[i];
}
#endif

#endif
