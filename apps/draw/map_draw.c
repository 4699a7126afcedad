/* Pictures of surface distance maps: the surface in colours of distance, nearest feature or
 * direction (figure 1 of Sud et al. 2006), with a colour scale and the area by distance; and the
 * same as images of the atlas. */
#include "map.h"
#include "view.h"

#include <math.h>
#include <string.h>

enum { FINE_MAX = 400000, FINE_ROUNDS = 64 };

/* ---- subdivided surfaces ---- */

/* Midpoints of the edges that were split in this round, by their ends. */
typedef struct middles {
    uint64_t *keys; /* ends, the lower one first; UINT64_MAX = free */
    uint32_t *points;
    size_t mask;
} middles;

static void middles_reserve(middles *m, size_t edges) {
    size_t room = 64;
    while (room < 2 * edges)
        room *= 2;
    tool_free(m->keys);
    tool_free(m->points);
    m->keys = tool_array(room, sizeof *m->keys);
    m->points = tool_array(room, sizeof *m->points);
    m->mask = room - 1;
    memset(m->keys, 0xff, room * sizeof *m->keys);
}

/* Returns the midpoint of an edge. */
static uint32_t middle_of(map_fine *fine, middles *m, uint32_t a, uint32_t b) {
    uint32_t lo = a < b ? a : b, hi = a < b ? b : a;
    uint64_t key = (uint64_t)lo << 32 | hi, at = key * 0x9e3779b97f4a7c15u;
    for (at = (at >> 20) & m->mask; m->keys[at] != UINT64_MAX; at = (at + 1) & m->mask)
        if (m->keys[at] == key)
            return m->points[at];
    tool_grow(&fine->points, fine->point_count, &fine->point_room, sizeof *fine->points);
    fine->points[fine->point_count] = vec_divide(vec_add(fine->points[lo], fine->points[hi]), 2);
    m->keys[at] = key;
    return m->points[at] = (uint32_t)fine->point_count++;
}

/* Writes a triangle given by three of six points (corners, then midpoints of the sides that
 * begin there) at `to`, or at the end. */
static void add_curved_triangle(map_fine *fine, size_t to, uint32_t source,
                                const uint32_t points[6], double (*const weights)[3], int a, int b,
                                int c) {
    if (to == fine->count) {
        size_t rooms[3] = {fine->room, fine->room, fine->room};
        tool_grow(&fine->corners, fine->count, &rooms[0], 3 * sizeof *fine->corners);
        tool_grow(&fine->source, fine->count, &rooms[1], sizeof *fine->source);
        tool_grow(&fine->weights, fine->count, &rooms[2], sizeof *fine->weights);
        fine->room = rooms[0];
        fine->count++;
    }
    const int places[3] = {a, b, c};
    fine->source[to] = source;
    for (int k = 0; k < 3; k++) {
        fine->corners[3 * to + (size_t)k] = points[places[k]];
        memcpy(fine->weights[to][k], weights[places[k]], sizeof weights[0]);
    }
}

