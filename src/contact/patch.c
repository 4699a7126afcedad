/* Contacts of two meshes from exact geometry: the order of the steps, and the public function.
 *
 * 1. Both bodies are put into a canonical order, so that swapping a and b gives the same answer. A
 *    sheet is turned so that it cuts off the smaller part of the other body.
 * 2. The contour of both surfaces divides the overlap into regions (patch_contour.c). A region is
 *    measured along several normals, or divided into walls (patch_point.c). An exact test verifies
 *    that the depths separate the bodies. If they do not, separate() tries two kinds of shifts by
 *    increasing depth: the joint shift of all walls, to which the remaining overlap adds walls, and
 *    shifts along one normal, which the remaining overlap extends.
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
#define ADDED 4.0        /* times as deep as all walls may a normal be, with a hint */
#define NEARLY 0.01      /* of the smaller body: the least by which a shift is made longer */
#define WIDE 0.05        /* of the smaller body: walls further behind the nearest are left out */
#define SAME_WALL_COSINE 0.99 /* between the normals of one wall in two rounds: 8 degrees */
#define SAME_WAY_COSINE 0.98  /* between normals of which one is enough: 11 degrees */
#define SAME_DEPTH 1e-3       /* of a depth: by which another is the same */
#define REST_OF_WALL 0.5      /* of the depth of a wall: what is left of it after a shift */
#define OTHER_WALL_COSINE 0.7 /* between the normals of two walls: 45 degrees */
#define WEDGE_THICKNESS 3.0   /* times as deep as thick on average is a wedge, at least */
#define WEDGE_DEPTH 0.5       /* of the depth of a wedge: its walls are less deep on average */
#define SHORTER 0.8    /* times as deep, or less, is a way out of a sheet that replaces another */
#define AS_SHALLOW 1.5 /* times as deep as the shallowest wall of a region, or less */
#define SHALLOW 0.05   /* of the smaller body: opposite walls that are less deep hold the body */
#define OPPOSITE_COSINE (-0.5) /* between the normals of opposite walls: 120 degrees */
#define TOUCH 1e-6 /* of the smaller body: depths that are no more may be those of bodies apart */
#define SAME_VIEW 0.1 /* of their distance: equal bodies that see each other at one place */
#define GAP 1e-12     /* of the smaller body: bodies that touch may be this far apart by rounding */

