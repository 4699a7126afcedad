/* The host side of inside.cl: inside and outside, winding numbers and signed distances. */
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

enum { BY_NORMALS, FIND, SETTLE, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {[BY_NORMALS] = {"inside", "inside_normals",
                                                                     NULL},
                                                     [FIND] = {"inside", "inside_find", NULL},
                                                     [SETTLE] = {"inside", "inside_settle", NULL}};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = SIGN_BUFFERS};

static abut_status create_sign_kit(bvh_attachment *attachment, void *owner) {
    sign_attachment *sign = (sign_attachment *)attachment;
    sign->there = owner;
    return abuti_on_device_kit(owner, &table, &sign->kit);
}

static abut_status refit_sign_kit(bvh_attachment *attachment) {
    ((sign_attachment *)attachment)->is_uploaded = false;
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

/* Without boundary the buffers are not accessed. */
static void upload_boundary(sign_attachment *sign, const struct bvh_sign *from) {
    const boundary_tree none = {0}, *tree = sign->closed ? &none : atomic_load(&from->boundary);
    sign->node_count = tree->node_count;
    abuti_kit_upload(&sign->kit, SIGN_BOUNDARY_NODES, tree->nodes, tree->node_count,
                     sizeof *tree->nodes);
    abuti_kit_upload(&sign->kit, SIGN_BOUNDARY_VERTICES, tree->vertices, tree->vertex_count,
                     sizeof *tree->vertices);
}

abut_status abuti_sign_check_on_device(const char *function, const bvh_on_device *there,
                                       const struct bvh_sign *from) {
    if (!from)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: signs are not prepared for this BVH; call abut_sign_prepare() first",
                          function);
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
    if (!to->closed)
        abuti_kit_fail(&to->kit, abuti_sign_ready(there->bvh));
    if (!abuti_kit_failed(&to->kit))
        upload_boundary(to, from);
    status = abuti_kit_finish(&to->kit);
    to->is_uploaded = !status;
    return status;
}

/* ---- queries ---- */

/* As in inside.cl. */
typedef struct mesh_box {
    box3 box;
    uint64_t along_x;
} mesh_box;

typedef struct boundary_frame {
    double origin[3], scale, facing;
    uint32_t node_count, unused;
} boundary_frame;

/* The query: QUEST_SIGN and so on. */
typedef struct sign_query {
    sign_attachment *sign;
    uint32_t what;
} sign_query;

#define SCRATCH(which) KIT_BUFFER(&n->kit, NEAREST_##which)

static void enqueue_signs(const point_query *q, nearest_attachment *n, uint32_t count,
                          uint32_t first, const abuti_buffer *results) {
    const sign_query *asked = q->user;
    sign_attachment *sign = asked->sign;
    const bvh_on_device *there = sign->there;
    const uint32_t has_normals = sign->by_normals, triangle_count = there->tree.triangle_count;
    const abuti_buffer *normals =
        has_normals ? &sign->kit.buffers[SIGN_NORMALS] : &n->kit.buffers[NEAREST_EXACT];
    const mesh_box box = {there->tree.mesh->bounds, !sign->closed};
    const vec3 origin = there->tree.mesh->origin;
    const boundary_frame frame = {.origin = {origin.x, origin.y, origin.z},
                                  .scale = there->tree.scale,
                                  .facing = sign->facing,
                                  .node_count = sign->node_count};
    if (asked->what == QUEST_SIGN)
        ABUTI_KIT_RUN(&sign->kit, BY_NORMALS, count, SIGN_GROUP, ABUTI_BUFFER(normals),
                      ABUTI_VALUE(has_normals), ABUTI_VALUE(sign->facing), SCRATCH(EXACT),
                      SCRATCH(ORDER), ABUTI_VALUE(count), ABUTI_VALUE(first), ABUTI_BUFFER(results),
                      SCRATCH(COUNTS));
    ABUTI_KIT_RUN(&sign->kit, FIND, count, SIGN_GROUP, TREE(there, nodes), TREE(there, triangles),
                  ABUTI_VALUE(triangle_count), SCRATCH(SORTED), SCRATCH(EXACT), SCRATCH(ORDER),
                  ABUTI_VALUE(count), ABUTI_VALUE(asked->what), ABUTI_VALUE(box), SCRATCH(COUNTS),
                  SCRATCH(KEYS), SCRATCH(PLACES));
    ABUTI_KIT_RUN(&sign->kit, SETTLE, count, SIGN_GROUP, TREE(there, nodes),
                  ABUTI_VALUE(triangle_count), TREE(there, order), TREE(there, corners),
                  SCRATCH(SORTED), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                  ABUTI_VALUE(asked->what), ABUTI_VALUE(box), SCRATCH(COUNTS), SCRATCH(KEYS),
                  SCRATCH(PLACES), KIT_BUFFER(&sign->kit, SIGN_BOUNDARY_NODES),
                  KIT_BUFFER(&sign->kit, SIGN_BOUNDARY_VERTICES), ABUTI_VALUE(frame),
                  ABUTI_VALUE(first), ABUTI_BUFFER(results), ABUTI_BUFFER(results));
}

static abut_status run_sign_query(bvh_on_device *there, const bvh_points *points, uint32_t what,
                                  point_query *query) {
    sign_query asked = {NULL, what};
    abut_status status;
    if ((status = abuti_sign_on_device(query->function, there, &asked.sign)))
        return status;
    query->user = &asked;
    query->enqueue = enqueue_signs;
    return abuti_nearest_points(there, points, query);
}

abut_status abuti_sign_inside_on_device(const char *function, bvh_on_device *there,
                                        const bvh_points *points, abut_array inside) {
    point_query query = {.function = function,
                         .stage = "inside",
                         .results = inside,
                         .result_bytes = sizeof(bool)};
    return run_sign_query(there, points, QUEST_INSIDE, &query);
}

abut_status abuti_sign_winding_on_device(const char *function, bvh_on_device *there,
                                         const bvh_points *points, abut_array winding) {
    point_query query = {.function = function,
                         .stage = "winding",
                         .results = winding,
                         .result_bytes = sizeof(double)};
    return run_sign_query(there, points, QUEST_WINDING, &query);
}

abut_status abuti_sign_nearest_on_device(const char *function, bvh_on_device *there,
                                         const bvh_points *points, double radius,
                                         abut_array nearest) {
    point_query query = {.function = function,
                         .stage = "nearest",
                         .radius = radius,
                         .nearest = true,
                         .results = nearest,
                         .result_bytes = sizeof(abut_nearest)};
    return run_sign_query(there, points, QUEST_SIGN, &query);
}
