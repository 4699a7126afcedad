/* Exact continuous collision detection: whether a vertex and a face, or two edges, touch during a
 * linear motion.
 *
 * Method: doubles are integers times a power of two, so that all functions below are polynomials in
 * time with integer coefficients. The volume f of the four vertices has degree 3, and the features
 * can touch only at its zeros.
 *
 * If f is not identically zero, its roots in the step are isolated (Descartes' rule of signs, and
 * Sturm's theorem if that is inconclusive). At a root the four vertices are coplanar, and the signs
 * of quadratic polynomials decide: two-dimensional orientations along an axis along which the
 * normal is not zero. The sign of g at the only root of f in an interval is a Tarski query: with
 * the signed remainder sequence of f and f'g, the number of sign changes at one end minus that at
 * the other (Basu, Pollack, Roy 2006, "Algorithms in Real Algebraic Geometry", theorem 2.61).
 *
 * If f is identically zero, the features are coplanar at all times. Then they touch at the start,
 * or they first touch where a vertex is on an edge: in the interior of a face, or at a crossing of
 * edges, they would also have touched just before. A vertex on an edge is the same problem one
 * degree lower: three areas are zero, and the dot product of the vectors to both ends is not
 * positive.
 *
 * Double precision decides first if its signs are certain (sweep_clear.h).
 *
 * Guarantee: exact for all finite doubles.
 */
#include "geom/integer.h"
#include "geom/sweep.h"
#include "geom/sweep_clear.h"

#include <assert.h>

enum { TERMS_MAX = 6, POOL_SLOTS = 256 };

typedef struct poly {
    int terms; /* the last of which is not 0 */
    integer c[TERMS_MAX];
} poly;
typedef struct poly3 {
    poly x, y, z;
} poly3;

/* A time: m / 2^k, or the only root of f in the interval of length 1 / 2^k from there. f is
 * parametrised over the interval, with 0 and 1 at its ends, where it is not zero. */
typedef struct instant {
    bool is_root;
    poly f;
    integer m;
    uint32_t k;
} instant;

typedef struct sweep_exact {
    integer_pool pool;
    int kind;
    poly3 p[4];
} sweep_exact;

/* ---- polynomials ---- */

static poly poly_new(integer_pool *pool, int terms) {
    assert(terms >= 0 && terms <= TERMS_MAX);
    poly r;
    r.terms = terms;
    for (int i = 0; i < TERMS_MAX; i++)
        if (i < terms)
            r.c[i] = integer_new(pool);
        else
            r.c[i] = (integer){0, 0, NULL};
    return r;
}

static void poly_trim(poly *p) {
    while (p->terms && p->c[p->terms - 1].sign == 0)
        p->terms--;
}

static poly poly_copy(integer_pool *pool, const poly *p) {
    poly r = poly_new(pool, p->terms);
    for (int i = 0; i < p->terms; i++)
        integer_set(&r.c[i], &p->c[i]);
    return r;
}

static poly poly_subtract(integer_pool *pool, const poly *a, const poly *b) {
    static const integer zero = {0, 0, NULL};
    poly r = poly_new(pool, a->terms > b->terms ? a->terms : b->terms);
    for (int i = 0; i < r.terms; i++)
        integer_subtract(pool, &r.c[i], i < a->terms ? &a->c[i] : &zero,
                         i < b->terms ? &b->c[i] : &zero);
    poly_trim(&r);
    return r;
}

/* r += s a b; r has enough terms. */
static void poly_add_product(integer_pool *pool, poly *r, const poly *a, const poly *b, int s) {
    uint32_t mark = pool->used;
    integer product = integer_new(pool);
    for (int i = 0; i < a->terms; i++)
        for (int j = 0; j < b->terms; j++) {
            integer_multiply(pool, &product, &a->c[i], &b->c[j]);
            product.sign *= s;
            integer_add(pool, &r->c[i + j], &r->c[i + j], &product);
        }
    pool->used = mark;
}

