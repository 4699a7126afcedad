/* Both surfaces, or their inside parts, as seen along a normal: heights at a place, and edges that
 * cross.
 *
 * Of a what looks down counts, of b what looks up. Where triangles lie is asked of their skin, how
 * high they are of their true planes. They stand in a grid across the normal with about as many
 * cells as triangles, so that a place looks at a few of them. */
#include "contact/patch.h"

#include "base/simd.h"

#include <math.h>
#include <string.h>

#define SLOPE 0.02 /* steeper faces say nothing of heights */
#define SLACK 1e-7 /* of the smaller body */

enum {
    CELLS_MAX = 128, /* along a side */
    A_CELL = 64      /* triangles, at least, for which there are more cells */
};

/* ---- the view ---- */

void abuti_patch_across(vec3 normal, vec3 along[2]) {
    vec3 other = fabs(normal.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    along[0] = v3_normalise(v3_cross(normal, other));
    along[1] = v3_cross(normal, along[0]);
}

/* The sides of a shadow, with slack. */
static void set_sides(patch_plane *p, const double u[3], const double v[3], double slack) {
    double area = (u[1] - u[0]) * (v[2] - v[0]) - (v[1] - v[0]) * (u[2] - u[0]);
    double turn = area < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        double eu = turn * (u[next] - u[k]), ev = turn * (v[next] - v[k]);
        p->edge[k][0] = ev * u[k] - eu * v[k] + slack * (fabs(eu) + fabs(ev));
        p->edge[k][1] = -ev;
        p->edge[k][2] = eu;
    }
}

static inline patch_seen seen_at(patch_work *work, uint32_t side, uint32_t vertex) {
    const patch_view *view = &work->view;
    patch_body *body = &work->body[side];
    patch_seen *seen = &work->seen[side][vertex % PATCH_PLACED];
    if (work->seen_vertex[side][vertex % PATCH_PLACED] == vertex)
        return *seen;
    work->seen_vertex[side][vertex % PATCH_PLACED] = vertex;
    vec3 p = patch_true(body, vertex), q = patch_place(body, vertex);
    *seen =
        (patch_seen){v3_dot(q, view->along[0]), v3_dot(q, view->along[1]),
                     v3_dot(p, view->along[0]), v3_dot(p, view->along[1]), v3_dot(p, view->normal)};
    return *seen;
}

static void add_plane(patch_work *work, uint32_t side, uint32_t face) {
    patch_view *view = &work->view;
    const uint32_t *corner = work->body[side].skin->corner + 3 * (size_t)face;
    patch_seen c[3];
    for (int k = 0; k < 3; k++)
        c[k] = seen_at(work, side, corner[k]);
    vec3 p = v3(c[1].u - c[0].u, c[1].v - c[0].v, c[1].h - c[0].h);
    vec3 q = v3(c[2].u - c[0].u, c[2].v - c[0].v, c[2].h - c[0].h), n = v3_cross(p, q);
    double up = side ? n.z : -n.z;
    if (!(up > 0) || !(up > view->least_cosine * patch_area_length(n)))
        return;
    patch_plane *at = &view->planes[view->count++];
    at->side = side;
    at->face = face;
    at->du = -n.x / n.z;
    at->dv = -n.y / n.z;
    at->h = c[0].h - at->du * c[0].u - at->dv * c[0].v;
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = c[k].skin_u;
        v[k] = c[k].skin_v;
        at->true_u[k] = c[k].u;
        at->true_v[k] = c[k].v;
        at->true_h[k] = c[k].h;
    }
    set_sides(at, u, v, view->slack);
    at->lo[0] = real_min(u[0], real_min(u[1], u[2])) - view->slack;
    at->hi[0] = real_max(u[0], real_max(u[1], u[2])) + view->slack;
    at->lo[1] = real_min(v[0], real_min(v[1], v[2])) - view->slack;
    at->hi[1] = real_max(v[0], real_max(v[1], v[2])) + view->slack;
    if (side) {
        at->reach = real_max(c[0].h, real_max(c[1].h, c[2].h));
        view->top = real_max(view->top, at->reach);
    } else {
        at->reach = real_min(c[0].h, real_min(c[1].h, c[2].h));
        view->bottom = real_min(view->bottom, at->reach);
    }
}

/* The cell along an axis in which a number is. */
static uint32_t cell_at(const patch_view *view, int axis, double x) {
    double cell = (x - view->lo[axis]) * view->scale[axis];
    return cell >= view->cells - 1 ? view->cells - 1 : cell > 0 ? (uint32_t)cell : 0;
}

