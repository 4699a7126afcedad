/* Finds the pairs of triangles of two surfaces within the margin, and the local minima of the
 * distance among them.
 *
 * Method: see patch_proximity.c. Pairs of triangles of which one is too far above or below the
 * plane of the other are rejected. */
#include "contact/patch_proximity.h"

#include "geom/distance_shared.h"

#include <math.h>

#define CONE_TOLERANCE 1e-5  /* of an edge: by which a neighbour may be nearer at a minimum */
#define SNAP_COSINE 0.999999 /* a milliradian: nearly touching features get a face normal */

/* ---- triangles ---- */

/* Returns the triangle at an index of the leaves, cached or computed. */
static const near_face *cached_face(proximity_query *p, uint32_t side, uint32_t index) {
    const uint32_t slot = index % NEAR_CACHED_FACES;
    near_face *f = &p->faces[side][slot];
    if (p->cached[side][slot] == index)
        return f;
    p->cached[side][slot] = index;
    const patch_body *body = &p->work->body[side];
    const bvh_interior *interior = p->interior[side];
    f->face = body->bvh->order[index];
    f->corner = body->skin->corner + 3 * (size_t)f->face;
    for (int k = 0; k < 3; k++)
        f->at.corner[k] = patch_position(body, f->corner[k]);
    f->normal = abuti_is_collapsed(f->corner)
                    ? v3(0, 0, 0)
                    : abuti_unit_normal(f->at.corner[0], f->at.corner[1], f->at.corner[2]);
    f->two_sided = interior->is_sheet ? interior->is_sheet[f->face] : !interior->has_solids;
    return f;
}

/* Computes the heights of the corners of a triangle above the plane of another one. Returns false
 * if it is further above than the range, or below and cannot be in contact. */
static bool is_near_plane(const proximity_query *p, const near_face *f, const near_face *plane,
                          bool *crosses) {
    const double depth = plane->two_sided ? p->range : p->touch_distance;
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 3; k++) {
        double height = v3_dot(plane->normal, v3_sub(f->at.corner[k], plane->at.corner[0]));
        low = real_min(low, height);
        high = real_max(high, height);
    }
    *crosses &= low <= p->rounding_error && high >= -p->rounding_error;
    return low <= p->range && high >= -depth;
}

/* ---- local minima ---- */

/* Returns whether no neighbour of the feature of a side is nearer to the other side. `direction`
 * points away from the other side. */
static bool is_local_minimum(const patch_body *body, const near_face *f, abut_feature feature,
                             vec3 at, vec3 direction) {
    const abut_topology_arrays *view = &body->skin->view;
    const uint32_t *faces = NULL;
    uint32_t count = 0;
    if (feature == ABUT_FEATURE_FACE)
        return true;
    if (feature >= ABUT_FEATURE_VERTEX_0) {
        uint32_t vertex = f->corner[feature - ABUT_FEATURE_VERTEX_0];
        faces = view->vertex_faces + view->vertex_face_begin[vertex];
        count = view->vertex_face_begin[vertex + 1] - view->vertex_face_begin[vertex];
    } else {
        uint32_t k = (uint32_t)(feature - ABUT_FEATURE_EDGE_0);
        count = abuti_edge_faces(view, view->triangle_edges[3 * (size_t)f->face + k], &faces);
    }
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            vec3 to =
                v3_sub(patch_position(body, body->skin->corner[3 * (size_t)faces[i] + (size_t)k]),
                       at);
            double ahead = v3_dot(to, direction);
            if (ahead < 0 && ahead * ahead > CONE_TOLERANCE * CONE_TOLERANCE * v3_length_sq(to))
                return false;
        }
    return true;
}

/* Returns the unit direction from b to a. It is the normal of a face if a face contains a closest
 * point, or if the points are so near that their difference is mostly rounding error. */
static vec3 compute_direction(const proximity_query *p, const near_face *f, const near_face *g,
                              const abut_feature feature[2], const closest_pair *closest) {
    vec3 direction = v3_normalise(v3_sub(closest->point_a, closest->point_b));
    const vec3 normals[2] = {g->normal, v3_scale(f->normal, -1)};
    for (int i = 0; i < 2; i++) {
        double cosine = v3_dot(normals[i], direction);
        if (feature[!i] == ABUT_FEATURE_FACE ||
            (closest->distance < p->touch_distance && fabs(cosine) > SNAP_COSINE))
            return v3_scale(normals[i], cosine < 0 ? -1 : 1);
    }
    return v3_max_abs(direction) > 0 ? direction : normals[g->two_sided && !f->two_sided];
}

/* ---- pairs ---- */

/* Returns the index of a pair, and adds it if it is new; ABUT_NONE on failure. */
static uint32_t add_pair(proximity_query *p, uint32_t f, uint32_t g, bool is_facing,
                         double distance) {
    patch_memory *memory = p->work->memory;
    bool added;
    uint32_t *index = abuti_patch_table_insert(memory, &p->index, near_pair_key(f, g),
                                               (uint32_t)p->pair_count, &added);
    if (!index || !PATCH_RESERVE_ONE(memory, p->pairs, p->pair_count, p->pair_capacity))
        return ABUT_NONE;
    if (added)
        p->pairs[p->pair_count++] =
            (near_pair){.face = {f, g}, .is_facing = is_facing, .distance = distance};
    return *index;
}

static uint32_t add_facing_pair(proximity_query *p, const near_face *f, const near_face *g,
                                double distance) {
    uint32_t index = add_pair(p, f->face, g->face, true, distance);
    if (index != ABUT_NONE) {
        p->pairs[index].normal[0] = f->normal;
        p->pairs[index].normal[1] = g->normal;
        p->pairs[index].two_sided[0] = f->two_sided;
        p->pairs[index].two_sided[1] = g->two_sided;
    }
    return index;
}

