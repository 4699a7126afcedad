/* Creation, items, poses and positions of layers. Input is validated on entry, so that later only
 * memory can fail. */
#include "layers/layers.h"

#include "device/array.h"
#include "device/device.h"

#include <math.h>
#include <string.h>

/* ---- create ---- */

abut_status abut_layers_create(abut_context *context, const abut_layers_options *options,
                               abut_layers **layers) {
    abut_layers_options ours = abut_layers_options_default();
    if (!layers)
        return abuti_null(__func__, "layers");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_layers_create: options");
    if (status)
        return status;
    context = abuti_context_of(context);
    abut_layers *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->options = ours;
    made->first_free = ABUT_NONE;
    made->backend = ours.device ? &abuti_layers_on_device : &abuti_layers_on_cpu;
    if ((status = made->backend->create(made))) {
        abut_layers_destroy(made);
        return status;
    }
    *layers = made;
    return ABUT_OK;
}

static void release_mesh(abut_layers *layers, layers_mesh *mesh) {
    if (--mesh->users)
        return;
    abut_bvh_destroy(mesh->bvh);
    abut_mesh_destroy(mesh->mesh);
    ABUTI_RELEASE(layers->context, mesh->cap_begin, mesh->cap);
    memset(mesh, 0, sizeof *mesh);
}

static void clear_solid(abut_layers *layers, layers_solid *solid) {
    abuti_release(layers->context, solid->positions);
    abut_bvh_destroy(solid->bvh);
    release_mesh(layers, layers_mesh_of(layers, solid));
}

void abut_layers_destroy(abut_layers *layers) {
    if (!layers)
        return;
    abut_context *context = layers->context;
    layers->backend->destroy(layers);
    for (size_t i = 0; i < layers->solids.count; i++)
        if (layers_solids(layers)[i].used)
            clear_solid(layers, &layers_solids(layers)[i]);
    ABUTI_RELEASE(context, layers->solids.data, layers->meshes.data, layers->boxes.data,
                  layers->near.data, layers->near_begin.data, layers->at.data, layers->windows.data,
                  layers->tile_begin.data, layers->tile_places.data, layers->busy.data,
                  layers->triangle_begin.data, layers->drawn.data, layers->keys.data,
                  layers->begin.data, layers->measured.data, layers->found.data);
    for (size_t c = 0; c < LAYERS_CHUNKS; c++) {
        const layers_chunk *chunk = &layers->chunks[c];
        ABUTI_RELEASE(context, chunk->corners.data, chunk->shapes.data, chunk->places.data,
                      chunk->fragments.data, chunk->sorted.data, chunk->begin.data,
                      chunk->open.data, chunk->table.sums.data, chunk->table.slots.data,
                      chunk->touches.data);
    }
    abuti_release(context, layers);
    abut_context_destroy(context);
}

/* ---- closed meshes ---- */

/* Triangle fans that close the holes of a mesh: one apex for each connected part of its boundary.
 */
typedef struct cap_work {
    uint32_t *parent, *apex;
    vec3 *positions;
    uint32_t *indices;
} cap_work;

static abut_status build_caps(abut_layers *layers, const abut_mesh *source,
                              const abuti_boundary *border, cap_work *w, layers_mesh *to) {
    uint32_t vertices = source->vertex_count, triangles = source->triangle_count;
    for (uint32_t v = 0; v < vertices; v++) {
        w->parent[v] = v;
        w->apex[v] = ABUT_NONE;
    }
    for (uint32_t i = 0; i < border->count; i++)
        abuti_join(w->parent, border->edges[i][0], border->edges[i][1]);
    for (uint32_t i = 0; i < border->count; i++) {
        uint32_t root = abuti_root(w->parent, border->edges[i][0]);
        if (w->apex[root] == ABUT_NONE)
            w->apex[root] = to->cap_count++;
    }
    abut_status status =
        ABUTI_ALLOCATE(layers->context, ABUTI_ZEROED(to->cap_begin, (size_t)to->cap_count + 2),
                       ABUTI_ARRAY(to->cap, border->count));
    if (status)
        return status;
    for (uint32_t i = 0; i < border->count; i++) /* each boundary vertex is the tail of one edge */
        to->cap_begin[w->apex[abuti_root(w->parent, border->edges[i][0])] + 2]++;
    for (uint32_t k = 0; k < to->cap_count; k++)
        to->cap_begin[k + 2] += to->cap_begin[k + 1];
    memcpy(w->indices, source->indices, 3 * (size_t)triangles * sizeof *w->indices);
    for (uint32_t i = 0; i < border->count; i++) {
        uint32_t apex = w->apex[abuti_root(w->parent, border->edges[i][0])];
        uint32_t *corner = w->indices + 3 * ((size_t)triangles + i);
        to->cap[to->cap_begin[apex + 1]++] = border->edges[i][0];
        corner[0] = border->edges[i][1];
        corner[1] = border->edges[i][0];
        corner[2] = vertices + apex;
    }
    return ABUT_OK;
}

