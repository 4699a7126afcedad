/* Searches the shift that separates two bodies, and the contact patches that describe it.
 *
 * Problem: which patches, with which depths, separate two overlapping bodies, and which of several
 * shifts is the best?
 *
 * Method. Each region of the overlap has one patch along its best normal, or one for each of its
 * walls. The joint shift is the shortest vector that moves by at least the depth of every patch
 * along its normal. An exact test decides whether the bodies are apart after it. If they are not,
 * two kinds of shifts are tested by increasing depth: the joint shift of all walls, to which the
 * remaining overlap adds walls, and shifts along one normal, which the remaining overlap extends.
 * Opposite walls that no shift satisfies keep their local depths, as in a press fit.
 *
 * Guarantee: `is_verified` is set only after an exact test of the shift that the depths
 * describe. */
#include "contact/patch_measure.h"

#include <math.h>
#include <string.h>

#define SHIFT_TOLERANCE 1e-9    /* of the smaller body: convergence of the joint shift */
#define NORMAL_DEPTH_RATIO 4.0  /* in fits, and with a hint: depth along one normal / of walls */
#define MIN_EXTENSION 0.01      /* of the smaller body: smallest step by which a shift grows */
#define SAME_WALL_COSINE 0.99   /* between the normals of one wall in two rounds: 8 degrees */
#define SAME_NORMAL_COSINE 0.98 /* between normals that count as one candidate: 11 degrees */
#define SAME_DEPTH 1e-3         /* relative difference of depths that count as equal */
#define REMAINING_DEPTH 0.5     /* of a wall's depth: below it, the remainder is the same wall */
#define OTHER_WALL_COSINE 0.7   /* between the normals of two walls: 45 degrees */
#define WEDGE_THICKNESS 3.0     /* depth / mean thickness of a region above which it is a wedge */
#define WEDGE_DEPTH 0.5       /* mean depth of the walls of a wedge / depth of the wedge, at most */
#define SHEET_DEPTH_RATIO 0.8 /* new / old depth of a sheet up to which the new one replaces it */
#define SHALLOW_RATIO 1.5     /* depth / smallest depth of the walls of a region, at most */
#define SHALLOW_DEPTH 0.05    /* of the smaller body: largest depth of the walls of a press fit */
#define OPPOSITE_COSINE (-0.5) /* between the normals of opposite walls: 120 degrees */

enum {
    WALL_ROUNDS = 4,         /* in which walls of the remaining overlap are added */
    MAX_SHIFTS = 128,        /* that are tested or measured for a pair */
    CANDIDATE_CAPACITY = 64, /* of shifts along one normal */
    SHIFT_ROUNDS = 512,      /* of the iteration for the joint shift */
    MAX_MULTIPLIERS = 32,    /* patches with a multiplier in the iteration */
    FIT_WALLS = 3,           /* minimum number of shallow walls of a body in a tight fit */
    CONTOUR_NORMALS = 16     /* candidate normals of sheets, from faces of the contour */
};

/* Returns the length by which a shift must move along the normal of a patch. */
static double required_shift(double size, patch_slack slack, double depth) {
    return real_max(depth, 0) * (1 + slack.depth) + slack.size * size;
}

/* Patches beyond the first MAX_MULTIPLIERS are satisfied too, but have no multiplier, so the shift
 * may not be the shortest. */
bool abuti_patch_joint_shift(double size, patch_slack slack, const patch_answer *answers,
                             size_t count, vec3 *shift) {
    double multiplier[MAX_MULTIPLIERS] = {0};
    *shift = v3(0, 0, 0);
    for (int round = 0; round < SHIFT_ROUNDS; round++) {
        double worst = 0;
        for (size_t i = 0; i < count; i++) {
            double missing =
                required_shift(size, slack, answers[i].depth) - v3_dot(*shift, answers[i].normal);
            missing = real_max(missing, i < MAX_MULTIPLIERS ? -multiplier[i] : 0);
            worst = real_max(worst, fabs(missing) / size);
            *shift = v3_along(*shift, missing, answers[i].normal);
            if (i < MAX_MULTIPLIERS)
                multiplier[i] += missing;
        }
        if (worst < SHIFT_TOLERANCE)
            return true;
    }
    return false;
}

