/* The host's side of inside.cl and winding.cl: inside and outside, winding numbers and signed
 * distances, of surfaces without border and with one. */
#include "bvh/device_query.h"
#include "sign/sign.h"

#include <math.h>

#define GROUP 128
#define FEATURES 7 /* a face, three edges, three vertices */
#define SUM_BYTES (4 * sizeof(double))

enum { GRAIN = 8192 };

_Static_assert(ABUT_FEATURE_EDGE_0 == 1 && ABUT_FEATURE_VERTEX_2 == FEATURES - 1 &&
                   sizeof(abut_nearest) == 64 && sizeof(bool) == 1,
               "the layouts that inside.cl reads and writes");

/* ---- making ---- */

typedef struct normals_writing {
    const abut_bvh *bvh;
    double (*normals)[4];
} normals_writing;

static void normals_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_writing *w = data;
    (void)chunk;
    for (size_t i = begin * FEATURES; i < end * FEATURES; i++) {
        double *to = w->normals[i];
        vec3 normal = abuti_sign_feature_normal(w->bvh, (uint32_t)(i / FEATURES),
                                                (abut_feature)(i % FEATURES), &to[3]);
        to[0] = normal.x;
        to[1] = normal.y;
        to[2] = normal.z;
    }
}

static abut_status upload_normals(bvh_on_device *bvh, const abut_bvh *from) {
    size_t count = (size_t)from->triangle_count * FEATURES;
    normals_writing w = {from, abuti_allocate(bvh->context, count, sizeof *w.normals)};
    if (!w.normals)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(bvh->context, from->triangle_count, GRAIN, normals_task, &w);
    abuti_buffer *to = &bvh->sign.normals;
    abut_status status = abuti_buffer_create(bvh->queue.device, count, sizeof *w.normals, to);
    if (!status)
        status = abuti_buffer_upload(&bvh->queue, to, 0, w.normals, to->bytes);
    abuti_release(bvh->context, w.normals);
    return status;
}

static abut_status upload_fields(bvh_on_device *bvh, const abut_bvh *from) {
    abuti_buffer *to = &bvh->sign.fields;
    abut_status status =
        abuti_buffer_create(bvh->queue.device, from->node_count, sizeof *from->sign->far, to);
    return status ? status : abuti_buffer_upload(&bvh->queue, to, 0, from->sign->far, to->bytes);
}

abut_status abuti_device_sign_ready(const char *function, bvh_on_device *there) {
    const struct bvh_sign *from = there->bvh->sign;
    abut_device *device = there->queue.device;
    abut_status status = abuti_device_check_doubles(function, there);
    if (!status && !from)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the hierarchy knows no inside yet; call abut_sign_prepare() first",
                          function);
    if (!status && !from->closed && !device->info.same_bits)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: the surface has a border, and %s does not round floats as winding "
                          "numbers of such a surface need; create the hierarchy without a device",
                          function, device->info.name);
    if (status || there->sign.known)
        return status;
    there->sign.closed = from->closed;
    there->sign.facing = from->facing;
    if (from->method == ABUT_SIGN_NORMAL)
        status = upload_normals(there, there->bvh);
    if (!status && !from->closed)
        status = upload_fields(there, there->bvh);
    if (status)
        abuti_device_sign_forget(there);
    there->sign.known = !status;
    return status;
}

void abuti_device_sign_forget(bvh_on_device *there) {
    there->sign.known = false;
    abuti_buffer_destroy(&there->sign.normals);
    abuti_buffer_destroy(&there->sign.fields);
}

static void destroy_kernels(bvh_on_device *bvh) {
    device_sign *s = &bvh->sign;
    abuti_kernel *kernels[] = {&s->by_normals, &s->find, &s->settle, &s->sum, &s->touch};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
}

void abuti_device_sign_destroy(bvh_on_device *bvh) {
    destroy_kernels(bvh);
    abuti_buffer_destroy(&bvh->sign.normals);
    abuti_buffer_destroy(&bvh->sign.fields);
    abuti_buffer_destroy(&bvh->sign.sums);
}

