#include "mesh/check.h"

#include <sys/stat.h>
#include <unistd.h>

static abut_mesh_write_options write_options(abut_mesh_format format, bool ascii) {
    abut_mesh_write_options options = abut_mesh_write_options_default();
    options.format = format;
    options.ascii = ascii;
    return options;
}

static void assert_text(const char *text, const char *path) {
    AUTO_FREE char *found = test_read_file(path, NULL);
    assert_string_equal(text, found);
}

static const double tetrahedron[] = {0, 0, 0, 1, 0, 0, 0, 1.5, 0, 0, 0, -0.1};
static const uint32_t two[] = {0, 1, 2, 0, 2, 3};

TEST(writes_the_text_it_should) {
    AUTO(mesh) mesh = test_mesh(NULL, tetrahedron, 4, two, 2);
    assert_ok(abut_mesh_write(mesh, test_path("a.obj"), NULL));
    assert_text("v 0 0 0\nv 1 0 0\nv 0 1.5 0\nv 0 0 -0.1\nf 1 2 3\nf 1 3 4\n", test_path("a.obj"));
    assert_ok(abut_mesh_write(mesh, test_path("a.off"), NULL));
    assert_text("OFF\n 4 2 0\n0 0 0\n1 0 0\n0 1.5 0\n0 0 -0.1\n3 0 1 2\n3 0 2 3\n",
                test_path("a.off"));
    AUTO(mesh) back = NULL;
    assert_ok(abut_mesh_read(NULL, test_path("a.off"), NULL, &back));
    check_equal(mesh, back);
    abut_mesh_write_options options = write_options(ABUT_MESH_FORMAT_PLY, true);
    assert_ok(abut_mesh_write(mesh, test_path("a.any"), &options));
    assert_text("ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty double "
                "y\nproperty double z\nelement face 2\nproperty list uchar int "
                "vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1.5 0\n0 0 -0.1\n3 0 1 2\n3 0 2 "
                "3\n",
                test_path("a.any"));
    options = write_options(ABUT_MESH_FORMAT_STL, true);
    assert_ok(abut_mesh_write(mesh, test_path("a.stl"), &options));
    assert_text("solid abut\nfacet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n"
                "  vertex 0 1.5 0\n endloop\nendfacet\nfacet normal -1 0 0\n outer loop\n"
                "  vertex 0 0 0\n  vertex 0 1.5 0\n  vertex 0 0 -0.10000000149011612\n endloop\n"
                "endfacet\nendsolid abut\n",
                test_path("a.stl"));
}

/* Floats are declared float, and stay floats as text; one double makes all double. */
TEST(takes_the_smaller_type) {
    for (int single = 0; single < 2; single++)
        for (int ascii = 0; ascii < 2; ascii++) {
            AUTO(mesh) mesh = check_grid(NULL, 4, single);
            abut_mesh_write_options options = write_options(ABUT_MESH_FORMAT_PLY, ascii);
            const char *path = test_path("type.ply");
            assert_ok(abut_mesh_write(mesh, path, &options));
            size_t bytes;
            AUTO_FREE char *text = test_read_file(path, &bytes);
            assert_non_null(strstr(text, single ? "property float x" : "property double x"));
            if (!ascii) {
                size_t head = (size_t)(strstr(text, "end_header\n") - text) + 11;
                assert_int_equal(head + 25u * (single ? 12 : 24) + 32 * 13, bytes);
            }
            AUTO(mesh) back = NULL;
            assert_ok(abut_mesh_read(NULL, path, NULL, &back));
            check_equal(mesh, back);
        }
}

/* Coordinates of every magnitude, and of meshes far from zero, come back bit for bit. */
TEST(keeps_every_bit) {
    enum { COUNT = 3000 };
    static double positions[3 * COUNT];
    static uint32_t indices[COUNT];
    test_random random = {11};
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3 * COUNT; i++) {
            double x = test_random_real(&random, -1, 1);
            volatile float single = (float)x;
            positions[i] = round == 0   ? x * pow(10, (int)test_random_below(&random, 180) - 90)
                           : round == 1 ? 1e9 + x
                           : round == 2 ? (double)single
                                        : ldexp(x, -(int)test_random_below(&random, 1070));
        }
        for (int i = 0; i < COUNT; i++)
            indices[i] = (uint32_t)i;
        AUTO(mesh) mesh = test_mesh(NULL, positions, COUNT, indices, COUNT / 3);
        for (int kind = 0; kind < 3; kind++) {
            abut_mesh_write_options options =
                write_options(kind ? ABUT_MESH_FORMAT_PLY : ABUT_MESH_FORMAT_OBJ, kind == 2);
            const char *path = test_path(kind ? "bits.ply" : "bits.obj");
            assert_ok(abut_mesh_write(mesh, path, &options));
            AUTO(mesh) back = NULL;
            assert_ok(abut_mesh_read(NULL, path, NULL, &back));
            check_mesh(back, COUNT, positions, COUNT / 3, indices);
        }
    }
}

