/* Contacts of a field with planes, spheres, capsules and boxes (Sundholm 2010, section 5.4).
 *
 * Two directions are combined. Samples of the field's mesh are tested against the primitive, whose
 * signed distance has a closed form. This distance is convex, so it has one minimum along an edge,
 * which golden-section search finds. Points of the primitive are tested against the field, which
 * finds a primitive on a large flat face, away from all samples.
 *
 * Spheres. The depth of a sphere is its radius minus the distance of its centre, in the direction
 * opposite to the gradient there. This is exact for a centre outside and cannot miss a thin wall.
 * Other contacts, as in a groove, are local minima of the field on the sphere. There the gradient
 * points to the centre, so the fixed-point iteration u <- -gradient(centre + r u) finds them from a
 * few start directions.
 */
#include "contact/contact.h"
#include "contact/find.h"

#include "geom/closest_shared.h"

#include <math.h>

typedef enum primitive_kind { PRIMITIVE_PLANE, PRIMITIVE_CAPSULE, PRIMITIVE_BOX } primitive_kind;

typedef struct primitive {
    primitive_kind kind;
    vec3 normal; /* plane: unit */
    double offset;
    segment3 axis; /* capsule and sphere */
    double radius;
    vec3 half; /* box */
    contact_motion motion;
} primitive;

#define GOLDEN 0.6180339887498949
enum { GOLDEN_STEPS = 48 };
#define SAME_DIRECTION_COSINE 0.966 /* cosine of 15 degrees */

/* ---- closed forms ---- */

