/* abut simulate: a scene in time. Contacts, impacts and cloth are those of abut_world_step(); rigid
 * bodies are moved by a physics engine with these contacts. */
#include "simulate.h"
#include "apps/get.h"
#include "view.h"

#include <string.h>

#define SUBSTEP_RIGID (1.0 / 240) /* seconds: the longest step by default with rigid bodies */
#define SUBSTEP (1.0 / 60)        /* without */

typedef struct simulating {
    simulation sim;
    uint32_t frames, substeps, done;
    double fps, start; /* `start`: time of the first frame of this run */
    bool checks, untangles;
    abut_cloth_untangle_report untangled; /* with --untangle */
    uint32_t bad, first_bad; /* frames in which cloth intersects something; the first one */
    double check_seconds;
    const char *record, *state, *resume; /* files */
    sim_state saved;                     /* after the last complete frame, or the start */
    uint32_t first;                      /* frame at the start */
    abut_frames_writer *writer;
    abut_vec3 *positions; /* of all bodies */
    tool_film film;
    abut_picture_options camera;
    abut_box view;
} simulating;

/* ---- recording ---- */

static void open_recording(simulating *s) {
    const simulation *sim = &s->sim;
    abut_frames_options options = abut_frames_options_default();
    size_t count = 0;
    if (!s->record)
        return;
    abut_mesh **meshes = tool_array((size_t)sim->body_count, sizeof *meshes);
    const char **names = tool_array((size_t)sim->body_count, sizeof *names);
    for (uint32_t i = 0; i < sim->body_count; i++) {
        meshes[i] = sim->bodies[i].scene->mesh;
        names[i] = sim->bodies[i].scene->name;
        count += sim_vertex_count(&sim->bodies[i]);
    }
    options.type = ABUT_SCALAR_FLOAT32;
    options.seconds = 1 / s->fps;
    options.names = names;
    options.up = sim->scene.up;
    s->positions = tool_array(count, sizeof *s->positions);
    ensure(abut_frames_writer_create(meshes, sim->body_count, tool_target(sim->tool, s->record),
                                     &options, &s->writer));
}

static void record_frame(simulating *s) {
    abut_vec3 *to = s->positions;
    for (uint32_t i = 0; i < s->sim.body_count && s->writer; i++) {
        sim_get_positions(&s->sim, i, to);
        to += sim_vertex_count(&s->sim.bodies[i]);
    }
    if (s->writer)
        ensure(abut_frames_writer_add(s->writer, s->positions, NULL));
}

static void close_recording(simulating *s) {
    abut_frames_writer *writer = s->writer;
    s->writer = NULL;
    if (writer)
        ensure(abut_frames_writer_finish(writer));
}

/* ---- pictures ---- */

static bool is_plane(const sim_body *body) {
    return body->scene->collider.kind == ABUT_COLLIDER_PLANE;
}

static abut_colour colour_of(const simulation *s, uint32_t index) {
    return is_plane(&s->bodies[index]) ? (abut_colour){0.80f, 0.82f, 0.85f, 1}
                                       : abut_picture_colour(index);
}

static void add_box(abut_box *box, const abut_mesh *mesh, const abut_pose *pose) {
    const abut_box own = abut_mesh_bounds(mesh);
    for (int k = 0; k < 8; k++) {
        abut_vec3 p = {k & 1 ? own.hi.x : own.lo.x, k & 2 ? own.hi.y : own.lo.y,
                       k & 4 ? own.hi.z : own.lo.z};
        if (!abut_pose_apply(pose, p, &p))
            box_add(box, p);
    }
}

/* All bodies at the start, and at the end those that no force moves: the same in all frames. */
static void find_view(simulating *s) {
    s->view = empty_box;
    for (uint32_t i = 0; i < s->sim.body_count; i++) {
        const sim_body *body = &s->sim.bodies[i];
        abut_pose end;
        add_box(&s->view, body->scene->mesh, &body->scene->collider.pose);
        if ((body->kind == SIM_KINEMATIC || body->kind == SIM_CHARACTER) &&
            !abut_scene_pose_body(s->sim.assembly.scene, i, (s->first + s->frames) / s->fps, &end,
                                  NULL))
            add_box(&s->view, body->scene->mesh, &end);
    }
}

