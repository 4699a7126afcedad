/* Questions about two posed meshes: the common frame, the order of the searches, and the public
 * functions. Surfaces first: where they do not meet, containment, and only then distances. */
#include "pair/pair.h"

#include "geom/distance_shared.h"

#include <math.h>

/* ---- the common frame ---- */

static bool moves(const abuti_motion *motion) {
    return motion->rotates || v3_max_abs(motion->translation) > 0;
}

/* The largest coordinate that a side has anywhere on its way to its pose. */
static double largest_coordinate(const pair_side *side) {
    const abut_mesh *mesh = side->bvh->mesh;
    return real_max(v3_max_abs(mesh->bounds.lo), v3_max_abs(mesh->bounds.hi)) +
           v3_max_abs(side->motion.translation);
}

static void set_turn(pair_side *side, const mat3 *turn, vec3 shift, bool near) {
    for (int i = 0; i < 3; i++) {
        const double row[3] = {turn->row[i].x, turn->row[i].y, turn->row[i].z};
        for (int j = 0; j < 3; j++) {
            side->turn[j][i] = (float)row[j];
            side->turn_abs[j][i] = fabsf(side->turn[j][i]);
        }
        side->shift[i] = near ? (float)v3_get(shift, i) : 0;
        side->turn[i][3] = side->turn_abs[i][3] = 0;
    }
    side->shift[3] = 0;
}

/* The origin of the other side's mesh, seen from this side's, in the world's units. */
static vec3 origin_seen(const pair_side *side, const pair_side *other) {
    vec3 origin = other->bvh->mesh->origin;
    if (!moves(&side->motion) && !moves(&other->motion))
        return v3_sub(origin, side->bvh->mesh->origin);
    mat3 back = m3_transpose(&side->motion.rotation);
    vec3 world = v3_sub(abuti_motion_apply(&other->motion, origin), side->motion.translation);
    return v3_sub(m3_apply(&back, world), side->bvh->mesh->origin);
}

bool abuti_pair_start(const abut_posed *a, const abut_posed *b, pair_frame *frame) {
    const abut_posed *posed[2] = {a, b};
    pair_side *side = frame->side;
    for (int k = 0; k < 2; k++) {
        side[k].bvh = posed[k]->bvh;
        side[k].motion = abuti_motion_of(&posed[k]->pose);
    }
    frame->scale = real_min(a->bvh->scale, b->bvh->scale);
    mat3 back = m3_transpose(&side[0].motion.rotation);
    mat3 turn = m3_multiply(&back, &side[1].motion.rotation), turn_back = m3_transpose(&turn);
    vec3 shift = v3_scale(origin_seen(&side[0], &side[1]), frame->scale);
    vec3 shift_back = v3_scale(origin_seen(&side[1], &side[0]), frame->scale);
    frame->reach = real_max(v3_max_abs(shift), v3_max_abs(shift_back));
    frame->way = frame->own_way[0] = frame->own_way[1] = v3(0, 0, 0);
    memset(frame->side_way, 0, sizeof frame->side_way);
    memset(frame->origin_along, 0, sizeof frame->origin_along);
    bool near = frame->reach <= PAIR_FAR;
    set_turn(&side[0], &turn, shift, near);
    set_turn(&side[1], &turn_back, shift_back, near);
    for (int k = 0; k < 2; k++)
        side[k].unit = (float)(frame->scale / side[k].bvh->scale);
    frame->doubt = 0x1p-45 * (largest_coordinate(&side[0]) + largest_coordinate(&side[1]));
    bool exact = !moves(&side[0].motion) && !moves(&side[1].motion);
    double error = exact ? 0 : frame->doubt * frame->scale;
    /* Coordinates as they came in are exact, however large: then rounding is that of differences.
     */
    double off = exact ? 0x1p-45 * (frame->reach + 8) / frame->scale : frame->doubt;
    frame->tie = PAIR_TIE_DOUBTS * real_min(off, frame->doubt);
    frame->pad = near ? PAIR_MARGIN * ((float)frame->reach + 8) + (float)error : 0;
    frame->tie = near ? real_min(frame->tie, frame->pad / frame->scale) : frame->tie;
    return error <= 0x1p-20;
}

