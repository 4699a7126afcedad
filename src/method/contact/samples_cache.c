/* Samples in the disk cache (base/cache.h), in the folder of the fields of their mesh (Sundholm
 * 2010, section 6.2.6, stores both in one file).
 *
 * There is one file for each mesh and set of options: a head, samples and edges. A correct checksum
 * is not enough: elements that a sample refers to must exist in the mesh, and samples must be in
 * the order of abut_samples_arrays.
 */
#include "contact/samples.h"

typedef struct samples_head {
    unsigned char mesh[ABUTI_DIGEST_BYTES];
    uint32_t count, edge_count;
    double area;
} samples_head;

typedef struct sample_record {
    double point[3], normal[3];
    uint32_t kind, element, part, zero;
} sample_record;

typedef struct edge_record {
    double ends[6], normal[3];
    uint32_t edge, zero;
} edge_record;

_Static_assert(sizeof(samples_head) == 48 && sizeof(sample_record) == 64 &&
                   sizeof(edge_record) == 80,
               "as in files");

/* ---- read ---- */

/* Loads an entry whose size matches its counts. The caller releases *head, which the records
 * follow. */
static abut_status load_entry(abut_context *context, const abuti_cache_entry *entry,
                              samples_head **head) {
    unsigned char *data;
    size_t bytes;
    abut_status status = abuti_cache_load(context, entry, &data, &bytes);
    if (status)
        return status;
    samples_head *made = (samples_head *)(void *)data;
    if (bytes < sizeof *made ||
        bytes - sizeof *made != made->count * (uint64_t)sizeof(sample_record) +
                                    made->edge_count * (uint64_t)sizeof(edge_record)) {
        abuti_release(context, data);
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: is damaged: its length does not match its counts",
                          entry->path);
    }
    *head = made;
    return ABUT_OK;
}

static vec3 load_vector(const double *from) {
    return v3(from[0], from[1], from[2]);
}

/* Whether all numbers are at most `max` in magnitude. NaN is not. */
static bool all_within(const double *numbers, int count, double max) {
    for (int i = 0; i < count; i++)
        if (!(numbers[i] >= -max && numbers[i] <= max))
            return false;
    return true;
}

/* Of coordinates: points on an edge or face may leave its bounding box by rounding errors. */
#define MAX_COORDINATE (2 * ABUT_COORDINATE_MAX)
#define MAX_NORMAL_LENGTH 1.001

static bool sample_is_valid(const sample_record *s, const abut_mesh *mesh, uint32_t kinds) {
    const uint64_t corners = 3 * (uint64_t)mesh->triangle_count;
    const uint64_t element_count[] = {mesh->vertex_count, corners, mesh->triangle_count,
                                      mesh->triangle_count};
    return s->kind <= ABUT_SAMPLE_SURFACE && kinds >> s->kind & 1 &&
           s->element < element_count[s->kind] && s->zero == 0 &&
           all_within(s->point, 3, MAX_COORDINATE) && all_within(s->normal, 3, MAX_NORMAL_LENGTH);
}

static bool edge_is_valid(const edge_record *e, const abut_mesh *mesh) {
    return e->edge < 3 * (uint64_t)mesh->triangle_count && e->zero == 0 &&
           all_within(e->ends, 6, MAX_COORDINATE) && all_within(e->normal, 3, MAX_NORMAL_LENGTH);
}

/* Whether a sample is greater than its predecessor. */
static bool is_after_previous(const abut_sample *s) {
    const abut_sample *before = s - 1;
    if (s->kind != before->kind)
        return s->kind > before->kind;
    return s->element > before->element ||
           (s->element == before->element && s->part > before->part);
}

/* Decodes samples, edges, counts and area of `to` from an entry. Fails if they cannot be samples of
 * these kinds of the mesh. */
static abut_status decode_samples(const samples_head *head, const char *path, const abut_mesh *mesh,
                                  uint32_t kinds, abut_samples *to) {
    const unsigned char *at = (const unsigned char *)(head + 1);
    bool has_edges = kinds & ABUT_SAMPLES_EDGES, valid = has_edges || !head->edge_count;
    abut_sample *samples = abuti_allocate(to->context, head->count, sizeof *samples);
    abut_sample_edge *edges =
        has_edges ? abuti_allocate(to->context, head->edge_count, sizeof *edges) : NULL;
    abut_status status = samples && (edges || !has_edges) ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < head->count && valid && !status; i++, at += sizeof(sample_record)) {
        sample_record s;
        memcpy(&s, at, sizeof s);
        samples[i] = (abut_sample){load_vector(s.point), load_vector(s.normal),
                                   (abut_sample_kind)s.kind, s.element, s.part};
        valid = sample_is_valid(&s, mesh, kinds) && (!i || is_after_previous(&samples[i]));
    }
    for (uint32_t i = 0; i < head->edge_count && valid && !status; i++, at += sizeof(edge_record)) {
        edge_record e;
        memcpy(&e, at, sizeof e);
        edges[i] = (abut_sample_edge){{load_vector(e.ends), load_vector(e.ends + 3)},
                                      load_vector(e.normal),
                                      e.edge};
        valid = edge_is_valid(&e, mesh) && (!i || edges[i].edge > edges[i - 1].edge);
    }
    valid = valid && head->area >= 0;
    if (!status && !valid)
        status = abuti_fail(ABUT_ERROR_FORMAT,
                            "%s: is damaged: it contains samples that its mesh cannot have", path);
    if (status) {
        ABUTI_RELEASE(to->context, samples, edges);
        return status;
    }
    to->samples = samples;
    to->edges = edges;
    to->view.count = head->count;
    to->view.edge_count = head->edge_count;
    to->view.area = head->area;
    return ABUT_OK;
}

