/* Private types and functions of radial fields. */
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
    bool rest_mirrored; /* the matrix of its bone at rest mirrors */
} radial_axis;

/* Input for the creation of fields: everything at rest. */
typedef struct radial_source {
    abut_context *context;
    const char *function;
    const abut_character *character; /* null: bones are the identity */
    abut_mesh *rest;
    uint32_t bone_count;
    abut_character_matrix *bones; /* at rest */
} radial_source;

struct abut_radial;

/* Computes and stores samples, on the CPU or on a device. */
typedef struct radial_backend {
    abut_status (*create)(abut_radial *radial);
    void (*destroy)(abut_radial *radial);
    /* Computes samples. frames[0] is the current frame. Everything has been validated except arrays
     * on a device. Then collides particles, unless `order` is null. On failure samples are
     * unchanged. */
    abut_status (*update)(abut_radial *radial, abut_array positions,
                          const radial_collision_options *order, abut_radial_particles *particles);
    /* Arguments have been validated. Sets the counts of `particles`. */
    abut_status (*collide)(abut_radial *radial, const radial_collision_options *order,
                           abut_radial_particles *particles);
    /* Copies samples and marks to `radii` and `marks`. */
    abut_status (*download)(abut_radial *radial);
} radial_backend;

struct abut_radial {
    abut_context *context; /* retained */
    atomic_uint holds;     /* reference count: the caller's references and those of worlds */
    abut_device *device;   /* retained, or null */
    const radial_backend *backend;
    void *data;      /* of the back end */
    abut_mesh *mesh; /* at rest; retained */
    abut_radial_info info;
    double unit;
    radial_axis *axes;
    radial_field *fields;
    radial_turn *turns;
    uint32_t turn_count;
    uint32_t *vertices;       /* vertices of the mesh that fields use, by field */
    uint32_t *triangles;      /* three indices into `vertices` per pair */
    uint32_t *pair_fields;    /* field of each pair */
    uint32_t *pair_triangles; /* triangle of the mesh of each pair */
    size_t seen_count;        /* size of `vertices` */
    radial_frame *frames[2];  /* current and previous */
    radial_bound *bounds;
    float *bound_lists; /* bounds with reach as a structure of arrays, for the CPU */
    vec3 middle;        /* origin of the bounds */
    float *radii;       /* on the host; closed ends are 0 */
    radial_mark *marks;
    bool is_on_host; /* radii and marks are those of the last update */
};

enum { RADIAL_BOUND_NUMBERS = 11 };

/* Adds a reference, which abut_radial_destroy() releases. Null is allowed. Thread-safe. */
abut_radial *abuti_radial_retain(abut_radial *radial);

extern const radial_backend abuti_radial_host, abuti_radial_on_device;

/* ---- collide.c ---- */

/* A view of the fields on the host. */
radial_scene abuti_radial_scene(const abut_radial *radial);
abut_status abuti_radial_collide_host(abut_radial *radial, const radial_collision_options *order,
                                      abut_radial_particles *particles);
/* Validates and copies the options of particles. */
abut_status abuti_radial_read_particles(const char *function, const abut_radial *radial,
                                        const abut_radial_particles *particles,
                                        abut_radial_particles *p, radial_collision_options *order);
/* ---- fit.c ---- */

/* Triangles of bones: begin[b] to begin[b + 1] of `list` are those of bone b. */
typedef struct radial_members {
    size_t *begin;
    uint32_t *list;
} radial_members;
abut_status abuti_radial_members(const radial_source *source, double weight,
                                 radial_members *members);

/* An axis through triangles of a bone, in world space at rest. */
typedef struct radial_line {
    vec3 begin, end;
    double radius; /* root mean square of the distances of corners */
} radial_line;
/* Finds the best line for a bone of a character; `count` is not 0. */
abut_status abuti_radial_fit(const radial_source *source, uint32_t bone, const uint32_t *triangles,
                             size_t count, double cell, radial_line *line);

/* Lines along the principal axes of triangles, through their centroid. */
void abuti_radial_principal_lines(const radial_source *source, uint32_t bone,
                                  const uint32_t *triangles, size_t count, double cell,
                                  radial_line lines[3]);
/* The mean weight of a bone at the corners of a triangle. */
double abuti_radial_weight(const radial_source *source, uint32_t bone, uint32_t triangle);

/* The inverse of a bone matrix. Returns false if the matrix is singular. */
bool abuti_radial_inverse(const abut_character_matrix *matrix, abut_character_matrix *inverse);

/* ---- parts.c ---- */

/* Triangles of a bone, and the axis that represents them. */
typedef struct radial_part {
    uint32_t bone, count;
    uint32_t *triangles;
    radial_line line;
} radial_part;
/* Appends the parts of a bone to a vector of radial_part: one, or several if one axis does not
 * represent its triangles. The caller releases their triangles. `count` is not 0. */
abut_status abuti_radial_split(const radial_source *source, uint32_t bone,
                               const uint32_t *triangles, size_t count, double cell,
                               abuti_vector *parts);

/* ---- query.c ---- */

/* abut_radial_evaluate() for arrays that are not null, without `within`. */
abut_status abuti_radial_find_nearest(abut_radial *radial, size_t count, const vec3 *points,
                                      double limit, abut_radial_answer *answers);

/* ---- radial.c ---- */

/* Sets the rows of closed ends to 0: applies radial_radius() to all samples of `radii`. */
void abuti_radial_close_ends(abut_radial *radial);
/* Downloads samples if they are not on the host. */
abut_status abuti_radial_download(abut_radial *radial);

#endif
