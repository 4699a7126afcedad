/* What the files of exact patches share: two skinned bodies in one frame, their contour, and the
 * parts of both surfaces inside the other.
 *
 * Frame: that of b's mesh, relative to its origin, so that only a is turned.
 *
 * Skin: every vertex goes out by half the margin along a direction of its own that moves all of its
 * faces out by as much (mitre; patch_skin.c), and then by a billionth of the size to anywhere. So
 * bodies that lie flush overlap by a hair, and no four vertices of two bodies are in one plane.
 * Answers about that skin are exact; depths are measured on the true faces. Where four vertices are
 * in one plane after all, everything begins anew with other billionths.
 */
#ifndef ABUTI_CONTACT_PATCH_H
#define ABUTI_CONTACT_PATCH_H

#include "contact/contact.h"
#include "pair/pair.h"

/* Between the normals of a patch and of its points: nearer ones are the same (a quarter of a
 * degree), and those that are further away belong to other walls (60 degrees). */
#define PATCH_FLAT_COSINE 0.99999
#define PATCH_WALL_COSINE 0.5

/* Of the smaller body: contours that are shorter are hardly there. */
#define PATCH_SPECK 1e-5

/* ---- patch_skin.c: what a mesh keeps for this ---- */

/* A part connected through shared edges. */
typedef struct patch_part {
    uint32_t face;   /* a triangle of it */
    uint32_t vertex; /* that decides for abuti_pair_contains() whether it is inside another body */
    bool is_cavity;  /* it is closed and holds nothing */
    double volume;   /* signed: below 0 for a cavity; without meaning if the part is open */
} patch_part;

/* A cone around the normals of all triangles that share a vertex with a triangle. */
typedef struct patch_cone {
    float axis[3];
    float cosine; /* of half its angle; -2 where not all directions of minima are in it: at boundary
                   * edges, and where the surface is no graph across the axis */
} patch_cone;

typedef struct patch_skin {
    bvh_attachment part;
    const abut_bvh *bvh;
    abut_topology *topology; /* of the triangles with vertices in one place as one */
    abut_topology_arrays view;
    const uint32_t *corner;       /* 3 a triangle, vertices in one place as one */
    vec3 *offset;                 /* of a vertex: by which it goes out if its faces go out by 1 */
    patch_cone *cones;            /* of the triangles */
    double reach;                 /* the longest offset */
    double size;                  /* of the box, the longest side */
    bool has_needles;             /* some triangles have no area */
    bool inward;                  /* triangles are turned round here */
    patch_part *parts;            /* by component of the topology */
    abut_reliability reliability; /* what contacts with it are worth */
} patch_skin;

/* Gives it; made by the first call and kept by the hierarchy. `turned`: with all triangles the
 * other way round, for sheets. Thread-safe. */
abut_status abuti_patch_skin(const abut_bvh *bvh, bool turned, const patch_skin **skin);

/* The reliability of an answer: the worse one of both meshes, of which the second may be null; but
 * guaranteed if neither boundary edges nor flipped neighbours decide this answer. */
abut_reliability abuti_patch_reliability(const patch_skin *a, const patch_skin *b, bool is_exact);

/* ---- patch_contour.c: where two skins meet, and what is inside ---- */

/* Vertices and triangles of a body that were placed lately. */
enum { PATCH_PLACED = 256, PATCH_FACES = 64 };

typedef struct patch_body {
    const abut_bvh *bvh;
    const patch_skin *skin;
    abut_pose pose; /* in the frame, with both origins */
    bool turns;     /* a: into the frame */
    mat3 turn;
    vec3 shift;
    double grow, jitter;
    uint64_t seed;
    uint32_t placed[PATCH_PLACED]; /* a vertex in the place of its lowest bits, or ABUT_NONE */
    vec3 place[PATCH_PLACED];
} patch_body;