static void draw_body(const simulating *s, abut_picture *picture, uint32_t index) {
    const sim_body *body = &s->sim.bodies[index];
    abut_mesh_style style = abut_mesh_style_default();
    abut_mesh *mesh = abut_mesh_retain(body->scene->mesh);
    abut_pose pose = body->pose;
    style.colour = colour_of(&s->sim, index);
    style.smooth = true;
    style.two_sided = body->kind == SIM_SHEET;
    if (body->kind == SIM_SHEET || body->kind == SIM_CHARACTER || s->sim.lags) {
        const uint32_t count = sim_vertex_count(body);
        abut_vec3 *positions = tool_array(count, sizeof *positions);
        sim_get_positions(&s->sim, index, positions);
        abut_mesh_destroy(mesh);
        mesh = mesh_new(s->sim.tool, positions, count, abut_mesh_indices(body->scene->mesh),
                        abut_mesh_triangle_count(body->scene->mesh));
        pose = abut_pose_identity();
        tool_free(positions);
    }
    ensure(abut_picture_add_mesh(picture, mesh, pose, &style));
    abut_mesh_destroy(mesh);
}

static void draw_frame(simulating *s, uint32_t frame) {
    const uint64_t wanted = (uint64_t)s->film.taken + 1;
    const bool due = s->film.pixels && s->film.taken < FILM_FRAMES &&
                     (uint64_t)frame * FILM_FRAMES >= wanted * s->frames;
    abut_picture *picture = NULL;
    if (!due && !film_needs_all(&s->film))
        return;
    ensure(abut_picture_create(s->sim.tool->context, &s->camera, &picture));
    picture_include(picture, s->view);
    for (uint32_t i = 0; i < s->sim.body_count; i++)
        draw_body(s, picture, i);
    film_page(&s->film, picture);
    while (due && s->film.taken < FILM_FRAMES &&
           (uint64_t)frame * FILM_FRAMES >= ((uint64_t)s->film.taken + 1) * s->frames)
        film_add_frame(&s->film, picture);
    abut_picture_destroy(picture);
}

/* ---- frames ---- */

static void check_frame(simulating *s, uint32_t frame) {
    const double start = seconds_now();
    abut_cloth *cloth = s->checks ? sim_cloth(&s->sim) : NULL;
    bool is_free = true;
    if (cloth)
        ensure(abut_cloth_is_free(cloth, &is_free));
    if (!is_free) {
        s->first_bad = s->bad ? s->first_bad : frame;
        s->bad++;
    }
    s->check_seconds += seconds_now() - start;
}

static void save_frame(simulating *s, uint32_t frame) {
    if (!s->state)
        return;
    s->saved.frame = s->first + frame;
    s->saved.fps = s->fps;
    s->saved.substeps = s->substeps;
    sim_save(&s->sim, &s->saved);
}

static void finish_frame(simulating *s, uint32_t frame) {
    check_frame(s, s->first + frame);
    record_frame(s);
    save_frame(s, frame);
    draw_frame(s, frame);
}

/* Writes the files of all complete frames. */
static void finish_files(simulating *s) {
    close_recording(s);
    if (s->state)
        sim_write_state(&s->sim, &s->saved, s->state);
}

/* Prints what a run that ended early has kept. */
static void print_kept(const simulating *s) {
    tool_text words = {0};
    text_print(&words, "%u of %u frames are complete", s->done, s->frames);
    if (s->record)
        text_print(&words, "; they are in '%s'", s->record);
    if (s->state)
        text_print(&words, "; '--resume %s' continues after frame %u", s->state,
                   s->first + s->done);
    tool_log(s->sim.tool, ABUT_LOG_INFO, text_of(&words));
    text_free(&words);
}

/* Names the option that helps if cloth intersects something at the start. */
static void suggest_untangling(const simulating *s) {
    bool is_free = true;
    if (s->done || s->untangles || !sim_cloth(&s->sim))
        return;
    if (!abut_cloth_is_free(sim_cloth(&s->sim), &is_free) && !is_free)
        tool_log(s->sim.tool, ABUT_LOG_INFO,
                 "--untangle moves sheets apart that intersect something at the start");
}

