/* Steps of a world: impacts between two states for all kinds of items, items with themselves, and
 * cloth. */
#include "world/live.h"

/* ---- helpers ---- */

static abut_world_step_result step(abut_world *world) {
    abut_world_step_result result = abut_world_step_result_default();
    assert_ok(abut_world_step(world, 1.0 / 60, &result));
    for (uint64_t i = 0; i < result.pair_count; i++) {
        const abut_world_step_pair *p = &result.pairs[i];
        assert_true(p->a <= p->b && p->first + p->count <= result.contact_count);
        assert_true(p->count || p->has_impact || p->is_sensor);
        assert_true(p->time >= 0 && p->time <= 1 && (p->has_impact || p->time == 1));
        for (uint64_t k = p->first; k < p->first + p->count; k++)
            assert_true(result.contacts[k].a == p->a && result.contacts[k].b == p->b);
        if (i)
            assert_true(p[-1].a < p->a || (p[-1].a == p->a && p[-1].b < p->b));
    }
    return result;
}

static const abut_world_step_pair *find_pair(const abut_world_step_result *result, uint32_t a,
                                             uint32_t b) {
    for (uint64_t i = 0; i < result->pair_count; i++)
        if (result->pairs[i].a == a && result->pairs[i].b == b)
            return &result->pairs[i];
    return NULL;
}

static void move_to(abut_world *world, uint32_t id, abut_vec3 at) {
    const abut_pose to = {{0, 0, 0, 1}, at};
    assert_ok(abut_world_set_poses(world, &id, abut_array_host(&to), 1));
}

/* Moves all vertices of a mesh to `by` times their position plus `shift`. */
static void deform_to(abut_world *world, uint32_t id, const abut_mesh *mesh, double by,
                      abut_vec3 shift) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *positions = malloc(count * sizeof *positions);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = v3_along(shift, by, body_position(mesh, i));
    assert_ok(abut_world_set_positions(world, id, NULL, abut_array_host(positions)));
    free(positions);
}

static void move_worm(abut_world *world, uint32_t id, abut_vec3 shift) {
    abut_character_matrix bones[BONES];
    const uint32_t count = abut_mesh_vertex_count(worm.mesh);
    abut_vec3 *positions = malloc(count * sizeof *positions);
    bend_snake(&worm, 0.1, 0, bones, positions);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = v3_add(positions[i], shift);
    for (int b = 0; b < BONES; b++) {
        bones[b].m[0][3] += shift.x;
        bones[b].m[1][3] += shift.y;
        bones[b].m[2][3] += shift.z;
    }
    assert_ok(abut_world_set_positions(world, id, bones, abut_array_host(positions)));
    free(positions);
}

/* ---- impacts ---- */

/* Every kind of item passes through every other kind within one step, and is found at about the
 * time when the surfaces touch. */
TEST(nothing_passes_unnoticed) {
    for (int one = 0; one < SORTS; one++)
        for (int other = 0; other < SORTS; other++) {
            if (one == SOLIDS || other == SOLIDS) /* planes: below */
                continue;
            abut_world *world = make_world(0, serial);
            abut_world_item still = of_sort(other, v3(0, 0, 0)), fast = of_sort(one, v3(0, 0, 0));
            const bool one_is_worm = one == CHARACTER, other_is_worm = other == CHARACTER;
            const abut_vec3 from = v3(0.05, 0.1, 12), to = v3(0.05, 0.1, -12);
            if (other_is_worm && one_is_worm) { /* both have the same fields */
                abut_world_destroy(world);
                continue;
            }
            const uint32_t a = add(world, &still), b = add(world, &fast);
            for (int end = 0; end < 2; end++) {
                const abut_vec3 at = end ? to : from;
                if (one_is_worm)
                    move_worm(world, b, at);
                else if (one == DEFORMS)
                    deform_to(world, b, ball, 1, at);
                else
                    move_to(world, b, at);
                if (other_is_worm)
                    move_worm(world, a, v3(0, 0, 0));
                const abut_world_step_result result = step(world);
                const abut_world_step_pair *pair = find_pair(&result, a, b);
                assert_int_equal(result.unswept_count, 0);
                if (!end) {
                    assert_null(pair);
                    continue;
                }
                if (!pair || !pair->has_impact || pair->count)
                    fail_msg("kinds %d and %d", one, other);
                assert_true(pair->time > 0.2 && pair->time < 0.5);
                assert_true(fabs(v3_length(pair->normal) - 1) < 1e-9);
            }
            /* At rest it has neither. */
            const abut_world_step_result rest = step(world);
            assert_int_equal(rest.pair_count, 0);
            abut_world_destroy(world);
        }
}