abut_status abuti_device_sign_need(bvh_on_device *bvh) {
    device_sign *to = &bvh->sign;
    const abuti_kernel_name closed[] = {{&to->by_normals, "inside_normals"},
                                        {&to->find, "inside_find"},
                                        {&to->settle, "inside_settle"}};
    const abuti_kernel_name open[] = {{&to->sum, "winding_sum"}, {&to->touch, "winding_touch"}};
    if (to->closed ? to->settle.device != NULL : to->touch.device != NULL)
        return ABUT_OK;
    destroy_kernels(bvh); /* of a try that failed */
    return to->closed ? abuti_device_kernels(bvh, "inside", closed, sizeof closed / sizeof *closed)
                      : abuti_device_kernels(bvh, "winding", open, sizeof open / sizeof *open);
}

/* ---- answering ---- */

/* The box of the mesh in the frame. Only what lies outside by more than a margin is left out. */
static void frame_box(const bvh_on_device *bvh, float lo[4], float hi[4]) {
    const abut_mesh *mesh = bvh->tree.mesh;
    lo[3] = hi[3] = 0;
    for (int axis = 0; axis < 3; axis++) {
        double origin = v3_get(mesh->origin, axis);
        lo[axis] = (float)((v3_get(mesh->bounds.lo, axis) - origin) * bvh->tree.scale);
        hi[axis] = (float)((v3_get(mesh->bounds.hi, axis) - origin) * bvh->tree.scale);
    }
}

static abut_status queue_closed(bvh_on_device *bvh, uint32_t count, uint32_t first,
                                abuti_point_quest quest, abuti_buffer *answers) {
    const device_sign *sign = &bvh->sign;
    nearest_scratch *s = &bvh->scratch;
    uint32_t has_normals = sign->normals.device != NULL, quest_word = quest;
    uint32_t triangle_count = bvh->tree.triangle_count;
    const abuti_buffer *normals = has_normals ? &sign->normals : &s->exact;
    size_t groups = groups_of(count, GROUP);
    float lo[4], hi[4];
    frame_box(bvh, lo, hi);
    abut_status status = ABUT_OK;
    if (quest == ABUTI_QUEST_SIGN)
        status = ABUTI_LAUNCH(&bvh->queue, &sign->by_normals, groups, GROUP, ABUTI_BUFFER(normals),
                              ABUTI_VALUE(has_normals), ABUTI_VALUE(sign->facing),
                              ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                              ABUTI_VALUE(first), ABUTI_BUFFER(answers), ABUTI_BUFFER(&s->counts));
    if (!status) /* the keys are free after the sort */
        status =
            ABUTI_LAUNCH(&bvh->queue, &sign->find, groups, GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                         ABUTI_BUFFER(&bvh->tree.triangles), ABUTI_VALUE(triangle_count),
                         ABUTI_BUFFER(&s->sorted), ABUTI_VALUE(count), ABUTI_VALUE(quest_word),
                         ABUTI_VALUE(lo), ABUTI_VALUE(hi), ABUTI_BUFFER(&s->counts),
                         ABUTI_BUFFER(&s->keys), ABUTI_BUFFER(&s->places));
    if (!status)
        status =
            ABUTI_LAUNCH(&bvh->queue, &sign->settle, groups, GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                         ABUTI_VALUE(triangle_count), ABUTI_BUFFER(&bvh->tree.order),
                         ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(&s->sorted),
                         ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                         ABUTI_VALUE(quest_word), ABUTI_VALUE(lo), ABUTI_VALUE(hi),
                         ABUTI_BUFFER(&s->counts), ABUTI_BUFFER(&s->keys), ABUTI_BUFFER(&s->places),
                         ABUTI_VALUE(first), ABUTI_BUFFER(answers), ABUTI_BUFFER(answers));
    return status;
}

/* ---- with a border ---- */

