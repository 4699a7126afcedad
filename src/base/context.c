/* The context: who gives memory, who runs tasks, who hears of progress. */
#include "base/base.h"
#include "base/pool.h"
#include "base/system.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALIGNMENT 64 /* a cache line, and the widest SIMD register */

struct abut_context {
    abut_context_options options;
    atomic_uint holds; /* not counted for the built-in context */
};

static void *allocate_from_libc(void *user, size_t bytes, size_t alignment) {
    (void)user;
    return abuti_system_allocate(bytes, alignment); /* bytes is a multiple of the alignment */
}

static void release_to_libc(void *user, void *memory) {
    (void)user;
    abuti_system_release(memory);
}

static abut_context built_in = {
    .options = {.size = sizeof(abut_context_options),
                .allocate = allocate_from_libc,
                .release = release_to_libc},
};

const char *abut_version(void) {
#define TEXT(x) #x
#define DOTTED(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
    return DOTTED(ABUT_VERSION_MAJOR, ABUT_VERSION_MINOR, ABUT_VERSION_PATCH);
}

const char *abut_features(void) {
    static const char features[] = ""
#ifdef ABUT_HAS_THREADS
                                   " threads"
#endif
#ifdef ABUT_HAS_PNG
                                   " png"
#endif
#ifdef ABUT_HAS_GLTF
                                   " gltf"
#endif
#ifdef ABUT_HAS_ASSIMP
                                   " assimp"
#endif
#ifdef ABUT_HAS_OPENCL
                                   " opencl"
#endif
#ifdef ABUT_HAS_ZSTD
                                   " zstd"
#endif
        ;
    return features[0] ? features + 1 : features;
}

abut_status abut_context_create(const abut_context_options *options, abut_context **context) {
    if (!context)
        return abuti_null(__func__, "context");
    abut_context_options ours = abut_context_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_context_create");
    if (status)
        return status;
    if (!ours.allocate != !ours.release)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_context_create: give both allocate and release, or neither");
    if (!ours.allocate) {
        ours.allocate = allocate_from_libc;
        ours.release = release_to_libc;
    }
    abut_context maker = {.options = ours};
    abut_context *made = abuti_allocate(&maker, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->options = ours;
    atomic_init(&made->holds, 1);
    *context = made;
    return ABUT_OK;
}

abut_context *abuti_context_of(abut_context *context) {
    return context ? context : &built_in;
}

abut_context *abuti_context_retain(abut_context *context) {
    context = abuti_context_of(context);
    if (context != &built_in)
        atomic_fetch_add_explicit(&context->holds, 1, memory_order_relaxed);
    return context;
}

void abut_context_destroy(abut_context *context) {
    if (!context || context == &built_in)
        return;
    if (atomic_fetch_sub_explicit(&context->holds, 1, memory_order_acq_rel) == 1) {
        abut_context last = {.options = context->options};
        abuti_release(&last, context);
    }
}

void abuti_log(abut_context *context, abut_log_level level, const char *format, ...) {
    if (!context->options.log)
        return;
    char raw[1024], message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    abuti_escape(raw, message, sizeof message);
    context->options.log(context->options.log_user, level, message);
}

/* ---- progress, and stopping from deep inside ----
 *
 * The callback is asked on the thread that entered the library alone. What workers do for it they
 * do as its helpers, and see by its flag that they shall stop. The flag falls when its thread,
 * outside all tasks, makes a status of it. */

typedef struct thread_state {
    struct thread_state *owner; /* whose task this thread runs; null = its own */
    abut_context *working;      /* whose callback and threads are used; null = those of each object.
                                 * abuti_context_enter() sets it, and tasks inherit it */
    uint32_t depth;             /* of tasks */
    atomic_bool stopped;
    double next;     /* when to ask again */
    double fraction; /* that was told last */
} thread_state;

static _Thread_local thread_state mine;

double abuti_ask_seconds = 0.02;

abut_context *abuti_context_enter(abut_context *context) {
    abut_context *before = mine.working;
    if (!before)
        mine.working = context;
    return before;
}

void abuti_context_leave(abut_context *before) {
    mine.working = before;
}

static abut_context *working_context(abut_context *context) {
    return mine.working ? mine.working : context;
}

/* What the callback itself asks the library for has contexts of its own. */
static bool call_progress(abut_context *context, const char *stage, double fraction) {
    abut_context *before = mine.working;
    if (!context->options.progress)
        return true;
    mine.working = NULL;
    bool goes_on = context->options.progress(context->options.progress_user, stage, fraction);
    mine.working = before;
    return goes_on;
}

bool abuti_stop(abut_context *context, const char *stage) {
    thread_state *owner = mine.owner ? mine.owner : &mine;
    context = working_context(context);
    if (atomic_load_explicit(&owner->stopped, memory_order_relaxed))
        return true;
    if (owner != &mine || !context->options.progress)
        return false;
    double now = abuti_seconds();
    if (now < mine.next)
        return false;
    mine.next = now + abuti_ask_seconds;
    bool stop = !call_progress(context, stage, mine.fraction);
    atomic_store_explicit(&mine.stopped, stop, memory_order_relaxed);
    return stop;
}

abut_status abuti_stop_status(const char *stage) {
    thread_state *owner = mine.owner ? mine.owner : &mine;
    if (!atomic_load_explicit(&owner->stopped, memory_order_relaxed))
        return ABUT_OK;
    if (!mine.depth)
        atomic_store_explicit(&mine.stopped, false, memory_order_relaxed);
    return abuti_fail(ABUT_ERROR_CANCELLED, "%s: cancelled by the progress callback", stage);
}

abut_status abuti_progress(abut_context *context, const char *stage, double fraction) {
    abut_status status = abuti_stop_status(stage);
    if (status)
        return status;
    mine.fraction = fraction < 1 ? fraction : 0; /* what comes after the end is something else */
    if (call_progress(working_context(context), stage, fraction))
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_CANCELLED, "%s: cancelled by the progress callback", stage);
}

