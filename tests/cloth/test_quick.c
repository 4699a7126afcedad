/* Cloth against radial fields: patches, distances kept, and motion. */
#include "ball.h"

#include <math.h>
#include <stdlib.h>

static abut_context *serial;

static cloth *make_cloth(abut_mesh *mesh, const cloth_options *options, abut_radial *radial) {
    cloth *c = NULL;
    assert_ok(cloth_create(serial, mesh, options, &c));
    assert_ok(cloth_add_radial(c, radial));
    return c;
}

/* Fields of a ball that is far from everything. */
static abut_radial *far_ball(void) {
    abut_mesh *mesh = NULL;
    abut_radial *radial = NULL;
    vec to[200];
    assert_ok(make_ball(serial, 0.2, NULL, &mesh, &radial));
    assert_true(abut_mesh_vertex_count(mesh) <= 200);
    const abut_character_matrix bone = ball_at(mesh, vec_of(50, 0, 0), to);
    assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(to)));
    abut_mesh_destroy(mesh);
    return radial;
}

/* ---- patches ---- */

/* How often a patch has a constraint: by its corners in the cloth and its length at rest. */
static uint32_t count_edge(const cloth_patches *all, const cloth_patch *p, const cloth_edge *e) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->edge_rounds * PATCH_LANES; i++) {
        const cloth_edge *mine = &all->edges[p->first_edge + i];
        if (mine->vertex[0] != VEC_NONE && mine->rest == e->rest)
            count += all->list[p->first + mine->vertex[0]] == e->vertex[0] &&
                     all->list[p->first + mine->vertex[1]] == e->vertex[1];
    }
    return count;
}

static uint32_t count_hinge(const cloth_patches *all, const cloth_patch *p, const cloth_hinge *h) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->hinge_rounds * PATCH_LANES; i++) {
        const cloth_hinge *mine = &all->hinges[p->first_hinge + i];
        bool same = mine->vertex[0] != VEC_NONE && mine->rest == h->rest;
        for (int k = 0; k < 4 && same; k++)
            same = all->list[p->first + mine->vertex[k]] == h->vertex[k];
        count += same;
    }
    return count;
}

/* No vertex is twice in a round. */
static void check_rounds(const cloth_patches *all, const cloth_patch *p) {
    uint32_t seen[PATCH_ALL];
    memset(seen, 0xff, sizeof seen);
    for (uint32_t i = 0; i < p->hinge_rounds * PATCH_LANES; i++)
        for (int k = 0; k < 4 && all->hinges[p->first_hinge + i].vertex[0] != VEC_NONE; k++) {
            uint32_t v = all->hinges[p->first_hinge + i].vertex[k], round = i / PATCH_LANES;
            assert_true(v < p->all && seen[v] != round);
            seen[v] = round;
        }
    memset(seen, 0xff, sizeof seen);
    for (uint32_t i = 0; i < p->edge_rounds * PATCH_LANES; i++)
        for (int k = 0; k < 2 && all->edges[p->first_edge + i].vertex[0] != VEC_NONE; k++) {
            uint32_t v = all->edges[p->first_edge + i].vertex[k], round = i / PATCH_LANES;
            assert_true(v < p->all && seen[v] != round);
            seen[v] = round;
        }
}

