/* Creation and life of a mesh.
 *
 * The origin. Positions are kept relative to one origin, so that a mesh far from zero keeps float
 * precision where floats are used. The subtraction must not round: on each axis the origin is 0
 * unless all coordinates lie within a factor of two of each other, hi <= 2 lo or 2 hi <= lo; then
 * it is a value from among them and x - origin is exact (Sterbenz 1974: x - y is exact for y/2 <= x
 * <= 2y). If the origin is a float and the coordinates are floats, the differences are floats too,
 * so a float copy for the device is also exact.
 */
#include "mesh/mesh.h"

#include <string.h>

/* The origin of an axis whose coordinates fill [lo, hi]. */
static double choose_origin(double lo, double hi) {
    bool near_zero = lo <= 0 && hi >= 0;
    if (near_zero || (lo > 0 ? hi > 2 * lo : lo < 2 * hi))
        return 0;
    double centre = 0.5 * lo + 0.5 * hi;
    if (fabs(centre) <= FLT_MAX) {
        double rounded = (float)centre;
        if (lo <= rounded && rounded <= hi)
            return rounded;
        return lo; /* narrower than a float can tell: lo is a float if the input was */
    }
    return centre;
}

/* Finds out on all threads whether some item is bad; who says which one looks for the first. */
typedef struct checking {
    const uint32_t *indices;
    const vec3 *positions;
    size_t vertex_count;
    atomic_bool bad;
} checking;

enum { ITEMS_A_TASK = 16384 };

static bool is_legal(vec3 p) {
    return fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
           fabs(p.z) <= ABUT_COORDINATE_MAX;
}

static void indices_task(void *data, size_t chunk, size_t begin, size_t end) {
    checking *c = data;
    bool bad = false;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        bad |= c->indices[i] >= c->vertex_count;
    if (bad)
        atomic_store(&c->bad, true);
}

static void positions_task(void *data, size_t chunk, size_t begin, size_t end) {
    checking *c = data;
    bool bad = false;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        bad |= !is_legal(c->positions[i]);
    if (bad)
        atomic_store(&c->bad, true);
}

static abut_status check_indices(const char *name, const uint32_t *indices, size_t triangle_count,
                                 size_t vertex_count, abut_context *context) {
    checking c = {.indices = indices, .vertex_count = vertex_count};
    abuti_parallel_for(context, 3 * triangle_count, ITEMS_A_TASK, indices_task, &c);
    for (size_t i = 0; atomic_load(&c.bad) && i < 3 * triangle_count; i++)
        if (indices[i] >= vertex_count)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: triangle %zu names vertex %u, but there are only %zu", name,
                              i / 3, indices[i], vertex_count);
    return ABUT_OK;
}

