/* Elementary tests as in Cheng 2011, sections 4.5 and 5.6, after Tang, Curtis, Yoon and Manocha
 * (2009): the roots of the volume of the four vertices, a cubic in time, by an interval Newton
 * search, and a test whether the features overlap there (Provot 1997). A cubic that is zero
 * throughout, one whose roots are not found in INTERVALS_MAX steps, and edges that are parallel at
 * a root are decided by abut_sweep_vertex_face() and abut_sweep_edge_edge(): the published test
 * misses such contacts. */
#include "baseline.h"

#include "apps/cmd/vectors.h"

enum { INTERVALS_MAX = 300 };
/* Width of an interval around a root; relative error of a volume in doubles; and by how much a
 * point may be outside a feature, relative to it. */
#define ROOT_WIDTH 1e-11
#define VOLUME_ERROR 1e-14
#define OVERLAP_SLACK 1e-7
/* Below this squared sine edges count as parallel. */
#define PARALLEL 1e-18

typedef struct problem {
    abut_impact_kind kind;
    abut_vec3 start[4], end[4];
    double c[4]; /* of the powers of time */
    int intervals_left;
    bool undecided;
} problem;

static double volume(abut_vec3 a, abut_vec3 b, abut_vec3 c) {
    return vec_dot(vec_cross(a, b), c);
}

/* Returns the largest possible value of its terms. */
static double compute_cubic(problem *p) {
    static const int ends[2][3][2] = {{{1, 2}, {1, 3}, {1, 0}}, {{0, 1}, {2, 3}, {0, 2}}};
    abut_vec3 s[3], v[3];
    double bound = 1;
    for (int k = 0; k < 3; k++) {
        const int *end = ends[p->kind][k];
        s[k] = vec_sub(p->start[end[1]], p->start[end[0]]);
        v[k] = vec_sub(vec_sub(p->end[end[1]], p->end[end[0]]), s[k]);
        bound *= sqrt(vec_dot(s[k], s[k])) + sqrt(vec_dot(v[k], v[k]));
    }
    p->c[0] = volume(s[0], s[1], s[2]);
    p->c[1] = volume(v[0], s[1], s[2]) + volume(s[0], v[1], s[2]) + volume(s[0], s[1], v[2]);
    p->c[2] = volume(s[0], v[1], v[2]) + volume(v[0], s[1], v[2]) + volume(v[0], v[1], s[2]);
    p->c[3] = volume(v[0], v[1], v[2]);
    return bound;
}

/* Whether the features, which are coplanar at a time, overlap then. If the edges are parallel or
 * the face is degenerate, `undecided` is set. */
static bool overlap_at(problem *p, double t) {
    abut_vec3 at[4];
    for (int k = 0; k < 4; k++)
        at[k] = vec_along(p->start[k], t, vec_sub(p->end[k], p->start[k]));
    const bool face = p->kind == ABUT_IMPACT_VERTEX_FACE;
    const abut_vec3 u = face ? vec_sub(at[2], at[1]) : vec_sub(at[1], at[0]);
    const abut_vec3 w = face ? vec_sub(at[3], at[1]) : vec_sub(at[3], at[2]);
    const abut_vec3 r = face ? vec_sub(at[0], at[1]) : vec_sub(at[2], at[0]);
    const abut_vec3 n = vec_cross(u, w);
    const double nn = vec_dot(n, n), slack = OVERLAP_SLACK * nn;
    const double a = vec_dot(vec_cross(r, w), n);
    const double b = vec_dot(face ? vec_cross(u, r) : vec_cross(r, u), n);
    if (!(nn > PARALLEL * vec_dot(u, u) * vec_dot(w, w)))
        p->undecided = true;
    if (p->undecided || a < -slack || b < -slack)
        return false;
    return face ? a + b <= nn + slack : a <= nn + slack && b <= nn + slack;
}

static double cubic_at(const double *c, double t) {
    return c[0] + t * (c[1] + t * (c[2] + t * c[3]));
}

