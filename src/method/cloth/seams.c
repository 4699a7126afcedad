/* Seams: pairs of vertices of sheets that are sewn together.
 *
 * A seam is a constraint of the solver, like an edge (solver_shared.h, patches.c). Contacts must
 * not push sewn edges apart, as they do not push adjacent faces of a sheet apart. Vertices that are
 * sewn together, directly or one after the other, are a knot. Each vertex has a list of the knots
 * near it, and a contact is ignored if the way from the vertex to a corner of the face through a
 * knot is shorter than the range of the knot: that in which a sheet ignores its own faces, or the
 * thickness if it is larger. */
#include "base/sort.h"
#include "cloth/cloth.h"

/* ---- arguments ---- */

#define DEFAULT_SPEED 0.5 /* m/s: a third of an edge of 2.5 cm in 1/60 s */
/* Of the mean thickness. A gap of a fifth of this is what impacts keep. */
#define DEFAULT_LENGTH 0.5

static abut_status check_end(const char *function, const abut_cloth *c, uint32_t i, char end,
                             uint32_t sheet, uint32_t vertex) {
    if (sheet >= cloth_count_of(c, SHEETS) || !cloth_item_of(c, SHEETS, sheet)->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: seams[%u].sheet_%c is %u, which does not exist",
                          function, i, end, sheet);
    const uint32_t vertices = cloth_item_of(c, SHEETS, sheet)->mesh->vertex_count;
    return vertex < vertices ? ABUT_OK
                             : abuti_fail(ABUT_ERROR_ARGUMENT,
                                          "%s: seams[%u].vertex_%c is %u; the sheet has %u "
                                          "vertices",
                                          function, i, end, vertex, vertices);
}

static abut_status check_number(const char *function, uint32_t i, const char *name, double value,
                                double max, const char *unit) {
    return value >= 0 && value <= max
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: seams[%u].%s is %g; it must be from 0 to %g %s", function, i, name,
                            value, max, unit);
}

static abut_status check_pair(const char *function, const abut_cloth *c,
                              const abut_cloth_seam *list, uint32_t i) {
    const abut_cloth_seam *s = &list[i];
    abut_status status = check_end(function, c, i, 'a', s->sheet_a, s->vertex_a);
    if (!status)
        status = check_end(function, c, i, 'b', s->sheet_b, s->vertex_b);
    if (!status && s->sheet_a == s->sheet_b && s->vertex_a == s->vertex_b)
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT, "%s: seams[%u] sews vertex %u of sheet %u to itself",
                       function, i, s->vertex_a, s->sheet_a);
    return status;
}

static abut_status check_values(const char *function, const abut_cloth_seam *list, uint32_t i) {
    const abut_cloth_seam *s = &list[i];
    abut_status status =
        check_number(function, i, "length", s->length, ABUT_CLOTH_COORDINATE_MAX, "m");
    if (!status)
        status = check_number(function, i, "stiffness", s->stiffness, CLOTH_VALUE_MAX, "N/m");
    if (!status)
        status = check_number(function, i, "speed", s->speed, CLOTH_VALUE_MAX, "m/s");
    return status;
}

static abut_status check_seams(const char *function, const abut_cloth *c,
                               const abut_cloth_seam *list, uint32_t count, bool has_values) {
    if (!c || (count && !list))
        return abuti_null(function, c ? "seams" : "cloth");
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        status = check_pair(function, c, list, i);
        if (!status && has_values)
            status = check_values(function, list, i);
    }
    return status;
}

/* ---- the list, in the order of its keys ---- */

/* The pair of vertices of a seam. */
static uint64_t key_of(uint32_t a, uint32_t b) {
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static uint64_t key_at(const abuti_vector *seams, size_t i) {
    const cloth_seam *s = &ABUTI_AT(seams, cloth_seam, i);
    return key_of(s->of[0], s->of[1]);
}

static cloth_seam make_seam(const abut_cloth *c, const abut_cloth_seam *given) {
    const uint32_t a = cloth_first_of(c, SHEETS, given->sheet_a) + given->vertex_a,
                   b = cloth_first_of(c, SHEETS, given->sheet_b) + given->vertex_b;
    const double thickness =
        cloth_mean(c->parts[c->part_of[a]].thickness, c->parts[c->part_of[b]].thickness);
    cloth_seam seam = {.rest = given->length > 0 ? given->length : DEFAULT_LENGTH * thickness,
                       .compliance = given->stiffness > 0 ? 1 / given->stiffness : 0,
                       .speed = given->speed > 0 ? given->speed : DEFAULT_SPEED};
    seam.vertex[0] = seam.of[0] = a < b ? a : b;
    seam.vertex[1] = seam.of[1] = a < b ? b : a;
    return seam;
}

/* Sorts the indices of the caller's seams by their keys. The caller releases *memory. */
static abut_status sort_seams(abut_cloth *c, const abut_cloth_seam *list, uint32_t count,
                              sort_key **memory, const sort_key **sorted) {
    sort_key *keys = *memory = abuti_allocate(c->context, 2 * (size_t)count, sizeof *keys);
    if (!keys)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const cloth_seam seam = make_seam(c, &list[i]);
        keys[i] = (sort_key){key_of(seam.of[0], seam.of[1]), i};
    }
    *sorted = abuti_sort_by_key(keys, keys + count, count);
    return ABUT_OK;
}

