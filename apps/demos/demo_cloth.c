/* abut demo ball, sleeve, sheet, twist, knot, pile, funnel, and the names of garments: cloth that
 * does not pass through itself. */
#include "character.h"

#include "cloth_scene.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Relative growth of the energy that is a failure: jammed cloth fluctuates by some percent. */
#define ENERGY_GROWTH_MAX 0.1

typedef struct showing {
    tool_run *tool;
    scene *scene;
    const char *name, *record, *meshes, *png;
    uint32_t frames;
    tool_film film;
    abut_frames_writer *writer;

    double dynamics, search, sweep;
    uint64_t contacts, impacts, rounds, halved, late;
    double thinnest, latest;
    abut_character *character;
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT];
    bool radial;
    double energy, growth; /* when the solid stops, sum of absolute values; largest growth later */
    double energy_at_rest, energy_at_end;
    double depth; /* largest depth of a vertex inside the body, in any frame */
    uint32_t cut; /* frames of which only a part of the step was made */
    uint32_t bad; /* frames with an intersection; the first one is `first` */
    uint32_t first;
} showing;

/* ---- one frame ---- */

static void record_frame(showing *s) {
    const uint32_t count = scene_vertex_count(s->scene);
    if (!s->writer)
        return;
    abut_vec3 *positions = abut_context_allocate(s->tool->context, count, 2 * sizeof *positions);
    ensure(positions ? ABUT_OK : ABUT_ERROR_MEMORY);
    ensure(scene_get_positions(s->scene, positions, positions + count));
    ensure(abut_frames_writer_add(s->writer, positions, positions + count));
    abut_context_free(s->tool->context, positions);
}

static void write_meshes(const showing *s, uint32_t frame) {
    static const char *const parts[] = {"cloth", "solid"};
    for (uint32_t which = 0; which < 2 && s->meshes; which++) {
        char path[4096];
        abut_mesh *mesh = NULL;
        int length = snprintf(path, sizeof path, "%s/%s%05u.ply", s->meshes, parts[which], frame);
        if (length < 0 || (size_t)length >= sizeof path) {
            ensure(
                abut_set_error(ABUT_ERROR_FILE, "the path of the folder of --meshes is too long"));
            return;
        }
        ensure(scene_create_mesh(s->scene, which, &mesh));
        ensure(abut_mesh_write(mesh, path, NULL));
        abut_mesh_destroy(mesh);
    }
}

static const abut_colour colours[2] = {{0.30f, 0.55f, 0.80f, 1}, {0.85f, 0.55f, 0.30f, 1}};

static void draw_cloth(const showing *s, abut_picture **picture) {
    abut_picture_options camera = abut_picture_options_default();
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.eye_direction = scene_eye(s->scene);
    camera.up = scene_up(s->scene);
    ensure(abut_picture_create(s->tool->context, &camera, picture));
    for (uint32_t which = 0; which < 2; which++) {
        abut_mesh_style style = abut_mesh_style_default();
        abut_mesh *mesh = NULL;
        style.smooth = true;
        style.colour = colours[which];
        style.two_sided = s->character != NULL; /* garments show both sides */
        if (which == (strcmp(s->name, "funnel") == 0) && word_in(s->name, "ball|funnel"))
            style.colour.a = 0.45f; /* the interior should be visible */
        ensure(scene_create_mesh(s->scene, which, &mesh));
        ensure(abut_picture_add_mesh(*picture, mesh, (abut_pose){0}, &style));
        abut_mesh_destroy(mesh);
    }
    picture_include(*picture, scene_view(s->scene));
}

static void render_frame(showing *s, uint32_t frame) {
    bool due = s->film.pixels &&
               (uint64_t)frame * FILM_FRAMES >= (uint64_t)(s->film.taken + 1) * s->frames;
    if (!due && !film_needs_all(&s->film))
        return;
    abut_picture *picture = NULL;
    draw_cloth(s, &picture);
    film_page(&s->film, picture);
    while (due && (uint64_t)frame * FILM_FRAMES >= (uint64_t)(s->film.taken + 1) * s->frames &&
           s->film.taken < FILM_FRAMES)
        film_add_frame(&s->film, picture);
    abut_picture_destroy(picture);
}

