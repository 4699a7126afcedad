/* Types that the files of exact patches share: two bodies in one frame, the contour of their
 * surfaces, and the parts of each surface inside the other body.
 *
 * Frame: coordinates of b's mesh, relative to its local origin. Only a has a transform.
 *
 * Skin: the surface of a body, offset outwards and roughened. Each vertex moves by the skin width
 * times an offset of its own (patch_skin.c), so all of its faces move by at least the skin width,
 * except at sharp vertices. Skin widths are 6 to 14 jitters, and a jitter is about 1e-9 of the
 * smaller body.
 * Then each coordinate changes by a pseudo-random number of at most a jitter. So bodies with flush
 * faces overlap by about 1e-8, and coincident faces have a contour. The symbolic shift of
 * pair/contour.c decides cases in which four vertices of both skins are still coplanar.
 *
 * Guarantee: the contour of the skins is exact. Depths are computed on the true faces. */
#ifndef ABUTI_CONTACT_PATCH_H
#define ABUTI_CONTACT_PATCH_H

#include "contact/contact.h"
#include "pair/contour.h"

/* Cosines between the normal of a patch and that of one of its points. Above the first one (a
 * quarter of a degree) they count as equal. Below the second one (60 degrees) the point belongs to
 * another wall. */
#define PATCH_FLAT_COSINE 0.99999
#define PATCH_WALL_COSINE 0.5

/* Fraction of the smaller body: areas of shorter contours are rounding errors. */
#define PATCH_MIN_CONTOUR 1e-5

/* ---- patch_skin.c: data that a BVH keeps for exact patches ---- */

/* A component of the mesh: triangles connected through shared edges. */
typedef struct patch_component {
    uint32_t face;   /* one of its triangles */
    uint32_t vertex; /* the vertex by which abuti_pair_contains() decides whether it is inside
                        another body */
    bool is_closed;
    bool is_cavity; /* closed, with a volume of at most 0 */
    double volume;  /* signed: negative for a cavity; meaningless if the component is open */
} patch_component;

typedef struct patch_skin {
    bvh_attachment attachment;
    const abut_bvh *bvh;
    abut_topology *topology; /* after merging vertices with equal coordinates */
    abut_topology_arrays view;
    const uint32_t *corner;        /* 3 for each triangle, after merging */
    vec3 *offset;                  /* abuti_patch_offset() of each vertex; null after a refit */
    double max_offset;             /* no offset is longer */
    double size;                   /* longest side of the bounding box */
    bool has_degenerate_triangles; /* some triangles have no area */
    bool is_reversed;              /* triangles are reversed here */
    patch_component *components;   /* numbered as in the topology */
    abut_reliability reliability;  /* of contacts with this mesh */
} patch_skin;

/* Returns the skin of a mesh. The first call computes it, and the BVH keeps it. `is_reversed`
 * reverses all triangles, for sheets. Thread-safe. */
abut_status abuti_patch_skin(const abut_bvh *bvh, bool is_reversed, const patch_skin **skin);

/* Returns the displacement of a vertex if all of its faces move outwards by 1. `skin` is a
 * patch_skin. */
vec3 abuti_patch_offset(const void *skin, uint32_t vertex);

/* Returns the reliability of a result: the lower level of both meshes, or guaranteed if `is_exact`,
 * if neither boundary edges nor flipped neighbours can affect the result. `b` may be null. */
abut_reliability abuti_patch_reliability(const patch_skin *a, const patch_skin *b, bool is_exact);

/* ---- patch_contour.c: contour of two skins, and the surfaces inside the other body ---- */

typedef struct patch_body {
    const abut_bvh *bvh;
    const patch_skin *skin;
    abut_pose pose;       /* in the frame of the pair, for mesh coordinates with the local origin */
    contour_body surface; /* the skin in the frame: rotated for a, not for b */
} patch_body;

