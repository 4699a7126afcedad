/* All hits of rays.
 *
 * A first pass searches, counts the hits of each ray, and records their triangles; a second one,
 * when all offsets are known, computes the hit points and sorts them. The memory between the passes
 * holds a few hits per ray: rays whose hits were not all recorded are searched again, one by one.
 */
#include "ray/ray.h"

#include "base/simd.h"

enum {
    FOUND_PER_TASK = 4 * RAYS_PER_TASK,
    TASKS_RECORDED = 8192, /* 64 MB; later tasks only count */
};

typedef struct all_pass {
    const bvh_gather *g;
    const bvh_wide *tree;
    const abut_ray *rays;
    uint32_t *counts;       /* of each ray */
    uint32_t *found_counts; /* of each task */
    ray_found *found;       /* FOUND_PER_TASK for each of the first `recorded` tasks */
    size_t recorded;
} all_pass;

/* A row of rays that records up to so many hits. */
static void count_row(ray_row *row, const abut_bvh *bvh, const bvh_wide *tree, const abut_ray *rays,
                      size_t count, uint32_t *counts, ray_found *found, uint32_t found_max) {
    memset(counts, 0, count * sizeof *counts);
    row->bvh = bvh;
    row->tree = tree;
    row->rays = rays;
    row->count = (uint32_t)count;
    row->what = RAY_ALL;
    row->limit = HUGE_VAL;
    row->counts = counts;
    row->found_max = found_max;
    row->found_count = 0;
    row->found = found;
    abuti_ray_search(row);
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

/* Writes the hits of a row that has been counted. */
static void write_row(const ray_row *row, const uint64_t *offsets, abut_ray_hit *hits) {
    uint32_t filled[RAYS_PER_TASK] = {0}, waiting_count = 0;
    ray_pierce waiting[RAY_PIERCES];
    for (uint32_t i = 0; i < row->found_count; i++) {
        const ray_found *found = &row->found[i];
        abut_ray_hit *hit = &hits[offsets[found->ray] + filled[found->ray]++];
        if (!found->certain) {
            abuti_ray_meet(row, found->ray, found->triangle, hit);
            continue;
        }
        waiting[waiting_count++] = (ray_pierce){&row->rays[found->ray], found->triangle, hit};
        if (waiting_count == RAY_PIERCES) {
            ABUTI_BY_LANES(abuti_ray_pierce)(row->bvh->mesh, waiting, waiting_count);
            waiting_count = 0;
        }
    }
    ABUTI_BY_LANES(abuti_ray_pierce)(row->bvh->mesh, waiting, waiting_count);
    for (uint32_t i = 0; i < row->count; i++) {
        if (filled[i] != row->counts[i])
            abuti_ray_search_plain(row, i, hits + offsets[i]);
        sort_hits(hits + offsets[i], row->counts[i]);
    }
}

static void count_task(void *data, size_t task, size_t begin, size_t end) {
    const all_pass *pass = data;
    const bool recorded = task < pass->recorded;
    ray_row row;
    count_row(&row, pass->g->bvh, pass->tree, pass->rays + begin, end - begin, pass->counts + begin,
              recorded ? pass->found + task * FOUND_PER_TASK : NULL, recorded ? FOUND_PER_TASK : 0);
    pass->found_counts[task] = row.found_count;
}

static void write_task(void *data, size_t task, size_t begin, size_t end) {
    const all_pass *pass = data;
    ray_row row;
    row.bvh = pass->g->bvh;
    row.rays = pass->rays + begin;
    row.count = (uint32_t)(end - begin);
    row.what = RAY_ALL;
    row.limit = HUGE_VAL;
    row.counts = pass->counts + begin;
    row.found_count = pass->found_counts[task];
    row.found = pass->found + (task < pass->recorded ? task * FOUND_PER_TASK : 0);
    write_row(&row, (const uint64_t *)pass->g->offsets.host + begin, pass->g->results.host);
}

abut_status abuti_ray_all_of_one(const char *function, const abut_bvh *bvh, const abut_ray *ray,
                                 abut_ray_hit_list *hits) {
    const uint64_t offset = 0;
    ray_found found[FOUND_PER_TASK];
    uint32_t count;
    ray_row row;
    count_row(&row, bvh, abuti_bvh_earn_wide(bvh, 1), ray, 1, &count, found, FOUND_PER_TASK);
    /* Counted first, so that a list that is too short stays unchanged. */
    abut_status status = ABUTI_LIST_COUNT(function, "hits", hits, count);
    if (!status)
        write_row(&row, &offset, hits->list);
    return status;
}

abut_status abuti_ray_all_run(const bvh_gather *g, const abut_ray *rays) {
    abut_context *context = g->bvh->context;
    const size_t tasks = abuti_chunk_count(g->count, RAYS_PER_TASK);
    all_pass pass = {.g = g, .rays = rays};
    pass.tree = abuti_bvh_earn_wide(g->bvh, g->count);
    pass.recorded = !g->capacity ? 0 : tasks < TASKS_RECORDED ? tasks : TASKS_RECORDED;
    pass.counts = abuti_allocate(context, g->count, sizeof *pass.counts);
    pass.found_counts = abuti_allocate(context, tasks, sizeof *pass.found_counts);
    pass.found = abuti_allocate(context, pass.recorded * FOUND_PER_TASK, sizeof *pass.found);
    abut_status status = ABUT_ERROR_MEMORY;
    if (pass.counts && pass.found_counts && pass.found)
        status =
            abuti_gather_run_tasks(g, RAYS_PER_TASK, count_task, write_task, &pass, pass.counts);
    ABUTI_RELEASE(context, pass.counts, pass.found_counts, pass.found);
    return status;
}
