/* Layers on a device: uploads when solids change and for each query, and six launches.
 *
 * Vertices and triangles of each mesh are stored once, followed by those of solids with their own
 * positions. Each query uploads poses, views and changed positions. Sums of pairs are downloaded,
 * partly added up, and the host adds the rest. Rays that are too long for the device (see
 * layers_rays.cl) are traced by the host, from the same fragments.
 */
#include "layers/layers.h"

#include "device/kit.h"

#include <string.h>

enum { PROJECT, WINDOWS, TRIANGLES, LARGE, RAYS, GATHER, CLEAR, KERNELS };
enum {
    VIEWS,
    BODIES,
    GROUP_MASKS,
    MOTIONS,
    VERTICES,
    INDICES,
    CHUNKS,
    PROJECTIONS,
    TILES,
    NODES,
    HEADS,
    FRAGMENTS,
    LARGES,
    TABLE,
    USED,
    SUMS,
    TOUCHES,
    LONGS,
    CROSSINGS,
    COUNTS,
    BUFFERS
};

static const abuti_kernel_source sources[KERNELS] = {
    [PROJECT] = {"layers_draw", "layers_project", NULL},
    [WINDOWS] = {"layers_draw", "layers_windows", NULL},
    [TRIANGLES] = {"layers_draw", "layers_triangles", NULL},
    [LARGE] = {"layers_draw", "layers_large_parts", NULL},
    [RAYS] = {"layers_rays", "layers_rays", NULL},
    [GATHER] = {"layers_rays", "layers_gather", NULL},
    [CLEAR] = {"layers_rays", "layers_clear", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

struct layers_device {
    abuti_queue queue;
    abuti_staging up, down; /* for poses and positions, and for sums */
    abuti_kit kit;
    abuti_kit_list lists[LAYERS_LISTS]; /* by counter */
    bool has_solids;
    uint64_t changes;                      /* version of the solids on the device */
    abuti_vector bodies, position_changes; /* layers_body, uint64_t */
    abuti_vector first_own; /* uint32_t: offset of own positions, or LAYERS_NOTHING */
    uint32_t chunk_count;
    uint32_t slots; /* table slots per view */
    abuti_vector view_list, longs, crossings, ray;
};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)
#define PIXELS_MAX ((uint64_t)1 << 28)
enum { SLOTS_INITIAL = 1024 };

/* ---- create ---- */

static abut_status create_device_layers(abut_layers *layers) {
    abut_device *device = layers->options.device;
    abut_status status = abuti_device_check_bits("abut_layers_create", device);
    if (status)
        return status;
    layers_device *d = layers->device = abuti_allocate_zeroed(layers->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    status = abuti_queue_open(device, &d->queue);
    if (status || (status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit)))
        return status;
    static const struct {
        uint32_t buffer;
        size_t bytes;
        const char *what;
    } lists[LAYERS_LISTS] = {[LAYERS_COUNT_NODES] = {NODES, sizeof(layers_node), "tiles"},
                             [LAYERS_COUNT_FRAGMENTS] = {FRAGMENTS, 16, "fragments"},
                             [LAYERS_COUNT_LARGE] = {LARGES, sizeof(layers_large), "triangles"},
                             [LAYERS_COUNT_SUMS] = {SUMS, sizeof(layers_sum), "pairs"},

                             [LAYERS_COUNT_TOUCHES] = {TOUCHES, sizeof(layers_touch), "hits"},
                             [LAYERS_COUNT_LONG] = {LONGS, sizeof(layers_long), "rays"},
                             [LAYERS_COUNT_CROSSINGS] = {CROSSINGS, sizeof(layers_crossing),
                                                         "crossings"}};
    for (uint32_t i = 0; i < LAYERS_LISTS; i++)
        d->lists[i] = (abuti_kit_list){.buffer = lists[i].buffer,
                                       .element_bytes = lists[i].bytes,
                                       .what = lists[i].what};
    abuti_kit_build(&d->kit);
    return abuti_queue_report(&d->queue);
}

static void destroy_device_layers(abut_layers *layers) {
    layers_device *d = layers->device;
    if (!d)
        return;
    ABUTI_RELEASE(layers->context, d->bodies.data, d->position_changes.data, d->first_own.data,
                  d->view_list.data, d->longs.data, d->crossings.data, d->ray.data);
    abuti_kit_close(&d->kit);
    abuti_staging_destroy(&d->queue, &d->up);
    abuti_staging_destroy(&d->queue, &d->down);
    abuti_queue_close(&d->queue);
    abuti_release(layers->context, d);
    layers->device = NULL;
}

/* ---- solids ---- */

static layers_body make_body(const abut_layers *layers, const layers_solid *solid) {
    if (!solid->used)
        return (layers_body){0};
    const layers_mesh *mesh = layers_mesh_of(layers, solid);
    return (layers_body){.box = solid->hull.box,
                         .centre = solid->hull.centre,
                         .radius = solid->hull.radius,
                         .origin = mesh->mesh->origin,
                         .group = solid->is.group,
                         .mask = solid->is.mask,
                         .used = 1,
                         .inward = mesh->inward,
                         .triangle_count = mesh->mesh->triangle_count};
}

/* Offsets of the vertices and triangles of meshes. */
typedef struct mesh_offsets {
    uint64_t vertices, triangles, chunks;
    uint32_t *vertex, *triangle; /* of each mesh */
} mesh_offsets;

static abut_status compute_offsets(abut_layers *layers, mesh_offsets *p) {
    layers_device *d = layers->device;
    const layers_mesh *meshes = layers->meshes.data;
    for (size_t m = 0; m < layers->meshes.count; m++)
        if (meshes[m].users) {
            p->vertex[m] = (uint32_t)p->vertices;
            p->triangle[m] = (uint32_t)p->triangles;
            p->vertices += meshes[m].mesh->vertex_count;
            p->triangles += meshes[m].mesh->triangle_count;
        }
    layers_body *bodies = d->bodies.data;
    uint32_t *own = d->first_own.data;
    for (size_t i = 0; i < layers->solids.count; i++) {
        const layers_solid *solid = &layers_solids(layers)[i];
        bodies[i] = make_body(layers, solid);
        own[i] = LAYERS_NOTHING;
        ((uint64_t *)d->position_changes.data)[i] = solid->position_changes;
        if (!solid->used)
            continue;
        bodies[i].first_vertex = p->vertex[solid->mesh];
        bodies[i].first_triangle = p->triangle[solid->mesh];
        if (solid->positions) {
            own[i] = bodies[i].first_vertex = (uint32_t)p->vertices;
            p->vertices += layers_mesh_of(layers, solid)->mesh->vertex_count;
        }
        p->chunks += abuti_chunk_count(bodies[i].triangle_count, LAYERS_CHUNK);
    }
    if (p->vertices > UINT32_MAX / 2 || p->triangles > UINT32_MAX / 8 || p->chunks > UINT32_MAX / 8)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_layers: the items have too many vertices or triangles for 32-bit "
                          "indices on the device; use fewer items, or no device");
    return ABUT_OK;
}

