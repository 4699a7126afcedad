/* The host side of ray.cl and ray_all.cl: how rays are split into batches, searched and measured.
 */
#include "bvh/device_gather.h"
#include "ray/ray.h"
#include "ray/ray_shared.h"

enum { GROUPS_PER_UNIT = 32 };          /* work-groups of ray_find, at least, per compute unit */
enum { RAY_BYTES = 160 + AIMED_BYTES }; /* scratch memory and transfers per ray */

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_ray_hit) == 40 && sizeof(bool) == 1,
               "the layouts that ray.cl and ray_all.cl read and write");

/* ---- kernels ---- */

enum { CHECK, AIM, FIND, MEASURE, DECIDE_EXACTLY, ALL_FIND, ALL_DECIDE, KERNELS };
enum { INVALID, AIMED, COUNTS, PLACES, REMAINING, REMAINING_COUNT, BUFFERS };

static const abuti_kernel_source sources[KERNELS] = {
    [CHECK] = {"ray", "ray_check", NULL},
    [AIM] = {"ray", "ray_aim", NULL},
    [FIND] = {"ray", "ray_find", NULL},
    [MEASURE] = {"ray", "ray_measure", NULL},
    [DECIDE_EXACTLY] = {"ray", "ray_decide_exactly", NULL},
    [ALL_FIND] = {"ray_all", "ray_all_find", NULL},
    [ALL_DECIDE] = {"ray_all", "ray_all_decide", NULL},
};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = BUFFERS};

static const bvh_kit_kind ray_kind = BVH_KIT_KIND(table);

static device_all make_query_all(bvh_kit *rays_kit, abut_array rays) {
    return (device_all){&rays_kit->kit,
                        CHECK,
                        ALL_FIND,
                        ALL_DECIDE,
                        rays,
                        "ray",
                        "is not finite, is too large, or has no direction"};
}

/* ---- first hits ---- */

typedef struct ray_query {
    const char *function;
    bvh_on_device *there;
    const device_all *all;
    bool validates; /* rays are validated by ray_aim, since they are one batch */
    abut_array rays, results;
    double limit;
    bool any;
    size_t result_bytes;
} ray_query;

/* Rays per work-item in the pool of a work-group: the more, the less its items wait for each other
 * at the end; but there should be several work-groups for each that the device can run. */
static uint32_t rays_per_item(const abut_device *device, size_t count) {
    size_t each = count / ((size_t)device->info.compute_units * GROUPS_PER_UNIT * RAY_GROUP + 1);
    each = each < 1 ? 1 : each > RAY_POOL ? RAY_POOL : each;
    return (uint32_t)each * RAY_GROUP;
}

static void reserve_buffers(const ray_query *q, size_t count) {
    abuti_kit *kit = q->all->kit;
    if (!q->results.buffer)
        abuti_kit_reserve(&q->there->io, BVH_OUT, count, q->result_bytes);
    abuti_kit_reserve(kit, INVALID, 1, sizeof(uint32_t));
    abuti_kit_reserve(kit, AIMED, count, AIMED_BYTES);
    abuti_kit_reserve(kit, COUNTS, count, 1);
    abuti_kit_reserve(kit, PLACES, count, RAY_CANDIDATES * 4);
    abuti_kit_reserve(kit, REMAINING, count, sizeof(uint32_t));
    abuti_kit_reserve(kit, REMAINING_COUNT, 1, sizeof(uint32_t));
}

/* Enqueues the search for candidates; rays begin at `from` of their buffer. */
static void enqueue_search(const ray_query *q, const abuti_buffer *rays, uint32_t from,
                           uint32_t count) {
    const mesh_frame frame = frame_of(q->there);
    const double most = ABUT_COORDINATE_MAX;
    const uint32_t any = q->any, pool = rays_per_item(q->there->queue.device, count);
    abuti_kit *kit = q->all->kit;
    abuti_kit_fill(kit, INVALID, ABUT_NONE, sizeof(uint32_t));
    ABUTI_KIT_RUN(kit, AIM, count, RAY_GROUP, ABUTI_BUFFER(rays), ABUTI_VALUE(from),
                  ABUTI_VALUE(count), ABUTI_VALUE(q->limit), ABUTI_VALUE(frame), ABUTI_VALUE(most),
                  KIT_BUFFER(kit, INVALID), KIT_BUFFER(kit, AIMED));
    ABUTI_KIT_GROUPS(kit, FIND, groups_of(count, pool), RAY_GROUP, TREE(q->there, nodes),
                     TREE(q->there, triangles), KIT_BUFFER(kit, AIMED), ABUTI_VALUE(count),
                     ABUTI_VALUE(pool), ABUTI_VALUE(any), KIT_BUFFER(kit, COUNTS),
                     KIT_BUFFER(kit, PLACES), ABUTI_LOCAL_MEMORY(sizeof(uint32_t)));
}

