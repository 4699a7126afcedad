/* The host side of inside.cl and winding.cl: inside and outside, winding numbers and signed
 * distances, of surfaces with and without boundary. */
#include "sign/device.h"

#include "sign/sign_shared.h"

enum {
    FEATURES_PER_TRIANGLE = 7, /* a face, three edges, three vertices */
    TRIANGLES_PER_TASK = 8192
};

_Static_assert(ABUT_FEATURE_EDGE_0 == 1 && ABUT_FEATURE_VERTEX_2 == FEATURES_PER_TRIANGLE - 1 &&
                   sizeof(abut_nearest) == 64 && sizeof(bool) == 1,
               "the layouts that inside.cl reads and writes");
_Static_assert((int)SIGN_CANDIDATES <= (int)CANDIDATES, "they fit NEAREST_PLACES");

/* ---- kernels ---- */

enum { BY_NORMALS, FIND, DECIDE_EXACTLY, ANSWER, TOUCH, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {
    [BY_NORMALS] = {"inside", "inside_normals", NULL},
    [FIND] = {"inside", "inside_find", NULL},
    [DECIDE_EXACTLY] = {"inside", "inside_decide_exactly", NULL},
    [ANSWER] = {"winding", "winding_answer", NULL},
    [TOUCH] = {"winding", "winding_touch", NULL}};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = SIGN_BUFFERS};

static abut_status create_sign_kit(bvh_attachment *attachment, void *owner) {
    sign_attachment *sign = (sign_attachment *)attachment;
    sign->there = owner;
    return abuti_on_device_kit(owner, &table, &sign->kit);
}

static abut_status refit_sign_kit(bvh_attachment *attachment) {
    ((sign_attachment *)attachment)->is_uploaded = ((sign_attachment *)attachment)->has_far = false;
    return ABUT_OK;
}

static void destroy_sign_kit(bvh_attachment *attachment) {
    abuti_kit_close(&((sign_attachment *)attachment)->kit);
}

static const bvh_attachment_kind sign_attachment_kind = {sizeof(sign_attachment), create_sign_kit,
                                                         refit_sign_kit, destroy_sign_kit};

void abuti_sign_invalidate_on_device(bvh_on_device *there) {
    bvh_attachment *attachment = abuti_bvh_find_attachment(&there->parts, &sign_attachment_kind);
    if (attachment)
        refit_sign_kit(attachment);
}

/* ---- sign data ---- */

typedef struct normals_writer {
    const struct bvh_sign *sign;
    double (*normals)[4];
} normals_writer;

static void normals_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_writer *w = data;
    (void)chunk;
    for (size_t i = begin * FEATURES_PER_TRIANGLE; i < end * FEATURES_PER_TRIANGLE; i++) {
        double *to = w->normals[i];
        vec3 normal = abuti_sign_feature_normal(w->sign, (uint32_t)(i / FEATURES_PER_TRIANGLE),
                                                (abut_feature)(i % FEATURES_PER_TRIANGLE), &to[3]);
        to[0] = normal.x;
        to[1] = normal.y;
        to[2] = normal.z;
    }
}

static void upload_normals(sign_attachment *sign, const struct bvh_sign *from) {
    abut_context *context = sign->there->context;
    size_t triangles = sign->there->tree.triangle_count;
    normals_writer w = {from, abuti_allocate(context, triangles * FEATURES_PER_TRIANGLE,
                                             sizeof *w.normals)};
    if (w.normals) {
        abuti_parallel_for(context, triangles, TRIANGLES_PER_TASK, normals_task, &w);
        abuti_kit_upload(&sign->kit, SIGN_NORMALS, w.normals, triangles * FEATURES_PER_TRIANGLE,
                         sizeof *w.normals);
    } else {
        abuti_kit_fail(&sign->kit, ABUT_ERROR_MEMORY);
    }
    abuti_release(context, w.normals);
}

abut_status abuti_sign_check_on_device(const char *function, const bvh_on_device *there,
                                       const struct bvh_sign *from) {
    if (!from)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: signs are not prepared for this BVH; call abut_sign_prepare() first",
                          function);
    if (!from->closed && !there->queue.device->info.same_bits)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: the surface has boundary edges, and %s does not round floats as its "
                          "winding numbers need; create the BVH without a device",
                          function, there->queue.device->info.name);
    return abuti_device_check_doubles(function, there);
}

abut_status abuti_sign_on_device(const char *function, bvh_on_device *there,
                                 sign_attachment **sign) {
    const struct bvh_sign *from = bvh_sign_of(there->bvh);
    bvh_attachment *attachment = NULL;
    abut_status status;
    if ((status = abuti_sign_check_on_device(function, there, from)) ||
        (status = abuti_on_device_attachment(there, &sign_attachment_kind, &attachment)))
        return status;
    sign_attachment *to = (sign_attachment *)attachment;
    *sign = to;
    if (to->is_uploaded)
        return ABUT_OK;
    to->closed = from->closed;
    to->facing = from->facing;
    to->by_normals = from->method == ABUT_SIGN_NORMAL;
    if (to->by_normals)
        upload_normals(to, from);
    status = abuti_kit_finish(&to->kit);
    to->is_uploaded = !status;
    return status;
}

/* Uploads the expansions for winding numbers. */
static abut_status upload_far_fields(sign_attachment *sign) {
    const bvh_on_device *there = sign->there;
    if (sign->closed || sign->has_far)
        return ABUT_OK;
    abut_status status = abuti_sign_far(there->bvh);
    if (status)
        return status;
    abuti_kit_upload(&sign->kit, SIGN_FAR, atomic_load(&bvh_sign_of(there->bvh)->far),
                     there->tree.node_count, sizeof(bvh_far_node));
    status = abuti_kit_finish(&sign->kit);
    sign->has_far = !status;
    return status;
}

