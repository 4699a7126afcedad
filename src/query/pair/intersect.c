/* Triangles of two posed meshes that intersect: one pair, or all. intersect_lanes.c finds candidate
 * pairs; the exact predicate decides them here. */
#include "pair/pair.h"

#include "geom/intersect_shared.h"

#include <math.h>

/* Whether one triangle is certainly beyond the other along a direction. A sum of three products has
 * an error of less than three roundings of the largest coordinate times the length of the
 * direction. */
static bool is_separated_along(vec3 direction, const abut_triangle *a, const abut_triangle *b) {
    double low = v3_dot(direction, a->corner[0]), high = v3_dot(direction, b->corner[0]);
    double size = v3_max_abs(a->corner[0]) + v3_max_abs(b->corner[0]);
    for (int k = 1; k < 3; k++) {
        low = real_min(low, v3_dot(direction, a->corner[k]));
        high = real_max(high, v3_dot(direction, b->corner[k]));
        size = real_max(size, v3_max_abs(a->corner[k]) + v3_max_abs(b->corner[k]));
    }
    return low - high >
           0x1p-49 * size * (fabs(direction.x) + fabs(direction.y) + fabs(direction.z));
}

/* The end of a triangle along the expected direction: the lower one of a, the upper one of b. */
static double end_coordinate(const pair_frame *frame, int k, uint32_t triangle) {
    const abut_mesh *mesh = frame->side[k].bvh->mesh;
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double h[3];
    for (int i = 0; i < 3; i++)
        h[i] = v3_dot(frame->own_direction[k], mesh->positions[corner[i]]);
    return frame->origin_along[k] +
           (k ? real_max(real_max(h[0], h[1]), h[2]) : real_min(real_min(h[0], h[1]), h[2]));
}

bool abuti_pair_intersect_exactly(intersect_search *s, uint32_t a, uint32_t b) {
    /* First without transforming them. The error of a vertex counts less than twice along a unit
     * vector, and is far larger than the rounding of these sums. */
    if (end_coordinate(s->frame, 0, a) - end_coordinate(s->frame, 1, b) >
        4 * s->frame->position_error)
        return false;
    abut_triangle at_a = pair_triangle(&s->frame->side[0], a);
    abut_triangle at_b = pair_triangle(&s->frame->side[1], b);
    abut_segment segment;
    if (is_separated_along(s->frame->direction, &at_a, &at_b))
        return false;
    abut_intersection intersection =
        triangle_triangle_intersect(at_a, at_b, s->count < s->capacity ? &segment : NULL);
    if (intersection == ABUT_INTERSECTION_NONE)
        return false;
    if (!s->count) {
        s->triangle[0] = a;
        s->triangle[1] = b;
    }
    if (s->count < s->capacity) {
        abut_pair_intersection *found = &s->pairs[s->count];
        found->triangle_a = a;
        found->triangle_b = b;
        found->kind = intersection;
        found->segment = segment;
    }
    s->count++;
    return !s->find_all;
}

static void run_traversal(intersect_search *s) {
    if (s->frame->reach <= PAIR_FAR_DISTANCE)
        ABUTI_BY_LANES(abuti_pair_intersect)(s);
}

bool abuti_pair_find_intersection(const pair_frame *frame, uint32_t triangle[2]) {
    intersect_search s = {.frame = frame};
    run_traversal(&s);
    triangle[0] = s.triangle[0];
    triangle[1] = s.triangle[1];
    return s.count > 0;
}

uint64_t abuti_pair_list_intersections(const pair_frame *frame, uint64_t capacity,
                                       abut_pair_intersection *pairs) {
    intersect_search s = {.frame = frame, .find_all = true, .capacity = capacity, .pairs = pairs};
    run_traversal(&s);
    return s.count;
}

void abuti_pair_candidates(const pair_frame *frame, pair_visit *visit, void *data) {
    intersect_search s = {.frame = frame, .visit = visit, .data = data};
    run_traversal(&s);
}
