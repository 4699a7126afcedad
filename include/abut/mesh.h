/* Triangle meshes: creation, files, topology, health, normals, and repairs.
 *
 * A mesh is immutable once created and shared by reference count, so any number of threads may
 * read it. Positions are doubles relative to the mesh's own origin. The origin is chosen so that
 * the subtraction is exact (see docs/mesh.md): origin + position equals what came in.
 */
#ifndef ABUT_MESH_H
#define ABUT_MESH_H

#include <abut/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_mesh abut_mesh;

/* ---- from arrays ---- */

/* What numbers in the caller's arrays are. Nothing is assumed: arrays without a type are refused.
 */
typedef enum abut_scalar_type {
    ABUT_SCALAR_NONE = 0, /* not said */
    ABUT_SCALAR_FLOAT64,
    ABUT_SCALAR_FLOAT32
} abut_scalar_type;

typedef enum abut_index_type { ABUT_INDEX_UINT32 = 0, ABUT_INDEX_UINT16 } abut_index_type;

/* "none", "float64", "float32"; "uint32", "uint16". */
ABUT_API const char *abut_scalar_type_name(abut_scalar_type type);
ABUT_API const char *abut_index_type_name(abut_index_type type);

typedef struct abut_mesh_input {
    size_t size;
    const void *positions;          /* three scalars a vertex; any alignment */
    abut_scalar_type position_type; /* must be said */
    size_t position_stride;         /* bytes from vertex to vertex; 0 = packed */
    uint32_t vertex_count;
    const void *indices; /* three indices a triangle; null = vertices 3i, 3i+1, 3i+2 */
    abut_index_type index_type;
    size_t index_stride;     /* bytes from triangle to triangle; 0 = packed */
    uint32_t triangle_count; /* at least 1; with null indices 0 = vertex_count / 3 */
} abut_mesh_input;

ABUT_DEFAULT(abut_mesh_input)

/* Packed positions of doubles (also an array of abut_vec3) or floats, and packed indices of 32 bits
 * or null. */
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

/* Creates a mesh from the caller's arrays, which are copied and never read past their last
 * element. Refused: no type of number, no triangles, an index out of range, a coordinate that is
 * not finite or beyond ABUT_COORDINATE_MAX, a bounding box of the triangles whose longest side is
 * below ABUT_MESH_SIZE_MIN and not 0. Degenerate and duplicate triangles and unused vertices are
 * legal. Logs a warning if coordinates below 1e-91 that are not 0 may make exact tests inexact.
 * Thread-safe. */
ABUT_API abut_status abut_mesh_create(abut_context *context, const abut_mesh_input *input,
                                      abut_mesh **mesh);

/* Makes the convex hull of points: closed, outward, with some of the points as its vertices, in
 * their order. Exact signs decide, so that points in one plane, on one line or in one place do no
 * harm; points of a plane that several triangles share may be vertices within it. Coordinates below
 * 1e-180 of the largest one count as 0. Refused: points that are all in one plane, and those that
 * abut_mesh_create() refuses. Reports progress as stage "hull". Thread-safe. */
ABUT_API abut_status abut_mesh_create_hull(abut_context *context, const abut_vec3 *points,
                                           size_t count, abut_mesh **hull);

/* Adds a hold on a mesh and returns it. Thread-safe. */
ABUT_API abut_mesh *abut_mesh_retain(abut_mesh *mesh);

/* Gives up a hold; the last one frees the mesh. Null is allowed. Thread-safe. */
ABUT_API void abut_mesh_destroy(abut_mesh *mesh);

/* Accessors. Null gives zero, or null. Pointers live as long as the mesh. Thread-safe. */
ABUT_API uint32_t abut_mesh_vertex_count(const abut_mesh *mesh);
ABUT_API uint32_t abut_mesh_triangle_count(const abut_mesh *mesh);
/* Where the positions are relative to. */
ABUT_API abut_vec3 abut_mesh_local_origin(const abut_mesh *mesh);
/* vertex_count positions relative to the origin. Functions that read positions want absolute ones:
 * see abut_mesh_get_positions(). */
ABUT_API const abut_vec3 *abut_mesh_local_positions(const abut_mesh *mesh);
/* 3 x triangle_count vertex indices. */
ABUT_API const uint32_t *abut_mesh_indices(const abut_mesh *mesh);
/* The box of all vertices that some triangle uses, in absolute coordinates. */
ABUT_API abut_box abut_mesh_bounds(const abut_mesh *mesh);
/* Which way is up, of length 1, where the format of the file tells: +y for glTF. All zero where it
 * does not. Kept by weld and orient, turned by transform, kept by join where all agree. */
ABUT_API abut_vec3 abut_mesh_up(const abut_mesh *mesh);