/* Returns the frame coordinates of a point or vertex. */
static inline vec3 patch_to_frame(const patch_body *body, vec3 p) {
    return body->surface.is_rotated
               ? v3_add(m3_apply(&body->surface.rotation, p), body->surface.shift)
               : p;
}
static inline vec3 patch_position(const patch_body *body, uint32_t vertex) {
    return patch_to_frame(body, body->bvh->mesh->positions[vertex]);
}
/* Returns the position of a vertex of the skin, in the frame. */
static inline vec3 patch_skin_position(const patch_body *body, uint32_t vertex) {
    return contour_position(&body->surface, vertex);
}
/* The intersection of an edge of one body with a triangle of the other. */
typedef struct patch_crossing {
    uint32_t edge, face;
    uint32_t side; /* of the edge: 0 = a, 1 = b */
    bool enters;   /* the edge, from its lower to its higher vertex, enters the other body here */
    uint32_t next; /* next crossing of the edge in that direction, or ABUT_NONE */
    double t;      /* parameter along the edge in that direction, in [0, 1] */
    vec3 at;
} patch_crossing;

/* The intersection of two triangles. The inside of b is to its left on a's triangle. */
typedef struct patch_segment {
    uint32_t face[2];
    uint32_t from, to; /* indices of crossings */
} patch_segment;

/* A vertex inside the other body. */
typedef struct patch_vertex {
    uint32_t side, vertex;
    uint32_t flood; /* number of the flood fill that reached it */
    vec3 at;        /* position on the skin */
} patch_vertex;

/* A triangle completely inside the other body, without segments. */
typedef struct patch_inside_face {
    uint32_t side, face, flood;
} patch_inside_face;

/* Bit sets over the triangles, vertices and edges of a side. intersected: triangles with segments;
 * visited: triangles that have been processed; inside: vertices inside the other body; crossed:
 * edges with crossings. */
typedef struct patch_marks {
    uint32_t *intersected, *visited, *inside, *crossed;
    uint32_t *vertex_index;   /* of inside vertices, in `vertices`; uninitialised for others */
    uint32_t *first_crossing; /* of crossed edges, in `crossings`; uninitialised for others */
} patch_marks;

/* The part of a triangle that is inside the other body. */
typedef struct patch_facet {
    uint32_t side, face, region;
    vec3 area; /* area vector */
} patch_facet;

/* A hash table with open addressing. */
typedef struct patch_table {
    uint64_t *keys; /* 0 = empty */
    uint32_t *values;
    size_t count, capacity; /* capacity: 0 or a power of two */
} patch_table;

typedef struct patch_range {
    uint32_t begin, end;
} patch_range;

/* A connected region of the overlap of two bodies. */
typedef struct patch_region {
    vec3 origin; /* of the integrals: a point of the contour */
    vec3 area;   /* area vector S of a's surface inside b */
    double volume, length;
    vec3 centre;          /* of the contour */
    bool is_gap;          /* only the skins overlap here, the bodies do not */
    patch_range facets;   /* in `facets`, after sorting */
    patch_range points;   /* its crossings, in `region_crossings` */
    patch_range vertices; /* its inside vertices, in `region_vertices` */
} patch_region;

/* ---- patch_plane.c: projection of inside surfaces along a normal ---- */

/* A triangle: projection of its skin, and the true corners with their heights. */
typedef struct patch_projected_face {
    double edge[3][3]; /* edge functions x: (u, v) is inside if x[0] + x[1] u + x[2] v >= 0 for each
                          edge */
    double lo[2], hi[2];
    vec3 corner[3];   /* true corners: u, v and h */
    double h, du, dv; /* height of the true plane at (0, 0), and its slopes */
    double extreme;   /* height of the lowest corner of a, or of the highest corner of b */
    uint32_t side, face;
} patch_projected_face;

/* The triangles of a region that face along the normal, in a grid across the normal. */
typedef struct patch_projection {
    vec3 normal, tangent[2];
    bool has_both_bodies; /* contains all triangles of both bodies */
    double min_cosine;    /* steeper triangles are omitted */
    double wall_cosine;   /* the same for walls */
    double max_column;    /* positions with a larger depth are omitted */
    double max_b, min_a;  /* heights of b's highest and of a's lowest corner */
    double slack;         /* by which projections are enlarged */
    patch_projected_face *faces;
    size_t count, capacity;
    uint32_t cells_per_side; /* cell c has cell_faces[cell_begin[c]] to cell_faces[cell_begin[c + 1]
                                - 1] */
    double lo[2], scale[2];
    uint32_t *cell_begin, *cell_faces;
    double (*cell_extremes)[2]; /* of each cell: a's lowest and b's highest corner */
    size_t begin_capacity, cell_face_capacity, extreme_capacity;
} patch_projection;

