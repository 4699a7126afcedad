/* All hits of many rays with the tree of ray.h.
 *
 * A first pass traverses the tree, counts the hits of each ray, and records their triangles; a
 * second one, when all offsets are known, computes the hit points and sorts them. The memory
 * between the passes holds a few hits per ray: rays whose hits were not all recorded are searched
 * again, one by one.
 */
#include "ray/ray.h"

#include "base/simd.h"

enum {
    FOUND_PER_RAY = 4,     /* on average over the rays of a task */
    TASKS_RECORDED = 8192, /* 64 MB; later tasks only count */
};

typedef struct all_pass {
    const bvh_gather *g;
    const bvh_wide *tree;
    const abut_ray *rays;
    uint32_t *counts;       /* of each ray */
    uint32_t *found_counts; /* of each task */
    ray_found
        *found; /* FOUND_PER_RAY times RAYS_PER_TASK per task, of the first `recorded` tasks */
    size_t recorded;
} all_pass;

static void count_task(void *data, size_t task, size_t begin, size_t end) {
    const all_pass *pass = data;
    const size_t room = (size_t)RAYS_PER_TASK * FOUND_PER_RAY;
    ray_row row;
    memset(pass->counts + begin, 0, (end - begin) * sizeof *pass->counts);
    row.bvh = pass->g->bvh;
    row.tree = pass->tree;
    row.rays = pass->rays + begin;
    row.count = (uint32_t)(end - begin);
    row.what = RAY_ALL;
    row.limit = HUGE_VAL;
    row.counts = pass->counts + begin;
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

static void write_task(void *data, size_t task, size_t begin, size_t end) {
    const all_pass *pass = data;
    const bvh_gather *g = pass->g;
    const uint64_t *offsets = (const uint64_t *)g->offsets.host + begin;
    const abut_ray *rays = pass->rays + begin;
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
        const uint32_t count = pass->counts[begin + i];
        if (filled[i] == count)
            sort_hits(hits + offsets[i], count);
        else
            abuti_ray_all_hits(g->bvh, &rays[i], hits + offsets[i]);
    }
}

abut_status abuti_ray_all_run(const bvh_gather *g, const bvh_wide *tree, const abut_ray *rays) {
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
        status =
            abuti_gather_run_tasks(g, RAYS_PER_TASK, count_task, write_task, &pass, pass.counts);
    ABUTI_RELEASE(context, pass.counts, pass.found_counts, pass.found);
    return status;
}