/* Appends the apexes of caps to the positions of vertices. */
static void compute_cap_apexes(const layers_mesh *mesh, uint32_t vertices, vec3 *positions) {
    for (uint32_t k = 0; k < mesh->cap_count; k++) {
        uint32_t begin = mesh->cap_begin[k], end = mesh->cap_begin[k + 1];
        vec3 sum = v3(0, 0, 0);
        for (uint32_t i = begin; i < end; i++)
            sum = v3_along(sum, 1.0 / (end - begin), positions[mesh->cap[i]]);
        positions[vertices + k] = sum;
    }
}

static abut_status cap_holes(abut_layers *layers, const abut_mesh *source,
                             const abuti_boundary *border, layers_mesh *to) {
    abut_context *context = layers->context;
    size_t vertices = source->vertex_count, triangles = source->triangle_count;
    cap_work w = {0};
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(w.parent, vertices), ABUTI_ARRAY(w.apex, vertices),
                       ABUTI_ARRAY(w.indices, 3 * (triangles + border->count)));
    if (!status)
        status = build_caps(layers, source, border, &w, to);
    if (!status) {
        w.positions = abuti_allocate(context, vertices + to->cap_count, sizeof *w.positions);
        status = w.positions ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    if (!status) {
        for (uint32_t v = 0; v < vertices; v++)
            w.positions[v] = abuti_mesh_position(source, v);
        compute_cap_apexes(to, (uint32_t)vertices, w.positions);
        status = abuti_mesh_adopt(context, "abut_layers_add", w.positions, vertices + to->cap_count,
                                  w.indices, triangles + border->count, &to->mesh);
        w.positions = NULL;
        w.indices = NULL;
    }
    ABUTI_RELEASE(context, w.parent, w.apex, w.positions, w.indices);
    return status;
}

static abut_status close_mesh(abut_layers *layers, const abut_mesh *source,
                              const abuti_boundary *border, layers_mesh *to) {
    if (border->flipped)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_layers_add: neighbouring triangles of the "
                                               "mesh face opposite ways; orient the mesh first");
    if (!border->count) {
        to->mesh = abut_mesh_retain((abut_mesh *)(uintptr_t)source);
        to->reliability = abuti_guaranteed("The mesh is closed.");
        return ABUT_OK;
    }
    if (!layers->options.cap)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_layers_add: the mesh has %u boundary edges; close it, or set options->cap",
            border->count);
    to->reliability = abuti_limited("The mesh is open; its holes were closed by triangle fans.");
    return cap_holes(layers, source, border, to);
}

static layers_hull compute_hull(const vec3 *positions, uint32_t count, vec3 origin) {
    box3 box = box_empty();
    double most = 0; /* squares of unused distant vertices may overflow to infinity, which is still
                        a valid radius */
    for (uint32_t v = 0; v < count; v++)
        box = box_grow(box, positions[v]);
    const vec3 centre = box_centre(box);
    for (uint32_t v = 0; v < count; v++)
        most = real_max(most, v3_length_sq(v3_sub(positions[v], centre)));
    return (layers_hull){.box = {v3_add(box.lo, origin), v3_add(box.hi, origin)},
                         .centre = v3_add(centre, origin),
                         .radius = sqrt(most) * (1 + 1e-12)};
}