void abuti_proximity_add_minimum(proximity_query *p, const near_minimum *minimum) {
    if (PATCH_RESERVE_ONE(p->work->memory, p->minima, p->minimum_count, p->minimum_capacity))
        p->minima[p->minimum_count++] = *minimum;
}

bool abuti_proximity_is_nearer(const near_minimum *a, const near_minimum *b) {
    if (a->distance != b->distance)
        return a->distance < b->distance;
    return a->face[0] != b->face[0] ? a->face[0] < b->face[0] : a->face[1] < b->face[1];
}

/* Measures two triangles that do not intersect. */
static void measure_pair(proximity_query *p, const near_face *f, const near_face *g,
                         bool is_facing) {
    const patch_work *work = p->work;
    near_minimum m = {.face = {f->face, g->face}, .pair = ABUT_NONE};
    closest_pair closest = triangle_triangle_closest_features(f->at, g->at, m.feature);
    if (closest.distance > p->range)
        return;
    m.distance = closest.distance;
    m.at[0] = closest.point_a;
    m.at[1] = closest.point_b;
    m.normal = compute_direction(p, f, g, m.feature, &closest);
    bool outside = (g->two_sided || v3_dot(m.normal, g->normal) > -CONE_TOLERANCE) &&
                   (f->two_sided || v3_dot(m.normal, f->normal) < CONE_TOLERANCE);
    bool is_minimum =
        outside && is_local_minimum(&work->body[0], f, m.feature[0], m.at[0], m.normal) &&
        is_local_minimum(&work->body[1], g, m.feature[1], m.at[1], v3_scale(m.normal, -1));
    bool has_face = m.feature[0] == ABUT_FEATURE_FACE || m.feature[1] == ABUT_FEATURE_FACE;
    is_minimum = is_minimum && (has_face || m.distance > p->rounding_error);
    if (is_facing)
        m.pair = add_facing_pair(p, f, g, m.distance);
    else if (is_minimum)
        m.pair = add_pair(p, f->face, g->face, false, m.distance);
    if (p->nearest.face[0] == ABUT_NONE || abuti_proximity_is_nearer(&m, &p->nearest))
        p->nearest = m;
    if (is_minimum)
        abuti_proximity_add_minimum(p, &m);
}

static bool visit_leaf_pair(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned near) {
    proximity_query *p = data;
    for (; near; near &= near - 1) {
        const uint32_t bit = abuti_lowest_bit(near);
        const near_face *f = cached_face(p, 0, leaf_a * BVH_WIDTH + bit / BVH_WIDTH),
                        *g = cached_face(p, 1, leaf_b * BVH_WIDTH + bit % BVH_WIDTH);
        bool crosses = p->overlaps;
        if (v3_max_abs(f->normal) == 0 || v3_max_abs(g->normal) == 0 ||
            !is_near_plane(p, f, g, &crosses) || !is_near_plane(p, g, f, &crosses))
            continue;
        const double cosine = -v3_dot(f->normal, g->normal);
        const bool is_facing =
            (f->two_sided || g->two_sided ? fabs(cosine) : cosine) > NEAR_FACING_COSINE;
        if (!crosses || triangle_triangle_intersect(f->at, g->at, NULL) == ABUT_INTERSECTION_NONE)
            measure_pair(p, f, g, is_facing);
        else if (is_facing)
            add_facing_pair(p, f, g, 0);
    }
    return p->work->memory->status != ABUT_OK;
}

void abuti_proximity_find_pairs(proximity_query *p, const pair_frame *frame) {
    pair_frame padded = *frame;
    padded.pad += (float)(1.001 * p->range * frame->scale);
    p->nearest.face[0] = ABUT_NONE;
    abuti_pair_candidates(&padded, visit_leaf_pair, p);
    near_minimum *nearest = &p->nearest;
    if (patch_check(p->work->memory, abuti_stop_status("contacts")) && !p->overlaps &&
        nearest->face[0] != ABUT_NONE)
        nearest->pair = add_pair(p, nearest->face[0], nearest->face[1], false, nearest->distance);
}

/* ---- components ---- */

/* Joins a pair with the pairs of its neighbours on one side. */
static void join_neighbours(proximity_query *p, uint32_t pair, uint32_t side) {
    const near_pair *own = &p->pairs[pair];
    const abut_topology_arrays *view = &p->work->body[side].skin->view;
    for (int k = 0; k < 3; k++) {
        const uint32_t *faces;
        uint32_t count =
            abuti_edge_faces(view, view->triangle_edges[3 * (size_t)own->face[side] + (size_t)k],
                             &faces);
        for (uint32_t i = 0; i < count; i++) {
            if (faces[i] == own->face[side])
                continue;
            uint32_t other =
                abuti_patch_table_find(&p->index, side ? near_pair_key(own->face[0], faces[i])
                                                       : near_pair_key(faces[i], own->face[1]));
            if (other != ABUT_NONE)
                abuti_join(p->parent, pair, other);
        }
    }
}

bool abuti_proximity_join_pairs(proximity_query *p) {
    p->parent = abuti_patch_allocate(p->work->memory, p->pair_count, sizeof *p->parent);
    if (!p->parent)
        return false;
    for (uint32_t i = 0; i < p->pair_count; i++)
        p->parent[i] = i;
    for (uint32_t i = 0; i < p->pair_count; i++) {
        join_neighbours(p, i, 0);
        join_neighbours(p, i, 1);
    }
    for (uint32_t i = 0; i < p->pair_count; i++)
        p->parent[i] = abuti_root(p->parent, i);
    return true;
}