enum {
    WALL_ROUNDS = 8,
    TRIES = 128, /* shifts of a pair */
    WAY_CAPACITY = 64,
    SHIFT_ROUNDS = 512,
    MANY = 32,
    SOME_SEGMENTS = 8,
    FIT_WALLS = 3,    /* shallow walls of a body that is in a tight fit, at least */
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
    double jitter = real_max(JITTER * real_min(a->skin->size, b->skin->size), ROUNDING * largest);
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

static void set_depth(patch_answer *answer, double depth) {
    answer->depth = answer->points[0].depth = depth;
}

/* ---- walls of a pair ---- */

/* A normal along which a is shifted, and by how much at least until it separates. */
typedef struct way_out {
    vec3 normal;
    double depth;
    bool is_measured; /* over all of the overlap; otherwise at one place */
} way_out;

/* Shifts that are tried. */
typedef struct wall_search {
    const patch_work *work;        /* before any shift */
    patch_answers together, first; /* walls that are to separate together; all of the first round */
    vec3 shift;                    /* that satisfies them */
    double depth;                  /* the largest of them; infinite if they do not separate */
    int rounds;                    /* that added walls */
    int way_count;
    way_out ways[WAY_CAPACITY];
} wall_search;

/* The region whose contour is nearest, by its centre. */
static uint32_t nearest_region(const patch_work *work, vec3 at) {
    uint32_t nearest = ABUT_NONE;
    double least = INFINITY;
    for (size_t i = 0; i < work->region_count; i++) {
        double distance = v3_length_sq(v3_sub(work->regions[i].centre, at));
        if (distance < least) {
            least = distance;
            nearest = (uint32_t)i;
        }
    }
    return nearest;
}

/* Adds a wall that was found after a shift: its depth is that before the shift. What is left of a
 * wall of an earlier round makes that one deeper: by twice as much from the third round on, since
 * shifts that slide along other walls approach it ever more slowly. */
static abut_status add_wall(const patch_call *call, wall_search *s, const patch_answer *found) {
    const bool first_round = !s->rounds;
    patch_answer wall = *found;
    patch_answers *walls = &s->together;
    if (!first_round)
        wall.region = nearest_region(s->work, wall.points[0].at);
    double before = v3_dot(s->shift, wall.normal), rest = (s->rounds > 2 ? 2 : 1) * wall.depth;
    for (size_t i = 0; i < walls->count && !first_round; i++)
        if (walls->list[i].region == wall.region &&
            v3_dot(walls->list[i].normal, wall.normal) > SAME_WALL_COSINE &&
            wall.depth < REST_OF_WALL * walls->list[i].depth) {
            patch_answer *same = &walls->list[i];
            double along = v3_dot(s->shift, same->normal) + real_max(rest, 0);
            same->depth = same->points[0].depth = real_max(same->depth, along);
            return ABUT_OK;
        }
    wall.depth += before;
    uint32_t count = wall.count;
    wall.count = 0;
    for (uint32_t k = 0; k < count; k++) {
        patch_point point = wall.points[k];
        point.at = v3_sub(point.at, v3_scale(s->shift, 0.5));
        point.depth += before;
        if (point.depth >= -call->gap || !wall.count)
            wall.points[wall.count++] = point;
    }
    if (!first_round)
        wall.volume = 0; /* that of the region is known from the first round */
    return abuti_patch_add(call->memory, &walls->list, &walls->count, &walls->room, &wall);
}

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
 * which is seen in the next round. */
static abut_status add_region_walls(patch_work *work, patch_call *call, size_t i, uint32_t keep,
                                    wall_search *s) {
    const bool first_round = !s->rounds;
    patch_answer answers[PATCH_WAYS];
    int count = 0;
    double most = INFINITY;
    abut_status status = ABUT_OK;
    bool cancels = abuti_patch_cancels(work, &work->regions[i]);
    if (!cancels) {
        status = abuti_patch_points(work, &work->regions[i], call->hint, keep, call->gap, false,
                                    &answers[0]);
        count = !status && answers[0].count;
    }
    const bool divides = cancels || (count && answers[0].is_rim);
    if (!status && (divides || (count && may_be_wedge(&work->regions[i], answers[0].depth)))) {
        const double single = divides ? INFINITY : answers[0].depth;
        patch_answer found[PATCH_WAYS];
        int found_count;
        status = abuti_patch_walls(work, &work->regions[i], keep, call->gap, found, &found_count);
        if (!status &&
            (cancels || (divides && found_count > 1) || is_wedge(found, found_count, single))) {
            count = 0;
            for (int k = 0; k < found_count; k++) {
                if (!(found[k].depth < single))
                    continue;
                most = real_min(most, found[k].depth);
                answers[count++] = found[k];
            }
            most = AS_SHALLOW * real_max(most, HAIR * call->size);
        }
    }
    if (first_round && !status)
        work->regions[i].gap = count ? !(answers[0].depth > 0) : !cancels;
    for (int k = 0; k < count && !status; k++) {
        if (answers[k].depth <= most)
            status = add_wall(call, s, &answers[k]);
        if (first_round && !status)
            status = append(call, &s->first, &answers[k]);
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
        if (answer->region == wall->region &&
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
        for (int k = 0; k < count && !status; k++) {
            patch_answer *wall = &walls[k];
            double along = v3_dot(shift, wall->normal);
            if (wall->depth > SHALLOW * call->size ||
                wall->depth > (1 + SAME_DEPTH) * along + HAIR * call->size || has_wall(call, wall))
                continue;
            if (wall->depth > along) /* of the same depth as another wall, within rounding */
                set_depth(wall, along);
            status = add_answer(call, wall);
        }
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* Adds walls of the overlap at the shift so far, and finds the least shift that satisfies all.
 * Opposite walls that hold a body end the search. */
static abut_status add_walls(patch_work *work, patch_call *call, uint32_t keep, wall_search *s) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < work->region_count && !status; i++)
        if (region_counts(work, call, i))
            status = add_region_walls(work, call, i, keep, s);
    s->depth = INFINITY;
    if (status || !s->together.count)
        return status;
    if (common_shift(call, s->together.list, s->together.count, &s->shift))
        for (size_t i = 0; i < s->together.count; i++)
            s->depth = real_max(i ? s->depth : 0, s->together.list[i].depth);
    else
        call->clasped = walls_hold(call, s->together.list, s->together.count);
    return status;
}

/* Contours after a shift. */
static abut_status find_after(const patch_call *call, vec3 shift, patch_work *later) {
    patch_call moved = *call;
    moved.posed[0].pose.translation = v3_add(call->posed[0].pose.translation, shift);
    start_work(later, call->memory);
    return find(later, &moved);
}

/* Tries the shift of the walls. If it does not separate, the walls of what still overlaps are
 * added. */
static abut_status try_walls(patch_work *work, patch_call *call, uint32_t keep, wall_search *s) {
    patch_work later;
    abut_status status = apart_after(call, s->shift, &call->separates);
    if (status)
        return status;
    if (!call->separates) {
        const double before = v3_length_sq(s->shift);
        s->rounds++;
        status = find_after(call, s->shift, &later);
        status = status ? status : add_walls(&later, call, keep, s);
        if (!(v3_length_sq(s->shift) > before) ||
            ++s->rounds == WALL_ROUNDS) /* nothing was added */
            s->depth = INFINITY;
        return status;
    }
    if (s->together.count == 1 && !s->rounds) /* measured along its normal: exact */
        return answer_with(call, &s->together);
    status = answer_separating(call, &s->together, s->shift);
    if (!status && call->separates && call->count > 1 &&
        v3_length(s->shift) <= SHALLOW * call->size)
        status = complete_walls(work, call, keep, s->shift);
    s->depth = INFINITY;
    return status;
}

/* Adds a normal, with the depth at one place. */
static abut_status add_way(patch_work *work, const patch_call *call, vec3 normal, wall_search *s) {
    double depth;
    for (int i = 0; i < s->way_count; i++)
        if (v3_dot(s->ways[i].normal, normal) > SAME_WAY_COSINE)
            return ABUT_OK;
    if (s->way_count == WAY_CAPACITY)
        return ABUT_OK;
    abut_status status = abuti_patch_depth(work, normal, 0, &depth);
    if (!status && depth > -HAIR * call->size) /* 0: of a sheet that lies flush */
        s->ways[s->way_count++] = (way_out){.normal = normal, .depth = real_max(depth, 0)};
    return status;
}

/* Whether a body has gone through the other: in the only region, or in several that have no wall,
 * as the legs of a stool through a plate. */
static bool has_gone_through(const patch_work *work, const patch_call *call, const wall_search *s) {
    size_t count = 0;
    for (size_t i = 0; i < work->region_count; i++)
        if (region_counts(work, call, i)) {
            if (!abuti_patch_cancels(work, &work->regions[i]))
                return false;
            count++;
        }
    return !call->parts && (count == 1 || (count && !s->first.count));
}

/* Normals along which a may be shifted: of walls, of large faces and the hint. Of a
 * body that has gone through the other, to the side of the hint. */
static abut_status add_ways(patch_work *work, patch_call *call, bool is_through, wall_search *s) {
    vec3 normals[PATCH_WAYS];
    abut_status status = ABUT_OK;
    if (!work->region_count) { /* one is inside the other */
        for (size_t i = 0; i < s->first.count && s->way_count < WAY_CAPACITY; i++)
            if (s->first.list[i].depth > 0)
                s->ways[s->way_count++] =
                    (way_out){s->first.list[i].normal, s->first.list[i].depth, true};
        return ABUT_OK;
    }
    for (size_t i = 0; i < s->first.count && !status; i++)
        status = add_way(work, call, s->first.list[i].normal, s);
    for (size_t i = 0; i < work->region_count && !status; i++) {
        int count = region_counts(work, call, i) && !work->regions[i].gap
                        ? abuti_patch_ways(work, &work->regions[i], normals)
                        : 0;
        for (int k = 0; k < count && !status; k++)
            status = add_way(work, call, normals[k], s);
    }
    if (!status && v3_max_abs(call->hint) > 0)
        status = add_way(work, call, v3_normalise(call->hint), s);
    if (is_through && v3_max_abs(call->hint) > 0) {
        int kept = 0;
        for (int i = 0; i < s->way_count; i++)
            if (v3_dot(s->ways[i].normal, call->hint) > 0)
                s->ways[kept++] = s->ways[i];
        s->way_count = kept;
    }
    return status;
}

/* Adds 26 directions, for bodies that no normal separates without a long way. */
static abut_status add_directions(patch_work *work, const patch_call *call, wall_search *s) {
    abut_status status = ABUT_OK;
    for (int i = 0; i < 27 && !status; i++)
        if (i != 13)
            status = add_way(work, call, v3_normalise(v3(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1)), s);
    return status;
}

/* Answers with contacts of all regions along one normal. */
static abut_status answer_one_way(patch_work *work, patch_call *call, const way_out *way,
                                  uint32_t keep, const wall_search *s) {
    abut_status status = ABUT_OK;
    call->count = 0;
    for (size_t r = 0; r < work->region_count && !status; r++) {
        patch_answer answer = {.count = 0};
        if (region_counts(work, call, r) && !work->regions[r].gap)
            status = abuti_patch_points_along(work, &work->regions[r], way->normal, PATCH_AUTO,
                                              keep, call->gap, &answer);
        if (!status && answer.count)
            status = add_answer(call, &answer);
    }
    call->separates = !work->region_count || call->count;
    for (size_t i = 0; i < s->first.count && !status; i++)
        if (work->region_count ? s->first.list[i].depth <= 0 && s->first.list[i].depth >= -call->gap
                               : v3_dot(s->first.list[i].normal, way->normal) > SAME_WALL_COSINE)
            status = add_answer(call, &s->first.list[i]);
    if (!status && call->separates && call->count)
        set_depth(&call->answers[0], real_max(way->depth, call->answers[0].depth));
    return status;
}

/* Tries a normal: measures it, then shifts along it. If that does not separate, the depth of what
 * still overlaps is added. */
static abut_status try_way(patch_work *work, patch_call *call, way_out *way, uint32_t keep,
                           const wall_search *s) {
    patch_work later;
    double depth = 0;
    abut_status status = ABUT_OK;
    if (!way->is_measured) {
        status = abuti_patch_depth(work, way->normal, INFINITY, &depth);
        way->depth = real_max(way->depth, depth);
        way->is_measured = true;
        return status;
    }
    const double out = way->depth * (1 + SLACK) + HAIR * call->size;
    const vec3 shift = v3_scale(way->normal, out);
    status = apart_after(call, shift, &call->separates);
    if (status)
        return status;
    if (call->separates) {
        status = answer_one_way(work, call, way, keep, s);
        way->depth = INFINITY;
        return status;
    }
    status = find_after(call, shift, &later);
    status = status ? status : abuti_patch_depth(&later, way->normal, INFINITY, &depth);
    way->depth = out + (depth > 0 ? depth : NEARLY * call->size);
    return status;
}

static way_out *shortest_way(wall_search *s) {
    way_out *shortest = NULL;
    for (int i = 0; i < s->way_count; i++)
        if (s->ways[i].depth < (shortest ? shortest->depth : INFINITY))
            shortest = &s->ways[i];
    return shortest;
}

/* Whether all walls push a back against the way that it came: it has gone through the other body.
 */
static bool is_against_hint(const patch_call *call, const patch_answers *walls) {
    for (size_t i = 0; i < walls->count; i++)
        if (v3_dot(walls->list[i].normal, call->hint) > 0)
            return false;
    return true;
}

/* Adds the normal of the last step for the only region: so the depth of bodies that move does not
 * jump when the choice of normals changes. */
static abut_status add_hint(patch_work *work, const patch_call *call, uint32_t keep,
                            wall_search *s) {
    const patch_answer *found = &s->first.list[0];
    const vec3 normal = v3_normalise(call->hint);
    patch_answer answer;
    if (s->first.count != 1 || found->region == ABUT_NONE ||
        v3_dot(found->normal, normal) > SAME_WAY_COSINE)
        return ABUT_OK;
    abut_status status = abuti_patch_points_along(work, &work->regions[found->region], normal,
                                                  PATCH_REGION, keep, call->gap, &answer);
    if (!status && answer.count && answer.depth > 0)
        s->ways[s->way_count++] = (way_out){normal, answer.depth, true};
    return status;
}

/* Answers with the shortest shift that separates: the least one that satisfies all walls, in rounds
 * that add the walls of what still overlaps, or along one normal. Normals are only measured if the
 * walls of the first round do not separate. Normals that are much deeper than all walls are left
 * out in a tight fit, and with a hint, so between bodies that were apart or nearly so
 * before: bodies that clasp each other are not thrown apart through each other. If no shift
 * separates, answers with the walls of the first round. */
static abut_status separate(patch_work *work, patch_call *call, uint32_t keep) {
    wall_search s = {.work = work};
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < call->count && !status; i++) { /* parts that are inside */
        status = append(call, &s.together, &call->answers[i]);
        status = status ? status : append(call, &s.first, &call->answers[i]);
    }
    call->count = 0;
    status = status ? status : add_walls(work, call, keep, &s);
    if (status)
        return status;
    const bool has_hint = v3_max_abs(call->hint) > 0, is_through = has_gone_through(work, call, &s);
    double deepest = 0;
    for (size_t i = 0; i < s.first.count; i++)
        deepest = real_max(deepest, s.first.list[i].depth);
    const double far = s.first.count ? ADDED * deepest + NEARLY * call->size : INFINITY;
    const bool is_fit = s.first.count >= FIT_WALLS && deepest < SHALLOW * call->size;
    const double limit = (has_hint || is_fit) && !is_through ? far : INFINITY;
    if (is_through && has_hint && is_against_hint(call, &s.first)) {
        s.depth = INFINITY;
        call->clasped = false;
    }
    if (has_hint && !is_through)
        status = add_hint(work, call, keep, &s);
    bool has_ways = false, has_directions = false;
    for (int i = 0; i < TRIES && !status && !call->separates && !call->clasped; i++) {
        way_out *way = shortest_way(&s);
        const bool is_far = !(s.depth < INFINITY) && !(way && way->depth <= far);
        if (has_ways && !has_directions && is_far && (!has_hint || !s.way_count)) {
            status = add_directions(work, call, &s);
            has_directions = true;
        } else if (way && way->depth <= limit && way->depth < s.depth) {
            status = try_way(work, call, way, keep, &s);
        } else if (s.depth < INFINITY && !(is_fit && s.depth > limit)) {
            status = try_walls(work, call, keep, &s);
        } else if (has_ways) {
            break;
        }
        if (!has_ways && (s.rounds || !(s.depth < INFINITY)) && !status && !call->separates &&
            !call->clasped) {
            status = add_ways(work, call, is_through, &s);
            has_ways = true;
        }
    }
    if (status || call->separates)
        return status;
    if (!s.first.count && s.way_count) { /* no wall, but what overlaps has a contact */
        const way_out way = {.normal = s.ways[0].normal};
        status = answer_one_way(work, call, &way, keep, &s);
        call->separates = false;
        return status;
    }
    return call->clasped ? answer_holding(work, call, keep, &s.first) : answer_with(call, &s.first);
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
    const double limit = SHORTER * call->answers[0].depth;
    const patch_call before = *call;
    wall_search s = {.work = work};
    vec3 normals[CONTOUR_WAYS];
    const int count = find_contour_ways(work, normals);
    abut_status status = ABUT_OK;
    call->answers = NULL;
    call->count = call->room = 0;
    call->separates = false;
    work->is_sheet_edge = true;
    for (size_t i = 0; i < work->region_count; i++) /* of sheets without depth that way, too */
        work->regions[i].gap = false;
    for (int i = 0; i < count && !status; i++)
        if (!(v3_dot(normals[i], call->hint) < 0))
            status = add_way(work, call, normals[i], &s);
    for (int i = 0; i < TRIES && !status && !call->separates; i++) {
        way_out *way = shortest_way(&s);
        if (!way || way->depth > limit)
            break;
        status = try_way(work, call, way, keep, &s);
    }
    work->is_sheet_edge = false;
    if (!status && !(call->separates && call->count && call->answers[0].depth <= limit))
        *call = before;
    return status;
}

static abut_status answer_regions(patch_work *work, patch_call *call, uint32_t keep) {
    abut_status status = answer_parts(work, call, false, keep);
    call->parts = call->count > 0;
    if (!status && !call->options.unchecked)
        return separate(work, call, keep);
    for (size_t i = 0; i < work->region_count && !status; i++) {
        patch_answer answer = {.count = 0};
        if (region_counts(work, call, i))
            status = abuti_patch_points(work, &work->regions[i], call->hint, keep, call->gap, true,
                                        &answer);
        if (!status && answer.count)
            status = add_answer(call, &answer);
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

/* Whether all regions are so thin, or so small that volumes are rounding errors, that they may be
 * those of bodies that are apart. */
static bool is_thin(const patch_work *work, const patch_call *call) {
    for (size_t i = 0; i < work->region_count; i++) {
        const patch_region *r = &work->regions[i];
        double area = 0;
        for (uint32_t k = r->facet_begin; k < r->facet_end; k++)
            area += patch_area_length(work->facets[k].area);
        if (r->length > PATCH_SPECK * call->size && fabs(r->volume) > TOUCH * call->size * area)
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
    if (!status && call->count && !work->region_count && !call->options.unchecked &&
        !call->separates)
        status = separate(work, call, keep);
    if (!status && call->sheets && call->count && work->region_count && !call->parts &&
        !call->options.unchecked)
        status = shorten_sheet(work, call, keep);
    for (size_t i = 0; i < call->count && !status; i++)
        if (call->answers[i].region != ABUT_NONE)
            abuti_patch_local_normals(work, &call->answers[i]);
    if (!status && call->options.margin > 0)
        status = answer_proximity(work, call, keep);
    return status;
}

/* The volume of all overlaps, or of two sheets their area, with each body as its skin is chosen;
 * infinity if skins do not intersect. */
static abut_status overlap_extent(patch_work *work, patch_call *call, bool is_area,
                                  double *extent) {
    start_work(work, call->memory);
    abut_status status = find(work, call);
    *extent = work->region_count ? 0 : INFINITY;
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
        if (!work->near)
            break;
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
