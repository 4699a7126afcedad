/* Exact intersections of the current positions, and the check of the start. */
#include "cloth/cloth.h"

/* BVHs degrade as a mesh deforms; a build takes as long as a few refits. */
enum { REFITS_MAX = 50 };

/* A BVH is destroyed if its refit fails. */
abut_status abuti_cloth_fit(abut_cloth *c, int which) {
    cloth_group *g = &c->groups[which];
    abut_mesh *mesh = NULL;
    if (g->bvh && g->fit == g->moved)
        return ABUT_OK;
    abut_status status = cloth_fetch(c);
    if (status)
        return status;
    const abut_mesh_input input = abut_mesh_input_doubles(c->position + (which ? c->vertices : 0),
                                                          g->vertices, g->indices, g->triangles);
    abut_bvh_options options = abut_bvh_options_default();
    options.device = which == BODIES ? c->options.device : NULL;
    status = abut_mesh_create(c->context, &input, &mesh);
    const bool is_new = !g->bvh || g->refits >= REFITS_MAX;
    if (!status && !is_new)
        status = abut_bvh_set_mesh(g->bvh, mesh);
    if (status || is_new) {
        abut_bvh_destroy(g->bvh);
        g->bvh = NULL;
    }
    if (!status && is_new)
        status = abut_bvh_create(mesh, &options, &g->bvh);
    g->refits = is_new ? 0 : g->refits + 1;
    g->fit = g->moved;
    abut_mesh_destroy(mesh);
    return status;
}

/* ---- intersections ---- */

void abuti_cloth_release_pairs(abut_cloth *c, cloth_pairs *p) {
    ABUTI_RELEASE(c->context, p->selves.list, p->touches.list);
    *p = (cloth_pairs){0};
}

static abut_status find_selves(abut_cloth *c, cloth_pairs *p) {
    abut_status status = abut_pair_self_intersections(c->groups[SHEETS].bvh, NULL, &p->selves);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    p->selves.capacity = p->selves.count;
    p->selves.list = abuti_allocate(c->context, (size_t)p->selves.count, sizeof *p->selves.list);
    return p->selves.list ? abut_pair_self_intersections(c->groups[SHEETS].bvh, NULL, &p->selves)
                          : ABUT_ERROR_MEMORY;
}

static abut_status find_touches(abut_cloth *c, cloth_pairs *p) {
    const abut_collider a = abut_collider_from_bvh(c->groups[SHEETS].bvh, abut_pose_identity()),
                        b = abut_collider_from_bvh(c->groups[BODIES].bvh, abut_pose_identity());
    abut_status status = abut_pair_intersections(&a, &b, &p->touches);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    p->touches.capacity = p->touches.count;
    p->touches.list = abuti_allocate(c->context, (size_t)p->touches.count, sizeof *p->touches.list);
    return p->touches.list ? abut_pair_intersections(&a, &b, &p->touches) : ABUT_ERROR_MEMORY;
}

abut_status abuti_cloth_find_pairs(abut_cloth *c, bool with_selves, cloth_pairs *p) {
    const bool with_bodies = c->all_vertices > c->vertices;
    if (!c->vertices)
        return ABUT_OK;
    abut_status status = with_selves || with_bodies ? abuti_cloth_fit(c, SHEETS) : ABUT_OK;
    if (!status && with_selves)
        status = find_selves(c, p);
    if (!status && with_bodies)
        status = abuti_cloth_fit(c, BODIES);
    if (!status && with_bodies)
        status = find_touches(c, p);
    if (status)
        abuti_cloth_release_pairs(c, p);
    return status;
}

/* The sheet or body of a triangle, which becomes its index there. */
static uint32_t item_of(const abut_cloth *c, int which, uint32_t *triangle) {
    uint32_t i = cloth_count_of(c, which) - 1;
    while (cloth_item_of(c, which, i)->triangle > *triangle)
        i--;
    *triangle -= cloth_item_of(c, which, i)->triangle;
    return i;
}

static abut_cloth_intersection get_pair(const abut_cloth *c, const cloth_pairs *p, uint64_t i) {
    abut_cloth_intersection one = {.other_sheet = ABUT_NONE, .other_body = ABUT_NONE};
    if (i < p->selves.count) {
        one.triangle = p->selves.list[i].triangle[0];
        one.other_triangle = p->selves.list[i].triangle[1];
        one.other_sheet = item_of(c, SHEETS, &one.other_triangle);
    } else {
        one.triangle = p->touches.list[i - p->selves.count].triangle_a;
        one.other_triangle = p->touches.list[i - p->selves.count].triangle_b;
        one.other_body = item_of(c, BODIES, &one.other_triangle);
    }
    one.sheet = item_of(c, SHEETS, &one.triangle);
    return one;
}

