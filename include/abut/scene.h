/* Scenes: bodies with names, places and groups, read from a file that people write.
 *
 * A file names meshes (other files, or built-in shapes), the bodies that are made of them, and the
 * pairs that are not to be tried; docs/scene.md has the format, which is JSON. What comes out goes
 * as it is into abut_world_add() and abut_layers_add(). Needs the "gltf" feature, which brings the
 * parser.
 */
#ifndef ABUT_SCENE_H
#define ABUT_SCENE_H

#include <abut/base.h>
#include <abut/character.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_scene abut_scene;

typedef struct abut_scene_body {
    const char *name; /* no other body has it; "#7" where the file gives the eighth none */
    abut_mesh *mesh;  /* the scene's; several bodies may have the same */
    abut_pose pose;
    uint32_t group;     /* its bit, as in abut_world_item: the first where the file names none */
    uint32_t mask;      /* all groups but those that its own is not to be tried with; never 0 */
    const char *file;   /* of the mesh, as the scene has it; null for a shape */
    const char *method; /* how it is to be tried, a name of abut_world_method; null = not said */
    const abut_character *character;    /* of a posed character, of which the mesh is; else null */
    const abut_character_matrix *bones; /* where its bones are, before the pose */
    const char *solid;     /* "plane", "sphere", "capsule", "box", "cylinder" or "hull", a name of
                            * abut_solid_kind: it is meant to be exactly that, in its own coordinates
                            * about the origin and along z, and the mesh is its picture. A plane is
                            * all below z = 0. Null = it is its mesh */
    double radius, height; /* of such a solid; height is from end to end of a cylinder, and that of
                            * the straight part of a capsule */
    abut_vec3 half;        /* sizes of such a box */
} abut_scene_body;

/* Two bodies that are not to be tried, whatever their groups. */
typedef struct abut_scene_pair {
    uint32_t a, b; /* a < b */
} abut_scene_pair;

/* What a scene holds. Pointers live as long as the scene. */
typedef struct abut_scene_arrays {
    size_t size; /* sizeof(abut_scene_arrays), set by the default function */
    uint32_t body_count;
    const abut_scene_body *bodies; /* in the order of the file */
    uint64_t ignored_count;
    const abut_scene_pair *ignored; /* sorted by a, then b, each once */
    uint32_t group_count;
    const char *const *groups; /* their names, that of bit 1 first: bit 0 has none */
} abut_scene_arrays;

ABUT_DEFAULT(abut_scene_arrays)

#define ABUT_SCENE_GROUPS 31       /* groups that a scene may name */
#define ABUT_SCENE_SEGMENTS 128    /* segments and rings of its built-in shapes */
#define ABUT_SCENE_IGNORED 1048576 /* pairs of bodies that it may ignore */

/* Reads a scene and all meshes that it names: OBJ, PLY, STL, OFF or glTF, by paths from the folder
 * of the scene's file, and only regular files. The error sentence names the file and the member,
 * and what is not understood is refused. Thread-safe. */
ABUT_API abut_status abut_scene_read(abut_context *context, const char *path, abut_scene **scene);
/* The same from memory. `name` stands for the path in messages, and mesh files are looked for in
 * its folder; null = there are none. Thread-safe. */
ABUT_API abut_status abut_scene_read_memory(abut_context *context, const void *data, size_t bytes,
                                            const char *name, abut_scene **scene);
/* Null is allowed. Thread-safe when no one else uses the scene. */
ABUT_API void abut_scene_destroy(abut_scene *scene);
/* Gets the arrays of a scene. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_scene_get_arrays(const abut_scene *scene, abut_scene_arrays *arrays);
/* Whether two bodies are to be tried: different ones whose groups allow it, and not ignored.
 * Thread-safe. */
ABUT_API bool abut_scene_should_collide(const abut_scene *scene, uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif

#endif
