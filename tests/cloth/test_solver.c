/* The solver of the cloth: patches, distances that vertices keep from faces, and motion. */
#include "fixture.h"

/* ---- patches ---- */

/* Constraint i of a kind: all begin with their corners. */
static const uint32_t *corners_of(const cloth_patches *all, int kind, uint32_t i) {
    const size_t bytes = kind == CLOTH_HINGES  ? sizeof(cloth_hinge)
                         : kind == CLOTH_EDGES ? sizeof(cloth_edge)
                                               : sizeof(cloth_seam);
    return (const uint32_t *)(const void *)((unsigned char *)all->constraints[kind].data +
                                            i * bytes);
}

/* No vertex is twice in a round. Counts constraints by a hash of their vertices. */
static void check_patch(const cloth_patches *all, const cloth_patch *p, int kind,
                        uint32_t *counts) {
    const uint32_t *rounds = &ABUTI_AT(&all->rounds, uint32_t, p->first_round[kind]);
    const int corners = kind == CLOTH_HINGES ? 4 : 2;
    for (uint32_t k = 0; k < p->rounds[kind]; k++) {
        uint32_t seen[3000];
        memset(seen, 0, sizeof seen);
        assert_true(rounds[k] < rounds[k + 1] && rounds[k + 1] - rounds[k] <= PATCH_LANES);
        for (uint32_t i = rounds[k]; i < rounds[k + 1]; i++) {
            uint32_t sum = 0;
            for (int a = 0; a < corners; a++) {
                const uint32_t mine = corners_of(all, kind, i)[a];
                assert_true(mine < p->count && !seen[mine]++);
                const uint32_t v = ABUTI_AT(&all->list, uint32_t, p->first + mine);
                sum = sum * 4099 + v;
            }
            counts[sum % 65521]++;
        }
    }
}

/* Every constraint is in one patch, and patches of a phase have no vertex in common. */
static void check_patches(const abut_cloth *c) {
    static uint32_t counts[CLOTH_KINDS][65521], marks[3000];
    const uint32_t totals[CLOTH_KINDS] = {c->hinge_count, c->edge_count, (uint32_t)c->seams.count};
    const cloth_patches *all = &c->patches;
    assert_true(c->vertices < 3000);
    memset(counts, 0, sizeof counts);
    for (uint32_t phase = 0; phase < CLOTH_PHASES; phase++) {
        memset(marks, 0, sizeof marks);
        for (uint32_t i = 0; i < cloth_patch_count(all, phase); i++) {
            const cloth_patch *p =
                &ABUTI_AT(&all->patches, cloth_patch, cloth_first_patch(all, phase) + i);
            assert_true(p->count <= all->largest && (phase || p->count <= PATCH_OWN));
            for (uint32_t k = 0; k < p->count; k++)
                assert_int_equal(0, marks[ABUTI_AT(&all->list, uint32_t, p->first + k)]++);
            for (int kind = 0; kind < CLOTH_KINDS; kind++)
                check_patch(all, p, kind, counts[kind]);
        }
    }
    for (int kind = 0; kind < CLOTH_KINDS; kind++) {
        assert_int_equal(totals[kind], all->constraints[kind].count);
        for (uint32_t i = 0; i < totals[kind]; i++) {
            const uint32_t *v = kind == CLOTH_HINGES  ? c->hinges[i].vertex
                                : kind == CLOTH_EDGES ? c->edges[i].vertex
                                                      : ABUTI_AT(&c->seams, cloth_seam, i).vertex;
            uint32_t sum = 0;
            for (int a = 0; a < (kind == CLOTH_HINGES ? 4 : 2); a++)
                sum = sum * 4099 + v[a];
            assert_true(counts[kind][sum % 65521]-- > 0);
        }
    }
}

TEST(patches_have_each_constraint_once) {
    for (int m = 0; m < 3; m++) {
        abut_shape shape = abut_shape_default(m == 0   ? ABUT_SHAPE_SHEET
                                              : m == 1 ? ABUT_SHAPE_CONE
                                                       : ABUT_SHAPE_BOX);
        shape.segments = m == 0 ? 29 : m == 1 ? 90 : 1; /* the cone has an apex of 90 edges */
        shape.rings = m == 0 ? 37 : 2;
        abut_mesh *mesh = NULL;
        assert_ok(abut_shape_create(serial, &shape, &mesh));
        const cloth_options options = {.bend = 1e-4};
        abut_cloth *c = make_cloth(mesh, NULL, &options);
        abut_cloth_seam seams[60];
        for (uint32_t i = 0; i < 60; i++) /* between its first and its last vertices, and a fan */
            seams[i] = (abut_cloth_seam){.vertex_a = i < 40 ? i : 7,
                                         .vertex_b = c->vertices - 1 - (i < 40 ? i : 3 * i)};
        if (m == 0)
            assert_ok(abut_cloth_sew(c, seams, 60));
        step(c, 1e-6, NULL);
        check_patches(c);
        for (uint32_t phase = 0; phase < CLOTH_PHASES && m == 0; phase++)
            assert_true(cloth_patch_count(&c->patches, phase) > 1);
        assert_true(m != 2 || c->patches.patches.count == 1);
        abut_cloth_destroy(c);
        abut_mesh_destroy(mesh);
    }
}