TEST(patches_have_all_constraints_of_their_vertices) {
    abut_radial *radial = far_ball();
    for (int m = 0; m < 3; m++) {
        abut_shape shape = abut_shape_default(m == 0   ? ABUT_SHAPE_SHEET
                                              : m == 1 ? ABUT_SHAPE_CONE
                                                       : ABUT_SHAPE_BOX);
        shape.segments = m == 0 ? 19 : m == 1 ? 80 : 1; /* the cone has an apex of 80 edges */
        shape.rings = m == 0 ? 17 : 2;
        abut_mesh *mesh = NULL;
        assert_ok(abut_shape_create(serial, &shape, &mesh));
        const cloth_options options = {.bend = 1e-4};
        cloth *c = make_cloth(mesh, &options, radial);
        const cloth_patches *all = c->quick->patches;
        uint32_t owner[2000], copies = 0;
        memset(owner, 0xff, sizeof owner);
        assert_true(c->vertices < 2000 && all->count == (c->vertices + PATCH_OWN - 1) / PATCH_OWN);
        for (uint32_t k = 0; k < all->count; k++) {
            const cloth_patch *p = &all->patches[k];
            assert_true(p->own <= PATCH_OWN && p->own <= p->all && p->all <= all->largest);
            for (uint32_t i = 0; i < p->own; i++) {
                assert_true(owner[all->list[p->first + i]] == ABUT_NONE);
                owner[all->list[p->first + i]] = k;
            }
            check_rounds(all, p);
        }
        for (uint32_t i = 0; i < c->vertices; i++)
            assert_true(owner[i] != ABUT_NONE);
        for (uint32_t k = 0; k < all->count; k++) {
            const cloth_patch *p = &all->patches[k];
            for (uint32_t i = 0; i < c->edge_count; i++) {
                const cloth_edge *e = &c->edges[i];
                const bool mine = owner[e->vertex[0]] == k || owner[e->vertex[1]] == k;
                assert_int_equal(mine, count_edge(all, p, e));
                copies += mine;
            }
            for (uint32_t i = 0; i < c->hinge_count; i++) {
                bool mine = false;
                for (int j = 0; j < 4; j++)
                    mine = mine || owner[c->hinges[i].vertex[j]] == k;
                assert_int_equal(mine, count_hinge(all, p, &c->hinges[i]));
            }
        }
        assert_true(m == 2 ? copies == c->edge_count : copies > c->edge_count);
        cloth_destroy(c);
        abut_mesh_destroy(mesh);
    }
    abut_radial_destroy(radial);
}

/* ---- the cloth and itself ---- */

/* All vertices against all faces, in a rolled sheet, whose layers are near each other. */
TEST(nearest_faces_are_found) {
    abut_radial *radial = far_ball();
    abut_mesh *mesh = NULL;
    assert_ok(make_sheet(serial, 24, 1, vec_of(0, 0, 0), &mesh));
    const cloth_options options = {.thickness = 0.01, .substeps = 1};
    cloth *c = make_cloth(mesh, &options, radial);
    const cloth_search *s = &c->quick->search;
    const vec *rest = abut_mesh_local_positions(mesh);
    test_random random = {5};
    for (uint32_t i = 0; i < c->vertices; i++) { /* Archimedes' spiral, with some noise */
        const double angle = (rest[i].x + 0.5) / 0.09, r = 0.08 + 0.02 / 6.283 * angle;
        c->position[i] = vec_round(vec_of(r * cos(angle), r * sin(angle),
                                          rest[i].y + 0.004 * test_random_real(&random, -1, 1)));
    }
    cloth_report report;
    vec *before = malloc(c->vertices * sizeof *before);
    assert_non_null(before);
    memcpy(before, c->position, c->vertices * sizeof *before);
    assert_ok(cloth_step(c, 1e-6, NULL, &report));
    uint32_t found = 0;
    double thinnest = s->range;
    for (uint32_t v = 0; v < c->vertices; v++) {
        double best = s->range;
        for (uint32_t f = 0; f < c->triangles; f++) {
            const uint32_t *k = c->indices + 3 * (size_t)f;
            double weight[3], nearest = HUGE_VAL;
            for (int j = 0; j < 3; j++)
                nearest = fmin(nearest, vec_length(vec_sub(rest[k[j]], rest[v])));
            if (nearest <= s->rest)
                continue;
            cloth_nearest_weights(before[v], before[k[0]], before[k[1]], before[k[2]], weight);
            vec p = vec_mix(before[k[0]], before[k[1]], before[k[2]], weight);
            best = fmin(best, vec_length(vec_sub(before[v], p)));
        }
        const cloth_self *self = &c->quick->selves[v];
        assert_int_equal(best < s->range, self->vertex[0] != VEC_NONE);
        if (best >= s->range)
            continue;
        vec p = vec_mix(before[self->vertex[0]], before[self->vertex[1]], before[self->vertex[2]],
                        self->weight);
        assert_close(best, vec_length(vec_sub(before[v], p)), 1e-12);
        assert_close(1, vec_length(self->normal), 1e-12);
        thinnest = fmin(thinnest, best);
        found++;
    }
    assert_true(found > 100);
    assert_int_equal(found, report.contacts);
    assert_close(thinnest, report.thinnest, 1e-7);
    free(before);
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
    abut_radial_destroy(radial);
}

