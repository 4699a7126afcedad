/* abut clearance: where two bodies are nearer than a required clearance. */
#include "map.h"

#include <math.h>
#include <stdlib.h>

#define SEARCH_FACTOR \
    2.000001 /* search distance over the clearance, with a margin for rounding to floats */

typedef struct clearance {
    tool_surface surfaces[2];
    map_answer answers[2];
    abut_device *device;
    double below;
    abut_separation apart; /* exact, by triangles */
    abut_patch *patches;   /* patches of a, the largest first */
    uint64_t patch_count;
} clearance;

/* ---- computation ---- */

static void load_clearance(tool_run *tool, const tool_arguments *arguments, clearance *c) {
    const bool solid = !option_given(arguments, "surfaces"), sign[2] = {solid, solid};
    surfaces_load(tool, arguments, sign, false, c->surfaces);
    abut_collider a = abut_collider_from_bvh(c->surfaces[0].bvh, abut_pose_identity()),
                  b = abut_collider_from_bvh(c->surfaces[1].bvh, abut_pose_identity());
    abut_pair_options options = abut_pair_options_default();
    options.surface_only = !solid;
    ensure(abut_pair_distance(&a, &b, &options, NULL, &c->apart));
    if (c->apart.distance >= c->below)
        print_unit_note(tool, arguments->operands[0], c->surfaces[0].mesh, arguments->operands[1],
                        c->surfaces[1].mesh);
}

/* Search distance: twice the clearance, so that the scale has context; unlimited if the bodies
 * overlap, since points inside may be far from the surface. */
static void compute_clearance(tool_run *tool, const tool_arguments *arguments, clearance *c) {
    abut_map_measure_options measure = abut_map_measure_options_default();
    abut_map_query query = abut_map_query_default();
    double lo = 0;
    query.limit = c->apart.relation == ABUT_PAIR_APART ? SEARCH_FACTOR * c->below : 0;
    measure.within = c->apart.distance < c->below ? c->below : -1; /* a clear pair has no area */
    for (int k = 0; k < 2; k++) {
        c->answers[k].limits[0] = c->below;
        c->answers[k].cut = true;
        abut_collider other = abut_collider_from_bvh(c->surfaces[1 - k].bvh, abut_pose_identity());
        surface_map(tool, arguments, 0, c->device, &c->surfaces[k]);
        ensure(abut_map_compute_distance(c->surfaces[k].map, &other, 1, &query));
    }
    for (int round = 0; round < 2; round++) /* the second map uses the scale of the first */
        for (int k = 0; k < 2; k++) {
            map_measure(&c->surfaces[k], &measure, "near", lo, 2 * c->below, &c->answers[k]);
            const abut_map_measures *m = &c->answers[k].measures;
            lo = m->found ? fmin(lo, m->min.distance) : lo;
        }
}

static int by_area(const void *a, const void *b) {
    const abut_patch *p = a, *q = b;
    return p->area > q->area ? -1 : p->area < q->area;
}

static void find_patches(clearance *c) {
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = abut_patches_default();
    options.margin = c->below;
    if (!(c->apart.distance < c->below))
        return;
    const abut_map *map = c->surfaces[0].map;
    FILL_PATCHES(&found, abut_map_contacts(map, &options, &found));
    c->patches = found.patches.list;
    c->patch_count = found.patches.count;
    if (c->patches)
        qsort(c->patches, (size_t)c->patch_count, sizeof *c->patches, by_area);
}

/* ---- output ---- */

static void print_surfaces(tool_run *tool, const clearance *c) {
    tool_output *out = &tool->out;
    out_table(out, "surfaces");
    for (int k = 0; k < 2; k++) {
        const abut_map_measures *m = &c->answers[k].measures;
        out_object(out, NULL);
        fact_path(out, "surface", c->surfaces[k].path);
        if (out->json) {
            json_number(out, "below_area", m->within_area);
            map_print(tool, &c->answers[k], &c->surfaces[1 - k]);
        } else {
            fact_number(out, "area", m->area);
            fact_number(out, "too near", m->within_area);
            print_fact(out, "share", "%.3g%%", 100 * m->within_area / fmax(m->area, 1e-300));
            if (m->found)
                print_fact(out, "least", "%.6g", map_rounded(m->min.distance, m));
            else
                print_fact(out, "least", "above %.6g", 2 * c->below);
            print_fact(out, "error", "%.2g", c->answers[k].info.reach);
        }
        out_end(out);
    }
    out_end(out);
}

