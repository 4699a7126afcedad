/* What the files of scenes share. */
#ifndef ABUTI_SCENE_H
#define ABUTI_SCENE_H

#include "base/base.h"

#include <abut/scene.h>

typedef struct scene_mesh {
    abut_mesh *mesh;  /* owned */
    const char *file; /* of the letters; null for a shape */
} scene_mesh;

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
