/* Samples in balls of a few, so that those which cannot touch are told together.
 *
 * Samples are sorted along a Morton curve over their box; each run of BALL_SAMPLES makes a ball
 * about the middle of its own box. */
#include "contact/samples.h"

#include <math.h>

enum { BALL_SAMPLES = 6, CURVE_BITS = 10 };

static uint32_t cell_on(float x, double radius) {
    double share = (x / radius + 1) / 2 * (1 << CURVE_BITS);
    return (uint32_t)real_clamp(share, 0, (1 << CURVE_BITS) - 1);
}

static uint64_t key_of(const contact_point *p, double radius, uint32_t index) {
    double whole = radius > 0 ? radius : 1;
    return morton_code(cell_on(p->x, whole), cell_on(p->y, whole), cell_on(p->z, whole)) << 32 |
           index;
}

static sample_ball ball_of(const abut_samples *s, uint32_t begin, uint32_t end) {
    box3 box = box_empty();
    for (uint32_t i = begin; i < end; i++) {
        const contact_point *p = &s->points[s->order[i]];
        box = box_grow(box, v3(p->x, p->y, p->z));
    }
    vec3 middle = box_centre(box);
    sample_ball ball = {(float)middle.x, (float)middle.y, (float)middle.z, 0, begin, end};
    double radius = 0;
    for (uint32_t i = begin; i < end; i++) {
        const contact_point *p = &s->points[s->order[i]];
        vec3 way = v3((double)p->x - ball.x, (double)p->y - ball.y, (double)p->z - ball.z);
        radius = real_max(radius, v3_length(way));
    }
    ball.radius = (float)(radius * (1 + 1e-6));
    return ball;
}

abut_status abuti_samples_balls(abut_samples *s) {
    uint32_t count = s->view.count;
    size_t balls = abuti_chunk_count(count, BALL_SAMPLES);
    uint64_t *keys = abuti_allocate(s->context, count, 2 * sizeof *keys);
    s->order = abuti_allocate(s->context, count, sizeof *s->order);
    s->balls = abuti_allocate(s->context, balls, sizeof *s->balls);
    abut_status status = keys && s->order && s->balls ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count && !status; i++)
        keys[i] = key_of(&s->points[i], s->radius, i);
    if (!status)
        abuti_sort_keys(keys, keys + count, count);
    for (uint32_t i = 0; i < count && !status; i++)
        s->order[i] = (uint32_t)keys[i];
    for (size_t i = 0; i < balls && !status; i++) {
        uint32_t begin = (uint32_t)i * BALL_SAMPLES;
        uint32_t end = count - begin < BALL_SAMPLES ? count : begin + BALL_SAMPLES;
        s->balls[s->ball_count++] = ball_of(s, begin, end);
    }
    abuti_release(s->context, keys);
    return status;
}
