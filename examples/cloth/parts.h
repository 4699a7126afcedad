/* What the files of the cloth share. Everything is in flat arrays, as devices want them. */
#ifndef CLOTH_PARTS_H
#define CLOTH_PARTS_H

#include "cloth.h"
#include "dynamics_shared.h"

/* Where each colour begins. */
typedef struct cloth_colours {
    uint32_t begin[COLOURS + 1];
    uint32_t count; /* of colours */
} cloth_colours;

typedef struct cloth_device cloth_device;

struct cloth {
    abut_context *context;
    cloth_options options;           /* without pins */
    uint32_t vertices, all_vertices; /* all: with those of the solid */
    uint32_t triangles;
    abut_mesh *rest, *solid;
    struct cloth_quick *quick; /* with radial fields; null = the solid is the obstacle */
    const uint32_t *indices;   /* 3 a triangle; of `rest` */
    abut_topology *topology;
    abut_topology_arrays view;
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
    double *sums; /* a number for each block of triangles */
    cloth_held *held;
    vec *given; /* for each hold where the caller had it in the last step, and wants it now */
    uint32_t held_count;

    /* contacts */
    abut_bvh *cloth_bvh, *solid_bvh;
    uint64_t solid_moved;  /* steps in which the solid did */
    uint64_t solid_fit;    /* that number when its hierarchy was fitted */
    abut_nearest *nearest; /* vertices: the solid's points next to them */
    cloth_touch *touches;
    cloth_near *nears;
    size_t touch_count, near_count, near_room;
    double touch_gap; /* the least; the range of repulsion where there is none */
    cloth_colours near_colours;

    /* impacts */
    abut_sweep *motions[2]; /* of the cloth against itself, and against the solid */
    abut_topology *solid_topology;
    vec *end; /* all_vertices */
    abut_impact *impacts;
    size_t impact_count, impact_room;
    cloth_near *barriers;
    size_t barrier_count, barrier_room;
    unsigned char *halvings; /* all_vertices */
    vec *goal; /* the solid's vertices: where they were to be, and then where they go now; where
                * it yields */

    const struct cloth_backend *backend;
    cloth_device *device; /* null on the CPU */
};

/* ---- build.c ---- */

/* Sorts constraints by colour. Each begins with the `corners` vertices that it has, all of the
 * cloth. */
abut_status cloth_colour(const cloth *c, void *list, size_t count, size_t bytes, uint32_t corners,
                         cloth_colours *colours);
/* A list with room for `count`: the one there is, or a larger one instead, with what was in it.
 * Null when out of memory, and the list is as it was. */
void *cloth_grown(cloth *c, void *list, size_t *room, size_t count, size_t bytes);
double cloth_clock(void);

/* ---- attachments.c ---- */

/* Where holds go in a step; on the CPU. */
void cloth_place_holds(cloth *c, const vec *solid_end);
/* The step was taken. */
void cloth_finish_holds(cloth *c);
void cloth_free_holds(cloth *c);

/* ---- dynamics.c ---- */

/* Makes `now` go on from `position` by some seconds, with contacts as planes; fits velocities. */
void cloth_advance(cloth *c, double seconds);
/* What holds in substep i of a step. */
cloth_substep cloth_substep_of(const cloth *c, double seconds, uint32_t i);
/* Finds what air does to each triangle. */
void cloth_push(cloth *c, const cloth_substep *s, double pressure);
static inline uint32_t cloth_volume_blocks(const cloth *c) {
    return (uint32_t)(((size_t)c->triangles + VOLUME_BLOCK - 1) / VOLUME_BLOCK);
}
/* The volume at `now`. */
double cloth_volume_now(cloth *c);
/* Takes the volume that there is as the first one. */
void cloth_measure_volume(cloth *c);

/* ---- where a step is computed ---- */

typedef struct cloth_backend {
    void (*destroy)(cloth *c);
    /* Before all else in a step: brings what is needed to where it is needed. */
    abut_status (*begin)(cloth *c, const vec *solid_end);
    /* Finds the touches within `radius`; sets touch_count and touch_gap, which begin as 0 and as
     * the range of repulsion. */
    abut_status (*find_touches)(cloth *c, double radius, const vec *solid_end);
    /* Sets `aim`, with NaN where that is beyond all bounds, and `velocity`. */
    abut_status (*plan)(cloth *c, double seconds, const vec *solid_end);
    /* `end` is another than the last one, or than the aim. */
    abut_status (*set_end)(cloth *c);
    /* Makes a motion take the step from `position` to `end`, or that of staying at `position`. */
    abut_status (*step)(cloth *c, int motion, bool still);
    /* The step was taken: its end is where the next begins. */
    void (*finish)(cloth *c, bool velocities_changed);
    /* A whole step against radial fields. The report has all of it; on failure all is as before. */
    abut_status (*quick)(cloth *c, double seconds, abut_array solid_end, cloth_report *report);
    /* Brings to the host what stayed away in such steps. */
    abut_status (*fetch)(cloth *c);
    /* The host has other positions and velocities now, after it fetched them. */
    void (*changed)(cloth *c);
} cloth_backend;

extern const cloth_backend cloth_on_cpu; /* collide.c */

/* device.c: prepares a cloth for a device, which it keeps alive; it gives the same bits. Also where
 * that fails the table is that of the device. */
abut_status cloth_device_create(cloth *c, abut_device *device);

/* ---- quick.c ---- */

abut_status cloth_quick_step(cloth *c, double seconds, abut_array solid_end, cloth_report *report);
/* On the CPU; see cloth_backend. */
abut_status cloth_quick_on_cpu(cloth *c, double seconds, abut_array solid, cloth_report *report);
void cloth_free_quick(cloth *c);

/* ---- contacts.c ---- */

/* The hierarchy of a part, 0 the cloth and 1 the solid, where it is now: made or fitted. */
abut_status cloth_fit(cloth *c, uint32_t which, abut_bvh **bvh);

/* Touches on the CPU; see cloth_backend. */
abut_status cloth_find_touches(cloth *c, double radius, const vec *solid_end);
/* Finds touches and nears for a step in which the solid goes to `solid_end`. */
abut_status cloth_find_contacts(cloth *c, double seconds, const vec *solid_end);
/* The least distance of all that were found; the range of repulsion where none is. */
double cloth_thinnest_gap(const cloth *c);
void cloth_free_contacts(cloth *c);

/* ---- collide.c ---- */

/* Adds the first impacts, up to `most`, of the last step of a motion to the list. */
abut_status cloth_sweep(cloth *c, abut_sweep *motion, const abut_sweep_find_options *options,
                        size_t most);
/* The four vertices of an impact, and with which weights they meet. */
void cloth_features_of(const cloth *c, const abut_impact *impact, cloth_near *n);
void cloth_free_impacts(cloth *c);

#endif
