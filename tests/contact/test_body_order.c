/* Contacts are the same whichever body is called a, also of equal meshes. */
#include "contact/patch.h"
#include "support/pose.h"
#include "support/support.h"

#include <math.h>

enum { ROOM = 512 };

typedef struct answer {
    abut_patch list[ROOM];
    abut_contact contacts[ROOM];
    abut_patches found;
} answer;

static void find_contacts(const abut_collider *a, const abut_collider *b, answer *to) {
    to->found = (abut_patches){.size = sizeof(abut_patches),
                               .patches.list = to->list,
                               .patches.capacity = ROOM,
                               .contacts.list = to->contacts,
                               .contacts.capacity = ROOM};
    abut_patch_options options = abut_patch_options_default();
    options.margin = 0.01;
    assert_ok(abut_contact_find(a, b, &options, &to->found));
}

/* The same bits, except for the side and the normal. Returns the number of contacts. */
static uint64_t check_swap(const abut_bvh *a, const abut_bvh *b, test_random *random,
                           double reach) {
    static answer one, two;
    const abut_collider p = abut_collider_from_bvh(a, random_pose(random, reach)),
                        q = abut_collider_from_bvh(b, random_pose(random, reach));
    find_contacts(&p, &q, &one);
    find_contacts(&q, &p, &two);
    assert_int_equal(one.found.contacts.count, two.found.contacts.count);
    for (uint64_t i = 0; i < one.found.contacts.count; i++) {
        const abut_contact *x = &one.contacts[i], *y = &two.contacts[i];
        assert_memory_equal(&x->point, &y->point, sizeof x->point);
        assert_true(x->depth == y->depth && x->side != y->side);
        assert_true(v3_length(v3_add(x->normal, y->normal)) == 0);
        assert_true((x->id ^ y->id) == (uint64_t)1 << 63);
    }
    return one.found.contacts.count;
}

/* A torus; from vertex 40 on moved along z. */
static abut_mesh *make_mesh(abut_vec3 at, double bend) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *plain, *mesh;
    shape.segments = 16;
    shape.rings = 8;
    assert_ok(abut_shape_create(NULL, &shape, &plain));
    const uint32_t count = abut_mesh_vertex_count(plain);
    const abut_vec3 *from = abut_mesh_local_positions(plain), o = abut_mesh_local_origin(plain);
    abut_vec3 to[256];
    assert_true(count > 100 && count <= 256);
    for (uint32_t i = 0; i < count; i++)
        to[i] = v3_add(v3_add(from[i], o),
                       v3_add(at, v3(0, 0, i < 40 ? 0 : bend * (from[i].x + 0.25))));
    mesh = test_mesh(NULL, to, count, abut_mesh_indices(plain), abut_mesh_triangle_count(plain));
    abut_mesh_destroy(plain);
    return mesh;
}

TEST(swapped_bodies_have_the_same_contacts) {
    const abut_vec3 zero = {0, 0, 0}, far = {2, -1, 4};
    abut_mesh *mesh = make_mesh(zero, 0), *copy = make_mesh(zero, 0), *moved = make_mesh(far, 0),
              *bent = make_mesh(zero, 0.25);
    abut_bvh *trees[4];
    test_random random = {23};
    uint64_t contacts[6] = {0};
    for (int i = 0; i < 4; i++)
        assert_ok(abut_bvh_create(i == 0   ? mesh
                                  : i == 1 ? copy
                                  : i == 2 ? moved
                                           : bent,
                                  NULL, &trees[i]));
    assert_true(abuti_patch_order(trees[0], trees[1]) == 0);
    assert_true(abuti_patch_order(trees[0], trees[2]) != 0);
    assert_true(abuti_patch_order(trees[0], trees[3]) != 0);
    for (int k = 1; k < 4; k++)
        assert_true((abuti_patch_order(trees[0], trees[k]) < 0) ==
                    (abuti_patch_order(trees[k], trees[0]) > 0));
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        contacts[0] += check_swap(trees[0], trees[0], &random, 0.5);
        contacts[1] += check_swap(trees[0], trees[1], &random, 0.5);
        contacts[2] += check_swap(trees[0], trees[3], &random, 0.5);
    }
    /* Refitted: to another shape, and back to an equal one. */
    abut_mesh *other = make_mesh(zero, -0.5);
    assert_ok(abut_bvh_set_mesh(trees[1], other));
    assert_true(abuti_patch_order(trees[0], trees[1]) != 0);
    assert_true(abuti_patch_order(trees[3], trees[1]) != 0);
    for (uint32_t round = 0; round < test_rounds(80); round++) {
        contacts[3] += check_swap(trees[0], trees[1], &random, 0.5);
        contacts[4] += check_swap(trees[1], trees[3], &random, 0.5);
    }
    assert_ok(abut_bvh_set_mesh(trees[1], mesh));
    assert_true(abuti_patch_order(trees[0], trees[1]) == 0);
    assert_ok(abut_bvh_set_mesh(trees[3], copy));
    assert_true(abuti_patch_order(trees[0], trees[3]) == 0);
    for (uint32_t round = 0; round < test_rounds(80); round++)
        contacts[5] += check_swap(trees[1], trees[3], &random, 0.5);
    for (int i = 0; i < 6; i++)
        assert_true(contacts[i] > 10);
    for (int i = 0; i < 4; i++)
        abut_bvh_destroy(trees[i]);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(copy);
    abut_mesh_destroy(moved);
    abut_mesh_destroy(bent);
    abut_mesh_destroy(other);
}

/* Copies of a box that are in different places by their coordinates, at the same pose. */
TEST(copies_in_other_places_have_an_order) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *plain, *meshes[2];
    abut_bvh *trees[2];
    static answer one, two;
    shape.segments = 1;
    assert_ok(abut_shape_create(NULL, &shape, &plain));
    const uint32_t count = abut_mesh_vertex_count(plain);
    abut_vec3 to[32];
    assert_true(count <= 32);
    for (int k = 0; k < 2; k++) {
        const double half = abut_mesh_bounds(plain).hi.x;
        for (uint32_t i = 0; i < count; i++)
            to[i] =
                v3_add(v3_add(abut_mesh_local_positions(plain)[i], abut_mesh_local_origin(plain)),
                       v3(8 + 2 * half * k * 0.96875, 8 + k * half, 8 + k * 0.25));
        meshes[k] =
            test_mesh(NULL, to, count, abut_mesh_indices(plain), abut_mesh_triangle_count(plain));
        assert_ok(abut_bvh_create(meshes[k], NULL, &trees[k]));
    }
    assert_memory_equal(meshes[0]->positions, meshes[1]->positions,
                        count * sizeof *meshes[0]->positions);
    const abut_collider a = abut_collider_from_bvh(trees[0], abut_pose_identity()),
                        b = abut_collider_from_bvh(trees[1], abut_pose_identity());
    find_contacts(&a, &b, &one);
    find_contacts(&b, &a, &two);
    assert_true(one.found.contacts.count > 0);
    assert_int_equal(one.found.contacts.count, two.found.contacts.count);
    for (uint64_t i = 0; i < one.found.contacts.count; i++) {
        const abut_contact *x = &one.contacts[i], *y = &two.contacts[i];
        assert_memory_equal(&x->point, &y->point, sizeof x->point);
        assert_true(x->depth == y->depth && (x->id ^ y->id) == (uint64_t)1 << 63);
    }
    for (int k = 0; k < 2; k++) {
        abut_bvh_destroy(trees[k]);
        abut_mesh_destroy(meshes[k]);
    }
    abut_mesh_destroy(plain);
}

int main(void) {
    return test_run(NULL, NULL);
}
