/* Creates a cloth from a mesh: masses, edges and hinges. */
#include "parts.h"

#include <stdio.h>
#include <time.h>

double cloth_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- options ---- */

static abut_status check_options(const cloth_options *o, uint32_t vertices) {
    const double sizes[] = {o->stretch, o->shear,    o->bend,      o->density, o->damping,
                            o->drag,    o->pressure, o->thickness, o->friction};
    const double any[] = {o->gravity.x, o->gravity.y, o->gravity.z,
                          o->wind.x,    o->wind.y,    o->wind.z};
    char sentence[128];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!(sizes[i] >= 0 && sizes[i] <= 1e30))
            return abut_set_error(
                ABUT_ERROR_ARGUMENT,
                "cloth_create: stiffness, density, damping, drag, pressure, thickness "
                "and friction must be finite and not below 0");
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if (!(any[i] >= -1e30 && any[i] <= 1e30))
            return abut_set_error(ABUT_ERROR_ARGUMENT,
                                  "cloth_create: gravity and wind must be finite");
    for (uint32_t i = 0; i < o->pin_count; i++)
        if (o->pins[i] >= vertices) {
            snprintf(sentence, sizeof sentence, "cloth_create: there is no vertex %u to pin",
                     o->pins[i]);
            return abut_set_error(ABUT_ERROR_ARGUMENT, sentence);
        }
    return ABUT_OK;
}

static void settle_options(cloth *c) {
    cloth_options *o = &c->options;
    o->stretch = o->stretch > 0 ? o->stretch : 200;
    o->shear = o->shear > 0 ? o->shear : o->stretch;
    o->density = o->density > 0 ? o->density : 0.2;
    o->thickness = o->thickness > 0 ? o->thickness : 0.2 * c->mean_edge;
    o->substeps = o->substeps ? o->substeps : 10;
    o->pins = NULL;
    o->pin_count = 0;
}

/* ---- arrays ---- */

void *cloth_grown(const cloth *c, void *list, size_t *room, size_t count, size_t bytes) {
    if (count <= *room && list)
        return list;
    size_t more = count + count / 2;
    void *larger = abut_context_allocate(c->context, more, bytes);
    if (!larger)
        return NULL;
    if (list)
        memcpy(larger, list, *room * bytes);
    abut_context_free(c->context, list);
    *room = more;
    return larger;
}

void *cloth_room(const cloth *c, size_t count, size_t bytes) {
    void *memory = abut_context_allocate(c->context, count, bytes);
    if (memory)
        memset(memory, 0, count * bytes);
    return memory;
}

void cloth_free_all(const cloth *c, void *const *arrays, size_t count) {
    for (size_t i = 0; i < count; i++)
        abut_context_free(c->context, arrays[i]);
}

