/* Combines the results of all views for each pair.
 *
 * Each view has sums of integers for each pair. Lengths, volumes, centres and boxes follow from
 * each view separately. Let V be the vector area of the part of a's surface inside b. Its component
 * along the direction d of a parallel view is
 *      d . V = (number of times that rays leave a inside b - number of times that they enter it) x
 * pixel area which the rays count. Views in three directions determine V (least squares for more
 * views), for any triangles. V is also the gradient of the overlap volume when b is moved, so -V is
 * the separating direction for a.
 */
#include "layers/layers.h"

#include <math.h>
#include <string.h>

enum { PAIRS_PER_TASK = 256 };

/* A pair while views are added. */
typedef struct pair_build {
    abut_layers_pair *pair;
    double least;     /* smallest error of the volume so far */
    double matrix[6]; /* sums of d dT: xx yy zz xy yz zx */
    vec3 flux;        /* sum of (d . V) d */
    vec3 centre;      /* sum over views */
} pair_build;

static double wide_to_double(const layers_wide *w) {
    return (double)w->high * 18446744073709551616.0 + (double)w->low;
}

/* Rays next to those inside both solids are outside, so the box ends within a pixel of their
 * centres. */
static box3 box_of(const raster_camera *c, const layers_sum *s) {
    const double x[2] = {s->x0 - 0.5, s->x1 + 1.5}, y[2] = {s->y0 - 0.5, s->y1 + 1.5};
    const double z[2] = {s->z0, s->z1};
    box3 box = box_empty();
    for (int k = 0; k < 8; k++)
        box = box_grow(box, abuti_raster_point(c, x[k & 1], y[k >> 1 & 1], z[k >> 2]));
    return box;
}

static void cut_box(abut_box *to, box3 by) {
    box3 cut = {v3_max(to->lo, by.lo), v3_min(to->hi, by.hi)};
    if (cut.lo.x <= cut.hi.x && cut.lo.y <= cut.hi.y && cut.lo.z <= cut.hi.z)
        *to = cut;
}

static void add_flux(pair_build *b, const raster_camera *c, const layers_sum *s) {
    const vec3 d = c->axes.row[2];
    double surplus = (double)(int64_t)(s->leaves_a - s->enters_a);
    double flux = surplus / (c->scale * c->scale);
    b->matrix[0] += d.x * d.x;
    b->matrix[1] += d.y * d.y;
    b->matrix[2] += d.z * d.z;
    b->matrix[3] += d.x * d.y;
    b->matrix[4] += d.y * d.z;
    b->matrix[5] += d.z * d.x;
    b->flux = v3_along(b->flux, flux, d);
}

/* Adds the sums of a pair in one view. */
static void add_view(pair_build *b, const layers_pass *pass, const layers_sum *s) {
    abut_layers_pair *p = b->pair;
    const raster_camera *c = &pass->view.camera;
    p->edges_a += s->edges_a;
    p->edges_b += s->edges_b;
    if (!s->intervals)
        return;
    double longest = s->longest * pass->view.length_unit;
    double weight = wide_to_double(&s->volume);
    double volume = weight * (pass->view.volume_unit / (c->scale * c->scale));
    double pixel = 1 / c->scale;
    if (c->lens.near > 0)
        pixel *= raster_distance(c, s->z1) + c->lens.near;
    double error =
        pixel * pixel * ((double)(s->x1 - s->x0 + 1) + (double)(s->y1 - s->y0 + 1)) * longest;
    bool first = !p->view_count++;
    p->pixels += s->pixels;
    p->intervals += s->intervals;
    p->length = real_max(p->length, longest);
    if (first || longest < p->depth) {
        p->depth = longest;
        p->mean_length = wide_to_double(&s->length) * pass->view.length_unit / (double)s->pixels;
    }
    if (first || error < b->least) {
        b->least = p->volume_error = error;
        p->volume = volume;
    }
    if (weight > 0)
        b->centre = v3_add(b->centre, abuti_raster_point(c, wide_to_double(&s->x) / weight + 0.5,
                                                         wide_to_double(&s->y) / weight + 0.5,
                                                         wide_to_double(&s->z) / weight));
    if (first)
        p->box = box_of(c, s);
    else
        cut_box(&p->box, box_of(c, s));
    if (c->lens.near <= 0)
        add_flux(b, c, s);
}

/* Solves (sum of d dT) V = flux, see the head of this file. Returns zero if the directions do not
 * span space. For orthogonal directions and unit trace the determinant is 1/27. */
