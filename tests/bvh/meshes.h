/* Meshes for tests of BVHs: shapes, triangle soups and degenerate ones. */
#ifndef ABUT_TEST_BVH_MESHES_H
#define ABUT_TEST_BVH_MESHES_H

#include "support/support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static inline abut_vec3 vec(double x, double y, double z) {
    abut_vec3 v = {x, y, z};
    return v;
}

static inline abut_vec3 random_vec(test_random *random, double size) {
    double x = test_random_real(random, -size, size), y = test_random_real(random, -size, size);
    return vec(x, y, test_random_real(random, -size, size));
}

static inline abut_mesh *make_shape(abut_context *context, abut_shape_kind kind,
                                    uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    if (segments) {
        shape.segments = segments;
        shape.rings = segments;
    }
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

/* Triangles without shared vertices; three corners each. */
static inline abut_mesh *make_soup(abut_context *context, const abut_vec3 *corners,
                                   uint32_t triangle_count) {
    return test_mesh(context, corners, 3 * triangle_count, NULL, 0);
}

typedef enum soup_kind {
    SOUP_RANDOM,     /* large triangles through each other */
    SOUP_SMALL,      /* small ones */
    SOUP_NEEDLES,    /* long and thin, down to a width of 1e-12 */
    SOUP_DEGENERATE, /* segments and points among them */
    SOUP_LATTICE,    /* small whole coordinates: many ties and shared places */
    SOUP_EQUAL,      /* all the same triangle */
    SOUP_POINT,      /* all the same point */
    SOUP_LINE,       /* on one line */
    SOUP_PLANE,      /* in one plane */
    SOUP_GROWING,    /* each twice as large and as far as the last */
    SOUP_NESTED,     /* about one middle, each a little larger */
    SOUP_COUNT
} soup_kind;

static inline void soup_triangle(soup_kind kind, uint32_t i, test_random *random, abut_vec3 *t) {
    abut_vec3 p = random_vec(random, 1);
    for (int k = 0; k < 3; k++) {
        abut_vec3 d = random_vec(random, kind == SOUP_SMALL ? 0.05 : 1);
        t[k] = vec(p.x + d.x, p.y + d.y, p.z + d.z);
    }
    double thin = pow(10, -test_random_real(random, 0, 12)), size = ldexp(1, (int)(i % 60) - 30);
    uint32_t cut = test_random_below(random, 4);
    double s = test_random_real(random, 0, 1);
    for (int k = 0; k < 3; k++)
        switch (kind) {
        case SOUP_NEEDLES:
            if (k == 2)
                t[2] = vec(t[0].x + s * (t[1].x - t[0].x) + thin * t[2].x,
                           t[0].y + s * (t[1].y - t[0].y) + thin * t[2].y,
                           t[0].z + s * (t[1].z - t[0].z) + thin * t[2].z);
            break;
        case SOUP_DEGENERATE:
            if (k > 0 && (cut == 0 || (cut == 1 && k == 2)))
                t[k] = t[0];
            if (cut == 2 && k == 2)
                t[2] = vec((t[0].x + t[1].x) / 2, (t[0].y + t[1].y) / 2, (t[0].z + t[1].z) / 2);
            break;
        case SOUP_LATTICE:
            t[k] = vec(floor(4 * t[k].x), floor(4 * t[k].y), floor(4 * t[k].z));
            break;
        case SOUP_EQUAL:
            t[k] = vec(k == 1, k == 2, 0.5);
            break;
        case SOUP_POINT:
            t[k] = vec(0.25, 0.5, 0.75);
            break;
        case SOUP_LINE:
            t[k] = vec(t[k].x, 2 * t[k].x, -t[k].x);
            break;
        case SOUP_PLANE:
            t[k].z = 0.5;
            break;
        case SOUP_GROWING:
            t[k] = vec(size * (1 + 0.1 * t[k].x), size * 0.1 * t[k].y, size * 0.1 * t[k].z);
            break;
        case SOUP_NESTED:
            t[k] = vec((k == 0 ? -2 : 1) * (1 + 0.01 * i), (k == 1 ? -2 : 1) * (1 + 0.01 * i),
                       (k == 2 ? -2 : 1) * (1 + 0.01 * i));
            break;
        default:
            break;
        }
}

static inline abut_mesh *make_kind(abut_context *context, soup_kind kind, uint32_t triangle_count,
                                   uint64_t seed) {
    test_random random = {seed};
    abut_vec3 *corners = malloc((size_t)triangle_count * 3 * sizeof *corners);
    assert_non_null(corners);
    for (uint32_t i = 0; i < triangle_count; i++)
        soup_triangle(kind, i, &random, corners + 3 * (size_t)i);
    abut_mesh *mesh = make_soup(context, corners, triangle_count);
    free(corners);
    return mesh;
}

/* The same mesh, scaled and moved. */
static inline abut_mesh *make_moved(abut_mesh *mesh, double scale, abut_vec3 by) {
    abut_pose pose = {{0, 0, 0, 0}, by};
    abut_mesh *moved = NULL;
    assert_ok(abut_mesh_transform(mesh, scale, pose, &moved));
    abut_mesh_destroy(mesh);
    return moved;
}

static inline abut_triangle triangle_of(const abut_mesh *mesh, uint32_t t) {
    abut_triangle triangle;
    abut_vec3 o = abut_mesh_local_origin(mesh);
    for (int k = 0; k < 3; k++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[abut_mesh_indices(mesh)[3 * t + (uint32_t)k]];
        triangle.corner[k] = vec(o.x + p.x, o.y + p.y, o.z + p.z);
    }
    return triangle;
}

/* Both in one; takes them. */
static inline abut_mesh *make_joined(abut_mesh *a, abut_mesh *b) {
    abut_mesh *pair[2] = {a, b}, *joined;
    assert_ok(abut_mesh_join(pair, 2, &joined));
    abut_mesh_destroy(a);
    abut_mesh_destroy(b);
    return joined;
}

/* The same surface, facing the other way, as a soup. */
static inline abut_mesh *make_flipped(abut_mesh *mesh) {
    uint32_t count = abut_mesh_triangle_count(mesh);
    abut_vec3 *corners = malloc(3 * (size_t)count * sizeof *corners);
    assert_non_null(corners);
    for (uint32_t i = 0; i < count; i++) {
        abut_triangle t = triangle_of(mesh, i);
        for (uint32_t k = 0; k < 3; k++)
            corners[3 * i + k] = t.corner[2 - k];
    }
    abut_mesh *flipped = make_soup(NULL, corners, count);
    free(corners);
    abut_mesh_destroy(mesh);
    return flipped;
}

static inline double largest_extent(const abut_mesh *mesh) {
    abut_box b = abut_mesh_bounds(mesh);
    return fmax(b.hi.x - b.lo.x, fmax(b.hi.y - b.lo.y, b.hi.z - b.lo.z));
}

/* A point in the box of a mesh, made `times` larger about its middle. */
static inline abut_vec3 point_around(const abut_mesh *mesh, test_random *random, double times) {
    abut_box b = abut_mesh_bounds(mesh);
    abut_vec3 d = random_vec(random, times / 2);
    return vec(b.lo.x / 2 + b.hi.x / 2 + d.x * (b.hi.x - b.lo.x),
               b.lo.y / 2 + b.hi.y / 2 + d.y * (b.hi.y - b.lo.y),
               b.lo.z / 2 + b.hi.z / 2 + d.z * (b.hi.z - b.lo.z));
}

/* A point on a random triangle, plus something of size `away`. */
static inline abut_vec3 point_near(const abut_mesh *mesh, test_random *random, double away) {
    abut_triangle t = triangle_of(mesh, test_random_below(random, abut_mesh_triangle_count(mesh)));
    double s = test_random_real(random, 0, 1), r = test_random_real(random, 0, 1 - s);
    abut_vec3 d = random_vec(random, away);
    const abut_vec3 *c = t.corner;
    return vec(c[0].x + s * (c[1].x - c[0].x) + r * (c[2].x - c[0].x) + d.x,
               c[0].y + s * (c[1].y - c[0].y) + r * (c[2].y - c[0].y) + d.y,
               c[0].z + s * (c[1].z - c[0].z) + r * (c[2].z - c[0].z) + d.z);
}

/* Whether a point is legal; around a mesh that reaches far itself some are not. */
static inline bool is_legal(abut_vec3 p) {
    return fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) <= ABUT_COORDINATE_MAX;
}