/* ---- the cloth and itself ---- */

/* The nearest face of vertex v on a side of its sheet, by a test of all faces, or ABUT_NONE. */
static uint32_t nearest_face(const abut_cloth *c, const vec *x, uint32_t v, uint32_t side,
                             double *distance) {
    const cloth_group *g = &c->groups[SHEETS];
    const vec *rest = abut_mesh_local_positions(g->mesh);
    vec normal = v3(0, 0, 0);
    uint32_t best = ABUT_NONE;
    *distance = c->search.range;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t f = 0; f < c->triangles; f++) {
            const uint32_t *k = g->indices + 3 * (size_t)f;
            const vec p = x[k[0]], q = x[k[1]], r = x[k[2]];
            const bool is_other = c->part_of[k[0]] != c->part_of[v];
            double weight[3], apart = HUGE_VAL;
            for (int j = 0; j < 3 && !is_other; j++)
                apart = fmin(apart, v3_length(v3_sub(rest[k[j]], rest[v])));
            if (turn == 0 && apart == 0)
                normal = v3_add(normal, v3_cross(v3_sub(q, p), v3_sub(r, p)));
            if (turn == 0 || apart <= c->parts[0].rest_range)
                continue;
            cloth_nearest_weights(x[v], p, q, r, weight);
            const vec off = v3_sub(x[v], cloth_mix(p, q, r, weight));
            if ((v3_dot(off, normal) < 0) == side && v3_length(off) < *distance) {
                *distance = v3_length(off);
                best = f;
            }
        }
    return best;
}

/* Rolled sheets, one between the others, with some noise: arms of Archimedes' spiral. */
static void roll(abut_cloth *c, uint32_t sheets) {
    const vec *rest = abut_mesh_local_positions(c->groups[SHEETS].mesh);
    test_random random = {5};
    for (uint32_t i = 0; i < c->vertices; i++) {
        const double turn = 6.283 * c->part_of[i] / sheets, angle = (rest[i].x + 0.5) / 0.09,
                     r = 0.08 + 0.02 / 6.283 * angle;
        c->position[i] = cloth_round(v3(r * cos(angle + turn), r * sin(angle + turn),
                                        rest[i].y + 0.004 * test_random_real(&random, -1, 1)));
    }
}

