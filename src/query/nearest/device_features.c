/* Features on a device: the host side of features.cl. */
#include "nearest/device.h"

enum { COUNT, LIST, SORT, FIRST, NUMBER, MAKE, INCIDENTS, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {
    [COUNT] = {"features", "features_count", NULL},
    [LIST] = {"features", "features_list", NULL},
    [SORT] = {"features", "features_sort", NULL},
    [FIRST] = {"features", "features_first", NULL},
    [NUMBER] = {"features", "features_number", NULL},
    [MAKE] = {"features", "features_make", NULL},
    [INCIDENTS] = {"features", "features_incidents", NULL},
};

static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = FEATURES_BUFFERS};

/* The arguments that most of its kernels begin with. */
#define SURFACE_RUN_ARGUMENTS                                                           \
    ABUTI_BUFFER(indices), ABUTI_BUFFER(&tree->order), FEATURE(f, PLACES),              \
        FEATURE(f, CORNER_BEGIN), FEATURE(f, CORNERS_OF), ABUTI_BUFFER(&tree->corners), \
        ABUTI_VALUE(origin.x), ABUTI_VALUE(origin.y), ABUTI_VALUE(origin.z),            \
        ABUTI_VALUE(tree->scale)

/* A BVH that was copied to the device has no indices there; uploads them. */
static const abuti_buffer *upload_indices(bvh_on_device *bvh, device_features *f) {
    const abut_mesh *mesh = bvh->tree.mesh;
    if (bvh->tree.indices.device)
        return &bvh->tree.indices;
    abuti_kit_upload(&f->kit, FEATURES_INDICES, mesh->indices, mesh->triangle_count,
                     3 * sizeof *mesh->indices);
    return &f->kit.buffers[FEATURES_INDICES];
}

/* Lists corners by vertices and determines the features. found[0]: the maximum number of corners of
 * a vertex. found[1]: the number of features, if found[0] is within the limit. */
static abut_status queue_numbering(bvh_on_device *bvh, device_features *f,
                                   const abuti_buffer *indices, uint32_t found[2]) {
    const abuti_bvh_device *tree = &bvh->tree;
    const uint32_t count = tree->triangle_count, vertices = tree->mesh->vertex_count;
    const uint32_t corners = 3 * count;
    const vec3 origin = tree->mesh->origin;
    abuti_kit *kit = &f->kit;
    abuti_kit_reserve(kit, FEATURES_PLACES, count, 4);
    abuti_kit_reserve(kit, FEATURES_HAS_FACE, count, 4);
    abuti_kit_reserve(kit, FEATURES_DEGREES, vertices, 4);
    abuti_kit_reserve(kit, FEATURES_CORNER_BEGIN, (size_t)vertices + 1, 4);
    abuti_kit_reserve(kit, FEATURES_CORNERS_OF, corners, 4);
    abuti_kit_reserve(kit, FEATURES_FIRST_BITS, count, 4);
    abuti_kit_reserve(kit, FEATURES_FIRST_SUMS, count, 4);
    abuti_kit_reserve(kit, FEATURES_FOUND, 2, 4);
    abuti_kit_fill(kit, FEATURES_DEGREES, 0, 4 * (size_t)vertices);
    abuti_kit_fill(kit, FEATURES_FOUND, 0, 8);
    abuti_buffer *at = kit->buffers;
    ABUTI_KIT_RUN(kit, COUNT, count, FEATURES_GROUP, ABUTI_BUFFER(indices),
                  ABUTI_BUFFER(&tree->order), ABUTI_BUFFER(&tree->corners), ABUTI_VALUE(origin.x),
                  ABUTI_VALUE(origin.y), ABUTI_VALUE(origin.z), ABUTI_VALUE(tree->scale),
                  ABUTI_VALUE(count), FEATURE(f, PLACES), FEATURE(f, HAS_FACE),
                  FEATURE(f, DEGREES));
    abuti_tools_scan(bvh->tools, &at[FEATURES_DEGREES], &at[FEATURES_CORNER_BEGIN], vertices,
                     &at[FEATURES_CORNER_BEGIN], vertices);
    ABUTI_KIT_RUN(kit, LIST, corners, FEATURES_GROUP, ABUTI_BUFFER(indices),
                  FEATURE(f, CORNER_BEGIN), ABUTI_VALUE(corners), FEATURE(f, DEGREES),
                  FEATURE(f, CORNERS_OF));
    ABUTI_KIT_RUN(kit, SORT, vertices, FEATURES_GROUP, FEATURE(f, CORNER_BEGIN),
                  ABUTI_VALUE(vertices), FEATURE(f, CORNERS_OF), FEATURE(f, FOUND));
    ABUTI_KIT_RUN(kit, FIRST, count, FEATURES_GROUP, SURFACE_RUN_ARGUMENTS, ABUTI_VALUE(count),
                  FEATURE(f, HAS_FACE), FEATURE(f, FOUND), FEATURE(f, FIRST_BITS),
                  FEATURE(f, FIRST_SUMS));
    abuti_tools_scan(bvh->tools, &at[FEATURES_FIRST_SUMS], &at[FEATURES_FIRST_SUMS], count,
                     &at[FEATURES_FOUND], 1);
    return abuti_kit_download(kit, FEATURES_FOUND, found, 2, sizeof *found);
}

