/* The one-sided Hausdorff distance: the largest distance of a point of one surface to another.
 *
 * Problem: the maximum of d(x), the distance of x to b, over all points x of a. It need not be at a
 * vertex, and if surfaces nearly coincide, all of a has nearly the same distance. Method: branch
 * and bound over triangles of a. The distance to one triangle t of b is convex in x, so over a
 * piece of a it is largest at one of the three corners; and d is at most this distance. So for any
 * triangle t
 *      d(x) <= max over corners p of d(p, t)                                                  (1)
 * for all x of the piece, and for any corner p
 *      d(x) <= d(p) + |the longer side at p|.                                                 (2)
 * Candidates for t are the nearest triangles of the corners. If one t is nearest to all of them,
 * (1) is tight. Otherwise b is projected on the piece (hausdorff_cover.c), which settles surfaces
 * that are nearly the same or parallel.
 *
 * A piece for which none of this suffices is split where its nearest candidate changes: at the foot
 * of a vertex that two candidates share, or where an edge of the piece is equally far from the
 * candidates of its ends (found by the Illinois method). The parts approach those of the overlay of
 * both meshes, where (1) is tight. From ADAPTIVE_SPLITS_MAX levels on the longest edge is halved,
 * which halves pieces every two levels (Stynes 1980), so that (2) terminates the search.
 *
 * Closest points of all vertices are computed first. Then triangles are processed by their bounds,
 * largest first, in rounds of fixed size. Tasks of a round know the results of earlier rounds and
 * their own, so results do not depend on threads. A triangle is split depth first. Memory is
 * bounded: 104 bytes for each vertex and 32 for each triangle of a, and 40 and 108 for those of b.
 *
 * Rounding. A distance has an error of 4 ulp of the largest difference M of coordinates
 * (docs/geom.md); r = 2^-48 M is four times that. It is added to the distances in (1) and (2),
 * except if a corner is a corner of t, whose distance is 0. It is subtracted from lower bounds. A
 * new point is off its piece by less than 20 roundings of the largest coordinate X of a, and step =
 * 2^-48 X is 32 of them. So after k levels a point of the triangle is within k step of a point of
 * its rounded pieces: k step is added to upper bounds and subtracted from lower ones. One more step
 * covers the lengths in (2).
 */
#include "pair/hausdorff.h"
#include "nearest/batch.h"

#include "geom/closest_shared.h"

#include <assert.h>

enum {
    ADAPTIVE_SPLITS_MAX = 24,
    LEVELS = ADAPTIVE_SPLITS_MAX + 88,   /* 2^-43 of a triangle */
    PENDING_PIECES_MAX = 2 * LEVELS + 3, /* a split replaces one piece by at most three */
    ROOT_STEPS = 16,
    TRIANGLES_PER_TASK = 1024,
    PIECES_PER_TASK = 16,
    ROUND_FIRST = 512,
    ROUND_MAX = 65536,
};
#define DISTANCE_ROUNDING 0x1p-48
#define TOLERANCE_DEFAULT 1e-6
/* In units of the step, the smallest tolerance: more than LEVELS add to a bound, so that it can be
 * reached. */
#define TOLERANCE_STEPS 256.0
/* Smallest barycentric weight of a foot at which a piece is split. */
#define FOOT_WEIGHT_MIN (1.0 / 64)

static const char stage[] = "hausdorff";

/* ---- bounds ---- */

/* An upper bound of the distance from a point to a triangle of b. */
static double distance_to(const hausdorff *h, vec3 point, uint32_t triangle) {
    abut_triangle t = bvh_triangle(h->b->mesh, triangle);
    for (int k = 0; k < 3; k++)
        if (v3_equal(point, t.corner[k]))
            return 0;
    return triangle_closest_point(t, point).distance + h->rounding;
}

