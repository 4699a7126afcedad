/* Pictures: a small software renderer for meshes, lines and points, which needs no display or GPU.
 * A library of its own, libabut_picture, since PNG files need libpng.
 *
 * Add objects, then render to pixels or write a file. The camera frames all objects. Objects may
 * have any size and position: a scene of size 1e-30 looks like one of size 1e30. The same picture
 * gives the same bytes on any number of threads.
 */
#ifndef ABUT_PICTURE_H
#define ABUT_PICTURE_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_picture abut_picture;

/* An sRGB colour with components from 0 to 1, as in CSS; a is the opacity. */
typedef struct abut_colour {
    float r, g, b, a;
} abut_colour;

typedef struct abut_picture_options {
    size_t size;
    uint32_t width, height;  /* in pixels, at most 16384 each; 0 = 960 x 720 */
    abut_vec3 eye_direction; /* from the scene towards the camera; all zero = (0.6, -1, 0.55), or
                              * (0.6, 0.55, 1) if y is up */
    abut_vec3 up;            /* all zero = the up direction of the first mesh that has one
                              * (abut_mesh_up), else +z. If the camera looks along it, the picture
                              * is a plan: from above, the front (-y, or +z if y is up) is at the
                              * bottom of the picture */
    double field_of_view;    /* vertical, in degrees, below 170; 0 = 30; negative = parallel */
    abut_colour background;  /* a = 0: a light gradient; otherwise opaque */
    bool ground;             /* draw a soft shadow on a floor under the scene; visible if the camera
                              * is above the floor */
} abut_picture_options;

ABUT_DEFAULT(abut_picture_options)

typedef struct abut_mesh_style {
    size_t size;
    abut_colour colour;                 /* a = 0: the next colour of a palette that is distinct with
                                         * every kind of colour vision; below 1: transparent */
    const abut_colour *triangle_colour; /* one per triangle, or null; copied. A triangle with a = 0
                                         * has the colour of the mesh */
    bool edges;                         /* draw triangle edges; they fade out where triangles are
                                         * smaller than a few pixels */
    bool smooth;                        /* shade with vertex normals, except across creases */
    bool two_sided;                     /* draw back faces in the colour of their triangle */
} abut_mesh_style;

ABUT_DEFAULT(abut_mesh_style)

/* Creates an empty picture. Null `options` select the defaults. Returns ABUT_ERROR_ARGUMENT if a
 * size, direction, angle or colour is out of range. Thread-safe. */
ABUT_API abut_status abut_picture_create(abut_context *context, const abut_picture_options *options,
                                         abut_picture **picture);
/* Frees a picture. Null is allowed. No other thread may use it. */
ABUT_API void abut_picture_destroy(abut_picture *picture);

/* Returns a colour of the palette of eight distinct colours: that of mesh `number`, from 0, among
 * the meshes without a colour. Thread-safe. */
ABUT_API abut_colour abut_picture_colour(uint32_t number);

/* Adds a mesh at a pose and retains it. Back faces have a second hue, which shows inverted and open
 * parts; `two_sided` and transparent triangles have one colour. `style` may be null. Returns
 * ABUT_ERROR_ARGUMENT for a null mesh and for a pose or colour that is not finite or out of range.
 * One thread per picture. */
ABUT_API abut_status abut_picture_add_mesh(abut_picture *picture, abut_mesh *mesh, abut_pose pose,
                                           const abut_mesh_style *style);
/* Adds a line of `width` pixels (0 = 2). A colour with a = 0 selects a dark ink. Parts behind a
 * surface are visible faintly. One thread per picture. */
ABUT_API abut_status abut_picture_add_line(abut_picture *picture, abut_vec3 from, abut_vec3 to,
                                           double width, abut_colour colour);
/* Adds a point as a disc of `width` pixels (0 = 8); otherwise as abut_picture_add_line(). One
 * thread per picture. */
ABUT_API abut_status abut_picture_add_point(abut_picture *picture, abut_vec3 point, double width,
                                            abut_colour colour);

/* An object of a picture, for other renderers. */
typedef struct abut_picture_item {
    size_t size;     /* sizeof(abut_picture_item), set by the default function */
    abut_mesh *mesh; /* null for lines and points; owned by the picture, so retain it to keep it */
    abut_pose pose;  /* of the mesh */
    abut_colour colour;                 /* that is drawn */
    const abut_colour *triangle_colour; /* of the mesh, or null; owned by the picture and valid
                                         * until the picture changes */
    bool edges, smooth, two_sided;      /* of the mesh, as in abut_mesh_style */
    bool is_point;
    abut_vec3 from, to; /* ends of a line; both are the position of a point */
    double width;       /* in pixels */
} abut_picture_item;

ABUT_DEFAULT(abut_picture_item)

/* Stores the options of a picture, with its actual width and height. `options->size` must be set.
 * One thread per picture. */
ABUT_API abut_status abut_picture_get_options(const abut_picture *picture,
                                              abut_picture_options *options);
/* Returns the number of meshes, lines and points; 0 for null. One thread per picture. */
ABUT_API size_t abut_picture_item_count(const abut_picture *picture);
/* Stores object `number` in `item`: first the meshes, then the lines and points, each in the order
 * of addition. `item->size` must be set. Returns ABUT_ERROR_ARGUMENT if `number` is not below
 * abut_picture_item_count(). One thread per picture. */
ABUT_API abut_status abut_picture_get_item(const abut_picture *picture, size_t number,
                                           abut_picture_item *item);

/* Renders to width x height x 4 bytes: RGBA with A = 255, top row first. The camera frames all
 * objects; an empty picture has only the background. `bytes` is the size of `pixels`. Returns
 * ABUT_ERROR_BUFFER if it is too small. Reports progress as stage "picture". One thread per
 * picture.
 */
ABUT_API abut_status abut_picture_render(abut_picture *picture, size_t bytes, uint8_t *pixels);

/* Returns whether this build writes PNG files, that is, has libpng. Thread-safe. */
ABUT_API bool abut_picture_has_png(void);

/* Renders a picture and writes it atomically. The extension selects the format, ignoring case: .png
 * or .ppm. Returns ABUT_ERROR_UNSUPPORTED for .png if abut_picture_has_png() is false. /dev/stdout
 * receives PNG if the build has it, else PPM. One thread per picture. */
ABUT_API abut_status abut_picture_write(abut_picture *picture, const char *path);

/* Writes pixels to such a file: width x height x 4 bytes, RGBA with A ignored, top row first. Each
 * side has at most 16384 pixels. Thread-safe. */
ABUT_API abut_status abut_picture_write_pixels(abut_context *context, const char *path,
                                               const uint8_t *pixels, uint32_t width,
                                               uint32_t height);

#ifdef __cplusplus
}
#endif

#endif
