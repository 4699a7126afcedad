/* Contacts of a mesh with a sphere or a capsule.
 *
 * A contact is a place of the surface that is nearest to the centre, or to the axis, among those
 * around it: within a triangle; on an edge, if both triangles there lead away; at a vertex, if all
 * do. The nearest pair of an axis and a surface has an end of the axis, an edge or a vertex in it,
 * so these are all. Places whose surface faces away are left out: they are behind another. Where a
 * centre is inside the mesh, it is the other way round, and the nearest place that separates is the
 * way out. So it is where a hint tells that the centre has gone through. A capsule whose axis meets
 * the mesh, is inside or has gone through is left to the mesh of a capsule.
 */
#include "contact/solid.h"

#include "nearest/nearest.h"
#include "sign/sign.h"

#include <math.h>
#include <string.h>

#define SAME_WALL 0.9 /* the cosine between normals of contacts that share a patch */
#define ALMOST 1e-9   /* of lengths: directions that are taken as leading away */
#define ALIKE 0.7     /* the cosine between normals of which one adds to the depth of the other */
#define ADDED 2.0     /* times the largest depth may a depth become */
#define TIGHT 1e-6    /* of the radius: what may be left of an overlap that is gone */

enum {
    ROUNDS = 6,  /* of making depths larger */
    FURTHER = 3, /* times the reach is doubled for a way out */
    WAYS = 8,    /* out that are tried */
    AXIS = 2     /* the part of a contact that is at no end of the axis */
};

/* A place that is nearest among those around it. */
typedef struct near_place {
    vec3 at, from; /* of the surface, and of the axis */
    vec3 out;      /* unit: which way the surface faces */
    double gap;    /* negative where the axis is behind the surface */
    uint32_t kind, element, part;
} near_place;

typedef struct near_work {
    solid_call *call;
    segment3 axis; /* of one point for a sphere */
    bool sphere;
    double radius, reach;
    double size; /* of the solid, or of the mesh if that has one */
    bool meets;  /* the axis goes through the surface */
    uint32_t *triangles;
    size_t triangle_count;
    near_place *found;
    size_t count, room;
    abut_status status;
} near_work;

static vec3 normal_of(const solid_call *call, uint32_t triangle) {
    return abuti_unit_normal(solid_corner(call, triangle, 0), solid_corner(call, triangle, 1),
                             solid_corner(call, triangle, 2));
}

/* `tilt` is a normal of the surface there, of any length. */
static void add_near(near_work *w, vec3 at, vec3 from, vec3 tilt, uint32_t kind, uint32_t element,
                     uint32_t part) {
    vec3 way = v3_sub(from, at);
    double distance = v3_length(way), side = v3_dot(way, tilt);
    vec3 out = kind == ABUT_CONTACT_FACE || distance <= 1e-12 * w->call->skin->size
                   ? v3_normalise(tilt)
                   : v3_scale(v3_normalise(way), side < 0 ? -1 : 1);
    if (distance > w->reach || v3_max_abs(out) == 0 || w->status)
        return;
    if (w->count == w->room)
        w->status = abuti_patch_grow(w->call->memory, &w->found, w->count, w->count + 16,
                                     sizeof *w->found, &w->room);
    if (!w->status)
        w->found[w->count++] =
            (near_place){at, from, out, side < 0 ? -distance : distance, kind, element, part};
}

/* How a triangle leads from an edge, seen from what is in direction `way`: the cosine, negative for
 * away; within rounding 0 is away too. */
static double lead_of(const solid_call *call, uint32_t triangle, const uint32_t *ends, vec3 way) {
    const uint32_t *corner = call->skin->corner + 3 * (size_t)triangle;
    vec3 p = call->positions[ends[0]], q = call->positions[ends[1]];
    int third = 0;
    while (third < 2 && (corner[third] == ends[0] || corner[third] == ends[1]))
        third++;
    vec3 along = v3_normalise(v3_sub(q, p)), in = v3_sub(call->positions[corner[third]], p);
    return v3_dot(v3_normalise(v3_along(in, -v3_dot(in, along), along)), v3_normalise(way));
}

