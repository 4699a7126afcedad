/* Both surfaces, or their inside parts, as seen along a normal: heights at a place, and edges that
 * cross.
 *
 * Of a what looks down counts, of b what looks up. Where triangles lie is asked of their skin, how
 * high they are of their true planes. They stand in a grid across the normal with about as many
 * cells as triangles, so that a place looks at a few of them. */
#include "contact/patch.h"

#include <math.h>
#include <string.h>

#define SLOPE 0.02 /* steeper faces say nothing of heights */
#define SLACK 1e-7 /* of the smaller body */

enum {
    CELLS_MAX = 128, /* along a side */
    A_CELL = 16,     /* triangles, or as many as there are cells */
    FEW = 24         /* triangles that are tried without cells */
};

/* ---- the view ---- */

void abuti_patch_across(vec3 normal, vec3 along[2]) {
    vec3 other = fabs(normal.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    along[0] = v3_normalise(v3_cross(normal, other));
    along[1] = v3_cross(normal, along[0]);
}

static void add_plane(patch_work *work, uint32_t side, uint32_t face) {
    patch_view *view = &work->view;
    patch_body *body = &work->body[side];
    const uint32_t *corner = body->skin->corner + 3 * (size_t)face;
    vec3 p[3], n;
    for (int k = 0; k < 3; k++)
        p[k] = patch_true(body, corner[k]);
    n = v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]));
    double up = v3_dot(n, view->normal);
    if (!((side ? up : -up) > SLOPE * v3_length(n)))
        return;
    patch_plane *at = &view->planes[view->count++];
    at->side = side;
    at->face = face;
    at->du = -v3_dot(n, view->along[0]) / up;
    at->dv = -v3_dot(n, view->along[1]) / up;
    at->h = v3_dot(n, p[0]) / up;
    at->lo[0] = at->lo[1] = INFINITY;
    at->hi[0] = at->hi[1] = -INFINITY;
    for (int k = 0; k < 3; k++) {
        vec3 q = patch_place(body, corner[k]);
        at->u[k] = v3_dot(q, view->along[0]);
        at->v[k] = v3_dot(q, view->along[1]);
        at->lo[0] = real_min(at->lo[0], at->u[k] - view->slack);
        at->hi[0] = real_max(at->hi[0], at->u[k] + view->slack);
        at->lo[1] = real_min(at->lo[1], at->v[k] - view->slack);
        at->hi[1] = real_max(at->hi[1], at->v[k] + view->slack);
        at->true_u[k] = v3_dot(p[k], view->along[0]);
        at->true_v[k] = v3_dot(p[k], view->along[1]);
        at->true_h[k] = v3_dot(p[k], view->normal);
        if (side)
            view->top = real_max(view->top, at->true_h[k]);
        else
            view->bottom = real_min(view->bottom, at->true_h[k]);
    }
}

static double highest(const patch_plane *p) {
    return real_max(p->true_h[0], real_max(p->true_h[1], p->true_h[2]));
}

