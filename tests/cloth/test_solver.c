/* The solver of the cloth: patches, distances that vertices keep from faces, and motion. */
#include "fixture.h"

/* ---- patches ---- */

/* Slot i of a group of rounds: 0 = shared hinges, 1 = shared edges, 2, 3 = the inner ones. All
 * begin with their corners. */
static const uint32_t *slot_of(const cloth_patches *all, const cloth_patch *p, int group,
                               uint32_t i) {
    const size_t bytes = group & 1 ? sizeof(cloth_edge) : sizeof(cloth_hinge);
    const unsigned char *slots = all->slots[group & 1].data;
    return (const uint32_t *)(const void *)(slots + (p->first_slot[group] + i) * bytes);
}

/* How often a patch has a constraint, by its corners in the cloth. */
static uint32_t count_constraint(const cloth_patches *all, const cloth_patch *p, int group,
                                 const uint32_t *vertices) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->rounds[group] * PATCH_LANES; i++) {
        const uint32_t *mine = slot_of(all, p, group, i);
        bool same = mine[0] != ABUT_NONE;
        for (int k = 0; k < (group & 1 ? 2 : 4) && same; k++)
            same = ABUTI_AT(&all->list, uint32_t, p->first + mine[k]) == vertices[k];
        count += same;
    }
    return count;
}

/* No vertex is twice in a round. */
static void check_rounds(const cloth_patches *all, const cloth_patch *p, int group) {
    uint32_t seen[3000];
    memset(seen, 0xff, sizeof seen);
    for (uint32_t i = 0; i < p->rounds[group] * PATCH_LANES; i++) {
        const uint32_t *mine = slot_of(all, p, group, i), round = i / PATCH_LANES;
        for (int k = 0; k < (group & 1 ? 2 : 4) && mine[0] != ABUT_NONE; k++) {
            assert_true(mine[k] < p->all && seen[mine[k]] != round);
            seen[mine[k]] = round;
        }
    }
}

/* Shared and inner constraints are in their own rounds, once each in every patch of a corner. */
static uint32_t check_constraint(const cloth_patches *all, uint32_t number, int kind,
                                 const uint32_t *vertices, const uint32_t *owner) {
    bool mine = false, inner = true;
    for (int k = 0; k < (kind ? 2 : 4); k++) {
        mine = mine || owner[vertices[k]] == number;
        inner = inner && owner[vertices[k]] == number;
    }
    const cloth_patch *p = &all->patches[number];
    assert_int_equal(mine && !inner, count_constraint(all, p, kind, vertices));
    assert_int_equal(inner, count_constraint(all, p, 2 + kind, vertices));
    return mine;
}

TEST(patches_have_all_constraints_of_their_vertices) {
    for (int m = 0; m < 3; m++) {
        abut_shape shape = abut_shape_default(m == 0   ? ABUT_SHAPE_SHEET
                                              : m == 1 ? ABUT_SHAPE_CONE
                                                       : ABUT_SHAPE_BOX);
        shape.segments = m == 0 ? 19 : m == 1 ? 90 : 1; /* the cone has an apex of 90 edges */
        shape.rings = m == 0 ? 17 : 2;
        abut_mesh *mesh = NULL;
        assert_ok(abut_shape_create(serial, &shape, &mesh));
        const cloth_options options = {.bend = 1e-4};
        abut_cloth *c = make_cloth(mesh, NULL, &options);
        step(c, 1e-6, NULL);
        const cloth_patches *all = &c->patches;
        uint32_t owner[3000], copies = 0;
        memset(owner, 0xff, sizeof owner);
        assert_true(c->vertices < 3000 && all->count == (c->vertices + PATCH_OWN - 1) / PATCH_OWN);
        for (uint32_t k = 0; k < all->count; k++) {
            const cloth_patch *p = &all->patches[k];
            assert_true(p->own <= PATCH_OWN && p->own <= p->all && p->all <= all->largest);
            for (uint32_t i = 0; i < p->own; i++) {
                assert_true(owner[ABUTI_AT(&all->list, uint32_t, p->first + i)] == ABUT_NONE);
                owner[ABUTI_AT(&all->list, uint32_t, p->first + i)] = k;
            }
            for (int group = 0; group < 4; group++)
                check_rounds(all, p, group);
        }
        for (uint32_t i = 0; i < c->vertices; i++)
            assert_true(owner[i] != ABUT_NONE);
        for (uint32_t k = 0; k < all->count; k++) {
            for (uint32_t i = 0; i < c->edge_count; i++)
                copies += check_constraint(all, k, 1, c->edges[i].vertex, owner);
            for (uint32_t i = 0; i < c->hinge_count; i++)
                check_constraint(all, k, 0, c->hinges[i].vertex, owner);
        }
        assert_true(m == 2 ? copies == c->edge_count : copies > c->edge_count);
        abut_cloth_destroy(c);
        abut_mesh_destroy(mesh);
    }
}

