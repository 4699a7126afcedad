/* Private declarations of the cloth. All data are in flat arrays, for devices. */
#ifndef CLOTH_PARTS_H
#define CLOTH_PARTS_H

#include "cloth.h"
#include "dynamics_shared.h"

/* The offset of each colour. */
typedef struct cloth_colours {
    uint32_t begin[COLOURS + 1];
    uint32_t count; /* of colours */
} cloth_colours;

typedef struct cloth_device cloth_device;

struct cloth {
    abut_context *context;
    cloth_options options;           /* without pins */
    uint32_t vertices, all_vertices; /* all: including those of the solid */
    uint32_t triangles;
    abut_mesh *rest, *solid;
    struct cloth_quick *quick; /* with radial fields; null = the solid is the obstacle */
    const uint32_t *indices;   /* 3 per triangle; of `rest` */
    abut_topology *topology;
    abut_topology_arrays view;
    double mean_edge, first_volume;

    vec *position;               /* all_vertices: at the start and end of steps */
    vec *aim;                    /* all_vertices */
    vec *velocity;               /* vertices, as the following */
    vec *now, *before;           /* within a step */
    vec *kept;                   /* velocities before the step */
    vec *push;                   /* of the air on a third of each triangle */
    double *mass, *inverse_mass; /* inverse: all_vertices */
    cloth_edge *edges;
    cloth_hinge *hinges;
    cloth_colours edge_colours, hinge_colours;
    uint32_t edge_count, hinge_count;
    double *sums; /* one per block of triangles */
    cloth_held *held;
    vec *given; /* for each hold the caller's target in the last step and in this one */
    uint32_t held_count;

    /* contacts */
    abut_bvh *cloth_bvh, *solid_bvh;
    uint64_t solid_moved;  /* number of steps in which the solid moved */
    uint64_t solid_fit;    /* that number when its BVH was last refitted */
    abut_nearest *nearest; /* vertices: their closest points on the solid */
    cloth_touch *touches;
    cloth_near *nears;
    size_t touch_count, near_count, near_room;
    double touch_gap; /* smallest gap; the range of repulsion if there is none */
    cloth_colours near_colours;

    /* impacts */
    abut_sweep *motions[2]; /* cloth against itself, and against the solid */
    abut_topology *solid_topology;
    vec *end; /* all_vertices */
    abut_impact *impacts;
    size_t impact_count, impact_room;
    cloth_near *barriers;
    size_t barrier_count, barrier_room;
    unsigned char *halvings; /* all_vertices */
    vec *goal; /* vertices of the solid: their targets, then their current ends; if it yields */

    const struct cloth_backend *backend;
    cloth_device *device; /* null on the CPU */
};

/* ---- build.c ---- */

/* Sorts constraints by colour. Each starts with its `corners` vertex indices, all of the cloth. */
abut_status cloth_colour(const cloth *c, void *list, size_t count, size_t bytes, uint32_t corners,
                         cloth_colours *colours);
/* Grows a list to `count` elements if necessary, and keeps its content. Returns null when out of
 * memory; the list is then unchanged. */
void *cloth_grown(cloth *c, void *list, size_t *room, size_t count, size_t bytes);
double cloth_clock(void);

/* ---- attachments.c ---- */

/* Computes the targets of holds in a step, on the CPU. */
void cloth_place_holds(cloth *c, const vec *solid_end);
/* Called after a step was accepted. */
void cloth_finish_holds(cloth *c);
void cloth_free_holds(cloth *c);

/* ---- dynamics.c ---- */

/* Advances `now` from `position` by some seconds, with contacts as planes; computes velocities. */
void cloth_advance(cloth *c, double seconds);
/* The parameters of substep i of a step. */
cloth_substep cloth_substep_of(const cloth *c, double seconds, uint32_t i);
/* Computes the force of the air on each triangle. */
void cloth_push(cloth *c, const cloth_substep *s, double pressure);
static inline uint32_t cloth_volume_blocks(const cloth *c) {
    return (uint32_t)(((size_t)c->triangles + VOLUME_BLOCK - 1) / VOLUME_BLOCK);
}
/* The volume at `now`. */
double cloth_volume_now(cloth *c);
/* Stores the current volume as the initial one. */
void cloth_measure_volume(cloth *c);

/* ---- back ends ---- */

typedef struct cloth_backend {
    void (*destroy)(cloth *c);
    /* First call of a step: uploads its input. */
    abut_status (*begin)(cloth *c, const vec *solid_end);
    /* Finds the touches within `radius`; sets touch_count and touch_gap, which are initialised
     * to 0 and to the range of repulsion. */
    abut_status (*find_touches)(cloth *c, double radius, const vec *solid_end);
    /* Sets `aim`, with NaN if it is outside the valid range, and `velocity`. */
    abut_status (*plan)(cloth *c, double seconds, const vec *solid_end);
    /* `end` differs from the last one, or from the aim. */
    abut_status (*set_end)(cloth *c);
    /* Sets the step of a motion: from `position` to `end`, or staying at `position`. */
    abut_status (*step)(cloth *c, int motion, bool still);
    /* Called after a step was accepted: its end is the start of the next. */
    void (*finish)(cloth *c, bool velocities_changed);
    /* A whole step against radial fields, with its report; on failure everything is unchanged. */
    abut_status (*quick)(cloth *c, double seconds, abut_array solid_end, cloth_report *report);
    /* Downloads the results of such steps. */
    abut_status (*fetch)(cloth *c);
    /* Called after the host has changed downloaded positions and velocities. */
    void (*changed)(cloth *c);
} cloth_backend;

extern const cloth_backend cloth_on_cpu; /* collide.c */

/* device.c: prepares a cloth for a device, to which it holds a reference; results have the same
 * bits. The back end is that of the device also on failure. */
abut_status cloth_device_create(cloth *c, abut_device *device);

/* ---- quick.c ---- */

abut_status cloth_quick_step(cloth *c, double seconds, abut_array solid_end, cloth_report *report);
/* On the CPU; see cloth_backend. */
abut_status cloth_quick_on_cpu(cloth *c, double seconds, abut_array solid, cloth_report *report);
void cloth_free_quick(cloth *c);

/* ---- contacts.c ---- */

/* Builds or refits the BVH of the cloth (0) or the solid (1) at its current positions. */
abut_status cloth_fit(cloth *c, uint32_t which, abut_bvh **bvh);

/* Touches on the CPU; see cloth_backend. */
abut_status cloth_find_touches(cloth *c, double radius, const vec *solid_end);
/* Finds touches and near pairs for a step in which the solid moves to `solid_end`. */
abut_status cloth_find_contacts(cloth *c, double seconds, const vec *solid_end);
/* The smallest distance that was found; the range of repulsion if there is none. */
double cloth_thinnest_gap(const cloth *c);
void cloth_free_contacts(cloth *c);

/* ---- collide.c ---- */

/* Appends the first impacts, up to `most`, of the last step of a motion to the list. */
abut_status cloth_sweep(cloth *c, abut_sweep *motion, const abut_sweep_find_options *options,
                        size_t most);
/* The four vertices of an impact, with their weights at the time of impact. */
void cloth_features_of(const cloth *c, const abut_impact *impact, cloth_near *n);
void cloth_free_impacts(cloth *c);

#endif
