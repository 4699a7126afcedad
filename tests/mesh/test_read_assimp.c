/* Formats that come through Assimp; without it, the sentence that says so. */
#include "mesh/check.h"

static const char off[] = "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n";

static bool has_assimp(void) {
    return strstr(abut_features(), "assimp") != NULL;
}

static void says_what_is_missing(void **state) {
    if (has_assimp())
        skip();
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_UNSUPPORTED,
                 "a.dae: is not OBJ, PLY, STL or OFF, and this build of abut lacks "
                 "Assimp",
                 check_read("<xml/>", 6, "a.dae", &mesh));
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    assert_fails(ABUT_ERROR_UNSUPPORTED, "Assimp",
                 abut_mesh_read(NULL, test_file("a.obj", "v 0 0 0\n", 8), &options, &mesh));
    assert_null(mesh);
}

static void reads_other_formats(void **state) {
    if (!has_assimp())
        skip();
    abut_mesh *mesh = NULL;
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    assert_ok(abut_mesh_read(NULL, test_file("a.off", off, sizeof off - 1), &options, &mesh));
    assert_int_equal(2, abut_mesh_triangle_count(mesh));
    abut_box box = abut_mesh_bounds(mesh);
    assert_true(box.lo.x == 0 && box.hi.x == 1 && box.hi.y == 1 && box.hi.z == 0);
    abut_mesh_destroy(mesh);
    assert_ok(abut_mesh_read_memory(NULL, off, sizeof off - 1, "a.off", &options, &mesh));
    assert_int_equal(2, abut_mesh_triangle_count(mesh));
    abut_mesh_destroy(mesh);
    mesh = NULL;
    assert_fails(ABUT_ERROR_FORMAT,
                 "bad.dae: Assimp cannot read it: ", check_read("nonsense", 8, "bad.dae", &mesh));
    assert_fails(ABUT_ERROR_FORMAT, "noise: Assimp cannot read it: ",
                 check_read("\x01\x02\x03\x04", 4, "noise", &mesh));
    assert_fails(ABUT_ERROR_FORMAT,
                 "cut.off: ", abut_mesh_read_memory(NULL, off, 30, "cut.off", &options, &mesh));
    assert_null(mesh);
}

static void encode(const unsigned char *bytes, size_t count, char *out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) { /* count is a multiple of 3 */
        uint32_t bits = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int k = 0; k < 4; k++)
            *out++ = letters[bits >> (18 - 6 * k) & 63];
    }
    *out = 0;
}

/* One triangle used by two nodes: one moved by its parent and itself, one mirrored and scaled. */
static void applies_transforms(void **state) {
    if (!has_assimp())
        skip();
    static const float triangle[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    char data[100], text[2000];
    encode((const unsigned char *)triangle, sizeof triangle, data);
    snprintf(
        text, sizeof text,
        "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":["
        "{\"translation\":[10,0,0],\"children\":[2]},{\"mesh\":0,\"scale\":[-2,2,2]},"
        "{\"mesh\":0,\"translation\":[0,5,0]}],\"meshes\":[{\"primitives\":[{\"attributes\":{"
        "\"POSITION\":0}}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,"
        "\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[1,1,0]}],\"bufferViews\":[{\"buffer\":0,"
        "\"byteLength\":36}],\"buffers\":[{\"byteLength\":36,\"uri\":\"data:application/"
        "octet-stream;base64,%s\"}]}",
        data);
    abut_mesh *mesh = NULL;
    assert_ok(abut_mesh_read(NULL, test_file("two.gltf", text, strlen(text)), NULL, &mesh));
    static const double positions[] = {10, 5, 0, 11, 5, 0, 10, 6, 0, 0, 0, 0, -2, 0, 0, 0, 2, 0};
    assert_int_equal(6, abut_mesh_vertex_count(mesh));
    assert_int_equal(2, abut_mesh_triangle_count(mesh));
    uint32_t order[6];
    memcpy(order, abut_mesh_indices(mesh), sizeof order);
    check_mesh(mesh, 6, positions, 2, order);
    for (int i = 0; i < 2; i++) { /* both still face +z, since the mirrored one was turned */
        abut_vec3 a = check_position(mesh, order[3 * i]),
                  b = check_position(mesh, order[3 * i + 1]),
                  c = check_position(mesh, order[3 * i + 2]);
        assert_true((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0);
    }
    abut_mesh_destroy(mesh);
}

static abut_status read_once(abut_context *context, void *path) {
    abut_mesh *mesh = NULL;
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    abut_status status = abut_mesh_read(context, path, &options, &mesh);
    abut_mesh_destroy(mesh);
    return status;
}

static void any_allocation_may_fail(void **state) {
    if (!has_assimp())
        skip();
    char path[1100];
    snprintf(path, sizeof path, "%s", test_file("m.off", off, sizeof off - 1));
    assert_true(test_every_allocation(read_once, path) >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(reads_other_formats),
        cmocka_unit_test(applies_transforms),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