/* ---- the cloth and itself ---- */

/* All vertices against all faces, in a rolled sheet, whose layers are near each other. */
TEST(nearest_faces_are_found) {
    abut_mesh *mesh = NULL;
    assert_ok(make_sheet(serial, 24, 1, v3(0, 0, 0), &mesh));
    const cloth_options options = {.thickness = 0.01, .substeps = 1};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    const cloth_search *s = &c->search;
    const vec *rest = abut_mesh_local_positions(mesh);
    test_random random = {5};
    for (uint32_t i = 0; i < c->vertices; i++) { /* Archimedes' spiral, with some noise */
        const double angle = (rest[i].x + 0.5) / 0.09, r = 0.08 + 0.02 / 6.283 * angle;
        c->position[i] = cloth_round(v3(r * cos(angle), r * sin(angle),
                                        rest[i].y + 0.004 * test_random_real(&random, -1, 1)));
    }
    abut_cloth_report report;
    vec *before = malloc(c->vertices * sizeof *before);
    assert_non_null(before);
    memcpy(before, c->position, c->vertices * sizeof *before);
    assert_ok(try_step(c, 1e-6, NULL, &report));
    uint32_t found = 0;
    double thinnest = s->range;
    for (uint32_t v = 0; v < c->vertices; v++) {
        double best = s->range;
        for (uint32_t f = 0; f < c->triangles; f++) {
            const uint32_t *k = c->groups[SHEETS].indices + 3 * (size_t)f;
            double weight[3], nearest = HUGE_VAL;
            for (int j = 0; j < 3; j++)
                nearest = fmin(nearest, v3_length(v3_sub(rest[k[j]], rest[v])));
            if (nearest <= c->parts[0].rest_range)
                continue;
            cloth_nearest_weights(before[v], before[k[0]], before[k[1]], before[k[2]], weight);
            vec p = cloth_mix(before[k[0]], before[k[1]], before[k[2]], weight);
            best = fmin(best, v3_length(v3_sub(before[v], p)));
        }
        const cloth_self *self = &c->host->selves[v];
        assert_int_equal(best < s->range, self->vertex[0] != ABUT_NONE);
        if (best >= s->range)
            continue;
        vec p = cloth_mix(before[self->vertex[0]], before[self->vertex[1]], before[self->vertex[2]],
                          self->weight);
        assert_close(best, v3_length(v3_sub(before[v], p)), 1e-12);
        assert_close(1, v3_length(self->normal), 1e-12);
        thinnest = fmin(thinnest, best);
        found++;
    }
    assert_true(found > 100);
    assert_int_equal(found, report.contacts);
    assert_close(thinnest, report.gap, 1e-7);
    free(before);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* The nearest point of a triangle, against many points of it. */
TEST(weights_are_of_nearest_points) {
    test_random random = {6};
    for (uint32_t i = 0; i < 100 + test_rounds(2000); i++) {
        vec v[4];
        double weight[3];
        for (int k = 0; k < 4; k++)
            v[k] = v3(test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                      i % 5 ? test_random_real(&random, -1, 1) : 0);
        if (i % 7 == 0)
            v[2] = cloth_mix(v[0], v[1], v[2], (const double[]){0.5, 0.5, 0}); /* no area */
        cloth_nearest_weights(v[3], v[0], v[1], v[2], weight);
        assert_close(1, weight[0] + weight[1] + weight[2], 1e-9);
        double best = v3_length(v3_sub(v[3], cloth_mix(v[0], v[1], v[2], weight)));
        for (int a = 0; a <= 10; a++)
            for (int b = 0; a + b <= 10; b++) {
                const double other[3] = {0.1 * a, 0.1 * b, 1 - 0.1 * a - 0.1 * b};
                double d = v3_length(v3_sub(v[3], cloth_mix(v[0], v[1], v[2], other)));
                assert_true(best <= d + 1e-9);
            }
    }
}

/* A sheet of two layers: the upper one falls on the lower one, which is held. It comes to lie on
 * it; without self-collision it goes through. */
TEST(layers_stay_apart) {
    enum { SIDE = 8, LAYER = (SIDE + 1) * (SIDE + 1) };
    vec p[2 * LAYER];
    uint32_t t[4 * SIDE * SIDE * 3], pins[LAYER], used = 0;
    for (uint32_t i = 0; i < LAYER; i++) {
        const double x = 0.1 * (i % (SIDE + 1)), y = 0.1 * (i / (SIDE + 1));
        p[i] = v3(x, y, 0);
        p[LAYER + i] = v3(0.8 * x + 0.07, 0.8 * y + 0.06, 0.3);
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
                                       .ignore_self = k == 1};
        abut_cloth *c = make_cloth(mesh, NULL, &options);
        for (int i = 0; i < 80; i++) {
            step(c, 1.0 / 120, NULL);
        }
        double low = HUGE_VAL, high = -low;
        for (uint32_t i = LAYER; i < 2 * LAYER; i++) {
            low = fmin(low, positions_of(c)[i].z);
            high = fmax(high, positions_of(c)[i].z);
        }
        if (k)
            assert_true(high < -0.5);
        else
            assert_true(low > 0 && high < 0.1);
        abut_cloth_destroy(c);
    }
    abut_mesh_destroy(mesh);
}

