/* Radial fields: how far the surface of a character is from the axes of its bones (Friston and
 * Steed, Real-time collision detection for deformable characters with radial fields, 2019).
 *
 * A field is an axis that goes with a bone, and samples around and along it: the distance of the
 * nearest surface that faces outwards, seen from the axis. All samples are found anew for every
 * pose, from the positions of the vertices, so any skinning will do. Between four samples the
 * surface is two flat triangles; a cell with an empty sample is empty. What is nearer to the axis
 * is inside. The solid is the union of all fields.
 *
 * Space of a field is rigid: whatever scale, shear or mirror its bone has, radii and distances are
 * those of the world. Only the axis is stretched with its bone.
 *
 * What it cannot see: surface behind other surface, as seen from its axis, and what is finer than
 * its cells. abut_radial_measure() tells how much that is.
 *
 * An object of this type is for one user at a time; its work runs on all threads of its context.
 * Answers depend neither on threads nor on a device.
 */
#ifndef ABUT_RADIAL_H
#define ABUT_RADIAL_H

#include <abut/base.h>
#include <abut/character.h>
#include <abut/contact.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_radial abut_radial;

/* How radii are found. */
typedef enum abut_radial_distance {
    ABUT_RADIAL_DISTANCE_POLAR = 0, /* each half-plane of samples cuts triangles in segments: exact
                                     * at samples, ends around the axis are closed */
    ABUT_RADIAL_DISTANCE_PLANE      /* triangles straight in angle and z, rays against their planes,
                                     * kept within distances of corners: as the paper has it */
} abut_radial_distance;

/* "polar", "plane". */
ABUT_API const char *abut_radial_distance_name(abut_radial_distance distance);

/* At most so many samples around an axis, or along it. */
#define ABUT_RADIAL_SAMPLES_MAX 8192

/* The axis of a field. */
typedef struct abut_radial_axis {
    uint32_t bone;
    abut_vec3 begin, end;      /* in the space of the bone; samples from one to the other */
    abut_vec3 normal;          /* where angles begin; zero = anywhere */
    uint32_t around, along;    /* samples, at least 4 and 2; 0 = by the size of cells */
    const uint32_t *triangles; /* that it sees, each once; null = by weights, of a mesh all */
    uint32_t triangle_count;
} abut_radial_axis;

typedef struct abut_radial_options {
    size_t size;
    double cell; /* sides of cells at rest, about; 0 = 1/160 of the longest side of the mesh */
    double
        weight; /* a field sees triangles with a corner that has so much weight of its bone, from
                 * 0 to 1, and always those with a corner that no bone weighs more for; 0 = 0.2 */
    abut_radial_distance distance;
    const abut_radial_axis *axes; /* null = one for each bone that has triangles, fitted to them */
    uint32_t axis_count;
    abut_device *device; /* null = the CPU */
} abut_radial_options;

ABUT_DEFAULT(abut_radial_options)

/* Makes fields for a character, which need not live on. They are empty until the first update.
 * `options` may be null. Fitted axes go along the bone to a child, from the parent or along a
 * principal axis, through the bone or the middle of its triangles: whichever line sees most of
 * their area from inside. Refused: bones and triangles that do not exist, axes that are not finite,
 * too many samples. Uses the context of the character. Thread-safe. */
ABUT_API abut_status abut_radial_create(const abut_character *character,
                                        const abut_radial_options *options, abut_radial **radial);
/* The same for a mesh without skeleton: options->axes must be given, whose bones are the caller's
 * own matrices, `bone_count` of them, all of them the identity at rest. */
ABUT_API abut_status abut_radial_create_mesh(abut_mesh *mesh, uint32_t bone_count,
                                             const abut_radial_options *options,
                                             abut_radial **radial);
/* Releases the caller's reference; worlds that use the fields keep them alive. Null is allowed. */
ABUT_API void abut_radial_destroy(abut_radial *radial);

