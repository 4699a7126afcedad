/* Cases: reading and writing files of a million triangles.
 *
 * The code below writes the files to read in the form that common tools export: binary PLY with
 * floats and a byte for the corner count, text with six digits, OBJ both as plain triangles and
 * as quads with texture coordinates and normals. The warm-up run loads the file into the page
 * cache. Writing uses only the library, including sync and rename. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PLY_BINARY, PLY_ASCII, OBJ, OBJ_QUADS, STL_BINARY, STL_ASCII };

typedef struct file_data {
    char path[600];
    abut_mesh *mesh;
    abut_mesh_write_options write;
} file_data;

/* ---- the files to read ---- */

static void put_ply(FILE *file, const bench_grid *grid, bool ascii) {
    fprintf(file,
            "ply\nformat %s 1.0\nelement vertex %u\nproperty float x\nproperty float y\n"
            "property float z\nelement face %u\nproperty list uchar int vertex_indices\n"
            "end_header\n",
            ascii ? "ascii" : "binary_little_endian", grid->vertex_count, grid->triangle_count);
    if (!ascii)
        fwrite(grid->positions, 12, grid->vertex_count, file);
    for (size_t v = 0; ascii && v < grid->vertex_count; v++) {
        const float *p = grid->positions + 3 * v;
        fprintf(file, "%.6g %.6g %.6g\n", (double)p[0], (double)p[1], (double)p[2]);
    }
    for (size_t t = 0; t < grid->triangle_count; t++) {
        const uint32_t *corner = grid->indices + 3 * t;
        if (ascii) {
            fprintf(file, "3 %u %u %u\n", corner[0], corner[1], corner[2]);
        } else {
            putc(3, file);
            fwrite(corner, 4, 3, file);
        }
    }
}

/* A line for each vertex, with this many decimals. */
static void put_points(FILE *file, const bench_grid *grid, const char *word, int decimals) {
    for (size_t v = 0; v < grid->vertex_count; v++) {
        const float *p = grid->positions + 3 * v;
        fprintf(file, "%s %.*f %.*f %.*f\n", word, decimals, (double)p[0], decimals, (double)p[1],
                decimals, (double)p[2]);
    }
}

static void put_obj(FILE *file, const bench_grid *grid) {
    fprintf(file, "# a torus\n");
    put_points(file, grid, "v", 6);
    for (size_t t = 0; t < grid->triangle_count; t++) {
        const uint32_t *corner = grid->indices + 3 * t;
        fprintf(file, "f %u %u %u\n", corner[0] + 1, corner[1] + 1, corner[2] + 1);
    }
}

static void put_obj_quads(FILE *file, const bench_grid *grid) {
    fprintf(file, "mtllib torus.mtl\no torus\n");
    put_points(file, grid, "v", 6);
    for (size_t v = 0; v < grid->vertex_count; v++)
        fprintf(file, "vt %.6f %.6f\n", (double)(v % grid->segments) / grid->segments,
                (double)(v / grid->segments) / grid->rings);
    put_points(file, grid, "vn", 4);
    fprintf(file, "usemtl clay\ns 1\n");
    for (size_t t = 0; t < grid->triangle_count; t += 2) {
        const uint32_t *corner = grid->indices + 3 * t; /* a b c, a c d */
        uint32_t a = corner[0] + 1, b = corner[1] + 1, c = corner[2] + 1, d = corner[5] + 1;
        fprintf(file, "f %u/%u/%u %u/%u/%u %u/%u/%u %u/%u/%u\n", a, a, a, b, b, b, c, c, c, d, d,
                d);
    }
}

static void put_stl(FILE *file, const bench_grid *grid, bool ascii) {
    if (ascii) {
        fprintf(file, "solid torus\n");
    } else {
        char head[80] = "a torus";
        fwrite(head, 1, sizeof head, file);
        fwrite(&grid->triangle_count, 4, 1, file);
    }
    for (size_t t = 0; t < grid->triangle_count; t++) {
        float facet[12] = {0};
        uint16_t attribute = 0;
        for (size_t k = 0; k < 3; k++)
            memcpy(facet + 3 + 3 * k, grid->positions + 3 * (size_t)grid->indices[3 * t + k], 12);
        if (!ascii) {
            fwrite(facet, 4, 12, file);
            fwrite(&attribute, 2, 1, file);
            continue;
        }
        fprintf(file, "  facet normal 0 0 0\n    outer loop\n");
        for (size_t k = 3; k < 12; k += 3)
            fprintf(file, "      vertex %.6e %.6e %.6e\n", (double)facet[k], (double)facet[k + 1],
                    (double)facet[k + 2]);
        fprintf(file, "    endloop\n  endfacet\n");
    }
    if (ascii)
        fprintf(file, "endsolid torus\n");
}

