/* Contacts of two fields: samples and edges of each against the other.
 *
 * The work is contact_find() and contact_find_edge() of contact_shared.h for each feature, with a
 * frame for each direction; nothing is allocated in between, and results stand in the order of
 * features. Here are the checks before, and the way back to doubles and the world after.
 *
 * Bodies that are far apart are told by one value: a field at the middle of the samples, less what
 * interpolation may add to a distance, which is half the diagonal of a cell, or of a brick where
 * only its corners are known, is not more than the distance there, and that falls by no more than
 * the radius of the samples. Fields that end at a band are left to the box of their mesh.
 */
#include "field/contact.h"

#include <math.h>

enum {
    FEW = 1024,          /* features whose results fit the stack */
    POINTS_A_TASK = 1024 /* of many */
};

#define DIAGONAL 1.7320508075688772

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
    const abut_quat *q = &p->rotation;
    const double numbers[7] = {
        q->x, q->y, q->z, q->w, p->translation.x, p->translation.y, p->translation.z};
    abut_status status = abuti_contact_check(function, what, numbers, 7);
    if (status)
        return status;
    double length = sqrt(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w);
    if (length != 0 && !(fabs(length - 1) <= 0.01))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s has a rotation of length %g, which is no rigid motion; normalise "
                          "it",
                          function, what, length);
    motion->turn = quat_matrix(p->rotation);
    motion->shift = p->translation;
    return ABUT_OK;
}

abut_status abuti_contact_begin(contact_call *call, const char *function, const abut_body *a,
                                bool needs_field, const abut_contact_options *options,
                                abut_contacts *out) {
    call->function = function;
    call->out = out;
    call->count = 0;
    call->options = abut_contact_options_default();
    if (!a || !out || (!out->list && out->capacity))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null", function,
                          !a     ? "a body"
                          : !out ? "contacts"
                                 : "contacts->list");
    if (needs_field && !a->field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a body has no field", function);
    abut_status status =
        abuti_options_read(&call->options, sizeof call->options, options, function);
    if (!status && !(call->options.margin >= 0 && call->options.margin <= ABUT_COORDINATE_MAX))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->margin is %g; it must be a length",
                            function, call->options.margin);
    return status;
}

abut_status abuti_contact_end(contact_call *call) {
    call->out->count = call->count;
    if (call->count <= call->out->capacity)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %zu contacts, but room for %zu",
                      call->function, call->count, call->out->capacity);
}

void abuti_contact_put(contact_call *call, const abut_contact *contact) {
    if (call->count < call->out->capacity) {
        abut_contact *to = &call->out->list[call->count];
        *to = *contact;
        to->pair = call->options.pair;
        to->id = contact_id(to->side, to->kind, to->element, to->part);
    }
    call->count++;
}

/* ---- frames ---- */

contact_frame abuti_contact_frame(const abut_field *field, const contact_motion *at,
                                  const contact_motion *of, vec3 centre, double margin) {
    mat3 back = m3_transpose(&at->turn), turn = m3_multiply(&back, &of->turn);
    vec3 middle = contact_to_local(at, contact_to_world(of, centre));
    vec3 first = v3_sub(middle, field->grid.origin);
    vec3 away = v3_normalise(v3_sub(middle, box_centre(field_bounds(field))));
    if (v3_max_abs(away) == 0)
        away.z = 1;
    contact_frame frame = {.band = contact_band(field),
                           .per_cell = (float)(1 / field->grid.cell),
                           .margin = (float)margin};
    for (int axis = 0; axis < 3; axis++) {
        frame.turn[3 * axis] = (float)turn.row[axis].x;
        frame.turn[3 * axis + 1] = (float)turn.row[axis].y;
        frame.turn[3 * axis + 2] = (float)turn.row[axis].z;
        frame.shift[axis] = (float)(v3_get(first, axis) / field->grid.cell);
        frame.away[axis] = (float)v3_get(away, axis);
    }
    return frame;
}

abut_field_value abuti_contact_value(const abut_field *field, const contact_motion *at,
                                     vec3 point) {
    abut_field_value value = {INFINITY, {0, 0, 0}, false};
    abut_field_at(field, contact_to_local(at, point), ABUT_INTERPOLATION_LINEAR, &value);
    value.gradient = m3_apply(&at->turn, value.gradient);
    return value;
}

/* ---- many features ---- */

typedef struct tries {
    const field_view *view;
    const contact_frame *frame;
    const contact_point *points, *ends;
    contact_found *found;
    size_t count;
} tries;

static void try_some(void *data, size_t chunk, size_t begin, size_t end) {
    const tries *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        size_t edge = i - t->count;
        t->found[i] = i < t->count ? contact_find(t->view, t->frame, t->points[i])
                                   : contact_find_edge(t->view, t->frame, t->ends[2 * edge],
                                                       t->ends[2 * edge + 1]);
    }
}

