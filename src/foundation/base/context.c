/* The context: allocator, threads, log and progress callback of a caller. */
#include "base/base.h"
#include "base/system.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALIGNMENT 64 /* a cache line, and the widest SIMD register */

struct abut_context {
    abut_context_options options;
    atomic_uint reference_count; /* 0 for the built-in context */
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
#ifdef ABUT_HAS_GLTF
                                   " gltf"
#endif
#ifdef ABUT_HAS_URDF
                                   " urdf"
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
                          "abut_context_create: set both allocate and release, or neither");
    if (!ours.allocate) {
        ours.allocate = allocate_from_libc;
        ours.release = release_to_libc;
    }
    abut_context allocator = {.options = ours};
    abut_context *created = abuti_allocate(&allocator, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    created->options = ours;
    atomic_init(&created->reference_count, 1);
    *context = created;
    return ABUT_OK;
}

abut_context *abuti_context_of(abut_context *context) {
    return context ? context : &built_in;
}

abut_context *abuti_context_retain(abut_context *context) {
    context = abuti_context_of(context);
    if (context != &built_in)
        atomic_fetch_add_explicit(&context->reference_count, 1, memory_order_relaxed);
    return context;
}

void abut_context_destroy(abut_context *context) {
    if (!context || context == &built_in)
        return;
    if (atomic_fetch_sub_explicit(&context->reference_count, 1, memory_order_acq_rel) == 1) {
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

/* ---- progress and cancellation ----
 *
 * The progress callback is called only on the thread that entered the library. Worker threads run
 * tasks on behalf of that thread, their owner, and read its flag to see that the work is cancelled.
 * The owner clears the flag when it converts it into a status outside all tasks.
 */

typedef struct thread_state {
    struct thread_state *owner; /* the thread whose task this thread runs; null = its own */
    abut_context *working;      /* its callback and threads are used; null = those of each object.
                                   abuti_context_enter() sets it, and tasks inherit it */
    uint32_t depth;             /* nesting depth of tasks */
    atomic_bool stopped;
    double next;     /* time of the next call of the callback */
    double fraction; /* the last one reported */
} thread_state;

static _Thread_local thread_state this_thread;

double abuti_progress_interval = 0.02;

abut_context *abuti_context_enter(abut_context *context) {
    abut_context *before = this_thread.working;
    if (!before)
        this_thread.working = context;
    return before;
}

void abuti_context_leave(abut_context *before) {
    this_thread.working = before;
}

static abut_context *working_context(abut_context *context) {
    return this_thread.working ? this_thread.working : context;
}

/* The callback may call the library with contexts of its own, so `working` is reset meanwhile. */
static bool call_progress(abut_context *context, const char *stage, double fraction) {
    abut_context *before = this_thread.working;
    if (!context->options.progress)
        return true;
    this_thread.working = NULL;
    bool continues = context->options.progress(context->options.progress_user, stage, fraction);
    this_thread.working = before;
    return continues;
}

bool abuti_stop(abut_context *context, const char *stage) {
    thread_state *owner = this_thread.owner ? this_thread.owner : &this_thread;
    context = working_context(context);
    if (atomic_load_explicit(&owner->stopped, memory_order_relaxed))
        return true;
    if (owner != &this_thread || !context->options.progress)
        return false;
    double now = abuti_seconds();
    if (now < this_thread.next)
        return false;
    this_thread.next = now + abuti_progress_interval;
    bool stop = !call_progress(context, stage, this_thread.fraction);
    atomic_store_explicit(&this_thread.stopped, stop, memory_order_relaxed);
    return stop;
}

abut_status abuti_stop_status(const char *stage) {
    thread_state *owner = this_thread.owner ? this_thread.owner : &this_thread;
    if (!atomic_load_explicit(&owner->stopped, memory_order_relaxed))
        return ABUT_OK;
    if (!this_thread.depth)
        atomic_store_explicit(&this_thread.stopped, false, memory_order_relaxed);
    return abuti_fail(ABUT_ERROR_CANCELLED, "%s: cancelled by the progress callback", stage);
}

abut_status abuti_progress(abut_context *context, const char *stage, double fraction) {
    abut_status status = abuti_stop_status(stage);
    if (status)
        return status;
    this_thread.fraction = fraction < 1 ? fraction : 0; /* after the end, other work begins */
    if (call_progress(working_context(context), stage, fraction))
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_CANCELLED, "%s: cancelled by the progress callback", stage);
}

void abuti_set_fraction(double fraction) {
    if (!this_thread.owner)
        this_thread.fraction = fraction;
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
        abuti_fail(ABUT_ERROR_MEMORY, "out of memory: cannot allocate %zu bytes", padded);
    return memory;
}

void *abuti_allocate_zeroed(abut_context *context, size_t count, size_t element_bytes) {
    void *memory = abuti_allocate(context, count, element_bytes);
    if (memory)
        memset(memory, 0, count * element_bytes);
    return memory;
}

abut_status abuti_allocate_list(abut_context *context, const abuti_allocation *list, size_t count) {
    size_t made = 0;
    for (; made < count; made++) {
        const abuti_allocation *a = &list[made];
        void *array = (a->is_zeroed ? abuti_allocate_zeroed : abuti_allocate)(context, a->count,
                                                                              a->element_bytes);
        if (!array)
            break;
        memcpy(a->pointer, &array, sizeof array);
    }
    for (size_t i = 0; i < count && made < count; i++) {
        void *array = NULL, *none = NULL;
        if (i < made)
            memcpy(&array, list[i].pointer, sizeof array);
        abuti_release(context, array);
        memcpy(list[i].pointer, &none, sizeof none);
    }
    return made < count ? ABUT_ERROR_MEMORY : ABUT_OK;
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

void *abuti_vector_take(abut_context *context, abuti_vector *vector, size_t element_bytes) {
    void *taken = vector->data;
    if (vector->count < vector->room || !taken) {
        taken = abuti_allocate(context, vector->count, element_bytes);
        if (taken && vector->count)
            memcpy(taken, vector->data, vector->count * element_bytes);
        abuti_release(context, vector->data);
    }
    *vector = (abuti_vector){0};
    return taken;
}

/* ---- tasks ---- */

/* Results do not depend on the number of threads. Requests for thousands (also by ABUT_THREADS)
 * are limited to the number of processors, or to 16 if there are fewer. */
uint32_t abuti_context_threads(const abut_context *context) {
    const abut_context *working = this_thread.working ? this_thread.working : context;
    uint32_t processors = abuti_pool_processors(), request = working->options.thread_count;
    uint32_t limit = processors > 16 ? processors : 16;
    if (!request)
        request = abuti_pool_default_threads();
    return request < limit ? request : limit;
}

typedef struct range_job {
    abut_context *context;
    abut_context *working; /* of the thread that started the loop */
    thread_state *owner;
    const char *stage; /* null = all chunks run, even if the callback cancels */
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
    thread_state *before = this_thread.owner;
    abut_context *working = this_thread.working;
    this_thread.owner = job->owner == &this_thread ? NULL : job->owner;
    this_thread.working = job->working;
    this_thread.depth++;
    if (!job->stage || !abuti_stop(job->context, job->stage))
        job->body(job->data, chunk, begin, begin + (left < job->grain ? left : job->grain));
    this_thread.depth--;
    this_thread.working = working;
    this_thread.owner = before;
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
    job->working = this_thread.working;
    job->owner = this_thread.owner ? this_thread.owner : &this_thread;
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

typedef struct page_range {
    unsigned char *begin;
    size_t before; /* distance of `begin` from the start of its large page */
} page_range;

static void populate_pages_task(void *data, size_t chunk, size_t begin, size_t end) {
    const page_range *p = data;
    (void)chunk;
    begin = begin < p->before ? p->before : begin;
    abuti_system_populate_pages(p->begin + (begin - p->before), end - begin);
}

void abuti_populate_pages(abut_context *context, void *memory, size_t bytes) {
    page_range p = {memory, (uintptr_t)memory % ABUTI_LARGE_PAGE};
    abuti_parallel_for(context, p.before + bytes, ABUTI_LARGE_PAGE, populate_pages_task, &p);
}

/* ---- public functions for code on top of the library ---- */

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
