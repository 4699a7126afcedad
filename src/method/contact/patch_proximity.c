/* Gaps: contacts of surfaces whose distance does not exceed the margin.
 *
 * Problem: a body in a tight fit has several walls within the margin, each with its own gap. Every
 * wall needs a contact with the true gap.
 *
 * Method. A traversal of both BVHs, with the margin as padding, finds candidate pairs of triangles.
 * A pair is a local minimum of the distance of both surfaces if the line between its closest points
 * is in the normal cones of the features that contain them: then no neighbour of either feature is
 * nearer along that line (Johnson and Cohen, I3D 2001). Pairs of triangles that face each other are
 * joined over shared edges into components. In each component, minima are processed by increasing
 * distance. A minimum starts a wall with its normal, unless it belongs to one: a wall contains all
 * minima of the component within WALL_COSINE of its normal. The contact points of a wall are its
 * minima and the corners of the projected overlap of its triangles, so a face rests on its corners.
 * A component through which the contour of an overlap runs adds its points to the patch of that
 * overlap.
 *
 * Guarantee: the nearest pair of triangles within the range always has a wall, and its depth is
 * minus the distance of the surfaces. Walls further away than the range are not reported. */
#include "contact/patch_proximity.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WALL_COSINE 0.9           /* between the normals of a wall and of its minima: 26 degrees */
#define COSINE_SUM_TOLERANCE 1e-6 /* differences of sums of cosines that may be rounding errors */
#define INSIDE_TOLERANCE 1e-9     /* of barycentric coordinates of points in a triangle */
#define VERTEX_DISTANCE 3e-3  /* of the width of a wall: a nearer vertex identifies a crossing */
#define DEPTH_TOLERANCE 2e-3  /* of the depth: points within it count as deepest */
#define TOUCH_JITTERS 1000    /* touch_distance of proximity_query, in jitters */
#define ROUNDING_JITTERS 1e-3 /* the same for rounding_error */

/* ---- walls ---- */

static void add_wall(proximity_query *p, vec3 normal, uint32_t component, size_t answer) {
    if (!PATCH_RESERVE_ONE(p->work->memory, p->walls, p->wall_count, p->wall_capacity))
        return;
    near_wall *wall = &p->walls[p->wall_count++];
    memset(wall, 0, sizeof *wall);
    wall->normal = normal;
    abuti_patch_tangents(normal, wall->tangent);
    wall->component = component;
    wall->answer = answer;
    abuti_patch_init_outermost(&wall->outermost, PATCH_DIRECTIONS);
    wall->deepest = -INFINITY;
}

/* Returns the wall of a component whose normal is nearest to the given one, or null. */
static near_wall *find_wall(proximity_query *p, uint32_t component, vec3 normal) {
    near_wall *best = NULL;
    double largest = WALL_COSINE;
    for (size_t i = 0; i < p->wall_count; i++) {
        double cosine = v3_dot(p->walls[i].normal, normal);
        if (p->walls[i].component == component && cosine > largest) {
            largest = cosine;
            best = &p->walls[i];
        }
    }
    return best;
}

/* ---- points of walls ---- */

/* Keeps a point if it is the nearest of its wall, or the outermost in a direction; of points that
 * are about equally near, the one with the lowest key. */
static void add_wall_point(near_wall *wall, const patch_point *point, double tolerance) {
    const patch_candidate c = {*point, v3_dot(point->at, wall->tangent[0]),
                               v3_dot(point->at, wall->tangent[1])};
    const uint64_t key = patch_point_key(point);
    const bool is_first = !(wall->deepest > -INFINITY);
    wall->deepest = real_max(wall->deepest, point->depth);
    if (is_first || wall->nearest.point.depth < wall->deepest - tolerance ||
        (point->depth >= wall->deepest - tolerance && key < patch_point_key(&wall->nearest.point)))
        wall->nearest = c;
    if (abuti_patch_extend_outermost(&wall->outermost, c.u, c.v))
        abuti_patch_add_outermost(&wall->outermost, &c, key);
}

/* Identifies the crossing of edge k of a triangle of a and edge l of a triangle of b. */
static patch_point edge_crossing_point(const patch_work *work, uint32_t f, uint32_t k, uint32_t g,
                                       uint32_t l) {
    return (patch_point){
        .side = 0,
        .kind = ABUT_CONTACT_CROSSING,
        .element = work->body[0].skin->view.triangle_edges[3 * (size_t)f + k],
        .part = patch_edge_part(work->body[1].skin, g, l),
    };
}

