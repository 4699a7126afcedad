/* Contacts of a field with many points: point clouds and deforming meshes.
 *
 * Points are given in doubles in world coordinates and are transformed to cells in doubles, since a
 * cloud may be much larger than the grid. contact_shared.h does the rest. All threads evaluate one
 * block of points at a time; its contacts are reported in order before the next block starts. This
 * bounds the memory.
 */
#include "contact/contact.h"

#include "bvh/points.h"

enum { POINTS_PER_BLOCK = 1 << 16, POINTS_PER_TASK = 1024 };

typedef struct point_query {
    const abuti_field_body *a;
    const contact_motion *at;
    contact_frame frame; /* only band, away and margin are used */
    /* The features, one of: */
    const bvh_points *points;
    const abut_mesh *mesh; /* its vertices, or its edges if `edges` is set */
    const contact_motion *mesh_at;
    const uint32_t *edges;
    size_t first; /* feature of the block */
    contact_found *found;
} point_query;

static vec3 point_at(const point_query *m, size_t i) {
    if (m->points)
        return bvh_point_at(m->points, i);
    return contact_to_world(m->mesh_at, abuti_mesh_position(m->mesh, (uint32_t)i));
}

/* The position of a point of the world in cells. */
static void cells_at(const point_query *m, vec3 point, float at[3]) {
    const abut_grid *grid = &m->a->field->grid;
    vec3 p = v3_sub(contact_to_local(m->at, point), grid->origin);
    for (int axis = 0; axis < 3; axis++)
        at[axis] = (float)(v3_get(p, axis) / grid->cell);
}

static void test_range(void *data, size_t chunk, size_t begin, size_t end) {
    const point_query *m = data;
    const field_view *view = &m->a->field->view;
    static const float no_normal[3] = {0, 0, 0};
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        float from[3], to[3], minimum, along = 0;
        if (!m->edges) {
            cells_at(m, point_at(m, m->first + i), from);
        } else {
            const uint32_t *edge = m->edges + 2 * (m->first + i);
            double length_sq = 0;
            cells_at(m, point_at(m, edge[0]), from);
            cells_at(m, point_at(m, edge[1]), to);
            for (int axis = 0; axis < 3; axis++)
                length_sq += ((double)to[axis] - from[axis]) * ((double)to[axis] - from[axis]);
            along = length_sq > 1 ? contact_segment_minimum(view, m->frame.band, from, to,
                                                            m->frame.margin, &minimum)
                                  : 0;
            /* The ends are vertices, which are tested on their own. */
            m->found[i].depth = CONTACT_NONE;
            if (!(along > 0 && along < 1))
                continue;
            for (int axis = 0; axis < 3; axis++)
                from[axis] = from[axis] + along * (to[axis] - from[axis]);
        }
        field_sample value = contact_value(view, from);
        m->found[i] = contact_from_value(&m->frame, &value, no_normal);
        m->found[i].along = along;
    }
}

static void add_point_contact(contact_call *call, const point_query *m, size_t i, double radius,
                              const contact_found *found) {
    vec3 out = m3_apply(&m->at->turn, v3(found->x, found->y, found->z));
    abut_contact contact = {.normal = contact_negate(out),
                            .depth = found->depth + radius,
                            .side = 1,
                            .element = (uint32_t)i,
                            .kind = m->points  ? ABUT_CONTACT_POINT
                                    : m->edges ? ABUT_CONTACT_EDGE
                                               : ABUT_CONTACT_VERTEX,
                            .part = m->edges ? ABUT_SAMPLE_DEEPEST : 0};
    contact.point = m->edges ? v3_lerp(point_at(m, m->edges[2 * i]),
                                       point_at(m, m->edges[2 * i + 1]), found->along)
                             : v3_along(point_at(m, i), -radius, out);
    abuti_contact_add(call, &contact);
}

