/* Characters: a mesh that bones bend. Bones with a rest pose, weights that bind vertices to bones,
 * clips that move bones; from the caller's arrays or from glTF files. A pose is one matrix a bone;
 * skinning a pose gives positions, or a mesh with the triangles of the character, which everything
 * else of the library takes.
 *
 * Bones may be scaled, sheared and mirrored: their matrices are any affine ones.
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

/* An affine map by rows: the last column is the shift. */
typedef struct abut_character_matrix {
    double m[3][4];
} abut_character_matrix;

typedef struct abut_character_bone {
    const char *name;      /* null = "bone-N" */
    uint32_t parent;       /* ABUT_NONE = a root; parents need not come before their children */
    abut_vec3 translation; /* the rest pose, relative to the parent: first scale, then rotation, */
    abut_quat rotation;    /* then translation. A rotation of all zeros is none */
    abut_vec3 scale;
    bool has_matrix; /* the rest pose is `matrix` instead, and no channel may move the bone */
    abut_character_matrix matrix;
} abut_character_bone;

/* A root at the origin: without a parent, of scale 1. */
static inline abut_character_bone abut_character_bone_default(void) {
    abut_character_bone bone;
    memset(&bone, 0, sizeof bone);
    bone.parent = ABUT_NONE;
    bone.scale.x = bone.scale.y = bone.scale.z = 1;
    return bone;
}

/* What a channel moves. */
typedef enum abut_character_target {
    ABUT_CHARACTER_TARGET_TRANSLATION = 0,
    ABUT_CHARACTER_TARGET_ROTATION,
    ABUT_CHARACTER_TARGET_SCALE,
    ABUT_CHARACTER_TARGET_MORPH /* the weight of a morph target */
} abut_character_target;

/* Between two keys. Rotations go the short way at constant speed where linear. */
typedef enum abut_character_interpolation {
    ABUT_CHARACTER_INTERPOLATION_LINEAR = 0,
    ABUT_CHARACTER_INTERPOLATION_STEP, /* the earlier key holds */
    ABUT_CHARACTER_INTERPOLATION_CUBIC /* Hermite spline, as glTF has it */
} abut_character_interpolation;

/* "translation", "rotation", "scale", "morph"; "linear", "step", "cubic". */
ABUT_API const char *abut_character_target_name(abut_character_target target);
ABUT_API const char *abut_character_interpolation_name(abut_character_interpolation interpolation);

typedef struct abut_character_channel {
    uint32_t bone; /* or the morph target */
    abut_character_target target;
    abut_character_interpolation interpolation;
    uint32_t key_count;   /* at least 1 */
    const double *times;  /* in seconds, ascending, not negative */
    const double *values; /* three a key, four (x, y, z, w) of rotations, one of morph targets;
                           * cubic: the tangent that comes in, the value and the tangent that goes
                           * out for each key */
} abut_character_channel;

typedef struct abut_character_clip {
    const char *name; /* null = "clip-N" */
    double duration;  /* in seconds; 0 = that of the last key */
    uint32_t channel_count;
    const abut_character_channel *channels; /* of two that move the same, the later counts */
} abut_character_clip;

/* A shape that vertices move towards before bones move them, such as a smile. */
typedef struct abut_character_morph {
    const char *name; /* null = "morph-N" */
    double weight;    /* at rest: 0 = none of it, 1 = all */
    uint32_t shift_count;
    const uint32_t *vertices; /* that it moves; null = the first shift_count */
    const abut_vec3 *shifts;  /* by how much with a weight of 1 */
} abut_character_morph;

typedef struct abut_character_input {
    size_t size;
    abut_mesh *mesh; /* as the binds take it; held */
    uint32_t bone_count;
    const abut_character_bone *bones;
    const abut_character_matrix *binds; /* for each bone from the mesh to its own space; null = the
                                         * mesh is in the rest pose */
    uint32_t weight_count;              /* a vertex: how many bones and weights, at least 1 */
    const uint32_t *weight_bones;       /* weight_count a vertex */
    const double *weights;              /* the same; any sum */
    uint32_t clip_count;
    const abut_character_clip *clips;
    uint32_t morph_count;
    const abut_character_morph *morphs;
} abut_character_input;

ABUT_DEFAULT(abut_character_input)

/* At most so many weights a vertex are kept. */
#define ABUT_CHARACTER_WEIGHT_COUNT 8

/* Makes a character; all arrays are copied. Of each vertex the largest weights are kept and made to
 * sum to 1; one without any goes with its first bone; the report counts what was changed. Refused:
 * no bones, bones that are their own ancestors, a rest pose that binds cannot be made of, numbers
 * that are not finite or out of range. Thread-safe. */
ABUT_API abut_status abut_character_create(abut_context *context, const abut_character_input *input,
                                           abut_character **character);

/* Reads glTF 2.0 or GLB: every node of the scene is a bone, the mesh of a node without skin goes
 * with that node. A node that skins bind in several ways becomes several bones. Each node with a
 * mesh that has morph targets gets those of its own. Thread-safe. */
