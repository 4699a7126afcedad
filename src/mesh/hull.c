/* The convex hull of points as a mesh.
 *
 * Quickhull (Barber, Dobkin and Huhdanpaa 1996) with exact signs: a tetrahedron grows by the point
 * that is furthest out of one of its faces, which replaces all faces that see it by a fan from
 * their horizon. A face sees what is strictly above its plane, by orient3d(), so that the faces
 * that see a point are one piece, none is ever flat, and points in a plane, on a line or in one
 * place need no tolerance: those that are not above anything are dropped. Which of the points above
 * a face is furthest is rounded, and only a matter of speed.
 *
 * Each point waits at one face that it is above; a face without such points is final.
 *
 * Signs are exact where products of three differences neither overflow nor underflow. So points are
 * scaled by a power of two that puts the largest coordinate just below 2^298, and coordinates that
 * are then below 2^-302 count as 0: that is 2^-600 of the largest at most. Hulls of all finite
 * input end, since each step is exact for the points as they are then.
 */
#include "mesh/mesh.h"

#include "geom/predicates_shared.h"

#include <assert.h>
#include <math.h>

static const char function[] = "abut_mesh_create_hull", stage[] = "hull";

/* Exponents of the largest coordinate, and of the smallest but 0: see predicates_shared.h. */
enum { LARGEST_EXPONENT = 298, SMALLEST_EXPONENT = -302 };
enum { LOOK = 4096 /* points and faces between two calls of the progress callback */ };

typedef struct hull_face {
    uint32_t vertex[3];
    uint32_t other[3]; /* across the edge from vertex k to the next */
    uint32_t first;    /* of the points that wait here, or ABUT_NONE */
    uint32_t step;     /* in which it was last looked at */
    bool gone, sees;
} hull_face;

typedef struct hull_work {
    abut_context *context;
    const vec3 *points; /* relative to one of them, so that rounding hurts only distances */
    const vec3 *exact;  /* scaled */
    uint32_t count;
    uint32_t settled; /* points that are vertices, or inside */
    uint64_t steps;   /* points and faces that were compared */
    hull_face *faces;
    size_t face_count, face_room;
    uint32_t *next;  /* of a point that waits */
    uint32_t *stack; /* faces */
    size_t stack_room;
    uint32_t *horizon; /* 2 an edge: the face beyond, and its side */
    size_t horizon_count, horizon_room;
} hull_work;

static bool above(const hull_work *w, const hull_face *f, uint32_t point) {
    return orient3d(w->exact[f->vertex[0]], w->exact[f->vertex[1]], w->exact[f->vertex[2]],
                    w->exact[point]) > 0;
}

/* How far a point is above a face, but for a factor of the face. */
static double height(const hull_work *w, const hull_face *f, uint32_t point) {
    const vec3 *p = w->points;
    vec3 o = p[f->vertex[0]];
    vec3 n = v3_cross(v3_sub(p[f->vertex[1]], o), v3_sub(p[f->vertex[2]], o));
    return v3_dot(n, v3_sub(p[point], o));
}

static void wait_at(hull_work *w, hull_face *f, uint32_t point) {
    w->next[point] = f->first;
    f->first = point;
}

/* ---- the first four ---- */

/* Four points that span a volume: the extremes in x, y, z, then what is furthest from the line and
 * the plane of those before; whatever rounding says of far, exact signs decide whether. */