void abuti_pair_expect(pair_frame *frame, vec3 way) {
    frame->way = way;
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &frame->side[k];
        mat3 back = m3_transpose(&side->motion.rotation);
        vec3 own = frame->own_way[k] = m3_apply(&back, way);
        for (int axis = 0; axis < 3; axis++)
            frame->side_way[k][axis] = (float)v3_get(own, axis);
        frame->origin_along[k] =
            v3_dot(own, side->bvh->mesh->origin) + v3_dot(way, side->motion.translation);
    }
}

/* ---- extreme poses ---- */

/* A mesh at its pose with a hierarchy of its own, which has the same tree. */
static abut_status copy_posed(const abut_posed *from, abut_bvh **copy) {
    const abut_bvh *old = from->bvh;
    abut_mesh *mesh = NULL;
    abut_status status = abut_mesh_transform(old->mesh, 1, from->pose, &mesh);
    if (status)
        return status;
    abut_bvh *made = abuti_allocate_zeroed(old->context, 1, sizeof *made);
    if (!made) {
        abut_mesh_destroy(mesh);
        return ABUT_ERROR_MEMORY;
    }
    made->context = abuti_context_retain(old->context);
    atomic_init(&made->holds, 1);
    made->mesh = mesh;
    made->triangle_count = old->triangle_count;
    made->leaf_count = old->leaf_count;
    made->node_count = old->node_count;
    made->depth = old->depth;
    size_t padded = (size_t)old->leaf_count * BVH_WIDTH;
    made->order = abuti_allocate(old->context, padded, sizeof *made->order);
    made->blocks = abuti_allocate(old->context, old->leaf_count, sizeof *made->blocks);
    made->nodes = abuti_allocate(old->context, old->node_count, sizeof *made->nodes);
    if (!made->order || !made->blocks || !made->nodes) {
        abut_bvh_destroy(made);
        return ABUT_ERROR_MEMORY;
    }
    memcpy(made->order, old->order, padded * sizeof *made->order);
    memcpy(made->nodes, old->nodes, old->node_count * sizeof *made->nodes);
    abuti_bvh_fit(made, mesh);
    *copy = made;
    return ABUT_OK;
}

/* Two posed meshes ready for a search: as they are, or copies of them. */
typedef struct pair_work {
    abut_posed posed[2];
    abut_bvh *copy[2];
    pair_frame frame;
} pair_work;

static void work_end(pair_work *work) {
    abut_bvh_destroy(work->copy[0]);
    abut_bvh_destroy(work->copy[1]);
}

static abut_status work_start(pair_work *work, const abut_posed *a, const abut_posed *b) {
    work->posed[0] = *a;
    work->posed[1] = *b;
    work->copy[0] = work->copy[1] = NULL;
    if (abuti_pair_start(a, b, &work->frame))
        return ABUT_OK;
    for (int k = 0; k < 2; k++) {
        abut_status status = copy_posed(&work->posed[k], &work->copy[k]);
        if (status) {
            work_end(work);
            return status;
        }
        memset(&work->posed[k].pose, 0, sizeof work->posed[k].pose);
        work->posed[k].bvh = work->copy[k];
    }
    abuti_pair_start(&work->posed[0], &work->posed[1], &work->frame);
    return ABUT_OK;
}

/* ---- the searches in order ---- */

/* Whether the pair of the last time meets again. */
static bool cache_meets(const pair_frame *frame, const abut_pair_cache *cache) {
    if (!cache || !cache->known || cache->triangle_a >= frame->side[0].bvh->triangle_count ||
        cache->triangle_b >= frame->side[1].bvh->triangle_count)
        return false;
    return triangle_triangle_intersect(pair_triangle(&frame->side[0], cache->triangle_a),
                                       pair_triangle(&frame->side[1], cache->triangle_b),
                                       NULL) != ABUT_INTERSECTION_NONE;
}

/* How two bodies touch. `triangle` is set where they meet and the caller wants it to be found,
 * `vertex` where one is inside the other. */
