/* Projection of both surfaces, or of their inside parts, along a normal: heights at a position, and
 * crossings of edges.
 *
 * Of a, triangles that face down count; of b, triangles that face up. The projection of the skin
 * decides where a triangle is, and its true plane gives the height. The triangles are in a grid
 * across the normal, with 16 to 64 triangles per cell on average, so that few of them are tested at
 * a position. */
#include "contact/patch.h"

#include <math.h>
#include <string.h>

#define MIN_FACING_COSINE 0.02 /* heights of steeper triangles are inaccurate */
#define PROJECTION_SLACK 1e-7  /* of the smaller body */

enum {
    MAX_CELLS_PER_SIDE = 128,
    FACES_PER_CELL = 64 /* the grid is refined while cells have more on average */
};

/* ---- projection and grid ---- */

void abuti_patch_tangents(vec3 normal, vec3 tangent[2]) {
    vec3 other = fabs(normal.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    tangent[0] = v3_normalise(v3_cross(normal, other));
    tangent[1] = v3_cross(normal, tangent[0]);
}

/* Sets the edge functions of a projected triangle, enlarged by a slack. */
static void set_edge_functions(patch_projected_face *p, const double u[3], const double v[3],
                               double slack) {
    double area = (u[1] - u[0]) * (v[2] - v[0]) - (v[1] - v[0]) * (u[2] - u[0]);
    double sign = area < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        double eu = sign * (u[next] - u[k]), ev = sign * (v[next] - v[k]);
        p->edge[k][0] = ev * u[k] - eu * v[k] + slack * (fabs(eu) + fabs(ev));
        p->edge[k][1] = -ev;
        p->edge[k][2] = eu;
    }
}

static void add_face(patch_work *work, uint32_t side, uint32_t face) {
    patch_projection *projection = &work->projection;
    const patch_body *body = &work->body[side];
    const uint32_t *corner = body->skin->corner + 3 * (size_t)face;
    vec3 c[3]; /* u, v and h of the true corners */
    for (int k = 0; k < 3; k++) {
        const vec3 at = patch_position(body, corner[k]);
        c[k] = v3(v3_dot(at, projection->tangent[0]), v3_dot(at, projection->tangent[1]),
                  v3_dot(at, projection->normal));
    }
    vec3 n = v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]));
    double facing = side ? n.z : -n.z;
    if (!(facing > 0) || !(facing > projection->min_cosine * patch_area_length(n)))
        return;
    patch_projected_face *at = &projection->faces[projection->count++];
    at->side = side;
    at->face = face;
    at->du = -n.x / n.z;
    at->dv = -n.y / n.z;
    at->h = c[0].z - at->du * c[0].x - at->dv * c[0].y;
    double u[3], v[3];
    for (int k = 0; k < 3; k++) {
        const vec3 skin = patch_skin_position(body, corner[k]);
        u[k] = v3_dot(skin, projection->tangent[0]);
        v[k] = v3_dot(skin, projection->tangent[1]);
        at->corner[k] = c[k];
    }
    set_edge_functions(at, u, v, projection->slack);
    at->lo[0] = real_min(u[0], real_min(u[1], u[2])) - projection->slack;
    at->hi[0] = real_max(u[0], real_max(u[1], u[2])) + projection->slack;
    at->lo[1] = real_min(v[0], real_min(v[1], v[2])) - projection->slack;
    at->hi[1] = real_max(v[0], real_max(v[1], v[2])) + projection->slack;
    if (side) {
        at->extreme = real_max(c[0].z, real_max(c[1].z, c[2].z));
        projection->max_b = real_max(projection->max_b, at->extreme);
    } else {
        at->extreme = real_min(c[0].z, real_min(c[1].z, c[2].z));
        projection->min_a = real_min(projection->min_a, at->extreme);
    }
}

/* Returns the cell of a coordinate along an axis. */
static uint32_t cell_index(const patch_projection *projection, int axis, double x) {
    double cell = (x - projection->lo[axis]) * projection->scale[axis];
    return cell >= projection->cells_per_side - 1 ? projection->cells_per_side - 1
           : cell > 0                             ? (uint32_t)cell
                                                  : 0;
}

/* The cells [lo[axis], hi[axis]] that the bounds of a triangle overlap. */
typedef struct cell_range {
    uint32_t lo[2], hi[2];
} cell_range;