static abut_status test_features(contact_call *call, point_query *m, size_t count, double radius) {
    abut_context *context = m->a->field->context;
    size_t block = count < POINTS_PER_BLOCK ? count : POINTS_PER_BLOCK;
    const contact_motion still = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, {0, 0, 0}};
    vec3 middle = count && !m->edges ? point_at(m, count / 2) : v3(0, 0, 0);
    m->frame =
        abuti_contact_frame(m->a->field, m->at, &still, middle, call->options.margin + radius);
    m->found = abuti_allocate(context, block, sizeof *m->found);
    if (!m->found)
        return ABUT_ERROR_MEMORY;
    for (m->first = 0; m->first < count; m->first += block) {
        size_t here = count - m->first < block ? count - m->first : block;
        abuti_parallel_for(context, here, POINTS_PER_TASK, test_range, m);
        for (size_t i = 0; i < here; i++)
            if (m->found[i].depth > CONTACT_BACKFACING)
                add_point_contact(call, m, m->first + i, radius, &m->found[i]);
    }
    abuti_release(context, m->found);
    return ABUT_OK;
}

abut_status abut_contact_points(const abut_collider *collider, abut_array points, size_t count,
                                double radius, const abut_contact_options *options,
                                abut_contacts *contacts) {
    abuti_field_body body, *a = &body;
    static const char function[] = "abut_contact_points";
    contact_call call;
    contact_motion at;
    bvh_points list;
    abut_contacts ours = abut_contacts_default();
    abut_status status = abuti_result_read(&ours, sizeof ours, contacts, function, "contacts");
    if (!status)
        status = abuti_field_body_read(function, "a", collider, a);
    if (!status)
        status = abuti_contact_begin(&call, function, a, true, options, &ours);
    if (!status)
        status = abuti_contact_pose(function, "the pose of a", &a->pose, &at);
    if (!status)
        status = abuti_bvh_points_read(function, NULL, points, count, &list);
    if (!status)
        status = abuti_bvh_points_check(function, a->field->context, &list);
    if (!status)
        status = abuti_check_length(function, "radius", radius);
    if (!status && list.count > UINT32_MAX)
        status = abuti_fail(ABUT_ERROR_LIMIT, "%s: there are %zu points, at most %u are allowed",
                            function, list.count, UINT32_MAX);
    if (status)
        return status;
    point_query m = {.a = a, .at = &at, .points = &list};
    status = test_features(&call, &m, list.count, radius);
    return abuti_result_write(contacts, &ours, abuti_contact_end(&call, status));
}

abut_status abut_contact_mesh(const abut_collider *collider, const abut_mesh *mesh,
                              const abut_topology *topology, const abut_pose *pose_or_null,
                              const abut_contact_options *options, abut_contacts *contacts) {
    abuti_field_body body, *a = &body;
    static const char function[] = "abut_contact_mesh";
    static const abut_pose none = {{0, 0, 0, 1}, {0, 0, 0}};
    contact_call call;
    contact_motion at, mesh_at;
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_contacts ours = abut_contacts_default();
    abut_topology_get_arrays(topology, &t);
    abut_status status = abuti_result_read(&ours, sizeof ours, contacts, function, "contacts");
    if (!status)
        status = abuti_field_body_read(function, "a", collider, a);
    if (!status)
        status = abuti_contact_begin(&call, function, a, true, options, &ours);
    if (!status && (!mesh || !topology))
        status = abuti_null(function, mesh ? "topology" : "mesh");
    if (!status && t.vertex_count != mesh->vertex_count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: the topology has %u vertices and the mesh %u; create it from "
                            "this mesh",
                            function, t.vertex_count, mesh->vertex_count);
    if (!status)
        status = abuti_contact_pose(function, "the pose of a", &a->pose, &at);
    if (!status)
        status = abuti_contact_pose(function, "the pose of the mesh",
                                    pose_or_null ? pose_or_null : &none, &mesh_at);
    if (status)
        return status;
    point_query m = {.a = a, .at = &at, .mesh = mesh, .mesh_at = &mesh_at};
    status = test_features(&call, &m, mesh->vertex_count, 0);
    m.edges = t.edges;
    if (!status && !call.options.skip_edges)
        status = test_features(&call, &m, t.edge_count, 0);
    return abuti_result_write(contacts, &ours, abuti_contact_end(&call, status));
}