static poly3 poly3_subtract(integer_pool *pool, const poly3 *a, const poly3 *b) {
    poly3 r;
    r.x = poly_subtract(pool, &a->x, &b->x);
    r.y = poly_subtract(pool, &a->y, &b->y);
    r.z = poly_subtract(pool, &a->z, &b->z);
    return r;
}

static const poly *poly3_axis(const poly3 *a, int axis) {
    return axis == 0 ? &a->x : axis == 1 ? &a->y : &a->z;
}

/* One coordinate of a x b. */
static poly cross_axis(integer_pool *pool, const poly3 *a, const poly3 *b, int axis) {
    int next = axis == 2 ? 0 : axis + 1, last = 3 - axis - next;
    poly r = poly_new(pool, 3);
    poly_add_product(pool, &r, poly3_axis(a, next), poly3_axis(b, last), 1);
    poly_add_product(pool, &r, poly3_axis(a, last), poly3_axis(b, next), -1);
    poly_trim(&r);
    return r;
}

static poly poly3_dot(integer_pool *pool, const poly3 *a, const poly3 *b, int terms) {
    poly r = poly_new(pool, terms);
    for (int axis = 0; axis < 3; axis++)
        poly_add_product(pool, &r, poly3_axis(a, axis), poly3_axis(b, axis), 1);
    poly_trim(&r);
    return r;
}

/* ---- polynomials on the interval from 0 to 1 ---- */

static int sign_at_0(const poly *p) {
    return p->terms ? p->c[0].sign : 0;
}

static int sign_at_1(integer_pool *pool, const poly *p) {
    uint32_t mark = pool->used;
    integer sum = integer_new(pool);
    for (int i = 0; i < p->terms; i++)
        integer_add(pool, &sum, &sum, &p->c[i]);
    pool->used = mark;
    return sum.sign;
}

/* p(t + 1), in place. */
static void poly_shift(integer_pool *pool, poly *p) {
    for (int i = 0; i + 1 < p->terms; i++)
        for (int j = p->terms - 2; j >= i; j--)
            integer_add(pool, &p->c[j], &p->c[j], &p->c[j + 1]);
}

/* Restricts to one half of the interval, in place: p(t / 2) or p((t + 1) / 2), times a power of
 * two. */
static void poly_halve(integer_pool *pool, poly *p, bool right) {
    for (int i = 0; i < p->terms; i++)
        integer_shift(pool, &p->c[i], (uint32_t)(p->terms - 1 - i));
    if (right)
        poly_shift(pool, p);
}

static int count_changes(const integer *c, int count) {
    int changes = 0, last = 0;
    for (int i = 0; i < count; i++) {
        changes += c[i].sign && last && c[i].sign != last;
        last = c[i].sign ? c[i].sign : last;
    }
    return changes;
}

/* An upper bound of the number of roots of p between 0 and 1 (Descartes); exact if it is 0 or 1. */
static int root_limit(integer_pool *pool, const poly *p) {
    uint32_t mark = pool->used;
    poly reversed = poly_new(pool, p->terms);
    for (int i = 0; i < p->terms; i++)
        integer_set(&reversed.c[i], &p->c[p->terms - 1 - i]);
    poly_shift(pool, &reversed);
    pool->used = mark;
    return count_changes(reversed.c, reversed.terms);
}

/* Replaces a by the remainder of a, times a positive number, modulo b. */
static void poly_reduce(integer_pool *pool, poly *a, const poly *b) {
    uint32_t mark = pool->used;
    integer top = integer_new(pool), product = integer_new(pool);
    integer lead = b->c[b->terms - 1];
    int side = lead.sign;
    lead.sign = 1;
    while (a->terms >= b->terms && !pool->full) {
        int at = a->terms - b->terms;
        integer_set(&top, &a->c[a->terms - 1]);
        top.sign *= side;
        for (int i = 0; i + 1 < a->terms; i++) {
            integer_multiply(pool, &product, &a->c[i], &lead);
            integer_set(&a->c[i], &product);
            if (i < at)
                continue;
            integer_multiply(pool, &product, &top, &b->c[i - at]);
            integer_subtract(pool, &a->c[i], &a->c[i], &product);
        }
        a->terms--;
        poly_trim(a);
    }
    pool->used = mark;
}

