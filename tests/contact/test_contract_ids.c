/* The contract of contacts, rows g and h: contacts keep their ids, and results do not depend on
 * order and position. See contract.h. */
#include "contact/contract_run.h"

/* ---- g: contacts keep their ids ---- */

/* Turns a model so that a face of its convex hull, chosen by area, faces `down`. */
static abut_pose resting_pose(test_random *random, const model *m, abut_vec3 down) {
    const abut_mesh *mesh = abut_bvh_mesh(m->bvh);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *points = malloc(count * sizeof *points), normal = v3(0, 0, 1);
    abut_mesh *hull;
    assert_non_null(points);
    assert_ok(abut_mesh_get_positions(mesh, points));
    assert_ok(abut_mesh_create_hull(NULL, points, count, &hull));
    double sum = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(hull); i++) { /* reservoir of one */
        const uint32_t *corner = abut_mesh_indices(hull) + 3 * i;
        const abut_vec3 *p = abut_mesh_local_positions(hull);
        const abut_vec3 area =
            v3_cross(v3_sub(p[corner[1]], p[corner[0]]), v3_sub(p[corner[2]], p[corner[0]]));
        const double size = v3_length(area);
        sum += size;
        if (size > 0 && test_random_real(random, 0, sum) <= size)
            normal = v3_scale(area, 1 / size);
    }
    abut_mesh_destroy(hull);
    free(points);
    /* the rotation of the normal to `down`, then any about it */
    abut_pose tilt, spin;
    const abut_vec3 across = v3_cross(normal, down);
    const double angle = atan2(v3_length(across), v3_dot(normal, down));
    const abut_vec3 axis = v3_length(across) > 1e-9 ? across : v3_cross(down, v3(0.6, 0.48, 0.64));
    assert_ok(abut_pose_from_axis_angle(axis, angle, v3(0, 0, 0), &tilt));
    const double turn = test_random_below(random, 3) ? test_random_real(random, 0, 2 * PI) : 0;
    assert_ok(abut_pose_from_axis_angle(down, turn, v3(0, 0, 0), &spin));
    assert_ok(abut_pose_compose(&spin, &tilt, &tilt));
    return tilt;
}

/* A model on a floor or on another model, flat face to flat face, w deep. */
static question find_rest(test_random *random, double w) {
    static model ground;
    const abut_vec3 up = v3(0, 0, 1), down = v3(0, 0, -1);
    if (!ground.bvh) {
        ground = box_model("ground", 4, 4, 0.5, 4);
    }
    for (;;) {
        question q = {.a = random_model(random), .b = random_model(random)};
        if (test_random_below(random, 2))
            q.b = &ground;
        q.pose_a = resting_pose(random, q.a, down);
        q.pose_b = q.b == &ground ? abut_pose_identity() : resting_pose(random, q.b, up);
        q.pose_a.translation.x = test_random_real(random, -0.2, 0.2);
        q.pose_a.translation.y = test_random_real(random, -0.2, 0.2);
        double lo = 0, hi = q.a->radius + q.b->radius + 0.1;
        const question start = moved_by(q, lo, up), end = moved_by(q, hi, up);
        if (!overlaps(&start) || overlaps(&end))
            continue;
        for (int k = 0; k < 48; k++) {
            const double middle = 0.5 * (lo + hi);
            const question at = moved_by(q, middle, up);
            if (overlaps(&at))
                lo = middle;
            else
                hi = middle;
        }
        return moved_by(q, hi - w, up);
    }
}

static double share_of_ids_lost(const abut_patches *was, const abut_patches *is) {
    uint64_t lost = 0;
    for (uint64_t i = 0; i < was->contacts.count; i++) {
        bool kept = false;
        for (uint64_t k = 0; k < is->contacts.count && !kept; k++)
            kept = was->contacts.list[i].id == is->contacts.list[k].id;
        lost += !kept;
    }
    return was->contacts.count ? (double)lost / (double)was->contacts.count : 0;
}

