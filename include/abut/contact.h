/* Contacts: contact points, contact normals and penetration depths of two bodies.
 *
 * Two methods:
 *  - Exact geometry, for meshes and primitives: abut_contact_find(). Every overlap, and every gap
 *    within the margin, has a contact. An exact test decides whether shifting body a by the depths
 *    along the normals separates the bodies.
 *  - Signed distance fields: abut_contact_find_sampled() and the functions after it. A body has a
 *    field, samples of its mesh, or both. The samples and long edges of each body are evaluated in
 *    the field of the other. Depths are interpolated between the centres of cells. Normals are
 *    gradients of the interpolated distance. An overlap that contains no sample may be missed.
 *
 * Conventions of all functions:
 *  - The normal is a unit vector from b to a. Shifting body a by the depth along the normal
 *    separates the bodies at the contact. docs/contact.md compares this convention with ODE,
 *    Bullet, Jolt and MuJoCo.
 *  - The depth is the penetration depth. It is negative for a gap within the margin.
 *  - Contact points of exact geometry are halfway between both surfaces. Contact points of fields
 *    are on the surface of the body whose feature was evaluated in the field of the other (`side`).
 *  - A narrow-band field stores no depths beyond its band. The reported depth of a point deeper
 *    than the band is at least the width of the band.
 *  - Contacts of fields are sorted by feature: features of a, then features of b.
 *  - Results are output lists (ABUT_LIST).
 *
 * All functions only read the bodies, so any number of threads may call them at the same time.
 * Results depend neither on the number of threads nor on the processor.
 */
#ifndef ABUT_CONTACT_H
#define ABUT_CONTACT_H

#include <abut/base.h>
#include <abut/collider.h>
#include <abut/field.h>
#include <abut/geom.h>
#include <abut/mesh.h>
#include <abut/pair.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- samples ----
 *
 * Samples are points with normals on the surface of a mesh. The field of another body is evaluated
 * at the samples (Sundholm 2010, section 5.1.1, after Erleben 2005).
 *
 * Feature samples are:
 *  - every vertex with an edge that is not flat (see `flat_angle`);
 *  - points along every long edge that is not flat;
 *  - the centre of every large flat region, and up to eight points near its corners.
 * The interior of a flat region needs no more samples: samples of the other body find contacts
 * there. Surface samples are distributed evenly over the area, with a minimum distance. They suit
 * smooth, dense meshes that have more vertices than needed.
 *
 * Equal meshes and options give equal samples in the same order on every machine. Kind, element and
 * part identify a sample from step to step.
 */

typedef enum abut_sample_kind {
    ABUT_SAMPLE_VERTEX = 0, /* element: the vertex */
    ABUT_SAMPLE_EDGE,       /* element: the edge, numbered as in abut_topology; part: the index of
                             * the sample along the edge, from 0, or ABUT_SAMPLE_DEEPEST */
    ABUT_SAMPLE_FACE,       /* point of a flat region; element: the lowest index of its triangles;
                             * part: 0 for the centre, 1 and above for points near its corners */
    ABUT_SAMPLE_SURFACE     /* element: the triangle; part: the index of the sample on it */
} abut_sample_kind;

/* Returns the name of a kind of sample, or null if there is no such kind. Thread-safe. */
ABUT_API const char *abut_sample_kind_name(abut_sample_kind kind);

/* The value of `part` for a contact at the deepest point of an edge, which is no sample. */
#define ABUT_SAMPLE_DEEPEST 0x3ffffffu

typedef struct abut_sample {
    abut_vec3 point;  /* in the coordinates of the mesh */
    abut_vec3 normal; /* unit pseudo-normal of the feature; zero if the normals around it cancel */
    abut_sample_kind kind;
    uint32_t element, part;
} abut_sample;

/* An edge that is not flat and longer than the spacing. Contact functions search it for its deepest
 * point. */
typedef struct abut_sample_edge {
    abut_vec3 end[2];
    abut_vec3 normal; /* unit pseudo-normal of the edge; zero if the normals around it cancel */
    uint32_t edge;    /* numbered as in abut_topology */
} abut_sample_edge;

/* Bits of abut_samples_options.kinds. */
enum {
    ABUT_SAMPLES_VERTICES = 1,
    ABUT_SAMPLES_EDGES = 2,
    ABUT_SAMPLES_FACES = 4,
    ABUT_SAMPLES_SURFACE = 8
};

