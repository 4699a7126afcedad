/* Writes files of surface distance maps: the surface with colours and distances, and its
 * samples. */
#include "map.h"
#include "view.h"

#include <math.h>
#include <string.h>

/* ---- samples ---- */

typedef struct sample_rows {
    const abut_map *map;
    uint32_t side;
    const abut_map_texel *texels;
    const uint32_t *samples; /* texels with a sample */
} sample_rows;

static const char *feature_name(unsigned feature) {
    return abut_feature_name((abut_feature)feature);
}

static const tool_column columns[] = {WHOLE("x"),
                                      WHOLE("y"),
                                      WHOLE("triangle"),
                                      REAL("px"),
                                      REAL("py"),
                                      REAL("pz"),
                                      REAL("distance"),
                                      REAL("vx"),
                                      REAL("vy"),
                                      REAL("vz"),
                                      WHOLE("other"),
                                      WHOLE("other_triangle"),
                                      WORD("feature", feature_name)};

static void fill_sample_row(const void *data, size_t row, double *values) {
    const sample_rows *rows = data;
    const uint32_t texel = rows->samples[row], x = texel % rows->side, y = texel / rows->side;
    const abut_map_texel *t = &rows->texels[texel];
    abut_map_sample sample = {.triangle = ABUT_NONE};
    (void)abut_map_sample_at(rows->map, x, y, &sample); /* the texel of each sample */
    values[0] = x;
    values[1] = y;
    values[2] = sample.triangle;
    table_vector(values + 3, sample.point);
    for (int k = 6; k < 13; k++)
        values[k] = NAN;
    if (t->other == ABUT_NONE)
        return;
    values[6] = t->distance;
    for (int k = 0; k < 3; k++)
        values[7 + k] = t->vector[k];
    values[10] = t->other;
    values[11] = t->triangle;
    values[12] = t->feature;
}

static void write_samples(tool_run *tool, const map_panel *panel, const char *path) {
    const uint32_t side = panel->answer->info.resolution;
    const size_t count = (size_t)side * side;
    abut_map_texel *texels = tool_array(count, sizeof *texels);
    uint32_t *samples = tool_array(count, sizeof *samples);
    size_t used = 0;
    ensure(abut_map_texels(panel->surface->map, count, texels));
    for (size_t i = 0; i < count; i++)
        if (!isnan(texels[i].distance))
            samples[used++] = (uint32_t)i;
    sample_rows rows = {panel->surface->map, side, texels, samples};
    tool_table table = {columns, sizeof columns / sizeof *columns, used, fill_sample_row, &rows};
    table_write(tool, path, &table);
}

/* ---- the surface ---- */

static void add_float(tool_text *to, double value) {
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    text_little(to, bits, sizeof bits);
}

/* A corner of each point: three times the index of a triangle of the subdivided surface plus the
 * corner. */
static uint32_t *corners_of(const map_fine *fine) {
    uint32_t *any = tool_array(fine->point_count + 1, sizeof *any);
    for (size_t i = 3 * fine->count; i-- > 0;)
        any[fine->corners[i]] = (uint32_t)i + 1;
    return any;
}

/* Positions are written as doubles, so that they read back exactly. */
static void add_points(tool_text *to, const map_panel *panel, const map_fine *fine,
                       const uint32_t *any) {
    for (size_t i = 0; i < fine->point_count; i++) {
        const double p[3] = {fine->points[i].x, fine->points[i].y, fine->points[i].z};
        abut_map_value value = {.distance = NAN};
        abut_colour c = {0.8f, 0.8f, 0.8f, 1};
        if (any[i])
            ensure(abut_map_evaluate(panel->surface->map, fine->source[(any[i] - 1) / 3],
                                     fine->weights[(any[i] - 1) / 3][(any[i] - 1) % 3], &value));
        if (isfinite(value.distance) &&
            !(panel->answer->cut && value.distance > panel->answer->scale.most))
            c = scale_colour(&panel->answer->scale, value.distance);
        for (int k = 0; k < 3; k++) {
            uint64_t bits;
            memcpy(&bits, &p[k], sizeof bits);
            text_little(to, bits, sizeof bits);
        }
        add_float(to, value.distance);
        const float parts[3] = {c.r, c.g, c.b};
        for (int k = 0; k < 3; k++)
            text_little(to, (uint64_t)lrintf(255 * parts[k]), 1);
    }
}

static void add_surface(tool_text *to, const map_panel *panel, const map_fine *fine) {
    uint32_t *any = corners_of(fine);
    text_print(to,
               "ply\nformat binary_little_endian 1.0\ncomment abut %s\nelement vertex %zu\n"
               "property double x\nproperty double y\nproperty double z\nproperty float distance\n"
               "property uchar red\nproperty uchar green\nproperty uchar blue\nelement face %zu\n"
               "property list uchar int vertex_indices\nend_header\n",
               abut_version(), fine->point_count, fine->count);
    add_points(to, panel, fine, any);
    for (size_t t = 0; t < fine->count; t++) {
        text_little(to, 3, 1);
        for (size_t k = 0; k < 3; k++)
            text_little(to, fine->corners[3 * t + k], 4);
    }
}

/* Edges are about as long as texels. */
static void write_surface(tool_run *tool, const map_panel *panel, const char *path) {
    map_fine fine = {0};
    tool_text text = {0};
    fine_create(panel->surface, 2 * map_texel(panel), &fine);
    add_surface(&text, panel, &fine);
    ensure(abut_context_write_file(tool->context, tool_target(tool, path), text.data, text.used));
    fine_free(&fine);
}

/* ---- outputs of the command line ---- */

void map_write(tool_run *tool, const tool_arguments *arguments, const map_panel *panels,
               uint32_t count, map_show show) {
    tool_output *out = &tool->out;
    json_list(out, "files");
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name, *path = arguments->given[i].words;
        if (!word_in(name, "png|html|out"))
            continue;
        const char *ending = path_ending(path);
        bool page = name[0] == 'h', picture = name[0] == 'p' || word_in(ending, "png|ppm");
        const char *what = page ? "page" : picture ? "picture" : "file";
        progress_start(tool->progress, path);
        if (page)
            map_view(tool, arguments, panels, count, show);
        else if (picture)
            map_draw(tool, arguments, panels, count, show, path);
        else if (strcmp(ending, "ply") == 0)
            write_surface(tool, panels, path);
        else
            write_samples(tool, panels, path);
        if (page && view_has_error(tool->view))
            continue;
        json_object(out, NULL);
        fact_path(out, what, path);
        json_end(out);
    }
    json_end(out);
}