static double lowest(const patch_plane *p) {
    return real_min(p->true_h[0], real_min(p->true_h[1], p->true_h[2]));
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

/* Sorts the planes into cells: counts, then members. */
static abut_status make_grid(patch_work *work, double crossing_lo[2], double crossing_hi[2]) {
    patch_view *view = &work->view;
    uint32_t cells = 1;
    while (cells < CELLS_MAX && (size_t)cells * cells * A_CELL < view->count)
        cells *= 2;
    view->cells = cells;
    for (int axis = 0; axis < 2; axis++) {
        double extent = crossing_hi[axis] - crossing_lo[axis];
        view->lo[axis] = crossing_lo[axis];
        view->scale[axis] = extent > 0 ? cells / extent : 0;
    }
    size_t all = (size_t)cells * cells;
    abut_status status =
        room_for(work, &view->begin, all + 1, sizeof *view->begin, &view->begin_room);
    if (!status)
        status = room_for(work, &view->reach, all, sizeof *view->reach, &view->reach_room);
    if (status)
        return status;
    memset(view->begin, 0, (all + 1) * sizeof *view->begin);
    for (size_t c = 0; c < all; c++) {
        view->reach[c][0] = INFINITY;
        view->reach[c][1] = -INFINITY;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < view->count; i++) {
            const patch_plane *p = &view->planes[i];
            double reach = p->side ? highest(p) : lowest(p);
            uint32_t u0 = cell_at(view, 0, p->lo[0]), u1 = cell_at(view, 0, p->hi[0]);
            uint32_t v1 = cell_at(view, 1, p->hi[1]);
            for (uint32_t v = cell_at(view, 1, p->lo[1]); v <= v1; v++)
                for (uint32_t u = u0; u <= u1; u++) {
                    size_t c = (size_t)v * cells + u;
                    if (pass) {
                        view->members[--view->begin[c]] = (uint32_t)i;
                        continue;
                    }
                    view->begin[c]++;
                    if (p->side)
                        view->reach[c][1] = real_max(view->reach[c][1], reach);
                    else
                        view->reach[c][0] = real_min(view->reach[c][0], reach);
                }
        }
        if (pass)
            break;
        for (size_t c = 1; c <= all; c++) /* ends of cells, from which members are filled in */
            view->begin[c] += view->begin[c - 1];
        status = room_for(work, &view->members, view->begin[all], sizeof *view->members,
                          &view->member_room);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* The box across the normal of what can matter: of the contour, or where both bodies are. */
static void find_box(const patch_work *work, const patch_region *r, bool whole, double lo[2],
                     double hi[2]) {
    const patch_view *view = &work->view;
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

abut_status abuti_patch_see(patch_work *work, const patch_region *r, vec3 normal, bool whole) {
    patch_view *view = &work->view;
    size_t wanted = r->facet_end - r->facet_begin;
    double lo[2], hi[2];
    view->normal = normal;
    abuti_patch_across(normal, view->along);
    view->top = -INFINITY;
    view->bottom = INFINITY;
    view->slack = SLACK * real_min(work->body[0].skin->size, work->body[1].skin->size);
    view->count = 0;
    if (whole)
        wanted = (size_t)work->body[0].bvh->triangle_count + work->body[1].bvh->triangle_count;
    abut_status status = room_for(work, &view->planes, wanted, sizeof *view->planes, &view->room);
    if (status)
        return status;
    for (uint32_t side = 0; side < 2 && whole; side++)
        for (uint32_t face = 0; face < work->body[side].bvh->triangle_count; face++)
            add_plane(work, side, face);
    for (uint32_t i = r->facet_begin; i < r->facet_end && !whole; i++) {
        const patch_facet *f = &work->facets[i];
        double up = v3_dot(f->area, normal);
        if ((f->side ? up : -up) >= 0) /* its skin looks nearly as it does */
            add_plane(work, f->side, f->face);
    }
    /* What reaches beyond the grid stands in the cells at its border. */
    find_box(work, r, whole, lo, hi);
    return make_grid(work, lo, hi);
}

/* ---- heights ---- */

static bool covers(const patch_plane *p, double u, double v, double slack) {
    if ((u < p->lo[0]) | (u > p->hi[0]) | (v < p->lo[1]) | (v > p->hi[1]))
        return false;
    double least = INFINITY, most = -INFINITY;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        double eu = p->u[next] - p->u[k], ev = p->v[next] - p->v[k];
        double side = eu * (v - p->v[k]) - ev * (u - p->u[k]);
        double room = slack * (fabs(eu) + fabs(ev));
        least = real_min(least, side + room);
        most = real_max(most, side - room);
    }
    return least >= 0 || most <= 0;
}

bool abuti_patch_heights(const patch_view *view, double u, double v, double *low, double *high) {
    size_t cell = (size_t)cell_at(view, 1, v) * view->cells + cell_at(view, 0, u);
    *low = INFINITY;
    *high = -INFINITY;
    for (uint32_t i = view->begin[cell]; i < view->begin[cell + 1]; i++) {
        const patch_plane *p = &view->planes[view->members[i]];
        if (!covers(p, u, v, view->slack))
            continue;
        double h = p->h + p->du * u + p->dv * v;
        if (p->side)
            *high = real_max(*high, h);
        else
            *low = real_min(*low, h);
    }
    return *low<INFINITY && * high> - INFINITY;
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
    double det = au * bv - av * bu, s = (du * bv - dv * bu) / det, t = (du * av - dv * au) / det;
    if (!(s >= 0 && s <= 1 && t >= 0 && t <= 1))
        return false;
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

static double edges_of(const patch_plane *a, const patch_plane *b, double deepest,
                       patch_deeper *tell, void *data) {
    for (int k = 0; k < 3; k++) {
        double low = real_min(a->true_h[k], a->true_h[k == 2 ? 0 : k + 1]);
        for (int l = 0; l < 3; l++) {
            double along, depth, high = real_max(b->true_h[l], b->true_h[l == 2 ? 0 : l + 1]);
            if (high - low > deepest && cross_seen(a, k, b, l, &along, &depth) && depth > deepest)
                deepest = tell(data, a, k, along, b, l);
        }
    }
    return deepest;
}

/* A triangle of b against one of a whose lowest corner is at `low`. */
static inline double edges_with(const patch_plane *a, double low, const patch_plane *b,
                                double deepest, patch_deeper *tell, void *data) {
    if (!(highest(b) - low > deepest) || b->lo[0] > a->hi[0] || b->hi[0] < a->lo[0] ||
        b->lo[1] > a->hi[1] || b->hi[1] < a->lo[1] || !(most_between(a, b) > deepest))
        return deepest;
    return edges_of(a, b, deepest, tell, data);
}

/* The triangles of b that are in a cell with one of a. */
static double edges_in_cells(const patch_view *view, const patch_plane *a, double low,
                             double deepest, patch_deeper *tell, void *data) {
    uint32_t u0 = cell_at(view, 0, a->lo[0]), v0 = cell_at(view, 1, a->lo[1]);
    uint32_t u1 = cell_at(view, 0, a->hi[0]), v1 = cell_at(view, 1, a->hi[1]);
    for (uint32_t v = v0; v <= v1; v++)
        for (uint32_t u = u0; u <= u1; u++) {
            size_t cell = (size_t)v * view->cells + u;
            if (!(view->reach[cell][1] - low > deepest))
                continue;
            for (uint32_t j = view->begin[cell]; j < view->begin[cell + 1]; j++) {
                const patch_plane *b = &view->planes[view->members[j]];
                if (b->side)
                    deepest = edges_with(a, low, b, deepest, tell, data);
            }
        }
    return deepest;
}

void abuti_patch_edges(const patch_view *view, double deepest, patch_deeper *tell, void *data) {
    const patch_plane *high[FEW]; /* of b, that may be deeper than what is known */
    uint32_t count = 0;
    for (size_t i = 0; i < view->count && count <= FEW; i++) {
        const patch_plane *b = &view->planes[i];
        if (b->side && highest(b) - view->bottom > deepest && count++ < FEW)
            high[count - 1] = b;
    }
    for (size_t i = 0; i < view->count && count; i++) {
        const patch_plane *a = &view->planes[i];
        double low = lowest(a);
        if (a->side || !(view->top - low > deepest))
            continue;
        if (count > FEW)
            deepest = edges_in_cells(view, a, low, deepest, tell, data);
        for (uint32_t k = 0; k < count && count <= FEW; k++)
            deepest = edges_with(a, low, high[k], deepest, tell, data);
    }
}