typedef struct abut_samples_options {
    size_t size;
    uint32_t kinds;     /* sum of the bits above; 0 = surface samples if `radius` or `count` is set,
                         * otherwise vertices, edges and faces */
    double cell;        /* cell size of the field that the samples are for. Edges are divided into
                         * equal parts no longer than the spacing: the diagonal of a cell, or
                         * `threshold` if that is larger. 0 = 1/64 of the longest side of the
                         * bounding box of the mesh */
    double threshold;   /* minimum of the spacing along edges */
    double flat_angle;  /* radians. An edge is flat if the normals of its faces differ by no more
                         * than this. Boundary edges are never flat. Must be below 1.5; 0 = 0.001 */
    double face_area;   /* flat regions larger than this have samples; 0 = four times the area of a
                         * face of a cell */
    double radius;      /* minimum distance between surface samples whose normals differ by at most
                         * 90 degrees, so that both sides of a thin wall have samples. 0 = the
                         * spacing along edges, unless `count` is set */
    uint32_t count;     /* number of surface samples, distributed as evenly as possible; 0 = by
                         * `radius`. Must be 0 if `radius` is set */
    uint32_t max_count; /* maximum number of samples. If there are more, a subset is kept that is
                         * distributed as evenly as possible. 0 = all */
    const char *cache;  /* folder of cached samples, with the access rules of abut_field_options;
                         * null = no cache, "" = the default folder of the user */
} abut_samples_options;

ABUT_DEFAULT(abut_samples_options)

typedef struct abut_samples abut_samples;

/* The arrays of an abut_samples. Samples are ordered by kind, then by element, then by part.
 * Pointers are valid until the samples are destroyed. */
typedef struct abut_samples_arrays {
    size_t size; /* sizeof(abut_samples_arrays), set by the default function */
    uint32_t count, edge_count;
    const abut_sample *samples;
    const abut_sample_edge *edges; /* empty if ABUT_SAMPLES_EDGES was not requested */
    uint32_t kind_count[4];        /* number of samples of each abut_sample_kind */
    double spacing;                /* largest distance between neighbouring samples along an edge */
    double area;                   /* area of the mesh */
} abut_samples_arrays;

ABUT_DEFAULT(abut_samples_arrays)

/* Computes the samples of a mesh. `options` may be null. Vertices with equal coordinates are
 * different vertices here: weld the mesh first. Uses the context of the mesh. Returns
 * ABUT_ERROR_LIMIT if there are more than 2^28 samples. Thread-safe. */
ABUT_API abut_status abut_samples_create(abut_mesh *mesh, const abut_samples_options *options,
                                         abut_samples **samples);
/* Releases the caller's reference. Worlds that use the samples keep them alive. Null is allowed.
 * Thread-safe if no other thread uses the caller's reference. */
ABUT_API void abut_samples_destroy(abut_samples *samples);
/* Stores the arrays of samples. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_samples_get_arrays(const abut_samples *samples,
                                             abut_samples_arrays *arrays);

/* A file of a samples cache, see abut_samples_options.cache. */
typedef struct abut_samples_cache_entry {
    size_t size;                /* size of this structure in the library */
    const char *path;           /* one file for each mesh and options */
    char mesh[65];              /* SHA-256 of the mesh, 64 hexadecimal digits; empty = unknown */
    uint32_t count, edge_count; /* as in abut_samples_arrays */
    uint64_t stored_bytes;      /* size on disk */
    double age;                 /* seconds since the last use */
    const char *problem;        /* what is wrong with the file; null = nothing was found */
} abut_samples_cache_entry;

/* Receives one entry of a cache. The entry is valid until the callback returns. Returning false
 * ends the listing. */
typedef bool abut_samples_cache_visit(void *user, const abut_samples_cache_entry *entry);

/* Calls `visit` for each file of a cache folder, least recently used first. Reads each file
 * completely, to detect damage. `folder`: "" = the default folder of the user. A folder that does
 * not exist has no entries. Thread-safe. */
ABUT_API abut_status abut_samples_cache_list(abut_context *context, const char *folder,
                                             abut_samples_cache_visit *visit, void *user);
/* Removes files of samples from a cache folder, with the parameters of abut_field_cache_clear().
 * Thread-safe. */
ABUT_API abut_status abut_samples_cache_clear(abut_context *context, const char *folder, double age,
                                              uint64_t *files, uint64_t *bytes);

/* ---- two bodies, by exact geometry ---- */

