/* abut contacts: where two meshes touch, or a mesh and a solid, how deep and which way out, by
 * exact geometry, by their distance fields, or by a map of distances on the first. */
#include "clash.h"
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *side_name(unsigned side) {
    return side ? "b" : "a";
}

static const tool_column columns[] = {{"x", COLUMN_REAL, NULL},
                                      {"y", COLUMN_REAL, NULL},
                                      {"z", COLUMN_REAL, NULL},
                                      {"nx", COLUMN_REAL, NULL},
                                      {"ny", COLUMN_REAL, NULL},
                                      {"nz", COLUMN_REAL, NULL},
                                      {"depth", COLUMN_REAL, NULL},
                                      {"side", COLUMN_WORD, side_name},
                                      {"kind", COLUMN_WORD, abut_contact_kind_name},
                                      {"element", COLUMN_WHOLE, NULL},
                                      {"part", COLUMN_WHOLE, NULL}};

static void give_row(const void *data, size_t row, double *values) {
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

static const tool_column patch_columns[] = {
    {"x", COLUMN_REAL, NULL},      {"y", COLUMN_REAL, NULL},        {"z", COLUMN_REAL, NULL},
    {"nx", COLUMN_REAL, NULL},     {"ny", COLUMN_REAL, NULL},       {"nz", COLUMN_REAL, NULL},
    {"depth", COLUMN_REAL, NULL},  {"area", COLUMN_REAL, NULL},     {"volume", COLUMN_REAL, NULL},
    {"first", COLUMN_WHOLE, NULL}, {"contacts", COLUMN_WHOLE, NULL}};

static void give_patch(const void *data, size_t row, double *values) {
    const abut_patch *patch = &((const abut_patch *)data)[row];
    table_vector(values, patch->centre);
    table_vector(values + 3, patch->normal);
    values[6] = patch->depth;
    values[7] = patch->area;
    values[8] = patch->volume;
    values[9] = (double)patch->first;
    values[10] = patch->count;
}

/* Both bodies, and what was found. */
typedef struct bodies {
    tool_pair pair;
    abut_field *field[2];
    abut_samples *samples[2];
    abut_body body[2];
    abut_contact *list;  /* from malloc */
    size_t count, all;   /* that are told; that there are */
    abut_patch *patches; /* from malloc; not by fields */
    size_t patch_count;
    bool exact, separates;
    abut_advice advice;
    const char *with; /* what the solid is that B is, or null */
    abut_solid solid;
    abut_map *map; /* of A, to B; null = not by maps */
} bodies;

/* ---- making ---- */

static abut_status make_body(const tool_arguments *arguments, bodies *b, int side) {
    const tool_given *cells = option_given(arguments, "cells"),
                     *limit = option_given(arguments, "limit");
    abut_field_options field = abut_field_options_default();
    abut_samples_options samples = abut_samples_options_default();
    field.cache = samples.cache = option_given(arguments, "cache") ? "" : NULL;
    field.cells = cells ? cells->counts[0] : 0;
    samples.limit = limit ? limit->counts[0] : 0;
    abut_status status = abut_sign_prepare(b->pair.bvh[side], NULL);
    status = status ? status : abut_field_create_from(b->pair.bvh[side], &field, &b->field[side]);
    samples.cell = abut_field_info_get(b->field[side]).grid.cell;
    status =
        status ? status
               : abut_samples_create(abut_bvh_mesh(b->pair.bvh[side]), &samples, &b->samples[side]);
    b->body[side] = (abut_body){b->field[side], b->samples[side], b->pair.pose[side]};
    return status;
}

/* Says where a part of a body is thinner than two cells of its field, whose sides are not told
 * apart there. */
static void warn_of_thin_parts(tool_run *tool, const bodies *b, int side) {
    const double cell = abut_field_info_get(b->field[side]).grid.cell;
    const abut_box box = abut_mesh_bounds(abut_bvh_mesh(b->pair.bvh[side]));
    double thickness = 0;
    char words[400];
    if (abut_ray_thickness(b->pair.bvh[side], &thickness) || !(thickness < 2 * cell))
        return;
    double longest = fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    snprintf(
        words, sizeof words,
        "%s gets as thin as %.3g, below two cells of its field of %.3g, which may miss contacts "
        "there; --cells %.0f would do, and --method exact needs none",
        side ? "B" : "A", thickness, cell, ceil(2 * longest / thickness) + 4);
    tool_log(tool, ABUT_LOG_WARNING, words);
}

static abut_contact_options options_of(const tool_arguments *arguments) {
    abut_contact_options o = abut_contact_options_default();
    const tool_given *margin = option_given(arguments, "margin");
    o.margin = margin ? margin->numbers[0] : 0;
    o.samples = option_given(arguments, "samples") != NULL;
    return o;
}

/* Finds how far A is from B all over its surface. */
static abut_status make_map(const tool_arguments *arguments, bodies *b) {
    const tool_given *resolution = option_given(arguments, "resolution");
    abut_map_options o = abut_map_options_default();
    abut_posed other = {.bvh = b->pair.bvh[1]};
    abut_pose inverse;
    o.resolution = resolution ? resolution->counts[0] : 0;
    abut_status status = abut_sign_prepare(b->pair.bvh[1], NULL);
    status = status ? status : abut_map_create(abut_bvh_mesh(b->pair.bvh[0]), &o, &b->map);
    status = status ? status : abut_pose_invert(&b->pair.pose[0], &inverse);
    status = status ? status : abut_pose_compose(&inverse, &b->pair.pose[1], &other.pose);
    return status ? status : abut_map_find(b->map, &other, 1, NULL);
}

static abut_vec3 turned(const abut_pose *pose, abut_vec3 direction) {
    const abut_pose turn = {pose->rotation, {0, 0, 0}};
    abut_pose_apply(&turn, direction, &direction);
    return direction;
}

/* Those of the map, from the coordinates of A to those of the world. */
static abut_status ask_map(const bodies *b, const abut_patch_options *options,
                           abut_patches *found) {
    const abut_pose *pose = &b->pair.pose[0];
    abut_status status = abut_map_contacts(b->map, options, found);
    for (uint64_t i = 0; i < found->contact_count && !status; i++) {
        abut_contact *contact = &found->contacts[i];
        contact->normal = turned(pose, contact->normal);
        status = abut_pose_apply(pose, contact->point, &contact->point);
    }
    for (uint64_t i = 0; i < found->count && !status; i++) {
        abut_patch *patch = &found->list[i];
        patch->normal = turned(pose, patch->normal);
        status = abut_pose_apply(pose, patch->centre, &patch->centre);
    }
    return status;
}

static abut_status ask(const bodies *b, const abut_patch_options *options, abut_patches *found) {
    if (b->map)
        return ask_map(b, options, found);
    abut_posed posed[2] = {{b->pair.bvh[0], b->pair.pose[0]}, {b->pair.bvh[1], b->pair.pose[1]}};
    return b->with ? abut_contact_solid(&posed[0], &b->solid, options, found)
                   : abut_contact_patches(&posed[0], &posed[1], options, found);
}

static void advise(tool_run *tool, const tool_arguments *arguments, const bodies *b) {
    abut_mesh *meshes[2] = {abut_bvh_mesh(b->pair.bvh[0]),
                            b->with ? NULL : abut_bvh_mesh(b->pair.bvh[1])};
    const char *names[2] = {arguments->operands[0], b->with ? b->with : arguments->operands[1]};
    advise_of(tool, &b->advice, meshes, names, 2);
}

/* By exact geometry, or by a map. */
static int find_patches(tool_run *tool, const tool_arguments *arguments, bodies *b) {
    const tool_given *most = option_given(arguments, "most"),
                     *margin = option_given(arguments, "margin"),
                     *hint = option_given(arguments, "hint");
    abut_patch_options options = abut_patch_options_default();
    if (hint)
        options.hint = (abut_vec3){hint->numbers[0], hint->numbers[1], hint->numbers[2]};
    abut_patches found = {.capacity = 0};
    options.margin = margin ? margin->numbers[0] : 0;
    options.keep = most ? most->counts[0] : 0;
    abut_status status = ask(b, &options, &found);
    if (status == ABUT_ERROR_BUFFER) {
        found.capacity = found.count;
        found.contact_capacity = found.contact_count;
        b->patches = found.list = malloc(found.count * sizeof *found.list);
        b->list = found.contacts = malloc(found.contact_count * sizeof *found.contacts);
        if (!b->patches || !b->list)
            return tool_fail_with(tool, "out of memory", "there is no memory for the contacts");
        status = ask(b, &options, &found);
    }
    if (status)
        return tool_fail(tool, status);
    b->all = b->count = found.contact_count;
    b->patch_count = found.count;
    b->separates = found.separates;
    b->advice = found.advice;
    advise(tool, arguments, b);
    return 0;
}

/* By fields. */
static int find(tool_run *tool, const tool_arguments *arguments, bodies *b) {
    const tool_given *most = option_given(arguments, "most");
    abut_contact_options options = options_of(arguments);
    abut_contacts found = {.capacity = 0};
    abut_status status = abut_contact_bodies(&b->body[0], &b->body[1], &options, &found);
    if (status == ABUT_ERROR_BUFFER) {
        found.capacity = found.count;
        b->list = found.list = malloc(found.count * sizeof *found.list);
        if (!b->list)
            return tool_fail_with(tool, "out of memory", "there is no memory for the contacts");
        status = abut_contact_bodies(&b->body[0], &b->body[1], &options, &found);
    }
    if (status)
        return tool_fail(tool, status);
    b->all = b->count = found.count;
    b->advice = found.advice;
    advise(tool, arguments, b);
    if (most)
        b->count = abut_contact_reduce(b->list, b->all, most->counts[0], 0);
    return 0;
}

/* ---- the picture ---- */

/* Where to look from so that the normals are seen from the side. */
static void look_across(const bodies *b, abut_picture_options *options) {
    abut_vec3 n = b->count ? b->list[0].normal : (abut_vec3){0, 0, 0}, eye = {0.6, -1, 0.55};
    double along = n.x * eye.x + n.y * eye.y + n.z * eye.z;
    abut_vec3 across = {eye.x - 0.7 * along * n.x, eye.y - 0.7 * along * n.y,
                        eye.z - 0.7 * along * n.z};
    if (hypot(hypot(across.x, across.y), across.z) > 0.4)
        options->eye_direction = across;
}

static double size_of(const bodies *b) {
    double size = 0;
    for (int side = 0; side < 2; side++) {
        if (side && b->with)
            continue;
        abut_box box = abut_mesh_bounds(abut_bvh_mesh(b->pair.bvh[side]));
        double own = hypot(hypot(box.hi.x - box.lo.x, box.hi.y - box.lo.y), box.hi.z - box.lo.z);
        size = side ? fmin(size, own) : own;
    }
    return size;
}

enum { PATCH_LEGEND_MOST = 8 }; /* patches that are named in a picture */

/* Depths are told by colour: gaps blue, then from yellow to dark red at the deepest. */
static abut_colour depth_colour(double depth, double deepest) {
    if (depth < 0)
        return (abut_colour){0.1f, 0.25f, 0.75f, 1};
    float t = deepest > 0 ? (float)(depth / deepest) : 0;
    return (abut_colour){0.95f - 0.35f * t, 0.75f * (1 - t), 0.05f, 1};
}

/* Colours that are easy to tell apart, one after the other for patches: those of Tol 2021, "Colour
 * schemes", bright. */
static abut_colour patch_colour(size_t patch) {
    static const abut_colour colours[] = {{0.27f, 0.47f, 0.67f, 1}, {0.93f, 0.40f, 0.47f, 1},
                                          {0.13f, 0.53f, 0.20f, 1}, {0.80f, 0.73f, 0.27f, 1},
                                          {0.67f, 0.20f, 0.47f, 1}, {0.40f, 0.80f, 0.93f, 1}};
    return colours[patch % (sizeof colours / sizeof *colours)];
}

/* How contacts are coloured: by depth, or each patch in its own colour. */
typedef struct colouring {
    const bodies *b;
    bool by_patch;
    double deepest;
} colouring;

static abut_colour contact_colour(const void *data, size_t contact) {
    const colouring *c = data;
    size_t patch = 0;
    if (!c->by_patch)
        return depth_colour(c->b->list[contact].depth, c->deepest);
    while (patch + 1 < c->b->patch_count && contact >= c->b->patches[patch + 1].first)
        patch++;
    return patch_colour(patch);
}

/* Whether q is to the right of the way from p to r, as seen against n. */
static bool is_inner(abut_vec3 n, abut_vec3 p, abut_vec3 q, abut_vec3 r) {
    abut_vec3 a = {q.x - p.x, q.y - p.y, q.z - p.z}, b = {r.x - p.x, r.y - p.y, r.z - p.z};
    return n.x * (a.y * b.z - a.z * b.y) + n.y * (a.z * b.x - a.x * b.z) +
               n.z * (a.x * b.y - a.y * b.x) <
           0;
}

/* The polygon around a patch's contacts, as a fan about its middle: a mesh, or null where there are
 * fewer than three. */
static abut_status make_fan(tool_run *tool, const abut_contact *list, uint32_t count,
                            abut_mesh **fan) {
    enum { MOST = 8 };
    abut_vec3 points[MOST + 1] = {{0, 0, 0}};
    double angles[MOST];
    uint32_t indices[3 * MOST];
    *fan = NULL;
    if (count < 3 || count > MOST)
        return ABUT_OK;
    for (uint32_t i = 0; i < count; i++)
        points[count] = (abut_vec3){points[count].x + list[i].point.x / count,
                                    points[count].y + list[i].point.y / count,
                                    points[count].z + list[i].point.z / count};
    abut_vec3 n = list[0].normal, c = points[count];
    abut_vec3 u = fabs(n.x) < 0.6 ? (abut_vec3){0, n.z, -n.y} : (abut_vec3){-n.z, 0, n.x};
    abut_vec3 v = {n.y * u.z - n.z * u.y, n.z * u.x - n.x * u.z, n.x * u.y - n.y * u.x};
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 d = {list[i].point.x - c.x, list[i].point.y - c.y, list[i].point.z - c.z};
        double angle = atan2(d.x * v.x + d.y * v.y + d.z * v.z, d.x * u.x + d.y * u.y + d.z * u.z);
        uint32_t k = i;
        for (; k > 0 && angles[k - 1] > angle; k--) {
            angles[k] = angles[k - 1];
            points[k] = points[k - 1];
        }
        angles[k] = angle;
        points[k] = list[i].point;
    }
    for (uint32_t i = 0; i < count && count > 3;) /* those within are left out */
        if (is_inner(n, points[(i + count - 1) % count], points[i], points[(i + 1) % count])) {
            memmove(&points[i], &points[i + 1], (--count - i) * sizeof *points);
            i = 0;
        } else {
            i++;
        }
    points[count] = c;
    for (uint32_t i = 0; i < count; i++) {
        indices[3 * i] = count;
        indices[3 * i + 1] = i;
        indices[3 * i + 2] = (i + 1) % count;
    }
    abut_mesh_input input = abut_mesh_input_doubles(points, count + 1, indices, count);
    return abut_mesh_create(tool->context, &input, fan);
}

