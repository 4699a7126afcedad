/* The table of features as rows for the lists; see cells.h for what is asked of them. */
#include "field/build/cells.h"

#include <math.h>

enum { FEATURES_A_TASK = 4096 };

/* Makes a row of a record, in its place. */
static void make_row(feature_kind kind, bool marked, cells_row *row) {
    float *column = row->column;
    uint32_t bits;
    memcpy(&bits, &column[CELLS_OFFSET], sizeof bits);
    bits &= ~3u;
    memcpy(&column[CELLS_OFFSET], &bits, sizeof bits);
    if (kind == FEATURE_FACE)
        column[CELLS_OFFSET] = -column[CELLS_OFFSET];
    if (!marked)
        return;
    column[CELLS_THIRD_X] = column[CELLS_THIRD_Y] = column[CELLS_THIRD_Z] = 0;
    memset(column + CELLS_SECOND, 0, 3 * sizeof *column);
    if (kind == FEATURE_EDGE)
        return;
    memset(column + CELLS_FIRST, 0, 3 * sizeof *column);
    memset(column + CELLS_FOURTH, 0, 3 * sizeof *column);
}

static void rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    cells_table *table = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        feature_kind kind = feature_kind_of(&table->features.records[i]);
        make_row(kind, table->exact[i].is_marked > 0, &table->rows[i]);
    }
    size_t last = end == table->features.count ? table->stride : end; /* filled up */
    for (size_t i = begin; i < last; i++)
        for (size_t c = 0; c < CELLS_COLUMNS; c++)
            table->columns[c * table->stride + i] = table->rows[i < end ? i : end - 1].column[c];
}

abut_status abuti_cells_create(const abut_bvh *bvh, cells_table *table) {
    cells_table made = {.bvh = bvh};
    abut_context *context = bvh->context;
    abut_status status = abuti_features_create(bvh->mesh, bvh->scale, bvh->order, bvh->leaf_count,
                                               FEATURES_EXACT, &made.features);
    if (status)
        return status;
    _Static_assert(sizeof(cells_row) == sizeof(feature_record), "rows take the place of records");
    made.rows = (cells_row *)(void *)made.features.records;
    made.exact = made.features.exact;
    made.stride = cells_stride(made.features.count);
    made.columns = abuti_allocate(context, made.stride, CELLS_COLUMNS * sizeof *made.columns);
    status = made.columns ? abuti_parallel_try(context, "features", made.features.count,
                                               FEATURES_A_TASK, rows_task, &made)
                          : ABUT_ERROR_MEMORY;
    if (status)
        abuti_cells_destroy(&made);
    else
        *table = made;
    return status;
}

void abuti_cells_destroy(cells_table *table) {
    if (!table->bvh)
        return;
    abuti_release(table->bvh->context, table->columns);
    abuti_features_destroy(&table->features);
    memset(table, 0, sizeof *table);
}
