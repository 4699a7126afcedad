/* Characters in a world: against abut_radial_contacts() of each pair by itself, bit for bit; as
 * they move, and where they cannot be tried. */
#include "radial/body.h"
#include "world/scene.h"

enum { BONES = 4, ITEMS = 25, SELF = 11, ROOM = 8192 };

static const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
static snake worm;
static abut_radial *fields;

static void bend(double angle, double shift) {
    abut_character_matrix bones[BONES];
    abut_vec3 *positions = malloc((size_t)abut_mesh_vertex_count(worm.mesh) * sizeof *positions);
    bend_snake(&worm, angle, shift, bones, positions);
    assert_ok(abut_radial_update(fields, bones, abut_array_host(positions)));
    free(positions);
}

static int set_up(void **state) {
    abut_radial_options options = abut_radial_options_default();
    make_things(state);
    worm = make_snake(serial, BONES, 24, 16);
    options.cell = 0.1;
    assert_ok(abut_radial_create(worm.character, &options, &fields));
    return 0;
}

static int tear_down(void **state) {
    abut_radial_destroy(fields);
    free_snake(&worm);
    return free_things(state);
}

static abut_world_item character_item(void) {
    abut_world_item item;
    memset(&item, 0, sizeof item);
    item.kind = ABUT_WORLD_CHARACTER;
    item.motion = ABUT_WORLD_KINEMATIC;
    item.group = 1;
    item.pose = here;
    item.shape.character = fields;
    return item;
}

/* Things that meet the character only, along it. */
static abut_world_item other_item(test_random *random, uint32_t dice) {
    abut_world_item item = body_item(&things[dice % THINGS], random_pose(random, 0.5));
    item.pose.translation.x += test_random_real(random, 0, BONES);
    item.group = 2;
    item.mask = 1;
    if (dice % 5 == 0) {
        item.kind = ABUT_WORLD_SPHERE;
        item.shape.sphere = (abut_sphere){{0.1, 0, 0.2}, test_random_real(random, 0, 0.4)};
    } else if (dice % 5 == 1) {
        item.kind = ABUT_WORLD_CAPSULE;
        item.shape.capsule = (abut_capsule){{{0.9, 0, 0.2}, {-9.5, 0, 0.2}}, 0.1};
    } else if (dice % 5 == 2) {
        item.kind = ABUT_WORLD_PLANE;
        item.shape.plane = (abut_plane){{0.3, 0.2, 2}, 0.2};
    } else if (dice % 5 == 3) {
        item = mesh_item(&things[dice % THINGS], item.pose);
        item.group = 2;
        item.mask = 1;
    }
    return item;
}

/* ---- the obvious way ---- */

/* Samples of all fields that are below a plane, by the words of <abut/radial.h>. */
static size_t below_plane(const abut_plane *plane, double margin, abut_contact *list) {
    size_t found = 0;
    uint32_t first = 0;
    for (uint32_t k = 0; k < abut_radial_info_get(fields).field_count; k++) {
        const abut_radial_view f = abut_radial_field(fields, k);
        for (uint32_t c = 0; c < f.around * f.along; c++) {
            const double a = 6.283185307179586 * (c % f.around) / f.around;
            const double r = f.radii[c] * f.unit;
            if (f.radii[c] == INFINITY || (r == 0 && c % f.around))
                continue;
            vec3 p = v3_along(f.begin, f.step * (c / f.around), f.axis);
            p = v3_along(v3_along(p, r * cos(a), f.normal), r * sin(a), f.tangent);
            const double depth = plane->offset - v3_dot(plane->normal, p);
            if (depth >= -margin)
                list[found++] = (abut_contact){.point = p,
                                               .normal = plane->normal,
                                               .depth = depth,
                                               .kind = ABUT_CONTACT_POINT,
                                               .element = first + c};
        }
        first += f.around * f.along;
    }
    return found;
}

