/* Many pairs at once: those that a direction or two prove free are left out. */
#include "geom/sweep.h"

static bool survives(int kind, const sweep_frame *frame) {
    static const double times[] = {0.5, 0, 1};
    for (int k = 0; k < 3; k++)
        if (sweep_proven_by(kind, frame, times[k]))
            return false;
    return true;
}

size_t abuti_sweep_filter(int kind, const vec3 *start, const vec3 *end, const uint32_t *four,
                          size_t count, const sweep_limits *limits, uint32_t *survivors) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        vec3 from[4], to[4];
        sweep_frame frame;
        for (int k = 0; k < 4; k++) {
            from[k] = start[four[4 * i + (size_t)k]];
            to[k] = end[four[4 * i + (size_t)k]];
        }
        sweep_frame_of(kind, from, to, limits, &frame);
        survivors[found] = (uint32_t)i;
        found += survives(kind, &frame);
    }
    return found;
}
