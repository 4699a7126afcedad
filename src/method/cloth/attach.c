/* Attachments of vertices to moving targets: pins and springs, at points that the caller sets or at
 * points of bodies. */
#include "cloth/cloth.h"

/* ---- binding ---- */

/* Expresses a point near a triangle by barycentric weights of its corners and a height above it.
 * The weights are those of the foot of the perpendicular, which may be outside the triangle. */
static void express_in_triangle(const vec3 *corner, vec3 at, const abut_nearest *n,
                                abut_cloth_attachment *a) {
    vec3 ab = v3_sub(corner[1], corner[0]), ac = v3_sub(corner[2], corner[0]);
    vec3 normal = v3_cross(ab, ac), off = v3_sub(at, corner[0]);
    double area = cloth_length(normal), sq = v3_dot(normal, normal);
    memcpy(a->weights, n->barycentric, sizeof a->weights);
    if (!(area > 0) || !(sq > 0))
        return;
    double v = v3_dot(v3_cross(off, ac), normal) / sq, w = v3_dot(v3_cross(ab, off), normal) / sq;
    double far = fmax(fmax(fabs(v), fabs(w)), fabs(1 - v - w));
    if (far < 4) { /* on thin triangles, weights outside the triangle would amplify its rotation */
        a->weights[0] = 1 - v - w;
        a->weights[1] = v;
        a->weights[2] = w;
    }
    a->offset = v3_dot(off, normal) / area;
}

/* Creates a BVH of the body, which is needed once. */
static abut_status bind_to_body(abut_cloth *c, uint32_t first, uint32_t body,
                                const uint32_t *vertices, uint32_t count,
                                abut_cloth_attachment *attachments) {
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_status status = abut_cloth_create_body_mesh(c, body, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &bvh);
    for (uint32_t i = 0; i < count && !status; i++) {
        const vec3 at = c->position[first + vertices[i]];
        abut_nearest n;
        status = abut_nearest_point(bvh, at, (double)INFINITY, &n);
        if (status)
            break;
        vec3 corner[3];
        for (uint32_t k = 0; k < 3; k++)
            corner[k] = abuti_mesh_position(mesh, mesh->indices[3 * (size_t)n.triangle + k]);
        attachments[i].triangle = n.triangle;
        express_in_triangle(corner, at, &n, &attachments[i]);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

/* Fails for a vertex that the sheet does not have. */
static abut_status check_vertices(const char *function, const abut_cloth *c, uint32_t sheet,
                                  const uint32_t *vertices, uint32_t count) {
    abut_status status = abuti_cloth_check(function, c, SHEETS, sheet);
    if (status)
        return status;
    const uint32_t all = cloth_item_of(c, SHEETS, sheet)->mesh->vertex_count;
    if (count && !vertices)
        return abuti_null(function, "vertices");
    for (uint32_t i = 0; i < count; i++)
        if (vertices[i] >= all)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: vertices[%u] is %u; the sheet has %u vertices", function, i,
                              vertices[i], all);
    return ABUT_OK;
}

/* The same, and builds. */
static abut_status open_vertices(const char *function, abut_cloth *c, uint32_t sheet,
                                 const uint32_t *vertices, uint32_t count) {
    abut_status status = check_vertices(function, c, sheet, vertices, count);
    return status ? status : abuti_cloth_build(c);
}

abut_status abut_cloth_bind(abut_cloth *cloth, uint32_t sheet, uint32_t body,
                            const uint32_t *vertices, uint32_t count, double stiffness,
                            abut_cloth_attachment *attachments) {
    abut_cloth *c = cloth;
    abut_status status = check_vertices(__func__, c, sheet, vertices, count);
    if (!status && body != ABUT_NONE)
        status = abuti_cloth_check(__func__, c, BODIES, body);
    if (!status && count && !attachments)
        status = abuti_null(__func__, "attachments");
    if (!status)
        status = abuti_check_range(__func__, "stiffness", stiffness, 0, 1e30, "N/m");
    if (!status)
        status = abuti_cloth_build(c);
    abut_cloth_attachment *made =
        status ? NULL : abuti_allocate_zeroed(c->context, count, sizeof *made);
    if (!made)
        return status ? status : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        made[i] = (abut_cloth_attachment){.vertex = vertices[i],
                                          .body = body,
                                          .triangle = ABUT_NONE,
                                          .stiffness = stiffness};
    if (body != ABUT_NONE && count)
        status = bind_to_body(c, cloth_first_of(c, SHEETS, sheet), body, vertices, count, made);
    if (!status && count)
        memcpy(attachments, made, count * sizeof *made);
    abuti_release(c->context, made);
    return status;
}

/* ---- attaching ---- */

/* Rounding errors of the sum of weights that callers compute in floats. */
#define WEIGHT_TOLERANCE 1e-5

static bool is_sane(double number) {
    return fabs(number) <= ABUT_CLOTH_COORDINATE_MAX;
}

bool abuti_cloth_weights_are_valid(const double weights[3], double offset) {
    return is_sane(weights[0]) && is_sane(weights[1]) && is_sane(weights[2]) && is_sane(offset) &&
           fabs(weights[0] + weights[1] + weights[2] - 1) <= WEIGHT_TOLERANCE;
}

/* Without duplicates: those need all vertices. */
static abut_status check_attachment(const char *function, const abut_cloth *c, uint32_t sheet,
                                    const abut_cloth_attachment *list, uint32_t i) {
    const abut_cloth_attachment *a = &list[i];
    const uint32_t vertices = cloth_item_of(c, SHEETS, sheet)->mesh->vertex_count;
    if (a->vertex >= vertices)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: attachments[%u].vertex is %u; the sheet has %u vertices", function,
                          i, a->vertex, vertices);
    if (!(a->stiffness >= 0 && a->stiffness <= 1e30))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: attachments[%u].stiffness is %g; it must be from 0 to 1e30 N/m",
                          function, i, a->stiffness);
    if (a->body == ABUT_NONE)
        return ABUT_OK;
    if (a->body >= cloth_count_of(c, BODIES) || !cloth_item_of(c, BODIES, a->body)->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: attachments[%u].body is %u, which does not exist; ABUT_NONE is a "
                          "point",
                          function, i, a->body);
    const uint32_t triangles = cloth_item_of(c, BODIES, a->body)->mesh->triangle_count;
    if (a->triangle >= triangles)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: attachments[%u].triangle is %u; the body has %u triangles", function,
                          i, a->triangle, triangles);
    if (!is_sane(a->weights[0]) || !is_sane(a->weights[1]) || !is_sane(a->weights[2]) ||
        !is_sane(a->offset))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: attachments[%u] has a weight or an offset that is not finite or "
                          "beyond %g",
                          function, i, ABUT_CLOTH_COORDINATE_MAX);
    const double sum = a->weights[0] + a->weights[1] + a->weights[2];
    if (!(fabs(sum - 1) <= WEIGHT_TOLERANCE))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the weights of attachments[%u] sum to %g; the sum must be 1",
                          function, i, sum);
    return ABUT_OK;
}

