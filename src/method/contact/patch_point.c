/* Contact patches of a region of the overlap: candidate normals, walls, and components completely
 * inside the other body.
 *
 * Candidate normals: -S / |S| (patch_contour.c), the direction in which the volume of the overlap
 * decreases fastest; and the normals of parallel faces of one body that make up a part of S. The
 * latter do not tilt if the bodies overhang. patch_measure.c measures the depth along each of them.
 * The callers in patch.c and patch_separate.c choose. */
#include "contact/patch_measure.h"

#include <math.h>
#include <string.h>

/* Walls. Areas are fractions of the inside area of both bodies, lengths of the smaller body. */
#define WALL_COSINE 0.7      /* between the normals of a wall and of its triangles: 45 degrees */
#define NARROW_COSINE 0.9    /* the same for narrow walls: 26 degrees, as for gaps */
#define MIN_WALL_AREA 1e-4   /* smaller walls are omitted */
#define LARGE_WALL_AREA 0.02 /* smaller walls are omitted if they are deeper than */
#define MAX_WALL_ASPECT 0.1  /* this many square roots of their area */
#define DEEP_WALL 0.05       /* walls are omitted if they are deeper than this and deeper than */
#define DEEP_WALL_RATIO 2.0  /* this many times the shallowest wall */

/* Long columns at the boundary of a wall or patch, which may belong to an adjacent wall: lengths
 * are fractions of the smaller body. They are omitted only if all other columns are short. */
#define LONG_COLUMN 0.05    /* length above which columns of a wall are omitted */
#define RIM_COLUMN 0.2      /* the same for a patch along one normal, if its depth exceeds */
#define RIM_THICKNESS 10.0  /* this many mean thicknesses of the region; a pyramid has 3 */
#define SHORT_COLUMN 0.0125 /* maximum length of the other columns */

/* Candidate normals of parallel faces. Areas are fractions of |S|. */
#define MIN_FACE_AREA 0.2        /* minimum area of a candidate */
#define MIN_THROUGH_AREA 0.15    /* of the inside area: the same for bodies passed through */
#define SOLE_FACE_AREA 0.98      /* above this area, and if its normal is as near to -S as */
#define SOLE_FACE_COSINE 0.98    /* this, a candidate is the only one: 11 degrees */
#define PERPENDICULAR_COSINE 0.2 /* between a normal and S: 78 degrees */
#define CLEAR_DEPTH_RATIO 0.97   /* another normal must have this depth / depth along faces */

/* Minimum length of a contour in radii of local normals. On a shorter one they are all equal. */
#define MIN_CONTOUR_RADII 16.0

enum {
    FACE_NORMALS = 3, /* maximum number of candidate directions of faces of each body */
    MAX_EXITS = 4096  /* vertices of a contained component whose exits are computed */
};
_Static_assert(2 * 2 * FACE_NORMALS + 2 <= PATCH_NORMALS,
               "faces of both bodies and S, each reversed");

/* ---- candidate normals ---- */

static bool contains_normal(const patch_normal *normals, int count, vec3 normal) {
    for (int i = 0; i < count; i++)
        if (v3_dot(normals[i].normal, normal) > PATCH_SAME_COSINE)
            return true;
    return false;
}

/* Returns a power of two that scales areas so that their squares neither overflow nor underflow. */
static double area_scale(const patch_work *work) {
    int exponent;
    frexp(real_min(work->body[0].skin->size, work->body[1].skin->size), &exponent);
    return ldexp(1, exponent < -500 ? 1000 : -2 * exponent);
}

/* Returns the normal of the largest face of one side that is not among `normals`, and the area of
 * all faces parallel to it. */
static patch_normal find_dominant_normal(const patch_work *work, const patch_region *r,
                                         uint32_t side, const patch_normal *normals, int count) {
    const patch_facet *facets = work->facets;
    const patch_body *body = &work->body[side];
    double largest = 0, sign = side == 0 ? -1 : 1, unit = area_scale(work);
    patch_normal found = {v3(0, 0, 0), 0};
    for (uint32_t i = r->facets.begin; i < r->facets.end; i++) {
        double size = v3_length_sq(v3_scale(facets[i].area, unit));
        if (facets[i].side != side || !(size > largest))
            continue;
        vec3 normal = v3_scale(patch_face_normal(body, facets[i].face), sign);
        if (contains_normal(normals, count, normal))
            continue;
        largest = size;
        found.normal = normal;
    }
    for (uint32_t i = r->facets.begin; i < r->facets.end; i++) {
        vec3 area = v3_scale(facets[i].area, unit);
        double along = sign * v3_dot(area, found.normal);
        if (facets[i].side == side && along > 0 &&
            along * along >= PATCH_SAME_COSINE * PATCH_SAME_COSINE * v3_length_sq(area))
            found.face_area += along / unit;
    }
    return found;
}

