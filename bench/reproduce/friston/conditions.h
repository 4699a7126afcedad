/* Scenes of the cases of rivals: the ten conditions of table 1 of Friston & Steed (2019), with
 * the built-in characters and tight clothes made from them. */
#ifndef ABUT_BENCH_RIVALS_SCENES_H
#define ABUT_BENCH_RIVALS_SCENES_H

#include "bench.h"

enum { RIVAL_CONDITIONS = 10, RIVAL_FRAMES = 6 };

/* One instant of the clip: positions a sixtieth of a second before, and now. */
typedef struct rival_frame {
    abut_character_matrix *bones[2];
    abut_vec3 *body[2];
    abut_vec3 *from, *to; /* particles, and their targets */
} rival_frame;

typedef struct rival_scene {
    uint32_t condition; /* from 1; 0 = that of quick runs */
    const char *body_name, *cloth_name;
    abut_character *character;
    abut_mesh *cloth;
    double cell, field_cell;
    uint32_t triangles, particles, vertices;
    rival_frame frames[RIVAL_FRAMES];
} rival_scene;

/* The scene of a condition, from 1 to 10, or the small one of quick runs (0). It is created once
 * and kept until the program ends; null after bench_fail() or an error of the library. */
const rival_scene *rival_scene_get(uint32_t condition);

/* A ball with two bones, whose halves rotate: the character of quick runs. */
abut_status rival_ball(double radius, uint32_t segments, abut_character **made);

#endif