/* An arena: memory that is released all at once. It starts with a buffer of its own, then allocates
 * blocks. It also keeps the first error of the query, of any function. After an error allocations
 * fail, functions of a query return early with incomplete results, and the query fails at its end.
 */
enum { PATCH_BYTES = 49152 };

typedef struct patch_memory {
    abut_context *context;
    abut_status status; /* the first error */
    unsigned char *at, *end;
    void **blocks; /* the last block; the first word of a block is the previous block */
    size_t block_bytes;
    _Alignas(64) unsigned char first[PATCH_BYTES];
} patch_memory;

typedef struct patch_work {
    patch_memory *memory;
    uint32_t max_points; /* of a patch */
    double max_gap;      /* of contacts of overlaps: rounding error of a touch */
    patch_body body[2];
    contour_search contour;
    /* This member and the following ones are cleared by abuti_patch_reset(). */
    patch_crossing *crossings;
    size_t crossing_count, crossing_capacity;
    patch_segment *segments;
    size_t segment_count, segment_capacity;
    patch_vertex *vertices;
    size_t vertex_count, vertex_capacity;
    patch_inside_face *inside_faces;
    size_t inside_face_count, inside_face_capacity;
    uint32_t flood_count;
    patch_marks marks[2];
    patch_facet *facets;
    size_t facet_count, facet_capacity;
    patch_region *regions;
    size_t region_count, region_capacity;
    patch_projection projection;
    uint32_t *parent; /* union-find forest of crossings, then of flood fills */
    size_t parent_capacity;
    uint32_t *region_crossings, *region_vertices; /* sorted by region */
    uint32_t *crossing_region;                    /* region of each crossing */
    patch_table facet_index;
    bool is_sheet_edge; /* only vertices beyond the contour are measured: sheets have no interior */
    const patch_region *walls_region; /* region whose walls were computed last, and */
    struct patch_answer *walls;       /* those walls */
    int wall_count;
    bool has_wide_walls; /* some of their triangles are outside the cones of narrow walls */
} patch_work;

/* Returns the length of an area vector, whose square may overflow or underflow. */
static inline double patch_area_length(vec3 area) {
    double largest = v3_max_abs(area);
    return largest > 0 ? largest * v3_length(v3_scale(area, 1 / largest)) : 0;
}

/* ---- patch_memory.c ---- */

void abuti_patch_memory_start(patch_memory *memory, abut_context *context);
void abuti_patch_memory_end(patch_memory *memory);
/* Returns memory that is valid until abuti_patch_memory_end(), aligned to 16 bytes. Returns null
 * and sets the error if there is not enough memory. */
void *abuti_patch_allocate(patch_memory *memory, size_t count, size_t bytes);
/* Keeps the first error. Returns whether there is none so far. */
static inline bool patch_check(patch_memory *memory, abut_status status) {
    memory->status = memory->status ? memory->status : status;
    return !memory->status;
}
/* Returns the value of a key, which must not be 0. Inserts it with `value` if it is missing, and
 * sets *added. Returns null if there is not enough memory. */
uint32_t *abuti_patch_table_insert(patch_memory *memory, patch_table *table, uint64_t key,
                                   uint32_t value, bool *added);
/* Returns the value of a key, or ABUT_NONE. */
uint32_t abuti_patch_table_find(const patch_table *table, uint64_t key);
/* Enlarges the array whose address is `array` to at least `required` elements if its capacity is
 * smaller, and copies the first `count`. Returns false after an error. */
bool abuti_patch_reserve(patch_memory *memory, void *array, size_t count, size_t required,
                         size_t bytes, size_t *capacity);
#define PATCH_RESERVE(memory, list, count, required, capacity) \
    abuti_patch_reserve(memory, &(list), count, required, sizeof *(list), &(capacity))
#define PATCH_RESERVE_ONE(memory, list, count, capacity) \
    PATCH_RESERVE(memory, list, count, (count) + 1, capacity)
/* Computes contour, inside surfaces and regions. `frame`: frame of the pair, whose padding includes
 * the skins. There are no regions if the skins do not intersect. */
void abuti_patch_find_regions(patch_work *work, const pair_frame *frame);

/* Returns whether the edges p0 p1 and q0 q1 cross in the projection along z, with the parameters of
 * the crossing. Parallel edges do not. */
