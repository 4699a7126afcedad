/* Characters: skinned meshes with a skeleton, animation clips and morph targets.
 *
 * A character has bones with a rest pose, vertex weights, and clips that move the bones. It is
 * created from arrays or from a glTF file. A pose is one affine matrix per bone; bones may be
 * scaled, sheared and mirrored. Skinning a pose gives vertex positions, or a mesh with the
 * triangles of the character, for use with the other modules. Results have the same bits on any
 * number of threads and on devices.
 *
 * Methods: linear blend skinning, and dual quaternions.
 */
#ifndef ABUT_CHARACTER_H
#define ABUT_CHARACTER_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_character abut_character;

/* An affine transformation in row-major order; the last column is the translation. */
typedef struct abut_character_matrix {
    double m[3][4];
} abut_character_matrix;

typedef struct abut_character_bone {
    const char *name;      /* null = "bone-N" */
    uint32_t parent;       /* ABUT_NONE = a root; parents may come after their children */
    abut_vec3 translation; /* rest pose relative to the parent: scale first, then rotation, then */
    abut_quat rotation;    /* translation. A rotation of all zeros means no rotation */
    abut_vec3 scale;
    bool has_matrix; /* the rest pose is `matrix` instead, and no channel may move the bone */
    abut_character_matrix matrix;
} abut_character_bone;

/* Returns a root bone at the origin with scale 1. Thread-safe. */
static inline abut_character_bone abut_character_bone_default(void) {
    abut_character_bone bone;
    memset(&bone, 0, sizeof bone);
    bone.parent = ABUT_NONE;
    bone.scale.x = bone.scale.y = bone.scale.z = 1;
    return bone;
}

/* What a channel animates. */
typedef enum abut_character_target {
    ABUT_CHARACTER_TARGET_TRANSLATION = 0,
    ABUT_CHARACTER_TARGET_ROTATION,
    ABUT_CHARACTER_TARGET_SCALE,
    ABUT_CHARACTER_TARGET_MORPH /* the weight of a morph target */
} abut_character_target;

/* Interpolation between two keys. Linear interpolation of rotations is spherical (slerp): along the
 * shorter arc at constant speed. */
typedef enum abut_character_interpolation {
    ABUT_CHARACTER_INTERPOLATION_LINEAR = 0,
    ABUT_CHARACTER_INTERPOLATION_STEP, /* the value of the earlier key */
    ABUT_CHARACTER_INTERPOLATION_CUBIC /* Hermite spline, as in glTF */
} abut_character_interpolation;

/* Returns "translation", "rotation", "scale" or "morph". Thread-safe. */
ABUT_API const char *abut_character_target_name(abut_character_target target);
/* Returns "linear", "step" or "cubic". Thread-safe. */
ABUT_API const char *abut_character_interpolation_name(abut_character_interpolation interpolation);

typedef struct abut_character_channel {
    uint32_t bone; /* index of the bone or of the morph target */
    abut_character_target target;
    abut_character_interpolation interpolation;
    uint32_t key_count;   /* at least 1 */
    const double *times;  /* in seconds, in ascending order, not negative */
    const double *values; /* per key three numbers, four (x, y, z, w) for rotations, or one for
                           * morph targets. Cubic: the incoming tangent, the value and the outgoing
                           * tangent of each key */
} abut_character_channel;

typedef struct abut_character_clip {
    const char *name; /* null = "clip-N" */
    double duration;  /* in seconds; 0 = the time of the last key */
    uint32_t channel_count;
    const abut_character_channel *channels; /* of two with the same target, the later is used */
} abut_character_clip;

/* A morph target (blend shape), such as a smile: vertex offsets that are applied before skinning.
 */
typedef struct abut_character_morph {
    const char *name; /* null = "morph-N" */
    double weight;    /* in the rest pose: 0 = no effect, 1 = full effect */
    uint32_t shift_count;
    const uint32_t *vertices; /* the vertices that it moves; null = the first shift_count */
    const abut_vec3 *shifts;  /* their offsets at a weight of 1 */
} abut_character_morph;

