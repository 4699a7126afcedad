/* abut slice: a cross-section of a signed distance field as a picture.
 *
 * Colours show the distance, a dark line marks 0, and thin lines are isolines at the steps of
 * the scale. Inside and outside have one half of the palette each, up to the largest distance in
 * this slice. The distance of a pixel from a line is the difference of its value over the slope,
 * so that lines have the same width everywhere. */
#include "tool.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BORDER = 24, DEFAULT_SIDE = 720, SIDE_MAX = 8192, PAGE_SIDE = 240 };
#define LETTER_HEIGHT 13.0 /* height of letters */

/* ---- the slice ---- */

typedef struct slice {
    const char *subject;
    abut_box box; /* extent of the shown region */
    int axis;     /* axis perpendicular to the slice */
    double at;
    int across[2];            /* axes to the right and up */
    uint32_t width, height;   /* of the slice in pixels */
    double pixel;             /* length of a side */
    abut_field_value *values; /* from malloc, rows from the top */
    tool_scale scale;
} slice;

static double *component_of(abut_vec3 *v, int axis) {
    return axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z;
}

static void layout_pixels(slice *s, uint32_t side) {
    double wide = *component_of(&s->box.hi, s->across[0]) - *component_of(&s->box.lo, s->across[0]);
    double high = *component_of(&s->box.hi, s->across[1]) - *component_of(&s->box.lo, s->across[1]);
    s->pixel = fmax(wide, high) / side;
    s->width = (uint32_t)fmax(16, floor(wide / s->pixel));
    s->height = (uint32_t)fmax(16, floor(high / s->pixel));
}

static abut_vec3 *points_of(const slice *s) {
    abut_vec3 *points = malloc((size_t)s->width * s->height * sizeof *points), *to = points;
    abut_vec3 lo = s->box.lo, hi = s->box.hi;
    double wide = (*component_of(&hi, s->across[0]) - *component_of(&lo, s->across[0])) / s->width;
    double high = (*component_of(&hi, s->across[1]) - *component_of(&lo, s->across[1])) / s->height;
    for (uint32_t j = 0; points && j < s->height; j++)
        for (uint32_t i = 0; i < s->width; i++, to++) {
            *component_of(to, s->axis) = s->at;
            *component_of(to, s->across[0]) = *component_of(&lo, s->across[0]) + (i + 0.5) * wide;
            *component_of(to, s->across[1]) = *component_of(&hi, s->across[1]) - (j + 0.5) * high;
        }
    return points;
}

/* Computes exact distances of a mesh; the gradient is the direction from the closest point. */
static abut_status values_of_mesh(const abut_bvh *bvh, const abut_vec3 *points, size_t count,
                                  abut_field_value *values) {
    abut_nearest *nearest = malloc(count * sizeof *nearest);
    if (!nearest)
        return ABUT_ERROR_MEMORY;
    abut_status status = abut_sign_nearest_batch(bvh, abut_array_host(points), count, HUGE_VAL,
                                                 abut_array_host(nearest));
    for (size_t i = 0; i < count && !status; i++) {
        double d = nearest[i].distance;
        abut_vec3 p = nearest[i].point, q = points[i];
        values[i].distance = d;
        values[i].gradient = (abut_vec3){0, 0, 0};
        if (d != 0)
            values[i].gradient = (abut_vec3){(q.x - p.x) / d, (q.y - p.y) / d, (q.z - p.z) / d};
    }
    free(nearest);
    return status;
}

static int evaluate_distances(tool_run *tool, const tool_arguments *arguments, slice *s,
                              const abut_field *field, const abut_bvh *bvh) {
    abut_vec3 *points = points_of(s);
    const size_t count = (size_t)s->width * s->height;
    s->values = malloc(count * sizeof *s->values);
    if (!points || !s->values) {
        free(points);
        return tool_fail_with(tool, "out of memory", "not enough memory for the slice");
    }
    abut_interpolation how =
        option_given(arguments, "cubic") ? ABUT_INTERPOLATION_CUBIC : ABUT_INTERPOLATION_LINEAR;
    abut_status status =
        field ? abut_field_evaluate_batch(field, abut_array_host(points), count, how, s->values)
              : values_of_mesh(bvh, points, count, s->values);
    free(points);
    if (status)
        return tool_fail(tool, status);
    double least = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, s->values[i].distance);
        most = fmax(most, s->values[i].distance);
    }
    const tool_given *named = option_given(arguments, "palette");
    s->scale = scale_of(named ? named->words : NULL, least, most);
    return 0;
}

