/* The host's side of ray.cl: how rays are cut into parts, searched and measured. */
#include "bvh/device_gather.h"
#include "ray/ray.h"

/* As in the kernels. */
#define GROUP 128
#define CANDIDATES 8

/* Bytes of scratch memory and transfers a ray, and how much of the device they may take. */
#define RAY_BYTES 160
#define MEMORY_SHARE 4
#define PART_MOST ((size_t)1 << 24)
#define PART_LEAST ((size_t)1 << 12)

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_ray_hit) == 40 && sizeof(bool) == 1,
               "the layouts that ray.cl reads and writes");

void abuti_device_rays_destroy(bvh_on_device *bvh) {
    ray_kernels *k = &bvh->ray;
    ray_scratch *s = &bvh->ray_scratch;
    abuti_kernel *kernels[] = {&k->check, &k->find, &k->measure};
    abuti_buffer *buffers[] = {&s->counts, &s->places, &s->refused};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
}

/* Makes the kernels, if that has not been done. */
static abut_status need_kernels(bvh_on_device *bvh) {
    ray_kernels *k = &bvh->ray;
    const abuti_kernel_name list[] = {{&k->check, "ray_check"},
                                      {&k->find, "ray_find"},
                                      {&k->measure, "ray_measure"}};
    return abuti_device_need(bvh, "ray", list, sizeof list / sizeof *list);
}

static size_t part_of(const bvh_on_device *bvh, size_t count) {
    size_t fits = (size_t)(bvh->queue.device->info.memory_bytes / (MEMORY_SHARE * RAY_BYTES));
    size_t most = fits < PART_LEAST ? PART_LEAST : fits < PART_MOST ? fits : PART_MOST;
    return count < most ? count : most;
}

/* `count` rays of a buffer from `first` on, which have been checked. */
static abut_status queue_rays(bvh_on_device *bvh, const abuti_buffer *rays, uint32_t first,
                              uint32_t count, double most, uint32_t any, abuti_buffer *hits) {
    const mesh_frame frame = frame_of(bvh);
    const ray_kernels *k = &bvh->ray;
    ray_scratch *s = &bvh->ray_scratch;
    size_t groups = groups_of(count, GROUP);
    abut_status status = abuti_buffer_reserve(bvh->queue.device, count, 1, &s->counts);
    if (!status)
        status = abuti_buffer_reserve(bvh->queue.device, count, CANDIDATES * 4, &s->places);
    if (!status)
        status =
            ABUTI_LAUNCH(&bvh->queue, &k->find, groups, GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                         ABUTI_BUFFER(&bvh->tree.triangles), ABUTI_BUFFER(rays), ABUTI_VALUE(first),
                         ABUTI_VALUE(count), ABUTI_VALUE(most), ABUTI_VALUE(any),
                         ABUTI_VALUE(frame), ABUTI_BUFFER(&s->counts), ABUTI_BUFFER(&s->places));
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &k->measure, groups, GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.order),
                              ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(rays),
                              ABUTI_VALUE(first), ABUTI_VALUE(count), ABUTI_VALUE(most),
                              ABUTI_VALUE(any), ABUTI_VALUE(frame), ABUTI_BUFFER(&s->counts),
                              ABUTI_BUFFER(&s->places), ABUTI_BUFFER(hits), ABUTI_BUFFER(hits));
    return status;
}

/* The place of the first ray that is not legal, or UINT32_MAX. Waits. */
static abut_status check_rays(bvh_on_device *bvh, const abuti_buffer *rays, uint32_t count,
                              uint32_t *refused) {
    const double most = ABUT_COORDINATE_MAX;
    abuti_buffer *word = &bvh->ray_scratch.refused;
    abut_status status = abuti_buffer_reserve(bvh->queue.device, 1, 4, word);
    if (!status)
        status = abuti_buffer_fill(&bvh->queue, word, UINT32_MAX, 4);
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &bvh->ray.check, groups_of(count, GROUP), GROUP,
                              ABUTI_BUFFER(rays), ABUTI_VALUE(count), ABUTI_VALUE(most),
                              ABUTI_BUFFER(word));
    return status ? status : abuti_buffer_download(&bvh->queue, word, 0, refused, 4);
}

