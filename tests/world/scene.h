/* Worlds of random items, and a plain reference for their contacts: all single pairs. */
#ifndef ABUT_TEST_SCENE_H
#define ABUT_TEST_SCENE_H

#include "apps/get.h"
#include "support/pose.h"
#include "support/support.h"

#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct thing {
    abut_mesh *mesh;
    abut_field *field;
    abut_samples *samples;
    abut_bvh *bvh; /* not of all */
} thing;

enum { THINGS = 5, HULL = 1 };

/* A teapot, a box with long edges, which is convex, a sphere in bricks, a torus of 16 bits near its
 * surface only, and a large box with more features than fit a stack. Made on one thread. */
static thing things[THINGS];
static abut_context *serial;

static inline void make_thing(thing *t, const abut_shape *shape, const abut_field_options *field,
                              uint32_t even) {
    abut_samples_options samples = abut_samples_options_default();
    *t = (thing){.bvh = NULL};
    assert_ok(abut_shape_create(serial, shape, &t->mesh));
    assert_ok(abut_field_create(t->mesh, field, &t->field));
    samples.cell = get_field_info(t->field).grid.cell;
    if (even) {
        samples.kinds = ABUT_SAMPLES_SURFACE | ABUT_SAMPLES_EDGES;
        samples.count = even;
    }
    assert_ok(abut_samples_create(t->mesh, &samples, &t->samples));
}

static inline void free_thing(thing *t) {
    abut_bvh_destroy(t->bvh);
    abut_samples_destroy(t->samples);
    abut_field_destroy(t->field);
    abut_mesh_destroy(t->mesh);
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
        if (i == HULL)
            shape.extent = (abut_vec3){1.4, 0.5, 0.7};
        make_thing(&things[i], &shape, &field, even[i]);
        assert_ok(abut_bvh_create(things[i].mesh, NULL, &things[i].bvh));
    }
    return 0;
}

static inline int free_things(void **state) {
    for (int i = 0; i < THINGS; i++)
        free_thing(&things[i]);
    abut_context_destroy(serial);
    return 0;
}

/* With a field and samples; the BVH is for mesh_item(). */
static inline abut_world_item body_item(const thing *t, abut_pose where) {
    abut_world_item item = abut_world_item_default();
    item.collider.kind = ABUT_COLLIDER_BODY;
    item.collider.pose = where;
    item.collider.shape.body.field = t->field;
    item.collider.shape.body.samples = t->samples;
    return item;
}

static inline abut_world_item mesh_item(const thing *t, abut_pose where) {
    abut_world_item item = abut_world_item_default();
    item.collider.pose = where;
    item.collider.shape.body.bvh = t->bvh;
    return item;
}

static inline uint32_t add(abut_world *world, const abut_world_item *item) {
    uint32_t id;
    assert_ok(abut_world_add(world, item, &id));
    return id;
}

/* Mostly bodies; some without a field or without samples, some static. */
static inline abut_world_item random_item(test_random *random, double reach) {
    abut_world_item item =
        body_item(&things[test_random_below(random, THINGS)], random_pose(random, reach));
    uint32_t dice = test_random_below(random, 24);
    item.motion = test_random_below(random, 4) ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC;
    if (dice == 0) {
        item.collider.shape.body.field = NULL;
    } else if (dice == 1) {
        item.collider.shape.body.samples = NULL;
    } else if (dice == 2) {
        item.collider.kind = ABUT_COLLIDER_PLANE;
        item.collider.shape.plane = (abut_plane){{0.3, 0.2, 2}, -1.5 * reach};
    } else if (dice <= 4) {
        item.collider.kind = ABUT_COLLIDER_SPHERE;
        item.collider.shape.sphere = (abut_sphere){{0.1, 0, 0.2}, 0.3};
    } else if (dice <= 6) {
        item.collider.kind = ABUT_COLLIDER_CAPSULE;
        item.collider.shape.capsule = (abut_capsule){{{0.1, 0, 0.2}, {-0.5, 0, 0.2}}, 0.2};
    } else if (dice <= 8) {
        item.collider.kind = ABUT_COLLIDER_BOX;
        item.collider.shape.half = v3(0.3, 0.2, 0.4);
    }
    return item;
}