/* A place of an edge: it counts if no triangle there leads nearer. */
static void add_edge(near_work *w, uint32_t edge, vec3 at, vec3 from, uint32_t part) {
    const abut_topology_arrays *view = &w->call->skin->view;
    const uint32_t *faces, *ends = view->edges + 2 * (size_t)edge;
    uint32_t count = abuti_edge_faces(view, edge, &faces);
    vec3 tilt = v3(0, 0, 0);
    double least = 0;
    for (uint32_t i = 0; i < count; i++) {
        double lead = lead_of(w->call, faces[i], ends, v3_sub(from, at));
        if (lead > ALMOST)
            return;
        least = real_min(least, lead);
        tilt = v3_add(tilt, normal_of(w->call, faces[i]));
    }
    if (part == AXIS && least > -ALMOST) /* flat: the ends tell */
        return;
    add_near(w, at, from, tilt, ABUT_CONTACT_EDGE, edge, part);
}

/* The same for a vertex and the edges there. */
static void add_vertex(near_work *w, uint32_t vertex, vec3 from, uint32_t part) {
    const solid_call *call = w->call;
    const abut_topology_arrays *view = &call->skin->view;
    vec3 at = call->positions[vertex], way = v3_sub(from, at), tilt = v3(0, 0, 0);
    double least = 0;
    for (uint32_t i = view->vertex_face_begin[vertex]; i < view->vertex_face_begin[vertex + 1];
         i++) {
        const uint32_t *corner = call->skin->corner + 3 * (size_t)view->vertex_faces[i];
        uint32_t k = corner[0] == vertex ? 0 : corner[1] == vertex ? 1 : 2;
        vec3 p = call->positions[corner[(k + 1) % 3]], q = call->positions[corner[(k + 2) % 3]];
        for (int end = 0; end < 2; end++) {
            double lead = v3_dot(v3_normalise(v3_sub(end ? q : p, at)), v3_normalise(way));
            if (lead > ALMOST)
                return;
            least = real_min(least, lead);
        }
        tilt = v3_along(tilt, abuti_corner_angle(at, p, q), normal_of(call, view->vertex_faces[i]));
    }
    if (part == AXIS && least > -ALMOST)
        return;
    add_near(w, at, from, tilt, ABUT_CONTACT_VERTEX, vertex, part);
}

/* Whether a triangle is the lowest of those at an edge or a vertex, which it then answers for. */
static bool owns_edge(const solid_call *call, uint32_t triangle, uint32_t edge) {
    const uint32_t *faces;
    uint32_t count = abuti_edge_faces(&call->skin->view, edge, &faces);
    for (uint32_t i = 0; i < count; i++)
        if (faces[i] < triangle)
            return false;
    return true;
}

static bool owns_vertex(const solid_call *call, uint32_t triangle, uint32_t vertex) {
    const abut_topology_arrays *view = &call->skin->view;
    for (uint32_t i = view->vertex_face_begin[vertex]; i < view->vertex_face_begin[vertex + 1]; i++)
        if (view->vertex_faces[i] < triangle)
            return false;
    return true;
}

