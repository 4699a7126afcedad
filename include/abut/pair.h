/* Questions about two meshes, each at a pose: do they touch, where, and how far apart are they?
 *
 * A posed mesh is the one that abut_mesh_transform would make: every vertex turned, shifted and
 * rounded once to doubles. For exactly these triangles yes and no are exact, and distances are as
 * accurate as those of <abut/geom.h>. Nothing is transformed for that, except where a pose moves a
 * mesh so far away that the rounding of its vertices is no longer small beside its size.
 *
 * Bodies touch where their surfaces intersect, and also where one of them, or a connected part of
 * it, lies wholly inside the other: see ABUT_PAIR_A_INSIDE. What is inside a connected part:
 *   closed        the points that it winds around, whichever way it faces
 *   small holes   the points that it winds around by at least a half: holes of up to
 *                 ABUT_SHEET_HOLE_FRACTION (0.1) of its area, as scans of solids have them
 *   a sheet       nothing: holes of more than that, as a scanned room, a garment, a terrain. Only
 *                 its surface counts, so a robot in the middle of an open room is apart from it
 * Of several parts that are no sheets, winding numbers are added: one that faces inwards inside
 * another is a cavity of it. Parts are connected by vertices of equal coordinates.
 * <abut/contact.h>, <abut/sweep.h> and <abut/world.h> follow the same rule. Signs of single points
 * (<abut/sign.h>, <abut/field.h>, <abut/map.h>) have winding numbers on sheets too.
 *
 * Every answer has its reliability with it, as an abut_reliability. Where surfaces intersect, and
 * where nothing of one is in the bounding box of the other, every answer is exact whatever the
 * meshes are. Where containment decides, it is guaranteed    on closed surfaces, also if they face
 * inwards or intersect themselves; and on sheets, which contain nothing by definition: the reason
 * says so limited       on surfaces with small holes, since the inside is a guess near the holes
 *   unreliable         where neighbouring triangles face opposite ways, since these cancel each
 * other
 *
 * Answers depend neither on the number of threads nor on the processor nor on the device nor on
 * what a cache remembers. All functions only read the hierarchies, so any number of threads may ask
 * at once.
 */
#ifndef ABUT_PAIR_H
#define ABUT_PAIR_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/geom.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A hierarchy somewhere. The pose of zeros leaves it where it is. */
typedef struct abut_posed {
    const abut_bvh *bvh;
    abut_pose pose;
} abut_posed;

typedef struct abut_pair_options {
    size_t size;
    bool surface_only; /* only surfaces count: a body inside another does not touch it */
} abut_pair_options;

ABUT_DEFAULT(abut_pair_options)

/* What one question leaves for the next about the same two hierarchies, a little later and at a
 * little different poses: start with zeros, and pass it on. It makes answers faster, never other,
 * and belongs to one thread at a time. Everywhere below null means none. */
typedef struct abut_pair_cache {
    uint32_t known; /* 0 = nothing; the other fields then mean nothing */
    uint32_t triangle_a, triangle_b;
    uint32_t reserved[5];
} abut_pair_cache;

/* ---- overlap ---- */

typedef enum abut_pair_relation {
    ABUT_PAIR_APART = 0,    /* no point in common */
    ABUT_PAIR_INTERSECTING, /* some triangles intersect, or touch */
    ABUT_PAIR_A_INSIDE,     /* none do, but a connected part of a lies inside b */
    ABUT_PAIR_B_INSIDE      /* none do, nothing of a lies inside b, but a part of b inside a */
} abut_pair_relation;

/* "apart", "meeting", "a-inside", "b-inside". */
ABUT_API const char *abut_pair_relation_name(abut_pair_relation relation);

typedef struct abut_overlap {
    abut_pair_relation relation;
    abut_reliability reliability;
} abut_overlap;

/* Tells whether two bodies touch, and how: exactly. `options` and `cache` may be null. Refused: a
 * pose that is not finite, or that moves a mesh beyond ABUT_COORDINATE_MAX. Takes no memory but for
 * a list of the connected parts of each mesh, which the first question about containment makes and
 * the hierarchy keeps (4 bytes a part), and for copies of both meshes at extreme poses. It also
 * measures the holes of an open mesh then, with some 100 bytes a boundary edge meanwhile.
 * Thread-safe. */
ABUT_API abut_status abut_pair_overlap(const abut_posed *a, const abut_posed *b,
                                       const abut_pair_options *options, abut_pair_cache *cache,
                                       abut_overlap *overlap);