static void print_patches(tool_output *out, const clearance *c, uint32_t first) {
    out_table(out, "patches");
    for (uint64_t i = 0; i < c->patch_count && (out->json || i < first); i++) {
        const abut_patch *p = &c->patches[i];
        out_object(out, NULL);
        print_fact(out, "patch", "%llu", (unsigned long long)i);
        fact_number(out, "area", p->area);
        map_number(out, "least", -p->depth, &c->answers[0].measures);
        json_vector(out, "centre", p->centre);
        json_vector(out, "normal", p->normal);
        tool_text place = {0};
        text_point(&place, p->centre, c->answers[0].info.reach);
        print_fact(out, "place", "%s", text_of(&place));
        out_end(out);
    }
    out_end(out);
    if (c->patch_count > first)
        print_line(out, "... and %llu smaller ones; --first N shows N",
                   (unsigned long long)(c->patch_count - first));
}

static void print_clearance(tool_run *tool, const tool_arguments *arguments, const clearance *c,
                            bool found) {
    tool_output *out = &tool->out;
    const char *names[2] = {"of a", "of b"};
    map_panel panels[2] = {panel_of(&c->surfaces[0], &c->answers[0], &c->surfaces[1], 1),
                           panel_of(&c->surfaces[1], &c->answers[1], &c->surfaces[0], 1)};
    pair_begin(out, arguments);
    json_boolean(out, "clear", !found);
    print_fact(out, "clear", "%s", tool_yes_or_no(!found, &c->apart.reliability));
    fact_number(out, "below", c->below);
    fact_number(out, "distance", c->apart.distance);
    fact_text(out, "relation", abut_pair_relation_name(c->apart.relation));
    json_reliability(out, &c->apart.reliability);
    map_write(tool, arguments, panels, 2, MAP_SHOW_DISTANCE);
    print_surfaces(tool, c);
    if (out->json || c->patch_count)
        print_patches(out, c, option_count(arguments, "first", 10));
    map_histogram(tool, c->answers, names, 2);
    out_end(out);
    answer(tool, "%s", found ? "no" : tool_yes_or_no(true, &c->apart.reliability));
}

/* ---- the command ---- */

static int run_clearance(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *below = option_given(arguments, "below");
    clearance c = {0};
    if (!below)
        tool_refuse(tool, "--below D is missing: the required clearance of A and B");
    c.below = below->numbers[0];
    option_length(tool, below);
    map_check(tool, arguments);
    c.device = device_open(tool, arguments);
    load_clearance(tool, arguments, &c);
    compute_clearance(tool, arguments, &c);
    find_patches(&c);
    bool found = c.apart.distance < c.below;
    tool_print_reliability(tool, &c.apart.reliability);
    print_clearance(tool, arguments, &c, found);
    for (int k = 0; k < 2; k++)
        surface_free(&c.surfaces[k]);
    abut_device_destroy(c.device);
    return tool_outcome(found, &c.apart.reliability);
}

static const tool_option options[] = {
    OPTION("below", "D", POSITIVE, "the required clearance"),
    FLAG("surfaces", "surfaces only: a body inside another one can be clear"),
    OPTION("first", "N", COUNT, "number of patches to list, the largest first (default: 10)"),
    POSE_OPTIONS,
    MAP_OPTIONS,
    {0}};

const tool_command command_clearance = {
    .name = "clearance",
    .operands = "A B --below D",
    .summary = "where two bodies are nearer than a required clearance",
    .about = "Tests whether the distance of two bodies is less than D, by their triangles. "
             "Measures the area of each surface that is too near, with samples placed evenly on "
             "both surfaces; connected samples of A are a patch. The picture shows A in colours "
             "beside B in colours, each with the other one translucent; grey is farther than 2 D.",
    .found = "the bodies are nearer than D",
    .examples = "  abut clearance pipe.obj wall.obj --below 5\n"
                "  abut clearance a.obj b.obj --below 0.2 --pose 0,0,2 --png near.png\n",
    .options = options,
    .operand_range = {2, 2},
    .run = run_clearance,
};
