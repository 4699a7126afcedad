/* Primitives and hulls as convex bodies in a common frame: tables of the faces and edges of boxes,
 * polytopes of hulls, and support points.
 *
 * A hull is built from the triangles of a closed mesh. Coplanar triangles, within FLAT_TOLERANCE,
 * become one face, which is a polygon. The mesh is convex if no vertex is above a triangle by more
 * than CONVEX_TOLERANCE. Then the solid is the convex hull of its vertices, and its faces are
 * accurate to this tolerance. The plane of a thin triangle is less accurate: the tolerance is
 * divided by its height relative to the size. So a hull that is flat within FLAT_TOLERANCE is a
 * polygon with two faces. If the faces are not polygons, which noise of about FLAT_TOLERANCE can
 * cause, each triangle is a face.
 */
#include "collider/collider.h"
#include "contact/solid.h"

#include <math.h>
#include <string.h>

#define FLAT_TOLERANCE 5e-7   /* of the size */
#define CONVEX_TOLERANCE 1e-6 /* of the size */
/* Of the size: smallest distance of a corner from the line between its neighbours. */
#define CORNER_TOLERANCE 1e-9
/* Of the squared size: triangles at least this large start faces in the first pass. */
#define FIRST_SEED_AREA 1e-3
#define SEED_AREA_RATIO 1e-2 /* the threshold of each pass relative to the one before */

enum { MAX_HULL_TRIANGLES = 1 << 16 };

#define UNNUMBERED (ABUT_NONE - 1)

/* ---- tables ---- */

/* Vertex i of a box has the upper x, y, z if bits 0, 1, 2 of i are set. */
static const solid_face box_faces[6] = {{{-1, 0, 0}, 0, 4},  {{1, 0, 0}, 4, 4},
                                        {{0, -1, 0}, 8, 4},  {{0, 1, 0}, 12, 4},
                                        {{0, 0, -1}, 16, 4}, {{0, 0, 1}, 20, 4}};
static const solid_loop box_loops[24] = {{0, 8},  {4, 6}, {6, 10}, {2, 4}, {1, 5}, {3, 11},
                                         {7, 7},  {5, 9}, {0, 0},  {1, 9}, {5, 2}, {4, 8},
                                         {2, 10}, {6, 3}, {7, 11}, {3, 1}, {0, 4}, {2, 1},
                                         {3, 5},  {1, 0}, {4, 2},  {5, 7}, {7, 3}, {6, 6}};
static const solid_edge box_edges[12] = {{{0, 1}, {2, 4}}, {{2, 3}, {3, 4}}, {{4, 5}, {2, 5}},
                                         {{6, 7}, {3, 5}}, {{0, 2}, {0, 4}}, {{1, 3}, {1, 4}},
                                         {{4, 6}, {0, 5}}, {{5, 7}, {1, 5}}, {{0, 4}, {0, 2}},
                                         {{1, 5}, {1, 2}}, {{2, 6}, {0, 3}}, {{3, 7}, {1, 3}}};
static const solid_edge segment_edge[1] = {{{0, 1}, {ABUT_NONE, ABUT_NONE}}};

/* ---- hulls ---- */

/* A polytope relative to the origin of the mesh, cached in the BVH. */
typedef struct solid_hull {
    bvh_attachment part;
    const abut_bvh *bvh;
    const char *fault; /* why the mesh is not a convex hull; null if it is one */
    solid_polytope core;
    vec3 *vertices;
    solid_face *faces;
    solid_edge *edges;
    solid_loop *loops;
} solid_hull;

typedef struct hull_work {
    solid_hull *hull;
    const patch_skin *skin;
    const vec3 *positions;
    uint32_t *face_of; /* of each triangle */
    uint32_t *edge_of; /* of each edge of the mesh; ABUT_NONE inside a face */
    uint32_t *number;  /* of each vertex of the mesh */
    uint32_t *queue;   /* triangles */
    uint32_t *next; /* for each vertex: the half-edge of the mesh that continues the boundary of the
                       current face */
    double size;
    bool merges; /* coplanar triangles */
} hull_work;

