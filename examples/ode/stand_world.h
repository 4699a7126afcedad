/* Private types of stand.c and stand_scenes.c: the state of a simulation in ODE. */
#ifndef ABUT_EXAMPLES_ODE_STAND_WORLD_H
#define ABUT_EXAMPLES_ODE_STAND_WORLD_H

#include "model.h"
#include "stand.h"

#include <ode/ode.h>

#define STAND_PLATE 0.005 /* thickness */
#define STAND_WAVE_SECONDS 0.75

enum {
    STAND_WAVE = 9, /* bodies that are released side by side */
    STAND_MIXED_MODELS = 6
};

/* A body, or the floor, which has no ODE body. */
typedef struct thing {
    model *model;
    dBodyID body;
    dGeomID geom; /* for ODE's own colliders */
    abut_pose fixed;
    double height;  /* expected height of its centre at the end */
    double release; /* time of its release */
    double fell;    /* time of its fall; 0 = not yet */
    abut_vec3 start;
} thing;

typedef struct world {
    abut_context *context;
    const stand_options *options;
    dWorldID ode;
    dJointGroupID joints;
    dSpaceID geoms;
    abut_world *space; /* gives contacts, unless ODE does; its ids are those of the things */
    abut_world *exact; /* measures depths by exact contacts; `space` if those are exact */
    thing *things;     /* the floor first, the others in the order of release */
    model *models;
    uint32_t count, released, model_count, room;
    abut_pose *poses; /* of all things */
    abut_mesh **meshes;
    abut_pose *ends; /* of fast ones, and their ids */
    uint32_t *ids;
    abut_contact *list; /* and impacts: grown if they are too short */
    uint64_t list_room;
    abut_world_impact *impacts;
    uint64_t impact_room;
    double time, deepest;
    double energy, energy_first; /* total energy, a tenth of a second ago and at the start */
    uint64_t contacts;
} world;

/* Scenes of bodies that fall in waves. */
static inline bool is_pile(const world *w) {
    return !w->options->scene && w->options->kind >= STAND_BOWL;
}

/* Whether contacts come from distance fields. */
static inline bool uses_fields(const world *w) {
    return is_pile(w) && w->options->kind != STAND_BOWL && !w->options->own;
}

/* Creates the models and bodies of the scene of the options; bodies of piles are not released yet.
 * `bodies` is their number, if the scene has a variable one. */
abut_status stand_build(world *w, uint32_t bodies);

#endif
