/* Contacts of two meshes from exact geometry: the order of the steps, and the public function.
 *
 * 1. Both bodies are put into a canonical order, so that swapping a and b gives the same answer. A
 *    sheet is turned so that it cuts off the smaller part of the other body.
 * 2. The contour of both surfaces divides the overlap into regions (patch_contour.c). A region is
 *    measured along several normals, or divided into walls (patch_point.c). Depths are verified:
 * the bodies must be apart after the shift. What one normal does not separate is resolved in
 * rounds: the overlap that remains after the shift so far adds its walls (answer_walls).
 * 3. Surfaces within the margin add gaps (patch_proximity.c).
 * Without a contour, one body may be inside the other; or surfaces touch where the jitter of the
 * contour has no thickness, and the touching triangles make the contact. */
#include "contact/patch.h"

#include "geom/meet_shared.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define JITTER 1e-9      /* of the smaller body */
#define ROUNDING 0x1p-50 /* of the largest coordinate: of a posed vertex */
#define SLACK 1e-6       /* of the depth, by which bodies are moved apart to see whether they are */
#define HAIR 1e-7        /* of the smaller body, beside it */
#define BARE_SLACK 2e-9  /* the same where depths are taken as they are: above rounding errors */
#define ADDED 4.0        /* times as deep may a depth become by the check */
#define NEARLY 0.01      /* of the smaller body: no depth to speak of */
#define WIDE 0.05        /* of the smaller body: walls further behind the nearest are left out */
#define SAME_WALL_COSINE 0.99 /* between the normals of one wall in two rounds: 8 degrees */
#define SAME_WAY_COSINE 0.98  /* between normals of which one is enough: 11 degrees */
#define REST_OF_WALL 0.5      /* of the depth of a wall: what is left of it after a shift */
#define OTHER_WALL_COSINE 0.7 /* between the normals of two walls: 45 degrees */
#define EXTENDED 1.2          /* times as deep may a normal become that nearly separates */
#define FAR_SHIFT 0.1  /* of the smaller body: walls that are further away are not searched for */
#define AS_SHALLOW 1.5 /* times as deep as the shallowest wall of a region, or less */
#define SINGLE_DEPTHS 1.2   /* times as deep as the least may a single normal be */
#define WEDGE_THICKNESS 3.0 /* times as deep as thick on average is a wedge, at least */
#define WEDGE_DEPTH 0.5     /* of the depth of a wedge: its walls are less deep on average */
#define SHORTER 0.8  /* times as deep, or less, is a way out of a sheet that replaces another */
#define SHALLOW 0.05 /* of the smaller body: opposite walls that are less deep hold the body */
#define OPPOSITE_COSINE (-0.5) /* between the normals of opposite walls: 120 degrees */
#define TOUCH 1e-6 /* of the smaller body: depths that are no more may be those of bodies apart */
#define SAME_VIEW 0.1 /* of their distance: equal bodies that see each other at one place */
#define GAP 1e-12     /* of the smaller body: bodies that touch may be this far apart by rounding */

enum {
    WALL_ROUNDS = 8,
    ROUNDS = 3,
    SHIFT_ROUNDS = 512,
    MANY = 32,
    TOGETHER = 8,
    SOME_SEGMENTS = 8,
    CONTOUR_WAYS = 16 /* normals of faces of the contour that are tried for sheets */
};

typedef struct patch_call {
    patch_memory *memory;
    abut_patch_options options;
    abut_posed posed[2]; /* the second where it is, the first relative to it */
    bool swapped;
    bool sheets;    /* one of them has no inside */
    bool turned[2]; /* a sheet is looked at from its other side */
    bool even;      /* both skins are as thick */
    double largest; /* coordinate of the poses */
    double size;    /* of the smaller body */
    double gap;     /* rounding error of a touch: contacts of overlaps are no further apart */
    vec3 hint;      /* in the frame */
    patch_answer *answers;
    size_t count, room;
    bool parts;     /* some of them are of parts wholly inside */
    bool bare;      /* depths are taken as they are, with BARE_SLACK instead of SLACK and HAIR */
    bool pierced;   /* a body has gone through the other */
    bool clasped;   /* walls are opposite and not deep: no shift is looked for */
    bool meets;     /* surfaces meet or are within the margin, which boundary edges may change */
    unsigned doubt; /* of containment, as of abuti_pair_contains() */
    bool apart;     /* the bodies do not touch; once that is known */
    bool apart_known;
    bool separates;
} patch_call;

/* ---- order ---- */

/* Where one body is as seen from the other. */
static vec3 seen_from(const abut_posed *from, const abut_posed *to) {
    vec3 way = v3_sub(to->pose.translation, from->pose.translation);
    abuti_motion motion = abuti_motion_of(&from->pose);
    mat3 back = m3_transpose(&motion.rotation);
    return m3_apply(&back, way);
}

