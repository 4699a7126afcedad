/* What a hierarchy on a device keeps for fields: kernels, features in doubles, its border. */
#include "field/build/device.h"

#include <math.h>

enum { FEATURES_A_TASK = 4096, SLICES_MOST = 64 };
#define CELLS_LEAST 0.5
#define SHORT_SHARE 0.66

/* ---- features in doubles ---- */

typedef struct exact_making {
    const abut_mesh *mesh;
    double scale;
    const abuti_features *features;
    const uint32_t *order;   /* triangles by place */
    unsigned char *has_face; /* by triangle */
    feature_exact *to;
} exact_making;

static void put_vector(feature_exact *e, vec3 place, vec3 direction) {
    e->place[0] = place.x;
    e->place[1] = place.y;
    e->place_z = place.z;
    e->direction[0] = direction.x;
    e->direction[1] = direction.y;
    e->direction_z = direction.z;
}

/* The normal from the longest side and what rises over it, so that only the turn about that side
 * is less certain: that by a rounding of the height. */
static vec3 normal_of(const abut_mesh *mesh, double scale, uint32_t triangle) {
    vec3 c[3], u[3];
    int longest = 0;
    for (int k = 0; k < 3; k++)
        c[k] = v3_scale(mesh->positions[mesh->indices[3 * (size_t)triangle + (size_t)k]], scale);
    for (int k = 0; k < 3; k++) {
        u[k] = v3_sub(c[(k + 1) % 3], c[k]);
        longest = v3_length_sq(u[k]) > v3_length_sq(u[longest]) ? k : longest;
    }
    vec3 along = v3_normalise(u[longest]), up = v3_sub(c[(longest + 2) % 3], c[longest]);
    for (int round = 0; round < 2; round++)
        up = v3_along(up, -v3_dot(up, along), along);
    return v3_normalise(v3_cross(along, v3_normalise(up)));
}

static void exact_task(void *data, size_t chunk, size_t begin, size_t end) {
    const exact_making *m = data;
    const abuti_features *features = m->features;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        feature_exact *e = &m->to[i];
        const uint32_t *ends = features->ends[i];
        memset(e, 0, sizeof *e);
        for (uint32_t k = features->incident_begin[i]; k < features->incident_begin[i + 1]; k++)
            if (!m->has_face[m->order[features->incidents[k]]])
                e->is |= FIELD_IS_LOW;
        if (ends[1] == ABUT_NONE) {
            e->is |= FIELD_IS_FACE;
            e->triangle = ends[0];
            put_vector(e, abuti_mesh_position(m->mesh, m->mesh->indices[3 * (size_t)ends[0]]),
                       normal_of(m->mesh, m->scale, ends[0]));
            continue;
        }
        vec3 way =
            v3_scale(v3_sub(m->mesh->positions[ends[1]], m->mesh->positions[ends[0]]), m->scale);
        e->length = v3_length(way);
        put_vector(e, abuti_mesh_position(m->mesh, ends[0]),
                   e->length > 0 ? v3_normalise(way) : v3(0, 0, 0));
    }
}

static abut_status upload_array(bvh_on_device *bvh, const void *data, size_t count,
                                size_t element_bytes, abuti_buffer *to) {
    abut_status status = abuti_buffer_reserve(bvh->queue.device, count, element_bytes, to);
    return status ? status : abuti_buffer_upload(&bvh->queue, to, 0, data, count * element_bytes);
}

static abut_status upload_exact(bvh_on_device *bvh, const abuti_features *features,
                                const uint32_t *order, abuti_buffer *to) {
    abut_mesh *mesh = bvh->tree.mesh;
    exact_making m = {mesh, bvh->tree.scale, features, order, NULL, NULL};
    m.has_face = abuti_allocate_zeroed(bvh->context, mesh->triangle_count, 1);
    m.to = abuti_allocate(bvh->context, features->count, sizeof *m.to);
    abut_status status = m.has_face && m.to ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; !status && i < features->count; i++)
        if (features->ends[i][1] == ABUT_NONE)
            m.has_face[features->ends[i][0]] = 1;
    if (!status) {
        abuti_parallel_for(bvh->context, features->count, FEATURES_A_TASK, exact_task, &m);
        status = upload_array(bvh, m.to, features->count, sizeof *m.to, to);
    }
    abuti_release(bvh->context, m.has_face);
    abuti_release(bvh->context, m.to);
    return status;
}

static abut_status upload_features(bvh_on_device *bvh, field_parts *parts) {
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
    if (!status)
        status = upload_array(bvh, features.records, features.count, sizeof *features.records,
                              &parts->records);
    if (!status)
        status = upload_array(bvh, features.incident_begin, (size_t)features.count + 1, 4,
                              &parts->incident_begin);
    if (!status)
        status =
            upload_array(bvh, features.incidents, features.incident_count, 4, &parts->incidents);
    if (!status)
        status = upload_exact(bvh, &features, order, &parts->exact);
    parts->feature_count = features.count;
    abuti_features_destroy(&features);
    abuti_release(bvh->context, order);
    return status;
}

/* ---- the border ---- */

