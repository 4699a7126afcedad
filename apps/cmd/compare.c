/* abut compare SCENE.json: all pair methods on one scene, beside each other.
 *
 * Each method gets the scene in a context of its own: the first step includes everything that the
 * method has to build, and the memory is that of the method alone. The exact method is the
 * reference. A method is compared on the pairs that it computes; pairs that another method computes
 * in its world, such as those of primitives, are not counted. */
#include "apps/counted.h"
#include "apps/get.h"
#include "interfere.h"
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the tables; the first one is the reference. */
static const abut_world_method methods[] = {ABUT_WORLD_EXACT,  ABUT_WORLD_FIELD,  ABUT_WORLD_MAP,
                                            ABUT_WORLD_LAYERS, ABUT_WORLD_RADIAL, ABUT_WORLD_AUTO};
enum {
    METHODS = sizeof methods / sizeof *methods,
    STEPS = 5,
    ROWS_MAX = 256 /* bodies with a row of their own in the page */
};

/* A pair as one method sees it. */
typedef struct method_pair {
    uint32_t a, b;
    double depth; /* of the deepest contact; NaN = no contact */
} method_pair;

/* One method and its world. */
typedef struct compared_method {
    abut_world_method method;
    method_pair *pairs; /* that it computes: sorted by a, then b */
    uint64_t pair_count, found, missed, false_count;
    uint64_t both; /* pairs with contacts of this method and of the reference */
    double mean_difference, max_difference; /* of their depths; NaN if there are none */
    double bound;                           /* of depths: the largest of all pairs */
    abut_world_guarantee guarantee;         /* the lowest of all pairs */
    double first_ms, step_ms;
    uint64_t bytes;
    abut_contact *contacts;
    uint64_t contact_count;
} compared_method;

typedef struct comparison {
    tool_assembly assembly; /* that of the reference */
    compared_method method[METHODS];
    uint64_t worse; /* pairs that a method misses, or reports although they do not touch */
} comparison;

/* ---- one method ---- */

/* The method of a body in the world of a method: bodies that it does not accept are exact. */
static abut_world_method method_of_body(const abut_scene_body *body, abut_world_method method) {
    const bool is_radial = method == ABUT_WORLD_RADIAL;
    return is_radial && !body->character ? ABUT_WORLD_EXACT : method;
}

static void add_bodies(const tool_assembly *assembly, abut_world_method method, abut_world *world,
                       tool_item *items) {
    for (uint32_t i = 0; i < assembly->count; i++) {
        const abut_world_method own = method_of_body(&assembly->bodies[i], method);
        abut_status status = item_add(assembly, i, own, world, &items[i]);
        if (status == ABUT_ERROR_ARGUMENT && own != ABUT_WORLD_EXACT && own != ABUT_WORLD_AUTO)
            status = item_add(assembly, i, ABUT_WORLD_EXACT, world, &items[i]);
        if (status) {
            tool_text name = {0};
            assembly_name(assembly, i, &name);
            text_print(&name, ": %s", abut_last_error());
            ensure(abut_set_error(status, name.data));
        }
    }
    if (!assembly->scene)
        return;
    const abut_scene_arrays it = get_scene_arrays(assembly->scene);
    for (uint64_t i = 0; i < it.ignored_count; i++)
        ensure(abut_world_ignore(world, it.ignored[i].a, it.ignored[i].b, true));
}

/* Moves all bodies by `shift` along x from their places in the scene. Characters keep their shape
 * and place, but count as moved. */