static abut_status prepare_mesh(abut_layers *layers, const abut_mesh *source, layers_mesh *to) {
    abut_context *context = layers->context;
    abuti_boundary border;
    abut_status status = abuti_boundary_find(source, NULL, &border);
    uint32_t *names = NULL;
    if (!status && border.count) { /* vertices with equal coordinates count as one, for seams */
        names = abuti_allocate(context, source->vertex_count, sizeof *names);
        status = names ? abuti_coincident_vertices(context, source->positions, source->vertex_count,
                                                   names)
                       : ABUT_ERROR_MEMORY;
        if (!status) {
            abuti_boundary_release(&border);
            status = abuti_boundary_find(source, names, &border);
        }
    }
    if (!status)
        status = close_mesh(layers, source, &border, to);
    abuti_boundary_release(&border);
    abuti_release(context, names);
    abuti_mass mass = {0};
    if (!status)
        status = abuti_mesh_mass(to->mesh, false, &mass);
    if (!status)
        to->hull = compute_hull(to->mesh->positions, to->mesh->vertex_count, to->mesh->origin);
    to->inward = mass.volume < 0;
    to->source = source;
    return status;
}

/* Finds or creates the mesh of an item. */
static abut_status find_or_add_mesh(abut_layers *layers, const abut_mesh *source,
                                    uint32_t *number) {
    abut_status status = abuti_vector_reserve(layers->context, &layers->meshes,
                                              layers->meshes.count + 1, sizeof(layers_mesh));
    layers_mesh *meshes = layers->meshes.data, made = {.users = 1};
    uint32_t at = (uint32_t)layers->meshes.count;
    for (uint32_t i = 0; i < layers->meshes.count && !status; i++) {
        if (meshes[i].users && meshes[i].source == source) {
            *number = i;
            meshes[i].users++;
            return ABUT_OK;
        }
        at = meshes[i].users ? at : i;
    }
    if (status || (status = prepare_mesh(layers, source, &made))) {
        release_mesh(layers, &made);
        return status;
    }
    meshes[at] = made;
    layers->meshes.count += at == layers->meshes.count;
    *number = at;
    return ABUT_OK;
}

/* ---- add, remove, set poses, set positions ---- */

abut_status abut_layers_add(abut_layers *layers, const abut_layers_item *item, uint32_t *id) {
    abut_layers_item ours = abut_layers_item_default();
    const abut_mesh *mesh = NULL;
    if (!layers || !item)
        return abuti_null(__func__, !layers ? "layers" : "item");
    abut_status status = abuti_options_read(&ours, sizeof ours, item, "abut_layers_add: item");
    if (!status)
        status =
            abuti_collider_read_mesh(__func__, "item->collider", SIZE_MAX, &ours.collider, &mesh);
    if (status || (status = abuti_pose_check(__func__, "the pose", &ours.collider.pose)))
        return status;
    uint32_t at =
        layers->first_free != ABUT_NONE ? layers->first_free : (uint32_t)layers->solids.count;
    if (at >= 1u << 30)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_layers_add: more than 2^30 items are not supported");
    status = abuti_vector_reserve(layers->context, &layers->solids, layers->solids.count + 1,
                                  sizeof(layers_solid));
    ours.group = ours.group ? ours.group : 1;
    ours.mask = ours.mask ? ours.mask : UINT32_MAX;
    ours.collider = abut_collider_from_mesh(mesh, ours.collider.pose);
    layers_solid solid = {.used = true, .next = ABUT_NONE, .is = ours};
    if (!status) {
        abut_context *before = abuti_context_enter(layers->context);
        status = find_or_add_mesh(layers, mesh, &solid.mesh);
        abuti_context_leave(before);
    }
    if (status)
        return status;
    solid.motion = raster_motion_of(&ours.collider.pose);
    solid.hull = layers_mesh_of(layers, &solid)->hull;
    if (at == layers->solids.count)
        layers->solids.count++;
    else
        layers->first_free = layers_solids(layers)[at].next;
    layers_solids(layers)[at] = solid;
    layers->changes++;
    layers->has_bounds = false;
    if (id)
        *id = at;
    return ABUT_OK;
}

