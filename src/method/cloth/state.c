/* Saved states of a cloth: abut_cloth_save() and abut_cloth_restore().
 *
 * A state has what the next steps depend on and the cloth does not derive from its sheets and
 * bodies: positions, velocities, where bodies should be, attachments, seams and the wind. A digest
 * of the options, and of each sheet and body, lets a cloth with others reject it.
 *
 *     head, digests, velocities, targets of bodies, holds, seams, positions and goals as floats,
 *     checksum
 *
 * The checksum detects damage. Forged bytes can only choose numbers within the range that callers
 * can also pass, and the next step tests that the start has no intersections.
 */
#include "cloth/state.h"

#include "base/checksum.h"
#include "cloth/cloth.h"

#include <float.h>

#define MAGIC "\211abuts\r\n"
enum { VERSION = 2, ORDER = 0x01020304, CHECKSUM_BYTES = sizeof(uint64_t) };

/* An attachment, with its target at the start and end of the next step; see cloth_hold. */
typedef struct hold_record {
    uint32_t vertex, triangle;
    double weight[3], offset, compliance;
    vec3 given[2];
} hold_record;

/* A seam; see cloth_seam. */
typedef struct seam_record {
    uint32_t vertex[2];
    double rest, compliance, speed;
} seam_record;

typedef struct point_record {
    float x, y, z;
} point_record;

_Static_assert(sizeof(cloth_state_head) == 104 && sizeof(hold_record) == 96 &&
                   sizeof(seam_record) == 32 && sizeof(point_record) == 12,
               "layout in states");

/* ---- digests ---- */

static uint64_t digest_options(const abut_cloth *c) {
    const abut_cloth_options *o = &c->options;
    const double numbers[] = {o->gravity.x,
                              o->gravity.y,
                              o->gravity.z,
                              o->drag,
                              (double)o->substeps,
                              (double)o->ignore_self,
                              (double)o->body_may_lag,
                              (double)(c->radial != NULL)};
    return abuti_checksum(numbers, sizeof numbers);
}

/* Digest of a sheet or body; 0 for a free index. Steps depend on the rest shape of a sheet. Of a
 * body they depend only on its triangles and its friction. */
static uint64_t digest_item(const abut_cloth *c, int group, uint64_t index) {
    if (index >= cloth_count_of(c, group) || !cloth_item_of(c, group, (uint32_t)index)->mesh)
        return 0;
    const cloth_item *item = cloth_item_of(c, group, (uint32_t)index);
    const abut_mesh *mesh = item->mesh;
    const abut_cloth_material *m = &item->material;
    const uint64_t indices =
        abuti_checksum(mesh->indices, 3 * (size_t)mesh->triangle_count * sizeof *mesh->indices);
    const uint64_t positions =
        group == BODIES
            ? 0
            : abuti_checksum(mesh->positions, mesh->vertex_count * sizeof *mesh->positions);
    const vec3 origin = group == BODIES ? v3(0, 0, 0) : mesh->origin;
    const uint64_t shape[] = {(uint64_t)group + 1, mesh->vertex_count, mesh->triangle_count,
                              indices, positions};
    const double values[] = {origin.x,    origin.y,     origin.z,    m->stretch,
                             m->shear,    m->bend,      m->density,  m->damping,
                             m->pressure, m->thickness, m->friction, item->options.friction};
    const uint64_t both[2] = {abuti_checksum(shape, sizeof shape),
                              abuti_checksum(values, sizeof values)};
    return abuti_checksum(both, sizeof both);
}

/* ---- save ---- */

static uint64_t item_count(const cloth_state_head *head) {
    return head->item_counts[SHEETS] + head->item_counts[BODIES];
}

static uint64_t point_count(const cloth_state_head *head) {
    return head->vertices + head->body_vertices + head->goal_count;
}

static size_t state_bytes(const cloth_state_head *head) {
    return sizeof *head + (size_t)item_count(head) * sizeof(uint64_t) +
           (size_t)(head->vertices + head->body_vertices) * sizeof(vec3) +
           (size_t)head->hold_count * sizeof(hold_record) +
           (size_t)head->seam_count * sizeof(seam_record) +
           (size_t)point_count(head) * sizeof(point_record) + CHECKSUM_BYTES;
}