abut_status abuti_samples_cache_load(const abuti_cache_entry *entry, const abut_mesh *mesh,
                                     uint32_t kinds, abut_samples *to, bool *found) {
    samples_head *head = NULL;
    *found = false;
    if (!abuti_cache_exists(entry))
        return ABUT_OK;
    abut_status status = load_entry(to->context, entry, &head);
    if (!status)
        status = decode_samples(head, entry->path, mesh, kinds, to);
    abuti_release(to->context, head);
    *found = !status;
    return abuti_cache_end(to->context, entry, status);
}

/* ---- write ---- */

static void store_vector(double *to, vec3 v) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

void abuti_samples_cache_store(const abuti_cache_entry *entry,
                               const unsigned char mesh[ABUTI_DIGEST_BYTES],
                               const abut_samples *samples) {
    const abut_samples_arrays *view = &samples->view;
    samples_head head = {.count = view->count, .edge_count = view->edge_count, .area = view->area};
    const size_t bytes =
        sizeof head + view->count * sizeof(sample_record) + view->edge_count * sizeof(edge_record);
    unsigned char *all = abuti_allocate(samples->context, bytes, 1), *to = all;
    if (!all)
        return;
    memcpy(head.mesh, mesh, sizeof head.mesh);
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (uint32_t i = 0; i < view->count; i++, to += sizeof(sample_record)) {
        const abut_sample *from = &samples->samples[i];
        sample_record s = {.kind = from->kind, .element = from->element, .part = from->part};
        store_vector(s.point, from->point);
        store_vector(s.normal, from->normal);
        memcpy(to, &s, sizeof s);
    }
    for (uint32_t i = 0; i < view->edge_count; i++, to += sizeof(edge_record)) {
        const abut_sample_edge *from = &samples->edges[i];
        edge_record e = {.edge = from->edge};
        store_vector(e.ends, from->end[0]);
        store_vector(e.ends + 3, from->end[1]);
        store_vector(e.normal, from->normal);
        memcpy(to, &e, sizeof e);
    }
    abuti_cache_store(samples->context, entry, all, bytes);
    abuti_release(samples->context, all);
}

/* ---- list and clear ---- */

typedef struct listing {
    abut_context *context;
    abut_samples_cache_visit *visit;
    void *user;
} listing;

static abut_status list_entry(void *user, const abuti_cache_file *file, bool *more) {
    const listing *l = user;
    char problem[1024];
    samples_head *head = NULL;
    abut_samples_cache_entry entry;
    memset(&entry, 0, sizeof entry);
    abut_status status = load_entry(l->context, &file->entry, &head);
    if (status == ABUT_ERROR_MEMORY)
        return status;
    entry.size = sizeof entry;
    entry.path = file->entry.path;
    entry.age = file->age;
    entry.stored_bytes = file->bytes;
    if (status) {
        snprintf(problem, sizeof problem, "%s", abut_last_error());
        entry.problem = problem;
    } else {
        abuti_folder_name(head->mesh, entry.mesh);
        entry.count = head->count;
        entry.edge_count = head->edge_count;
        abuti_release(l->context, head);
    }
    *more = l->visit(l->user, &entry);
    return ABUT_OK;
}

abut_status abut_samples_cache_list(abut_context *context, const char *folder,
                                    abut_samples_cache_visit *visit, void *user) {
    listing l = {abuti_context_of(context), visit, user};
    if (!visit)
        return abuti_null(__func__, "visit");
    return abuti_cache_list(__func__, l.context, &abuti_cache_samples, folder, list_entry, &l);
}

abut_status abut_samples_cache_clear(abut_context *context, const char *folder, double age,
                                     uint64_t *files, uint64_t *bytes) {
    return abuti_cache_clear(__func__, abuti_context_of(context), &abuti_cache_samples, folder, age,
                             files, bytes);
}
