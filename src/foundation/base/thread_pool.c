/* The thread pool: helper threads that share the tasks of the calling thread.
 *
 * Helpers are started on first use and kept; all callers share them. A caller runs tasks itself and
 * never waits for a helper that has not started a task. At the end it waits only for helpers that
 * are running one.
 *
 * On a machine that is busy with other programs this wait can cost more than the helpers
 * contribute: a helper that is preempted for milliseconds delays a loop of microseconds. The pool
 * therefore sums the processor time of helpers and the waiting time of callers. If callers waited
 * longer than helpers worked, loops run without helpers for a while (the serial phase). During that
 * phase one helper polls for long loops and wakes the others for these.
 *
 * Why not OpenMP: waiting threads of libgomp spin (two threads on a busy machine took 3 times as
 * long as one), libgomp ends the process if it cannot start a thread, children of fork() deadlock,
 * and ThreadSanitizer cannot analyse it.
 */
#include "base/base.h"
#include "base/system.h"

#include <stdatomic.h>
#include <stdlib.h>

#ifdef ABUT_HAS_THREADS

enum { HELPERS_MAX = 1023 };

/* A thread spins this long before it sleeps; waking it takes as long. */
static const double SPIN_SECONDS = 20e-6;
/* Seconds of work and waiting between two decisions about a serial phase. */
static const double DECISION_SECONDS = 0.02;
/* The first serial phase; each further one is twice as long, up to the maximum. */
static const double SERIAL_SECONDS = 0.05;
static const double SERIAL_SECONDS_MAX = 1.6;
/* A loop that runs longer gets helpers even in a serial phase. */
static const double LONG_LOOP_SECONDS = 0.005;

typedef struct pool_job {
    struct pool_job *next;
    void (*task)(void *data, uint32_t index);
    void *data;
    uint32_t count;
    atomic_uint started; /* tasks that run or have run */
    uint32_t wanted;     /* helpers that may still join, */
    double open_at;      /* but not before this time */
    atomic_uint helpers; /* running; changed under the lock */
    double helped;       /* processor seconds of the helpers that have finished */
} pool_job;

static struct {
    pthread_mutex_t lock; /* protects all fields below */
    pthread_cond_t call;  /* a job was added, or the pool ends */
    pthread_cond_t done;  /* the last helper of a job has finished */
    pool_job *jobs;
    pthread_t helper[HELPERS_MAX];
    uint32_t helper_count, asleep;
    bool ending, has_fork_handlers;
    bool is_polled;        /* a helper polls for long loops */
    double helped, waited; /* seconds since the last decision */
    double serial_seconds; /* length of the last serial phase, */
    double serial_until;   /* and its end */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .call = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static atomic_uint calls;             /* jobs so far */
static _Thread_local bool is_in_task; /* a task of this thread is running */

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- helpers ---- */

static void run_job_chunks(pool_job *job) {
    uint32_t index;
    is_in_task = true;
    while ((index = atomic_fetch_add_explicit(&job->started, 1, memory_order_relaxed)) < job->count)
        job->task(job->data, index);
    is_in_task = false;
}

/* Spins for SPIN_SECONDS; returns whether *word changed from `old`. */
static bool spin_until_changed(atomic_uint *word, unsigned old) {
    for (double end = abuti_seconds() + SPIN_SECONDS; abuti_seconds() < end;)
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return true;
            abuti_system_pause();
        }
    return false;
}

static pool_job *find_open_job(double now) {
    pool_job *job = pool.jobs;
    while (job && (!job->wanted || job->open_at > now ||
                   atomic_load_explicit(&job->started, memory_order_relaxed) >= job->count))
        job = job->next;
    return job;
}

static void wake_helpers(uint32_t wanted) {
    for (uint32_t i = 0; i < wanted && i < pool.asleep; i++)
        pthread_cond_signal(&pool.call);
}

static void help_with_job(pool_job *job) {
    job->wanted--;
    if (job->open_at > 0)
        wake_helpers(job->wanted);
    job->open_at = 0;
    atomic_fetch_add_explicit(&job->helpers, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    double start = processor_seconds();
    run_job_chunks(job);
    double seconds = processor_seconds() - start;
    pthread_mutex_lock(&pool.lock);
    job->helped += seconds;
    if (atomic_fetch_sub_explicit(&job->helpers, 1, memory_order_release) == 1)
        pthread_cond_broadcast(&pool.done);
}

/* In a serial phase: sleeps as long as a short loop may run. */
static void poll_long_loops(void) {
    const struct timespec pause = {.tv_nsec = (long)(1e9 * LONG_LOOP_SECONDS)};
    pool.is_polled = true;
    pthread_mutex_unlock(&pool.lock);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&pool.lock);
    pool.is_polled = false;
}

