/* Tests of configurations: which pair of shapes collides first. */
#include "robot/robot.h"

enum { BATCH_GRAIN = 32 }; /* configurations per task: some 100 us */

/* ---- batches ---- */

static void run_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    robot_batch *batch = data;
    robot_state state;
    unsigned flags = 0;
    (void)chunk;
    abut_status status =
        abuti_robot_create_state(batch->robot, batch->obstacles ? batch->obstacles->count : 0,
                                 &state);
    if (!status) {
        for (size_t i = begin; i < end && !status; i++)
            status = batch->run(batch, &state, i, &flags);
        abuti_robot_destroy_state(batch->robot, &state);
    }
    if (status)
        atomic_store(&batch->failure, (unsigned)status);
    if (flags)
        atomic_fetch_or(&batch->flags, flags);
}

abut_status abuti_robot_run_batch(robot_batch *batch, abut_reliability *reliability) {
    abut_context *context = batch->robot->context, *before = abuti_context_enter(context);
    atomic_init(&batch->failure, ABUT_OK);
    atomic_init(&batch->flags, 0);
    abut_status status =
        abuti_parallel_try(context, "robot", batch->count, BATCH_GRAIN, run_chunk, batch);
    abuti_context_leave(before);
    const abut_status failure = (abut_status)atomic_load(&batch->failure);
    if (!status && failure) /* the message belongs to another thread */
        status = failure == ABUT_ERROR_MEMORY
                     ? abuti_fail(failure, "a query of a robot ran out of memory")
                     : abuti_stop_status("robot");
    if (!status && reliability)
        *reliability = abuti_pair_reliability_of(atomic_load(&batch->flags));
    return status;
}

/* ---- one configuration ---- */

static abut_status test_shapes(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                               const robot_place *at_b, abut_pair_cache *cache, bool *collides,
                               unsigned *flags) {
    *collides = false;
    if (abuti_robot_is_apart(a, at_a, b, at_b, 0))
        return ABUT_OK;
    return abuti_robot_within(a, at_a, b, at_b, 0, false, cache, collides, flags);
}

abut_status abuti_robot_find_hit(const abut_robot *robot, const abut_robot_obstacles *obstacles,
                                 robot_state *state, abut_robot_hit *hit, unsigned *flags) {
    const uint32_t count = obstacles ? obstacles->count : 0;
    const robot_shape *shapes = robot->shapes;
    const robot_place *places = state->places;
    bool collides = false;
    *hit = (abut_robot_hit){false, ABUT_NONE, ABUT_NONE, ABUT_NONE};
    for (uint32_t a = robot->shape_count; a-- > 0;)
        for (uint32_t b = 0; b < count; b++) {
            abut_status status =
                test_shapes(&shapes[a], &places[a], &obstacles->shapes[b], &obstacles->places[b],
                            &state->cache[(size_t)count * a + b], &collides, flags);
            if (status)
                return status;
            if (collides) {
                *hit = (abut_robot_hit){true, shapes[a].owner, ABUT_NONE, b};
                return ABUT_OK;
            }
        }
    abut_pair_cache *cache = state->cache + (size_t)count * robot->shape_count;
    for (size_t i = 0; i < robot->pair_count; i++) {
        const robot_pair *pair = &robot->pairs[i];
        abut_status status = test_shapes(&shapes[pair->a], &places[pair->a], &shapes[pair->b],
                                         &places[pair->b], &cache[i], &collides, flags);
        if (status)
            return status;
        if (collides) {
            *hit = (abut_robot_hit){true, shapes[pair->a].owner, shapes[pair->b].owner, ABUT_NONE};
            return ABUT_OK;
        }
    }
    return ABUT_OK;
}

/* ---- public ---- */

typedef struct hit_batch {
    robot_batch is; /* first */
    const double *configurations;
    abut_robot_hit *hits;
} hit_batch;

static abut_status test_one(robot_batch *batch, robot_state *state, size_t index, unsigned *flags) {
    const hit_batch *own = (const hit_batch *)batch;
    abuti_robot_pose(batch->robot, own->configurations + index * batch->robot->variable_count,
                     state);
    return abuti_robot_find_hit(batch->robot, batch->obstacles, state, &own->hits[index], flags);
}

abut_status abut_robot_test(const abut_robot *robot, const abut_robot_obstacles *obstacles,
                            const double *configurations, size_t count, abut_robot_hit *hits,
                            abut_reliability *reliability) {
    if (!robot || (!hits && count))
        return abuti_null(__func__, robot ? "hits" : "robot");
    abut_status status =
        abuti_robot_check_configurations(__func__, "configurations", robot, configurations, count);
    hit_batch batch = {{.robot = robot, .obstacles = obstacles, .count = count, .run = test_one},
                       configurations,
                       hits};
    return status ? status : abuti_robot_run_batch(&batch.is, reliability);
}
