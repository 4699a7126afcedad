/* Time of impact of two rigid bodies that translate and rotate from pose to pose.
 *
 * Problem: vertices of rotating bodies move along arcs. A step that is too long misses a thin
 * plate, and steps that are short enough everywhere are too many.
 *
 * Method: forward in time, interval by interval ("piece"). Coordinates follow the origin of b
 * without rotation, so that only the relative motion counts. Let v be the velocity of a's origin
 * there, w_a and w_b the rotation angles per unit of time, r_a and r_b the largest distances of
 * vertices from the origins.
 *   1. Skip: no two points approach faster than v + w_a r_a + w_b r_b. So a piece of length d is
 *      free if balls around both bodies, or the boxes of both BVHs, are farther apart in its middle
 *      than d/2 times that speed. Pieces are halved until this holds, and doubled again after that.
 *   2. Collect: a piece in which bodies move by at most the size of a triangle is not halved
 *      further. Instead, the pairs of triangles are listed that no direction separates in the
 *      whole piece: not the line of their centroids, and no normal that rotates with its triangle
 *      (sweep/rigid_direction.h).
 *   3. Sweep: a vertex deviates from the line between its end positions by at most w^2 r d^2 / 8.
 *      The pairs are swept along straight lines, with the deviation of both bodies as a separation
 *      (geom/sweep_shared.h). Pairs without a hit are free in the whole piece.
 *   4. Pairs with a hit are swept again, in shorter pieces from the first hit on, until the
 *      deviation is less than half the tolerance. This needs no traversal: a shorter piece has no
 *      other pairs. Pairs that directions separate in a shorter piece are removed; in the shortest
 *      ones, also the common normals of edges are tried.
 *   5. Plane: after a free piece, the plane of the face at the smallest gap is tried as a
 *      separating plane of all vertices of both bodies, to the end of the step or a part of it.
 *      Bodies that slide along each other, however close, need one or a few of these.
 * The number of pairs does not always decrease with the length of a piece, for example between
 * faces that become flush. So in pieces that are much shorter than the first one, any number of
 * pairs is swept, in portions.
 *
 * Guarantee: conservative, as for straight sweeps. No impact is missed, and no time is late. At the
 * reported time, the distance of the bodies is at most separation plus tolerance. Positions are
 * rounded to doubles; 2^-48 of the largest coordinate is added to the separation.
 */
#include "sweep/rigid.h"
#include "geom/sweep.h"
#include "geom/sweep_point_shared.h"
#include "pair/pair.h"
#include "sweep/rigid_direction.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define TOLERANCE_MIN 1e-100 /* products of smaller coordinates underflow */
/* Upper bound of the error of distances, relative to the larger body. */
#define DISTANCE_ERROR 2e-4
#define MOVE_MAX 4.0 /* in units of the pair; float boxes are too coarse for longer moves */
#define MAX_SCALED_MARGIN 1.0 /* in these units; larger margins are searched by distances */
#define FIRST_MOVE 1.0        /* in grains: motion in the first piece when bodies are near */
#define MAX_DEVIATION 0.125   /* in grains: pieces with a larger deviation are split */
/* Relative to the first piece: in shorter pieces, any number of pairs is swept. */
#define PORTION_LENGTH 0x1p-5
#define FLUSH_COSINE 1e-6      /* 1 + the cosine of the normals of flush faces */
#define PLANE_SHORTER 0.25     /* the next interval that is tried for a plane */
#define SHORTEST_PIECE 0x1p-50 /* little longer than the rounding error of the time */

enum {
    PORTION_PAIRS = 64,   /* triangle pairs per portion */
    LIST_MAX = 512,       /* pairs that are collected */
    PAIR_CAPACITY = 2048, /* capacity for the lists of nested pieces */
    STACK_MAX = 64,       /* stack of nested pieces */
    CHEAP_PAIRS = 8, /* pairs: sweeping so few is cheap, so pieces are shortened to a quarter */
    PLANE_VERTICES = 1 << 16, /* with more vertices, a plane takes as long as a traversal */
    PLANE_TRIES = 3,          /* intervals that are tried for a plane */
    PLANE_FAILURES = 3,       /* planes that fail in a row, after which no other is tried */
    TESTS_VF = 6,             /* elementary tests of a pair of triangles */
    TESTS_EE = 9
};

typedef struct rigid_body {
    const abut_bvh *bvh;
    abuti_path path;
    double radius; /* distance of the farthest vertex from the origin */
    double size;
} rigid_body;

