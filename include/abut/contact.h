/* Contacts: where bodies touch, which way out, and how deep.
 *
 * Two meshes, and simple solids, by exact geometry: abut_contact_patches() and what follows it. Or
 * from distance fields: a body is a field, the samples of its mesh, and a pose. Two bodies are
 * tried both ways: the samples and long edges of each against the field of the other. Simple solids
 * and planes bring closed forms and points of their own. Depths are interpolated between cells,
 * never the value of a cell, and normals are the gradient of just that.
 *
 * Everywhere: the normal is a unit vector that points from b to a, so that a shift of a by the
 * depth along it ends this contact; the point is on the surface of the body whose feature it is, of
 * exact patches halfway between both surfaces.
 * What is deep inside a field that is limited to a band has the band as its depth, or more.
 *
 * Contacts come in the order of features: those of a, then those of b. Where there are more than
 * contacts->capacity, ABUT_ERROR_BUFFER is returned and only contacts->count is set, which gets
 * their number in either case; contacts->list may be null with a capacity of 0. All
 * functions only read the bodies, so any number of threads may ask at once, and answers depend
 * neither on the number of threads nor on the processor.
 */
#ifndef ABUT_CONTACT_H
#define ABUT_CONTACT_H

#include <abut/base.h>
#include <abut/field.h>
#include <abut/geom.h>
#include <abut/mesh.h>
#include <abut/pair.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- samples ----
 *
 * The samples of a mesh: the few points, with normals, that stand for its surface where it is tried
 * against a distance field (Sundholm 2010, section 5.1.1, after Erleben 2005).
 *
 * Features: every vertex that is not flat; points along every long edge that is not flat; of every
 * large flat region the middle, and up to eight points near its corners on which it can stand. Flat
 * parts need no more: what comes through them is found by samples of the other body. Even: points
 * spread over the whole surface by area, no two of them nearer than a radius, for smooth dense
 * meshes whose vertices would be too many.
 *
 * The same mesh and options give the same samples in the same order everywhere, and the kind,
 * element and part of a sample name it from frame to frame.
 */

typedef enum abut_sample_kind {
    ABUT_SAMPLE_VERTEX = 0, /* element: the vertex */
    ABUT_SAMPLE_EDGE,       /* element: the edge, as the topology numbers it; part: which along it,
                             * counted from 0, or ABUT_SAMPLE_DEEPEST */
    ABUT_SAMPLE_FACE,       /* a flat region; element: its lowest triangle; part: 0 the middle, from
                             * 1 on near its corners */
    ABUT_SAMPLE_EVEN        /* element: the triangle; part: which on it */
} abut_sample_kind;

ABUT_API const char *abut_sample_kind_name(abut_sample_kind kind);

/* The part of a contact at the deepest point of an edge, which is no sample. */
#define ABUT_SAMPLE_DEEPEST 0x3ffffffu

typedef struct abut_sample {
    abut_vec3 point;  /* in the coordinates of the mesh */
    abut_vec3 normal; /* unit pseudo-normal of the feature; zero where normals cancel */
    abut_sample_kind kind;
    uint32_t element, part;
} abut_sample;

/* An edge that is not flat and longer than the spacing: colliders look for its deepest point. */
typedef struct abut_sample_edge {
    abut_vec3 end[2];
    abut_vec3 normal;
    uint32_t edge;
} abut_sample_edge;

/* Which samples are made; see abut_samples_options. */
enum {
    ABUT_SAMPLES_VERTICES = 1,
    ABUT_SAMPLES_EDGES = 2,
    ABUT_SAMPLES_FACES = 4,
    ABUT_SAMPLES_EVEN = 8
};

typedef struct abut_samples_options {
    size_t size;
    uint32_t kinds;    /* a sum of the above; 0 = vertices, edges and faces */
    double cell;       /* of the grid that they are for: edges are cut into equal parts no longer
                        * than its diagonal, or than the threshold if that is more. 0 = a 64th of
                        * the longest side of the mesh */
    double threshold;  /* see there */
    double flat_angle; /* radians between normals, up to which two faces are flat; 0 = 0.001 */
    double face_area;  /* flat regions larger than this get samples; 0 = four faces of a cell */
    double radius;     /* of even samples: no two on the same side are nearer. 0 = the spacing of
                        * edges, unless a count is given */
    uint32_t count;    /* of even samples: exactly so many, spread as far as they go; 0 = by the
                        * radius */
    uint32_t limit;    /* keep at most so many of all, and those that are spread best; 0 = all */
    bool face_middles; /* only the middle of a flat region, as Sundholm has it */
    const char *cache; /* keeps samples in a folder that nobody else can write, as in
                        * abut_field_options; null = none, "" = the user's own */
} abut_samples_options;

