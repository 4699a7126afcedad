/* Characters in a world: against abut_radial_contacts() of each single pair, bit for bit; while
 * they move, and if they cannot be tested. */
#include "apps/get.h"
#include "radial/body.h"
#include "world/scene.h"

enum { BONES = 4, ITEMS = 25, SELF = 11, ROOM = 8192 };

static const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
#define CELL 0.1
static snake worm;
static abut_radial *fields, *fields2; /* the second is tested against the first only */
static abut_bvh *referees[THINGS];    /* with signs, which those of things have not */
static uint32_t sort_shift;

static void bend(double angle, double shift) {
    abut_character_matrix bones[BONES];
    abut_vec3 *positions = malloc((size_t)abut_mesh_vertex_count(worm.mesh) * sizeof *positions);
    bend_snake(&worm, angle, shift, bones, positions);
    assert_ok(abut_radial_set_positions(fields, bones, abut_array_host(positions)));
    free(positions);
}

/* The second, across the first. */
static void bend_other(double angle) {
    abut_character_matrix bones[BONES];
    const uint32_t count = abut_mesh_vertex_count(worm.mesh);
    abut_vec3 *positions = malloc((size_t)count * sizeof *positions);
    bend_snake(&worm, angle, 0.1, bones, positions);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = v3(positions[i].y + 2, -positions[i].x + 1, positions[i].z + 0.2);
    for (uint32_t k = 0; k < BONES; k++)
        for (int c = 0; c < 4; c++) {
            const double x = bones[k].m[0][c], y = bones[k].m[1][c];
            bones[k].m[0][c] = y + (c == 3 ? 2 : 0);
            bones[k].m[1][c] = -x + (c == 3 ? 1 : 0);
            bones[k].m[2][c] += c == 3 ? 0.2 : 0;
        }
    assert_ok(abut_radial_set_positions(fields2, bones, abut_array_host(positions)));
    free(positions);
}

/* The first, by the world. */
static void deform(abut_world *world, uint32_t id, double angle, double shift) {
    abut_character_matrix bones[BONES];
    abut_vec3 *positions = malloc((size_t)abut_mesh_vertex_count(worm.mesh) * sizeof *positions);
    bend_snake(&worm, angle, shift, bones, positions);
    assert_ok(abut_world_set_positions(world, id, bones, abut_array_host(positions)));
    assert_refused("bones is null",
                   abut_world_set_positions(world, id, NULL, abut_array_host(positions)));
    free(positions);
}

static int set_up(void **state) {
    abut_radial_options options = abut_radial_options_default();
    make_things(state);
    worm = make_snake(serial, BONES, 24, 16);
    options.cell = CELL;
    assert_ok(abut_radial_create(worm.character, &options, &fields));
    assert_ok(abut_radial_create(worm.character, &options, &fields2));
    bend_other(0.1);
    for (int i = 0; i < THINGS; i++) {
        assert_ok(abut_bvh_create(things[i].mesh, NULL, &referees[i]));
        assert_ok(abut_sign_prepare(referees[i], NULL));
    }
    return 0;
}

static int tear_down(void **state) {
    for (int i = 0; i < THINGS; i++)
        abut_bvh_destroy(referees[i]);
    abut_radial_destroy(fields2);
    abut_radial_destroy(fields);
    free_snake(&worm);
    return free_things(state);
}

static abut_world_item character_item(void) {
    abut_world_item item = abut_world_item_default();
    item.collider.kind = ABUT_COLLIDER_CHARACTER;
    item.motion = ABUT_WORLD_KINEMATIC;
    item.group = 1;
    item.collider.pose = here;
    item.collider.shape.character = fields;
    return item;
}

/* Items that are tested against the character only, along it: ten kinds. */
enum {
    OF_FIELD,
    OF_SPHERE,
    OF_CAPSULE,
    OF_PLANE,
    OF_MESH,
    OF_FIELD_ALONE,
    OF_BOX,
    OF_CYLINDER,
    OF_HULL,
    OF_CHARACTER,
    SORTS
};