/* The contacts of an item, b, with the character, a. */
static size_t ask_one(const abut_world_item *item, double margin, abut_contact *list) {
    static abut_capsule capsules[ROOM];
    static abut_sample features[ROOM];
    abut_contact_options options = abut_contact_options_default();
    abut_contacts found = {.list = list, .capacity = ROOM};
    size_t count = 1;
    contact_motion m;
    options.margin = margin;
    assert_ok(abuti_contact_pose("test", "a pose", &item->pose, &m));
    if (item->kind == ABUT_WORLD_PLANE) {
        const double length = v3_length(item->shape.plane.normal);
        abut_plane plane = {m3_apply(&m.turn, v3_scale(item->shape.plane.normal, 1 / length)), 0};
        plane.offset = item->shape.plane.offset / length + v3_dot(plane.normal, m.shift);
        return below_plane(&plane, margin, list);
    }
    if (item->kind == ABUT_WORLD_SPHERE) {
        const vec3 centre = contact_to_world(&m, item->shape.sphere.centre);
        capsules[0] = (abut_capsule){{centre, centre}, item->shape.sphere.radius};
    } else if (item->kind == ABUT_WORLD_CAPSULE) {
        const abut_capsule *c = &item->shape.capsule;
        capsules[0] =
            (abut_capsule){{contact_to_world(&m, c->end[0]), contact_to_world(&m, c->end[1])},
                           c->radius};
    } else {
        const abut_samples_arrays view = abut_samples_arrays_get(item->shape.body.samples);
        const abut_mesh *mesh = item->shape.body.samples ? NULL : item->shape.body.bvh->mesh;
        count = mesh ? abut_mesh_vertex_count(mesh) : view.count;
        assert_true(count <= ROOM);
        for (size_t i = 0; i < count; i++) {
            features[i] = mesh ? (abut_sample){.point = body_position(mesh, (uint32_t)i),
                                               .element = (uint32_t)i}
                               : view.samples[i];
            const vec3 at = contact_to_world(&m, features[i].point);
            capsules[i] = (abut_capsule){{at, at}, 0};
        }
    }
    assert_ok(abut_radial_contacts(fields, count, capsules, &options, &found));
    for (size_t i = 0; i < found.count; i++) {
        const bool solid = item->kind != ABUT_WORLD_BODY;
        const abut_sample *f = &features[list[i].element];
        list[i].kind = solid ? ABUT_CONTACT_SOLID : (abut_contact_kind)f->kind;
        list[i].element = solid ? list[i].part : f->element;
        list[i].part = solid ? 0 : f->part;
    }
    return found.count;
}

static double apart(abut_vec3 a, abut_vec3 b) {
    return v3_length(v3_sub(a, b));
}

/* All pairs of the character, which has the id SELF. Returns the number of contacts. */
static size_t check_all(abut_world *world, const abut_world_item *items,
                        const abut_world_options *options, size_t kinds[ABUT_WORLD_CHARACTER + 1]) {
    static abut_contact expected[ROOM], room[ITEMS * ROOM];
    abut_contacts found = {.list = room, .capacity = ITEMS * ROOM};
    abut_world_pair pairs[ITEMS];
    uint64_t pair_count, at = 0;
    assert_ok(abut_world_contacts(world, &found));
    assert_ok(abut_world_pairs(world, ITEMS, pairs, &pair_count));
    for (uint32_t i = 0; i < ITEMS; i++) {
        const bool swapped = i < SELF; /* then the character is b */
        if (i == SELF)
            continue;
        size_t count = ask_one(&items[i], options->margin, expected);
        for (size_t k = 0; k < count; k++) {
            abut_contact *e = &expected[k];
            e->side ^= swapped;
            e->normal = swapped ? v3_sub(v3(0, 0, 0), e->normal) : e->normal;
            e->id = contact_id(e->side, e->kind, e->element, e->part);
        }
        if (options->patch_contacts)
            count = abut_contact_reduce(expected, count, options->patch_contacts, options->angle);
        for (size_t k = 0; k < count; k++, at++) {
            const abut_contact *e = &expected[k], *c = &room[at];
            assert_true(at < found.count && c->pair < pair_count);
            assert_int_equal(pairs[c->pair].a, swapped ? i : SELF);
            assert_int_equal(pairs[c->pair].b, swapped ? SELF : i);
            assert_true(e->id == c->id && e->side == c->side && e->kind == c->kind);
            if (items[i].kind == ABUT_WORLD_PLANE) { /* directions of samples are floats */
                assert_true(apart(e->point, c->point) < 1e-7);
                assert_true(apart(e->normal, c->normal) < 1e-12);
                assert_true(fabs(e->depth - c->depth) < 1e-7);
            } else {
                assert_same_contact(e, c);
            }
            kinds[items[i].kind]++;
        }
    }
    assert_int_equal(at, found.count);
    return (size_t)at;
}

