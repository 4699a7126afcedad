/* Generates all help texts from the tables of commands and options. */
#include "tool.h"

#include <string.h>

#define HELP_WIDTH 80
#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

/* ---- formatting ---- */

/* "  NAME   words", wrapped. */
static void print_entry(tool_text *to, const char *name, size_t columns, const char *words) {
    text_add(to, "  ");
    text_padded(to, name, columns);
    text_add(to, "  ");
    size_t column = 2 + (text_columns(name) > columns ? text_columns(name) : columns) + 2;
    text_wrapped(to, words, column, columns + 4, HELP_WIDTH - 1);
    text_add(to, "\n");
}

static void option_usage(const tool_option *option, char *name, size_t bytes) {
    if (option->kind == OPTION_TOLERANCE)
        snprintf(name, bytes, "--%s[=%s]", option->name, option->argument);
    else
        snprintf(name, bytes, "--%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
}

static size_t widest_option(const tool_option *options) {
    size_t widest = 0;
    for (; options && options->name; options++) {
        char name[64];
        option_usage(options, name, sizeof name);
        widest = strlen(name) > widest ? strlen(name) : widest;
    }
    return widest;
}

/* Returns whether a text contains `word` as a whole word. */
static bool has_word(const char *words, const char *word, size_t length) {
    for (const char *at = words; *at; at++)
        if (!strncmp(at, word, length) && (at == words || !strchr(WORD_LETTERS, at[-1])) &&
            (!at[length] || !strchr(WORD_LETTERS, at[length])))
            return true;
    return false;
}

void option_help(tool_text *to, const tool_option *option) {
    bool all = true;
    text_add(to, option->help);
    if (option->kind != OPTION_CHOICE)
        return;
    for (const char *s = option->choices; *s && all; s += strspn(s, "|")) {
        size_t length = strcspn(s, "|");
        all = has_word(option->help, s, length);
        s += length;
    }
    if (!all)
        text_print(to, " [%s]", option->choices);
}

static void print_options(tool_text *to, const tool_option *options, size_t columns) {
    for (; options && options->name; options++) {
        char name[64];
        tool_text words = {0};
        option_usage(options, name, sizeof name);
        option_help(&words, options);
        print_entry(to, name, columns, text_of(&words));
    }
}

/* Paragraphs are wrapped; lines that start with a space are kept. */
static void print_paragraphs(tool_text *to, const char *words) {
    while (*words) {
        size_t length = strcspn(words, "\n");
        char line[2048];
        snprintf(line, sizeof line, "%.*s", (int)length, words);
        if (line[0] == ' ')
            text_add(to, line);
        else
            text_wrapped(to, line, 0, 0, HELP_WIDTH - 1);
        text_add(to, "\n");
        words += length + (words[length] == '\n');
    }
}

/* ---- general ---- */

void help_general(tool_text *to) {
    text_print(to,
               "abut %s: collision queries between triangle meshes\n"
               "Usage: abut COMMAND [OPTION...] [FILE...]\n",
               abut_version());
    size_t widest = 0;
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary && strlen(commands[i]->name) > widest)
            widest = strlen(commands[i]->name);
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            print_entry(to, commands[i]->name, widest, commands[i]->summary);
    text_add(to, "\nOptions of every command:"); /* explained in the help of each */
    for (const tool_option *o = global_options; o->name; o++)
        text_print(to, "%s --%s%s%s", o == global_options ? "" : ",", o->name,
                   o->argument ? " " : "", o->argument ? o->argument : "");
    text_add(to, ".\n'abut help COMMAND' explains a command. Other topics:");
    for (size_t i = 0; help_topics[i]; i++)
        text_print(to, "%s %s", i ? "," : "", help_topics[i]);
    text_add(to, ".\n");
}

static void describe_command(tool_text *to, const tool_command *command) {
    size_t columns = widest_option(command->options), global = widest_option(global_options);
    columns = columns > global ? columns : global;
    text_print(to, "Usage: abut %s [OPTION...]%s%s\n\n", command->name,
               *command->operands ? " " : "", command->operands);
    print_paragraphs(to, command->about);
    if (command->options && command->options->name) {
        text_add(to, "\nOptions:\n");
        print_options(to, command->options, columns);
    }
    text_add(to, "\nOptions of every command:\n");
    print_options(to, global_options, columns);
    tool_text codes = {0};
    text_print(&codes, "Exit codes: 0 %s; 1 error; 2 usage error; %s%s%s130 cancelled.",
               command->found ? "nothing found" : "success", command->found ? "3 found: " : "",
               command->found ? command->found : "", command->found ? "; " : "");
    text_add(to, "\n");
    print_paragraphs(to, text_of(&codes));
    text_free(&codes);
    if (command->examples) {
        text_add(to, "\nExamples:\n");
        print_paragraphs(to, command->examples);
    }
}

/* ---- topics ---- */

const char *const help_topics[] = {"exit-codes", "formats", NULL};

