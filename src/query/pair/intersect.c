/* Triangles of two posed meshes that intersect: one pair, or all. intersect_lanes.c finds candidate
 * pairs; the exact predicate decides them here. */
#include "pair/pair.h"

#include "geom/intersect_shared.h"

bool abuti_pair_intersect_exactly(intersect_search *s, uint32_t a, uint32_t b) {
    abut_triangle at_a = pair_triangle(&s->frame->side[0], a);
    abut_triangle at_b = pair_triangle(&s->frame->side[1], b);
    abut_segment segment;
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
