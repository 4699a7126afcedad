/* Contacts of a field with planes, spheres, capsules and boxes.
 *
 * Two ways meet (Sundholm 2010, section 5.4). Samples of the field's mesh are tried against the
 * solid, whose signed distance has a closed form; it is convex, so along an edge it has one
 * minimum, which the golden section finds. And places of the solid are tried against the field, so
 * that a solid on a large flat face, away from all samples, is found.
 *
 * Spheres. The deepest place of a ball is its radius less the distance of its centre, in the
 * direction against the gradient there: exact for a centre outside, and a thin wall cannot slip
 * through. Others, as in a groove, are where the field is least on the sphere among the places
 * around; there the gradient points to the centre, so u <- -gradient(centre + r u) finds them from
 * a handful of directions.
 */
#include "contact/contact.h"

#include "geom/closest_shared.h"

#include <math.h>

typedef enum solid_kind { SOLID_PLANE, SOLID_CAPSULE, SOLID_BOX } solid_kind;

typedef struct solid {
    solid_kind kind;
    vec3 normal; /* plane: unit */
    double offset;
    segment3 axis; /* capsule and sphere */
    double radius;
    vec3 half; /* box */
    contact_motion motion;
} solid;

#define GOLDEN 0.6180339887498949
enum { GOLDEN_STEPS = 48 };
#define SAME_DIRECTION 0.966 /* 15 degrees */

/* ---- closed forms ---- */

static double box_distance(const solid *s, vec3 point, vec3 *outward) {
    vec3 p = contact_to_local(&s->motion, point), beyond = v3(0, 0, 0), face = v3(0, 0, 0);
    double out[3], inside = -INFINITY;
    int nearest = 0;
    for (int axis = 0; axis < 3; axis++) {
        out[axis] = fabs(v3_get(p, axis)) - v3_get(s->half, axis);
        if (out[axis] > inside) {
            inside = out[axis];
            nearest = axis;
        }
    }
    if (inside <= 0) {
        double sign = v3_get(p, nearest) < 0 ? -1 : 1;
        face = v3(nearest == 0 ? sign : 0, nearest == 1 ? sign : 0, nearest == 2 ? sign : 0);
        *outward = m3_apply(&s->motion.turn, face);
        return inside;
    }
    beyond = v3(copysign(real_max(out[0], 0), p.x), copysign(real_max(out[1], 0), p.y),
                copysign(real_max(out[2], 0), p.z));
    *outward = m3_apply(&s->motion.turn, v3_normalise(beyond));
    return v3_length(beyond);
}

/* The signed distance of a point of the world, and the unit way out; zero on the axis of a capsule.
 */
static double solid_distance(const solid *s, vec3 point, vec3 *outward) {
    if (s->kind == SOLID_PLANE) {
        *outward = s->normal;
        return v3_dot(s->normal, point) - s->offset;
    }
    if (s->kind == SOLID_BOX)
        return box_distance(s, point, outward);
    closest_on_segment closest = segment_closest_point(s->axis, point);
    *outward = v3_normalise(v3_sub(point, closest.point));
    return closest.distance - s->radius;
}

/* ---- samples of the body ---- */

static void try_sample(contact_call *call, const solid *s, vec3 point, vec3 normal,
                       abut_contact contact) {
    vec3 outward;
    contact.depth = -solid_distance(s, point, &outward);
    if (!(contact.depth >= -call->options.margin))
        return;
    if (v3_max_abs(outward) == 0)
        outward = v3_scale(normal, -1);
    if (v3_max_abs(outward) == 0)
        outward = v3(0, 0, 1);
    if (!call->options.keep_backfacing && v3_dot(outward, normal) > 0)
        return;
    contact.point = point;
    contact.normal = outward;
    abuti_contact_put(call, &contact);
}

/* The parameter at which the distance is least along a segment. */
static double least_along(const solid *s, vec3 a, vec3 b) {
    double lo = 0, hi = 1;
    vec3 outward;
    for (int i = 0; i < GOLDEN_STEPS; i++) {
        double u = hi - GOLDEN * (hi - lo), v = lo + GOLDEN * (hi - lo);
        if (solid_distance(s, v3_lerp(a, b, u), &outward) <
            solid_distance(s, v3_lerp(a, b, v), &outward))
            hi = v;
        else
            lo = u;
    }
    return 0.5 * (lo + hi);
}

