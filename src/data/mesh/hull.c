/* The convex hull of points as a mesh.
 *
 * Quickhull (Barber, Dobkin and Huhdanpaa 1996) with exact signs: a tetrahedron grows by the point
 * that is furthest outside one of its faces. The point replaces all faces that it sees (it is above
 * them) by a fan from their horizon. A point is above a face if it is strictly above its plane, by
 * orient3d(). So the visible faces are connected, no face is ever degenerate, and points in a
 * plane, on a line or at one position need no tolerance: those that are above no face are removed.
 * Which of the points above a face is furthest is rounded, and only affects speed.
 *
 * Each outside point is listed at one face that it is above; a face without such points is final.
 *
 * Signs are exact if products of three differences neither overflow nor underflow. So points are
 * scaled by a power of two that puts the largest coordinate just below 2^298, and coordinates that
 * are then below 2^-302 count as 0: that is at most 2^-600 of the largest. Hulls of all finite
 * input terminate, because each step is exact for the scaled points.
 */
#include "mesh/mesh.h"

#include "geom/predicates_shared.h"

#include <assert.h>
#include <math.h>

static const char function[] = "abut_mesh_create_hull", stage[] = "hull";

/* Exponents of the largest coordinate, and of the smallest except 0: see predicates_shared.h. */
enum { LARGEST_EXPONENT = 298, SMALLEST_EXPONENT = -302 };
enum { PROGRESS_STEPS = 4096 /* points and faces between two calls of the progress callback */ };

typedef struct hull_face {
    uint32_t vertex[3];
    uint32_t other[3]; /* across the edge from vertex k to the next */
    uint32_t first;    /* first of the points that are listed here, or ABUT_NONE */
    uint32_t step;     /* in which it was last tested */
    bool is_removed, is_visible;
} hull_face;

typedef struct hull_work {
    abut_context *context;
    const vec3 *points; /* relative to one of them, so that rounding only affects distances */
    const vec3 *exact;  /* scaled */
    uint32_t count;
    uint32_t done_count; /* points that are vertices, or inside */
    uint64_t steps;      /* comparisons of points and faces */
    hull_face *faces;
    size_t face_count, face_room;
    uint32_t *next;  /* of a listed point */
    uint32_t *stack; /* faces */
    size_t stack_room;
    uint32_t *horizon; /* 2 per edge: the face beyond, and its side */
    size_t horizon_count, horizon_room;
} hull_work;

static bool is_above(const hull_work *w, const hull_face *f, uint32_t point) {
    return orient3d(w->exact[f->vertex[0]], w->exact[f->vertex[1]], w->exact[f->vertex[2]],
                    w->exact[point]) > 0;
}

/* The height of a point above a face, times a factor of the face. */
static double scaled_height(const hull_work *w, const hull_face *f, uint32_t point) {
    const vec3 *p = w->points;
    vec3 o = p[f->vertex[0]];
    vec3 n = v3_cross(v3_sub(p[f->vertex[1]], o), v3_sub(p[f->vertex[2]], o));
    return v3_dot(n, v3_sub(p[point], o));
}

static void list_point(hull_work *w, hull_face *f, uint32_t point) {
    w->next[point] = f->first;
    f->first = point;
}

/* ---- the first tetrahedron ---- */

/* The point that is furthest from the first `known` points: from a point, a line or a plane.
 * Distances are rounded; exact signs decide whether there is one. ABUT_NONE if there is none. */
static uint32_t find_furthest(const hull_work *w, const uint32_t four[4], uint32_t known) {
    const vec3 *p = w->points, *e = w->exact, from = p[four[0]];
    const hull_face plane = {.vertex = {four[0], four[1], four[2]}};
    uint32_t best = ABUT_NONE;
    double most = -1;
    for (uint32_t i = 0; i < w->count; i++) {
        const vec3 to = v3_sub(p[i], from);
        const double far = known == 1   ? v3_max_abs(to)
                           : known == 2 ? v3_length(v3_cross(v3_sub(p[four[1]], from), to))
                                        : fabs(scaled_height(w, &plane, i));
        if (!(far > most))
            continue;
        if (known == 1   ? far > 0
            : known == 2 ? !triangle_is_degenerate(e[four[0]], e[four[1]], e[i])
                         : orient3d(e[four[0]], e[four[1]], e[four[2]], e[i]) != 0) {
            most = far;
            best = i;
        }
    }
    return best;
}