bool abuti_patch_test_apart(const patch_call *call, vec3 shift) {
    abuti_posed moved = call->posed[0];
    abut_pair_relation relation = ABUT_PAIR_APART;
    pair_frame frame;
    uint32_t found[2], vertex;
    unsigned doubt = 0;
    abut_status status;
    moved.pose.translation = v3_add(moved.pose.translation, shift);
    if (!abuti_pair_frame_init(&moved, &call->posed[1], &frame)) {
        status = abuti_pair_overlap(&moved, &call->posed[1], false, NULL, &relation, &doubt);
    } else {
        bool touches = abuti_pair_find_intersection(&frame, found);
        if (!patch_check(call->memory, abuti_stop_status("contacts")) || touches)
            return false;
        status = abuti_pair_contains(&frame, &moved, &call->posed[1], &relation, &vertex, &doubt);
    }
    return patch_check(call->memory, status) && relation == ABUT_PAIR_APART;
}

/* Returns whether walls are those of a press fit: all are shallow, and opposite ones are further
 * apart than they are deep. Otherwise a body has passed through the other, and opposite walls are
 * two separating directions of one overlap. */
static bool are_walls_press_fit(const patch_call *call, const patch_answer *walls, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (walls[i].depth > SHALLOW_DEPTH * call->size)
            return false;
        for (size_t k = 0; k < i; k++) {
            vec3 between = v3_sub(patch_mean_point(&walls[k]), patch_mean_point(&walls[i]));
            double depths = real_max(walls[i].depth, 0) + real_max(walls[k].depth, 0);
            if (v3_dot(walls[i].normal, walls[k].normal) < OPPOSITE_COSINE &&
                fabs(v3_dot(between, walls[i].normal)) < 2 * depths)
                return false;
        }
    }
    return true;
}

static void set_depth(patch_answer *answer, double depth) {
    answer->depth = answer->points[0].depth = depth;
}

/* ---- walls of a pair ---- */

/* A normal along which a is shifted, and a lower bound of the length that separates. */
typedef struct shift_candidate {
    vec3 normal;
    double depth;
    bool is_measured; /* over the whole overlap; otherwise at one position */
} shift_candidate;

/* The shifts that are tested. */
typedef struct shift_search {
    const patch_work *work;    /* before any shift */
    patch_answers joint_walls; /* that the joint shift must satisfy */
    patch_answers first_walls; /* all walls of the first round */
    vec3 shift;                /* joint shift of `joint_walls` */
    double depth; /* largest depth of `joint_walls`; infinite if they do not separate */
    int rounds;   /* number of rounds that added walls */
    int candidate_count;
    shift_candidate candidates[CANDIDATE_CAPACITY];
} shift_search;

/* Returns the region whose centre is nearest to a point. */
static uint32_t find_nearest_region(const patch_work *work, vec3 at) {
    uint32_t nearest = ABUT_NONE;
    double nearest_sq = INFINITY;
    for (size_t i = 0; i < work->region_count; i++) {
        double distance = v3_length_sq(v3_sub(work->regions[i].centre, at));
        if (distance < nearest_sq) {
            nearest_sq = distance;
            nearest = (uint32_t)i;
        }
    }
    return nearest;
}

/* Adds a wall that was found after a shift, with its depth before the shift. If it is the remainder
 * of a wall of an earlier round, that wall becomes deeper instead: by twice as much from the third
 * round on, because shifts that slide along other walls converge slowly. */
static void add_wall(const patch_call *call, shift_search *s, const patch_answer *found) {
    const bool first_round = !s->rounds;
    patch_answer wall = *found;
    patch_answers *walls = &s->joint_walls;
    if (!first_round)
        wall.region = find_nearest_region(s->work, wall.points[0].at);
    double before = v3_dot(s->shift, wall.normal), remaining = (s->rounds > 1 ? 2 : 1) * wall.depth;
    for (size_t i = 0; i < walls->count && !first_round; i++)
        if (walls->list[i].region == wall.region &&
            v3_dot(walls->list[i].normal, wall.normal) > SAME_WALL_COSINE &&
            wall.depth < REMAINING_DEPTH * walls->list[i].depth) {
            patch_answer *same = &walls->list[i];
            double along = v3_dot(s->shift, same->normal) + real_max(remaining, 0);
            set_depth(same, real_max(same->depth, along));
            return;
        }
    wall.depth += before;
    uint32_t count = wall.count;
    wall.count = 0;
    for (uint32_t k = 0; k < count; k++) {
        patch_point point = wall.points[k];
        point.at = v3_sub(point.at, v3_scale(s->shift, 0.5));
        point.depth += before;
        if (point.depth >= -call->max_gap || !wall.count)
            wall.points[wall.count++] = point;
    }
    abuti_patch_add(call->memory, walls, &wall);
}

