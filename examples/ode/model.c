/* See model.h. */
#include "model.h"

#include <math.h>
#include <stdlib.h>

static double longest_side(const abut_mesh *mesh) {
    const abut_box box = abut_mesh_bounds(mesh);
    return fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
}

/* Scales a mesh, moves its centroid to the origin, and computes the mass of its volume. */
static abut_status centre_mesh(const abut_mesh *raw, double scale, model *m) {
    abut_topology *topology = NULL;
    abut_mesh *scaled = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abut_mesh_transform(raw, scale, abut_pose_identity(), &scaled);
    if (status)
        return status;
    status = abut_topology_create(scaled, &topology);
    if (status)
        goto done;
    status = abut_mesh_examine(topology, &report);
    if (status)
        goto done;
    const abut_vec3 c = report.centroid;
    const double *i = report.inertia;
    dMassSetParameters(&m->mass, report.volume, 0, 0, 0, i[0], i[1], i[2], i[3], i[5], i[4]);
    status =
        abut_mesh_transform(scaled, 1, (abut_pose){{0, 0, 0, 0}, {-c.x, -c.y, -c.z}}, &m->mesh);
done:
    abut_topology_destroy(topology);
    abut_mesh_destroy(scaled);
    return status;
}

abut_status model_create(abut_mesh *raw, double size, bool is_fixed, model *made) {
    const double longest = longest_side(raw);
    abut_status status = ABUT_OK;
    made->size = size > 0 ? size : longest;
    if (is_fixed)
        made->mesh = abut_mesh_retain(raw);
    else
        status = centre_mesh(raw, made->size / longest, made);
    abut_mesh_destroy(raw);
    if (status)
        return status;
    const abut_box box = abut_mesh_bounds(made->mesh);
    made->radius = sqrt(pow(fmax(-box.lo.x, box.hi.x), 2) + pow(fmax(-box.lo.y, box.hi.y), 2) +
                        pow(fmax(-box.lo.z, box.hi.z), 2));
    return abut_bvh_create(made->mesh, NULL, &made->bvh);
}

abut_status model_add_field(model *m, uint32_t cells, abut_device *device) {
    abut_field_options field = abut_field_options_default();
    abut_samples_options samples = abut_samples_options_default();
    abut_field_info info = abut_field_info_default();
    if (m->field)
        return ABUT_OK;
    field.cells = cells;
    field.device = device;
    abut_status status = abut_field_create_from(m->bvh, &field, &m->field);
    if (!status)
        status = abut_field_get_info(m->field, &info);
    samples.cell = info.grid.cell;
    return status || !(m->mass.mass > 0) ? status
                                         : abut_samples_create(m->mesh, &samples, &m->samples);
}

/* ODE does not copy the indices of the mesh. */
abut_status model_add_trimesh(model *m) {
    const uint32_t vertices = abut_mesh_vertex_count(m->mesh);
    const abut_vec3 *from = abut_mesh_local_positions(m->mesh);
    const abut_vec3 origin = abut_mesh_local_origin(m->mesh);
    if (m->data)
        return ABUT_OK;
    m->positions = malloc(3 * (size_t)vertices * sizeof *m->positions);
    if (!m->positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < vertices; i++) {
        m->positions[3 * i] = (float)(origin.x + from[i].x);
        m->positions[3 * i + 1] = (float)(origin.y + from[i].y);
        m->positions[3 * i + 2] = (float)(origin.z + from[i].z);
    }
    m->data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(m->data, m->positions, 3 * sizeof(float), (int)vertices,
                                abut_mesh_indices(m->mesh),
                                (int)(3 * abut_mesh_triangle_count(m->mesh)), 3 * sizeof(uint32_t));
    return ABUT_OK;
}

void model_destroy(model *m) {
    if (m->data)
        dGeomTriMeshDataDestroy(m->data);
    free(m->positions);
    abut_samples_destroy(m->samples);
    abut_field_destroy(m->field);
    abut_bvh_destroy(m->bvh);
    abut_mesh_destroy(m->mesh);
}
