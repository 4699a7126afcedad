/* The host's side of ray.cl and ray_all.cl: how rays are cut into parts, searched and measured. */
#include "bvh/device_gather.h"
#include "ray/ray.h"
#include "ray/ray_shared.h"

enum { GROUPS_A_UNIT = 32 };            /* of ray_find, at least, of a device's units */
enum { RAY_BYTES = 160 + AIMED_BYTES }; /* of scratch memory and transfers, a ray */

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_ray_hit) == 40 && sizeof(bool) == 1,
               "the layouts that ray.cl and ray_all.cl read and write");

/* ---- the kit ---- */

enum { CHECK, NODES, AIM, FIND, MEASURE, SETTLE, ALL_FIND, ALL_JUDGE, KERNELS };
enum { SMALL, REFUSED, AIMED, COUNTS, PLACES, LEFT, LEFT_COUNT, BUFFERS };

static const abuti_kernel_source sources[KERNELS] = {
    [CHECK] = {"ray", "ray_check", NULL},
    [NODES] = {"ray", "ray_nodes", NULL},
    [AIM] = {"ray", "ray_aim", NULL},
    [FIND] = {"ray", "ray_find", NULL},
    [MEASURE] = {"ray", "ray_measure", NULL},
    [SETTLE] = {"ray", "ray_settle", NULL},
    [ALL_FIND] = {"ray_all", "ray_all_find", NULL},
    [ALL_JUDGE] = {"ray_all", "ray_all_judge", NULL},
};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = BUFFERS};

typedef struct ray_there {
    bvh_attachment part;
    abuti_kit kit;
    bool has_nodes; /* small ones, of the tree as it is */
} ray_there;

static abut_status create(bvh_attachment *part, void *owner) {
    return abuti_on_device_kit(owner, &table, &((ray_there *)part)->kit);
}

static abut_status refit(bvh_attachment *part) {
    ((ray_there *)part)->has_nodes = false;
    return ABUT_OK;
}

static void destroy(bvh_attachment *part) {
    abuti_kit_close(&((ray_there *)part)->kit);
}

static const bvh_attachment_kind ray_kind = {sizeof(ray_there), create, refit, destroy};

/* The part of a hierarchy, with small nodes for its searches. */
static abut_status open_part(bvh_on_device *there, ray_there **to) {
    bvh_attachment *part;
    abut_status status = abuti_on_device_attachment(there, &ray_kind, &part);
    if (status)
        return status;
    ray_there *rays = *to = (ray_there *)part;
    const uint32_t count = there->tree.node_count;
    if (rays->has_nodes)
        return ABUT_OK;
    abuti_kit_reserve(&rays->kit, SMALL, count, SMALL_BYTES);
    ABUTI_KIT_RUN(&rays->kit, NODES, count, RAY_GROUP, TREE(there, nodes), ABUTI_VALUE(count),
                  KIT_BUFFER(&rays->kit, SMALL));
    status = abuti_kit_finish(&rays->kit);
    rays->has_nodes = !status;
    return status;
}

static device_all all_of(ray_there *part, abut_array rays) {
    return (device_all){&part->kit,
                        CHECK,
                        ALL_FIND,
                        ALL_JUDGE,
                        rays,
                        "ray",
                        "is not finite, or too large, or has no direction",
                        &part->kit.buffers[SMALL]};
}

/* ---- first hits ---- */

typedef struct ray_quest {
    const char *function;
    bvh_on_device *there;
    const device_all *all;
    bool checks; /* rays are checked on the way, since there is but one part of them */
    abut_array rays, answers;
    double limit;
    bool any;
    size_t answer_bytes;
} ray_quest;

/* Rays in the pool of a group: the more, the less its items wait for each other at the end; but
 * there should be several groups for each that the device has room for. */
static uint32_t pool_of(const abut_device *device, size_t count) {
    size_t each = count / ((size_t)device->info.compute_units * GROUPS_A_UNIT * RAY_GROUP + 1);
    each = each < 1 ? 1 : each > RAY_POOL ? RAY_POOL : each;
    return (uint32_t)each * RAY_GROUP;
}

static void reserve(const ray_quest *q, size_t count) {
    abuti_kit *kit = q->all->kit;
    if (!q->answers.buffer)
        abuti_kit_reserve(&q->there->io, BVH_OUT, count, q->answer_bytes);
    abuti_kit_reserve(kit, REFUSED, 1, sizeof(uint32_t));
    abuti_kit_reserve(kit, AIMED, count, AIMED_BYTES);
    abuti_kit_reserve(kit, COUNTS, count, 1);
    abuti_kit_reserve(kit, PLACES, count, RAY_CANDIDATES * 4);
    abuti_kit_reserve(kit, LEFT, count, sizeof(uint32_t));
    abuti_kit_reserve(kit, LEFT_COUNT, 1, sizeof(uint32_t));
}

/* Queues the search for what may be hit: rays from a place of their buffer on. */
static void queue_search(const ray_quest *q, const abuti_buffer *rays, uint32_t from,
                         uint32_t count) {
    const mesh_frame frame = frame_of(q->there);
    const double most = ABUT_COORDINATE_MAX;
    const uint32_t any = q->any, pool = pool_of(q->there->queue.device, count);
    abuti_kit *kit = q->all->kit;
    abuti_kit_fill(kit, REFUSED, ABUT_NONE, sizeof(uint32_t));
    ABUTI_KIT_RUN(kit, AIM, count, RAY_GROUP, ABUTI_BUFFER(rays), ABUTI_VALUE(from),
                  ABUTI_VALUE(count), ABUTI_VALUE(q->limit), ABUTI_VALUE(frame), ABUTI_VALUE(most),
                  KIT_BUFFER(kit, REFUSED), KIT_BUFFER(kit, AIMED));
    ABUTI_KIT_GROUPS(kit, FIND, groups_of(count, pool), RAY_GROUP, KIT_BUFFER(kit, SMALL),
                     TREE(q->there, triangles), KIT_BUFFER(kit, AIMED), ABUTI_VALUE(count),
                     ABUTI_VALUE(pool), ABUTI_VALUE(any), KIT_BUFFER(kit, COUNTS),
                     KIT_BUFFER(kit, PLACES), ABUTI_LOCAL_MEMORY(sizeof(uint32_t)));
}

