/* Contacts of meshes that rest on each other keep their ids when a gap becomes an overlap. */
#include "contact/patches.h"
#include "support/support.h"

enum { MOST = 64 };

typedef struct id_list {
    uint64_t count, ids[MOST];
} id_list;

static id_list ids_of(const abut_bvh *a, const abut_bvh *b, abut_pose at) {
    abut_patches found = room();
    abut_patch_options options = abut_patch_options_default();
    abut_posed first = {a, at}, second = {b, shifted(0, 0, 0)};
    options.margin = 0.005;
    options.hint = v3(0, 0, 1);
    assert_ok(abut_contact_patches(&first, &second, &options, &found));
    assert_true(found.contact_count > 0 && found.contact_count <= MOST);
    id_list answer = {.count = found.contact_count};
    for (uint64_t i = 0; i < answer.count; i++)
        answer.ids[i] = contacts[i].id;
    return answer;
}

static uint64_t count_lost(const id_list *was, const id_list *is) {
    uint64_t lost = 0;
    for (uint64_t i = 0; i < was->count; i++) {
        bool kept = false;
        for (uint64_t k = 0; k < is->count; k++)
            kept |= was->ids[i] == is->ids[k];
        lost += !kept;
    }
    return lost;
}

TEST(gaps_that_become_overlaps_keep_their_ids) {
    const double angles[] = {0, 0.003, 0.2, 0.5, 0.7853981633974483}, offsets[] = {0, 0.01, 0.3};
    const double heights[] = {1e-4, 1e-6, -1e-6, -1e-4, -5e-4};
    uint64_t lost = 0, all = 0;
    for (uint32_t segments = 1; segments < 4; segments++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        shape.extent = v3(1, 1, 1);
        shape.segments = segments;
        abut_bvh *cube = tree_of(NULL, &shape);
        for (int i = 0; i < 5; i++)
            for (int k = 0; k < 3; k++) {
                id_list before = {0};
                for (int h = 0; h < 5; h++) {
                    const double half = 0.5 * angles[i];
                    id_list now =
                        ids_of(cube, cube,
                               (abut_pose){{0, 0, sin(half), cos(half)},
                                           {offsets[k], 0.7 * offsets[k], 1 + heights[h]}});
                    lost += count_lost(&before, &now);
                    all += before.count;
                    before = now;
                }
            }
        abut_bvh_destroy(cube);
    }
    if (lost > all / 100)
        fail_msg("%llu of %llu ids are lost", (unsigned long long)lost, (unsigned long long)all);
}

int main(void) {
    return test_run(NULL, NULL);
}