/* The nearest point of a triangle, against many points of it. */
TEST(weights_are_of_nearest_points) {
    test_random random = {6};
    for (uint32_t i = 0; i < 100 + test_rounds(2000); i++) {
        vec v[4];
        double weight[3];
        for (int k = 0; k < 4; k++)
            v[k] = vec_of(test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                          i % 5 ? test_random_real(&random, -1, 1) : 0);
        if (i % 7 == 0)
            v[2] = vec_mix(v[0], v[1], v[2], (const double[]){0.5, 0.5, 0}); /* no area */
        cloth_nearest_weights(v[3], v[0], v[1], v[2], weight);
        assert_close(1, weight[0] + weight[1] + weight[2], 1e-9);
        double best = vec_length(vec_sub(v[3], vec_mix(v[0], v[1], v[2], weight)));
        for (int a = 0; a <= 10; a++)
            for (int b = 0; a + b <= 10; b++) {
                const double other[3] = {0.1 * a, 0.1 * b, 1 - 0.1 * a - 0.1 * b};
                double d = vec_length(vec_sub(v[3], vec_mix(v[0], v[1], v[2], other)));
                assert_true(best <= d + 1e-9);
            }
    }
}

/* A sheet of two layers: the upper one falls on the lower one, which is held. It comes to lie on
 * it; without self-collision it goes through. */
TEST(layers_stay_apart) {
    abut_radial *radial = far_ball();
    enum { SIDE = 8, LAYER = (SIDE + 1) * (SIDE + 1) };
    vec p[2 * LAYER];
    uint32_t t[4 * SIDE * SIDE * 3], pins[LAYER], used = 0;
    for (uint32_t i = 0; i < LAYER; i++) {
        const double x = 0.1 * (i % (SIDE + 1)), y = 0.1 * (i / (SIDE + 1));
        p[i] = vec_of(x, y, 0);
        p[LAYER + i] = vec_of(0.8 * x + 0.07, 0.8 * y + 0.06, 0.3);
        pins[i] = i;
    }
    for (uint32_t layer = 0; layer < 2; layer++)
        for (uint32_t i = 0; i < SIDE; i++)
            for (uint32_t j = 0; j < SIDE; j++) {
                const uint32_t a = layer * LAYER + i * (SIDE + 1) + j, b = a + SIDE + 1;
                const uint32_t quad[6] = {a, a + 1, b, a + 1, b + 1, b};
                memcpy(t + used, quad, sizeof quad);
                used += 6;
            }
    abut_mesh *mesh = NULL;
    const abut_mesh_input input = abut_mesh_input_doubles(p, 2 * LAYER, t, 4 * SIDE * SIDE);
    assert_ok(abut_mesh_create(serial, &input, &mesh));
    for (int k = 0; k < 2; k++) {
        const cloth_options options = {.gravity = {0, 0, -9.81},
                                       .bend = 1e-4,
                                       .friction = 0.5,
                                       .damping = 1,
                                       .pins = pins,
                                       .pin_count = LAYER,
                                       .no_self = k == 1};
        cloth *c = make_cloth(mesh, &options, radial);
        for (int i = 0; i < 80; i++) {
            cloth_report report;
            assert_ok(cloth_step(c, 1.0 / 120, NULL, &report));
        }
        double low = HUGE_VAL, high = -low;
        for (uint32_t i = LAYER; i < 2 * LAYER; i++) {
            low = fmin(low, cloth_positions(c)[i].z);
            high = fmax(high, cloth_positions(c)[i].z);
        }
        if (k)
            assert_true(high < -0.5);
        else
            assert_true(low > 0 && high < 0.1);
        cloth_destroy(c);
    }
    abut_mesh_destroy(mesh);
    abut_radial_destroy(radial);
}

