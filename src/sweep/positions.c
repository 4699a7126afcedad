/* Positions of vertices at the door: checked, copied and put into a box, in one pass.
 *
 * Twelve numbers, which are four vertices, are looked at together, so that compilers see vectors
 * and no lane waits for another. A number that is not finite or too large is seen in the box, but
 * for one that is none: that is noted. */
#include "sweep/motion.h"

#include <stdatomic.h>

enum { WIDE = 12, VERTICES_A_TASK = 16384, TASKS_MOST = 64 };

typedef struct taking {
    const vec3 *from;
    vec3 *to;
    box3 boxes[TASKS_MOST];
    atomic_bool bad;
} taking;

/* Gives whether one is no number. */
static bool take_fours(const double *from, double *to, size_t count, double lo[WIDE],
                       double hi[WIDE]) {
    uint64_t bad[WIDE] = {0};
    for (size_t i = 0; i < count; i += WIDE)
        for (int k = 0; k < WIDE; k++) {
            double x = from[i + (size_t)k];
            lo[k] = x < lo[k] ? x : lo[k];
            hi[k] = x > hi[k] ? x : hi[k];
            bad[k] |= x != x;
            to[i + (size_t)k] = x;
        }
    for (int k = 1; k < WIDE; k++)
        bad[0] |= bad[k];
    return bad[0] != 0;
}

static void take_task(void *data, size_t chunk, size_t begin, size_t end) {
    taking *t = data;
    size_t fours = (end - begin) / 4;
    double lo[WIDE], hi[WIDE];
    box3 box = box_empty();
    for (int k = 0; k < WIDE; k++) {
        lo[k] = DBL_MAX;
        hi[k] = -DBL_MAX;
    }
    bool bad = take_fours(&t->from[begin].x, &t->to[begin].x, fours * WIDE, lo, hi);
    for (int k = 0; k < WIDE && fours; k += 3) {
        box = box_grow(box, v3(lo[k], lo[k + 1], lo[k + 2]));
        box = box_grow(box, v3(hi[k], hi[k + 1], hi[k + 2]));
    }
    for (size_t i = begin + 4 * fours; i < end; i++) {
        vec3 p = t->to[i] = t->from[i];
        bad |= !(p.x == p.x && p.y == p.y && p.z == p.z);
        box = box_grow(box, p);
    }
    t->boxes[chunk] = box;
    if (bad)
        atomic_store(&t->bad, true);
}

static bool is_legal(vec3 p) {
    return v3_max_abs(p) <= ABUT_COORDINATE_MAX && p.x == p.x && p.y == p.y && p.z == p.z;
}

abut_status abuti_positions_refuse(const char *function, const char *what, uint64_t vertex,
                                   vec3 at) {
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s[%llu] is (%g, %g, %g); coordinates must be finite and at most 1e90 "
                      "in magnitude",
                      function, what, (unsigned long long)vertex, at.x, at.y, at.z);
}

abut_status abuti_positions_take(abut_context *context, const char *function, const char *what,
                                 const vec3 *from, uint32_t count, vec3 *to, box3 *box) {
    taking t = {.from = from, .to = to};
    size_t grain = (count + (size_t)TASKS_MOST - 1) / TASKS_MOST;
    grain = grain < VERTICES_A_TASK ? VERTICES_A_TASK : grain;
    atomic_init(&t.bad, false);
    abuti_parallel_for(context, count, grain, take_task, &t);
    box3 all = box_empty();
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++)
        all = box_join(all, t.boxes[i]);
    if (count && (atomic_load(&t.bad) || !is_legal(all.lo) || !is_legal(all.hi)))
        for (uint32_t i = 0; i < count; i++)
            if (!is_legal(from[i]))
                return abuti_positions_refuse(function, what, i, from[i]);
    *box = all;
    return ABUT_OK;
}
