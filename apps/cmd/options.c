/* The table of commands, and the option parser, which depends on the table of a command only.
 *
 * "--name VALUE" and "--name=VALUE" are the same; an optional value needs the second form. "--"
 * ends the options. Options and operands may be mixed. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

const tool_option global_options[] = {
    FLAG("json", "print one JSON object instead of text"),
    FLAG("quiet", "print only the result, on one line or as a table: no progress, no notes"),
    OPTION("threads", "N", COUNT, "number of threads (default: all of the machine)"),
    FLAG("help", "print this help (also -h)"),
    {0}};

#define COMMAND_ENTRY(name) &command_##name,
const tool_command *const commands[] = {COMMANDS(COMMAND_ENTRY) NULL};

const tool_command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static const tool_option *find_in(const tool_option *table, const char *name, size_t length) {
    for (; table && table->name; table++)
        if (strlen(table->name) == length && strncmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

const tool_option *option_find(const tool_command *command, const char *name, size_t length) {
    const tool_option *found = command ? find_in(command->options, name, length) : NULL;
    return found ? found : find_in(global_options, name, length);
}

static _Noreturn void refuse_unknown(tool_run *tool, const tool_command *command,
                                     const char *word) {
    const char *best = NULL;
    size_t distance = 0;
    char name[48];
    const char *start = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    for (const tool_option *o = command ? command->options : NULL; o && o->name; o++)
        word_closer(name, o->name, &best, &distance);
    for (const tool_option *o = global_options; o->name; o++)
        word_closer(name, o->name, &best, &distance);
    if (best)
        tool_refuse(tool, "unknown option %s; did you mean --%s?", word, best);
    tool_refuse(tool, "unknown option %s", word);
}

/* Describes a valid value of each kind, for the end of an error message. */
static const char *const value_words[] = {
    [OPTION_FLAG] = "a value",
    [OPTION_TEXT] = "a value",
    [OPTION_CHOICE] = "a value",
    [OPTION_NUMBER] = "a number",
    [OPTION_POSITIVE] = "a number above 0",
    [OPTION_TOLERANCE] = "a number of at least 0",
    [OPTION_COUNT] = "a whole number from 1 to 4294967295",
    [OPTION_VECTOR] = "three numbers, such as 0,0.5,1",
    [OPTION_SIZE] = "lengths of at least 0, such as 1,2,0.5, or one for all",
    [OPTION_PIXELS] = "width and height in pixels, such as 960x720",
    [OPTION_COLOUR] = "a colour, such as ff8000, '#ff8000', ff800080 or orange"};

static bool read_pixels(const char *words, uint32_t *counts) {
    const char *cross = strchr(words, 'x');
    char width[16];
    if (!cross || cross == words || (size_t)(cross - words) >= sizeof width)
        return false;
    memcpy(width, words, (size_t)(cross - words));
    width[cross - words] = 0;
    return read_count(width, &counts[0]) && read_count(cross + 1, &counts[1]);
}

/* One number sets all three lengths, two set x and y. */
static bool read_size(const char *words, double *numbers) {
    size_t count = read_numbers(words, numbers, 3);
    if (count == 1)
        numbers[1] = numbers[2] = numbers[0];
    if (count == 2)
        numbers[2] = 0;
    return count > 0 && numbers[0] >= 0 && numbers[1] >= 0 && numbers[2] >= 0;
}

static bool read_value(tool_given *given) {
    const char *words = given->words;
    double *numbers = given->numbers;
    switch (given->option->kind) {
    case OPTION_FLAG:
    case OPTION_TEXT:
        return true;
    case OPTION_CHOICE:
        return word_in(words, given->option->choices);
    case OPTION_NUMBER:
        return read_numbers(words, numbers, 1) == 1;
    case OPTION_POSITIVE:
        return read_numbers(words, numbers, 1) == 1 && numbers[0] > 0;
    case OPTION_TOLERANCE:
        return !words || (read_numbers(words, numbers, 1) == 1 && numbers[0] >= 0);
    case OPTION_COUNT:
        return read_count(words, &given->counts[0]);
    case OPTION_VECTOR:
        return read_numbers(words, numbers, 3) == 3;
    case OPTION_SIZE:
        return read_size(words, numbers);
    case OPTION_PIXELS:
        return read_pixels(words, given->counts);
    case OPTION_COLOUR:
        return read_colour(words, &given->colour);
    }
    return false;
}

static _Noreturn void refuse_value(tool_run *tool, const tool_given *given) {
    const tool_option *option = given->option;
    if (option->kind != OPTION_CHOICE)
        tool_refuse(tool, "--%s must be %s, not '%s'", option->name, value_words[option->kind],
                    given->words);
    const char *best = NULL;
    size_t distance = 0;
    char choices[256], *rest = choices, *choice;
    snprintf(choices, sizeof choices, "%s", option->choices);
    while ((choice = strtok_r(rest, "|", &rest)))
        word_closer(given->words, choice, &best, &distance);
    if (best)
        tool_refuse(tool, "--%s: unknown value '%s'; did you mean %s?", option->name, given->words,
                    best);
    tool_refuse(tool, "--%s: unknown value '%s'; it must be one of %s", option->name, given->words,
                option->choices);
}

