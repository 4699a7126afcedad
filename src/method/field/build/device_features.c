/* Host side of field_features.cl, and the computation of features on the host. */
#include "field/build/device.h"

enum { FEATURES_PER_TASK = 4096 };

#define MEMORY(which) KIT_BUFFER(&p->kit, which)

/* ---- on the device ---- */

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

/* Returns whether the features were computed, provided that nothing failed. */
static bool compute_on_device(bvh_on_device *bvh, field_parts *p) {
    uint32_t found[2];
    if (bvh->tree.triangle_count > UINT32_MAX / 8)
        return false;
    const abuti_buffer *indices = upload_indices(bvh, p);
    abut_status status = queue_numbering(bvh, p, indices, found);
    abuti_kit_fail(&p->kit, status);
    if (status || found[0] > p->degree_max)
        return false;
    p->feature_count = found[1];
    queue_records(bvh, p, indices);
    return true;
}

/* ---- on the host ---- */

typedef struct exact_job {
    const abut_mesh *mesh;
    double scale;
    const abuti_features *features;
    const uint32_t *order;   /* triangles in BVH order */
    unsigned char *has_face; /* for each triangle */
    feature_exact *to;
} exact_job;

static void store_vectors(feature_exact *e, vec3 place, vec3 direction) {
    e->place[0] = place.x;
    e->place[1] = place.y;
    e->place_z = place.z;
    e->direction[0] = direction.x;
    e->direction[1] = direction.y;
    e->direction_z = direction.z;
}

static vec3 normal_of(const exact_job *m, uint32_t triangle) {
    vec3 corner[3];
    for (size_t k = 0; k < 3; k++)
        corner[k] =
            v3_scale(m->mesh->positions[m->mesh->indices[3 * (size_t)triangle + k]], m->scale);
    return face_normal_of(corner);
}

static void exact_task(void *data, size_t chunk, size_t begin, size_t end) {
    const exact_job *m = data;
    const abuti_features *features = m->features;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        feature_exact *e = &m->to[i];
        const uint32_t source = feature_source(features, (uint32_t)i);
        const feature_kind kind = feature_kind_of(&features->records[i]);
        uint32_t ends[2] = {source, source};
        memset(e, 0, sizeof *e);
        for (uint32_t k = features->incident_begin[i]; k < features->incident_begin[i + 1]; k++)
            if (!m->has_face[m->order[features->incidents[k]]])
                e->is |= FIELD_IS_LOW;
        if (kind == FEATURE_FACE) {
            e->is |= FIELD_IS_FACE;
            e->triangle = source;
            store_vectors(e, abuti_mesh_position(m->mesh, m->mesh->indices[3 * (size_t)source]),
                          normal_of(m, source));
            continue;
        }
        if (kind == FEATURE_EDGE)
            feature_ends(m->mesh->indices, source, ends);
        vec3 way =
            v3_scale(v3_sub(m->mesh->positions[ends[1]], m->mesh->positions[ends[0]]), m->scale);
        e->length = v3_length(way);
        store_vectors(e, abuti_mesh_position(m->mesh, ends[0]),
                      e->length > 0 ? v3_normalise(way) : v3(0, 0, 0));
    }
}

static void upload_exact(bvh_on_device *bvh, field_parts *p, const abuti_features *features,
                         const uint32_t *order) {
    abut_mesh *mesh = bvh->tree.mesh;
    exact_job m = {mesh, bvh->tree.scale, features, order, NULL, NULL};
    m.has_face = abuti_allocate_zeroed(bvh->context, mesh->triangle_count, 1);
    m.to = abuti_allocate(bvh->context, features->count, sizeof *m.to);
    if (m.has_face && m.to) {
        for (uint32_t i = 0; i < features->count; i++)
            if (feature_kind_of(&features->records[i]) == FEATURE_FACE)
                m.has_face[feature_source(features, i)] = 1;
        abuti_parallel_for(bvh->context, features->count, FEATURES_PER_TASK, exact_task, &m);
        abuti_kit_upload(&p->kit, FIELD_EXACT, m.to, features->count, sizeof *m.to);
    } else {
        abuti_kit_fail(&p->kit, ABUT_ERROR_MEMORY);
    }
    ABUTI_RELEASE(bvh->context, m.has_face, m.to);
}

static void compute_on_host(bvh_on_device *bvh, field_parts *p) {
    abuti_kit *kit = &p->kit;
    size_t places = (size_t)bvh->tree.leaf_count * BVH_WIDTH;
    abuti_features features = {0};
    uint32_t *order = abuti_allocate(bvh->context, places, sizeof *order);
    abut_status status = order ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status =
            abuti_buffer_download(&bvh->queue, &bvh->tree.order, 0, order, places * sizeof *order);
    if (!status)
        status = abuti_features_create(bvh->tree.mesh, bvh->tree.scale, order, bvh->tree.leaf_count,
                                       FEATURES_INCIDENTS, &features);
    abuti_kit_fail(kit, status);
    if (!abuti_kit_failed(kit)) {
        p->feature_count = features.count;
        abuti_kit_upload(kit, FIELD_RECORDS, features.records, features.count,
                         sizeof *features.records);
        abuti_kit_upload(kit, FIELD_INCIDENT_BEGIN, features.incident_begin,
                         (size_t)features.count + 1, sizeof *features.incident_begin);
        abuti_kit_upload(kit, FIELD_INCIDENTS, features.incidents, features.incident_count,
                         sizeof *features.incidents);
        upload_exact(bvh, p, &features, order);
    }
    abuti_features_destroy(&features);
    abuti_release(bvh->context, order);
}

void abuti_field_features(bvh_on_device *bvh, field_parts *p) {
    if (!compute_on_device(bvh, p) && !abuti_kit_failed(&p->kit))
        compute_on_host(bvh, p);
}