/* Sweeps of all kinds through all others: only kinds without triangles would not be swept. A
 * character stays where its vertices are, and is swept again after they change. */
TEST(sweeps_find_all_kinds) {
    for (int one = 0; one < SORTS; one++)
        for (int other = 0; other < SORTS; other++) {
            if (one == SOLIDS || other == SOLIDS || one == CHARACTER)
                continue;
            abut_world *world = make_world(0, serial);
            abut_world_item still = of_sort(other, v3(0, 0, 0)), fast = of_sort(one, v3(0, 0, 0));
            fast.collider.pose.translation = v3(0.05, 0.1, 12);
            const uint32_t a = add(world, &still), b = add(world, &fast);
            const abut_pose ends[2] = {{{0, 0, 0, 1}, v3(0.05, 0.1, -12)},
                                       {{0, 0, 0, 1}, v3(0.05, 0.1, 0)}};
            abut_world_impact list[2];
            abut_world_impacts to = {.size = sizeof to, .list = list, .capacity = 2};
            double first = 1;
            for (int shift = 0; shift < (other == CHARACTER ? 2 : 1); shift++) {
                if (other == CHARACTER)
                    move_worm(world, a, v3(shift ? 9 : 0, 0, 0));
                assert_ok(abut_world_sweep(world, &b, abut_array_host(ends), 1, NULL, &to));
                assert_int_equal(to.unswept_count, 0);
                assert_int_equal(to.count, !shift);
                assert_true(shift ? to.time == 1 : to.time > 0.2 && to.time < 0.5);
                first = fmin(first, to.time);
            }
            if (other == CHARACTER && one == EXACT) {
                /* A little deep, it may leave and must not sink in. */
                abut_pose touch = ends[1];
                move_worm(world, a, v3(0, 0, 0));
                touch.translation.z = 12 - 24 * first - 0.001;
                assert_ok(abut_world_set_poses(world, &b, abut_array_host(&touch), 1));
                assert_ok(abut_world_sweep(world, &b, abut_array_host(ends), 1, NULL, &to));
                assert_true(list[0].result.time == 0 && to.time < 0.01);
                touch.translation.z += 5;
                assert_ok(abut_world_sweep(world, &b, abut_array_host(&touch), 1, NULL, &to));
                assert_true(list[0].result.time == 0 && to.time == 1);
            }
            abut_world_destroy(world);
        }
}

/* Shapes that fall through a plane; one of them rises with it. */
TEST(planes_stop_all) {
    for (int sort = 0; sort < SORTS; sort++) {
        if (sort == SOLIDS)
            continue;
        abut_world *world = make_world(0, serial);
        abut_world_item floor = of_sort(SOLIDS, v3(0, 0, 0)), fast = of_sort(sort, v3(0, 0, 0));
        floor.collider.shape.plane = (abut_plane){{0, 0, 2}, 0};
        const uint32_t a = add(world, &floor), b = add(world, &fast);
        for (int frame = 0; frame < 3; frame++) {
            const abut_vec3 at = v3(0, 0, frame == 0 ? 10 : frame == 1 ? -10 : 30);
            if (sort == CHARACTER)
                move_worm(world, b, at);
            else if (sort == DEFORMS)
                deform_to(world, b, ball, 1, at);
            else
                move_to(world, b, at);
            if (frame == 2)
                move_to(world, a, v3(0, 0, 20));
            const abut_world_step_result result = step(world);
            const abut_world_step_pair *pair = find_pair(&result, a, b);
            assert_int_equal(pair != NULL, frame > 0);
            if (frame == 1) {
                assert_true(pair->has_impact && pair->count > 0);
                assert_true(pair->time > 0.3 && pair->time <= 0.5);
                assert_true(v3_length(v3_sub(pair->normal, v3(0, 0, -1))) < 1e-9);
            } else if (frame == 2) {
                assert_true(pair->has_impact && pair->time == 0);
            }
        }
        abut_world_destroy(world);
    }
}

