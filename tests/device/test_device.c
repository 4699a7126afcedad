/* Devices: the list, the choice, programs and their cache, holders, and every call of OpenCL
 * failing in turn. */
#include "apps/get.h"
#include "base/cache.h"
#include "device/tools.h"
#include "open.h"

#include <dirent.h>
#include <pthread.h>

/* ---- list and choice ---- */

TEST(list) {
    abut_device_info infos[64], one;
    uint64_t count = 0, again;
    abut_device_info_list devices = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ", abut_device_list(NULL, &devices));
    count = devices.count;
    assert_true(count >= 1 && count <= 64);
    infos[0] = abut_device_info_default();
    infos[0].size = 0;
    assert_refused("the size field of the result is 0",
                   abut_device_list(NULL, &(abut_device_info_list){infos, 64, 0}));
    infos[0].size = sizeof infos[0] + 1;
    assert_refused("_default()", abut_device_list(NULL, &(abut_device_info_list){infos, 64, 0}));
    infos[0].size = sizeof infos[0];
    devices = (abut_device_info_list){infos, 64, 0};
    assert_ok(abut_device_list(NULL, &devices));
    again = devices.count;
    assert_int_equal(count, again);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(infos[i].name[0] && infos[i].vendor[0] && infos[i].driver[0]);
        assert_int_equal(0, strncmp(infos[i].version, "OpenCL ", 7));
        assert_true(infos[i].compute_units >= 1 && infos[i].memory_bytes >= 1 << 20);
        assert_true(infos[i].buffer_bytes <= infos[i].memory_bytes);
        assert_false(infos[i].same_bits);
        assert_true(!infos[i].is_default || infos[i].kind == ABUT_DEVICE_KIND_GPU);
    }
    memset(&one, 0x5a, sizeof one);
    infos[0] = one;
    devices = (abut_device_info_list){infos, count - 1, 0};
    assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ", abut_device_list(NULL, &devices));
    again = devices.count;
    assert_int_equal(count, again);
    assert_memory_equal(&one, &infos[0], sizeof one);
    assert_refused("infos is null", abut_device_list(NULL, NULL));
    assert_refused("the list of infos is null",
                   abut_device_list(NULL, &(abut_device_info_list){NULL, 1, 0}));
    assert_string_equal("gpu", abut_device_kind_name(ABUT_DEVICE_KIND_GPU));
    assert_string_equal("cpu", abut_device_kind_name(ABUT_DEVICE_KIND_CPU));
    assert_string_equal("other", abut_device_kind_name(ABUT_DEVICE_KIND_OTHER));
    assert_null(abut_device_kind_name((abut_device_kind)99));
    assert_string_equal("device error", abut_status_name(ABUT_ERROR_DEVICE));
}

static void opens_as(const char *selector, const char *name) {
    AUTO(device) device = NULL;
    assert_ok(abut_device_open(NULL, selector, &device));
    abut_device_info info = get_device_info(device);
    assert_string_equal(name, info.name);
}

