#include "support/support.h"

#include "base/base.h"
#include "base/system.h"

#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(TEST_ADDRESS_SANITIZER) && defined(__GLIBC__)
#include <execinfo.h>
#define TEST_PATHS
#endif

/* ---- programs ---- */

enum { TEST_MAX = 1024 }; /* in a program */

static struct CMUnitTest tests[TEST_MAX];
static const char *test_groups[TEST_MAX]; /* whose test each is */
static size_t test_count;
static const char *running;  /* the group */
static bool threads_allowed; /* in the test that runs now */
static bool leaks_ignored;

static int allow_threads(void **state) {
    (void)state;
    threads_allowed = true;
    return 0;
}

static int forbid_threads(void **state) {
    (void)state;
    threads_allowed = false;
    return 0;
}

static bool is_set(const char *variable) {
    const char *text = getenv(variable);
    return text && text[0];
}

bool test_thorough(void) {
    return is_set("ABUT_TEST_THOROUGH");
}

bool test_brief(void) {
#if defined(TEST_ADDRESS_SANITIZER)
    return !test_thorough();
#else
    return is_set("ABUT_TEST_THREADS") && !test_thorough();
#endif
}

void test_add(const char *group, const char *name, void (*test)(void **state), bool threads) {
    if (!threads && is_set("ABUT_TEST_THREADS") && !test_thorough())
        return;
    if (test_count == TEST_MAX) {
        fprintf(stderr, "%s: too many tests for one program\n", name);
        abort();
    }
    test_groups[test_count] = group;
    tests[test_count++] =
        (struct CMUnitTest){.name = name,
                            .test_func = test,
                            .setup_func = threads ? allow_threads : forbid_threads};
}

int test_run(int (*before)(void **state), int (*after)(void **state)) {
    static struct CMUnitTest chosen[TEST_MAX];
    size_t count = 0;
    for (size_t i = 0; i < test_count; i++)
        if (!strcmp(test_groups[i], running))
            chosen[count++] = tests[i];
    if (count == 0) {
        fprintf(stderr, "%s: a group without a test\n", running);
        return 1;
    }
    abuti_progress_interval = HUGE_VAL; /* so that calls of callbacks can be counted */
    return _cmocka_run_group_tests(running, chosen, count, before, after);
}

int test_main(const test_group *groups, size_t group_count, int argc, char **argv) {
    for (size_t i = 0; i < group_count && argc > 1; i++) {
        const test_group *group = &groups[i];
        if (strcmp(group->name, argv[1]))
            continue;
        running = group->name;
        if (group->run)
            return group->run();
        return group->run_arguments ? group->run_arguments(argc - 1, argv + 1)
                                    : test_run(NULL, NULL);
    }
    fprintf(stderr, "usage: %s GROUP; the groups are:", argv[0]);
    for (size_t i = 0; i < group_count; i++)
        fprintf(stderr, " %s", groups[i].name);
    fprintf(stderr, "\n");
    return 2;
}

void test_ignore_leaks(void) {
    leaks_ignored = true;
}

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { /* called by LeakSanitizer at the end of a program */
    return leaks_ignored;
}

/* ---- memory ---- */

static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

typedef union block_head {
    size_t bytes;
    unsigned char padding[64]; /* keeps what follows aligned */
} block_head;

#ifdef TEST_PATHS
enum { PATHS = 1 << 14, DEPTH = 64 };

struct test_paths {
    uint64_t hash[PATHS]; /* of the callers; 0 = none */
    uint32_t count[PATHS];
};

