/* Motion of the cloth of a condition: simulated while the character performs its clip, or read from
 * a recording. All methods then get the same particles. */
#ifndef ABUT_BENCH_CLOTHING_H
#define ABUT_BENCH_CLOTHING_H

#include <abut/abut.h>

/* What is simulated. A character starts at rest, blends into the clip within a second, and performs
 * it; each frame takes RIVAL_SECONDS. Every `stride`-th frame of the clip is kept. */
typedef struct rival_clothing {
    abut_character *body,
        *cloth; /* with the same bones; the mesh of `cloth` is the sheet at rest */
    uint32_t clip, stride;
    double seconds; /* of the clip */
    double cell;    /* of the radial fields that keep the sheet out of the body */
} rival_clothing;

#define RIVAL_SECONDS (1.0 / 60)

/* Particles of the frames that are kept, one frame after the other: where they are a frame before,
 * and where the solver predicts them before it searches for collisions. Frame k is at (k + 1)
 * stride RIVAL_SECONDS of the clip. All coordinates are floats. */
typedef struct rival_motion {
    uint32_t frame_count, particle_count;
    abut_vec3 *from, *to;
    abut_mesh *sheet; /* the triangles, with the positions of the first frame */
} rival_motion;

/* Computes the bones at a time of the clip; from the rest pose at -1 s. */
abut_status rival_bones(const abut_character *character, uint32_t clip, double time,
                        abut_character_matrix *bones);

/* The sheet is extended position-based dynamics in steps of a frame (<abut/cloth.h>). Every fourth
 * vertex is attached by a spring to where skinning puts it: the springs alone hold the sheet, which
 * then hangs 2 cm below. Radial fields push it out of the body at the end of each step. */
abut_status rival_motion_simulate(abut_context *context, const rival_clothing *clothing,
                                  rival_motion *motion);
/* Writes and reads a recording (.abutm): the frames that are kept, with `to` as aims of `from`. */
abut_status rival_motion_write(const rival_motion *motion, const char *path);
abut_status rival_motion_read(abut_context *context, const char *path, rival_motion *motion);
void rival_motion_clear(rival_motion *motion);

#endif