/* Copies the absolute positions of all vertices, abut_mesh_vertex_count() of them: what
 * abut_mesh_create(), abut_sweep_set_positions(), abut_world_set_positions(),
 * abut_radial_set_positions() and abut_frames_writer_add() read. `positions` may be null for a mesh
 * without vertices. Returns ABUT_ERROR_ARGUMENT for null. Thread-safe. */
ABUT_API abut_status abut_mesh_get_positions(const abut_mesh *mesh, abut_vec3 *positions);

/* ---- files ---- */

typedef enum abut_mesh_format {
    ABUT_MESH_FORMAT_AUTO = 0, /* by the file's ending, else by its first bytes */
    ABUT_MESH_FORMAT_OBJ,
    ABUT_MESH_FORMAT_PLY,
    ABUT_MESH_FORMAT_STL,
    ABUT_MESH_FORMAT_OFF,
    ABUT_MESH_FORMAT_GLTF, /* glTF 2.0 and GLB */
    ABUT_MESH_FORMAT_OTHER /* through Assimp (FBX, Collada, ...), reading only, never by AUTO */
} abut_mesh_format;

/* "obj": also the ending of such files, but for "auto" and "other"; GLB is "gltf" too. */
ABUT_API const char *abut_mesh_format_name(abut_mesh_format format);

typedef enum abut_triangulation {
    ABUT_TRIANGULATION_AUTO = 0, /* convex polygons as a fan, others by ear clipping */
    ABUT_TRIANGULATION_FAN       /* always a fan from the first corner */
} abut_triangulation;

ABUT_API const char *abut_triangulation_name(abut_triangulation triangulation);

typedef struct abut_mesh_read_options {
    size_t size;
    abut_mesh_format format;
    abut_triangulation triangulation;
} abut_mesh_read_options;

ABUT_DEFAULT(abut_mesh_read_options)

/* Reads a mesh. STL has no shared vertices, so there corners with equal coordinates become one
 * vertex. The error sentence names the file and the line, element or byte. Thread-safe. */
ABUT_API abut_status abut_mesh_read(abut_context *context, const char *path,
                                    const abut_mesh_read_options *options, abut_mesh **mesh);

/* The same from memory. `name` stands in for the path in messages and for its ending; it may be
 * null. Thread-safe. */
ABUT_API abut_status abut_mesh_read_memory(abut_context *context, const void *data, size_t bytes,
                                           const char *name, const abut_mesh_read_options *options,
                                           abut_mesh **mesh);

typedef struct abut_mesh_write_options {
    size_t size;
    abut_mesh_format format; /* any but OTHER */
    bool ascii;              /* PLY, STL and glTF: text instead of little-endian binary. A name that
                              * ends with .gltf asks for it too */
} abut_mesh_write_options;

ABUT_DEFAULT(abut_mesh_write_options)

/* Writes a mesh, all or nothing: an old file of that name stays until the new one is complete on
 * disk. OBJ, OFF and PLY keep every bit of the positions; STL holds floats, and glTF floats
 * relative to abut_mesh_local_origin(). glTF is y up; nothing is turned for that. Thread-safe. */
ABUT_API abut_status abut_mesh_write(const abut_mesh *mesh, const char *path,
                                     const abut_mesh_write_options *options);

/* ---- topology ---- */

typedef struct abut_topology abut_topology;

/* What an abut_topology holds. "Begin" arrays have one entry more than elements: the members of
 * element i are [begin[i], begin[i+1]). Pointers live as long as the topology. */
typedef struct abut_topology_arrays {
    size_t size; /* sizeof(abut_topology_arrays), set by the default function */
    uint32_t vertex_count, triangle_count, edge_count;
    const uint32_t *edges;           /* 2 an edge: lower, higher vertex; sorted by higher, then
                                      * lower. A triangle that names a vertex twice makes an edge
                                      * (v, w) only where v and w differ */
    const uint32_t *triangle_edges;  /* 3 a triangle: edge between corners k and k+1 mod 3;
                                      * ABUT_NONE where the corners are the same vertex */
    const uint32_t *edge_face_begin; /* faces of an edge, in ascending order. A triangle that names
                                      * a vertex twice has no area and is no face of its edges, so
                                      * an edge may have none */
    const uint32_t *edge_faces;
    const uint32_t *vertex_face_begin; /* faces of a vertex, ascending, each once */
    const uint32_t *vertex_faces;
    const uint32_t *neighbours;         /* 3 a triangle: the one other face across edge k, or
                                         * ABUT_NONE at a boundary or a non-manifold edge */
    uint32_t component_count;           /* connected through shared edges */
    const uint32_t *triangle_component; /* numbered by their lowest triangle */
    uint32_t loop_count;                /* boundary loops: closed, no vertex twice in one */
    const uint32_t *loop_begin;
    const uint32_t *loop_vertices; /* along the boundary, the way its faces run */
    uint32_t chain_count;          /* boundary that ends at non-manifold edges instead of closing;
                                    * a chain has one edge fewer than vertices */
    const uint32_t *chain_begin;
    const uint32_t *chain_vertices;
} abut_topology_arrays;