static abut_world_item other_item(test_random *random, uint32_t dice) {
    abut_world_item item = body_item(&things[dice % THINGS], random_pose(random, 0.5));
    const uint32_t sort = dice % SORTS;
    item.collider.pose.translation.x += test_random_real(random, 0, BONES);
    if (sort == OF_SPHERE) {
        item.collider.kind = ABUT_COLLIDER_SPHERE;
        item.collider.shape.sphere = (abut_sphere){{0.1, 0, 0.2}, test_random_real(random, 0, 0.4)};
    } else if (sort == OF_CAPSULE) {
        item.collider.kind = ABUT_COLLIDER_CAPSULE;
        item.collider.shape.capsule = (abut_capsule){{{0.9, 0, 0.2}, {-9.5, 0, 0.2}}, 0.1};
    } else if (sort == OF_PLANE) {
        item.collider.kind = ABUT_COLLIDER_PLANE;
        item.collider.shape.plane = (abut_plane){{0.3, 0.2, 2}, 0.2};
    } else if (sort == OF_MESH) {
        item = mesh_item(&things[(dice / SORTS) % THINGS], item.collider.pose);
    } else if (sort == OF_FIELD_ALONE) {
        item.collider.shape.body.samples = NULL;
    } else if (sort == OF_BOX) {
        item.collider.kind = ABUT_COLLIDER_BOX;
        item.collider.shape.half = v3(0.5, 0.3, 0.1);
    } else if (sort == OF_CYLINDER) {
        item.collider.kind = ABUT_COLLIDER_CYLINDER;
        item.collider.shape.cylinder = (abut_cylinder){{{0, 0, -0.4}, {0, 0, 0.4}}, 0.3};
    } else if (sort == OF_HULL) {
        item.collider.kind = ABUT_COLLIDER_HULL;
        item.collider.shape.hull = things[HULL].bvh;
    } else if (sort == OF_CHARACTER) {
        item.collider.kind = ABUT_COLLIDER_CHARACTER;
        item.collider.pose = here;
        item.collider.shape.character = fields2;
    }
    item.group = 2;
    item.mask = 1;
    return item;
}

/* ---- the obvious way ---- */

/* The samples of all fields, by the words of <abut/radial.h>, with their numbers. */
static size_t list_samples(abut_radial *radial, vec3 *points, uint32_t *numbers) {
    size_t found = 0;
    uint32_t first = 0;
    for (uint32_t k = 0; k < get_radial_info(radial).field_count; k++) {
        const abut_radial_view f = get_radial_field(radial, k);
        for (uint32_t c = 0; c < f.around * f.along; c++) {
            const double a = 6.283185307179586 * (c % f.around) / f.around;
            const double r = f.radii[c] * f.unit;
            if (f.radii[c] == INFINITY || (r == 0 && c % f.around))
                continue;
            vec3 p = v3_along(f.begin, f.step * (c / f.around), f.axis);
            p = v3_along(v3_along(p, r * cos(a), f.normal), r * sin(a), f.tangent);
            assert_true(found < ROOM);
            points[found] = p;
            numbers[found++] = first + c;
        }
        first += f.around * f.along;
    }
    return found;
}

static double box_distance(vec3 p, vec3 half) {
    const vec3 q = v3_sub(v3_abs(p), half);
    return v3_length(v3_max(q, v3(0, 0, 0))) + fmin(fmax(q.x, fmax(q.y, q.z)), 0);
}

/* The signed distance of a point to a character, HUGE_VAL beyond 100. Contacts do not have the
 * bound of abut_radial_evaluate(): where the nearest sample is nearer than the nearest triangle
 * that the search finds, that function returns the distance of the sample. */
