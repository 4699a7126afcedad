/* Scenes of cloth and a moving solid, after animations one, two, five and six of Cheng 2011
 * ("View-based continuous self-collision detection with graphics hardware acceleration",
 * section 6.1): of any size, the same every time.
 */
#ifndef ABUT_CLOTH_SCENES_H
#define ABUT_CLOTH_SCENES_H

#include "cloth.h"

typedef enum scene_kind {
    SCENE_BALL = 0, /* a critter goes up and down inside a ball of cloth that falls on it */
    SCENE_SLEEVE,   /* an open sleeve slips along a rough rod that bends */
    SCENE_SHEET,    /* a sheet lies on a square board, in the wind */
    SCENE_DRESS,    /* a character walks or dances in a dress */
    SCENE_CAPE,     /* the same in a cape */
    SCENE_COUNT,
    SCENE_SOLID_COUNT = SCENE_DRESS /* those before have no character */
} scene_kind;

/* "ball" and so on; null beyond the last. */
const char *scene_name(scene_kind kind);

/* Sides of the cells of radial fields, in metres. */
#define SCENE_CELL 0.01

typedef struct scene scene;

typedef struct scene_options {
    scene_kind kind;
    uint32_t triangles;        /* of the cloth, about; 0 = 6000 */
    uint32_t solid_triangles;  /* about; 0 = half as many */
    abut_character *character; /* of SCENE_DRESS and SCENE_CAPE, in metres; must live as long */
    uint32_t clip;             /* that it goes through, again and again; ABUT_NONE = it stands */
    const uint32_t *joints;    /* as in the options of a garment */
    bool windy;                /* it is in the wind, as sheets always are */
    abut_vec3 up;              /* of it, of any length; zero = y */
    bool radial;    /* its body is radial fields of cells of SCENE_CELL: quick, not exact, and the
                     * garment may pass through itself, unless */
    bool self;      /* its vertices keep off its faces */
    bool outside;   /* with `radial`: at the end of a frame cloth_leave_solid() too */
    uint32_t grain; /* as in cloth_options, and the next */
    abut_device *device;
} scene_options;

abut_status scene_create(abut_context *context, const scene_options *options, scene **made);
void scene_destroy(scene *s);
/* Goes on by one frame. */
abut_status scene_step(scene *s, cloth_report *report);

/* Seconds that frames against radial fields took so far: bones and skin, the fields, the garment
 * and itself, substeps, leaving fields, and leaving the body exactly. */
typedef struct scene_parts {
    double skin, fields, self, solve, collide;
    double outside;
} scene_parts;
scene_parts scene_parts_of(const scene *s);

cloth *scene_cloth(const scene *s);
/* How deep a vertex of the cloth is inside of the body, exactly; 0 where none is. */
abut_status scene_depth(const scene *s, double *depth);
/* Triangles of the cloth and of the solid. */
abut_mesh *scene_mesh(const scene *s, uint32_t which);
double scene_frame_seconds(const scene *s);
/* For pictures: which way is up, where to look from, and a box that holds most of what will happen,
 * or now with a character. */
abut_vec3 scene_up(const scene *s);
abut_vec3 scene_eye(const scene *s);
abut_box scene_view(const scene *s);

#endif
