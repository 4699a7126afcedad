/* Pairs of a point and a triangle measured in doubles, several at once. Included by the files that
 * have a kernel of more than four lanes; half as many doubles are as wide. */
#if LANES == 16
#define MEASURE_LANES 8
#endif
#include "nearest/measure_lanes.h"

static void exact(const abut_mesh *mesh, const vec3 *points, lists_pair *pairs, uint32_t count) {
    for (uint32_t begin = 0; begin < count; begin += MEASURE_LANES) {
        double column[12][MEASURE_LANES];
        for (uint32_t k = 0; k < MEASURE_LANES; k++) {
            const lists_pair *pair = &pairs[begin + k < count ? begin + k : count - 1];
            const uint32_t *index = mesh->indices + 3 * (size_t)pair->triangle;
            for (int c = 0; c < 4; c++) {
                const vec3 *from = c < 3 ? &mesh->positions[index[c]] : &points[pair->point];
                column[3 * c][k] = from->x;
                column[3 * c + 1][k] = from->y;
                column[3 * c + 2][k] = from->z;
            }
        }
        vec3d absolute[4], origin = v3d_all(mesh->origin);
        for (int c = 0; c < 4; c++) {
            vec3d at = {DW(load)(column[3 * c]), DW(load)(column[3 * c + 1]),
                        DW(load)(column[3 * c + 2])};
            absolute[c] = c < 3 ? v3d_add(origin, at) : at;
        }
        measured out;
        measure_lanes(absolute, absolute[3], &out);
        vec3d closest = weights_at_dw(absolute, out.edge, out.weight);
        for (int c = 0; c < 3; c++)
            DW(store)(column[c], out.weight[c]);
        DW(store)(column[3], out.distance);
        DW(store)(column[4], closest.x);
        DW(store)(column[5], closest.y);
        DW(store)(column[6], closest.z);
        for (uint32_t k = 0; k < MEASURE_LANES && begin + k < count; k++) {
            lists_pair *pair = &pairs[begin + k];
            pair->distance = column[3][k];
            pair->closest = v3(column[4][k], column[5][k], column[6][k]);
            for (int c = 0; c < 3; c++)
                pair->weight[c] = column[c][k];
            if (out.left >> k & 1)
                lists_measure_pair(mesh, points, pair);
        }
    }
}