/* Four points that span a volume, oriented so that the fourth is not above the others: the first is
 * an extreme in x, y, z, each other one is furthest from those before. */
static abut_status choose_tetrahedron(const hull_work *w, uint32_t four[4]) {
    static const char *const flaws[] = {"equal", "on one line", "in one plane"};
    const vec3 *p = w->points, *e = w->exact;
    four[0] = 0;
    for (uint32_t i = 1; i < w->count; i++)
        if (p[i].x < p[four[0]].x ||
            (p[i].x == p[four[0]].x &&
             (p[i].y < p[four[0]].y || (p[i].y == p[four[0]].y && p[i].z < p[four[0]].z))))
            four[0] = i;
    for (uint32_t known = 1; known < 4; known++) {
        four[known] = find_furthest(w, four, known);
        if (four[known] == ABUT_NONE)
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: all points are %s", function,
                              flaws[known - 1]);
    }
    if (orient3d(e[four[0]], e[four[1]], e[four[2]], e[four[3]]) > 0) {
        const uint32_t swap = four[0];
        four[0] = four[1];
        four[1] = swap;
    }
    return ABUT_OK;
}

/* Creates four faces oriented outwards: none of the four points is above any of them. All other
 * points are listed at the first face that they are above. */
static abut_status create_tetrahedron(hull_work *w) {
    uint32_t four[4];
    abut_status status = choose_tetrahedron(w, four);
    if (status ||
        (status = abuti_grow(w->context, &w->faces, 0, 64, sizeof *w->faces, &w->face_room)))
        return status;
    static const uint8_t corner[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    static const uint8_t other[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    for (w->face_count = 0; w->face_count < 4; w->face_count++) {
        hull_face *f = &w->faces[w->face_count];
        *f = (hull_face){.first = ABUT_NONE, .step = ABUT_NONE};
        for (int k = 0; k < 3; k++) {
            f->vertex[k] = four[corner[w->face_count][k]];
            f->other[k] = other[w->face_count][k];
        }
    }
    for (uint32_t i = 0; i < w->count; i++) {
        int k = 0;
        while (k < 4 && !is_above(w, &w->faces[k], i))
            k++;
        if (k < 4)
            list_point(w, &w->faces[k], i);
        else
            w->done_count++;
    }
    return ABUT_OK;
}

/* ---- growth ---- */

static uint32_t side_of(const hull_face *f, uint32_t other) {
    return f->other[0] == other ? 0 : f->other[1] == other ? 1 : 2;
}

/* Finds all faces that a point is above, starting from one of them, and the edges around them. The
 * faces are on the stack afterwards. */
static abut_status find_horizon(hull_work *w, uint32_t face, uint32_t point, uint32_t step,
                                size_t *seen) {
    abut_status status = ABUT_OK;
    size_t count = 0;
    if (w->stack_room < w->face_count)
        status =
            abuti_grow(w->context, &w->stack, 0, w->face_count, sizeof *w->stack, &w->stack_room);
    if (!status && w->horizon_room < 6 * w->face_count)
        status = abuti_grow(w->context, &w->horizon, 0, 6 * w->face_count, sizeof *w->horizon,
                            &w->horizon_room);
    if (status)
        return status;
    w->horizon_count = 0;
    w->stack[count++] = face;
    w->faces[face].step = step;
    w->faces[face].is_visible = true;
    for (size_t i = 0; i < count; i++) {
        const hull_face *f = &w->faces[w->stack[i]];
        for (uint32_t k = 0; k < 3; k++) {
            hull_face *o = &w->faces[f->other[k]];
            if (o->step != step) {
                o->step = step;
                o->is_visible = is_above(w, o, point);
                if (o->is_visible)
                    w->stack[count++] = f->other[k];
            }
            if (!o->is_visible) {
                w->horizon[w->horizon_count++] = f->other[k];
                w->horizon[w->horizon_count++] = side_of(o, w->stack[i]);
            }
        }
    }
    *seen = count;
    return ABUT_OK;
}

/* Adds the fan from the horizon to a point; `at` maps each vertex to the face that begins there. */
static abut_status add_fan(hull_work *w, uint32_t point, uint32_t *at) {
    size_t wanted = w->face_count + w->horizon_count / 2;
    if (wanted > UINT32_MAX / 8)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: the hull has too many faces", function);
    if (wanted > w->face_room) {
        abut_status status = abuti_grow(w->context, &w->faces, w->face_count, wanted,
                                        sizeof *w->faces, &w->face_room);
        if (status)
            return status;
    }
    size_t first = w->face_count;
    for (size_t i = 0; i < w->horizon_count; i += 2) {
        uint32_t beyond = w->horizon[i], side = w->horizon[i + 1], made = (uint32_t)w->face_count;
        hull_face *o = &w->faces[beyond];
        /* The edge in the opposite direction. */
        uint32_t from = o->vertex[(side + 1) % 3], to = o->vertex[side];
        w->faces[w->face_count++] = (hull_face){.vertex = {from, to, point},
                                                .other = {beyond, ABUT_NONE, ABUT_NONE},
                                                .first = ABUT_NONE,
                                                .step = ABUT_NONE};
        o->other[side] = made;
        at[from] = made;
    }
    for (size_t i = first; i < w->face_count;
         i++) { /* the horizon is a loop, because signs are exact */
        uint32_t next = at[w->faces[i].vertex[1]];
        assert(next >= first && next < w->face_count);
        w->faces[i].other[1] = next;
        w->faces[next].other[2] = (uint32_t)i;
    }
    return ABUT_OK;
}

/* Moves the points of removed faces to the new faces that they are above. */
static void move_points(hull_work *w, size_t seen, size_t first) {
    for (size_t i = 0; i < seen; i++) {
        hull_face *f = &w->faces[w->stack[i]];
        f->is_removed = true;
        for (uint32_t point = f->first, then; point != ABUT_NONE; point = then) {
            then = w->next[point];
            size_t k = first;
            while (k < w->face_count && !is_above(w, &w->faces[k], point))
                k++;
            w->steps += k - first + 1;
            if (k < w->face_count)
                list_point(w, &w->faces[k], point);
            else
                w->done_count++;
        }
        f->first = ABUT_NONE;
    }
}

static abut_status grow_hull(hull_work *w, uint32_t *at) {
    uint32_t step = 0;
    uint64_t reported = 0;
    for (uint32_t i = 0; i < w->face_count; i++) {
        hull_face *f = &w->faces[i];
        if (f->is_removed || f->first == ABUT_NONE)
            continue;
        uint32_t best = f->first;
        double most = scaled_height(w, f, best);
        for (uint32_t p = w->next[best]; p != ABUT_NONE; p = w->next[p])
            if (scaled_height(w, f, p) > most) {
                most = scaled_height(w, f, p);
                best = p;
            }
        size_t seen = 0, first = w->face_count;
        abut_status status = find_horizon(w, i, best, step++, &seen);
        assert(step <= w->count); /* each step makes one more point a vertex */
        if (status || (status = add_fan(w, best, at)))
            return status;
        move_points(w, seen, first);
        w->steps += seen;
        if (w->steps - reported > PROGRESS_STEPS) {
            reported = w->steps;
            status = abuti_progress(w->context, stage, (double)w->done_count / w->count);
            if (status)
                return status;
        }
    }
    return ABUT_OK;
}

/* ---- the mesh ---- */

static abut_status make_mesh(const hull_work *w, const vec3 *points, uint32_t *new_index,
                             abut_mesh **hull) {
    size_t triangles = 0;
    uint32_t vertices = 0;
    for (uint32_t i = 0; i < w->count; i++)
        new_index[i] = ABUT_NONE;
    for (size_t i = 0; i < w->face_count; i++)
        for (int k = 0; k < 3 && !w->faces[i].is_removed; k++) {
            new_index[w->faces[i].vertex[k]] = 0;
            triangles += k == 0;
        }
    for (uint32_t i = 0; i < w->count; i++)
        if (new_index[i] == 0)
            new_index[i] = vertices++;
    vec3 *positions;
    uint32_t *indices;
    if (ABUTI_ALLOCATE(w->context, ABUTI_ARRAY(positions, vertices),
                       ABUTI_ARRAY(indices, 3 * triangles)))
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < w->count; i++)
        if (new_index[i] != ABUT_NONE)
            positions[new_index[i]] = points[i];
    size_t to = 0;
    for (size_t i = 0; i < w->face_count; i++)
        for (int k = 0; k < 3 && !w->faces[i].is_removed; k++)
            indices[to++] = new_index[w->faces[i].vertex[k]];
    return abuti_mesh_adopt(w->context, function, positions, vertices, indices, (uint32_t)triangles,
                            hull);
}

static abut_status check_points(const abut_vec3 *points, size_t count) {
    if (count > UINT32_MAX / 16)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: there are %zu points; the limit is %u", function,
                          count, UINT32_MAX / 16);
    for (size_t i = 0; i < count; i++)
        if (!abuti_is_position(points[i]))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: point %zu is (%g, %g, %g); coordinates must be finite and at "
                              "most %g in magnitude",
                              function, i, points[i].x, points[i].y, points[i].z,
                              ABUT_COORDINATE_MAX);
    if (count < 4)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there are %zu points; a hull needs at least 4",
                          function, count);
    return ABUT_OK;
}