/* Splits a triangle at its long sides; a round splits an edge in both of its triangles. */
static void split_long_sides(map_fine *fine, middles *m, size_t t, double longest, bool *changed) {
    uint32_t p[6];
    double w[6][3];
    bool split[3];
    int first = 0, count = 0;
    memcpy(p, fine->corners + 3 * t, 3 * sizeof *p);
    memcpy(w, fine->weights[t], 3 * sizeof *w);
    for (int k = 0; k < 3; k++) {
        split[k] = vec_length(vec_sub(fine->points[p[k]], fine->points[p[(k + 1) % 3]])) > longest;
        p[3 + k] = split[k] ? middle_of(fine, m, p[k], p[(k + 1) % 3]) : 0;
        for (int j = 0; j < 3; j++)
            w[3 + k][j] = 0.5 * (w[k][j] + w[(k + 1) % 3][j]);
        count += split[k];
    }
    if (!count)
        return;
    *changed = true;
    const uint32_t s = fine->source[t];
    const size_t end = fine->count;
    /* start at the only split side, or after the only side that is not */
    while (count < 3 && split[first] != (count == 1))
        first++;
    const int a = (first + (count == 2)) % 3, b = (a + 1) % 3, c = (a + 2) % 3;
    const int ab = 3 + a, bc = 3 + b, ca = 3 + c;
    if (count == 1) {
        add_curved_triangle(fine, t, s, p, w, a, ab, c);
        add_curved_triangle(fine, end, s, p, w, ab, b, c);
    } else if (count == 2) {
        add_curved_triangle(fine, t, s, p, w, ab, b, bc);
        add_curved_triangle(fine, end, s, p, w, a, ab, bc);
        add_curved_triangle(fine, end + 1, s, p, w, a, bc, c);
    } else {
        add_curved_triangle(fine, t, s, p, w, ab, bc, ca);
        add_curved_triangle(fine, end, s, p, w, a, ab, ca);
        add_curved_triangle(fine, end + 1, s, p, w, ab, b, bc);
        add_curved_triangle(fine, end + 2, s, p, w, ca, bc, c);
    }
}

static void copy_mesh_to_fine(const abut_mesh *mesh, map_fine *fine) {
    static const double one[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const uint32_t *corner = abut_mesh_indices(mesh);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        tool_grow(&fine->points, fine->point_count, &fine->point_room, sizeof *fine->points);
        fine->points[fine->point_count++] = mesh_point(mesh, i);
    }
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        double weights[6][3];
        uint32_t points[6] = {corner[3 * (size_t)t], corner[3 * (size_t)t + 1],
                              corner[3 * (size_t)t + 2]};
        memcpy(weights, one, sizeof weights);
        add_curved_triangle(fine, fine->count, t, points, weights, 0, 1, 2);
    }
}

void fine_create(const tool_surface *surface, double longest, map_fine *fine) {
    middles m = {0};
    longest = fmax(longest, 1e-300);
    memset(fine, 0, sizeof *fine);
    bool changed = true;
    copy_mesh_to_fine(surface->mesh, fine);
    for (int round = 0; changed && round < FINE_ROUNDS && fine->count < FINE_MAX; round++) {
        const size_t count = fine->count;
        changed = false;
        middles_reserve(&m, 3 * count);
        for (size_t t = 0; t < count; t++)
            split_long_sides(fine, &m, t, longest, &changed);
    }
    tool_free(m.keys);
    tool_free(m.points);
}

void fine_free(map_fine *fine) {
    tool_free(fine->points);
    tool_free(fine->corners);
    tool_free(fine->source);
    tool_free(fine->weights);
    memset(fine, 0, sizeof *fine);
}

/* ---- colours ---- */

static const abut_colour nothing = {0.80f, 0.81f, 0.83f, 1};

/* A colour from a hash, neither dark nor grey, so that neighbours differ. */
static abut_colour colour_by(uint64_t number) {
    number = (number ^ (number >> 31)) * 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9u;
    number ^= number >> 32;
    float c[3];
    for (int k = 0; k < 3; k++)
        c[k] = (float)(number >> 10 * k & 1023) / 1023;
    float least = fminf(c[0], fminf(c[1], c[2])), most = fmaxf(c[0], fmaxf(c[1], c[2]));
    float range = fmaxf(most - least, 0.01f);
    return (abut_colour){0.3f + 0.65f * (c[0] - least) / range,
                         0.3f + 0.65f * (c[1] - least) / range,
                         0.3f + 0.65f * (c[2] - least) / range, 1};
}

