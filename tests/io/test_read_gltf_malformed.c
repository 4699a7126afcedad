/* glTF that is hard on the reader: JSON of any kind, sizes, bombs, memory, cancelling, any byte. */
#include "io/gltf_files.h"

#include "io/json.h"

/* ---- JSON ---- */

TEST(refuses_what_is_not_json) {
    refused("{\"asset\":\n  {\"version\" \"2.0\"}}", "bad.gltf: line 2, column");
    refused("{\"asset\":{\"version\":\"2.0\"}", "invalid JSON");
    refused("{\"asset\":{\"version\":\"2.0\"}} {}", "invalid JSON");
    refused("{\"a\":01}", "invalid JSON");
    refused("{\"a\":NaN}", "invalid JSON");
    refused("{\"a\":\"\x80\"}", "invalid JSON");
    refused("{\"a\":-1e999}", "a number beyond the range of double");
    refused("\xff\xfe{\0}\0", "bad.gltf"); /* ends at the first zero */
    check_refused("\xff\xfe{\0}\0", 6, "bad.gltf", "UTF-16");
    check_refused("{\0", 2, "bad.gltf", "invalid JSON");
    bytes buffer = square_bytes();
    char text[16384];
    snprintf(text, sizeof text, "\xef\xbb\xbf\r\n%s\n", embed(SQUARE, &buffer));
    gives(text, 4, square_at, 2, square_corners);
}

TEST(reads_escapes_in_names) {
    bytes buffer = square_bytes();
    char text[16384];
    snprintf(text, sizeof text, "%s",
             embed(SQUARE ",\"extras\":{\"\\u0000\\\"\":\"\\ud83d\\ude00\"}", &buffer));
    char *found = strstr(text, "\"meshes\"");
    assert_non_null(found);
    memcpy(found, "\"me\\u0073hes\"", 13); /* longer by 5: over what follows it */
    snprintf(found + 13, sizeof text - (size_t)(found + 13 - text), "%s",
             strstr(embed(SQUARE, &buffer), "\"meshes\"") + 8);
    gives(text, 4, square_at, 2, square_corners);
    refused("{\"a\\u0073set\":{\"version\":\"1.5\"}}", "is glTF 1.5");
}

TEST(bears_depth_and_numbers) {
    enum { DEEP = 100000 };
    AUTO_FREE char *text = malloc(2 * DEEP + 100);
    memset(text, '[', DEEP);
    text[DEEP] = 0;
    refused(text, "nested more than 128 deep");
    strcpy(text, "{\"a\":");
    memset(text + 5, '1', DEEP);
    strcpy(text + 5 + DEEP, "}");
    refused(text, "a number of more than 4096 digits");
}

/* ---- size ---- */

/* A million nodes, flat and as one chain, in time and memory that grow with them alone. */
TEST(bears_a_million_nodes) {
    uint32_t nodes = test_rounds(1000000);
    bytes buffer = square_bytes();
    for (int chain = 0; chain < 2; chain++) {
        char *data, encoded[100];
        size_t size;
        FILE *text = open_memstream(&data, &size);
        fputs("{\"nodes\":[{\"mesh\":0}", text);
        for (uint32_t i = 1; i < nodes; i++)
            if (chain)
                fprintf(text, ",{\"children\":[%u]}", i - 1);
            else
                fputs(",{}", text);
        fputs("]," SQUARE ",\"buffers\":[{\"byteLength\":60,\"uri\":\"data:;base64,", text);
        encode(&buffer, encoded);
        fprintf(text, "%s\"}]," HEAD "}", encoded);
        fclose(text);
        test_memory memory = {0};
        AUTO(context) context = test_context(&memory, 1);
        AUTO(mesh) mesh = NULL;
        assert_ok(abut_mesh_read_memory(context, data, size, "a.gltf", NULL, &mesh));
        check_mesh(mesh, 4, square_at, 2, square_corners);
        assert_true(memory.peak_bytes < 400 * (uint64_t)nodes + (1u << 20));
        free(data);
    }
}

