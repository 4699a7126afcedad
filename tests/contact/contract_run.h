/* Command-line arguments of the programs of the contract: single rows, and results of single
 * poses. */
#ifndef ABUT_TESTS_CONTACT_CONTRACT_RUN_H
#define ABUT_TESTS_CONTACT_CONTRACT_RUN_H

#include "contact/contract_fits.h"
#include "contact/contract_shift.h"

static inline const model *find_sheet(uint32_t k) {
    static model sheets[2];
    if (!sheets[0].bvh) {
        sheets[0] = shape_model("sheet", ABUT_SHAPE_SHEET, 8, 8, 0, 1);
        sheets[1] = shape_model("small-sheet", ABUT_SHAPE_SHEET, 2, 2, 0, 0.1);
    }
    return &sheets[k];
}

static inline const model *find_model(const char *name) {
    test_random random = {0};
    random_model(&random);
    for (uint32_t i = 0; i < model_count; i++)
        if (!strcmp(models[i].name, name))
            return &models[i];
    for (uint32_t k = 0; k < 2; k++)
        if (!strcmp(find_sheet(k)->name, name))
            return find_sheet(k);
    for (int k = 0; k < FIT_KINDS; k++) { /* as make_fit() names them */
        const bool is_inner = !strncmp(name, "in:", 3);
        const char *rest = is_inner ? name + 3 : name;
        const size_t length = strlen(fit_name[k]);
        if (strncmp(rest, fit_name[k], length) || rest[length] != ':')
            continue;
        char *end = (char *)rest + length;
        const double clearance = is_inner ? 0.01 : strtod(end + 1, &end);
        const fit *f = find_fit((fit_kind)k, clearance, (int)strtol(end + 1, NULL, 10));
        return is_inner ? &f->inner : &f->around;
    }
    static model others[2];
    model *other = &others[others[0].bvh != NULL];
    *other = scene_model(name);
    if (!other->bvh)
        fail_msg("there is no model '%s'", name);
    return other;
}

static inline abut_pose read_pose(char **text) {
    double x[7];
    for (int i = 0; i < 7; i++)
        x[i] = strtod(text[i], NULL);
    return (abut_pose){{x[3], x[4], x[5], x[6]}, {x[0], x[1], x[2]}};
}

/* MODEL_A MODEL_B MARGIN, two poses, and a hint or none. */
static inline question read_question(int count, char **text) {
    question q = {.a = find_model(text[0]), .b = find_model(text[1])};
    q.margin = strtod(text[2], NULL);
    q.pose_a = read_pose(text + 3);
    q.pose_b = read_pose(text + 10);
    if (count == 20)
        q.hint = v3(strtod(text[17], NULL), strtod(text[18], NULL), strtod(text[19], NULL));
    return q;
}

static inline int show_pose(int count, char **text) {
    if (count != 17 && count != 20) {
        fprintf(stderr, "pose: MODEL_A MODEL_B MARGIN, two poses of x y z qx qy qz qw, and a hint "
                        "of x y z or none\n");
        return 2;
    }
    const question q = read_question(count, text);
    printf("%s, distance %.17g\n", overlaps(&q) ? "touching" : "apart", measure_distance(&q));
    find_contacts(&q, &answers[0]);
    const abut_patches *f = &answers[0].found;
    printf("%u patches, separates %d, %s\n", (unsigned)f->patches.count, f->is_verified,
           abut_reliability_level_name(f->reliability.level));
    for (uint64_t i = 0; i < f->patches.count; i++) {
        const abut_patch *p = &f->patches.list[i];
        printf("patch %u: depth %.9g normal %.6f %.6f %.6f centre %.6f %.6f %.6f area %.6g volume "
               "%.6g\n",
               (unsigned)i, p->depth, p->normal.x, p->normal.y, p->normal.z, p->centre.x,
               p->centre.y, p->centre.z, p->area, p->volume);
        for (uint64_t k = p->first; k < p->first + p->count; k++) {
            const abut_contact *c = &f->contacts.list[k];
            printf("  depth %.9g normal %.6f %.6f %.6f point %.9f %.9f %.9f id %016llx\n", c->depth,
                   c->normal.x, c->normal.y, c->normal.z, c->point.x, c->point.y, c->point.z,
                   (unsigned long long)c->id);
        }
    }
    abut_vec3 v;
    if (f->patches.count && f->patches.count <= 64) {
        if (find_joint_shift(&answers[0], &v))
            printf("joint shift %.9g: %.9f %.9f %.9f, lacks %g\n", v3_length(v), v.x, v.y, v.z,
                   measure_shortfall(&q, &answers[0]));
        else
            printf("no shift satisfies all patches\n");
    }
    return 0;
}

/* Runs the tests of the rows that a program has, or shows a pose. */
static inline int run_contract(const char *rows, int argc, char **argv) {
    const char *print = getenv("ABUT_TEST_PRINT");
    const char *goals = getenv("ABUT_TEST_GOALS");
    prints = (print && print[0]) || argc > 1;
    uses_goals = (goals && goals[0]) || argc > 1;
    if (argc > 1 && !strcmp(argv[1], "pose"))
        return show_pose(argc - 2, argv + 2);
    if (argc > 1 && (!argv[1][0] || !strchr(rows, argv[1][0]))) {
        fprintf(stderr, "%s: has rows %s, not %s; see tests/contact/contract.h\n", argv[0], rows,
                argv[1]);
        return 2;
    }
    if (argc > 1) {
        static char pattern[16]; /* cmocka keeps the pointer */
        snprintf(pattern, sizeof pattern, "%.1s_*", argv[1]);
        cmocka_set_test_filter(pattern);
        pose_factor = argc > 2 ? strtod(argv[2], NULL) : 1;
    }
    return test_run(NULL, NULL);
}

#endif
