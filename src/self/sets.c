/* The view test: by which triangles do rays from the view primitive leave during the whole step, by
 * which do they enter, and which are in doubt? (document 004, sections 3.2, 3.3 and 4.2)
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

enum {
    VERTICES_A_TASK = 4096,
    CLUSTERS_A_TASK = 512,
    TRIANGLES_A_TASK = 2048,
    GHOSTS_A_TASK = 512
};

#define FACTOR (128 * DBL_EPSILON) /* 256 u */
#define SMALLEST 1e-290
/* Of places along the line: far more than their rounding, the second for vertices that are many
 * times the length of the line away. */
#define MARGIN 1e-9
#define FAR_MARGIN 1e-12

/* ---- one triangle ---- */

unsigned abuti_view_triangle(const vec3 start[3], const vec3 end[3], const vec3 check_start[2],
                             const vec3 check_end[2], int checks, double slack) {
    vec3 ba = v3_sub(start[1], start[0]), ca = v3_sub(start[2], start[0]);
    vec3 be = v3_sub(end[1], end[0]), ce = v3_sub(end[2], end[0]);
    vec3 n0 = v3_cross(ba, ca), n2 = v3_cross(be, ce);
    vec3 n1 = v3_add(v3_cross(ba, ce), v3_cross(be, ca));
    double sides = real_max(v3_max_abs(ba), v3_max_abs(be));
    sides *= real_max(v3_max_abs(ca), v3_max_abs(ce));
    unsigned sets = SET_P | SET_N;
    for (int i = 0; i < checks; i++) {
        vec3 ra = v3_sub(start[0], check_start[i]), re = v3_sub(end[0], check_end[i]);
        double size = (real_max(v3_max_abs(ra), v3_max_abs(re)) + slack) * sides;
        double bound = size * FACTOR;
        double b0 = v3_dot(ra, n0), b1 = v3_dot(ra, n1) + v3_dot(re, n0);
        double b2 = v3_dot(re, n1) + v3_dot(ra, n2), b3 = v3_dot(re, n2);
        bool sure = size > SMALLEST && sides > SMALLEST;
        if (!(sure && b0 > bound && b1 > bound && b2 > bound && b3 > bound))
            sets &= ~(unsigned)SET_P;
        if (!(sure && b0 < -bound && b1 < -bound && b2 < -bound && b3 < -bound))
            sets &= ~(unsigned)SET_N;
    }
    return sets ? sets : SET_Z;
}

/* ---- all of them ---- */

typedef struct testing {
    abut_view *view;
    bool by_line;
    bool turns;                  /* the line, too much to say who sees what of it */
    vec3 along_start, along_end; /* L */
    double d[3];                 /* Bernstein coefficients of L.L */
    double inverse;              /* of the length of L, about */
    double slack;                /* Q */
    view_counts *counts;         /* one a task */
} testing;

/* What a triangle or cluster sees of the line. */
typedef struct checks {
    vec3 start[2], end[2];
    int count;
    double slack;
} checks;

static vec3 place_on(const vec3 *ends, vec3 along, double s) {
    return s <= 0 ? ends[0] : s >= 1 ? ends[1] : v3_along(ends[0], s, along);
}

static checks checks_of(const testing *t, double lo, double hi) {
    const abut_view_line *line = &t->view->line;
    const double s[2] = {lo, hi};
    checks c;
    c.count = lo == hi ? 1 : 2;
    c.slack = (lo > 0 && lo < 1) || (hi > 0 && hi < 1) ? t->slack : 0;
    for (int k = 0; k < c.count; k++) {
        c.start[k] = place_on(line->start, t->along_start, s[k]);
        c.end[k] = place_on(line->end, t->along_end, s[k]);
    }
    return c;
}

static checks checks_of_vertices(const testing *t, const uint32_t *vertices, uint32_t count) {
    double lo = 1, hi = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double *along = t->view->along[vertices[i]];
        lo = real_min(lo, along[0]);
        hi = real_max(hi, along[1]);
    }
    return checks_of(t, lo, hi);
}

static checks point_checks(const testing *t) {
    const abut_view_line *line = &t->view->line;
    checks c = {.count = 1};
    c.start[0] = v3_lerp(line->start[0], line->start[1], 0.5);
    c.end[0] = v3_lerp(line->end[0], line->end[1], 0.5);
    return c;
}

static void test_triangle(const testing *t, uint32_t triangle, const checks *c,
                          view_counts *counts) {
    abut_view *view = t->view;
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    vec3 start[3], end[3];
    for (int k = 0; k < 3; k++) {
        start[k] = view->start[corner[k]];
        end[k] = view->next[corner[k]];
    }
    unsigned set = abuti_view_triangle(start, end, c->start, c->end, c->count, c->slack);
    view->sets[triangle] = (unsigned char)set;
    if (triangle < view->triangle_count)
        counts->sets[set == SET_P ? 0 : set == SET_N ? 1 : 2]++;
    else
        counts->ghosts += set != SET_P;
}