/* An interval of time, and the pairs of triangles that may touch in it. */
typedef struct rigid_piece {
    double from, to;
    uint32_t first, count; /* range of rigid_search.pair */
} rigid_piece;

/* A pair of triangles in a piece. */
typedef enum pair_state { PAIR_UNKNOWN, PAIR_HITS, PAIR_FREE } pair_state;

typedef struct rigid_search {
    rigid_body body[2];
    vec3 way;      /* motion of a's origin relative to b's */
    double speed;  /* upper bound of the approach speed of any two points */
    double bend;   /* deviation from straight lines for a piece of length 1 */
    double margin; /* separation plus rounding error */
    double rounding;
    double tolerance;
    double grain; /* approximate size of triangles of the coarser mesh */
    /* The piece that is swept. */
    double from, to;
    abut_sweep_rigid_result *touch; /* earliest hit; its time is 0 to 1 within the piece */
    abuti_motion middle[2];         /* poses in the middle of the piece */
    sweep_interval piece;           /* the piece for separating directions */
    /* The face whose normal separates the nearest pair of triangles of the last traversal. */
    double nearest;   /* their gap */
    int nearest_base; /* the body of the face */
    uint32_t nearest_face;
    bool nearest_below;   /* the other body is below the face */
    uint32_t limit;       /* limit of collected pairs */
    bool portions;        /* sweep pairs in portions instead of collecting them */
    uint32_t count, left; /* pairs collected; in portions, pairs with a hit: LIST_MAX + 1 = more
                             than LIST_MAX */
    uint32_t pair[PAIR_CAPACITY][2], some[PORTION_PAIRS][2];
} rigid_search;

/* ---- poses ---- */

/* The pose of a body relative to the origin of b. */
static abut_pose pose_at(const rigid_search *s, int side, double t) {
    abut_pose p = abuti_path_pose(&s->body[side].path, t);
    vec3 start = v3_sub(s->body[0].path.start, s->body[1].path.start);
    p.translation = side ? v3(0, 0, 0) : v3_along(start, t, s->way);
    return p;
}

/* Upper bound of the distance of vertices from the origin. Uses the bounding box, since there may
 * be many vertices. */
static double radius_of(const abut_mesh *mesh) {
    vec3 most = v3_max(v3_abs(mesh->bounds.lo), v3_abs(mesh->bounds.hi));
    return v3_length(most) * (1 + 0x1p-50);
}

/* Approximate size of the triangles. */
static double grain_of(const rigid_body *body) {
    return body->size / sqrt((double)body->bvh->triangle_count);
}

/* Deviation of both bodies from straight lines in a piece. */
static double deviation(const rigid_search *s, double length) {
    return s->bend * length * length;
}

static bool is_exact(const rigid_search *s) {
    double length = s->to - s->from;
    return deviation(s, length) <= 0.5 * s->tolerance || length <= SHORTEST_PIECE;
}

/* ---- separating directions ---- */

/* A triangle in the middle of the piece. */
typedef struct rigid_triangle {
    vec3 at[3], sum, normal; /* sum of the corners; normal: any length */
    double rotation_speed;   /* upper bound of the speed by rotation */
} rigid_triangle;

static rigid_triangle triangle_at(const rigid_search *s, int side, uint32_t triangle) {
    abut_triangle t = bvh_triangle(s->body[side].bvh->mesh, triangle);
    rigid_triangle found;
    double radius = 0;
    for (int k = 0; k < 3; k++) {
        radius = real_max(radius, v3_length_sq(t.corner[k]));
        found.at[k] = abuti_motion_apply(&s->middle[side], t.corner[k]);
    }
    found.rotation_speed = s->body[side].path.angle * sqrt(radius);
    found.sum = v3_add(v3_add(found.at[0], found.at[1]), found.at[2]);
    found.normal = v3_cross(v3_sub(found.at[1], found.at[0]), v3_sub(found.at[2], found.at[0]));
    return found;
}

/* Whether the line of their centroids separates two triangles in the piece: along a direction n,
 * they approach by at most |v n| + w r |axis x n| per unit of time, summed over the bodies. */
static bool line_separates(const rigid_search *s, const rigid_triangle *a,
                           const rigid_triangle *b) {
    const vec3 n = v3_sub(a->sum, b->sum);
    const double moves = fabs(v3_dot(s->way, n)) +
                         a->rotation_speed * v3_length(v3_cross(s->body[0].path.axis, n)) +
                         b->rotation_speed * v3_length(v3_cross(s->body[1].path.axis, n));
    const double gap = s->piece.half * moves + (s->margin + s->rounding) * v3_length(n);
    return sweep_direction_gap_now(n, n, a->at, b->at) > gap * (1 + 0x1p-40);
}

