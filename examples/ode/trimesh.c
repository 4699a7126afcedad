/* See trimesh.h. */
#include "trimesh.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

abut_status trimesh_create(const abut_mesh *mesh, trimesh *made) {
    uint32_t vertices = abut_mesh_vertex_count(mesh);
    const abut_vec3 *from = abut_mesh_local_positions(mesh);
    abut_vec3 origin = abut_mesh_local_origin(mesh);
    made->positions = malloc(3 * (size_t)vertices * sizeof *made->positions);
    if (!made->positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < vertices; i++) {
        made->positions[3 * i] = (float)(origin.x + from[i].x);
        made->positions[3 * i + 1] = (float)(origin.y + from[i].y);
        made->positions[3 * i + 2] = (float)(origin.z + from[i].z);
    }
    made->data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(made->data, made->positions, 3 * sizeof(float), (int)vertices,
                                abut_mesh_indices(mesh), (int)(3 * abut_mesh_triangle_count(mesh)),
                                3 * sizeof(uint32_t));
    return ABUT_OK;
}

void trimesh_destroy(trimesh *made) {
    if (made->data)
        dGeomTriMeshDataDestroy(made->data);
    free(made->positions);
    *made = (trimesh){0};
}

abut_status body_mesh_create(abut_mesh *raw, double size, abut_mesh **mesh, dMass *mass) {
    abut_topology *topology = NULL;
    abut_mesh *scaled = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_box box = abut_mesh_bounds(raw);
    double longest = fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    abut_status status =
        abut_mesh_transform(raw, size > 0 ? size / longest : 1, abut_pose_identity(), &scaled);
    status = status ? status : abut_topology_create(scaled, &topology);
    status = status ? status : abut_mesh_examine(topology, &report);
    if (!status) {
        const abut_vec3 c = report.centroid;
        const double *i = report.inertia;
        status =
            abut_mesh_transform(scaled, 1, (abut_pose){{0, 0, 0, 0}, {-c.x, -c.y, -c.z}}, mesh);
        dMassSetParameters(mass, report.volume, 0, 0, 0, i[0], i[1], i[2], i[3], i[5], i[4]);
    }
    abut_topology_destroy(topology);
    abut_mesh_destroy(scaled);
    return status;
}

abut_pose body_pose(dBodyID body) {
    const dReal *p = dBodyGetPosition(body), *q = dBodyGetQuaternion(body);
    return (abut_pose){{q[1], q[2], q[3], q[0]}, {p[0], p[1], p[2]}};
}

void body_turn(dBodyID body, double (*random)(void *state), void *state) {
    dQuaternion q;
    double length = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = random(state);
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++)
        q[k] /= sqrt(length);
    dBodySetQuaternion(body, q);
}

double clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