void abuti_set_fraction(double fraction) {
    if (!mine.owner)
        mine.fraction = fraction;
}

/* ---- memory ---- */

bool abuti_multiply_overflows(size_t a, size_t b, size_t *product) {
    *product = a * b;
    return a && *product / a != b;
}

bool abuti_add_overflows(size_t a, size_t b, size_t *sum) {
    *sum = a + b;
    return *sum < a;
}

void *abuti_allocate(abut_context *context, size_t count, size_t element_bytes) {
    size_t bytes, padded;
    if (abuti_multiply_overflows(count, element_bytes, &bytes) ||
        abuti_add_overflows(bytes, ALIGNMENT - 1, &padded)) {
        abuti_fail(ABUT_ERROR_MEMORY, "out of memory: %zu elements of %zu bytes", count,
                   element_bytes);
        return NULL;
    }
    padded &= ~(size_t)(ALIGNMENT - 1);
    if (!padded)
        padded = ALIGNMENT;
    void *memory = context->options.allocate(context->options.memory_user, padded, ALIGNMENT);
    if (!memory)
        abuti_fail(ABUT_ERROR_MEMORY, "out of memory: %zu bytes were refused", padded);
    return memory;
}

void *abuti_allocate_zeroed(abut_context *context, size_t count, size_t element_bytes) {
    void *memory = abuti_allocate(context, count, element_bytes);
    if (memory)
        memset(memory, 0, count * element_bytes);
    return memory;
}

void abuti_release(abut_context *context, void *memory) {
    if (memory)
        context->options.release(context->options.memory_user, memory);
}

void abuti_release_list(abut_context *context, void *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        abuti_release(context, list[i]);
}

abut_status abuti_grow(abut_context *context, void *array, size_t count, size_t wanted,
                       size_t element_bytes, size_t *room) {
    void *old, *larger;
    memcpy(&old, array, sizeof old);
    if (wanted <= *room)
        return ABUT_OK;
    size_t more = *room + *room / 2 + 8;
    more = wanted > more ? wanted : more;
    if (!(larger = abuti_allocate(context, more, element_bytes)))
        return ABUT_ERROR_MEMORY;
    if (count)
        memcpy(larger, old, count * element_bytes);
    abuti_release(context, old);
    memcpy(array, &larger, sizeof larger);
    *room = more;
    return ABUT_OK;
}

abut_status abuti_vector_reserve(abut_context *context, abuti_vector *vector, size_t room,
                                 size_t element_bytes) {
    return abuti_grow(context, &vector->data, vector->count, room ? room : 1, element_bytes,
                      &vector->room);
}

/* ---- tasks ---- */

