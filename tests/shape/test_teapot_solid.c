/* The teapot as a solid: closed, of genus 1, without crossings, on the published surface. */
#include "shape/check.h"

#include "geom/predicates_shared.h"

#include <stdio.h>

static abut_mesh *solid(uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT_SOLID);
    shape.segments = segments;
    return check_make(&shape);
}

/* ---- crossings, by looking at every pair whose boxes overlap in x ---- */

/* Whether a segment intersects a triangle that is not coplanar with it. Coplanar ones do not matter
 * here: where coplanar triangles overlap, a neighbour crosses, or their common edge is folded. */
static bool segment_meets(vec3 p, vec3 q, const vec3 t[3]) {
    int above = orient3d(t[0], t[1], t[2], p), below = orient3d(t[0], t[1], t[2], q);
    if (above * below > 0 || (above == 0 && below == 0))
        return false;
    int a = orient3d(p, q, t[0], t[1]), b = orient3d(p, q, t[1], t[2]);
    int c = orient3d(p, q, t[2], t[0]);
    return (a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0);
}

/* Whether two triangles intersect in more than the vertices they share. */
static bool triangles_cross(const abut_mesh *mesh, uint32_t one, uint32_t two) {
    const uint32_t *i = abut_mesh_indices(mesh) + 3 * one, *j = abut_mesh_indices(mesh) + 3 * two;
    vec3 a[3], b[3];
    check_triangle(mesh, one, a);
    check_triangle(mesh, two, b);
    int shared = 0, own_a = 0, own_b = 0; /* common vertices; sums of places of the shared */
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < 3; m++)
            if (i[k] == j[m]) {
                shared++;
                own_a += k;
                own_b += m;
            }
    if (shared == 2) { /* folded: in one plane, on the same side of the common edge */
        vec3 na = v3_cross(v3_sub(a[1], a[0]), v3_sub(a[2], a[0]));
        vec3 nb = v3_cross(v3_sub(b[1], b[0]), v3_sub(b[2], b[0]));
        return orient3d(a[0], a[1], a[2], b[3 - own_b]) == 0 && v3_dot(na, nb) <= 0;
    }
    if (shared == 1)
        return segment_meets(a[(own_a + 1) % 3], a[(own_a + 2) % 3], b) ||
               segment_meets(b[(own_b + 1) % 3], b[(own_b + 2) % 3], a);
    for (int k = 0; k < 3; k++)
        if (segment_meets(a[k], a[(k + 1) % 3], b) || segment_meets(b[k], b[(k + 1) % 3], a))
            return true;
    return false;
}

typedef struct boxed {
    box3 box;
    uint32_t triangle;
} boxed;

static int compare_boxes(const void *a, const void *b) {
    const boxed *p = a, *q = b;
    return p->box.lo.x < q->box.lo.x ? -1 : p->box.lo.x > q->box.lo.x;
}

static uint32_t count_crossings(const abut_mesh *mesh) {
    uint32_t count = abut_mesh_triangle_count(mesh), crossings = 0;
    AUTO_FREE boxed *sorted = malloc(count * sizeof *sorted);
    for (uint32_t i = 0; i < count; i++) {
        vec3 c[3];
        check_triangle(mesh, i, c);
        sorted[i] = (boxed){box_grow(box_grow(box_grow(box_empty(), c[0]), c[1]), c[2]), i};
    }
    qsort(sorted, count, sizeof *sorted, compare_boxes);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count && sorted[j].box.lo.x <= sorted[i].box.hi.x; j++)
            if (box_overlaps(sorted[i].box, sorted[j].box))
                crossings += triangles_cross(mesh, sorted[i].triangle, sorted[j].triangle);
    return crossings;
}

/* The referee itself: finds what is there, and nothing in a sound mesh. */
TEST(the_referee_sees_crossings) {
    const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.2, -1, 0.2, 0.2, 1, 0.3, 0.2, 1};
    const uint32_t apart[] = {0, 1, 2, 3, 4, 5}, fan[] = {0, 1, 2, 0, 3, 4};
    abut_mesh_input input = abut_mesh_input_doubles(points, 6, NULL, 2);
    AUTO(mesh) mesh = NULL;
    input.indices = apart;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    assert_int_equal(1, count_crossings(mesh));
    abut_mesh_destroy(mesh);
    input.indices = fan;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    assert_int_equal(1, count_crossings(mesh));
    abut_mesh_destroy(mesh);
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    mesh = check_make(&torus);
    assert_int_equal(0, count_crossings(mesh));
    abut_mesh_destroy(mesh);
    abut_shape teapot = abut_shape_default(ABUT_SHAPE_TEAPOT);
    mesh = check_make(&teapot); /* its parts interpenetrate */
    assert_true(count_crossings(mesh) > 100);
}

TEST(closed_and_without_crossings) {
    const uint32_t more[] = {23, 40};
    double before = 0;
    uint32_t count = test_thorough() ? 16 : 15; /* the last takes as long as all others */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t segments = i < 14 ? i + 2 : more[i - 14];
        AUTO(mesh) mesh = solid(segments);
        mesh_facts facts = check_mesh(mesh);
        uint32_t crossings = count_crossings(mesh);
        printf("segments %2u: %6u vertices %6u triangles, volume %.6f, least angle %.2f degrees, "
               "%u crossings\n",
               segments, facts.vertices, facts.triangles, facts.volume,
               facts.least_angle * 57.29577951308232, crossings);
        assert_solid(&facts, 0);
        assert_int_equal(0, crossings);
        assert_true(facts.volume > before); /* mostly convex, so finer is larger */
        before = facts.volume;
    }
}