/* Tarski query: the number of roots of f between 0 and 1 (where f is not zero) at which g is
 * positive, minus the number at which g is negative. A null g is 1. */
static int tarski_query(integer_pool *pool, const poly *f, const poly *g) {
    uint32_t mark = pool->used;
    static const integer none = {0, 0, NULL};
    poly chain[5], slope = poly_new(pool, f->terms - 1);
    for (int i = 0; i < slope.terms; i++) /* times i + 1, by repeated addition */
        for (int k = 0; k <= i; k++)
            integer_add(pool, &slope.c[i], &slope.c[i], &f->c[i + 1]);
    chain[0] = *f;
    chain[1] = g ? poly_new(pool, slope.terms + g->terms - 1) : slope;
    if (g)
        poly_add_product(pool, &chain[1], &slope, g, 1);
    poly_trim(&chain[1]);
    poly_reduce(pool, &chain[1], f);
    int length = 1;
    while (chain[length].terms && length < 4) {
        chain[length + 1] = poly_copy(pool, &chain[length - 1]);
        poly_reduce(pool, &chain[length + 1], &chain[length]);
        for (int i = 0; i < chain[length + 1].terms; i++)
            chain[length + 1].c[i].sign = -chain[length + 1].c[i].sign;
        length++;
    }
    integer at[2][5];
    for (int i = 0; i < 5; i++) {
        at[0][i] = at[1][i] = none;
        if (i <= length) {
            at[0][i].sign = sign_at_0(&chain[i]);
            at[1][i].sign = sign_at_1(pool, &chain[i]);
        }
    }
    pool->used = mark;
    return count_changes(at[0], 5) - count_changes(at[1], 5);
}

/* ---- signs at a time ---- */

/* g, of degree 2 at most, parametrised over the interval of `where`. */
static poly reparametrise(integer_pool *pool, const instant *where, const poly *g) {
    poly r = poly_new(pool, 3);
    for (int i = 0; i < g->terms; i++) { /* Horner's rule in 2^k and m */
        integer_set(&r.c[i], &g->c[i]);
        integer_shift(pool, &r.c[i], where->k * (uint32_t)(2 - i));
    }
    uint32_t mark = pool->used;
    integer product = integer_new(pool);
    for (int i = 0; i < 2; i++)
        for (int j = 1; j >= i; j--) {
            integer_multiply(pool, &product, &r.c[j + 1], &where->m);
            integer_add(pool, &r.c[j], &r.c[j], &product);
        }
    pool->used = mark;
    poly_trim(&r);
    return r;
}

static int sign_at(integer_pool *pool, const instant *where, const poly *g) {
    uint32_t mark = pool->used;
    poly local = reparametrise(pool, where, g);
    int sign = sign_at_0(&local);
    if (where->is_root && local.terms) {
        if (!sign || sign != sign_at_1(pool, &local) || root_limit(pool, &local))
            sign = tarski_query(pool, &where->f, &local);
    }
    pool->used = mark;
    return sign;
}

/* Whether vertex v is on the edge from a to b. */
static bool on_edge(sweep_exact *s, const instant *where, int v, int a, int b) {
    integer_pool *pool = &s->pool;
    uint32_t mark = pool->used;
    poly3 to_a = poly3_subtract(pool, &s->p[a], &s->p[v]);
    poly3 to_b = poly3_subtract(pool, &s->p[b], &s->p[v]);
    bool on = true;
    for (int axis = 0; axis < 3 && on; axis++) {
        poly area = cross_axis(pool, &to_a, &to_b, axis);
        on = sign_at(pool, where, &area) == 0;
    }
    if (on) {
        poly dots = poly3_dot(pool, &to_a, &to_b, 3);
        on = sign_at(pool, where, &dots) <= 0;
    }
    pool->used = mark;
    return on;
}