static abut_status check_attachments(const char *function, const abut_cloth *c, uint32_t sheet,
                                     const abut_cloth_attachment *list, uint32_t count) {
    const uint32_t vertices = cloth_item_of(c, SHEETS, sheet)->mesh->vertex_count;
    unsigned char *seen = abuti_allocate_zeroed(c->context, vertices, 1);
    abut_status status = seen ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count && !status; i++) {
        status = check_attachment(function, c, sheet, list, i);
        if (!status && seen[list[i].vertex]++)
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: attachments[%u] is the second one of vertex %u", function, i,
                                list[i].vertex);
    }
    abuti_release(c->context, seen);
    return status;
}

/* The vertex moves freely again. */
static void free_vertex(abut_cloth *c, uint32_t v) {
    c->inverse_mass[v] = c->mass[v] > 0 ? 1 / c->mass[v] : 0;
}

static void drop_hold(abut_cloth *c, uint32_t h) {
    cloth_hold *holds = c->holds.data;
    vec3 *given = c->given.data;
    const uint32_t v = holds[h].vertex;
    const size_t last = --c->holds.count; /* it takes the place of the removed one */
    c->held_of[holds[last].vertex] = h;
    c->held_of[v] = ABUT_NONE;
    holds[h] = holds[last];
    memcpy(&given[2 * (size_t)h], &given[2 * last], 2 * sizeof *given);
    c->given.count = 2 * c->holds.count;
    free_vertex(c, v);
    c->holds_changed = true;
}

void abuti_cloth_drop_all_holds(abut_cloth *c) {
    while (c->holds.count)
        drop_hold(c, (uint32_t)c->holds.count - 1);
    c->holds_changed = true;
}

