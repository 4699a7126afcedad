/* abut demo: fields inside a physics engine. */
#include "tool.h"

#include <string.h>

#ifdef ABUT_HAS_ODE
#include "drop.h"

#include <stdlib.h>

enum { FRAMES = 8, COLUMNS = 4, WIDTH = 360, HEIGHT = 300 };

/* The film strip: frames at equal times, side by side. */
typedef struct film {
    tool_run *tool;
    const drop_scene *scene;
    double seconds;
    uint32_t taken;
    uint8_t *pixels; /* null = no film is wanted */
    abut_status status;
} film;

static abut_status draw(const film *f, const abut_pose *poses, uint32_t count,
                        abut_picture **picture) {
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    camera.width = WIDTH;
    camera.height = HEIGHT;
    camera.eye_direction = (abut_vec3){0.25, -1, 0.95};
    abut_status status = abut_picture_create(f->tool->context, &camera, picture);
    style.smooth = true;
    style.colour = (abut_colour){0.80f, 0.84f, 0.90f, 0.35f};
    if (!status)
        status = abut_picture_add_mesh(*picture, drop_bowl(f->scene), (abut_pose){0}, &style);
    /* all frames show the same: as far up as anything will be */
    if (!status)
        status = abut_picture_add_point(*picture, drop_top(), 0.1, (abut_colour){1, 1, 1, 0.01f});
    for (uint32_t i = 0; i < count && !status; i++) {
        abut_mesh *mesh = drop_mesh(f->scene, i, &style.colour);
        status = abut_picture_add_mesh(*picture, mesh, poses[i], &style);
    }
    return status;
}

static bool take_frame(void *user, double time, const abut_pose *poses, uint32_t count) {
    film *f = user;
    if (!progress_report(f->tool->progress, "falling", time / f->seconds))
        return false;
    if (!f->pixels || f->taken == FRAMES || time < f->seconds * (f->taken + 1) / FRAMES - 0.02)
        return true;
    static uint8_t frame[WIDTH * HEIGHT * 4];
    abut_picture *picture = NULL;
    f->status = draw(f, poses, count, &picture);
    if (!f->status)
        f->status = abut_picture_render(picture, frame, sizeof frame);
    abut_picture_destroy(picture);
    size_t row = f->taken / COLUMNS, column = f->taken % COLUMNS;
    for (size_t y = 0; y < HEIGHT && !f->status; y++)
        memcpy(f->pixels + 4 * ((row * HEIGHT + y) * COLUMNS + column) * WIDTH,
               frame + 4 * y * WIDTH, 4 * (size_t)WIDTH);
    f->taken++;
    return !f->status;
}

static void tell(tool_output *out, const char *name, const drop_result *r) {
    out_object(out, name);
    json_count(out, "bodies", r->bodies);
    json_number(out, "seconds", r->seconds);
    json_number(out, "wall_seconds", r->wall);
    json_number(out, "times_real_time", r->seconds / r->wall);
    json_number(out, "contact_seconds", r->collide);
    json_number(out, "contacts_a_step", r->contacts);
    json_number(out, "deepest_cells", r->deepest);
    json_number(out, "deepest_cells_at_end", r->deepest_last);
    json_number(out, "energy_growth", r->energy_growth);
    json_number(out, "energy_left", r->energy_last / r->energy_first);
    json_number(out, "speed_at_end", r->speed_last);
    json_count(out, "lost", r->lost);
    if (!out->json) {
        say(out, "%s:", name);
        say_fact(out, "time",
                 "%.2f s for %.1f s of the scene: %.2f times real time; contacts %.2f s", r->wall,
                 r->seconds, r->seconds / r->wall, r->collide);
        say_fact(out, "contacts", "%.0f a step", r->contacts);
        say_fact(out, "deepest", "%.2f cells at any time, %.2f at the end", r->deepest,
                 r->deepest_last);
        say_fact(out, "energy",
                 "grew by at most %.3g of the first in a tenth of a second; %.0f%% left",
                 r->energy_growth, 100 * r->energy_last / r->energy_first);
        say_fact(out, "at the end", "fastest %.3g, lost %u of %u", r->speed_last, r->lost,
                 r->bodies);
    }
    out_end(out);
}