static void queue_records(bvh_on_device *bvh, device_features *f, const abuti_buffer *indices) {
    const abuti_bvh_device *tree = &bvh->tree;
    const uint32_t count = tree->triangle_count, features = f->count;
    const vec3 origin = tree->mesh->origin;
    abuti_kit *kit = &f->kit;
    abuti_kit_reserve(kit, FEATURES_SOURCES, features, 4);
    abuti_kit_reserve(kit, FEATURES_RECORDS, features, sizeof(feature_record));
    abuti_kit_reserve(kit, FEATURES_EXACT, features, sizeof(feature_exact));
    abuti_kit_reserve(kit, FEATURES_INCIDENT_BEGIN, (size_t)features + 1, 4);
    abuti_kit_reserve(kit, FEATURES_INCIDENT_PLACES, 7 * (size_t)count, 4);
    ABUTI_KIT_RUN(kit, NUMBER, count, FEATURES_GROUP, FEATURE(f, FIRST_BITS),
                  FEATURE(f, FIRST_SUMS), ABUTI_VALUE(count), FEATURE(f, SOURCES));
    ABUTI_KIT_RUN(kit, MAKE, features, FEATURES_GROUP, SURFACE_RUN_ARGUMENTS, ABUTI_VALUE(features),
                  FEATURE(f, HAS_FACE), FEATURE(f, SOURCES), FEATURE(f, RECORDS), FEATURE(f, EXACT),
                  FEATURE(f, INCIDENT_BEGIN));
    abuti_buffer *begin = &kit->buffers[FEATURES_INCIDENT_BEGIN];
    abuti_tools_scan(bvh->tools, begin, begin, features, begin, features);
    ABUTI_KIT_RUN(kit, INCIDENTS, features, FEATURES_GROUP, SURFACE_RUN_ARGUMENTS,
                  ABUTI_VALUE(features), FEATURE(f, SOURCES), FEATURE(f, INCIDENT_BEGIN),
                  FEATURE(f, INCIDENT_PLACES));
}

static void compute_features(bvh_on_device *bvh, device_features *f) {
    uint32_t found[2];
    f->count = 0;
    if (bvh->tree.triangle_count > UINT32_MAX / 8)
        return;
    const abuti_buffer *indices = upload_indices(bvh, f);
    abut_status status = queue_numbering(bvh, f, indices, found);
    abuti_kit_fail(&f->kit, status);
    if (status || found[0] > FEATURES_DEGREE)
        return;
    f->count = found[1];
    queue_records(bvh, f, indices);
}

/* ---- lifetime ---- */

static abut_status create_features(bvh_attachment *attachment, void *owner) {
    return abuti_on_device_kit(owner, &table, &((device_features *)attachment)->kit);
}

static abut_status invalidate_features(bvh_attachment *attachment) {
    ((device_features *)attachment)->is_ready = false;
    return ABUT_OK;
}

static void destroy_features(bvh_attachment *attachment) {
    abuti_kit_close(&((device_features *)attachment)->kit);
}

static const bvh_attachment_kind features_kind = {sizeof(device_features), create_features,
                                                  invalidate_features, destroy_features};

abut_status abuti_features_on_device(bvh_on_device *there, device_features **features) {
    bvh_attachment *attachment = NULL;
    abut_status status = abuti_on_device_attachment(there, &features_kind, &attachment);
    if (status)
        return status;
    device_features *f = (device_features *)attachment;
    if (!f->is_ready) {
        compute_features(there, f);
        status = abuti_queue_report(f->kit.queue);
        if (status)
            (void)abuti_kit_finish(&f->kit);
        f->is_ready = !status;
    }
    *features = f;
    return status;
}

abuti_kit_plan abuti_device_features_plan(const char *options) {
    return (abuti_kit_plan){&table, options, COUNT};
}
