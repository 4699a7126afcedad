/* Winding numbers of surfaces with a boundary: crossings of a ray plus an integral over the
 * boundary edges (sign/boundary_shared.h), against the sum of all solid angles. */
#include "surfaces.h"

#include "sign/sign.h"

/* The crossings of a ray with all triangles; false if its origin is on one. */
static bool count_crossings(const abut_mesh *mesh, const axis_ray *ray, int *crossings) {
    int on_surface = 0;
    *crossings = 0;
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++)
        *crossings += triangle_cross(ray, triangle_of(mesh, t), &on_surface);
    return !on_surface;
}

/* Checks the error at every level around a surface, for the six rays: at random points, far away,
 * and where rays pass through vertices and along edges of the boundary. Takes the mesh. */
static void check_boundary(abut_mesh *mesh, uint32_t rounds, uint64_t seed, double *worst) {
    test_random random = {seed};
    abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
    const double size = largest_extent(mesh);
    const bvh_solid *solid;
    assert_ok(abuti_bvh_solid(bvh, &solid));
    assert_ok(abuti_sign_boundary(bvh));
    assert_true(solid->border_count > 2);
    const boundary_view view = abuti_sign_boundary_view(bvh);
    for (uint32_t i = 0; i < test_rounds(rounds); i++) {
        const uint32_t *edge = solid->border[test_random_below(&random, solid->border_count)];
        vec3 p = point_around(mesh, &random, i % 8 == 7 ? 10 : 1.2),
             a = abuti_mesh_position(mesh, edge[0]), b = abuti_mesh_position(mesh, edge[1]);
        p = i % 8 == 1   ? v3(p.x, a.y, a.z)
            : i % 8 == 2 ? v3(p.x, 0.5 * (a.y + b.y), 0.5 * (a.z + b.z))
            : i % 8 == 3 ? v3(p.x, a.y, p.z)
            : i % 8 == 4 ? v3(a.x, a.y, p.z)
            : i % 8 == 5 ? v3_add(v3_lerp(a, b, 0.3), random_vec(&random, 1e-3 * size))
                         : p;
        axis_ray ray = {p, (int)(i / 8 % 3), i / 24 % 2 ? 1 : -1};
        int crossings;
        if (!count_crossings(mesh, &ray, &crossings))
            continue;
        const double wanted = winding_sum(mesh, p);
        for (double t = BOUNDARY_ROUGH; t >= BOUNDARY_EXACT; t *= 0x1p-6) {
            boundary_box box = boundary_point();
            double got = crossings - boundary_strips(&view, &ray, t, &box);
            if (!(fabs(got - wanted) <= box.error + 1e-12))
                fail_msg("at (%.17g, %.17g, %.17g): %.17g instead of %.17g, allowed %.2g", p.x, p.y,
                         p.z, got, wanted, box.error);
            if (t == BOUNDARY_EXACT)
                *worst = fmax(*worst, fabs(got - wanted));
        }
        if (fabs(wanted * bvh_sign_of(bvh)->facing - 0.5) > 1e-12)
            assert_int_equal(abuti_sign_boundary_inside(bvh, p),
                             wanted * bvh_sign_of(bvh)->facing > 0.5);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* Five sheets around one edge, and a tube whose ends are joined at two vertices. */
static abut_mesh *make_fan(void) {
    abut_vec3 v[12] = {{0, 0, -1}, {0, 0, 1}};
    uint32_t indices[30], corners = 0;
    for (uint32_t i = 0; i < 5; i++) {
        v[2 + 2 * i] = vec(cos(1.2 * i), sin(1.2 * i), -1);
        v[3 + 2 * i] = vec(cos(1.2 * i), sin(1.2 * i), 1);
        const uint32_t two[6] = {0, 2 + 2 * i, 3 + 2 * i, 0, 3 + 2 * i, 1};
        memcpy(indices + corners, two, sizeof two);
        corners += 6;
    }
    return test_mesh(NULL, v, 12, indices, 10);
}

TEST(boundary_errors) {
    double worst = 0;
    check_boundary(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 12), 60), 600, 7, &worst);
    check_boundary(make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 3), 20), 600, 8, &worst);
    check_boundary(make_shape(NULL, ABUT_SHAPE_TEAPOT, 2), 600, 9, &worst);
    check_boundary(make_pile(3, 2, false), 600, 10, &worst);
    check_boundary(make_pile(1, 40, true), 300, 11, &worst);
    check_boundary(make_pile(20, 20, false), 100, 12, &worst);
    check_boundary(make_torn(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 16), 3), 300, 13, &worst);
    check_boundary(make_fan(), 600, 14, &worst);
    check_boundary(make_flipped(make_joined(make_fan(), make_fan())), 600, 15, &worst);
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        if (kind != SOUP_POINT && kind != SOUP_LINE) /* these have no boundary */
            check_boundary(make_kind(NULL, (soup_kind)kind, 40, 5), 200, 16, &worst);
    print_message("worst error of the last level: %.2g\n", worst);
}

/* S changes in a box by at most its bound, unless a strip may pass through; and bounds decide a
 * useful fraction. */
static void check_boxes(abut_mesh *mesh, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
    const double size = largest_extent(mesh);
    uint32_t useful = 0, rounds = test_rounds(2000);
    assert_ok(abuti_sign_boundary(bvh));
    const boundary_view view = abuti_sign_boundary_view(bvh);
    for (uint32_t i = 0; i < rounds; i++) {
        const double extent = 0.1 * size * ldexp(1, -(int)(i % 6));
        const vec3 lo = point_around(mesh, &random, 1.2),
                   d = v3(test_random_real(&random, 0, extent),
                          test_random_real(&random, 0, extent),
                          test_random_real(&random, 0, extent)),
                   hi = v3_add(lo, d);
        boundary_box box = boundary_point();
        axis_ray ray = {v3_lerp(lo, hi, 0.5), 0, -1};
        double unused, half[3] = {0.5 * d.x, 0.5 * d.y, 0.5 * d.z};
        for (int k = 0; k < 3; k++)
            box.half_size[k] = (1 + 1e-9) * half[k] * view.scale;
        box.radius = v3_length(v3(box.half_size[0], box.half_size[1], box.half_size[2]));
        const double middle = boundary_strips(&view, &ray, BOUNDARY_ROUGH, &box),
                     bound = box.error + box.slope * box.radius;
        useful += boundary_decide_box(&view, lo, hi, extent, &unused) > 0;
        for (int k = 0; k < 4; k++) {
            boundary_box point = boundary_point();
            ray.from =
                v3(test_random_real(&random, lo.x, hi.x), test_random_real(&random, lo.y, hi.y),
                   test_random_real(&random, lo.z, hi.z));
            const double here = boundary_strips(&view, &ray, BOUNDARY_EXACT, &point);
            assert_true(!(bound < 1) || fabs(here - middle) <= bound + 1e-12);
        }
    }
    if (useful < rounds / 4)
        fail_msg("%u of %u boxes are decided", useful, rounds);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(boundary_boxes) {
    check_boxes(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 12), 60), 1);
    check_boxes(make_shape(NULL, ABUT_SHAPE_TEAPOT, 2), 2);
    check_boxes(make_pile(1, 40, true), 3);
    check_boxes(make_pile(5, 10, false), 4);
}
