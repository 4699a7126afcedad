/* Storage of fields that a device builds: dense floats stay on the device, other fields are
 * downloaded.
 *
 * Dense fields with 16 bits are downloaded in slabs. For sparse fields, windows of the grid that
 * contain bricks are filled one after the other as dense fields (device_build.c), up to the largest
 * possible value in a brick. The device copies the bricks out of the window, and only these are
 * downloaded. So memory is proportional to the window, and time to the part of the grid that the
 * surface intersects.
 */
#include "field/build/device.h"
#include "sign/sign.h"

#include <math.h>

enum {
    WINDOW_BRICKS = 24,         /* maximum bricks along a side: 29 MB of values */
    BRICKS_PER_DOWNLOAD = 2048, /* bricks per download: 6 MB */
    SLAB_CELLS = 1 << 20
};

/* ---- BVH on the device ---- */

/* Returns the device data of the BVH, or a copy if the BVH is not on this device. */
static abut_status open_device_bvh(const abut_bvh *bvh, abut_device *device,
                                   bvh_on_device **there) {
    if (!bvh->there || bvh->there->queue.device != device)
        return abuti_bvh_upload_device_side(bvh, device, there);
    *there = bvh->there;
    return abuti_bvh_check_on_device("abut_field_create", bvh);
}

static void close_device_bvh(const abut_bvh *bvh, bvh_on_device *there) {
    if (there != bvh->there)
        abuti_bvh_destroy_on_device(there);
}

bool abuti_field_fits_on_device(const abut_bvh *bvh) {
    return bvh->there && on_device_has_doubles(bvh->there) &&
           (bvh_sign_of(bvh)->closed || bvh->there->queue.device->info.same_bits);
}

/* Fails for devices that do not return the values of the CPU, and for grids that are too large. */
static abut_status check_device_and_grid(const bvh_on_device *there, const abut_grid *grid) {
    const abut_device_info *info = &there->queue.device->info;
    double cells = (double)grid->count[0] * grid->count[1] * grid->count[2];
    if (!on_device_has_doubles(there))
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "abut_field_create: %s does not support doubles, which exact values "
                          "need; set options->device to null",
                          info->name);
    if (!bvh_sign_of(there->bvh)->closed && !info->same_bits)
        return abuti_fail(
            ABUT_ERROR_DEVICE,
            "abut_field_create: the surface has boundary edges, and float rounding of %s differs "
            "from the CPU, so winding numbers would differ; set options->device to null",
            info->name);
    if (cells >= UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_field_create: %u x %u x %u cells would need %.3g GiB on the "
                          "device, which supports at most 2^32 cells; use larger cells",
                          grid->count[0], grid->count[1], grid->count[2], cells * 4 / 0x1p30);
    return ABUT_OK;
}

/* ---- dense ---- */

/* Computes the device values of a field. */
static abut_status fill_device_values(abut_field *field, bvh_on_device *there) {
    double lowest, highest;
    abut_status status = abuti_device_field_fill(there, &field->grid, NULL, field->band,
                                                 &field->there->memory, &lowest, &highest);
    if (!status)
        abuti_field_finish_with(field, (float)lowest, (float)highest);
    return status ? status : abuti_progress(field->context, "field", 1);
}

static abut_status build_on_device(abut_field *field, bvh_on_device *there) {
    size_t bytes = field->value_count * sizeof(float);
    abut_status status = abut_buffer_create(there->queue.device, bytes, &field->there);
    return status ? status : fill_device_values(field, there);
}

static abut_status build_and_download(abut_field *field, bvh_on_device *there) {
    size_t cells = field->value_count, most = cells < SLAB_CELLS ? cells : SLAB_CELLS;
    double lowest, highest; /* of the floats; the caller finds those of the stored integers */
    field_parts *p;
    float *slab = abuti_allocate(field->context, most, sizeof *slab);
    field->values = abuti_allocate(field->context, cells, field_value_bytes(field));
    abut_status status = slab && field->values ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_field_parts(there, &p);
    if (!status) {
        abuti_kit_reserve(&p->kit, FIELD_WINDOW, cells, sizeof *slab);
        status = abuti_device_field_fill(there, &field->grid, NULL, field->band,
                                         &p->kit.buffers[FIELD_WINDOW], &lowest, &highest);
    }
    for (size_t first = 0; first < cells && !status; first += most) {
        size_t count = cells - first < most ? cells - first : most;
        status = abuti_kit_read(&p->kit, FIELD_WINDOW, first, slab, count, sizeof *slab);
        if (!status)
            abuti_field_store(field, first, slab, count);
    }
    abuti_release(field->context, slab);
    return status ? status : abuti_progress(field->context, "field", 1);
}