/* The same for all candidates of a piece. */
static void distances_to_candidates(const hausdorff *h, const piece *p, vec3 point,
                                    double d[HAUSDORFF_CANDIDATES]) {
    for (int c = 0; c < HAUSDORFF_CANDIDATES; c++) {
        int same = 0;
        while (p->candidate[same] != p->candidate[c])
            same++;
        d[c] = same < c ? d[same] : distance_to(h, point, p->candidate[c]);
    }
}

static double greatest_of(const double d[3]) {
    return real_max(real_max(d[0], d[1]), d[2]);
}

static double least_at(const piece *p, int corner) {
    double least = p->d[0][corner];
    for (int c = 1; c < HAUSDORFF_CANDIDATES; c++)
        least = real_min(least, p->d[c][corner]);
    return least;
}

/* An upper bound of the distance of all points of the piece from b. */
static double bound_of(const hausdorff *h, const piece *p) {
    double bound = INFINITY, side[3];
    for (int c = 0; c < HAUSDORFF_CANDIDATES; c++)
        bound = real_min(bound, greatest_of(p->d[c]));
    for (int i = 0; i < 3; i++)
        side[i] = v3_length(v3_sub(p->corner[(i + 1) % 3], p->corner[i]));
    for (int i = 0; i < 3; i++)
        bound = real_min(bound, least_at(p, i) + real_max(side[i], side[(i + 2) % 3]) + h->step);
    return bound + p->level * h->step;
}

static void raise_lower_bound(const hausdorff *h, finding *found, uint32_t triangle, vec3 point,
                              uint32_t level, const abut_nearest *nearest) {
    double lower = nearest->distance - h->rounding - level * h->step;
    if (!(lower > found->lower) && found->triangle != ABUT_NONE)
        return;
    found->lower = real_max(lower, 0);
    found->triangle = triangle;
    found->point = point;
    found->other = nearest->triangle;
    found->other_point = nearest->point;
}

/* ---- whole triangles ---- */

static piece whole_triangle(const hausdorff *h, uint32_t triangle) {
    const uint32_t *index = h->a->indices + 3 * (size_t)triangle;
    piece p = {.level = 0, .asked = {true, true, true, false}};
    for (int i = 0; i < 3; i++) {
        p.corner[i] = abuti_mesh_position(h->a, index[i]);
        p.candidate[i] = h->nearest[index[i]].triangle;
    }
    p.candidate[MIDDLE] = p.candidate[0];
    for (int c = 0; c < HAUSDORFF_CANDIDATES; c++)
        for (int i = 0; i < 3; i++)
            p.d[c][i] = c == i ? h->nearest[index[i]].distance + h->rounding : INFINITY;
    return p;
}

static void measure_whole_triangle(const hausdorff *h, piece *p) {
    for (int i = 0; i < 3; i++) {
        double d[HAUSDORFF_CANDIDATES];
        distances_to_candidates(h, p, p->corner[i], d);
        for (int c = 0; c < HAUSDORFF_CANDIDATES; c++)
            p->d[c][i] = d[c];
    }
}

static void corners_task(void *data, size_t chunk, size_t begin, size_t end) {
    const hausdorff *h = data;
    finding *found = &h->found[chunk];
    *found = (finding){.triangle = ABUT_NONE};
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            uint32_t triangle = h->a_bvh->order[i],
                     vertex = h->a->indices[3 * (size_t)triangle + k];
            raise_lower_bound(h, found, triangle, abuti_mesh_position(h->a, vertex), 0,
                              &h->nearest[vertex]);
        }
}

static uint64_t key_of_bound(double bound) {
    uint64_t bits;
    memcpy(&bits, &bound, sizeof bits);
    return ~bits; /* largest first; bounds are not negative */
}
static double bound_at(const sort_key *key) {
    uint64_t bits = ~key->key;
    double bound;
    memcpy(&bound, &bits, sizeof bound);
    return bound;
}

static void bounds_task(void *data, size_t chunk, size_t begin, size_t end) {
    const hausdorff *h = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        uint32_t triangle = h->a_bvh->order[i];
        piece p = whole_triangle(h, triangle);
        h->pending[i] = (sort_key){key_of_bound(bound_of(h, &p)), triangle};
    }
}

