/* Scenes of tight fits, for physics engines: a peg in a hole, a cube in a tray, a stack of
 * meshes, a pile of concave bodies in a bowl. An engine runs them with the exact contacts of
 * abut or with its own collision of triangle meshes, and the same checks apply to both. */
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

enum { FIT_MESHES = 8, FIT_BODIES = 32 };

typedef enum fit_kind { FIT_PEG, FIT_TRAY, FIT_STACK, FIT_PILE, FIT_KINDS } fit_kind;

/* A body of density 1, or one that does not move. */
typedef struct fit_body {
    uint32_t mesh;
    bool is_fixed;
    abut_pose start;
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
    bool is_cut; /* ends before bodies come to rest */
    /* Measured by fit_observe(). */
    abut_world *world;
    abut_contact *contacts;
    abut_pose poses[FIT_BODIES]; /* the latest */
    double energy;               /* kinetic, the latest */
    double deepest, deepest_end; /* penetration depth: at any time, and the latest */
    bool is_finite;              /* poses are numbers; otherwise they are not observed */
} fit_scene;

/* Observes poses, in the order of bodies, and kinetic energy: for engines, every tenth of a second
 * and at the end. */
abut_status fit_observe(fit_scene *scene, const abut_pose *poses, double energy);

/* Runs a scene in an engine, with its own collision of triangle meshes if is_own. */
typedef abut_status fit_run(fit_scene *scene, bool is_own);

/* The program: all scenes or the named ones, with contacts of abut. --own: with those of the
 * engine; --compare: with both; --seconds: another duration, and if it is shorter bodies need
 * not be at rest; --png: a picture of the end, with one row for each kind of contacts. Returns
 * its exit code: 1 if a scene fails with contacts of abut, 2 for invalid arguments and errors. */
int fits_main(int argc, char **argv, const char *engine, fit_run *run);

#ifdef __cplusplus
}
#endif

#endif