static double box_distance(const primitive *s, vec3 point, vec3 *outward) {
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

/* The signed distance of a point of the world and the unit outward direction, which is zero on the
 * axis of a capsule. */
static double primitive_distance(const primitive *s, vec3 point, vec3 *outward) {
    if (s->kind == PRIMITIVE_PLANE) {
        *outward = s->normal;
        return v3_dot(s->normal, point) - s->offset;
    }
    if (s->kind == PRIMITIVE_BOX)
        return box_distance(s, point, outward);
    closest_on_segment closest = segment_closest_point(s->axis, point);
    *outward = v3_normalise(v3_sub(point, closest.point));
    return closest.distance - s->radius;
}

/* ---- samples of the body ---- */

static void test_sample(contact_call *call, const primitive *s, vec3 point, vec3 normal,
                        abut_contact contact) {
    vec3 outward;
    contact.depth = -primitive_distance(s, point, &outward);
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
    abuti_contact_add(call, &contact);
}

/* The parameter of a segment at which the distance is smallest. */
static double deepest_parameter(const primitive *s, vec3 a, vec3 b) {
    double lo = 0, hi = 1;
    vec3 outward;
    for (int i = 0; i < GOLDEN_STEPS; i++) {
        double u = hi - GOLDEN * (hi - lo), v = lo + GOLDEN * (hi - lo);
        if (primitive_distance(s, v3_lerp(a, b, u), &outward) <
            primitive_distance(s, v3_lerp(a, b, v), &outward))
            hi = v;
        else
            lo = u;
    }
    return 0.5 * (lo + hi);
}

static void test_samples(contact_call *call, const abuti_field_body *a, const contact_motion *at,
                         const primitive *s) {
    abut_samples_arrays view = abut_samples_arrays_default();
    abut_samples_get_arrays(a->samples, &view);
    for (uint32_t i = 0; i < view.count; i++) {
        const abut_sample *sample = &view.samples[i];
        abut_contact contact = {.kind = (abut_contact_kind)sample->kind,
                                .element = sample->element,
                                .part = sample->part};
        test_sample(call, s, contact_to_world(at, sample->point),
                    m3_apply(&at->turn, sample->normal), contact);
    }
    /* On a plane no point of an edge is deeper than its ends. */
    if (call->options.skip_edges || s->kind == PRIMITIVE_PLANE)
        return;
    for (uint32_t i = 0; i < view.edge_count; i++) {
        const abut_sample_edge *edge = &view.edges[i];
        vec3 p = contact_to_world(at, edge->end[0]), q = contact_to_world(at, edge->end[1]), out;
        /* Distances have Lipschitz constant 1. */
        double reach = call->options.margin + 0.5 * v3_length(v3_sub(q, p));
        if (primitive_distance(s, v3_lerp(p, q, 0.5), &out) > reach * (1 + 1e-9))
            continue;
        abut_contact contact = {.kind = ABUT_CONTACT_EDGE,
                                .element = edge->edge,
                                .part = ABUT_SAMPLE_DEEPEST};
        test_sample(call, s, v3_lerp(p, q, deepest_parameter(s, p, q)),
                    m3_apply(&at->turn, edge->normal), contact);
    }
}

abut_status abuti_contact_plane(const abuti_field_body *a, const abut_plane *plane,
                                const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_find_sampled";
    contact_call call;
    abut_contact buffer[CONTACT_STACK_COUNT];
    contact_motion at;
    primitive s = {.kind = PRIMITIVE_PLANE};
    abut_status status = abuti_contact_begin(&call, function, a, false, options, buffer, contacts);
    if (!status && (!plane || !a->samples))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s", function,
                            plane ? "the body has no samples" : "plane is null");
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, &at);
    status = status ? status : abuti_check_numbers(function, "the plane", (const double *)plane, 4);
    if (status)
        return status;
    double length = v3_length(plane->normal);
    if (!(length > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the normal of the plane is 0", function);
    s.normal = v3_scale(plane->normal, 1 / length);
    s.offset = plane->offset / length;
    test_samples(&call, a, &at, &s);
    return abuti_contact_end(&call, ABUT_OK);
}

/* ---- spheres in a field ---- */

/* Face and corner directions of a cube. */
enum { START_DIRECTIONS = 14, ELEMENTS_PER_SPHERE = 16 };

static vec3 start_direction(int i) {
    if (i < 6) {
        double sign = i % 2 ? -1 : 1;
        return v3(i / 2 == 0 ? sign : 0, i / 2 == 1 ? sign : 0, i / 2 == 2 ? sign : 0);
    }
    double third = sqrt(1.0 / 3);
    i -= 6;
    return v3(i & 1 ? third : -third, i & 2 ? third : -third, i & 4 ? third : -third);
}

typedef struct field_sphere {
    const abut_field *field;
    const contact_motion *at;
    vec3 centre, away;
    double radius;
    uint32_t first; /* element number of its first contact */
    vec3 kept[START_DIRECTIONS + 1];
    int kept_count;
} field_sphere;

/* The unit gradient, or `away` if the gradient is too short. */
static vec3 outward_normal(const field_sphere *b, vec3 gradient) {
    return v3_length(gradient) < (double)CONTACT_MIN_GRADIENT ? b->away : v3_normalise(gradient);
}

static void add_sphere_contact(contact_call *call, field_sphere *b, vec3 out, double depth,
                               uint32_t element) {
    for (int i = 0; i < b->kept_count; i++)
        if (v3_dot(b->kept[i], out) > SAME_DIRECTION_COSINE)
            return;
    assert(b->kept_count <= START_DIRECTIONS);
    b->kept[b->kept_count++] = out;
    abut_contact contact = {.point = v3_along(b->centre, -b->radius, out),
                            .normal = contact_negate(out),
                            .depth = depth,
                            .side = 1,
                            .kind = ABUT_CONTACT_SOLID,
                            .element = b->first + element};
    abuti_contact_add(call, &contact);
}

/* Iterates from direction u to a local minimum of the field on the sphere. Returns false if the
 * iteration does not converge. */
static bool find_local_minimum(const field_sphere *b, vec3 u, vec3 *out, double *depth) {
    for (int step = 0; step < 12; step++) {
        abut_field_value value =
            abuti_contact_value(b->field, b->at, v3_along(b->centre, b->radius, u));
        if (v3_length(value.gradient) < (double)CONTACT_MIN_GRADIENT)
            return false;
        *out = v3_normalise(value.gradient);
        *depth = -value.distance;
        if (v3_dot(u, *out) < -0.9999)
            return true;
        u = v3_scale(*out, -1);
    }
    return false;
}

static void test_sphere(contact_call *call, field_sphere *b) {
    double margin = call->options.margin, cell = b->field->grid.cell, depth;
    abut_field_value value = abuti_contact_value(b->field, b->at, b->centre);
    vec3 out = outward_normal(b, value.gradient), there;
    if (!(b->radius - value.distance >= -margin))
        return;
    /* Midway between two sides the gradient is a mixture of both. */
    if (!(find_local_minimum(b, contact_negate(out), &there, &depth) &&
          fabs(depth - (b->radius - value.distance)) < cell)) {
        there = out;
        depth = b->radius - value.distance;
    }
    add_sphere_contact(call, b, there, depth, 0);
    for (int i = 0; i < START_DIRECTIONS && b->radius > 0; i++)
        if (find_local_minimum(b, start_direction(i), &there, &depth) && depth >= -margin)
            add_sphere_contact(call, b, there, depth, (uint32_t)i + 1);
}

/* ---- spheres and capsules ---- */

static abut_status test_capsule(contact_call *call, const abuti_field_body *a,
                                const abut_capsule *c) {
    contact_motion at;
    const contact_motion still = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, {0, 0, 0}};
    abut_status status = abuti_contact_pose(call->function, "the pose of a", &a->pose, &at);
    status =
        status ? status : abuti_check_numbers(call->function, "the solid", (const double *)c, 7);
    status = status ? status : abuti_check_length(call->function, "the radius", c->radius);
    if (status)
        return status;
    primitive s = {.kind = PRIMITIVE_CAPSULE,
                   .axis = {{c->end[0], c->end[1]}},
                   .radius = c->radius};
    test_samples(call, a, &at, &s);
    vec3 middle = v3_lerp(c->end[0], c->end[1], 0.5);
    contact_frame frame = abuti_contact_frame(a->field, &at, &still, middle, call->options.margin);
    vec3 away = m3_apply(&at.turn, v3(frame.away[0], frame.away[1], frame.away[2]));
    bool is_sphere = v3_max_abs(v3_sub(c->end[1], c->end[0])) == 0;
    for (uint32_t end = 0; end < (is_sphere ? 1 : 2); end++) {
        field_sphere b = {a->field,    &at, c->end[end], away, c->radius, end * ELEMENTS_PER_SPHERE,
                          {{0, 0, 0}}, 0};
        test_sphere(call, &b);
    }
    if (is_sphere)
        return ABUT_OK;
    float ends[2][3], minimum;
    for (int end = 0; end < 2; end++) {
        vec3 p = v3_sub(c->end[end], middle);
        contact_to_cells(&frame, (float)p.x, (float)p.y, (float)p.z, ends[end]);
    }
    float limit = (float)(c->radius + call->options.margin);
    double t =
        contact_segment_minimum(&a->field->view, frame.band, ends[0], ends[1], limit, &minimum);
    if (t > 0 && t < 1) {
        field_sphere b = {a->field,    &at,       v3_lerp(c->end[0], c->end[1], t),
                          away,        c->radius, 2 * ELEMENTS_PER_SPHERE,
                          {{0, 0, 0}}, 0};
        test_sphere(call, &b);
    }
    return ABUT_OK;
}

