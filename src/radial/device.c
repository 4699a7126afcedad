/* Radial fields on a device: what does not change is there once. An update is one write of frames
 * and bounds and a launch, particles are another one; both together are waited for once. Samples
 * stay there until someone asks for them.
 *
 * Samples and marks have three places each: those that count; those that an update draws into,
 * which count once the device has done all, so that a failure leaves those of before; and those
 * that are emptied meanwhile for the next one, by the work-items of particles. Frames have two:
 * those of now are those before for the next update. */
#include "radial/radial.h"

#include "device/kit.h"
#include "radial/work_group_shared.h"

enum { DRAW, CLEAR, STEPS, CELLS, KERNELS };
enum {
    FIELDS,
    TURNS,
    CORNERS,
    PAIR_FIELDS,
    NOW,    /* bounds, then frames */
    BEFORE, /* the same one update ago */
    POSITIONS,
    RADII,
    NEXT_RADII, /* to draw into */
    SPARE_RADII,
    MARKS,
    NEXT_MARKS,
    SPARE_MARKS,
    FROM,
    TO,
    HITS,
    COUNTS,
    BUFFERS
};
enum { GROUP = 64, FRAME_BYTES = sizeof(radial_bound) + sizeof(radial_frame) };
/* So few particles leave a device room for more work-items each. */
enum { FEW = 8192 };

_Static_assert(sizeof(radial_bound) == 64 && sizeof(radial_frame) == 200, "as on a device");
_Static_assert(sizeof(radial_entry) == 36 && sizeof(radial_path) == 64, "as on a device");

