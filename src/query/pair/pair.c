/* Queries between two posed meshes: the common frame, the order of the searches, and the public
 * functions. Surface intersection is tested first; if there is none, containment, and only then
 * distances. */
#include "pair/pair.h"

#include "collider/collider.h"

#include "geom/distance_shared.h"

#include <math.h>

/* ---- the common frame ---- */

static bool is_moved(const abuti_motion *motion) {
    return motion->rotates || v3_max_abs(motion->translation) > 0;
}

/* The largest coordinate of a side, before, during and after its motion. */
static double largest_coordinate(const pair_side *side) {
    const abut_mesh *mesh = side->bvh->mesh;
    return real_max(v3_max_abs(mesh->bounds.lo), v3_max_abs(mesh->bounds.hi)) +
           v3_max_abs(side->motion.translation);
}

static void set_transform(pair_side *side, const mat3 *rotation, vec3 shift, bool is_near) {
    for (int i = 0; i < 3; i++) {
        const double row[3] = {rotation->row[i].x, rotation->row[i].y, rotation->row[i].z};
        for (int j = 0; j < 3; j++) {
            side->rotation[j][i] = (float)row[j];
            side->rotation_abs[j][i] = fabsf(side->rotation[j][i]);
        }
        side->shift[i] = is_near ? (float)v3_get(shift, i) : 0;
        side->rotation[i][3] = side->rotation_abs[i][3] = 0;
    }
    side->shift[3] = 0;
}

/* The origin of the mesh of the other side, relative to that of this side, in world units. */
static vec3 relative_origin(const pair_side *side, const pair_side *other) {
    vec3 origin = other->bvh->mesh->origin;
    if (!is_moved(&side->motion) && !is_moved(&other->motion))
        return v3_sub(origin, side->bvh->mesh->origin);
    mat3 back = m3_transpose(&side->motion.rotation);
    vec3 world = v3_sub(abuti_motion_apply(&other->motion, origin), side->motion.translation);
    return v3_sub(m3_apply(&back, world), side->bvh->mesh->origin);
}

bool abuti_pair_frame_init(const abuti_posed *a, const abuti_posed *b, pair_frame *frame) {
    const abuti_posed *posed[2] = {a, b};
    pair_side *side = frame->side;
    for (int k = 0; k < 2; k++) {
        side[k].bvh = posed[k]->bvh;
        side[k].motion = abuti_motion_of(&posed[k]->pose);
    }
    frame->scale = real_min(a->bvh->scale, b->bvh->scale);
    mat3 back = m3_transpose(&side[0].motion.rotation);
    mat3 rotation = m3_multiply(&back, &side[1].motion.rotation),
         rotation_back = m3_transpose(&rotation);
    vec3 shift = v3_scale(relative_origin(&side[0], &side[1]), frame->scale);
    vec3 shift_back = v3_scale(relative_origin(&side[1], &side[0]), frame->scale);
    frame->reach = real_max(v3_max_abs(shift), v3_max_abs(shift_back));
    bool is_near = frame->reach <= PAIR_FAR_DISTANCE;
    set_transform(&side[0], &rotation, shift, is_near);
    set_transform(&side[1], &rotation_back, shift_back, is_near);
    for (int k = 0; k < 2; k++)
        side[k].unit = (float)(frame->scale / side[k].bvh->scale);
    frame->position_error = 0x1p-45 * (largest_coordinate(&side[0]) + largest_coordinate(&side[1]));
    bool exact = !is_moved(&side[0].motion) && !is_moved(&side[1].motion);
    double error = exact ? 0 : frame->position_error * frame->scale;
    /* Input coordinates are exact, however large: then rounding errors are those of differences. */
    double coordinate_error =
        exact ? 0x1p-45 * (frame->reach + 8) / frame->scale : frame->position_error;
    frame->tie = PAIR_TIE_ERRORS * real_min(coordinate_error, frame->position_error);
    frame->pad = is_near ? PAIR_FLOAT_ERROR * ((float)frame->reach + 8) + (float)error : 0;
    frame->tie = is_near ? real_min(frame->tie, frame->pad / frame->scale) : frame->tie;
    return error <= 0x1p-20;
}

/* ---- distant poses ---- */

