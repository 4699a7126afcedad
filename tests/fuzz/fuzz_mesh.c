/* abut_mesh_create from any bytes: types, strides, counts and values; then everything that can be
 * computed from a mesh or changed in it. */
#include "apps/get.h"
#include "fuzz.h"

/* Takes bytes from the front of the input. */
typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static uint32_t read_number(input *in, size_t count) {
    uint32_t value = 0;
    for (size_t i = 0; i < count && in->left; i++, in->at++, in->left--)
        value = value << 8 | *in->at;
    return value;
}

/* Bytes that `count` elements of `packed` bytes at `stride` fill; 0 where that is beyond reason. */
static size_t extent(size_t stride, size_t packed, size_t count) {
    if (!stride)
        stride = packed;
    return count == 0 || stride < packed || stride > 1000 ? 0 : stride * (count - 1) + packed;
}

/* Exactly the bytes that the contract lets the library read, so that ASan sees one more. */
static uint8_t *make_array(input *in, size_t bytes) {
    uint8_t *array = malloc(bytes ? bytes : 1);
    size_t copied = bytes < in->left ? bytes : in->left;
    memcpy(array, in->at, copied);
    memset(array + copied, 0, bytes - copied);
    in->at += copied;
    in->left -= copied;
    return array;
}

static void check_copy(const abut_mesh *mesh, const abut_mesh_input *input) {
    size_t stride = input->index_stride ? input->index_stride : input->index_type ? 6 : 12;
    for (size_t i = 0; i < 3 * (size_t)abut_mesh_triangle_count(mesh); i++) {
        uint32_t expected = (uint32_t)i;
        if (input->indices && input->index_type == ABUT_INDEX_UINT16) {
            uint16_t narrow;
            memcpy(&narrow, (const uint8_t *)input->indices + i / 3 * stride + 2 * (i % 3), 2);
            expected = narrow;
        } else if (input->indices) {
            memcpy(&expected, (const uint8_t *)input->indices + i / 3 * stride + 4 * (i % 3), 4);
        }
        FUZZ_CHECK(abut_mesh_indices(mesh)[i] == expected);
    }
}

static void check_topology(const abut_topology_arrays *view) {
    uint64_t corners = 0;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        FUZZ_CHECK(view->edges[2 * e] < view->edges[2 * e + 1]);
        FUZZ_CHECK(view->edges[2 * e + 1] < view->vertex_count);
        /* an edge of collapsed triangles only has no face */
        FUZZ_CHECK(view->edge_face_begin[e] <= view->edge_face_begin[e + 1]);
        for (uint32_t k = view->edge_face_begin[e]; k < view->edge_face_begin[e + 1]; k++)
            FUZZ_CHECK(view->edge_faces[k] < view->triangle_count);
    }
    for (uint32_t i = 0; i < 3 * view->triangle_count; i++) {
        FUZZ_CHECK(view->triangle_edges[i] < view->edge_count ||
                   view->triangle_edges[i] == ABUT_NONE);
        FUZZ_CHECK(view->neighbours[i] < view->triangle_count || view->neighbours[i] == ABUT_NONE);
        corners += view->triangle_edges[i] != ABUT_NONE;
    }
    FUZZ_CHECK(corners >= view->edge_count);
    FUZZ_CHECK(view->component_count >= 1 && view->component_count <= view->triangle_count);
    for (uint32_t i = 0; i < view->triangle_count; i++)
        FUZZ_CHECK(view->triangle_component[i] < view->component_count);
    for (uint32_t i = 0; i < view->loop_begin[view->loop_count]; i++)
        FUZZ_CHECK(view->loop_vertices[i] < view->vertex_count);
}

/* What a repair gave must be a mesh; what it refused, refused for a reason. */
static void check_repair(abut_status status, abut_mesh *repaired, uint32_t most_triangles) {
    FUZZ_CHECK(!status == (repaired != NULL));
    FUZZ_CHECK(!status || status == ABUT_ERROR_ARGUMENT);
    if (!repaired)
        return;
    fuzz_valid(repaired);
    FUZZ_CHECK(abut_mesh_triangle_count(repaired) <= most_triangles);
    abut_mesh_destroy(repaired);
}