static cloth_state_head make_head(const abut_cloth *c) {
    cloth_state_head head = {.magic = {0},
                             .order = ORDER,
                             .version = VERSION,
                             .options = digest_options(c),
                             .item_counts = {cloth_count_of(c, SHEETS), cloth_count_of(c, BODIES)},
                             .vertices = c->vertices,
                             .body_vertices = c->all_vertices - c->vertices,
                             .goal_count = c->goal ? c->all_vertices - c->vertices : 0,
                             .hold_count = c->holds.count,
                             .seam_count = c->seams.count,
                             .wind = c->options.wind};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    return head;
}

static unsigned char *append_bytes(unsigned char *to, const void *from, size_t bytes) {
    if (bytes)
        memcpy(to, from, bytes);
    return to + bytes;
}

static unsigned char *append_digests(unsigned char *to, const abut_cloth *c) {
    for (int group = 0; group < 2; group++)
        for (uint32_t i = 0; i < cloth_count_of(c, group); i++) {
            const uint64_t digest = digest_item(c, group, i);
            to = append_bytes(to, &digest, sizeof digest);
        }
    return to;
}

static unsigned char *append_holds(unsigned char *to, const abut_cloth *c) {
    for (size_t h = 0; h < c->holds.count; h++) {
        const cloth_hold *hold = &ABUTI_AT(&c->holds, cloth_hold, h);
        hold_record record = {.vertex = hold->vertex,
                              .triangle = hold->triangle,
                              .offset = hold->offset,
                              .compliance = hold->compliance};
        memcpy(record.weight, hold->weight, sizeof record.weight);
        for (size_t k = 0; k < 2; k++)
            record.given[k] = ABUTI_AT(&c->given, vec3, 2 * h + k);
        to = append_bytes(to, &record, sizeof record);
    }
    return to;
}

static unsigned char *append_seams(unsigned char *to, const abut_cloth *c) {
    for (size_t i = 0; i < c->seams.count; i++) {
        const cloth_seam *seam = &ABUTI_AT(&c->seams, cloth_seam, i);
        const seam_record record = {{seam->of[0], seam->of[1]},
                                    seam->rest,
                                    seam->compliance,
                                    seam->speed};
        to = append_bytes(to, &record, sizeof record);
    }
    return to;
}

/* Positions and goals are floats. */
static unsigned char *append_points(unsigned char *to, const vec3 *points, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const point_record p = {(float)points[i].x, (float)points[i].y, (float)points[i].z};
        to = append_bytes(to, &p, sizeof p);
    }
    return to;
}

abut_status abuti_cloth_measure_state(abut_cloth *c, size_t *bytes) {
    abut_status status = cloth_open_all(c);
    if (status)
        return status;
    const cloth_state_head head = make_head(c);
    *bytes = state_bytes(&head);
    return ABUT_OK;
}

void abuti_cloth_write_state(const abut_cloth *c, void *bytes) {
    const cloth_state_head head = make_head(c);
    unsigned char *to = append_bytes(bytes, &head, sizeof head);
    to = append_digests(to, c);
    to = append_bytes(to, c->velocity, c->vertices * sizeof *c->velocity);
    to = append_bytes(to, c->target, (size_t)head.body_vertices * sizeof *c->target);
    to = append_holds(to, c);
    to = append_seams(to, c);
    to = append_points(to, c->position, c->all_vertices);
    to = append_points(to, c->goal, (size_t)head.goal_count);
    const uint64_t sum = abuti_checksum(bytes, state_bytes(&head) - CHECKSUM_BYTES);
    append_bytes(to, &sum, sizeof sum);
}

abut_status abut_cloth_save(abut_cloth *cloth, abut_byte_list *bytes) {
    size_t count = 0;
    if (!cloth)
        return abuti_null(__func__, "cloth");
    abut_status status = ABUTI_LIST_CHECK(__func__, "bytes", bytes);
    if (!status)
        status = abuti_cloth_measure_state(cloth, &count);
    if (!status)
        status = ABUTI_LIST_COUNT(__func__, "bytes", bytes, count);
    if (!status)
        abuti_cloth_write_state(cloth, bytes->list);
    return status;
}

