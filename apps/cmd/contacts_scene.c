/* abut contacts SCENE.json: all contacts of a world. Each body uses the method that suits it, or
 * the one of the scene or of --method. */
#include "apps/get.h"
#include "interfere.h"
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct touches {
    tool_assembly assembly;
    abut_world *world;
    abut_device *device; /* null = the CPU */
    abut_world_pair *pairs;
    uint64_t pair_count;
    abut_contact *list;
    uint64_t count, touching; /* pairs with a contact */
    abut_world_event *events; /* of pairs with a contact, `touching` of them */
    tool_item *items;
    abut_reliability reliability;
} touches;

static const tool_column columns[] = {NAME("a"),  NAME("b"),  REAL("x"),  REAL("y"),    REAL("z"),
                                      REAL("nx"), REAL("ny"), REAL("nz"), REAL("depth")};

static void fill_row(const void *data, size_t row, double *values) {
    const touches *t = data;
    const abut_contact *contact = &t->list[row];
    values[0] = contact->a;
    values[1] = contact->b;
    table_vector(values + 2, contact->point);
    table_vector(values + 5, contact->normal);
    values[8] = contact->depth;
}

/* ---- building the world ---- */

static void make_world(tool_run *tool, const tool_arguments *arguments,
                       const abut_world_options *options, touches *t) {
    const tool_given *given = option_given(arguments, "method");
    const abut_scene_arrays it = get_scene_arrays(t->assembly.scene);
    abut_world_method all = ABUT_WORLD_AUTO, method;
    if (given && !method_named(given->words, &all))
        tool_refuse(tool, "--method of a scene must be auto, exact, field, map or layers, not '%s'",
                    given->words);
    t->items = tool_array((size_t)t->assembly.count + 1, sizeof *t->items);
    ensure(abut_world_create(tool->context, options, &t->world));
    for (uint32_t i = 0; i < t->assembly.count; i++) {
        const char *said = t->assembly.bodies[i].method;
        method = all;
        if (said)
            method_named(said, &method);
        abut_status status = item_add(&t->assembly, i, method, t->world, &t->items[i]);
        if (status) {
            tool_text name = {0};
            assembly_name(&t->assembly, i, &name);
            text_print(&name, ": %s", abut_last_error());
            ensure(abut_set_error(status, name.data));
        }
    }
    for (uint64_t i = 0; i < it.ignored_count; i++)
        ensure(abut_world_ignore(t->world, it.ignored[i].a, it.ignored[i].b, true));
}

/* Ends the run if there is a device on which no pair would run. */
static void check_device(tool_run *tool, const touches *t) {
    if (!t->device)
        return;
    for (uint32_t i = 0; i < t->assembly.count; i++) {
        abut_world_item_info info = abut_world_item_info_default();
        ensure(abut_world_get_item_info(t->world, i, &info));
        if (info.method == ABUT_WORLD_FIELD)
            return;
    }
    tool_refuse(tool, "--device computes pairs by fields, which no body of the scene uses; "
                      "add --method field, or omit --device");
}

/* Prints the reliability with the names of the affected bodies. */
static void print_scene_reliability(tool_run *tool, const touches *t) {
    abut_mesh **meshes = tool_array((size_t)(t->assembly.count + 1), sizeof *meshes);
    const char **names = tool_array((size_t)(t->assembly.count + 1), sizeof *names);
    for (uint32_t i = 0; i < t->assembly.count; i++) {
        meshes[i] = t->assembly.bodies[i].mesh;
        names[i] = t->assembly.bodies[i].name;
    }
    print_reliability_of(tool, &t->reliability, meshes, names, t->assembly.count);
}

/* ---- computing contacts ---- */

enum { PAIRS_PER_CHUNK = 4 }; /* pairs are assigned to processes in chunks of this size */

static uint64_t key_of(uint32_t a, uint32_t b) {
    return (uint64_t)a << 32 | b;
}

/* Excludes the pairs of other processes from the world, or includes them again. */
static void leave_out(const tool_run *tool, touches *t, bool out) {
    for (uint64_t i = 0; i < t->pair_count; i++)
        if (!share_mine(tool, i, PAIRS_PER_CHUNK))
            ensure(abut_world_ignore(t->world, t->pairs[i].a, t->pairs[i].b, out));
}

