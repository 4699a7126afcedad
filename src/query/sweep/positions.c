/* Positions of vertices on entry: validated, copied and bounded in one pass over memory.
 *
 * Two vertices are six numbers, or three SIMD pairs. A coordinate that is infinite or too large
 * shows in the bounding box. A NaN does not; it is detected by the sum of x - x over all
 * coordinates, which is 0 otherwise.
 */
#include "base/simd.h"
#include "mesh/mesh.h"
#include "sweep/motion.h"

#include <stdatomic.h>

/* With fewer vertices, the task is finished before another thread starts. */
enum { VERTICES_PER_TASK = 1 << 16, TASKS_MAX = 64 };

typedef struct load_task {
    const vec3 *from;
    vec3 *to;
    box3 boxes[TASKS_MAX];
    atomic_bool bad;
} load_task;

static void grow_box(box3 *box, bool *bad, vec3 p) {
    *bad |= !(p.x == p.x && p.y == p.y && p.z == p.z);
    *box = box_grow(*box, p);
}

/* `count` is even and at least two. */
static void load_vertex_pairs(const double *from, double *to, size_t count, box3 *box, bool *bad) {
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
        grow_box(box, bad, v3(p[0], p[1], p[2]));
    }
}

static void load_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    load_task *t = data;
    const size_t pairs = (end - begin) / 2 * 2;
    bool bad = false;
    box3 box = box_empty();
    if (pairs)
        load_vertex_pairs(&t->from[begin].x, &t->to[begin].x, pairs, &box, &bad);
    if (begin + pairs < end) {
        grow_box(&box, &bad, t->from[end - 1]);
        t->to[end - 1] = t->from[end - 1];
    }
    t->boxes[chunk] = box;
    if (bad)
        atomic_store(&t->bad, true);
}

static bool is_valid_position(vec3 p) {
    return v3_max_abs(p) <= ABUT_COORDINATE_MAX && p.x == p.x && p.y == p.y && p.z == p.z;
}

abut_status abuti_positions_fail(const char *function, const char *what, uint64_t vertex, vec3 at) {
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

abut_status abuti_positions_load(abut_context *context, const char *function, const char *what,
                                 const vec3 *from, uint32_t count, vec3 *to, box3 *box) {
    load_task t = {.from = from, .to = to};
    size_t grain = (count + (size_t)TASKS_MAX - 1) / TASKS_MAX;
    grain = grain < VERTICES_PER_TASK ? VERTICES_PER_TASK : grain;
    atomic_init(&t.bad, false);
    abuti_parallel_for(context, count, grain, load_vertices, &t);
    box3 all = box_empty();
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++)
        all = box_join(all, t.boxes[i]);
    if (count && (atomic_load(&t.bad) || !is_valid_position(all.lo) || !is_valid_position(all.hi)))
        for (uint32_t i = 0; i < count; i++)
            if (!is_valid_position(from[i]))
                return abuti_positions_fail(function, what, i, from[i]);
    *box = all;
    return abuti_positions_check_size(function, what, all);
}
