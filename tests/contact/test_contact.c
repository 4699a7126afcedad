/* Contacts against known values for simple solids, and against a search for the true distance. */
#include "apps/get.h"
#include "field/field_shapes.h"

/* ---- depth ---- */

/* A unit sphere 0.05 deep in a box, whatever its triangles; each body's own contacts as well. */
TEST(spheres_in_a_box_are_as_deep_as_they_are) {
    const uint32_t segments[] = {4, 16, 64}; /* 320, 5120, 81920 triangles */
    abut_shape box_shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options options = abut_field_options_default();
    box_shape.extent = v3(4, 4, 2);
    options.cells = 64;
    options.layout = ABUT_FIELD_SPARSE; /* quicker to build */
    options.margin = 0.07;
    thing box = thing_of(&box_shape, &options);
    for (uint32_t s = 0; s < (test_rounds(8) > 1 ? 3 : 2); s++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
        shape.radius = 1;
        shape.segments = segments[s];
        thing sphere = thing_of(&shape, &options);
        assert_int_equal(abut_mesh_triangle_count(sphere.mesh), 20 * segments[s] * segments[s]);
        abut_collider a = body_of(&sphere, shifted(0, 0, 1.95)),
                      b = body_of(&box, shifted(0, 0, 0));
        abut_contacts c = contacts_room();
        assert_ok(abut_contact_find_sampled(&a, &b, NULL, &c));
        assert_true(c.count > 0);
        bool found[2] = {false, false};
        for (size_t i = 0; i < c.count; i++)
            if (fabs(room[i].depth / 0.05 - 1) < (room[i].side ? 0.01 + 0.4 / segments[s] : 0.01) &&
                angle_between(room[i].normal, v3(0, 0, 1)) < 1)
                found[room[i].side] = true;
        /* The box has a sample in the middle of its face; seen from the field of the sphere it is
         * nearer to the faces around a vertex than to the vertex. */
        assert_true(found[0] && found[1]);
        /* Without a field of its own it is only tried against that of the box. */
        size_t all = c.count;
        a.shape.body.field = NULL;
        assert_ok(abut_contact_find_sampled(&a, &b, NULL, &c));
        assert_true(c.count < all && c.count > 0 && room[c.count - 1].side == 0);
        size_t kept = abut_contact_reduce(room, c.count, 0, 0);
        assert_true(kept >= 1 && kept <= 8);
        assert_true(fabs(room[0].depth / 0.05 - 1) < 0.01);
        assert_true(angle_between(room[0].normal, v3(0, 0, 1)) < 1);
        thing_free(&sphere);
    }
    thing_free(&box);
}

/* All samples that are inside by more than interpolation can be wrong are found, none that are
 * outside, and depths are true. */
static void check_side(const thing *of, const abut_pose *where, const thing *at,
                       const abut_pose *at_pose, const abut_contact *list, size_t count,
                       uint32_t side) {
    abut_samples_arrays view = get_samples_arrays(of->samples);
    size_t next = 0;
    double slack = 0.87 * at->cell; /* half a diagonal: see contact_shared.h */
    while (next < count && list[next].side < side)
        next++;
    for (uint32_t i = 0; i < view.count; i++) {
        double distance = truth(at, at_pose, pose_apply(where, view.samples[i].point));
        const abut_contact *c = next < count ? &list[next] : NULL;
        bool found = c && c->side == side && c->element == view.samples[i].element &&
                     c->part == view.samples[i].part && (int)c->kind == (int)view.samples[i].kind;
        assert_true(found ? distance < slack : distance > -slack);
        if (!found)
            continue;
        assert_true(fabs(c->depth + distance) < slack);
        assert_true(v3_length(v3_sub(c->point, pose_apply(where, view.samples[i].point))) < 1e-9);
        assert_true(fabs(v3_length(c->normal) - 1) < 1e-6);
        next++;
    }
    for (; next < count && list[next].side == side; next++) { /* deepest points of edges */
        const abut_contact *c = &list[next];
        assert_int_equal(c->part, ABUT_SAMPLE_DEEPEST);
        assert_true(fabs(c->depth + truth(at, at_pose, c->point)) < slack);
    }
}