static int longest_axis(vec3 way) {
    vec3 size = v3_abs(way);
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

/* Whether a comes first: of fewer triangles, else by its numbers. */
static bool in_order(const abut_posed *a, const abut_posed *b) {
    int order = abuti_patch_order(a->bvh, b->bvh);
    if (order)
        return order < 0;
    /* Of one shape twice: along the axis on which they see each other at the most different places,
     * so that neither small motions nor the place of both matter. */
    vec3 way = v3_sub(b->pose.translation, a->pose.translation);
    vec3 seen = v3_sub(seen_from(a, b), seen_from(b, a));
    if (v3_max_abs(seen) > SAME_VIEW * v3_length(way))
        return v3_get(seen, longest_axis(seen)) > 0;
    /* Else along the axis on which they are furthest apart. */
    int axis = longest_axis(way);
    if (v3_get(way, axis) != 0)
        return v3_get(way, axis) > 0;
    order = memcmp(&a->pose, &b->pose, sizeof a->pose);
    return order <= 0;
}

/* ---- bodies ---- */

/* All but the bodies, which are set later. */
static void start_work(patch_work *work, patch_memory *memory) {
    memset((unsigned char *)work + offsetof(patch_work, largest), 0,
           sizeof *work - offsetof(patch_work, largest));
    work->view.longest = INFINITY;
    work->memory = memory;
}

/* Both in the frame: that of the second's mesh. */
static abut_status set_bodies(patch_work *work, const patch_call *call) {
    for (int side = 0; side < 2; side++) {
        patch_body *body = &work->body[side];
        body->bvh = call->posed[side].bvh;
        body->pose = call->posed[side].pose;
        abut_status status = abuti_patch_skin(body->bvh, call->turned[side], &body->skin);
        if (status)
            return status;
    }
    patch_body *a = &work->body[0], *b = &work->body[1];
    abuti_motion motion = abuti_motion_of(&call->posed[0].pose);
    a->turns = true;
    b->turns = false;
    a->turn = motion.rotation;
    a->shift = v3_sub(v3_add(m3_apply(&a->turn, a->bvh->mesh->origin), motion.translation),
                      b->bvh->mesh->origin);
    double largest = real_max(v3_max_abs(a->shift) + 2 * a->skin->size, 2 * b->skin->size);
    work->largest = 2 * largest; /* turned too, and with the skin */
    largest = real_max(largest, call->largest);
    double jitter =
        real_max(JITTER * real_min(a->skin->size, b->skin->size), 64 * ROUNDING * largest);
    for (int side = 0; side < 2; side++) {
        work->body[side].jitter = jitter;
        /* Where faces lie flush, the second is in the first, whatever the jitter. */
        double more = call->even ? 10 : side ? 6 : 14;
        work->body[side].grow = more * jitter;
        work->body[side].seed = (uint64_t)(side + 1) << 40;
    }
    return ABUT_OK;
}

/* Contours and regions at a pose. */
static abut_status find(patch_work *work, const patch_call *call) {
    pair_frame frame;
    abut_status status = set_bodies(work, call);
    if (status)
        return status;
    abuti_pair_start(&call->posed[0], &call->posed[1], &frame);
    double out = 0;
    for (int side = 0; side < 2; side++)
        out += work->body[side].grow * work->body[side].skin->reach + 2 * work->body[side].jitter;
    frame.pad += (float)(1.001 * out * frame.scale);
    return abuti_patch_find(work, &frame);
}

/* ---- answers ---- */

static abut_status add_answer(patch_call *call, const patch_answer *answer) {
    return abuti_patch_add(call->memory, &call->answers, &call->count, &call->room, answer);
}

/* By how much a shift must go along the normal of an answer. */
static double wanted_shift(const patch_call *call, const patch_answer *answer) {
    if (call->bare)
        return real_max(answer->depth, 0) + BARE_SLACK * call->size;
    return real_max(answer->depth, 0) * (1 + SLACK) + HAIR * call->size;
}

/* The least shift that satisfies all answers (Hildreth 1957, "A quadratic programming procedure");
 * false where there is none, as between opposite walls. Of more than MANY answers the others are
 * satisfied too, but the shift may not be the least. */
static bool common_shift(const patch_call *call, const patch_answer *answers, size_t count,
                         vec3 *shift) {
    double gone[MANY] = {0};
    *shift = v3(0, 0, 0);
    for (int round = 0; round < SHIFT_ROUNDS; round++) {
        double worst = 0;
        for (size_t i = 0; i < count; i++) {
            double missing = wanted_shift(call, &answers[i]) - v3_dot(*shift, answers[i].normal);
            missing = real_max(missing, i < MANY ? -gone[i] : 0);
            worst = real_max(worst, fabs(missing) / call->size);
            *shift = v3_along(*shift, missing, answers[i].normal);
            if (i < MANY)
                gone[i] += missing;
        }
        if (worst < 1e-9)
            return true;
    }
    return false;
}

bool abuti_patch_shift(double size, const patch_answer *answers, size_t count, vec3 *shift) {
    const patch_call call = {.size = size};
    return common_shift(&call, answers, count, shift);
}

/* Whether the bodies are apart once the first is shifted; likely so along its way. */
static abut_status apart_after(const patch_call *call, vec3 shift, bool *apart) {
    abut_posed moved = call->posed[0];
    abut_pair_relation relation;
    pair_frame frame;
    uint32_t found[2], vertex;
    unsigned doubt = 0;
    abut_status status;
    *apart = false;
    moved.pose.translation = v3_add(moved.pose.translation, shift);
    if (!abuti_pair_start(&moved, &call->posed[1], &frame)) {
        status = abuti_pair_overlap(&moved, &call->posed[1], false, NULL, &relation, &doubt);
    } else {
        abuti_pair_expect(&frame, v3_normalise(shift));
        bool meets = abuti_pair_meets(&frame, found);
        status = abuti_stop_status("contacts");
        if (status || meets)
            return status;
        status = abuti_pair_contains(&frame, &moved, &call->posed[1], &relation, &vertex, &doubt);
    }
    *apart = !status && relation == ABUT_PAIR_APART;
    return status;
}

/* Whether some of the triangles whose skins cut each other meet themselves. */
static bool some_meet(const patch_work *work) {
    size_t step = work->segment_count / SOME_SEGMENTS + 1;
    for (size_t i = 0; i < work->segment_count; i += step) {
        abut_triangle t[2];
        for (int side = 0; side < 2; side++)
            for (int k = 0; k < 3; k++) {
                const patch_body *body = &work->body[side];
                size_t at = 3 * (size_t)work->segments[i].face[side] + (size_t)k;
                t[side].corner[k] = patch_true(body, body->skin->corner[at]);
            }
        if (triangle_triangle_meet(t[0], t[1], NULL) != ABUT_MEETING_NONE)
            return true;
    }
    return false;
}

/* Whether the bodies are apart as they are, which is found out once; `likely` they are not. */
static abut_status are_apart(const patch_work *work, patch_call *call, bool likely, bool *apart) {
    abut_status status = ABUT_OK;
    if (!call->apart_known) {
        call->apart = false;
        if (!likely || !some_meet(work))
            status = apart_after(call, v3(0, 0, 0), &call->apart);
        call->apart_known = !status;
    }
    *apart = call->apart;
    return status;
}

/* Whether they are after the shift that satisfies these answers. */
static abut_status separates(const patch_call *call, const patch_answer *answers, size_t count,
                             bool *apart) {
    vec3 shift;
    *apart = false;
    return common_shift(call, answers, count, &shift) ? apart_after(call, shift, apart) : ABUT_OK;
}

/* Adds the first answer that separates alone; with `most`, of those along faces that are no deeper.
 */
static abut_status choose_single(patch_call *call, const patch_answer *answers, int count,
                                 double most) {
    abut_status status = ABUT_OK;
    for (int i = 0; i < count && !status && !call->separates; i++) {
        if (most < INFINITY && (!answers[i].of_faces || answers[i].depth > most))
            continue;
        status = separates(call, &answers[i], 1, &call->separates);
        if (!status && call->separates)
            status = add_answer(call, &answers[i]);
    }
    return status;
}

/* Whether opposite walls hold a body between them, as in a press fit: all are shallow, and those
 * that are opposite are further apart than they are deep. Otherwise a body has gone through
 * another, and opposite walls are two ways out of one overlap. */
static bool walls_hold(const patch_call *call, const patch_answer *walls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (walls[i].depth > SHALLOW * call->size)
            return false;
        for (size_t k = 0; k < i; k++) {
            vec3 between = v3_sub(walls[k].points[0].at, walls[i].points[0].at);
            double depths = real_max(walls[i].depth, 0) + real_max(walls[k].depth, 0);
            if (v3_dot(walls[i].normal, walls[k].normal) < OPPOSITE_COSINE &&
                fabs(v3_dot(between, walls[i].normal)) < 2 * depths)
                return false;
        }
    }
    return true;
}

/* Whether a region counts: the contour of a hole, or a speck beside others, does not. */
static bool region_counts(const patch_work *work, const patch_call *call, size_t i) {
    const patch_region *r = &work->regions[i];
    for (size_t k = 0; k < work->region_count; k++)
        if (work->regions[k].length > r->length)
            return r->volume > 0 && r->length >= PATCH_SPECK * call->size;
    return true;
}