/* Whether the path by which the caller was called is there for the 1st, 2nd, 4th, 8th, ... time. */
static bool is_rare(test_paths *paths) {
    void *callers[DEPTH];
    const int depth = backtrace(callers, DEPTH);
    uint64_t hash = 1;
    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uintptr_t)callers[i]) * 0xd1342543de82ef95u;
    hash = (hash ^ hash >> 29) | 1;
    for (uint32_t i = 0; i < PATHS; i++) {
        const uint64_t at = (hash + i) % PATHS;
        if (paths->hash[at] && paths->hash[at] != hash)
            continue;
        paths->hash[at] = hash;
        const uint32_t count = ++paths->count[at];
        return (count & (count - 1)) == 0;
    }
    return true;
}
#else
static bool is_rare(test_paths *paths) {
    (void)paths;
    return true;
}
#endif

static void *counted_allocate(void *user, size_t bytes, size_t alignment) {
    test_memory *memory = user;
    assert_true(alignment <= 64);
    pthread_mutex_lock(&memory_lock);
    bool refused = ++memory->calls == memory->fail_at;
    if (refused && memory->paths && !is_rare(memory->paths)) {
        memory->fail_at++; /* the next, perhaps */
        refused = false;
    }
    if (!refused) {
        memory->live_count++;
        memory->live_bytes += bytes;
        if (memory->peak_bytes < memory->live_bytes)
            memory->peak_bytes = memory->live_bytes;
    }
    pthread_mutex_unlock(&memory_lock);
    if (refused)
        return NULL;
    block_head *head = abuti_system_allocate(sizeof *head + (bytes + 63) / 64 * 64, 64);
    assert_non_null(head);
    head->bytes = bytes;
    return head + 1;
}

static void counted_release(void *user, void *block) {
    test_memory *memory = user;
    block_head *head = (block_head *)block - 1;
    pthread_mutex_lock(&memory_lock);
    assert_true(memory->live_count > 0);
    memory->live_count--;
    memory->live_bytes -= head->bytes;
    pthread_mutex_unlock(&memory_lock);
    abuti_system_release(head);
}

/* ---- tasks on plain threads ---- */

typedef struct job {
    pthread_mutex_t lock;
    uint32_t next, count;
    void (*task)(void *data, uint32_t index);
    void *data;
} job;

static void *work_off(void *user) {
    job *work = user;
    for (;;) {
        pthread_mutex_lock(&work->lock);
        uint32_t mine = work->next < work->count ? work->next++ : UINT32_MAX;
        pthread_mutex_unlock(&work->lock);
        if (mine == UINT32_MAX)
            return NULL;
        work->task(work->data, mine);
    }
}

#define MOST_THREADS 16

