/* Contacts of solids from step to step: ids last while bodies tremble, are unique and do not depend
 * on the order of the bodies, and stacks come to rest with them. */
#include "contact/resting_solver.h"

/* ---- ids ---- */

typedef struct kept_ids {
    uint64_t kept, seen;
} kept_ids;

static abut_pose trembling(test_random *random, abut_pose at, double most) {
    double *q = &at.rotation.x, *t = &at.translation.x;
    quat turn = {test_random_real(random, -.5, .5) * most, test_random_real(random, -.5, .5) * most,
                 test_random_real(random, -.5, .5) * most, 1};
    at.rotation = quat_multiply(turn, (quat){q[0], q[1], q[2], q[3]});
    for (int k = 0; k < 3; k++)
        t[k] += test_random_real(random, -most, most);
    return at;
}

/* The contacts of a pair, each id once; the other way round the same with sides exchanged. */
static uint32_t contacts_of(const abut_collider *a, const abut_collider *b, double margin,
                            uint64_t ids[8]) {
    abut_contact first[8];
    abut_patches found = find_solid_patches(a, b, margin);
    uint32_t count = (uint32_t)found.contacts.count;
    assert_true(count <= 8);
    memcpy(first, contacts, count * sizeof *first);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = first[i].id;
        for (uint32_t k = 0; k < i; k++)
            assert_true(ids[k] != ids[i]);
    }
    found = find_solid_patches(b, a, margin);
    assert_int_equal(found.contacts.count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(contacts[i].id == (first[i].id ^ (uint64_t)1 << 63));
        assert_true(contacts[i].side != first[i].side && contacts[i].element == first[i].element &&
                    contacts[i].part == first[i].part && contacts[i].depth == first[i].depth);
    }
    return count;
}

static void count_kept(const uint64_t *before, uint32_t before_count, const uint64_t *after,
                       uint32_t after_count, kept_ids *sum) {
    for (uint32_t i = 0; i < after_count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < before_count; k++)
            known |= before[k] == after[i];
        sum->kept += known;
        sum->seen++;
    }
}

static kept_ids tremble(test_random *random, const abut_collider *a, const abut_collider *b,
                        double margin, double most, uint32_t steps) {
    kept_ids sum = {0, 0};
    uint64_t ids[2][8];
    uint32_t count[2] = {0, 0};
    for (uint32_t step = 0; step < steps; step++) {
        abut_collider moved = *a;
        uint32_t now = step % 2;
        moved.pose = trembling(random, a->pose, most);
        count[now] = contacts_of(&moved, b, margin, ids[now]);
        if (step)
            count_kept(ids[!now], count[!now], ids[now], count[now], &sum);
    }
    return sum;
}

/* What stands on a flat end: the kind of body, and half of its height. */
static abut_collider standing_solid(int kind, double *half) {
    static abut_bvh *cube;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(1, 1, 1);
    shape.segments = 1;
    cube = cube ? cube : tree_of(NULL, &shape);
    *half = kind == 2 ? .6 : .5;
    switch (kind) {
    case 0:
        return box_solid(.5, .5, .5, shifted(0, 0, 0));
    case 1:
        return (abut_collider){.kind = ABUT_COLLIDER_HULL,
                               .pose = shifted(0, 0, 0),
                               .shape.hull = cube};
    case 2:
        return (abut_collider){.kind = ABUT_COLLIDER_HULL,
                               .pose = shifted(0, 0, 0),
                               .shape.hull = hulls[2]};
    case 3:
        return box_solid(4, 3, .5, shifted(0, 0, 0));
    case 4:
        return (abut_collider){.kind = ABUT_COLLIDER_CYLINDER,
                               .pose = shifted(0, 0, 0),
                               .shape.cylinder = {{{0, 0, -.5}, {0, 0, .5}}, .5}};
    default:
        *half = 0;
        return (abut_collider){.kind = ABUT_COLLIDER_PLANE, .shape.plane = {{0, 0, 1}, 0}};
    }
}