/* Returns whether a region is much deeper than its mean thickness. A lens is two or three times as
 * deep. */
static bool may_be_wedge(const patch_region *r, double depth) {
    return depth * patch_area_length(r->area) > WEDGE_THICKNESS * fabs(r->volume);
}

/* Returns whether a region is a wedge between walls: its area vectors do not cancel, but along
 * their sum it is much deeper than its walls are on average. */
static bool is_wedge(const patch_answer *walls, int count, double depth) {
    double sum = 0, area = 0;
    for (int k = 0; k < count; k++) {
        sum += walls[k].area * walls[k].depth;
        area += walls[k].area;
    }
    return count > 1 && sum < WEDGE_DEPTH * depth * area;
}

/* Adds the walls of a region. If areas cancel, only walls that are about as shallow as the
 * shallowest are joint walls: deeper columns of the overlap may belong to another wall, which the
 * next round finds. */
static void add_region_walls(patch_work *work, patch_call *call, size_t i, shift_search *s) {
    const bool first_round = !s->rounds;
    patch_region *region = &work->regions[i];
    patch_answer answers[PATCH_NORMALS];
    int count = 0;
    double max_depth = INFINITY;
    const bool cancels = abuti_patch_areas_cancel(work, region);
    if (!cancels) {
        abuti_patch_compute_best(work, region, call->hint, &answers[0]);
        count = answers[0].count > 0;
    }
    const bool divides = cancels || (count && answers[0].has_short_columns);
    if (divides || (count && may_be_wedge(region, answers[0].depth))) {
        const double single = divides ? INFINITY : answers[0].depth;
        patch_answer found[PATCH_NORMALS];
        const int found_count = abuti_patch_find_walls(work, region, false, found);
        if (cancels || (divides && found_count > 1) || is_wedge(found, found_count, single)) {
            count = 0;
            for (int k = 0; k < found_count; k++) {
                if (!(found[k].depth < single))
                    continue;
                max_depth = real_min(max_depth, found[k].depth);
                answers[count++] = found[k];
            }
            if (cancels && count && max_depth > SHALLOW_DEPTH * call->size) {
                /* Two plates in each other have no walls across their thickness: one normal may be
                 * less deep. */
                abuti_patch_compute_best(work, region, call->hint, &found[0]);
                if (found[0].count && found[0].depth < max_depth) {
                    answers[0] = found[0];
                    count = 1;
                    max_depth = found[0].depth;
                }
            }
            max_depth = SHALLOW_RATIO * real_max(max_depth, PATCH_SLACK.size * call->size);
        }
    }
    if (first_round)
        region->is_gap = count ? !(answers[0].depth > 0) : !cancels;
    for (int k = 0; k < count; k++) {
        if (answers[k].depth <= max_depth)
            add_wall(call, s, &answers[k]);
        if (first_round)
            abuti_patch_add(call->memory, &s->first_walls, &answers[k]);
    }
}

/* Replaces the patches by walls, except gaps. */
static void set_answers(patch_call *call, const patch_answers *walls) {
    call->answers.count = 0;
    for (size_t i = 0; i < walls->count; i++)
        if (walls->list[i].depth >= -call->max_gap)
            abuti_patch_add(call->memory, &call->answers, &walls->list[i]);
}

/* Replaces the patches by all shallow walls of all regions, for a press fit. A region without walls
 * keeps its patches. */
static void set_press_fit_answers(patch_work *work, patch_call *call, const patch_answers *before) {
    call->answers.count = 0;
    for (size_t i = 0; i < before->count; i++)
        if (before->list[i].region == ABUT_NONE)
            abuti_patch_add(call->memory, &call->answers, &before->list[i]);
    for (size_t i = 0; i < work->region_count; i++) {
        patch_answer walls[PATCH_NORMALS];
        const size_t added = call->answers.count;
        if (!abuti_patch_region_counts(work, call, i))
            continue;
        const int count = abuti_patch_find_walls(work, &work->regions[i], true, walls);
        for (int k = 0; k < count; k++)
            if (walls[k].depth < SHALLOW_DEPTH * call->size)
                abuti_patch_add(call->memory, &call->answers, &walls[k]);
        for (size_t k = 0; k < before->count && call->answers.count == added; k++)
            if (before->list[k].region == i)
                abuti_patch_add(call->memory, &call->answers, &before->list[k]);
    }
}

