/* Creation and lifetime of a mesh.
 *
 * The origin. Positions are stored relative to one origin, so that a mesh far from zero keeps its
 * precision in float. The subtraction must not round: on each axis the origin is 0 unless all
 * coordinates are within a factor of two of each other, hi <= 2 lo or 2 hi <= lo. Then the origin
 * is a value from [lo, hi], and x - origin is exact (Sterbenz 1974: x - y is exact for y/2 <= x <=
 * 2y). If the origin is a float and the coordinates are floats, the differences are floats too, so
 * a float copy for the device is also exact.
 */
#include "mesh/mesh.h"

#include <string.h>

/* The origin of an axis whose coordinates span [lo, hi]. */
static double choose_origin(double lo, double hi) {
    bool near_zero = lo <= 0 && hi >= 0;
    if (near_zero || (lo > 0 ? hi > 2 * lo : lo < 2 * hi))
        return 0;
    double centre = 0.5 * lo + 0.5 * hi;
    if (fabs(centre) <= FLT_MAX) {
        double rounded = (float)centre;
        if (lo <= rounded && rounded <= hi)
            return rounded;
        return lo; /* no float in between: lo is a float if the input was */
    }
    return centre;
}

enum { ITEMS_PER_TASK = 4096, CHUNKS_MAX = 64 };

/* ---- validation ----
 *
 * On all threads, once over the positions and once over the indices: separate passes would cost as
 * much again to start the threads. On failure, a serial search finds the first invalid element for
 * the message.
 */

/* The product of the last bits of three coordinates must not underflow to 0, or predicates are not
 * exact (geom/predicates_shared.h). A mesh with only such coordinates is rejected. A few of them,
 * left over from a cancellation, are usually harmless: a warning is logged. */
#define COORDINATE_MIN 1e-91

static bool is_tiny(double x) {
    return x != 0 && fabs(x) < COORDINATE_MIN;
}

static bool has_tiny(vec3 p) {
    return is_tiny(p.x) || is_tiny(p.y) || is_tiny(p.z);
}

typedef struct validation {
    const uint32_t *indices;
    const vec3 *positions;
    size_t vertex_count;
    atomic_bool bad, tiny;
    box3 boxes[CHUNKS_MAX]; /* bounding box of the items of a chunk */
} validation;

static void check_positions_task(void *data, size_t chunk, size_t begin, size_t end) {
    validation *l = data;
    bool bad = false, tiny = false;
    box3 box = box_empty();
    for (size_t i = begin; i < end; i++) {
        vec3 p = l->positions[i];
        bad |= !abuti_is_position(p);
        tiny |= has_tiny(p);
        box = box_grow(box, p);
    }
    if (bad)
        atomic_store(&l->bad, true);
    if (tiny)
        atomic_store(&l->tiny, true);
    l->boxes[chunk] = box;
}

static void check_indices_task(void *data, size_t chunk, size_t begin, size_t end) {
    validation *l = data;
    bool bad = false;
    box3 box = box_empty();
    for (size_t i = begin; i < end; i++) {
        if (l->indices[i] < l->vertex_count)
            box = box_grow(box, l->positions[l->indices[i]]);
        else
            bad = true;
    }
    if (bad)
        atomic_store(&l->bad, true);
    l->boxes[chunk] = box;
}

/* The bounding box of all valid items. */
static box3 compute_bounds(validation *l, abut_context *context, size_t count,
                           void (*task)(void *data, size_t chunk, size_t begin, size_t end)) {
    box3 box = box_empty();
    size_t each = count / CHUNKS_MAX + 1;
    each = each < ITEMS_PER_TASK ? ITEMS_PER_TASK : each;
    abuti_parallel_for(context, count, each, task, l);
    for (size_t i = 0; i < abuti_chunk_count(count, each); i++)
        box = box_join(box, l->boxes[i]);
    return box;
}

static abut_status fail_index(const char *name, const validation *l) {
    size_t i = 0;
    while (l->indices[i] < l->vertex_count)
        i++;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: triangle %zu refers to vertex %u, but there are only %zu vertices", name,
                      i / 3, l->indices[i], l->vertex_count);
}

