/* Saved states of a cloth, for states that contain them. */
#ifndef ABUTI_CLOTH_STATE_H
#define ABUTI_CLOTH_STATE_H

#include <abut/cloth.h>

typedef struct cloth_state_head {
    unsigned char magic[8];
    uint32_t order, version;
    uint64_t options;                 /* digest */
    uint64_t item_counts[2];          /* indices of sheets and of bodies, also free ones */
    uint64_t vertices, body_vertices; /* of all sheets, and of all bodies */
    uint64_t goal_count;              /* body_vertices if bodies may lag, otherwise 0 */
    uint64_t hold_count, seam_count;
    abut_vec3 wind;
} cloth_state_head;

/* A state that was read: parts of the caller's bytes. */
typedef struct cloth_saved_state {
    const char *function; /* begins error messages */
    cloth_state_head head;
    const unsigned char *digests, *velocities, *targets, *holds, *seams, *points;
} cloth_saved_state;

/* Makes the state on the host current and writes its size. */
abut_status abuti_cloth_measure_state(abut_cloth *c, size_t *bytes);
/* Writes a state that was measured; the cloth has not changed since. */
void abuti_cloth_write_state(const abut_cloth *c, void *to);

/* Validates all of a state for a cloth, which does not change, and reserves what setting needs. */
abut_status abuti_cloth_read_state(const char *function, abut_cloth *c, const void *bytes,
                                   size_t count, cloth_saved_state *state);
/* The positions of a sheet in a state. */
void abuti_cloth_state_positions(const abut_cloth *c, const cloth_saved_state *state,
                                 uint32_t sheet, abut_vec3 *to);
/* Restores a state that was read; the cloth has not changed since. */
void abuti_cloth_set_state(abut_cloth *c, const cloth_saved_state *state);

#endif