/* Tests whether the joint shift of the patches separates, with a slack for rounding errors only. So
 * the rounding error of the shift does not decide, and the result is the same wherever the bodies
 * are. */
static bool verify_answers(const patch_call *call) {
    vec3 shift;
    return abuti_patch_joint_shift(call->size, PATCH_EXACT_SLACK, call->answers.list,
                                   call->answers.count, &shift) &&
           abuti_patch_test_apart(call, shift);
}

/* Sets the walls that a shift separates as patches, if their joint shift without slacks separates,
 * too. Otherwise depths are increased by the slacks. */
static void set_verified_answers(patch_call *call, const patch_answers *walls) {
    set_answers(call, walls);
    call->is_verified = verify_answers(call);
    if (call->is_verified)
        return;
    for (size_t i = 0; i < call->answers.count; i++)
        if (call->answers.list[i].depth > 0)
            set_depth(&call->answers.list[i],
                      required_shift(call->size, PATCH_SLACK, call->answers.list[i].depth));
    call->is_verified = verify_answers(call);
}

/* Returns whether a patch of the region of a wall has about the same normal. */
static bool has_wall(const patch_call *call, const patch_answer *wall) {
    for (size_t i = 0; i < call->answers.count; i++) {
        const patch_answer *answer = &call->answers.list[i];
        if (answer->region == wall->region &&
            v3_dot(answer->normal, wall->normal) > OTHER_WALL_COSINE)
            return true;
    }
    return false;
}

/* Adds shallow walls that the shift also separates, so that each overlapping wall has contacts.
 * Row c of the contract fails without. */
static void complete_walls(patch_work *work, patch_call *call, vec3 shift) {
    for (size_t i = 0; i < work->region_count; i++) {
        patch_answer walls[PATCH_NORMALS];
        if (!abuti_patch_region_counts(work, call, i))
            continue;
        const int count = abuti_patch_find_walls(work, &work->regions[i], false, walls);
        for (int k = 0; k < count; k++) {
            patch_answer *wall = &walls[k];
            double along = v3_dot(shift, wall->normal);
            if (wall->depth > SHALLOW_DEPTH * call->size ||
                wall->depth > (1 + SAME_DEPTH) * along + PATCH_SLACK.size * call->size ||
                has_wall(call, wall))
                continue;
            if (wall->depth > along) /* equals the depth of another wall, up to rounding errors */
                set_depth(wall, along);
            abuti_patch_add(call->memory, &call->answers, wall);
        }
    }
}

/* Adds the walls of the overlap after the current shift, and computes the joint shift of all. A
 * press fit ends the search. */
static void add_walls(patch_work *work, patch_call *call, shift_search *s) {
    for (size_t i = 0; i < work->region_count; i++)
        if (abuti_patch_region_counts(work, call, i))
            add_region_walls(work, call, i, s);
    s->depth = INFINITY;
    if (!s->joint_walls.count)
        return;
    if (abuti_patch_joint_shift(call->size, PATCH_SLACK, s->joint_walls.list, s->joint_walls.count,
                                &s->shift))
        for (size_t i = 0; i < s->joint_walls.count; i++)
            s->depth = real_max(i ? s->depth : 0, s->joint_walls.list[i].depth);
    else
        call->is_press_fit = are_walls_press_fit(call, s->first_walls.list, s->first_walls.count) &&
                             are_walls_press_fit(call, s->joint_walls.list, s->joint_walls.count);
}

/* Computes contours and regions after a shift. */
static void find_regions_after(const patch_call *call, vec3 shift, patch_work *later) {
    patch_call moved = *call;
    moved.posed[0].pose.translation = v3_add(call->posed[0].pose.translation, shift);
    abuti_patch_reset(later, call);
    abuti_patch_find_regions_at(later, &moved);
}

/* Tests the joint shift of the walls. If it does not separate, adds the walls of the remaining
 * overlap. */
