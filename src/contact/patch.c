/* Contacts of two meshes from exact geometry: the order of the steps, and the public function.
 *
 * 1. Both bodies are put into a canonical order, so that swapping a and b gives the same answer. A
 *    sheet is turned so that it cuts off the smaller part of the other body.
 * 2. The contour of both surfaces divides the overlap into regions (patch_contour.c). A region is
 *    measured along several normals, or divided into walls (patch_point.c). The shift that
 *    separates the bodies is found and verified in patch_separate.c.
 * 3. Surfaces within the margin add gaps (patch_proximity.c).
 * Without a contour, one body may be inside the other; or surfaces touch where the jitter of the
 * contour has no thickness, and the touching triangles make the contact. */
#include "contact/patch_separate.h"

#include "geom/intersect_shared.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define JITTER 1e-9      /* of the smaller body */
#define ROUNDING 0x1p-50 /* of the largest coordinate: of a posed vertex */
#define WIDE 0.05        /* of the smaller body: walls further behind the nearest are left out */
#define TOUCH 1e-6 /* of the smaller body: depths that are no more may be those of bodies apart */
#define SAME_VIEW 0.1 /* of their distance: equal bodies that see each other at one place */
#define GAP 1e-12     /* of the smaller body: bodies that touch may be this far apart by rounding */

enum { SOME_SEGMENTS = 8 };

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
void abuti_patch_start(patch_work *work, patch_memory *memory) {
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
abut_status abuti_patch_find_at(patch_work *work, const patch_call *call) {
    pair_frame frame;
    abut_status status = set_bodies(work, call);
    if (status)
        return status;
    abuti_pair_frame_init(&call->posed[0], &call->posed[1], &frame);
    double out = 0;
    for (int side = 0; side < 2; side++)
        out += work->body[side].grow * work->body[side].skin->reach + 2 * work->body[side].jitter;
    frame.pad += (float)(1.001 * out * frame.scale);
    return abuti_patch_find(work, &frame);
}

/* ---- answers ---- */

abut_status abuti_patch_add_answer(patch_call *call, const patch_answer *answer) {
    return abuti_patch_add(call->memory, &call->answers, &call->count, &call->room, answer);
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
        if (triangle_triangle_intersect(t[0], t[1], NULL) != ABUT_INTERSECTION_NONE)
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
            status = abuti_patch_apart_after(call, v3(0, 0, 0), &call->apart);
        call->apart_known = !status;
    }
    *apart = call->apart;
    return status;
}

