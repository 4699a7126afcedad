/* Private types of the scene module. */
#ifndef ABUTI_SCENE_H
#define ABUTI_SCENE_H

#include "base/base.h"

#include <abut/scene.h>
#include <abut/shape.h>

typedef struct scene_mesh {
    abut_mesh *mesh;           /* owned */
    const char *file;          /* in `letters`; null for a built-in shape */
    abut_character *character; /* owned, like its bones; null if it is not a character */
    abut_character_matrix *bones;
    abut_bvh *hull; /* owned; null if no body is its hull */
    bool has_shape;
    abut_shape shape; /* with the size of the mesh */
    uint32_t clip;    /* of the character; ABUT_NONE = the rest pose */
    double time, speed, blend;
    uint32_t *pins; /* owned, of a garment; null until then */
    uint32_t pin_count;
    uint32_t wearer; /* body of a garment */
    bool has_mass;   /* the next three are computed */
    double volume;   /* 0 = not solid */
    abut_vec3 centre;
    double inertia[6]; /* with density 1 */
} scene_mesh;

/* A character of a scene: one with a name or a file, without some parts, and how it plays a clip,
 * which may be null. */
typedef struct scene_pose {
    const char *figure, *path, *clip;
    double time, speed, blend;
    const char *const *without; /* names of bones whose parts are removed */
    uint32_t without_count;
} scene_pose;

/* Scales a mesh about the origin; on failure it is null. */
abut_status abuti_scene_scale(scene_mesh *mesh, double scale);
/* Sets the collider to the primitive that the mesh approximates, at the pose that it has. */
abut_status abuti_scene_solid(scene_mesh *mesh, abut_collider *collider);
/* Sorts pairs (a << 32 | b) and stores each once, as the ignored pairs of the scene. */
abut_status abuti_scene_set_ignored(abut_scene *scene, uint64_t *pairs, size_t count);
/* Rotation about an axis; `largest` is its largest absolute coordinate and not 0. */
abut_quat abuti_scene_rotation(const double axis[3], double largest, double degrees);
/* Computes volume, centre and inertia of a mesh, once. */
abut_status abuti_scene_mass(scene_mesh *mesh);
/* Creates mesh, character and bones at the start. Messages of format errors do not name the file.
 */
abut_status abuti_scene_pose(abut_context *context, const abut_scene_options *options,
                             const scene_pose *pose, scene_mesh *to);

struct abut_scene {
    abut_context *context;
    scene_mesh *meshes;
    size_t mesh_count, mesh_room;
    abut_scene_body *bodies;
    uint32_t body_count;
    abut_scene_pair *ignored;
    size_t ignored_count;
    abuti_vector seams; /* abut_cloth_seam, by vertices */
    char *letters;      /* text of all names and files */
    const char *groups[ABUT_SCENE_GROUPS];
    uint32_t group_count;
    abut_vec3 up, gravity, wind;
    double drag;
};

#endif