static void test_joint_shift(patch_work *work, patch_call *call, shift_search *s) {
    call->is_verified = abuti_patch_test_apart(call, s->shift);
    if (!call->is_verified) {
        patch_work later;
        const double before = v3_length_sq(s->shift);
        s->rounds++;
        find_regions_after(call, s->shift, &later);
        add_walls(&later, call, s);
        /* Nothing was added, or there were too many rounds. */
        if (!(v3_length_sq(s->shift) > before) || s->rounds == WALL_ROUNDS)
            s->depth = INFINITY;
        return;
    }
    if (s->joint_walls.count == 1 && !s->rounds) { /* measured along its normal: exact */
        set_answers(call, &s->joint_walls);
        return;
    }
    set_verified_answers(call, &s->joint_walls);
    const double deepest = call->answers.count ? call->answers.list[0].depth : 0;
    if (call->is_verified && deepest > (1 + SAME_DEPTH) * s->depth) {
        s->depth = deepest; /* depths were increased: test shorter candidates first */
        call->is_verified = false;
        return;
    }
    if (call->is_verified && call->answers.count > 1 &&
        v3_length(s->shift) <= SHALLOW_DEPTH * call->size)
        complete_walls(work, call, s->shift);
    s->depth = INFINITY;
}

/* Adds a candidate normal, with the depth at one position. */
static void add_candidate_normal(patch_work *work, const patch_call *call, vec3 normal,
                                 shift_search *s) {
    for (int i = 0; i < s->candidate_count; i++)
        if (v3_dot(s->candidates[i].normal, normal) > SAME_NORMAL_COSINE)
            return;
    if (s->candidate_count == CANDIDATE_CAPACITY)
        return;
    const double depth = abuti_patch_max_depth(work, normal, 0);
    if (depth > -PATCH_SLACK.size * call->size) /* 0: flush sheet */
        s->candidates[s->candidate_count++] =
            (shift_candidate){.normal = normal, .depth = real_max(depth, 0)};
}

/* Returns whether a body has passed through the other: in the only region, or in several without
 * walls, as the legs of a stool through a plate. */
static bool has_passed_through(const patch_work *work, const patch_call *call,
                               const shift_search *s) {
    size_t count = 0;
    for (size_t i = 0; i < work->region_count; i++)
        if (abuti_patch_region_counts(work, call, i)) {
            if (!abuti_patch_areas_cancel(work, &work->regions[i]))
                return false;
            count++;
        }
    return !call->has_contained && (count == 1 || (count && !s->first_walls.count));
}

/* Adds candidate normals: of walls, of large faces, and the hint. If a body has passed through the
 * other, keeps only those on the side of the hint. */
static void add_candidate_normals(patch_work *work, const patch_call *call, bool passes_through,
                                  shift_search *s) {
    const patch_answers *walls = &s->first_walls;
    const bool has_hint = v3_max_abs(call->hint) > 0;
    if (!work->region_count) { /* one body is inside the other */
        for (size_t i = 0; i < walls->count && s->candidate_count < CANDIDATE_CAPACITY; i++)
            if (walls->list[i].depth > 0)
                s->candidates[s->candidate_count++] =
                    (shift_candidate){walls->list[i].normal, walls->list[i].depth, true};
        return;
    }
    for (size_t i = 0; i < walls->count; i++)
        add_candidate_normal(work, call, walls->list[i].normal, s);
    for (size_t i = 0; i < work->region_count; i++) {
        patch_normal normals[PATCH_NORMALS];
        bool region_passes_through;
        if (!abuti_patch_region_counts(work, call, i) || work->regions[i].is_gap)
            continue;
        const int count =
            abuti_patch_candidate_normals(work, &work->regions[i], normals, &region_passes_through);
        for (int k = 0; k < count; k++)
            add_candidate_normal(work, call, normals[k].normal, s);
    }
    if (has_hint)
        add_candidate_normal(work, call, v3_normalise(call->hint), s);
    if (passes_through && has_hint) {
        int kept = 0;
        for (int i = 0; i < s->candidate_count; i++)
            if (v3_dot(s->candidates[i].normal, call->hint) > 0)
                s->candidates[kept++] = s->candidates[i];
        s->candidate_count = kept;
    }
}

/* Adds 26 directions, for bodies that no normal separates by a short shift. */
static void add_grid_directions(patch_work *work, const patch_call *call, shift_search *s) {
    for (int i = 0; i < 27; i++)
        if (i != 13)
            add_candidate_normal(work, call, v3_normalise(v3(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1)),
                                 s);
}

