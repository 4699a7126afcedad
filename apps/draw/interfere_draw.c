/* The picture of an interference: bodies translucent, intersections in colours.
 *
 * For each pair, the surface of each body inside the other is drawn. Triangles near the overlap
 * are subdivided until they are small, and clipped where their edges leave the other body. The
 * exact intersection contours are drawn over the clipped boundaries. */
#include "interfere.h"
#include "view.h"

#include <math.h>

enum { PIECES_MAX = 1 << 19, SUBDIVISIONS_MAX = 18, LINES_MAX = 1 << 16 };

typedef struct piece {
    abut_vec3 corner[3];
} piece;

typedef struct piece_list {
    piece *list;
    size_t count, room;
    double small; /* edges up to this length are not subdivided */
    abut_box box; /* whether pieces outside are removed */
} piece_list;

static const struct {
    abut_colour colour;
    const char *words;
} looks[CLASH_KINDS] = {
    [CLASH_OVERLAP] = {{0.85f, 0.10f, 0.10f, 1}, "overlap"},
    [CLASH_CUTS] = {{0.85f, 0.10f, 0.10f, 1}, "intersect"},
    [CLASH_A_INSIDE] = {{0.50f, 0.15f, 0.75f, 1}, "one inside the other"},
    [CLASH_B_INSIDE] = {{0.50f, 0.15f, 0.75f, 1}, "one inside the other"},
    [CLASH_SAME] = {{0.95f, 0.20f, 0.65f, 1}, "identical"},
    [CLASH_FLUSH] = {{0.95f, 0.65f, 0.05f, 1}, "flush contact"},
    [CLASH_TOUCH] = {{0.00f, 0.60f, 0.60f, 1}, "touch"},
    [CLASH_NEAR] = {{0.05f, 0.35f, 0.90f, 1}, "near"},
    [CLASH_ITSELF] = {{0.10f, 0.60f, 0.30f, 1}, "overlaps itself"},
};

static abut_vec3 midpoint(abut_vec3 a, abut_vec3 b) {
    return vec_divide(vec_add(a, b), 2);
}

static bool is_outside_box(const piece *t, const abut_box *box) {
    const abut_vec3 *c = t->corner;
    return fmax(c[0].x, fmax(c[1].x, c[2].x)) < box->lo.x ||
           fmin(c[0].x, fmin(c[1].x, c[2].x)) > box->hi.x ||
           fmax(c[0].y, fmax(c[1].y, c[2].y)) < box->lo.y ||
           fmin(c[0].y, fmin(c[1].y, c[2].y)) > box->hi.y ||
           fmax(c[0].z, fmax(c[1].z, c[2].z)) < box->lo.z ||
           fmin(c[0].z, fmin(c[1].z, c[2].z)) > box->hi.z;
}

/* Bisects a triangle at its longest edge until it is small. */
static void subdivide_triangle(piece_list *to, piece whole) {
    piece stack[SUBDIVISIONS_MAX + 2];
    int depths[SUBDIVISIONS_MAX + 2], top = 0;
    stack[0] = whole;
    depths[0] = 0;
    while (top >= 0) {
        piece t = stack[top];
        int depth = depths[top--], longest = 0;
        double length = 0;
        if (is_outside_box(&t, &to->box))
            continue;
        for (int k = 0; k < 3; k++) {
            double own = vec_length(vec_sub(t.corner[k], t.corner[(k + 1) % 3]));
            longest = own > length ? k : longest;
            length = fmax(length, own);
        }
        if (length <= to->small || depth == SUBDIVISIONS_MAX || to->count > PIECES_MAX) {
            tool_grow(&to->list, to->count, &to->room, sizeof *to->list);
            to->list[to->count++] = t;
            continue;
        }
        abut_vec3 p = t.corner[longest], q = t.corner[(longest + 1) % 3],
                  r = t.corner[(longest + 2) % 3], m = midpoint(p, q);
        stack[++top] = (piece){{p, m, r}};
        depths[top] = depth + 1;
        stack[++top] = (piece){{m, q, r}};
        depths[top] = depth + 1;
    }
}

/* Collects the pieces of a body near the overlap, in world coordinates. */
static void cut_body(const tool_assembly *assembly, uint32_t body, piece_list *to) {
    const abut_scene_body *b = &assembly->bodies[body];
    const uint32_t *index = abut_mesh_indices(b->mesh);
    double m[12];
    to->count = 0;
    ensure(abut_pose_to_matrix(&b->collider.pose, m));
    for (uint32_t i = 0; i < abut_mesh_triangle_count(b->mesh); i++) {
        piece t;
        for (int k = 0; k < 3; k++) {
            abut_vec3 v = mesh_point(b->mesh, index[3 * (size_t)i + (size_t)k]);
            t.corner[k] =
                (abut_vec3){vec_dot(vec_of(m), v) + m[3], vec_dot(vec_of(m + 4), v) + m[7],
                            vec_dot(vec_of(m + 8), v) + m[11]};
        }
        subdivide_triangle(to, t);
    }
}

/* The volume that clips pieces: a body, or the neighbourhood of its surface if two bodies only
 * touch. */
typedef struct clipper {
    const abut_bvh *bvh;
    abut_pose back; /* to the local coordinates of the body */
    double touch;   /* distance from the surface that counts as inside; 0 = interior only */
} clipper;

static bool is_in(clipper *by, abut_vec3 point) {
    abut_nearest nearest;
    bool inside = false;
    abut_vec3 there = point;
    ensure(abut_pose_apply(&by->back, point, &there));
    if (by->touch > 0) {
        ensure(abut_nearest_point(by->bvh, there, by->touch, &nearest));
        return nearest.distance <= by->touch;
    }
    ensure(abut_sign_inside(by->bvh, there, &inside));
    return inside;
}

/* Finds where the segment from a point inside to a point outside leaves, by bisection. */
static abut_vec3 find_exit_point(clipper *by, abut_vec3 in, abut_vec3 out) {
    for (int i = 0; i < 8; i++) {
        abut_vec3 m = midpoint(in, out);
        if (is_in(by, m))
            in = m;
        else
            out = m;
    }
    return in;
}

/* Clips a piece with corners on both sides. Writes up to two pieces and returns their number. */
static int clip(clipper *by, const piece *t, const bool in[3], piece made[2]) {
    int count = in[0] + in[1] + in[2], odd = 0;
    for (int k = 0; k < 3; k++)
        odd = in[k] == (count == 1) ? k : odd; /* the corner on its own side */
    abut_vec3 p = t->corner[odd], q = t->corner[(odd + 1) % 3], r = t->corner[(odd + 2) % 3];
    if (count == 1) {
        made[0] = (piece){{p, find_exit_point(by, p, q), find_exit_point(by, p, r)}};
        return 1;
    }
    abut_vec3 pq = find_exit_point(by, q, p), pr = find_exit_point(by, r, p);
    made[0] = (piece){{pq, q, r}};
    made[1] = (piece){{pq, r, pr}};
    return 2;
}

/* Keeps the parts of the pieces that are inside the clipper. */
static void keep_inside(clipper *by, piece_list *pieces) {
    piece_list kept = {0};
    for (size_t i = 0; i < pieces->count; i++) {
        const piece *t = &pieces->list[i];
        const abut_vec3 *c = t->corner;
        abut_vec3 middle = vec_centroid(c[0], c[1], c[2]);
        bool in[3];
        for (int k = 0; k < 3; k++) /* slightly inwards, off the edges of the body */
            in[k] = is_in(by, vec_along(c[k], 0.01, vec_sub(middle, c[k])));
        piece made[2] = {*t, *t};
        int whole = in[0] + in[1] + in[2], count = whole == 3 ? 1
                                                   : whole    ? clip(by, t, in, made)
                                                              : 0;
        for (int k = 0; k < count; k++) {
            tool_grow(&kept.list, kept.count, &kept.room, sizeof *kept.list);
            kept.list[kept.count++] = made[k];
        }
    }
    tool_free(pieces->list);
    pieces->list = kept.list;
    pieces->count = kept.count;
    pieces->room = kept.room;
}

/* Offsets a piece outwards, so that it does not flicker with the translucent surface. */
static void offset_piece(piece *t, double by) {
    const abut_vec3 p = t->corner[0];
    const abut_vec3 n = vec_cross(vec_sub(t->corner[1], p), vec_sub(t->corner[2], p));
    const double length = vec_length(n);
    for (int k = 0; k < 3 && length > 0; k++)
        t->corner[k] = vec_along(t->corner[k], by / length, n);
}

static void add_pieces(tool_run *tool, abut_picture *picture, piece_list *pieces, double lifted,
                       abut_colour colour) {
    if (!pieces->count)
        return;
    for (size_t i = 0; i < pieces->count; i++)
        offset_piece(&pieces->list[i], lifted);
    abut_mesh *mesh = mesh_new(tool, pieces->list->corner, 3 * pieces->count, NULL, 0);
    picture_sheet(picture, mesh, colour, NULL, false); /* pieces have no interior */
    abut_mesh_destroy(mesh);
}

static void add_curves(abut_picture *picture, const tool_assembly *assembly,
                       const tool_clash *clash, abut_colour colour) {
    abut_collider a = assembly_posed(assembly, clash->pair.a),
                  b = assembly_posed(assembly, clash->pair.b);
    abut_pair_intersection_list found = {NULL, 0, 0};
    if (!lacks_room(abut_pair_intersections(&a, &b, &found)) || found.count > LINES_MAX)
        return;
    found.capacity = found.count;
    found.list = tool_array(found.count, sizeof *found.list);
    ensure(abut_pair_intersections(&a, &b, &found));
    for (uint64_t i = 0; i < found.count; i++) {
        const abut_pair_intersection *at = &found.list[i];
        if (at->kind != ABUT_INTERSECTION_COPLANAR)
            ensure(abut_picture_add_line(picture, at->segment.end[0], at->segment.end[1], 1.5,
                                         colour));
    }
    tool_free(found.list);
}

/* Draws the intersection of two bodies. `scale` is the size of the scene. */
static void draw_clash(tool_run *tool, abut_picture *picture, const tool_assembly *assembly,
                       const tool_clash *clash, double scale, piece_list *pieces) {
    const abut_layers_pair *pair = &clash->pair;
    abut_colour colour = looks[clash->kind].colour;
    abut_colour whole = colour; /* the interior of identical bodies should be visible */
    whole.a = clash->kind == CLASH_SAME ? 0.6f : 1;
    abut_colour dark = {colour.r / 2, colour.g / 2, colour.b / 2, 1};
    double size = box_diagonal(&pair->box), edge = 0.01 * size + 1e-9 * scale;
    double touch = clash->kind == CLASH_FLUSH ? 1e-6 * scale : 0;
    if (clash->kind == CLASH_NEAR) {
        ensure(abut_picture_add_line(picture, clash->from, clash->to, 3, colour));
        return;
    }
    if (clash->kind == CLASH_TOUCH || clash->kind == CLASH_ITSELF) {
        ensure(abut_picture_add_point(picture, pair->centre, 8, colour));
        return;
    }
    if (clash->kind == CLASH_SAME || clash->kind == CLASH_A_INSIDE) {
        assembly_draw(picture, assembly, pair->a, whole);
        return;
    }
    if (clash->kind == CLASH_B_INSIDE) {
        assembly_draw(picture, assembly, pair->b, whole);
        return;
    }
    pieces->small = fmax(size / 40, scale / 600);
    pieces->box = (abut_box){{pair->box.lo.x - edge, pair->box.lo.y - edge, pair->box.lo.z - edge},
                             {pair->box.hi.x + edge, pair->box.hi.y + edge, pair->box.hi.z + edge}};
    for (int side = 0; side < (touch > 0 ? 1 : 2); side++) {
        uint32_t own = side ? pair->b : pair->a, other = side ? pair->a : pair->b;
        clipper by = {.bvh = assembly->bvhs[other], .touch = touch};
        ensure(abut_pose_invert(&assembly->bodies[other].collider.pose, &by.back));
        cut_body(assembly, own, pieces);
        keep_inside(&by, pieces);
        add_pieces(tool, picture, pieces, 3e-4 * scale, colour);
    }
    if (touch <= 0)
        add_curves(picture, assembly, clash, dark);
    if (size < 0.03 * scale) /* small bodies would not be visible */
        ensure(abut_picture_add_point(picture, pair->centre, 6, colour));
}

static double assembly_size(const tool_assembly *assembly) {
    abut_box all = empty_box;
    for (uint32_t i = 0; i < assembly->count; i++) {
        abut_box own = abut_mesh_bounds(assembly->bodies[i].mesh);
        for (int k = 0; k < 8; k++) {
            abut_vec3 corner = box_corner(&own, k);
            if (!abut_pose_apply(&assembly->bodies[i].collider.pose, corner, &corner))
                box_add(&all, corner);
        }
    }
    return assembly->count ? box_diagonal(&all) : 1;
}

/* ---- rows of the page ---- */

/* With more rows than this, one row stands for all bodies, or for each kind of interference. */
enum { ROWS_MAX = 256 };

static void label_clash(tool_run *tool, const abut_picture *picture, const tool_assembly *assembly,
                        const tool_clash *clash) {
    const abut_layers_pair *pair = &clash->pair;
    tool_text name = {0};
    char amount[32] = "touch", note[128] = "";
    double thickness = clash_thickness(clash);
    text_safe(&name, assembly->bodies[pair->a].name);
    text_print(&name, " %s ", clash_kind_words(clash->kind));
    if (pair->b != pair->a)
        text_safe(&name, assembly->bodies[pair->b].name);
    if (clash->kind == CLASH_NEAR)
        snprintf(amount, sizeof amount, "gap %.4g", clash->distance);
    else if (clash->kind == CLASH_FLUSH)
        snprintf(amount, sizeof amount, "area %.4g", pair->area);
    else if (clash->kind != CLASH_TOUCH)
        snprintf(amount, sizeof amount, "vol %.4g", pair->volume);
    if (isfinite(thickness))
        snprintf(note, sizeof note, "volume %.4g, surface area %.4g, mean thickness %.4g",
                 pair->volume, pair->surface, thickness);
    else if (clash->kind == CLASH_FLUSH)
        snprintf(note, sizeof note, "flush faces, area %.4g", pair->area);
    else if (pair->pixels)
        snprintf(note, sizeof note, "volume %.4g, depth %.4g", pair->volume, pair->depth);
    view_label label = {
        .name = name.data, .amount = amount, .note = note, .derived = true, .result = true};
    view_label_items(tool->view, picture, &label);
}

static void label_kind(tool_run *tool, const abut_picture *picture, clash_kind kind, size_t count) {
    char amount[32];
    snprintf(amount, sizeof amount, "%zu", count);
    view_label label = {.name = looks[kind].words,
                        .amount = amount,
                        .derived = true,
                        .result = true};
    view_label_items(tool->view, picture, &label);
}

static const abut_colour many_colour = {0.45f, 0.55f, 0.65f, 1};

/* Few bodies have colours and names; of many bodies, those with an interference are less faint. */
static void draw_bodies(tool_run *tool, abut_picture *picture, const tool_assembly *assembly,
                        const tool_clashes *clashes, tool_legend *legend) {
    bool few = assembly->count <= 7;
    uint8_t *takes_part = tool_array((size_t)assembly->count + 1, 1);
    for (size_t i = 0; i < clashes->count; i++)
        takes_part[clashes->list[i].pair.a] = takes_part[clashes->list[i].pair.b] = 1;
    for (size_t i = 0; i < clashes->count; i++) { /* drawn in colour */
        const tool_clash *clash = &clashes->list[i];
        if (clash->kind == CLASH_A_INSIDE || clash->kind == CLASH_SAME)
            takes_part[clash->pair.a] = 2;
        if (clash->kind == CLASH_B_INSIDE || clash->kind == CLASH_SAME)
            takes_part[clash->pair.b] = 2;
    }
    if (!few)
        legend_add(legend, many_colour, "parts");
    for (uint32_t i = 0; i < assembly->count; i++) {
        abut_colour colour = few ? abut_picture_colour(i) : many_colour;
        tool_text name = {0};
        text_safe(&name, assembly->bodies[i].name);
        if (few)
            legend_add(legend, colour, "%s", text_of(&name));
        view_label label = {.name = assembly->count <= ROWS_MAX ? name.data : "parts"};
        view_label_items(tool->view, picture, &label);
        colour.a = few ? 0.3f : takes_part[i] ? 0.22f : 0.07f;
        if (takes_part[i] != 2)
            assembly_draw(picture, assembly, i, colour);
    }
}

static void draw_clashes(tool_run *tool, const abut_picture_options *camera,
                         tool_assembly *assembly, const tool_clashes *clashes, const char *path) {
    tool_legend legend = {0};
    piece_list pieces = {0};
    size_t counts[CLASH_KINDS] = {0};
    double scale = assembly_size(assembly);
    abut_picture *picture = picture_new(tool, camera);
    draw_bodies(tool, picture, assembly, clashes, &legend);
    for (uint32_t i = 0; i < assembly->count; i++)
        if (assembly->owner[i] == i)
            ensure(abut_sign_prepare(assembly->bvhs[i], NULL));
    for (size_t i = 0; i < clashes->count; i++) {
        clash_kind kind = clashes->list[i].kind;
        counts[kind == CLASH_B_INSIDE ? CLASH_A_INSIDE : kind]++;
    }
    for (size_t i = 0; i < clashes->count; i++) {
        clash_kind kind = clashes->list[i].kind;
        kind = kind == CLASH_B_INSIDE ? CLASH_A_INSIDE : kind;
        if (clashes->count <= ROWS_MAX)
            label_clash(tool, picture, assembly, &clashes->list[i]);
        else
            label_kind(tool, picture, kind, counts[kind]);
        draw_clash(tool, picture, assembly, &clashes->list[i], scale, &pieces);
        progress_step(tool, "picture", i, clashes->count);
    }
    for (int k = 0; k < CLASH_KINDS; k++)
        if (counts[k] && looks[k].words)
            legend_add(&legend, looks[k].colour, "%s: %zu", looks[k].words, counts[k]);
    picture_write(tool, picture, camera, &legend, path);
    abut_picture_destroy(picture);
}

void clashes_draw(tool_run *tool, const abut_picture_options *camera, tool_assembly *assembly,
                  const tool_clashes *clashes, const char *path) {
    assembly_bvhs(assembly);
    draw_clashes(tool, camera, assembly, clashes, path);
}