/* ---- reading ---- */

static abut_status fail_damaged(const char *function, const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: the state %s", function, what);
}

static abut_status read_head(const unsigned char *bytes, size_t count, cloth_saved_state *state) {
    cloth_state_head *head = &state->head;
    uint64_t sum;
    if (count < sizeof *head + CHECKSUM_BYTES || memcmp(bytes, MAGIC, sizeof head->magic) != 0)
        return fail_damaged(state->function,
                            "is not the state of a cloth, or is damaged: its header is wrong");
    memcpy(head, bytes, sizeof *head);
    if (head->order != ORDER)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: the state was saved on a machine with the other byte order",
                          state->function);
    if (head->version != VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: the state was written by another version of abut (its format is "
                          "%u, this version reads %d)",
                          state->function, head->version, VERSION);
    /* Each element takes bytes, so that larger counts are damage, and sums do not overflow. */
    const uint64_t counts[] = {
        head->item_counts[SHEETS], head->item_counts[BODIES], head->vertices,  head->body_vertices,
        head->goal_count,          head->hold_count,          head->seam_count};
    bool is_sane = count <= SIZE_MAX / 1024;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        is_sane &= counts[i] <= count;
    if (!is_sane || state_bytes(head) != count)
        return fail_damaged(state->function, "is damaged: its length is wrong");
    memcpy(&sum, bytes + count - CHECKSUM_BYTES, sizeof sum);
    return sum == abuti_checksum(bytes, count - CHECKSUM_BYTES)
               ? ABUT_OK
               : fail_damaged(state->function, "is damaged: it fails its checksum");
}

static void find_parts(const unsigned char *bytes, cloth_saved_state *state) {
    const cloth_state_head *head = &state->head;
    state->digests = bytes + sizeof *head;
    state->velocities = state->digests + item_count(head) * sizeof(uint64_t);
    state->targets = state->velocities + head->vertices * sizeof(vec3);
    state->holds = state->targets + head->body_vertices * sizeof(vec3);
    state->seams = state->holds + head->hold_count * sizeof(hold_record);
    state->points = state->seams + head->seam_count * sizeof(seam_record);
}

static hold_record read_hold(const cloth_saved_state *state, size_t h) {
    hold_record record;
    memcpy(&record, state->holds + h * sizeof record, sizeof record);
    return record;
}

static cloth_seam read_seam(const cloth_saved_state *state, size_t i) {
    seam_record record;
    memcpy(&record, state->seams + i * sizeof record, sizeof record);
    return (cloth_seam){.vertex = {record.vertex[0], record.vertex[1]},
                        .of = {record.vertex[0], record.vertex[1]},
                        .rest = record.rest,
                        .compliance = record.compliance,
                        .speed = record.speed};
}

static vec3 read_point(const cloth_saved_state *state, size_t i) {
    point_record p;
    memcpy(&p, state->points + i * sizeof p, sizeof p);
    return v3((double)p.x, (double)p.y, (double)p.z);
}

/* ---- validation ---- */

/* Whether the state belongs to a cloth with these sheets and bodies. */
static abut_status check_items(const abut_cloth *c, const cloth_saved_state *state) {
    static const char *const names[2] = {"sheet", "body"};
    const unsigned char *from = state->digests;
    for (int group = 0; group < 2; group++) {
        const uint64_t saved_count = state->head.item_counts[group],
                       count = cloth_count_of(c, group);
        for (uint64_t i = 0; i < saved_count || i < count; i++) {
            uint64_t saved = 0;
            if (i < saved_count)
                memcpy(&saved, from + i * sizeof saved, sizeof saved);
            const uint64_t now = digest_item(c, group, i);
            if (saved != now)
                return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s %llu %s", state->function,
                                  names[group], (unsigned long long)i,
                                  !now     ? "is missing; add the sheets and bodies of the cloth "
                                             "that was saved"
                                  : !saved ? "is not in the state; it was saved without it"
                                  : group ? "is not as it was saved: its triangles or its friction "
                                            "differ"
                                          : "is not as it was saved: its mesh or its material "
                                            "differ");
        }
        from += saved_count * sizeof(uint64_t);
    }
    return ABUT_OK;
}

