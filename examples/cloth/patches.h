/* Patches of a cloth, and the data of a cloth against radial fields; see patches_shared.h. */
#ifndef CLOTH_PATCHES_H
#define CLOTH_PATCHES_H

#include "parts.h"
#include "patches_shared.h"

typedef struct cloth_patches {
    cloth_patch *patches;
    uint32_t count;
    uint32_t largest; /* largest number of vertices of a patch, including copies */
    uint32_t *list;   /* vertices of all patches */
    uint32_t listed;
    cloth_hinge *hinges;
    cloth_edge *edges;
    uint32_t hinge_count, edge_count; /* slots, used or not */
} cloth_patches;

abut_status cloth_patches_create(cloth *c, cloth_patches **patches);
void cloth_patches_destroy(cloth *c, cloth_patches *patches);

/* Data of steps against radial fields. */
typedef struct cloth_quick {
    cloth_patches *patches;
    abut_radial *radial;
    cloth_search search;
    uint32_t buckets;
    uint32_t *held_of; /* per vertex: its hold; created in the first step, null without holds */

    /* on the CPU */
    vec *next; /* per vertex, as all except the heads */
    cloth_self *selves;
    uint32_t *heads, *chain;
    abut_radial_hit *hits;

    /* for cloth_leave_solid() */
    abut_bvh *body; /* on the cloth's device, if it has one */
    uint64_t body_fit;
    vec *points; /* per vertex, as these results */
    uint32_t *queried;
    abut_nearest *answers;
} cloth_quick;

/* Finds the hold of each vertex. */
abut_status cloth_quick_find_held(cloth *c);
/* Fills a report from the totals of a step; fails if a position is outside the valid range. */
abut_status cloth_quick_fill_report(const cloth *c, const cloth_totals *totals,
                                    cloth_report *report);
/* The initial totals of a step. */
cloth_totals cloth_quick_begin(const cloth *c);
/* Options of particles, without positions. */
abut_radial_particles cloth_quick_particles(const cloth *c);

#endif
