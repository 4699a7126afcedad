/* Colliders: constructors, and which functions accept which kinds (the table of docs/collider.md).
 */
#include "support/support.h"

#include <abut/abut.h>
#include <math.h>

typedef struct objects {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    abut_samples *samples;
} objects;

static objects create_objects(void) {
    objects o;
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options options = abut_field_options_default();
    options.cells = 16;
    assert_ok(abut_shape_create(NULL, &box, &o.mesh));
    assert_ok(abut_bvh_create(o.mesh, NULL, &o.bvh));
    assert_ok(abut_field_create(o.mesh, &options, &o.field));
    assert_ok(abut_samples_create(o.mesh, NULL, &o.samples));
    return o;
}

static void destroy_objects(objects *o) {
    abut_samples_destroy(o->samples);
    abut_field_destroy(o->field);
    abut_bvh_destroy(o->bvh);
    abut_mesh_destroy(o->mesh);
}

/* One row of the table: a collider, and the functions that accept it. */
typedef struct row {
    const char *name;
    abut_collider collider;
    bool pair, find, sampled, ray;
} row;

static void check(const row *r, const char *function, bool accepted, abut_status status) {
    abut_status expected = accepted ? ABUT_OK : ABUT_ERROR_ARGUMENT;
    if (status != expected)
        fail_msg("%s of %s: %s (%s)", function, r->name, abut_status_name(status),
                 status ? abut_last_error() : "");
}

TEST(functions_accept_the_kinds_of_the_table) {
    objects o = create_objects();
    const abut_pose at = {{0, 0, 0, 1}, {0, 0, 0.9}};
    const abut_plane plane = {{0, 0, 1}, -0.1};
    const abut_sphere sphere = {{0, 0, 0}, 0.5};
    const abut_capsule capsule = {{{0, 0, 0}, {1, 0, 0}}, 0.5};
    const abut_cylinder cylinder = {{{0, 0, 0}, {1, 0, 0}}, 0.5};
    const abut_vec3 half = {0.5, 0.5, 0.5};
    const row rows[] = {
        {"a body with a BVH", abut_collider_from_bvh(o.bvh, at), true, true, false, false},
        {"a body with a field", abut_collider_from_field(o.field, NULL, at), false, false, true,
         true},
        {"a body with samples", abut_collider_from_field(NULL, o.samples, at), false, false, true,
         false},
        {"a plane", abut_collider_from_plane(plane, at), false, true, false, false},
        {"a sphere", abut_collider_from_sphere(sphere, at), false, true, false, false},
        {"a capsule", abut_collider_from_capsule(capsule, at), false, true, false, false},
        {"a box", abut_collider_from_box(half, at), false, true, false, false},
        {"a cylinder", abut_collider_from_cylinder(cylinder, at), false, true, false, false},
        {"a hull", abut_collider_from_hull(o.bvh, at), true, true, false, false},
        {"a character", abut_collider_make(ABUT_COLLIDER_CHARACTER, abut_pose_identity()), false,
         false, false, false},
        {"a mesh", abut_collider_from_mesh(o.mesh, at), false, false, false, false},
    };
    abut_collider other = abut_collider_from_field(o.field, o.samples, abut_pose_identity());
    other.shape.body.bvh = o.bvh;
    abut_world *world;
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        const abut_ray ray = {{0, 0, 4}, {0, 0, -1}};
        abut_separation separation;
        abut_patch list[64];
        abut_contact contacts[4096];
        abut_patches patches = {.size = sizeof patches,
                                .patches.list = list,
                                .patches.capacity = 64,
                                .contacts.list = contacts,
                                .contacts.capacity = 4096};
        abut_contacts found = {.size = sizeof found, .list = contacts, .capacity = 4096};
        abut_field_hit hit;
        uint32_t id;
        check(r, "abut_pair_distance", r->pair,
              abut_pair_distance(&r->collider, &other, NULL, NULL, &separation));
        check(r, "abut_contact_find", r->find,
              abut_contact_find(&r->collider, &other, NULL, &patches));
        check(r, "abut_contact_find, exchanged", r->find,
              abut_contact_find(&other, &r->collider, NULL, &patches));
        check(r, "abut_contact_find_sampled", r->sampled,
              abut_contact_find_sampled(&r->collider, &other, NULL, &found));
        check(r, "abut_contact_find_sampled, exchanged", r->sampled,
              abut_contact_find_sampled(&other, &r->collider, NULL, &found));
        check(r, "abut_contact_ray", r->ray, abut_contact_ray(&r->collider, &ray, HUGE_VAL, &hit));
        abut_world_item item = abut_world_item_default();
        item.collider = r->collider;
        if (r->collider.kind != ABUT_COLLIDER_CHARACTER) /* here without radial fields */
            check(r, "abut_world_add", true, abut_world_add(world, &item, &id));
    }
    abut_world_destroy(world);
    destroy_objects(&o);
}

/* A primitive may be a or b: errors name the argument of the caller, and nothing is read through
 * null pointers. */
