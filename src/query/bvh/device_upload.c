/* Upload and download of BVHs, and the corners of triangles in the layout of kernels. */
#include "bvh/device.h"

enum { ELEMENTS_PER_TASK = 16384 };

/* ---- corners ---- */

typedef struct corner_writer {
    const abut_mesh *mesh;
    double scale;
    const uint32_t *order;
    float *floats;
    double *doubles;
} corner_writer;

static void floats_task(void *data, size_t chunk, size_t begin, size_t end) {
    const corner_writer *w = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            vec3 p = w->mesh->positions[w->mesh->indices[3 * (size_t)w->order[i] + k]];
            for (size_t axis = 0; axis < 3; axis++)
                w->floats[9 * i + 3 * k + axis] = (float)(v3_get(p, (int)axis) * w->scale);
        }
}

static void doubles_task(void *data, size_t chunk, size_t begin, size_t end) {
    const corner_writer *w = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        abut_triangle triangle = bvh_triangle(w->mesh, (uint32_t)t);
        for (size_t k = 0; k < 3; k++)
            for (size_t axis = 0; axis < 3; axis++)
                w->doubles[9 * t + 3 * k + axis] = v3_get(triangle.corner[k], (int)axis);
    }
}

static void upload_triangles(abuti_queue *queue, const abut_bvh *bvh, abuti_buffer *to) {
    size_t count = (size_t)bvh->leaf_count * BVH_WIDTH;
    corner_writer w = {.mesh = bvh->mesh, .scale = bvh->scale, .order = bvh->order};
    w.floats = abuti_allocate(bvh->context, count, 9 * sizeof *w.floats);
    if (!w.floats) {
        abuti_queue_set_error(queue, ABUT_ERROR_MEMORY);
        return;
    }
    abuti_parallel_for(bvh->context, count, ELEMENTS_PER_TASK, floats_task, &w);
    abuti_buffer_make(queue, w.floats, count, 9 * sizeof *w.floats, to);
    abuti_release(bvh->context, w.floats);
}

static void upload_corners(abuti_queue *queue, const abut_mesh *mesh, abuti_buffer *to) {
    size_t count = mesh->triangle_count;
    corner_writer w = {.mesh = mesh};
    w.doubles = abuti_allocate(mesh->context, count, 9 * sizeof *w.doubles);
    if (!w.doubles) {
        abuti_queue_set_error(queue, ABUT_ERROR_MEMORY);
        return;
    }
    abuti_parallel_for(mesh->context, count, ELEMENTS_PER_TASK, doubles_task, &w);
    abuti_buffer_make(queue, w.doubles, count, 9 * sizeof *w.doubles, to);
    abuti_release(mesh->context, w.doubles);
}

/* ---- BVHs ---- */

abut_status abuti_bvh_device_upload(abuti_queue *queue, const abut_bvh *bvh, uint32_t extras,
                                    abuti_bvh_device *to) {
    abuti_bvh_device made = {.device = abuti_device_retain(queue->device),
                             .mesh = abut_mesh_retain(bvh->mesh),
                             .triangle_count = bvh->triangle_count,
                             .leaf_count = bvh->leaf_count,
                             .node_count = bvh->node_count,
                             .depth = bvh->depth,
                             .scale = bvh->scale};
    abuti_buffer_make(queue, bvh->nodes, bvh->node_count, sizeof *bvh->nodes, &made.nodes);
    abuti_buffer_make(queue, bvh->blocks, bvh->leaf_count, sizeof *bvh->blocks, &made.blocks);
    abuti_buffer_make(queue, bvh->order, bvh->leaf_count, BVH_WIDTH * sizeof *bvh->order,
                      &made.order);
    if (extras & ABUTI_BVH_TRIANGLES)
        upload_triangles(queue, bvh, &made.triangles);
    if (extras & ABUTI_BVH_CORNERS && queue->device->info.has_doubles)
        upload_corners(queue, bvh->mesh, &made.corners);
    abut_status status = abuti_queue_report(queue);
    if (status)
        abuti_bvh_device_destroy(&made);
    else
        *to = made;
    return status;
}

abut_status abuti_bvh_device_download(abuti_queue *queue, const abuti_bvh_device *from,
                                      abut_context *context, abut_bvh **bvh) {
    context = context ? context : from->mesh->context;
    abut_bvh *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    atomic_init(&made->holds, 1);
    made->mesh = abut_mesh_retain(from->mesh);
    made->triangle_count = from->triangle_count;
    made->leaf_count = from->leaf_count;
    made->node_count = from->node_count;
    made->depth = from->depth;
    made->scale = from->scale;
    made->nodes = abuti_allocate(context, made->node_count, sizeof *made->nodes);
    made->blocks = abuti_allocate(context, made->leaf_count, sizeof *made->blocks);
    made->order = abuti_allocate(context, made->leaf_count, BVH_WIDTH * sizeof *made->order);
    const struct {
        const abuti_buffer *from;
        void *to;
        size_t bytes;
    } arrays[] = {{&from->nodes, made->nodes, made->node_count * sizeof *made->nodes},
                  {&from->blocks, made->blocks, made->leaf_count * sizeof *made->blocks},
                  {&from->order, made->order, made->leaf_count * BVH_WIDTH * sizeof *made->order}};
    abut_status status = made->nodes && made->blocks && made->order ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (int i = 0; i < 3 && !status; i++)
        status = abuti_buffer_download(queue, arrays[i].from, 0, arrays[i].to, arrays[i].bytes);
    if (status) {
        abut_bvh_destroy(made);
        return status;
    }
    abuti_bvh_fit(made, NULL);
    made->built_cost = made->cost;
    *bvh = made;
    return ABUT_OK;
}

void abuti_bvh_device_destroy(abuti_bvh_device *bvh) {
    if (!bvh->device)
        return;
    abuti_buffer *buffers[] = {&bvh->nodes,   &bvh->blocks, &bvh->order,  &bvh->triangles,
                               &bvh->indices, &bvh->ranges, &bvh->corners};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    abut_mesh_destroy(bvh->mesh);
    abut_device_destroy(bvh->device);
    *bvh = (abuti_bvh_device){0};
}
