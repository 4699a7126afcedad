/* Where two closed surfaces cut each other, without a special case.
 *
 * Problem: volumes and areas of what two solids have in common are wanted for any input: faces in
 * one plane, vertices on faces, edges on edges, a mesh on itself.
 *
 * Method. b is thought to be shifted by (e, e^2, e^3) with an e that is positive and smaller than
 * everything (Edelsbrunner and Muecke 1990, "Simulation of simplicity"). Volumes are the same in
 * the limit, and no four points of two meshes that matter are in one plane any more: where an
 * exact sign of a volume is 0, the first coordinate decides in which its derivative is not. That
 * derivative is 0 for parallel edges alone, which nobody asks about, since an edge that is parallel
 * to an edge of a triangle does not cross its plane; and for triangles without area, which nothing
 * crosses.
 *
 * Two triangles meet in nothing or in a segment, whose ends are crossings: of an edge of one with
 * the other. An edge that crosses a triangle from above enters the other body: its winding number
 * goes up by one. The part of a triangle that is inside, each place as often as the other surface
 * winds around it, has a boundary made of such segments, of what is between crossings on its edges,
 * and of whole edges. Area and first moment of that part are sums over pieces of the boundary, in
 * any order: nothing is sorted, no polygon is made. Pieces begin and end near the cut wherever they
 * can, so that little parts of large triangles are as accurate as the coordinates of crossings.
 *
 * What lies on each other (within a tolerance, since turning rounds) would be counted twice, once
 * or not at all, as the shift goes. So such pairs of triangles are clipped against each other, and
 * what the shift makes of them is known to those who add up.
 */
#include "pair/contour.h"

#include "geom/predicates_shared.h"

#include <math.h>

/* Doubts. Let u = 2^-53, E the product of the longest sides of two edges and M the largest
 * coordinate. A normal is off by 12 u E an axis, which counts for 36 u E 2 M, and both products
 * with it by 48 u E M: in all less than 128 u E M. Directions are off by u of themselves and
 * moments by 6 times that; in a volume this counts for 48 u E M, products and sums for 100 u E M.
 */
#define SIDE_DOUBT 0x1p-46
#define TURN_DOUBT 0x1p-45
/* Doubts within which a height is computed exactly before anything is divided by it. */
#define CAREFUL 0x1p16
/* Square of the cosine between normals of faces that may lie on each other. */
#define PARALLEL 0.999

/* ---- triangles ---- */

static void place_face(cut_work *work, int side, uint32_t face, cut_face *f) {
    const cut_body *body = &work->body[side];
    f->face = face;
    f->corner = body->shell->corner + 3 * (size_t)face;
    f->collapsed = abuti_is_collapsed(f->corner);
    f->longest = 0;
    for (int k = 0; k < 3; k++)
        f->at[k] = cut_place(body, f->corner[k]);
    for (int k = 0; k < 3; k++) {
        f->way[k] = v3_sub(f->at[k == 2 ? 0 : k + 1], f->at[k]);
        f->moment[k] = v3_cross(f->at[k], f->way[k]);
        f->longest = real_max(f->longest, v3_max_abs(f->way[k]));
    }
    f->normal = v3_cross(f->way[2], f->way[0]);
    f->length = v3_length(f->normal);
    f->offset = v3_dot(f->normal, f->at[0]);
}

static const cut_leaf *leaf_of(cut_work *work, int side, uint32_t number) {
    cut_leaf *leaf = &work->leaves[side][number % CUT_LEAVES];
    if (leaf->leaf == number)
        return leaf;
    const abut_bvh *bvh = work->body[side].bvh;
    leaf->leaf = number;
    leaf->count = bvh_leaf_fill(bvh, number);
    leaf->largest = 0;
    for (uint32_t i = 0; i < leaf->count; i++) {
        place_face(work, side, bvh->order[number * BVH_WIDTH + i], &leaf->face[i]);
        for (int k = 0; k < 3; k++)
            leaf->largest = real_max(leaf->largest, v3_max_abs(leaf->face[i].at[k]));
    }
    return leaf;
}

/* ---- signs ---- */

/* On which side of a plane a point in it is once b is shifted; `side` is that of the point. */
static int tie_side(const vec3 plane[3], int side) {
    for (int axis = 0; axis < 3; axis++) {
        int sign = orient2d_axis(axis, plane[0], plane[1], plane[2]);
        if (sign)
            return side ? sign : -sign;
    }
    return 0;
}

