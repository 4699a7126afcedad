/* Preparation of a field for queries: the range of its values, and the view for interpolation. */
#include "field/field.h"

#include "base/simd.h"

#include <math.h>

enum { VALUES_PER_TASK = 1 << 18, TASKS_MAX = 256 };

bool abuti_field_range(const float *values, size_t count, float *lowest, float *highest) {
    enum { CHAINS = 4 }; /* independent chains hide the latency of one */
    f4 lo[CHAINS], hi[CHAINS], not_finite[CHAINS];
    for (int c = 0; c < CHAINS; c++) {
        lo[c] = f4_all(*lowest);
        hi[c] = f4_all(*highest);
        not_finite[c] = f4_all(0);
    }
    for (size_t i = 0; i < count; i += 4 * CHAINS) {
        float last[4 * CHAINS];
        const float *from = values + i;
        if (count - i < 4 * CHAINS) {
            for (size_t l = 0; l < 4 * CHAINS; l++)
                last[l] = values[l < count - i ? i + l : i];
            from = last;
        }
        for (int c = 0; c < CHAINS; c++) {
            f4 v = f4_load(from + 4 * c);
            lo[c] = f4_min(v, lo[c]);
            hi[c] = f4_max(v, hi[c]);
            not_finite[c] = f4_add(not_finite[c],
                                   f4_mul(v, f4_all(0))); /* NaN after a value that is not finite */
        }
    }
    bool finite = true;
    for (int c = 0; c < CHAINS; c++) {
        float each[3][4];
        f4_store(each[0], lo[c]);
        f4_store(each[1], hi[c]);
        f4_store(each[2], not_finite[c]);
        for (int l = 0; l < 4; l++) {
            *lowest = each[0][l] < *lowest ? each[0][l] : *lowest;
            *highest = each[1][l] > *highest ? each[1][l] : *highest;
            finite = finite && each[2][l] == 0;
        }
    }
    return finite;
}

bool abuti_field_values_range(const abut_field *field, const void *values, size_t count,
                              float *lowest, float *highest) {
    if (field->type == ABUT_FIELD_FLOAT)
        return abuti_field_range(values, count, lowest, highest);
    const int16_t *shorts = values;
    int16_t lo = INT16_MAX, hi = INT16_MIN;
    for (size_t i = 0; i < count; i++) {
        lo = shorts[i] < lo ? shorts[i] : lo;
        hi = shorts[i] > hi ? shorts[i] : hi;
    }
    float step = (float)field->step;
    if (count && (float)lo * step < *lowest)
        *lowest = (float)lo * step;
    if (count && (float)hi * step > *highest)
        *highest = (float)hi * step;
    return true;
}

void abuti_field_finish_with(abut_field *field, float lowest, float highest) {
    bool floats = field->type == ABUT_FIELD_FLOAT;
    field->view =
        (field_view){.floats = floats ? field->values : NULL,
                     .shorts = floats ? NULL : field->values,
                     .index = field->index,
                     .coarse = field->coarse,
                     .count = {field->grid.count[0], field->grid.count[1], field->grid.count[2]},
                     .bricks = {field->bricks[0], field->bricks[1], field->bricks[2]},
                     .cell = (float)field->grid.cell,
                     .scale = floats ? 1 : (float)field->step};
    field->lowest = lowest;
    field->highest = highest;
}

typedef struct ranges {
    const abut_field *field;
    float lowest[TASKS_MAX], highest[TASKS_MAX];
} ranges;

static void range_task(void *data, size_t chunk, size_t begin, size_t end) {
    ranges *r = data;
    const abut_field *field = r->field;
    float lowest = INFINITY, highest = -INFINITY;
    const unsigned char *values = field->values;
    abuti_field_values_range(field, values + begin * field_value_bytes(field), end - begin, &lowest,
                             &highest);
    r->lowest[chunk] = lowest;
    r->highest[chunk] = highest;
}

void abuti_field_finish(abut_field *field) {
    ranges r = {.field = field};
    size_t count = field->value_count, grain = count / TASKS_MAX + 1;
    float lowest = INFINITY, highest = -INFINITY;
    grain = grain < VALUES_PER_TASK ? VALUES_PER_TASK : grain;
    abuti_parallel_for(field->context, count, grain, range_task, &r);
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++) {
        lowest = r.lowest[i] < lowest ? r.lowest[i] : lowest;
        highest = r.highest[i] > highest ? r.highest[i] : highest;
    }
    const uint32_t *b = field->bricks;
    if (field->layout == ABUT_FIELD_SPARSE)
        abuti_field_range(field->coarse, ((size_t)b[0] + 1) * (b[1] + 1) * (b[2] + 1), &lowest,
                          &highest);
    abuti_field_finish_with(field, lowest, highest);
}