static vec3 corner_position(const hull_work *w, uint32_t triangle, int k) {
    return w->positions[w->skin->corner[3 * (size_t)triangle + (size_t)k]];
}

static vec3 triangle_area(const hull_work *w, uint32_t t) {
    vec3 p = corner_position(w, t, 0);
    return v3_cross(v3_sub(corner_position(w, t, 1), p), v3_sub(corner_position(w, t, 2), p));
}

/* The neighbour of a triangle across an edge. */
static uint32_t neighbour(const hull_work *w, uint32_t triangle, int k) {
    const uint32_t *faces;
    abuti_edge_faces(&w->skin->view, w->skin->view.triangle_edges[3 * (size_t)triangle + (size_t)k],
                     &faces);
    return faces[0] == triangle ? faces[1] : faces[0];
}

/* Assigns a triangle, and all coplanar triangles connected to it, to a face. */
static void grow_face(hull_work *w, uint32_t seed, uint32_t face) {
    vec3 normal = v3_normalise(triangle_area(w, seed)), at = corner_position(w, seed, 0);
    uint32_t count = 0;
    w->face_of[seed] = face;
    w->queue[count++] = seed;
    while (count && w->merges) {
        uint32_t t = w->queue[--count];
        for (int k = 0; k < 3; k++) {
            uint32_t other = neighbour(w, t, k);
            bool flat =
                w->face_of[other] == ABUT_NONE && v3_dot(triangle_area(w, other), normal) >= 0;
            for (int i = 0; i < 3 && flat; i++)
                flat = fabs(v3_dot(normal, v3_sub(corner_position(w, other, i), at))) <=
                       FLAT_TOLERANCE * w->size;
            if (flat) {
                w->face_of[other] = face;
                w->queue[count++] = other;
            }
        }
    }
}

/* Groups triangles into faces. Large triangles come first, since their planes are most accurate.
 * Returns the number of faces, or 0 if a triangle without area is in no face. */
static uint32_t group_faces(hull_work *w) {
    uint32_t triangles = w->skin->bvh->triangle_count, count = 0, remaining = triangles;
    for (uint32_t t = 0; t < triangles; t++)
        w->face_of[t] = ABUT_NONE;
    for (double min_area = FIRST_SEED_AREA * w->size * w->size; remaining;
         min_area *= SEED_AREA_RATIO) {
        remaining = 0;
        for (uint32_t t = 0; t < triangles; t++) {
            if (w->face_of[t] != ABUT_NONE)
                continue;
            double area = v3_length(triangle_area(w, t));
            if (area > min_area)
                grow_face(w, t, count++);
            else if (!(area > 0) && !(min_area > 0))
                return 0;
            else
                remaining++;
        }
    }
    return count;
}

/* Whether the boundary of a face turns at a vertex between two of its edges. */
static bool boundary_turns(const hull_work *w, vec3 before, vec3 at, vec3 after) {
    segment3 past = {{before, after}};
    return segment_closest_point(past, at).distance > CORNER_TOLERANCE * w->size;
}

/* Marks the edges of the mesh between faces. Numbers the vertices at which at least three of them
 * end, or two that turn. At other vertices an edge of the polytope continues. */
static void number_vertices(hull_work *w) {
    const abut_topology_arrays *view = &w->skin->view;
    solid_hull *hull = w->hull;
    for (uint32_t v = 0; v < view->vertex_count; v++)
        w->number[v] = w->next[v] = 0;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        const uint32_t *faces, *ends = view->edges + 2 * (size_t)e;
        abuti_edge_faces(view, e, &faces);
        bool inner = w->face_of[faces[0]] == w->face_of[faces[1]];
        w->edge_of[e] = inner ? ABUT_NONE : UNNUMBERED;
        for (int k = 0; k < 2 && !inner; k++) {
            uint32_t at = ends[k], to = ends[!k]; /* here `next` is the previous neighbour */
            if (++w->number[at] == 2 &&
                boundary_turns(w, w->positions[w->next[at]], w->positions[at], w->positions[to]))
                w->number[at] = 3;
            w->next[at] = to;
        }
    }
    for (uint32_t v = 0; v < view->vertex_count; v++) {
        bool ends = w->number[v] > 2;
        w->number[v] = ends ? hull->core.vertex_count : ABUT_NONE;
        if (ends)
            hull->vertices[hull->core.vertex_count++] = w->positions[v];
    }
}

