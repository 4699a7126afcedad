/* Pages: scenes for a browser, one self-contained HTML file each (docs/viewer.md).
 *
 * A run with --html has a view. The contents of pictures are added to it (view_picture,
 * view_film); commands add layers for results that pictures do not have. view_write() writes the
 * file. */
#ifndef ABUT_TOOL_VIEW_H
#define ABUT_TOOL_VIEW_H

#include "tool.h"

typedef struct tool_view tool_view;

/* ---- view_file.c: the script of the viewer and the file ---- */

/* Makes the view of a run with --html, and finds the script of the viewer before any work is
 * done. If the run also writes pictures
 * or tables, view_report() reports errors of the page instead. */
void view_open(tool_run *tool, const tool_arguments *arguments);
/* The same for a file whose name is an operand or another option. */
void view_open_path(tool_run *tool, const char *path);
/* Reads the script of the viewer, for live pages. */
void view_script(tool_run *tool, tool_text *script);
/* Sets the title: file names without folders. */
void view_name_after(tool_view *view, const tool_arguments *arguments);
/* The given path, the same pointer. */
const char *view_path(const tool_view *view);
/* Writes the page; no effect without --html. */
void view_write(tool_run *tool);
/* Returns whether the page could not be written, although the run continued. Null is allowed. */
bool view_has_error(const tool_view *view);
/* Ends the run with the error of a page that could not be written, if the rest of the run
 * succeeded. */
void view_report(tool_run *tool, int code);
/* Adds bytes as base64. */
void text_base64(tool_text *to, const uint8_t *bytes, size_t count);

/* ---- view_scene.c: layers ---- */

/* All functions below have no effect if `view` is null. */

/* Sets the origin and unit of all coordinates of the page from the first given box. */
void view_place(tool_view *view, abut_box box);
/* Sets the camera; the title of the page. */
void view_camera(tool_view *view, const abut_picture_options *camera);
void view_title(tool_view *view, const char *format, ...) TOOL_PRINTF(2, 3);
/* The unit of values in all legends, such as "mm". */
void view_unit(tool_view *view, const char *unit);

/* Adds a legend entry for a colour that is not of a layer. Duplicates are ignored. */
void view_note(tool_view *view, abut_colour colour, const char *words);

typedef enum view_source {
    VIEW_MESHES = 1, /* meshes of pictures */
    VIEW_MARKS = 2   /* their lines and points */
} view_source;
/* Excludes contents of pictures from now on, since layers of the command replace them. */
void view_skip(tool_view *view, unsigned sources);

/* The label of items of a picture, instead of the legend entry of their colour. */
typedef struct view_label {
    const char *name;
    const char
        *amount;      /* replaces the number of triangles or marks in its row; null = that number */
    const char *note; /* shown when it is selected; null = nothing */
    bool derived;     /* its triangles are not those of a file: their indices are not shown */
    bool hidden;      /* until its row is checked */
    bool result;      /* part of the result: its row precedes those of the input */
} view_label;
/* Labels the items that are added to a picture from now on, up to the next label. The picture
 * must be the next one that is shown. */
void view_label_items(tool_view *view, const abut_picture *picture, const view_label *label);

/* A surface in the colours of a scale, by a value at each vertex; NaN is grey. `source` are the
 * triangles of the file that contain its triangles; null = none. A `hidden` surface is shown
 * when its row is checked. */
void view_values(tool_view *view, abut_mesh *mesh, const char *name, const double *values,
                 const tool_scale *scale, const char *what, const uint32_t *source, bool hidden);

/* Values that are shown when one of several items is selected. */
typedef struct view_column {
    const char *name;
    const double *values; /* one for each item */
} view_column;

/* Adds arrows between points. Colours may be null for the default. */
void view_arrows(tool_view *view, const char *name, const abut_vec3 *from, const abut_vec3 *to,
                 const abut_colour *colours, size_t count, const view_column *columns,
                 size_t column_count);

/* Adds the contacts of a picture as arrows of this length along their normals, with their
 * values, instead of its lines and points. `colour_of` returns the colour of a contact by its
 * index. */