static double character_distance(abut_radial *radial, vec3 point) {
    const abut_capsule capsule = {{point, point}, 0};
    abut_contact_options options = abut_contact_options_default();
    abut_contact contact;
    abut_contacts found = {.size = sizeof found, .list = &contact, .capacity = 1};
    abut_radial_answer answer;
    options.margin = 100;
    assert_ok(abut_radial_contacts(radial, 1, &capsule, &options, &found));
    const double distance = found.count ? -contact.depth : HUGE_VAL;
    assert_ok(
        abut_radial_evaluate(radial, abut_array_host(&point), 1, 100, abut_array_host(&answer)));
    assert_true(fmin(fmax(distance, -answer.within), answer.within) == answer.distance);
    return distance;
}

/* The signed distance of a point to an item, which is no round solid. */
static double distance_of(const abut_world_item *item, const contact_motion *m, vec3 point) {
    const vec3 p = contact_to_local(m, point);
    abut_field_value value;
    abut_nearest nearest;
    switch (item->collider.kind) {
    case ABUT_COLLIDER_BODY:
        if (item->collider.shape.body.field) {
            assert_ok(abut_field_evaluate(item->collider.shape.body.field, p,
                                          ABUT_INTERPOLATION_LINEAR, &value));
            return value.distance;
        }
        for (int i = 0; i < THINGS; i++)
            if (things[i].bvh == item->collider.shape.body.bvh)
                assert_ok(abut_sign_nearest(referees[i], p, HUGE_VAL, &nearest));
        return nearest.distance;
    case ABUT_COLLIDER_PLANE: {
        const double length = v3_length(item->collider.shape.plane.normal);
        return (v3_dot(item->collider.shape.plane.normal, p) - item->collider.shape.plane.offset) /
               length;
    }
    case ABUT_COLLIDER_BOX:
        return box_distance(p, item->collider.shape.half);
    case ABUT_COLLIDER_CYLINDER: {
        const double across = hypot(p.x, p.y) - 0.3, along = fabs(p.z) - 0.4;
        return hypot(fmax(across, 0), fmax(along, 0)) + fmin(fmax(across, along), 0);
    }
    case ABUT_COLLIDER_HULL:
        return box_distance(p, v3(0.7, 0.25, 0.35));
    default:
        return character_distance(item->collider.shape.character, point);
    }
}

/* What is expected of a pair: features of the item against the fields of the character, bit for
 * bit. */