/* ---- rays of the host ---- */

static abut_status run_rays(bvh_on_device *bvh, const abut_ray *rays, size_t count, double most,
                            bool any, unsigned char *out) {
    size_t part = part_of(bvh, count), bytes = any ? sizeof(bool) : sizeof(abut_ray_hit);
    abut_status status = count ? need_kernels(bvh) : ABUT_OK;
    if (!status)
        status = abuti_buffer_reserve(bvh->queue.device, part, sizeof *rays, &bvh->in);
    if (!status)
        status = abuti_buffer_reserve(bvh->queue.device, part, bytes, &bvh->out);
    for (size_t begin = 0; !status && begin < count; begin += part) {
        size_t here = count - begin < part ? count - begin : part;
        status = abuti_buffer_upload(&bvh->queue, &bvh->in, 0, rays + begin, here * sizeof *rays);
        if (!status)
            status = queue_rays(bvh, &bvh->in, 0, (uint32_t)here, most, any, &bvh->out);
        if (!status)
            status =
                abuti_buffer_download(&bvh->queue, &bvh->out, 0, out + begin * bytes, here * bytes);
        if (!status)
            status = abuti_progress(bvh->context, "rays", (double)(begin + here) / (double)count);
    }
    return status;
}

abut_status abuti_ray_first_there(const char *function, bvh_on_device *there, const abut_ray *rays,
                                  size_t count, double limit, abut_ray_hit *hits) {
    abut_status status = abuti_device_check_doubles(function, there);
    return status ? status : run_rays(there, rays, count, limit, false, (unsigned char *)hits);
}

abut_status abuti_ray_any_there(const char *function, bvh_on_device *there, const abut_ray *rays,
                                size_t count, double limit, bool *any) {
    abut_status status = abuti_device_check_doubles(function, there);
    return status ? status : run_rays(there, rays, count, limit, true, (unsigned char *)any);
}

/* ---- rays on the device ---- */

abut_status abuti_ray_first_buffer(const abut_bvh *from, const abut_buffer *rays, size_t count,
                                   double most, abut_buffer *hits) {
    bvh_on_device *bvh;
    abut_status status = abuti_device_of(__func__, from, &bvh);
    status = status ? status : abuti_device_check_doubles(__func__, bvh);
    status = status ? status : abuti_bvh_check_limit(__func__, "most", most);
    if (!status)
        status = abuti_device_check_buffer(__func__, bvh, rays, count, sizeof(abut_ray), "rays");
    if (!status)
        status =
            abuti_device_check_buffer(__func__, bvh, hits, count, sizeof(abut_ray_hit), "hits");
    if (!status && count >= ABUT_NONE)
        status = abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu rays; at most %u are possible at once",
                            __func__, count, ABUT_NONE - 1);
    uint32_t refused = UINT32_MAX;
    if (!status && count)
        status = need_kernels(bvh);
    if (!status && count)
        status = check_rays(bvh, &rays->memory, (uint32_t)count, &refused);
    if (!status && refused != UINT32_MAX)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: ray %u is not finite, or beyond %g in magnitude, or has no "
                            "direction",
                            __func__, refused, ABUT_COORDINATE_MAX);
    size_t part = status ? 0 : part_of(bvh, count);
    for (size_t first = 0; !status && first < count; first += part) {
        size_t here = count - first < part ? count - first : part;
        status = queue_rays(bvh, &rays->memory, (uint32_t)first, (uint32_t)here, most, false,
                            &hits->memory);
    }
    return status ? status : abuti_queue_finish(&bvh->queue);
}

/* ---- all hits ---- */

abut_status abuti_ray_all_there(bvh_on_device *there, const bvh_gather *gather,
                                const abut_ray *rays, abut_ray_hit *hits) {
    device_quest q = {.bvh = there, .gather = *gather, .answers = hits};
    const abuti_kernel_name list[] = {{&there->gather.ray_find, "ray_all_find"},
                                      {&there->gather.ray_judge, "ray_all_judge"}};
    return abuti_device_ask_all(&q, "ray_all", list, rays, sizeof *hits);
}