/* Gives the reliability of containment for a mesh; the reason also says what volume and inertia
 * mean. Of a sheet it is limited: answers about one are exact, but it contains nothing. Whether
 * surfaces intersect and how far apart they are does not depend on it. Thread-safe. */
ABUT_API abut_reliability abut_pair_reliability(const abut_mesh_report *report);

/* Two triangles that intersect, and where (see abut_triangle_triangle_intersect). */
typedef struct abut_pair_intersection {
    uint32_t triangle_a, triangle_b;
    abut_intersection kind;
    abut_segment segment;
} abut_pair_intersection;

/* Finds all pairs of triangles that intersect, exactly; sorted by the triangle of a, then by that
 * of b. Writes them if there are at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count`
 * gets their number in either case. `meetings` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_pair_intersections(const abut_posed *a, const abut_posed *b,
                                             uint64_t capacity, abut_pair_intersection *meetings,
                                             uint64_t *count);

/* ---- distance ---- */

typedef struct abut_separation {
    double distance;             /* 0 exactly where the bodies touch */
    abut_pair_relation relation; /* apart exactly where the distance is above 0 */
    abut_vec3 point_a, point_b;  /* closest points; one common point where they touch */
    uint32_t triangle_a;         /* that hold the points; ABUT_NONE for the body around the */
    uint32_t triangle_b;         /* other, whose surface is not at the point */
    abut_feature feature_a, feature_b;
    abut_reliability reliability;
} abut_separation;

/* Finds closest points of two bodies. Pairs of triangles whose distances differ by next to nothing
 * count as equally near: by less than 2^-41 of the coordinates of both, some 1e-12 of the larger,
 * and less than a thousandth of the distance. Of these the lowest is given, by the triangle of a,
 * then by that of b, with its distance. Where surfaces intersect it is one of the pairs that do,
 * always the same for the same poses and hierarchies, on any device: the one that the CPU's tree
 * names. A tree that was refitted may name another pair than one built anew. Where a part lies
 * inside the other body, the witness is a corner of that part. Between bodies further apart than 64
 * times their size any of the pairs that are equally near may be given. Where more than some sixty
 * thousand are so and no wall parts them, as between meshes of many triangles in one place, the
 * distance is good to 1e-4 of the size only. Memory as abut_pair_overlap, and once many distances
 * were asked for, some 11 bytes a triangle that the hierarchy keeps; 22 more where many pairs were
 * equally near. A hierarchy that a device built keeps the CPU's tree of its mesh as well, from the
 * first distance on; batches need it from the first pose on that touches. Thread-safe. */
ABUT_API abut_status abut_pair_distance(const abut_posed *a, const abut_posed *b,
                                        const abut_pair_options *options, abut_pair_cache *cache,
                                        abut_separation *separation);

/* Tells whether two bodies touch or the distance between them is at most `margin` (not negative or
 * NaN), and stops as soon as that is known. `reliability` gets the reliability, and may be null.
 * Thread-safe. */
ABUT_API abut_status abut_pair_within(const abut_posed *a, const abut_posed *b, double margin,
                                      const abut_pair_options *options, abut_pair_cache *cache,
                                      bool *within, abut_reliability *reliability);

/* ---- what two solids have in common ---- */

typedef struct abut_pair_measure_options {
    size_t size;
    double tolerance; /* surfaces as close as this lie on each other, and what is as thin has no
                       * volume; 0 = a billionth of the smaller body, and what poses round */
} abut_pair_measure_options;

ABUT_DEFAULT(abut_pair_measure_options)

typedef enum abut_pair_kind {
    ABUT_PAIR_KIND_APART = 0, /* nothing */
    ABUT_PAIR_KIND_TOUCH,     /* no volume: faces that lie on each other, an edge, a point */
    ABUT_PAIR_KIND_OVERLAP,   /* a part of both, while both have more */
    ABUT_PAIR_KIND_A_INSIDE,  /* all of a, which may touch b's surface from inside */
    ABUT_PAIR_KIND_B_INSIDE,  /* all of b */
    ABUT_PAIR_KIND_SAME       /* all of both: the same solid, however it is cut into triangles */
} abut_pair_kind;

/* "apart", "touch", "overlap", "a-inside", "b-inside", "same". */
ABUT_API const char *abut_pair_kind_name(abut_pair_kind kind);

