/* The output of `abut contacts` for two bodies: tables of contacts and of patches, results and
 * JSON. */
#include "contacts.h"

#include <math.h>
#include <stdio.h>

static const char *side_name(unsigned side) {
    return side ? "b" : "a";
}

static const tool_column columns[] = {REAL("x"),
                                      REAL("y"),
                                      REAL("z"),
                                      REAL("nx"),
                                      REAL("ny"),
                                      REAL("nz"),
                                      REAL("depth"),
                                      WORD("side", side_name),
                                      WORD("kind", abut_contact_kind_name),
                                      WHOLE("element"),
                                      WHOLE("part")};

static void fill_contact_row(const void *data, size_t row, double *values) {
    const abut_contact *contact = &((const abut_contact *)data)[row];
    bool deepest = contact->part == ABUT_SAMPLE_DEEPEST;
    table_vector(values, contact->point);
    table_vector(values + 3, contact->normal);
    values[6] = contact->depth;
    values[7] = contact->side;
    values[8] = contact->kind;
    values[9] = contact->element;
    values[10] = deepest ? NAN : (double)contact->part;
}

static const tool_column patch_columns[] = {REAL("x"),      REAL("y"),        REAL("z"),
                                            REAL("nx"),     REAL("ny"),       REAL("nz"),
                                            REAL("depth"),  REAL("area"),     REAL("volume"),
                                            WHOLE("first"), WHOLE("contacts")};

static void fill_patch_row(const void *data, size_t row, double *values) {
    const abut_patch *patch = &((const abut_patch *)data)[row];
    table_vector(values, patch->centre);
    table_vector(values + 3, patch->normal);
    values[6] = patch->depth;
    values[7] = patch->area;
    values[8] = patch->volume;
    values[9] = (double)patch->first;
    values[10] = patch->count;
}

static void print_contact_list(tool_output *out, const contact_pair *b) {
    out_list(out, "list");
    for (size_t i = 0; out->json && i < b->count; i++) {
        const abut_contact *c = &b->list[i];
        out_object(out, NULL);
        json_vector(out, "point", c->point);
        json_vector(out, "normal", c->normal);
        json_number(out, "depth", c->depth);
        char id[24];
        snprintf(id, sizeof id, "%016llx", (unsigned long long)c->id);
        json_text(out, "id", id);
        json_text(out, "side", side_name(c->side));
        json_text(out, "kind", abut_contact_kind_name(c->kind));
        json_count(out, "element", c->element);
        if (c->part == ABUT_SAMPLE_DEEPEST)
            json_null(out, "part");
        else
            json_count(out, "part", c->part);
        out_end(out);
    }
    out_end(out);
}

static void print_patch_list(tool_output *out, const contact_pair *b) {
    out_list(out, "patches");
    for (size_t i = 0; out->json && i < b->patch_count; i++) {
        const abut_patch *p = &b->patches[i];
        out_object(out, NULL);
        json_vector(out, "normal", p->normal);
        json_vector(out, "centre", p->centre);
        json_number(out, "depth", p->depth);
        json_number(out, "area", p->area);
        json_number(out, "volume", p->volume);
        json_count(out, "first", p->first);
        json_count(out, "contacts", p->count);
        out_end(out);
    }
    out_end(out);
}

/* The bounds of the penetration depth that a map has; the shift is in world coordinates. */
static void print_depth_bounds(tool_output *out, const contact_pair *b) {
    abut_map_depth depth = abut_map_depth_default();
    const abut_pose turn = {b->pair.pose[0].rotation, {0, 0, 0}};
    abut_vec3 shift;
    ensure(abut_map_measure_depth(b->map, 0, &depth));
    ensure(abut_pose_apply(&turn, depth.shift, &shift));
    json_object(out, "depth_bounds");
    json_number(out, "lower", depth.lower);
    json_number(out, "upper", depth.upper);
    json_number(out, "shift_lower", depth.shift_lower);
    json_number(out, "shift_upper", depth.shift_upper);
    json_vector(out, "shift", shift);
    json_end(out);
    print_fact(out, "bounds",
               "deepest point of A in B: %.6g to %.6g; shortest shift of A out of B: "
               "%.6g to %.6g",
               depth.lower, depth.upper, depth.shift_lower, depth.shift_upper);
}

static void print_contact_summary(tool_run *tool, const tool_arguments *arguments,
                                  const contact_pair *b) {
    tool_output *out = &tool->out;
    size_t deepest = 0;
    for (size_t i = 1; i < b->count; i++)
        deepest = b->list[i].depth > b->list[deepest].depth ? i : deepest;
    if (b->with) {
        out_object(out, NULL);
        json_path(out, "a", arguments->operands[0]);
        json_text(out, "with", b->with);
    } else {
        pair_begin(out, arguments);
    }
    if (!b->exact)
        device_print(out, b->device);
    fact_count(out, "contacts", b->all);
    json_reliability(out, &b->reliability);
    if (b->count < b->all)
        fact_count(out, "kept", b->count);
    if (b->count) {
        abut_vec3 n = b->list[deepest].normal;
        fact_number(out, "depth", b->list[deepest].depth);
        json_vector(out, "normal", n);
        print_fact(out, "normal", "%.6g, %.6g, %.6g", n.x, n.y, n.z);
    } else {
        json_null(out, "depth");
        json_null(out, "normal");
    }
    if (b->exact && b->count) {
        double volume = 0;
        for (size_t i = 0; i < b->patch_count; i++)
            volume += b->patches[i].volume;
        fact_number(out, "volume", volume);
        json_boolean(out, "is_verified", b->is_verified);
        print_fact(out, "patches", "%zu; %s", b->patch_count,
                   b->list[deepest].depth < 0 ? "there are only gaps"
                   : b->map                   ? "not verified"
                   : b->is_verified ? "shifts by the depths along the normals end the overlap"
                                    : "shifts by the depths along the normals do not end it all");
    }
    if (b->map)
        print_depth_bounds(out, b);
    if (b->exact && out->json)
        print_patch_list(out, b);
    print_contact_list(out, b);
}

int contacts_print(tool_run *tool, const tool_arguments *arguments, const contact_pair *b) {
    const tool_given *path = option_given(arguments, "out"), *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    tool_table table = {columns, 11, b->count, fill_contact_row, b->list};
    if (option_given(arguments, "patches"))
        table = (tool_table){patch_columns, 11, b->patch_count, fill_patch_row, b->patches};
    if (png)
        camera_read(tool, arguments, &camera);
    if (path || !png)
        table_write(tool, path ? path->words : NULL, &table);
    if (!option_given(arguments, "view"))
        contacts_choose_view(b, &camera);
    if (png)
        contacts_draw(tool, arguments, &camera, b);
    if (tool->out.json || path || png) {
        print_contact_summary(tool, arguments, b);
        pictures_print_paths(tool, arguments);
        out_end(&tool->out);
        answer(tool, "%zu", b->all);
    }
    return tool_outcome(b->all > 0, &b->reliability);
}
