/* Private declarations of the cloth module.
 *
 * All sheets together are one mesh, and all bodies another. Their vertices are in this order in all
 * arrays, those of sheets first, so that solver, sweeps and tests need not know how many sheets and
 * bodies there are. What differs between them is in a table of parts. All data are in flat arrays,
 * for devices. */
#ifndef ABUTI_CLOTH_H
#define ABUTI_CLOTH_H

#include "base/base.h"
#include "cloth/solver_shared.h"
#include "mesh/mesh.h"

#include <abut/bvh.h>
#include <abut/cloth.h>
#include <abut/nearest.h>
#include <abut/pair.h>
#include <abut/self.h>
#include <abut/sweep.h>

/* A sheet or a body as it was added, or a free index. */
typedef struct cloth_item {
    abut_mesh *mesh;           /* referenced; null = free */
    uint32_t next_free;        /* of a free index */
    uint32_t vertex, triangle; /* its first ones, among all sheets or all bodies; ABUT_NONE if
                                * the arrays do not contain it yet */
    uint32_t old_vertex, old_triangle; /* the same in the arrays that build.c replaces */
    double mean_edge;                  /* of a sheet */
    abut_cloth_material material;      /* of a sheet, with defaults applied */
    abut_cloth_body_options options;   /* of a body */
    vec3 impulse, moment, centre;      /* on a body in the last step: linear, and angular about a
                                        * point */
} cloth_item;

/* All sheets, or all bodies. */
typedef struct cloth_group {
    abuti_vector items;   /* cloth_item */
    uint32_t count, free; /* of existing items; the index that was freed last, or ABUT_NONE */
    uint32_t vertices, triangles;
    abut_mesh *mesh; /* and its topology: of all items; built */
    abut_topology *topology;
    abut_topology_arrays view;
    const uint32_t *indices;
    abut_bvh *bvh;
    uint64_t moved,
        fit;         /* number of changes of its positions; `moved` at the last build or refit */
    uint32_t refits; /* since the last build */
} cloth_group;

enum { SHEETS, BODIES };

/* Patches and their constraints; see solver_shared.h. */
typedef struct cloth_patches {
    bool is_made;
    abuti_vector patches;                  /* cloth_patch, by phase */
    uint32_t ends[CLOTH_PHASES];           /* of phases in them */
    uint32_t largest;                      /* largest number of vertices of a patch */
    abuti_vector list;                     /* uint32_t: vertices of all patches */
    abuti_vector rounds;                   /* uint32_t: first constraints of all rounds */
    abuti_vector constraints[CLOTH_KINDS]; /* cloth_hinge, cloth_edge, cloth_seam */
} cloth_patches;

/* The first patch of a phase, and their number. */
static inline uint32_t cloth_first_patch(const cloth_patches *p, uint32_t phase) {
    return phase ? p->ends[phase - 1] : 0;
}
static inline uint32_t cloth_patch_count(const cloth_patches *p, uint32_t phase) {
    return p->ends[phase] - cloth_first_patch(p, phase);
}

/* Memory of abut_cloth_push_out(), per vertex. */
typedef struct cloth_pushing {
    vec3 *points, *moved;
    uint32_t *queried;
    abut_nearest *answers;
} cloth_pushing;

/* Data that queries of the library read and write where the back end has them: positions of all
 * vertices at the start and end of a step, and for each vertex of a sheet its closest point on
 * bodies or its hit of a radial field. */
typedef struct cloth_arrays {
    abut_array start, end, nearest, hits;
} cloth_arrays;

typedef struct cloth_host cloth_host;
typedef struct cloth_zones cloth_zones;

struct abut_cloth {
    abut_context *context; /* referenced */
    abut_cloth_options options;
    uint32_t grain; /* items per task */
    cloth_group groups[2];
    abut_radial *radial; /* null = bodies are the obstacle */

    /* build.c, on the first use after a change of the sheets and bodies. Until then the arrays have
     * the state of those that existed before */
    bool is_built;
    uint32_t vertices, all_vertices; /* of sheets; and of bodies */
    uint32_t triangles;              /* of sheets */
    double mean_edge, thickness;     /* the largest of all sheets */
    cloth_part *parts;               /* of sheets, then of bodies */
    uint32_t part_count, *part_of;   /* of each vertex */
    cloth_block *blocks;
    uint32_t block_count;
    double *mass, *inverse_mass; /* inverse: all_vertices */
    cloth_edge *edges;
    cloth_hinge *hinges;
    uint32_t edge_count, hinge_count;