typedef struct abut_radial_info {
    size_t size; /* sizeof(abut_radial_info), set by the default function */
    uint32_t field_count, bone_count;
    uint32_t vertex_count, triangle_count; /* of the mesh */
    uint64_t sample_count;                 /* of all fields */
    uint64_t pair_count;                   /* triangles, as often as fields see them */
    uint32_t unseen_count;                 /* triangles that no field sees */
    uint64_t bytes;                        /* of samples */
    double cell;                           /* as used */
    abut_radial_distance distance;
    bool has_samples; /* there was an update */
} abut_radial_info;

ABUT_DEFAULT(abut_radial_info)

/* Gets the counts and the cell of radial fields. `info->size` must be set. */
ABUT_API abut_status abut_radial_get_info(const abut_radial *radial, abut_radial_info *info);

/* A field as it is. Point (i, j) of its surface, i below around and j below along, is
 *     begin + j step axis + unit radii[j around + i] (cos a normal + sin a tangent),
 * with a = 2 pi i / around. What it points to lives until the next update. */
typedef struct abut_radial_view {
    size_t size; /* sizeof(abut_radial_view), set by the default function */
    uint32_t bone;
    uint32_t around, along;
    uint32_t triangle_count;         /* that it sees */
    abut_vec3 begin, end;            /* of the axis, in the world */
    abut_vec3 normal, tangent, axis; /* unit vectors, right-handed */
    double step;        /* between rows; 0 where the axis has no length: all is empty */
    double reach;       /* no surface is farther from the axis */
    double unit;        /* of radii: 1, or a power of two for meshes of odd sizes */
    const float *radii; /* infinity = empty. Null before the first update */
} abut_radial_view;

ABUT_DEFAULT(abut_radial_view)

/* Gets a field. `view->size` must be set. Fails with ABUT_ERROR_ARGUMENT if the index is too high,
 * and with ABUT_ERROR_DEVICE if the samples cannot be read back from their device. */
ABUT_API abut_status abut_radial_get_field(abut_radial *radial, uint32_t index,
                                           abut_radial_view *view);

/* Follows a pose: a matrix for each bone, and where all vertices are (abut_vec3, on the host or on
 * the device of the fields). Positions must be finite and no larger than ABUT_COORDINATE_MAX; those
 * on a device are not checked. The frames before are kept: particles move relative to them. On
 * failure all is as before. */
ABUT_API abut_status abut_radial_set_positions(abut_radial *radial,
                                               const abut_character_matrix *bones,
                                               abut_array positions);

/* ---- points ---- */

/* What fields say of a point. */
typedef struct abut_radial_answer {
    double distance; /* an estimate of the signed distance, negative inside, from -within to within;
                      * infinity where no field has a surface near */
    abut_vec3 normal; /* which way is out: of the nearest triangle between samples; zero if none */
    abut_vec3 point;  /* on it */
    uint32_t field;   /* whose it is; ABUT_NONE if none */
    double within;    /* no farther away is the surface of the mesh, to either side: how far the
                       * nearest sample is that was looked at, since samples are on the mesh. So the
                       * true distance is from -within to within. Infinity where none was looked at,
                       * and with distances of planes, which are only near the mesh */
} abut_radial_answer;

/* Estimates the signed distance of points (abut_vec3) from the surface between samples: over all
 * fields the least. A point beside the rows of a field, or at an empty cell of it, is outside of
 * it. Outside and within `limit` (0 = any) the nearest triangle is looked for from the cell below
 * the point on, as long as neighbours are nearer; inside the same. Points that are not finite get
 * infinity. Answers before the first update are those of empty fields. */
ABUT_API abut_status abut_radial_evaluate(abut_radial *radial, size_t count, abut_array points,
                                          double limit, abut_array answers);

/* Finds the contacts of capsules, b, with the character, a: spheres are capsules without length,
 * points and vertices of a mesh those without radius too. Each has up to three, of kind
 * ABUT_CONTACT_POINT: at its ends (parts 0 and 1) and where its axis is deepest, if that is between
 * them (part 2), to a cell. The element is its number, the point is on the capsule. Depths are as
 * good as abut_radial_evaluate() is, without its bound. Refused: capsules that are not finite. */
