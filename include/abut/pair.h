/* Queries between two meshes at poses: overlap, intersections, distance and closest points,
 * intersection volume; the same for batches of poses; self-intersections of one mesh; groups of
 * objects in many configurations; and the Hausdorff distance.
 *
 * Method: simultaneous traversal of two BVHs. Separating axes in single precision, with a proven
 * margin, cull nodes and triangles. Exact predicates or distances in doubles decide the remaining
 * pairs of triangles.
 *
 * A mesh at a pose is the mesh that abut_mesh_transform() would create: each vertex is rotated,
 * translated and rounded once to doubles. For exactly these triangles overlap and intersection
 * results are exact, and distances are as accurate as those of <abut/geom.h>. Queries do not copy
 * the meshes, except at extreme poses, where the rounding errors of the vertices are not small
 * relative to the size of the mesh.
 *
 * In this header two bodies overlap if they have a point in common: their surfaces intersect or
 * touch, or a component of one lies inside the other (ABUT_PAIR_A_INSIDE, ABUT_PAIR_B_INSIDE).
 * Components are connected through shared vertices or vertices with equal coordinates. The interior
 * of a component depends on its holes:
 *   closed        the points with a winding number other than 0, whichever way it faces
 *   small holes   the points with a winding number of at least one half. The area of the holes is
 *                 at most ABUT_SHEET_HOLE_FRACTION (0.1) of that of the component, as in scans of
 *                 solids
 *   sheet         empty. The holes are larger, as in a scanned room, a garment or a terrain. Only
 *                 its surface counts, so a robot in the middle of an open room does not overlap
 *                 the room
 * The winding numbers of all components except sheets are added, so an inward-facing component
 * inside another is a cavity. <abut/contact.h>, <abut/sweep.h> and <abut/world.h> use the same
 * rule. Signs of points (<abut/sign.h>, <abut/field.h>, <abut/map.h>) use winding numbers on sheets
 * too.
 *
 * Each result has an abut_reliability. If surfaces intersect, or if no part of one mesh is in the
 * bounding box of the other, every result is exact for any mesh. If containment decides, the level
 * depends on the surface that may contain the other body:
 *   guaranteed    it is closed, even if it faces inwards or intersects itself; or it is a sheet,
 *                 which has no interior by definition: the reason states this
 *   limited       it has small holes, near which the interior is an estimate
 *   unreliable    neighbouring triangles face opposite ways and cancel each other
 *
 * Results do not depend on the number of threads, the processor, the device or the content of a
 * cache. All functions only read BVHs, so any number of threads may query the same BVH.
 */
#ifndef ABUT_PAIR_H
#define ABUT_PAIR_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/collider.h>
#include <abut/geom.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_pair_options {
    size_t size;
    bool surface_only; /* ignore interiors: a body inside another does not overlap it */
} abut_pair_options;

ABUT_DEFAULT(abut_pair_options)

/* Warm start of consecutive queries on the same two BVHs at similar poses. Initialise it with zeros
 * and pass it to each query. It changes the time of a query, never its result. Only one thread at a
 * time may use a cache. All functions below accept null instead. */
typedef struct abut_pair_cache {
    uint32_t known; /* 0 = empty; the other members are then ignored */
    uint32_t triangle_a, triangle_b;
    uint32_t reserved[5];
} abut_pair_cache;

/* ---- overlap ---- */

typedef enum abut_pair_relation {
    ABUT_PAIR_APART = 0,    /* no common point */
    ABUT_PAIR_INTERSECTING, /* triangles intersect or touch */
    ABUT_PAIR_A_INSIDE,     /* no triangles intersect; a component of a lies inside b */
    ABUT_PAIR_B_INSIDE      /* no triangles intersect and no component of a lies inside b, but a
                             * component of b lies inside a */
} abut_pair_relation;

/* Returns "apart", "intersecting", "a-inside" or "b-inside". Thread-safe. */
ABUT_API const char *abut_pair_relation_name(abut_pair_relation relation);

typedef struct abut_overlap {
    abut_pair_relation relation;
    abut_reliability reliability;
} abut_overlap;

