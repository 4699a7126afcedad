/* Local memory that the work-items of a particle share, for the host, which reserves it, and for
 * radial.cl. */
#ifndef ABUTI_RADIAL_WORK_GROUP_SHARED_H
#define ABUTI_RADIAL_WORK_GROUP_SHARED_H

#include "radial/collide_shared.h"

#define RADIAL_GROUP                                                                            \
    32                 /* work-items of a work-group, which ends with the last of its particles \
                        */
#define RADIAL_TEAMS 4 /* maximum teams of a work-group */
#define RADIAL_LIST 64 /* fields that are processed together */

/* The work-items of a particle: 8, 16 or 32. */
typedef struct radial_team {
    double shift[3];          /* of the deepest field */
    word32 near[RADIAL_LIST]; /* fields whose boxes overlap the path, in any order */
    radial_entry entry;       /* the first hit */
    word32 near_count;
    word32 best, field; /* bits of the smallest time or depth, and its field */
    word32 goes_on;
} radial_team;

typedef struct radial_group {
    radial_team teams[RADIAL_TEAMS];
} radial_group;

#endif
