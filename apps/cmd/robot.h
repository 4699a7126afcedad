/* The robot of `abut robot`, its configurations and obstacles. */
#ifndef ABUT_TOOL_ROBOT_H
#define ABUT_TOOL_ROBOT_H

#include "tool.h"

typedef struct tool_robot {
    abut_robot *robot;
    abut_robot_info info;
    abut_robot_sample_report sampled; /* size 0: not sampled */
    abut_scene *scene;                /* of the obstacles, or null */
    abut_collider *colliders;
    uint32_t obstacle_count;
    abut_robot_obstacles *obstacles; /* or null */
    double *configurations;          /* variable_count numbers each */
    size_t count, room;
    const double *from, *to; /* of the motion, or null */
} tool_robot;

/* robot_draw.c: draws all configurations, or stages of the motion, with the obstacles. */
void robot_draw(tool_run *tool, const tool_arguments *arguments, const tool_robot *robot,
                const abut_robot_motion *motion);

#endif