static bool is_end(const abut_sample_edge *edge, const abut_mesh *mesh, uint32_t vertex) {
    abut_vec3 p = abuti_mesh_position(mesh, vertex);
    return memcmp(&p, &edge->end[0], sizeof p) == 0 || memcmp(&p, &edge->end[1], sizeof p) == 0;
}

TEST(bodies_agree_with_a_search) {
    thing things[3] = {thing_by(ABUT_SHAPE_TORUS, 24, 40), thing_by(ABUT_SHAPE_LETTER_E, 1, 40),
                       thing_by(ABUT_SHAPE_BOX, 1, 32)};
    test_random random = {11};
    abut_contact_options options = abut_contact_options_default();
    size_t total = 0, edges = 0;
    options.keep_backfacing = true;
    const uint32_t rounds = test_rounds(36);
    for (uint32_t round = 0;
         round < rounds || (round < 10 * rounds && (total <= 5 * rounds || edges <= rounds / 4));
         round++) {
        thing *a = &things[round % 3], *b = &things[round / 3 % 3];
        abut_collider body_a = body_of(a, random_pose(&random, 0.5)),
                      body_b = body_of(b, random_pose(&random, 0.5));
        abut_contacts c = contacts_room();
        assert_ok(abut_contact_find_sampled(&body_a, &body_b, &options, &c));
        check_side(a, &body_a.pose, b, &body_b.pose, room, c.count, 0);
        check_side(b, &body_b.pose, a, &body_a.pose, room, c.count, 1);
        total += c.count;
        /* An edge is nowhere deeper than its deepest point, the slow way. */
        abut_samples_arrays view = get_samples_arrays(a->samples);
        for (uint32_t e = 0; e < view.edge_count; e += 5) {
            double least = HUGE_VAL, told = 0;
            for (int i = 0; i <= 200; i++)
                least =
                    fmin(least,
                         truth(b, &body_b.pose,
                               pose_apply(&body_a.pose, v3_lerp(view.edges[e].end[0],
                                                                view.edges[e].end[1], i / 200.0))));
            for (size_t i = 0; i < c.count; i++)
                if (room[i].side == 0 &&
                    (room[i].kind == ABUT_CONTACT_EDGE
                         ? room[i].element == view.edges[e].edge
                         : room[i].kind == ABUT_CONTACT_VERTEX &&
                               is_end(&view.edges[e], a->mesh, room[i].element)))
                    told = fmin(told, -room[i].depth);
            edges += least < -b->cell;
            assert_true(fabs(told - fmin(least, 0)) < 0.87 * b->cell);
        }
    }
    assert_true(total > 5 * rounds && edges > rounds / 4);
    for (int i = 0; i < 3; i++)
        thing_free(&things[i]);
}

TEST(roles_can_be_swapped) {
    thing a = thing_by(ABUT_SHAPE_TORUS, 24, 32), b = thing_by(ABUT_SHAPE_BOX, 2, 24);
    test_random random = {4};
    static abut_contact other[ROOM];
    size_t total = 0;
    for (uint32_t round = 0; round < test_rounds(32); round++) {
        abut_collider body_a = body_of(&a, random_pose(&random, 0.6)),
                      body_b = body_of(&b, random_pose(&random, 0.6));
        abut_contacts one = contacts_room(),
                      two = {.size = sizeof two, .list = other, .capacity = ROOM};
        assert_ok(abut_contact_find_sampled(&body_a, &body_b, NULL, &one));
        assert_ok(abut_contact_find_sampled(&body_b, &body_a, NULL, &two));
        assert_int_equal(one.count, two.count);
        size_t of_a = 0;
        while (of_a < one.count && room[of_a].side == 0)
            of_a++;
        for (size_t i = 0; i < one.count; i++) { /* there, those of the torus come last */
            size_t there = i < of_a ? one.count - of_a + i : i - of_a;
            abut_vec3 sum = v3_add(room[i].normal, other[there].normal);
            assert_true(v3_max_abs(sum) == 0);
            assert_true(room[i].depth == other[there].depth);
            assert_memory_equal(&room[i].point, &other[there].point, sizeof(abut_vec3));
            assert_true((room[i].id ^ other[there].id) == UINT64_C(1) << 63);
            for (size_t k = 0; k < i; k++)
                assert_true(room[i].id != room[k].id);
        }
        total += one.count;
    }
    assert_true(total > 20);
    thing_free(&a);
    thing_free(&b);
}

