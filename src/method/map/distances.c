/* Distances of all samples to other bodies.
 *
 * Method: bodies are processed one after the other, those with nearer bounding boxes first. Samples
 * form blocks of consecutive samples. A block is skipped if its bounding box is farther from that
 * of the body than its current distances. So of many bodies a block queries only those next to it
 * (the localised regions of Sud et al. 2006, section 6.2, for any number of bodies). The other
 * blocks form a batch of closest-point queries on the BVH of the body.
 *
 * Of several bodies the one with the smallest distance is the result, compared as floats, and of
 * equal ones the lowest index. This does not depend on the order of processing. Distances inside
 * are negative, hence smaller.
 */
#include "map/map.h"

#include "nearest/batch.h"
#include "sign/sign.h"

#include <string.h>

_Static_assert(sizeof(map_result) == sizeof(abut_map_texel) && sizeof(map_result) == 28,
               "the layout that devices read");

enum { BLOCK = 128, BLOCKS_PER_TASK = 64, TRIANGLES_PER_TASK = 512 };

map_motion abuti_map_motion(const abut_pose *given) {
    const abut_pose none = {{0, 0, 0, 0}, {0, 0, 0}}, unit = {{0, 0, 0, 1}, {0, 0, 0}};
    abut_pose motion = *given;
    motion.rotation = quat_normalise(given->rotation);
    return (map_motion){pose_inverse(&motion), quat_matrix(motion.rotation),
                        memcmp(given, &none, sizeof none) && memcmp(given, &unit, sizeof unit)};
}

static double box_gap(const box3 *a, const box3 *b) {
    vec3 zero = v3(0, 0, 0);
    vec3 gap = v3_max(v3_max(v3_sub(a->lo, b->hi), v3_sub(b->lo, a->hi)), zero);
    return v3_length(gap);
}

/* The bounding box of a posed body: from the corners of the box of its mesh, extended by rounding
 * errors. */
static box3 body_box(const abuti_posed *posed) {
    const abut_mesh *mesh = posed->bvh->mesh;
    if (!abuti_map_motion(&posed->pose).moved)
        return mesh->bounds;
    const box3 from = mesh->bounds;
    const abuti_motion motion = abuti_motion_of(&posed->pose);
    box3 box = box_empty();
    for (int k = 0; k < 8; k++)
        box = box_grow(box, abuti_motion_apply(&motion, v3(k & 1 ? from.hi.x : from.lo.x,
                                                           k & 2 ? from.hi.y : from.lo.y,
                                                           k & 4 ? from.hi.z : from.lo.z)));
    double more = 0x1p-40 * fmax(v3_max_abs(box.lo), v3_max_abs(box.hi));
    box.lo = v3_sub(box.lo, v3(more, more, more));
    box.hi = v3_add(box.hi, v3(more, more, more));
    return box;
}

double abuti_map_gap(const abut_map *map, const abuti_posed *posed) {
    const box3 box = body_box(posed);
    return box_gap(&map->mesh->bounds, &box) * (1 - 0x1p-20);
}

typedef struct distance_query {
    abut_map *map;
    double limit;
    box3 *boxes; /* of blocks of samples */
    /* The current body: */
    uint32_t other;
    const abuti_posed *posed;
    map_motion motion;
    bool has_sign;
    box3 box;         /* of the body, in the coordinates of the map */
    uint32_t *chosen; /* samples to query */
    size_t count;
} distance_query;

static void box_task(void *data, size_t chunk, size_t begin, size_t end) {
    distance_query *f = data;
    (void)chunk;
    for (size_t b = begin; b < end; b++) {
        box3 box = box_empty();
        for (size_t i = b * BLOCK; i < (b + 1) * BLOCK && i < f->map->sample_count; i++)
            box = box_grow(box, f->map->points[i]);
        f->boxes[b] = box;
    }
}

/* Selects the samples of all blocks that may be nearer to the body than their current distance. */
static void select_samples(distance_query *f) {
    const abut_map *map = f->map;
    const size_t blocks = abuti_chunk_count(map->sample_count, BLOCK);
    f->count = 0;
    for (size_t b = 0; b < blocks; b++) {
        const uint32_t begin = (uint32_t)(b * BLOCK);
        const uint32_t end = begin + BLOCK < map->sample_count ? begin + BLOCK : map->sample_count;
        double gap = box_gap(&f->boxes[b], &f->box) * (1 - 0x1p-20);
        bool wanted = gap <= f->limit && f->has_sign && gap <= 0;
        for (uint32_t i = begin; i < end && !wanted && gap <= f->limit; i++)
            wanted = gap <= map->results[i].distance;
        for (uint32_t i = begin; i < end && wanted; i++)
            f->chosen[f->count++] = i;
    }
}

