/* The intersection contour of two surfaces, for any input.
 *
 * Problem: where do two surfaces intersect? No decision may depend on rounded coordinates, also for
 * coplanar faces, vertices on faces, edges on edges, a mesh with itself.
 *
 * Method. b is shifted symbolically by (e, e^2, e^3), where e is positive and smaller than every
 * number (Edelsbrunner and Muecke 1990, "Simulation of simplicity"). Volumes are the same in the
 * limit, and no four points of the two meshes that matter are coplanar any more. If the exact sign
 * of a volume is 0, the first coordinate in which its derivative is not 0 decides. That derivative
 * is 0 in two cases only. For parallel edges it is never evaluated, since an edge that is parallel
 * to an edge of a triangle does not cross its plane. Triangles without area are not crossed by
 * anything, but their edges cross other triangles: twice or not at all, since they form a closed
 * curve.
 *
 * Two triangles intersect in nothing or in a segment. The ends of the segment are crossings of an
 * edge of one triangle with the other triangle. An edge that crosses a triangle from above enters
 * the other body: the winding number increases by one. All triangles at an edge find the same
 * crossings, bit for bit.
 */
#include "pair/contour.h"

#include "geom/predicates_shared.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Error bounds. Let u = 2^-53, E the product of the longest sides of two edges and M the largest
 * coordinate. A normal has an error of 12 u E per axis, which contributes 36 u E 2 M, and both
 * products with it have errors of 48 u E M: less than 128 u E M in total. Directions have a
 * relative error of u and moments 6 times that. In a volume this contributes 48 u E M, products and
 * sums 100 u E M. */
#define PLANE_SIDE_ERROR 0x1p-46
#define EDGE_VOLUME_ERROR 0x1p-45
/* Heights of at most this many error bounds are computed exactly before a division by them. */
#define EXACT_HEIGHT_FACTOR 0x1p16
/* Minimum squared cosine between the normals of parallel faces. */
#define MIN_PARALLEL_COSINE_SQ 0.999

/* ---- triangles ---- */

/* Returns the triangle at an index of the leaves, cached or computed. */
static const contour_face *cached_face(contour_search *search, int side, uint32_t index) {
    const contour_body *body = &search->body[side];
    contour_face *f = &search->faces[side][index % CONTOUR_CACHED_FACES];
    if (search->cached[side][index % CONTOUR_CACHED_FACES] == index)
        return f;
    search->cached[side][index % CONTOUR_CACHED_FACES] = index;
    f->face = body->bvh->order[index];
    f->corner = body->corner + 3 * (size_t)f->face;
    f->collapsed = abuti_is_collapsed(f->corner);
    f->longest = f->largest = 0;
    for (int k = 0; k < 3; k++) {
        f->at[k] = contour_cached_position(search, (uint32_t)side, f->corner[k]);
        f->largest = real_max(f->largest, v3_max_abs(f->at[k]));
    }
    for (int k = 0; k < 3; k++) {
        f->direction[k] = v3_sub(f->at[k == 2 ? 0 : k + 1], f->at[k]);
        f->moment[k] = v3_cross(f->at[k], f->direction[k]);
        f->longest = real_max(f->longest, v3_max_abs(f->direction[k]));
    }
    f->normal = v3_cross(f->direction[2], f->direction[0]);
    f->offset = v3_dot(f->normal, f->at[0]);
    return f;
}

/* ---- signs ---- */

/* The side of a plane on which a point of the plane is after the symbolic shift of b. `side` is the
 * body of the point: 0 for a, 1 for b. */
static int perturbed_plane_side(const vec3 plane[3], int side) {
    for (int axis = 0; axis < 3; axis++) {
        int sign = orient2d_axis(axis, plane[0], plane[1], plane[2]);
        if (sign)
            return side ? sign : -sign;
    }
    return 0;
}

/* The orientation of two coplanar lines after the symbolic shift of b; see
 * exact_edge_orientation(). */
static int perturbed_edge_orientation(vec3 a0, vec3 a1, vec3 b0, vec3 b1) {
    const exact_entry a[3] = {exact_difference(a1.x, a0.x), exact_difference(a1.y, a0.y),
                              exact_difference(a1.z, a0.z)},
                      b[3] = {exact_difference(b1.x, b0.x), exact_difference(b1.y, b0.y),
                              exact_difference(b1.z, b0.z)};
    for (int axis = 0; axis < 3; axis++) {
        int i = (axis + 1) % 3, k = (axis + 2) % 3;
        int sign = sign_of(det2_value(b[i], b[k], a[i], a[k]));
        if (sign)
            return sign;
    }
    return 0;
}