/* One end of the axis and a triangle. */
static void try_end(near_work *w, uint32_t triangle, triangle3 t, uint32_t end) {
    const solid_call *call = w->call;
    vec3 from = w->axis.end[end];
    closest_on_triangle near = triangle_closest_point(t, from);
    if (near.distance > w->reach)
        return;
    if (near.feature == ABUT_FEATURE_FACE) {
        add_near(w, near.point, from, normal_of(call, triangle), ABUT_CONTACT_FACE, triangle, end);
        return;
    }
    /* Beside the end the rest of the axis is nearer. */
    if (v3_dot(v3_sub(near.point, from), v3_sub(w->axis.end[!end], from)) > 0)
        return;
    uint32_t k =
        (uint32_t)(near.feature - (near.feature < ABUT_FEATURE_VERTEX_0 ? ABUT_FEATURE_EDGE_0
                                                                        : ABUT_FEATURE_VERTEX_0));
    uint32_t vertex = call->skin->corner[3 * (size_t)triangle + k];
    uint32_t edge = call->skin->view.triangle_edges[3 * (size_t)triangle + k];
    /* Of an edge any of its triangles that has it nearest, but each once. */
    if (near.feature >= ABUT_FEATURE_VERTEX_0) {
        if (owns_vertex(call, triangle, vertex))
            add_vertex(w, vertex, from, end);
    } else if (owns_edge(call, triangle, edge)) {
        add_edge(w, edge, near.point, from, end);
    }
}

/* The axis between its ends, and a triangle's edges and vertices. */
static void try_axis(near_work *w, uint32_t triangle, triangle3 t) {
    const solid_call *call = w->call;
    bool meets = false;
    w->status = w->status ? w->status : abut_segment_triangle_intersect(&w->axis, &t, &meets, NULL);
    w->meets |= meets;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t vertex = call->skin->corner[3 * (size_t)triangle + k];
        uint32_t edge = call->skin->view.triangle_edges[3 * (size_t)triangle + k];
        if (owns_edge(call, triangle, edge)) {
            segment3 side = {{t.corner[k], t.corner[(k + 1) % 3]}};
            closest_pair near = segment_segment_closest_rounded(side, w->axis);
            bool inner = near.distance <= w->reach;
            for (int i = 0; i < 2 && inner; i++)
                inner =
                    !v3_equal(near.point_a, side.end[i]) && !v3_equal(near.point_b, w->axis.end[i]);
            if (inner)
                add_edge(w, edge, near.point_a, near.point_b, AXIS);
        }
        if (owns_vertex(call, triangle, vertex)) {
            closest_on_segment near = segment_closest_point(w->axis, t.corner[k]);
            if (near.distance <= w->reach && near.parameter > 0 && near.parameter < 1)
                add_vertex(w, vertex, near.point, AXIS);
        }
    }
}

/* Whether the box of a triangle is out of reach of that of the axis. */
static bool is_far(const near_work *w, const triangle3 *t) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double a = v3_get(t->corner[0], k), b = v3_get(t->corner[1], k),
               c = v3_get(t->corner[2], k);
        double p = v3_get(w->axis.end[0], k), q = v3_get(w->axis.end[1], k);
        double below = real_min(p, q) - real_max(a, real_max(b, c));
        double above = real_min(a, real_min(b, c)) - real_max(p, q);
        double apart = real_max(0, real_max(below, above));
        sum += apart * apart;
    }
    return sum > w->reach * w->reach * (1 + 1e-9);
}

/* Finds all places within reach of the axis. */
static abut_status find_places(near_work *w) {
    solid_reach r = {.limit = w->reach, .axis = w->axis};
    w->count = 0;
    w->meets = false;
    w->status = abuti_solid_triangles(w->call, &r, &w->triangles, &w->triangle_count);
    for (size_t i = 0; i < w->triangle_count && !w->status; i++) {
        uint32_t triangle = w->triangles[i];
        triangle3 t = {{solid_corner(w->call, triangle, 0), solid_corner(w->call, triangle, 1),
                        solid_corner(w->call, triangle, 2)}};
        if (is_far(w, &t) || abuti_is_collapsed(w->call->skin->corner + 3 * (size_t)triangle))
            continue;
        for (uint32_t end = 0; end < (w->sphere ? 1u : 2u); end++)
            try_end(w, triangle, t, end);
        if (!w->sphere)
            try_axis(w, triangle, t);
    }
    return w->status;
}

/* The place nearest to the axis, or null. */
static const near_place *nearest_of(const near_work *w) {
    const near_place *best = NULL;
    for (size_t i = 0; i < w->count; i++)
        if (!best || fabs(w->found[i].gap) < fabs(best->gap))
            best = &w->found[i];
    return best;
}