/* A backfacing contact, whose normal is along the sample's own normal, is dropped; the deep ones
 * are kept by their other side, and nothing small is lost in something large. */
TEST(what_is_wholly_inside_is_deep) {
    abut_shape large = abut_shape_default(ABUT_SHAPE_BOX),
               small = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    large.extent = v3(4, 4, 4);
    small.radius = 0.3;
    for (int kind = 0; kind < 4; kind++) { /* dense, banded, sparse, 16 bits */
        abut_field_options options = abut_field_options_default();
        options.cells = 28;
        options.band = kind == 1 ? 0.4 : 0;
        options.layout = kind == 2 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        options.type = kind == 3 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        thing box = thing_of(&large, &options), ball = thing_of(&small, &options);
        double band = fmin(get_field_info(box.field).band, 1.2);
        const double places[] = {0, 0.8, 1.5};
        for (int i = 0; i < 3; i++) {
            abut_collider a = body_of(&ball, shifted(places[i], 0, 0)),
                          b = body_of(&box, shifted(0, 0, 0));
            abut_contacts c = contacts_room();
            abut_contact_options rejects = abut_contact_options_default();
            assert_ok(abut_contact_find_sampled(&a, &b, &rejects, &c));
            assert_true(c.count > 0);
            for (size_t k = 0; k < c.count; k++)
                assert_true(v3_dot(room[k].normal, v3_sub(room[k].point, a.pose.translation)) <
                            0.05);
            abut_contact_reduce(room, c.count, 0, 0);
            double wanted = fmin(band, 2 - places[i]);
            assert_true(room[0].depth > 0.98 * wanted - 1e-9);
            if (kind == 0 && places[i] > 0) {
                assert_true(fabs(room[0].depth - (2 - places[i] + 0.3)) < 0.05);
                assert_true(angle_between(room[0].normal, v3(1, 0, 0)) < 1);
            }
        }
        thing_free(&ball);
        thing_free(&box);
    }
}

/* Features that are pruned together, by balls, have no contact separately: in every
 * layout, with edges, and where the surface has holes. */
