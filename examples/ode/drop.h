/* A hundred bodies fall into a bowl: abut inside a physics engine, and the same scene with the
 * engine's own colliders of triangle meshes. */
#ifndef ABUT_DROP_H
#define ABUT_DROP_H

#include <abut/abut.h>

typedef struct drop_options {
    uint32_t bodies; /* 0 = 100 */
    double seconds;  /* of the scene; 0 = 8 */
    bool trimesh;    /* ODE's own colliders */
    bool plane;      /* a plane at the height of drop_plane() instead of the bowl */
    uint64_t seed;
    void *user;
    /* Called about thirty times per second of the scene, with the poses of the released bodies.
     * Returning false ends the run. */
    bool (*frame)(void *user, double time, const abut_pose *poses, uint32_t count);
} drop_options;

typedef struct drop_result {
    uint32_t bodies, steps;
    double seconds;  /* of the scene */
    double wall;     /* elapsed, without frames */
    double collide;  /* of that: contacts */
    double contacts; /* per step */
    double energy_first, energy_last;
    double energy_growth; /* largest increase within a tenth of a second, relative to the initial
                             energy */
    double speed_last;    /* the largest of any body at the end */
    double deepest;       /* at any time, in cells of the bowl, or of a body on the plane */
    double deepest_last;  /* at the end */
    uint32_t lost;        /* bodies that left the bowl or passed through it */
} drop_result;

typedef struct drop_scene drop_scene;

/* Creates the models and their fields. Reports progress through the context. */
abut_status drop_create(abut_context *context, drop_scene **scene);
void drop_destroy(drop_scene *scene);
/* Runs it from the start. */
abut_status drop_run(drop_scene *scene, const drop_options *options, drop_result *result);

/* Seconds in which so many bodies fall and come to rest. */
double drop_seconds(uint32_t bodies);

/* For pictures: the mesh and colour of a body, the bowl, a point above everything, and the
 * height of the plane. */
abut_mesh *drop_mesh(const drop_scene *scene, uint32_t body, abut_colour *colour);
abut_mesh *drop_bowl(const drop_scene *scene);
abut_vec3 drop_top(void);
double drop_plane(void);

#endif