/* The nearest site: a face, an edge by its ends, or a vertex. */
static abut_colour site_colour(const map_panel *panel, const abut_map_texel *texel) {
    const tool_surface *other = panel->others ? &panel->others[texel->other] : panel->surface;
    const uint32_t *corner = abut_mesh_indices(other->mesh) + 3 * (size_t)texel->triangle;
    uint64_t number = texel->triangle;
    if (texel->feature >= ABUT_FEATURE_VERTEX_0) {
        number = corner[texel->feature - ABUT_FEATURE_VERTEX_0] | (uint64_t)1 << 62;
    } else if (texel->feature >= ABUT_FEATURE_EDGE_0) {
        uint32_t k = texel->feature - ABUT_FEATURE_EDGE_0, a = corner[k], b = corner[(k + 1) % 3];
        number = (a < b ? (uint64_t)a << 31 | b : (uint64_t)b << 31 | a) | (uint64_t)1 << 63;
    }
    return colour_by(number + 0x517cc1b727220a95u * texel->other);
}

static abut_colour direction_colour(const float v[3]) {
    float length = hypotf(hypotf(v[0], v[1]), v[2]);
    if (!(length > 0))
        return (abut_colour){0.5f, 0.5f, 0.5f, 1};
    return (abut_colour){0.5f + 0.5f * v[0] / length, 0.5f + 0.5f * v[1] / length,
                         0.5f + 0.5f * v[2] / length, 1};
}

static abut_colour texel_colour(const map_panel *panel, map_show show, const abut_map_texel *texel,
                                double distance) {
    const map_answer *a = panel->answer;
    if (texel->other == ABUT_NONE ||
        (show == MAP_SHOW_DISTANCE && a->cut && distance > a->scale.most))
        return nothing;
    return show == MAP_SHOW_DISTANCE  ? scale_colour(&a->scale, distance)
           : show == MAP_SHOW_VORONOI ? site_colour(panel, texel)
                                      : direction_colour(texel->vector);
}

static void texels_of(const map_panel *panel, abut_map_texel **texels) {
    const uint64_t side = panel->answer->info.resolution, count = side * side;
    *texels = tool_array(count, sizeof **texels);
    ensure(abut_map_texels(panel->surface->map, count, *texels));
}

/* ---- the surface ---- */

map_panel panel_of(const tool_surface *surface, const map_answer *answer,
                   const tool_surface *others, uint32_t other_count) {
    const abut_map_witness *least = &answer->measures.min;
    return (map_panel){surface,
                       answer,
                       others,
                       other_count,
                       answer->measures.found ? "least" : NULL,
                       {least->point, least->other_point},
                       least->distance,
                       false};
}

double map_texel(const map_panel *panel) {
    const abut_map_info *info = &panel->answer->info;
    return info->sample_count ? sqrt(info->area / info->sample_count) : 0;
}

static void paint_fine(tool_run *tool, abut_picture *picture, const map_panel *panel, map_show show,
                       const map_fine *fine, const abut_map_texel *texels, abut_colour *colours) {
    const uint32_t side = panel->answer->info.resolution;
    for (size_t t = 0; t < fine->count; t++) {
        double weights[3];
        abut_map_value value;
        for (int k = 0; k < 3; k++)
            weights[k] =
                (fine->weights[t][0][k] + fine->weights[t][1][k] + fine->weights[t][2][k]) / 3;
        ensure(abut_map_evaluate(panel->surface->map, fine->source[t], weights, &value));
        colours[t] =
            texel_colour(panel, show, &texels[(size_t)value.y * side + value.x], value.distance);
    }
    abut_mesh *mesh = mesh_new(tool, fine->points, fine->point_count, fine->corners, fine->count);
    picture_sheet(picture, mesh, nothing, colours, false); /* scans may face inwards */
    abut_mesh_destroy(mesh);
}

static const abut_colour ink = {0.1f, 0.1f, 0.35f, 1};

