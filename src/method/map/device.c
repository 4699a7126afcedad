/* Maps on a device: host side of map_find.cl.
 *
 * Data of the atlas are uploaded once, positions with each query. Calls wait for the commands that
 * they enqueue. A body on the same device is queried there; its kernels run on its own queue, for
 * which they were built. Its signs are those of abut_sign_inside_batch(), for the samples that
 * map_sides selects. If a body is on another device or on the host, or its signs use boundary edges
 * or pseudo-normals, the host computes the query.
 */
#include "map/device_shared.h"
#include "map/map.h"

#include "bvh/on_device.h"
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
    FOUND,
    SIGN_POINT_COUNT,
    SIGN_POINTS,
    SIDE,
    INSIDE,
    TALLIES,
    BLOCKS,
    PARTS,       /* components, in the order of the tree of the surface */
    OWNER_PARTS, /* components of triangles */
    BUFFERS
};
enum { EXTREME_BLOCKS = 1 }; /* blocks, enough for two results */
enum { FIND, FIND_APART, SIDES, STORE_RESULTS, TALLY, BLOCK, EXTREMES, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {
    [FIND] = {"map_find", "map_find", NULL},
    [FIND_APART] = {"map_find", "map_find_apart", NULL},
    [SIDES] = {"map_find", "map_sides", NULL},
    [STORE_RESULTS] = {"map_find", "map_store", NULL},
    [TALLY] = {"map_find", "map_tallies", NULL},
    [BLOCK] = {"map_find", "map_blocks", NULL},
    [EXTREMES] = {"map_find", "map_extremes", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

_Static_assert(2 * sizeof(map_result) <= EXTREME_BLOCKS * sizeof(map_block), "two results");

struct map_device {
    abuti_queue queue;
    abuti_kit kit;    /* has the buffers; of its kernels only the tally is used */
    abut_bvh *own;    /* BVH of the surface, created by the first query that excludes components */
    const void *warm; /* the tree of the last query; only compared */
    abut_buffer *sides; /* inside flags and points of sign queries, for batches */
    abut_buffer *sign_points;
    abuti_staging down;         /* for the download of tallies */
    size_t sign_point_capacity; /* capacity of the sign buffers */
};

/* ---- kernels for the tree of a body ---- */

typedef struct map_part {
    bvh_attachment part;
    abuti_kit kit;
} map_part;

static abut_status part_create(bvh_attachment *part, void *owner) {
    return abuti_on_device_kit(owner, &table, &((map_part *)part)->kit);
}

static void part_destroy(bvh_attachment *part) {
    abuti_kit_close(&((map_part *)part)->kit);
}

static const bvh_attachment_kind map_kind = {sizeof(map_part), part_create, NULL, part_destroy};

/* ---- create ---- */

static abut_status create_device_map(abut_map *map) {
    const uint32_t count = map->mesh->triangle_count;
    abut_status status = abuti_device_check_bits("abut_map_create", map->options.device);
    if (status)
        return status;
    struct map_device *d = map->device = abuti_allocate_zeroed(map->context, 1, sizeof *d);
    uint32_t *owner = abuti_allocate(map->context, map->sample_count, sizeof *owner);
    status = d && owner ? ABUT_OK : ABUT_ERROR_MEMORY;
    status = status ? status : abuti_queue_open(map->options.device, &d->queue);
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
        abuti_kit_reserve(&d->kit, FOUND, map->sample_count, sizeof(map_found));
        abuti_kit_reserve(&d->kit, TALLIES, count, sizeof(map_tally));
        abuti_kit_reserve(&d->kit, BLOCKS, map_block_count(map) + EXTREME_BLOCKS,
                          sizeof(map_block));
        abuti_kit_reserve(&d->kit, SIGN_POINT_COUNT, 1, 4);
        abuti_kit_reserve(&d->kit, SIDE, map->sample_count, 4);
        status = abuti_kit_finish(&d->kit);
    }
    abuti_release(map->context, owner);
    return status;
}

static void destroy_device_map(abut_map *map) {
    struct map_device *d = map->device;
    if (!d)
        return;
    abut_bvh_destroy(d->own);
    abut_buffer_destroy(d->sign_points);
    abut_buffer_destroy(d->sides);
    abuti_kit_close(&d->kit);
    abuti_staging_destroy(&d->queue, &d->down);
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
    return !sign || (sign->closed && sign->method == ABUT_SIGN_WINDING);
}

static map_query make_query(const abut_map *map, const abuti_posed *posed, uint32_t other,
                            double limit, bool first) {
    const bvh_on_device *there = posed->bvh->there;
    const abut_mesh *mesh = there->tree.mesh;
    const map_motion motion = abuti_map_motion(&posed->pose);
    map_query query = {.origin = map->mesh->origin,
                       .inverse = motion.inverse,
                       .turn = motion.turn,
                       .radius = limit,
                       .slack = 0x1p-44 * v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo)),
                       .count = map->sample_count,
                       .resolution = map->atlas.resolution,
                       .triangle_count = there->tree.triangle_count,
                       .other = other,
                       .first = first,
                       .moved = motion.moved,
                       .has_sign = bvh_sign_of(posed->bvh) != NULL,
                       .warm = map->device->warm == there};
    query.limit = (float)real_min(limit * there->tree.scale, 4 * NEAREST_FAR) * NEAREST_SLACK;
    vec3 lo = v3_scale(v3_sub(mesh->bounds.lo, mesh->origin), there->tree.scale),
         hi = v3_scale(v3_sub(mesh->bounds.hi, mesh->origin), there->tree.scale);
    for (int k = 0; k < 3; k++) {
        query.lo[k] = (float)v3_get(lo, k) - 0x1p-16f; /* more than the rounding error */
        query.hi[k] = (float)v3_get(hi, k) + 0x1p-16f;
    }
    return query;
}

