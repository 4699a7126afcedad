/* glTF 2.0 and GLB: small documents made here, one for each rule that the reader follows. */
#include "io/gltf_files.h"

#include "io/json.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- containers ---- */

TEST(reads_text_binary_and_files) {
    bytes buffer = square_bytes();
    gives(embed(ONE_NODE "," SQUARE, &buffer), 4, square_at, 2, square_corners);

    bytes glb = pack(ONE_NODE "," SQUARE, &buffer);
    static const char *const names[] = {"a.glb", "a.gltf", "no ending"};
    for (int i = 0; i < 3; i++) {
        AUTO(mesh) mesh = NULL;
        assert_ok(check_read(glb.data, glb.count, names[i], &mesh));
        check_mesh(mesh, 4, square_at, 2, square_corners);
    }

    /* A buffer beside the file, its name with an escape, in a folder below. */
    static const char text[] =
        "{" HEAD "," ONE_NODE "," SQUARE
        ",\"buffers\":[{\"byteLength\":60,\"uri\":\"below/the%20bytes.bin\"}]}";
    mkdir(test_path("below"), 0700);
    test_file("below/the bytes.bin", buffer.data, buffer.count);
    AUTO(mesh) mesh = NULL;
    assert_ok(abut_mesh_read(NULL, test_file("a.gltf", text, sizeof text - 1), NULL, &mesh));
    check_mesh(mesh, 4, square_at, 2, square_corners);
    abut_mesh_destroy(mesh);
    assert_ok(abut_mesh_read(NULL, test_file("a.glb", glb.data, glb.count), NULL, &mesh));
    check_mesh(mesh, 4, square_at, 2, square_corners);
}

TEST(reads_a_pipe) {
    bytes buffer = square_bytes(), glb = pack(ONE_NODE "," SQUARE, &buffer);
    const char *text = embed(ONE_NODE "," SQUARE, &buffer);
    for (int binary = 0; binary < 2; binary++) {
        int ends[2];
        char path[64];
        AUTO(mesh) mesh = NULL;
        size_t count = binary ? glb.count : strlen(text);
        assert_int_equal(0, pipe(ends));
        assert_int_equal(count, write(ends[1], binary ? (const void *)glb.data : text, count));
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        assert_ok(abut_mesh_read(NULL, path, NULL, &mesh));
        check_mesh(mesh, 4, square_at, 2, square_corners);
        close(ends[0]);
    }
}

TEST(refuses_broken_containers) {
    bytes buffer = square_bytes(), glb = pack(ONE_NODE "," SQUARE, &buffer);
    for (size_t cut = 1; cut < glb.count; cut++) {
        abut_mesh *mesh = NULL;
        abut_status status = check_read(glb.data, cut, "cut.glb", &mesh);
        assert_int_equal(ABUT_ERROR_FORMAT, status);
        assert_null(mesh);
    }
    bytes bad = glb;
    bad.data[4] = 1;
    check_refused((char *)bad.data, bad.count, "bad.glb", "version 1; only version 2");
    bad = glb;
    bad.data[16] = 'j';
    check_refused((char *)bad.data, bad.count, "bad.glb", "its first chunk is not JSON");
    bad = glb;
    memset(bad.data + 12, 0xff, 4);
    check_refused((char *)bad.data, bad.count, "bad.glb", "a chunk has 4294967295 bytes");
    bad = glb;
    memset(bad.data + 8, 0, 4);
    check_refused((char *)bad.data, bad.count, "bad.glb", "less than the header itself");
    bad = glb; /* the size in the head is that of head and JSON: no binary part */
    uint32_t json = (uint32_t)(bad.data[12] | bad.data[13] << 8);
    bad.data[8] = (unsigned char)(20 + json);
    bad.data[9] = (unsigned char)((20 + json) >> 8);
    check_refused((char *)bad.data, bad.count, "bad.glb", "buffers[0]: has no bytes");
    static const unsigned char empty[20] = "glTF\2\0\0\0\24\0\0\0\0\0\0\0JSO\x4e";
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_FORMAT, "invalid JSON",
                 abut_mesh_read(NULL, test_file("empty.glb", empty, 20), NULL, &mesh));
    check_refused((const char *)empty, 20, "empty.glb", "invalid JSON");
    refused("{" HEAD "," SQUARE "}", "bufferViews[0]: 'buffer' is 0, but there are only 0 buffers");
}