static inline cell_range covered_cells(const patch_projection *projection,
                                       const patch_projected_face *p) {
    cell_range range;
    for (int axis = 0; axis < 2; axis++) {
        range.lo[axis] = cell_index(projection, axis, p->lo[axis]);
        range.hi[axis] = cell_index(projection, axis, p->hi[axis]);
    }
    return range;
}

/* Sorts the triangles into cells: counts them, then fills the cells. */
static void build_grid(patch_work *work, const double lo[2], const double hi[2]) {
    patch_projection *projection = &work->projection;
    uint32_t cells = 1;
    while (cells < MAX_CELLS_PER_SIDE && (size_t)cells * cells * FACES_PER_CELL < projection->count)
        cells *= 2;
    projection->cells_per_side = cells;
    for (int axis = 0; axis < 2; axis++) {
        double extent = hi[axis] - lo[axis];
        projection->lo[axis] = lo[axis];
        projection->scale[axis] = extent > 0 ? cells / extent : 0;
    }
    size_t cell_total = (size_t)cells * cells;
    if (!PATCH_RESERVE(work->memory, projection->cell_begin, 0, cell_total + 2,
                       projection->begin_capacity) ||
        !PATCH_RESERVE(work->memory, projection->cell_extremes, 0, cell_total,
                       projection->extreme_capacity))
        return;
    memset(projection->cell_begin, 0, (cell_total + 2) * sizeof *projection->cell_begin);
    for (size_t c = 0; c < cell_total; c++) {
        projection->cell_extremes[c][0] = INFINITY;
        projection->cell_extremes[c][1] = -INFINITY;
    }
    /* While cells are filled, the end of cell c is in cell_begin[c + 1]. */
    for (uint32_t i = 0; i < projection->count; i++) {
        const patch_projected_face *p = &projection->faces[i];
        cell_range range = covered_cells(projection, p);
        for (size_t v = range.lo[1]; v <= range.hi[1]; v++)
            for (size_t c = v * cells + range.lo[0]; c <= v * cells + range.hi[0]; c++) {
                double *extreme = &projection->cell_extremes[c][p->side];
                *extreme =
                    p->side ? real_max(*extreme, p->extreme) : real_min(*extreme, p->extreme);
                projection->cell_begin[c + 2]++;
            }
    }
    for (size_t c = 0; c < cell_total; c++)
        projection->cell_begin[c + 2] += projection->cell_begin[c + 1];
    if (!PATCH_RESERVE(work->memory, projection->cell_faces, 0,
                       projection->cell_begin[cell_total + 1], projection->cell_face_capacity))
        return;
    for (uint32_t i = 0; i < projection->count; i++) {
        cell_range range = covered_cells(projection, &projection->faces[i]);
        for (size_t v = range.lo[1]; v <= range.hi[1]; v++)
            for (size_t c = v * cells + range.lo[0]; c <= v * cells + range.hi[0]; c++)
                projection->cell_faces[projection->cell_begin[c + 1]++] = i;
    }
}

/* Computes the bounds of the grid: those of the contour, or the intersection of the bounds of both
 * bodies if the region has no contour or both bodies are projected completely. */
static void find_grid_bounds(const patch_work *work, const patch_region *r, bool has_both_bodies,
                             double lo[2], double hi[2]) {
    const patch_projection *projection = &work->projection;
    has_both_bodies |= r->points.begin == r->points.end;
    for (int axis = 0; axis < 2; axis++) {
        double from[2] = {INFINITY, INFINITY}, to[2] = {-INFINITY, -INFINITY};
        for (uint32_t i = r->points.begin; i < r->points.end && !has_both_bodies; i++) {
            double x =
                v3_dot(work->crossings[work->region_crossings[i]].at, projection->tangent[axis]);
            from[0] = real_min(from[0], x);
            to[0] = real_max(to[0], x);
        }
        for (size_t i = 0; i < projection->count && has_both_bodies; i++) {
            const patch_projected_face *p = &projection->faces[i];
            from[p->side] = real_min(from[p->side], p->lo[axis]);
            to[p->side] = real_max(to[p->side], p->hi[axis]);
        }
        lo[axis] = has_both_bodies ? real_max(from[0], from[1]) : from[0];
        hi[axis] = has_both_bodies ? real_min(to[0], to[1]) : to[0];
    }
}

/* Removes triangles beside the grid: at their points one of the bodies has no triangle. */
static void drop_faces_beside(patch_projection *projection, const double lo[2],
                              const double hi[2]) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < projection->count; i++) {
        const patch_projected_face *p = &projection->faces[i];
        if ((p->lo[0] <= hi[0]) & (p->hi[0] >= lo[0]) & (p->lo[1] <= hi[1]) & (p->hi[1] >= lo[1]))
            projection->faces[kept++] = *p;
    }
    projection->count = kept;
}

