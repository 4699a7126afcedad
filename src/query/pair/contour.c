/* The intersection contour of two closed surfaces, for any input.
 *
 * Problem: volumes and areas of the intersection of two solids are needed for any input: coplanar
 * faces, vertices on faces, edges on edges, a mesh with itself.
 *
 * Method. b is shifted symbolically by (e, e^2, e^3), where e is positive and smaller than every
 * number (Edelsbrunner and Muecke 1990, "Simulation of simplicity"). Volumes are the same in the
 * limit, and no four points of the two meshes that matter are coplanar any more. If the exact sign
 * of a volume is 0, the first coordinate in which its derivative is not 0 decides. That derivative
 * is 0 in two cases only. For parallel edges it is never evaluated, since an edge that is parallel
 * to an edge of a triangle does not cross its plane. Triangles without area are not crossed by
 * anything.
 *
 * Two triangles intersect in nothing or in a segment. The ends of the segment are crossings of an
 * edge of one triangle with the other triangle. An edge that crosses a triangle from above enters
 * the other body: the winding number increases by one. The part of a triangle that is inside,
 * weighted by the winding number of the other surface, has a boundary of such segments, of pieces
 * of its edges between crossings, and of whole edges. Area and first moment of that part are sums
 * over boundary pieces in any order: nothing is sorted, and no polygon is built. Pieces begin and
 * end near the contour if possible, so that small parts of large triangles are as accurate as the
 * coordinates of crossings.
 *
 * Coincident triangles (within a tolerance, since rotations round) would be counted twice, once or
 * not at all, depending on the shift. Such pairs are therefore clipped against each other, and
 * their share in the sums is recorded, so that intersection_measures.c can correct it.
 */
#include "pair/contour.h"

#include "geom/predicates_shared.h"

#include <assert.h>
#include <math.h>

/* Error bounds. Let u = 2^-53, E the product of the longest sides of two edges and M the largest
 * coordinate. A normal has an error of 12 u E per axis, which contributes 36 u E 2 M, and both
 * products with it have errors of 48 u E M: less than 128 u E M in total. Directions have a
 * relative error of u and moments 6 times that. In a volume this contributes 48 u E M, products and
 * sums 100 u E M. */
#define PLANE_SIDE_ERROR 0x1p-46
#define EDGE_VOLUME_ERROR 0x1p-45
/* Heights of at most this many error bounds are computed exactly before a division by them. */
#define EXACT_HEIGHT_FACTOR 0x1p16
/* Minimum squared cosine between the normals of coincident faces. */
#define MIN_PARALLEL_COSINE_SQ 0.999

/* ---- triangles ---- */

static void transform_face(contour_work *work, int side, uint32_t face, contour_face *f) {
    const contour_body *body = &work->body[side];
    f->face = face;
    f->corner = body->surface->corner + 3 * (size_t)face;
    f->collapsed = abuti_is_collapsed(f->corner);
    f->longest = 0;
    for (int k = 0; k < 3; k++)
        f->at[k] = contour_position(body, f->corner[k]);
    for (int k = 0; k < 3; k++) {
        f->direction[k] = v3_sub(f->at[k == 2 ? 0 : k + 1], f->at[k]);
        f->moment[k] = v3_cross(f->at[k], f->direction[k]);
        f->longest = real_max(f->longest, v3_max_abs(f->direction[k]));
    }
    f->normal = v3_cross(f->direction[2], f->direction[0]);
    f->length = v3_length(f->normal);
    f->offset = v3_dot(f->normal, f->at[0]);
}