ABUT_API abut_status abut_radial_contacts(abut_radial *radial, size_t count,
                                          const abut_capsule *capsules,
                                          const abut_contact_options *options,
                                          abut_contacts *contacts);

/* ---- particles ---- */

/* How the way of a particle is tried. */
typedef enum abut_radial_walk {
    ABUT_RADIAL_WALK_STEPS = 0, /* at a few places of it, as the paper has it */
    ABUT_RADIAL_WALK_EVERY_CELL /* in every cell: whatever its speed, none gets through */
} abut_radial_walk;

/* "steps", "every-cell". */
ABUT_API const char *abut_radial_walk_name(abut_radial_walk walk);

/* What became of a particle. */
typedef struct abut_radial_hit {
    uint32_t field;  /* that it met first; ABUT_NONE = none */
    float time;      /* when, from 0 to 1 */
    float normal[3]; /* there */
    float left;      /* how deep inside it still is, where overlapping fields leave no way out */
} abut_radial_hit;

typedef struct abut_radial_particles {
    size_t size;
    size_t count;
    abut_array from;       /* abut_vec3: where they are before the step */
    abut_array to;         /* abut_vec3: where they would be after it; changed in place */
    abut_array hits;       /* abut_radial_hit; none = not wanted */
    double radius;         /* particles are kept so far from the surface */
    double friction;       /* mu of equations 7 and 10, from 0 to 1 */
    abut_radial_walk walk; /* STEPS = */
    uint32_t steps;        /* so many; 0 = 8 */
    uint64_t hit_count;    /* result: particles that met a field */
    uint64_t odd_count;    /* result: particles that are not finite or beyond ABUT_COORDINATE_MAX,
                            * which stay as they are */
} abut_radial_particles;

ABUT_DEFAULT(abut_radial_particles)

/* Moves particles out of the fields: each goes straight, relative to a field from its frame before
 * the last update to that of now; where it first meets one it is put back on the surface, by
 * equations 5 to 11 of the paper; then again for others in its way. What is inside in the end is
 * moved out the shortest way that cells know. Particles do not know each other. On failure all is
 * as before. */
ABUT_API abut_status abut_radial_collide(abut_radial *radial, abut_radial_particles *particles);
/* abut_radial_set_positions() and abut_radial_collide() in one call, with the same answers. On a
 * device both are queued together and waited for once. On failure all is as before; particles in a
 * buffer may have been moved if the device itself failed. */
ABUT_API abut_status abut_radial_step(abut_radial *radial, const abut_character_matrix *bones,
                                      abut_array positions, abut_radial_particles *particles);

/* ---- surface ---- */

/* Makes a mesh of the surface between samples, two triangles a cell; ABUT_NONE = of all fields, one
 * after the other. Refused: fields without surface. */
ABUT_API abut_status abut_radial_surface(abut_radial *radial, uint32_t field, abut_mesh **mesh);

/* ---- accuracy ---- */

/* Errors are distances that fields give where the true one is 0, by area. */
typedef struct abut_radial_measures {
    double area;           /* of the surface */
    double seen_area;      /* with an error of one cell at most */
    double missing_area;   /* more than a cell outside of all fields: no field has it */
    double buried_area;    /* more than a cell inside of one: folds, armpits, ears */
    double mean, rms;      /* of errors of what is seen, without sign */
    double p50, p90, p99;  /* 50, 90 and 99 percent of all area have no greater error */
    double max;            /* of all; infinity where there is no field near */
    uint32_t max_triangle; /* the triangle that has it; ABUT_NONE if there is none */
} abut_radial_measures;

/* Measures fields against the true surface: at the middle of every triangle of `mesh`, the posed
 * character of the last update. `errors` may be null; else it gets one a triangle, with sign:
 * negative where the field is too large. Refused: a mesh with another number of triangles. */
ABUT_API abut_status abut_radial_measure(abut_radial *radial, const abut_mesh *mesh, double *errors,
                                         abut_radial_measures *measures);

#ifdef __cplusplus
}
#endif

#endif
