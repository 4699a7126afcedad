/* Getting a field ready to be asked: the range of its values, and the view for interpolation. */
#include "field/field.h"

#include "base/simd.h"

#include <math.h>

enum { VALUES_A_TASK = 1 << 18, TASKS_MOST = 256 };

bool abuti_field_range(const float *values, size_t count, float *least, float *most) {
    f4 lo = f4_all(*least), hi = f4_all(*most), odd = f4_all(0);
    for (size_t i = 0; i < count; i += 4) {
        float last[4];
        for (size_t l = 0; count - i < 4 && l < 4; l++)
            last[l] = values[l < count - i ? i + l : i];
        f4 v = f4_load(count - i < 4 ? last : values + i);
        lo = f4_min(v, lo);
        hi = f4_max(v, hi);
        odd = f4_add(odd, f4_mul(v, f4_all(0))); /* 0, or NaN once a value is not finite */
    }
    float each[3][4];
    f4_store(each[0], lo);
    f4_store(each[1], hi);
    f4_store(each[2], odd);
    bool finite = true;
    for (int l = 0; l < 4; l++) {
        *least = each[0][l] < *least ? each[0][l] : *least;
        *most = each[1][l] > *most ? each[1][l] : *most;
        finite = finite && each[2][l] == 0;
    }
    return finite;
}

typedef struct ranges {
    const abut_field *field;
    float least[TASKS_MOST], most[TASKS_MOST];
} ranges;

static void range_task(void *data, size_t chunk, size_t begin, size_t end) {
    ranges *r = data;
    const abut_field *field = r->field;
    float least = INFINITY, most = -INFINITY;
    if (field->type == ABUT_FIELD_FLOAT) {
        abuti_field_range((const float *)field->values + begin, end - begin, &least, &most);
    } else {
        const int16_t *values = field->values;
        int16_t low = INT16_MAX, high = INT16_MIN;
        for (size_t i = begin; i < end; i++) {
            low = values[i] < low ? values[i] : low;
            high = values[i] > high ? values[i] : high;
        }
        least = (float)low * (float)field->step;
        most = (float)high * (float)field->step;
    }
    r->least[chunk] = least;
    r->most[chunk] = most;
}

static void find_range(abut_field *field) {
    ranges r = {.field = field};
    size_t count = field->value_count, grain = count / TASKS_MOST + 1;
    float least = INFINITY, most = -INFINITY;
    grain = grain < VALUES_A_TASK ? VALUES_A_TASK : grain;
    abuti_parallel_for(field->context, count, grain, range_task, &r);
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++) {
        least = r.least[i] < least ? r.least[i] : least;
        most = r.most[i] > most ? r.most[i] : most;
    }
    const uint32_t *b = field->bricks;
    if (field->layout == ABUT_FIELD_SPARSE)
        abuti_field_range(field->coarse, ((size_t)b[0] + 1) * (b[1] + 1) * (b[2] + 1), &least,
                          &most);
    field->least = least;
    field->most = most;
}

void abuti_field_finish(abut_field *field) {
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
    find_range(field);
}
