/* Fits axes to bones by skinning weights.
 *
 * The score of a line is the sum of area x weight x cosine between the normal and the direction
 * away from the line, over the triangles of its bone. It is negative for triangles that face the
 * line. So lines outside the body lose, and so do lines across a limb. Candidate lines have
 * directions to each child, from the parent, and along the principal axes of the triangles. They
 * pass through the bone and through the centroid of its triangles. Then the best one is moved
 * sideways and rotated while the score improves.
 *
 * For an open sheet, such as a cape, the score grows with the distance of the line, and the field
 * would enclose everything between. So no line is farther from the centroid of its triangles than
 * the mean distance of the triangles. The axis of half a cylinder satisfies that.
 */
#include "radial/radial.h"

#include "geom/principal_axes.h"

enum { CHILDREN_MAX = 8, IMPROVEMENTS_MAX = 24 };

/* ---- triangles of bones ---- */

/* Lists the bones of a triangle, each once: at most 3 x 8. */
static uint32_t list_bones(const radial_source *s, double weight, const uint32_t *corner,
                           uint32_t *bones) {
    uint32_t count = 0;
    for (int k = 0; k < 3; k++) {
        uint32_t own[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        uint32_t n = abut_character_weights(s->character, corner[k], own, weights);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t known = 0;
            if (i && weights[i] < weight && weights[i] < weights[0])
                continue;
            while (known < count && bones[known] != own[i])
                known++;
            bones[known] = own[i];
            count += known == count;
        }
    }
    return count;
}

abut_status abuti_radial_members(const radial_source *s, double weight, radial_members *m) {
    const uint32_t *indices = s->rest->indices;
    const uint32_t triangles = s->rest->triangle_count;
    uint32_t bones[3 * ABUT_CHARACTER_WEIGHT_COUNT];
    m->list = NULL;
    m->begin = abuti_allocate_zeroed(s->context, (size_t)s->bone_count + 2, sizeof *m->begin);
    if (!m->begin)
        return ABUT_ERROR_MEMORY;
    for (uint32_t t = 0; t < triangles; t++)
        for (uint32_t n = list_bones(s, weight, indices + 3 * (size_t)t, bones); n > 0; n--)
            m->begin[bones[n - 1] + 2]++;
    for (uint32_t b = 0; b < s->bone_count; b++)
        m->begin[b + 2] += m->begin[b + 1];
    m->list = abuti_allocate(s->context, m->begin[s->bone_count + 1], sizeof *m->list);
    if (!m->list) {
        abuti_release(s->context, m->begin);
        m->begin = NULL;
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t t = 0; t < triangles; t++)
        for (uint32_t n = list_bones(s, weight, indices + 3 * (size_t)t, bones); n > 0; n--)
            m->list[m->begin[bones[n - 1] + 1]++] = t;
    return ABUT_OK;
}

/* ---- lines ---- */

typedef struct fit_work {
    const radial_source *source;
    const uint32_t *triangles;
    size_t count;
    uint32_t bone;
    vec3 middle;  /* centroid */
    double reach; /* from the centroid: the largest distance of a line */
} fit_work;

static void corners_of(const fit_work *w, size_t i, vec3 p[3]) {
    const abut_mesh *mesh = w->source->rest;
    for (int k = 0; k < 3; k++)
        p[k] = v3_sub(abuti_mesh_position(mesh,
                                          mesh->indices[3 * (size_t)w->triangles[i] + (size_t)k]),
                      w->middle);
}

double abuti_radial_weight(const radial_source *source, uint32_t bone, uint32_t triangle) {
    double sum = 0;
    for (size_t k = 0; k < 3; k++) {
        uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        const uint32_t n =
            abut_character_weights(source->character,
                                   source->rest->indices[3 * (size_t)triangle + k], bones, weights);
        for (uint32_t i = 0; i < n; i++)
            sum += bones[i] == bone ? weights[i] / 3 : 0;
    }
    return sum;
}

/* The score of a line through `at` (relative to the centroid) along the unit vector `along`, from
 * every `every`-th triangle. Lines that are too far away have the lowest possible score. */
