/* Bounds of the boundary handling, and view-lines of companions. */
#include "self/deform.h"

#include "self/self.h"

#include <math.h>

/* ---- bounds ---- */

/* Bounds of vertices contain the values of all slabs at both ends, up to the rounding to floats.
 * Bounds of nodes are those of their triangles. */
TEST(bounds_hold_all) {
    test_random random = {15};
    for (int round = 0; round < 4; round++) {
        AUTO(mesh) mesh = make_sheet(one_thread(), 31 + (uint32_t)round, 23, round % 2);
        uint32_t count = abut_mesh_vertex_count(mesh);
        AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
        abut_self_options options = abut_self_options_default();
        abut_self_result result = abut_self_result_default();
        AUTO(self) view;
        options.scheme = ABUT_SELF_POINT; /* which uses bounds at the boundary */
        random_motion(&random, start, end, count, 0.2, 0.01);
        abut_self_step step = step_of(start, end);
        step.start_is_free = true;
        assert_ok(abut_self_create(mesh, &options, &view));
        assert_ok(abut_self_find(view, &step, NULL, &result));
        const int slabs = DOP_SLABS, step_of = 2 * slabs;
        for (uint32_t i = 0; i < count; i++)
            for (int e = 0; e < 2; e++) {
                vec3 p = v3_scale(v3_sub(e ? end[i] : start[i], view->centre), view->scale);
                assert_true(v3_max_abs(p) <= 1);
                double value[8] = {p.x,       p.y,       p.z,       p.x + p.y,
                                   p.x + p.z, p.y + p.z, p.x - p.y, p.x - p.z};
                for (int k = 0; k < 8; k++) {
                    const float *lo = view->vertex_bounds + i * (size_t)step_of;
                    assert_true((double)lo[k] <= value[k] + 0x1p-23);
                    assert_true((double)lo[slabs + k] >= value[k] - 0x1p-23);
                }
            }
        for (uint32_t node = 0; node < view->tree.node_count; node++) {
            uint32_t child = view->tree.child[node];
            const uint32_t *corner = view->corners + 3 * (size_t)(child & ~TREE_LEAF);
            const float *own = view->tree.bounds + node * (size_t)step_of;
            for (int k = 0; k < step_of; k++) {
                bool leaf = child & TREE_LEAF;
                float most = k < slabs ? INFINITY : -INFINITY;
                for (uint32_t j = 0; j < (leaf ? 3u : 2u); j++) {
                    float of = leaf ? view->vertex_bounds[corner[j] * (size_t)step_of + (size_t)k]
                                    : view->tree.bounds[(child + j) * (size_t)step_of + (size_t)k];
                    most = (k < slabs) == (of < most) ? of : most;
                }
                assert_true(own[k] == most);
            }
        }
    }
}

/* ---- the line of a companion ---- */

static void assert_near(vec3 a, vec3 b, double tolerance) {
    assert_true(v3_length(v3_sub(a, b)) <= tolerance);
}

/* A rod that is moved and turned as a whole takes its line along. */
TEST(lines_move_with_companions) {
    test_random random = {13};
    enum { COUNT = 3000 }; /* of which some are looked at */
    static abut_vec3 start[COUNT], end[COUNT];
    for (uint32_t round = 0; round < test_rounds(16) + 2; round++) {
        uint32_t count = round % 2 ? COUNT : 40;
        double size = round % 3 ? 1 : 1e-150;
        vec3 shift = random_vector(&random, 10), by = random_vector(&random, 1);
        mat3 turn = quat_matrix((quat){by.x, by.y, by.z, 2});
        for (uint32_t i = 0; i < count; i++) {
            vec3 p = random_vector(&random, 1);
            p = v3_scale(v3(3 * p.x, 0.5 * p.y, 0.2 * p.z), size);
            start[i] = v3_add(p, v3_scale(shift, size));
            end[i] = v3_sub(m3_apply(&turn, p), v3_scale(shift, size));
        }
        abut_self_line line;
        assert_ok(abut_self_fit_line(start, end, count, &line));
        vec3 along = v3_scale(v3_sub(line.start[1], line.start[0]), 1 / size);
        assert_true(fabs(along.x) > 2.2 && fabs(along.x) < 3.7); /* three fifths of 6, about */
        assert_true(fabs(along.y) < 1 && fabs(along.z) < 1);
        for (int k = 0; k < 2; k++) {
            vec3 own = v3_sub(line.start[k], v3_scale(shift, size));
            vec3 moved = v3_sub(m3_apply(&turn, own), v3_scale(shift, size));
            assert_near(moved, line.end[k], 1e-12 * size);
        }
    }
}

TEST(lines_of_anything) {
    const abut_vec3 p[4] = {{1, 2, 3}, {1, 2, 3}, {1e90, -1e90, 1e90}, {-1e90, 1e90, 1e90}};
    const abut_vec3 bad[2] = {{0, 0, 0}, {0, NAN, 0}};
    abut_self_line line;
    assert_ok(abut_self_fit_line(p, p, 1, &line));
    assert_ok(abut_self_fit_line(p, p + 1, 1, &line));
    for (int k = 0; k < 2; k++) { /* a point */
        assert_near(p[0], line.start[k], 0);
        assert_near(p[0], line.end[k], 0);
    }
    assert_ok(abut_self_fit_line(p, p + 2, 2, &line)); /* out of one place, far apart */
    for (int k = 0; k < 2; k++)
        assert_true(v3_max_abs(line.start[k]) <= 1e90 && v3_max_abs(line.end[k]) <= 1e90);
    memset(&line, 0x55, sizeof line);
    abut_self_line before = line;
    assert_refused("start is null", abut_self_fit_line(NULL, p, 1, &line));
    assert_refused("end is null", abut_self_fit_line(p, NULL, 1, &line));
    assert_refused("line is null", abut_self_fit_line(p, p, 1, NULL));
    assert_refused("count is 0", abut_self_fit_line(p, p, 0, &line));
    assert_refused("start: vertex 1", abut_self_fit_line(bad, p, 2, &line));
    assert_refused("end: vertex 1", abut_self_fit_line(p, bad, 2, &line));
    assert_memory_equal(&before, &line, sizeof line);
}