/* Computes the contact patches of two colliders by exact geometry, without fields and samples. Each
 * collider is either a primitive or a body that has a BVH. Thread-safe.
 *
 * Guarantee: bodies that overlap have a contact, however thin they are, and also if one contains
 * the other. A sheet contains nothing, as in <abut/pair.h>. Bodies within the margin have a
 * contact. If they are separate, the depth of the deepest contact is minus their distance.
 * Exchanging a and b exchanges the sides and reverses the normals.
 *
 * Two meshes: contacts of overlaps are computed from the intersection contours of both surfaces.
 * Contacts of gaps are local minima of the distance between the surfaces (Johnson and Cohen 2001).
 * If a region has several walls, the joint shift by their depths separates the bodies at all of
 * them. Opposite walls whose depths are below 5% of the size of the smaller body, as in a press
 * fit, keep their local depths, and `is_verified` is false. A shift through the other body is
 * reported only if the bodies have passed through each other. The first call with a mesh computes
 * its topology, which the BVH keeps: about 100 bytes for each triangle. Small queries allocate
 * nothing and use about 100 KiB of stack. The progress callback of the context can cancel the call.
 *
 * A mesh and a primitive:
 *  - Plane: one patch for each connected part of the mesh below it, with exact depths, areas and
 *    volumes.
 *  - Sphere, capsule: one patch for each wall that the primitive touches, with exact depths and
 *    without areas. A capsule whose axis intersects the mesh is approximated by a mesh within 0.3%
 *    of its radius.
 *  - Box, hull: as two meshes.
 *  - Cylinder: as two meshes. The cylinder is approximated by a mesh within 0.1% of its radius.
 *
 * Two primitives have one patch or none; two planes have none. The depth is the length of the
 * shortest shift of body a that separates them, exact up to rounding errors. The normal is the
 * direction of this shift. For a cylinder against a capsule, box, cylinder or hull, the depth
 * exceeds the shortest shift by at most 1e-6 of their size. A hint excludes shifts at more than 90
 * degrees to it, unless there is no other shift. With a margin, separate primitives have contacts
 * at their closest points. `area` is that of the contact polygon before it is reduced to
 * options->max_contacts points. `volume` is 0. Ids do not depend on which body has the reference
 * face. A contact point has the id of a vertex if its distance from the vertex is at most 1% of the
 * size of the smaller face. Faces that are parallel within 2e-4 radians keep the same contact
 * points when they move slightly. The first contact then has the depth of the patch. This exceeds
 * the true depth at that point by at most 0.1% of the size of the face.
 *
 * The first call with a hull verifies that it is closed and convex; its BVH keeps the result.
 * Returns ABUT_ERROR_ARGUMENT if the hull is not closed and convex, and for other kinds of
 * colliders. Returns ABUT_ERROR_LIMIT if a hull has more than 65,536 triangles. */
ABUT_API abut_status abut_contact_find(const abut_collider *a, const abut_collider *b,
                                       const abut_patch_options *options, abut_patches *patches);

/* ---- two bodies, by fields ---- */

/* Computes the contacts of two bodies by signed distance fields. Samples and long edges of each
 * body are evaluated in the field of the other. One body must have a field, and the other must have
 * samples. If all contacts are backfacing (see `keep_backfacing`), as for a small body in the
 * middle of a large one, those that separate the bodies in one common direction are returned.
 * Returns ABUT_ERROR_ARGUMENT for other pairs: abut_contact_find() computes the contacts of
 * primitives with the BVH of a body. Thread-safe. */
ABUT_API abut_status abut_contact_find_sampled(const abut_collider *a, const abut_collider *b,
                                               const abut_contact_options *options,
                                               abut_contacts *contacts);

/* ---- a body with a field, and a point cloud or mesh as b ---- */

/* Computes the contacts of a body and points (abut_vec3) in world coordinates, such as a scan or
 * the particles of a liquid. Each point is a ball of `radius`. Points are on the host. Runs on all
 * threads of the context. Returns ABUT_ERROR_ARGUMENT if a point is not finite or beyond
 * ABUT_COORDINATE_MAX. Thread-safe. */
ABUT_API abut_status abut_contact_points(const abut_collider *a, abut_array points, size_t count,
                                         double radius, const abut_contact_options *options,
                                         abut_contacts *contacts);
/* Computes the contacts of a body and a deforming mesh. The features are the vertices of the mesh,
 * and the deepest points of its edges that are longer than a cell. The mesh has no inside here, as
 * cloth has none, so backfacing contacts are kept. `topology` may belong to an earlier shape of the
 * mesh with the same triangles. Runs on all threads of the context. Thread-safe. */
ABUT_API abut_status abut_contact_mesh(const abut_collider *a, const abut_mesh *mesh,
                                       const abut_topology *topology, const abut_pose *pose,
                                       const abut_contact_options *options,
                                       abut_contacts *contacts);

/* ---- rays ---- */

typedef struct abut_field_hit {
    double parameter; /* point = origin + parameter * direction; infinity for a miss. A miss sets
                       * only this and the reliability */
    abut_vec3 point;
    abut_vec3 normal; /* outward */
    double depth;     /* penetration depth of the point: 0 unless the ray starts inside */
    abut_reliability reliability; /* as in abut_contacts */
} abut_field_hit;

/* Finds the first point at which a ray enters a body, at a parameter of at most `limit` (1 for a
 * segment, HUGE_VAL for no limit): sphere tracing to the first zero of the interpolated distance,
 * by steps that cannot pass it, then bisection (Hart 1996). A ray that starts inside hits at its
 * origin. A part of the body may be missed if the ray is inside it for less than 0.001 of a cell.
 * Thread-safe. */
ABUT_API abut_status abut_contact_ray(const abut_collider *a, const abut_ray *ray, double limit,
                                      abut_field_hit *hit);

#ifdef __cplusplus
}
#endif

#endif
