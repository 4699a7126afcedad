/* Many objects in many configurations: which of them touch, or which two are closest.
 *
 * Broad phase by sort and sweep (Baraff 1992, section 5.2): the bounding boxes of a configuration
 * are sorted along the axis on which their centres vary most, and each is compared with those that
 * begin before it ends. This needs no memory except the boxes and costs some 10 ns per object and 2
 * ns per comparison. That is less than one narrow-phase test for the tens to thousands of objects
 * of robots and assemblies; <abut/world.h> has a tree for more. A box is the bounding box of the
 * mesh, rotated, plus a bound of the rounding of posed vertices, so no pair is missed.
 *
 * If few objects are tested against many that are not tested against each other, as a tool among
 * obstacles, boxes of the few are compared with all others instead, without sorting.
 *
 * The closest pair is found by lower bounds. The distance of one pair of neighbours along the axis
 * is an upper bound. Pairs whose boxes are closer are tested in the order of the distances of their
 * boxes, until that exceeds the shortest distance found.
 *
 * Configurations are independent: each is computed by one thread, in an order that depends on its
 * boxes only.
 */
#include "pair/pair.h"

#include "base/sort.h"

#include <math.h>
#include <stdatomic.h>

/* A task reuses the boxes of objects that do not move, and its memory. */
enum { CONFIGURATIONS_PER_TASK = 16, TASKS_PER_REPORT = 64 };
/* Up to this many objects are compared with all others without sorting. */
enum { ACTIVE_OBJECTS_MAX = 32 };
/* The number of neighbours along the axis among which the first pair is chosen. */
enum { AXIS_NEIGHBOURS = 16 };

/* The bounding box of an object before its pose. */
typedef struct group_bounds {
    vec3 centre, half;
    double largest; /* the largest absolute coordinate */
} group_bounds;

typedef enum group_mode { GROUP_ANY, GROUP_LIST, GROUP_DISTANCE } group_mode;

typedef struct group_call {
    const char *function;
    abut_pair_group group;
    group_mode mode;
    abut_context *context;
    group_bounds *bounds; /* of each object */
    uint64_t *ignored;    /* pairs as pair_key(), sorted */
    /* if few objects are part of all pairs: these; otherwise empty */
    uint32_t active[ACTIVE_OBJECTS_MAX], active_count;
    bool *any; /* one of these two outputs is set */
    abut_pair_group_closest *closest;
    abuti_vector hits; /* of abut_pair_group_hit, in order */
    /* of the configurations that are tested now */
    size_t begin;
    abuti_vector chunk_hits[TASKS_PER_REPORT];
    atomic_uint failure, flags;
    abut_pair_object *objects; /* a copy of those of the caller */
} group_call;

typedef struct group_candidate {
    double bound; /* the distance of the boxes */
    uint32_t a, b;
} group_candidate;

/* The memory of a task. */
typedef struct group_scratch {
    box3 *boxes;
    sort_key *keys;        /* two for each object */
    const sort_key *order; /* objects by the lower end of their boxes along the axis */
    int axis;
    abuti_vector candidates; /* of group_candidate */
} group_scratch;

/* ---- objects ---- */

