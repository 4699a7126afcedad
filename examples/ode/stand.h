/* Bodies that stand: stacks, walls, thin plates and a fast ball in the Open Dynamics Engine, with
 * contacts from exact geometry: a world (abut_world_contacts, abut_world_sweep) finds them.
 *
 * Everything is a mesh of triangles, the floor too. This is the whole of what an engine needs: see
 * stand.c, "contacts".
 */
#ifndef STAND_H
#define STAND_H

#include <abut/abut.h>

typedef enum stand_kind {
    STAND_STACK,  /* cubes on each other */
    STAND_WALL,   /* bricks in running bond */
    STAND_PLATES, /* plates of 0.005 that fall on each other */
    STAND_SHOT    /* a ball of 0.05 at 100 m/s onto a plate of 0.002 */
} stand_kind;

typedef struct stand_options {
    stand_kind kind;
    uint32_t bodies; /* cubes, plates; rows of bricks. 0 = 10 cubes, 4 plates, 5 rows */
    double seconds;  /* 0 = 10 */
    bool quick;      /* ODE's iterative solver instead of its exact one */
    uint32_t seed;   /* for places that are a little off */
    /* Told where bodies are, 60 times a second; false ends it with ABUT_ERROR_CANCELLED. */
    bool (*frame)(void *user, double time, const abut_pose *poses, abut_mesh *const *meshes,
                  uint32_t count);
    void *user;
} stand_options;

typedef struct stand_result {
    uint32_t bodies;
    double seconds, wall, collide; /* collide: of the wall time, for contacts */
    double contacts;               /* a step */
    double tilt, tilt_end;         /* degrees: largest at any time, and at the end */
    double drift;                  /* largest way aside, from the start to the end */
    double sunk;                   /* deepest contact after the first second */
    double energy;                 /* kinetic, at the end */
    double rest;                   /* since when it is below 1e-5; -1 = it is not */
    uint32_t out_of_place;         /* bodies that ended below or above where they belong */
} stand_result;

abut_status stand_run(abut_context *context, const stand_options *options, stand_result *result);

#endif