/* The next step divides the constraints again. The host has the state. */
static void change_seams(abut_cloth *c) {
    abuti_cloth_unprepare(c);
}

static abut_status check_twice(const char *function, const sort_key *sorted, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (sorted[i].key == sorted[i - 1].key)
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: seams[%u] sews the vertices of seams[%u]",
                              function, sorted[i].value, sorted[i - 1].value);
    return ABUT_OK;
}

/* `merged` has the capacity. */
static void merge_seams(const abut_cloth *c, const abut_cloth_seam *list, const sort_key *sorted,
                        uint32_t count, abuti_vector *merged) {
    size_t old = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (; old < c->seams.count && key_at(&c->seams, old) < sorted[i].key; old++)
            ABUTI_AT(merged, cloth_seam, merged->count++) = ABUTI_AT(&c->seams, cloth_seam, old);
        old += old < c->seams.count && key_at(&c->seams, old) == sorted[i].key;
        ABUTI_AT(merged, cloth_seam, merged->count++) = make_seam(c, &list[sorted[i].value]);
    }
    for (; old < c->seams.count; old++)
        ABUTI_AT(merged, cloth_seam, merged->count++) = ABUTI_AT(&c->seams, cloth_seam, old);
}

abut_status abut_cloth_sew(abut_cloth *cloth, const abut_cloth_seam *seams, uint32_t count) {
    abut_cloth *c = cloth;
    abuti_vector merged = {0};
    sort_key *memory = NULL;
    const sort_key *sorted = NULL;
    abut_status status = check_seams(__func__, c, seams, count, true);
    if (!status && count >= ABUT_NONE - c->seams.count)
        status = abuti_fail(ABUT_ERROR_LIMIT, "%s: there are too many seams", __func__);
    if (!status)
        status = cloth_open_all(c);
    if (status || !count)
        return status;
    status = sort_seams(c, seams, count, &memory, &sorted);
    if (!status)
        status = check_twice(__func__, sorted, count);
    if (!status)
        status =
            abuti_vector_reserve(c->context, &merged, c->seams.count + count, sizeof(cloth_seam));
    if (!status) {
        merge_seams(c, seams, sorted, count, &merged);
        abuti_release(c->context, c->seams.data);
        c->seams = merged;
        change_seams(c);
    }
    abuti_release(c->context, memory);
    return status;
}

abut_status abut_cloth_unsew(abut_cloth *cloth, const abut_cloth_seam *seams, uint32_t count) {
    abut_cloth *c = cloth;
    sort_key *memory = NULL;
    const sort_key *sorted = NULL;
    abut_status status = check_seams(__func__, c, seams, count, false);
    if (!status)
        status = cloth_open_all(c);
    if (status || !count)
        return status;
    status = sort_seams(c, seams, count, &memory, &sorted);
    size_t kept = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < c->seams.count && !status; i++) {
        while (next < count && sorted[next].key < key_at(&c->seams, i))
            next++;
        if (next == count || sorted[next].key != key_at(&c->seams, i))
            ABUTI_AT(&c->seams, cloth_seam, kept++) = ABUTI_AT(&c->seams, cloth_seam, i);
    }
    if (!status && kept < c->seams.count) {
        c->seams.count = kept;
        change_seams(c);
    }
    abuti_release(c->context, memory);
    return status;
}

void abuti_cloth_drop_seams(abut_cloth *c, const cloth_item *sheet) {
    size_t kept = 0;
    if (sheet->vertex == ABUT_NONE)
        return;
    for (size_t i = 0; i < c->seams.count; i++) {
        const cloth_seam seam = ABUTI_AT(&c->seams, cloth_seam, i);
        if (seam.of[0] - sheet->vertex >= sheet->mesh->vertex_count &&
            seam.of[1] - sheet->vertex >= sheet->mesh->vertex_count)
            ABUTI_AT(&c->seams, cloth_seam, kept++) = seam;
    }
    c->seams.count = kept;
}

bool abuti_cloth_seams_are_valid(const abut_cloth *c, const cloth_seam *seams, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cloth_seam *s = &seams[i];
        if (s->of[0] >= s->of[1] || s->of[1] >= c->vertices ||
            !(s->rest > 0 && s->rest <= ABUT_CLOTH_COORDINATE_MAX) || !(s->compliance >= 0) ||
            !(s->speed > 0 && s->speed <= CLOTH_VALUE_MAX))
            return false;
        if (i && key_of(s[-1].of[0], s[-1].of[1]) >= key_of(s->of[0], s->of[1]))
            return false;
    }
    return true;
}

/* ---- knots ---- */

/* A vertex near a knot. */
typedef struct found_knot {
    uint32_t vertex;
    cloth_knot at;
} found_knot;

