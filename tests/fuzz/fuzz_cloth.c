/* Any bytes as the state of a cloth: a rejected state changes nothing, and after a restored one a
 * step fails or ends without intersections. */
#include "fuzz.h"

#include "base/checksum.h"

#include <time.h>

enum { HEAD = 104, ROOM = 4096 };

/* With the first byte odd the marks and the checksum are put right, else nothing but the first
 * bytes would ever be looked at. */
static void mend(uint8_t *state, size_t bytes) {
    if (bytes < HEAD + 8)
        return;
    memcpy(state, "\211abuts\r\n\4\3\2\1\2\0\0", 16);
    uint64_t sum = abuti_checksum(state, bytes - 8);
    memcpy(state + bytes - 8, &sum, sizeof sum);
}

/* The bytes themselves, or a whole state with some of its bytes changed: three say which and how.
 */
static size_t make_state(const uint8_t *data, size_t bytes, const uint8_t *whole,
                         size_t whole_bytes, uint8_t *state) {
    if (!(data[0] & 2)) {
        memcpy(state, data + 1, bytes - 1);
        return bytes - 1;
    }
    memcpy(state, whole, whole_bytes);
    for (size_t i = 1; i + 3 <= bytes; i += 3)
        state[(data[i] | (size_t)data[i + 1] << 8) % whole_bytes] ^= data[i + 2];
    return whole_bytes;
}

/* A step with coordinates of millions of kilometres may take seconds. */
#define SECONDS_MAX 0.5
static clock_t step_begin;

static bool is_in_time(void *user, const char *stage, double fraction) {
    (void)user;
    (void)stage;
    (void)fraction;
    return (double)(clock() - step_begin) < SECONDS_MAX * CLOCKS_PER_SEC;
}

static abut_status step(abut_cloth *cloth) {
    step_begin = clock();
    return abut_cloth_step(cloth, 0.02, NULL);
}

static abut_context *create_context(void) {
    abut_context_options options = abut_context_options_default();
    abut_context *context;
    options.thread_count = 1;
    options.progress = is_in_time;
    FUZZ_CHECK(!abut_context_create(&options, &context));
    return context;
}

static size_t save(abut_cloth *cloth, uint8_t *state) {
    abut_byte_list saved = {state, ROOM, 0};
    FUZZ_CHECK(!abut_cloth_save(cloth, &saved));
    return (size_t)saved.count;
}

/* A sheet above a box that may lag, with a pin, two springs and two seams. */
static abut_cloth *make_cloth(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_body_options below = abut_cloth_body_options_default();
    abut_mesh *sheet, *box;
    abut_cloth *cloth;
    uint32_t index;
    shape.segments = shape.rings = 2;
    options.gravity.z = -9;
    options.substeps = 1;
    options.body_may_lag = true;
    below.pose.translation.z = -0.6;
    FUZZ_CHECK(!abut_shape_create(fuzz_context(), &shape, &sheet));
    shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.segments = 1;
    FUZZ_CHECK(!abut_shape_create(fuzz_context(), &shape, &box));
    FUZZ_CHECK(!abut_cloth_create(create_context(), &options, &cloth));
    FUZZ_CHECK(!abut_cloth_add_sheet(cloth, sheet, NULL, &index));
    FUZZ_CHECK(!abut_cloth_add_body(cloth, box, &below, &index));
    for (uint32_t v = 0; v < 9; v += 4) {
        abut_cloth_attachment at;
        FUZZ_CHECK(!abut_cloth_bind(cloth, 0, v == 4 ? 0 : ABUT_NONE, &v, 1, v ? 5.0 * v : 0, &at));
        FUZZ_CHECK(!abut_cloth_attach(cloth, 0, &at, 1));
    }
    const abut_cloth_seam seams[2] = {{.vertex_a = 2, .vertex_b = 6, .stiffness = 3},
                                      {.vertex_a = 1, .vertex_b = 7}};
    FUZZ_CHECK(!abut_cloth_sew(cloth, seams, 2));
    for (int i = 0; i < 4; i++)
        FUZZ_CHECK(!step(cloth));
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
    return cloth;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static abut_cloth *cloth;
    static uint8_t whole[ROOM], after[ROOM], now[ROOM];
    static size_t whole_bytes;
    if (!cloth) {
        cloth = make_cloth();
        whole_bytes = save(cloth, whole);
        FUZZ_CHECK(!step(cloth));
        save(cloth, after);
        FUZZ_CHECK(!abut_cloth_restore(cloth, whole, whole_bytes));
    }
    if (bytes < 1)
        return 0;
    uint8_t *state = malloc(bytes + whole_bytes);
    FUZZ_CHECK(state);
    size_t made = make_state(data, bytes, whole, whole_bytes, state);
    if (data[0] & 1)
        mend(state, made);
    abut_status status = abut_cloth_restore(cloth, state, made);
    free(state);
    if (status) {
        FUZZ_CHECK(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_ARGUMENT ||
                   status == ABUT_ERROR_UNSUPPORTED);
        FUZZ_CHECK(save(cloth, now) == whole_bytes && memcmp(now, whole, whole_bytes) == 0);
        return 0;
    }
    status = step(cloth);
    FUZZ_CHECK(!status || status == ABUT_ERROR_ARGUMENT || status == ABUT_ERROR_LIMIT ||
               status == ABUT_ERROR_CANCELLED);
    bool is_free = true;
    step_begin = clock();
    if (!status)
        status = abut_cloth_is_free(cloth, &is_free);
    FUZZ_CHECK(is_free);
    /* Nothing of it is left after the right one. */
    FUZZ_CHECK(!abut_cloth_restore(cloth, whole, whole_bytes));
    FUZZ_CHECK(!step(cloth));
    FUZZ_CHECK(save(cloth, now) == whole_bytes && memcmp(now, after, whole_bytes) == 0);
    FUZZ_CHECK(!abut_cloth_restore(cloth, whole, whole_bytes));
    return 0;
}
