/* Pages: scenes for a browser, one self-contained HTML file each (docs/viewer.md).
 *
 * A run that was given --html has a view. What is drawn into pictures goes into it as well
 * (view_picture, view_film); commands that know more than a picture shows add layers of their own.
 * view_write() puts all of it into the file. */
#ifndef ABUT_TOOL_VIEW_H
#define ABUT_TOOL_VIEW_H

#include "tool.h"

typedef struct tool_view tool_view;

/* ---- view_file.c: the viewer and the file ---- */

/* Makes the view of a run where --html asks for one, and finds the viewer before any work is done.
 * 0, or the exit code after the error was reported. If the run writes pictures or tables too,
 * errors of the page wait for view_report(). */
int view_open(tool_run *tool, const tool_arguments *arguments);
/* The same for a file whose name is an operand or another option. */
int view_open_path(tool_run *tool, const char *path);
/* The title: names of the files without their folders. */
void view_name_after(tool_view *view, const tool_arguments *arguments);
/* Null is allowed. */
void view_close(tool_view *view);
/* The path that was given, the same pointer. */
const char *view_path(const tool_view *view);
/* Writes the page; nothing happens where none is wanted. */
abut_status view_write(tool_run *tool);
/* Whether the page could not be written, although the run went on. Null is allowed. */
bool view_is_lost(const tool_view *view);
/* Reports the error of a page that is lost. Returns `code`, or that of the error if the run was
 * fine without the page. */
int view_report(tool_run *tool, int code);
/* Adds bytes as base64. */
void text_base64(tool_text *to, const uint8_t *bytes, size_t count);

/* ---- view_scene.c: layers ---- */

/* All below do nothing where `view` is null, and never fail by themselves: view_write() tells
 * whether memory sufficed. */

/* Chooses the origin and unit of all coordinates of the page, by the first box that is given. */
void view_place(tool_view *view, abut_box box);
/* Where to look from, and what stands above the scene. */
void view_camera(tool_view *view, const abut_picture_options *camera);
void view_title(tool_view *view, const char *format, ...) TOOL_PRINTF(2, 3);
/* What values are measured in, for all legends: "mm", say. */
void view_unit(tool_view *view, const char *unit);

/* A line of the legend: what a colour means that no layer has for itself. Each once. */
void view_note(tool_view *view, abut_colour colour, const char *words);

typedef enum view_source {
    VIEW_MESHES = 1, /* meshes of pictures */
    VIEW_MARKS = 2   /* their lines and points */
} view_source;
/* What of pictures is left out from now on, since layers of the command show it better. */
void view_skip(tool_view *view, unsigned sources);

/* What a page says of items of a picture, instead of what the legend says of their colours. */
typedef struct view_label {
    const char *name;
    const char *amount; /* in its row instead of a number of triangles or marks; null = that */
    const char *note;   /* when it is picked; null = nothing */
    bool derived;       /* its triangles are not those of a file: their numbers are not shown */
    bool hidden;        /* until its row is checked */
    bool result;        /* part of the answer: its row is listed before those of the input */
} view_label;
/* Labels what is added to a picture from now on, up to the next label. The picture must be the next
 * one that is shown. */
void view_label_items(tool_view *view, const abut_picture *picture, const view_label *label);

/* A surface in the colours of a scale, by a value at each vertex; NaN is grey. `source` are the
 * triangles of the file that its triangles were cut from; null = they are of no file. A surface
 * that is `hidden` is shown when its row is checked. */
void view_values(tool_view *view, abut_mesh *mesh, const char *name, const double *values,
                 const tool_scale *scale, const char *what, const uint32_t *source, bool hidden);

/* Facts that are told when one of several things is picked. */
typedef struct view_column {
    const char *name;
    const double *values; /* one each */
} view_column;

/* Arrows from place to place. Colours may be null for that of ink. */
void view_arrows(tool_view *view, const char *name, const abut_vec3 *from, const abut_vec3 *to,
                 const abut_colour *colours, size_t count, const view_column *columns,
                 size_t column_count);

/* The contacts of a picture as arrows of this length along their normals, with what is known of
 * each, instead of its lines and points. `colour_of` gives the colour of a contact by its index. */
abut_status view_contacts(tool_view *view, const abut_picture *picture, const abut_contact *list,
                          size_t count, double arrow,
                          abut_colour (*colour_of)(const void *data, size_t contact),
                          const void *data);

/* A field of distances: a slice that can be moved, and an isosurface. */
abut_status view_field(tool_view *view, const abut_field *field, const char *name,
                       const tool_scale *scale);

/* ---- view_marks.c ---- */

/* What a mark is: lines or points of one colour. A list of kinds ends with null words. */
typedef struct view_kind {
    const char *words;
    abut_colour colour;
    bool line;
} view_kind;

typedef struct view_mark {
    abut_vec3 from, to; /* a point is at `from` */
    uint32_t kind;
} view_mark;

/* Writes the page of a mesh, which is a bit see-through, with marks; nothing without --html. */
abut_status view_marks_page(tool_run *tool, const char *path, abut_mesh *mesh,
                            const view_mark *marks, size_t count, const view_kind *kinds);

/* ---- view_table.c ---- */

/* Adds the rows of a file as arrows or places; arrows are a tenth of `size` long, or of all rows
 * where that is 0. 0, or the exit code. */
int view_table(tool_run *tool, const char *path, const char *name, double size);

/* ---- view_picture.c: what pictures show, at one time or frame by frame ---- */

/* Adds a picture as the only frame or as the next; the legend (may be null) tells names by colours.
 */
abut_status view_picture(tool_view *view, const abut_picture *picture, const tool_legend *legend);
/* The page of one picture, with all that was added before. */
abut_status view_page(tool_run *tool, const abut_picture *picture, const tool_legend *legend);
/* Chooses the origin and unit by what a picture has, for layers that are added before it. */
abut_status view_place_picture(tool_view *view, const abut_picture *picture);
/* How many seconds lie between two pictures that are added. */
void view_rate(tool_view *view, double seconds);

#endif
