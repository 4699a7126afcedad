/* Distances of points and triangles in doubles, compiled for 4, 8 and 16 float lanes, which are
 * half as many doubles. */
#include "nearest/batch.h"

#if LANES == 16
#define MEASURE_LANES 8
#endif
#include "base/simd_lanes.h"
#include "nearest/measure_lanes.h"

#if LANES > 4

/* The corners of triangles, beginning with the given corner, and the points. */
static inline void load_pairs(const abut_mesh *mesh, const vec3 *points, const nearest_pair *pairs,
                              uint32_t count, vec3d absolute[4]) {
    double column[12][MEASURE_LANES];
    for (uint32_t k = 0; k < MEASURE_LANES; k++) {
        const nearest_pair *pair = &pairs[k < count ? k : count - 1];
        const uint32_t *index = mesh->indices + 3 * (size_t)pair->triangle;
        for (uint32_t c = 0; c < 4; c++) {
            const uint32_t turned = pair->corner + c < 3 ? pair->corner + c : pair->corner + c - 3;
            const vec3 *from = c < 3 ? &mesh->positions[index[turned]] : &points[pair->point];
            column[3 * c][k] = from->x;
            column[3 * c + 1][k] = from->y;
            column[3 * c + 2][k] = from->z;
        }
    }
    const vec3d origin = v3d_all(mesh->origin);
    for (int c = 0; c < 4; c++) {
        vec3d at = {DW(load)(column[3 * c]), DW(load)(column[3 * c + 1]),
                    DW(load)(column[3 * c + 2])};
        absolute[c] = c < 3 ? v3d_add(origin, at) : at;
    }
}

static inline void store_pairs(const abut_mesh *mesh, const vec3 *points, const measured *out,
                               vec3d closest, nearest_pair *pairs, uint32_t count) {
    double column[7][MEASURE_LANES];
    for (int c = 0; c < 3; c++)
        DW(store)(column[c], out->weight[c]);
    DW(store)(column[3], out->distance);
    DW(store)(column[4], closest.x);
    DW(store)(column[5], closest.y);
    DW(store)(column[6], closest.z);
    for (uint32_t k = 0; k < MEASURE_LANES && k < count; k++) {
        nearest_pair *pair = &pairs[k];
        pair->distance = column[3][k];
        pair->closest = v3(column[4][k], column[5][k], column[6][k]);
        for (uint32_t c = 0; c < 3; c++)
            pair->weight[pair->corner + c < 3 ? pair->corner + c : pair->corner + c - 3] =
                column[c][k];
        if (out->unfinished >> k & 1)
            nearest_measure_pair(mesh, points, pair);
    }
}

static void measure_pairs(const abut_mesh *mesh, const vec3 *points, pairs_kind kind,
                          nearest_pair *pairs, uint32_t count) {
    for (uint32_t begin = 0; begin < count; begin += MEASURE_LANES) {
        vec3d absolute[4];
        measured out;
        load_pairs(mesh, points, pairs + begin, count - begin, absolute);
        if (kind < PAIRS_EDGE)
            measure_lanes(absolute, absolute[3], &out);
        else
            measure_known_lanes(absolute, absolute[3], kind == PAIRS_EDGE, &out);
        store_pairs(mesh, points, &out, weights_at_dw(absolute, out.edge, out.weight),
                    pairs + begin, count - begin);
    }
}

#else

static void measure_pairs(const abut_mesh *mesh, const vec3 *points, pairs_kind kind,
                          nearest_pair *pairs, uint32_t count) {
    (void)kind;
    for (uint32_t i = 0; i < count; i++)
        nearest_measure_pair(mesh, points, &pairs[i]);
}

#endif

const pairs_kernel BY_LANES(abuti_pairs) = {measure_pairs};
