/* Methods that compete with radial fields: they keep particles, those of a cloth, out of a
 * deforming character. All have one interface and one response (equations 5 to 11 of Friston &
 * Steed 2019), on the CPU and on OpenCL devices.
 *
 * band      narrow band of distances with one grid per bone, computed again each frame from
 *           the box of every triangle (their section 9.3)
 * field     distance field of the whole body by abut_field, computed again each frame in a band
 * hash      spatial hash of triangles, with a table of their size (their sections 9.2 and 9.4)
 * fitted-hash  the same, with a table fitted to the body
 * tree      BVH of uniform depth with eight children per node, refitted (their section 9.1)
 * nearest   exact nearest points with sign, on a refitted abut_bvh
 * sweep     abut_sweep of cloth against body, which misses no impact
 * radial    abut_radial itself
 *
 * Band, hash and tree guarantee to find particles up to half a cell deep: they are discrete
 * tests, except for the band, which samples the path. */
#ifndef ABUT_BENCH_RIVALS_H
#define ABUT_BENCH_RIVALS_H

#include <abut/abut.h>

typedef enum rival_kind {
    RIVAL_BAND = 0,
    RIVAL_FIELD,
    RIVAL_HASH,
    RIVAL_FITTED_HASH,
    RIVAL_TREE,
    RIVAL_NEAREST,
    RIVAL_SWEEP,
    RIVAL_RADIAL,
    RIVAL_KINDS
} rival_kind;

typedef struct rival_options {
    rival_kind kind;
    abut_character *character; /* the body; it outlives the method */
    abut_mesh *cloth;          /* whose vertices the particles are; only for sweeps */
    abut_device *device;       /* null = the CPU */
    double cell;               /* length of an edge */
    uint32_t steps;            /* samples along the motion; 0 = 8 */
} rival_options;

typedef struct rival rival;

const char *rival_name(rival_kind kind);

abut_status rival_create(abut_context *context, const rival_options *options, rival **made);
/* Null is allowed. */
void rival_destroy(rival *r);
/* Sets the body: one matrix per bone, and one abut_vec3 per vertex, on the host or the device.
 * The previous one is the start of the step; `positions` must be kept until the next update is
 * finished. On a device this may only enqueue. */
abut_status rival_update(rival *r, const abut_character_matrix *bones, abut_array positions);
/* Moves particles from `from` to `to`, one abut_vec3 each, both on the host or both on the
 * device: `to` is changed if it is inside. On a device this may only enqueue. */
abut_status rival_collide(rival *r, size_t count, abut_array from, abut_array to, double friction);
/* Both, one after the other. */
abut_status rival_step(rival *r, const abut_character_matrix *bones, abut_array positions,
                       size_t count, abut_array from, abut_array to, double friction);
/* Waits for enqueued work. */
abut_status rival_finish(rival *r);
/* Memory beyond the mesh. */
uint64_t rival_bytes(const rival *r);
/* Entries per update that did not fit into a bucket of a hash, and are lost; otherwise 0. */
abut_status rival_lost(rival *r, double *entries);

/* The device's own time from the first launch to the last between the two; 0 for methods that
 * only report completion. */
void rival_clock_start(rival *r);
abut_status rival_clock_stop(rival *r, double *ms);

#endif
