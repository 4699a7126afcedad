/* Stacks, walls, thin plates, a fast ball, dominoes and bodies that fall into a bowl in the Open
 * Dynamics Engine. A world computes the contacts, by exact geometry (abut_world_contacts,
 * abut_world_sweep), in two scenes by distance fields, all pairs at once and on a device if there
 * is one. For comparison they come from ODE's own colliders of triangle meshes.
 *
 * Everything is a triangle mesh, including the floor. This is all that an engine needs: see
 * stand.c, "contacts". */
#ifndef STAND_H
#define STAND_H

#include "fits.h"

#include <abut/abut.h>

typedef enum stand_kind {
    STAND_STACK,    /* a tower of cubes */
    STAND_WALL,     /* bricks in running bond */
    STAND_PLATES,   /* plates of 0.005 that fall on each other */
    STAND_SHOT,     /* a ball of 0.05 at 100 m/s onto a plate of 0.002 */
    STAND_DOMINOES, /* a row of bricks on end; the first is pushed */
    STAND_BOWL,     /* cubes, plates, rings, letters and critters fall into a bowl */
    STAND_DROP,     /* teapots, rings and critters with distance fields fall into a bowl */
    STAND_PLANE     /* or on a plane: the upper side of a slab */
} stand_kind;

typedef struct stand_options {
    stand_kind kind;
    fit_scene *scene; /* instead of a kind and bodies; has its own observer */
    bool own;         /* contacts of ODE's own colliders; only with `scene`, in the bowl with fields
                         and on the plane */
    abut_device *device; /* for contacts by fields; null = the CPU */
    uint32_t bodies; /* rows of the wall. 0 = 10 cubes, 5 rows, 4 plates, 12 dominoes, 100; 1 on the
                        plane */
    double seconds;  /* 0 = stand_seconds() */
    bool quick;      /* ODE's iterative solver instead of its exact one; always from the bowl on */
    uint32_t seed;   /* for small offsets of positions */
    /* Called with the poses of bodies, 60 times per second; returning false ends the run with
     * ABUT_ERROR_CANCELLED. */
    bool (*frame)(void *user, double time, const abut_pose *poses, abut_mesh *const *meshes,
                  uint32_t count);
    void *user;
} stand_options;

typedef struct stand_result {
    uint32_t bodies;
    double seconds, wall, collide; /* simulated; of the steps; of that for contacts */
    double contacts;               /* per step */
    double tilt, tilt_end;         /* degrees: largest at any time, and at the end */
    double drift;                  /* largest sideways distance between start and end */
    double sunk, sunk_end; /* largest penetration depth relative to the body's size: after the first
                              second, and at the end; by exact contacts in all cases */
    double energy;         /* kinetic, at the end */
    double energy_growth;  /* of total energy, including potential energy: the largest in a tenth of
                              a second, relative to the initial one */
    double rest;           /* time since which it is below 1e-5; -1 = never */
    uint32_t out_of_place; /* without a `scene`: bodies that ended below or above their expected
                              position, left the bowl, or did not fall after the previous one */
} stand_result;

/* The duration of a scene: until bodies in the bowl have come to rest, otherwise 10. */
double stand_seconds(stand_kind kind, uint32_t bodies);
abut_status stand_run(abut_context *context, const stand_options *options, stand_result *result);

#endif
