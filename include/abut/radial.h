/* Radial fields: distances from the bone axes of a character to its surface, for collisions with
 * cloth and other particles.
 *
 * Method: Friston and Steed (2019), "Real-Time Collision Detection for Deformable Characters with
 * Radial Fields". A field is an axis that moves with a bone, and a grid of samples around and along
 * it. A sample is the distance from the axis to the nearest surface that faces outwards. All
 * samples are recomputed for every pose from vertex positions, so that any skinning method can be
 * used. Four neighbouring samples span a cell of two flat triangles. A cell with an empty sample is
 * empty. Points nearer to the axis than the surface are inside. The solid is the union of all
 * fields.
 *
 * The space of a field is rigid: radii and distances are those of the world for any scale, shear or
 * mirroring of the bone. Only the axis is stretched with its bone.
 *
 * Guarantee: samples are exact up to rounding. Signs and distances between samples are
 * estimates; abut_radial_answer.within bounds the distance. A field does not contain surface that
 * is hidden behind other surface, as seen from its axis, or details finer than its cells.
 * abut_radial_measure() measures this error. Results do not depend on the number of threads or on
 * the device.
 *
 * Fields must be used by one thread at a time. Computations run on all threads of the context.
 */
#ifndef ABUT_RADIAL_H
#define ABUT_RADIAL_H

#include <abut/base.h>
#include <abut/character.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>
#include <abut/pair.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_radial abut_radial;

/* Maximum number of samples around an axis, and along it. */
#define ABUT_RADIAL_SAMPLES_MAX 8192

/* The axis of a field. */
typedef struct abut_radial_axis {
    uint32_t bone;
    abut_vec3 begin, end;      /* in the space of the bone; samples are from begin to end */
    abut_vec3 normal;          /* direction of angle 0; zero = any */
    uint32_t around, along;    /* numbers of samples, at least 4 and 2; 0 = by the cell size */
    const uint32_t *triangles; /* triangles of this field, each once; null = by skin weights (all
                                * for a mesh) */
    uint32_t triangle_count;
} abut_radial_axis;

typedef struct abut_radial_options {
    size_t size;
    double cell;   /* approximate cell size at rest; 0 = 1/160 of the longest side of the mesh */
    double weight; /* a field contains triangles that have a corner with at least this weight of its
                    * bone, from 0 to 1; 0 = 0.2. It always contains triangles with a corner for
                    * which its bone has the largest weight */
    const abut_radial_axis *axes; /* null = fitted axes, at least one for each bone that has
                                   * triangles */
    uint32_t axis_count;
    abut_device *device; /* null = the CPU */
} abut_radial_options;

ABUT_DEFAULT(abut_radial_options)

/* Creates fields for a character. They keep no reference to it. They are empty until the first
 * abut_radial_set_positions(). `options` may be null.
 *
 * Candidates for a fitted axis are lines along the bone to a child, from the parent, and along a
 * principal axis. They pass through the bone or through the centre of its triangles. The line that
 * sees the largest area of these triangles from inside is chosen. If it sees less than 93%, the
 * triangles are divided among up to 16 axes: connected components, parts on both sides of a plane,
 * or what an axis sees and the rest.
 *
 * Returns ABUT_ERROR_ARGUMENT if an axis is not finite, or refers to a bone or triangle that does
 * not exist. Returns ABUT_ERROR_LIMIT if there are too many samples. Returns ABUT_ERROR_DEVICE if
 * the device lacks doubles or rounds differently from the CPU. Uses the context of the character.
 * Thread-safe. */
ABUT_API abut_status abut_radial_create(const abut_character *character,
                                        const abut_radial_options *options, abut_radial **radial);
/* Creates fields for a mesh without skeleton. options->axes must be given. Their bones are
 * `bone_count` matrices of the caller, all of them the identity at rest. Errors are those of
 * abut_radial_create(). Uses the context of the mesh. Thread-safe. */
ABUT_API abut_status abut_radial_create_mesh(abut_mesh *mesh, uint32_t bone_count,
                                             const abut_radial_options *options,
                                             abut_radial **radial);
/* Releases the caller's reference. Worlds that use the fields keep them alive. Null is allowed. One
 * thread at a time for each object. */
ABUT_API void abut_radial_destroy(abut_radial *radial);

