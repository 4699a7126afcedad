/* Sparse fields for the CPU that a device builds: the same values.
 *
 * Method: windows of the grid that have bricks are filled one after the other as dense fields
 * (device_build.c), no farther than values of bricks can be; the device then copies the bricks out
 * of the window, and only these come back. So memory goes with the window, and time with the part
 * of the grid that the surface passes through.
 */
#include "field/build/device.h"

#include <math.h>

enum {
    WINDOW = 24,          /* bricks along a side, at most: 29 MB of values */
    BRICKS_AT_ONCE = 2048 /* that come back together: 6 MB */
};

/* Bricks of a window, and what is needed to fetch them. */
typedef struct window {
    abut_field *field;
    bvh_on_device *there;
    field_parts *parts;
    abuti_buffer values, cells, bricks;
    uint32_t first[3], count[3]; /* bricks along each axis */
    uint32_t *cell_numbers, *brick_numbers;
    float *fetched;
    uint32_t fill; /* how many wait */
} window;

/* ---- corners ---- */

abut_status abuti_field_coarse_on(abut_field *field, const abut_bvh *bvh, bvh_on_device **there) {
    const abut_grid corners = field_corners(field);
    abuti_buffer values = {0};
    double least, most;
    abut_status status = abuti_bvh_there_copy(bvh, field->device, there);
    if (!status)
        status = abuti_device_field_check("abut_field_create", *there, &corners);
    if (!status)
        status = abuti_buffer_create(field->device, grid_cells(&corners), sizeof(float), &values);
    if (!status)
        status = abuti_device_field_fill(*there, &corners, NULL, INFINITY, &values, &least, &most);
    if (!status)
        status = abuti_buffer_download(&(*there)->queue, &values, 0, field->coarse,
                                       grid_cells(&corners) * sizeof *field->coarse);
    abuti_buffer_destroy(&values);
    return status ? status : abuti_progress(field->context, "field", 0.2);
}

/* ---- bricks ---- */