/* Whether a region counts: the contour of a hole, or a speck beside others, does not. */
bool abuti_patch_region_counts(const patch_work *work, const patch_call *call, size_t i) {
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

/* Whether a part of a side that no contour runs through is inside the other body. `apart`: no
 * surfaces meet. */
static abut_status is_inside(const patch_work *work, patch_call *call, const pair_frame *frame,
                             uint32_t side, uint32_t part, bool apart, bool *inside) {
    const patch_skin *skin = work->body[side].skin;
    const patch_part *p = &skin->parts[part];
    return abuti_pair_vertex_inside(frame, (int)side, &call->posed[!side].pose,
                                    apart ? p->vertex : skin->corner[3 * (size_t)p->face], inside,
                                    &call->doubt);
}

/* Adds a region if a part, which is inside the other body, fills cavities of that. */
static abut_status enclose_part(patch_work *work, patch_call *call, const pair_frame *frame,
                                uint32_t side, uint32_t part, bool apart, bool *is_enclosed) {
    const patch_skin *other = work->body[!side].skin;
    bool *cavities = NULL;
    abut_status status = find_met(work, call, !side, &cavities);
    *is_enclosed = false;
    for (uint32_t i = 0; i < other->view.component_count && !status; i++) {
        const bool is_met = cavities[i];
        cavities[i] = false;
        if (!is_met && other->parts[i].is_cavity)
            status = is_inside(work, call, frame, !side, i, apart, &cavities[i]);
        *is_enclosed |= cavities[i];
    }
    return status || !*is_enclosed ? status : abuti_patch_enclose(work, side, part, cavities);
}

/* Volumes have a meaning only for closed surfaces. */
static bool are_closed(const patch_work *work) {
    return work->body[0].skin->reliability.level == ABUT_RELIABILITY_GUARANTEED &&
           work->body[1].skin->reliability.level == ABUT_RELIABILITY_GUARANTEED;
}

/* The volume of a region without what its skins add: they are `grow` outside of all faces. */
static double volume_of_region(const patch_work *work, const patch_region *region) {
    double volume = region->volume;
    for (uint32_t k = region->facet_begin; k < region->facet_end; k++) {
        const patch_facet *facet = &work->facets[k];
        volume -= work->body[facet->side].grow * patch_area_length(facet->area);
    }
    return volume;
}

/* Parts that are inside the other body, and of which no skin meets anything. `apart`: no surfaces
 * meet, whatever skins do. Then a part is where the vertex is that abuti_pair_contains() tests, and
 * cavities have an answer as there if nothing else is inside. */
static abut_status answer_parts(patch_work *work, patch_call *call, bool apart, uint32_t keep) {
    pair_frame frame;
    bool answers = true;
    call->parts_volume = 0;
    if (!apart && work->body[0].skin->view.component_count == 1 &&
        work->body[1].skin->view.component_count == 1)
        return ABUT_OK;
    abuti_pair_frame_init(&call->posed[0], &call->posed[1], &frame);
    for (uint32_t k = 0; k < 4; k++) { /* parts of both, then cavities of both */
        const uint32_t side = k % 2;
        if (k == 2)
            answers = apart && !call->count && !work->region_count;
        if (!answers && !are_closed(work))
            return ABUT_OK;
        const patch_skin *skin = work->body[side].skin;
        bool *met = NULL;
        abut_status status = apart ? ABUT_OK : find_met(work, call, side, &met);
        for (uint32_t i = 0; i < skin->view.component_count && !status; i++) {
            const patch_part *part = &skin->parts[i];
            bool inside, is_enclosed = false;
            patch_answer answer = {.count = 0};
            if ((met && met[i]) || part->is_cavity != (k >= 2))
                continue;
            status = is_inside(work, call, &frame, side, i, apart, &inside);
            if (!status && inside && k < 2)
                status = enclose_part(work, call, &frame, side, i, apart, &is_enclosed);
            if (status || !inside)
                continue;
            call->parts_volume += part->volume;
            if (is_enclosed) /* the volume of the region has this part and the cavities */
                call->parts_volume -=
                    volume_of_region(work, &work->regions[work->region_count - 1]);
            if (!answers || is_enclosed)
                continue;
            abuti_patch_inside(work, side, i, call->hint, keep, &answer);
            if (!answer.count && apart)
                status = answer_closest(work, call, side, &answer);
            answer.volume = real_max(part->volume, 0);
            if (!status && answer.count)
                status = abuti_patch_add_answer(call, &answer);
        }
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* Answers with the parts that are inside, and with all regions. `apart`: no surfaces meet. */
static abut_status answer_regions(patch_work *work, patch_call *call, bool apart, uint32_t keep) {
    abut_status status = answer_parts(work, call, apart, keep);
    call->parts = call->count > 0;
    if (!status && !call->options.skip_verification && work->region_count)
        return abuti_patch_separate(work, call, keep);
    for (size_t i = 0; i < work->region_count && !status; i++) {
        patch_answer answer = {.count = 0};
        if (abuti_patch_region_counts(work, call, i))
            status = abuti_patch_points(work, &work->regions[i], call->hint, keep, call->gap, true,
                                        &answer);
        if (!status && answer.count)
            status = abuti_patch_add_answer(call, &answer);
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
    abuti_pair_frame_init(&call->posed[0], &call->posed[1], &frame);
    bool meets = work->near && abuti_pair_find_intersection(&frame, triangle);
    abut_status status = abuti_stop_status("contacts");
    if (status)
        return status;
    call->meets |= meets;
    if (meets && !call->even) { /* as where one is in the place of the other */
        call->even = true;
        abuti_patch_start(work, call->memory);
        status = abuti_patch_find_at(work, call);
        status = status || !work->region_count ? status : answer_regions(work, call, false, keep);
        if (status || call->count)
            return status;
    }
    if (meets) {
        /* By a skin without thickness, as where normals cancel: from the triangles. */
        abut_segment segment;
        vec3 way = way_of_triangles(work, triangle[0], triangle[1]);
        triangle_triangle_intersect(pair_triangle(&frame.side[0], triangle[0]),
                                    pair_triangle(&frame.side[1], triangle[1]), &segment);
        vec3 point = v3_sub(segment.end[0], work->body[1].bvh->mesh->origin);
        answer = (patch_answer){.normal = way, .centre = point, .region = ABUT_NONE, .count = 1};
        answer.points[0] = (patch_point){.at = point,
                                         .side = 0,
                                         .kind = ABUT_CONTACT_FACE,
                                         .element = triangle[0]};
        return abuti_patch_add_answer(call, &answer);
    }
    return answer_regions(work, call, true, keep);
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
        status = answer_regions(work, call, false, keep);
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
    return abuti_patch_add_answer(call, &answer);
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
    abuti_pair_frame_init(a, b, &frame);
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

/* ---- volumes ---- */

/* Divides the volume of the overlap between the patches. The deepest wall of a region gets the
 * volume of the region, and a component completely inside the other body gets its own. The patch
 * with the largest volume gets the remainder: regions and components without a patch, minus
 * cavities. All volumes are 0 if a mesh is open or if the bodies only touch. Sets the volumes of
 * regions to 0. */
static void divide_volume(patch_work *work, patch_call *call) {
    const bool has_volume = are_closed(work) && !(call->apart_known && call->apart);
    double rest = has_volume ? call->parts_volume : 0;
    size_t largest = 0;
    for (size_t i = 0; i < work->region_count; i++) {
        patch_region *region = &work->regions[i];
        region->volume = has_volume ? volume_of_region(work, region) : 0;
        rest += region->volume;
    }
    for (size_t i = 0; i < call->count; i++) {
        patch_answer *answer = &call->answers[i];
        if (answer->region != ABUT_NONE) {
            answer->volume = real_max(work->regions[answer->region].volume, 0);
            work->regions[answer->region].volume = 0;
        } else if (!has_volume) {
            answer->volume = 0;
        }
        rest -= answer->volume;
        if (answer->volume > call->answers[largest].volume)
            largest = i;
    }
    if (call->count)
        call->answers[largest].volume = real_max(call->answers[largest].volume + rest, 0);
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
    uint32_t keep = call->options.max_contacts;
    abuti_patch_start(work, call->memory);
    abut_status status = abuti_patch_find_at(work, call);
    if (status)
        return status;
    call->size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    call->gap = gap_of_touch(call);
    call->meets = work->segment_count > 0;
    status = answer_found(work, call, keep);
    status = status ? status : settle_touch(work, call);
    if (!status && call->count && !work->region_count && !call->options.skip_verification &&
        !call->separates)
        status = abuti_patch_separate(work, call, keep);
    if (!status && call->sheets && call->count && work->region_count && !call->parts &&
        !call->options.skip_verification)
        status = abuti_patch_shorten_sheet(work, call, keep);
    for (size_t i = 0; i < call->count && !status; i++)
        if (call->answers[i].region != ABUT_NONE)
            abuti_patch_local_normals(work, &call->answers[i]);
    if (!status)
        divide_volume(work, call);
    if (!status && call->options.margin > 0)
        status = answer_proximity(work, call, keep);
    return status;
}

/* The volume of all overlaps, or of two sheets their area, with each body as its skin is chosen;
 * infinity if skins do not intersect. */
static abut_status overlap_extent(patch_work *work, patch_call *call, bool is_area,
                                  double *extent) {
    abuti_patch_start(work, call->memory);
    abut_status status = abuti_patch_find_at(work, call);
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
    if (!status) {
        const bool exact = !call.meets && !(call.doubt & (3 * PAIR_HOLES | 3 * PAIR_FLIPS));
        status =
            abuti_patch_write(&frame, call.answers, call.count, call.separates,
                              abuti_patch_reliability(work.body[0].skin, work.body[1].skin, exact),
                              patches);
    }
    abuti_patch_memory_end(&memory);
    abuti_context_leave(before);
    return status;
}
