/* The one-sided Hausdorff distance: how far a point of one surface can be from another.
 *
 * Problem: the greatest of d(x), the distance of x to b, over all points x of a. It need be at no
 * vertex, and where surfaces nearly agree all of a is nearly as far.
 * Method: branch and bound over triangles of a. The distance to one triangle t of b is convex in x,
 * so over a piece of a it is greatest at one of the three corners; and d is no more than it. So for
 * any t whatsoever
 *     d(x) <= max over corners p of d(p, t)                                                    (1)
 * for all x of the piece, and for any corner p
 *     d(x) <= d(p) + |the longer side at p|.                                                   (2)
 * Candidates for t are the nearest triangles of the corners. Where one t is nearest to all of them
 * (1) is tight. Else b is looked at from the piece (hausdorff_cover.c): surfaces that are nearly
 * the same, or parallel, are done with that.
 *
 * A piece for which none of this is enough is cut where its candidates change hands: at the foot of
 * a vertex that two of them share, or where an edge of the piece is equally far from the candidates
 * of its ends (found by the Illinois method). Its parts come near to those of the overlay of both
 * meshes, where (1) is tight. From CUTS_BY_SIGHT levels on the longest edge is halved, which halves
 * pieces every two levels (Stynes 1980), so that (2) ends all.
 *
 * Nearest points of all vertices come first, then triangles by their bounds, the greatest first, in
 * rounds of fixed size: tasks of a round know what earlier rounds have found and what they find
 * themselves, so answers do not depend on threads. A triangle is cut depth first. Memory, whatever
 * happens: 104 bytes for each vertex and 32 for each triangle of a, and of b 40 and 108.
 *
 * Rounding. A distance is wrong by 4 ulp of the largest difference M of coordinates (docs/geom.md);
 * r = 2^-48 M is four times that. It is added to what goes into (1) and (2), but where a corner is
 * a corner of t, whose distance is 0; and taken from distances that are lower bounds. A new point
 * is off its piece by less than 20 roundings of the largest coordinate X of a, and step = 2^-48 X
 * is 32 of them. So after k levels a point of the triangle is within k step of one that its pieces,
 * as rounded, contain: k step is added to upper bounds, and taken from lower ones. One step more
 * covers the lengths in (2).
 */
#include "map/hausdorff.h"
#include "nearest/batch.h"

#include "geom/closest_shared.h"

enum {
    CUTS_BY_SIGHT = 24,
    LEVELS = CUTS_BY_SIGHT + 88, /* 2^-43 of a triangle */
    PENDING = 2 * LEVELS + 3,    /* a cut takes one piece and gives at most three */
    ROOT_STEPS = 16,
    TRIANGLES_A_TASK = 1024,
    PIECES_A_TASK = 16,
    ROUND_FIRST = 512,
    ROUND_MOST = 65536,
};
#define ROUNDING 0x1p-48
#define TOLERANCE 1e-6
/* Of the least tolerance: more than what LEVELS add to a bound, which could not be met otherwise.
 */
#define TOLERANCE_STEPS 256.0
/* A foot of a vertex nearer to the border of a piece than this, as a weight, is no place to cut. */
#define FOOT_LEAST (1.0 / 64)

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