abut_status abut_cloth_find_intersections(abut_cloth *cloth,
                                          abut_cloth_intersection_list *intersections) {
    abut_cloth *c = cloth;
    cloth_pairs p = {0};
    if (!c)
        return abuti_null(__func__, "cloth");
    abut_status status = ABUTI_LIST_CHECK(__func__, "intersections", intersections);
    if (!status)
        status = abuti_cloth_build(c);
    if (!status)
        status = abuti_cloth_find_pairs(c, true, &p);
    if (status)
        return status;
    const uint64_t count = p.selves.count + p.touches.count;
    status = ABUTI_LIST_COUNT(__func__, "intersections", intersections, count);
    for (uint64_t i = 0; i < count && !status; i++)
        intersections->list[i] = get_pair(c, &p, i);
    abuti_cloth_release_pairs(c, &p);
    return status;
}

abut_status abut_cloth_is_free(abut_cloth *cloth, bool *is_free) {
    cloth_pairs p = {0};
    if (!cloth || !is_free)
        return abuti_null(__func__, cloth ? "is_free" : "cloth");
    abut_status status = abuti_cloth_build(cloth);
    if (!status)
        status = abuti_cloth_find_pairs(cloth, true, &p);
    if (status)
        return status;
    *is_free = !p.selves.count && !p.touches.count;
    abuti_cloth_release_pairs(cloth, &p);
    return ABUT_OK;
}

/* ---- the start ---- */

static abut_status fail_start(const char *function, const abut_cloth *c, const cloth_pairs *p) {
    const uint64_t count = p->selves.count + p->touches.count;
    const abut_cloth_intersection one = get_pair(c, p, 0);
    const bool is_body = one.other_sheet == ABUT_NONE;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: triangle %u of sheet %u intersects triangle %u of %s %u%s; "
                      "a cloth must start without intersections. "
                      "abut_cloth_find_intersections() lists them, abut_cloth_untangle() moves "
                      "sheets apart",
                      function, one.triangle, one.sheet, one.other_triangle,
                      is_body ? "body" : "sheet", is_body ? one.other_body : one.other_sheet,
                      count > 1 ? ", and others intersect too" : "");
}

/* Returns the error for two vertices at one position, with what to do. */
static abut_status fail_coincident(const char *function, const abut_cloth *c,
                                   const uint32_t vertex[2], const uint32_t sheet[2]) {
    uint32_t local[2];
    vec3 given[2];
    for (int k = 0; k < 2; k++) {
        local[k] = vertex[k] - cloth_first_of(c, SHEETS, sheet[k]);
        given[k] = abuti_mesh_position(cloth_item_of(c, SHEETS, sheet[k])->mesh, local[k]);
    }
    const bool differ = v3_max_abs(v3_sub(given[0], given[1])) > 0;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT, "%s: vertex %u of sheet %u and vertex %u of sheet %u %s", function,
        local[0], sheet[0], local[1], sheet[1],
        differ ? "are equal after rounding to floats; move the system nearer to the origin"
        : sheet[0] == sheet[1] ? "are at the same position; abut_mesh_weld() merges vertices"
                               : "are at the same position; move the sheets apart");
}

/* Vertices at one position are the same vertex to the test of intersections, but not to a sweep,
 * which would never let them move. */
static abut_status check_coincident(const char *function, const abut_cloth *c) {
    uint32_t *lowest = abuti_allocate(c->context, c->vertices, sizeof *lowest);
    abut_status status =
        lowest ? abuti_coincident_vertices(c->context, c->position, c->vertices, lowest)
               : ABUT_ERROR_MEMORY;
    const uint32_t *faces = c->groups[SHEETS].view.vertex_face_begin;
    for (uint32_t v = 0; v < c->vertices && !status; v++) {
        const uint32_t u = lowest[v], a = c->part_of[u], b = c->part_of[v];
        if (u != v && faces[u] < faces[u + 1] && faces[v] < faces[v + 1])
            status = fail_coincident(function, c, (uint32_t[2]){u, v}, (uint32_t[2]){a, b});
    }
    abuti_release(c->context, lowest);
    return status;
}

abut_status abuti_cloth_check_start(const char *function, abut_cloth *c) {
    cloth_pairs p = {0};
    if (c->radial)
        return ABUT_OK;
    abut_status status = c->options.ignore_self ? ABUT_OK : check_coincident(function, c);
    if (!status)
        status = abuti_cloth_find_pairs(c, !c->options.ignore_self, &p);
    if (!status && p.selves.count + p.touches.count)
        status = fail_start(function, c, &p);
    abuti_cloth_release_pairs(c, &p);
    return status;
}