/* Whether a direction, which rotates with a body, separates two triangles in the piece; if so, sets
 * their gap in its middle. */
static bool separates(const rigid_search *s, int base, vec3 n, const rigid_triangle *a,
                      const rigid_triangle *b, double *gap) {
    const vec3 apart = v3_sub(a->sum, b->sum);
    const double enough = s->margin + s->rounding;
    if (!(sweep_direction_gap_now(n, apart, a->at, b->at) > enough * v3_length(n)))
        return false;
    const sweep_direction d = sweep_direction_of(&s->piece, base, n);
    return sweep_direction_separates(&s->piece, &d, apart, a->at, b->at, enough, gap);
}

/* Whether a common normal of two edges separates a pair of triangles in the piece. */
static bool edges_separate(const rigid_search *s, const uint32_t *pair) {
    const rigid_triangle a = triangle_at(s, 0, pair[0]), b = triangle_at(s, 1, pair[1]);
    double gap;
    for (int i = 0; i < 9; i++) {
        const vec3 e = v3_sub(a.at[(i / 3 + 1) % 3], a.at[i / 3]),
                   f = v3_sub(b.at[(i % 3 + 1) % 3], b.at[i % 3]);
        if (separates(s, 1, v3_cross(e, f), &a, &b, &gap))
            return true;
    }
    return false;
}

/* ---- straight sweeps ---- */

/* Corners of the triangles of pairs at a time, six per pair. */
static void place_triangles(const rigid_search *s, uint32_t (*pair)[2], uint32_t count, double t,
                            vec3 *at) {
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

/* Vertices of all elementary tests: every vertex with the face of the other triangle, or every edge
 * with every edge. The vertex belongs to a in the first three of six tests. */
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
static void record_hit(rigid_search *s, bool edges, const uint32_t *pair, bool of_b,
                       const vec3 *from, const vec3 *to, const sweep_answer *answer) {
    abut_sweep_rigid_result *touch = s->touch;
    if (touch->hit && answer->time >= touch->time)
        return;
    touch->hit = true;
    touch->time = answer->time;
    touch->kind = edges ? ABUT_IMPACT_EDGE_EDGE : ABUT_IMPACT_VERTEX_FACE;
    touch->point = sweep_point(edges, from, to, answer->time, answer->weights);
    touch->normal =
        v3_add(v3_scale(answer->normal, of_b ? -1 : 1), v3(0, 0, 0)); /* adding 0 avoids -0 */
    memcpy(touch->triangle, pair, sizeof touch->triangle);
}

/* Sweeps all tests of one kind and marks the pairs with a hit. Hits in exact pieces end the search:
 * there, a direction is a finer proof than a sweep with a deviation. */
static void sweep_kind(rigid_search *s, int kind, uint32_t (*pair)[2], uint32_t count,
                       const vec3 *start, const vec3 *end, pair_state *states) {
    uint32_t four[4 * TESTS_EE * PORTION_PAIRS], left[TESTS_EE * PORTION_PAIRS];
    bool edges = kind == SWEEP_EDGE_EDGE;
    sweep_limits limits = {.separation = s->margin + deviation(s, s->to - s->from),
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
        if (states[at] == PAIR_FREE || !sweep_pair(kind, from, to, &limits, &answer))
            continue;
        if (states[at] == PAIR_UNKNOWN)
            states[at] = is_exact(s) && edges_separate(s, pair[at]) ? PAIR_FREE : PAIR_HITS;
        if (states[at] == PAIR_FREE)
            continue;
        record_hit(s, edges, pair[at], !edges && left[i] % TESTS_VF >= 3, from, to, &answer);
    }
}

/* Sweeps at most PORTION_PAIRS pairs in the piece. Writes those with a hit to `left`, which may be
 * `pair`, and returns their number. */
static uint32_t sweep_pairs(rigid_search *s, uint32_t (*pair)[2], uint32_t count,
                            uint32_t (*left)[2]) {
    vec3 start[6 * PORTION_PAIRS], end[6 * PORTION_PAIRS];
    pair_state states[PORTION_PAIRS] = {PAIR_UNKNOWN};
    uint32_t kept = 0;
    place_triangles(s, pair, count, s->from, start);
    place_triangles(s, pair, count, s->to, end);
    sweep_kind(s, SWEEP_VERTEX_FACE, pair, count, start, end, states);
    sweep_kind(s, SWEEP_EDGE_EDGE, pair, count, start, end, states);
    for (uint32_t i = 0; i < count; i++)
        if (states[i] == PAIR_HITS) {
            left[kept][0] = pair[i][0];
            left[kept++][1] = pair[i][1];
        }
    return kept;
}

/* ---- candidate pairs ---- */

/* Whether two triangles may touch in the piece: neither the line of their centroids nor their
 * normals separate them in all of it. Keeps the face whose normal has the least gap in the middle
 * of the piece. */
static bool may_touch(rigid_search *s, const uint32_t *pair, const rigid_triangle *a,
                      const rigid_triangle *b) {
    if (line_separates(s, a, b))
        return false;
    for (int base = 1; base >= 0; base--) {
        const vec3 normal = base ? b->normal : a->normal;
        double gap;
        if (!separates(s, base, normal, a, b, &gap))
            continue;
        if (gap < s->nearest) {
            s->nearest = gap;
            s->nearest_base = base;
            s->nearest_face = pair[base];
            s->nearest_below = (v3_dot(normal, v3_sub(a->sum, b->sum)) < 0) == (base == 1);
        }
        return false;
    }
    return true;
}

/* Sweeps the pairs of a portion and keeps those with a hit. */
static void sweep_portion(rigid_search *s) {
    uint32_t kept = sweep_pairs(s, s->some, s->count, s->some);
    if (s->left + kept <= LIST_MAX)
        memcpy(s->pair + s->left, s->some, kept * sizeof *s->some);
    s->left = s->left + kept <= LIST_MAX ? s->left + kept : LIST_MAX + 1;
    s->count = 0;
}

static bool add_pair(rigid_search *s, uint32_t a, uint32_t b) {
    uint32_t(*list)[2] = s->portions ? s->some : s->pair;
    if (s->count == s->limit) {
        s->count++;
        return true;
    }
    list[s->count][0] = a;
    list[s->count++][1] = b;
    if (s->portions && s->count == PORTION_PAIRS)
        sweep_portion(s);
    return false;
}

static bool add_leaf_pairs(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned near) {
    rigid_search *s = data;
    const uint32_t *a = s->body[0].bvh->order + (size_t)leaf_a * BVH_WIDTH,
                   *b = s->body[1].bvh->order + (size_t)leaf_b * BVH_WIDTH;
    rigid_triangle of_b[BVH_WIDTH];
    unsigned placed = 0;
    if (!s->limit) /* a single pair exceeds the limit */
        return add_pair(s, 0, 0);
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
            const uint32_t pair[2] = {a[i], b[j]};
            if (may_touch(s, pair, &of_a, &of_b[j]) && add_pair(s, a[i], b[j]))
                return true;
        }
    }
    return false;
}

