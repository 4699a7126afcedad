/* Ids of contacts are different within a pair, and stay with their wall from step to step. */
#include "contact/patch.h"
#include "support/pose.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

enum { ROOM = 4096 };

static int compare_ids(const void *x, const void *y) {
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static void assert_different(const abut_contact *list, uint64_t count) {
    static uint64_t ids[ROOM];
    for (uint64_t i = 0; i < count; i++)
        ids[i] = list[i].id;
    qsort(ids, (size_t)count, sizeof *ids, compare_ids);
    for (uint64_t i = 1; i < count; i++)
        assert_true(ids[i - 1] != ids[i]);
}

static patch_answer answer_of(vec3 normal, double depth, uint32_t vertex) {
    patch_answer a = {.normal = v3_normalise(normal), .depth = depth, .count = 1};
    a.points[0] = (patch_point){.depth = depth, .kind = ABUT_CONTACT_VERTEX, .element = vertex};
    return a;
}

static abut_patches write_answers(const patch_answer *answers, size_t count, bool swapped) {
    static abut_patch patches[ROOM];
    static abut_contact contacts[ROOM];
    const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
    const patch_frame frame = {.function = "test",
                               .motion = abuti_motion_of(&here),
                               .swapped = swapped};
    abut_patches out = {.size = sizeof out,
                        .patches.list = patches,
                        .patches.capacity = ROOM,
                        .contacts.list = contacts,
                        .contacts.capacity = ROOM};
    assert_ok(abuti_patch_write(&frame, answers, count, true, abuti_guaranteed(""), &out));
    assert_different(out.contacts.list, out.contacts.count);
    return out;
}

/* A corner at three walls: ids follow normals whichever wall is deepest. */
TEST(ids_stay_with_their_wall) {
    const vec3 walls[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    uint64_t ids[2][3];
    for (int swapped = 0; swapped < 2; swapped++)
        for (int first = 0; first < 3; first++)
            for (int way = 1; way < 3; way++) {
                patch_answer answers[3];
                for (int i = 0; i < 3; i++) {
                    const int wall = (first + way * i) % 3;
                    vec3 n = v3_add(walls[wall], v3(1e-7 * i, -1e-7, 2e-7)); /* never quite */
                    answers[i] = answer_of(n, 0.1 - 0.01 * i, 7);
                }
                abut_patches out = write_answers(answers, 3, swapped);
                for (int i = 0; i < 3; i++) {
                    const int wall = (first + way * i) % 3;
                    if (first == 0 && way == 1)
                        ids[swapped][wall] = out.contacts.list[i].id;
                    assert_true(out.contacts.list[i].id == ids[swapped][wall]);
                    assert_true(out.contacts.list[i].element == 7 &&
                                out.contacts.list[i].part == 0);
                }
            }
    for (int i = 0; i < 3; i++) /* the other side, and nothing else */
        assert_true((ids[0][i] ^ ids[1][i]) == (uint64_t)1 << 63);
}

/* Two contacts of one feature in one patch, as of an edge that crosses a triangle twice: ids follow
 * the points whichever is deeper. */
TEST(ids_stay_with_their_point) {
    uint64_t ids[2];
    for (int deeper = 0; deeper < 2; deeper++) {
        patch_answer answer = answer_of(v3(0, 0, 1), 0.2, 3);
        answer.count = 2;
        answer.points[1] = answer.points[0];
        answer.points[deeper].at = v3(1, 0, 0);
        answer.points[1].depth = 0.1;
        abut_patches out = write_answers(&answer, 1, false);
        for (int i = 0; i < 2; i++) {
            if (!deeper)
                ids[i] = out.contacts.list[i].id;
            assert_true(out.contacts.list[i].id == ids[deeper ? !i : i]);
        }
    }
}

/* One feature in any number of patches, beside others whose ids are near. */
TEST(ids_of_any_number_of_patches_are_different) {
    static patch_answer answers[ROOM];
    test_random random = {5};
    const size_t counts[] = {1, 2, 4, 5, 6, 63, 64, 65, 1025, 1500};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint32_t vertices = 1; vertices <= 3; vertices++) {
            for (size_t i = 0; i < counts[c]; i++) {
                vec3 n = v3(test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                            test_random_real(&random, -1, 1));
                answers[i] = answer_of(i % 7 ? n : v3(0, 0, 1), 0.1, (uint32_t)i % vertices);
                answers[i].points[0].part = (uint32_t)i % 2 ? 0x3ffffff : 0;
                answers[i].points[0].kind =
                    i % 5 ? ABUT_CONTACT_CROSSING : (uint32_t)ABUT_CONTACT_VERTEX;
            }
            write_answers(answers, counts[c], false);
        }
}

/* Real pairs, concave and with a margin, so that features are in several patches. */
TEST(ids_of_meshes_are_different) {
    static const abut_shape_kind kinds[] = {ABUT_SHAPE_TEAPOT_SOLID, ABUT_SHAPE_TORUS,
                                            ABUT_SHAPE_BOX};
    test_random random = {17};
    abut_bvh *trees[3];
    for (int i = 0; i < 3; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        abut_mesh *mesh;
        shape.segments = i == 0 ? 2 : i == 1 ? 7 : 1;
        if (i == 1)
            shape.rings = 5;
        assert_ok(abut_shape_create(NULL, &shape, &mesh));
        assert_ok(abut_bvh_create(mesh, NULL, &trees[i]));
        abut_mesh_destroy(mesh);
    }
    uint64_t contacts = 0, shared = 0;
    for (uint32_t round = 0; round < test_rounds(400); round++) {
        static abut_patch patches[512];
        static abut_contact list[ROOM];
        abut_patch_options options = abut_patch_options_default();
        abut_collider a = abut_collider_from_bvh(trees[round % 3], random_pose(&random, 0.4)),
                      b = abut_collider_from_bvh(trees[round / 3 % 3], random_pose(&random, 0.4));
        options.margin = round % 2 ? 0.05 : 0;
        options.max_contacts = round % 4 < 2 ? 8 : 0;
        abut_patches found = {.size = sizeof found,
                              .patches.list = patches,
                              .patches.capacity = 512,
                              .contacts.list = list,
                              .contacts.capacity = ROOM};
        assert_ok(abut_contact_find(&a, &b, &options, &found));
        assert_different(list, found.contacts.count);
        contacts += found.contacts.count;
        for (uint64_t i = 0; i < found.contacts.count; i++)
            shared += (list[i].id >> 61 & 3) != 0;
    }
    assert_true(contacts > 50 && (shared > 0 || getenv("ABUT_TEST_SEED")));
    for (int i = 0; i < 3; i++)
        abut_bvh_destroy(trees[i]);
}

int main(void) {
    return test_run(NULL, NULL);
}