typedef struct abut_character_input {
    size_t size;
    abut_mesh *mesh; /* the mesh in its bind pose; retained */
    uint32_t bone_count;
    const abut_character_bone *bones;
    const abut_character_matrix *binds; /* inverse bind matrices: from the mesh to the space of each
                                         * bone; null = the mesh is in the rest pose */
    uint32_t weight_count;              /* weights per vertex, at least 1 */
    const uint32_t *weight_bones;       /* weight_count bone indices per vertex */
    const double *weights;              /* weight_count weights per vertex, of any sum */
    uint32_t clip_count;
    const abut_character_clip *clips;
    uint32_t morph_count;
    const abut_character_morph *morphs;
} abut_character_input;

ABUT_DEFAULT(abut_character_input)

/* The maximum number of weights per vertex that a character stores. */
#define ABUT_CHARACTER_WEIGHT_COUNT 8

/* Creates a character and copies all arrays. Keeps the largest weights of each vertex and
 * normalises their sum to 1. A vertex without a positive weight follows its first bone. The report
 * counts these changes. Returns ABUT_ERROR_ARGUMENT if
 *  - there are no bones, or the skeleton has a cycle,
 *  - `binds` is null and the rest pose of a bone has no inverse,
 *  - a number is not finite or out of range.
 * Thread-safe. */
ABUT_API abut_status abut_character_create(abut_context *context, const abut_character_input *input,
                                           abut_character **character);

/* Reads glTF 2.0 or GLB. Every node of the scene becomes a bone, and a mesh without a skin follows
 * its node. A node that several skins bind with different matrices becomes several bones. Every
 * node whose mesh has morph targets gets its own targets. Needs the "gltf" feature. Thread-safe. */
ABUT_API abut_status abut_character_read(abut_context *context, const char *path,
                                         abut_character **character);
/* The same for a file in memory. `name` replaces the path in messages and may be null. Thread-safe.
 */
ABUT_API abut_status abut_character_read_memory(abut_context *context, const void *data,
                                                size_t bytes, const char *name,
                                                abut_character **character);

/* Creates a copy with welded seams. Vertices with the same position, weights and morph offsets are
 * merged into the first of them. Files duplicate vertices where normals or texture coordinates
 * change, which opens closed surfaces. Triangles that would use a vertex twice are removed.
 * Thread-safe. */
ABUT_API abut_status abut_character_weld(const abut_character *character, abut_character **welded);

/* Creates a copy without some parts, such as a sword, a shield or a hat. Removes every triangle
 * with a vertex whose largest weight belongs to one of `bones` or to a descendant of it. Keeps all
 * bones and clips, so both characters have the same poses. Removes unused vertices and renumbers
 * the others in the same order. Returns ABUT_ERROR_ARGUMENT for a bone that does not exist, or if
 * no triangle would remain. `bones` may be null if `bone_count` is 0. Thread-safe. */
ABUT_API abut_status abut_character_remove_bones(const abut_character *character,
                                                 const uint32_t *bones, uint32_t bone_count,
                                                 abut_character **reduced);

/* Releases the caller's reference to a character. Null is allowed. No other thread may use the
 * reference. */
ABUT_API void abut_character_destroy(abut_character *character);

/* ---- built-in characters: functions of libabut_figures ---- */

typedef enum abut_character_figure {
    ABUT_CHARACTER_FIGURE_MALE = 0, /* a human, 1.6 m tall */
    ABUT_CHARACTER_FIGURE_FEMALE,
    ABUT_CHARACTER_FIGURE_OGRE, /* heavy, 4 m tall */
    ABUT_CHARACTER_FIGURE_COUNT
} abut_character_figure;

#define ABUT_CHARACTER_FIGURE_TRIANGLES_MIN 8000u
#define ABUT_CHARACTER_FIGURE_TRIANGLES_MAX 1000000u

typedef struct abut_character_figure_options {
    size_t size;
    abut_character_figure figure;
    uint32_t triangles; /* number of triangles; 0 = 10828, and 17212 for the ogre. An odd number is
                         * rounded up */
} abut_character_figure_options;

ABUT_DEFAULT(abut_character_figure_options)

/* Returns "mannequin", "mannequin-female" or "ogre". Thread-safe. */
ABUT_API const char *abut_character_figure_name(abut_character_figure kind);
/* Creates a built-in character: one closed surface, y up, facing +z, with half-raised arms. Its
 * bones have the names of common game rigs. It has four weights per vertex and the clips "walk",
 * "jump" and "gymnastics". Null options select the male human. Returns ABUT_ERROR_ARGUMENT if
 * `triangles` is beyond the limits above. Thread-safe. */
