/* Characters and poses on the command line: `abut character`, `abut radial`, `abut demo dress`. */
#ifndef ABUT_TOOL_CHARACTER_H
#define ABUT_TOOL_CHARACTER_H

#include "tool.h"

/* The options that select a character and its pose: a list for tables of options. */
#define CHARACTER_OPTIONS                                                                        \
    OPTION(                                                                                      \
        "triangles", "N", COUNT,                                                                 \
        "approximate number of triangles of a built-in character (default: 10828, ogre 17212)"), \
        OPTION("clip", "CLIP", TEXT,                                                             \
               "pose of this clip: its name or number (default: rest pose)"),                    \
        OPTION("time", "SECONDS", NUMBER, "time in the clip, which repeats (default: 0)"),       \
        CHOICE("skinning", "HOW", CHOICE,                                                        \
               "skinning method: linear blend, or dual quaternions (default: linear)",           \
               "linear|dual"),                                                                   \
        FLAG("weld", "close seams: merge vertices with equal positions and weights"),            \
        OPTION("without", "LIST", TEXT,                                                          \
               "remove the triangles that these bones move, such as a sword or a hat: names or " \
               "numbers, separated by commas")

/* Makes a built-in character by its name, with about so many triangles (0 = default), or reads a
 * file. */
abut_status character_find(tool_run *tool, const char *path, uint32_t triangles,
                           abut_character **character);
/* The same with the options of the command line. */
void character_load(tool_run *tool, const tool_arguments *arguments, const char *path,
                    abut_character **character);
/* Reads the options of the pose. */
void pose_options(tool_run *tool, const tool_arguments *arguments, const abut_character *character,
                  abut_character_pose_options *pose, abut_character_skinning *skinning);
/* Reads --joints: the bones that determine the cut of garments, ABUT_GARMENT_JOINT_COUNT of
 * them. */
void joints_read(tool_run *tool, const abut_character *character, const char *words,
                 uint32_t *joints);
/* Reads --without: removes the triangles that the listed bones move. */
void character_remove(tool_run *tool, const char *words, abut_character **character);
/* Reads --clip: a clip by its name or number. */
void clip_read(tool_run *tool, const abut_character *character, const char *words, uint32_t *clip);

/* A loaded character with its current pose. */
typedef struct character_subject {
    abut_character *character;
    abut_character_info info;
    abut_character_skinner *skinner;
    abut_garment *garment;        /* null = none */
    abut_character_matrix *bones; /* positions of the pose */
    double *morphs;               /* weights of morph targets */
    uint32_t *vertices;           /* number of vertices that each bone moves */
    abut_character_pose_options options;
    abut_character_skinning skinning;
} character_subject;

/* ---- character_draw.c ---- */

/* The mesh in the pose of the options; and the garment in the same pose, after it. */
void character_pose_mesh(const character_subject *s, abut_mesh **mesh);
void character_pose_garment(const character_subject *s, abut_mesh **mesh);
/* Draws the mesh translucent, and each bone as a line from its parent. */
void character_draw(tool_run *tool, const character_subject *s, abut_picture_options *options,
                    const char *path);
/* Draws frames at equal time steps over the clip. */
void character_film(tool_run *tool, const character_subject *s, const abut_picture_options *camera,
                    const char *path);

#endif