/* The edge of the mesh that continues the boundary of a face from a vertex; `to` is its other end.
 */
static uint32_t next_boundary_edge(const hull_work *w, uint32_t from, uint32_t *to) {
    uint32_t half = w->next[from];
    *to = w->skin->corner[half - half % 3 + (half + 1) % 3];
    return w->skin->view.triangle_edges[half];
}

/* Adds a corner of a face and the edge from it to the next corner. `sides` counts the remaining
 * boundary edges of the mesh. Returns the vertex at which the edge ends, or ABUT_NONE on failure.
 */
static uint32_t add_face_corner(hull_work *w, uint32_t face, uint32_t from, uint32_t *sides) {
    solid_hull *hull = w->hull;
    uint32_t at = from, to, first = next_boundary_edge(w, from, &to), edge = w->edge_of[first];
    const uint32_t *faces;
    abuti_edge_faces(&w->skin->view, first, &faces);
    uint32_t f[2] = {w->face_of[faces[0]], w->face_of[faces[1]]};
    bool added = edge == UNNUMBERED;
    if (added)
        edge = hull->core.edge_count++;
    do {
        if (!*sides || w->face_of[w->next[at] / 3] != face)
            return ABUT_NONE;
        w->edge_of[next_boundary_edge(w, at, &to)] = edge;
        at = to;
        --*sides;
    } while (w->number[at] == ABUT_NONE);
    if (added)
        hull->edges[edge] = (solid_edge){{w->number[from], w->number[at]}, {f[0], f[1]}};
    hull->loops[hull->faces[face].begin + hull->faces[face].count++] =
        (solid_loop){w->number[from], edge};
    return at;
}

/* Traces the boundary of a face and computes its normal. Returns false if the boundary is not one
 * loop. */
static bool trace_boundary(hull_work *w, uint32_t face, const uint32_t *members,
                           uint32_t member_count, uint32_t *loop_count) {
    solid_hull *hull = w->hull;
    solid_face *f = &hull->faces[face];
    uint32_t sides = 0, start = ABUT_NONE;
    for (uint32_t i = 0; i < member_count; i++)
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t half = 3 * members[i] + k, from = w->skin->corner[half];
            if (w->edge_of[w->skin->view.triangle_edges[half]] == ABUT_NONE)
                continue;
            start = w->number[from] == ABUT_NONE ? start : from;
            w->next[from] = half;
            sides++;
        }
    *f = (solid_face){{0, 0, 0}, *loop_count, 0};
    if (start == ABUT_NONE)
        return false;
    for (uint32_t at = start; at != start || !f->count;) {
        at = add_face_corner(w, face, at, &sides);
        if (at == ABUT_NONE)
            return false;
    }
    vec3 first = hull->vertices[hull->loops[f->begin].vertex];
    for (uint32_t i = 1; i + 1 < f->count; i++) /* Newell's method */
        f->normal =
            v3_add(f->normal,
                   v3_cross(v3_sub(hull->vertices[hull->loops[f->begin + i].vertex], first),
                            v3_sub(hull->vertices[hull->loops[f->begin + i + 1].vertex], first)));
    f->normal = v3_normalise(f->normal);
    *loop_count += f->count;
    return !sides && v3_max_abs(f->normal) > 0;
}

/* Whether no vertex of the polytope is above a triangle. */
static bool is_convex(const hull_work *w) {
    const solid_hull *hull = w->hull;
    for (uint32_t t = 0; t < w->skin->bvh->triangle_count; t++) {
        vec3 area = triangle_area(w, t), normal = v3_normalise(area), at = corner_position(w, t, 0);
        double longest = 0;
        for (int k = 0; k < 3; k++)
            longest = real_max(longest, v3_length(v3_sub(corner_position(w, t, k),
                                                         corner_position(w, t, (k + 1) % 3))));
        double relative_height =
            v3_length(area) / longest / w->size; /* its smallest height relative to the size */
        double max_height = CONVEX_TOLERANCE * w->size / real_min(relative_height, 1);
        for (uint32_t v = 0; v < hull->core.vertex_count; v++)
            if (v3_dot(normal, v3_sub(hull->vertices[v], at)) > max_height)
                return false;
    }
    return true;
}

