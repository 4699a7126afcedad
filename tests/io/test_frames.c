/* Files of recorded motion: back bit for bit, and nothing that is not one is taken for one. */
#include "apps/get.h"
#include "support/support.h"

#include "io/frames.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 5 };

typedef struct recording {
    abut_mesh *meshes[2];
    uint32_t vertices; /* of both */
    abut_vec3 *positions[FRAMES], *aims[FRAMES];
} recording;

static void make_recording(abut_context *context, bool floats, recording *r) {
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET),
               box = abut_shape_default(ABUT_SHAPE_BOX);
    test_random random = {7};
    sheet.segments = sheet.rings = 3;
    box.segments = 1;
    assert_ok(abut_shape_create(context, &sheet, &r->meshes[0]));
    assert_ok(abut_shape_create(context, &box, &r->meshes[1]));
    r->vertices = abut_mesh_vertex_count(r->meshes[0]) + abut_mesh_vertex_count(r->meshes[1]);
    for (int i = 0; i < 2 * FRAMES; i++) {
        abut_vec3 *p = malloc(r->vertices * sizeof *p);
        assert_non_null(p);
        for (uint32_t k = 0; k < r->vertices; k++) {
            double c[3];
            for (int axis = 0; axis < 3; axis++) {
                c[axis] = test_random_real(&random, -2, 2);
                c[axis] = floats ? (double)(float)c[axis] : c[axis];
            }
            p[k] = (abut_vec3){c[0], c[1], c[2]};
        }
        *(i < FRAMES ? &r->positions[i] : &r->aims[i - FRAMES]) = p;
    }
}

static void free_recording(recording *r) {
    for (int i = 0; i < FRAMES; i++) {
        free(r->positions[i]);
        free(r->aims[i]);
    }
    abut_mesh_destroy(r->meshes[0]);
    abut_mesh_destroy(r->meshes[1]);
}
#define AUTO_RECORDING __attribute__((cleanup(free_recording))) recording

static abut_status record(const recording *r, const char *path, abut_scalar_type type, bool aims) {
    abut_frames_options options = abut_frames_options_default();
    abut_frames_writer *writer = NULL;
    options.type = type;
    options.aims = aims;
    options.seconds = 0.25;
    abut_status status = abut_frames_writer_create(r->meshes, 2, path, &options, &writer);
    for (int i = 0; i < FRAMES && !status; i++)
        status = abut_frames_writer_add(writer, r->positions[i], aims ? r->aims[i] : NULL);
    if (status) {
        abut_frames_writer_discard(writer);
        return status;
    }
    return abut_frames_writer_finish(writer);
}

static void check_frame(const recording *r, abut_frames *frames, uint64_t i, bool aims) {
    size_t bytes = r->vertices * sizeof(abut_vec3);
    AUTO_FREE abut_vec3 *p = malloc(bytes), *a = malloc(bytes);
    assert_true(p && a);
    assert_ok(abut_frames_read(frames, i, p, aims ? a : NULL));
    assert_memory_equal(p, r->positions[i], bytes);
    if (aims)
        assert_memory_equal(a, r->aims[i], bytes);
}

TEST(round_trip) {
    for (int k = 0; k < 4; k++) {
        abut_scalar_type type = k & 1 ? ABUT_SCALAR_FLOAT32 : ABUT_SCALAR_FLOAT64;
        bool aims = k & 2;
        AUTO_RECORDING r;
        AUTO(frames) frames = NULL;
        AUTO(mesh) mesh = NULL, *none = NULL;
        const char *path = test_path("motion.abutm");
        make_recording(NULL, k & 1, &r);
        assert_ok(record(&r, path, type, aims));
        assert_ok(abut_frames_open(NULL, path, &frames));
        abut_frames_info info = get_frames_info(frames);
        assert_int_equal(2, info.mesh_count);
        assert_int_equal(FRAMES, info.frame_count);
        assert_int_equal(r.vertices, info.vertex_count);
        assert_int_equal(18 + 12, info.triangle_count);
        assert_int_equal(type, info.type);
        assert_int_equal(aims, info.aims);
        assert_true(info.seconds == 0.25);
        for (uint64_t i = FRAMES; i-- > 0;) /* in any order */
            check_frame(&r, frames, i, aims);
        for (uint32_t m = 0; m < 2; m++)
            assert_memory_equal(abut_mesh_indices(abut_frames_mesh(frames, m)),
                                abut_mesh_indices(r.meshes[m]),
                                12 * (size_t)abut_mesh_triangle_count(r.meshes[m]));
        assert_null(abut_frames_mesh(frames, 2));
        assert_ok(abut_frames_mesh_at(frames, 3, 1, &mesh));
        abut_vec3 o = abut_mesh_local_origin(mesh), first = abut_mesh_local_positions(mesh)[0];
        const abut_vec3 *meant = r.positions[3] + abut_mesh_vertex_count(r.meshes[0]);
        assert_true(o.x + first.x == meant->x && o.y + first.y == meant->y &&
                    o.z + first.z == meant->z);
        assert_refused("frame 5", abut_frames_read(frames, FRAMES, r.aims[0], NULL));
        assert_refused("mesh 2", abut_frames_mesh_at(frames, 0, 2, &none));
        if (!aims)
            assert_refused("without aims", abut_frames_read(frames, 0, r.aims[0], r.aims[1]));
    }
}

