/* A mesh as a closed surface: the topology of its triangles, its area and its volume.
 *
 * abut_pair_measure() spreads winding numbers over neighbouring triangles, so vertices with equal
 * coordinates are merged first. The closed surface is an attachment of the BVH: computed on first
 * use, refitted with it.
 */
#include "pair/contour.h"

#include <string.h>

static void destroy_closed_surface(bvh_attachment *attachment) {
    closed_surface *surface = (closed_surface *)(void *)attachment;
    abut_topology_destroy(surface->topology);
    abuti_release(attachment->context, surface->component_face);
    surface->topology = NULL;
    surface->component_face = NULL;
}

/* The index of a mesh that index i of a merged topology comes from. */
static size_t own_index(size_t i, bool is_reversed) {
    return is_reversed ? i - i % 3 + 2 - i % 3 : i;
}

abut_status abuti_pair_merged_topology(abut_mesh *mesh, const uint32_t *names, bool is_reversed,
                                       abut_topology **topology) {
    abut_mesh *merged = NULL;
    abut_context *context = mesh->context;
    if (!names && !is_reversed)
        return abut_topology_create(mesh, topology);
    uint32_t *indices = abuti_allocate(context, 3 * (size_t)mesh->triangle_count, sizeof *indices);
    vec3 *positions = abuti_allocate(context, mesh->vertex_count, sizeof *positions);
    if (!indices || !positions) {
        ABUTI_RELEASE(context, indices, positions);
        return ABUT_ERROR_MEMORY;
    }
    memcpy(positions, mesh->positions, mesh->vertex_count * sizeof *positions);
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        uint32_t vertex = mesh->indices[own_index(i, is_reversed)];
        indices[i] = names ? names[vertex] : vertex;
    }
    abut_status status =
        abuti_mesh_derive(context, "merged vertices", positions, mesh->vertex_count, indices,
                          mesh->triangle_count, &merged);
    if (!status)
        status = abut_topology_create(merged, topology);
    abut_mesh_destroy(merged); /* the topology holds a reference */
    return status;
}

bool abuti_pair_is_merged(const abut_mesh *mesh, bool is_reversed, const uint32_t *corner) {
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        vec3 p = mesh->positions[mesh->indices[own_index(i, is_reversed)]],
             q = mesh->positions[corner[i]];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

static abut_status create_topology(closed_surface *surface, const uint32_t *names) {
    abut_status status =
        abuti_pair_merged_topology(surface->bvh->mesh, names, false, &surface->topology);
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

static abut_status refit_closed_surface(bvh_attachment *attachment) {
    closed_surface *surface = (closed_surface *)(void *)attachment;
    if (surface->topology && abuti_pair_is_merged(surface->bvh->mesh, false, surface->corner)) {
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
