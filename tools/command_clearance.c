/* abut clearance: where two bodies are nearer to each other than they should be. */
#include "map.h"

#include <math.h>
#include <stdlib.h>

#define LIMIT 2.000001 /* times the distance to keep; with room for rounding to floats */

typedef struct clearance {
    tool_surface surfaces[2];
    map_answer answers[2];
    abut_device *device;
    double below;
    abut_separation apart; /* by their triangles */
    abut_patch *patches;   /* of a; from malloc, the largest first */
    uint64_t patch_count;
} clearance;

/* ---- work ---- */

static int load(tool_run *tool, const tool_arguments *arguments, clearance *c) {
    static const char *const poses[2] = {"pose-a", "pose"};
    int code = 0;
    for (int k = 0; k < 2 && !code; k++) {
        code = surface_load(tool, arguments, arguments->operands[k], poses[k], &c->surfaces[k]);
        if (!code)
            code = surface_index(tool, NULL, !option_given(arguments, "surfaces"), false,
                                 &c->surfaces[k]);
    }
    abut_posed a = {.bvh = c->surfaces[0].bvh}, b = {.bvh = c->surfaces[1].bvh};
    abut_pair_options options = abut_pair_options_default();
    options.surfaces = option_given(arguments, "surfaces") != NULL;
    abut_status status = code ? ABUT_OK : abut_pair_distance(&a, &b, &options, NULL, &c->apart);
    if (!code && !status && c->apart.distance >= c->below)
        units_remark(tool, arguments->operands[0], c->surfaces[0].mesh, arguments->operands[1],
                     c->surfaces[1].mesh);
    return status ? tool_fail(tool, status) : code;
}

/* Distances up to twice the limit, so that there is something to compare with; all where the bodies
 * overlap, since what is inside may be far from the surface. */
static int find(tool_run *tool, const tool_arguments *arguments, clearance *c) {
    abut_map_measure_options measure = abut_map_measure_options_default();
    abut_map_query query = abut_map_query_default();
    double lo = 0;
    int code = 0;
    query.limit = c->apart.relation == ABUT_PAIR_APART ? LIMIT * c->below : 0;
    measure.within = c->apart.distance < c->below ? c->below : -1; /* what is clear has none */
    for (int k = 0; k < 2 && !code; k++) {
        c->answers[k].limits[0] = c->below;
        c->answers[k].cut = true;
        abut_posed other = {.bvh = c->surfaces[1 - k].bvh};
        code = surface_map(tool, arguments, 0, c->device, &c->surfaces[k]);
        abut_status status = code ? ABUT_OK : abut_map_find(c->surfaces[k].map, &other, 1, &query);
        code = status ? tool_fail(tool, status) : code;
    }
    for (int round = 0; round < 2 && !code; round++) /* the second with one scale for both */
        for (int k = 0; k < 2 && !code; k++) {
            code = map_measure(tool, &c->surfaces[k], &measure, "near", lo, 2 * c->below,
                               &c->answers[k]);
            const abut_map_measures *m = &c->answers[k].measures;
            lo = !code && m->found ? fmin(lo, m->least.distance) : lo;
        }
    return code;
}

static int by_area(const void *a, const void *b) {
    const abut_patch *p = a, *q = b;
    return p->area > q->area ? -1 : p->area < q->area;
}

static int find_patches(tool_run *tool, clearance *c) {
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = {0};
    options.margin = c->below;
    if (!(c->apart.distance < c->below))
        return 0;
    const abut_map *map = c->surfaces[0].map;
    abut_status status = abut_map_contacts(map, &options, &found);
    if (status == ABUT_ERROR_BUFFER) {
        c->patches = malloc((size_t)found.count * sizeof *c->patches);
        found.contacts = malloc((size_t)found.contact_count * sizeof *found.contacts);
        found.list = c->patches;
        found.capacity = found.count;
        found.contact_capacity = found.contact_count;
        status = found.list && found.contacts
                     ? abut_map_contacts(map, &options, &found)
                     : abut_fail(ABUT_ERROR_MEMORY, "there is no memory for the patches");
        free(found.contacts);
    }
    if (status)
        return tool_fail(tool, status);
    c->patch_count = found.count;
    if (c->patches)
        qsort(c->patches, (size_t)c->patch_count, sizeof *c->patches, by_area);
    return 0;
}

/* ---- what comes out ---- */

static void tell_surfaces(tool_run *tool, const clearance *c) {
    tool_output *out = &tool->out;
    out_table(out, "surfaces");
    for (int k = 0; k < 2; k++) {
        const abut_map_measures *m = &c->answers[k].measures;
        out_object(out, NULL);
        fact_path(out, "surface", c->surfaces[k].path);
        if (out->json) {
            json_number(out, "below_area", m->within_area);
            map_tell(tool, &c->answers[k], &c->surfaces[1 - k]);
        } else {
            fact_number(out, "area", m->area);
            fact_number(out, "too near", m->within_area);
            say_fact(out, "share", "%.3g%%", 100 * m->within_area / fmax(m->area, 1e-300));
            if (m->found)
                say_fact(out, "least", "%.6g", map_shown(m->least.distance, m));
            else
                say_fact(out, "least", "above %.6g", 2 * c->below);
            say_fact(out, "error", "%.2g", c->answers[k].info.reach);
        }
        out_end(out);
    }
    out_end(out);
}

