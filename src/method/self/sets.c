/* The view test: classifies triangles by whether rays from the view primitive leave or enter
 * through them during the whole step, or neither is certain (Cheng 2011, sections 3.2, 3.3 and
 * 4.2).
 *
 * Point. With N(t) the normal of a triangle and q(t) the view-point, f(t) = (v0(t) - q(t)) . N(t)
 * has the same sign for all points of the triangle, and is a cubic. In Bernstein form over the step
 * its smallest coefficient is a lower bound and its largest an upper bound, so no change of sign is
 * missed. With r = v0 - q, b = v1 - v0, c = v2 - v0 at the start (a) and at the end (e):
 *      B0 = ra.(ba x ca)                         3 B1 = ra.(ba x ce + be x ca) + re.(ba x ca)
 *      B3 = re.(be x ce)                         3 B2 = re.(ba x ce + be x ca) + ra.(be x ce)
 *
 * Line. A point p of the surface is seen from the nearest point of the line, at clamp(u(p)), u(p) =
 * (p - q0).L / L.L. Theorem 3 of Cheng (2011) uses one vertex for the whole triangle, but its proof
 * fails if the plane of the triangle intersects the line between the points of the vertices: then
 * vertices of one triangle have different signs. The following holds: for p in the triangle, (p -
 * q(s)).N = (v0 - q0).N - s L.N depends only on s and is linear in it, and u is linear in p. So if
 * the sign is the same for two check points q(s_lo) and q(s_hi), where s_lo and s_hi bound clamp(u)
 * of all vertices at all times, it is the sign of all points of the triangle at all times. This
 * replaces regions, and parts of the step in each: a triangle in R0 or R1 has s_lo = s_hi = 0 or 1
 * and needs one test. While the ends of the line move linearly, u(t) is a quotient of quadratics
 * n(t) / d(t), whose Bernstein coefficients n_i, d_i are products of those of v - q0 and L. If all
 * d_i > 0, it stays between the smallest and the largest n_i / d_i. If the line rotates by a right
 * angle or has no length, [0, 1] is used.
 *
 * Rounding. Let u = 2^-53, and R, E, F the largest |coordinates| of r, b and c at both ends. Each
 * of the Bi (times 1 or 3) is a sum of products of three differences, at most 18 R E F in all, and
 * no product has more than 10 roundings: its error is below 180.1 u R E F. A check point that is
 * not an end of the line has an error of 5 u Q in each coordinate, Q the largest of the line's,
 * which changes Bi by at most 90 u Q E F. We use 256 u (R + Q) E F; the excess covers the rounding
 * of this bound. If R E F is below 1e-290 products may underflow, and the triangle is in doubt.
 */
#include "self/self.h"

#include <math.h>

enum { VERTICES_PER_TASK = 4096, TRIANGLES_PER_TASK = 2048, GHOSTS_PER_TASK = 512 };

typedef struct view_test_job {
    abut_self *view;
    view_primitive primitive;
    view_checks point;
    view_counts *counts; /* one per task */
} view_test_job;

static unsigned test_triangle(const view_test_job *t, uint32_t triangle) {
    abut_self *view = t->view;
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    vec3 start[3], end[3];
    view_checks own = t->point;
    for (int k = 0; k < 3; k++) {
        start[k] = view->start[corner[k]];
        end[k] = view->end[corner[k]];
    }
    if (t->primitive.by_line) {
        double lo = 1, hi = 0;
        for (int k = 0; k < 3; k++) {
            lo = real_min(lo, view->along[corner[k]][0]);
            hi = real_max(hi, view->along[corner[k]][1]);
        }
        own = view_checks_of(&t->primitive, lo, hi);
    }
    unsigned set = view_set_of(start, end, &own);
    view->sets[triangle] = (unsigned char)set;
    return set;
}

/* Computes the range of the line that sees each vertex. */
static void along_task(void *data, size_t chunk, size_t begin, size_t end) {
    const view_test_job *t = data;
    const abut_self *view = t->view;
    for (size_t i = begin; i < end; i++) {
        int region = view_along(&t->primitive, view->start[i], view->end[i], view->along[i]);
        if (region >= 0)
            t->counts[chunk].regions[region]++;
    }
}