/* Tests exactly whether two bodies overlap. `options` and `cache` may be null. Returns
 * ABUT_ERROR_ARGUMENT if a pose is not finite or moves a mesh beyond ABUT_COORDINATE_MAX.
 * Memory: the first query that depends on containment lists the components of each mesh (4 bytes
 * per component), and the BVH keeps the list. For an open mesh it also measures the holes, with
 * about 100 temporary bytes per boundary edge. Extreme poses need temporary copies of both meshes.
 * Thread-safe. */
ABUT_API abut_status abut_pair_overlap(const abut_collider *a, const abut_collider *b,
                                       const abut_pair_options *options, abut_pair_cache *cache,
                                       abut_overlap *overlap);

/* Returns the reliability of containment for a mesh with this report. The reason also states
 * whether volume and inertia are meaningful. The level of a sheet is limited, because it has no
 * interior, although results are exact. Surface intersections and distances do not depend on this
 * reliability. Thread-safe. */
ABUT_API abut_reliability abut_pair_reliability(const abut_mesh_report *report);

/* Two triangles that intersect, and their intersection: see abut_triangle_triangle_intersect(). */
typedef struct abut_pair_intersection {
    uint32_t triangle_a, triangle_b;
    abut_intersection kind;
    abut_segment segment;
} abut_pair_intersection;

ABUT_LIST(abut_pair_intersection)

/* Finds all pairs of intersecting triangles, exactly, sorted by the triangle of a, then by that of
 * b. Validates poses as abut_pair_overlap() does. Thread-safe. */
ABUT_API abut_status abut_pair_intersections(const abut_collider *a, const abut_collider *b,
                                             abut_pair_intersection_list *intersections);

/* ---- distance ---- */

typedef struct abut_separation {
    double distance;             /* 0 if and only if the bodies overlap */
    abut_pair_relation relation; /* ABUT_PAIR_APART if and only if the distance is positive */
    abut_vec3 point_a, point_b;  /* closest points; one common point if the bodies overlap */
    uint32_t triangle_a; /* the triangle of point_a; ABUT_NONE if a contains the other body there */
    uint32_t triangle_b; /* the triangle of point_b; ABUT_NONE if b contains the other body there */
    abut_feature feature_a, feature_b;
    abut_reliability reliability;
} abut_separation;

/* Computes the distance between two bodies and a pair of closest points (witness points).
 *  - Ties: pairs of triangles are tied if their distances differ by less than 2^-41 L and by less
 *    than a thousandth of the smaller distance. L is the sum of the largest coordinates of both
 *    bodies, so 2^-41 L is about 1e-12 of the larger coordinate. Of the tied pairs, the result is
 *    the one with the lowest triangle index of a, then of b. The distance is that of this pair.
 *  - Overlap: if surfaces intersect, the result is one of the intersecting pairs. This pair is the
 *    same on every device for the same poses and BVHs, because the tree of the CPU determines it.
 *    After a refit the pair may differ from that of a newly built BVH. If a component lies inside
 *    the other body, the witness point is a vertex of that component.
 *  - Limits: if the bodies are further apart than 64 times their size, the result may be any of the
 *    tied pairs. Meshes with many triangles in one place may have more than about sixty thousand
 *    tied pairs that are not on parallel flat faces. The distance then has an error of up to 1e-4
 *    of the size of the bodies.
 *  - Memory: as abut_pair_overlap(). After many distance queries a BVH keeps about 11 more bytes
 *    per triangle, and 22 more after queries with many tied pairs. The first distance query on a
 *    BVH that was built on a device also builds the tree of the CPU, which the BVH keeps. Batches
 *    build it at the first pose at which the bodies overlap.
 * Validates poses as abut_pair_overlap() does. Thread-safe. */
ABUT_API abut_status abut_pair_distance(const abut_collider *a, const abut_collider *b,
                                        const abut_pair_options *options, abut_pair_cache *cache,
                                        abut_separation *separation);

/* Tests whether two bodies overlap or their distance is at most `margin`. The search stops as soon
 * as the result is known. `reliability` may be null. Returns ABUT_ERROR_ARGUMENT if `margin` is
 * negative or NaN, or for poses that abut_pair_overlap() rejects. Thread-safe. */
