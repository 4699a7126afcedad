/* Contacts of two fields: samples and edges of each against the other.
 *
 * The work is contact_find() and contact_find_edge() of contact_shared.h for each feature that is
 * not in a ball or group of balls out of reach, with a frame for each direction; what is found is
 * told in the order of features. Here are the checks before, and the way back to doubles and the
 * world after.
 *
 * Bodies that are far apart are told by one value: a field at the middle of the samples, less what
 * interpolation may add to a distance, which is half the diagonal of a cell, or of a brick where
 * only its corners are known, is not more than the distance there, and that falls by no more than
 * the radius of the samples. Fields that end at a band are left to the box of their mesh.
 */
#include "contact/contact.h"

#include <math.h>
#include <string.h>

enum {
    FEW = 1024,          /* contacts of one direction that fit the stack */
    POINTS_A_TASK = 1024 /* where there are more */
};

/* ---- checks ---- */

abut_status abuti_contact_check(const char *function, const char *what, const double *numbers,
                                size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(numbers[i]) <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: %s has the number %g; all must be finite and at most %g in "
                              "magnitude",
                              function, what, numbers[i], ABUT_COORDINATE_MAX);
    return ABUT_OK;
}

abut_status abuti_contact_pose(const char *function, const char *what, const abut_pose *p,
                               contact_motion *motion) {
    abut_status status = abuti_pose_check(function, what, p);
    if (status)
        return status;
    motion->turn = quat_matrix(p->rotation);
    motion->shift = p->translation;
    return ABUT_OK;
}

abut_status abuti_contact_begin(contact_call *call, const char *function, const abut_body *a,
                                bool needs_field, const abut_contact_options *options,
                                abut_contact few[CONTACT_FEW], abut_contacts *out) {
    *call = (contact_call){.function = function,
                           .out = out,
                           .few = few,
                           .kept = few,
                           .room = CONTACT_FEW,
                           .options = abut_contact_options_default()};
    if (!a || !out || (!out->list && out->capacity))
        return abuti_null(function, !a ? "a body" : !out ? "contacts" : "contacts->list");
    if (needs_field && !a->field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a body has no field", function);
    call->reliability = abuti_contact_reliability(needs_field ? a->field : NULL, NULL);
    call->context = abuti_context_of(a->field     ? a->field->context
                                     : a->samples ? a->samples->context
                                                  : NULL);
    abut_status status =
        abuti_options_read(&call->options, sizeof call->options, options, function);
    if (!status)
        status = abuti_check_length(function, "options->margin", call->options.margin);
    return status ? status : abuti_field_host(a->field);
}

abut_reliability abuti_contact_reliability(const abut_field *a, const abut_field *b) {
    abut_reliability worst = abuti_guaranteed("No field was asked, or one whose signs are exact.");
    if (a && a->reliability.level > worst.level)
        worst = a->reliability;
    if (b && b->reliability.level > worst.level)
        worst = b->reliability;
    return worst;
}

abut_status abuti_contact_end(contact_call *call, abut_status status) {
    status = status ? status : call->status;
    if (!status) {
        call->out->count = call->count;
        if (call->count > call->out->capacity)
            status =
                abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %zu contacts, but room for %llu",
                           call->function, call->count, (unsigned long long)call->out->capacity);
        else
            call->out->reliability = call->reliability;
        if (!status && call->count)
            memcpy(call->out->list, call->kept, call->count * sizeof *call->kept);
    }
    if (call->kept != call->few)
        abuti_release(call->context, call->kept);
    return status;
}

/* Room for one more of those that fit the caller's list. */
static bool grow(contact_call *call) {
    size_t room = call->room < SIZE_MAX / 4 ? 4 * call->room : SIZE_MAX;
    room = room < call->out->capacity ? room : (size_t)call->out->capacity;
    abut_contact *kept = abuti_allocate(call->context, room, sizeof *kept);
    if (!kept) {
        call->status = ABUT_ERROR_MEMORY;
        return false;
    }
    memcpy(kept, call->kept, call->count * sizeof *kept);
    if (call->kept != call->few)
        abuti_release(call->context, call->kept);
    call->kept = kept;
    call->room = room;
    return true;
}

void abuti_contact_put(contact_call *call, const abut_contact *contact) {
    if (call->count < call->out->capacity && !call->status &&
        (!call->few || call->count < call->room || grow(call))) {
        abut_contact *to = call->few ? &call->kept[call->count] : &call->out->list[call->count];
        *to = *contact;
        to->pair = call->options.pair;
        to->id = contact_id(to->side, to->kind, to->element, to->part);
    }
    call->count++;
}

/* ---- frames ---- */

contact_frame abuti_contact_frame(const abut_field *field, const contact_motion *at,
                                  const contact_motion *of, vec3 centre, double margin) {
    const contact_grid grid = contact_grid_of(field);
    return contact_frame_make(&grid, at, of, centre, contact_band(field), (float)margin);
}