/* Whether a place, relative to the mesh's origin, is inside it, and whether that is exact: near
 * small holes it is a guess. A sheet has no inside. */
static abut_status is_inside(const abut_bvh *bvh, vec3 place, bool *inside, bool *exact) {
    const bvh_interior *interior;
    vec3 at = v3_add(place, bvh->mesh->origin);
    bool on_surface;
    *inside = false;
    *exact = true;
    if (!box_contains(bvh->mesh->bounds, at))
        return ABUT_OK;
    abut_status status = abuti_bvh_interior(bvh, &interior);
    if (status)
        return status;
    *exact = !interior->border_count;
    *inside =
        fabs(abuti_sign_crossing_solids(bvh, interior, NULL, at, &on_surface)) >= 0.5 || on_surface;
    return ABUT_OK;
}

/* What is left of the overlap once the mesh is shifted. */
static abut_status find_rest(const near_work *before, vec3 shift, near_work *rest, bool *apart) {
    bool inside = false, exact;
    *rest = *before;
    rest->found = NULL;
    rest->room = 0;
    rest->reach = rest->radius * (1 - TIGHT);
    for (int end = 0; end < 2; end++)
        rest->axis.end[end] = v3_sub(rest->axis.end[end], shift);
    abut_status status = find_places(rest);
    *apart = !status && !rest->meets && !rest->count;
    if (*apart)
        status = is_inside(rest->call->bvh, rest->axis.end[0], &inside, &exact);
    *apart = *apart && !inside;
    return status;
}

static patch_candidate candidate_of(const near_work *w, const near_place *p, const vec3 along[2]) {
    double depth = w->radius - p->gap;
    vec3 at = v3_along(p->at, 0.5 * -depth, p->out);
    return (patch_candidate){
        {.at = at, .depth = depth, .kind = p->kind, .element = p->element, .part = p->part},
        v3_dot(at, along[0]),
        v3_dot(at, along[1])};
}

/* Adds the patch of a place and of all that look the same way and are no deeper. Those of a sphere
 * have no contacts of their own: they would be beside the normal. */
static abut_status add_wall(near_work *w, size_t first, bool *taken) {
    patch_candidate found[PATCH_CANDIDATES];
    uint32_t count = 0, keep = w->sphere ? 1 : 2;
    const near_place *lead = &w->found[first];
    vec3 along[2], sum = v3(0, 0, 0);
    abuti_patch_tangents(lead->out, along);
    for (size_t i = 0; i < w->count; i++) {
        const near_place *p = &w->found[i];
        if (taken[i] || (i != first && v3_dot(p->out, lead->out) < SAME_WALL))
            continue;
        taken[i] = true;
        if (count == PATCH_CANDIDATES || (w->sphere && i != first))
            continue;
        found[count] = candidate_of(w, p, along);
        sum = v3_add(sum, found[count++].point.at);
    }
    sum = v3_scale(sum, 1.0 / count);
    patch_answer answer = {.normal = v3_add(v3_scale(lead->out, -1), v3(0, 0, 0)),
                           .depth = w->radius - lead->gap,
                           .centre = sum};
    patch_choice choice = {.found = found,
                           .count = count,
                           .deepest = answer.depth,
                           .depth_tolerance = 1e-6};
    uint32_t most = w->call->options->max_contacts;
    abuti_patch_choose(&choice, keep < most ? keep : most,
                       w->call->options->margin + 1e-12 * w->size, &answer);
    return abuti_solid_add(w->call, &answer);
}

/* Adds what is left along normals to the depths of patches that look about the same way; false
 * where that is too much, or none does. */
