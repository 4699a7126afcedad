/* Draws triangles and edges into plain buffers, and the seven passes that use them. */
#include "cinder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 256, HALF = STEP / 2, DEPTHS = (1 << 24) - 1 };

/* A projected vertex: in steps of 1/256 of a pixel, with a depth from 0 to DEPTHS. */
typedef struct point {
    int32_t x, y;
    double z;
} point;

typedef struct image {
    uint32_t width, height;
    uint32_t *depth;
    uint8_t *stencil;
    uint32_t *colour; /* penetrating solid + 1 in the upper half, penetrated + 1 in the lower */
    double offset;    /* of edges, in depths */
    const abut_collider *solids;
    point **points; /* of each solid */
} image;

/* The operation of a fragment on its pixel. */
typedef void (*fragment)(image *to, size_t pixel, uint32_t z, uint32_t number);

static void write_depth(image *to, size_t pixel, uint32_t z, uint32_t number) {
    (void)number;
    to->depth[pixel] = z;
}
static void count_front(image *to, size_t pixel, uint32_t z, uint32_t number) {
    (void)number;
    if (z < to->depth[pixel] && to->stencil[pixel] < 255)
        to->stencil[pixel]++;
}
static void count_back(image *to, size_t pixel, uint32_t z, uint32_t number) {
    (void)number;
    if (z <= to->depth[pixel] && to->stencil[pixel] > 0)
        to->stencil[pixel]--;
}
static void write_penetrating(image *to, size_t pixel, uint32_t z, uint32_t number) {
    (void)z;
    if (to->stencil[pixel])
        to->colour[pixel] = (number + 1) << 16;
}
static void write_penetrated(image *to, size_t pixel, uint32_t z, uint32_t number) {
    (void)z;
    if (to->stencil[pixel])
        to->colour[pixel] = (to->colour[pixel] & 0xffff0000u) | (number + 1);
    to->stencil[pixel] = 0;
}
static void write_penetrated_other(image *to, size_t pixel, uint32_t z, uint32_t number) {
    if (to->colour[pixel] >> 16 == number + 1)
        to->stencil[pixel] = 0;
    write_penetrated(to, pixel, z, number);
}

static uint32_t to_depth(double z) { /* 0 means empty */
    return z <= 1 ? 1 : z >= DEPTHS ? DEPTHS : (uint32_t)(z + 0.5);
}

/* One fragment for each pixel centre along the longer axis, as for lines in OpenGL. */
static void draw_line(image *to, point a, point b, fragment work, uint32_t number) {
    bool wide = abs(b.x - a.x) >= abs(b.y - a.y);
    if (wide ? b.x < a.x : b.y < a.y) {
        point swap = a;
        a = b;
        b = swap;
    }
    int32_t from = wide ? a.x : a.y, length = (wide ? b.x : b.y) - from;
    for (int32_t i = (from + HALF - 1) >> 8; i <= (from + length - HALF) >> 8 && length; i++) {
        double t = (double)(i * STEP + HALF - from) / length;
        double across = wide ? a.y + t * (b.y - a.y) : a.x + t * (b.x - a.x);
        int32_t j = (int32_t)floor(across / STEP), x = wide ? i : j, y = wide ? j : i;
        if (x >= 0 && y >= 0 && x < (int32_t)to->width && y < (int32_t)to->height)
            work(to, (size_t)y * to->width + (size_t)x, to_depth(a.z + t * (b.z - a.z)), number);
    }
}

static int64_t side(point a, point b, int64_t x, int64_t y) {
    int64_t wide = b.x - a.x, high = b.y - a.y, at = wide * (y - a.y) - high * (x - a.x);
    return at - !(high < 0 || (high == 0 && wide > 0)); /* top and left edges are included */
}