static abut_status upload_solids(abut_layers *layers, const mesh_offsets *p) {
    layers_device *d = layers->device;
    const layers_mesh *meshes = layers->meshes.data;
    size_t solids = layers->solids.count;
    uint32_t(*chunks)[2] = abuti_allocate(layers->context, p->chunks, sizeof *chunks);
    uint32_t(*group_masks)[2] = abuti_allocate(layers->context, solids, sizeof *group_masks);
    if (!chunks || !group_masks) {
        ABUTI_RELEASE(layers->context, chunks, group_masks);
        return ABUT_ERROR_MEMORY;
    }
    abuti_kit_reserve(&d->kit, VERTICES, p->vertices, sizeof(vec3));
    abuti_kit_reserve(&d->kit, INDICES, p->triangles, 3 * sizeof(uint32_t));
    for (size_t m = 0; m < layers->meshes.count; m++)
        if (meshes[m].users) {
            const abut_mesh *mesh = meshes[m].mesh;
            abuti_kit_write(&d->kit, VERTICES, p->vertex[m], mesh->positions, mesh->vertex_count,
                            sizeof(vec3));
            abuti_kit_write(&d->kit, INDICES, p->triangle[m], mesh->indices, mesh->triangle_count,
                            3 * sizeof(uint32_t));
        }
    const layers_body *bodies = d->bodies.data;
    d->chunk_count = 0;
    for (size_t i = 0; i < solids; i++) {
        const layers_solid *solid = &layers_solids(layers)[i];
        group_masks[i][0] = bodies[i].group;
        group_masks[i][1] = bodies[i].mask;
        for (uint32_t t = 0; t < bodies[i].triangle_count; t += LAYERS_CHUNK) {
            chunks[d->chunk_count][0] = (uint32_t)i;
            chunks[d->chunk_count++][1] = t;
        }
        if (solid->used && solid->positions)
            abuti_kit_write(&d->kit, VERTICES, bodies[i].first_vertex, solid->positions,
                            layers_mesh_of(layers, solid)->mesh->vertex_count, sizeof(vec3));
    }
    abuti_kit_upload(&d->kit, CHUNKS, chunks, d->chunk_count, sizeof *chunks);
    abuti_kit_upload(&d->kit, BODIES, bodies, solids, sizeof *bodies);
    abuti_kit_upload(&d->kit, GROUP_MASKS, group_masks, solids, sizeof *group_masks);
    abut_status status = abuti_kit_finish(&d->kit);
    ABUTI_RELEASE(layers->context, chunks, group_masks);
    return status;
}