TEST(choice) {
    abut_device_info infos[64];
    uint64_t count;
    infos[0] = abut_device_info_default();
    abut_device_info_list devices = {infos, 64, 0};
    assert_ok(abut_device_list(NULL, &devices));
    count = devices.count;
    bool gpu = false, cpu = false;
    for (uint32_t i = 0; i < count; i++) {
        char number[16], part[32];
        snprintf(number, sizeof number, "%u", i);
        opens_as(number, infos[i].name);
        gpu = gpu || infos[i].kind == ABUT_DEVICE_KIND_GPU;
        cpu = cpu || infos[i].kind == ABUT_DEVICE_KIND_CPU;
        if (infos[i].is_default)
            opens_as(NULL, infos[i].name);
        if (i > 0)
            continue; /* a later one may share its name with an earlier */
        snprintf(part, sizeof part, "%.30s", infos[i].name + 1);
        for (char *c = part; *c; c++)
            *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
        opens_as(part, infos[i].name);
    }
    abut_device *untouched = (abut_device *)&infos;
    static const char *const wishes[] = {NULL, "", "auto", "AUTO", "gpu"};
    for (size_t i = 0; !gpu && i < sizeof wishes / sizeof *wishes; i++)
        assert_fails(ABUT_ERROR_DEVICE,
                     "no GPU; the devices are 0: ", abut_device_open(NULL, wishes[i], &untouched));
    assert_fails(ABUT_ERROR_DEVICE, "no device '9999'; the devices are 0: ",
                 abut_device_open(NULL, "9999", &untouched));
    assert_fails(ABUT_ERROR_DEVICE, "no device 'nothing like it'",
                 abut_device_open(NULL, "nothing like it", &untouched));
    if (!cpu)
        assert_fails(ABUT_ERROR_DEVICE, "no device 'cpu'",
                     abut_device_open(NULL, "cpu", &untouched));
    /* one that has left its place in the list to another, or to none */
    abut_device_info known = infos[0];
    known.is_default = false;
    abut_context *context = abuti_context_of(NULL);
    assert_fails(ABUT_ERROR_DEVICE, "is no longer available",
                 abuti_opencl_open(context, (uint32_t)count, &known, &untouched));
    known.driver[0] ^= 1;
    assert_fails(ABUT_ERROR_DEVICE, "is no longer available",
                 abuti_opencl_open(context, 0, &known, &untouched));
    assert_int_equal(0, abuti_opencl_live());
    assert_ptr_equal(&infos, untouched);
    assert_refused("device is null", abut_device_open(NULL, "cpu", NULL));
    abut_device_info none = get_device_info(NULL);
    assert_true(!none.name[0] && !none.compute_units);
    abut_device_destroy(NULL);
}

/* ---- holders ---- */

TEST(destroy_in_any_order) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    abut_device *device = test_device(context);
    abut_context_destroy(context);
    abuti_queue queue, second = {0};
    abuti_tools *tools;
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_tools_create(&queue, &tools));
    uint32_t words[3] = {5, 6, 7};
    abuti_buffer buffer = test_upload(&queue, words, sizeof words);
    abut_device_destroy(device);
    abuti_tools_scan(tools, &buffer, &buffer, 3, NULL, 0);
    assert_ok(abuti_buffer_download(&queue, &buffer, 0, words, sizeof words));
    assert_true(words[0] == 0 && words[1] == 5 && words[2] == 11);
    abuti_tools_destroy(tools);
    abuti_queue_close(&queue);
    abuti_queue_close(&queue); /* a closed one is none */
    abuti_queue_close(&second);
    assert_true(memory.live_count > 0);
    abuti_buffer_destroy(&buffer);
    abuti_buffer_destroy(&buffer);
    assert_int_equal(0, memory.live_count);
    assert_int_equal(0, abuti_opencl_live());
}

TEST(clock_tells_time) {
    abut_device *device = test_device(NULL);
    abuti_queue queue;
    abuti_buffer buffer = {0}, other = {0};
    double ms = -1;
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_buffer_create(device, 1 << 20, 4, &buffer));
    assert_ok(abuti_buffer_create(device, 1 << 20, 4, &other));
    abuti_queue_clock_start(&queue);
    assert_ok(abuti_queue_clock_stop(&queue, &ms));
    assert_true(ms == 0);
    abuti_queue_clock_start(&queue);
    for (int i = 0; i < 3; i++)
        assert_ok(abuti_buffer_fill(&queue, &buffer, 77, 4 << 20));
    assert_ok(abuti_buffer_copy(&queue, &buffer, &other, 4 << 20));
    assert_ok(abuti_queue_clock_stop(&queue, &ms));
    assert_true(ms > 0 && ms < 10000);
    uint32_t word = 0;
    assert_ok(abuti_buffer_download(&queue, &other, (4 << 20) - 4, &word, 4));
    assert_int_equal(77, word);
    abuti_buffer_destroy(&other);
    abuti_buffer_destroy(&buffer);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
}

/* ---- programs ---- */

static char heard[100000];

static void collect_log(void *user, abut_log_level level, const char *message) {
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "%s\n", message);
}

