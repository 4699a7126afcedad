/* Rivals of radial fields: other ways to keep particles, those of a cloth, out of a character that
 * deforms, all behind one interface and with one response (equations 5 to 11 of Friston & Steed
 * 2019), on the CPU and on OpenCL devices.
 *
 * band      narrow band of distances in a grid a bone, found anew each frame from the box of every
 *           triangle (their section 9.3)
 * field     distance field of the whole body by abut_field, found anew each frame in a band
 * hash      spatial hash of triangles (their section 9.2)
 * tree      hierarchy of uniform depth with eight children a node, refitted (their section 9.1)
 * nearest   exact nearest points with sign, on a refitted abut_bvh
 * sweep     abut_sweep of cloth against body, which misses nothing
 * radial    abut_radial itself
 *
 * Band, hash and tree find a particle that is no deeper than half a cell, as far as promised: they
 * are discrete tests, but the band, which walks.
 */
#ifndef ABUT_BENCH_RIVALS_H
#define ABUT_BENCH_RIVALS_H

#include <abut/abut.h>

typedef enum rival_kind {
    RIVAL_BAND = 0,
    RIVAL_FIELD,
    RIVAL_HASH,
    RIVAL_TREE,
    RIVAL_NEAREST,
    RIVAL_SWEEP,
    RIVAL_RADIAL,
    RIVAL_KINDS
} rival_kind;

typedef struct rival_options {
    rival_kind kind;
    abut_character *character; /* the body; it outlives the rival */
    abut_mesh *cloth;          /* whose vertices the particles are; for sweeps alone */
    abut_device *device;       /* null = the CPU */
    double cell;               /* length of an edge */
    uint32_t steps;            /* of a walk along the motion; 0 = 8 */
} rival_options;

typedef struct rival rival;

const char *rival_name(rival_kind kind);

abut_status rival_create(abut_context *context, const rival_options *options, rival **made);
/* Null is allowed. */
void rival_destroy(rival *r);
/* The body as it is now: a matrix a bone, and an abut_vec3 a vertex, here or on the device. What
 * was given before is where the step began; `positions` stay until the next update was finished. On
 * a device this may only queue. */
abut_status rival_update(rival *r, const abut_character_matrix *bones, abut_array positions);
/* Particles that wish to go from `from` to `to`, an abut_vec3 each, both here or both on the
 * device: `to` is changed where that would be inside. On a device this may only queue. */
abut_status rival_collide(rival *r, size_t count, abut_array from, abut_array to, double friction);
/* Both, one after the other. */
abut_status rival_step(rival *r, const abut_character_matrix *bones, abut_array positions,
                       size_t count, abut_array from, abut_array to, double friction);
/* Waits for what was queued. */
abut_status rival_finish(rival *r);
/* Memory beyond the mesh. */
uint64_t rival_bytes(const rival *r);

/* The device's own time from the first launch to the last between the two; 0 of those who only tell
 * when they are done. */
void rival_clock_start(rival *r);
abut_status rival_clock_stop(rival *r, double *ms);

#endif
