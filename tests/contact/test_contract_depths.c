/* The contract of contacts, rows d, e and f: depths are short, sufficient and continuous. See
 * contract.h. */
#include "contact/contract_run.h"

/* ---- d: shallow overlaps have shallow depths ---- */

TEST(d_shallow_overlaps_are_not_deep) {
    test_random random = {104};
    for (uint32_t i = 0; i < pose_count(400); i++) {
        abut_vec3 back;
        const question touch = find_touch(&random, &back);
        for (int k = 0; k < 4; k++) {
            const double w = random_log(&random, 1e-6, 0.05);
            const double margins[] = {0.0005, 0.005, 0.02};
            question q = moved_by(touch, -w, back);
            if (!overlaps(&q))
                continue;
            char note[128];
            double deepest = find_contacts(&q, &answers[0]);
            snprintf(note, sizeof note, "shift %.6g, depth %.6g", w, deepest);
            record("d-depth-ratio", deepest / w, &q, note);
            q.hint = back;
            deepest = find_contacts(&q, &answers[0]);
            snprintf(note, sizeof note, "shift %.6g, depth %.6g", w, deepest);
            record("d-depth-ratio-hint", deepest / w, &q, note);
            q.hint = v3(0, 0, 0);
            q.margin = margins[test_random_below(&random, 3)];
            deepest = find_contacts(&q, &answers[0]);
            snprintf(note, sizeof note, "shift %.6g, depth %.6g", w, deepest);
            record("d-depth-ratio-margin", deepest / w, &q, note);
        }
    }
    judge('d');
}

/* ---- e: what is said to separate separates ---- */

TEST(e_verified_depths_separate) {
    test_random random = {105};
    for (uint32_t i = 0; i < pose_count(250); i++) {
        const double margins[] = {0.0005, 0.005, 0.02};
        abut_vec3 back;
        question touch = find_touch(&random, &back), deep = random_question(&random);
        for (int k = 0; k < 3; k++) {
            question q = k < 2 ? moved_by(touch, -random_log(&random, 1e-6, 0.05), back)
                               : moved_by(deep, test_random_real(&random, 0, 0.5), back);
            if (!overlaps(&q))
                continue;
            if (k == 1)
                q.margin = margins[test_random_below(&random, 3)];
            char note[128];
            const double deepest = find_contacts(&q, &answers[0]);
            const bool separates = answers[0].found.is_verified;
            if (k < 2)
                record("e-shallow-not-separated", !separates, &q, NULL);
            else
                record("e-deep-not-separated", !separates, &q, NULL);
            if (!separates || answers[0].found.patches.count > 64)
                continue;
            snprintf(note, sizeof note, "%u patches, deepest %.6g",
                     (unsigned)answers[0].found.patches.count, deepest);
            record(k == 1 ? "e-shift-too-short-margin" : "e-shift-too-short",
                   measure_shortfall(&q, &answers[0]), &q, note);
        }
    }
    judge('e');
}

/* ---- f: depths are continuous ---- */

TEST(f_depths_change_as_bodies_move) {
    const double margins[] = {0, 0.005, 0.02}, step = 0.001, small_step = 1e-6, deep_end = 0.1;
    test_random random = {106};
    for (uint32_t i = 0; i < pose_count(24); i++) {
        abut_vec3 back;
        question q = find_touch(&random, &back);
        const abut_vec3 axis = random_direction(&random);
        const double share = test_random_real(&random, 0.5, 1);
        q.margin = margins[i % 3];
        q = moved_by(q, q.margin + 2 * step, back);
        double last = -INFINITY;
        for (int k = 0; k < 160 && last < deep_end; k++) {
            const double deepest = find_contacts(&q, &answers[0]);
            char note[128];
            snprintf(note, sizeof note, "depth %.9g after %.9g", deepest, last);
            if (deepest > -INFINITY && last > -INFINITY)
                record("f-change-per-motion", fabs(deepest - last) / step, &q, note);
            last = deepest;
            if (deepest > -INFINITY) {
                q.hint = deepest_normal(&answers[0]);
                if (k % 4 == 0) {
                    const question next = moved_on(q, small_step, share, random_direction(&random),
                                                   random_direction(&random));
                    const double then = find_contacts(&next, &answers[0]);
                    snprintf(note, sizeof note, "depth %.9g after %.9g", then, deepest);
                    if (then > -INFINITY)
                        record("f-change-per-small-motion", fabs(then - deepest) / small_step,
                               &next, note);
                }
            } else {
                q.hint = v3(0, 0, 0);
            }
            q = moved_on(q, step, share, v3_scale(back, -1), axis);
        }
    }
    judge('f');
}

int main(int argc, char **argv) {
    return run_contract("def", argc, argv);
}