static patch_point vertex_point(const patch_work *work, uint32_t side, uint32_t face, uint32_t k) {
    return (patch_point){.side = side,
                         .kind = ABUT_CONTACT_VERTEX,
                         .element = work->body[side].skin->corner[3 * (size_t)face + k]};
}

static void add_minimum_point(proximity_query *p, near_wall *wall, const near_minimum *m,
                              double tolerance) {
    const abut_feature *feature = m->feature;
    patch_point point;
    if (feature[0] >= ABUT_FEATURE_VERTEX_0)
        point =
            vertex_point(p->work, 0, m->face[0], (uint32_t)(feature[0] - ABUT_FEATURE_VERTEX_0));
    else if (feature[1] >= ABUT_FEATURE_VERTEX_0)
        point =
            vertex_point(p->work, 1, m->face[1], (uint32_t)(feature[1] - ABUT_FEATURE_VERTEX_0));
    else if (feature[0] != ABUT_FEATURE_FACE && feature[1] != ABUT_FEATURE_FACE)
        point =
            edge_crossing_point(p->work, m->face[0], (uint32_t)(feature[0] - ABUT_FEATURE_EDGE_0),
                                m->face[1], (uint32_t)(feature[1] - ABUT_FEATURE_EDGE_0));
    else
        point = (patch_point){.kind = ABUT_CONTACT_FACE, .element = m->face[0]};
    point.at = v3_lerp(m->at[0], m->at[1], 0.5);
    point.depth = -m->distance;
    add_wall_point(wall, &point, tolerance);
}

/* A triangle in the coordinates of a wall: x and y across its normal, z along it. */
typedef struct projected_face {
    vec3 corner[3];
    double sign; /* of its orientation: 1 or -1; 0 if its projection has no area */
} projected_face;

static projected_face project_face(const proximity_query *p, const near_wall *wall, uint32_t side,
                                   uint32_t face) {
    projected_face projected;
    const patch_body *body = &p->work->body[side];
    for (int k = 0; k < 3; k++) {
        vec3 at = patch_position(body, body->skin->corner[3 * (size_t)face + (size_t)k]);
        projected.corner[k] = v3(v3_dot(at, wall->tangent[0]), v3_dot(at, wall->tangent[1]),
                                 v3_dot(at, wall->normal));
    }
    const vec3 p0 = projected.corner[0];
    double area = v3_cross(v3_sub(projected.corner[1], p0), v3_sub(projected.corner[2], p0)).z;
    projected.sign = area > 0 ? 1 : area < 0 ? -1 : 0;
    return projected;
}

/* Computes the height of a triangle at a position; false if the position is outside. */
static bool height_of_face(const projected_face *s, double u, double v, double tolerance,
                           double *height) {
    double weight[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        weight[k] = s->sign * ((s->corner[j].x - s->corner[i].x) * (v - s->corner[i].y) -
                               (s->corner[j].y - s->corner[i].y) * (u - s->corner[i].x));
        sum += weight[k];
    }
    if (!(sum > 0))
        return false;
    *height = 0;
    for (int k = 0; k < 3; k++) {
        if (weight[k] < -tolerance * sum)
            return false;
        *height += weight[k] / sum * s->corner[k].z;
    }
    return true;
}

/* Adds a point halfway between both surfaces if its gap is within the range. */
static void add_gap_point(const proximity_query *p, near_wall *wall, patch_point point, double u,
                          double v, double height_a, double height_b, double tolerance) {
    double gap = height_a - height_b;
    if (!(gap > 0) || gap > p->range)
        return;
    vec3 across = v3_add(v3_scale(wall->tangent[0], u), v3_scale(wall->tangent[1], v));
    point.at = v3_along(across, 0.5 * (height_a + height_b), wall->normal);
    point.depth = -gap;
    add_wall_point(wall, &point, tolerance);
}