/* The solid that two solids have in common. All is 0 where there is none. */
typedef struct abut_pair_measures {
    abut_pair_kind kind;
    double volume;
    double area;           /* of its surface: the three that follow, added */
    double area_a;         /* of a's surface inside b, */
    double area_b;         /* of b's inside a, */
    double shared_area;    /* and of what both have where they face the same way */
    double flush_area;     /* where they face opposite ways: in contact, without volume */
    abut_vec3 area_vector; /* normals of a times area, added up over a's surface inside b; of a
                            * touch, over what is flush. It points out of a, into b: what a shift of
                            * a along a unit vector adds to the volume is the product of both */
    abut_vec3 centroid;    /* of the volume; of a touch, of what is flush, else a common point */
    abut_box bounds;       /* of the solid and of what is flush; of a touch, of the same */
    abut_reliability reliability;
} abut_pair_measures;

/* Measures what two solids have in common, exactly but for the rounding of sums: for any closed
 * surfaces, with cavities, in several parts, with faces in one plane or in one place. Volumes err
 * by some 1e-15 of the coordinates times areas. Places count as often as a surface winds around
 * them, so that what overlaps itself counts twice, as in the volume of the mesh. Surfaces with
 * boundary edges have a kind only, that of abut_pair_overlap, and a reliability that is unreliable.
 * `options` may be null. Refuses what abut_pair_overlap does, and a tolerance below 0. Takes memory
 * in proportion to both meshes; the first question to a hierarchy makes a topology, which it keeps.
 * Thread-safe. */
ABUT_API abut_status abut_pair_measure(const abut_posed *a, const abut_posed *b,
                                       const abut_pair_measure_options *options,
                                       abut_pair_measures *common);

/* ---- many poses ---- */

/* Two hierarchies and where they are each time. */
typedef struct abut_pair_poses {
    size_t size;
    const abut_bvh *a, *b;
    const abut_pose *poses_a, *poses_b; /* count each; null = always where it is */
    size_t count;
} abut_pair_poses;

ABUT_DEFAULT(abut_pair_poses)

/* The questions above for many poses, on all threads of the context of a's mesh; answer i belongs
 * to pose i, and `reliability`, which may be null, to the pose that is least reliable. No poses are
 * fine. Refused before anything is written: a pose that is not legal. Reports progress as stage
 * "pairs"; if that cancels or memory runs out, part of the answers have been written. Where both
 * hierarchies are on one device, surfaces are searched there, and the rest is the CPU's; refused
 * where only one is, or another device has it. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_pair_overlap_batch(const abut_pair_poses *poses,
                                             const abut_pair_options *options,
                                             abut_pair_relation *relations,
                                             abut_reliability *reliability);
ABUT_API abut_status abut_pair_distance_batch(const abut_pair_poses *poses,
                                              const abut_pair_options *options,
                                              abut_separation *separations);
ABUT_API abut_status abut_pair_within_batch(const abut_pair_poses *poses, double margin,
                                            const abut_pair_options *options, bool *within,
                                            abut_reliability *reliability);

/* ---- a mesh against itself ---- */

/* Two triangles of one mesh that meet although they need not:
 *   without a common vertex   any common point;
 *   with one common vertex    common points other than it;
 *   with a common edge        common points beyond it: folded onto each other in one plane;
 *   with the same vertices    always.
 * Vertices are the same where their positions are equal, whatever their indices, so that seams of
 * an unwelded mesh are no intersections. Triangles that are only a segment or a point count as
 * what they are by the same rules; one that is an edge or a corner of its neighbour does not meet
 * it. */
typedef struct abut_pair_self_intersection {
    uint32_t triangle[2];   /* lower, higher */
    abut_intersection kind; /* and segment, as abut_triangle_triangle_intersect gives them */
    abut_segment segment;
} abut_pair_self_intersection;

/* The default limit of work. Sound meshes need 6 to 10 a triangle; long thin triangles and fans of
 * a thousand triangles at a vertex up to 3,000. Of 20,000 random triangles in one place the search
 * is given up after some 3 s of processor time. */
#define ABUT_PAIR_SELF_LIMIT(triangle_count) \
    ((UINT64_C(1) << 26) + 1024 * (uint64_t)(triangle_count))

typedef struct abut_pair_self_options {
    size_t size;
    bool by_index;  /* vertices are the same by index only: a seam then meets its other side */
    uint64_t limit; /* work before giving up: 1 for each pair of triangles with overlapping
                     * bounding boxes, 16 for a pair that takes an exact test.
                     * 0 = ABUT_PAIR_SELF_LIMIT(triangle_count), UINT64_MAX = no limit */
} abut_pair_self_options;

ABUT_DEFAULT(abut_pair_self_options)