abut_field_value abuti_contact_value(const abut_field *field, const contact_motion *at,
                                     vec3 point) {
    abut_field_value value = {INFINITY, {0, 0, 0}, false};
    abut_field_evaluate(field, contact_to_local(at, point), ABUT_INTERPOLATION_LINEAR, &value);
    value.gradient = m3_apply(&at->turn, value.gradient);
    return value;
}

/* ---- features ---- */

typedef struct tries {
    const field_view *view;
    const contact_frame *frame;
    const contact_point *points, *ends;
    size_t count;         /* of samples; what follows are edges */
    contact_found *found; /* of feature `first` on */
    size_t first;
} tries;

static contact_found try_feature(const tries *t, size_t i) {
    if (i < t->count)
        return contact_find(t->view, t->frame, t->points[i]);
    const contact_point *end = t->ends + 2 * (i - t->count);
    return contact_find_edge(t->view, t->frame, end[0], end[1]);
}

static bool is_far_edge(const tries *t, size_t i) {
    if (i < t->count)
        return false;
    const contact_point *end = t->ends + 2 * (i - t->count);
    return contact_edge_is_far(t->view, t->frame, end[0], end[1]);
}

static void try_some(void *data, size_t chunk, size_t begin, size_t end) {
    const tries *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        t->found[i] = try_feature(t, t->first + i);
}

void abuti_contact_try(const abut_field *field, const contact_frame *frame,
                       const contact_point *points, size_t count, size_t edges,
                       contact_found *found) {
    tries t = {&field->view, frame, points, points + count, count, found, 0};
    try_some(&t, 0, 0, count + edges);
}

/* What was found for some of the features: those in contact, by the order in which balls have them,
 * and sorted. */
typedef struct few_found {
    size_t count; /* also of those for which there was no room */
    size_t wrong; /* the wrong way out, and not told */
    contact_found found[FEW];
    uint64_t keys[2 * FEW]; /* the feature, and which of those found; and room to sort */
} few_found;

static void try_ball(const tries *t, const abut_samples *s, const contact_ball *ball,
                     few_found *few) {
    for (uint32_t i = ball->begin; i < ball->end; i++) {
        uint32_t feature = s->order[i];
        if (is_far_edge(t, feature))
            continue;
        contact_found found = try_feature(t, feature);
        few->wrong += found.depth == CONTACT_WRONG;
        if (!(found.depth > CONTACT_WRONG))
            continue;
        if (few->count < FEW) {
            few->found[few->count] = found;
            few->keys[few->count] = (uint64_t)feature << 32 | few->count;
        }
        few->count++;
    }
}

/* Tries the features in all balls within reach. */
static void try_balls(const tries *t, const abut_samples *s, bool only_samples, few_found *few) {
    few->count = few->wrong = 0;
    for (int kind = 0; kind < (only_samples ? 1 : 2); kind++) {
        const contact_part *part = &s->parts[kind];
        for (uint32_t g = part->first_group; g < part->first_group + part->groups; g++) {
            if (contact_is_far(t->view, t->frame, s->groups[g]))
                continue;
            for (uint32_t b = s->groups[g].begin; b < s->groups[g].end; b++)
                if (!contact_is_far(t->view, t->frame, s->balls[b]))
                    try_ball(t, s, &s->balls[b], few);
        }
    }
}

/* ---- two bodies ---- */

/* Whether one value shows that nothing is in contact. */
static bool is_far(const contact_direction *d, double margin) {
    const abut_samples *s = d->of->samples;
    const abut_field *field = d->at->field;
    double reach = (s->radius + margin) * (1 + 1e-6), cell = field->grid.cell;
    vec3 middle = contact_to_world(d->motion_of, s->centre);
    const contact_grid grid = contact_grid_of(field);
    if (contact_ball_is_far(&grid, contact_to_local(d->motion_at, middle), reach))
        return true;
    double value = abuti_contact_value(field, d->motion_at, middle).distance;
    return field->closed &&
           value > reach + FIELD_DIAGONAL * cell * (field->index ? FIELD_BRICK : 1);
}

static abut_contact feature_contact(const contact_direction *d, size_t i,
                                    const contact_found *found) {
    const abut_samples *s = d->of->samples;
    vec3 outward = m3_apply(&d->motion_at->turn, v3(found->x, found->y, found->z));
    abut_contact contact = {.depth = found->depth, .side = d->side};
    contact.normal = d->side ? contact_back(outward) : outward;
    if (i < s->view.count) {
        const abut_sample *sample = &s->samples[i];
        contact.point = sample->point;
        contact.kind = (abut_contact_kind)sample->kind;
        contact.element = sample->element;
        contact.part = sample->part;
    } else {
        const abut_sample_edge *edge = &s->edges[i - s->view.count];
        contact.point = v3_lerp(edge->end[0], edge->end[1], found->along);
        contact.kind = ABUT_CONTACT_EDGE;
        contact.element = edge->edge;
        contact.part = ABUT_SAMPLE_DEEPEST;
    }
    contact.point = contact_to_world(d->motion_of, contact.point);
    return contact;
}