/* Sets the piece that is swept. */
static void set_piece(rigid_search *s, double from, double to) {
    s->from = from;
    s->to = to;
    s->touch->hit = false;
    s->piece.half = 0.5 * (to - from) * (1 + 0x1p-40) + 0x1p-52;
    for (int side = 0; side < 2; side++) {
        const abut_pose place = pose_at(s, side, 0.5 * (from + to));
        s->middle[side] = abuti_motion_of(&place);
        if (side == 0)
            s->piece.apart = place.translation;
    }
}

/* Collects the pairs that may touch in the piece, or sweeps them in portions. */
static void find_pairs(rigid_search *s) {
    double length = s->to - s->from;
    double moves = 0.5 * length * s->speed + s->margin + s->tolerance;
    abuti_posed posed[2];
    pair_frame frame;
    s->count = s->left = 0;
    s->nearest = INFINITY;
    for (int side = 0; side < 2; side++)
        posed[side] = (abuti_posed){s->body[side].bvh, pose_at(s, side, 0.5 * (s->from + s->to))};
    abuti_pair_frame_init(&posed[0], &posed[1], &frame);
    if (moves * frame.scale > MOVE_MAX) { /* too far for float boxes */
        s->count = s->limit + 1;
        return;
    }
    frame.pad += (float)(moves * frame.scale * 1.0001);
    abuti_pair_candidates(&frame, add_leaf_pairs, s);
    if (s->portions && s->count)
        sweep_portion(s);
}

/* The time until which balls around both bodies prove them free; more than 1: until the end. */
static double skip_free_time(const rigid_search *s, double t) {
    double balls = s->body[0].radius + s->body[1].radius + s->margin + s->tolerance;
    double gap = v3_length(pose_at(s, 0, t).translation) * (1 - 0x1p-50) - balls;
    return gap > s->speed * (1 - t) ? 2 : gap > 0 ? t + gap / s->speed * (1 - 0x1p-50) : t;
}

