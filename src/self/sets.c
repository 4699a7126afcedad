/* The view test: by which triangles do rays from the view primitive leave during the whole step, by
 * which do they enter, and which are in doubt? (Cheng 2011, sections 3.2, 3.3 and 4.2)
 *
 * Point. With N(t) the normal of a triangle and q(t) the view-point, f(t) = (v0(t) - q(t)) . N(t)
 * has the sign that all points of the triangle share, and is a cubic. In Bernstein form over the
 * step its least coefficient bounds it from below and its largest from above, so that no change of
 * sign is missed. With r = v0 - q, b = v1 - v0, c = v2 - v0 at the start (a) and at the end (e):
 *     B0 = ra.(ba x ca)                         3 B1 = ra.(ba x ce + be x ca) + re.(ba x ca)
 *     B3 = re.(be x ce)                         3 B2 = re.(ba x ce + be x ca) + ra.(be x ce)
 *
 * Line. A point p of the surface is seen from the point of the line next to it, at
 * clamp(u(p)), u(p) = (p - q0).L / L.L. The document takes one vertex for the whole triangle
 * (theorem 3), but its proof fails where the plane of the triangle cuts the line between the
 * vertices' own points: there vertices of one triangle have different signs. What holds: for p in
 * the triangle, (p - q(s)).N = (v0 - q0).N - s L.N depends on s alone and is linear in it, and u is
 * linear in p. So if the sign is the same for two check points q(s_lo) and q(s_hi), where s_lo and
 * s_hi bound clamp(u) of all vertices at all times, it is the sign of all points of the triangle
 * all the time. This takes the place of regions, and of pieces of the step in each: a triangle in
 * R0 or R1 has s_lo = s_hi = 0 or 1 and needs one test.
 * While the ends of the line move along straight lines u(t) is a quotient of quadratics n(t) / d(t)
 * whose Bernstein coefficients n_i, d_i are products of those of v - q0 and L; where all d_i > 0 it
 * stays between the least and the largest n_i / d_i. Where the line turns by a right angle or has
 * no length, [0, 1] is taken.
 *
 * Rounding. Let u = 2^-53, R, E, F the largest |coordinates| of r, b and c at both ends. Each of
 * the Bi (times 1 or 3) is a sum of products of three differences, at most 18 R E F in all, and no
 * product goes through more than 10 roundings: it is off by less than 180.1 u R E F. A check point
 * that is not an end of the line is off by 5 u Q in each coordinate, Q the largest of the line's,
 * which moves Bi by at most 90 u Q E F. We take 256 u (R + Q) E F; what is left covers the rounding
 * of this bound. Where R E F is below 1e-290 products may underflow, and the triangle is in doubt.
 */
#include "self/self.h"

#include <math.h>

enum { VERTICES_A_TASK = 4096, TRIANGLES_A_TASK = 2048, GHOSTS_A_TASK = 512 };

typedef struct testing {
    abut_self *view;
    view_sight sight;
    view_checks point;
    view_floats floats;
    view_counts *counts; /* one a task */
} testing;

/* Where on the line the corners of a triangle are seen from, least and most of all. */
static void range_of(const abut_self *view, uint32_t triangle, double range[2]) {
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    range[0] = 1;
    range[1] = 0;
    for (int k = 0; k < 3; k++) {
        range[0] = real_min(range[0], view->along[corner[k]][0]);
        range[1] = real_max(range[1], view->along[corner[k]][1]);
    }
}

/* In double. */
static unsigned test_triangle(const testing *t, uint32_t triangle) {
    abut_self *view = t->view;
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    vec3 start[3], end[3];
    view_checks own = t->point;
    if (t->sight.by_line) {
        double range[2];
        range_of(view, triangle, range);
        own = view_checks_of(&t->sight, range[0], range[1]);
    }
    for (int k = 0; k < 3; k++) {
        start[k] = view->start[corner[k]];
        end[k] = view->next[corner[k]];
    }
    unsigned set = view_set_of(start, end, &own);
    view->sets[triangle] = (unsigned char)set;
    return set;
}

