/* Evenly spread samples of a surface, and thinning to the best spread of a list of samples.
 *
 * Candidates are distributed by area (stratified sampling): the i-th of n candidates is a random
 * point of the i-th of n equal parts of the surface, in the order of triangles. So no part of the
 * surface is missed. Then the candidates are thinned.
 *
 * Thinning by radius visits the candidates in random order and keeps each one that has no kept
 * sample within the radius (dart throwing). In the end, every candidate is near a kept one.
 * Thinning to a count repeats this with a radius that shrinks by a tenth in each pass, until enough
 * samples are kept. When a sample is kept, its distance from the others is at least nine tenths of
 * the largest possible one (farthest-point sampling, Gonzalez 1985, within this factor). Only
 * samples whose normals have an angle of at most 90 degrees exclude each other, so both sides of a
 * thin wall are sampled.
 *
 * Kept samples are stored in a hash table of cubes as wide as the radius. At most four directions
 * have angles above 90 degrees pairwise, so a cube contains a bounded number of kept samples. A
 * pass takes time linear in the number of candidates for every input. After PASSES passes, the
 * remaining candidates coincide, and arbitrary ones are kept.
 */
#include "contact/samples.h"

#include <math.h>

#define CANDIDATES_PER_SAMPLE 12 /* for each requested sample */
#define MAX_CANDIDATES ((double)(1u << 26))
#define SHRINK 0.9
#define PASSES 200 /* 0.9^200 = 7e-10: candidates that are nearer count as coincident */

/* The mixing function of splitmix64. */
static uint64_t mix_bits(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A pseudo-random number in [0, 1). */
static double random_fraction(uint64_t seed) {
    return (double)(mix_bits(seed) >> 11) * 0x1p-53;
}

abut_status abuti_samples_reserve(sample_list *to, size_t more) {
    return abuti_grow(to->context, &to->list, to->count, to->count + more, sizeof *to->list,
                      &to->capacity);
}

/* ---- thinning ---- */

enum { CANCEL_INTERVAL = 1024 }; /* candidates between two checks for cancellation */

typedef struct cube_table {
    abut_context *context;
    const abut_sample *samples;
    double radius;
    vec3 lo;
    size_t mask;
    uint32_t *heads, *next; /* hash chains of kept samples by cube; ABUT_NONE ends a chain */
} cube_table;

/* Cube indices are integers up to this; larger ones are clamped. */
#define MAX_CUBE 0x1p52

static void cube_of(const cube_table *t, vec3 p, double cube[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const double at = floor((v3_get(p, axis) - v3_get(t->lo, axis)) / t->radius);
        cube[axis] = at < MAX_CUBE ? at : MAX_CUBE; /* also NaN, if the radius is 0 */
    }
}

static size_t slot_of(const cube_table *t, const double cube[3]) {
    uint64_t key = 0;
    for (int axis = 0; axis < 3; axis++)
        key = mix_bits(key ^ (uint64_t)(int64_t)cube[axis]);
    return (size_t)key & t->mask;
}

static void insert_sample(cube_table *t, uint32_t i) {
    double cube[3];
    cube_of(t, t->samples[i].point, cube);
    size_t slot = slot_of(t, cube);
    t->next[i] = t->heads[slot];
    t->heads[slot] = i;
}

static bool is_excluded_by_cube(const cube_table *t, const abut_sample *s, const double cube[3]) {
    for (uint32_t i = t->heads[slot_of(t, cube)]; i != ABUT_NONE; i = t->next[i])
        if (v3_length_sq(v3_sub(t->samples[i].point, s->point)) < t->radius * t->radius &&
            v3_dot(t->samples[i].normal, s->normal) >= 0)
            return true;
    return false;
}

static bool can_keep(const cube_table *t, const abut_sample *s) {
    double cube[3];
    cube_of(t, s->point, cube);
    if (is_excluded_by_cube(t, s, cube)) /* the most likely cube */
        return false;
    for (int i = 0; i < 27; i++) {
        const double other[3] = {cube[0] + i % 3 - 1, cube[1] + i / 3 % 3 - 1, cube[2] + i / 9 - 1};
        if (is_excluded_by_cube(t, s, other))
            return false;
    }
    return true;
}

/* One pass over the candidates in their order. Marks the samples that it keeps and returns their
 * number. */
static size_t thin_pass(cube_table *t, const uint64_t *order, size_t count, size_t max_count,
                        double radius, unsigned char *marks, size_t kept) {
    t->radius = radius;
    memset(t->heads, 0xff, (t->mask + 1) * sizeof *t->heads);
    for (size_t i = 0; i < count; i++)
        if (marks[i])
            insert_sample(t, (uint32_t)i);
    for (size_t k = 0; k < count && kept < max_count; k++) {
        uint32_t i = (uint32_t)order[k];
        if (k % CANCEL_INTERVAL == 0 && abuti_stop(t->context, "samples"))
            break;
        if (marks[i] || !can_keep(t, &t->samples[i]))
            continue;
        marks[i] = 1;
        kept++;
        insert_sample(t, i);
    }
    return kept;
}

static void mark_kept(cube_table *t, const uint64_t *order, size_t count, size_t max_count,
                      double radius, unsigned char *marks) {
    box3 box = box_empty();
    for (size_t i = 0; i < count; i++)
        box = box_grow(box, t->samples[i].point);
    t->lo = box.lo;
    double size = v3_length(v3_sub(box.hi, box.lo));
    if (radius > 0) {
        thin_pass(t, order, count, count, real_max(radius, 0x1p-40 * size), marks, 0);
        return;
    }
    size_t kept = 0;
    double at = 2 * size / sqrt((double)max_count);
    for (int i = 0; i < PASSES && kept < max_count && at > 0 && !abuti_stop(t->context, "samples");
         i++, at *= SHRINK)
        kept = thin_pass(t, order, count, max_count, at, marks, kept);
    for (size_t k = 0; k < count && kept < max_count; k++) {
        kept += !marks[(uint32_t)order[k]];
        marks[(uint32_t)order[k]] = 1;
    }
}

abut_status abuti_samples_thin(sample_list *samples, size_t first, size_t max_count,
                               double radius) {
    abut_context *context = samples->context;
    size_t count = samples->count - first, slots = 64;
    while (slots < count)
        slots *= 2;
    cube_table t = {.context = context, .samples = samples->list + first, .mask = slots - 1};
    uint64_t *order;
    unsigned char *marks;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(order, 2 * count), ABUTI_ZEROED(marks, count),
                       ABUTI_ARRAY(t.next, count), ABUTI_ARRAY(t.heads, slots));
    if (!status) {
        for (size_t i = 0; i < count; i++)
            order[i] = mix_bits(i) >> 32 << 32 | i;
        abuti_sort_keys(order, order + count, count);
        mark_kept(&t, order, count, max_count, radius, marks);
        samples->count = first;
        for (size_t i = 0; i < count; i++)
            if (marks[i])
                samples->list[samples->count++] = samples->list[first + i];
    }
    ABUTI_RELEASE(context, order, marks, t.next, t.heads);
    return status ? status : abuti_stop_status("samples");
}

