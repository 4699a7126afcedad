/* Types and functions that the files of the mesh module share, and that other modules use. */
#ifndef ABUTI_MESH_H
#define ABUTI_MESH_H

#include "base/base.h"
#include "base/math_shared.h"
#include "base/sort.h"
#include "geom/pose.h"

#include <abut/mesh.h>

#include <stdatomic.h>
#include <string.h>

struct abut_mesh {
    abut_context *context; /* referenced */
    atomic_uint reference_count;
    uint32_t vertex_count, triangle_count;
    vec3 origin;
    vec3 *positions;   /* relative to the origin */
    uint32_t *indices; /* 3 per triangle */
    box3 bounds;       /* absolute, of vertices in triangles */
    vec3 up;           /* zero = unknown */
    double *uv;        /* 6 per triangle; null = none were read */
};

struct abut_topology {
    abut_mesh *mesh; /* referenced */
    abut_topology_arrays view;
    uint32_t *arrays[12]; /* the memory that the view points into */
};

/* Creates a mesh from arrays of abuti_allocate(context): positions in absolute coordinates, 3
 * indices per triangle. Takes ownership of both arrays, also on failure. `name` begins error
 * messages (a file, or the public function). Validates everything that abut_mesh_create()
 * documents. */
ABUTI_API abut_status abuti_mesh_adopt(abut_context *context, const char *name, vec3 *positions,
                                       size_t vertex_count, uint32_t *indices,
                                       size_t triangle_count, abut_mesh **mesh);
/* The same for a mesh that is derived from valid ones, such as a part or a copy: it may be smaller
 * than ABUT_MESH_SIZE_MIN, and no warning is logged. */
abut_status abuti_mesh_derive(abut_context *context, const char *name, vec3 *positions,
                              size_t vertex_count, uint32_t *indices, size_t triangle_count,
                              abut_mesh **mesh);
/* Fails if the longest side of the bounding box is below ABUT_MESH_SIZE_MIN and not 0. */
abut_status abuti_mesh_check_size(const char *name, box3 box);

static inline vec3 abuti_mesh_position(const abut_mesh *mesh, uint32_t vertex) {
    return v3_add(mesh->origin, mesh->positions[vertex]);
}

/* ---- topology ---- */

/* A collapsed triangle has a vertex twice: it is a segment or a point, and no face of any edge. */
static inline bool abuti_is_collapsed(const uint32_t *corner) {
    return corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0];
}

/* Sets *faces to the faces of an edge and returns their number. */
static inline uint32_t abuti_edge_faces(const abut_topology_arrays *view, uint32_t edge,
                                        const uint32_t **faces) {
    *faces = view->edge_faces + view->edge_face_begin[edge];
    return view->edge_face_begin[edge + 1] - view->edge_face_begin[edge];
}

/* The side of `face` that is `edge`: 0, 1 or 2. The face must have this edge. */
static inline uint32_t abuti_side_of(const abut_topology_arrays *view, uint32_t face,
                                     uint32_t edge) {
    const uint32_t *side = view->triangle_edges + 3 * (size_t)face;
    return side[0] == edge ? 0 : side[1] == edge ? 1 : 2;
}

/* Whether the direction of `edge` in `face` is from its lower to its higher vertex. */
static inline bool abuti_runs_up(const abut_topology_arrays *view, const uint32_t *indices,
                                 uint32_t face, uint32_t edge) {
    const uint32_t *corner = indices + 3 * (size_t)face;
    uint32_t low = view->edges[2 * (size_t)edge], high = view->edges[2 * (size_t)edge + 1];
    return corner[corner[0] == low ? 1 : corner[1] == low ? 2 : 0] == high;
}

/* Creates a topology with only the edges of triangles and the faces of edges and vertices. All
 * other fields, from the ends of edges to loops, are null or 0. Needs 44 bytes per triangle instead
 * of 72. */
abut_status abuti_topology_faces(abut_mesh *mesh, abut_topology **topology);

/* ---- topology_loops.c ---- */