/* Finds the index of a pair in the sorted list. */
static uint32_t place_of(const touches *t, uint64_t key) {
    uint64_t lo = 0, hi = t->pair_count;
    while (hi - lo > 1) {
        uint64_t middle = lo + (hi - lo) / 2;
        if (key_of(t->pairs[middle].a, t->pairs[middle].b) <= key)
            lo = middle;
        else
            hi = middle;
    }
    return (uint32_t)lo;
}

/* Collects all contacts and events in the first process, in the order of a single process. */
static void collect(tool_run *tool, touches *t) {
    share_agree(tool);
    if (!tool->share)
        return;
    uint64_t most = t->count > t->touching ? t->count : t->touching, first = 0;
    uint64_t *keys = tool_array(most + 1, sizeof *keys);
    while (first < t->pair_count && !share_mine(tool, first, PAIRS_PER_CHUNK))
        first++;
    for (uint64_t i = 0; i < t->count; i++)
        keys[i] = place_of(t, key_of(t->list[i].a, t->list[i].b));
    share_worst(tool, &t->reliability, first < t->pair_count ? first : UINT64_MAX);
    share_collect(tool, &t->list, &t->count, sizeof *t->list, keys);
    for (uint64_t i = 0; i < t->touching; i++)
        keys[i] = place_of(t, key_of(t->events[i].a, t->events[i].b));
    share_collect(tool, &t->events, &t->touching, sizeof *t->events, keys);
    leave_out(tool, t, false);
}

static void find_scene_contacts(tool_run *tool, const tool_arguments *arguments, touches *t) {
    abut_world_options options = abut_world_options_default();
    abut_contacts found = {.size = sizeof found, .capacity = 0};
    abut_world_pair_list pairs = {NULL, 0, 0};
    abut_world_event_list events = {NULL, 0, 0};
    options.margin = option_number(arguments, "margin", 0);
    options.max_patch_contacts = option_count(arguments, "most", 4);
    options.device = t->device = device_open(tool, arguments);
    make_world(tool, arguments, &options, t);
    check_device(tool, t);
    FILL_LIST(&pairs, abut_world_pairs(t->world, &pairs));
    t->pairs = pairs.list;
    t->pair_count = pairs.count;
    leave_out(tool, t, true);
    FILL_LIST(&found, abut_world_contacts(t->world, &found));
    FILL_LIST(&events, abut_world_events(t->world, &events));
    t->list = found.list;
    t->events = events.list;
    t->touching = events.count;
    t->count = found.count;
    t->reliability = found.reliability;
}

/* ---- output ---- */

/* Prints the method of each body, and the guarantee of each touching pair, as JSON. */
static void print_choices(tool_output *out, const touches *t) {
    out_list(out, "methods");
    for (uint32_t i = 0; out->json && i < t->assembly.count; i++) {
        abut_world_item_info choice = abut_world_item_info_default();
        if (abut_world_get_item_info(t->world, i, &choice))
            break;
        out_object(out, NULL);
        json_text(out, "name", t->assembly.bodies[i].name);
        json_text(out, "method", abut_world_method_name(choice.method));
        json_boolean(out, "forced", choice.is_forced);
        json_text(out, "why", choice.reason);
        out_end(out);
    }
    out_end(out);
    out_list(out, "pairs");
    for (uint64_t i = 0; out->json && i < t->touching; i++) {
        const abut_world_event *e = &t->events[i];
        out_object(out, NULL);
        json_text(out, "a", t->assembly.bodies[e->a].name);
        json_text(out, "b", t->assembly.bodies[e->b].name);
        json_text(out, "method", abut_world_method_name(e->method));
        json_text(out, "guarantee", abut_world_guarantee_name(e->guarantee));
        json_number(out, "error", e->error);
        json_count(out, "contacts", e->count);
        json_number(out, "depth", e->deepest.depth);
        out_end(out);
    }
    out_end(out);
}