TEST(refuses_names_outside_the_folder) {
    static const char *const names[] = {"../secret.bin",
                                        "below/../../secret.bin",
                                        "/etc/passwd",
                                        "%2e%2e/secret.bin",
                                        "file:///x.bin",
                                        "http://a/b.bin",
                                        "a\\\\b.bin",
                                        "a%00b.bin",
                                        "",
                                        "..",
                                        "a%2",
                                        "below/..",
                                        "c:x.bin",
                                        "%2fetc/passwd"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[2000];
        snprintf(text, sizeof text,
                 "{" HEAD "," SQUARE ",\"buffers\":[{\"byteLength\":60,\"uri\":\"%s\"}]}",
                 names[i]);
        abut_mesh *mesh = NULL;
        assert_fails(ABUT_ERROR_FORMAT, "buffers[0]: '",
                     abut_mesh_read(NULL, test_file("bad.gltf", text, strlen(text)), NULL, &mesh));
        if (!strstr(abut_last_error(), "in the folder of the document or below"))
            fail_msg("'%s': %s", names[i], abut_last_error());
        refused(text, "which a document in memory or in a pipe cannot name");
    }
    char text[2000];
    snprintf(text, sizeof text,
             "{" HEAD "," SQUARE ",\"buffers\":[{\"byteLength\":61,\"uri\":\"b..bin\"}]}");
    const char *path = test_file("bad.gltf", text, strlen(text));
    abut_mesh *mesh = NULL;
    unlink(test_path("b..bin"));
    assert_fails(ABUT_ERROR_FORMAT, "b..bin' cannot be opened: No such file",
                 abut_mesh_read(NULL, path, NULL, &mesh));
    bytes buffer = square_bytes();
    test_file("b..bin", buffer.data, buffer.count);
    assert_fails(ABUT_ERROR_FORMAT, "has 61 bytes, but the file",
                 abut_mesh_read(NULL, path, NULL, &mesh));
    unlink(test_path("b..bin"));
    mkfifo(test_path("b..bin"), 0600);
    assert_fails(ABUT_ERROR_FORMAT, "is not a regular file",
                 abut_mesh_read(NULL, path, NULL, &mesh));
    unlink(test_path("b..bin"));
    /* links: within the folder they are followed, out of it they are not, also on the way */
    test_file("true.bin", buffer.data, buffer.count);
    assert_int_equal(0, mkdir(test_path("document"), 0700));
    assert_int_equal(0, mkdir(test_path("document/deep"), 0700));
    test_file("document/deep/inner.bin", buffer.data, buffer.count);
    assert_int_equal(0, symlink("..", test_path("document/up")));
    assert_int_equal(0, symlink("../true.bin", test_path("document/out.bin")));
    assert_int_equal(0, symlink(test_path("true.bin"), test_path("document/deep/far.bin")));
    assert_int_equal(0, symlink("deep/inner.bin", test_path("document/in.bin")));
    assert_int_equal(0, symlink("deep", test_path("document/folder")));
    static const char *const links[] = {"up/true.bin", "out.bin",          "deep/far.bin",
                                        "in.bin",      "folder/inner.bin", "up/document/in.bin"};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char linked[2000];
        snprintf(linked, sizeof linked,
                 "{" HEAD "," SQUARE ",\"buffers\":[{\"byteLength\":60,\"uri\":\"%s\"}]}",
                 links[i]);
        const char *document = test_file("document/d.gltf", linked, strlen(linked));
        if (i < 3) {
            assert_fails(ABUT_ERROR_FORMAT, "symbolic link out of the folder of the document",
                         abut_mesh_read(NULL, document, NULL, &mesh));
        } else {
            assert_ok(abut_mesh_read(NULL, document, NULL, &mesh));
            abut_mesh_destroy(mesh);
            mesh = NULL;
        }
    }
    int ends[2];
    char pipe_path[64];
    assert_int_equal(0, pipe(ends));
    assert_int_equal(strlen(text), write(ends[1], text, strlen(text)));
    close(ends[1]);
    snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", ends[0]);
    assert_fails(ABUT_ERROR_FORMAT, "memory or in a pipe",
                 abut_mesh_read(NULL, pipe_path, NULL, &mesh));
    close(ends[0]);
}

/* ---- accessors ---- */

/* Positions of every type, some normalized, at several offsets and strides; the last triangle of a
 * square of whole numbers. */
TEST(reads_every_component_type) {
    static const struct {
        unsigned type, bytes;
        bool normalized;
        double one; /* what the number 100 becomes */
    } kinds[] = {{5120, 1, false, 100},         {5121, 1, false, 100},
                 {5122, 2, false, 100},         {5123, 2, false, 100},
                 {5125, 4, false, 100},         {5120, 1, true, 100 / 127.0},
                 {5121, 1, true, 100 / 255.0},  {5122, 2, true, 100 / 32767.0},
                 {5123, 2, true, 100 / 65535.0}};
    static const uint32_t corners[] = {0, 1, 2};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned stride = 3 * kinds[k].bytes; stride <= 16; stride += 4 - stride % 4) {
            bytes buffer = {.count = 0};
            double positions[9] = {0};
            append_bytes(&buffer, "skipped", 7);
            for (int i = 0; i < 3; i++) {
                unsigned char element[16] = {0};
                element[(unsigned)i * kinds[k].bytes] = 100;
                append_bytes(&buffer, element, stride);
                positions[3 * i + i] = kinds[k].one;
            }
            char members[2000];
            snprintf(members, sizeof members,
                     "\"bufferViews\":[{\"buffer\":0,\"byteOffset\":3,\"byteLength\":%u,"
                     "\"byteStride\":%u}],\"accessors\":[{\"bufferView\":0,\"byteOffset\":4,"
                     "\"componentType\":%u,\"count\":3,\"type\":\"VEC3\",\"normalized\":%s}],"
                     "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]",
                     4 + 3 * stride, stride, kinds[k].type, kinds[k].normalized ? "true" : "false");
            gives(embed(members, &buffer), 3, positions, 1, corners);
        }
    /* the lowest number of a normalized type is -1, like the one above it */
    bytes buffer = {.count = 0};
    append_bytes(&buffer, "\x80\x81\x7f\0\x7f\0\0\0\0", 9);
    static const double lowest[] = {-1, -1, 1, 0, 1, 0, 0, 0, 0};
    gives(
        embed("\"bufferViews\":[{\"buffer\":0,\"byteLength\":9}],\"accessors\":[{\"bufferView\":0,"
              "\"componentType\":5120,\"count\":3,\"type\":\"VEC3\",\"normalized\":true}],"
              "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]",
              &buffer),
        3, lowest, 1, corners);
}