static abut_status check_positions(const char *name, const vec3 *positions, size_t count,
                                   abut_context *context) {
    checking c = {.positions = positions};
    abuti_parallel_for(context, count, ITEMS_A_TASK, positions_task, &c);
    for (size_t i = 0; atomic_load(&c.bad) && i < count; i++) {
        vec3 p = positions[i];
        if (!is_legal(p))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: vertex %zu is (%g, %g, %g); coordinates must be finite and at "
                              "most %g in magnitude",
                              name, i, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

/* ---- bounds ---- */

enum { VERTICES_A_TASK = 8192, CHUNKS_MOST = 64 };

typedef struct bounding {
    const abut_mesh *mesh;
    box3 boxes[CHUNKS_MOST];
} bounding;

static void used_task(void *data, size_t chunk, size_t begin, size_t end) {
    bounding *b = data;
    box3 box = box_empty();
    for (size_t i = begin; i < end; i++)
        box = box_grow(box, b->mesh->positions[b->mesh->indices[i]]);
    b->boxes[chunk] = box;
}

static void all_task(void *data, size_t chunk, size_t begin, size_t end) {
    bounding *b = data;
    box3 box = box_empty();
    for (size_t i = begin; i < end; i++)
        box = box_grow(box, b->mesh->positions[i]);
    b->boxes[chunk] = box;
}

/* The box of what a task looks at, over all its items. */
static box3 bounds_by(const abut_mesh *mesh, size_t count,
                      void (*task)(void *data, size_t chunk, size_t begin, size_t end)) {
    bounding b = {.mesh = mesh};
    box3 box = box_empty();
    size_t each = count / CHUNKS_MOST + 1;
    each = each < VERTICES_A_TASK ? VERTICES_A_TASK : each;
    abuti_parallel_for(mesh->context, count, each, task, &b);
    for (size_t i = 0; i < abuti_chunk_count(count, each); i++)
        box = box_join(box, b.boxes[i]);
    return box;
}

static void move_task(void *data, size_t chunk, size_t begin, size_t end) {
    abut_mesh *mesh = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        mesh->positions[i] = v3_sub(mesh->positions[i], mesh->origin);
}

/* Bounds of used vertices, then the origin from the bounds of all vertices, then relative. */
static void settle(abut_mesh *mesh) {
    mesh->bounds = bounds_by(mesh, 3 * (size_t)mesh->triangle_count, used_task);
    box3 all = bounds_by(mesh, mesh->vertex_count, all_task);
    mesh->origin = v3(choose_origin(all.lo.x, all.hi.x), choose_origin(all.lo.y, all.hi.y),
                      choose_origin(all.lo.z, all.hi.z));
    abuti_parallel_for(mesh->context, mesh->vertex_count, VERTICES_A_TASK, move_task, mesh);
}

/* ---- checks ---- */

/* The last bits of three coordinates must multiply to something that is not 0, or exact signs are
 * not (geom/predicates_shared.h). Who reads of it can scale the mesh; a few such coordinates beside
 * others, left over from some cancellation, most often do no harm. */
#define COORDINATE_MIN 1e-91

static bool is_tiny(double x) {
    return x != 0 && fabs(x) < COORDINATE_MIN;
}

static void warn_of_tiny(abut_context *context, const char *name, const vec3 *positions,
                         size_t count) {
    size_t tiny = 0, first = 0;
    for (size_t i = 0; i < count; i++)
        if (is_tiny(positions[i].x) || is_tiny(positions[i].y) || is_tiny(positions[i].z)) {
            first = tiny ? first : i;
            tiny++;
        }
    if (tiny)
        abuti_log(context, ABUT_LOG_WARNING,
                  "%s: %zu of %zu vertices have coordinates below %g that are not 0 (the first is "
                  "vertex %zu), of which products of three are too small for a double: whether "
                  "triangles touch there, and which side of them a point is on, may be told "
                  "wrongly; scale the mesh up",
                  name, tiny, count, COORDINATE_MIN, first);
}

abut_status abuti_mesh_adopt(abut_context *context, const char *name, vec3 *positions,
                             size_t vertex_count, uint32_t *indices, size_t triangle_count,
                             abut_mesh **mesh) {
    abut_status status = ABUT_OK;
    abut_mesh *made = NULL;
    if (triangle_count == 0)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: has no triangles", name);
    else if (vertex_count >= ABUT_NONE || triangle_count >= ABUT_NONE / 3)
        /* 3 triangles' edges and corners must fit 32-bit numbers too */
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "%s: %zu vertices and %zu triangles; at most %u and %u are possible",
                            name, vertex_count, triangle_count, ABUT_NONE - 1, ABUT_NONE / 3 - 1);
    status = status ? status : check_indices(name, indices, triangle_count, vertex_count, context);
    status = status ? status : check_positions(name, positions, vertex_count, context);
    if (!status && !(made = abuti_allocate_zeroed(context, 1, sizeof *made)))
        status = ABUT_ERROR_MEMORY;
    if (status) {
        ABUTI_RELEASE(context, positions, indices);
        return status;
    }
    made->context = abuti_context_retain(context);
    atomic_init(&made->holds, 1);
    made->vertex_count = (uint32_t)vertex_count;
    made->triangle_count = (uint32_t)triangle_count;
    made->positions = positions;
    made->indices = indices;
    warn_of_tiny(context, name, positions, vertex_count);
    settle(made);
    *mesh = made;
    return ABUT_OK;
}

/* ---- from the caller's arrays ---- */

typedef struct array_copying {
    const abut_mesh_input *input;
    size_t stride;
    vec3 *positions;
    uint32_t *indices;
} array_copying;

static void copy_positions(void *data, size_t chunk, size_t begin, size_t end) {
    const array_copying *c = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const unsigned char *source = (const unsigned char *)c->input->positions + i * c->stride;
        if (c->input->position_type == ABUT_SCALAR_FLOAT32) {
            float p[3];
            memcpy(p, source, sizeof p);
            c->positions[i] = v3(p[0], p[1], p[2]);
        } else {
            memcpy(&c->positions[i], source, sizeof c->positions[i]);
        }
    }
}

static void copy_indices(void *data, size_t chunk, size_t begin, size_t end) {
    const array_copying *c = data;
    const unsigned char *at = c->input->indices;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        uint32_t *corner = c->indices + 3 * i;
        if (!at) {
            for (uint32_t k = 0; k < 3; k++)
                corner[k] = (uint32_t)(3 * i) + k;
        } else if (c->input->index_type == ABUT_INDEX_UINT16) {
            uint16_t short_corner[3];
            memcpy(short_corner, at + i * c->stride, sizeof short_corner);
            for (int k = 0; k < 3; k++)
                corner[k] = short_corner[k];
        } else {
            memcpy(corner, at + i * c->stride, 3 * sizeof *corner);
        }
    }
}

/* The stride to use, or 0 with the error set where the product of stride and count overflows. */
static size_t settle_stride(size_t stride, size_t packed, size_t count, const char *what) {
    size_t bytes;
    if (!stride)
        stride = packed;
    if (stride < packed || abuti_multiply_overflows(stride, count, &bytes)) {
        abuti_fail(ABUT_ERROR_ARGUMENT,
                   "abut_mesh_create: %s_stride is %zu bytes for %zu elements; give 0 for packed "
                   "data or at least %zu",
                   what, stride, count, packed);
        return 0;
    }
    return stride;
}

