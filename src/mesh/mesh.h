/* What the mesh module's files share. */
#ifndef ABUTI_MESH_H
#define ABUTI_MESH_H

#include "base/base.h"
#include "base/math_shared.h"
#include "base/sort.h"
#include "geom/pose.h"

#include <abut/mesh.h>

#include <stdatomic.h>

struct abut_mesh {
    abut_context *context; /* held */
    atomic_uint holds;
    uint32_t vertex_count, triangle_count;
    vec3 origin;
    vec3 *positions;   /* relative to the origin */
    uint32_t *indices; /* 3 a triangle */
    box3 bounds;       /* absolute, of used vertices */
    vec3 up;           /* zero = unknown */
};

struct abut_topology {
    abut_mesh *mesh; /* held */
    abut_topology_arrays view;
    uint32_t *arrays[12]; /* what the view points into, to be released */
};

/* Makes a mesh of arrays that came from abuti_allocate(context): positions in absolute coordinates,
 * 3 indices a triangle. Takes both arrays over, also on failure. `name` stands first in error
 * sentences (a file, or the public function). Checks everything abut_mesh_create promises. */
abut_status abuti_mesh_adopt(abut_context *context, const char *name, vec3 *positions,
                             size_t vertex_count, uint32_t *indices, size_t triangle_count,
                             abut_mesh **mesh);
/* The same for a mesh that is derived from legal ones, such as a part or a copy: it may be smaller
 * than ABUT_MESH_SIZE_MIN, and no warning is logged. */
abut_status abuti_mesh_derive(abut_context *context, const char *name, vec3 *positions,
                              size_t vertex_count, uint32_t *indices, size_t triangle_count,
                              abut_mesh **mesh);
/* Refuses the bounding box of a mesh whose longest side is below ABUT_MESH_SIZE_MIN and not 0. */
abut_status abuti_mesh_check_size(const char *name, box3 box);

static inline vec3 abuti_mesh_position(const abut_mesh *mesh, uint32_t vertex) {
    return v3_add(mesh->origin, mesh->positions[vertex]);
}

/* ---- topology ---- */

/* A triangle that names a vertex twice is only a segment or a point: no face of any edge. */
static inline bool abuti_is_collapsed(const uint32_t *corner) {
    return corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0];
}

/* The faces of an edge, and how many. */
static inline uint32_t abuti_edge_faces(const abut_topology_arrays *view, uint32_t edge,
                                        const uint32_t **faces) {
    *faces = view->edge_faces + view->edge_face_begin[edge];
    return view->edge_face_begin[edge + 1] - view->edge_face_begin[edge];
}

/* Which side of `face` is `edge`: 0, 1 or 2. The face must have it. */
static inline uint32_t abuti_side_of(const abut_topology_arrays *view, uint32_t face,
                                     uint32_t edge) {
    const uint32_t *side = view->triangle_edges + 3 * (size_t)face;
    return side[0] == edge ? 0 : side[1] == edge ? 1 : 2;
}

/* Whether `face` runs along `edge` from its lower to its higher vertex. */
static inline bool abuti_runs_up(const abut_topology_arrays *view, const uint32_t *indices,
                                 uint32_t face, uint32_t edge) {
    const uint32_t *corner = indices + 3 * (size_t)face;
    uint32_t low = view->edges[2 * (size_t)edge], high = view->edges[2 * (size_t)edge + 1];
    return corner[corner[0] == low ? 1 : corner[1] == low ? 2 : 0] == high;
}

/* A topology of edges of triangles and of faces of edges and vertices alone: all else, from the
 * ends of edges to loops, is null or 0. Takes 44 bytes a triangle instead of 72. */
abut_status abuti_topology_faces(abut_mesh *mesh, abut_topology **topology);

/* Finds the boundary loops and chains of a topology whose edges stand; fills the loop and chain
 * fields of its view and arrays[8] to arrays[11]. */
abut_status abuti_topology_loops(abut_topology *topology);

/* ---- health ---- */

/* The unit normal of a triangle; zero exactly where it is degenerate. */
vec3 abuti_unit_normal(vec3 a, vec3 b, vec3 c);
/* The angle at `at` between the directions to `p` and `q`, from 0 to pi. */
real abuti_corner_angle(vec3 at, vec3 p, vec3 q);
/* Whether the corners lie on one line; exact. */
bool abuti_is_degenerate(vec3 a, vec3 b, vec3 c);

/* Moves a mesh to unit size about zero: (position - centre) x factor, factor a power of two, so
 * that sums of products neither overflow nor underflow. */