static void move_bodies(const tool_assembly *assembly, const tool_item *items, double shift,
                        abut_world *world) {
    for (uint32_t i = 0; i < assembly->count; i++) {
        abut_pose pose = assembly->bodies[i].collider.pose;
        pose.translation.x += shift;
        if (items[i].radial)
            ensure(abut_world_set_positions(world, i, items[i].bones,
                                            abut_array_host(items[i].positions)));
        else
            ensure(abut_world_set_poses(world, &i, abut_array_host(&pose), 1));
    }
}

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median time of steps in which all bodies move by less than rounding matters for contacts. */
static double time_step(const tool_assembly *assembly, const tool_item *items, abut_world *world,
                        compared_method *m) {
    double times[STEPS], extent = 0;
    abut_contacts found = {.size = sizeof found, .capacity = m->contact_count};
    found.list = tool_array((size_t)found.capacity + 1, sizeof *found.list);
    for (uint32_t i = 0; i < assembly->count; i++) {
        const abut_box box = abut_mesh_bounds(assembly->bodies[i].mesh);
        extent = fmax(extent, box_diagonal(&box));
    }
    for (int step = 0; step < STEPS; step++) {
        move_bodies(assembly, items, step % 2 ? 0 : 1e-9 * extent, world);
        const double start = seconds_now();
        lacks_room(abut_world_contacts(world, &found));
        times[step] = 1e3 * (seconds_now() - start);
    }
    tool_free(found.list);
    qsort(times, STEPS, sizeof *times, compare_numbers);
    return times[STEPS / 2];
}

/* The pairs that the method computes, with the depths of their deepest contacts. */
static void list_pairs(abut_world *world, compared_method *m) {
    abut_world_pair_list pairs = {NULL, 0, 0};
    abut_world_event_list events = {NULL, 0, 0};
    FILL_LIST(&pairs, abut_world_pairs(world, &pairs));
    FILL_LIST(&events, abut_world_events(world, &events));
    m->pairs = tool_array((size_t)pairs.count + 1, sizeof *m->pairs);
    m->guarantee = ABUT_WORLD_GUARANTEE_COMPLETE;
    uint64_t event = 0;
    for (uint64_t i = 0; i < pairs.count; i++) {
        const abut_world_pair pair = pairs.list[i];
        abut_world_pair_info info = abut_world_pair_info_default();
        ensure(abut_world_get_pair_info(world, pair.a, pair.b, &info));
        const bool touches = event < events.count && events.list[event].a == pair.a &&
                             events.list[event].b == pair.b;
        const double depth = touches ? events.list[event].deepest.depth : NAN;
        event += touches;
        if (info.method == ABUT_WORLD_AUTO ||
            (m->method != ABUT_WORLD_AUTO && info.method != m->method))
            continue;
        m->pairs[m->pair_count++] = (method_pair){pair.a, pair.b, depth};
        m->found += touches;
        m->bound = fmax(m->bound, info.error);
        /* from the weakest: none, sampled, limited, complete */
        if (info.guarantee != ABUT_WORLD_GUARANTEE_COMPLETE &&
            (m->guarantee == ABUT_WORLD_GUARANTEE_COMPLETE || info.guarantee < m->guarantee))
            m->guarantee = info.guarantee;
    }
}

/* `memory` is that of the context. */
static void measure_method(tool_run *tool, const tool_arguments *arguments, abut_device *device,
                           const tool_assembly *assembly, const counted_memory *memory,
                           compared_method *m) {
    const uint64_t before = atomic_load(&memory->live);
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    tool_item *items = tool_array((size_t)assembly->count + 1, sizeof *items);
    abut_contacts found = {.size = sizeof found, .capacity = 0};
    const bool on_device = m->method == ABUT_WORLD_FIELD || m->method == ABUT_WORLD_AUTO;
    options.device = on_device ? device : NULL;
    options.max_patch_contacts = option_count(arguments, "most", 4);
    progress_start(tool->progress, abut_world_method_name(m->method));
    const double start = seconds_now();
    ensure(abut_world_create(tool->context, &options, &world));
    add_bodies(assembly, m->method, world, items);
    FILL_LIST(&found, abut_world_contacts(world, &found));
    m->first_ms = 1e3 * (seconds_now() - start);
    m->contacts = found.list;
    m->contact_count = found.count;
    list_pairs(world, m);
    m->step_ms = time_step(assembly, items, world, m);
    m->bytes = atomic_load(&memory->live) - before;
    abut_world_destroy(world);
    for (uint32_t i = 0; i < assembly->count; i++)
        abut_radial_destroy(items[i].radial);
}