/* Checks what can be told without a look at the arrays, before anything is allocated. */
static abut_status check_input(const abut_mesh_input *in, size_t *triangle_count) {
    if (!in->positions || !in->vertex_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_mesh_create: there are no positions");
    if (in->position_type != ABUT_SCALAR_FLOAT64 && in->position_type != ABUT_SCALAR_FLOAT32)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_mesh_create: position_type is %u; set it to ABUT_SCALAR_FLOAT64 or "
                          "ABUT_SCALAR_FLOAT32, as abut_mesh_input_doubles() and _floats() do",
                          (unsigned)in->position_type);
    if ((unsigned)in->index_type > ABUT_INDEX_UINT16)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_mesh_create: unknown index_type %u",
                          (unsigned)in->index_type);
    *triangle_count = in->triangle_count;
    if (!in->indices && !in->triangle_count) {
        if (in->vertex_count % 3)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_mesh_create: without indices, vertex_count must be a multiple "
                              "of 3; it is %u",
                              in->vertex_count);
        *triangle_count = in->vertex_count / 3;
    }
    if (!in->indices && *triangle_count > in->vertex_count / 3)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_mesh_create: without indices, %u vertices make %u triangles, not "
                          "triangle_count = %u",
                          in->vertex_count, in->vertex_count / 3, in->triangle_count);
    if (*triangle_count >= ABUT_NONE / 3)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_mesh_create: %zu triangles; at most %u are possible",
                          *triangle_count, ABUT_NONE / 3 - 1);
    return ABUT_OK;
}

abut_status abut_mesh_create(abut_context *context, const abut_mesh_input *input,
                             abut_mesh **mesh) {
    abut_mesh_input in = abut_mesh_input_default();
    if (!input || !mesh)
        return abuti_null(__func__, input ? "mesh" : "input");
    abut_status status = abuti_options_read(&in, sizeof in, input, "abut_mesh_create");
    if (status)
        return status;
    size_t triangle_count = 0;
    status = check_input(&in, &triangle_count);
    if (status)
        return status;
    size_t position_bytes = in.position_type == ABUT_SCALAR_FLOAT32 ? 12 : 24;
    size_t index_bytes = in.index_type == ABUT_INDEX_UINT16 ? 6 : 12;
    size_t position_stride =
        settle_stride(in.position_stride, position_bytes, in.vertex_count, "position");
    size_t index_stride = settle_stride(in.index_stride, index_bytes, triangle_count, "index");
    if (!position_stride || !index_stride)
        return ABUT_ERROR_ARGUMENT;

    context = abuti_context_of(context);
    vec3 *positions = abuti_allocate(context, in.vertex_count, sizeof *positions);
    uint32_t *indices = abuti_allocate(context, triangle_count, 3 * sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    array_copying c = {&in, position_stride, positions, indices};
    abuti_parallel_for(context, in.vertex_count, ITEMS_A_TASK, copy_positions, &c);
    c.stride = index_stride;
    abuti_parallel_for(context, triangle_count, ITEMS_A_TASK, copy_indices, &c);
    return abuti_mesh_adopt(context, "abut_mesh_create", positions, in.vertex_count, indices,
                            triangle_count, mesh);
}

/* ---- life ---- */

abut_mesh *abut_mesh_retain(abut_mesh *mesh) {
    if (mesh)
        atomic_fetch_add_explicit(&mesh->holds, 1, memory_order_relaxed);
    return mesh;
}

void abut_mesh_destroy(abut_mesh *mesh) {
    if (!mesh || atomic_fetch_sub_explicit(&mesh->holds, 1, memory_order_acq_rel) != 1)
        return;
    abut_context *context = mesh->context;
    ABUTI_RELEASE(context, mesh->positions, mesh->indices, mesh);
    abut_context_destroy(context);
}

uint32_t abut_mesh_vertex_count(const abut_mesh *mesh) {
    return mesh ? mesh->vertex_count : 0;
}

uint32_t abut_mesh_triangle_count(const abut_mesh *mesh) {
    return mesh ? mesh->triangle_count : 0;
}

abut_vec3 abut_mesh_origin(const abut_mesh *mesh) {
    return mesh ? mesh->origin : v3(0, 0, 0);
}

const abut_vec3 *abut_mesh_positions(const abut_mesh *mesh) {
    return mesh ? mesh->positions : NULL;
}

const uint32_t *abut_mesh_indices(const abut_mesh *mesh) {
    return mesh ? mesh->indices : NULL;
}

abut_box abut_mesh_bounds(const abut_mesh *mesh) {
    abut_box none = {{0, 0, 0}, {0, 0, 0}};
    return mesh ? mesh->bounds : none;
}

abut_vec3 abut_mesh_up(const abut_mesh *mesh) {
    return mesh ? mesh->up : v3(0, 0, 0);
}

/* ---- names ---- */

const char *abut_scalar_type_name(abut_scalar_type type) {
    static const char *const names[] = {"none", "float64", "float32"};
    return ABUTI_NAME(names, type);
}

const char *abut_index_type_name(abut_index_type type) {
    static const char *const names[] = {"uint32", "uint16"};
    return ABUTI_NAME(names, type);
}
