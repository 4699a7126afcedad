/* Worlds of random things, and the obvious way to their contacts: every pair by itself. */
#ifndef ABUT_TEST_SCENE_H
#define ABUT_TEST_SCENE_H

#include "support/pose.h"
#include "support/support.h"

#include "world/world.h"

#include <math.h>
#include <stdlib.h>

typedef struct thing {
    abut_mesh *mesh;
    abut_field *field;
    abut_samples *samples;
} thing;

enum { THINGS = 5 };

/* A teapot, a box with long edges, a sphere in bricks, a torus of 16 bits near its surface only,
 * and a large box with more features than fit a stack. Made on one thread. */
static thing things[THINGS];
static abut_context *serial;

static inline void make_thing(thing *t, const abut_shape *shape, const abut_field_options *field,
                              uint32_t even) {
    abut_samples_options samples = abut_samples_options_default();
    assert_ok(abut_shape_create(serial, shape, &t->mesh));
    assert_ok(abut_field_create(t->mesh, field, &t->field));
    samples.cell = abut_field_info_get(t->field).grid.cell;
    if (even) {
        samples.kinds = ABUT_SAMPLES_EVEN | ABUT_SAMPLES_EDGES;
        samples.count = even;
    }
    assert_ok(abut_samples_create(t->mesh, &samples, &t->samples));
}

static inline int make_things(void **state) {
    abut_context_options options = abut_context_options_default();
    options.thread_count = 1;
    assert_ok(abut_context_create(&options, &serial));
    const abut_shape_kind kinds[THINGS] = {ABUT_SHAPE_TEAPOT_SOLID, ABUT_SHAPE_BOX,
                                           ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS, ABUT_SHAPE_BOX};
    const uint32_t segments[THINGS] = {2, 1, 3, 12, 1}, even[THINGS] = {0, 0, 0, 60, 1200};
    for (int i = 0; i < THINGS; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        abut_field_options field = abut_field_options_default();
        shape.segments = segments[i];
        field.cells = i == 0 ? 20 : 14;
        field.layout = i == 2 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        field.type = i == 3 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        field.band = i == 3 ? 0.2 : 0;
        if (i == 1)
            shape.extent = (abut_vec3){1.4, 0.5, 0.7};
        make_thing(&things[i], &shape, &field, even[i]);
    }
    return 0;
}

static inline int free_things(void **state) {
    for (int i = 0; i < THINGS; i++) {
        abut_samples_destroy(things[i].samples);
        abut_field_destroy(things[i].field);
        abut_mesh_destroy(things[i].mesh);
    }
    abut_context_destroy(serial);
    return 0;
}

static inline abut_world_item body_item(const thing *t, abut_pose where) {
    abut_world_item item;
    memset(&item, 0, sizeof item);
    item.kind = ABUT_WORLD_BODY;
    item.pose = where;
    item.shape.body.field = t->field;
    item.shape.body.samples = t->samples;
    return item;
}

/* Mostly bodies; some without a field or without samples, some fixed. */
static inline abut_world_item random_item(test_random *random, double reach) {
    abut_world_item item =
        body_item(&things[test_random_below(random, THINGS)], random_pose(random, reach));
    uint32_t dice = test_random_below(random, 24);
    item.fixed = test_random_below(random, 4) == 0;
    if (dice == 0) {
        item.shape.body.field = NULL;
    } else if (dice == 1) {
        item.shape.body.samples = NULL;
    } else if (dice == 2) {
        item.kind = ABUT_WORLD_PLANE;
        item.shape.plane = (abut_plane){{0.3, 0.2, 2}, -1.5 * reach};
    } else if (dice <= 4) {
        item.kind = ABUT_WORLD_SPHERE;
        item.shape.sphere = (abut_sphere){{0.1, 0, 0.2}, 0.3};
    } else if (dice <= 6) {
        item.kind = ABUT_WORLD_CAPSULE;
        item.shape.capsule = (abut_capsule){{{0.1, 0, 0.2}, {-0.5, 0, 0.2}}, 0.2};
    } else if (dice <= 8) {
        item.kind = ABUT_WORLD_BOX;
        item.shape.half = v3(0.3, 0.2, 0.4);
    }
    return item;
}

/* ---- the obvious way ---- */

typedef struct answers {
    abut_contact *list;
    size_t count, room;
} answers;

enum { REFEREE_ROOM = 8192 };

