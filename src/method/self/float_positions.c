/* Positions of vertices during a step, as floats: for bounds, for the first pass of the view test,
 * and for the separation of ghosts.
 *
 * The frame has the centre of the mesh over the whole step as its origin and a power of two as its
 * unit, so that every vertex is within 1 of it. A ghost vertex may be farther: see tree.c.
 * Coordinates are rounded twice, by a difference in doubles and then to a float. Both roundings are
 * monotonic; together they move a coordinate below 1 by at most 2^-25 (1 + 2^-27).
 */
#include "self/self.h"

#include <math.h>

enum { VERTICES_PER_TASK = 4096 };

void abuti_view_compute_frame(abut_self *view, box3 box) {
    view->centre = box_centre(box);
    double size = real_max(v3_max_abs(v3_sub(box.hi, view->centre)),
                           v3_max_abs(v3_sub(box.lo, view->centre)));
    int exponent;
    frexp(size, &exponent);
    view->scale = size > 0 && exponent > -1000 ? ldexp(1, -exponent) : 1;
}

static void float_positions_task(void *data, size_t chunk, size_t begin, size_t end) {
    const abut_self *view = data;
    vec3 centre = view->centre;
    double scale = view->scale;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 a = view->start[i], b = view->next[i];
        float *from = view->places[i].at[0], *to = view->places[i].at[1];
        from[0] = (float)((a.x - centre.x) * scale);
        from[1] = (float)((a.y - centre.y) * scale);
        from[2] = (float)((a.z - centre.z) * scale);
        from[3] = 0;
        to[0] = (float)((b.x - centre.x) * scale);
        to[1] = (float)((b.y - centre.y) * scale);
        to[2] = (float)((b.z - centre.z) * scale);
        to[3] = 0;
    }
}

void abuti_view_compute_positions(abut_self *view, box3 box) {
    abuti_view_compute_frame(view, box);
    abuti_parallel_for(view->context, (size_t)view->vertex_count + view->hole_count,
                       VERTICES_PER_TASK, float_positions_task, view);
}