/* The same, with BVHs, motions, groups and sensors of all sorts. */
static inline abut_world_item varied_item(test_random *random, double reach) {
    abut_world_item item = random_item(random, reach);
    item.motion = (abut_world_motion)(test_random_below(random, 8) % 5 % 3);
    item.is_sensor = test_random_below(random, 6) == 0;
    item.group = test_random_below(random, 3) ? 0 : 1 + test_random_below(random, 3);
    item.mask = test_random_below(random, 3) ? 0 : 1 + test_random_below(random, 3);
    item.margin = test_random_below(random, 3) ? 0 : test_random_real(random, 0, 0.1);
    for (int i = 0; i < THINGS && item.collider.kind == ABUT_COLLIDER_BODY; i++)
        if (things[i].field == item.collider.shape.body.field && test_random_below(random, 3))
            item.collider.shape.body.bvh = things[i].bvh;
    if (item.collider.kind == ABUT_COLLIDER_BODY && item.collider.shape.body.bvh &&
        test_random_below(random, 4) == 0)
        item.collider.shape.body.field = NULL;
    uint32_t dice = test_random_below(random, 10);
    if (dice == 0) {
        item.collider.kind = ABUT_COLLIDER_CYLINDER;
        item.collider.shape.cylinder = (abut_cylinder){{{0.1, 0, 0.2}, {-0.5, 0.2, 0.2}}, 0.25};
    } else if (dice == 1) {
        item.collider.kind = ABUT_COLLIDER_HULL;
        item.collider.shape.hull = things[HULL].bvh;
    }
    return item;
}

/* The id of the item with an index. */
static inline uint32_t id_at(const abut_world *world, uint32_t index) {
    return world_items(world)[index].id;
}

/* ---- the obvious way ---- */

/* The rules of <abut/world.h>, one by one: whether two items are tested at all ... */
static inline bool may_meet(const abut_world_item *a, const abut_world_item *b) {
    const uint32_t group_a = a->group ? a->group : 1, group_b = b->group ? b->group : 1;
    if (a->mask && !(a->mask & group_b))
        return false;
    if (b->mask && !(b->mask & group_a))
        return false;
    if (a->motion == ABUT_WORLD_DYNAMIC || b->motion == ABUT_WORLD_DYNAMIC)
        return true;
    if (a->motion == ABUT_WORLD_STATIC && b->motion == ABUT_WORLD_STATIC)
        return false;
    return a->is_sensor || b->is_sensor;
}

/* ... and how; AUTO: there is no way. */
static inline abut_world_method method_of(const abut_world_item *a, const abut_world_item *b,
                                          const abut_world_options *options) {
    bool exact = false, field = false;
    if (a->collider.kind != ABUT_COLLIDER_BODY && b->collider.kind != ABUT_COLLIDER_BODY)
        return a->collider.kind == ABUT_COLLIDER_PLANE && b->collider.kind == ABUT_COLLIDER_PLANE
                   ? ABUT_WORLD_AUTO
                   : ABUT_WORLD_EXACT;
    if (a->collider.kind == ABUT_COLLIDER_BODY && b->collider.kind == ABUT_COLLIDER_BODY) {
        exact = a->collider.shape.body.bvh && b->collider.shape.body.bvh;
        field = (a->collider.shape.body.field && b->collider.shape.body.samples) ||
                (b->collider.shape.body.field && a->collider.shape.body.samples);
    } else if (a->collider.kind != ABUT_COLLIDER_BODY) {
        return method_of(b, a, options);
    } else {
        return a->collider.shape.body.bvh ? ABUT_WORLD_EXACT : ABUT_WORLD_AUTO;
    }
    if (options->method == ABUT_WORLD_EXACT)
        field = false;
    if (options->method == ABUT_WORLD_FIELD || (options->device && field))
        exact = false;
    return exact ? ABUT_WORLD_EXACT : field ? ABUT_WORLD_FIELD : ABUT_WORLD_AUTO;
}

/* The margin of a pair, with the rounding of the library. */
static inline double margin_of(const abut_world_item *a, const abut_world_item *b,
                               const abut_world_options *options) {
    return 0.5 * ((options->margin + 2 * a->margin) + (options->margin + 2 * b->margin));
}