static abut_status fail_position(const char *name, const validation *l) {
    size_t i = 0;
    while (abuti_is_position(l->positions[i]))
        i++;
    vec3 p = l->positions[i];
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: vertex %zu is (%g, %g, %g); coordinates must be finite and at "
                      "most %g in magnitude",
                      name, i, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
}

static void warn_about_tiny(abut_context *context, const char *name, const validation *l) {
    size_t tiny = 0, first = 0;
    for (size_t i = 0; i < l->vertex_count; i++)
        if (has_tiny(l->positions[i])) {
            first = tiny ? first : i;
            tiny++;
        }
    abuti_log(context, ABUT_LOG_WARNING,
              "%s: %zu of %zu vertices have coordinates below %g that are not 0 (the first is "
              "vertex %zu), of which products of three are too small for a double: whether "
              "triangles touch there, and which side of them a point is on, may be wrong; set "
              "them to 0, or scale the mesh",
              name, tiny, l->vertex_count, COORDINATE_MIN, first);
}

abut_status abuti_mesh_check_size(const char *name, box3 box) {
    double size = v3_max_abs(v3_sub(box.hi, box.lo));
    if (size == 0 || size >= ABUT_MESH_SIZE_MIN)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: the longest side of the bounding box is %g; it must be 0 or at least "
                      "%g: scale the coordinates",
                      name, size, ABUT_MESH_SIZE_MIN);
}

static void subtract_origin_task(void *data, size_t chunk, size_t begin, size_t end) {
    abut_mesh *mesh = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        mesh->positions[i] = v3_sub(mesh->positions[i], mesh->origin);
}

/* Sets the origin from the bounding box of all vertices, then makes positions relative to it. */
static void set_origin(abut_mesh *mesh, box3 all) {
    mesh->origin = v3(choose_origin(all.lo.x, all.hi.x), choose_origin(all.lo.y, all.hi.y),
                      choose_origin(all.lo.z, all.hi.z));
    if (mesh->origin.x != 0 || mesh->origin.y != 0 || mesh->origin.z != 0)
        abuti_parallel_for(mesh->context, mesh->vertex_count, ITEMS_PER_TASK, subtract_origin_task,
                           mesh);
}

static abut_status create_mesh(abut_context *context, const char *name, vec3 *positions,
                               size_t vertex_count, uint32_t *indices, size_t triangle_count,
                               bool is_derived, abut_mesh **mesh) {
    validation l = {.indices = indices, .positions = positions, .vertex_count = vertex_count};
    box3 used = box_empty(), all = box_empty();
    abut_status status = ABUT_OK;
    abut_mesh *created = NULL;
    if (triangle_count == 0)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: has no triangles", name);
    else if (vertex_count >= ABUT_NONE || triangle_count >= ABUT_NONE / 3)
        /* 3 * triangle_count, the number of half-edges, must fit 32 bits too */
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "%s: %zu vertices and %zu triangles; at most %u and %u are possible",
                            name, vertex_count, triangle_count, ABUT_NONE - 1, ABUT_NONE / 3 - 1);
    if (!status) {
        used = compute_bounds(&l, context, 3 * triangle_count, check_indices_task);
        status = atomic_load(&l.bad) ? fail_index(name, &l) : ABUT_OK;
    }
    if (!status) {
        all = compute_bounds(&l, context, vertex_count, check_positions_task);
        status = atomic_load(&l.bad) ? fail_position(name, &l) : ABUT_OK;
    }
    if (!status && !is_derived)
        status = abuti_mesh_check_size(name, used);
    if (!status && !(created = abuti_allocate_zeroed(context, 1, sizeof *created)))
        status = ABUT_ERROR_MEMORY;
    if (status) {
        ABUTI_RELEASE(context, positions, indices);
        return status;
    }
    created->context = abuti_context_retain(context);
    atomic_init(&created->reference_count, 1);
    created->vertex_count = (uint32_t)vertex_count;
    created->triangle_count = (uint32_t)triangle_count;
    created->positions = positions;
    created->indices = indices;
    created->bounds = used;
    if (atomic_load(&l.tiny) && !is_derived)
        warn_about_tiny(context, name, &l);
    set_origin(created, all);
    *mesh = created;
    return ABUT_OK;
}