/* Quantized positions, made whole by the scale of their node (KHR_mesh_quantization). */
TEST(reads_quantized_meshes) {
    bytes buffer = {.count = 0};
    static const unsigned char at[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0,
                                       0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0};
    append_bytes(&buffer, at, sizeof at);
    static const double positions[] = {1, 0, 0, 5, 0, 0, 1, 8, 0};
    static const uint32_t corners[] = {0, 1, 2};
    gives(embed("\"extensionsUsed\":[\"KHR_mesh_quantization\"],\"extensionsRequired\":["
                "\"KHR_mesh_quantization\",\"KHR_materials_unlit\"],\"scenes\":[{\"nodes\":[0]}],"
                "\"nodes\":[{\"mesh\":0,\"scale\":[0.00390625,0.00390625,0.00390625],"
                "\"translation\":[1,0,0]}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":22,"
                "\"byteStride\":8}],\"accessors\":[{\"bufferView\":0,\"componentType\":5123,"
                "\"count\":3,\"type\":\"VEC3\"}],\"meshes\":[{\"primitives\":[{\"attributes\":{"
                "\"POSITION\":0}}]}]",
                &buffer),
          3, positions, 1, corners);
}

TEST(reads_sparse_accessors) {
    static const float values[] = {7, 8, 9, -1, -2, -3};
    bytes buffer = square_bytes();
    append_bytes(&buffer, "\1\0\3\0", 4); /* as 16 bits: 1 and 3; as 8 bits: 1 and 0 */
    put_floats(&buffer, 6, values);
    static const double changed[] = {0, 0, 0, 7, 8, 9, 1, 1, 0, -1, -2, -3};
    static const double zeros[] = {0, 0, 0, 7, 8, 9, 0, 0, 0, -1, -2, -3};
    static const double one[] = {0, 0, 0, 7, 8, 9, 1, 1, 0, 0, 1, 0.5};
    gives(embed(SPARSE("\"bufferView\":0,", "2", "5123"), &buffer), 4, changed, 2, square_corners);
    gives(embed(SPARSE("", "2", "5123"), &buffer), 4, zeros, 2, square_corners);
    gives(embed(SPARSE("\"bufferView\":0,", "1", "5121"), &buffer), 4, one, 2, square_corners);
    refused(embed(SPARSE("", "2", "5121"), &buffer),
            "accessors[0]: its sparse indices must ascend");
    refused(embed(SPARSE("", "1", "5125"), &buffer), "stay below 4; 196609 does not");
    refused(embed(SPARSE("", "1", "5126"), &buffer), "sparse indices have componentType 5126");
    refused(embed(SPARSE("", "0", "5123"), &buffer), "a count from 1 to that of the accessor");
    refused(embed(SPARSE("", "5", "5123"), &buffer), "a count from 1 to that of the accessor");
    refused(embed(SPARSE("", "3", "5123"), &buffer), "do not fit bufferViews[2]");
}

