/* When two rigid bodies first touch: each goes from pose to pose, turning.
 *
 * Problem: vertices of turning bodies move along arcs. A step that is too long misses a thin plate,
 * and steps that are short enough everywhere are too many.
 *
 * Method: forward in time, piece by piece. Coordinates follow the origin of b without turning, so
 * that only what differs between the bodies counts. Let v be the speed of a's origin there, w_a,
 * w_b the angles in a unit of time, r_a, r_b the largest distances of vertices from the origins.
 *  1. Skip: no two points come together faster than v + w_a r_a + w_b r_b. So a piece of length d
 *     is free if balls around both bodies, or the boxes of both hierarchies, are further apart in
 *     the middle of it than d/2 times that. Pieces are halved until it is so, and doubled again.
 *  2. Collect: a piece in which bodies move by no more than a triangle is not halved for that, but
 *     the pairs of triangles that come near are listed. Along a direction n, triangles come
 *     together no faster than |v n| + w_a r_a |axis_a x n| + ..., which leaves few of them.
 *  3. Sweep: a vertex leaves the straight line between its ends by at most w^2 r d^2 / 8. The pairs
 *     are swept along straight lines, with that of both bodies as a separation
 *     (geom/sweep_shared.h). Pairs without a hit are free in all of the piece.
 *  4. Those with one are swept again, in shorter pieces from the first hit on, until bodies leave
 *     the lines by less than half the tolerance. That needs no traversal: a shorter piece has no
 *     other pairs.
 * Pairs do not become fewer for ever, as between faces that come flush. So in pieces that are much
 * shorter than the first, any number of pairs is swept, in portions.
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

#define TOLERANCE 1e-6         /* of the smaller body */
#define TOLERANCE_LEAST 1e-100 /* products of smaller coordinates underflow */
#define ROUNDING 0x1p-48
#define DISTANCE_ERROR 2e-4 /* of the larger body: distances are never wrong by more */
#define REACH 4.0           /* in units of the pair: pieces in which bodies move further are cut */
#define FAR 1.0      /* in these units: bodies that touch further apart have a search of theirs */
#define FIRST 1.0    /* grain that bodies move by in the first piece where they are near */
#define BENT 0.125   /* grain: pieces in which bodies leave the lines by more are cut */
#define SHORT 0x1p-5 /* of the first: any number of pairs is swept */
#define FLUSH 1e-6   /* 1 + the cosine of normals of opposite faces */
#define SHORTEST 0x1p-50 /* piece: hardly longer than a rounding of the time */

enum {
    PAIRS = 64,   /* of triangles that are swept at once */
    LIST = 512,   /* pairs that are collected */
    ROOM = 2048,  /* for lists of pieces within pieces */
    NESTED = 64,  /* pieces within pieces */
    FEW = 8,      /* pairs: sweeping is cheap */
    TESTS_VF = 6, /* of a pair of triangles */
    TESTS_EE = 9
};

typedef struct rigid_body {
    const abut_bvh *bvh;
    abuti_path path;
    double radius; /* of the farthest vertex from the origin */
    double size;
} rigid_body;

/* Of time, and the pairs of triangles that may touch in it. */
typedef struct rigid_piece {
    double from, to;
    uint32_t first, count; /* in the room */
} rigid_piece;