/* The pixels whose centres a triangle covers. */
static void draw_triangle(image *to, const point p[3], double area, fragment work,
                          uint32_t number) {
    point a = p[0], b = area > 0 ? p[1] : p[2], c = area > 0 ? p[2] : p[1];
    int32_t x0 = a.x < b.x ? a.x : b.x, x1 = a.x < b.x ? b.x : a.x, y0 = a.y < b.y ? a.y : b.y,
            y1 = a.y < b.y ? b.y : a.y;
    x0 = ((x0 < c.x ? x0 : c.x) + HALF - 1) >> 8;
    x1 = ((x1 > c.x ? x1 : c.x) - HALF) >> 8;
    y0 = ((y0 < c.y ? y0 : c.y) + HALF - 1) >> 8;
    y1 = ((y1 > c.y ? y1 : c.y) - HALF) >> 8;
    for (int32_t y = y0 < 0 ? 0 : y0; y <= y1 && y < (int32_t)to->height; y++)
        for (int32_t x = x0 < 0 ? 0 : x0; x <= x1 && x < (int32_t)to->width; x++) {
            int64_t u = (int64_t)x * STEP + HALF, v = (int64_t)y * STEP + HALF;
            int64_t wa = side(b, c, u, v), wb = side(c, a, u, v), wc = side(a, b, u, v);
            if (wa < 0 || wb < 0 || wc < 0)
                continue;
            double z =
                ((double)wa * a.z + (double)wb * b.z + (double)wc * c.z) / (double)(wa + wb + wc);
            work(to, (size_t)y * to->width + (size_t)x, to_depth(z), number);
        }
}

enum { FRONT = 1, BACK = 2, LINES = 4 };

static void draw(image *to, uint32_t solid, int what, fragment work) {
    const abut_mesh *mesh = to->solids[solid].shape.mesh.mesh;
    const uint32_t *indices = abut_mesh_indices(mesh);
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        point p[3];
        for (uint32_t k = 0; k < 3; k++)
            p[k] = to->points[solid][indices[3 * t + k]];
        double area = (double)(p[1].x - p[0].x) * (p[2].y - p[0].y) -
                      (double)(p[2].x - p[0].x) * (p[1].y - p[0].y);
        /* x right, y down, depth away: a front face is counter-clockwise, its area is < 0. */
        double offset = area < 0 ? -to->offset : area > 0 ? to->offset : 0;
        for (int k = 0; k < 3 && (what & LINES); k++) {
            point a = p[k], b = p[(k + 1) % 3];
            a.z += offset;
            b.z += offset;
            draw_line(to, a, b, work, solid);
        }
        if ((area < 0 && (what & FRONT)) || (area > 0 && (what & BACK)))
            draw_triangle(to, p, area, work, solid);
    }
}

static void seven_passes(image *to, uint32_t count, bool prevent) {
    for (uint32_t i = 0; i < count; i++)
        draw(to, i, LINES, write_depth);
    for (uint32_t i = 0; i < count; i++)
        draw(to, i, FRONT, count_front);
    for (uint32_t i = 0; i < count; i++)
        draw(to, i, BACK, count_back);
    for (uint32_t i = 0; i < count; i++)
        draw(to, i, LINES, write_penetrating);
    memset(to->stencil, 0, (size_t)to->width * to->height);
    for (uint32_t i = 0; i < count; i++) {
        draw(to, i, FRONT, count_front);
        draw(to, i, BACK, count_back);
        draw(to, i, FRONT | BACK, prevent ? write_penetrated_other : write_penetrated);
    }
}

/* A quarter of the pixels; the maximum of each four. */
static void halve(image *to) {
    uint32_t width = (to->width + 1) / 2, height = (to->height + 1) / 2;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t most = 0;
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t u = 2 * x + (k & 1), v = 2 * y + (k >> 1);
                uint32_t c =
                    u < to->width && v < to->height ? to->colour[(size_t)v * to->width + u] : 0;
                most = c > most ? c : most;
            }
            to->colour[(size_t)y * width + x] = most;
        }
    to->width = width;
    to->height = height;
}

/* As numbers that do not depend on who penetrates whom. */
static uint32_t pair_of(uint32_t colour) {
    uint32_t a = colour >> 16, b = colour & 0xffff;
    return a < b ? a << 16 | b : b << 16 | a;
}

/* Whether each four pixels have at most one pair. */
static bool halving_keeps_all(const image *of) {
    for (uint32_t y = 0; y < of->height; y += 2)
        for (uint32_t x = 0; x < of->width; x += 2) {
            uint32_t only = 0;
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t u = x + (k & 1), v = y + (k >> 1);
                uint32_t c =
                    u < of->width && v < of->height ? of->colour[(size_t)v * of->width + u] : 0;
                if (c && only && pair_of(c) != only)
                    return false;
                only = c ? pair_of(c) : only;
            }
        }
    return true;
}