/* The contacts of a body and something else, which is b. */
static inline void ask_pair(const abut_world_item *a, const abut_world_item *b,
                            const abut_contact_options *options, abut_contacts *found) {
    const abut_body body = {a->shape.body.field, a->shape.body.samples, a->pose};
    abut_pose identity = {{0, 0, 0, 0}, {0, 0, 0}};
    const abut_pose *p = &b->pose;
    contact_motion m;
    assert_ok(abuti_contact_pose("test", "a pose", p, &m));
    (void)identity;
    found->count = 0;
    if (b->kind == ABUT_WORLD_BODY) {
        const abut_body other = {b->shape.body.field, b->shape.body.samples, b->pose};
        if (body.field || other.field)
            assert_ok(abut_contact_bodies(&body, &other, options, found));
    } else if (b->kind == ABUT_WORLD_PLANE) {
        double length = v3_length(b->shape.plane.normal);
        abut_plane plane = {m3_apply(&m.turn, v3_scale(b->shape.plane.normal, 1 / length)), 0};
        plane.offset = b->shape.plane.offset / length + v3_dot(plane.normal, m.shift);
        if (body.samples)
            assert_ok(abut_contact_plane(&body, &plane, options, found));
    } else if (!body.field) {
        return;
    } else if (b->kind == ABUT_WORLD_SPHERE) {
        abut_sphere s = {contact_to_world(&m, b->shape.sphere.centre), b->shape.sphere.radius};
        assert_ok(abut_contact_sphere(&body, &s, options, found));
    } else if (b->kind == ABUT_WORLD_CAPSULE) {
        const abut_capsule *from = &b->shape.capsule;
        abut_capsule c = {{contact_to_world(&m, from->end[0]), contact_to_world(&m, from->end[1])},
                          from->radius};
        assert_ok(abut_contact_capsule(&body, &c, options, found));
    } else {
        abut_oriented_box box = {b->shape.half, b->pose};
        assert_ok(abut_contact_box(&body, &box, options, found));
    }
}

/* All pairs one after the other; `pair` of a contact is a * count + b. */
static inline answers ask_all(const abut_world_item *items, const bool *used, uint32_t count,
                              const abut_world_options *world) {
    answers all = {NULL, 0, 0};
    static abut_contact room[REFEREE_ROOM];
    abut_contact_options options = abut_contact_options_default();
    options.margin = world->margin;
    options.samples = world->samples;
    options.any_normal = world->any_normal;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = a + 1; b < count; b++) {
            bool swapped = items[a].kind != ABUT_WORLD_BODY;
            abut_contacts found = {.list = room, .capacity = REFEREE_ROOM};
            if (!used[a] || !used[b] || (items[a].fixed && items[b].fixed) ||
                (swapped && items[b].kind != ABUT_WORLD_BODY))
                continue;
            ask_pair(&items[swapped ? b : a], &items[swapped ? a : b], &options, &found);
            all.room = all.count + found.count;
            all.list = realloc(all.list, (all.room + 1) * sizeof *all.list);
            assert_non_null(all.list);
            size_t first = all.count;
            for (uint32_t side = 0; side < 2; side++)
                for (size_t i = 0; i < found.count; i++) {
                    abut_contact c = room[i];
                    if (swapped) {
                        c.side = 1 - c.side;
                        c.normal = v3_sub(v3(0, 0, 0), c.normal);
                        c.id ^= (uint64_t)1 << 63;
                    }
                    c.pair = a * count + b;
                    if (c.side == side)
                        all.list[all.count++] = c;
                }
            if (world->patch_contacts)
                all.count = first + abut_contact_reduce(all.list + first, all.count - first,
                                                        world->patch_contacts, world->angle);
        }
    return all;
}

static inline void assert_same_contact(const abut_contact *x, const abut_contact *y) {
    assert_memory_equal(&x->point, &y->point, sizeof x->point);
    assert_memory_equal(&x->normal, &y->normal, sizeof x->normal);
    assert_memory_equal(&x->depth, &y->depth, sizeof x->depth);
    assert_true(x->id == y->id && x->side == y->side && x->kind == y->kind &&
                x->element == y->element && x->part == y->part);
}

/* What a world gives against every pair by itself. Returns the number of contacts. */
static inline size_t check_world(abut_world *world, const abut_world_item *items, const bool *used,
                                 uint32_t count, const abut_world_options *options) {
    answers all = ask_all(items, used, count, options);
    abut_contacts found = {.list = NULL, .capacity = 0};
    uint64_t pair_count = 0;
    abut_status status = abut_world_contacts(world, &found);
    assert_int_equal(status, all.count ? ABUT_ERROR_BUFFER : ABUT_OK);
    assert_int_equal(found.count, all.count);
    assert_true(!found.advice.reason == (status != ABUT_OK));
    found.list = malloc((all.count + 1) * sizeof *found.list);
    found.capacity = all.count;
    assert_non_null(found.list);
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, all.count);
    status = abut_world_pairs(world, 0, NULL, &pair_count);
    assert_int_equal(status, pair_count ? ABUT_ERROR_BUFFER : ABUT_OK);
    abut_world_pair *pairs = malloc((pair_count + 1) * sizeof *pairs);
    assert_non_null(pairs);
    assert_ok(abut_world_pairs(world, pair_count, pairs, &pair_count));
    for (size_t i = 0; i < pair_count; i++) {
        const abut_world_pair *p = &pairs[i], *q = &pairs[i ? i - 1 : 0];
        assert_true(p->a < p->b && p->b < count && used[p->a] && used[p->b]);
        assert_false(items[p->a].fixed && items[p->b].fixed);
        assert_true(!i || q->a < p->a || (q->a == p->a && q->b < p->b));
    }
    for (size_t i = 0; i < all.count; i++) {
        assert_true(found.list[i].pair < pair_count);
        const abut_world_pair *p = &pairs[found.list[i].pair];
        assert_int_equal(all.list[i].pair, p->a * count + p->b);
        assert_same_contact(&found.list[i], &all.list[i]);
    }
    free(pairs);
    free(found.list);
    free(all.list);
    return all.count;
}

#endif