static const abuti_kernel_source sources[KERNELS] = {[DRAW] = {"radial", "radial_draw", NULL},
                                                     [CLEAR] = {"radial", "radial_clear", NULL},
                                                     [STEPS] = {"radial", "radial_steps", NULL},
                                                     [CELLS] = {"radial", "radial_cells", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

typedef struct radial_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_staging now, before, counts;
    uint32_t lanes;      /* work-items a pair */
    uint32_t counted[2]; /* hits and odd ones so far: the device only counts up */
    bool has_counts;     /* they are what the device has */
    bool has_now;        /* frames of the last update are there */
    bool has_before;     /* and those of the one before */
    bool next_is_empty;  /* NEXT_RADII and NEXT_MARKS may be drawn into */
} radial_device;

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- create ---- */

/* Corners as numbers of the mesh. */
static abut_status put_corners(abut_radial *r) {
    radial_device *d = r->data;
    const size_t count = 3 * (size_t)r->info.pair_count;
    uint32_t *corners = abuti_allocate(r->context, count, sizeof *corners);
    if (!corners)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        corners[i] = r->vertices[r->triangles[i]];
    abuti_kit_put(&d->kit, CORNERS, corners, count, sizeof *corners);
    abuti_release(r->context, corners);
    return ABUT_OK;
}

static void send(abut_radial *r, uint32_t buffer, abuti_staging *staging,
                 const radial_frame *frames) {
    radial_device *d = r->data;
    const size_t n = r->info.field_count, bounds = n * sizeof *r->bounds;
    memcpy(staging->at, r->bounds, bounds);
    memcpy((char *)staging->at + bounds, frames, n * sizeof *frames);
    abuti_kit_send(&d->kit, buffer, 0, staging->at, n, FRAME_BYTES);
}

/* Triangles that have many samples are shared. */
static uint32_t lanes_of(const abut_radial *r) {
    const double samples = (double)r->info.sample_count / ((double)r->info.pair_count + 1);
    return samples > 6 ? 8 : samples > 1 ? 4 : samples > 0.5 ? 2 : 1;
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
    d->lanes = lanes_of(r);
    status = abuti_queue_open(r->device, &d->queue);
    status = status ? status : abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    if (!status)
        status = abuti_staging_create(&d->queue, n, FRAME_BYTES, &d->now);
    if (!status)
        status = abuti_staging_create(&d->queue, n, FRAME_BYTES, &d->before);
    if (!status)
        status = abuti_staging_create(&d->queue, 2, sizeof(uint32_t), &d->counts);
    status = status ? status : put_corners(r);
    if (status)
        return status;
    abuti_kit_build(&d->kit);
    abuti_kit_put(&d->kit, FIELDS, r->fields, n, sizeof *r->fields);
    abuti_kit_put(&d->kit, TURNS, r->turns, r->turn_count, sizeof *r->turns);
    abuti_kit_put(&d->kit, PAIR_FIELDS, r->pair_fields, pairs, sizeof *r->pair_fields);
    for (uint32_t i = 0; i < 3; i++) {
        abuti_kit_put(&d->kit, RADII + i, r->radii, samples, sizeof *r->radii);
        abuti_kit_put(&d->kit, MARKS + i, r->marks, n, sizeof *r->marks);
    }
    abuti_kit_reserve(&d->kit, NOW, n, FRAME_BYTES);
    abuti_kit_reserve(&d->kit, BEFORE, n, FRAME_BYTES);
    abuti_kit_reserve(&d->kit, HITS, 1, sizeof(radial_result));
    abuti_kit_put(&d->kit, COUNTS, d->counted, 2, sizeof *d->counted);
    status = abuti_kit_finish(&d->kit);
    d->has_counts = d->next_is_empty = !status;
    return status;
}

static void destroy(abut_radial *r) {
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

/* An array as kernels have it: the caller's buffer, or ours with his content. */
static const abuti_buffer *there(radial_device *d, abut_array array, uint32_t buffer, size_t count,
                                 size_t element_bytes) {
    if (array.buffer)
        return &array.buffer->memory;
    abuti_kit_put(&d->kit, buffer, array.host, count, element_bytes);
    return &d->kit.buffers[buffer];
}

/* ---- what is queued ---- */

/* Empties what is drawn into next. */
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
    const uint32_t plane = r->info.distance == ABUT_RADIAL_DISTANCE_PLANE, lanes = d->lanes;
    ABUTI_KIT_RUN(&d->kit, DRAW, (size_t)pairs * lanes, GROUP, ABUTI_VALUE(pairs),
                  ABUTI_VALUE(lanes), ABUTI_VALUE(plane), ABUTI_VALUE(fields), MEMORY(FIELDS),
                  MEMORY(NOW), MEMORY(TURNS), MEMORY(CORNERS), MEMORY(PAIR_FIELDS),
                  ABUTI_BUFFER(positions), MEMORY(NEXT_RADII), MEMORY(NEXT_MARKS));
}

/* Particles against samples `radii` and `marks`; others are emptied where they are not BUFFERS. */
static void queue_collide(const abut_radial *r, const radial_order *order,
                          const abut_radial_particles *p, uint32_t radii, uint32_t marks,
                          uint32_t spare_radii, uint32_t spare_marks) {
    radial_device *d = r->data;
    const uint32_t fields = r->info.field_count, count = (uint32_t)p->count;
    const uint32_t wants_hits = p->hits.host || p->hits.buffer;
    const uint32_t spare = spare_radii == BUFFERS ? 0 : (uint32_t)r->info.sample_count;
    const uint32_t lanes = count <= FEW ? 32 : 16;
    const double each = 1 / r->unit;
    const abuti_buffer *from = there(d, p->from, FROM, count, sizeof(vec3));
    const abuti_buffer *to = there(d, p->to, TO, count, sizeof(vec3));
    if (p->hits.host)
        abuti_kit_reserve(&d->kit, HITS, count, sizeof(radial_result));
    const abuti_buffer *hits = p->hits.buffer ? &p->hits.buffer->memory : &d->kit.buffers[HITS];
    if (!d->has_counts)
        abuti_kit_put(&d->kit, COUNTS, d->counted, 2, sizeof *d->counted);
    spare_radii = spare ? spare_radii : SPARE_RADII;
    spare_marks = spare ? spare_marks : SPARE_MARKS;
    ABUTI_KIT_RUN(&d->kit, order->steps ? STEPS : CELLS, (size_t)count * lanes, RADIAL_GROUP,
                  ABUTI_VALUE(count), ABUTI_VALUE(lanes), ABUTI_VALUE(fields),
                  ABUTI_VALUE(wants_hits), ABUTI_VALUE(order->steps), ABUTI_VALUE(spare),
                  ABUTI_VALUE(order->by), ABUTI_VALUE(order->friction), ABUTI_VALUE(order->radius),
                  ABUTI_VALUE(r->unit), ABUTI_VALUE(each), ABUTI_VALUE(r->middle.x),
                  ABUTI_VALUE(r->middle.y), ABUTI_VALUE(r->middle.z), MEMORY(FIELDS), MEMORY(NOW),
                  MEMORY(BEFORE), MEMORY(marks), MEMORY(radii), MEMORY(TURNS), ABUTI_BUFFER(from),
                  ABUTI_BUFFER(to), ABUTI_BUFFER(hits), MEMORY(COUNTS), MEMORY(spare_radii),
                  MEMORY(spare_marks), ABUTI_LOCAL_MEMORY(sizeof(radial_group)));
}

/* Waits; what is wanted on the host comes there. */
static abut_status receive(abut_radial *r, abut_radial_particles *p) {
    radial_device *d = r->data;
    uint32_t *counts = d->counts.at;
    const size_t count = p->count;
    abut_status status = abuti_kit_get(&d->kit, COUNTS, counts, 2, sizeof *counts);
    d->has_counts = !status;
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

/* ---- calls ---- */

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
               ? abuti_fail(ABUT_ERROR_LIMIT, "%s: too many particles", function)
               : ABUT_OK;
}

static abut_status collide(abut_radial *r, const radial_order *order, abut_radial_particles *p) {
    radial_device *d = r->data;
    abut_status status = check_arrays("abut_radial_collide", r, p);
    if (status)
        return status;
    if (!d->has_now)
        send(r, NOW, &d->now, r->frames[0]);
    if (!d->has_before)
        send(r, BEFORE, &d->before, r->frames[1]);
    queue_collide(r, order, p, RADII, MARKS, d->next_is_empty ? BUFFERS : NEXT_RADII, NEXT_MARKS);
    status = receive(r, p);
    d->has_now = d->has_before = d->next_is_empty = !status;
    return status;
}

/* Those that were drawn count now; of those before one place is empty, where particles did it. */
static void turn_over(abut_radial *r, bool emptied) {
    radial_device *d = r->data;
    const uint32_t kinds[2] = {RADII, MARKS};
    for (int k = 0; k < 2; k++) {
        abuti_kit_swap(&d->kit, kinds[k], kinds[k] + 1);
        if (emptied)
            abuti_kit_swap(&d->kit, kinds[k] + 1, kinds[k] + 2);
    }
    d->next_is_empty = emptied;
    r->is_here = false;
}

static abut_status update(abut_radial *r, abut_array positions, const radial_order *order,
                          abut_radial_particles *p) {
    radial_device *d = r->data;
    const char *function = order ? "abut_radial_step" : "abut_radial_set_positions";
    abut_status status = order ? check_arrays(function, r, p) : ABUT_OK;
    if (!status && positions.buffer)
        status = abuti_buffer_check(positions.buffer, function, "positions", r->device,
                                    r->info.vertex_count, sizeof(vec3));
    if (status)
        return status;
    const abuti_buffer *from = there(d, positions, POSITIONS, r->info.vertex_count, sizeof(vec3));
    /* The frames of now are those before from now on. */
    const bool has_before = d->has_now && r->info.has_samples;
    abuti_kit_swap(&d->kit, NOW, BEFORE);
    send(r, NOW, &d->now, r->frames[0]);
    if (!has_before)
        send(r, BEFORE, &d->before, r->frames[1]);
    if (!d->next_is_empty)
        queue_clear(r);
    queue_draw(r, from);
    if (order)
        queue_collide(r, order, p, NEXT_RADII, NEXT_MARKS, SPARE_RADII, SPARE_MARKS);
    status = order ? receive(r, p) : abuti_kit_finish(&d->kit);
    d->has_now = d->has_before = !status;
    d->next_is_empty = false;
    if (!status)
        turn_over(r, order != NULL);
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