static const char *const topic_words[] = {
    "Exit codes of every command:\n"
    "\n"
    "  0    success; a command that searches for something found nothing\n"
    "  1    error: a file could not be read or written, a file was invalid, memory\n"
    "       ran out, or standard output could not be written; or nothing was found\n"
    "       and the meshes do not allow a reliable result (unreliable)\n"
    "  2    invalid command line: unknown command, option, shape or value\n"
    "  3    something was found:\n"
    "         overlap                the meshes touch (at any pose)\n"
    "         distance --margin      the distance is at most M (at any pose)\n"
    "         contacts               there is a contact; with --to, an impact\n"
    "         interfere              bodies overlap, touch (--touching) or are near\n"
    "                                (--clearance)\n"
    "         selfcheck              triangles intersect\n"
    "         clearance              the distance is less than --below\n"
    "         deviation --tolerance  a point is farther\n"
    "         thickness --below      the wall is thinner somewhere\n"
    "         sweep, replay          there is an impact\n"
    "         info --strict          a mesh has problems\n"
    "         demo                   the result is not the expected one\n"
    "  130  cancelled by Ctrl-C; the process ends by the signal, which shells show\n"
    "       as 128 + its number (143 for a plain kill)\n"
    "\n"
    "'abut overlap a.obj b.obj && next' runs 'next' only if the meshes are certainly separate: "
    "neither a touch nor an error returns 0. $? distinguishes them: 3 is a touch.\n"
    "\n"
    "A command that processes several files continues after an error and returns the most severe "
    "code: 1 before 3 before 0. A cancelled or failed command leaves no partial file: an existing "
    "file is replaced only when the new one is complete. A reader that closes the pipe early (abut "
    "info x.obj | head) is not an error.\n"
    "\n"
    "Errors are printed to standard error as 'abut COMMAND: message'. With --json, standard output "
    "then has {\"error\": {\"kind\", \"message\", \"exit_code\"}}.\n",

    "Mesh files:\n"
    "\n"
    "  obj    Wavefront OBJ          read, write   text, exact coordinates\n"
    "  ply    Polygon file format    read, write   text or binary, exact coordinates\n"
    "  stl    Stereolithography      read, write   text or binary, floats\n"
    "  off    Object file format     read, write   text, exact coordinates\n"
    "  gltf   glTF 2.0 and GLB       read, write   floats; reading needs yajl\n"
    "  other  FBX, Collada...        read          needs Assimp\n"
    "\n"
    "The file extension determines the format; for input without a known extension, the first "
    "bytes do. --from and --to of 'abut convert' override it. Assimp is used only with --from "
    "other of 'abut convert' or 'abut info', in a separate process that is limited to 4 GiB and 2 "
    "minutes. PLY and STL are written as little-endian binary unless --ascii is given. Polygons "
    "are triangulated. STL has no shared vertices: corners with equal coordinates become one "
    "vertex.\n"
    "\n"
    "Indices of vertices, edges and triangles start at 0.\n"
    "\n"
    "Pictures are written as .png (needs libpng) or .ppm. 'abut version' lists the features of "
    "this build.\n"};

const char *help_topic(const char *name) {
    for (size_t i = 0; help_topics[i]; i++)
        if (strcmp(name, help_topics[i]) == 0)
            return topic_words[i];
    return NULL;
}

/* ---- the command ---- */

static void print_help(tool_run *tool, const tool_text *words) {
    if (tool->out.json) {
        out_object(&tool->out, NULL);
        json_text(&tool->out, "help", text_of(words));
        out_end(&tool->out);
    } else {
        text_add(&tool->out.text, text_of(words));
    }
}

void help_command(tool_run *tool, const tool_command *command) {
    tool_text words = {0};
    describe_command(&words, command);
    print_help(tool, &words);
}

static int run_help(tool_run *tool, const tool_arguments *arguments) {
    const char *name = arguments->operand_count ? arguments->operands[0] : NULL, *best = NULL;
    size_t distance = 0;
    tool_text words = {0};
    if (!name)
        help_general(&words);
    else if (command_find(name))
        describe_command(&words, command_find(name));
    else if (help_topic(name))
        print_paragraphs(&words, help_topic(name));
    print_help(tool, &words);
    if (words.data)
        return CODE_FINE;
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            word_closer(name, commands[i]->name, &best, &distance);
    for (size_t i = 0; help_topics[i]; i++)
        word_closer(name, help_topics[i], &best, &distance);
    if (best)
        tool_refuse(tool, "no help for '%s': unknown command or topic; did you mean '%s'?", name,
                    best);
    tool_refuse(tool, "no help for '%s': unknown command or topic", name);
}

const tool_command command_help = {
    .name = "help",
    .operands = "[COMMAND | TOPIC]",
    .summary = "explain a command or a topic",
    .about = "Explains a command, or one of the topics exit-codes and formats. Without an "
             "argument, lists the commands.",
    .examples = "  abut help picture\n  abut help exit-codes\n",
    .operand_kind = OPERAND_TOPIC,
    .operand_range = {0, 1},
    .run = run_help,
};
