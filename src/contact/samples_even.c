/* Samples spread evenly over a surface, and the choice of the best spread among many.
 *
 * Candidates are strewn by area: the i-th of n lies at a random place of the i-th n-th of the
 * surface, triangle after triangle, so that no part is left out. Then they are thinned.
 *
 * Thinning by radius takes candidates in random order and keeps each that has none of the kept
 * nearer than the radius: dart throwing, which ends with every candidate near a kept one. Thinning
 * to a number does so with a radius that shrinks by a tenth from pass to pass until enough are
 * kept: each kept one was further from the others than nine tenths of what any choice at that time
 * could reach (farthest points, Gonzalez 1985, within that factor). Only samples whose normals do
 * not point apart stand in each other's way, so that both sides of a thin wall are sampled.
 *
 * The kept ones stand in a table of cubes as wide as the radius. At most four normals can point
 * apart from each other pairwise, so a cube has a bounded number of them, and a pass takes time
 * linear in the number of candidates, whatever they are. Passes end after PASSES, where all that is
 * left is in one place; then any are taken.
 */
#include "contact/samples.h"

#include <math.h>

#define CANDIDATES 12 /* for each sample that is wanted */
#define MOST_CANDIDATES ((double)(1u << 26))
#define SHRINK 0.9
#define PASSES 200 /* 0.9^200 is 7e-10: below that all is one place */

/* splitmix64 */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* From 0 to below 1. */
static double fraction(uint64_t seed) {
    return (double)(mix(seed) >> 11) * 0x1p-53;
}

abut_status abuti_samples_reserve(sample_list *to, size_t more) {
    if (more <= to->room - to->count)
        return ABUT_OK;
    size_t room = to->count + more > 2 * to->room ? to->count + more : 2 * to->room;
    abut_sample *list = abuti_allocate(to->context, room, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    if (to->count)
        memcpy(list, to->list, to->count * sizeof *list);
    abuti_release(to->context, to->list);
    to->list = list;
    to->room = room;
    return ABUT_OK;
}

/* ---- thinning ---- */

enum { LOOK = 1024 }; /* candidates between two looks at whether to stop */

typedef struct table {
    abut_context *context;
    const abut_sample *samples;
    double radius;
    vec3 lo;
    size_t mask;
    uint32_t *heads, *next; /* of the kept ones by their cube; ABUT_NONE ends a list */
} table;

/* Cubes have whole numbers up to this; those beyond count as one. */
#define CUBES_MAX 0x1p52

static void cube_of(const table *t, vec3 p, double cube[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const double at = floor((v3_get(p, axis) - v3_get(t->lo, axis)) / t->radius);
        cube[axis] = at < CUBES_MAX ? at : CUBES_MAX; /* NaN too, where the radius is 0 */
    }
}

static size_t slot_of(const table *t, const double cube[3]) {
    uint64_t key = 0;
    for (int axis = 0; axis < 3; axis++)
        key = mix(key ^ (uint64_t)(int64_t)cube[axis]);
    return (size_t)key & t->mask;
}

static void keep(table *t, uint32_t i) {
    double cube[3];
    cube_of(t, t->samples[i].point, cube);
    size_t slot = slot_of(t, cube);
    t->next[i] = t->heads[slot];
    t->heads[slot] = i;
}

static bool in_the_way(const table *t, const abut_sample *s, const double cube[3]) {
    for (uint32_t i = t->heads[slot_of(t, cube)]; i != ABUT_NONE; i = t->next[i])
        if (v3_length_sq(v3_sub(t->samples[i].point, s->point)) < t->radius * t->radius &&
            v3_dot(t->samples[i].normal, s->normal) >= 0)
            return true;
    return false;
}

static bool is_free(const table *t, const abut_sample *s) {
    double cube[3];
    cube_of(t, s->point, cube);
    if (in_the_way(t, s, cube)) /* most often there */
        return false;
    for (int i = 0; i < 27; i++) {
        const double other[3] = {cube[0] + i % 3 - 1, cube[1] + i / 3 % 3 - 1, cube[2] + i / 9 - 1};
        if (in_the_way(t, s, other))
            return false;
    }
    return true;
}

/* One pass over the candidates in their order; those that are kept get a mark. */
static size_t pass(table *t, const uint64_t *order, size_t count, size_t most, double radius,
                   unsigned char *marks, size_t kept) {
    t->radius = radius;
    memset(t->heads, 0xff, (t->mask + 1) * sizeof *t->heads);
    for (size_t i = 0; i < count; i++)
        if (marks[i])
            keep(t, (uint32_t)i);
    for (size_t k = 0; k < count && kept < most; k++) {
        uint32_t i = (uint32_t)order[k];
        if (k % LOOK == 0 && abuti_stop(t->context, "samples"))
            break;
        if (marks[i] || !is_free(t, &t->samples[i]))
            continue;
        marks[i] = 1;
        kept++;
        keep(t, i);
    }
    return kept;
}

static void choose(table *t, const uint64_t *order, size_t count, size_t most, double radius,
                   unsigned char *marks) {
    box3 box = box_empty();
    for (size_t i = 0; i < count; i++)
        box = box_grow(box, t->samples[i].point);
    t->lo = box.lo;
    double size = v3_length(v3_sub(box.hi, box.lo));
    if (radius > 0) {
        pass(t, order, count, count, real_max(radius, 0x1p-40 * size), marks, 0);
        return;
    }
    size_t kept = 0;
    double at = 2 * size / sqrt((double)most);
    for (int i = 0; i < PASSES && kept < most && at > 0 && !abuti_stop(t->context, "samples");
         i++, at *= SHRINK)
        kept = pass(t, order, count, most, at, marks, kept);
    for (size_t k = 0; k < count && kept < most; k++) {
        kept += !marks[(uint32_t)order[k]];
        marks[(uint32_t)order[k]] = 1;
    }
}

abut_status abuti_samples_thin(sample_list *samples, size_t first, size_t most, double radius) {
    abut_context *context = samples->context;
    size_t count = samples->count - first, slots = 64;
    while (slots < count)
        slots *= 2;
    table t = {.context = context, .samples = samples->list + first, .mask = slots - 1};
    uint64_t *order = abuti_allocate(context, count, 2 * sizeof *order);
    unsigned char *marks = order ? abuti_allocate_zeroed(context, count, 1) : NULL;
    t.next = marks ? abuti_allocate(context, count, sizeof *t.next) : NULL;
    t.heads = t.next ? abuti_allocate(context, slots, sizeof *t.heads) : NULL;
    if (t.heads) {
        for (size_t i = 0; i < count; i++)
            order[i] = mix(i) >> 32 << 32 | i;
        abuti_sort_keys(order, order + count, count);
        choose(&t, order, count, most, radius, marks);
        samples->count = first;
        for (size_t i = 0; i < count; i++)
            if (marks[i])
                samples->list[samples->count++] = samples->list[first + i];
    }
    ABUTI_RELEASE(context, order, marks, t.next, t.heads);
    return t.heads ? abuti_stop_status("samples") : ABUT_ERROR_MEMORY;
}

/* ---- candidates ---- */

static vec3 place_on(const abut_mesh *mesh, uint32_t triangle, uint64_t seed) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double u = fraction(2 * seed), v = fraction(2 * seed + 1);
    if (u + v > 1) { /* the other half of the parallelogram */
        u = 1 - u;
        v = 1 - v;
    }
    vec3 a = mesh->positions[corner[0]];
    vec3 p = v3_along(a, u, v3_sub(mesh->positions[corner[1]], a));
    p = v3_along(p, v, v3_sub(mesh->positions[corner[2]], a));
    return v3_add(mesh->origin, p);
}