static void check_ids(question q, test_random *random, double motion, const char *measure_name) {
    find_contacts(&q, &answers[0]);
    if (!answers[0].found.contacts.count)
        return;
    q.hint = deepest_normal(&answers[0]);
    q = moved_on(q, motion, 0.5, random_direction(random), random_direction(random));
    find_contacts(&q, &answers[1]);
    char note[128];
    snprintf(note, sizeof note, "%u contacts, then %u", (unsigned)answers[0].found.contacts.count,
             (unsigned)answers[1].found.contacts.count);
    record(measure_name, share_of_ids_lost(&answers[0].found, &answers[1].found), &q, note);
}

/* Boxes and hulls as solids, one on the other. */
static void check_solid_ids(test_random *random, const model *hull, double motion,
                            const char *measure_name) {
    abut_patch_options options = abut_patch_options_default();
    const double asides[] = {0, 0.003, 0.3};
    const double aside = asides[test_random_below(random, 3)];
    question q = {.a = hull, .b = hull, .pose_b = {{0, 0, 0, 1}, {0, 0, 0}}};
    q.pose_a = (abut_pose){{0, 0, 0, 1}, {aside, 0.5 * aside, 1 - random_log(random, 5e-4, 2e-3)}};
    options.margin = q.margin = test_random_below(random, 2) ? 0.005 : 0;
    const bool is_hull = test_random_below(random, 2);
    for (int k = 0; k < 2; k++) {
        abut_collider solids[2];
        for (int i = 0; i < 2; i++) {
            solids[i] = (abut_collider){.kind = ABUT_COLLIDER_BOX, .shape.half = {0.5, 0.5, 0.5}};
            if (is_hull)
                solids[i] = (abut_collider){.kind = ABUT_COLLIDER_HULL, .shape.hull = hull->bvh};
            solids[i].pose = i ? q.pose_b : q.pose_a;
        }
        answers[k].found = (abut_patches){.size = sizeof(abut_patches),
                                          .patches.list = answers[k].list,
                                          .patches.capacity = ROOM,
                                          .contacts.list = answers[k].contacts,
                                          .contacts.capacity = ROOM};
        options.hint = q.hint;
        assert_ok(abut_contact_find(&solids[0], &solids[1], &options, &answers[k].found));
        if (!answers[k].found.contacts.count)
            break;
        q.hint = deepest_normal(&answers[0]);
        q = moved_on(q, k ? 0 : motion, 0.5, random_direction(random), random_direction(random));
    }
    record("v-equal-ids", has_equal_ids(&answers[1]), &q, "solids");
    record(measure_name, share_of_ids_lost(&answers[0].found, &answers[1].found), &q,
           is_hull ? "hulls as solids" : "boxes as solids");
}

TEST(g_contacts_keep_their_ids) {
    test_random random = {107};
    random_model(&random);
    for (uint32_t i = 0; i < pose_count(200); i++) {
        const double margin = i % 2 ? 0.005 : 0;
        abut_vec3 back;
        question rest = find_rest(&random, random_log(&random, 1e-5, 1e-3));
        question low = find_rest(&random, random_log(&random, 5e-4, 2e-3));
        question touch = find_touch(&random, &back);
        touch = moved_by(touch, -random_log(&random, 1e-5, 1e-2), back);
        question deeper = moved_by(touch, -1e-3, back);
        rest.margin = low.margin = touch.margin = deeper.margin = margin;
        for (int k = 0; k < 4; k++) {
            check_ids(rest, &random, 1e-7, "g-rest-ids-lost-1e-7");
            check_ids(low, &random, 1e-4, "g-rest-ids-lost-1e-4");
            check_ids(touch, &random, 1e-7, "g-random-ids-lost-1e-7");
            check_ids(deeper, &random, 1e-4, "g-random-ids-lost-1e-4");
            check_solid_ids(&random, &models[1], 1e-7, "g-solid-ids-lost-1e-7");
            check_solid_ids(&random, &models[1], 1e-4, "g-solid-ids-lost-1e-4");
        }
    }
    judge('g');
}