    /* attach.c */
    abuti_vector holds; /* cloth_hold */
    abuti_vector given; /* vec3: for each hold the caller's target in the last step and in this */
    uint32_t *held_of;  /* per vertex: its hold, or ABUT_NONE */
    bool holds_changed; /* since the last step */

    /* seams.c */
    abuti_vector seams;   /* cloth_seam, by vertices: the lower one first */
    uint32_t *knot_begin; /* per vertex, and the end: the knots near it; null without seams */
    abuti_vector knots;   /* cloth_knot */

    /* the first step after a build */
    bool is_prepared, is_checked; /* checked: the positions are free of intersections */
    cloth_patches patches;
    cloth_search search;

    /* state */
    vec3 *position; /* all_vertices: at the start and end of steps */
    vec3 *velocity,
        *next_velocity;   /* at the start of a step, and at its end until it is accepted */
    vec3 *aim, *end;      /* all_vertices: before and after the handling of impacts */
    vec3 *target;         /* vertices of bodies: where they should be, */
    vec3 *goal, *planned; /* where they should have been, and where this step moves them:
                           * if they may lag */
    uint32_t *face_of;    /* and a triangle of each of them */
    cloth_arrays arrays;
    cloth_totals totals; /* of this step */
    cloth_push *pushes;  /* vertices of sheets; null without bodies, or with radial fields */

    /* impacts.c */
    abut_self *self;                       /* of sheets with each other and with themselves; */
    abut_sweep *sweep;                     /* of sheets with bodies */
    abuti_vector impacts, barriers, stops; /* abut_impact, cloth_barrier, cloth_stop */
    unsigned char *halvings;               /* all_vertices: see impacts.c */
    cloth_zones *zones;                    /* if bodies may lag */
    cloth_pushing pushing;

    const struct cloth_backend *backend;
    cloth_host *host;            /* null on a device */
    struct cloth_device *device; /* null on the CPU */
};

static inline cloth_item *cloth_item_of(const abut_cloth *c, int group, uint32_t index) {
    return &ABUTI_AT(&c->groups[group].items, cloth_item, index);
}
/* The number of indices, including free ones. */
static inline uint32_t cloth_count_of(const abut_cloth *c, int group) {
    return (uint32_t)c->groups[group].items.count;
}
static inline uint32_t cloth_vertices_of(const cloth_item *item) {
    return item->mesh ? item->mesh->vertex_count : 0;
}
static inline uint32_t cloth_triangles_of(const cloth_item *item) {
    return item->mesh ? item->mesh->triangle_count : 0;
}
/* The first vertex of an item in the arrays of all vertices. */
static inline uint32_t cloth_first_of(const abut_cloth *c, int group, uint32_t index) {
    return cloth_item_of(c, group, index)->vertex + (group ? c->vertices : 0);
}

/* ---- cloth.c ---- */

/* The largest magnitude of options and materials. */
#define CLOTH_VALUE_MAX 1e30

/* Fails if there is no such sheet or body, or if it was removed. */
abut_status abuti_cloth_check(const char *function, const abut_cloth *c, int group, uint32_t index);
/* The guarantee of the next step. */
abut_reliability abuti_cloth_guarantee(const abut_cloth *c);

/* ---- build.c ---- */

/* Builds the arrays if sheets or bodies were added or removed. All others keep their state. On
 * failure the old arrays remain. */
abut_status abuti_cloth_build(abut_cloth *c);
void abuti_cloth_unbuild(abut_cloth *c);
/* The mean length of the sides of triangles; 0 if all are 0. */
double abuti_cloth_mean_edge(const abut_mesh *mesh);
/* |sum k_i x_i| of a hinge. */
double abuti_cloth_bend(const cloth_hinge *hinge, const vec3 *x);

/* ---- patches.c ---- */

abut_status abuti_cloth_divide(abut_cloth *c);
void abuti_cloth_free_patches(abut_cloth *c);

/* ---- attach.c ---- */

/* Removes the attachments of a sheet, or to a body. */
void abuti_cloth_drop_holds(abut_cloth *c, int group, const cloth_item *item);
void abuti_cloth_drop_all_holds(abut_cloth *c);
/* Whether weights are finite, in range, and sum to 1. */
bool abuti_cloth_weights_are_valid(const double weights[3], double offset);
/* Called after a step was accepted. */
void abuti_cloth_finish_holds(abut_cloth *c);

/* ---- seams.c ---- */

/* Removes the seams of a sheet. */
void abuti_cloth_drop_seams(abut_cloth *c, const cloth_item *sheet);
/* Finds the knots near each vertex. */
abut_status abuti_cloth_find_knots(abut_cloth *c);
void abuti_cloth_release_knots(abut_cloth *c);
/* Whether seams are in order, and each has two vertices of sheets and valid numbers. */
bool abuti_cloth_seams_are_valid(const abut_cloth *c, const cloth_seam *seams, size_t count);