/* Parses the option at words[*at] and advances *at. */
static void parse_option(tool_run *tool, const tool_command *command, int count, char **words,
                         int *at, tool_arguments *arguments) {
    const char *word = words[*at];
    const char *name = strcmp(word, "-h") == 0   ? "help"
                       : strcmp(word, "-o") == 0 ? "out"
                       : word[1] == '-'          ? word + 2
                                                 : "";
    size_t length = strcspn(name, "=");
    const tool_option *option = option_find(command, name, length);
    if (!option)
        refuse_unknown(tool, command, word);
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    ++*at;
    if (option->kind == OPTION_FLAG && value)
        tool_refuse(tool, "--%s has no value", option->name);
    if (option->kind != OPTION_FLAG && option->kind != OPTION_TOLERANCE && !value) {
        if (*at == count || strncmp(words[*at], "--", 2) == 0)
            tool_refuse(tool, "--%s needs a value: --%s %s", option->name, option->name,
                        option->argument);
        value = words[(*at)++];
    }
    if (!option->repeats && option_given(arguments, option->name) && option->kind != OPTION_FLAG)
        tool_refuse(tool, "--%s is given twice", option->name);
    tool_given *given = &arguments->given[arguments->given_count];
    *given = (struct tool_given){.option = option, .words = value};
    if (!read_value(given))
        refuse_value(tool, given);
    arguments->given_count++;
}

static void check_operands(tool_run *tool, const tool_command *command,
                           const tool_arguments *arguments) {
    if (option_given(arguments, "help"))
        return;
    size_t count = arguments->operand_count;
    int first = (int)strcspn(command->operands, " ");
    if (count < command->operand_range[0] && memchr(command->operands, '|', (size_t)first))
        tool_refuse(tool, "one of %.*s is missing; usage: abut %s %s", first, command->operands,
                    command->name, command->operands);
    if (count < command->operand_range[0])
        tool_refuse(tool, "%s is missing; usage: abut %s %s",
                    command->operand_range[0] == 1 || count == 0 ? "the file" : "a file name",
                    command->name, command->operands);
    if (count > command->operand_range[1])
        tool_refuse(tool, "unexpected argument '%s'; usage: abut %s %s",
                    arguments->operands[command->operand_range[1]], command->name,
                    command->operands);
}

void options_parse(tool_run *tool, const tool_command *command, int count, char **words,
                   tool_arguments *arguments) {
    size_t room = (size_t)count + 1;
    *arguments = (struct tool_arguments){.given = tool_array(room, sizeof *arguments->given),
                                         .operands = tool_array(room, sizeof *arguments->operands)};
    bool options = true;
    for (int at = 0; at < count;) {
        const char *word = words[at];
        if (options && strcmp(word, "--") == 0) {
            options = false;
            at++;
        } else if (options && word[0] == '-' && word[1]) {
            parse_option(tool, command, count, words, &at, arguments);
        } else {
            arguments->operands[arguments->operand_count++] = word;
            at++;
        }
    }
    check_operands(tool, command, arguments);
}

void option_range(tool_run *tool, const tool_given *given, double min, double max,
                  const char *unit) {
    const bool is_whole = given && given->option->kind == OPTION_COUNT;
    const double number = !given ? min : is_whole ? given->counts[0] : given->numbers[0];
    if (number >= min && number <= max)
        return;
    tool_refuse(tool, "--%s must be a %snumber from %.10g to %.10g%s%s, not '%s'",
                given->option->name, is_whole ? "whole " : "", min, max, unit[0] ? " " : "", unit,
                given->words ? given->words : "");
}

void option_length(tool_run *tool, const tool_given *given) {
    option_range(tool, given, 0, ABUT_COORDINATE_MAX, "units of the coordinates");
}

const tool_given *option_any(const tool_arguments *arguments, const char *names) {
    for (size_t i = arguments->given_count; i > 0; i--)
        if (word_in(arguments->given[i - 1].option->name, names))
            return &arguments->given[i - 1];
    return NULL;
}

const tool_given *option_given(const tool_arguments *arguments, const char *name) {
    return option_any(arguments, name);
}

double option_number(const tool_arguments *arguments, const char *name, double otherwise) {
    const tool_given *given = option_given(arguments, name);
    return given ? given->numbers[0] : otherwise;
}

uint32_t option_count(const tool_arguments *arguments, const char *name, uint32_t otherwise) {
    const tool_given *given = option_given(arguments, name);
    return given ? given->counts[0] : otherwise;
}

const char *option_words(const tool_arguments *arguments, const char *name, const char *otherwise) {
    const tool_given *given = option_given(arguments, name);
    return given ? given->words : otherwise;
}
