/* Contact patches of a region of the overlap: candidate normals, walls, and components completely
 * inside the other body.
 *
 * Candidate normals: -S / |S| of patch_contour.c, the direction in which the overlap shrinks
 * fastest; and the normals of parallel faces of one body that contain a part of S, which do not
 * tilt if the bodies overhang. patch_measure.c measures the depth along each of them; the callers
 * in patch.c and patch_separate.c choose.
 */
#include "contact/patch_measure.h"

#include <math.h>
#include <string.h>

#define WALL_COSINE 0.7     /* between the normals of a wall and of its triangles: 45 degrees */
#define NARROW_COSINE 0.9   /* the same of narrow walls: 26 degrees, as of gaps */
#define LONG_COLUMN 0.05    /* of the smaller body: what is longer may belong to another wall */
#define RIM_COLUMN 0.2      /* the same where faces look about one way: those at their rim, if it */
#define RIM_THICKNESS 10.0  /* times as long as the region is thick on average; of a pyramid 3 */
#define SHORT_COLUMN 0.0125 /* the same: what is shorter belongs to this one */
#define DEEP_WALL 0.05      /* of the smaller body: walls that are deeper, and */
#define DEEPER_WALL 2.0     /* than this many times the shallowest, are not ways out */
#define LARGE_WALL 0.02     /* of all areas: smaller walls only count if they are shallow: */
#define WIDE_WALL 0.1       /* of their width, the root of the area */
#define LEAST_WALL 1e-4     /* of all areas: smaller walls do not count */
#define SOME 0.2            /* of |S|: what such faces hold, to be tried */
#define ALL 0.98            /* the same, to be the only ones */
#define MUCH 0.3            /* the same where nothing is checked */
#define PART 0.15    /* of what a side has inside: faces that are tried there beside the largest */
#define CLEARLY 0.97 /* times as deep, or less */
#define NARROW 16.0  /* radii of normals of points: contours that are shorter are of one place */

enum {
    CANDIDATES = PATCH_CANDIDATES,
    FACES = 3,   /* directions of faces of each body that are candidates */
    EXITS = 4096 /* vertices of a component inside whose exits are computed */
};

/* ---- normals ---- */

/* What a way to try is. */
typedef struct patch_way {
    vec3 normal;
    double held; /* of the area, by the faces that look so; 0 = no face does */
} patch_way;

static bool among(const patch_way *ways, int count, vec3 normal) {
    for (int i = 0; i < count; i++)
        if (v3_dot(ways[i].normal, normal) > PATCH_SAME_COSINE)
            return true;
    return false;
}

/* A power of two by which areas become such that their squares neither overflow nor underflow. */
static double area_unit(const patch_work *work) {
    int exponent;
    frexp(real_min(work->body[0].skin->size, work->body[1].skin->size), &exponent);
    return ldexp(1, exponent < -500 ? 1000 : -2 * exponent);
}

/* The direction of the faces of one side that look one way, and how much they hold: those with the
 * largest face of all that look otherwise than the ways so far. */
static patch_way dominant(const patch_work *work, const patch_region *r, uint32_t side,
                          const patch_way *ways, int count) {
    const patch_facet *facets = work->facets;
    const patch_body *body = &work->body[side];
    double largest = 0, turn = side == 0 ? -1 : 1, unit = area_unit(work);
    patch_way found = {v3(0, 0, 0), 0};
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        double size = v3_length_sq(v3_scale(facets[i].area, unit));
        if (facets[i].side != side || !(size > largest))
            continue;
        vec3 normal = v3_scale(patch_face_normal(body, facets[i].face), turn);
        if (among(ways, count, normal))
            continue;
        largest = size;
        found.normal = normal;
    }
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        vec3 area = v3_scale(facets[i].area, unit);
        double along = turn * v3_dot(area, found.normal);
        if (facets[i].side == side && along > 0 &&
            along * along >= PATCH_SAME_COSINE * PATCH_SAME_COSINE * v3_length_sq(area))
            found.held += along / unit;
    }
    return found;
}

/* The area of what one side has inside. */
static double area_of(const patch_work *work, const patch_region *r, uint32_t side) {
    double sum = 0;
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++)
        if (work->facets[i].side == side)
            sum += patch_area_length(work->facets[i].area);
    return sum;
}

