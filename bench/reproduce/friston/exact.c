/* Competing methods of the library itself: its distance fields, its nearest points, its sweeps.
 * They wait for their results. A BVH and a field need meshes, so positions on a device are
 * downloaded for them, which is part of their time. */
#include "apps/get.h"
#include "exact_shared.h"
#include "parts.h"

#include <math.h>

typedef struct exact_rival {
    rival base;
    abut_bvh *bvh;
    abut_vec3 *positions; /* on the host, if they come from a device */
    /* nearest */
    abut_nearest *nearest;
    abut_buffer *nearest_attachment, *wrapped;
    uint32_t room;
    /* field */
    abut_field *field;
    abut_field_value *values;
} exact_rival;

typedef struct exact_work {
    const exact_rival *e;
    const rival_particles *particles;
} exact_work;

/* A mesh of the body with these positions, in the context of the method: all meshes of a BVH
 * share one. */
static abut_status body_of(const rival *r, const abut_vec3 *positions, abut_mesh **mesh) {
    const abut_mesh_input input =
        abut_mesh_input_doubles(positions, r->vertex_count, abut_mesh_indices(r->rest),
                                r->triangle_count);
    return abut_mesh_create(r->context, &input, mesh);
}

static abut_status refit(exact_rival *e, abut_array positions) {
    rival *r = &e->base;
    const abut_vec3 *at = positions.host;
    abut_status status = ABUT_OK;
    abut_mesh *mesh = NULL;
    if (positions.buffer) {
        status = abut_buffer_read(positions.buffer, 0, e->positions,
                                  r->vertex_count * sizeof *e->positions);
        at = e->positions;
    }
    if (!status)
        status = body_of(r, at, &mesh);
    if (!status)
        status = abut_bvh_set_mesh(e->bvh, mesh);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status create(rival *r) {
    exact_rival *e = (exact_rival *)r;
    abut_bvh_options options = abut_bvh_options_default();
    options.device = r->options.device;
    e->positions = abut_context_allocate(r->context, r->vertex_count, sizeof *e->positions);
    abut_mesh *mesh = NULL;
    abut_status status =
        e->positions ? body_of(r, abut_mesh_local_positions(r->rest), &mesh) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_bvh_create(mesh, &options, &e->bvh);
    abut_mesh_destroy(mesh);
    if (status)
        return status;
    return abut_sign_prepare(e->bvh, NULL);
}

static void destroy(rival *r) {
    exact_rival *e = (exact_rival *)r;
    abut_field_destroy(e->field);
    abut_bvh_destroy(e->bvh);
    abut_buffer_destroy(e->nearest_attachment);
    abut_context_free(r->context, e->positions);
    abut_context_free(r->context, e->nearest);
    abut_context_free(r->context, e->values);
}

/* Allocates results for particles, on the host or the device. */
static abut_status make_room(exact_rival *e, uint32_t count) {
    rival *r = &e->base;
    if (count <= e->room)
        return ABUT_OK;
    e->room = 0;
    abut_status status = ABUT_OK;
    if (r->there) {
        abut_buffer_destroy(e->nearest_attachment);
        e->nearest_attachment = NULL;
        status = abut_buffer_create(r->options.device, (size_t)count * sizeof(abut_nearest),
                                    &e->nearest_attachment);
    } else {
        abut_context_free(r->context, e->nearest);
        e->nearest = abut_context_allocate(r->context, count, sizeof *e->nearest);
        status = e->nearest ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    e->room = status ? 0 : count;
    return status;
}

/* ---- nearest points ---- */

static abut_status nearest_update(rival *r, const abut_character_matrix *bones,
                                  abut_array positions) {
    (void)bones;
    return refit((exact_rival *)r, positions);
}

static void respond(void *user, size_t chunk, size_t begin, size_t end) {
    const exact_work *work = user;
    const rival_particles *p = work->particles;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        exact_respond(work->e->nearest, p->from, p->to, p->friction, (word32)i);
}

/* Within ten cells: deeper particles are not found. */
static abut_status nearest_collide(rival *r, const rival_particles *p) {
    exact_rival *e = (exact_rival *)r;
    abut_array points = abut_array_host(p->to);
    abut_status status = make_room(e, p->count);
    points.is_sorted = true; /* neighbours in a cloth are near each other */
    if (r->there)
        points.host = NULL;
    if (r->there && !p->to_array.buffer) {
        if (!status)
            status = abuti_queue_finish(&r->queue);
        if (!status)
            status = abut_buffer_wrap(r->options.device, p->to_there->native, &e->wrapped);
    }
    points.buffer = p->to_array.buffer ? p->to_array.buffer : e->wrapped;
    if (!status)
        status = abut_sign_nearest_batch(e->bvh, points, p->count, 10 * r->options.cell,
                                         r->there ? abut_array_buffer(e->nearest_attachment)
                                                  : abut_array_host(e->nearest));
    abut_buffer_destroy(e->wrapped);
    e->wrapped = NULL;
    if (status)
        return status;
    if (r->there) {
        ABUTI_KIT_RUN(&r->kit, RIVAL_EXACT_RESPOND, p->count, RIVAL_GROUP,
                      ABUTI_BUFFER(&e->nearest_attachment->memory), ABUTI_BUFFER(p->from_there),
                      ABUTI_BUFFER(p->to_there), ABUTI_VALUE(p->friction), ABUTI_VALUE(p->count));
    } else {
        exact_work work = {e, p};
        abut_context_parallel_for(r->context, p->count, 1024, respond, &work);
    }
    return ABUT_OK;
}

static uint64_t nearest_memory(const rival *r) {
    const exact_rival *e = (const exact_rival *)r;
    return get_bvh_info(e->bvh).bytes + get_sign_info(e->bvh).bytes +
           e->room * sizeof(abut_nearest);
}

const rival_methods rival_nearest_methods = {.name = "nearest",
                                             .bytes = sizeof(exact_rival),
                                             .create = create,
                                             .update = nearest_update,
                                             .collide = nearest_collide,
                                             .memory = nearest_memory,
                                             .destroy = destroy};

/* ---- fields ---- */

/* Rebuilt each frame, on a grid that fits: an update keeps its grid, and bodies move. */
static abut_status field_update(rival *r, const abut_character_matrix *bones,
                                abut_array positions) {
    exact_rival *e = (exact_rival *)r;
    abut_field_options options = abut_field_options_default();
    options.cell = r->options.cell;
    options.band = 3 * r->options.cell;
    options.device = r->options.device;
    (void)bones;
    abut_status status = refit(e, positions);
    abut_field_destroy(e->field);
    e->field = NULL;
    if (status)
        return status;
    return abut_field_create_from(e->bvh, &options, &e->field);
}

static void field_range(void *user, size_t chunk, size_t begin, size_t end) {
    const exact_work *work = user;
    const rival_particles *p = work->particles;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_field_value at;
        if (abut_field_evaluate(work->e->field, p->to[i], ABUT_INTERPOLATION_LINEAR, &at) ||
            !at.within || !(at.distance < 0))
            continue;
        vec3 normal = v3_normalise(rival_near(at.gradient));
        if (v3_dot(normal, normal) > REAL(0.0))
            p->to[i] = rival_moved(p->from[i], p->to[i], v3_scale(normal, (real)-at.distance),
                                   normal, p->friction);
    }
}

static abut_status field_collide(rival *r, const rival_particles *p) {
    exact_rival *e = (exact_rival *)r;
    const abut_buffer *values = abut_field_values(e->field);
    if (!values) {
        exact_work work = {e, p};
        if (r->there)
            return abut_set_error(ABUT_ERROR_DEVICE,
                                  "rival_collide: the field is not on the device");
        abut_context_parallel_for(r->context, p->count, 1024, field_range, &work);
        return ABUT_OK;
    }
    const abut_grid grid = get_field_info(e->field).grid;
    const rival_field field = {.origin = {grid.origin.x, grid.origin.y, grid.origin.z},
                               .inverse = 1 / grid.cell,
                               .count = {grid.count[0], grid.count[1], grid.count[2]}};
    ABUTI_KIT_RUN(&r->kit, RIVAL_FIELD_RESPOND, p->count, RIVAL_GROUP, ABUTI_VALUE(field),
                  ABUTI_BUFFER(&values->memory), ABUTI_BUFFER(p->from_there),
                  ABUTI_BUFFER(p->to_there), ABUTI_VALUE(p->friction), ABUTI_VALUE(p->count));
    return ABUT_OK;
}

static uint64_t field_memory(const rival *r) {
    const exact_rival *e = (const exact_rival *)r;
    return get_bvh_info(e->bvh).bytes + get_field_info(e->field).bytes;
}

const rival_methods rival_field_methods = {.name = "field",
                                           .bytes = sizeof(exact_rival),
                                           .create = create,
                                           .update = field_update,
                                           .collide = field_collide,
                                           .memory = field_memory,
                                           .destroy = destroy};