/* Many instances of a mesh with many vertices: more than the limit for their bytes. */
TEST(refuses_bombs) {
    char *data;
    size_t size;
    FILE *text = open_memstream(&data, &size);
    fputs("{" HEAD ",\"nodes\":[{\"mesh\":0}", text);
    for (int i = 0; i < 20000; i++)
        fputs(",{\"mesh\":0}", text);
    fputs("],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],"
          "\"accessors\":[{\"bufferView\":0,\"count\":6000," FLOATS
          "}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":72000}],\"buffers\":[{"
          "\"byteLength\":72000,\"uri\":\"data:;base64,",
          text);
    for (int i = 0; i < 96000; i++)
        fputs("A", text);
    fputs("\"}]}", text);
    fclose(text);
    test_memory memory = {0};
    AUTO(context) context = test_context(&memory, 1);
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_LIMIT, "a.gltf: its instances need more than",
                 abut_mesh_read_memory(context, data, size, "a.gltf", NULL, &mesh));
    assert_null(mesh);
    assert_true(memory.peak_bytes < 3000 * size);
    abut_context_destroy(context);
    free(data);
    /* a sparse accessor that says that it has a billion zeros */
    bytes buffer = square_bytes();
    append_bytes(&buffer, "\1\0\3\0", 4);
    append_bytes(&buffer, square, 24);
    char members[2000];
    snprintf(members, sizeof members, "%s", SPARSE("", "1", "5121"));
    char *count = strstr(members, "\"count\":4,");
    assert_non_null(count);
    memmove(count + 19, count + 10, strlen(count + 10) + 1);
    memcpy(count, "\"count\":4000000000,", 19);
    const char *bomb = embed(members, &buffer);
    memory = (test_memory){0};
    context = test_context(&memory, 1);
    assert_fails(ABUT_ERROR_LIMIT, "its instances need more than",
                 abut_mesh_read_memory(context, bomb, strlen(bomb), "a.gltf", NULL, &mesh));
    assert_true(memory.peak_bytes < 100000);
}

/* Many instances of a mesh whose object is long: no vertices, but time. */
TEST(refuses_bombs_of_time) {
    char *data;
    size_t size;
    FILE *text = open_memstream(&data, &size);
    fputs("{" HEAD ",\"nodes\":[{\"mesh\":0}", text);
    for (int i = 0; i < 60000; i++)
        fputs(",{\"mesh\":0}", text);
    fputs("],\"meshes\":[{\"a\":0", text);
    for (int i = 0; i < 60000; i++)
        fputs(",\"a\":0", text);
    fputs("}]}", text);
    fclose(text);
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_LIMIT, "a.gltf: its instances need more than",
                 check_read(data, size, "a.gltf", &mesh));
    assert_null(mesh);
    free(data);
}

/* ---- memory and cancelling ---- */

static abut_status read_once(abut_context *context, void *path) {
    AUTO(mesh) mesh = NULL;
    return abut_mesh_read(context, path, NULL, &mesh);
}

TEST(survives_every_failed_allocation) {
    bytes buffer = square_bytes(), glb = pack(ONE_NODE "," SQUARE, &buffer);
    char path[4][512];
    static const char external[] =
        "{" HEAD "," ONE_NODE "," SQUARE ",\"buffers\":[{\"byteLength\":60,\"uri\":\"fault.bin\"}],"
        "\"\\u0041\":\"\\n\",\"b\":[[[]]]}";
    test_file("fault.bin", buffer.data, buffer.count);
    snprintf(path[0], sizeof path[0], "%s", test_file("fault.glb", glb.data, glb.count));
    snprintf(path[1], sizeof path[1], "%s", test_file("fault.gltf", external, sizeof external - 1));
    const char *text = embed(ONE_NODE "," SQUARE, &buffer);
    snprintf(path[2], sizeof path[2], "%s", test_file("fault2.gltf", text, strlen(text)));
    for (int i = 0; i < 3; i++)
        assert_true(test_every_allocation(read_once, path[i]) > 10);
}

static bool stop(void *user, const char *stage, double fraction) {
    int *calls = user;
    assert_non_null(strstr(stage, "reading"));
    assert_true(fraction >= 0 && fraction <= 1);
    return ++*calls < 3;
}

TEST(can_be_cancelled) {
    char *data;
    size_t size;
    FILE *text = open_memstream(&data, &size);
    fputs("{" HEAD ",\"extras\":[0", text);
    for (int i = 0; i < 400000; i++)
        fputs(",0", text);
    fputs("]}", text);
    fclose(text);
    int calls = 0;
    AUTO(context) context = test_watched(stop, &calls);
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_CANCELLED, "cancelled",
                 abut_mesh_read_memory(context, data, size, "a.gltf", NULL, &mesh));
    assert_int_equal(3, calls);
    free(data);
}

/* Any byte of a GLB changed: read or rejected, and never more memory than the limit for the file.
 */
TEST(bears_changed_bytes) {
    bytes buffer = square_bytes(), glb = pack(ONE_NODE "," SQUARE, &buffer);
    test_random random = {7};
    test_memory memory = {0};
    AUTO(context) context = test_context(&memory, 1);
    for (uint32_t round = test_rounds(40000); round; round--) {
        bytes changed = glb;
        for (uint32_t i = test_random_below(&random, 3) + 1; i; i--)
            changed.data[test_random_below(&random, (uint32_t)glb.count)] =
                (unsigned char)test_random_bits(&random);
        AUTO(mesh) mesh = NULL;
        abut_status status =
            abut_mesh_read_memory(context, changed.data, changed.count, "a.glb", NULL, &mesh);
        assert_true(status == ABUT_OK || status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_LIMIT);
    }
    assert_int_equal(1, memory.live_count);
    assert_true(memory.peak_bytes < 100u << 20);
}

int main(void) {
    return run_gltf();
}
