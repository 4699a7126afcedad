/* Contacts of meshes that rest on each other keep their ids when a gap becomes an overlap. */
#include "contact/patches.h"
#include "support/support.h"

enum { MOST = 64 };

typedef struct id_list {
    uint64_t count, ids[MOST];
} id_list;

static id_list ids_at(const abut_bvh *a, abut_pose at_a, const abut_bvh *b, abut_pose at_b) {
    abut_patches found = room();
    abut_patch_options options = abut_patch_options_default();
    abut_collider first = abut_collider_from_bvh(a, at_a), second = abut_collider_from_bvh(b, at_b);
    options.margin = 0.005;
    options.hint = v3(0, 0, 1);
    assert_ok(abut_contact_find(&first, &second, &options, &found));
    assert_true(found.contacts.count > 0 && found.contacts.count <= MOST);
    id_list answer = {.count = found.contacts.count};
    for (uint64_t i = 0; i < answer.count; i++)
        answer.ids[i] = contacts[i].id;
    return answer;
}

static id_list ids_of(const abut_bvh *a, const abut_bvh *b, abut_pose at) {
    return ids_at(a, at, b, shifted(0, 0, 0));
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

/* Two steps of a stack of cubes: the diagonal of a side of one passes an edge of the other between
 * them, 0.007 from a corner of the overlap. */
TEST(diagonals_of_faces_give_no_names) {
    const abut_pose poses[2][2] = {
        {{{0.00079081643907835458, 0.00121933146887617, 0.0032142507388969984, 0.99999377819680269},
          {-0.0026642974884101048, 0.0094670139140378192, 0.49653981526188762}},
         {{0.00019579197415374298, 0.00051427488006641016, 0.0026592102233166342,
           0.9999963128871221},
          {-0.004376373294341122, 0.0018142435106110609, 1.4911443478504924}}},
        {{{0.00082761277726144339, 0.0012655444719719214, 0.0032834701614746151,
           0.99999346611764373},
          {-0.0027217006792366973, 0.0095457118922284197, 0.49650499665765468}},
         {{0.00019240453995807296, 0.00050295289882040426, 0.0027119246470807515,
           0.99999617773448668},
          {-0.0043681605173456753, 0.001845559706542158, 1.4911095923565933}}}};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(1, 1, 1);
    shape.segments = 1;
    abut_bvh *cube = tree_of(NULL, &shape);
    const id_list before = ids_at(cube, poses[0][0], cube, poses[0][1]);
    const id_list after = ids_at(cube, poses[1][0], cube, poses[1][1]);
    assert_int_equal(before.count, 4);
    assert_int_equal(count_lost(&before, &after), 0);
    abut_bvh_destroy(cube);
}

int main(void) {
    return test_run(NULL, NULL);
}