ABUT_API abut_status abut_pair_within(const abut_collider *a, const abut_collider *b, double margin,
                                      const abut_pair_options *options, abut_pair_cache *cache,
                                      bool *within, abut_reliability *reliability);

/* ---- intersection volume ---- */

typedef struct abut_pair_measure_options {
    size_t size;
    double tolerance; /* a length. Surfaces closer than this coincide, and an intersection thinner
                       * than this has no volume. 0 = 1e-9 of the size of the smaller body, or the
                       * rounding error of the poses if that is larger */
} abut_pair_measure_options;

ABUT_DEFAULT(abut_pair_measure_options)

typedef enum abut_pair_kind {
    ABUT_PAIR_KIND_APART = 0, /* there is no common point */
    ABUT_PAIR_KIND_TOUCH,     /* the intersection has no volume: coincident faces, an edge or a
                               * point */
    ABUT_PAIR_KIND_OVERLAP,   /* the intersection is a proper part of both solids */
    ABUT_PAIR_KIND_A_INSIDE,  /* the intersection is all of a, which may touch the surface of b from
                               * inside */
    ABUT_PAIR_KIND_B_INSIDE,  /* the intersection is all of b */
    ABUT_PAIR_KIND_SAME       /* both are the same solid, in any triangulation */
} abut_pair_kind;

/* Returns "apart", "touch", "overlap", "a-inside", "b-inside" or "same". Thread-safe. */
ABUT_API const char *abut_pair_kind_name(abut_pair_kind kind);

/* Measures of the intersection of two solids. All are 0 if it is empty. */
typedef struct abut_pair_measures {
    size_t size; /* sizeof(abut_pair_measures), set by the default function */
    abut_pair_kind kind;
    double volume;
    double area;           /* of the surface of the intersection: the sum of the next three */
    double area_a;         /* of the surface of a inside b */
    double area_b;         /* of the surface of b inside a */
    double shared_area;    /* of coincident faces that face the same way */
    double flush_area;     /* of coincident faces that face opposite ways: contact without volume.
                            * Not included in `area` */
    abut_vec3 area_vector; /* outward normals of a, integrated over the surface of a inside b, or
                            * over the flush faces if the solids only touch. It points out of a into
                            * b. Its dot product with a unit vector is the derivative of the volume
                            * for a translation of a along that vector */
    abut_vec3 centroid;    /* of the volume. If the solids only touch: of the flush faces, or a
                            * common point if there are none */
    abut_box bounds;       /* of the intersection and of the flush faces */
    abut_reliability reliability;
} abut_pair_measures;

ABUT_DEFAULT(abut_pair_measures)

/* Measures the intersection of two solids: volume, areas, centroid and kind. Intersections of
 * triangles are decided exactly, and only sums are rounded. The error of a volume is about 1e-15
 * times the largest coordinate times the areas. Both surfaces must be closed. They may have
 * cavities, several components, and coplanar or coincident faces. Points count by their winding
 * number: where a body overlaps itself they count twice, as in the volume of the mesh. If a surface
 * has boundary edges, only `kind` is computed, by abut_pair_overlap(), and the reliability is
 * unreliable. `measures->size` must be set. `options` may be null. Returns ABUT_ERROR_ARGUMENT if
 * the tolerance is negative, and for poses that abut_pair_overlap() rejects. Temporary memory is
 * proportional to both meshes. The first call creates a topology that the BVH keeps. Thread-safe.
 */
ABUT_API abut_status abut_pair_measure(const abut_collider *a, const abut_collider *b,
                                       const abut_pair_measure_options *options,
                                       abut_pair_measures *measures);

/* ---- batches of poses ---- */

/* Two BVHs at a list of poses. */
typedef struct abut_pair_poses {
    size_t size;
    const abut_bvh *a, *b;
    const abut_pose *poses_a, *poses_b; /* `count` poses each; null = the identity for all */
    size_t count;
} abut_pair_poses;

ABUT_DEFAULT(abut_pair_poses)