TEST(names_and_up_axis) {
    AUTO_RECORDING r;
    AUTO(frames) frames = NULL;
    abut_frames_writer *writer = NULL;
    abut_frames_options options = abut_frames_options_default();
    const char *path = test_path("named.abutm"), *names[2] = {NULL, "b\xc3\xb6lt 2"};
    char text[ABUT_FRAMES_NAME_BYTES + 2] = "";
    make_recording(NULL, false, &r);
    options.names = names;
    options.up = (abut_vec3){0, 0, 4};
    options.seconds = 1.0 / 30;
    assert_ok(abut_frames_writer_create(r.meshes, 2, path, &options, &writer));
    assert_ok(abut_frames_writer_add(writer, r.positions[0], NULL));
    assert_ok(abut_frames_writer_finish(writer));
    assert_ok(abut_frames_open(NULL, path, &frames));
    const abut_frames_info info = get_frames_info(frames);
    assert_true(info.up.x == 0 && info.up.y == 0 && info.up.z == 1 && info.seconds == 1.0 / 30);
    assert_null(abut_frames_name(frames, 0));
    assert_string_equal(abut_frames_name(frames, 1), names[1]);
    assert_null(abut_frames_name(frames, 2));
    assert_null(abut_frames_name(NULL, 0));
    names[0] = "a\nb";
    assert_refused("names[0] must have at most 1000 bytes",
                   abut_frames_writer_create(r.meshes, 2, path, &options, &writer));
    memset(text, 'a', ABUT_FRAMES_NAME_BYTES + 1);
    names[0] = text;
    assert_refused("names[0]", abut_frames_writer_create(r.meshes, 2, path, &options, &writer));
    names[0] = NULL;
    options.up.y = (double)INFINITY;
    assert_refused("up must be finite",
                   abut_frames_writer_create(r.meshes, 2, path, &options, &writer));
}

/* Recordings of abut 0.6 have no names and no up axis. */
TEST(first_version) {
    AUTO_RECORDING r;
    AUTO(frames) frames = NULL;
    size_t bytes;
    const char *path = test_path("first.abutm");
    make_recording(NULL, true, &r);
    assert_ok(record(&r, path, ABUT_SCALAR_FLOAT32, true));
    AUTO_FREE unsigned char *file = (unsigned char *)test_read_file(path, &bytes);
    frames_head head;
    memcpy(&head, file, sizeof head);
    head.version = 1;
    head.checksum = abuti_checksum(&head, offsetof(frames_head, checksum));
    memcpy(file, &head, sizeof head);
    const size_t extra = sizeof head + 2 * sizeof(frames_entry) + 8, skipped = 48 + 2;
    memmove(file + extra, file + extra + skipped, bytes - extra - skipped);
    assert_ok(abut_frames_open_memory(NULL, file, bytes - skipped, "first", &frames));
    assert_true(get_frames_info(frames).up.z == 0 && get_frames_info(frames).frame_count == FRAMES);
    assert_null(abut_frames_name(frames, 0));
    for (uint64_t i = 0; i < FRAMES; i++)
        check_frame(&r, frames, i, true);
}

