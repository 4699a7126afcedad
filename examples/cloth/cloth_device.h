/* The data of a cloth on a device, for device.c and device_quick.c. */
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
    MEMORY_EDGES, /* each followed by the offsets of its colours */
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
    MEMORY_TOUCH_TOTALS,  /* of touches, by work-group */
    MEMORY_SOLID_CORNERS, /* these if there is a solid */
    MEMORY_SOLID_END,
    MEMORY_HELD, /* these if there are holds */
    MEMORY_GIVEN,
    MEMORIES
} memory;

struct cloth_device {
    abuti_queue queue;
    abuti_kit kit;
    abut_buffer *start, *end; /* positions of all vertices; created in the first step */
    abut_buffer *nearest;     /* one abut_nearest per vertex */
    abut_bvh *solid;
    uint32_t refits;              /* since the last build */
    uint64_t solid_fit;           /* as in the cloth */
    uint32_t solid_moves;         /* in this step */
    bool has_start, has_velocity; /* `position` and `velocity` are uploaded */
    bool has_held;

    /* against radial fields: device_quick.c */
    abuti_kit quick;
    abut_buffer *hits; /* null before the first such step */
    bool is_ahead;     /* the device has newer positions than the host */
};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- device.c ---- */

/* Uploads the input of a step if necessary; failures are stored in the queue. */
void cloth_device_begin(cloth *c);
/* Computes targets of holds in a step to `solid_end`, and the pressure of a substep from
 * positions `x`. */
void cloth_device_place_holds(cloth *c, const abuti_buffer *solid_end, uint32_t solid_moves);
void cloth_device_measure(cloth *c, const cloth_substep *s, const abuti_buffer *x);

/* ---- device_quick.c; see cloth_backend ---- */

abut_status cloth_quick_on_device(cloth *c, double seconds, abut_array solid_end,
                                  cloth_report *report);
abut_status cloth_fetch_from_device(cloth *c);
void cloth_quick_close(cloth *c);

#endif
