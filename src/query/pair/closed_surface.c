/* A mesh as a closed surface: the topology of its triangles, its area and its volume.
 *
 * abut_pair_measure() spreads winding numbers over neighbouring triangles, so vertices with equal
 * coordinates are merged first. The closed surface is an attachment of the BVH: computed on first
 * use, refitted with it.
 */
#include "pair/contour.h"

#include <math.h>

static void destroy_closed_surface(bvh_attachment *attachment) {
    closed_surface *surface = (closed_surface *)(void *)attachment;
    abut_topology_destroy(surface->topology);
    abuti_release(attachment->context, surface->component_face);
    surface->topology = NULL;
    surface->component_face = NULL;
}

/* Creates the mesh with merged vertices, so that seams of a triangle soup become edges. */
static abut_status create_merged_mesh(const abut_mesh *mesh, const uint32_t *merged_vertex,
                                      abut_mesh **merged) {
    abut_context *context = mesh->context;
    uint32_t *indices = abuti_allocate(context, 3 * (size_t)mesh->triangle_count, sizeof *indices);
    vec3 *positions = abuti_allocate(context, mesh->vertex_count, sizeof *positions);
    if (!indices || !positions) {
        ABUTI_RELEASE(context, indices, positions);
        return ABUT_ERROR_MEMORY;
    }
    memcpy(positions, mesh->positions, mesh->vertex_count * sizeof *positions);
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        indices[i] = merged_vertex[mesh->indices[i]];
    return abuti_mesh_derive(context, "abut_pair_measure", positions, mesh->vertex_count, indices,
                             mesh->triangle_count, merged);
}

static abut_status create_topology(closed_surface *surface, const uint32_t *merged_vertex) {
    abut_mesh *mesh = surface->bvh->mesh, *merged = NULL;
    abut_status status = merged_vertex ? create_merged_mesh(mesh, merged_vertex, &merged) : ABUT_OK;
    status = status ? status : abut_topology_create(merged ? merged : mesh, &surface->topology);
    abut_mesh_destroy(merged); /* the topology holds a reference */
    if (status)
        return status;
    surface->view = surface->topology->view;
    surface->corner = surface->topology->mesh->indices;
    surface->component_face =
        abuti_allocate(surface->attachment.context, surface->view.component_count,
                       sizeof *surface->component_face);
    if (!surface->component_face)
        return ABUT_ERROR_MEMORY;
    for (uint32_t t = surface->view.triangle_count; t-- > 0;)
        surface->component_face[surface->view.triangle_component[t]] = t;
    return ABUT_OK;
}

/* In units of the BVH, in which products neither overflow nor underflow. */
static void compute_area_and_volume(closed_surface *surface) {
    const abut_mesh *mesh = surface->bvh->mesh;
    const double unit = surface->bvh->scale;
    surface->area = surface->volume = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * (size_t)t;
        vec3 a = v3_scale(mesh->positions[corner[0]], unit),
             b = v3_scale(mesh->positions[corner[1]], unit),
             c = v3_scale(mesh->positions[corner[2]], unit),
             n = v3_cross(v3_sub(b, a), v3_sub(c, a));
        surface->area += 0.5 * v3_length(n);
        surface->volume += v3_dot(n, a) / 6;
    }
}

static abut_status create_closed_surface(bvh_attachment *attachment, void *owner) {
    closed_surface *surface = (closed_surface *)(void *)attachment;
    const bvh_solid *solid;
    surface->bvh = owner;
    abut_status status = abuti_bvh_solid(surface->bvh, &solid);
    if (status)
        return status;
    surface->open = solid->border_count > 0;
    surface->flipped = surface->open && solid->flipped;
    if (surface->open)
        return ABUT_OK;
    compute_area_and_volume(surface);
    return create_topology(surface, solid->names);
}

/* Whether vertices that were merged still have equal coordinates. */
static bool merged_vertices_coincide(const closed_surface *surface) {
    const abut_mesh *mesh = surface->bvh->mesh;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        vec3 p = mesh->positions[mesh->indices[i]], q = mesh->positions[surface->corner[i]];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

static abut_status refit_closed_surface(bvh_attachment *attachment) {
    closed_surface *surface = (closed_surface *)(void *)attachment;
    if (surface->topology && merged_vertices_coincide(surface)) {
        compute_area_and_volume(surface);
        return ABUT_OK;
    }
    const abut_bvh *bvh = surface->bvh;
    destroy_closed_surface(attachment);
    return create_closed_surface(attachment, (void *)(uintptr_t)bvh);
}

static const bvh_attachment_kind closed_surface_kind = {sizeof(closed_surface),
                                                        create_closed_surface, refit_closed_surface,
                                                        destroy_closed_surface};

abut_status abuti_pair_closed_surface(const abut_bvh *bvh, const closed_surface **surface) {
    bvh_attachment *attachment;
    abut_status status = abuti_bvh_share_attachment(bvh, &closed_surface_kind, &attachment);
    if (!status)
        *surface = (const closed_surface *)(const void *)attachment;
    return status;
}