static abut_status rebuild_solids(abut_layers *layers) {
    layers_device *d = layers->device;
    size_t solids = layers->solids.count, meshes = layers->meshes.count;
    mesh_offsets p = {.vertex = abuti_allocate(layers->context, meshes, sizeof *p.vertex),
                      .triangle = abuti_allocate(layers->context, meshes, sizeof *p.triangle)};
    abut_status status = p.vertex && p.triangle ? ABUT_OK : ABUT_ERROR_MEMORY;
    d->has_solids = false;
    if (!status)
        status = abuti_layers_resize(layers, &d->bodies, solids, sizeof(layers_body));
    if (!status)
        status = abuti_layers_resize(layers, &d->position_changes, solids, sizeof(uint64_t));
    if (!status)
        status = abuti_layers_resize(layers, &d->first_own, solids, sizeof(uint32_t));
    if (!status)
        status = compute_offsets(layers, &p);
    if (!status)
        status = upload_solids(layers, &p);
    ABUTI_RELEASE(layers->context, p.vertex, p.triangle);
    d->has_solids = !status;
    d->changes = layers->changes;
    return status;
}

/* Whether all solids with their own positions have memory for them on the device. */
static bool has_memory_for_positions(const abut_layers *layers) {
    const layers_device *d = layers->device;
    if (!d->has_solids || d->changes != layers->changes)
        return false;
    for (size_t i = 0; i < layers->solids.count; i++) {
        const layers_solid *solid = &layers_solids(layers)[i];
        bool own = ((const uint32_t *)d->first_own.data)[i] != LAYERS_NOTHING;
        if (solid->used && own != (solid->positions != NULL))
            return false;
    }
    return true;
}

/* Ensures that a staging buffer has at least `bytes` bytes. */
static abut_status reserve_staging(layers_device *d, abuti_staging *staging, size_t bytes) {
    if (staging->at && staging->bytes >= bytes)
        return ABUT_OK;
    abuti_staging_destroy(&d->queue, staging);
    return abuti_staging_create(&d->queue, bytes + bytes / 4 + 1024, 1, staging);
}

static bool has_new_positions(const abut_layers *layers, size_t i) {
    const layers_solid *solid = &layers_solids(layers)[i];
    return solid->used &&
           ((const uint64_t *)layers->device->position_changes.data)[i] != solid->position_changes;
}

