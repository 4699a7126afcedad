/* abut robot: configurations and motions of a robot among obstacles. */
#include "robot.h"
#include "apps/get.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 1024 }; /* of a configuration: ABUT_ROBOT_LINK_MAX */

/* ---- input ---- */

static void load_obstacles(tool_run *tool, const char *path, tool_robot *r) {
    abut_scene_options options = abut_scene_options_default();
    options.create_character = abut_character_create_named;
    options.create_garment = abut_garment_create_named;
    progress_start(tool->progress, path);
    ensure(abut_scene_read(tool->context, path, &options, &r->scene));
    r->obstacle_count = get_scene_arrays(r->scene).body_count;
    r->colliders = tool_array((size_t)r->obstacle_count + 1, sizeof *r->colliders);
    for (uint32_t i = 0; i < r->obstacle_count; i++)
        r->colliders[i] = get_scene_body(r->scene, i).collider;
    ensure(
        abut_robot_obstacles_create(tool->context, r->colliders, r->obstacle_count, &r->obstacles));
}

static void load_robot(tool_run *tool, const tool_arguments *arguments, tool_robot *r) {
    abut_robot_read_options options = abut_robot_read_options_default();
    const char *scene = option_words(arguments, "obstacles", NULL),
               *allowed = option_words(arguments, "srdf", NULL);
    options.root = option_words(arguments, "root", NULL);
    progress_start(tool->progress, arguments->operands[0]);
    ensure(abut_robot_read(tool->context, arguments->operands[0], &options, &r->robot));
    if (allowed)
        ensure(abut_robot_read_allowed(r->robot, allowed, NULL));
    if (option_given(arguments, "sample")) {
        abut_robot_sample_options sample = abut_robot_sample_options_default();
        r->sampled = abut_robot_sample_report_default();
        sample.samples = option_count(arguments, "sample", 0);
        ensure(abut_robot_sample_allowed(r->robot, &sample, &r->sampled));
    }
    r->info = abut_robot_info_default();
    ensure(abut_robot_get_info(r->robot, &r->info));
    if (scene)
        load_obstacles(tool, scene, r);
}

static void add_configuration(tool_robot *r, const double *numbers) {
    const size_t n = r->info.variable_count;
    tool_grow(&r->configurations, r->count, &r->room, (n ? n : 1) * sizeof *r->configurations);
    memcpy(r->configurations + n * r->count++, numbers, n * sizeof *numbers);
}

/* A configuration of the command line, as Q1,Q2,... */
static void read_configuration(tool_run *tool, const tool_robot *r, const tool_given *given,
                               double *numbers) {
    const size_t count = read_numbers(given->words, numbers, NUMBERS_MAX);
    if (count != r->info.variable_count)
        tool_refuse(tool,
                    "--%s '%s' must have %u numbers, separated by commas: one for each joint that "
                    "moves and mimics no other joint",
                    given->option->name, given->words, r->info.variable_count);
}

static void read_configurations(tool_run *tool, const tool_arguments *arguments, tool_robot *r) {
    double numbers[NUMBERS_MAX];
    const char *path = option_words(arguments, "configs", NULL);
    for (size_t i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->name, "config") == 0) {
            read_configuration(tool, r, &arguments->given[i], numbers);
            add_configuration(r, numbers);
        }
    if (!path)
        return;
    tool_lines lines;
    lines_open(tool, path, &lines);
    for (int count; (count = lines_row(tool, &lines, numbers, NUMBERS_MAX)) > 0;) {
        if ((uint32_t)count != r->info.variable_count)
            tool_fail_with(tool, "format error", "%s:%zu: the line has %d numbers; it must have %u",
                           path, lines.number, count, r->info.variable_count);
        add_configuration(r, numbers);
    }
    lines_close(&lines);
}

/* ---- output ---- */