typedef struct knot_search {
    abut_cloth *c;
    uint32_t *parent;          /* union-find of vertices: a knot is a root */
    double *range;             /* of each knot; 0 for vertices without a seam */
    uint32_t *queue, *reached; /* vertices within range; the sewn vertex that reached one last */
    abuti_vector found;        /* found_knot */
} knot_search;

/* By vertex, knot and distance. */
static bool belongs_after(const void *a, const void *b) {
    const found_knot *p = a, *q = b;
    if (p->vertex != q->vertex)
        return p->vertex > q->vertex;
    return p->at.knot != q->at.knot ? p->at.knot > q->at.knot : p->at.distance > q->at.distance;
}

/* Joins the vertices of seams, and sets ranges. */
static void join_knots(knot_search *t) {
    const abut_cloth *c = t->c;
    const cloth_seam *seams = c->seams.data;
    for (uint32_t v = 0; v < c->vertices; v++) {
        t->parent[v] = v;
        t->reached[v] = ABUT_NONE;
    }
    for (size_t i = 0; i < c->seams.count; i++)
        abuti_join(t->parent, seams[i].of[0], seams[i].of[1]);
    for (size_t i = 0; i < 2 * c->seams.count; i++) {
        const uint32_t v = seams[i / 2].of[i % 2];
        const cloth_part *part = &c->parts[c->part_of[v]];
        double *range = &t->range[abuti_root(t->parent, v)];
        *range = fmax(*range, fmax(part->rest_range, part->thickness));
    }
}

/* Lists the vertices that are connected with a sewn vertex within the range of its knot. */
static abut_status spread_knot(knot_search *t, uint32_t from) {
    const abut_cloth *c = t->c;
    const cloth_group *g = &c->groups[SHEETS];
    const vec3 *rest = g->mesh->positions;
    const uint32_t knot = abuti_root(t->parent, from);
    uint32_t count = 1;
    t->queue[0] = from;
    t->reached[from] = from;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = t->queue[i];
        found_knot *found = ABUTI_PUSH(c->context, &t->found, found_knot);
        if (!found)
            return ABUT_ERROR_MEMORY;
        *found = (found_knot){.vertex = v,
                              .at = {knot, 0,
                                     cloth_length(v3_sub(rest[v], rest[from])) / t->range[knot]}};
        for (uint32_t k = 3 * g->view.vertex_face_begin[v];
             k < 3 * g->view.vertex_face_begin[v + 1]; k++) {
            const uint32_t u = g->indices[3 * (size_t)g->view.vertex_faces[k / 3] + k % 3];
            if (t->reached[u] == from || !cloth_is_within(rest[u], rest[from], t->range[knot]))
                continue;
            t->reached[u] = from;
            t->queue[count++] = u;
        }
    }
    return ABUT_OK;
}

/* Of several distances of a vertex from a knot, the smallest counts. */
static abut_status store_knots(knot_search *t) {
    abut_cloth *c = t->c;
    found_knot *found = t->found.data;
    abut_status status = ABUTI_ALLOCATE(c->context, ABUTI_ZEROED(c->knot_begin, c->vertices + 1));
    if (!status)
        status = abuti_vector_reserve(c->context, &c->knots, t->found.count, sizeof(cloth_knot));
    if (status)
        return status;
    abuti_sort_items(found, t->found.count, sizeof *found, belongs_after);
    c->knots.count = 0;
    for (size_t i = 0; i < t->found.count; i++)
        if (!i || found[i].vertex != found[i - 1].vertex ||
            found[i].at.knot != found[i - 1].at.knot) {
            ABUTI_AT(&c->knots, cloth_knot, c->knots.count++) = found[i].at;
            c->knot_begin[found[i].vertex + 1]++;
        }
    for (uint32_t v = 0; v < c->vertices; v++)
        c->knot_begin[v + 1] += c->knot_begin[v];
    return ABUT_OK;
}

abut_status abuti_cloth_find_knots(abut_cloth *c) {
    knot_search t = {.c = c};
    abut_status status =
        ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(t.parent, c->vertices),
                       ABUTI_ZEROED(t.range, c->vertices), ABUTI_ARRAY(t.queue, c->vertices),
                       ABUTI_ARRAY(t.reached, c->vertices));
    if (!status)
        join_knots(&t);
    for (size_t i = 0; i < 2 * c->seams.count && !status; i++) {
        const uint32_t v = ABUTI_AT(&c->seams, cloth_seam, i / 2).of[i % 2];
        if (t.reached[v] != v) /* once */
            status = spread_knot(&t, v);
    }
    if (!status)
        status = store_knots(&t);
    ABUTI_RELEASE(c->context, t.parent, t.range, t.queue, t.reached, t.found.data);
    if (status)
        abuti_cloth_release_knots(c);
    return status;
}

void abuti_cloth_release_knots(abut_cloth *c) {
    ABUTI_RELEASE(c->context, c->knot_begin, c->knots.data);
    c->knot_begin = NULL;
    c->knots = (abuti_vector){0};
}