static void check_intersections(showing *s, uint32_t frame) {
    bool is_free = true;
    double depth = 0;
    if (s->radial)
        ensure(scene_depth(s->scene, &depth));
    else
        ensure(abut_cloth_is_free(scene_cloth(s->scene), &is_free));
    is_free = is_free && depth <= SCENE_CELL;
    s->depth = depth > s->depth ? depth : s->depth;
    if (!is_free) {
        s->first = s->bad ? s->first : frame;
        s->bad++;
    }
}

/* Once the solid does not move, the energy must not grow. */
static void check_energy(showing *s) {
    abut_cloth_energy e = abut_cloth_energy_default();
    if (scene_time(s->scene) < scene_rest_time(s->scene) - 1e-9)
        return;
    ensure(abut_cloth_get_energy(scene_cloth(s->scene), &e));
    s->energy_at_end = e.kinetic + e.gravity + e.elastic;
    if (!(s->energy > 0)) {
        s->energy = e.kinetic + fabs(e.gravity) + e.elastic;
        s->energy_at_rest = s->energy_at_end;
    }
    s->growth = fmax(s->growth, s->energy_at_end - s->energy_at_rest);
}

static void step_cloth(showing *s) {
    abut_cloth_report r = abut_cloth_report_default();
    ensure(scene_step(s->scene, &r));
    s->dynamics += r.motion_seconds;
    s->search += r.contact_seconds;
    s->sweep += r.impact_seconds;
    s->contacts += r.contacts;
    s->impacts += r.impacts;
    s->rounds += r.sweeps;
    s->halved += r.halvings;
    s->thinnest = r.gap < s->thinnest ? r.gap : s->thinnest;
    s->cut += r.fraction < 1;
    s->late += r.lagging;
    s->latest = r.lag > s->latest ? r.lag : s->latest;
}

/* ---- all frames ---- */

static void run_frames(showing *s) {
    for (uint32_t frame = 0; frame <= s->frames; frame++) {
        if (frame)
            step_cloth(s);
        progress_frame(s->tool, frame, s->frames);
        check_intersections(s, frame);
        check_energy(s);
        record_frame(s);
        write_meshes(s, frame);
        if (frame)
            render_frame(s, frame);
    }
}