abut_status abuti_mesh_adopt(abut_context *context, const char *name, vec3 *positions,
                             size_t vertex_count, uint32_t *indices, size_t triangle_count,
                             abut_mesh **mesh) {
    return create_mesh(context, name, positions, vertex_count, indices, triangle_count, false,
                       mesh);
}

abut_status abuti_mesh_derive(abut_context *context, const char *name, vec3 *positions,
                              size_t vertex_count, uint32_t *indices, size_t triangle_count,
                              abut_mesh **mesh) {
    return create_mesh(context, name, positions, vertex_count, indices, triangle_count, true, mesh);
}

/* ---- from the caller's arrays ---- */

typedef struct array_copy {
    const abut_mesh_input *input;
    size_t stride;
    vec3 *positions;
    uint32_t *indices;
} array_copy;

static void copy_positions(void *data, size_t chunk, size_t begin, size_t end) {
    const array_copy *c = data;
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
    const array_copy *c = data;
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

/* Returns the stride to use, or 0 with the error set if it is too small or its product with the
 * count overflows. */
static size_t resolve_stride(size_t stride, size_t packed, size_t count, const char *what) {
    size_t bytes;
    if (!stride)
        stride = packed;
    if (stride < packed || abuti_multiply_overflows(stride, count, &bytes)) {
        abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_mesh_create: %s_stride is %zu bytes for %zu elements; it must be 0 for packed "
            "data or at least %zu",
            what, stride, count, packed);
        return 0;
    }
    return stride;
}

/* Validates everything that does not need the arrays, before memory is allocated. */
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
        resolve_stride(in.position_stride, position_bytes, in.vertex_count, "position");
    size_t index_stride = resolve_stride(in.index_stride, index_bytes, triangle_count, "index");
    if (!position_stride || !index_stride)
        return ABUT_ERROR_ARGUMENT;

    context = abuti_context_of(context);
    vec3 *positions;
    uint32_t *indices;
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(positions, in.vertex_count),
                                 ABUTI_ARRAY(indices, 3 * triangle_count))))
        return status;
    array_copy c = {&in, position_stride, positions, indices};
    abuti_parallel_for(context, in.vertex_count, ITEMS_PER_TASK, copy_positions, &c);
    c.stride = index_stride;
    abuti_parallel_for(context, triangle_count, ITEMS_PER_TASK, copy_indices, &c);
    return abuti_mesh_adopt(context, "abut_mesh_create", positions, in.vertex_count, indices,
                            triangle_count, mesh);
}

/* ---- lifetime ---- */

abut_mesh *abut_mesh_retain(abut_mesh *mesh) {
    if (mesh)
        atomic_fetch_add_explicit(&mesh->reference_count, 1, memory_order_relaxed);
    return mesh;
}

void abut_mesh_destroy(abut_mesh *mesh) {
    if (!mesh || atomic_fetch_sub_explicit(&mesh->reference_count, 1, memory_order_acq_rel) != 1)
        return;
    abut_context *context = mesh->context;
    ABUTI_RELEASE(context, mesh->positions, mesh->indices, mesh->uv, mesh);
    abut_context_destroy(context);
}

uint32_t abut_mesh_vertex_count(const abut_mesh *mesh) {
    return mesh ? mesh->vertex_count : 0;
}

uint32_t abut_mesh_triangle_count(const abut_mesh *mesh) {
    return mesh ? mesh->triangle_count : 0;
}

abut_vec3 abut_mesh_local_origin(const abut_mesh *mesh) {
    return mesh ? mesh->origin : v3(0, 0, 0);
}

const double *abut_mesh_uv(const abut_mesh *mesh) {
    return mesh ? mesh->uv : NULL;
}

const abut_vec3 *abut_mesh_local_positions(const abut_mesh *mesh) {
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

abut_status abut_mesh_get_positions(const abut_mesh *mesh, abut_vec3 *positions) {
    if (!mesh || (!positions && mesh->vertex_count))
        return abuti_null(__func__, mesh ? "positions" : "mesh");
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        positions[i] = abuti_mesh_position(mesh, i);
    return ABUT_OK;
}

/* ---- names ---- */

const char *abut_index_type_name(abut_index_type type) {
    static const char *const names[] = {"uint32", "uint16"};
    return ABUTI_NAME(names, type);
}