/* ---- the solver ---- */

/* The parameters of substep i of a step. */
cloth_substep abuti_cloth_substep(const abut_cloth *c, double seconds, uint32_t i);
/* Sets the initial volumes of sheets with pressure. */
abut_status abuti_cloth_measure_volumes(abut_cloth *c);

/* Data of the solver on the CPU. */
struct cloth_host {
    vec3 *x, *now, *next; /* per vertex: at the start of a substep; at its end; after free motion
                           * and constraints */
    vec3 *push;           /* of the air on a third of each triangle */
    double *sums;         /* one per block of triangles */
    double *pressures;    /* one per sheet */
    uint32_t *heads; /* of the search: the first face of each bucket, and the end of the last */
    cloth_face *faces, *unsorted;
    cloth_self *selves;
    uint32_t *corner_heads, *corner_chain; /* contacts of a vertex: cloth_shares_of() */
    double *shares;
    cloth_touch *touches;
    abut_nearest *nearest;
    abut_radial_hit *hits;
    vec3 *at; /* of the patches that are being solved, and their masses: `largest` per task */
    double *inverse;
    cloth_totals *totals; /* one per task */
};

/* CPU and device compute the same bits. Functions that a back end does not need are null. */
typedef struct cloth_backend {
    abut_status (*create)(abut_cloth *c);
    void (*destroy)(abut_cloth *c);
    /* Called before the first step, and again after release(). Sets the arrays. */
    abut_status (*prepare)(abut_cloth *c);
    /* Releases what prepare() has created, after fetch(). */
    void (*release)(abut_cloth *c);
    /* With radial fields: new targets of vertices of bodies. */
    abut_status (*set_targets)(abut_cloth *c, uint32_t first, uint32_t count, abut_array positions);
    /* Downloads targets that are only on the device. */
    abut_status (*fetch_targets)(abut_cloth *c);
    /* First call of a step, which copies its input. */
    abut_status (*begin)(abut_cloth *c);
    /* Finds the faces near vertices, and touches from the closest points on bodies. */
    abut_status (*find_contacts)(abut_cloth *c);
    /* Computes aims, which are also the ends, velocities and totals. Only with radial fields the
     * results may stay on the device. */
    abut_status (*advance)(abut_cloth *c, double seconds);
    /* Without fields: `end` differs from the aims, or from the last one. */
    abut_status (*set_end)(abut_cloth *c);
    /* With fields, which have moved ends: computes final ends, velocities and totals. */
    abut_status (*apply_fields)(abut_cloth *c, double seconds);
    /* Called after a step was accepted: its end is the start of the next. */
    void (*finish)(abut_cloth *c, bool velocities_changed);
    /* Downloads results that are only on the device. */
    abut_status (*fetch)(abut_cloth *c);
    /* Copies positions to a buffer of the device. */
    abut_status (*copy)(abut_cloth *c, uint32_t first, uint32_t count, abut_buffer *to);
    /* Called after the host has changed downloaded positions and velocities. */
    void (*changed)(abut_cloth *c);
} cloth_backend;

/* Downloads results that are only on the device. */
static inline abut_status cloth_fetch(abut_cloth *c) {
    return c->backend->fetch ? c->backend->fetch(c) : ABUT_OK;
}
/* The same, also the targets of bodies. */
static inline abut_status cloth_fetch_all(abut_cloth *c) {
    abut_status status = cloth_fetch(c);
    return !status && c->is_prepared && c->backend->fetch_targets ? c->backend->fetch_targets(c)
                                                                  : status;
}
/* Builds, then makes the state on the host current. */
static inline abut_status cloth_open(abut_cloth *c) {
    abut_status status = abuti_cloth_build(c);
    return status ? status : cloth_fetch(c);
}
/* The same, also the targets of bodies. */
static inline abut_status cloth_open_all(abut_cloth *c) {
    abut_status status = abuti_cloth_build(c);
    return status ? status : cloth_fetch_all(c);
}

extern const cloth_backend abuti_cloth_on_cpu;    /* solver.c */
extern const cloth_backend abuti_cloth_on_device; /* device.c */

/* Where vertices of bodies are at the end of the step. */
static inline const vec3 *cloth_body_end(const abut_cloth *c) {
    return c->planned ? c->planned : c->target;
}

/* The positions of the caller's array as doubles on the host; `copy` is released. Defined in
 * cloth.c. */
