/* Patches of a cloth, and what a cloth against radial fields keeps; see patches_shared.h. */
#ifndef CLOTH_PATCHES_H
#define CLOTH_PATCHES_H

#include "parts.h"
#include "patches_shared.h"

typedef struct cloth_patches {
    cloth_patch *patches;
    uint32_t count;
    uint32_t largest; /* vertices of one, with those of others */
    uint32_t *list;   /* vertices of all patches */
    uint32_t listed;
    cloth_hinge *hinges;
    cloth_edge *edges;
    uint32_t hinge_count, edge_count; /* places, used or not */
} cloth_patches;

abut_status cloth_patches_create(cloth *c, cloth_patches **patches);
void cloth_patches_destroy(cloth *c, cloth_patches *patches);

/* What a step against radial fields needs. */
typedef struct cloth_quick {
    cloth_patches *patches;
    abut_radial *radial;
    cloth_search search;
    uint32_t buckets;
    uint32_t *held_of; /* vertices: their hold; made in the first step, null without holds */

    /* on the CPU */
    vec *next; /* vertices, as all but the heads */
    cloth_self *selves;
    uint32_t *heads, *chain;
    abut_radial_hit *hits;

    /* of those who ask to leave the solid */
    abut_bvh *body; /* on the cloth's device, if it has one */
    uint64_t body_fit;
    vec *points; /* vertices, and these answers */
    uint32_t *askers;
    abut_nearest *answers;
} cloth_quick;

/* Finds out which holds vertices have. */
abut_status cloth_quick_find_held(cloth *c);
/* Takes a report from what was told; fails where something is beyond all bounds. */
abut_status cloth_quick_tell(const cloth *c, const cloth_told *told, cloth_report *report);
/* What is told before anything is. */
cloth_told cloth_quick_begin(const cloth *c);
/* How particles go, but for where they are. */
abut_radial_particles cloth_quick_particles(const cloth *c);

#endif