/* STL: floats come back as they were; the binary and the text file hold the same mesh. */
TEST(stl_keeps_floats) {
    AUTO(mesh) mesh = check_grid(NULL, 20, true);
    abut_mesh *back[2] = {NULL, NULL};
    for (int ascii = 0; ascii < 2; ascii++) {
        abut_mesh_write_options options = write_options(ABUT_MESH_FORMAT_AUTO, ascii);
        assert_ok(abut_mesh_write(mesh, test_path("f.STL"), &options));
        assert_ok(abut_mesh_read(NULL, test_path("f.STL"), NULL, &back[ascii]));
        assert_int_equal(abut_mesh_vertex_count(mesh), abut_mesh_vertex_count(back[ascii]));
        assert_int_equal(800, abut_mesh_triangle_count(back[ascii]));
        for (uint32_t i = 0; i < 3 * 800; i++) {
            abut_vec3 p = check_position(mesh, abut_mesh_indices(mesh)[i]);
            abut_vec3 q = check_position(back[ascii], abut_mesh_indices(back[ascii])[i]);
            assert_true(p.x == q.x && p.y == q.y && p.z == q.z);
        }
    }
    check_equal(back[0], back[1]);
    abut_mesh_destroy(back[0]);
    abut_mesh_destroy(back[1]);
}

TEST(stl_normals_come_from_the_geometry) {
    static const double far[] = {1e30, 0, 0, 1e30, 1e30, 0, 1e30, 0, 1e30, 2e30, 0, 0};
    static const uint32_t faces[] = {0, 1, 2, 0, 3, 3};
    AUTO(mesh) mesh = test_mesh(NULL, far, 4, faces, 2);
    assert_ok(abut_mesh_write(mesh, test_path("n.stl"), NULL));
    size_t bytes;
    AUTO_FREE char *data = test_read_file(test_path("n.stl"), &bytes);
    assert_int_equal(184, bytes);
    float normals[2][3];
    memcpy(normals[0], data + 84, 12);
    memcpy(normals[1], data + 134, 12);
    assert_true(normals[0][0] == 1 && normals[0][1] == 0 && normals[0][2] == 0);
    assert_true(normals[1][0] == 0 && normals[1][1] == 0 && normals[1][2] == 0);
}

TEST(refuses_what_it_cannot_do) {
    AUTO(mesh) mesh = test_mesh(NULL, tetrahedron, 4, two, 2);
    assert_refused("mesh is null", abut_mesh_write(NULL, "x.obj", NULL));
    assert_refused("path is null", abut_mesh_write(mesh, NULL, NULL));
    assert_refused("x.dae: its ending", abut_mesh_write(mesh, "x.dae", NULL));
    assert_refused(".stl, .glb or .gltf", abut_mesh_write(mesh, "x", NULL));
    abut_mesh_write_options options = write_options(ABUT_MESH_FORMAT_OTHER, false);
    assert_refused(".obj", abut_mesh_write(mesh, "x.obj", &options));
    options = write_options((abut_mesh_format)17, false);
    assert_refused("format 17", abut_mesh_write(mesh, "x.obj", &options));
    options.size = 1;
    assert_refused("size", abut_mesh_write(mesh, "x.obj", &options));
    assert_int_not_equal(0, access("x.obj", F_OK));
    assert_fails(ABUT_ERROR_FILE, "/none/x.obj: cannot be written: No such",
                 abut_mesh_write(mesh, test_path("none/x.obj"), NULL));
    abut_mesh_destroy(mesh);
    static const double large[] = {0, 0, 0, 1e39, 0, 0, 0, 1, 0};
    static const uint32_t one[] = {0, 1, 2};
    mesh = test_mesh(NULL, large, 3, one, 1);
    assert_refused("big.stl: vertex 1 is (1e+39, 0, 0), too large",
                   abut_mesh_write(mesh, test_path("big.stl"), NULL));
    assert_int_not_equal(0, access(test_path("big.stl"), F_OK));
    assert_ok(abut_mesh_write(mesh, test_path("big.ply"), NULL));
}

