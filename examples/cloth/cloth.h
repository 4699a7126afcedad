/* Cloth that does not pass through itself or through a moving solid.
 *
 * A triangle mesh whose edges resist stretch and shear and whose hinges resist bending (extended
 * position-based dynamics), under gravity, wind and pressure. Every step ends without an
 * intersection if it starts without one: see collide.c. Positions are equal on any number of
 * threads and on devices. Positions at the end of a step are floats.
 *
 * Two parts, to be compiled into a program that uses abut: this one, and scenes.h on top of it. */
#ifndef ABUT_CLOTH_H
#define ABUT_CLOTH_H

#include <abut/abut.h>

typedef struct cloth cloth;

/* Lengths in metres, masses in kilograms. A value of 0 has no effect unless stated otherwise. */
typedef struct cloth_options {
    double stretch, shear; /* stiffness in N/m; 0 = 200. Shear applies to edges that are the longest
                              of both their triangles: the diagonals of a grid */
    double bend;           /* bending stiffness, in N m */
    double density;        /* kg per square metre; 0 = 0.2 */
    double damping;        /* of all motion, 1/s */
    abut_vec3 gravity;     /* m/s^2 */
    abut_vec3 wind;        /* m/s */
    double drag;           /* of the air: N per square metre for each m/s of relative motion */
    double pressure;      /* of a closed cloth at its initial volume, above the outside pressure, in
                             N/m^2; it increases as the volume decreases */
    double thickness;     /* distance that contacts keep; 0 = a fifth of the mean length of edges */
    double friction;      /* coefficient, against the solid and itself */
    uint32_t substeps;    /* per step; 0 = 10 */
    const uint32_t *pins; /* vertices that do not move; copied. Moving pins: cloth_add_holds() */
    uint32_t pin_count;
    bool solid_yields;   /* vertices of the solid that would crush cloth may lag behind, so that the
                            others can continue; see cloth_step() */
    bool no_self;        /* skip self-collision, which is faster */
    uint32_t grain;      /* items per task; 0 = 4096 */
    abut_device *device; /* computes the motion; null = the CPU. The cloth holds a reference */
} cloth_options;

/* Creates a cloth with the shape of a mesh, which is its rest shape. Returns an error for
 * options that are not finite or below 0, pins that are no vertices, and devices without doubles
 * or with other rounding than this CPU. */
abut_status cloth_create(abut_context *context, abut_mesh *mesh, const cloth_options *options,
                         cloth **made);
void cloth_destroy(cloth *c);

/* Adds a solid as obstacle: `solid` gives its triangles and its initial positions. Once, before
 * the first step. */
abut_status cloth_add_solid(cloth *c, abut_mesh *solid);

/* Uses the radial fields of a character as obstacle instead: fast, for visual purposes. Only
 * vertices are kept outside, and only of what the fields cover. There are no sweeps, also not
 * of the cloth with itself. The caller updates the fields before every step; they must outlive
 * the cloth. If the cloth is on a device, they must be on the same one, and only the report is
 * downloaded. A solid is then no obstacle, but holds may be bound to it. Once, before the first
 * step. */
abut_status cloth_add_radial(cloth *c, abut_radial *radial);

/* ---- attachments ---- */

/* A vertex that is attached to a moving point: one that the caller sets, or one of the solid. */
typedef struct cloth_hold {
    uint32_t vertex;
    uint32_t triangle; /* of the solid; ABUT_NONE = the target of cloth_move_holds(), initially the
                          position of the vertex */
    double weight[3];  /* barycentric weights of the triangle's corners; their sum is 1 */
    double offset;     /* from that point along the normal of the triangle */
    double stiffness;  /* of the spring, in N/m; 0 = pinned: exactly at its target, unless impacts
                          prevent it */
} cloth_hold;

/* Creates holds of vertices at the closest points of the solid; they keep their current offset.
 * They have no effect before they are added. */