/* To find it a hierarchy is asked that has nothing but its mesh. */
static abut_status upload_border(bvh_on_device *bvh, field_parts *parts) {
    abut_bvh shell = {.context = bvh->context, .mesh = bvh->tree.mesh};
    const bvh_solid *solid = NULL;
    abut_status status = bvh->sign.closed ? ABUT_OK : abuti_bvh_solid(&shell, &solid);
    parts->border_count = solid ? solid->border_count : 0;
    float(*ends)[4] = abuti_allocate(bvh->context, 2 * (size_t)parts->border_count, sizeof *ends);
    status = status ? status : ends ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; !status && i < 2 * (size_t)parts->border_count; i++) {
        vec3 p = v3_scale(bvh->tree.mesh->positions[solid->border[i / 2][i % 2]], bvh->tree.scale);
        ends[i][0] = (float)p.x;
        ends[i][1] = (float)p.y;
        ends[i][2] = (float)p.z;
        ends[i][3] = 0;
    }
    if (!status)
        status =
            upload_array(bvh, ends, 2 * (size_t)parts->border_count, sizeof *ends, &parts->border);
    abuti_release(bvh->context, ends);
    abuti_bvh_solid_destroy(&shell);
    return status;
}

/* ---- life ---- */

static void destroy_kernels(field_parts *p) {
    abuti_kernel *kernels[] = {&p->seed,   &p->top,   &p->filter, &p->siblings, &p->cut,
                               &p->cells,  &p->few,   &p->put,    &p->cross,    &p->sum,
                               &p->shifts, &p->sides, &p->rest,   &p->settle,   &p->points,
                               &p->turn,   &p->bricks};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
}

static void destroy_parts(bvh_on_device *bvh) {
    field_parts *p = bvh->field;
    abuti_buffer *buffers[] = {
        &p->records, &p->exact,         &p->incident_begin, &p->incidents,   &p->border,
        &p->lists,   &p->bounds,        &p->pool,           &p->counters,    &p->doubts,
        &p->settled, &p->long_blocks,   &p->longer,         &p->cut_lists,   &p->cut_bounds,
        &p->coarse,  &p->fine,          &p->unsettled,      &p->mixed,       &p->rows,
        &p->unsure,  &p->unsure_points, &p->unsure_order,   &p->unsure_sums, &p->unsure_inside};
    destroy_kernels(p);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    abuti_queue_close(&p->aside);
    abuti_release(bvh->context, p);
    bvh->field = NULL;
}

static abut_status make_kernels(bvh_on_device *bvh, field_parts *p) {
    const abuti_kernel_name lists[] = {{&p->seed, "field_seed"},
                                       {&p->top, "field_top"},
                                       {&p->filter, "field_filter"},
                                       {&p->siblings, "field_siblings"},
                                       {&p->cut, "field_cut"}};
    const abuti_kernel_name cells[] = {{&p->cells, "field_cells"},
                                       {&p->few, "field_few"},
                                       {&p->put, "field_put"}};
    const abuti_kernel_name rows[] = {{&p->cross, "field_cross"}, {&p->sum, "field_sum"}};
    const abuti_kernel_name sides[] = {{&p->shifts, "field_shifts"},
                                       {&p->sides, "field_sides"},
                                       {&p->rest, "field_rest"}};
    const abuti_kernel_name settle[] = {{&p->settle, "field_settle"},
                                        {&p->points, "field_points"},
                                        {&p->turn, "field_turn"},
                                        {&p->bricks, "field_bricks"}};
    destroy_kernels(p); /* of a try that failed */
    abut_status status = abuti_device_kernels(bvh, "field_lists", lists, 5);
    status = status ? status : abuti_device_kernels(bvh, "field_cells", cells, 3);
    status = status ? status : abuti_device_kernels(bvh, "field_rows", rows, 2);
    status = status ? status : abuti_device_kernels(bvh, "field_settle", settle, 4);
    if (!status && !bvh->sign.closed)
        status = abuti_device_kernels(bvh, "field_sides", sides, 3);
    if (!status && !bvh->sign.closed)
        status = abuti_device_sign_need(bvh);
    if (!status && !p->aside.device)
        status = abuti_queue_open(bvh->queue.device, &p->aside);
    return status;
}

abut_status abuti_field_parts(bvh_on_device *bvh, field_parts **parts) {
    if (!bvh->field) {
        bvh->field = abuti_allocate_zeroed(bvh->context, 1, sizeof(field_parts));
        bvh->field_destroy = destroy_parts;
        if (!bvh->field)
            return ABUT_ERROR_MEMORY;
        *(field_parts *)bvh->field = (field_parts){.cells_least = CELLS_LEAST,
                                                   .short_share = SHORT_SHARE,
                                                   .slices_most = SLICES_MOST};
    }
    field_parts *p = bvh->field;
    abut_status status = ABUT_OK;
    if (!p->is_ready) {
        status = make_kernels(bvh, p);
        status = status ? status : upload_features(bvh, p);
        status = status ? status : upload_border(bvh, p);
        p->is_ready = !status;
    }
    *parts = p;
    return status;
}

abut_status abuti_device_field_account(bvh_on_device *bvh, field_account *account) {
    field_parts *parts;
    abut_status status = abuti_field_parts(bvh, &parts);
    if (!status)
        parts->account = account;
    return status;
}