/* Sets the patches of all regions along one normal. */
static void set_answers_along(patch_work *work, patch_call *call, const shift_candidate *candidate,
                              const shift_search *s) {
    call->answers.count = 0;
    for (size_t i = 0; i < work->region_count; i++) {
        const patch_region *r = &work->regions[i];
        patch_answer answer;
        if (!abuti_patch_region_counts(work, call, i) || r->is_gap)
            continue;
        abuti_patch_compute_along(work, r, candidate->normal,
                                  abuti_measure_choose_scope(work, r, candidate->normal), &answer);
        if (answer.count)
            abuti_patch_add(call->memory, &call->answers, &answer);
    }
    call->is_verified = !work->region_count || call->answers.count;
    for (size_t i = 0; i < s->first_walls.count; i++)
        if (work->region_count
                ? s->first_walls.list[i].depth <= 0 &&
                      s->first_walls.list[i].depth >= -call->max_gap
                : v3_dot(s->first_walls.list[i].normal, candidate->normal) > SAME_WALL_COSINE)
            abuti_patch_add(call->memory, &call->answers, &s->first_walls.list[i]);
    if (call->is_verified && call->answers.count)
        set_depth(&call->answers.list[0], real_max(candidate->depth, call->answers.list[0].depth));
}

/* Tests a candidate: measures it, then shifts along it. If that does not separate, adds the depth
 * of the remaining overlap. */
static void test_candidate(patch_work *work, patch_call *call, shift_candidate *candidate,
                           const shift_search *s) {
    if (!candidate->is_measured) {
        const double depth = abuti_patch_max_depth(work, candidate->normal, INFINITY);
        candidate->depth = real_max(candidate->depth, depth);
        candidate->is_measured = true;
        return;
    }
    const double length = required_shift(call->size, PATCH_SLACK, candidate->depth);
    const vec3 shift = v3_scale(candidate->normal, length);
    call->is_verified = abuti_patch_test_apart(call, shift);
    if (call->is_verified) {
        set_answers_along(work, call, candidate, s);
        candidate->depth = INFINITY;
        return;
    }
    patch_work later;
    find_regions_after(call, shift, &later);
    const double depth = abuti_patch_max_depth(&later, candidate->normal, INFINITY);
    candidate->depth = length + (depth > 0 ? depth : MIN_EXTENSION * call->size);
}

static shift_candidate *find_shortest_candidate(shift_search *s) {
    shift_candidate *shortest = NULL;
    for (int i = 0; i < s->candidate_count; i++)
        if (s->candidates[i].depth < (shortest ? shortest->depth : INFINITY))
            shortest = &s->candidates[i];
    return shortest;
}

/* Returns whether all walls push a against the hint: it has passed through the other body. */
static bool is_against_hint(const patch_call *call, const patch_answers *walls) {
    for (size_t i = 0; i < walls->count; i++)
        if (v3_dot(walls->list[i].normal, call->hint) > 0)
            return false;
    return true;
}

/* Adds the hint as a candidate for the only region. So the depth of moving bodies does not jump
 * when the choice of normals changes. */
static void add_hint(patch_work *work, const patch_call *call, shift_search *s) {
    const patch_answer *found = &s->first_walls.list[0];
    const vec3 normal = v3_normalise(call->hint);
    patch_answer answer;
    if (s->first_walls.count != 1 || found->region == ABUT_NONE ||
        v3_dot(found->normal, normal) > SAME_NORMAL_COSINE)
        return;
    abuti_patch_compute_along(work, &work->regions[found->region], normal, PATCH_SCOPE_REGION,
                              &answer);
    if (answer.count && answer.depth > 0)
        s->candidates[s->candidate_count++] = (shift_candidate){normal, answer.depth, true};
}

/* Tests the joint shift of all walls, in rounds that add the walls of the remaining overlap, and
 * shifts along one normal, always the shortest one. Candidates are measured only if the walls of
 * the first round do not separate. Candidates that are much deeper than all walls are omitted in a
 * tight fit, and with a hint, that is, between bodies that were apart or nearly so before. So
 * bodies that interlock are not pushed through each other. If no shift separates, the result is the
 * walls of the first round. */
