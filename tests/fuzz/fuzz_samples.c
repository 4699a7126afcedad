/* Any bytes as samples of the cache: only samples of the mesh are accepted. */
#include "fuzz.h"

#include "base/checksum.h"
#include "contact/samples.h"

#include <sys/stat.h>

enum { HEAD = 96, SAMPLE = 64, EDGE = 80, KINDS = 7 };

/* With the first byte odd marks, digests, the number of samples and the checksum are put right,
 * else nothing but the first bytes would ever be looked at. */
static void mend(uint8_t *file, size_t bytes) {
    uint32_t edges;
    if (bytes < HEAD + 8)
        return;
    memcpy(file, "\211abuts\r\n\4\3\2\1\1\0\0", 16);
    memset(file + 16, 0, 64);
    memcpy(&edges, file + 84, sizeof edges);
    edges %= 4;
    if (edges * EDGE <= bytes - HEAD - 8) {
        uint32_t count = (uint32_t)((bytes - HEAD - 8 - edges * EDGE) / SAMPLE);
        memcpy(file + 80, &count, sizeof count);
        memcpy(file + 84, &edges, sizeof edges);
    }
    uint64_t sum = abuti_checksum(file, bytes - 8);
    memcpy(file + bytes - 8, &sum, sizeof sum);
}

/* The bytes themselves, or a whole file with some of its bytes changed: three say which and how. */
static size_t make_file(const uint8_t *data, size_t bytes, const uint8_t *whole, size_t whole_bytes,
                        uint8_t *file) {
    if (!(data[0] & 2)) {
        memcpy(file, data + 1, bytes - 1);
        return bytes - 1;
    }
    memcpy(file, whole, whole_bytes);
    for (size_t i = 1; i + 3 <= bytes; i += 3)
        file[(data[i] | (size_t)data[i + 1] << 8) % whole_bytes] ^= data[i + 2];
    return whole_bytes;
}

static void put_file(const uint8_t *file, size_t bytes) {
    FILE *out = fopen(fuzz_path(), "wb");
    FUZZ_CHECK(out && fwrite(file, 1, bytes, out) == bytes && fclose(out) == 0);
    FUZZ_CHECK(chmod(fuzz_path(), 0600) == 0);
}

static void check(const abut_samples *s, const abut_mesh *mesh) {
    const uint32_t triangles = mesh->triangle_count;
    for (uint32_t i = 0; i < s->view.count; i++) {
        const abut_sample *at = &s->samples[i];
        FUZZ_CHECK(at->kind < ABUT_SAMPLE_SURFACE);
        FUZZ_CHECK(at->element < (at->kind == ABUT_SAMPLE_VERTEX ? mesh->vertex_count
                                  : at->kind == ABUT_SAMPLE_EDGE ? 3 * triangles
                                                                 : triangles));
        FUZZ_CHECK(v3_max_abs(at->point) <= 1e91 && v3_max_abs(at->normal) < 2);
    }
    for (uint32_t i = 0; i < s->view.edge_count; i++)
        FUZZ_CHECK(s->edges[i].edge < 3 * triangles && v3_max_abs(s->edges[i].normal) < 2);
}

/* The place of samples whose digests are all zeros. */
static cache_place place_of(void) {
    cache_place place = {.path = ""};
    snprintf(place.path, sizeof place.path, "%s", fuzz_path());
    return place;
}

/* Whether the file can be read as samples of the mesh. */
static bool read_samples(const abut_mesh *mesh) {
    const cache_place place = place_of();
    abut_samples read = {.context = mesh->context};
    bool found;
    FUZZ_CHECK(!abuti_samples_cache_load(&place, mesh, KINDS, &read, &found));
    FUZZ_CHECK(found || (!read.samples && !read.edges));
    check(&read, mesh);
    ABUTI_RELEASE(mesh->context, read.samples, read.edges);
    return found;
}

/* The samples of a cube, as a file. */
static size_t make_whole(abut_mesh *mesh, uint8_t *whole, size_t room) {
    abut_samples_options options = abut_samples_options_default();
    abut_samples *samples;
    const cache_place place = place_of();
    options.cell = 0.4;
    FUZZ_CHECK(!abut_samples_create(mesh, &options, &samples));
    abuti_samples_cache_store(&place, samples);
    abut_samples_destroy(samples);
    FILE *in = fopen(fuzz_path(), "rb");
    FUZZ_CHECK(in);
    size_t bytes = fread(whole, 1, room, in);
    fclose(in);
    FUZZ_CHECK(bytes < room);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static abut_mesh *mesh;
    static uint8_t whole[8192];
    static size_t whole_bytes;
    if (!mesh) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        FUZZ_CHECK(!abut_shape_create(fuzz_context(), &shape, &mesh));
        whole_bytes = make_whole(mesh, whole, sizeof whole);
        FUZZ_CHECK(read_samples(mesh));
    }
    if (bytes < 1)
        return 0;
    uint8_t *file = malloc(bytes + whole_bytes);
    FUZZ_CHECK(file);
    size_t made = make_file(data, bytes, whole, whole_bytes, file);
    if (data[0] & 1)
        mend(file, made);
    put_file(file, made);
    free(file);
    read_samples(mesh);
    return 0;
}
