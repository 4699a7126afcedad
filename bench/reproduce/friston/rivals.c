/* Functions common to all methods: create, memory, particles from the host or on a device. */
#include "parts.h"

#include <string.h>

extern const abuti_module rival_modules[];

#define KERNEL(name) \
    { "rivals", name, NULL }
static const abuti_kernel_source sources[RIVAL_KERNELS] = {
    [RIVAL_HASH_ENTER] = KERNEL("hash_enter_all"),
    [RIVAL_HASH_COLLIDE] = KERNEL("hash_collide_all"),
    [RIVAL_TREE_LEAVES] = KERNEL("tree_fit_leaves"),
    [RIVAL_TREE_NODES] = KERNEL("tree_fit_nodes"),
    [RIVAL_TREE_COLLIDE] = KERNEL("tree_collide_all"),
    [RIVAL_BAND_DRAW] = KERNEL("band_draw_all"),
    [RIVAL_BAND_COLLIDE] = KERNEL("band_collide_all"),
    [RIVAL_EXACT_RESPOND] = KERNEL("exact_respond_all"),
    [RIVAL_FIELD_RESPOND] = KERNEL("field_respond_all"),
};
static const abuti_kit_table table = {sources, RIVAL_KERNELS, RIVAL_MEMORIES, rival_modules};

static const rival_methods *const all[RIVAL_KINDS] = {
    [RIVAL_BAND] = &rival_band,   [RIVAL_FIELD] = &rival_field_methods,
    [RIVAL_HASH] = &rival_hash,   [RIVAL_FITTED_HASH] = &rival_fitted_hash,
    [RIVAL_TREE] = &rival_tree,   [RIVAL_NEAREST] = &rival_nearest_methods,
    [RIVAL_SWEEP] = &rival_sweep, [RIVAL_RADIAL] = &rival_radial,
};

const char *rival_name(rival_kind kind) {
    return (unsigned)kind < RIVAL_KINDS ? all[kind]->name : NULL;
}

/* ---- memory ---- */

abut_status rival_put(rival *r, rival_memory which, const void *data, size_t count,
                      size_t element_bytes) {
    r->bytes[which] = count * element_bytes;
    if (r->there) {
        abuti_kit_upload(&r->kit, which, data, count, element_bytes);
        return ABUT_OK;
    }
    abut_context_free(r->context, r->here[which]);
    r->here[which] = abut_context_allocate(r->context, count, element_bytes);
    if (!r->here[which])
        return ABUT_ERROR_MEMORY;
    if (data && count)
        memcpy(r->here[which], data, count * element_bytes);
    return ABUT_OK;
}

const abuti_buffer *rival_positions(rival *r, abut_array positions) {
    if (positions.buffer)
        return &positions.buffer->memory;
    abuti_kit_upload(&r->kit, RIVAL_POSITIONS, positions.host, r->vertex_count, sizeof(abut_vec3));
    return &r->kit.buffers[RIVAL_POSITIONS];
}

uint64_t rival_bytes(const rival *r) {
    uint64_t sum = r->methods->memory ? r->methods->memory(r) : 0;
    for (int k = 0; k < RIVAL_MEMORIES; k++)
        sum += k == RIVAL_CORNERS ? 0 : r->bytes[k]; /* they are part of the mesh */
    return sum;
}

/* ---- create ---- */

static abut_status create(rival *r) {
    if (r->there) {
        abut_status status = abuti_queue_open(r->options.device, &r->queue);
        if (!status)
            status = abuti_kit_open(&r->queue, &table, "", &r->kit);
        if (status)
            return status;
    }
    abut_status status = r->methods->create(r);
    abut_status finished = rival_finish(r);
    if (status)
        return status;
    return finished;
}

