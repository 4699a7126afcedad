/* abut contacts SCENE.json: all contacts of a world. */
#include "clash.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct touches {
    tool_assembly assembly;
    abut_world *world;
    abut_world_pair *pairs; /* from malloc, as the list */
    uint64_t pair_count;
    abut_contact *list;
    uint64_t count, touching; /* pairs that have a contact */
    abut_advice advice;
} touches;

static const tool_column columns[] = {
    {"a", COLUMN_NAME, NULL},  {"b", COLUMN_NAME, NULL},  {"x", COLUMN_REAL, NULL},
    {"y", COLUMN_REAL, NULL},  {"z", COLUMN_REAL, NULL},  {"nx", COLUMN_REAL, NULL},
    {"ny", COLUMN_REAL, NULL}, {"nz", COLUMN_REAL, NULL}, {"depth", COLUMN_REAL, NULL},
};

static void give_row(const void *data, size_t row, double *values) {
    const touches *t = data;
    const abut_contact *contact = &t->list[row];
    values[0] = t->pairs[contact->pair].a;
    values[1] = t->pairs[contact->pair].b;
    table_vector(values + 2, contact->point);
    table_vector(values + 5, contact->normal);
    values[8] = contact->depth;
}

/* ---- finding ---- */

static int find(tool_run *tool, const tool_arguments *arguments, touches *t) {
    const tool_given *margin = option_given(arguments, "margin"),
                     *most = option_given(arguments, "most");
    abut_world_options options = abut_world_options_default();
    abut_contacts found = {.capacity = 0};
    options.method = ABUT_WORLD_EXACT;
    options.margin = margin ? margin->numbers[0] : 0;
    options.patch_contacts = most ? most->counts[0] : 0;
    int code = assembly_world(tool, &t->assembly, &options, &t->world);
    if (code)
        return code;
    abut_status status = abut_world_pairs(t->world, 0, NULL, &t->pair_count);
    if (status == ABUT_ERROR_BUFFER) {
        t->pairs = malloc(t->pair_count * sizeof *t->pairs);
        if (!t->pairs)
            return tool_fail_with(tool, "out of memory", "there is no memory for the pairs");
        status = abut_world_pairs(t->world, t->pair_count, t->pairs, &t->pair_count);
    }
    status = status ? status : abut_world_contacts(t->world, &found);
    if (status == ABUT_ERROR_BUFFER) {
        found.capacity = found.count;
        t->list = found.list = malloc(found.count * sizeof *found.list);
        if (!t->list)
            return tool_fail_with(tool, "out of memory", "there is no memory for the contacts");
        status = abut_world_contacts(t->world, &found);
    }
    if (status)
        return tool_fail(tool, status);
    t->count = found.count;
    t->advice = found.advice;
    for (uint64_t i = 0; i < t->count; i++)
        t->touching += !i || t->list[i].pair != t->list[i - 1].pair;
    tool_advise(tool, &t->advice);
    return 0;
}

/* ---- telling ---- */

static const abut_colour red = {0.8f, 0.1f, 0.05f, 1};

static abut_colour colour_of(double depth, double deepest) {
    (void)depth;
    (void)deepest;
    return red;
}