static abut_status check_id(const char *function, const abut_layers *layers, uint32_t id) {
    if (id < layers->solids.count && layers_solids(layers)[id].used)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: id %u is not an item", function, id);
}

abut_status abut_layers_remove(abut_layers *layers, uint32_t id) {
    if (!layers)
        return abuti_null(__func__, "layers");
    abut_status status = check_id(__func__, layers, id);
    if (status)
        return status;
    layers_solid *solid = &layers_solids(layers)[id];
    clear_solid(layers, solid);
    *solid = (layers_solid){.next = layers->first_free};
    layers->first_free = id;
    layers->changes++;
    layers->has_bounds = false;
    return ABUT_OK;
}

static abut_status set_poses(abut_layers *layers, const uint32_t *ids, const abut_pose *list,
                             size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!ids && i > UINT32_MAX)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_layers_set_poses: count exceeds the number of items");
        abut_status status = check_id("abut_layers_set_poses", layers, ids ? ids[i] : (uint32_t)i);
        if (status || (status = abuti_pose_check("abut_layers_set_poses", "a pose", &list[i])))
            return status;
    }
    for (size_t i = 0; i < count; i++) { /* if an id occurs twice, the last pose counts */
        layers_solid *solid = &layers_solids(layers)[ids ? ids[i] : i];
        solid->is.collider.pose = list[i];
        solid->motion = raster_motion_of(&list[i]);
    }
    layers->has_bounds = false;
    return ABUT_OK;
}

/* Reads an array of `numbers` doubles per element, which may be in a buffer, in memory of the host.
 * The caller releases `copy`. */
static abut_status read_array(const abut_layers *layers, const char *function, const char *what,
                              abut_array *array, size_t count, uint32_t numbers, void **copy) {
    const size_t bytes = numbers * sizeof(double);
    abut_buffer *buffer = array->buffer;
    abut_status status =
        abuti_array_convert(function, what, layers->context, array, count, numbers, copy);
    if (status || !buffer)
        return status;
    if (!layers->options.device)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the %s are in a device buffer, but the layers have no device; set "
                          "options->device in abut_layers_create()",
                          function, what);
    status = abuti_buffer_check(buffer, function, what, layers->options.device, count, bytes);
    if (status)
        return status;
    array->host = *copy = abuti_allocate(layers->context, count, bytes);
    return *copy ? abuti_buffer_download(&buffer->queue, &buffer->memory, 0, *copy, count * bytes)
                 : ABUT_ERROR_MEMORY;
}

abut_status abut_layers_set_poses(abut_layers *layers, const uint32_t *ids, abut_array poses,
                                  size_t count) {
    if (!layers || (count && !poses.host && !poses.buffer))
        return abuti_null(__func__, layers ? "poses" : "layers");
    void *list;
    abut_status status = read_array(layers, __func__, "poses", &poses, count, POSE_NUMBERS, &list);
    if (!status)
        status = set_poses(layers, ids, poses.host, count);
    abuti_release(layers->context, list);
    return status;
}

static abut_status set_positions(abut_layers *layers, layers_solid *solid, const abut_vec3 *from) {
    const layers_mesh *kept = layers_mesh_of(layers, solid);
    const abut_mesh *mesh = kept->mesh;
    uint32_t own = mesh->vertex_count - kept->cap_count;
    box3 box = box_empty();
    for (uint32_t v = 0; from && v < own; v++) {
        if (!abuti_is_position(from[v]))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_layers_set_positions: positions[%u] is not finite or exceeds "
                              "ABUT_COORDINATE_MAX",
                              v);
        box = box_grow(box, from[v]);
    }
    abut_status status = from ? abuti_mesh_check_size("abut_layers_set_positions", box) : ABUT_OK;
    if (status)
        return status;
    if (from && !solid->positions) {
        solid->positions = abuti_allocate(layers->context, mesh->vertex_count, sizeof(vec3));
        if (!solid->positions)
            return ABUT_ERROR_MEMORY;
    }
    if (!from) {
        abuti_release(layers->context, solid->positions);
        solid->positions = NULL;
        solid->hull = kept->hull;
    } else {
        for (uint32_t v = 0; v < own; v++)
            solid->positions[v] = v3_sub(from[v], mesh->origin);
        compute_cap_apexes(kept, own, solid->positions);
        solid->hull = compute_hull(solid->positions, mesh->vertex_count, mesh->origin);
    }
    solid->position_changes++;
    abut_bvh_destroy(solid->bvh);
    solid->bvh = NULL;
    solid->self_state = LAYERS_SELF_UNKNOWN;
    layers->has_bounds = false;
    return ABUT_OK;
}

