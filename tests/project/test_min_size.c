/* The lower end of the range of coordinates: every function that creates a mesh, reads one or
 * sets the positions of one rejects a bounding box smaller than ABUT_MESH_SIZE_MIN, with the
 * size in the message, and changes nothing. A single point and single tiny coordinates are
 * valid. docs/limits.md has the range; test_range.c tests the rest of it. */
#include "apps/get.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

#define SENTENCE "it must be 0 or at least 1e-90: scale the coordinates"

enum { SCALES = 5 };
static const double scales[SCALES] = {6e-91, 1e-100, 1e-160, 1e-300, 1e-320};
static const uint32_t faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

/* Refused with this sentence by this function. */
static void refused(const char *name, abut_status expected, abut_status status) {
    if (status != expected || !strstr(abut_last_error(), SENTENCE) ||
        strncmp(abut_last_error(), name, strlen(name)) != 0)
        fail_msg("%s: %s: %s", name, abut_status_name(status),
                 status ? abut_last_error() : "succeeds");
}

static void tetrahedron(double scale, abut_vec3 corners[4]) {
    for (int i = 0; i < 4; i++)
        corners[i] = (abut_vec3){i == 1 ? scale : 0, i == 2 ? scale : 0, i == 3 ? scale : 0};
}

TEST(meshes) {
    (void)state;
    abut_vec3 corners[4];
    tetrahedron(1, corners);
    abut_mesh *unit = test_mesh(NULL, corners, 4, faces, 4), *made = NULL;
    for (int i = 0; i < SCALES; i++) {
        tetrahedron(scales[i], corners);
        const abut_mesh_input input = abut_mesh_input_doubles(corners, 4, faces, 4);
        refused("abut_mesh_create", ABUT_ERROR_ARGUMENT, abut_mesh_create(NULL, &input, &made));
        refused("abut_mesh_create_hull", ABUT_ERROR_ARGUMENT,
                abut_mesh_create_hull(NULL, corners, 4, &made));
        const abut_pose away = {.translation = {1, 2, 3}};
        refused("abut_mesh_transform", ABUT_ERROR_ARGUMENT,
                abut_mesh_transform(unit, scales[i], (abut_pose){0}, &made));
        refused("abut_mesh_transform", ABUT_ERROR_ARGUMENT,
                abut_mesh_transform(unit, -scales[i], (abut_pose){0}, &made));
        /* Far away all points are the same. */
        assert_ok(abut_mesh_transform(unit, scales[i], away, &made));
        abut_mesh_destroy(made);
        made = NULL;
        /* A vertex that no triangle has does not make it larger. */
        abut_vec3 more[5] = {corners[0], corners[1], corners[2], corners[3], {1, 1, 1}};
        const abut_mesh_input with = abut_mesh_input_doubles(more, 5, faces, 4);
        refused("abut_mesh_create", ABUT_ERROR_ARGUMENT, abut_mesh_create(NULL, &with, &made));
        assert_null(made);
    }
    abut_mesh_destroy(unit);
}

TEST(files) {
    (void)state;
    for (int i = 0; i < SCALES; i++) {
        char obj[512], off[512], ply[1024];
        const double s = scales[i];
        int bytes[3];
        const char *texts[3] = {obj, off, ply}, *ends[3] = {"obj", "off", "ply"};
        bytes[0] = snprintf(obj, sizeof obj,
                            "v 0 0 0\nv %g 0 0\nv 0 %g 0\nv 0 0 %g\nf 1 3 2\nf 1 2 4\nf 1 4 3\n"
                            "f 2 3 4\n",
                            s, s, s);
        bytes[1] = snprintf(off, sizeof off,
                            "OFF\n4 4 0\n0 0 0\n%g 0 0\n0 %g 0\n0 0 %g\n3 0 2 1\n3 0 1 3\n"
                            "3 0 3 2\n3 1 2 3\n",
                            s, s, s);
        bytes[2] = snprintf(ply, sizeof ply,
                            "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\n"
                            "property double y\nproperty double z\nelement face 4\n"
                            "property list uchar int vertex_indices\nend_header\n0 0 0\n%g 0 0\n"
                            "0 %g 0\n0 0 %g\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n",
                            s, s, s);
        for (int k = 0; k < 3; k++) {
            abut_mesh_read_options options = abut_mesh_read_options_default();
            abut_mesh *made = NULL;
            char name[16];
            snprintf(name, sizeof name, "tiny.%s", ends[k]);
            refused("", ABUT_ERROR_FORMAT,
                    abut_mesh_read_memory(NULL, texts[k], (size_t)bytes[k], name, &options, &made));
            FILE *file = fopen(test_path(name), "w");
            assert_non_null(file);
            assert_int_equal(1, fwrite(texts[k], (size_t)bytes[k], 1, file));
            fclose(file);
            refused("", ABUT_ERROR_FORMAT, abut_mesh_read(NULL, test_path(name), NULL, &made));
            assert_non_null(strstr(abut_last_error(), name));
            assert_null(made);
        }
    }
}

/* Recordings may have such frames, and are not opened if the first is one. */
TEST(recordings) {
    (void)state;
    abut_vec3 corners[4];
    tetrahedron(1, corners);
    AUTO(mesh) unit = test_mesh(NULL, corners, 4, faces, 4);
    abut_frames_writer *writer = NULL;
    abut_frames *frames = NULL;
    assert_ok(abut_frames_writer_create(&unit, 1, test_path("tiny.abutm"), NULL, &writer));
    tetrahedron(1e-100, corners);
    assert_ok(abut_frames_writer_add(writer, corners, NULL));
    assert_ok(abut_frames_writer_finish(writer));
    refused("", ABUT_ERROR_FORMAT, abut_frames_open(NULL, test_path("tiny.abutm"), &frames));
    assert_null(frames);
}