/* Uploads changed positions and bodies, and all poses. */
static abut_status upload_changes(abut_layers *layers) {
    layers_device *d = layers->device;
    size_t solids = layers->solids.count, vertices = 0;
    abut_status status = has_memory_for_positions(layers) ? ABUT_OK : rebuild_solids(layers);
    for (size_t i = 0; i < solids && !status; i++)
        vertices += has_new_positions(layers, i)
                        ? layers_mesh_of(layers, &layers_solids(layers)[i])->mesh->vertex_count
                        : 0;
    if (!status)
        status =
            reserve_staging(d, &d->up, solids * sizeof(raster_motion) + vertices * sizeof(vec3));
    if (status)
        return status;
    raster_motion *motions = d->up.at;
    vec3 *positions = (vec3 *)(void *)(motions + solids);
    layers_body *bodies = d->bodies.data;
    for (size_t i = 0; i < solids; i++) {
        const layers_solid *solid = &layers_solids(layers)[i];
        motions[i] = solid->motion;
        if (!has_new_positions(layers, i))
            continue;
        size_t count = layers_mesh_of(layers, solid)->mesh->vertex_count;
        uint32_t first = bodies[i].first_vertex, triangle = bodies[i].first_triangle;
        bodies[i] = make_body(layers, solid);
        bodies[i].first_vertex = first;
        bodies[i].first_triangle = triangle;
        memcpy(positions, solid->positions, count * sizeof *positions);
        abuti_kit_send(&d->kit, VERTICES, first, positions, count, sizeof(vec3));
        abuti_kit_send(&d->kit, BODIES, i, &bodies[i], 1, sizeof *bodies);
        ((uint64_t *)d->position_changes.data)[i] = solid->position_changes;
        positions += count;
    }
    abuti_kit_reserve(&d->kit, MOTIONS, solids, sizeof *motions);
    abuti_kit_send(&d->kit, MOTIONS, 0, motions, solids, sizeof *motions);
    return ABUT_OK;
}

/* ---- launches ---- */

/* Prepares all views, and counts their tiles and pixels. Returns false if they exceed the limit of
 * a device. */
static bool prepare_views(const abut_layers *layers, const layers_pass *passes, uint32_t count,
                          uint32_t *tiles, uint32_t *pixels) {
    layers_listed_view *view_list = layers->device->view_list.data;
    uint64_t all_tiles = 0, all_pixels = 0;
    for (uint32_t v = 0; v < count; v++) {
        const layers_view *view = &passes[v].view;
        view_list[v] = (layers_listed_view){.view = *view,
                                            .first_tile = (uint32_t)all_tiles,
                                            .first_pixel = (uint32_t)all_pixels};
        all_tiles += (uint64_t)view->columns * view->rows;
        all_pixels += (uint64_t)view->camera.lens.width * view->camera.lens.height;
        if (all_pixels > PIXELS_MAX || all_tiles > PIXELS_MAX)
            return false;
    }
    *tiles = (uint32_t)all_tiles;
    *pixels = (uint32_t)all_pixels;
    return true;
}