static size_t ask_features(const abut_world_item *item, const contact_motion *m, double margin,
                           abut_contact *list) {
    static abut_capsule capsules[ROOM];
    static abut_sample names[ROOM];
    abut_contact_options options = abut_contact_options_default();
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = ROOM};
    size_t count = 0, kept = 0;
    options.margin = margin;
    if (item->collider.kind == ABUT_COLLIDER_SPHERE) {
        const vec3 centre = contact_to_world(m, item->collider.shape.sphere.centre);
        capsules[count++] = (abut_capsule){{centre, centre}, item->collider.shape.sphere.radius};
    } else if (item->collider.kind == ABUT_COLLIDER_CAPSULE) {
        const abut_capsule *c = &item->collider.shape.capsule;
        capsules[count++] =
            (abut_capsule){{contact_to_world(m, c->end[0]), contact_to_world(m, c->end[1])},
                           c->radius};
    } else if (item->collider.kind == ABUT_COLLIDER_BODY && item->collider.shape.body.samples) {
        const abut_samples_arrays view = get_samples_arrays(item->collider.shape.body.samples);
        for (uint32_t i = 0; i < view.count + view.edge_count; i++) {
            const bool edge = i >= view.count;
            const abut_sample_edge *e = &view.edges[edge ? i - view.count : 0];
            names[count] = edge ? (abut_sample){.kind = ABUT_SAMPLE_EDGE,
                                                .element = e->edge,
                                                .part = ABUT_SAMPLE_DEEPEST}
                                : view.samples[i];
            const vec3 from = edge ? e->end[0] : view.samples[i].point,
                       to = edge ? e->end[1] : from;
            capsules[count++] =
                (abut_capsule){{contact_to_world(m, from), contact_to_world(m, to)}, 0};
        }
    } else if (item->collider.kind == ABUT_COLLIDER_HULL ||
               (item->collider.kind == ABUT_COLLIDER_BODY && item->collider.shape.body.bvh)) {
        const bool hull = item->collider.kind == ABUT_COLLIDER_HULL;
        abut_mesh *mesh =
            abut_bvh_mesh(hull ? item->collider.shape.hull : item->collider.shape.body.bvh);
        abut_topology *topology = NULL;
        assert_ok(abut_topology_create(mesh, &topology));
        const abut_topology_arrays t = get_topology_arrays(topology);
        for (uint32_t i = 0; i < t.vertex_count + t.edge_count; i++) {
            const bool edge = i >= t.vertex_count;
            const uint32_t *ends = t.edges + 2 * (size_t)(edge ? i - t.vertex_count : 0);
            const vec3 from = body_position(mesh, edge ? ends[0] : i),
                       to = body_position(mesh, edge ? ends[1] : i);
            if (edge && !(v3_length(v3_sub(from, to)) > CELL))
                continue;
            names[count] = edge ? (abut_sample){.kind = ABUT_SAMPLE_EDGE,
                                                .element = i - t.vertex_count,
                                                .part = ABUT_SAMPLE_DEEPEST}
                                : (abut_sample){.kind = ABUT_SAMPLE_VERTEX, .element = i};
            capsules[count++] =
                (abut_capsule){{contact_to_world(m, from), contact_to_world(m, to)}, 0};
        }
        abut_topology_destroy(topology);
    }
    assert_true(count <= ROOM);
    assert_ok(abut_radial_contacts(fields, count, capsules, &options, &found));
    for (size_t i = 0; i < found.count; i++) {
        const bool solid = item->collider.kind == ABUT_COLLIDER_SPHERE ||
                           item->collider.kind == ABUT_COLLIDER_CAPSULE;
        const abut_sample *f = &names[list[i].element];
        if (!solid && f->part == ABUT_SAMPLE_DEEPEST && list[i].part != 2)
            continue;
        list[i].kind = solid ? ABUT_CONTACT_SOLID : (abut_contact_kind)f->kind;
        list[i].element = solid ? list[i].part : f->element;
        list[i].part = solid ? 0 : f->part;
        list[kept++] = list[i];
    }
    return kept;
}

static double apart(abut_vec3 a, abut_vec3 b) {
    return v3_length(v3_sub(a, b));
}

/* Samples of a character among the contacts of a pair, from `at` on, against how far they are from
 * the other. Directions of samples are floats, so what is all but the margin away may be there or
 * not. Returns where they end. */
static uint64_t check_samples(abut_radial *radial, const abut_world_item *other,
                              const contact_motion *m, double margin, double sign,
                              const abut_contacts *found, abut_world_pair pair, uint64_t at) {
    static vec3 points[ROOM];
    static uint32_t numbers[ROOM];
    const size_t count = list_samples(radial, points, numbers);
    for (size_t i = 0; i < count; i++) {
        const double depth = -distance_of(other, m, points[i]);
        const abut_contact *c = &found->list[at];
        const bool is = at < found->count && c->a == pair.a && c->b == pair.b &&
                        c->kind == ABUT_CONTACT_POINT && c->element == numbers[i] &&
                        apart(c->point, points[i]) < 1e-6;
        if (fabs(depth + margin) > 1e-5)
            assert_int_equal(is, depth > -margin);
        if (!is)
            continue;
        assert_true(fabs(c->depth - depth) < 1e-5);
        assert_true(fabs(v3_length(c->normal) - 1) < 1e-9);
        /* The contact normal is known for these items. */
        if (other->collider.kind == ABUT_COLLIDER_BOX ||
            other->collider.kind == ABUT_COLLIDER_HULL ||
            other->collider.kind == ABUT_COLLIDER_CYLINDER ||
            other->collider.kind == ABUT_COLLIDER_PLANE)
            assert_true(
                fabs(distance_of(other, m, v3_along(c->point, sign * c->depth, c->normal))) < 1e-5);
        at++;
    }
    return at;
}

