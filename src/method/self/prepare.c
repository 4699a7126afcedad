/* Preparation of a mesh: lists of the triangles around vertices and edges, and ghost triangles for
 * its holes (Cheng 2011, section 4.1.4). Its clusters of triangles (section 4.2.3) save no time
 * here: docs/self.md. */
#include "self/self.h"

#include <math.h>

/* ---- lists ---- */

/* Sorts triangles into lists by `keys`, three per triangle; ABUT_NONE is skipped. */
static abut_status make_lists(abut_context *context, const uint32_t *keys, uint32_t triangles,
                              uint32_t key_count, view_lists *lists) {
    lists->begin = abuti_allocate_zeroed(context, (size_t)key_count + 2, sizeof *lists->begin);
    lists->items = abuti_allocate(context, 3 * (size_t)triangles, sizeof *lists->items);
    if (!lists->begin || !lists->items)
        return ABUT_ERROR_MEMORY;
    uint32_t *begin = lists->begin;
    for (size_t i = 0; i < 3 * (size_t)triangles; i++)
        if (keys[i] != ABUT_NONE)
            begin[keys[i] + 2]++;
    for (uint32_t i = 0; i < key_count; i++)
        begin[i + 2] += begin[i + 1];
    for (size_t i = 0; i < 3 * (size_t)triangles; i++)
        if (keys[i] != ABUT_NONE)
            lists->items[begin[keys[i] + 1]++] = (uint32_t)(i / 3);
    return ABUT_OK;
}

/* ---- holes ---- */

/* Whether each edge has at most two faces, with opposite directions, and no triangle has a vertex
 * twice. */
static bool is_usable(const abut_self *view, const abut_topology_arrays *t) {
    for (uint32_t i = 0; i < view->triangle_count; i++)
        if (abuti_is_collapsed(view->corners + 3 * (size_t)i))
            return false;
    for (uint32_t i = 0; i < t->edge_count; i++) {
        const uint32_t *faces;
        uint32_t count = abuti_edge_faces(t, i, &faces);
        if (count > 2 || count == 0 ||
            (count == 2 && abuti_runs_up(t, view->corners, faces[0], i) ==
                               abuti_runs_up(t, view->corners, faces[1], i)))
            return false;
    }
    return t->chain_count == 0;
}

/* Ghosts run opposite to the faces along the hole, so that the result is closed. */
static void add_ghosts(abut_self *view, const abut_topology_arrays *t) {
    uint32_t *corner = view->corners + 3 * (size_t)view->triangle_count;
    for (uint32_t i = 0; i < t->loop_count; i++)
        for (uint32_t j = t->loop_begin[i]; j < t->loop_begin[i + 1]; j++, corner += 3) {
            uint32_t after = j + 1 < t->loop_begin[i + 1] ? j + 1 : t->loop_begin[i];
            corner[0] = t->loop_vertices[after];
            corner[1] = t->loop_vertices[j];
            corner[2] = view->vertex_count + i;
        }
}

/* Height of a ghost vertex above its hole, relative to the square root of the hole's area: a flat
 * sheet would otherwise coincide with its own ghosts. */
#define GHOST_HEIGHT 0.5

/* In front of the centre of the hole, on its outer side. */
static vec3 compute_ghost_vertex(const vec3 *positions, const uint32_t *loop, uint32_t count) {
    double share = 1.0 / count, size = 0;
    vec3 mean = v3(0, 0, 0), area = v3(0, 0, 0);
    for (uint32_t j = 0; j < count; j++)
        mean = v3_along(mean, share, positions[loop[j]]);
    for (uint32_t j = 0; j < count; j++)
        size = real_max(size, v3_max_abs(v3_sub(positions[loop[j]], mean)));
    double scale = size > 1e-200 ? 1 / size : 0;
    for (uint32_t j = 0; j < count; j++) {
        vec3 from = v3_sub(positions[loop[j]], mean);
        vec3 to = v3_sub(positions[loop[j + 1 < count ? j + 1 : 0]], mean);
        area = v3_add(area, v3_cross(v3_scale(from, scale), v3_scale(to, scale)));
    }
    /* the direction that the ghosts face, opposite to the loop */
    double root = sqrt(v3_length(area) * 0.5);
    return v3_along(mean, -GHOST_HEIGHT * size * root, v3_normalise(area));
}

void abuti_view_place_ghosts(const abut_self *view, vec3 *positions) {
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    for (uint32_t i = 0; i < view->hole_count; i++)
        positions[view->vertex_count + i] =
            compute_ghost_vertex(positions, t.loop_vertices + t.loop_begin[i],
                                 t.loop_begin[i + 1] - t.loop_begin[i]);
}

/* ---- entry point ---- */

/* Decides whether sets may save time. In every step all components except one are violated. */
static abut_status choose_sets(abut_self *view, const abut_topology_arrays *t) {
    const abut_self_scheme scheme = view->options.scheme;
    view->has_sets = view->usable && scheme != ABUT_SELF_COMPLETE;
    if (scheme != ABUT_SELF_AUTO || !view->usable)
        return ABUT_OK;
    uint32_t *counts = abuti_allocate_zeroed(view->context, t->component_count, sizeof *counts);
    if (!counts)
        return ABUT_ERROR_MEMORY;
    uint32_t largest = 0;
    for (uint32_t i = 0; i < view->triangle_count; i++) {
        const uint32_t count = ++counts[t->triangle_component[i]];
        largest = count > largest ? count : largest;
    }
    abuti_release(view->context, counts);
    view->has_sets = !view->options.device &&
                     view->triangle_count - largest <= view->triangle_count / DOUBT_SHARE;
    return ABUT_OK;
}

static abut_status build_corners(abut_self *view, const abut_topology_arrays *t) {
    size_t all = (size_t)view->triangle_count + view->ghost_count;
    if (all > UINT32_MAX / 4)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_self_create: the mesh has %zu triangles including those that close "
                          "its holes; at most %u are supported",
                          all, UINT32_MAX / 4);
    view->corners = abuti_allocate(view->context, all, 3 * sizeof *view->corners);
    if (!view->corners)
        return ABUT_ERROR_MEMORY;
    memcpy(view->corners, view->mesh->indices,
           3 * (size_t)view->triangle_count * sizeof *view->corners);
    if (view->ghost_count)
        add_ghosts(view, t);
    return ABUT_OK;
}

abut_status abuti_view_prepare(abut_self *view) {
    abut_status status = abut_topology_create(view->mesh, &view->topology);
    if (status)
        return status;
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    view->part_count = t.component_count;
    view->hole_count = t.loop_count;
    view->ghost_count = t.loop_begin[t.loop_count];
    view->edge_count = t.edge_count;
    status = build_corners(view, &t);
    if (!status) {
        view->usable = is_usable(view, &t);
        status = choose_sets(view, &t);
    }
    if (status)
        return status;
    if (!view->has_sets) {
        abut_topology_destroy(view->topology);
        view->topology = NULL;
        return ABUT_OK;
    }
    status = make_lists(view->context, view->corners, view->triangle_count, view->vertex_count,
                        &view->of_vertex);
    if (!status)
        status = make_lists(view->context, t.triangle_edges, view->triangle_count, t.edge_count,
                            &view->of_edge);
    return status;
}