ABUT_DEFAULT(abut_topology_arrays)

/* Finds edges, neighbours, components and boundary loops in O(n log n). The topology keeps its
 * mesh. Thread-safe. */
ABUT_API abut_status abut_topology_create(abut_mesh *mesh, abut_topology **topology);
/* Null is allowed. Thread-safe when no one else uses the topology. */
ABUT_API void abut_topology_destroy(abut_topology *topology);
/* Gets the arrays of a topology. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_topology_get_arrays(const abut_topology *topology,
                                              abut_topology_arrays *arrays);

/* ---- normals ---- */

typedef struct abut_normals abut_normals;

/* Unit face normals and angle-weighted pseudo-normals of edges and vertices (Baerentzen & Aanaes
 * 2005): on a closed, consistently oriented manifold the sign of (point - closest) . normal of the
 * closest feature tells inside from outside. Degenerate faces have a zero normal and add nothing;
 * sums that cancel are zero. */
typedef struct abut_normals_arrays {
    size_t size;               /* sizeof(abut_normals_arrays), set by the default function */
    const abut_vec3 *faces;    /* triangle_count */
    const abut_vec3 *edges;    /* edge_count, numbered as in the topology */
    const abut_vec3 *vertices; /* vertex_count */
} abut_normals_arrays;

ABUT_DEFAULT(abut_normals_arrays)

/* Computes all normals. Thread-safe. */
ABUT_API abut_status abut_normals_create(const abut_topology *topology, abut_normals **normals);
/* Null is allowed. Thread-safe when no one else uses the normals. */
ABUT_API void abut_normals_destroy(abut_normals *normals);
/* Gets the arrays of normals. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_normals_get_arrays(const abut_normals *normals,
                                             abut_normals_arrays *arrays);

/* ---- health ---- */

typedef enum abut_problem_kind {
    ABUT_PROBLEM_DEGENERATE_TRIANGLE = 0, /* exactly zero area; elements are triangles */
    ABUT_PROBLEM_DUPLICATE_TRIANGLE,      /* same three vertices as an earlier one; triangles */
    ABUT_PROBLEM_BOUNDARY_EDGE,           /* one face; edges */
    ABUT_PROBLEM_NONMANIFOLD_EDGE,        /* three faces or more; edges */
    ABUT_PROBLEM_NONMANIFOLD_VERTEX,      /* its faces form more than one fan; vertices */
    ABUT_PROBLEM_FLIPPED_EDGE,            /* two faces that run along it the same way; edges */
    ABUT_PROBLEM_INWARD_COMPONENT,        /* closed and wound inwards without being the wall of a
                                           * cavity, that is, inside an odd number of other closed
                                           * components; its lowest triangle */
    ABUT_PROBLEM_COINCIDENT_VERTEX,       /* same position as an earlier vertex; vertices */
    ABUT_PROBLEM_UNUSED_VERTEX,           /* in no triangle; vertices */
    ABUT_PROBLEM_SELF_INTERSECTION,       /* meets another although it need not; triangles. Looked
                                           * for by abut_pair_examine alone */
    ABUT_PROBLEM_COUNT
} abut_problem_kind;

#define ABUT_PROBLEM_FIRST_COUNT 8

typedef struct abut_problem {
    uint32_t count;
    uint32_t first[ABUT_PROBLEM_FIRST_COUNT]; /* the lowest offenders, ascending */
} abut_problem;

typedef enum abut_reliability_level {
    ABUT_RELIABILITY_GUARANTEED = 0, /* the method keeps its promise on this mesh */
    ABUT_RELIABILITY_LIMITED,        /* it answers; the reason says what the answer then means */
    ABUT_RELIABILITY_UNRELIABLE      /* it would answer wrongly without a sign of it */
} abut_reliability_level;

/* What a method promises on a mesh. Each says so itself, from the report below:
 * abut_nearest_reliability(), abut_sign_reliability(), abut_pair_reliability(),
 * abut_self_reliability(). */
typedef struct abut_reliability {
    abut_reliability_level level;
    const char *reason; /* one static sentence */
} abut_reliability;

/* A connected part of a surface whose holes exceed this share of its own area is a *sheet*: a
 * scanned room, a garment, a terrain. A sheet has no inside: queries whether bodies touch or
 * contain each other never report anything as inside it. A closed chair in the file of an open room
 * has an inside all the same. Parts are connected by vertices that they share or that have equal
 * coordinates. Scans of solids have holes of up to 0.05, garments of 0.2 and more. Signs of points
 * (<abut/sign.h>) and fields have winding numbers on sheets too. */
