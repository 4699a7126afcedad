/* Primitives and convex hulls (solids): bodies in a common frame, their separating direction, and
 * contacts with meshes.
 *
 * Frame: the axes of b's pose, relative to a point of b. Only a is rotated.
 *
 * Core: a sphere is a point with a radius, a capsule a segment with a radius. Boxes and hulls are
 * polytopes, and a cylinder is its own core, with radius 0. The distance of two solids is the
 * distance of their cores minus both radii. If cores overlap, the shift that separates the solids
 * is longer than that of the cores by both radii.
 */
#ifndef ABUTI_CONTACT_SOLID_H
#define ABUTI_CONTACT_SOLID_H

#include "contact/patch.h"
#include "geom/closest_shared.h"

/* ---- solid_core.c: bodies ---- */

typedef struct solid_face {
    vec3 normal;           /* unit, outward */
    uint32_t begin, count; /* of its corners in `loops` */
} solid_face;

typedef struct solid_edge {
    uint32_t vertex[2];
    uint32_t face[2]; /* ABUT_NONE for a segment */
} solid_edge;

typedef struct solid_loop {
    uint32_t vertex;
    uint32_t edge; /* from this vertex to the next */
} solid_loop;

/* In its own coordinates. */
typedef struct solid_polytope {
    const vec3 *vertices;
    const solid_face *faces;
    const solid_edge *edges;
    const solid_loop *loops;
    uint32_t vertex_count, face_count, edge_count;
} solid_polytope;

typedef struct solid_body {
    abut_collider_kind kind;
    bool is_rotated; /* `turn` applies: true for a, false for b */
    mat3 turn;
    vec3 shift;
    solid_polytope core;  /* empty for planes and cylinders */
    vec3 own_vertices[8]; /* vertices of spheres, capsules and boxes */
    double radius;        /* around the core */
    double size; /* upper bound of the distance of core points from the origin of the frame */
    /* In the frame. Planes: the half-space below `offset` along the unit `axis`. Cylinders: centre
     * `shift`, unit `axis`, half_length and cylinder_radius. */
    vec3 axis;
    double offset, half_length, cylinder_radius;
} solid_body;

/* Fails if a solid is invalid; `what` names it in messages. */
abut_status abuti_solid_check(const char *function, const char *what, const abut_collider *solid);
/* Transforms two valid solids to the frame. A point of the frame plus `origin`, transformed by
 * `motion`, is a point of the world. Only b may be a plane. */
void abuti_solid_transform(const abut_collider *a, const abut_collider *b, solid_body *body_a,
                           solid_body *body_b, abuti_motion *motion, vec3 *origin);

static inline vec3 solid_rotate(const solid_body *s, vec3 own) {
    return s->is_rotated ? m3_apply(&s->turn, own) : own;
}
static inline vec3 solid_vertex(const solid_body *s, uint32_t i) {
    return v3_add(solid_rotate(s, s->core.vertices[i]), s->shift);
}
static inline vec3 solid_rotate_back(const solid_body *s, vec3 v) {
    if (!s->is_rotated)
        return v;
    mat3 back = m3_transpose(&s->turn);
    return m3_apply(&back, v);
}

/* The support point: the point of a core that is farthest along a direction. */
vec3 abuti_solid_support(const solid_body *s, vec3 direction);
/* The vertex of a polytope that is farthest along a direction. */
uint32_t abuti_solid_support_vertex(const solid_body *s, vec3 direction);

/* ---- solid_separation.c: separating direction ---- */

typedef struct solid_separation {
    vec3 normal;         /* unit, from b to a */
    double separation;   /* of the cores along it; negative: overlap */
    bool is_face_normal; /* the normal is that of a face */
    bool has_points;     /* the cores do not overlap, and `at` are their closest points */
    vec3 at[2];
} solid_separation;

/* Finds the normal along which two cores have the largest separation. Returns false if this exceeds
 * `reach`. Planes are not allowed. `hint` may be zero. */
bool abuti_solid_find_separation(const solid_body *a, const solid_body *b, double reach, vec3 hint,
                                 solid_separation *best);

/* ---- a mesh and a solid: solid_mesh.c ---- */

typedef struct solid_call {
    const abut_bvh *bvh;
    const patch_skin *skin;
    const vec3 *positions;
    patch_memory *memory;
    const abut_patch_options *options;
    patch_answers answers; /* relative to the origin of the mesh */
    bool is_verified;
    bool is_exact; /* the result is exact regardless of boundary edges of the mesh */
} solid_call;

/* Transformation from the world to the coordinates of a mesh. */
typedef struct solid_view {
    abuti_motion motion; /* of the mesh */
    mat3 back;
} solid_view;

/* A point of the world, relative to the origin of the mesh. */
static inline vec3 solid_to_mesh(const solid_view *v, const abut_mesh *mesh, vec3 world) {
    return v3_sub(m3_apply(&v->back, v3_sub(world, v->motion.translation)), mesh->origin);
}
static inline vec3 solid_corner(const solid_call *call, uint32_t triangle, uint32_t k) {
    return call->positions[call->skin->corner[3 * (size_t)triangle + k]];
}

/* A half-space below a plane, or the points within a distance of a segment. */
typedef struct solid_region {
    bool plane;
    vec3 normal;
    double limit; /* largest height or distance */
    segment3 axis;
} solid_region;

/* Lists the triangles of all leaves whose bounding boxes intersect a region. */
void abuti_solid_list_triangles(const solid_call *call, const solid_region *r, uint32_t **list,
                                size_t *count);

/* ---- solid_plane.c, solid_round.c ---- */

void abuti_solid_plane_contacts(solid_call *call, const solid_view *view, const abut_collider *b);
/* Contacts of a mesh with a sphere or capsule. Returns false, without contacts, if the axis of a
 * capsule intersects the mesh, is inside it or has passed through it: then the caller uses a mesh
 * of the capsule. */
bool abuti_solid_round_contacts(solid_call *call, const solid_view *view, const abut_collider *b);

#endif
