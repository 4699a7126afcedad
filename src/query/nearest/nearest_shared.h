/* Constants of closest-point searches that the host and the kernels share. */
#ifndef ABUTI_NEAREST_SHARED_H
#define ABUTI_NEAREST_SHARED_H

#define POINT_GROUP 256 /* work-items of kernels that process points one by one */
#define FIND_GROUP 128  /* of those that traverse the tree */

/* Candidate triangles per point; points with more are left to nearest_complete. */
#define CANDIDATES 16
#define COMPLETE 255 /* instead of a count */
#define KEY_BITS 30  /* of an index on the Morton curve */

/* In multiples of the size of the mesh: more distant points are far. */
#define NEAREST_FAR 64.0
/* 32 roundings of a float; and a factor above the error of a few products and sums. */
#define NEAREST_MARGIN 0x1p-19f
#define NEAREST_SLACK (1.0f + 0x1p-20f)
/* A factor above the error of squared distances in doubles. */
#define SLACK_FAR (1.0 + 0x1p-44)
#define MARGIN_FAR 0x1p-48 /* if coordinates are at most 2 */

#endif