/* Each line: what to put for a part of the square's document, and what is said of it. */
TEST(refuses_with_the_element) {
    static const struct {
        const char *views, *accessors, *mesh, *part;
    } cases[] = {
        {"{\"buffer\":0,\"byteLength\":47}", NULL, NULL,
         "accessors[0]: 4 elements of 12 bytes, 12 apart, from byte 0 on do not fit "
         "bufferViews[0], "
         "which has 47 bytes"},
        {"{\"buffer\":0,\"byteLength\":61}", NULL, NULL,
         "bufferViews[0]: is bytes 0 to 61 of buffer 0, which has only 60"},
        {"{\"buffer\":0,\"byteOffset\":9007199254740992,\"byteLength\":9007199254740992}", NULL,
         NULL, "bufferViews[0]: is bytes"},
        {"{\"buffer\":1,\"byteLength\":48}", NULL, NULL,
         "bufferViews[0]: 'buffer' is 1, but there are only 1 buffers, counted from 0"},
        {"{\"byteLength\":48}", NULL, NULL, "bufferViews[0]: has no buffer"},
        {"{\"buffer\":0,\"byteLength\":48,\"byteStride\":8}", NULL, NULL,
         "bufferViews[0]: its byteStride is 8, but its elements have 12 bytes"},
        {"{\"buffer\":0,\"byteLength\":48,\"byteStride\":9007199254740992}", NULL, NULL,
         "accessors[0]: 4 elements"},
        {"{\"buffer\":0,\"byteLength\":48,\"byteOffset\":-4}", NULL, NULL,
         "bufferViews[0]: 'byteOffset' is -4; it must be an integer"},
        {"{\"buffer\":0,\"byteLength\":48.5}", NULL, NULL, "'byteLength' is 48.5"},
        {"{\"buffer\":0,\"byteLength\":\"48\"}", NULL, NULL,
         "'byteLength' is a string; it must be a number"},
        {"{\"buffer\":0,\"buffer\":0,\"byteLength\":48}", NULL, NULL,
         "bufferViews[0]: has 'buffer' twice"},
        {"[]", NULL, NULL, "'bufferViews' is a list; it must be an object"},
        {NULL, "{\"bufferView\":0,\"count\":5," FLOATS "}", NULL, "accessors[0]: 5 elements"},
        {NULL, "{\"bufferView\":0,\"count\":4000000000," FLOATS "}", NULL,
         "accessors[0]: 4000000000 elements"},
        {NULL, "{\"bufferView\":0,\"count\":5000000000," FLOATS "}", NULL,
         "its count is 5000000000"},
        {NULL, "{\"bufferView\":0,\"count\":0," FLOATS "}", NULL, "its count is 0"},
        {NULL, "{\"bufferView\":0,\"byteOffset\":49,\"count\":1," FLOATS "}", NULL,
         "from byte 49 on"},
        {NULL, "{\"count\":4000000000," FLOATS "}", NULL, "accessors[0]: has no data"},
        {NULL, "{\"bufferView\":9,\"count\":4," FLOATS "}", NULL, "'bufferView' is 9"},
        {NULL, "{\"bufferView\":0,\"count\":4,\"componentType\":5130,\"type\":\"VEC3\"}", NULL,
         "its componentType is 5130"},
        {NULL, "{\"bufferView\":0,\"count\":4,\"componentType\":5126,\"type\":\"VEC4\"}", NULL,
         "its type must be VEC3 here"},
        {NULL, "{\"bufferView\":0,\"count\":4,\"componentType\":5126}", NULL, "must be VEC3"},
        {NULL, "{\"bufferView\":0,\"count\":4,\"normalized\":true," FLOATS "}", NULL,
         "integers of 8 and 16 bits"},
        {NULL, "{\"bufferView\":0,\"count\":3," FLOATS "}", NULL,
         "accessors[1]: element 5 refers to vertex 3 of 3"},
        {NULL, NULL, "{\"attributes\":{\"POSITION\":1},\"indices\":1}", "accessors[1]: its type"},
        {NULL, NULL, "{\"attributes\":{\"POSITION\":0},\"indices\":0}", "accessors[0]: its type"},
        {NULL, NULL, "{\"attributes\":{\"POSITION\":0},\"indices\":2}",
         "meshes[0]: 'indices' is 2, but there are only 2 accessors"},
        {NULL, NULL, "{\"attributes\":{\"POSITION\":0},\"indices\":1,\"mode\":7}", "has mode 7"},
        {NULL, NULL, "{\"attributes\":{\"POSITION\":0}}", "4 corners are not a whole number"},
        {NULL, NULL, "{\"attributes\":[]}", "'attributes' is a list; it must be an object"},
        {NULL, NULL, "7", "meshes[0]: a primitive is not an object"},
        {NULL, NULL, "{\"attributes\":{\"NORMAL\":0}}", "has no faces"},
    };
    bytes buffer = square_bytes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[2000];
        snprintf(members, sizeof members,
                 "\"bufferViews\":[%s,{\"buffer\":0,\"byteOffset\":48,\"byteLength\":12}],"
                 "\"accessors\":[%s,{\"bufferView\":1,\"componentType\":5123,\"count\":6,\"type\":"
                 "\"SCALAR\"}],\"meshes\":[{\"primitives\":[%s]}]",
                 cases[i].views ? cases[i].views : "{\"buffer\":0,\"byteLength\":48}",
                 cases[i].accessors ? cases[i].accessors
                                    : "{\"bufferView\":0,\"count\":4," FLOATS "}",
                 cases[i].mesh ? cases[i].mesh : "{\"attributes\":{\"POSITION\":0},\"indices\":1}");
        refused(embed(members, &buffer), cases[i].part);
    }
}

TEST(refuses_positions_that_are_not_finite) {
    static const float bad[] = {(float)NAN, (float)INFINITY};
    for (int i = 0; i < 2; i++) {
        bytes buffer = square_bytes(), other = {.count = 0};
        put_floats(&other, 1, &bad[i]);
        memcpy(buffer.data + 16, other.data, 4);
        refused(embed(SQUARE, &buffer), "vertex 1 is (");
    }
    bytes buffer = square_bytes();
    refused(embed("\"nodes\":[{\"mesh\":0,\"scale\":[1e300,1,1]}]," SQUARE, &buffer),
            "must be finite and at most 1e+90");
    refused(embed("\"nodes\":[{\"mesh\":0,\"scale\":[1e400,1,1]}]," SQUARE, &buffer),
            "a number beyond the range of double");
}

/* ---- primitives ---- */

TEST(reads_lists_strips_and_fans) {
    bytes buffer = square_bytes();
#define MODE(rest)                    \
    SQUARE_VIEWS "," SQUARE_ACCESSORS \
                 ",\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}," rest "}]}]"
    static const uint32_t strip[] = {0, 1, 2, 1, 3, 2}, fan[] = {1, 2, 0, 2, 3, 0};
    gives(embed(MODE("\"mode\":5"), &buffer), 4, square_at, 2, strip);
    gives(embed(MODE("\"mode\":6"), &buffer), 4, square_at, 2, fan);
    /* by the indices 0 1 2 0 2 3 */
    static const uint32_t long_strip[] = {0, 1, 2, 1, 0, 2, 2, 0, 2, 0, 3, 2};
    static const uint32_t long_fan[] = {1, 2, 0, 2, 0, 0, 0, 2, 0, 2, 3, 0};
    gives(embed(MODE("\"mode\":5,\"indices\":1"), &buffer), 4, square_at, 4, long_strip);
    gives(embed(MODE("\"mode\":6,\"indices\":1"), &buffer), 4, square_at, 4, long_fan);
    buffer.data[50] = buffer.data[51] = 0xff;
    refused(embed(MODE("\"mode\":5,\"indices\":1"), &buffer),
            "accessors[1]: element 1 is 65535, the primitive restart");
    refused(embed(MODE("\"mode\":4,\"indices\":1"), &buffer),
            "accessors[1]: element 1 refers to vertex 65535 of 4");
}

