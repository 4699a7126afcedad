/* Scenes of the cases of maps: bodies and their motion from frame to frame. */
#ifndef ABUT_BENCH_MAP_SCENES_H
#define ABUT_BENCH_MAP_SCENES_H

#include "bench.h"

typedef enum map_scene_kind {
    MAP_LETTERS,
    MAP_SOLIDS,
    MAP_FIGURE,
    MAP_BODIES,
    MAP_JOINED,
    MAP_SCANS
} map_scene_kind;

typedef struct map_scene {
    uint32_t count, frames;
    abut_mesh **rest, **moved; /* moved[frame x count + body]; null if they are rigid */
    abut_collider *others; /* (frame x count + body) x (count - 1): poses of the others relative to
                           each body; the caller sets their BVHs */
} map_scene;

/* Small and of one frame when quick. */
abut_status map_scene_make(bench_state *state, map_scene_kind kind, map_scene *scene);

#endif