/* The times of shapes that deform are those of abut_sweep_find() for the two meshes. */
TEST(times_are_those_of_sweeps) {
    test_random random = {7};
    uint32_t hits = 0;
    for (int round = 0; round < 40; round++) {
        abut_world *world = make_world(0, serial);
        abut_world_item item = of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0));
        item.collider.shape.mesh.deforms = true;
        const uint32_t a = add(world, &item), b = add(world, &item);
        const uint32_t count = abut_mesh_vertex_count(ball);
        abut_vec3 *path = malloc(4 * (size_t)count * sizeof *path); /* starts, then ends */
        for (uint32_t i = 0; i < 4 * count; i++) {
            const double side = (i / count) % 2 ? 1.2 : -1.2, noise = 0.02;
            path[i] = v3_add(body_position(ball, i % count),
                             v3(side * (i < 2 * count ? 1 : 0.7 - 0.02 * round),
                                noise * test_random_real(&random, -1, 1),
                                noise * test_random_real(&random, -1, 1)));
        }
        abut_world_step_result result = {0};
        for (uint32_t end = 0; end < 2; end++) {
            assert_ok(
                abut_world_set_positions(world, a, NULL, abut_array_host(path + 2 * end * count)));
            assert_ok(abut_world_set_positions(world, b, NULL,
                                               abut_array_host(path + (2 * end + 1) * count)));
            result = step(world);
        }
        abut_mesh *const both[2] = {ball, ball};
        abut_sweep *sweep = NULL;
        abut_impact first;
        abut_impact_list list = {&first, 1, 0};
        abut_sweep_options options = abut_sweep_options_default();
        abut_sweep_find_options find = abut_sweep_find_options_default();
        options.skip_self = true;
        find.exact = true;
        assert_ok(abut_sweep_create(both, 2, &options, &sweep));
        assert_ok(abut_sweep_set_positions(sweep, abut_array_host(path),
                                           abut_array_host(path + 2 * count)));
        assert_ok(abut_sweep_find(sweep, ABUT_SWEEP_EARLIEST, &find, &list, NULL));
        const abut_world_step_pair *pair = find_pair(&result, a, b);
        assert_int_equal(pair && pair->has_impact, list.count);
        hits += list.count > 0;
        if (list.count) {
            assert_true(fabs(pair->time - first.time) < 1e-9);
            assert_true(pair->normal.x < -0.5); /* from b, which is at +x, to a */
        }
        abut_sweep_destroy(sweep);
        free(path);
        abut_world_destroy(world);
    }
    assert_true(hits > 10 && hits < 40);
}