static abut_status build_dense(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                               const unsigned char *known) {
    bvh_on_device *there = NULL;
    (void)old; /* old values on a device are updated in place, see below */
    (void)known;
    abut_status status = open_device_bvh(bvh, field->device, &there);
    if (!status)
        status = check_device_and_grid(there, &field->grid);
    if (!status)
        status = field_can_stay_on_device(field) ? build_on_device(field, there)
                                                 : build_and_download(field, there);
    close_device_bvh(bvh, there);
    return status;
}

/* Updates in place, since device memory may not suffice for old and new values. */
static abut_status update_in_place(abut_field *field, const abut_bvh *bvh, uint64_t *recomputed) {
    bvh_on_device *there = NULL;
    field_parts *parts; /* created while the old values are still valid */
    abut_status status = open_device_bvh(bvh, field->there->memory.device, &there);
    if (!status)
        status = check_device_and_grid(there, &field->grid);
    if (!status)
        status = abuti_field_parts(there, &parts);
    if (!status) {
        abuti_field_invalidate_host(field);
        status = fill_device_values(field, there);
        field->broken = status != ABUT_OK;
    }
    close_device_bvh(bvh, there);
    if (status)
        return status;
    abut_mesh *old = field->mesh;
    field->mesh = abut_mesh_retain(bvh->mesh);
    field->has_digest = false; /* it was that of the old mesh */
    field->closed = bvh_sign_of(bvh)->closed;
    abut_sign_info sign = abut_sign_info_default();
    abut_sign_get_info(bvh, &sign);
    field->reliability = sign.reliability;
    abut_mesh_destroy(old);
    *recomputed = 1;
    for (int axis = 0; axis < 3; axis++)
        *recomputed *= groups_of(field->grid.count[axis], FIELD_BRICK);
    return ABUT_OK;
}

/* ---- sparse ---- */

/* A window of bricks, and the buffers for their download. */
typedef struct window {
    abut_field *field;
    bvh_on_device *there;
    field_parts *parts;
    uint32_t first[3], count[3]; /* first brick and number of bricks along each axis */
    uint32_t *cell_numbers, *brick_numbers;
    float *downloaded;
    uint32_t fill; /* bricks collected for the next download */
} window;

static abut_status begin_sparse(abut_field *field, const abut_bvh *bvh, void **work) {
    bvh_on_device *there = NULL;
    const abut_grid corners = field_corners(field);
    abut_status status = open_device_bvh(bvh, field->device, &there);
    *work = there;
    return status ? status : check_device_and_grid(there, &corners);
}

static void end_sparse(abut_field *field, const abut_bvh *bvh, void *work) {
    (void)field;
    close_device_bvh(bvh, work);
}

static abut_status build_corners(abut_field *field, const abut_bvh *bvh, void *work) {
    const abut_grid corners = field_corners(field);
    size_t count = grid_cells(&corners);
    double lowest, highest;
    field_parts *p;
    abut_status status = abuti_field_parts(work, &p);
    (void)bvh;
    if (status)
        return status;
    abuti_kit_reserve(&p->kit, FIELD_WINDOW, count, sizeof *field->coarse);
    status = abuti_device_field_fill(work, &corners, NULL, INFINITY, &p->kit.buffers[FIELD_WINDOW],
                                     &lowest, &highest);
    if (!status)
        status =
            abuti_kit_download(&p->kit, FIELD_WINDOW, field->coarse, count, sizeof *field->coarse);
    return status ? status : abuti_progress(field->context, "field", 0.2);
}