typedef struct log_seen {
    char text[400];
    int count;
} log_seen;

static void keep_log(void *user, abut_log_level level, const char *message) {
    log_seen *seen = user;
    seen->count++;
    snprintf(seen->text, sizeof seen->text, "%s", message);
    assert_int_equal(ABUT_LOG_WARNING, level);
}

/* Reads with a log; returns what was said last. */
static const char *warning_of(const char *text) {
    static log_seen seen;
    seen = (log_seen){.count = 0};
    abut_context *context = test_logged(keep_log, &seen);
    abut_mesh *mesh = NULL;
    assert_ok(abut_mesh_read_memory(context, text, strlen(text), "a.gltf", NULL, &mesh));
    check_mesh(mesh, 4, square_at, 2, square_corners);
    assert_true(seen.count <= 1);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    return seen.text;
}

TEST(warns_of_what_it_does_not_read) {
    bytes buffer = square_bytes();
    assert_string_equal(
        "a.gltf: uses the extension EXT_mesh_gpu_instancing, which abut does not read",
        warning_of(embed("\"extensionsUsed\":[\"KHR_materials_ior\","
                         "\"EXT_mesh_gpu_instancing\"]," SQUARE,
                         &buffer)));
    assert_string_equal("a.gltf: has 2 scenes; only scene 1 is read",
                        warning_of(embed("\"scene\":1,\"scenes\":[{},{\"nodes\":[0]}],\"nodes\":"
                                         "[{\"mesh\":0}]," SQUARE,
                                         &buffer)));
    assert_string_equal("", warning_of(embed(ONE_NODE "," SQUARE, &buffer)));
}

TEST(leaves_out_points_and_lines) {
    bytes buffer = square_bytes();
    const char *text =
        embed(SQUARE_VIEWS
              "," SQUARE_ACCESSORS
              ",\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"mode\":0},"
              "{\"attributes\":{\"POSITION\":0},\"indices\":1},{\"attributes\":{},"
              "\"indices\":1},{\"attributes\":{\"POSITION\":0},\"mode\":3}]}]",
              &buffer);
    assert_string_equal(
        "a.gltf: 3 primitives are points or lines, or have no positions, and are skipped",
        warning_of(text));
}

/* Primitives with the same positions share vertices; other instances do not. */
TEST(shares_vertices) {
    bytes buffer = square_bytes();
    static const uint32_t corners[] = {0, 1, 2, 0, 2, 3, 1, 2, 0, 2, 3, 0,
                                       4, 5, 6, 4, 6, 7, 5, 6, 4, 6, 7, 4};
    double positions[24];
    memcpy(positions, square_at, sizeof square_at);
    memcpy(positions + 12, square_at, sizeof square_at);
    gives(embed("\"nodes\":[{\"mesh\":0},{\"mesh\":0}]," SQUARE_VIEWS "," SQUARE_ACCESSORS
                ",\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1},"
                "{\"attributes\":{\"POSITION\":0},\"mode\":6}]}]",
                &buffer),
          8, positions, 8, corners);
}

/* ---- nodes and scenes ---- */

/* The first vertex that is not at the origin of the square, for each instance. */
static void places(const char *members, uint32_t count, const double *wanted) {
    char text[3000];
    bytes buffer = square_bytes();
    snprintf(text, sizeof text, "%s,%s", members, SQUARE);
    AUTO(mesh) mesh = read_text(embed(text, &buffer));
    assert_int_equal(4 * count, abut_mesh_vertex_count(mesh));
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 p = check_position(mesh, 4 * i + 1);
        if (!(fabs(p.x - wanted[3 * i]) + fabs(p.y - wanted[3 * i + 1]) +
                  fabs(p.z - wanted[3 * i + 2]) <
              1e-14))
            fail_msg("%s: instance %u is at %g %g %g", members, i, p.x, p.y, p.z);
    }
}

