/* Cases: configurations and motions of an arm among obstacles: collisions, distances with
 * gradients, and certified motions. */
#include "bench.h"
#include "robot_scene.h"

enum { STATES = 1024, MOTIONS = 128, QUICK = 16 };
enum { ALL_STATES, FREE_STATES, DISTANCES, SHORT_MOTIONS };

typedef struct robot_data {
    robot_scene scene;
    uint32_t count;
    double from[STATES][ROBOT_JOINTS], to[STATES][ROBOT_JOINTS];
    abut_robot_hit hits[STATES];
    abut_robot_separation separations[STATES];
    double gradients[STATES][ROBOT_JOINTS];
    abut_robot_motion motions[STATES];
} robot_data;

/* A step of a planner: each joint moves by up to 0.5 radians. */
static void move_joints(robot_data *data, uint64_t *random, uint32_t i) {
    for (int k = 0; k < ROBOT_JOINTS; k++) {
        const double to = data->from[i][k] + robot_random(random, -0.5, 0.5);
        data->to[i][k] = fmin(fmax(to, data->scene.lower[k]), data->scene.upper[k]);
    }
}

/* Random states, or only those without a collision; motions that are free to both sides. */
static abut_status robot_setup(bench_state *state) {
    robot_data *data = state->data;
    const int variant = state->which->variant;
    uint64_t random = 9;
    TRY(robot_scene_create(&data->scene, state->quick));
    data->count = state->quick ? QUICK : variant == SHORT_MOTIONS ? MOTIONS : STATES;
    for (uint32_t i = 0; i < data->count;) {
        abut_robot_hit hit;
        abut_robot_motion motion;
        robot_configuration(&data->scene, &random, data->from[i]);
        move_joints(data, &random, i);
        TRY(abut_robot_test(data->scene.robot, data->scene.obstacles, data->from[i], 1, &hit,
                            NULL));
        if (variant != ALL_STATES && hit.collides)
            continue;
        if (variant == SHORT_MOTIONS) {
            TRY(abut_robot_sweep(data->scene.robot, data->scene.obstacles, data->from[i],
                                 data->to[i], 1, NULL, &motion, NULL));
            if (motion.touches)
                continue;
        }
        i++;
    }
    state->elements = data->count;
    return ABUT_OK;
}

static abut_status robot_run(bench_state *state) {
    robot_data *data = state->data;
    const robot_scene *s = &data->scene;
    switch (state->which->variant) {
    case DISTANCES:
        return abut_robot_distance(s->robot, s->obstacles, data->from[0], data->count, 0,
                                   data->separations, data->gradients[0]);
    case SHORT_MOTIONS:
        return abut_robot_sweep(s->robot, s->obstacles, data->from[0], data->to[0], data->count,
                                NULL, data->motions, NULL);
    default:
        return abut_robot_test(s->robot, s->obstacles, data->from[0], data->count, data->hits,
                               NULL);
    }
}

static abut_status robot_finish(bench_state *state) {
    const robot_data *data = state->data;
    for (uint32_t i = 0; i < data->count; i++) {
        const uint32_t answers[] = {data->hits[i].collides,        data->hits[i].link,
                                    data->hits[i].obstacle,        data->separations[i].link,
                                    data->separations[i].obstacle, data->motions[i].touches};
        state->hash = bench_hash(state->hash, answers, sizeof answers);
    }
    return ABUT_OK;
}

static void robot_teardown(bench_state *state) {
    robot_scene_destroy(&((robot_data *)state->data)->scene);
}

#define ROBOT(name_, unit_, variant_)                                                             \
    {                                                                                             \
        .name = name_, .unit = unit_, .data_bytes = sizeof(robot_data), .setup = robot_setup,     \
        .run = robot_run, .finish = robot_finish, .teardown = robot_teardown, .variant = variant_ \
    }

const bench_case bench_robot_cases[] = {
    ROBOT("robot/state", "state", ALL_STATES),
    ROBOT("robot/free-state", "state", FREE_STATES),
    ROBOT("robot/distance", "state", DISTANCES),
    ROBOT("robot/motion", "motion", SHORT_MOTIONS),
    {.name = NULL},
};