/* ---- closest-point queries ---- */

/* Finds the nearest triangle of a point within `most`, which becomes candidate c. */
static void find_candidate_triangle(const hausdorff *h, finding *found, uint32_t triangle, piece *p,
                                    int c, vec3 point, double most) {
    abut_nearest nearest;
    p->asked[c] = true;
    abuti_nearest_point(h->b, point, most + h->rounding, NULL, &nearest);
    if (nearest.triangle == ABUT_NONE)
        return;
    raise_lower_bound(h, found, triangle, point, p->level + (c == MIDDLE), &nearest);
    double d[3];
    int same = 0;
    while (same < HAUSDORFF_CANDIDATES && p->candidate[same] != nearest.triangle)
        same++;
    for (int i = 0; i < 3; i++)
        d[i] = same < HAUSDORFF_CANDIDATES ? p->d[same][i]
                                           : distance_to(h, p->corner[i], nearest.triangle);
    if (c < MIDDLE && greatest_of(p->d[c]) < greatest_of(p->d[MIDDLE])) {
        p->candidate[MIDDLE] = p->candidate[c];
        memcpy(p->d[MIDDLE], p->d[c], sizeof d);
    }
    p->candidate[c] = nearest.triangle;
    memcpy(p->d[c], d, sizeof d);
}

/* ---- splits ---- */

/* The piece with a new point instead of corner i; `d` are its distances to the candidates. */
static piece part_of(const piece *p, int i, vec3 point, const double d[HAUSDORFF_CANDIDATES]) {
    piece part = *p;
    part.level = p->level + 1;
    part.asked[i] = false;
    part.asked[MIDDLE] = true;
    part.corner[i] = point;
    for (int c = 0; c < HAUSDORFF_CANDIDATES; c++)
        part.d[c][i] = d[c];
    return part;
}

/* The foot of a vertex that candidates i and j share, if it is well inside the piece. */
static bool shared_foot(const hausdorff *h, const piece *p, int i, int j, vec3 *foot) {
    abut_triangle s = bvh_triangle(h->b->mesh, p->candidate[i]),
                  t = bvh_triangle(h->b->mesh, p->candidate[j]), all;
    memcpy(all.corner, p->corner, sizeof all.corner);
    for (int k = 0; k < 9; k++) {
        if (!v3_equal(s.corner[k / 3], t.corner[k % 3]))
            continue;
        closest_on_triangle on = triangle_closest_point(all, s.corner[k / 3]);
        const double *w = on.barycentric;
        if (real_min(real_min(w[0], w[1]), w[2]) < FOOT_WEIGHT_MIN)
            continue;
        *foot = v3_along(v3_along(p->corner[0], w[1], v3_sub(p->corner[1], p->corner[0])), w[2],
                         v3_sub(p->corner[2], p->corner[0]));
        return true;
    }
    return false;
}

/* The point of the edge from corner i to corner j with equal distances from their candidates, as a
 * fraction. */
static double find_equidistant_point(const hausdorff *h, const piece *p, int i, int j) {
    double lo = 0, hi = 1, f_lo = p->d[i][i] - p->d[j][i], f_hi = p->d[i][j] - p->d[j][j];
    double s = 0.5;
    for (int k = 0, side = 0; k < ROOT_STEPS; k++) {
        s = (lo * f_hi - hi * f_lo) / (f_hi - f_lo);
        vec3 at = v3_lerp(p->corner[i], p->corner[j], s);
        double f = distance_to(h, at, p->candidate[i]) - distance_to(h, at, p->candidate[j]);
        if (fabs(f) <= h->fine)
            break;
        if (f < 0) {
            lo = s;
            f_lo = f;
            f_hi *= side < 0 ? 0.5 : 1;
            side = -1;
        } else {
            hi = s;
            f_hi = f;
            f_lo *= side > 0 ? 0.5 : 1;
            side = 1;
        }
    }
    return real_clamp(s, 0, 1);
}