#define MAP(which) ABUTI_BUFFER(&d->kit.buffers[which])

/* Allocates buffers for `count` points of a sign batch. */
static abut_status reserve_sign_points(struct map_device *d, size_t count) {
    if (count <= d->sign_point_capacity)
        return ABUT_OK;
    abut_buffer_destroy(d->sign_points);
    abut_buffer_destroy(d->sides);
    d->sign_points = d->sides = NULL;
    d->sign_point_capacity = 0;
    abut_status status = abut_buffer_create(d->queue.device, count * sizeof(vec3), &d->sign_points);
    status = status ? status : abut_buffer_create(d->queue.device, count, &d->sides);
    d->sign_point_capacity = status ? 0 : count;
    return status;
}

/* Computes the side of the selected samples. Blocks. */
static abut_status query_sides(abut_map *map, map_part *part, const abut_bvh *bvh,
                               const map_query *given) {
    struct map_device *d = map->device;
    const map_query query = *given;
    uint32_t asked = 0;
    abut_status status = reserve_sign_points(d, map->sample_count);
    abuti_kit_fail(&part->kit, status);
    abuti_kit_upload(&part->kit, SIGN_POINT_COUNT, &asked, 1, sizeof asked);
    if (!status)
        ABUTI_KIT_RUN(&part->kit, SIDES, map->sample_count, MAP_GROUP, MAP(POSITIONS), MAP(INDICES),
                      MAP(PLACES), MAP(OWNER), MAP(TEXEL), ABUTI_VALUE(query), MAP(FOUND),
                      KIT_BUFFER(&part->kit, SIGN_POINT_COUNT),
                      ABUTI_BUFFER(&d->sign_points->memory), MAP(SIDE),
                      ABUTI_LOCAL_MEMORY(4 * MAP_GROUP), ABUTI_LOCAL_MEMORY(4 * MAP_GROUP),
                      ABUTI_LOCAL_MEMORY(sizeof(vec3)), ABUTI_LOCAL_MEMORY(4));
    status = abuti_kit_download(&part->kit, SIGN_POINT_COUNT, &asked, 1, sizeof asked);
    if (status || !asked)
        return status;
    const bvh_points points = {.type = ABUT_SCALAR_FLOAT64,
                               .stride = sizeof(vec3),
                               .count = asked,
                               .buffer = d->sign_points,
                               .ordered = true};
    return abuti_sign_inside_on_device("abut_map_compute_distance", bvh->there, &points,
                                       abut_array_buffer(d->sides));
}