static bool is_same_point(vec3 p, vec3 q) {
    return p.x == q.x && p.y == q.y && p.z == q.z;
}

/* The side of a plane on which a point is. For a mesh that intersects itself most such points are
 * corners of the plane. They are tested first, since exact signs of zeros are slow. */
static int exact_plane_side(const vec3 plane[3], vec3 p) {
    if (is_same_point(p, plane[0]) || is_same_point(p, plane[1]) || is_same_point(p, plane[2]))
        return 0;
    return orient3d(plane[0], plane[1], plane[2], p);
}

/* The sign of the volume of the tetrahedron a0 a1 b0 b1, after the symbolic shift if it is 0. */
static int exact_edge_orientation(vec3 a0, vec3 a1, vec3 b0, vec3 b1) {
    if (is_same_point(a0, b0) || is_same_point(a0, b1) || is_same_point(a1, b0) ||
        is_same_point(a1, b1))
        return perturbed_edge_orientation(a0, a1, b0, b1);
    int sign = orient3d(a0, a1, b0, b1);
    return sign ? sign : perturbed_edge_orientation(a0, a1, b0, b1);
}

/* The height of corner k of face[side], computed exactly if rounding errors matter. */
static double accurate_height(const contour_pair *pair, int side, int k) {
    const contour_heights *h = &pair->of[side];
    const vec3 *plane = pair->face[!side]->at;
    return fabs(h->value[k]) > EXACT_HEIGHT_FACTOR * h->error
               ? h->value[k]
               : orient3d_value(plane[0], plane[1], plane[2], pair->face[side]->at[k]);
}

/* Computes the heights of the corners of face[side]. Returns false if all corners are on one side
 * of the plane; not if the plane is undefined. Exact signs are then computed only if is_required is
 * set. */
static inline bool compute_plane_heights(contour_pair *pair, int side, double largest,
                                         bool is_required) {
    const contour_face *f = pair->face[side], *plane = pair->face[!side];
    contour_heights *h = &pair->of[side];
    h->error = PLANE_SIDE_ERROR * plane->longest * plane->longest * largest;
    h->zeros = 0;
    for (int k = 0; k < 3; k++)
        h->value[k] = v3_dot(plane->normal, f->at[k]) - plane->offset;
    if (!is_required &&
        ((h->value[0] > h->error && h->value[1] > h->error && h->value[2] > h->error) ||
         (h->value[0] < -h->error && h->value[1] < -h->error && h->value[2] < -h->error)))
        return false;
    for (int k = 0; k < 3; k++) {
        double v = h->value[k];
        h->above[k] = v > h->error ? 1 : v < -h->error ? -1 : exact_plane_side(plane->at, f->at[k]);
        if (!h->above[k]) {
            h->zeros++;
            h->value[k] = 0;
            h->above[k] = perturbed_plane_side(plane->at, side);
        } else if (is_required || v == 0) {
            h->value[k] = accurate_height(pair, side, k);
        }
    }
    return !h->above[0] || h->above[0] != h->above[1] || h->above[1] != h->above[2];
}

/* ---- crossings ---- */

/* Returns the sign of the volume of edge i of a and edge j of b. */
static inline int edge_orientation(const contour_face *a, int i, const contour_face *b, int j,
                                   double error) {
    double volume = v3_dot(a->direction[i], b->moment[j]) + v3_dot(b->direction[j], a->moment[i]);
    if (volume > error)
        return 1;
    if (volume < -error)
        return -1;
    return exact_edge_orientation(a->at[i], a->at[i == 2 ? 0 : i + 1], b->at[j],
                                  b->at[j == 2 ? 0 : j + 1]);
}

/* Lists the two edges of a triangle that intersect the plane of the other, or all if that plane is
 * undefined. Returns their number. */
static inline int list_edges(const contour_heights *h, int edges[3]) {
    int count = 0;
    for (int k = 0; k < 3; k++)
        if (!h->above[0] || h->above[k] != h->above[k == 2 ? 0 : k + 1])
            edges[count++] = k;
    return count;
}

