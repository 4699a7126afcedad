/* Any bytes as a cache file: no invalid field may be read from it, and adding a field must give
 * a valid file again. */
#include "apps/get.h"
#include "fuzz.h"

#include "base/checksum.h"
#include "field/cache.h"

#include <sys/stat.h>

/* With the first byte odd the marks, lengths and checksums of head and table are put right, else
 * nothing but the first bytes would ever be looked at. The number of fields is the second byte. */
static void mend(uint8_t *file, size_t bytes, uint8_t count) {
    enum { HEAD = 56, ITEM = 48, TAIL = 24 };
    const uint64_t number = count % 4u, length = bytes;
    if (bytes < HEAD + ITEM * number + TAIL)
        return;
    memcpy(file, "\211abutc\r\n\4\3\2\1\1\0\0", 16);
    uint64_t sum = abuti_checksum(file, HEAD - 8);
    memcpy(file + HEAD - 8, &sum, sizeof sum);
    memcpy(file + bytes - 24, &number, sizeof number);
    memcpy(file + bytes - 16, &length, sizeof length);
    sum = abuti_checksum(file + bytes - TAIL - ITEM * number, ITEM * number + TAIL - 8);
    memcpy(file + bytes - 8, &sum, sizeof sum);
}

/* The bytes themselves, or a whole file with some of its bytes changed: three say which and how. */
static size_t make_file(const uint8_t *data, size_t bytes, const uint8_t *whole, size_t whole_bytes,
                        uint8_t *file) {
    if (!(data[0] & 4)) {
        memcpy(file, data + 2, bytes - 2);
        return bytes - 2;
    }
    memcpy(file, whole, whole_bytes);
    for (size_t i = 2; i + 3 <= bytes; i += 3)
        file[(data[i] | (size_t)data[i + 1] << 8) % whole_bytes] ^= data[i + 2];
    return whole_bytes;
}

static void put_file(const uint8_t *file, size_t bytes) {
    FILE *out = fopen(fuzz_path(), "wb");
    FUZZ_CHECK(out && fwrite(file, 1, bytes, out) == bytes && fclose(out) == 0);
    FUZZ_CHECK(chmod(fuzz_path(), 0600) == 0);
}

/* How many fields there are, and how many of them can be read. */
static size_t open_cache_file(size_t *good) {
    cache_file file;
    abut_status status = abuti_cache_file_open(&file, fuzz_context(), fuzz_path());
    *good = 0;
    if (status) {
        FUZZ_CHECK(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED);
        return 0;
    }
    for (size_t i = 0; i < file.count; i++) {
        abut_field_info info;
        abut_field *field = NULL;
        abut_status seen = abuti_cache_file_load_info(&file, &file.items[i], &info);
        abut_status read = abuti_cache_file_load(&file, &file.items[i], &field);
        FUZZ_CHECK(!read == (field != NULL) && (!seen || read));
        if (field) {
            FUZZ_CHECK(info.bytes == get_field_info(field).bytes);
            ++*good;
        }
        abut_field_destroy(field);
    }
    size_t count = file.count;
    abuti_cache_file_close(&file);
    return count;
}

static abut_field *some_field(void) {
    const abut_grid grid = {{0, 0, 0}, 1, {2, 2, 2}};
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, -8};
    abut_field *field;
    FUZZ_CHECK(abut_field_create_values(fuzz_context(), &grid, values, &field) == ABUT_OK);
    field->has_digest = true; /* of a mesh whose digest is all zeros */
    return field;
}

static const unsigned char mesh[ABUTI_DIGEST_BYTES], keys[2][ABUTI_DIGEST_BYTES] = {{1}, {2}};

static void remove_lock(void) {
    char path[sizeof fuzz_file + 16];
    snprintf(path, sizeof path, "%.*s/fields.lock", (int)(strrchr(fuzz_file, '/') - fuzz_file),
             fuzz_file);
    unlink(path);
}

/* A file with two fields. */
static size_t make_whole(const abut_field *field, uint8_t *whole, size_t room) {
    unlink(fuzz_path());
    atexit(remove_lock);
    for (int i = 0; i < 2; i++)
        FUZZ_CHECK(!abuti_cache_file_add(fuzz_context(), fuzz_path(), mesh, keys[i], field));
    FILE *in = fopen(fuzz_path(), "rb");
    FUZZ_CHECK(in);
    size_t bytes = fread(whole, 1, room, in);
    fclose(in);
    FUZZ_CHECK(bytes < room);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static abut_field *field;
    static uint8_t whole[4096];
    static size_t whole_bytes;
    size_t good, after;
    if (!field) {
        field = some_field();
        whole_bytes = make_whole(field, whole, sizeof whole);
        FUZZ_CHECK(open_cache_file(&good) == 2 && good == 2);
    }
    if (bytes < 2)
        return 0;
    uint8_t *file = malloc(bytes + whole_bytes);
    FUZZ_CHECK(file);
    size_t made = make_file(data, bytes, whole, whole_bytes, file);
    if (data[0] & 1)
        mend(file, made, data[1]);
    put_file(file, made);
    free(file);
    open_cache_file(&good);
    if (data[0] & 2) {
        FUZZ_CHECK(!abuti_cache_file_add(fuzz_context(), fuzz_path(), mesh, keys[0], field));
        FUZZ_CHECK(open_cache_file(&after) > 0 && after > 0);
    }
    return 0;
}
