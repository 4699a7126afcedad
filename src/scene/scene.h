/* What the files of scenes share. */
#ifndef ABUTI_SCENE_H
#define ABUTI_SCENE_H

#include "base/base.h"

#include <abut/scene.h>
#include <abut/shape.h>

typedef struct scene_mesh {
    abut_mesh *mesh;           /* owned */
    const char *file;          /* of the letters; null for a shape */
    abut_character *character; /* owned, as its bones; null: it is none */
    abut_character_matrix *bones;
    bool has_shape;
    abut_shape shape; /* as large as the mesh */
} scene_mesh;

/* A character of a scene: a built-in figure or a file, by a clip, which may be null, at a time. */
typedef struct scene_pose {
    const char *figure, *path, *clip;
    double time;
} scene_pose;

/* Makes a mesh larger about the origin; on failure there is none. */
abut_status abuti_scene_scale(scene_mesh *mesh, double scale);
/* Makes a body the solid that its mesh is a picture of. */
void abuti_scene_solid(const scene_mesh *mesh, abut_scene_body *body);
/* A turn about an axis, whose largest number is given and not 0. */
abut_quat abuti_scene_turn(const double axis[3], double largest, double degrees);
/* Makes the mesh, character and bones of it. Errors of format are to be completed. */
abut_status abuti_scene_pose(abut_context *context, const scene_pose *pose, scene_mesh *to);

struct abut_scene {
    abut_context *context;
    scene_mesh *meshes;
    size_t mesh_count, mesh_room;
    abut_scene_body *bodies;
    uint32_t body_count;
    abut_scene_pair *ignored;
    size_t ignored_count;
    char *letters; /* of all names and files */
    const char *groups[ABUT_SCENE_GROUPS];
    uint32_t group_count;
};

#endif