static inline bool patch_cross_edges(vec3 p0, vec3 p1, vec3 q0, vec3 q1, double *s, double *t) {
    const vec3 p = v3_sub(p1, p0), q = v3_sub(q1, q0), d = v3_sub(q0, p0);
    const double det = p.x * q.y - p.y * q.x, sign = det < 0 ? -1 : 1, size = sign * det;
    *s = sign * (d.x * q.y - d.y * q.x);
    *t = sign * (d.x * p.y - d.y * p.x);
    if (!((*s >= 0) & (*s <= size) & (*t >= 0) & (*t <= size) & (size > 0)))
        return false;
    *s /= size;
    *t /= size;
    return true;
}

/* Computes two unit vectors across a unit normal. */
void abuti_patch_tangents(vec3 normal, vec3 tangent[2]);
/* The triangles that are projected:
 * REGION: inside triangles of a region;
 * WALL: the same without steep ones;
 * BODIES: all triangles of both bodies;
 * RAYS: none; vertices inside the other body are measured by rays. */
typedef enum patch_scope {
    PATCH_SCOPE_REGION,
    PATCH_SCOPE_WALL,
    PATCH_SCOPE_BODIES,
    PATCH_SCOPE_RAYS
} patch_scope;

void abuti_patch_project(patch_work *work, const patch_region *region, vec3 normal,
                         patch_scope scope);
/* The interval of a column that counts if the column intersects the overlap several times, as
 * between the turns of a thread:
 * ABOVE: starts at the height of a vertex of a;
 * BELOW: ends at the height of a vertex of b;
 * NEAREST: nearest to the height;
 * WHOLE: from the lowest to the highest point, for bodies that have passed through each other. */
typedef enum patch_column {
    PATCH_COLUMN_ABOVE,
    PATCH_COLUMN_BELOW,
    PATCH_COLUMN_NEAREST,
    PATCH_COLUMN_WHOLE
} patch_column;

/* Computes the height of a's lower end and of b's upper end at a position across the normal.
 * Returns false if a body is not there, or if the column is longer than max_column. */
bool abuti_patch_find_heights(const patch_projection *projection, double u, double v,
                              patch_column column, double height, double *low, double *high);
/* Returns an upper bound of the depth at a position, for a point of `side` at a height. */
double abuti_patch_bound_depth(const patch_projection *projection, double u, double v,
                               uint32_t side, double height);
/* Calls `visit` for each crossing of the projections of an edge of a and an edge of b that is
 * deeper than `deepest`. `visit` returns the new value of `deepest`. */
typedef double patch_edge_visitor(void *data, const patch_projected_face *a, int edge_a,
                                  double along, const patch_projected_face *b, int edge_b);
void abuti_patch_visit_edge_crossings(const patch_projection *projection, double deepest,
                                      patch_edge_visitor *visit, void *data);

/* ---- patch_point.c: contact patches of a region ---- */

/* A candidate normal of a region. */
typedef struct patch_normal {
    vec3 normal;
    double face_area; /* area of the faces with this normal; 0 = no face has it */
} patch_normal;

enum {
    PATCH_POINTS = 8,  /* maximum number of points of a patch */
    PATCH_NORMALS = 14 /* maximum number of candidate normals, or walls, of a region */
};

typedef struct patch_point {
    vec3 at;     /* in the frame */
    vec3 normal; /* local normal on a curved wall; zero = normal of the patch */
    double depth;
    uint32_t side, kind, element, part;
} patch_point;

typedef struct patch_answer {
    bool is_face_normal;    /* the normal is that of parallel faces */
    bool has_short_columns; /* long columns at the boundary of its faces were omitted */
    vec3 normal;            /* in the frame, from b to a */
    double depth, area, volume;
    vec3 centre;
    uint32_t region; /* of the overlap, or ABUT_NONE */
    uint32_t count;
    patch_point points[PATCH_POINTS];
} patch_answer;

/* Returns the mean of the points. */
static inline vec3 patch_mean_point(const patch_answer *answer) {
    vec3 sum = v3(0, 0, 0);
    for (uint32_t k = 0; k < answer->count; k++)
        sum = v3_along(sum, 1.0 / answer->count, answer->points[k].at);
    return sum;
}

/* A sort key of points. Of points that are equally good, the one with the lowest key is chosen, so
 * the same points are chosen from step to step. Vertices precede crossings. */