static void print_cloth_demo(const showing *s, const tool_arguments *arguments) {
    tool_output *out = &s->tool->out;
    abut_cloth_material material = abut_cloth_material_default();
    ensure(abut_cloth_get_material(scene_cloth(s->scene), 0, &material));
    uint32_t triangles = abut_mesh_triangle_count(scene_mesh(s->scene, 0)),
             solid = abut_mesh_triangle_count(scene_mesh(s->scene, 1));
    double all = s->dynamics + s->search + s->sweep, n = s->frames;
    out_object(out, NULL);
    json_text(out, "scene", s->name);
    json_count(out, "triangles", triangles);
    json_count(out, "solid_triangles", solid);
    json_count(out, "frames", s->frames);
    json_number(out, "seconds_a_frame", all / n);
    json_number(out, "dynamics_seconds", s->dynamics / n);
    json_number(out, "contact_seconds", s->search / n);
    json_number(out, "sweep_seconds", s->sweep / n);
    json_number(out, "contacts", (double)s->contacts / n);
    json_number(out, "impacts", (double)s->impacts / n);
    json_number(out, "rounds", (double)s->rounds / n);
    json_count(out, "zones_halved", s->halved);
    json_count(out, "frames_cut", s->cut);
    if (s->character) {
        json_number(out, "body_late", (double)s->late / n);
        json_number(out, "body_latest", s->latest);
    }
    json_number(out, "thinnest_gap", s->thinnest);
    json_number(out, "thickness", material.thickness);
    if (s->energy > 0) {
        json_number(out, "energy_at_rest", s->energy_at_rest);
        json_number(out, "energy_at_end", s->energy_at_end);
        json_number(out, "energy_growth", s->growth);
    }
    const scene_parts parts = scene_parts_of(s->scene);
    if (s->radial) {
        json_number(out, "skin_seconds", parts.skin / n);
        json_number(out, "field_seconds", parts.fields / n);
        json_number(out, "self_seconds", parts.self / n);
        json_number(out, "solve_seconds", parts.solve / n);
        json_number(out, "collide_seconds", parts.collide / n);
        json_number(out, "outside_seconds", parts.outside / n);
        json_number(out, "deepest", s->depth);
    }
    json_count(out, s->radial ? "frames_too_deep" : "frames_with_intersections", s->bad);
    if (!out->json) {
        print_line(out, "%s: cloth of %u triangles, solid of %u, %u frames", s->name, triangles,
                   solid, s->frames);
        if (s->radial)
            print_fact(
                out, "time",
                "%.2f ms per frame: skin %.2f, fields %.2f, self %.2f, solve %.2f, collide %.2f",
                1e3 * all / n, 1e3 * parts.skin / n, 1e3 * parts.fields / n, 1e3 * parts.self / n,
                1e3 * parts.solve / n, 1e3 * parts.collide / n);
        else
            print_fact(out, "time", "%.1f ms per frame: motion %.1f, contacts %.1f, sweeps %.1f",
                       1e3 * all / n, 1e3 * s->dynamics / n, 1e3 * s->search / n,
                       1e3 * s->sweep / n);
        if (parts.outside > 0)
            print_fact(out, "outside", "%.2f ms of it, moving vertices out of the body",
                       1e3 * parts.outside / n);
        print_fact(out, "contacts", "%.0f per frame", (double)s->contacts / n);
        if (s->radial)
            print_fact(out, "impacts", "%.1f per frame", (double)s->impacts / n);
        else
            print_fact(out, "impacts", "%.1f per frame, resolved after %.1f passes",
                       (double)s->impacts / n, (double)s->rounds / n);
        if (s->halved || s->cut)
            print_fact(out, "delayed", "some vertices %llu times, the whole scene in %u frames",
                       (unsigned long long)s->halved, s->cut);
        if (s->character && !s->radial)
            print_fact(out, "body", "%.1f vertices late per frame, at most by %.3g",
                       (double)s->late / n, s->latest);
        if (!s->radial)
            print_fact(out, "smallest gap", "%.3g, thickness %.3g", s->thinnest,
                       material.thickness);
        if (s->energy > 0)
            print_fact(out, "energy",
                       "%.4g J when the solid stops, %.4g J at the end, growth %.2g J",
                       s->energy_at_rest, s->energy_at_end, s->growth);
        if (s->radial)
            print_fact(out, "depth", "at most %.3g, exactly; cell size %g", s->depth, SCENE_CELL);
        else if (s->bad)
            print_fact(out, "intersections", "in %u frames, first in frame %u", s->bad, s->first);
        else
            print_fact(out, "intersections", "none in any frame, exactly");
    }
    pictures_print_paths(s->tool, arguments);
    out_end(out);
    answer(s->tool, "%u", s->bad);
}

static void begin_cloth_scene(showing *s, scene_options options) {
    for (int k = 0; k < SCENE_COUNT; k++)
        if (!strcmp(s->name, scene_name((scene_kind)k)))
            options.kind = (scene_kind)k;
    ensure(scene_create(s->tool->context, &options, &s->scene));
    s->thinnest = 1e300;
    if (s->record) {
        abut_mesh *const meshes[] = {scene_mesh(s->scene, 0), scene_mesh(s->scene, 1)};
        abut_frames_options file = abut_frames_options_default();
        file.type = ABUT_SCALAR_FLOAT32;
        file.aims = true;
        file.seconds = scene_frame_seconds(s->scene);
        file.names = (const char *const[]){"cloth", s->character ? "body" : "solid"};
        file.up = scene_up(s->scene);
        ensure(abut_frames_writer_create(meshes, 2, s->record, &file, &s->writer));
    }
    if (s->meshes && mkdir(s->meshes, 0777) != 0 && errno != EEXIST) {
        char sentence[256];
        snprintf(sentence, sizeof sentence, "the folder of --meshes cannot be created: %s",
                 strerror(errno));
        ensure(abut_set_error(ABUT_ERROR_FILE, sentence));
    }
}