static void read_samples(void *user, size_t begin, uint32_t count, vec3 *points) {
    const distance_query *f = user;
    for (uint32_t i = 0; i < count; i++) {
        const vec3 point = f->map->points[f->chosen[begin + i]];
        points[i] = f->motion.moved ? pose_apply(&f->motion.inverse, point) : point;
    }
}

static void store_nearer_results(void *user, size_t begin, uint32_t count, const vec3 *points,
                                 const abut_nearest *nearest) {
    const distance_query *f = user;
    for (uint32_t i = 0; i < count; i++) {
        const abut_nearest *n = &nearest[i];
        abut_map_texel *answer = &f->map->results[f->chosen[begin + i]];
        const float distance = (float)n->distance;
        if (n->triangle == ABUT_NONE || !(distance <= answer->distance) ||
            (distance == answer->distance && f->other > answer->other))
            continue;
        vec3 way = v3_sub(n->point, points[i]);
        way = f->motion.moved ? m3_apply(&f->motion.turn, way) : way;
        *answer = (abut_map_texel){distance,
                                   {(float)way.x, (float)way.y, (float)way.z},
                                   f->other,
                                   n->triangle,
                                   (uint32_t)n->feature};
    }
}

/* Queries the body for the selected samples. A BVH on a device is queried on the CPU. */
static abut_status query_body(distance_query *f) {
    const abut_bvh *bvh = f->posed->bvh;
    nearest_batch batch = {.bvh = bvh,
                           .points = {.count = f->count, .ordered = true},
                           .radius = f->limit,
                           .complete = f->has_sign ? abuti_sign_set : NULL,
                           .read = read_samples,
                           .keep = store_nearer_results,
                           .user = f};
    abut_status status = abuti_bvh_check("abut_map_compute_distance", bvh, f, "map");
    if (!status && f->has_sign)
        status = abuti_sign_far(bvh);
    return status || !f->count ? status : abuti_batch_nearest(&batch);
}

/* ---- several bodies ---- */

typedef struct order {
    double gap;
    uint32_t other;
} order;

static bool order_after(const void *a, const void *b) {
    const order *x = a, *y = b;
    return x->gap != y->gap ? x->gap > y->gap : x->other > y->other;
}

static void set_body(distance_query *f, const abuti_posed *posed, uint32_t other) {
    f->other = other;
    f->posed = posed;
    f->motion = abuti_map_motion(&posed->pose);
    abut_sign_info sign = abut_sign_info_default();
    abut_sign_get_info(posed->bvh, &sign);
    f->has_sign = sign.method != ABUT_SIGN_AUTO;
    f->box = body_box(posed);
}

static abut_status query_all_bodies(distance_query *f, const abuti_posed *others, uint32_t count,
                                    order *orders) {
    abut_map *map = f->map;
    for (uint32_t i = 0; i < count; i++) {
        orders[i] = (order){abuti_map_gap(map, &others[i]), i};
    }
    abuti_sort_items(orders, count, sizeof *orders, order_after);
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        set_body(f, &others[orders[i].other], orders[i].other);
        select_samples(f);
        status = query_body(f);
        if (!status && count > 1)
            status = abuti_progress(map->context, "map", (i + 1.0) / count);
    }
    return status;
}

/* Converts and validates the other bodies. */
static abut_status read_others(const char *function, const abut_collider *others, uint32_t count,
                               abuti_posed *posed) {
    for (uint32_t i = 0; i < count; i++) {
        char what[32];
        snprintf(what, sizeof what, "others[%u]", i);
        abut_status status = abuti_posed_read(function, what, &others[i], &posed[i]);
        if (status)
            return status;
        status = abuti_pose_check(function, what, &posed[i].pose);
        if (status)
            return status;
        const box3 box = body_box(&posed[i]);
        status = abuti_map_check_box(function, what, &box);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* Retains the bodies for contacts and exact measures, and computes a bound of the rounding error of
 * their coordinates. */
static abut_status retain_others(abut_map *map, const abuti_posed *others, uint32_t count) {
    map_other *kept = abuti_allocate(map->context, count, sizeof *kept);
    if (!kept)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const box3 box = body_box(&others[i]);
        const double largest = real_max(v3_max_abs(box.lo), v3_max_abs(box.hi));
        kept[i] = (map_other){{abuti_bvh_retain(others[i].bvh), others[i].pose},
                              abut_mesh_retain(others[i].bvh->mesh)};
        map->rounding = real_max(map->rounding, MAP_ROUNDING * largest);
    }
    abuti_map_release_others(map);
    map->others = kept;
    map->other_count = count;
    return ABUT_OK;
}

abut_status abuti_map_check_others(const char *function, const abut_map *map) {
    for (uint32_t i = 0; i < map->other_count && map->last_query == MAP_OTHERS; i++)
        if (map->others[i].posed.bvh->mesh != map->others[i].mesh)
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "%s: others[%u] was refitted after abut_map_compute_distance(), so that "
                "distances are those of its earlier state; call abut_map_compute_distance() again",
                function, i);
    return ABUT_OK;
}

