/* Contacts of a nut on its bolt: a wall that goes round several times, with normals that differ by
 * 60 degrees. A normal that is 5 degrees off along the thread throws the nut up by a pitch. */
#include "contact/scene_models.h"

enum { MOST = 512 };

static abut_patch list[MOST];
static abut_contact contacts[8 * MOST];

static abut_patches contacts_of_nut(abut_pose nut, double margin) {
    static model parts[2];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = MOST,
                          .contacts.list = contacts,
                          .contacts.capacity = 8 * MOST};
    abut_patch_options options = abut_patch_options_default();
    for (int i = 0; i < 2; i++)
        parts[i] = scene_model(i ? "nut" : "bolt");
    const abut_collider a = abut_collider_from_bvh(parts[0].bvh, abut_pose_identity()),
                        b = abut_collider_from_bvh(parts[1].bvh, nut);
    options.margin = margin;
    assert_ok(abut_contact_find(&a, &b, &options, &found));
    for (int i = 0; i < 2; i++)
        abut_bvh_destroy(parts[i].bvh);
    return found;
}

/* The angle in degrees between a normal, towards the bolt, and the flank of a helix at a point, the
 * upper or the lower one, or the cylinders at crest and root. */
static double angle_off(const abut_contact *c) {
    const double r = hypot(c->point.x, c->point.y), slope = THREAD_PITCH / (2 * PI * r);
    const abut_vec3 out = v3(c->point.x / r, c->point.y / r, 0), along = v3(-out.y, out.x, 0);
    double most = v3_dot(c->normal, v3_scale(out, -1));
    for (int sign = -1; sign < 2; sign += 2) {
        abut_vec3 n = v3_along(v3_scale(out, tan(PI / 6)), -slope * sign, along);
        n.z = sign;
        most = real_max(most, -v3_dot(c->normal, v3_normalise(n)));
    }
    return 180 / PI * acos(real_min(most, 1));
}

TEST(contacts_of_a_thread_have_normals_of_its_flanks) {
    const abut_pose poses[] = {
        /* apart, and with 138 overlaps of up to 0.0002 */
        {{0, 0, -0.20790876566871475, 0.97814822248885747}, {0, 0, 0.47751874999999994}},
        {{7.5790185227441571e-05, 1.0747712267897217e-05, -0.28401140119529605, 0.9588208999241824},
         {-0.00018625876163084215, -0.0002118023079206178, 0.48587323777672498}}};
    for (int i = 0; i < 2; i++) {
        const abut_patches found = contacts_of_nut(poses[i], 0.005);
        assert_true(found.contacts.count > 16);
        for (uint64_t k = 0; k < found.contacts.count; k++)
            if (angle_off(&contacts[k]) > 3)
                fail_msg("pose %d: the normal of a contact at (%g, %g, %g) is %g degrees off", i,
                         contacts[k].point.x, contacts[k].point.y, contacts[k].point.z,
                         angle_off(&contacts[k]));
    }
}

/* Pressed to a side, the thread is a wedge between two flanks. */
TEST(a_nut_that_is_pressed_aside_is_not_thrown_off) {
    const abut_pose aside = {{-0.0059663683343526477, -0.0037147564297305806, -0.60871055701439192,
                              0.79336124231827421},
                             {0.018429131564133588, -0.032903873890315558, 0.45226815687246452}};
    contacts_of_nut(aside, 0.0005);
    if (!(list[0].depth < 0.06))
        fail_msg("%g is reported for 0.04", list[0].depth);
}
