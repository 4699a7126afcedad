/* Rigid bodies in the Open Dynamics Engine that get all contacts from abut: what `abut simulate`
 * uses. Coordinates of a body are those of its mesh; the centre of mass may be anywhere. */
#ifndef ABUT_EXAMPLES_ODE_RIGID_H
#define ABUT_EXAMPLES_ODE_RIGID_H

#include <abut/abut.h>

typedef struct rigid_world rigid_world;

typedef struct rigid_body {
    double mass;
    abut_vec3 centre;  /* of mass */
    double inertia[6]; /* about it, in the order of abut_mesh_report.inertia */
    abut_pose pose;
    abut_vec3 velocity, spin; /* of the origin, m/s; angular, rad/s */
} rigid_body;

/* Two surfaces that touch or are about to. */
typedef struct rigid_contact {
    uint32_t a, b;           /* bodies; ABUT_NONE for what forces do not move */
    abut_vec3 point, normal; /* the normal points from b to a */
    double depth;            /* negative: a gap */
    abut_vec3 velocity;      /* of the surface at the point, of the one that is ABUT_NONE */
    double friction, bounce;
} rigid_contact;

abut_status rigid_create(abut_vec3 gravity, rigid_world **world);
void rigid_destroy(rigid_world *world); /* null is allowed */
/* Adds a body; indices are 0, 1 and so on. */
abut_status rigid_add(rigid_world *world, const rigid_body *body, uint32_t *index);

/* The current pose, and the pose after a step in which nothing touches the body. */
abut_pose rigid_pose(const rigid_world *world, uint32_t body);
abut_pose rigid_pose_after(const rigid_world *world, uint32_t body, double seconds);
/* The velocity of a point of a body. */
abut_vec3 rigid_velocity(const rigid_world *world, uint32_t body, abut_vec3 point);
/* Kinetic energy of all bodies. */
double rigid_energy(const rigid_world *world);

/* What a body has between steps, of its centre of mass. */
typedef struct rigid_state {
    double rotation[4]; /* w, x, y, z */
    abut_vec3 place, velocity, spin;
} rigid_state;

/* The state of a body. Bodies of an equal world with the same states and seed make the same steps,
 * bit for bit. */
rigid_state rigid_get_state(const rigid_world *world, uint32_t body);
void rigid_set_state(rigid_world *world, uint32_t body, const rigid_state *state);
/* The seed of the random order in which contacts are solved, of all worlds. */
uint64_t rigid_get_seed(void);
void rigid_set_seed(uint64_t seed);

/* Adds an impulse, in N s, and its moment about the centre of mass. */
void rigid_push(rigid_world *world, uint32_t body, abut_vec3 impulse, abut_vec3 moment);
/* Adds a contact for the next step. A gap lets the surfaces approach until they touch. */
void rigid_touch(rigid_world *world, const rigid_contact *contact, double seconds);
/* Makes a step of `seconds` and forgets all contacts. */
void rigid_step(rigid_world *world, double seconds);

#endif