static const contour_leaf *cached_leaf(contour_work *work, int side, uint32_t number) {
    contour_leaf *leaf = &work->leaves[side][number % CONTOUR_CACHED_LEAVES];
    if (leaf->leaf == number)
        return leaf;
    const abut_bvh *bvh = work->body[side].bvh;
    leaf->leaf = number;
    leaf->count = bvh_leaf_fill(bvh, number);
    leaf->largest = 0;
    for (uint32_t i = 0; i < leaf->count; i++) {
        transform_face(work, side, bvh->order[number * BVH_WIDTH + i], &leaf->face[i]);
        for (int k = 0; k < 3; k++)
            leaf->largest = real_max(leaf->largest, v3_max_abs(leaf->face[i].at[k]));
    }
    return leaf;
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

/* The heights of the corners of a triangle above the plane of the other one, times twice its area.
 */
typedef struct plane_heights {
    double value[3], error;
    int above[3]; /* +1 is outside; 0 if the plane is undefined */
    int zeros;    /* corners in the plane, before the symbolic shift */
} plane_heights;

/* Two triangles. `orientation` has the signs of the volumes of edges of the first with edges of the
 * second, 2 = not computed yet. */
typedef struct face_pair {
    const contour_face *face[2];
    plane_heights of[2];
    int orientation[3][3];
} face_pair;

/* Computes the heights of the corners of face[side]. Returns false if all corners are on one side.
 * Exact signs are then computed only if is_required is set. */
static bool compute_plane_heights(face_pair *pair, int side, double largest, bool is_required) {
    const contour_face *f = pair->face[side], *plane = pair->face[!side];
    plane_heights *h = &pair->of[side];
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
        } else if (fabs(v) <= EXACT_HEIGHT_FACTOR * h->error) {
            h->value[k] = orient3d_value(plane->at[0], plane->at[1], plane->at[2], f->at[k]);
        }
    }
    return h->above[0] != h->above[1] || h->above[1] != h->above[2];
}

/* Computes the signs of the volumes of edge pairs that exceed the rounding error. */
static void compute_edge_orientations(face_pair *pair, double error) {
    const contour_face *a = pair->face[0], *b = pair->face[1];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double volume =
                v3_dot(a->direction[i], b->moment[j]) + v3_dot(b->direction[j], a->moment[i]);
            pair->orientation[i][j] = volume > error ? 1 : volume < -error ? -1 : 2;
        }
}

static int edge_orientation(face_pair *pair, int i, int j) {
    if (pair->orientation[i][j] == 2) {
        const vec3 *a = pair->face[0]->at, *b = pair->face[1]->at;
        vec3 a1 = a[i == 2 ? 0 : i + 1], b1 = b[j == 2 ? 0 : j + 1];
        pair->orientation[i][j] = exact_edge_orientation(a[i], a1, b[j], b1);
    }
    return pair->orientation[i][j];
}

/* ---- crossings ---- */

static contour_record *find_or_add_record(contour_work *work, int side, const contour_face *f,
                                          vec3 apex) {
    uint32_t *index = &work->record_of[side][f->face];
    if (*index != ABUT_NONE)
        return &work->records[side][*index];
    size_t count = work->count[side];
    if (!work->status && count == work->capacity[side])
        work->status = abuti_grow(work->context, &work->records[side], count, count + 64,
                                  sizeof *work->records[side], &work->capacity[side]);
    if (work->status)
        return NULL;
    contour_record *r = &work->records[side][count];
    memset(r, 0, sizeof *r);
    r->face = f->face;
    memcpy(r->at, f->at, sizeof r->at);
    r->normal = f->normal;
    r->apex = apex;
    *index = (uint32_t)count;
    work->count[side]++;
    return r;
}

typedef struct edge_crossing {
    int side, edge;
    int jump; /* of the winding number along the edge, in the direction of its triangle */
    vec3 at;
} edge_crossing;

/* Computes the crossing of edge k of face[side] with the other face. Returns false if there is
 * none. */
static bool find_crossing(face_pair *pair, int side, int k, edge_crossing *c) {
    const contour_face *f = pair->face[side];
    const plane_heights *h = &pair->of[side];
    int next = k == 2 ? 0 : k + 1, orientation[3];
    if (h->above[k] == h->above[next])
        return false;
    for (int i = 0; i < 3; i++) {
        orientation[i] = side ? edge_orientation(pair, i, k) : edge_orientation(pair, k, i);
        if (i && orientation[i] != orientation[0])
            return false;
    }
    /* Starts at the vertex with the lower index, so that both triangles at the edge get the same
     * bits. */
    int from = f->corner[k] < f->corner[next] ? k : next, to = from == k ? next : k;
    double p = h->value[from], q = h->value[to], t = p / (p - q);
    t = t >= 0 && t <= 1 ? t : 0.5; /* 0 / 0: both ends are in the plane */
    *c = (edge_crossing){side, k, h->above[k] > 0 ? 1 : -1, v3_lerp(f->at[from], f->at[to], t)};
    return true;
}

static void add_crossing(contour_record *r, const edge_crossing *c) {
    if (r->crossed[c->edge])
        contour_add_piece(r, c->jump, c->at, r->crossing[c->edge]);
    r->crossing[c->edge] = r->crossed[c->edge] ? r->crossing[c->edge] : c->at;
    r->crossed[c->edge] = true;
    r->jump[c->edge] += c->jump;
}

