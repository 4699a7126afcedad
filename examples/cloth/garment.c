/* Garments as graphs over a vertical axis through the trunk.
 *
 * At each of many levels rays tell how far the body reaches in each direction: from the axis out
 * while that is inside, which leaves arms out, and else, between the legs, from far away in. What
 * is around them all at a level is convex, as cloth that is pulled tight; from the hips down it
 * only becomes wider. The ease is added to that. Nothing is promised: callers test the result, and
 * take more ease.
 */
#include "garment.h"

#include "vector.h"

#include <stdlib.h>

#define PI 3.14159265358979323846

enum { LEVELS = 96, ANGLES = 72 };

/* Parts of the height. */
#define CHEST 0.72
#define HIP 0.52
#define KNEE 0.27
#define SHOULDER 0.79
#define CALF 0.16
#define FAR 0.35
#define FLARE 0.3      /* of a skirt: how much wider it gets on the way down */
#define CAPE_HALF 1.25 /* radians to either side of the back */

typedef struct tailor {
    const abut_bvh *bvh;
    const abut_mesh *body;
    vec up, side, front;      /* front is where the toes point */
    double low, height;       /* along `up` */
    double at_side, at_front; /* of the axis */
    double top, bottom;
    double reach[LEVELS][ANGLES];
} tailor;

static vec body_vertex(const abut_mesh *body, uint32_t i) {
    return vec_add(abut_mesh_origin(body), abut_mesh_positions(body)[i]);
}

/* ---- where the body is ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of a coordinate, but for an eighth at either end, of the vertices between two parts of
 * the height, of those that are within `reach` of the axis along `across`. */
static abut_status middle_of(abut_context *context, const tailor *t, double from, double to,
                             vec across, double reach, vec along, double *middle) {
    uint32_t count = abut_mesh_vertex_count(t->body), used = 0;
    double *list = abut_context_allocate(context, count, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        vec p = body_vertex(t->body, i);
        double level = (vec_dot(p, t->up) - t->low) / t->height;
        if (level >= from && level <= to && fabs(vec_dot(p, across) - t->at_side) <= reach)
            list[used++] = vec_dot(p, along);
    }
    qsort(list, used, sizeof *list, by_size);
    *middle = used ? 0.5 * (list[used / 8] + list[used - 1 - used / 8]) : 0;
    abut_context_release(context, list);
    return used ? ABUT_OK
                : abut_fail(ABUT_ERROR_ARGUMENT,
                            "garment_create: the body has a gap; it must stand upright");
}

/* Toes are in front of ankles. */
static abut_status find_front(abut_context *context, tailor *t) {
    vec any = fabs(t->up.x) < 0.9 ? vec_of(1, 0, 0) : vec_of(0, 1, 0);
    vec a = vec_cross(t->up, any), b;
    a = vec_scale(a, 1 / vec_length(a));
    b = vec_cross(t->up, a);
    double toe[2] = {0, 0}, ankle[2] = {0, 0};
    const vec axes[2] = {a, b};
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && !status; k++) {
        status = middle_of(context, t, 0, 0.025, a, (double)INFINITY, axes[k], &toe[k]);
        status = status
                     ? status
                     : middle_of(context, t, 0.05, 0.12, a, (double)INFINITY, axes[k], &ankle[k]);
    }
    vec front = vec_along(vec_scale(a, toe[0] - ankle[0]), toe[1] - ankle[1], b);
    double length = vec_length(front);
    t->front = length > 0 ? vec_scale(front, 1 / length) : a;
    t->side = vec_cross(t->up, t->front);
    return status;
}

static abut_status measure(abut_context *context, tailor *t) {
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (uint32_t i = 0; i < abut_mesh_vertex_count(t->body); i++) {
        double at = vec_dot(body_vertex(t->body, i), t->up);
        low = fmin(low, at);
        high = fmax(high, at);
    }
    t->low = low;
    t->height = high - low;
    if (!(t->height >= 0.3 && t->height <= 30))
        return abut_fail(ABUT_ERROR_ARGUMENT,
                         "garment_create: bodies are 0.3 to 30 metres tall; scale this one first, "
                         "or tell which way is up");
    abut_status status = find_front(context, t);
    status =
        status ? status
               : middle_of(context, t, 0.6, 0.72, t->side, (double)INFINITY, t->side, &t->at_side);
    return status ? status
                  : middle_of(context, t, 0.6, 0.72, t->side, 0.07 * t->height, t->front,
                              &t->at_front);
}

