/* The results that `abut view` shows together. */
#ifndef ABUT_TOOL_RESULTS_H
#define ABUT_TOOL_RESULTS_H

#include "view.h"

enum { VIEW_FRAMES_MAX = 480 };

/* One operand. Members of other kinds are null. */
typedef struct view_result {
    const char *path, *name;
    abut_colour colour;
    abut_mesh *mesh;
    abut_field *field;
    abut_frames *frames;
    abut_scene *scene;
    abut_character *character;
    abut_character_matrix *bones;
    bool table;
} view_result;

typedef struct viewing {
    view_result *results;
    size_t count;
    uint64_t frames;
    double seconds; /* from frame to frame */
    uint32_t clip;
    tool_legend legend;
    abut_picture_options camera;
    bool edges, flat;
} viewing;

/* Adds the names of layers to the legend. */
void results_name(viewing *v);
/* Writes the page. */
void results_page(tool_run *tool, viewing *v);

/* ---- apps/cmd/view_live.c ---- */

/* Shows the meshes in a live page until the user ends it. */
void view_live(tool_run *tool, const tool_arguments *arguments, const viewing *v);

#endif