abut_status abuti_cloth_read(const char *function, const char *name, abut_cloth *c,
                             abut_array array, uint32_t count, const vec3 **positions, vec3 **copy);

/* ---- step.c ---- */

/* Checks the start, and creates what steps need. */
abut_status abuti_cloth_prepare(const char *function, abut_cloth *c);
/* Computes the aims of a step. */
abut_status abuti_cloth_plan_step(abut_cloth *c, double seconds, abut_cloth_report *report);
/* Releases what steps have created, except the state. */
void abuti_cloth_unprepare(abut_cloth *c);

/* ---- intersect.c ---- */

/* Builds or refits the BVH of all sheets or all bodies at their current positions. */
abut_status abuti_cloth_fit(abut_cloth *c, int group);
/* Pairs of triangles that intersect, numbered among all sheets and all bodies. */
typedef struct cloth_pairs {
    abut_pair_self_intersection_list selves;
    abut_pair_intersection_list touches;
} cloth_pairs;

/* Finds the pairs of the current positions; those of sheets with each other and themselves only
 * `with_selves`. */
abut_status abuti_cloth_find_pairs(abut_cloth *c, bool with_selves, cloth_pairs *pairs);
void abuti_cloth_release_pairs(abut_cloth *c, cloth_pairs *pairs);
/* Fails if the system intersects before its first step. `function` begins error messages. */
abut_status abuti_cloth_check_start(const char *function, abut_cloth *c);

/* ---- radial.c ---- */

abut_status abuti_cloth_leave_fields(abut_cloth *c, double seconds, abut_cloth_report *report);
void abuti_cloth_release_pushing(abut_cloth *c);

/* ---- impacts.c ---- */

/* Creates what impacts need. */
abut_status abuti_cloth_prepare_impacts(abut_cloth *c);
void abuti_cloth_release_impacts(abut_cloth *c);
/* Sets the ends of bodies in this step, if they may lag. */
void abuti_cloth_plan_bodies(abut_cloth *c);
/* Moves `end` until the step has no impact. */
abut_status abuti_cloth_resolve_impacts(abut_cloth *c, abut_cloth_report *report);
/* Called before a step is accepted. Returns whether velocities have changed. */
bool abuti_cloth_finish_impacts(abut_cloth *c, double seconds, abut_cloth_report *report);

/* An impact: two features that have to pass no further than a plane between them. The sum of
 * weight_i x_i, from the second feature to the first, is at least `gap` along the normal. */
typedef struct cloth_barrier {
    uint32_t vertex[4];
    double weight[4]; /* sum 1 for the first feature, -1 for the second */
    vec3 normal;      /* unit, from the second to the first */
    double gap, friction;
    vec3 load;       /* impulse on the first feature */
    bool has_pushed; /* it has moved ends */
} cloth_barrier;

/* Bits of `halvings`, beside the count: impacts of this round shorten the path; the
 * vertex is in the list of stops. */
enum { CLOTH_IS_DUE = 128, CLOTH_IS_STOPPED = 64 };

/* A vertex of a sheet whose path was changed because of a body. */
typedef struct cloth_stop {
    uint32_t vertex, part; /* the body */
    vec3 velocity;         /* without that */
} cloth_stop;

/* ---- impulses.c ---- */

/* The part of the body that a barrier has; ABUT_NONE if it is between sheets. */
uint32_t abuti_cloth_body_of(const abut_cloth *c, const cloth_barrier *b);
/* Lists a vertex of a sheet of which a body changes the end of the path, once per step. */
abut_status abuti_cloth_add_stop(abut_cloth *c, uint32_t v, uint32_t part);
/* Sums the impulses on bodies, before a step is accepted. */
void abuti_cloth_find_impulses(abut_cloth *c, double seconds);

/* ---- zones.c ---- */

abut_status abuti_cloth_create_zones(abut_cloth *c);
void abuti_cloth_release_zones(abut_cloth *c);
/* Called before the first zone of a step. */
void abuti_cloth_clear_zones(abut_cloth *c);
/* Joins the zones of the vertices of an impact, or of all vertices. */
void abuti_cloth_join_zone(abut_cloth *c, const uint32_t vertices[4]);
void abuti_cloth_join_all(abut_cloth *c);
/* Sets the ends of the vertices of zones; those of bodies only if `bodies_too`. */
abut_status abuti_cloth_move_zones(abut_cloth *c, bool bodies_too, abut_cloth_report *report);

/* Bits of a float that is not negative. */
static inline uint32_t cloth_bits_of(double number) {
    float f = (float)number;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static inline double cloth_from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

#endif