ABUT_API abut_status abut_character_create_figure(abut_context *context,
                                                  const abut_character_figure_options *options,
                                                  abut_character **character);
/* Creates the built-in character of that name with its default number of triangles. For
 * `create_character` of abut_scene_options; `user` is ignored. Returns ABUT_ERROR_FORMAT for
 * another name. Thread-safe. */
ABUT_API abut_status abut_character_create_named(void *user, abut_context *context,
                                                 const char *name, abut_character **character);

typedef struct abut_character_info {
    size_t size; /* sizeof(abut_character_info), set by the default function */
    uint32_t vertex_count, triangle_count;
    uint32_t bone_count, clip_count;
    uint32_t weight_count; /* maximum per vertex: 1 to ABUT_CHARACTER_WEIGHT_COUNT */
    uint32_t morph_count;
} abut_character_info;

ABUT_DEFAULT(abut_character_info)

/* Stores the sizes of a character. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_character_get_info(const abut_character *character,
                                             abut_character_info *info);
/* Stores a bone. Returns ABUT_ERROR_ARGUMENT if the index is too high. Its pointers are valid
 * until the character is destroyed. Thread-safe. */
ABUT_API abut_status abut_character_get_bone(const abut_character *character, uint32_t index,
                                             abut_character_bone *bone);
/* The same for a clip. Thread-safe. */
ABUT_API abut_status abut_character_get_clip(const abut_character *character, uint32_t index,
                                             abut_character_clip *clip);
/* The same for a morph target. Thread-safe. */
ABUT_API abut_status abut_character_get_morph(const abut_character *character, uint32_t index,
                                              abut_character_morph *morph);
/* Returns the mesh in the rest pose with linear skinning. It is valid until the character is
 * destroyed. Thread-safe. */
ABUT_API abut_mesh *abut_character_rest_mesh(const abut_character *character);
/* Stores the bones and weights of a vertex, largest first, in arrays of
 * ABUT_CHARACTER_WEIGHT_COUNT elements. Returns their number; 0 for an invalid vertex. Thread-safe.
 */
ABUT_API uint32_t abut_character_weights(const abut_character *character, uint32_t vertex,
                                         uint32_t *bones, double *weights);

/* ---- report ---- */

typedef enum abut_character_problem {
    ABUT_CHARACTER_PROBLEM_UNWEIGHTED_VERTEX = 0, /* no positive weight; follows its first bone */
    ABUT_CHARACTER_PROBLEM_SUM_VERTEX,      /* the sum of weights differed from 1 by over 0.001 */
    ABUT_CHARACTER_PROBLEM_NEGATIVE_VERTEX, /* a negative weight was removed */
    ABUT_CHARACTER_PROBLEM_DROPPED_VERTEX,  /* more weights than are stored */
    ABUT_CHARACTER_PROBLEM_SHORT_BONE,      /* same position as its parent */
    ABUT_CHARACTER_PROBLEM_UNUSED_BONE,     /* neither it nor a descendant moves a vertex */
    ABUT_CHARACTER_PROBLEM_LONG_CLIP,  /* longer than its keys; the last key holds until the end */
    ABUT_CHARACTER_PROBLEM_EMPTY_CLIP, /* no channels */
    ABUT_CHARACTER_PROBLEM_SEAM_VERTEX /* an earlier vertex has its position, weights, offsets */
} abut_character_problem;

/* Returns a name such as "unweighted-vertex" or "sum-vertex"; null for the first value that is not
 * a problem. Thread-safe. */
ABUT_API const char *abut_character_problem_name(abut_character_problem problem);

typedef struct abut_character_report {
    size_t size; /* sizeof(abut_character_report), set by the default function */
    abut_problem problems[ABUT_PROBLEM_KIND_MAX]; /* by abut_character_problem: vertices, bones or
                                                   * clips */
} abut_character_report;

ABUT_DEFAULT(abut_character_report)

/* Reports problems of the input. `report->size` must be set. Thread-safe. */
ABUT_API abut_status abut_character_get_report(const abut_character *character,
                                               abut_character_report *report);

/* ---- poses ---- */