static uint64_t pair_key(uint32_t a, uint32_t b) {
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static abuti_posed object_at(const group_call *call, uint32_t object, size_t configuration) {
    const abut_pair_object *o = &call->objects[object];
    abuti_posed posed;
    memset(&posed, 0, sizeof posed);
    posed.bvh = o->bvh;
    if (o->poses)
        memcpy(&posed.pose, (const char *)o->poses + configuration * o->stride, sizeof posed.pose);
    return posed;
}

static bool is_ignored(const group_call *call, uint32_t a, uint32_t b) {
    uint64_t key = pair_key(a, b);
    size_t first = 0, count = call->group.ignored_count;
    while (count) {
        size_t half = count / 2;
        bool is_after = call->ignored[first + half] < key;
        first += is_after ? half + 1 : 0;
        count = is_after ? count - half - 1 : half;
    }
    return first < call->group.ignored_count && call->ignored[first] == key;
}

/* Whether the groups and masks of two objects allow a test. */
static bool is_allowed(const abut_pair_object *p, const abut_pair_object *q) {
    uint32_t group_p = p->group ? p->group : 1, group_q = q->group ? q->group : 1;
    return (!p->mask || p->mask & group_q) && (!q->mask || q->mask & group_p);
}

/* Finds the objects such that every tested pair has one of them, if they are few: all objects
 * except those of one group and mask that are not tested against each other. */
static void find_active(group_call *call) {
    const abut_pair_object *objects = call->objects, *passive = NULL;
    uint32_t count = call->group.object_count;
    for (uint32_t i = 0; i < count && !passive; i++)
        passive = is_allowed(&objects[i], &objects[i]) ? NULL : &objects[i];
    call->active_count = 0;
    for (uint32_t i = 0; i < count && passive; i++) {
        if (objects[i].group == passive->group && objects[i].mask == passive->mask)
            continue;
        if (call->active_count == ACTIVE_OBJECTS_MAX) {
            call->active_count = 0;
            return;
        }
        call->active[call->active_count++] = i;
    }
}

/* ---- broad phase ---- */

static box3 posed_box(const group_bounds *bounds, const abut_pose *at) {
    abuti_motion motion = abuti_motion_of(at);
    vec3 centre = abuti_motion_apply(&motion, bounds->centre), half = bounds->half;
    if (motion.rotates) {
        const mat3 *m = &motion.rotation;
        const vec3 h = bounds->half;
        half = v3(fabs(m->row[0].x) * h.x + fabs(m->row[0].y) * h.y + fabs(m->row[0].z) * h.z,
                  fabs(m->row[1].x) * h.x + fabs(m->row[1].y) * h.y + fabs(m->row[1].z) * h.z,
                  fabs(m->row[2].x) * h.x + fabs(m->row[2].y) * h.y + fabs(m->row[2].z) * h.z);
    }
    /* as pair_frame.position_error: 2^8 roundings of the largest coordinate during the motion */
    double pad = 0x1p-45 * (bounds->largest + v3_max_abs(motion.translation));
    half = v3_add(half, v3(pad, pad, pad));
    return (box3){v3_sub(centre, half), v3_add(centre, half)};
}

static double box_distance(const box3 *a, const box3 *b) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double gap = real_max(v3_get(a->lo, axis) - v3_get(b->hi, axis),
                              v3_get(b->lo, axis) - v3_get(a->hi, axis));
        sum += gap > 0 ? gap * gap : 0;
    }
    return sqrt(sum);
}

/* Sorts along the axis on which the centres of the boxes vary most. */
static void sort_boxes(const group_call *call, group_scratch *s) {
    const uint32_t count = call->group.object_count;
    box3 centres = box_empty();
    for (uint32_t i = 0; i < count; i++)
        centres = box_grow(centres, box_centre(s->boxes[i]));
    s->axis = box_longest_axis(centres);
    for (uint32_t i = 0; i < count; i++) /* + 0.0 turns -0 into 0 */
        s->keys[i] = (sort_key){abuti_ordered_bits(v3_get(s->boxes[i].lo, s->axis) + 0.0), i};
    s->order = abuti_sort_by_key(s->keys, s->keys + count, count);
}

/* Computes the bounding boxes of a configuration, sorted if needed. Boxes of objects that do not
 * move are kept from the configuration before. */
static void compute_boxes(const group_call *call, group_scratch *s, size_t configuration,
                          bool is_first) {
    for (uint32_t i = 0; i < call->group.object_count; i++)
        if (is_first || (call->objects[i].poses && call->objects[i].stride)) {
            abuti_posed posed = object_at(call, i, configuration);
            s->boxes[i] = posed_box(&call->bounds[i], &posed.pose);
        }
    if (!call->active_count)
        sort_boxes(call, s);
}

