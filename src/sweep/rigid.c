/* When two rigid bodies first touch: each goes from pose to pose, turning.
 *
 * Problem: vertices of turning bodies move along arcs. A step that is too long misses a thin plate,
 * and steps that are short enough everywhere are too many.
 *
 * Method: pieces of time, earliest first, each by halves until it is told. Coordinates follow the
 * origin of b without turning, so that only what differs between the bodies counts. Let v be the
 * speed of a's origin there, w_a, w_b the angles in a unit of time, r_a, r_b the largest distances
 * of vertices from the origins. In a piece of length d:
 *  1. No point is further than d/2 (v + w_a r_a + w_b r_b) from where it is in the middle of the
 *     piece. If balls around both bodies are further apart there: free.
 *  2. The same for the boxes of both hierarchies. No pair of triangles left: free.
 *  3. A vertex leaves the straight line between its ends by at most w^2 r d^2 / 8. If the pairs are
 *     few, they are swept along straight lines, with that of both bodies as a separation
 *     (geom/sweep_shared.h). No hit: free. A hit is one if they leave the lines by less than half
 *     the tolerance; else what is before it is free, and the rest is halved.
 *  4. A piece that was halved DEPTH times is swept in any case.
 *
 * Guarantee: as that of straight sweeps: "no" means no, and no time is late. At the time that is
 * told the bodies are no further apart than separation and tolerance together. Positions are
 * rounded to doubles: 2^-48 of the largest coordinate comes on top of the separation.
 */
#include "geom/sweep.h"
#include "geom/sweep_point_shared.h"
#include "pair/pair.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-6 /* of the smaller body */
#define ROUNDING 0x1p-48
#define TRIED 0.02 /* of the smaller body: pieces that bend by more are halved at once */
#define REACH 4.0  /* in units of the pair: beyond, a piece is halved at once */

enum {
    PAIRS = 64,   /* of triangles that are swept at once */
    DEPTH = 50,   /* of halves: pieces are then hardly longer than a rounding of the time */
    TESTS_VF = 6, /* of a pair of triangles */
    TESTS_EE = 9
};

typedef struct rigid_body {
    const abut_bvh *bvh;
    abuti_path path;
    double radius; /* of the farthest vertex from the origin */
    double size;
} rigid_body;

/* Pairs of triangles near each other in a piece: counted, or collected and swept. */
typedef struct rigid_pairs {
    const struct rigid_search *search;
    double from, to; /* of the piece */
    bool sweeps;
    uint64_t count, limit; /* that are too many */
    uint32_t triangle[PAIRS][2];
} rigid_pairs;

/* Of time; how often it was halved. */
typedef struct rigid_piece {
    double from, to;
    uint32_t depth;
} rigid_piece;

typedef struct rigid_search {
    rigid_body body[2];
    vec3 way;      /* of a's origin, seen from b's */
    double speed;  /* of any two points against each other, at most */
    double bend;   /* by how much both leave straight lines in a unit of time */
    double margin; /* separation, and what rounding takes */
    double tolerance;
    abut_sweep_touch *touch;
} rigid_search;

/* ---- where bodies are ---- */

/* The pose of a body, seen from the origin of b. */
static abut_pose pose_at(const rigid_search *s, int side, double t) {
    abut_pose p = abuti_path_pose(&s->body[side].path, t);
    vec3 start = v3_sub(s->body[0].path.start, s->body[1].path.start);
    p.translation = side ? v3(0, 0, 0) : v3_along(start, t, s->way);
    return p;
}

/* No vertex is further from the origin; of the box, since there may be many. */
static double radius_of(const abut_mesh *mesh) {
    vec3 most = v3_max(v3_abs(mesh->bounds.lo), v3_abs(mesh->bounds.hi));
    return v3_length(most) * (1 + 0x1p-50);
}

/* ---- straight sweeps ---- */