TEST(errors_name_the_argument) {
    objects o = create_objects();
    abut_patch list[4];
    abut_contact contacts[16];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = 4,
                          .contacts.list = contacts,
                          .contacts.capacity = 16};
    abut_contacts sampled = {.size = sizeof sampled, .list = contacts, .capacity = 16};
    const abut_collider mesh = abut_collider_from_bvh(o.bvh, abut_pose_identity());
    const abut_collider body = abut_collider_from_field(o.field, o.samples, abut_pose_identity());
    const abut_collider ball =
        abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5}, abut_pose_identity());
    abut_collider bad = ball, far = mesh;
    abut_patch_options options = abut_patch_options_default();
    bad.shape.sphere.radius = -1;
    far.pose.translation.x = NAN;
    assert_refused("patches is null", abut_contact_find(&ball, &mesh, NULL, NULL));
    assert_refused("patches is null", abut_contact_find(&mesh, &ball, NULL, NULL));
    assert_refused("patches is null", abut_contact_find(&ball, &ball, NULL, NULL));
    assert_refused("patches is null", abut_contact_find(&mesh, &mesh, NULL, NULL));
    assert_refused("a is null", abut_contact_find(NULL, &ball, NULL, &found));
    assert_refused("b is null", abut_contact_find(&ball, NULL, NULL, &found));
    assert_refused(": a is a sphere", abut_contact_find(&bad, &mesh, NULL, &found));
    assert_refused(": b is a sphere", abut_contact_find(&mesh, &bad, NULL, &found));
    assert_refused("pose of b", abut_contact_find(&ball, &far, NULL, &found));
    assert_refused("pose of a", abut_contact_find(&far, &ball, NULL, &found));
    options.margin = -1;
    assert_refused("margin", abut_contact_find(&ball, &mesh, &options, &found));
    assert_refused("contacts is null", abut_contact_find_sampled(&body, &body, NULL, NULL));
    assert_refused(": a is a sphere", abut_contact_find_sampled(&ball, &body, NULL, &sampled));
    /* A list that is too short: only the counts are set. */
    found.patches.capacity = found.contacts.capacity = 0;
    assert_fails(ABUT_ERROR_BUFFER, "", abut_contact_find(&ball, &mesh, NULL, &found));
    assert_true(found.patches.count > 0);
    /* An item of an older, shorter version has no collider. */
    abut_world *world;
    uint32_t id;
    abut_world_item item = abut_world_item_default();
    assert_ok(abut_world_create(NULL, NULL, &world));
    item.collider = ball;
    item.size = sizeof item.size;
    assert_refused("neither a BVH", abut_world_add(world, &item, &id));
    item.size = 0;
    assert_refused("size", abut_world_add(world, &item, &id));
    item = abut_world_item_default();
    item.collider.kind = (abut_collider_kind)99;
    assert_refused("item->collider->kind is 99", abut_world_add(world, &item, &id));
    abut_world_destroy(world);
    destroy_objects(&o);
}

/* Exchanging a primitive and a mesh exchanges sides and reverses normals; ids of the options stay.
 */
TEST(exchanged_primitives_agree) {
    objects o = create_objects();
    abut_patch list[2][4];
    abut_contact contacts[2][16];
    abut_patches found[2] = {abut_patches_default(), abut_patches_default()};
    abut_patch_options options = abut_patch_options_default();
    const abut_collider mesh = abut_collider_from_bvh(o.bvh, abut_pose_identity());
    const abut_collider ball =
        abut_collider_from_sphere((abut_sphere){{0, 0, 0.1}, 0.5},
                                  (abut_pose){{0, 0, 0, 1}, {0.1, 0.2, 0.8}});
    options.a = 7;
    options.b = 9;
    for (int k = 0; k < 2; k++) {
        found[k] = (abut_patches){.size = sizeof(abut_patches),
                                  .patches.list = list[k],
                                  .patches.capacity = 4,
                                  .contacts.list = contacts[k],
                                  .contacts.capacity = 16};
        options.hint = (abut_vec3){0, 0, k ? 1 : -1};
        assert_ok(abut_contact_find(k ? &ball : &mesh, k ? &mesh : &ball, &options, &found[k]));
    }
    assert_true(found[0].contacts.count > 0);
    assert_int_equal(found[0].contacts.count, found[1].contacts.count);
    for (uint64_t i = 0; i < found[0].contacts.count; i++) {
        const abut_contact *x = &contacts[0][i], *y = &contacts[1][i];
        assert_true(x->depth == y->depth && x->normal.z == -y->normal.z && x->side != y->side);
        assert_true(x->a == 7 && x->b == 9 && y->a == 7 && y->b == 9);
    }
    destroy_objects(&o);
}

TEST(constructors_set_kind_pose_and_shape) {
    const abut_pose at = {{0, 0, 1, 0}, {1, 2, 3}};
    const abut_sphere sphere = {{4, 5, 6}, 7};
    abut_collider c = abut_collider_from_sphere(sphere, at);
    assert_int_equal(ABUT_COLLIDER_SPHERE, c.kind);
    assert_memory_equal(&at, &c.pose, sizeof at);
    assert_memory_equal(&sphere, &c.shape.sphere, sizeof sphere);
    c = abut_collider_from_mesh(NULL, abut_pose_identity());
    assert_int_equal(ABUT_COLLIDER_MESH, c.kind);
    assert_false(c.shape.mesh.deforms);
    assert_true(c.pose.rotation.w == 1);
    c.kind = (abut_collider_kind)99;
    abut_separation separation;
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_pair_distance(&c, &c, NULL, NULL, &separation));
    assert_non_null(strstr(abut_last_error(), "99"));
}