/* The side of the line from a to b on which v is, in the projection along an axis. */
static int side_of(sweep_exact *s, const instant *where, int axis, int a, int b, int v) {
    integer_pool *pool = &s->pool;
    uint32_t mark = pool->used;
    poly3 line = poly3_subtract(pool, &s->p[b], &s->p[a]);
    poly3 to_v = poly3_subtract(pool, &s->p[v], &s->p[a]);
    poly area = cross_axis(pool, &line, &to_v, axis);
    int sign = sign_at(pool, where, &area);
    pool->used = mark;
    return sign;
}

/* Whether the features touch at a time at which they are coplanar. */
static bool touch_at(sweep_exact *s, const instant *where) {
    integer_pool *pool = &s->pool;
    uint32_t mark = pool->used;
    bool edges = s->kind == SWEEP_EDGE_EDGE;
    poly3 u = poly3_subtract(pool, &s->p[edges ? 1 : 2], &s->p[edges ? 0 : 1]);
    poly3 w = poly3_subtract(pool, &s->p[3], &s->p[edges ? 2 : 1]);
    int axis = -1, side = 0;
    while (!side && ++axis < 3) {
        poly n = cross_axis(pool, &u, &w, axis);
        side = sign_at(pool, where, &n);
    }
    pool->used = mark;
    if (!side)
        return edges ? on_edge(s, where, 0, 2, 3) || on_edge(s, where, 1, 2, 3) ||
                           on_edge(s, where, 2, 0, 1) || on_edge(s, where, 3, 0, 1)
                     : on_edge(s, where, 0, 1, 2) || on_edge(s, where, 0, 2, 3) ||
                           on_edge(s, where, 0, 3, 1);
    if (edges)
        return side_of(s, where, axis, 0, 1, 2) * side_of(s, where, axis, 0, 1, 3) <= 0 &&
               side_of(s, where, axis, 2, 3, 0) * side_of(s, where, axis, 2, 3, 1) <= 0;
    return side_of(s, where, axis, 1, 2, 0) * side >= 0 &&
           side_of(s, where, axis, 2, 3, 0) * side >= 0 &&
           side_of(s, where, axis, 3, 1, 0) * side >= 0;
}

/* ---- all roots ---- */

typedef bool (*instant_test)(sweep_exact *s, const instant *where, const int *vertices);

static bool features_touch(sweep_exact *s, const instant *where, const int *vertices) {
    (void)vertices;
    return touch_at(s, where);
}
static bool vertex_on_edge(sweep_exact *s, const instant *where, const int *vertices) {
    return on_edge(s, where, vertices[0], vertices[1], vertices[2]);
}
static bool accept_always(sweep_exact *s, const instant *where, const int *vertices) {
    (void)s, (void)where, (void)vertices;
    return true;
}

/* Divides f by its roots at 0 and 1, in place. */
static void remove_end_roots(integer_pool *pool, poly *f) {
    while (f->terms && sign_at_0(f) == 0) {
        for (int i = 0; i + 1 < f->terms; i++)
            integer_set(&f->c[i], &f->c[i + 1]);
        f->terms--;
    }
    while (f->terms > 1 && sign_at_1(pool, f) == 0) { /* f / (t - 1) */
        for (int i = f->terms - 2; i > 0; i--)
            integer_add(pool, &f->c[i], &f->c[i], &f->c[i + 1]);
        for (int i = 0; i + 1 < f->terms; i++)
            integer_set(&f->c[i], &f->c[i + 1]);
        f->terms--;
    }
}

/* Restricts a time to one half of its interval. */
static void instant_halve(integer_pool *pool, instant *where, bool right) {
    uint32_t mark = pool->used;
    integer one = integer_of(pool, right, 0);
    integer_shift(pool, &where->m, 1);
    integer_add(pool, &where->m, &where->m, &one);
    where->k++;
    pool->used = mark;
    poly_halve(pool, &where->f, right);
}

static int count_roots_inside(integer_pool *pool, const poly *f) {
    int roots = root_limit(pool, f);
    return roots > 1 ? tarski_query(pool, f, NULL) : roots;
}