void abuti_patch_separate(patch_work *work, patch_call *call) {
    const patch_memory *memory = call->memory;
    shift_search s = {.work = work};
    for (size_t i = 0; i < call->answers.count; i++) { /* components inside the other body */
        abuti_patch_add(call->memory, &s.joint_walls, &call->answers.list[i]);
        abuti_patch_add(call->memory, &s.first_walls, &call->answers.list[i]);
    }
    call->answers.count = 0;
    add_walls(work, call, &s);
    const bool has_hint = v3_max_abs(call->hint) > 0,
               passes_through = has_passed_through(work, call, &s);
    double deepest = 0;
    for (size_t i = 0; i < s.first_walls.count; i++)
        deepest = real_max(deepest, s.first_walls.list[i].depth);
    const double far_limit =
        s.first_walls.count ? NORMAL_DEPTH_RATIO * deepest + MIN_EXTENSION * call->size : INFINITY;
    const bool is_fit = s.first_walls.count >= FIT_WALLS && deepest < SHALLOW_DEPTH * call->size;
    const double limit = (has_hint || is_fit) && !passes_through ? far_limit : INFINITY;
    if (passes_through && has_hint && is_against_hint(call, &s.first_walls)) {
        s.depth = INFINITY;
        call->is_press_fit = false;
    }
    if (has_hint && !passes_through)
        add_hint(work, call, &s);
    bool has_candidates = false, has_grid_directions = false;
    for (int i = 0; i < MAX_SHIFTS && !memory->status && !call->is_verified && !call->is_press_fit;
         i++) {
        shift_candidate *candidate = find_shortest_candidate(&s);
        const bool is_far = !(s.depth < INFINITY) && !(candidate && candidate->depth <= far_limit);
        if (has_candidates && !has_grid_directions && is_far && (!has_hint || !s.candidate_count)) {
            add_grid_directions(work, call, &s);
            has_grid_directions = true;
        } else if (candidate && candidate->depth <= limit && candidate->depth < s.depth) {
            test_candidate(work, call, candidate, &s);
        } else if (s.depth < INFINITY && !(is_fit && s.depth > limit)) {
            test_joint_shift(work, call, &s);
        } else if (has_candidates) {
            break;
        }
        if (!has_candidates && (s.rounds || !(s.depth < INFINITY)) && !call->is_verified &&
            !call->is_press_fit) {
            add_candidate_normals(work, call, passes_through, &s);
            has_candidates = true;
        }
    }
    if (call->is_verified)
        return;
    if (call->is_press_fit)
        set_press_fit_answers(work, call, &s.first_walls);
    else
        set_answers(call, &s.first_walls);
}

/* Finds the normals of the faces through which the contour runs, without nearly equal ones; both
 * directions of each. */
static int find_contour_normals(const patch_work *work, vec3 normals[CONTOUR_NORMALS]) {
    int count = 0;
    for (size_t i = 0; i < 2 * work->segment_count && count + 2 <= CONTOUR_NORMALS; i++) {
        const patch_body *body = &work->body[i % 2];
        const vec3 normal = patch_face_normal(body, work->segments[i / 2].face[i % 2]);
        bool is_known = v3_max_abs(normal) == 0;
        for (int k = 0; k < count; k++)
            is_known |= v3_dot(normals[k], normal) > SAME_NORMAL_COSINE;
        if (is_known)
            continue;
        normals[count++] = normal;
        normals[count++] = v3_scale(normal, -1);
    }
    return count;
}

/* The part of a sheet beyond a face has the area of the sheet, not of the face. If both are nearly
 * perpendicular, the normal of the face is not among the candidates that areas yield. So all faces
 * of the contour are candidates here. The result is used if it is much shorter. */
void abuti_patch_shorten_sheet(patch_work *work, patch_call *call) {
    const double limit = SHEET_DEPTH_RATIO * call->answers.list[0].depth;
    const patch_call before = *call;
    shift_search s = {.work = work};
    vec3 normals[CONTOUR_NORMALS];
    const int count = find_contour_normals(work, normals);
    call->answers = (patch_answers){.list = NULL};
    call->is_verified = false;
    work->is_sheet_edge = true;
    for (size_t i = 0; i < work->region_count; i++) /* also sheets without depth along the areas */
        work->regions[i].is_gap = false;
    for (int i = 0; i < count; i++)
        if (!(v3_dot(normals[i], call->hint) < 0))
            add_candidate_normal(work, call, normals[i], &s);
    for (int i = 0; i < MAX_SHIFTS && !call->memory->status && !call->is_verified; i++) {
        shift_candidate *candidate = find_shortest_candidate(&s);
        if (!candidate || candidate->depth > limit)
            break;
        test_candidate(work, call, candidate, &s);
    }
    work->is_sheet_edge = false;
    if (!(call->is_verified && call->answers.count && call->answers.list[0].depth <= limit))
        *call = before;
}
