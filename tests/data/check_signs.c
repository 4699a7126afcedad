/* Compares inside tests of random points with the sum of the solid angles of all triangles. Only
 * closed models are used: others have no defined interior. */
#include "apps/get.h"
#include "check_data.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 200 };

static uint64_t random_bits(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

static abut_vec3 corner(const abut_mesh *mesh, uint32_t triangle, uint32_t k) {
    abut_vec3 o = abut_mesh_local_origin(mesh);
    abut_vec3 p =
        abut_mesh_local_positions(mesh)[abut_mesh_indices(mesh)[3 * (size_t)triangle + k]];
    return (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
}

static double dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* The solid angle of a triangle from a point (van Oosterom & Strackee 1983). */
static double angle_of(const abut_mesh *mesh, uint32_t triangle, abut_vec3 from) {
    abut_vec3 v[3];
    double length[3];
    for (uint32_t k = 0; k < 3; k++) {
        abut_vec3 p = corner(mesh, triangle, k);
        v[k] = (abut_vec3){p.x - from.x, p.y - from.y, p.z - from.z};
        length[k] = sqrt(dot(v[k], v[k]));
    }
    abut_vec3 n = {v[1].y * v[2].z - v[1].z * v[2].y, v[1].z * v[2].x - v[1].x * v[2].z,
                   v[1].x * v[2].y - v[1].y * v[2].x};
    double below = length[0] * length[1] * length[2] + dot(v[0], v[1]) * length[2] +
                   dot(v[1], v[2]) * length[0] + dot(v[2], v[0]) * length[1];
    return 2 * atan2(dot(v[0], n), below);
}

static bool is_inside(const abut_mesh *mesh, abut_vec3 point) {
    double sum = 0;
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++)
        sum += angle_of(mesh, t, point);
    return fabs(sum) > 2 * 3.14159265358979323846; /* half of the full solid angle */
}

/* Half of the points are centres of cells, half are random points near the surface. */
static abut_vec3 choose_point(const abut_mesh *mesh, const abut_grid *grid, uint64_t *random,
                              int number, uint32_t cell[3]) {
    abut_vec3 p = grid->origin;
    if (number % 2) {
        uint32_t t = (uint32_t)(random_bits(random) % abut_mesh_triangle_count(mesh));
        double u = random_unit(random), v = random_unit(random);
        abut_vec3 a = corner(mesh, t, 0), b = corner(mesh, t, 1), c = corner(mesh, t, 2);
        double *to[3] = {&p.x, &p.y, &p.z};
        const double from[3][3] = {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}};
        for (int k = 0; k < 3; k++)
            *to[k] = from[k][0] + 0.5 * u * (from[k][1] - from[k][0]) +
                     0.5 * v * (from[k][2] - from[k][0]) +
                     grid->cell * 0.2 * (random_unit(random) - 0.5);
        return p;
    }
    for (int k = 0; k < 3; k++)
        cell[k] = (uint32_t)(random_bits(random) % grid->count[k]);
    return (abut_vec3){p.x + grid->cell * cell[0], p.y + grid->cell * cell[1],
                       p.z + grid->cell * cell[2]};
}

static abut_status check_points(const abut_mesh *mesh, const abut_bvh *bvh, const abut_field *field,
                                check_totals *totals) {
    const abut_grid grid = get_field_info(field).grid;
    uint64_t random = 31;
    for (int i = 0; i < POINTS; i++) {
        uint32_t cell[3] = {0, 0, 0}, one[3] = {1, 1, 1};
        abut_vec3 p = choose_point(mesh, &grid, &random, i, cell);
        abut_nearest nearest;
        bool inside, truth = is_inside(mesh, p);
        float value = truth ? -1 : 1;
        abut_status status = abut_sign_inside(bvh, p, &inside);
        status = status ? status : abut_sign_nearest(bvh, p, HUGE_VAL, &nearest);
        if (!status && i % 2 == 0)
            status = abut_field_copy(field, cell, one, &value);
        if (status)
            return status;
        if (fabs(nearest.distance) <= 1e-9 * grid.cell)
            continue; /* on the surface the sum of solid angles is ambiguous */
        const bool said[3] = {inside, nearest.distance < 0, value < 0};
        for (int k = 0; k < 3; k++)
            totals->sign_errors += said[k] != truth;
    }
    return ABUT_OK;
}

static abut_status check_model(const char *path, const char *name, check_totals *totals) {
    abut_mesh *mesh = NULL;
    abut_topology *topology = NULL;
    abut_mesh_report report = {.size = sizeof report, .is_closed = false};
    abut_bvh *bvh = NULL;
    abut_field *field = NULL;
    uint64_t before = totals->sign_errors;
    abut_status status = abut_mesh_read(NULL, path, NULL, &mesh);
    status = status ? status : abut_topology_create(mesh, &topology);
    status = status ? status : abut_mesh_examine(topology, &report);
    if (!status && report.is_closed) {
        status = abut_bvh_create(mesh, NULL, &bvh);
        status = status ? status : abut_sign_prepare(bvh, NULL);
        status = status ? status : abut_field_create_from(bvh, NULL, &field);
        status = status ? status : check_points(mesh, bvh, field, totals);
        printf("%s: sign errors %llu of %d points\n", name,
               (unsigned long long)(totals->sign_errors - before), POINTS);
    }
    abut_field_destroy(field);
    abut_bvh_destroy(bvh);
    abut_topology_destroy(topology);
    abut_mesh_destroy(mesh);
    return status;
}

bool check_signs(const char *data, check_totals *totals) {
    char folder[PATH_BYTES], path[2 * PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/models", data);
    DIR *opened = opendir(folder);
    bool good = true;
    for (const struct dirent *entry; opened && good && (entry = readdir(opened));) {
        const char *ending = strrchr(entry->d_name, '.');
        if (!ending || (strcmp(ending, ".obj") != 0 && strcmp(ending, ".ply") != 0))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        good = !check_model(path, entry->d_name, totals);
        if (!good)
            fprintf(stderr, "abut-check-data: %s\n", abut_last_error());
    }
    if (opened)
        closedir(opened);
    return good;
}