static int run_scene(tool_run *tool, drop_scene *scene, drop_options *options, film *f,
                     const char *name, drop_result *result) {
    options->user = f;
    options->frame = take_frame;
    f->scene = scene;
    f->tool = tool;
    f->taken = 0;
    f->seconds = options->seconds;
    progress_start(tool->progress, name);
    abut_status status = drop_run(scene, options, result);
    progress_erase(tool->progress);
    if (status)
        return tool_fail(tool, f->status ? f->status : status);
    return 0;
}

static int run_drop(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = option_given(arguments, "png"),
                     *bodies = option_given(arguments, "bodies"),
                     *seconds = option_given(arguments, "seconds"),
                     *seed = option_given(arguments, "seed");
    drop_options options = {.bodies = bodies ? bodies->counts[0] : 100,
                            .seed = seed ? seed->counts[0] : 1};
    drop_scene *scene = NULL;
    drop_result fields, meshes;
    film f = {.pixels = NULL};
    if (!options.bodies || options.bodies > 2000)
        return tool_refuse(tool, "--bodies needs a number from 1 to 2000");
    if (png && !word_in(path_ending(png->words), "png|ppm"))
        return tool_refuse(tool, "%s: the name of a picture must end in .png or .ppm", png->words);
    options.seconds = seconds ? seconds->numbers[0] : drop_seconds(options.bodies);
    if (png && !(f.pixels = malloc(4 * (size_t)WIDTH * HEIGHT * FRAMES)))
        return tool_fail_with(tool, "out of memory", "there is no memory for the picture");
    progress_start(tool->progress, "models");
    abut_status status = drop_create(tool->context, &scene);
    int code = status ? tool_fail(tool, status) : 0;
    code = code ? code : run_scene(tool, scene, &options, &f, "abut", &fields);
    if (!code && png &&
        (status = abut_image_write(tool->context, png->words, f.pixels, WIDTH * COLUMNS,
                                   HEIGHT * (FRAMES / COLUMNS))))
        code = tool_fail(tool, status);
    bool compare = option_given(arguments, "compare") != NULL;
    free(f.pixels);
    f.pixels = NULL;
    options.trimesh = true;
    if (!code && compare)
        code = run_scene(tool, scene, &options, &f, "ODE", &meshes);
    if (!code) {
        out_object(&tool->out, NULL);
        tell(&tool->out, "abut", &fields);
        if (compare)
            tell(&tool->out, "ode", &meshes);
        out_end(&tool->out);
    }
    drop_destroy(scene);
    return code;
}
#else
static int run_drop(tool_run *tool, const tool_arguments *arguments) {
    (void)arguments;
    return tool_fail_with(tool, "not supported",
                          "this build has no physics engine; install libode-dev and build again");
}
#endif

static int run(tool_run *tool, const tool_arguments *arguments) {
    if (strcmp(arguments->operands[0], "drop") != 0)
        return tool_refuse(tool, "there is no demo '%s'; the only one is drop",
                           arguments->operands[0]);
    return run_drop(tool, arguments);
}

static const tool_option options[] = {
    {"png", "FILE", OPTION_TEXT, "draw a film strip into FILE", NULL, false},
    {"bodies", "N", OPTION_COUNT, "how many fall (default: 100)", NULL, false},
    {"seconds", "S", OPTION_POSITIVE, "how long (default: until all have come to rest)", NULL,
     false},
    {"seed", "S", OPTION_COUNT, "start of the random numbers (default: 1)", NULL, false},
    {"compare", NULL, OPTION_FLAG, "run it with ODE's own colliders of triangle meshes as well",
     NULL, false},
    {0}};

const tool_command command_demo = {
    .name = "demo",
    .operands = "drop",
    .summary = "watch fields at work in a physics engine",
    .about = "drop: a hundred teapots, rings and critters fall into a bowl and come to rest. The "
             "Open Dynamics Engine moves them; abut's distance fields are a geometry class of it "
             "(examples/ode) and find the contacts. Tells how long that took, how deep bodies sank "
             "into each other, in cells of the field of the bowl, and whether energy grew.",
    .examples = "  abut demo drop --png drop.png\n"
                "  abut demo drop --bodies 30 --compare --json\n",
    .options = options,
    .operand_kind = OPERAND_NONE,
    .operand_least = 1,
    .operand_most = 1,
    .run = run,
};