/* ---- pieces ---- */

/* Time of the first hit of the piece, or 2. */
static double first_hit(const rigid_search *s) {
    return s->touch->hit ? s->from + s->touch->time * (s->to - s->from) : 2;
}

/* Sweeps a list. Writes pairs with a hit to `left` if it is not null. */
static uint32_t sweep_list(rigid_search *s, const rigid_piece *piece, uint32_t (*left)[2]) {
    uint32_t kept = 0;
    set_piece(s, piece->from, piece->to);
    for (uint32_t i = 0; i < piece->count;) {
        uint32_t some = 0;
        for (; i < piece->count && some < PORTION_PAIRS; i++) {
            const uint32_t *pair = s->pair[piece->first + i];
            const rigid_triangle a = triangle_at(s, 0, pair[0]), b = triangle_at(s, 1, pair[1]);
            if (may_touch(s, pair, &a, &b))
                memcpy(s->some[some++], pair, sizeof *s->some);
        }
        kept += sweep_pairs(s, s->some, some, left ? left + kept : s->some);
    }
    return kept;
}

/* The time of the first hit among the pairs of a piece, or 2. The stack has the earliest piece on
 * top; the list of the topmost piece is the last one in `pair`. */
static double search_list(rigid_search *s, rigid_piece whole) {
    rigid_piece stack[STACK_MAX];
    uint32_t used = 0;
    stack[used++] = whole;
    while (used) {
        rigid_piece piece = stack[--used];
        uint32_t end = piece.first + piece.count;
        bool room =
            end + piece.count <= PAIR_CAPACITY; /* otherwise all pairs are kept and swept again */
        uint32_t kept = sweep_list(s, &piece, room ? s->pair + end : NULL);
        double hit = first_hit(s);
        if (hit > 1)
            continue;
        if (is_exact(s))
            return hit;
        double length = piece.to - hit, cut = hit + (kept <= CHEAP_PAIRS ? 0.25 : 0.5) * length;
        assert(used + 2 <= STACK_MAX); /* pieces at least halve, and end at 2^-50: at most 52 */
        rigid_piece later = {cut, piece.to, room ? end : piece.first, room ? kept : piece.count};
        stack[used++] = later;
        later.from = hit;
        later.to = cut;
        stack[used++] = later;
    }
    return 2;
}

/* ---- separating planes ---- */

/* Whether the plane of a face, which moves with its body, separates all of the other body from all
 * of this one in the piece. */
static bool plane_separates(const rigid_search *s, int base, uint32_t face, bool below) {
    const sweep_direction plane =
        sweep_direction_of(&s->piece, base, triangle_at(s, base, face).normal);
    const double sign = below ? -1 : 1,
                 enough = (s->margin + s->rounding) * plane.length * (1 + 0x1p-40);
    const abut_mesh *mesh = s->body[base].bvh->mesh, *other = s->body[!base].bvh->mesh;
    double highest = -INFINITY;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const vec3 at = abuti_motion_apply(&s->middle[base], abuti_mesh_position(mesh, v));
        highest = real_max(highest, sign * sweep_direction_height(&s->piece, &plane, at));
    }
    for (uint32_t v = 0; v < other->vertex_count; v++) {
        const vec3 at = abuti_motion_apply(&s->middle[!base], abuti_mesh_position(other, v));
        if (!(sweep_direction_gap(&s->piece, &plane, sign, at, highest) > enough))
            return false;
    }
    return plane.length > 0;
}

/* The time until which the plane of the nearest face proves the bodies free; `t` if it does not.
 * Bodies that rest on each other are often free in the whole step by one plane. */
static double plane_free_time(rigid_search *s, double t) {
    const int base = s->nearest_base;
    const uint32_t face = s->nearest_face;
    const bool below = s->nearest_below;
    double to = 1;
    if (!(s->nearest < INFINITY) ||
        (size_t)s->body[0].bvh->mesh->vertex_count + s->body[1].bvh->mesh->vertex_count >
            PLANE_VERTICES)
        return t;
    for (int i = 0; i < PLANE_TRIES; i++, to = t + PLANE_SHORTER * (to - t)) {
        set_piece(s, t, to);
        if (plane_separates(s, base, face, below))
            return to;
    }
    return t;
}

