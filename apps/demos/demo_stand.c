/* abut demo stack, wall, plates, shot, dominoes, bowl, drop, plane: rigid bodies in a physics
 * engine, with exact contacts or, in the last two, with those of distance fields. */
#include "tool.h"

#include <string.h>

#ifdef ABUT_HAS_ODE
#include "stand.h"

static const char *const names[] = {"stack",    "wall", "plates", "shot",
                                    "dominoes", "bowl", "drop",   "plane"}; /* by stand_kind */

enum { GRID_LINES = 3 /* on each side of the middle */ };

typedef struct stand_film {
    tool_run *tool;
    stand_kind kind;
    double seconds;
    tool_film strip;
} stand_film;

/* A grid on the plane z = 0. */
static void draw_grid(abut_picture *picture, double half) {
    const abut_colour grey = {0.62f, 0.66f, 0.72f, 1};
    for (int i = -GRID_LINES; i <= GRID_LINES; i++) {
        const double t = half * i / GRID_LINES;
        ensure(abut_picture_add_line(picture, (abut_vec3){t, -half, 0}, (abut_vec3){t, half, 0}, 1,
                                     grey));
        ensure(abut_picture_add_line(picture, (abut_vec3){-half, t, 0}, (abut_vec3){half, t, 0}, 1,
                                     grey));
    }
}

static void draw_stand_frame(const stand_film *f, const abut_pose *poses, abut_mesh *const *meshes,
                             uint32_t count, abut_picture **picture) {
    /* The extent of the scenes, so that all frames show the same region. */
    static const abut_vec3 reach[] = {{4, 4, 10}, {5, 3, 5.5}, {0.7, 0.7, 0.5}, {0.5, 0.5, 0.25},
                                      {7, 3, 2},  {5, 5, 5},   {5, 5, 5},       {1.5, 1, 2.4}};
    const bool is_bowl = f->kind == STAND_BOWL || f->kind == STAND_DROP;
    abut_picture_options camera = abut_picture_options_default();
    abut_vec3 r = reach[f->kind];
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.ground = f->kind == STAND_PLANE;
    camera.eye_direction = is_bowl ? (abut_vec3){0.25, -1, 0.95} : (abut_vec3){0.5, -1, 0.3};
    ensure(abut_picture_create(f->tool->context, &camera, picture));
    for (uint32_t i = 0; i < 4; i++)
        ensure(abut_picture_add_point(*picture,
                                      (abut_vec3){i & 1 ? r.x : -r.x, i & 2 ? r.y : -r.y,
                                                  i == 3 ? r.z : 0},
                                      0.1, (abut_colour){1, 1, 1, 0.01f}));
    if (f->kind == STAND_PLANE)
        draw_grid(*picture, 1.5);
    /* For the other scenes, the ground of the picture is the floor. */
    for (uint32_t i = is_bowl || f->kind == STAND_SHOT ? 0 : 1; i < count; i++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.colour = abut_picture_colour(i);
        style.smooth = f->kind == STAND_DROP || f->kind == STAND_PLANE;
        if (is_bowl && i == 0)
            style.colour = (abut_colour){0.80f, 0.84f, 0.90f, 0.35f};
        ensure(abut_picture_add_mesh(*picture, meshes[i], poses[i], &style));
    }
}

static bool add_film_frame(void *user, double time, const abut_pose *poses,
                           abut_mesh *const *meshes, uint32_t count) {
    stand_film *f = user;
    char stage[48];
    snprintf(stage, sizeof stage, "frame %.0f of %.0f", 60 * time, 60 * f->seconds);
    if (!progress_report(f->tool->progress, stage, time / f->seconds))
        return false;
    bool due = f->strip.pixels && f->strip.taken < FILM_FRAMES &&
               time >= f->seconds * f->strip.taken / FILM_FRAMES - 1e-9;
    if (!due && !film_needs_all(&f->strip))
        return true;
    abut_picture *picture = NULL;
    draw_stand_frame(f, poses, meshes, count, &picture);
    film_page(&f->strip, picture);
    if (due)
        film_add_frame(&f->strip, picture);
    abut_picture_destroy(picture);
    return true;
}

