/* One source: the shared headers as a kernel on a device (such as PoCL) against the same text
 * compiled as C in the same precision; every number and result bit for bit. */
#define ABUTI_REAL_BITS 32
#include "device/open.h"

#include "kernel.h"
#include "samples.h"

enum { ITEM_COUNT = 20000 };

static abut_device *device;

/* ---- kernel text with its includes resolved, each file once ---- */

static char text[1 << 20];
static size_t text_length;
static char included[32][256];
static int included_count;

static void append_file(const char *name) {
    for (int i = 0; i < included_count; i++)
        if (strcmp(included[i], name) == 0)
            return;
    assert_true(included_count < 32 && strlen(name) < sizeof included[0]);
    strcpy(included[included_count++], name);
    static const char *const roots[] = {"tests", "src/foundation", "src/query", "src/method"};
    char path[1024], line[512], inner[256];
    FILE *file = NULL;
    for (size_t i = 0; i < sizeof roots / sizeof *roots && !file; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", ABUT_SOURCE_DIR, roots[i], name);
        file = fopen(path, "r");
    }
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "#include \"%255[^\"]\"", inner) == 1) {
            append_file(inner);
            continue;
        }
        assert_true(text_length + sizeof line < sizeof text);
        text_length += (size_t)snprintf(text + text_length, sizeof line, "%s", line);
    }
    fclose(file);
}

/* ---- the test ---- */

static real in[ITEM_COUNT * NUMBERS_IN], number[ITEM_COUNT * NUMBERS_OUT];
static int answer[ITEM_COUNT * ANSWERS_OUT];

static void make_items(void) {
    test_random random = {51};
    for (uint32_t i = 0; i < ITEM_COUNT; i++) {
        triangle3 a = sample_triangle(&random, sample_family(i));
        triangle3 b = sample_partner(&random, sample_family(i), a);
        for (int k = 0; k < 6; k++) {
            vec3 p = k < 3 ? a.corner[k] : b.corner[k - 3];
            real *to = in + i * NUMBERS_IN + 3 * k;
            to[0] = p.x;
            to[1] = p.y;
            to[2] = p.z;
        }
    }
}

static void run_on_device(void) {
    append_file("geom/kernel.h");
    static abuti_module module = {"one_source", text, 0};
    abuti_queue queue = {0};
    abuti_program *program;
    abuti_kernel kernel = {0};
    abuti_buffer buffers[3] = {{0}, {0}, {0}};
    module.bytes = text_length;
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_program_make(device, &module, "", &program));
    assert_ok(abuti_kernel_create(program, device, "evaluate_all", &kernel));
    abuti_buffer_make(&queue, in, ITEM_COUNT, NUMBERS_IN * sizeof *in, &buffers[0]);
    abuti_buffer_make(&queue, NULL, ITEM_COUNT, NUMBERS_OUT * sizeof *number, &buffers[1]);
    abuti_buffer_make(&queue, NULL, ITEM_COUNT, ANSWERS_OUT * sizeof *answer, &buffers[2]);
    const abuti_argument arguments[3] = {ABUTI_BUFFER(&buffers[0]), ABUTI_BUFFER(&buffers[1]),
                                         ABUTI_BUFFER(&buffers[2])};
    assert_ok(abuti_launch(&queue, &kernel, ITEM_COUNT / 50, 50, arguments, 3));
    assert_ok(abuti_buffer_download(&queue, &buffers[1], 0, number, sizeof number));
    assert_ok(abuti_buffer_download(&queue, &buffers[2], 0, answer, sizeof answer));
    abuti_kernel_destroy(&kernel);
    for (int i = 0; i < 3; i++)
        abuti_buffer_destroy(&buffers[i]);
    abuti_queue_close(&queue);
}

/* A plane without a normal gives not-a-number, whose sign and payload processors may choose. */
static bool same_bits(real a, real b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

TEST(device_equals_host) {
    const bool has_doubles = device->info.has_doubles;
    make_items();
    run_on_device();
    uint32_t contacts = 0;
    for (int i = 0; i < ITEM_COUNT; i++) {
        real host_number[NUMBERS_OUT];
        int host_answer[ANSWERS_OUT];
        evaluate(in + i * NUMBERS_IN, host_number, host_answer);
        evaluate_contact(in, in + i * NUMBERS_IN, host_number + NUMBERS_OUT - 8);
        contacts += host_number[NUMBERS_OUT - 8] > CONTACT_BACKFACING;
        for (int k = 0; k < (has_doubles ? NUMBERS_OUT : 8); k++)
            if (!same_bits(host_number[k], number[i * NUMBERS_OUT + k]))
                fail_msg("item %d, number %d: host %a, device %a", i, k, (double)host_number[k],
                         (double)number[i * NUMBERS_OUT + k]);
        for (int k = 0; k < (has_doubles ? ANSWERS_OUT : 1); k++)
            if (host_answer[k] != answer[i * ANSWERS_OUT + k])
                fail_msg("item %d, answer %d: host %d, device %d", i, k, host_answer[k],
                         answer[i * ANSWERS_OUT + k]);
    }
    assert_true(contacts > 0 &&
                contacts < ITEM_COUNT); /* as the first items are the field's values */
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    device = test_device(NULL);
    int failed = test_run(NULL, NULL);
    abut_device_destroy(device);
    return failed;
}