/* ---- how far it reaches ---- */

static vec point_of(const tailor *t, double level, double angle, double radius) {
    vec p = vec_scale(t->up, t->low + level * t->height);
    p = vec_along(p, t->at_side + radius * sin(angle), t->side);
    return vec_along(p, t->at_front + radius * cos(angle), t->front);
}

static vec triangle_normal(const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *v = abut_mesh_indices(mesh) + 3 * (size_t)triangle;
    vec a = abut_mesh_positions(mesh)[v[0]];
    return vec_cross(vec_sub(abut_mesh_positions(mesh)[v[1]], a),
                     vec_sub(abut_mesh_positions(mesh)[v[2]], a));
}

/* 0 where there is nothing. */
static abut_status reach_of(const tailor *t, double level, double angle, bool from_axis,
                            double *reach) {
    double far = FAR * t->height;
    vec axis = point_of(t, level, angle, 0), outside = point_of(t, level, angle, far);
    vec out = vec_scale(vec_sub(outside, axis), 1 / far);
    abut_ray ray = {axis, out};
    abut_ray_hit hit = {.triangle = ABUT_NONE};
    abut_status status = from_axis ? abut_ray_first(t->bvh, &ray, far, &hit) : ABUT_OK;
    if (status)
        return status;
    if (hit.triangle != ABUT_NONE && vec_dot(triangle_normal(t->body, hit.triangle), out) > 0) {
        *reach = hit.parameter;
        return ABUT_OK;
    }
    ray.origin = outside;
    ray.direction = vec_scale(out, -1);
    status = abut_ray_first(t->bvh, &ray, far, &hit);
    *reach = !status && hit.triangle != ABUT_NONE ? far - hit.parameter : 0;
    return status;
}

/* How far it is along direction `at` to the chord between two points, by their angles in steps. */
static double chord(int a, double ra, int b, double rb, int at) {
    double p = 2 * PI * (at - a) / ANGLES, q = 2 * PI * (b - at) / ANGLES;
    return ra * rb * sin(p + q) / (ra * sin(p) + rb * sin(q));
}

/* Makes a level convex, as a thread that is pulled tight around it (Graham 1972, from the furthest
 * point around to it again). */
static void pull_tight(double *reach) {
    int corner[ANGLES + 1], count = 1, first = 0;
    for (int i = 1; i < ANGLES; i++)
        first = reach[i] > reach[first] ? i : first;
    corner[0] = first;
    for (int k = 1; k <= ANGLES; k++) {
        int i = first + k;
        if (!(reach[i % ANGLES] > 0))
            continue;
        while (count > 1 && i - corner[count - 2] < ANGLES / 2 &&
               chord(corner[count - 2], reach[corner[count - 2] % ANGLES], i, reach[i % ANGLES],
                     corner[count - 1]) >= reach[corner[count - 1] % ANGLES])
            count--;
        corner[count++] = i;
    }
    for (int k = 1; k < count; k++) {
        int a = corner[k - 1], b = corner[k];
        for (int i = a + 1; i < b && b - a < ANGLES / 2; i++)
            reach[i % ANGLES] = chord(a, reach[a % ANGLES], b, reach[b % ANGLES], i);
    }
}

static abut_status take_measure(tailor *t, const garment_options *o) {
    bool cape = o->kind == GARMENT_CAPE;
    t->top = cape ? SHOULDER : CHEST;
    t->bottom = cape ? CALF : KNEE;
    double step = (t->top - t->bottom) / (LEVELS - 1) * t->height;
    for (int l = 0; l < LEVELS; l++) {
        double level = t->top - (t->top - t->bottom) * l / (LEVELS - 1);
        for (int i = 0; i < ANGLES; i++) {
            abut_status status = reach_of(t, level, 2 * PI * i / ANGLES, !cape, &t->reach[l][i]);
            if (status)
                return status;
            t->reach[l][i] = fmin(t->reach[l][i], cape ? 0.16 * t->height : FAR * t->height);
        }
        pull_tight(t->reach[l]);
        for (int i = 0; i < ANGLES; i++) {
            double *reach = &t->reach[l][i];
            *reach += o->ease;
            if (l > 0 && (cape || level < HIP))
                *reach = fmax(*reach, t->reach[l - 1][i] + (cape ? 0.5 : 1) * FLARE * step);
        }
    }
    return ABUT_OK;
}