/* If the ends of an edge have different candidates: by how much each is nearer to its own, at
 * least. Otherwise 0. */
static double candidate_change(const piece *p, int i, int j) {
    if (p->candidate[i] == p->candidate[j])
        return 0;
    return real_min(p->d[j][i] - p->d[i][i], p->d[i][j] - p->d[j][j]);
}

/* Splits a piece into two or three. Returns their number. */
static uint32_t split_piece(const hausdorff *h, const piece *p, bool is_adaptive, piece parts[3]) {
    double d[HAUSDORFF_CANDIDATES], most = h->fine, longest = -1, at = 0.5;
    is_adaptive = is_adaptive && p->level < ADAPTIVE_SPLITS_MAX;
    int edge = -1, long_edge = 0;
    vec3 point;
    for (int k = 0; k < 3 && is_adaptive; k++)
        if (p->candidate[k] != p->candidate[(k + 1) % 3] &&
            shared_foot(h, p, k, (k + 1) % 3, &point)) {
            distances_to_candidates(h, p, point, d);
            for (int i = 0; i < 3; i++)
                parts[i] = part_of(p, i, point, d);
            return 3;
        }
    for (int k = 0; k < 3; k++) {
        double change = is_adaptive ? candidate_change(p, k, (k + 1) % 3) : 0;
        double length = v3_length_sq(v3_sub(p->corner[(k + 1) % 3], p->corner[k]));
        if (change > most) {
            most = change;
            edge = k;
        }
        if (length > longest) {
            longest = length;
            long_edge = k;
        }
    }
    if (edge >= 0)
        at = find_equidistant_point(h, p, edge, (edge + 1) % 3);
    else
        edge = long_edge;
    int next = (edge + 1) % 3;
    point = v3_lerp(p->corner[edge], p->corner[next], at);
    distances_to_candidates(h, p, point, d);
    parts[0] = part_of(p, next, point, d);
    parts[1] = part_of(p, edge, point, d);
    return 2;
}

/* ---- search ---- */

static vec3 middle_of(const piece *p) {
    return v3_scale(v3_add(v3_add(p->corner[0], p->corner[1]), p->corner[2]), 1.0 / 3);
}

/* Whether all corners are vertices of b. */
static bool is_on_vertices(const piece *p) {
    return least_at(p, 0) == 0 && least_at(p, 1) == 0 && least_at(p, 2) == 0;
}

/* Whether no point of the piece can exceed the known lower bound by more than the tolerance. Makes
 * further queries while that is not decided. */
static bool is_bounded(const hausdorff *h, finding *found, uint32_t triangle, piece *p,
                       covering *covered) {
    double bound = bound_of(h, p), height;
    vec3 point;
    *covered = COVER_NONE;
    for (int c = 0; c < HAUSDORFF_CANDIDATES && bound > found->lower + h->tolerance; c++) {
        if (p->asked[c] || (c == MIDDLE && !is_on_vertices(p)))
            continue;
        find_candidate_triangle(h, found, triangle, p, c, c < MIDDLE ? p->corner[c] : middle_of(p),
                                c < MIDDLE ? least_at(p, c) : bound);
        bound = bound_of(h, p);
    }
    if (bound > found->lower + h->tolerance && p->level < ADAPTIVE_SPLITS_MAX)
        *covered = abuti_hausdorff_cover(h, triangle, p, bound, &height, &point);
    if (*covered == COVER_WHOLE)
        bound = real_min(bound, height + p->level * h->step);
    else
        point = middle_of(p);
    if (bound > found->lower + h->tolerance && (*covered == COVER_WHOLE || !p->asked[MIDDLE])) {
        find_candidate_triangle(h, found, triangle, p, MIDDLE, point, bound);
        bound = real_min(bound, bound_of(h, p));
    }
    if (bound > found->lower + h->tolerance && p->level < LEVELS)
        return false;
    found->upper = real_max(found->upper, bound);
    return true;
}