TEST(build_errors) {
    abut_context *context = test_logged(collect_log, NULL);
    heard[0] = 0;
    abut_device *device = test_device(context);
    abuti_program *program, *again;
    assert_refused("'nowhere'", abuti_program_get(device, "nowhere", "", &program));
    /* A macro that breaks the text of the module. */
    assert_fails(ABUT_ERROR_DEVICE, "module scan with options",
                 abuti_program_get(device, "scan", "-DGROUP_ROOM=] -Dload_words=1", &program));
    assert_non_null(strstr(abut_last_error(), device->info.name));
    assert_non_null(strstr(abut_last_error(), "-Dload_words=1"));
    assert_non_null(strstr(abut_last_error(), "CL_BUILD_PROGRAM_FAILURE"));
    const char *compiling = strstr(heard, "compiling kernels for"); /* is said once */
    assert_true(compiling && !strstr(compiling + 1, "compiling kernels for"));
    assert_non_null(strstr(heard, "module scan fails to compile"));
    assert_non_null(strstr(heard, "error"));
    if (strstr(device->info.platform, "Portable")) /* NVIDIA's log leaves file names out */
        assert_non_null(strstr(heard, "scan.cl"));
    abuti_kernel kernel = {0};
    assert_ok(abuti_program_get(device, "check", "", &program));
    assert_ok(abuti_program_get(device, "check", "", &again));
    assert_ptr_equal(program, again);
    assert_fails(ABUT_ERROR_DEVICE, "kernel missing: clCreateKernel failed: CL_INVALID_KERNEL_NAME",
                 abuti_kernel_create(program, device, "missing", &kernel));
    assert_null(kernel.device);
    abut_device_destroy(device);
    abut_context_destroy(context);
    assert_int_equal(0, abuti_opencl_live());
}

/* Writes noise over every file of a folder; returns how many there were. */
static int spoil(const char *folder) {
    DIR *files = opendir(folder);
    int count = 0;
    assert_non_null(files);
    for (struct dirent *entry; (entry = readdir(files));) {
        char path[2048];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        fseek(file, 300, SEEK_SET);
        fputs("noise", file);
        fclose(file);
        count++;
    }
    closedir(files);
    return count;
}

/* Entries whose checksums do not hold are built again. */
TEST(cache_of_a_device) {
    char old[1024];
    snprintf(old, sizeof old, "%s", getenv("ABUT_CACHE_DIR"));
    const char *folder = test_path("programs");
    setenv("ABUT_CACHE_DIR", folder, 1);
    for (int round = 0; round < 3; round++) {
        abut_device_destroy(test_device(NULL)); /* builds, loads, builds again */
        if (round)
            assert_int_equal(1, spoil(folder));
    }
    setenv("ABUT_CACHE_DIR", old, 1);
}

static const char one_text[] = "kernel void one(global uint *out) { out[0] = 1; }\n",
                  two_text[] = "kernel void two(global uint *out) { out[0] = 2; }\n";
static const abuti_module one_module = {"cache_one", one_text, sizeof one_text - 1},
                          two_module = {"cache_two", two_text, sizeof two_text - 1};

/* Gets a program and its kernel with a fresh device, and runs the kernel. */
static uint32_t run_module(const abuti_module *module, const char *name) {
    abut_device *device = test_device(NULL);
    abuti_queue queue = {0};
    abuti_program *program;
    abuti_kernel kernel = {0};
    uint32_t result = 0;
    assert_ok(abuti_queue_open(device, &queue));
    abuti_buffer out = test_upload(&queue, &result, sizeof result);
    assert_ok(abuti_program_make(device, module, "", &program));
    assert_ok(abuti_kernel_create(program, device, name, &kernel));
    const abuti_argument argument = ABUTI_BUFFER(&out);
    assert_ok(abuti_launch(&queue, &kernel, 1, 1, &argument, 1));
    assert_ok(abuti_buffer_download(&queue, &out, 0, &result, sizeof result));
    abuti_kernel_destroy(&kernel);
    abuti_buffer_destroy(&out);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return result;
}

/* The entries that were listed so far, and the last new one. */
typedef struct known_entries {
    unsigned char keys[8][ABUTI_DIGEST_BYTES];
    size_t count;
    abuti_cache_entry last;
} known_entries;

static abut_status add_entry(void *user, const abuti_cache_file *file, bool *more) {
    known_entries *known = user;
    for (size_t i = 0; i < known->count; i++)
        if (memcmp(known->keys[i], file->entry.key, ABUTI_DIGEST_BYTES) == 0)
            return ABUT_OK;
    assert_true(known->count < 8);
    memcpy(known->keys[known->count++], file->entry.key, ABUTI_DIGEST_BYTES);
    known->last = file->entry;
    return ABUT_OK;
}

