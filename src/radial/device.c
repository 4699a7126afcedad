/* Radial fields on a device: what does not change is there once; an update is one write of all
 * frames and two launches, a collision a write and a launch more. Samples stay there until someone
 * asks for them.
 *
 * Samples and marks have two places each: an update draws into the spare one, which counts once the
 * device has done all, so that a failure leaves those of before. */
#include "radial/radial.h"

#include "device/kit.h"

enum { MOVE, DRAW, COLLIDE, KERNELS };
enum {
    FIELDS,
    TURNS,
    VERTICES,
    POINT_FIELDS,
    TRIANGLES,
    PAIR_FIELDS,
    FRAMES, /* now */
    REST,   /* frames before, then bounds */
    POSITIONS,
    POINTS,
    RADII,
    SPARE_RADII,
    MARKS,
    SPARE_MARKS,
    FROM,
    TO,
    HITS,
    COUNTS,
    BUFFERS
};
/* WORD_BYTES: of what a work-item tells those of the same particle. */
enum { GROUP = 64, WORD_BYTES = 8, REST_BYTES = sizeof(radial_frame) + sizeof(radial_bound) };

static const abuti_kernel_source sources[KERNELS] = {[MOVE] = {"radial", "radial_move", NULL},
                                                     [DRAW] = {"radial", "radial_draw", NULL},
                                                     [COLLIDE] = {"radial", "radial_collide_all",
                                                                  NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

typedef struct radial_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_staging frames, rest, counts;
    uint32_t counted[2]; /* hits and odd ones so far: the device only counts up */
    bool has_counts;     /* they are what the device has */
    bool has_frames;     /* those of the last update are there */
    bool has_rest;       /* and what particles need beside them */
} radial_device;

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- create ---- */

static abut_status put_points(abut_radial *r) {
    radial_device *d = r->data;
    uint32_t *fields = abuti_allocate(r->context, r->seen_count, sizeof *fields);
    if (!fields)
        return ABUT_ERROR_MEMORY;
    for (uint32_t f = 0; f < r->info.field_count; f++)
        for (uint32_t i = 0; i < r->fields[f].vertex_count; i++)
            fields[r->fields[f].first_vertex + i] = f;
    abuti_kit_put(&d->kit, POINT_FIELDS, fields, r->seen_count, sizeof *fields);
    abuti_release(r->context, fields);
    return ABUT_OK;
}

static void send_frames(abut_radial *r) {
    radial_device *d = r->data;
    const size_t n = r->info.field_count;
    memcpy(d->frames.at, r->frames[0], n * sizeof(radial_frame));
    abuti_kit_send(&d->kit, FRAMES, 0, d->frames.at, n, sizeof(radial_frame));
}

/* Frames before and bounds are known when an update is over. */
static void send_rest(abut_radial *r) {
    radial_device *d = r->data;
    const size_t n = r->info.field_count, frames = n * sizeof(radial_frame);
    memcpy(d->rest.at, r->frames[1], frames);
    memcpy((char *)d->rest.at + frames, r->bounds, n * sizeof *r->bounds);
    abuti_kit_send(&d->kit, REST, 0, d->rest.at, frames + n * sizeof *r->bounds, 1);
}

static abut_status create(abut_radial *r) {
    abut_status status = abuti_device_check_bits("abut_radial_create", r->device);
    if (status)
        return status;
    const size_t n = r->info.field_count, pairs = (size_t)r->info.pair_count;
    const size_t samples = (size_t)r->info.sample_count;
    radial_device *d = r->data = abuti_allocate_zeroed(r->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    status = abuti_queue_open(r->device, &d->queue);
    status = status ? status : abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    if (!status)
        status = abuti_staging_create(&d->queue, n, sizeof(radial_frame), &d->frames);
    if (!status)
        status = abuti_staging_create(&d->queue, n, REST_BYTES, &d->rest);
    if (!status)
        status = abuti_staging_create(&d->queue, 2, sizeof(uint32_t), &d->counts);
    status = status ? status : put_points(r);
    if (status)
        return status;
    abuti_kit_build(&d->kit);
    abuti_kit_put(&d->kit, FIELDS, r->fields, n, sizeof *r->fields);
    abuti_kit_put(&d->kit, TURNS, r->turns, r->turn_count, sizeof *r->turns);
    abuti_kit_put(&d->kit, VERTICES, r->vertices, r->seen_count, sizeof *r->vertices);
    abuti_kit_put(&d->kit, TRIANGLES, r->triangles, 3 * pairs, sizeof *r->triangles);
    abuti_kit_put(&d->kit, PAIR_FIELDS, r->pair_fields, pairs, sizeof *r->pair_fields);
    abuti_kit_put(&d->kit, RADII, r->radii, samples, sizeof *r->radii);
    abuti_kit_put(&d->kit, MARKS, r->marks, n, sizeof *r->marks);
    abuti_kit_reserve(&d->kit, SPARE_RADII, samples, sizeof *r->radii);
    abuti_kit_reserve(&d->kit, SPARE_MARKS, n, sizeof *r->marks);
    abuti_kit_reserve(&d->kit, FRAMES, n, sizeof(radial_frame));
    abuti_kit_reserve(&d->kit, REST, n, REST_BYTES);
    abuti_kit_reserve(&d->kit, POINTS, r->seen_count, sizeof(radial_point));
    abuti_kit_reserve(&d->kit, HITS, 1, sizeof(radial_result));
    abuti_kit_put(&d->kit, COUNTS, d->counted, 2, sizeof *d->counted);
    send_frames(r);
    status = abuti_kit_finish(&d->kit);
    d->has_frames = d->has_counts = !status;
    return status;
}

static void destroy(abut_radial *r) {
    radial_device *d = r->data;
    if (!d)
        return;
    abuti_kit_close(&d->kit);
    abuti_staging_destroy(&d->queue, &d->frames);
    abuti_staging_destroy(&d->queue, &d->rest);
    abuti_staging_destroy(&d->queue, &d->counts);
    abuti_queue_close(&d->queue);
    abuti_release(r->context, d);
}

/* An array as kernels have it: the caller's buffer, or ours with his content. */
static const abuti_buffer *there(radial_device *d, abut_array array, uint32_t buffer, size_t count,
                                 size_t element_bytes) {
    if (array.buffer)
        return &array.buffer->memory;
    abuti_kit_put(&d->kit, buffer, array.host, count, element_bytes);
    return &d->kit.buffers[buffer];
}

/* ---- updates ---- */

static abut_status update(abut_radial *r, abut_array positions) {
    radial_device *d = r->data;
    const uint32_t fields = r->info.field_count, seen = (uint32_t)r->seen_count;
    const uint32_t pairs = (uint32_t)r->info.pair_count;
    const uint32_t samples = (uint32_t)r->info.sample_count;
    const uint32_t plane = r->info.distance == ABUT_RADIAL_DISTANCE_PLANE;
    if (positions.buffer) {
        abut_status status = abuti_buffer_check(positions.buffer, "abut_radial_update", "positions",
                                                r->device, r->info.vertex_count, sizeof(vec3));
        if (status)
            return status;
    }
    const abuti_buffer *from = there(d, positions, POSITIONS, r->info.vertex_count, sizeof(vec3));
    const size_t items = seen > fields ? seen : fields;
    send_frames(r);
    ABUTI_KIT_RUN(&d->kit, MOVE, items, GROUP, ABUTI_VALUE(seen), ABUTI_VALUE(samples),
                  ABUTI_VALUE(fields), MEMORY(FIELDS), MEMORY(FRAMES), MEMORY(VERTICES),
                  MEMORY(POINT_FIELDS), ABUTI_BUFFER(from), MEMORY(POINTS), MEMORY(SPARE_RADII),
                  MEMORY(SPARE_MARKS));
    ABUTI_KIT_RUN(&d->kit, DRAW, pairs, GROUP, ABUTI_VALUE(pairs), ABUTI_VALUE(plane),
                  MEMORY(FIELDS), MEMORY(FRAMES), MEMORY(TURNS), MEMORY(TRIANGLES),
                  MEMORY(PAIR_FIELDS), MEMORY(POINTS), MEMORY(SPARE_RADII), MEMORY(SPARE_MARKS));
    abut_status status = abuti_kit_finish(&d->kit);
    d->has_frames = !status;
    d->has_rest = false;
    if (status)
        return status;
    abuti_kit_swap(&d->kit, RADII, SPARE_RADII);
    abuti_kit_swap(&d->kit, MARKS, SPARE_MARKS);
    r->is_here = false;
    return ABUT_OK;
}

/* ---- particles ---- */

static abut_status check_arrays(const abut_radial *r, const abut_radial_particles *p) {
    const struct {
        abut_array array;
        const char *name;
        size_t bytes;
    } all[3] = {{p->from, "from", sizeof(vec3)},
                {p->to, "to", sizeof(vec3)},
                {p->hits, "hits", sizeof(radial_result)}};
    abut_status status = ABUT_OK;
    for (int i = 0; i < 3 && !status; i++)
        if (all[i].array.buffer)
            status = abuti_buffer_check(all[i].array.buffer, "abut_radial_collide", all[i].name,
                                        r->device, p->count, all[i].bytes);
    return status ? status
           : p->count > UINT32_MAX
               ? abuti_fail(ABUT_ERROR_LIMIT, "abut_radial_collide: too many particles")
               : ABUT_OK;
}

static abut_status collide(abut_radial *r, const radial_order *order, abut_radial_particles *p) {
    radial_device *d = r->data;
    abut_status status = check_arrays(r, p);
    if (status)
        return status;
    const uint32_t fields = r->info.field_count, count = (uint32_t)p->count, steps = order->steps;
    const uint32_t wants_hits = p->hits.host || p->hits.buffer;
    const abuti_buffer *from = there(d, p->from, FROM, count, sizeof(vec3));
    const abuti_buffer *to = there(d, p->to, TO, count, sizeof(vec3));
    if (p->hits.host)
        abuti_kit_reserve(&d->kit, HITS, count, sizeof(radial_result));
    const abuti_buffer *hits = p->hits.buffer ? &p->hits.buffer->memory : &d->kit.buffers[HITS];
    if (!d->has_frames)
        send_frames(r);
    if (!d->has_rest)
        send_rest(r);
    if (!d->has_counts)
        abuti_kit_put(&d->kit, COUNTS, d->counted, 2, sizeof *d->counted);
    ABUTI_KIT_RUN(&d->kit, COLLIDE, (size_t)count * RADIAL_LANES, GROUP, ABUTI_VALUE(count),
                  ABUTI_VALUE(fields), ABUTI_VALUE(wants_hits), ABUTI_VALUE(steps),
                  ABUTI_VALUE(order->friction), ABUTI_VALUE(order->radius), ABUTI_VALUE(r->unit),
                  ABUTI_VALUE(r->middle.x), ABUTI_VALUE(r->middle.y), ABUTI_VALUE(r->middle.z),
                  MEMORY(FIELDS), MEMORY(FRAMES), MEMORY(REST), MEMORY(MARKS), MEMORY(RADII),
                  MEMORY(TURNS), ABUTI_BUFFER(from), ABUTI_BUFFER(to), ABUTI_BUFFER(hits),
                  MEMORY(COUNTS), ABUTI_LOCAL_MEMORY(GROUP * WORD_BYTES),
                  ABUTI_LOCAL_MEMORY(GROUP / RADIAL_LANES * sizeof(radial_entry)),
                  ABUTI_LOCAL_MEMORY(GROUP / RADIAL_LANES * 3 * sizeof(double)));
    uint32_t *counts = d->counts.at;
    status = abuti_kit_get(&d->kit, COUNTS, counts, 2, sizeof *counts);
    d->has_counts = d->has_frames = d->has_rest = !status;
    if (status)
        return status;
    p->hit_count = counts[0] - d->counted[0];
    p->odd_count = counts[1] - d->counted[1];
    memcpy(d->counted, counts, sizeof d->counted);
    if (p->hits.host)
        status = abuti_kit_get(&d->kit, HITS, p->hits.host, count, sizeof(radial_result));
    if (!status && p->to.host)
        status = abuti_kit_get(&d->kit, TO, p->to.host, count, sizeof(vec3));
    return status;
}

/* ---- back to the host ---- */

static abut_status fetch(abut_radial *r) {
    radial_device *d = r->data;
    abut_status status =
        abuti_kit_get(&d->kit, RADII, r->radii, (size_t)r->info.sample_count, sizeof *r->radii);
    if (!status)
        status = abuti_kit_get(&d->kit, MARKS, r->marks, r->info.field_count, sizeof *r->marks);
    if (!status)
        abuti_radial_close(r);
    return status;
}

const radial_backend abuti_radial_on_device = {create, destroy, update, collide, fetch};
