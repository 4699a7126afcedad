/* Intersections of the rays of a parallel view, by the plain method: every pixel against every
 * triangle in doubles, crossings sorted by depth, inside if a solid was entered more often than
 * left, every pair with its lengths.
 *
 * The library rounds vertices to 1/256 of a pixel. If an edge passes a pixel's centre closer
 * than that, the reference cannot predict the result: the pixel is undecided, and all that pairs
 * whose boxes cover it could gain or lose there is stored beside the certain values. */
#ifndef ABUT_TEST_LAYERS_REFERENCE_H
#define ABUT_TEST_LAYERS_REFERENCE_H

#include "base/math_shared.h"
#include "support/pose.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

#define REFERENCE_DOUBT (1.0 / 200)

/* A solid where it is. */
typedef struct reference_solid {
    vec3 *points;
    const uint32_t *indices;
    uint32_t point_count, triangle_count;
    bool flipped; /* faces inwards */
} reference_solid;

typedef struct reference_view {
    vec3 corner; /* the centre of the first pixel, where rays begin */
    vec3 right, down, direction;
    double pixel, depth;
    uint32_t width, height;
} reference_view;

typedef struct reference_crossing {
    uint32_t pixel, solid;
    double depth;
    int step; /* 1 where the ray enters, -1 where it leaves */
} reference_crossing;

/* What is sure of a pair, and what pixels in doubt could add. */
typedef struct reference_pair {
    uint64_t pixels, intervals, doubt_pixels;
    double length, volume, doubt_length, doubt_volume;
    vec3 moment; /* of the volume */
    box3 box;
} reference_pair;

enum { REFERENCE_MAX = 32 }; /* solids */

typedef struct reference {
    reference_view view;
    uint32_t solid_count;
    double tolerance;
    box3 seen[REFERENCE_MAX]; /* pixels right, pixels down, depth */
    reference_crossing *crossings;
    size_t count, room;
    bool *doubt;                                        /* by pixel */
    reference_pair pairs[REFERENCE_MAX][REFERENCE_MAX]; /* a <= b; equal: with itself */
} reference;

/* The view of a region that has width x height square pixels. */
static inline reference_view reference_view_of(const abut_raster_view *from) {
    reference_view v = {.direction = v3_normalise(from->direction),
                        .width = from->width,
                        .height = from->height};
    v.right = v3_normalise(v3_cross(v.direction, from->up));
    v.down = v3_cross(v.direction, v.right);
    vec3 axes[3] = {v.right, v.down, v.direction};
    double lo[3], hi[3];
    for (int k = 0; k < 3; k++) {
        lo[k] = INFINITY;
        hi[k] = -INFINITY;
        for (int c = 0; c < 8; c++) {
            vec3 corner = v3(c & 1 ? from->region.hi.x : from->region.lo.x,
                             c & 2 ? from->region.hi.y : from->region.lo.y,
                             c & 4 ? from->region.hi.z : from->region.lo.z);
            lo[k] = fmin(lo[k], v3_dot(corner, axes[k]));
            hi[k] = fmax(hi[k], v3_dot(corner, axes[k]));
        }
    }
    v.pixel = fmax((hi[0] - lo[0]) / v.width, (hi[1] - lo[1]) / v.height);
    v.depth = hi[2] - lo[2];
    v.corner = v3_scale(v.right, 0.5 * (lo[0] + hi[0] + (1 - (double)v.width) * v.pixel));
    v.corner = v3_along(v.corner, 0.5 * (lo[1] + hi[1] + (1 - (double)v.height) * v.pixel), v.down);
    v.corner = v3_along(v.corner, lo[2], v.direction);
    return v;
}

/* Pixels right, pixels down, depth. */
static inline vec3 reference_project(const reference_view *view, vec3 p) {
    vec3 d = v3_sub(p, view->corner);
    return v3(v3_dot(d, view->right) / view->pixel, v3_dot(d, view->down) / view->pixel,
              v3_dot(d, view->direction));
}
static inline vec3 reference_place(const reference_view *view, double x, double y, double depth) {
    return v3_along(v3_along(v3_along(view->corner, x * view->pixel, view->right), y * view->pixel,
                             view->down),
                    depth, view->direction);
}