bool abuti_patch_cancels(const patch_work *work, const patch_region *r) {
    return v3_max_abs(r->area) == 0 ||
           patch_plainness(work, r, v3_normalise(r->area)) < PATCH_PIERCED;
}
/* Of a contour that is hardly there areas say nothing: the mean of the faces along it. */
static vec3 speck_way(const patch_work *work, const patch_region *r, uint32_t region) {
    vec3 sum = v3(0, 0, 0);
    for (size_t i = 0; i < work->segment_count; i++) {
        const patch_segment *s = &work->segments[i];
        if (work->region_of[s->from] != region)
            continue;
        double length =
            v3_length(v3_sub(work->crossings[s->to].at, work->crossings[s->from].at)) / r->length;
        sum = v3_along(sum, length, patch_face_normal(&work->body[1], s->face[1]));
        sum = v3_along(sum, -length, patch_face_normal(&work->body[0], s->face[0]));
    }
    return v3_normalise(sum);
}

/* The normals to try; few where nothing will be checked. *is_pierced: a body has gone through the
 * other, and opposite normals are tried too. So are those of faces across S that are larger than S:
 * both sides of a plate that lies in another at the same height. */
static int ways_of(const patch_work *work, const patch_region *r, bool unchecked,
                   patch_way ways[PATCH_WAYS], bool *is_pierced) {
    double size = patch_area_length(r->area);
    vec3 steepest = v3_scale(v3_normalise(r->area), -1);
    int count = 0;
    *is_pierced = false;
    if (r->length < PATCH_SPECK * real_min(work->body[0].skin->size, work->body[1].skin->size)) {
        vec3 way = speck_way(work, r, (uint32_t)(r - work->regions));
        if (v3_max_abs(way) > 0) {
            ways[0] = (patch_way){way, 0};
            return 1;
        }
    }
    *is_pierced = abuti_patch_cancels(work, r);
    for (uint32_t side = 0; side < 2; side++)
        for (int k = 0; k < (*is_pierced && unchecked ? 1 : FACES); k++) {
            patch_way way = dominant(work, r, side, ways, count);
            if (!(way.held > (unchecked ? MUCH : SOME) * size) ||
                (*is_pierced && k && way.held < PART * area_of(work, r, side)))
                break;
            const double cosine = v3_dot(way.normal, steepest);
            if (!*is_pierced && way.held > ALL * size && cosine > ALL &&
                real_max(area_of(work, r, 0), area_of(work, r, 1)) < 2 * size) {
                ways[0] = way;
                return 1;
            }
            const bool is_across = fabs(cosine) < SOME && way.held > size;
            if (!*is_pierced && !is_across && cosine <= SOME)
                break;
            ways[count++] = way;
            if (*is_pierced || is_across)
                ways[count++] = (patch_way){v3_scale(way.normal, -1), way.held};
        }
    if (size > 0 && !among(ways, count, steepest)) {
        ways[count++] = (patch_way){steepest, 0};
        if (*is_pierced)
            ways[count++] = (patch_way){v3_scale(steepest, -1), 0};
    }
    return count;
}

int abuti_patch_ways(const patch_work *work, const patch_region *r, vec3 normals[PATCH_WAYS]) {
    patch_way ways[PATCH_WAYS];
    bool is_pierced;
    int count = ways_of(work, r, false, ways, &is_pierced);
    for (int i = 0; i < count; i++)
        normals[i] = ways[i].normal;
    return count;
}

/* Whether an answer comes before another: less deep; but a normal of faces is only left for another
 * that is clearly less deep. */
static bool better(const patch_answer *a, const patch_answer *b) {
    if (a->of_faces && !b->of_faces)
        return !(a->depth > 0 && b->depth < CLEARLY * a->depth);
    if (b->of_faces && !a->of_faces)
        return a->depth < CLEARLY * b->depth && b->depth > 0;
    return a->depth < b->depth;
}

static void answer_with(const measure *m, uint32_t keep, double gap, patch_answer *answer) {
    const patch_region *r = m->region;
    *answer = (patch_answer){.normal = m->normal,
                             .depth = m->deepest,
                             .area = fabs(v3_dot(r->area, m->normal)),
                             .volume = r->volume,
                             .centre = r->centre,
                             .region = (uint32_t)(r - m->work->regions)};
    abuti_measure_choose(m, keep, gap, answer);
    if (m->is_wall)
        answer->centre = patch_middle(answer);
}

static abut_status answer_along(patch_work *work, const patch_region *r, vec3 normal,
                                patch_scope scope, uint32_t keep, double gap,
                                patch_answer *answer) {
    measure m;
    abut_status status = abuti_measure_along(&m, work, r, normal, keep, scope, INFINITY);
    if (!status)
        answer_with(&m, keep, gap, answer);
    return status;
}