/* Which way two lines in one plane turn round each other once b is shifted. */
static int tie_turn(vec3 a0, vec3 a1, vec3 b0, vec3 b1) {
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

static bool same_place(vec3 p, vec3 q) {
    return p.x == q.x && p.y == q.y && p.z == q.z;
}

/* On which side of a plane a point is. Of a mesh on itself most are in it by being a corner, and
 * exact signs of zeros take long. */
static int exact_side(const vec3 plane[3], vec3 p) {
    if (same_place(p, plane[0]) || same_place(p, plane[1]) || same_place(p, plane[2]))
        return 0;
    return orient3d(plane[0], plane[1], plane[2], p);
}

/* Which way two lines turn round each other. */
static int exact_turn(vec3 a0, vec3 a1, vec3 b0, vec3 b1) {
    if (same_place(a0, b0) || same_place(a0, b1) || same_place(a1, b0) || same_place(a1, b1))
        return tie_turn(a0, a1, b0, b1);
    int sign = orient3d(a0, a1, b0, b1);
    return sign ? sign : tie_turn(a0, a1, b0, b1);
}

/* The corners of a triangle as its partner's plane has them. */
typedef struct cut_heights {
    double value[3], doubt;
    int above[3]; /* +1 is outside; 0 where the plane is none */
    int zeros;    /* corners in the plane, before any shift */
} cut_heights;

/* Two triangles. `turn` is which way edges of the first go round those of the second, 2 = not
 * known. */
typedef struct cut_pair {
    const cut_face *face[2];
    cut_heights of[2];
    int turn[3][3];
} cut_pair;

/* False where all are on one side. */
static bool find_heights(cut_pair *pair, int side, double largest, bool wanted) {
    const cut_face *f = pair->face[side], *plane = pair->face[!side];
    cut_heights *h = &pair->of[side];
    h->doubt = SIDE_DOUBT * plane->longest * plane->longest * largest;
    h->zeros = 0;
    for (int k = 0; k < 3; k++)
        h->value[k] = v3_dot(plane->normal, f->at[k]) - plane->offset;
    if (!wanted &&
        ((h->value[0] > h->doubt && h->value[1] > h->doubt && h->value[2] > h->doubt) ||
         (h->value[0] < -h->doubt && h->value[1] < -h->doubt && h->value[2] < -h->doubt)))
        return false;
    for (int k = 0; k < 3; k++) {
        double v = h->value[k];
        h->above[k] = v > h->doubt ? 1 : v < -h->doubt ? -1 : exact_side(plane->at, f->at[k]);
        if (!h->above[k]) {
            h->zeros++;
            h->value[k] = 0;
            h->above[k] = tie_side(plane->at, side);
        } else if (fabs(v) <= CAREFUL * h->doubt) {
            h->value[k] = orient3d_value(plane->at[0], plane->at[1], plane->at[2], f->at[k]);
        }
    }
    return h->above[0] != h->above[1] || h->above[1] != h->above[2];
}

/* The signs of the volumes of edges of the first and edges of the second, where beyond doubt. */
static void find_turns(cut_pair *pair, double doubt) {
    const cut_face *a = pair->face[0], *b = pair->face[1];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double volume = v3_dot(a->way[i], b->moment[j]) + v3_dot(b->way[j], a->moment[i]);
            pair->turn[i][j] = volume > doubt ? 1 : volume < -doubt ? -1 : 2;
        }
}

static int turn_of(cut_pair *pair, int i, int j) {
    if (pair->turn[i][j] == 2) {
        const vec3 *a = pair->face[0]->at, *b = pair->face[1]->at;
        vec3 a1 = a[i == 2 ? 0 : i + 1], b1 = b[j == 2 ? 0 : j + 1];
        pair->turn[i][j] = exact_turn(a[i], a1, b[j], b1);
    }
    return pair->turn[i][j];
}

/* ---- crossings ---- */