static abut_status draw(tool_run *tool, const tool_arguments *arguments,
                        const abut_picture_options *camera, const touches *t) {
    tool_legend legend = {0};
    abut_picture *picture = NULL;
    abut_box all = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    abut_status status = abut_picture_create(tool->context, camera, &picture);
    for (uint32_t i = 0; i < t->assembly.count && !status; i++) {
        abut_colour colour = abut_picture_colour(i);
        if (t->assembly.count < LEGEND_MOST)
            legend_add(&legend, colour, "%s", t->assembly.bodies[i].name);
        colour.a = 0.4f;
        status = assembly_draw(picture, &t->assembly, i, colour);
    }
    for (uint64_t i = 0; i < t->count; i++) {
        abut_vec3 p = t->list[i].point;
        all.lo = (abut_vec3){fmin(all.lo.x, p.x), fmin(all.lo.y, p.y), fmin(all.lo.z, p.z)};
        all.hi = (abut_vec3){fmax(all.hi.x, p.x), fmax(all.hi.y, p.y), fmax(all.hi.z, p.z)};
    }
    double arrow =
        0.06 * hypot(hypot(all.hi.x - all.lo.x, all.hi.y - all.lo.y), all.hi.z - all.lo.z);
    for (uint64_t i = 0; i < t->count && !status; i++) {
        abut_vec3 p = t->list[i].point, n = t->list[i].normal;
        abut_vec3 q = {p.x + arrow * n.x, p.y + arrow * n.y, p.z + arrow * n.z};
        status = abut_picture_add_point(picture, p, 7, red);
        status = status ? status : abut_picture_add_line(picture, p, q, 2, red);
    }
    if (t->count)
        legend_add(&legend, red, "contacts, with their normals");
    const char *path = picture_given(arguments)->words;
    if (!status && tool->view)
        status = view_contacts(tool->view, picture, t->list, (size_t)t->count, arrow, colour_of);
    status = status ? status : picture_write(tool, picture, camera, &legend, path);
    abut_picture_destroy(picture);
    return status;
}

static void tell(tool_run *tool, const tool_arguments *arguments, const touches *t) {
    tool_output *out = &tool->out;
    double deepest = -HUGE_VAL;
    for (uint64_t i = 0; i < t->count; i++)
        deepest = fmax(deepest, t->list[i].depth);
    out_object(out, NULL);
    json_path(out, "scene", arguments->operands[0]);
    fact_count(out, "bodies", t->assembly.count);
    fact_count(out, "touching", t->touching);
    fact_count(out, "contacts", t->count);
    if (t->count)
        fact_number(out, "depth", deepest);
    else
        json_null(out, "depth");
    json_advice(out, &t->advice);
    out_list(out, "list");
    for (uint64_t i = 0; out->json && i < t->count; i++) {
        const abut_contact *c = &t->list[i];
        out_object(out, NULL);
        json_text(out, "a", t->assembly.bodies[t->pairs[c->pair].a].name);
        json_text(out, "b", t->assembly.bodies[t->pairs[c->pair].b].name);
        json_vector(out, "point", c->point);
        json_vector(out, "normal", c->normal);
        json_number(out, "depth", c->depth);
        out_end(out);
    }
    out_end(out);
}

static int work(tool_run *tool, const tool_arguments *arguments, touches *t) {
    const tool_given *path = option_given(arguments, "out"), *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    int code = png ? picture_check(tool, png->words) : 0;
    code = code ? code : assembly_load(tool, arguments, false, &t->assembly);
    if (!code && !t->assembly.scene)
        code = tool_refuse(tool, "contacts needs a second file, or --with and a solid");
    code = code ? code : find(tool, arguments, t);
    if (!code && png)
        code = camera_read(tool, arguments, &camera);
    tool_table table = {columns, sizeof columns / sizeof *columns, (size_t)t->count, give_row, t};
    if (!code && (path || !png))
        code = table_put_bodies(tool, path ? path->words : NULL, &table, t->assembly.bodies);
    abut_status status = ABUT_OK;
    if (!code && png && (status = draw(tool, arguments, &camera, t)))
        code = tool_fail(tool, status);
    if (!code && (tool->out.json || path || png)) {
        tell(tool, arguments, t);
        if (png)
            fact_path(&tool->out, "picture", png->words);
        out_end(&tool->out);
        answer(tool, "%llu", (unsigned long long)t->count);
    }
    return code ? code : t->count ? CODE_FOUND : CODE_FINE;
}

int contacts_scene(tool_run *tool, const tool_arguments *arguments) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name;
        if (!word_in(name, "margin|most|out|png|html|view|up|json|quiet|threads|help"))
            return tool_refuse(tool, "--%s is for two meshes, not for a scene", name);
    }
    const tool_given *most = option_given(arguments, "most");
    if (most && most->counts[0] > 8)
        return tool_refuse(tool, "--most is at most 8 by exact geometry, not %u", most->counts[0]);
    touches t = {0};
    int code = work(tool, arguments, &t);
    abut_world_destroy(t.world);
    free(t.pairs);
    free(t.list);
    assembly_free(&t.assembly);
    return code;
}