abut_status abut_layers_set_positions(abut_layers *layers, uint32_t id, abut_array positions) {
    if (!layers)
        return abuti_null(__func__, "layers");
    abut_status status = check_id(__func__, layers, id);
    if (status)
        return status;
    layers_solid *solid = &layers_solids(layers)[id];
    const layers_mesh *kept = layers_mesh_of(layers, solid);
    void *copy;
    status = read_array(layers, __func__, "positions", &positions,
                        kept->mesh->vertex_count - kept->cap_count, 3, &copy);
    if (!status)
        status = set_positions(layers, solid, positions.host);
    abuti_release(layers->context, copy);
    return status;
}

/* Creates a mesh from the own positions of a solid. */
static abut_status create_own_mesh(abut_layers *layers, const layers_solid *solid,
                                   abut_mesh **made) {
    const abut_mesh *mesh = layers_mesh_of(layers, solid)->mesh;
    size_t vertices = mesh->vertex_count, triangles = mesh->triangle_count;
    vec3 *positions;
    uint32_t *indices;
    abut_status status = ABUTI_ALLOCATE(layers->context, ABUTI_ARRAY(positions, vertices),
                                        ABUTI_ARRAY(indices, 3 * triangles));
    if (status)
        return status;
    for (size_t v = 0; v < vertices; v++)
        positions[v] = v3_add(mesh->origin, solid->positions[v]);
    memcpy(indices, mesh->indices, 3 * triangles * sizeof *indices);
    return abuti_mesh_derive(layers->context, "abut_layers_find", positions, vertices, indices,
                             triangles, made);
}

abut_status abuti_layers_bvh(abut_layers *layers, uint32_t id, const abut_bvh **bvh) {
    layers_solid *solid = &layers_solids(layers)[id];
    layers_mesh *kept = layers_mesh_of(layers, solid);
    abut_bvh **to = solid->positions ? &solid->bvh : &kept->bvh;
    abut_status status = ABUT_OK;
    if (!*to && !solid->positions)
        status = abut_bvh_create(kept->mesh, NULL, to);
    else if (!*to) {
        abut_mesh *mesh = NULL;
        status = create_own_mesh(layers, solid, &mesh);
        if (!status)
            status = abut_bvh_create(mesh, NULL, to);
        abut_mesh_destroy(mesh);
    }
    if (!status)
        *bvh = *to;
    return status;
}

abut_status abuti_layers_self_intersects(abut_layers *layers, uint32_t id, bool *cuts) {
    layers_solid *solid = &layers_solids(layers)[id];
    layers_self_state *known =
        solid->positions ? &solid->self_state : &layers_mesh_of(layers, solid)->self_state;
    const abut_bvh *bvh = NULL;
    bool any = false;
    abut_status status = *known ? ABUT_OK : abuti_layers_bvh(layers, id, &bvh);
    if (!status && !*known) {
        status = abut_pair_self_intersects(bvh, NULL, &any);
        if (!status || status == ABUT_ERROR_LIMIT)
            *known = any || status ? LAYERS_SELF_INTERSECTS : LAYERS_SELF_DISJOINT;
        status = status == ABUT_ERROR_LIMIT ? ABUT_OK : status;
    }
    *cuts = *known == LAYERS_SELF_INTERSECTS;
    return status;
}
