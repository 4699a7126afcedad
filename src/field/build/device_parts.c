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

static void put_exact(bvh_on_device *bvh, field_parts *p, const abuti_features *features,
                      const uint32_t *order) {
    abut_mesh *mesh = bvh->tree.mesh;
    exact_making m = {mesh, bvh->tree.scale, features, order, NULL, NULL};
    m.has_face = abuti_allocate_zeroed(bvh->context, mesh->triangle_count, 1);
    m.to = abuti_allocate(bvh->context, features->count, sizeof *m.to);
    if (m.has_face && m.to) {
        for (uint32_t i = 0; i < features->count; i++)
            if (features->ends[i][1] == ABUT_NONE)
                m.has_face[features->ends[i][0]] = 1;
        abuti_parallel_for(bvh->context, features->count, FEATURES_A_TASK, exact_task, &m);
        abuti_kit_put(&p->kit, FIELD_EXACT, m.to, features->count, sizeof *m.to);
    } else {
        abuti_kit_fail(&p->kit, ABUT_ERROR_MEMORY);
    }
    ABUTI_RELEASE(bvh->context, m.has_face, m.to);
}

static void put_features(bvh_on_device *bvh, field_parts *p) {
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
        abuti_kit_put(kit, FIELD_RECORDS, features.records, features.count,
                      sizeof *features.records);
        abuti_kit_put(kit, FIELD_INCIDENT_BEGIN, features.incident_begin,
                      (size_t)features.count + 1, sizeof *features.incident_begin);
        abuti_kit_put(kit, FIELD_INCIDENTS, features.incidents, features.incident_count,
                      sizeof *features.incidents);
        put_exact(bvh, p, &features, order);
    }
    abuti_features_destroy(&features);
    abuti_release(bvh->context, order);
}

/* ---- the border ---- */

static void put_border(bvh_on_device *bvh, field_parts *p) {
    const bvh_solid *solid = NULL;
    if (!p->closed)
        abuti_kit_fail(&p->kit, abuti_bvh_solid(bvh->bvh, &solid));
    p->border_count = solid ? solid->border_count : 0;
    size_t count = 2 * (size_t)p->border_count;
    float(*ends)[4] = abuti_allocate_zeroed(bvh->context, count, sizeof *ends);
    if (!ends)
        abuti_kit_fail(&p->kit, ABUT_ERROR_MEMORY);
    for (size_t i = 0; ends && i < count; i++) {
        vec3 at = v3_scale(bvh->tree.mesh->positions[solid->border[i / 2][i % 2]], bvh->tree.scale);
        ends[i][0] = (float)at.x;
        ends[i][1] = (float)at.y;
        ends[i][2] = (float)at.z;
    }
    abuti_kit_put(&p->kit, FIELD_BORDER, ends, count, sizeof *ends);
    abuti_release(bvh->context, ends);
}

/* ---- life ---- */

static const abuti_kernel_source sources[FIELD_KERNELS] = {
    [FIELD_SEED] = {"field_lists", "field_seed", NULL},
    [FIELD_TOP] = {"field_lists", "field_top", NULL},
    [FIELD_FILTER] = {"field_lists", "field_filter", NULL},
    [FIELD_SIBLINGS] = {"field_lists", "field_siblings", NULL},
    [FIELD_CUT] = {"field_lists", "field_cut", NULL},
    [FIELD_CELLS] = {"field_cells", "field_cells", NULL},
    [FIELD_FEW_CELLS] = {"field_cells", "field_few", NULL},
    [FIELD_PUT] = {"field_cells", "field_put", NULL},
    [FIELD_CROSS] = {"field_rows", "field_cross", NULL},
    [FIELD_SUM] = {"field_rows", "field_sum", NULL},
    [FIELD_SHIFTS] = {"field_sides", "field_shifts", NULL},
    [FIELD_SIDES] = {"field_sides", "field_sides", NULL},
    [FIELD_REST] = {"field_sides", "field_rest", NULL},
    [FIELD_SETTLE] = {"field_settle", "field_settle", NULL},
    [FIELD_POINTS] = {"field_settle", "field_points", NULL},
    [FIELD_TURN] = {"field_settle", "field_turn", NULL},
    [FIELD_BRICKS] = {"field_settle", "field_bricks", NULL},
    [FIELD_WINDINGS] = {"winding", "winding_sum", NULL},
};

static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = FIELD_KERNELS,
                                      .buffer_count = FIELD_MEMORIES};

static abut_status create(bvh_part *part, void *owner) {
    field_parts *p = (field_parts *)part;
    bvh_on_device *there = owner;
    char options[ABUTI_OPTIONS_BYTES];
    p->cells_least = CELLS_LEAST;
    p->short_share = SHORT_SHARE;
    p->slices_most = SLICES_MOST;
    abuti_device_options(there, options);
    abut_status status = abuti_queue_open(there->queue.device, &p->beside);
    status = status ? status : abuti_kit_open(&there->queue, &table, options, &p->kit);
    return status ? status : abuti_kit_open(&p->beside, &table, options, &p->aside);
}

static abut_status refit(bvh_part *part) {
    ((field_parts *)part)->is_ready = false;
    return ABUT_OK;
}

static void destroy(bvh_part *part) {
    field_parts *p = (field_parts *)part;
    abuti_kit_close(&p->kit);
    abuti_kit_close(&p->aside);
    abuti_queue_close(&p->beside);
}

static const bvh_part_kind field_kind = {sizeof(field_parts), create, refit, destroy};

abut_status abuti_field_parts(bvh_on_device *bvh, field_parts **parts) {
    bvh_part *part = NULL;
    sign_there *sign = NULL;
    abut_status status = abuti_sign_there("abut_field_create", bvh, &sign);
    status = status ? status : abuti_there_part(bvh, &field_kind, &part);
    if (status)
        return status;
    field_parts *p = (field_parts *)part;
    /* signs may have been prepared anew, in another way */
    p->is_ready = p->is_ready && p->sign == sign && p->closed == sign->closed;
    p->sign = sign;
    p->closed = sign->closed;
    if (!p->is_ready) {
        put_features(bvh, p);
        put_border(bvh, p);
        status = abuti_kit_finish(&p->kit);
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