static vec3 solve_vector_area(const pair_build *b) {
    const double *m = b->matrix, trace = m[0] + m[1] + m[2];
    vec3 x = v3(m[0], m[3], m[5]), y = v3(m[3], m[1], m[4]), z = v3(m[5], m[4], m[2]), f = b->flux;
    double det = v3_dot(x, v3_cross(y, z));
    if (!(det > 1e-5 * trace * trace * trace))
        return v3(0, 0, 0);
    return v3(v3_dot(f, v3_cross(y, z)) / det, v3_dot(x, v3_cross(f, z)) / det,
              v3_dot(x, v3_cross(y, f)) / det);
}

static void finish_pair(const pair_build *b) {
    abut_layers_pair *p = b->pair;
    if (p->view_count)
        p->centre = v3_scale(b->centre, 1.0 / p->view_count);
    if (p->a != p->b) {
        vec3 v = solve_vector_area(b);
        p->area = v3_length(v);
        p->normal = v3_scale(v3_normalise(v), -1);
    }
}

/* Measures pairs, each of which has some sums. */
typedef struct measure_work {
    const layers_pass *passes; /* of views */
    const layers_output *output;
    const sort_key *order; /* sums of a pair are consecutive */
    const size_t *begin;   /* of pairs */
    abut_layers_pair *to;
} measure_work;

static const layers_sum *sum_at(const layers_output *output, size_t i) {
    return i < output->sum_count ? &output->sums[i]
                                 : (const layers_sum *)output->more.data + (i - output->sum_count);
}

/* The lowest view of some sums that is not below `from`; UINT64_MAX = none. */
static uint64_t first_view(const measure_work *w, const sort_key *order, size_t count,
                           uint64_t from) {
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t view = sum_at(w->output, order[i].value)->view;
        lowest = view >= from && view < lowest ? view : lowest;
    }
    return lowest;
}

static void measure_pairs_task(void *data, size_t chunk, size_t begin, size_t end) {
    const measure_work *w = data;
    (void)chunk;
    for (size_t k = begin; k < end; k++) {
        const sort_key *order = w->order + w->begin[k];
        size_t count = w->begin[k + 1] - w->begin[k];
        pair_build b = {.pair = &w->to[k]};
        memset(b.pair, 0, sizeof *b.pair);
        b.pair->a = (uint32_t)(order->key >> 32);
        b.pair->b = (uint32_t)order->key;
        b.pair->relation = ABUT_PAIR_INTERSECTING;
        b.pair->kind = ABUT_PAIR_KIND_OVERLAP;
        /* View by view, so that the order of sums does not matter. */
        for (uint64_t view = first_view(w, order, count, 0); view != UINT64_MAX;
             view = first_view(w, order, count, view + 1)) {
            layers_sum all = layers_empty_sum(b.pair->a, b.pair->b);
            for (size_t i = 0; i < count; i++) {
                const layers_sum *s = sum_at(w->output, order[i].value);
                if (s->view == view)
                    abuti_layers_add_sum(&all, s);
            }
            add_view(&b, &w->passes[view], &all);
        }
        finish_pair(&b);
    }
}

/* Sorts sums by pairs, in memory of the layers. */
static abut_status sort_sums(abut_layers *layers, const layers_output *output,
                             const sort_key **sorted) {
    const size_t count = output->sum_count + output->more.count;
    layers->keys.count = 0;
    abut_status status =
        abuti_vector_reserve(layers->context, &layers->keys, 2 * count, sizeof(sort_key));
    if (status)
        return status;
    sort_key *keys = layers->keys.data;
    for (size_t i = 0; i < count; i++)
        keys[i] =
            (sort_key){(uint64_t)sum_at(output, i)->a << 32 | sum_at(output, i)->b, (uint32_t)i};
    *sorted = abuti_sort_by_key(keys, keys + count, count);
    return ABUT_OK;
}

abut_status abuti_layers_measure_pairs(abut_layers *layers, const layers_pass *passes,
                                       const layers_output *output, abuti_vector *measured) {
    abut_context *context = layers->context;
    size_t count = output->sum_count + output->more.count, pairs = 0;
    measure_work work = {.output = output, .passes = passes};
    if (count > UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "abut_layers_find: more than 2^32 sums of pairs are "
                                            "not supported; use fewer views or items");
    abut_status status = sort_sums(layers, output, &work.order);
    if (!status)
        status = abuti_vector_reserve(context, &layers->begin, count + 1, sizeof(size_t));
    if (status)
        return status;
    size_t *begin = layers->begin.data;
    for (size_t i = 0; i < count; i++)
        if (!i || work.order[i].key != work.order[i - 1].key)
            begin[pairs++] = i;
    begin[pairs] = count;
    status = abuti_vector_reserve(context, measured, pairs, sizeof(abut_layers_pair));
    work.begin = begin;
    work.to = measured->data;
    if (!status)
        status = abuti_parallel_try(context, "layers", pairs, layers_grain(pairs, PAIRS_PER_TASK),
                                    measure_pairs_task, &work);
    measured->count = status ? 0 : pairs;
    return status;
}
