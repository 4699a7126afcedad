/* The self-test of a device that was just opened. Wrong integers or a wrong sum over a work-group
 * mean that the device or its compiler is broken: opening fails. Floats that are rounded
 * differently are allowed (OpenCL does not guarantee them) but recorded: results of this device
 * then agree with the CPU within error bounds instead of bit by bit. */
#include "device/kit.h"
#include "device/tools_shared.h"

#include <math.h>
#include <string.h>

enum { ITEMS = GROUP_ITEMS, WORDS = CHECK_WORDS, FLOAT_WORDS = 3 };

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Random mantissas with exponents whose quotients, products and roots stay normal; approximate
 * division and square root fail on several of a hundred such cases. The first few are known to be
 * hard: quotients next to a midpoint of two floats, and results that are subnormal. */
static void make_input(float *in) {
    static const uint32_t hard[] = {0x3f800001, 0x3f7fffff, 0x3f800000, 0x40400000,
                                    0x3fffffff, 0x3f800001, 0x4b7fffff, 0x3f7fffff,
                                    0x00800001, 0x40000000, 0x00ffffff, 0x41200000};
    uint64_t state = 1;
    for (uint32_t i = 0; i < 2 * ITEMS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t random = (uint32_t)(state >> 32);
        in[i] = float_of((random & 0x807fffff) | (112 + (random >> 23 & 31)) << 23);
    }
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        in[i] = float_of(hard[i]);
}

static void compute_expected(const float *in, uint32_t *out) {
    uint32_t total = 0, before = 0;
    for (uint32_t i = 0; i < ITEMS; i++)
        total += bits_of(in[2 * i]) >> 8;
    for (uint32_t i = 0; i < ITEMS; i++) {
        float a = in[2 * i], b = in[2 * i + 1];
        out[WORDS * i] = bits_of(a / b);
        out[WORDS * i + 1] = bits_of(sqrtf(fabsf(a)));
        out[WORDS * i + 2] = bits_of(a * b + a);
        out[WORDS * i + 3] = bits_of(a) * 2654435761u ^ bits_of(b) >> 7;
        out[WORDS * i + 4] = before ^ total;
        before += bits_of(a) >> 8;
    }
}

static abut_status run_kernel(abut_device *device, const float *in, uint32_t *out) {
    enum { IN, OUT, BUFFERS };
    static const abuti_kernel_source source = {"check", "known_answers", NULL};
    static const abuti_kit_table table = {&source, 1, BUFFERS, NULL};
    abuti_queue queue;
    abuti_kit kit;
    abut_status status = abuti_queue_open(device, &queue);
    if (status)
        return status;
    status = abuti_kit_open(&queue, &table, "", &kit);
    if (!status) {
        abuti_kit_upload(&kit, IN, in, 2 * ITEMS, sizeof *in);
        abuti_kit_reserve(&kit, OUT, WORDS * ITEMS, sizeof *out);
        ABUTI_KIT_RUN(&kit, 0, ITEMS, ITEMS, KIT_BUFFER(&kit, IN), KIT_BUFFER(&kit, OUT),
                      ABUTI_LOCAL_MEMORY(GROUP_ROOM * sizeof(uint32_t)));
        status = abuti_kit_download(&kit, OUT, out, WORDS * ITEMS, sizeof *out);
    }
    abuti_kit_close(&kit);
    abuti_queue_close(&queue);
    return status;
}

abut_status abuti_device_self_test(abut_device *device) {
    float in[2 * ITEMS];
    uint32_t expected[WORDS * ITEMS], actual[WORDS * ITEMS];
    make_input(in);
    compute_expected(in, expected);
    memset(actual, 0, sizeof actual);
    abut_status status = run_kernel(device, in, actual);
    if (status)
        return status;
    uint32_t differing = 0;
    for (uint32_t i = 0; i < WORDS * ITEMS; i++) {
        if (actual[i] == expected[i])
            continue;
        if (i % WORDS >= FLOAT_WORDS)
            return abuti_fail(ABUT_ERROR_DEVICE,
                              "%s: the self-test failed: word %u of item %u is %08x "
                              "instead of %08x; do not use this device with driver %s",
                              device->info.name, i % WORDS, i / WORDS, actual[i], expected[i],
                              device->info.driver);
        differing++;
    }
    device->info.same_bits = differing == 0;
    if (differing)
        abuti_log(device->context, ABUT_LOG_WARNING,
                  "%s: %u of %u float results are rounded differently from this host",
                  device->info.name, differing, FLOAT_WORDS * ITEMS);
    return ABUT_OK;
}

abut_status abuti_device_check_bits(const char *function, const abut_device *device) {
    const abut_device_info *info = &device->info;
    if (info->same_bits && info->has_doubles)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_DEVICE,
                      "%s: %s %s; leave options->device null to compute on the CPU", function,
                      info->name,
                      info->has_doubles ? "rounds floats differently from this CPU"
                                        : "has no doubles");
}