static double score_line(const fit_work *w, const double *weights, vec3 at, vec3 along,
                         size_t every) {
    double sum = 0;
    if (v3_length(v3_along(at, -v3_dot(at, along), along)) > w->reach)
        return -HUGE_VAL;
    for (size_t i = 0; i < w->count; i += every) {
        vec3 p[3];
        corners_of(w, i, p);
        vec3 normal = v3_scale(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0])), 0.5);
        vec3 away = v3_sub(v3_scale(v3_add(v3_add(p[0], p[1]), p[2]), 1.0 / 3), at);
        away = v3_along(away, -v3_dot(away, along), along);
        sum += weights[i] * v3_dot(normal, v3_normalise(away));
    }
    return sum;
}

/* Two unit vectors orthogonal to `along`. */
static void orthogonal_directions(vec3 along, vec3 *u, vec3 *v) {
    *u = fabs(along.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    *u = v3_normalise(v3_along(*u, -v3_dot(*u, along), along));
    *v = v3_cross(along, *u);
}

static vec3 origin_of(const radial_source *s, uint32_t bone) {
    const abut_character_matrix *m = &s->bones[bone];
    return v3(m->m[0][3], m->m[1][3], m->m[2][3]);
}

/* The parent of a bone, or ABUT_NONE. */
static uint32_t parent_of(const radial_source *s, uint32_t index) {
    abut_character_bone bone = abut_character_bone_default();
    abut_character_get_bone(s->character, index, &bone);
    return bone.parent;
}

/* The principal axes of the triangles, by area and weight. Null weights are 1. */
static void compute_principal_axes(const fit_work *w, const double *weights, vec3 axes[3]) {
    double spread[3][3] = {{0}};
    for (size_t i = 0; i < w->count; i++) {
        vec3 p[3];
        corners_of(w, i, p);
        vec3 c = v3_scale(v3_add(v3_add(p[0], p[1]), p[2]), 1.0 / 3);
        double area = (weights ? weights[i] : 1) *
                      v3_length(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0])));
        for (int k = 0; k < 9; k++)
            spread[k / 3][k % 3] += area * v3_get(c, k / 3) * v3_get(c, k % 3);
    }
    principal_axes(spread, axes);
}

/* Lists the directions of candidate lines. */
static uint32_t list_directions(const fit_work *w, const double *weights, vec3 *list) {
    const radial_source *s = w->source;
    const vec3 origin = origin_of(s, w->bone);
    uint32_t count = 0, parent = parent_of(s, w->bone);
    for (uint32_t b = 0; b < s->bone_count && count < CHILDREN_MAX; b++)
        if (parent_of(s, b) == w->bone)
            list[count++] = v3_sub(origin_of(s, b), origin);
    if (parent != ABUT_NONE)
        list[count++] = v3_sub(origin, origin_of(s, parent));
    compute_principal_axes(w, weights, list + count);
    return count + 3;
}

/* Moves and rotates a line while its score improves. */
static void improve_line(const fit_work *w, const double *weights, size_t every, double size,
                         double score, vec3 *at, vec3 *along) {
    double shift = size / 8, turn = 0.2;
    for (int move = 0; move < IMPROVEMENTS_MAX; move++) {
        bool better = false;
        vec3 side[2];
        orthogonal_directions(*along, &side[0], &side[1]);
        for (int k = 0; k < 8; k++) {
            const vec3 step = v3_scale(side[k / 2 % 2], k % 2 ? -1 : 1);
            vec3 a = k < 4 ? v3_along(*at, shift, step) : *at;
            vec3 d = k < 4 ? *along : v3_normalise(v3_along(*along, turn, step));
            double here = score_line(w, weights, a, d, every);
            if (here > score) {
                score = here;
                *at = a;
                *along = d;
                better = true;
                break;
            }
        }
        shift = better ? shift : shift / 2;
        turn = better ? turn : turn / 2;
    }
}

/* The part of a line from the first corner to the last. */
static radial_line line_along(const fit_work *w, vec3 at, vec3 along, double pad) {
    double lo = HUGE_VAL, hi = -HUGE_VAL, squares = 0;
    for (size_t i = 0; i < w->count; i++) {
        vec3 p[3];
        corners_of(w, i, p);
        for (int k = 0; k < 3; k++) {
            vec3 d = v3_sub(p[k], at);
            double z = v3_dot(d, along);
            lo = z < lo ? z : lo;
            hi = z > hi ? z : hi;
            squares += v3_length_sq(v3_along(d, -z, along));
        }
    }
    const vec3 from = v3_add(w->middle, at);
    return (radial_line){v3_along(from, lo - pad, along), v3_along(from, hi + pad, along),
                         sqrt(squares / (3.0 * (double)w->count))};
}