/* A run that fails or is cancelled keeps the frames that it has recorded. */
static void run_frames(simulating *s) {
    tool_run *tool = s->sim.tool;
    finish_frame(s, 0);
    for (uint32_t frame = 1; frame <= s->frames; frame++) {
        char stage[64];
        abut_status status = ABUT_OK;
        snprintf(stage, sizeof stage, "frame %u of %u", s->first + frame, s->first + s->frames);
        for (uint32_t k = 0; k < s->substeps && !status; k++)
            status = progress_report(tool->progress, stage, (double)frame / s->frames)
                         ? sim_advance(&s->sim)
                         : ABUT_ERROR_CANCELLED;
        if (status) {
            char reason[600];
            snprintf(reason, sizeof reason, "frame %u: %s", s->first + frame, abut_last_error());
            finish_files(s);
            print_kept(s);
            if (status != ABUT_ERROR_CANCELLED) {
                suggest_untangling(s);
                abut_set_error(status, reason);
            }
            tool_fail(tool, status);
        }
        finish_frame(s, frame);
        s->done = frame;
    }
    finish_files(s);
}

/* ---- a start that is crossed ---- */

/* Moves the sheets of the scene until they are free, and warns if that fails. */
static void untangle_start(simulating *s) {
    abut_cloth *cloth = s->untangles ? sim_cloth(&s->sim) : NULL;
    abut_cloth_untangle_report *report = &s->untangled;
    *report = abut_cloth_untangle_report_default();
    report->is_free = true;
    if (!cloth)
        return;
    ensure(abut_cloth_untangle(cloth, NULL, report));
    if (report->is_free)
        return;
    tool_text words = {0};
    text_print(&words,
               "cloth could not be untangled: %llu of %llu pairs of triangles still intersect, "
               "from (%.3g, %.3g, %.3g) to (%.3g, %.3g, %.3g)",
               (unsigned long long)report->pairs, (unsigned long long)report->pairs_before,
               report->bounds.lo.x, report->bounds.lo.y, report->bounds.lo.z, report->bounds.hi.x,
               report->bounds.hi.y, report->bounds.hi.z);
    tool_log(s->sim.tool, ABUT_LOG_WARNING, text_of(&words));
    text_free(&words);
}

/* ---- output ---- */

static void print_untangled(const simulating *s, tool_output *out) {
    const abut_cloth_untangle_report *report = &s->untangled;
    if (!s->untangles)
        return;
    out_object(out, "untangled");
    json_count(out, "pairs", report->pairs_before);
    json_count(out, "iterations", report->iterations);
    json_count(out, "moved", report->moved);
    json_number(out, "distance", report->distance);
    out_end(out);
    if (report->pairs_before)
        print_fact(out, "untangled",
                   "%llu pairs of triangles, in %u iterations; %u vertices moved by up to %.3g",
                   (unsigned long long)report->pairs_before, report->iterations, report->moved,
                   report->distance);
    else
        print_fact(out, "untangled", "nothing: the start has no intersections");
}

static void print_times(const simulating *s, tool_output *out) {
    const sim_totals *t = &s->sim.totals;
    const double ms = 1e3 / s->done;
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"rigid", t->rigid_seconds},
                 {"characters", t->character_seconds},
                 {"cloth", t->cloth_seconds},
                 {"impacts", t->impact_seconds},
                 {"contacts", t->contact_seconds}};
    double total = 0;
    out_object(out, "milliseconds");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        json_number(out, parts[i].name, ms * parts[i].seconds);
        total += ms * parts[i].seconds;
    }
    json_number(out, "total", total);
    out_end(out);
    if (s->checks)
        json_number(out, "check_milliseconds", ms * s->check_seconds);
    print_fact(out, "time",
               "%.2f ms per frame: rigid %.2f, characters %.2f, cloth %.2f, impacts %.2f, "
               "contacts %.2f",
               total, ms * parts[0].seconds, ms * parts[1].seconds, ms * parts[2].seconds,
               ms * parts[3].seconds, ms * parts[4].seconds);
}

