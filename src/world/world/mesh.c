/* Data that the world creates for meshes. Items with the same mesh and method share them. */
#include "world/world.h"

#include <math.h>

static const char function[] = "abut_world_add";

static double find_longest_edge(const abut_mesh *mesh) {
    double longest_sq = 0;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const size_t next = i % 3 == 2 ? i - 2 : i + 1;
        const vec3 way =
            v3_sub(mesh->positions[mesh->indices[next]], mesh->positions[mesh->indices[i]]);
        longest_sq = real_max(longest_sq, v3_length_sq(way));
    }
    return sqrt(longest_sq);
}

/* ---- creation ---- */

/* Cloth that hangs over a body may look like a solid with a hole. */
static abut_status create_bvh(const world_asset *a, abut_mesh *mesh, abut_bvh **bvh) {
    abut_status status = abut_bvh_create(mesh, NULL, bvh);
    if (!status)
        (*bvh)->has_no_inside = a->is_cloth;
    return status;
}

static abut_status create_asset(const abut_world *world, world_asset *a) {
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abuti_world_examine(world, a, &report);
    if (status)
        return status;
    a->longest_edge = find_longest_edge(a->mesh);
    abuti_world_choose_method(world, &report, a);
    const world_method *method = abuti_world_method_of_items(a->choice.method);
    status = create_bvh(a, a->mesh, &a->bvh);
    return status || !method->create ? status : method->create(world, &report, a);
}

static void destroy_asset(abut_context *context, world_asset *a) {
    const world_method *method = abuti_world_method_of_items(a->choice.method);
    if (method->destroy)
        method->destroy(a);
    abut_samples_destroy(a->samples);
    abut_field_destroy(a->field);
    abut_bvh_destroy(a->bvh);
    abut_topology_destroy(a->topology);
    abut_mesh_destroy(a->mesh);
    abut_mesh_destroy(a->given);
    abuti_release(context, a);
}

static abut_status check_mesh_item(const abut_world_item *item) {
    const abut_world_method m = item->method;
    if (!item->collider.shape.mesh.mesh)
        return abuti_null(function, "item->collider.shape.mesh.mesh");
    if (m == ABUT_WORLD_RADIAL)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: a mesh has no bones for the method radial; create radial fields with "
            "abut_radial_create_mesh() and add a character",
            function);
    if (m == ABUT_WORLD_FIELD && item->collider.shape.mesh.deforms)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a mesh that deforms would need a new field in each step; use the "
                          "method exact or map",
                          function);
    return ABUT_OK;
}

abut_status abuti_world_asset_acquire(abut_world *world, const abut_world_item *item, bool is_cloth,
                                      world_asset *mine, world_asset **asset) {
    world_asset **list = world->assets.data;
    const uint32_t resolution = item->collider.shape.mesh.resolution;
    abut_status status = check_mesh_item(item);
    if (status)
        return status;
    for (size_t i = 0; i < world->assets.count; i++)
        if (list[i]->given == item->collider.shape.mesh.mesh && list[i]->asked == item->method &&
            list[i]->resolution == resolution &&
            list[i]->deforms == item->collider.shape.mesh.deforms &&
            (!list[i]->deforms || list[i] == mine)) {
            list[i]->uses++;
            *asset = list[i];
            return ABUT_OK;
        }
    status =
        abuti_vector_reserve(world->context, &world->assets, world->assets.count + 1, sizeof *list);
    world_asset *made = status ? NULL : abuti_allocate_zeroed(world->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->uses = 1;
    made->given = abut_mesh_retain((abut_mesh *)(uintptr_t)item->collider.shape.mesh.mesh);
    made->mesh = abut_mesh_retain(made->given);
    made->asked = item->method;
    made->resolution = resolution;
    made->deforms = item->collider.shape.mesh.deforms;
    made->is_cloth = is_cloth;
    if ((status = create_asset(world, made))) {
        destroy_asset(world->context, made);
        return status;
    }
    ((world_asset **)world->assets.data)[world->assets.count++] = made;
    *asset = made;
    return ABUT_OK;
}

void abuti_world_asset_release(abut_world *world, world_asset *asset) {
    world_asset **list = world->assets.data;
    if (!asset || --asset->uses)
        return;
    size_t i = 0;
    while (list[i] != asset)
        i++;
    list[i] = list[--world->assets.count];
    destroy_asset(world->context, asset);
}

/* ---- new positions ---- */

/* The BVH is only refitted, so that contacts, whose sums are in its order, do not depend on earlier
 * shapes: a saved state can be restored. */
abut_status abuti_world_asset_deform(world_asset *a, const abut_vec3 *positions) {
    const world_method *method = abuti_world_method_of_items(a->choice.method);
    abut_mesh *old = a->mesh, *mesh = NULL;
    const abut_mesh_input input =
        abut_mesh_input_doubles(positions, old->vertex_count, old->indices, old->triangle_count);
    abut_status status = abut_mesh_create(old->context, &input, &mesh);
    if (!status && (status = abut_bvh_set_mesh(a->bvh, mesh)))
        (void)abut_bvh_set_mesh(a->bvh, old); /* boxes never fail; the rest is created on demand */
    if (!status && method->set_mesh)
        status = method->set_mesh(a, mesh);
    if (status) {
        abut_mesh_destroy(mesh);
        return status;
    }
    a->mesh = mesh;
    a->has_health = false;
    a->longest_edge = find_longest_edge(mesh);
    abut_mesh_destroy(old);
    return ABUT_OK;
}
