/* Cloth against the body by sweeps: every impact on the path is found, also of edges, and of
 * vertices of the body that would pass through the cloth. Colliding particles are moved back to
 * the surface at the end of the step, and the search is repeated, as this can cause new impacts.
 * After some rounds the remaining impacts are ignored: a cloth solver would then use smaller
 * steps. */
#include "apps/get.h"
#include "exact_shared.h"
#include "parts.h"

enum { ROUNDS = 4 };
static const double gap_of_cell =
    0.01; /* distance of the particles' final positions in front of the surface */

typedef struct sweep_rival {
    rival base;
    abut_sweep *motion;
    abut_topology *body_edges, *cloth_edges;
    uint32_t particle_count;
    abut_vec3 *start, *end; /* body, then cloth */
    abut_buffer *start_there, *end_there;
    abut_impact_list found;
    bool moved;
} sweep_rival;

static abut_status create(rival *r) {
    sweep_rival *s = (sweep_rival *)r;
    if (!r->options.cloth)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "rival_create: sweeps need a cloth");
    abut_mesh *const meshes[2] = {r->rest, r->options.cloth};
    abut_sweep_options options = abut_sweep_options_default();
    s->particle_count = abut_mesh_vertex_count(r->options.cloth);
    const size_t all = (size_t)r->vertex_count + s->particle_count;
    options.skip_self = true;
    options.device = r->options.device;
    s->start = abut_context_allocate(r->context, all, sizeof *s->start);
    s->end = abut_context_allocate(r->context, all, sizeof *s->end);
    abut_status status =
        s->start && s->end ? abut_sweep_create(meshes, 2, &options, &s->motion) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_topology_create(r->rest, &s->body_edges);
    if (!status)
        status = abut_topology_create(r->options.cloth, &s->cloth_edges);
    if (!r->there || status)
        return status;
    status = abut_buffer_create(r->options.device, all * sizeof *s->start, &s->start_there);
    if (status)
        return status;
    return abut_buffer_create(r->options.device, all * sizeof *s->end, &s->end_there);
}

static void destroy(rival *r) {
    sweep_rival *s = (sweep_rival *)r;
    abut_sweep_destroy(s->motion);
    abut_topology_destroy(s->body_edges);
    abut_topology_destroy(s->cloth_edges);
    abut_buffer_destroy(s->start_there);
    abut_buffer_destroy(s->end_there);
    abut_context_free(r->context, s->start);
    abut_context_free(r->context, s->end);
    abut_context_free(r->context, s->found.list);
}

static abut_status update(rival *r, const abut_character_matrix *bones, abut_array positions) {
    sweep_rival *s = (sweep_rival *)r;
    const size_t bytes = r->vertex_count * sizeof *s->start;
    abut_status status = ABUT_OK;
    (void)bones;
    if (!r->there) {
        memcpy(s->start, s->moved ? s->end : positions.host, bytes);
        memcpy(s->end, positions.host, bytes);
    } else {
        const abuti_buffer *at = rival_positions(r, positions);
        status = abuti_buffer_copy(&r->queue, s->moved ? &s->end_there->memory : at,
                                   &s->start_there->memory, bytes);
        if (!status)
            status = abuti_buffer_copy(&r->queue, at, &s->end_there->memory, bytes);
        abuti_kit_fail(&r->kit, status);
    }
    s->moved = true;
    return ABUT_OK;
}

/* ---- response ---- */

/* The vertices of a feature and their weights; returns their number. `edge_at` is the parameter
 * along an edge. */
static int feature_of(const abut_mesh *mesh, const abut_topology *topology,
                      const abut_impact *impact, int side, uint32_t *vertices, double *weights) {
    const uint32_t element = impact->element[side];
    if (impact->kind == ABUT_IMPACT_EDGE_EDGE) {
        const uint32_t *edge = get_topology_arrays(topology).edges + 2 * (size_t)element;
        vertices[0] = edge[0];
        vertices[1] = edge[1];
        weights[0] = 1 - impact->weights[side];
        weights[1] = impact->weights[side];
        return 2;
    }
    if (side == 0) {
        vertices[0] = element;
        weights[0] = 1;
        return 1;
    }
    for (int k = 0; k < 3; k++) {
        vertices[k] = abut_mesh_indices(mesh)[3 * (size_t)element + (size_t)k];
        weights[k] = impact->weights[k];
    }
    return 3;
}

static abut_vec3 mean_of(const abut_vec3 *at, const uint32_t *vertices, const double *weights,
                         int count) {
    abut_vec3 sum = {0, 0, 0};
    for (int k = 0; k < count; k++) {
        sum.x += weights[k] * at[vertices[k]].x;
        sum.y += weights[k] * at[vertices[k]].y;
        sum.z += weights[k] * at[vertices[k]].z;
    }
    return sum;
}

