/* Upper bound of the height of one surface above a piece of another one that it covers.
 *
 * Problem: an upper bound of the distance from all points of a piece of a to b, where b runs
 * parallel to it. Single triangles of b give no good bound, since the piece is over many, and the
 * piece shall not be split. Method: project along a direction n. If triangles of b cover the piece,
 * then
 *      d(x) <= max over the piece of the height of b above it.
 * Heights are linear on a triangle, so they are largest at corners of the part that remains after
 * clipping it to the piece. Triangles are found from neighbour to neighbour, across sides that pass
 * over the piece. If each such side belongs to two triangles, one on each side of it in the
 * projection, their union has no boundary above the piece. Then it covers the whole piece or
 * nothing, and its area decides which. The direction n is that from the corners to b if these
 * agree, otherwise the normal. Heights are distances up to the cosine between n and the normal of
 * b.
 *
 * Rounding. Projected coordinates have errors below 16 r (r as in hausdorff.c), for slopes up to 4.
 * All triangles use the same projected coordinates of a vertex, so the argument holds for a surface
 * within that distance of b. The piece is enlarged by 16 r before triangles are clipped to it, and
 * 16 r are added to heights.
 */
#include "pair/hausdorff.h"

#include "geom/closest_shared.h"

enum { COVER_MAX = 96, CLIPPED_CORNERS_MAX = 6 };

/* The projection of a piece along a direction: points as (u, v, height above the piece). */
typedef struct view {
    vec3 origin, axis[3];
    double slope[2]; /* of the piece, whose heights are subtracted */
    vec3 corner[3];  /* counter-clockwise */
    vec3 inward[3];  /* of its sides: u inward.x + v inward.y + inward.z >= -outside is inside */
    double outside;  /* the piece is enlarged by this */
    double area;
    double height_error; /* error bound of heights */
} view;

static vec3 project_point(const view *w, vec3 point) {
    vec3 from = v3_sub(point, w->origin);
    vec3 at = v3(v3_dot(from, w->axis[0]), v3_dot(from, w->axis[1]), v3_dot(from, w->axis[2]));
    at.z -= w->slope[0] * at.x + w->slope[1] * at.y;
    return at;
}