static abut_status draw_patches(tool_run *tool, abut_picture *picture, const colouring *colours) {
    const bodies *b = colours->b;
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < b->patch_count && !status; i++) {
        const abut_patch *patch = &b->patches[i];
        abut_mesh_style style = abut_mesh_style_default();
        abut_mesh *fan;
        status = make_fan(tool, b->list + patch->first, patch->count, &fan);
        style.colour = contact_colour(colours, (size_t)patch->first);
        style.colour.a = colours->by_patch ? 1 : 0.6f;
        style.two_sided = true;
        if (!status && fan)
            status =
                abut_picture_add_mesh(picture, fan, (abut_pose){{0, 0, 0, 1}, {0, 0, 0}}, &style);
        abut_mesh_destroy(fan);
    }
    return status;
}

/* The shift of A that ends all contacts, if there is one. */
static abut_vec3 shift_out(const bodies *b) {
    abut_vec3 shift = {0, 0, 0};
    for (int round = 0; round < 64; round++)
        for (size_t i = 0; i < b->count; i++) {
            abut_vec3 n = b->list[i].normal;
            double missing = b->list[i].depth - (shift.x * n.x + shift.y * n.y + shift.z * n.z);
            if (missing > 0 && b->list[i].depth > 0)
                shift = (abut_vec3){shift.x + missing * n.x, shift.y + missing * n.y,
                                    shift.z + missing * n.z};
        }
    return shift;
}

