/* The disk cache of samples, in the folder of the fields of their mesh (Sundholm 2010, section
 * 6.2.6, stores both in one file).
 *
 * There is one file for each mesh and set of options, named by a digest of both: head, samples,
 * edges, and a checksum of everything. It is written to a temporary file, renamed, and never
 * changed. It needs no lock, since two writers would write the same bytes. The cache only saves
 * time, as for fields. A file that is truncated, damaged, of another mesh or other options, or
 * writable by others is reported, and the samples are computed. A correct checksum is not enough:
 * elements that a sample refers to must exist in the mesh, and samples must be in the order of
 * abut_samples_arrays.
 */
#include "contact/samples.h"

#include "base/checksum.h"
#include "base/system.h"

#include <errno.h>

#define MAGIC "\211abuts\r\n"
enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304 };

typedef struct samples_head {
    unsigned char magic[8];
    uint32_t order, version;
    unsigned char mesh[ABUTI_DIGEST_BYTES], key[ABUTI_DIGEST_BYTES];
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

_Static_assert(sizeof(samples_head) == 96 && sizeof(sample_record) == 64 &&
                   sizeof(edge_record) == 80,
               "as in files");

/* The content of a file. */
typedef struct samples_file {
    unsigned char mesh[ABUTI_DIGEST_BYTES], key[ABUTI_DIGEST_BYTES];
    uint32_t count, edge_count;
    double area;
    unsigned char *records; /* the caller releases them */
} samples_file;

/* ---- read ---- */

static abut_status fail_format(const char *path, const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s", path, what);
}

static abut_status read_bytes(abuti_source *source, void *to, size_t bytes) {
    if (abuti_source_read(source, to, bytes) == bytes)
        return ABUT_OK;
    return source->failed ? abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", source->name)
                          : fail_format(source->name, "is damaged: it is truncated");
}

static abut_status check_head(const samples_head *head, const char *path, uint64_t total) {
    if (memcmp(head->magic, MAGIC, sizeof head->magic) != 0)
        return fail_format(path, "is not a cache file of samples");
    if (head->order != BYTE_ORDER_MARK)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written on a machine with the other byte order", path);
    if (head->version > VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written by a newer version of abut (its format is %u, this "
                          "version knows %d)",
                          path, head->version, VERSION);
    uint64_t bytes = sizeof *head + head->count * (uint64_t)sizeof(sample_record) +
                     head->edge_count * (uint64_t)sizeof(edge_record) + sizeof(uint64_t);
    if (bytes != total || bytes > SIZE_MAX)
        return fail_format(path, "is damaged: its length does not match its counts");
    return ABUT_OK;
}

/* On failure there is nothing to release. */
static abut_status read_file(abut_context *context, const char *path, samples_file *file) {
    abuti_source source;
    samples_head head;
    unsigned char *all = NULL;
    abut_status status = abuti_source_open_own(&source, context, path);
    if (status)
        return status;
    const uint64_t total = source.total;
    status = read_bytes(&source, &head, sizeof head);
    status = status ? status : check_head(&head, path, total);
    if (!status && !(all = abuti_allocate(context, (size_t)total, 1)))
        status = ABUT_ERROR_MEMORY;
    if (!status) {
        size_t summed = (size_t)total - sizeof(uint64_t);
        memcpy(all, &head, sizeof head);
        status = read_bytes(&source, all + sizeof head, (size_t)total - sizeof head);
        uint64_t sum = abuti_checksum(all, summed);
        if (!status && memcmp(all + summed, &sum, sizeof sum) != 0)
            status = fail_format(path, "is damaged: its checksum is wrong");
    }
    abuti_source_close(&source);
    if (status) {
        abuti_release(context, all);
        return status;
    }
    memmove(all, all + sizeof head, (size_t)total - sizeof head);
    *file = (samples_file){.count = head.count,
                           .edge_count = head.edge_count,
                           .area = head.area,
                           .records = all};
    memcpy(file->mesh, head.mesh, sizeof file->mesh);
    memcpy(file->key, head.key, sizeof file->key);
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

/* Decodes samples, edges, counts and area of `to` from a file. Fails if they cannot be samples of
 * these kinds of the mesh. */
static abut_status decode_samples(const samples_file *file, const char *path, const abut_mesh *mesh,
                                  uint32_t kinds, abut_samples *to) {
    const unsigned char *at = file->records;
    bool has_edges = kinds & ABUT_SAMPLES_EDGES, valid = has_edges || !file->edge_count;
    abut_sample *samples = abuti_allocate(to->context, file->count, sizeof *samples);
    abut_sample_edge *edges =
        has_edges ? abuti_allocate(to->context, file->edge_count, sizeof *edges) : NULL;
    abut_status status = samples && (edges || !has_edges) ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < file->count && valid && !status; i++, at += sizeof(sample_record)) {
        sample_record s;
        memcpy(&s, at, sizeof s);
        samples[i] = (abut_sample){load_vector(s.point), load_vector(s.normal),
                                   (abut_sample_kind)s.kind, s.element, s.part};
        valid = sample_is_valid(&s, mesh, kinds) && (!i || is_after_previous(&samples[i]));
    }
    for (uint32_t i = 0; i < file->edge_count && valid && !status; i++, at += sizeof(edge_record)) {
        edge_record e;
        memcpy(&e, at, sizeof e);
        edges[i] = (abut_sample_edge){{load_vector(e.ends), load_vector(e.ends + 3)},
                                      load_vector(e.normal),
                                      e.edge};
        valid = edge_is_valid(&e, mesh) && (!i || edges[i].edge > edges[i - 1].edge);
    }
    valid = valid && file->area >= 0;
    if (!status && !valid)
        status = fail_format(path, "is damaged: it contains samples that its mesh cannot have");
    if (status) {
        ABUTI_RELEASE(to->context, samples, edges);
        return status;
    }
    to->samples = samples;
    to->edges = edges;
    to->view.count = file->count;
    to->view.edge_count = file->edge_count;
    to->view.area = file->area;
    return ABUT_OK;
}

static abut_status load_from_cache(const cache_place *place, const abut_mesh *mesh, uint32_t kinds,
                                   abut_samples *to) {
    samples_file file;
    abut_status status = read_file(to->context, place->path, &file);
    if (status)
        return status;
    if (memcmp(file.mesh, place->mesh, sizeof file.mesh) != 0 ||
        memcmp(file.key, place->key, sizeof file.key) != 0)
        status = fail_format(place->path, "belongs to another mesh or other options");
    else
        status = decode_samples(&file, place->path, mesh, kinds, to);
    abuti_release(to->context, file.records);
    return status;
}

abut_status abuti_samples_cache_load(const cache_place *place, const abut_mesh *mesh,
                                     uint32_t kinds, abut_samples *to, bool *found) {
    *found = false;
    if (access(place->path, F_OK) != 0 && errno == ENOENT)
        return ABUT_OK;
    abut_status status = load_from_cache(place, mesh, kinds, to);
    if (status == ABUT_ERROR_MEMORY || status == ABUT_ERROR_CANCELLED)
        return status;
    *found = !status;
    if (status)
        abuti_log(to->context, ABUT_LOG_WARNING,
                  "the samples are computed, since the cache file is unusable: %s",
                  abut_last_error());
    else
        abuti_system_touch(place->path); /* marks it as recently used */
    return ABUT_OK;
}

/* ---- write ---- */

static void store_vector(double *to, vec3 v) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

/* Writes the whole file except its checksum to memory. */
static void encode_samples(const cache_place *place, const abut_samples *samples,
                           unsigned char *to) {
    const abut_samples_arrays *view = &samples->view;
    samples_head head = {.order = BYTE_ORDER_MARK,
                         .version = VERSION,
                         .count = view->count,
                         .edge_count = view->edge_count,
                         .area = view->area};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    memcpy(head.mesh, place->mesh, sizeof head.mesh);
    memcpy(head.key, place->key, sizeof head.key);
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
}

static abut_status write_file(const cache_place *place, const abut_samples *samples) {
    abuti_sink sink;
    size_t bytes = sizeof(samples_head) + samples->view.count * sizeof(sample_record) +
                   samples->view.edge_count * sizeof(edge_record);
    unsigned char *all = abuti_allocate(samples->context, bytes, 1);
    abut_status status =
        all ? abuti_sink_open_own(&sink, samples->context, place->path) : ABUT_ERROR_MEMORY;
    if (!status) {
        encode_samples(place, samples, all);
        uint64_t sum = abuti_checksum(all, bytes);
        abuti_sink_write(&sink, all, bytes);
        abuti_sink_write(&sink, &sum, sizeof sum);
        status = abuti_sink_commit(&sink);
    }
    abuti_release(samples->context, all);
    return status;
}

void abuti_samples_cache_store(const cache_place *place, const abut_samples *samples) {
    if (write_file(place, samples))
        abuti_log(samples->context, ABUT_LOG_WARNING,
                  "the samples could not be written to the cache: %s", abut_last_error());
}

/* ---- list and clear ---- */

static abut_status list_file(const cache_names *files, const char *name,
                             abut_samples_cache_visit *visit, void *user, bool *more) {
    char path[CACHE_PATH_BYTES + CACHE_NAME_BYTES], problem[1024];
    samples_file file;
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", files->folder, name);
    if (abuti_system_stat(ABUTI_NO_FOLDER, path, &about) != 0)
        return ABUT_OK; /* removed by another process */
    abut_samples_cache_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.size = sizeof entry;
    entry.path = path;
    entry.age = abuti_system_age(&about);
    entry.stored_bytes = (uint64_t)about.st_size;
    abut_status status = read_file(files->context, path, &file);
    if (status == ABUT_ERROR_MEMORY)
        return status;
    if (status) {
        snprintf(problem, sizeof problem, "%s", abut_last_error());
        entry.problem = problem;
    } else {
        abuti_folder_name(file.mesh, entry.mesh);
        entry.count = file.count;
        entry.edge_count = file.edge_count;
        abuti_release(files->context, file.records);
    }
    *more = visit(user, &entry);
    return ABUT_OK;
}

abut_status abut_samples_cache_list(abut_context *context, const char *folder,
                                    abut_samples_cache_visit *visit, void *user) {
    cache_names files;
    bool more = true;
    if (!visit)
        return abuti_null(__func__, "visit");
    abut_status status =
        abuti_cache_names(__func__, abuti_context_of(context), folder, SAMPLES_SUFFIX, &files);
    for (size_t i = 0; i < files.count && !status && more; i++)
        status = list_file(&files, files.names[i], visit, user, &more);
    abuti_release(files.context, files.names);
    return status;
}

abut_status abut_samples_cache_clear(abut_context *context, const char *folder, double age,
                                     uint64_t *files, uint64_t *bytes) {
    (void)context;
    return abuti_cache_clear(__func__, folder, SAMPLES_SUFFIX, age, files, bytes);
}