static abut_status room_for(patch_work *work, void *list, size_t wanted, size_t bytes,
                            size_t *room) {
    return wanted <= *room ? ABUT_OK : abuti_patch_grow(work->memory, list, 0, wanted, bytes, room);
}

/* Cells [lo[axis], hi[axis]] in which a triangle is. */
typedef struct cell_range {
    uint32_t lo[2], hi[2];
} cell_range;

static inline cell_range cells_of(const patch_view *view, const patch_plane *p) {
    cell_range range;
    for (int axis = 0; axis < 2; axis++) {
        range.lo[axis] = cell_at(view, axis, p->lo[axis]);
        range.hi[axis] = cell_at(view, axis, p->hi[axis]);
    }
    return range;
}

/* Floats that are below and above: two roundings away. */
static inline float float_below(double x) {
    return (float)(x - 0x1p-22 * fabs(x));
}
static inline float float_above(double x) {
    return (float)(x + 0x1p-22 * fabs(x));
}

/* Puts a triangle into a cell. */
static inline void fill_cell(patch_view *view, size_t cell, uint32_t i) {
    const patch_plane *p = &view->planes[i];
    uint32_t slot = view->used[cell]++, k = slot % 4;
    patch_four *four = &view->fours[view->begin[cell] + slot / 4];
    if (k == 0) /* boxes of the other lanes overlap nothing, not even infinite ones, until they are
                   set */
        for (int other = 1; other < 4; other++)
            four->lo[0][other] = NAN;
    for (int axis = 0; axis < 2; axis++) {
        four->lo[axis][k] = float_below(p->lo[axis]);
        four->hi[axis][k] = float_above(p->hi[axis]);
    }
    four->high[k] = p->side ? float_above(p->reach) : -INFINITY;
    four->plane[k] = i;
}

static abut_status start_grid(patch_work *work, const double lo[2], const double hi[2]) {
    patch_view *view = &work->view;
    uint32_t cells = 1;
    while (cells < CELLS_MAX && (size_t)cells * cells * A_CELL < view->count)
        cells *= 2;
    view->cells = cells;
    for (int axis = 0; axis < 2; axis++) {
        double extent = hi[axis] - lo[axis];
        view->lo[axis] = lo[axis];
        view->scale[axis] = extent > 0 ? cells / extent : 0;
    }
    size_t all = (size_t)cells * cells;
    abut_status status =
        room_for(work, &view->begin, all + 1, sizeof *view->begin, &view->begin_room);
    status =
        status ? status : room_for(work, &view->used, all, sizeof *view->used, &view->used_room);
    status =
        status ? status : room_for(work, &view->reach, all, sizeof *view->reach, &view->reach_room);
    for (size_t c = 0; c < all && !status; c++) {
        view->used[c] = 0;
        view->reach[c][0] = INFINITY;
        view->reach[c][1] = -INFINITY;
    }
    return status;
}

/* Sorts the planes into cells: counts them, then fills. */
static abut_status make_grid(patch_work *work, const double lo[2], const double hi[2]) {
    patch_view *view = &work->view;
    abut_status status = start_grid(work, lo, hi);
    if (status)
        return status;
    size_t cells = view->cells, all = cells * cells;
    for (uint32_t i = 0; i < view->count; i++) {
        const patch_plane *p = &view->planes[i];
        cell_range range = cells_of(view, p);
        for (size_t v = range.lo[1]; v <= range.hi[1]; v++)
            for (size_t c = v * cells + range.lo[0]; c <= v * cells + range.hi[0]; c++) {
                double *reach = &view->reach[c][p->side];
                *reach = p->side ? real_max(*reach, p->reach) : real_min(*reach, p->reach);
                view->used[c]++;
            }
    }
    view->begin[0] = 0;
    for (size_t c = 0; c < all; c++) {
        view->begin[c + 1] = view->begin[c] + (view->used[c] + 3) / 4;
        view->used[c] = 0;
    }
    status = room_for(work, &view->fours, view->begin[all], sizeof *view->fours, &view->four_room);
    for (uint32_t i = 0; i < view->count && !status; i++) {
        cell_range range = cells_of(view, &view->planes[i]);
        for (size_t v = range.lo[1]; v <= range.hi[1]; v++)
            for (size_t c = v * cells + range.lo[0]; c <= v * cells + range.hi[0]; c++)
                fill_cell(view, c, i);
    }
    return status;
}