void view_contacts(tool_view *view, const abut_picture *picture, const abut_contact *list,
                   size_t count, double arrow,
                   abut_colour (*colour_of)(const void *data, size_t contact), const void *data);

/* Adds a signed distance field: a movable slice, and an isosurface. */
void view_field(tool_view *view, const abut_field *field, const char *name,
                const tool_scale *scale);

/* ---- view_marks.c ---- */

/* A kind of mark: lines or points of one colour. A list of kinds ends with null words. */
typedef struct view_kind {
    const char *words;
    abut_colour colour;
    bool line;
} view_kind;

typedef struct view_mark {
    abut_vec3 from, to; /* a point is at `from` */
    uint32_t kind;
} view_mark;

/* Writes the page of a mesh, slightly translucent, with marks; no effect without --html. */
void view_marks_page(tool_run *tool, const char *path, abut_mesh *mesh, const view_mark *marks,
                     size_t count, const view_kind *kinds);

/* The same for closest points, inside tests and rays. `owners` has the point or ray of each result;
 * null = one result each. */
void view_nearest(tool_run *tool, const char *path, abut_mesh *mesh, const abut_vec3 *points,
                  const size_t *owners, const abut_nearest *nearest, size_t count);
void view_inside(tool_run *tool, const char *path, abut_mesh *mesh, const abut_vec3 *points,
                 const bool *inside, size_t count);
void view_rays(tool_run *tool, const char *path, abut_mesh *mesh, const abut_ray *rays,
               const size_t *owners, const abut_ray_hit *hits, size_t count);

/* ---- view_table.c ---- */

/* Adds the rows of a file as arrows or points; arrows have a tenth of `size` as length, or of
 * the extent of all rows if it is 0. */
void view_table(tool_run *tool, const char *path, const char *name, double size);

/* ---- view_picture.c: contents of pictures, at one time or frame by frame ---- */

/* Adds a picture as the only frame or as the next; the legend (may be null) gives names by
 * colour. */
void view_picture(tool_view *view, const abut_picture *picture, const tool_legend *legend);
/* Writes the page of one picture, with everything that was added before. */
void view_page(tool_run *tool, const abut_picture *picture, const tool_legend *legend);
/* Sets the origin and unit from a picture, for layers that are added before it. */
void view_place_picture(tool_view *view, const abut_picture *picture);
/* Sets the seconds between two pictures. */
void view_rate(tool_view *view, double seconds);

/* ---- live_page.c: pages that show a running command ---- */

typedef struct tool_live tool_live;

/* Reports an error if options cannot be combined with --live. */
void live_check(tool_run *tool, const tool_arguments *arguments);
/* Serves a live page with these buttons if --live is given, and prints its URL to standard
 * error. */
void live_open(tool_run *tool, const tool_arguments *arguments, uint32_t controls);
/* What --live shows of a picture besides its content; all members may be null. */
typedef struct live_caption {
    const tool_legend *legend; /* names by colour, if there are no names */
    const char *const *names;  /* for each mesh of the picture */
    const bool *movable;       /* for each mesh of the picture */
    const char *text, *line_name, *point_name;
} live_caption;
/* Shows a picture, if there is a page. */
void live_show(tool_run *tool, const abut_picture *picture, const live_caption *caption);
/* The same for a frame of a simulation with so many seconds between frames: the first one waits
 * until a page is open. Returns whether the simulation continues; otherwise the user has paused it,
 * and the caller responds to events and shows the frame again. True if there is no page. */
bool live_show_frame(tool_run *tool, const abut_picture *picture, const live_caption *caption,
                     double seconds);
/* The events that live_show_frame() did not use itself: all but those of pauses. */
const abut_live_event *live_events(const tool_run *tool, size_t *count);
/* Stores the events of the page since the last call; waits for one for at most `seconds`. Ends the
 * run if it is cancelled. */
size_t live_poll(tool_run *tool, double seconds, abut_live_event events[ABUT_LIVE_EVENT_MAX]);
/* Ends the server; the page keeps the last frame. */
void live_close(tool_run *tool);

#endif