TEST(balls_leave_nothing_out) {
    const struct {
        abut_shape_kind kind;
        uint32_t segments;
        abut_field_layout layout;
        abut_field_type type;
        double band;
    } cases[] = {{ABUT_SHAPE_TORUS, 0, ABUT_FIELD_DENSE, ABUT_FIELD_FLOAT, 0},
                 {ABUT_SHAPE_TORUS, 0, ABUT_FIELD_SPARSE, ABUT_FIELD_FLOAT, 0},
                 {ABUT_SHAPE_TORUS, 0, ABUT_FIELD_DENSE, ABUT_FIELD_INT16, 0.1},
                 {ABUT_SHAPE_LETTER_E, 1, ABUT_FIELD_DENSE, ABUT_FIELD_INT16, 0},
                 {ABUT_SHAPE_LETTER_E, 1, ABUT_FIELD_SPARSE, ABUT_FIELD_FLOAT, 0},
                 {ABUT_SHAPE_TEAPOT, 2, ABUT_FIELD_DENSE, ABUT_FIELD_FLOAT, 0}};
    test_random random = {19};
    for (size_t kind = 0; kind < sizeof cases / sizeof *cases; kind++) {
        abut_shape shape = abut_shape_default(cases[kind].kind);
        abut_field_options options = abut_field_options_default();
        uint32_t touching = 0;
        shape.segments = cases[kind].segments;
        options.cells = 32;
        options.layout = cases[kind].layout;
        options.type = cases[kind].type;
        options.band = cases[kind].band;
        thing t = thing_of(&shape, &options);
        double reach = v3_length(v3_sub(t.mesh->bounds.hi, t.mesh->bounds.lo)) / 3;
        uint32_t count = t.samples->view.count, edges = t.samples->view.edge_count;
        for (uint32_t round = 0; round < test_rounds(150); round++) {
            abut_collider a = body_of(&t, random_pose(&random, reach)),
                          b = body_of(&t, random_pose(&random, reach));
            abut_contact_options how = abut_contact_options_default();
            how.keep_backfacing = true;
            how.margin = round % 2 ? 0.2 : 0;
            abut_contacts c = contacts_room();
            b.shape.body.samples = NULL;
            assert_ok(abut_contact_find_sampled(&a, &b, &how, &c));
            contact_motion at, of;
            assert_ok(abuti_contact_pose("", "", &b.pose, &at));
            assert_ok(abuti_contact_pose("", "", &a.pose, &of));
            const abuti_field_body x = {a.shape.body.field, a.shape.body.samples, a.pose},
                                   y = {b.shape.body.field, b.shape.body.samples, b.pose};
            const contact_direction d = {&y, &x, &at, &of, 0};
            contact_frame frame = abuti_contact_frame_of(&d, &how);
            const contact_point *points = t.samples->points;
            size_t wanted = 0;
            for (uint32_t i = 0; i < count + edges; i++) {
                const contact_found found =
                    i < count ? contact_test_point(&t.field->view, &frame, points[i])
                              : contact_test_edge(&t.field->view, &frame, points[2 * i - count],
                                                  points[2 * i - count + 1]);
                if (found.depth > CONTACT_BACKFACING) {
                    assert_true(wanted < c.count && room[wanted].depth == found.depth);
                    assert_int_equal(i >= count, room[wanted].part == ABUT_SAMPLE_DEEPEST);
                    wanted++;
                }
            }
            assert_int_equal(wanted, c.count);
            touching += wanted > 0;
        }
        assert_true(touching > test_rounds(150) / 8);
        thing_free(&t);
    }
}

/* On a face of two triangles, nowhere near a sample. */
TEST(points_on_a_large_face) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options options = abut_field_options_default();
    shape.extent = v3(4, 4, 2);
    shape.segments = 1;
    options.cells = 32;
    thing box = thing_of(&shape, &options);
    test_random random = {2};
    for (uint32_t round = 0; round < test_rounds(64); round++) {
        abut_pose where = random_pose(&random, 1);
        abut_collider a = body_of(&box, where);
        abut_vec3 up = v3_sub(pose_apply(&where, v3(0, 0, 1)), where.translation);
        abut_vec3 foot = pose_apply(&where, v3(test_random_real(&random, -1.2, 1.2),
                                               test_random_real(&random, -1.2, 1.2), 1));
        abut_contacts c = contacts_room();
        abut_vec3 cloud[3] = {v3_along(foot, -0.02, up), v3_along(foot, 0.05, up), foot};
        assert_ok(abut_contact_points(&a, abut_array_host(cloud), 3, 0.04, NULL, &c));
        assert_int_equal(c.count, 2);
        assert_true(fabs(room[0].depth - 0.06) < 1e-5 && fabs(room[1].depth - 0.04) < 1e-5);
        assert_true(angle_between(room[0].normal, up) > 180 - 0.05); /* the box is below */
        assert_int_equal(room[1].element, 2);
    }
    thing_free(&box);
}