static abut_status compute_on_cpu(abut_map *map, const abuti_posed *others, uint32_t count,
                                  double limit) {
    distance_query f = {.map = map, .limit = limit};
    abut_context *context = map->context;
    const size_t samples = map->sample_count, blocks = abuti_chunk_count(samples, BLOCK);
    abut_status status = abuti_map_reserve_points(map);
    if (status)
        return status;
    for (size_t i = 0; i < samples; i++)
        map->results[i] = map_no_result();
    order *orders;
    status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(orders, count), ABUTI_ARRAY(f.boxes, blocks),
                            ABUTI_ARRAY(f.chosen, samples));
    if (!status) {
        abuti_parallel_for(context, blocks, BLOCKS_PER_TASK, box_task, &f);
        status = query_all_bodies(&f, others, count, orders);
    }
    ABUTI_RELEASE(context, orders, f.boxes, f.chosen);
    return status;
}

static abut_status compute_distance(abut_map *map, const abuti_posed *others, uint32_t count,
                                    double limit) {
    abut_status status = retain_others(map, others, count);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        abut_sign_info sign = abut_sign_info_default();
        abut_sign_get_info(others[i].bvh, &sign);
        if (sign.method == ABUT_SIGN_AUTO)
            continue;
        if (!map->has_sign || sign.reliability.level > map->reliability.level)
            map->reliability = sign.reliability;
        map->has_sign = true;
    }
    abut_context *before = abuti_context_enter(map->context);
    status = map->backend->find(map, others, count, limit);
    abuti_context_leave(before);
    if (status)
        map->has_sign = false;
    else
        map->last_query = MAP_OTHERS;
    return status;
}

abut_status abut_map_compute_distance(abut_map *map, const abut_collider *others, uint32_t count,
                                      const abut_map_query *query) {
    abut_map_query ours;
    if (count && !others)
        return abuti_null(__func__, "others");
    abut_context *context = abuti_context_of(map ? map->context : NULL);
    abuti_posed *posed = abuti_allocate(context, count, sizeof *posed);
    abut_status status = posed ? read_others(__func__, others, count, posed) : ABUT_ERROR_MEMORY;
    if (!status && !(status = abuti_map_begin_query(__func__, map, query, &ours)))
        status = compute_distance(map, posed, count, ours.limit);
    abuti_release(context, posed);
    return status;
}

/* ---- results on the host ---- */

static map_tally tally_triangle(const abut_map *map, uint32_t i, double within) {
    const uint32_t begin = map->first[i], count = map->first[i + 1] - begin;
    const uint32_t triangle = map->ranked[i];
    uint32_t lanes = count < MAP_LANES ? count : MAP_LANES;
    map_tally lane[MAP_LANES];
    for (uint32_t k = 0; k < lanes; k++)
        lane[k] = map_tally_none();
    for (uint32_t k = 0; k < count; k++)
        if (map->results[begin + k].other != ABUT_NONE)
            map_tally_sample(&lane[k % MAP_LANES], map->results[begin + k].distance, begin + k,
                             within);
    for (uint32_t away = MAP_LANES / 2; away > 0; away /= 2)
        for (uint32_t k = 0; k < away && k + away < lanes; k++)
            map_tally_add(&lane[k], &lane[k + away]);
    lane[0].area = abuti_map_area(map->mesh, triangle);
    lane[0].reach = abuti_map_reach(&map->atlas.places[triangle], map->mesh, triangle);
    return lane[0];
}

typedef struct tally_job {
    const abut_map *map;
    double within;
    map_tally *tallies;
} tally_job;

static void tally_task(void *data, size_t chunk, size_t begin, size_t end) {
    const tally_job *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        t->tallies[i] = tally_triangle(t->map, (uint32_t)i, t->within);
}

static abut_status tally(const abut_map *map, double within, map_tally *tallies) {
    tally_job t = {map, within, tallies};
    abuti_parallel_for(map->context, map->mesh->triangle_count, TRIANGLES_PER_TASK, tally_task, &t);
    return ABUT_OK;
}

const map_backend abuti_map_on_cpu = {.find = compute_on_cpu, .tally = tally};