enum { PATCH_KEY_ELEMENT = CONTACT_ID_PART_BITS, PATCH_KEY_SIDE = 59, PATCH_KEY_KIND = 60 };
_Static_assert(PATCH_KEY_ELEMENT + 32 < PATCH_KEY_SIDE, "elements have 32 bits of a key");
_Static_assert(ABUT_CONTACT_OVERLAP < 1 << (64 - PATCH_KEY_KIND), "every kind fits into a key");

static inline uint64_t patch_point_key(const patch_point *p) {
    assert(p->side < 2 && p->part >> CONTACT_ID_PART_BITS == 0);
    return (uint64_t)p->kind << PATCH_KEY_KIND | (uint64_t)p->side << PATCH_KEY_SIDE |
           (uint64_t)p->element << PATCH_KEY_ELEMENT | p->part;
}

/* The part of a point on an edge of b: its lowest face, which is the same from whichever face the
 * edge is visited; the lower bits of it in meshes of more than CONTACT_ID_PART_MAX triangles. */
static inline uint32_t patch_edge_part(const patch_skin *skin, uint32_t face, uint32_t k) {
    const uint32_t *faces;
    uint32_t edge = skin->view.triangle_edges[3 * (size_t)face + k];
    uint32_t count = abuti_edge_faces(&skin->view, edge, &faces);
    for (uint32_t i = 0; i < count; i++)
        face = faces[i] < face ? faces[i] : face;
    return face & CONTACT_ID_PART_MAX;
}

/* Patches of a pair, deepest first. */
typedef struct patch_answers {
    patch_answer *list;
    size_t count, capacity;
} patch_answers;

#define PATCH_MERGE_DISTANCE 1e-6 /* of the smaller body: nearer points are merged */
#define PATCH_DEEP_FRACTION 0.75  /* of the largest depth: such vertices are nearly as deep */
#define PATCH_TILT 1e-3           /* depth range / extent of faces that are tilted by 5e-4 rad */

/* A candidate contact point, and its coordinates across the normal. */
typedef struct patch_candidate {
    patch_point point;
    double u, v;
} patch_candidate;

enum { PATCH_CANDIDATES = 56 };

/* Input of abuti_patch_choose(): at most PATCH_CANDIDATES candidates. */
typedef struct patch_choice {
    const patch_candidate *found;
    size_t count;
    double deepest;         /* largest depth of the candidates */
    double depth_tolerance; /* fraction of the depth: candidates within it count as deepest */
    double tilt;            /* fraction of the extent: the same, for nearly parallel faces */
    double merge_distance;  /* candidates are at least this far apart, or 1e-4 of the extent */
    bool last_is_deepest;   /* the last candidate was added only for its depth */
} patch_choice;

/* The outermost of any number of points, in several directions across the normal and their
 * opposites: of points that are about equally far out, the one with the lowest key. The first 8
 * directions are 45 degrees apart, the others are between them. */
enum { PATCH_DIRECTIONS = 16 };

typedef struct patch_outermost {
    int direction_count;                                           /* 8 or 16 */
    double width;                                                  /* the largest of all points */
    double max_extent[PATCH_DIRECTIONS], extent[PATCH_DIRECTIONS]; /* of all, and of the best */
    uint64_t key[PATCH_DIRECTIONS];                                /* UINT64_MAX = no point */
    patch_candidate best[PATCH_DIRECTIONS];
} patch_outermost;

void abuti_patch_init_outermost(patch_outermost *outermost, int direction_count);
/* Extends the extents by a point, which precedes its addition. If all points precede all additions,
 * their order does not matter. Returns whether the point is outermost so far, for any key. */
bool abuti_patch_extend_outermost(patch_outermost *outermost, double u, double v);
void abuti_patch_add_outermost(patch_outermost *outermost, const patch_candidate *point,
                               uint64_t key);
/* Copies the points to `found`, each once, and returns their number. */
uint32_t abuti_patch_copy_outermost(const patch_outermost *outermost,
                                    patch_candidate found[PATCH_DIRECTIONS]);

/* Chooses at most `max_points` points, none with a gap above `max_gap`: the deepest, of equally
 * deep ones the outermost; the one furthest from it; the one furthest from the line through both;
 * and the one that adds the largest area. */
void abuti_patch_choose(const patch_choice *choice, uint32_t max_points, double max_gap,
                        patch_answer *answer);