ABUT_DEFAULT(abut_samples_options)

typedef struct abut_samples abut_samples;

/* What an abut_samples holds: vertices, edges, faces and even ones one after the other, each by
 * element, then by part. Pointers live as long as the samples. */
typedef struct abut_samples_arrays {
    uint32_t count, edge_count;
    const abut_sample *samples;
    const abut_sample_edge *edges; /* none where edges are not asked for */
    uint32_t kind_count[4];        /* by abut_sample_kind */
    double spacing;                /* along edges */
    double area;                   /* of the mesh */
} abut_samples_arrays;

/* Finds the samples of a mesh. `options` may be null. Fails with ABUT_ERROR_LIMIT where there would
 * be too many. Vertices of equal places count as different ones: weld the mesh first. Uses the
 * context of the mesh. Thread-safe. */
ABUT_API abut_status abut_samples_create(abut_mesh *mesh, const abut_samples_options *options,
                                         abut_samples **samples);
/* Releases the caller's reference; worlds that use the samples keep them alive. Null is allowed.
 * Thread-safe when no one else uses the caller's reference. */
ABUT_API void abut_samples_destroy(abut_samples *samples);
/* Null gives an empty view. Thread-safe. */
ABUT_API abut_samples_arrays abut_samples_arrays_get(const abut_samples *samples);

/* Samples in a folder of abut_samples_options.cache, or what is wrong with a file there. */
typedef struct abut_samples_cache_entry {
    const char *path;           /* of the file: one for each mesh and options */
    char mesh[65];              /* SHA-256 of the mesh, 64 hexadecimal digits; empty = not known */
    uint32_t count, edge_count; /* as in abut_samples_arrays */
    uint64_t stored_bytes;      /* on disk */
    double age;                 /* seconds since they were last used */
    const char *problem;        /* a sentence; null = none was found */
} abut_samples_cache_entry;

/* Gets one entry after the other, which is there until it returns; false ends the listing. */
typedef bool abut_samples_cache_visit(void *user, const abut_samples_cache_entry *entry);

/* Lists the samples that a folder keeps, by the names of their files, and reads all of them to tell
 * damage; "" = the user's own folder. One that is not there has none. Thread-safe. */
ABUT_API abut_status abut_samples_cache_list(abut_context *context, const char *folder,
                                             abut_samples_cache_visit *visit, void *user);
/* As abut_field_cache_clear(), for files of samples alone. Thread-safe. */
ABUT_API abut_status abut_samples_cache_clear(abut_context *context, const char *folder, double age,
                                              uint64_t *files, uint64_t *bytes);

/* ---- bodies ---- */

/* A field at a pose. The pose of zeros leaves it where it is. */
typedef struct abut_body {
    const abut_field *field; /* may be null where samples are enough: against planes, and for one
                              * of two bodies */
    const abut_samples *samples; /* of the same mesh; null = none: only the other side's count */
    abut_pose pose;
} abut_body;

/* What a contact is a feature of. The first four are abut_sample_kind. */
typedef enum abut_contact_kind {
    ABUT_CONTACT_VERTEX = 0,
    ABUT_CONTACT_EDGE,
    ABUT_CONTACT_FACE,
    ABUT_CONTACT_EVEN,
    ABUT_CONTACT_SOLID,    /* a place of a solid, as its corner; element: which */
    ABUT_CONTACT_POINT,    /* of a cloud; element: its number */
    ABUT_CONTACT_CROSSING, /* where an edge goes through a triangle of the other body; element: the
                            * edge; part: the lowest 26 bits of the triangle. Of two solids: where
                            * two edges cross as seen along the normal; part: of the other edge */
    ABUT_CONTACT_OVERLAP   /* the middle of all that two bodies have in common: of layers */
} abut_contact_kind;

ABUT_API const char *abut_contact_kind_name(abut_contact_kind kind);