static void examine(abut_mesh *mesh, uint32_t choice) {
    uint32_t count = abut_mesh_triangle_count(mesh), flipped = 0;
    abut_topology *topology = NULL;
    FUZZ_CHECK(abut_topology_create(mesh, &topology) == ABUT_OK);
    abut_topology_arrays view = get_topology_arrays(topology);
    check_topology(&view);
    abut_normals *normals = NULL;
    FUZZ_CHECK(abut_normals_create(topology, &normals) == ABUT_OK);
    abut_normals_destroy(normals);
    abut_mesh_report report = abut_mesh_report_default();
    FUZZ_CHECK(abut_mesh_examine(topology, &report) == ABUT_OK);
    FUZZ_CHECK(report.edge_count == view.edge_count && report.area >= 0);
    abut_mesh *made = NULL;
    abut_status status = abut_mesh_orient(topology, &made, &flipped);
    FUZZ_CHECK(status == ABUT_OK && flipped <= count);
    check_repair(status, made, count);
    abut_topology_destroy(topology);

    made = NULL;
    status = abut_mesh_weld(mesh, choice & 1 ? 0 : ldexp(1, (int)(choice & 63) - 32), &made);
    check_repair(status, made, count);
    made = NULL;
    abut_pose pose = {{0, 0, choice & 2 ? 1 : 0, 1}, {1, choice, 0}};
    status = abut_mesh_transform(mesh, choice & 4 ? -2 : 0.5, pose, &made);
    check_repair(status, made, count);
    made = NULL;
    abut_mesh *twice[2] = {mesh, mesh};
    status = abut_mesh_join(twice, 2, &made);
    FUZZ_CHECK(status == ABUT_OK);
    check_repair(status, made, 2 * count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    input in = {data, bytes};
    uint32_t choice = read_number(&in, 1);
    abut_mesh_input mesh_input = abut_mesh_input_default();
    mesh_input.position_type = (abut_scalar_type)(choice & 3); /* 0 and 3 do not exist */
    mesh_input.index_type = (abut_index_type)(choice >> 2 & 1);
    mesh_input.position_stride = choice & 8 ? read_number(&in, 1) : 0;
    mesh_input.index_stride = choice & 16 ? read_number(&in, 1) : 0;
    mesh_input.vertex_count = read_number(&in, 1);
    mesh_input.triangle_count = read_number(&in, 1);
    size_t position_bytes =
        extent(mesh_input.position_stride,
               mesh_input.position_type == ABUT_SCALAR_FLOAT32 ? 12 : 24, mesh_input.vertex_count);
    size_t index_bytes =
        extent(mesh_input.index_stride, mesh_input.index_type ? 6 : 12, mesh_input.triangle_count);
    uint8_t *indices = choice & 32 ? NULL : make_array(&in, index_bytes);
    uint8_t *positions = make_array(&in, position_bytes);
    mesh_input.positions = positions;
    mesh_input.indices = indices;
    abut_mesh *mesh = NULL;
    abut_status status = abut_mesh_create(fuzz_context(), &mesh_input, &mesh);
    FUZZ_CHECK(!status == (mesh != NULL));
    FUZZ_CHECK(!status || status == ABUT_ERROR_ARGUMENT);
    if (mesh) {
        fuzz_valid(mesh);
        check_copy(mesh, &mesh_input);
        examine(mesh, read_number(&in, 1));
        abut_mesh_format format = choice & 64 ? ABUT_MESH_FORMAT_OBJ : ABUT_MESH_FORMAT_PLY;
        if (choice >= 128)
            fuzz_round_trip(mesh, format, choice & 64);
    }
    abut_mesh_destroy(mesh);
    free(positions);
    free(indices);
    return 0;
}