ABUT_API abut_status abut_character_read(abut_context *context, const char *path,
                                         abut_character **character);
/* The same from memory. `name` stands in for the path in messages; it may be null. Thread-safe. */
ABUT_API abut_status abut_character_read_memory(abut_context *context, const void *data,
                                                size_t bytes, const char *name,
                                                abut_character **character);

/* The same character with seams closed: vertices that move alike, since they have the same place,
 * weights and morph shifts, become the first of them. Files split vertices where normals or texture
 * coordinates change, which makes closed surfaces look open. Triangles that would name a vertex
 * twice are left out. Thread-safe. */
ABUT_API abut_status abut_character_weld(const abut_character *character, abut_character **welded);

/* The same character without parts: all triangles are removed that have a vertex whose largest
 * weight belongs to one of `bones`, or to a bone below it, such as a sword, a shield or a hat.
 * Bones and clips stay, so that poses of the one fit the other. Vertices that no triangle uses are
 * removed; the others get new numbers in the same order. Fails with ABUT_ERROR_ARGUMENT for a bone
 * that does not exist, or if no triangle would remain. `bones` may be null if `bone_count` is 0.
 * Thread-safe. */
ABUT_API abut_status abut_character_remove_bones(const abut_character *character,
                                                 const uint32_t *bones, uint32_t bone_count,
                                                 abut_character **reduced);

/* Null is allowed. No other thread may use the character. */
ABUT_API void abut_character_destroy(abut_character *character);

/* ---- built in ---- */

typedef enum abut_character_figure {
    ABUT_CHARACTER_FIGURE_MALE = 0, /* a human of 1.6 m */
    ABUT_CHARACTER_FIGURE_FEMALE,
    ABUT_CHARACTER_FIGURE_OGRE, /* 4 m, heavy */
    ABUT_CHARACTER_FIGURE_COUNT
} abut_character_figure;

#define ABUT_CHARACTER_FIGURE_TRIANGLES_MIN 8000u
#define ABUT_CHARACTER_FIGURE_TRIANGLES_MAX 1000000u

typedef struct abut_character_figure_options {
    size_t size;
    abut_character_figure figure;
    uint32_t triangles; /* 0 = 10828, of an ogre 17212; an odd number gives one more */
} abut_character_figure_options;

ABUT_DEFAULT(abut_character_figure_options)

/* "mannequin", "mannequin-female", "ogre". */
ABUT_API const char *abut_character_figure_name(abut_character_figure kind);
/* Makes a built-in character: one closed surface, y up, looking along +z, its arms half raised;
 * bones with the names of common game rigs, four weights a vertex, the clips "walk", "jump" and
 * "gymnastics". Null options give the male human. Refused: triangles beyond the limits above.
 * Thread-safe. */
ABUT_API abut_status abut_character_create_figure(abut_context *context,
                                                  const abut_character_figure_options *options,
                                                  abut_character **character);

typedef struct abut_character_info {
    size_t size; /* sizeof(abut_character_info), set by the default function */
    uint32_t vertex_count, triangle_count;
    uint32_t bone_count, clip_count;
    uint32_t weight_count; /* a vertex at most, as kept: 1 to ABUT_CHARACTER_WEIGHT_COUNT */
    uint32_t morph_count;
} abut_character_info;

ABUT_DEFAULT(abut_character_info)

/* Gets the counts of a character. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_character_get_info(const abut_character *character,
                                             abut_character_info *info);
/* Gets a bone, a clip or a morph target. Its pointers are valid as long as the character. Fails
 * with ABUT_ERROR_ARGUMENT if the index is too high. Thread-safe. */
ABUT_API abut_status abut_character_get_bone(const abut_character *character, uint32_t index,
                                             abut_character_bone *bone);
ABUT_API abut_status abut_character_get_clip(const abut_character *character, uint32_t index,
                                             abut_character_clip *clip);
ABUT_API abut_status abut_character_get_morph(const abut_character *character, uint32_t index,
                                              abut_character_morph *morph);
/* The mesh in the rest pose, skinned linearly; it lives as long as the character. Thread-safe. */
ABUT_API abut_mesh *abut_character_rest_mesh(const abut_character *character);
/* The weights of a vertex as kept, the largest first: room for ABUT_CHARACTER_WEIGHT_COUNT each.
 * Returns how many there are; 0 for a vertex that does not exist. Thread-safe. */
ABUT_API uint32_t abut_character_weights(const abut_character *character, uint32_t vertex,
                                         uint32_t *bones, double *weights);

/* ---- health ---- */