TEST(a_full_disk_keeps_the_old_file) {
    if (access("/dev/full", W_OK) != 0)
        skip();
    AUTO(mesh) mesh = check_grid(NULL, 50, false);
    abut_mesh_write_options options = write_options(ABUT_MESH_FORMAT_OBJ, false);
    assert_fails(ABUT_ERROR_FILE, "/dev/full: could not be written: No space left",
                 abut_mesh_write(mesh, "/dev/full", &options));
}

/* ---- memory, progress ---- */

static abut_status write_once(abut_context *context, void *path) {
    abut_mesh_input input = abut_mesh_input_doubles(tetrahedron, 4, two, 2);
    AUTO(mesh) mesh = NULL;
    abut_status status = abut_mesh_create(context, &input, &mesh);
    return status ? status : abut_mesh_write(mesh, path, NULL);
}

TEST(any_allocation_may_fail) {
    static const char *const names[] = {"o.obj", "o.ply", "o.stl", "o.glb", "o.gltf"};
    for (int i = 0; i < 5; i++) {
        char path[1100];
        snprintf(path, sizeof path, "%s", test_path(names[i]));
        assert_true(test_every_allocation(write_once, path) >= 5);
        size_t bytes;
        free(test_read_file(path, &bytes));
        assert_true(bytes > 50);
    }
}

typedef struct listener {
    uint32_t calls, stop_at;
    double last;
} listener;

static bool count_progress(void *user, const char *stage, double fraction) {
    listener *ear = user;
    assert_memory_equal("writing ", stage, 8);
    assert_true(fraction >= ear->last && fraction <= 1);
    ear->last = fraction;
    return ++ear->calls != ear->stop_at;
}

TEST(can_be_cancelled) {
    listener ear = {0};
    AUTO(context) context = test_watched(count_progress, &ear);
    AUTO(mesh) mesh = check_grid(context, 200, true);
    static const char *const names[] = {"c.obj", "c.ply", "c.stl"};
    for (int i = 0; i < 3; i++) {
        const char *path = test_file(names[i], "old", 3);
        ear = (listener){.stop_at = 2};
        assert_fails(ABUT_ERROR_CANCELLED, names[i], abut_mesh_write(mesh, path, NULL));
        assert_text("old", path);
        ear = (listener){.stop_at = 0};
        assert_ok(abut_mesh_write(mesh, path, NULL));
        assert_true(ear.calls >= 2);
    }
}

/* What was read as floats comes back bit by bit, also far away; doubles come back as floats. */
TEST(gltf_keeps_floats_about_the_origin) {
    if (!strstr(abut_features(), "gltf"))
        skip();
    static const char *const names[] = {"a.glb", "a.gltf", "a.GLTF", "text.glb"};
    abut_pose away = {.translation = {1e6, -3e6, 0.1}};
    abut_mesh *grid = check_grid(NULL, 20, true), *far = NULL, *back = NULL;
    assert_ok(abut_mesh_transform(grid, 1, away, &far));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; k < 2; k++) {
            abut_mesh *mesh = k ? far : grid;
            abut_mesh_write_options options = write_options(ABUT_MESH_FORMAT_AUTO, i == 3);
            assert_ok(abut_mesh_write(mesh, test_path(names[i]), &options));
            AUTO_FREE char *text = test_read_file(test_path(names[i]), NULL);
            assert_memory_equal(i ? "{\"as" : "glTF", text, 4);
            assert_ok(abut_mesh_read(NULL, test_path(names[i]), NULL, &back));
            assert_int_equal(abut_mesh_triangle_count(mesh), abut_mesh_triangle_count(back));
            for (uint32_t v = 0; v < abut_mesh_vertex_count(mesh); v++) {
                abut_vec3 p = check_position(mesh, v), q = check_position(back, v);
                double most = k ? 1e-7 : 0; /* z is far from no float there */
                assert_true(fabs(p.x - q.x) <= 0 && fabs(p.y - q.y) <= 0 &&
                            fabs(p.z - q.z) <= most);
            }
            assert_memory_equal(abut_mesh_indices(mesh), abut_mesh_indices(back),
                                12 * (size_t)abut_mesh_triangle_count(mesh));
            abut_mesh_destroy(back);
        }
    abut_mesh_destroy(far);
    abut_mesh_destroy(grid);
    static const double huge[] = {0, 0, 0, 1e40, 0, 0, 0, 1, 0};
    static const uint32_t one[] = {0, 1, 2};
    AUTO(mesh) large = test_mesh(NULL, huge, 3, one, 1);
    assert_refused("vertex 1 is (1e+40, 0, 0), too large for the floats of glTF",
                   abut_mesh_write(large, test_path("large.glb"), NULL));
}
