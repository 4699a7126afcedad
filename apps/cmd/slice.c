/* abut slice: a cross-section of a signed distance field as a picture.
 *
 * Colours show the distance, a dark line marks 0, and thin lines are isolines at the steps of
 * the scale. Inside and outside have one half of the palette each, up to the largest distance in
 * this slice. The distance of a pixel from a line is the difference of its value over the slope,
 * so that lines have the same width everywhere. */
#include "slice.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_SIDE = 720, SIDE_MAX = 8192 };

/* ---- the slice ---- */

double *slice_component(abut_vec3 *v, int axis) {
    return axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z;
}

static void layout_pixels(slice *s, uint32_t side) {
    double wide =
        *slice_component(&s->box.hi, s->across[0]) - *slice_component(&s->box.lo, s->across[0]);
    double high =
        *slice_component(&s->box.hi, s->across[1]) - *slice_component(&s->box.lo, s->across[1]);
    s->pixel = fmax(wide, high) / side;
    s->width = (uint32_t)fmax(16, floor(wide / s->pixel));
    s->height = (uint32_t)fmax(16, floor(high / s->pixel));
}

abut_vec3 *slice_points(const slice *s) {
    abut_vec3 *points = tool_array((size_t)s->width * s->height, sizeof *points), *to = points;
    abut_vec3 lo = s->box.lo, hi = s->box.hi;
    double wide =
        (*slice_component(&hi, s->across[0]) - *slice_component(&lo, s->across[0])) / s->width;
    double high =
        (*slice_component(&hi, s->across[1]) - *slice_component(&lo, s->across[1])) / s->height;
    for (uint32_t j = 0; j < s->height; j++)
        for (uint32_t i = 0; i < s->width; i++, to++) {
            *slice_component(to, s->axis) = s->at;
            *slice_component(to, s->across[0]) =
                *slice_component(&lo, s->across[0]) + (i + 0.5) * wide;
            *slice_component(to, s->across[1]) =
                *slice_component(&hi, s->across[1]) - (j + 0.5) * high;
        }
    return points;
}

/* Computes exact distances of a mesh; the gradient is the direction from the closest point. */
static void values_of_mesh(const abut_bvh *bvh, const abut_vec3 *points, size_t count,
                           abut_field_value *values) {
    abut_nearest *nearest = tool_array(count, sizeof *nearest);
    ensure(abut_sign_nearest_batch(bvh, abut_array_host(points), count, HUGE_VAL,
                                   abut_array_host(nearest)));
    for (size_t i = 0; i < count; i++) {
        double d = nearest[i].distance;
        abut_vec3 p = nearest[i].point, q = points[i];
        values[i].distance = d;
        values[i].gradient = (abut_vec3){0, 0, 0};
        if (d != 0)
            values[i].gradient = vec_divide(vec_sub(q, p), d);
    }
}

static void evaluate_distances(const tool_arguments *arguments, slice *s, const abut_field *field,
                               const abut_bvh *bvh) {
    abut_vec3 *points = slice_points(s);
    const size_t count = (size_t)s->width * s->height;
    s->values = tool_array(count, sizeof *s->values);
    abut_interpolation how =
        option_given(arguments, "cubic") ? ABUT_INTERPOLATION_CUBIC : ABUT_INTERPOLATION_LINEAR;
    if (field)
        ensure(abut_field_evaluate_batch(field, abut_array_host(points), count, how, s->values));
    else
        values_of_mesh(bvh, points, count, s->values);
    double least = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, s->values[i].distance);
        most = fmax(most, s->values[i].distance);
    }
    s->scale = scale_of(option_words(arguments, "palette", NULL), least, most);
}

/* ---- the command ---- */

/* Reads a coordinate, or a percentage of the extent; the middle by default. */
static void read_place(tool_run *tool, const tool_arguments *arguments, slice *s) {
    const tool_given *at = option_given(arguments, "at");
    double lo = *slice_component(&s->box.lo, s->axis), hi = *slice_component(&s->box.hi, s->axis),
           number;
    s->at = 0.5 * (lo + hi);
    if (!at)
        return;
    char words[64];
    size_t length = strlen(at->words);
    snprintf(words, sizeof words, "%s", at->words);
    bool share = length > 1 && length < sizeof words && words[length - 1] == '%';
    if (share)
        words[length - 1] = 0;
    if (length >= sizeof words || read_numbers(words, &number, 1) != 1)
        tool_refuse(tool,
                    "--at must be a coordinate such as 0.5, or a percentage such as 25%%, not '%s'",
                    at->words);
    s->at = share ? lo + number / 100 * (hi - lo) : number;
    if (!(s->at >= lo && s->at <= hi))
        tool_refuse(tool, "--at %s is outside the extent along %c: %.6g to %.6g", at->words,
                    'x' + s->axis, lo, hi);
}

/* Reads the field or the mesh of the first operand, and its extent. */
static void load_slice(tool_run *tool, const tool_arguments *arguments, slice *s,
                       abut_field **field, abut_mesh **mesh, abut_bvh **bvh) {
    field_or_mesh(tool, s->subject, field, mesh);
    if (*field) {
        abut_grid g = get_field_info(*field).grid;
        s->box.lo = g.origin;
        s->box.hi = (abut_vec3){g.origin.x + g.cell * (g.count[0] - 1),
                                g.origin.y + g.cell * (g.count[1] - 1),
                                g.origin.z + g.cell * (g.count[2] - 1)};
        return;
    }
    const tool_given *sign = option_given(arguments, "sign");
    abut_sign_options signs = abut_sign_options_default();
    if (sign && strcmp(sign->words, "normal") == 0)
        signs.method = ABUT_SIGN_NORMAL;
    ensure(abut_bvh_create(*mesh, NULL, bvh));
    ensure(abut_sign_prepare(*bvh, &signs));
    s->box = abut_mesh_bounds(*mesh);
    double longest = 0;
    for (int k = 0; k < 3; k++)
        longest = fmax(longest, *slice_component(&s->box.hi, k) - *slice_component(&s->box.lo, k));
    for (int k = 0; k < 3; k++) {
        *slice_component(&s->box.lo, k) -= 0.15 * longest;
        *slice_component(&s->box.hi, k) += 0.15 * longest;
    }
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
        tool_refuse(tool, "the output is missing: name OUT.png, or use --html FILE");
    if (path)
        picture_check(tool, path);
    option_range(tool, size, 16, SIDE_MAX, "pixels");
    s.axis = option_words(arguments, "axis", "z")[0] - 'x';
    s.across[0] = s.axis == 0 ? 1 : 0;
    s.across[1] = s.axis == 2 ? 1 : 2;
    load_slice(tool, arguments, &s, &field, &mesh, &bvh);
    read_place(tool, arguments, &s);
    layout_pixels(&s, size ? size->counts[0] : DEFAULT_SIDE);
    evaluate_distances(arguments, &s, field, bvh);
    if (path)
        slice_draw(tool, &s, path, &canvas);
    if (tool->view && field)
        (void)abut_field_isosurface(field, 0, &mesh); /* a field without a surface has none */
    if (tool->view)
        slice_page(tool, &s, mesh);
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
        print_line_of(out, path, "%s at %.6g, distances %.4g to %.4g, %u x %u pixels", axis, s.at,
                      s.scale.least, s.scale.most, canvas.width, canvas.height);
    out_end(out);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    abut_bvh_destroy(bvh);
    return CODE_FINE;
}

static const tool_option options[] = {
    CHOICE("axis", "AXIS", CHOICE, "axis perpendicular to the plane (default: z)", "x|y|z"),
    OPTION("at", "PLACE", TEXT,
           "position of the plane: a coordinate, or a percentage of the extent such as 25% "
           "(default: 50%)"),
    OPTION("size", "N", COUNT, "pixels along the longer side of the slice (default: 720)"),
    CHOICE("palette", "NAME", CHOICE,
           "diverging (default): blue inside, orange outside; thesis: red-green-blue and "
           "pink-yellow-cyan; grey",
           "diverging|thesis|grey"),
    FLAG("cubic", "tricubic interpolation between cells"),
    CHOICE("sign", "METHOD", CHOICE, "for a mesh: how the inside is determined (default: auto)",
           "auto|winding|normal"),
    PAGE_OPTION,
    {0}};

const tool_command command_slice = {
    .name = "slice",
    .operands = "FILE [OUT.png]",
    .summary = "draw a cross-section of a signed distance field or a mesh",
    .about = "Draws the distances in a plane as colours, with a dark line at the surface, thin "
             "isolines, and a legend. FILE is a field (.abutf), or a mesh, whose distance is "
             "computed exactly at every pixel. A page (--html) shows the cross-section at its "
             "position in the surface.",
    .examples = "  abut slice bunny.abutf cut.png\n"
                "  abut slice bunny.abutf cut.png --axis x --at 25% --palette thesis\n"
                "  abut slice bunny.obj exact.png --at 0.5\n"
                "  abut slice bunny.obj --html cut.html\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_slice,
};