/* ---- motion ---- */

/* Stretched and thrown, without forces from outside: energy does not grow, and the middle goes on
 * as it did, though what two patches share is done by both. */
static double momentum_drift_of_throw(test_random *random) {
    abut_mesh *mesh = NULL;
    assert_ok(make_sheet(serial, 24, 1, v3(0, 0, 0), &mesh));
    const cloth_options options = {.bend = 1e-3, .ignore_self = true};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    vec momentum = {0, 0, 0};
    double scale = 0;
    for (uint32_t i = 0; i < c->vertices; i++) {
        vec v = v3(2 * c->position[i].x + 0.3, test_random_real(random, -1, 1), c->position[i].y);
        c->velocity[i] = v;
        momentum = v3_along(momentum, c->mass[i], v);
        scale += c->mass[i] * v3_length(v);
    }
    abut_cloth_energy e = energy_of(c);
    const double at_first = e.kinetic + e.elastic;
    const int steps = test_brief() ? 30 : 100;
    for (int i = 0; i < steps; i++) {
        step(c, 1.0 / 100, NULL);
        e = energy_of(c);
        assert_true(e.kinetic + e.elastic < 1.02 * at_first);
    }
    vec now = {0, 0, 0};
    for (uint32_t i = 0; i < c->vertices; i++)
        now = v3_along(now, c->mass[i], c->velocity[i]);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
    return v3_length(v3_sub(now, momentum)) / scale;
}

/* Momentum changes only at corners of three patches. What is lost depends on the throw, so the mean
 * of a few has the bound. */
TEST(energy_does_not_grow_and_momentum_stays) {
    enum { THROWS = 3 };
    test_random random = {7};
    double sum = 0;
    for (int i = 0; i < THROWS; i++)
        sum += momentum_drift_of_throw(&random);
    assert_close(0, sum / THROWS, 0.006);
}

int main(void) {
    return run_serial();
}
