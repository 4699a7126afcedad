/* Radial fields on the CPU: transforms vertices to field space, rasterises triangles, and converts
 * samples to radii. */
#include "radial/radial.h"

enum { VERTEX_GRAIN = 2048, PAIR_GRAIN = 2048, SAMPLE_GRAIN = 16384 };
enum { REACH, TOP, BOTTOM, MARK_WORDS };

typedef struct host_data {
    radial_point *points;   /* of used vertices */
    uint32_t *point_fields; /* their fields */
    atomic_uint *samples;   /* empty between updates */
    atomic_uint *marks;     /* MARK_WORDS per field, zero between updates */
} host_data;

static void host_destroy(abut_radial *r) {
    host_data *d = r->data;
    if (d)
        ABUTI_RELEASE(r->context, d->points, d->point_fields, d->samples, d->marks, d);
}

static abut_status host_create(abut_radial *r) {
    const size_t samples = (size_t)r->info.sample_count, words = MARK_WORDS * r->info.field_count;
    host_data *d = r->data = abuti_allocate_zeroed(r->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    abut_status status =
        ABUTI_ALLOCATE(r->context, ABUTI_ARRAY(d->points, r->seen_count),
                       ABUTI_ARRAY(d->samples, samples),
                       ABUTI_ARRAY(d->point_fields, r->seen_count), ABUTI_ARRAY(d->marks, words));
    if (status)
        return status;
    for (size_t i = 0; i < samples; i++)
        atomic_init(&d->samples[i], RADIAL_EMPTY);
    for (size_t i = 0; i < words; i++)
        atomic_init(&d->marks[i], 0);
    for (uint32_t f = 0; f < r->info.field_count; f++)
        for (uint32_t i = 0; i < r->fields[f].vertex_count; i++)
            d->point_fields[r->fields[f].first_vertex + i] = f;
    return ABUT_OK;
}

typedef struct update_work {
    abut_radial *r;
    host_data *d;
    const vec3 *positions;
} update_work;

static void transform_task(void *data, size_t chunk, size_t begin, size_t end) {
    const update_work *w = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t f = w->d->point_fields[i];
        w->d->points[i] = radial_to_field(&w->r->frames[0][f], w->r->fields[f].around,
                                          w->positions[w->r->vertices[i]]);
    }
}

static void rasterise_task(void *data, size_t chunk, size_t begin, size_t end) {
    const update_work *w = data;
    const abut_radial *r = w->r;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t field = r->pair_fields[i], *corner = r->triangles + 3 * i;
        const radial_field *f = &r->fields[field];
        const radial_frame *now = &r->frames[0][field];
        atomic_uint *mark = w->d->marks + MARK_WORDS * (size_t)field;
        const radial_point p[3] = {w->d->points[corner[0]], w->d->points[corner[1]],
                                   w->d->points[corner[2]]};
        if (now->collapsed)
            continue;
        radial_draw(f, now->mirrored, r->turns, p, 0, 1, w->d->samples, mark + REACH, mark + TOP,
                    mark + BOTTOM);
    }
}

/* Converts samples to floats, and clears the words for the next update. */
static void store_radii_task(void *data, size_t chunk, size_t begin, size_t end) {
    const update_work *w = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const word32 bits = atomic_load_explicit(&w->d->samples[i], memory_order_relaxed);
        memcpy(&w->r->radii[i], &bits, sizeof bits);
        atomic_store_explicit(&w->d->samples[i], RADIAL_EMPTY, memory_order_relaxed);
    }
}

static abut_status host_download(abut_radial *r) {
    (void)r;
    return ABUT_OK;
}

static abut_status host_update(abut_radial *r, abut_array positions,
                               const radial_collision_options *order,
                               abut_radial_particles *particles) {
    update_work w = {r, r->data, positions.host};
    abuti_parallel_for(r->context, r->seen_count, VERTEX_GRAIN, transform_task, &w);
    abuti_parallel_for(r->context, (size_t)r->info.pair_count, PAIR_GRAIN, rasterise_task, &w);
    abuti_parallel_for(r->context, (size_t)r->info.sample_count, SAMPLE_GRAIN, store_radii_task,
                       &w);
    for (uint32_t f = 0; f < r->info.field_count; f++) {
        atomic_uint *mark = w.d->marks + MARK_WORDS * (size_t)f;
        r->marks[f] = (radial_mark){.reach = mark[REACH], .top = mark[TOP], .bottom = mark[BOTTOM]};
        for (int k = 0; k < MARK_WORDS; k++)
            atomic_store_explicit(&mark[k], 0, memory_order_relaxed);
    }
    abuti_radial_close_ends(r);
    return order ? abuti_radial_collide_host(r, order, particles) : ABUT_OK;
}

const radial_backend abuti_radial_host = {host_create, host_destroy, host_update,
                                          abuti_radial_collide_host, host_download};