typedef struct abut_radial_info {
    size_t size; /* sizeof(abut_radial_info), set by the default function */
    uint32_t field_count, bone_count;
    uint32_t vertex_count, triangle_count; /* of the mesh */
    uint64_t sample_count;                 /* samples of all fields */
    uint64_t pair_count;                   /* sum of the triangle counts of all fields */
    uint32_t unseen_count;                 /* triangles that belong to no field */
    uint64_t bytes;                        /* size of the samples */
    double cell;                           /* cell size that was used */
    bool has_samples;                      /* positions were set at least once */
} abut_radial_info;

ABUT_DEFAULT(abut_radial_info)

/* Stores the properties of the fields. `info->size` must be set. One thread at a time for each
 * object. */
ABUT_API abut_status abut_radial_get_info(const abut_radial *radial, abut_radial_info *info);

/* The current state of a field. Point (i, j) of its surface, i below around and j below along, is
 *     begin + j step axis + unit radii[j around + i] (cos a normal + sin a tangent),
 * with a = 2 pi i / around. Pointers are valid until the next update. */
typedef struct abut_radial_view {
    size_t size; /* sizeof(abut_radial_view), set by the default function */
    uint32_t bone;
    uint32_t around, along;
    uint32_t triangle_count;         /* triangles of the field */
    abut_vec3 begin, end;            /* ends of the axis in world space */
    abut_vec3 normal, tangent, axis; /* unit vectors, right-handed */
    double step;        /* distance of rows; 0 if the axis has no length: all samples are empty */
    double reach;       /* upper bound of the radii */
    double unit;        /* scale of radii: 1, or a power of two for very large or small meshes */
    const float *radii; /* infinity = empty. Null before the first update */
} abut_radial_view;

ABUT_DEFAULT(abut_radial_view)

/* Stores a field. `view->size` must be set. Downloads the samples from a device if necessary.
 * Returns ABUT_ERROR_ARGUMENT if the index is too high, and ABUT_ERROR_DEVICE if the download
 * fails. One thread at a time for each object. */
ABUT_API abut_status abut_radial_get_field(abut_radial *radial, uint32_t index,
                                           abut_radial_view *view);

/* Sets a pose: a matrix for each bone, and the positions of all vertices (abut_vec3, on the host or
 * on the device of the fields). Recomputes all samples. The previous frames of the fields are kept,
 * since particles move relative to them.
 *
 * Returns ABUT_ERROR_ARGUMENT if a matrix or position is not finite or exceeds ABUT_COORDINATE_MAX;
 * positions on a device are not validated. On failure the fields do not change. One thread at a
 * time for each object. */
ABUT_API abut_status abut_radial_set_positions(abut_radial *radial,
                                               const abut_character_matrix *bones,
                                               abut_array positions);

/* ---- points ---- */

/* The result of fields at a point. */
typedef struct abut_radial_answer {
    double distance;  /* estimate of the signed distance, negative inside, from -within to within;
                       * infinity if no field has a surface near the point */
    abut_vec3 normal; /* outward normal of the nearest triangle between samples; zero if none */
    abut_vec3 point;  /* nearest point on that triangle */
    uint32_t field;   /* field of that triangle; ABUT_NONE if none */
    double within;    /* upper bound of the magnitude of the true distance: the distance of the
                       * nearest sample that was examined, since samples are on the mesh. Infinity
                       * if none was examined */
} abut_radial_answer;

/* Estimates the signed distance of points (abut_vec3) to the surface between samples: the minimum
 * over all fields. A point outside the rows of a field, or at an empty cell, is outside that field.
 * The search for the nearest triangle starts at the cell below the point and continues while a
 * neighbouring cell is nearer. Outside it is limited to `limit`; 0 = no limit. Points that are not
 * finite get infinity. Before the first update all fields are empty.
 *
 * Points and answers (abut_radial_answer) are on the host. Returns ABUT_ERROR_ARGUMENT otherwise,
 * or if the limit is negative. One thread at a time for each object. */
ABUT_API abut_status abut_radial_evaluate(abut_radial *radial, abut_array points, size_t count,
                                          double limit, abut_array answers);

/* Computes the contacts of capsules (body b) with the character (body a). A sphere is a capsule of
 * length 0, a point one of radius 0 too. Each capsule has up to three contacts of kind
 * ABUT_CONTACT_POINT. Parts 0 and 1 are its ends. Part 2 is the deepest point of its axis, to the
 * accuracy of a cell, if that is between the ends. The element is the index of the capsule, and the
 * contact point is on the capsule. Depths are estimates as those of abut_radial_evaluate(), without
 * a bound.
 *
 * Returns ABUT_ERROR_ARGUMENT if a capsule is not finite or its radius is negative. Returns
 * ABUT_ERROR_BUFFER and the required count if the capacity is too small. One thread at a time for
 * each object. */