static abuti_cache_entry only_new_entry(known_entries *known) {
    const size_t before = known->count;
    assert_ok(
        abuti_cache_list("", abuti_context_of(NULL), &abuti_cache_programs, "", add_entry, known));
    assert_int_equal(before + 1, known->count);
    return known->last;
}

/* Entries that are whole by their checksums but of no use: noise, nothing, a program without the
 * kernel. The program is compiled, and the entry is right again. Half a program under a checksum of
 * its own is not tried: PoCL 3.1 ends the process by an assertion. */
TEST(useless_programs_are_replaced) {
    char old[1024], folder[1024];
    snprintf(old, sizeof old, "%s", getenv("ABUT_CACHE_DIR"));
    snprintf(folder, sizeof folder, "%s", test_path("useless"));
    setenv("ABUT_CACHE_DIR", folder, 1);
    abut_context *context = abuti_context_of(NULL);
    unsigned char *one, *now;
    size_t one_bytes, now_bytes;
    known_entries known = {.count = 0};
    abut_device_destroy(test_device(NULL));
    only_new_entry(&known); /* the program that checks a device */
    assert_int_equal(1, run_module(&one_module, "one"));
    const abuti_cache_entry one_entry = only_new_entry(&known);
    assert_int_equal(2, run_module(&two_module, "two"));
    const abuti_cache_entry two_entry = only_new_entry(&known);
    assert_ok(abuti_cache_load(context, &one_entry, &one, &one_bytes));
    static const unsigned char noise[4000] = {1, 2, 3};
    const struct {
        const unsigned char *program;
        size_t bytes;
    } useless[] = {{noise, sizeof noise}, {noise, 0}, {one, one_bytes}};
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
        abuti_cache_store(context, &two_entry, useless[i].program, useless[i].bytes);
        assert_int_equal(2, run_module(&two_module, "two"));
        assert_ok(abuti_cache_load(context, &two_entry, &now, &now_bytes));
        if (now_bytes == useless[i].bytes)
            assert_true(memcmp(now, useless[i].program, now_bytes) != 0);
        abuti_release(context, now);
        assert_int_equal(2, run_module(&two_module, "two"));
    }
    abuti_release(context, one);
    setenv("ABUT_CACHE_DIR", old, 1);
}

/* ---- every call of OpenCL fails once ---- */

static abut_status do_everything(abut_context *context) {
    abut_device *device;
    abuti_queue queue = {0};
    abuti_tools *tools = NULL;
    abuti_buffer keys = {0}, values = {0};
    uint32_t words[5] = {50, 10, 40, 20, 30}, places[5] = {0, 1, 2, 3, 4};
    double ms;
    abut_status status = abut_device_open(context, test_device_name(), &device);
    if (status)
        return status;
    status = abuti_queue_open(device, &queue);
    status = status ? status : abuti_tools_create(&queue, &tools);
    status = status ? status : abuti_buffer_create(device, 5, 4, &keys);
    status = status ? status : abuti_buffer_create(device, 5, 4, &values);
    status = status ? status : abuti_buffer_upload(&queue, &keys, 0, words, sizeof words);
    status = status ? status : abuti_buffer_upload(&queue, &values, 0, places, sizeof places);
    abuti_queue_clock_start(&queue);
    if (!status)
        abuti_tools_sort(tools, &keys, &values, 5, 0, 8);
    status = status ? status : abuti_queue_clock_stop(&queue, &ms);
    if (!status)
        abuti_tools_scan(tools, &keys, &keys, 5, NULL, 0);
    status = status ? status : abuti_queue_finish(&queue);
    status = status ? status : abuti_buffer_download(&queue, &keys, 0, words, sizeof words);
    status = status ? status : abuti_buffer_download(&queue, &values, 0, places, sizeof places);
    abuti_buffer_destroy(&values);
    abuti_buffer_destroy(&keys);
    abuti_tools_destroy(tools);
    if (queue.device)
        abuti_queue_close(&queue);
    abut_device_destroy(device);
    static const uint32_t sums[5] = {0, 10, 30, 60, 100}, order[5] = {1, 3, 4, 2, 0};
    if (!status) {
        assert_memory_equal(sums, words, sizeof sums);
        assert_memory_equal(order, places, sizeof order);
    }
    return status;
}

