/* Threads that help the one that enters the library.
 *
 * Helpers are started when first needed and kept; all callers share them. A caller works itself and
 * never waits for a helper that has not begun, only, at the end, for those in the midst of a task.
 * Where other programs take the processors that wait costs more than helpers bring: one that is
 * put aside for some milliseconds holds up a loop of some microseconds. So what helpers worked (in
 * processor time) and how long callers waited for them is summed up; where they waited longer, they
 * go on alone for a while. Then one helper looks now and then for loops that take long, and calls
 * the others to these.
 *
 * Why not OpenMP: threads of libgomp that wait spin (two threads on a busy machine took 3 times as
 * long as one), it ends the process where it cannot start a thread, children of fork() wait for
 * ever, and ThreadSanitizer cannot see into it. */
#include "base/pool.h"
#include "base/base.h"
#include "base/system.h"

#include <stdatomic.h>
#include <stdlib.h>

#ifdef ABUT_HAS_THREADS

enum { MOST_HELPERS = 1023 };

static const double LOOK = 20e-6;    /* as long as waking takes, a thread looks before it sleeps */
static const double JUDGE = 0.02;    /* after so many seconds of help and waits */
static const double ALONE = 0.05;    /* at first, then twice as long each time, */
static const double ALONE_MAX = 1.6; /* up to this */
static const double LONG = 0.005;    /* a loop for which help is called all the same */

typedef struct pool_job {
    struct pool_job *next;
    void (*task)(void *data, uint32_t index);
    void *data;
    uint32_t count;
    atomic_uint taken;   /* tasks that run or have run */
    uint32_t wanted;     /* helpers that may still come, */
    double open_at;      /* but not before */
    atomic_uint helpers; /* at work; changed under the lock */
    double helped;       /* seconds of processors, by those who have left */
} pool_job;

static struct {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t call;  /* there is a job, or the end */
    pthread_cond_t done;  /* the last helper of some job left */
    pool_job *jobs;
    pthread_t helper[MOST_HELPERS];
    uint32_t helper_count, asleep;
    bool ending, watches_forks;
    bool patrolled;        /* a helper looks for loops that take long */
    double helped, waited; /* since it was judged last */
    double alone;          /* how long callers stayed alone last time, */
    double alone_until;    /* and until when */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .call = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static atomic_uint calls;            /* jobs so far */
static _Thread_local bool is_inside; /* of a task */

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- working ---- */

static void run_job_chunks(pool_job *job) {
    uint32_t index;
    is_inside = true;
    while ((index = atomic_fetch_add_explicit(&job->taken, 1, memory_order_relaxed)) < job->count)
        job->task(job->data, index);
    is_inside = false;
}

/* Whether *word stopped being `old` within a short while. */
static bool spin_until_changed(atomic_uint *word, unsigned old) {
    for (double end = abuti_seconds() + LOOK; abuti_seconds() < end;)
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return true;
            abuti_system_pause();
        }
    return false;
}

static pool_job *job_in_need(double now) {
    pool_job *job = pool.jobs;
    while (job && (!job->wanted || job->open_at > now ||
                   atomic_load_explicit(&job->taken, memory_order_relaxed) >= job->count))
        job = job->next;
    return job;
}

static void wake(uint32_t wanted) {
    for (uint32_t i = 0; i < wanted && i < pool.asleep; i++)
        pthread_cond_signal(&pool.call);
}

static void help(pool_job *job) {
    job->wanted--;
    if (job->open_at > 0)
        wake(job->wanted);
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

/* While callers are alone: sleeps as long as a short loop may take. */
static void patrol(void) {
    const struct timespec pause = {.tv_nsec = (long)(1e9 * LONG)};
    pool.patrolled = true;
    pthread_mutex_unlock(&pool.lock);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&pool.lock);
    pool.patrolled = false;
}

static void sleep_until_called(void) {
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

static void *help_all(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    while (!pool.ending) {
        double now = abuti_seconds();
        pool_job *job = job_in_need(now);
        if (job)
            help(job);
        else if (now < pool.alone_until + LONG && !pool.patrolled)
            patrol();
        else
            sleep_until_called();
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* ---- starting and ending ---- */

#ifndef _WIN32
static void before_fork(void) {
    pthread_mutex_lock(&pool.lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&pool.lock);
}

/* A child has none of the helpers. It starts its own. */
static void in_child(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.call, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.jobs = NULL;
    pool.helper_count = pool.asleep = 0;
    pool.patrolled = false;
}
#endif

static void start_helpers(uint32_t wanted) {
    if (pool.ending)
        return;
#ifndef _WIN32
    if (!pool.watches_forks)
        pool.watches_forks = pthread_atfork(before_fork, after_fork, in_child) == 0;
    if (!pool.watches_forks)
        return;
#endif
    while (pool.helper_count < wanted && pool.helper_count < MOST_HELPERS &&
           abuti_system_start(&pool.helper[pool.helper_count], help_all))
        pool.helper_count++;
}

/* A library that is unloaded leaves no thread behind. Where one is at work the process ends by a
 * call of exit() from within a task, and is not held up. Windows calls this under a lock that a
 * thread needs in order to end: there abuti_system_start() keeps the library from being unloaded.
 */
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

/* ---- calling ---- */

static void call_help(pool_job *job, uint32_t helpers) {
    double now = abuti_seconds();
    pthread_mutex_lock(&pool.lock);
    start_helpers(helpers);
    job->wanted = helpers;
    job->next = pool.jobs;
    pool.jobs = job;
    if (now < pool.alone_until) {
        job->open_at = now + LONG;
        wake(!pool.patrolled);
    } else {
        atomic_fetch_add_explicit(&calls, 1, memory_order_release);
        wake(helpers);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* Under the lock. */
static void judge(double helped, double waited) {
    pool.helped += helped;
    pool.waited += waited;
    if (pool.helped + pool.waited < JUDGE)
        return;
    if (pool.waited > pool.helped) {
        double longer = pool.alone > 0 ? 2 * pool.alone : ALONE;
        pool.alone = longer < ALONE_MAX ? longer : ALONE_MAX;
        pool.alone_until = abuti_seconds() + pool.alone;
    } else
        pool.alone = 0;
    pool.helped = pool.waited = 0;
}

static void dismiss_help(pool_job *job) {
    pthread_mutex_lock(&pool.lock);
    pool_job **link = &pool.jobs;
    while (*link && *link != job)
        link = &(*link)->next;
    double waited = 0;
    unsigned helpers = atomic_load_explicit(&job->helpers, memory_order_acquire);
    if (*link)
        *link = job->next;
    else /* a child that was forked in a task: its parent has the helpers */
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
    judge(job->helped, waited);
    pthread_mutex_unlock(&pool.lock);
}

#endif

void abuti_pool_run(uint32_t threads, uint32_t count, void (*task)(void *data, uint32_t index),
                    void *data) {
#ifdef ABUT_HAS_THREADS
    if (threads > 1 && count > 1 && !is_inside) {
        pool_job job = {.task = task, .data = data, .count = count};
        call_help(&job, (threads < count ? threads : count) - 1);
        run_job_chunks(&job);
        dismiss_help(&job);
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

uint32_t abuti_pool_offered(void) {
#ifdef ABUT_HAS_THREADS
    const char *wish = getenv("OMP_NUM_THREADS");
    long number = wish ? strtol(wish, NULL, 10) : 0;
    if (number > 0)
        return number < INT32_MAX ? (uint32_t)number : INT32_MAX;
#endif
    return abuti_pool_processors();
}