/* ---- candidates ---- */

static vec3 random_point(const abut_mesh *mesh, uint32_t triangle, uint64_t seed) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double u = random_fraction(2 * seed), v = random_fraction(2 * seed + 1);
    if (u + v > 1) { /* the other half of the parallelogram */
        u = 1 - u;
        v = 1 - v;
    }
    vec3 a = mesh->positions[corner[0]];
    vec3 p = v3_along(a, u, v3_sub(mesh->positions[corner[1]], a));
    p = v3_along(p, v, v3_sub(mesh->positions[corner[2]], a));
    return v3_add(mesh->origin, p);
}

static void add_candidates(const abut_mesh *mesh, const abut_normals_arrays *normals, double area,
                           size_t wanted, sample_list *to) {
    double cumulated_area = 0; /* area of the triangles up to this one */
    size_t made = 0;
    for (uint32_t f = 0; f < mesh->triangle_count && made < wanted; f++) {
        if (f % CANCEL_INTERVAL == 0 && abuti_stop(mesh->context, "samples"))
            return;
        const uint32_t *corner = mesh->indices + 3 * (size_t)f;
        vec3 a = mesh->positions[corner[0]];
        cumulated_area += 0.5 * v3_length(v3_cross(v3_sub(mesh->positions[corner[1]], a),
                                                   v3_sub(mesh->positions[corner[2]], a)));
        for (uint32_t part = 0; made < wanted; part++) {
            double area_position =
                ((double)made + random_fraction(~(uint64_t)made)) / (double)wanted * area;
            if (area_position >= cumulated_area)
                break;
            const abut_sample sample = {random_point(mesh, f, made), normals->faces[f],
                                        ABUT_SAMPLE_SURFACE, f, part};
            to->list[to->count++] = sample;
            made++;
        }
    }
}

abut_status abuti_samples_add_even(const abut_mesh *mesh, const abut_normals_arrays *normals,
                                   double area, double radius, uint32_t count, sample_list *to) {
    size_t first = to->count;
    double wanted = count ? (double)count : area / (radius * radius);
    if (!(area > 0))
        return ABUT_OK;
    if (!(wanted * CANDIDATES_PER_SAMPLE <= MAX_CANDIDATES))
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_samples_create: there are %.9g even samples, at most %.0f are "
                          "allowed; use a larger options->radius or a smaller options->count",
                          wanted, MAX_CANDIDATES / CANDIDATES_PER_SAMPLE);
    size_t candidates = (size_t)(wanted * CANDIDATES_PER_SAMPLE) + CANDIDATES_PER_SAMPLE;
    abut_status status = abuti_samples_reserve(to, candidates);
    if (status)
        return status;
    add_candidates(mesh, normals, area, candidates, to);
    if ((status = abuti_stop_status("samples")))
        return status;
    /* Rounding errors of the summed area may omit a few of the last candidates. */
    return abuti_samples_thin(to, first, count ? count : candidates, count ? 0 : radius);
}
