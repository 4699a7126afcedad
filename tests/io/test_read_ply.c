#include "io/readers.h"

static void refused(const char *text, const char *part) {
    check_refused(text, strlen(text), "bad.ply", part);
}

#define HEAD(vertices, faces)                                                               \
    "ply\nformat ascii 1.0\nelement vertex " vertices "\nproperty float x\nproperty float " \
    "y\nproperty float z\nelement face " faces                                              \
    "\nproperty list uchar int vertex_indices\nend_header\n"
#define CORNERS "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"

TEST(reads_text) {
    static const char *const texts[] = {
        HEAD("4", "2") CORNERS "3 0 1 2\n3 0 2 3\n",
        HEAD("4", "2") CORNERS "3 0 1 2\n3 0 2 3", /* no last line end */
        HEAD("4", "2") "0 0 0 1 0 0\n0 1\n0\n\n0 0 1 3 0 1 2\r3\t0\v2 3\nleft over",
        "ply\r\nformat ascii 1.0\r\ncomment \xff odd\r\nobj_info x\r\nelement vertex 4\r\n"
        "property float z\r\nproperty uchar red\r\nproperty double y\r\nproperty int x\r\n"
        "element face 2\r\nproperty list uint8 uint32 vertex_index\r\nend_header\r\n"
        "0 9 0 0\r\n0 9 0 1\r\n0 9 1 0\r\n1 9 0 0\r\n3 0 1 2\r\n3 0 2 3\r\n",
        /* faces first, lists everywhere, other elements around, a property of no interest nan */
        "ply\nformat ascii 1.0\nelement first 2\nproperty list uchar float a\nproperty int b\n"
        "element face 2\nproperty list int float uv\nproperty list ushort short vertex_indices\n"
        "property char c\nelement empty 1000000000\nelement vertex 4\nproperty float32 x\n"
        "property list int8 int8 l\nproperty float64 y\nproperty float nx\nproperty int16 z\n"
        "element last 1\nproperty uint q\nend_header\n"
        "3 1 2 3 4\n0 4\n2 0.5 0.5 3 0 1 2 7\n0 3 0 2 3 7\n"
        "0 0 0 nan 0\n1 1 9 0 x 0\n0 0 1 1 0\n0 2 9 9 0 1 1\n77\n"};
    EACH_GIVES_TWO(texts, "a.ply");
}

