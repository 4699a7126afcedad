/* Contacts of a mesh with a sphere or a capsule.
 *
 * A contact is a local minimum of the distance from the surface to the centre of the sphere or the
 * axis of the capsule: inside a triangle; on an edge, if the distance increases into both
 * triangles; at a vertex, if it increases into all triangles. The closest points of an axis and a
 * surface include an end of the axis, an edge or a vertex, so these are all cases. Minima whose
 * surface faces away are excluded: they are behind another surface.
 *
 * If a centre is inside the mesh, the roles are reversed: the normal is that of the nearest minimum
 * whose shift separates. The same holds if a hint shows that the centre has passed through. A
 * capsule whose axis intersects the mesh, is inside it or has passed through it is converted to a
 * mesh by the caller.
 */
#include "contact/solid.h"

#include "nearest/nearest.h"
#include "sign/sign.h"

#include <math.h>
#include <string.h>

#define MIN_PATCH_COSINE 0.9  /* smallest cosine between normals of contacts of one patch */
#define COSINE_TOLERANCE 1e-9 /* cosine up to which the distance counts as increasing */
/* Smallest cosine between a remaining normal and the patch whose depth it increases. */
#define MIN_DEPTH_COSINE 0.7
/* Largest depth after verification, relative to the largest one before. */
#define MAX_DEPTH_FACTOR 2.0
#define OVERLAP_TOLERANCE 1e-6 /* of the radius: an overlap below this counts as separated */

enum {
    DEPTH_ROUNDS = 6,    /* of increasing depths */
    REACH_DOUBLINGS = 3, /* of the reach, to find a separating direction */
    MAX_DIRECTIONS = 8,  /* separating directions that are tested */
    PART_AXIS = 2        /* the part of a contact between the ends of the axis */
};

/* A local minimum of the distance between surface and axis. */
typedef struct local_minimum {
    vec3 at, from; /* points of the surface and of the axis */
    vec3 out;      /* unit, outward from the surface */
    double gap;    /* distance; negative if the axis is behind the surface */
    uint32_t kind, element, part;
} local_minimum;

typedef struct round_query {
    solid_call *call;
    segment3 axis; /* a point for a sphere */
    bool sphere;
    double radius, reach;
    double size; /* smaller of the radius and the size of the mesh; for radius 0 the latter */
    bool axis_intersects; /* the axis intersects the surface */
    uint32_t *triangles;
    size_t triangle_count;
    local_minimum *found;
    size_t count, capacity;
} round_query;

static vec3 triangle_normal(const solid_call *call, uint32_t triangle) {
    return abuti_unit_normal(solid_corner(call, triangle, 0), solid_corner(call, triangle, 1),
                             solid_corner(call, triangle, 2));
}

/* Adds a minimum within reach. `surface_normal` may have any length. */
static void add_minimum(round_query *w, vec3 at, vec3 from, vec3 surface_normal, uint32_t kind,
                        uint32_t element, uint32_t part) {
    vec3 offset = v3_sub(from, at);
    double distance = v3_length(offset), side = v3_dot(offset, surface_normal);
    if (w->call->bvh->has_no_inside && side < 0) { /* both sides are outside */
        surface_normal = v3_scale(surface_normal, -1);
        side = -side;
    }
    vec3 out = kind == ABUT_CONTACT_FACE || distance <= 1e-12 * w->call->skin->size
                   ? v3_normalise(surface_normal)
                   : v3_scale(v3_normalise(offset), side < 0 ? -1 : 1);
    if (distance <= w->reach && v3_max_abs(out) > 0 &&
        PATCH_RESERVE_ONE(w->call->memory, w->found, w->count, w->capacity))
        w->found[w->count++] =
            (local_minimum){at, from, out, side < 0 ? -distance : distance, kind, element, part};
}

/* Adds a point of an edge or a vertex if it is a local minimum: if the distance increases into all
 * faces around it. Does nothing unless `triangle` is the lowest of these faces,
 * so each edge and vertex is tested once, although several triangles have it nearest. */