/* Run abut_pair_overlap(), abut_pair_distance() or abut_pair_within() for each pose, on all threads
 * of the context of a's mesh. Result i is that of pose i. `reliability` is that of the least
 * reliable pose and may be null. A count of 0 is valid. All poses are validated before any result
 * is written. If both BVHs are on one device, the surfaces are searched there, and the CPU does the
 * remaining work. Returns ABUT_ERROR_ARGUMENT if only one BVH is on a device, or if they are on
 * different devices. Reports progress as stage "pairs". If the callback cancels or memory runs out,
 * some results have been written. Thread-safe; on a device one batch at a time. */
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

/* ---- self-intersections ---- */

/* Two triangles of one mesh that have more points in common than their common vertices and edges.
 * Which points count depends on the vertices that they share:
 *   no common vertex      any common point
 *   one common vertex     a common point other than that vertex
 *   a common edge         a common point off that edge: coplanar triangles folded onto each other
 *   the same vertices     always
 * Vertices with equal positions count as the same vertex, whatever their indices, so seams of an
 * unwelded mesh are not self-intersections. A degenerate triangle counts as a segment or a point,
 * by the same rules. If it coincides with an edge or a corner of its neighbour, the two do not
 * intersect. */
typedef struct abut_pair_self_intersection {
    uint32_t triangle[2];   /* the lower index first */
    abut_intersection kind; /* kind and segment: see abut_triangle_triangle_intersect() */
    abut_segment segment;
} abut_pair_self_intersection;

ABUT_LIST(abut_pair_self_intersection)

/* The default work limit. Typical meshes need 6 to 10 units per triangle. Long thin triangles and
 * fans of a thousand triangles at one vertex need up to 3,000. For 20,000 random triangles in one
 * place the search stops after about 3 s of processor time. */
#define ABUT_PAIR_SELF_LIMIT(triangle_count) \
    ((UINT64_C(1) << 26) + 1024 * (uint64_t)(triangle_count))

typedef struct abut_pair_self_options {
    size_t size;
    bool by_index;  /* identify vertices by index only; the two sides of an unwelded seam then
                     * intersect */
    uint64_t limit; /* work limit: 1 unit for each pair of triangles with overlapping bounding
                     * boxes, 16 for each pair that needs an exact test.
                     * 0 = ABUT_PAIR_SELF_LIMIT(triangle_count), UINT64_MAX = no limit */
} abut_pair_self_options;

ABUT_DEFAULT(abut_pair_self_options)

/* Finds all self-intersections, exactly, on all threads, sorted by the lower, then by the higher
 * triangle. Returns ABUT_ERROR_LIMIT if the search exceeds options->limit, and sets pairs->count
 * to the number found so far, which does not depend on the number of threads. `options` may be
 * null. Needs about 50 temporary bytes per triangle and 16 per pair. Reports progress as stage
 * "self". Thread-safe. */
ABUT_API abut_status abut_pair_self_intersections(const abut_bvh *bvh,
                                                  const abut_pair_self_options *options,
                                                  abut_pair_self_intersection_list *pairs);
/* Tests whether there is a self-intersection; stops at the first. `options` may be null.
 * Thread-safe. */
ABUT_API abut_status abut_pair_self_intersects(const abut_bvh *bvh,
                                               const abut_pair_self_options *options, bool *any);
/* Completes the report of abut_mesh_examine() on the mesh of the BVH: counts its self-intersecting
 * triangles and pairs. Reliabilities that are computed from the report then include them. `options`
 * is as above. On failure `report` is unchanged. Returns ABUT_ERROR_ARGUMENT if the report has a
 * different number of triangles. Thread-safe. */
ABUT_API abut_status abut_pair_examine(const abut_bvh *bvh, const abut_pair_self_options *options,
                                       abut_mesh_report *report);

/* ---- many objects, many configurations ---- */

/* An object of a group: a BVH and its pose in each configuration. */
typedef struct abut_pair_object {
    size_t size; /* sizeof(abut_pair_object), set by the default function */
    const abut_bvh *bvh;
    const abut_pose *poses; /* the pose in configuration 0 first; null = the identity in all */
    size_t stride; /* bytes between the poses of consecutive configurations; 0 = one pose for all */
    uint32_t group; /* a bit for each group that the object belongs to; 0 = group 0 only */
    uint32_t mask;  /* a bit for each group that it is tested against; 0 = all. Two objects are
                     * tested if each belongs to a group in the mask of the other */
} abut_pair_object;

ABUT_DEFAULT(abut_pair_object)

/* Objects, their configurations, and which pairs of objects are tested. */
typedef struct abut_pair_group {
    size_t size;
    const abut_pair_object *objects; /* the size of the first applies to all */
    uint32_t object_count;
    size_t configuration_count;
    const uint32_t *ignored; /* pairs of objects that are not tested: two indices each */
    size_t ignored_count;    /* number of pairs */
    double margin;           /* pairs at a distance of at most this count as touching; 0 or more */
    bool surface_only;       /* ignore interiors: an object inside another does not overlap it */
} abut_pair_group;

ABUT_DEFAULT(abut_pair_group)

/* Two objects that overlap, or are within the margin, in one configuration. */
typedef struct abut_pair_group_hit {
    uint64_t configuration;
    uint32_t a, b; /* a < b */
} abut_pair_group_hit;

ABUT_LIST(abut_pair_group_hit)

/* The two closest objects of one configuration. */
typedef struct abut_pair_group_closest {
    uint32_t a, b; /* a < b; ABUT_NONE if no pair is tested, and the distance is then infinite */
    abut_separation separation;
} abut_pair_group_closest;

/* Tests for each configuration whether any two objects overlap or are within the margin; any[i]
 * belongs to configuration i. A broad phase rejects pairs by the bounding boxes of their BVHs at
 * the time of the call. The remaining pairs are tested as by abut_pair_overlap() and
 * abut_pair_within(), in the order of their boxes along one axis, until one of them is a hit.
 * `reliability` is the lowest of all tests and may be null. Configurations are distributed over the
 * threads of the context of the first object. Results do not depend on the number of threads. BVHs
 * on a device are tested on the CPU. Returns ABUT_ERROR_ARGUMENT, before any result is written, for
 * poses that abut_pair_overlap() rejects and for an ignored index that is not an object. Reports
 * progress as stage "pairs". If the callback cancels or memory runs out, some results have been
 * written. Thread-safe. */
ABUT_API abut_status abut_pair_group_any(const abut_pair_group *group, bool *any,
                                         abut_reliability *reliability);
/* Finds all pairs that overlap or are within the margin, sorted by configuration, then a, then b.
 * Everything else is as in abut_pair_group_any(). Thread-safe. */
ABUT_API abut_status abut_pair_group_list(const abut_pair_group *group,
                                          abut_pair_group_hit_list *hits,
                                          abut_reliability *reliability);
/* Finds the two closest objects of each configuration. If several pairs overlap, the result is one
 * of them, always the same for the same group. `margin` is not used. The reliability of a
 * separation is that of its pair alone. Everything else is as in abut_pair_group_any().
 * Thread-safe. */
ABUT_API abut_status abut_pair_group_distance(const abut_pair_group *group,
                                              abut_pair_group_closest *closest);

/* ---- Hausdorff distance ---- */

typedef struct abut_pair_hausdorff_options {
    size_t size;
    double tolerance; /* stop if upper - lower is at most this; 0 = a millionth of the size of the
                       * larger mesh. Values below 2^-40 of the largest coordinate are raised to
                       * that */
} abut_pair_hausdorff_options;

ABUT_DEFAULT(abut_pair_hausdorff_options)

typedef struct abut_pair_hausdorff_result {
    size_t size;             /* sizeof(abut_pair_hausdorff_result), set by the default function */
    double lower, upper;     /* bounds of the largest distance from a point of a to b */
    uint32_t triangle;       /* triangle of a */
    abut_vec3 point;         /* on it, up to rounding; its distance is `lower` or a few ulp more */
    uint32_t other_triangle; /* triangle of b nearest to the point */
    abut_vec3 other_point;
    uint64_t pieces; /* triangles of a and parts of them that were examined */
} abut_pair_hausdorff_result;

ABUT_DEFAULT(abut_pair_hausdorff_result)

/* Computes the one-sided Hausdorff distance: the point of surface a that is farthest from surface
 * b. The bounds hold for all points of a, not only for samples, and include rounding errors. Both
 * are 0 if every triangle of a is one of b. The Hausdorff distance is the maximum over both
 * directions. `options` may be null. `result->size` must be set.
 *
 * Both BVHs are queried on the CPU, by all threads of the context of a. Temporary memory: about 100
 * bytes for each vertex and 32 for each triangle of a; 40 and 108 of b. Returns ABUT_ERROR_ARGUMENT
 * if the tolerance is negative or NaN. Reports progress as stages "nearest" and "hausdorff".
 * Thread-safe. */
ABUT_API abut_status abut_pair_hausdorff(const abut_bvh *a, const abut_bvh *b,
                                         const abut_pair_hausdorff_options *options,
                                         abut_pair_hausdorff_result *result);

/* ---- contacts ---- */

/* The feature that a contact belongs to. The first four values equal abut_sample_kind. */
typedef enum abut_contact_kind {
    ABUT_CONTACT_VERTEX = 0,
    ABUT_CONTACT_EDGE,
    ABUT_CONTACT_FACE,
    ABUT_CONTACT_SURFACE,
    ABUT_CONTACT_SOLID,    /* a point of a primitive, such as a corner; element: its index */
    ABUT_CONTACT_POINT,    /* a point of a point cloud; element: its index */
    ABUT_CONTACT_CROSSING, /* an edge that intersects a triangle of the other body; element: the
                            * edge; part: the lowest 26 bits of the index of the triangle. For two
                            * primitives: two edges that cross in the projection along the normal;
                            * element and part: the indices of the edges */
    ABUT_CONTACT_OVERLAP   /* the centre of the overlap of two bodies, from layers */
} abut_contact_kind;

/* Returns the name of a kind of contact, or null if there is no such kind. Thread-safe. */
ABUT_API const char *abut_contact_kind_name(abut_contact_kind kind);

typedef struct abut_contact {
    abut_vec3 point;
    abut_vec3 normal;       /* unit, from b to a */
    double depth;           /* penetration depth; negative for a gap, at least minus the margin */
    uint64_t id;            /* identifies the contact from step to step. Computed from side, kind,
                             * element and part, and unique among the contacts of a pair. If one
                             * feature has several contacts, such as a corner at several walls, they
                             * are numbered by their normals */
    uint32_t a, b;          /* ids of the two items of a world; otherwise copied from the options */
    uint32_t side;          /* 0 if the feature belongs to a, 1 if it belongs to b */
    abut_contact_kind kind; /* with element and part as in abut_sample */
    uint32_t element, part;
} abut_contact;

ABUT_LIST(abut_contact)

typedef struct abut_contact_options {
    size_t size;
    double margin;        /* features within this distance have contacts too, with negative depths.
                           * The width of a narrow band limits the margin */
    uint32_t a, b;        /* copied to every contact: ids of the colliders, or any numbers */
    bool skip_edges;      /* evaluate samples only; do not search edges for their deepest points */
    bool keep_backfacing; /* keep contacts whose normal points along the normal of their own
                           * feature. For such a contact, the nearest surface is not the one that
                           * the feature entered through */
} abut_contact_options;

ABUT_DEFAULT(abut_contact_options)

/* Output list of contacts, and their reliability. `size` must be set. */
typedef struct abut_contacts {
    size_t size; /* sizeof(abut_contacts), set by the default function */
    abut_contact *list;
    uint64_t capacity;
    uint64_t count;               /* number of contacts found */
    abut_reliability reliability; /* reliability of inside and outside: the lowest level of all
                                   * fields that were evaluated, see abut_field_info */
} abut_contacts;

ABUT_DEFAULT(abut_contacts)

/* A contact patch (contact manifold). It describes a connected region of the overlap of two bodies,
 * or one wall of such a region if it has several, or one wall of a gap within the margin. A wall is
 * a connected part of both surfaces whose triangles face each other along one normal. A square peg
 * in a hole has four walls. A box in a corner has two. */