/* The answer to the nearest point if there were only one triangle. */
static inline abut_nearest nearest_on(const abut_mesh *mesh, uint32_t triangle, abut_vec3 point) {
    abut_triangle t = triangle_of(mesh, triangle);
    abut_closest_on_triangle closest;
    abut_nearest nearest;
    assert_ok(abut_triangle_closest_point(&t, point, &closest));
    memset(&nearest, 0, sizeof nearest);
    nearest.distance = closest.distance;
    nearest.point = closest.point;
    memcpy(nearest.barycentric, closest.barycentric, sizeof nearest.barycentric);
    nearest.triangle = triangle;
    nearest.feature = closest.feature;
    return nearest;
}

/* ---- meshes for a check, which takes them ---- */

typedef void mesh_check(abut_mesh *mesh, int rounds, uint64_t seed);

/* Soups of every kind, from one triangle to some hundreds. */
static inline void check_soups(mesh_check *check, int rounds) {
    rounds = test_brief() ? (rounds + 2) / 3 : rounds;
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t count = 1; count <= 300; count = count < 6 ? count + 1 : 7 * count / 2)
            check(make_kind(NULL, (soup_kind)kind, count, 7 + count), rounds,
                  100 * count + (uint64_t)kind);
}

/* Any size and place; far from zero the coordinates are coarse, and ties many. */
static inline void check_sizes(mesh_check *check, int rounds) {
    rounds = test_brief() ? (rounds + 2) / 3 : rounds;
    static const double scales[] = {1e-6, 1e-30, 1e30, 1e-80, 1e80};
    for (int i = 0; i < 5; i++) {
        double far = i ? 0 : 1e6;
        abut_vec3 by = vec(far, -far, 2 * far);
        check(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 8), scales[i], by), rounds, 60);
        check(make_moved(make_kind(NULL, SOUP_NEEDLES, 60, 3), scales[i], by), rounds, 61);
        check(make_moved(make_kind(NULL, SOUP_GROWING, 60, 3), scales[i], by), rounds, 62);
        check(make_moved(make_kind(NULL, SOUP_LATTICE, 60, 3), scales[i], by), rounds, 63);
    }
}

