/* The surface of a figure: the smooth union of its parts, extracted as an isosurface of a fine grid
 * and remeshed to the requested number of triangles, which are smaller on thin parts.
 *
 * Parts are joined one after the other by the polynomial smooth minimum (Quilez, "Smooth minimum",
 * 2013): if two distances differ by less than h = `blend`, the result is up to h/4 below the
 * smaller one. Like the distances it is 1-Lipschitz, so that one value decides for a whole block of
 * the grid whether the surface can pass through it, and which parts are relevant there.
 */
#include "mannequin/mannequin.h"

#include "mannequin/remesh.h"
#include "mesh/marching_cubes.h"

#include <math.h>

/* Cells along the height; the thinnest finger is three cells thick. */
#define HEIGHT_CELLS 300
/* Cells along a block. */
#define BLOCK_CELLS 4

_Static_assert(FIGURE_PARTS <= 256, "lists have an unsigned char per part");

typedef struct distance_grid {
    figure_level surface; /* sampled by a fine grid */
    abut_context *context;
    const figure *f;
    uint32_t boxes[3];    /* blocks of the grid */
    uint32_t *starts;     /* of each block in `lists` */
    unsigned char *lists; /* relevant parts */
    float *levels;        /* distance at the centre of blocks without relevant parts */
    size_t list_room;
} distance_grid;

/* Signed distance from the hull of two balls (Quilez, "Round cone"). */
double abuti_part_distance(const figure_part *part, vec3 p) {
    vec3 pa = v3_sub(p, part->a), ba = part->along;
    double l2 = part->length_sq, rr = part->ra - part->rb, a2 = l2 - rr * rr;
    if (!(a2 > 0)) /* one ball contains the other */
        return part->ra >= part->rb ? v3_length(pa) - part->ra
                                    : v3_length(v3_sub(pa, ba)) - part->rb;
    double y = v3_dot(pa, ba), z = y - l2;
    double x2 = v3_length_sq(v3_sub(v3_scale(pa, l2), v3_scale(ba, y)));
    double y2 = y * y * l2, z2 = z * z * l2, k = (rr < 0 ? -1 : 1) * rr * rr * x2;
    if ((z < 0 ? -1 : 1) * a2 * z2 > k)
        return sqrt(x2 + z2) / l2 - part->rb;
    if ((y < 0 ? -1 : 1) * a2 * y2 < k)
        return sqrt(x2 + y2) / l2 - part->ra;
    return (sqrt(x2 * a2 / l2) + y * rr) / l2 - part->ra;
}

/* ---- blocks ---- */

/* Lists the parts that are relevant within `reach` of a point. Returns 0 if the surface does not
 * pass there; `level` is the distance at the point. */
static uint32_t list_parts(const figure *f, vec3 centre, double reach, unsigned char *list,
                           double *level) {
    double distances[FIGURE_PARTS], least = INFINITY, whole = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->part_count; i++) {
        const figure_part *part = &f->parts[i];
        distances[i] = abuti_part_distance(part, centre);
        least = fmin(least, distances[i]);
        whole = i ? figure_smooth_min(whole, distances[i], part->blend) : distances[i];
    }
    *level = whole;
    if (fabs(whole) > 1.5 * reach) /* gradients are sampled slightly outside the block */
        return 0;
    /* A part blends with parts that are at most `blend` nearer, and these with the nearest one. */
    for (uint32_t i = 0; i < f->part_count; i++)
        if (distances[i] <= least + 2 * reach + f->parts[i].blend + f->blend_max)
            list[count++] = (unsigned char)i;
    return count;
}

static abut_status list_parts_of_blocks(distance_grid *s) {
    size_t count = (size_t)s->boxes[0] * s->boxes[1] * s->boxes[2], used = 0, box = 0;
    double side = BLOCK_CELLS * s->surface.cell, reach = 0.8660254037844387 * side;
    s->starts = abuti_allocate(s->context, count + 1, sizeof *s->starts);
    s->levels = abuti_allocate(s->context, count, sizeof *s->levels);
    if (!s->starts || !s->levels)
        return ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < s->boxes[2]; k++)
        for (uint32_t j = 0; j < s->boxes[1]; j++)
            for (uint32_t i = 0; i < s->boxes[0]; i++, box++) {
                vec3 centre =
                    v3_add(s->surface.origin, v3_scale(v3(i + 0.5, j + 0.5, k + 0.5), side));
                double level;
                if (abuti_grow(s->context, &s->lists, used, used + FIGURE_PARTS, 1, &s->list_room))
                    return ABUT_ERROR_MEMORY;
                s->starts[box] = (uint32_t)used;
                used += list_parts(s->f, centre, reach, s->lists + used, &level);
                s->levels[box] = (float)level;
            }
    s->starts[count] = (uint32_t)used;
    return ABUT_OK;
}

static size_t block_of(const distance_grid *s, vec3 p) {
    double at[3] = {p.x - s->surface.origin.x, p.y - s->surface.origin.y,
                    p.z - s->surface.origin.z};
    size_t box[3];
    for (int i = 0; i < 3; i++) {
        double index = at[i] / (BLOCK_CELLS * s->surface.cell);
        box[i] = (size_t)fmin(fmax(index, 0), s->boxes[i] - 1.0);
    }
    return (box[2] * s->boxes[1] + box[1]) * s->boxes[0] + box[0];
}