/* Adds the intersection segment of two triangles that each have corners on both sides of the plane
 * of the other. */
static void add_face_intersection(contour_work *work, face_pair *pair) {
    edge_crossing found[2];
    int count = 0;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 3 && count < 2; k++)
            count += find_crossing(pair, side, k, &found[count]);
    if (count < 2)
        return;
    contour_record *r[2];
    for (int side = 0; side < 2; side++)
        if (!(r[side] = find_or_add_record(work, side, pair->face[side], found[0].at)))
            return;
    /* Inside is to the left: on a, the segment begins where an edge of a leaves b. */
    int begin = (found[0].jump < 0) == (found[0].side == 0) ? 0 : 1;
    vec3 from = found[begin].at, to = found[!begin].at;
    contour_add_piece(r[0], 1, from, to);
    contour_add_piece(r[1], 1, to, from);
    for (int i = 0; i < 2; i++) {
        add_crossing(r[found[i].side], &found[i]);
        work->box = box_grow(work->box, m3_apply(&work->world, found[i].at));
    }
}

/* ---- coincident faces ---- */

/* A clip of n corners leaves at most n + n / 2, whatever the signs: 4, 6, 9 and 13 after four clips
 * of a triangle. */
enum { POLYGON_CORNERS_MAX = 16 };

/* A part of a triangle: corners, and their heights above the plane of the other triangle. */
typedef struct clipped_face {
    int count;
    vec3 at[POLYGON_CORNERS_MAX];
    double height[POLYGON_CORNERS_MAX];
} clipped_face;

/* Removes the part with negative values. */
static void clip_negative(clipped_face *p, const double *value) {
    clipped_face out = {.count = 0};
    for (int i = 0; i < p->count; i++) {
        int k = i + 1 == p->count ? 0 : i + 1;
        if (value[i] >= 0) {
            out.at[out.count] = p->at[i];
            out.height[out.count++] = p->height[i];
        }
        if ((value[i] < 0) != (value[k] < 0)) {
            double t = value[i] / (value[i] - value[k]);
            out.at[out.count] = v3_lerp(p->at[i], p->at[k], t);
            out.height[out.count++] = p->height[i] + t * (p->height[k] - p->height[i]);
        }
    }
    assert(out.count <= POLYGON_CORNERS_MAX);
    *p = out;
}

/* The part of face[side] whose projection is on the other face. */
static clipped_face clip_to_other_face(const face_pair *pair, int side) {
    const contour_face *f = pair->face[side], *other = pair->face[!side];
    clipped_face p = {.count = 3};
    for (int k = 0; k < 3; k++) {
        p.at[k] = f->at[k];
        p.height[k] = pair->of[side].value[k] / other->length;
    }
    for (int k = 0; k < 3; k++) {
        double value[POLYGON_CORNERS_MAX];
        vec3 in = v3_cross(other->normal, other->direction[k]);
        for (int i = 0; i < p.count; i++)
            value[i] = v3_dot(in, v3_sub(p.at[i], other->at[k]));
        clip_negative(&p, value);
    }
    return p;
}

/* Returns the area along a unit normal. Adds to the first moment. */
static double polygon_area(const clipped_face *p, vec3 normal, vec3 *moment) {
    double area = 0;
    for (int i = 2; i < p->count; i++) {
        vec3 d0 = v3_sub(p->at[i - 1], p->at[0]), d1 = v3_sub(p->at[i], p->at[0]);
        double one = 0.5 * v3_dot(normal, v3_cross(d0, d1));
        area += one;
        *moment = v3_along(*moment, one, v3_along(p->at[0], 1.0 / 3, v3_add(d0, d1)));
    }
    return area;
}

/* Clips a part to the inside of the other body, as far as the plane of the other triangle
 * determines it. Updates the largest depth. */
static void clip_to_inside(const contour_work *work, const face_pair *pair, int side,
                           clipped_face *p, double *depth) {
    double inward = -work->body[!side].facing, value[POLYGON_CORNERS_MAX];
    if (pair->of[side].zeros == 3) {
        p->count = inward * pair->of[side].above[0] > 0 ? p->count : 0;
        return;
    }
    for (int i = 0; i < p->count; i++) {
        value[i] = inward * p->height[i];
        *depth = real_max(*depth, value[i]);
    }
    clip_negative(p, value);
}

static bool is_coincident(const face_pair *pair, int side, double tolerance) {
    const double *value = pair->of[side].value;
    double max_height = real_max(fabs(value[0]), real_max(fabs(value[1]), fabs(value[2])));
    return max_height <= tolerance * pair->face[!side]->length;
}