/* Turned by a rotation of any length, moved by up to `away` along each axis. */
static inline abut_pose any_pose(test_random *random, double away) {
    abut_pose pose;
    pose.rotation.x = test_random_real(random, -1, 1);
    pose.rotation.y = test_random_real(random, -1, 1);
    pose.rotation.z = test_random_real(random, -1, 1);
    pose.rotation.w = test_random_real(random, -1, 1);
    pose.translation = random_vec(random, away);
    return pose;
}

/* Takes the mesh. */
static inline abut_bvh *hierarchy(abut_mesh *mesh) {
    abut_bvh *bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

/* The generalised winding number, by all triangles. */
static inline double brute_winding(const abut_mesh *mesh, abut_vec3 point) {
    double sum = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_triangle t = triangle_of(mesh, i);
        double angle;
        assert_ok(abut_triangle_solid_angle(&t, point, &angle));
        sum += angle;
    }
    return sum / (4 * acos(-1));
}

/* abut_pair_overlap() without the reliability. */
static inline abut_status relation_of(const abut_collider *a, const abut_collider *b,
                                      const abut_pair_options *options, abut_pair_cache *cache,
                                      abut_pair_relation *relation) {
    abut_overlap overlap;
    abut_status status = abut_pair_overlap(a, b, options, cache, &overlap);
    if (!status)
        *relation = overlap.relation;
    return status;
}

#endif