typedef struct abut_character_pose_options {
    size_t size;
    uint32_t clip;     /* ABUT_NONE = the rest pose */
    double time;       /* in seconds; any finite value, since clips repeat */
    bool clamp;        /* do not repeat: clamp the time to the duration of the clip */
    double blend;      /* from 0 (only `clip`) to 1 (only `other`) */
    uint32_t other;    /* the second clip; ABUT_NONE = the rest pose */
    double other_time; /* time in the second clip */
} abut_character_pose_options;

ABUT_DEFAULT(abut_character_pose_options)

/* Evaluates a pose: stores bone_count matrices from the space of each bone to world space. Null
 * options select the rest pose; default options select the first clip at time 0. Rotations are
 * blended by slerp along the shorter arc. Returns ABUT_ERROR_ARGUMENT for an invalid clip, blend or
 * time, or if a bone leaves the coordinate range. Thread-safe. */
ABUT_API abut_status abut_character_pose(const abut_character *character,
                                         const abut_character_pose_options *options,
                                         abut_character_matrix *bones);
/* Evaluates the weights of all morph_count morph targets with the same options. Thread-safe. */
ABUT_API abut_status abut_character_pose_morphs(const abut_character *character,
                                                const abut_character_pose_options *options,
                                                double *weights);

/* ---- skinning ---- */

typedef enum abut_character_skinning {
    ABUT_CHARACTER_SKINNING_LINEAR = 0, /* weighted mean of the matrices */
    ABUT_CHARACTER_SKINNING_DUAL        /* dual quaternions, which preserve the volume of bent and
                                         * twisted limbs; scale and shear are blended linearly */
} abut_character_skinning;

/* Returns "linear" or "dual". Thread-safe. */
ABUT_API const char *abut_character_skinning_name(abut_character_skinning skinning);

/* Computes the positions of all vertices from bone matrices, with morph targets at their rest
 * weights. Uses all threads of the context; the bits do not depend on their number. Returns
 * ABUT_ERROR_ARGUMENT if a matrix is not finite or moves vertices out of the coordinate range.
 * Thread-safe. */
ABUT_API abut_status abut_character_skin(const abut_character *character,
                                         const abut_character_matrix *bones,
                                         abut_character_skinning skinning, abut_vec3 *positions);
/* The same as a mesh with the triangles of the character. Thread-safe. */
ABUT_API abut_status abut_character_mesh(const abut_character *character,
                                         const abut_character_matrix *bones,
                                         abut_character_skinning skinning, abut_mesh **mesh);

/* Skins one character repeatedly, on the CPU or on a device, and keeps its data there. One thread
 * at a time may use a skinner. */
typedef struct abut_character_skinner abut_character_skinner;

typedef struct abut_character_skinner_options {
    size_t size;
    abut_character_skinning skinning;
    abut_device *device; /* null = the CPU. Positions have the same bits */
} abut_character_skinner_options;

ABUT_DEFAULT(abut_character_skinner_options)

/* Creates a skinner, which retains the character. Null options select the defaults. Returns
 * ABUT_ERROR_DEVICE if the device has no doubles or does not round as this CPU does. Thread-safe.
 */
ABUT_API abut_status abut_character_skinner_create(abut_character *character,
                                                   const abut_character_skinner_options *options,
                                                   abut_character_skinner **skinner);
/* Frees a skinner. Null is allowed. No other thread may use it. */
ABUT_API void abut_character_skinner_destroy(abut_character_skinner *skinner);
/* Computes the positions of all vertices, as abut_vec3, from the matrices of all bones. `morphs`
 * has the weights of all morph targets; null = their rest weights. `positions` is host memory or a
 * buffer of the skinner's device, where sweep, self and layers can read it. Returns
 * ABUT_ERROR_ARGUMENT if a matrix or weight is not finite or moves vertices out of range, or if the
 * buffer is on another device. Returns ABUT_ERROR_BUFFER if the buffer is too small. Positions are
 * unchanged on failure. One thread per skinner. */
ABUT_API abut_status abut_character_skinner_run(abut_character_skinner *skinner,
                                                const abut_character_matrix *bones,
                                                const double *morphs, abut_array positions);
/* The same as a mesh with the triangles of the character. One thread per skinner. */
ABUT_API abut_status abut_character_skinner_mesh(abut_character_skinner *skinner,
                                                 const abut_character_matrix *bones,
                                                 const double *morphs, abut_mesh **mesh);

#ifdef __cplusplus
}
#endif

#endif