static abut_status draw_bodies(tool_run *tool, const tool_arguments *arguments, const bodies *b,
                               float opacity, abut_picture *picture, tool_legend *legend) {
    abut_mesh *solid = NULL;
    abut_pose solid_pose;
    abut_status status =
        b->with ? solid_mesh(tool, &b->solid, abut_bvh_mesh(b->pair.bvh[0]), &solid, &solid_pose)
                : ABUT_OK;
    for (int side = 0; side < 2 && !status; side++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.smooth = true;
        style.colour = abut_picture_colour((uint32_t)side);
        legend_file(legend, style.colour, side && b->with ? b->with : arguments->operands[side]);
        if (!side && option_given(arguments, "after"))
            legend_add(legend, style.colour, "where its contacts push it");
        style.colour.a = opacity;
        abut_mesh *mesh = side ? solid : NULL;
        abut_pose at = side && b->with ? solid_pose : b->pair.pose[side];
        if (!side && option_given(arguments, "after")) {
            abut_vec3 shift = shift_out(b);
            at.translation = (abut_vec3){at.translation.x + shift.x, at.translation.y + shift.y,
                                         at.translation.z + shift.z};
        }
        status = abut_picture_add_mesh(picture, mesh ? mesh : abut_bvh_mesh(b->pair.bvh[side]), at,
                                       &style);
    }
    abut_mesh_destroy(solid);
    return status;
}

/* What the colours of contacts mean. */
static void add_colours(tool_legend *legend, const colouring *colours) {
    const bodies *b = colours->b;
    double deepest = colours->deepest, least = HUGE_VAL;
    for (size_t i = 0; i < b->patch_count && colours->by_patch && i < PATCH_LEGEND_MOST; i++) {
        double depth = b->patches[i].depth;
        legend_add(legend, patch_colour(i),
                   depth < 0 ? "patch %zu: gap of %.3g" : "patch %zu: %.3g deep", i + 1,
                   fabs(depth));
    }
    if (colours->by_patch)
        return;
    for (size_t i = 0; i < b->count; i++)
        least = fmin(least, b->list[i].depth);
    if (b->count && deepest >= 0)
        legend_add(legend, depth_colour(deepest, deepest), "contact, %.3g deep, with its normal",
                   deepest);
    if (b->count > 1 && least >= 0 && least < deepest)
        legend_add(legend, depth_colour(least, deepest), "the least deep contact, %.3g", least);
    if (b->count && least < 0)
        legend_add(legend, depth_colour(-1, deepest), "gap of up to %.3g", -least);
}

static abut_status draw(tool_run *tool, const tool_arguments *arguments,
                        const abut_picture_options *options, const bodies *b) {
    tool_legend legend = {0};
    abut_picture *picture = NULL;
    const tool_given *colour_by = option_given(arguments, "colour");
    colouring colours = {b, colour_by && strcmp(colour_by->words, "patch") == 0, -HUGE_VAL};
    double arrow = 0.12 * size_of(b);
    for (size_t i = 0; i < b->count; i++)
        colours.deepest = fmax(colours.deepest, b->list[i].depth);
    abut_status status = abut_picture_create(tool->context, options, &picture);
    status = status ? status
                    : draw_bodies(tool, arguments, b, colours.by_patch ? 0.07f : 0.45f, picture,
                                  &legend);
    status = status ? status : draw_patches(tool, picture, &colours);
    for (size_t i = 0; i < b->count && !status; i++) {
        const abut_contact *c = &b->list[i];
        abut_colour colour = contact_colour(&colours, i);
        abut_vec3 p = c->point, q = {p.x + arrow * c->normal.x, p.y + arrow * c->normal.y,
                                     p.z + arrow * c->normal.z};
        status = abut_picture_add_line(picture, p, q, colours.by_patch ? 3.5 : 2, colour);
        status = status ? status : abut_picture_add_point(picture, p, 7, colour);
    }
    add_colours(&legend, &colours);
    const char *path = picture_given(arguments)->words;
    if (!status && tool->view)
        status =
            view_contacts(tool->view, picture, b->list, b->count, arrow, contact_colour, &colours);
    status = status ? status : picture_write(tool, picture, options, &legend, path);
    abut_picture_destroy(picture);
    return status;
}

/* ---- what is told ---- */

static void tell_list(tool_output *out, const bodies *b) {
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

static void tell_patches(tool_output *out, const bodies *b) {
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

static void summarise(tool_run *tool, const tool_arguments *arguments, const bodies *b) {
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
    fact_count(out, "contacts", b->all);
    json_advice(out, &b->advice);
    if (b->count < b->all)
        fact_count(out, "kept", b->count);
    if (b->count) {
        abut_vec3 n = b->list[deepest].normal;
        fact_number(out, "depth", b->list[deepest].depth);
        json_vector(out, "normal", n);
        say_fact(out, "normal", "%.6g, %.6g, %.6g", n.x, n.y, n.z);
    } else {
        json_null(out, "depth");
        json_null(out, "normal");
    }
    if (b->exact && b->count) {
        double volume = 0;
        for (size_t i = 0; i < b->patch_count; i++)
            volume += b->patches[i].volume;
        fact_number(out, "volume", volume);
        json_boolean(out, "separates", b->separates);
        say_fact(out, "patches", "%zu; %s", b->patch_count,
                 b->list[deepest].depth < 0 ? "there are only gaps"
                 : b->separates ? "shifts by the depths along the normals end the overlap"
                                : "shifts by the depths along the normals do not end it all");
    }
    if (b->exact && out->json)
        tell_patches(out, b);
    tell_list(out, b);
}

static int tell(tool_run *tool, const tool_arguments *arguments, const bodies *b) {
    const tool_given *path = option_given(arguments, "out"), *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    tool_table table = {columns, 11, b->count, give_row, b->list};
    if (option_given(arguments, "patches"))
        table = (tool_table){patch_columns, 11, b->patch_count, give_patch, b->patches};
    int code = png ? camera_read(tool, arguments, &camera) : 0;
    if (!code && (path || !png))
        code = table_put(tool, path ? path->words : NULL, &table);
    if (!option_given(arguments, "view"))
        look_across(b, &camera);
    abut_status status = ABUT_OK;
    if (!code && png && (status = draw(tool, arguments, &camera, b)))
        code = tool_fail(tool, status);
    if (!code && (tool->out.json || path || png)) {
        summarise(tool, arguments, b);
        pictures_tell(tool, arguments);
        out_end(&tool->out);
        answer(tool, "%zu", b->all);
    }
    return code ? code : tool_outcome(b->all > 0, &b->advice);
}

/* ---- motion ---- */

static int sweep(tool_run *tool, const tool_arguments *arguments, const bodies *b,
                 const abut_pose *to) {
    tool_output *out = &tool->out;
    abut_path rests = {b->pair.pose[0], b->pair.pose[0]}, moves = {b->pair.pose[1], *to};
    const tool_given *margin = option_given(arguments, "margin");
    abut_sweep_rigid_options options = abut_sweep_rigid_options_default();
    abut_sweep_touch touch;
    options.separation = margin ? margin->numbers[0] : 0;
    abut_status status =
        abut_sweep_rigid(b->pair.bvh[0], &rests, b->pair.bvh[1], &moves, &options, &touch);
    if (status)
        return tool_fail(tool, status);
    pair_begin(out, arguments);
    if (touch.hit) {
        abut_vec3 p = touch.point, n = touch.normal;
        fact_number(out, "time", touch.time);
        json_vector(out, "point", p);
        json_vector(out, "normal", n);
        char words[POINT_WORDS];
        say_fact(out, "point", "%s", point_words(p, 6, words));
        say_fact(out, "normal", "%.6g, %.6g, %.6g", n.x, n.y, n.z);
    } else {
        json_null(out, "time");
        say_fact(out, "time", "never");
    }
    out_end(out);
    tool_text words = {0};
    if (touch.hit)
        text_number(&words, touch.time);
    answer(tool, "%s", words.data ? words.data : "never");
    text_free(&words);
    return touch.hit ? CODE_FOUND : CODE_FINE;
}

static int check(tool_run *tool, const tool_arguments *arguments, abut_pose *to) {
    const tool_given *given = option_given(arguments, "to"),
                     *margin = option_given(arguments, "margin");
    if (given && !pose_read(given->words, to))
        return tool_refuse(tool, "--to needs X,Y,Z, @z,30 or X,Y,Z@1,1,0,30; '%s' is not",
                           given->words);
    if (given && (option_given(arguments, "out") || picture_given(arguments) ||
                  option_given(arguments, "hint") || option_given(arguments, "patches") ||
                  option_given(arguments, "most") || option_given(arguments, "cells") ||
                  option_given(arguments, "method") || option_given(arguments, "samples") ||
                  option_given(arguments, "limit") || option_given(arguments, "cache")))
        return tool_refuse(tool, "--to asks for a time, by exact geometry; it goes with none of "
                                 "--out, --png, --hint, --patches, --most and the options of "
                                 "fields");
    if (option_given(arguments, "after") && !picture_given(arguments))
        return tool_refuse(tool, "--after is of --png");
    const tool_given *colour = option_given(arguments, "colour");
    if (colour && !picture_given(arguments))
        return tool_refuse(tool, "--colour is of --png and --html");
    if (colour && strcmp(colour->words, "depth") != 0 && strcmp(colour->words, "patch") != 0)
        return tool_refuse(tool, "--colour is depth or patch, not '%s'", colour->words);
    if (option_given(arguments, "explain"))
        return tool_refuse(tool, "--explain is for a scene");
    return option_length(tool, margin);
}

static bool wants_map(const tool_arguments *arguments) {
    const tool_given *method = option_given(arguments, "method");
    return method && strcmp(method->words, "map") == 0;
}

/* Whether fields are asked for, also by an option of theirs. What is wrong goes into `code`. */
static bool wants_fields(tool_run *tool, const tool_arguments *arguments, int *code) {
    static const char *const own[] = {"cells", "samples", "limit", "cache"};
    const tool_given *method = option_given(arguments, "method");
    bool fields = method && strcmp(method->words, "field") == 0, map = wants_map(arguments);
    if (method && !fields && !map && strcmp(method->words, "exact") != 0)
        *code = tool_refuse(tool, "--method is exact, field or map, not '%s'", method->words);
    if (!*code && option_given(arguments, "resolution") && !map)
        *code = tool_refuse(tool, "--resolution is of --method map");
    if (!*code && map &&
        (option_given(arguments, "hint") || option_given(arguments, "with") ||
         option_given(arguments, "to")))
        *code = tool_refuse(tool, "--hint, --with and --to do not go with --method map");
    for (size_t i = 0; i < sizeof own / sizeof *own && !*code; i++) {
        if (!option_given(arguments, own[i]))
            continue;
        if (method && !fields)
            *code = tool_refuse(tool, "--%s is of --method field", own[i]);
        fields = true;
    }
    const tool_given *most = option_given(arguments, "most");
    if (!*code && fields &&
        (option_given(arguments, "hint") || option_given(arguments, "patches") ||
         option_given(arguments, "colour")))
        *code = tool_refuse(tool, "--hint, --patches and --colour are of --method exact");
    if (!*code && !fields)
        *code = option_range(tool, most, 1, 8, "contacts by exact geometry");
    return fields;
}

/* Reads the solid that B is, if there is one. */
static int read_solid(tool_run *tool, const tool_arguments *arguments, bodies *b) {
    const tool_given *with = option_given(arguments, "with");
    if (!with != (arguments->operand_count == 2))
        return with ? tool_refuse(tool, "--with stands for B; '%s' is one file too many",
                                  arguments->operands[1])
                    : tool_refuse(tool, "it needs a second file, or --with and a solid");
    if (!with)
        return 0;
    if (!b->exact || option_given(arguments, "to"))
        return tool_refuse(tool, "--with goes neither with --to nor with options of fields");
    b->with = with->words;
    return solid_read(tool, with->words, &b->pair.pose[1], &b->solid);
}

static int run(tool_run *tool, const tool_arguments *arguments) {
    bodies b;
    abut_pose to;
    bool input = arguments->operand_count == 1 && strcmp(arguments->operands[0], "-") == 0;
    if ((input || assembly_is_scene(arguments)) && !option_given(arguments, "with"))
        return contacts_scene(tool, arguments);
    if (tool->share)
        return tool_refuse(tool, "several processes share out the pairs of a scene (.json)");
    memset(&b, 0, sizeof b);
    int code = check(tool, arguments, &to);
    b.exact = !code && !wants_fields(tool, arguments, &code);
    code = code ? code : read_solid(tool, arguments, &b); /* its pose is not known yet */
    code = code ? code : pair_load(tool, arguments, NULL, &b.pair);
    code = code ? code : read_solid(tool, arguments, &b);
    for (int side = 0; side < 2 && !code && !b.exact; side++) {
        abut_status status = ABUT_OK;
        progress_start(tool->progress, arguments->operands[side]);
        if ((status = make_body(arguments, &b, side)))
            code = tool_fail(tool, status);
        else
            warn_of_thin_parts(tool, &b, side);
    }
    if (!code && wants_map(arguments)) {
        progress_start(tool->progress, arguments->operands[0]);
        abut_status status = make_map(arguments, &b);
        code = status ? tool_fail(tool, status) : 0;
    }
    if (!code && option_given(arguments, "to")) {
        double *q = &to.rotation.x, length = hypot(hypot(q[0], q[1]), hypot(q[2], q[3]));
        for (int i = 0; i < 4; i++)
            q[i] /= length;
        code = sweep(tool, arguments, &b, &to);
    } else if (!code) {
        code = b.exact ? find_patches(tool, arguments, &b) : find(tool, arguments, &b);
        code = code ? code : tell(tool, arguments, &b);
    }
    for (int side = 0; side < 2; side++) {
        abut_samples_destroy(b.samples[side]);
        abut_field_destroy(b.field[side]);
    }
    abut_map_destroy(b.map);
    free(b.list);
    free(b.patches);
    pair_free(&b.pair);
    return code;
}

static const tool_option options[] = {
    {"pose", "POSE", OPTION_TEXT,
     "where B is: X,Y,Z (shifted), @z,30 (turned by 30 degrees about z), X,Y,Z@1,1,0,30 (turned, "
     "then shifted) or X,Y,Z,QX,QY,QZ,QW (with a quaternion)",
     NULL, false},
    {"pose-a", "POSE", OPTION_TEXT, "where A is", NULL, false},
    {"with", "SOLID", OPTION_TEXT,
     "instead of B: plane:NX,NY,NZ,D (all below it), sphere:X,Y,Z,R, capsule:X,Y,Z,X,Y,Z,R (both "
     "ends), box:X,Y,Z,SX,SY,SZ (middle and sizes) or cylinder:X,Y,Z,X,Y,Z,R",
     "plane:|sphere:|capsule:|box:|cylinder:", false},
    {"to", "POSE", OPTION_TEXT,
     "B moves there: tell when it touches A first, from 0 to 1, whatever its speed", NULL, false},
    {"method", "NAME", OPTION_TEXT,
     "exact: from the contours in which the meshes meet (default); field: samples of each mesh in "
     "the distance field of the other; map: texels of A, by their distance to B. Of a scene also "
     "auto, what suits each body (default), and layers",
     "exact|field|map|auto|layers", false},
    {"explain", NULL, OPTION_FLAG,
     "of a scene: which method each body is tried by and why, and what that promises of pairs that "
     "touch, instead of contacts",
     NULL, false},
    {"resolution", "N", OPTION_COUNT, "map: N x N texels on A (default: 512)", NULL, false},
    {"cells", "N", OPTION_COUNT,
     "fields: of each along its longest side (default: 64). This and the other options of fields "
     "imply --method field",
     NULL, false},
    {"cache", NULL, OPTION_FLAG,
     "fields: look for fields and samples on disk first, and keep them there; see 'abut cache'",
     NULL, false},
    {"margin", "M", OPTION_NUMBER,
     "also surfaces within this distance: a patch for each wall, with the gap as a negative depth. "
     "Walls more than 5% of the smaller body beyond the nearest are left out. With --to: when the "
     "meshes come this near",
     NULL, false},
    {"hint", "X,Y,Z", OPTION_VECTOR,
     "direction: the normal of the last step, or the motion of A relative to B, reversed. It "
     "chooses the side to which a body that has gone through the other is pushed",
     NULL, false},
    {"patches", NULL, OPTION_FLAG,
     "a row for each patch instead of its contacts: centre, normal, depth, area and volume of the "
     "overlap",
     NULL, false},
    {"samples", NULL, OPTION_FLAG, "fields: only at samples, without the deepest points of edges",
     NULL, false},
    {"limit", "N", OPTION_COUNT, "fields: at most N samples of each mesh", NULL, false},
    {"most", "K", OPTION_COUNT,
     "keep for each patch, or direction, only the deepest contact and K - 1 more, spread widely "
     "(default: 4 a patch; all by fields)",
     NULL, false},
    {"out", "FILE", OPTION_TEXT, "write the table there (.csv, .ply, .npy) and print a summary",
     NULL, false},
    {"png", "FILE", OPTION_TEXT, "draw both meshes with contacts and normals, and print a summary",
     NULL, false},
    PAGE_OPTION,
    {"colour", "NAME", OPTION_TEXT,
     "colours of contacts in the picture: depth (default), or patch: one for each patch",
     "depth|patch", false},
    {"after", NULL, OPTION_FLAG, "draw A where the depths and normals take it", NULL, false},
    {"view", "VIEW", OPTION_TEXT,
     "where to look from: front, back, left, right, top, bottom, iso, or X,Y,Z (default: across "
     "the first normal)",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT,
     "which way is up: x, y, z, -x, -y, -z or X,Y,Z (default: as the first file tells, else z)",
     "x|y|z|-x|-y|-z", false},
    {0}};

const tool_command command_contacts = {
    .name = "contacts",
    .operands = "A [B] | SCENE.json",
    .summary = "where two meshes touch, how deep, and which way out",
    .about =
        "Prints the contacts of two meshes, or of one with a solid, as comma-separated "
        "values: point, normal (from B to "
        "A), depth, and the feature of A or B that touches. Meshes that touch have a contact, "
        "however thin they are. With --json a summary with all contacts is printed instead.\n\n"
        "Of a scene (see docs/scene.md) all contacts of all its bodies are printed, with "
        "the names of both, each body by the method that suits it; --margin, --most, --method, "
        "--explain, "
        "--out, --png and the camera go with it.",
    .found = "there is a contact, or a touch on the way",
    .examples = "  abut contacts a.obj b.obj --pose 0,0,0.9 --most 4\n"
                "  abut contacts a.obj b.obj --pose 0,0,0.9 --png contacts.png\n"
                "  abut contacts a.obj b.obj --pose 0,0,9 --to 0,0,-9\n"
                "  abut contacts a.obj --with plane:0,0,1,0\n"
                "  abut contacts scene.json --out contacts.csv\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run,
};