static double scale_coordinate(double x, int exponent) {
    const double y = ldexp(x, exponent);
    return fabs(y) < ldexp(1, SMALLEST_EXPONENT) ? 0 : y;
}

/* The points from which signs are computed: see the head of this file. */
static void scale_points(const abut_vec3 *points, size_t count, vec3 *to) {
    double largest = 0;
    int exponent;
    for (size_t i = 0; i < count; i++)
        largest = real_max(largest, v3_max_abs(points[i]));
    frexp(largest, &exponent);
    for (size_t i = 0; i < count; i++)
        to[i] = v3(scale_coordinate(points[i].x, LARGEST_EXPONENT - exponent),
                   scale_coordinate(points[i].y, LARGEST_EXPONENT - exponent),
                   scale_coordinate(points[i].z, LARGEST_EXPONENT - exponent));
}

abut_status abut_mesh_create_hull(abut_context *context, const abut_vec3 *points, size_t count,
                                  abut_mesh **hull) {
    if (!points || !hull)
        return abuti_null(function, points ? "hull" : "points");
    abut_status status = check_points(points, count);
    if (status)
        return status;
    context = abuti_context_of(context);
    vec3 *exact, *near;
    uint32_t *at;
    hull_work w = {.context = context, .count = (uint32_t)count};
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(exact, count), ABUTI_ARRAY(near, count),
                                 ABUTI_ARRAY(at, count), ABUTI_ARRAY(w.next, count))))
        return status;
    scale_points(points, count, exact);
    for (size_t i = 0; i < count; i++)
        near[i] = v3_sub(exact[i], exact[0]);
    w.exact = exact;
    w.points = near;
    status = create_tetrahedron(&w);
    if (!status)
        status = grow_hull(&w, at);
    if (!status)
        status = make_mesh(&w, points, at, hull);
    ABUTI_RELEASE(context, exact, near, at, w.next, w.faces, w.stack, w.horizon);
    return status;
}
