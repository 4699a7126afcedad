/* The contract of contacts, rows a, b, j and v: bodies that touch have contacts, gaps are
 * distances, answers are valid. See contract.h. */
#include "contact/contract_run.h"

/* ---- a: nothing is missed ---- */

/* Measures: overlapping without a contact, near without one, and beyond the margin with one. */
static void check_presence(question q, const char *const names[3]) {
    const double margins[] = {0, 0.0005, 0.005, 0.05, 0.3};
    const double distance = measure_distance(&q);
    for (int k = 0; k < 5; k++) {
        q.margin = margins[k];
        if (k && distance > 2 * q.margin)
            continue;
        find_contacts(&q, &answers[0]);
        const bool none = !answers[0].found.contact_count;
        if (distance == 0)
            record(names[0], none, &q, NULL);
        else if (distance < q.margin * (1 - 1e-9))
            record(names[1], none, &q, NULL);
        else if (distance > q.margin)
            record(names[2], none ? 0 : distance - q.margin, &q, NULL);
        if (distance == 0 && k == 2)
            break;
    }
}

/* Bodies apart have no depth without a margin, whatever the hint is. */
static void check_hint_of_apart(question q, abut_vec3 hint) {
    q.hint = hint;
    const double deepest = find_contacts(&q, &answers[0]);
    if (measure_distance(&q) > 0)
        record("a-depth-of-apart-with-hint", real_max(deepest, 0), &q, NULL);
}

TEST(a_overlapping_and_near_bodies_have_contacts) {
    static const char *const names[] = {"a-overlap-without-contact", "a-near-without-contact",
                                        "a-contact-beyond-margin"};
    test_random random = {101};
    for (uint32_t i = 0; i < pose_count(120); i++) {
        abut_vec3 back;
        const question touch = find_touch(&random, &back);
        check_presence(moved_by(touch, -random_log(&random, 1e-13, 0.05), back), names);
        check_presence(moved_by(touch, random_log(&random, 1e-9, 0.3), back), names);
        for (int k = 0; k < 4; k++)
            check_hint_of_apart(moved_by(touch, random_log(&random, 1e-12, 1e-5), back),
                                k ? random_direction(&random) : v3_scale(back, -1));
        question deep = random_question(&random); /* also one inside the other */
        check_presence(moved_by(deep, test_random_real(&random, 0, 0.5), back), names);
    }
    judge('a');
}

/* ---- b: gaps are distances ---- */

TEST(b_the_nearest_gap_is_the_distance) {
    test_random random = {102};
    for (uint32_t i = 0; i < pose_count(250); i++) {
        abut_vec3 back;
        const question touch = find_touch(&random, &back);
        for (int k = 0; k < 4; k++) {
            const double margin = random_log(&random, 1e-3, 0.5);
            question q = moved_by(touch, margin * test_random_real(&random, 0, 1), back);
            const double distance = measure_distance(&q);
            q.margin = margin;
            if (distance == 0 || distance > margin)
                continue;
            char note[128];
            const double deepest = find_contacts(&q, &answers[0]);
            snprintf(note, sizeof note, "distance %.9g, deepest %.9g", distance, deepest);
            record("b-deepest-error", fabs(deepest + distance), &q, note);
        }
    }
    judge('b');
}

/* ---- j: sheets ---- */

/* Open surfaces as a: nothing is inside them, but contacts are not missed either. */
TEST(j_sheets_have_contacts) {
    static const char *const names[] = {"j-overlap-without-contact", "j-near-without-contact",
                                        "j-contact-beyond-margin"};
    test_random random = {111};
    for (uint32_t i = 0; i < pose_count(60); i++) {
        abut_vec3 back;
        const model *a = find_sheet(i % 2);
        const question touch = find_touch_of(&random, a, &back);
        check_presence(moved_by(touch, -random_log(&random, 1e-9, 0.05), back), names);
        check_presence(moved_by(touch, random_log(&random, 1e-9, 0.3), back), names);
        const question deep = random_question_of(&random, a);
        check_presence(moved_by(deep, test_random_real(&random, 0, 0.5), back), names);
    }
    /* flush on the top of a cube, whichever way it faces: contacts push it off */
    const model *cube = &models[1];
    assert_string_equal(cube->name, "coarse-cube");
    for (uint32_t i = 0; i < pose_count(64); i++) {
        const double gaps[] = {0, 1e-14, -1e-14, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6};
        const abut_pose world = random_world(&random);
        const mat3 turn = quat_matrix(world.rotation);
        const bool is_flipped = i / 16 % 2;
        abut_pose local = {{is_flipped, 0, 0, !is_flipped}, {0.1, 0.2, 0.5 + gaps[i % 8]}};
        question q = {.a = find_sheet(i / 8 % 2), .b = cube, .pose_b = world};
        assert_ok(abut_pose_compose(&world, &local, &q.pose_a));
        q.margin = 0.005;
        find_contacts(&q, &answers[0]);
        record("j-flush-without-contact", !answers[0].found.contact_count, &q, NULL);
        for (uint64_t k = 0; k < answers[0].found.contact_count; k++)
            record("j-flush-normal-reversed",
                   v3_dot(answers[0].contacts[k].normal, m3_apply(&turn, v3(0, 0, 1))) < 0, &q,
                   NULL);
    }
    judge('j');
}

/* ---- v: all answers are ones that a solver can work with ---- */

TEST(v_answers_are_valid) {
    test_random random = {110};
    for (uint32_t i = 0; i < pose_count(100); i++) {
        question q = random_question(&random);
        q.margin = random_log(&random, 1e-4, 0.5);
        q = moved_by(q, test_random_real(&random, 0, 1.2), random_direction(&random));
        find_contacts(&q, &answers[0]);
    }
    judge('v');
}

int main(int argc, char **argv) {
    return run_contract("abjv", argc, argv);
}
