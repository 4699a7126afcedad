/* Garments for characters: trousers and top, overcoat, cape, dress, fitted to any body by its
 * distance field.
 *
 * A garment is an open surface of even triangles at a distance from the body at rest, cut at neck,
 * wrists, waist and hem. It touches neither the body nor itself: checked exactly before it is
 * given. It comes as a character of the same bones, so that it can follow a pose, with vertices
 * that cloth should hold fast to the body.
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
    ABUT_GARMENT_CAPE,                 /* over the back, from the neck to the calves */
    ABUT_GARMENT_DRESS,                /* without sleeves, flared, down to the knees */
    ABUT_GARMENT_COUNT
} abut_garment_kind;

/* "trousers-and-top", "overcoat", "cape", "dress". */
ABUT_API const char *abut_garment_kind_name(abut_garment_kind kind);

/* The joints that garments are cut by; a bone is where it begins. */
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

/* "hips", "neck", "left-arm" and so on. */
ABUT_API const char *abut_garment_joint_name(abut_garment_joint joint);
/* Which bones of a character are its joints, ABUT_GARMENT_JOINT_COUNT of them: by names that are
 * usual (Mixamo, Blender, Unreal, Biped, VRM, Daz, SMPL), and where these are missing or do not fit
 * together by the shape of the skeleton at rest. ABUT_NONE where neither tells. Thread-safe. */
ABUT_API abut_status abut_garment_joints(const abut_character *character, uint32_t *joints);

#define ABUT_GARMENT_PARTICLES_MIN 1000u
#define ABUT_GARMENT_PARTICLES_MAX 200000u

typedef struct abut_garment_options {
    size_t size;
    abut_garment_kind kind;
    uint32_t particles; /* vertices; 0 = 4825, 5118, 8562 and 8700, by kind */
    double ease; /* from the body to the garment at least, about; 0 = a hundredth of the body's
                  * height */
    const uint32_t *joints; /* bones, ABUT_GARMENT_JOINT_COUNT of them; ABUT_NONE, or null for all
                             * = as abut_garment_joints() finds them */
} abut_garment_options;

ABUT_DEFAULT(abut_garment_options)

/* Makes a garment for a character in its rest pose. Refused: a skeleton without one of the joints,
 * which the sentence names, a body that does not stand on two legs, an ease below 0 or that is not
 * finite, particles beyond the limits above, a body that no garment can be cut for without touching
 * it; the message names the bones that move what is touched, and abut_character_remove_bones()
 * removes such parts. Thread-safe.
 */
ABUT_API abut_status abut_garment_create(const abut_character *character,
                                         const abut_garment_options *options,
                                         abut_garment **garment);
/* Null is allowed. No other thread may use the garment. */
ABUT_API void abut_garment_destroy(abut_garment *garment);

/* The garment as a character: the bones of the one it was made for, in the same order, and no
 * clips. Weights are those of the nearest point of the body. It lives as long as the garment.
 * Thread-safe. */
ABUT_API abut_character *abut_garment_character(const abut_garment *garment);
/* The vertices that cloth should hold at the places where skinning puts them: at neck or waist;
 * ascending, `count` of them. They live as long as the garment. Thread-safe. */
ABUT_API const uint32_t *abut_garment_pins(const abut_garment *garment, uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif
