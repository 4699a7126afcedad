/* Triangle meshes: creation, files, topology, normals, mesh report, and repair.
 *
 * A mesh is immutable and reference-counted, so any number of threads may read it. Positions are
 * doubles relative to a local origin. The origin is chosen so that the subtraction is exact
 * (docs/mesh.md): origin + position equals the input.
 */
#ifndef ABUT_MESH_H
#define ABUT_MESH_H

#include <abut/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_mesh abut_mesh;

/* ---- from arrays ---- */

typedef enum abut_index_type { ABUT_INDEX_UINT32 = 0, ABUT_INDEX_UINT16 } abut_index_type;

/* Returns "uint32" or "uint16". Thread-safe. */
ABUT_API const char *abut_index_type_name(abut_index_type type);

typedef struct abut_mesh_input {
    size_t size;
    const void *positions;          /* three scalars per vertex, with any alignment */
    abut_scalar_type position_type; /* required */
    size_t position_stride;         /* bytes from vertex to vertex; 0 = packed */
    uint32_t vertex_count;
    const void *indices; /* three indices per triangle; null = vertices 3i, 3i+1, 3i+2 */
    abut_index_type index_type;
    size_t index_stride;     /* bytes from triangle to triangle; 0 = packed */
    uint32_t triangle_count; /* at least 1; if indices is null, 0 = vertex_count / 3 */
} abut_mesh_input;

ABUT_DEFAULT(abut_mesh_input)

/* Return an input with packed positions of doubles (also an array of abut_vec3) or floats, and with
 * packed 32-bit indices or null. Thread-safe. */
static inline abut_mesh_input abut_mesh_input_doubles(const void *positions, uint32_t vertex_count,
                                                      const void *indices,
                                                      uint32_t triangle_count) {
    abut_mesh_input input = abut_mesh_input_default();
    input.positions = positions;
    input.position_type = ABUT_SCALAR_FLOAT64;
    input.vertex_count = vertex_count;
    input.indices = indices;
    input.triangle_count = triangle_count;
    return input;
}
static inline abut_mesh_input abut_mesh_input_floats(const void *positions, uint32_t vertex_count,
                                                     const void *indices, uint32_t triangle_count) {
    abut_mesh_input input =
        abut_mesh_input_doubles(positions, vertex_count, indices, triangle_count);
    input.position_type = ABUT_SCALAR_FLOAT32;
    return input;
}

/* Creates a mesh from arrays, which are copied and never read past their last element. Degenerate
 * and duplicate triangles and unused vertices are valid. Returns ABUT_ERROR_ARGUMENT if
 *   the position type is not set, or there are no triangles;
 *   an index is out of range;
 *   a coordinate is not finite or beyond ABUT_COORDINATE_MAX;
 *   the longest side of the bounding box of the triangles is below ABUT_MESH_SIZE_MIN and not 0.
 * Returns ABUT_ERROR_LIMIT for 1,431,655,765 triangles or more, so that 3 indices per triangle fit
 * 32 bits. Logs a warning if coordinates below 1e-91 that are not 0 may make exact tests inexact.
 * Thread-safe. */
ABUT_API abut_status abut_mesh_create(abut_context *context, const abut_mesh_input *input,
                                      abut_mesh **mesh);

/* Creates the convex hull of points by quickhull: a closed, outward-facing mesh whose vertices are
 * input points in their order. Predicates are exact, so coplanar, collinear and coincident points
 * need no tolerance. Points of a plane that several triangles share may be vertices inside that
 * plane's facet. Coordinates below 1e-180 of the largest one count as 0. Returns
 * ABUT_ERROR_ARGUMENT if all points are coplanar, or for coordinates that abut_mesh_create()
 * rejects. Reports progress as stage "hull". Thread-safe. */
ABUT_API abut_status abut_mesh_create_hull(abut_context *context, const abut_vec3 *points,
                                           size_t count, abut_mesh **hull);

/* Adds a reference to a mesh and returns the mesh. Thread-safe. */
ABUT_API abut_mesh *abut_mesh_retain(abut_mesh *mesh);

/* Releases a reference; the last one frees the mesh. Null is allowed. Thread-safe. */
ABUT_API void abut_mesh_destroy(abut_mesh *mesh);

/* Accessors. For null they return zero or null. Pointers are valid as long as the mesh.
 * Thread-safe. */
ABUT_API uint32_t abut_mesh_vertex_count(const abut_mesh *mesh);
ABUT_API uint32_t abut_mesh_triangle_count(const abut_mesh *mesh);
/* Returns the origin of the local positions. Thread-safe. */
ABUT_API abut_vec3 abut_mesh_local_origin(const abut_mesh *mesh);
/* Returns the texture coordinates of a mesh that was read with abut_mesh_read_options.uv, otherwise
 * null: u, v of the three corners of each triangle, with v downwards (glTF: TEXCOORD_0; OBJ: 1 -
 * v). Meshes that are derived from it have none. Thread-safe. */
ABUT_API const double *abut_mesh_uv(const abut_mesh *mesh);
/* Returns vertex_count positions relative to the local origin. Functions that read positions expect
 * absolute ones: see abut_mesh_get_positions(). Thread-safe. */
ABUT_API const abut_vec3 *abut_mesh_local_positions(const abut_mesh *mesh);
/* Returns 3 x triangle_count vertex indices. Thread-safe. */
ABUT_API const uint32_t *abut_mesh_indices(const abut_mesh *mesh);
/* Returns the bounding box of all vertices that a triangle uses, in absolute coordinates.
 * Thread-safe. */
ABUT_API abut_box abut_mesh_bounds(const abut_mesh *mesh);
/* Returns the unit up vector if the file format defines one (+y for glTF), otherwise zero. Weld and
 * orient keep it, transform rotates it, join keeps it if all meshes agree. Thread-safe. */
ABUT_API abut_vec3 abut_mesh_up(const abut_mesh *mesh);

/* Copies the absolute positions of all abut_mesh_vertex_count() vertices. abut_mesh_create(),
 * abut_sweep_set_positions(), abut_world_set_positions(), abut_radial_set_positions() and
 * abut_frames_writer_add() read such positions. `positions` may be null for a mesh without
 * vertices. Returns ABUT_ERROR_ARGUMENT for other nulls. Thread-safe. */
ABUT_API abut_status abut_mesh_get_positions(const abut_mesh *mesh, abut_vec3 *positions);

/* ---- files ---- */

typedef enum abut_mesh_format {
    ABUT_MESH_FORMAT_AUTO = 0, /* by the file extension, otherwise by the first bytes */
    ABUT_MESH_FORMAT_OBJ,
    ABUT_MESH_FORMAT_PLY,
    ABUT_MESH_FORMAT_STL,
    ABUT_MESH_FORMAT_OFF,
    ABUT_MESH_FORMAT_GLTF, /* glTF 2.0 and GLB */
    ABUT_MESH_FORMAT_OTHER /* through Assimp (FBX, Collada, ...), for reading only, never by AUTO */
} abut_mesh_format;

/* Returns "obj", "ply", "stl", "off" or "gltf", which is also the file extension, "auto" or
 * "other". GLB is "gltf" too. Thread-safe. */
ABUT_API const char *abut_mesh_format_name(abut_mesh_format format);

typedef enum abut_triangulation {
    ABUT_TRIANGULATION_AUTO = 0, /* convex polygons as a fan, others by ear clipping */
    ABUT_TRIANGULATION_FAN       /* always a fan from the first corner */
} abut_triangulation;

/* Returns "auto" or "fan". Thread-safe. */
ABUT_API const char *abut_triangulation_name(abut_triangulation triangulation);

typedef struct abut_mesh_read_options {
    size_t size;
    abut_mesh_format format;
    abut_triangulation triangulation;
    bool uv; /* also read texture coordinates, see abut_mesh_uv(): from OBJ and glTF */
} abut_mesh_read_options;

ABUT_DEFAULT(abut_mesh_read_options)

/* Reads a mesh from a file. STL has no shared vertices, so corners with equal coordinates become
 * one vertex. The error message names the file and the line, element or byte. `options` may be
 * null. With options->uv, returns ABUT_ERROR_FORMAT if a corner has no texture coordinates, and
 * ABUT_ERROR_UNSUPPORTED for formats other than OBJ and glTF. Thread-safe. */
ABUT_API abut_status abut_mesh_read(abut_context *context, const char *path,
                                    const abut_mesh_read_options *options, abut_mesh **mesh);

/* Reads a mesh from memory. `name` replaces the path in messages and its extension; it may be null.
 * Thread-safe. */
ABUT_API abut_status abut_mesh_read_memory(abut_context *context, const void *data, size_t bytes,
                                           const char *name, const abut_mesh_read_options *options,
                                           abut_mesh **mesh);

typedef struct abut_mesh_write_options {
    size_t size;
    abut_mesh_format format; /* any except OTHER */
    bool ascii;              /* PLY, STL and glTF: text instead of little-endian binary. The
                              * extension .gltf also selects text */
} abut_mesh_write_options;

ABUT_DEFAULT(abut_mesh_write_options)

/* Writes a mesh atomically: an existing file stays until the new one is complete on disk. OBJ, OFF
 * and PLY keep every bit of the positions. STL has floats, and glTF floats relative to
 * abut_mesh_local_origin(). glTF is y-up; nothing is rotated for that. Returns ABUT_ERROR_ARGUMENT
 * if a mesh is too large or too small for the floats of STL or glTF. Thread-safe. */
ABUT_API abut_status abut_mesh_write(const abut_mesh *mesh, const char *path,
                                     const abut_mesh_write_options *options);

/* ---- topology ---- */

typedef struct abut_topology abut_topology;

/* The arrays of an abut_topology. "Begin" arrays have one element more than there are items: the
 * members of item i are [begin[i], begin[i+1]). Pointers are valid as long as the topology. The
 * faces of an edge are its triangles, except those with a repeated vertex, which have no area. */
typedef struct abut_topology_arrays {
    size_t size; /* sizeof(abut_topology_arrays), set by the default function */
    uint32_t vertex_count, triangle_count, edge_count;
    const uint32_t *edges;           /* 2 per edge: lower, higher vertex; sorted by higher, then
                                      * lower. A triangle with a repeated vertex has an edge (v, w)
                                      * only if v and w differ */
    const uint32_t *triangle_edges;  /* 3 per triangle: the edge of corners k and k+1 mod 3;
                                      * ABUT_NONE if these are the same vertex */
    const uint32_t *edge_face_begin; /* faces of an edge, ascending; none if all its triangles have
                                      * a repeated vertex */
    const uint32_t *edge_faces;
    const uint32_t *vertex_face_begin; /* faces of a vertex, ascending, each once */
    const uint32_t *vertex_faces;
    const uint32_t *neighbours;         /* 3 per triangle: the one other face across edge k, or
                                         * ABUT_NONE at a boundary or a non-manifold edge */
    uint32_t component_count;           /* components are connected through shared edges */
    const uint32_t *triangle_component; /* numbered by their lowest triangle */
    uint32_t loop_count;                /* boundary loops: closed, without repeated vertices */
    const uint32_t *loop_begin;
    const uint32_t *loop_vertices; /* in the direction of the faces along the boundary */
    uint32_t chain_count;          /* boundary chains, which end at non-manifold edges; a chain has
                                    * one edge fewer than vertices */
    const uint32_t *chain_begin;
    const uint32_t *chain_vertices;
} abut_topology_arrays;

ABUT_DEFAULT(abut_topology_arrays)

/* Computes edges, neighbours, components and boundary loops in O(n log n). The topology keeps a
 * reference to its mesh. Reports progress as stage "topology". Thread-safe. */
ABUT_API abut_status abut_topology_create(abut_mesh *mesh, abut_topology **topology);
/* Destroys a topology. Null is allowed. Thread-safe if no other thread uses the topology. */
ABUT_API void abut_topology_destroy(abut_topology *topology);
/* Stores the arrays of a topology. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_topology_get_arrays(const abut_topology *topology,
                                              abut_topology_arrays *arrays);

/* ---- normals ---- */

typedef struct abut_normals abut_normals;

/* Unit face normals, and angle-weighted pseudo-normals of edges and vertices (Baerentzen and Aanaes
 * 2005). On a closed, oriented manifold the sign of (point - closest) . normal of the closest
 * feature is the side of the point: positive outside. Degenerate triangles have a zero normal and
 * add nothing to sums. Sums that cancel are zero. */
typedef struct abut_normals_arrays {
    size_t size;               /* sizeof(abut_normals_arrays), set by the default function */
    const abut_vec3 *faces;    /* triangle_count */
    const abut_vec3 *edges;    /* edge_count, with the indices of the topology */
    const abut_vec3 *vertices; /* vertex_count */
} abut_normals_arrays;

ABUT_DEFAULT(abut_normals_arrays)

/* Computes all normals. Reports progress as stage "normals". Thread-safe. */
ABUT_API abut_status abut_normals_create(const abut_topology *topology, abut_normals **normals);
/* Destroys normals. Null is allowed. Thread-safe if no other thread uses the normals. */
ABUT_API void abut_normals_destroy(abut_normals *normals);
/* Stores the arrays of normals. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_normals_get_arrays(const abut_normals *normals,
                                             abut_normals_arrays *arrays);

/* ---- mesh report ---- */

