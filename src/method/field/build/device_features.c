/* Host side of field_features.cl. */
#include "field/build/device.h"

#define MEMORY(which) KIT_BUFFER(&p->kit, which)

/* The arguments that most of its kernels begin with. */
#define SURFACE_KERNEL_ARGUMENTS                                                            \
    ABUTI_BUFFER(indices), ABUTI_BUFFER(&tree->order), MEMORY(FIELD_PLACES),                \
        MEMORY(FIELD_CORNER_BEGIN), MEMORY(FIELD_CORNERS_OF), ABUTI_BUFFER(&tree->corners), \
        ABUTI_VALUE(origin.x), ABUTI_VALUE(origin.y), ABUTI_VALUE(origin.z),                \
        ABUTI_VALUE(tree->scale)

/* A BVH that was copied to the device has no indices there; uploads them. */
static const abuti_buffer *upload_indices(bvh_on_device *bvh, field_parts *p) {
    const abut_mesh *mesh = bvh->tree.mesh;
    if (bvh->tree.indices.device)
        return &bvh->tree.indices;
    abuti_kit_upload(&p->kit, FIELD_INDICES, mesh->indices, mesh->triangle_count,
                     3 * sizeof *mesh->indices);
    return &p->kit.buffers[FIELD_INDICES];
}

/* Lists corners by vertices and determines the features. found[0]: the maximum number of corners of
 * a vertex. found[1]: the number of features, if found[0] is within the limit. */
static abut_status queue_numbering(bvh_on_device *bvh, field_parts *p, const abuti_buffer *indices,
                                   uint32_t found[2]) {
    const abuti_bvh_device *tree = &bvh->tree;
    const uint32_t count = tree->triangle_count, vertices = tree->mesh->vertex_count;
    const uint32_t corners = 3 * count;
    const vec3 origin = tree->mesh->origin;
    abuti_kit *kit = &p->kit;
    abuti_kit_reserve(kit, FIELD_PLACES, count, 4);
    abuti_kit_reserve(kit, FIELD_HAS_FACE, count, 4);
    abuti_kit_reserve(kit, FIELD_DEGREES, vertices, 4);
    abuti_kit_reserve(kit, FIELD_CORNER_BEGIN, (size_t)vertices + 1, 4);
    abuti_kit_reserve(kit, FIELD_CORNERS_OF, corners, 4);
    abuti_kit_reserve(kit, FIELD_FIRST_BITS, count, 4);
    abuti_kit_reserve(kit, FIELD_FIRST_SUMS, count, 4);
    abuti_kit_reserve(kit, FIELD_FOUND, 2, 4);
    abuti_kit_fill(kit, FIELD_DEGREES, 0, 4 * (size_t)vertices);
    abuti_kit_fill(kit, FIELD_FOUND, 0, 8);
    abuti_buffer *at = kit->buffers;
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_COUNT, count, FIELD_GROUP, ABUTI_BUFFER(indices),
                  ABUTI_BUFFER(&tree->order), ABUTI_BUFFER(&tree->corners), ABUTI_VALUE(origin.x),
                  ABUTI_VALUE(origin.y), ABUTI_VALUE(origin.z), ABUTI_VALUE(tree->scale),
                  ABUTI_VALUE(count), MEMORY(FIELD_PLACES), MEMORY(FIELD_HAS_FACE),
                  MEMORY(FIELD_DEGREES));
    abuti_tools_scan(bvh->tools, &at[FIELD_DEGREES], &at[FIELD_CORNER_BEGIN], vertices,
                     &at[FIELD_CORNER_BEGIN], vertices);
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_LIST, corners, FIELD_GROUP, ABUTI_BUFFER(indices),
                  MEMORY(FIELD_CORNER_BEGIN), ABUTI_VALUE(corners), MEMORY(FIELD_DEGREES),
                  MEMORY(FIELD_CORNERS_OF));
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_SORT, vertices, FIELD_GROUP, MEMORY(FIELD_CORNER_BEGIN),
                  ABUTI_VALUE(vertices), MEMORY(FIELD_CORNERS_OF), MEMORY(FIELD_FOUND));
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_FIRST, count, FIELD_GROUP, SURFACE_KERNEL_ARGUMENTS,
                  ABUTI_VALUE(count), MEMORY(FIELD_HAS_FACE), MEMORY(FIELD_FOUND),
                  MEMORY(FIELD_FIRST_BITS), MEMORY(FIELD_FIRST_SUMS));
    abuti_tools_scan(bvh->tools, &at[FIELD_FIRST_SUMS], &at[FIELD_FIRST_SUMS], count,
                     &at[FIELD_FOUND], 1);
    return abuti_kit_download(kit, FIELD_FOUND, found, 2, sizeof *found);
}

static void queue_records(bvh_on_device *bvh, field_parts *p, const abuti_buffer *indices) {
    const abuti_bvh_device *tree = &bvh->tree;
    const uint32_t count = tree->triangle_count, features = p->feature_count;
    const vec3 origin = tree->mesh->origin;
    abuti_kit *kit = &p->kit;
    abuti_kit_reserve(kit, FIELD_SOURCES, features, 4);
    abuti_kit_reserve(kit, FIELD_RECORDS, features, sizeof(feature_record));
    abuti_kit_reserve(kit, FIELD_EXACT, features, sizeof(feature_exact));
    abuti_kit_reserve(kit, FIELD_INCIDENT_BEGIN, (size_t)features + 1, 4);
    abuti_kit_reserve(kit, FIELD_INCIDENTS, 7 * (size_t)count, 4);
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_NUMBER, count, FIELD_GROUP, MEMORY(FIELD_FIRST_BITS),
                  MEMORY(FIELD_FIRST_SUMS), ABUTI_VALUE(count), MEMORY(FIELD_SOURCES));
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_MAKE, features, FIELD_GROUP, SURFACE_KERNEL_ARGUMENTS,
                  ABUTI_VALUE(features), MEMORY(FIELD_HAS_FACE), MEMORY(FIELD_SOURCES),
                  MEMORY(FIELD_RECORDS), MEMORY(FIELD_EXACT), MEMORY(FIELD_INCIDENT_BEGIN));
    abuti_buffer *begin = &kit->buffers[FIELD_INCIDENT_BEGIN];
    abuti_tools_scan(bvh->tools, begin, begin, features, begin, features);
    ABUTI_KIT_RUN(kit, FIELD_FEATURES_INCIDENTS, features, FIELD_GROUP, SURFACE_KERNEL_ARGUMENTS,
                  ABUTI_VALUE(features), MEMORY(FIELD_SOURCES), MEMORY(FIELD_INCIDENT_BEGIN),
                  MEMORY(FIELD_INCIDENTS));
}

void abuti_field_features(bvh_on_device *bvh, field_parts *p) {
    uint32_t found[2];
    p->feature_count = 0;
    if (bvh->tree.triangle_count > UINT32_MAX / 8)
        return;
    const abuti_buffer *indices = upload_indices(bvh, p);
    abut_status status = queue_numbering(bvh, p, indices, found);
    abuti_kit_fail(&p->kit, status);
    if (status || found[0] > FEATURES_DEGREE)
        return;
    p->feature_count = found[1];
    queue_records(bvh, p, indices);
}