TEST(meshes_touch_by_vertices_and_edges) {
    thing ball = thing_by(ABUT_SHAPE_ICOSPHERE, 8, 40);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *sheet;
    abut_topology *topology;
    double radius = abut_mesh_bounds(ball.mesh).hi.z;
    shape.segments = shape.rings = 1;
    shape.extent = v3(6 * radius, 6 * radius, 0);
    assert_ok(abut_shape_create(NULL, &shape, &sheet));
    assert_ok(abut_topology_create(sheet, &topology));
    abut_collider a = body_of(&ball, shifted(0, 0, 0));
    abut_pose low = shifted(0, 0, 0.9 * radius);
    abut_contacts c = contacts_room();
    /* No vertex is near; the diagonal passes over the middle. */
    assert_ok(abut_contact_mesh(&a, sheet, topology, &low, NULL, &c));
    assert_int_equal(c.count, 1);
    assert_int_equal(room[0].kind, ABUT_CONTACT_EDGE);
    assert_true(fabs(room[0].depth - 0.1 * radius) < 0.01 * radius);
    assert_true(angle_between(room[0].normal, v3(0, 0, -1)) < 3);
    assert_true(fabs(room[0].point.x) < 0.05 * radius && fabs(room[0].point.y) < 0.05 * radius);
    abut_contact_options only = abut_contact_options_default();
    only.skip_edges = true;
    assert_ok(abut_contact_mesh(&a, sheet, topology, &low, &only, &c));
    assert_int_equal(c.count, 0);
    low = shifted(3 * radius, 3 * radius, 0);
    assert_ok(abut_contact_mesh(&a, sheet, topology, &low, &only, &c));
    assert_int_equal(c.count, 1);
    assert_int_equal(room[0].kind, ABUT_CONTACT_VERTEX);
    assert_true(room[0].depth > 0.9 * radius);
    assert_refused("topology", abut_contact_mesh(&a, sheet, NULL, NULL, NULL, &c));
    assert_refused("create it from this mesh",
                   abut_contact_mesh(&a, ball.mesh, topology, NULL, NULL, &c));
    abut_topology_destroy(topology);
    abut_mesh_destroy(sheet);
    thing_free(&ball);
}

/* ---- fewer ---- */

TEST(reduction_keeps_the_deepest_and_the_spread) {
    test_random random = {3};
    for (uint32_t round = 0; round < test_rounds(64); round++) {
        abut_contact list[60], shuffled[60], deepest = {.depth = -1};
        for (uint32_t i = 0; i < 60; i++) {
            abut_vec3 point = random_pose(&random, 1).translation;
            abut_contact c = {.id = i, .depth = test_random_real(&random, 0, 1), .point = point};
            point.z = 0;
            c.normal = i % 3 == 0 ? v3(0, 0, 1) : i % 3 == 1 ? v3(0, 1, 0) : v3(0, 0.05, 1);
            c.normal = v3_normalise(c.normal);
            list[i] = shuffled[i] = c;
            deepest = c.depth > deepest.depth ? c : deepest;
        }
        for (uint32_t i = 59; i > 0; i--) {
            uint32_t k = test_random_below(&random, i + 1);
            abut_contact kept = shuffled[i];
            shuffled[i] = shuffled[k];
            shuffled[k] = kept;
        }
        size_t kept = abut_contact_reduce(list, 60, 4, 0);
        assert_int_equal(kept, 8);
        assert_true(list[0].depth >= deepest.depth - 4e-4);
        assert_int_equal(abut_contact_reduce(shuffled, 60, 4, 0), 8);
        for (size_t i = 0; i < kept; i++)
            assert_int_equal(list[i].id, shuffled[i].id);
        bool seen[60] = {false};
        for (size_t i = 0; i < 60; i++) { /* nothing is lost or doubled */
            assert_false(seen[list[i].id]);
            seen[list[i].id] = true;
        }
        /* The second is the one furthest from the first in its patch. */
        for (size_t i = 8; i < 60; i++)
            if ((list[i].id % 3 == 1) == (list[0].id % 3 == 1))
                assert_true(v3_length(v3_sub(list[i].point, list[0].point)) <=
                            v3_length(v3_sub(list[1].point, list[0].point)));
    }
    assert_int_equal(abut_contact_reduce(NULL, 0, 0, 0), 0);
}

