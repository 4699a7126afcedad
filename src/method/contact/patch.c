/* Contacts of two meshes by exact geometry: abut_contact_find() and its steps.
 *
 * 1. Both bodies are put into a canonical order, so that exchanging a and b yields the same result.
 *    A sheet is oriented so that it cuts off the smaller part of the other body.
 * 2. The contour of both surfaces divides the overlap into regions (patch_contour.c). A region is
 *    measured along several normals, or divided into walls (patch_point.c).
 *    patch_separate.c searches and verifies the shift that separates the bodies.
 * 3. Surfaces within the margin add gaps (patch_proximity.c).
 * If there is no contour, one body may be inside the other. Or surfaces touch where the skins have
 * no thickness; then the touching triangles are the contact. */
#include "contact/find.h"

#include "base/checksum.h"
#include "contact/patch_measure.h"
#include "geom/intersect_shared.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define JITTER 1e-9      /* of the smaller body, see patch.h */
#define ROUNDING 0x1p-50 /* of the largest coordinate: error of a posed vertex */
#define GAP_RANGE 0.05   /* of the smaller body: walls further behind the nearest one are omitted */
#define TOUCH_DEPTH 1e-6 /* of the smaller body: bodies with smaller depths may be apart */
#define SYMMETRY_TOLERANCE 0.1 /* of the distance of two equal bodies, see is_in_order() */
#define TOUCH_GAP 1e-12 /* of the smaller body: rounding error of the gap of bodies that touch */

/* ---- canonical order ----
 *
 * A total order of meshes makes contacts independent of which body is called a. Meshes are compared
 * by their sizes, then by their first vertices, which usually differ. Copies of a mesh and partly
 * deformed meshes agree in these. They are compared by a checksum of 64 bits that is cached in the
 * BVH until it is refitted. Different meshes with the same checksum count as equal. Then the poses
 * decide; the contacts are correct in either order. */

enum { FIRST_VERTICES = 16 };

typedef struct shape_digest {
    bvh_attachment part;
    uint64_t value;
} shape_digest;

static uint64_t compute_digest(const abut_mesh *mesh) {
    const uint64_t parts[2] = {
        abuti_checksum(mesh->positions, mesh->vertex_count * sizeof *mesh->positions),
        abuti_checksum(mesh->indices, 3 * (size_t)mesh->triangle_count * sizeof *mesh->indices)};
    return abuti_checksum(parts, sizeof parts);
}

static abut_status create_digest(bvh_attachment *part, void *owner) {
    ((shape_digest *)(void *)part)->value = compute_digest(((const abut_bvh *)owner)->mesh);
    return ABUT_OK;
}

static void destroy_digest(bvh_attachment *part) {
    (void)part;
}

static const bvh_attachment_kind digest_kind = {sizeof(shape_digest), create_digest,
                                                abuti_bvh_discard_attachment, destroy_digest};

abut_status abuti_contact_keep_digest(const abut_bvh *bvh) {
    bvh_attachment *part;
    return abuti_bvh_share_attachment(bvh, &digest_kind, &part);
}

uint64_t abuti_contact_shape_digest(const abut_bvh *bvh) {
    bvh_attachment *part;
    return abuti_bvh_share_attachment(bvh, &digest_kind, &part)
               ? compute_digest(bvh->mesh) /* not cached if memory fails */
               : ((const shape_digest *)(const void *)part)->value;
}

int abuti_patch_order(const abut_bvh *a, const abut_bvh *b) {
    const abut_mesh *p = a->mesh, *q = b->mesh;
    if (p == q)
        return 0;
    if (p->triangle_count != q->triangle_count)
        return p->triangle_count < q->triangle_count ? -1 : 1;
    if (p->vertex_count != q->vertex_count)
        return p->vertex_count < q->vertex_count ? -1 : 1;
    const size_t few = p->vertex_count < FIRST_VERTICES ? p->vertex_count : FIRST_VERTICES;
    int order = memcmp(p->positions, q->positions, few * sizeof *p->positions);
    if (order)
        return order;
    const uint64_t x = abuti_contact_shape_digest(a), y = abuti_contact_shape_digest(b);
    if (x != y)
        return x < y ? -1 : 1;
    return memcmp(&p->origin, &q->origin, sizeof p->origin); /* equal copies at different origins */
}