static double cross_of(vec3 a, vec3 b, vec3 c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Uses the mean direction from the corners to b if these agree, otherwise the normal. Returns false
 * for pieces without area. */
static bool set_view_direction(const hausdorff *h, uint32_t triangle, const piece *p, view *w) {
    const uint32_t *index = h->a->indices + 3 * (size_t)triangle;
    vec3 u = v3_sub(p->corner[1], p->corner[0]), v = v3_sub(p->corner[2], p->corner[0]);
    vec3 normal = v3_cross(v3_normalise(u), v3_normalise(v)), ways = v3(0, 0, 0);
    double sum = 0;
    if (!(v3_length(normal) > 0x1p-20))
        return false;
    normal = v3_normalise(normal);
    for (int i = 0; i < 3; i++) {
        vec3 foot = p->level ? triangle_closest_point(bvh_triangle(h->b->mesh, p->candidate[i]),
                                                      p->corner[i])
                                   .point
                             : h->nearest[index[i]].point;
        vec3 way = v3_sub(foot, p->corner[i]);
        ways = v3_add(ways, way);
        sum += v3_length(way);
    }
    double steep = v3_dot(v3_normalise(ways), normal);
    w->axis[2] = v3_length(ways) > 0.9 * sum && sum > h->tolerance && fabs(steep) > 0.7
                     ? v3_scale(v3_normalise(ways), steep < 0 ? -1 : 1)
                     : normal;
    w->axis[0] = v3_normalise(v3_along(u, -v3_dot(u, w->axis[2]), w->axis[2]));
    w->axis[1] = v3_cross(w->axis[2], w->axis[0]);
    w->origin = p->corner[0];
    w->slope[0] = w->slope[1] = 0;
    for (int i = 0; i < 3; i++)
        w->corner[i] = project_point(w, p->corner[i]);
    w->area = cross_of(w->corner[0], w->corner[1], w->corner[2]);
    w->slope[0] = w->corner[1].z / w->corner[1].x;
    w->slope[1] = (w->corner[2].z - w->slope[0] * w->corner[2].x) / w->corner[2].y;
    w->outside = 16 * h->rounding;
    w->height_error = 16 * h->rounding;
    for (int i = 0; i < 3; i++) {
        w->corner[i] = project_point(w, p->corner[i]);
        w->height_error += fabs(w->corner[i].z);
    }
    for (int i = 0; i < 3; i++) {
        vec3 a = w->corner[i], b = w->corner[(i + 1) % 3];
        double per_length = 1 / sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
        w->inward[i].x = (a.y - b.y) * per_length;
        w->inward[i].y = (b.x - a.x) * per_length;
        w->inward[i].z = w->outside - w->inward[i].x * a.x - w->inward[i].y * a.y;
    }
    return w->area > 0x1p-24 * v3_max_abs(u) * v3_max_abs(v) &&
           fabs(w->slope[0]) + fabs(w->slope[1]) < 4;
}

static double signed_distance_to_side(const vec3 *side, vec3 at) {
    return side->x * at.x + side->y * at.y + side->z;
}

/* Clips a polygon to the piece. Returns the number of its corners. */
static uint32_t clip_to_piece(const view *w, vec3 *polygon, uint32_t count) {
    for (int k = 0; k < 3; k++) {
        vec3 kept[CLIPPED_CORNERS_MAX + 3];
        uint32_t left = 0;
        for (uint32_t i = 0; i < count; i++) {
            vec3 a = polygon[i], b = polygon[i + 1 < count ? i + 1 : 0];
            double s = signed_distance_to_side(&w->inward[k], a),
                   t = signed_distance_to_side(&w->inward[k], b);
            if (s >= 0)
                kept[left++] = a;
            if ((s >= 0) != (t >= 0))
                kept[left++] = v3_lerp(a, b, s / (s - t));
        }
        count = left < CLIPPED_CORNERS_MAX ? left : CLIPPED_CORNERS_MAX;
        memcpy(polygon, kept, count * sizeof *kept);
    }
    return count;
}

/* Whether a segment has a part within the piece. */
static bool intersects_piece(const view *w, vec3 a, vec3 b) {
    double from = 0, to = 1;
    for (int k = 0; k < 3; k++) {
        double s = signed_distance_to_side(&w->inward[k], a),
               t = signed_distance_to_side(&w->inward[k], b);
        if (s < 0 && t < 0)
            return false;
        if (s < 0)
            from = real_max(from, s / (s - t));
        else if (t < 0)
            to = real_min(to, s / (s - t));
    }
    return from <= to;
}

/* Adds the triangles across those sides of a triangle that pass over the piece. Returns false if
 * one has no neighbour, or the neighbour is on the same side in the projection. */
static bool add_neighbours(const hausdorff *h, const view *w, uint32_t triangle, const vec3 at[3],
                           uint32_t *list, uint32_t *count) {
    const abut_mesh *mesh = h->b->mesh;
    for (int k = 0; k < 3; k++) {
        const vec3 a = at[k], b = at[(k + 1) % 3];
        if (!intersects_piece(w, a, b))
            continue;
        const uint32_t across = h->across[3 * (size_t)triangle + (size_t)k], next = across / 3;
        uint32_t i = 0;
        if (across == ABUT_NONE)
            return false;
        while (i < *count && list[i] != next)
            i++;
        const uint32_t opposite = mesh->indices[3 * (size_t)next + (across + 2) % 3];
        vec3 apex = project_point(w, abuti_mesh_position(mesh, opposite));
        double here = cross_of(a, b, at[(k + 2) % 3]), there = cross_of(a, b, apex);
        double least = w->outside * (fabs(b.x - a.x) + fabs(b.y - a.y));
        if (!(here > least && there < -least) && !(here < -least && there > least))
            return false;
        if (i == *count && *count <= COVER_MAX)
            list[(*count)++] = next;
    }
    return true;
}

covering abuti_hausdorff_cover(const hausdorff *h, uint32_t triangle, const piece *p, double enough,
                               double *height, vec3 *point) {
    uint32_t list[COVER_MAX + 1], count = 1;
    double area = 0, greatest = -1;
    vec3 highest = v3(0, 0, 0);
    view w;
    if (!set_view_direction(h, triangle, p, &w))
        return COVER_NONE;
    list[0] = p->candidate[0];
    for (uint32_t i = 0; i < count; i++) {
        abut_triangle t = bvh_triangle(h->b->mesh, list[i]);
        vec3 at[3], polygon[CLIPPED_CORNERS_MAX];
        if (i == COVER_MAX)
            return COVER_TOO_MANY;
        for (int k = 0; k < 3; k++)
            polygon[k] = at[k] = project_point(&w, t.corner[k]);
        uint32_t corners = clip_to_piece(&w, polygon, 3);
        for (uint32_t k = 0; k < corners; k++) {
            if (fabs(polygon[k].z) > greatest) {
                greatest = fabs(polygon[k].z);
                highest = polygon[k];
            }
            if (k >= 2)
                area += fabs(cross_of(polygon[0], polygon[k - 1], polygon[k]));
        }
        if (greatest >= enough || !add_neighbours(h, &w, list[i], at, list, &count))
            return COVER_NONE;
    }
    if (!(area > 0.5 * w.area))
        return COVER_NONE;
    *height = greatest + w.height_error;
    double weight[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        weight[k] = real_max(cross_of(w.corner[(k + 1) % 3], w.corner[(k + 2) % 3], highest), 0);
        sum += weight[k];
    }
    *point = v3_along(v3_along(p->corner[0], weight[1] / sum, v3_sub(p->corner[1], p->corner[0])),
                      weight[2] / sum, v3_sub(p->corner[2], p->corner[0]));
    return COVER_WHOLE;
}

/* ---- shared sides ---- */

abut_status abuti_hausdorff_pair_sides(hausdorff *h) {
    const abut_mesh *b = h->b->mesh;
    const size_t count = 3 * (size_t)b->triangle_count;
    uint32_t *names = abuti_allocate(h->context, b->vertex_count, sizeof *names);
    sort_key *keys = abuti_allocate(h->context, count, 2 * sizeof *keys);
    h->across = abuti_allocate(h->context, count, sizeof *h->across);
    abut_status status = names && keys && h->across ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_coincident_vertices(h->context, b->positions, b->vertex_count, names);
    for (size_t i = 0; i < count && !status; i++) {
        uint64_t from = names[b->indices[i]], to = names[b->indices[i % 3 == 2 ? i - 2 : i + 1]];
        keys[i] = (sort_key){from < to ? from << 32 | to : to << 32 | from, (uint32_t)i};
        h->across[i] = ABUT_NONE;
    }
    const sort_key *sorted = status ? NULL : abuti_sort_by_key(keys, keys + count, count);
    for (size_t i = 0, next; i < count && !status; i = next) {
        for (next = i + 1; next < count && sorted[next].key == sorted[i].key;)
            next++;
        if (next - i == 2) {
            h->across[sorted[i].value] = sorted[i + 1].value;
            h->across[sorted[i + 1].value] = sorted[i].value;
        }
    }
    ABUTI_RELEASE(h->context, names, keys);
    return status;
}