/* The intersection of edge k of face[side] with the other face. */
static contour_crossing make_crossing(const contour_pair *pair, int side, int k) {
    const contour_face *f = pair->face[side];
    int next = k == 2 ? 0 : k + 1;
    /* Starts at the vertex with the lower index, so that both triangles at the edge get the same
     * bits. */
    int from = f->corner[k] < f->corner[next] ? k : next, to = from == k ? next : k;
    double p = accurate_height(pair, side, from), q = accurate_height(pair, side, to),
           t = p / (p - q);
    t = t >= 0 && t <= 1 ? t : 0.5; /* 0 / 0: both ends are in the plane */
    return (contour_crossing){side, k, pair->of[side].above[k] > 0 ? 1 : -1, t,
                              v3_lerp(f->at[from], f->at[to], t)};
}

/* Finds the crossings of two triangles, each with corners on both sides of the other's plane. The
 * edges that intersect the planes intersect their common line too. The signs of the volumes of
 * these edges determine their order along the line: an edge lies between those of the other
 * triangle, so it crosses that triangle, if its volumes with both have the same sign. Returns 0
 * or 2. */
static inline int find_crossings(const contour_pair *pair, double error,
                                 contour_crossing found[2]) {
    int edges[2][3], sign[3][3], number = 0;
    const int count[2] = {list_edges(&pair->of[0], edges[0]), list_edges(&pair->of[1], edges[1])};
    for (int i = 0; i < count[0]; i++)
        for (int j = 0; j < count[1]; j++)
            sign[i][j] =
                edge_orientation(pair->face[0], edges[0][i], pair->face[1], edges[1][j], error);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count[side] && pair->of[side].above[0] && number < 2; i++) {
            bool crosses = true;
            for (int j = 1; j < count[!side]; j++)
                crosses &= side ? sign[j][i] == sign[0][i] : sign[i][j] == sign[i][0];
            if (crosses)
                found[number++] = make_crossing(pair, side, edges[side][i]);
        }
    return number;
}

/* ---- traversal ---- */

static void intersect_faces(contour_search *search, const contour_face *f, const contour_face *g) {
    contour_pair pair;
    double largest = real_max(f->largest, g->largest), cosine = 0;
    bool parallel = false;
    pair.face[0] = f;
    pair.face[1] = g;
    if (search->visit_parallel) {
        double lengths_sq = v3_length_sq(f->normal) * v3_length_sq(g->normal);
        cosine = v3_dot(f->normal, g->normal);
        parallel = lengths_sq > 0 && cosine * cosine >= MIN_PARALLEL_COSINE_SQ * lengths_sq;
    }
    bool both = compute_plane_heights(&pair, 0, largest, parallel);
    if (!both && !parallel)
        return;
    both = compute_plane_heights(&pair, 1, largest, parallel) && both;
    if (parallel)
        search->visit_parallel(search->data, &pair, cosine);
    if (!both)
        return;
    contour_crossing found[2];
    if (find_crossings(&pair, EDGE_VOLUME_ERROR * largest * f->longest * g->longest, found) < 2)
        return;
    /* Inside is to the left: on a, the segment begins where an edge of a leaves b. */
    int begin = (found[0].jump < 0) == (found[0].side == 0) ? 0 : 1;
    search->visit_segment(search->data, &pair, found, begin);
}

/* A pair_visit callback: two leaves with triangles that may intersect. */
static bool visit_leaf_pair(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned candidates) {
    contour_search *search = data;
    search->has_candidates = true;
    for (; candidates; candidates &= candidates - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(candidates);
        const contour_face *f = cached_face(search, 0, leaf_a * BVH_WIDTH + bit / BVH_WIDTH),
                           *g = cached_face(search, 1, leaf_b * BVH_WIDTH + bit % BVH_WIDTH);
        if (!f->collapsed && !g->collapsed)
            intersect_faces(search, f, g);
    }
    return search->status != ABUT_OK;
}

abut_status abuti_contour_find(contour_search *search, const pair_frame *frame, const char *what) {
    memset(search->cached, 0xff, sizeof search->cached); /* ABUT_NONE */
    memset(search->cached_vertex, 0xff, sizeof search->cached_vertex);
    abuti_pair_candidates(frame, visit_leaf_pair, search);
    return search->status ? search->status : abuti_stop_status(what);
}

/* ---- winding numbers ---- */

/* The orientation of the edge from t0 to t1 with respect to the line from p along `direction`,
 * after the symbolic shift if it is 0. `side` is the body of the edge. */
