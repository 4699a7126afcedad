/* What the files of solids share: convex bodies in one frame, which way they are separated, and
 * where they touch.
 *
 * Frame: the axes of b's pose, about a place in b, so that only a is turned.
 *
 * Core: a sphere is a point, a capsule a segment, a box and a hull are polytopes, and a cylinder is
 * itself; `radius` goes around it. The distance of two solids is that of their cores less both
 * radii, and overlapping cores need a shift that is longer by both radii.
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
    uint32_t face[2]; /* ABUT_NONE where there are none: of a segment */
} solid_edge;

typedef struct solid_loop {
    uint32_t vertex;
    uint32_t edge; /* from it to the next */
} solid_loop;

/* In coordinates of its own. */
typedef struct solid_polytope {
    const vec3 *vertices;
    const solid_face *faces;
    const solid_edge *edges;
    const solid_loop *loops;
    uint32_t vertex_count, face_count, edge_count;
} solid_polytope;

typedef struct solid_body {
    abut_solid_kind kind;
    bool turns; /* a: from its own coordinates into the frame */
    mat3 turn;
    vec3 shift;
    solid_polytope core; /* empty for planes and cylinders */
    vec3 own[8];         /* the vertices of what is no hull */
    double radius;       /* around the core */
    double size;         /* no place of the core is further from the frame's origin */
    /* Planes: all below `offset` along the unit `axis`. Cylinders: about `shift`, along the unit
     * `axis`, `half` to both sides, `wide` around it. In the frame. */
    vec3 axis;
    double offset, half, wide;
} solid_body;

/* Refuses a solid that is none; `what` names it. */
abut_status abuti_solid_check(const char *function, const char *what, const abut_solid *solid);
/* Puts two checked solids into the frame, from which `motion` leads into the world once `origin` is
 * added. Planes may only be b. */
void abuti_solid_place(const abut_solid *a, const abut_solid *b, solid_body *body_a,
                       solid_body *body_b, abuti_motion *motion, vec3 *origin);

static inline vec3 solid_out(const solid_body *s, vec3 own) {
    return s->turns ? m3_apply(&s->turn, own) : own;
}
static inline vec3 solid_vertex(const solid_body *s, uint32_t i) {
    return v3_add(solid_out(s, s->core.vertices[i]), s->shift);
}
static inline vec3 solid_in(const solid_body *s, vec3 v) {
    if (!s->turns)
        return v;
    mat3 back = m3_transpose(&s->turn);
    return m3_apply(&back, v);
}

/* The place of a core that is furthest along a direction. */
vec3 abuti_solid_support(const solid_body *s, vec3 direction);
/* The vertex of a polytope that is. */
uint32_t abuti_solid_furthest(const solid_body *s, vec3 direction);

/* ---- solid_way.c: which way, and how far ---- */

typedef struct solid_way {
    vec3 normal;       /* unit, from b to a */
    double separation; /* of the cores along it; negative where they overlap */
    bool of_face;      /* it is the normal of a face of one of them */
    bool has_places;   /* cores are apart, and `at` are the places of both that are nearest */
    vec3 at[2];
} solid_way;

/* The normal along which two cores, no planes, are separated most. False where that is more than
 * `reach`. `hint` may be zero. */
bool abuti_solid_way(const solid_body *a, const solid_body *b, double reach, vec3 hint,
                     solid_way *way);

/* ---- a mesh and a solid: solid_mesh.c ---- */

typedef struct solid_call {
    const abut_bvh *bvh;
    const patch_skin *skin;
    const vec3 *positions;
    patch_memory *memory;
    const abut_patch_options *options;
    patch_answer *answers; /* relative to the mesh's origin */
    size_t count, room;
    bool separates;
    bool is_exact; /* whatever boundary edges the mesh has */
} solid_call;

/* From the world into the coordinates of the mesh. */
typedef struct solid_view {
    abuti_motion motion; /* of the mesh */
    mat3 back;
} solid_view;

/* Relative to the mesh's origin. */
static inline vec3 solid_seen(const solid_view *v, const abut_mesh *mesh, vec3 world) {
    return v3_sub(m3_apply(&v->back, v3_sub(world, v->motion.translation)), mesh->origin);
}
static inline vec3 solid_corner(const solid_call *call, uint32_t triangle, uint32_t k) {
    return call->positions[call->skin->corner[3 * (size_t)triangle + k]];
}

/* Below a plane, or around a segment. */
typedef struct solid_reach {
    bool plane;
    vec3 normal;
    double limit; /* of the height, or of the distance */
    segment3 axis;
} solid_reach;

/* Lists the triangles of leaves that a solid reaches. */
abut_status abuti_solid_triangles(const solid_call *call, const solid_reach *r, uint32_t **list,
                                  size_t *count);
/* Adds an answer; the deepest stand first. */
abut_status abuti_solid_add(solid_call *call, const patch_answer *answer);

/* ---- solid_plane.c, solid_round.c ---- */

abut_status abuti_solid_plane(solid_call *call, const solid_view *view, const abut_solid *b);
/* A sphere or capsule. `through` tells that the axis of a capsule meets the mesh, is inside it or
 * has gone through, which is left to others. */
abut_status abuti_solid_round(solid_call *call, const solid_view *view, const abut_solid *b,
                              bool *through);

#endif