static void print_rigid(const simulating *s, tool_output *out) {
    const sim_totals *t = &s->sim.totals;
    if (!s->sim.rigid_count)
        return;
    json_number(out, "depth", t->depth);
    json_count(out, "passed", t->passed);
    if (t->depth > 0)
        print_fact(out, "depth", "at most %.3g, of %s in %s", t->depth,
                   s->sim.bodies[t->deepest[0]].scene->name,
                   s->sim.bodies[t->deepest[1]].scene->name);
    else
        print_fact(out, "depth", "0: rigid bodies do not penetrate anything");
    if (t->passed)
        print_fact(out, "passed", "%llu impacts of rigid bodies had no effect; use more --substeps",
                   (unsigned long long)t->passed);
}

static void print_cloth(const simulating *s, tool_output *out) {
    const sim_totals *t = &s->sim.totals;
    if (!s->sim.sheet_count)
        return;
    json_number(out, "gap", t->gap);
    json_count(out, "steps_cut", t->cut);
    json_count(out, "body_vertices_lagging", t->lagging);
    json_text(out, "cloth_guarantee", abut_reliability_level_name(t->cloth.level));
    print_fact(out, "smallest gap", "%.3g", t->gap);
    if (s->sim.scene.seam_count) {
        json_count(out, "seams", s->sim.scene.seam_count);
        json_number(out, "seam_gap", t->seam_gap);
        print_fact(out, "seams", "%llu, open by at most %.3g in the last step",
                   (unsigned long long)s->sim.scene.seam_count, t->seam_gap);
    }
    if (t->cut)
        print_fact(out, "delayed", "cloth made only a part of %u steps", t->cut);
    if (t->lagging)
        print_fact(out, "lag", "%.1f vertices of bodies per step stay behind",
                   (double)t->lagging / t->steps);
    if (!s->checks)
        return;
    json_count(out, "frames_with_intersections", s->bad);
    if (s->bad)
        print_fact(out, "intersections", "in %u frames, first in frame %u", s->bad, s->first_bad);
    else
        print_fact(out, "intersections", "none in any frame, exactly");
}

static void print_simulation(const simulating *s, const tool_arguments *arguments) {
    const simulation *sim = &s->sim;
    const sim_totals *t = &sim->totals;
    tool_output *out = &sim->tool->out;
    const double n = s->done;
    out_object(out, NULL);
    json_path(out, "scene", arguments->operands[0]);
    json_count(out, "bodies", sim->body_count);
    json_count(out, "rigid", sim->rigid_count);
    json_count(out, "characters", sim->character_count);
    json_count(out, "sheets", sim->sheet_count);
    json_count(out, "frames", s->done);
    json_count(out, "substeps", s->substeps);
    json_number(out, "seconds", sim->time - s->start);
    if (s->resume)
        json_count(out, "first_frame", s->first);
    json_number(out, "contacts", (double)t->contacts / t->steps);
    json_number(out, "self_contacts", (double)t->self_contacts / t->steps);
    json_number(out, "impacts", (double)t->impacts / n);
    json_count(out, "unswept", t->unswept);
    if (t->has_pairs)
        json_text(out, "guarantee", abut_world_guarantee_name(t->guarantee));
    else
        json_null(out, "guarantee");
    print_fact(out, "bodies", "%u: %u rigid, %u characters, %u sheets", sim->body_count,
               sim->rigid_count, sim->character_count, sim->sheet_count);
    if (s->resume)
        print_fact(out, "resumed", "from frame %u, at %.3g s", s->first, s->start);
    print_fact(out, "simulated", "%.3g s in %u frames of %u steps", sim->time - s->start, s->done,
               s->substeps);
    print_untangled(s, out);
    print_times(s, out);
    print_fact(out, "contacts", "%.1f per step", (double)t->contacts / t->steps);
    if (t->self_contacts)
        print_fact(out, "self-contacts", "%.1f per step", (double)t->self_contacts / t->steps);
    print_fact(out, "impacts", "%.2f per frame", (double)t->impacts / n);
    if (t->unswept)
        print_fact(out, "not swept", "%llu pairs", (unsigned long long)t->unswept);
    if (t->has_pairs)
        print_fact(out, "guarantee", "%s", abut_world_guarantee_name(t->guarantee));
    print_rigid(s, out);
    print_cloth(s, out);
    pictures_print_paths(sim->tool, arguments);
    out_end(out);
    answer(sim->tool, "%u", s->bad);
}