/* Answers do not depend on the number, so a wish for thousands (also by OMP_NUM_THREADS) is cut to
 * what can be of use. */
uint32_t abuti_context_threads(const abut_context *context) {
    const abut_context *working = mine.working ? mine.working : context;
    uint32_t processors = abuti_pool_processors(), wish = working->options.thread_count;
    uint32_t most = processors > 16 ? processors : 16;
    if (!wish)
        wish = abuti_pool_offered();
    return wish < most ? wish : most;
}

typedef struct range_job {
    abut_context *context;
    abut_context *working; /* of the thread that began it */
    thread_state *owner;
    const char *stage; /* null = all chunks run, whatever the callback says */
    size_t count, grain;
    void (*body)(void *data, size_t chunk, size_t begin, size_t end);
    void *data;
    size_t first_chunk;
} range_job;

static void run_chunk(void *data, uint32_t index) {
    const range_job *job = data;
    size_t chunk = job->first_chunk + index;
    size_t begin = chunk * job->grain;
    size_t left = job->count - begin;
    thread_state *before = mine.owner;
    abut_context *working = mine.working;
    mine.owner = job->owner == &mine ? NULL : job->owner;
    mine.working = job->working;
    mine.depth++;
    if (!job->stage || !abuti_stop(job->context, job->stage))
        job->body(job->data, chunk, begin, begin + (left < job->grain ? left : job->grain));
    mine.depth--;
    mine.working = working;
    mine.owner = before;
}

static void run_tasks(abut_context *context, uint32_t count, range_job *job) {
    if (count > 1 && context->options.run_tasks) {
        context->options.run_tasks(context->options.task_user, count, run_chunk, job);
        return;
    }
    abuti_pool_run(abuti_context_threads(context), count, run_chunk, job);
}

static void run_range(range_job *job) {
    size_t chunks = abuti_chunk_count(job->count, job->grain);
    job->context = working_context(job->context);
    job->working = mine.working;
    job->owner = mine.owner ? mine.owner : &mine;
    while (job->first_chunk < chunks) { /* more than one round only beyond 2^31 chunks */
        size_t left = chunks - job->first_chunk;
        uint32_t now = left < INT32_MAX ? (uint32_t)left : INT32_MAX;
        run_tasks(job->context, now, job);
        job->first_chunk += now;
    }
}

void abuti_parallel_for(abut_context *context, size_t count, size_t grain,
                        void (*body)(void *data, size_t chunk, size_t begin, size_t end),
                        void *data) {
    range_job job = {
        .context = context, .count = count, .grain = grain, .body = body, .data = data};
    run_range(&job);
}

abut_status abuti_parallel_try(abut_context *context, const char *stage, size_t count, size_t grain,
                               void (*body)(void *data, size_t chunk, size_t begin, size_t end),
                               void *data) {
    range_job job = {.context = context,
                     .stage = stage,
                     .count = count,
                     .grain = grain,
                     .body = body,
                     .data = data};
    run_range(&job);
    return abuti_stop_status(stage);
}

typedef struct pages {
    unsigned char *begin;
    size_t before; /* bytes of its large page that stand before it */
} pages;

static void pages_task(void *data, size_t chunk, size_t begin, size_t end) {
    const pages *p = data;
    (void)chunk;
    begin = begin < p->before ? p->before : begin;
    abuti_system_get_pages(p->begin + (begin - p->before), end - begin);
}

void abuti_get_pages(abut_context *context, void *memory, size_t bytes) {
    pages p = {memory, (uintptr_t)memory % ABUTI_LARGE_PAGE};
    abuti_parallel_for(context, p.before + bytes, ABUTI_LARGE_PAGE, pages_task, &p);
}

/* ---- for code on top ---- */

void *abut_context_allocate(abut_context *context, size_t count, size_t element_bytes) {
    return abuti_allocate(abuti_context_of(context), count, element_bytes);
}

void abut_context_free(abut_context *context, void *memory) {
    abuti_release(abuti_context_of(context), memory);
}

void abut_context_parallel_for(abut_context *context, size_t count, size_t grain,
                               void (*body)(void *data, size_t chunk, size_t begin, size_t end),
                               void *data) {
    if (body)
        abuti_parallel_for(abuti_context_of(context), count, grain ? grain : 1, body, data);
}

/* ---- time ---- */

double abuti_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