static inline reference_solid reference_solid_of(const abut_mesh *mesh, abut_pose where,
                                                 const abut_vec3 *deformed, bool flipped) {
    reference_solid s = {.indices = abut_mesh_indices(mesh),
                         .point_count = abut_mesh_vertex_count(mesh),
                         .triangle_count = abut_mesh_triangle_count(mesh),
                         .flipped = flipped};
    s.points = malloc(s.point_count * sizeof *s.points);
    assert_non_null(s.points);
    for (uint32_t i = 0; i < s.point_count; i++) {
        vec3 p = deformed
                     ? deformed[i]
                     : v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
        s.points[i] = pose_apply(&where, p);
    }
    return s;
}

static inline double reference_side(vec3 a, vec3 b, double x, double y) {
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}
static inline double reference_away(vec3 a, vec3 b, double x, double y) {
    double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - a.x) * dx + (y - a.y) * dy) / length : 0;
    t = fmin(1, fmax(0, t));
    return hypot(x - a.x - t * dx, y - a.y - t * dy);
}

static inline void reference_cross(reference *r, uint32_t pixel, uint32_t solid, double depth,
                                   int step) {
    if (r->count == r->room) {
        r->room = 2 * r->room + 1000;
        r->crossings = realloc(r->crossings, r->room * sizeof *r->crossings);
        assert_non_null(r->crossings);
    }
    r->crossings[r->count++] = (reference_crossing){pixel, solid, depth, step};
}

static inline void reference_triangle(reference *r, uint32_t solid, const vec3 *p, bool flipped) {
    double x0 = fmin(p[0].x, fmin(p[1].x, p[2].x)), x1 = fmax(p[0].x, fmax(p[1].x, p[2].x)),
           y0 = fmin(p[0].y, fmin(p[1].y, p[2].y)), y1 = fmax(p[0].y, fmax(p[1].y, p[2].y)),
           area = reference_side(p[0], p[1], p[2].x, p[2].y);
    double width = r->view.width, height = r->view.height;
    for (double y = fmax(0, ceil(y0 - 0.01)); y <= fmin(height - 1, y1 + 0.01); y++)
        for (double x = fmax(0, ceil(x0 - 0.01)); x <= fmin(width - 1, x1 + 0.01); x++) {
            uint32_t pixel = (uint32_t)(y * width + x);
            double w[3];
            for (int k = 0; k < 3; k++) {
                vec3 a = p[(k + 1) % 3], b = p[(k + 2) % 3];
                w[k] = reference_side(a, b, x, y) / area;
                if (reference_away(a, b, x, y) < REFERENCE_DOUBT)
                    r->doubt[pixel] = true;
            }
            if (!(w[0] > 0 && w[1] > 0 && w[2] > 0)) /* also where there is no area */
                continue;
            /* x to the right, y down and depth away are right-handed: counterclockwise from
             * outside is a negative area. */
            reference_cross(r, pixel, solid, w[0] * p[0].z + w[1] * p[1].z + w[2] * p[2].z,
                            (area < 0) != flipped ? 1 : -1);
        }
}

static inline int reference_order(const void *a, const void *b) {
    const reference_crossing *p = a, *q = b;
    if (p->pixel != q->pixel)
        return p->pixel < q->pixel ? -1 : 1;
    return p->depth < q->depth ? -1 : p->depth > q->depth;
}

static inline void reference_count(reference *r, reference_pair *pair, uint32_t pixel, double begin,
                                   double end, bool *counted) {
    double area = r->view.pixel * r->view.pixel, length = end - begin;
    vec3 middle = reference_place(&r->view, pixel % r->view.width, pixel / r->view.width,
                                  0.5 * (begin + end));
    pair->intervals++;
    pair->pixels += !*counted;
    *counted = true;
    pair->length = fmax(pair->length, length);
    pair->volume += length * area;
    pair->moment = v3_along(pair->moment, length * area, middle);
    pair->box = box_grow(pair->box, v3_along(middle, -0.5 * length, r->view.direction));
    pair->box = box_grow(pair->box, v3_along(middle, 0.5 * length, r->view.direction));
}

