/* Private declarations of the cloth. All data are in flat arrays, for devices. */
#ifndef CLOTH_PARTS_H
#define CLOTH_PARTS_H

#include "cloth.h"
#include "solver_shared.h"

/* Patches and their constraints; see solver_shared.h. */
typedef struct cloth_patches {
    cloth_patch *patches;
    uint32_t count;
    uint32_t largest; /* largest number of vertices of a patch, including copies */
    uint32_t *list;   /* vertices of all patches */
    uint32_t listed;
    void *slots[2]; /* cloth_hinge, cloth_edge */
    uint32_t slot_count[2];
} cloth_patches;

typedef struct cloth_bvh {
    abut_bvh *bvh;
    uint64_t fit;    /* solid_moved at the last build or refit */
    uint32_t refits; /* since the last build */
} cloth_bvh;

/* Memory of cloth_leave_solid(), per vertex. */
typedef struct cloth_leaving {
    vec *points, *moved;
    uint32_t *queried;
    abut_nearest *answers;
} cloth_leaving;

/* Data that queries of the library read and write where the back end has them: positions of all
 * vertices at the start and end of a step, and for each vertex of the cloth its closest point on
 * the solid or its hit of a radial field. */
typedef struct cloth_arrays {
    abut_array start, end, nearest, hits;
} cloth_arrays;

typedef struct cloth_host cloth_host;

struct cloth {
    abut_context *context;
    cloth_options options;           /* without pins */
    uint32_t vertices, all_vertices; /* all: including those of the solid */
    uint32_t triangles;
    abut_mesh *rest, *solid;
    abut_radial *radial;     /* null = the solid is the obstacle */
    const uint32_t *indices; /* 3 per triangle; of `rest` */
    abut_topology *topology, *solid_topology;
    abut_topology_arrays view;
    double mean_edge, first_volume;
    double *mass, *inverse_mass; /* inverse: all_vertices */
    cloth_edge *edges;
    cloth_hinge *hinges;
    uint32_t edge_count, hinge_count;
    cloth_held *held;
    vec *given; /* for each hold the caller's target in the last step and in this one */
    uint32_t held_count;
    bool is_prepared; /* by the first step, as the following */
    cloth_patches patches;
    uint32_t *held_of; /* per vertex: its hold; null without holds */
    cloth_search search;

    /* state */
    vec *position;                 /* all_vertices: at the start and end of steps */
    vec *velocity, *next_velocity; /* at the start of a step, and at its end until it is accepted */
    vec *aim, *end;                /* all_vertices: before and after the handling of impacts */
    cloth_arrays arrays;
    uint64_t solid_moved; /* number of steps in which the solid moved */
    cloth_totals totals;  /* of this step */

    /* collisions with the solid */
    cloth_bvh bvhs[2];      /* of the cloth, and of the solid on the device if there is one */
    abut_sweep *motions[2]; /* cloth against itself, and against the solid */
    abut_impact *impacts;
    struct cloth_barrier *barriers;
    size_t impact_count, impact_room, barrier_count, barrier_room;
    unsigned char *halvings; /* all_vertices */
    vec *goal; /* vertices of the solid: their targets, then their current ends; if it yields */
    cloth_leaving leaving;

    const struct cloth_backend *backend;
    cloth_host *host;            /* null on a device */
    struct cloth_device *device; /* device.c; null on the CPU */
};

/* ---- build.c ---- */

/* Grows a list to `count` elements if necessary, and keeps its content. Returns null when out of
 * memory; the list is then unchanged. */