ABUT_API abut_status abut_radial_contacts(abut_radial *radial, size_t count,
                                          const abut_capsule *capsules,
                                          const abut_contact_options *options,
                                          abut_contacts *contacts);

/* ---- particles ---- */

/* The result for one particle. */
typedef struct abut_radial_hit {
    uint32_t field;  /* first field that it hits; ABUT_NONE = none */
    float time;      /* time of impact, from 0 to 1 */
    float normal[3]; /* surface normal at the impact */
    float left;      /* remaining penetration depth, if overlapping fields leave no separating
                      * direction */
} abut_radial_hit;

typedef struct abut_radial_particles {
    size_t size;
    size_t count;       /* elements of each array; arrays are contiguous and of doubles */
    abut_array from;    /* abut_vec3: positions before the step */
    abut_array to;      /* abut_vec3: positions after the step; changed in place */
    abut_array hits;    /* abut_radial_hit; null = not requested */
    double radius;      /* distance that particles keep from the surface */
    double friction;    /* mu of equations 7 and 10 of the paper, from 0 to 1 */
    uint64_t hit_count; /* result: number of particles that hit a field */
    uint64_t odd_count; /* result: number of particles that are not finite or exceed
                         * ABUT_COORDINATE_MAX; they do not change */
} abut_radial_particles;

ABUT_DEFAULT(abut_radial_particles)

/* Moves particles out of the fields. Each particle moves along a straight line relative to a field,
 * from the field's frame before the last update to its current frame. Every cell on this line is
 * tested, so no particle passes through at any speed. At the first impact it is
 * placed on the surface by equations 5 to 11 of the paper. Its path is then tested again for other
 * fields. Particles that are inside at the end are moved out along the shortest direction of nearby
 * cells. Particles do not interact with each other.
 *
 * Returns ABUT_ERROR_ARGUMENT if the radius is negative or the friction is not from 0 to 1. Also
 * returns it if arrays are on a device and the fields on the CPU. On failure no particle moves. One
 * thread at a time for each object. */
ABUT_API abut_status abut_radial_collide(abut_radial *radial, abut_radial_particles *particles);
/* Calls abut_radial_set_positions() and abut_radial_collide() in one step, with the same results.
 * On a device both are queued together and waited for once. On failure neither changes anything; if
 * the device itself failed, particles in a buffer may have moved. One thread at a time for each
 * object. */
ABUT_API abut_status abut_radial_step(abut_radial *radial, const abut_character_matrix *bones,
                                      abut_array positions, abut_radial_particles *particles);

/* ---- surface ---- */

/* Creates a mesh of the surface between samples, with two triangles for each cell. ABUT_NONE = all
 * fields, one after the other. Returns ABUT_ERROR_ARGUMENT if there is no such field or all cells
 * are empty. One thread at a time for each object. */
ABUT_API abut_status abut_radial_surface(abut_radial *radial, uint32_t field, abut_mesh **mesh);

/* ---- accuracy ---- */

/* Errors of fields by area. An error is the distance that the fields return at a point of the true
 * surface, where it should be 0. */
typedef struct abut_radial_measures {
    size_t size;           /* sizeof(abut_radial_measures), set by the default function */
    double area;           /* area of the surface */
    double seen_area;      /* area with an error of at most one cell */
    double missing_area;   /* area more than a cell outside all fields */
    double buried_area;    /* area more than a cell inside a field: folds, armpits, ears */
    double mean, rms;      /* magnitude of the errors of the seen area */
    double p50, p90, p99;  /* percentiles of the magnitude over the whole area */
    double max;            /* maximum magnitude; infinity if there is no field near */
    uint32_t max_triangle; /* triangle with the maximum; ABUT_NONE if there is none
                            */
} abut_radial_measures;

ABUT_DEFAULT(abut_radial_measures)

/* Measures the error of fields at the centre of every triangle of `mesh`, the character in the pose
 * of the last update. `errors` may be null; otherwise it receives one signed error for each
 * triangle, negative if the field is too large. `measures->size` must be set. Returns
 * ABUT_ERROR_ARGUMENT if the mesh has another number of triangles. One thread at a time for each
 * object. */
ABUT_API abut_status abut_radial_measure(abut_radial *radial, const abut_mesh *mesh, double *errors,
                                         abut_radial_measures *measures);

#ifdef __cplusplus
}
#endif

#endif
