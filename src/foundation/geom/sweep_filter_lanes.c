/* The sweep filter in float, compiled for 4, 8 and 16 pairs at once; see sweep_lanes_shared.h. */
#include "geom/sweep.h"

#include "base/simd_lanes.h"
#define v_div fw_div
#define v_sqrt fw_sqrt
#include "geom/sweep_lanes_shared.h"

#include <float.h>

enum { BLOCK = 64, COLUMNS = 18 }; /* x, y, z of three differences at the start, then the end */

/* ---- pairs ---- */

/* Differences of up to BLOCK pairs; unused lanes are zero. */
static void gather_differences(const sweep_batch *batch, const uint32_t *list, size_t first,
                               size_t count, float columns[COLUMNS][BLOCK]) {
    const int one = batch->kind == SWEEP_EDGE_EDGE ? 1 : 2, from = batch->kind;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *four = batch->four + 4 * (list ? list[first + i] : first + i);
        for (int end = 0; end < 2; end++) {
            const vec3 *p = end ? batch->end : batch->start;
            const vec3 r = p[four[from]], a = p[four[0]], b = p[four[one]], c = p[four[3]];
            float(*to)[BLOCK] = columns + 9 * end;
            to[0][i] = (float)(a.x - r.x);
            to[1][i] = (float)(a.y - r.y);
            to[2][i] = (float)(a.z - r.z);
            to[3][i] = (float)(b.x - r.x);
            to[4][i] = (float)(b.y - r.y);
            to[5][i] = (float)(b.z - r.z);
            to[6][i] = (float)(c.x - r.x);
            to[7][i] = (float)(c.y - r.y);
            to[8][i] = (float)(c.z - r.z);
        }
    }
    for (size_t i = count; i < BLOCK && i % LANES; i++)
        for (int k = 0; k < COLUMNS; k++)
            columns[k][i] = 0;
}

/* The lanes, from `first` on in a block, whose pairs are not proven free. */
static inline unsigned find_survivors(int kind, float columns[COLUMNS][BLOCK], size_t first,
                                      wide reach, bool halves) {
    wide_frame ends[2];
    wide extent = v_all(0);
    for (int end = 0; end < 2; end++)
        for (int k = 0; k < 3; k++) {
            wide3 q = {v_load(columns[9 * end + 3 * k] + first),
                       v_load(columns[9 * end + 3 * k + 1] + first),
                       v_load(columns[9 * end + 3 * k + 2] + first)};
            ends[end].q[k] = q;
            extent = v_max(extent, v_max(v_abs(q.x), v_max(v_abs(q.y), v_abs(q.z))));
        }
    unsigned free = v_mask_bits(v_less(extent, v_all(EXTENT_MAX))) &
                    v_mask_bits(v_less(v_all(EXTENT_MIN), extent));
    if (halves) {
        free &= proven(kind, ends, extent, reach, direction(kind, ends, 0.25f), FIRST);
        if (free)
            free &= proven(kind, ends, extent, reach, direction(kind, ends, 0.75f), SECOND);
    } else {
        free &= proven(kind, ends, extent, reach, direction(kind, ends, 0.5f), WHOLE);
    }
    return ~free & ((1u << LANES) - 1);
}

static inline size_t filter_kind(int kind, const sweep_batch *batch, const uint32_t *list,
                                 size_t count, bool halves, uint32_t *survivors) {
    float columns[COLUMNS][BLOCK];
    size_t found = 0;
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t pairs = count - begin < BLOCK ? count - begin : BLOCK;
        gather_differences(batch, list, begin, pairs, columns);
        for (size_t first = 0; first < pairs; first += LANES) {
            unsigned left = find_survivors(kind, columns, first, v_all(batch->reach), halves);
            size_t lanes = pairs - first < LANES ? pairs - first : LANES;
            for (size_t i = 0; i < lanes; i++) {
                size_t pair = begin + first + i;
                uint32_t number = list ? list[pair] : (uint32_t)pair;
                survivors[found] = number;
                found += left >> i & 1;
            }
        }
    }
    return found;
}

static size_t filter_pairs(const sweep_batch *batch, const uint32_t *list, size_t count,
                           bool halves, uint32_t *survivors) {
    if (batch->kind == SWEEP_EDGE_EDGE)
        return filter_kind(SWEEP_EDGE_EDGE, batch, list, count, halves, survivors);
    return filter_kind(SWEEP_VERTEX_FACE, batch, list, count, halves, survivors);
}

/* A pointer, because gcc inlines less into a function with external linkage. */
sweep_filter_kernel *const BY_LANES(abuti_sweep_filter) = filter_pairs;