typedef struct abut_contact {
    abut_vec3 point;
    abut_vec3 normal;
    double depth;           /* above 0 where the bodies overlap; from minus the margin on */
    uint64_t id;            /* of side, kind, element and part: the same for the same feature from
                             * frame to frame. Different within the list of a pair: contacts of one
                             * feature, as of a corner at several walls, are numbered, in the order
                             * of their normals */
    uint32_t pair;          /* as in the options */
    uint32_t side;          /* 0: the feature is of a; 1: of b */
    abut_contact_kind kind; /* with element and part as abut_sample has them */
    uint32_t element, part;
} abut_contact;

typedef struct abut_contact_options {
    size_t size;
    double margin; /* contacts are also features that are this near; the band of a field, if less */
    uint32_t pair; /* given to every contact */
    bool samples;  /* only samples, no deepest points of edges */
    bool any_normal; /* keep contacts whose normal points along the normal of their own feature,
                      * which are the wrong way out */
} abut_contact_options;

ABUT_DEFAULT(abut_contact_options)

/* Room for contacts. */
typedef struct abut_contacts {
    abut_contact *list;
    uint64_t capacity;
    uint64_t count;     /* that were found */
    abut_advice advice; /* what the inside of the bodies is worth: the worst that the fields which
                         * were asked say of their signs (see abut_field_info) */
} abut_contacts;

/* ---- two meshes, by exact geometry ---- */

/* A contact patch: a connected region of the overlap of two bodies, or one wall of it, or one wall
 * within the margin. A wall is a connected part of both surfaces whose triangles face each other
 * along one normal: a peg in a hole has four, a box in a corner two. */
typedef struct abut_patch {
    abut_vec3 normal; /* unit, from b to a: a shift of a along it reduces the overlap */
    abut_vec3 centre; /* of the contour in which the surfaces intersect; of one of several walls,
                       * of its contacts; of a gap, the midpoint between its closest points */
    double depth;     /* penetration depth of its deepest contact; of a gap, minus the distance */
    double area;      /* of the overlap as seen along the normal; of one of several walls, that of
                       * its own triangles. 0 for a gap and for a part that is wholly inside */
    double volume;    /* those of a pair sum to that of abut_pair_common(): the deepest wall of a
                       * region has the volume of the region. 0 for a gap, or if a mesh is open */
    uint64_t first;   /* index of its first contact */
    uint32_t count;   /* of its contacts, the deepest first */
} abut_patch;

typedef struct abut_patch_options {
    size_t size;
    double margin;  /* surfaces within this distance have contacts too, with negative depths: one
                     * patch for each wall. If the margin is more than 5% of the size of the smaller
                     * body (the longest side of its bounding box), walls further away than the
                     * nearest gap plus 5% of that size are left out; the nearest one never is */
    uint32_t keep;  /* maximum of contacts for each patch; 0 = 4, at most 8 */
    uint32_t pair;  /* copied to every contact */
    abut_vec3 hint; /* direction, of any length: the normal of the last step, or the motion of a
                     * relative to b, reversed. It is one of the normals that are tried, and it
                     * chooses the side to which a body that has gone through the other is pushed.
                     * Shallow opposite walls, as of a press fit, need none. Zero = none */
    bool unchecked; /* skip the exact tests that depths separate: faster; `separates` is false for
                     * bodies that overlap, and a region has one patch along its best normal,
                     * without walls. Gaps are the same */
} abut_patch_options;

ABUT_DEFAULT(abut_patch_options)

/* Output lists for patches and their contacts. If either is too short, ABUT_ERROR_BUFFER is
 * returned and neither is written; the counts are set in either case. */
typedef struct abut_patches {
    abut_patch *list; /* deepest first */
    uint64_t capacity, count;
    abut_contact *contacts; /* of the first patch, then of the second ... */
    uint64_t contact_capacity, contact_count;
    bool separates; /* an exact test has found the bodies apart after the shortest shift of a that
                     * goes by at least the depth of every overlapping patch along its normal; gaps
                     * do not limit this shift. True if there is no overlap. False if no shift
                     * satisfies all patches, as between opposite walls of a press fit, or if none
                     * was found, or with options->unchecked */
    abut_advice advice; /* reliability: guaranteed for closed meshes. For others too if no surfaces
                         * touch within the margin and, as in <abut/pair.h>, no boundary edge
                         * decides what is inside. Otherwise limited for a mesh with boundary edges,
                         * unfit for one whose neighbouring triangles face opposite ways */
} abut_patches;