/* All pairs of the character, which has the id SELF. Returns the number of contacts. */
static size_t check_all(abut_world *world, const abut_world_item *items, double margin,
                        size_t sorts[SORTS]) {
    static abut_contact expected[ROOM], room[ITEMS * ROOM];
    const abut_world_item self = character_item();
    abut_contacts found = {.size = sizeof found, .list = room, .capacity = ITEMS * ROOM};
    abut_world_pair pairs[ITEMS];
    uint64_t pair_count, at = 0;
    assert_ok(abut_world_contacts(world, &found));
    pair_count = list_pairs(world, pairs, ITEMS);
    for (uint32_t i = 0; i < ITEMS; i++) {
        const bool swapped = i < SELF; /* then the character is b */
        const bool both = items[i].collider.kind == ABUT_COLLIDER_CHARACTER;
        contact_motion m;
        if (i == SELF)
            continue;
        const uint64_t begin = at;
        uint32_t pair = 0;
        while (pair < pair_count &&
               (pairs[pair].a != (swapped ? i : SELF) || pairs[pair].b != (swapped ? SELF : i)))
            pair++;
        assert_ok(abuti_contact_pose("test", "a pose", &items[i].collider.pose, &m));
        const bool round = items[i].collider.kind == ABUT_COLLIDER_SPHERE ||
                           items[i].collider.kind == ABUT_COLLIDER_CAPSULE;
        /* Features of a come first. */
        for (int side = 0; side < 2; side++) {
            const bool of_self = side == swapped;
            const uint64_t from = at;
            if (of_self && !round) {
                at = check_samples(fields, &items[i], &m, margin, swapped ? -1 : 1, &found,
                                   pairs[pair], at);
            } else if (!of_self && both) {
                at = check_samples(fields2, &self, &m, margin, 1, &found, pairs[pair], at);
            } else if (!of_self && items[i].collider.kind != ABUT_COLLIDER_CYLINDER &&
                       items[i].collider.kind != ABUT_COLLIDER_BOX) {
                const size_t count = ask_features(&items[i], &m, margin, expected);
                for (size_t k = 0; k < count; k++, at++) {
                    abut_contact *e = &expected[k];
                    e->side ^= swapped;
                    e->normal = swapped ? v3_sub(v3(0, 0, 0), e->normal) : e->normal;
                    e->id = contact_id(e->side, e->kind, e->element, e->part);
                    assert_true(at < found.count);
                    assert_same_contact(e, &room[at]);
                }
            } else if (!of_self) { /* of a box, or of a prism around the cylinder */
                size_t corners = 0;
                for (uint32_t k = 0; k < 8 && items[i].collider.kind == ABUT_COLLIDER_BOX; k++) {
                    const vec3 h = items[i].collider.shape.half,
                               corner =
                                   v3(k & 1 ? h.x : -h.x, k & 2 ? h.y : -h.y, k & 4 ? h.z : -h.z);
                    corners += distance_of(&self, &m, contact_to_world(&m, corner)) <= margin;
                }
                for (; at < found.count && room[at].a == pairs[pair].a &&
                       room[at].b == pairs[pair].b && room[at].side == (uint32_t)side;
                     at++) {
                    assert_true(fabs(distance_of(&items[i], &m, room[at].point)) < 0.001);
                    assert_true(fabs(room[at].depth + distance_of(&self, &m, room[at].point)) <
                                1e-9);
                    corners -= room[at].kind == ABUT_CONTACT_VERTEX;
                }
                assert_true(corners == 0 || items[i].collider.kind == ABUT_COLLIDER_CYLINDER);
            }
            for (uint64_t k = from; k < at; k++)
                assert_int_equal(room[k].side, side);
        }
        for (uint64_t k = begin; k < at; k++)
            assert_true(room[k].a == pairs[pair].a && room[k].b == pairs[pair].b);
        sorts[(i + sort_shift) % SORTS] += at - begin;
    }
    assert_int_equal(at, found.count);
    return (size_t)at;
}

