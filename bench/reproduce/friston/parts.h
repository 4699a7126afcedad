/* Private declarations of the methods: a method with its memory, on the host or on a device. */
#ifndef ABUT_BENCH_RIVALS_PARTS_H
#define ABUT_BENCH_RIVALS_PARTS_H

#include "device/kit.h"
#include "rivals.h"

/* Buffers of all methods by name. */
typedef enum rival_memory {
    RIVAL_CORNERS,
    RIVAL_POSITIONS, /* if positions come from the host */
    RIVAL_TRIANGLES,
    RIVAL_COUNTS,
    RIVAL_ENTRIES,
    RIVAL_FULL,
    RIVAL_NODES,
    RIVAL_GRIDS,
    RIVAL_PAIRS,
    RIVAL_CELLS,
    RIVAL_FROM, /* if particles come from the host */
    RIVAL_TO,
    RIVAL_MEMORIES
} rival_memory;

typedef enum rival_kernel {
    RIVAL_HASH_ENTER,
    RIVAL_HASH_COLLIDE,
    RIVAL_TREE_LEAVES,
    RIVAL_TREE_NODES,
    RIVAL_TREE_COLLIDE,
    RIVAL_BAND_DRAW,
    RIVAL_BAND_COLLIDE,
    RIVAL_EXACT_RESPOND,
    RIVAL_FIELD_RESPOND,
    RIVAL_KERNELS
} rival_kernel;

/* Particles on the host or the device of the method. */
typedef struct rival_particles {
    uint32_t count;
    const abut_vec3 *from; /* on the host */
    abut_vec3 *to;
    const abuti_buffer *from_there; /* or on the device */
    const abuti_buffer *to_there;
    abut_array from_array, to_array; /* as passed by the caller */
    float friction;
} rival_particles;

typedef struct rival_methods {
    const char *name;
    size_t bytes; /* of a structure that starts with a rival */
    abut_status (*create)(rival *r);
    abut_status (*update)(rival *r, const abut_character_matrix *bones, abut_array positions);
    abut_status (*collide)(rival *r, const rival_particles *particles);
    /* Both at once; may be null. */
    abut_status (*step)(rival *r, const abut_character_matrix *bones, abut_array positions,
                        const rival_particles *particles);
    abut_status (*lost)(rival *r, double *entries); /* may be null */
    uint64_t (*memory)(const rival *r); /* in addition to the table of buffers; may be null */
    void (*destroy)(rival *r);          /* may be null */
    bool takes_arrays;                  /* particles of the host need not be uploaded for it */
} rival_methods;

struct rival {
    const rival_methods *methods;
    abut_context *context;
    rival_options options;
    abut_mesh *rest; /* of the character */
    uint32_t vertex_count, triangle_count;
    void *here[RIVAL_MEMORIES];
    size_t bytes[RIVAL_MEMORIES];
    bool there; /* on a device */
    abuti_queue queue;
    abuti_kit kit;
};

extern const rival_methods rival_band, rival_field_methods, rival_hash, rival_fitted_hash,
    rival_tree, rival_nearest_methods, rival_sweep, rival_radial;

/* Allocates a buffer, and copies its content unless `data` is null. On a device failures are
 * stored in the queue. */
abut_status rival_put(rival *r, rival_memory which, const void *data, size_t count,
                      size_t element_bytes);
/* Positions on the device: those of the caller, or a copy. */
const abuti_buffer *rival_positions(rival *r, abut_array positions);
/* The buffer of an array on the device, or null. */
static inline const abuti_buffer *rival_there(abut_array array) {
    return array.buffer ? &array.buffer->memory : NULL;
}

#define RIVAL_MEMORY(r, which) KIT_BUFFER(&(r)->kit, which)

#endif
