/* What the work-items of a particle share on a device, for the host, which reserves it, and for
 * radial.cl. */
#ifndef ABUTI_RADIAL_TEAM_SHARED_H
#define ABUTI_RADIAL_TEAM_SHARED_H

#include "radial/collide_shared.h"

#define RADIAL_LANES 8  /* work-items a particle */
#define RADIAL_GROUP 32 /* of a work-group: it ends with the last of its particles */
#define RADIAL_TEAMS (RADIAL_GROUP / RADIAL_LANES)
#define RADIAL_LIST 64 /* fields that are looked at together */

typedef struct radial_team {
    radial_path paths[RADIAL_LANES]; /* within cylinders */
    double shift[3];                 /* of the deepest field */
    word32 path_fields[RADIAL_LANES];
    word32 near[RADIAL_LIST]; /* fields whose boxes are met, in any order */
    radial_entry entry;       /* what is met first */
    volatile word32 near_count, path_count;
    volatile word32 best, field; /* bits of the time or the depth that counts, and whose it is */
    volatile word32 goes_on;
} radial_team;

#endif