/* Finds the contacts of two posed meshes by exact geometry, without fields and samples. Bodies that
 * overlap have a contact, however thin they are, and also if one is inside the other; nothing is
 * inside a sheet, as in <abut/pair.h>. Bodies within the margin have one too, and the deepest
 * contact of bodies that are apart is minus their distance. Overlaps come from the contours in
 * which the surfaces intersect, gaps from local minima of the distance between them (Johnson and
 * Cohen 2001). Depths of several walls are those by which a shift separates all of them. Opposite
 * walls that are less than 5% of the smaller body deep keep their own depths, and `separates` is
 * false; a longer way through a body is reported only if the bodies have gone through each other.
 * Swapping a and b swaps sides and reverses normals. Lists may be null with a capacity of 0. The
 * first call with a mesh computes its topology, which the hierarchy keeps (about 100 bytes for each
 * triangle). Small queries allocate nothing and use about 100 KiB of stack. Thread-safe. */
ABUT_API abut_status abut_contact_patches(const abut_posed *a, const abut_posed *b,
                                          const abut_patch_options *options, abut_patches *patches);

/* ---- simple solids, by exact geometry ---- */

/* What a solid is. */
typedef enum abut_solid_kind {
    ABUT_SOLID_PLANE = 0, /* all below it */
    ABUT_SOLID_SPHERE,
    ABUT_SOLID_CAPSULE,
    ABUT_SOLID_BOX, /* about the origin of its pose */
    ABUT_SOLID_CYLINDER,
    ABUT_SOLID_HULL /* a closed convex mesh */
} abut_solid_kind;

ABUT_API const char *abut_solid_kind_name(abut_solid_kind kind);

typedef struct abut_solid {
    abut_solid_kind kind;
    abut_pose pose; /* of zeros: where it is */
    union {         /* by kind, in coordinates that the pose moves */
        abut_plane plane;
        abut_sphere sphere;
        abut_capsule capsule;
        abut_vec3 half; /* sizes of a box */
        abut_cylinder cylinder;
        const abut_bvh *hull; /* lives as long as the solid; see abut_mesh_hull() */
    } shape;
} abut_solid;

/* Finds the contacts of two solids: one patch, or none. Its depth is the least by which a shift of
 * a, along the normal, separates them: exact but for rounding, and for a cylinder against a
 * capsule, box, cylinder or hull no more than a millionth of their size above the least. With a
 * hint, shifts against it are not looked at where there are others. With a margin the contacts of
 * solids that are apart are where they are nearest. Contacts are halfway between both surfaces; the
 * area of a patch is that of the polygon around them before all but options.keep are dropped, its
 * volume 0. Ids do not depend on which body's face is the reference: points within 1% of the
 * smaller face from a vertex have its id, and faces that are parallel within 2e-4 keep the same
 * points while they tremble; then the first contact has the patch's depth, at most 0.1% of the face
 * more than its own. Swapping a and b swaps the sides. Two planes have none. The first question
 * about a hull checks that it is closed and convex, which its hierarchy keeps. Nothing else takes
 * memory. Thread-safe. */
ABUT_API abut_status abut_contact_solids(const abut_solid *a, const abut_solid *b,
                                         const abut_patch_options *options, abut_patches *patches);

/* Finds the contacts of a posed mesh and a solid, in the same way. A plane has a patch for each
 * connected part of the mesh below it, with exact depths, areas and volumes. A sphere or capsule
 * has one for each wall that it touches, with exact depths and without areas; a capsule whose axis
 * meets the mesh is taken as a mesh, within 0.3% of its radius. Boxes and hulls are as meshes in
 * abut_contact_patches(), and so are cylinders, within 0.1% of their radius. `separates` is checked
 * as there. The first question about a mesh makes its topology. Thread-safe. */
ABUT_API abut_status abut_contact_solid(const abut_posed *a, const abut_solid *b,
                                        const abut_patch_options *options, abut_patches *patches);

/* ---- two bodies ---- */

/* Finds contacts of two bodies. Where all would be rejected for their normals, as
 * for a small body in the middle of a large one, those are given that leave in one common
 * direction. Thread-safe. */