static double volume(uint32_t segments) {
    AUTO(mesh) mesh = solid(segments);
    double v = check_mesh(mesh).volume;
    return v;
}

TEST(volume_converges_with_second_order) {
    double coarse = volume(12), middle = volume(24), fine = volume(48);
    double order = log2((middle - coarse) / (fine - middle));
    printf("volume %.6f, %.6f, %.6f: order %.3f, limit %.5f\n", coarse, middle, fine, order,
           fine + (fine - middle) / 3);
    assert_true(order > 1.95 && order < 2.05);
}

/* ---- the same set of points as the union of the published parts ---- */

enum { FINE = 16 };

/* Winding number of some triangles of a mesh. */
static double winding(const abut_mesh *mesh, uint32_t begin, uint32_t end, vec3 p) {
    double sum = 0;
    for (uint32_t i = begin; i < end; i++) {
        vec3 c[3];
        check_triangle(mesh, i, c);
        sum += referee_angle(p, c);
    }
    return sum / (4 * 3.14159265358979323846);
}

/* A fan that closes a ring of vertices; `backwards` where the ring runs the other way. */
static double fan_winding(const abut_mesh *mesh, uint32_t ring, uint32_t count, bool backwards,
                          vec3 p) {
    double sum = 0;
    for (uint32_t i = 1; i + 1 < count; i++) {
        vec3 c[3] = {check_position(mesh, ring),
                     check_position(mesh, ring + i + (backwards ? 1 : 0)),
                     check_position(mesh, ring + i + (backwards ? 0 : 1))};
        sum += referee_angle(p, c);
    }
    return sum / (4 * 3.14159265358979323846);
}

/* The published teapot lists lid and body, then handle, then spout; n rows of 4n, n rows of 2n. */
static bool inside_union(const abut_mesh *teapot, vec3 p) {
    const uint32_t n = FINE, turned = 24 * n * n + 2, tube = (2 * n + 1) * 2 * n;
    const uint32_t turned_faces = 48 * n * n - 8 * n, tube_faces = 8 * n * n;
    double body = winding(teapot, 0, turned_faces, p);
    body += fan_winding(teapot, 1 + (2 * n - 1) * 4 * n, 4 * n, true, p); /* lid's lower edge */
    body += fan_winding(teapot, 1 + 2 * n * 4 * n, 4 * n, false, p);      /* rim's inner edge */
    if (body > 0.5)
        return true;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t first = turned + k * tube, faces = turned_faces + k * tube_faces;
        double around = winding(teapot, faces, faces + tube_faces, p);
        around += fan_winding(teapot, first, 2 * n, true, p);
        around += fan_winding(teapot, first + 4 * n * n, 2 * n, false, p);
        if (around > 0.5)
            return true;
    }
    return false;
}

/* Points all over, and points around the junctions of tubes and body. Where both differ, the
 * point must be so near to the surface that chords of the two meshes explain it. */
TEST(same_points_as_the_parts_together) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    shape.segments = FINE;
    AUTO(mesh) parts = check_make(&shape), *whole = solid(FINE);
    test_random random = {11};
    const vec3 centres[] = {{0.2, 0, 1.5}, {-1.7, 0, 2.1}, {-2, 0, 0.8}, {2, 0, 1}, {3, 0, 2.4}};
    const vec3 reaches[] = {
        {3.4, 2.2, 1.7}, {0.3, 0.4, 0.3}, {0.3, 0.4, 0.3}, {0.4, 0.7, 0.6}, {0.5, 0.3, 0.2}};
    const uint32_t count = 5 * test_rounds(400);
    uint32_t inside_count = 0, different = 0;
    for (uint32_t i = 0; i < count; i++) {
        vec3 c = centres[i % 5], r = reaches[i % 5];
        vec3 p = v3(c.x + test_random_real(&random, -r.x, r.x),
                    c.y + test_random_real(&random, -r.y, r.y),
                    c.z + test_random_real(&random, -r.z, r.z));
        double distance = referee_distance(whole, p, true);
        bool inside = distance < 0;
        inside_count += inside;
        if (inside != inside_union(parts, p)) {
            different++;
            if (fabs(distance) > 0.003)
                fail_msg("(%g, %g, %g) is %s the solid by %g, but not the parts", p.x, p.y, p.z,
                         inside ? "inside" : "outside", fabs(distance));
        }
    }
    printf("%u of %u points inside, %u differ within 0.003\n", inside_count, count, different);
    assert_true(5 * inside_count > count && 5 * inside_count < 4 * count &&
                100 * different < count);
}

/* Every vertex of lid, rim, body and bottom is one of the published teapot, to the bit. */
TEST(vertices_are_the_published_ones) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    AUTO(mesh) parts = check_make(&shape), *whole = solid(shape.segments);
    uint32_t known = abut_mesh_vertex_count(parts), found = 0;
    AUTO_FREE vec3 *sorted = malloc(known * sizeof *sorted);
    for (uint32_t i = 0; i < known; i++)
        sorted[i] = check_position(parts, i);
    qsort(sorted, known, sizeof *sorted, compare_positions);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(whole); i++) {
        vec3 p = check_position(whole, i);
        found += bsearch(&p, sorted, known, sizeof *sorted, compare_positions) != NULL;
    }
    /* the turned part less 27 in the holes, the handle's seam, the spout from its seam on */
    printf("%u of %u vertices are published\n", found, abut_mesh_vertex_count(whole));
    assert_true(found > 2600);
}