abut_status abuti_patch_points_along(patch_work *work, const patch_region *r, vec3 normal,
                                     patch_scope scope, uint32_t keep, double gap,
                                     patch_answer *answer) {
    scope = scope == PATCH_AUTO ? abuti_measure_scope(work, r, normal) : scope;
    return answer_along(work, r, normal, scope, keep, gap, answer);
}

/* Measures a wall. Where it ends, columns of the overlap along its normal may be those of a wall
 * beside it and many times as long, as at the rim of a tray: then those longer than `column` do not
 * count. */
static abut_status measure_wall(patch_work *work, const patch_region *r, vec3 normal,
                                patch_scope scope, double column, uint32_t keep, double gap,
                                patch_answer *answer) {
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    abut_status status = answer_along(work, r, normal, scope, keep, gap, answer);
    if (status || !answer->count || answer->depth < column * size || scope == PATCH_BODIES)
        return status;
    if (scope != PATCH_WALL &&
        answer->depth * patch_area_length(r->area) < RIM_THICKNESS * fabs(r->volume))
        return ABUT_OK;
    measure local;
    abuti_measure_start(&local, work, r, normal, keep);
    work->view.longest = column * size;
    abuti_measure_seen(&local, scope, SHORT_COLUMN * size); /* the view is still that of the wall */
    work->view.longest = INFINITY;
    if (local.count && local.deepest < SHORT_COLUMN * size) {
        answer_with(&local, keep, gap, answer);
        answer->is_rim = true;
    }
    return ABUT_OK;
}

/* Whether a way is known to be deeper than an answer along faces, without being measured. */
static bool is_deeper(patch_work *work, const patch_region *r, const patch_way *way, bool pierced,
                      const patch_answer *best) {
    if (!best->of_faces || !(best->depth > 0))
        return false;
    double limit = (way->held > 0 ? 1 : CLEARLY) * best->depth;
    double depth = pierced ? abuti_measure_depth_through(work, r, way->normal, limit)
                           : abuti_measure_depth_at(work, r, way->normal, 0, best->points[0].at);
    return depth > limit;
}

abut_status abuti_patch_points(patch_work *work, const patch_region *r, vec3 hint, uint32_t keep,
                               double gap, bool unchecked, patch_answer *best) {
    patch_way ways[PATCH_WAYS];
    bool is_pierced, has_hint = v3_max_abs(hint) > 0;
    int count = ways_of(work, r, unchecked, ways, &is_pierced);
    best->count = 0;
    if (is_pierced && has_hint) { /* those on its side */
        int kept = 0;
        for (int i = 0; i < count; i++)
            if (v3_dot(ways[i].normal, hint) > 0)
                ways[kept++] = ways[i];
        count = kept;
        if (!count)
            ways[count++] = (patch_way){v3_normalise(hint), 0};
    }
    for (int i = 0; i < count; i++) {
        patch_answer answer;
        if (best->count && is_deeper(work, r, &ways[i], is_pierced, best))
            continue;
        abut_status status =
            measure_wall(work, r, ways[i].normal, abuti_measure_scope(work, r, ways[i].normal),
                         RIM_COLUMN, keep, gap, &answer);
        if (status)
            return status;
        answer.of_faces = ways[i].held > 0;
        if (answer.count && (!best->count || better(&answer, best)))
            *best = answer;
    }
    return ABUT_OK;
}

/* ---- walls ---- */

/* The area of a facet along the normal of a wall that it belongs to: towards a. */
static vec3 area_towards_a(const patch_facet *f) {
    return f->side ? f->area : v3_scale(f->area, -1);
}

/* The sum of the areas within the cone of a wall around a normal. With `taken`, of those that
 * belong to no wall, which then belong to this one. */
static vec3 sum_cone(patch_work *work, const patch_region *r, vec3 normal, bool *taken, bool take) {
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        vec3 area = area_towards_a(&work->facets[i]);
        double along = v3_dot(area, normal), length = patch_area_length(area);
        if (taken[i - r->facet_begin] || !(along > work->view.wall_cosine * length))
            continue;
        sum = v3_add(sum, area);
        taken[i - r->facet_begin] = take;
        work->has_wide_walls |= take && along < NARROW_COSINE * length;
    }
    return sum;
}