/* Adds the corners of the projected overlap of two triangles. */
static void add_overlap_corners(const proximity_query *p, near_wall *wall, const near_pair *pair,
                                double tolerance) {
    const patch_work *work = p->work;
    projected_face s[2];
    for (uint32_t side = 0; side < 2; side++)
        s[side] = project_face(p, wall, side, pair->face[side]);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t k = 0; k < 3; k++) {
            double other;
            const vec3 at = s[side].corner[k];
            if (height_of_face(&s[!side], at.x, at.y, INSIDE_TOLERANCE, &other))
                add_gap_point(p, wall, vertex_point(work, side, pair->face[side], k), at.x, at.y,
                              side ? other : at.z, side ? at.z : other, tolerance);
        }
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t l = 0; l < 3; l++) {
            uint32_t k1 = k == 2 ? 0 : k + 1, l1 = l == 2 ? 0 : l + 1;
            const vec3 f = s[0].corner[k], g = s[1].corner[l];
            double x, y;
            if (!patch_cross_edges(f, s[0].corner[k1], g, s[1].corner[l1], &x, &y))
                continue;
            const vec3 at = v3_lerp(f, s[0].corner[k1], x);
            add_gap_point(p, wall, edge_crossing_point(work, pair->face[0], k, pair->face[1], l),
                          at.x, at.y, at.z, g.z + y * (s[1].corner[l1].z - g.z), tolerance);
        }
}

/* Returns whether a wall belongs to the component of a pair and both triangles face along its
 * normal, so that their corners count. */
static bool faces_wall(const near_wall *wall, const near_pair *pair, uint32_t component) {
    if (wall->component != component || !pair->is_facing)
        return false;
    double a = -v3_dot(pair->normal[0], wall->normal), b = v3_dot(pair->normal[1], wall->normal);
    return (pair->two_sided[0] ? fabs(a) : a) > NEAR_FACING_COSINE &&
           (pair->two_sided[1] ? fabs(b) : b) > NEAR_FACING_COSINE;
}

/* ---- walls of all pairs ---- */

/* Adds a wall for each patch of an overlap, in the components through which its contour runs. */
static void add_overlap_walls(proximity_query *p, const patch_answers *answers) {
    const patch_work *work = p->work;
    for (size_t i = 0; i < work->segment_count && work->crossing_region; i++) {
        const patch_segment *s = &work->segments[i];
        uint32_t pair = abuti_patch_table_find(&p->index, near_pair_key(s->face[0], s->face[1]));
        for (size_t k = 0; k < answers->count && pair != ABUT_NONE; k++)
            if (answers->list[k].region == work->crossing_region[s->from] &&
                !find_wall(p, p->parent[pair], answers->list[k].normal))
                add_wall(p, answers->list[k].normal, p->parent[pair], k);
    }
}

static int compare_minima(const void *a, const void *b) {
    return abuti_proximity_is_nearer(a, b) ? -1 : abuti_proximity_is_nearer(b, a) ? 1 : 0;
}

/* Adds a wall for each minimum that belongs to none, by increasing distance. Without an overlap,
 * the nearest pair always counts as a minimum. */
static void add_gap_walls(proximity_query *p, bool overlaps) {
    bool has_nearest = overlaps || p->nearest.face[0] == ABUT_NONE;
    for (size_t i = 0; i < p->minimum_count && !has_nearest; i++)
        has_nearest = !abuti_proximity_is_nearer(&p->nearest, &p->minima[i]);
    if (!has_nearest)
        abuti_proximity_add_minimum(p, &p->nearest);
    if (p->minimum_count)
        qsort(p->minima, p->minimum_count, sizeof *p->minima, compare_minima);
    for (size_t i = 0; i < p->minimum_count; i++) {
        const near_minimum *m = &p->minima[i];
        if (!find_wall(p, p->parent[m->pair], m->normal))
            add_wall(p, m->normal, p->parent[m->pair], SIZE_MAX);
    }
}

/* Adds walls of opposite faces that no other wall of their component has, nearest first. Such a
 * wall has no minimum if its nearest point is in another overlap. Faces that are tilted against
 * each other are nearest where the surfaces intersect, and are not walls. */
static void add_face_walls(proximity_query *p) {
    size_t tested = 0; /* walls before this one have been tested */
    while (!p->work->memory->status) {
        near_pair *best = NULL;
        for (size_t i = 0; i < p->pair_count; i++) {
            near_pair *pair = &p->pairs[i];
            if (!pair->is_facing || pair->has_wall || !(pair->distance > 0) ||
                fabs(v3_dot(pair->normal[0], pair->normal[1])) < WALL_COSINE)
                continue;
            for (size_t k = tested; k < p->wall_count && !pair->has_wall; k++)
                pair->has_wall = faces_wall(&p->walls[k], pair, p->parent[i]);
            if (!pair->has_wall && (!best || pair->distance < best->distance))
                best = pair;
        }
        if (!best)
            return;
        tested = p->wall_count;
        best->has_wall = true; /* also if it does not face its own wall */
        vec3 normal_a = v3_scale(best->normal[0], v3_dot(best->normal[0], best->normal[1]) > 0
                                                      ? -1 /* back of a sheet */
                                                      : 1);
        add_wall(p, v3_normalise(v3_sub(best->normal[1], normal_a)), p->parent[best - p->pairs],
                 SIZE_MAX);
    }
}