static abut_status check_cloth(const abut_cloth *c, const cloth_saved_state *state) {
    const cloth_state_head *head = &state->head;
    if (head->options != digest_options(c))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the cloth has other options than the saved one",
                          state->function);
    abut_status status = check_items(c, state);
    if (status)
        return status;
    const uint64_t body_vertices = c->all_vertices - c->vertices;
    return head->vertices == c->vertices && head->body_vertices == body_vertices &&
                   head->goal_count == (c->goal ? body_vertices : 0)
               ? ABUT_OK
               : fail_damaged(state->function,
                              "is damaged: it has another number of vertices than its sheets and "
                              "bodies");
}

static bool are_within(const unsigned char *numbers, size_t count, double limit) {
    for (size_t i = 0; i < count; i++) {
        double number;
        memcpy(&number, numbers + i * sizeof number, sizeof number);
        if (!(fabs(number) <= limit))
            return false;
    }
    return true;
}

static abut_status check_numbers(const cloth_saved_state *state) {
    const cloth_state_head *head = &state->head;
    const double wind[3] = {head->wind.x, head->wind.y, head->wind.z};
    if (!are_within((const unsigned char *)wind, 3, CLOTH_VALUE_MAX) ||
        !are_within(state->velocities, 3 * (size_t)head->vertices, DBL_MAX))
        return fail_damaged(state->function, "is damaged: a velocity is not finite");
    bool are_near =
        are_within(state->targets, 3 * (size_t)head->body_vertices, ABUT_CLOTH_COORDINATE_MAX);
    for (size_t i = 0; i < point_count(head); i++)
        are_near &= cloth_is_near(read_point(state, i));
    return are_near ? ABUT_OK
                    : fail_damaged(state->function,
                                   "is damaged: a position is not finite or out of range");
}

static bool hold_is_valid(const abut_cloth *c, const hold_record *h) {
    if (h->vertex >= c->vertices || !(h->compliance >= 0) || !cloth_is_near(h->given[0]) ||
        !cloth_is_near(h->given[1]))
        return false;
    if (h->triangle == ABUT_NONE)
        return true;
    return h->triangle < c->groups[BODIES].triangles &&
           abuti_cloth_weights_are_valid(h->weight, h->offset);
}

/* Each vertex has at most one attachment. */
static abut_status check_holds(const abut_cloth *c, const cloth_saved_state *state) {
    const size_t count = (size_t)state->head.hold_count;
    unsigned char *seen = abuti_allocate_zeroed(c->context, c->vertices, 1);
    if (!seen)
        return ABUT_ERROR_MEMORY;
    bool is_valid = true;
    for (size_t h = 0; h < count && is_valid; h++) {
        const hold_record record = read_hold(state, h);
        is_valid = hold_is_valid(c, &record) && !seen[record.vertex]++;
    }
    abuti_release(c->context, seen);
    return is_valid ? ABUT_OK
                    : fail_damaged(state->function, "is damaged: it has an invalid attachment");
}

/* Seams are ordered, so that two are enough to find one that is there twice. */
static abut_status check_seams(const abut_cloth *c, const cloth_saved_state *state) {
    const size_t count = (size_t)state->head.seam_count;
    bool is_valid = true;
    for (size_t i = 0; i < count && is_valid; i++) {
        const cloth_seam both[2] = {read_seam(state, i ? i - 1 : 0), read_seam(state, i)};
        is_valid = abuti_cloth_seams_are_valid(c, i ? both : both + 1, i ? 2 : 1);
    }
    return is_valid ? ABUT_OK : fail_damaged(state->function, "is damaged: it has an invalid seam");
}

/* ---- restore ---- */

static void set_points(abut_cloth *c, const cloth_saved_state *state) {
    const cloth_state_head *head = &state->head;
    for (size_t i = 0; i < c->all_vertices; i++)
        c->position[i] = c->aim[i] = read_point(state, i);
    for (size_t i = 0; i < head->goal_count; i++)
        c->goal[i] = read_point(state, c->all_vertices + i);
    if (head->vertices)
        memcpy(c->velocity, state->velocities, c->vertices * sizeof *c->velocity);
    if (head->body_vertices)
        memcpy(c->target, state->targets, (size_t)head->body_vertices * sizeof *c->target);
    c->options.wind = head->wind;
}