static double garment_radius(const tailor *t, double down, double angle) {
    double l = fmin(fmax(down, 0), 1) * (LEVELS - 1), a = angle / (2 * PI) * ANGLES;
    int l0 = (int)fmin(floor(l), LEVELS - 2);
    double fa = a - floor(a), fl = l - l0;
    int a0 = ((int)floor(a) % ANGLES + ANGLES) % ANGLES, a1 = (a0 + 1) % ANGLES;
    return (1 - fl) * ((1 - fa) * t->reach[l0][a0] + fa * t->reach[l0][a1]) +
           fl * ((1 - fa) * t->reach[l0 + 1][a0] + fa * t->reach[l0 + 1][a1]);
}

/* ---- the surface ---- */

static void divide(const tailor *t, bool cape, uint32_t triangles, uint32_t *around,
                   uint32_t *along) {
    double radius = 0, length = (t->top - t->bottom) * t->height;
    for (int l = 0; l < LEVELS; l++)
        for (int i = 0; i < ANGLES; i++)
            radius += t->reach[l][i] / (LEVELS * ANGLES);
    double girth = (cape ? 2 * CAPE_HALF : 2 * PI) * radius, cells = triangles / 2.0;
    double side = sqrt(girth * length / cells / 0.866);
    *around = (uint32_t)fmax(floor(girth / side + 0.5), 6);
    *along = (uint32_t)fmax(floor(cells / *around + 0.5), 2);
}

static abut_status make_surface(abut_context *context, const tailor *t, const garment_options *o,
                                abut_mesh **mesh, uint32_t *held) {
    bool cape = o->kind == GARMENT_CAPE;
    uint32_t around, along;
    divide(t, cape, o->triangles, &around, &along);
    uint32_t columns = around + cape;
    size_t vertices = (size_t)columns * (along + 1), used = 0;
    vec *p = abut_context_allocate(context, vertices, sizeof *p);
    uint32_t *c = abut_context_allocate(context, 6 * (size_t)around * along, sizeof *c);
    abut_status status = p && c ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i <= along && !status; i++)
        for (uint32_t j = 0; j < columns; j++) {
            double down = (double)i / along, turn = (j + (cape ? 0 : 0.5 * (i & 1))) / around;
            double angle = cape ? PI + CAPE_HALF * (2 * turn - 1) : 2 * PI * turn;
            p[(size_t)i * columns + j] = vec_round(point_of(t, t->top - down * (t->top - t->bottom),
                                                            angle, garment_radius(t, down, angle)));
        }
    for (uint32_t i = 0; i < along && !status; i++)
        for (uint32_t j = 0; j < around; j++) {
            uint32_t next = cape ? j + 1 : (j + 1) % around, high = i * columns,
                     low = high + columns;
            bool odd = cape ? (i + j) & 1 : i & 1;
            const uint32_t one[6] = {high + j,    low + j, high + next,
                                     high + next, low + j, low + next};
            const uint32_t two[6] = {high + j, low + j,    low + next,
                                     high + j, low + next, high + next};
            memcpy(c + used, odd ? two : one, sizeof one);
            used += 6;
        }
    if (!status) {
        abut_mesh_input input =
            abut_mesh_input_doubles(p, (uint32_t)vertices, c, (uint32_t)(used / 3));
        status = abut_mesh_create(context, &input, mesh);
        *held = columns;
    }
    abut_context_release(context, p);
    abut_context_release(context, c);
    return status;
}

abut_status garment_create(abut_context *context, abut_mesh *body, const garment_options *options,
                           abut_mesh **mesh, uint32_t *held) {
    abut_bvh *bvh = NULL;
    tailor *t = abut_context_allocate(context, 1, sizeof *t);
    abut_status status = t ? abut_bvh_create(body, NULL, &bvh) : ABUT_ERROR_MEMORY;
    if (!status) {
        memset(t, 0, sizeof *t);
        t->bvh = bvh;
        t->body = body;
        t->up = options->up;
        status = measure(context, t);
    }
    status = status ? status : take_measure(t, options);
    status = status ? status : make_surface(context, t, options, mesh, held);
    abut_bvh_destroy(bvh);
    abut_context_release(context, t);
    return status;
}
