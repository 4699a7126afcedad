/* Formats that are read through Assimp; without it, the error message. */
#include "mesh/check.h"

static const char off[] = "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n";

static bool has_assimp(void) {
    return strstr(abut_features(), "assimp") != NULL;
}

TEST(says_what_is_missing) {
    if (has_assimp())
        skip();
    abut_mesh *mesh = NULL;
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    assert_fails(ABUT_ERROR_UNSUPPORTED, "Assimp",
                 abut_mesh_read(NULL, test_file("a.obj", "v 0 0 0\n", 8), &options, &mesh));
    assert_null(mesh);
}

TEST(reads_other_formats) {
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
    assert_fails(ABUT_ERROR_FORMAT, "bad.dae: Assimp cannot read it: ",
                 abut_mesh_read_memory(NULL, "nonsense", 8, "bad.dae", &options, &mesh));
    assert_fails(ABUT_ERROR_FORMAT, "noise: Assimp cannot read it: ",
                 abut_mesh_read_memory(NULL, "\x01\x02\x03\x04", 4, "noise", &options, &mesh));
    assert_fails(ABUT_ERROR_FORMAT,
                 "cut.off: ", abut_mesh_read_memory(NULL, off, 30, "cut.off", &options, &mesh));
    assert_null(mesh);
}

/* One triangle used by two nodes: one moved by its parent and itself, one mirrored and scaled. */
TEST(applies_transforms) {
    if (!has_assimp())
        skip();
    static const char text[] =
        "<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"
        "<library_geometries><geometry id=\"g\"><mesh><source id=\"p\"><float_array id=\"a\" "
        "count=\"9\">0 0 0 1 0 0 0 1 0</float_array><technique_common><accessor source=\"#a\" "
        "count=\"3\" stride=\"3\"><param name=\"X\" type=\"float\"/><param name=\"Y\" "
        "type=\"float\"/><param name=\"Z\" type=\"float\"/></accessor></technique_common>"
        "</source><vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>"
        "<triangles count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1 "
        "2</p></triangles></mesh></geometry></library_geometries><library_visual_scenes>"
        "<visual_scene id=\"s\"><node><translate>10 0 0</translate><node><translate>0 5 "
        "0</translate><instance_geometry url=\"#g\"/></node></node><node><scale>-2 2 2</scale>"
        "<instance_geometry url=\"#g\"/></node></visual_scene></library_visual_scenes><scene>"
        "<instance_visual_scene url=\"#s\"/></scene></COLLADA>";
    AUTO(mesh) mesh = NULL;
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    assert_ok(abut_mesh_read(NULL, test_file("two.dae", text, sizeof text - 1), &options, &mesh));
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
}

/* Only if requested, for any extension and content. */
TEST(is_used_when_asked_alone) {
    abut_mesh *mesh = NULL;
    static const char *const names[] = {"a.dae", "a.fbx", "a", "a.wrl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_fails(ABUT_ERROR_UNSUPPORTED,
                     ": is not OBJ, PLY, STL, OFF or glTF; set the format 'other' to read it "
                     "through Assimp",
                     check_read("<xml/>", 6, names[i], &mesh));
        assert_null(mesh);
    }
}

/* What Assimp leaves out with a word in its log is an error. */
TEST(refuses_what_assimp_leaves_out) {
    if (!has_assimp())
        skip();
    static const char text[] =
        "OFF\n4 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 9\n3 0 2 3\n";
    abut_mesh *mesh = NULL;
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    assert_fails(ABUT_ERROR_FORMAT,
                 "Assimp cannot read all of it: OFF: Vertex index is out of range",
                 abut_mesh_read_memory(NULL, text, sizeof text - 1, "a.off", &options, &mesh));
    assert_null(mesh);
}

static abut_status read_once(abut_context *context, void *path) {
    AUTO(mesh) mesh = NULL;
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_OTHER);
    return abut_mesh_read(context, path, &options, &mesh);
}

TEST(any_allocation_may_fail) {
    if (!has_assimp())
        skip();
    char path[1100];
    snprintf(path, sizeof path, "%s", test_file("m.off", off, sizeof off - 1));
    assert_true(test_every_allocation(read_once, path) >= 5);
}