void abuti_patch_local_normals(const patch_work *work, patch_answer *answer) {
    const patch_region *r = &work->regions[answer->region];
    patch_around around[PATCH_POINTS];
    bool tilted = false;
    for (uint32_t k = 1; k < answer->count; k++) {
        const patch_point *point = &answer->points[k];
        around[k] = abuti_patch_around(work, point->at, answer->depth, 1u << !point->side);
        if (r->length < NARROW * around[k].radius)
            return;
    }
    for (uint32_t i = r->facet_begin; i < r->facet_end; i++) {
        const patch_facet *f = &work->facets[i];
        vec3 normal = v3_normalise(area_towards_a(f));
        double cosine = v3_dot(normal, answer->normal);
        if (cosine < WALL_COSINE)
            continue;
        tilted |= cosine < PATCH_FLAT_COSINE;
        for (uint32_t k = 1; k < answer->count; k++)
            abuti_patch_around_add(&around[k], f->side, f->face, normal);
    }
    for (uint32_t k = 1; k < answer->count && tilted; k++)
        answer->points[k].normal =
            patch_local_normal(abuti_patch_around_normal(&around[k]), answer->normal);
}

static abut_status measure_walls(patch_work *work, const patch_region *r, uint32_t keep, double gap,
                                 patch_answer answers[PATCH_WAYS], int *count) {
    uint32_t facets = r->facet_end - r->facet_begin;
    bool *taken = abuti_patch_take(work->memory, facets, sizeof *taken);
    double total = area_of(work, r, 0) + area_of(work, r, 1), limit = INFINITY;
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    *count = 0;
    if (!taken)
        return ABUT_ERROR_MEMORY;
    memset(taken, 0, facets * sizeof *taken);
    for (int i = 0; i < PATCH_WAYS; i++) {
        double largest = LEAST_WALL * total;
        vec3 normal = v3(0, 0, 0), middle = v3(0, 0, 0);
        for (uint32_t k = 0; k < facets; k++) {
            const patch_facet *f = &work->facets[r->facet_begin + k];
            double area = patch_area_length(f->area);
            if (taken[k] || !(area > largest / facets))
                continue;
            largest = area * facets;
            normal = v3_normalise(area_towards_a(f));
            middle = patch_face_middle(&work->body[f->side], f->face);
        }
        if (v3_max_abs(normal) == 0)
            break;
        vec3 mean = v3_normalise(sum_cone(work, r, normal, taken, false));
        normal = v3_max_abs(mean) > 0 ? mean : normal;
        double area = v3_dot(sum_cone(work, r, normal, taken, true), normal);
        double widest = area > LARGE_WALL * total ? INFINITY : WIDE_WALL * sqrt(area);
        if (abuti_measure_depth_at(work, r, normal, work->view.wall_cosine, middle) >
            (*count ? real_min(limit, widest) : widest))
            continue;
        patch_answer answer;
        abut_status status =
            measure_wall(work, r, normal, PATCH_WALL, LONG_COLUMN, keep, gap, &answer);
        if (status)
            return status;
        if (!answer.count || answer.depth > widest)
            continue;
        answer.of_faces = true;
        answer.area = 0.5 * area; /* of triangles of both bodies */
        int at = (*count)++;
        for (; at > 0 && answers[at - 1].depth < answer.depth; at--)
            answers[at] = answers[at - 1];
        answers[at] = answer;
        limit = real_max(DEEP_WALL * size, DEEPER_WALL * answers[*count - 1].depth);
    }
    return ABUT_OK;
}

abut_status abuti_patch_walls(patch_work *work, const patch_region *r, bool narrow, uint32_t keep,
                              double gap, patch_answer answers[PATCH_WAYS], int *count) {
    narrow = narrow && (work->walls_of != r || work->has_wide_walls);
    work->view.wall_cosine = narrow ? NARROW_COSINE : WALL_COSINE;
    if (narrow)
        return measure_walls(work, r, keep, gap, answers, count);
    if (!work->walls)
        work->walls = abuti_patch_take(work->memory, PATCH_WAYS, sizeof *work->walls);
    if (!work->walls)
        return ABUT_ERROR_MEMORY;
    if (work->walls_of != r) {
        work->walls_of = NULL;
        work->has_wide_walls = false;
        abut_status status = measure_walls(work, r, keep, gap, work->walls, &work->wall_count);
        if (status)
            return status;
        work->walls_of = r;
    }
    *count = work->wall_count;
    memcpy(answers, work->walls, (size_t)*count * sizeof *answers);
    return ABUT_OK;
}

/* ---- a part inside the other body ---- */

/* Whether a vertex belongs to a connected part. */
static bool is_of_part(const abut_topology_arrays *view, uint32_t vertex, uint32_t part) {
    uint32_t first = view->vertex_face_begin[vertex];
    return first != view->vertex_face_begin[vertex + 1] &&
           view->triangle_component[view->vertex_faces[first]] == part;
}

/* Adds vertices of the inner part as they leave the outer body along the normal; false as soon as
 * one is deeper than `limit`. */