static abut_status put_file(const bench_grid *grid, int variant, const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file)
        return bench_fail(ABUT_ERROR_FILE, "cannot write '%s': %s", path, strerror(errno));
    if (variant == PLY_BINARY || variant == PLY_ASCII)
        put_ply(file, grid, variant == PLY_ASCII);
    else if (variant == OBJ)
        put_obj(file, grid);
    else if (variant == OBJ_QUADS)
        put_obj_quads(file, grid);
    else
        put_stl(file, grid, variant == STL_ASCII);
    bool fine = !ferror(file);
    fine = !fclose(file) && fine;
    return fine ? ABUT_OK : bench_fail(ABUT_ERROR_FILE, "cannot write '%s'", path);
}

static double file_bytes(const char *path) {
    struct stat about;
    return stat(path, &about) ? 0 : (double)about.st_size;
}

static const char *ending(int variant) {
    if (variant == PLY_BINARY || variant == PLY_ASCII)
        return "ply";
    return variant == STL_BINARY || variant == STL_ASCII ? "stl" : "obj";
}

static void file_teardown(bench_state *state) {
    file_data *data = state->data;
    remove(data->path);
}

/* ---- reading ---- */

static abut_status read_setup(bench_state *state) {
    file_data *data = state->data;
    snprintf(data->path, sizeof data->path, "%s/in.%s", state->folder,
             ending(state->which->variant));
    bench_grid grid;
    TRY(bench_grid_million(state, &grid));
    TRY(put_file(&grid, state->which->variant, data->path));
    state->elements = grid.triangle_count;
    state->bytes = file_bytes(data->path);
    bench_grid_destroy(&grid);
    return ABUT_OK;
}

static abut_status read_run(bench_state *state) {
    file_data *data = state->data;
    return abut_mesh_read(state->context, data->path, NULL, &data->mesh);
}

static abut_status read_finish(bench_state *state) {
    file_data *data = state->data;
    state->hash = bench_hash_mesh(0, data->mesh);
    state->result_bytes = bench_mesh_bytes(data->mesh);
    if (abut_mesh_triangle_count(data->mesh) != state->elements)
        return bench_fail(ABUT_ERROR_FORMAT, "%u triangles were read instead of %.0f",
                          abut_mesh_triangle_count(data->mesh), state->elements);
    abut_mesh_destroy(data->mesh);
    data->mesh = NULL;
    return ABUT_OK;
}

/* ---- writing ---- */

static abut_status write_setup(bench_state *state) {
    file_data *data = state->data;
    int variant = state->which->variant;
    snprintf(data->path, sizeof data->path, "%s/out.%s", state->folder, ending(variant));
    data->write = abut_mesh_write_options_default();
    data->write.ascii = variant == PLY_ASCII || variant == STL_ASCII;
    bench_grid grid;
    TRY(bench_grid_million(state, &grid));
    MAKE(data->mesh, bench_grid_mesh(state, &grid, &data->mesh));
    state->elements = grid.triangle_count;
    bench_grid_destroy(&grid);
    return ABUT_OK;
}

static abut_status write_run(bench_state *state) {
    file_data *data = state->data;
    return abut_mesh_write(data->mesh, data->path, &data->write);
}

static abut_status write_finish(bench_state *state) {
    file_data *data = state->data;
    static unsigned char block[1 << 16];
    FILE *file = fopen(data->path, "rb");
    if (!file)
        return bench_fail(ABUT_ERROR_FILE, "cannot read '%s': %s", data->path, strerror(errno));
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
        state->hash = bench_hash(state->hash, block, got);
    fclose(file);
    state->bytes = file_bytes(data->path);
    return ABUT_OK;
}

#define READ(name_, variant_, goal_)                                                            \
    {                                                                                           \
        .name = "mesh/read-" name_, .unit = "triangle", .data_bytes = sizeof(file_data),        \
        .setup = read_setup, .run = read_run, .finish = read_finish, .teardown = file_teardown, \
        .variant = variant_, .threaded = true, .goal_ms = goal_, .goal_memory = 3               \
    }
#define WRITE(name_, variant_)                                                                     \
    {                                                                                              \
        .name = "mesh/write-" name_, .unit = "triangle", .data_bytes = sizeof(file_data),          \
        .setup = write_setup, .run = write_run, .finish = write_finish, .teardown = file_teardown, \
        .variant = variant_                                                                        \
    }

const bench_case bench_file_cases[] = {
    READ("ply-binary", PLY_BINARY, 400),
    READ("ply-ascii", PLY_ASCII, 0),
    READ("obj", OBJ, 1500),
    READ("obj-quads", OBJ_QUADS, 1500),
    READ("stl-binary", STL_BINARY, 0),
    READ("stl-ascii", STL_ASCII, 0),
    WRITE("ply-binary", PLY_BINARY),
    WRITE("ply-ascii", PLY_ASCII),
    WRITE("obj", OBJ),
    WRITE("stl-binary", STL_BINARY),
    WRITE("stl-ascii", STL_ASCII),
    {.name = NULL},
};