static void refine_triangle(const hausdorff *h, finding *found, uint32_t triangle) {
    piece pending[PENDING_PIECES_MAX];
    uint32_t used = 1;
    covering covered;
    pending[0] = whole_triangle(h, triangle);
    measure_whole_triangle(h, &pending[0]);
    while (used) {
        piece p = pending[--used];
        if (is_bounded(h, found, triangle, &p, &covered))
            continue;
        if (found->pieces++ % 16 == 0 && abuti_stop(h->context, stage))
            return;
        assert(used + 3 <= PENDING_PIECES_MAX);
        used += split_piece(h, &p, covered != COVER_TOO_MANY, pending + used);
    }
}

static void refine_task(void *data, size_t chunk, size_t begin, size_t end) {
    const hausdorff *h = data;
    finding *found = &h->found[chunk];
    *found = h->known;
    found->pieces = 0;
    for (size_t i = begin; i < end; i++) {
        const sort_key *next = &h->pending[h->begin + i];
        if (bound_at(next) <= found->lower + h->tolerance)
            found->upper = real_max(found->upper, bound_at(next));
        else
            refine_triangle(h, found, next->value);
    }
}

/* Merges the results of tasks, in their order. */
static void merge_task_results(hausdorff *h, size_t tasks) {
    for (size_t i = 0; i < tasks; i++) {
        finding found = h->found[i], *known = &h->known;
        const double upper = real_max(known->upper, found.upper);
        const uint64_t pieces = known->pieces + found.pieces;
        if (known->triangle == ABUT_NONE || found.lower > known->lower)
            *known = found;
        known->upper = upper;
        known->pieces = pieces;
    }
}

static abut_status search_all(hausdorff *h, size_t count) {
    abut_status status = ABUT_OK;
    size_t begin = 0, size = ROUND_FIRST;
    while (begin < count && !status &&
           bound_at(&h->pending[begin]) > h->known.lower + h->tolerance) {
        size_t in_round = count - begin < size ? count - begin : size;
        h->begin = begin;
        status = abuti_parallel_try(h->context, stage, in_round, PIECES_PER_TASK, refine_task, h);
        if (status)
            break;
        merge_task_results(h, abuti_chunk_count(in_round, PIECES_PER_TASK));
        begin += in_round;
        size = size < ROUND_MAX ? 2 * size : size;
        status = abuti_progress(h->context, stage, (double)begin / (double)count);
    }
    if (begin < count)
        h->known.upper = real_max(h->known.upper, bound_at(&h->pending[begin]));
    return status;
}

/* Computes bounds of all triangles, and sorts those that the bounds do not exclude. */
static abut_status sort_triangles(hausdorff *h, sort_key *keys, size_t *left) {
    const size_t count = h->a->triangle_count;
    abut_status status =
        abuti_parallel_try(h->context, stage, count, TRIANGLES_PER_TASK, corners_task, h);
    if (status)
        return status;
    merge_task_results(h, abuti_chunk_count(count, TRIANGLES_PER_TASK));
    h->pending = keys;
    status = abuti_parallel_try(h->context, stage, count, TRIANGLES_PER_TASK, bounds_task, h);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (bound_at(&keys[i]) > h->known.lower + h->tolerance)
            keys[(*left)++] = keys[i];
        else
            h->known.upper = real_max(h->known.upper, bound_at(&keys[i]));
    }
    h->known.pieces = count;
    h->pending = abuti_sort_by_key(keys, keys + count, *left);
    return ABUT_OK;
}