TEST(reads_strips) {
    static const char head[] = "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\n"
                               "property float y\nproperty float z\nelement tristrips 1\n"
                               "property list int int vertex_indices\nend_header\n"
                               "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 2 0\n";
    static const struct {
        const char *strips;
        uint32_t count, corners[9];
    } cases[] = {{"5 0 1 2 3 4\n", 3, {0, 1, 2, 2, 1, 3, 2, 3, 4}},
                 {"7 0 1 2 -1 1 3 2\n", 2, {0, 1, 2, 1, 3, 2}},
                 /* joined by triangles without area; the parity goes on through them */
                 {"8 0 1 2 2 1 1 3 2\n", 2, {0, 1, 2, 3, 1, 2}},
                 {"6 -1 0 -1 0 1 2\n", 1, {0, 1, 2}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s", head, cases[i].strips);
        AUTO(mesh) mesh = read_named(text, "strips.ply");
        check_mesh(mesh, 5, NULL, cases[i].count, cases[i].corners);
    }
    char text[400];
    snprintf(text, sizeof text, "%s4 0 1 2 5\n", head);
    refused(text, "tristrips 0 refers to vertex 5");
    snprintf(text, sizeof text, "%s4 0 1 -2 3\n", head);
    refused(text, "refers to vertex -2");
}

TEST(a_float_is_a_float) {
    AUTO(mesh)
    mesh = read_named(HEAD("3", "1") "0.1 0 0\n0 0.1 0\n0 0 16777217\n3 0 1 2\n", "a.ply");
    volatile float tenth = 0.1f;
    static double expected[9];
    expected[0] = expected[4] = (double)tenth;
    expected[8] = 16777216;
    check_mesh(mesh, 3, expected, 1, two_triangles);
}

/* ---- binary ---- */

static void refused_binary(const bytes *file, const char *part) {
    check_refused((const char *)file->data, file->count, "bad.ply", part);
}

/* Types in PLY's order: char uchar short ushort int uint float double. */
static const int sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
static const char *const old_names[] = {"char", "uchar", "short", "ushort",
                                        "int",  "uint",  "float", "double"};
static const char *const new_names[] = {"int8",  "uint8",  "int16",   "uint16",
                                        "int32", "uint32", "float32", "float64"};

static void put_value(bytes *out, int type, double value, bool big) {
    unsigned char raw[8];
    float single = (float)value;
    uint64_t bits = type < 6 ? (uint64_t)(int64_t)value : 0;
    if (type == 6)
        memcpy(&bits, &single, 4);
    else if (type == 7)
        memcpy(&bits, &value, 8);
    for (int i = 0; i < sizes[type]; i++)
        raw[big ? sizes[type] - 1 - i : i] = (unsigned char)(bits >> 8 * i);
    append_bytes(out, raw, (size_t)sizes[type]);
}

/* A tetrahedron's two faces with coordinates of one type, counts of another, indices of a third,
 * and things of no interest between them. */
static void make_binary(bytes *out, int type, int count_type, int index_type, bool big,
                        const char *line_end) {
    const char *const *names = type % 2 ? new_names : old_names;
    char head[700];
    out->count = 0;
    snprintf(head, sizeof head,
             "ply\nformat binary_%s_endian 1.0\nelement pre 2\nproperty short a\nproperty list "
             "%s double b\nelement vertex 4\nproperty %s y\nproperty double no\nproperty %s x\n"
             "property %s z\nelement face 2\nproperty list %s %s vertex_indices\nproperty uchar "
             "c\nelement post 1\nproperty int p\nend_header\n",
             big ? "big" : "little", names[count_type], names[type], names[type], names[type],
             names[count_type], names[index_type]);
    for (const char *p = head; *p; p++)
        if (*p == '\n')
            append_text(out, line_end);
        else
            append_bytes(out, p, 1);
    for (int i = 0; i < 2; i++) {
        put_value(out, 2, -5, big);
        put_value(out, count_type, i, big);
        for (int k = 0; k < i; k++)
            put_value(out, 7, 3.5, big);
    }
    for (int i = 0; i < 4; i++) {
        put_value(out, type, corner_positions[3 * i + 1], big);
        put_value(out, 7, (double)NAN, big);
        put_value(out, type, corner_positions[3 * i], big);
        put_value(out, type, corner_positions[3 * i + 2], big);
    }
    for (int i = 0; i < 2; i++) {
        put_value(out, count_type, 3, big);
        for (int k = 0; k < 3; k++)
            put_value(out, index_type, two_triangles[3 * i + k], big);
        put_value(out, 1, 200, big);
    }
    put_value(out, 4, 1, big);
}

TEST(reads_every_type) {
    bytes file;
    for (int big = 0; big < 2; big++)
        for (int type = 0; type < 8; type++)
            for (int count_type = 0; count_type < 6; count_type++)
                for (int index_type = 0; index_type < 6; index_type++) {
                    static const char *const ends[] = {"\n", "\r\n", "\r"};
                    make_binary(&file, type, count_type, index_type, big,
                                ends[(type + count_type + index_type) % 3]);
                    gives_two(file.data, file.count, "b.ply");
                }
}

TEST(lone_cr_before_a_line_feed_byte) {
    /* the first byte of the data is 10; after a single CR it is data, not a line end */
    bytes file = {.count = 0};
    append_text(&file,
                "ply\rformat binary_little_endian 1.0\relement vertex 3\rproperty char x\rproperty "
                "char y\rproperty char z\relement face 1\rproperty list uchar uchar vertex_index\r"
                "end_header\r\n");
    static const unsigned char data[] = {0, 0, 1, 0, 0, 0, 1, 0, 3, 0, 1, 2};
    append_bytes(&file, data, sizeof data);
    AUTO(mesh) mesh = NULL;
    assert_ok(check_read(file.data, file.count, "b.ply", &mesh));
    assert_true(check_position(mesh, 0).x == 10);
}

TEST(survives_truncation) {
    static const char text[] = HEAD("4", "2") CORNERS "3 0 1 2\n3 0 2 3";
    assert_int_equal(0, check_beginnings(text, sizeof text - 1, "cut.ply"));
    for (int big = 0; big < 2; big++) {
        bytes file;
        make_binary(&file, 6, 1, 4, big, "\n");
        assert_int_equal(0, check_beginnings(file.data, file.count, "cut.ply"));
    }
}

/* A file as nearly all programs write it, up to its faces. */
static bytes plain_start(const char *faces) {
    bytes file = {.count = 0};
    append_text(&file, "ply\nformat binary_little_endian 1.0\nelement vertex 4\nproperty float x\n"
                       "property float y\nproperty float z\nelement face ");
    append_text(&file, faces);
    append_text(&file, "\nproperty list uchar int vertex_indices\nend_header\n");
    for (int i = 0; i < 12; i++)
        put_value(&file, 6, corner_positions[i], false);
    return file;
}

/* Triangles before and after a quad, cut off anywhere, or with a corner that is none. */
TEST(plain_faces) {
    static const uint32_t expected[] = {0, 1, 2, 0, 1, 2, 0, 2, 3, 0, 2, 3, 3, 2, 1};
    static const int faces[4][5] = {{3, 0, 1, 2}, {4, 0, 1, 2, 3}, {3, 0, 2, 3}, {3, 3, 2, 1}};
    bytes file = plain_start("4");
    size_t begin[5];
    abut_mesh *mesh = NULL;
    for (int i = 0; i < 4; i++) {
        begin[i] = file.count;
        put_value(&file, 1, faces[i][0], false);
        for (int k = 1; k <= faces[i][0]; k++)
            put_value(&file, 4, faces[i][k], false);
    }
    begin[4] = file.count;
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.triangulation = ABUT_TRIANGULATION_FAN;
    assert_ok(abut_mesh_read(NULL, test_file("plain.ply", file.data, file.count), &options, &mesh));
    check_mesh(mesh, 4, corner_positions, 5, expected);
    abut_mesh_destroy(mesh);
    mesh = NULL;
    for (size_t length = begin[0]; length < file.count; length++)
        assert_int_equal(ABUT_ERROR_FORMAT, check_read(file.data, length, "cut.ply", &mesh));
    for (int i = 0; i < 4; i++)
        for (size_t at = begin[i] + 1; at < begin[i + 1]; at += 4)
            for (int high = 0; high < 2; high++) {
                bytes bad = file;
                char place[64];
                memset(bad.data + at, 0, 4);
                bad.data[at + (high ? 3 : 0)] = high ? 0x80 : 4; /* negative, or one too many */
                snprintf(place, sizeof place, "byte %zu: face %d refers to vertex", begin[i], i);
                refused_binary(&bad, place);
            }
}

/* Room is made for as many triangles as there are faces; quads are two each. */
TEST(more_triangles_than_faces) {
    enum { FACES = 10000, FACE_BYTES = 1 + 4 * 4 };
    static const int32_t corners[] = {0, 1, 2, 3};
    static unsigned char data[FACES * FACE_BYTES + 1000];
    bytes head = plain_start("10000");
    memcpy(data, head.data, head.count);
    for (size_t i = 0, at = head.count; i < FACES; i++, at += FACE_BYTES) {
        data[at] = 4;
        memcpy(data + at + 1, corners, sizeof corners);
    }
    abut_mesh_read_options options = abut_mesh_read_options_default();
    AUTO(mesh) mesh = NULL;
    options.triangulation = ABUT_TRIANGULATION_FAN;
    size_t length = head.count + (size_t)FACES * FACE_BYTES;
    assert_ok(abut_mesh_read(NULL, test_file("quads.ply", data, length), &options, &mesh));
    assert_int_equal(abut_mesh_triangle_count(mesh), 2 * FACES);
    for (size_t i = 0; i < FACES; i++)
        assert_memory_equal(abut_mesh_indices(mesh) + 6 * i, two_triangles, sizeof two_triangles);
}

/* ---- bad ---- */

TEST(refuses_bad_headers) {
    refused("plx\n", "line 1: 'plx' is not 'ply'");
    refused("ply", "ends in the header");
    refused("ply\nformat ascii 1.0\n", "line 3: the file ends in the header");
    refused("ply\nformat binary 1.0\n", "line 2: 'binary' is not a PLY format");
    refused("ply\nformat\nelement", "line 2: a PLY format (ascii, binary_little_endian or "
                                    "binary_big_endian) is missing");
    refused("ply\nend_header\n", "has no 'format'");
    refused("ply\nformat ascii 1.0\nend_header\n", "no element 'vertex'");
    refused("ply\nformat ascii 1.0\nproperty int x\n", "line 3: a property before");
    refused("ply\nformat ascii 1.0\nelement\n", "line 3: an element without a name");
    refused("ply\nformat ascii 1.0\nelement vertex\n", "line 3: a count of elements is missing");
    refused("ply\nformat ascii 1.0\nelement vertex many\n", "line 3: 'many' is not a count");
    refused("ply\nformat ascii 1.0\nelement vertex 3.5\n", "line 3: '3.5' is not a count");
    refused("ply\nformat ascii 1.0\nelement vertex -1\n", "line 3: a count of -1");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nelement vertex 1\n", "line 4: a second");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float x\n",
            "line 5: a second property 'x'");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty int64 x\n",
            "line 4: 'int64' is not a PLY type");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty\n", "line 4: a PLY type");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float\n", "line 4: a property with");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty list float int a\n",
            "must be an integer type");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty list int\n", "line 4: a PLY type");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty list int int x\n",
            "line 4: 'x' of a vertex must not be a list");
    refused("ply\nformat ascii 1.0\nelement face 1\nproperty int vertex_index\n",
            "line 4: 'vertex_index' must be a list");
    refused("ply\nformat ascii 1.0\nelement face 1\nproperty list int float vertex_index\n",
            "line 4: 'vertex_index' must be a list of integers");
    refused("ply\nformat ascii 1.0\nnonsense\n", "line 3: 'nonsense' is not a word of a PLY");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nelement "
            "face 1\nproperty list uchar int vertex_indices\nend_header\n",
            "line 3: element 'vertex' lacks");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
            "property float z\nelement face 1\nproperty list uchar int corners\nend_header\n",
            "line 7: element 'face' lacks");
    refused("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
            "property float z\nend_header\n0 0 0\n",
            "no element 'face'");
    check_refused("ply\nformat ascii 1.0\nelement \0 5\n", 29, "bad.ply", "line ");
}

