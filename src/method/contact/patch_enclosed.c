/* Regions of the overlap without a contour.
 *
 * Problem: a body that is slightly larger than a closed cavity of the other body overlaps it on all
 * sides. Its surface is completely inside the other body, and the surface of the cavity is
 * completely inside it. So no surfaces intersect, but the walls of the cavity enclose the body.
 *
 * Method: all triangles of both surfaces are facets of one region, and all their vertices are
 * inside. Its walls are then measured like those of any other region. */
#include "contact/patch.h"

/* Adds the triangles and vertices of a component to the last region. */
static void add_component(patch_work *work, uint32_t side, uint32_t component) {
    patch_body *body = &work->body[side];
    const abut_topology_arrays *view = &body->skin->view;
    const uint32_t region = (uint32_t)work->region_count - 1;
    patch_region *r = &work->regions[region];
    for (uint32_t t = 0; t < view->triangle_count; t++) {
        if (view->triangle_component[t] != component)
            continue;
        vec3 corner[3];
        for (int k = 0; k < 3; k++)
            corner[k] =
                v3_sub(patch_skin_position(body, body->skin->corner[3 * (size_t)t + (size_t)k]),
                       r->origin);
        const vec3 area =
            v3_scale(v3_cross(v3_sub(corner[1], corner[0]), v3_sub(corner[2], corner[0])), 0.5);
        r->volume += v3_dot(corner[0], area) / 3;
        work->facets[r->facet_end++] = (patch_facet){side, t, region, area};
    }
    for (uint32_t v = 0; v < view->vertex_count; v++) {
        const uint32_t first = view->vertex_face_begin[v];
        if (first == view->vertex_face_begin[v + 1] ||
            view->triangle_component[view->vertex_faces[first]] != component)
            continue;
        work->region_vertices[r->vertex_end++] = (uint32_t)work->vertex_count;
        work->vertices[work->vertex_count++] =
            (patch_vertex){.side = side, .vertex = v, .at = patch_skin_position(body, v)};
    }
}

abut_status abuti_patch_add_cavity_region(patch_work *work, uint32_t side, uint32_t component,
                                          const bool *cavities) {
    const abut_topology_arrays *views[2] = {&work->body[0].skin->view, &work->body[1].skin->view};
    const size_t triangles = (size_t)views[0]->triangle_count + views[1]->triangle_count,
                 vertices = (size_t)views[0]->vertex_count + views[1]->vertex_count;
    const patch_region *last = work->region_count ? &work->regions[work->region_count - 1] : NULL;
    const uint32_t facet_end = last ? last->facet_end : 0, vertex_end = last ? last->vertex_end : 0;
    patch_memory *memory = work->memory;
    size_t inner_capacity = 0;
    abut_status status = abuti_patch_grow(memory, &work->facets, facet_end, facet_end + triangles,
                                          sizeof *work->facets, &work->facet_capacity);
    if (!status)
        status = abuti_patch_grow(memory, &work->vertices, work->vertex_count,
                                  work->vertex_count + vertices, sizeof *work->vertices,
                                  &work->vertex_capacity);
    if (!status)
        status = abuti_patch_grow(memory, &work->region_vertices, vertex_end, vertex_end + vertices,
                                  sizeof *work->region_vertices, &inner_capacity);
    if (!status)
        status =
            abuti_patch_grow(memory, &work->regions, work->region_count, work->region_count + 1,
                             sizeof *work->regions, &work->region_capacity);
    if (status)
        return status;
    const patch_skin *skin = work->body[side].skin;
    const vec3 origin = patch_position(&work->body[side],
                                       skin->corner[3 * (size_t)skin->components[component].face]);
    work->regions[work->region_count++] = (patch_region){.origin = origin,
                                                         .centre = origin,
                                                         .length = skin->size,
                                                         .facet_begin = facet_end,
                                                         .facet_end = facet_end,
                                                         .vertex_begin = vertex_end,
                                                         .vertex_end = vertex_end};
    add_component(work, side, component);
    for (uint32_t i = 0; i < views[!side]->component_count; i++)
        if (cavities[i])
            add_component(work, !side, i);
    work->facet_count = work->regions[work->region_count - 1].facet_end;
    return ABUT_OK;
}