/* The box across the normal of what can matter: of the contour, or where both bodies are, as they
 * are of a region without a contour. */
static void find_box(const patch_work *work, const patch_region *r, bool whole, double lo[2],
                     double hi[2]) {
    const patch_view *view = &work->view;
    whole |= r->point_begin == r->point_end;
    for (int axis = 0; axis < 2; axis++) {
        double from[2] = {INFINITY, INFINITY}, to[2] = {-INFINITY, -INFINITY};
        for (uint32_t i = r->point_begin; i < r->point_end && !whole; i++) {
            double x = v3_dot(work->crossings[work->points[i]].at, view->along[axis]);
            from[0] = real_min(from[0], x);
            to[0] = real_max(to[0], x);
        }
        for (size_t i = 0; i < view->count && whole; i++) {
            const patch_plane *p = &view->planes[i];
            from[p->side] = real_min(from[p->side], p->lo[axis]);
            to[p->side] = real_max(to[p->side], p->hi[axis]);
        }
        lo[axis] = whole ? real_max(from[0], from[1]) : from[0];
        hi[axis] = whole ? real_min(to[0], to[1]) : to[0];
    }
}

/* Where all vertices of both bodies are across the normal, and the box in which both bodies are.
 */
static abut_status find_shadows(patch_work *work, double lo[2], double hi[2]) {
    patch_view *view = &work->view;
    for (int axis = 0; axis < 2; axis++) {
        lo[axis] = -INFINITY;
        hi[axis] = INFINITY;
    }
    for (int side = 0; side < 2; side++) {
        const patch_body *body = &work->body[side];
        size_t count = body->skin->view.vertex_count;
        double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
        abut_status status = room_for(work, &view->shadow[side], count, sizeof **view->shadow,
                                      &view->shadow_room[side]);
        if (status)
            return status;
        for (uint32_t i = 0; i < count; i++) {
            vec3 p = patch_true(body, i);
            for (int axis = 0; axis < 2; axis++) {
                double x = v3_dot(p, view->along[axis]);
                view->shadow[side][i][axis] = x;
                least[axis] = real_min(least[axis], x);
                most[axis] = real_max(most[axis], x);
            }
        }
        for (int axis = 0; axis < 2; axis++) {
            lo[axis] = real_max(lo[axis], least[axis]);
            hi[axis] = real_min(hi[axis], most[axis]);
        }
    }
    return ABUT_OK;
}

/* Whether a triangle looks the right way and some of it may be in a box. */
static bool is_seen(const patch_view *view, uint32_t side, const uint32_t *corner,
                    const double lo[2], const double hi[2]) {
    const double *p = view->shadow[side][corner[0]], *q = view->shadow[side][corner[1]],
                 *r = view->shadow[side][corner[2]];
    double up = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
    if (!((side ? up : -up) > 0))
        return false;
    for (int axis = 0; axis < 2; axis++)
        if (real_max(p[axis], real_max(q[axis], r[axis])) < lo[axis] ||
            real_min(p[axis], real_min(q[axis], r[axis])) > hi[axis])
            return false;
    return true;
}

/* Adds triangles of both bodies as a whole, without those that the other body is not above or
 * below: boxes are larger by the slack of both, and by their skins. */
static abut_status add_bodies(patch_work *work) {
    double lo[2], hi[2], slack = 2 * work->view.slack;
    abut_status status = find_shadows(work, lo, hi);
    if (status)
        return status;
    for (int side = 0; side < 2; side++)
        slack += work->body[side].grow * work->body[side].skin->reach + 2 * work->body[side].jitter;
    for (int axis = 0; axis < 2; axis++) {
        lo[axis] -= slack;
        hi[axis] += slack;
    }
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t *corner = work->body[side].skin->corner;
        for (uint32_t face = 0; face < work->body[side].bvh->triangle_count; face++)
            if (is_seen(&work->view, side, corner + 3 * (size_t)face, lo, hi))
                add_plane(work, side, face);
    }
    return ABUT_OK;
}