/* Steps of motions, and bodies that deform: refused, and the next legal call works. */
TEST(positions) {
    (void)state;
    abut_vec3 start[4], end[4];
    tetrahedron(1, start);
    AUTO(mesh) unit = test_mesh(NULL, start, 4, faces, 4);
    AUTO(sweep) motion = NULL;
    AUTO(self) self = NULL;
    AUTO(layers) layers = NULL;
    AUTO(world) world = NULL;
    abut_self_result result = abut_self_result_default();
    uint32_t solid, body;
    assert_ok(abut_sweep_create(&unit, 1, NULL, &motion));
    assert_ok(abut_self_create(unit, NULL, &self));
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    assert_ok(abut_layers_add(
        layers,
        &(abut_layers_item){.size = sizeof(abut_layers_item),
                            .collider = abut_collider_from_mesh(unit, abut_pose_identity())},
        &solid));
    assert_ok(abut_world_create(NULL, NULL, &world));
    abut_world_item item = {.size = sizeof(abut_world_item), .collider.kind = ABUT_COLLIDER_MESH};
    item.collider.shape.mesh.mesh = unit;
    item.collider.shape.mesh.deforms = true;
    assert_ok(abut_world_add(world, &item, &body));
    for (int i = 0; i <= SCALES; i++) {
        const double scale = i < SCALES ? scales[i] : 0.5;
        tetrahedron(scale, end);
        const abut_array from = abut_array_host(start), to = abut_array_host(end);
        abut_self_step forwards = abut_self_step_default(), backwards = forwards;
        forwards.start = backwards.end = from;
        forwards.end = backwards.start = to;
        if (i < SCALES) {
            refused("abut_sweep_set_positions", ABUT_ERROR_ARGUMENT,
                    abut_sweep_set_positions(motion, from, to));
            refused("abut_sweep_set_positions", ABUT_ERROR_ARGUMENT,
                    abut_sweep_set_positions(motion, to, from));
            refused("abut_self_find", ABUT_ERROR_ARGUMENT,
                    abut_self_find(self, &forwards, NULL, &result));
            refused("abut_self_find", ABUT_ERROR_ARGUMENT,
                    abut_self_find(self, &backwards, NULL, &result));
            refused("abut_layers_set_positions", ABUT_ERROR_ARGUMENT,
                    abut_layers_set_positions(layers, solid, to));
            refused("abut_", ABUT_ERROR_ARGUMENT, abut_world_set_positions(world, body, NULL, to));
        } else {
            assert_ok(abut_sweep_set_positions(motion, from, to));
            assert_ok(abut_self_find(self, &forwards, NULL, &result));
            assert_ok(abut_layers_set_positions(layers, solid, to));
            assert_ok(abut_world_set_positions(world, body, NULL, to));
        }
    }
}

TEST(characters) {
    (void)state;
    AUTO(character) figure = NULL;
    abut_character_figure_options options = abut_character_figure_options_default();
    options.triangles = 8000;
    assert_ok(abut_character_create_figure(NULL, &options, &figure));
    const uint32_t bones = get_character_info(figure).bone_count;
    abut_character_matrix *matrices = test_malloc(bones * sizeof *matrices);
    for (int i = 0; i < SCALES; i++) {
        const double s = 0.1 * scales[i];
        abut_mesh *made = NULL;
        for (uint32_t b = 0; b < bones; b++)
            matrices[b] = (abut_character_matrix){{{s, 0, 0, 0}, {0, s, 0, 0}, {0, 0, s, 0}}};
        refused("abut_character_mesh", ABUT_ERROR_ARGUMENT,
                abut_character_mesh(figure, matrices, ABUT_CHARACTER_SKINNING_LINEAR, &made));
        assert_null(made);
    }
    test_free(matrices);
}

static void count_warning(void *user, abut_log_level level, const char *message) {
    *(int *)user += level == ABUT_LOG_WARNING && strstr(message, "below 1e-91") != NULL;
}

/* What stays legal: a size of 1e-90, a point, a mesh with a few tiny coordinates. The last one logs
 * one warning, also if other meshes are derived from it. */
TEST(legal) {
    (void)state;
    int warnings = 0;
    abut_context_options options = abut_context_options_default();
    options.log = count_warning;
    options.log_user = &warnings;
    AUTO(context) context = NULL;
    assert_ok(abut_context_create(&options, &context));
    const double sizes[] = {ABUT_MESH_SIZE_MIN, 1e-89, 0};
    for (int i = 0; i < 3; i++) {
        abut_vec3 corners[4], away[4];
        tetrahedron(sizes[i], corners);
        for (int k = 0; k < 4; k++)
            away[k] = (abut_vec3){1 + corners[k].x, corners[k].y, corners[k].z};
        abut_mesh_destroy(test_mesh(context, corners, 4, faces, 4));
        abut_mesh_destroy(test_mesh(context, away, 4, faces, 4));
    }
    assert_int_equal(0, warnings);
    abut_vec3 corners[4];
    tetrahedron(1, corners);
    corners[1].y = 1e-95;
    corners[2].z = 5e-324;
    AUTO(mesh) mesh = test_mesh(context, corners, 4, faces, 4);
    assert_int_equal(1, warnings);
    AUTO(bvh) bvh = NULL;
    abut_patch list[16];
    abut_contact contacts[64];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = 16,
                          .contacts.list = contacts,
                          .contacts.capacity = 64};
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                        b = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {0.1, 0.1, 0.1}});
    assert_ok(abut_contact_find(&a, &b, NULL, &found));
    assert_int_equal(1, warnings);
}
