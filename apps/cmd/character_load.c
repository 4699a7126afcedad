/* Loads characters and poses that the command line selects. */
#include "apps/get.h"
#include "character.h"

#include <stdlib.h>
#include <string.h>

abut_status character_find(tool_run *tool, const char *path, uint32_t triangles,
                           abut_character **character) {
    abut_character_figure_options options = abut_character_figure_options_default();
    options.triangles = triangles;
    for (int i = 0; i < ABUT_CHARACTER_FIGURE_COUNT; i++) {
        options.figure = (abut_character_figure)i;
        if (!strcmp(path, abut_character_figure_name(options.figure)))
            return abut_character_create_figure(tool->context, &options, character);
    }
    return abut_character_read(tool->context, path, character);
}

/* Finds a bone by name (the first of several) or by number. */
static uint32_t bone_find(const abut_character *character, const char *word, size_t length) {
    const uint32_t count = get_character_info(character).bone_count;
    char *end;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = get_character_bone(character, i).name;
        if (strlen(name) == length && !strncmp(word, name, length))
            return i;
    }
    unsigned long number = strtoul(word, &end, 10);
    return word[0] >= '0' && word[0] <= '9' && end == word + length && number < count
               ? (uint32_t)number
               : ABUT_NONE;
}

void character_remove(tool_run *tool, const char *words, abut_character **character) {
    const uint32_t room = get_character_info(*character).bone_count;
    uint32_t *bones = tool_array(room, sizeof *bones), count = 0;
    abut_character *reduced = NULL;
    while (*words) {
        size_t length = strcspn(words, ",");
        uint32_t bone = bone_find(*character, words, length);
        if (bone == ABUT_NONE)
            tool_refuse(tool,
                        "--without: the character has no bone '%.*s'; 'abut character' lists them",
                        (int)length, words);
        if (count < room) /* a longer list has duplicates */
            bones[count++] = bone;
        words += length + (words[length] == ',');
    }
    abut_status status = abut_character_remove_bones(*character, bones, count, &reduced);
    if (status == ABUT_ERROR_ARGUMENT)
        tool_refuse_last(tool);
    ensure(status);
    abut_character_destroy(*character);
    *character = reduced;
}

void character_load(tool_run *tool, const tool_arguments *arguments, const char *path,
                    abut_character **character) {
    const tool_given *without = option_given(arguments, "without");
    abut_status status =
        character_find(tool, path, option_count(arguments, "triangles", 0), character);
    if (status == ABUT_ERROR_ARGUMENT)
        tool_refuse_last(tool);
    ensure(status);
    if (option_given(arguments, "weld")) {
        abut_character *split = *character;
        *character = NULL;
        ensure(abut_character_weld(split, character));
        abut_character_destroy(split);
    }
    if (without)
        character_remove(tool, without->words, character);
}

void clip_read(tool_run *tool, const abut_character *character, const char *words, uint32_t *clip) {
    const uint32_t count = get_character_info(character).clip_count;
    char *end;
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(words, get_character_clip(character, i).name)) {
            *clip = i;
            return;
        }
    }
    unsigned long number = strtoul(words, &end, 10);
    if (words[0] >= '0' && words[0] <= '9' && !*end && number < count) {
        *clip = (uint32_t)number;
        return;
    }
    if (!count)
        tool_refuse(tool, "--clip %s: the character has no clips", words);
    const char *best = NULL;
    size_t distance = 0;
    for (uint32_t i = 0; i < count; i++)
        word_closer(words, get_character_clip(character, i).name, &best, &distance);
    if (best)
        tool_refuse(tool, "unknown clip '%s'; did you mean '%s'?", words, best);
    tool_refuse(tool,
                "--clip must be the name of a clip or a number below %u, not '%s'; 'abut "
                "character' lists the clips",
                count, words);
}

void joints_read(tool_run *tool, const abut_character *character, const char *words,
                 uint32_t *joints) {
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT; i++)
        joints[i] = ABUT_NONE;
    while (*words) {
        size_t length = strcspn(words, ","), name = strcspn(words, "=");
        int joint = 0;
        while (joint < ABUT_GARMENT_JOINT_COUNT &&
               (strlen(abut_garment_joint_name((abut_garment_joint)joint)) != name ||
                strncmp(words, abut_garment_joint_name((abut_garment_joint)joint), name) != 0))
            joint++;
        if (name >= length || joint == ABUT_GARMENT_JOINT_COUNT)
            tool_refuse(tool,
                        "--joints must be JOINT=BONE, separated by commas, not '%.*s'; joints are "
                        "hips, neck, and left- and right- arm, forearm, hand, thigh, leg and foot",
                        (int)length, words);
        joints[joint] = bone_find(character, words + name + 1, length - name - 1);
        if (joints[joint] == ABUT_NONE)
            tool_refuse(tool, "--joints: the character has no bone '%.*s'",
                        (int)(length - name - 1), words + name + 1);
        words += length + (words[length] == ',');
    }
}

void pose_options(tool_run *tool, const tool_arguments *arguments, const abut_character *character,
                  abut_character_pose_options *pose, abut_character_skinning *skinning) {
    const tool_given *clip = option_given(arguments, "clip"),
                     *time = option_given(arguments, "time"),
                     *how = option_given(arguments, "skinning");
    *pose = abut_character_pose_options_default();
    pose->clip = ABUT_NONE;
    *skinning = ABUT_CHARACTER_SKINNING_LINEAR;
    if (time && !clip)
        tool_refuse(tool, "--time requires --clip");
    if (time)
        pose->time = time->numbers[0];
    if (how && !strcmp(how->words, "dual"))
        *skinning = ABUT_CHARACTER_SKINNING_DUAL;
    if (clip)
        clip_read(tool, character, clip->words, &pose->clip);
}
