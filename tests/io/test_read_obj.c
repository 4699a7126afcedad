#include "io/readers.h"

static void refused(const char *text, const char *part) {
    check_refused(text, strlen(text), "bad.obj", part);
}

#define CORNERS "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"

TEST(reads_every_face_form) {
    static const char *const faces[] = {"f 1 2 3\nf 1 3 4\n",
                                        "f 1/1 2/2 3/3\nf 1/7 3/8 4/9\n",
                                        "f 1//1 2//2 3//3\nf 1//1 3//1 4//1\n",
                                        "f 1/1/1 2/2/2 3/3/3\nf 1/1/1 3/1/1 4/1/1\n",
                                        "f -4 -3 -2\nf -4 -2 -1\n",
                                        "f -4/-1/-1 -3//-1 -2/-1\nf 1 -2 4/\n",
                                        "f 1 2 3 \t\r\nf 1 3 4",
                                        "f\t1\t2\t3\n  f 1 3 4   \n\n\n",
                                        "f 1 2 \\\n3\nf \\\r\n 1 \\\n 3 \\\n4\n",
                                        "f 1 2 3\\\n\nf 1 3 4\\\n",
                                        "f 1 2 3 # a comment\nf 1/1 3/2 4/3 #4\n",
                                        "f 1 2 3# a comment\nf 1/1 3//2 4/3/1#4\n",
                                        "f 1 2 3#\\\nf 1 3 4#"};
    for (size_t i = 0; i < sizeof faces / sizeof *faces; i++) {
        char text[200];
        snprintf(text, sizeof text, CORNERS "%s", faces[i]);
        gives_two(text, strlen(text), "a.obj");
    }
}

TEST(ignores_what_is_no_geometry) {
    static const char text[] =
        "# comment \\\nmtllib C:\\models\\\nv 0 0 0 1.0\no thing\nvn 0 0 1\n"
        "v 1 0 0 0.5 0.5 0.5\ng a b\ns off\nvt 0 0\nvp 1 2\nusemtl x\\\nv 0 1 0\n"
        "unknown statement of 1/0 \x01\xff\nl 1 2\np 1\nv +0 -0.0 1e0\n"
        "vvv 9 9 9\nfoo 1 2 3\nf 1 2 3\n#f 9 9 9\nf 1 3 4\n";
    gives_two(text, sizeof text - 1, "a.obj");
}

/* Comments and continued lines right behind numbers; a comment continues nothing. */
TEST(numbers_end_at_comments) {
    static const char text[] =
        "v 0 0 0#c\nv 1 0 0 0.5#a b \\\nv 0 1\\\n0\nv 0\\\r\n 0 1 a\\b \\c #\n"
        "f 1 2 3\nf 1 3 4\n";
    gives_two(text, sizeof text - 1, "a.obj");
    refused("v 0 0#1\n", "a vertex needs 3 coordinates; it has 2");
    refused("v 0 0 \\1\n", "'\\1' is not a number for z");
    refused("v 0 0\\1 1\n", "'\\1' is not a number for z");
}

TEST(reads_any_order_and_line_end) {
    static const char *const texts[] = {
        "v 0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nv 0 0 1\r\nf 1 2 3\r\nf 1 3 4\r\n",
        "v 0 0 0\rv 1 0 0\rv 0 1 0\rv 0 0 1\rf 1 2 3\rf 1 3 4",
        "v 0 0 0\nv 1 0 0\r\nv 0 1 0\rv 0 0 1\n\r\n\rf 1 2 3\n\nf 1 3 4\r",
        "\xef\xbb\xbfv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\n",
        "f 1 2 3\nv 0 0 0\nf 1 3 4\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"};
    EACH_GIVES_TWO(texts, "a.obj");
    /* all kinds count as one line each */
    refused("v 0 0 0\rv 1 0 0\r\nv 0 1 0\nv 0 0 1\n\r\nf 1 2 0\n", "line 6:");
}

TEST(cuts_polygons) {
    /* a dart, concave at its last corner but one: the fan from corner 0 would leave it */
    static const char dart[] = "v 0 0 0\nv 4 2 0\nv 0 4 0\nv 1 2 0\nf 1 2 3 4\nf 2 3 4 1\n";
    AUTO(mesh) mesh = read_named(dart, "d.obj");
    assert_int_equal(4, abut_mesh_triangle_count(mesh));
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t *c = abut_mesh_indices(mesh) + 3 * i;
        abut_vec3 p = check_position(mesh, c[0]), q = check_position(mesh, c[1]),
                  r = check_position(mesh, c[2]);
        assert_true((q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x) > 0);
    }
    abut_mesh_destroy(mesh);
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.triangulation = ABUT_TRIANGULATION_FAN;
    assert_ok(abut_mesh_read_memory(NULL, dart, sizeof dart - 1, "d.obj", &options, &mesh));
    static const uint32_t fans[] = {0, 1, 2, 0, 2, 3, 1, 2, 3, 1, 3, 0};
    check_mesh(mesh, 4, NULL, 4, fans);
}