static bool add_exits(measure *m, uint32_t inner, const uint32_t *vertices, uint32_t count,
                      double limit) {
    const patch_body *body = &m->work->body[inner];
    vec3 way = inner ? v3_scale(m->normal, -1) : m->normal;
    m->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        double far;
        vec3 at = patch_true(body, vertices[i]);
        if (!abuti_measure_exit(&m->work->body[!inner], at, way, &far))
            continue;
        if (far > limit)
            return false;
        patch_candidate *c = &m->found[m->count++];
        c->u = v3_dot(at, m->along[0]);
        c->v = v3_dot(at, m->along[1]);
        c->point = (patch_point){.at = v3_along(at, 0.5 * far, way),
                                 .depth = far,
                                 .side = inner,
                                 .kind = ABUT_CONTACT_VERTEX,
                                 .element = vertices[i]};
        m->deepest = real_max(m->deepest, far);
    }
    return m->count > 0;
}

void abuti_patch_inside(patch_work *work, uint32_t inner, uint32_t part, vec3 hint, uint32_t keep,
                        patch_answer *answer) {
    const patch_body *body = &work->body[inner];
    const abut_topology_arrays *view = &body->skin->view;
    uint32_t vertices[CANDIDATES], all = 0, count = 0, seen = 0;
    box3 box = box_empty();
    for (uint32_t v = 0; v < view->vertex_count; v++)
        all += is_of_part(view, v, part);
    uint32_t step = all / CANDIDATES + 1;
    for (uint32_t v = 0; v < view->vertex_count; v++)
        if (is_of_part(view, v, part)) {
            box = box_grow(box, patch_true(body, v));
            if (seen++ % step == 0)
                vertices[count++] = v;
        }
    vec3 centre = box_centre(box);
    patch_region region = {.centre = centre, .origin = centre};
    double least = INFINITY;
    measure m;
    answer->count = 0;
    for (int i = 0; i < 28; i++) {
        vec3 way = v3(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1);
        if (i == 27)
            way = hint;
        way = v3_normalise(way);
        if (v3_max_abs(way) == 0)
            continue;
        abuti_measure_start(&m, work, &region, way, keep);
        if (!add_exits(&m, inner, vertices, count, least))
            continue;
        if (m.deepest >= least)
            continue;
        least = answer->depth = m.deepest;
        answer->normal = way;
        abuti_measure_choose(&m, keep, 0, answer);
    }
    step = all / EXITS + 1;
    seen = 0;
    for (uint32_t v = 0; v < view->vertex_count && answer->count;
         v++) /* the deepest of nearly all */
        if (is_of_part(view, v, part) && seen++ % step == 0) {
            abuti_measure_start(&m, work, &region, answer->normal, keep);
            if (add_exits(&m, inner, &v, 1, INFINITY) && m.deepest > answer->depth) {
                answer->points[0] = m.found[0].point;
                answer->depth = m.deepest;
            }
        }
    answer->centre = centre;
    answer->region = ABUT_NONE;
    answer->area = answer->volume = 0;
}

/* A lower bound of the depth of all regions along a normal: the largest of a few columns, or the
 * first that is above the limit. */
static double depth_of_columns(patch_work *work, vec3 normal, double limit) {
    double depth = -INFINITY;
    for (size_t i = 0; i < work->region_count && i < PATCH_COLUMNS && !(depth > limit); i++) {
        const patch_region *r = &work->regions[i];
        if (!r->gap)
            depth = real_max(depth, abuti_measure_scope(work, r, normal) == PATCH_BODIES
                                        ? abuti_measure_depth_through(work, r, normal, limit)
                                        : abuti_measure_depth_at(work, r, normal, 0, r->centre));
    }
    return depth;
}

abut_status abuti_patch_depth(patch_work *work, vec3 normal, double limit, double *depth) {
    measure m;
    bool whole = false; /* both bodies have been measured as a whole, all regions with them */
    *depth = limit < INFINITY && !work->is_sheet_edge ? depth_of_columns(work, normal, limit)
                                                      : -INFINITY;
    for (size_t i = 0; i < work->region_count && !(*depth > limit); i++) {
        const patch_region *r = &work->regions[i];
        patch_scope scope = r->gap ? PATCH_REGION : abuti_measure_scope(work, r, normal);
        if (r->gap || (whole && scope == PATCH_BODIES))
            continue;
        abut_status status = abuti_measure_along(&m, work, r, normal, 0, scope, limit);
        if (status)
            return status;
        *depth = real_max(*depth, m.deepest);
        whole |= scope == PATCH_BODIES && !m.rays;
    }
    return ABUT_OK;
}