/* Returns the area of the inside part of a side. */
static double inside_area(const patch_work *work, const patch_region *r, uint32_t side) {
    double sum = 0;
    for (uint32_t i = r->facets.begin; i < r->facets.end; i++)
        if (work->facets[i].side == side)
            sum += patch_area_length(work->facets[i].area);
    return sum;
}

bool abuti_patch_areas_cancel(const patch_work *work, const patch_region *r) {
    return v3_max_abs(r->area) == 0 ||
           patch_area_ratio(work, r, v3_normalise(r->area)) < PATCH_THROUGH_RATIO;
}

/* Returns the normal of a contour so short that areas are rounding errors: the mean of the normals
 * of the faces along it. */
static vec3 compute_contour_normal(const patch_work *work, const patch_region *r, uint32_t region) {
    vec3 sum = v3(0, 0, 0);
    for (size_t i = 0; i < work->segment_count; i++) {
        const patch_segment *s = &work->segments[i];
        if (work->crossing_region[s->from] != region)
            continue;
        double length =
            v3_length(v3_sub(work->crossings[s->to].at, work->crossings[s->from].at)) / r->length;
        sum = v3_along(sum, length, patch_face_normal(&work->body[1], s->face[1]));
        sum = v3_along(sum, -length, patch_face_normal(&work->body[0], s->face[0]));
    }
    return v3_normalise(sum);
}

int abuti_patch_candidate_normals(const patch_work *work, const patch_region *r,
                                  patch_normal normals[PATCH_NORMALS], bool *passes_through) {
    double size = patch_area_length(r->area);
    vec3 steepest = v3_scale(v3_normalise(r->area), -1);
    int count = 0;
    *passes_through = false;
    if (r->length <
        PATCH_MIN_CONTOUR * real_min(work->body[0].skin->size, work->body[1].skin->size)) {
        vec3 direction = compute_contour_normal(work, r, (uint32_t)(r - work->regions));
        if (v3_max_abs(direction) > 0) {
            normals[0] = (patch_normal){direction, 0};
            return 1;
        }
    }
    *passes_through = abuti_patch_areas_cancel(work, r);
    for (uint32_t side = 0; side < 2; side++)
        for (int k = 0; k < FACE_NORMALS; k++) {
            patch_normal candidate = find_dominant_normal(work, r, side, normals, count);
            if (!(candidate.face_area > MIN_FACE_AREA * size) ||
                (*passes_through && k &&
                 candidate.face_area < MIN_THROUGH_AREA * inside_area(work, r, side)))
                break;
            const double cosine = v3_dot(candidate.normal, steepest);
            if (!*passes_through && candidate.face_area > SOLE_FACE_AREA * size &&
                cosine > SOLE_FACE_COSINE &&
                real_max(inside_area(work, r, 0), inside_area(work, r, 1)) < 2 * size) {
                normals[0] = candidate;
                return 1;
            }
            const bool is_perpendicular =
                fabs(cosine) < PERPENDICULAR_COSINE && candidate.face_area > size;
            if (!*passes_through && !is_perpendicular && cosine <= PERPENDICULAR_COSINE)
                break;
            normals[count++] = candidate;
            if (*passes_through || is_perpendicular)
                normals[count++] =
                    (patch_normal){v3_scale(candidate.normal, -1), candidate.face_area};
        }
    if (size > 0 && !contains_normal(normals, count, steepest)) {
        normals[count++] = (patch_normal){steepest, 0};
        if (*passes_through)
            normals[count++] = (patch_normal){v3_scale(steepest, -1), 0};
    }
    return count;
}

/* Returns whether patch a is preferred to b: less deep, but a normal of faces is replaced only if
 * the other is clearly less deep. */
static bool is_preferred(const patch_answer *a, const patch_answer *b) {
    if (a->is_face_normal && !b->is_face_normal)
        return !(a->depth > 0 && b->depth < CLEAR_DEPTH_RATIO * a->depth);
    if (b->is_face_normal && !a->is_face_normal)
        return a->depth < CLEAR_DEPTH_RATIO * b->depth && b->depth > 0;
    return a->depth < b->depth;
}