TEST(refuses_bad_vertices) {
    refused("v 0 0 0\nv 1 0\nf 1 1 1\n", "line 2: a vertex needs 3 coordinates; it has 2");
    refused("v\n", "line 1:");
    refused("v 1 2 x\n", "line 1: 'x' is not a number for z");
    refused("v 1 2 3x\n", "'3x'");
    refused("v 1 2,5 3\n", "'2,5'");
    refused("v 1 0x10 3\n", "'0x10'");
    refused("\n\nv nan 0 0\n", "line 3: vertex 0 is (nan, 0, 0)");
    refused("v 0 -inf 0\n", "line 1: vertex 0");
    refused("v 0 0 infinity\n", "line 1: vertex 0");
    refused("v 0 0 1e91\n", "line 1: vertex 0 is (0, 0, 1e+91)");
    refused("v 0 0 1e999\n", "line 1: vertex 0");
    check_refused("v 0 0 \0"
                  "0\n",
                  9, "bad.obj", "line 1: '\\x000' is not");
}

TEST(refuses_bad_faces) {
    refused(CORNERS "f 1 2 5\n", "line 5: a face refers to vertex 5, but the file has only 4");
    refused(CORNERS "f 1 2 9\nf 1 2 3\nf 1 2 8\n", "line 5:");
    refused(CORNERS "f 1 2 -5\n", "line 5: a face refers to vertex -5, but only 4");
    refused(CORNERS "f 0 1 2\n", "line 5: a face refers to vertex 0");
    refused(CORNERS "f 1 2 4294967295\n", "line 5: a face refers to vertex 4294967295");
    refused(CORNERS "f 1 2 4294967297\n", "line 5:");
    refused(CORNERS "f 1 2 99999999999999999999999\n", "line 5:");
    refused(CORNERS "f 1 2 -99999999999999999999999\n", "line 5:");
    refused(CORNERS "f 1 2\n", "line 5: a face has 2 corners");
    refused(CORNERS "f 1\n", "line 5: a face has 1 corner;");
    refused(CORNERS "f\n", "line 5: a face has 0 corners");
    refused(CORNERS "f 1 2 x\n", "line 5: 'x' is not a corner");
    refused(CORNERS "f 1 2 3.5\n", "line 5: '3.5'");
    refused(CORNERS "f 1 2 3/1/1/1\n", "line 5: '3/1/1/1'");
    refused(CORNERS "f 1 2 /3\n", "line 5: '/3'");
    refused(CORNERS "f 1 2 3/x\n", "line 5: '3/x'");
    refused(CORNERS "f 1 2 -\n", "line 5: '-'");
    refused(CORNERS, "has no faces");
    refused("# nothing\n", "has no faces");
    refused("\n", "has no faces");
    refused("f 1 1 1\n", "line 1: a face refers to vertex 1, but the file has only 0");
}

TEST(survives_truncation) {
    /* single digits, so that a truncated number is the number or nothing */
    static const char text[] = CORNERS "f 1/1 2//2 3/3/3\r\nf -4 -2 -1\n";
    assert_int_equal(8, check_beginnings(text, sizeof text - 1, "cut.obj"));
}