/* Reads the options except the kind of the scene. */
static void read_demo_cloth_options(tool_run *tool, const tool_arguments *arguments,
                                    scene_options *options) {
    const tool_given *triangles = option_given(arguments, "triangles"),
                     *solid = option_given(arguments, "solid");
    option_range(tool, triangles, 100, 1000000, "triangles");
    option_range(tool, solid, 12, 1000000, "triangles");
    options->triangles = triangles ? triangles->counts[0] : 0;
    options->solid_triangles = solid ? solid->counts[0] : 0;
    options->device = device_open(tool, arguments);
}

/* Loads the character of a garment. */
static void read_character(showing *s, const tool_arguments *arguments, scene_options *options) {
    const tool_given *model = option_given(arguments, "model"),
                     *method = option_given(arguments, "method"),
                     *clip = option_given(arguments, "clip"),
                     *joints = option_given(arguments, "joints"),
                     *without = option_given(arguments, "without"),
                     *ease = option_given(arguments, "ease");
    const bool radial = method && !strcmp(method->words, "radial");
    if ((option_given(arguments, "self") || option_given(arguments, "outside")) && !radial)
        tool_refuse(s->tool, "--self and --outside require --method radial");
    if (!word_in(s->name, DEMO_GARMENTS))
        return;
    const char *who = model ? model->words : "mannequin-female";
    abut_character *split = NULL;
    ensure(character_find(s->tool, who, options->solid_triangles, &split));
    ensure(abut_character_weld(split, &s->character)); /* bodies that lag must not open at seams */
    abut_character_destroy(split);
    if (without)
        character_remove(s->tool, without->words, &s->character);
    options->character = s->character;
    options->windy = option_given(arguments, "wind") != NULL;
    options->clip = options->windy
                        ? ABUT_NONE
                        : 0; /* with wind and without a clip, the character does not move */
    s->radial = options->radial = radial;
    options->self = option_given(arguments, "self") != NULL;
    options->outside = option_given(arguments, "outside") != NULL;
    options->up = abut_mesh_up(abut_character_rest_mesh(s->character));
    options->joints = joints ? s->joints : NULL;
    options->ease = ease ? ease->numbers[0] : 0;
    if (joints)
        joints_read(s->tool, s->character, joints->words, s->joints);
    if (clip)
        clip_read(s->tool, s->character, clip->words, &options->clip);
}

int demo_cloth(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *frames = option_given(arguments, "frames"), *png = picture_given(arguments);
    showing s = {.tool = tool,
                 .name = arguments->operands[0],
                 .png = png ? png->words : NULL,
                 .record = option_words(arguments, "record", NULL),
                 .meshes = option_words(arguments, "meshes", NULL),
                 .frames = frames                                           ? frames->counts[0]
                           : word_in(arguments->operands[0], DEMO_GARMENTS) ? 300
                                                                            : 360};
    scene_options options = {.kind = SCENE_BALL, .slight = option_given(arguments, "slight")};
    read_demo_cloth_options(tool, arguments, &options);
    read_character(&s, arguments, &options);
    legend_add(&s.film.legend, colours[0], "cloth");
    legend_add(&s.film.legend, colours[1], s.character ? "body" : "solid");
    film_open(tool, arguments, &s.film, s.character ? 1.0 / 30 : 1.0 / 60);
    progress_start(tool->progress, s.name);
    begin_cloth_scene(&s, options);
    abut_device_destroy(options.device); /* the cloth keeps a reference */
    run_frames(&s);
    if (s.writer)
        ensure(abut_frames_writer_finish(s.writer));
    if (s.png)
        film_write(tool, &s.film, s.png);
    progress_erase(tool->progress);
    print_cloth_demo(&s, arguments);
    scene_destroy(s.scene);
    abut_character_destroy(s.character);
    return s.bad || s.growth > ENERGY_GROWTH_MAX * s.energy ? CODE_FOUND : CODE_FINE;
}