static void tell_patches(tool_output *out, const clearance *c, uint32_t first) {
    out_table(out, "patches");
    for (uint64_t i = 0; i < c->patch_count && (out->json || i < first); i++) {
        const abut_patch *p = &c->patches[i];
        out_object(out, NULL);
        say_fact(out, "patch", "%llu", (unsigned long long)i);
        fact_number(out, "area", p->area);
        map_number(out, "least", -p->depth, &c->answers[0].measures);
        json_vector(out, "centre", p->centre);
        json_vector(out, "normal", p->normal);
        tool_text place = {0};
        text_point(&place, p->centre, c->answers[0].info.reach);
        say_fact(out, "place", "%s", place.data ? place.data : "");
        text_free(&place);
        out_end(out);
    }
    out_end(out);
    if (c->patch_count > first)
        say(out, "... and %llu smaller ones; --first N shows so many",
            (unsigned long long)(c->patch_count - first));
}

static int tell(tool_run *tool, const tool_arguments *arguments, const clearance *c, bool found) {
    const tool_given *first = option_given(arguments, "first");
    tool_output *out = &tool->out;
    const map_answer *answers[2] = {&c->answers[0], &c->answers[1]};
    const char *names[2] = {"of a", "of b"};
    map_panel panels[2] = {panel_of(&c->surfaces[0], &c->answers[0], &c->surfaces[1], 1),
                           panel_of(&c->surfaces[1], &c->answers[1], &c->surfaces[0], 1)};
    pair_begin(out, arguments);
    json_boolean(out, "clear", !found);
    say_fact(out, "clear", "%s", tool_yes_or_no(!found, &c->apart.advice));
    fact_number(out, "below", c->below);
    fact_number(out, "distance", c->apart.distance);
    fact_text(out, "relation", abut_pair_relation_name(c->apart.relation));
    json_advice(out, &c->apart.advice);
    int code = map_write(tool, arguments, panels, 2, MAP_SHOW_DISTANCE);
    if (code)
        return code;
    tell_surfaces(tool, c);
    if (out->json || c->patch_count)
        tell_patches(out, c, first ? first->counts[0] : 10);
    map_histogram(tool, answers, names, 2);
    out_end(out);
    answer(tool, "%s", found ? "no" : tool_yes_or_no(true, &c->apart.advice));
    return 0;
}

/* ---- the command ---- */

static int run(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *below = option_given(arguments, "below");
    clearance c = {0};
    if (!below)
        return tool_refuse(tool, "--below D is needed: the distance that A and B should keep");
    c.below = below->numbers[0];
    int code = option_length(tool, below);
    code = code ? code : map_check(tool, arguments);
    code = code ? code : device_open(tool, arguments, &c.device);
    code = code ? code : load(tool, arguments, &c);
    code = code ? code : find(tool, arguments, &c);
    code = code ? code : find_patches(tool, &c);
    bool found = !code && c.apart.distance < c.below;
    if (!code)
        tool_advise(tool, &c.apart.advice);
    code = code ? code : tell(tool, arguments, &c, found);
    for (int k = 0; k < 2; k++)
        surface_free(&c.surfaces[k]);
    free(c.patches);
    abut_device_destroy(c.device);
    return code ? code : tool_outcome(found, &c.apart.advice);
}

static const tool_option options[] = {
    {"below", "D", OPTION_POSITIVE, "the distance that they should keep", NULL, false},
    {"surfaces", NULL, OPTION_FLAG, "only surfaces count: a body inside another may be clear", NULL,
     false},
    {"first", "N", OPTION_COUNT, "list so many patches, the largest first (default: 10)", NULL,
     false},
    MAP_POSE_OPTIONS MAP_OPTIONS,
    {0}};

const tool_command command_clearance = {
    .name = "clearance",
    .operands = "A B --below D",
    .summary = "where two bodies are nearer to each other than they should be",
    .about = "Tells whether two bodies are nearer to each other than D, decided by their "
             "triangles, and over which area of each: samples that are spread evenly over both "
             "surfaces. Those of A that hang together are a patch. The picture has A in colours "
             "beside B in colours, each with the other as glass; grey is farther than 2 D.",
    .found = "they are nearer than D",
    .examples = "  abut clearance pipe.obj wall.obj --below 5\n"
                "  abut clearance a.obj b.obj --below 0.2 --pose 0,0,2 --png near.png\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 2,
    .operand_most = 2,
    .run = run,
};