typedef struct abuti_unit_frame {
    vec3 centre; /* relative to the mesh's origin */
    double factor;
    int exponent; /* of 1 / factor */
} abuti_unit_frame;
abuti_unit_frame abuti_unit_frame_of(const abut_mesh *mesh);
static inline vec3 abuti_unit_position(const abuti_unit_frame *frame, vec3 position) {
    return v3_scale(v3_sub(position, frame->centre), frame->factor);
}

/* What a surface and the solid inside it weigh. */
typedef struct abuti_mass {
    double area, volume; /* absolute scale */
    bool has_volume;     /* more than rounding */
    bool solid;          /* whether the rest is of the solid */
    vec3 centroid;
    double inertia[6];
} abuti_mass;
/* `want_solid`: give the solid's centroid and inertia if there is volume. */
abut_status abuti_mesh_mass(const abut_mesh *mesh, bool want_solid, abuti_mass *mass);

/* Tells for every component whether it lies inside an odd number of others. Only those with
 * `watertight` set (every edge has an even number of faces) take part; the rest get false. */
abut_status abuti_component_nesting(const abut_topology *topology, const unsigned char *watertight,
                                    unsigned char *inside);

/* Sets watertight for every component whose edges all have an even number of faces. */
void abuti_component_seams(const abut_topology_arrays *view, unsigned char *watertight);

/* Marks every edge whose faces do not run both ways in equal numbers, every triangle that has the
 * same three vertices as an earlier one (`duplicate` zeroed before), and for every vertex how many
 * fans its faces form: 0, 1, or 2 for more. */
abut_status abuti_mark(const abut_topology *topology, unsigned char *flawed,
                       unsigned char *duplicate, unsigned char *fans);

/* ---- border.c ---- */

/* The directed edges by which triangles run more often than the other way, as often as that. */
typedef struct abuti_border {
    uint32_t count;
    bool flipped; /* some edge is run along twice more often one way, as where neighbours face
                   * opposite ways */
    const abut_mesh *mesh;
    uint64_t *sides, *buffer; /* as many again to sort with */
    size_t *begin;            /* of the sides of a vertex, which is the lower one of each */
    unsigned shift;           /* that makes ranges of vertices */
    struct border_part *parts;
} abuti_border;

/* Memory to find it. What was begun without failure must be ended. */
abut_status abuti_border_begin(const abut_mesh *mesh, abuti_border *border);
/* Finds it, by any number of tries; vertices of one name (null = their own) count as one. */
void abuti_border_find(abuti_border *border, const uint32_t *names);
/* Lists it, by lower vertices: from, to; and, unless null, which edges have one face alone. */
void abuti_border_list(const abuti_border *border, uint32_t (*edges)[2], bool *single);
void abuti_border_end(abuti_border *border);

/* ---- holes.c ---- */

/* Numbers the connected parts of a mesh by their lowest vertices, and returns how many there are;
 * vertices of one name (null = their own) count as one. `part` gets that of each vertex, ABUT_NONE
 * for one that is neither in a triangle nor the name of one that is. */
uint32_t abuti_mesh_parts(const abut_mesh *mesh, const uint32_t *names, uint32_t *part);

/* For each part the area of its holes over its own area, for lists of abuti_border_list(): each
 * boundary loop counts as a disc of its perimeter. Edges of several faces, as between faces that
 * are wound against each other or at a wall inside a body, bound no hole. 0 if there is none,
 * infinity if the part has no area. With a null `part`, that of each vertex, all is one part. */
abut_status abuti_hole_shares(const abut_mesh *mesh, const uint32_t (*border)[2],
                              const bool *single, uint32_t count, const uint32_t *part,
                              uint32_t part_count, double *shares);

/* What a method says of a mesh, for abut_nearest_reliability() and its companions on floors above.
 */
static inline abut_reliability abuti_guaranteed(const char *reason) {
    return (abut_reliability){ABUT_RELIABILITY_GUARANTEED, reason};
}
static inline abut_reliability abuti_limited(const char *reason) {
    return (abut_reliability){ABUT_RELIABILITY_LIMITED, reason};
}
static inline abut_reliability abuti_unfit(const char *reason) {
    return (abut_reliability){ABUT_RELIABILITY_UNRELIABLE, reason};
}
static inline uint32_t abuti_problems(const abut_mesh_report *report, abut_problem_kind kind) {
    return report->problems[kind].count;
}

/* For every vertex the lowest one with an equal position (0 and -0 are equal). */
abut_status abuti_coincident_vertices(abut_context *context, const vec3 *positions, uint32_t count,
                                      uint32_t *lowest);

#endif