static void wait_for_job(void) {
    unsigned seen = atomic_load_explicit(&calls, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    spin_until_changed(&calls, seen);
    pthread_mutex_lock(&pool.lock);
    if (atomic_load_explicit(&calls, memory_order_relaxed) == seen && !pool.ending) {
        pool.asleep++;
        pthread_cond_wait(&pool.call, &pool.lock);
        pool.asleep--;
    }
}

static void *helper_main(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    while (!pool.ending) {
        double now = abuti_seconds();
        pool_job *job = find_open_job(now);
        if (job)
            help_with_job(job);
        else if (now < pool.serial_until + LONG_LOOP_SECONDS && !pool.is_polled)
            poll_long_loops();
        else
            wait_for_job();
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* ---- start and end ---- */

#ifndef _WIN32
static void lock_before_fork(void) {
    pthread_mutex_lock(&pool.lock);
}

static void unlock_after_fork(void) {
    pthread_mutex_unlock(&pool.lock);
}

/* The child of a fork has no helpers and starts its own. */
static void reset_in_child(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.call, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.jobs = NULL;
    pool.helper_count = pool.asleep = 0;
    pool.is_polled = false;
}
#endif

static void start_helpers(uint32_t wanted) {
    if (pool.ending)
        return;
#ifndef _WIN32
    if (!pool.has_fork_handlers)
        pool.has_fork_handlers =
            pthread_atfork(lock_before_fork, unlock_after_fork, reset_in_child) == 0;
    if (!pool.has_fork_handlers)
        return;
#endif
    while (pool.helper_count < wanted && pool.helper_count < HELPERS_MAX &&
           abuti_system_start_thread(&pool.helper[pool.helper_count], helper_main))
        pool.helper_count++;
}

/* Unloading the library must not leave a thread behind. If a job is active, the process ends by
 * exit() inside a task; then the helpers are not joined. On Windows the loader calls this under a
 * lock that ending threads need; there abuti_system_start_thread() prevents unloading. */
#if defined(__GNUC__) && !defined(_WIN32)
__attribute__((destructor)) static void end_helpers(void) {
    pthread_mutex_lock(&pool.lock);
    bool idle = !pool.jobs;
    pool.ending = true;
    pthread_cond_broadcast(&pool.call);
    pthread_mutex_unlock(&pool.lock);
    for (uint32_t i = 0; idle && i < pool.helper_count; i++)
        pthread_join(pool.helper[i], NULL);
}
#endif

/* ---- jobs ---- */

static void add_job(pool_job *job, uint32_t helpers) {
    double now = abuti_seconds();
    pthread_mutex_lock(&pool.lock);
    start_helpers(helpers);
    job->wanted = helpers;
    job->next = pool.jobs;
    pool.jobs = job;
    if (now < pool.serial_until) {
        job->open_at = now + LONG_LOOP_SECONDS;
        wake_helpers(!pool.is_polled);
    } else {
        atomic_fetch_add_explicit(&calls, 1, memory_order_release);
        wake_helpers(helpers);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* Decides between helpers and a serial phase. The caller holds the lock. */
static void decide_serial_phase(double helped, double waited) {
    pool.helped += helped;
    pool.waited += waited;
    if (pool.helped + pool.waited < DECISION_SECONDS)
        return;
    if (pool.waited > pool.helped) {
        double longer = pool.serial_seconds > 0 ? 2 * pool.serial_seconds : SERIAL_SECONDS;
        pool.serial_seconds = longer < SERIAL_SECONDS_MAX ? longer : SERIAL_SECONDS_MAX;
        pool.serial_until = abuti_seconds() + pool.serial_seconds;
    } else
        pool.serial_seconds = 0;
    pool.helped = pool.waited = 0;
}

static void finish_job(pool_job *job) {
    pthread_mutex_lock(&pool.lock);
    pool_job **link = &pool.jobs;
    while (*link && *link != job)
        link = &(*link)->next;
    double waited = 0;
    unsigned helpers = atomic_load_explicit(&job->helpers, memory_order_acquire);
    if (*link)
        *link = job->next;
    else /* the child of a fork in a task: the helpers are in its parent */
        helpers = 0;
    if (helpers) {
        double start = abuti_seconds();
        pthread_mutex_unlock(&pool.lock);
        while (helpers && spin_until_changed(&job->helpers, helpers))
            helpers = atomic_load_explicit(&job->helpers, memory_order_acquire);
        pthread_mutex_lock(&pool.lock);
        while (atomic_load_explicit(&job->helpers, memory_order_acquire))
            pthread_cond_wait(&pool.done, &pool.lock);
        waited = abuti_seconds() - start;
    }
    decide_serial_phase(job->helped, waited);
    pthread_mutex_unlock(&pool.lock);
}

#endif

void abuti_pool_run(uint32_t threads, uint32_t count, void (*task)(void *data, uint32_t index),
                    void *data) {
#ifdef ABUT_HAS_THREADS
    if (threads > 1 && count > 1 && !is_in_task) {
        pool_job job = {.task = task, .data = data, .count = count};
        add_job(&job, (threads < count ? threads : count) - 1);
        run_job_chunks(&job);
        finish_job(&job);
        return;
    }
#else
    (void)threads;
#endif
    for (uint32_t i = 0; i < count; i++)
        task(data, i);
}

uint32_t abuti_pool_processors(void) {
#ifdef ABUT_HAS_THREADS
    static atomic_uint known;
    uint32_t processors = atomic_load_explicit(&known, memory_order_relaxed);
    if (!processors) {
        processors = abuti_system_processors();
        atomic_store_explicit(&known, processors, memory_order_relaxed);
    }
    return processors;
#else
    return 1;
#endif
}

uint32_t abuti_pool_default_threads(void) {
#ifdef ABUT_HAS_THREADS
    const char *variable = getenv("ABUT_THREADS");
    long number = variable ? strtol(variable, NULL, 10) : 0;
    if (number > 0)
        return number < INT32_MAX ? (uint32_t)number : INT32_MAX;
#endif
    return abuti_pool_processors();
}