void map_paint(tool_run *tool, abut_picture *picture, const map_panel *panel, map_show show,
               bool page) {
    map_fine fine = {0};
    abut_map_texel *texels = NULL;
    abut_colour *colours = NULL;
    /* about a texel, but not much shorter than a pixel */
    fine_create(panel->surface,
                fmax(1.5 * map_texel(panel), mesh_diagonal(panel->surface->mesh) / 200), &fine);
    texels_of(panel, &texels);
    colours = tool_alloc((fine.count + 1) * sizeof *colours);
    view_label label = {.name = path_name(panel->surface->path), .derived = true};
    if (page)
        view_label_items(tool->view, picture, &label);
    paint_fine(tool, picture, panel, show, &fine, texels, colours);
    for (uint32_t i = 0; i < panel->other_count; i++) {
        label = (view_label){.name = path_name(panel->others[i].path)};
        if (page)
            view_label_items(tool->view, picture, &label);
        picture_body(picture, panel->others[i].mesh, (abut_pose){0}, abut_picture_colour(i), 0.3f);
    }
    if (panel->marked && show == MAP_SHOW_DISTANCE)
        ensure(abut_picture_add_line(picture, panel->marks[0], panel->marks[1], 3, ink));
    for (int k = 0; k < 2 && panel->marked && show == MAP_SHOW_DISTANCE; k++)
        ensure(abut_picture_add_point(picture, panel->marks[k], 9, ink));
    tool_free(colours);
    tool_free(texels);
    fine_free(&fine);
}

/* ---- the sheet ---- */

enum { TOP = 64, BORDER = 24, BARS = 110 };

/* Draws the area by distance as bars beside the scale. */
static void draw_areas(tool_canvas *canvas, const map_answer *a, const char *name, int left,
                       int high) {
    static const abut_colour line = {0.13f, 0.15f, 0.2f, 0.6f};
    double most = 0;
    for (int k = 0; k < MAP_BINS; k++)
        most = fmax(most, a->areas[k]);
    canvas_words(canvas, left, TOP - 14, 10, name);
    canvas_fill(canvas, left - 1, TOP, 1, high, line);
    for (int k = 0; k < MAP_BINS && most > 0; k++) {
        int y = TOP + high - (k + 1) * high / MAP_BINS, below = TOP + high - k * high / MAP_BINS;
        int wide = (int)lrint(BARS * a->areas[k] / most);
        wide = wide == 0 && a->areas[k] > 0 ? 1 : wide;
        double middle = a->scale.least + (k + 0.5) / MAP_BINS * (a->scale.most - a->scale.least);
        canvas_fill(canvas, left, y + 1, wide, below - y - 1, scale_colour(&a->scale, middle));
        canvas_fill(canvas, left + wide, y + 1, 1, below - y - 1, line);
    }
    char words[48];
    snprintf(words, sizeof words, "up to %.2g%%", 100 * most / fmax(a->measures.area, 1e-300));
    canvas_words(canvas, left, TOP + high + 22, 10, most > 0 ? words : "nothing");
}

/* Draws lines across the scale at the limits of the query. */
static void draw_limits(tool_canvas *canvas, const map_answer *a, int left, int wide, int high) {
    for (int k = 0; k < 2; k++) {
        double share = (a->scale.most - a->limits[k]) / (a->scale.most - a->scale.least);
        if (a->limits[k] != 0 && share > 0 && share < 1)
            canvas_fill(canvas, left - 4, TOP + (int)lrint(share * high) - 1, wide, 2,
                        (abut_colour){0.1f, 0.1f, 0.35f, 0.8f});
    }
}

static void add_directions(tool_legend *legend) {
    static const char *const names[6] = {"x", "-x", "y", "-y", "z", "-z"};
    for (int k = 0; k < 6; k++) {
        float v[3] = {0, 0, 0};
        v[k / 2] = k % 2 ? -1 : 1;
        legend_add(legend, direction_colour(v), "closest to %s", names[k]);
    }
}

