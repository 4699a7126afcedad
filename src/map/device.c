/* Maps on a device: the host's side of map_find.cl.
 *
 * What belongs to the atlas goes there once, positions with each query; calls wait for what they
 * queue. A body on the same device
 * is asked there; its kernels run on its own queue, for which they were built. Its signs are those
 * of abut_sign_inside_batch(), for the samples that map_sides picks. If some body is elsewhere, or
 * has a border or pseudo-normals for its signs, the host answers the query.
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
    ANSWERS,
    FOUND,
    ASKED,
    QUESTIONS,
    SIDE,
    INSIDE,
    TALLIES,
    BLOCKS,
    PARTS,       /* of places in the own tree */
    OWNER_PARTS, /* of triangles */
    BUFFERS
};
enum { EXTREME_ROOM = 1 }; /* blocks, for two answers */
enum { FIND, FIND_APART, SIDES, KEEP, TALLY, BLOCK, EXTREMES, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {
    [FIND] = {"map_find", "map_find", NULL},
    [FIND_APART] = {"map_find", "map_find_apart", NULL},
    [SIDES] = {"map_find", "map_sides", NULL},
    [KEEP] = {"map_find", "map_keep", NULL},
    [TALLY] = {"map_find", "map_tallies", NULL},
    [BLOCK] = {"map_find", "map_blocks", NULL},
    [EXTREMES] = {"map_find", "map_extremes", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

_Static_assert(2 * sizeof(map_answer) <= EXTREME_ROOM * sizeof(map_block), "two answers");

struct map_device {
    abuti_queue queue;
    abuti_kit kit;      /* has the buffers; of its kernels the tally alone */
    abut_bvh *own;      /* hierarchy of the surface, made when parts are first asked for */
    const void *warm;   /* the tree that was asked last; only compared */
    abut_buffer *sides; /* that questions and their answers are in, for batches */
    abut_buffer *questions;
    abuti_staging down;    /* of tallies */
    size_t question_count; /* there is room for */
};

/* ---- kernels that belong to the tree of a body ---- */

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

static abut_status create(abut_map *map) {
    const uint32_t count = map->mesh->triangle_count;
    abut_status status = abuti_device_check_bits("abut_map_create", map->options.device);
    if (status)
        return status;
    struct map_device *d = map->device = abuti_allocate_zeroed(map->context, 1, sizeof *d);
    uint32_t *owner = abuti_allocate(map->context, map->sample_count, sizeof *owner);
    status = d && owner ? ABUT_OK : ABUT_ERROR_MEMORY;
    status = status ? status : abuti_queue_open(map->options.device, &d->queue);
    map->options.device = NULL; /* the queue holds it from now on */
    if (!status) {
        map->options.device = d->queue.device;
        status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    }
    if (!status) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t s = map->first[i]; s < map->first[i + 1]; s++)
                owner[s] = map->ranked[i];
        abuti_kit_put(&d->kit, INDICES, map->mesh->indices, 3 * (size_t)count, 4);
        abuti_kit_put(&d->kit, PLACES, map->atlas.places, count, sizeof *map->atlas.places);
        abuti_kit_put(&d->kit, OWNER, owner, map->sample_count, 4);
        abuti_kit_put(&d->kit, TEXEL, map->texel, map->sample_count, 4);
        abuti_kit_put(&d->kit, FIRST, map->first, (size_t)count + 1, 4);
        abuti_kit_reserve(&d->kit, ANSWERS, map->sample_count, sizeof(map_answer));
        abuti_kit_reserve(&d->kit, FOUND, map->sample_count, sizeof(map_found));
        abuti_kit_reserve(&d->kit, TALLIES, count, sizeof(map_tally));
        abuti_kit_reserve(&d->kit, BLOCKS, map_block_count(map) + EXTREME_ROOM, sizeof(map_block));
        abuti_kit_reserve(&d->kit, ASKED, 1, 4);
        abuti_kit_reserve(&d->kit, SIDE, map->sample_count, 4);
        status = abuti_kit_finish(&d->kit);
    }
    abuti_release(map->context, owner);
    return status;
}

static void destroy(abut_map *map) {
    struct map_device *d = map->device;
    if (!d)
        return;
    abut_bvh_destroy(d->own);
    abut_buffer_destroy(d->questions);
    abut_buffer_destroy(d->sides);
    abuti_kit_close(&d->kit);
    abuti_staging_destroy(&d->queue, &d->down);
    abuti_queue_close(&d->queue);
    abuti_release(map->context, d);
    map->device = NULL;
}

/* ---- a query ---- */

/* Whether a body can be asked there. */
static bool is_there(const abut_map *map, const abut_bvh *bvh) {
    if (!bvh->there || bvh->there->queue.device != map->device->queue.device ||
        !on_device_has_doubles(bvh->there))
        return false;
    const struct bvh_sign *sign = bvh_sign_of(bvh);
    return !sign || (sign->closed && sign->method == ABUT_SIGN_WINDING);
}

static map_asking asking_of(const abut_map *map, const abut_posed *posed, uint32_t other,
                            double limit, bool first) {
    const bvh_on_device *there = posed->bvh->there;
    const abut_mesh *mesh = there->tree.mesh;
    const map_motion motion = abuti_map_motion(&posed->pose);
    map_asking asking = {.origin = map->mesh->origin,
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
    asking.limit = (float)real_min(limit * there->tree.scale, 4 * NEAREST_FAR) * NEAREST_SLACK;
    vec3 lo = v3_scale(v3_sub(mesh->bounds.lo, mesh->origin), there->tree.scale),
         hi = v3_scale(v3_sub(mesh->bounds.hi, mesh->origin), there->tree.scale);
    for (int k = 0; k < 3; k++) {
        asking.lo[k] = (float)v3_get(lo, k) - 0x1p-16f; /* more than rounding */
        asking.hi[k] = (float)v3_get(hi, k) + 0x1p-16f;
    }
    return asking;
}

#define MAP(which) ABUTI_BUFFER(&d->kit.buffers[which])

/* Room for so many questions about sides, which batches take from buffers of the API. */
static abut_status need_questions(struct map_device *d, size_t count) {
    if (count <= d->question_count)
        return ABUT_OK;
    abut_buffer_destroy(d->questions);
    abut_buffer_destroy(d->sides);
    d->questions = d->sides = NULL;
    d->question_count = 0;
    abut_status status = abut_buffer_create(d->queue.device, count * sizeof(vec3), &d->questions);
    status = status ? status : abut_buffer_create(d->queue.device, count, &d->sides);
    d->question_count = status ? 0 : count;
    return status;
}

/* Finds on which side samples are that have been picked. Waits. */
static abut_status ask_sides(abut_map *map, map_part *part, const abut_bvh *bvh,
                             const map_asking *given) {
    struct map_device *d = map->device;
    const map_asking asking = *given;
    uint32_t asked = 0;
    abut_status status = need_questions(d, map->sample_count);
    abuti_kit_fail(&part->kit, status);
    abuti_kit_put(&part->kit, ASKED, &asked, 1, sizeof asked);
    if (!status)
        ABUTI_KIT_RUN(&part->kit, SIDES, map->sample_count, MAP_GROUP, MAP(POSITIONS), MAP(INDICES),
                      MAP(PLACES), MAP(OWNER), MAP(TEXEL), ABUTI_VALUE(asking), MAP(FOUND),
                      KIT_BUFFER(&part->kit, ASKED), ABUTI_BUFFER(&d->questions->memory), MAP(SIDE),
                      ABUTI_LOCAL_MEMORY(4 * MAP_GROUP), ABUTI_LOCAL_MEMORY(4 * MAP_GROUP),
                      ABUTI_LOCAL_MEMORY(sizeof(vec3)), ABUTI_LOCAL_MEMORY(4));
    status = abuti_kit_get(&part->kit, ASKED, &asked, 1, sizeof asked);
    if (status || !asked)
        return status;
    const bvh_points points = {.type = ABUT_SCALAR_FLOAT64,
                               .stride = sizeof(vec3),
                               .count = asked,
                               .buffer = d->questions,
                               .ordered = true};
    return abuti_sign_inside_on_device("abut_map_compute_distance", bvh->there, &points,
                                       abut_array_buffer(d->sides));
}

static abut_status ask_body(abut_map *map, const abut_posed *posed, uint32_t other, double limit,
                            bool first) {
    struct map_device *d = map->device;
    bvh_on_device *there = posed->bvh->there;
    const mesh_frame frame = frame_of(there);
    const map_asking asking = asking_of(map, posed, other, limit, first);
    map_part *part;
    abut_status status = abuti_bvh_check_on_device("abut_map_compute_distance", posed->bvh);
    status =
        status ? status : abuti_on_device_attachment(there, &map_kind, (bvh_attachment **)&part);
    if (status)
        return status;
    ABUTI_KIT_RUN(&part->kit, FIND, map->sample_count, MAP_GROUP, TREE(there, nodes),
                  TREE(there, triangles), TREE(there, order), TREE(there, corners),
                  ABUTI_VALUE(frame), MAP(POSITIONS), MAP(INDICES), MAP(PLACES), MAP(OWNER),
                  MAP(TEXEL), ABUTI_VALUE(asking), MAP(ANSWERS), MAP(FOUND));
    if (asking.has_sign)
        status = ask_sides(map, part, posed->bvh, &asking);
    const abuti_buffer *sides = asking.has_sign && !status ? &d->sides->memory : &there->tree.nodes;
    if (!status)
        ABUTI_KIT_RUN(&part->kit, KEEP, map->sample_count, MAP_GROUP, MAP(FOUND),
                      ABUTI_VALUE(asking), MAP(SIDE), ABUTI_BUFFER(sides), MAP(ANSWERS));
    abuti_kit_fail(&part->kit, status);
    status = abuti_kit_finish(&part->kit);
    d->warm = status ? NULL : there;
    return status;
}

/* Positions go to the queue on which they are used first. */
static abut_status send_positions(abut_map *map, bvh_on_device *there) {
    abuti_buffer *to = &map->device->kit.buffers[POSITIONS];
    /* a mesh that has moved may have more vertices, which no triangle uses */
    abut_status status =
        abuti_buffer_reserve(map->device->queue.device, map->mesh->vertex_count, sizeof(vec3), to);
    return status ? status
                  : abuti_buffer_upload(&there->queue, to, 0, map->mesh->positions,
                                        map->mesh->vertex_count * sizeof(vec3));
}

static abut_status compute_distances(abut_map *map, const abut_posed *others, uint32_t count,
                                     double limit) {
    uint32_t first = ABUT_NONE; /* of those within the limit */
    bool all = true;
    for (uint32_t i = 0; i < count && all; i++) {
        if (first == ABUT_NONE && abuti_map_gap(map, &others[i]) <= limit)
            first = i;
        all = is_there(map, others[i].bvh);
    }
    if (!all || first == ABUT_NONE)
        return abuti_map_on_cpu.find(map, others, count, limit);
    abut_status status = abuti_bvh_check_on_device("abut_map_compute_distance", others[first].bvh);
    status = status ? status : send_positions(map, others[first].bvh->there);
    for (uint32_t i = first; i < count && !status; i++) {
        if (abuti_map_gap(map, &others[i]) > limit)
            continue;
        status = ask_body(map, &others[i], i, limit, i == first);
        if (!status && count > 1)
            status = abuti_progress(map->context, "map", (i + 1.0) / count);
    }
    map->answers_here = false;
    return status;
}

/* ---- other parts of the own surface ---- */

/* The own hierarchy as the mesh is now, and which part each of its places belongs to. */
static abut_status need_own(abut_map *map) {
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
        abuti_kit_put(&d->kit, PARTS, order, places, 4);
        abuti_kit_put(&d->kit, OWNER_PARTS, map->parts, map->mesh->triangle_count, 4);
        status = abuti_kit_finish(&d->kit);
    }
    abuti_release(map->context, order);
    if (status)
        abut_bvh_destroy(own);
    else
        d->own = own;
    return status;
}

static abut_status find_apart(abut_map *map, double limit) {
    struct map_device *d = map->device;
    map_part *part;
    abut_status status = need_own(map);
    if (status)
        return status;
    bvh_on_device *there = d->own->there;
    const abut_posed posed = {d->own, {{0, 0, 0, 0}, {0, 0, 0}}};
    const mesh_frame frame = frame_of(there);
    const map_asking asking = asking_of(map, &posed, 0, limit, true);
    status = abuti_on_device_attachment(there, &map_kind, (bvh_attachment **)&part);
    status = status ? status : send_positions(map, there);
    if (status)
        return status;
    ABUTI_KIT_RUN(&part->kit, FIND_APART, map->sample_count, MAP_GROUP, TREE(there, nodes),
                  TREE(there, triangles), TREE(there, order), TREE(there, corners),
                  ABUTI_VALUE(frame), MAP(POSITIONS), MAP(INDICES), MAP(PLACES), MAP(OWNER),
                  MAP(TEXEL), ABUTI_VALUE(asking), MAP(PARTS), MAP(OWNER_PARTS), MAP(FOUND));
    ABUTI_KIT_RUN(&part->kit, KEEP, map->sample_count, MAP_GROUP, MAP(FOUND), ABUTI_VALUE(asking),
                  MAP(SIDE), ABUTI_BUFFER(&there->tree.nodes), MAP(ANSWERS));
    status = abuti_kit_finish(&part->kit);
    d->warm = status ? NULL : there;
    map->answers_here = false;
    return status;
}

/* ---- answers ---- */

static abut_status fetch(const abut_map *map) {
    return abuti_kit_get(&map->device->kit, ANSWERS, map->answers, map->sample_count,
                         sizeof(map_answer));
}

static abut_status tally(const abut_map *map, double within, map_block *blocks,
                         abut_map_texel extremes[2]) {
    struct map_device *d = map->device;
    const uint32_t count = map->mesh->triangle_count, block_count = (uint32_t)map_block_count(map);
    const size_t bytes = ((size_t)block_count + EXTREME_ROOM) * sizeof *blocks;
    ABUTI_KIT_GROUPS(&d->kit, TALLY, count, MAP_LANES, MAP(POSITIONS), MAP(INDICES), MAP(PLACES),
                     MAP(OWNER), MAP(FIRST), ABUTI_VALUE(within), MAP(ANSWERS), MAP(TALLIES),
                     ABUTI_LOCAL_MEMORY(MAP_LANES * sizeof(map_tally)));
    ABUTI_KIT_GROUPS(&d->kit, BLOCK, block_count, MAP_LANES, MAP(TALLIES), MAP(FIRST),
                     ABUTI_VALUE(count), MAP(BLOCKS),
                     ABUTI_LOCAL_MEMORY(MAP_LANES * sizeof(map_block)));
    ABUTI_KIT_RUN(&d->kit, EXTREMES, 2, 2, MAP(BLOCKS), ABUTI_VALUE(block_count), MAP(ANSWERS));
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

const map_backend abuti_map_on_device = {create,     destroy, compute_distances,
                                         find_apart, fetch,   tally};