static abut_status query_body(abut_map *map, const abuti_posed *posed, uint32_t other, double limit,
                              bool first) {
    struct map_device *d = map->device;
    bvh_on_device *there = posed->bvh->there;
    const mesh_frame frame = frame_of(there);
    const map_query query = make_query(map, posed, other, limit, first);
    map_part *part;
    abut_status status = abuti_bvh_check_on_device("abut_map_compute_distance", posed->bvh);
    status =
        status ? status : abuti_on_device_attachment(there, &map_kind, (bvh_attachment **)&part);
    if (status)
        return status;
    ABUTI_KIT_RUN(&part->kit, FIND, map->sample_count, MAP_GROUP, TREE(there, nodes),
                  TREE(there, triangles), TREE(there, order), TREE(there, corners),
                  ABUTI_VALUE(frame), MAP(POSITIONS), MAP(INDICES), MAP(PLACES), MAP(OWNER),
                  MAP(TEXEL), ABUTI_VALUE(query), MAP(RESULTS), MAP(FOUND));
    if (query.has_sign)
        status = query_sides(map, part, posed->bvh, &query);
    const abuti_buffer *sides = query.has_sign && !status ? &d->sides->memory : &there->tree.nodes;
    if (!status)
        ABUTI_KIT_RUN(&part->kit, STORE_RESULTS, map->sample_count, MAP_GROUP, MAP(FOUND),
                      ABUTI_VALUE(query), MAP(SIDE), ABUTI_BUFFER(sides), MAP(RESULTS));
    abuti_kit_fail(&part->kit, status);
    status = abuti_kit_finish(&part->kit);
    d->warm = status ? NULL : there;
    return status;
}

/* Uploads positions on the queue that uses them first. */
static abut_status upload_positions(abut_map *map, bvh_on_device *there) {
    abuti_buffer *to = &map->device->kit.buffers[POSITIONS];
    /* the mesh may have gained vertices that no triangle uses */
    abut_status status =
        abuti_buffer_reserve(map->device->queue.device, map->mesh->vertex_count, sizeof(vec3), to);
    return status ? status
                  : abuti_buffer_upload(&there->queue, to, 0, map->mesh->positions,
                                        map->mesh->vertex_count * sizeof(vec3));
}

static abut_status compute_distances(abut_map *map, const abuti_posed *others, uint32_t count,
                                     double limit) {
    uint32_t first = ABUT_NONE; /* first body within the limit */
    bool all = true;
    for (uint32_t i = 0; i < count && all; i++) {
        if (first == ABUT_NONE && abuti_map_gap(map, &others[i]) <= limit)
            first = i;
        all = can_query_on_device(map, others[i].bvh);
    }
    if (!all || first == ABUT_NONE)
        return abuti_map_on_cpu.find(map, others, count, limit);
    abut_status status = abuti_bvh_check_on_device("abut_map_compute_distance", others[first].bvh);
    status = status ? status : upload_positions(map, others[first].bvh->there);
    for (uint32_t i = first; i < count && !status; i++) {
        if (abuti_map_gap(map, &others[i]) > limit)
            continue;
        status = query_body(map, &others[i], i, limit, i == first);
        if (!status && count > 1)
            status = abuti_progress(map->context, "map", (i + 1.0) / count);
    }
    map->results_on_host = false;
    return status;
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
    abuti_release(map->context, order);
    if (status)
        abut_bvh_destroy(own);
    else
        d->own = own;
    return status;
}