abut_status rival_create(abut_context *context, const rival_options *options, rival **made) {
    if (!options->character || (unsigned)options->kind >= RIVAL_KINDS || !(options->cell > 0))
        return abut_set_error(ABUT_ERROR_ARGUMENT, "rival_create: no character, kind or cell");
    const rival_methods *methods = all[options->kind];
    rival *r = abut_context_allocate(context, 1, methods->bytes);
    if (!r)
        return ABUT_ERROR_MEMORY;
    memset(r, 0, methods->bytes);
    r->methods = methods;
    r->context = context;
    r->options = *options;
    r->options.steps = options->steps ? options->steps : 8;
    r->rest = abut_character_rest_mesh(options->character);
    r->vertex_count = abut_mesh_vertex_count(r->rest);
    r->triangle_count = abut_mesh_triangle_count(r->rest);
    r->there = options->device;
    abut_status status = create(r);
    if (status) {
        rival_destroy(r);
        return status;
    }
    *made = r;
    return ABUT_OK;
}

void rival_destroy(rival *r) {
    if (!r)
        return;
    if (r->methods->destroy)
        r->methods->destroy(r);
    for (int k = 0; k < RIVAL_MEMORIES; k++)
        abut_context_free(r->context, r->here[k]);
    if (r->there) {
        abuti_kit_close(&r->kit);
        abuti_queue_close(&r->queue);
    }
    abut_context_free(r->context, r);
}

/* ---- steps ---- */

abut_status rival_update(rival *r, const abut_character_matrix *bones, abut_array positions) {
    if (positions.buffer && !r->there)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "rival_update: positions are on a device");
    return r->methods->update(r, bones, positions);
}

static rival_particles particles_of(size_t count, abut_array from, abut_array to, double friction) {
    return (rival_particles){.count = (uint32_t)count,
                             .from = from.host,
                             .to = to.host,
                             .from_there = rival_there(from),
                             .to_there = rival_there(to),
                             .from_array = from,
                             .to_array = to,
                             .friction = (float)friction};
}

abut_status rival_collide(rival *r, size_t count, abut_array from, abut_array to, double friction) {
    rival_particles p = particles_of(count, from, to, friction);
    if (count > UINT32_MAX || (!r->there && (p.from_there || p.to_there)))
        return abut_set_error(ABUT_ERROR_ARGUMENT, "rival_collide: particles are on a device");
    if (!r->there || p.to_there || r->methods->takes_arrays)
        return r->methods->collide(r, &p);
    abuti_kit_upload(&r->kit, RIVAL_FROM, from.host, count, sizeof(abut_vec3));
    abuti_kit_upload(&r->kit, RIVAL_TO, to.host, count, sizeof(abut_vec3));
    p.from_there = &r->kit.buffers[RIVAL_FROM];
    p.to_there = &r->kit.buffers[RIVAL_TO];
    abut_status status = r->methods->collide(r, &p);
    abut_status got = abuti_kit_download(&r->kit, RIVAL_TO, to.host, count, sizeof(abut_vec3));
    if (status)
        return status;
    return got;
}

abut_status rival_step(rival *r, const abut_character_matrix *bones, abut_array positions,
                       size_t count, abut_array from, abut_array to, double friction) {
    const rival_particles p = particles_of(count, from, to, friction);
    if (r->methods->step)
        return r->methods->step(r, bones, positions, &p);
    abut_status status = rival_update(r, bones, positions);
    if (status)
        return status;
    return rival_collide(r, count, from, to, friction);
}

abut_status rival_finish(rival *r) {
    return r->there ? abuti_kit_finish(&r->kit) : ABUT_OK;
}

abut_status rival_lost(rival *r, double *entries) {
    *entries = 0;
    return r->methods->lost ? r->methods->lost(r, entries) : ABUT_OK;
}

void rival_clock_start(rival *r) {
    if (r->there)
        abuti_queue_clock_start(&r->queue);
}

abut_status rival_clock_stop(rival *r, double *ms) {
    *ms = 0;
    return r->there ? abuti_queue_clock_stop(&r->queue, ms) : ABUT_OK;
}
