/* What the files of the cloth share. Everything is in flat arrays, as a device would want them. */
#ifndef CLOTH_PARTS_H
#define CLOTH_PARTS_H

#include "cloth.h"
#include "vector.h"

/* Keeps the length of an edge. */
typedef struct cloth_edge {
    uint32_t vertex[2];
    double rest, compliance; /* m, m/N */
} cloth_edge;

/* Keeps the bend of two triangles at their common edge: |sum k_i x_i|, which is 0 where they are in
 * one plane (Bergou et al. 2006, "A quadratic bending model for inextensible surfaces", where the
 * rest shape is flat; keeping the length of that vector is what it becomes where it is not). */
typedef struct cloth_hinge {
    uint32_t vertex[4]; /* of the edge, then opposite */
    double k[4], rest, compliance;
} cloth_hinge;

/* Constraints of one colour have no vertex in common, so that the threads may share them out in any
 * way. Those of the last colour are done one after the other: what is left of vertices with very
 * many edges. */
enum { COLOURS = 64 };

typedef struct cloth_colours {
    uint32_t begin[COLOURS + 1];
    uint32_t count; /* of colours */
} cloth_colours;

/* A vertex next to the solid: it stays on its side of a plane that moves with the solid. */
typedef struct cloth_touch {
    uint32_t vertex;
    vec normal;          /* unit, away from the solid */
    vec point, movement; /* of the solid next to it: at the start of the step, and over it */
    double gap, least;   /* distance that it has, and that it is to keep */
} cloth_touch;

/* Two features that keep apart: sum of weight_i x_i, from the second to the first, is at least this
 * long along the normal. Vertices beyond those of the cloth are the solid's. */
typedef struct cloth_near {
    uint32_t vertex[4];
    double weight[4]; /* 1 in all for the first feature, -1 for the second */
    vec normal;       /* unit, from the second to the first */
    double gap, least;
} cloth_near;

struct cloth {
    abut_context *context;
    cloth_options options;           /* without pins */
    uint32_t vertices, all_vertices; /* all: with those of the solid */
    uint32_t triangles;
    abut_mesh *rest, *solid;
    const uint32_t *indices; /* 3 a triangle; of `rest` */
    abut_topology *topology;
    abut_topology_view view;
    double mean_edge, first_volume;

    vec *position;               /* all_vertices: where steps begin and end */
    vec *aim;                    /* all_vertices */
    vec *velocity;               /* vertices, as the next */
    vec *now, *before;           /* within a step */
    vec *kept;                   /* velocities before it */
    vec *push;                   /* of the air on a third of each triangle */
    double *mass, *inverse_mass; /* inverse: all_vertices */
    cloth_edge *edges;
    cloth_hinge *hinges;
    cloth_colours edge_colours, hinge_colours;
    uint32_t edge_count, hinge_count;
    double *sums; /* a number for each chunk of triangles */

    /* contacts */
    abut_bvh *cloth_bvh, *solid_bvh;
    abut_nearest *nearest; /* room for answers */
    uint64_t *offsets;
    size_t nearest_room;
    cloth_touch *touches;
    cloth_near *nears;
    size_t touch_count, near_count, near_room;

    /* impacts */
    abut_motion *motions[2]; /* of the cloth against itself, and against the solid */
    abut_topology *solid_topology;
    vec *end; /* all_vertices */
    abut_impact *impacts;
    size_t impact_count, impact_room;
    cloth_near *barriers;
    size_t barrier_count, barrier_room;
    unsigned char *halvings; /* vertices */
};

/* Makes `now` go on from `position` by some seconds, with contacts as planes; fits velocities. */
void cloth_advance(cloth *c, double seconds);
/* Moves the vertices of two features apart where they are too near, with friction against the
 * motion since `before`. Tells how far. */
double cloth_hold_apart(const cloth *c, const cloth_near *n, vec *x, const vec *before);

/* Finds touches and nears for a step in which the solid goes to `solid_end`. */
abut_status cloth_find_contacts(cloth *c, double seconds, const vec *solid_end);
/* The least distance of all that were found; the range of repulsion where none is. */
double cloth_thinnest_gap(const cloth *c);
void cloth_free_contacts(cloth *c);
void cloth_free_impacts(cloth *c);

/* A list with room for `count`: the one there is, or a larger one instead, with what was in it.
 * Null when out of memory, and the list is as it was. */
void *cloth_grown(cloth *c, void *list, size_t *room, size_t count, size_t bytes);

double cloth_clock(void);

#endif
