/* Positions of vertices at the door: checked, copied and put into a box, in one pass over memory.
 *
 * Two vertices are six numbers, or three pairs. One that is not finite or too large is seen in the
 * box, but for one that is no number: such a one stays in a sum of differences of each with itself,
 * which is 0 otherwise. */
#include "base/simd.h"
#include "mesh/mesh.h"
#include "sweep/motion.h"

#include <stdatomic.h>

/* Fewer are done before another thread is awake. */
enum { VERTICES_A_TASK = 1 << 16, TASKS_MAX = 64 };

typedef struct taking {
    const vec3 *from;
    vec3 *to;
    box3 boxes[TASKS_MAX];
    atomic_bool bad;
} taking;

static void grow(box3 *box, bool *bad, vec3 p) {
    *bad |= !(p.x == p.x && p.y == p.y && p.z == p.z);
    *box = box_grow(*box, p);
}

/* An even number of vertices, at least two. */
static void take_pairs(const double *from, double *to, size_t count, box3 *box, bool *bad) {
    d2 lo[3], hi[3], zero[3];
    double ends[3][6];
    for (int k = 0; k < 3; k++) {
        lo[k] = hi[k] = d2_load(from + 2 * k);
        zero[k] = d2_all(0);
    }
    for (size_t i = 0; i < 3 * count; i += 6)
        for (int k = 0; k < 3; k++) {
            d2 x = d2_load(from + i + 2 * k);
            lo[k] = d2_min(x, lo[k]);
            hi[k] = d2_max(x, hi[k]);
            zero[k] = d2_add(zero[k], d2_sub(x, x));
            d2_store(to + i + 2 * k, x);
        }
    for (int k = 0; k < 3; k++) {
        d2_store(ends[0] + 2 * k, lo[k]);
        d2_store(ends[1] + 2 * k, hi[k]);
        d2_store(ends[2] + 2 * k, zero[k]);
    }
    for (int k = 0; k < 6; k++)
        *bad |= !(ends[2][k] == 0);
    for (int k = 0; k < 4; k++) {
        const double *p = ends[k / 2] + 3 * (k % 2);
        grow(box, bad, v3(p[0], p[1], p[2]));
    }
}

static void take_task(void *data, size_t chunk, size_t begin, size_t end) {
    taking *t = data;
    const size_t pairs = (end - begin) / 2 * 2;
    bool bad = false;
    box3 box = box_empty();
    if (pairs)
        take_pairs(&t->from[begin].x, &t->to[begin].x, pairs, &box, &bad);
    if (begin + pairs < end) {
        grow(&box, &bad, t->from[end - 1]);
        t->to[end - 1] = t->from[end - 1];
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

abut_status abuti_positions_check_size(const char *function, const char *what, box3 box) {
    char name[96];
    snprintf(name, sizeof name, "%s: %s", function, what);
    return abuti_mesh_check_size(name, box);
}

abut_status abuti_positions_take(abut_context *context, const char *function, const char *what,
                                 const vec3 *from, uint32_t count, vec3 *to, box3 *box) {
    taking t = {.from = from, .to = to};
    size_t grain = (count + (size_t)TASKS_MAX - 1) / TASKS_MAX;
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
    return abuti_positions_check_size(function, what, all);
}