/* Runs a method in a context of its own, with meshes that no other method has prepared. */
static void run_method(tool_run *tool, const tool_arguments *arguments, abut_device *device,
                       compared_method *m) {
    counted_memory memory = {0};
    abut_context *outer = tool->context;
    abut_context_options options = tool_context_options(tool);
    tool_assembly assembly = {0};
    counted_use(&options, &memory);
    ensure(abut_context_create(&options, &tool->context));
    assembly_load(tool, arguments, false, &assembly);
    measure_method(tool, arguments, device, &assembly, &memory, m);
    assembly_free(&assembly);
    abut_context_destroy(tool->context);
    tool->context = outer;
}

/* ---- against the reference ---- */

static int compare_pairs(const void *a, const void *b) {
    const method_pair *x = a, *y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/* The depth of a pair by a method; NaN without a contact. `computes` is set to whether the method
 * computes the pair. */
static double depth_of(const compared_method *m, uint32_t a, uint32_t b, bool *computes) {
    const method_pair key = {a, b, 0};
    const method_pair *pair =
        bsearch(&key, m->pairs, (size_t)m->pair_count, sizeof key, compare_pairs);
    *computes = pair != NULL;
    return pair ? pair->depth : NAN;
}

static void compare_method(const compared_method *reference, compared_method *m) {
    double sum = 0, most = 0;
    bool computes;
    for (uint64_t i = 0; i < m->pair_count; i++) {
        const method_pair *pair = &m->pairs[i];
        const double truth = depth_of(reference, pair->a, pair->b, &computes);
        const double error = fabs(pair->depth - truth);
        m->missed += isnan(pair->depth) && !isnan(truth);
        m->false_count += !isnan(pair->depth) && isnan(truth);
        if (isnan(error))
            continue;
        m->both++;
        sum += error;
        most = fmax(most, error);
    }
    m->mean_difference = m->both ? sum / (double)m->both : NAN;
    m->max_difference = m->both ? most : NAN;
}

/* ---- output ---- */

/* A cell of the table: a number with four digits, or `otherwise`. */
static void cell(tool_output *out, const char *key, double value, const char *otherwise) {
    json_number(out, key, value);
    if (isfinite(value))
        print_fact(out, key, "%.4g", value);
    else
        print_fact(out, key, "%s", otherwise);
}

static void print_methods(tool_output *out, const comparison *c) {
    out_table(out, "methods");
    for (int i = 0; i < METHODS; i++) {
        const compared_method *m = &c->method[i];
        if (!m->pair_count && !out->json)
            continue;
        out_object(out, NULL);
        fact_text(out, "method", abut_world_method_name(m->method));
        fact_count(out, "pairs", m->pair_count);
        fact_count(out, "found", m->found);
        out_shade(out, m->missed ? SHADE_BAD : SHADE_PLAIN);
        fact_count(out, "missed", m->missed);
        out_shade(out, m->false_count ? SHADE_BAD : SHADE_PLAIN);
        fact_count(out, "false", m->false_count);
        cell(out, "mean_difference", m->mean_difference, "-");
        cell(out, "max_difference", m->max_difference, "-");
        cell(out, "bound", m->pair_count ? m->bound : NAN, "none");
        fact_text(out, "guarantee", m->pair_count ? abut_world_guarantee_name(m->guarantee) : NULL);
        cell(out, "first_ms", m->first_ms, "-");
        cell(out, "step_ms", m->step_ms, "-");
        json_count(out, "bytes", m->bytes);
        print_fact(out, "memory", "%.3g MB", 1e-6 * (double)m->bytes);
        out_end(out);
    }
    out_end(out);
}

static void print_pair(tool_output *out, const comparison *c, uint32_t a, uint32_t b) {
    out_object(out, NULL);
    fact_text(out, "a", c->assembly.bodies[a].name);
    fact_text(out, "b", c->assembly.bodies[b].name);
    for (int i = 0; i < METHODS; i++) {
        const char *name = abut_world_method_name(c->method[i].method);
        bool computes;
        const double depth = depth_of(&c->method[i], a, b, &computes);
        if (c->method[i].pair_count && (computes || !out->json))
            cell(out, name, depth + 0.0, computes ? "no contact" : "");
    }
    out_end(out);
}

/* Whether a method computes a pair and finds no contact. */
static bool is_missed(const comparison *c, const method_pair *pair) {
    bool computes, missed = false;
    for (int i = 0; i < METHODS; i++)
        missed =
            missed || (isnan(depth_of(&c->method[i], pair->a, pair->b, &computes)) && computes);
    return missed;
}

/* The pairs that have a contact by some method, sorted. */
static method_pair *list_touching(const comparison *c, uint64_t *count) {
    uint64_t all = 0, found = 0;
    for (int i = 0; i < METHODS; i++)
        all += c->method[i].found;
    method_pair *list = tool_array((size_t)all + 1, sizeof *list);
    for (int i = 0; i < METHODS; i++)
        for (uint64_t k = 0; k < c->method[i].pair_count; k++)
            if (!isnan(c->method[i].pairs[k].depth))
                list[found++] = c->method[i].pairs[k];
    qsort(list, (size_t)found, sizeof *list, compare_pairs);
    *count = 0;
    for (uint64_t i = 0; i < found; i++)
        if (!*count || compare_pairs(&list[*count - 1], &list[i]))
            list[(*count)++] = list[i];
    return list;
}

/* Prints the depths of each pair by all methods: first the pairs that a method misses. */
static void print_pairs(tool_output *out, const comparison *c, uint64_t first) {
    uint64_t count, printed = 0;
    const method_pair *list = list_touching(c, &count);
    out_table(out, "pairs");
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < count && (printed < first || out->json); i++)
            if (is_missed(c, &list[i]) == !round) {
                print_pair(out, c, list[i].a, list[i].b);
                printed++;
            }
    out_end(out);
    if (printed < count)
        print_line(out, "and %llu more; --first N prints N", (unsigned long long)(count - printed));
}