/* Corners of the triangles of all pairs, six a pair, at a time. */
static void place(const rigid_search *s, const rigid_pairs *pairs, double t, vec3 *at) {
    abuti_motion motion[2];
    for (int side = 0; side < 2; side++) {
        abut_pose p = pose_at(s, side, t);
        motion[side] = abuti_motion_of(&p);
    }
    for (uint32_t i = 0; i < (uint32_t)pairs->count; i++)
        for (int side = 0; side < 2; side++) {
            abut_triangle triangle =
                bvh_triangle(s->body[side].bvh->mesh, pairs->triangle[i][side]);
            for (int k = 0; k < 3; k++)
                at[6 * i + 3 * (uint32_t)side + (uint32_t)k] =
                    abuti_motion_apply(&motion[side], triangle.corner[k]);
        }
}

/* The vertices of all elementary pairs: every vertex with the other's face, or edge with edge. The
 * first feature of a vertex and a face is of a in the first half of them. */
static uint32_t list_tests(int kind, uint32_t pairs, uint32_t *four) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t a = 6 * i, b = 6 * i + 3;
        for (uint32_t k = 0; kind == SWEEP_VERTEX_FACE && k < 6; k++, count++) {
            uint32_t face = k < 3 ? b : a;
            const uint32_t test[4] = {a + k, face, face + 1, face + 2};
            memcpy(four + 4 * count, test, sizeof test);
        }
        for (uint32_t k = 0; kind == SWEEP_EDGE_EDGE && k < 9; k++, count++) {
            uint32_t p = k / 3, q = k % 3;
            const uint32_t test[4] = {a + p, a + (p + 1) % 3, b + q, b + (q + 1) % 3};
            memcpy(four + 4 * count, test, sizeof test);
        }
    }
    return count;
}

/* Sweeps all of one kind; the earliest hit goes into the touch, with a time of the piece. */
static void sweep_kind(const rigid_search *s, int kind, const rigid_pairs *pairs, const vec3 *start,
                       const vec3 *end, sweep_limits *limits) {
    uint32_t four[4 * TESTS_EE * PAIRS], left[TESTS_EE * PAIRS];
    uint32_t count = list_tests(kind, (uint32_t)pairs->count, four);
    size_t kept = abuti_sweep_filter(kind, start, end, four, count, limits, left);
    for (size_t i = 0; i < kept; i++) {
        const uint32_t *test = four + 4 * left[i];
        vec3 from[4], to[4];
        sweep_answer answer;
        for (int k = 0; k < 4; k++) {
            from[k] = start[test[k]];
            to[k] = end[test[k]];
        }
        if (!sweep_pair(kind, from, to, limits, &answer) || answer.time >= s->touch->time)
            continue;
        abut_sweep_touch *touch = s->touch;
        bool edges = kind == SWEEP_EDGE_EDGE, of_b = !edges && left[i] % TESTS_VF >= 3;
        uint32_t pair = left[i] / (edges ? TESTS_EE : TESTS_VF);
        touch->hit = true;
        touch->time = limits->latest = answer.time;
        touch->kind = edges ? ABUT_IMPACT_EDGE_EDGE : ABUT_IMPACT_VERTEX_FACE;
        touch->point = sweep_point(edges, from, to, answer.time, answer.weights);
        touch->normal = v3_add(v3_scale(answer.normal, of_b ? -1 : 1), v3(0, 0, 0)); /* no -0 */
        memcpy(touch->triangle, pairs->triangle[pair], sizeof touch->triangle);
    }
}

/* Sweeps what has been collected; times of the touch are those of the piece. */
static void sweep_pairs(const rigid_pairs *pairs) {
    const rigid_search *s = pairs->search;
    vec3 start[6 * PAIRS], end[6 * PAIRS];
    double length = pairs->to - pairs->from;
    sweep_limits limits = {.separation = s->margin + s->bend * length * length,
                           .tolerance = 0.5 * s->tolerance,
                           .latest = real_min(s->touch->time, 1),
                           .steps = SWEEP_STEPS};
    place(s, pairs, pairs->from, start);
    place(s, pairs, pairs->to, end);
    sweep_kind(s, SWEEP_VERTEX_FACE, pairs, start, end, &limits);
    sweep_kind(s, SWEEP_EDGE_EDGE, pairs, start, end, &limits);
}

/* ---- pieces ---- */

