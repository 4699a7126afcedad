/* Declarations that the commands with surface distance maps share: map, clearance, deviation,
 * thickness, and the demo of letters. */
#ifndef ABUT_TOOL_MAP_H
#define ABUT_TOOL_MAP_H

#include "tool.h"

/* ---- map_measure.c: bodies, maps, statistics ---- */

enum { MAP_QUANTILES = 7, MAP_BINS = 40, MAP_LINES = 10 };

/* A body of the command line at its pose. */
typedef struct tool_surface {
    const char *path;
    abut_mesh *mesh;
    abut_bvh *bvh;       /* with signs if they are needed */
    abut_map *map;       /* null until computed */
    abut_mesh *textured; /* the mesh as read, with texture coordinates; null without --uv */
} tool_surface;

/* The statistics of a map. */
typedef struct map_answer {
    abut_map_info info;
    abut_map_measures measures;
    double quantiles[MAP_QUANTILES];
    tool_scale scale;       /* colours of its distances, and the range of `areas` */
    double areas[MAP_BINS]; /* by distance, from the lower end of the scale on */
    const char *what;       /* name of the quantity; null = "distance" */
    double limits[2];       /* limits of the query: lines across the scale; 0 = none */
    double inside_area;     /* deeper than rounding errors */
    bool cut;               /* values beyond the scale are grey and not counted */
} map_answer;

/* The options of a query. */
typedef struct map_query_options {
    bool self;
    bool sign, regardless; /* as for surface_index() */
    abut_map_query query;
    abut_map_measure_options measure;
} map_query_options;

extern const double map_shares[MAP_QUANTILES];

/* The options of all these commands: a list for tables of options. */
#define MAP_OPTIONS                                                                               \
    OPTION("resolution", "N", COUNT,                                                              \
           "texels along each side of the atlas (default: 512, or more if 4 texels for each "     \
           "triangle "                                                                            \
           "need it)"),                                                                           \
        OPTION("precision", "D", POSITIVE,                                                        \
               "choose the resolution at which no point of the surface is farther than D from a " \
               "sample, so that distances between samples have at most this error"),              \
        OPTION("png", "FILE", TEXT, "draw the surface in colours, with a colour scale"),          \
        PAGE_OPTION, CAMERA_OPTIONS("iso"),                                                       \
        REPEATED(                                                                                 \
            "out", "FILE", TEXT,                                                                  \
            "output by the file extension: .ply the surface with colours and distances, .csv or " \
            ".npy a row for each sample, .png a picture; repeatable"),                            \
        DEVICE_OPTION
/* Validates the options that all these commands have: names of pictures, the camera. */
void map_check(tool_run *tool, const tool_arguments *arguments);
/* Reads a mesh and applies the pose of the option `pose`; null = none. With --uv also reads texture
 * coordinates, unless this is another body than A, which has the option "pose-a". Free it in any
 * case. */
void surface_load(tool_run *tool, const tool_arguments *arguments, const char *path,
                  const char *pose, tool_surface *surface);
/* Builds its BVH, on a device or the CPU (null), with signs if the surface has no boundary
 * edges, or `regardless`. */
void surface_index(tool_run *tool, abut_device *device, bool sign, bool regardless,
                   tool_surface *surface);
/* Makes its map with the requested resolution, otherwise with `resolution` or as many texels as
 * necessary. */
void surface_map(tool_run *tool, const tool_arguments *arguments, uint32_t resolution,
                 abut_device *device, tool_surface *surface);
void surface_free(tool_surface *surface);
/* Computes distances to others, or to itself. */
void map_compute(abut_map *map, const abut_collider *others, uint32_t count,
                 const map_query_options *query);
/* Computes the statistics of a map. The scale is from `lo` to `hi`; if these are equal, over all
 * distances. */
void map_measure(const tool_surface *surface, const abut_map_measure_options *options,
                 const char *palette, double lo, double hi, map_answer *answer);

/* The area that is inside by more than rounding errors: coincident surfaces are not inside. */
void map_inside(const abut_map *map, const abut_map_measures *measures, double *area);
/* A distance for text output: 0 if it is a rounding error. */
double map_rounded(double distance, const abut_map_measures *measures);
void map_number(tool_output *out, const char *key, double distance,
                const abut_map_measures *measures);
/* Prints the statistics of a map: samples, minimum, maximum, mean, quantiles. `others` name the
 * bodies. */
void map_print(tool_run *tool, const map_answer *answer, const tool_surface *others);
/* Adds a point with as many digits as the resolution of the samples justifies. */
void text_point(tool_text *to, abut_vec3 point, double reach);
/* Prints a table with bars and a named column for each answer; all have the same scale. */
void map_histogram(tool_run *tool, const map_answer *answers, const char *const *names,
                   uint32_t count);
