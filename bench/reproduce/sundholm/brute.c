/* The host side of brute.h, and the same computation in plain C. */
#include "brute.h"

extern const abuti_module brute_modules[];

enum { FIELD, KERNELS };
enum { TRIANGLES, VALUES, BUFFERS };
static const abuti_kernel_source sources[KERNELS] = {[FIELD] = {"brute", "brute_field", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, brute_modules};

/* ---- triangles ---- */

static vec3 to_floats(abut_vec3 v) {
    return (vec3){(float)v.x, (float)v.y, (float)v.z};
}

static void pack_triangles(const abut_mesh *mesh, const uint32_t *edges,
                           const abut_normals_arrays *normals, brute_triangle *to) {
    const uint32_t *indices = abut_mesh_indices(mesh);
    const abut_vec3 *positions = abut_mesh_local_positions(mesh);
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        to[i].face_normal = to_floats(normals->faces[i]);
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t vertex = indices[3 * i + k], edge = edges[3 * i + k];
            to[i].corner[k] = to_floats(positions[vertex]);
            to[i].corner_normals[k] = to_floats(normals->vertices[vertex]);
            to[i].edge_normals[k] =
                edge == ABUT_NONE ? (vec3){0, 0, 0} : to_floats(normals->edges[edge]);
        }
    }
}

abut_status brute_mesh_create(abut_context *context, abut_mesh *mesh, brute_mesh *made) {
    abut_topology *topology = NULL;
    abut_normals *normals = NULL;
    abut_topology_arrays edges = abut_topology_arrays_default();
    abut_normals_arrays arrays = abut_normals_arrays_default();
    brute_triangle *triangles = NULL;
    abut_status status = abut_topology_create(mesh, &topology);
    if (!status)
        status = abut_topology_get_arrays(topology, &edges);
    if (!status)
        status = abut_normals_create(topology, &normals);
    if (!status)
        status = abut_normals_get_arrays(normals, &arrays);
    if (!status) {
        triangles =
            abut_context_allocate(context, abut_mesh_triangle_count(mesh), sizeof *triangles);
        status = triangles ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    if (!status) {
        pack_triangles(mesh, edges.triangle_edges, &arrays, triangles);
        *made = (brute_mesh){context, triangles, abut_mesh_triangle_count(mesh)};
    }
    abut_normals_destroy(normals);
    abut_topology_destroy(topology);
    return status;
}

void brute_mesh_clear(brute_mesh *mesh) {
    abut_context_free(mesh->context, mesh->triangles);
    *mesh = (brute_mesh){0};
}

/* ---- cells ---- */

brute_cells brute_cells_of(const abut_mesh *mesh, const abut_grid *grid, uint32_t row_limit) {
    const abut_vec3 local = abut_mesh_local_origin(mesh);
    const abut_vec3 first = {grid->origin.x - local.x, grid->origin.y - local.y,
                             grid->origin.z - local.z};
    const uint32_t rows = grid->count[1] * grid->count[2];
    /* An odd step, so that rows of a power of two are spread along y, too. */
    const uint32_t step = row_limit && row_limit < rows ? rows / row_limit | 1 : 1;
    return (brute_cells){.first = to_floats(first),
                         .size = (float)grid->cell,
                         .wide = grid->count[0],
                         .high = grid->count[1],
                         .row_step = step,
                         .row_count = (rows + step - 1) / step};
}

size_t brute_cell_count(const brute_cells *cells) {
    return (size_t)cells->wide * cells->row_count;
}

/* ---- in plain C ---- */

typedef struct brute_work {
    const brute_mesh *mesh;
    const brute_cells *cells;
    float *values;
} brute_work;

static void compute_rows(void *user, size_t chunk, size_t begin, size_t end) {
    const brute_work *work = user;
    const brute_cells *cells = work->cells;
    (void)chunk;
    for (size_t row = begin; row < end; row++)
        for (uint32_t x = 0; x < cells->wide; x++) {
            const vec3 p = brute_centre(cells, (uint32_t)row, x);
            float nearest = REAL_MAX;
            for (uint32_t i = 0; i < work->mesh->count; i++)
                nearest = brute_nearer(nearest, brute_distance_sq(p, &work->mesh->triangles[i]));
            work->values[row * cells->wide + x] = brute_root(nearest);
        }
}

void brute_compute(const brute_mesh *mesh, const brute_cells *cells, float *values) {
    brute_work work = {mesh, cells, values};
    abut_context_parallel_for(mesh->context, cells->row_count, 1, compute_rows, &work);
}

/* ---- on a device ---- */

void brute_device_close(brute_device *device) {
    abuti_kit_close(&device->kit);
    abuti_queue_close(&device->queue);
}

abut_status brute_device_open(abut_device *device, brute_device *made) {
    abut_status status = abuti_queue_open(device, &made->queue);
    if (status)
        return status;
    status = abuti_kit_open(&made->queue, &table, "", &made->kit);
    if (status) {
        abuti_queue_close(&made->queue);
        return status;
    }
    abuti_kit_build(&made->kit);
    status = abuti_kit_finish(&made->kit);
    if (status)
        brute_device_close(made);
    return status;
}

abut_status brute_compute_on_device(brute_device *device, const brute_mesh *mesh,
                                    const brute_cells *cells, float *values) {
    abuti_kit *kit = &device->kit;
    const size_t count = brute_cell_count(cells);
    abuti_kit_upload(kit, TRIANGLES, mesh->triangles, mesh->count, sizeof *mesh->triangles);
    abuti_kit_reserve(kit, VALUES, count, sizeof *values);
    ABUTI_KIT_RUN(kit, FIELD, count, BRUTE_GROUP, ABUTI_VALUE(*cells), KIT_BUFFER(kit, TRIANGLES),
                  ABUTI_VALUE(mesh->count), KIT_BUFFER(kit, VALUES),
                  ABUTI_LOCAL_MEMORY(BRUTE_GROUP * sizeof *mesh->triangles));
    return abuti_kit_download(kit, VALUES, values, count, sizeof *values);
}