static abut_status first_four(const hull_work *w, uint32_t four[4]) {
    const vec3 *p = w->points;
    uint32_t best = 0;
    four[0] = 0;
    for (uint32_t i = 1; i < w->count; i++)
        if (p[i].x < p[four[0]].x ||
            (p[i].x == p[four[0]].x &&
             (p[i].y < p[four[0]].y || (p[i].y == p[four[0]].y && p[i].z < p[four[0]].z))))
            four[0] = i;
    double most = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        double far = v3_max_abs(v3_sub(p[i], p[four[0]]));
        if (far > most) {
            most = far;
            best = i;
        }
    }
    if (!(most > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: all points are in one place", function);
    four[1] = best;
    bool found = false;
    most = -1;
    for (uint32_t i = 0; i < w->count; i++) {
        vec3 n = v3_cross(v3_sub(p[four[1]], p[four[0]]), v3_sub(p[i], p[four[0]]));
        if (v3_length(n) > most &&
            !triangle_is_degenerate(w->exact[four[0]], w->exact[four[1]], w->exact[i])) {
            most = v3_length(n);
            four[2] = i;
            found = true;
        }
    }
    if (!found)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: all points are on one line", function);
    hull_face plane = {.vertex = {four[0], four[1], four[2]}};
    found = false;
    most = -1;
    for (uint32_t i = 0; i < w->count; i++) {
        double far = fabs(height(w, &plane, i));
        if (far > most &&
            orient3d(w->exact[four[0]], w->exact[four[1]], w->exact[four[2]], w->exact[i]) != 0) {
            most = far;
            four[3] = i;
            found = true;
        }
    }
    if (!found)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: all points are in one plane", function);
    if (orient3d(w->exact[four[0]], w->exact[four[1]], w->exact[four[2]], w->exact[four[3]]) > 0) {
        best = four[0];
        four[0] = four[1];
        four[1] = best;
    }
    return ABUT_OK;
}

/* Faces outward: each sees none of the four. Their points wait at the first that sees them. */
static abut_status start(hull_work *w) {
    uint32_t four[4];
    abut_status status = first_four(w, four);
    status =
        status ? status : abuti_grow(w->context, &w->faces, 0, 64, sizeof *w->faces, &w->face_room);
    if (status)
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
        while (k < 4 && !above(w, &w->faces[k], i))
            k++;
        if (k < 4)
            wait_at(w, &w->faces[k], i);
        else
            w->settled++;
    }
    return ABUT_OK;
}

/* ---- growth ---- */

static uint32_t side_of(const hull_face *f, uint32_t other) {
    return f->other[0] == other ? 0 : f->other[1] == other ? 1 : 2;
}

/* Finds all faces that see a point, from one that does, and the edges around them. They are in the
 * stack afterwards. */
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
    w->faces[face].sees = true;
    for (size_t i = 0; i < count; i++) {
        const hull_face *f = &w->faces[w->stack[i]];
        for (uint32_t k = 0; k < 3; k++) {
            hull_face *o = &w->faces[f->other[k]];
            if (o->step != step) {
                o->step = step;
                o->sees = above(w, o, point);
                if (o->sees)
                    w->stack[count++] = f->other[k];
            }
            if (!o->sees) {
                w->horizon[w->horizon_count++] = f->other[k];
                w->horizon[w->horizon_count++] = side_of(o, w->stack[i]);
            }
        }
    }
    *seen = count;
    return ABUT_OK;
}

/* The fan from the horizon to a point; `at` has for each vertex the face that begins there. */
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
        /* Along the edge the other way round. */
        uint32_t from = o->vertex[(side + 1) % 3], to = o->vertex[side];
        w->faces[w->face_count++] = (hull_face){.vertex = {from, to, point},
                                                .other = {beyond, ABUT_NONE, ABUT_NONE},
                                                .first = ABUT_NONE,
                                                .step = ABUT_NONE};
        o->other[side] = made;
        at[from] = made;
    }
    for (size_t i = first; i < w->face_count;
         i++) { /* the horizon is a loop, since signs are exact */
        uint32_t next = at[w->faces[i].vertex[1]];
        assert(next >= first && next < w->face_count);
        w->faces[i].other[1] = next;
        w->faces[next].other[2] = (uint32_t)i;
    }
    return ABUT_OK;
}

/* Gives the points of faces that are gone to the new ones that they are above. */
static void move_points(hull_work *w, size_t seen, size_t first) {
    for (size_t i = 0; i < seen; i++) {
        hull_face *f = &w->faces[w->stack[i]];
        f->gone = true;
        for (uint32_t point = f->first, then; point != ABUT_NONE; point = then) {
            then = w->next[point];
            size_t k = first;
            while (k < w->face_count && !above(w, &w->faces[k], point))
                k++;
            w->steps += k - first + 1;
            if (k < w->face_count)
                wait_at(w, &w->faces[k], point);
            else
                w->settled++;
        }
        f->first = ABUT_NONE;
    }
}

static abut_status grow(hull_work *w, uint32_t *at) {
    uint32_t step = 0;
    uint64_t looked = 0;
    for (uint32_t i = 0; i < w->face_count; i++) {
        hull_face *f = &w->faces[i];
        if (f->gone || f->first == ABUT_NONE)
            continue;
        uint32_t best = f->first;
        double most = height(w, f, best);
        for (uint32_t p = w->next[best]; p != ABUT_NONE; p = w->next[p])
            if (height(w, f, p) > most) {
                most = height(w, f, p);
                best = p;
            }
        size_t seen = 0, first = w->face_count;
        abut_status status = find_horizon(w, i, best, step++, &seen);
        assert(step <= w->count); /* each step makes one more point a vertex */
        status = status ? status : add_fan(w, best, at);
        if (status)
            return status;
        move_points(w, seen, first);
        w->steps += seen;
        if (w->steps - looked > LOOK) {
            looked = w->steps;
            status = abuti_progress(w->context, stage, (double)w->settled / w->count);
            if (status)
                return status;
        }
    }
    return ABUT_OK;
}