/* ---- motion ---- */

/* Stretched and thrown, without forces from outside: energy does not grow, and the middle goes on
 * as it did, though what two patches share is done by both. */
static double momentum_drift_of_throw(test_random *random) {
    abut_radial *radial = far_ball();
    abut_mesh *mesh = NULL;
    assert_ok(make_sheet(serial, 24, 1, vec_of(0, 0, 0), &mesh));
    const cloth_options options = {.bend = 1e-3, .no_self = true};
    cloth *c = make_cloth(mesh, &options, radial);
    assert_true(c->quick->patches->count > 4);
    vec momentum = {0, 0, 0};
    double scale = 0;
    for (uint32_t i = 0; i < c->vertices; i++) {
        vec v =
            vec_of(2 * c->position[i].x + 0.3, test_random_real(random, -1, 1), c->position[i].y);
        c->velocity[i] = v;
        momentum = vec_along(momentum, c->mass[i], v);
        scale += c->mass[i] * vec_length(v);
    }
    cloth_energy e = cloth_energy_of(c);
    const double at_first = e.kinetic + e.elastic;
    const int steps = test_brief() ? 30 : 100;
    for (int i = 0; i < steps; i++) {
        cloth_report report;
        assert_ok(cloth_step(c, 1.0 / 100, NULL, &report));
        e = cloth_energy_of(c);
        assert_true(e.kinetic + e.elastic < 1.02 * at_first);
    }
    vec now = {0, 0, 0};
    for (uint32_t i = 0; i < c->vertices; i++)
        now = vec_along(now, c->mass[i], c->velocity[i]);
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
    abut_radial_destroy(radial);
    return vec_length(vec_sub(now, momentum)) / scale;
}

/* Momentum is kept between patches to the second order only, so what is lost depends on the throw:
 * about 0.004, and 0.012 in one of 50. The mean of a few has the bound. */
TEST(energy_does_not_grow_and_momentum_stays) {
    enum { THROWS = 3 };
    test_random random = {7};
    double sum = 0;
    for (int i = 0; i < THROWS; i++)
        sum += momentum_drift_of_throw(&random);
    assert_close(0, sum / THROWS, 0.01);
}

/* A sheet falls on a ball that moves. Its vertices end outside, on any number of threads the same.
 */