static abut_status add_element(const group_call *call, abuti_vector *list, const void *element,
                               size_t bytes) {
    void *to = abuti_vector_push(call->context, list, bytes);
    if (to)
        memcpy(to, element, bytes);
    return to ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Whether the gap of two boxes is at most `margin` along each axis. */
static bool is_near(const box3 *a, const box3 *b, double margin) {
    return a->lo.x - b->hi.x <= margin && b->lo.x - a->hi.x <= margin &&
           a->lo.y - b->hi.y <= margin && b->lo.y - a->hi.y <= margin &&
           a->lo.z - b->hi.z <= margin && b->lo.z - a->hi.z <= margin;
}

/* Whether two objects are tested, and their boxes are at most `margin` apart. */
static bool is_candidate(const group_call *call, const group_scratch *s, uint32_t a, uint32_t b,
                         double margin, group_candidate *found) {
    if (!is_near(&s->boxes[a], &s->boxes[b], margin) || a == b ||
        !is_allowed(&call->objects[a], &call->objects[b]))
        return false;
    found->bound = box_distance(&s->boxes[a], &s->boxes[b]);
    found->a = a < b ? a : b;
    found->b = a < b ? b : a;
    return found->bound <= margin && !is_ignored(call, a, b);
}

static bool is_active_before(const group_call *call, uint32_t place, uint32_t object) {
    for (uint32_t i = 0; i <= place; i++)
        if (call->active[i] == object)
            return true;
    return false;
}

/* The number of objects whose candidates are listed: the active ones, otherwise all. */
static uint32_t scan_count(const group_call *call) {
    return call->active_count ? call->active_count : call->group.object_count;
}

/* Appends the candidates of an active object, or of an object in the order along the axis with
 * later ones: pairs that are tested and whose boxes are at most `margin` apart. */
static abut_status find_candidates_of(const group_call *call, group_scratch *s, uint32_t place,
                                      double margin) {
    abuti_vector *list = &s->candidates;
    abut_status status = ABUT_OK;
    uint32_t count = call->group.object_count;
    group_candidate found;
    for (uint32_t b = 0; b < count && call->active_count && !status; b++)
        if (is_candidate(call, s, call->active[place], b, margin, &found) &&
            !is_active_before(call, place, b))
            status = add_element(call, list, &found, sizeof found);
    if (call->active_count)
        return status;
    uint32_t a = s->order[place].value;
    double end = v3_get(s->boxes[a].hi, s->axis) + margin;
    for (uint32_t j = place + 1; j < count && !status; j++) {
        uint32_t b = s->order[j].value;
        if (v3_get(s->boxes[b].lo, s->axis) > end)
            break;
        if (is_candidate(call, s, a, b, margin, &found))
            status = add_element(call, list, &found, sizeof found);
    }
    return status;
}

/* Lists all candidates. */
static abut_status find_candidates(const group_call *call, group_scratch *s, double margin) {
    abut_status status = ABUT_OK;
    s->candidates.count = 0;
    for (uint32_t i = 0; i < scan_count(call) && !status; i++)
        status = find_candidates_of(call, s, i, margin);
    return status;
}

/* ---- narrow phase ---- */

/* Whether two objects touch, or are within the margin. */
static abut_status test_pair(group_call *call, size_t configuration, const group_candidate *c,
                             double margin, bool *touch) {
    abuti_posed a = object_at(call, c->a, configuration), b = object_at(call, c->b, configuration);
    abut_pair_relation relation = ABUT_PAIR_APART;
    unsigned flags = 0;
    abut_status status;
    if (margin > 0)
        status = abuti_pair_within(&a, &b, margin, call->group.surface_only, NULL, touch, &flags);
    else {
        status = abuti_pair_overlap(&a, &b, call->group.surface_only, NULL, &relation, &flags);
        *touch = relation != ABUT_PAIR_APART;
    }
    if (flags)
        atomic_fetch_or(&call->flags, flags);
    return status;
}

/* Tests the candidates until one touches, or lists all that do. */
static abut_status test_candidates(group_call *call, group_scratch *s, size_t configuration,
                                   abuti_vector *hits) {
    abut_status status = ABUT_OK;
    bool any = false;
    for (uint32_t i = 0; i < scan_count(call) && !status && !(any && call->any); i++) {
        s->candidates.count = 0;
        status = find_candidates_of(call, s, i, call->group.margin);
        const group_candidate *list = s->candidates.data;
        for (size_t k = 0; k < s->candidates.count && !status && !(any && call->any); k++) {
            bool touch = false;
            status = test_pair(call, configuration, &list[k], call->group.margin, &touch);
            any = any || touch;
            const abut_pair_group_hit hit = {configuration, list[k].a, list[k].b};
            if (!status && touch && !call->any)
                status = add_element(call, hits, &hit, sizeof hit);
        }
    }
    if (!status && call->any)
        call->any[configuration] = any;
    return status;
}

static bool candidate_after(const void *one, const void *other) {
    const group_candidate *p = one, *q = other;
    if (p->bound != q->bound)
        return p->bound > q->bound;
    return pair_key(p->a, p->b) > pair_key(q->a, q->b);
}

/* Finds the pair with the closest boxes among those of each object and the next `reach` along the
 * axis, or among all pairs of active objects. Returns false if none of them is tested. */
static bool find_neighbours(const group_call *call, const group_scratch *s, uint32_t reach,
                            group_candidate *best) {
    uint32_t count = call->group.object_count;
    bool is_found = false;
    group_candidate here;
    for (uint32_t i = 0; i < scan_count(call); i++)
        for (uint32_t j = call->active_count ? 0 : i + 1; j < count; j++) {
            if (!call->active_count && j - i > reach)
                break;
            uint32_t a = call->active_count ? call->active[i] : s->order[i].value;
            uint32_t b = call->active_count ? j : s->order[j].value;
            if (!is_candidate(call, s, a, b, INFINITY, &here))
                continue;
            if (!is_found || candidate_after(best, &here))
                *best = here;
            is_found = true;
        }
    return is_found;
}

static abut_status measure_pair(group_call *call, size_t configuration, const group_candidate *c,
                                abut_pair_group_closest *closest) {
    abuti_posed a = object_at(call, c->a, configuration), b = object_at(call, c->b, configuration);
    abut_separation separation;
    abut_status status = abuti_pair_distance(&a, &b, call->group.surface_only, NULL, &separation);
    if (!status && separation.distance < closest->separation.distance) {
        closest->a = c->a;
        closest->b = c->b;
        closest->separation = separation;
    }
    return status;
}

static abut_status find_closest(group_call *call, group_scratch *s, size_t configuration) {
    abut_pair_group_closest closest;
    group_candidate first;
    memset(&closest, 0, sizeof closest);
    closest.a = closest.b = ABUT_NONE;
    closest.separation.triangle_a = closest.separation.triangle_b = ABUT_NONE;
    closest.separation.distance = INFINITY;
    abut_status status = ABUT_OK;
    if (find_neighbours(call, s, AXIS_NEIGHBOURS, &first) ||
        find_neighbours(call, s, call->group.object_count, &first)) {
        status = measure_pair(call, configuration, &first, &closest);
        if (!status)
            status = find_candidates(call, s, closest.separation.distance);
        group_candidate *list = s->candidates.data;
        if (!status && closest.separation.distance > 0)
            abuti_sort_items(list, s->candidates.count, sizeof *list, candidate_after);
        for (size_t i = 0; i < s->candidates.count && !status; i++) {
            double shortest = closest.separation.distance;
            bool nearer = false;
            if (list[i].bound >= shortest)
                break;
            if (list[i].a == first.a && list[i].b == first.b)
                continue;
            /* the test costs a tenth of the distance */
            status = test_pair(call, configuration, &list[i], shortest, &nearer);
            if (!status && nearer)
                status = measure_pair(call, configuration, &list[i], &closest);
        }
    }
    if (!status)
        call->closest[configuration] = closest;
    return status;
}

/* ---- configurations ---- */

static bool hit_after(const void *one, const void *other) {
    const abut_pair_group_hit *p = one, *q = other;
    if (p->configuration != q->configuration)
        return p->configuration > q->configuration;
    return pair_key(p->a, p->b) > pair_key(q->a, q->b);
}

static void configurations_task(void *data, size_t chunk, size_t begin, size_t end) {
    group_call *call = data;
    size_t count = call->group.object_count;
    group_scratch s = {.boxes = abuti_allocate(call->context, count, sizeof *s.boxes),
                       .keys = abuti_allocate(call->context, 2 * count, sizeof *s.keys)};
    abuti_vector *hits = &call->chunk_hits[chunk];
    abut_status status = s.boxes && s.keys ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = begin; i < end && !status; i++) {
        size_t configuration = call->begin + i;
        compute_boxes(call, &s, configuration, i == begin);
        status = call->mode == GROUP_DISTANCE ? find_closest(call, &s, configuration)
                                              : test_candidates(call, &s, configuration, hits);
    }
    if (!status && hits->count)
        abuti_sort_items(hits->data, hits->count, sizeof(abut_pair_group_hit), hit_after);
    ABUTI_RELEASE(call->context, s.boxes, s.keys, s.candidates.data);
    if (status)
        atomic_store(&call->failure, (unsigned)status);
}