static void set_answer(const patch_measurement *m, patch_answer *answer) {
    const patch_region *r = m->region;
    *answer = (patch_answer){.normal = m->normal,
                             .depth = m->deepest,
                             .area = fabs(v3_dot(r->area, m->normal)),
                             .volume = r->volume,
                             .centre = r->centre,
                             .region = (uint32_t)(r - m->work->regions)};
    abuti_measure_choose(m, m->work->max_points, m->work->max_gap, answer);
    if (m->is_wall)
        answer->centre = patch_mean_point(answer);
}

void abuti_patch_compute_along(patch_work *work, const patch_region *r, vec3 normal,
                               patch_scope scope, patch_answer *answer) {
    patch_measurement m;
    abuti_measure_along(&m, work, r, normal, work->max_points, scope, INFINITY);
    set_answer(&m, answer);
}

/* Measures a wall. At its boundary, columns of the overlap along its normal may belong to an
 * adjacent wall and be many times as long, as at the rim of a tray. Then columns longer than
 * `column` are omitted. */
static void measure_wall(patch_work *work, const patch_region *r, vec3 normal, patch_scope scope,
                         double column, patch_answer *answer) {
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    abuti_patch_compute_along(work, r, normal, scope, answer);
    if (work->memory->status || !answer->count || answer->depth < column * size ||
        scope == PATCH_SCOPE_BODIES)
        return;
    if (scope != PATCH_SCOPE_WALL &&
        answer->depth * patch_area_length(r->area) < RIM_THICKNESS * fabs(r->volume))
        return;
    patch_measurement local;
    abuti_measure_init(&local, work, r, normal, work->max_points);
    work->projection.max_column = column * size;
    /* The projection is still that of the wall. */
    abuti_measure_projected(&local, scope, SHORT_COLUMN * size);
    work->projection.max_column = INFINITY;
    if (local.count && local.deepest < SHORT_COLUMN * size) {
        set_answer(&local, answer);
        answer->has_short_columns = true;
    }
}

void abuti_patch_compute_best(patch_work *work, const patch_region *r, vec3 hint,
                              patch_answer *best) {
    patch_normal normals[PATCH_NORMALS];
    bool passes_through, has_hint = v3_max_abs(hint) > 0;
    int count = abuti_patch_candidate_normals(work, r, normals, &passes_through);
    best->count = 0;
    if (passes_through && has_hint) { /* only those on the side of the hint */
        int kept = 0;
        for (int i = 0; i < count; i++)
            if (v3_dot(normals[i].normal, hint) > 0)
                normals[kept++] = normals[i];
        count = kept;
        if (!count)
            normals[count++] = (patch_normal){v3_normalise(hint), 0};
    }
    for (int i = 0; i < count; i++) {
        patch_answer answer;
        measure_wall(work, r, normals[i].normal,
                     abuti_measure_choose_scope(work, r, normals[i].normal), RIM_COLUMN, &answer);
        answer.is_face_normal = normals[i].face_area > 0;
        if (answer.count && (!best->count || is_preferred(&answer, best)))
            *best = answer;
    }
}

/* ---- walls ---- */

/* Returns the area vector of a facet, in the direction from b to a. */
static vec3 area_towards_a(const patch_facet *f) {
    return f->side ? f->area : v3_scale(f->area, -1);
}

/* Sums the areas in the cone of a wall, of facets that are not assigned to a wall. With `assign`,
 * assigns them to this one. */
static vec3 sum_wall_areas(patch_work *work, const patch_region *r, vec3 normal, bool *is_assigned,
                           bool assign) {
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = r->facets.begin; i < r->facets.end; i++) {
        vec3 area = area_towards_a(&work->facets[i]);
        double along = v3_dot(area, normal), length = patch_area_length(area);
        if (is_assigned[i - r->facets.begin] || !(along > work->projection.wall_cosine * length))
            continue;
        sum = v3_add(sum, area);
        is_assigned[i - r->facets.begin] = assign;
        work->has_wide_walls |= assign && along < NARROW_COSINE * length;
    }
    return sum;
}

