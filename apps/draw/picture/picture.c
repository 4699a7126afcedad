/* The picture object: its content, and validation of arguments. */
#include "picture/picture.h"

#include <string.h>

#define MAX_SIZE 16384
#define WIDTH_MAX 16384.0 /* of lines and points; wider than the largest picture makes no sense */

/* Paul Tol's "light" scheme (Colour schemes, SRON/EPS/TN/09-002, 2021), distinguishable with every
 * kind of colour vision, in a different order. */
static const float palette[8][3] = {
    {0x77 / 255.0f, 0xaa / 255.0f, 0xdd / 255.0f}, /* light blue */
    {0xee / 255.0f, 0xdd / 255.0f, 0x88 / 255.0f}, /* light yellow */
    {0xee / 255.0f, 0x88 / 255.0f, 0x66 / 255.0f}, /* orange */
    {0x44 / 255.0f, 0xbb / 255.0f, 0x99 / 255.0f}, /* mint */
    {0xff / 255.0f, 0xaa / 255.0f, 0xbb / 255.0f}, /* pink */
    {0x99 / 255.0f, 0xdd / 255.0f, 0xff / 255.0f}, /* light cyan */
    {0xbb / 255.0f, 0xcc / 255.0f, 0x33 / 255.0f}, /* pear */
    {0xaa / 255.0f, 0xaa / 255.0f, 0x88 / 255.0f}, /* stone */
};

/* ---- colours ---- */

abut_colour abut_picture_colour(uint32_t number) {
    const float *c = palette[number % 8];
    return (abut_colour){c[0], c[1], c[2], 1};
}

/* IEC 61966-2-1. */
static float srgb_to_linear(float srgb) {
    return srgb <= 0.04045f ? srgb / 12.92f : powf((srgb + 0.055f) / 1.055f, 2.4f);
}

paint abuti_paint_of(abut_colour colour) {
    return (paint){{srgb_to_linear(colour.r), srgb_to_linear(colour.g), srgb_to_linear(colour.b)},
                   colour.a};
}

f3 abuti_back_colour(f3 front) {
    static const abut_colour warm = {0.87f, 0.45f, 0.25f, 1}, cool = {0.36f, 0.40f, 0.74f, 1};
    return abuti_paint_of(front.z >= front.x ? warm : cool).colour;
}

static bool is_unit(float x) {
    return x >= 0 && x <= 1;
}

static abut_status check_colour(const char *function, const char *what, abut_colour colour) {
    if (is_unit(colour.r) && is_unit(colour.g) && is_unit(colour.b) && is_unit(colour.a))
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s is (%g, %g, %g, %g); components must be from 0 to 1", function, what,
                      (double)colour.r, (double)colour.g, (double)colour.b, (double)colour.a);
}

static bool is_valid_point(abut_vec3 p) {
    return v3_max_abs(p) <= ABUT_COORDINATE_MAX && p.x == p.x && p.y == p.y && p.z == p.z;
}

/* ---- create and destroy ---- */

abut_status abut_picture_create(abut_context *context, const abut_picture_options *options,
                                abut_picture **picture) {
    if (!picture)
        return abuti_null(__func__, "picture");
    abut_picture_options ours = abut_picture_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_picture_create");
    if (status)
        return status;
    if (ours.width > MAX_SIZE || ours.height > MAX_SIZE)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_picture_create: the size is %u x %u pixels; each must be at most %d", ours.width,
            ours.height, MAX_SIZE);
    status = check_colour("abut_picture_create", "background", ours.background);
    if (!status)
        status = abuti_camera_check(&ours);
    if (status)
        return status;
    if (!ours.width)
        ours.width = 960;
    if (!ours.height)
        ours.height = 720;
    context = abuti_context_of(context);
    abut_picture *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->options = ours;
    *picture = made;
    return ABUT_OK;
}

void abut_picture_destroy(abut_picture *picture) {
    if (!picture)
        return;
    abut_context *context = picture->context;
    for (size_t i = 0; i < picture->item_count; i++) {
        abut_mesh_destroy(picture->items[i].mesh);
        ABUTI_RELEASE(context, picture->items[i].triangle_paint, picture->items[i].triangle_colour);
    }
    ABUTI_RELEASE(context, picture->items, picture->marks, picture);
    abut_context_destroy(context);
}

/* ---- add ---- */

static abut_status check_mesh(const abut_picture *picture, const abut_mesh *mesh, abut_pose place,
                              const abut_mesh_style *style) {
    if (!picture || !mesh)
        return abuti_null("abut_picture_add_mesh", picture ? "mesh" : "picture");
    abut_status status = abuti_pose_check("abut_picture_add_mesh", "the pose", &place);
    if (!status)
        status = check_colour("abut_picture_add_mesh", "colour", style->colour);
    char name[48];
    for (size_t i = 0; style->triangle_colour && !status && i < mesh->triangle_count; i++) {
        abut_colour c = style->triangle_colour[i];
        if (is_unit(c.r) && is_unit(c.g) && is_unit(c.b) && is_unit(c.a))
            continue;
        snprintf(name, sizeof name, "triangle_colour[%zu]", i);
        status = check_colour("abut_picture_add_mesh", name, c);
    }
    if (!status && (picture->triangle_count + mesh->triangle_count >= NO_TRIANGLE / 3 ||
                    picture->vertex_count + mesh->vertex_count >= NO_TRIANGLE))
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "abut_picture_add_mesh: with this mesh the picture would have more "
                            "than %u triangles or %u vertices",
                            NO_TRIANGLE / 3 - 1, NO_TRIANGLE - 1);
    return status;
}

abut_status abut_picture_add_mesh(abut_picture *picture, abut_mesh *mesh, abut_pose place,
                                  const abut_mesh_style *style) {
    abut_mesh_style look = abut_mesh_style_default();
    abut_status status = abuti_options_read(&look, sizeof look, style, "abut_picture_add_mesh");
    if (!status)
        status = check_mesh(picture, mesh, place, &look);
    if (!status)
        status = abuti_grow(picture->context, &picture->items, picture->item_count,
                            picture->item_count + 1, sizeof *picture->items, &picture->item_room);
    if (status)
        return status;
    paint *paints = NULL;
    abut_colour *colours = NULL;
    if (look.triangle_colour) {
        paints = abuti_allocate(picture->context, mesh->triangle_count, sizeof *paints);
        colours =
            paints ? abuti_allocate(picture->context, mesh->triangle_count, sizeof *colours) : NULL;
        if (!colours) {
            abuti_release(picture->context, paints);
            return ABUT_ERROR_MEMORY;
        }
    }
    if (look.colour.a == 0) {
        look.colour = abut_picture_colour((uint32_t)(picture->palette_next++ % 8));
    }
    picture_item *item = &picture->items[picture->item_count++];
    *item = (picture_item){.mesh = abut_mesh_retain(mesh),
                           .rotation = quat_matrix(place.rotation),
                           .translation = place.translation,
                           .paint = abuti_paint_of(look.colour),
                           .triangle_paint = paints,
                           .edges = look.edges,
                           .smooth = look.smooth,
                           .two_sided = look.two_sided,
                           .pose = place,
                           .colour = look.colour,
                           .triangle_colour = colours};
    for (size_t i = 0; paints && i < mesh->triangle_count; i++) {
        colours[i] = look.triangle_colour[i].a == 0 ? look.colour : look.triangle_colour[i];
        paints[i] = abuti_paint_of(colours[i]);
    }
    picture->triangle_count += mesh->triangle_count;
    picture->vertex_count += mesh->vertex_count;
    return ABUT_OK;
}

static abut_status add_mark(abut_picture *picture, const char *function, const picture_mark *mark,
                            double width, double usual_width, abut_colour colour) {
    if (!picture)
        return abuti_null(function, "picture");
    if (!is_valid_point(mark->from) || !is_valid_point(mark->to)) {
        vec3 bad = is_valid_point(mark->from) ? mark->to : mark->from;
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: a point is (%g, %g, %g); coordinates must be finite and at most %g in "
            "magnitude",
            function, bad.x, bad.y, bad.z, ABUT_COORDINATE_MAX);
    }
    if (!(width >= 0 && width <= WIDTH_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: width is %g; it must be from 0 to %g pixels",
                          function, width, WIDTH_MAX);
    abut_status status = check_colour(function, "colour", colour);
    if (!status)
        status = abuti_grow(picture->context, &picture->marks, picture->mark_count,
                            picture->mark_count + 1, sizeof *picture->marks, &picture->mark_room);
    if (!status && picture->mark_count >= NO_TRIANGLE)
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "%s: the picture has %zu lines and points, which is the limit",
                            function, picture->mark_count);
    if (status)
        return status;
    picture_mark *made = &picture->marks[picture->mark_count++];
    *made = *mark;
    made->width = (float)(width > 0 ? width : usual_width);
    made->paint = abuti_paint_of(colour);
    made->colour = colour;
    if (colour.a == 0) {
        made->paint = (paint){abuti_ink, 1};
        made->colour = (abut_colour){0.11f, 0.13f, 0.18f, 1}; /* abuti_ink in sRGB */
    }
    return ABUT_OK;
}

abut_status abut_picture_add_line(abut_picture *picture, abut_vec3 from, abut_vec3 to, double width,
                                  abut_colour colour) {
    picture_mark mark = {.from = from, .to = to};
    return add_mark(picture, "abut_picture_add_line", &mark, width, 2, colour);
}

abut_status abut_picture_add_point(abut_picture *picture, abut_vec3 point, double width,
                                   abut_colour colour) {
    picture_mark mark = {.from = point, .to = point, .is_point = true};
    return add_mark(picture, "abut_picture_add_point", &mark, width, 8, colour);
}

/* ---- content ---- */

abut_status abut_picture_get_options(const abut_picture *picture, abut_picture_options *options) {
    if (!picture || !options)
        return abuti_null(__func__, picture ? "options" : "picture");
    return abuti_info_write(options, &picture->options, sizeof picture->options, __func__);
}

size_t abut_picture_item_count(const abut_picture *picture) {
    return picture ? picture->item_count + picture->mark_count : 0;
}

abut_status abut_picture_get_item(const abut_picture *picture, size_t number,
                                  abut_picture_item *item) {
    if (!picture || !item)
        return abuti_null(__func__, picture ? "item" : "picture");
    if (number >= abut_picture_item_count(picture))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_picture_get_item: number is %zu; the picture has %zu items", number,
                          abut_picture_item_count(picture));
    abut_picture_item found = abut_picture_item_default();
    if (number < picture->item_count) {
        const picture_item *from = &picture->items[number];
        found.mesh = from->mesh;
        found.pose = from->pose;
        found.colour = from->colour;
        found.triangle_colour = from->triangle_colour;
        found.edges = from->edges;
        found.smooth = from->smooth;
        found.two_sided = from->two_sided;
    } else {
        const picture_mark *from = &picture->marks[number - picture->item_count];
        found.colour = from->colour;
        found.is_point = from->is_point;
        found.from = from->from;
        found.to = from->to;
        found.width = (double)from->width;
    }
    return abuti_info_write(item, &found, sizeof found, __func__);
}

/* ---- render ---- */

abut_status abut_picture_render(abut_picture *picture, size_t bytes, uint8_t *pixels) {
    if (!picture || !pixels)
        return abuti_null(__func__, picture ? "pixels" : "picture");
    /* at most 2^30, so that a 32-bit size_t does not overflow */
    size_t needed = (size_t)picture->options.width * picture->options.height * 4;
    if (bytes < needed)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_picture_render: %u x %u pixels need %zu bytes, but bytes is %zu",
                          picture->options.width, picture->options.height, needed, bytes);
    uint8_t *drawn;
    abut_status status = abuti_picture_draw(picture, &drawn);
    if (status)
        return status;
    memcpy(pixels, drawn, needed);
    abuti_release(picture->context, drawn);
    return ABUT_OK;
}