static void launch_kernels(abut_layers *layers, uint32_t views, uint32_t tiles, uint32_t wanted) {
    layers_device *d = layers->device;
    const uint32_t solids = (uint32_t)layers->solids.count;
    uint32_t room[LAYERS_LISTS];
    for (uint32_t i = 0; i < LAYERS_LISTS; i++)
        room[i] = d->lists[i].room;
    const size_t groups = 8 * (size_t)d->queue.device->info.compute_units;
    const size_t chunks = (size_t)views * d->chunk_count;
    abuti_kit_fill(&d->kit, TILES, LAYERS_NOTHING, tiles * sizeof(uint32_t));
    abuti_kit_fill(&d->kit, COUNTS, 0, LAYERS_COUNTS * sizeof(uint32_t));
    ABUTI_KIT_GROUPS(&d->kit, PROJECT, (size_t)views * solids, LAYERS_PROJECT_ITEMS, MEMORY(VIEWS),
                     MEMORY(BODIES), MEMORY(MOTIONS), ABUTI_VALUE(solids), MEMORY(PROJECTIONS),
                     MEMORY(TILES), MEMORY(NODES), ABUTI_VALUE(room[LAYERS_COUNT_NODES]),
                     MEMORY(COUNTS));
    ABUTI_KIT_GROUPS(&d->kit, WINDOWS, tiles, LAYERS_ITEMS, MEMORY(VIEWS), ABUTI_VALUE(views),
                     MEMORY(BODIES), ABUTI_VALUE(solids), MEMORY(PROJECTIONS), MEMORY(TILES),
                     MEMORY(NODES), ABUTI_VALUE(wanted),
                     ABUTI_LOCAL_MEMORY(LAYERS_ITEMS * LAYERS_NEAR_BYTES),
                     ABUTI_LOCAL_MEMORY(sizeof(uint32_t)));
    ABUTI_KIT_GROUPS(&d->kit, TRIANGLES, chunks, LAYERS_CHUNK, MEMORY(VIEWS), MEMORY(BODIES),
                     ABUTI_VALUE(solids), MEMORY(VERTICES), MEMORY(INDICES), MEMORY(CHUNKS),
                     ABUTI_VALUE(d->chunk_count), MEMORY(PROJECTIONS), MEMORY(NODES), MEMORY(HEADS),
                     MEMORY(FRAGMENTS), ABUTI_VALUE(room[LAYERS_COUNT_FRAGMENTS]), MEMORY(LARGES),
                     ABUTI_VALUE(room[LAYERS_COUNT_LARGE]), MEMORY(COUNTS), ABUTI_VALUE(wanted),
                     ABUTI_LOCAL_MEMORY(2 * sizeof(uint32_t)));
    ABUTI_KIT_GROUPS(&d->kit, LARGE, groups, LAYERS_ITEMS, MEMORY(VIEWS), ABUTI_VALUE(solids),
                     MEMORY(PROJECTIONS), MEMORY(NODES), MEMORY(LARGES),
                     ABUTI_VALUE(room[LAYERS_COUNT_LARGE]), MEMORY(HEADS), MEMORY(FRAGMENTS),
                     ABUTI_VALUE(room[LAYERS_COUNT_FRAGMENTS]), MEMORY(COUNTS),
                     ABUTI_LOCAL_MEMORY(2 * sizeof(uint32_t)));
    ABUTI_KIT_GROUPS(&d->kit, RAYS, (size_t)LAYERS_STRIPS * tiles, LAYERS_RAYS, MEMORY(VIEWS),
                     ABUTI_VALUE(views), MEMORY(GROUP_MASKS), MEMORY(TILES), MEMORY(HEADS),
                     MEMORY(FRAGMENTS), MEMORY(TABLE), ABUTI_VALUE(d->slots), MEMORY(USED),
                     ABUTI_VALUE(room[LAYERS_COUNT_SUMS]), MEMORY(TOUCHES),
                     ABUTI_VALUE(room[LAYERS_COUNT_TOUCHES]), MEMORY(LONGS),
                     ABUTI_VALUE(room[LAYERS_COUNT_LONG]), MEMORY(CROSSINGS),
                     ABUTI_VALUE(room[LAYERS_COUNT_CROSSINGS]), MEMORY(COUNTS), ABUTI_VALUE(wanted),
                     ABUTI_LOCAL_MEMORY(LAYERS_PIECES * sizeof(layers_piece)),
                     ABUTI_LOCAL_MEMORY(LAYERS_OWNERS * sizeof(layers_sum)),
                     ABUTI_LOCAL_MEMORY(LAYERS_FIRSTS * sizeof(uint32_t)),
                     ABUTI_LOCAL_MEMORY(LAYERS_PIECES * sizeof(uint16_t)),
                     ABUTI_LOCAL_MEMORY((2 + LAYERS_OWNERS) * sizeof(uint32_t)));
    ABUTI_KIT_GROUPS(&d->kit, GATHER, groups, LAYERS_ITEMS, MEMORY(TABLE), ABUTI_VALUE(d->slots),
                     MEMORY(USED), ABUTI_VALUE(room[LAYERS_COUNT_SUMS]), MEMORY(SUMS),
                     MEMORY(COUNTS));
}