/* Queues what decides and measures; answers go from a place of their buffer on. */
static void queue_measure(const ray_quest *q, const abuti_buffer *rays, uint32_t from,
                          uint32_t count, const abuti_buffer *answers, uint32_t to) {
    const mesh_frame frame = frame_of(q->there);
    const uint32_t any = q->any;
    abuti_kit *kit = q->all->kit;
    abuti_kit_fill(kit, LEFT_COUNT, 0, sizeof(uint32_t));
    ABUTI_KIT_RUN(kit, MEASURE, count, RAY_GROUP, TREE(q->there, order), TREE(q->there, corners),
                  ABUTI_BUFFER(rays), ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(count),
                  ABUTI_VALUE(q->limit), ABUTI_VALUE(any), KIT_BUFFER(kit, COUNTS),
                  KIT_BUFFER(kit, PLACES), ABUTI_BUFFER(answers), ABUTI_BUFFER(answers),
                  KIT_BUFFER(kit, LEFT), KIT_BUFFER(kit, LEFT_COUNT), ABUTI_LOCAL_MEMORY(RAY_ROOM));
    ABUTI_KIT_RUN(kit, SETTLE, count, RAY_GROUP, KIT_BUFFER(kit, SMALL), TREE(q->there, order),
                  TREE(q->there, corners), ABUTI_BUFFER(rays), ABUTI_VALUE(from), ABUTI_VALUE(to),
                  ABUTI_VALUE(count), ABUTI_VALUE(q->limit), ABUTI_VALUE(any), ABUTI_VALUE(frame),
                  KIT_BUFFER(kit, COUNTS), KIT_BUFFER(kit, PLACES), KIT_BUFFER(kit, LEFT),
                  KIT_BUFFER(kit, LEFT_COUNT), ABUTI_BUFFER(answers), ABUTI_BUFFER(answers));
}

/* A part of the rays, from a buffer or the host, to either. Nothing is written before all rays have
 * been checked. */
static abut_status answer_part(const ray_quest *q, const abuti_parts *part) {
    abuti_kit *io = &q->there->io;
    const uint32_t count = (uint32_t)part->count;
    /* where rays begin in their buffer, and answers in theirs */
    const uint32_t from = q->rays.buffer ? (uint32_t)part->begin : 0;
    const uint32_t to = q->answers.buffer ? (uint32_t)part->begin : 0;
    uint32_t refused = ABUT_NONE;
    unsigned char *host = q->answers.host;
    if (host)
        host += part->begin * q->answer_bytes;
    if (!q->rays.buffer)
        abuti_kit_put(io, BVH_IN, (const abut_ray *)q->rays.host + part->begin, part->count,
                      sizeof(abut_ray));
    reserve(q, part->most);
    const abuti_buffer *rays = q->rays.buffer ? &q->rays.buffer->memory : &io->buffers[BVH_IN];
    const abuti_buffer *answers =
        q->answers.buffer ? &q->answers.buffer->memory : &io->buffers[BVH_OUT];
    queue_search(q, rays, from, count);
    abut_status status = ABUT_OK;
    if (q->checks)
        status = abuti_kit_get(q->all->kit, REFUSED, &refused, 1, sizeof refused);
    status = status ? status : abuti_device_reject(q->function, q->all, refused);
    if (status)
        return status;
    queue_measure(q, rays, from, count, answers, to);
    return q->answers.buffer
               ? abuti_kit_finish(q->all->kit)
               : abuti_on_device_download(q->there, host, part->count, q->answer_bytes);
}

abut_status abuti_ray_there(const char *function, bvh_on_device *there, abut_array rays,
                            size_t count, double limit, bool any, abut_array answers) {
    ray_there *part;
    abut_status status = abuti_device_check_doubles(function, there);
    status = status ? status : open_part(there, &part);
    if (status)
        return status;
    const device_all all = all_of(part, rays);
    abuti_parts parts = abuti_parts_of(there->queue.device, count, RAY_BYTES);
    const ray_quest quest = {.function = function,
                             .there = there,
                             .all = &all,
                             .checks = rays.buffer && parts.most == count,
                             .rays = rays,
                             .answers = answers,
                             .limit = limit,
                             .any = any,
                             .answer_bytes = any ? sizeof(bool) : sizeof(abut_ray_hit)};
    if (!quest.checks)
        status = abuti_device_check_all(function, &all, count);
    while (!status && abuti_parts_next(&parts)) {
        status = answer_part(&quest, &parts);
        if (!status)
            status = abuti_progress(there->context, "rays",
                                    (double)(parts.begin + parts.count) / (double)count);
    }
    return status;
}

abut_status abuti_ray_all_there(const bvh_gather *gather, abut_array rays) {
    ray_there *part;
    abut_status status = abuti_device_check_doubles(gather->function, gather->bvh->there);
    status = status ? status : open_part(gather->bvh->there, &part);
    if (status)
        return status;
    const device_all all = all_of(part, rays);
    return abuti_device_run_all(gather, &all);
}
