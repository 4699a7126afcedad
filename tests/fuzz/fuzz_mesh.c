/* abut_mesh_create from any bytes: types, strides, counts and values. */
#include "fuzz.h"

/* Takes bytes from the front of the input. */
typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static uint32_t take(input *in, size_t count) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    input in = {data, bytes};
    uint32_t choice = take(&in, 1);
    abut_mesh_input mesh_input = abut_mesh_input_default();
    mesh_input.position_type = (abut_scalar_type)(choice & 3); /* 2 and 3 do not exist */
    mesh_input.index_type = (abut_index_type)(choice >> 2 & 1);
    mesh_input.position_stride = choice & 8 ? take(&in, 1) : 0;
    mesh_input.index_stride = choice & 16 ? take(&in, 1) : 0;
    mesh_input.vertex_count = take(&in, 1);
    mesh_input.triangle_count = take(&in, 1);
    size_t position_bytes = extent(mesh_input.position_stride, mesh_input.position_type ? 12 : 24,
                                   mesh_input.vertex_count);
    size_t index_bytes =
        extent(mesh_input.index_stride, mesh_input.index_type ? 6 : 12, mesh_input.triangle_count);
    uint8_t *indices = choice & 32 ? NULL : make_array(&in, index_bytes);
    uint8_t *positions = make_array(&in, position_bytes);
    mesh_input.positions = positions;
    mesh_input.indices = indices;
    abut_mesh *mesh = NULL;
    abut_status status = abut_mesh_create(NULL, &mesh_input, &mesh);
    FUZZ_CHECK(!status == (mesh != NULL));
    FUZZ_CHECK(!status || status == ABUT_ERROR_ARGUMENT);
    if (mesh) {
        fuzz_valid(mesh);
        check_copy(mesh, &mesh_input);
    }
    abut_mesh_destroy(mesh);
    free(positions);
    free(indices);
    return 0;
}
