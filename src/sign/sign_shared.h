/* Numbers of inside.cl and winding.cl that the host has to know as well. */
#ifndef ABUTI_SIGN_SHARED_H
#define ABUTI_SIGN_SHARED_H

#define SIGN_GROUP 128    /* items of a work-group */
#define SIGN_CANDIDATES 8 /* triangles that are left to doubles, a point */

/* What is asked: the sign of a distance, a byte, a double. */
#define QUEST_SIGN 1
#define QUEST_INSIDE 2
#define QUEST_WINDING 3

#endif