/* The same for the candidates of a piece. */
static void distances_to(const hausdorff *h, const piece *p, vec3 point, double d[TRIED]) {
    for (int c = 0; c < TRIED; c++) {
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
    for (int c = 1; c < TRIED; c++)
        least = real_min(least, p->d[c][corner]);
    return least;
}

/* No point of the piece is farther from b. */
static double bound_of(const hausdorff *h, const piece *p) {
    double bound = INFINITY, side[3];
    for (int c = 0; c < TRIED; c++)
        bound = real_min(bound, greatest_of(p->d[c]));
    for (int i = 0; i < 3; i++)
        side[i] = v3_length(v3_sub(p->corner[(i + 1) % 3], p->corner[i]));
    for (int i = 0; i < 3; i++)
        bound = real_min(bound, least_at(p, i) + real_max(side[i], side[(i + 2) % 3]) + h->step);
    return bound + p->level * h->step;
}

static void raise_lower(const hausdorff *h, finding *found, uint32_t triangle, vec3 point,
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

static piece whole(const hausdorff *h, uint32_t triangle) {
    const uint32_t *index = h->a->indices + 3 * (size_t)triangle;
    piece p = {.level = 0, .asked = {true, true, true, false}};
    for (int i = 0; i < 3; i++) {
        p.corner[i] = abuti_mesh_position(h->a, index[i]);
        p.candidate[i] = h->nearest[index[i]].triangle;
    }
    p.candidate[MIDDLE] = p.candidate[0];
    for (int c = 0; c < TRIED; c++)
        for (int i = 0; i < 3; i++)
            p.d[c][i] = c == i ? h->nearest[index[i]].distance + h->rounding : INFINITY;
    return p;
}

static void measure_whole(const hausdorff *h, piece *p) {
    for (int i = 0; i < 3; i++) {
        double d[TRIED];
        distances_to(h, p, p->corner[i], d);
        for (int c = 0; c < TRIED; c++)
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
            raise_lower(h, found, triangle, abuti_mesh_position(h->a, vertex), 0,
                        &h->nearest[vertex]);
        }
}

static uint64_t key_of(double bound) {
    uint64_t bits;
    memcpy(&bits, &bound, sizeof bits);
    return ~bits; /* the greatest first; bounds are not negative */
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
        piece p = whole(h, triangle);
        h->pending[i] = (sort_key){key_of(bound_of(h, &p)), triangle};
    }
}

/* ---- questions ---- */

/* Asks for the nearest triangle of a point that is no farther than `most`, which becomes candidate
 * c. */
static void ask(const hausdorff *h, finding *found, uint32_t triangle, piece *p, int c, vec3 point,
                double most) {
    abut_nearest nearest;
    p->asked[c] = true;
    abuti_nearest_point(h->b, point, most + h->rounding, NULL, &nearest);
    if (nearest.triangle == ABUT_NONE)
        return;
    raise_lower(h, found, triangle, point, p->level + (c == MIDDLE), &nearest);
    double d[3];
    int same = 0;
    while (same < TRIED && p->candidate[same] != nearest.triangle)
        same++;
    for (int i = 0; i < 3; i++)
        d[i] = same < TRIED ? p->d[same][i] : distance_to(h, p->corner[i], nearest.triangle);
    if (c < MIDDLE && greatest_of(p->d[c]) < greatest_of(p->d[MIDDLE])) {
        p->candidate[MIDDLE] = p->candidate[c];
        memcpy(p->d[MIDDLE], p->d[c], sizeof d);
    }
    p->candidate[c] = nearest.triangle;
    memcpy(p->d[c], d, sizeof d);
}

/* ---- cuts ---- */

/* The piece with a new point, whose distances to candidates are `d`, instead of corner i. */
static piece part_of(const piece *p, int i, vec3 point, const double d[TRIED]) {
    piece part = *p;
    part.level = p->level + 1;
    part.asked[i] = false;
    part.asked[MIDDLE] = true;
    part.corner[i] = point;
    for (int c = 0; c < TRIED; c++)
        part.d[c][i] = d[c];
    return part;
}

/* The foot of a vertex that candidates i and j share, if that is well inside the piece. */
static bool shared_foot(const hausdorff *h, const piece *p, int i, int j, vec3 *foot) {
    abut_triangle s = bvh_triangle(h->b->mesh, p->candidate[i]),
                  t = bvh_triangle(h->b->mesh, p->candidate[j]), all;
    memcpy(all.corner, p->corner, sizeof all.corner);
    for (int k = 0; k < 9; k++) {
        if (!v3_equal(s.corner[k / 3], t.corner[k % 3]))
            continue;
        closest_on_triangle on = triangle_closest_point(all, s.corner[k / 3]);
        const double *w = on.barycentric;
        if (real_min(real_min(w[0], w[1]), w[2]) < FOOT_LEAST)
            continue;
        *foot = v3_along(v3_along(p->corner[0], w[1], v3_sub(p->corner[1], p->corner[0])), w[2],
                         v3_sub(p->corner[2], p->corner[0]));
        return true;
    }
    return false;
}

/* Where the edge from corner i to corner j is as far from the candidate of i as from that of j. */
static double place_of_change(const hausdorff *h, const piece *p, int i, int j) {
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

/* Whether an edge ends at corners with candidates of their own, and by how much they are nearer. */
static double change_on(const piece *p, int i, int j) {
    if (p->candidate[i] == p->candidate[j])
        return 0;
    return real_min(p->d[j][i] - p->d[i][i], p->d[i][j] - p->d[j][j]);
}

/* Cuts a piece into two or three: how many. */
static uint32_t cut(const hausdorff *h, const piece *p, bool by_sight, piece parts[3]) {
    double d[TRIED], most = h->fine, longest = -1, at = 0.5;
    by_sight = by_sight && p->level < CUTS_BY_SIGHT;
    int edge = -1, long_edge = 0;
    vec3 point;
    for (int k = 0; k < 3 && by_sight; k++)
        if (p->candidate[k] != p->candidate[(k + 1) % 3] &&
            shared_foot(h, p, k, (k + 1) % 3, &point)) {
            distances_to(h, p, point, d);
            for (int i = 0; i < 3; i++)
                parts[i] = part_of(p, i, point, d);
            return 3;
        }
    for (int k = 0; k < 3; k++) {
        double change = by_sight ? change_on(p, k, (k + 1) % 3) : 0;
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
        at = place_of_change(h, p, edge, (edge + 1) % 3);
    else
        edge = long_edge;
    int next = (edge + 1) % 3;
    point = v3_lerp(p->corner[edge], p->corner[next], at);
    distances_to(h, p, point, d);
    parts[0] = part_of(p, next, point, d);
    parts[1] = part_of(p, edge, point, d);
    return 2;
}

/* ---- all ---- */

static vec3 middle_of(const piece *p) {
    return v3_scale(v3_add(v3_add(p->corner[0], p->corner[1]), p->corner[2]), 1.0 / 3);
}

/* Whether all corners are vertices of b. */
static bool is_on_vertices(const piece *p) {
    return least_at(p, 0) == 0 && least_at(p, 1) == 0 && least_at(p, 2) == 0;
}

/* Whether no point of the piece can be farther than what is known, but for the tolerance; asks as
 * long as that is open. */
static bool is_settled(const hausdorff *h, finding *found, uint32_t triangle, piece *p,
                       covering *covered) {
    double bound = bound_of(h, p), height;
    vec3 point;
    *covered = COVER_NONE;
    for (int c = 0; c < TRIED && bound > found->lower + h->tolerance; c++) {
        if (p->asked[c] || (c == MIDDLE && !is_on_vertices(p)))
            continue;
        ask(h, found, triangle, p, c, c < MIDDLE ? p->corner[c] : middle_of(p),
            c < MIDDLE ? least_at(p, c) : bound);
        bound = bound_of(h, p);
    }
    if (bound > found->lower + h->tolerance && p->level < CUTS_BY_SIGHT)
        *covered = abuti_hausdorff_cover(h, triangle, p, bound, &height, &point);
    if (*covered == COVER_WHOLE)
        bound = real_min(bound, height + p->level * h->step);
    else
        point = middle_of(p);
    if (bound > found->lower + h->tolerance && (*covered == COVER_WHOLE || !p->asked[MIDDLE])) {
        ask(h, found, triangle, p, MIDDLE, point, bound);
        bound = real_min(bound, bound_of(h, p));
    }
    if (bound > found->lower + h->tolerance && p->level < LEVELS)
        return false;
    found->upper = real_max(found->upper, bound);
    return true;
}

static void refine(const hausdorff *h, finding *found, uint32_t triangle) {
    piece pending[PENDING];
    uint32_t used = 1;
    covering covered;
    pending[0] = whole(h, triangle);
    measure_whole(h, &pending[0]);
    while (used) {
        piece p = pending[--used];
        if (is_settled(h, found, triangle, &p, &covered))
            continue;
        if (found->pieces++ % 16 == 0 && abuti_stop(h->context, stage))
            return;
        used += cut(h, &p, covered != COVER_TOO_MANY, pending + used);
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
            refine(h, found, next->value);
    }
}

/* Takes what tasks have found, in their order. */
static void gather(hausdorff *h, size_t tasks) {
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
        status = abuti_parallel_try(h->context, stage, in_round, PIECES_A_TASK, refine_task, h);
        if (status)
            break;
        gather(h, abuti_chunk_count(in_round, PIECES_A_TASK));
        begin += in_round;
        size = size < ROUND_MOST ? 2 * size : size;
        status = abuti_progress(h->context, stage, (double)begin / (double)count);
    }
    if (begin < count)
        h->known.upper = real_max(h->known.upper, bound_at(&h->pending[begin]));
    return status;
}

/* Bounds of all triangles, and those that are not settled by them, sorted. */
static abut_status sort_triangles(hausdorff *h, sort_key *keys, size_t *left) {
    const size_t count = h->a->triangle_count;
    abut_status status =
        abuti_parallel_try(h->context, stage, count, TRIANGLES_A_TASK, corners_task, h);
    if (status)
        return status;
    gather(h, abuti_chunk_count(count, TRIANGLES_A_TASK));
    h->pending = keys;
    status = abuti_parallel_try(h->context, stage, count, TRIANGLES_A_TASK, bounds_task, h);
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

static abut_status find(hausdorff *h) {
    const abut_mesh *a = h->a;
    const size_t triangles = a->triangle_count, vertices = a->vertex_count;
    const size_t tasks = abuti_chunk_count(triangles, TRIANGLES_A_TASK),
                 refined = abuti_chunk_count(ROUND_MOST, PIECES_A_TASK);
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
        status = abuti_batch_nearest(&batch, &a->bounds);
    }
    status = status ? status : sort_triangles(h, keys, &left);
    if (!status && left)
        status = abuti_hausdorff_join(h);
    status = status ? status : search_all(h, left);
    ABUTI_RELEASE(h->context, points, nearest, keys, h->found, h->across);
    return status;
}

static abut_status read_options(hausdorff *h, const abut_map_hausdorff_options *options) {
    abut_map_hausdorff_options ours = abut_map_hausdorff_options_default();
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_map_hausdorff_options");
    if (!status)
        status = abuti_check_length("abut_map_hausdorff", "options->tolerance", ours.tolerance);
    if (status)
        return status;
    const box3 *a = &h->a->bounds, *b = &h->b->mesh->bounds, both = box_join(*a, *b);
    const double largest = real_max(v3_max_abs(both.lo), v3_max_abs(both.hi));
    const double size = real_max(v3_length(v3_sub(a->hi, a->lo)), v3_length(v3_sub(b->hi, b->lo)));
    h->step = ROUNDING * largest + DBL_MIN; /* the latter where coordinates are denormal */
    h->rounding = ROUNDING * v3_max_abs(v3_sub(both.hi, both.lo)) + DBL_MIN;
    h->tolerance = ours.tolerance > 0 ? ours.tolerance : TOLERANCE * size;
    h->tolerance = real_max(h->tolerance, TOLERANCE_STEPS * h->step);
    h->fine = h->tolerance / 16;
    return ABUT_OK;
}

abut_status abut_map_hausdorff(const abut_bvh *a, const abut_bvh *b,
                               const abut_map_hausdorff_options *options,
                               abut_map_hausdorff_result *result) {
    if (!a || !b || !result)
        return abuti_null(__func__, !a ? "a" : !b ? "b" : "result");
    abut_status status = abuti_bvh_host(a);
    status = status ? status : abuti_bvh_host(b);
    if (status)
        return status;
    hausdorff h = {
        .a = a->mesh, .a_bvh = a, .b = b, .context = a->context, .known = {.triangle = ABUT_NONE}};
    status = read_options(&h, options);
    abut_context *before = abuti_context_enter(h.context);
    status = status ? status : find(&h);
    abuti_context_leave(before);
    if (status)
        return status;
    const finding *known = &h.known;
    *result = (abut_map_hausdorff_result){.lower = known->lower,
                                          .upper = real_max(known->upper, known->lower),
                                          .triangle = known->triangle,
                                          .point = known->point,
                                          .other_triangle = known->other,
                                          .other_point = known->other_point,
                                          .pieces = known->pieces};
    return ABUT_OK;
}