static bool add_rest(solid_call *call, const near_work *rest, vec3 shift, double most) {
    bool added = false;
    for (size_t i = 0; i < rest->count; i++) {
        const near_place *p = &rest->found[i];
        patch_answer *best = NULL;
        double cosine = ALIKE;
        for (size_t k = 0; k < call->count; k++)
            if (-v3_dot(call->answers[k].normal, p->out) > cosine) {
                cosine = -v3_dot(call->answers[k].normal, p->out);
                best = &call->answers[k];
            }
        if (p->gap < 0 || !best)
            return false;
        double depth = v3_dot(shift, best->normal) + (rest->radius - p->gap) / cosine;
        if (depth > most)
            return false;
        if (depth > best->depth) {
            best->depth = best->points[0].depth = depth;
            added = true;
        }
    }
    return added && !rest->meets;
}

/* Checks that all patches together separate, and makes depths larger where walls are hollow. */
static abut_status check_walls(near_work *w) {
    solid_call *call = w->call;
    double most = 0;
    for (size_t i = 0; i < call->count; i++)
        most = real_max(most, ADDED * real_max(call->answers[i].depth, 0));
    for (int round = 0; round < ROUNDS; round++) {
        near_work rest;
        vec3 shift;
        if (!abuti_patch_joint_shift(w->size, call->answers, call->count, &shift))
            return ABUT_OK;
        abut_status status = find_rest(w, shift, &rest, &call->separates);
        if (status || call->separates || !add_rest(call, &rest, shift, most))
            return status;
    }
    return ABUT_OK;
}

/* Outside: a patch for each wall. */
static abut_status answer_outside(near_work *w) {
    bool *taken = NULL;
    size_t room = 0;
    abut_status status =
        abuti_patch_grow(w->call->memory, &taken, 0, w->count + 1, sizeof *taken, &room);
    for (size_t i = 0; i < w->count && !status; i++)
        taken[i] = w->found[i].gap < 0 || w->found[i].gap > w->reach;
    while (!status) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < w->count; i++)
            if (!taken[i] && (best == SIZE_MAX || w->found[i].gap < w->found[best].gap))
                best = i;
        if (best == SIZE_MAX)
            break;
        status = add_wall(w, best, taken);
    }
    solid_call *call = w->call;
    if (status || !call->count || call->options->skip_verification)
        return status;
    patch_answer *before = NULL; /* depths are as they were unless the larger ones separate */
    room = 0;
    status = abuti_patch_grow(call->memory, &before, 0, call->count, sizeof *before, &room);
    if (status)
        return status;
    memcpy(before, call->answers, call->count * sizeof *before);
    status = check_walls(w);
    if (!call->separates) {
        memcpy(call->answers, before, call->count * sizeof *before);
        return status;
    }
    size_t count = call->count; /* deepest first again */
    memcpy(before, call->answers, count * sizeof *before);
    call->count = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = abuti_solid_add(call, &before[i]);
    return status;
}

/* The nearest way out of a sphere whose centre is behind the surface, of those that are not against
 * the hint: the first that separates, else the nearest. `answer` has no point where there is none.
 */
static abut_status find_way_out(near_work *w, vec3 hint, patch_answer *answer) {
    solid_call *call = w->call;
    abut_status status = ABUT_OK;
    double before = -1;
    answer->count = 0;
    for (int way = 0; way < WAYS && !status && !call->separates; way++) {
        const near_place *best = NULL;
        for (size_t i = 0; i < w->count; i++) {
            const near_place *p = &w->found[i];
            if (p->gap <= 0 && -p->gap > before && v3_dot(p->out, hint) <= 0 &&
                (!best || p->gap > best->gap))
                best = p;
        }
        if (!best)
            break;
        before = -best->gap;
        vec3 along[2], shift;
        abuti_patch_tangents(best->out, along);
        patch_answer next = {.normal = v3_add(v3_scale(best->out, -1), v3(0, 0, 0)),
                             .depth = w->radius - best->gap,
                             .count = 1};
        next.points[0] = candidate_of(w, best, along).point;
        next.centre = next.points[0].at;
        near_work rest;
        abuti_patch_joint_shift(w->size, &next, 1, &shift);
        if (!call->options->skip_verification)
            status = find_rest(w, shift, &rest, &call->separates);
        if (!answer->count || call->separates)
            *answer = next;
        if (call->options->skip_verification)
            break;
    }
    return status;
}