static void add_feature_minimum(round_query *w, uint32_t triangle, const uint32_t *faces,
                                uint32_t count, vec3 at, vec3 from, uint32_t kind, uint32_t element,
                                uint32_t part) {
    const solid_call *call = w->call;
    const bool is_edge = kind == ABUT_CONTACT_EDGE;
    const uint32_t vertex = is_edge ? ABUT_NONE : element;
    uint32_t ends[2] = {vertex, vertex};
    vec3 surface_normal = v3(0, 0, 0), along = v3(0, 0, 0);
    double min_cosine = 0;
    for (uint32_t i = 0; i < count; i++)
        if (faces[i] < triangle)
            return;
    if (is_edge) {
        memcpy(ends, call->skin->view.edges + 2 * (size_t)element, sizeof ends);
        along = v3_normalise(v3_sub(call->positions[ends[1]], call->positions[ends[0]]));
    }
    const vec3 direction = v3_normalise(v3_sub(from, at));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *corner = call->skin->corner + 3 * (size_t)faces[i];
        double weight = 1;
        for (int k = 0; k < 3; k++) {
            const vec3 p = call->positions[corner[k]], to = v3_sub(p, at);
            if (corner[k] == vertex)
                weight = abuti_corner_angle(p, call->positions[corner[(k + 1) % 3]],
                                            call->positions[corner[(k + 2) % 3]]);
            if (corner[k] == ends[0] || corner[k] == ends[1])
                continue;
            const vec3 in = v3_along(to, -v3_dot(to, along), along); /* across the edge */
            const double cosine = v3_dot(v3_normalise(in), direction);
            if (cosine > COSINE_TOLERANCE)
                return;
            min_cosine = real_min(min_cosine, cosine);
        }
        surface_normal = v3_along(surface_normal, weight, triangle_normal(call, faces[i]));
    }
    /* Parallel to the axis: the ends of the common part are contacts. */
    if (part != PART_AXIS || min_cosine <= -COSINE_TOLERANCE)
        add_minimum(w, at, from, surface_normal, kind, element, part);
}

static void add_edge_minimum(round_query *w, uint32_t triangle, uint32_t k, vec3 at, vec3 from,
                             uint32_t part) {
    const abut_topology_arrays *view = &w->call->skin->view;
    const uint32_t *faces, edge = view->triangle_edges[3 * (size_t)triangle + k];
    uint32_t count = abuti_edge_faces(view, edge, &faces);
    add_feature_minimum(w, triangle, faces, count, at, from, ABUT_CONTACT_EDGE, edge, part);
}

static void add_vertex_minimum(round_query *w, uint32_t triangle, uint32_t k, vec3 from,
                               uint32_t part) {
    const abut_topology_arrays *view = &w->call->skin->view;
    const uint32_t vertex = w->call->skin->corner[3 * (size_t)triangle + k],
                   begin = view->vertex_face_begin[vertex];
    add_feature_minimum(w, triangle, view->vertex_faces + begin,
                        view->vertex_face_begin[vertex + 1] - begin, w->call->positions[vertex],
                        from, ABUT_CONTACT_VERTEX, vertex, part);
}

/* Tests an end of the axis against a triangle. */
static void test_axis_end(round_query *w, uint32_t triangle, triangle3 t, uint32_t end) {
    const solid_call *call = w->call;
    vec3 from = w->axis.end[end];
    closest_on_triangle closest = triangle_closest_point(t, from);
    if (closest.distance > w->reach)
        return;
    if (closest.feature == ABUT_FEATURE_FACE) {
        add_minimum(w, closest.point, from, triangle_normal(call, triangle), ABUT_CONTACT_FACE,
                    triangle, end);
        return;
    }
    /* A point beside the end is nearer to the interior of the axis. */
    if (v3_dot(v3_sub(closest.point, from), v3_sub(w->axis.end[!end], from)) > 0)
        return;
    if (closest.feature >= ABUT_FEATURE_VERTEX_0)
        add_vertex_minimum(w, triangle, (uint32_t)(closest.feature - ABUT_FEATURE_VERTEX_0), from,
                           end);
    else
        add_edge_minimum(w, triangle, (uint32_t)(closest.feature - ABUT_FEATURE_EDGE_0),
                         closest.point, from, end);
}

/* Tests the interior of the axis against the edges and vertices of a triangle. */
static void test_axis_interior(round_query *w, uint32_t triangle, triangle3 t) {
    bool axis_intersects = false;
    patch_check(w->call->memory,
                abut_segment_triangle_intersect(&w->axis, &t, &axis_intersects, NULL));
    w->axis_intersects |= axis_intersects;
    for (uint32_t k = 0; k < 3; k++) {
        segment3 side = {{t.corner[k], t.corner[(k + 1) % 3]}};
        closest_pair closest = segment_segment_closest_rounded(side, w->axis);
        bool inner = closest.distance <= w->reach;
        for (int i = 0; i < 2 && inner; i++)
            inner = !v3_equal(closest.point_a, side.end[i]) &&
                    !v3_equal(closest.point_b, w->axis.end[i]);
        if (inner)
            add_edge_minimum(w, triangle, k, closest.point_a, closest.point_b, PART_AXIS);
        closest_on_segment nearest = segment_closest_point(w->axis, t.corner[k]);
        if (nearest.distance <= w->reach && nearest.parameter > 0 && nearest.parameter < 1)
            add_vertex_minimum(w, triangle, k, nearest.point, PART_AXIS);
    }
}