/* A failure while the cache is used only means a build, so some calls may fail without harm. */
TEST(every_call) {
    uint64_t failures = 0;
    uint64_t tried = 0;
    for (uint64_t n = 1;; n = test_next_fault(n), tried++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, 1);
        abuti_opencl_fail_at(n);
        abut_status status = do_everything(context);
        bool done = abuti_opencl_calls() < n;
        abuti_opencl_fail_at(0);
        if (status && status != ABUT_ERROR_DEVICE)
            fail_msg("call %llu gives %s: %s", (unsigned long long)n, abut_status_name(status),
                     abut_last_error());
        failures += status != ABUT_OK;
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
        assert_int_equal(0, abuti_opencl_live());
        if (!done)
            continue;
        assert_ok(status);
        printf("%llu calls tried, %llu failures\n", (unsigned long long)tried,
               (unsigned long long)failures);
        assert_true(failures > 8 && failures + 20 > tried);
        return;
    }
}

static abut_status open_and_sort(abut_context *context, void *data) {
    return do_everything(context);
}

TEST(every_allocation) {
    char old[1024];
    snprintf(old, sizeof old, "%s", getenv("ABUT_CACHE_DIR"));
    setenv("ABUT_CACHE_DIR", "off", 1); /* a cache that gets no memory is no failure */
    assert_true(test_every_allocation(open_and_sort, NULL) >= 5);
    setenv("ABUT_CACHE_DIR", old, 1);
    assert_int_equal(0, abuti_opencl_live());
}

/* ---- threads ---- */

enum { THREADS = 2, ROUNDS = 6, WORDS = 20000 };

typedef struct worker {
    abut_device *device; /* shared, or null: one of its own in a context of its own */
    int number, wrong;
} worker;

static int sort_and_check(abut_device *device, int number) {
    abuti_queue queue;
    abuti_tools *tools;
    abuti_buffer keys = {0}, values = {0};
    AUTO_FREE uint32_t *words = malloc(WORDS * sizeof *words);
    int wrong = abuti_queue_open(device, &queue) || abuti_tools_create(&queue, &tools) ||
                abuti_buffer_create(device, WORDS, 4, &keys) ||
                abuti_buffer_create(device, WORDS, 4, &values);
    test_random random = {(uint64_t)number};
    for (int round = 0; !wrong && round < ROUNDS; round++) {
        uint64_t sum = 0, after = 0;
        for (int i = 0; i < WORDS; i++)
            sum += words[i] = (uint32_t)test_random_bits(&random);
        wrong = abuti_buffer_upload(&queue, &keys, 0, words, WORDS * 4) ||
                abuti_buffer_upload(&queue, &values, 0, words, WORDS * 4);
        abuti_tools_sort(tools, &keys, &values, WORDS, 0, 32);
        wrong = wrong || abuti_buffer_download(&queue, &values, 0, words, WORDS * 4);
        for (int i = 0; i < WORDS; i++) {
            after += words[i];
            wrong = wrong || (i && words[i - 1] > words[i]);
        }
        wrong = wrong || sum != after;
    }
    abuti_buffer_destroy(&values);
    abuti_buffer_destroy(&keys);
    abuti_tools_destroy(tools);
    abuti_queue_close(&queue);
    return wrong;
}

static void *sort_in_thread(void *data) {
    worker *self = data;
    if (self->device) {
        self->wrong = sort_and_check(self->device, self->number);
        return NULL;
    }
    abut_context *context;
    AUTO(device) device = NULL;
    self->wrong = abut_context_create(NULL, &context) ||
                  abut_device_open(context, test_device_name(), &device);
    if (self->wrong)
        return NULL;
    abut_context_destroy(context);
    self->wrong = sort_and_check(device, self->number);
    return NULL;
}

static void run_threads(abut_device *device) {
    pthread_t ids[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.device = device, .number = i + 1};
        assert_int_equal(0, pthread_create(&ids[i], NULL, sort_in_thread, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(0, workers[i].wrong);
}

TEST_THREADS(two_threads) {
    abut_device *device = test_device(NULL);
    run_threads(device);
    abut_device_destroy(device);
    run_threads(NULL);
    assert_int_equal(0, abuti_opencl_live());
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(NULL, NULL);
}