/* Sorts the triangles by face into `queue`. Then faces[f].begin is the end of the range of face f.
 */
static void sort_members(hull_work *w) {
    solid_hull *hull = w->hull;
    uint32_t triangles = w->skin->bvh->triangle_count;
    for (uint32_t t = 0; t < triangles; t++)
        hull->faces[w->face_of[t]].count++;
    for (uint32_t f = 0, sum = 0; f < hull->core.face_count; f++) {
        hull->faces[f].begin = sum;
        sum += hull->faces[f].count;
    }
    for (uint32_t t = 0; t < triangles; t++)
        w->queue[hull->faces[w->face_of[t]].begin++] = t;
}

/* Builds faces, vertices and boundaries. Returns false if a boundary is not one loop. */
static bool build_faces(hull_work *w) {
    solid_hull *hull = w->hull;
    hull->core = (solid_polytope){.face_count = group_faces(w)};
    if (!hull->core.face_count)
        return false;
    number_vertices(w);
    memset(hull->faces, 0, hull->core.face_count * sizeof *hull->faces);
    sort_members(w);
    uint32_t loops = 0;
    for (uint32_t f = 0, begin = 0; f < hull->core.face_count; f++) {
        uint32_t end = hull->faces[f].begin; /* sort_members() has moved it to the end */
        if (!trace_boundary(w, f, w->queue + begin, end - begin, &loops))
            return false;
        begin = end;
    }
    return true;
}

static const char *build_polytope(hull_work *w) {
    solid_hull *hull = w->hull;
    w->merges = true;
    bool is_built = build_faces(w);
    if (!is_built) {
        w->merges = false;
        is_built = build_faces(w);
    }
    if (!hull->core.face_count)
        return "it has triangles without area outside all faces";
    if (!is_built || !is_convex(w))
        return "it is not convex; abut_mesh_create_hull() computes the hull of its points";
    hull->core.vertices = hull->vertices;
    hull->core.faces = hull->faces;
    hull->core.edges = hull->edges;
    hull->core.loops = hull->loops;
    return NULL;
}

/* Why the topology of a mesh excludes a hull; null if it does not. Positions are not examined. */
static const char *find_topology_fault(const patch_skin *skin) {
    const abut_mesh *mesh = skin->bvh->mesh;
    if (skin->reliability.level != ABUT_RELIABILITY_GUARANTEED)
        return "it is not closed, or its triangles face opposite ways";
    for (uint32_t e = 0; e < skin->view.edge_count; e++) {
        const uint32_t *faces;
        if (abuti_edge_faces(&skin->view, e, &faces) != 2)
            return "an edge has more than two triangles";
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        size_t own = skin->is_reversed ? i - i % 3 + 2 - i % 3 : i;
        vec3 p = mesh->positions[mesh->indices[own]], q = mesh->positions[skin->corner[i]];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return "vertices that coincided have moved apart";
    }
    return NULL;
}

static abut_status fill_hull(solid_hull *hull) {
    const abut_mesh *mesh = hull->bvh->mesh;
    hull_work w = {.hull = hull, .positions = mesh->positions};
    abut_context *context = hull->part.context;
    abut_status status = abuti_patch_skin(hull->bvh, false, &w.skin);
    if (status)
        return status;
    hull->fault = find_topology_fault(w.skin);
    if (hull->fault)
        return ABUT_OK;
    uint32_t triangles = mesh->triangle_count, edges = w.skin->view.edge_count;
    w.size = w.skin->size;
    status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(w.face_of, triangles), ABUTI_ARRAY(w.queue, triangles),
                       ABUTI_ARRAY(w.edge_of, edges), ABUTI_ARRAY(w.number, mesh->vertex_count),
                       ABUTI_ARRAY(w.next, mesh->vertex_count),
                       ABUTI_ARRAY(hull->vertices, mesh->vertex_count),
                       ABUTI_ARRAY(hull->faces, triangles), ABUTI_ARRAY(hull->edges, edges),
                       ABUTI_ARRAY(hull->loops, 2 * (size_t)edges));
    if (!status)
        hull->fault = build_polytope(&w);
    ABUTI_RELEASE(context, w.face_of, w.queue, w.edge_of, w.number, w.next);
    return status;
}