static void try_body(contact_call *call, const abut_body *a, const contact_motion *at,
                     const solid *s) {
    abut_samples_arrays view = abut_samples_arrays_default();
    abut_samples_get_arrays(a->samples, &view);
    for (uint32_t i = 0; i < view.count; i++) {
        const abut_sample *sample = &view.samples[i];
        abut_contact contact = {.kind = (abut_contact_kind)sample->kind,
                                .element = sample->element,
                                .part = sample->part};
        try_sample(call, s, contact_to_world(at, sample->point),
                   m3_apply(&at->turn, sample->normal), contact);
    }
    if (call->options.skip_edges || s->kind == SOLID_PLANE) /* where ends are as deep */
        return;
    for (uint32_t i = 0; i < view.edge_count; i++) {
        const abut_sample_edge *edge = &view.edges[i];
        vec3 p = contact_to_world(at, edge->end[0]), q = contact_to_world(at, edge->end[1]), out;
        /* Distances grow no faster than the way. */
        double reach = call->options.margin + 0.5 * v3_length(v3_sub(q, p));
        if (solid_distance(s, v3_lerp(p, q, 0.5), &out) > reach * (1 + 1e-9))
            continue;
        abut_contact contact = {.kind = ABUT_CONTACT_EDGE,
                                .element = edge->edge,
                                .part = ABUT_SAMPLE_DEEPEST};
        try_sample(call, s, v3_lerp(p, q, least_along(s, p, q)), m3_apply(&at->turn, edge->normal),
                   contact);
    }
}