void abuti_patch_local_normals(const patch_work *work, patch_answer *answer) {
    const patch_region *r = &work->regions[answer->region];
    patch_normal_sum sums[PATCH_POINTS];
    bool has_tilted = false;
    for (uint32_t k = 1; k < answer->count; k++) {
        const patch_point *point = &answer->points[k];
        sums[k] = abuti_patch_normal_begin(work, point->at, answer->depth, 1u << !point->side);
        if (r->length < MIN_CONTOUR_RADII * sums[k].radius)
            return;
    }
    for (uint32_t i = r->facets.begin; i < r->facets.end; i++) {
        const patch_facet *f = &work->facets[i];
        vec3 normal = v3_normalise(area_towards_a(f));
        double cosine = v3_dot(normal, answer->normal);
        if (cosine < WALL_COSINE)
            continue;
        has_tilted |= cosine < PATCH_FLAT_COSINE;
        for (uint32_t k = 1; k < answer->count; k++)
            abuti_patch_normal_add(&sums[k], f->side, f->face, normal);
    }
    for (uint32_t k = 1; k < answer->count && has_tilted; k++)
        answer->points[k].normal =
            patch_local_normal(abuti_patch_normal_end(&sums[k]), answer->normal);
}

/* Computes walls from the largest facets on, until all large facets belong to one. Returns their
 * number. */
static int compute_walls(patch_work *work, const patch_region *r,
                         patch_answer answers[PATCH_NORMALS]) {
    uint32_t facets = r->facets.end - r->facets.begin;
    bool *is_assigned = abuti_patch_allocate(work->memory, facets, sizeof *is_assigned);
    double total = inside_area(work, r, 0) + inside_area(work, r, 1), limit = INFINITY;
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    int count = 0;
    if (!is_assigned)
        return 0;
    memset(is_assigned, 0, facets * sizeof *is_assigned);
    for (int i = 0; i < PATCH_NORMALS; i++) {
        double largest = MIN_WALL_AREA * total;
        vec3 normal = v3(0, 0, 0);
        for (uint32_t k = 0; k < facets; k++) {
            const patch_facet *f = &work->facets[r->facets.begin + k];
            double area = patch_area_length(f->area);
            if (is_assigned[k] || !(area > largest / facets))
                continue;
            largest = area * facets;
            normal = v3_normalise(area_towards_a(f));
        }
        if (v3_max_abs(normal) == 0)
            break;
        vec3 mean = v3_normalise(sum_wall_areas(work, r, normal, is_assigned, false));
        normal = v3_max_abs(mean) > 0 ? mean : normal;
        double area = v3_dot(sum_wall_areas(work, r, normal, is_assigned, true), normal);
        double max_depth = area > LARGE_WALL_AREA * total ? INFINITY : MAX_WALL_ASPECT * sqrt(area);
        patch_answer answer;
        measure_wall(work, r, normal, PATCH_SCOPE_WALL, LONG_COLUMN, &answer);
        if (!answer.count || answer.depth > real_min(limit, max_depth))
            continue;
        answer.is_face_normal = true;
        answer.area = 0.5 * area; /* the sum is over triangles of both bodies */
        int at = count++;
        for (; at > 0 && answers[at - 1].depth < answer.depth; at--)
            answers[at] = answers[at - 1];
        answers[at] = answer;
        limit = real_max(DEEP_WALL * size, DEEP_WALL_RATIO * answers[count - 1].depth);
    }
    return count;
}

int abuti_patch_find_walls(patch_work *work, const patch_region *r, bool narrow,
                           patch_answer answers[PATCH_NORMALS]) {
    narrow = narrow && (work->walls_region != r || work->has_wide_walls);
    work->projection.wall_cosine = narrow ? NARROW_COSINE : WALL_COSINE;
    if (narrow)
        return compute_walls(work, r, answers);
    if (!work->walls)
        work->walls = abuti_patch_allocate(work->memory, PATCH_NORMALS, sizeof *work->walls);
    if (!work->walls)
        return 0;
    if (work->walls_region != r) {
        work->has_wide_walls = false;
        work->wall_count = compute_walls(work, r, work->walls);
        work->walls_region = r;
    }
    memcpy(answers, work->walls, (size_t)work->wall_count * sizeof *answers);
    return work->wall_count;
}

/* ---- components inside the other body ---- */

static bool is_vertex_of_component(const abut_topology_arrays *view, uint32_t vertex,
                                   uint32_t component) {
    uint32_t first = view->vertex_face_begin[vertex];
    return first != view->vertex_face_begin[vertex + 1] &&
           view->triangle_component[view->vertex_faces[first]] == component;
}

