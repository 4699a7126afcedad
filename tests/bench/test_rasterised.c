/* Surface distance maps by rasterised distance functions (Sud et al. 2006), against those of the
 * library, which search the closest point of each texel. */
#include "apps/get.h"
#include "rasterised.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 96 };

/* Texels of both, for a surface and a body. */
typedef struct both_maps {
    abut_map *ours;
    abut_bvh *bvh;
    sud_map *theirs;
    abut_map_texel texels[SIDE * SIDE];
    sud_texel drawn[SIDE * SIDE];
    sud_counts counts;
} both_maps;

static both_maps *make_maps(abut_mesh *surface, abut_mesh *body) {
    both_maps *b = calloc(1, sizeof *b);
    abut_map_options options = abut_map_options_default();
    assert_non_null(b);
    options.resolution = SIDE;
    assert_ok(abut_map_create(surface, &options, &b->ours));
    assert_ok(abut_bvh_create(body, NULL, &b->bvh));
    assert_ok(abut_sign_prepare(b->bvh, NULL));
    assert_ok(sud_map_create(b->ours, body, &b->theirs));
    return b;
}

static void compute_maps(both_maps *b) {
    const abut_collider other = abut_collider_from_bvh(b->bvh, abut_pose_identity());
    assert_ok(abut_map_compute_distance(b->ours, &other, 1, NULL));
    assert_ok(abut_map_texels(b->ours, SIDE * SIDE, b->texels));
    b->counts = sud_map_compute(b->theirs);
    sud_map_texels(b->theirs, b->drawn);
}

static void free_maps(both_maps *b) {
    sud_map_destroy(b->theirs);
    abut_bvh_destroy(b->bvh);
    abut_map_destroy(b->ours);
    free(b);
}

static abut_mesh *made_at(abut_shape_kind kind, uint32_t segments, abut_vec3 at, double bend) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh, *moved;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *points = malloc(count * sizeof *points);
    assert_ok(abut_mesh_get_positions(mesh, points));
    for (uint32_t i = 0; i < count; i++)
        points[i] = (abut_vec3){points[i].x + at.x + bend * points[i].y * points[i].y,
                                points[i].y + at.y, points[i].z * (1 + bend * points[i].x) + at.z};
    abut_mesh_input input = abut_mesh_input_doubles(points, count, abut_mesh_indices(mesh),
                                                    abut_mesh_triangle_count(mesh));
    assert_ok(abut_mesh_create(NULL, &input, &moved));
    abut_mesh_destroy(mesh);
    free(points);
    return moved;
}

/* Every texel has the same distance, within the precision of floats, and the same sign. */
static void check_texels(const both_maps *b, double size) {
    uint32_t samples = 0, inside = 0;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        const abut_map_texel *mine = &b->texels[i];
        const sud_texel *his = &b->drawn[i];
        if (isnan(mine->distance)) {
            assert_int_equal(his->site, ABUT_NONE);
            continue;
        }
        samples++;
        assert_true(his->site != ABUT_NONE);
        assert_true(fabs(fabs((double)mine->distance) - fabs((double)his->distance)) < 2e-5 * size);
        if (fabs((double)mine->distance) < 1e-4 * size)
            continue;
        inside += mine->distance < 0;
        assert_int_equal(mine->distance < 0, his->distance < 0);
    }
    const sud_measures m = sud_map_scan(b->theirs);
    assert_int_equal(m.samples, samples);
    assert_true(m.inside >= inside && m.min <= m.max);
}

TEST(distances_are_those_of_searches) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX, ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_LETTER_E,
                                     ABUT_SHAPE_TORUS};
    for (int k = 0; k < 16; k += test_brief() ? 5 : 1) {
        const abut_vec3 at = {0.2 + 0.1 * (k % 3), 0.05 * k, 0.1};
        AUTO(mesh) surface = made_at(kinds[k % 4], 6, (abut_vec3){0, 0, 0}, 0.1);
        AUTO(mesh) body = made_at(kinds[k / 4], 5, at, -0.2);
        both_maps *b = make_maps(surface, body);
        compute_maps(b);
        check_texels(b, 3);
        assert_true(b->counts.pairs >= b->counts.polygons && b->counts.fragments >= 1000);
        free_maps(b);
    }
}

/* Maps and sites follow positions. Culling leaves few pairs. */
TEST(maps_follow_deformation) {
    AUTO(mesh) surface = made_at(ABUT_SHAPE_LETTER_E, 8, (abut_vec3){0, 0, 0}, 0);
    AUTO(mesh) body = made_at(ABUT_SHAPE_LETTER_G, 8, (abut_vec3){0.5, 0, 0}, 0);
    both_maps *b = make_maps(surface, body);
    for (int frame = 0; frame < (test_brief() ? 2 : 4); frame++) {
        AUTO(mesh)
        here = made_at(ABUT_SHAPE_LETTER_E, 8, (abut_vec3){0, 0, 0.1 * frame}, 0.1 * frame);
        AUTO(mesh) there = made_at(ABUT_SHAPE_LETTER_G, 8, (abut_vec3){0.6, 0, 0}, -0.1 * frame);
        assert_ok(abut_map_set_mesh(b->ours, here));
        assert_ok(abut_bvh_set_mesh(b->bvh, there));
        assert_ok(sud_map_set_meshes(b->theirs, here, there));
        compute_maps(b);
        check_texels(b, 2);
        const double sites = 3.0 * abut_mesh_triangle_count(there);
        assert_true((double)b->counts.pairs < 0.25 * sites * abut_mesh_triangle_count(here));
    }
    assert_int_equal(sud_map_set_meshes(b->theirs, body, body), ABUT_ERROR_ARGUMENT);
    free_maps(b);
}
