/* The table of features: rows in floats for the lists, and places and directions in doubles. See
 * cells.h for what is asked of them. */
#include "field/cells.h"

#include <math.h>

enum { FEATURES_A_TASK = 4096 };

static vec3 position_of(const abut_bvh *bvh, uint32_t vertex) {
    return v3_scale(bvh->mesh->positions[vertex], bvh->scale);
}

/* The part of v across the unit vector u: twice, since the first rounding is relative to v. */
static vec3 across(vec3 v, vec3 u) {
    v = v3_along(v, -v3_dot(v, u), u);
    return v3_along(v, -v3_dot(v, u), u);
}

/* A place on the longest edge, and the normal. */
static void set_face(const abut_bvh *bvh, uint32_t triangle, vec3 *place, vec3 *normal) {
    vec3 c[3];
    double longest_sq = -1;
    uint32_t longest = 0;
    for (uint32_t k = 0; k < 3; k++)
        c[k] = position_of(bvh, bvh->mesh->indices[3 * (size_t)triangle + k]);
    for (uint32_t k = 0; k < 3; k++) {
        double sq = v3_length_sq(v3_sub(c[(k + 1) % 3], c[k]));
        if (sq > longest_sq) {
            longest_sq = sq;
            longest = k;
        }
    }
    vec3 a = c[longest], along = v3_normalise(v3_sub(c[(longest + 1) % 3], a));
    vec3 up = v3_normalise(across(v3_sub(c[(longest + 2) % 3], a), along));
    *place = a;
    *normal = v3_cross(along, up);
}

static void make_exact(const abut_bvh *bvh, const uint32_t ends[2], feature_kind kind, bool marked,
                       cells_exact *to) {
    vec3 place, vector = v3(0, 0, 0);
    if (kind == FEATURE_FACE) {
        set_face(bvh, ends[0], &place, &vector);
    } else {
        place = position_of(bvh, ends[0]);
        vector = v3_normalise(v3_sub(position_of(bvh, ends[1]), place));
    }
    cells_exact made = {{place.x, place.y, place.z},
                        {vector.x, vector.y, vector.z},
                        kind == FEATURE_FACE,
                        marked};
    *to = made;
}

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
        bool marked = kind == FEATURE_VERTEX || table->features.low_edge[i];
        make_exact(table->bvh, table->features.ends[i], kind, marked, &table->exact[i]);
        make_row(kind, marked, &table->rows[i]);
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
                                               false, &made.features);
    if (status)
        return status;
    _Static_assert(sizeof(cells_row) == sizeof(feature_record), "rows take the place of records");
    made.rows = (cells_row *)(void *)made.features.records;
    made.exact = abuti_allocate(context, made.features.count, sizeof *made.exact);
    made.stride = cells_stride(made.features.count);
    made.columns = abuti_allocate(context, made.stride, CELLS_COLUMNS * sizeof *made.columns);
    if (made.exact && made.columns) {
        abuti_parallel_for(context, made.features.count, FEATURES_A_TASK, rows_task, &made);
        *table = made;
    } else {
        abuti_cells_destroy(&made);
        status = ABUT_ERROR_MEMORY;
    }
    return status;
}

void abuti_cells_destroy(cells_table *table) {
    if (!table->bvh)
        return;
    abuti_release(table->bvh->context, table->exact);
    abuti_release(table->bvh->context, table->columns);
    abuti_features_destroy(&table->features);
    memset(table, 0, sizeof *table);
}