/* A sheet that folds through itself: an impact, then contacts; only with self_collides. */
TEST(items_touch_themselves) {
    for (int tests_itself = 0; tests_itself < 2; tests_itself++) {
        abut_world *world = make_world(0, serial);
        abut_world_item item = of_mesh(sheet, ABUT_WORLD_AUTO, v3(0, 0, 0));
        const uint32_t count = abut_mesh_vertex_count(sheet);
        abut_vec3 *positions = malloc(count * sizeof *positions);
        item.collider.shape.mesh.deforms = true;
        item.collider.pose = (abut_pose){{0, 0, 1, 0}, {5, 0, 0}};
        item.self_collides = tests_itself;
        const uint32_t id = add(world, &item);
        for (int frame = 0; frame < 6; frame++) {
            static const double angles[] = {0, 2.2, 3.14159, 3.14159, 2.2, 2.2};
            const double angle = angles[frame], twist = 0.15 * (1 - cos(angle));
            for (uint32_t i = 0; i < count; i++) { /* one half folds, twisted, over the other */
                const abut_vec3 p = body_position(sheet, i);
                positions[i] =
                    p.x < 0 ? v3(p.x * cos(angle), p.y, -p.x * (sin(angle) + twist * p.y)) : p;
            }
            assert_ok(abut_world_set_positions(world, id, NULL, abut_array_host(positions)));
            const abut_world_step_result result = step(world);
            const abut_world_step_pair *pair = find_pair(&result, id, id);
            const bool touches = tests_itself && frame >= 2 && frame <= 4;
            assert_int_equal(pair != NULL, touches);
            if (!touches)
                continue;
            assert_int_equal(pair->method, ABUT_WORLD_EXACT);
            assert_int_equal(pair->guarantee, ABUT_WORLD_GUARANTEE_COMPLETE);
            if (frame == 2)
                assert_true(pair->has_impact && pair->time > 0.1 && pair->time < 1);
            assert_int_equal(pair->count > 0, frame < 4);
            for (uint64_t k = 0; k < pair->count; k++) {
                const abut_contact *c = &result.contacts[pair->first + k];
                assert_int_equal(c->kind, ABUT_CONTACT_CROSSING);
                assert_true(c->element < abut_mesh_triangle_count(sheet) && c->depth == 0);
                assert_true(fabs(c->point.x - 4.5) < 0.6 && fabs(v3_length(c->normal) - 1) < 1e-9);
            }
        }
        free(positions);
        abut_world_destroy(world);
    }
}

/* ---- cloth ---- */

static abut_world *make_cloth_world(abut_context *context, abut_device *device) {
    abut_world_options options = abut_world_options_default();
    abut_cloth_options cloth = abut_cloth_options_default();
    abut_world *world = NULL;
    cloth.gravity.z = -9.81;
    options.cloth = &cloth;
    options.device = device;
    assert_ok(abut_world_create(context, &options, &world));
    return world;
}

static abut_world_item sheet_item(const abut_cloth_material *material, abut_vec3 at) {
    abut_world_item item = of_mesh(sheet, ABUT_WORLD_AUTO, at);
    item.cloth = material;
    return item;
}

/* A sheet falls on every kind of item, and rests on it without touching it. */
TEST(cloth_falls_on_all_kinds) {
    for (int sort = 0; sort < SORTS; sort++) {
        abut_world *world = make_cloth_world(serial, NULL);
        abut_cloth_material cotton = abut_cloth_material_default();
        cotton.friction = 0.5;
        const abut_world_item cover = sheet_item(&cotton, v3(0, 0, 1.2)),
                              below = of_sort(sort, v3(0, 0, sort == SHEET ? 0.3 : 0));
        const uint32_t a = add(world, &below), b = add(world, &cover);
        abut_cloth *cloth = NULL;
        uint32_t index = ABUT_NONE;
        uint64_t contacts = 0;
        if (sort == CHARACTER)
            move_worm(world, a, v3(0, 0, 0));
        for (int frame = 0; frame < 40; frame++) {
            const abut_world_step_result result = step(world);
            const abut_world_step_pair *pair = find_pair(&result, a, b);
            bool is_free = false;
            assert_ok(abut_world_get_cloth(world, b, &cloth, &index));
            assert_ok(abut_cloth_is_free(cloth, &is_free));
            assert_true(is_free && result.cloth->fraction == 1);
            assert_int_equal(result.cloth->guarantee.level, ABUT_RELIABILITY_GUARANTEED);
            assert_int_equal(result.unswept_count, 0);
            for (uint64_t i = 0; pair && sort != CHARACTER && sort != FIELD && i < pair->count; i++)
                if (!(result.contacts[pair->first + i].depth < 0))
                    fail_msg("sort %d, frame %d: %g", sort, frame,
                             result.contacts[pair->first + i].depth);
            contacts += pair ? pair->count : 0;
        }
        if (!contacts)
            fail_msg("sort %d", sort);
        assert_ok(abut_world_get_cloth(world, a, &cloth, &index));
        assert_int_equal(index, 0);
        abut_world_destroy(world);
    }
}