static void name_pair(const tool_robot *r, uint32_t link, uint32_t other_link, uint32_t obstacle,
                      tool_output *out) {
    const char *name = link == ABUT_NONE ? NULL : abut_robot_link_name(r->robot, link);
    const char *other = other_link != ABUT_NONE ? abut_robot_link_name(r->robot, other_link)
                        : obstacle != ABUT_NONE ? get_scene_body(r->scene, obstacle).name
                                                : NULL;
    if (out->json) {
        json_text(out, "link", name);
        json_text(out, other_link != ABUT_NONE ? "other_link" : "obstacle", other);
        return;
    }
    tool_text words[2] = {{0}, {0}};
    text_safe(&words[0], name ? name : "-");
    text_safe(&words[1], other ? other : "-");
    print_fact(out, "link", "%s", text_of(&words[0]));
    print_fact(out, "with", "%s", text_of(&words[1]));
}

static void print_robot(tool_run *tool, const tool_arguments *arguments, const tool_robot *r) {
    tool_output *out = &tool->out;
    fact_path(out, "robot", arguments->operands[0]);
    tool_text name = {0};
    text_safe(&name, r->info.name);
    fact_text(out, "name", text_of(&name));
    fact_count(out, "links", r->info.link_count);
    fact_count(out, "variable_count", r->info.variable_count);
    fact_count(out, "triangles", r->info.triangle_count);
    fact_count(out, "pairs_of_links", r->info.pair_count);
    if (r->sampled.size) {
        fact_count(out, "always_collide", r->sampled.always);
        fact_count(out, "never_collide", r->sampled.never);
    }
    if (r->scene)
        fact_count(out, "obstacles", r->obstacle_count);
}

static void print_variables(tool_run *tool, const tool_robot *r) {
    tool_output *out = &tool->out;
    out_table(out, "variables");
    for (uint32_t i = 0; i < r->info.variable_count; i++) {
        uint32_t index;
        abut_robot_joint joint;
        ensure(abut_robot_get_variable(r->robot, i, &index));
        ensure(abut_robot_get_joint(r->robot, index, &joint));
        tool_text name = {0};
        text_safe(&name, joint.name);
        out_object(out, NULL);
        fact_count(out, "index", i);
        fact_text(out, "joint", text_of(&name));
        fact_text(out, "kind", abut_robot_joint_kind_name(joint.kind));
        fact_number(out, "lower", joint.lower);
        fact_number(out, "upper", joint.upper);
        out_end(out);
    }
    out_end(out);
}

/* Tests all configurations. Returns whether one collides. */
static bool test_configurations(tool_run *tool, const tool_robot *r,
                                abut_reliability *reliability) {
    tool_output *out = &tool->out;
    abut_robot_hit *hits = tool_array(r->count, sizeof *hits);
    abut_robot_separation *apart = tool_array(r->count, sizeof *apart);
    bool any = false;
    ensure(abut_robot_test(r->robot, r->obstacles, r->configurations, r->count, hits, reliability));
    ensure(
        abut_robot_distance(r->robot, r->obstacles, r->configurations, r->count, 0, apart, NULL));
    out_table(out, "configurations");
    for (size_t i = 0; i < r->count; i++) {
        const abut_robot_hit *hit = &hits[i];
        out_object(out, NULL);
        fact_count(out, "index", i);
        json_boolean(out, "collides", hit->collides);
        out_shade(out, hit->collides ? SHADE_WARN : SHADE_GOOD);
        print_fact(out, "collides", "%s", hit->collides ? "yes" : "no");
        fact_number(out, "distance", apart[i].distance);
        if (hit->collides)
            name_pair(r, hit->link, hit->other_link, hit->obstacle, out);
        else
            name_pair(r, apart[i].link, apart[i].other_link, apart[i].obstacle, out);
        out_end(out);
        any = any || hit->collides;
    }
    out_end(out);
    return any;
}

static bool sweep_motion(tool_run *tool, const tool_arguments *arguments, const tool_robot *r,
                         abut_robot_motion *motion, abut_reliability *reliability) {
    tool_output *out = &tool->out;
    abut_robot_sweep_options options = abut_robot_sweep_options_default();
    options.tolerance = option_number(arguments, "tolerance", 0);
    ensure(
        abut_robot_sweep(r->robot, r->obstacles, r->from, r->to, 1, &options, motion, reliability));
    out_object(out, "motion");
    json_boolean(out, "touches", motion->touches);
    print_fact(out, "touches", "%s", motion->touches ? "yes" : "no");
    fact_number(out, "time", motion->time);
    if (motion->touches)
        name_pair(r, motion->link, motion->other_link, motion->obstacle, out);
    fact_count(out, "steps", motion->steps);
    out_end(out);
    return motion->touches;
}