TEST(reads_very_long_lines) {
    static const char two[] = "\nf 1 3 4\n";
    static const struct {
        const char *start, *end;
        char fill;
    } cases[] = {{CORNERS "f 1 2 3 ", two, ' '},
                 {CORNERS "f 1 2 3\n# ", two, 'x'},
                 {CORNERS "f 1 2 3\n", two, 'u'},
                 {"v 0 0 0 ", "\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\n", '7'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = filled_text(cases[i].start, cases[i].fill, cases[i].end);
        gives_two(text, strlen(text), "long.obj");
    }
    /* numbers and words that long are refused */
    refused(filled_text("v 1 2 ", '3', ""), "line 1: '33333333");
    refused(filled_text(CORNERS "f 1 2 ", '3', ""), "line 5: '33333333");
    /* a face of very many corners is a fan, with a warning */
    static char text[1000000] = CORNERS "f 1 2 3";
    size_t start = strlen(text);
    for (size_t i = 0; i < 300000; i++)
        memcpy(text + start + 2 * i, i % 2 ? " 2" : " 4", 2);
    AUTO(mesh) mesh = read_named(text, "fan.obj");
    assert_int_equal(300001, abut_mesh_triangle_count(mesh));
    assert_int_equal(0, abut_mesh_indices(mesh)[3 * 300000]);
}

/* ---- texture coordinates ---- */

static abut_status read_textured(abut_context *context, const char *text, const char *name,
                                 abut_mesh **mesh) {
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.uv = true;
    return abut_mesh_read_memory(context, text, strlen(text), name, &options, mesh);
}

/* u is a quarter of x, and v in the file one of y, at every corner. */
static void check_uv(const abut_mesh *mesh, uint32_t triangle_count) {
    const double *uv = abut_mesh_uv(mesh);
    assert_non_null(uv);
    assert_int_equal(abut_mesh_triangle_count(mesh), triangle_count);
    for (uint32_t i = 0; i < 3 * triangle_count; i++) {
        const abut_vec3 p = check_position(mesh, abut_mesh_indices(mesh)[i]);
        assert_true(uv[2 * i] == p.x / 4 && uv[2 * i + 1] == 1 - p.y / 4);
    }
}

/* Any order and form of indices; a concave polygon, whose ears are clipped, keeps those of its
 * corners. */
TEST(reads_texture_coordinates) {
    static const struct {
        const char *text;
        uint32_t triangles;
    } files[] = {
        {"v 0 0 0\nv 4 0 0\nv 0 4 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n", 1},
        {"v 0 0 0\nv 4 0 0\nv 0 4 0\nf 1/1/9 2/2 3/3\nvt 0\nvt 1 0 7 # c\nvt 0 \\\n1\n", 1},
        {"v 0 0 0\nv 4 0 0\nv 4 4 0\nv 0 4 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
         "f -4/-4 -3/-3 -2/-2 -1/-1\n",
         2},
        {"v 0 0 0\nv 4 0 0\nv 4 4 0\nv 2 1 0\nv 0 4 0\nvt 0 1\nvt .5 .25\nvt 1 1\nvt 1 0\nvt 0 0\n"
         "f 1/5 2/4 3/3 4/2 5/1\nf 5/1 4/2 1/5\n",
         4}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        AUTO(mesh) mesh = NULL;
        AUTO(mesh) plain = read_named(files[i].text, "a.obj");
        assert_ok(read_textured(NULL, files[i].text, "a.obj", &mesh));
        check_uv(mesh, files[i].triangles);
        assert_null(abut_mesh_uv(plain));
        assert_memory_equal(abut_mesh_indices(mesh), abut_mesh_indices(plain),
                            3 * files[i].triangles * sizeof(uint32_t));
    }
    assert_null(abut_mesh_uv(NULL));
}

TEST(refuses_what_are_no_texture_coordinates) {
    static const char *const wrong[][2] = {
        {"f 1 2 3\n", "line 4: a corner of a face has no texture coordinates"},
        {"vt 0 0\nf 1/1 2//1 3/1\n", "line 5: a corner of a face has no texture coordinates"},
        {"vt 0 0\nf 1/1 2/-2 3/1\n", "line 5: a corner of a face has no texture coordinates"},
        {"vt 0 0\nf 1/1 2/2 3/1\n", "corner 1 of triangle 0 has no texture coordinates"},
        {"vt\nf 1 2 3\n", "line 4: texture coordinates need a number"},
        {"vt x 0\n", "'x' is not a texture coordinate"},
        {"vt 0 nan\n", "texture coordinates are (0, nan); they must be finite"},
        {"vt 1e300 0\n",
         "texture coordinates are (1e+300, 0); they must be finite and at most 1e+"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[200];
        abut_mesh *mesh = NULL;
        snprintf(text, sizeof text, "v 0 0 0\nv 4 0 0\nv 0 4 0\n%s", wrong[i][0]);
        assert_fails(ABUT_ERROR_FORMAT, wrong[i][1], read_textured(NULL, text, "a.obj", &mesh));
        assert_null(mesh);
    }
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_UNSUPPORTED, "is neither OBJ nor glTF",
                 read_textured(NULL, "OFF\n3 1 0\n0 0 0 1 0 0 0 1 0 3 0 1 2\n", "a.off", &mesh));
}

static abut_status read_some(abut_context *context, void *data) {
    abut_mesh *mesh = NULL;
    abut_status status = read_textured(context, data, "a.obj", &mesh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(texture_coordinates_survive_failing_allocations) {
    char text[] = "v 0 0 0\nv 4 0 0\nv 4 4 0\nv 0 4 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
                  "f 1/1 2/2 3/3 4/4\n";
    assert_true(test_every_allocation(read_some, text) > 5);
}