/* Moves all pixels with a pair to the front. */
static void pack(image *to) {
    size_t pixels = (size_t)to->width * to->height;
    uint32_t kept = 0;
    for (size_t i = 0; i < pixels; i++)
        if (to->colour[i])
            to->colour[kept++] = to->colour[i];
    to->width = kept;
    to->height = 1;
}

static void reduce(image *to, const cinder_options *options) {
    if (options->reduction == CINDER_PACK)
        pack(to);
    for (uint32_t k = 0; k < options->halvings && options->reduction == CINDER_HALVE; k++)
        halve(to);
    while (options->reduction == CINDER_STEER && (to->width > 1 || to->height > 1) &&
           halving_keeps_all(to))
        halve(to);
}

static int compare(const void *a, const void *b) {
    const abut_world_pair *p = a, *q = b;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : p->b < q->b ? -1 : p->b > q->b;
}

static abut_status read_back(abut_context *context, const image *from, abut_world_pair **pairs,
                             uint64_t *count) {
    size_t pixels = (size_t)from->width * from->height, found = 0, kept = 0;
    for (size_t i = 0; i < pixels; i++)
        found += from->colour[i] != 0;
    abut_world_pair *list = abut_context_allocate(context, found, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    found = 0;
    for (size_t i = 0; i < pixels; i++)
        if (from->colour[i]) {
            uint32_t a = (from->colour[i] >> 16) - 1, b = (from->colour[i] & 0xffff) - 1;
            list[found++] = (abut_world_pair){a < b ? a : b, a < b ? b : a};
        }
    qsort(list, found, sizeof *list, compare);
    for (size_t i = 0; i < found; i++)
        if (!kept || compare(&list[kept - 1], &list[i]))
            list[kept++] = list[i];
    *pairs = list;
    *count = kept;
    return ABUT_OK;
}

/* ---- the view ---- */

static abut_vec3 cross(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static double dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static abut_vec3 unit(abut_vec3 a) {
    double length = sqrt(dot(a, a));
    return (abut_vec3){a.x / length, a.y / length, a.z / length};
}

/* Calls `work` with every posed vertex in view coordinates. */
static abut_status each_point(const abut_collider *solids, uint32_t count, const abut_vec3 axes[3],
                              void (*work)(void *user, uint32_t solid, uint32_t vertex,
                                           const double place[3]),
                              void *user) {
    for (uint32_t i = 0; i < count; i++) {
        const abut_mesh *mesh = solids[i].shape.mesh.mesh;
        const abut_vec3 *positions = abut_mesh_local_positions(mesh),
                        origin = abut_mesh_local_origin(mesh);
        double m[12];
        abut_status status = abut_pose_to_matrix(&solids[i].pose, m);
        if (status)
            return status;
        for (uint32_t v = 0; v < abut_mesh_vertex_count(mesh); v++) {
            abut_vec3 p = {positions[v].x + origin.x, positions[v].y + origin.y,
                           positions[v].z + origin.z};
            abut_vec3 q = {m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3],
                           m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
                           m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]};
            double place[3] = {dot(q, axes[0]), dot(q, axes[1]), dot(q, axes[2])};
            work(user, i, v, place);
        }
    }
    return ABUT_OK;
}

typedef struct frame {
    double lo[3], hi[3], pixel;
    image *to;
} frame;

static void grow(void *user, uint32_t solid, uint32_t vertex, const double place[3]) {
    frame *f = user;
    (void)solid;
    (void)vertex;
    for (int k = 0; k < 3; k++) {
        f->lo[k] = fmin(f->lo[k], place[k]);
        f->hi[k] = fmax(f->hi[k], place[k]);
    }
}

static void project_vertex(void *user, uint32_t solid, uint32_t vertex, const double place[3]) {
    frame *f = user;
    double depth = f->hi[2] > f->lo[2] ? (place[2] - f->lo[2]) / (f->hi[2] - f->lo[2]) : 0;
    f->to->points[solid][vertex] = (point){
        (int32_t)floor(STEP * (1 + (place[0] - f->lo[0]) / f->pixel) + 0.5),
        (int32_t)floor(STEP * (1 + (place[1] - f->lo[1]) / f->pixel) + 0.5),
        1 + (DEPTHS - 2) * depth,
    };
}

static void clear(abut_context *context, image *to, uint32_t count) {
    for (uint32_t i = 0; i < count && to->points; i++)
        abut_context_free(context, to->points[i]);
    abut_context_free(context, to->points);
    abut_context_free(context, to->depth);
    abut_context_free(context, to->stencil);
    abut_context_free(context, to->colour);
}