static cut_record *record_of(cut_work *work, int side, const cut_face *f, vec3 apex) {
    uint32_t *index = &work->record_of[side][f->face];
    if (*index != ABUT_NONE)
        return &work->records[side][*index];
    size_t count = work->count[side];
    if (!work->status && count == work->room[side])
        work->status = abuti_grow(work->context, &work->records[side], count, count + 64,
                                  sizeof *work->records[side], &work->room[side]);
    if (work->status)
        return NULL;
    cut_record *r = &work->records[side][count];
    memset(r, 0, sizeof *r);
    r->face = f->face;
    memcpy(r->at, f->at, sizeof r->at);
    r->normal = f->normal;
    r->apex = apex;
    *index = (uint32_t)count;
    work->count[side]++;
    return r;
}

typedef struct cut_crossing {
    int side, edge;
    int jump; /* of the winding along the edge, as its triangle runs */
    vec3 at;
} cut_crossing;

/* Whether edge k of one crosses the other. */
static bool find_crossing(cut_pair *pair, int side, int k, cut_crossing *c) {
    const cut_face *f = pair->face[side];
    const cut_heights *h = &pair->of[side];
    int next = k == 2 ? 0 : k + 1, turn[3];
    if (h->above[k] == h->above[next])
        return false;
    for (int i = 0; i < 3; i++) {
        turn[i] = side ? turn_of(pair, i, k) : turn_of(pair, k, i);
        if (i && turn[i] != turn[0])
            return false;
    }
    /* From the lower vertex on, so that both triangles at the edge say the same. */
    int from = f->corner[k] < f->corner[next] ? k : next, to = from == k ? next : k;
    double p = h->value[from], q = h->value[to], t = p / (p - q);
    t = t >= 0 && t <= 1 ? t : 0.5; /* 0 / 0: both in the plane */
    *c = (cut_crossing){side, k, h->above[k] > 0 ? 1 : -1, v3_lerp(f->at[from], f->at[to], t)};
    return true;
}

static void add_crossing(cut_record *r, const cut_crossing *c) {
    if (r->crossed[c->edge])
        cut_add(r, c->jump, c->at, r->stop[c->edge]);
    r->stop[c->edge] = r->crossed[c->edge] ? r->stop[c->edge] : c->at;
    r->crossed[c->edge] = true;
    r->jump[c->edge] += c->jump;
}

/* Two triangles of which each has the other on both sides of its plane. */
static void meet_faces(cut_work *work, cut_pair *pair) {
    cut_crossing found[2];
    int count = 0;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 3 && count < 2; k++)
            count += find_crossing(pair, side, k, &found[count]);
    if (count < 2)
        return;
    cut_record *r[2];
    for (int side = 0; side < 2; side++)
        if (!(r[side] = record_of(work, side, pair->face[side], found[0].at)))
            return;
    /* Inside is to the left: the segment begins on a where an edge of a leaves b. */
    int begin = (found[0].jump < 0) == (found[0].side == 0) ? 0 : 1;
    vec3 from = found[begin].at, to = found[!begin].at;
    cut_add(r[0], 1, from, to);
    cut_add(r[1], 1, to, from);
    for (int i = 0; i < 2; i++) {
        add_crossing(r[found[i].side], &found[i]);
        work->box = box_grow(work->box, m3_apply(&work->world, found[i].at));
    }
}

/* ---- what lies on each other ---- */

enum { POLYGON = 16 }; /* corners: three, and three more at most for each of four cuts */

/* A part of a triangle: corners, and their heights above the other's plane. */
typedef struct polygon {
    int count;
    vec3 at[POLYGON];
    double height[POLYGON];
} polygon;

/* Cuts off what has a negative value. */
static void clip(polygon *p, const double *value) {
    polygon out = {.count = 0};
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
    *p = out;
}

/* What of a triangle is above or below the other. */
static polygon common_part(const cut_pair *pair, int side) {
    const cut_face *f = pair->face[side], *other = pair->face[!side];
    polygon p = {.count = 3};
    for (int k = 0; k < 3; k++) {
        p.at[k] = f->at[k];
        p.height[k] = pair->of[side].value[k] / other->length;
    }
    for (int k = 0; k < 3; k++) {
        double value[POLYGON];
        vec3 in = v3_cross(other->normal, other->way[k]);
        for (int i = 0; i < p.count; i++)
            value[i] = v3_dot(in, v3_sub(p.at[i], other->at[k]));
        clip(&p, value);
    }
    return p;
}

