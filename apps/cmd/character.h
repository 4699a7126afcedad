/* Characters and poses on the command line: `abut character`, `abut radial`, `abut demo dress`. */
#ifndef ABUT_TOOL_CHARACTER_H
#define ABUT_TOOL_CHARACTER_H

#include "tool.h"

/* The options that select a character and its pose: a list for tables of options. */
#define CHARACTER_OPTIONS                                                                           \
    {"triangles",                                                                                   \
     "N",                                                                                           \
     OPTION_COUNT,                                                                                  \
     "approximate number of triangles of a built-in character (default: 10828, ogre 17212)",        \
     NULL,                                                                                          \
     false},                                                                                        \
        {"clip", "CLIP", OPTION_TEXT, "pose of this clip: its name or number (default: rest pose)", \
         NULL,   false},                                                                            \
        {"time", "SECONDS", OPTION_NUMBER, "time in the clip, which repeats (default: 0)",          \
         NULL,   false},                                                                            \
        {"skinning",    "HOW",                                                                      \
         OPTION_CHOICE, "skinning method: linear blend, or dual quaternions (default: linear)",     \
         "linear|dual", false},                                                                     \
        {"weld", NULL, OPTION_FLAG, "close seams: merge vertices with equal positions and weights", \
         NULL,   false},                                                                            \
    {                                                                                               \
        "without", "LIST", OPTION_TEXT,                                                             \
            "remove the triangles that these bones move, such as a sword or a hat: names or "       \
            "numbers, separated by commas",                                                         \
            NULL, false                                                                             \
    }

/* Makes a built-in character by its name, with about so many triangles (0 = default), or reads a
 * file. */
abut_status character_find(tool_run *tool, const char *path, uint32_t triangles,
                           abut_character **character);
/* The same with the options of the command line. Returns 0, or the exit code after the error was
 * reported. */
int character_load(tool_run *tool, const tool_arguments *arguments, const char *path,
                   abut_character **character);
/* Reads the options of the pose. Returns 0, or the exit code. */
int pose_options(tool_run *tool, const tool_arguments *arguments, const abut_character *character,
                 abut_character_pose_options *pose, abut_character_skinning *skinning);
/* Reads --joints: the bones that determine the cut of garments, ABUT_GARMENT_JOINT_COUNT of
 * them. Returns 0 or the exit code. */
int joints_read(tool_run *tool, const abut_character *character, const char *words,
                uint32_t *joints);
/* Reads --without: removes the triangles that the listed bones move. Returns 0 or the exit code. */
int character_remove(tool_run *tool, const char *words, abut_character **character);
/* Reads --clip: a clip by its name or number. Returns 0 or the exit code. */
int clip_read(tool_run *tool, const abut_character *character, const char *words, uint32_t *clip);

#endif