void *cloth_grown(const cloth *c, void *list, size_t *room, size_t count, size_t bytes);
/* Zeroed. */
void *cloth_room(const cloth *c, size_t count, size_t bytes);
void cloth_free_all(const cloth *c, void *const *arrays, size_t count);
#define CLOTH_FREE(c, ...)                          \
    cloth_free_all(c, (void *const[]){__VA_ARGS__}, \
                   sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
double cloth_clock(void);

/* ---- patches.c ---- */

abut_status cloth_cut(cloth *c);
void cloth_free_patches(cloth *c);

/* ---- attachments.c ---- */

/* Finds the hold of each vertex. */
abut_status cloth_find_held(cloth *c);
/* Called after a step was accepted. */
void cloth_finish_holds(cloth *c);
void cloth_free_holds(cloth *c);

/* ---- the solver ---- */

/* The parameters of substep i of a step. */
cloth_substep cloth_substep_of(const cloth *c, double seconds, uint32_t i);
static inline uint32_t cloth_volume_blocks(const cloth *c) {
    return (uint32_t)(((size_t)c->triangles + VOLUME_BLOCK - 1) / VOLUME_BLOCK);
}
/* The initial volume; 1 if it is 0. */
abut_status cloth_measure_volume(cloth *c);

/* Data of the solver on the CPU. */
struct cloth_host {
    vec *x, *now, *next; /* per vertex: at the start of a substep; after free motion, then at the
                            end; after constraints */
    vec *push;           /* of the air on a third of each triangle */
    double *sums;        /* one per block of triangles */
    uint32_t *heads, *chain; /* of the search */
    cloth_self *selves;
    uint32_t *corner_heads, *corner_chain; /* contacts of a vertex: cloth_keep_apart() */
    cloth_touch *touches;
    abut_nearest *nearest;
    abut_radial_hit *hits;
    vec *at; /* of the patches that are being solved, and their masses: `largest` per task */
    double *inverse;
    cloth_totals *totals; /* one per task */
    const vec *solid_end; /* of this step; null if the solid does not move */
};

/* CPU and device compute the same bits. Functions that a back end does not need are null. */
typedef struct cloth_backend {
    abut_status (*create)(cloth *c);
    void (*destroy)(cloth *c);
    /* Called once, before the first step. Sets the arrays. */
    abut_status (*prepare)(cloth *c);
    /* First call of a step, which copies its input. `solid_end` is a host array against a solid. */
    abut_status (*begin)(cloth *c, abut_array solid_end);
    /* Finds the faces near vertices, and touches from the closest points on the solid. */
    abut_status (*find_contacts)(cloth *c);
    /* Computes aims, which are also the ends, velocities and totals. Only against radial fields
     * the results may stay on the device. */
    abut_status (*advance)(cloth *c, double seconds);
    /* Against a solid: `end` differs from the aims, or from the last one. */
    abut_status (*set_end)(cloth *c);
    /* Against radial fields, which have moved ends: completes these, velocities and totals. */
    abut_status (*settle)(cloth *c, double seconds);
    /* Called after a step was accepted: its end is the start of the next. */
    void (*finish)(cloth *c, bool velocities_changed);
    /* Downloads results that are only on the device. */
    abut_status (*fetch)(cloth *c);
    /* Called after the host has changed downloaded positions and velocities. */
    void (*changed)(cloth *c);
} cloth_backend;

/* Downloads results that are only on the device. */
static inline abut_status cloth_fetch(const cloth *c) {
    return c->backend->fetch ? c->backend->fetch((cloth *)(uintptr_t)c) : ABUT_OK;
}

extern const cloth_backend cloth_on_cpu;    /* solver.c */
extern const cloth_backend cloth_on_device; /* device.c */

/* ---- contacts.c ---- */

/* Builds or refits the BVH of the cloth (0) or the solid (1) at its current positions. */
abut_status cloth_fit(cloth *c, uint32_t which);
/* Bits of a float that is not negative. */
uint32_t cloth_bits_of(double number);
abut_status cloth_find_contacts(cloth *c, double seconds, abut_array solid_end);

/* ---- radial.c ---- */

abut_status cloth_leave_fields(cloth *c, double seconds, cloth_report *report);
void cloth_free_leaving(cloth *c);

/* ---- collide.c ---- */

/* Allocates what impacts need. */
abut_status cloth_prepare_impacts(cloth *c);
void cloth_free_impacts(cloth *c);
/* The targets of the solid in a step; see cloth_options.solid_yields. */
const vec *cloth_catch_up(cloth *c, const vec *solid_end);
/* Moves `end` until the step has no impact. */
abut_status cloth_resolve_impacts(cloth *c, cloth_report *report);
/* Called before a step is accepted. Returns whether velocities have changed. */
bool cloth_finish_impacts(cloth *c, double seconds, const vec *solid_end, cloth_report *report);

#endif