/* All vertices against all faces. A vertex between two other sheets has two contacts. */
static void check_contacts(uint32_t sheets) {
    abut_mesh *mesh = NULL;
    assert_ok(make_sheet(serial, 24, 1, v3(0, 0, 0), &mesh));
    const cloth_options options = {.thickness = 0.003, .substeps = 1};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    abut_cloth_material material = abut_cloth_material_default();
    material.thickness = options.thickness;
    for (uint32_t i = 1, index = 0; i < sheets; i++)
        assert_ok(abut_cloth_add_sheet(c, mesh, &material, &index));
    assert_ok(abuti_cloth_build(c));
    roll(c, sheets);
    abut_cloth_report report;
    vec *before = malloc(c->vertices * sizeof *before);
    assert_non_null(before);
    memcpy(before, c->position, c->vertices * sizeof *before);
    assert_ok(try_step(c, 1e-6, NULL, &report));
    uint32_t found = 0, twice = 0;
    double thinnest = c->search.range;
    for (uint32_t v = 0; v < c->vertices; v++) {
        double distance[2];
        bool has[2], is_own[2];
        for (uint32_t side = 0; side < 2; side++) {
            const uint32_t f = nearest_face(c, before, v, side, &distance[side]);
            has[side] = f != ABUT_NONE;
            is_own[side] =
                has[side] && c->part_of[c->groups[SHEETS].indices[3 * (size_t)f]] == c->part_of[v];
        }
        if (has[0] && has[1] && (is_own[0] || is_own[1]))
            has[distance[0] < distance[1]] = false;
        twice += has[0] && has[1];
        for (uint32_t side = 0; side < 2; side++) {
            const cloth_self *self = &c->host->selves[2 * v + side];
            assert_int_equal(has[side], self->vertex[0] != ABUT_NONE);
            if (!has[side])
                continue;
            const vec p = cloth_mix(before[self->vertex[0]], before[self->vertex[1]],
                                    before[self->vertex[2]], self->weight);
            assert_close(distance[side], v3_length(v3_sub(before[v], p)), 1e-12);
            assert_close(1, v3_length(self->normal), 1e-12);
            thinnest = fmin(thinnest, distance[side]);
            found++;
        }
    }
    assert_true(found > 100 * sheets);
    assert_true(sheets > 1 ? twice > c->vertices / 2 : twice == 0);
    assert_int_equal(found, report.contacts);
    assert_close(thinnest, report.gap, 1e-7);
    free(before);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

TEST(nearest_faces_are_found) {
    check_contacts(1);
    if (!test_brief())
        check_contacts(3);
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

enum { LAYER_SIDE = 8, LAYER = (LAYER_SIDE + 1) * (LAYER_SIDE + 1) };

/* A sheet of two layers: one of 0.8 m at z = 0, and a smaller one above it. */
static abut_mesh *make_layers(double height) {
    vec p[2 * LAYER];
    uint32_t t[4 * LAYER_SIDE * LAYER_SIDE * 3], used = 0;
    for (uint32_t i = 0; i < LAYER; i++) {
        const double x = 0.1 * (i % (LAYER_SIDE + 1)), y = 0.1 * (i / (LAYER_SIDE + 1));
        p[i] = v3(x, y, 0);
        p[LAYER + i] = v3(0.8 * x + 0.07, 0.8 * y + 0.06, height);
    }
    for (uint32_t layer = 0; layer < 2; layer++)
        for (uint32_t i = 0; i < LAYER_SIDE; i++)
            for (uint32_t j = 0; j < LAYER_SIDE; j++) {
                const uint32_t a = layer * LAYER + i * (LAYER_SIDE + 1) + j, b = a + LAYER_SIDE + 1;
                const uint32_t quad[6] = {a, a + 1, b, a + 1, b + 1, b};
                memcpy(t + used, quad, sizeof quad);
                used += 6;
            }
    abut_mesh *mesh = NULL;
    const abut_mesh_input input =
        abut_mesh_input_doubles(p, 2 * LAYER, t, 4 * LAYER_SIDE * LAYER_SIDE);
    assert_ok(abut_mesh_create(serial, &input, &mesh));
    return mesh;
}

/* The upper layer falls on the lower one, which is held. It comes to lie on it; without
 * self-collision it goes through. */
TEST(layers_stay_apart) {
    abut_mesh *mesh = make_layers(0.3);
    uint32_t pins[LAYER];
    for (uint32_t i = 0; i < LAYER; i++)
        pins[i] = i;
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

static vec momentum_of(const abut_cloth *c) {
    vec sum = {0, 0, 0};
    for (uint32_t i = 0; i < c->vertices; i++)
        sum = v3_along(sum, c->mass[i], c->velocity[i]);
    return sum;
}

/* Stretched and thrown, without forces from outside: energy does not grow, and momentum stays. */
TEST(energy_does_not_grow_and_momentum_stays) {
    test_random random = {7};
    abut_mesh *mesh = NULL;
    assert_ok(make_sheet(serial, 24, 1, v3(0, 0, 0), &mesh));
    const cloth_options options = {.bend = 1e-3, .ignore_self = true};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    double scale = 0;
    for (uint32_t i = 0; i < c->vertices; i++) {
        vec v = v3(2 * c->position[i].x + 0.3, test_random_real(&random, -1, 1), c->position[i].y);
        c->velocity[i] = v;
        scale += c->mass[i] * v3_length(v);
    }
    const vec momentum = momentum_of(c);
    abut_cloth_energy e = energy_of(c);
    const double at_first = e.kinetic + e.elastic;
    const int steps = test_brief() ? 30 : 100;
    for (int i = 0; i < steps; i++) {
        step(c, 1.0 / 100, NULL);
        e = energy_of(c);
        assert_true(e.kinetic + e.elastic < 1.02 * at_first);
        assert_close(0, v3_length(v3_sub(momentum_of(c), momentum)), 1e-10 * scale);
    }
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* Two free layers hit each other, with friction: contacts and impacts keep the momentum. */
TEST(contacts_of_cloth_keep_momentum) {
    abut_mesh *mesh = make_layers(0.1);
    const cloth_options options = {.bend = 1e-4, .friction = 0.4};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    uint32_t contacts = 0, impacts = 0;
    for (uint32_t i = 0; i < LAYER; i++)
        c->velocity[LAYER + i] = v3(0.5, 0, -4 - 4 * (i % 7 == 0));
    const vec momentum = momentum_of(c);
    for (int i = 0; i < 40; i++) {
        const abut_cloth_report report = step(c, 1.0 / 100, NULL);
        contacts += report.contacts;
        impacts += report.impacts;
        assert_true(report.fraction == 1 && report.halvings == 0);
        assert_close(0, v3_length(v3_sub(momentum_of(c), momentum)), 1e-6 * v3_length(momentum));
    }
    assert_true(contacts > 500 && impacts > 0);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* A free ball under pressure stays where it is. */
TEST(pressure_does_not_move_free_balls) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_ICOSPHERE, 8);
    const cloth_options options = {.pressure = 50, .bend = 1e-4};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    assert_true(c->triangles == 1280);
    double mass = 0;
    for (uint32_t i = 0; i < c->vertices; i++)
        mass += c->mass[i];
    for (int i = 0; i < 60; i++)
        step(c, 1.0 / 60, NULL);
    vec centre = {0, 0, 0};
    for (uint32_t i = 0; i < c->vertices; i++)
        centre = v3_along(centre, c->mass[i] / mass, c->position[i]);
    assert_close(0, v3_length(momentum_of(c)) / mass, 1e-9); /* m/s */
    assert_close(0, v3_length(centre), 1e-6);                /* positions are rounded to floats */
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

int main(void) {
    return run_serial();
}