/* Finds all pairs, exactly, on all threads; sorted by lower, then by higher triangle. Writes them
 * if there are at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in
 * either case. If the search takes more work than options->limit allows, fails with
 * ABUT_ERROR_LIMIT, and `count` gets the number of pairs found by then, the same on any number of
 * threads. `options` may be null, and `pairs` with a capacity of 0. Takes some 50 bytes a triangle
 * and 16 a pair meanwhile. Reports progress as stage "self". Thread-safe. */
ABUT_API abut_status abut_pair_self_intersections(const abut_bvh *bvh,
                                                  const abut_pair_self_options *options,
                                                  uint64_t capacity,
                                                  abut_pair_self_intersection *pairs,
                                                  uint64_t *count);
/* Tells whether there is any such pair; ends at the first. Thread-safe. */
ABUT_API abut_status abut_pair_self_intersects(const abut_bvh *bvh,
                                               const abut_pair_self_options *options, bool *any);
/* Completes the report of abut_mesh_examine on the mesh of the hierarchy: counts the triangles that
 * meet others; what follows for a method is then in its reliability. `options` as above, `report`
 * as it was on failure. Thread-safe. */
ABUT_API abut_status abut_pair_examine(const abut_bvh *bvh, const abut_pair_self_options *options,
                                       abut_mesh_report *report);

/* ---- many objects, many configurations ---- */

/* An object of a group: a hierarchy, and its pose in each configuration. */
typedef struct abut_pair_object {
    const abut_bvh *bvh;
    const abut_pose *poses; /* that of configuration 0 first; null = the identity in all of them */
    size_t stride; /* bytes between the poses of two configurations; 0 = one pose for all of them */
    uint32_t group; /* a bit for each group that it belongs to; 0 = the first alone */
    uint32_t mask;  /* a bit for each group that it is tested against; 0 = all. Two objects are
                     * tested if each belongs to a group in the mask of the other */
} abut_pair_object;

/* Objects, their configurations, and the pairs of objects that are tested. */
typedef struct abut_pair_group {
    size_t size;
    const abut_pair_object *objects;
    uint32_t object_count;
    size_t configuration_count;
    const uint32_t *ignored; /* pairs of objects that are not tested: two indices each */
    size_t ignored_count;
    double margin;     /* pairs at most this far apart count as touching; from 0 */
    bool surface_only; /* only surfaces count: an object inside another does not touch it */
} abut_pair_group;

ABUT_DEFAULT(abut_pair_group)

/* Two objects of a configuration that touch. */
typedef struct abut_pair_group_hit {
    uint64_t configuration;
    uint32_t a, b; /* a < b */
} abut_pair_group_hit;

/* The two objects of a configuration that are closest. */
typedef struct abut_pair_group_closest {
    uint32_t a, b; /* a < b; ABUT_NONE if no pair is tested, and the distance is then infinite */
    abut_separation separation;
} abut_pair_group_closest;

/* Finds out for each configuration whether any two objects touch; any[i] belongs to configuration
 * i. A broad phase rejects pairs by their bounding boxes, which are those of the hierarchies at the
 * time of the call; the other pairs are tested as abut_pair_overlap and abut_pair_within do, in the
 * order of their boxes along one axis, until one touches. `reliability`, which may be null, is the
 * least reliable of all tests that were made. Configurations are shared among the threads of the
 * context of the first object; results are the same on any number of them. Returns
 * ABUT_ERROR_ARGUMENT before anything is written for a pose that abut_pair_overlap refuses, and an
 * ignored index that is no object. Hierarchies on a device are tested on the CPU. Reports progress
 * as stage "pairs"; if that cancels or memory runs out, part of the results have been written.
 * Thread-safe. */
ABUT_API abut_status abut_pair_group_any(const abut_pair_group *group, bool *any,
                                         abut_reliability *reliability);
/* Finds all pairs that touch; sorted by configuration, then a, then b. Writes them if there are at
 * most `capacity`, otherwise returns ABUT_ERROR_BUFFER; `count` is set in either case. `hits` may
 * be null with a capacity of 0. The rest as above. Thread-safe. */
ABUT_API abut_status abut_pair_group_list(const abut_pair_group *group, uint64_t capacity,
                                          abut_pair_group_hit *hits, uint64_t *count,
                                          abut_reliability *reliability);
/* Finds the closest two objects of each configuration; if several pairs touch, one of them, always
 * the same for the same group. `margin` is not used. The reliability of a separation is that of its
 * pair alone. The rest as above. Thread-safe. */
ABUT_API abut_status abut_pair_group_distance(const abut_pair_group *group,
                                              abut_pair_group_closest *closest);

#ifdef __cplusplus
}
#endif

#endif
