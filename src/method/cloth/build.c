/* Builds the arrays of a cloth from its sheets and bodies: positions, masses, edges and hinges. */
#include "cloth/cloth.h"

/* ---- meshes ---- */

double abuti_cloth_mean_edge(const abut_mesh *mesh) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const uint32_t a = mesh->indices[i], b = mesh->indices[i % 3 == 2 ? i - 2 : i + 1];
        sum += cloth_length(v3_sub(mesh->positions[b], mesh->positions[a]));
    }
    return sum / (3.0 * mesh->triangle_count);
}

/* Sets the initial positions of all items of a group, as floats, and creates their common mesh. */
static abut_status join(abut_cloth *c, int which, vec3 *to) {
    cloth_group *g = &c->groups[which];
    uint32_t *indices = abuti_allocate(c->context, 3 * (size_t)g->triangles, sizeof *indices);
    if (!indices)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < g->items.count; i++) {
        const cloth_item *item = cloth_item_of(c, which, i);
        const abuti_motion motion = abuti_motion_of(&item->options.pose); /* identity for sheets */
        for (uint32_t v = 0; v < cloth_vertices_of(item); v++)
            to[item->vertex + v] =
                cloth_round(abuti_motion_apply(&motion, abuti_mesh_position(item->mesh, v)));
        for (size_t k = 0; k < 3 * (size_t)cloth_triangles_of(item); k++)
            indices[3 * (size_t)item->triangle + k] = item->vertex + item->mesh->indices[k];
    }
    const abut_mesh_input input = abut_mesh_input_doubles(to, g->vertices, indices, g->triangles);
    abut_status status = abut_mesh_create(c->context, &input, &g->mesh);
    abuti_release(c->context, indices);
    if (!status)
        status = abut_topology_create(g->mesh, &g->topology);
    if (status)
        return status;
    g->indices = g->mesh->indices;
    g->view = abut_topology_arrays_default();
    return abut_topology_get_arrays(g->topology, &g->view);
}

/* ---- parts ---- */

static void set_part(abut_cloth *c, cloth_part *part, const cloth_item *item, bool is_sheet) {
    const abut_cloth_material *m = &item->material;
    part->thickness = is_sheet ? m->thickness : -1;
    part->friction = is_sheet                     ? m->friction
                     : item->options.friction > 0 ? item->options.friction
                                                  : -1;
    part->damping = m->damping;
    part->pressure = m->pressure;
    part->rest_range = 1.01 * item->mean_edge;
    if (is_sheet) {
        c->mean_edge = fmax(c->mean_edge, item->mean_edge);
        c->thickness = fmax(c->thickness, m->thickness);
    }
    if (is_sheet && m->pressure > 0) {
        part->first_block = c->block_count;
        part->block_count = (item->mesh->triangle_count + VOLUME_BLOCK - 1) / VOLUME_BLOCK;
        c->block_count += part->block_count;
    }
}

static abut_status set_parts(abut_cloth *c) {
    const uint32_t sheets = cloth_count_of(c, SHEETS);
    c->part_count = sheets + cloth_count_of(c, BODIES);
    abut_status status = ABUTI_ALLOCATE(c->context, ABUTI_ZEROED(c->parts, c->part_count),
                                        ABUTI_ARRAY(c->part_of, c->all_vertices));
    for (uint32_t p = 0; p < c->part_count && !status; p++) {
        const int which = p < sheets ? SHEETS : BODIES;
        const uint32_t index = which ? p - sheets : p, first = cloth_first_of(c, which, index);
        const cloth_item *item = cloth_item_of(c, which, index);
        if (item->mesh)
            set_part(c, &c->parts[p], item, !which);
        for (uint32_t v = 0; v < cloth_vertices_of(item); v++)
            c->part_of[first + v] = p;
    }
    if (!status)
        status = ABUTI_ALLOCATE(c->context, ABUTI_ZEROED(c->blocks, c->block_count));
    for (uint32_t p = 0; p < sheets && !status; p++) {
        const cloth_item *item = cloth_item_of(c, SHEETS, p);
        for (uint32_t k = 0; k < c->parts[p].block_count; k++) {
            const uint32_t rest = item->mesh->triangle_count - k * VOLUME_BLOCK;
            c->blocks[c->parts[p].first_block + k] =
                (cloth_block){item->triangle + k * VOLUME_BLOCK,
                              rest < VOLUME_BLOCK ? rest : VOLUME_BLOCK, item->vertex, 0};
        }
    }
    return status;
}

static const abut_cloth_material *material_of(const abut_cloth *c, uint32_t vertex) {
    return &cloth_item_of(c, SHEETS, c->part_of[vertex])->material;
}

/* ---- masses ---- */

static double area_of(const abut_cloth *c, uint32_t triangle) {
    const uint32_t *v = c->groups[SHEETS].indices + 3 * (size_t)triangle;
    vec3 a = c->position[v[0]];
    return 0.5 * cloth_length(v3_cross(v3_sub(c->position[v[1]], a), v3_sub(c->position[v[2]], a)));
}

static void set_masses(abut_cloth *c) {
    for (uint32_t t = 0; t < c->triangles; t++)
        for (int k = 0; k < 3; k++) {
            const uint32_t v = c->groups[SHEETS].indices[3 * (size_t)t + (size_t)k];
            c->mass[v] += material_of(c, v)->density * area_of(c, t) / 3;
        }
    for (uint32_t i = 0; i < c->vertices; i++)
        c->inverse_mass[i] = c->mass[i] > 0 ? 1 / c->mass[i] : 0;
}

/* ---- edges ---- */

static double edge_length(const abut_cloth *c, uint32_t edge) {
    const uint32_t *v = c->groups[SHEETS].view.edges + 2 * (size_t)edge;
    return cloth_length(v3_sub(c->position[v[1]], c->position[v[0]]));
}

/* Returns whether an edge is longer than all other edges of its triangles, as the diagonal of a
 * quadrilateral is. */
static bool is_diagonal(const abut_cloth *c, uint32_t edge) {
    const abut_topology_arrays *view = &c->groups[SHEETS].view;
    const double length = edge_length(c, edge);
    const uint32_t *faces, count = abuti_edge_faces(view, edge, &faces);
    for (uint32_t i = 0; i < 3 * count; i++) {
        const uint32_t other = view->triangle_edges[3 * (size_t)faces[i / 3] + i % 3];
        if (other != edge && other != ABUT_NONE && edge_length(c, other) * 1.1 > length)
            return false;
    }
    return count > 0;
}

static void list_edges(abut_cloth *c) {
    const abut_topology_arrays *view = &c->groups[SHEETS].view;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        const uint32_t *v = view->edges + 2 * (size_t)e;
        const double rest = edge_length(c, e);
        const abut_cloth_material *m = material_of(c, v[0]);
        if (rest > 0)
            c->edges[c->edge_count++] =
                (cloth_edge){{v[0], v[1]}, rest, 1 / (is_diagonal(c, e) ? m->shear : m->stretch)};
    }
}

/* ---- hinges ---- */

static double cotangent(vec3 at, vec3 p, vec3 q) {
    vec3 a = v3_sub(p, at), b = v3_sub(q, at);
    double area = cloth_length(v3_cross(a, b));
    return area > 0 ? v3_dot(a, b) / area : 0;
}

double abuti_cloth_bend(const cloth_hinge *h, const vec3 *x) {
    vec3 sum = {0, 0, 0};
    for (int k = 0; k < 4; k++)
        sum = v3_along(sum, h->k[k], x[h->vertex[k]]);
    return cloth_length(sum);
}

