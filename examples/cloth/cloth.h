/* Cloth that does not pass through itself nor through a moving solid.
 *
 * A triangle mesh whose edges resist stretch and shear and whose hinges resist bending (extended
 * position-based dynamics), under gravity, wind and pressure. Every step ends without an
 * intersection if the one before did: see collide.c. All of it gives the same positions on any
 * number of threads and on devices. Positions at the end of a step are floats.
 *
 * Two parts, to be compiled into a program that uses abut: this one, and scenes.h on top of it.
 */
#ifndef ABUT_CLOTH_H
#define ABUT_CLOTH_H

#include <abut/abut.h>

typedef struct cloth cloth;

/* Lengths in metres, masses in kilograms; what is 0 has no effect unless said otherwise. */
typedef struct cloth_options {
    double stretch, shear; /* stiffness against it in N/m; 0 = 200. Shear is that of edges that are
                            * the longest of both their triangles: diagonals of a grid */
    double bend;           /* stiffness against bending, in N m */
    double density;        /* kg a square metre; 0 = 0.2 */
    double damping;        /* of all motion, 1/s */
    abut_vec3 gravity;     /* m/s^2 */
    abut_vec3 wind;        /* m/s */
    double drag;           /* of the air: N a square metre for each m/s of relative motion */
    double pressure;       /* of a closed cloth at its first volume over that outside, in N/m^2; it
                            * grows as the volume shrinks */
    double thickness;      /* that contacts keep; 0 = a fifth of the mean length of edges */
    double friction;       /* coefficient, against the solid and itself */
    uint32_t substeps;     /* of a step; 0 = 10 */
    const uint32_t *pins;  /* vertices that stay where they are; copied. For those that move see
                            * cloth_add_holds() */
    uint32_t pin_count;
    bool solid_yields;   /* vertices of the solid that would crush cloth may lag behind, so that the
                          * rest can go on; see cloth_step() */
    bool no_self;        /* it may pass through itself: quicker */
    uint32_t grain;      /* items that a thread takes at a time; 0 = 4096 */
    abut_device *device; /* where it moves; null = the CPU. Held while the cloth lives */
} cloth_options;

/* A cloth of the shape of a mesh, which is its shape at rest. Refused: options that are not finite
 * or below 0, pins that are no vertices, devices without doubles or that round otherwise than this
 * CPU. */
abut_status cloth_create(abut_context *context, abut_mesh *mesh, const cloth_options *options,
                         cloth **made);
void cloth_destroy(cloth *c);

/* Gives it a solid not to pass through: `solid` tells its triangles and where it begins. Once,
 * before the first step. */
abut_status cloth_add_solid(cloth *c, abut_mesh *solid);

/* Keeps it out of the radial fields of a character instead: quick, and for looks. Only vertices are
 * kept out, and only from what fields see. Nothing is swept; but for `no_self` vertices keep off
 * the faces of the cloth that are near them when a step begins. The caller updates the fields
 * before every step; they must live as long. Where the cloth is on a device they must be on the
 * same, and nothing comes to the host but what the report tells. A solid is then no obstacle, but
 * holds may be bound to it. Once, before the first step. Refused: a cloth in which a vertex has
 * some hundred neighbours. */
abut_status cloth_add_radial(cloth *c, abut_radial *radial);

/* ---- what holds the cloth ---- */

/* A vertex that is held at a place which moves: one that the caller gives, or one of the solid. */
typedef struct cloth_hold {
    uint32_t vertex;
    uint32_t triangle; /* of the solid; ABUT_NONE = where cloth_move_holds() says, until then where
                        * the vertex is */
    double weight[3];  /* of the triangle's corners, of which they make the place; 1 in all */
    double offset;     /* from there along the normal of the triangle */
    double stiffness;  /* of the pull, in N/m; 0 = pinned: always exactly there, unless impacts are
                        * in the way */
} cloth_hold;