TEST(places_nodes) {
    static const double plain[] = {1, 0, 0}, moved[] = {11, 5, 0}, both[] = {2, 0, 0, 11, 5, 0},
                        turned[] = {0, 2, 3}, three[] = {1, 0, 7, 1, 0, 8, 1, 0, 9};
    places("\"nodes\":[{\"mesh\":0}]", 1, plain);
    places("\"nodes\":[{\"translation\":[10,0,0],\"children\":[1]},{\"mesh\":0,\"translation\":[0,"
           "5,0]}]",
           1, moved);
    places("\"nodes\":[{\"mesh\":0,\"translation\":[0,5,0]},{\"translation\":[10,0,0],\"children\":"
           "[0]}]",
           1, moved);
    /* the scene that is named, then the first; its order, parents first */
    places("\"scene\":1,\"scenes\":[{\"nodes\":[0]},{\"nodes\":[1,0]}],\"nodes\":[{\"translation\":"
           "[10,0,0],\"children\":[2]},{\"mesh\":0,\"scale\":[2,2,2]},{\"mesh\":0,\"translation\":"
           "[0,5,0]}]",
           2, both);
    places("\"scenes\":[{\"nodes\":[0]},{\"nodes\":[1]}],\"nodes\":[{\"mesh\":0},{}]", 1, plain);
    places(
        "\"scenes\":[{\"nodes\":[1]}],\"nodes\":[{\"mesh\":0},{\"children\":[2,3,4]},{\"mesh\":0,"
        "\"translation\":[0,0,7]},{\"mesh\":0,\"translation\":[0,0,8]},{\"mesh\":0,"
        "\"translation\":[0,0,9]}]",
        3, three);
    /* a quarter turn about z and a scale, as a quaternion of length 2 and as a matrix by columns */
    places("\"nodes\":[{\"mesh\":0,\"rotation\":[0,0,1.4142135623730951,1.4142135623730951],"
           "\"scale\":[2,1,1],\"translation\":[0,0,3]}]",
           1, turned);
    places("\"nodes\":[{\"mesh\":0,\"matrix\":[0,2,0,0,-1,0,0,0,0,0,1,0,0,0,3,1]}]", 1, turned);
}

TEST(turns_mirrored_instances) {
    bytes buffer = square_bytes();
    static const double positions[] = {0, 0, 0, -1, 0, 0, -1, 1, 0, 0, 1, 0.5};
    static const uint32_t corners[] = {0, 2, 1, 0, 3, 2};
    gives(embed("\"nodes\":[{\"mesh\":0,\"scale\":[-1,1,1]}]," SQUARE, &buffer), 4, positions, 2,
          corners);
}

TEST(refuses_nodes_that_are_no_trees) {
    static const char *const cases[][2] = {
        {"\"nodes\":[{\"children\":[1]},{\"children\":[0],\"mesh\":0}]", "form a cycle"},
        {"\"nodes\":[{\"mesh\":0},{\"children\":[1]}]", "form a cycle"},
        {"\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"children\":[1]},{\"children\":[0],\"mesh\":0}"
         "]",
         "nodes[0]: is reached twice; nodes must form trees"},
        {"\"nodes\":[{\"children\":[2]},{\"children\":[2]},{\"mesh\":0}]",
         "nodes[2]: is reached twice"},
        {"\"scenes\":[{\"nodes\":[0,0]}],\"nodes\":[{\"mesh\":0}]", "nodes[0]: is reached twice"},
        {"\"scenes\":[{\"nodes\":[1]}],\"nodes\":[{\"mesh\":0}]", "scenes[0]: 'nodes' is 1"},
        {"\"scene\":1,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}]", "'scene' is 1"},
        {"\"nodes\":[{\"mesh\":0,\"children\":[-1]}]", "nodes[0]: 'children' is -1"},
        {"\"nodes\":[{\"mesh\":1}]", "nodes[0]: 'mesh' is 1, but there are only 1 meshes"},
        {"\"nodes\":[{\"mesh\":0,\"scale\":[1,2]}]",
         "nodes[0]: 'scale' has 2 numbers; it must have 3"},
        {"\"nodes\":[{\"mesh\":0,\"scale\":[1,2,\"3\"]}]", "'scale' is a string"},
        {"\"nodes\":[{\"mesh\":0,\"rotation\":[0,0,0,0]}]", "its rotation is zero"},
        {"\"nodes\":[{\"mesh\":0,\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,2]}]", "last row"},
        {"\"nodes\":[{\"mesh\":0,\"scale\":[1,1,1],\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}]",
         "has both a matrix and"},
        {"\"scenes\":[{}],\"nodes\":[{\"mesh\":0}]", "has no faces"},
    };
    bytes buffer = square_bytes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[2000];
        snprintf(members, sizeof members, "%s,%s", cases[i][0], SQUARE);
        refused(embed(members, &buffer), cases[i][1]);
    }
}

TEST(refuses_other_versions_and_extensions) {
    refused("{\"asset\":{\"version\":\"1.0\"}}", "is glTF 1.0; only 2.0 can be read");
    refused("{\"asset\":{\"version\":\"2.1\",\"minVersion\":\"2.1\"}}", "is glTF 2.1");
    refused("{\"asset\":{}}", "asset.version is missing");
    refused("{}", "asset.version is missing");
    refused("[]", "its JSON is not an object");
    static const char *const names[] = {"KHR_draco_mesh_compression", "EXT_meshopt_compression",
                                        "KHR_materials_", "XYZ"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[200], part[100];
        snprintf(text, sizeof text, "{" HEAD ",\"extensionsRequired\":[\"%s\"]}", names[i]);
        snprintf(part, sizeof part, "needs the extension %s, which abut does not read", names[i]);
        refused(text, part);
    }
    refused("{" HEAD ",\"extensionsRequired\":[1]}", "'extensionsRequired' is a number");
}

/* ---- morph targets and skins, at rest ---- */

