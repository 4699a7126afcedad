/* Allowed collisions by sampling: pairs of links that collide in all random configurations, or in
 * none. */
#include "robot/robot.h"

#define PI 3.14159265358979323846
enum { DEFAULT_SAMPLES = 10000 };

typedef struct sample_batch {
    robot_batch is; /* first */
    uint64_t seed;
    atomic_uint *hits; /* of each pair of shapes; of the first pair of two links: of the links */
} sample_batch;

/* splitmix64 (Steele, Lea and Flood 2014). */
static double random_number(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static bool same_links(const abut_robot *robot, size_t i, size_t k) {
    const robot_pair *p = &robot->pairs[i], *q = &robot->pairs[k];
    return robot->shapes[p->a].owner == robot->shapes[q->a].owner &&
           robot->shapes[p->b].owner == robot->shapes[q->b].owner;
}

/* Whether two links collide: `begin` is their first pair of shapes. Their other pairs follow, not
 * always consecutively. */
static abut_status links_collide(const abut_robot *robot, robot_state *state, size_t begin,
                                 bool *collides, unsigned *flags) {
    abut_status status = ABUT_OK;
    *collides = false;
    for (size_t i = begin; i < robot->pair_count && !status && !*collides; i++) {
        if (!same_links(robot, begin, i))
            continue;
        const robot_pair *p = &robot->pairs[i];
        const robot_shape *a = &robot->shapes[p->a], *b = &robot->shapes[p->b];
        const robot_place *at_a = &state->places[p->a], *at_b = &state->places[p->b];
        if (!abuti_robot_is_apart(a, at_a, b, at_b, 0))
            status =
                abuti_robot_within(a, at_a, b, at_b, 0, false, &state->cache[i], collides, flags);
    }
    return status;
}

static abut_status sample_one(robot_batch *batch, robot_state *state, size_t index,
                              unsigned *flags) {
    const sample_batch *own = (const sample_batch *)batch;
    const abut_robot *robot = batch->robot;
    uint64_t random = own->seed + index * 0x632be59bd9b4e019u;
    double *q = abuti_allocate(robot->context, robot->variable_count, sizeof *q);
    abut_status status = q ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        for (uint32_t i = 0; i < robot->variable_count; i++) {
            const abut_robot_joint *is = &robot->joints[robot->variables[i]].is;
            const double most = is->kind == ABUT_ROBOT_PRISMATIC ? 1 : PI;
            const bool limited = is->lower < is->upper;
            const double low = limited ? is->lower : -most, high = limited ? is->upper : most;
            q[i] = low + random_number(&random) * (high - low);
        }
        abuti_robot_pose(robot, q, state);
    }
    abuti_release(robot->context, q);
    for (size_t i = 0; i < robot->pair_count && !status; i++) {
        bool collides;
        if (atomic_load(&own->hits[i]) == UINT32_MAX)
            continue;
        status = links_collide(robot, state, i, &collides, flags);
        if (!status && collides)
            atomic_fetch_add(&own->hits[i], 1);
    }
    return status;
}

abut_status abut_robot_sample_allowed(abut_robot *robot, const abut_robot_sample_options *options,
                                      abut_robot_sample_report *report) {
    abut_robot_sample_options ours = abut_robot_sample_options_default();
    abut_robot_sample_report made = abut_robot_sample_report_default();
    if (!robot)
        return abuti_null(__func__, "robot");
    abut_status status = abuti_options_read(&ours, sizeof ours, options, __func__);
    if (!status && report)
        status = abuti_info_check(report, sizeof made, __func__);
    if (status)
        return status;
    made.samples = ours.samples ? ours.samples : DEFAULT_SAMPLES;
    if (made.samples > 100000000)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: samples is %u; it must be from 0 to 100000000",
                          __func__, made.samples);
    sample_batch batch = {{.robot = robot, .count = made.samples, .run = sample_one},
                          ours.seed,
                          NULL};
    batch.hits = abuti_allocate_zeroed(robot->context, robot->pair_count, sizeof *batch.hits);
    if (!batch.hits)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < robot->pair_count; i++)
        atomic_init(&batch.hits[i],
                    abuti_robot_is_first_pair(robot, &robot->pairs[i]) ? 0 : UINT32_MAX);
    status = abuti_robot_run_batch(&batch.is, NULL);
    for (size_t i = 0; i < robot->pair_count && !status; i++) {
        const uint32_t hits = atomic_load(&batch.hits[i]);
        const robot_pair *p = &robot->pairs[i];
        made.always += hits == made.samples;
        made.never += hits == 0;
        if (hits == made.samples || (hits == 0 && !ours.keep_never))
            abuti_robot_set_allowed(robot, robot->shapes[p->a].owner, robot->shapes[p->b].owner,
                                    true);
    }
    abuti_release(robot->context, batch.hits);
    if (status)
        return status;
    abuti_robot_list_pairs(robot);
    made.remaining = (uint32_t)robot->link_pair_count;
    return report ? abuti_info_write(report, &made, sizeof made, __func__) : ABUT_OK;
}