/* Prints the area of a map within a limit as "KEY" and "KEY_area". */
void map_within(tool_output *out, const char *key, const map_answer *answer, double limit);
/* Loads two surfaces with their poses, and builds their BVHs, with signs as for surface_index(). */
void surfaces_load(tool_run *tool, const tool_arguments *arguments, const bool sign[2],
                   bool regardless, tool_surface surfaces[2]);

/* ---- map_draw.c ---- */

typedef enum map_show { MAP_SHOW_DISTANCE = 0, MAP_SHOW_VORONOI, MAP_SHOW_GRADIENT } map_show;

/* A surface subdivided to the resolution of the samples. */
typedef struct map_fine {
    abut_vec3 *points;       /* absolute */
    uint32_t *corners;       /* three for each triangle */
    uint32_t *source;        /* triangle of the mesh that contains a triangle */
    double (*weights)[3][3]; /* barycentric coordinates of its corners in that triangle */
    size_t point_count, point_room, count, room;
} map_fine;

/* Bisects edges until none is longer, or there are too many triangles. */
void fine_create(const tool_surface *surface, double longest, map_fine *fine);
void fine_free(map_fine *fine);

/* One panel of a picture: a surface in colours, the others translucent. */
typedef struct map_panel {
    const tool_surface *surface;
    const map_answer *answer;
    const tool_surface *others;
    uint32_t other_count;
    const char *marked; /* label of the marked segment; null = none */
    abut_vec3 marks[2];
    double value; /* length of the segment */
    bool hidden;  /* initially in a page, if it coincides with that of another panel */
} map_panel;

/* A panel with the minimum distance marked. */
map_panel panel_of(const tool_surface *surface, const map_answer *answer,
                   const tool_surface *others, uint32_t other_count);

/* The size of a texel on the surface; 0 without samples. */
double map_texel(const map_panel *panel);
/* Draws panels side by side, and the scale with the areas of the first answer. */
void map_draw(tool_run *tool, const tool_arguments *arguments, const map_panel *panels,
              uint32_t count, map_show show, const char *path);
/* Adds the objects of a panel without text, for films; with labels for the page that shows it
 * next. */
void map_paint(tool_run *tool, abut_picture *picture, const map_panel *panel, map_show show,
               bool page);
/* Writes distances, Voronoi diagram and gradient as images of the atlas. */
void map_images(tool_run *tool, const map_panel *panel, const char *prefix);

/* ---- map_view.c ---- */

/* Writes the page of --html. */
void map_view(tool_run *tool, const tool_arguments *arguments, const map_panel *panels,
              uint32_t count, map_show show);
/* Adds the surface unchanged, with one colour for each triangle, for pages with frames. */
void map_paint_plain(abut_picture *picture, const map_panel *panel);

/* ---- map_write.c ---- */

/* Writes the files of --png and --out; a file of samples or of a surface is of the first panel. */
void map_write(tool_run *tool, const tool_arguments *arguments, const map_panel *panels,
               uint32_t count, map_show show);

/* ---- map_frames.c and map_frames_draw.c: moving bodies ---- */

typedef struct map_frame_row {
    double milliseconds; /* to update, compute and measure; without reading files */
    double reach, relative, inside_area;
    abut_map_measures measures;
} map_frame_row;

typedef struct map_frames_run {
    const tool_arguments *arguments;
    uint32_t body_count;
    tool_frames *folders; /* frames of each body; none if it is static */
    tool_surface *surfaces;
    abut_collider *others;
    abut_frames *recording; /* of all bodies; otherwise null */
    uint64_t frame_count;
    map_query_options query;
    abut_device *device;
    map_frame_row *rows;
    float *film; /* for a page: the distance at the centre of each triangle, frame by frame */
    size_t triangle_count;
} map_frames_run;

/* Whether a body differs from the previous frame; and its mesh in a frame. */
bool map_body_moves(const map_frames_run *r, uint32_t body);
void map_read_body(tool_run *tool, map_frames_run *r, uint32_t body, uint64_t frame,
                   abut_mesh **mesh);
void map_fill_frame_row(const void *data, size_t i, double *values);
/* Keeps the distances of a frame for the page, whose colours need the range of all frames. */
void map_keep_frame(map_frames_run *r, uint64_t frame);
void map_frames_page(tool_run *tool, map_frames_run *r);
void map_frames_plot(tool_run *tool, const map_frames_run *r, const char *path);

/* Returns whether the operand is a recording; whether any operand is one or a folder of frames. */
bool map_recorded(const tool_arguments *arguments);
bool map_moves(const tool_arguments *arguments);
void map_frames(tool_run *tool, const tool_arguments *arguments, abut_device *device,
                const map_query_options *query);

#endif
