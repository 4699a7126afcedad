#include "io/readers.h"

static void refused(const char *text, const char *part) {
    check_refused(text, strlen(text), "bad.stl", part);
}

#define FACET(a, b, c)                                                                    \
    "facet normal 0 0 1\nouter loop\nvertex " a "\nvertex " b "\nvertex " c "\nendloop\n" \
    "endfacet\n"
#define FIRST FACET("0 0 0", "1 0 0", "0 1 0")
#define SECOND FACET("-0 0 -0.0", "0 1 0", "0 0 1")

TEST(reads_text) {
    static const char *const texts[] = {
        ("solid\n" FIRST SECOND "endsolid\n"),
        ("solid a b c\n" FIRST SECOND "endsolid a b c"),
        ("solid one\n" FIRST "endsolid one\nsolid two\n" SECOND "endsolid two\n"),
        ("  \nSOLID x\r\nFacet Normal nan nan nan\r\nOuter Loop\r\nVertex 0 0 0 vertex 1 0 0\r\n"
         "VERTEX 0 1e0 0\r\nendLoop endFacet\r" SECOND "EndSolid\r\n"),
        ("solid name with \xff\x01 odd bytes facet\n" FIRST SECOND "endsolid\n"),
        ("solid quad\nfacet normal 0 0 0 outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 1 0\n"
         "vertex 0 0 1 endloop endfacet endsolid\n")};
    EACH_GIVES_TWO(texts, "a.stl");
}

TEST(refuses_bad_text) {
    refused("solid a\n" FIRST, "line 9: the file ends without 'endsolid'");
    refused("solid a\nfacet\n", "line 3: the file ends in a facet");
    refused("solid a\nfacet normal 0 0 1\ninner loop\n", "line 3: 'inner' is not the word 'outer'");
    refused("solid a\nfacets normal 0 0 1\n", "line 2: 'facets' is not the word 'facet'");
    refused("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0\nvertex 1 0 0\n",
            "line 5: 'vertex' is not a number for z");
    refused("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\n",
            "line 6: a face has 2 corners");
    refused("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\n",
            "line 5: a face has 1 corner;");
    refused("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 nan 0\n", "line 4: vertex 0 is");
    refused("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 -inf\n", "line 4: vertex 0 is");
    refused("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1e91\n", "line 4: vertex 0 is");
    refused("solid a\nendsolid\n", "has no faces");
    refused("solid a\nendsolid\n" FIRST, "line 3: 'facet' is not the word 'solid'");
    check_refused("solid a\nfacet normal 0 0 \0 outer loop vertex 0 0 \0", 49, "bad.stl", "line 2");
}

/* ---- binary ---- */

static bytes make_binary(const char *head) {
    static const float normal[3];
    bytes file = {.count = 80};
    memcpy(file.data, head, strlen(head));
    put_u32(&file, 2);
    for (int i = 0; i < 6; i++) {
        float p[3];
        if (i % 3 == 0)
            put_floats(&file, 3, normal);
        for (uint32_t axis = 0; axis < 3; axis++)
            p[axis] = (float)corner_positions[3 * two_triangles[i] + axis] * (i == 3 ? -1 : 1);
        put_floats(&file, 3, p); /* the zeros of corner 3 are -0 */
        if (i % 3 == 2)
            append_bytes(&file, "\0", 2);
    }
    return file;
}

static void refused_binary(const bytes *file, const char *part) {
    check_refused((const char *)file->data, file->count, "bad.stl", part);
}

TEST(reads_binary) {
    static const char *const heads[] = {"", "binary", "solid that is not text",
                                        "solid x\nfacet normal 0 0 1\n"};
    for (size_t i = 0; i < 4; i++) {
        bytes file = make_binary(heads[i]);
        gives_two(file.data, file.count, "b.stl");
        /* a few bytes more are forgiven, as long as it cannot be text */
        gives_two(file.data, file.count + 5, "b.stl");
    }
}

TEST(refuses_bad_binary) {
    bytes file = make_binary("binary");
    file.data[80] = 3;
    refused_binary(&file,
                   "byte 80: a binary STL of 3 triangles by this count, but only 100 bytes (2 tri");
    memset(file.data + 80, 0xff, 4);
    refused_binary(&file, "4294967295 triangles");
    memset(file.data + 80, 0, 4);
    refused_binary(&file, "has no faces");
    file = make_binary("binary");
    memset(file.data + 84 + 50 + 12 + 12, 0xff, 4);
    refused_binary(&file, "byte 134: vertex 3 is (");
    file = make_binary("binary");
    static const unsigned char infinity[] = {0, 0, 0x80, 0x7f};
    memcpy(file.data + 84 + 12, infinity, 4);
    refused_binary(&file, "byte 84: vertex 0 is (inf, 0, 0)");
}

TEST(survives_truncation) {
    static const char text[] = "solid a\n" FIRST SECOND "endsolid";
    bytes file = make_binary("binary"), solid = make_binary("solid");
    assert_int_equal(0, check_beginnings(file.data, file.count, "cut.stl"));
    assert_int_equal(0, check_beginnings(solid.data, solid.count, "cut.stl"));
    assert_int_equal(0, check_beginnings(text, sizeof text - 1, "cut.stl"));
}

static int compare_positions(const void *a, const void *b) {
    return memcmp(a, b, sizeof(abut_vec3));
}

/* Many triangles: the table must grow and still find every equal corner. The referee sorts. */
TEST(merges_equal_corners_only) {
    enum { COUNT = 20000 };
    static unsigned char file[84 + 50 * COUNT];
    AUTO_FREE abut_vec3 *soup = malloc(3 * COUNT * sizeof *soup);
    test_random random = {5};
    memset(file, 0, sizeof file);
    file[80] = COUNT & 255;
    file[81] = COUNT >> 8;
    for (uint32_t i = 0; i < 3 * COUNT; i++) {
        float p[3];
        for (int axis = 0; axis < 3; axis++)
            p[axis] = 1 + (float)test_random_below(&random, 27) * 0x1p-23f;
        memcpy(file + 84 + 50 * (i / 3) + 12 + 12 * (i % 3), p, 12); /* little-endian machines */
        soup[i] = (abut_vec3){(double)p[0], (double)p[1], (double)p[2]};
    }
    AUTO(mesh) mesh = NULL;
    assert_ok(check_read(file, sizeof file, "many.stl", &mesh));
    for (uint32_t i = 0; i < 3 * COUNT; i++) {
        abut_vec3 p = check_position(mesh, abut_mesh_indices(mesh)[i]);
        assert_true(p.x == soup[i].x && p.y == soup[i].y && p.z == soup[i].z);
    }
    qsort(soup, 3 * COUNT, sizeof *soup, compare_positions);
    uint32_t different = 1;
    for (uint32_t i = 1; i < 3 * COUNT; i++)
        different += memcmp(&soup[i - 1], &soup[i], sizeof *soup) != 0;
    assert_int_equal(different, abut_mesh_vertex_count(mesh));
}

TEST(reads_a_very_long_name) {
    const char *text = filled_text("solid ", 'n', "\n" FIRST SECOND "endsolid\n");
    gives_two(text, strlen(text), "long.stl");
    refused(filled_text("solid ", 'n', ""), "line 1: the file ends without");
}
