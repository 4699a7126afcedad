/* What the files of a view share. */
#ifndef ABUT_TOOL_VIEW_SCENE_H
#define ABUT_TOOL_VIEW_SCENE_H

#include "view.h"

enum { LABEL_NAME = 128, LABEL_AMOUNT = 32, LABEL_NOTE = 128 };

/* A view_label that is kept. */
typedef struct view_kept_label {
    size_t first[2]; /* mesh, and line or point, of its picture */
    char name[LABEL_NAME], amount[LABEL_AMOUNT], note[LABEL_NOTE];
    bool derived, hidden, result;
} view_kept_label;

/* Frames of one body: where it is, and its vertices and colours where they change. */
typedef struct view_track {
    abut_mesh *mesh; /* held; of the first frame */
    abut_mesh_style style;
    char name[LABEL_NAME];
    uint32_t label; /* its number + 1, or 0 */
    uint64_t hash;  /* of the positions of the last frame */
    float *poses;   /* 7 a frame; a rotation of zeros = not there */
    size_t pose_room;
    float *vertices; /* 3 a vertex and frame, once they have changed; null before */
    size_t vertex_room;
    uint8_t *colours; /* 4 a triangle and frame where triangles have colours, else null */
    size_t colour_room;
    bool coloured;  /* they changed */
    uint8_t *tints; /* the colour of the body, 4 a frame */
    size_t tint_room;
    bool tinted; /* it changed */
    bool used;   /* in the frame that is being added */
} view_track;

/* Lines or points of one look. */
typedef struct view_marks {
    bool points;
    double width;
    char name[LABEL_NAME];
    uint32_t label; /* its number + 1, or 0 */
    bool has_amount;
    uint64_t amount; /* by the legend */
    float *places;   /* 3 a point, 6 a line */
    size_t place_room;
    uint8_t *colours; /* 4 each */
    size_t colour_room;
    size_t count;
    uint32_t *begin; /* of each frame in the list */
    size_t begin_room;
} view_marks;

typedef struct view_film {
    view_track *tracks;
    size_t track_count, track_room;
    size_t before; /* tracks of the frames before */
    view_marks *marks;
    size_t mark_count, mark_room;
    size_t last_marks; /* that were found last */
    view_kept_label *labels;
    size_t label_count, label_room;
    size_t label_begin;      /* of the picture that is to be added */
    bool taken[LEGEND_MOST]; /* entries of the legend that name a body */
    uint32_t offered, count; /* frames */
    uint32_t stride;         /* one of so many is kept */
    double seconds;          /* between frames that are offered; 0 = not known */
    size_t bytes;
} view_film;

struct tool_view {
    tool_run *tool;
    const char *path;
    tool_text bundle;                                /* the viewer */
    tool_text title, unit;                           /* words */
    tool_text data;                                  /* of all arrays */
    tool_text arrays, meshes, layers, scales, notes; /* lists in JSON without their brackets */
    uint32_t array_count, mesh_count, layer_count, scale_count;
    abut_picture_options camera;
    bool has_camera, placed, failed, written;
    bool is_extra; /* the run writes other files too, which a page that fails must not stop */
    const char *loss_kind; /* of the error that was met then, and its sentence; null = none */
    tool_text loss;
    abut_vec3 centre;
    double scale; /* coordinates of the page = (those of the scene - centre) * scale */
    unsigned skip;
    view_film film;
};

/* Adds an array; gives its number. */
uint32_t view_array(tool_view *view, const char *type, const void *values, size_t count,
                    size_t bytes_each);
/* Adds a mesh: its positions from its origin in units of the page, and its triangles. */
uint32_t view_mesh(tool_view *view, const abut_mesh *mesh);
/* A place, and a pose of a mesh that was added, in units of the page. */
void view_point(const tool_view *view, abut_vec3 p, float to[3]);
void view_pose(const tool_view *view, const abut_mesh *mesh, abut_pose pose, float to[7]);
void view_colour(uint8_t to[4], abut_colour colour);
/* Begins the next layer: the kind and the name; ends with text_add(&view->layers, "}"). */
void view_layer(tool_view *view, const char *kind, const char *name);
/* Opens room in an array of the film. */
bool view_room(tool_view *view, void *array, size_t needed, size_t *room, size_t each);
/* Adds layers of all tracks and marks. */
void view_film_end(tool_view *view);
void view_film_free(view_film *film);

#endif