/* Appends the hits of the tasks of a block. */
static abut_status collect_hits(group_call *call) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < TASKS_PER_REPORT; i++) {
        abuti_vector *part = &call->chunk_hits[i];
        for (size_t k = 0; k < part->count && !status; k++)
            status = add_element(call, &call->hits, &ABUTI_AT(part, abut_pair_group_hit, k),
                                 sizeof(abut_pair_group_hit));
        part->count = 0;
    }
    return status;
}

static abut_status run_configurations(group_call *call) {
    const size_t block_size = (size_t)CONFIGURATIONS_PER_TASK * TASKS_PER_REPORT;
    size_t count = call->group.configuration_count;
    abut_status status = ABUT_OK;
    for (call->begin = 0; call->begin < count && !status; call->begin += block_size) {
        size_t block_count = count - call->begin < block_size ? count - call->begin : block_size;
        status = abuti_parallel_try(call->context, "pairs", block_count, CONFIGURATIONS_PER_TASK,
                                    configurations_task, call);
        if (status)
            return status;
        unsigned failure = atomic_load(&call->failure);
        if (failure == ABUT_ERROR_CANCELLED)
            return abuti_stop_status("pairs");
        if (failure) /* the message of a worker is on its own thread */
            return abuti_fail(
                (abut_status)failure,
                "%s: out of memory for pairs, a distant pose or the components of a mesh",
                call->function);
        status = collect_hits(call);
        if (!status)
            status = abuti_progress(call->context, "pairs",
                                    (double)(call->begin + block_count) / (double)count);
    }
    return status;
}

