/* Characters and poses from command lines: `abut character`, `abut radial`, `abut demo dress`. */
#ifndef ABUT_TOOL_CHARACTER_H
#define ABUT_TOOL_CHARACTER_H

#include "tool.h"

/* The options that say which character it is, and how it is posed: a list for tables. */
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

/* Makes a built-in character by its name, of so many triangles (0 = as it comes), or reads a file.
 */
abut_status character_find(tool_run *tool, const char *path, uint32_t triangles,
                           abut_character **character);
/* The same as the options say. 0, or the exit code after the error was
 * reported. */
int character_load(tool_run *tool, const tool_arguments *arguments, const char *path,
                   abut_character **character);
/* The pose that these options ask for. 0, or the exit code. */
int pose_options(tool_run *tool, const tool_arguments *arguments, const abut_character *character,
                 abut_character_pose_options *pose, abut_character_skinning *skinning);
/* The bones that garments are cut by, ABUT_GARMENT_JOINT_COUNT of them: --joints. 0 or the exit
 * code. */
int joints_find(tool_run *tool, const abut_character *character, const char *words,
                uint32_t *joints);
/* Replaces the character by one without what the bones of a list move: --without. 0 or the exit
 * code. */
int character_leave_out(tool_run *tool, const char *words, abut_character **character);
/* A clip by its name, or by its number: --clip. 0 or the exit code. */
int clip_find(tool_run *tool, const abut_character *character, const char *words, uint32_t *clip);

#endif
