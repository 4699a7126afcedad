/* Garments for characters: trousers and top, overcoat, cape and dress, fitted to any standing body.
 * In libabut_figures, as are the built-in characters.
 *
 * A garment is an open mesh of nearly equilateral triangles at a distance (ease) from the body in
 * its rest pose. It is an isosurface of the signed distance field of the body, clipped at neck,
 * wrists, waist and hem. An exact test guarantees that it touches neither the body nor itself. The
 * result is a character with the same bones, so it can follow a pose. It lists the vertices that a
 * cloth solver should attach to the body.
 */
#ifndef ABUT_GARMENT_H
#define ABUT_GARMENT_H

#include <abut/base.h>
#include <abut/character.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_garment abut_garment;

typedef enum abut_garment_kind {
    ABUT_GARMENT_TROUSERS_AND_TOP = 0, /* two pieces, the top over the trousers */
    ABUT_GARMENT_OVERCOAT,             /* long sleeves, open in front, down to the knees */
    ABUT_GARMENT_CAPE,                 /* on the back, from the neck to the calves */
    ABUT_GARMENT_DRESS,                /* without sleeves, flared, down to the knees */
    ABUT_GARMENT_COUNT
} abut_garment_kind;

/* Returns "trousers-and-top", "overcoat", "cape" or "dress". Thread-safe. */
ABUT_API const char *abut_garment_kind_name(abut_garment_kind kind);

/* The joints that define where a garment is clipped. The position of a joint is the origin of its
 * bone. */
typedef enum abut_garment_joint {
    ABUT_GARMENT_HIPS = 0,
    ABUT_GARMENT_NECK,
    ABUT_GARMENT_LEFT_ARM, /* the shoulder */
    ABUT_GARMENT_RIGHT_ARM,
    ABUT_GARMENT_LEFT_FOREARM, /* the elbow */
    ABUT_GARMENT_RIGHT_FOREARM,
    ABUT_GARMENT_LEFT_HAND,
    ABUT_GARMENT_RIGHT_HAND,
    ABUT_GARMENT_LEFT_THIGH,
    ABUT_GARMENT_RIGHT_THIGH,
    ABUT_GARMENT_LEFT_LEG, /* the knee */
    ABUT_GARMENT_RIGHT_LEG,
    ABUT_GARMENT_LEFT_FOOT,
    ABUT_GARMENT_RIGHT_FOOT,
    ABUT_GARMENT_JOINT_COUNT
} abut_garment_joint;

/* Returns a name such as "hips", "neck" or "left-arm". Thread-safe. */
ABUT_API const char *abut_garment_joint_name(abut_garment_joint joint);
/* Finds the bones that are the joints of a character, and stores ABUT_GARMENT_JOINT_COUNT bone
 * indices. Uses common bone names first: Mixamo, Blender, Unreal, Biped, VRM, Daz and SMPL. If
 * names are missing or inconsistent, uses the geometry of the skeleton in the rest pose. Stores
 * ABUT_NONE for a joint that neither determines. Thread-safe. */
ABUT_API abut_status abut_garment_joints(const abut_character *character, uint32_t *joints);

#define ABUT_GARMENT_PARTICLES_MIN 1000u
#define ABUT_GARMENT_PARTICLES_MAX 200000u

typedef struct abut_garment_options {
    size_t size;
    abut_garment_kind kind;
    uint32_t particles; /* number of vertices; 0 = 4825, 5118, 8562 or 8700, by kind */
    double ease; /* approximate minimum distance from the body; 0 = 1/100 of the body height; at
                  * most about 1/27 of it */
    const uint32_t *joints; /* ABUT_GARMENT_JOINT_COUNT bone indices. For ABUT_NONE, or for all if
                             * null, abut_garment_joints() finds the bone */
} abut_garment_options;

ABUT_DEFAULT(abut_garment_options)

/* Creates a garment for a character in its rest pose. If the garment touches the body or itself, it
 * is clipped again with a larger ease, up to three times. Returns ABUT_ERROR_ARGUMENT if
 *  - the skeleton lacks a joint; the error message names it,
 *  - the body does not stand on two legs,
 *  - the ease is negative, not finite or too large,
 *  - `particles` is beyond the limits above,
 *  - every attempt touches the body or itself. The error message names the bones at these places.
 *    abut_character_remove_bones() removes parts that do not belong to the body.
 * Thread-safe. */
ABUT_API abut_status abut_garment_create(const abut_character *character,
                                         const abut_garment_options *options,
                                         abut_garment **garment);
/* Creates the mesh of a built-in garment by its name, such as "dress", with about as many triangles
 * and that ease (0 = the defaults), and copies its pins: abut_context_free() frees them. For
 * `create_garment` of abut_scene_options; `user` is ignored. Returns ABUT_ERROR_FORMAT for another
 * name. Thread-safe.
 */
ABUT_API abut_status abut_garment_create_named(void *user, abut_context *context,
                                               const abut_character *wearer, const char *name,
                                               uint32_t triangles, double ease, abut_mesh **mesh,
                                               uint32_t **pins, uint32_t *pin_count);
/* Frees a garment. Null is allowed. No other thread may use it. */
ABUT_API void abut_garment_destroy(abut_garment *garment);

/* Returns the garment as a character. It has the bones of the body in the same order, and no clips.
 * Each vertex has the weights of the closest point of the body. The character is valid until the
 * garment is destroyed. Thread-safe. */
ABUT_API abut_character *abut_garment_character(const abut_garment *garment);
/* Returns the vertices that a cloth solver should hold at their skinned positions: those at the
 * neck or the waist. They are in ascending order, and `count` receives their number. The array is
 * valid until the garment is destroyed. Thread-safe. */
ABUT_API const uint32_t *abut_garment_pins(const abut_garment *garment, uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif
