/* Pictures of meshes without a display: a small software renderer, made to show what the library
 * computed. Add things, then render into pixels or write a file. Things may be of any size and
 * anywhere: 1e-30 looks like 1e30. */
#ifndef ABUT_PICTURE_H
#define ABUT_PICTURE_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_picture abut_picture;

/* Components from 0 to 1, sRGB as one would write them in a web page. */
typedef struct abut_colour {
    float r, g, b, a;
} abut_colour;

typedef struct abut_picture_options {
    size_t size;
    uint32_t width, height;  /* 0 = 960 x 720; at most 16384 each */
    abut_vec3 eye_direction; /* from the scene towards the camera; all zero = (0.6, -1, 0.55), and
                              * where y is up (0.6, 0.55, 1) */
    abut_vec3 up;            /* all zero = as the first mesh has it that tells (abut_mesh_up), else
                              * +z. Looking along it gives a plan: seen from above, the front (-y,
                              * or +z where y is up) is at the bottom of the picture */
    double field_of_view;    /* vertical, degrees, below 170; 0 = 30; negative = parallel */
    abut_colour background;  /* a = 0: a light gradient; else drawn as if a were 1 */
    bool ground;             /* a floor under the scene that takes a soft shadow; shown where the
                              * camera looks at it from above */
} abut_picture_options;

ABUT_DEFAULT(abut_picture_options)

typedef struct abut_mesh_style {
    size_t size;
    abut_colour colour;                 /* a = 0: the next of a palette that is easy to tell apart,
                                         * also with colour-blind eyes; below 1: see-through */
    const abut_colour *triangle_colour; /* one a triangle, or null; copied; where a = 0 the
                                         * triangle has the colour of the mesh */
    bool edges;                         /* draw triangle edges; they fade out where triangles get
                                         * smaller than some pixels */
    bool smooth;                        /* shade by vertex normals, except across creases */
    bool two_sided;                     /* back sides keep the colour of their triangle */
} abut_mesh_style;

ABUT_DEFAULT(abut_mesh_style)

/* Creates an empty picture. Thread-safe. */
ABUT_API abut_status abut_picture_create(abut_context *context, const abut_picture_options *options,
                                         abut_picture **picture);
/* Null is allowed. Not thread-safe: one thread a picture, as for all functions below. */
ABUT_API void abut_picture_destroy(abut_picture *picture);

/* The colour of a palette that is easy to tell apart: that of the mesh of this number, from 0,
 * among those whose style has none. Thread-safe. */
ABUT_API abut_colour abut_picture_colour(uint32_t number);

/* Adds a mesh at a pose; the picture keeps it. Back sides are drawn in a second hue, so that
 * flipped and open parts are seen, but for `two_sided` and see-through triangles. `style` may be
 * null. Refused: a null mesh, a pose or colour that is not finite or out of range. */
ABUT_API abut_status abut_picture_add_mesh(abut_picture *picture, abut_mesh *mesh, abut_pose pose,
                                           const abut_mesh_style *style);
/* Adds a line or a dot; `width` in pixels, 0 = 2 for lines and 8 for dots. A colour with a = 0
 * means dark ink. What is behind a surface shows through faintly. */
ABUT_API abut_status abut_picture_add_line(abut_picture *picture, abut_vec3 from, abut_vec3 to,
                                           double width, abut_colour colour);
ABUT_API abut_status abut_picture_add_point(abut_picture *picture, abut_vec3 point, double width,
                                            abut_colour colour);

/* What was added, for those who show it by other means. */
typedef struct abut_picture_item {
    abut_mesh *mesh; /* null for lines and points; of the picture: retain it to keep it */
    abut_pose pose;  /* of the mesh */
    abut_mesh_style
        style; /* of the mesh, with the colours it is drawn in; of lines and points only
                * `colour` is set. `triangle_colour` is the picture's, until it changes */
    bool is_point;
    abut_vec3 from, to; /* of a line; both are the place of a point */
    double width;       /* pixels */
} abut_picture_item;

/* Gets the options that the picture was created with. `options->size` must be set. */
ABUT_API abut_status abut_picture_get_options(const abut_picture *picture,
                                              abut_picture_options *options);
/* How many meshes, lines and points there are; 0 for null. */
ABUT_API size_t abut_picture_item_count(const abut_picture *picture);
/* The mesh, line or point of a number: meshes first, then lines and points, each as they were
 * added. Numbers from abut_picture_item_count() on give ABUT_ERROR_ARGUMENT. */
ABUT_API abut_status abut_picture_get_item(const abut_picture *picture, size_t number,
                                           abut_picture_item *item);

/* Renders into width x height x 4 bytes (RGBA with A = 255, rows from the top). The camera frames
 * everything that was added; nothing added gives the background. The same picture gives the same
 * bytes on any thread count. `bytes` is the size of `pixels`; too small gives ABUT_ERROR_BUFFER.
 * Reports progress as stage "picture". */
ABUT_API abut_status abut_picture_render(abut_picture *picture, size_t bytes, uint8_t *pixels);

/* Renders and writes a file, all or nothing: .png (needs the "png" feature, else
 * ABUT_ERROR_UNSUPPORTED) or .ppm, by the ending of the name in small or capital letters. To
 * /dev/stdout goes PNG where the build has it, else PPM. */
ABUT_API abut_status abut_picture_write(abut_picture *picture, const char *path);

/* Writes pixels of the caller as such a file: width x height x 4 bytes (RGBA; A is not looked at),
 * rows from the top. At most 16384 along each side. Thread-safe. */
ABUT_API abut_status abut_picture_write_pixels(abut_context *context, const char *path,
                                               const uint8_t *pixels, uint32_t width,
                                               uint32_t height);

#ifdef __cplusplus
}
#endif

#endif
