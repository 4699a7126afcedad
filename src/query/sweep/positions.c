/* Positions of vertices on entry: validated, copied and bounded in one pass over memory. A
 * coordinate that is infinite or too large shows in the bounding box; a NaN does not.
 */
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

static void load_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    load_task *t = data;
    bool bad = false;
    box3 box = box_empty();
    for (size_t i = begin; i < end; i++) {
        const vec3 p = t->from[i];
        bad |= !(p.x == p.x && p.y == p.y && p.z == p.z);
        box = box_grow(box, p);
        t->to[i] = p;
    }
    t->boxes[chunk] = box;
    if (bad)
        atomic_store(&t->bad, true);
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
    if (count && (atomic_load(&t.bad) || !abuti_is_position(all.lo) || !abuti_is_position(all.hi)))
        for (uint32_t i = 0; i < count; i++)
            if (!abuti_is_position(from[i]))
                return abuti_positions_fail(function, what, i, from[i]);
    *box = all;
    return abuti_positions_check_size(function, what, all);
}