/* Its area along a unit normal; adds to the first moment. */
static double polygon_area(const polygon *p, vec3 normal, vec3 *moment) {
    double area = 0;
    for (int i = 2; i < p->count; i++) {
        vec3 d0 = v3_sub(p->at[i - 1], p->at[0]), d1 = v3_sub(p->at[i], p->at[0]);
        double one = 0.5 * v3_dot(normal, v3_cross(d0, d1));
        area += one;
        *moment = v3_along(*moment, one, v3_along(p->at[0], 1.0 / 3, v3_add(d0, d1)));
    }
    return area;
}

/* What of a part is inside the other body, as far as that one triangle tells. */
static void keep_inside(const cut_work *work, const cut_pair *pair, int side, polygon *p,
                        double *depth) {
    double inward = -work->body[!side].facing, value[POLYGON];
    if (pair->of[side].zeros == 3) {
        p->count = inward * pair->of[side].above[0] > 0 ? p->count : 0;
        return;
    }
    for (int i = 0; i < p->count; i++) {
        value[i] = inward * p->height[i];
        *depth = real_max(*depth, value[i]);
    }
    clip(p, value);
}

static bool is_near(const cut_pair *pair, int side, double tolerance) {
    const double *value = pair->of[side].value;
    double most = real_max(fabs(value[0]), real_max(fabs(value[1]), fabs(value[2])));
    return most <= tolerance * pair->face[!side]->length;
}

/* Two triangles in one plane, or nearly. */
static void add_flush(cut_work *work, const cut_pair *pair, double cosine) {
    cut_flush *sum = &work->flush;
    if (!is_near(pair, 0, work->tolerance) && !is_near(pair, 1, work->tolerance))
        return;
    bool same = (cosine > 0) == (work->body[0].facing == work->body[1].facing);
    double depth = 0;
    for (int side = 0; side < 2; side++) {
        const cut_face *f = pair->face[side];
        vec3 normal = v3_scale(f->normal, work->body[side].facing / f->length);
        vec3 moment = v3(0, 0, 0), none = moment;
        vec3 flat = v3_scale(f->normal, 1 / f->length);
        polygon p = common_part(pair, side);
        double area = polygon_area(&p, flat, &moment);
        if (!(area > 0))
            return;
        if (side == 0) {
            sum->area[same] += area;
            for (int i = 0; i < p.count; i++) {
                sum->rim += same ? v3_length(v3_sub(p.at[i], p.at[i ? i - 1 : p.count - 1])) : 0;
                if (!same)
                    sum->box = box_grow(sum->box, m3_apply(&work->world, p.at[i]));
            }
            sum->vector = same ? sum->vector : v3_along(sum->vector, area, normal);
            sum->moment = same ? sum->moment : v3_add(sum->moment, moment);
        }
        keep_inside(work, pair, side, &p, &depth);
        double inside = polygon_area(&p, flat, &none);
        sum->inside[side] += inside;
        sum->inside_vector[side] = v3_along(sum->inside_vector[side], inside, normal);
    }
    if (!same)
        sum->depth = real_max(sum->depth, depth);
}

/* ---- all ---- */

static void visit_pair(cut_work *work, const cut_face *f, const cut_face *g, double largest) {
    cut_pair pair = {.face = {f, g}};
    double cosine = v3_dot(f->normal, g->normal), lengths = f->length * g->length;
    bool parallel = lengths > 0 && cosine * cosine >= PARALLEL * lengths * lengths;
    bool both = find_heights(&pair, 0, largest, parallel);
    if (!both && !parallel)
        return;
    both = find_heights(&pair, 1, largest, parallel) && both;
    if (parallel)
        add_flush(work, &pair, cosine);
    if (!both)
        return;
    find_turns(&pair, TURN_DOUBT * largest * f->longest * g->longest);
    meet_faces(work, &pair);
}

/* Two leaves of which some triangles may meet. */
static bool visit(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned near) {
    cut_work *work = data;
    const cut_leaf *a = leaf_of(work, 0, leaf_a), *b = leaf_of(work, 1, leaf_b);
    double largest = real_max(a->largest, b->largest);
    for (unsigned bit = 0; near; near >>= 1, bit++) {
        const cut_face *f = &a->face[bit / BVH_WIDTH], *g = &b->face[bit % BVH_WIDTH];
        if (near & 1 && !f->collapsed && !g->collapsed)
            visit_pair(work, f, g, largest);
    }
    return work->status != ABUT_OK;
}

