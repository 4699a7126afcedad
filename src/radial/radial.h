/* What the files of radial fields share. */
#ifndef ABUTI_RADIAL_H
#define ABUTI_RADIAL_H

#include "character/character.h"
#include "device/device.h"
#include "mesh/mesh.h"
#include "radial/collide_shared.h"

#include <abut/radial.h>

/* An axis in the space of its bone. */
typedef struct radial_axis {
    uint32_t bone;
    vec3 begin, end, normal;
    double rest_length;
    bool rest_mirrored; /* its bone was at rest */
} radial_axis;

/* What is to become fields: where all is at rest. */
typedef struct radial_source {
    abut_context *context;
    const char *function;
    const abut_character *character; /* null: bones are the identity */
    abut_mesh *rest;
    uint32_t bone_count;
    abut_character_matrix *bones; /* at rest */
} radial_source;

struct abut_radial;

/* How samples are found, and where they are. */
typedef struct radial_backend {
    abut_status (*create)(abut_radial *radial);
    void (*destroy)(abut_radial *radial);
    /* frames[0] is that of now; all has been checked but arrays on a device. Then particles, unless
     * `order` is null. A failure leaves samples as they were. */
    abut_status (*update)(abut_radial *radial, abut_array positions, const radial_order *order,
                          abut_radial_particles *particles);
    /* Checked; the counts of `particles` are to be set. */
    abut_status (*collide)(abut_radial *radial, const radial_order *order,
                           abut_radial_particles *particles);
    /* Brings samples and marks to `radii` and `marks`. */
    abut_status (*fetch)(abut_radial *radial);
} radial_backend;

struct abut_radial {
    abut_context *context; /* held */
    atomic_uint holds;     /* references: the caller's, and those of worlds */
    abut_device *device;   /* held, or null */
    const radial_backend *backend;
    void *data; /* of the backend */
    abut_radial_info info;
    double unit;
    radial_axis *axes;
    radial_field *fields;
    radial_turn *turns;
    uint32_t turn_count;
    uint32_t *vertices;       /* of the mesh, that fields see, by field */
    uint32_t *triangles;      /* 3 numbers of those a pair */
    uint32_t *pair_fields;    /* of each pair */
    uint32_t *pair_triangles; /* of the mesh */
    size_t seen_count;        /* of `vertices` */
    radial_frame *frames[2];  /* now and before */
    radial_bound *bounds;
    float *bound_lists; /* the same with reach, number by number, for the CPU */
    vec3 middle;        /* that bounds are relative to */
    float *radii;       /* on the host, closed ends are 0 */
    radial_mark *marks;
    bool is_here; /* radii and marks are those of the last update */
};

enum { RADIAL_BOUND_NUMBERS = 11 };

/* Adds a reference, which abut_radial_destroy() releases. Null is allowed. Thread-safe. */
abut_radial *abuti_radial_retain(abut_radial *radial);

extern const radial_backend abuti_radial_host, abuti_radial_on_device;

/* ---- collide.c ---- */

/* The fields as they are on the host. */
radial_scene abuti_radial_scene(const abut_radial *radial);
abut_status abuti_radial_collide_host(abut_radial *radial, const radial_order *order,
                                      abut_radial_particles *particles);
/* Checks and reads what a user asks for. */
abut_status abuti_radial_order(const char *function, const abut_radial *radial,
                               const abut_radial_particles *particles, abut_radial_particles *p,
                               radial_order *order);
/* ---- fit.c ---- */

/* Which triangles go with bones: begin[b] to begin[b + 1] of `list` are those of bone b. */
typedef struct radial_members {
    size_t *begin;
    uint32_t *list;
} radial_members;
abut_status abuti_radial_members(const radial_source *source, double weight,
                                 radial_members *members);

/* An axis through triangles of a bone in space of the world at rest. */
typedef struct radial_line {
    vec3 begin, end;
    double radius; /* root of the mean square of corners' */
} radial_line;
/* The best of several lines for a bone of a character; `count` is not 0. */
abut_status abuti_radial_fit(const radial_source *source, uint32_t bone, const uint32_t *triangles,
                             size_t count, double cell, radial_line *line);

/* Takes points of the world at rest to a bone; false where its matrix has no inverse. */
bool abuti_radial_inverse(const abut_character_matrix *matrix, abut_character_matrix *inverse);

/* ---- query.c ---- */

/* As abut_radial_evaluate() of arrays that are not null, but for `within`, which is not looked for.
 */
abut_status abuti_radial_near(abut_radial *radial, size_t count, const vec3 *points, double limit,
                              abut_radial_answer *answers);

/* ---- radial.c ---- */

/* Gives closed ends their rows of zeros: radial_radius() for all samples of `radii`. */
void abuti_radial_close(abut_radial *radial);
/* Brings samples to the host where they are not there. */
abut_status abuti_radial_here(abut_radial *radial);

#endif