/* Equations (4) and (5) of Bergou et al. */
static void list_hinges(abut_cloth *c) {
    const abut_topology_arrays *view = &c->groups[SHEETS].view;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        const uint32_t *faces, count = abuti_edge_faces(view, e, &faces);
        const uint32_t *edge = view->edges + 2 * (size_t)e;
        const double stiffness = material_of(c, edge[0])->bend;
        if (count != 2 || !(stiffness > 0))
            continue;
        cloth_hinge h = {.vertex = {edge[0], edge[1]}};
        for (int k = 0; k < 2; k++) {
            const uint32_t *v = c->groups[SHEETS].indices + 3 * (size_t)faces[k];
            h.vertex[2 + k] = v[(abuti_side_of(view, faces[k], e) + 2) % 3];
        }
        double area = area_of(c, faces[0]) + area_of(c, faces[1]);
        if (!(area > 0) || h.vertex[2] == h.vertex[3])
            continue;
        const vec3 *x = c->position;
        vec3 x0 = x[h.vertex[0]], x1 = x[h.vertex[1]], x2 = x[h.vertex[2]], x3 = x[h.vertex[3]];
        double c01 = cotangent(x0, x1, x2), c02 = cotangent(x0, x1, x3),
               c03 = cotangent(x1, x0, x2), c04 = cotangent(x1, x0, x3);
        h.k[0] = c03 + c04;
        h.k[1] = c01 + c02;
        h.k[2] = -c01 - c03;
        h.k[3] = -c02 - c04;
        h.rest = abuti_cloth_bend(&h, x);
        h.compliance = area / (3 * stiffness);
        c->hinges[c->hinge_count++] = h;
    }
}

/* ---- all ---- */

static abut_status build(abut_cloth *c) {
    const size_t n = c->vertices, all = c->all_vertices;
    abut_status status =
        ABUTI_ALLOCATE(c->context, ABUTI_ZEROED(c->position, all), ABUTI_ZEROED(c->aim, all),
                       ABUTI_ZEROED(c->end, all), ABUTI_ZEROED(c->velocity, n),
                       ABUTI_ZEROED(c->next_velocity, n), ABUTI_ZEROED(c->mass, n),
                       ABUTI_ZEROED(c->inverse_mass, all), ABUTI_ARRAY(c->held_of, n),
                       ABUTI_ZEROED(c->target, all - n));
    if (!status && c->options.body_may_lag)
        status = ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(c->goal, all - n));
    if (!status && n)
        status = join(c, SHEETS, c->position);
    if (!status && all > n)
        status = join(c, BODIES, c->position + n);
    if (!status)
        status = set_parts(c);
    const size_t edges = c->groups[SHEETS].view.edge_count;
    if (!status)
        status =
            ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(c->edges, edges), ABUTI_ARRAY(c->hinges, edges));
    if (status)
        return status;
    memset(c->held_of, 0xff, n * sizeof *c->held_of);
    memcpy(c->aim, c->position, all * sizeof *c->aim);
    memcpy(c->target, c->position + n, (all - n) * sizeof *c->target);
    if (c->goal)
        memcpy(c->goal, c->target, (all - n) * sizeof *c->goal);
    set_masses(c);
    list_edges(c);
    list_hinges(c);
    return abuti_cloth_measure_volumes(c);
}

/* ---- again, after a change of the sheets and bodies ---- */

/* Sets the first vertex and triangle of each item. */
static void number_items(abut_cloth *c) {
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0, vertex = 0, triangle = 0; i < cloth_count_of(c, which); i++) {
            cloth_item *item = cloth_item_of(c, which, i);
            item->old_vertex = item->vertex;
            item->old_triangle = item->triangle;
            item->vertex = vertex;
            item->triangle = triangle;
            vertex += cloth_vertices_of(item);
            triangle += cloth_triangles_of(item);
        }
}

static void restore_numbers(abut_cloth *c) {
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < cloth_count_of(c, which); i++) {
            cloth_item *item = cloth_item_of(c, which, i);
            item->vertex = item->old_vertex;
            item->triangle = item->old_triangle;
        }
}

static bool is_old(const cloth_item *item) {
    return item->mesh && item->old_vertex != ABUT_NONE;
}

/* Copies the state of an item that existed before. */
static void keep_item(abut_cloth *c, const abut_cloth *old, int which, const cloth_item *item) {
    const size_t count = item->mesh->vertex_count, bytes = count * sizeof(vec3);
    const uint32_t to = item->vertex, from = item->old_vertex;
    const uint32_t all_to = to + (which ? c->vertices : 0),
                   all_from = from + (which ? old->vertices : 0);
    memcpy(c->position + all_to, old->position + all_from, bytes);
    memcpy(c->aim + all_to, old->aim + all_from, bytes);
    if (which == SHEETS)
        memcpy(c->velocity + to, old->velocity + from, bytes);
    else
        memcpy(c->target + to, old->target + from, bytes);
    if (which == BODIES && c->goal)
        memcpy(c->goal + to, old->goal + from, bytes);
}