/* Creates a transformed copy of a mesh with a BVH of the same tree. */
static abut_status create_posed_copy(const abuti_posed *from, abut_bvh **copy) {
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

/* Two posed meshes ready for a search: the originals, or transformed copies. */
typedef struct pair_work {
    abuti_posed posed[2];
    abut_bvh *copy[2];
    pair_frame frame;
} pair_work;

static void release_pair(pair_work *work) {
    abut_bvh_destroy(work->copy[0]);
    abut_bvh_destroy(work->copy[1]);
}

static abut_status prepare_pair(pair_work *work, const abuti_posed *a, const abuti_posed *b) {
    work->posed[0] = *a;
    work->posed[1] = *b;
    work->copy[0] = work->copy[1] = NULL;
    if (abuti_pair_frame_init(a, b, &work->frame))
        return ABUT_OK;
    for (int k = 0; k < 2; k++) {
        abut_status status = create_posed_copy(&work->posed[k], &work->copy[k]);
        if (status) {
            release_pair(work);
            return status;
        }
        memset(&work->posed[k].pose, 0, sizeof work->posed[k].pose);
        work->posed[k].bvh = work->copy[k];
    }
    abuti_pair_frame_init(&work->posed[0], &work->posed[1], &work->frame);
    return ABUT_OK;
}

/* ---- order of the searches ---- */

/* Whether the pair of the previous query intersects again. */
static bool cached_pair_intersects(const pair_frame *frame, const abut_pair_cache *cache) {
    if (!cache || !cache->known || cache->triangle_a >= frame->side[0].bvh->triangle_count ||
        cache->triangle_b >= frame->side[1].bvh->triangle_count)
        return false;
    return triangle_triangle_intersect(pair_triangle(&frame->side[0], cache->triangle_a),
                                       pair_triangle(&frame->side[1], cache->triangle_b),
                                       NULL) != ABUT_INTERSECTION_NONE;
}

/* Computes the relation of two bodies. `triangle`, if not null, gets an intersecting pair; `vertex`
 * is set if one body is inside the other. */
static abut_status compute_relation(const pair_work *work, bool surfaces, abut_pair_cache *cache,
                                    abut_pair_relation *relation, uint32_t *triangle,
                                    uint32_t *vertex, unsigned *flags) {
    uint32_t found[2];
    *relation = ABUT_PAIR_INTERSECTING;
    if (!triangle && cached_pair_intersects(&work->frame, cache))
        return ABUT_OK;
    bool intersects = abuti_pair_find_intersection(&work->frame, found);
    abut_status status = abuti_stop_status("pairs");
    if (status)
        return status;
    if (intersects) {
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
                               flags);
}

abut_status abuti_pair_overlap(const abuti_posed *a, const abuti_posed *b, bool surfaces,
                               abut_pair_cache *cache, abut_pair_relation *relation,
                               unsigned *flags) {
    pair_work work;
    uint32_t vertex;
    abut_pair_relation found;
    abut_status status = prepare_pair(&work, a, b);
    if (status)
        return status;
    status = compute_relation(&work, surfaces, cache, &found, NULL, &vertex, flags);
    if (!status)
        *relation = found;
    release_pair(&work);
    return status;
}

/* The separation of surfaces that intersect in two triangles. */
static void fill_intersection(const pair_frame *frame, const uint32_t triangle[2],
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

abut_status abuti_pair_distance(const abuti_posed *a, const abuti_posed *b, bool surfaces,
                                abut_pair_cache *cache, abut_separation *separation) {
    bool is_found;
    return abuti_pair_distance_below(a, b, INFINITY, surfaces, cache, &is_found, separation);
}

abut_status abuti_pair_distance_below(const abuti_posed *a, const abuti_posed *b, double limit,
                                      bool surfaces, abut_pair_cache *cache, bool *is_found,
                                      abut_separation *separation) {
    pair_work work;
    uint32_t triangle[2], vertex;
    unsigned flags = 0;
    bool is_near = true;
    abut_separation found;
    memset(&found, 0, sizeof found);
    abuti_posed posed[2] = {*a, *b};
    abut_status status;
    if ((status = abuti_bvh_cpu_tree(a->bvh, &posed[0].bvh)) ||
        (status = abuti_bvh_cpu_tree(b->bvh, &posed[1].bvh)) ||
        (status = prepare_pair(&work, &posed[0], &posed[1])))
        return status;
    status = compute_relation(&work, surfaces, cache, &found.relation, triangle, &vertex, &flags);
    if (!status) {
        if (found.relation == ABUT_PAIR_INTERSECTING)
            fill_intersection(&work.frame, triangle, &found);
        else if (found.relation != ABUT_PAIR_APART)
            abuti_pair_inside(&work.frame, found.relation == ABUT_PAIR_B_INSIDE, vertex, &found);
        else
            status = abuti_pair_closest(&work.frame, limit, false, cache, &is_near, &found);
        found.reliability = abuti_pair_reliability_of(flags);
        if (!status)
            status = abuti_stop_status("pairs");
        if (!status && is_near)
            *separation = found;
        if (!status)
            *is_found = is_near;
    }
    release_pair(&work);
    return status;
}

abut_status abuti_pair_within(const abuti_posed *a, const abuti_posed *b, double margin,
                              bool surfaces, abut_pair_cache *cache, bool *within,
                              unsigned *flags) {
    pair_work work;
    uint32_t vertex;
    abut_separation found;
    abut_status status = prepare_pair(&work, a, b);
    if (status)
        return status;
    status = compute_relation(&work, surfaces, cache, &found.relation, NULL, &vertex, flags);
    bool is_near = false;
    if (!status && found.relation == ABUT_PAIR_APART)
        status = abuti_pair_closest(&work.frame, margin, true, cache, &is_near, &found);
    if (!status) {
        if (is_near) /* containment does not matter then */
            *flags = 0;
        status = abuti_stop_status("pairs");
        if (!status)
            *within = is_near || found.relation != ABUT_PAIR_APART;
    }
    release_pair(&work);
    return status;
}

/* ---- public ---- */

abut_status abuti_pair_check_pose(const char *function, const char *what, const abut_bvh *bvh,
                                  const abut_pose *at) {
    if (abuti_pose_check(function, what, at)) { /* called again for the message */
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
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "%s: the pose of %s moves its bounding box beyond %g; coordinates must "
                "not be larger in magnitude",
                function, what, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

abut_status abuti_pair_check(const char *function, const abuti_posed *a, const abuti_posed *b,
                             const void *out, const char *out_name) {
    const char *null = !a ? "a" : !b ? "b" : !a->bvh ? "a->bvh" : !b->bvh ? "b->bvh" : NULL;
    if (!null && !out)
        null = out_name;
    if (null)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null; pass its address", function, null);
    abut_status status = abuti_bvh_ensure_host(a->bvh);
    if (!status)
        status = abuti_bvh_ensure_host(b->bvh);
    if (!status)
        status = abuti_pair_check_pose(function, "a", a->bvh, &a->pose);
    return status ? status : abuti_pair_check_pose(function, "b", b->bvh, &b->pose);
}

abut_status abuti_posed_read(const char *function, const char *what, const abut_collider *collider,
                             abuti_posed *posed) {
    abut_collider ours;
    abut_status status = abuti_collider_read(function, what, collider, &ours);
    if (status)
        return status;
    if (ours.kind != ABUT_COLLIDER_BODY && ours.kind != ABUT_COLLIDER_HULL)
        return abuti_collider_refuse(function, what, &ours, "a body with a BVH, or a hull");
    *posed = (abuti_posed){ours.kind == ABUT_COLLIDER_HULL ? ours.shape.hull : ours.shape.body.bvh,
                           ours.pose};
    return posed->bvh ? ABUT_OK
                      : abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s->shape.%s is null", function, what,
                                   ours.kind == ABUT_COLLIDER_HULL ? "hull" : "body.bvh");
}

abut_status abuti_pair_read(const char *function, const abut_collider *a, const abut_collider *b,
                            const void *out, const char *out_name, abuti_posed posed[2]) {
    abut_status status = abuti_posed_read(function, "a", a, &posed[0]);
    if (!status)
        status = abuti_posed_read(function, "b", b, &posed[1]);
    return status ? status : abuti_pair_check(function, &posed[0], &posed[1], out, out_name);
}

abut_status abut_pair_overlap(const abut_collider *a, const abut_collider *b,
                              const abut_pair_options *options, abut_pair_cache *cache,
                              abut_overlap *overlap) {
    abuti_posed posed[2];
    abut_pair_options ours = abut_pair_options_default();
    unsigned flags = 0;
    abut_status status = abuti_pair_read(__func__, a, b, overlap, "overlap", posed);
    if (!status)
        status = abuti_options_read(&ours, sizeof ours, options, __func__);
    if (!status)
        status = abuti_pair_overlap(&posed[0], &posed[1], ours.surface_only, cache,
                                    &overlap->relation, &flags);
    if (!status)
        overlap->reliability = abuti_pair_reliability_of(flags);
    return status;
}

abut_status abut_pair_distance(const abut_collider *a, const abut_collider *b,
                               const abut_pair_options *options, abut_pair_cache *cache,
                               abut_separation *separation) {
    abuti_posed posed[2];
    abut_pair_options ours = abut_pair_options_default();
    abut_status status = abuti_pair_read(__func__, a, b, separation, "separation", posed);
    if (!status)
        status = abuti_options_read(&ours, sizeof ours, options, __func__);
    return status ? status
                  : abuti_pair_distance(&posed[0], &posed[1], ours.surface_only, cache, separation);
}

abut_status abut_pair_within(const abut_collider *a, const abut_collider *b, double margin,
                             const abut_pair_options *options, abut_pair_cache *cache, bool *within,
                             abut_reliability *reliability) {
    abuti_posed posed[2];
    abut_pair_options ours = abut_pair_options_default();
    unsigned flags = 0;
    abut_status status = abuti_pair_read(__func__, a, b, within, "within", posed);
    if (!status)
        status = abuti_bvh_check_limit(__func__, "margin", margin);
    if (!status)
        status = abuti_options_read(&ours, sizeof ours, options, __func__);
    if (!status)
        status = abuti_pair_within(&posed[0], &posed[1], margin, ours.surface_only, cache, within,
                                   &flags);
    if (!status && reliability)
        *reliability = abuti_pair_reliability_of(flags);
    return status;
}

static bool is_after(const void *one, const void *other) {
    const abut_pair_intersection *a = one, *b = other;
    return a->triangle_a > b->triangle_a ||
           (a->triangle_a == b->triangle_a && a->triangle_b > b->triangle_b);
}

abut_status abut_pair_intersections(const abut_collider *a, const abut_collider *b,
                                    abut_pair_intersection_list *intersections) {
    abuti_posed posed[2];
    abut_status status = abuti_pair_read(__func__, a, b, intersections, "intersections", posed);
    if (!status)
        status = ABUTI_LIST_CHECK(__func__, "intersections", intersections);
    pair_work work;
    if (!status)
        status = prepare_pair(&work, &posed[0], &posed[1]);
    if (status)
        return status;
    /* counted first, so that a buffer that is too small stays unchanged */
    uint64_t found = abuti_pair_list_intersections(&work.frame, 0, NULL);
    status = abuti_stop_status("pairs");
    if (!status)
        status = ABUTI_LIST_COUNT(__func__, "intersections", intersections, found);
    if (!status && found) {
        abuti_pair_list_intersections(&work.frame, found, intersections->list);
        status = abuti_stop_status("pairs");
    }
    if (!status && found)
        abuti_sort_items(intersections->list, (size_t)found, sizeof *intersections->list, is_after);
    release_pair(&work);
    return status;
}

const char *abut_pair_relation_name(abut_pair_relation relation) {
    static const char *const names[] = {"apart", "intersecting", "a-inside", "b-inside"};
    return ABUTI_NAME(names, relation);
}

/* ---- reliability ---- */

/* The reliability of results that depend on containment (containment.c): exact without boundary
 * edges, whichever way components face. Volume and inertia need more. */
abut_reliability abut_pair_reliability(const abut_mesh_report *report) {
    abut_mesh_report ours = abut_mesh_report_default();
    if (!abuti_report_read(&ours, report))
        return abuti_unreliable("The report is null, or its size is not set.");
    report = &ours;
    if (report->is_sheet)
        return abuti_limited(
            "A sheet: its holes exceed a tenth of its area, so it has no interior, nothing is "
            "reported as inside it, and volume is undefined. Close the holes if it is a solid.");
    if (report->has_opposite_boundary)
        return abuti_unreliable(
            "Neighbouring triangles face opposite ways, so the interior is unknown and volume is "
            "undefined: orient the mesh first.");
    if (report->has_sheets)
        return abuti_limited(
            "Some components are sheets: their holes exceed a tenth of their area, so they have no "
            "interior. The interior of the other components is exact if these are closed, and a "
            "guess near their holes otherwise. Volume is undefined.");
    if (report->has_boundary && abuti_problems(report, ABUT_PROBLEM_BOUNDARY_EDGE))
        return abuti_limited(
            "The surface has boundary edges, so the interior is a guess near the holes, and "
            "volume is undefined: close the holes.");
    if (report->has_boundary)
        return abuti_limited(
            "Edges with three or more faces do not bound a solid, so the interior is a guess near "
            "them, and volume is undefined: remove the extra faces.");
    if (!report->is_balanced || !report->is_oriented)
        return abuti_guaranteed(
            "Closed after vertices with equal coordinates are merged: the interior is exact. "
            "Weld the mesh for volume and inertia.");
    if (abuti_problems(report, ABUT_PROBLEM_INWARD_COMPONENT))
        return abuti_guaranteed(
            "Closed: the interior is exact. A component faces inwards, so its volume is "
            "negative: orient the mesh if you need volumes.");
    if (!report->has_volume)
        return abuti_guaranteed("Closed, but without volume: it contains nothing.");
    if (report->has_nested_component)
        return abuti_guaranteed(
            "Closed: the interior is exact. A component is inside another and both face outwards, "
            "so volume and inertia count their intersection twice: orient the mesh if it is a "
            "cavity.");
    if (report->has_self_intersection_test)
        return report->self_intersection_count
                   ? abuti_guaranteed(
                         "Closed: the interior is exact. The surface intersects itself, "
                         "so volume and inertia count overlaps twice.")
                   : abuti_guaranteed(
                         "Closed, facing outwards, without self-intersections: interior, "
                         "volume and inertia are those of the solid.");
    return abuti_guaranteed(
        "Closed and facing outwards: the interior is exact, and volume and inertia are those of "
        "the solid if the surface does not intersect itself.");
}
