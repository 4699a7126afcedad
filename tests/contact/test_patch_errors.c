/* Exact contacts: invalid arguments, out of memory, cancellation, and threads. */
#include "base/base.h"
#include "contact/mesh_patches.h"

#include <math.h>
#include <pthread.h>

TEST(bad_calls_are_refused) {
    abut_bvh *cube = box_of(1, 1, 1, 1);
    abut_collider a = abut_collider_from_bvh(cube, shifted(0, 0, 0.99)),
                  b = abut_collider_from_bvh(cube, shifted(0, 0, 0)),
                  none = abut_collider_from_bvh(NULL, a.pose);
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    assert_refused("a is null", abut_contact_find(NULL, &b, NULL, &found));
    assert_refused("b is null", abut_contact_find(&a, NULL, NULL, &found));
    assert_refused("null", abut_contact_find(&a, &none, NULL, &found));
    assert_refused("patches is null", abut_contact_find(&a, &b, NULL, NULL));
    found.patches.list = NULL;
    assert_refused("null", abut_contact_find(&a, &b, NULL, &found));
    found = room();
    options.margin = NAN;
    assert_refused("margin", abut_contact_find(&a, &b, &options, &found));
    options = abut_patch_options_default();
    options.max_contacts = 9;
    assert_refused("max_contacts", abut_contact_find(&a, &b, &options, &found));
    options = abut_patch_options_default();
    options.hint.y = INFINITY;
    assert_refused("hint", abut_contact_find(&a, &b, &options, &found));
    a.pose.translation.x = NAN;
    assert_refused("pose of a", abut_contact_find(&a, &b, NULL, &found));
    a = b;
    a.pose.translation.z = 0.99;
    contacts[0].depth = 77;
    list[0].depth = 77;
    found = (abut_patches){.size = sizeof(abut_patches),
                           .patches.list = list,
                           .patches.capacity = 4,
                           .contacts.list = contacts,
                           .contacts.capacity = 3};
    assert_fails(ABUT_ERROR_BUFFER,
                 "there are 4 contacts, but the capacity of patches->contacts is 3",
                 abut_contact_find(&a, &b, NULL, &found));
    assert_true(found.patches.count == 1 && found.contacts.count == 4);
    assert_true(contacts[0].depth == 77 && list[0].depth == 77);
    found = abut_patches_default();
    assert_fails(ABUT_ERROR_BUFFER, "capacity of patches->",
                 abut_contact_find(&a, &b, NULL, &found));
    assert_true(found.patches.count == 1 && found.contacts.count == 4);
    a.pose.translation.z = 3;
    assert_ok(abut_contact_find(&a, &b, NULL, &found));
    assert_int_equal(found.patches.count, 0);
    options = abut_patch_options_default();
    for (uint32_t keep = 1; keep <= 8; keep++) { /* so many, and no more */
        options.max_contacts = keep;
        a.pose.translation.z = 0.99;
        a.pose.translation.x = 0.1;
        found = room();
        assert_ok(abut_contact_find(&a, &b, &options, &found));
        assert_true(found.contacts.count >= (keep < 4 ? keep : 4) && found.contacts.count <= keep);
    }
    abut_bvh_destroy(cube);
}

static abut_status ask_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    shape.segments = 3;
    (void)data;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_collider a = abut_collider_from_bvh(bvh, shifted(0, 0.1, 0.3)),
                  b = abut_collider_from_bvh(bvh, shifted(0, 0, 0));
    abut_patches found = room();
    status = status ? status : abut_contact_find(&a, &b, NULL, &found);
    abut_mesh_destroy(mesh);
    abut_bvh_destroy(bvh);
    return status;
}

TEST(memory_may_run_out) {
    assert_true(test_every_allocation(ask_all, NULL) > 10);
}

static bool go_on(void *user, const char *stage, double fraction) {
    (void)stage;
    (void)fraction;
    return *(bool *)user;
}

/* A callback may cancel; no partial result is returned, and the next call is not affected. */
TEST(a_callback_may_cancel) {
    abut_context_options options = abut_context_options_default();
    abut_context *context = NULL;
    bool goes_on = true;
    options.progress = go_on;
    options.progress_user = &goes_on;
    assert_ok(abut_context_create(&options, &context));
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_bvh *ball = tree_of(context, &shape);
    abut_collider a = abut_collider_from_bvh(ball, shifted(0.3, 0.1, 0)),
                  b = abut_collider_from_bvh(ball, shifted(0, 0, 0));
    abut_patches found = room();
    double seconds = abuti_progress_interval;
    abuti_progress_interval = 0;
    goes_on = false;
    found.patches.count = 77;
    assert_fails(ABUT_ERROR_CANCELLED, "cancelled", abut_contact_find(&a, &b, NULL, &found));
    assert_int_equal(found.patches.count, 77);
    goes_on = true;
    assert_ok(abut_contact_find(&a, &b, NULL, &found));
    assert_true(found.patches.count == 1 && found.is_verified);
    abuti_progress_interval = seconds;
    abut_bvh_destroy(ball);
    abut_context_destroy(context);
}

/* Many threads run the first query on the same two BVHs. */
static const abut_bvh *shared[2];

static void *ask_once(void *data) {
    abut_patch one[4];
    abut_contact few[16];
    abut_patches found = {.size = sizeof found,
                          .patches.list = one,
                          .patches.capacity = 4,
                          .contacts.list = few,
                          .contacts.capacity = 16};
    abut_collider a = abut_collider_from_bvh(shared[0], shifted(0, 0, 0.99)),
                  b = abut_collider_from_bvh(shared[1], shifted(0, 0, 0));
    *(double *)data = abut_contact_find(&a, &b, NULL, &found) ? -1 : one[0].depth;
    return NULL;
}

TEST_THREADS(threads_share_what_is_made_first) {
    abut_bvh *cube = box_of(1, 1, 1, 4), *other = box_of(1, 1, 1, 3);
    pthread_t threads[4];
    double depths[4];
    shared[0] = cube;
    shared[1] = other;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_once, &depths[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        assert_true(depths[i] == depths[0] && fabs(depths[i] - 0.01) < 1e-7);
    abut_bvh_destroy(cube);
    abut_bvh_destroy(other);
}