/* Returns the wall along whose normal the triangles of a pair face most, or null. */
static near_wall *find_pair_wall(proximity_query *p, size_t i) {
    const near_pair *pair = &p->pairs[i];
    near_wall *best = NULL;
    double largest = 0;
    for (size_t k = 0; k < p->wall_count; k++) {
        if (!faces_wall(&p->walls[k], pair, p->parent[i]))
            continue;
        double cosines = fabs(v3_dot(pair->normal[0], p->walls[k].normal)) +
                         fabs(v3_dot(pair->normal[1], p->walls[k].normal));
        if (cosines > largest + COSINE_SUM_TOLERANCE) {
            largest = cosines;
            best = &p->walls[k];
        }
    }
    return best;
}

static void add_wall_points(proximity_query *p, double tolerance) {
    for (size_t i = 0; i < p->minimum_count; i++) {
        const near_minimum *m = &p->minima[i];
        near_wall *wall = find_wall(p, p->parent[m->pair], m->normal);
        if (wall)
            add_minimum_point(p, wall, m, tolerance);
    }
    for (size_t i = 0; i < p->pair_count; i++) {
        near_wall *wall = find_pair_wall(p, i);
        if (wall)
            add_overlap_corners(p, wall, &p->pairs[i], tolerance);
    }
}

/* ---- patches ---- */

/* The faces of a wall, each once, and whether some are tilted against it. */
typedef struct wall_faces {
    struct wall_face {
        uint32_t side, face;
        vec3 normal; /* in the direction from b to a */
    } * list;
    size_t count, capacity;
    bool has_tilted;
} wall_faces;

static void find_wall_faces(const proximity_query *p, const near_wall *wall, wall_faces *faces) {
    patch_memory *memory = p->work->memory;
    patch_table table = {0};
    for (size_t i = 0; i < 2 * p->pair_count; i++) {
        const near_pair *pair = &p->pairs[i / 2];
        const uint32_t side = i % 2, face = pair->face[side];
        bool added;
        if (!faces_wall(wall, pair, p->parent[i / 2]) ||
            !abuti_patch_table_insert(memory, &table, near_pair_key(side, face), 0, &added) ||
            !added || !PATCH_RESERVE_ONE(memory, faces->list, faces->count, faces->capacity))
            continue;
        double cosine = v3_dot(pair->normal[side], wall->normal);
        faces->has_tilted |= fabs(cosine) < PATCH_FLAT_COSINE;
        faces->list[faces->count++] =
            (struct wall_face){side, face, v3_scale(pair->normal[side], cosine < 0 ? -1 : 1)};
    }
}

/* Chooses from the points of a wall and those that its overlap already has. The tolerance for
 * tilted faces applies to flat walls only. */
static void choose_points(const proximity_query *p, const near_wall *wall, bool is_flat,
                          patch_answer *answer) {
    const bool has_face_parts = p->work->body[1].skin->view.triangle_count <= CONTACT_ID_PART_MAX;
    patch_candidate found[PATCH_POINTS + PATCH_DIRECTIONS + 1];
    patch_choice choice = {.found = found,
                           .deepest = wall->deepest,
                           .depth_tolerance = DEPTH_TOLERANCE,
                           .tilt = is_flat ? PATCH_TILT : 0,
                           .merge_distance = p->merge_distance,
                           .last_is_deepest = true};
    for (uint32_t i = 0; i < answer->count; i++)
        found[choice.count++] =
            (patch_candidate){answer->points[i], v3_dot(answer->points[i].at, wall->tangent[0]),
                              v3_dot(answer->points[i].at, wall->tangent[1])};
    choice.count += abuti_patch_copy_outermost(&wall->outermost, found + choice.count);
    found[choice.count++] = wall->nearest;
    for (size_t i = answer->count; i < choice.count; i++)
        if (found[i].point.kind == ABUT_CONTACT_CROSSING)
            found[i].point =
                abuti_patch_snap_crossing(p->work, found[i].point,
                                          has_face_parts ? found[i].point.part : ABUT_NONE,
                                          VERTEX_DISTANCE * wall->outermost.width);
    for (size_t i = 0; i < choice.count; i++)
        choice.deepest = real_max(choice.deepest, found[i].point.depth);
    abuti_patch_choose(&choice, p->work->max_points, p->range, answer);
}