/* A sphere whose centre is inside. The way out on the side of the hint may be far. */
static abut_status answer_inside(near_work *w, vec3 hint) {
    patch_answer answer;
    abut_status status = find_way_out(w, hint, &answer);
    for (int round = 0; round < FURTHER && !status && !answer.count; round++) {
        w->reach *= 2;
        status = find_places(w);
        status = status ? status : find_way_out(w, hint, &answer);
    }
    if (!status && !answer.count)
        status = find_way_out(w, v3(0, 0, 0), &answer);
    if (!status && !answer.count) { /* inside an inverted part: its normals point to the centre */
        for (size_t i = 0; i < w->count; i++) {
            w->found[i].gap = -w->found[i].gap;
            w->found[i].out = v3_scale(w->found[i].out, -1);
        }
        status = find_way_out(w, v3(0, 0, 0), &answer);
    }
    return status || !answer.count ? status : abuti_solid_add(w->call, &answer);
}

/* Whether what is found outside overlaps, and all of that would be pushed out against the hint. */
static bool is_against(const near_work *w, vec3 hint) {
    bool any = false;
    for (size_t i = 0; i < w->count; i++) {
        const near_place *p = &w->found[i];
        if (p->gap < 0 || !(p->gap < w->radius))
            continue;
        if (!(v3_dot(p->out, hint) > 0))
            return false;
        any = true;
    }
    return any;
}

abut_status abuti_solid_round(solid_call *call, const solid_view *view, const abut_solid *b,
                              bool *through) {
    const abut_mesh *mesh = call->bvh->mesh;
    const double *radius =
        b->kind == ABUT_SOLID_SPHERE ? &b->shape.sphere.radius : &b->shape.capsule.radius;
    near_work w = {.call = call,
                   .radius = *radius,
                   .reach = *radius + call->options->margin,
                   .size = *radius > 0 ? real_min(*radius, call->skin->size) : call->skin->size};
    abuti_motion at = abuti_motion_of(&b->pose);
    for (int end = 0; end < 2; end++)
        w.axis.end[end] = solid_seen(view, mesh,
                                     abuti_motion_apply(&at, b->kind == ABUT_SOLID_SPHERE
                                                                 ? b->shape.sphere.centre
                                                                 : b->shape.capsule.end[end]));
    w.sphere = v3_equal(w.axis.end[0], w.axis.end[1]);
    abut_status status = find_places(&w);
    const near_place *nearest = nearest_of(&w);
    bool inside = nearest && nearest->gap < 0;
    if (!status && !nearest)
        status = is_inside(call->bvh, w.axis.end[0], &inside, &call->is_exact);
    vec3 hint = m3_apply(&view->back, call->options->hint);
    bool against = !inside && is_against(&w, hint);
    *through = (w.meets || inside || against) && !w.sphere;
    if (status || *through)
        return status;
    if (against) { /* the centre has gone through, if there is a way back */
        patch_answer back;
        call->is_exact = false;
        status = find_way_out(&w, hint, &back);
        if (!status && back.count && (call->separates || call->options->skip_verification))
            return abuti_solid_add(call, &back);
    }
    if (status || !inside)
        return status ? status : answer_outside(&w);
    abut_nearest surface;
    if (!nearest) { /* deeper than its radius: as far as the surface, and what is about as far */
        bvh_hint none = {.known = false};
        abuti_nearest_point(call->bvh, v3_add(w.axis.end[0], mesh->origin), HUGE_VAL, &none,
                            &surface);
        w.reach = 1.5 * surface.distance + w.radius;
        status = find_places(&w);
    }
    return status ? status : answer_inside(&w, hint);
}