TEST(agrees_with_radial_contacts) {
    test_random random = {71};
    size_t kinds[ABUT_WORLD_CHARACTER + 1] = {0};
    for (uint32_t round = 0; round < test_rounds(96); round++) {
        abut_world_options options = abut_world_options_default();
        abut_world_item items[ITEMS];
        abut_world *world = NULL;
        uint32_t id;
        options.margin = round % 3 == 1 ? 0.03 : round % 3 == 2 ? 0.3 : 0;
        options.patch_contacts = round % 4 == 3 ? 4 : 0;
        options.method = round % 2 ? ABUT_WORLD_AUTO : ABUT_WORLD_FIELD;
        bend(0.03 * (round % 12), 0.03 * (round % 12));
        assert_ok(abut_world_create(round % 5 ? NULL : serial, &options, &world));
        for (uint32_t i = 0; i < ITEMS; i++) {
            items[i] = i == SELF ? character_item() : other_item(&random, i + round);
            assert_ok(abut_world_add(world, &items[i], &id));
            assert_int_equal(id, i);
        }
        /* Which contacts a reduction leaves hangs on bits, so planes are away then. */
        for (uint32_t i = 0; i < ITEMS && options.patch_contacts; i++)
            if (items[i].kind == ABUT_WORLD_PLANE) {
                items[i].pose.translation = v3(0, 0, -1000);
                items[i].pose.rotation = here.rotation;
                assert_ok(abut_world_move(world, &i, abut_array_host(&items[i].pose), 1));
            }
        check_all(world, items, &options, kinds);
        bend(-0.03 * (round % 12), 0.1);
        id = SELF;
        assert_ok(abut_world_move(world, &id, abut_array_host(&here), 1));
        check_all(world, items, &options, kinds);
        abut_world_destroy(world);
    }
    assert_true(kinds[ABUT_WORLD_BODY] > 500 && kinds[ABUT_WORLD_PLANE] > 500);
    assert_true(kinds[ABUT_WORLD_SPHERE] > 30 && kinds[ABUT_WORLD_CAPSULE] > 30);
}

/* Which way normals point, whoever is first; and events as it comes and goes. */
TEST(it_comes_and_goes) {
    abut_world *world = NULL;
    abut_world_item items[3] = {other_item(&(test_random){1}, 0), character_item(),
                                other_item(&(test_random){1}, 0)};
    abut_contact list[8];
    abut_contacts found = {.list = list, .capacity = 8};
    abut_world_event events[8];
    uint64_t count;
    uint32_t id;
    assert_ok(abut_world_create(serial, NULL, &world));
    bend(0, 5);
    for (int i = 0; i < 3; i++) {
        if (i != 1) {
            items[i].pose = here;
            items[i].shape.sphere = (abut_sphere){{2, 0, 0.3}, 0.15};
        }
        assert_ok(abut_world_add(world, &items[i], &id));
    }
    assert_ok(abut_world_events(world, 8, events, &count));
    assert_int_equal(count, 0);
    const double shifts[4] = {0, 0, 5, 0};
    const abut_world_change changes[4] = {ABUT_WORLD_BEGIN, ABUT_WORLD_STAY, ABUT_WORLD_END,
                                          ABUT_WORLD_BEGIN};
    id = 1;
    for (int step = 0; step < 4; step++) {
        bend(0, shifts[step]);
        assert_ok(abut_world_move(world, &id, abut_array_host(&here), 1));
        assert_ok(abut_world_events(world, 8, events, &count));
        assert_int_equal(count, 2);
        assert_true(events[0].change == changes[step] && events[1].change == changes[step]);
        assert_int_equal(events[0].method, ABUT_WORLD_FIELD);
    }
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 2);
    assert_true(list[0].side == 0 && list[0].normal.z > 0.9 && list[0].depth > 0);
    assert_true(list[1].side == 1 && list[1].normal.z < -0.9 && list[1].depth > 0);
    assert_true(list[0].kind == ABUT_CONTACT_SOLID && found.advice.verdict == ABUT_VERDICT_LIMITED);
    assert_ok(abut_world_remove(world, 1));
    assert_ok(abut_world_events(world, 8, events, &count));
    assert_true(count == 2 && events[0].change == ABUT_WORLD_END);
    abut_world_destroy(world);
}