typedef struct abut_patch {
    abut_vec3 normal; /* unit, from b to a. A shift of body a along it reduces the overlap */
    abut_vec3 centre; /* centre of the intersection contour. For one of several walls: centre of its
                       * contacts. For a gap: midpoint of its closest points */
    double depth;     /* penetration depth of its deepest contact; for a gap, minus the distance */
    double area;      /* area of the overlap in the projection along the normal. For one of several
                       * walls: projected area of its own triangles. 0 for a gap and for a component
                       * that is completely inside the other body */
    double volume;    /* intersection volume of its region. If a region has several walls, only the
                       * deepest has the volume and the others have 0. So the sum over all patches
                       * is the volume of abut_pair_measure(). 0 for a gap, and if a mesh is open */
    uint64_t first;   /* index of its first contact */
    uint32_t count;   /* number of its contacts, which are sorted by depth, deepest first */
} abut_patch;

ABUT_LIST(abut_patch)

typedef struct abut_patch_options {
    size_t size;
    double margin;         /* surfaces within this distance have contacts too, with negative depths:
                            * one patch for each wall. Let s be the longest side of the bounding box
                            * of the smaller body. If the margin exceeds 5% of s, walls further away
                            * than the nearest gap plus 5% of s are omitted. The nearest wall is
                            * never omitted */
    uint32_t max_contacts; /* maximum number of contacts in a patch; 0 = 4, at most 8 */
    uint32_t a, b;         /* copied to every contact: ids of the colliders, or any numbers */
    abut_vec3 hint;        /* direction of any length; zero = none. Pass the normal of the previous
                            * step, or the reversed motion of a relative to b. The search evaluates
                            * the hint as one of its candidate normals. If a body has passed through
                            * the other, the hint selects the side to which it is pushed. Shallow
                            * opposite walls, as in a press fit, need no hint */
    bool skip_verification; /* do not test whether the depths separate the bodies, which saves time.
                             * `is_verified` is then false for bodies that overlap. Each region of
                             * the overlap has one patch along its best normal, instead of one patch
                             * for each wall. Patches of gaps do not change */
} abut_patch_options;

ABUT_DEFAULT(abut_patch_options)

/* Output lists of patches and of their contacts. `size` must be set. If either list is too short,
 * the function returns ABUT_ERROR_BUFFER, writes neither list, and sets both counts. */
typedef struct abut_patches {
    size_t size;                  /* sizeof(abut_patches), set by the default function */
    abut_patch_list patches;      /* deepest first */
    abut_contact_list contacts;   /* contacts of the first patch, then of the second, and so on */
    bool is_verified;             /* true if there is no overlap, or if an exact test has shown that
                                   * the joint shift separates the bodies. The joint shift is the
                                   * shortest shift of body a whose component along the normal of
                                   * every overlapping patch is at least the depth of the patch.
                                   * Gaps do not limit it. False if no such shift exists, as in a
                                   * press fit, if the search did not find one, or if
                                   * options->skip_verification is set */
    abut_reliability reliability; /* guaranteed for closed meshes. Also guaranteed for other meshes
                                   * if no surfaces touch within the margin and the result does not
                                   * depend on containment in an open mesh, see <abut/pair.h>.
                                   * Otherwise limited for a mesh with boundary edges, and
                                   * unreliable for a mesh whose neighbouring triangles face
                                   * opposite ways */
} abut_patches;

ABUT_DEFAULT(abut_patches)

/* ---- reduction ---- */

/* Reduces the contacts of a pair to those that a solver needs, in place, and returns their number.
 * The deepest remaining contact, and all contacts whose normals differ from its normal by at most
 * `angle` radians (0 = 0.5, at most 3), form a patch. Each patch keeps `keep` contacts (0 = 4, at
 * most 64): the deepest, the one furthest from it, the two that add the largest area, then those
 * furthest from all that are kept. Contacts whose depths differ by at most 1e-4 of the distance
 * between them count as equally deep. If several contacts count as the deepest, the one that is
 * furthest from it is kept in its place. So the corners of a face are kept instead of its centre.
 * Patches are sorted by depth. The first contact of a patch is the deepest within this tolerance.
 * Thread-safe. */
ABUT_API uint64_t abut_contact_reduce(abut_contact *list, uint64_t count, uint64_t keep,
                                      double angle);

#ifdef __cplusplus
}
#endif

#endif