TEST(ids_last_while_bodies_tremble) {
    make_hulls();
    test_random random = {23};
    const double offsets[] = {0, .001, .3}, angles[] = {0, .003, .2, .7853981633974483};
    const double motions[] = {1e-7, 1e-4}, wanted[] = {.999, .99};
    for (int upper = 0; upper < 5; upper++)
        for (int lower = 0; lower < 6; lower++)
            for (int m = 0; m < 2; m++)
                for (int o = 0; o < 3; o++)
                    for (int turn = 0; turn < 4; turn++) {
                        double half[2];
                        abut_collider a = standing_solid(upper, &half[0]),
                                      b = standing_solid(lower, &half[1]);
                        a.pose =
                            (abut_pose){{0, 0, sin(.5 * angles[turn]), cos(.5 * angles[turn])},
                                        {offsets[o], .7 * offsets[o], half[0] + half[1] - .0005}};
                        kept_ids sum = tremble(&random, &a, &b, .005, motions[m], test_rounds(400));
                        if (!((double)sum.kept >= wanted[m] * (double)sum.seen))
                            fail_msg("%d on %d, offset %g, angle %g, motion %g: %g of ids kept",
                                     upper, lower, offsets[o], angles[turn], motions[m],
                                     (double)sum.kept / (double)sum.seen);
                    }
}

/* Boxes and hulls in random poses, up to 0.02 deep. Where they are deep in each other and several
 * shifts are as short, the choice may change with each motion: a hint is for that. */
TEST(random_ids_last) {
    make_hulls();
    test_random random = {29};
    const double motions[] = {1e-7, 1e-4}, wanted[] = {.999, .99};
    for (int m = 0; m < 2; m++) {
        kept_ids sum = {0, 0};
        while (sum.seen < 20 * test_rounds(2000)) {
            abut_collider pair[2];
            for (int k = 0; k < 2; k++)
                pair[k] = random_solid(&random, test_random_below(&random, 2) ? ABUT_COLLIDER_BOX
                                                                              : ABUT_COLLIDER_HULL);
            abut_patches found = find_solid_patches(&pair[0], &pair[1], 0);
            if (!found.patches.count)
                continue;
            double back = list[0].depth - test_random_real(&random, 0, .02);
            pair[0].pose.translation = v3_along(pair[0].pose.translation, back, list[0].normal);
            kept_ids here = tremble(&random, &pair[0], &pair[1],
                                    test_random_below(&random, 2) ? .005 : 0, motions[m], 4);
            sum.kept += here.kept;
            sum.seen += here.seen;
        }
        if (!((double)sum.kept >= wanted[m] * (double)sum.seen))
            fail_msg("motion %g: %g of ids kept", motions[m], (double)sum.kept / (double)sum.seen);
    }
}

/* ---- rest ---- */

enum { STACK = 10, STEPS = 1200, FALLING_STEPS = 120, QUIET_STEPS = 60 };

/* Cubes of 1 kg on a floor, put down a little above each other, aside and turned. */
static void stack_cubes(rest_scene *s, int kind, double turned, double aside) {
    test_random random = {31};
    double half;
    *s = (rest_scene){.body_count = STACK + 1};
    s->body[0].solid = box_solid(1.5, 1.2, .5, shifted(.13, .07, -.5));
    for (uint32_t i = 1; i < s->body_count; i++) {
        rest_body *b = &s->body[i];
        double turn = .5 * test_random_real(&random, -turned, turned);
        b->solid = standing_solid(kind, &half);
        b->solid.pose = (abut_pose){{0, 0, sin(turn), cos(turn)},
                                    {test_random_real(&random, -aside, aside),
                                     test_random_real(&random, -aside, aside), i - .5 + .0002 * i}};
        b->inverse_mass = 1;
        b->inverse_inertia = 6;
    }
}

/* As boxes and as hulls: aligned, turned by angles within and beyond the radius in which vertices
 * coincide. */
TEST(stacks_come_to_rest) {
    make_hulls();
    const double turns[] = {0, .004, .1, .8};
    for (int kind = 0; kind < 2; kind++)
        for (int t = 0; t < 4; t++) {
            if (!test_thorough() && (kind + t) % 2)
                continue;
            static rest_scene s;
            int quiet = 0; /* steps in a row below 1e-9 J */
            stack_cubes(&s, kind, turns[t], t ? .01 : 0);
            for (int step = 0; step < STEPS && quiet < QUIET_STEPS; step++) {
                if (step == FALLING_STEPS)
                    s.ids_kept = s.ids_seen = 0;
                rest_advance(&s);
                quiet = rest_energy(&s) < 1e-9 ? quiet + 1 : 0;
            }
            if (quiet < QUIET_STEPS || s.ids_kept < s.ids_seen)
                fail_msg("%s, turned by up to %g: %g J, %llu of %llu ids kept",
                         abut_collider_kind_name(s.body[1].solid.kind), turns[t], rest_energy(&s),
                         (unsigned long long)s.ids_kept, (unsigned long long)s.ids_seen);
            for (uint32_t i = 1; i < s.body_count; i++) /* stands */
                assert_close(s.body[i].solid.pose.translation.z, i - .5, .01);
        }
}
