/* OFF in every layout that its description allows, and rejected files. */
#include "io/readers.h"

static void refused(const char *text, const char *part) {
    check_refused(text, strlen(text), "bad.off", part);
}

#define VERTICES "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
#define FACES "3 0 1 2\n3 0 2 3\n"

TEST(reads_every_layout) {
    static const char *const texts[] = {
        "OFF\n4 2 0\n" VERTICES FACES,
        "OFF 4 2 0\n" VERTICES FACES,
        "4 2 0\n" VERTICES FACES,
        "4 2\n" VERTICES FACES,
        "OFF\n4 2\n" VERTICES FACES,
        "OFF # comment\n# 9 9 9\n4 2 0 # counts\n\n" VERTICES "# between\n" FACES "# end\n",
        "OFF#c\n4#c\n2#c\n0 0 0#c\n1 0 0#\n0 1#1 1\n0#c\n0 0 1\n3 0 1 2#c\n3#c\n0 2 3#c",
        "OFF\n4 2 0#c\n" VERTICES FACES,
        "OFF\r\n4 2 5\r\n0 0 0\r\n1 0 0\r\n0 1 0\r\n0 0 1\r\n3 0 1 2\r\n3 0 2 3",
        "OFF 4 2 0 0 0 0 1 0 0 0 1 0 0 0 1 3 0 1 2\n3 0 2 3",
        "OFF\n4 2 0\n0\n0\n0\n1 0 0 0 1 0\n0 0 1\n3\n0 1\n2\n\n3 0\n2\n3\n",
        "OFF\n4 2 0\n" VERTICES "3 0 1 2 255 0 0\n3  0 2 3  0.5 0.5 0.5 1.0 # red\n",
        "OFF\n4 4 0\n" VERTICES "1 3\n3 0 1 2\n2 0 1\n3 0 2 3\n", /* a point and an edge */
        "COFF\n4 2 0\n0 0 0 255 0 0 255\n1 0 0 0 1 0\n0 1 0 7\n0 0 1\n" FACES,
        "NOFF\n4 2 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0\n1\n0 0 1 1 0 0\n" FACES,
        "CNOFF\n4 2 0\n0 0 0 0 0 1 9 9 9\n1 0 0 0 0 1 9\n0 1 0 0 0 1\n0 0 1 1 0 0 8 8\n" FACES,
        "STCNOFF\n4 2 0\n0 0 0 0 0 1 9 .5 .5\n1 0 0 0 0 1 9\n0 1 0 0 0 1\n0 0 1 1 0 0 8 8\n" FACES,
        "\xef\xbb\xbfOFF\n4 2 0\n" VERTICES FACES};
    EACH_GIVES_TWO(texts, "a.off");
}

TEST(is_known_by_its_first_word) {
    static const char *const texts[] = {"OFF\n4 2 0\n" VERTICES FACES,
                                        "NOFF 4 2 0\n0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0 1\n"
                                        "0 0 1 1 0 0\n" FACES};
    EACH_GIVES_TWO(texts, "no ending");
}

TEST(keeps_doubles) {
    static const double exact[] = {0.1, 1e-30, 123456789.12345679, 1, 0, 0, 0, 1, 0};
    AUTO(mesh)
    mesh = read_named("OFF\n3 1 0\n0.1 1e-30 123456789.12345679\n1 0 0\n0 1 0\n3 0 1 2\n", "a.off");
    check_mesh(mesh, 3, exact, 1, two_triangles);
}

TEST(cuts_polygons) {
    /* a comb of ten corners, not convex: eight triangles that cover it once */
    AUTO(mesh)
    mesh = read_named("OFF\n10 1 0\n0 0 0\n9 0 0\n9 4 0\n8 4 0\n7 1 0\n6 4 0\n5 4 0\n3 1 0\n"
                      "1 4 0\n0 4 0\n10 0 1 2 3 4 5 6 7 8 9\n",
                      "a.off");
    assert_int_equal(8, abut_mesh_triangle_count(mesh));
    double area = 0;
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t *c = abut_mesh_indices(mesh) + 3 * i;
        abut_vec3 a = check_position(mesh, c[0]), b = check_position(mesh, c[1]),
                  d = check_position(mesh, c[2]);
        double twice = (b.x - a.x) * (d.y - a.y) - (b.y - a.y) * (d.x - a.x);
        assert_true(twice >= 0);
        area += twice / 2;
    }
    assert_true(fabs(area - (36 - 3 - 6)) < 1e-12); /* the box less two notches */
}

TEST(refuses_with_the_place) {
    refused("OFF\n", "before the counts");
    refused("OFF 4\n", "before the number of faces");
    refused("OFF\n4 2 0\n" VERTICES "3 0 1 2\n3 0 2 4\n", "line 8: a face refers to vertex 4");
    refused("OFF\n4 2 0\n" VERTICES "3 0 1 2\n3 0 2 -1\n", "refers to vertex -1");
    refused("OFF\n4 2 0\n" VERTICES "3 0 1 2\n", "ends in the faces");
    refused("OFF\n4 2 0\n" VERTICES "3 0 1 2\n3 0 2", "ends in a face");
    refused("OFF\n4 2 0\n0 0 0\n1 0", "ends in the vertices");
    refused("OFF\n4 2 0\n" VERTICES FACES "3 0 1 3\n", "more than 4 vertices and 2 faces");
    refused("OFF\n4 2 0\n0 0 0 255\n1 0 0 255\n0 1 0 255\n0 0 1 255\n" FACES, "line");
    refused("OFF\n4 2 0\n0 0 0\n1 x 0\n0 1 0\n0 0 1\n" FACES, "line 4: 'x' is not a coordinate");
    refused("OFF\n4 2 0\n0 0 0\n1 nan 0\n0 1 0\n0 0 1\n" FACES, "must be finite");
    refused("OFF\n4 2 0\n" VERTICES "3 0 1 2.5\n3 0 2 3\n", "'2.5' is not a corner");
    refused("OFF\n4 2 0\n" VERTICES "0\n3 0 2 3\n", "a face has 0 corners");
    refused("OFF\n-4 2 0\n", "negative");
    refused("OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "no faces");
    refused("OFF BINARY\n", "binary OFF");
    refused("4OFF\n4 2 0\n", "4OFF");
    refused("nOFF\n3\n4 2 0\n", "nOFF");
    refused("ABC\n4 2 0\n", "begin with OFF");
    refused("OFF\n4294967296 1 0\n0 0 0\n", "ends in the vertices");
    refused("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n4000000000 0 1 2\n", "ends in a face");
}

TEST(refuses_text_of_16_bits) {
    static const char little[] = "\xff\xfeO\0F\0F\0\n\0", big[] = "\xfe\xff\0v\0 \0001";
    check_refused(little, sizeof little - 1, "bad.off", "UTF-16");
    check_refused(big, sizeof big - 1, "bad.obj", "UTF-16");
    check_refused(big, sizeof big - 1, "bad.stl", "UTF-16");
}