/* Returns the local normal of a point. Returns zero if it is nearly that of the patch, or so
 * different that it does not belong to the wall. */
static inline vec3 patch_local_normal(vec3 local, vec3 normal) {
    double cosine = v3_dot(local, normal);
    return cosine > PATCH_FLAT_COSINE || cosine < PATCH_WALL_COSINE ? v3(0, 0, 0) : local;
}

/* ---- patch_measure.c: ids of crossings, and normals of points on curved walls ---- */

/* Returns the crossing of an edge with a face of the other body, or a vertex of both that
 * is within a radius: first those of a, because rounding errors determine which edges cross there.
 * So points keep their ids when a gap becomes an overlap. `face`: ABUT_NONE if it is unknown. */
patch_point abuti_patch_snap_crossing(const patch_work *work, patch_point crossing, uint32_t face,
                                      double radius);

/* The weighted sum of the normals of the triangles around a point. */
typedef struct patch_normal_sum {
    const patch_work *work;
    vec3 at;
    double radius;
    unsigned sides; /* bit set of the bodies whose triangles count */
    vec3 sum;
} patch_normal_sum;

/* Starts the sum for a point with a penetration depth, or with a gap of that size. */
patch_normal_sum abuti_patch_normal_begin(const patch_work *work, vec3 at, double depth,
                                          unsigned sides);
/* Adds a triangle if it is within the radius. `normal`: its unit normal, in the direction from b to
 * a. */
void abuti_patch_normal_add(patch_normal_sum *sum, uint32_t side, uint32_t face, vec3 normal);
/* Returns the unit normal, from b to a; zero if no triangle is within the radius. */
vec3 abuti_patch_normal_end(const patch_normal_sum *sum);

/* Inserts a patch into a list that is sorted by depth, deepest first. */
void abuti_patch_add(patch_memory *memory, patch_answers *answers, const patch_answer *answer);

/* Computes the patch of a region along its best candidate normal: the one with the smallest depth,
 * but a normal of faces is preferred unless another one is clearly less deep. The patch has no
 * points if all gaps exceed `max_gap`. */
void abuti_patch_compute_best(patch_work *work, const patch_region *region, vec3 hint,
                              patch_answer *answer);
/* Finds the candidate normals of a region, and returns their number. Sets *passes_through if a body
 * has passed through the other. Then opposite normals are candidates too. So are both normals of
 * faces that are larger than |S| and nearly parallel to S, as of a plate that is inside another at
 * the same height. */
int abuti_patch_candidate_normals(const patch_work *work, const patch_region *region,
                                  patch_normal normals[PATCH_NORMALS], bool *passes_through);
/* Returns whether the normals of a region differ so much that their areas nearly cancel. */
bool abuti_patch_areas_cancel(const patch_work *work, const patch_region *region);
/* Divides a region into walls. Each wall is measured along its own normal over its own triangles,
 * whose normals are within 45 degrees of it, or within 26 degrees if `narrow`. Walls are sorted by
 * depth, deepest first; returns their number. The wide walls of the last region are cached, so all
 * calls for a region must have the same `max_points` and `max_gap`. */
int abuti_patch_find_walls(patch_work *work, const patch_region *region, bool narrow,
                           patch_answer answers[PATCH_NORMALS]);
/* Computes the patch of a component of side `inner` that is inside the other body and does not
 * intersect it. */
void abuti_patch_compute_contained(patch_work *work, uint32_t inner, uint32_t component, vec3 hint,
                                   patch_answer *answer);
/* Sets the local normals of the points of a curved wall of the overlap. The deepest point keeps the
 * normal of the wall: as the hint of the next step it yields the same wall again. */
void abuti_patch_local_normals(const patch_work *work, patch_answer *answer);
/* Computes the patch of a region along one normal. */
void abuti_patch_compute_along(patch_work *work, const patch_region *region, vec3 normal,
                               patch_scope scope, patch_answer *answer);
/* Returns the largest depth of all regions, except gaps, along a normal. If it exceeds `limit`,
 * the result is a lower bound of it. */
double abuti_patch_max_depth(patch_work *work, vec3 normal, double limit);

/* Adds the region between a component of a side and those cavities of the other body that are
 * completely inside it. `cavities`: one flag for each component of the other body. */