typedef enum abut_character_problem {
    ABUT_CHARACTER_PROBLEM_UNWEIGHTED_VERTEX = 0, /* no weight above 0: goes with its first bone */
    ABUT_CHARACTER_PROBLEM_SUM_VERTEX,            /* weights did not sum to 1 within 0.001 */
    ABUT_CHARACTER_PROBLEM_NEGATIVE_VERTEX,       /* a weight was below 0: dropped */
    ABUT_CHARACTER_PROBLEM_DROPPED_VERTEX,        /* more weights than are kept */
    ABUT_CHARACTER_PROBLEM_SHORT_BONE,            /* at the place of its parent */
    ABUT_CHARACTER_PROBLEM_UNUSED_BONE, /* neither it nor a bone below it moves a vertex */
    ABUT_CHARACTER_PROBLEM_LONG_CLIP,   /* lasts longer than its keys, which then hold */
    ABUT_CHARACTER_PROBLEM_EMPTY_CLIP,  /* no channels */
    ABUT_CHARACTER_PROBLEM_SEAM_VERTEX, /* an earlier one has its place, weights and shifts */
    ABUT_CHARACTER_PROBLEM_COUNT
} abut_character_problem;

/* "unweighted-vertex", "sum-vertex" and so on. */
ABUT_API const char *abut_character_problem_name(abut_character_problem problem);

typedef struct abut_character_report {
    abut_problem problems[ABUT_CHARACTER_PROBLEM_COUNT]; /* vertices, bones or clips */
} abut_character_report;

/* Tells what was wrong with the input. Thread-safe. */
ABUT_API abut_status abut_character_get_report(const abut_character *character,
                                               abut_character_report *report);

/* ---- poses ---- */

typedef struct abut_character_pose_options {
    size_t size;
    uint32_t clip; /* ABUT_NONE = the rest pose */
    double time;   /* in seconds, any: clips are repeated */
    bool clamp;    /* not repeated: before its begin a clip is at its begin, after its end there */
    double blend;  /* from 0, all of `clip`, to 1, all of `other` */
    uint32_t other;
    double other_time;
} abut_character_pose_options;

ABUT_DEFAULT(abut_character_pose_options)

/* Where the bones are: a matrix from the space of each bone to the world, bone_count of them. Null
 * options give the rest pose. Rotations are blended the short way at constant speed. Thread-safe.
 */
ABUT_API abut_status abut_character_pose(const abut_character *character,
                                         const abut_character_pose_options *options,
                                         abut_character_matrix *bones);
/* The weights of all morph targets by the same options, morph_count of them. Thread-safe. */
ABUT_API abut_status abut_character_pose_morphs(const abut_character *character,
                                                const abut_character_pose_options *options,
                                                double *weights);

/* ---- skinning ---- */

typedef enum abut_character_skinning {
    ABUT_CHARACTER_SKINNING_LINEAR = 0, /* mean of matrices */
    ABUT_CHARACTER_SKINNING_DUAL        /* dual quaternions, which keep the volume of bent and
                                         * twisted limbs; scale and shear stay linear */
} abut_character_skinning;

/* "linear", "dual". */
ABUT_API const char *abut_character_skinning_name(abut_character_skinning skinning);

/* Where the vertices are, for the matrices of all bones, and morph targets as they are at rest; on
 * all threads of the context, with the same bits on any number of them. Refused: matrices that are
 * not finite or lead out of range. Thread-safe. */
ABUT_API abut_status abut_character_skin(const abut_character *character,
                                         const abut_character_matrix *bones,
                                         abut_character_skinning skinning, abut_vec3 *positions);
/* The same as a mesh, with the triangles of the character. */
ABUT_API abut_status abut_character_mesh(const abut_character *character,
                                         const abut_character_matrix *bones,
                                         abut_character_skinning skinning, abut_mesh **mesh);

/* Skins one character again and again, on the CPU or on a device, and keeps what it needs for that.
 * For one user at a time. */
typedef struct abut_character_skinner abut_character_skinner;

typedef struct abut_character_skinner_options {
    size_t size;
    abut_character_skinning skinning;
    abut_device *device; /* where it runs; null = the CPU. Positions have the same bits */
} abut_character_skinner_options;

ABUT_DEFAULT(abut_character_skinner_options)

/* Prepares for it; the character is held. Null options give the defaults. Fails with
 * ABUT_ERROR_DEVICE on a device without doubles. Thread-safe. */
ABUT_API abut_status abut_character_skinner_create(abut_character *character,
                                                   const abut_character_skinner_options *options,
                                                   abut_character_skinner **skinner);
/* Null is allowed. */
ABUT_API void abut_character_skinner_destroy(abut_character_skinner *skinner);
/* Where the vertices are, an abut_vec3 each, for the matrices of all bones and the weights of all
 * morph targets (null = as at rest). A device writes to a buffer of its own, where sweeps, `self`
 * and others take positions from, or to memory of the host. Refused: matrices and weights that are
 * not finite or lead out of range, a buffer of another device or one that is too small; then
 * positions are as before. */
ABUT_API abut_status abut_character_skinner_run(abut_character_skinner *skinner,
                                                const abut_character_matrix *bones,
                                                const double *morphs, abut_array positions);
/* The same as a mesh, with the triangles of the character. */
ABUT_API abut_status abut_character_skinner_mesh(abut_character_skinner *skinner,
                                                 const abut_character_matrix *bones,
                                                 const double *morphs, abut_mesh **mesh);

#ifdef __cplusplus
}
#endif

#endif