/* Which connected parts of a side meet something. */
static abut_status find_met(const patch_work *work, const patch_call *call, uint32_t side,
                            bool **met) {
    const abut_topology_arrays *view = &work->body[side].skin->view;
    size_t room = 0;
    abut_status status =
        abuti_patch_grow(call->memory, met, 0, view->component_count, sizeof **met, &room);
    if (status)
        return status;
    memset(*met, 0, view->component_count * sizeof **met);
    for (size_t i = 0; i < work->segment_count; i++)
        (*met)[view->triangle_component[work->segments[i].face[side]]] = true;
    return ABUT_OK;
}

/* A part inside the other body from which no ray along the normals that are tried meets it, as in a
 * hole: from the closest points of both surfaces. */
static abut_status answer_closest(const patch_work *work, const patch_call *call, uint32_t side,
                                  patch_answer *answer) {
    abut_separation found;
    abut_status status = abuti_pair_distance(&call->posed[0], &call->posed[1], true, NULL, &found);
    if (status)
        return status;
    const vec3 way = v3_sub(found.point_b, found.point_a), normal = v3_normalise(way);
    *answer = (patch_answer){.normal = v3_max_abs(normal) > 0 ? normal : v3(0, 0, 1),
                             .depth = found.distance,
                             .centre = v3_sub(v3_along(found.point_a, 0.5, way),
                                              work->body[1].bvh->mesh->origin),
                             .region = ABUT_NONE,
                             .count = 1};
    answer->points[0] = (patch_point){.at = answer->centre,
                                      .depth = answer->depth,
                                      .side = side,
                                      .kind = ABUT_CONTACT_FACE,
                                      .element = side ? found.triangle_b : found.triangle_a};
    return ABUT_OK;
}

/* Parts that are inside the other body, and of which no skin meets anything. `apart`: no surfaces
 * meet, whatever skins do. Then a part is where the vertex is that abuti_pair_contains() tests, and
 * cavities count as there if nothing else is inside. */