/* `holds` and `given` have the capacity. */
static void set_holds(abut_cloth *c, const cloth_saved_state *state) {
    abuti_cloth_drop_all_holds(c);
    c->holds.count = (size_t)state->head.hold_count;
    c->given.count = 2 * c->holds.count;
    for (size_t h = 0; h < c->holds.count; h++) {
        const hold_record record = read_hold(state, h);
        cloth_hold hold = {.vertex = record.vertex,
                           .triangle = record.triangle,
                           .offset = record.offset,
                           .compliance = record.compliance,
                           .mass = c->mass[record.vertex]};
        memcpy(hold.weight, record.weight, sizeof hold.weight);
        ABUTI_AT(&c->holds, cloth_hold, h) = hold;
        for (size_t k = 0; k < 2; k++)
            ABUTI_AT(&c->given, vec3, 2 * h + k) = record.given[k];
        c->held_of[hold.vertex] = (uint32_t)h;
        if (!(hold.compliance > 0))
            c->inverse_mass[hold.vertex] = 0;
    }
}

/* `seams` has the capacity. */
static void set_seams(abut_cloth *c, const cloth_saved_state *state) {
    bool is_same = c->seams.count == state->head.seam_count;
    c->seams.count = (size_t)state->head.seam_count;
    for (size_t i = 0; i < c->seams.count; i++) {
        cloth_seam *to = &ABUTI_AT(&c->seams, cloth_seam, i);
        const cloth_seam seam = read_seam(state, i);
        is_same = is_same && !memcmp(&seam, to, sizeof seam);
        *to = seam;
    }
    if (!is_same)
        abuti_cloth_unprepare(c);
}

/* The next step checks the start, and the back end gets the new state. */
static void forget_last_step(abut_cloth *c) {
    for (uint32_t i = 0; i < cloth_count_of(c, BODIES); i++) {
        cloth_item *body = cloth_item_of(c, BODIES, i);
        body->impulse = body->moment = body->centre = v3(0, 0, 0);
    }
    for (int group = 0; group < 2; group++)
        c->groups[group].moved++;
    c->backend->release(c);
    c->is_prepared = c->is_checked = false;
}

abut_status abuti_cloth_read_state(const char *function, abut_cloth *c, const void *bytes,
                                   size_t count, cloth_saved_state *state) {
    state->function = function;
    abut_status status = read_head(bytes, count, state);
    if (status)
        return status;
    find_parts(bytes, state);
    const size_t holds = (size_t)state->head.hold_count, seams = (size_t)state->head.seam_count;
    if ((status = cloth_open_all(c)) || (status = check_cloth(c, state)) ||
        (status = check_numbers(state)) || (status = check_holds(c, state)) ||
        (status = check_seams(c, state)) ||
        (status = abuti_vector_reserve(c->context, &c->holds, holds, sizeof(cloth_hold))) ||
        (status = abuti_vector_reserve(c->context, &c->seams, seams, sizeof(cloth_seam))))
        return status;
    return abuti_vector_reserve(c->context, &c->given, 2 * holds, sizeof(vec3));
}

void abuti_cloth_state_positions(const abut_cloth *c, const cloth_saved_state *state,
                                 uint32_t sheet, vec3 *to) {
    const cloth_item *item = cloth_item_of(c, SHEETS, sheet);
    for (size_t i = 0; i < item->mesh->vertex_count; i++)
        to[i] = read_point(state, item->vertex + i);
}

void abuti_cloth_set_state(abut_cloth *c, const cloth_saved_state *state) {
    set_points(c, state);
    set_holds(c, state);
    set_seams(c, state);
    forget_last_step(c);
}

abut_status abut_cloth_restore(abut_cloth *cloth, const void *state, size_t bytes) {
    cloth_saved_state read;
    if (!cloth || !state)
        return abuti_null(__func__, cloth ? "state" : "cloth");
    abut_status status = abuti_cloth_read_state(__func__, cloth, state, bytes, &read);
    if (!status)
        abuti_cloth_set_state(cloth, &read);
    return status;
}