TEST(refuses_bad_counts) {
    refused(HEAD("4294967295", "2") CORNERS "3 0 1 2\n", "line 3:");
    refused(HEAD("4294967294", "2") CORNERS "3 0 1 2\n", "line 3: the header declares 4294967294");
    refused(HEAD("4", "4294967295") CORNERS "3 0 1 2\n", "line 7: the header declares 4294967295");
    refused(HEAD("18446744073709551615", "2") CORNERS "3 0 1 2\n", "line 3:");
    refused(HEAD("99999999999999999999999999", "2") CORNERS, "line 3:");
    refused(HEAD("4", "99999999999999999999999999") CORNERS, "line 7:");
    refused(HEAD("4", "-2") CORNERS, "line 7: a count of -2");
    refused(HEAD("5", "2") CORNERS "3 0 1 2\n3 0 2 3\n", "line 15: a face has 2 corners");
    refused(HEAD("3", "2") CORNERS "3 0 1 2\n3 0 2 3\n", "line 13: a face has 0 corners");
    refused(HEAD("4", "3") CORNERS "3 0 1 2\n3 0 2 3\n", "line 16: the file ends in face 2 of 3");
    refused(HEAD("4", "0") CORNERS, "has no faces");
    refused(HEAD("0", "1") "3 0 0 0\n", "line 10: face 0 refers to vertex 0, but there are only 0");
}