static abut_status relation_of(const pair_work *work, bool surfaces, abut_pair_cache *cache,
                               abut_pair_relation *relation, uint32_t *triangle, uint32_t *vertex,
                               unsigned *doubt) {
    uint32_t found[2];
    *relation = ABUT_PAIR_INTERSECTING;
    if (!triangle && cache_meets(&work->frame, cache))
        return ABUT_OK;
    bool meets = abuti_pair_meets(&work->frame, found);
    abut_status status = abuti_stop_status("pairs");
    if (status)
        return status;
    if (meets) {
        if (cache) {
            cache->known = 1;
            cache->triangle_a = found[0];
            cache->triangle_b = found[1];
        }
        if (triangle)
            memcpy(triangle, found, sizeof found);
        return ABUT_OK;
    }
    *relation = ABUT_PAIR_APART;
    if (surfaces)
        return ABUT_OK;
    return abuti_pair_contains(&work->frame, &work->posed[0], &work->posed[1], relation, vertex,
                               doubt);
}

abut_status abuti_pair_overlap(const abut_posed *a, const abut_posed *b, bool surfaces,
                               abut_pair_cache *cache, abut_pair_relation *relation,
                               unsigned *doubt) {
    pair_work work;
    uint32_t vertex;
    abut_pair_relation found;
    abut_status status = work_start(&work, a, b);
    if (status)
        return status;
    status = relation_of(&work, surfaces, cache, &found, NULL, &vertex, doubt);
    if (!status)
        *relation = found;
    work_end(&work);
    return status;
}

/* The separation of surfaces that meet in two triangles. */
static void separation_meeting(const pair_frame *frame, const uint32_t triangle[2],
                               abut_separation *separation) {
    abut_triangle a = pair_triangle(&frame->side[0], triangle[0]);
    abut_triangle b = pair_triangle(&frame->side[1], triangle[1]);
    abut_segment segment;
    triangle_triangle_intersect(a, b, &segment);
    separation->distance = 0;
    separation->point_a = separation->point_b = segment.end[0];
    separation->triangle_a = triangle[0];
    separation->triangle_b = triangle[1];
    separation->feature_a = triangle_closest_point(a, segment.end[0]).feature;
    separation->feature_b = triangle_closest_point(b, segment.end[0]).feature;
}

void abuti_pair_inside(const pair_frame *frame, int inner, uint32_t vertex,
                       abut_separation *separation) {
    const pair_side *side = &frame->side[inner];
    const abut_mesh *mesh = side->bvh->mesh;
    size_t corner = 0;
    while (mesh->indices[corner] != vertex)
        corner++;
    uint32_t triangle = (uint32_t)(corner / 3);
    abut_feature feature = (abut_feature)(ABUT_FEATURE_VERTEX_0 + corner % 3);
    separation->distance = 0;
    separation->point_a = separation->point_b =
        abuti_motion_apply(&side->motion, abuti_mesh_position(mesh, vertex));
    separation->triangle_a = inner ? ABUT_NONE : triangle;
    separation->triangle_b = inner ? triangle : ABUT_NONE;
    separation->feature_a = inner ? ABUT_FEATURE_FACE : feature;
    separation->feature_b = inner ? feature : ABUT_FEATURE_FACE;
}

abut_status abuti_pair_distance(const abut_posed *a, const abut_posed *b, bool surfaces,
                                abut_pair_cache *cache, abut_separation *separation) {
    pair_work work;
    uint32_t triangle[2], vertex;
    unsigned doubt = 0;
    abut_separation found;
    memset(&found, 0, sizeof found);
    abut_posed posed[2] = {*a, *b};
    abut_status status = abuti_bvh_cpu_tree(a->bvh, &posed[0].bvh);
    status = status ? status : abuti_bvh_cpu_tree(b->bvh, &posed[1].bvh);
    status = status ? status : work_start(&work, &posed[0], &posed[1]);
    if (status)
        return status;
    status = relation_of(&work, surfaces, cache, &found.relation, triangle, &vertex, &doubt);
    if (!status) {
        if (found.relation == ABUT_PAIR_INTERSECTING)
            separation_meeting(&work.frame, triangle, &found);
        else if (found.relation != ABUT_PAIR_APART)
            abuti_pair_inside(&work.frame, found.relation == ABUT_PAIR_B_INSIDE, vertex, &found);
        else
            abuti_pair_closest(&work.frame, INFINITY, false, cache, &found);
        found.reliability = abuti_pair_doubt(doubt);
        status = abuti_stop_status("pairs");
        if (!status)
            *separation = found;
    }
    work_end(&work);
    return status;
}

