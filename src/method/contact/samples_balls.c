/* Bounding balls of features, which cull features that cannot touch with one field value.
 *
 * Samples, and edges by their midpoints, are repeatedly halved across the longest side of their
 * bounding box. Runs of CONTACT_BALL_SIZE features form balls, and runs of CONTACT_BALL_SIZE balls
 * form groups with a ball of their own. The ball of an edge contains both ends, and so the whole
 * edge.
 */
#include "contact/samples.h"

#include <math.h>

/* The points of a feature: one for a sample, two for an edge. */
static const contact_point *feature_points(const abut_samples *s, uint32_t feature, int *count) {
    const uint32_t samples = s->view.count;
    *count = feature < samples ? 1 : 2;
    return s->points + (feature < samples ? feature : samples + 2 * (size_t)(feature - samples));
}

/* Twice the midpoint. */
static vec3 doubled_midpoint(const abut_samples *s, uint32_t feature) {
    int count;
    const contact_point *first = feature_points(s, feature, &count), *last = first + count - 1;
    return v3((double)first->x + last->x, (double)first->y + last->y, (double)first->z + last->z);
}

/* Sorts a range of the order into runs of balls. */
static void sort_into_runs(abut_samples *s, size_t begin, size_t end, sort_key *keys) {
    const size_t group_size = CONTACT_BALL_SIZE * CONTACT_BALL_SIZE;
    while (end - begin > CONTACT_BALL_SIZE) {
        box3 box = box_empty();
        for (size_t i = begin; i < end; i++)
            box = box_grow(box, doubled_midpoint(s, s->order[i]));
        const int axis = box_longest_axis(box);
        for (size_t i = begin; i < end; i++) {
            keys[i - begin].key =
                abuti_ordered_bits(v3_get(doubled_midpoint(s, s->order[i]), axis));
            keys[i - begin].value = s->order[i];
        }
        size_t unit = end - begin > group_size ? group_size : CONTACT_BALL_SIZE;
        size_t middle = ((end - begin) / 2 + unit - 1) / unit * unit;
        abuti_select(keys, keys + (end - begin), end - begin, middle);
        for (size_t i = begin; i < end; i++)
            s->order[i] = keys[i - begin].value;
        sort_into_runs(s, begin, begin + middle, keys);
        begin += middle;
    }
}

/* The ball of a range of the order. */
static contact_ball bound_range(const abut_samples *s, uint32_t begin, uint32_t end) {
    box3 box = box_empty();
    int count;
    for (uint32_t i = begin; i < end; i++) {
        const contact_point *p = feature_points(s, s->order[i], &count);
        for (int k = 0; k < count; k++)
            box = box_grow(box, v3(p[k].x, p[k].y, p[k].z));
    }
    vec3 middle = box_centre(box);
    contact_ball ball = {(float)middle.x, (float)middle.y, (float)middle.z, 0, begin, end};
    double radius = 0;
    for (uint32_t i = begin; i < end; i++) {
        const contact_point *p = feature_points(s, s->order[i], &count);
        for (int k = 0; k < count; k++) {
            vec3 offset =
                v3((double)p[k].x - ball.x, (double)p[k].y - ball.y, (double)p[k].z - ball.z);
            radius = real_max(radius, v3_length(offset));
        }
    }
    ball.radius = (float)(radius * (1 + 1e-6));
    return ball;
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Adds the balls and groups of `count` features of one kind, starting at `first`. */
static void add_balls(abut_samples *s, uint32_t first, uint32_t count, contact_part *part,
                      sort_key *keys) {
    const uint32_t end = first + count;
    for (uint32_t i = first; i < end; i++)
        s->order[i] = i;
    sort_into_runs(s, first, end, keys);
    part->balls = (uint32_t)abuti_chunk_count(count, CONTACT_BALL_SIZE);
    part->groups = (uint32_t)abuti_chunk_count(part->balls, CONTACT_BALL_SIZE);
    for (uint32_t i = 0; i < part->balls; i++) {
        uint32_t begin = first + i * CONTACT_BALL_SIZE;
        s->balls[part->first_ball + i] =
            bound_range(s, begin, smaller(begin + CONTACT_BALL_SIZE, end));
    }
    for (uint32_t i = 0; i < part->groups; i++) {
        uint32_t ball = i * CONTACT_BALL_SIZE, begin = first + ball * CONTACT_BALL_SIZE;
        contact_ball *to = &s->groups[part->first_group + i];
        *to = bound_range(s, begin, smaller(begin + CONTACT_BALL_SIZE * CONTACT_BALL_SIZE, end));
        to->begin = part->first_ball + ball;
        to->end = part->first_ball + smaller(ball + CONTACT_BALL_SIZE, part->balls);
    }
}

abut_status abuti_samples_build_balls(abut_samples *s) {
    const uint32_t samples = s->view.count, edges = s->view.edge_count;
    const size_t all = (size_t)samples + edges, balls = all / CONTACT_BALL_SIZE + 2;
    sort_key *keys;
    abut_status status = ABUTI_ALLOCATE(s->context, ABUTI_ARRAY(keys, 2 * all),
                                        ABUTI_ARRAY(s->order, all), ABUTI_ARRAY(s->balls, balls),
                                        ABUTI_ARRAY(s->groups, balls / CONTACT_BALL_SIZE + 2));
    if (!status) {
        contact_part *parts = s->parts;
        add_balls(s, 0, samples, &parts[0], keys);
        parts[1].first_ball = parts[0].balls;
        parts[1].first_group = parts[0].groups;
        add_balls(s, samples, edges, &parts[1], keys);
    }
    abuti_release(s->context, keys);
    return status;
}