static void destroy_hull(bvh_attachment *part) {
    solid_hull *hull = (solid_hull *)(void *)part;
    ABUTI_RELEASE(part->context, hull->vertices, hull->faces, hull->edges, hull->loops);
}

static abut_status create_hull(bvh_attachment *part, void *owner) {
    solid_hull *hull = (solid_hull *)(void *)part;
    hull->bvh = owner;
    return fill_hull(hull);
}

static abut_status refit_hull(bvh_attachment *part) {
    solid_hull *hull = (solid_hull *)(void *)part;
    destroy_hull(part);
    *hull = (solid_hull){.part = hull->part, .bvh = hull->bvh};
    return fill_hull(hull);
}

static const bvh_attachment_kind hull_kind = {sizeof(solid_hull), create_hull, refit_hull,
                                              destroy_hull};

/* Returns the hull of a mesh. The first call builds it, and the BVH caches it. Thread-safe. */
static abut_status get_hull(const char *function, const abut_bvh *bvh, const solid_hull **hull) {
    bvh_attachment *part;
    if (bvh->triangle_count > MAX_HULL_TRIANGLES)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: a hull has %u triangles; at most %d are allowed",
                          function, bvh->triangle_count, MAX_HULL_TRIANGLES);
    abut_status status = abuti_bvh_share_attachment(bvh, &hull_kind, &part);
    if (status)
        return status;
    *hull = (const solid_hull *)(const void *)part;
    return (*hull)->fault ? abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a mesh is not a convex hull: %s",
                                       function, (*hull)->fault)
                          : ABUT_OK;
}

/* ---- validation ---- */

abut_status abuti_solid_check(const char *function, const char *what, const abut_collider *solid) {
    abut_status status = abuti_pose_check(function, what, &solid->pose);
    if (status || solid->kind != ABUT_COLLIDER_HULL)
        return status ? status : abuti_collider_check_primitive(function, what, solid);
    const solid_hull *hull;
    status = abuti_bvh_check(function, solid->shape.hull, solid, what);
    return status ? status : get_hull(function, solid->shape.hull, &hull);
}

/* ---- frame ---- */

/* A point at the centre of a solid, or on a plane. */
static vec3 reference_point(const abut_collider *s) {
    const abut_vec3 *end = s->shape.capsule.end;
    switch (s->kind) {
    case ABUT_COLLIDER_PLANE: {
        vec3 n = v3_normalise(s->shape.plane.normal);
        return v3_scale(n, s->shape.plane.offset / v3_length(s->shape.plane.normal));
    }
    case ABUT_COLLIDER_SPHERE:
        return s->shape.sphere.centre;
    case ABUT_COLLIDER_CAPSULE:
    case ABUT_COLLIDER_CYLINDER:
        return v3_lerp(end[0], end[1], 0.5);
    case ABUT_COLLIDER_HULL:
        return s->shape.hull->mesh->origin;
    default:
        return v3(0, 0, 0);
    }
}