void abuti_patch_add_cavity_region(patch_work *work, uint32_t side, uint32_t component,
                                   const bool *cavities);

/* ---- patch_proximity.c: gaps ---- */

/* Adds a patch for each wall within the range, and adds points within the range to the patches of
 * overlaps. `overlaps`: the bodies overlap somewhere. Triangles without area are skipped. */
void abuti_patch_add_gaps(patch_work *work, const pair_frame *frame, double range, bool overlaps,
                          patch_answers *answers);

/* ---- patch_write.c: options and results, also of primitives ---- */

/* Maps patches from their frame to the world. */
typedef struct patch_frame {
    const char *function;
    abuti_motion motion; /* of points relative to `origin` */
    vec3 origin;
    bool swapped;
    uint32_t a, b;         /* ids */
    abut_context *context; /* for memory; null if there are few contacts */
} patch_frame;

/* Validates the options and the output lists, and copies the options. Replaces a `max_contacts` of
 * 0 by its default. */
abut_status abuti_patch_options(const char *function, const abut_patch_options *options,
                                const abut_patches *patches, abut_patch_options *checked);
abut_status abuti_patch_write(const patch_frame *frame, const patch_answer *answers, size_t count,
                              bool is_verified, abut_reliability reliability, abut_patches *out);

/* ---- a query for contact patches ---- */

typedef struct patch_call {
    patch_memory *memory;
    abut_patch_options options;
    abuti_posed posed[2]; /* the first relative to the second, which is at the identity */
    bool swapped;
    bool has_sheet;         /* one of them has no interior */
    bool is_reversed[2];    /* a sheet is oriented towards its other side */
    double max_translation; /* largest absolute coordinate of the translations */
    double size;            /* of the smaller body */
    double max_gap;         /* of contacts of overlaps: rounding error of a touch */
    vec3 hint;              /* in the frame */
    patch_answers answers;
    bool has_contained; /* some of them belong to components completely inside the other body */
    double contained_volume; /* of components completely inside the other body, minus cavities */
    bool is_press_fit;       /* shallow opposite walls: no shift is searched */
    bool touches;   /* surfaces are within the margin: boundary edges may affect the result */
    unsigned doubt; /* of containment, as from abuti_pair_contains() */
    bool apart;     /* the bodies do not touch, although their skins do */
    bool is_verified;
} patch_call;

/* ---- patch.c ---- */

/* Orders the meshes of two BVHs. Returns a negative or positive number, or 0 if they are equal. */
int abuti_patch_order(const abut_bvh *a, const abut_bvh *b);
/* Resets the work except the bodies. */
void abuti_patch_reset(patch_work *work, const patch_call *call);
/* Computes contours and regions at the poses of the call. */
void abuti_patch_find_regions_at(patch_work *work, const patch_call *call);
/* Returns whether a region counts. The contour of a hole, and a contour shorter than
 * PATCH_MIN_CONTOUR beside longer ones, do not. */
bool abuti_patch_region_counts(const patch_work *work, const patch_call *call, size_t i);

/* ---- patch_separate.c ---- */

/* By which shifts exceed depths, so that an exact test finds the bodies apart. */
typedef struct patch_slack {
    double depth, size; /* fractions of the depth and of the smaller body */
} patch_slack;
#define PATCH_SLACK ((patch_slack){.depth = 1e-6, .size = 1e-7})
#define PATCH_EXACT_SLACK ((patch_slack){.size = 2e-9}) /* rounding errors, if depths are exact */
/* Computes the joint shift of a: the shortest shift that moves by at least the depth of every
 * patch, plus a slack, along its normal (Hildreth 1957, "A quadratic programming procedure").
 * `size`: of the smaller body. Returns false if there is none, as between opposite walls. */
bool abuti_patch_joint_shift(double size, patch_slack slack, const patch_answer *answers,
                             size_t count, vec3 *shift);
/* Tests exactly whether the bodies are apart after a shift of the first one. */
bool abuti_patch_test_apart(const patch_call *call, vec3 shift);
/* Sets the shallowest patches that separate the bodies. If none are found, sets patches with local
 * depths and leaves call->is_verified false. */
void abuti_patch_separate(patch_work *work, patch_call *call);
/* Replaces the patches of a sheet if a shift along a face of the contour is much shorter. */
void abuti_patch_shorten_sheet(patch_work *work, patch_call *call);

#endif