/* Of two items as they are in the world, before the next query. */
static inline abut_vec3 expected_hint(const abut_world *world, uint32_t a, uint32_t b) {
    const world_item *p = &world_items(world)[a], *q = &world_items(world)[b];
    const world_touch *touches = world->touches.data;
    const world_pair_record *records = world->pair_records.data;
    abut_vec3 hint = {0, 0, 0};
    bool is_known = p->has_last_box && q->has_last_box && !box_overlaps(p->last_box, q->last_box);
    for (size_t i = 0; i < world->pair_records.count; i++)
        is_known |= records[i].pair.a == a && records[i].pair.b == b;
    for (size_t i = 0; i < world->pair_records.count;
         i++) /* at rest: the hint of the step before */
        if (records[i].pair.a == a && records[i].pair.b == b && records[i].state[0] == p->state &&
            records[i].state[1] == q->state)
            return records[i].hint;
    for (size_t i = 0; i < world->touches.count; i++)
        if (touches[i].event.a == p->id && touches[i].event.b == q->id &&
            touches[i].serial[0] == p->serial && touches[i].serial[1] == q->serial)
            return touches[i].event.deepest.normal;
    if (is_known && q->has_last_box)
        hint = v3_sub(box_centre(q->at.box), box_centre(q->last_box));
    if (is_known && p->has_last_box)
        hint = v3_sub(hint, v3_sub(box_centre(p->at.box), box_centre(p->last_box)));
    return hint;
}

typedef struct answers {
    abut_contact *list;
    size_t count, room;
} answers;

enum { REFEREE_ROOM = 8192 };

static inline void ask_exact(const abut_world *world, const abut_world_item *items, uint32_t a,
                             uint32_t b, const abut_world_options *options, abut_contacts *found) {
    abut_patch patches[64];
    abut_patches to = {.size = sizeof to,
                       .patches.list = patches,
                       .patches.capacity = 64,
                       .contacts.list = found->list,
                       .contacts.capacity = found->capacity};
    abut_patch_options ours = abut_patch_options_default();
    ours.margin = margin_of(&items[a], &items[b], options);
    ours.skip_verification = options->skip_verification;
    ours.max_contacts = options->max_patch_contacts;
    ours.hint = expected_hint(world, a, b);
    assert_ok(abut_contact_find(&items[a].collider, &items[b].collider, &ours, &to));
    found->count = to.contacts.count;
}

/* All pairs one after the other; `pair` of a contact is a * count + b. Those of sensors too. */
static inline answers ask_all(const abut_world *world, const abut_world_item *items,
                              const bool *used, uint32_t count, const abut_world_options *of) {
    answers all = {NULL, 0, 0};
    static abut_contact room[REFEREE_ROOM];
    abut_contact_options options = abut_contact_options_default();
    options.skip_edges = of->skip_edges;
    options.keep_backfacing = of->keep_backfacing;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = a + 1; b < count; b++) {
            abut_contacts found = {.size = sizeof found, .list = room, .capacity = REFEREE_ROOM};
            if (!used[a] || !used[b] || !may_meet(&items[a], &items[b]))
                continue;
            options.margin = margin_of(&items[a], &items[b], of);
            abut_world_method method = method_of(&items[a], &items[b], of);
            if (method == ABUT_WORLD_EXACT)
                ask_exact(world, items, a, b, of, &found);
            else if (method == ABUT_WORLD_FIELD)
                assert_ok(abut_contact_find_sampled(&items[a].collider, &items[b].collider,
                                                    &options, &found));
            all.room = all.count + found.count;
            all.list = realloc(all.list, (all.room + 1) * sizeof *all.list);
            assert_non_null(all.list);
            size_t first = all.count;
            for (uint32_t side = 0; side < 2; side++)
                for (size_t i = 0; i < found.count; i++) {
                    abut_contact c = room[i];
                    c.a = id_at(world, a);
                    c.b = id_at(world, b);
                    if (method == ABUT_WORLD_EXACT ? !side : c.side == side)
                        all.list[all.count++] = c;
                }
            if (of->max_patch_contacts && method == ABUT_WORLD_FIELD)
                all.count = first + abut_contact_reduce(all.list + first, all.count - first,
                                                        of->max_patch_contacts, of->patch_angle);
        }
    return all;
}

/* Contacts of sensors are not listed. */
static inline void drop_sensors(answers *all, const abut_world_item *items, uint32_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        uint32_t a = abut_world_index(all->list[i].a), b = abut_world_index(all->list[i].b);
        if (!items[a].is_sensor && !items[b].is_sensor)
            all->list[kept++] = all->list[i];
    }
    all->count = kept;
}

static inline void assert_same_contact(const abut_contact *x, const abut_contact *y) {
    assert_memory_equal(&x->point, &y->point, sizeof x->point);
    assert_memory_equal(&x->normal, &y->normal, sizeof x->normal);
    assert_memory_equal(&x->depth, &y->depth, sizeof x->depth);
    assert_true(x->id == y->id && x->side == y->side && x->kind == y->kind &&
                x->element == y->element && x->part == y->part);
}

static inline void assert_same_contacts(const abut_contact *x, const abut_contact *y,
                                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_true(x[i].a == y[i].a && x[i].b == y[i].b);
        assert_same_contact(&x[i], &y[i]);
    }
}