static void triangles_task(void *data, size_t chunk, size_t begin, size_t end) {
    const view_test_job *t = data;
    for (uint32_t i = (uint32_t)begin; i < (uint32_t)end; i++)
        t->counts[chunk].sets[abuti_set_index(test_triangle(t, i))]++;
}

static void ghosts_task(void *data, size_t chunk, size_t begin, size_t end) {
    const view_test_job *t = data;
    uint32_t first = t->view->triangle_count;
    for (uint32_t i = first + (uint32_t)begin; i < first + (uint32_t)end; i++)
        t->counts[chunk].ghosts += test_triangle(t, i) != SET_P;
}

static void add_counts(view_test_job *t, size_t chunks, view_counts *counts) {
    for (size_t i = 0; i < chunks; i++) {
        for (int k = 0; k < 4; k++)
            counts->sets[k] += t->counts[i].sets[k];
        for (int k = 0; k < 5; k++)
            counts->regions[k] += t->counts[i].regions[k];
        counts->ghosts += t->counts[i].ghosts;
    }
}

static void run_and_count(view_test_job *t, size_t count, size_t grain, size_t room,
                          void (*task)(void *, size_t, size_t, size_t), view_counts *counts) {
    memset(t->counts, 0, room * sizeof *t->counts);
    abuti_parallel_for(t->view->context, count, grain, task, t);
    add_counts(t, abuti_chunk_count(count, grain), counts);
}

view_primitive abuti_view_primitive(const abut_self_line *line, bool by_line) {
    view_primitive s = {.by_line = by_line};
    for (int k = 0; k < 2; k++) {
        s.start[k] = line->start[k];
        s.end[k] = line->end[k];
        s.slack = real_max(s.slack, real_max(v3_max_abs(line->start[k]), v3_max_abs(line->end[k])));
    }
    s.along_start = v3_sub(line->start[1], line->start[0]);
    s.along_end = v3_sub(line->end[1], line->end[0]);
    double d[3] = {v3_length_sq(s.along_start), v3_dot(s.along_start, s.along_end),
                   v3_length_sq(s.along_end)};
    double largest = real_max(d[0], d[2]);
    s.turns = !(real_min(d[0], real_min(d[1], d[2])) > 1e-3 * largest && largest > 1e-200);
    s.inverse = s.turns ? 0 : 1 / sqrt(d[1]); /* the others are within a factor of 32 */
    for (int k = 0; k < 3; k++)
        s.shares[k] = s.turns ? 0 : 1 / d[k];
    return s;
}

abut_status abuti_view_test(abut_self *view, const view_primitive *primitive, view_counts *counts) {
    view_test_job t = {.view = view, .primitive = *primitive};
    size_t all_vertices = (size_t)view->vertex_count + view->hole_count;
    size_t room = abuti_chunk_count(all_vertices, VERTICES_PER_TASK) +
                  abuti_chunk_count(view->triangle_count, TRIANGLES_PER_TASK) +
                  abuti_chunk_count(view->ghost_count, GHOSTS_PER_TASK);
    t.counts = abuti_allocate(view->context, room, sizeof *t.counts);
    if (!t.counts)
        return ABUT_ERROR_MEMORY;
    memset(counts, 0, sizeof *counts);
    t.point = view_point_checks(&t.primitive);
    if (primitive->by_line)
        run_and_count(&t, all_vertices, VERTICES_PER_TASK, room, along_task, counts);
    run_and_count(&t, view->triangle_count, TRIANGLES_PER_TASK, room, triangles_task, counts);
    run_and_count(&t, view->ghost_count, GHOSTS_PER_TASK, room, ghosts_task, counts);
    abuti_release(view->context, t.counts);
    return ABUT_OK;
}

/* ---- counts ---- */

void abuti_view_count_sets(abut_self *view, abut_self_result *result) {
    for (uint32_t i = 0; i < view->triangle_count; i++) {
        const unsigned char now = (unsigned char)abuti_set_index(view->sets[i]);
        const unsigned char before = view->last_sets[i];
        result->sets[now]++;
        if (view->has_last && now != before) {
            result->left[before]++;
            result->entered[now]++;
        }
        view->last_sets[i] = now;
    }
    view->has_last = true;
}