/* Where a vertex is in the frame. */
static inline vec3 patch_turned(const patch_body *body, vec3 p) {
    return body->turns ? v3_add(m3_apply(&body->turn, p), body->shift) : p;
}
static inline vec3 patch_true(const patch_body *body, uint32_t vertex) {
    return patch_turned(body, body->bvh->mesh->positions[vertex]);
}
/* A number from -1 to 1 out of 21 bits. */
static inline double patch_random(uint64_t bits) {
    return (double)(bits & 0x1fffff) * (2.0 / 0x1fffff) - 1;
}
static inline vec3 patch_place_anew(const patch_body *body, uint32_t vertex) {
    uint64_t z = vertex * UINT64_C(0x9e3779b97f4a7c15) + body->seed; /* splitmix64, Steele 2014 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    vec3 p = v3_along(body->bvh->mesh->positions[vertex], body->grow, body->skin->offset[vertex]);
    vec3 random = v3(patch_random(z), patch_random(z >> 21), patch_random(z >> 42));
    return patch_turned(body, v3_along(p, body->jitter, random));
}

/* Where its skin is. */
static inline vec3 patch_place(patch_body *body, uint32_t vertex) {
    uint32_t slot = vertex % PATCH_PLACED;
    if (body->placed[slot] != vertex) {
        body->placed[slot] = vertex;
        body->place[slot] = patch_place_anew(body, vertex);
    }
    return body->place[slot];
}

/* A triangle of a skin: its plane, and the lines of its edges by a direction and a moment each
 * (Pluecker coordinates). */
typedef struct patch_face {
    uint32_t face;
    bool collapsed;
    const uint32_t *corner;
    vec3 at[3], way[3], moment[3];
    vec3 normal;    /* not of unit length */
    double offset;  /* normal . x, of its plane */
    double longest; /* of the directions, along an axis */
} patch_face;

/* Where an edge of one body goes through a triangle of the other. */
typedef struct patch_crossing {
    uint32_t edge, face;
    uint32_t side; /* of the edge: 0 is a */
    bool enters;   /* on the way from its lower to its higher vertex */
    uint32_t next; /* the next one of the edge on that way, or ABUT_NONE */
    double t;      /* along that way */
    vec3 at;
} patch_crossing;

/* The line in which two triangles meet, so that the inside of b is to the left on a's. */
typedef struct patch_segment {
    uint32_t face[2];
    uint32_t from, to; /* crossings */
} patch_segment;

/* A vertex inside the other body. */
typedef struct patch_vertex {
    uint32_t side, vertex;
    uint32_t spread; /* the number of the spread that it came with */
    vec3 at;         /* of its skin */
} patch_vertex;

/* A triangle inside the other body that nothing cuts. */
typedef struct patch_whole {
    uint32_t side, face, spread;
} patch_whole;

/* What of a side is cut or inside: bits by triangle, vertex and edge, and where marked vertices and
 * the first crossings of marked edges stand. */
typedef struct patch_marks {
    uint32_t *cut, *done, *vertex, *edge; /* done: what has been told of it */
    uint32_t *place; /* in `vertices`, of those that are marked; of others it is not set */
    uint32_t *first; /* in `crossings`, likewise */
} patch_marks;

/* The part of a triangle that is inside the other body. */
typedef struct patch_facet {
    uint32_t side, face, patch;
    vec3 area; /* along its normal */
} patch_facet;

/* A table of numbers by keys. */
typedef struct patch_table {
    uint64_t *keys; /* 0 = empty */
    uint32_t *values;
    size_t count, room; /* a power of two, or 0 */
} patch_table;

/* One connected part of what two bodies have in common. */
typedef struct patch_region {
    vec3 origin; /* of the integrals: on the contour */
    vec3 area;   /* of a's surface inside b: S */
    double volume, length;
    vec3 centre;                       /* of the contour */
    bool gap;                          /* only skins meet here */
    uint32_t facet_begin, facet_end;   /* once they are sorted */
    uint32_t point_begin, point_end;   /* of its crossings, in `points` */
    uint32_t vertex_begin, vertex_end; /* of its inside vertices, in `inner` */
} patch_region;

/* ---- patch_plane.c: inside parts of both surfaces as seen along a normal ---- */

/* A vertex: the shadow of its skin, and where it truly is. */
typedef struct patch_seen {
    double skin_u, skin_v, u, v, h;
} patch_seen;

/* A triangle: the shadow of its skin, and the true one's corners and heights. */
typedef struct patch_plane {
    double edge[3][3]; /* by x of each edge: (u, v) is inside where x[0] + x[1] u + x[2] v >= 0 */
    double lo[2], hi[2];
    double true_u[3], true_v[3], true_h[3];
    double h, du, dv; /* height at (0, 0), and its slopes */
    double reach;     /* its lowest corner if it is of a, else its highest */
    uint32_t side, face;
} patch_plane;

/* Four of them in a cell, in floats that are rounded outwards. */
typedef struct patch_four {
    float lo[2][4], hi[2][4]; /* lo = infinity where there is none */
    float high[4];            /* b's highest corner; minus infinity for a */
    uint32_t plane[4];
} patch_four;

/* All of a region that look the right way, in a grid across the normal. */
typedef struct patch_view {
    vec3 normal, along[2];
    bool whole;          /* it has all of both bodies */
    double least_cosine; /* faces that are steeper do not count */
    double wall_cosine;  /* the same of walls */
    double longest;      /* places where more overlaps do not count */
    double top, bottom;  /* b's highest and a's lowest corner */
    double slack;        /* by which shadows are taken larger */
    patch_plane *planes;
    size_t count, room;
    uint32_t cells; /* along each side; cell c has fours[begin[c]] to fours[begin[c + 1]] */
    double lo[2], scale[2];
    uint32_t *begin, *used; /* used: how many triangles a cell has */
    patch_four *fours;
    double (*reach)[2];     /* of a cell: a's lowest and b's highest corner of what is in it */
    double (*shadow[2])[2]; /* of all vertices of a body, where both are seen as a whole */
    size_t begin_room, used_room, four_room, reach_room, shadow_room[2];
} patch_view;

/* Memory that is given back all at once: first what comes with it, then blocks. */
enum { PATCH_BYTES = 49152 };

typedef struct patch_memory {
    abut_context *context;
    unsigned char *at, *end;
    void **blocks; /* the last; its first word is the one before it */
    size_t block_bytes;
    _Alignas(64) unsigned char first[PATCH_BYTES];
} patch_memory;

typedef struct patch_work {
    patch_memory *memory;
    patch_body body[2];
    uint32_t kept[2][PATCH_FACES];         /* triangles by where they are in the leaves, and */
    patch_face faces[2][PATCH_FACES];      /* each in the place of its lowest bits */
    uint32_t seen_vertex[2][PATCH_PLACED]; /* vertices that the view has met lately, and */
    patch_seen seen[2][PATCH_PLACED];      /* each in the place of its lowest bits */
    double largest;                        /* coordinate of both */
    bool near;                             /* some triangles may meet */
    bool flat;                             /* four vertices in one plane: to be done again */
    abut_status status;
    patch_crossing *crossings;
    size_t crossing_count, crossing_room;
    patch_segment *segments;
    size_t segment_count, segment_room;
    patch_vertex *vertices;
    size_t vertex_count, vertex_room;
    patch_whole *wholes;
    size_t whole_count, whole_room;
    uint32_t spread_count;
    patch_marks marks[2];
    patch_facet *facets;
    size_t facet_count, facet_room;
    patch_region *regions;
    size_t region_count, region_room;
    patch_view view;
    uint32_t *parent; /* of crossings, then of spreads */
    size_t parent_room;
    uint32_t *points, *inner; /* by region */
    uint32_t *region_of;      /* of a crossing */
    patch_table by_facet;
    bool is_sheet_edge; /* only what is beyond the contour counts: sheets have no inside */
    const patch_region *walls_of; /* whose walls were measured last, and */
    struct patch_answer *walls;   /* these */
    int wall_count;
    bool has_wide_walls; /* some of their triangles do not belong to narrow ones */
} patch_work;

/* The length of an area vector, whose square may overflow or underflow. */
static inline double patch_area_length(vec3 area) {
    double largest = v3_max_abs(area);
    return largest > 0 ? largest * v3_length(v3_scale(area, 1 / largest)) : 0;
}

/* ---- patch_memory.c ---- */

void abuti_patch_memory_start(patch_memory *memory, abut_context *context);
void abuti_patch_memory_end(patch_memory *memory);
/* Memory until the end, aligned to 16, or null with the error set. */
void *abuti_patch_take(patch_memory *memory, size_t count, size_t bytes);
/* The value of a key, which is added with `value` if it is not there: then *added. Keys are 1 or
 * more. Null where there is no memory. */
uint32_t *abuti_patch_put(patch_work *work, patch_table *table, uint64_t key, uint32_t value,
                          bool *added);
/* The value of a key, or ABUT_NONE. */
uint32_t abuti_patch_get(const patch_table *table, uint64_t key);
/* Makes room for `wanted` elements in the array that `array` is the address of. */
abut_status abuti_patch_grow(patch_memory *memory, void *array, size_t count, size_t wanted,
                             size_t bytes, size_t *room);
/* Finds contour, inside parts and regions. `frame` is that of the pair, with the skins in its pad.
 * None where the skins do not meet. */
abut_status abuti_patch_find(patch_work *work, const pair_frame *frame);

/* The two directions across a normal. */
void abuti_patch_across(vec3 normal, vec3 along[2]);
/* Which triangles a view has: those of a region; the same without steep
 * ones; all of both bodies; none, as vertices inside the other body are measured by rays; or one of
 * these, by how the region looks. */
typedef enum patch_scope {
    PATCH_REGION,
    PATCH_WALL,
    PATCH_BODIES,
    PATCH_INSIDE,
    PATCH_AUTO
} patch_scope;

abut_status abuti_patch_see(patch_work *work, const patch_region *region, vec3 normal,
                            patch_scope scope);
/* Which part of a column counts where the overlap is there several times, as between the turns of a
 * thread: the one that begins at a height with a vertex of a, the one that ends there with a vertex
 * of b, or the one nearest to it. Where bodies go through each other the whole column counts. */
typedef enum patch_column { PATCH_ABOVE, PATCH_BELOW, PATCH_NEAREST, PATCH_WHOLE } patch_column;

/* Where a ends below and b above, at a place across the normal; false where one of them is not
 * there. */
bool abuti_patch_heights(const patch_view *view, double u, double v, patch_column column,
                         double height, double *low, double *high);
/* By how much b is higher than a at a place, at most, where one of them is at a height. */
double abuti_patch_bound(const patch_view *view, double u, double v, uint32_t side, double height);
/* Looks for crossings of an edge of a and an edge of b, as seen along the normal, that are deeper
 * than `deepest`; tells each, and goes on with what that gives for it. */
typedef double patch_deeper(void *data, const patch_plane *a, int edge_a, double along,
                            const patch_plane *b, int edge_b);
void abuti_patch_edges(const patch_view *view, double deepest, patch_deeper *tell, void *data);

/* ---- patch_point.c: what a region says to a solver ---- */

enum {
    PATCH_POINTS = 8, /* a patch, at most */
    PATCH_WAYS = 14   /* normals that are tried for a region */
};

typedef struct patch_point {
    vec3 at;     /* in the frame */
    vec3 normal; /* of a curved wall at this place; zero = that of the patch */
    double depth;
    uint32_t side, kind, element, part;
} patch_point;

typedef struct patch_answer {
    bool of_faces; /* the normal is that of faces that look one way */
    bool is_rim;   /* long columns at the rim of its faces were left out */
    vec3 normal;   /* in the frame, towards a */
    double depth, area, volume;
    vec3 centre;
    uint32_t region; /* of the overlap, or ABUT_NONE */
    uint32_t count;
    patch_point points[PATCH_POINTS];
} patch_answer;

/* The mean of the points. */
static inline vec3 patch_middle(const patch_answer *answer) {
    vec3 sum = v3(0, 0, 0);
    for (uint32_t k = 0; k < answer->count; k++)
        sum = v3_along(sum, 1.0 / answer->count, answer->points[k].at);
    return sum;
}

/* The order of points that are as good: vertices come before crossings. The choice by names keeps
 * the same points from frame to frame. */
enum { PATCH_NAME_ELEMENT = CONTACT_ID_PART_BITS, PATCH_NAME_SIDE = 59, PATCH_NAME_KIND = 60 };
_Static_assert(PATCH_NAME_ELEMENT + 32 < PATCH_NAME_SIDE, "elements have 32 bits of a name");
_Static_assert(ABUT_CONTACT_OVERLAP < 1 << (64 - PATCH_NAME_KIND), "every kind fits into a name");

static inline uint64_t patch_name(const patch_point *p) {
    assert(p->side < 2 && p->part >> CONTACT_ID_PART_BITS == 0);
    return (uint64_t)p->kind << PATCH_NAME_KIND | (uint64_t)p->side << PATCH_NAME_SIDE |
           (uint64_t)p->element << PATCH_NAME_ELEMENT | p->part;
}

/* Of the extent of a contact: vertices that are less far out than the outermost point are as good.
 * Crossings on a straight line near its end are not, so theirs is smaller. */
#define PATCH_VERTEX_BAND 0.02
#define PATCH_CROSSING_BAND 1e-4
static inline double patch_band(const patch_point *p, double extent) {
    return extent * (p->kind == ABUT_CONTACT_VERTEX ? PATCH_VERTEX_BAND : PATCH_CROSSING_BAND);
}

/* Answers of a pair, the deepest first. */
typedef struct patch_answers {
    patch_answer *list;
    size_t count, room;
} patch_answers;

#define PATCH_PLACE 1e-6 /* of the smaller body: points that are nearer are in one place */
#define PATCH_FLAT 1e-3  /* of the extent: the depths of faces that tilt by half of it */

/* A place that may become a contact, and where it is across the normal. */
typedef struct patch_candidate {
    patch_point point;
    double u, v;
} patch_candidate;

enum { PATCH_CANDIDATES = 56 };

/* At most PATCH_CANDIDATES of them. */
typedef struct patch_choice {
    const patch_candidate *found;
    uint32_t count;
    double deepest; /* of them */
    double as_deep; /* parts of the depth, by which others are as deep */
    double flat;    /* parts of the extent, the same: what a small tilt of parallel faces makes */
    double place;   /* points that are nearer to each other are in one place */
    bool extra;     /* the last one is only there for its depth */
} patch_choice;

/* Directions across the normal in which outermost points are searched; the opposite ones too. The
 * first half of them are 45 degrees apart, the others between them. */
enum { PATCH_DIRECTIONS = 8 };
extern const double abuti_patch_directions[PATCH_DIRECTIONS][2];

/* How far out a place is in one of twice as many: each is followed by its opposite. */
static inline double patch_extent(int d, double u, double v) {
    double extent = abuti_patch_directions[d / 2][0] * u + abuti_patch_directions[d / 2][1] * v;
    return d % 2 ? -extent : extent;
}

/* Chooses at most `keep`, none of them further apart than `gap`: the deepest, of equals that which
 * is outermost; the one furthest from it, the one furthest beside both, and what adds most area. */
void abuti_patch_choose(const patch_choice *m, uint32_t keep, double gap, patch_answer *answer);

/* The normal of a point of a patch: its own where the wall is curved, zero where it is about that
 * of the patch, or too far from it to be one of the wall. */
static inline vec3 patch_local_normal(vec3 local, vec3 normal) {
    double cosine = v3_dot(local, normal);
    return cosine > PATCH_FLAT_COSINE || cosine < PATCH_WALL_COSINE ? v3(0, 0, 0) : local;
}

/* ---- patch_normal.c: normals of points on curved walls ---- */

/* The mean normal of the triangles around a point. */
typedef struct patch_around {
    const patch_work *work;
    vec3 at;
    double radius;
    unsigned sides; /* bits of the bodies whose triangles count */
    vec3 sum;
} patch_around;

/* Begins with a point that is so deep, or as far apart. */
patch_around abuti_patch_around(const patch_work *work, vec3 at, double depth, unsigned sides);
/* Adds a triangle, if it is near; its unit normal is that towards a. */
void abuti_patch_around_add(patch_around *around, uint32_t side, uint32_t face, vec3 normal);
/* The normal towards a; zero if no triangle is near. */
vec3 abuti_patch_around_normal(const patch_around *around);

/* Adds an answer to those that stand in memory, the deepest first. */
abut_status abuti_patch_add(patch_memory *memory, patch_answer **answers, size_t *count,
                            size_t *room, const patch_answer *answer);

/* Measures a region along several normals, few of them if nothing will be checked; the answer is
 * the least deep, but a normal of faces is preferred to others that are hardly better. It has no
 * points if all are further apart than `gap`. */
abut_status abuti_patch_points(patch_work *work, const patch_region *region, vec3 hint,
                               uint32_t keep, double gap, bool unchecked, patch_answer *answer);
/* The normals along which a region is measured; where a body has gone through the other, also the
 * opposite ones. Returns their number. */
int abuti_patch_ways(const patch_work *work, const patch_region *region, vec3 normals[PATCH_WAYS]);
/* Whether the surfaces of a region look so many ways that their areas cancel. */
bool abuti_patch_cancels(const patch_work *work, const patch_region *region);
/* Divides such a region into walls: pieces that look about one way, each measured along its own
 * normal over its own triangles. The normals of these are within 45 degrees of it, or within 26 if
 * `narrow`. The answers stand by depth, the deepest first. Wide walls of the last region are kept:
 * all calls for a region have the same `keep` and `gap`. */
abut_status abuti_patch_walls(patch_work *work, const patch_region *region, bool narrow,
                              uint32_t keep, double gap, patch_answer answers[PATCH_WAYS],
                              int *count);
/* Where a connected part of one side meets nothing, but is inside the other. */
void abuti_patch_inside(patch_work *work, uint32_t inner, uint32_t part, vec3 hint, uint32_t keep,
                        patch_answer *answer);
/* Gives the points of a curved wall of the overlap normals of their own. The deepest point keeps
 * that of the wall: as the hint of the next step it gives the same wall again. */
void abuti_patch_local_normals(const patch_work *work, patch_answer *answer);
/* Measures a region along one normal. */
abut_status abuti_patch_points_along(patch_work *work, const patch_region *region, vec3 normal,
                                     patch_scope scope, uint32_t keep, double gap,
                                     patch_answer *answer);
/* The largest depth of all regions but gaps along a normal; a lower bound of it if that is above
 * the limit. */
abut_status abuti_patch_depth(patch_work *work, vec3 normal, double limit, double *depth);

/* ---- patch_enclosed.c: bodies that fill a cavity ---- */

/* Adds a region: between a connected part of a side and those cavities of the other body, by
 * component, that are wholly inside it. */
abut_status abuti_patch_enclose(patch_work *work, uint32_t side, uint32_t part,
                                const bool *cavities);

/* ---- patch_proximity.c: surfaces that are apart ---- */

/* Adds a patch for each wall within the range, and points within the range to patches of overlaps.
 * `overlaps`: the bodies overlap somewhere. Triangles without area are left out. */
abut_status abuti_patch_proximity(patch_work *work, const pair_frame *frame, double range,
                                  uint32_t keep, bool overlaps, patch_answers *answers);

/* ---- patch_write.c: options and answers, of solids too ---- */

/* From the frame of answers to the world. */
typedef struct patch_frame {
    const char *function;
    abuti_motion motion; /* of what is relative to `origin` */
    vec3 origin;
    bool swapped;
    uint32_t pair;
    abut_context *context; /* for memory; null where there are few contacts */
} patch_frame;

/* Reads and checks options, with the default of `keep` in its place, and the lists. */
abut_status abuti_patch_options(const char *function, const abut_patch_options *options,
                                const abut_patches *patches, abut_patch_options *ours);
abut_status abuti_patch_write(const patch_frame *frame, const patch_answer *answers, size_t count,
                              bool separates, abut_reliability reliability, abut_patches *out);

/* ---- mesh_order.c ---- */

/* The order of the meshes of two hierarchies: below 0, 0 or above 0. 0: they are equal. */
int abuti_patch_order(const abut_bvh *a, const abut_bvh *b);

/* ---- patch.c ---- */

/* A shift of a that satisfies all answers, and a hair more of `size`; false where there is none, as
 * between opposite walls. */
bool abuti_patch_shift(double size, const patch_answer *answers, size_t count, vec3 *shift);

#endif