static abut_status compute_self_distances(abut_map *map, double limit) {
    struct map_device *d = map->device;
    map_part *part;
    abut_status status = refit_own_bvh(map);
    if (status)
        return status;
    bvh_on_device *there = d->own->there;
    const abuti_posed posed = {d->own, {{0, 0, 0, 0}, {0, 0, 0}}};
    const mesh_frame frame = frame_of(there);
    const map_query query = make_query(map, &posed, 0, limit, true);
    status = abuti_on_device_attachment(there, &map_kind, (bvh_attachment **)&part);
    status = status ? status : upload_positions(map, there);
    if (status)
        return status;
    ABUTI_KIT_RUN(&part->kit, FIND_APART, map->sample_count, MAP_GROUP, TREE(there, nodes),
                  TREE(there, triangles), TREE(there, order), TREE(there, corners),
                  ABUTI_VALUE(frame), MAP(POSITIONS), MAP(INDICES), MAP(PLACES), MAP(OWNER),
                  MAP(TEXEL), ABUTI_VALUE(query), MAP(PARTS), MAP(OWNER_PARTS), MAP(FOUND));
    ABUTI_KIT_RUN(&part->kit, STORE_RESULTS, map->sample_count, MAP_GROUP, MAP(FOUND),
                  ABUTI_VALUE(query), MAP(SIDE), ABUTI_BUFFER(&there->tree.nodes), MAP(RESULTS));
    status = abuti_kit_finish(&part->kit);
    d->warm = status ? NULL : there;
    map->results_on_host = false;
    return status;
}

/* ---- results ---- */

static abut_status download_results(const abut_map *map) {
    return abuti_kit_download(&map->device->kit, RESULTS, map->results, map->sample_count,
                              sizeof(map_result));
}

static abut_status download_tallies(const abut_map *map, double within, map_block *blocks,
                                    abut_map_texel extremes[2]) {
    struct map_device *d = map->device;
    const uint32_t count = map->mesh->triangle_count, block_count = (uint32_t)map_block_count(map);
    const size_t bytes = ((size_t)block_count + EXTREME_BLOCKS) * sizeof *blocks;
    ABUTI_KIT_GROUPS(&d->kit, TALLY, count, MAP_LANES, MAP(POSITIONS), MAP(INDICES), MAP(PLACES),
                     MAP(OWNER), MAP(FIRST), ABUTI_VALUE(within), MAP(RESULTS), MAP(TALLIES),
                     ABUTI_LOCAL_MEMORY(MAP_LANES * sizeof(map_tally)));
    ABUTI_KIT_GROUPS(&d->kit, BLOCK, block_count, MAP_LANES, MAP(TALLIES), MAP(FIRST),
                     ABUTI_VALUE(count), MAP(BLOCKS),
                     ABUTI_LOCAL_MEMORY(MAP_LANES * sizeof(map_block)));
    ABUTI_KIT_RUN(&d->kit, EXTREMES, 2, 2, MAP(BLOCKS), ABUTI_VALUE(block_count), MAP(RESULTS));
    if (!d->down.at)
        abuti_kit_fail(&d->kit, abuti_staging_create(&d->queue, bytes, 1, &d->down));
    if (!abuti_kit_failed(&d->kit))
        abuti_kit_receive(&d->kit, BLOCKS, 0, d->down.at, bytes, 1);
    abut_status status = abuti_kit_finish(&d->kit);
    if (status)
        return status;
    memcpy(blocks, d->down.at, block_count * sizeof *blocks);
    memcpy(extremes, (const unsigned char *)d->down.at + block_count * sizeof *blocks,
           2 * sizeof *extremes);
    return ABUT_OK;
}

const map_backend abuti_map_on_device = {create_device_map, destroy_device_map,
                                         compute_distances, compute_self_distances,
                                         download_results,  download_tallies};