static void respond(sweep_rival *s, const abut_impact *impact, const rival_particles *p) {
    const rival *r = &s->base;
    const int side = impact->mesh[0] == 1 ? 0 : 1; /* of the cloth */
    abut_vec3 *to = s->end + r->vertex_count, *from = s->start + r->vertex_count;
    uint32_t body[3], cloth[3];
    double body_weights[3], weights[3];
    const int body_count = feature_of(r->rest, s->body_edges, impact, 1 - side, body, body_weights);
    const int count = feature_of(r->options.cloth, s->cloth_edges, impact, side, cloth, weights);
    const abut_vec3 o = mean_of(s->end, body, body_weights, body_count);
    const abut_vec3 at = mean_of(to, cloth, weights, count);
    const vec3 normal = v3_scale(rival_near(impact->normal), side == 0 ? REAL(1.0) : REAL(-1.0));
    vec3 offset = v3((real)(o.x - at.x), (real)(o.y - at.y), (real)(o.z - at.z));
    offset = v3_along(offset, (real)(gap_of_cell * r->options.cell), normal);
    if (!(v3_dot(offset, normal) > REAL(0.0)))
        return; /* done already */
    for (int k = 0; k < count; k++)
        to[cloth[k]] = rival_moved(from[cloth[k]], to[cloth[k]], offset, normal, p->friction);
}

/* Finds all impacts; grows the list as needed. */
static abut_status find_impacts(sweep_rival *s) {
    abut_context *context = s->base.context;
    abut_status status = abut_sweep_find(s->motion, ABUT_SWEEP_ALL, NULL, &s->found, NULL);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    const uint64_t room = s->found.count + s->found.count / 2 + 1024;
    abut_context_free(context, s->found.list);
    s->found.list = abut_context_allocate(context, (size_t)room, sizeof *s->found.list);
    s->found.capacity = s->found.list ? room : 0;
    return s->found.list ? abut_sweep_find(s->motion, ABUT_SWEEP_ALL, NULL, &s->found, NULL)
                         : ABUT_ERROR_MEMORY;
}

static abut_status send_particles(sweep_rival *s, const rival_particles *p) {
    rival *r = &s->base;
    const size_t body = r->vertex_count * sizeof(abut_vec3), bytes = p->count * sizeof(abut_vec3);
    if (!r->there) {
        memcpy(s->start + r->vertex_count, p->from, bytes);
        memcpy(s->end + r->vertex_count, p->to, bytes);
        return ABUT_OK;
    }
    abut_status status =
        abuti_buffer_copy_part(&r->queue, p->from_there, 0, &s->start_there->memory, body, bytes);
    if (status)
        return status;
    status = abuti_buffer_copy_part(&r->queue, p->to_there, 0, &s->end_there->memory, body, bytes);
    if (status)
        return status;
    return abuti_queue_finish(&r->queue);
}

/* Downloads the data that responses need. */
static abut_status fetch(sweep_rival *s, size_t all) {
    if (!s->base.there)
        return ABUT_OK;
    abut_status status = abut_buffer_read(s->start_there, 0, s->start, all * sizeof *s->start);
    if (status)
        return status;
    return abut_buffer_read(s->end_there, 0, s->end, all * sizeof *s->end);
}

static abut_status collide(rival *r, const rival_particles *p) {
    sweep_rival *s = (sweep_rival *)r;
    const size_t all = (size_t)r->vertex_count + p->count, bytes = p->count * sizeof(abut_vec3);
    if (p->count != s->particle_count)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "rival_collide: not the vertices of the cloth");
    abut_status status = send_particles(s, p);
    bool changed = false;
    for (int round = 0; round < ROUNDS && !status; round++) {
        status = r->there ? abut_sweep_set_positions(s->motion, abut_array_buffer(s->start_there),
                                                     abut_array_buffer(s->end_there))
                          : abut_sweep_set_positions(s->motion, abut_array_host(s->start),
                                                     abut_array_host(s->end));
        if (!status)
            status = find_impacts(s);
        if (status || s->found.count == 0)
            break;
        status = changed ? ABUT_OK : fetch(s, all);
        for (uint64_t i = 0; i < s->found.count && !status; i++)
            respond(s, &s->found.list[i], p);
        changed = true;
        if (r->there && !status)
            status = abut_buffer_write(s->end_there, r->vertex_count * sizeof(abut_vec3),
                                       s->end + r->vertex_count, bytes);
    }
    if (!changed || status)
        return status;
    if (!r->there)
        memcpy(p->to, s->end + r->vertex_count, bytes);
    else
        status = abuti_buffer_copy_part(&r->queue, &s->end_there->memory,
                                        r->vertex_count * sizeof(abut_vec3),
                                        (abuti_buffer *)(uintptr_t)p->to_there, 0, bytes);
    return status;
}

static uint64_t memory(const rival *r) {
    const sweep_rival *s = (const sweep_rival *)r;
    return ((uint64_t)r->vertex_count + s->particle_count) * 2 * sizeof(abut_vec3) +
           s->found.capacity * sizeof(abut_impact);
}

const rival_methods rival_sweep = {.name = "sweep",
                                   .bytes = sizeof(sweep_rival),
                                   .create = create,
                                   .update = update,
                                   .collide = collide,
                                   .memory = memory,
                                   .destroy = destroy};
