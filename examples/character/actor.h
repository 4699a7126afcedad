/* A character in a garment, for the loop of a game engine: skinning, radial fields and cloth in
 * steps of fixed length, and vertex arrays for a renderer in between. Only plain data crosses this
 * interface, so that an engine can call it from another language. */
#ifndef ACTOR_H
#define ACTOR_H

#include <abut/abut.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct actor actor;

typedef struct actor_options {
    const char *character; /* a file of glTF in metres, or the name of a built-in character */
    const char *clip;      /* null = the first one */
    const char *garment;   /* null = "dress" */
    uint32_t particles;    /* vertices of the garment; 0 = 2000 */
    uint32_t attached;     /* every so many vertices follow the skin by a spring; 0 = 2 */
    uint32_t threads;      /* 0 = all */
    double step_seconds;   /* 0 = 1/120 */
} actor_options;

typedef enum actor_part { ACTOR_GARMENT = 0, ACTOR_BODY, ACTOR_PARTS } actor_part;

/* Milliseconds of the last step, and the largest depth at which a vertex remains in a field. */
typedef struct actor_report {
    double skin_ms, fields_ms, cloth_ms, depth;
} actor_report;

/* Loads a character and dresses it. On failure abut_last_error() has the reason. */
abut_status actor_create(const actor_options *options, actor **made);
/* Null is allowed. */
void actor_destroy(actor *a);
double actor_step_seconds(const actor *a);
uint32_t actor_field_count(const actor *a);
/* The mesh of a part at rest: triangles, and vertices in the order of all positions. */
abut_mesh *actor_mesh(const actor *a, actor_part part);

/* Advances the clip and the garment by one step. */
abut_status actor_step(actor *a, actor_report *report);
/* Computes the vertices between the last two steps: 0 = the earlier, 1 = the later one. */
void actor_interpolate(actor *a, double share);
/* These vertices as x, y, z in world space, for the vertex buffer of a renderer. The array belongs
 * to the actor, and always is at the same address. */
const float *actor_vertices(const actor *a, actor_part part, uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif
