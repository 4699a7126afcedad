/* The picture of contacts: both bodies translucent, patches as polygons, contacts with their
 * normals, coloured by penetration depth or by patch. */
#include "contacts.h"
#include "interfere.h"
#include "view.h"

#include <math.h>
#include <string.h>

void contacts_choose_view(const contact_pair *b, abut_picture_options *options) {
    abut_vec3 n = b->count ? b->list[0].normal : (abut_vec3){0, 0, 0}, eye = {0.6, -1, 0.55};
    abut_vec3 across = vec_along(eye, -0.7 * vec_dot(n, eye), n);
    if (vec_length(across) > 0.4)
        options->eye_direction = across;
}

/* Returns the diagonal of the smaller bounding box. */
static double smaller_diagonal(const contact_pair *b) {
    double size = 0;
    for (int side = 0; side < 2; side++) {
        if (side && b->with)
            continue;
        double own = mesh_diagonal(abut_bvh_mesh(b->pair.bvh[side]));
        size = side ? fmin(size, own) : own;
    }
    return size;
}

enum { PATCH_LEGEND_MAX = 8 }; /* patches in the legend of a picture */

/* Returns the colour of a penetration depth: blue for gaps, otherwise from yellow at 0 to dark red
 * at the deepest contact. */
static abut_colour depth_colour(double depth, double deepest) {
    if (depth < 0)
        return (abut_colour){0.1f, 0.25f, 0.75f, 1};
    float t = deepest > 0 ? (float)(depth / deepest) : 0;
    return (abut_colour){0.95f - 0.35f * t, 0.75f * (1 - t), 0.05f, 1};
}

/* Returns the colour of a patch: the "bright" scheme of Tol 2021, "Colour schemes", whose colours
 * are easy to distinguish. */
static abut_colour patch_colour(size_t patch) {
    static const abut_colour colours[] = {{0.27f, 0.47f, 0.67f, 1}, {0.93f, 0.40f, 0.47f, 1},
                                          {0.13f, 0.53f, 0.20f, 1}, {0.80f, 0.73f, 0.27f, 1},
                                          {0.67f, 0.20f, 0.47f, 1}, {0.40f, 0.80f, 0.93f, 1}};
    return colours[patch % (sizeof colours / sizeof *colours)];
}

/* How contacts are coloured: by depth, or each patch in its own colour. */
typedef struct colouring {
    const contact_pair *b;
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

/* Returns whether q is to the left of the line from p to r, seen against n. */
static bool is_inner(abut_vec3 n, abut_vec3 p, abut_vec3 q, abut_vec3 r) {
    return vec_dot(n, vec_cross(vec_sub(q, p), vec_sub(r, p))) < 0;
}

/* Creates the convex polygon of the contacts of a patch, as a triangle fan about their mean. *fan
 * is null if there are fewer than three contacts. */
static void make_fan(tool_run *tool, const abut_contact *list, uint32_t count, abut_mesh **fan) {
    enum { POINT_MAX = 8 };
    abut_vec3 points[POINT_MAX + 1] = {{0, 0, 0}};
    double angles[POINT_MAX];
    uint32_t indices[3 * POINT_MAX];
    *fan = NULL;
    if (count < 3 || count > POINT_MAX)
        return;
    for (uint32_t i = 0; i < count; i++)
        points[count] = vec_add(points[count], vec_divide(list[i].point, count));
    abut_vec3 n = list[0].normal, c = points[count];
    abut_vec3 u = fabs(n.x) < 0.6 ? (abut_vec3){0, n.z, -n.y} : (abut_vec3){-n.z, 0, n.x};
    abut_vec3 v = vec_cross(n, u);
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 d = vec_sub(list[i].point, c);
        double angle = atan2(vec_dot(d, v), vec_dot(d, u));
        uint32_t k = i;
        for (; k > 0 && angles[k - 1] > angle; k--) {
            angles[k] = angles[k - 1];
            points[k] = points[k - 1];
        }
        angles[k] = angle;
        points[k] = list[i].point;
    }
    for (uint32_t i = 0; i < count && count > 3;) /* removes points inside the polygon */
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
    *fan = mesh_new(tool, points, (size_t)count + 1, indices, count);
}

static void draw_patches(tool_run *tool, abut_picture *picture, const colouring *colours) {
    const contact_pair *b = colours->b;
    for (size_t i = 0; i < b->patch_count; i++) {
        const abut_patch *patch = &b->patches[i];
        abut_mesh *fan;
        make_fan(tool, b->list + patch->first, patch->count, &fan);
        abut_colour colour = contact_colour(colours, (size_t)patch->first);
        colour.a = colours->by_patch ? 1 : 0.6f;
        if (fan)
            picture_sheet(picture, fan, colour, NULL, false);
        abut_mesh_destroy(fan);
    }
}

/* Returns a translation of A that separates all contacts, if there is one. */
static abut_vec3 find_separating_shift(const contact_pair *b) {
    abut_vec3 shift = {0, 0, 0};
    for (int round = 0; round < 64; round++)
        for (size_t i = 0; i < b->count; i++) {
            abut_vec3 n = b->list[i].normal;
            double missing = b->list[i].depth - vec_dot(shift, n);
            if (missing > 0 && b->list[i].depth > 0)
                shift = vec_along(shift, missing, n);
        }
    return shift;
}

static void draw_bodies(tool_run *tool, const tool_arguments *arguments, const contact_pair *b,
                        float opacity, abut_picture *picture, tool_legend *legend) {
    abut_mesh *solid = NULL;
    abut_pose solid_pose;
    if (b->with)
        solid_mesh(tool, &b->solid, abut_bvh_mesh(b->pair.bvh[0]), &solid, &solid_pose);
    for (int side = 0; side < 2; side++) {
        const abut_colour colour = abut_picture_colour((uint32_t)side);
        legend_file(legend, colour, side && b->with ? b->with : arguments->operands[side]);
        if (!side && option_given(arguments, "after"))
            legend_add(legend, colour, "where its contacts push it");
        abut_mesh *mesh = side ? solid : NULL;
        abut_pose at = side && b->with ? solid_pose : b->pair.pose[side];
        if (!side && option_given(arguments, "after"))
            at.translation = vec_add(at.translation, find_separating_shift(b));
        picture_body(picture, mesh ? mesh : abut_bvh_mesh(b->pair.bvh[side]), at, colour, opacity);
    }
    abut_mesh_destroy(solid);
}

/* Adds the colours of the contacts to the legend. */
static void add_colours_to_legend(tool_legend *legend, const colouring *colours) {
    const contact_pair *b = colours->b;
    double deepest = colours->deepest, least = HUGE_VAL;
    for (size_t i = 0; i < b->patch_count && colours->by_patch && i < PATCH_LEGEND_MAX; i++) {
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

void contacts_draw(tool_run *tool, const tool_arguments *arguments,
                   const abut_picture_options *options, const contact_pair *b) {
    tool_legend legend = {0};
    const tool_given *colour_by = option_given(arguments, "colour");
    colouring colours = {b, colour_by && strcmp(colour_by->words, "patch") == 0, -HUGE_VAL};
    double arrow = 0.12 * smaller_diagonal(b);
    for (size_t i = 0; i < b->count; i++)
        colours.deepest = fmax(colours.deepest, b->list[i].depth);
    abut_picture *picture = picture_new(tool, options);
    draw_bodies(tool, arguments, b, colours.by_patch ? 0.07f : 0.45f, picture, &legend);
    draw_patches(tool, picture, &colours);
    for (size_t i = 0; i < b->count; i++) {
        const abut_contact *c = &b->list[i];
        abut_colour colour = contact_colour(&colours, i);
        abut_vec3 p = c->point, q = vec_along(p, arrow, c->normal);
        ensure(abut_picture_add_line(picture, p, q, colours.by_patch ? 3.5 : 2, colour));
        ensure(abut_picture_add_point(picture, p, 7, colour));
    }
    add_colours_to_legend(&legend, &colours);
    const char *path = picture_given(arguments)->words;
    if (tool->view)
        view_contacts(tool->view, picture, b->list, b->count, arrow, contact_colour, &colours);
    picture_write(tool, picture, options, &legend, path);
    abut_picture_destroy(picture);
}

/* ---- scenes ---- */

static const abut_colour contact_red = {0.8f, 0.1f, 0.05f, 1};

static abut_colour scene_colour(const void *data, size_t contact) {
    (void)data;
    (void)contact;
    return contact_red;
}

void contacts_draw_scene(tool_run *tool, const tool_arguments *arguments,
                         const abut_picture_options *camera, const tool_assembly *assembly,
                         const abut_contact *list, uint64_t count) {
    tool_legend legend = {0};
    abut_box all = empty_box;
    abut_picture *picture = picture_new(tool, camera);
    for (uint32_t i = 0; i < assembly->count; i++) {
        abut_colour colour = abut_picture_colour(i);
        if (assembly->count < LEGEND_MAX)
            legend_add(&legend, colour, "%s", assembly->bodies[i].name);
        colour.a = 0.4f;
        assembly_draw(picture, assembly, i, colour);
    }
    for (uint64_t i = 0; i < count; i++)
        box_add(&all, list[i].point);
    double arrow = 0.06 * box_diagonal(&all);
    for (uint64_t i = 0; i < count; i++) {
        abut_vec3 p = list[i].point, q = vec_along(p, arrow, list[i].normal);
        ensure(abut_picture_add_point(picture, p, 7, contact_red));
        ensure(abut_picture_add_line(picture, p, q, 2, contact_red));
    }
    if (count)
        legend_add(&legend, contact_red, "contacts, with their normals");
    const char *path = picture_given(arguments)->words;
    if (tool->view)
        view_contacts(tool->view, picture, list, (size_t)count, arrow, scene_colour, NULL);
    picture_write(tool, picture, camera, &legend, path);
    abut_picture_destroy(picture);
}
