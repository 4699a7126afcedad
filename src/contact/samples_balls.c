/* Features in balls, so that those which cannot touch are told together.
 *
 * Samples are sorted along a Morton curve over their box, and so are edges by their middles. Each
 * run of CONTACT_BALL features makes a ball about the middle of its own box, and each run of
 * CONTACT_BALL balls a group with a ball of its own. Of an edge both ends are in the ball, and with
 * them all of it. */
#include "contact/samples.h"

#include <math.h>

enum { CURVE_BITS = 10 };

static uint32_t cell_on(double x, double radius) {
    double share = (x / radius + 1) / 2 * (1 << CURVE_BITS);
    return (uint32_t)real_clamp(share, 0, (1 << CURVE_BITS) - 1);
}

/* The points of a feature: one of a sample, two of an edge. */
static const contact_point *points_of(const abut_samples *s, uint32_t feature, int *count) {
    const uint32_t samples = s->view.count;
    *count = feature < samples ? 1 : 2;
    return s->points + (feature < samples ? feature : samples + 2 * (size_t)(feature - samples));
}

static uint64_t key_of(const abut_samples *s, uint32_t feature) {
    double whole = s->radius > 0 ? s->radius : 1;
    int count;
    const contact_point *first = points_of(s, feature, &count), *last = first + count - 1;
    return morton_code(cell_on(((double)first->x + last->x) / 2, whole),
                       cell_on(((double)first->y + last->y) / 2, whole),
                       cell_on(((double)first->z + last->z) / 2, whole))
               << 32 |
           feature;
}

/* The ball of a part of the order. */
static contact_ball ball_of(const abut_samples *s, uint32_t begin, uint32_t end) {
    box3 box = box_empty();
    int count;
    for (uint32_t i = begin; i < end; i++) {
        const contact_point *p = points_of(s, s->order[i], &count);
        for (int k = 0; k < count; k++)
            box = box_grow(box, v3(p[k].x, p[k].y, p[k].z));
    }
    vec3 middle = box_centre(box);
    contact_ball ball = {(float)middle.x, (float)middle.y, (float)middle.z, 0, begin, end};
    double radius = 0;
    for (uint32_t i = begin; i < end; i++) {
        const contact_point *p = points_of(s, s->order[i], &count);
        for (int k = 0; k < count; k++) {
            vec3 way =
                v3((double)p[k].x - ball.x, (double)p[k].y - ball.y, (double)p[k].z - ball.z);
            radius = real_max(radius, v3_length(way));
        }
    }
    ball.radius = (float)(radius * (1 + 1e-6));
    return ball;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The balls and groups of the features from `first` on, all of one kind. */
static void add_balls(abut_samples *s, uint32_t first, uint32_t count, contact_part *part,
                      uint64_t *keys) {
    const uint32_t end = first + count;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = key_of(s, first + i);
    abuti_sort_keys(keys, keys + count, count);
    for (uint32_t i = 0; i < count; i++)
        s->order[first + i] = (uint32_t)keys[i];
    part->balls = (uint32_t)abuti_chunk_count(count, CONTACT_BALL);
    part->groups = (uint32_t)abuti_chunk_count(part->balls, CONTACT_BALL);
    for (uint32_t i = 0; i < part->balls; i++) {
        uint32_t begin = first + i * CONTACT_BALL;
        s->balls[part->first_ball + i] = ball_of(s, begin, least(begin + CONTACT_BALL, end));
    }
    for (uint32_t i = 0; i < part->groups; i++) {
        uint32_t ball = i * CONTACT_BALL, begin = first + ball * CONTACT_BALL;
        contact_ball *to = &s->groups[part->first_group + i];
        *to = ball_of(s, begin, least(begin + CONTACT_BALL * CONTACT_BALL, end));
        to->begin = part->first_ball + ball;
        to->end = part->first_ball + least(ball + CONTACT_BALL, part->balls);
    }
}

abut_status abuti_samples_balls(abut_samples *s) {
    const uint32_t samples = s->view.count, edges = s->view.edge_count;
    const size_t all = (size_t)samples + edges, balls = all / CONTACT_BALL + 2;
    uint64_t *keys = abuti_allocate(s->context, all, 2 * sizeof *keys);
    s->order = abuti_allocate(s->context, all, sizeof *s->order);
    s->balls = abuti_allocate(s->context, balls, sizeof *s->balls);
    s->groups = abuti_allocate(s->context, balls / CONTACT_BALL + 2, sizeof *s->groups);
    abut_status status = keys && s->order && s->balls && s->groups ? ABUT_OK : ABUT_ERROR_MEMORY;
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