/* Returns the normal of a minimum at a point of a wall, or zero. */
static vec3 find_minimum_normal(const proximity_query *p, const near_wall *wall, vec3 at) {
    for (size_t i = 0; i < p->minimum_count; i++) {
        const near_minimum *m = &p->minima[i];
        if (p->parent[m->pair] == wall->component && v3_dot(m->normal, wall->normal) > 0 &&
            v3_length_sq(v3_sub(v3_lerp(m->at[0], m->at[1], 0.5), at)) <
                p->merge_distance * p->merge_distance)
            return m->normal;
    }
    return v3(0, 0, 0);
}

/* Sets the local normals of the gaps of a wall: at a minimum that of the minimum, at other
 * vertices that of the other body's faces around it, at crossings of edges that of the faces of
 * both bodies. */
static void set_local_normals(const proximity_query *p, const near_wall *wall,
                              const wall_faces *faces, patch_answer *answer) {
    for (uint32_t k = 0; k < answer->count; k++) {
        patch_point *point = &answer->points[k];
        if (point->depth >= 0)
            continue;
        point->normal = find_minimum_normal(p, wall, point->at);
        if (v3_max_abs(point->normal) == 0 && faces->has_tilted) {
            unsigned sides = point->kind == ABUT_CONTACT_VERTEX ? 1u << !point->side : 3;
            patch_normal_sum sum =
                abuti_patch_normal_begin(p->work, point->at, -point->depth, sides);
            for (size_t i = 0; i < faces->count; i++)
                abuti_patch_normal_add(&sum, faces->list[i].side, faces->list[i].face,
                                       faces->list[i].normal);
            point->normal = abuti_patch_normal_end(&sum);
        }
        point->normal = patch_local_normal(point->normal, answer->normal);
    }
}

/* Chooses the points of a wall and sets their normals. */
static void finish_wall(const proximity_query *p, const near_wall *wall, patch_answer *answer) {
    wall_faces faces = {.list = NULL};
    find_wall_faces(p, wall, &faces);
    choose_points(p, wall, !faces.has_tilted, answer);
    set_local_normals(p, wall, &faces, answer);
}

/* Completes the patches of overlaps, then adds patches, which changes the order of the list. */
static void add_wall_answers(proximity_query *p, patch_answers *answers) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < p->wall_count; i++) {
            const near_wall *wall = &p->walls[i];
            const bool is_gap = wall->answer == SIZE_MAX;
            if (!(wall->deepest > -INFINITY) || is_gap != (pass == 1))
                continue;
            if (!is_gap) {
                finish_wall(p, wall, &answers->list[wall->answer]);
                continue;
            }
            patch_answer answer = {.normal = wall->normal,
                                   .depth = wall->deepest,
                                   .centre = wall->nearest.point.at,
                                   .region = ABUT_NONE};
            finish_wall(p, wall, &answer);
            if (answer.count)
                abuti_patch_add(p->work->memory, answers, &answer);
        }
}

void abuti_patch_add_gaps(patch_work *work, const pair_frame *frame, double range, bool overlaps,
                          patch_answers *answers) {
    const patch_body *a = &work->body[0], *b = &work->body[1];
    proximity_query *p = abuti_patch_allocate(work->memory, 1, sizeof *p);
    if (!p)
        return;
    memset(p, 0, offsetof(proximity_query, cached));
    memset(p->cached, 0xff, sizeof p->cached); /* ABUT_NONE */
    p->work = work;
    p->range = range;
    p->overlaps = overlaps;
    p->merge_distance = PATCH_MERGE_DISTANCE * real_min(a->skin->size, b->skin->size);
    p->touch_distance = TOUCH_JITTERS * a->surface.jitter; /* that of b is equal */
    p->rounding_error = ROUNDING_JITTERS * a->surface.jitter;
    if (!patch_check(work->memory, abuti_bvh_interior(a->bvh, &p->interior[0])) ||
        !patch_check(work->memory, abuti_bvh_interior(b->bvh, &p->interior[1])))
        return;
    abuti_proximity_find_pairs(p, frame);
    if (!p->pair_count || !abuti_proximity_join_pairs(p))
        return;
    add_overlap_walls(p, answers);
    add_gap_walls(p, overlaps);
    if (overlaps)
        add_face_walls(p);
    add_wall_points(p, p->merge_distance);
    add_wall_answers(p, answers);
}