/* Loops of directed edges, none of which has a vertex twice, and chains: loops with `begin` and the
 * total as in abut_topology_arrays. */
typedef struct abuti_loops {
    uint32_t loop_count, chain_count;
    uint32_t *loop_begin, *loop_vertices, *chain_begin, *chain_vertices;
} abuti_loops;

/* Splits edges (from, to) into loops and chains. Chains end at vertices with an odd number of
 * edges. */
abut_status abuti_find_loops(abut_context *context, const uint32_t (*edges)[2], uint32_t count,
                             uint32_t vertex_count, abuti_loops *loops);
void abuti_loops_release(abut_context *context, abuti_loops *loops);
/* Finds the boundary loops and chains of a topology whose edges are complete. Fills the loop and
 * chain fields of its view and arrays[8] to arrays[11]. */
abut_status abuti_topology_loops(abut_topology *topology);

/* ---- health ---- */

/* The unit normal of a triangle; zero if and only if it is degenerate. */
vec3 abuti_unit_normal(vec3 a, vec3 b, vec3 c);
/* The angle at `at` between the directions to `p` and `q`, from 0 to pi. */
real abuti_corner_angle(vec3 at, vec3 p, vec3 q);
/* Whether the corners are collinear; exact. */
bool abuti_is_degenerate(vec3 a, vec3 b, vec3 c);

/* Maps a mesh to unit size around zero: (position - centre) * factor. The factor is a power of two,
 * chosen so that sums of products neither overflow nor underflow. */
typedef struct abuti_unit_frame {
    vec3 centre; /* relative to the mesh's origin */
    double factor;
    int exponent; /* of 1 / factor */
} abuti_unit_frame;
abuti_unit_frame abuti_unit_frame_of(const abut_mesh *mesh);
static inline vec3 abuti_unit_position(const abuti_unit_frame *frame, vec3 position) {
    return v3_scale(v3_sub(position, frame->centre), frame->factor);
}

/* Mass properties of a surface and of the solid that it bounds. */
typedef struct abuti_mass {
    double area, volume; /* absolute scale */
    bool has_volume;     /* larger than the rounding error */
    bool solid;          /* whether centroid and inertia are those of the solid */
    vec3 centroid;
    double inertia[6];
} abuti_mass;
/* `want_solid`: compute centroid and inertia of the solid if there is a volume. */
abut_status abuti_mesh_mass(const abut_mesh *mesh, bool want_solid, abuti_mass *mass);

/* Sets inside[c] if component c is inside an odd number of others. Only components with
 * `watertight` set (every edge has an even number of faces) take part; the others get false. */
abut_status abuti_component_nesting(const abut_topology *topology, const unsigned char *watertight,
                                    unsigned char *inside);

/* Sets watertight[c] if all edges of component c have an even number of faces. */
void abuti_find_watertight_components(const abut_topology_arrays *view, unsigned char *watertight);

/* Marks every edge whose faces do not have both directions in equal numbers, every triangle that
 * has the same three vertices as an earlier one (`duplicate` is zeroed before), and for every
 * vertex the number of fans that its faces form: 0, 1, or 2 for more. */
abut_status abuti_mark_problems(const abut_topology *topology, unsigned char *flawed,
                                unsigned char *duplicate, unsigned char *fans);

/* ---- boundary.c ---- */

/* Directed edges that occur in triangles more often than their opposites, each as often as the
 * difference. */
typedef struct abuti_boundary {
    abut_context *context; /* of the mesh */
    uint32_t count;
    bool flipped; /* the difference is 2 or more for some edge, as between neighbours that face
                     opposite ways */
    uint32_t (*edges)[2]; /* from, to; by lower vertex */
    bool *single;         /* whether an edge has only one face */
} abuti_boundary;

/* Finds the boundary edges. Vertices with equal `names` (null = their own) count as one. */
abut_status abuti_boundary_find(const abut_mesh *mesh, const uint32_t *names,
                                abuti_boundary *boundary);