abut_status abuti_pair_within(const abut_posed *a, const abut_posed *b, double margin,
                              bool surfaces, abut_pair_cache *cache, bool *within,
                              unsigned *doubt) {
    pair_work work;
    uint32_t vertex;
    abut_separation found;
    abut_status status = work_start(&work, a, b);
    if (status)
        return status;
    status = relation_of(&work, surfaces, cache, &found.relation, NULL, &vertex, doubt);
    if (!status) {
        bool near = found.relation == ABUT_PAIR_APART &&
                    abuti_pair_closest(&work.frame, margin, true, cache, &found);
        if (near) /* whatever is inside */
            *doubt = 0;
        status = abuti_stop_status("pairs");
        if (!status)
            *within = near || found.relation != ABUT_PAIR_APART;
    }
    work_end(&work);
    return status;
}

/* ---- public ---- */

abut_status abuti_pair_check_pose(const char *function, const char *what, const abut_bvh *bvh,
                                  const abut_pose *at) {
    if (abuti_pose_check(function, what, at)) { /* again, for the message */
        char name[64];
        snprintf(name, sizeof name, "the pose of %s", what);
        return abuti_pose_check(function, name, at);
    }
    abuti_motion motion = abuti_motion_of(at);
    abut_box box = bvh->mesh->bounds;
    for (int i = 0; i < 8; i++) {
        vec3 corner = v3(i & 1 ? box.hi.x : box.lo.x, i & 2 ? box.hi.y : box.lo.y,
                         i & 4 ? box.hi.z : box.lo.z);
        if (!(v3_max_abs(abuti_motion_apply(&motion, corner)) <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: the pose of %s moves its box beyond %g; coordinates may not be "
                              "larger in magnitude",
                              function, what, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

abut_status abuti_pair_check(const char *function, const abut_posed *a, const abut_posed *b,
                             const void *out, const char *out_name) {
    const char *null = !a ? "a" : !b ? "b" : !a->bvh ? "a->bvh" : !b->bvh ? "b->bvh" : NULL;
    if (!null && !out)
        null = out_name;
    if (null)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null; pass its address", function, null);
    abut_status status = abuti_bvh_host(a->bvh);
    status = status ? status : abuti_bvh_host(b->bvh);
    status = status ? status : abuti_pair_check_pose(function, "a", a->bvh, &a->pose);
    return status ? status : abuti_pair_check_pose(function, "b", b->bvh, &b->pose);
}

abut_status abut_pair_overlap(const abut_posed *a, const abut_posed *b,
                              const abut_pair_options *options, abut_pair_cache *cache,
                              abut_overlap *overlap) {
    abut_pair_options ours = abut_pair_options_default();
    unsigned doubt = 0;
    abut_status status = abuti_pair_check(__func__, a, b, overlap, "overlap");
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, __func__);
    status = status
                 ? status
                 : abuti_pair_overlap(a, b, ours.surface_only, cache, &overlap->relation, &doubt);
    if (!status)
        overlap->reliability = abuti_pair_doubt(doubt);
    return status;
}

abut_status abut_pair_distance(const abut_posed *a, const abut_posed *b,
                               const abut_pair_options *options, abut_pair_cache *cache,
                               abut_separation *separation) {
    abut_pair_options ours = abut_pair_options_default();
    abut_status status = abuti_pair_check(__func__, a, b, separation, "separation");
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, __func__);
    return status ? status : abuti_pair_distance(a, b, ours.surface_only, cache, separation);
}

abut_status abut_pair_within(const abut_posed *a, const abut_posed *b, double margin,
                             const abut_pair_options *options, abut_pair_cache *cache, bool *within,
                             abut_reliability *reliability) {
    abut_pair_options ours = abut_pair_options_default();
    unsigned doubt = 0;
    abut_status status = abuti_pair_check(__func__, a, b, within, "within");
    status = status ? status : abuti_bvh_check_limit(__func__, "margin", margin);
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, __func__);
    status =
        status ? status : abuti_pair_within(a, b, margin, ours.surface_only, cache, within, &doubt);
    if (!status && reliability)
        *reliability = abuti_pair_doubt(doubt);
    return status;
}

static bool meeting_after(const void *one, const void *other) {
    const abut_pair_intersection *a = one, *b = other;
    return a->triangle_a > b->triangle_a ||
           (a->triangle_a == b->triangle_a && a->triangle_b > b->triangle_b);
}

abut_status abut_pair_intersections(const abut_posed *a, const abut_posed *b, uint64_t capacity,
                                    abut_pair_intersection *meetings, uint64_t *count) {
    abut_status status = abuti_pair_check(__func__, a, b, count, "count");
    if (!status && !meetings && capacity)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: meetings is null, but capacity is %llu",
                            __func__, (unsigned long long)capacity);
    pair_work work;
    status = status ? status : work_start(&work, a, b);
    if (status)
        return status;
    /* counted first, so that a buffer too small stays untouched */
    uint64_t found = abuti_pair_list(&work.frame, 0, NULL);
    status = abuti_stop_status("pairs");
    if (!status)
        *count = found;
    if (!status && found > capacity)
        status = abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %llu pairs, but room for %llu only",
                            __func__, (unsigned long long)found, (unsigned long long)capacity);
    else if (!status && found) {
        abuti_pair_list(&work.frame, found, meetings);
        status = abuti_stop_status("pairs");
    }
    if (!status && found) {
        abuti_sort_items(meetings, (size_t)found, sizeof *meetings, meeting_after);
    }
    work_end(&work);
    return status;
}

