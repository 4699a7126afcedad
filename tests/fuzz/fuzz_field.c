/* Any bytes as a field file; a valid one must survive being written and read again. */
#include "apps/get.h"
#include "fuzz.h"

#include "base/checksum.h"

/* A file that is cut from random bytes never gets past its checksums, so with the first byte odd
 * those of the head and of all blocks are put right, as far as they can be found. */
static void mend(uint8_t *file, size_t bytes) {
    enum { HEAD = 144, BLOCK_HEAD = 16 };
    if (bytes < HEAD)
        return;
    memcpy(file, "\211abutf\r\n\4\3\2\1\1\0\0", 16);
    uint64_t sum = abuti_checksum(file, HEAD - 8);
    memcpy(file + HEAD - 8, &sum, sizeof sum);
    for (size_t at = HEAD; bytes - at >= BLOCK_HEAD;) {
        uint32_t length;
        memcpy(&length, file + at, sizeof length);
        if (length > bytes - at - BLOCK_HEAD)
            return;
        sum = abuti_checksum(file + at + BLOCK_HEAD, length);
        memcpy(file + at + 8, &sum, sizeof sum);
        at += BLOCK_HEAD + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    abut_field *field = NULL, *back = NULL;
    if (!bytes)
        return 0;
    uint8_t *file = malloc(bytes);
    FUZZ_CHECK(file);
    memcpy(file, data + 1, bytes - 1);
    if (data[0] & 1)
        mend(file, bytes - 1);
    abut_status status = abut_field_read_memory(fuzz_context(), file, bytes - 1, "fuzz", &field);
    free(file);
    FUZZ_CHECK(!status == (field != NULL));
    if (status) {
        FUZZ_CHECK(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED ||
                   status == ABUT_ERROR_ARGUMENT || status == ABUT_ERROR_LIMIT ||
                   status == ABUT_ERROR_MEMORY);
        return 0;
    }
    abut_field_info info = get_field_info(field);
    FUZZ_CHECK(info.lowest <= info.highest);
    abut_field_value value;
    FUZZ_CHECK(abut_field_evaluate(field, info.grid.origin, ABUT_INTERPOLATION_CUBIC, &value) ==
               ABUT_OK);
    abut_field_write_options options = abut_field_write_options_default();
    options.format = ABUT_FIELD_FORMAT_ABUT;
    if (info.bytes < 1 << 20) {
        FUZZ_CHECK(abut_field_write(field, fuzz_path(), &options) == ABUT_OK);
        FUZZ_CHECK(abut_field_read(fuzz_context(), fuzz_path(), &back) == ABUT_OK);
        abut_field_info again = get_field_info(back);
        FUZZ_CHECK(info.lowest == again.lowest && info.highest == again.highest);
        abut_field_destroy(back);
    }
    abut_field_destroy(field);
    return 0;
}