/* Problems of a mesh. Each has a list of elements: triangles, edges or vertices. */
typedef enum abut_problem_kind {
    ABUT_PROBLEM_DEGENERATE_TRIANGLE = 0, /* exactly zero area; triangles */
    ABUT_PROBLEM_DUPLICATE_TRIANGLE,      /* same three vertices as a lower triangle; triangles */
    ABUT_PROBLEM_BOUNDARY_EDGE,           /* one face; edges */
    ABUT_PROBLEM_NONMANIFOLD_EDGE,        /* three faces or more; edges */
    ABUT_PROBLEM_NONMANIFOLD_VERTEX,      /* its faces form more than one fan; vertices */
    ABUT_PROBLEM_FLIPPED_EDGE,            /* two faces with the same direction along it; edges */
    ABUT_PROBLEM_INWARD_COMPONENT,        /* a closed component that faces inwards and is not the
                                           * wall of a cavity: it is inside an even number of other
                                           * closed components; its lowest triangle */
    ABUT_PROBLEM_COINCIDENT_VERTEX,       /* same position as a lower vertex; vertices */
    ABUT_PROBLEM_UNUSED_VERTEX,           /* in no triangle; vertices */
    ABUT_PROBLEM_SELF_INTERSECTION        /* intersects another triangle beyond common vertices;
                                           * triangles. Only abut_pair_examine() finds these */
} abut_problem_kind;

/* The length of the arrays of problems in reports. Elements without a kind are zeros. */
#define ABUT_PROBLEM_KIND_MAX 32
#define ABUT_PROBLEM_FIRST_COUNT 8

typedef struct abut_problem {
    uint32_t count;
    uint32_t first[ABUT_PROBLEM_FIRST_COUNT]; /* the lowest elements, ascending */
} abut_problem;

typedef enum abut_reliability_level {
    ABUT_RELIABILITY_GUARANTEED = 0, /* the guarantee of the method holds on this mesh */
    ABUT_RELIABILITY_LIMITED,        /* it holds with the restriction that the reason states */
    ABUT_RELIABILITY_UNRELIABLE      /* results may be wrong without notice */
} abut_reliability_level;

/* The reliability of a method on a mesh. It is computed from the report below by
 * abut_nearest_reliability(), abut_sign_reliability(), abut_pair_reliability() or
 * abut_self_reliability(). */
typedef struct abut_reliability {
    abut_reliability_level level;
    const char *reason; /* one static sentence */
} abut_reliability;

/* A component whose holes exceed this fraction of its own area is a sheet: a scanned room, a
 * garment, a terrain. A sheet has no interior: overlap and containment queries never report a body
 * as inside it. A closed chair in the file of an open room still has an interior. Components are
 * connected through shared vertices or vertices with equal coordinates. Scans of solids have hole
 * fractions of up to 0.05, garments of 0.2 and more. Signs of points (<abut/sign.h>) and fields use
 * winding numbers on sheets too. */
#define ABUT_SHEET_HOLE_FRACTION 0.1

typedef struct abut_mesh_report {
    size_t size; /* sizeof(abut_mesh_report), set by the default function */
    uint32_t vertex_count, triangle_count, edge_count;
    uint32_t component_count, loop_count;
    int64_t euler_number; /* used vertices - edges + triangles */
    bool is_closed;       /* every edge has exactly two faces */
    bool is_manifold;     /* no non-manifold edge or vertex */
    bool is_oriented;     /* no flipped edge */
    bool is_balanced;     /* no boundary edge, and each non-manifold edge has as many faces in one
                           * direction as in the other */
    bool has_boundary; /* after vertices with equal coordinates are merged, an edge has more faces
                        * in one direction than in the other. Winding numbers depend on this */
    bool has_opposite_boundary; /* such an edge has a difference of two or more, as between
                                 * neighbours that face opposite ways */
    bool has_volume;            /* a closed component has a volume */
    bool has_flat_component;    /* a closed component has none */
    bool has_nested_component;  /* a component is inside another, and both face outwards */
    bool has_isolated_edges;    /* edges that only triangles with a repeated vertex have */
    abut_box bounds;
    double area;
    double volume;      /* signed, by the divergence theorem; meaningful if closed and oriented */
    abut_vec3 centroid; /* of the solid if is_solid, otherwise of the surface; the centre of the
                         * bounding box if the area is 0 */
    double inertia[6];  /* xx yy zz xy yz zx about the centroid, with density 1, of the solid or of
                         * the surface as for the centroid. Off-diagonal values are entries of the
                         * tensor, including their minus sign */
    bool is_solid;      /* centroid and inertia are those of the solid: closed, oriented, with a
                         * volume */
    abut_problem problems[ABUT_PROBLEM_KIND_MAX]; /* by abut_problem_kind */
    bool has_self_intersection_test;              /* abut_pair_examine() has completed the report */
    uint64_t self_intersection_count; /* if so, the number of intersecting pairs of triangles */
    double hole_fraction; /* area of the holes over `area`. Each boundary loop counts as a disc with
                           * the same perimeter, after vertices with equal coordinates are merged */
    bool has_sheets;      /* a component is a sheet: see ABUT_SHEET_HOLE_FRACTION */
    bool is_sheet;        /* every component is a sheet, so the surface has no interior */
} abut_mesh_report;