static bool note_pair(void *data, uint32_t a, uint32_t b) {
    rigid_pairs *pairs = data;
    if (!pairs->sweeps)
        return ++pairs->count > pairs->limit;
    pairs->triangle[pairs->count][0] = a;
    pairs->triangle[pairs->count][1] = b;
    if (++pairs->count == PAIRS) {
        sweep_pairs(pairs);
        pairs->count = 0;
    }
    return false;
}

static bool note_leaves(void *data, uint32_t leaf_a, uint32_t leaf_b, const unsigned near[4]) {
    const rigid_search *s = ((rigid_pairs *)data)->search;
    const uint32_t *a = s->body[0].bvh->order + (size_t)leaf_a * BVH_WIDTH,
                   *b = s->body[1].bvh->order + (size_t)leaf_b * BVH_WIDTH;
    for (int i = 0; i < BVH_WIDTH; i++)
        for (int j = 0; j < BVH_WIDTH; j++)
            if (near[i] >> j & 1 && note_pair(data, a[i], b[j]))
                return true;
    return false;
}

/* Counts the pairs that may come near in a piece, up to one more than the limit; or sweeps them. */
static void find_pairs(rigid_pairs *pairs) {
    const rigid_search *s = pairs->search;
    double middle = 0.5 * (pairs->from + pairs->to);
    double moves = 0.5 * (pairs->to - pairs->from) * s->speed + s->margin + s->tolerance;
    abut_posed posed[2];
    pair_frame frame;
    pairs->count = 0;
    for (int side = 0; side < 2; side++)
        posed[side] = (abut_posed){s->body[side].bvh, pose_at(s, side, middle)};
    double apart = v3_length(posed[0].pose.translation);
    if (apart * (1 - 0x1p-50) > s->body[0].radius + s->body[1].radius + moves)
        return;
    abuti_pair_start(&posed[0], &posed[1], &frame);
    if (moves * frame.scale > REACH) { /* too far for floats */
        pairs->count = pairs->limit + 1;
        return;
    }
    frame.pad += (float)(moves * frame.scale * 1.0001);
    abuti_pair_candidates(&frame, note_leaves, pairs);
    if (pairs->sweeps && pairs->count)
        sweep_pairs(pairs);
}

/* Sweeps a piece; gives when there is a hit in it, or more than 1. */
static double sweep_piece(rigid_pairs *pairs) {
    abut_sweep_touch *touch = pairs->search->touch;
    touch->hit = false;
    touch->time = 2;
    pairs->sweeps = true;
    find_pairs(pairs);
    pairs->sweeps = false;
    return touch->hit ? pairs->from + touch->time * (pairs->to - pairs->from) : 2;
}

/* Puts both halves of a piece on the stack, the later one first. */
static uint32_t push_halves(rigid_piece *stack, uint32_t used, double from, double to,
                            uint32_t depth) {
    double middle = 0.5 * (from + to);
    stack[used++] = (rigid_piece){middle, to, depth + 1};
    stack[used++] = (rigid_piece){from, middle, depth + 1};
    return used;
}

/* Earliest first. A hit of a piece that bends by more than the tolerance is none yet, but nothing
 * is before it. Pairs do not become fewer for ever, as between faces that come flush: so the
 * shorter the piece, the more of them may be swept. */
static void search(const rigid_search *s) {
    rigid_piece stack[DEPTH + 2];
    uint32_t used = 0;
    rigid_pairs pairs = {.search = s};
    double smaller = real_min(s->body[0].size, s->body[1].size);
    stack[used++] = (rigid_piece){0, 1, 0};
    while (used) {
        rigid_piece piece = stack[--used];
        bool last = piece.depth >= DEPTH;
        pairs.from = piece.from;
        pairs.to = piece.to;
        pairs.limit = last ? UINT64_MAX - 1 : (uint64_t)PAIRS << piece.depth / 3;
        find_pairs(&pairs);
        if (!pairs.count)
            continue;
        double length = piece.to - piece.from, bends = s->bend * length * length;
        double free = piece.from; /* until here */
        if (last || (pairs.count <= pairs.limit && bends <= TRIED * smaller)) {
            free = sweep_piece(&pairs);
            if (free > 1)
                continue;
            if (last || bends <= 0.5 * s->tolerance) {
                const abuti_path *path = &s->body[1].path;
                s->touch->time = free;
                s->touch->point = v3_add(s->touch->point, v3_along(path->start, free, path->way));
                return;
            }
        }
        used = push_halves(stack, used, free, piece.to, piece.depth);
    }
    s->touch->hit = false;
}