void abuti_contact_try(const abut_field *field, const contact_frame *frame,
                       const contact_point *points, size_t count, size_t edges,
                       contact_found *found) {
    tries t = {&field->view, frame, points, points + count, found, count};
    if (count + edges <= FEW)
        try_some(&t, 0, 0, count + edges);
    else
        abuti_parallel_for(field->context, count + edges, POINTS_A_TASK, try_some, &t);
}

/* ---- two bodies ---- */

/* One direction: the samples of `of` against the field of `at`. */
typedef struct direction {
    const abut_body *at, *of;
    contact_motion motion_at, motion_of;
    uint32_t side; /* of the samples */
} direction;

static bool far_apart(const direction *d, double margin) {
    const abut_samples *s = d->of->samples;
    const abut_field *field = d->at->field;
    double reach = (s->radius + margin) * (1 + 1e-6), cell = field->grid.cell;
    vec3 middle = contact_to_world(&d->motion_of, s->centre);
    vec3 local = contact_to_local(&d->motion_at, middle);
    const box3 box = field_bounds(field);
    vec3 nearest = v3_min(v3_max(local, box.lo), box.hi);
    if (v3_length(v3_sub(local, nearest)) > reach + cell)
        return true;
    double value = abuti_contact_value(field, &d->motion_at, middle).distance;
    return value > reach + DIAGONAL * cell * (field->index ? FIELD_BRICK : 1);
}

/* What was found for feature i, told in the world. */
static void tell(contact_call *call, const direction *d, size_t i, const contact_found *found) {
    const abut_samples *s = d->of->samples;
    vec3 outward = m3_apply(&d->motion_at.turn, v3(found->x, found->y, found->z));
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
    contact.point = contact_to_world(&d->motion_of, contact.point);
    abuti_contact_put(call, &contact);
}

/* Leaves in one direction: that of the field in their middle if this is inside, or the one from
 * middle to middle. */
static void go_one_way(contact_frame *frame, const field_view *view) {
    field_sample value = contact_value(view, frame->shift);
    float length = contact_sqrt(value.x * value.x + value.y * value.y + value.z * value.z);
    frame->one_way = 1;
    if (length < CONTACT_FLAT || !(value.distance < 0.0f))
        return;
    frame->away[0] = value.x / length;
    frame->away[1] = value.y / length;
    frame->away[2] = value.z / length;
}

/* `wrong` counts the contacts that are not told since they are the wrong way out. */
static abut_status try_direction(contact_call *call, const direction *d, bool one_way,
                                 size_t *wrong) {
    const abut_samples *s = d->of->samples;
    const abut_field *field = d->at->field;
    double margin = call->options.margin;
    contact_found few[FEW], *found = few;
    if (!s || !field || far_apart(d, margin))
        return ABUT_OK;
    contact_frame frame =
        abuti_contact_frame(field, &d->motion_at, &d->motion_of, s->centre, margin);
    frame.any_normal = call->options.any_normal;
    frame.edge_ends = !s->has_vertices;
    if (one_way)
        go_one_way(&frame, &field->view);
    size_t edges = call->options.samples ? 0 : s->view.edge_count, all = s->view.count + edges;
    if (all > FEW && !(found = abuti_allocate(field->context, all, sizeof *found)))
        return ABUT_ERROR_MEMORY;
    abuti_contact_try(field, &frame, s->points, s->view.count, edges, found);
    for (size_t i = 0; i < all; i++) {
        *wrong += found[i].depth == CONTACT_WRONG;
        if (found[i].depth > CONTACT_WRONG)
            tell(call, d, i, &found[i]);
    }
    if (found != few)
        abuti_release(field->context, found);
    return ABUT_OK;
}

abut_status abut_contact_bodies(const abut_body *a, const abut_body *b,
                                const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_bodies";
    contact_call call;
    contact_motion at_a, at_b;
    size_t wrong = 0;
    abut_status status = abuti_contact_begin(&call, function, a, false, options, contacts);
    if (!status && (!b || (!a->field && !b->field)))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s", function,
                            b ? "neither body has a field" : "b is null");
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, &at_a);
    status = status ? status : abuti_contact_pose(function, "the pose of b", &b->pose, &at_b);
    if (status)
        return status;
    const direction of_a = {b, a, at_b, at_a, 0}, of_b = {a, b, at_a, at_b, 1};
    /* Again, where nothing but wrong ways was found: a small body well within a large one, whose
     * every sample is nearest to the side that it faces. Silence would be worse. */
    for (int one_way = 0; one_way < 2 && !status; one_way++)
        if (!one_way || (wrong && !call.count)) {
            status = try_direction(&call, &of_a, one_way, &wrong);
            status = status ? status : try_direction(&call, &of_b, one_way, &wrong);
        }
    return status ? status : abuti_contact_end(&call);
}