/* Whether the bounding boxes of a triangle and the axis are farther apart than the reach. */
static bool triangle_is_far(const round_query *w, const triangle3 *t) {
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

/* Finds all local minima within reach of the axis. */
static void find_minima(round_query *w) {
    solid_region r = {.limit = w->reach, .axis = w->axis};
    w->count = 0;
    w->axis_intersects = false;
    abuti_solid_list_triangles(w->call, &r, &w->triangles, &w->triangle_count);
    for (size_t i = 0; i < w->triangle_count; i++) {
        uint32_t triangle = w->triangles[i];
        triangle3 t = {{solid_corner(w->call, triangle, 0), solid_corner(w->call, triangle, 1),
                        solid_corner(w->call, triangle, 2)}};
        if (triangle_is_far(w, &t) ||
            abuti_is_collapsed(w->call->skin->corner + 3 * (size_t)triangle))
            continue;
        for (uint32_t end = 0; end < (w->sphere ? 1u : 2u); end++)
            test_axis_end(w, triangle, t, end);
        if (!w->sphere)
            test_axis_interior(w, triangle, t);
    }
}

/* The minimum nearest to the axis, or null. */
static const local_minimum *nearest_minimum(const round_query *w) {
    const local_minimum *best = NULL;
    for (size_t i = 0; i < w->count; i++)
        if (!best || fabs(w->found[i].gap) < fabs(best->gap))
            best = &w->found[i];
    return best;
}

/* Whether a point, relative to the origin of the mesh, is inside it. `exact` is false near small
 * holes, where the sign is a guess. A sheet has no interior. */
static bool is_inside(const solid_call *call, vec3 point, bool *exact) {
    const bvh_interior *interior;
    vec3 at = v3_add(point, call->bvh->mesh->origin);
    bool on_surface;
    *exact = true;
    if (!box_contains(call->bvh->mesh->bounds, at) ||
        !patch_check(call->memory, abuti_bvh_interior(call->bvh, &interior)))
        return false;
    *exact = !interior->border_count;
    return fabs(abuti_sign_crossing_solids(call->bvh, interior, NULL, at, &on_surface)) >= 0.5 ||
           on_surface;
}

/* Finds the overlap that remains after the mesh is shifted. Returns whether there is none. */
static bool separates(const round_query *before, vec3 shift, round_query *remaining) {
    bool exact;
    *remaining = *before;
    remaining->found = NULL;
    remaining->capacity = 0;
    remaining->reach = remaining->radius * (1 - OVERLAP_TOLERANCE);
    for (int end = 0; end < 2; end++)
        remaining->axis.end[end] = v3_sub(remaining->axis.end[end], shift);
    find_minima(remaining);
    return !remaining->axis_intersects && !remaining->count &&
           !is_inside(remaining->call, remaining->axis.end[0], &exact) &&
           !remaining->call->memory->status;
}

static patch_candidate make_candidate(const round_query *w, const local_minimum *p,
                                      const vec3 along[2]) {
    double depth = w->radius - p->gap;
    vec3 at = v3_along(p->at, 0.5 * -depth, p->out);
    return (patch_candidate){
        {.at = at, .depth = depth, .kind = p->kind, .element = p->element, .part = p->part},
        v3_dot(at, along[0]),
        v3_dot(at, along[1])};
}

/* Adds the patch of a minimum and of all shallower ones with similar normals. A sphere has only the
 * first as a contact, since the others are not along the normal. */
static void add_patch(round_query *w, size_t first, bool *used) {
    patch_candidate found[PATCH_CANDIDATES];
    uint32_t count = 0, keep = w->sphere ? 1 : 2;
    const local_minimum *leader = &w->found[first];
    vec3 along[2], sum = v3(0, 0, 0);
    abuti_patch_tangents(leader->out, along);
    for (size_t i = 0; i < w->count; i++) {
        const local_minimum *p = &w->found[i];
        if (used[i] || (i != first && v3_dot(p->out, leader->out) < MIN_PATCH_COSINE))
            continue;
        used[i] = true;
        if (count == PATCH_CANDIDATES || (w->sphere && i != first))
            continue;
        found[count] = make_candidate(w, p, along);
        sum = v3_add(sum, found[count++].point.at);
    }
    sum = v3_scale(sum, 1.0 / count);
    patch_answer answer = {.normal = v3_add(v3_scale(leader->out, -1), v3(0, 0, 0)),
                           .depth = w->radius - leader->gap,
                           .centre = sum};
    patch_choice choice = {.found = found,
                           .count = count,
                           .deepest = answer.depth,
                           .depth_tolerance = 1e-6};
    uint32_t max_contacts = w->call->options->max_contacts;
    abuti_patch_choose(&choice, keep < max_contacts ? keep : max_contacts,
                       w->call->options->margin + 1e-12 * w->size, &answer);
    abuti_patch_add(w->call->memory, &w->call->answers, &answer);
}

/* Increases depths by the remaining overlap along normals of patches that are similar. Returns
 * false if a depth exceeds `max_depth`, or if there is no similar patch. */
static bool increase_depths(solid_call *call, const round_query *remaining, vec3 shift,
                            double max_depth) {
    bool added = false;
    for (size_t i = 0; i < remaining->count; i++) {
        const local_minimum *p = &remaining->found[i];
        patch_answer *best = NULL;
        double cosine = MIN_DEPTH_COSINE;
        for (size_t k = 0; k < call->answers.count; k++)
            if (-v3_dot(call->answers.list[k].normal, p->out) > cosine) {
                cosine = -v3_dot(call->answers.list[k].normal, p->out);
                best = &call->answers.list[k];
            }
        if (p->gap < 0 || !best)
            return false;
        double depth = v3_dot(shift, best->normal) + (remaining->radius - p->gap) / cosine;
        if (depth > max_depth)
            return false;
        if (depth > best->depth) {
            best->depth = best->points[0].depth = depth;
            added = true;
        }
    }
    return added && !remaining->axis_intersects;
}

/* Verifies that the joint shift of all patches separates, and increases depths where walls are
 * concave. If the increased depths do not separate either, depths are restored. */
static void verify_patches(round_query *w) {
    solid_call *call = w->call;
    patch_answers *answers = &call->answers, before = {.list = NULL};
    double max_depth = 0;
    for (size_t i = 0; i < answers->count; i++) {
        max_depth = real_max(max_depth, MAX_DEPTH_FACTOR * real_max(answers->list[i].depth, 0));
        abuti_patch_add(call->memory, &before, &answers->list[i]);
    }
    for (int round = 0; round < DEPTH_ROUNDS && !call->is_verified; round++) {
        round_query remaining;
        vec3 shift;
        if (!abuti_patch_joint_shift(w->size, PATCH_SLACK, answers->list, answers->count, &shift))
            break;
        call->is_verified = separates(w, shift, &remaining);
        if (!call->is_verified && !increase_depths(call, &remaining, shift, max_depth))
            break;
    }
    if (!call->is_verified) {
        *answers = before;
        return;
    }
    before = *answers; /* sorts by depth again */
    *answers = (patch_answers){.list = NULL};
    for (size_t i = 0; i < before.count; i++)
        abuti_patch_add(call->memory, answers, &before.list[i]);
}

/* The centre is outside: adds a patch for each wall. */
static void add_outside_patches(round_query *w) {
    solid_call *call = w->call;
    bool *used = abuti_patch_allocate(call->memory, w->count, sizeof *used);
    size_t best = used ? 0 : SIZE_MAX;
    for (size_t i = 0; i < w->count && used; i++)
        used[i] = w->found[i].gap < 0 || w->found[i].gap > w->reach;
    while (best != SIZE_MAX) {
        best = SIZE_MAX;
        for (size_t i = 0; i < w->count; i++)
            if (!used[i] && (best == SIZE_MAX || w->found[i].gap < w->found[best].gap))
                best = i;
        if (best != SIZE_MAX)
            add_patch(w, best, used);
    }
    if (call->answers.count && !call->options->skip_verification)
        verify_patches(w);
}

/* Finds the separating direction of a sphere whose centre is behind the surface: of the minima that
 * do not oppose the hint, the nearest whose shift separates, otherwise the nearest. `answer` has no
 * points if there is none. */
static void find_exit(round_query *w, vec3 hint, patch_answer *answer) {
    solid_call *call = w->call;
    double before = -1;
    answer->count = 0;
    for (int attempt = 0; attempt < MAX_DIRECTIONS && !call->is_verified; attempt++) {
        const local_minimum *best = NULL;
        for (size_t i = 0; i < w->count; i++) {
            const local_minimum *p = &w->found[i];
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
        next.points[0] = make_candidate(w, best, along).point;
        next.centre = next.points[0].at;
        round_query remaining;
        abuti_patch_joint_shift(w->size, PATCH_SLACK, &next, 1, &shift);
        if (!call->options->skip_verification)
            call->is_verified = separates(w, shift, &remaining);
        if (!answer->count || call->is_verified)
            *answer = next;
        if (call->options->skip_verification)
            break;
    }
}

/* The centre of a sphere is inside. The separating direction along the hint may be far away. */
static void add_inside_patch(round_query *w, vec3 hint) {
    patch_answer answer;
    find_exit(w, hint, &answer);
    for (int round = 0; round < REACH_DOUBLINGS && !answer.count; round++) {
        w->reach *= 2;
        find_minima(w);
        find_exit(w, hint, &answer);
    }
    if (!answer.count)
        find_exit(w, v3(0, 0, 0), &answer);
    if (!answer.count) { /* inside an inverted component: its normals point to the centre */
        for (size_t i = 0; i < w->count; i++) {
            w->found[i].gap = -w->found[i].gap;
            w->found[i].out = v3_scale(w->found[i].out, -1);
        }
        find_exit(w, v3(0, 0, 0), &answer);
    }
    if (answer.count)
        abuti_patch_add(w->call->memory, &w->call->answers, &answer);
}

/* Whether there are overlaps outside, and all their normals oppose the hint. */
static bool all_oppose_hint(const round_query *w, vec3 hint) {
    bool any = false;
    for (size_t i = 0; i < w->count; i++) {
        const local_minimum *p = &w->found[i];
        if (p->gap < 0 || !(p->gap < w->radius))
            continue;
        if (!(v3_dot(p->out, hint) > 0))
            return false;
        any = true;
    }
    return any;
}

bool abuti_solid_round_contacts(solid_call *call, const solid_view *view, const abut_collider *b) {
    const abut_mesh *mesh = call->bvh->mesh;
    const double *radius =
        b->kind == ABUT_COLLIDER_SPHERE ? &b->shape.sphere.radius : &b->shape.capsule.radius;
    round_query w = {.call = call,
                     .radius = *radius,
                     .reach = *radius + call->options->margin,
                     .size = *radius > 0 ? real_min(*radius, call->skin->size) : call->skin->size};
    abuti_motion at = abuti_motion_of(&b->pose);
    for (int end = 0; end < 2; end++)
        w.axis.end[end] = solid_to_mesh(view, mesh,
                                        abuti_motion_apply(&at, b->kind == ABUT_COLLIDER_SPHERE
                                                                    ? b->shape.sphere.centre
                                                                    : b->shape.capsule.end[end]));
    w.sphere = v3_equal(w.axis.end[0], w.axis.end[1]);
    find_minima(&w);
    const local_minimum *nearest = nearest_minimum(&w);
    const bool inside =
        nearest ? nearest->gap < 0 : is_inside(call, w.axis.end[0], &call->is_exact);
    vec3 hint = m3_apply(&view->back, call->options->hint);
    bool opposes_hint = !inside && all_oppose_hint(&w, hint);
    if ((w.axis_intersects || inside || opposes_hint) && !w.sphere)
        return false;
    if (opposes_hint) { /* the centre has passed through, if there is a direction back */
        patch_answer back;
        call->is_exact = false;
        find_exit(&w, hint, &back);
        if (back.count && (call->is_verified || call->options->skip_verification)) {
            abuti_patch_add(call->memory, &call->answers, &back);
            return true;
        }
    }
    if (!inside) {
        add_outside_patches(&w);
        return true;
    }
    if (!nearest) { /* deeper than its radius: minima up to 1.5 times the distance of the surface */
        abut_nearest surface;
        bvh_hint none = {.known = false};
        abuti_nearest_point(call->bvh, v3_add(w.axis.end[0], mesh->origin), HUGE_VAL, &none,
                            &surface);
        w.reach = 1.5 * surface.distance + w.radius;
        find_minima(&w);
    }
    add_inside_patch(&w, hint);
    return true;
}