/* Advances in time; returns the time of impact, or 2. Pieces are shortened if they have too many
 * pairs, and lengthened after a free one. In pieces longer than the first one, a single pair of
 * leaves is too many. */
static double advance(rigid_search *s) {
    double longest = s->bend > 0 ? sqrt(MAX_DEVIATION * s->grain / s->bend) : 1;
    double first = real_min(longest, s->speed > 0 ? FIRST_MOVE * s->grain / s->speed : 1);
    double length = 1, t = 0;
    uint32_t failures = 0; /* of planes, in a row */
    while ((t = skip_free_time(s, t)) < 1) {
        set_piece(s, t, real_min(t + length, 1));
        s->portions = length <= real_max(PORTION_LENGTH * first, SHORTEST_PIECE);
        s->limit = length > first ? 0 : s->portions ? UINT32_MAX : LIST_MAX;
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
            if (piece.count > LIST_MAX) {
                t = piece.from;
                length = real_max(0.5 * (piece.to - t), SHORTEST_PIECE);
                continue;
            }
        }
        double hit = piece.count ? search_list(s, piece) : 2;
        if (hit <= 1)
            return hit;
        t = piece.to;
        if (piece.count < LIST_MAX / 4)
            length *= 2;
        if (t < 1 && failures < PLANE_FAILURES) {
            const double later = plane_free_time(s, t);
            failures = later > t ? 0 : failures + 1;
            t = later;
        }
    }
    return 2;
}

/* The normal of flush triangles. Features that cross in the common plane approach within it, and
 * their normal would be a direction of the plane. */
static void correct_flush_normal(const rigid_search *s, double time) {
    abut_sweep_rigid_result *touch = s->touch;
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
    if (v3_dot(n[0], n[1]) < -1 + FLUSH_COSINE && gap > s->margin - s->tolerance)
        touch->normal = n[1];
}

static bool is_edge(abut_feature feature) {
    return feature >= ABUT_FEATURE_EDGE_0 && feature <= ABUT_FEATURE_EDGE_2;
}

/* Search for margins larger than the bodies: conservative advancement by the distance alone. */
static abut_status search_by_distance(rigid_search *s, double *time) {
    double wrong = DISTANCE_ERROR * real_max(s->body[0].size, s->body[1].size), t = 0;
    double enough = real_max(0.5 * s->tolerance, 2 * wrong);
    abut_pair_cache cache = {0};
    for (*time = 2; t <= 1;) {
        abuti_posed posed[2];
        abut_separation at;
        for (int side = 0; side < 2; side++)
            posed[side] = (abuti_posed){s->body[side].bvh, pose_at(s, side, t)};
        abut_status status = abuti_pair_distance(&posed[0], &posed[1], true, &cache, &at);
        double gap = at.distance - s->margin;
        if (status)
            return status;
        if (gap <= enough) {
            bool edges = is_edge(at.feature_a) && is_edge(at.feature_b);
            *time = t;
            *s->touch =
                (abut_sweep_rigid_result){.hit = true,
                                          .point = v3_scale(v3_add(at.point_a, at.point_b), 0.5),
                                          .normal = v3_normalise(v3_sub(at.point_a, at.point_b)),
                                          .kind = edges ? ABUT_IMPACT_EDGE_EDGE
                                                        : ABUT_IMPACT_VERTEX_FACE,
                                          .triangle = {at.triangle_a, at.triangle_b},
                                          .reliability = s->touch->reliability};
            break;
        }
        if (gap > s->speed * (1 - t))
            break;
        t += (gap - wrong) / s->speed;
    }
    return ABUT_OK;
}

/* ---- public function ---- */

static abut_status check_step(const char *side, const char *end, const abut_bvh *bvh,
                              const abuti_step *step) {
    const abut_status status = abuti_pair_check_pose("abut_sweep_rigid", side, bvh, &step->from);
    return status ? status : abuti_pair_check_pose("abut_sweep_rigid", end, bvh, &step->to);
}

