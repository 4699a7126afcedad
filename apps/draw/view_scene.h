/* Declarations that the files of a view share. */
#ifndef ABUT_TOOL_VIEW_SCENE_H
#define ABUT_TOOL_VIEW_SCENE_H

#include "view.h"

enum { LABEL_NAME = 128, LABEL_AMOUNT = 32, LABEL_NOTE = 128 };

/* A stored view_label. */
typedef struct view_kept_label {
    size_t first[2]; /* first mesh, and first line or point, of its picture */
    char name[LABEL_NAME], amount[LABEL_AMOUNT], note[LABEL_NOTE];
    bool derived, hidden, result;
} view_kept_label;

/* The same number of bytes for each frame. */
typedef struct view_lane {
    void *data; /* null before the first frame */
    size_t room, bytes;
} view_lane;

/* Frames of one body: its pose and colour, and its vertices and triangle colours if it has them. */
typedef enum view_part {
    TRACK_POSES,    /* 7 floats; a rotation of zeros = absent */
    TRACK_TINTS,    /* the colour of the body, 4 bytes */
    TRACK_VERTICES, /* 3 floats for each vertex, once they have changed */
    TRACK_COLOURS,  /* 4 bytes for each triangle if triangles have colours */
    TRACK_PARTS
} view_part;

typedef struct view_track {
    abut_mesh *mesh; /* retained; of the first frame */
    abut_mesh_style style;
    char name[LABEL_NAME];
    uint32_t label; /* index + 1, or 0 */
    uint64_t hash;  /* of the positions of the last frame */
    view_lane parts[TRACK_PARTS];
    bool coloured, tinted; /* whether colours of triangles, or of the body, changed */
    bool used;             /* in the current frame */
} view_track;

/* Lines or points of one style. */
typedef struct view_marks {
    bool points;
    double width;
    char name[LABEL_NAME];
    uint32_t label; /* index + 1, or 0 */
    bool has_amount;
    uint64_t amount; /* from the legend */
    float *places;   /* 3 for each point, 6 for each line */
    size_t place_room;
    uint8_t *colours; /* 4 each */
    size_t colour_room;
    size_t count;
    uint32_t *begin; /* first item of each frame */
    size_t begin_room;
} view_marks;

typedef struct view_film {
    view_track *tracks;
    size_t track_count, track_room;
    size_t before; /* tracks of previous frames */
    view_marks *marks;
    size_t mark_count, mark_room;
    size_t last_marks; /* the group that was found last */
    view_kept_label *labels;
    size_t label_count, label_room;
    size_t label_begin;      /* of the next picture */
    bool taken[LEGEND_MAX];  /* entries of the legend that name a body */
    uint32_t offered, count; /* frames */
    uint32_t stride;         /* one of this many is kept */
    double seconds;          /* between offered frames; 0 = unknown */
    size_t bytes;
} view_film;

struct tool_view {
    tool_run *tool;
    const char *path;
    tool_text bundle;                                /* the script of the viewer */
    tool_text title, unit;                           /* words */
    tool_text data;                                  /* of all arrays */
    tool_text arrays, meshes, layers, scales, notes; /* JSON lists without their brackets */
    uint32_t array_count, mesh_count, layer_count, scale_count;
    abut_picture_options camera;
    bool has_camera, placed, written;
    bool is_extra; /* the run writes other files too: an error of the page must not stop it */
    const char *error_kind; /* of an error of a page with is_extra; null = none */
    tool_text error;        /* its message */
    abut_vec3 centre;
    double scale; /* coordinates of the page = (those of the scene - centre) * scale */
    unsigned skip;
    view_film film;
};

/* Adds an array. Returns its index. */
uint32_t view_array(tool_view *view, const char *type, const void *values, size_t count,
                    size_t bytes_each);
/* Adds a mesh: its positions relative to its origin in units of the page, and its triangles. */
uint32_t view_mesh(tool_view *view, const abut_mesh *mesh);
/* Converts a point, and a pose of an added mesh, to units of the page. */
void view_point(const tool_view *view, abut_vec3 p, float to[3]);
void view_pose(const tool_view *view, const abut_mesh *mesh, abut_pose pose, float to[7]);
/* Begins a layer of a kind and name; it ends with text_add(&view->layers, "}"). */
void view_layer(tool_view *view, const char *kind, const char *name);
/* Grows an array of the film. */
void view_room(void *array, size_t needed, size_t *room, size_t each);
/* Adds layers of all tracks and marks. */
void view_film_end(tool_view *view);

#endif