void abuti_patch_project(patch_work *work, const patch_region *r, vec3 normal, patch_scope scope) {
    patch_projection *projection = &work->projection;
    bool has_both_bodies = scope == PATCH_SCOPE_BODIES;
    projection->has_both_bodies = has_both_bodies;
    projection->min_cosine =
        scope == PATCH_SCOPE_WALL ? projection->wall_cosine : MIN_FACING_COSINE;
    size_t required = r->facets.end - r->facets.begin;
    double lo[2], hi[2],
        min_area_cosine = scope == PATCH_SCOPE_WALL ? 0.9 * projection->wall_cosine : 0;
    projection->normal = normal;
    abuti_patch_tangents(normal, projection->tangent);
    projection->max_b = -INFINITY;
    projection->min_a = INFINITY;
    projection->slack =
        PROJECTION_SLACK * real_min(work->body[0].skin->size, work->body[1].skin->size);
    projection->count = 0;
    if (has_both_bodies)
        required = (size_t)work->body[0].bvh->triangle_count + work->body[1].bvh->triangle_count;
    if (!PATCH_RESERVE(work->memory, projection->faces, 0, required, projection->capacity))
        return;
    for (uint32_t side = 0; side < 2 && has_both_bodies; side++)
        for (uint32_t face = 0; face < work->body[side].bvh->triangle_count; face++)
            add_face(work, side, face);
    for (uint32_t i = r->facets.begin; i < r->facets.end && !has_both_bodies; i++) {
        const patch_facet *f = &work->facets[i];
        double facing = v3_dot(f->area, normal) * (f->side ? 1 : -1);
        /* Its area is that of the skin, whose normal differs slightly: add_face() tests the true
         * one. */
        if (facing >= 0 && facing >= min_area_cosine * patch_area_length(f->area))
            add_face(work, f->side, f->face);
    }
    if (!(projection->max_b > -INFINITY) ||
        !(projection->min_a < INFINITY)) /* one side only: no depth */
        projection->count = 0;
    /* Triangles beyond a contour are in the cells at the boundary of the grid. */
    find_grid_bounds(work, r, has_both_bodies, lo, hi);
    if (has_both_bodies)
        drop_faces_beside(projection, lo, hi);
    build_grid(work, lo, hi);
    if (work->memory->status)
        projection->count = 0;
}

/* ---- heights ---- */

static inline bool contains_point(const patch_projected_face *p, double u, double v) {
    const double(*x)[3] = p->edge;
    if (!((u >= p->lo[0]) & (u <= p->hi[0]) & (v >= p->lo[1]) & (v <= p->hi[1])))
        return false;
    return (x[0][0] + x[0][1] * u + x[0][2] * v >= 0) & (x[1][0] + x[1][1] * u + x[1][2] * v >= 0) &
           (x[2][0] + x[2][1] * u + x[2][2] * v >= 0);
}

/* Returns the height that is nearer to `target`; heights of at least `min_height` are preferred. */
static inline double select_height(double kept, double h, double target, double min_height) {
    if ((h >= min_height) != (kept >= min_height))
        return h >= min_height ? h : kept;
    return fabs(h - target) < fabs(kept - target) ? h : kept;
}

bool abuti_patch_find_heights(const patch_projection *projection, double u, double v,
                              patch_column column, double height, double *low, double *high) {
    size_t cell = (size_t)cell_index(projection, 1, v) * projection->cells_per_side +
                  cell_index(projection, 0, u);
    const double above = column == PATCH_COLUMN_ABOVE ? height - projection->slack : -INFINITY;
    const double below = column == PATCH_COLUMN_BELOW ? -height - projection->slack : -INFINITY;
    column = projection->has_both_bodies ? PATCH_COLUMN_WHOLE : column;
    *low = INFINITY;
    *high = -INFINITY;
    for (uint32_t i = projection->cell_begin[cell]; i < projection->cell_begin[cell + 1]; i++) {
        const patch_projected_face *p = &projection->faces[projection->cell_faces[i]];
        if (!contains_point(p, u, v))
            continue;
        double h = p->h + p->du * u + p->dv * v;
        if (column == PATCH_COLUMN_WHOLE) {
            *high = p->side ? real_max(*high, h) : *high;
            *low = p->side ? *low : real_min(*low, h);
        } else if (p->side) {
            *high = select_height(*high, h, height, above);
        } else {
            *low = -select_height(-*low, -h, -height, below);
        }
    }
    if (!(*low < INFINITY) || !(*high > -INFINITY) || *high - *low > projection->max_column)
        return false;
    return true;
}