/* ---- arguments ---- */

static abut_status check_object(const group_call *call, uint32_t index) {
    const abut_pair_object *object = &call->objects[index];
    char what[64];
    if (!object->bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: objects[%u].bvh is null; pass a BVH",
                          call->function, index);
    abut_status status = abuti_bvh_ensure_host(object->bvh);
    abut_box box = status ? (abut_box){{0, 0, 0}, {0, 0, 0}} : object->bvh->mesh->bounds;
    double largest = real_max(v3_max_abs(box.lo), v3_max_abs(box.hi));
    size_t poses = !object->poses ? 0 : object->stride ? call->group.configuration_count : 1;
    for (size_t i = 0; i < poses && !status; i++) {
        abuti_posed posed = object_at(call, index, i);
        if (abuti_pair_pose_is_plain(&posed.pose, largest))
            continue;
        snprintf(what, sizeof what, "object %u in configuration %zu", index, i);
        status = abuti_pair_check_pose(call->function, what, object->bvh, &posed.pose);
    }
    return status;
}

/* Copies the objects of the caller, whose elements have the size of the first. */
static abut_status read_objects(group_call *call) {
    const uint32_t count = call->group.object_count;
    abut_pair_object first = abut_pair_object_default();
    char what[96];
    if (!count)
        return ABUT_OK;
    snprintf(what, sizeof what, "%s: group->objects[0]", call->function);
    abut_status status = abuti_options_read(&first, sizeof first, call->group.objects, what);
    if (status)
        return status;
    if (!first.bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: objects[0].bvh is null; pass a BVH",
                          call->function);
    call->context = abuti_context_of(first.bvh->context);
    call->objects = abuti_allocate_zeroed(call->context, count, sizeof *call->objects);
    for (uint32_t i = 0; i < count && call->objects; i++)
        memcpy(&call->objects[i], (const char *)call->group.objects + i * first.size, first.size);
    return call->objects ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status check_group(group_call *call, const abut_pair_group *theirs, const void *out,
                               const char *out_name) {
    abut_pair_group *group = &call->group;
    *group = abut_pair_group_default();
    if (!theirs)
        return abuti_null(call->function, "group");
    abut_status status;
    if ((status = abuti_options_read(group, sizeof *group, theirs, call->function)) ||
        (status = abuti_bvh_check_limit(call->function, "margin", group->margin)))
        return status;
    if (group->object_count && !group->objects)
        return abuti_null(call->function, "group->objects");
    if (group->ignored_count && !group->ignored)
        return abuti_null(call->function, "group->ignored");
    if (group->configuration_count && !out)
        return abuti_null(call->function, out_name);
    for (size_t i = 0; i < 2 * group->ignored_count; i++)
        if (group->ignored[i] >= group->object_count)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: ignored pair %zu names object %u, but there are %u objects",
                              call->function, i / 2, group->ignored[i], group->object_count);
    status = read_objects(call);
    for (uint32_t i = 0; i < group->object_count && !status; i++)
        status = check_object(call, i);
    return status;
}