static int line_edge_orientation(vec3 p, vec3 direction, vec3 t0, vec3 t1, int side) {
    int sign = orient3d_along(p, direction, t0, t1);
    /* The derivative is (t1 - t0) x direction, with the sign of the shift of t relative to p. */
    sign =
        sign ? sign
             : -orient2d_along(t0.y, t0.z, direction.y, direction.z, t1.y, t1.z) * (side ? 1 : -1);
    sign =
        sign ? sign
             : -orient2d_along(t0.z, t0.x, direction.z, direction.x, t1.z, t1.x) * (side ? 1 : -1);
    return sign ? sign
                : -orient2d_along(t0.x, t0.y, direction.x, direction.y, t1.x, t1.y) *
                      (side ? 1 : -1);
}

/* Whether a line along the first axis of a BVH may intersect a triangle. False is certain. */
static bool line_overlaps_bounds(const contour_body *body, const uint32_t *corner, vec3 own,
                                 double pad) {
    const vec3 *positions = body->bvh->mesh->positions;
    vec3 p = positions[corner[0]], q = positions[corner[1]], r = positions[corner[2]];
    return real_min(p.y, real_min(q.y, r.y)) <= own.y + pad &&
           real_max(p.y, real_max(q.y, r.y)) >= own.y - pad &&
           real_min(p.z, real_min(q.z, r.z)) <= own.z + pad &&
           real_max(p.z, real_max(q.z, r.z)) >= own.z - pad;
}

/* The contribution of a triangle of body `side` to the winding number around p, from a ray that
 * starts at p. */
static int32_t ray_winding_contribution(const contour_body *body, int side, const uint32_t *corner,
                                        vec3 p, vec3 direction) {
    vec3 t[3];
    for (int k = 0; k < 3; k++)
        t[k] = contour_position(body, corner[k]);
    int orientation = line_edge_orientation(p, direction, t[0], t[1], side);
    if (!orientation || line_edge_orientation(p, direction, t[1], t[2], side) != orientation ||
        line_edge_orientation(p, direction, t[2], t[0], side) != orientation)
        return 0;
    int above = orient3d(t[0], t[1], t[2], p);
    above = above ? above : perturbed_plane_side(t, !side);
    return above == -orientation ? orientation : 0;
}

/* Padding of a ray along the first axis of the BVH of the surface. Boxes of the BVH have
 * coordinates up to 2. A point that is transformed back from the frame has an error of a few ulps
 * of the distance, which is at most 64. */
#define RAY_PADDING 0x1p-40

int32_t abuti_contour_winding(const contour_search *search, int side, vec3 point) {
    const contour_body *body = &search->body[side];
    const abut_bvh *bvh = body->bvh;
    double back = bvh->scale / body->unit;
    vec3 own = v3_scale(point, back), direction = v3(1, 0, 0);
    if (body->is_rotated) {
        mat3 turn_back = m3_transpose(&body->rotation);
        own = v3_scale(m3_apply(&turn_back, v3_sub(point, body->shift)), back / body->unit);
        direction = v3_scale(turn_back.row[0], 1 / body->unit);
    }
    vec3 in_mesh = v3_scale(own, 1 / bvh->scale);
    uint32_t stack[3 * BVH_DEPTH + 4], used = 0;
    int32_t winding = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t child = stack[--used];
        if (child & BVH_LEAF) {
            uint32_t leaf = child & ~BVH_LEAF, fill = bvh_leaf_fill(bvh, leaf);
            for (uint32_t i = 0; i < fill; i++) {
                const uint32_t *corner =
                    body->corner + 3 * (size_t)bvh->order[leaf * BVH_WIDTH + i];
                if (line_overlaps_bounds(body, corner, in_mesh, RAY_PADDING / bvh->scale))
                    winding += ray_winding_contribution(body, side, corner, point, direction);
            }
            continue;
        }
        const bvh_node *node = &bvh->nodes[child];
        for (int i = 0; i < BVH_WIDTH; i++)
            if (node->hi[0][i] >= own.x - RAY_PADDING && node->lo[1][i] <= own.y + RAY_PADDING &&
                node->hi[1][i] >= own.y - RAY_PADDING && node->lo[2][i] <= own.z + RAY_PADDING &&
                node->hi[2][i] >= own.z - RAY_PADDING)
                stack[used++] = node->child[i];
        assert(used <= sizeof stack / sizeof *stack);
    }
    return winding;
}