/* Computes the centroid of all triangles, or of the corners if they have no area, and their
 * distance from it. Returns the area. */
static double compute_centroid(fit_work *w) {
    vec3 by_area = v3(0, 0, 0), plain = v3(0, 0, 0);
    double area = 0;
    w->middle = v3(0, 0, 0);
    for (size_t i = 0; i < w->count; i++) {
        vec3 p[3];
        corners_of(w, i, p);
        const vec3 sum = v3_scale(v3_add(v3_add(p[0], p[1]), p[2]), 1.0 / 3);
        double a = 0.5 * v3_length(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0])));
        by_area = v3_along(by_area, a, sum);
        plain = v3_add(plain, sum);
        area += a;
    }
    w->middle = area > 0 ? v3_scale(by_area, 1 / area) : v3_scale(plain, 1 / (double)w->count);
    double squares = 0;
    for (size_t i = 0; i < w->count; i++) {
        vec3 p[3];
        corners_of(w, i, p);
        double a = 0.5 * v3_length(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0])));
        for (int k = 0; k < 3; k++)
            squares += a * v3_length_sq(p[k]) / 3;
    }
    w->reach = area > 0 ? sqrt(squares / area) : HUGE_VAL;
    return area;
}

abut_status abuti_radial_fit(const radial_source *s, uint32_t bone, const uint32_t *triangles,
                             size_t count, double cell, radial_line *line) {
    fit_work w = {s, triangles, count, bone, v3(0, 0, 0), 0};
    vec3 directions[CHILDREN_MAX + 4], best_at = v3(0, 0, 0), best = v3(0, 0, 1);
    double *weights = abuti_allocate(s->context, count, sizeof *weights);
    if (!weights)
        return ABUT_ERROR_MEMORY;
    const double area = compute_centroid(&w);
    for (size_t i = 0; i < count; i++)
        weights[i] = abuti_radial_weight(s, bone, triangles[i]);
    /* A sample of four thousand triangles is sufficient. */
    const size_t every = 1 + count / 4096;
    const uint32_t tries = list_directions(&w, weights, directions);
    double best_worth = -HUGE_VAL;
    for (uint32_t i = 0; i < 2 * tries; i++) {
        const vec3 along = v3_normalise(directions[i / 2]);
        const vec3 at = i % 2 ? v3_sub(origin_of(s, bone), w.middle) : v3(0, 0, 0);
        if (v3_max_abs(along) == 0)
            continue;
        double score = score_line(&w, weights, at, along, every);
        if (score > best_worth) {
            best_worth = score;
            best_at = at;
            best = along;
        }
    }
    if (area > 0)
        improve_line(&w, weights, every, sqrt(area), best_worth, &best_at, &best);
    /* Rows begin slightly before the first corner and end after the last, so that closed ends have
     * a row beyond them. */
    *line = line_along(&w, best_at, best, cell / 64);
    abuti_release(s->context, weights);
    return ABUT_OK;
}

void abuti_radial_principal_lines(const radial_source *s, uint32_t bone, const uint32_t *triangles,
                                  size_t count, double cell, radial_line lines[3]) {
    fit_work w = {s, triangles, count, bone, v3(0, 0, 0), 0};
    vec3 axes[3];
    compute_centroid(&w);
    compute_principal_axes(&w, NULL, axes);
    for (int k = 0; k < 3; k++)
        lines[k] = line_along(&w, v3(0, 0, 0), axes[k], cell / 64);
}

bool abuti_radial_inverse(const abut_character_matrix *a, abut_character_matrix *inverse) {
    const vec3 x = v3(a->m[0][0], a->m[1][0], a->m[2][0]),
               y = v3(a->m[0][1], a->m[1][1], a->m[2][1]);
    const vec3 z = v3(a->m[0][2], a->m[1][2], a->m[2][2]),
               at = v3(a->m[0][3], a->m[1][3], a->m[2][3]);
    const vec3 rows[3] = {v3_cross(y, z), v3_cross(z, x), v3_cross(x, y)};
    const double volume = v3_dot(x, rows[0]);
    if (!(fabs(volume) > 1e-12 * v3_length(x) * v3_length(y) * v3_length(z)))
        return false;
    for (int i = 0; i < 3; i++) {
        const vec3 row = v3_scale(rows[i], 1 / volume);
        const double four[4] = {row.x, row.y, row.z, -v3_dot(row, at)};
        memcpy(inverse->m[i], four, sizeof four);
    }
    return matrix_is_valid(inverse);
}