/* ---- h: answers do not depend on order or place ---- */

/* How far the contacts of two answers are from each other at most: points, normals and depths. The
 * first are moved by `to` and their normals turned round if `swapped`. 1 where one has no mate. */
static double compare_answers(const answer *first, const answer *second, const abut_pose *to,
                              bool swapped) {
    const mat3 turn = quat_matrix(to->rotation);
    double worst = 0;
    if (first->found.contacts.count != second->found.contacts.count)
        return 1;
    for (uint64_t i = 0; i < first->found.contacts.count; i++) {
        const abut_contact *c = &first->contacts[i];
        const abut_vec3 point = pose_apply(to, c->point);
        const abut_vec3 normal = v3_scale(m3_apply(&turn, c->normal), swapped ? -1 : 1);
        double best = 1;
        for (uint64_t k = 0; k < second->found.contacts.count; k++) {
            const abut_contact *d = &second->contacts[k];
            best = real_min(best, v3_length(v3_sub(point, d->point)) +
                                      v3_length(v3_sub(normal, d->normal)) +
                                      fabs(c->depth - d->depth));
        }
        worst = real_max(worst, best);
    }
    return worst;
}

static void check_invariance(const question *q, test_random *random) {
    const abut_pose identity = {{0, 0, 0, 1}, {0, 0, 0}};
    const double tolerance[] = {1e-9, 1e-8, 1e-4}; /* points in flat crossings are imprecise */
    static const char *const kind[][2] = {{"h-swap-depth", "h-swap-differs"},
                                          {"h-rotation-depth", "h-rotation-differs"},
                                          {"h-translation-depth", "h-translation-differs"}};
    const double deepest = find_contacts(q, &answers[0]);
    for (int k = 0; k < 3; k++) {
        question other = *q;
        abut_pose to = identity;
        if (k == 0) {
            other.a = q->b;
            other.b = q->a;
            other.pose_a = q->pose_b;
            other.pose_b = q->pose_a;
        } else {
            to = k == 1 ? random_pose(random, 0)
                        : (abut_pose){{0, 0, 0, 1}, v3_scale(random_direction(random), 1e6)};
            assert_ok(abut_pose_compose(&to, &q->pose_a, &other.pose_a));
            assert_ok(abut_pose_compose(&to, &q->pose_b, &other.pose_b));
        }
        const double then = find_contacts(&other, &answers[1]);
        const double differs = compare_answers(&answers[0], &answers[1], &to, k == 0);
        char note[128];
        snprintf(note, sizeof note, "deepest %.9g, then %.9g; contacts %u, then %u; differ by %.3g",
                 deepest, then, (unsigned)answers[0].found.contacts.count,
                 (unsigned)answers[1].found.contacts.count, differs);
        record(kind[k][0], deepest == then ? 0 : fabs(deepest - then), &other, note);
        record(kind[k][1], differs > tolerance[k], &other, note);
    }
}

TEST(h_answers_do_not_depend_on_order_and_place) {
    test_random random = {108};
    for (uint32_t i = 0; i < pose_count(120); i++) {
        const double margins[] = {0, 0.0005, 0.005, 0.05};
        abut_vec3 back;
        question q = find_touch(&random, &back);
        q.margin = margins[i % 4];
        const double w =
            i % 8 < 4 || !(q.margin > 0) ? -random_log(&random, 1e-4, 0.05) : 0.9 * q.margin;
        q = moved_by(q, w, back);
        check_invariance(&q, &random);
        question rest = find_rest(&random, random_log(&random, 1e-4, 1e-2));
        rest.margin = q.margin;
        check_invariance(&rest, &random);
    }
    judge('h');
}

int main(int argc, char **argv) {
    return run_contract("gh", argc, argv);
}