static abut_status make_room(cloth *c) {
    uint32_t n = c->vertices;
    bool all = (c->position = cloth_room(c, n, sizeof(vec))) &&
               (c->aim = cloth_room(c, n, sizeof(vec))) &&
               (c->velocity = cloth_room(c, n, sizeof(vec))) &&
               (c->next_velocity = cloth_room(c, n, sizeof(vec))) &&
               (c->mass = cloth_room(c, n, sizeof(double))) &&
               (c->inverse_mass = cloth_room(c, n, sizeof(double))) &&
               (c->edges = cloth_room(c, c->view.edge_count, sizeof *c->edges)) &&
               (c->hinges = cloth_room(c, c->view.edge_count, sizeof *c->hinges));
    return all ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static double area_of(const cloth *c, uint32_t triangle) {
    const uint32_t *v = c->indices + 3 * (size_t)triangle;
    vec a = c->position[v[0]];
    return 0.5 *
           vec_length(vec_cross(vec_sub(c->position[v[1]], a), vec_sub(c->position[v[2]], a)));
}

static void weigh(cloth *c, const cloth_options *o) {
    for (uint32_t t = 0; t < c->triangles; t++)
        for (int k = 0; k < 3; k++)
            c->mass[c->indices[3 * (size_t)t + (size_t)k]] +=
                c->options.density * area_of(c, t) / 3;
    for (uint32_t i = 0; i < c->vertices; i++)
        c->inverse_mass[i] = c->mass[i] > 0 ? 1 / c->mass[i] : 0;
    for (uint32_t i = 0; i < o->pin_count; i++)
        c->inverse_mass[o->pins[i]] = 0;
}

static double edge_length(const cloth *c, uint32_t edge) {
    const uint32_t *v = c->view.edges + 2 * (size_t)edge;
    return vec_length(vec_sub(c->position[v[1]], c->position[v[0]]));
}

/* ---- edges ---- */

/* Returns whether an edge is longer than all other edges of its triangles, as the diagonal of a
 * quadrilateral is. */
static bool is_diagonal(const cloth *c, uint32_t edge) {
    double length = edge_length(c, edge);
    uint32_t from = c->view.edge_face_begin[edge], to = c->view.edge_face_begin[edge + 1];
    for (uint32_t i = from; i < to; i++)
        for (int k = 0; k < 3; k++) {
            uint32_t other = c->view.triangle_edges[3 * (size_t)c->view.edge_faces[i] + (size_t)k];
            if (other != edge && other != ABUT_NONE && edge_length(c, other) * 1.1 > length)
                return false;
        }
    return to > from;
}

static void list_edges(cloth *c) {
    double sum = 0;
    for (uint32_t e = 0; e < c->view.edge_count; e++) {
        cloth_edge *edge = &c->edges[c->edge_count];
        double rest = edge_length(c, e);
        sum += rest;
        memcpy(edge->vertex, c->view.edges + 2 * (size_t)e, sizeof edge->vertex);
        edge->rest = rest;
        c->edge_count += rest > 0;
    }
    c->mean_edge = c->edge_count ? sum / c->edge_count : 0;
}

static void set_stiffness(cloth *c) {
    uint32_t i = 0;
    for (uint32_t e = 0; e < c->view.edge_count; e++)
        if (edge_length(c, e) > 0)
            c->edges[i++].compliance =
                1 / (is_diagonal(c, e) ? c->options.shear : c->options.stretch);
}

/* ---- hinges ---- */

static double cotangent(vec at, vec p, vec q) {
    vec a = vec_sub(p, at), b = vec_sub(q, at);
    double area = vec_length(vec_cross(a, b));
    return area > 0 ? vec_dot(a, b) / area : 0;
}

static vec bend_of(const cloth_hinge *h, const vec *x) {
    vec sum = {0, 0, 0};
    for (int k = 0; k < 4; k++)
        sum = vec_along(sum, h->k[k], x[h->vertex[k]]);
    return sum;
}

static uint32_t opposite(const cloth *c, uint32_t face, const uint32_t *edge) {
    const uint32_t *v = c->indices + 3 * (size_t)face;
    for (int k = 0; k < 2; k++)
        if (v[k] != edge[0] && v[k] != edge[1])
            return v[k];
    return v[2];
}

/* Equations (4) and (5) of Bergou et al. */
static void list_hinges(cloth *c) {
    for (uint32_t e = 0; e < c->view.edge_count && c->options.bend > 0; e++) {
        uint32_t from = c->view.edge_face_begin[e];
        if (c->view.edge_face_begin[e + 1] - from != 2)
            continue;
        cloth_hinge h = {.rest = 0};
        const uint32_t *faces = c->view.edge_faces + from;
        memcpy(h.vertex, c->view.edges + 2 * (size_t)e, 2 * sizeof *h.vertex);
        for (int k = 0; k < 2; k++)
            h.vertex[2 + k] = opposite(c, faces[k], h.vertex);
        double area = area_of(c, faces[0]) + area_of(c, faces[1]);
        if (!(area > 0) || h.vertex[2] == h.vertex[3])
            continue;
        const vec *x = c->position;
        vec x0 = x[h.vertex[0]], x1 = x[h.vertex[1]], x2 = x[h.vertex[2]], x3 = x[h.vertex[3]];
        double c01 = cotangent(x0, x1, x2), c02 = cotangent(x0, x1, x3),
               c03 = cotangent(x1, x0, x2), c04 = cotangent(x1, x0, x3);
        h.k[0] = c03 + c04;
        h.k[1] = c01 + c02;
        h.k[2] = -c01 - c03;
        h.k[3] = -c02 - c04;
        h.rest = vec_length(bend_of(&h, x));
        h.compliance = area / (3 * c->options.bend);
        c->hinges[c->hinge_count++] = h;
    }
}

/* ---- create ---- */

/* Converts the positions of a mesh to floats. Returns false if one is outside the range of
 * floats. */
static bool place(const abut_mesh *mesh, vec *to) {
    vec origin = abut_mesh_local_origin(mesh);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        to[i] = vec_add(origin, abut_mesh_local_positions(mesh)[i]);
        if (!vec_is_near(to[i]))
            return false;
        to[i] = vec_round(to[i]);
    }
    return true;
}