abut_status abuti_contact_capsule(const abuti_field_body *a, const abut_capsule *capsule,
                                  const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_find_sampled";
    contact_call call;
    abut_contact buffer[CONTACT_STACK_COUNT];
    abut_status status = abuti_contact_begin(&call, function, a, true, options, buffer, contacts);
    if (!status && !capsule)
        status = abuti_null(function, "capsule");
    status = status ? status : test_capsule(&call, a, capsule);
    return abuti_contact_end(&call, status);
}

abut_status abuti_contact_sphere(const abuti_field_body *a, const abut_sphere *sphere,
                                 const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_find_sampled";
    contact_call call;
    abut_contact buffer[CONTACT_STACK_COUNT];
    abut_status status = abuti_contact_begin(&call, function, a, true, options, buffer, contacts);
    if (!status && !sphere)
        status = abuti_null(function, "sphere");
    if (status)
        return status;
    const abut_capsule capsule = {{sphere->centre, sphere->centre}, sphere->radius};
    status = test_capsule(&call, a, &capsule);
    return abuti_contact_end(&call, status);
}

/* ---- boxes ---- */

enum { BOX_POINTS = 14, BOX_EDGES = 12 };

/* Corners, face centres, and both ends of each edge, with outward normals. */
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

static void test_box(contact_call *call, const abuti_field_body *a, const contact_motion *at,
                     const primitive *s) {
    contact_point points[BOX_POINTS + 2 * BOX_EDGES];
    contact_found found[BOX_POINTS + BOX_EDGES];
    contact_frame frame =
        abuti_contact_frame(a->field, at, &s->motion, v3(0, 0, 0), call->options.margin);
    frame.keep_backfacing = call->options.keep_backfacing;
    box_features(s->half, points);
    abuti_contact_test_features(a->field, &frame, points, BOX_POINTS,
                                call->options.skip_edges ? 0 : BOX_EDGES, found);
    for (int i = 0; i < BOX_POINTS + (call->options.skip_edges ? 0 : BOX_EDGES); i++) {
        if (!(found[i].depth > CONTACT_BACKFACING))
            continue;
        const contact_point *p = i < BOX_POINTS ? &points[i] : &points[2 * i - BOX_POINTS];
        vec3 position = v3(p->x, p->y, p->z), out = v3(found[i].x, found[i].y, found[i].z);
        if (i >= BOX_POINTS)
            position = v3_lerp(position, v3(p[1].x, p[1].y, p[1].z), found[i].along);
        abut_contact contact = {.point = contact_to_world(&s->motion, position),
                                .normal = contact_negate(m3_apply(&at->turn, out)),
                                .depth = found[i].depth,
                                .side = 1,
                                .kind = ABUT_CONTACT_SOLID,
                                .element = (uint32_t)i};
        abuti_contact_add(call, &contact);
    }
}

abut_status abuti_contact_box(const abuti_field_body *a, const abut_oriented_box *box,
                              const abut_contact_options *options, abut_contacts *contacts) {
    static const char function[] = "abut_contact_find_sampled";
    contact_call call;
    abut_contact buffer[CONTACT_STACK_COUNT];
    contact_motion at;
    primitive s = {.kind = PRIMITIVE_BOX};
    abut_status status = abuti_contact_begin(&call, function, a, true, options, buffer, contacts);
    if (!status && !box)
        status = abuti_null(function, "box");
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, &at);
    status = status ? status
                    : abuti_contact_pose(function, "the pose of the box", &box->pose, &s.motion);
    status =
        status ? status : abuti_check_numbers(function, "the box", (const double *)&box->half, 3);
    const double *half = (const double *)&box->half;
    for (int k = 0; k < 3 && !status; k++)
        status = abuti_check_length(function, "a half size of the box", half[k]);
    if (status)
        return status;
    s.half = box->half;
    test_samples(&call, a, &at, &s);
    test_box(&call, a, &at, &s);
    return abuti_contact_end(&call, ABUT_OK);
}
