/* Volume, centroid and inertia of colliders: closed forms of primitives; mesh/mass.c for meshes. */
#include "collider/collider.h"

#include "mesh/mesh.h"

#define PI 3.14159265358979323846

/* A body of rotation around an axis, which need not have a length of 1, by its moments of inertia
 * along and across the axis. */
static void set_rotational(vec3 axis, double along, double across, double *inertia) {
    const vec3 u = v3_normalise(axis); /* zero for a zero axis: then both moments are equal */
    const double more = along - across;
    inertia[0] = across + more * u.x * u.x;
    inertia[1] = across + more * u.y * u.y;
    inertia[2] = across + more * u.z * u.z;
    inertia[3] = more * u.x * u.y;
    inertia[4] = more * u.y * u.z;
    inertia[5] = more * u.z * u.x;
}

static void measure_sphere(const abut_sphere *sphere, abut_collider_mass *mass) {
    const double sq = sphere->radius * sphere->radius;
    mass->volume = 4.0 / 3 * PI * sq * sphere->radius;
    mass->centroid = sphere->centre;
    set_rotational(v3(0, 0, 0), 0, 0.4 * mass->volume * sq, mass->inertia);
}

static void measure_box(vec3 half, abut_collider_mass *mass) {
    const double x = half.x * half.x, y = half.y * half.y, z = half.z * half.z;
    mass->volume = 8 * half.x * half.y * half.z;
    mass->inertia[0] = mass->volume * (y + z) / 3;
    mass->inertia[1] = mass->volume * (z + x) / 3;
    mass->inertia[2] = mass->volume * (x + y) / 3;
}

/* A cylinder, and two halves of a sphere at its ends if `round`. */
static void measure_tube(const vec3 end[2], double radius, bool round, abut_collider_mass *mass) {
    const vec3 axis = v3_sub(end[1], end[0]);
    const double length = v3_length(axis), sq = radius * radius;
    const double tube = PI * sq * length, ball = round ? 4.0 / 3 * PI * sq * radius : 0;
    const double across = tube * (length * length / 12 + sq / 4) +
                          ball * (0.4 * sq + 0.25 * length * length + 0.375 * length * radius);
    mass->volume = tube + ball;
    mass->centroid = v3_scale(v3_add(end[0], end[1]), 0.5);
    set_rotational(axis, tube * 0.5 * sq + ball * 0.4 * sq, across, mass->inertia);
}

static abut_status measure_mesh(const char *function, const abut_collider *collider,
                                abut_collider_mass *mass) {
    const abut_mesh *mesh;
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abuti_collider_read_mesh(function, "collider", SIZE_MAX, collider, &mesh);
    if (!status)
        status = abut_topology_create((abut_mesh *)(uintptr_t)mesh, &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (status)
        return status;
    if (!report.is_solid)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the mesh of the collider is not a closed surface with consistent "
                          "orientation and a volume, so it has no mass; see abut_mesh_examine()",
                          function);
    mass->volume = report.volume < 0 ? -report.volume : report.volume;
    mass->centroid = report.centroid;
    memcpy(mass->inertia, report.inertia, sizeof mass->inertia);
    return ABUT_OK;
}

abut_status abut_collider_get_mass(const abut_collider *collider, abut_collider_mass *mass) {
    abut_collider ours;
    abut_collider_mass found = abut_collider_mass_default();
    if (!mass)
        return abuti_null(__func__, "mass");
    abut_status status = abuti_info_check(mass, sizeof found, __func__);
    if (!status)
        status = abuti_collider_read(__func__, "collider", collider, &ours);
    if (!status && collider_is_primitive(&ours) && ours.kind != ABUT_COLLIDER_HULL)
        status = abuti_collider_check_primitive(__func__, "collider", &ours);
    if (status)
        return status;
    switch (ours.kind) {
    case ABUT_COLLIDER_SPHERE:
        measure_sphere(&ours.shape.sphere, &found);
        break;
    case ABUT_COLLIDER_BOX:
        measure_box(ours.shape.half, &found);
        break;
    case ABUT_COLLIDER_CAPSULE:
        measure_tube(ours.shape.capsule.end, ours.shape.capsule.radius, true, &found);
        break;
    case ABUT_COLLIDER_CYLINDER:
        measure_tube(ours.shape.cylinder.end, ours.shape.cylinder.radius, false, &found);
        break;
    case ABUT_COLLIDER_PLANE:
    case ABUT_COLLIDER_CHARACTER:
        return abuti_collider_refuse(__func__, "collider", &ours,
                                     "a mesh, a hull, a body with a BVH, a sphere, capsule, box or "
                                     "cylinder");
    default:
        status = measure_mesh(__func__, &ours, &found);
    }
    return status ? status : abuti_info_write(mass, &found, sizeof found, __func__);
}