/* The cloth of a world moves as one that is used directly, bit for bit. */
TEST(cloth_is_that_of_its_module) {
    abut_world *world = make_cloth_world(serial, NULL);
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_body_options place = abut_cloth_body_options_default();
    abut_cloth *direct = NULL, *cloth = NULL;
    abut_cloth_attachment pins[2];
    const uint32_t corners[2] = {0, 8}, count = abut_mesh_vertex_count(sheet);
    uint32_t other = 0, index = 0;
    abut_vec3 *ours = malloc(2 * (size_t)count * sizeof *ours), *theirs = ours + count;
    const abut_cloth_material cotton = abut_cloth_material_default();
    const abut_world_item cover = sheet_item(&cotton, v3(0, 0, 0)),
                          below = of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, -1.5));
    const uint32_t a = add(world, &cover), b = add(world, &below);
    options.gravity.z = -9.81;
    place.pose.translation = v3(0, 0, -1.5);
    assert_ok(abut_cloth_create(serial, &options, &direct));
    assert_ok(abut_cloth_add_sheet(direct, sheet, &cotton, &other));
    assert_ok(abut_cloth_add_body(direct, ball, &place, &other));
    assert_ok(abut_world_get_cloth(world, a, &cloth, &index));
    for (int i = 0; i < 2; i++) {
        abut_cloth *c = i ? cloth : direct;
        assert_ok(abut_cloth_bind(c, 0, ABUT_NONE, corners, 2, 0, pins));
        assert_ok(abut_cloth_attach(c, 0, pins, 2));
    }
    for (int frame = 0; frame < 20; frame++) {
        const abut_vec3 at = v3(0.02 * frame, 0, -1.5 + 0.05 * frame);
        move_to(world, b, at);
        place.pose.translation = at;
        assert_ok(abut_cloth_set_body_pose(direct, 0, place.pose));
        step(world);
        assert_ok(abut_cloth_step(direct, 1.0 / 60, NULL));
        assert_ok(abut_cloth_get_positions(direct, 0, abut_array_host(ours)));
        assert_ok(abut_cloth_get_positions(cloth, index, abut_array_host(theirs)));
        assert_memory_equal(ours, theirs, count * sizeof *ours);
    }
    free(ours);
    abut_cloth_destroy(direct);
    abut_world_destroy(world);
}

/* Items come and go while cloth moves; filters decide what it collides with. */
TEST(items_come_and_go) {
    abut_world *world = make_cloth_world(serial, NULL);
    const abut_cloth_material cotton = abut_cloth_material_default();
    abut_world_item cover = sheet_item(&cotton, v3(0, 0, 1)), table = of_sort(EXACT, v3(0, 0, 0)),
                    ghost = of_sort(EXACT, v3(0, 0, 0));
    abut_cloth *cloth = NULL;
    uint32_t index;
    const uint32_t a = add(world, &cover), b = add(world, &table);
    ghost.group = 2;
    cover.mask = 1;
    const uint32_t c = add(world, &ghost);
    assert_ok(abut_world_replace(world, a, &cover));
    assert_int_equal(abut_world_get_cloth(world, c, &cloth, &index), ABUT_ERROR_ARGUMENT);
    double height = 0, lowest = 0;
    for (int frame = 0; frame < 60; frame++) {
        const abut_world_step_result result = step(world);
        const abut_world_step_pair *pair = find_pair(&result, a, b);
        lowest = pair ? 1 : lowest;
    }
    assert_true(lowest > 0);
    assert_ok(abut_world_remove(world, b));
    assert_ok(abut_world_get_cloth(world, a, &cloth, &index));
    abut_vec3 *positions = malloc(abut_mesh_vertex_count(sheet) * sizeof *positions);
    assert_ok(abut_cloth_get_positions(cloth, index, abut_array_host(positions)));
    height = positions[abut_mesh_vertex_count(sheet) / 2].z;
    if (!(height > 0.4))
        fail_msg("%g", height);
    for (int frame = 0; frame < 30; frame++)
        step(world);
    assert_ok(abut_world_get_cloth(world, a, &cloth, &index));
    assert_ok(abut_cloth_get_positions(cloth, index, abut_array_host(positions)));
    assert_true(positions[abut_mesh_vertex_count(sheet) / 2].z < height - 0.5); /* it falls again */
    table.collider.pose.translation.z = positions[abut_mesh_vertex_count(sheet) / 2].z - 3;
    const uint32_t d = add(world, &table);
    assert_int_equal(abut_world_index(d), b);
    for (int frame = 0; frame < 30; frame++)
        step(world);
    assert_ok(abut_world_get_cloth(world, d, &cloth, &index));
    assert_ok(abut_world_remove(world, a));
    assert_int_equal(abut_world_get_cloth(world, d, &cloth, &index), ABUT_ERROR_ARGUMENT);
    const abut_world_step_result last = step(world); /* without cloth */
    assert_null(last.cloth);
    free(positions);
    abut_world_destroy(world);
}