/* Enqueues the decision and the measurement; results begin at `to` of their buffer. */
static void enqueue_measure(const ray_query *q, const abuti_buffer *rays, uint32_t from,
                            uint32_t count, const abuti_buffer *results, uint32_t to) {
    const mesh_frame frame = frame_of(q->there);
    const uint32_t any = q->any;
    abuti_kit *kit = q->all->kit;
    abuti_kit_fill(kit, REMAINING_COUNT, 0, sizeof(uint32_t));
    ABUTI_KIT_RUN(kit, MEASURE, count, RAY_GROUP, TREE(q->there, order), TREE(q->there, corners),
                  ABUTI_BUFFER(rays), ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(count),
                  ABUTI_VALUE(q->limit), ABUTI_VALUE(any), KIT_BUFFER(kit, COUNTS),
                  KIT_BUFFER(kit, PLACES), ABUTI_BUFFER(results), ABUTI_BUFFER(results),
                  KIT_BUFFER(kit, REMAINING), KIT_BUFFER(kit, REMAINING_COUNT),
                  ABUTI_LOCAL_MEMORY(RAY_MEASURE_BYTES));
    ABUTI_KIT_RUN(kit, DECIDE_EXACTLY, count, RAY_GROUP, TREE(q->there, nodes),
                  TREE(q->there, order), TREE(q->there, corners), ABUTI_BUFFER(rays),
                  ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(count), ABUTI_VALUE(q->limit),
                  ABUTI_VALUE(any), ABUTI_VALUE(frame), KIT_BUFFER(kit, COUNTS),
                  KIT_BUFFER(kit, PLACES), KIT_BUFFER(kit, REMAINING),
                  KIT_BUFFER(kit, REMAINING_COUNT), ABUTI_BUFFER(results), ABUTI_BUFFER(results));
}

/* Computes a batch of rays, from a buffer or the host, to either. Nothing is written before all
 * rays have been validated. */
static abut_status compute_batch(const ray_query *q, const abuti_parts *part) {
    abuti_kit *io = &q->there->io;
    const uint32_t count = (uint32_t)part->count;
    /* where rays and results begin in their buffers */
    const uint32_t from = q->rays.buffer ? (uint32_t)part->begin : 0;
    const uint32_t to = q->results.buffer ? (uint32_t)part->begin : 0;
    uint32_t refused = ABUT_NONE;
    unsigned char *host = q->results.host;
    if (host)
        host += part->begin * q->result_bytes;
    if (!q->rays.buffer)
        abuti_kit_upload(io, BVH_IN, (const abut_ray *)q->rays.host + part->begin, part->count,
                         sizeof(abut_ray));
    reserve_buffers(q, part->most);
    const abuti_buffer *rays = q->rays.buffer ? &q->rays.buffer->memory : &io->buffers[BVH_IN];
    const abuti_buffer *results =
        q->results.buffer ? &q->results.buffer->memory : &io->buffers[BVH_OUT];
    enqueue_search(q, rays, from, count);
    abut_status status = ABUT_OK;
    if (q->validates)
        status = abuti_kit_download(q->all->kit, INVALID, &refused, 1, sizeof refused);
    if (!status)
        status = abuti_device_reject(q->function, q->all, refused);
    if (status)
        return status;
    enqueue_measure(q, rays, from, count, results, to);
    return q->results.buffer
               ? abuti_kit_finish(q->all->kit)
               : abuti_on_device_download(q->there, host, part->count, q->result_bytes);
}

abut_status abuti_ray_on_device(const char *function, bvh_on_device *there, abut_array rays,
                                size_t count, double limit, bool any, abut_array results) {
    bvh_kit *kit;
    abut_status status;
    if ((status = abuti_device_check_doubles(function, there)) ||
        (status = abuti_on_device_get_kit(there, &ray_kind, &kit)))
        return status;
    const device_all all = make_query_all(kit, rays);
    abuti_parts parts = abuti_parts_of(there->queue.device, count, RAY_BYTES);
    const ray_query query = {.function = function,
                             .there = there,
                             .all = &all,
                             .validates = rays.buffer && parts.most == count,
                             .rays = rays,
                             .results = results,
                             .limit = limit,
                             .any = any,
                             .result_bytes = any ? sizeof(bool) : sizeof(abut_ray_hit)};
    if (!query.validates)
        status = abuti_device_check_all(function, &all, count);
    while (!status && abuti_parts_next(&parts)) {
        status = compute_batch(&query, &parts);
        if (!status)
            status = abuti_progress(there->context, "rays",
                                    (double)(parts.begin + parts.count) / (double)count);
    }
    return status;
}

abut_status abuti_ray_all_on_device(const bvh_gather *gather, abut_array rays) {
    bvh_kit *kit;
    abut_status status;
    if ((status = abuti_device_check_doubles(gather->function, gather->bvh->there)) ||
        (status = abuti_on_device_get_kit(gather->bvh->there, &ray_kind, &kit)))
        return status;
    const device_all all = make_query_all(kit, rays);
    return abuti_device_run_all(gather, &all);
}