/* Shrinks the window to the stored bricks. Returns false if there are none. */
static bool shrink_window(window *w) {
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

/* Downloads the collected bricks from a window with these cells. */
static abut_status download_bricks(window *w, const field_grid *cells) {
    field_parts *p = w->parts;
    size_t values = (size_t)w->fill * FIELD_VALUES;
    abuti_kit_upload(&p->kit, FIELD_BRICK_CELLS, w->cell_numbers, w->fill, sizeof *w->cell_numbers);
    abuti_kit_reserve(&p->kit, FIELD_BRICK_VALUES, values, sizeof *w->downloaded);
    ABUTI_KIT_RUN(&p->kit, FIELD_BRICKS, (size_t)w->fill * FIELD_GROUP, FIELD_GROUP,
                  KIT_BUFFER(&p->kit, FIELD_WINDOW), ABUTI_VALUE(*cells),
                  KIT_BUFFER(&p->kit, FIELD_BRICK_CELLS), KIT_BUFFER(&p->kit, FIELD_BRICK_VALUES));
    abut_status status = abuti_kit_download(&p->kit, FIELD_BRICK_VALUES, w->downloaded, values,
                                            sizeof *w->downloaded);
    for (uint32_t i = 0; !status && i < w->fill; i++)
        abuti_field_store(w->field, (size_t)w->brick_numbers[i] * FIELD_VALUES,
                          w->downloaded + (size_t)i * FIELD_VALUES, FIELD_VALUES);
    w->fill = 0;
    return status;
}

static abut_status download_window(window *w, const uint32_t count[3]) {
    const field_grid cells = {.count = {count[0], count[1], count[2]}};
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
                if (w->fill == BRICKS_PER_DOWNLOAD)
                    status = download_bricks(w, &cells);
            }
    return status || !w->fill ? status : download_bricks(w, &cells);
}

static abut_status fill_window(window *w, double reach) {
    abut_grid part = w->field->grid;
    uint32_t first[3];
    double lowest, highest;
    for (int k = 0; k < 3; k++) {
        part.count[k] = FIELD_BRICK * w->count[k] + 1;
        first[k] = FIELD_BRICK * w->first[k];
    }
    abuti_kit *kit = &w->parts->kit;
    abuti_kit_reserve(kit, FIELD_WINDOW, grid_cells(&part), sizeof(float));
    abut_status status = abuti_device_field_fill(w->there, &part, first, reach,
                                                 &kit->buffers[FIELD_WINDOW], &lowest, &highest);
    return status ? status : download_window(w, part.count);
}

static abut_status reserve_window(window *w) {
    abut_context *context = w->field->context;
    w->cell_numbers = abuti_allocate(context, BRICKS_PER_DOWNLOAD, sizeof *w->cell_numbers);
    w->brick_numbers = abuti_allocate(context, BRICKS_PER_DOWNLOAD, sizeof *w->brick_numbers);
    w->downloaded =
        abuti_allocate(context, (size_t)BRICKS_PER_DOWNLOAD * FIELD_VALUES, sizeof *w->downloaded);
    if (!w->cell_numbers || !w->brick_numbers || !w->downloaded)
        return ABUT_ERROR_MEMORY;
    return abuti_field_parts(w->there, &w->parts);
}

static abut_status fill_windows(window *w, double reach) {
    const uint32_t *bricks = w->field->bricks;
    uint32_t along[3];
    size_t all = 1;
    abut_status status = ABUT_OK;
    for (int k = 0; k < 3; k++) {
        along[k] = (bricks[k] + WINDOW_BRICKS - 1) / WINDOW_BRICKS;
        all *= along[k];
    }
    for (size_t i = 0; i < all && !status; i++) {
        const size_t place[3] = {i % along[0], i / along[0] % along[1], i / along[0] / along[1]};
        for (int k = 0; k < 3; k++) {
            w->first[k] = (uint32_t)place[k] * WINDOW_BRICKS;
            w->count[k] =
                bricks[k] - w->first[k] < WINDOW_BRICKS ? bricks[k] - w->first[k] : WINDOW_BRICKS;
        }
        if (shrink_window(w))
            status = fill_window(w, reach);
        if (!status)
            status = abuti_progress(w->field->context, "field",
                                    0.2 + 0.8 * (double)(i + 1) / (double)all);
    }
    return status;
}

static abut_status build_bricks(abut_field *field, const abut_bvh *bvh, void *work, double reach) {
    window w = {.field = field, .there = work};
    abut_status status = reserve_window(&w);
    (void)bvh;
    if (!status)
        status = fill_windows(&w, reach);
    ABUTI_RELEASE(field->context, w.cell_numbers, w.brick_numbers, w.downloaded);
    return status;
}

const field_builder abuti_field_on_device = {.dense = build_dense,
                                             .begin = begin_sparse,
                                             .corners = build_corners,
                                             .bricks = build_bricks,
                                             .end = end_sparse,
                                             .update = update_in_place};