static void draw_panel(tool_run *tool, const map_panel *panel, map_show show,
                       const abut_picture_options *camera, tool_canvas *sheet, int left) {
    tool_legend legend = {0};
    tool_canvas canvas = canvas_new(camera->width, camera->height, 255);
    for (uint32_t i = 0; i < panel->other_count; i++)
        legend_file(&legend, abut_picture_colour(i), panel->others[i].path);
    const map_answer *a = panel->answer;
    if (show == MAP_SHOW_DISTANCE && a->cut)
        legend_add(&legend, nothing, "farther than %.5g", a->scale.most);
    else if (show == MAP_SHOW_DISTANCE && a->measures.found < a->measures.samples)
        legend_add(&legend, nothing, "nothing found");
    if (show == MAP_SHOW_DISTANCE && panel->marked)
        legend_add(&legend, ink, "%s: %.5g", panel->marked,
                   map_rounded(panel->value, &a->measures));
    if (show == MAP_SHOW_GRADIENT)
        add_directions(&legend);
    abut_picture *picture = picture_new(tool, camera);
    map_paint(tool, picture, panel, show, false);
    ensure(abut_picture_render(picture, 4 * (size_t)canvas.width * canvas.height, canvas.pixels));
    legend_draw(&canvas, &legend);
    canvas_copy(sheet, (size_t)left, 0, &canvas);
    canvas_words(sheet, left + 14, 28, 13, path_name(panel->surface->path));
    abut_picture_destroy(picture);
}

void map_draw(tool_run *tool, const tool_arguments *arguments, const map_panel *panels,
              uint32_t count, map_show show, const char *path) {
    abut_picture_options camera = abut_picture_options_default();
    camera_read(tool, arguments, &camera);
    camera.width = count > 1 ? 560 : 800;
    camera.height = count > 1 ? 560 : 640;
    const tool_scale *scale = &panels[0].answer->scale;
    const int wide = (int)(count * camera.width), high = (int)camera.height - TOP - 50;
    const int words = BORDER + (int)scale_width(scale) + BORDER;
    const bool found = panels[0].answer->measures.found || panels[count - 1].answer->measures.found;
    const int strip = show == MAP_SHOW_DISTANCE && found ? words + (int)count * (BARS + BORDER) : 0;
    tool_canvas sheet = canvas_new((uint32_t)(wide + strip), camera.height, 255);
    progress_start(tool->progress, path);
    for (uint32_t i = 0; i < count; i++)
        draw_panel(tool, &panels[i], show, &camera, &sheet, (int)(i * camera.width));
    if (strip) {
        scale_draw(&sheet, scale, wide + BORDER, TOP, high);
        draw_limits(&sheet, panels[0].answer, wide + BORDER, strip - BORDER - 4, high);
        canvas_words(&sheet, wide + BORDER, 28, 13, panels[0].answer->what);
        for (uint32_t i = 0; i < count; i++)
            draw_areas(&sheet, panels[i].answer,
                       count > 1 ? path_name(panels[i].surface->path) : "area",
                       wide + words + (int)i * (BARS + BORDER), high);
    }
    canvas_write(tool, &sheet, path);
}

/* ---- the atlas ---- */

static void paint_atlas(const map_panel *panel, map_show show, const abut_map_texel *texels,
                        tool_canvas *canvas) {
    const size_t count = (size_t)canvas->width * canvas->height;
    for (size_t i = 0; i < count; i++) {
        abut_colour c = {1, 1, 1, 1};
        if (!isnan(texels[i].distance))
            c = texel_colour(panel, show, &texels[i], texels[i].distance);
        colour_bytes(canvas->pixels + 4 * i, c);
    }
}

void map_images(tool_run *tool, const map_panel *panel, const char *prefix) {
    static const char *const names[] = {"distance", "voronoi", "gradient"};
    const char *ending = abut_picture_has_png() ? "png" : "ppm";
    const uint32_t side = panel->answer->info.resolution;
    tool_canvas canvas = canvas_new(side, side, 255);
    abut_map_texel *texels = NULL;
    texels_of(panel, &texels);
    json_object(&tool->out, "images");
    for (int k = 0; k < 3; k++) {
        tool_text path = {0};
        text_print(&path, "%s-%s.%s", prefix, names[k], ending);
        paint_atlas(panel, (map_show)k, texels, &canvas);
        canvas_write(tool, &canvas, path.data);
        json_path(&tool->out, names[k], path.data);
    }
    json_end(&tool->out);
    tool_text name = {0};
    text_safe(&name, prefix);
    print_fact(&tool->out, "images", "%s-distance.%s, -voronoi, -gradient", text_of(&name), ending);
}