/* Of a grid of points that are level the corners stay, whatever is a little deeper in the middle;
 * what is really deeper stays too. */
TEST(reduction_keeps_the_largest_support) {
    for (int deeper = 0; deeper < 2; deeper++) {
        abut_contact list[81];
        for (uint32_t i = 0; i < 81; i++) {
            abut_vec3 point = {0.1 * (i % 9), 0.2 * (double)(i / 9), 0};
            list[i] = (abut_contact){.id = i, .point = point, .normal = {0, 0, 1}, .depth = 0.1};
        }
        list[40].depth += deeper ? 1e-3 : 1e-5;
        assert_int_equal(abut_contact_reduce(list, 81, 0, 0), 4);
        assert_true((list[0].id == 40) == deeper);
        for (int i = deeper; i < 4; i++) /* corners */
            assert_true((list[i].id % 9 == 0 || list[i].id % 9 == 8) &&
                        (list[i].id / 9 == 0 || list[i].id / 9 == 8));
        assert_int_equal(abut_contact_reduce(list, 4, 8, 0), 4);
    }
}

/* A cube stands on another of its size, side above side, by four points about its middle. */
TEST(cubes_stand_on_cubes) {
    thing box = thing_by(ABUT_SHAPE_BOX, 1, 48);
    abut_collider below = body_of(&box, shifted(0, 0, 0)), above = below;
    const double shifts[] = {0, 0.01, 0.1, 0.3};
    for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
        abut_contacts c = contacts_room();
        above.pose = shifted(shifts[s], 0, 0.99);
        assert_ok(abut_contact_find_sampled(&above, &below, NULL, &c));
        size_t kept = abut_contact_reduce(room, c.count, 0, 0);
        double lo = 1, hi = -1, near = 1, far = -1;
        for (size_t i = 0; i < kept && i < 4; i++) {
            assert_true(angle_between(room[i].normal, v3(0, 0, 1)) < 10);
            assert_true(fabs(room[i].depth - 0.01) < 1e-3);
            lo = fmin(lo, room[i].point.x), hi = fmax(hi, room[i].point.x);
            near = fmin(near, room[i].point.y), far = fmax(far, room[i].point.y);
        }
        assert_true(kept >= 4);
        assert_true(lo < shifts[s] - 0.4 && hi > 0.4 && near < -0.4 && far > 0.4);
    }
    thing_free(&box);
}

/* A body that sinks keeps the ids of its contacts. */
TEST(ids_stay_from_frame_to_frame) {
    thing box = thing_by(ABUT_SHAPE_BOX, 1, 24);
    abut_collider floor = body_of(&box, shifted(0, 0, 0)), falls = floor;
    uint64_t first[64];
    size_t count = 0;
    for (int frame = 0; frame < 10; frame++) {
        abut_contacts c = contacts_room();
        falls.pose = shifted(0.2 + 0.001 * frame, 0.1, 0.999 - 0.001 * frame);
        assert_ok(abut_contact_find_sampled(&falls, &floor, NULL, &c));
        if (frame == 0) {
            count = c.count;
            assert_true(count > 0 && count <= 64);
            for (size_t i = 0; i < count; i++)
                first[i] = room[i].id;
        }
        for (size_t i = 0; i < count; i++) {
            bool there = false;
            for (size_t k = 0; k < c.count; k++)
                there = there || room[k].id == first[i];
            assert_true(there);
        }
    }
    thing_free(&box);
}