static abut_status build(cloth *c, const cloth_options *o) {
    abut_status status = abut_topology_create(c->rest, &c->topology);
    if (status)
        return status;
    c->view = abut_topology_arrays_default();
    abut_topology_get_arrays(c->topology, &c->view);
    if ((status = make_room(c)))
        return status;
    if (!place(c->rest, c->position))
        return abut_set_error(ABUT_ERROR_LIMIT, "cloth_create: the mesh is further away than 1e15");
    memcpy(c->aim, c->position, c->vertices * sizeof(vec));
    list_edges(c);
    if (!(c->mean_edge > 0))
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_create: the mesh has no edge of any length");
    settle_options(c);
    set_stiffness(c);
    list_hinges(c);
    weigh(c, o);
    if (c->options.pressure > 0)
        status = cloth_measure_volume(c);
    if (status)
        return status;
    return c->backend->create(c);
}

abut_status cloth_create(abut_context *context, abut_mesh *mesh, const cloth_options *options,
                         cloth **made) {
    if (!mesh || !options || !made)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "cloth_create: mesh, options or made is null");
    abut_status status = check_options(options, abut_mesh_vertex_count(mesh));
    if (status)
        return status;
    cloth *c = abut_context_allocate(context, 1, sizeof *c);
    if (!c)
        return ABUT_ERROR_MEMORY;
    memset(c, 0, sizeof *c);
    c->context = context;
    c->options = *options;
    c->backend = options->device ? &cloth_on_device : &cloth_on_cpu;
    c->options.grain = options->grain ? options->grain : 4096; /* enough work to wake a thread */
    c->rest = abut_mesh_retain(mesh);
    c->indices = abut_mesh_indices(mesh);
    c->vertices = c->all_vertices = abut_mesh_vertex_count(mesh);
    c->triangles = abut_mesh_triangle_count(mesh);
    status = build(c, options);
    if (status)
        cloth_destroy(c);
    else
        *made = c;
    return status;
}

