/* Triangulation of polygons.
 *
 * Method: the polygon is projected along the axis in which Newell's normal is largest. This only
 * removes a coordinate, so the projection is exact. If every triangle of the fan from the first
 * corner turns left there, the fan covers a simple polygon and is the result: all convex polygons,
 * and those that are star-shaped about that corner. Otherwise ears are clipped (Meisters 1975): an
 * ear is a corner that turns left and whose triangle contains no other corner. Only corners that do
 * not turn left can be inside, and only the two neighbours of a clipped corner can become ears, so
 * a polygon of n corners, r of them reflex, costs O(n r) (Eberly, "Triangulation by ear clipping").
 *
 * Guarantee: always count - 2 triangles. On a simple polygon whose projection is simple they cover
 * it without overlap. On others (self-intersecting, collinear) the result is some set of triangles:
 * if there is no ear, first corners on the boundary of an ear are allowed, then the rest becomes a
 * fan.
 */
#include "geom/predicates_shared.h"
#include "io/files.h"

#include <assert.h>

typedef struct point {
    double x, y;
} point;

typedef struct ring {
    point at[ABUTI_POLYGON_MAX];
    uint16_t next[ABUTI_POLYGON_MAX], previous[ABUTI_POLYGON_MAX];
    uint16_t
        reflex[ABUTI_POLYGON_MAX]; /* corners that did not turn left at the last classification */
    uint32_t reflex_count;
    bool is_ear[ABUTI_POLYGON_MAX];
    bool allows_touching; /* allow corners on the boundary of an ear */
} ring;

static int turn_sign(point a, point b, point c) {
    return orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
}

/* Newell's normal, relative to the first corner so that distant positions do not cancel. */
static vec3 newell(const vec3 *positions, const uint32_t *corners, uint32_t count) {
    vec3 normal = v3(0, 0, 0), base = positions[corners[0]];
    for (uint32_t i = 1; i + 1 < count; i++)
        normal = v3_add(normal, v3_cross(v3_sub(positions[corners[i]], base),
                                         v3_sub(positions[corners[i + 1]], base)));
    return normal;
}

/* Projects so that the polygon is counter-clockwise. */
static point project(vec3 p, int axis, bool flip) {
    double x = v3_get(p, (axis + 1) % 3), y = v3_get(p, (axis + 2) % 3);
    point q = {flip ? y : x, flip ? x : y};
    return q;
}

static bool are_equal(point a, point b) {
    return a.x == b.x && a.y == b.y;
}

static bool is_left_turn(const ring *r, uint32_t i) {
    return turn_sign(r->at[r->previous[i]], r->at[i], r->at[r->next[i]]) > 0;
}

static bool is_ear_at(const ring *r, uint32_t i) {
    point a = r->at[r->previous[i]], b = r->at[i], c = r->at[r->next[i]];
    if (turn_sign(a, b, c) <= 0)
        return false;
    int inside_min =
        r->allows_touching ? 1 : 0; /* the smallest turn on all three sides that counts as inside */
    for (uint32_t k = 0; k < r->reflex_count; k++) {
        uint32_t j = r->reflex[k];
        point p = r->at[j];
        if (are_equal(p, a) || are_equal(p, b) || are_equal(p, c))
            continue;
        if (turn_sign(a, b, p) >= inside_min && turn_sign(b, c, p) >= inside_min &&
            turn_sign(c, a, p) >= inside_min)
            return false;
    }
    return true;
}

/* Finds reflex corners and ears of the remaining polygon, from `start` on. */
static void classify_corners(ring *r, uint32_t start, uint32_t left) {
    r->reflex_count = 0;
    for (uint32_t n = 0, i = start; n < left; n++, i = r->next[i])
        if (!is_left_turn(r, i))
            r->reflex[r->reflex_count++] = (uint16_t)i;
    for (uint32_t n = 0, i = start; n < left; n++, i = r->next[i])
        r->is_ear[i] = is_ear_at(r, i);
}

static bool fan_covers(const ring *r, uint32_t count) {
    for (uint32_t i = 1; i + 1 < count; i++)
        if (turn_sign(r->at[0], r->at[i], r->at[i + 1]) <= 0)
            return false;
    return true;
}

static void remove_reflex(ring *r, uint32_t i) {
    for (uint32_t k = 0; k < r->reflex_count; k++)
        if (r->reflex[k] == i)
            r->reflex[k] = r->reflex[--r->reflex_count];
}

static void append_triangle(uint32_t **out, uint32_t a, uint32_t b, uint32_t c) {
    (*out)[0] = a;
    (*out)[1] = b;
    (*out)[2] = c;
    *out += 3;
}

static void clip_ears(ring *r, const uint32_t *corners, uint32_t count, uint32_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        r->next[i] = (uint16_t)(i + 1 < count ? i + 1 : 0);
        r->previous[i] = (uint16_t)(i ? i - 1 : count - 1);
    }
    r->allows_touching = false;
    classify_corners(r, 0, count);
    uint32_t i = 0, left = count, misses = 0;
    while (left > 3) {
        if (r->is_ear[i]) {
            uint32_t a = r->previous[i], c = r->next[i];
            append_triangle(&out, corners[a], corners[i], corners[c]);
            r->next[a] = (uint16_t)c;
            r->previous[c] = (uint16_t)a;
            remove_reflex(r, i);
            r->is_ear[a] = is_ear_at(r, a);
            r->is_ear[c] = is_ear_at(r, c);
            left--;
            misses = 0;
            i = r->next[c]; /* not the neighbour, which would make a fan of thin triangles */
        } else if (++misses <= left) {
            i = r->next[i];
        } else if (!r->allows_touching) {
            r->allows_touching = true;
            classify_corners(r, i, left);
            misses = 0;
        } else {
            break;
        }
    }
    for (uint32_t k = r->next[i]; r->next[k] != i; k = r->next[k])
        append_triangle(&out, corners[i], corners[k], corners[r->next[k]]);
}

void abuti_polygon_triangulate(const vec3 *positions, const uint32_t *corners, uint32_t count,
                               uint32_t *triangles) {
    assert(count >= 3 && count <= ABUTI_POLYGON_MAX);
    ring r;
    vec3 normal = newell(positions, corners, count);
    vec3 size = v3(fabs(normal.x), fabs(normal.y), fabs(normal.z));
    int axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    bool flip = v3_get(normal, axis) < 0;
    for (uint32_t i = 0; i < count; i++)
        r.at[i] = project(positions[corners[i]], axis, flip);
    if (!fan_covers(&r, count)) {
        clip_ears(&r, corners, count, triangles);
        return;
    }
    for (uint32_t i = 1; i + 1 < count; i++)
        append_triangle(&triangles, corners[0], corners[i], corners[i + 1]);
}