/* Makes holds of vertices at the points of the solid that are next to them: they keep the offset
 * that they have. Nothing is held before they are added. */
abut_status cloth_bind(cloth *c, const uint32_t *vertices, uint32_t count, double stiffness,
                       cloth_hold *holds);
/* Holds vertices, each at one place at most. Once, after the solid, before the first step. Copied.
 */
abut_status cloth_add_holds(cloth *c, const cloth_hold *holds, uint32_t count);
/* Where holds go in the next step: absolute, one a hold. Those at the solid go with it. */
abut_status cloth_move_holds(cloth *c, const abut_vec3 *targets);

/* ---- a step ---- */

/* What happened in a step. */
typedef struct cloth_report {
    uint32_t contacts;    /* places where repulsion was at work */
    uint32_t impacts;     /* that the sweep of the first plan found */
    uint32_t rounds;      /* sweeps until there were none */
    uint32_t zone_halved; /* times that the motion of some vertices was halved */
    uint32_t solid_late;  /* vertices of the solid that are not where they were to be */
    double latest;        /* how far the one that is furthest off */
    double deepest;       /* with radial fields: how far inside a vertex had to stay */
    double thinnest;      /* gap between a vertex and a surface when the step began; the range of
                           * repulsion where nothing is as near */
    double fraction;      /* of the step that was taken: below 1 only where nothing else helped */
    double dynamics, search, sweep; /* seconds spent: in constraints, contacts, sweeps */
} cloth_report;

/* Goes on by some seconds, while the solid moves to `solid_end`: absolute positions, floats, null
 * without one or where it rests. Where the whole step cannot be taken without an intersection only
 * a part of it is, by cloth and solid alike; see the report. Cloth between two parts of a solid
 * that pass through each other would so stop everything for good: with `solid_yields` those
 * vertices of the solid that are in the way lag behind, and catch up when they can. On failure,
 * such as ABUT_ERROR_LIMIT where forces tear the cloth apart or ABUT_ERROR_DEVICE, all but the aims
 * is as before. */
abut_status cloth_step(cloth *c, double seconds, const abut_vec3 *solid_end, cloth_report *report);

/* The same with the solid's positions (abut_vec3) in a buffer on the device of the cloth, such as a
 * skinner's; for cloth against radial fields. */
abut_status cloth_step_from(cloth *c, double seconds, abut_array solid_end, cloth_report *report);

/* Moves vertices that are inside of the solid, by `depth` at most, out to `thickness` from its
 * surface the shortest way, decided exactly: for what radial fields do not see, in all frames or in
 * some. Tells how many they were, and how deep the deepest. Pinned ones stay; where the solid
 * overlaps itself, a few may stay inside. Positions pass through the host, and the cloth is free to
 * pass through itself meanwhile. On failure all is as before. */
abut_status cloth_leave_solid(cloth *c, double depth, uint32_t *moved, double *deepest);

/* Where vertices are, those of the cloth first and then those of the solid; and where they were
 * about to go in the last step, before impacts were looked for. Absolute. Against radial fields on
 * a device they come to the host when someone asks; null where it fails at that. */
uint32_t cloth_vertex_count(const cloth *c);
const abut_vec3 *cloth_positions(const cloth *c);
const abut_vec3 *cloth_aims(const cloth *c);
/* The same as meshes, made anew: 0 is the cloth, 1 the solid. */
abut_status cloth_mesh(const cloth *c, uint32_t which, abut_mesh **mesh);

/* Whether no two triangles meet that need not, decided exactly. */
abut_status cloth_is_free(cloth *c, bool *is_free);

/* Wind may turn. */
void cloth_set_wind(cloth *c, abut_vec3 wind);

typedef struct cloth_energy {
    double kinetic, gravity, elastic;
} cloth_energy;
/* In joules, without that of pressure. */
cloth_energy cloth_energy_of(const cloth *c);
double cloth_thickness(const cloth *c);

#endif
