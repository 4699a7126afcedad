/* Scenes: named bodies with poses, collision groups and motions, read from a JSON file.
 *
 * A scene file lists meshes (other files or built-in shapes), the bodies that use them, what moves
 * them, and the pairs of bodies to ignore. docs/scene.md defines the format. Groups and masks of a
 * scene have the meaning that abut_world_add() and abut_layers_add() expect. Reading needs the
 * "gltf" feature, which includes the JSON parser.
 */
#ifndef ABUT_SCENE_H
#define ABUT_SCENE_H

#include <abut/base.h>
#include <abut/character.h>
#include <abut/cloth.h>
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

    /* Motion. Forces move a body with a mass. Other rigid bodies and characters move with constant
     * velocity and spin, see abut_scene_pose_body(); cloth moves by itself. Lengths are in metres.
     */
    double mass;       /* kg; 0 = forces do not move it */
    abut_vec3 centre;  /* of mass, in the coordinates of the mesh */
    double inertia[6]; /* about it, kg m^2, in the order of abut_mesh_report.inertia. Both are
                        * zero without a mass */
    abut_vec3 velocity, spin; /* of the origin of the body, m/s; angular, rad/s. With a mass, those
                               * at the start */
    double friction;          /* coefficient; that of a pair is the mean of both */
    double bounce;            /* restitution, 0 to 1; that of a pair is the larger one */
    bool self_collides;       /* as in abut_world_item; only for characters */
    const abut_cloth_material *cloth; /* the mesh is a sheet of cloth; otherwise null */
    const uint32_t *pins;             /* attached vertices of the sheet, in ascending order */
    uint32_t pin_count;
    uint32_t pin_body;    /* index of the body that holds the pins; ABUT_NONE = fixed points */
    double pin_stiffness; /* of springs, N/m; 0 = pinned */
    uint32_t clip;        /* of a character; ABUT_NONE = the rest pose */
    double clip_time;     /* its time in the clip at the start, in seconds */
    double clip_speed;    /* 1 = as recorded */
    double clip_blend;    /* seconds in which it accelerates from the rest pose into the clip */
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
    abut_vec3 up;              /* unit vector: +y or +z */
    abut_vec3 gravity;         /* m/s^2 */
    abut_vec3 wind;            /* velocity of the air, m/s */
    double drag;               /* of the air, as in abut_cloth_options */
    uint64_t seam_count;
    const abut_cloth_seam *seams; /* for abut_cloth_sew(): sheet_a and sheet_b are the indices of
                                   * bodies. Sorted, without duplicates */
} abut_scene_arrays;

ABUT_DEFAULT(abut_scene_arrays)

#define ABUT_SCENE_GROUPS 31       /* maximum number of named groups */
#define ABUT_SCENE_SEGMENTS 128    /* maximum of segments and rings of a shape */
#define ABUT_SCENE_IGNORED 1048576 /* maximum number of ignored pairs */
#define ABUT_SCENE_GARMENTS 16     /* maximum number of garments */

typedef struct abut_scene_options {
    size_t size;
    /* Creates the character that a scene calls by name (`figure`); abut_character_create_named() of
     * libabut_figures knows the built-in ones. Null = such a scene is an ABUT_ERROR_FORMAT. */
    abut_status (*create_character)(void *user, abut_context *context, const char *name,
                                    abut_character **character);
    void *user;
    /* Creates a garment by name for a character in its rest pose, with about as many triangles and
     * at that distance from the body (0 = the defaults), and the vertices that the body should
     * hold, in ascending order.
     * abut_context_allocate() allocates the pins, which the scene frees.
     * abut_garment_create_named() of libabut_figures knows the built-in ones. Null = such a scene
     * is an ABUT_ERROR_FORMAT. */
    abut_status (*create_garment)(void *user, abut_context *context, const abut_character *wearer,
                                  const char *name, uint32_t triangles, double ease,
                                  abut_mesh **mesh, uint32_t **pins, uint32_t *pin_count);
} abut_scene_options;

ABUT_DEFAULT(abut_scene_options)

/* Reads a scene and all meshes that it refers to: OBJ, PLY, STL, OFF or glTF. Relative paths start
 * at the folder of the scene file. Only regular files are opened. Returns
 *  - ABUT_ERROR_FORMAT for content that the format does not define, too many groups or segments;
 *    the error message names the file and the member,
 *  - ABUT_ERROR_LIMIT for more than ABUT_SCENE_IGNORED ignored pairs, more than 4096 entries of
 *    `ignore` with a group, more than ABUT_SCENE_GARMENTS garments, or more than 4,194,304
 *    triangles of all shapes together,
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
/* Stores the pose of a body that neither forces nor cloth move, `seconds` after the start, and the
 * matrices of all bones, before the pose is applied, if it is a character; `bones` may be null. A
 * body moves with its velocity, and rotates about its origin with its spin. A character also plays
 * its clip repeatedly; during clip_blend it accelerates smoothly from rest. Returns
 * ABUT_ERROR_ARGUMENT if `index` is not below the number of bodies, the body has a mass or is
 * cloth, `seconds` is negative or not finite, or the pose is beyond the coordinate range.
 * Thread-safe. */
ABUT_API abut_status abut_scene_pose_body(const abut_scene *scene, uint32_t index, double seconds,
                                          abut_pose *pose, abut_character_matrix *bones);
/* Returns whether two bodies may collide: they are different, their groups and masks allow it, and
 * the pair is not ignored. Returns false for an invalid index. Thread-safe. */
ABUT_API bool abut_scene_should_collide(const abut_scene *scene, uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif

#endif