/* Clears the buffers that ray kernels expect to be empty. */
static void clear_buffers(abut_layers *layers, uint32_t views, uint32_t pixels) {
    layers_device *d = layers->device;
    const uint32_t slots = views * d->slots;
    abuti_kit_reserve(&d->kit, HEADS, pixels, sizeof(uint32_t));
    abuti_kit_fill(&d->kit, HEADS, LAYERS_NOTHING, pixels * sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, TABLE, slots, sizeof(layers_sum));
    ABUTI_KIT_RUN(&d->kit, CLEAR, slots, LAYERS_ITEMS, MEMORY(TABLE), ABUTI_VALUE(slots));
    abuti_kit_reserve(&d->kit, USED, d->lists[LAYERS_COUNT_SUMS].room, sizeof(uint32_t));
}

/* Launches all kernels; repeats until all lists were long enough. */
static abut_status launch_until_complete(abut_layers *layers, uint32_t views, uint32_t tiles,
                                         uint32_t pixels, uint32_t wanted,
                                         uint32_t counts[LAYERS_COUNTS]) {
    layers_device *d = layers->device;
    const size_t first[LAYERS_LISTS] = {[LAYERS_COUNT_NODES] = 4 * layers->solids.count + tiles,
                                        [LAYERS_COUNT_FRAGMENTS] = 1 << 20,
                                        [LAYERS_COUNT_LARGE] = 1 << 12,
                                        [LAYERS_COUNT_SUMS] = 1 << 10,
                                        [LAYERS_COUNT_TOUCHES] = 1 << 10,
                                        [LAYERS_COUNT_LONG] = 1 << 8,
                                        [LAYERS_COUNT_CROSSINGS] = 1 << 14};
    for (uint32_t i = 0; i < LAYERS_LISTS; i++)
        if (!d->lists[i].room)
            abuti_kit_grow(&d->kit, &d->lists[i], first[i]);
    d->slots = d->slots ? d->slots : SLOTS_INITIAL;
    abuti_kit_reserve(&d->kit, VIEWS, views, sizeof(layers_listed_view));
    abuti_kit_send(&d->kit, VIEWS, 0, d->view_list.data, views, sizeof(layers_listed_view));
    abuti_kit_reserve(&d->kit, PROJECTIONS, (size_t)views * layers->solids.count,
                      sizeof(layers_projection));
    abuti_kit_reserve(&d->kit, TILES, tiles, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, COUNTS, LAYERS_COUNTS, sizeof(uint32_t));
    bool again;
    do {
        clear_buffers(layers, views, pixels);
        launch_kernels(layers, views, tiles, wanted);
        abut_status status =
            abuti_kit_download(&d->kit, COUNTS, counts, LAYERS_COUNTS, sizeof *counts);
        if (status)
            return status;
        again = counts[LAYERS_COUNT_LOST] > 0;
        if (again)
            d->slots *= 4;
        for (uint32_t i = 0; i < LAYERS_LISTS; i++)
            again = abuti_kit_grow(&d->kit, &d->lists[i], counts[i]) || again;
    } while (again && !abuti_kit_failed(&d->kit));
    return abuti_queue_report(&d->queue);
}

/* ---- results ---- */

/* Traces the rays that the device left to the host. Their sums are added to the first chunk. */
static abut_status trace_long_rays(abut_layers *layers, layers_pass *passes, uint32_t count,
                                   uint32_t view) {
    layers_device *d = layers->device;
    const layers_listed_view *view_list = d->view_list.data;
    const layers_long *longs = d->longs.data;
    layers_chunk *chunk = &layers->chunks[0];
    uint32_t begin = view_list[view].first_pixel, width = passes[view].view.camera.lens.width;
    uint32_t end = view + 1 < count ? view_list[view + 1].first_pixel : UINT32_MAX;
    chunk->touches.count = 0;
    abuti_layers_table_clear(&chunk->table);
    chunk->status = ABUT_OK;
    for (size_t i = 0; i < d->longs.count && !chunk->status; i++) {
        if (longs[i].pixel < begin || longs[i].pixel >= end)
            continue;
        const layers_crossing *crossings =
            (const layers_crossing *)d->crossings.data + longs[i].first;
        if ((chunk->status =
                 abuti_layers_resize(layers, &d->ray, longs[i].count, sizeof(layers_fragment))))
            break;
        layers_fragment *ray = d->ray.data;
        for (uint32_t k = 0; k < longs[i].count; k++)
            ray[k] = (layers_fragment){.key = layers_key(crossings[k].depth, crossings[k].owner),
                                       .part = crossings[k].part};
        uint32_t at = longs[i].pixel - begin;
        abuti_layers_trace_ray(&passes[view], chunk, at % width, at / width, ray, d->ray.count);
    }
    return chunk->status;
}