/* The range of the derivative over an interval: its values at the ends and at its vertex. */
static void slope_range(const double *c, double lo, double hi, double range[2]) {
    const double first = c[1] + lo * (2 * c[2] + 3 * c[3] * lo);
    const double last = c[1] + hi * (2 * c[2] + 3 * c[3] * hi);
    const double vertex = c[3] != 0 ? -c[2] / (3 * c[3]) : lo;
    const double between =
        vertex > lo && vertex < hi ? c[1] + vertex * (2 * c[2] + 3 * c[3] * vertex) : first;
    range[0] = fmin(first, fmin(last, between));
    range[1] = fmax(first, fmax(last, between));
}

/* Narrows an interval by m - f(m) / F'(X), or halves it if the slope may be zero there. Returns the
 * first root at which the features overlap, otherwise 2. */
static double search_roots(problem *p, double lo, double hi) {
    while (hi - lo > ROOT_WIDTH) {
        double slopes[2];
        const double m = 0.5 * (lo + hi), f = cubic_at(p->c, m);
        if (--p->intervals_left < 0)
            p->undecided = true;
        if (p->undecided)
            return 2;
        slope_range(p->c, lo, hi, slopes);
        if (slopes[0] <= 0 && slopes[1] >= 0) {
            const double reach = fmax(-slopes[0], slopes[1]) * 0.5 * (hi - lo);
            if (fabs(f) > reach)
                return 2;
            const double before = search_roots(p, lo, m);
            if (before <= 1)
                return before;
            lo = m;
        } else {
            const double a = m - f / slopes[0], b = m - f / slopes[1];
            lo = fmax(lo, fmin(a, b) - ROOT_WIDTH / 8);
            hi = fmin(hi, fmax(a, b) + ROOT_WIDTH / 8);
        }
    }
    return lo <= hi && overlap_at(p, 0.5 * (lo + hi)) ? lo : 2;
}

static double decide_by_sweep(const problem *p) {
    abut_sweep_result result;
    abut_status status = p->kind == ABUT_IMPACT_VERTEX_FACE
                             ? abut_sweep_vertex_face(p->start, p->end, NULL, &result)
                             : abut_sweep_edge_edge(p->start, p->end, NULL, &result);
    return !status && result.hit ? result.time : 2;
}

double baseline_elementary(abut_impact_kind kind, const baseline_step *step,
                           const uint32_t four[4]) {
    problem p = {.kind = kind, .intervals_left = INTERVALS_MAX};
    for (int k = 0; k < 4; k++) {
        p.start[k] = step->start[four[k]];
        p.end[k] = step->end[four[k]];
    }
    const double error = VOLUME_ERROR * compute_cubic(&p);
    /* coefficients of Bernstein polynomials bound the cubic (the min-max bound of the thesis) */
    const double b[4] = {p.c[0], p.c[0] + p.c[1] / 3, p.c[0] + (2 * p.c[1] + p.c[2]) / 3,
                         p.c[0] + p.c[1] + p.c[2] + p.c[3]};
    const double low = fmin(fmin(b[0], b[1]), fmin(b[2], b[3]));
    const double high = fmax(fmax(b[0], b[1]), fmax(b[2], b[3]));
    if (low > error || high < -error)
        return 2;
    if (low >= -error && high <= error)
        return decide_by_sweep(&p);
    const double time = search_roots(&p, 0, 1);
    return p.undecided ? decide_by_sweep(&p) : time;
}

bool baseline_features_near(abut_impact_kind kind, const baseline_tree *tree,
                            const uint32_t four[4]) {
    const int first = kind == ABUT_IMPACT_VERTEX_FACE ? 1 : 2;
    const float *of[4];
    for (int k = 0; k < 4; k++)
        of[k] = tree->of_vertices + (size_t)four[k] * 2 * tree->slabs;
    for (uint32_t lo = 0, hi = tree->slabs; lo < 3; lo++, hi++) {
        float low[2] = {of[0][lo], of[first][lo]}, high[2] = {of[0][hi], of[first][hi]};
        for (int k = 1; k < 4; k++) {
            const int side = k >= first;
            low[side] = of[k][lo] < low[side] ? of[k][lo] : low[side];
            high[side] = of[k][hi] > high[side] ? of[k][hi] : high[side];
        }
        if (low[0] > high[1] || low[1] > high[0])
            return false;
    }
    return true;
}