/* ---- command ---- */

/* A resumed run has the steps of the saved one. */
static void read_saved(simulating *s, const tool_arguments *arguments) {
    tool_run *tool = s->sim.tool;
    sim_read_state(tool, s->resume, &s->saved);
    s->first = (uint32_t)s->saved.frame;
    if (option_number(arguments, "fps", s->saved.fps) != s->saved.fps)
        tool_refuse(tool, "'%s' has %g frames per second; --fps cannot change that", s->resume,
                    s->saved.fps);
    if (option_count(arguments, "substeps", s->saved.substeps) != s->saved.substeps)
        tool_refuse(tool, "'%s' has %u steps per frame; --substeps cannot change that", s->resume,
                    s->saved.substeps);
    s->fps = s->saved.fps;
    if (s->first > UINT32_MAX - s->frames)
        tool_refuse(tool, "'%s' is of frame %u; there can be no more frames", s->resume, s->first);
}

static bool replaces(const char *path, const char *input) {
    return input && strcmp(input, "-") != 0 && target_is_same(path, input);
}

/* No file may be written twice, or replace an input, except the state that the run continues. */
static void check_files(const simulating *s, const tool_arguments *arguments) {
    static const char *const names[] = {"state", "record", "png", "html"};
    tool_run *tool = s->sim.tool;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = option_words(arguments, names[i], NULL);
        if (!path)
            continue;
        if (replaces(path, arguments->operands[0]))
            tool_refuse(tool, "--%s would replace the scene '%s'", names[i], path);
        if (i > 0 && replaces(path, s->resume))
            tool_refuse(tool, "--%s would replace the state '%s'", names[i], path);
        for (size_t k = 0; k < i; k++) {
            const char *other = option_words(arguments, names[k], NULL);
            if (other && target_is_same(path, other))
                tool_refuse(tool, "--%s and --%s are the same file '%s'", names[k], names[i], path);
        }
        if (strcmp(names[i], "html") != 0 || !option_any(arguments, "record|png"))
            target_check(tool, path); /* a page beside other files may fail: view_open() */
    }
}

static void read_options(simulating *s, const tool_arguments *arguments) {
    tool_run *tool = s->sim.tool;
    const tool_given *fps = option_given(arguments, "fps"),
                     *substeps = option_given(arguments, "substeps"),
                     *png = picture_given(arguments);
    option_range(tool, option_given(arguments, "frames"), 1, 1000000, "frames");
    option_range(tool, fps, 1, 10000, "frames per second");
    option_range(tool, substeps, 1, 10000, "steps per frame");
    s->frames = option_count(arguments, "frames", 240);
    s->fps = option_number(arguments, "fps", 60);
    s->record = option_words(arguments, "record", NULL);
    s->state = option_words(arguments, "state", NULL);
    s->resume = option_words(arguments, "resume", NULL);
    s->checks = option_given(arguments, "check") != NULL;
    s->untangles = option_given(arguments, "untangle") != NULL;
    if (png)
        picture_check(tool, png->words);
    check_files(s, arguments);
    if (s->resume)
        read_saved(s, arguments);
}

static void load_scene(simulating *s, const tool_arguments *arguments) {
    tool_run *tool = s->sim.tool;
    assembly_load(tool, arguments, false, &s->sim.assembly);
    if (!s->sim.assembly.scene)
        tool_refuse(tool, "'%s' is not a scene; write one as docs/scene.md describes",
                    arguments->operands[0]);
    if (!s->sim.assembly.count)
        tool_refuse(tool, "'%s' has no bodies", arguments->operands[0]);
    bool has_mass = false;
    for (uint32_t i = 0; i < s->sim.assembly.count; i++)
        has_mass = has_mass || s->sim.assembly.bodies[i].mass > 0;
    const double longest = has_mass ? SUBSTEP_RIGID : SUBSTEP;
    const double usual = ceil(1 / (s->fps * longest) - 1e-9);
    s->substeps = s->resume ? s->saved.substeps
                            : option_count(arguments, "substeps", (uint32_t)fmax(usual, 1));
}

