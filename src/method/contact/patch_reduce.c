/* Contact points of a patch: a few of many candidates.
 *
 * The reduction of pair/contact_list.h, in the plane across the normal. Chosen are the outermost of
 * the deepest candidates, the one furthest from it, the one furthest from the line through both,
 * and the one that adds the largest area. Distances and areas are weighted by depth (Moravanszky
 * and Terdiman 2004, "Fast contact reduction for dynamics simulation"). */
#include "contact/patch.h"

#include <math.h>

#define GAIN_TOLERANCE 0.03    /* fraction of a gain: candidates within it count as equally good */
#define VERTEX_PREFERENCE 1.01 /* factor of the weight of vertices */
#define MIN_WEIGHT 0.01        /* of a candidate that is within the margin */
#define MERGE_FRACTION 1e-4    /* of the extent of the contact: smaller distances do not count */

/* Fractions of the width of a contact: points that are less far out than the outermost one by no
 * more than this count as outermost too. Crossings on a straight edge near its end must not count,
 * so their band is smaller. */
#define VERTEX_BAND 0.02
#define CROSSING_BAND 1e-4

/* ---- outermost points ---- */

/* They differ by 12.94 degrees from axes and diagonals, so that no two corners of boxes and regular
 * polygons are equally far out. */
static const double directions[PATCH_DIRECTIONS / 2][2] = {
    {0.97460509867730605, 0.2239305732413476},   {0.5308070473997597, 0.84749270110765507},
    {-0.22393057324134749, 0.97460509867730605}, {-0.84749270110765518, 0.53080704739975959},
    {0.81472318256962506, 0.57985009768354911},  {0.16608035104114791, 0.98611222332858706},
    {-0.57985009768354923, 0.81472318256962495}, {-0.98611222332858706, 0.16608035104114774}};

static double band(const patch_point *p, double width) {
    return width * (p->kind == ABUT_CONTACT_VERTEX ? VERTEX_BAND : CROSSING_BAND);
}

void abuti_patch_init_outermost(patch_outermost *o, int direction_count) {
    o->direction_count = direction_count;
    o->width = 0;
    for (int d = 0; d < direction_count; d++) {
        o->max_extent[d] = -INFINITY;
        o->key[d] = UINT64_MAX;
    }
}

bool abuti_patch_extend_outermost(patch_outermost *o, double u, double v) {
    bool is_outermost = false;
    for (int d = 0; d < o->direction_count; d += 2) {
        const double extent = directions[d / 2][0] * u + directions[d / 2][1] * v;
        double *max = &o->max_extent[d];
        max[0] = real_max(max[0], extent);
        max[1] = real_max(max[1], -extent);
        o->width = real_max(o->width, max[0] + max[1]);
        const double limit = VERTEX_BAND * o->width;
        is_outermost |= (extent >= max[0] - limit) | (-extent >= max[1] - limit);
    }
    return is_outermost;
}

void abuti_patch_add_outermost(patch_outermost *o, const patch_candidate *c, uint64_t key) {
    const double own_band = band(&c->point, o->width);
    for (int d = 0; d < o->direction_count; d++) {
        double extent = directions[d / 2][0] * c->u + directions[d / 2][1] * c->v;
        extent = d % 2 ? -extent : extent;
        if (o->key[d] < UINT64_MAX && (extent < o->max_extent[d] - own_band || o->key[d] <= key) &&
            o->extent[d] >= o->max_extent[d] - band(&o->best[d].point, o->width))
            continue;
        o->extent[d] = extent;
        o->key[d] = key;
        o->best[d] = *c;
    }
}

uint32_t abuti_patch_copy_outermost(const patch_outermost *o,
                                    patch_candidate found[PATCH_DIRECTIONS]) {
    uint32_t count = 0;
    for (int d = 0; d < o->direction_count; d++) {
        bool is_known = o->key[d] == UINT64_MAX;
        for (int k = 0; k < d; k++)
            is_known |= o->key[k] == o->key[d];
        if (!is_known)
            found[count++] = o->best[d];
    }
    return count;
}

/* ---- choice ---- */

typedef struct point_weights {
    const patch_choice *choice;
    double min_depth; /* smaller depths are not chosen */
    reduction_point points[PATCH_CANDIDATES];
} point_weights;

static bool same_feature(const patch_point *a, const patch_point *b) {
    return a->side == b->side && a->kind == b->kind && a->element == b->element &&
           a->part == b->part;
}

static reduction_point read_candidate(const void *data, size_t i) {
    const point_weights *w = data;
    reduction_point point = w->points[i];
    point.weight = w->choice->found[i].point.depth >= w->min_depth ? point.weight : 0;
    return point;
}

/* The weight of a candidate is its depth relative to the deepest one, with a tolerance for the tilt
 * of nearly parallel faces. That of vertices is slightly larger: they persist longer than crossings
 * beside them. */