static abut_status answer_parts(patch_work *work, patch_call *call, bool apart, uint32_t keep) {
    pair_frame frame;
    if (!apart && work->body[0].skin->view.component_count == 1 &&
        work->body[1].skin->view.component_count == 1)
        return ABUT_OK;
    abuti_pair_start(&call->posed[0], &call->posed[1], &frame);
    for (uint32_t k = 0; k < (apart ? 4 : 2) && !(k == 2 && call->count); k++) {
        const uint32_t side = k % 2;
        const patch_skin *skin = work->body[side].skin;
        bool *met = NULL;
        abut_status status = apart ? ABUT_OK : find_met(work, call, side, &met);
        for (uint32_t i = 0; i < skin->view.component_count && !status; i++) {
            const patch_part *part = &skin->parts[i];
            bool inside;
            patch_answer answer = {.count = 0};
            if ((met && met[i]) || part->is_cavity != (k >= 2))
                continue;
            status = abuti_pair_vertex_inside(&frame, (int)side, &call->posed[!side].pose,
                                              apart ? part->vertex
                                                    : skin->corner[3 * (size_t)part->face],
                                              &inside, &call->doubt);
            if (status || !inside)
                continue;
            abuti_patch_inside(work, side, i, call->hint, keep, &answer);
            if (!answer.count && apart)
                status = answer_closest(work, call, side, &answer);
            if (!status && answer.count)
                status = add_answer(call, &answer);
        }
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* The answers of a region; none where it does not count. */
static abut_status answer_region(patch_work *work, patch_call *call, size_t i, uint32_t keep,
                                 patch_effort *effort, patch_answer answers[PATCH_WAYS],
                                 int *count) {
    *count = 0;
    if (!region_counts(work, call, i))
        return ABUT_OK;
    if (call->options.unchecked)
        *effort = PATCH_UNCHECKED;
    return abuti_patch_points(work, &work->regions[i], call->hint, keep, call->gap, effort, answers,
                              count);
}

/* ---- one normal ---- */

/* How far a shift along a normal must go to separate, if not much more than `depth`, the depth of
 * what is there now: what is left then is added. Otherwise *separates is false. */
static abut_status shift_along(const patch_call *call, vec3 normal, double *depth,
                               bool *separates) {
    double before = *depth;
    abut_status status = ABUT_OK;
    patch_call moved = *call;
    *separates = false;
    for (int round = 0; round < ROUNDS && !status; round++) {
        double out = *depth * (1 + SLACK) + HAIR * call->size, rest = 0;
        status = apart_after(call, v3_scale(normal, out), separates);
        if (status || *separates || round + 1 == ROUNDS)
            return status;
        moved.posed[0].pose.translation = v3_along(call->posed[0].pose.translation, out, normal);
        patch_work work;
        start_work(&work, call->memory);
        status = find(&work, &moved);
        status = status ? status : abuti_patch_depth(&work, normal, INFINITY, &rest);
        if (!(rest > 0) || out + rest > ADDED * before + 1e-6 * call->size)
            return status;
        *depth = out + rest;
    }
    return status;
}

static void set_depth(patch_answer *answer, double depth) {
    answer->depth = answer->points[0].depth = depth;
}

/* ---- walls of a pair ---- */

/* Adds a wall that was found after a shift: its depth is that before the shift. What is left of a
 * wall of an earlier round makes that one deeper. */
static abut_status add_wall(patch_call *call, patch_answers *walls, const patch_answer *found,
                            vec3 shift, bool first_round) {
    patch_answer wall = *found;
    double before = v3_dot(shift, wall.normal);
    for (size_t i = 0; i < walls->count && !first_round; i++)
        if (v3_dot(walls->list[i].normal, wall.normal) > SAME_WALL_COSINE &&
            wall.depth < REST_OF_WALL * walls->list[i].depth) {
            patch_answer *same = &walls->list[i];
            double along = v3_dot(shift, same->normal) + real_max(wall.depth, 0);
            same->depth = same->points[0].depth = real_max(same->depth, along);
            return ABUT_OK;
        }
    wall.depth += before;
    uint32_t count = wall.count;
    wall.count = 0;
    for (uint32_t k = 0; k < count; k++) {
        patch_point point = wall.points[k];
        point.at = v3_sub(point.at, v3_scale(shift, 0.5));
        point.depth += before;
        if (point.depth >= -call->gap || !wall.count)
            wall.points[wall.count++] = point;
    }
    if (!first_round) {
        wall.region = ABUT_NONE;
        wall.volume = 0; /* that of the region is known from the first round */
    }
    return abuti_patch_add(call->memory, &walls->list, &walls->count, &walls->room, &wall);
}

/* Walls of a pair: those that are to separate together, and all of the first round. */
typedef struct wall_lists {
    patch_answers together, first;
} wall_lists;

static abut_status append(patch_call *call, patch_answers *list, const patch_answer *answer) {
    return abuti_patch_add(call->memory, &list->list, &list->count, &list->room, answer);
}

/* Whether a region is much deeper than it is thick on average; a lens is two or three times as
 * deep. */
static bool may_be_wedge(const patch_region *r, double depth) {
    return depth * patch_area_length(r->area) > WEDGE_THICKNESS * fabs(r->volume);
}

/* Whether a region is a wedge between walls: it looks one way on the whole, but is much deeper that
 * way than its walls are on average. */
static bool is_wedge(const patch_answer *walls, int count, double depth) {
    double sum = 0, area = 0;
    for (int k = 0; k < count; k++) {
        sum += walls[k].area * walls[k].depth;
        area += walls[k].area;
    }
    return count > 1 && sum < WEDGE_DEPTH * depth * area;
}

/* Adds the walls of a region. Of surfaces that look many ways those separate together that are
 * about as shallow as the shallowest: deeper columns of the overlap may be those of another wall,
 * which is seen in the next round. *resolved becomes false where such a region has no wall. */
static abut_status add_region_walls(patch_work *work, patch_call *call, size_t i, uint32_t keep,
                                    vec3 shift, bool first_round, wall_lists *walls,
                                    bool *resolved) {
    patch_answer answers[PATCH_WAYS];
    int count = 0;
    double most = INFINITY;
    abut_status status = ABUT_OK;
    bool cancels = abuti_patch_cancels(work, &work->regions[i]);
    if (!cancels) {
        patch_effort effort = PATCH_LEAST;
        status = abuti_patch_points(work, &work->regions[i], call->hint, keep, call->gap, &effort,
                                    answers, &count);
        count = count ? 1 : 0;
    }
    if (!status && (cancels || (count && may_be_wedge(&work->regions[i], answers[0].depth)))) {
        const double single = cancels ? INFINITY : answers[0].depth;
        patch_answer found[PATCH_WAYS];
        int found_count;
        status = abuti_patch_walls(work, &work->regions[i], keep, call->gap, found, &found_count);
        if (!status && (cancels || is_wedge(found, found_count, single))) {
            count = 0;
            for (int k = 0; k < found_count; k++) {
                if (!(found[k].depth < single))
                    continue;
                most = real_min(most, found[k].depth);
                answers[count++] = found[k];
            }
            most = AS_SHALLOW * real_max(most, HAIR * call->size);
            *resolved &= count > 0;
        }
    }
    if (first_round && !status)
        work->regions[i].gap = !(count && answers[0].depth > 0);
    for (int k = 0; k < count && !status; k++) {
        if (answers[k].depth <= most)
            status = add_wall(call, &walls->together, &answers[k], shift, first_round);
        if (first_round && !status)
            status = append(call, &walls->first, &answers[k]);
    }
    return status;
}

/* Replaces the answers by walls, those that are gaps left out. */
static abut_status answer_with(patch_call *call, const patch_answers *walls) {
    abut_status status = ABUT_OK;
    call->count = 0;
    for (size_t i = 0; i < walls->count && !status; i++)
        if (walls->list[i].depth >= -call->gap)
            status = add_answer(call, &walls->list[i]);
    return status;
}

/* Replaces the answers by all shallow walls of all regions, of bodies that are held between them.
 * A region without walls answers as before. */
static abut_status answer_holding(patch_work *work, patch_call *call, uint32_t keep,
                                  const patch_answers *before) {
    abut_status status = ABUT_OK;
    call->count = 0;
    for (size_t i = 0; i < before->count && !status; i++)
        if (before->list[i].region == ABUT_NONE)
            status = add_answer(call, &before->list[i]);
    for (size_t i = 0; i < work->region_count && !status; i++) {
        patch_answer walls[PATCH_WAYS];
        int count = 0;
        size_t added = call->count;
        if (!region_counts(work, call, i))
            continue;
        status = abuti_patch_walls(work, &work->regions[i], keep, call->gap, walls, &count);
        for (int k = 0; k < count && !status; k++)
            if (walls[k].depth < SHALLOW * call->size)
                status = add_answer(call, &walls[k]);
        for (size_t k = 0; k < before->count && !status && call->count == added; k++)
            if (before->list[k].region == i)
                status = add_answer(call, &before->list[k]);
    }
    return status;
}

/* Whether the least shift that satisfies the answers separates, with hardly anything more: what
 * decides is not the rounding error of the shift, so the answer is the same wherever the bodies
 * are. */
static abut_status separates_exactly(const patch_call *call, bool *apart) {
    patch_call exact = *call;
    vec3 shift;
    exact.bare = true;
    *apart = false;
    return common_shift(&exact, call->answers, call->count, &shift)
               ? apart_after(call, shift, apart)
               : ABUT_OK;
}

/* Makes the answers that are no gaps deeper: by a hair, and at least as far as a shift goes along
 * their normals. */
static void deepen(patch_call *call, vec3 shift) {
    for (size_t i = 0; i < call->count; i++) {
        patch_answer answer = call->answers[i];
        answer.depth = real_max(answer.depth, v3_dot(shift, answer.normal));
        if (answer.depth > 0)
            answer.depth = wanted_shift(call, &answer);
        answer.points[0].depth = answer.depth;
        size_t k = i;
        for (; k > 0 && call->answers[k - 1].depth < answer.depth; k--)
            call->answers[k] = call->answers[k - 1];
        call->answers[k] = answer;
    }
}

/* Answers with walls that separate by a shift. Without the hair that is added to depths, and
 * without walls that were gaps before the shift, the least shift may be too short: then they are
 * made deeper. */
static abut_status answer_separating(patch_call *call, const patch_answers *walls, vec3 shift) {
    abut_status status = answer_with(call, walls);
    status = status ? status : separates_exactly(call, &call->separates);
    if (status || call->separates)
        return status;
    deepen(call, v3(0, 0, 0));
    status = separates_exactly(call, &call->separates);
    if (status || call->separates || call->count == walls->count)
        return status;
    deepen(call, shift);
    return separates_exactly(call, &call->separates);
}

/* Whether an answer of a region looks about the way of a wall. */
static bool has_wall(const patch_call *call, const patch_answer *wall) {
    for (size_t i = 0; i < call->count; i++) {
        const patch_answer *answer = &call->answers[i];
        if ((answer->region == wall->region || answer->region == ABUT_NONE) &&
            v3_dot(answer->normal, wall->normal) > OTHER_WALL_COSINE)
            return true;
    }
    return false;
}

/* Adds shallow walls that the shift of the others separates too, so that each wall that overlaps
 * has contacts. */
static abut_status complete_walls(patch_work *work, patch_call *call, uint32_t keep, vec3 shift) {
    for (size_t i = 0; i < work->region_count; i++) {
        patch_answer walls[PATCH_WAYS];
        int count;
        if (!region_counts(work, call, i))
            continue;
        abut_status status =
            abuti_patch_walls(work, &work->regions[i], keep, call->gap, walls, &count);
        for (int k = 0; k < count && !status; k++)
            if (walls[k].depth < SHALLOW * call->size &&
                walls[k].depth <= v3_dot(shift, walls[k].normal) && !has_wall(call, &walls[k]))
                status = add_answer(call, &walls[k]);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* Answers with walls that separate together, from local depths only. In each round the overlap that
 * is left after the shift so far adds its walls, and the least shift that satisfies all of them is
 * tried. Opposite walls that hold a body end the search. If there is no such shift, answers with
 * the walls of the first round. */
static abut_status answer_walls(patch_work *work, patch_call *call, uint32_t keep, bool *resolved) {
    wall_lists walls = {{NULL, 0, 0}, {NULL, 0, 0}};
    patch_work later;
    patch_call moved = *call;
    vec3 shift = v3(0, 0, 0);
    abut_status status = ABUT_OK;
    *resolved = true;
    for (size_t i = 0; i < call->count && !status; i++) { /* parts that are inside */
        status = append(call, &walls.together, &call->answers[i]);
        status = status ? status : append(call, &walls.first, &call->answers[i]);
    }
    for (int round = 0; round < WALL_ROUNDS && !status; round++) {
        patch_work *at = round ? &later : work;
        if (round) {
            moved.posed[0].pose.translation = v3_add(call->posed[0].pose.translation, shift);
            start_work(&later, call->memory);
            status = find(&later, &moved);
        }
        for (size_t i = 0; i < at->region_count && !status; i++)
            if (region_counts(at, call, i))
                status = add_region_walls(at, call, i, keep, shift, !round, &walls, resolved);
        if (status || !walls.together.count)
            break;
        if (!common_shift(call, walls.together.list, walls.together.count, &shift)) {
            call->clasped = walls_hold(call, walls.together.list, walls.together.count);
            break;
        }
        status = apart_after(call, shift, &call->separates);
        if (!call->separates && v3_length(shift) > FAR_SHIFT * call->size)
            break;
        if (!status && call->separates) {
            status = answer_separating(call, &walls.together, shift);
            return status || !call->separates || call->count < 2 ||
                           v3_length(shift) > SHALLOW * call->size
                       ? status
                       : complete_walls(work, call, keep, shift);
        }
    }
    if (status || !call->clasped)
        return status ? status : answer_with(call, &walls.first);
    return answer_holding(work, call, keep, &walls.first);
}

/* Adds the way of the last step to the answers of a region, which stand by depth, the least first:
 * so the depth of bodies that move does not jump when the choice of the other ways changes. */
static abut_status add_hint_way(patch_work *work, patch_call *call, size_t i, uint32_t keep,
                                patch_answer answers[PATCH_WAYS + 1], int *count) {
    patch_answer answer;
    if (v3_max_abs(call->hint) == 0)
        return ABUT_OK;
    vec3 way = v3_normalise(call->hint);
    for (int k = 0; k < *count; k++)
        if (v3_dot(answers[k].normal, way) > SAME_WAY_COSINE)
            return ABUT_OK;
    abut_status status = abuti_patch_points_along(work, &work->regions[i], way, PATCH_REGION, keep,
                                                  call->gap, &answer);
    if (status || !answer.count || !(answer.depth > 0))
        return status;
    bool apart;
    double depth = answer.depth;
    status = shift_along(call, way, &depth, &apart);
    if (status || !apart || (*count && depth > SINGLE_DEPTHS * answers[0].depth))
        return status;
    set_depth(&answer, depth);
    answer.of_faces = true;
    int k = (*count)++;
    for (; k > 0 && answers[k - 1].depth > answer.depth; k--)
        answers[k] = answers[k - 1];
    answers[k] = answer;
    return ABUT_OK;
}

/* Adds an answer that separates if it goes a little further along its normal. */
static abut_status choose_extended(patch_call *call, const patch_answer *answer) {
    patch_answer further = *answer;
    double depth = answer->depth;
    bool apart;
    if (!(depth > 0))
        return ABUT_OK;
    abut_status status = shift_along(call, answer->normal, &depth, &apart);
    if (status || !apart || depth > EXTENDED * answer->depth)
        return status;
    set_depth(&further, depth);
    call->separates = true;
    return add_answer(call, &further);
}

/* Local answers of the only region, the least deep first: of surfaces that look many ways its
 * walls, otherwise along several normals; few of these where `effort` says so. */
static abut_status find_local_ways(patch_work *work, patch_call *call, size_t i, uint32_t keep,
                                   patch_effort *effort, patch_answer answers[PATCH_WAYS + 1],
                                   int *count) {
    abut_status status = ABUT_OK;
    if (abuti_patch_cancels(work, &work->regions[i])) {
        *effort = PATCH_ALL;
        status = abuti_patch_walls(work, &work->regions[i], keep, call->gap, answers, count);
        for (int k = 0; k < *count / 2; k++) {
            patch_answer swap = answers[k];
            answers[k] = answers[*count - 1 - k];
            answers[*count - 1 - k] = swap;
        }
        return status;
    }
    status = answer_region(work, call, i, keep, effort, answers, count);
    return status ? status : add_hint_way(work, call, i, keep, answers, count);
}

/* Whether all walls push a back against the way that it came: it has gone through the other body.
 */
static bool is_against_hint(const patch_call *call, const patch_answer *walls, int count) {
    if (v3_max_abs(call->hint) == 0)
        return false;
    for (int i = 0; i < count; i++)
        if (v3_dot(walls[i].normal, call->hint) > 0)
            return false;
    return true;
}

/* Chooses for the only region, from its local answers: a single normal that is hardly deeper than
 * the least, or walls that separate together. */
static abut_status answer_alone_locally(patch_work *work, patch_call *call, size_t i, uint32_t keep,
                                        patch_effort effort, patch_answer answers[PATCH_WAYS + 1],
                                        int *count) {
    abut_status status = ABUT_OK;
    bool resolved;
    if (*count)
        status = choose_single(call, answers, 1, INFINITY);
    if (!status && !call->separates && *count)
        status = choose_extended(call, &answers[0]);
    if (!status && !call->separates && effort == PATCH_LEAST) {
        effort = PATCH_ALL;
        status = find_local_ways(work, call, i, keep, &effort, answers, count);
    }
    if (!status && !call->separates && *count)
        status = choose_single(call, answers, *count,
                               SINGLE_DEPTHS * real_max(answers[0].depth, HAIR * call->size));
    return status || call->separates ? status : answer_walls(work, call, keep, &resolved);
}

/* Chooses for the only region: from its local answers, or, where a body has gone through the other,
 * a normal of the way through. */
static abut_status answer_alone(patch_work *work, patch_call *call, size_t i, uint32_t keep) {
    patch_answer answers[PATCH_WAYS + 1];
    int count;
    bool cancels = abuti_patch_cancels(work, &work->regions[i]);
    patch_effort effort = PATCH_LEAST;
    abut_status status = find_local_ways(work, call, i, keep, &effort, answers, &count);
    if (!status && !(cancels && is_against_hint(call, answers, count)))
        status = answer_alone_locally(work, call, i, keep, effort, answers, &count);
    if (status || call->separates || call->clasped || !cancels)
        return status;
    call->pierced = true;
    patch_answers walls = {call->answers, call->count, call->room};
    call->count = 0;
    effort = PATCH_LEAST;
    for (int k = 0; k < 2 && !status && !call->separates && (!k || effort == PATCH_LEAST); k++) {
        effort = k ? PATCH_ALL : PATCH_LEAST;
        status = answer_region(work, call, i, keep, &effort, answers, &count);
        if (!status)
            status = choose_single(call, answers, count, INFINITY);
    }
    if (status || call->separates)
        return status;
    if (count)
        return add_answer(call, &answers[0]);
    call->answers = walls.list;
    call->count = walls.count;
    return ABUT_OK;
}

static abut_status answer_regions(patch_work *work, patch_call *call, uint32_t keep) {
    abut_status status = answer_parts(work, call, false, keep);
    size_t regions = call->count, last = 0;
    bool resolved;
    call->parts = regions > 0;
    for (size_t i = 0; i < work->region_count; i++)
        if (region_counts(work, call, i)) {
            regions++;
            last = i;
        }
    if (status || !regions)
        return status;
    if (!call->options.unchecked) {
        if (regions == 1 && !call->parts)
            return answer_alone(work, call, last, keep);
        status = answer_walls(work, call, keep, &resolved);
        call->pierced = !resolved;
        return status;
    }
    for (size_t i = 0; i < work->region_count && !status; i++) {
        patch_answer answers[PATCH_WAYS];
        patch_effort effort = PATCH_UNCHECKED;
        int count;
        status = answer_region(work, call, i, keep, &effort, answers, &count);
        if (!status && count)
            status = add_answer(call, &answers[0]);
    }
    return status;
}

/* The unit normal of two triangles that touch; of needles without normals any. */
static vec3 way_of_triangles(const patch_work *work, uint32_t triangle_a, uint32_t triangle_b) {
    vec3 n[2];
    for (int side = 0; side < 2; side++) {
        const patch_body *body = &work->body[side];
        const uint32_t *corner = body->skin->corner + 3 * (size_t)(side ? triangle_b : triangle_a);
        n[side] = abuti_unit_normal(patch_true(body, corner[0]), patch_true(body, corner[1]),
                                    patch_true(body, corner[2]));
    }
    vec3 way = v3_normalise(v3_sub(n[1], n[0]));
    if (v3_max_abs(way) > 0)
        return way;
    return v3_max_abs(n[1]) > 0 ? n[1] : v3(0, 0, 1);
}

/* Where no contour is: one inside the other, or a touch, or nothing. */
static abut_status answer_rest(patch_work *work, patch_call *call, uint32_t keep) {
    pair_frame frame;
    uint32_t triangle[2];
    patch_answer answer;
    abuti_pair_start(&call->posed[0], &call->posed[1], &frame);
    bool meets = work->near && abuti_pair_meets(&frame, triangle);
    abut_status status = abuti_stop_status("contacts");
    if (status)
        return status;
    call->meets |= meets;
    if (meets && !call->even) { /* as where one is in the place of the other */
        call->even = true;
        start_work(work, call->memory);
        status = find(work, call);
        status = status || !work->region_count ? status : answer_regions(work, call, keep);
        if (status || call->count)
            return status;
    }
    if (meets) {
        /* By a skin without thickness, as where normals cancel: from the triangles. */
        abut_segment segment;
        vec3 way = way_of_triangles(work, triangle[0], triangle[1]);
        triangle_triangle_meet(pair_triangle(&frame.side[0], triangle[0]),
                               pair_triangle(&frame.side[1], triangle[1]), &segment);
        vec3 point = v3_sub(segment.end[0], work->body[1].bvh->mesh->origin);
        answer = (patch_answer){.normal = way, .centre = point, .region = ABUT_NONE, .count = 1};
        answer.points[0] = (patch_point){.at = point,
                                         .side = 0,
                                         .kind = ABUT_CONTACT_FACE,
                                         .element = triangle[0]};
        return add_answer(call, &answer);
    }
    return answer_parts(work, call, true, keep);
}

/* Whether all regions are so thin that they may be those of bodies that are apart. */
static bool is_thin(const patch_work *work, const patch_call *call) {
    for (size_t i = 0; i < work->region_count; i++) {
        const patch_region *r = &work->regions[i];
        double area = 0;
        for (uint32_t k = r->facet_begin; k < r->facet_end; k++)
            area += patch_area_length(work->facets[k].area);
        if (fabs(r->volume) > TOUCH * call->size * area)
            return false;
    }
    return work->region_count > 0;
}

/* What the contours tell, or the rest. */
static abut_status answer_found(patch_work *work, patch_call *call, uint32_t keep) {
    abut_status status = ABUT_OK;
    bool apart = false;
    if (is_thin(work, call))
        status = are_apart(work, call, true, &apart);
    if (!status && apart) {
        bool within;
        status = abuti_pair_within(&call->posed[0], &call->posed[1], call->gap, false, NULL,
                                   &within, &call->doubt);
        if (status || !within)
            return status;
    }
    if (!status && work->region_count)
        status = answer_regions(work, call, keep);
    return status || call->count ? status : answer_rest(work, call, keep);
}

/* How far apart bodies may be by rounding that touch. */
static double gap_of_touch(const patch_call *call) {
    return real_max(GAP * call->size, ROUNDING * call->largest);
}

/* ---- surfaces that hardly touch ---- */

/* The contour is that of bodies that are larger by some JITTER, so it may be there although the
 * bodies are apart. Then depths are none: contacts of bodies that touch within rounding have a
 * depth of 0, and all others are left to the search for proximity. */
static abut_status settle_touch(patch_work *work, patch_call *call) {
    bool apart, within;
    unsigned doubt = 0;
    if (!call->count || call->parts ||
        (!call->sheets && call->answers[0].depth > TOUCH * call->size && !is_thin(work, call)))
        return ABUT_OK;
    abut_status status = are_apart(work, call, true, &apart);
    if (status || !apart)
        return status;
    status = abuti_pair_within(&call->posed[0], &call->posed[1], call->gap, false, NULL, &within,
                               &doubt);
    if (status)
        return status;
    size_t kept = 0;
    call->separates = true;
    for (size_t i = 0; i < call->count && within; i++) {
        patch_answer answer = call->answers[i];
        if (answer.depth >
            TOUCH * call->size) /* along another wall, or of the wrong side of a sheet */
            continue;
        answer.depth = real_min(answer.depth, 0);
        for (uint32_t k = 0; k < answer.count; k++)
            answer.points[k].depth = real_min(answer.points[k].depth, 0);
        call->answers[kept++] = answer;
    }
    call->count = kept;
    return ABUT_OK;
}

/* ---- proximity ---- */

/* Adds the closest points, if they are within the margin: of needles, which have no faces. */
static abut_status answer_nearest(const patch_work *work, patch_call *call) {
    abut_separation found;
    abut_status status = abuti_pair_distance(&call->posed[0], &call->posed[1], false, NULL, &found);
    if (status || found.distance > call->options.margin ||
        (call->count && call->answers[0].depth >= -found.distance))
        return status;
    vec3 way = v3_sub(found.point_a, found.point_b), normal = v3_normalise(way);
    if (v3_max_abs(normal) == 0) /* apart by less than rounding */
        normal = way_of_triangles(work, found.triangle_a, found.triangle_b);
    patch_answer answer = {.normal = normal,
                           .depth = -found.distance,
                           .centre = v3_sub(v3_along(found.point_b, 0.5, way),
                                            work->body[1].bvh->mesh->origin),
                           .region = ABUT_NONE,
                           .count = 1};
    answer.points[0] = (patch_point){.at = answer.centre,
                                     .depth = answer.depth,
                                     .kind = ABUT_CONTACT_FACE,
                                     .element = found.triangle_a};
    return add_answer(call, &answer);
}

/* Adds walls within the margin. */
static abut_status answer_proximity(patch_work *work, patch_call *call, uint32_t keep) {
    const abut_posed *a = &call->posed[0], *b = &call->posed[1];
    double range = call->options.margin, wide = WIDE * call->size;
    bool overlaps = call->count > 0;
    bool needles = work->body[0].skin->has_needles || work->body[1].skin->has_needles;
    pair_frame frame;
    call->separates |= !overlaps;
    if (range > wide && !overlaps) {
        abut_separation found;
        abut_status status = abuti_pair_distance(a, b, false, NULL, &found);
        if (status || found.distance > range)
            return status;
        wide += found.distance;
    }
    abuti_pair_start(a, b, &frame);
    patch_answers answers = {call->answers, call->count, call->room};
    abut_status status =
        abuti_patch_proximity(work, &frame, real_min(range, wide), keep, overlaps, &answers);
    call->answers = answers.list;
    call->count = answers.count;
    call->room = answers.room;
    if (!status && !overlaps && (needles || (range > wide && !call->count)))
        status = answer_nearest(work, call);
    call->meets |= call->count > 0;
    return status;
}

/* ---- certain depths ---- */

/* Ways to go, the least depth first. */
typedef struct patch_ways {
    int count, room; /* at most TOGETHER */
    vec3 way[TOGETHER];
    double depth[TOGETHER];
} patch_ways;

/* Adds a way, unless it is deeper than `most` or than all those for which there is room. */
static abut_status add_way(patch_work *work, vec3 way, double most, patch_ways *ways) {
    double depth;
    int k = ways->count;
    if (k == ways->room)
        most = real_min(most, ways->depth[k - 1]);
    abut_status status = abuti_patch_depth(work, way, most, &depth);
    if (status || !(depth > 0) || !(depth <= most))
        return status;
    k = k == ways->room ? k - 1 : ways->count++;
    for (; k > 0 && depth < ways->depth[k - 1]; k--) {
        ways->depth[k] = ways->depth[k - 1];
        ways->way[k] = ways->way[k - 1];
    }
    ways->depth[k] = depth;
    ways->way[k] = way;
    return ABUT_OK;
}

/* Contacts of all regions along one normal, the first of the ways that separates; none that is
 * deeper than `most`. */
static abut_status go_one_way(patch_work *work, patch_call *call, patch_ways *ways, double most,
                              uint32_t keep) {
    abut_status status = ABUT_OK;
    int i = 0;
    for (; i < ways->count && ways->depth[i] <= most && !status && !call->separates; i++) {
        status = shift_along(call, ways->way[i], &ways->depth[i], &call->separates);
        call->separates &= ways->depth[i] <= most;
    }
    if (status || !call->separates)
        return status;
    i--;
    size_t gaps = 0;
    for (size_t k = 0; k < call->count; k++)
        if (!(call->answers[k].depth > 0))
            call->answers[gaps++] = call->answers[k];
    call->count = gaps;
    for (size_t r = 0; r < work->region_count && !status; r++) {
        patch_answer answer = {.count = 0};
        if (region_counts(work, call, r) && !work->regions[r].gap)
            status = abuti_patch_points_along(work, &work->regions[r], ways->way[i], PATCH_AUTO,
                                              keep, call->gap, &answer);
        if (!status && answer.count)
            status = add_answer(call, &answer);
    }
    call->separates = call->count > gaps;
    if (!status && call->separates)
        set_depth(&call->answers[0], ways->depth[i]);
    return status;
}

/* Where the normals of regions do not separate: one for all of them, of these; else one of many.
 * With a hint, so between bodies that were apart or nearly so before, regions keep their own if all
 * others are much deeper: bodies that clasp each other are not thrown apart through each other. */
static abut_status check_together(patch_work *work, patch_call *call, uint32_t keep) {
    patch_ways ways = {.count = 0};
    abut_status status = ABUT_OK;
    double most = v3_max_abs(call->hint) > 0 || !call->pierced
                      ? ADDED * real_max(call->answers[0].depth, 0) + NEARLY * call->size
                      : INFINITY;
    for (ways.room = 1; ways.room <= TOGETHER && !status && !call->separates;
         ways.room += TOGETHER - 1) { /* the least alone separates nearly always */
        ways.count = 0;
        for (size_t i = 0; i < call->count && call->count > 1 && !status; i++)
            status = add_way(work, call->answers[i].normal, most, &ways);
        status = status ? status : go_one_way(work, call, &ways, most, keep);
    }
    ways.room = TOGETHER;
    ways.count = 0;
    for (int i = 0; i < 27 && !status && !call->separates; i++)
        if (i != 13)
            status =
                add_way(work, v3_normalise(v3(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1)), most, &ways);
    return status || call->separates ? status : go_one_way(work, call, &ways, most, keep);
}

/* The normals of the faces that the contour runs through, one of those that look about the same
 * way; both directions of each. */
static int find_contour_ways(const patch_work *work, vec3 ways[CONTOUR_WAYS]) {
    int count = 0;
    for (size_t i = 0; i < 2 * work->segment_count && count + 2 <= CONTOUR_WAYS; i++) {
        const patch_body *body = &work->body[i % 2];
        const uint32_t *corner = body->skin->corner + 3 * (size_t)work->segments[i / 2].face[i % 2];
        vec3 normal = abuti_unit_normal(patch_true(body, corner[0]), patch_true(body, corner[1]),
                                        patch_true(body, corner[2]));
        bool is_known = v3_max_abs(normal) == 0;
        for (int k = 0; k < count; k++)
            is_known |= v3_dot(ways[k], normal) > SAME_WAY_COSINE;
        if (is_known)
            continue;
        ways[count++] = normal;
        ways[count++] = v3_scale(normal, -1);
    }
    return count;
}

/* The part of a sheet that is beyond a face has the area of the sheet, not of the face: where both
 * are nearly perpendicular, the way out along the face is not among those that areas give. So it is
 * searched for among all faces of the contour, if it could be much shorter. */
static abut_status shorten_sheet(patch_work *work, patch_call *call, uint32_t keep) {
    const double most = SHORTER * call->answers[0].depth;
    const bool separates_before = call->separates;
    patch_ways ways = {.room = TOGETHER};
    vec3 normals[CONTOUR_WAYS];
    const int count = find_contour_ways(work, normals);
    abut_status status = ABUT_OK;
    call->separates = false;
    work->is_sheet_edge = true;
    for (size_t i = 0; i < work->region_count; i++) /* of sheets without depth that way, too */
        work->regions[i].gap = false;
    for (int i = 0; i < count && !status; i++)
        if (!(v3_dot(normals[i], call->hint) < 0))
            status = add_way(work, normals[i], most, &ways);
    if (!status && ways.count)
        status = go_one_way(work, call, &ways, most, keep);
    call->separates |= separates_before;
    work->is_sheet_edge = false;
    return status;
}

/* Checks what has not been: several patches together; and where one alone does not separate, adds
 * what is left along its normal. */
static abut_status check(patch_work *work, patch_call *call, uint32_t keep) {
    patch_answer *deepest = &call->answers[0];
    abut_status status = ABUT_OK;
    if (call->count == 1) {
        double before = real_max(deepest->depth, 0), depth = before;
        status = shift_along(call, deepest->normal, &depth, &call->separates);
        if (call->separates && depth > before)
            set_depth(deepest, depth);
    } else {
        vec3 shift;
        bool feasible = common_shift(call, call->answers, call->count, &shift);
        status = feasible ? apart_after(call, shift, &call->separates) : ABUT_OK;
        call->clasped = !feasible && walls_hold(call, call->answers, call->count);
    }
    return status || call->separates || call->clasped || call->parts || !work->region_count
               ? status
               : check_together(work, call, keep);
}

/* Walls of one region have its volume: the deepest of them keeps it, so that volumes of patches add
 * up to that of the overlap. */
static void count_volumes_once(patch_call *call) {
    for (size_t i = 1; i < call->count; i++)
        for (size_t k = 0; k < i && call->answers[i].region != ABUT_NONE; k++)
            if (call->answers[k].region == call->answers[i].region)
                call->answers[i].volume = 0;
}

/* ---- the public function ---- */

static abut_status check_call(const abut_posed *a, const abut_posed *b,
                              const abut_patch_options *options, patch_call *call,
                              const abut_patches *patches) {
    const char *name = "abut_contact_patches";
    abut_status status = abuti_pair_check(name, a, b, patches, "patches");
    return status ? status : abuti_patch_options(name, options, patches, &call->options);
}

/* All steps for a pair, with each body as its skin is chosen. */
static abut_status answer_pair(patch_work *work, patch_call *call) {
    uint32_t keep = call->options.keep;
    start_work(work, call->memory);
    abut_status status = find(work, call);
    if (status)
        return status;
    call->size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    call->gap = gap_of_touch(call);
    call->meets = work->segment_count > 0;
    status = answer_found(work, call, keep);
    status = status ? status : settle_touch(work, call);
    if (!status && call->count && !call->options.unchecked && !call->separates && !call->clasped)
        status = check(work, call, keep);
    if (!status && call->sheets && call->count && !call->parts && !call->options.unchecked)
        status = shorten_sheet(work, call, keep);
    for (size_t i = 0; i < call->count && !status; i++)
        if (call->answers[i].region != ABUT_NONE)
            abuti_patch_local_normals(work, &call->answers[i]);
    if (!status && call->options.margin > 0)
        status = answer_proximity(work, call, keep);
    return status;
}

/* The volume of all overlaps, or of two sheets their area, with each body as its skin is chosen. */
static abut_status overlap_extent(patch_work *work, patch_call *call, bool is_area,
                                  double *extent) {
    start_work(work, call->memory);
    abut_status status = find(work, call);
    *extent = 0;
    for (size_t i = 0; i < work->region_count && !status && !is_area; i++)
        *extent += fabs(work->regions[i].volume);
    for (size_t i = 0; i < work->facet_count && !status && is_area; i++)
        *extent += patch_area_length(work->facets[i].area);
    return status;
}

/* A sheet has two sides and no inside: it is turned so that it cuts off the smaller part of the
 * other body. */
static abut_status answer_sheets(patch_work *work, patch_call *call) {
    bool sheet[2];
    double least = INFINITY;
    for (int side = 0; side < 2; side++) {
        const bvh_interior *interior;
        abut_status status = abuti_bvh_interior(call->posed[side].bvh, &interior);
        if (status)
            return status;
        sheet[side] = !interior->has_solids;
    }
    call->sheets = sheet[0] || sheet[1];
    int best = 0;
    for (int turned = 0; turned < 4 && call->sheets && least > 0; turned++) {
        double extent;
        if ((turned & 1 && !sheet[0]) || (turned & 2 && !sheet[1]))
            continue;
        call->turned[0] = turned & 1;
        call->turned[1] = turned & 2;
        abut_status status = overlap_extent(work, call, sheet[0] && sheet[1], &extent);
        if (status)
            return status;
        if (extent < least) {
            best = turned;
            least = extent;
        }
    }
    call->turned[0] = best & 1;
    call->turned[1] = best & 2;
    return answer_pair(work, call);
}

abut_status abut_contact_patches(const abut_posed *a, const abut_posed *b,
                                 const abut_patch_options *options, abut_patches *patches) {
    patch_call call = {.count = 0};
    abut_status status = check_call(a, b, options, &call, patches);
    if (status)
        return status;
    abut_context *before = abuti_context_enter(a->bvh->context); /* whatever the order is */
    call.swapped = !in_order(a, b);
    const abut_posed *first = call.swapped ? b : a, *second = call.swapped ? a : b;
    abut_pose back = pose_inverse(&second->pose);
    call.posed[0] = (abut_posed){NULL, pose_multiply(&back, &first->pose)};
    call.posed[1] = (abut_posed){NULL, {{0, 0, 0, 1}, {0, 0, 0}}};
    call.largest = real_max(v3_max_abs(a->pose.translation), v3_max_abs(b->pose.translation));
    patch_frame frame = {.function = "abut_contact_patches",
                         .motion = abuti_motion_of(&second->pose),
                         .origin = second->bvh->mesh->origin,
                         .swapped = call.swapped,
                         .pair = call.options.pair,
                         .context = a->bvh->context};
    mat3 turn_back = m3_transpose(&frame.motion.rotation);
    call.hint = m3_apply(&turn_back, v3_scale(call.options.hint, call.swapped ? -1 : 1));
    patch_memory memory;
    patch_work work;
    abuti_patch_memory_start(&memory, a->bvh->context);
    call.memory = &memory;
    status = abuti_bvh_cpu_tree(first->bvh, &call.posed[0].bvh);
    status = status ? status : abuti_bvh_cpu_tree(second->bvh, &call.posed[1].bvh);
    status = status ? status : answer_sheets(&work, &call);
    count_volumes_once(&call);
    if (!status) {
        const bool exact = !call.meets && !(call.doubt & (3 * PAIR_HOLES | 3 * PAIR_FLIPS));
        status = abuti_patch_write(&frame, call.answers, call.count, call.separates,
                                   abuti_patch_advice(work.body[0].skin, work.body[1].skin, exact),
                                   patches);
    }
    abuti_patch_memory_end(&memory);
    abuti_context_leave(before);
    return status;
}