/* Tells what was found for feature i, samples first and then edges, in the world. */
static void tell_feature(contact_call *call, const contact_direction *d, size_t i,
                         const contact_found *found) {
    abut_contact contact = feature_contact(d, i, found);
    abuti_contact_put(call, &contact);
}

contact_frame abuti_contact_frame_of(const contact_direction *d,
                                     const abut_contact_options *options) {
    contact_frame frame = abuti_contact_frame(d->at->field, d->motion_at, d->motion_of,
                                              d->of->samples->centre, options->margin);
    frame.any_normal = options->keep_backfacing;
    frame.edge_ends = !d->of->samples->has_vertices;
    frame.culls = d->at->field->closed;
    return frame;
}

static void tell_some(contact_call *call, const contact_direction *d, size_t first,
                      const contact_found *found, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (found[i].depth > CONTACT_WRONG)
            tell_feature(call, d, first + i, &found[i]);
}

/* More than a few: every feature again, one after the other; on all threads with memory. */
static abut_status try_all(contact_call *call, const contact_direction *d, tries *t, size_t all,
                           contact_found few[FEW]) {
    abut_context *context = d->at->field->context;
    t->found = few;
    for (; call->serial && t->first < all; t->first += FEW) {
        size_t here = all - t->first < FEW ? all - t->first : FEW;
        try_some(t, 0, 0, here);
        tell_some(call, d, t->first, few, here);
    }
    if (call->serial)
        return ABUT_OK;
    if (!(t->found = abuti_allocate(context, all, sizeof *t->found)))
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(context, all, POINTS_A_TASK, try_some, t);
    tell_some(call, d, 0, t->found, all);
    abuti_release(context, t->found);
    return ABUT_OK;
}

/* `wrong` counts the contacts that are not told since they are the wrong way out. */
static abut_status try_direction(contact_call *call, const contact_direction *d, bool one_way,
                                 size_t *wrong) {
    const abut_samples *s = d->of->samples;
    const abut_field *field = d->at->field;
    few_found few;
    if (!s || !field || is_far(d, call->options.margin))
        return ABUT_OK;
    contact_frame frame = abuti_contact_frame_of(d, &call->options);
    if (one_way)
        contact_go_one_way(&field->view, &frame);
    tries t = {&field->view, &frame, s->points, s->points + s->view.count, s->view.count, NULL, 0};
    try_balls(&t, s, call->options.skip_edges, &few);
    *wrong += few.wrong;
    if (few.count > FEW)
        return try_all(call, d, &t,
                       s->view.count + (call->options.skip_edges ? 0 : (size_t)s->view.edge_count),
                       few.found);
    abuti_sort_keys(few.keys, few.keys + FEW, few.count);
    for (size_t i = 0; i < few.count; i++)
        tell_feature(call, d, few.keys[i] >> 32, &few.found[(uint32_t)few.keys[i]]);
    return ABUT_OK;
}

abut_status abuti_contact_pair(contact_call *call, const contact_direction both[2]) {
    size_t wrong = 0, before = call->count;
    abut_status status = abuti_field_host(both[0].at->field);
    status = status ? status : abuti_field_host(both[1].at->field);
    /* Again, where nothing but wrong ways was found: a small body well within a large one, whose
     * every sample is nearest to the side that it faces. Silence would be worse. */
    for (int one_way = 0; one_way < 2 && !status; one_way++)
        if (!one_way || (wrong && call->count == before)) {
            status = try_direction(call, &both[0], one_way, &wrong);
            status = status ? status : try_direction(call, &both[1], one_way, &wrong);
        }
    return status;
}

abut_status abut_contact_bodies(const abut_body *a, const abut_body *b,
                                const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_bodies";
    contact_call call;
    abut_contact few[CONTACT_FEW];
    contact_motion at_a, at_b;
    abut_status status = abuti_contact_begin(&call, function, a, false, options, few, contacts);
    if (!status && (!b || (!a->field && !b->field)))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s", function,
                            b ? "neither body has a field" : "b is null");
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, &at_a);
    status = status ? status : abuti_contact_pose(function, "the pose of b", &b->pose, &at_b);
    if (status)
        return status;
    call.reliability =
        abuti_contact_reliability(b->samples ? a->field : NULL, a->samples ? b->field : NULL);
    const contact_direction both[2] = {{b, a, &at_b, &at_a, 0}, {a, b, &at_a, &at_b, 1}};
    return abuti_contact_end(&call, abuti_contact_pair(&call, both));
}

/* ---- names ---- */

const char *abut_contact_kind_name(abut_contact_kind kind) {
    static const char *const names[] = {"vertex", "edge",  "face",     "surface",
                                        "solid",  "point", "crossing", "overlap"};
    return ABUTI_NAME(names, kind);
}