TEST(agrees_with_radial_contacts) {
    test_random random = {71};
    size_t sorts[SORTS] = {0};
    for (uint32_t round = 0; round < test_rounds(48); round++) {
        abut_world_options options = abut_world_options_default();
        abut_world_item items[ITEMS];
        abut_world *world = NULL;
        uint32_t id;
        options.margin = round % 3 == 1 ? 0.03 : round % 3 == 2 ? 0.1 : 0;
        options.method = round % 2 ? ABUT_WORLD_AUTO : ABUT_WORLD_FIELD;
        bend(0.03 * (round % 12), 0.03 * (round % 12));
        bend_other(0.2 - 0.04 * (round % 10));
        assert_ok(abut_world_create(round % 5 ? NULL : serial, &options, &world));
        sort_shift = round;
        for (uint32_t i = 0; i < ITEMS; i++) {
            items[i] = i == SELF ? character_item() : other_item(&random, i + round);
            assert_ok(abut_world_add(world, &items[i], &id));
            assert_int_equal(id, i);
        }
        check_all(world, items, options.margin, sorts);
        bend(-0.03 * (round % 12), 0.1);
        id = SELF;
        if (round % 2)
            assert_ok(abut_world_set_poses(world, &id, abut_array_host(&here), 1));
        else
            deform(world, SELF, -0.03 * (round % 12), 0.1);
        check_all(world, items, options.margin, sorts);
        abut_world_destroy(world);
    }
    for (int i = 0; i < SORTS; i++)
        assert_true(sorts[i] > (i == OF_SPHERE || i == OF_CAPSULE ? 0 : 50));
}

/* Few contacts a patch are what abut_contact_reduce() leaves of all; and threads do not matter. */
TEST(reduced_on_any_number_of_threads) {
    static abut_contact all[ITEMS * ROOM], few[ITEMS * ROOM];
    abut_world *worlds[3] = {NULL};
    abut_world_options options = abut_world_options_default();
    abut_contacts found[3] = {
        {.size = sizeof(abut_contacts), .list = all, .capacity = ITEMS * ROOM},
        {.size = sizeof(abut_contacts), .list = few, .capacity = ITEMS * ROOM},
        {.size = sizeof(abut_contacts), .list = few, .capacity = ITEMS * ROOM}};
    options.margin = 0.03;
    bend(0.1, 0);
    for (int k = 0; k < 3; k++) {
        test_random random = {5};
        options.max_patch_contacts = k ? 4 : 0;
        assert_ok(abut_world_create(k == 2 ? serial : NULL, &options, &worlds[k]));
        for (uint32_t i = 0; i < ITEMS; i++) {
            abut_world_item item = i == SELF ? character_item() : other_item(&random, i);
            add(worlds[k], &item);
        }
        assert_ok(abut_world_contacts(worlds[k], &found[k]));
        if (!k)
            continue;
        uint64_t at = 0;
        for (uint64_t begin = 0, end; begin < found[0].count; begin = end) {
            abut_contact list[ROOM];
            for (end = begin;
                 end < found[0].count && all[end].a == all[begin].a && all[end].b == all[begin].b;
                 end++)
                list[end - begin] = all[end];
            const uint64_t left = abut_contact_reduce(list, end - begin, 4, options.patch_angle);
            for (uint64_t i = 0; i < left; i++, at++)
                assert_same_contact(&list[i], &few[at]);
        }
        assert_int_equal(at, found[k].count);
    }
    assert_true(found[2].count > 50);
    for (int k = 0; k < 3; k++)
        abut_world_destroy(worlds[k]);
}