static abut_status queue_open(bvh_on_device *bvh, uint32_t count, abuti_point_quest quest,
                              abuti_buffer *answers) {
    device_sign *sign = &bvh->sign;
    nearest_scratch *s = &bvh->scratch;
    const mesh_frame frame = frame_of(bvh);
    uint32_t triangle_count = bvh->tree.triangle_count;
    size_t groups = groups_of(count, GROUP);
    abut_status status = abuti_buffer_reserve(bvh->queue.device, count, SUM_BYTES, &sign->sums);
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &sign->sum, groups, GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&sign->fields),
                              ABUTI_BUFFER(&bvh->tree.blocks), ABUTI_VALUE(triangle_count),
                              ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&bvh->tree.corners),
                              ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                              ABUTI_VALUE(frame), ABUTI_BUFFER(&sign->sums));
    if (!status && quest == ABUTI_QUEST_INSIDE)
        status = ABUTI_LAUNCH(&bvh->queue, &sign->touch, groups, GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_VALUE(triangle_count),
                              ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&bvh->tree.corners),
                              ABUTI_BUFFER(&s->sorted), ABUTI_BUFFER(&s->exact),
                              ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_BUFFER(answers));
    return status;
}

abut_status abuti_device_sign_queue(bvh_on_device *bvh, uint32_t count, uint32_t first,
                                    abuti_point_quest quest, abuti_buffer *answers) {
    return bvh->sign.closed ? queue_closed(bvh, count, first, quest, answers)
                            : queue_open(bvh, count, quest, answers);
}

typedef struct finishing {
    abuti_point_quest quest;
    double facing;
    double (*sums)[4];
    void *answers;
} finishing;

static void finish_task(void *data, size_t chunk, size_t begin, size_t end) {
    finishing *f = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const double *sum = f->sums[i];
        double winding = abuti_sign_winding_value(sum[0], sum[1], sum[2], sum[3]);
        bool inside = winding * f->facing >= 0.5;
        if (f->quest == ABUTI_QUEST_WINDING) {
            ((double *)f->answers)[i] = winding;
        } else if (f->quest == ABUTI_QUEST_INSIDE) {
            bool *to = (bool *)f->answers + i; /* whether the point is on the surface */
            *to = *to || inside;
        } else {
            double *distance = &((abut_nearest *)f->answers)[i].distance;
            if (inside && *distance > 0 && *distance < INFINITY)
                *distance = -*distance;
        }
    }
}

abut_status abuti_device_sign_finish(bvh_on_device *bvh, size_t count, abuti_point_quest quest,
                                     void *answers) {
    finishing f = {quest, bvh->sign.facing, abuti_allocate(bvh->context, count, SUM_BYTES),
                   answers};
    abut_status status = f.sums ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_buffer_download(&bvh->queue, &bvh->sign.sums, 0, f.sums, count * SUM_BYTES);
    if (!status)
        abuti_parallel_for(bvh->context, count, GRAIN, finish_task, &f);
    abuti_release(bvh->context, f.sums);
    return status;
}

/* ---- questions ---- */

static abut_status ask(const char *function, bvh_on_device *there, const bvh_points *points,
                       double radius, abuti_point_quest quest, void *answers) {
    abut_status status = abuti_device_sign_ready(function, there);
    return status || !points->count ? status
                                    : abuti_device_points(there, points, radius, quest, answers);
}

abut_status abuti_sign_inside_there(const char *function, bvh_on_device *there,
                                    const bvh_points *points, bool *inside) {
    return ask(function, there, points, 0, ABUTI_QUEST_INSIDE, inside);
}

abut_status abuti_sign_winding_there(const char *function, bvh_on_device *there,
                                     const bvh_points *points, double *winding) {
    return ask(function, there, points, 0, ABUTI_QUEST_WINDING, winding);
}

abut_status abuti_sign_nearest_there(const char *function, bvh_on_device *there,
                                     const bvh_points *points, double radius,
                                     abut_nearest *nearest) {
    return ask(function, there, points, radius, ABUTI_QUEST_SIGN, nearest);
}
