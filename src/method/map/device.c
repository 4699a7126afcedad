/* Maps on a device: host side of map_samples.cl.
 *
 * Data of the atlas are uploaded once, positions with each query. Calls wait for the commands that
 * they enqueue. A body on the same device is queried there, by its closest-point batch or, with
 * signs, its batch of signed distances. If a body is on another device or on the host, or its signs
 * use boundary edges or pseudo-normals, the host computes the query.
 */
#include "map/device_shared.h"
#include "map/map.h"

#include "bvh/on_device.h"
#include "nearest/batch.h"
#include "nearest/device.h"
#include "sign/sign.h"

#include <string.h>

enum {
    POSITIONS,
    INDICES,
    PLACES,
    OWNER,
    TEXEL,
    FIRST,
    RESULTS,
    TALLIES,
    PARTS,       /* components, in the order of the tree of the surface */
    OWNER_PARTS, /* components of triangles */
    BUFFERS
};
enum { COMPUTE_POINTS, STORE_RESULTS, FIND_APART, TALLY, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {
    [COMPUTE_POINTS] = {"map_samples", "map_points", NULL},
    [STORE_RESULTS] = {"map_samples", "map_store", NULL},
    [FIND_APART] = {"map_samples", "map_apart", NULL},
    [TALLY] = {"map_samples", "map_tallies", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

struct map_device {
    abuti_queue queue;
    abuti_kit kit;     /* has the buffers; its kernels are all but FIND_APART */
    abut_bvh *own;     /* BVH of the surface, created by the first query that excludes components */
    abuti_kit own_kit; /* FIND_APART, on its queue */
    bool is_warm;      /* the last query was that of `own` */
    abut_buffer *points; /* samples in the coordinates of a body, and their abut_nearest; created by
                            the first query */
    abut_buffer *nearest;
};

/* ---- create ---- */

static abut_status create_device_map(abut_map *map) {
    const uint32_t count = map->mesh->triangle_count;
    abut_status status = abuti_device_check_bits("abut_map_create", map->options.device);
    if (status)
        return status;
    struct map_device *d = map->device = abuti_allocate_zeroed(map->context, 1, sizeof *d);
    uint32_t *owner = abuti_allocate(map->context, map->sample_count, sizeof *owner);
    status = d && owner ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_queue_open(map->options.device, &d->queue);
    map->options.device = NULL; /* from here on the queue retains it */
    if (!status) {
        map->options.device = d->queue.device;
        status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    }
    if (!status) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t s = map->first[i]; s < map->first[i + 1]; s++)
                owner[s] = map->ranked[i];
        abuti_kit_upload(&d->kit, INDICES, map->mesh->indices, 3 * (size_t)count, 4);
        abuti_kit_upload(&d->kit, PLACES, map->atlas.places, count, sizeof *map->atlas.places);
        abuti_kit_upload(&d->kit, OWNER, owner, map->sample_count, 4);
        abuti_kit_upload(&d->kit, TEXEL, map->texel, map->sample_count, 4);
        abuti_kit_upload(&d->kit, FIRST, map->first, (size_t)count + 1, 4);
        abuti_kit_reserve(&d->kit, RESULTS, map->sample_count, sizeof(map_result));
        abuti_kit_reserve(&d->kit, TALLIES, count, sizeof(map_tally));
        status = abuti_kit_finish(&d->kit);
    }
    abuti_release(map->context, owner);
    return status;
}

static void destroy_device_map(abut_map *map) {
    struct map_device *d = map->device;
    if (!d)
        return;
    abuti_kit_close(&d->own_kit);
    abut_bvh_destroy(d->own);
    abut_buffer_destroy(d->points);
    abut_buffer_destroy(d->nearest);
    abuti_kit_close(&d->kit);
    abuti_queue_close(&d->queue);
    abuti_release(map->context, d);
    map->device = NULL;
}

/* ---- queries ---- */

/* Whether a body can be queried on this device. */
static bool can_query_on_device(const abut_map *map, const abut_bvh *bvh) {
    if (!bvh->there || bvh->there->queue.device != map->device->queue.device ||
        !on_device_has_doubles(bvh->there))
        return false;
    const struct bvh_sign *sign = bvh_sign_of(bvh);
    return !sign || sign->closed || map->device->queue.device->info.same_bits;
}

/* The arguments of a query of a body. */
static map_query make_query(const abut_map *map, const abuti_posed *posed, uint32_t other,
                            bool first) {
    const map_motion motion = abuti_map_motion(&posed->pose);
    return (map_query){.origin = map->mesh->origin,
                       .inverse = motion.inverse,
                       .turn = motion.turn,
                       .count = map->sample_count,
                       .resolution = map->atlas.resolution,
                       .other = other,
                       .first = first,
                       .moved = motion.moved};
}

#define MAP(which) ABUTI_BUFFER(&d->kit.buffers[which])
#define SURFACE MAP(POSITIONS), MAP(INDICES), MAP(PLACES), MAP(OWNER), MAP(TEXEL)

static void upload_positions(abut_map *map) {
    abuti_kit_upload(&map->device->kit, POSITIONS, map->mesh->positions, map->mesh->vertex_count,
                     sizeof(vec3));
}

static void create_buffers(struct map_device *d, uint32_t samples) {
    if (!d->points)
        abuti_kit_fail(&d->kit,
                       abut_buffer_create(d->queue.device, samples * sizeof(vec3), &d->points));
    if (!d->nearest && !abuti_kit_failed(&d->kit))
        abuti_kit_fail(&d->kit, abut_buffer_create(d->queue.device, samples * sizeof(abut_nearest),
                                                   &d->nearest));
}

/* Waits for the batch of the body. Failures are sticky errors of the queue of the map. */
static void query_body(abut_map *map, const abuti_posed *posed, uint32_t other, double limit,
                       bool first) {
    static const char function[] = "abut_map_compute_distance";
    struct map_device *d = map->device;
    bvh_on_device *there = posed->bvh->there;
    const map_query query = make_query(map, posed, other, first);
    abuti_kit_fail(&d->kit, abuti_bvh_check_on_device(function, posed->bvh));
    if (abuti_kit_failed(&d->kit))
        return;
    const bvh_points points = {.type = ABUT_SCALAR_FLOAT64,
                               .stride = sizeof(vec3),
                               .count = map->sample_count,
                               .buffer = d->points,
                               .ordered = true,
                               .checked = true};
    const abut_array nearest = abut_array_buffer(d->nearest);
    ABUTI_KIT_RUN(&d->kit, COMPUTE_POINTS, map->sample_count, MAP_GROUP, SURFACE,
                  ABUTI_VALUE(query), ABUTI_BUFFER(&d->points->memory));
    abuti_kit_fail(&d->kit, abuti_queue_wait(&there->queue, &d->queue));
    if (!abuti_kit_failed(&d->kit))
        abuti_kit_fail(&d->kit,
                       bvh_sign_of(posed->bvh)
                           ? abuti_sign_query_on_device(function, there, &points, QUEST_SIGN, limit,
                                                        nearest)
                           : abuti_nearest_on_device(function, there, &points, limit, nearest));
    ABUTI_KIT_RUN(&d->kit, STORE_RESULTS, map->sample_count, MAP_GROUP,
                  ABUTI_BUFFER(&d->points->memory), ABUTI_BUFFER(&d->nearest->memory),
                  ABUTI_VALUE(query), MAP(RESULTS));
}

static abut_status compute_distances(abut_map *map, const abuti_posed *others, uint32_t count,
                                     double limit) {
    struct map_device *d = map->device;
    uint32_t first = ABUT_NONE; /* first body within the limit */
    bool all = true;
    for (uint32_t i = 0; i < count && all; i++) {
        if (first == ABUT_NONE && abuti_map_gap(map, &others[i]) <= limit)
            first = i;
        all = can_query_on_device(map, others[i].bvh);
    }
    if (!all || first == ABUT_NONE)
        return abuti_map_on_cpu.find(map, others, count, limit);
    create_buffers(d, map->sample_count);
    upload_positions(map);
    for (uint32_t i = first; i < count && !abuti_kit_failed(&d->kit); i++) {
        if (abuti_map_gap(map, &others[i]) > limit)
            continue;
        query_body(map, &others[i], i, limit, i == first);
        if (count > 1)
            abuti_kit_progress(&d->kit, map->context, "map", (i + 1.0) / count);
    }
    d->is_warm = false;
    map->results_on_host = false;
    return abuti_kit_finish(&d->kit);
}

/* ---- other components of the surface ---- */

/* Refits the BVH of the surface, and uploads the components in its order. */
static abut_status refit_own_bvh(abut_map *map) {
    struct map_device *d = map->device;
    if (d->own)
        return d->own->mesh == map->mesh ? ABUT_OK : abut_bvh_set_mesh(d->own, map->mesh);
    abut_bvh_options options = abut_bvh_options_default();
    options.device = d->queue.device;
    abut_bvh *own = NULL;
    abut_status status = abut_bvh_create(map->mesh, &options, &own);
    if (status)
        return status;
    const abuti_bvh_device *tree = &own->there->tree;
    const size_t places = (size_t)tree->leaf_count * BVH_WIDTH;
    uint32_t *order = abuti_allocate(map->context, places, sizeof *order);
    status = order ? abuti_device_check_doubles("abut_map_compute_self_distance", own->there)
                   : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_buffer_download(&own->there->queue, &tree->order, 0, order,
                                       places * sizeof *order);
    if (!status) {
        for (size_t i = 0; i < places; i++)
            order[i] = map->parts[order[i]];
        abuti_kit_upload(&d->kit, PARTS, order, places, 4);
        abuti_kit_upload(&d->kit, OWNER_PARTS, map->parts, map->mesh->triangle_count, 4);
        status = abuti_kit_finish(&d->kit);
    }
    if (!status)
        status = abuti_on_device_kit(own->there, &table, &d->own_kit);
    abuti_release(map->context, order);
    if (status)
        abut_bvh_destroy(own);
    else
        d->own = own;
    return status;
}

static abut_status compute_self_distances(abut_map *map, double limit) {
    struct map_device *d = map->device;
    abut_status status = refit_own_bvh(map);
    if (status)
        return status;
    bvh_on_device *there = d->own->there;
    const abuti_posed posed = {d->own, {{0, 0, 0, 0}, {0, 0, 0}}};
    const mesh_frame frame = frame_of(there);
    map_query query = make_query(map, &posed, 0, true);
    query.radius = limit;
    query.limit = abuti_nearest_reach(there, limit);
    query.triangle_count = map->mesh->triangle_count;
    query.warm = d->is_warm;
    upload_positions(map);
    abuti_kit_fail(&d->own_kit,
                   d->queue.error ? d->queue.error : abuti_queue_wait(&there->queue, &d->queue));
    ABUTI_KIT_RUN(&d->own_kit, FIND_APART, map->sample_count, MAP_GROUP, TREE(there, nodes),
                  TREE(there, triangles), TREE(there, order), TREE(there, corners),
                  ABUTI_VALUE(frame), SURFACE, ABUTI_VALUE(query), MAP(PARTS), MAP(OWNER_PARTS),
                  MAP(RESULTS));
    status = abuti_kit_finish(&d->own_kit);
    abut_status uploaded = abuti_kit_finish(&d->kit);
    d->is_warm = !status;
    map->results_on_host = false;
    return uploaded ? uploaded : status;
}

/* ---- results ---- */

static abut_status download_results(const abut_map *map, uint32_t first, uint32_t count,
                                    abut_map_texel *to) {
    return abuti_kit_read(&map->device->kit, RESULTS, first, to, count, sizeof(map_result));
}

static abut_status download_tallies(const abut_map *map, double within, map_tally *tallies) {
    struct map_device *d = map->device;
    const uint32_t count = map->mesh->triangle_count;
    ABUTI_KIT_GROUPS(&d->kit, TALLY, count, MAP_LANES, MAP(POSITIONS), MAP(INDICES), MAP(PLACES),
                     MAP(OWNER), MAP(FIRST), ABUTI_VALUE(within), MAP(RESULTS), MAP(TALLIES),
                     ABUTI_LOCAL_MEMORY(MAP_LANES * sizeof(map_tally)));
    return abuti_kit_download(&d->kit, TALLIES, tallies, count, sizeof *tallies);
}

const map_backend abuti_map_on_device = {create_device_map, destroy_device_map,
                                         compute_distances, compute_self_distances,
                                         download_results,  download_tallies};