double abuti_patch_bound_depth(const patch_projection *projection, double u, double v,
                               uint32_t side, double height) {
    const double *extreme =
        projection
            ->cell_extremes[(size_t)cell_index(projection, 1, v) * projection->cells_per_side +
                            cell_index(projection, 0, u)];
    return side ? height - extreme[0] : extreme[1] - height;
}

/* ---- edges ---- */

/* Returns whether edge k of a and edge l of b cross in the projection, with the parameter along the
 * first edge and the height of the second above the first. */
static bool intersect_projected_edges(const patch_projected_face *a, int k,
                                      const patch_projected_face *b, int l, double *along,
                                      double *depth) {
    int k1 = k == 2 ? 0 : k + 1, l1 = l == 2 ? 0 : l + 1;
    double t;
    if (!patch_cross_edges(a->corner[k], a->corner[k1], b->corner[l], b->corner[l1], along, &t))
        return false;
    *depth = b->corner[l].z + t * (b->corner[l1].z - b->corner[l].z) - a->corner[k].z -
             *along * (a->corner[k1].z - a->corner[k].z);
    return true;
}

static bool bounds_overlap(const patch_projected_face *a, const patch_projected_face *b) {
    return (a->lo[0] <= b->hi[0]) & (b->lo[0] <= a->hi[0]) & (a->lo[1] <= b->hi[1]) &
           (b->lo[1] <= a->hi[1]);
}

/* Returns an upper bound of the height of b's plane above a's where the bounds of both triangles
 * overlap. */
static double max_height_difference(const patch_projected_face *a, const patch_projected_face *b) {
    double between = b->h - a->h, slope[2] = {b->du - a->du, b->dv - a->dv};
    for (int axis = 0; axis < 2; axis++) {
        double lo = real_max(a->lo[axis], b->lo[axis]), hi = real_min(a->hi[axis], b->hi[axis]);
        between += slope[axis] > 0 ? slope[axis] * hi : slope[axis] * lo;
    }
    return between;
}

static double visit_face_crossings(const patch_projected_face *a, const patch_projected_face *b,
                                   double deepest, double max_column, patch_edge_visitor *visit,
                                   void *data) {
    for (int k = 0; k < 3; k++) {
        double low = real_min(a->corner[k].z, a->corner[k == 2 ? 0 : k + 1].z);
        for (int l = 0; l < 3; l++) {
            double along, depth, high = real_max(b->corner[l].z, b->corner[l == 2 ? 0 : l + 1].z);
            if (high - low > deepest && intersect_projected_edges(a, k, b, l, &along, &depth) &&
                depth > deepest && depth <= max_column)
                deepest = visit(data, a, k, along, b, l);
        }
    }
    return deepest;
}

/* Visits the crossings of a triangle of a with the triangles of b in its cells. Until a depth is
 * known also those with triangles of a, so that a region without inside vertices has a depth. */
static double visit_cell_crossings(const patch_projection *projection,
                                   const patch_projected_face *a, double deepest,
                                   patch_edge_visitor *visit, void *data) {
    cell_range range = covered_cells(projection, a);
    size_t cells = projection->cells_per_side;
    for (size_t v = range.lo[1]; v <= range.hi[1]; v++)
        for (size_t c = v * cells + range.lo[0]; c <= v * cells + range.hi[0]; c++)
            for (uint32_t i = projection->cell_begin[c];
                 i < projection->cell_begin[c + 1] &&
                 projection->cell_extremes[c][1] - a->extreme > deepest;
                 i++) {
                const patch_projected_face *b = &projection->faces[projection->cell_faces[i]];
                if ((b->side || !(deepest > -INFINITY)) && b->extreme - a->extreme > deepest &&
                    bounds_overlap(a, b) && max_height_difference(a, b) > deepest)
                    deepest =
                        visit_face_crossings(a, b, deepest, projection->max_column, visit, data);
            }
    return deepest;
}

void abuti_patch_visit_edge_crossings(const patch_projection *projection, double deepest,
                                      patch_edge_visitor *visit, void *data) {
    for (size_t i = 0; i < projection->count; i++) {
        const patch_projected_face *a = &projection->faces[i];
        if (!a->side && projection->max_b - a->extreme > deepest)
            deepest = visit_cell_crossings(projection, a, deepest, visit, data);
    }
}