static abut_status reserve(abut_context *context, image *to, uint32_t count) {
    size_t pixels = (size_t)to->width * to->height;
    to->depth = abut_context_allocate(context, pixels, sizeof *to->depth);
    to->stencil = abut_context_allocate(context, pixels, sizeof *to->stencil);
    to->colour = abut_context_allocate(context, pixels, sizeof *to->colour);
    to->points = abut_context_allocate(context, count, sizeof *to->points);
    if (!to->depth || !to->stencil || !to->colour || !to->points)
        return ABUT_ERROR_MEMORY;
    memset(to->depth, 0, pixels * sizeof *to->depth);
    memset(to->stencil, 0, pixels);
    memset(to->colour, 0, pixels * sizeof *to->colour);
    for (uint32_t i = 0; i < count; i++)
        to->points[i] = NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t vertices = abut_mesh_vertex_count(to->solids[i].shape.mesh.mesh);
        to->points[i] = abut_context_allocate(context, vertices, sizeof *to->points[i]);
        if (!to->points[i])
            return ABUT_ERROR_MEMORY;
    }
    return ABUT_OK;
}

/* Fills the report before filter and reduction. */
static abut_status describe(abut_context *context, const image *from, cinder_report *report) {
    const size_t pixels = (size_t)from->width * from->height;
    *report = (cinder_report){.width = from->width, .height = from->height};
    report->image = abut_context_allocate(context, pixels, sizeof *report->image);
    if (!report->image)
        return ABUT_ERROR_MEMORY;
    memcpy(report->image, from->colour, pixels * sizeof *report->image);
    for (size_t i = 0; i < pixels; i++) {
        const uint32_t penetrating = from->colour[i] >> 16, penetrated = from->colour[i] & 0xffff;
        report->edge_pixels += from->depth[i] != 0;
        report->self_pixels += penetrating && penetrating == penetrated;
    }
    return ABUT_OK;
}

/* Removes solids inside themselves, and pixels with only one solid. */
static void filter(image *to) {
    for (size_t i = 0; i < (size_t)to->width * to->height; i++) {
        const uint32_t penetrating = to->colour[i] >> 16, penetrated = to->colour[i] & 0xffff;
        if (penetrating == penetrated || !penetrating || !penetrated)
            to->colour[i] = 0;
    }
}

abut_status cinder_find(abut_context *context, const abut_collider *solids, uint32_t count,
                        abut_vec3 direction, const cinder_options *options, abut_world_pair **pairs,
                        uint64_t *pair_count, cinder_report *report) {
    uint32_t resolution = options->resolution ? options->resolution : 1024;
    abut_vec3 up = fabs(direction.z) > fabs(direction.x) + fabs(direction.y) ? (abut_vec3){0, 1, 0}
                                                                             : (abut_vec3){0, 0, 1};
    abut_vec3 axes[3];
    axes[2] = unit(direction);
    axes[0] = unit(cross(axes[2], up));
    axes[1] = cross(axes[2], axes[0]);
    image to = {.solids = solids};
    frame f = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0, &to};
    abut_status status = each_point(solids, count, axes, grow, &f);
    if (status)
        return status;
    if (!count || count > 65534)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "cinder_find: from 1 to 65,534 solids");
    f.pixel = fmax(f.hi[0] - f.lo[0], f.hi[1] - f.lo[1]) / (resolution - 2.0);
    to.width = (uint32_t)ceil((f.hi[0] - f.lo[0]) / f.pixel) + 2;
    to.height = (uint32_t)ceil((f.hi[1] - f.lo[1]) / f.pixel) + 2;
    status = reserve(context, &to, count);
    if (!status)
        status = each_point(solids, count, axes, project_vertex, &f);
    if (!status) {
        to.offset =
            f.hi[2] > f.lo[2] ? options->offset * f.pixel / (f.hi[2] - f.lo[2]) * (DEPTHS - 2) : 0;
        seven_passes(&to, count, options->prevent);
        if (report)
            status = describe(context, &to, report);
    }
    if (!status) {
        filter(&to);
        reduce(&to, options);
        if (report)
            report->read_pixels = (uint64_t)to.width * to.height;
        status = read_back(context, &to, pairs, pair_count);
        if (status && report) {
            abut_context_free(context, report->image);
            report->image = NULL;
        }
    }
    clear(context, &to, count);
    return status;
}