/* Adds vertices of the inner component with their exit distances along the normal. Returns false
 * once one exceeds `limit`, or if there is none. */
static bool add_exits(patch_measurement *m, uint32_t inner, const uint32_t *vertices,
                      uint32_t count, double limit) {
    const patch_body *body = &m->work->body[inner];
    vec3 direction = inner ? v3_scale(m->normal, -1) : m->normal;
    m->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        double distance;
        vec3 at = patch_position(body, vertices[i]);
        if (!abuti_measure_exit_distance(&m->work->body[!inner], at, direction, &distance))
            continue;
        if (distance > limit)
            return false;
        patch_candidate *c = &m->found[m->count++];
        c->u = v3_dot(at, m->tangent[0]);
        c->v = v3_dot(at, m->tangent[1]);
        c->point = (patch_point){.at = v3_along(at, 0.5 * distance, direction),
                                 .depth = distance,
                                 .side = inner,
                                 .kind = ABUT_CONTACT_VERTEX,
                                 .element = vertices[i]};
        m->deepest = real_max(m->deepest, distance);
    }
    return m->count > 0;
}

void abuti_patch_compute_contained(patch_work *work, uint32_t inner, uint32_t component, vec3 hint,
                                   patch_answer *answer) {
    const patch_body *body = &work->body[inner];
    const abut_topology_arrays *view = &body->skin->view;
    uint32_t vertices[PATCH_CANDIDATES], vertex_total = 0, count = 0, visited = 0;
    box3 box = box_empty();
    for (uint32_t v = 0; v < view->vertex_count; v++)
        vertex_total += is_vertex_of_component(view, v, component);
    uint32_t step = vertex_total / PATCH_CANDIDATES + 1;
    for (uint32_t v = 0; v < view->vertex_count; v++)
        if (is_vertex_of_component(view, v, component)) {
            box = box_grow(box, patch_position(body, v));
            if (visited++ % step == 0)
                vertices[count++] = v;
        }
    vec3 centre = box_centre(box);
    patch_region region = {.centre = centre, .origin = centre};
    double smallest = INFINITY;
    patch_measurement m;
    answer->count = 0;
    for (int i = 0; i < 28; i++) {
        /* The 26 directions of a 3 x 3 x 3 grid, and the hint. */
        vec3 direction = v3(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1);
        if (i == 27)
            direction = hint;
        direction = v3_normalise(direction);
        if (v3_max_abs(direction) == 0)
            continue;
        abuti_measure_init(&m, work, &region, direction, work->max_points);
        if (!add_exits(&m, inner, vertices, count, smallest))
            continue;
        if (m.deepest >= smallest)
            continue;
        smallest = answer->depth = m.deepest;
        answer->normal = direction;
        abuti_measure_choose(&m, work->max_points, 0, answer);
    }
    step = vertex_total / MAX_EXITS + 1;
    visited = 0;
    /* The largest depth of up to MAX_EXITS vertices. */
    for (uint32_t v = 0; v < view->vertex_count && answer->count; v++)
        if (is_vertex_of_component(view, v, component) && visited++ % step == 0) {
            abuti_measure_init(&m, work, &region, answer->normal, work->max_points);
            if (add_exits(&m, inner, &v, 1, INFINITY) && m.deepest > answer->depth) {
                answer->points[0] = m.found[0].point;
                answer->depth = m.deepest;
            }
        }
    answer->centre = centre;
    answer->region = ABUT_NONE;
    answer->area = answer->volume = 0;
}

double abuti_patch_max_depth(patch_work *work, vec3 normal, double limit) {
    patch_measurement m;
    bool bodies_measured = false; /* both bodies were measured completely, so all regions were */
    double depth = -INFINITY;
    for (size_t i = 0; i < work->region_count && !(depth > limit); i++) {
        const patch_region *r = &work->regions[i];
        patch_scope scope =
            r->is_gap ? PATCH_SCOPE_REGION : abuti_measure_choose_scope(work, r, normal);
        if (r->is_gap || (bodies_measured && scope == PATCH_SCOPE_BODIES))
            continue;
        abuti_measure_along(&m, work, r, normal, 0, scope, limit);
        depth = real_max(depth, m.deepest);
        bodies_measured |= scope == PATCH_SCOPE_BODIES && !m.uses_rays;
    }
    return depth;
}