/* Sets the result for bodies that touch or contain each other at the start. */
static abut_status test_start(rigid_search *s) {
    abuti_posed posed[2] = {{s->body[0].bvh, pose_at(s, 0, 0)}, {s->body[1].bvh, pose_at(s, 1, 0)}};
    abut_separation separation;
    abut_pair_relation relation;
    unsigned doubt = 0;
    abut_status status = abuti_pair_overlap(&posed[0], &posed[1], false, NULL, &relation, &doubt);
    s->touch->reliability = abuti_pair_reliability_of(doubt);
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

/* Sweeps two meshes, with validated options. */
static abut_status sweep_meshes(const abut_bvh *a, const abuti_step *step_a, const abut_bvh *b,
                                const abuti_step *step_b, const abut_sweep_rigid_options *options,
                                abut_sweep_rigid_result *touch) {
    const char *name = "abut_sweep_rigid";
    abut_status status;
    if ((status = abuti_bvh_check(name, a, touch, "result")) ||
        (status = abuti_bvh_check(name, b, touch, "result")) ||
        (status = check_step("a", "a at end_a", a, step_a)) ||
        (status = check_step("b", "b at end_b", b, step_b)) ||
        (status = abuti_bvh_cpu_tree(a, &a)) || (status = abuti_bvh_cpu_tree(b, &b)))
        return status;
    abut_sweep_rigid_result found = {.time = 1, .triangle = {ABUT_NONE, ABUT_NONE}};
    rigid_search s = {.body = {{.bvh = a, .path = abuti_path_of(step_a)},
                               {.bvh = b, .path = abuti_path_of(step_b)}},
                      .touch = &found};
    s.way = v3_sub(s.body[0].path.shift, s.body[1].path.shift);
    s.speed = v3_length(s.way);
    s.piece = (sweep_interval){.way = s.way,
                               .speed = s.speed,
                               .axis = {s.body[0].path.axis, s.body[1].path.axis},
                               .angle = {s.body[0].path.angle, s.body[1].path.angle}};
    for (int side = 0; side < 2; side++) {
        rigid_body *body = &s.body[side];
        const box3 *box = &body->bvh->mesh->bounds;
        double angle = body->path.angle;
        body->radius = radius_of(body->bvh->mesh);
        body->size = v3_max_abs(v3_sub(box->hi, box->lo));
        s.speed += angle * body->radius;
        s.bend += angle * angle * body->radius / 8;
    }
    double largest = v3_max_abs(v3_sub(step_a->from.translation, step_b->from.translation)) +
                     v3_max_abs(s.way) + s.body[0].radius + s.body[1].radius;
    s.rounding = RIGID_ROUNDING * largest;
    s.margin = options->separation + s.rounding;
    s.tolerance = options->tolerance > 0
                      ? options->tolerance
                      : RIGID_TOLERANCE * real_min(s.body[0].size, s.body[1].size);
    s.tolerance = real_max(real_max(s.tolerance, RIGID_ROUNDING * largest), TOLERANCE_MIN);
    s.grain = real_max(s.tolerance, real_max(grain_of(&s.body[0]), grain_of(&s.body[1])));
    if ((status = test_start(&s)))
        return status;
    if (!found.hit) {
        double time = 2;
        if ((s.margin + s.tolerance) * real_min(a->scale, b->scale) > MAX_SCALED_MARGIN)
            status = search_by_distance(&s, &time);
        else
            time = advance(&s);
        if (status || (status = abuti_stop_status("pairs")))
            return status;
        const abuti_path *path = &s.body[1].path;
        found.time = time;
        if (time <= 1) {
            correct_flush_normal(&s, time);
            found.point = v3_add(found.point, v3_along(path->start, time, path->shift));
        } else {
            found = (abut_sweep_rigid_result){.time = 1,
                                              .triangle = {ABUT_NONE, ABUT_NONE},
                                              .reliability = found.reliability};
        }
    }
    *touch = found;
    return ABUT_OK;
}

abut_status abuti_sweep_shapes(const sweep_shape *a, const abuti_step *step_a, const sweep_shape *b,
                               const abuti_step *step_b, const abut_sweep_rigid_options *options,
                               abut_sweep_rigid_result *result) {
    abut_sweep_rigid_options ours = *options;
    ours.separation += a->radius + b->radius;
    if ((a->is_core || b->is_core) && !(ours.tolerance > 0))
        ours.tolerance = RIGID_TOLERANCE * real_min(sweep_shape_size(a), sweep_shape_size(b));
    abut_status status = sweep_meshes(a->bvh, step_a, b->bvh, step_b, &ours, result);
    if (!status) { /* from the midpoint of the cores to the surfaces */
        result->point = v3_along(result->point, 0.5 * (b->radius - a->radius), result->normal);
        for (int k = 0; k < 2; k++)
            result->triangle[k] = (k ? b : a)->is_core ? ABUT_NONE : result->triangle[k];
    }
    return status;
}

/* A collider of abut_sweep_rigid() with its motion. */
typedef struct rigid_input {
    abut_collider collider;
    abuti_step step;
    sweep_shape shape;
    abut_bvh *core; /* owned, or null */
} rigid_input;

static abut_status read_input(const char *what, const char *end_name, const abut_collider *collider,
                              const abut_pose *end, rigid_input *in) {
    const char *name = "abut_sweep_rigid";
    abut_status status = abuti_collider_read(name, what, collider, &in->collider);
    if (status)
        return status;
    const abut_collider *c = &in->collider;
    in->step = (abuti_step){c->pose, end ? *end : c->pose};
    in->shape = (sweep_shape){.collider = c};
    if (c->kind != ABUT_COLLIDER_BODY && !collider_is_primitive(c))
        return abuti_collider_refuse(name, what, c, "a body with a BVH, or a primitive");
    if (c->kind == ABUT_COLLIDER_BODY || c->kind == ABUT_COLLIDER_HULL) {
        abuti_posed posed;
        if ((status = abuti_posed_read(name, what, c, &posed)) ||
            (status = abuti_bvh_check(name, posed.bvh, in, what)))
            return status;
        in->shape.bvh = posed.bvh;
        in->shape.bounds = posed.bvh->mesh->bounds;
        return check_step(what, end_name, posed.bvh, &in->step);
    }
    in->shape.is_core = true;
    in->shape.bounds = abuti_collider_bounds(c);
    if ((status = abuti_pose_check(name, what, &in->step.from)) ||
        (status = abuti_pose_check(name, end_name, &in->step.to)))
        return status;
    return abuti_collider_check_primitive(name, what, c);
}

/* Creates the core of a primitive. Against a plane, only cylinders need one. */
static abut_status create_input_core(abut_context *context, rigid_input *in, bool has_plane) {
    const abut_collider_kind kind = in->collider.kind;
    if (in->shape.bvh || (has_plane && kind != ABUT_COLLIDER_CYLINDER))
        return ABUT_OK;
    abut_status status = abuti_sweep_create_core("abut_sweep_rigid", context, &in->collider,
                                                 &in->core, &in->shape.radius);
    in->shape.bvh = in->core;
    return status;
}

abut_status abut_sweep_rigid(const abut_collider *a, const abut_pose *end_a, const abut_collider *b,
                             const abut_pose *end_b, const abut_sweep_rigid_options *options,
                             abut_sweep_rigid_result *result) {
    rigid_input in[2] = {{.core = NULL}, {.core = NULL}};
    abut_sweep_rigid_options ours = abut_sweep_rigid_options_default();
    abut_sweep_rigid_result found = {.time = 1,
                                     .triangle = {ABUT_NONE, ABUT_NONE},
                                     .reliability = abuti_pair_reliability_of(0)};
    if (!result)
        return abuti_null(__func__, "result");
    abut_status status;
    if ((status = read_input("a", "a at end_a", a, end_a, &in[0])) ||
        (status = read_input("b", "b at end_b", b, end_b, &in[1])) ||
        (status = abuti_options_read(&ours, sizeof ours, options, __func__)) ||
        (status = abuti_check_length(__func__, "options->separation", ours.separation)) ||
        (status = abuti_check_length(__func__, "options->tolerance", ours.tolerance)))
        return status;
    const bool a_is_plane = in[0].collider.kind == ABUT_COLLIDER_PLANE,
               b_is_plane = in[1].collider.kind == ABUT_COLLIDER_PLANE,
               has_plane = a_is_plane || b_is_plane;
    if (a_is_plane && b_is_plane)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a and b are planes; one of them must be another kind", __func__);
    const abut_bvh *bvh = in[0].shape.bvh ? in[0].shape.bvh : in[1].shape.bvh;
    abut_context *context = bvh ? bvh->mesh->context : abuti_context_of(NULL);
    for (int k = 0; k < 2 && !status; k++)
        status = create_input_core(context, &in[k], has_plane);
    if (!status && has_plane) {
        const rigid_input *plane = &in[b_is_plane], *other = &in[a_is_plane];
        sweep_plane f;
        abuti_sweep_plane_init(&f, &other->shape, &other->step, &plane->collider.shape.plane,
                               &plane->step, &ours);
        abuti_sweep_plane_search(&f, &found);
        if (a_is_plane)
            found.normal = v3_sub(v3(0, 0, 0), found.normal); /* no -0 */
    } else if (!status)
        status =
            abuti_sweep_shapes(&in[0].shape, &in[0].step, &in[1].shape, &in[1].step, &ours, &found);
    for (int k = 0; k < 2; k++)
        abut_bvh_destroy(in[k].core);
    if (!status)
        *result = found;
    return status;
}
