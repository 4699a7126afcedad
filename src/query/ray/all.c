/* All hits of many rays with the tree of wide.h.
 *
 * A first pass traverses the tree, counts the hits of each ray, and records their triangles; a
 * second one, when all offsets are known, computes the hit points and sorts them. The memory
 * between the passes holds a few hits per ray: rays whose hits were not all recorded are searched
 * again, one by one.
 */
#include "ray/wide.h"

#include "base/simd.h"

enum {
    FOUND_PER_RAY = 4,     /* on average over the rays of a task */
    TASKS_RECORDED = 8192, /* 64 MB; later tasks only count */
    TASKS_PER_REPORT = 128
};

typedef struct all_pass {
    const bvh_gather *g;
    const ray_wide *tree;
    const abut_ray *rays;
    size_t begin;
    uint32_t *counts;       /* of each ray */
    uint32_t *found_counts; /* of each task */
    ray_found
        *found; /* FOUND_PER_RAY times RAYS_PER_TASK per task, of the first `recorded` tasks */
    size_t recorded;
} all_pass;

static void count_task(void *data, size_t chunk, size_t begin, size_t end) {
    const all_pass *pass = data;
    const size_t first = pass->begin + begin, task = pass->begin / RAYS_PER_TASK + chunk;
    const size_t room = (size_t)RAYS_PER_TASK * FOUND_PER_RAY;
    ray_row row;
    memset(pass->counts + first, 0, (end - begin) * sizeof *pass->counts);
    row.bvh = pass->g->bvh;
    row.tree = pass->tree;
    row.rays = pass->rays + first;
    row.count = (uint32_t)(end - begin);
    row.what = RAY_ALL;
    row.limit = HUGE_VAL;
    row.counts = pass->counts + first;
    row.found_max = task < pass->recorded ? (uint32_t)room : 0;
    row.found_count = 0;
    row.found = task < pass->recorded ? pass->found + task * room : NULL;
    ABUTI_BY_LANES(abuti_ray_walk)(&row);
    for (uint32_t i = 0; i < row.unfinished_count; i++)
        row.counts[row.unfinished[i]] =
            abuti_ray_all_hits(row.bvh, &row.rays[row.unfinished[i]], NULL);
    pass->found_counts[task] = row.found_count;
}

/* Sorts the hits of a ray; usually there are few. */
static void sort_hits(abut_ray_hit *hits, uint32_t count) {
    if (count > 16) {
        abuti_sort_items(hits, count, sizeof *hits, abuti_ray_hit_after);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const abut_ray_hit hit = hits[i];
        uint32_t place = i;
        for (; place > 0 && abuti_ray_hit_after(&hits[place - 1], &hit); place--)
            hits[place] = hits[place - 1];
        hits[place] = hit;
    }
}

static void write_task(void *data, size_t chunk, size_t begin, size_t end) {
    const all_pass *pass = data;
    const bvh_gather *g = pass->g;
    const size_t first = pass->begin + begin, task = pass->begin / RAYS_PER_TASK + chunk;
    const uint64_t *offsets = (const uint64_t *)g->offsets.host + first;
    const abut_ray *rays = pass->rays + first;
    const ray_found *found =
        pass->found + (task < pass->recorded ? task * RAYS_PER_TASK * FOUND_PER_RAY : 0);
    abut_ray_hit *hits = g->results.host;
    uint32_t filled[RAYS_PER_TASK] = {0}, waiting_count = 0;
    ray_pierce waiting[RAY_PIERCES];
    for (uint32_t i = 0; i < pass->found_counts[task]; i++) {
        const uint32_t ray = found[i].ray;
        abut_ray_hit *hit = &hits[offsets[ray] + filled[ray]++];
        if (!found[i].certain) {
            abuti_ray_meet(g->bvh->mesh, &rays[ray], found[i].triangle, hit);
            continue;
        }
        waiting[waiting_count++] = (ray_pierce){&rays[ray], found[i].triangle, hit};
        if (waiting_count == RAY_PIERCES) {
            ABUTI_BY_LANES(abuti_ray_pierce)(g->bvh->mesh, waiting, waiting_count);
            waiting_count = 0;
        }
    }
    ABUTI_BY_LANES(abuti_ray_pierce)(g->bvh->mesh, waiting, waiting_count);
    for (size_t i = 0; i < end - begin; i++) {
        const uint32_t count = pass->counts[first + i];
        if (filled[i] == count)
            sort_hits(hits + offsets[i], count);
        else
            abuti_ray_all_hits(g->bvh, &rays[i], hits + offsets[i]);
    }
}

/* One of the two passes; the first reports the first half of the progress. */
static abut_status run_pass(all_pass *pass, bool write) {
    const bvh_gather *g = pass->g;
    const size_t block_size = (size_t)RAYS_PER_TASK * TASKS_PER_REPORT;
    abut_status status = ABUT_OK;
    for (pass->begin = 0; pass->begin < g->count && !status; pass->begin += block_size) {
        size_t block_count =
            g->count - pass->begin < block_size ? g->count - pass->begin : block_size;
        status = abuti_parallel_try(g->bvh->context, g->stage, block_count, RAYS_PER_TASK,
                                    write ? write_task : count_task, pass);
        if (status)
            break;
        double done = (double)(pass->begin + block_count) / (double)g->count;
        status = abuti_progress(g->bvh->context, g->stage, write ? 0.5 + done / 2 : done / 2);
    }
    return status;
}

static abut_status count_and_write(all_pass *pass) {
    const bvh_gather *g = pass->g;
    abut_status status = run_pass(pass, false);
    if (status)
        return status;
    uint64_t *offsets = g->offsets.host, total = 0;
    for (size_t i = 0; i < g->count; i++)
        total += pass->counts[i];
    status = abuti_gather_check_capacity(g, total);
    if (status || !offsets)
        return status;
    offsets[0] = 0;
    for (size_t i = 0; i < g->count; i++)
        offsets[i + 1] = offsets[i] + pass->counts[i];
    return total ? run_pass(pass, true) : ABUT_OK;
}

abut_status abuti_ray_all_run(const bvh_gather *g, const ray_wide *tree, const abut_ray *rays) {
    abut_context *context = g->bvh->context;
    const size_t tasks = abuti_chunk_count(g->count, RAYS_PER_TASK);
    all_pass pass = {.g = g, .tree = tree, .rays = rays};
    pass.recorded = !g->capacity ? 0 : tasks < TASKS_RECORDED ? tasks : TASKS_RECORDED;
    pass.counts = abuti_allocate(context, g->count, sizeof *pass.counts);
    pass.found_counts = abuti_allocate(context, tasks, sizeof *pass.found_counts);
    pass.found =
        abuti_allocate(context, pass.recorded * RAYS_PER_TASK * FOUND_PER_RAY, sizeof *pass.found);
    abut_status status = ABUT_ERROR_MEMORY;
    if (pass.counts && pass.found_counts && pass.found)
        status = count_and_write(&pass);
    ABUTI_RELEASE(context, pass.counts, pass.found_counts, pass.found);
    return status;
}