/* More features than one task takes, on one and on three threads. */
TEST_THREADS(same_on_any_number_of_threads) {
    static abut_contact first[ROOM];
    size_t counts[3] = {0, 0, 0};
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
        abut_samples_options options = abut_samples_options_default();
        abut_field_options field_options = abut_field_options_default();
        abut_mesh *mesh;
        abut_field *field;
        abut_samples *samples;
        abut_topology *topology;
        field_options.cells = 16;
        options.kinds = 15;
        options.cell = 0.03;
        assert_ok(abut_shape_create(context, &shape, &mesh));
        assert_ok(abut_field_create(mesh, &field_options, &field));
        assert_ok(abut_samples_create(mesh, &options, &samples));
        assert_ok(abut_topology_create(mesh, &topology));
        assert_true(get_samples_arrays(samples).count > 3000);
        abut_collider a = abut_collider_from_field(field, samples, shifted(0, 0, 0)),
                      b = abut_collider_from_field(field, samples, shifted(0.4, 0, 0));
        abut_contacts c = contacts_room();
        assert_ok(abut_contact_find_sampled(&a, &b, NULL, &c));
        counts[0] = c.count;
        c.list += c.count;
        c.capacity -= c.count;
        assert_ok(abut_contact_mesh(&a, mesh, topology, &b.pose, NULL, &c));
        counts[1] = counts[0] + c.count;
        assert_true(counts[1] > 500);
        if (threads == 1) {
            memcpy(first, room, counts[1] * sizeof *room);
            counts[2] = counts[1];
        }
        assert_int_equal(counts[1], counts[2]);
        for (size_t i = 0; i < counts[1]; i++) {
            assert_memory_equal(&room[i].point, &first[i].point, 2 * sizeof(abut_vec3));
            assert_true(room[i].depth == first[i].depth && room[i].id == first[i].id);
        }
        abut_topology_destroy(topology);
        abut_samples_destroy(samples);
        abut_field_destroy(field);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
}

/* ---- refusals ---- */

TEST(wrong_calls_are_refused) {
    thing t = thing_by(ABUT_SHAPE_BOX, 1, 12);
    abut_collider a = body_of(&t, shifted(0.7, 0.1, 0.05)), b = body_of(&t, shifted(0, 0, 0)),
                  bad = a;
    abut_contacts c = contacts_room(), none = {.size = sizeof none, .capacity = 5};
    abut_contact_options options = abut_contact_options_default();
    assert_refused("null", abut_contact_find_sampled(NULL, &b, NULL, &c));
    assert_refused("b is null", abut_contact_find_sampled(&a, NULL, NULL, &c));
    assert_refused("contacts", abut_contact_find_sampled(&a, &b, NULL, NULL));
    assert_refused("list", abut_contact_find_sampled(&a, &b, NULL, &none));
    bad.shape.body.field = NULL;
    assert_refused("neither", abut_contact_find_sampled(&bad, &bad, NULL, &c));
    bad = a;
    bad.pose.translation.y = NAN;
    assert_refused("pose of a", abut_contact_find_sampled(&bad, &b, NULL, &c));
    assert_refused("pose of b", abut_contact_find_sampled(&a, &bad, NULL, &c));
    bad.pose = shifted(0, 0, 0);
    bad.pose.rotation.w = INFINITY;
    assert_refused("not finite", abut_contact_find_sampled(&bad, &b, NULL, &c));
    const abut_collider ball =
        abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1}, abut_pose_identity());
    assert_refused(": b is a sphere", abut_contact_find_sampled(&a, &ball, NULL, &c));
    assert_refused(": a is a sphere", abut_contact_find_sampled(&ball, &a, NULL, &c));
    double nan_point[3] = {0, NAN, 0};
    assert_refused("point 0", abut_contact_points(&a, abut_array_host(nan_point), 1, 0, NULL, &c));
    assert_refused("points is null",
                   abut_contact_points(&a, abut_array_host(NULL), 1, 0, NULL, &c));
    assert_refused("points.type is 9",
                   abut_contact_points(&a,
                                       (abut_array){.host = nan_point, .type = (abut_scalar_type)9},
                                       1, 0, NULL, &c));
    assert_refused("points.stride is 23",
                   abut_contact_points(&a, (abut_array){.host = nan_point, .stride = 23}, 1, 0,
                                       NULL, &c));
    abut_ray ray = {{0, 0, 5}, {0, 0, 0}};
    abut_field_hit hit = {.depth = 7};
    assert_refused("direction", abut_contact_ray(&a, &ray, 1, &hit));
    ray.direction.z = -1;
    assert_refused("limit", abut_contact_ray(&a, &ray, -1, &hit));
    assert_true(hit.depth == 7);
    options.margin = -1;
    assert_refused("margin", abut_contact_find_sampled(&a, &b, &options, &c));
    options = abut_contact_options_default();
    options.a = 42;
    options.b = 43;
    assert_ok(abut_contact_find_sampled(&a, &b, &options, &c));
    assert_true(room[0].a == 42 && room[0].b == 43);
    thing_free(&t);
}

