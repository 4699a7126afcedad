/* A scene in time: what the files of `abut simulate` share. */
#ifndef ABUT_TOOL_SIMULATE_H
#define ABUT_TOOL_SIMULATE_H

#include "interfere.h"

typedef enum sim_kind {
    SIM_STATIC,
    SIM_KINEMATIC, /* moves with constant velocity and spin */
    SIM_CHARACTER,
    SIM_RIGID, /* forces move it */
    SIM_SHEET
} sim_kind;

/* A body of the scene; its index is its id in the world. */
typedef struct sim_body {
    sim_kind kind;
    const abut_scene_body *scene;
    abut_pose pose;
    uint32_t rigid;                       /* index in the engine; ABUT_NONE = no force moves it */
    abut_vec3 *positions, *previous;      /* of a character: of all vertices, now and a step ago */
    abut_character_matrix *bones, *posed; /* before and after its pose is applied */
    abut_mesh *mesh;                      /* of a character: at its pose at the start; owned */
    abut_radial *radial;                  /* owned; null if its method is exact */
} sim_body;

/* Sums over all steps. */
typedef struct sim_totals {
    uint64_t contacts, self_contacts, impacts;
    uint64_t passed;  /* impacts of rigid bodies without contacts before and after the step */
    uint64_t unswept; /* pairs whose paths were not tested */
    uint64_t lagging; /* vertices of bodies that cloth held back */
    uint32_t cut;     /* steps of which cloth made only a part */
    uint32_t steps;
    double depth;                   /* largest of a rigid body */
    uint32_t deepest[2];            /* the pair */
    abut_world_guarantee guarantee; /* lowest of all pairs with contacts */
    bool has_pairs;
    abut_reliability cloth;
    double gap;      /* smallest of a vertex of cloth */
    double seam_gap; /* largest of sewn vertices, in the last step */
    double rigid_seconds, character_seconds, cloth_seconds, impact_seconds, contact_seconds;
} sim_totals;

typedef struct simulation {
    tool_run *tool;
    tool_assembly assembly;
    abut_scene_arrays scene;
    abut_world *world;
    sim_body *bodies;
    uint32_t body_count, rigid_count, character_count, sheet_count;
    double step, time; /* seconds of a step; simulated so far */
    double last_time;  /* at the start of the last step */
    double margin;     /* of contacts of rigid bodies */
    struct rigid_world *engine;
    abut_contact *contacts; /* at the start of the next step, sorted by pair */
    uint64_t contact_count;
    size_t contact_room;
    uint32_t *ids; /* room for all bodies */
    abut_pose *ends;
    abut_world_impact *impacts;
    size_t impact_room;
    bool lags; /* cloth holds a body back */
    sim_totals totals;
} simulation;

/* ---- simulate_world.c ---- */

/* Makes the world of a scene that is loaded. */
void sim_create(simulation *s, double step, abut_device *device);
/* Sets everything except rigid bodies and cloth to a time, and the poses of all bodies. */
abut_status sim_set_time(simulation *s, double time, double last_time);
/* Finds the contacts at the start of the next step. */
void sim_find_contacts(simulation *s);
/* Makes a step. On failure the last complete step counts. */
abut_status sim_advance(simulation *s);
void sim_destroy(simulation *s);
/* Whether a pair has contacts at the start of the next step. */
bool sim_has_contacts(const simulation *s, uint32_t a, uint32_t b);
/* The number of vertices of a body, and their current positions, rounded to floats: those that
 * cloth does not intersect. */
uint32_t sim_vertex_count(const sim_body *body);
void sim_get_positions(const simulation *s, uint32_t index, abut_vec3 *positions);
/* The cloth of the world; null without sheets. */
abut_cloth *sim_cloth(const simulation *s);

/* ---- simulate_rigid.c: rigid bodies, by the Open Dynamics Engine if the build has it ---- */

/* Adds all bodies with a mass. */
void sim_rigid_create(simulation *s);
/* Makes a step with the contacts at its start, and sets the poses of the bodies. */
abut_status sim_rigid_advance(simulation *s);
/* Adds the impulses of cloth in the last step. */
void sim_rigid_push(simulation *s);
void sim_rigid_destroy(simulation *s);
/* Writes and sets the state of all rigid bodies: `sim_rigid_bytes()` bytes. Setting returns false
 * if a number is out of range. */
size_t sim_rigid_bytes(const simulation *s);
void sim_rigid_save(const simulation *s, void *to);
bool sim_rigid_restore(simulation *s, const void *from);

/* ---- simulate_state.c: files of states ---- */

/* A state: after a frame of a run. */
typedef struct sim_state {
    uint64_t frame; /* since the start of the first run */
    double fps;
    uint32_t substeps;
    tool_text bytes; /* all of the file, without its checksum */
} sim_state;

/* Saves the state after a frame, in place of the last one. */
void sim_save(const simulation *s, sim_state *state);
void sim_write_state(const simulation *s, sim_state *state, const char *path);
/* Reads a file and validates it, except what depends on the scene. */
void sim_read_state(tool_run *tool, const char *path, sim_state *state);
/* Sets the state of a simulation that was just created. */
void sim_restore(simulation *s, const sim_state *state, const char *path);

#endif