/* What all configurations share: bounds of objects, and ignored pairs, sorted. */
static abut_status prepare_group(group_call *call) {
    const abut_pair_group *group = &call->group;
    size_t ignored = group->ignored_count;
    call->context = abuti_context_of(group->object_count ? call->context : NULL);
    call->bounds = abuti_allocate(call->context, group->object_count, sizeof *call->bounds);
    call->ignored = abuti_allocate(call->context, ignored, 2 * sizeof *call->ignored);
    if (!call->bounds || !call->ignored)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < group->object_count; i++) {
        abut_box box = call->objects[i].bvh->mesh->bounds;
        group_bounds *bounds = &call->bounds[i];
        bounds->centre = v3_scale(v3_add(box.lo, box.hi), 0.5);
        bounds->half = v3_scale(v3_sub(box.hi, box.lo), 0.5);
        bounds->largest = real_max(v3_max_abs(box.lo), v3_max_abs(box.hi));
    }
    for (size_t i = 0; i < ignored; i++)
        call->ignored[i] = pair_key(group->ignored[2 * i], group->ignored[2 * i + 1]);
    abuti_sort_keys(call->ignored, call->ignored + ignored, ignored);
    find_active(call);
    return ABUT_OK;
}

static abut_status run_group(group_call *call, const abut_pair_group *group, const void *out,
                             const char *out_name) {
    atomic_init(&call->failure, ABUT_OK);
    atomic_init(&call->flags, 0);
    abut_status status = check_group(call, group, out, out_name);
    if (!status)
        status = prepare_group(call);
    if (!status)
        status = run_configurations(call);
    for (size_t i = 0; i < TASKS_PER_REPORT; i++)
        abuti_release(call->context, call->chunk_hits[i].data);
    ABUTI_RELEASE(call->context, call->bounds, call->ignored, call->objects);
    return status;
}

/* The lowest reliability of all tests; the message does not name a pair. */
static abut_reliability reliability_of_group(const group_call *call) {
    const unsigned flags = atomic_load(&call->flags);
    if (flags / PAIR_FLIPS % 4)
        return abuti_unreliable("Neighbouring triangles of an object face opposite ways, so its "
                                "interior is unknown: orient the mesh first.");
    if (flags / PAIR_HOLES % 4)
        return abuti_limited("An object is not closed, so its interior is a guess near its "
                             "holes and extra faces: close it, or count surfaces only.");
    return abuti_guaranteed("The result is exact.");
}

/* ---- public ---- */

abut_status abut_pair_group_any(const abut_pair_group *group, bool *any,
                                abut_reliability *reliability) {
    group_call call = {.function = __func__, .mode = GROUP_ANY, .any = any};
    abut_status status = run_group(&call, group, any, "any");
    if (!status && reliability)
        *reliability = reliability_of_group(&call);
    return status;
}

abut_status abut_pair_group_list(const abut_pair_group *group, abut_pair_group_hit_list *hits,
                                 abut_reliability *reliability) {
    group_call call = {.function = __func__, .mode = GROUP_LIST};
    abut_status status = ABUTI_LIST_CHECK(__func__, "hits", hits);
    if (status)
        return status;
    status = run_group(&call, group, hits, "hits");
    if (!status)
        status = ABUTI_LIST_WRITE(__func__, "hits", hits, call.hits.data, call.hits.count);
    if (!status && reliability)
        *reliability = reliability_of_group(&call);
    abuti_release(call.context, call.hits.data);
    return status;
}

abut_status abut_pair_group_distance(const abut_pair_group *group,
                                     abut_pair_group_closest *closest) {
    group_call call = {.function = __func__, .mode = GROUP_DISTANCE, .closest = closest};
    return run_group(&call, group, closest, "closest");
}