static void run_on_threads(void *user, uint32_t count, void (*task)(void *, uint32_t), void *data) {
    uint32_t threads = (uint32_t)(uintptr_t)user;
    job work = {.count = count, .task = task, .data = data};
    pthread_t ids[MOST_THREADS];
    pthread_mutex_init(&work.lock, NULL);
    for (uint32_t i = 1; i < threads; i++)
        assert_int_equal(0, pthread_create(&ids[i], NULL, work_off, &work));
    work_off(&work);
    for (uint32_t i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_mutex_destroy(&work.lock);
}

abut_context *test_context(test_memory *memory, uint32_t threads) {
    assert_true(threads <= MOST_THREADS);
    if (threads > 1 && !threads_allowed)
        fail_msg("only TEST_THREADS() may run tasks on threads");
    abut_context_options options = abut_context_options_default();
    options.thread_count = 1;
    if (memory) {
        options.memory_user = memory;
        options.allocate = counted_allocate;
        options.release = counted_release;
    }
    if (threads > 1) {
        options.task_user = (void *)(uintptr_t)threads;
        options.run_tasks = run_on_threads;
    }
    uint64_t fail_at = memory ? memory->fail_at : 0;
    if (memory)
        memory->fail_at = 0;
    abut_context *context;
    assert_int_equal(ABUT_OK, abut_context_create(&options, &context));
    if (memory) {
        memory->calls = 0;
        memory->fail_at = fail_at;
    }
    return context;
}

abut_context *test_watched(bool (*progress)(void *user, const char *stage, double fraction),
                           void *user) {
    abut_context_options options = abut_context_options_default();
    abut_context *context = NULL;
    options.progress = progress;
    options.progress_user = user;
    assert_ok(abut_context_create(&options, &context));
    return context;
}

abut_context *test_logged(void (*log)(void *user, abut_log_level level, const char *message),
                          void *user) {
    abut_context_options options = abut_context_options_default();
    abut_context *context = NULL;
    options.log = log;
    options.log_user = user;
    assert_ok(abut_context_create(&options, &context));
    return context;
}

abut_mesh *test_mesh(abut_context *context, const void *positions, uint32_t vertex_count,
                     const void *indices, uint32_t triangle_count) {
    abut_mesh_input input =
        abut_mesh_input_doubles(positions, vertex_count, indices, triangle_count);
    abut_mesh *mesh = NULL;
    assert_ok(abut_mesh_create(context, &input, &mesh));
    return mesh;
}

uint64_t test_next_fault(uint64_t n) {
#if defined(TEST_ADDRESS_SANITIZER)
    return n + 1;
#else
    return n + (test_thorough() || n < 8 ? 1 : 8);
#endif
}

uint64_t test_every_allocation(abut_status (*work)(abut_context *context, void *data), void *data) {
    test_paths *paths = NULL;
#ifdef TEST_PATHS
    if (!test_thorough())
        paths = calloc(1, sizeof *paths);
#endif
    for (uint64_t n = 1;; n = test_next_fault(n)) {
        test_memory memory = {.fail_at = n, .paths = paths};
        abut_context *context = test_context(&memory, 1);
        abut_status status = work(context, data);
        n = memory.fail_at;
        bool done = memory.calls < n;
        assert_int_equal(done ? ABUT_OK : ABUT_ERROR_MEMORY, status);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
        if (done) {
            free(paths);
            return memory.calls;
        }
    }
}

/* ---- random ---- */

static uint64_t seed; /* added to every state: 0 unless ABUT_TEST_SEED says otherwise */

__attribute__((constructor)) static void read_seed(void) {
    const char *text = getenv("ABUT_TEST_SEED");
    seed = text ? strtoull(text, NULL, 10) * 0xd1342543de82ef95u : 0;
}

uint64_t test_random_bits(test_random *random) {
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u) + seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double test_random_real(test_random *random, double lo, double hi) {
    return lo + (hi - lo) * ((double)(test_random_bits(random) >> 11) * 0x1p-53);
}

uint32_t test_rounds(uint32_t full) {
    return test_thorough() || full < 8 ? full : full / 8;
}

uint32_t test_random_below(test_random *random, uint32_t bound) {
    return (uint32_t)(((test_random_bits(random) >> 32) * bound) >> 32);
}

/* ---- files ---- */

static char folder[256];

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void) {
    if (!folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/abut-test-XXXXXX", base && base[0] ? base : "/tmp");
#ifdef _WIN32
        assert_non_null(mktemp(folder));
        assert_int_equal(0, abuti_system_make_folder(folder));
#else
        assert_non_null(mkdtemp(folder));
#endif
        atexit(remove_folder);
    }
    return folder;
}

const char *test_path(const char *name) {
    static char paths[16][1024];
    static unsigned turn;
    char *path = paths[turn++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

const char *test_file(const char *name, const void *data, size_t bytes) {
    const char *path = test_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(bytes, fwrite(data, 1, bytes, file));
    assert_int_equal(0, fclose(file));
    return path;
}

char *test_read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    assert_int_equal(0, fseek(file, 0, SEEK_END));
    const size_t size = (size_t)ftell(file);
    char *data = calloc(1, size + 1);
    assert_non_null(data);
    rewind(file);
    assert_int_equal(size, fread(data, 1, size, file));
    fclose(file);
    if (bytes)
        *bytes = size;
    return data;
}

abut_mesh_report test_examine(abut_mesh *mesh) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    abut_topology_destroy(topology);
    return report;
}