static double level_at(const figure_level *surface, vec3 p) {
    const distance_grid *s = (const distance_grid *)surface;
    size_t box = block_of(s, p);
    uint32_t begin = s->starts[box], end = s->starts[box + 1];
    if (begin == end)
        return s->levels[box];
    double d = abuti_part_distance(&s->f->parts[s->lists[begin]], p);
    for (uint32_t i = begin + 1; i < end; i++) {
        const figure_part *part = &s->f->parts[s->lists[i]];
        d = figure_smooth_min(d, abuti_part_distance(part, p), part->blend);
    }
    return d;
}

/* ---- surfaces of functions ---- */

typedef struct layer_job {
    const figure_level *surface;
    uint32_t k;
    float *values;
} layer_job;

static void fill_rows(void *data, size_t chunk, size_t begin, size_t end) {
    const layer_job *job = data;
    const figure_level *s = job->surface;
    float *to = job->values + begin * s->count[0];
    (void)chunk;
    for (size_t j = begin; j < end; j++)
        for (uint32_t i = 0; i < s->count[0]; i++)
            *to++ =
                (float)s->level(s, v3_add(s->origin, v3_scale(v3(i, (double)j, job->k), s->cell)));
}

typedef struct layer_source {
    abut_context *context;
    const figure_level *surface;
} layer_source;

static abut_status fill_layer(void *data, uint32_t k, float *values) {
    const layer_source *source = data;
    layer_job job = {source->surface, k, values};
    abuti_parallel_for(source->context, source->surface->count[1], 8, fill_rows, &job);
    return ABUT_OK;
}

abut_status abuti_level_extract(abut_context *context, const char *who, const figure_level *s,
                                abut_mesh **mesh) {
    layer_source source = {context, s};
    const abuti_isosurface_grid levels = {.count = {s->count[0], s->count[1], s->count[2]},
                                          .origin = s->origin,
                                          .cell = s->cell,
                                          .layer = fill_layer,
                                          .data = &source};
    return abuti_isosurface_extract(context, who, &levels, mesh);
}

static vec3 gradient_at(const figure_level *s, vec3 p) {
    double h = 0.05 * s->cell;
    return v3_normalise(
        v3(s->level(s, v3(p.x + h, p.y, p.z)) - s->level(s, v3(p.x - h, p.y, p.z)),
           s->level(s, v3(p.x, p.y + h, p.z)) - s->level(s, v3(p.x, p.y - h, p.z)),
           s->level(s, v3(p.x, p.y, p.z + h)) - s->level(s, v3(p.x, p.y, p.z - h))));
}

vec3 abuti_level_project(void *surface, vec3 p) {
    const figure_level *s = surface;
    for (int i = 0; i < 2; i++) {
        double d = s->level(s, p);
        if (fabs(d) < 0.01 * s->cell || fabs(d) > 8 * s->cell)
            break;
        p = v3_along(p, -d, gradient_at(s, p));
    }
    return p;
}

/* ---- the surface of a figure ---- */

/* Edge length at a point, relative to the longest: proportional to the thickness of the part within
 * limits, and slowly growing with the distance from thin parts. */
static double edge_length(void *data, vec3 p) {
    const distance_grid *s = data;
    size_t box = block_of(s, p);
    double least = 1;
    for (uint32_t i = s->starts[box]; i < s->starts[box + 1]; i++) {
        const figure_part *part = &s->f->parts[s->lists[i]];
        double radius = fmin(part->ra, part->rb) / s->f->radius_max;
        double wanted = fmax(0.22 + 0.78 * radius, 0.36);
        least =
            fmin(least, wanted + 0.35 * fmax(0, abuti_part_distance(part, p)) / s->f->radius_max);
    }
    return least;
}

/* ---- create ---- */

static void choose_grid(distance_grid *s) {
    box3 box = box_empty();
    for (uint32_t i = 0; i < s->f->part_count; i++) {
        const figure_part *p = &s->f->parts[i];
        double r = fmax(p->ra, p->rb) + 0.25 * p->blend;
        vec3 b = v3_add(p->a, p->along), reach = v3(r, r, r);
        box = box_grow(box_grow(box, v3_add(p->a, reach)), v3_sub(p->a, reach));
        box = box_grow(box_grow(box, v3_add(b, reach)), v3_sub(b, reach));
    }
    s->surface.cell = s->f->height / HEIGHT_CELLS;
    vec3 extent = v3_sub(box.hi, box.lo);
    const double sides[3] = {extent.x, extent.y, extent.z};
    for (int i = 0; i < 3; i++) {
        s->boxes[i] = (uint32_t)ceil((sides[i] / s->surface.cell + 4) / BLOCK_CELLS);
        s->surface.count[i] = BLOCK_CELLS * s->boxes[i] + 1;
    }
    s->surface.origin = v3_sub(box.lo, v3_scale(v3(1.5, 1.5, 1.5), s->surface.cell));
}

abut_status abuti_figure_surface(abut_context *context, const char *who, const figure *f,
                                 uint32_t triangles, abut_mesh **mesh) {
    distance_grid s = {.surface.level = level_at, .context = context, .f = f};
    abut_mesh *fine = NULL;
    choose_grid(&s);
    abut_status status = list_parts_of_blocks(&s);
    if (!status) {
        status = abuti_level_extract(context, who, &s.surface, &fine);
    }
    if (!status) {
        const abuti_remesh how = {.length = edge_length,
                                  .project = abuti_level_project,
                                  .data = &s,
                                  .triangles = triangles};
        status = abuti_mesh_remesh(fine, who, &how, mesh);
    }
    if (!status)
        (*mesh)->up = v3(0, 1, 0);
    abut_mesh_destroy(fine);
    ABUTI_RELEASE(context, s.starts, s.lists, s.levels);
    return status;
}