abut_status abut_cloth_attach(abut_cloth *cloth, uint32_t sheet,
                              const abut_cloth_attachment *attachments, uint32_t count) {
    abut_cloth *c = cloth;
    abut_status status = abuti_cloth_check(__func__, c, SHEETS, sheet);
    if (!status && count && !attachments)
        status = abuti_null(__func__, "attachments");
    if (!status)
        status = check_attachments(__func__, c, sheet, attachments, count);
    if (!status)
        status = cloth_open(c);
    if (!status)
        status =
            abuti_vector_reserve(c->context, &c->holds, c->holds.count + count, sizeof(cloth_hold));
    if (!status)
        status =
            abuti_vector_reserve(c->context, &c->given, 2 * (c->holds.count + count), sizeof(vec3));
    if (status)
        return status;
    const uint32_t first = cloth_first_of(c, SHEETS, sheet);
    for (uint32_t i = 0; i < count; i++) {
        const abut_cloth_attachment *a = &attachments[i];
        const uint32_t v = first + a->vertex;
        if (c->held_of[v] == ABUT_NONE)
            c->held_of[v] = (uint32_t)c->holds.count++;
        const uint32_t h = c->held_of[v];
        cloth_hold hold = {.vertex = v,
                           .triangle = ABUT_NONE,
                           .compliance = a->stiffness > 0 ? 1 / a->stiffness : 0,
                           .mass = c->mass[v]};
        if (a->body != ABUT_NONE) {
            hold.triangle = cloth_item_of(c, BODIES, a->body)->triangle + a->triangle;
            memcpy(hold.weight, a->weights, sizeof hold.weight);
            hold.offset = a->offset;
        }
        ABUTI_AT(&c->holds, cloth_hold, h) = hold;
        for (size_t k = 0; k < 2; k++)
            ABUTI_AT(&c->given, vec3, 2 * (size_t)h + k) = c->position[v];
        free_vertex(c, v);
        if (!(hold.compliance > 0))
            c->inverse_mass[v] = 0;
    }
    c->given.count = 2 * c->holds.count;
    c->holds_changed = true;
    return ABUT_OK;
}

abut_status abut_cloth_detach(abut_cloth *cloth, uint32_t sheet, const uint32_t *vertices,
                              uint32_t count) {
    abut_cloth *c = cloth;
    abut_status status = open_vertices(__func__, c, sheet, vertices, count);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t h = c->held_of[cloth_first_of(c, SHEETS, sheet) + vertices[i]];
        if (h != ABUT_NONE)
            drop_hold(c, h);
    }
    return ABUT_OK;
}

void abuti_cloth_drop_holds(abut_cloth *c, int group, const cloth_item *item) {
    if (item->vertex == ABUT_NONE)
        return;
    const uint32_t first = group ? item->triangle : item->vertex,
                   count = group ? cloth_triangles_of(item) : cloth_vertices_of(item);
    for (uint32_t h = (uint32_t)c->holds.count; h-- > 0;) {
        const cloth_hold *hold = &ABUTI_AT(&c->holds, cloth_hold, h);
        const uint32_t at = group ? hold->triangle : hold->vertex;
        if (at >= first && at - first < count)
            drop_hold(c, h);
    }
}

abut_status abut_cloth_set_targets(abut_cloth *cloth, uint32_t sheet, const uint32_t *vertices,
                                   abut_array targets, uint32_t count) {
    abut_cloth *c = cloth;
    abut_status status = open_vertices(__func__, c, sheet, vertices, count);
    if (status)
        return status;
    const uint32_t first = cloth_first_of(c, SHEETS, sheet);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t h = c->held_of[first + vertices[i]];
        if (h == ABUT_NONE || ABUTI_AT(&c->holds, cloth_hold, h).triangle != ABUT_NONE)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: vertices[%u] is %u, which is not attached to a point", __func__,
                              i, vertices[i]);
    }
    const vec3 *list;
    vec3 *copy;
    status = abuti_cloth_read(__func__, "targets", c, targets, count, &list, &copy);
    for (uint32_t i = 0; i < count && !status; i++)
        ABUTI_AT(&c->given, vec3, 2 * (size_t)c->held_of[first + vertices[i]] + 1) = list[i];
    abuti_release(c->context, copy);
    return status;
}

/* ---- a step ---- */

void abuti_cloth_finish_holds(abut_cloth *c) {
    for (size_t i = 0; i < c->holds.count; i++)
        ABUTI_AT(&c->given, vec3, 2 * i) = ABUTI_AT(&c->given, vec3, 2 * i + 1);
    c->holds_changed = false;
}
