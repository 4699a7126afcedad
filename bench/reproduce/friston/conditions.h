/* Scenes of the cases of rivals: the ten conditions of table 1 of Friston & Steed (2019), with the
 * built-in characters in garments, which are simulated while they do gymnastics for ten seconds. */
#ifndef ABUT_BENCH_RIVALS_SCENES_H
#define ABUT_BENCH_RIVALS_SCENES_H

#include "bench.h"

enum { RIVAL_CONDITIONS = 10 };

/* One instant of the clip. */
typedef struct rival_frame {
    abut_character_matrix *bones[2]; /* a sixtieth of a second before, and now */
    abut_vec3 *from, *to;            /* particles before, and where the solver predicts them now */
} rival_frame;

typedef struct rival_scene {
    uint32_t condition; /* from 1; 0 = that of quick runs */
    const char *body_name, *cloth_name;
    abut_character *character;
    abut_mesh *cloth;
    double cell, field_cell;
    uint32_t triangles, particles, vertices;
    uint32_t frame_count;
    rival_frame *frames; /* three for each second */
} rival_scene;

/* The scene of a condition, from 1 to 10, or the small one of quick runs (0). It is created once
 * and kept until the program ends; null after bench_fail() or an error of the library. The motion
 * of the garment is read from the folder that ABUT_BENCH_RECORDINGS names, or simulated and
 * recorded there. */
const rival_scene *rival_scene_get(uint32_t condition);

/* A ball with two bones, whose halves rotate: the character of quick runs. */
abut_status rival_ball(double radius, uint32_t segments, abut_character **made);

#endif