abut_status abuti_patch_see(patch_work *work, const patch_region *r, vec3 normal,
                            patch_scope scope) {
    patch_view *view = &work->view;
    bool whole = scope == PATCH_BODIES;
    view->whole = whole;
    view->least_cosine = scope == PATCH_WALL ? view->wall_cosine : SLOPE;
    size_t wanted = r->facet_end - r->facet_begin;
    double lo[2], hi[2], steepest = scope == PATCH_WALL ? 0.9 * view->wall_cosine : 0;
    view->normal = normal;
    abuti_patch_across(normal, view->along);
    view->top = -INFINITY;
    view->bottom = INFINITY;
    view->slack = SLACK * real_min(work->body[0].skin->size, work->body[1].skin->size);
    view->count = 0;
    memset(work->seen_vertex, 0xff, sizeof work->seen_vertex); /* ABUT_NONE */
    if (whole)
        wanted = (size_t)work->body[0].bvh->triangle_count + work->body[1].bvh->triangle_count;
    abut_status status = room_for(work, &view->planes, wanted, sizeof *view->planes, &view->room);
    if (!status && whole)
        status = add_bodies(work);
    if (status)
        return status;
    for (uint32_t i = r->facet_begin; i < r->facet_end && !whole; i++) {
        const patch_facet *f = &work->facets[i];
        double up = v3_dot(f->area, normal) * (f->side ? 1 : -1);
        /* Its skin looks nearly as it does. */
        if (up >= 0 && up >= steepest * patch_area_length(f->area))
            add_plane(work, f->side, f->face);
    }
    if (!(view->top > -INFINITY) || !(view->bottom < INFINITY)) /* one side only: no columns */
        view->count = 0;
    /* What reaches beyond the grid stands in the cells at its border. */
    find_box(work, r, whole, lo, hi);
    return make_grid(work, lo, hi);
}

/* ---- heights ---- */

static inline bool covers(const patch_plane *p, double u, double v) {
    const double(*x)[3] = p->edge;
    return (x[0][0] + x[0][1] * u + x[0][2] * v >= 0) & (x[1][0] + x[1][1] * u + x[1][2] * v >= 0) &
           (x[2][0] + x[2][1] * u + x[2][2] * v >= 0) & (u >= p->lo[0]) & (u <= p->hi[0]) &
           (v >= p->lo[1]) & (v <= p->hi[1]);
}

/* Which of four have boxes that may meet another. */
static inline unsigned four_meets(const patch_four *four, const f4 lo[2], const f4 hi[2]) {
    m4 met = m4_and(f4_less_equal(f4_load(four->lo[0]), hi[0]),
                    f4_less_equal(lo[0], f4_load(four->hi[0])));
    return m4_bits(m4_and(met, m4_and(f4_less_equal(f4_load(four->lo[1]), hi[1]),
                                      f4_less_equal(lo[1], f4_load(four->hi[1])))));
}

/* Keeps the height that is nearer to `wanted`; those at `least` or above come first. */
static inline double nearer_height(double kept, double h, double wanted, double least) {
    if ((h >= least) != (kept >= least))
        return h >= least ? h : kept;
    return fabs(h - wanted) < fabs(kept - wanted) ? h : kept;
}

bool abuti_patch_heights(const patch_view *view, double u, double v, patch_column column,
                         double height, double *low, double *high) {
    size_t cell = (size_t)cell_at(view, 1, v) * view->cells + cell_at(view, 0, u);
    const f4 lo[2] = {f4_all(float_below(u)), f4_all(float_below(v))};
    const f4 hi[2] = {f4_all(float_above(u)), f4_all(float_above(v))};
    const double above = column == PATCH_ABOVE ? height - view->slack : -INFINITY;
    const double below = column == PATCH_BELOW ? -height - view->slack : -INFINITY;
    column = view->whole ? PATCH_WHOLE : column;
    *low = INFINITY;
    *high = -INFINITY;
    for (uint32_t i = view->begin[cell]; i < view->begin[cell + 1]; i++)
        for (unsigned near = four_meets(&view->fours[i], lo, hi); near; near &= near - 1) {
            const patch_plane *p = &view->planes[view->fours[i].plane[__builtin_ctz(near)]];
            if (!covers(p, u, v))
                continue;
            double h = p->h + p->du * u + p->dv * v;
            if (column == PATCH_WHOLE) {
                *high = p->side ? real_max(*high, h) : *high;
                *low = p->side ? *low : real_min(*low, h);
            } else if (p->side) {
                *high = nearer_height(*high, h, height, above);
            } else {
                *low = -nearer_height(-*low, -h, -height, below);
            }
        }
    if (!(*low < INFINITY) || !(*high > -INFINITY) || *high - *low > view->longest)
        return false;
    return true;
}