void abuti_boundary_release(abuti_boundary *boundary);

/* ---- holes.c ---- */

/* Numbers the connected components of a mesh by their lowest vertices and returns their number.
 * Triangles that share a vertex are connected, and vertices with equal `names` (null = their own)
 * count as one. `component` gets the number of each vertex, or ABUT_NONE for a vertex that is
 * neither in a triangle nor the name of one that is. */
uint32_t abuti_vertex_components(const abut_mesh *mesh, const uint32_t *names, uint32_t *component);

/* For each component, the area of its holes divided by its own area, for lists of
 * abuti_boundary_find(): each boundary loop counts as a disc of its perimeter. Edges of several
 * faces, as between faces of opposite orientation or at a wall inside a body, bound no hole. The
 * result is 0 if there is no hole, and infinity if the component has no area. With a null
 * `component` the whole mesh is one. */
abut_status abuti_hole_fractions(const abut_mesh *mesh, const uint32_t (*border)[2],
                                 const bool *single, uint32_t count, const uint32_t *component,
                                 uint32_t component_count, double *fractions);

/* Reliability of a method for a mesh, for abut_nearest_reliability() and similar functions of other
 * modules. */
static inline abut_reliability abuti_guaranteed(const char *reason) {
    return (abut_reliability){ABUT_RELIABILITY_GUARANTEED, reason};
}
static inline abut_reliability abuti_limited(const char *reason) {
    return (abut_reliability){ABUT_RELIABILITY_LIMITED, reason};
}
static inline abut_reliability abuti_unreliable(const char *reason) {
    return (abut_reliability){ABUT_RELIABILITY_UNRELIABLE, reason};
}
/* Copies a report of the caller, who may have been compiled against a shorter struct. Returns false
 * if it is null or has a wrong size. */
bool abuti_report_read(abut_mesh_report *ours, const abut_mesh_report *theirs);
static inline uint32_t abuti_problems(const abut_mesh_report *report, abut_problem_kind kind) {
    return report->problems[kind].count;
}

/* ---- weld.c ---- */

/* Vertices by position: open addressing with linear probing. The seed prevents malicious files from
 * targeting one slot; results do not depend on it. */
typedef struct abuti_vertex_table {
    uint32_t *slots; /* vertices, or ABUT_NONE */
    size_t capacity; /* a power of two */
    uint64_t seed;
} abuti_vertex_table;

/* Replaces a table, which is zero at first, by one of a capacity for `room` vertices, with vertices
 * [0, count). The caller releases `slots`. */
abut_status abuti_vertex_table_resize(abut_context *context, abuti_vertex_table *table, size_t room,
                                      const vec3 *positions, uint32_t count);
/* The finaliser of splitmix64 (Steele, Lea & Flood 2014). */
static inline uint64_t abuti_mix_bits(uint64_t h) {
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}
/* The slot of a vertex at `p`, or an empty one if there is none. 0 and -0 are equal. */
static inline uint32_t *abuti_vertex_slot(const abuti_vertex_table *table, const vec3 *positions,
                                          vec3 p) {
    const vec3 plain = v3_add(p, v3(0, 0, 0)); /* -0 becomes 0 */
    uint64_t bits[3];
    memcpy(bits, &plain, sizeof bits);
    uint64_t hash = abuti_mix_bits(bits[0] ^ table->seed);
    hash = abuti_mix_bits(hash ^ bits[1]) + table->seed;
    for (size_t slot = abuti_mix_bits(hash ^ bits[2]);; slot++) {
        uint32_t *found = &table->slots[slot & (table->capacity - 1)];
        if (*found == ABUT_NONE)
            return found;
        const vec3 q = positions[*found];
        if (p.x == q.x && p.y == q.y && p.z == q.z)
            return found;
    }
}

/* For every vertex the lowest one with an equal position (0 and -0 are equal). */
abut_status abuti_coincident_vertices(abut_context *context, const vec3 *positions, uint32_t count,
                                      uint32_t *lowest);

#endif