static void weigh_candidates(const patch_choice *choice, double max_gap, double extent,
                             point_weights *weights) {
    const double scale = choice->deepest + max_gap;
    for (size_t i = 0; i < choice->count; i++) {
        const patch_candidate *c = &choice->found[i];
        const double depth = c->point.depth + max_gap + choice->tilt * extent;
        weights->points[i] =
            (reduction_point){v3(c->u, c->v, 0),
                              (scale > 0 ? real_clamp(depth / scale, MIN_WEIGHT, 1) : 1) *
                                  (c->point.kind == ABUT_CONTACT_VERTEX ? VERTEX_PREFERENCE : 1),
                              patch_point_key(&c->point)};
    }
}

/* Returns the centre of the bounding rectangle of all candidates, and their largest distance from
 * it. */
static vec3 find_centre(const patch_choice *choice, double *extent) {
    box3 box = box_empty();
    double extent_sq = 0;
    for (size_t i = 0; i < choice->count; i++)
        box = box_grow(box, v3(choice->found[i].u, choice->found[i].v, 0));
    const vec3 centre = box_centre(box);
    for (size_t i = 0; i < choice->count; i++)
        extent_sq =
            real_max(extent_sq,
                     v3_length_sq(v3_sub(v3(choice->found[i].u, choice->found[i].v, 0), centre)));
    *extent = sqrt(extent_sq);
    return centre;
}

/* Moves the deepest of the chosen points to the front, and sets its depth to that of the patch. Its
 * own depth is smaller by the tilt of nearly parallel faces at most. */
static void move_deepest_first(double deepest, patch_answer *answer) {
    patch_point *points = answer->points;
    uint32_t first = 0;
    for (uint32_t i = 1; i < answer->count; i++)
        if (points[i].depth > points[first].depth)
            first = i;
    patch_point point = points[first];
    points[first] = points[0];
    points[0] = point;
    points[0].depth = deepest;
}

/* Drops the last candidate if it was added only for its depth, and others are as deep up to the
 * tilt of nearly parallel faces. */
static void drop_redundant_deepest(patch_choice *choice, double max_gap) {
    double depth = -INFINITY, extent;
    const size_t others = choice->count - 1;
    if (!choice->last_is_deepest || choice->count < 2)
        return;
    for (size_t i = 0; i < others; i++)
        depth = real_max(depth, choice->found[i].point.depth);
    choice->count = others;
    find_centre(choice, &extent);
    if (depth < real_max(choice->deepest - choice->tilt * extent, -max_gap))
        choice->count++;
}

void abuti_patch_choose(const patch_choice *from, uint32_t max_points, double max_gap,
                        patch_answer *answer) {
    patch_choice candidates = *from, *choice = &candidates;
    drop_redundant_deepest(choice, max_gap);
    point_weights weights; /* points are set by weigh_candidates() */
    const contact_reduction reduction = {.end = choice->count,
                                         .normal = v3(0, 0, 1),
                                         .tolerance = GAIN_TOLERANCE};
    double extent;
    vec3 points[PATCH_POINTS + 1] = {find_centre(choice, &extent)};
    const double merge = real_max(MERGE_FRACTION * extent, choice->merge_distance);
    double gain = 0, length_sq = 1;
    assert(choice->count <= PATCH_CANDIDATES && max_points <= PATCH_POINTS);
    answer->count = 0;
    if (!choice->count || choice->deepest < -max_gap)
        return;
    const double min_depth =
        real_min((1 - choice->depth_tolerance) * (choice->deepest + max_gap) - max_gap,
                 choice->deepest - choice->tilt * extent);
    weights.min_depth = real_max(min_depth, -max_gap);
    weights.choice = choice;
    weigh_candidates(choice, max_gap, extent, &weights);
    size_t next = contact_reduction_next(&reduction, read_candidate, &weights, points, 1, &gain);
    if (next == SIZE_MAX) /* the deepest point is not a candidate: choose the next deepest */
        for (size_t i = next = 0; i < choice->count; i++)
            next = choice->found[i].point.depth > choice->found[next].point.depth ? i : next;
    weights.min_depth = -max_gap;
    do {
        const patch_candidate *c = &choice->found[next];
        points[answer->count] = v3(c->u, c->v, 0);
        answer->points[answer->count++] = c->point;
        if (answer->count == 2)
            length_sq = v3_length_sq(v3_sub(points[1], points[0]));
        if (answer->count == max_points)
            break;
        for (size_t i = 0; i < choice->count; i++)
            if (same_feature(&choice->found[i].point, &c->point))
                weights.points[i].weight = 0;
        next = contact_reduction_next(&reduction, read_candidate, &weights, points, answer->count,
                                      &gain);
    } while (next != SIZE_MAX &&
             gain > merge * merge * (answer->count == 2 || answer->count == 3 ? length_sq : 1));
    move_deepest_first(choice->deepest, answer);
}