static abut_status search_pieces(hausdorff *h) {
    const abut_mesh *a = h->a;
    const size_t triangles = a->triangle_count, vertices = a->vertex_count;
    const size_t tasks = abuti_chunk_count(triangles, TRIANGLES_PER_TASK),
                 refined = abuti_chunk_count(ROUND_MAX, PIECES_PER_TASK);
    vec3 *points = abuti_allocate(h->context, vertices, sizeof *points);
    abut_nearest *nearest = abuti_allocate(h->context, vertices, sizeof *nearest);
    sort_key *keys = abuti_allocate(h->context, triangles, 2 * sizeof *keys);
    h->found = abuti_allocate(h->context, tasks > refined ? tasks : refined, sizeof *h->found);
    abut_status status = points && nearest && keys && h->found ? ABUT_OK : ABUT_ERROR_MEMORY;
    size_t left = 0;
    for (size_t v = 0; v < vertices && !status; v++)
        points[v] = abuti_mesh_position(a, (uint32_t)v);
    if (!status) {
        nearest_batch batch = {.bvh = h->b,
                               .points = {.first = (const unsigned char *)points,
                                          .type = ABUT_SCALAR_FLOAT64,
                                          .stride = sizeof *points,
                                          .count = vertices},
                               .radius = INFINITY,
                               .nearest = nearest};
        h->nearest = nearest;
        status = abuti_batch_nearest(&batch);
    }
    if (!status)
        status = sort_triangles(h, keys, &left);
    if (!status && left)
        status = abuti_hausdorff_pair_sides(h);
    if (!status)
        status = search_all(h, left);
    ABUTI_RELEASE(h->context, points, nearest, keys, h->found, h->across);
    return status;
}

static abut_status read_options(hausdorff *h, const abut_pair_hausdorff_options *options) {
    abut_pair_hausdorff_options ours = abut_pair_hausdorff_options_default();
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_pair_hausdorff_options");
    if (!status)
        status = abuti_check_length("abut_pair_hausdorff", "options->tolerance", ours.tolerance);
    if (status)
        return status;
    const box3 *a = &h->a->bounds, *b = &h->b->mesh->bounds, both = box_join(*a, *b);
    const double largest = real_max(v3_max_abs(both.lo), v3_max_abs(both.hi));
    const double size = real_max(v3_length(v3_sub(a->hi, a->lo)), v3_length(v3_sub(b->hi, b->lo)));
    h->step = DISTANCE_ROUNDING * largest + DBL_MIN; /* DBL_MIN covers denormal coordinates */
    h->rounding = DISTANCE_ROUNDING * v3_max_abs(v3_sub(both.hi, both.lo)) + DBL_MIN;
    h->tolerance = ours.tolerance > 0 ? ours.tolerance : TOLERANCE_DEFAULT * size;
    h->tolerance = real_max(h->tolerance, TOLERANCE_STEPS * h->step);
    h->fine = h->tolerance / 16;
    return ABUT_OK;
}

abut_status abut_pair_hausdorff(const abut_bvh *a, const abut_bvh *b,
                                const abut_pair_hausdorff_options *options,
                                abut_pair_hausdorff_result *result) {
    if (!a || !b || !result)
        return abuti_null(__func__, !a ? "a" : !b ? "b" : "result");
    abut_status status;
    if ((status = abuti_info_check(result, sizeof *result, __func__)) ||
        (status = abuti_bvh_ensure_host(a)) || (status = abuti_bvh_ensure_host(b)))
        return status;
    hausdorff h = {
        .a = a->mesh, .a_bvh = a, .b = b, .context = a->context, .known = {.triangle = ABUT_NONE}};
    status = read_options(&h, options);
    abut_context *before = abuti_context_enter(h.context);
    if (!status)
        status = search_pieces(&h);
    abuti_context_leave(before);
    if (status)
        return status;
    const finding *known = &h.known;
    const abut_pair_hausdorff_result found = {.size = sizeof found,
                                              .lower = known->lower,
                                              .upper = real_max(known->upper, known->lower),
                                              .triangle = known->triangle,
                                              .point = known->point,
                                              .other_triangle = known->other,
                                              .other_point = known->other_point,
                                              .pieces = known->pieces};
    return abuti_info_write(result, &found, sizeof found, __func__);
}
