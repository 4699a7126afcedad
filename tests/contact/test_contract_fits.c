/* The contract of contacts, rows c and i: every wall of bodies that fit into each other has a
 * contact with its own depth. See contract.h. */
#include "contact/contract_run.h"

/* ---- c: every wall has its contact ---- */

/* The known gaps are right: the least of them is the distance, except that a gap is measured along
 * the normal of the wall and the distance along that of a tilted face. */
static void check_gaps(const fit *f, const abut_pose *local, const abut_pose *world) {
    const question q = fit_question(f, local, world, 0, false);
    double gap = INFINITY;
    for (uint32_t i = 0; i < f->wall_count; i++)
        gap = real_min(gap, measure_gap(f, &f->walls[i], local));
    assert_true(fabs(gap - measure_distance(&q)) < 1e-3 * gap + 1e-13);
}

static void check_walls(const fit *f, const abut_pose *local, const abut_pose *world, double margin,
                        bool swapped, const char *measure_name) {
    const question q = fit_question(f, local, world, margin, swapped);
    find_contacts(&q, &answers[0]);
    for (uint32_t i = 0; i < f->wall_count; i++) {
        const double gap = measure_gap(f, &f->walls[i], local);
        if (gap > 0.95 * margin || (margin == 0 && gap > -1e-6))
            continue;
        const double got = deepest_at_wall(&f->walls[i], world, swapped, &answers[0]);
        const double scale = real_max(margin, -gap);
        const double error = got == -INFINITY ? 10 : real_min(fabs(got + gap) / scale, 1000);
        char note[128];
        snprintf(note, sizeof note, "wall (%g %g %g): gap %.6g, depth %.6g", f->walls[i].normal.x,
                 f->walls[i].normal.y, f->walls[i].normal.z, gap, got);
        record(measure_name, error, &q, note);
    }
}

TEST(c_every_wall_within_the_margin_has_a_contact) {
    const double margins[] = {0, 0.0005, 0.001, 0.005, 0.02};
    const double clearances[] = {0.0005, 0.002, 0.005, 0.02};
    test_random random = {103};
    for (uint32_t i = 0; i < pose_count(225); i++) {
        const double clearance = clearances[test_random_below(&random, 4)];
        const fit_kind kind = (fit_kind)test_random_below(&random, FIT_KINDS);
        const fit *f = find_fit(kind, clearance, (int)test_random_below(&random, 3));
        const abut_pose world = random_world(&random);
        const double margin = margins[test_random_below(&random, 5)];
        const bool swapped = test_random_below(&random, 4) == 0;
        const double press = random_log(&random, 1e-5, 2e-3);
        const abut_pose loose = random_fit(&random, f, 0), pressed = random_fit(&random, f, press);
        check_gaps(f, &loose, &world);
        if (margin > 0)
            check_walls(f, &loose, &world, margin, swapped, "c-free-wall-error");
        check_walls(f, &pressed, &world, margin, swapped, "c-pressed-wall-error");
    }
    judge('c');
}

/* ---- i: pegs and holes ---- */

/* A peg that is free, pressed into one side, or pressed by all sides. Depths are those of its walls
 * and nothing else, and every wall within the margin is reported. */
static void check_peg(const fit *f, const abut_pose *local, const abut_pose *world, double margin,
                      abut_vec3 hint) {
    question q = fit_question(f, local, world, margin, false);
    q.hint = hint;
    const double deepest = find_contacts(&q, &answers[0]);
    double depth = -INFINITY; /* the true one */
    for (uint32_t i = 0; i < f->wall_count; i++)
        depth = real_max(depth, -measure_gap(f, &f->walls[i], local));
    char note[128];
    snprintf(note, sizeof note, "true depth %.6g, deepest %.6g, clearance %g", depth, deepest,
             f->clearance);
    if (depth > 0)
        record("i-pressed-excess", (deepest - depth) / real_max(depth, 0.001), &q, note);
    else if (deepest > -INFINITY)
        record("i-free-depth", deepest + measure_distance(&q), &q, note);
    for (uint32_t i = 0; i < f->wall_count; i++) {
        const double gap = measure_gap(f, &f->walls[i], local);
        if (gap > 0.95 * margin || (margin == 0 && gap > -1e-6))
            continue;
        const bool found = deepest_at_wall(&f->walls[i], world, false, &answers[0]) > -INFINITY;
        snprintf(note, sizeof note, "gap %.6g, %u contacts", gap,
                 (unsigned)answers[0].found.contacts.count);
        record(f->clearance > 0 ? "i-walls-missing" : "i-press-fit-walls-missing", !found, &q,
               note);
    }
}

TEST(i_pegs_in_holes_have_the_depths_of_their_walls) {
    const double clearances[] = {0.02, 0.01, 0.001, 0, -0.0005};
    const double margins[] = {0, 0.0005, 0.005, 0.02};
    test_random random = {109};
    for (int c = 0; c < 5; c++)
        for (int s = 0; s < 3; s++) {
            const fit *f = find_fit(c == 2 && s == 2 ? PLUG : HOLE, clearances[c], s);
            for (uint32_t i = 0; i < pose_count(20); i++) {
                const double margin = margins[i % 4];
                const abut_pose world = random_world(&random);
                const mat3 turn = quat_matrix(world.rotation);
                const abut_vec3 hint =
                    i % 8 < 4 ? v3(0, 0, 0) : m3_apply(&turn, v3(i % 16 < 8, i % 16 >= 8, 0));
                if (f->clearance > 0) {
                    const abut_pose loose = random_fit(&random, f, 0);
                    check_peg(f, &loose, &world, margin, hint);
                }
                const double press = 0.0005 + real_max(0.5 * f->clearance, -f->clearance);
                const abut_pose pressed = random_fit(&random, f, press);
                check_peg(f, &pressed, &world, margin, hint);
                if (f->clearance <= 0) { /* pressed by all sides alike */
                    check_peg(f, &f->at, &world, margin, hint);
                }
            }
        }
    judge('i');
}

int main(int argc, char **argv) {
    return run_contract("ci", argc, argv);
}
