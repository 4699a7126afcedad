/* A cloth on a device, for device.c and device_quick.c: what is there. */
#ifndef CLOTH_DEVICE_H
#define CLOTH_DEVICE_H

#include "parts.h"

#include "device/kit.h"

extern const abuti_module cloth_modules[];

typedef enum memory {
    MEMORY_CORNERS,
    MEMORY_FACE_BEGIN,
    MEMORY_FACES,
    MEMORY_INVERSE_MASS,
    MEMORY_EDGES, /* each followed by where its colours begin */
    MEMORY_EDGE_COLOURS,
    MEMORY_HINGES,
    MEMORY_HINGE_COLOURS,
    MEMORY_NEARS,
    MEMORY_NEAR_COLOURS,
    MEMORY_TOUCHES,
    MEMORY_NOW,
    MEMORY_BEFORE,
    MEMORY_VELOCITY,
    MEMORY_PUSH,
    MEMORY_SUMS,
    MEMORY_PRESSURE,
    MEMORY_TOLD,          /* of touches, by group */
    MEMORY_SOLID_CORNERS, /* these where there is a solid */
    MEMORY_SOLID_END,
    MEMORY_HELD, /* these where there are holds */
    MEMORY_GIVEN,
    MEMORIES
} memory;

struct cloth_device {
    abuti_queue queue;
    abuti_kit kit;
    abut_buffer *start, *end; /* positions of all; made in the first step */
    abut_buffer *nearest;     /* an abut_nearest a vertex */
    abut_bvh *solid;
    uint32_t refits;              /* since it was built */
    uint64_t solid_fit;           /* as that of the cloth */
    uint32_t solid_moves;         /* in this step */
    bool has_start, has_velocity; /* `position` and `velocity` are there */
    bool has_held;

    /* against radial fields: device_quick.c */
    abuti_kit quick;
    abut_buffer *hits; /* null before the first such step */
    bool is_ahead;     /* the host has not got what is there */
};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- device.c ---- */

/* Brings what a step begins with to the device, where it is not there; failures stick. */
void cloth_device_begin(cloth *c);
/* Where holds go in a step to `solid_end`, and the pressure of a substep from positions `x`. */
void cloth_device_place_holds(cloth *c, const abuti_buffer *solid_end, uint32_t solid_moves);
void cloth_device_measure(cloth *c, const cloth_substep *s, const abuti_buffer *x);

/* ---- device_quick.c; see cloth_backend ---- */

abut_status cloth_quick_on_device(cloth *c, double seconds, abut_array solid_end,
                                  cloth_report *report);
abut_status cloth_fetch_from_device(cloth *c);
void cloth_quick_close(cloth *c);

#endif