/* Downloads the results. */
static abut_status download_results(abut_layers *layers, const uint32_t counts[LAYERS_COUNTS],
                                    layers_output *to) {
    layers_device *d = layers->device;
    const struct {
        uint32_t count, buffer;
        abuti_vector *to;
        size_t bytes;
    } lists[] = {{counts[LAYERS_COUNT_TOUCHES], TOUCHES, &to->touches, sizeof(layers_touch)},
                 {counts[LAYERS_COUNT_LONG], LONGS, &d->longs, sizeof(layers_long)},
                 {counts[LAYERS_COUNT_CROSSINGS], CROSSINGS, &d->crossings,
                  sizeof(layers_crossing)}};
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !status; i++) {
        status = abuti_layers_resize(layers, lists[i].to, lists[i].count, lists[i].bytes);
        if (!status && lists[i].count)
            status = abuti_kit_download(&d->kit, lists[i].buffer, lists[i].to->data, lists[i].count,
                                        lists[i].bytes);
    }
    const uint32_t sums = counts[LAYERS_COUNT_SUMS];
    if (!status)
        status = reserve_staging(d, &d->down, (size_t)sums * sizeof(layers_sum));
    if (status || !sums)
        return status;
    abuti_kit_receive(&d->kit, SUMS, 0, d->down.at, sums, sizeof(layers_sum));
    to->sums = d->down.at;
    to->sum_count = sums;
    return abuti_kit_finish(&d->kit);
}

/* Adds the rays that the device left to the host. */
static abut_status add_long_rays(abut_layers *layers, layers_pass *passes, uint32_t count,
                                 layers_output *to) {
    abut_status status = ABUT_OK;
    for (size_t c = 0; c < LAYERS_CHUNKS; c++) {
        abuti_layers_table_clear(&layers->chunks[c].table);
        layers->chunks[c].touches.count = 0;
    }
    for (uint32_t v = 0; v < count && !status; v++) {
        status = trace_long_rays(layers, passes, count, v);
        if (!status)
            status = abuti_layers_collect(layers, v, to);
    }
    return status;
}

static abut_status run_on_device(abut_layers *layers, layers_pass *passes, uint32_t count,
                                 layers_output *output) {
    layers_device *d = layers->device;
    uint32_t tiles, pixels, counts[LAYERS_COUNTS];
    if (!layers->solids.count)
        return ABUT_OK;
    abut_status status =
        abuti_layers_resize(layers, &d->view_list, count, sizeof(layers_listed_view));
    if (status)
        return status;
    if (!prepare_views(layers, passes, count, &tiles,
                       &pixels)) /* processes the view tile by tile on the CPU instead */
        return abuti_layers_on_cpu.run(layers, passes, count, output);
    const layers_pass *p = &passes[0];
    uint32_t wanted = (p->every_pixel ? LAYERS_EVERY_PIXEL : 0) | (p->edges ? LAYERS_EDGES : 0) |
                      (p->hits ? LAYERS_HITS : 0) | (p->own ? LAYERS_OWN : 0);
    if ((status = upload_changes(layers))) {
        abuti_queue_report(&d->queue);
        return status;
    }
    status = launch_until_complete(layers, count, tiles, pixels, wanted, counts);
    if (!status)
        status = download_results(layers, counts, output);
    if (!status && d->longs.count)
        status = add_long_rays(layers, passes, count, output);
    passes[0].fragments = status ? 0 : counts[LAYERS_COUNT_FRAGMENTS];
    return status;
}

const layers_backend abuti_layers_on_device = {.create = create_device_layers,
                                               .destroy = destroy_device_layers,
                                               .run = run_on_device};