void abuti_cut_find(cut_work *work, const pair_frame *frame) {
    for (int side = 0; side < 2; side++) {
        size_t count = work->body[side].bvh->triangle_count;
        work->record_of[side] = abuti_allocate(work->context, count, sizeof(uint32_t));
        if (!work->record_of[side]) {
            work->status = ABUT_ERROR_MEMORY;
            return;
        }
        memset(work->record_of[side], 0xff, count * sizeof(uint32_t));
        for (int i = 0; i < CUT_LEAVES; i++)
            work->leaves[side][i].leaf = ABUT_NONE;
    }
    work->box = work->flush.box = box_empty();
    abuti_pair_candidates(frame, visit, work);
    work->status = work->status ? work->status : abuti_stop_status("pairs");
}

/* ---- windings ---- */

/* On which side of the line from p along `way` the edge from t0 to t1 goes by. */
static int line_turn(vec3 p, vec3 way, vec3 t0, vec3 t1, int side) {
    int sign = orient3d_along(p, way, t0, t1);
    /* Derivative: (t1 - t0) x way, as often as t is shifted. */
    sign = sign ? sign : -orient2d_along(t0.y, t0.z, way.y, way.z, t1.y, t1.z) * (side ? 1 : -1);
    sign = sign ? sign : -orient2d_along(t0.z, t0.x, way.z, way.x, t1.z, t1.x) * (side ? 1 : -1);
    return sign ? sign : -orient2d_along(t0.x, t0.y, way.x, way.y, t1.x, t1.y) * (side ? 1 : -1);
}

/* Whether a line along the first axis of a hierarchy may meet a triangle; false is certain. */
static bool line_may_meet(const cut_body *body, const uint32_t *corner, vec3 own, double pad) {
    const vec3 *positions = body->bvh->mesh->positions;
    vec3 p = positions[corner[0]], q = positions[corner[1]], r = positions[corner[2]];
    return real_min(p.y, real_min(q.y, r.y)) <= own.y + pad &&
           real_max(p.y, real_max(q.y, r.y)) >= own.y - pad &&
           real_min(p.z, real_min(q.z, r.z)) <= own.z + pad &&
           real_max(p.z, real_max(q.z, r.z)) >= own.z - pad;
}

/* By how much a triangle of a side adds to the winding around p: what a ray from there meets. */
static int32_t ray_adds(const cut_body *body, int side, const uint32_t *corner, vec3 p, vec3 way) {
    vec3 t[3];
    for (int k = 0; k < 3; k++)
        t[k] = cut_place(body, corner[k]);
    int turn = line_turn(p, way, t[0], t[1], side);
    if (!turn || line_turn(p, way, t[1], t[2], side) != turn ||
        line_turn(p, way, t[2], t[0], side) != turn)
        return 0;
    int above = orient3d(t[0], t[1], t[2], p);
    above = above ? above : tie_side(t, !side);
    return above == -turn ? turn : 0;
}

/* A ray along the first axis of the surface's own hierarchy. Boxes there have coordinates up to 2,
 * and back from the frame a point is off by a few roundings of the reach, which is at most 64. */
#define RAY_PAD 0x1p-40

int32_t abuti_cut_winding(const cut_work *work, int side, vec3 point) {
    const cut_body *body = &work->body[side];
    const abut_bvh *bvh = body->bvh;
    double back = bvh->scale / body->unit;
    vec3 own = v3_scale(point, back), way = v3(1, 0, 0);
    if (body->turns) {
        mat3 turn_back = m3_transpose(&body->turn);
        own = v3_scale(m3_apply(&turn_back, v3_sub(point, body->shift)), back / body->unit);
        way = v3_scale(turn_back.row[0], 1 / body->unit);
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
                    body->shell->corner + 3 * (size_t)bvh->order[leaf * BVH_WIDTH + i];
                if (line_may_meet(body, corner, in_mesh, RAY_PAD / bvh->scale))
                    winding += ray_adds(body, side, corner, point, way);
            }
            continue;
        }
        const bvh_node *node = &bvh->nodes[child];
        for (int i = 0; i < BVH_WIDTH; i++)
            if (node->hi[0][i] >= own.x - RAY_PAD && node->lo[1][i] <= own.y + RAY_PAD &&
                node->hi[1][i] >= own.y - RAY_PAD && node->lo[2][i] <= own.z + RAY_PAD &&
                node->hi[2][i] >= own.z - RAY_PAD)
                stack[used++] = node->child[i];
    }
    return winding;
}