#define ABUT_SHEET_HOLE_FRACTION 0.1

typedef struct abut_mesh_report {
    uint32_t vertex_count, triangle_count, edge_count;
    uint32_t component_count, loop_count;
    int64_t euler_number; /* used vertices - edges + triangles */
    bool is_closed;       /* every edge has exactly two faces */
    bool is_manifold;     /* no non-manifold edge or vertex */
    bool is_oriented;     /* no flipped edge */
    bool is_balanced;     /* no boundary edge, and no non-manifold edge that more faces run along
                           * one way than the other */
    bool has_boundary;    /* some edge is run along more often one way than the other, vertices of
                           * equal coordinates counted as one: what winding numbers go by */
    bool
        has_opposite_boundary; /* the same by two or more, as where neighbours face opposite ways */
    bool has_volume;           /* some closed part has a volume */
    bool has_flat_component;   /* some closed part has none */
    bool has_nested_component; /* a part lies inside another, and both face outwards */
    bool has_isolated_edges;   /* of triangles that name a vertex twice, away from the surface */
    abut_box bounds;
    double area;
    double volume;      /* signed, by the divergence theorem; meaningful when closed and oriented */
    abut_vec3 centroid; /* of the solid when closed, oriented and of volume, else of the surface;
                         * the middle of the box where there is no area either */
    double inertia[6];  /* xx yy zz xy yz zx about the centroid, density 1: of the solid or of the
                         * surface, as the centroid. Off-diagonals are the tensor's entries, so
                         * with their minus sign */
    bool is_solid;      /* whether centroid and inertia are those of the solid */
    abut_problem problems[ABUT_PROBLEM_COUNT];
    bool has_self_intersection_test;  /* whether abut_pair_examine has looked for self-intersections
                                       */
    uint64_t self_intersection_count; /* pairs of triangles that meet, if so */
    double hole_fraction; /* area of the holes over `area`: each boundary loop counts as a disc of
                           * its perimeter, vertices of equal coordinates count as one */
    bool has_sheets;      /* a connected part is a sheet: see ABUT_SHEET_HOLE_FRACTION */
    bool is_sheet;        /* every connected part is, so nothing is inside the surface */
} abut_mesh_report;

/* Examines a mesh. Not for self-intersections, which take a hierarchy: see abut_pair_examine.
 * Thread-safe. */
ABUT_API abut_status abut_mesh_examine(const abut_topology *topology, abut_mesh_report *report);

/* All offenders of one kind, of which a report has only the first: triangles, edges or vertices as
 * the kind says, ascending. `count` gets their number; where that is above `capacity`, fails with
 * ABUT_ERROR_BUFFER and writes none. `elements` may be null with a capacity of 0. Not for
 * self-intersections: see abut_pair_self_intersections. Thread-safe. */
ABUT_API abut_status abut_mesh_get_problem_elements(const abut_topology *topology,
                                                    abut_problem_kind kind, uint32_t capacity,
                                                    uint32_t *elements, uint32_t *count);

/* "boundary-edge" and so on. */
ABUT_API const char *abut_problem_kind_name(abut_problem_kind kind);
ABUT_API const char *abut_reliability_level_name(abut_reliability_level level);

/* ---- repairs: each gives a new mesh ---- */

/* Merges vertices closer than `tolerance` (0 = equal coordinates only) into the one of lowest
 * index, then drops triangles that name a vertex twice and vertices that no triangle uses. Clusters
 * are transitive. Fails with ABUT_ERROR_ARGUMENT if no triangle would be left. Thread-safe. */
ABUT_API abut_status abut_mesh_weld(const abut_mesh *mesh, double tolerance, abut_mesh **welded);

/* Turns triangles so that neighbours across manifold edges agree, and closed components so that
 * they bound a solid: outwards (positive volume), or inwards where they lie inside an odd number of
 * other closed components, as the wall of a cavity does. Open components follow the majority of
 * their area. A Moebius strip keeps its seam; `flipped_count` (may be null) tells how many
 * triangles turned. Their order and first corners stay. Thread-safe. */
ABUT_API abut_status abut_mesh_orient(const abut_topology *topology, abut_mesh **oriented,
                                      uint32_t *flipped_count);

/* Scales about the absolute origin by `scale` (finite, not 0; negative mirrors and turns the
 * triangles), then applies the pose. Thread-safe. */
ABUT_API abut_status abut_mesh_transform(const abut_mesh *mesh, double scale, abut_pose pose,
                                         abut_mesh **moved);

/* Joins several meshes into one, in order; vertices are not merged. Thread-safe. */
ABUT_API abut_status abut_mesh_join(abut_mesh *const *meshes, uint32_t count, abut_mesh **joined);

#ifdef __cplusplus
}
#endif

#endif