static inline void reference_interval(reference *r, uint32_t a, uint32_t b, uint32_t pixel,
                                      double begin, double end, bool *counted) {
    reference_pair *pair = &r->pairs[a < b ? a : b][a < b ? b : a];
    double length;
    begin = fmax(0, begin);
    end = fmin(r->view.depth, end);
    length = end - begin;
    if (!r->doubt[pixel] && fabs(length - r->tolerance) < 1e-8 * r->view.depth)
        pair->doubt_pixels++;
    else if (!r->doubt[pixel] && length > r->tolerance)
        reference_count(r, pair, pixel, begin, end, counted);
}
/* Along one ray: for each pair, where both are inside. */
static inline void reference_walk(reference *r, const reference_crossing *c, size_t count) {
    static bool counted[REFERENCE_MAX][REFERENCE_MAX];
    int inside[REFERENCE_MAX] = {0};
    double since[REFERENCE_MAX] = {0}, twice[REFERENCE_MAX] = {0};
    memset(counted, 0, sizeof counted);
    for (size_t i = 0; i < count; i++) {
        uint32_t s = c[i].solid;
        int before = inside[s], after = before + c[i].step;
        inside[s] = after;
        if (before == 1 && after == 2)
            twice[s] = c[i].depth;
        if (before == 2 && after == 1)
            reference_interval(r, s, s, c[i].pixel, twice[s], c[i].depth, &counted[s][s]);
        if (before == 0 && after == 1)
            since[s] = c[i].depth;
        if (!(before == 1 && after == 0))
            continue;
        for (uint32_t o = 0; o < r->solid_count; o++)
            if (o != s && inside[o] > 0)
                reference_interval(r, s, o, c[i].pixel, fmax(since[s], since[o]), c[i].depth,
                                   &counted[s < o ? s : o][s < o ? o : s]);
    }
}

/* What pixels in doubt could add to a pair: all of its boxes there. */
static inline void reference_doubts(reference *r, uint32_t a, uint32_t b) {
    const box3 *p = &r->seen[a], *q = &r->seen[b];
    reference_pair *pair = &r->pairs[a][b];
    double lo = fmax(0, fmax(p->lo.z, q->lo.z)), hi = fmin(r->view.depth, fmin(p->hi.z, q->hi.z));
    if (lo > hi)
        return;
    for (double y = fmax(0, ceil(fmax(p->lo.y, q->lo.y) - 0.1));
         y <= fmin(r->view.height - 1.0, fmin(p->hi.y, q->hi.y) + 0.1); y++)
        for (double x = fmax(0, ceil(fmax(p->lo.x, q->lo.x) - 0.1));
             x <= fmin(r->view.width - 1.0, fmin(p->hi.x, q->hi.x) + 0.1); x++)
            if (r->doubt[(size_t)(y * r->view.width + x)]) {
                pair->doubt_pixels++;
                pair->doubt_length = hi - lo;
                pair->doubt_volume += (hi - lo) * r->view.pixel * r->view.pixel;
            }
}

static inline reference *reference_find(const abut_raster_view *view, const reference_solid *solids,
                                        uint32_t count, double tolerance) {
    reference *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_true(count <= REFERENCE_MAX);
    r->view = reference_view_of(view);
    r->solid_count = count;
    r->tolerance = tolerance;
    r->doubt = calloc((size_t)r->view.width * r->view.height, sizeof *r->doubt);
    assert_non_null(r->doubt);
    for (uint32_t s = 0; s < count; s++) {
        r->seen[s] = box_empty();
        for (uint32_t o = s; o < count; o++)
            r->pairs[s][o].box = box_empty();
        for (uint32_t t = 0; t < solids[s].triangle_count; t++) {
            vec3 p[3];
            for (uint32_t k = 0; k < 3; k++) {
                p[k] = reference_project(&r->view, solids[s].points[solids[s].indices[3 * t + k]]);
                r->seen[s] = box_grow(r->seen[s], p[k]);
            }
            reference_triangle(r, s, p, solids[s].flipped);
        }
    }
    qsort(r->crossings, r->count, sizeof *r->crossings, reference_order);
    for (size_t i = 0, end; i < r->count; i = end) {
        for (end = i + 1; end < r->count && r->crossings[end].pixel == r->crossings[i].pixel;)
            end++;
        reference_walk(r, r->crossings + i, end - i);
    }
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = a; b < count; b++)
            reference_doubts(r, a, b);
    return r;
}

static inline void reference_free(reference *r) {
    free(r->crossings);
    free(r->doubt);
    free(r);
}

#endif