ABUT_API abut_status abut_contact_bodies(const abut_body *a, const abut_body *b,
                                         const abut_contact_options *options,
                                         abut_contacts *contacts);

/* ---- a body and simple things, which are b ---- */

/* All that is below a plane. Needs samples of a, whose vertices give exact depths. */
ABUT_API abut_status abut_contact_plane(const abut_body *a, const abut_plane *plane,
                                        const abut_contact_options *options,
                                        abut_contacts *contacts);
/* Finds the samples of a inside a sphere, and all places of the sphere itself that are deepest
 * among those around them: one on a large flat face, where no sample may be; two in a groove. */
ABUT_API abut_status abut_contact_sphere(const abut_body *a, const abut_sphere *sphere,
                                         const abut_contact_options *options,
                                         abut_contacts *contacts);
/* The same for a capsule: at both of its ends and where its axis is deepest. */
ABUT_API abut_status abut_contact_capsule(const abut_body *a, const abut_capsule *capsule,
                                          const abut_contact_options *options,
                                          abut_contacts *contacts);
/* The samples of a inside a box; corners, middles of faces and deepest points of edges of the box
 * (elements 0 to 7, 8 to 13 and 14 to 25). */
ABUT_API abut_status abut_contact_box(const abut_body *a, const abut_oriented_box *box,
                                      const abut_contact_options *options, abut_contacts *contacts);
/* Points of the world, such as those of a scan or of a liquid, as balls of `radius`. On all
 * threads. Refused: a point that is not legal. */
ABUT_API abut_status abut_contact_points(const abut_body *a, const abut_points *points,
                                         double radius, const abut_contact_options *options,
                                         abut_contacts *contacts);
/* A mesh that deforms: its vertices, and the deepest points of its edges as far as they are longer
 * than a cell. It has no inside here, as cloth has none, so no contact is rejected for its normal.
 * `topology` may be that of an earlier state of the mesh, with the same triangles. On all threads.
 */
ABUT_API abut_status abut_contact_mesh(const abut_body *a, const abut_mesh *mesh,
                                       const abut_topology *topology, const abut_pose *pose,
                                       const abut_contact_options *options,
                                       abut_contacts *contacts);

/* ---- rays ---- */

typedef enum abut_contact_ray_method {
    ABUT_CONTACT_RAY_TRACE = 0, /* to the first zero of the interpolated distance, by steps that
                                 * cannot pass it, and halving at the end */
    ABUT_CONTACT_RAY_CELLS /* Sundholm 2010, section 5.3: the middle of the first cell along the way
                            * whose value is negative */
} abut_contact_ray_method;

ABUT_API const char *abut_contact_ray_method_name(abut_contact_ray_method method);

typedef struct abut_field_hit {
    double parameter; /* point = origin + parameter direction; infinity on a miss, when only the
                       * advice is set beside it */
    abut_vec3 point;
    abut_vec3 normal; /* outward; by cells: against the direction */
    double depth;     /* how deep the point is: 0 but for a ray that begins inside; by cells: of the
                       * cell */
    abut_advice advice; /* as that of abut_contacts */
} abut_field_hit;

/* Finds where a ray enters a body at a parameter of at most `limit` (1 = a segment, HUGE_VAL = no
 * end). One that begins inside hits at once. What is less than a thousandth of a cell deep may be
 * passed. Thread-safe. */
ABUT_API abut_status abut_contact_ray(const abut_body *a, const abut_ray *ray, double limit,
                                      abut_contact_ray_method method, abut_field_hit *hit);

/* ---- fewer contacts ---- */

/* Keeps of the contacts of a pair what a solver needs. Contacts whose normals agree within `angle`
 * radians (0 = 0.5, at most 3) with the deepest of them make a patch; of each patch `keep` stay
 * (0 = 4, at most 64), those that make the largest support: the deepest, the one furthest from it,
 * the two that make the largest area with both, then what is furthest from all that stay. Of
 * contacts as deep as the deepest, but for a ten-thousandth of the way to it, the furthest takes
 * its place, so that the middle of a face gives way to its corners. Sorts the list: patches by
 * their deepest contact, and in each the first is that one or as deep. Returns how many stay.
 * Thread-safe. */
ABUT_API uint64_t abut_contact_reduce(abut_contact *list, uint64_t count, uint64_t keep,
                                      double angle);

#ifdef __cplusplus
}
#endif

#endif