/* ---- picture and page ---- */

static const abut_colour method_colours[METHODS] = {
    {0.80f, 0.10f, 0.05f, 1}, {0.10f, 0.35f, 0.85f, 1}, {0.10f, 0.60f, 0.25f, 1},
    {0.60f, 0.25f, 0.75f, 1}, {0.90f, 0.55f, 0.05f, 1}, {0.30f, 0.30f, 0.30f, 1}};

/* Adds the contacts of the pairs that a method computes: to the picture, and to the page as a
 * layer. */
static void draw_method(tool_run *tool, abut_picture *picture, const compared_method *m,
                        double arrow, abut_colour colour) {
    const size_t all = (size_t)m->contact_count;
    abut_vec3 *from = tool_array(all + 1, sizeof *from), *to = tool_array(all + 1, sizeof *to);
    double *depths = tool_array(all + 1, sizeof *depths);
    abut_colour *colours = tool_array(all + 1, sizeof *colours);
    char name[80];
    size_t count = 0;
    for (size_t i = 0; i < all; i++) {
        const abut_contact *contact = &m->contacts[i];
        bool computes;
        depth_of(m, contact->a, contact->b, &computes);
        if (!computes)
            continue;
        from[count] = contact->point;
        to[count] = vec_along(contact->point, arrow, contact->normal);
        depths[count] = contact->depth;
        colours[count] = colour;
        ensure(abut_picture_add_point(picture, from[count], 7, colour));
        ensure(abut_picture_add_line(picture, from[count], to[count], 2, colour));
        count++;
    }
    snprintf(name, sizeof name, "contacts by %s", abut_world_method_name(m->method));
    if (tool->view && count)
        view_arrows(tool->view, name, from, to, colours, count, &(view_column){"depth", depths}, 1);
}