/* The new number of a vertex of a sheet that existed before. */
static uint32_t renumber_vertex(const abut_cloth *c, uint32_t old) {
    for (uint32_t i = 0; i < cloth_count_of(c, SHEETS); i++) {
        const cloth_item *item = cloth_item_of(c, SHEETS, i);
        if (is_old(item) && old - item->old_vertex < item->mesh->vertex_count)
            return item->vertex + (old - item->old_vertex);
    }
    return old;
}

/* Renumbers the vertex of an attachment and the triangle of its body. */
static void keep_hold(abut_cloth *c, cloth_hold *hold) {
    const cloth_hold old = *hold;
    hold->vertex = renumber_vertex(c, old.vertex);
    for (uint32_t i = 0; i < cloth_count_of(c, BODIES) && old.triangle != ABUT_NONE; i++) {
        const cloth_item *item = cloth_item_of(c, BODIES, i);
        if (is_old(item) && old.triangle - item->old_triangle < item->mesh->triangle_count)
            hold->triangle = item->triangle + (old.triangle - item->old_triangle);
    }
}

static void keep_state(abut_cloth *c, const abut_cloth *old) {
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < cloth_count_of(c, which); i++)
            if (is_old(cloth_item_of(c, which, i)))
                keep_item(c, old, which, cloth_item_of(c, which, i));
    for (uint32_t h = 0; h < c->holds.count; h++) {
        cloth_hold *hold = &ABUTI_AT(&c->holds, cloth_hold, h);
        keep_hold(c, hold);
        c->held_of[hold->vertex] = h;
        if (!(hold->compliance > 0))
            c->inverse_mass[hold->vertex] = 0;
    }
    for (size_t i = 0; i < c->seams.count; i++) { /* their order does not change */
        cloth_seam *seam = &ABUTI_AT(&c->seams, cloth_seam, i);
        for (int k = 0; k < 2; k++)
            seam->vertex[k] = seam->of[k] = renumber_vertex(c, seam->of[k]);
    }
}

/* Clears what unbuilding releases. */
static void forget(abut_cloth *c) {
    for (int which = 0; which < 2; which++) {
        cloth_group *g = &c->groups[which];
        g->topology = NULL;
        g->mesh = NULL;
        g->indices = NULL;
        g->view = (abut_topology_arrays){0};
    }
    c->position = c->aim = c->end = c->velocity = c->next_velocity = c->target = c->goal = NULL;
    c->mass = c->inverse_mass = NULL;
    c->held_of = c->part_of = NULL;
    c->parts = NULL;
    c->blocks = NULL;
    c->edges = NULL;
    c->hinges = NULL;
    c->part_count = c->block_count = c->edge_count = c->hinge_count = 0;
    c->mean_edge = c->thickness = 0;
}

void abuti_cloth_unbuild(abut_cloth *c) {
    for (int which = 0; which < 2; which++) {
        abut_topology_destroy(c->groups[which].topology);
        abut_mesh_destroy(c->groups[which].mesh);
    }
    ABUTI_RELEASE(c->context, c->position, c->aim, c->end, c->velocity, c->next_velocity, c->mass,
                  c->inverse_mass, c->held_of, c->target, c->goal, c->parts, c->part_of, c->blocks,
                  c->edges, c->hinges);
    forget(c);
}

abut_status abuti_cloth_build(abut_cloth *c) {
    if (c->is_built)
        return ABUT_OK;
    abut_status status = cloth_fetch_all(c);
    if (status)
        return status;
    abut_cloth old = *c;
    forget(c);
    number_items(c);
    c->vertices = c->groups[SHEETS].vertices;
    c->all_vertices = c->vertices + c->groups[BODIES].vertices;
    c->triangles = c->groups[SHEETS].triangles;
    status = build(c);
    if (status) {
        abuti_cloth_unbuild(c);
        *c = old;
        restore_numbers(c);
        return status;
    }
    keep_state(c, &old);
    abuti_cloth_unbuild(&old);
    abuti_cloth_unprepare(c);
    c->is_built = true;
    return ABUT_OK;
}