abut_status cloth_add_solid(cloth *c, abut_mesh *solid) {
    if (!c || !solid || c->solid || c->is_prepared)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_add_solid: needs a cloth without a solid, and a solid");
    uint32_t more = abut_mesh_vertex_count(solid);
    if (more > UINT32_MAX - c->vertices)
        return abut_set_error(ABUT_ERROR_LIMIT, "cloth_add_solid: too many vertices");
    uint32_t all = c->vertices + more;
    vec *position = abut_context_allocate(c->context, all, sizeof *position);
    vec *aim = abut_context_allocate(c->context, all, sizeof *aim);
    double *inverse = cloth_room(c, all, sizeof *inverse);
    abut_status status = position && aim && inverse ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status && !place(solid, position + c->vertices))
        status = abut_set_error(ABUT_ERROR_LIMIT, "cloth_add_solid: it is further away than 1e15");
    if (!status)
        status = abut_topology_create(solid, &c->solid_topology);
    if (status) {
        CLOTH_FREE(c, position, aim, inverse);
        return status;
    }
    memcpy(inverse, c->inverse_mass, c->vertices * sizeof *inverse);
    memcpy(position, c->position, c->vertices * sizeof *position);
    memcpy(aim, position, all * sizeof *aim);
    CLOTH_FREE(c, c->inverse_mass, c->position, c->aim);
    c->inverse_mass = inverse;
    c->position = position;
    c->aim = aim;
    c->all_vertices = all;
    c->solid = abut_mesh_retain(solid);
    return ABUT_OK;
}

void cloth_destroy(cloth *c) {
    if (!c)
        return;
    abut_context *context = c->context;
    CLOTH_FREE(c, c->position, c->aim, c->end, c->velocity, c->next_velocity, c->mass,
               c->inverse_mass, c->edges, c->hinges);
    cloth_free_patches(c);
    cloth_free_impacts(c);
    cloth_free_holds(c);
    cloth_free_leaving(c);
    abut_bvh_destroy(c->bvhs[0].bvh);
    abut_bvh_destroy(c->bvhs[1].bvh);
    c->backend->destroy(c);
    abut_topology_destroy(c->topology);
    abut_topology_destroy(c->solid_topology);
    abut_mesh_destroy(c->rest);
    abut_mesh_destroy(c->solid);
    abut_context_free(context, c);
}

/* ---- results ---- */

uint32_t cloth_vertex_count(const cloth *c) {
    return c->all_vertices;
}
const abut_vec3 *cloth_positions(const cloth *c) {
    return cloth_fetch(c) ? NULL : c->position;
}
const abut_vec3 *cloth_aims(const cloth *c) {
    return cloth_fetch(c) ? NULL : c->aim;
}
double cloth_thickness(const cloth *c) {
    return c->options.thickness;
}
void cloth_set_wind(cloth *c, abut_vec3 wind) {
    c->options.wind = wind;
}

abut_status cloth_mesh(const cloth *c, uint32_t which, abut_mesh **mesh) {
    abut_mesh *like = which ? c->solid : c->rest;
    if (!like)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "cloth_mesh: there is no solid");
    abut_status status = cloth_fetch(c);
    if (status)
        return status;
    abut_mesh_input input =
        abut_mesh_input_doubles(c->position + (which ? c->vertices : 0),
                                abut_mesh_vertex_count(like), abut_mesh_indices(like),
                                abut_mesh_triangle_count(like));
    return abut_mesh_create(c->context, &input, mesh);
}

cloth_energy cloth_energy_of(const cloth *c) {
    cloth_energy e = {0, 0, 0};
    const vec *x = cloth_positions(c);
    if (!x)
        return e;
    for (uint32_t i = 0; i < c->vertices; i++) {
        if (!(c->inverse_mass[i] > 0))
            continue;
        e.kinetic += 0.5 * c->mass[i] * vec_dot(c->velocity[i], c->velocity[i]);
        e.gravity -= c->mass[i] * vec_dot(c->options.gravity, x[i]);
    }
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const cloth_edge *edge = &c->edges[i];
        double off = vec_length(vec_sub(x[edge->vertex[1]], x[edge->vertex[0]])) - edge->rest;
        e.elastic += 0.5 * off * off / edge->compliance;
    }
    for (uint32_t i = 0; i < c->hinge_count; i++) {
        double off = vec_length(bend_of(&c->hinges[i], x)) - c->hinges[i].rest;
        e.elastic += 0.5 * off * off / c->hinges[i].compliance;
    }
    return e;
}