TEST(what_is_refused_and_never_tried) {
    test_random random = {3};
    abut_world *world = NULL;
    abut_world_options options = abut_world_options_default();
    abut_radial *empty = NULL;
    abut_world_pair pairs[16];
    abut_contacts found = {.list = NULL};
    abut_world_impact touched[8];
    abut_world_impacts impacts = {.list = touched, .capacity = 8};
    uint64_t count;
    uint32_t id;
    bend(0, 0);
    for (int method = 0; method < 2; method++) {
        options.method = (abut_world_method)method;
        assert_ok(abut_world_create(serial, &options, &world));
        abut_world_item item = character_item();
        item.pose.translation.x = 1e-9;
        assert_refused("identity", abut_world_add(world, &item, &id));
        assert_ok(abut_world_add(world,
                                 &(abut_world_item){.kind = ABUT_WORLD_CHARACTER,
                                                    .pose = here,
                                                    .shape.character = fields},
                                 &id));
        assert_refused("identity", abut_world_move(world, &id, abut_array_host(&item.pose), 1));
        item.pose = here;
        item.shape.character = NULL;
        assert_refused("null", abut_world_add(world, &item, &id));
        item.kind = (abut_world_kind)(ABUT_WORLD_CHARACTER + 1);
        assert_refused("no kind", abut_world_add(world, &item, &id));
        item = character_item();
        assert_ok(abut_world_add(world, &item, &id)); /* the same once more */
        item = mesh_item(&things[HULL], here);
        item.motion = ABUT_WORLD_STATIC;
        item.kind = ABUT_WORLD_HULL;
        item.shape.hull = things[HULL].bvh;
        assert_ok(abut_world_add(world, &item, &id));
        item.kind = ABUT_WORLD_BOX;
        item.shape.half = v3(1, 1, 1);
        assert_ok(abut_world_add(world, &item, &id));
        item = body_item(&things[0], here);
        item.motion = ABUT_WORLD_STATIC;
        item.shape.body.samples = NULL;
        assert_ok(abut_world_add(world, &item, &id));
        if (method == ABUT_WORLD_EXACT) {
            item = other_item(&random, 0);
            assert_ok(abut_world_add(world, &item, &id));
        }
        assert_ok(abut_world_pairs(world, 16, pairs, &count));
        assert_int_equal(count, 0);
        assert_ok(abut_world_contacts(world, &found));
        /* A sweep knows nothing of it. */
        item = other_item(&random, 0);
        item.pose = here;
        assert_ok(abut_world_add(world, &item, &id));
        item.pose.translation.x = 1;
        assert_ok(abut_world_sweep(world, &id, &item.pose, 1, NULL, &impacts));
        assert_int_equal(impacts.unknown, method == ABUT_WORLD_EXACT ? 0 : 3); /* a body too */
        abut_world_destroy(world);
    }
    /* Before the first update there is nothing to touch. */
    assert_ok(abut_radial_create(worm.character, NULL, &empty));
    assert_ok(abut_world_create(serial, NULL, &world));
    abut_world_item item = character_item();
    item.shape.character = empty;
    assert_ok(abut_world_add(world, &item, &id));
    for (uint32_t i = 0; i < 5; i++) {
        item = other_item(&random, i);
        item.pose = here;
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
    abut_contacts to = {.list = room, .capacity = 20000};
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 12 && !status; i++) {
        abut_world_item item = i == 7 ? character_item() : other_item(&random, i);
        uint32_t id;
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : abut_world_contacts(world, &to);
    const uint32_t id = 7;
    status = status ? status : abut_world_move(world, &id, abut_array_host(&here), 1);
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