/* The number of events, which fit the list. */
static inline uint64_t events_of(abut_world *world, abut_world_event *list, uint64_t capacity) {
    abut_world_event_list events = {list, capacity, 0};
    assert_ok(abut_world_events(world, &events));
    return events.count;
}

/* The number of candidate pairs, which fit the list. */
static inline uint64_t list_pairs(abut_world *world, abut_world_pair *list, uint64_t capacity) {
    abut_world_pair_list pairs = {list, capacity, 0};
    assert_ok(abut_world_pairs(world, &pairs));
    return pairs.count;
}

/* The candidate pairs of a world, to be freed. */
static inline abut_world_pair_list pairs_of(abut_world *world) {
    abut_world_pair_list pairs = {NULL, 0, 0};
    abut_status status = abut_world_pairs(world, &pairs);
    assert_int_equal(status, pairs.count ? ABUT_ERROR_BUFFER : ABUT_OK);
    pairs.capacity = pairs.count;
    pairs.list = malloc((size_t)(pairs.count + 1) * sizeof *pairs.list);
    assert_non_null(pairs.list);
    assert_ok(abut_world_pairs(world, &pairs));
    assert_int_equal(pairs.count, pairs.capacity);
    return pairs;
}

/* The candidate pairs are those that `is_pair` wants, in order. */
static inline void check_pairs_of(abut_world *world, uint32_t count,
                                  bool (*is_pair)(const void *data, uint32_t a, uint32_t b),
                                  const void *data) {
    abut_world_pair_list pairs = pairs_of(world);
    size_t at = 0;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = a + 1; b < count; b++) {
            bool listed = at < pairs.count && pairs.list[at].a == id_at(world, a) &&
                          pairs.list[at].b == id_at(world, b);
            assert_int_equal(is_pair(data, a, b), listed);
            at += listed;
        }
    assert_int_equal(at, pairs.count);
    free(pairs.list);
}

/* What a world gives against every pair by itself. Returns the number of contacts. */
static inline size_t check_world(abut_world *world, const abut_world_item *items, const bool *used,
                                 uint32_t count, const abut_world_options *options) {
    answers all = ask_all(world, items, used, count, options);
    drop_sensors(&all, items, count);
    abut_contacts found = {.size = sizeof found, .list = NULL, .capacity = 0};
    abut_status status = abut_world_contacts(world, &found);
    assert_int_equal(status, all.count ? ABUT_ERROR_BUFFER : ABUT_OK);
    assert_int_equal(found.count, all.count);
    assert_true(!found.reliability.reason == (status != ABUT_OK));
    found.list = malloc((all.count + 1) * sizeof *found.list);
    found.capacity = all.count;
    assert_non_null(found.list);
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, all.count);
    abut_world_pair_list pairs = pairs_of(world);
    for (size_t i = 0; i < pairs.count; i++) {
        const abut_world_pair *listed = &pairs.list[i], *before = &pairs.list[i ? i - 1 : 0],
                              indices = {abut_world_index(listed->a), abut_world_index(listed->b)},
                              last = {abut_world_index(before->a), abut_world_index(before->b)},
                              *p = &indices, *q = &last;
        assert_true(listed->a == id_at(world, p->a) && listed->b == id_at(world, p->b));
        assert_true(p->a < p->b && p->b < count && used[p->a] && used[p->b]);
        assert_true(may_meet(&items[p->a], &items[p->b]));
        assert_true(!i || q->a < p->a || (q->a == p->a && q->b < p->b));
    }
    assert_same_contacts(found.list, all.list, all.count);
    free(pairs.list);
    free(found.list);
    free(all.list);
    return all.count;
}

/* ---- a world and what is in it ---- */

enum { MOST = 64 };

typedef struct scene {
    abut_world *world;
    abut_world_options options;
    abut_world_item items[MOST];
    bool used[MOST];
    uint32_t count;
} scene;

static inline void scene_begin(scene *s, abut_context *context) {
    assert_ok(abut_world_create(context, &s->options, &s->world));
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t id = 99;
        assert_ok(abut_world_add(s->world, &s->items[i], &id));
        assert_int_equal(id, i);
        s->used[i] = true;
    }
}

static inline size_t scene_check(const scene *s) {
    return check_world(s->world, s->items, s->used, s->count, &s->options);
}

/* Checks a world of these items, which it creates and destroys. */
static inline size_t scene_run(scene *s) {
    scene_begin(s, serial);
    size_t count = scene_check(s);
    abut_world_destroy(s->world);
    return count;
}

#endif
