/* abut manual (hidden): the page for man(1), generated from the tables of the help. */
#include "tool.h"

#include <string.h>

/* Adds text for roff: dashes as minus signs, and no line begins with a dot or a quote. */
static void add_roff(tool_text *to, const char *words) {
    bool begins = true;
    for (const char *s = words; *s; s++) {
        if (begins && (*s == '.' || *s == '\''))
            text_add(to, "\\&");
        begins = *s == '\n';
        if (*s == '\\')
            text_add(to, "\\e");
        else if (*s == '-')
            text_add(to, "\\-");
        else
            text_bytes(to, s, 1);
    }
}

/* Adds paragraphs; lines that start with a space are kept unchanged. */
static void add_paragraphs(tool_text *to, const char *words) {
    bool kept = false;
    while (*words) {
        size_t length = strcspn(words, "\n");
        char line[2048];
        snprintf(line, sizeof line, "%.*s", (int)length, words);
        if ((line[0] == ' ') != kept)
            text_add(to, kept ? ".fi\n" : ".PP\n.nf\n");
        kept = line[0] == ' ';
        if (line[0])
            add_roff(to, line);
        else
            text_add(to, ".PP");
        text_add(to, "\n");
        words += length + (words[length] == '\n');
    }
    text_add(to, kept ? ".fi\n" : "");
}

static void add_options(tool_text *to, const tool_option *options) {
    for (; options && options->name; options++) {
        bool may_lack = options->kind == OPTION_TOLERANCE;
        text_print(to, ".TP\n\\fB\\-\\-");
        add_roff(to, options->name);
        text_add(to, "\\fR");
        if (options->argument)
            text_print(to, "%s\\fI%s\\fR%s", may_lack ? "[=" : " ", options->argument,
                       may_lack ? "]" : "");
        text_add(to, "\n");
        tool_text words = {0};
        option_help(&words, options);
        add_roff(to, text_of(&words));
        text_add(to, "\n");
    }
}

static void add_command(tool_text *to, const tool_command *command) {
    text_print(to, ".SS \"abut %s ", command->name);
    add_roff(to, command->operands);
    text_add(to, "\"\n");
    add_paragraphs(to, command->about);
    if (command->found)
        text_print(to, ".PP\nReturns 3 if it found: %s.\n", command->found);
    add_options(to, command->options);
    if (command->examples) {
        text_add(to, ".PP\nExamples:\n");
        add_paragraphs(to, command->examples);
    }
}

static int run_manual(tool_run *tool, const tool_arguments *arguments) {
    tool_text *to = &tool->out.text;
    (void)arguments;
    text_print(to, ".TH ABUT 1 \"\" \"abut %s\" \"User Commands\"\n", abut_version());
    text_add(
        to,
        ".SH NAME\nabut \\- collision queries between triangle meshes\n.SH SYNOPSIS\n\\fBabut\\fR "
        "\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIFILE\\fR...]\n.SH OPTIONS OF EVERY COMMAND\n");
    add_options(to, global_options);
    text_add(to, ".SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            add_command(to, commands[i]);
    text_add(to, ".SH EXIT STATUS\n");
    add_paragraphs(to, help_topic("exit-codes"));
    text_add(to, ".SH FILES\n");
    add_paragraphs(to, help_topic("formats"));
    return CODE_FINE;
}

const tool_command command_manual = {
    .name = "manual",
    .operands = "",
    .about = "Prints the manual page in the format of man(1). To read it at once: abut manual | "
             "man -l -",
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, 0},
    .run = run_manual,
};
