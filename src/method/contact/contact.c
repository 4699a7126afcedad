/* Contacts of two bodies with signed distance fields: the samples and edges of each body are
 * evaluated in the field of the other (Sundholm 2010, chapter 5).
 *
 * Method: contact_test_point() and contact_test_edge() of contact_shared.h run for each feature
 * that no ball or group of balls culls, with one frame for each direction. Contacts are reported
 * in the order of features. This file validates arguments and converts the results to doubles in
 * world coordinates.
 *
 * Culling of a whole body: let d be the field at the centre of the samples, minus the largest
 * interpolation error. This error is half the diagonal of a cell, or of a brick where only the
 * corners of the brick are stored. Then d is a lower bound of the distance at the centre, and the
 * distance decreases by at most the radius of the samples. Fields that end at a narrow band use the
 * bounding box of their mesh instead.
 */
#include "contact/contact.h"
#include "contact/find.h"

#include <math.h>
#include <string.h>

/* ---- validation ---- */

abut_status abuti_contact_pose(const char *function, const char *what, const abut_pose *p,
                               contact_motion *motion) {
    abut_status status = abuti_pose_check(function, what, p);
    if (status)
        return status;
    motion->turn = quat_matrix(p->rotation);
    motion->shift = p->translation;
    return ABUT_OK;
}