TEST_THREADS(sheets_lie_on_balls) {
    vec ends[2][1200];
    for (int k = 0; k < 2; k++) {
        test_memory memory = {.fail_at = 0};
        abut_context *context = test_context(&memory, 1 + (uint32_t)k);
        abut_mesh *sheet = NULL, *ball = NULL;
        abut_radial *radial = NULL;
        cloth *c = NULL;
        const uint32_t corner[1] = {0};
        cloth_hold hold;
        assert_ok(make_ball(context, 0.4, NULL, &ball, &radial));
        assert_ok(make_sheet(context, 20, 1.2, vec_of(0, 0, 0.45), &sheet));
        const cloth_options options = {
            .gravity = {0, 0, -9.81}, .bend = 1e-4, .friction = 0.4, .drag = 0.1, .grain = 50};
        assert_ok(cloth_create(context, sheet, &options, &c));
        assert_ok(cloth_add_solid(c, ball));
        assert_ok(cloth_add_radial(c, radial));
        assert_refused("without fields", cloth_add_radial(c, radial));
        assert_ok(cloth_bind(c, corner, 1, 20, &hold));
        assert_ok(cloth_add_holds(c, &hold, 1));
        vec to[200];
        uint32_t hits = 0;
        for (int i = 0; i <= 40; i++) {
            const abut_character_matrix bone = ball_at(ball, vec_of(0.005 * i, 0, 0), to);
            cloth_report report;
            assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(to)));
            assert_ok(cloth_step(c, 1.0 / 60, to, &report));
            assert_true(report.deepest < BALL_CELL && report.fraction == 1);
            hits += report.impacts;
        }
        assert_true(hits > 40 * 10);
        assert_true(c->all_vertices <= 1200);
        for (uint32_t i = 0; i < c->vertices; i++) {
            const vec off = vec_sub(cloth_positions(c)[i], vec_of(0.2, 0, 0));
            assert_true(vec_length(off) > 0.4 - BALL_CELL);
        }
        memcpy(ends[k], cloth_positions(c), c->all_vertices * sizeof(vec));

        bool is_free = false;
        assert_ok(cloth_is_free(c, &is_free)); /* may be called in any state */
        const uint32_t bytes = c->all_vertices * (uint32_t)sizeof(vec);
        cloth_destroy(c);
        abut_radial_destroy(radial);
        abut_mesh_destroy(sheet);
        abut_mesh_destroy(ball);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
        if (k)
            assert_memory_equal(ends[0], ends[1], bytes);
    }
}

/* Where fields see nothing vertices leave the solid exactly: all that are not too deep, except for
 * pinned ones. They do not go on inwards. */
TEST(vertices_leave_the_solid) {
    abut_radial *radial = far_ball();
    abut_mesh *sheet = NULL, *ball = NULL;
    abut_radial *unused = NULL;
    assert_ok(make_ball(serial, 0.4, NULL, &ball, &unused));
    assert_ok(make_sheet(serial, 20, 1.2, vec_of(0, 0, 0.3), &sheet));
    const uint32_t pins[] = {220};
    const cloth_options options = {.thickness = 0.01, .pins = pins, .pin_count = 1};
    cloth *c = make_cloth(sheet, &options, radial);
    uint32_t moved = 0;
    double deepest = 0;
    assert_refused("with a solid", cloth_leave_solid(c, 0.1, &moved, &deepest));
    assert_ok(cloth_add_solid(c, ball));
    assert_refused("above 0", cloth_leave_solid(c, 0, &moved, &deepest));
    assert_refused("results", cloth_leave_solid(c, 1, NULL, &deepest));
    assert_refused("radial fields", cloth_leave_solid(NULL, 1, &moved, &deepest));
    uint32_t inside = 0, stay = 0;
    for (uint32_t i = 0; i < c->vertices; i++) {
        c->velocity[i] = vec_of(1, 0, -1);
        inside += vec_length(c->position[i]) < 0.39 && i != 220;
    }
    vec *before = malloc(c->vertices * sizeof *before);
    assert_non_null(before);
    memcpy(before, c->position, c->vertices * sizeof *before);
    assert_ok(cloth_leave_solid(c, 0.2, &moved, &deepest));
    assert_true(inside > 20 && moved >= inside && deepest > 0.07 && deepest < 0.1);
    for (uint32_t i = 0; i < c->vertices; i++) {
        const vec at = cloth_positions(c)[i], way = vec_sub(at, before[i]);
        assert_true(i == 220 || vec_length(at) > 0.38); /* the ball has edges */
        assert_true(vec_length(way) < deepest + 0.011);
        if (vec_length(way) > 0)
            assert_true(vec_dot(c->velocity[i], way) > -1e-12);
        else
            stay++;
    }
    assert_int_equal(c->vertices - moved, stay);
    assert_ok(cloth_leave_solid(c, 0.2, &moved, &deepest));
    assert_int_equal(0, moved);
    free(before);
    cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
    abut_radial_destroy(radial);
    abut_radial_destroy(unused);
}