TEST(refusals) {
    AUTO_RECORDING r;
    abut_frames_writer *writer = NULL;
    abut_frames_options options = abut_frames_options_default();
    const char *path = test_path("none.abutm");
    make_recording(NULL, false, &r);
    abut_mesh *none[1] = {NULL};
    assert_refused("count is 0", abut_frames_writer_create(r.meshes, 0, path, NULL, &writer));
    assert_refused("meshes[0] is null", abut_frames_writer_create(none, 1, path, NULL, &writer));
    assert_refused("path is empty", abut_frames_writer_create(r.meshes, 1, "", NULL, &writer));
    assert_refused("path is null", abut_frames_writer_create(r.meshes, 1, NULL, NULL, &writer));
    options.seconds = -1;
    assert_refused("seconds is -1",
                   abut_frames_writer_create(r.meshes, 1, path, &options, &writer));
    options.seconds = (double)NAN;
    assert_refused("seconds", abut_frames_writer_create(r.meshes, 1, path, &options, &writer));
    options = abut_frames_options_default();
    options.type = (abut_scalar_type)5;
    assert_refused("type is 5", abut_frames_writer_create(r.meshes, 1, path, &options, &writer));
    assert_fails(ABUT_ERROR_FILE, "no/such",
                 abut_frames_writer_create(r.meshes, 1, "/no/such/folder", NULL, &writer));
    assert_null(writer);
    assert_refused("not a float", record(&r, path, ABUT_SCALAR_FLOAT32, false));
    r.positions[1][2].y = (double)INFINITY;
    assert_refused("vertex 2", record(&r, path, ABUT_SCALAR_FLOAT64, false));
    r.positions[1][2].y = 0;
    r.aims[0][0].z = 1e91;
    assert_refused("aim of vertex 0", record(&r, path, ABUT_SCALAR_FLOAT64, true));
    assert_ok(abut_frames_writer_create(r.meshes, 2, path, NULL, &writer));
    assert_refused("without aims", abut_frames_writer_add(writer, r.positions[0], r.aims[0]));
    assert_refused("no frames", abut_frames_writer_finish(writer));
    abut_frames *frames = NULL;
    assert_fails(ABUT_ERROR_FILE, "cannot be opened", abut_frames_open(NULL, path, &frames));
    assert_refused("path is null", abut_frames_open(NULL, NULL, &frames));
    assert_refused("data is null", abut_frames_open_memory(NULL, NULL, 0, NULL, &frames));
    assert_fails(ABUT_ERROR_FORMAT, "memory: is empty",
                 abut_frames_open_memory(NULL, "", 0, NULL, &frames));
    assert_fails(ABUT_ERROR_FORMAT, "not a recording",
                 abut_frames_open(NULL, test_file("text", "v 0 0 0\n", 8), &frames));
    abut_frames_close(NULL);
    abut_frames_writer_discard(NULL);
    assert_int_equal(0, get_frames_info(NULL).frame_count);
}

/* Opens and reads everything. */
static abut_status read_everything(const unsigned char *data, size_t bytes) {
    AUTO(frames) frames = NULL;
    abut_status status = abut_frames_open_memory(NULL, data, bytes, "changed", &frames);
    if (status) {
        assert_null(frames);
        return status;
    }
    abut_frames_info info = get_frames_info(frames);
    AUTO_FREE abut_vec3 *p = malloc((size_t)info.vertex_count * sizeof *p);
    assert_non_null(p);
    for (uint64_t i = 0; i < info.frame_count && !status; i++)
        status = abut_frames_read(frames, i, p, NULL);
    return status;
}

TEST(every_change_is_noticed) {
    AUTO_RECORDING r;
    size_t bytes;
    const char *path = test_path("whole.abutm");
    make_recording(NULL, true, &r);
    assert_ok(record(&r, path, ABUT_SCALAR_FLOAT32, true));
    AUTO_FREE unsigned char *file = (unsigned char *)test_read_file(path, &bytes);
    assert_ok(read_everything(file, bytes));
    for (size_t cut = 0; cut < bytes; cut++)
        assert_int_equal(ABUT_ERROR_FORMAT, read_everything(file, cut));
    for (size_t at = 0; at < bytes; at++) {
        file[at] ^= 0x10;
        abut_status status = read_everything(file, bytes);
        assert_true(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED);
        file[at] ^= 0x10;
    }
    unsigned char *longer = malloc(bytes + 1);
    assert_non_null(longer);
    memcpy(longer, file, bytes);
    longer[bytes] = 0;
    assert_int_equal(ABUT_ERROR_FORMAT, read_everything(longer, bytes + 1));
    free(longer);
    /* two frames exchanged, each with its checksum */
    size_t frame = 2 * 12 * (size_t)r.vertices + 8, first = bytes - 24 - FRAMES * frame;
    for (size_t i = 0; i < frame; i++) {
        unsigned char kept = file[first + i];
        file[first + i] = file[first + frame + i];
        file[first + frame + i] = kept;
    }
    assert_fails(ABUT_ERROR_FORMAT, "frame 0", read_everything(file, bytes));
}