/* ---- the public function ---- */

static abut_status check_path(const char *function, const char *first, const char *last,
                              const abut_bvh *bvh, const abut_path *path) {
    abut_status status = abuti_pair_check_pose(function, first, bvh, &path->from);
    return status ? status : abuti_pair_check_pose(function, last, bvh, &path->to);
}

/* Bodies that touch from the start, or of which one is inside the other. */
static abut_status touch_at_start(rigid_search *s) {
    abut_posed posed[2] = {{s->body[0].bvh, pose_at(s, 0, 0)}, {s->body[1].bvh, pose_at(s, 1, 0)}};
    abut_separation separation;
    abut_pair_relation relation;
    unsigned doubt = 0;
    abut_status status = abuti_pair_overlap(&posed[0], &posed[1], false, NULL, &relation, &doubt);
    if (status || relation == ABUT_PAIR_APART)
        return status;
    status = abuti_pair_distance(&posed[0], &posed[1], false, NULL, &separation);
    if (status)
        return status;
    s->touch->hit = true;
    s->touch->time = 0;
    s->touch->point = v3_add(separation.point_a, s->body[1].path.start);
    s->touch->triangle[0] = separation.triangle_a;
    s->touch->triangle[1] = separation.triangle_b;
    return ABUT_OK;
}

abut_status abut_sweep_rigid(const abut_bvh *a, const abut_path *path_a, const abut_bvh *b,
                             const abut_path *path_b, const abut_sweep_rigid_options *options,
                             abut_sweep_touch *touch) {
    const char *name = "abut_sweep_rigid";
    abut_sweep_rigid_options ours = abut_sweep_rigid_options_default();
    if (!path_a || !path_b || !touch)
        return abuti_null(name, !path_a ? "path_a" : !path_b ? "path_b" : "touch");
    abut_status status = abuti_bvh_check(name, a, touch, "touch");
    status = status ? status : abuti_bvh_check(name, b, touch, "touch");
    status = status ? status : check_path(name, "path_a->from", "path_a->to", a, path_a);
    status = status ? status : check_path(name, "path_b->from", "path_b->to", b, path_b);
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, name);
    if (status)
        return status;
    const double lengths[2] = {ours.separation, ours.tolerance};
    for (int i = 0; i < 2; i++)
        if (!(lengths[i] >= 0 && lengths[i] <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->%s is %g; it must be a length",
                              name, i ? "tolerance" : "separation", lengths[i]);
    abut_sweep_touch found = {.time = 1, .triangle = {ABUT_NONE, ABUT_NONE}};
    rigid_search s = {.body = {{.bvh = a, .path = abuti_path_of(path_a)},
                               {.bvh = b, .path = abuti_path_of(path_b)}},
                      .touch = &found};
    s.way = v3_sub(s.body[0].path.way, s.body[1].path.way);
    s.speed = v3_length(s.way);
    for (int side = 0; side < 2; side++) {
        rigid_body *body = &s.body[side];
        const box3 *box = &body->bvh->mesh->bounds;
        double angle = body->path.angle;
        body->radius = radius_of(body->bvh->mesh);
        body->size = v3_max_abs(v3_sub(box->hi, box->lo));
        s.speed += angle * body->radius;
        s.bend += angle * angle * body->radius / 8;
    }
    double largest = v3_max_abs(v3_sub(path_a->from.translation, path_b->from.translation)) +
                     v3_max_abs(s.way) + s.body[0].radius + s.body[1].radius;
    s.margin = ours.separation + ROUNDING * largest;
    s.tolerance =
        ours.tolerance > 0 ? ours.tolerance : TOLERANCE * real_min(s.body[0].size, s.body[1].size);
    s.tolerance = real_max(s.tolerance, ROUNDING * largest);
    status = touch_at_start(&s);
    if (!status && !found.hit) {
        search(&s);
        if (!found.hit)
            found = (abut_sweep_touch){.time = 1, .triangle = {ABUT_NONE, ABUT_NONE}};
    }
    if (!status)
        *touch = found;
    return status;
}