abut_status abuti_contact_begin(contact_call *call, const char *function, const abuti_field_body *a,
                                bool needs_field, const abut_contact_options *options,
                                abut_contacts *out) {
    *call =
        (contact_call){.function = function, .out = out, .options = abut_contact_options_default()};
    if (!a)
        return abuti_null(function, "a body");
    abut_status status = ABUTI_LIST_CHECK(function, "contacts", out);
    if (status)
        return status;
    if (needs_field && !a->field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the field of the body is null", function);
    call->reliability = abuti_contact_reliability(needs_field ? a->field : NULL, NULL);
    call->context = abuti_context_of(a->field     ? a->field->context
                                     : a->samples ? a->samples->context
                                                  : NULL);
    status = abuti_options_read(&call->options, sizeof call->options, options, function);
    if (!status)
        status = abuti_check_length(function, "options->margin", call->options.margin);
    return status ? status : abuti_field_host(a->field);
}

abut_reliability abuti_contact_reliability(const abut_field *a, const abut_field *b) {
    abut_reliability worst = abuti_guaranteed("No field was used, or its signs are exact.");
    if (a && a->reliability.level > worst.level)
        worst = a->reliability;
    if (b && b->reliability.level > worst.level)
        worst = b->reliability;
    return worst;
}

abut_status abuti_contact_end(contact_call *call, abut_status status) {
    if (!status)
        status = call->status;
    if (!status)
        status =
            ABUTI_LIST_WRITE(call->function, "contacts", call->out, call->stored.data, call->count);
    if (!status)
        call->out->reliability = call->reliability;
    abuti_release(call->context, call->stored.data);
    return status;
}

void abuti_contact_add(contact_call *call, const abut_contact *contact) {
    if (call->count++ >= call->out->capacity)
        return;
    abut_contact *to = ABUTI_PUSH(call->context, &call->stored, abut_contact);
    if (!to) {
        call->status = ABUT_ERROR_MEMORY;
        return;
    }
    *to = *contact;
    to->a = call->options.a;
    to->b = call->options.b;
    to->id = contact_id(to->side, to->kind, to->element, to->part);
}

/* ---- frames ---- */

contact_frame abuti_contact_frame(const abut_field *field, const contact_motion *at,
                                  const contact_motion *of, vec3 centre, double margin) {
    const contact_grid grid = contact_grid_of(field);
    return contact_frame_make(&grid, at, of, centre, contact_band(field), (float)margin);
}

static abut_field_value evaluate_moved(const abut_field *field, const contact_motion *at,
                                       vec3 point) {
    abut_field_value value = {INFINITY, {0, 0, 0}, false};
    abut_field_evaluate(field, contact_to_local(at, point), ABUT_INTERPOLATION_LINEAR, &value);
    value.gradient = m3_apply(&at->turn, value.gradient);
    return value;
}

/* ---- features ---- */

typedef struct feature_query {
    const field_view *view;
    const contact_frame *frame;
    const contact_point *points, *ends;
    size_t count; /* of samples; the features after them are edges */
} feature_query;

static contact_found test_feature(const feature_query *t, size_t i) {
    if (i < t->count)
        return contact_test_point(t->view, t->frame, t->points[i]);
    const contact_point *end = t->ends + 2 * (i - t->count);
    return contact_test_edge(t->view, t->frame, end[0], end[1]);
}

static bool edge_is_culled(const feature_query *t, size_t i) {
    if (i < t->count)
        return false;
    const contact_point *end = t->ends + 2 * (i - t->count);
    return contact_edge_is_far(t->view, t->frame, end[0], end[1]);
}

/* Contacts of the features that were tested, in the order of balls, with keys that sort them by
 * feature. */
typedef struct feature_hits {
    abut_context *context;
    abut_status status;
    size_t backfacing;  /* backfacing contacts, which are not reported */
    abuti_vector found; /* of contact_found */
    abuti_vector keys;  /* of uint64_t: feature and index into `found` */
} feature_hits;

static void test_ball(const feature_query *t, const abut_samples *s, const contact_ball *ball,
                      feature_hits *hits) {
    for (uint32_t i = ball->begin; i < ball->end && !hits->status; i++) {
        uint32_t feature = s->order[i];
        if (edge_is_culled(t, feature))
            continue;
        contact_found found = test_feature(t, feature);
        hits->backfacing += found.depth == CONTACT_BACKFACING;
        if (!(found.depth > CONTACT_BACKFACING))
            continue;
        const uint64_t key = (uint64_t)feature << 32 | hits->found.count;
        contact_found *to = ABUTI_PUSH(hits->context, &hits->found, contact_found);
        uint64_t *to_key = to ? ABUTI_PUSH(hits->context, &hits->keys, uint64_t) : NULL;
        if (!to_key) {
            hits->status = ABUT_ERROR_MEMORY;
            return;
        }
        *to = found;
        *to_key = key;
    }
}

/* Tests the features of all balls that are not culled. */
static void test_balls(const feature_query *t, const abut_samples *s, bool only_samples,
                       feature_hits *hits) {
    for (int kind = 0; kind < (only_samples ? 1 : 2); kind++) {
        const contact_part *part = &s->parts[kind];
        for (uint32_t g = part->first_group; g < part->first_group + part->groups; g++) {
            if (contact_is_far(t->view, t->frame, s->groups[g]))
                continue;
            for (uint32_t b = s->groups[g].begin; b < s->groups[g].end; b++)
                if (!contact_is_far(t->view, t->frame, s->balls[b]))
                    test_ball(t, s, &s->balls[b], hits);
        }
    }
}

/* ---- two bodies ---- */

/* Whether one field value proves that no feature is in contact. */
static bool direction_is_culled(const contact_direction *d, double margin) {
    const abut_samples *s = d->of->samples;
    const abut_field *field = d->at->field;
    double reach = (s->radius + margin) * (1 + 1e-6), cell = field->grid.cell;
    vec3 middle = contact_to_world(d->motion_of, s->centre);
    const contact_grid grid = contact_grid_of(field);
    if (contact_ball_is_far(&grid, contact_to_local(d->motion_at, middle), reach))
        return true;
    double value = evaluate_moved(field, d->motion_at, middle).distance;
    return field->closed &&
           value > reach + FIELD_DIAGONAL * cell * (field->index ? FIELD_BRICK : 1);
}

static abut_contact make_contact(const contact_direction *d, size_t i, const contact_found *found) {
    const abut_samples *s = d->of->samples;
    vec3 outward = m3_apply(&d->motion_at->turn, v3(found->x, found->y, found->z));
    abut_contact contact = {.depth = found->depth, .side = d->side};
    contact.normal = d->side ? contact_negate(outward) : outward;
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

/* Adds the contact of feature i in world coordinates. Samples come first, then edges. */
static void add_feature_contact(contact_call *call, const contact_direction *d, size_t i,
                                const contact_found *found) {
    abut_contact contact = make_contact(d, i, found);
    abuti_contact_add(call, &contact);
}

contact_frame abuti_contact_frame_of(const contact_direction *d,
                                     const abut_contact_options *options) {
    contact_frame frame = abuti_contact_frame(d->at->field, d->motion_at, d->motion_of,
                                              d->of->samples->centre, options->margin);
    frame.keep_backfacing = options->keep_backfacing;
    frame.edge_ends = !d->of->samples->has_vertices;
    frame.can_cull = d->at->field->closed;
    return frame;
}

/* Adds the contacts of one direction. `backfacing` counts the contacts that are not reported
 * because they are backfacing. */
static abut_status test_direction(contact_call *call, const contact_direction *d,
                                  bool common_normal, size_t *backfacing) {
    const abut_samples *s = d->of->samples;
    const abut_field *field = d->at->field;
    if (!s || !field || direction_is_culled(d, call->options.margin))
        return ABUT_OK;
    contact_frame frame = abuti_contact_frame_of(d, &call->options);
    if (common_normal)
        contact_use_common_normal(&field->view, &frame);
    feature_query t = {&field->view, &frame, s->points, s->points + s->view.count, s->view.count};
    feature_hits hits = {.context = call->context};
    test_balls(&t, s, call->options.skip_edges, &hits);
    *backfacing += hits.backfacing;
    const size_t count = hits.keys.count;
    if (!hits.status) /* the second half is scratch memory of the sort */
        hits.status = abuti_vector_reserve(call->context, &hits.keys, 2 * count, sizeof(uint64_t));
    uint64_t *keys = hits.keys.data;
    if (!hits.status)
        abuti_sort_keys(keys, keys + count, count);
    for (size_t i = 0; i < count && !hits.status; i++)
        add_feature_contact(call, d, keys[i] >> 32,
                            &ABUTI_AT(&hits.found, contact_found, (uint32_t)keys[i]));
    ABUTI_RELEASE(call->context, hits.found.data, hits.keys.data);
    return hits.status;
}

abut_status abuti_contact_pair(contact_call *call, const contact_direction both[2]) {
    size_t backfacing = 0, before = call->count;
    abut_status status = abuti_field_host(both[0].at->field);
    if (!status)
        status = abuti_field_host(both[1].at->field);
    /* If all contacts are backfacing, try again with a common normal. This happens to a small body
     * deep inside a large one: each sample is nearest to the side that it faces. An
     * overlap without contacts would be worse than an approximate normal. */
    for (int common_normal = 0; common_normal < 2 && !status; common_normal++)
        if (!common_normal || (backfacing && call->count == before)) {
            status = test_direction(call, &both[0], common_normal, &backfacing);
            if (!status)
                status = test_direction(call, &both[1], common_normal, &backfacing);
        }
    return status;
}

abut_status abuti_contact_bodies(const abuti_field_body *a, const abuti_field_body *b,
                                 const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_find_sampled";
    contact_call call;
    contact_motion at_a, at_b;
    abut_status status = abuti_contact_begin(&call, function, a, false, options, contacts);
    if (!status && (!b || (!a->field && !b->field)))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s", function,
                            b ? "neither body has a field" : "b is null");
    if (!status)
        status = abuti_contact_pose(function, "the pose of a", &a->pose, &at_a);
    if (!status)
        status = abuti_contact_pose(function, "the pose of b", &b->pose, &at_b);
    if (status)
        return status;
    call.reliability =
        abuti_contact_reliability(b->samples ? a->field : NULL, a->samples ? b->field : NULL);
    const contact_direction both[2] = {{b, a, &at_b, &at_a, 0}, {a, b, &at_a, &at_b, 1}};
    return abuti_contact_end(&call, abuti_contact_pair(&call, both));
}

/* ---- names ---- */