/* The same as text, instead of contacts. */
static void explain(tool_run *tool, const touches *t) {
    tool_output *out = &tool->out;
    tool_text both = {0};
    for (uint32_t i = 0; i < t->assembly.count; i++) {
        abut_world_item_info choice = abut_world_item_info_default();
        if (abut_world_get_item_info(t->world, i, &choice))
            break;
        const char *said = t->assembly.bodies[i].method;
        print_line_of(out, t->assembly.bodies[i].name, "%s. %s",
                      abut_world_method_name(choice.method),
                      strcmp(choice.reason, "The method is set by the item.") != 0 ? choice.reason
                      : said ? "The method is set by the scene."
                             : "The method is set by --method.");
    }
    for (uint64_t i = 0; i < t->touching; i++) {
        const abut_world_event *e = &t->events[i];
        abut_world_pair_info manner = abut_world_pair_info_default();
        char error[60];
        if (abut_world_get_pair_info(t->world, e->a, e->b, &manner))
            break;
        if (e->error < HUGE_VAL)
            snprintf(error, sizeof error, "error bound %.3g", e->error);
        else
            snprintf(error, sizeof error, "no error bound");
        text_clear(&both);
        text_print(&both, "%s, %s", t->assembly.bodies[e->a].name, t->assembly.bodies[e->b].name);
        print_line_of(out, both.data, "%s, %llu contact%s, penetration depth %.6g, %s. %s",
                      abut_world_method_name(e->method), (unsigned long long)e->count,
                      e->count == 1 ? "" : "s", e->deepest.depth + 0.0, error, manner.reason);
    }
}

static void print_scene_contacts(tool_run *tool, const tool_arguments *arguments,
                                 const touches *t) {
    tool_output *out = &tool->out;
    double deepest = -HUGE_VAL;
    for (uint64_t i = 0; i < t->count; i++)
        deepest = fmax(deepest, t->list[i].depth);
    out_object(out, NULL);
    json_path(out, "scene", arguments->operands[0]);
    device_print(out, t->device);
    fact_count(out, "bodies", t->assembly.count);
    fact_count(out, "touching", t->touching);
    fact_count(out, "contacts", t->count);
    if (t->count)
        fact_number(out, "depth", deepest);
    else
        json_null(out, "depth");
    json_reliability(out, &t->reliability);
    print_choices(out, t);
    out_list(out, "list");
    for (uint64_t i = 0; out->json && i < t->count; i++) {
        const abut_contact *c = &t->list[i];
        out_object(out, NULL);
        json_text(out, "a", t->assembly.bodies[c->a].name);
        json_text(out, "b", t->assembly.bodies[c->b].name);
        json_vector(out, "point", c->point);
        json_vector(out, "normal", c->normal);
        json_number(out, "depth", c->depth);
        out_end(out);
    }
    out_end(out);
}

static int run_scene_contacts(tool_run *tool, const tool_arguments *arguments, touches *t) {
    const tool_given *path = option_given(arguments, "out"), *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    if (png)
        picture_check(tool, png->words);
    assembly_load(tool, arguments, false, &t->assembly);
    if (!t->assembly.scene)
        tool_refuse(tool, "the second file is missing: name B, or use --with");
    find_scene_contacts(tool, arguments, t);
    collect(tool, t);
    if (!share_prints(tool))
        return CODE_FINE;
    print_scene_reliability(tool, t);
    if (png)
        camera_read(tool, arguments, &camera);
    const bool why = option_given(arguments, "explain") && !tool->out.json;
    if (why)
        explain(tool, t);
    tool_table table = {columns, sizeof columns / sizeof *columns, (size_t)t->count, fill_row, t};
    if (path || !(png || why))
        table_put_bodies(tool, path ? path->words : NULL, &table, t->assembly.bodies);
    if (png)
        contacts_draw_scene(tool, arguments, &camera, &t->assembly, t->list, t->count);
    if (tool->out.json || path || png) {
        print_scene_contacts(tool, arguments, t);
        pictures_print_paths(tool, arguments);
        out_end(&tool->out);
    }
    if (why || tool->out.json || path || png)
        answer(tool, "%llu", (unsigned long long)t->count);
    return t->count ? CODE_FOUND : CODE_FINE;
}

int contacts_scene(tool_run *tool, const tool_arguments *arguments) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name;
        if (!word_in(
                name,
                "margin|most|method|explain|out|png|html|view|up|device|json|quiet|threads|help"))
            tool_refuse(tool, "--%s applies to two meshes, not to a scene", name);
    }
    option_length(tool, option_given(arguments, "margin"));
    option_range(tool, option_given(arguments, "most"), 1, 8, "contacts with --method exact");
    touches t = {0};
    int code = run_scene_contacts(tool, arguments, &t);
    abut_world_destroy(t.world);
    abut_device_destroy(t.device);
    for (uint32_t i = 0; t.items && i < t.assembly.count; i++)
        abut_radial_destroy(t.items[i].radial);
    assembly_free(&t.assembly);
    return code;
}
