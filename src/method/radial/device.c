/* Radial fields on a device. Constant data are uploaded once, frames and bounds with each call. The
 * host waits once for an update and the particles after it. Samples stay on the device until they
 * are queried.
 *
 * Samples and marks have two buffers each: the valid ones, and those that an update draws into,
 * which become valid when the device has completed everything, so that a failure keeps the previous
 * ones. */
#include "radial/radial.h"

#include "device/kit.h"

enum { DRAW, CLEAR, COLLIDE, KERNELS };
enum {
    FIELDS,
    TURNS,
    CORNERS,
    PAIR_FIELDS,
    NOW,    /* bounds, then frames */
    BEFORE, /* the same of the previous update */
    POSITIONS,
    RADII,
    NEXT_RADII, /* to draw into */
    MARKS,
    NEXT_MARKS,
    FROM,
    TO,
    HITS,
    COUNTS,
    BUFFERS
};
enum { GROUP = 64, FRAME_BYTES = sizeof(radial_bound) + sizeof(radial_frame) };

_Static_assert(sizeof(radial_bound) == 64 && sizeof(radial_frame) == 200, "layout on a device");

static const abuti_kernel_source sources[KERNELS] = {[DRAW] = {"radial", "radial_draw_pairs", NULL},
                                                     [CLEAR] = {"radial", "radial_clear", NULL},
                                                     [COLLIDE] = {"radial", "radial_collide",
                                                                  NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

typedef struct radial_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_staging now, before, counts;
    uint32_t lanes; /* work-items per pair */
} radial_device;

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- create ---- */

/* Uploads corners as vertex indices of the mesh. */
static abut_status upload_corners(abut_radial *r) {
    radial_device *d = r->data;
    const size_t count = 3 * (size_t)r->info.pair_count;
    uint32_t *corners = abuti_allocate(r->context, count, sizeof *corners);
    if (!corners)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        corners[i] = r->vertices[r->triangles[i]];
    abuti_kit_upload(&d->kit, CORNERS, corners, count, sizeof *corners);
    abuti_release(r->context, corners);
    return ABUT_OK;
}

/* Uploads bounds and frames, current and previous. */
static void upload_frames(abut_radial *r) {
    radial_device *d = r->data;
    const size_t n = r->info.field_count, bounds = n * sizeof *r->bounds;
    for (uint32_t k = 0; k < 2; k++) {
        abuti_staging *staging = k ? &d->before : &d->now;
        memcpy(staging->at, r->bounds, bounds);
        memcpy((char *)staging->at + bounds, r->frames[k], n * sizeof *r->frames[k]);
        abuti_kit_send(&d->kit, k ? BEFORE : NOW, 0, staging->at, n, FRAME_BYTES);
    }
}

/* Several work-items share triangles that have many samples. */
static uint32_t choose_lanes(const abut_radial *r) {
    const double samples = (double)r->info.sample_count / ((double)r->info.pair_count + 1);
    return samples > 6 ? 8 : samples > 1 ? 4 : samples > 0.5 ? 2 : 1;
}

static abut_status create_on_device(abut_radial *r) {
    abut_status status = abuti_device_check_bits("abut_radial_create", r->device);
    if (status)
        return status;
    const size_t n = r->info.field_count, pairs = (size_t)r->info.pair_count;
    const size_t samples = (size_t)r->info.sample_count;
    radial_device *d = r->data = abuti_allocate_zeroed(r->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    d->lanes = choose_lanes(r);
    status = abuti_queue_open(r->device, &d->queue);
    if (!status)
        status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    if (!status)
        status = abuti_staging_create(&d->queue, n, FRAME_BYTES, &d->now);
    if (!status)
        status = abuti_staging_create(&d->queue, n, FRAME_BYTES, &d->before);
    if (!status)
        status = abuti_staging_create(&d->queue, 2, sizeof(uint32_t), &d->counts);
    if (status || (status = upload_corners(r)))
        return status;
    abuti_kit_build(&d->kit);
    abuti_kit_upload(&d->kit, FIELDS, r->fields, n, sizeof *r->fields);
    abuti_kit_upload(&d->kit, TURNS, r->turns, r->turn_count, sizeof *r->turns);
    abuti_kit_upload(&d->kit, PAIR_FIELDS, r->pair_fields, pairs, sizeof *r->pair_fields);
    for (uint32_t i = 0; i < 2; i++) {
        abuti_kit_upload(&d->kit, RADII + i, r->radii, samples, sizeof *r->radii);
        abuti_kit_upload(&d->kit, MARKS + i, r->marks, n, sizeof *r->marks);
    }
    abuti_kit_reserve(&d->kit, NOW, n, FRAME_BYTES);
    abuti_kit_reserve(&d->kit, BEFORE, n, FRAME_BYTES);
    abuti_kit_reserve(&d->kit, HITS, 1, sizeof(radial_result));
    abuti_kit_reserve(&d->kit, COUNTS, 2, sizeof(uint32_t));
    return abuti_kit_finish(&d->kit);
}

static void destroy_on_device(abut_radial *r) {
    radial_device *d = r->data;
    if (!d)
        return;
    abuti_kit_close(&d->kit);
    abuti_staging_destroy(&d->queue, &d->now);
    abuti_staging_destroy(&d->queue, &d->before);
    abuti_staging_destroy(&d->queue, &d->counts);
    abuti_queue_close(&d->queue);
    abuti_release(r->context, d);
}

/* The device memory of an array: the caller's buffer, or an upload of the host array. */
static const abuti_buffer *array_on_device(radial_device *d, abut_array array, uint32_t buffer,
                                           size_t count, size_t element_bytes) {
    if (array.buffer)
        return &array.buffer->memory;
    abuti_kit_upload(&d->kit, buffer, array.host, count, element_bytes);
    return &d->kit.buffers[buffer];
}

/* ---- launches ---- */

static void queue_clear(const abut_radial *r) {
    radial_device *d = r->data;
    const uint32_t fields = r->info.field_count, samples = (uint32_t)r->info.sample_count;
    const size_t items = samples > fields ? samples : fields;
    ABUTI_KIT_RUN(&d->kit, CLEAR, items, GROUP, ABUTI_VALUE(samples), ABUTI_VALUE(fields),
                  MEMORY(NEXT_RADII), MEMORY(NEXT_MARKS));
}

static void queue_draw(const abut_radial *r, const abuti_buffer *positions) {
    radial_device *d = r->data;
    const uint32_t fields = r->info.field_count, pairs = (uint32_t)r->info.pair_count;
    const uint32_t lanes = d->lanes;
    ABUTI_KIT_RUN(&d->kit, DRAW, (size_t)pairs * lanes, GROUP, ABUTI_VALUE(pairs),
                  ABUTI_VALUE(lanes), ABUTI_VALUE(fields), MEMORY(FIELDS), MEMORY(NOW),
                  MEMORY(TURNS), MEMORY(CORNERS), MEMORY(PAIR_FIELDS), ABUTI_BUFFER(positions),
                  MEMORY(NEXT_RADII), MEMORY(NEXT_MARKS));
}

/* Collides particles with samples `radii` and `marks`. */
static void queue_collide(const abut_radial *r, const radial_collision_options *order,
                          const abut_radial_particles *p, uint32_t radii, uint32_t marks) {
    radial_device *d = r->data;
    const uint32_t fields = r->info.field_count, count = (uint32_t)p->count;
    const uint32_t wants_hits = p->hits.host || p->hits.buffer;
    const double each = 1 / r->unit;
    const abuti_buffer *from = array_on_device(d, p->from, FROM, count, sizeof(vec3));
    const abuti_buffer *to = array_on_device(d, p->to, TO, count, sizeof(vec3));
    if (p->hits.host)
        abuti_kit_reserve(&d->kit, HITS, count, sizeof(radial_result));
    const abuti_buffer *hits = p->hits.buffer ? &p->hits.buffer->memory : &d->kit.buffers[HITS];
    abuti_kit_fill(&d->kit, COUNTS, 0, 2 * sizeof(uint32_t));
    ABUTI_KIT_RUN(&d->kit, COLLIDE, count, GROUP, ABUTI_VALUE(count), ABUTI_VALUE(fields),
                  ABUTI_VALUE(wants_hits), ABUTI_VALUE(order->friction), ABUTI_VALUE(order->radius),
                  ABUTI_VALUE(r->unit), ABUTI_VALUE(each), ABUTI_VALUE(r->middle.x),
                  ABUTI_VALUE(r->middle.y), ABUTI_VALUE(r->middle.z), MEMORY(FIELDS), MEMORY(NOW),
                  MEMORY(BEFORE), MEMORY(marks), MEMORY(radii), MEMORY(TURNS), ABUTI_BUFFER(from),
                  ABUTI_BUFFER(to), ABUTI_BUFFER(hits), MEMORY(COUNTS));
}

/* Waits, and downloads the results that the host needs. */
static abut_status download_particles(abut_radial *r, abut_radial_particles *p) {
    radial_device *d = r->data;
    uint32_t *counts = d->counts.at;
    const size_t count = p->count;
    abut_status status = abuti_kit_download(&d->kit, COUNTS, counts, 2, sizeof *counts);
    if (status)
        return status;
    p->hit_count = counts[0];
    p->odd_count = counts[1];
    if (p->hits.host)
        status = abuti_kit_download(&d->kit, HITS, p->hits.host, count, sizeof(radial_result));
    if (!status && p->to.host)
        status = abuti_kit_download(&d->kit, TO, p->to.host, count, sizeof(vec3));
    return status;
}

/* ---- entry points ---- */

static abut_status check_arrays(const char *function, const abut_radial *r,
                                const abut_radial_particles *p) {
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
            status = abuti_buffer_check(all[i].array.buffer, function, all[i].name, r->device,
                                        p->count, all[i].bytes);
    return status ? status
           : p->count > UINT32_MAX
               ? abuti_fail(ABUT_ERROR_LIMIT, "%s: particles->count exceeds 2^32 - 1", function)
               : ABUT_OK;
}

static abut_status collide_on_device(abut_radial *r, const radial_collision_options *order,
                                     abut_radial_particles *p) {
    abut_status status = check_arrays("abut_radial_collide", r, p);
    if (status)
        return status;
    upload_frames(r);
    queue_collide(r, order, p, RADII, MARKS);
    return download_particles(r, p);
}

static abut_status update_on_device(abut_radial *r, abut_array positions,
                                    const radial_collision_options *order,
                                    abut_radial_particles *p) {
    radial_device *d = r->data;
    const char *function = order ? "abut_radial_step" : "abut_radial_set_positions";
    abut_status status = order ? check_arrays(function, r, p) : ABUT_OK;
    if (!status && positions.buffer)
        status = abuti_buffer_check(positions.buffer, function, "positions", r->device,
                                    r->info.vertex_count, sizeof(vec3));
    if (status)
        return status;
    const abuti_buffer *from =
        array_on_device(d, positions, POSITIONS, r->info.vertex_count, sizeof(vec3));
    upload_frames(r);
    queue_clear(r);
    queue_draw(r, from);
    if (order)
        queue_collide(r, order, p, NEXT_RADII, NEXT_MARKS);
    status = order ? download_particles(r, p) : abuti_kit_finish(&d->kit);
    if (status)
        return status;
    abuti_kit_swap(&d->kit, RADII, NEXT_RADII);
    abuti_kit_swap(&d->kit, MARKS, NEXT_MARKS);
    r->is_on_host = false;
    return ABUT_OK;
}

/* ---- download ---- */

static abut_status download_samples(abut_radial *r) {
    radial_device *d = r->data;
    abut_status status = abuti_kit_download(&d->kit, RADII, r->radii, (size_t)r->info.sample_count,
                                            sizeof *r->radii);
    if (!status)
        status =
            abuti_kit_download(&d->kit, MARKS, r->marks, r->info.field_count, sizeof *r->marks);
    if (!status)
        abuti_radial_close_ends(r);
    return status;
}

const radial_backend abuti_radial_on_device = {create_on_device, destroy_on_device,
                                               update_on_device, collide_on_device,
                                               download_samples};