/* What is wrong is refused, and the world stays as it is. */
TEST(wrong_input_is_refused) {
    abut_world *world = make_cloth_world(serial, NULL);
    abut_cloth_material cotton = abut_cloth_material_default();
    abut_world_item cover = sheet_item(&cotton, v3(0, 0, 0.3)),
                    other = of_sort(SOLIDS + 1, here.translation);
    abut_world_step_result result = abut_world_step_result_default();
    abut_cloth *cloth = NULL;
    uint32_t id = 7, index = 7;
    assert_int_equal(abut_world_step(NULL, 1, NULL), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_world_step(world, 0, NULL), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_world_step(world, NAN, NULL), ABUT_ERROR_ARGUMENT);
    result.size = 3;
    assert_int_equal(abut_world_step(world, 1, &result), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_world_get_cloth(world, 0, &cloth, &index), ABUT_ERROR_ARGUMENT);
    cotton.density = -1;
    assert_int_equal(abut_world_add(world, &cover, &id), ABUT_ERROR_ARGUMENT);
    cotton.density = 0;
    other.cloth = &cotton; /* a sphere is not a sheet */
    assert_int_equal(abut_world_add(world, &other, &id), ABUT_ERROR_ARGUMENT);
    assert_int_equal(id, 7);
    other.cloth = NULL;
    add(world, &other);
    const uint32_t a = add(world, &cover); /* it intersects the sphere */
    result = abut_world_step_result_default();
    assert_int_equal(abut_world_step(world, 1.0 / 60, &result), ABUT_ERROR_ARGUMENT);
    assert_non_null(strstr(abut_last_error(), "triangle"));
    assert_int_equal(result.pair_count, 0);
    assert_int_equal(abut_world_set_positions(world, a, NULL, abut_array_host(&here)),
                     ABUT_ERROR_ARGUMENT);
    assert_ok(abut_world_remove(world, a));
    step(world);
    abut_cloth_options bad = abut_cloth_options_default();
    abut_world_options options = abut_world_options_default();
    abut_world *none = NULL;
    bad.drag = -1;
    options.cloth = &bad;
    assert_int_equal(abut_world_create(serial, &options, &none), ABUT_ERROR_ARGUMENT);
    assert_null(none);
    abut_world_destroy(world);
}

/* ---- threads, memory ---- */

TEST_THREADS(same_on_any_number_of_threads) {
    uint64_t hashes[2] = {1, 1};
    for (uint32_t i = 0; i < 2; i++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, i ? 4 : 1);
        assert_ok(live(context, NULL, MIXED_FRAMES, &hashes[i]));
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_true(hashes[0] == hashes[1] && hashes[0] != 1);
}

static abut_status live_a_little(abut_context *context, void *data) {
    uint64_t hash = 1;
    return live(context, NULL, test_brief() ? 2 : 3, &hash);
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(live_a_little, NULL) > 300);
}

int main(void) {
    return test_run(set_up, tear_down);
}
