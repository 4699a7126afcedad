/* Bounds of a moving vertex, in the frame of tree.c. */
#ifndef ABUTI_SELF_BOUNDS_SHARED_H
#define ABUTI_SELF_BOUNDS_SHARED_H

#include "base/math_shared.h"

enum {
    DOP_SLABS = 8 /* x, y, z, x + y, x + z, y + z, x - y, x - z */
};

/* Error bound of sums of coordinates, in doubles and in floats; see tree.c. */
#define BOUNDS_SLACK 0x1p-34
#define BOUNDS_PLACE_SLACK 0x1p-21f

typedef struct bounds_frame {
    vec3 centre;
    real scale;
} bounds_frame;

static inline vec3 bounds_place(const bounds_frame *frame, vec3 p) {
    return v3((p.x - frame->centre.x) * frame->scale, (p.y - frame->centre.y) * frame->scale,
              (p.z - frame->centre.z) * frame->scale);
}

/* The values of all slabs at a point. */
static inline void bounds_values(vec3 p, real *value) {
    value[0] = p.x;
    value[1] = p.y;
    value[2] = p.z;
    value[3] = p.x + p.y;
    value[4] = p.x + p.z;
    value[5] = p.y + p.z;
    value[6] = p.x - p.y;
    value[7] = p.x - p.z;
}

/* Lows, then highs, of a ghost vertex between two points. */
static inline void bounds_of_motion(vec3 from, vec3 to, float *bounds) {
    real a[DOP_SLABS], b[DOP_SLABS];
    bounds_values(from, a);
    bounds_values(to, b);
    for (int k = 0; k < DOP_SLABS; k++) {
        real by = k < 3 ? 0 : BOUNDS_SLACK;
        bounds[k] = (float)((a[k] < b[k] ? a[k] : b[k]) - by);
        bounds[DOP_SLABS + k] = (float)((a[k] > b[k] ? a[k] : b[k]) + by);
    }
}

#endif