abut_status abut_contact_plane(const abut_body *a, const abut_plane *plane,
                               const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_plane";
    contact_call call;
    abut_contact few[CONTACT_FEW];
    contact_motion at;
    solid s = {.kind = SOLID_PLANE};
    abut_status status = abuti_contact_begin(&call, function, a, false, options, few, contacts);
    if (!status && (!plane || !a->samples))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s", function,
                            plane ? "the body has no samples" : "plane is null");
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, &at);
    status = status ? status : abuti_contact_check(function, "the plane", (const double *)plane, 4);
    if (status)
        return status;
    double length = v3_length(plane->normal);
    if (!(length > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the normal of the plane is 0", function);
    s.normal = v3_scale(plane->normal, 1 / length);
    s.offset = plane->offset / length;
    try_body(&call, a, &at, &s);
    return abuti_contact_end(&call, ABUT_OK);
}

/* ---- balls ---- */

/* Sides and corners of a cube. */
enum { DIRECTIONS = 14, BALL_ELEMENTS = 16 };

static vec3 direction_of(int i) {
    if (i < 6) {
        double sign = i % 2 ? -1 : 1;
        return v3(i / 2 == 0 ? sign : 0, i / 2 == 1 ? sign : 0, i / 2 == 2 ? sign : 0);
    }
    double third = sqrt(1.0 / 3);
    i -= 6;
    return v3(i & 1 ? third : -third, i & 2 ? third : -third, i & 4 ? third : -third);
}

typedef struct ball {
    const abut_field *field;
    const contact_motion *at;
    vec3 centre, away;
    double radius;
    uint32_t first; /* element */
    vec3 kept[DIRECTIONS + 1];
    int kept_count;
} ball;

/* The unit gradient; `away` where there is none. */
static vec3 way_out(const ball *b, vec3 gradient) {
    return v3_length(gradient) < (double)CONTACT_FLAT ? b->away : v3_normalise(gradient);
}

static void put_ball(contact_call *call, ball *b, vec3 out, double depth, uint32_t element) {
    for (int i = 0; i < b->kept_count; i++)
        if (v3_dot(b->kept[i], out) > SAME_DIRECTION)
            return;
    b->kept[b->kept_count++] = out;
    abut_contact contact = {.point = v3_along(b->centre, -b->radius, out),
                            .normal = contact_back(out),
                            .depth = depth,
                            .side = 1,
                            .kind = ABUT_CONTACT_SOLID,
                            .element = b->first + element};
    abuti_contact_put(call, &contact);
}

/* Goes to where the sphere is deepest among places around; false where that is not found. */
static bool settle(const ball *b, vec3 u, vec3 *out, double *depth) {
    for (int step = 0; step < 12; step++) {
        abut_field_value value =
            abuti_contact_value(b->field, b->at, v3_along(b->centre, b->radius, u));
        if (v3_length(value.gradient) < (double)CONTACT_FLAT)
            return false;
        *out = v3_normalise(value.gradient);
        *depth = -value.distance;
        if (v3_dot(u, *out) < -0.9999)
            return true;
        u = v3_scale(*out, -1);
    }
    return false;
}

static void try_ball(contact_call *call, ball *b) {
    double margin = call->options.margin, cell = b->field->grid.cell, depth;
    abut_field_value value = abuti_contact_value(b->field, b->at, b->centre);
    vec3 out = way_out(b, value.gradient), there;
    if (!(b->radius - value.distance >= -margin))
        return;
    /* Near the middle between two sides the gradient is a mixture of both. */
    if (!(settle(b, contact_back(out), &there, &depth) &&
          fabs(depth - (b->radius - value.distance)) < cell)) {
        there = out;
        depth = b->radius - value.distance;
    }
    put_ball(call, b, there, depth, 0);
    for (int i = 0; i < DIRECTIONS && b->radius > 0; i++)
        if (settle(b, direction_of(i), &there, &depth) && depth >= -margin)
            put_ball(call, b, there, depth, (uint32_t)i + 1);
}

/* ---- spheres and capsules ---- */

static abut_status try_capsule(contact_call *call, const abut_body *a, const abut_capsule *c) {
    contact_motion at;
    const contact_motion still = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, {0, 0, 0}};
    abut_status status = abuti_contact_pose(call->function, "the pose of a", &a->pose, &at);
    status =
        status ? status : abuti_contact_check(call->function, "the solid", (const double *)c, 7);
    status = status ? status : abuti_check_length(call->function, "the radius", c->radius);
    if (status)
        return status;
    solid s = {.kind = SOLID_CAPSULE, .axis = {{c->end[0], c->end[1]}}, .radius = c->radius};
    try_body(call, a, &at, &s);
    vec3 middle = v3_lerp(c->end[0], c->end[1], 0.5);
    contact_frame frame = abuti_contact_frame(a->field, &at, &still, middle, call->options.margin);
    vec3 away = m3_apply(&at.turn, v3(frame.away[0], frame.away[1], frame.away[2]));
    bool is_sphere = v3_max_abs(v3_sub(c->end[1], c->end[0])) == 0;
    for (uint32_t end = 0; end < (is_sphere ? 1 : 2); end++) {
        ball b = {a->field, &at, c->end[end], away, c->radius, end * BALL_ELEMENTS, {{0, 0, 0}}, 0};
        try_ball(call, &b);
    }
    if (is_sphere)
        return ABUT_OK;
    float ends[2][3], least;
    for (int end = 0; end < 2; end++) {
        vec3 p = v3_sub(c->end[end], middle);
        contact_place(&frame, (float)p.x, (float)p.y, (float)p.z, ends[end]);
    }
    float limit = (float)(c->radius + call->options.margin);
    double t = contact_deepest(&a->field->view, frame.band, ends[0], ends[1], limit, &least);
    if (t > 0 && t < 1) {
        ball b = {a->field,    &at,       v3_lerp(c->end[0], c->end[1], t),
                  away,        c->radius, 2 * BALL_ELEMENTS,
                  {{0, 0, 0}}, 0};
        try_ball(call, &b);
    }
    return ABUT_OK;
}

abut_status abut_contact_capsule(const abut_body *a, const abut_capsule *capsule,
                                 const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_capsule";
    contact_call call;
    abut_contact few[CONTACT_FEW];
    abut_status status = abuti_contact_begin(&call, function, a, true, options, few, contacts);
    if (!status && !capsule)
        status = abuti_null(function, "capsule");
    status = status ? status : try_capsule(&call, a, capsule);
    return abuti_contact_end(&call, status);
}

abut_status abut_contact_sphere(const abut_body *a, const abut_sphere *sphere,
                                const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_sphere";
    contact_call call;
    abut_contact few[CONTACT_FEW];
    abut_status status = abuti_contact_begin(&call, function, a, true, options, few, contacts);
    if (!status && !sphere)
        status = abuti_null(function, "sphere");
    if (status)
        return status;
    const abut_capsule capsule = {{sphere->centre, sphere->centre}, sphere->radius};
    status = try_capsule(&call, a, &capsule);
    return abuti_contact_end(&call, status);
}