/* What a forger can say whose checksums are right. */
TEST(forged) {
    AUTO_RECORDING r;
    size_t bytes;
    const char *path = test_path("forged.abutm");
    make_recording(NULL, true, &r);
    assert_ok(record(&r, path, ABUT_SCALAR_FLOAT32, false));
    AUTO_FREE unsigned char *file = (unsigned char *)test_read_file(path, &bytes);
    frames_head head, told;
    frames_entry table[2], lied[2];
    memcpy(&head, file, sizeof head);
    memcpy(table, file + sizeof head, sizeof table);
    for (int k = 0; k < 6; k++) {
        told = head;
        told.version = k == 0 ? FRAMES_VERSION + 1 : FRAMES_VERSION;
        told.mesh_count = k == 1 ? 0 : k == 2 ? UINT32_MAX : 2;
        told.type = k == 3 ? 7 : head.type;
        told.aims = k == 4 ? 2 : 0;
        told.seconds = k == 5 ? 0 : 1;
        told.checksum = abuti_checksum(&told, offsetof(frames_head, checksum));
        memcpy(file, &told, sizeof told);
        assert_int_equal(k ? ABUT_ERROR_FORMAT : ABUT_ERROR_UNSUPPORTED,
                         read_everything(file, bytes));
    }
    memcpy(file, &head, sizeof head);
    for (int k = 0; k < 4; k++) {
        memcpy(lied, table, sizeof lied);
        lied[0].vertex_count = k == 0 ? 0 : k == 1 ? UINT32_MAX : table[0].vertex_count;
        lied[1].triangle_count = k == 2 ? UINT32_MAX : k == 3 ? 0 : table[1].triangle_count;
        uint64_t sum = abuti_checksum(lied, sizeof lied);
        memcpy(file + sizeof head, lied, sizeof lied);
        memcpy(file + sizeof head + sizeof lied, &sum, sizeof sum);
        assert_int_equal(ABUT_ERROR_FORMAT, read_everything(file, bytes));
    }
    uint64_t whole = abuti_checksum(table, sizeof table);
    memcpy(file + sizeof head, table, sizeof table);
    memcpy(file + sizeof head + sizeof table, &whole, sizeof whole);
    assert_ok(read_everything(file, bytes));
    unsigned char *at = file + sizeof head + sizeof table + 8;
    frames_extra extra, wrong;
    memcpy(&extra, at, sizeof extra);
    for (int k = 0; k < 6; k++) {
        wrong = extra;
        wrong.up[1] = k == 0 ? 2 : k == 1 ? (double)NAN : extra.up[1];
        wrong.name_bytes = k == 2 ? UINT64_MAX : k == 3 ? 1 : k == 4 ? 3 : extra.name_bytes;
        memcpy(at + sizeof extra, k == 5 ? "\n" : "", 1); /* no control character in a name */
        wrong.name_checksum =
            abuti_checksum(at + sizeof extra, k == 3   ? 1
                                              : k == 4 ? 3
                                                       : (size_t)extra.name_bytes);
        wrong.checksum = abuti_checksum(&wrong, offsetof(frames_extra, checksum));
        memcpy(at, &wrong, sizeof wrong);
        assert_int_equal(ABUT_ERROR_FORMAT, read_everything(file, bytes));
    }
    memcpy(at, &extra, sizeof extra);
    at[sizeof extra] = 0;
    assert_ok(read_everything(file, bytes));
    /* an index out of range */
    unsigned char *index = at + sizeof extra + extra.name_bytes;
    memset(index, 0xff, 4);
    table[0].checksum = abuti_checksum(index, 12 * (size_t)table[0].triangle_count);
    uint64_t sum = abuti_checksum(table, sizeof table);
    memcpy(file + sizeof head, table, sizeof table);
    memcpy(file + sizeof head + sizeof table, &sum, sizeof sum);
    assert_fails(ABUT_ERROR_FORMAT, "vert", read_everything(file, bytes));
}

static abut_status write_and_read(abut_context *context, void *data) {
    const char *path = data;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    AUTO(mesh) one = NULL, *two = NULL, *made = NULL;
    abut_frames_writer *writer = NULL;
    AUTO(frames) frames = NULL;
    abut_vec3 positions[8] = {{0, 0, 0}};
    shape.segments = shape.rings = 1;
    abut_status status = abut_shape_create(context, &shape, &one);
    status = status ? status : abut_shape_create(context, &shape, &two);
    if (!status)
        status = abut_frames_writer_create((abut_mesh *[2]){one, two}, 2, path, NULL, &writer);
    status = status ? status : abut_frames_writer_add(writer, positions, NULL);
    if (!status) {
        status = abut_frames_writer_finish(writer);
        writer = NULL;
    }
    status = status ? status : abut_frames_open(context, path, &frames);
    status = status ? status : abut_frames_read(frames, 0, positions, NULL);
    status = status ? status : abut_frames_mesh_at(frames, 0, 0, &made);
    abut_frames_writer_discard(writer);
    return status;
}

TEST(out_of_memory) {
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("scarce.abutm"));
    assert_true(test_every_allocation(write_and_read, path) > 10);
}