/* Tests the roots of where->f inside the interval, at whose ends it is not zero. Changes `where`.
 * Recurses only if both halves have roots, with fewer roots each: at most three levels. */
static bool any_root_inside(sweep_exact *s, instant *where, instant_test test,
                            const int *vertices) {
    integer_pool *pool = &s->pool;
    int roots = count_roots_inside(pool, &where->f);
    for (uint32_t halvings = 0; roots && !pool->full; halvings++) {
        if (roots == 1 && halvings >= 8) { /* in a short interval most signs are certain */
            where->is_root = true;
            return test(s, where, vertices);
        }
        uint32_t mark = pool->used;
        instant right = *where;
        right.f = poly_copy(pool, &where->f);
        right.m = integer_new(pool);
        integer_set(&right.m, &where->m);
        instant_halve(pool, &right, true);
        bool middle = sign_at_0(&right.f) == 0;
        if (middle && test(s, &right, vertices))
            return true;
        remove_end_roots(pool, &right.f);
        /* a single root with a sign change need not be counted */
        bool change = sign_at_0(&where->f) != sign_at_1(pool, &where->f);
        int beyond = roots == 1 && change ? !middle && sign_at_0(&right.f) == sign_at_0(&where->f)
                                          : count_roots_inside(pool, &right.f);
        if (beyond && beyond + middle < roots) {
            if (any_root_inside(s, &right, test, vertices))
                return true;
        } else if (beyond) {
            where->f.terms = right.f.terms;
            for (int i = 0; i < right.f.terms; i++)
                integer_set(&where->f.c[i], &right.f.c[i]);
            integer_set(&where->m, &right.m);
            where->k = right.k;
            roots = beyond;
            pool->used = mark;
            continue;
        }
        pool->used = mark;
        instant_halve(pool, where, false);
        remove_end_roots(pool, &where->f);
        roots -= beyond + middle;
    }
    return false;
}

/* Tests all roots of f, which is not identically zero. */
static bool any_root(sweep_exact *s, const poly *f, instant_test test, const int *vertices) {
    integer_pool *pool = &s->pool;
    uint32_t mark = pool->used;
    instant where = {.is_root = false, .m = integer_of(pool, 0, 0), .k = 0};
    where.f = poly_copy(pool, f);
    bool found = sign_at_0(f) == 0 && test(s, &where, vertices);
    if (!found && sign_at_1(pool, f) == 0) {
        where.m = integer_of(pool, 1, 0);
        found = test(s, &where, vertices);
        where.m = integer_of(pool, 0, 0);
    }
    if (!found) {
        remove_end_roots(pool, &where.f);
        found = any_root_inside(s, &where, test, vertices);
    }
    pool->used = mark;
    return found;
}

/* Whether vertex v is on the edge from a to b at any time. */
static bool ever_on_edge(sweep_exact *s, int v, int a, int b) {
    integer_pool *pool = &s->pool;
    uint32_t mark = pool->used;
    const int vertices[3] = {v, a, b};
    poly3 to_a = poly3_subtract(pool, &s->p[a], &s->p[v]);
    poly3 to_b = poly3_subtract(pool, &s->p[b], &s->p[v]);
    bool found = false, in_line = true;
    for (int axis = 0; axis < 3 && in_line; axis++) {
        poly area = cross_axis(pool, &to_a, &to_b, axis);
        in_line = area.terms == 0;
        if (!in_line)
            found = any_root(s, &area, vertex_on_edge, vertices);
    }
    if (in_line) { /* at all times */
        poly dots = poly3_dot(pool, &to_a, &to_b, 3);
        found = sign_at_0(&dots) <= 0 || sign_at_1(pool, &dots) <= 0 ||
                any_root(s, &dots, accept_always, vertices);
    }
    pool->used = mark;
    return found;
}