const char *abut_pair_relation_name(abut_pair_relation relation) {
    static const char *const names[] = {"apart", "intersecting", "a-inside", "b-inside"};
    return ABUTI_NAME(names, relation);
}

/* ---- reliability ---- */

/* The reliability of answers that containment decides (containment.c): exact without boundary
 * edges, whichever way parts face. Volume and inertia need more. */
abut_reliability abut_pair_reliability(const abut_mesh_report *report) {
    if (!report)
        return abuti_unfit("There is no report.");
    if (report->is_sheet)
        return abuti_limited(
            "A sheet: its holes exceed a tenth of its area, so it has no inside, nothing is "
            "reported as inside it, and volume means nothing. Close the holes if it is a solid.");
    if (report->has_opposite_boundary)
        return abuti_unfit(
            "Neighbouring triangles are wound against each other, so what is inside is not known "
            "and volume means nothing: orient the mesh first.");
    if (report->has_sheets)
        return abuti_limited(
            "Some parts are sheets: their holes exceed a tenth of their area, so they have no "
            "inside. What is inside the other parts is exact if these are closed, and a guess near "
            "their holes otherwise. Volume means nothing.");
    if (report->has_boundary && abuti_problems(report, ABUT_PROBLEM_BOUNDARY_EDGE))
        return abuti_limited(
            "The surface has boundary edges, so what is inside is a guess near the holes, and "
            "volume means nothing: close the holes.");
    if (report->has_boundary)
        return abuti_limited(
            "Edges with three or more faces do not bound a solid, so what is inside is a guess "
            "near them, and volume means nothing: remove the extra faces.");
    if (!report->is_balanced || !report->is_oriented)
        return abuti_guaranteed(
            "Closed where vertices of equal coordinates count as one: what is inside is exact. "
            "Weld the mesh for volume and inertia.");
    if (abuti_problems(report, ABUT_PROBLEM_INWARD_COMPONENT))
        return abuti_guaranteed(
            "Closed: what is inside is exact. A part is wound inwards, so its volume counts "
            "negative: orient the mesh if you need volumes.");
    if (!report->has_volume)
        return abuti_guaranteed("Closed, but without volume: it contains nothing.");
    if (report->has_nested_component)
        return abuti_guaranteed(
            "Closed: what is inside is exact. A part lies inside another and both face outwards, "
            "so volume and inertia count twice what they share: orient the mesh if it is a "
            "cavity.");
    if (report->has_self_intersection_test)
        return report->self_intersection_count
                   ? abuti_guaranteed("Closed: what is inside is exact. The surface cuts itself, "
                                      "so volume and inertia count twice what overlaps.")
                   : abuti_guaranteed("Closed, wound outwards and nowhere cut by itself: inside, "
                                      "volume and inertia are those of the solid.");
    return abuti_guaranteed(
        "Closed and wound outwards: what is inside is exact, and volume and inertia are those of "
        "the solid, as long as the surface does not cut itself.");
}
