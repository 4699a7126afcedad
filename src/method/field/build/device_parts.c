/* Data of a BVH on a device for fields: kernels, features. */
#include "field/build/device.h"

#include <math.h>

enum { SLICES_MAX = 64 };
#define CELLS_PER_TRIANGLE_MIN 0.5

/* ---- boundary ---- */

/* Without boundary the buffers are not accessed. */
static void upload_boundary(const bvh_on_device *bvh, field_parts *p) {
    const boundary_tree none = {0}, *tree = &none;
    if (!p->closed) {
        abuti_kit_fail(&p->kit, abuti_sign_boundary(bvh->bvh));
        if (abuti_kit_failed(&p->kit))
            return;
        tree = atomic_load(&bvh_sign_of(bvh->bvh)->boundary);
    }
    p->node_count = tree->node_count;
    abuti_kit_upload(&p->kit, FIELD_BOUNDARY_NODES, tree->nodes, tree->node_count,
                     sizeof *tree->nodes);
    abuti_kit_upload(&p->kit, FIELD_BOUNDARY_VERTICES, tree->vertices, tree->vertex_count,
                     sizeof *tree->vertices);
}

/* ---- lifetime ---- */

static const abuti_kernel_source sources[FIELD_KERNELS] = {
    [FIELD_SEED] = {"field_lists", "field_seed", NULL},
    [FIELD_TOP] = {"field_lists", "field_top", NULL},
    [FIELD_FILTER] = {"field_lists", "field_filter", NULL},
    [FIELD_CUT] = {"field_lists", "field_cut", NULL},
    [FIELD_CELLS] = {"field_cells", "field_cells", NULL},
    [FIELD_FEW_CELLS] = {"field_cells", "field_few", NULL},
    [FIELD_CROSS] = {"field_rows", "field_cross", NULL},
    [FIELD_SUM] = {"field_rows", "field_sum", NULL},
    [FIELD_SHIFTS] = {"field_sides", "field_shifts", NULL},
    [FIELD_SIDES] = {"field_sides", "field_sides", NULL},
    [FIELD_REST] = {"field_sides", "field_rest", NULL},
    [FIELD_RESOLVE] = {"field_resolve", "field_resolve", NULL},
    [FIELD_BRICKS] = {"field_resolve", "field_bricks", NULL},
};

static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = FIELD_KERNELS,
                                      .buffer_count = FIELD_MEMORIES};

/* Kernels of all fields, and additional ones for surfaces with boundary edges. */
static const uint32_t needed[] = {FIELD_TOP, FIELD_CELLS, FIELD_CROSS, FIELD_RESOLVE};
static const uint32_t needed_open[] = {FIELD_SIDES};
enum {
    NEEDED = sizeof needed / sizeof *needed,
    NEEDED_OPEN = sizeof needed_open / sizeof *needed_open
};

/* Returns the number of plans. */
static uint32_t add_plans(const uint32_t *kernels, uint32_t count, const char *options,
                          abuti_kit_plan *plans) {
    for (uint32_t i = 0; i < count; i++)
        plans[i] = (abuti_kit_plan){&table, options, kernels[i]};
    return count;
}

/* Assumes a BVH depth of at most 16, or 32 for large meshes. If this is wrong, programs are
 * compiled later with other options. */
void abuti_field_prepare(abut_device *device, uint32_t triangle_count) {
    char options[ABUTI_OPTIONS_BYTES];
    abuti_kit_plan plans[BVH_BUILDER_PLANS + NEEDED + 2];
    abuti_bvh_builder_plans(plans);
    uint32_t count = BVH_BUILDER_PLANS;
    abuti_device_options_of(device, triangle_count >> 20 ? 32 : 16, options);
    if (device->info.has_doubles) {
        count += add_plans(needed, NEEDED, options, plans + count);
        plans[count++] = abuti_device_features_plan(options);
    }
    plans[count++] = abuti_tools_plan();
    abuti_kit_prepare(device, plans, count);
}

static void prepare_programs(bvh_on_device *there, const char *options) {
    abuti_kit_plan plans[NEEDED + NEEDED_OPEN + 1];
    uint32_t count = add_plans(needed, NEEDED, options, plans);
    if (!bvh_sign_of(there->bvh)->closed)
        count += add_plans(needed_open, NEEDED_OPEN, options, plans + count);
    plans[count++] = abuti_device_features_plan(options);
    abuti_kit_prepare(there->queue.device, plans, count);
}

static abut_status create_parts(bvh_attachment *part, void *owner) {
    field_parts *p = (field_parts *)part;
    bvh_on_device *there = owner;
    char options[ABUTI_OPTIONS_BYTES];
    p->cells_min = CELLS_PER_TRIANGLE_MIN;
    p->slices_max = SLICES_MAX;
    abuti_device_options(there, options);
    prepare_programs(there, options);
    return abuti_kit_open(&there->queue, &table, options, &p->kit);
}

static abut_status invalidate_parts(bvh_attachment *part) {
    ((field_parts *)part)->is_ready = false;
    return ABUT_OK;
}

static void destroy_parts(bvh_attachment *part) {
    abuti_kit_close(&((field_parts *)part)->kit);
}

static const bvh_attachment_kind field_kind = {sizeof(field_parts), create_parts, invalidate_parts,
                                               destroy_parts};

abut_status abuti_field_parts(bvh_on_device *bvh, field_parts **parts) {
    bvh_attachment *part = NULL;
    sign_attachment *sign = NULL;
    abut_status status;
    if ((status = abuti_sign_on_device("abut_field_create", bvh, &sign)) ||
        (status = abuti_on_device_attachment(bvh, &field_kind, &part)))
        return status;
    field_parts *p = (field_parts *)part;
    /* signs may have been prepared again with another method */
    p->is_ready = p->is_ready && p->sign == sign && p->closed == sign->closed;
    p->sign = sign;
    p->closed = sign->closed;
    if (!p->is_ready) {
        upload_boundary(bvh, p); /* this waits for the queue, which is still empty */
        status = abuti_features_on_device(bvh, &p->features);
        if (status || (status = abuti_queue_report(p->kit.queue)))
            (void)abuti_kit_finish(&p->kit);
        p->is_ready = !status;
    }
    *parts = p;
    return status;
}