/* ---- the mesh ---- */

static abut_status make_mesh(const hull_work *w, const vec3 *points, uint32_t *number,
                             abut_mesh **hull) {
    size_t triangles = 0;
    uint32_t vertices = 0;
    for (uint32_t i = 0; i < w->count; i++)
        number[i] = ABUT_NONE;
    for (size_t i = 0; i < w->face_count; i++)
        for (int k = 0; k < 3 && !w->faces[i].gone; k++) {
            number[w->faces[i].vertex[k]] = 0;
            triangles += k == 0;
        }
    for (uint32_t i = 0; i < w->count; i++)
        if (number[i] == 0)
            number[i] = vertices++;
    vec3 *positions = abuti_allocate(w->context, vertices, sizeof *positions);
    uint32_t *indices = abuti_allocate(w->context, 3 * triangles, sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(w->context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < w->count; i++)
        if (number[i] != ABUT_NONE)
            positions[number[i]] = points[i];
    size_t to = 0;
    for (size_t i = 0; i < w->face_count; i++)
        for (int k = 0; k < 3 && !w->faces[i].gone; k++)
            indices[to++] = number[w->faces[i].vertex[k]];
    return abuti_mesh_adopt(w->context, function, positions, vertices, indices, (uint32_t)triangles,
                            hull);
}

static abut_status check_points(const abut_vec3 *points, size_t count) {
    if (count > UINT32_MAX / 16)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: there are %zu points; there may be %u", function,
                          count, UINT32_MAX / 16);
    for (size_t i = 0; i < count; i++)
        if (!(v3_max_abs(points[i]) <= ABUT_COORDINATE_MAX && points[i].x == points[i].x &&
              points[i].y == points[i].y && points[i].z == points[i].z))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: point %zu is (%g, %g, %g); coordinates must be finite and at "
                              "most %g in magnitude",
                              function, i, points[i].x, points[i].y, points[i].z,
                              ABUT_COORDINATE_MAX);
    if (count < 4)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %zu points have no hull; it takes 4", function,
                          count);
    return ABUT_OK;
}

static double scaled(double x, int exponent) {
    const double y = ldexp(x, exponent);
    return fabs(y) < ldexp(1, SMALLEST_EXPONENT) ? 0 : y;
}

/* Points as signs are computed from them: see above. */
static void scale_points(const abut_vec3 *points, size_t count, vec3 *to) {
    double largest = 0;
    int exponent;
    for (size_t i = 0; i < count; i++)
        largest = real_max(largest, v3_max_abs(points[i]));
    frexp(largest, &exponent);
    for (size_t i = 0; i < count; i++)
        to[i] = v3(scaled(points[i].x, LARGEST_EXPONENT - exponent),
                   scaled(points[i].y, LARGEST_EXPONENT - exponent),
                   scaled(points[i].z, LARGEST_EXPONENT - exponent));
}

abut_status abut_mesh_create_hull(abut_context *context, const abut_vec3 *points, size_t count,
                                  abut_mesh **hull) {
    if (!points || !hull)
        return abuti_null(function, points ? "hull" : "points");
    abut_status status = check_points(points, count);
    if (status)
        return status;
    context = abuti_context_of(context);
    vec3 *exact = abuti_allocate(context, count, sizeof *exact);
    vec3 *near = abuti_allocate(context, count, sizeof *near);
    uint32_t *at = abuti_allocate(context, count, sizeof *at);
    hull_work w = {.context = context, .exact = exact, .points = near, .count = (uint32_t)count};
    w.next = abuti_allocate(context, count, sizeof *w.next);
    if (exact && near && at && w.next) {
        scale_points(points, count, exact);
        for (size_t i = 0; i < count; i++)
            near[i] = v3_sub(exact[i], exact[0]);
        status = start(&w);
        status = status ? status : grow(&w, at);
        status = status ? status : make_mesh(&w, points, at, hull);
    } else {
        status = ABUT_ERROR_MEMORY;
    }
    ABUTI_RELEASE(context, exact, near, at, w.next, w.faces, w.stack, w.horizon);
    return status;
}
