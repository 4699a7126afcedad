/* Scenes: named bodies with poses and collision groups, read from a JSON file.
 *
 * A scene file lists meshes (other files or built-in shapes), the bodies that use them, and the
 * pairs of bodies to ignore. docs/scene.md defines the format. Groups and masks of a scene have the
 * meaning that abut_world_add() and abut_layers_add() expect. Reading needs the "gltf" feature,
 * which includes the JSON parser.
 */
#ifndef ABUT_SCENE_H
#define ABUT_SCENE_H

#include <abut/base.h>
#include <abut/character.h>
#include <abut/collider.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_scene abut_scene;

/* A body. All pointers are valid until the scene is destroyed. */
typedef struct abut_scene_body {
    size_t size;
    const char *name;       /* unique; the file may omit it: the eighth body is then "#7" */
    abut_collider collider; /* the body at its pose, for abut_world_item: ABUT_COLLIDER_MESH, or a
                             * primitive if the file has `solid` for this body. A primitive is
                             * centred at its origin with its axis along z. A plane is the
                             * half-space below z = 0. A hull is the mesh itself, which must be
                             * closed and convex */
    abut_mesh *mesh;    /* to draw the body; a primitive is approximated by it. Several bodies may
                         * share a mesh */
    uint32_t group;     /* a bit, as in abut_world_item; bit 0 if the file names no group */
    uint32_t mask;      /* the groups that this body collides with; never 0 */
    const char *file;   /* path of the mesh as written in the scene; null for a shape */
    const char *method; /* pair method for contacts, a name of abut_world_method; null = not set */
    const abut_character *character;    /* the character that the mesh is a pose of; else null */
    const abut_character_matrix *bones; /* its bone matrices, before the pose is applied */
    double margin;                      /* as in abut_world_item */
} abut_scene_body;

ABUT_DEFAULT(abut_scene_body)

/* Two bodies that do not collide, whatever their groups. */
typedef struct abut_scene_pair {
    uint32_t a, b; /* a < b */
} abut_scene_pair;

/* The content of a scene. All pointers are valid until the scene is destroyed. */
typedef struct abut_scene_arrays {
    size_t size;         /* sizeof(abut_scene_arrays), set by the default function */
    uint32_t body_count; /* see abut_scene_get_body() */
    uint64_t ignored_count;
    const abut_scene_pair *ignored; /* sorted by a, then b; without duplicates */
    uint32_t group_count;
    const char *const *groups; /* names of groups: groups[0] is bit 1, and so on */
} abut_scene_arrays;

ABUT_DEFAULT(abut_scene_arrays)

#define ABUT_SCENE_GROUPS 31       /* maximum number of named groups */
#define ABUT_SCENE_SEGMENTS 128    /* maximum of segments and rings of a shape */
#define ABUT_SCENE_IGNORED 1048576 /* maximum number of ignored pairs */

typedef struct abut_scene_options {
    size_t size;
    /* Creates the character that a scene calls by name (`figure`); abut_character_create_named() of
     * libabut_figures knows the built-in ones. Null = such a scene is an ABUT_ERROR_FORMAT. */
    abut_status (*create_character)(void *user, abut_context *context, const char *name,
                                    abut_character **character);
    void *user;
} abut_scene_options;

ABUT_DEFAULT(abut_scene_options)

/* Reads a scene and all meshes that it refers to: OBJ, PLY, STL, OFF or glTF. Relative paths start
 * at the folder of the scene file. Only regular files are opened. Returns
 *  - ABUT_ERROR_FORMAT for content that the format does not define, too many groups or segments;
 *    the error message names the file and the member,
 *  - ABUT_ERROR_LIMIT for more than ABUT_SCENE_IGNORED ignored pairs, more than 4096 entries of
 *    `ignore` with a group, or more than 4,194,304 triangles of all shapes together,
 *  - ABUT_ERROR_UNSUPPORTED without the "gltf" feature.
 * Thread-safe. */
ABUT_API abut_status abut_scene_read(abut_context *context, const char *path,
                                     const abut_scene_options *options, abut_scene **scene);
/* The same for a scene in memory. `name` replaces the path in messages, and relative paths start at
 * its folder. Null = the scene cannot refer to files. Thread-safe. */
ABUT_API abut_status abut_scene_read_memory(abut_context *context, const void *data, size_t bytes,
                                            const char *name, const abut_scene_options *options,
                                            abut_scene **scene);
/* Frees a scene and releases its meshes. Null is allowed. No other thread may use the scene. */
ABUT_API void abut_scene_destroy(abut_scene *scene);
/* Stores the content of a scene. `arrays->size` must be set. Thread-safe. */
ABUT_API abut_status abut_scene_get_arrays(const abut_scene *scene, abut_scene_arrays *arrays);
/* Stores a body; bodies are in the order of the file. `body->size` must be set. Returns
 * ABUT_ERROR_ARGUMENT if `index` is not below the number of bodies. Thread-safe. */
ABUT_API abut_status abut_scene_get_body(const abut_scene *scene, uint32_t index,
                                         abut_scene_body *body);
/* Returns whether two bodies may collide: they are different, their groups and masks allow it, and
 * the pair is not ignored. Returns false for an invalid index. Thread-safe. */
ABUT_API bool abut_scene_should_collide(const abut_scene *scene, uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif

#endif