static void print_stand(tool_output *out, const stand_result *r) {
    json_count(out, "bodies", r->bodies);
    json_number(out, "seconds", r->seconds);
    json_number(out, "wall_seconds", r->wall);
    json_number(out, "contact_seconds", r->collide);
    json_number(out, "contacts_a_step", r->contacts);
    json_number(out, "largest_tilt", r->tilt);
    json_number(out, "tilt_at_end", r->tilt_end);
    json_number(out, "drift", r->drift);
    json_number(out, "sunk", r->sunk);
    json_number(out, "sunk_at_end", r->sunk_end);
    json_number(out, "energy_at_end", r->energy);
    json_number(out, "energy_growth", r->energy_growth);
    if (r->rest >= 0)
        json_number(out, "at_rest_from", r->rest);
    else
        json_null(out, "at_rest_from");
    json_count(out, "out_of_place", r->out_of_place);
    if (out->json)
        return;
    print_fact(out, "time", "%.2f s for %.1f s of simulated time; contacts %.2f s, %.0f per step",
               r->wall, r->seconds, r->collide, r->contacts);
    print_fact(out, "tilt", "%.4f degrees at most, %.4f at the end", r->tilt, r->tilt_end);
    print_fact(out, "drift", "%.3g", r->drift);
    print_fact(out, "sunk", "%.3g of the body size after the first second, %.3g at the end",
               r->sunk, r->sunk_end);
    print_fact(out, "energy", "grows by at most %.3g of the initial value in 0.1 s",
               r->energy_growth);
    if (r->rest >= 0)
        print_fact(out, "at rest", "from %.3f s on", r->rest);
    else
        print_fact(out, "at rest", "no: %.3g J", r->energy);
    print_fact(out, "in place", "%u of %u", r->bodies - r->out_of_place, r->bodies);
}

int demo_stand(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments), *bodies = option_given(arguments, "bodies");
    stand_film f = {.tool = tool};
    abut_device *device = device_open(tool, arguments);
    stand_options options = {.device = device,
                             .bodies = bodies ? bodies->counts[0] : 0,
                             .seed = option_count(arguments, "seed", 1),
                             .frame = add_film_frame,
                             .user = &f};
    while (strcmp(names[f.kind], arguments->operands[0]) != 0)
        f.kind++;
    options.kind = f.kind;
    f.seconds = option_number(arguments, "seconds", stand_seconds(f.kind, options.bodies));
    options.seconds = f.seconds;
    option_range(tool, bodies, 1, f.kind >= STAND_BOWL ? 200 : 50, "bodies");
    legend_add(&f.strip.legend, (abut_colour){0.80f, 0.84f, 0.90f, 1}, "bowl");
    for (uint32_t i = 0; i < 8; i++) /* all colours of the palette */
        legend_add(&f.strip.legend, abut_picture_colour(i), "bodies");
    film_open(tool, arguments, &f.strip, 1.0 / 60);
    stand_result result;
    tool_output *out = &tool->out;
    progress_start(tool->progress, names[f.kind]);
    ensure(stand_run(tool->context, &options, &result));
    if (png)
        film_write(tool, &f.strip, png->words);
    out_object(out, NULL);
    json_text(out, "scene", names[f.kind]);
    if (f.kind == STAND_DROP || f.kind == STAND_PLANE)
        device_print(out, device);
    print_stand(out, &result);
    if (option_given(arguments, "compare")) {
        stand_result own;
        film_end(&f.strip);
        options.own = true;
        ensure(stand_run(tool->context, &options, &own));
        out_object(out, "ode");
        print_line(out, "colliders of ODE:");
        print_stand(out, &own);
        out_end(out);
    }
    abut_device_destroy(device);
    progress_erase(tool->progress);
    pictures_print_paths(tool, arguments);
    out_end(out);
    answer(tool, "%u", result.out_of_place);
    return result.out_of_place ? CODE_FOUND : CODE_FINE;
}
#else
int demo_stand(tool_run *tool, const tool_arguments *arguments) {
    (void)arguments;
    tool_fail_with(tool, "not supported",
                   "this build has no physics engine; install libode-dev and build again");
}
#endif