/* Where on the line vertices are seen from. */
static void along_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    const abut_self *view = t->view;
    for (size_t i = begin; i < end; i++) {
        int region = view_along(&t->sight, view->start[i], view->next[i], view->along[i]);
        if (region >= 0)
            t->counts[chunk].regions[region]++;
    }
}

/* Four in floats: a bit for each that is P, and four higher for each that is N. */
static unsigned test_four(const testing *t, uint32_t first) {
    const abut_self *view = t->view;
    const uint32_t *corner = view->corners + 3 * (size_t)first;
    if (!t->sight.by_line)
        return abuti_view_floats_test(&t->floats, view->places, corner, NULL);
    float along[2][4];
    for (uint32_t k = 0; k < 4; k++) {
        double range[2];
        range_of(view, first + k, range);
        along[0][k] = (float)range[0];
        along[1][k] = (float)range[1];
    }
    return abuti_view_floats_test(&t->floats, view->places, corner, (const float(*)[4])along);
}

static void triangles_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    uint32_t *sets = t->counts[chunk].sets, i = (uint32_t)begin;
    for (; t->floats.usable && i + 4 <= (uint32_t)end; i += 4) {
        unsigned seen = test_four(t, i);
        for (unsigned k = 0; k < 4; k++) {
            unsigned set = seen >> k & 1 ? SET_P : seen >> (4 + k) & 1 ? SET_N : 0;
            if (set)
                t->view->sets[i + k] = (unsigned char)set;
            else
                set = test_triangle(t, i + k);
            sets[set == SET_P ? 0 : set == SET_N ? 1 : 2]++;
        }
    }
    for (; i < (uint32_t)end; i++) {
        unsigned set = test_triangle(t, i);
        sets[set == SET_P ? 0 : set == SET_N ? 1 : 2]++;
    }
}

static void ghosts_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    uint32_t first = t->view->triangle_count;
    for (uint32_t i = first + (uint32_t)begin; i < first + (uint32_t)end; i++)
        t->counts[chunk].ghosts += test_triangle(t, i) != SET_P;
}

static void add_counts(testing *t, size_t chunks, view_counts *counts) {
    for (size_t i = 0; i < chunks; i++) {
        for (int k = 0; k < 4; k++)
            counts->sets[k] += t->counts[i].sets[k];
        for (int k = 0; k < 5; k++)
            counts->regions[k] += t->counts[i].regions[k];
        counts->ghosts += t->counts[i].ghosts;
    }
}

static void run(testing *t, size_t count, size_t grain, size_t room,
                void (*task)(void *, size_t, size_t, size_t), view_counts *counts) {
    memset(t->counts, 0, room * sizeof *t->counts);
    abuti_parallel_for(t->view->context, count, grain, task, t);
    add_counts(t, abuti_chunk_count(count, grain), counts);
}

view_sight abuti_view_sight(const abut_self_line *line, bool by_line) {
    view_sight s = {.by_line = by_line};
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

abut_status abuti_view_test(abut_self *view, const view_sight *sight, view_counts *counts) {
    testing t = {.view = view, .sight = *sight};
    size_t all_vertices = (size_t)view->vertex_count + view->hole_count;
    size_t room = abuti_chunk_count(all_vertices, VERTICES_A_TASK) +
                  abuti_chunk_count(view->triangle_count, TRIANGLES_A_TASK) +
                  abuti_chunk_count(view->ghost_count, GHOSTS_A_TASK);
    t.counts = abuti_allocate(view->context, room, sizeof *t.counts);
    if (!t.counts)
        return ABUT_ERROR_MEMORY;
    memset(counts, 0, sizeof *counts);
    t.point = view_point_checks(&t.sight);
    t.floats = abuti_view_floats(view, &t.sight);
    if (sight->by_line)
        run(&t, all_vertices, VERTICES_A_TASK, room, along_task, counts);
    run(&t, view->triangle_count, TRIANGLES_A_TASK, room, triangles_task, counts);
    run(&t, view->ghost_count, GHOSTS_A_TASK, room, ghosts_task, counts);
    abuti_release(view->context, t.counts);
    return ABUT_OK;
}
