/* The first program of the README: creates a torus, examines it and computes a distance. */
#include <abut/abut.h>

#include <stdio.h>

int main(void) {
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    abut_topology *topology;
    abut_mesh_report report = abut_mesh_report_default();
    double distance;
    if (abut_shape_create(NULL, &torus, &mesh) || abut_topology_create(mesh, &topology) ||
        abut_mesh_examine(topology, &report) ||
        abut_shape_distance(&torus, (abut_vec3){0, 0, 0}, &distance))
        return fprintf(stderr, "%s\n", abut_last_error()), 1;
    printf("%u triangles, %s, volume %.3f, distance from its centre %.3f\n", report.triangle_count,
           report.is_closed ? "closed" : "open", report.volume, distance);
    abut_topology_destroy(topology);
    abut_mesh_destroy(mesh);
}