typedef struct rigid_search {
    rigid_body body[2];
    vec3 way;      /* of a's origin, seen from b's */
    double speed;  /* of any two points against each other, at most */
    double bend;   /* by how much both leave straight lines in a unit of time */
    double margin; /* separation, and what rounding takes */
    double tolerance;
    double grain; /* about the size of triangles, of the mesh that has larger ones */
    /* The piece that is swept. */
    double from, to;
    abut_sweep_touch *touch; /* the earliest; its time is 0 to 1 in the piece */
    abuti_motion middle[2];  /* where bodies are halfway */
    uint32_t limit;          /* more pairs are too many */
    bool portions;           /* pairs are swept as they come, not collected */
    uint32_t count, left;    /* pairs collected, and in portions those that hit; LIST + 1:
                              * there are more */
    uint32_t pair[ROOM][2], some[PAIRS][2];
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

/* About the size of its triangles. */
static double grain_of(const rigid_body *body) {
    return body->size / sqrt((double)body->bvh->triangle_count);
}

/* By how much bodies leave straight lines in a piece of time. */
static double bends(const rigid_search *s, double length) {
    return s->bend * length * length;
}

/* ---- straight sweeps ---- */

/* Corners of the triangles of pairs, six a pair, at a time. */
static void place(const rigid_search *s, uint32_t (*pair)[2], uint32_t count, double t, vec3 *at) {
    abuti_motion motion[2];
    for (int side = 0; side < 2; side++) {
        abut_pose p = pose_at(s, side, t);
        motion[side] = abuti_motion_of(&p);
    }
    for (uint32_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            abut_triangle triangle = bvh_triangle(s->body[side].bvh->mesh, pair[i][side]);
            for (int k = 0; k < 3; k++)
                *at++ = abuti_motion_apply(&motion[side], triangle.corner[k]);
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

/* Keeps the earliest hit of the piece. */
static void note_touch(rigid_search *s, bool edges, const uint32_t *pair, bool of_b,
                       const vec3 *from, const vec3 *to, const sweep_answer *answer) {
    abut_sweep_touch *touch = s->touch;
    if (touch->hit && answer->time >= touch->time)
        return;
    touch->hit = true;
    touch->time = answer->time;
    touch->kind = edges ? ABUT_IMPACT_EDGE_EDGE : ABUT_IMPACT_VERTEX_FACE;
    touch->point = sweep_point(edges, from, to, answer->time, answer->weights);
    touch->normal = v3_add(v3_scale(answer->normal, of_b ? -1 : 1), v3(0, 0, 0)); /* no -0 */
    memcpy(touch->triangle, pair, sizeof touch->triangle);
}

/* Sweeps all of one kind; marks the pairs that hit. */
static void sweep_kind(rigid_search *s, int kind, uint32_t (*pair)[2], uint32_t count,
                       const vec3 *start, const vec3 *end, bool *hits) {
    uint32_t four[4 * TESTS_EE * PAIRS], left[TESTS_EE * PAIRS];
    bool edges = kind == SWEEP_EDGE_EDGE;
    sweep_limits limits = {.separation = s->margin + bends(s, s->to - s->from),
                           .tolerance = 0.5 * s->tolerance,
                           .latest = 1,
                           .steps = SWEEP_STEPS};
    uint32_t tests = list_tests(kind, count, four);
    size_t kept = abuti_sweep_filter(kind, start, end, four, tests, &limits, left);
    for (size_t i = 0; i < kept; i++) {
        const uint32_t *test = four + 4 * left[i];
        uint32_t at = left[i] / (edges ? TESTS_EE : TESTS_VF);
        vec3 from[4], to[4];
        sweep_answer answer;
        for (int k = 0; k < 4; k++) {
            from[k] = start[test[k]];
            to[k] = end[test[k]];
        }
        if (!sweep_pair(kind, from, to, &limits, &answer))
            continue;
        hits[at] = true;
        note_touch(s, edges, pair[at], !edges && left[i] % TESTS_VF >= 3, from, to, &answer);
    }
}

/* Sweeps pairs, at most PAIRS, in the piece; those that hit go to `left`, which may be `pair`.
 * Gives how many. */
static uint32_t sweep_some(rigid_search *s, uint32_t (*pair)[2], uint32_t count,
                           uint32_t (*left)[2]) {
    vec3 start[6 * PAIRS], end[6 * PAIRS];
    bool hits[PAIRS] = {false};
    uint32_t kept = 0;
    place(s, pair, count, s->from, start);
    place(s, pair, count, s->to, end);
    sweep_kind(s, SWEEP_VERTEX_FACE, pair, count, start, end, hits);
    sweep_kind(s, SWEEP_EDGE_EDGE, pair, count, start, end, hits);
    for (uint32_t i = 0; i < count; i++)
        if (hits[i]) {
            left[kept][0] = pair[i][0];
            left[kept++][1] = pair[i][1];
        }
    return kept;
}

/* ---- pairs near each other ---- */

/* How far two triangles are apart along a direction. */
static double apart_along(vec3 n, const vec3 *a, const vec3 *b) {
    double low = real_min(v3_dot(n, a[0]), real_min(v3_dot(n, a[1]), v3_dot(n, a[2])));
    double high = real_max(v3_dot(n, b[0]), real_max(v3_dot(n, b[1]), v3_dot(n, b[2])));
    return low - high;
}

/* A triangle in the middle of the piece. */
typedef struct rigid_triangle {
    vec3 at[3], sum, normal; /* of any length */
    double turns;            /* how fast it turns, at most */
} rigid_triangle;

static rigid_triangle triangle_at(const rigid_search *s, int side, uint32_t triangle) {
    abut_triangle t = bvh_triangle(s->body[side].bvh->mesh, triangle);
    rigid_triangle found;
    double radius = 0;
    for (int k = 0; k < 3; k++) {
        radius = real_max(radius, v3_length_sq(t.corner[k]));
        found.at[k] = abuti_motion_apply(&s->middle[side], t.corner[k]);
    }
    found.turns = s->body[side].path.angle * sqrt(radius);
    found.sum = v3_add(v3_add(found.at[0], found.at[1]), found.at[2]);
    found.normal = v3_cross(v3_sub(found.at[1], found.at[0]), v3_sub(found.at[2], found.at[0]));
    return found;
}

/* Whether two triangles may touch in the piece: not if they are further apart in the middle of it,
 * along the line of their middles or along a normal n, than they come together by in half of it.
 * That is at most |v n| + w r |axis x n| a unit of time, for each body that turns. */
static bool come_near(const rigid_search *s, const rigid_triangle *a, const rigid_triangle *b) {
    double half = 0.5 * (s->to - s->from), more = s->margin + s->tolerance;
    const vec3 n[3] = {v3_sub(a->sum, b->sum), a->normal, b->normal};
    for (int k = 0; k < 3; k++) {
        vec3 along = v3_dot(n[k], n[0]) < 0 ? v3_scale(n[k], -1) : n[k];
        double moves = fabs(v3_dot(s->way, along)) +
                       a->turns * v3_length(v3_cross(s->body[0].path.axis, along)) +
                       b->turns * v3_length(v3_cross(s->body[1].path.axis, along));
        if (apart_along(along, a->at, b->at) >
            (half * moves + more * v3_length(along)) * (1 + 0x1p-40))
            return false;
    }
    return true;
}

/* Sweeps what has come, and keeps what hits. */
static void sweep_portion(rigid_search *s) {
    uint32_t kept = sweep_some(s, s->some, s->count, s->some);
    if (s->left + kept <= LIST)
        memcpy(s->pair + s->left, s->some, kept * sizeof *s->some);
    s->left = s->left + kept <= LIST ? s->left + kept : LIST + 1;
    s->count = 0;
}

static bool note_pair(rigid_search *s, uint32_t a, uint32_t b) {
    uint32_t(*list)[2] = s->portions ? s->some : s->pair;
    if (s->count == s->limit) {
        s->count++;
        return true;
    }
    list[s->count][0] = a;
    list[s->count++][1] = b;
    if (s->portions && s->count == PAIRS)
        sweep_portion(s);
    return false;
}

static bool note_leaves(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned near) {
    rigid_search *s = data;
    const uint32_t *a = s->body[0].bvh->order + (size_t)leaf_a * BVH_WIDTH,
                   *b = s->body[1].bvh->order + (size_t)leaf_b * BVH_WIDTH;
    rigid_triangle of_b[BVH_WIDTH];
    unsigned placed = 0;
    if (!s->limit) /* any is too many */
        return note_pair(s, 0, 0);
    for (int i = 0; i < BVH_WIDTH; i++) {
        unsigned beside = near >> BVH_WIDTH * i & 15;
        if (!beside)
            continue;
        rigid_triangle of_a = triangle_at(s, 0, a[i]);
        for (int j = 0; j < BVH_WIDTH; j++) {
            if (!(beside >> j & 1))
                continue;
            if (!(placed >> j & 1))
                of_b[j] = triangle_at(s, 1, b[j]);
            placed |= 1u << j;
            if (come_near(s, &of_a, &of_b[j]) && note_pair(s, a[i], b[j]))
                return true;
        }
    }
    return false;
}

/* Collects the pairs that may touch in the piece, or sweeps them as they come. */
static void find_pairs(rigid_search *s) {
    double length = s->to - s->from;
    double moves = 0.5 * length * s->speed + s->margin + s->tolerance;
    abut_posed posed[2];
    pair_frame frame;
    s->count = s->left = 0;
    s->touch->hit = false;
    for (int side = 0; side < 2; side++) {
        posed[side] = (abut_posed){s->body[side].bvh, pose_at(s, side, s->from + 0.5 * length)};
        s->middle[side] = abuti_motion_of(&posed[side].pose);
    }
    abuti_pair_start(&posed[0], &posed[1], &frame);
    if (moves * frame.scale > REACH) { /* too far for floats */
        s->count = s->limit + 1;
        return;
    }
    frame.pad += (float)(moves * frame.scale * 1.0001);
    abuti_pair_candidates(&frame, note_leaves, s);
    if (s->portions && s->count)
        sweep_portion(s);
}

/* Until when balls around both bodies keep them free at least; more than 1: to the end. */
static double skip(const rigid_search *s, double t) {
    double balls = s->body[0].radius + s->body[1].radius + s->margin + s->tolerance;
    double gap = v3_length(pose_at(s, 0, t).translation) * (1 - 0x1p-50) - balls;
    return gap > s->speed * (1 - t) ? 2 : gap > 0 ? t + gap / s->speed * (1 - 0x1p-50) : t;
}

/* ---- pieces ---- */

/* When the first hit of the piece is, or 2. */
static double first_hit(const rigid_search *s) {
    return s->touch->hit ? s->from + s->touch->time * (s->to - s->from) : 2;
}

static bool is_exact(const rigid_search *s) {
    double length = s->to - s->from;
    return bends(s, length) <= 0.5 * s->tolerance || length <= SHORTEST;
}

/* Sweeps a list; pairs that hit go to `left`, if not null. */
static uint32_t sweep_list(rigid_search *s, const rigid_piece *piece, uint32_t (*left)[2]) {
    uint32_t kept = 0;
    s->from = piece->from;
    s->to = piece->to;
    s->touch->hit = false;
    for (uint32_t i = 0; i < piece->count; i += PAIRS) {
        uint32_t some = piece->count - i < PAIRS ? piece->count - i : PAIRS;
        kept += sweep_some(s, s->pair + piece->first + i, some, left ? left + kept : s->some);
    }
    return kept;
}

/* Finds the first hit among the pairs of a piece; gives when it is, or 2. The stack has the
 * earliest piece on top, and the list of the topmost piece is the last in the room. */
static double search_list(rigid_search *s, rigid_piece whole) {
    rigid_piece stack[NESTED];
    uint32_t used = 0;
    stack[used++] = whole;
    while (used) {
        rigid_piece piece = stack[--used];
        uint32_t end = piece.first + piece.count;
        bool room = end + piece.count <= ROOM; /* else all are kept, and swept again */
        uint32_t kept = sweep_list(s, &piece, room ? s->pair + end : NULL);
        double hit = first_hit(s);
        if (hit > 1)
            continue;
        if (is_exact(s))
            return hit;
        double length = piece.to - hit, cut = hit + (kept <= FEW ? 0.25 : 0.5) * length;
        rigid_piece later = {cut, piece.to, room ? end : piece.first, room ? kept : piece.count};
        stack[used++] = later;
        later.from = hit;
        later.to = cut;
        stack[used++] = later;
    }
    return 2;
}

/* Forward in time; gives when they touch, or 2. Pieces become shorter where there are too many
 * pairs, and longer after one that is free. In pieces longer than the first any pair of boxes is
 * too many. */
static double search(rigid_search *s) {
    double longest = s->bend > 0 ? sqrt(BENT * s->grain / s->bend) : 1;
    double first = real_min(longest, s->speed > 0 ? FIRST * s->grain / s->speed : 1);
    double length = 1, t = 0;
    while ((t = skip(s, t)) < 1) {
        s->from = t;
        s->to = real_min(t + length, 1);
        s->portions = length <= real_max(SHORT * first, SHORTEST);
        s->limit = length > first ? 0 : s->portions ? UINT32_MAX : LIST;
        find_pairs(s);
        if (s->count > s->limit) {
            length *= 0.5;
            continue;
        }
        rigid_piece piece = {s->from, s->to, 0, s->portions ? s->left : s->count};
        if (s->portions && s->touch->hit) {
            piece.from = first_hit(s);
            if (is_exact(s))
                return piece.from;
            if (piece.count > LIST) {
                t = piece.from;
                length = real_max(0.5 * (piece.to - t), SHORTEST);
                continue;
            }
        }
        double hit = piece.count ? search_list(s, piece) : 2;
        if (hit <= 1)
            return hit;
        t = piece.to;
        if (piece.count < LIST / 4)
            length *= 2;
    }
    return 2;
}

/* The normal of triangles that come flush: features that cross in their plane came together in it,
 * and give a direction of the plane. */
static void straighten(const rigid_search *s, double time) {
    abut_sweep_touch *touch = s->touch;
    abut_triangle t[2];
    vec3 n[2];
    for (int side = 0; side < 2; side++) {
        abut_pose p = pose_at(s, side, time);
        abuti_motion motion = abuti_motion_of(&p);
        t[side] = bvh_triangle(s->body[side].bvh->mesh, touch->triangle[side]);
        for (int k = 0; k < 3; k++)
            t[side].corner[k] = abuti_motion_apply(&motion, t[side].corner[k]);
        const vec3 *c = t[side].corner;
        n[side] = v3_normalise(v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0])));
    }
    double gap = v3_dot(n[1], v3_sub(t[0].corner[0], t[1].corner[0]));
    if (v3_dot(n[0], n[1]) < -1 + FLUSH && gap > s->margin - s->tolerance)
        touch->normal = n[1];
}