/* ---- boxes ---- */

enum { BOX_POINTS = 14, BOX_EDGES = 12 };

/* Corners, middles of faces, and both ends of each edge, with their outward normals. */
static void box_features(vec3 half, contact_point points[BOX_POINTS + 2 * BOX_EDGES]) {
    const float h[3] = {(float)half.x, (float)half.y, (float)half.z};
    for (int i = 0; i < 8; i++) {
        float third = sqrtf(1.0f / 3),
              sign[3] = {i & 1 ? 1.0f : -1.0f, i & 2 ? 1.0f : -1.0f, i & 4 ? 1.0f : -1.0f};
        points[i] = (contact_point){sign[0] * h[0],  sign[1] * h[1],  sign[2] * h[2],
                                    sign[0] * third, sign[1] * third, sign[2] * third};
    }
    for (int i = 0; i < 6; i++) {
        float n[3] = {0, 0, 0};
        n[i / 2] = i % 2 ? 1 : -1;
        points[8 + i] = (contact_point){n[0] * h[0], n[1] * h[1], n[2] * h[2], n[0], n[1], n[2]};
    }
    for (int i = 0; i < 2 * BOX_EDGES; i++) {
        int axis = i / 8;
        float at[3], n[3], root = sqrtf(0.5f);
        at[axis] = i % 2 ? 1 : -1;
        at[(axis + 1) % 3] = i & 2 ? 1 : -1;
        at[(axis + 2) % 3] = i & 4 ? 1 : -1;
        for (int k = 0; k < 3; k++)
            n[k] = k == axis ? 0 : at[k] * root;
        points[BOX_POINTS + i] =
            (contact_point){at[0] * h[0], at[1] * h[1], at[2] * h[2], n[0], n[1], n[2]};
    }
}

static void try_box(contact_call *call, const abut_body *a, const contact_motion *at,
                    const solid *s) {
    contact_point points[BOX_POINTS + 2 * BOX_EDGES];
    contact_found found[BOX_POINTS + BOX_EDGES];
    contact_frame frame =
        abuti_contact_frame(a->field, at, &s->motion, v3(0, 0, 0), call->options.margin);
    frame.any_normal = call->options.keep_backfacing;
    box_features(s->half, points);
    abuti_contact_try(a->field, &frame, points, BOX_POINTS,
                      call->options.skip_edges ? 0 : BOX_EDGES, found);
    for (int i = 0; i < BOX_POINTS + (call->options.skip_edges ? 0 : BOX_EDGES); i++) {
        if (!(found[i].depth > CONTACT_WRONG))
            continue;
        const contact_point *p = i < BOX_POINTS ? &points[i] : &points[2 * i - BOX_POINTS];
        vec3 place = v3(p->x, p->y, p->z), out = v3(found[i].x, found[i].y, found[i].z);
        if (i >= BOX_POINTS)
            place = v3_lerp(place, v3(p[1].x, p[1].y, p[1].z), found[i].along);
        abut_contact contact = {.point = contact_to_world(&s->motion, place),
                                .normal = contact_back(m3_apply(&at->turn, out)),
                                .depth = found[i].depth,
                                .side = 1,
                                .kind = ABUT_CONTACT_SOLID,
                                .element = (uint32_t)i};
        abuti_contact_put(call, &contact);
    }
}

abut_status abut_contact_box(const abut_body *a, const abut_oriented_box *box,
                             const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_box";
    contact_call call;
    abut_contact few[CONTACT_FEW];
    contact_motion at;
    solid s = {.kind = SOLID_BOX};
    abut_status status = abuti_contact_begin(&call, function, a, true, options, few, contacts);
    if (!status && !box)
        status = abuti_null(function, "box");
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, &at);
    status = status ? status
                    : abuti_contact_pose(function, "the pose of the box", &box->pose, &s.motion);
    status =
        status ? status : abuti_contact_check(function, "the box", (const double *)&box->half, 3);
    const double *half = (const double *)&box->half;
    for (int k = 0; k < 3 && !status; k++)
        status = abuti_check_length(function, "a half size of the box", half[k]);
    if (status)
        return status;
    s.half = box->half;
    try_body(&call, a, &at, &s);
    try_box(&call, a, &at, &s);
    return abuti_contact_end(&call, ABUT_OK);
}