/* ---- drawing ---- */

/* Returns the coverage of a pixel by a line at `level`. */
static double line_at(const slice *s, const abut_field_value *v, double level, double half) {
    abut_vec3 g = v->gradient;
    double slope = hypot(*component_of(&g, s->across[0]), *component_of(&g, s->across[1]));
    double away = fabs(v->distance - level) / (fmax(slope, 0.05) * s->pixel);
    return fmin(1, fmax(0, half + 0.5 - away));
}

static void draw_slice(const slice *s, tool_canvas *canvas) {
    const abut_field_value *v = s->values;
    for (uint32_t j = 0; j < s->height; j++)
        for (uint32_t i = 0; i < s->width; i++, v++) {
            int x = BORDER + (int)i, y = BORDER + (int)j;
            double level = s->scale.step * round(v->distance / s->scale.step);
            canvas_blend(canvas, x, y, scale_colour(&s->scale, v->distance));
            if (level != 0)
                canvas_blend(canvas, x, y,
                             (abut_colour){0, 0, 0, 0.22f * (float)line_at(s, v, level, 0.4)});
            canvas_blend(canvas, x, y,
                         (abut_colour){0.05f, 0.05f, 0.08f, (float)line_at(s, v, 0, 1.1)});
        }
}

static int draw_slice_picture(tool_run *tool, const slice *s, const char *path,
                              tool_canvas *canvas) {
    char words[64];
    snprintf(words, sizeof words, "%c = %.5g", 'x' + s->axis, s->at);
    canvas->width = (uint32_t)(3 * BORDER + 3 + scale_width(&s->scale)) + s->width;
    canvas->height = 2 * BORDER + s->height + 24;
    canvas->pixels = malloc((size_t)canvas->width * canvas->height * 4);
    if (!canvas->pixels)
        return tool_fail_with(tool, "out of memory", "not enough memory for the picture");
    memset(canvas->pixels, 255, (size_t)canvas->width * canvas->height * 4);
    draw_slice(s, canvas);
    scale_draw(canvas, &s->scale, 2 * BORDER + (int)s->width, BORDER, (int)s->height);
    double below = BORDER + s->height + 30;
    canvas_words(canvas, BORDER, below, LETTER_HEIGHT, words);
    snprintf(words, sizeof words, "%c to the right, %c up", 'x' + s->across[0], 'x' + s->across[1]);
    double wide = canvas_words(NULL, 0, 0, LETTER_HEIGHT, words);
    if (wide < 0.55 * s->width)
        canvas_words(canvas, BORDER + s->width - wide, below, LETTER_HEIGHT, words);
    abut_status status = canvas_write(tool, canvas, path);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- the page ---- */

/* The slice as a mesh whose vertices are a subset of the pixels, with their distances. */
static abut_status make_sheet(tool_run *tool, const slice *s, abut_mesh **mesh, double **values) {
    const uint32_t longer = s->width > s->height ? s->width : s->height,
                   step = (longer + PAGE_SIDE - 1) / PAGE_SIDE, wide = (s->width - 1) / step + 1,
                   high = (s->height - 1) / step + 1;
    const size_t count = (size_t)wide * high;
    abut_vec3 *pixels = points_of(s), *points = malloc(count * sizeof *points);
    uint32_t *corners = malloc(6 * count * sizeof *corners), cells = 0;
    *values = malloc(count * sizeof **values);
    abut_status status = pixels && points && corners && *values
                             ? ABUT_OK
                             : abut_set_error(ABUT_ERROR_MEMORY, "not enough memory for the page");
    for (uint32_t k = 0; k < count && !status; k++) {
        const uint32_t i = k % wide, j = k / wide;
        const size_t pixel = (size_t)j * step * s->width + (size_t)i * step;
        const uint32_t quad[6] = {k, k + wide, k + 1, k + 1, k + wide, k + wide + 1};
        points[k] = pixels[pixel];
        (*values)[k] = s->values[pixel].distance;
        if (i + 1 < wide && j + 1 < high)
            memcpy(corners + 6 * (size_t)cells++, quad, sizeof quad);
    }
    abut_mesh_input input = abut_mesh_input_doubles(points, (uint32_t)count, corners, 2 * cells);
    status = status ? status : abut_mesh_create(tool->context, &input, mesh);
    free(pixels);
    free(points);
    free(corners);
    return status;
}

/* Adds the slice at its position, and the surface translucent. */
static int write_slice_page(tool_run *tool, const slice *s, abut_mesh *surface) {
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    abut_mesh *sheet = NULL;
    double *values = NULL;
    char name[64];
    snprintf(name, sizeof name, "%c = %.5g", 'x' + s->axis, s->at);
    style.smooth = true;
    style.colour = (abut_colour){0.72f, 0.74f, 0.78f, 1};
    legend_file(&legend, style.colour, s->subject);
    style.colour.a = 0.35f;
    abut_status status = abut_picture_create(tool->context, &camera, &picture);
    if (!status && surface)
        status = abut_picture_add_mesh(picture, surface, (abut_pose){0}, &style);
    if (!status && surface)
        status = view_place_picture(tool->view, picture);
    status = status ? status : make_sheet(tool, s, &sheet, &values);
    if (!status)
        view_values(tool->view, sheet, name, values, &s->scale, "distance", NULL, false);
    const char *slash = strrchr(s->subject, '/');
    view_title(tool->view, "%s, %s", slash && slash[1] ? slash + 1 : s->subject, name);
    status = status ? status : view_page(tool, picture, &legend);
    abut_mesh_destroy(sheet);
    free(values);
    abut_picture_destroy(picture);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- the command ---- */

/* Reads a coordinate, or a percentage of the extent; the middle by default. */
static int read_place(tool_run *tool, const tool_arguments *arguments, slice *s) {
    const tool_given *at = option_given(arguments, "at");
    double lo = *component_of(&s->box.lo, s->axis), hi = *component_of(&s->box.hi, s->axis), number;
    s->at = 0.5 * (lo + hi);
    if (!at)
        return 0;
    char words[64];
    size_t length = strlen(at->words);
    snprintf(words, sizeof words, "%s", at->words);
    bool share = length > 1 && length < sizeof words && words[length - 1] == '%';
    if (share)
        words[length - 1] = 0;
    if (length >= sizeof words || read_numbers(words, &number, 1) != 1)
        return tool_refuse(
            tool, "--at must be a coordinate such as 0.5, or a percentage such as 25%%, not '%s'",
            at->words);
    s->at = share ? lo + number / 100 * (hi - lo) : number;
    if (!(s->at >= lo && s->at <= hi))
        return tool_refuse(tool, "--at %s is outside the extent along %c: %.6g to %.6g", at->words,
                           'x' + s->axis, lo, hi);
    return 0;
}

static void choose_axes(const tool_arguments *arguments, slice *s) {
    const tool_given *axis = option_given(arguments, "axis");
    s->axis = axis ? axis->words[0] - 'x' : 2;
    s->across[0] = s->axis == 0 ? 1 : 0;
    s->across[1] = s->axis == 2 ? 1 : 2;
}

/* Reads the field or the mesh of the first operand, and its extent. */
static int load_slice(tool_run *tool, const tool_arguments *arguments, slice *s, abut_field **field,
                      abut_mesh **mesh, abut_bvh **bvh) {
    abut_status status;
    int code = field_or_mesh(tool, s->subject, field, mesh);
    if (code)
        return code;
    if (*field) {
        abut_grid g = get_field_info(*field).grid;
        s->box.lo = g.origin;
        s->box.hi = (abut_vec3){g.origin.x + g.cell * (g.count[0] - 1),
                                g.origin.y + g.cell * (g.count[1] - 1),
                                g.origin.z + g.cell * (g.count[2] - 1)};
        return 0;
    }
    const tool_given *sign = option_given(arguments, "sign");
    abut_sign_options signs = abut_sign_options_default();
    if (sign && strcmp(sign->words, "normal") == 0)
        signs.method = ABUT_SIGN_NORMAL;
    status = abut_bvh_create(*mesh, NULL, bvh);
    status = status ? status : abut_sign_prepare(*bvh, &signs);
    if (!status) {
        s->box = abut_mesh_bounds(*mesh);
        double longest = 0;
        for (int k = 0; k < 3; k++)
            longest = fmax(longest, *component_of(&s->box.hi, k) - *component_of(&s->box.lo, k));
        for (int k = 0; k < 3; k++) {
            *component_of(&s->box.lo, k) -= 0.15 * longest;
            *component_of(&s->box.hi, k) += 0.15 * longest;
        }
    }
    return status ? tool_fail(tool, status) : 0;
}

/* A page shows the surface of a field if it has one. */
static int load_surface(tool_run *tool, const abut_field *field, abut_mesh **mesh) {
    abut_status status = abut_field_isosurface(field, 0, mesh);
    return status && status != ABUT_ERROR_ARGUMENT ? tool_fail(tool, status) : 0;
}

static int run_slice(tool_run *tool, const tool_arguments *arguments) {
    const char *path = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    const tool_given *size = option_given(arguments, "size");
    slice s = {.subject = arguments->operands[0]};
    tool_canvas canvas = {0};
    abut_field *field = NULL;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    if (!path && !tool->view)
        return tool_refuse(tool, "the output is missing: name OUT.png, or use --html FILE");
    int code = path ? picture_check(tool, path) : 0;
    code = code ? code : option_range(tool, size, 16, SIDE_MAX, "pixels");
    if (code)
        return code;
    choose_axes(arguments, &s);
    code = load_slice(tool, arguments, &s, &field, &mesh, &bvh);
    code = code ? code : read_place(tool, arguments, &s);
    if (!code) {
        layout_pixels(&s, size ? size->counts[0] : DEFAULT_SIDE);
        code = evaluate_distances(tool, arguments, &s, field, bvh);
    }
    if (!code && path)
        code = draw_slice_picture(tool, &s, path, &canvas);
    if (!code && tool->view && field)
        code = load_surface(tool, field, &mesh);
    if (!code && tool->view)
        code = write_slice_page(tool, &s, mesh);
    if (!code) {
        tool_output *out = &tool->out;
        const char axis[2] = {(char)('x' + s.axis), 0};
        out_object(out, NULL);
        json_path(out, "file", s.subject);
        if (path) {
            json_path(out, "picture", path);
            json_count(out, "width", canvas.width);
            json_count(out, "height", canvas.height);
        }
        json_text(out, "axis", axis);
        json_number(out, "at", s.at);
        json_number(out, "lowest", s.scale.least);
        json_number(out, "highest", s.scale.most);
        if (path && !tool->quiet && !out->json)
            print_line_of(out, path, "%s at %.6g, distances %.4g to %.4g, %u x %u pixels", axis,
                          s.at, s.scale.least, s.scale.most, canvas.width, canvas.height);
        out_end(out);
    }
    free(s.values);
    free(canvas.pixels);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    abut_bvh_destroy(bvh);
    return code;
}

static const tool_option options[] = {
    {"axis", "AXIS", OPTION_CHOICE, "axis perpendicular to the plane (default: z)", "x|y|z", false},
    {"at", "PLACE", OPTION_TEXT,
     "position of the plane: a coordinate, or a percentage of the extent such as 25% (default: "
     "50%)",
     NULL, false},
    {"size", "N", OPTION_COUNT, "pixels along the longer side of the slice (default: 720)", NULL,
     false},
    {"palette", "NAME", OPTION_CHOICE,
     "diverging (default): blue inside, orange outside; thesis: red-green-blue and "
     "pink-yellow-cyan; grey",
     "diverging|thesis|grey", false},
    {"cubic", NULL, OPTION_FLAG, "tricubic interpolation between cells", NULL, false},
    {"sign", "METHOD", OPTION_CHOICE, "for a mesh: how the inside is determined (default: auto)",
     "auto|winding|normal", false},
    PAGE_OPTION,
    {0}};

const tool_command command_slice = {
    .name = "slice",
    .operands = "FILE [OUT.png]",
    .summary = "draw a cross-section of a signed distance field or a mesh",
    .about = "Draws the distances in a plane as colours, with a dark line at the surface, thin "
             "isolines, and a legend. FILE is a field (.abutf, .dcache), or a mesh, whose distance "
             "is computed exactly at every pixel. A page (--html) shows the cross-section at its "
             "position in the surface.",
    .examples = "  abut slice bunny.abutf cut.png\n"
                "  abut slice bunny.abutf cut.png --axis x --at 25% --palette thesis\n"
                "  abut slice bunny.obj exact.png --at 0.5\n"
                "  abut slice bunny.obj --html cut.html\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run_slice,
};