abut_status cloth_bind(cloth *c, const uint32_t *vertices, uint32_t count, double stiffness,
                       cloth_hold *holds);
/* Attaches vertices, each to at most one point. Once, after the solid, before the first step.
 * Copied. */
abut_status cloth_add_holds(cloth *c, const cloth_hold *holds, uint32_t count);
/* Sets the targets of holds in the next step: absolute positions, one per hold. Holds at the
 * solid ignore theirs. */
abut_status cloth_move_holds(cloth *c, const abut_vec3 *targets);

/* ---- a step ---- */

/* The report of a step. */
typedef struct cloth_report {
    uint32_t contacts;    /* of vertices with the solid and with faces of the cloth */
    uint32_t impacts;     /* found by the sweep of the first plan */
    uint32_t rounds;      /* sweeps until there were none */
    uint32_t zone_halved; /* number of times that the motion of some vertices was halved */
    uint32_t solid_late;  /* vertices of the solid that are not at their targets */
    double latest;        /* largest distance of one of them from its target */
    double deepest;       /* with radial fields: largest depth at which a vertex remained inside */
    double thinnest; /* smallest gap between a vertex and a surface at the start of the step, as a
                        float; the range of repulsion if nothing is as near */
    double fraction; /* of the step that was applied: below 1 only if nothing else separates */
    double dynamics, search, sweep; /* seconds spent on constraints, contacts, sweeps */
} cloth_report;

/* Advances by some seconds, while the solid moves to `solid_end`: absolute positions, floats;
 * null if there is no solid or it does not move. If the whole step would cause an intersection,
 * cloth and solid both move by only a fraction of it; see the report. On a device a vertex with
 * some hundred neighbours is ABUT_ERROR_LIMIT. Cloth between two parts of a solid that pass through
 * each other would then stop everything permanently. With `solid_yields`, the vertices of the solid
 * that are in the way lag behind, and catch up later. On failure, such as ABUT_ERROR_LIMIT if
 * forces tear the cloth apart or ABUT_ERROR_DEVICE, everything except the aims is unchanged. */
abut_status cloth_step(cloth *c, double seconds, const abut_vec3 *solid_end, cloth_report *report);

/* The same with the solid's positions (abut_vec3) in a buffer on the device of the cloth, such
 * as a skinner's; for cloth against radial fields. */
abut_status cloth_step_from(cloth *c, double seconds, abut_array solid_end, cloth_report *report);

/* Moves vertices that are inside the solid by at most `depth` to `thickness` outside its surface
 * along the shortest path, decided exactly. Use it in all or some frames for surfaces that
 * radial fields do not cover. Writes the number of moved vertices and the largest depth. Pinned
 * vertices stay. If the solid overlaps itself, some vertices may stay inside. Positions are
 * copied through the host, and self-collision is ignored. On failure everything is unchanged. */
abut_status cloth_leave_solid(cloth *c, double depth, uint32_t *moved, double *deepest);

/* Positions of vertices, those of the cloth first and then those of the solid; and their aims in
 * the last step, before impacts were searched for. Absolute. Against radial fields on a device
 * they are downloaded on demand; null if that fails. */
uint32_t cloth_vertex_count(const cloth *c);
const abut_vec3 *cloth_positions(const cloth *c);
const abut_vec3 *cloth_aims(const cloth *c);
/* The same as new meshes: 0 is the cloth, 1 the solid. */
abut_status cloth_mesh(const cloth *c, uint32_t which, abut_mesh **mesh);

/* Tests exactly whether no two triangles without a common vertex intersect. */
abut_status cloth_is_free(cloth *c, bool *is_free);

/* Changes the wind. */
void cloth_set_wind(cloth *c, abut_vec3 wind);

typedef struct cloth_energy {
    double kinetic, gravity, elastic;
} cloth_energy;
/* In joules, without the energy of pressure. */
cloth_energy cloth_energy_of(const cloth *c);
double cloth_thickness(const cloth *c);

#endif