ABUT_DEFAULT(abut_mesh_report)

/* Examines a mesh: counts, properties, mass and problems. `report->size` must be set. It does not
 * test for self-intersections, which need a BVH: see abut_pair_examine(). Reports progress as stage
 * "health". Thread-safe. */
ABUT_API abut_status abut_mesh_examine(const abut_topology *topology, abut_mesh_report *report);

/* Lists all elements with a problem of one kind, ascending; a report has only the first ones.
 * Returns ABUT_ERROR_ARGUMENT for self-intersections: see abut_pair_self_intersections().
 * Thread-safe. */
ABUT_API abut_status abut_mesh_get_problem_elements(const abut_topology *topology,
                                                    abut_problem_kind kind,
                                                    abut_index_list *elements);

/* Returns "degenerate-triangle", "duplicate-triangle", "boundary-edge", "nonmanifold-edge",
 * "nonmanifold-vertex", "flipped-edge", "inward-component", "coincident-vertex", "unused-vertex" or
 * "self-intersection"; null for the first value that is not a kind, so that loops over all kinds
 * end there. Thread-safe. */
ABUT_API const char *abut_problem_kind_name(abut_problem_kind kind);
/* Returns "guaranteed", "limited" or "unreliable". Thread-safe. */
ABUT_API const char *abut_reliability_level_name(abut_reliability_level level);

/* ---- repair and transformation: each function returns a new mesh ---- */

/* Merges vertices that are closer than `tolerance` (0 = equal coordinates only) into the one with
 * the lowest index. Then removes triangles with a repeated vertex, and unused vertices. Clusters
 * are transitive. Returns ABUT_ERROR_ARGUMENT if no triangle remains, or if the tolerance is
 * negative or not finite. Reports progress as stage "weld". Thread-safe. */
ABUT_API abut_status abut_mesh_weld(const abut_mesh *mesh, double tolerance, abut_mesh **welded);

/* Flips triangles so that neighbours across manifold edges have the same orientation. Closed
 * components then face outwards (positive volume). A closed component inside an odd number of other
 * closed components is the wall of a cavity and faces inwards. Open components keep the orientation
 * of most of their area. A Moebius strip keeps a seam. `flipped_count` is the number of flipped
 * triangles and may be null. The order and first corners of triangles do not change. Reports
 * progress as stage "orient". Thread-safe. */
ABUT_API abut_status abut_mesh_orient(const abut_topology *topology, abut_mesh **oriented,
                                      uint32_t *flipped_count);

/* Scales a mesh about the absolute origin, then applies the pose. A negative scale is a reflection;
 * triangles are flipped so that the outside stays outside. Returns ABUT_ERROR_ARGUMENT if `scale`
 * is 0 or not finite. Thread-safe. */
ABUT_API abut_status abut_mesh_transform(const abut_mesh *mesh, double scale, abut_pose pose,
                                         abut_mesh **moved);

/* Joins meshes into one, in order, without merging vertices. Returns ABUT_ERROR_LIMIT if there are
 * too many vertices or triangles. Thread-safe. */
ABUT_API abut_status abut_mesh_join(abut_mesh *const *meshes, uint32_t count, abut_mesh **joined);

/* An output list of meshes, which the caller destroys. See ABUT_LIST. */
typedef struct abut_mesh_list {
    abut_mesh **list;
    uint64_t capacity;
    uint64_t count;
} abut_mesh_list;

/* Splits a mesh into its solids, such as an assembly in one STL file; there are at most as many as
 * triangles. Vertices at equal positions count as one. Triangles that share an edge belong to one
 * solid. At an edge with 3 to 64 faces, solids that touch along it stay separate. A closed shell
 * that faces inwards is the wall of a cavity and belongs to the smallest solid around it. Triangles
 * that have two corners at one position are dropped. Reports progress as stages "weld" and "split".
 * Thread-safe. */
ABUT_API abut_status abut_mesh_split(const abut_mesh *mesh, abut_mesh_list *solids);

#ifdef __cplusplus
}
#endif

#endif