/* Where on the line a vertex is seen from, during the whole step. */
static void along_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    const abut_view *view = t->view;
    const abut_view_line *line = &view->line;
    uint32_t *regions = t->counts[chunk].regions;
    for (size_t i = begin; i < end; i++) {
        double *along = view->along[i];
        if (t->turns) {
            along[0] = 0;
            along[1] = 1;
            continue;
        }
        vec3 a = v3_sub(view->start[i], line->start[0]), e = v3_sub(view->next[i], line->end[0]);
        double u0 = v3_dot(a, t->along_start) / t->d[0], u2 = v3_dot(e, t->along_end) / t->d[2];
        double u1 = 0.5 * (v3_dot(a, t->along_end) + v3_dot(e, t->along_start)) / t->d[1];
        double lo = real_min(u0, real_min(u1, u2)), hi = real_max(u0, real_max(u1, u2));
        double margin = MARGIN + FAR_MARGIN * t->inverse * (v3_max_abs(a) + v3_max_abs(e));
        along[0] = real_clamp(lo - margin, 0, 1);
        along[1] = real_clamp(hi + margin, 0, 1);
        int from = u0 < 0 ? 0 : u0 > 1 ? 1 : 2, to = u2 < 0 ? 0 : u2 > 1 ? 1 : 2;
        regions[from == to ? from : from == 1 || to == 1 ? 4 : 3]++;
    }
}

static void clusters_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    const view_lists *of = &t->view->cluster, *rim = &t->view->cluster_rim;
    for (size_t i = begin; i < end; i++) {
        checks c =
            checks_of_vertices(t, rim->items + rim->begin[i], rim->begin[i + 1] - rim->begin[i]);
        for (uint32_t j = of->begin[i]; j < of->begin[i + 1]; j++)
            test_triangle(t, of->items[j], &c, &t->counts[chunk]);
    }
}

static void triangles_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    checks point = point_checks(t);
    for (size_t i = begin; i < end; i++) {
        checks own = t->by_line ? checks_of_vertices(t, t->view->corners + 3 * i, 3) : point;
        test_triangle(t, (uint32_t)i, &own, &t->counts[chunk]);
    }
}

static void ghosts_task(void *data, size_t chunk, size_t begin, size_t end) {
    const testing *t = data;
    uint32_t first = t->view->triangle_count;
    checks point = point_checks(t);
    for (uint32_t i = first + (uint32_t)begin; i < first + (uint32_t)end; i++) {
        checks own =
            t->by_line ? checks_of_vertices(t, t->view->corners + 3 * (size_t)i, 3) : point;
        test_triangle(t, i, &own, &t->counts[chunk]);
    }
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

abut_status abuti_view_test(abut_view *view, bool by_line, view_counts *counts) {
    const abut_view_line *line = &view->line;
    testing t = {.view = view, .by_line = by_line};
    size_t all_vertices = (size_t)view->vertex_count + view->hole_count;
    size_t room = abuti_chunk_count(all_vertices, VERTICES_A_TASK) +
                  abuti_chunk_count(view->triangle_count, CLUSTERS_A_TASK) +
                  abuti_chunk_count(view->ghost_count, GHOSTS_A_TASK);
    t.counts = abuti_allocate(view->context, room, sizeof *t.counts);
    if (!t.counts)
        return ABUT_ERROR_MEMORY;
    t.along_start = v3_sub(line->start[1], line->start[0]);
    t.along_end = v3_sub(line->end[1], line->end[0]);
    t.d[0] = v3_length_sq(t.along_start);
    t.d[1] = v3_dot(t.along_start, t.along_end);
    t.d[2] = v3_length_sq(t.along_end);
    double largest = real_max(t.d[0], t.d[2]);
    t.turns = !(real_min(t.d[0], real_min(t.d[1], t.d[2])) > 1e-3 * largest && largest > 1e-200);
    t.inverse = t.turns ? 0 : 1 / sqrt(t.d[1]); /* the others are within a factor of 32 */
    for (int k = 0; k < 2; k++)
        t.slack = real_max(t.slack, real_max(v3_max_abs(line->start[k]), v3_max_abs(line->end[k])));
    memset(counts, 0, sizeof *counts);
    if (by_line)
        run(&t, all_vertices, VERTICES_A_TASK, room, along_task, counts);
    if (by_line && !view->options.no_clusters)
        run(&t, view->cluster_count, CLUSTERS_A_TASK, room, clusters_task, counts);
    else
        run(&t, view->triangle_count, TRIANGLES_A_TASK, room, triangles_task, counts);
    run(&t, view->ghost_count, GHOSTS_A_TASK, room, ghosts_task, counts);
    abuti_release(view->context, t.counts);
    return ABUT_OK;
}