/* Returns the position of one body in the axes of the other, relative to its origin. */
static vec3 relative_position(const abuti_posed *from, const abuti_posed *to) {
    vec3 offset = v3_sub(to->pose.translation, from->pose.translation);
    abuti_motion motion = abuti_motion_of(&from->pose);
    mat3 back = m3_transpose(&motion.rotation);
    return m3_apply(&back, offset);
}

static int largest_axis(vec3 v) {
    vec3 size = v3_abs(v);
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

/* Returns whether a precedes b: the order of the meshes, then that of the poses. */
static bool is_in_order(const abuti_posed *a, const abuti_posed *b) {
    int order = abuti_patch_order(a->bvh, b->bvh);
    if (order)
        return order < 0;
    /* Equal meshes: compare where each body is in the axes of the other, along the axis of the
     * largest difference. So neither small motions nor a common motion of both change the order. */
    vec3 direction = v3_sub(b->pose.translation, a->pose.translation);
    vec3 difference = v3_sub(relative_position(a, b), relative_position(b, a));
    if (v3_max_abs(difference) > SYMMETRY_TOLERANCE * v3_length(direction))
        return v3_get(difference, largest_axis(difference)) > 0;
    /* Both have nearly the same relative position: along the axis of the largest distance. */
    int axis = largest_axis(direction);
    if (v3_get(direction, axis) != 0)
        return v3_get(direction, axis) > 0;
    order = memcmp(&a->pose, &b->pose, sizeof a->pose);
    return order <= 0;
}

/* ---- bodies ---- */

void abuti_patch_reset(patch_work *work, const patch_call *call) {
    memset((unsigned char *)work + offsetof(patch_work, crossings), 0,
           sizeof *work - offsetof(patch_work, crossings));
    work->contour.has_candidates = false;
    work->projection.max_column = INFINITY;
    work->memory = call->memory;
    work->max_points = call->options.max_contacts;
    work->max_gap = call->max_gap;
}

/* Sets both bodies of the work in the frame of the second mesh. */
static void place_bodies(patch_work *work, const patch_call *call) {
    for (int side = 0; side < 2; side++) {
        patch_body *body = &work->body[side];
        body->bvh = call->posed[side].bvh;
        body->pose = call->posed[side].pose;
        if (!patch_check(call->memory,
                         abuti_patch_skin(body->bvh, call->is_reversed[side], &body->skin)))
            return;
    }
    patch_body *a = &work->body[0], *b = &work->body[1];
    abuti_motion motion = abuti_motion_of(&call->posed[0].pose);
    vec3 shift =
        v3_sub(v3_add(m3_apply(&motion.rotation, a->bvh->mesh->origin), motion.translation),
               b->bvh->mesh->origin);
    double largest = real_max(v3_max_abs(shift) + 2 * a->skin->size, 2 * b->skin->size);
    largest = real_max(largest, call->max_translation);
    double jitter = real_max(JITTER * real_min(a->skin->size, b->skin->size), ROUNDING * largest);
    for (int side = 0; side < 2; side++) {
        patch_body *body = &work->body[side];
        /* Different widths: of flush faces, the second is inside the first at any jitter. */
        double width_in_jitters = side ? 6 : 14;
        body->surface = (contour_body){.bvh = body->bvh,
                                       .corner = body->skin->corner,
                                       .offset = body->skin->offset,
                                       .find_offset = abuti_patch_offset,
                                       .skin = body->skin,
                                       .skin_width = width_in_jitters * jitter,
                                       .jitter = jitter,
                                       .seed = (uint64_t)(side + 1) << 40,
                                       .is_rotated = !side,
                                       .rotation = motion.rotation,
                                       .shift = shift,
                                       .unit = 1};
    }
}

void abuti_patch_find_regions_at(patch_work *work, const patch_call *call) {
    pair_frame frame;
    place_bodies(work, call);
    if (call->memory->status)
        return;
    abuti_pair_frame_init(&call->posed[0], &call->posed[1], &frame);
    double padding = 0;
    for (int side = 0; side < 2; side++)
        padding += work->body[side].surface.skin_width * work->body[side].skin->max_offset +
                   2 * work->body[side].surface.jitter;
    frame.pad += (float)(1.001 * padding * frame.scale);
    abuti_patch_find_regions(work, &frame);
}

/* ---- overlaps ---- */

bool abuti_patch_region_counts(const patch_work *work, const patch_call *call, size_t i) {
    const patch_region *r = &work->regions[i];
    for (size_t k = 0; k < work->region_count; k++)
        if (work->regions[k].length > r->length)
            return r->volume > 0 && r->length >= PATCH_MIN_CONTOUR * call->size;
    return true;
}

/* Returns, for each component of a side, whether it has segments of the contour; null after an
 * error. */
static bool *find_intersected_components(const patch_work *work, uint32_t side) {
    const abut_topology_arrays *view = &work->body[side].skin->view;
    bool *is_intersected = abuti_patch_allocate(work->memory, view->component_count, sizeof(bool));
    if (!is_intersected)
        return NULL;
    memset(is_intersected, 0, view->component_count * sizeof(bool));
    for (size_t i = 0; i < work->segment_count; i++)
        is_intersected[view->triangle_component[work->segments[i].face[side]]] = true;
    return is_intersected;
}

/* Returns the unit normal of two triangles that touch; any unit vector if both are degenerate. */
static vec3 compute_touch_normal(const patch_work *work, uint32_t triangle_a, uint32_t triangle_b) {
    const vec3 b = patch_face_normal(&work->body[1], triangle_b),
               direction = v3_normalise(v3_sub(b, patch_face_normal(&work->body[0], triangle_a)));
    return v3_max_abs(direction) > 0 ? direction : v3_max_abs(b) > 0 ? b : v3(0, 0, 1);
}

/* Returns a patch of one point. `at`: relative to the origin of the pair, not of b's mesh. */
static patch_answer make_point_answer(const patch_work *work, vec3 at, vec3 normal, double depth,
                                      uint32_t side, uint32_t face) {
    patch_answer answer = {.normal = normal,
                           .depth = depth,
                           .centre = v3_sub(at, work->body[1].bvh->mesh->origin),
                           .region = ABUT_NONE,
                           .count = 1};
    answer.points[0] = (patch_point){.at = answer.centre,
                                     .depth = depth,
                                     .side = side,
                                     .kind = ABUT_CONTACT_FACE,
                                     .element = face};
    return answer;
}

/* Sets the patch of a component that is inside the other body although no ray along the candidate
 * normals hits the surface, as in a hole: between the closest points of both surfaces. */
static void set_closest_answer(const patch_work *work, const patch_call *call, uint32_t side,
                               patch_answer *answer) {
    abut_separation found;
    if (!patch_check(call->memory,
                     abuti_pair_distance(&call->posed[0], &call->posed[1], true, NULL, &found)))
        return;
    const vec3 normal = v3_normalise(v3_sub(found.point_b, found.point_a));
    *answer = make_point_answer(work, v3_lerp(found.point_a, found.point_b, 0.5),
                                v3_max_abs(normal) > 0 ? normal : v3(0, 0, 1), found.distance, side,
                                side ? found.triangle_b : found.triangle_a);
}

/* Tests whether a component of a side, through which no contour runs, is inside the other body.
 * `apart`: no surfaces intersect. */
static bool is_component_inside(const patch_work *work, patch_call *call, const pair_frame *frame,
                                uint32_t side, uint32_t component, bool apart) {
    const patch_skin *skin = work->body[side].skin;
    const patch_component *p = &skin->components[component];
    const uint32_t vertex = apart ? p->vertex : skin->corner[3 * (size_t)p->face];
    bool inside = false;
    return patch_check(call->memory,
                       abuti_pair_vertex_inside(frame, (int)side, &call->posed[!side].pose, vertex,
                                                &inside, &call->doubt)) &&
           inside;
}

/* Adds a region if a component, which is inside the other body, fills cavities of that body.
 * Returns whether it does. */
static bool add_cavity_region(patch_work *work, patch_call *call, const pair_frame *frame,
                              uint32_t side, uint32_t component, bool apart) {
    const patch_skin *other = work->body[!side].skin;
    bool *cavities = find_intersected_components(work, !side), is_enclosed = false;
    for (uint32_t i = 0; i < other->view.component_count && cavities; i++) {
        cavities[i] = !cavities[i] && other->components[i].is_cavity &&
                      is_component_inside(work, call, frame, !side, i, apart);
        is_enclosed |= cavities[i];
    }
    if (is_enclosed)
        abuti_patch_add_cavity_region(work, side, component, cavities);
    return is_enclosed && !call->memory->status;
}

/* Returns whether both meshes are closed: only then volumes are meaningful. */
static bool are_closed(const patch_work *work) {
    return work->body[0].skin->reliability.level == ABUT_RELIABILITY_GUARANTEED &&
           work->body[1].skin->reliability.level == ABUT_RELIABILITY_GUARANTEED;
}

/* Returns the volume of a region minus that of its skins, which are skin_width outside of all
 * faces. */
static double compute_region_volume(const patch_work *work, const patch_region *region) {
    double volume = region->volume;
    for (uint32_t k = region->facets.begin; k < region->facets.end; k++) {
        const patch_facet *facet = &work->facets[k];
        volume -= work->body[facet->side].surface.skin_width * patch_area_length(facet->area);
    }
    return volume;
}

/* Adds patches of components that are inside the other body and whose skins intersect nothing.
 * `apart`: no surfaces intersect, even if skins do. Then the vertex that abuti_pair_contains()
 * tests decides for a component, and cavities have a patch if nothing else is inside. */
static void add_contained_components(patch_work *work, patch_call *call, bool apart) {
    pair_frame frame;
    bool adds_answers = true;
    call->contained_volume = 0;
    if (!apart && work->body[0].skin->view.component_count == 1 &&
        work->body[1].skin->view.component_count == 1)
        return;
    abuti_pair_frame_init(&call->posed[0], &call->posed[1], &frame);
    for (uint32_t k = 0; k < 4; k++) { /* components of both, then cavities of both */
        const uint32_t side = k % 2;
        if (k == 2)
            adds_answers = apart && !call->answers.count && !work->region_count;
        if (!adds_answers && !are_closed(work))
            return;
        const patch_skin *skin = work->body[side].skin;
        const bool *is_intersected = apart ? NULL : find_intersected_components(work, side);
        for (uint32_t i = 0; i < skin->view.component_count && !call->memory->status; i++) {
            const patch_component *component = &skin->components[i];
            patch_answer answer = {.count = 0};
            if ((is_intersected && is_intersected[i]) || component->is_cavity != (k >= 2) ||
                !is_component_inside(work, call, &frame, side, i, apart))
                continue;
            const bool is_enclosed = k < 2 && add_cavity_region(work, call, &frame, side, i, apart);
            call->contained_volume += component->volume;
            if (is_enclosed) /* the volume of the region includes this component and the cavities */
                call->contained_volume -=
                    compute_region_volume(work, &work->regions[work->region_count - 1]);
            if (!adds_answers || is_enclosed)
                continue;
            abuti_patch_compute_contained(work, side, i, call->hint, &answer);
            if (!answer.count && apart)
                set_closest_answer(work, call, side, &answer);
            answer.volume = real_max(component->volume, 0);
            if (answer.count)
                abuti_patch_add(call->memory, &call->answers, &answer);
        }
    }
}

/* Adds patches of components inside the other body, and of all regions. `apart`: no surfaces
 * intersect. */
static void add_region_answers(patch_work *work, patch_call *call, bool apart) {
    add_contained_components(work, call, apart);
    call->has_contained = call->answers.count > 0;
    if (!call->options.skip_verification && work->region_count) {
        abuti_patch_separate(work, call);
        return;
    }
    for (size_t i = 0; i < work->region_count; i++) {
        patch_answer answer;
        if (!abuti_patch_region_counts(work, call, i))
            continue;
        abuti_patch_compute_best(work, &work->regions[i], call->hint, &answer);
        if (answer.count)
            abuti_patch_add(call->memory, &call->answers, &answer);
    }
}

/* Adds a patch if triangles of the bodies touch where the skin has no thickness, as where normals
 * cancel. Returns whether they do. */
static bool add_touch(const patch_work *work, patch_call *call) {
    pair_frame frame;
    uint32_t triangle[2];
    abut_segment segment;
    abuti_pair_frame_init(&call->posed[0], &call->posed[1], &frame);
    if (!work->contour.has_candidates || !abuti_pair_find_intersection(&frame, triangle))
        return false;
    call->touches = true;
    triangle_triangle_intersect(pair_triangle(&frame.side[0], triangle[0]),
                                pair_triangle(&frame.side[1], triangle[1]), &segment);
    const patch_answer answer =
        make_point_answer(work, segment.end[0],
                          compute_touch_normal(work, triangle[0], triangle[1]), 0, 0, triangle[0]);
    abuti_patch_add(call->memory, &call->answers, &answer);
    return true;
}

/* Returns the gap that rounding errors may leave between bodies that touch. */
static double compute_touch_gap(const patch_call *call) {
    return real_max(TOUCH_GAP * call->size, ROUNDING * call->max_translation);
}

/* Corrects depths of bodies that are apart: contacts of bodies that touch within rounding errors
 * have a depth of 0. All others are removed: step 3 finds them as gaps. */
static void resolve_touch(patch_call *call) {
    size_t kept = 0;
    call->is_verified = true;
    for (size_t i = 0; i < call->answers.count; i++) {
        patch_answer answer = call->answers.list[i];
        if (answer.depth >
            TOUCH_DEPTH * call->size) /* along another wall, or from the wrong side of a sheet */
            continue;
        answer.depth = real_min(answer.depth, 0);
        for (uint32_t k = 0; k < answer.count; k++)
            answer.points[k].depth = real_min(answer.points[k].depth, 0);
        call->answers.list[kept++] = answer;
    }
    call->answers.count = kept;
}

/* Adds patches of the contours. If there are none, adds those of containment and touch. The
 * contours are those of the skins, so they may exist although the bodies are apart. */
static void add_overlap_answers(patch_work *work, patch_call *call) {
    call->apart = work->region_count && abuti_patch_test_apart(call, v3(0, 0, 0));
    if (call->apart) {
        bool within = false;
        if (!patch_check(call->memory,
                         abuti_pair_within(&call->posed[0], &call->posed[1], call->max_gap, false,
                                           NULL, &within, &call->doubt)) ||
            !within)
            return;
    }
    if (work->region_count)
        add_region_answers(work, call, false);
    if (!call->answers.count && !add_touch(work, call) &&
        patch_check(call->memory, abuti_stop_status("contacts")))
        add_region_answers(work, call, true);
    if (call->apart)
        resolve_touch(call);
}

/* ---- gaps ---- */

/* Adds the closest points if they are within the margin: for degenerate triangles, which have no
 * faces. */
static void add_nearest_gap(const patch_work *work, patch_call *call) {
    abut_separation found;
    if (!patch_check(call->memory,
                     abuti_pair_distance(&call->posed[0], &call->posed[1], false, NULL, &found)) ||
        found.distance > call->options.margin ||
        (call->answers.count && call->answers.list[0].depth >= -found.distance))
        return;
    vec3 normal = v3_normalise(v3_sub(found.point_a, found.point_b));
    if (v3_max_abs(normal) == 0) /* the distance is below the rounding error */
        normal = compute_touch_normal(work, found.triangle_a, found.triangle_b);
    const patch_answer answer = make_point_answer(work, v3_lerp(found.point_a, found.point_b, 0.5),
                                                  normal, -found.distance, 0, found.triangle_a);
    abuti_patch_add(call->memory, &call->answers, &answer);
}

/* Adds the walls within the margin. If the margin exceeds GAP_RANGE, walls further behind the
 * nearest gap are omitted. */
static void add_gap_answers(patch_work *work, patch_call *call) {
    const abuti_posed *a = &call->posed[0], *b = &call->posed[1];
    double range = call->options.margin, gap_range = GAP_RANGE * call->size;
    bool overlaps = call->answers.count > 0;
    bool has_degenerate = work->body[0].skin->has_degenerate_triangles ||
                          work->body[1].skin->has_degenerate_triangles;
    pair_frame frame;
    call->is_verified |= !overlaps;
    if (range > gap_range && !overlaps) {
        abut_separation found;
        if (!patch_check(call->memory, abuti_pair_distance(a, b, false, NULL, &found)) ||
            found.distance > range)
            return;
        gap_range += found.distance;
    }
    abuti_pair_frame_init(a, b, &frame);
    abuti_patch_add_gaps(work, &frame, real_min(range, gap_range), overlaps, &call->answers);
    if (!overlaps && (has_degenerate || (range > gap_range && !call->answers.count)))
        add_nearest_gap(work, call);
    call->touches |= call->answers.count > 0;
}

/* ---- volumes ---- */

/* Divides the volume of the overlap between the patches. The deepest wall of a region gets the
 * volume of the region, and a component completely inside the other body gets its own. The patch
 * with the largest volume gets the remainder: regions and components without a patch, minus
 * cavities. All volumes are 0 if a mesh is open or if the bodies only touch. Sets the volumes of
 * regions to 0. */
static void divide_volume(patch_work *work, patch_call *call) {
    const bool has_volume = are_closed(work) && !call->apart;
    double remainder = has_volume ? call->contained_volume : 0;
    size_t largest = 0;
    for (size_t i = 0; i < work->region_count; i++) {
        patch_region *region = &work->regions[i];
        region->volume = has_volume ? compute_region_volume(work, region) : 0;
        remainder += region->volume;
    }
    for (size_t i = 0; i < call->answers.count; i++) {
        patch_answer *answer = &call->answers.list[i];
        if (answer->region != ABUT_NONE) {
            answer->volume = real_max(work->regions[answer->region].volume, 0);
            work->regions[answer->region].volume = 0;
        } else if (!has_volume) {
            answer->volume = 0;
        }
        remainder -= answer->volume;
        if (answer->volume > call->answers.list[largest].volume)
            largest = i;
    }
    if (call->answers.count)
        call->answers.list[largest].volume =
            real_max(call->answers.list[largest].volume + remainder, 0);
}

/* ---- abut_contact_find() ---- */

/* Computes the volume of all overlaps, or the area of the overlaps of two sheets, for the chosen
 * orientation of each body; infinity if the skins do not intersect. */
static double compute_overlap_extent(patch_work *work, const patch_call *call, bool is_area) {
    abuti_patch_reset(work, call);
    abuti_patch_find_regions_at(work, call);
    double extent = work->region_count ? 0 : INFINITY;
    for (size_t i = 0; i < work->region_count && !is_area; i++)
        extent += fabs(work->regions[i].volume);
    for (size_t i = 0; i < work->facet_count && is_area; i++)
        extent += patch_area_length(work->facets[i].area);
    return extent;
}

/* Chooses the orientation of sheets, which have two sides and no interior: the one that cuts off
 * the smaller part of the other body. */
static void orient_sheets(patch_work *work, patch_call *call) {
    bool is_sheet[2];
    for (int side = 0; side < 2; side++) {
        const bvh_interior *interior;
        if (!patch_check(call->memory, abuti_bvh_interior(call->posed[side].bvh, &interior)))
            return;
        is_sheet[side] = !interior->has_solids;
    }
    call->has_sheet = is_sheet[0] || is_sheet[1];
    double smallest = INFINITY;
    int best = 0;
    for (int reversed_bits = 0; reversed_bits < 4 && call->has_sheet && smallest > 0;
         reversed_bits++) {
        if ((reversed_bits & 1 && !is_sheet[0]) || (reversed_bits & 2 && !is_sheet[1]))
            continue;
        call->is_reversed[0] = reversed_bits & 1;
        call->is_reversed[1] = reversed_bits & 2;
        const double extent = compute_overlap_extent(work, call, is_sheet[0] && is_sheet[1]);
        if (extent < smallest) {
            best = reversed_bits;
            smallest = extent;
        }
        if (!work->contour.has_candidates || call->memory->status)
            break;
    }
    call->is_reversed[0] = best & 1;
    call->is_reversed[1] = best & 2;
}

/* Computes all patches of a pair: overlaps, then gaps. */
static void compute_patches(patch_work *work, patch_call *call) {
    const bool verifies = !call->options.skip_verification;
    orient_sheets(work, call);
    abuti_patch_reset(work, call);
    abuti_patch_find_regions_at(work, call);
    if (call->memory->status)
        return;
    call->size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    call->max_gap = work->max_gap = compute_touch_gap(call);
    call->touches = work->segment_count > 0;
    add_overlap_answers(work, call);
    if (verifies && call->answers.count && !work->region_count && !call->is_verified)
        abuti_patch_separate(work, call);
    if (verifies && call->has_sheet && call->answers.count && work->region_count &&
        !call->has_contained)
        abuti_patch_shorten_sheet(work, call);
    for (size_t i = 0; i < call->answers.count; i++)
        if (call->answers.list[i].region != ABUT_NONE)
            abuti_patch_local_normals(work, &call->answers.list[i]);
    divide_volume(work, call);
    if (call->options.margin > 0)
        add_gap_answers(work, call);
}

abut_status abuti_contact_bvhs(const abuti_posed *a, const abuti_posed *b,
                               const abut_patch_options *options, abut_patches *patches) {
    static const char function[] = "abut_contact_find";
    patch_call call = {.memory = NULL};
    abut_status status = abuti_pair_check(function, a, b, patches, "patches");
    if (!status)
        status = abuti_patch_options(function, options, patches, &call.options);
    if (status)
        return status;
    abut_context *before = abuti_context_enter(a->bvh->context); /* for either order */
    call.swapped = !is_in_order(a, b);
    const abuti_posed *first = call.swapped ? b : a, *second = call.swapped ? a : b;
    abut_pose back = pose_inverse(&second->pose);
    call.posed[0] = (abuti_posed){NULL, pose_multiply(&back, &first->pose)};
    call.posed[1] = (abuti_posed){NULL, {{0, 0, 0, 1}, {0, 0, 0}}};
    call.max_translation =
        real_max(v3_max_abs(a->pose.translation), v3_max_abs(b->pose.translation));
    patch_frame frame = {.function = function,
                         .motion = abuti_motion_of(&second->pose),
                         .origin = second->bvh->mesh->origin,
                         .swapped = call.swapped,
                         .a = call.options.a,
                         .b = call.options.b,
                         .context = a->bvh->context};
    mat3 inverse_rotation = m3_transpose(&frame.motion.rotation);
    call.hint = m3_apply(&inverse_rotation, v3_scale(call.options.hint, call.swapped ? -1 : 1));
    patch_memory memory;
    patch_work work;
    abuti_patch_memory_start(&memory, a->bvh->context);
    call.memory = &memory;
    if (patch_check(&memory, abuti_bvh_cpu_tree(first->bvh, &call.posed[0].bvh)) &&
        patch_check(&memory, abuti_bvh_cpu_tree(second->bvh, &call.posed[1].bvh)))
        compute_patches(&work, &call);
    status = memory.status;
    if (!status) {
        const bool exact = !call.touches && !(call.doubt & (3 * PAIR_HOLES | 3 * PAIR_FLIPS));
        status =
            abuti_patch_write(&frame, call.answers.list, call.answers.count, call.is_verified,
                              abuti_patch_reliability(work.body[0].skin, work.body[1].skin, exact),
                              patches);
    }
    abuti_patch_memory_end(&memory);
    abuti_context_leave(before);
    return status;
}