double abuti_patch_bound(const patch_view *view, double u, double v, uint32_t side, double height) {
    const double *reach =
        view->reach[(size_t)cell_at(view, 1, v) * view->cells + cell_at(view, 0, u)];
    return side ? height - reach[0] : reach[1] - height;
}

/* ---- edges ---- */

/* Whether edge k of a and edge l of b cross as seen along the normal, where along the first, and
 * how much higher the second is there. */
static bool cross_seen(const patch_plane *a, int k, const patch_plane *b, int l, double *along,
                       double *depth) {
    int k1 = k == 2 ? 0 : k + 1, l1 = l == 2 ? 0 : l + 1;
    double au = a->true_u[k1] - a->true_u[k], av = a->true_v[k1] - a->true_v[k];
    double bu = b->true_u[l1] - b->true_u[l], bv = b->true_v[l1] - b->true_v[l];
    double du = b->true_u[l] - a->true_u[k], dv = b->true_v[l] - a->true_v[k];
    double det = au * bv - av * bu, turn = det < 0 ? -1 : 1, size = turn * det;
    double s = turn * (du * bv - dv * bu), t = turn * (du * av - dv * au);
    if (!((s >= 0) & (s <= size) & (t >= 0) & (t <= size) & (size > 0)))
        return false;
    s /= size;
    t /= size;
    *along = s;
    *depth = b->true_h[l] + t * (b->true_h[l1] - b->true_h[l]) - a->true_h[k] -
             s * (a->true_h[k1] - a->true_h[k]);
    return true;
}

/* By how much b's plane is higher than a's, at most, where the boxes of both triangles overlap. */
static double most_between(const patch_plane *a, const patch_plane *b) {
    double between = b->h - a->h, slope[2] = {b->du - a->du, b->dv - a->dv};
    for (int axis = 0; axis < 2; axis++) {
        double lo = real_max(a->lo[axis], b->lo[axis]), hi = real_min(a->hi[axis], b->hi[axis]);
        between += slope[axis] > 0 ? slope[axis] * hi : slope[axis] * lo;
    }
    return between;
}

static double edges_of(const patch_plane *a, const patch_plane *b, double deepest, double longest,
                       patch_deeper *tell, void *data) {
    for (int k = 0; k < 3; k++) {
        double low = real_min(a->true_h[k], a->true_h[k == 2 ? 0 : k + 1]);
        for (int l = 0; l < 3; l++) {
            double along, depth, high = real_max(b->true_h[l], b->true_h[l == 2 ? 0 : l + 1]);
            if (high - low > deepest && cross_seen(a, k, b, l, &along, &depth) && depth > deepest &&
                depth <= longest)
                deepest = tell(data, a, k, along, b, l);
        }
    }
    return deepest;
}

/* The edges of a triangle of a, with those of b that are in a cell with it. */
static double edges_in_cells(const patch_view *view, const patch_plane *a, double deepest,
                             patch_deeper *tell, void *data) {
    cell_range range = cells_of(view, a);
    const f4 lo[2] = {f4_all(float_below(a->lo[0])), f4_all(float_below(a->lo[1]))};
    const f4 hi[2] = {f4_all(float_above(a->hi[0])), f4_all(float_above(a->hi[1]))};
    size_t cells = view->cells;
    for (size_t v = range.lo[1]; v <= range.hi[1]; v++)
        for (size_t c = v * cells + range.lo[0]; c <= v * cells + range.hi[0]; c++)
            for (uint32_t i = view->begin[c];
                 i < view->begin[c + 1] && view->reach[c][1] - a->reach > deepest; i++) {
                const patch_four *four = &view->fours[i];
                f4 least = f4_all(float_below(a->reach + deepest));
                unsigned near =
                    four_meets(four, lo, hi) & m4_bits(f4_less_equal(least, f4_load(four->high)));
                for (; near; near &= near - 1) {
                    const patch_plane *b = &view->planes[four->plane[__builtin_ctz(near)]];
                    if (b->reach - a->reach > deepest && most_between(a, b) > deepest)
                        deepest = edges_of(a, b, deepest, view->longest, tell, data);
                }
            }
    return deepest;
}

void abuti_patch_edges(const patch_view *view, double deepest, patch_deeper *tell, void *data) {
    for (size_t i = 0; i < view->count; i++) {
        const patch_plane *a = &view->planes[i];
        if (!a->side && view->top - a->reach > deepest)
            deepest = edges_in_cells(view, a, deepest, tell, data);
    }
}