TEST(applies_morph_weights) {
    static const float targets[] = {0, 0, 2, 0, 0, 4, 0, 0, 6};
    static const float triangle[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    bytes buffer = {.count = 0};
    put_floats(&buffer, 9, triangle);
    put_floats(&buffer, 9, targets);
#define MORPH(nodes, weights)                                                                  \
    nodes "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":36," \
          "\"byteLength\":36}],\"accessors\":[{\"bufferView\":0,\"count\":3," FLOATS           \
          "},{\"bufferView\":1,\"count\":3," FLOATS "}],\"meshes\":[{\"primitives\":[{"        \
          "\"attributes\":{\"POSITION\":0},\"targets\":[{\"POSITION\":1},{\"NORMAL\":1},{"     \
          "\"POSITION\":1}]}]" weights "}]"
    static const uint32_t corners[] = {0, 1, 2};
    static const double rest[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, half[] = {0, 0, 1, 1, 0, 2, 0, 1, 3},
                        twice[] = {0, 0, 4, 1, 0, 8, 0, 1, 12};
    gives(embed(MORPH("", ""), &buffer), 3, rest, 1, corners);
    gives(embed(MORPH("", ",\"weights\":[0.5,1,0]"), &buffer), 3, half, 1, corners);
    gives(embed(MORPH("", ",\"weights\":[1,1,1]"), &buffer), 3, twice, 1, corners);
    gives(embed(MORPH("\"nodes\":[{\"mesh\":0,\"weights\":[0,0,0.5]}],", ",\"weights\":[1,1,1]"),
                &buffer),
          3, half, 1, corners);
    /* a target without data is zeros */
    char zeros[2000];
    snprintf(zeros, sizeof zeros, "%s", MORPH("", ",\"weights\":[1,1,1]"));
    char *second = strstr(zeros, "{\"bufferView\":1,");
    assert_non_null(second);
    memset(second + 1, ' ', 15);
    gives(embed(zeros, &buffer), 3, rest, 1, corners);
    refused(embed(MORPH("", ",\"weights\":[1]"), &buffer),
            "meshes[0]: has 3 morph targets, but 1 weights");
}

/* Two joints, one moved and one turned; the node of the mesh is moved too, which counts for
 * nothing. */
TEST(applies_skins) {
    static const float triangle[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const float inverse[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0,  1,
                                    1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -1, 1};
    static const unsigned char joints[] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    static const unsigned char weights[] = {255, 0, 0, 0, 255, 0, 0, 0, 100, 100, 0, 0};
    bytes buffer = {.count = 0};
    put_floats(&buffer, 9, triangle);
    put_floats(&buffer, 32, inverse);
    append_bytes(&buffer, joints, sizeof joints);
    append_bytes(&buffer, weights, sizeof weights);
#define SKIN(nodes, skin)                                                                         \
    "\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[" nodes "],\"skins\":[" skin "],\"bufferViews\":[" \
    "{\"buffer\":0,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":36,\"byteLength\":128},"       \
    "{\"buffer\":0,\"byteOffset\":164,\"byteLength\":12},{\"buffer\":0,\"byteOffset\":176,"       \
    "\"byteLength\":12}],\"accessors\":[{\"bufferView\":0,\"count\":3," FLOATS                    \
    "},{\"bufferView\":1,\"count\":2,\"componentType\":5126,\"type\":\"MAT4\"},{\"bufferView\":"  \
    "2,\"count\":3,\"componentType\":5121,\"type\":\"VEC4\"},{\"bufferView\":3,\"count\":3,"      \
    "\"componentType\":5121,\"normalized\":true,\"type\":\"VEC4\"}],\"meshes\":[{"                \
    "\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":2,\"WEIGHTS_0\":3}}]}]"
#define NODES                                                                             \
    "{\"translation\":[10,0,0],\"children\":[2]},{\"mesh\":0,\"skin\":0,\"translation\":" \
    "[0,99,0]},{\"scale\":[1,1,2]}"
    static const uint32_t corners[] = {0, 1, 2};
    static const double bent[] = {10, 0, 0, 11, 0, -2, 10, 1, -1},
                        plain[] = {10, 0, 0, 11, 0, 0, 10, 1, 0};
    for (int bound = 0; bound < 2; bound++) {
        const double *wanted = bound ? bent : plain;
        AUTO(mesh)
        mesh = read_text(
            bound ? embed(SKIN(NODES, "{\"joints\":[0,2],\"inverseBindMatrices\":1}"), &buffer)
                  : embed(SKIN(NODES, "{\"joints\":[0,2]}"), &buffer));
        check_mesh(mesh, 3, NULL, 1, corners);
        for (uint32_t i = 0; i < 3; i++) { /* weights of 100 of 255 are not exact */
            abut_vec3 p = check_position(mesh, i);
            assert_true(fabs(p.x - wanted[3 * i]) + fabs(p.y - wanted[3 * i + 1]) +
                            fabs(p.z - wanted[3 * i + 2]) <
                        1e-13);
        }
    }
    refused(embed(SKIN(NODES, "{\"joints\":[0]}"), &buffer), "vertex 1 refers to joint 1 of 1");
    refused(embed(SKIN(NODES, "{\"joints\":[]}"), &buffer), "skins[0]: has no joints");
    refused(embed(SKIN(NODES, "{\"joints\":[0,2,2],\"inverseBindMatrices\":1}"), &buffer),
            "has 2 matrices for 3 joints");
    refused(embed(SKIN(NODES ",{}", "{\"joints\":[0,3]}"), &buffer),
            "skins[0]: its joint nodes[3] is not in the scene");
    refused(embed(SKIN(NODES, "{\"joints\":[0,4]}"), &buffer), "skins[0]: 'joints' is 4");
    char many[3000], *at;
    snprintf(many, sizeof many, "%s", SKIN(NODES, "{\"joints\":[0,2]}"));
    at = strstr(many, ",\"JOINTS_0\"");
    assert_non_null(at);
    at[0] = 0;
    for (int i = 0; i < 9; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many),
                 ",\"JOINTS_%d\":2,\"WEIGHTS_%d\":3", i, i);
    strcat(many, "}}]}]");
    refused(embed(many, &buffer), "meshes[0]: has more than 32 joints per vertex");
    refused(embed(SKIN(NODES, ""), &buffer), "nodes[1]: 'skin' is 0, but there are only 0 skins");
}

/* ---- which way is up ---- */

static void assert_up(const abut_mesh *mesh, double y, double z) {
    abut_vec3 up = abut_mesh_up(mesh);
    assert_true(up.x == 0 && fabs(up.y - y) + fabs(up.z - z) < 1e-15);
}

TEST(tells_which_way_is_up) {
    bytes buffer = square_bytes();
    AUTO(mesh) mesh = read_text(embed(SQUARE, &buffer)), *welded = NULL, *oriented = NULL;
    AUTO(mesh) turned = NULL, *joined = NULL, *mixed = NULL;
    AUTO(topology) topology = NULL;
    assert_up(mesh, 1, 0);
    assert_ok(abut_mesh_weld(mesh, 0, &welded));
    assert_up(welded, 1, 0);
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_mesh_orient(topology, &oriented, NULL));
    assert_up(oriented, 1, 0);
    abut_pose quarter = {.rotation = {1, 0, 0, 1}}; /* about x: y goes to z */
    assert_ok(abut_mesh_transform(mesh, -3, quarter, &turned));
    assert_up(turned, 0, -1);
    abut_mesh *list[3] = {mesh, mesh, turned};
    assert_ok(abut_mesh_join(list, 2, &joined));
    assert_up(joined, 1, 0);
    assert_ok(abut_mesh_join(list, 3, &mixed));
    assert_up(mixed, 0, 0);
    assert_up(NULL, 0, 0);
}

static void draw(abut_mesh *mesh, const abut_picture_options *options, uint8_t *pixels,
                 size_t size) {
    abut_picture *picture = NULL;
    assert_ok(abut_picture_create(NULL, options, &picture));
    assert_ok(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, NULL));
    assert_ok(abut_picture_render(picture, size, pixels));
    abut_picture_destroy(picture);
}

TEST(is_drawn_upright) {
    enum { SIZE = 64 };
    static uint8_t usual[4 * SIZE * SIZE], upright[sizeof usual], lying[sizeof usual];
    bytes buffer = square_bytes();
    AUTO(mesh) mesh = read_text(embed(SQUARE, &buffer));
    abut_picture_options options = abut_picture_options_default();
    options.width = options.height = SIZE;
    draw(mesh, &options, usual, sizeof usual);
    options.up = (abut_vec3){0, 1, 0};
    options.eye_direction = (abut_vec3){0.6, 0.55, 1};
    draw(mesh, &options, upright, sizeof upright);
    assert_memory_equal(usual, upright, sizeof usual);
    options.up = (abut_vec3){0, 0, 1};
    options.eye_direction = (abut_vec3){0};
    draw(mesh, &options, lying, sizeof lying);
    assert_memory_not_equal(usual, lying, sizeof usual);
}

/* Texture coordinates of a square, also where a node mirrors it. */
TEST(reads_texture_coordinates) {
    static const float uv[] = {0, 0, 0.25f, 0, 0.25f, 0.25f, 0, 0.25f};
    static const char views[] =
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":48},"
        "{\"buffer\":0,\"byteOffset\":48,\"byteLength\":12},"
        "{\"buffer\":0,\"byteOffset\":60,\"byteLength\":32}],"
        "\"accessors\":[{\"bufferView\":0,\"count\":4," FLOATS
        "},{\"bufferView\":1,\"componentType\":5123,\"count\":6,\"type\":\"SCALAR\"},"
        "{\"bufferView\":2,\"componentType\":5126,\"count\":4,\"type\":\"VEC2\"}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":2},"
        "\"indices\":1}]}],\"scene\":0,\"scenes\":[{\"nodes\":[0]}],";
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.uv = true;
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        bytes buffer = square_bytes();
        char members[2000];
        put_floats(&buffer, 8, uv);
        snprintf(members, sizeof members, "%s\"nodes\":[{\"mesh\":0,\"scale\":[%d,1,1]}]", views,
                 mirrored ? -1 : 1);
        const char *text = embed(members, &buffer);
        AUTO(mesh) mesh = NULL;
        assert_ok(abut_mesh_read_memory(NULL, text, strlen(text), "a.gltf", &options, &mesh));
        const double *found = abut_mesh_uv(mesh);
        assert_non_null(found);
        for (uint32_t i = 0; i < 6; i++) {
            const abut_vec3 p = check_position(mesh, abut_mesh_indices(mesh)[i]);
            assert_true(found[2 * i] == fabs(p.x) / 4 && found[2 * i + 1] == p.y / 4);
        }
    }
    bytes buffer = square_bytes();
    const char *text = embed(ONE_NODE "," SQUARE, &buffer);
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_FORMAT, "no texture coordinates (TEXCOORD_0)",
                 abut_mesh_read_memory(NULL, text, strlen(text), "a.gltf", &options, &mesh));
    assert_null(mesh);
}

int main(void) {
    return run_gltf();
}