static bool is_edge(abut_feature feature) {
    return feature >= ABUT_FEATURE_EDGE_0 && feature <= ABUT_FEATURE_EDGE_2;
}

/* Where bodies touch that are further apart than large: their distance alone tells until when they
 * are free. */
static abut_status search_far(rigid_search *s, double *time) {
    double wrong = DISTANCE_ERROR * real_max(s->body[0].size, s->body[1].size), t = 0;
    double enough = real_max(0.5 * s->tolerance, 2 * wrong);
    abut_pair_cache cache = {0};
    for (*time = 2; t <= 1;) {
        abut_posed posed[2];
        abut_separation at;
        for (int side = 0; side < 2; side++)
            posed[side] = (abut_posed){s->body[side].bvh, pose_at(s, side, t)};
        abut_status status = abuti_pair_distance(&posed[0], &posed[1], true, &cache, &at);
        double gap = at.distance - s->margin;
        if (status)
            return status;
        if (gap <= enough) {
            bool edges = is_edge(at.feature_a) && is_edge(at.feature_b);
            *time = t;
            *s->touch =
                (abut_sweep_touch){.hit = true,
                                   .point = v3_scale(v3_add(at.point_a, at.point_b), 0.5),
                                   .normal = v3_normalise(v3_sub(at.point_a, at.point_b)),
                                   .kind = edges ? ABUT_IMPACT_EDGE_EDGE : ABUT_IMPACT_VERTEX_FACE,
                                   .triangle = {at.triangle_a, at.triangle_b},
                                   .advice = s->touch->advice};
            break;
        }
        if (gap > s->speed * (1 - t))
            break;
        t += (gap - wrong) / s->speed;
    }
    return ABUT_OK;
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
    s->touch->advice = abuti_pair_doubt(doubt);
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
    status = status ? status : abuti_check_length(name, "options->separation", ours.separation);
    status = status ? status : abuti_check_length(name, "options->tolerance", ours.tolerance);
    status = status ? status : abuti_bvh_cpu_tree(a, &a);
    status = status ? status : abuti_bvh_cpu_tree(b, &b);
    if (status)
        return status;
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
    s.tolerance = real_max(real_max(s.tolerance, ROUNDING * largest), TOLERANCE_LEAST);
    s.grain = real_max(s.tolerance, real_max(grain_of(&s.body[0]), grain_of(&s.body[1])));
    status = touch_at_start(&s);
    if (!status && !found.hit) {
        double time = 2;
        if ((s.margin + s.tolerance) * real_min(a->scale, b->scale) > FAR)
            status = search_far(&s, &time);
        else
            time = search(&s);
        const abuti_path *path = &s.body[1].path;
        found.time = time;
        if (time <= 1) {
            straighten(&s, time);
            found.point = v3_add(found.point, v3_along(path->start, time, path->way));
        } else
            found = (abut_sweep_touch){.time = 1,
                                       .triangle = {ABUT_NONE, ABUT_NONE},
                                       .advice = found.advice};
        status = status ? status : abuti_stop_status("pairs");
    }
    if (!status)
        *touch = found;
    return status;
}