static void start_film(simulating *s, const tool_arguments *arguments) {
    tool_run *tool = s->sim.tool;
    if (!picture_given(arguments) && !option_given(arguments, "live"))
        return;
    s->camera = abut_picture_options_default();
    s->camera.width = FILM_WIDTH;
    s->camera.height = FILM_HEIGHT;
    camera_read(tool, arguments, &s->camera);
    for (uint32_t i = 0; i < s->sim.body_count; i++)
        legend_add(&s->film.legend, colour_of(&s->sim, i), "%s", s->sim.bodies[i].scene->name);
    find_view(s);
    film_open(tool, arguments, &s->film, 1 / s->fps);
}

static int run_simulate(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments);
    simulating s = {.sim.tool = tool};
    read_options(&s, arguments);
    load_scene(&s, arguments);
    abut_device *device = device_open(tool, arguments);
    sim_create(&s.sim, 1 / (s.fps * s.substeps), device);
    abut_device_destroy(device); /* the world keeps a reference */
    if (s.resume)
        sim_restore(&s.sim, &s.saved, s.resume);
    untangle_start(&s);
    sim_find_contacts(&s.sim);
    s.start = s.sim.time;
    open_recording(&s);
    start_film(&s, arguments);
    progress_start(tool->progress, arguments->operands[0]);
    run_frames(&s);
    if (png)
        film_write(tool, &s.film, png->words);
    progress_erase(tool->progress);
    print_simulation(&s, arguments);
    sim_destroy(&s.sim);
    text_free(&s.saved.bytes);
    assembly_free(&s.sim.assembly);
    return s.bad ? CODE_FOUND : CODE_FINE;
}

static const tool_option options[] = {
    OPTION("frames", "N", COUNT, "number of frames of this run (default: 240)"),
    OPTION("fps", "F", POSITIVE, "frames per second (default: 60)"),
    OPTION("substeps", "N", COUNT,
           "steps of the world in a frame (default: steps of at most 1/240 s with rigid bodies, "
           "otherwise 1/60 s)"),
    OPTION("record", "FILE", TEXT, "record all frames (.abutm)"),
    OPTION("state", "FILE", TEXT, "write the state after the last complete frame"),
    OPTION("resume", "FILE", TEXT, "continue from such a state, of the same scene"),
    FLAG("untangle", "move sheets apart that intersect something at the start"),
    FLAG("check", "test every frame for intersections of cloth, exactly"),
    OPTION("png", "FILE", TEXT, "draw eight frames"),
    PAGE_OPTION,
    CAMERA_OPTIONS("iso"),
    DEVICE_OPTION,
    LIVE_OPTIONS("serve a page on this machine that shows the frames while they are computed; "
                 "starts when the page is open"),
    {0}};

const tool_command command_simulate = {
    .name = "simulate",
    .operands = "SCENE.json",
    .summary = "move a scene in time: rigid bodies, characters and cloth",
    .about =
        "Moves the bodies of a scene in steps. Bodies with a mass are rigid, in the Open Dynamics "
        "Engine, with the contacts of abut. Characters play their clips, other bodies have a "
        "constant velocity, and sheets of cloth never pass through anything. In each step the "
        "world computes all contacts, contacts of characters with themselves, and all impacts on "
        "the way, so that fast bodies do not pass through others unnoticed.\n\n"
        "A run that is cancelled (Ctrl-C) or fails keeps the frames that it has recorded. With "
        "--state it also keeps its state, and --resume continues as if it had not ended. The "
        "recording of a resumed run begins with the frame of the state.",
    .found = "cloth intersects something in a frame (with --check)",
    .examples = "  abut simulate scene.json --record scene.abutm --html film.html\n"
                "  abut simulate scene.json --frames 600 --check --json\n"
                "  abut simulate scene.json --live\n"
                "  abut simulate scene.json --state run.state\n"
                "  abut simulate scene.json --resume run.state --state run.state\n",
    .options = options,
    .operand_range = {1, 1},
    .run = run_simulate,
};