/* Sets everything except the pose. */
static void set_body_shape(solid_body *body, const abut_collider *s) {
    body->kind = s->kind;
    body->radius = 0;
    body->axis = v3(0, 0, 0);
    body->core = (solid_polytope){.vertices = body->own_vertices};
    double size = 0;
    const abut_vec3 *end = s->shape.capsule.end;
    vec3 half =
        s->kind == ABUT_COLLIDER_BOX ? s->shape.half : v3_scale(v3_sub(end[1], end[0]), 0.5);
    switch (s->kind) {
    case ABUT_COLLIDER_PLANE:
        body->axis = v3_normalise(s->shape.plane.normal);
        body->offset = 0;
        break;
    case ABUT_COLLIDER_SPHERE:
        body->radius = s->shape.sphere.radius;
        body->core.vertex_count = 1;
        body->own_vertices[0] = v3(0, 0, 0);
        break;
    case ABUT_COLLIDER_CAPSULE:
        body->radius = s->shape.capsule.radius;
        body->core.vertex_count = v3_max_abs(half) > 0 ? 2 : 1;
        body->core.edge_count = body->core.vertex_count - 1;
        body->core.edges = segment_edge;
        body->own_vertices[0] = v3_scale(half, -1);
        body->own_vertices[1] = half;
        size = v3_length(half);
        break;
    case ABUT_COLLIDER_BOX:
        body->core =
            (solid_polytope){body->own_vertices, box_faces, box_edges, box_loops, 8, 6, 12};
        for (int i = 0; i < 8; i++)
            body->own_vertices[i] =
                v3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z);
        size = v3_length(half);
        break;
    case ABUT_COLLIDER_CYLINDER:
        body->axis = v3_normalise(half);
        body->half_length = v3_length(half);
        body->cylinder_radius = s->shape.cylinder.radius;
        size = body->half_length + body->cylinder_radius;
        break;
    case ABUT_COLLIDER_HULL: {
        const solid_hull *hull = NULL;
        get_hull("", s->shape.hull, &hull); /* was built by abuti_solid_check() */
        body->core = hull->core;
        size = v3_length(v3_sub(s->shape.hull->mesh->bounds.hi, s->shape.hull->mesh->bounds.lo));
        break;
    }
    default: /* not primitives */
        break;
    }
    body->size = size;
}

void abuti_solid_transform(const abut_collider *a, const abut_collider *b, solid_body *body_a,
                           solid_body *body_b, abuti_motion *motion, vec3 *origin) {
    *motion = abuti_motion_of(&b->pose);
    *origin = reference_point(b);
    mat3 back = m3_transpose(&motion->rotation), turn = quat_matrix(a->pose.rotation);
    set_body_shape(body_a, a);
    set_body_shape(body_b, b);
    body_a->is_rotated = true;
    body_a->turn = m3_multiply(&back, &turn);
    body_a->shift = m3_apply(&back, v3_sub(a->pose.translation, b->pose.translation));
    body_a->shift =
        v3_add(body_a->shift, v3_sub(m3_apply(&body_a->turn, reference_point(a)), *origin));
    body_a->axis = m3_apply(&body_a->turn, body_a->axis);
    body_a->size += v3_length(body_a->shift);
    body_b->is_rotated = false;
    body_b->shift = v3(0, 0, 0);
}

/* ---- support points ---- */

uint32_t abuti_solid_support_vertex(const solid_body *s, vec3 direction) {
    vec3 d = solid_rotate_back(s, direction);
    if (s->kind == ABUT_COLLIDER_BOX)
        return (uint32_t)(d.x > 0) | (uint32_t)(d.y > 0) << 1 | (uint32_t)(d.z > 0) << 2;
    uint32_t best = 0;
    double max_dot = v3_dot(s->core.vertices[0], d);
    for (uint32_t i = 1; i < s->core.vertex_count; i++) {
        double here = v3_dot(s->core.vertices[i], d);
        if (here > max_dot) {
            max_dot = here;
            best = i;
        }
    }
    return best;
}

vec3 abuti_solid_support(const solid_body *s, vec3 direction) {
    if (s->kind != ABUT_COLLIDER_CYLINDER)
        return solid_vertex(s, abuti_solid_support_vertex(s, direction));
    double along = v3_dot(direction, s->axis);
    vec3 across = v3_along(direction, -along, s->axis);
    across = v3_along(across, -v3_dot(across, s->axis),
                      s->axis); /* removes the rounding error of the first projection */
    across = v3_length(across) > 1e-15 * fabs(along) ? v3_normalise(across) : v3(0, 0, 0);
    vec3 end = v3_along(s->shift, along > 0 ? s->half_length : -s->half_length, s->axis);
    return v3_along(end, s->cylinder_radius, across);
}