/* ---- bad input ---- */

TEST(refusals) {
    abut_radial *radial = far_ball();
    abut_mesh *sheet = NULL, *cone = NULL;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CONE);
    shape.segments = 1500;
    shape.rings = 1;
    assert_ok(abut_shape_create(serial, &shape, &cone));
    assert_ok(make_sheet(serial, 4, 1, vec_of(0, 0, 0), &sheet));
    cloth_options options = {.gravity = {0, 0, -1}};
    cloth *c = NULL;
    assert_ok(cloth_create(serial, cone, &options, &c));
    assert_fails(ABUT_ERROR_LIMIT, "too many neighbours", cloth_add_radial(c, radial));
    cloth_report report;
    assert_ok(cloth_step(c, 0.01, NULL, &report)); /* as before */
    cloth_destroy(c);
    options.gravity.z = -1e30;
    c = make_cloth(sheet, &options, radial);
    vec before[25], velocity[25];
    memcpy(before, cloth_positions(c), sizeof before);
    memcpy(velocity, c->velocity, sizeof velocity);
    assert_fails(ABUT_ERROR_LIMIT, "flies apart", cloth_step(c, 1, NULL, &report));
    assert_memory_equal(before, cloth_positions(c), sizeof before);
    assert_memory_equal(velocity, c->velocity, sizeof velocity);
    assert_refused("seconds above 0", cloth_step_from(c, 0, abut_array_host(NULL), &report));
    assert_refused("seconds above 0", cloth_step_from(NULL, 1, abut_array_host(NULL), &report));
    assert_refused("a cloth on a device",
                   cloth_step_from(c, 1, abut_array_buffer((abut_buffer *)(void *)before),
                                   &report));
    cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(cone);
    abut_radial_destroy(radial);
}

static abut_status run_small(abut_context *context, void *data) {
    const cloth_options options = {.gravity = {0, 0, -1}, .bend = 1e-4, .substeps = 2};
    const cloth_hold pulled = {.vertex = 5, .triangle = ABUT_NONE, .stiffness = 1};
    abut_mesh *sheet = NULL, *ball = NULL;
    abut_radial *radial = NULL;
    cloth *c = NULL;
    cloth_report report;
    vec to[200];
    (void)data;
    abut_status status = make_sheet(context, 3, 1, vec_of(0, 0, 0.3), &sheet);
    status = status ? status : make_ball(context, 0.2, NULL, &ball, &radial);
    status = status ? status : cloth_create(context, sheet, &options, &c);
    status = status ? status : cloth_add_solid(c, ball);
    status = status ? status : cloth_add_radial(c, radial);
    status = status ? status : cloth_add_holds(c, &pulled, 1);
    for (int i = 0; i < 2 && !status; i++) {
        const abut_character_matrix bone = ball_at(ball, vec_of(0, 0, 0.05 * i), to);
        status = abut_radial_set_positions(radial, &bone, abut_array_host(to));
        vec before[16], velocity[16];
        memcpy(before, cloth_positions(c), sizeof before);
        memcpy(velocity, c->velocity, sizeof velocity);
        uint32_t moved;
        double deepest;
        status = status ? status : cloth_leave_solid(c, 0.1, &moved, &deepest);
        status = status ? status : cloth_step(c, 1.0 / 60, to, &report);
        if (status) {
            assert_memory_equal(before, cloth_positions(c), sizeof before);
            assert_memory_equal(velocity, c->velocity, sizeof velocity);
        }
    }
    cloth_destroy(c);
    abut_radial_destroy(radial);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(run_small, NULL) > 50);
}

int main(void) {
    serial = test_context(NULL, 1);
    int failed = test_run(NULL, NULL);
    abut_context_destroy(serial);
    return failed;
}
