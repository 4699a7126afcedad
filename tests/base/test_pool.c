/* The thread pool: each task runs once, from any number of callers, also if helper threads fail. */
#include "base/base.h"
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { COUNT = 1000 };

typedef struct tally {
    atomic_uint seen[COUNT], others;
    pthread_t caller;
    long sleep_others; /* nanoseconds that helpers are put aside in each task */
} tally;

static void count_task(void *data, uint32_t index) {
    tally *t = data;
    atomic_fetch_add(&t->seen[index], 1);
    if (!pthread_equal(t->caller, pthread_self())) {
        atomic_fetch_add(&t->others, 1);
        struct timespec aside = {.tv_nsec = t->sleep_others};
        nanosleep(&aside, NULL);
    }
}

static void run_tally(tally *t, uint32_t threads, uint32_t count) {
    memset(t, 0, sizeof *t);
    t->caller = pthread_self();
    abuti_pool_run(threads, count, count_task, t);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(i < count, atomic_load(&t->seen[i]));
}

TEST_THREADS(each_task_runs_once) {
    static tally t;
    for (uint32_t threads = 0; threads <= 9; threads++)
        for (uint32_t count = 0; count <= COUNT; count = count * 3 + 1)
            run_tally(&t, threads, count);
}

static void *call_often(void *data) {
    for (int i = 0; i < 50; i++)
        run_tally(data, 3, COUNT);
    return NULL;
}

TEST_THREADS(callers_share_the_helpers) {
    static tally tallies[4];
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(0, pthread_create(&ids[i], NULL, call_often, &tallies[i]));
    for (int i = 0; i < 4; i++)
        assert_int_equal(0, pthread_join(ids[i], NULL));
}

static void run_inner(void *data, uint32_t index) {
    tally *inner = (tally *)data + index;
    inner->caller = pthread_self();
    abuti_pool_run(4, COUNT, count_task, inner);
}

TEST_THREADS(a_task_works_alone) {
    static tally inner[5];
    memset(inner, 0, sizeof inner);
    abuti_pool_run(4, 5, run_inner, inner);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(0, atomic_load(&inner[i].others));
        for (uint32_t k = 0; k < COUNT; k++)
            assert_int_equal(1, atomic_load(&inner[i].seen[k]));
    }
}

static void meet(void *data, uint32_t index) {
    atomic_uint *here = data;
    atomic_fetch_add(here, 1);
    for (double end = abuti_seconds() + 2; atomic_load(here) < 3 && abuti_seconds() < end;)
        ;
}

/* Tasks that wait for each other end at once only where three threads run them. On a busy machine
 * the library may have chosen to be alone for up to 1.6 s. */
TEST_THREADS(helpers_do_help) {
    bool met = false;
    for (int i = 0; i < 10 && !met; i++) {
        atomic_uint here = 0;
        double start = abuti_seconds();
        abuti_pool_run(3, 3, meet, &here);
        assert_int_equal(3, atomic_load(&here));
        met = abuti_seconds() - start < 2;
    }
    assert_true(met);
}

/* Does all that is left to do, a millisecond each. */
static void drain(void *data, uint32_t index) {
    tally *t = data;
    while (atomic_fetch_add(&t->seen[0], 1) < 200) {
        struct timespec work = {.tv_nsec = 1000000};
        nanosleep(&work, NULL);
        if (!pthread_equal(t->caller, pthread_self()))
            atomic_fetch_add(&t->others, 1);
    }
}

/* Helpers that are put aside for longer than they work, as by other programs, are left alone. */
TEST_THREADS(starved_helpers_are_not_waited_for) {
    static tally t;
    int alone = 0;
    for (int i = 0; i < 500 && alone < 3; i++) {
        memset(&t, 0, sizeof t);
        t.caller = pthread_self();
        t.sleep_others = 5000000;
        abuti_pool_run(3, COUNT, count_task, &t);
        alone = atomic_load(&t.others) ? 0 : alone + 1;
    }
    assert_int_equal(3, alone);
    /* Loops that take long get them all the same, also by tasks that leave nothing to do. */
    memset(&t, 0, sizeof t);
    t.caller = pthread_self();
    abuti_pool_run(3, 3, drain, &t);
    assert_true(atomic_load(&t.others) > 0);
    struct timespec while_alone = {.tv_nsec = 300000000};
    nanosleep(&while_alone, NULL);
    helpers_do_help(NULL);
}
