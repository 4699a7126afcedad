/* The contract of contacts, rows a, b, j and v: bodies that touch have contacts, gaps are
 * distances, results are valid. See contract.h. */
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
        const bool none = !answers[0].found.contacts.count;
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
        record("j-flush-without-contact", !answers[0].found.contacts.count, &q, NULL);
        for (uint64_t k = 0; k < answers[0].found.contacts.count; k++)
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

/* ---- k: poses of other seeds ---- */

typedef struct kept_pose {
    const char *text; /* as a row prints it */
    uint32_t count;   /* patches, at least */
    double deepest;   /* at most */
    bool separates;   /* it must */
} kept_pose;

/* Each missed a wall, or had a depth that was far too large. */
static const kept_pose kept_poses[] = {
    {"in:hole:2 hole:0:2 0 -1.9323697119231695 0.11871281820048225 "
     "-1.3077487924349778 0.27575225180843288 -0.63119611057066338 "
     "-0.2259188210524255 -0.68884893258052404 -1.9398245553292175 "
     "0.11228813093760559 -1.3084253543833939 0.27586875281734774 "
     "-0.63107710194682498 -0.22591347732610972 -0.688913073892362 "
     "-0.65945840228819907 0.74571906396285281 -0.094961535865120295",
     3, 0.000339, false},
    {"in:hole:0 hole:0:0 0 0.00011134958294298572 -0.00014652777591816693 "
     "-0.031456597454988341 -0.00010796108630789519 5.4406258660360323e-05 "
     "-0.00013441322032943509 0.99999998365872433 0 0 0 0 0 0 1 0 1 0",
     4, 0.000318, false},
    {"in:hole:0 hole:0:0 0 -1.0924468080331013 0.85761805490908516 "
     "1.4220477876374047 0.39430777556212804 -0.78184108599632829 "
     "-0.45322599308624095 -0.16682953446653004 -1.0965236604519659 "
     "0.89265293305965887 1.4001451553793016 0.39426806964132644 "
     "-0.78192085609351691 -0.4531773809901421 -0.16668150895105144",
     3, 0.000374, false},
    {"in:hole:0 hole:0:0 0 0.00021839660635919705 -9.8052235131066204e-05 "
     "-0.036362068650230533 -1.0813179710805524e-05 0.00014057876126375687 "
     "-0.00018614821924916656 0.99999997273476338 0 0 0 0 0 0 1",
     4, 0.000467, false},
    {"in:hole:2 hole:0:2 0 -1.7214678117592914 -0.76316115495406756 "
     "-0.098858085047621766 0.47562175035589938 0.62207955279826266 "
     "-0.46010240376854955 -0.41845759477527306 -1.6848172088304696 "
     "-0.756349908095026 -0.09020424208038369 0.4756416991859756 "
     "0.62201040067013125 -0.46006795225954722 -0.41857557830978098",
     4, 0.00028, false},
    {"in:plug:0 plug:0.00050000000000000001:0 0.02 -0.00095386929542435705 "
     "-0.00047609381961835617 0.098405141838342633 0.99999993362693984 "
     "-0.00016719465182406823 -0.00030808776899034982 -9.9367956180577735e-05 0 0 "
     "0 0 0 0 1",
     8, 0.000916, true},
    {"tray:0.00050000000000000001:0 in:tray:0 0.00050000000000000001 "
     "1.7500638768866104 0.50141381567670695 0.35119182309533326 "
     "-0.62226929762440508 0.35809373692493734 -0.50821884634731895 "
     "-0.47567152639879923 1.8957227770750098 0.023792350675018614 "
     "0.33566186966385847 -0.62232178102987845 0.35814254663954703 "
     "-0.50865758704898234 -0.47509680727178816",
     5, 0.000961, false},
    {"in:plug:2 plug:0.001:2 0 0.00053800320386197201 -0.00162612489722948 "
     "0.094802968004494781 0.99999981516441228 -0.00024470142689785116 "
     "0.00052188341441704149 -0.00019346848566857374 0 0 0 0 0 0 1 1 0 0",
     4, 0.000966, true},
    {"in:plug:2 plug:0.001:2 0 0.93087321335623308 0.020896141162246445 "
     "1.8495728320994187 0.12058059334242525 -0.4809113457669274 "
     "0.53820418832469719 -0.68155766424535591 1.0051088475046259 "
     "-0.010625603800689554 1.897421579962232 0.68152263559575676 "
     "-0.53859403720636922 -0.48050885717016412 0.12064244044854328",
     3, 0.000922, true},
    {"in:tray:1 tray:0.00050000000000000001:1 0 0.00029219710822731546 "
     "0.00045140503569806169 0.50139043101389102 0.00039892195318538278 "
     "-2.2527559646707547e-05 -0.00018742034978543439 0.99999990261369354 0 0 0 0 "
     "0 0 1",
     2, 0.000543, false},
    {"peg-plate teapot 0 -2.0996796682477927 -0.64038835659671722 "
     "2.4025013790065892 0.16273065036323053 -0.41183296990259982 "
     "0.8694550527545295 0.21899829125630779 -2.3946488276468996 "
     "-0.033187990251133392 2.8408284442544325 -0.13503024377904271 "
     "0.47141662053456429 -0.86812753978844259 0.076731856549995356",
     1, 0.0167, true},
};

TEST(k_poses_of_other_seeds) {
    for (size_t i = 0; i < sizeof kept_poses / sizeof *kept_poses; i++) {
        const kept_pose *kept = &kept_poses[i];
        char text[1024], *word[24];
        int count = 0;
        snprintf(text, sizeof text, "%s", kept->text);
        for (char *w = strtok(text, " "); w && count < 24; w = strtok(NULL, " "))
            word[count++] = w;
        const question q = read_question(count, word);
        const double deepest = find_contacts(&q, &answers[0]);
        if (answers[0].found.patches.count < kept->count || deepest > kept->deepest ||
            (kept->separates && !answers[0].found.is_verified))
            fail_msg("pose %u: %u patches, deepest %g, separates %d", (unsigned)i,
                     (unsigned)answers[0].found.patches.count, deepest,
                     answers[0].found.is_verified);
    }
}

int main(int argc, char **argv) {
    return run_contract("abjv", argc, argv);
}