static void strew(const abut_mesh *mesh, const abut_normals_arrays *normals, double area,
                  size_t wanted, sample_list *to) {
    double passed = 0; /* area of the triangles before */
    size_t made = 0;
    for (uint32_t f = 0; f < mesh->triangle_count && made < wanted; f++) {
        if (f % LOOK == 0 && abuti_stop(mesh->context, "samples"))
            return;
        const uint32_t *corner = mesh->indices + 3 * (size_t)f;
        vec3 a = mesh->positions[corner[0]];
        passed += 0.5 * v3_length(v3_cross(v3_sub(mesh->positions[corner[1]], a),
                                           v3_sub(mesh->positions[corner[2]], a)));
        for (uint32_t part = 0; made < wanted; part++) {
            double place = ((double)made + fraction(~(uint64_t)made)) / (double)wanted * area;
            if (place >= passed)
                break;
            const abut_sample sample = {place_on(mesh, f, made), normals->faces[f],
                                        ABUT_SAMPLE_SURFACE, f, part};
            to->list[to->count++] = sample;
            made++;
        }
    }
}

abut_status abuti_samples_even(const abut_mesh *mesh, const abut_normals_arrays *normals,
                               double area, double radius, uint32_t count, sample_list *to) {
    size_t first = to->count;
    double wanted = count ? (double)count : area / (radius * radius);
    if (!(area > 0))
        return ABUT_OK;
    if (!(wanted * CANDIDATES <= MOST_CANDIDATES))
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_samples_create: there are %.9g even samples, at most %.0f are "
                          "allowed; take a larger options->radius or a smaller options->count",
                          wanted, MOST_CANDIDATES / CANDIDATES);
    size_t candidates = (size_t)(wanted * CANDIDATES) + CANDIDATES;
    abut_status status = abuti_samples_reserve(to, candidates);
    if (status)
        return status;
    strew(mesh, normals, area, candidates, to);
    if ((status = abuti_stop_status("samples")))
        return status;
    /* Rounding of the sum of areas may lose the last ones, never most of them. */
    return abuti_samples_thin(to, first, count ? count : candidates, count ? 0 : radius);
}