/* ---- without boundary ---- */

/* The box of the mesh in the frame. Only points that are outside by more than a margin are skipped.
 */
static void frame_box(const bvh_on_device *there, float lo[4], float hi[4]) {
    const abut_mesh *mesh = there->tree.mesh;
    lo[3] = hi[3] = 0;
    for (int axis = 0; axis < 3; axis++) {
        double origin = v3_get(mesh->origin, axis);
        lo[axis] = (float)((v3_get(mesh->bounds.lo, axis) - origin) * there->tree.scale);
        hi[axis] = (float)((v3_get(mesh->bounds.hi, axis) - origin) * there->tree.scale);
    }
}

/* The query: QUEST_SIGN and so on. */
typedef struct sign_query {
    sign_attachment *sign;
    uint32_t what;
} sign_query;

#define SCRATCH(which) KIT_BUFFER(&n->kit, NEAREST_##which)

static void enqueue_closed(const point_query *q, bvh_kit *n, uint32_t count, uint32_t first,
                           const abuti_buffer *results) {
    const sign_query *asked = q->user;
    sign_attachment *sign = asked->sign;
    const bvh_on_device *there = sign->there;
    const uint32_t has_normals = sign->by_normals, triangle_count = there->tree.triangle_count;
    const abuti_buffer *normals =
        has_normals ? &sign->kit.buffers[SIGN_NORMALS] : &n->kit.buffers[NEAREST_EXACT];
    float lo[4], hi[4];
    frame_box(there, lo, hi);
    if (asked->what == QUEST_SIGN)
        ABUTI_KIT_RUN(&sign->kit, BY_NORMALS, count, SIGN_GROUP, ABUTI_BUFFER(normals),
                      ABUTI_VALUE(has_normals), ABUTI_VALUE(sign->facing), SCRATCH(EXACT),
                      SCRATCH(ORDER), ABUTI_VALUE(count), ABUTI_VALUE(first), ABUTI_BUFFER(results),
                      SCRATCH(COUNTS));
    ABUTI_KIT_RUN(&sign->kit, FIND, count, SIGN_GROUP, TREE(there, nodes), TREE(there, triangles),
                  ABUTI_VALUE(triangle_count), SCRATCH(SORTED), ABUTI_VALUE(count),
                  ABUTI_VALUE(asked->what), ABUTI_VALUE(lo), ABUTI_VALUE(hi), SCRATCH(COUNTS),
                  SCRATCH(KEYS), SCRATCH(PLACES));
    ABUTI_KIT_RUN(&sign->kit, DECIDE_EXACTLY, count, SIGN_GROUP, TREE(there, nodes),
                  ABUTI_VALUE(triangle_count), TREE(there, order), TREE(there, corners),
                  SCRATCH(SORTED), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                  ABUTI_VALUE(asked->what), ABUTI_VALUE(lo), ABUTI_VALUE(hi), SCRATCH(COUNTS),
                  SCRATCH(KEYS), SCRATCH(PLACES), ABUTI_VALUE(first), ABUTI_BUFFER(results),
                  ABUTI_BUFFER(results));
}

/* ---- with a boundary ---- */

static void enqueue_open(const point_query *q, bvh_kit *n, uint32_t count, uint32_t first,
                         const abuti_buffer *results) {
    const sign_query *asked = q->user;
    sign_attachment *sign = asked->sign;
    const bvh_on_device *there = sign->there;
    const mesh_frame frame = frame_of(there);
    const uint32_t triangle_count = there->tree.triangle_count;
    ABUTI_KIT_RUN(&sign->kit, ANSWER, count, SIGN_GROUP, TREE(there, nodes),
                  KIT_BUFFER(&sign->kit, SIGN_FAR), ABUTI_VALUE(triangle_count), TREE(there, order),
                  TREE(there, corners), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                  ABUTI_VALUE(frame), ABUTI_VALUE(sign->facing), ABUTI_VALUE(asked->what),
                  ABUTI_VALUE(first), ABUTI_BUFFER(results), ABUTI_BUFFER(results));
    if (asked->what == QUEST_INSIDE)
        ABUTI_KIT_RUN(&sign->kit, TOUCH, count, SIGN_GROUP, TREE(there, nodes),
                      ABUTI_VALUE(triangle_count), TREE(there, order), TREE(there, corners),
                      SCRATCH(SORTED), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                      ABUTI_VALUE(first), ABUTI_BUFFER(results));
}

/* ---- queries ---- */

abut_status abuti_sign_query_on_device(const char *function, bvh_on_device *there,
                                       const bvh_points *points, uint32_t what, double radius,
                                       abut_array results) {
    const point_query queries[] = {
        [QUEST_SIGN] = {.stage = "nearest", .nearest = true, .result_bytes = sizeof(abut_nearest)},
        [QUEST_INSIDE] = {.stage = "inside", .result_bytes = sizeof(bool)},
        [QUEST_WINDING] = {.stage = "winding", .result_bytes = sizeof(double)}};
    sign_query asked = {NULL, what};
    abut_status status;
    if ((status = abuti_sign_on_device(function, there, &asked.sign)) ||
        (status = upload_far_fields(asked.sign)))
        return status;
    point_query query = queries[what];
    query.function = function;
    query.radius = radius;
    query.results = results;
    query.user = &asked;
    query.enqueue = asked.sign->closed ? enqueue_closed : enqueue_open;
    return abuti_nearest_points(there, points, &query);
}