/* ---- the command ---- */

static int run_robot(tool_run *tool, const tool_arguments *arguments) {
    tool_robot r = {0};
    double from[NUMBERS_MAX], to[NUMBERS_MAX];
    const tool_given *start = option_given(arguments, "from"), *end = option_given(arguments, "to"),
                     *png = picture_given(arguments);
    abut_robot_motion motion = {.time = 1, .link = ABUT_NONE};
    abut_reliability reliability = {0};
    bool found = false;
    if (!start != !end)
        tool_refuse(tool, "--from and --to must be given together");
    if (png)
        picture_check(tool, png->words);
    option_length(tool, option_given(arguments, "tolerance"));
    load_robot(tool, arguments, &r);
    read_configurations(tool, arguments, &r);
    if (start) {
        read_configuration(tool, &r, start, from);
        read_configuration(tool, &r, end, to);
        r.from = from;
        r.to = to;
    }
    out_object(&tool->out, NULL);
    print_robot(tool, arguments, &r);
    if (!r.count && !start)
        print_variables(tool, &r);
    if (r.count)
        found = test_configurations(tool, &r, &reliability);
    if (start)
        found = sweep_motion(tool, arguments, &r, &motion, &reliability) || found;
    if (r.count || start)
        json_reliability(&tool->out, &reliability);
    if (png)
        robot_draw(tool, arguments, &r, &motion);
    out_end(&tool->out);
    if (r.count || start) {
        tool_print_reliability(tool, &reliability);
        answer(tool, "%s", tool_yes_or_no(found, &reliability));
    }
    abut_robot_destroy(r.robot);
    abut_robot_obstacles_destroy(r.obstacles);
    abut_scene_destroy(r.scene);
    return r.count || start ? tool_outcome(found, &reliability) : CODE_FINE;
}

static const tool_option options[] = {
    REPEATED("config", "Q1,Q2,...", TEXT,
             "a configuration: one number for each joint that moves, in the order of the list that "
             "'abut robot FILE' prints; radians or lengths"),
    OPTION("configs", "FILE", TEXT, "configurations, one in each line"),
    OPTION("from", "Q1,Q2,...", TEXT, "start of a motion of all joints, linear in time; with --to"),
    OPTION("to", "Q1,Q2,...", TEXT, "end of the motion"),
    OPTION("tolerance", "D", TOLERANCE,
           "motion: largest distance at the time of contact (default: 1e-5 of the reach)"),
    OPTION("obstacles", "SCENE", TEXT, "bodies around the robot: a scene file"),
    OPTION("srdf", "FILE", TEXT, "pairs of links whose collisions are allowed"),
    OPTION("sample", "N", COUNT,
           "allow pairs of links that collide in all of N random configurations, or in none"),
    OPTION("root", "FOLDER", TEXT, "folder of the packages in package://NAME/FILE"),
    OPTION("png", "FILE", TEXT, "draw the configurations, or the motion, among the obstacles"),
    CAMERA_OPTIONS("iso"),
    {0}};

const tool_command command_robot = {
    .name = "robot",
    .operands = "FILE",
    .summary = "collisions, distances and motions of a robot among obstacles",
    .about =
        "Reads a robot from a URDF or MJCF file. Tests configurations for collisions of links "
        "with obstacles and with each other, and prints the closest pair of those that are "
        "free. Tests a motion from one configuration to another: no contact is missed, however "
        "thin the obstacles are. Links that a joint connects may touch.",
    .found = "a configuration collides, or the motion touches something",
    .examples = "  abut robot arm.urdf\n"
                "  abut robot arm.urdf --config 0,0.5,0,1,0,0.5,0 --obstacles cell.json\n"
                "  abut robot arm.urdf --from 0,0,0,0,0,0,0 --to 1,1,0,1,0,0,0 --png motion.png\n",
    .options = options,
    .operand_range = {1, 1},
    .run = run_robot,
};