/* Shrinks the window to the bricks that are stored; false where there are none. */
static bool shrink(window *w) {
    uint32_t lo[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, hi[3] = {0, 0, 0}, b[3];
    for (b[2] = w->first[2]; b[2] < w->first[2] + w->count[2]; b[2]++)
        for (b[1] = w->first[1]; b[1] < w->first[1] + w->count[1]; b[1]++)
            for (b[0] = w->first[0]; b[0] < w->first[0] + w->count[0]; b[0]++) {
                size_t at = grid_at(w->field->bricks, b[0], b[1], b[2]);
                for (int k = 0; k < 3 && w->field->index[at] != ABUT_NONE; k++) {
                    lo[k] = b[k] < lo[k] ? b[k] : lo[k];
                    hi[k] = b[k] > hi[k] ? b[k] : hi[k];
                }
            }
    for (int k = 0; k < 3 && lo[0] != UINT32_MAX; k++) {
        w->first[k] = lo[k];
        w->count[k] = hi[k] - lo[k] + 1;
    }
    return lo[0] != UINT32_MAX;
}

/* Fetches the bricks that wait, out of a window of these cells. */
static abut_status fetch(window *w, const grid_argument *cells) {
    abuti_queue *queue = &w->there->queue;
    size_t bytes = (size_t)w->fill * FIELD_VALUES * sizeof *w->fetched;
    abut_status status = abuti_buffer_upload(queue, &w->cells, 0, w->cell_numbers,
                                             w->fill * sizeof *w->cell_numbers);
    if (!status)
        status =
            ABUTI_LAUNCH(queue, &w->parts->bricks, w->fill, FIELD_GROUP, ABUTI_BUFFER(&w->values),
                         ABUTI_VALUE(*cells), ABUTI_BUFFER(&w->cells), ABUTI_BUFFER(&w->bricks));
    if (!status)
        status = abuti_buffer_download(queue, &w->bricks, 0, w->fetched, bytes);
    for (uint32_t i = 0; !status && i < w->fill; i++)
        abuti_field_put(w->field, (size_t)w->brick_numbers[i] * FIELD_VALUES,
                        w->fetched + (size_t)i * FIELD_VALUES, FIELD_VALUES);
    w->fill = 0;
    return status;
}

static abut_status fetch_all(window *w, const uint32_t count[3]) {
    const grid_argument cells = {.count = {count[0], count[1], count[2]}};
    const uint32_t *bricks = w->field->bricks;
    abut_status status = ABUT_OK;
    for (uint32_t z = 0; z < w->count[2]; z++)
        for (uint32_t y = 0; y < w->count[1]; y++)
            for (uint32_t x = 0; x < w->count[0] && !status; x++) {
                uint32_t number =
                    w->field
                        ->index[grid_at(bricks, w->first[0] + x, w->first[1] + y, w->first[2] + z)];
                if (number == ABUT_NONE)
                    continue;
                w->brick_numbers[w->fill] = number;
                w->cell_numbers[w->fill++] =
                    (uint32_t)grid_at(count, FIELD_BRICK * x, FIELD_BRICK * y, FIELD_BRICK * z);
                if (w->fill == BRICKS_AT_ONCE)
                    status = fetch(w, &cells);
            }
    return status || !w->fill ? status : fetch(w, &cells);
}

static abut_status fill_window(window *w, double reach) {
    abut_grid part = w->field->grid;
    uint32_t first[3];
    double least, most;
    for (int k = 0; k < 3; k++) {
        part.count[k] = FIELD_BRICK * w->count[k] + 1;
        first[k] = FIELD_BRICK * w->first[k];
    }
    abut_status status =
        abuti_buffer_reserve(w->field->device, grid_cells(&part), sizeof(float), &w->values);
    if (!status)
        status = abuti_device_field_fill(w->there, &part, first, reach, &w->values, &least, &most);
    return status ? status : fetch_all(w, part.count);
}

static abut_status make_room(window *w) {
    abut_context *context = w->field->context;
    w->cell_numbers = abuti_allocate(context, BRICKS_AT_ONCE, sizeof *w->cell_numbers);
    w->brick_numbers = abuti_allocate(context, BRICKS_AT_ONCE, sizeof *w->brick_numbers);
    w->fetched = abuti_allocate(context, (size_t)BRICKS_AT_ONCE * FIELD_VALUES, sizeof *w->fetched);
    if (!w->cell_numbers || !w->brick_numbers || !w->fetched)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_field_parts(w->there, &w->parts);
    if (!status)
        status = abuti_buffer_create(w->field->device, BRICKS_AT_ONCE, sizeof *w->cell_numbers,
                                     &w->cells);
    if (!status)
        status = abuti_buffer_create(w->field->device, (size_t)BRICKS_AT_ONCE * FIELD_VALUES,
                                     sizeof *w->fetched, &w->bricks);
    return status;
}

static abut_status fill_windows(window *w, double reach) {
    const uint32_t *bricks = w->field->bricks;
    uint32_t along[3];
    size_t all = 1;
    abut_status status = ABUT_OK;
    for (int k = 0; k < 3; k++) {
        along[k] = (bricks[k] + WINDOW - 1) / WINDOW;
        all *= along[k];
    }
    for (size_t i = 0; i < all && !status; i++) {
        const size_t place[3] = {i % along[0], i / along[0] % along[1], i / along[0] / along[1]};
        for (int k = 0; k < 3; k++) {
            w->first[k] = (uint32_t)place[k] * WINDOW;
            w->count[k] = bricks[k] - w->first[k] < WINDOW ? bricks[k] - w->first[k] : WINDOW;
        }
        if (shrink(w))
            status = fill_window(w, reach);
        if (!status)
            status = abuti_progress(w->field->context, "field",
                                    0.2 + 0.8 * (double)(i + 1) / (double)all);
    }
    return status;
}

abut_status abuti_field_bricks_on(abut_field *field, bvh_on_device *there, double reach) {
    window w = {.field = field, .there = there};
    abut_status status = make_room(&w);
    status = status ? status : fill_windows(&w, reach);
    abuti_buffer_destroy(&w.values);
    abuti_buffer_destroy(&w.cells);
    abuti_buffer_destroy(&w.bricks);
    abuti_release(field->context, w.cell_numbers);
    abuti_release(field->context, w.brick_numbers);
    abuti_release(field->context, w.fetched);
    return status;
}