static bool ever_touch(sweep_exact *s) {
    integer_pool *pool = &s->pool;
    bool edges = s->kind == SWEEP_EDGE_EDGE;
    poly3 u = poly3_subtract(pool, &s->p[edges ? 1 : 2], &s->p[edges ? 0 : 1]), n;
    poly3 w = poly3_subtract(pool, &s->p[3], &s->p[edges ? 2 : 1]);
    poly3 r = poly3_subtract(pool, &s->p[0], &s->p[edges ? 2 : 1]);
    n.x = cross_axis(pool, &u, &w, 0);
    n.y = cross_axis(pool, &u, &w, 1);
    n.z = cross_axis(pool, &u, &w, 2);
    poly f = poly3_dot(pool, &n, &r, 4);
    if (f.terms)
        return any_root(s, &f, features_touch, NULL);
    instant start = {.is_root = false, .m = integer_of(pool, 0, 0), .k = 0};
    if (touch_at(s, &start))
        return true;
    if (edges)
        return ever_on_edge(s, 0, 2, 3) || ever_on_edge(s, 1, 2, 3) || ever_on_edge(s, 2, 0, 1) ||
               ever_on_edge(s, 3, 0, 1);
    return ever_on_edge(s, 0, 1, 2) || ever_on_edge(s, 0, 2, 3) || ever_on_edge(s, 0, 3, 1);
}

/* ---- entry point ---- */

/* The range of exponents of all bits of all coordinates. */
static void exponents_of(const vec3 *p, int *lowest, int *highest) {
    for (int k = 0; k < 4; k++)
        for (int axis = 0; axis < 3; axis++) {
            int exponent;
            double x = v3_get(p[k], axis), m = ldexp(frexp(fabs(x), &exponent), 53);
            if (x == 0)
                continue;
            *highest = exponent > *highest ? exponent : *highest;
            uint64_t bits = (uint64_t)m;
            for (exponent -= 53; !(bits & 1); bits >>= 1)
                exponent++;
            *lowest = exponent < *lowest ? exponent : *lowest;
        }
}

static poly linear_poly(integer_pool *pool, double start, double end, int shift) {
    poly r = poly_new(pool, 2);
    uint32_t mark = pool->used;
    integer from = integer_of(pool, start, shift), to = integer_of(pool, end, shift);
    integer_set(&r.c[0], &from);
    integer_subtract(pool, &r.c[1], &to, &from);
    pool->used = mark;
    poly_trim(&r);
    return r;
}

abut_status abuti_sweep_exact(abut_context *context, int kind, const vec3 *start, const vec3 *end,
                              bool *touches) {
    int clear = sweep_clear(kind, start, end);
    if (clear != SWEEP_UNCLEAR) {
        *touches = clear == SWEEP_TOUCHES;
        return ABUT_OK;
    }
    int lowest = INT16_MAX, highest = INT16_MIN;
    exponents_of(start, &lowest, &highest);
    exponents_of(end, &lowest, &highest);
    if (lowest > highest) /* all coordinates are zero */
        lowest = highest = 0;
    uint32_t bits = (uint32_t)(highest - lowest) + 8;
    /* f has three times the bits, and a Tarski query about 60 times; few pairs need one */
    for (uint32_t room = bits / 2 + 4;; room *= 4) {
        sweep_exact s = {.kind = kind};
        s.pool.slots = POOL_SLOTS;
        s.pool.room = room;
        s.pool.digits = abuti_allocate(context, (size_t)POOL_SLOTS * room, sizeof *s.pool.digits);
        if (!s.pool.digits)
            return ABUT_ERROR_MEMORY;
        for (int k = 0; k < 4; k++) {
            s.p[k].x = linear_poly(&s.pool, start[k].x, end[k].x, -lowest);
            s.p[k].y = linear_poly(&s.pool, start[k].y, end[k].y, -lowest);
            s.p[k].z = linear_poly(&s.pool, start[k].z, end[k].z, -lowest);
        }
        bool found = ever_touch(&s);
        abuti_release(context, s.pool.digits);
        if (!s.pool.full) {
            *touches = found;
            return ABUT_OK;
        }
    }
}