/* Which way normals point, whoever is first; and events as it comes and goes. */
TEST(it_comes_and_goes) {
    abut_world *world = NULL;
    abut_world_item items[3] = {other_item(&(test_random){1}, OF_SPHERE), character_item(),
                                other_item(&(test_random){1}, OF_SPHERE)};
    abut_contact list[8];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 8};
    abut_world_event events[8];
    uint32_t id;
    assert_ok(abut_world_create(serial, NULL, &world));
    bend(0, 5);
    for (int i = 0; i < 3; i++) {
        if (i != 1) {
            items[i].collider.pose = here;
            items[i].collider.shape.sphere = (abut_sphere){{2, 0, 0.3}, 0.15};
        }
        assert_ok(abut_world_add(world, &items[i], &id));
    }
    uint64_t count = events_of(world, events, 8);
    assert_int_equal(count, 0);
    const double shifts[4] = {0, 0, 5, 0};
    const abut_world_event_kind changes[4] = {ABUT_WORLD_EVENT_BEGIN, ABUT_WORLD_EVENT_PERSIST,
                                              ABUT_WORLD_EVENT_END, ABUT_WORLD_EVENT_BEGIN};
    id = 1;
    for (int step = 0; step < 4; step++) {
        bend(0, shifts[step]);
        assert_ok(abut_world_set_poses(world, &id, abut_array_host(&here), 1));
        count = events_of(world, events, 8);
        assert_int_equal(count, 2);
        assert_true(events[0].kind == changes[step] && events[1].kind == changes[step]);
        assert_int_equal(events[0].method, ABUT_WORLD_RADIAL);
        assert_int_equal(events[0].guarantee, ABUT_WORLD_GUARANTEE_SAMPLED);
    }
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 2);
    assert_true(list[0].side == 0 && list[0].normal.z > 0.9 && list[0].depth > 0);
    assert_true(list[1].side == 1 && list[1].normal.z < -0.9 && list[1].depth > 0);
    assert_true(list[0].kind == ABUT_CONTACT_SOLID &&
                found.reliability.level == ABUT_RELIABILITY_LIMITED);
    assert_ok(abut_world_remove(world, 1));
    count = events_of(world, events, 8);
    assert_true(count == 2 && events[0].kind == ABUT_WORLD_EVENT_END);
    abut_world_destroy(world);
}

/* A character inside a closed box that has a stray triangle in its mesh; and beside the triangle
 * alone. */
TEST(inside_a_closed_part_beside_a_sheet) {
    static abut_contact list[ROOM];
    static const uint32_t stray[3] = {8, 9, 10};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *box = NULL;
    shape.extent = v3(30, 30, 30);
    shape.segments = 1;
    assert_ok(abut_shape_create(serial, &shape, &box));
    abut_vec3 positions[11] = {[8] = {20, 0, 0}, [9] = {22, 0, 0}, [10] = {20, 2, 0}};
    uint32_t indices[13][3];
    assert_int_equal(8, abut_mesh_vertex_count(box));
    memcpy(positions, abut_mesh_local_positions(box), 8 * sizeof *positions);
    memcpy(indices, abut_mesh_indices(box), 12 * sizeof *indices);
    memcpy(indices[12], stray, sizeof stray);
    bend(0, 0);
    for (uint32_t first = 0; first <= 12; first += 12) {
        abut_world *world = NULL;
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = ROOM};
        abut_world_item items[2] = {character_item()};
        items[1] = abut_world_item_default();
        abut_mesh *mesh =
            test_mesh(serial, positions, 11, (const uint32_t(*)[3])indices + first, 13 - first);
        items[1].collider = abut_collider_from_mesh(mesh, abut_pose_identity());
        assert_ok(abut_world_create(serial, NULL, &world));
        for (int i = 0; i < 2; i++)
            add(world, &items[i]);
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(first == 0, found.count > 0);
        abut_world_destroy(world);
        abut_mesh_destroy(mesh);
    }
    abut_mesh_destroy(box);
}

