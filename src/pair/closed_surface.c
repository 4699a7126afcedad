/* A mesh as a closed surface: the topology of its triangles, its area and volume. */
#include "pair/contour.h"

#include <math.h>

static void destroy(bvh_part *part) {
    pair_shell *shell = (pair_shell *)(void *)part;
    abut_topology_destroy(shell->topology);
    abuti_release(part->context, shell->part_face);
    shell->topology = NULL;
    shell->part_face = NULL;
}

/* The mesh with vertices of one name as one, so that seams of a soup are edges. */
static abut_status named_mesh(const abut_mesh *mesh, const uint32_t *names, abut_mesh **named) {
    abut_context *context = mesh->context;
    uint32_t *indices = abuti_allocate(context, 3 * (size_t)mesh->triangle_count, sizeof *indices);
    vec3 *positions = abuti_allocate(context, mesh->vertex_count, sizeof *positions);
    if (!indices || !positions) {
        ABUTI_RELEASE(context, indices, positions);
        return ABUT_ERROR_MEMORY;
    }
    memcpy(positions, mesh->positions, mesh->vertex_count * sizeof *positions);
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        indices[i] = names[mesh->indices[i]];
    return abuti_mesh_derive(context, "abut_pair_measure", positions, mesh->vertex_count, indices,
                             mesh->triangle_count, named);
}

static abut_status make_topology(pair_shell *shell, const uint32_t *names) {
    abut_mesh *mesh = shell->bvh->mesh, *named = NULL;
    abut_status status = names ? named_mesh(mesh, names, &named) : ABUT_OK;
    status = status ? status : abut_topology_create(named ? named : mesh, &shell->topology);
    abut_mesh_destroy(named); /* the topology keeps it */
    if (status)
        return status;
    shell->view = shell->topology->view;
    shell->corner = shell->topology->mesh->indices;
    shell->part_face =
        abuti_allocate(shell->part.context, shell->view.component_count, sizeof *shell->part_face);
    if (!shell->part_face)
        return ABUT_ERROR_MEMORY;
    for (uint32_t t = shell->view.triangle_count; t-- > 0;)
        shell->part_face[shell->view.triangle_component[t]] = t;
    return ABUT_OK;
}

/* In units of the hierarchy, in which products neither overflow nor underflow. */
static void compute_area_and_volume(pair_shell *shell) {
    const abut_mesh *mesh = shell->bvh->mesh;
    const double unit = shell->bvh->scale;
    shell->area = shell->volume = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * (size_t)t;
        vec3 a = v3_scale(mesh->positions[corner[0]], unit),
             b = v3_scale(mesh->positions[corner[1]], unit),
             c = v3_scale(mesh->positions[corner[2]], unit),
             n = v3_cross(v3_sub(b, a), v3_sub(c, a));
        shell->area += 0.5 * v3_length(n);
        shell->volume += v3_dot(n, a) / 6;
    }
}

static abut_status create(bvh_part *part, void *owner) {
    pair_shell *shell = (pair_shell *)(void *)part;
    const bvh_solid *solid;
    shell->bvh = owner;
    abut_status status = abuti_bvh_solid(shell->bvh, &solid);
    if (status)
        return status;
    shell->open = solid->border_count > 0;
    shell->flipped = shell->open && solid->flipped;
    if (shell->open)
        return ABUT_OK;
    compute_area_and_volume(shell);
    return make_topology(shell, solid->names);
}

/* Whether vertices that were in one place still are. */
static bool names_hold(const pair_shell *shell) {
    const abut_mesh *mesh = shell->bvh->mesh;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        vec3 p = mesh->positions[mesh->indices[i]], q = mesh->positions[shell->corner[i]];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

static abut_status refit(bvh_part *part) {
    pair_shell *shell = (pair_shell *)(void *)part;
    if (shell->topology && names_hold(shell)) {
        compute_area_and_volume(shell);
        return ABUT_OK;
    }
    const abut_bvh *bvh = shell->bvh;
    destroy(part);
    return create(part, (void *)(uintptr_t)bvh);
}

static const bvh_part_kind shell_kind = {sizeof(pair_shell), create, refit, destroy};

abut_status abuti_pair_shell(const abut_bvh *bvh, const pair_shell **shell) {
    bvh_part *part;
    abut_status status = abuti_bvh_part_share(bvh, &shell_kind, &part);
    if (!status)
        *shell = (const pair_shell *)(const void *)part;
    return status;
}