TEST(refuses_bad_data) {
    refused(HEAD("4", "2") CORNERS "3 0 1 4\n3 0 2 3\n", "line 14: face 0 refers to vertex 4");
    refused(HEAD("4", "2") CORNERS "3 0 1 2\n3 0 -1 3\n", "line 15: face 1 refers to vertex -1");
    refused(HEAD("4", "2") CORNERS "3 0 1 0.5\n3 0 1 3\n", "line 14: face 0 refers to vertex 0.5");
    refused(HEAD("4", "2") CORNERS "3 0 1 nan\n3 0 1 3\n", "line 14: face 0 refers to vertex nan");
    refused(HEAD("4", "2") CORNERS "2 0 1\n3 0 1 3\n", "line 14: a face has 2 corners");
    refused(HEAD("4", "2") CORNERS "1 0\n3 0 1 3\n", "line 14: a face has 1 corner;");
    refused(HEAD("4", "2") CORNERS "-3 0 1 2\n3 0 1 3\n", "line 14: face 0 has a list of -3");
    refused(HEAD("4", "2") CORNERS "3 0 1 2\n1.5 1 3\n", "line 15: face 1 has a list of 1.5");
    refused(HEAD("4", "2") CORNERS "4294967295 0 1 2\n3 0 1 3\n", "line 14: face 0 has a list of "
                                                                  "4294967295 values, but only");
    refused(HEAD("4", "2") "0 0 0\n1 nan 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 2\n",
            "line 11: vertex 1 is (1, nan, 0)");
    refused(HEAD("4", "2") "0 0 0\n1 0 1e39\n0 1 0\n0 0 1e95\n3 0 1 2\n3 0 1 2\n",
            "line 13: vertex 3");
    refused(HEAD("4", "2") "0 0 0\n1 0 x\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 2\n",
            "line 11: 'x' is not a number");
    bytes file;
    make_binary(&file, 6, 5, 5, false, "\n"); /* uint counts and indices */
    unsigned char *face = file.data + file.count - 4 - 2 * 17;
    char place[64];
    snprintf(place, sizeof place, "byte %zu: face 0", (size_t)(face - file.data));
    memset(face + 4, 0xff, 4);
    refused_binary(&file, place);
    refused_binary(&file, "refers to vertex 4294967295");
    memset(face, 0xff, 4);
    refused_binary(&file, "a list of 4294967295 values, but only");
    make_binary(&file, 6, 4, 4, true, "\n"); /* int */
    face = file.data + file.count - 4 - 2 * 17;
    memset(face, 0xff, 4);
    refused_binary(&file, "a list of -1 values");
    make_binary(&file, 6, 1, 4, false, "\n");
    unsigned char *vertex = file.data + file.count - 4 - 2 * 14 - 4 * 20;
    memset(vertex, 0xff, 4); /* a NaN */
    snprintf(place, sizeof place, "byte %zu: vertex 0 is (0, ", (size_t)(vertex - file.data));
    refused_binary(&file, place);
}

TEST(reads_very_long_lines) {
    const char *text = filled_text("ply\nformat ascii 1.0\ncomment ", 'c',
                                   strchr(HEAD("4", "2") CORNERS "3 0 1 2\n3 0 2 3\n", 'e') - 1);
    gives_two(text, strlen(text), "long.ply");
    refused(filled_text("ply\nformat ascii 1.0\nelement ", 'c', ""), "line 3:");
}