/* Adds two triangles whose planes are almost parallel, if they are coincident. */
static void add_coincident_faces(contour_work *work, const face_pair *pair, double cosine) {
    contour_flush *sum = &work->flush;
    if (!is_coincident(pair, 0, work->tolerance) && !is_coincident(pair, 1, work->tolerance))
        return;
    bool same = (cosine > 0) == (work->body[0].facing == work->body[1].facing);
    double depth = 0;
    for (int side = 0; side < 2; side++) {
        const contour_face *f = pair->face[side];
        vec3 normal = v3_scale(f->normal, work->body[side].facing / f->length);
        vec3 moment = v3(0, 0, 0), none = moment;
        vec3 flat = v3_scale(f->normal, 1 / f->length);
        clipped_face p = clip_to_other_face(pair, side);
        double area = polygon_area(&p, flat, &moment);
        if (!(area > 0))
            return;
        if (side == 0) {
            sum->area[same] += area;
            for (int i = 0; i < p.count; i++) {
                sum->perimeter +=
                    same ? v3_length(v3_sub(p.at[i], p.at[i ? i - 1 : p.count - 1])) : 0;
                if (!same)
                    sum->box = box_grow(sum->box, m3_apply(&work->world, p.at[i]));
            }
            sum->vector = same ? sum->vector : v3_along(sum->vector, area, normal);
            sum->moment = same ? sum->moment : v3_add(sum->moment, moment);
        }
        clip_to_inside(work, pair, side, &p, &depth);
        double inside = polygon_area(&p, flat, &none);
        sum->inside[side] += inside;
        sum->inside_vector[side] = v3_along(sum->inside_vector[side], inside, normal);
    }
    if (!same)
        sum->depth = real_max(sum->depth, depth);
}

/* ---- traversal ---- */

static void add_face_pair(contour_work *work, const contour_face *f, const contour_face *g,
                          double largest) {
    face_pair pair = {.face = {f, g}};
    double cosine = v3_dot(f->normal, g->normal), lengths = f->length * g->length;
    bool parallel = lengths > 0 && cosine * cosine >= MIN_PARALLEL_COSINE_SQ * lengths * lengths;
    bool both = compute_plane_heights(&pair, 0, largest, parallel);
    if (!both && !parallel)
        return;
    both = compute_plane_heights(&pair, 1, largest, parallel) && both;
    if (parallel)
        add_coincident_faces(work, &pair, cosine);
    if (!both)
        return;
    compute_edge_orientations(&pair, EDGE_VOLUME_ERROR * largest * f->longest * g->longest);
    add_face_intersection(work, &pair);
}

/* A pair_visit callback: two leaves with triangles that may intersect. */
static bool add_leaf_pair(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned candidates) {
    contour_work *work = data;
    const contour_leaf *a = cached_leaf(work, 0, leaf_a), *b = cached_leaf(work, 1, leaf_b);
    double largest = real_max(a->largest, b->largest);
    for (unsigned bit = 0; candidates; candidates >>= 1, bit++) {
        const contour_face *f = &a->face[bit / BVH_WIDTH], *g = &b->face[bit % BVH_WIDTH];
        if (candidates & 1 && !f->collapsed && !g->collapsed)
            add_face_pair(work, f, g, largest);
    }
    return work->status != ABUT_OK;
}

void abuti_contour_find(contour_work *work, const pair_frame *frame) {
    for (int side = 0; side < 2; side++) {
        size_t count = work->body[side].bvh->triangle_count;
        work->record_of[side] = abuti_allocate(work->context, count, sizeof(uint32_t));
        if (!work->record_of[side]) {
            work->status = ABUT_ERROR_MEMORY;
            return;
        }
        memset(work->record_of[side], 0xff, count * sizeof(uint32_t));
        for (int i = 0; i < CONTOUR_CACHED_LEAVES; i++)
            work->leaves[side][i].leaf = ABUT_NONE;
    }
    work->box = work->flush.box = box_empty();
    abuti_pair_candidates(frame, add_leaf_pair, work);
    work->status = work->status ? work->status : abuti_stop_status("pairs");
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

int32_t abuti_contour_winding(const contour_work *work, int side, vec3 point) {
    const contour_body *body = &work->body[side];
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
                    body->surface->corner + 3 * (size_t)bvh->order[leaf * BVH_WIDTH + i];
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
