/* Scenes of cloth and a moving solid, of any size, reproducible: after animations one, two, five
 * and six of Cheng 2011 ("View-based continuous self-collision detection with graphics hardware
 * acceleration", section 6.1), and four that stress cloth. */
#ifndef ABUT_CLOTH_SCENE_H
#define ABUT_CLOTH_SCENE_H

#include <abut/abut.h>

typedef enum scene_kind {
    SCENE_BALL = 0, /* a critter moves up and down inside a ball of cloth that falls on it */
    SCENE_SLEEVE,   /* an open sleeve slides along a rough bending rod */
    SCENE_SHEET,    /* a sheet on a square board, in the wind */
    SCENE_TWIST,    /* a cylinder that two rings twist by ten turns */
    SCENE_KNOT,     /* a tube with a knot that is pulled tight */
    SCENE_PILE,     /* twenty sheets that fall on a plate */
    SCENE_FUNNEL,   /* a sheet that is pulled through a funnel */
    SCENE_DRESS,    /* a character walks or dances in a dress */
    SCENE_CAPE,     /* the same in a cape, */
    SCENE_OVERCOAT, /* an overcoat, */
    SCENE_TROUSERS_AND_TOP, /* and trousers and top */
    SCENE_COUNT,
    SCENE_SOLID_COUNT = SCENE_DRESS,  /* the previous ones have no character */
    SCENE_STRESS_FIRST = SCENE_TWIST, /* those from here to there are in cloth_stress.c */
} scene_kind;

/* "ball" and so on; null beyond the last. */
const char *scene_name(scene_kind kind);

/* The cell size of radial fields, in metres. */
#define SCENE_CELL 0.01

typedef struct scene scene;

typedef struct scene_options {
    scene_kind kind;
    uint32_t triangles;       /* of the cloth, approximate; 0 = 6000 */
    uint32_t solid_triangles; /* approximate; 0 = half as many */
    abut_character
        *character; /* of scenes with a garment; in metres if `radial`. Must outlive the scene */
    uint32_t clip;  /* that it repeats; ABUT_NONE = no motion */
    const uint32_t *joints; /* as in the options of a garment, */
    double ease;            /* 0 = 0.0105 of the height. More if it does not fit */
    bool windy;             /* wind, which sheets always have */
    bool slight; /* a sleeve: the rod bends less and slower, so that the sleeve slides and wrinkles,
                  * without a knot */
    abut_vec3 up; /* its upward direction, of any length; zero = y */
    bool radial; /* its body is radial fields with cells of SCENE_CELL: fast, not exact. The garment
                    may pass through itself, unless */
    bool self;   /* its vertices keep a distance from its faces */
    bool outside; /* with `radial`: abut_cloth_push_out() at the end of a frame, too */
    abut_device *device;
} scene_options;

abut_status scene_create(abut_context *context, const scene_options *options, scene **made);
void scene_destroy(scene *s);
/* Advances by one frame. */
abut_status scene_step(scene *s, abut_cloth_report *report);

/* Seconds of all frames against radial fields so far: bones and skinning, fields,
 * self-collision, substeps, leaving fields, and leaving the body exactly. */
typedef struct scene_parts {
    double skin, fields, self, solve, collide;
    double outside;
} scene_parts;
scene_parts scene_parts_of(const scene *s);

/* Twenty sheets in a pile, otherwise one, and one body, 0. */
abut_cloth *scene_cloth(const scene *s);
/* Vertices of all sheets, and of the body after them. */
uint32_t scene_vertex_count(const scene *s);
/* Copies their positions, and where the last step was to move them. `aims` may be null. */
abut_status scene_get_positions(const scene *s, abut_vec3 *positions, abut_vec3 *aims);
/* The largest exact depth of a vertex of the cloth inside the body; 0 if none is inside. */
abut_status scene_depth(const scene *s, double *depth);
/* The initial meshes of all sheets and of the solid. */
abut_mesh *scene_mesh(const scene *s, uint32_t which);
/* Creates the current ones. */
abut_status scene_create_mesh(const scene *s, uint32_t which, abut_mesh **mesh);
/* The time from which the solid does not move; infinity if it does not stop. */
double scene_rest_time(const scene *s);
double scene_time(const scene *s);
double scene_frame_seconds(const scene *s);
/* For pictures: the upward direction, the viewpoint, and a box that contains most of the motion,
 * or of the current frame with a character. */
abut_vec3 scene_up(const scene *s);
abut_vec3 scene_eye(const scene *s);
abut_box scene_view(const scene *s);

#endif