/* A body against each kind of thing. */
static abut_status collide(int kind, const thing *t, const abut_topology *topology,
                           abut_contacts *c) {
    const abut_collider a = body_of(t, shifted(0.7, 0.1, 0.05)), b = body_of(t, shifted(0, 0, 0));
    const abut_vec3 list[3] = {{0.6, 0.1, 0}, {0.7, 0.2, 0}, {0.8, 0, 0.1}};
    const abut_array points = abut_array_host(list);
    switch (kind) {
    case 0:
        return abut_contact_find_sampled(&a, &b, NULL, c);
    case 1:
        return abut_contact_points(&a, points, 3, 0.1, NULL, c);
    default:
        return abut_contact_mesh(&a, t->mesh, topology, NULL, NULL, c);
    }
}

/* Too little room: how many there are, and nothing else. */
TEST(overflow) {
    thing t = thing_by(ABUT_SHAPE_BOX, 1, 12);
    abut_topology *topology;
    assert_ok(abut_topology_create(t.mesh, &topology));
    for (int kind = 0; kind < 3; kind++) {
        abut_contacts c = contacts_room();
        assert_ok(collide(kind, &t, topology, &c));
        assert_true(c.count > 1 && c.reliability.reason);
        for (uint64_t capacity = 0; capacity < c.count; capacity += c.count - 1) {
            abut_contacts small = {.size = sizeof small,
                                   .list = capacity ? room : NULL,
                                   .capacity = capacity};
            memset(room, 0x5a, c.count * sizeof *room);
            assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                         collide(kind, &t, topology, &small));
            assert_int_equal(small.count, c.count);
            assert_null(small.reliability.reason);
            for (size_t i = 0; i < c.count * sizeof *room; i++)
                assert_int_equal(0x5a, ((unsigned char *)room)[i]);
        }
    }
    abut_topology_destroy(topology);
    thing_free(&t);
}

static abut_status touch_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_field_options field_options = abut_field_options_default();
    abut_mesh *mesh = NULL;
    abut_field *field = NULL;
    abut_samples *samples = NULL;
    abut_topology *topology = NULL;
    (void)data;
    shape.segments = 11; /* more features than fit the stack */
    field_options.cells = 8;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_field_create(mesh, &field_options, &field);
    status = status ? status : abut_samples_create(mesh, NULL, &samples);
    status = status ? status : abut_topology_create(mesh, &topology);
    abut_collider body = abut_collider_from_field(field, samples, shifted(0.1, 0, 0));
    abut_contacts c = contacts_room();
    status = status ? status : abut_contact_find_sampled(&body, &body, NULL, &c);
    status = status ? status : abut_contact_mesh(&body, mesh, topology, NULL, NULL, &c);
    abut_topology_destroy(topology);
    abut_samples_destroy(samples);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(touch_all, NULL) > 10);
}

static int run(void) {
    return test_run(NULL, NULL);
}

int main(void) {
    return run_serial(run);
}