static void draw(tool_run *tool, const tool_arguments *arguments, const comparison *c) {
    abut_picture_options camera = abut_picture_options_default();
    tool_legend legend = {0};
    abut_box all = empty_box;
    const bool few = c->assembly.count <= ROWS_MAX;
    camera_read(tool, arguments, &camera);
    abut_picture *picture = picture_new(tool, &camera);
    for (uint32_t i = 0; i < c->assembly.count; i++) {
        const abut_colour grey = {0.62f, 0.64f, 0.68f, 0.22f}; /* methods have the colours */
        view_label label = {.name = few ? c->assembly.bodies[i].name : "bodies"};
        view_label_items(tool->view, picture, &label);
        assembly_draw(picture, &c->assembly, i, grey);
    }
    for (int k = 0; k < METHODS; k++)
        for (uint64_t i = 0; i < c->method[k].contact_count; i++)
            box_add(&all, c->method[k].contacts[i].point);
    if (tool->view)
        view_place_picture(tool->view, picture);
    for (int k = 0; k < METHODS - 1; k++) { /* AUTO repeats the contacts of the others */
        const compared_method *m = &c->method[k];
        if (!m->pair_count)
            continue;
        draw_method(tool, picture, m, 0.06 * box_diagonal(&all), method_colours[k]);
        legend_add(&legend, method_colours[k], "%s: %llu of %llu pairs found, %.3g ms",
                   abut_world_method_name(m->method), (unsigned long long)m->both,
                   (unsigned long long)(m->both + m->missed), m->step_ms);
    }
    if (tool->view)
        view_skip(tool->view, VIEW_MARKS);
    picture_write(tool, picture, &camera, &legend, picture_given(arguments)->words);
    abut_picture_destroy(picture);
}

/* ---- command ---- */

static int run_compare(tool_run *tool, const tool_arguments *arguments) {
    comparison c = {0};
    const tool_given *png = picture_given(arguments);
    if (png)
        picture_check(tool, png->words);
    option_range(tool, option_given(arguments, "most"), 1, 8, "contacts in a patch");
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (strcmp(arguments->operands[i], "-") == 0)
            tool_refuse(tool, "each method reads the scene again, so that it cannot come from "
                              "standard input; write it to a file");
    assembly_load(tool, arguments, false, &c.assembly);
    if (c.assembly.count < 2)
        tool_refuse(tool, "there is nothing to compare: '%s' has %u bodies; at least 2 are needed",
                    arguments->operands[0], c.assembly.count);
    abut_device *device = device_open(tool, arguments);
    for (int i = 0; i < METHODS; i++) {
        c.method[i].method = methods[i];
        run_method(tool, arguments, device, &c.method[i]);
        compare_method(&c.method[0], &c.method[i]);
        c.worse += c.method[i].missed + c.method[i].false_count;
    }
    abut_device_destroy(device);
    tool_output *out = &tool->out;
    out_object(out, NULL);
    if (c.assembly.scene)
        json_path(out, "scene", arguments->operands[0]);
    fact_count(out, "bodies", c.assembly.count);
    fact_count(out, "touching", c.method[0].found);
    print_methods(out, &c);
    print_pairs(out, &c, option_count(arguments, "first", 20));
    if (png) {
        draw(tool, arguments, &c);
        pictures_print_paths(tool, arguments);
    }
    out_end(out);
    answer(tool, "%llu", (unsigned long long)c.worse);
    assembly_free(&c.assembly);
    return c.worse ? CODE_FOUND : CODE_FINE;
}

static const tool_option options[] = {
    OPTION("most", "K", COUNT, "at most K contacts in a patch or direction (default: 4)"),
    OPTION("first", "N", COUNT,
           "number of pairs to print, those that a method misses first (default: 20)"),
    OPTION("png", "FILE", TEXT, "draw the bodies with the contacts of each method"),
    PAGE_OPTION,
    CAMERA_OPTIONS("iso"),
    DEVICE_OPTION,
    {0}};

const tool_command command_compare = {
    .name = "compare",
    .operands = "SCENE.json | MESH...",
    .summary = "all contact methods on one scene: misses, errors, time and memory",
    .about =
        "Computes the contacts of a scene by each method of a world, and compares them with exact "
        "contacts: pairs found, missed and false, differences of penetration depths, the "
        "guarantee, the time of the first step with all preparation, the time of later steps, and "
        "memory. A "
        "method is compared on the pairs that it computes. 'auto' is the method that a world "
        "chooses for each pair. The second table has the depth of each pair by each method.",
    .found = "a method misses a pair that touches, or reports one that does not",
    .examples = "  abut compare scene.json\n"
                "  abut compare a.obj b.obj --html compare.html\n"
                "  abut compare scene.json --device gpu --json\n",
    .options = options,
    .operand_range = {1, UINT32_MAX},
    .run = run_compare,
};
