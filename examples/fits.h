/* Scenes for physics engines: a peg in a hole, a cube in a tray, a stack and a wall of meshes,
 * dominoes, a fast ball, a chain, concave bodies in a bowl. An engine runs them with the exact
 * contacts of abut or with its own collision of triangle meshes, and the same checks apply to
 * both. */
#ifndef ABUT_FITS_H
#define ABUT_FITS_H

#include <abut/abut.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIT_MARGIN 0.005
#define FIT_CLEARANCE 0.001 /* of the peg and of the cube, on each side */
#define FIT_STEP 0.005      /* seconds */
#define FIT_FRICTION 0.6

enum { FIT_MESHES = 8, FIT_BODIES = 256 };

typedef enum fit_kind {
    FIT_PEG,      /* a square peg slides down a hole */
    FIT_TRAY,     /* a cube slides into a tilted tray */
    FIT_STACK,    /* ten cubes */
    FIT_WALL,     /* 22 bricks in running bond */
    FIT_DOMINOES, /* twelve; the first is pushed */
    FIT_SHOT,     /* a ball of 0.05 at 100 m/s onto a plate of 0.002 */
    FIT_CHAIN,    /* 50 rings between two fixed ones */
    FIT_PILE,     /* 21 rings, tubes and letters fall into a bowl */
    FIT_BOWL,     /* the same with 200 smaller bodies */
    FIT_KINDS
} fit_kind;

/* A body of density 1, or one that does not move. */
typedef struct fit_body {
    uint32_t mesh;
    bool is_fixed;
    abut_pose start;
    abut_vec3 velocity, spin; /* at the start; the spin is an angular velocity in radians */
} fit_body;

/* Meshes of bodies that move have their centroid at the origin and their principal axes along the
 * axes. Bodies that do not move come first. */
typedef struct fit_scene {
    fit_kind kind;
    abut_mesh *meshes[FIT_MESHES];
    abut_bvh *hierarchies[FIT_MESHES];
    uint32_t mesh_count, body_count;
    fit_body bodies[FIT_BODIES];
    double seconds;
    bool is_cut;       /* ends before bodies come to rest */
    bool is_iterative; /* too large for the exact solver of an engine */
    /* Measured by fit_observe(). */
    abut_world *world;
    abut_contact *contacts;
    abut_pose poses[FIT_BODIES]; /* the latest */
    double energy;               /* kinetic, the latest */
    double whole, whole_first;   /* with potential energy above the ground: the latest, the first */
    double growth;               /* of that between two observations, relative to the first */
    double deepest, deepest_end; /* penetration depth: at any time, and the latest */
    double drift;                /* sideways from the start, the latest of any body */
    double observing;            /* seconds of processor time for observations */
    bool is_finite;              /* poses are numbers; otherwise they are not observed */
    double masses[FIT_MESHES];
} fit_scene;

/* Observes poses, in the order of bodies, and kinetic energy: for engines, every tenth of a second
 * and at the end. */
abut_status fit_observe(fit_scene *scene, const abut_pose *poses, double energy);

/* Runs a scene in an engine, with its own collision of triangle meshes if is_own. */
typedef abut_status fit_run(fit_scene *scene, bool is_own);

/* The program: all scenes or the named ones, with contacts of abut. --own: with those of the
 * engine; --compare: with both; --seconds: another duration, and if it is shorter bodies need
 * not be at rest; --png: a picture of the end, with one row for each kind of contacts; --json:
 * lines of JSON. --export FOLDER writes meshes and start of one scene for another engine, and
 * --poses FILE judges what that engine wrote: each tenth of a second, the kinetic energy and seven
 * numbers for each body. Returns its exit code: 1 if a scene fails with contacts of abut, 2 for
 * invalid arguments and errors. */
int fits_main(int argc, char **argv, const char *engine, fit_run *run);

#ifdef __cplusplus
}
#endif

#endif