TEST(what_is_refused_and_never_tried) {
    test_random random = {3};
    abut_world *world = NULL;
    abut_world_options options = abut_world_options_default();
    abut_radial *empty = NULL;
    abut_world_pair pairs[16];
    abut_contacts found = {.size = sizeof found, .list = NULL};
    abut_world_impact touched[8];
    abut_world_impacts impacts = {.size = sizeof impacts, .list = touched, .capacity = 8};
    uint32_t id;
    bend(0, 0);
    for (int method = 0; method < 2; method++) {
        options.method = (abut_world_method)method;
        assert_ok(abut_world_create(serial, &options, &world));
        abut_world_item item = character_item();
        item.collider.pose.translation.x = 1e-9;
        assert_refused("identity", abut_world_add(world, &item, &id));
        assert_ok(abut_world_add(world,
                                 &(abut_world_item){.size = sizeof(abut_world_item),
                                                    .collider.kind = ABUT_COLLIDER_CHARACTER,
                                                    .collider.pose = here,
                                                    .collider.shape.character = fields},
                                 &id));
        assert_refused("identity",
                       abut_world_set_poses(world, &id, abut_array_host(&item.collider.pose), 1));
        item.collider.pose = here;
        item.collider.shape.character = NULL;
        assert_refused("null", abut_world_add(world, &item, &id));
        item.collider.kind = (abut_collider_kind)(ABUT_COLLIDER_MESH + 1);
        assert_refused("kind is", abut_world_add(world, &item, &id));
        item = character_item();
        assert_ok(abut_world_add(world, &item, &id)); /* the same once more */
        item = mesh_item(&things[HULL], here);
        item.motion = ABUT_WORLD_STATIC;
        item.collider.kind = ABUT_COLLIDER_HULL;
        item.collider.shape.hull = things[HULL].bvh;
        assert_ok(abut_world_add(world, &item, &id));
        item.collider.kind = ABUT_COLLIDER_BOX;
        item.collider.shape.half = v3(1, 1, 1);
        assert_ok(abut_world_add(world, &item, &id));
        item = body_item(&things[0], here);
        item.motion = ABUT_WORLD_STATIC;
        item.collider.shape.body.samples = NULL;
        assert_ok(abut_world_add(world, &item, &id));
        uint64_t count = list_pairs(world, pairs, 16);
        assert_int_equal(count, method == ABUT_WORLD_EXACT ? 0 : 4); /* all but itself */
        abut_world_pair_info manner = abut_world_pair_info_default();
        assert_ok(abut_world_get_pair_info(world, 0, 2, &manner));
        assert_int_equal(manner.guarantee, method == ABUT_WORLD_EXACT
                                               ? ABUT_WORLD_GUARANTEE_NONE
                                               : ABUT_WORLD_GUARANTEE_SAMPLED);
        /* A sweep knows nothing of it. */
        item = other_item(&random, OF_SPHERE);
        item.collider.pose = here;
        assert_ok(abut_world_add(world, &item, &id));
        item.collider.pose.translation.x = 1;
        assert_ok(
            abut_world_sweep(world, &id, abut_array_host(&item.collider.pose), 1, NULL, &impacts));
        assert_int_equal(impacts.unswept_count, method == ABUT_WORLD_EXACT ? 0 : 2);
        abut_world_destroy(world);
    }
    /* Before the first update there is nothing to touch. */
    assert_ok(abut_radial_create(worm.character, NULL, &empty));
    assert_ok(abut_world_create(serial, NULL, &world));
    abut_world_item item = character_item();
    item.collider.shape.character = empty;
    assert_ok(abut_world_add(world, &item, &id));
    for (uint32_t i = 0; i < SORTS; i++) {
        item = other_item(&random, i);
        item.collider.pose = here;
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 0);
    abut_world_destroy(world);
    abut_radial_destroy(empty);
}

static abut_status live_a_little(abut_context *context, void *data) {
    static abut_contact room[20000];
    test_random random = {16};
    abut_world *world = NULL;
    abut_contacts to = {.size = sizeof to, .list = room, .capacity = 20000};
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 12 && !status; i++) {
        abut_world_item item = i == 7 ? character_item() : other_item(&random, i);
        uint32_t id;
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : abut_world_contacts(world, &to);
    const uint32_t id = 7;
    status = status ? status : abut_world_set_poses(world, &id, abut_array_host(&here), 1);
    status = status ? status : abut_world_contacts(world, &to);
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    bend(0.2, 0);
    assert_true(test_every_allocation(live_a_little, NULL) > 8);
}

int main(void) {
    return test_run(set_up, tear_down);
}
