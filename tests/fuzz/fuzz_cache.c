/* Any bytes as a file of the disk cache: of a field, of samples or of a program. No invalid field
 * and no samples that the mesh cannot have may be read, and storing gives a valid file again. */
#include "apps/get.h"
#include "fuzz.h"

#include "base/checksum.h"
#include "contact/samples.h"

#include <sys/stat.h>

enum { HEAD = 72, SAMPLES_HEAD = 48, SAMPLE = 64, EDGE = 80, KINDS = 7, FILE_BYTES_MAX = 8192 };

/* The first byte of the input. */
enum { REPAIR = 1, CHANGE = 2, STORE = 4, SAMPLES = 8, PROGRAM = 16 };

static abut_mesh *mesh;
static abut_field *field;

/* The entry whose key is all zeros. */
static abuti_cache_entry entry_of(uint8_t choice) {
    abuti_cache_entry entry = {.kind = choice & PROGRAM   ? &abuti_cache_programs
                                       : choice & SAMPLES ? &abuti_cache_samples
                                                          : &abuti_cache_fields};
    snprintf(entry.path, sizeof entry.path, "%s", fuzz_path());
    return entry;
}

/* Repairs marks, sizes and checksums; otherwise only the first bytes would ever be read. */
static void repair(uint8_t *file, size_t bytes, uint8_t choice) {
    const uint32_t kind = entry_of(choice).kind->number;
    if (bytes < HEAD + 8)
        return;
    const uint64_t content = bytes - HEAD;
    memcpy(file, "\211abutc\r\n\4\3\2\1\2\0\0", 16);
    memcpy(file + 16, &kind, sizeof kind);
    memset(file + 20, 0, HEAD - 20);
    memcpy(file + 56, &content, sizeof content);
    uint64_t sum = abuti_checksum(file, HEAD - 8);
    memcpy(file + HEAD - 8, &sum, sizeof sum);
    if (!(choice & (SAMPLES | PROGRAM)))
        return;
    if (choice & SAMPLES && bytes >= HEAD + SAMPLES_HEAD + 8) {
        uint32_t edges, count;
        const size_t records = bytes - HEAD - SAMPLES_HEAD - 8;
        memcpy(&edges, file + HEAD + 36, sizeof edges);
        edges %= 4;
        if (edges * EDGE <= records) {
            count = (uint32_t)((records - edges * EDGE) / SAMPLE);
            memcpy(file + HEAD + 32, &count, sizeof count);
            memcpy(file + HEAD + 36, &edges, sizeof edges);
        }
    }
    sum = abuti_checksum(file + HEAD, bytes - HEAD - 8);
    memcpy(file + bytes - 8, &sum, sizeof sum);
}

static bool read_field(const abuti_cache_entry *entry) {
    abuti_source source;
    abut_field_info info;
    abut_field *read = NULL;
    unsigned char digest[ABUTI_DIGEST_BYTES];
    abut_status status = abuti_cache_open(fuzz_context(), entry, &source);
    if (!status) {
        abut_status seen = abuti_field_restore_info(&source, entry->path, &info, digest);
        abuti_source_close(&source);
        FUZZ_CHECK(abuti_cache_open(fuzz_context(), entry, &source) == ABUT_OK);
        status = abuti_field_restore(&source, entry->path, &read);
        abuti_source_close(&source);
        FUZZ_CHECK(!status == (read != NULL) && (!seen || status));
    }
    FUZZ_CHECK(!status || status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED ||
               status == ABUT_ERROR_LIMIT);
    if (read)
        FUZZ_CHECK(info.bytes == get_field_info(read).bytes);
    abut_field_destroy(read);
    return !status;
}

static bool read_samples(const abuti_cache_entry *entry) {
    const uint32_t triangles = mesh->triangle_count;
    abut_samples read = {.context = mesh->context};
    bool found;
    FUZZ_CHECK(!abuti_samples_cache_load(entry, mesh, KINDS, &read, &found));
    FUZZ_CHECK(found || (!read.samples && !read.edges));
    for (uint32_t i = 0; i < read.view.count; i++) {
        const abut_sample *at = &read.samples[i];
        FUZZ_CHECK(at->kind < ABUT_SAMPLE_SURFACE);
        FUZZ_CHECK(at->element < (at->kind == ABUT_SAMPLE_VERTEX ? mesh->vertex_count
                                  : at->kind == ABUT_SAMPLE_EDGE ? 3 * triangles
                                                                 : triangles));
        FUZZ_CHECK(v3_max_abs(at->point) <= 1e91 && v3_max_abs(at->normal) < 2);
    }
    for (uint32_t i = 0; i < read.view.edge_count; i++)
        FUZZ_CHECK(read.edges[i].edge < 3 * triangles && v3_max_abs(read.edges[i].normal) < 2);
    ABUTI_RELEASE(mesh->context, read.samples, read.edges);
    return found;
}

static bool read_entry(uint8_t choice) {
    const abuti_cache_entry entry = entry_of(choice);
    unsigned char *data = NULL;
    size_t bytes;
    if (!(choice & PROGRAM))
        return choice & SAMPLES ? read_samples(&entry) : read_field(&entry);
    FUZZ_CHECK(!abuti_cache_load(fuzz_context(), &entry, &data, &bytes) == (data != NULL));
    abuti_release(fuzz_context(), data);
    return data != NULL;
}

static void store_entry(uint8_t choice) {
    field_cache cache = {.entry = entry_of(choice)};
    abut_samples *samples;
    if (choice & PROGRAM) {
        abuti_cache_store(fuzz_context(), &cache.entry, "program", 7);
    } else if (choice & SAMPLES) {
        abut_samples_options options = abut_samples_options_default();
        options.cell = 0.4;
        FUZZ_CHECK(!abut_samples_create(mesh, &options, &samples));
        abuti_samples_cache_store(&cache.entry, cache.mesh, samples);
        abut_samples_destroy(samples);
    } else {
        abuti_field_cache_store(&cache, field);
    }
    FUZZ_CHECK(read_entry(choice));
}

static void set_up(void) {
    const abut_grid grid = {{0, 0, 0}, 1, {2, 2, 2}};
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, -8};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    FUZZ_CHECK(!abut_shape_create(fuzz_context(), &shape, &mesh));
    FUZZ_CHECK(!abut_field_create_values(fuzz_context(), &grid, values, &field));
}

/* The bytes themselves, or those of a valid file with some changes: three bytes for each change
 * select the place and the difference. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static uint8_t file[FILE_BYTES_MAX];
    if (!mesh)
        set_up();
    if (bytes < 1 || bytes > FILE_BYTES_MAX)
        return 0;
    size_t made = bytes - 1;
    memcpy(file, data + 1, made);
    if (data[0] & CHANGE) {
        store_entry(data[0]);
        FILE *in = fopen(fuzz_path(), "rb");
        FUZZ_CHECK(in);
        made = fread(file, 1, sizeof file, in);
        fclose(in);
        FUZZ_CHECK(made < sizeof file);
        for (size_t i = 1; i + 3 <= bytes; i += 3)
            file[(data[i] | (size_t)data[i + 1] << 8) % made] ^= data[i + 2];
    }
    if (data[0] & REPAIR)
        repair(file, made, data[0]);
    FILE *out = fopen(fuzz_path(), "wb");
    FUZZ_CHECK(out && fwrite(file, 1, made, out) == made && fclose(out) == 0);
    FUZZ_CHECK(chmod(fuzz_path(), 0600) == 0);
    read_entry(data[0]);
    if (data[0] & STORE)
        store_entry(data[0]);
    return 0;
}
