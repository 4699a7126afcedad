/* abut completion (hidden): completion for bash, zsh and fish, made from the tables. The copy for
 * bash in the source tree is what gets installed; a test compares the two. Those for zsh and fish
 * are made when abut is built. */
#include "tool.h"

#include <string.h>

static void add_options(tool_text *to, const tool_option *options) {
    for (; options && options->name; options++)
        text_print(to, " --%s", options->name);
}

/* Replaces the bars of "a|b|c" by spaces. */
static void add_choices(tool_text *to, const char *choices) {
    for (const char *s = choices; *s; s++)
        text_bytes(to, *s == '|' ? " " : s, 1);
}

/* A case for each command: its options. */
static void add_commands(tool_text *to) {
    for (size_t i = 0; commands[i]; i++) {
        if (!commands[i]->summary)
            continue;
        text_print(to, "    %s) options=\"", commands[i]->name);
        tool_text options = {0};
        add_options(&options, commands[i]->options);
        add_options(&options, global_options);
        text_add(to, options.data ? options.data + 1 : "");
        text_add(to, "\" ;;\n");
        text_free(&options);
    }
}

/* A case for each option that takes a value: its choices, or nothing. */
static void add_values(tool_text *to, const tool_command *command, const tool_option *options) {
    for (; options && options->name; options++) {
        if (options->kind == OPTION_FLAG || options->kind == OPTION_TOLERANCE)
            continue;
        text_print(to, "    %s:--%s) values=\"", command ? command->name : "*", options->name);
        add_choices(to, options->choices ? options->choices : "");
        text_add(to, "\" ;;\n");
    }
}

static void add_words(tool_text *to) {
    text_add(to, "    make:) words=\"");
    for (int i = 0; i < ABUT_SHAPE_COUNT; i++)
        text_print(to, "%s%s", i ? " " : "", abut_shape_kind_name((abut_shape_kind)i));
    text_add(to, "\" ;;\n    help:) words=\"");
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            text_print(to, "%s ", commands[i]->name);
    for (size_t i = 0; help_topics[i]; i++)
        text_print(to, "%s%s", i ? " " : "", help_topics[i]);
    text_add(to, "\" ;;\n    bench:* | help:* | version:*) files= ;;\n");
}

/* _abut_values COMMAND OPTION: whether the option takes a value; its choices in `values`. */
static void add_values_function(tool_text *to) {
    text_add(to, "_abut_values() {\n"
                 "  values=\n"
                 "  case $1:$2 in\n");
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            add_values(to, commands[i], commands[i]->options);
    add_values(to, NULL, global_options);
    text_add(to, "  *) return 1 ;;\n"
                 "  esac\n"
                 "}\n");
}

/* Finds the command and the first operand before the word that is being completed. */
static const char find_words[] =
    "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "  local command= operand= options= values= words= files=yes i\n"
    "  # bash splits --name=value into three words\n"
    "  if [[ $current == = ]]; then\n"
    "    current=\n"
    "  elif [[ $previous == = ]]; then\n"
    "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "  fi\n"
    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "    case ${COMP_WORDS[i]} in\n"
    "    =) ((i++)) ;;\n"
    "    -*) [[ ${COMP_WORDS[i + 1]} != = ]] && _abut_values \"$command\" \"${COMP_WORDS[i]}\" &&\n"
    "      ((i++)) ;;\n"
    "    *) if [[ ! $command ]]; then\n"
    "        command=${COMP_WORDS[i]}\n"
    "      else\n"
    "        operand=${COMP_WORDS[i]}\n"
    "      fi ;;\n"
    "    esac\n"
    "  done\n";

static const char reply[] =
    "  if _abut_values \"$command\" \"$previous\"; then\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
    "  elif [[ $current == -* ]]; then\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
    "  elif [[ $words ]]; then\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
    "  elif [[ $files ]]; then\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "  fi\n";

static void write_script(tool_text *to) {
    text_add(to, "# bash completion for abut; made by 'abut completion', do not edit\n");
    add_values_function(to);
    text_add(to, "\n_abut() {\n");
    text_add(to, find_words);
    text_add(to, "  case $command in\n"
                 "    '') words=\"");
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            text_print(to, "%s%s", i ? " " : "", commands[i]->name);
    text_add(to, "\" options=\"");
    tool_text global = {0};
    add_options(&global, global_options);
    text_add(to, global.data ? global.data + 1 : "");
    text_free(&global);
    text_add(to, " --version\" files= ;;\n");
    add_commands(to);
    text_add(to, "  esac\n"
                 "  case $command:$operand in\n");
    add_words(to);
    text_add(to, "  esac\n");
    text_add(to, reply);
    text_add(to, "}\ncomplete -F _abut abut\n");
}

/* ---- zsh and fish ---- */

/* Words inside single quotes; bytes of `special` get a backslash. */
static void add_quoted(tool_text *to, const char *words, const char *special, const char *quote) {
    for (const char *s = words; *s; s++) {
        if (*s == '\'') {
            text_add(to, quote);
            continue;
        }
        if (strchr(special, *s))
            text_add(to, "\\");
        text_bytes(to, s, 1);
    }
}

/* Whether a value is the name of a file. */
static bool takes_file(const tool_option *option) {
    return option->argument &&
           (strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "FOLDER") == 0);
}

static void add_zsh_options(tool_text *to, const tool_option *options) {
    for (; options && options->name; options++) {
        text_print(to, "      '%s--%s%s[", options->repeats ? "*" : "", options->name,
                   options->kind == OPTION_FLAG        ? ""
                   : options->kind == OPTION_TOLERANCE ? "=-"
                                                       : "=");
        add_quoted(to, options->help, "[]:\\", "'\\''");
        text_add(to, "]");
        if (options->kind != OPTION_FLAG) {
            text_print(to, ":%s:", options->argument);
            if (options->choices) {
                text_add(to, "(");
                add_choices(to, options->choices);
                text_add(to, ")");
            } else if (takes_file(options)) {
                text_add(to, "_files");
            }
        }
        text_add(to, "' \\\n");
    }
}

/* What stands in the place of operands, for zsh. */
static void add_zsh_operands(tool_text *to, const tool_command *command) {
    if (command->operand_kind == OPERAND_NONE)
        return;
    if (command->operand_kind == OPERAND_FILES) {
        text_add(to, "      '*:file:_files'");
        return;
    }
    text_add(to, "      '1:word:(");
    if (command->operand_kind == OPERAND_SHAPE)
        for (int i = 0; i < ABUT_SHAPE_COUNT; i++)
            text_print(to, "%s%s", i ? " " : "", abut_shape_kind_name((abut_shape_kind)i));
    for (size_t i = 0; command->operand_kind == OPERAND_TOPIC && commands[i]; i++)
        if (commands[i]->summary)
            text_print(to, "%s ", commands[i]->name);
    for (size_t i = 0; command->operand_kind == OPERAND_TOPIC && help_topics[i]; i++)
        text_print(to, "%s%s", i ? " " : "", help_topics[i]);
    text_add(to, ")' '*:file:_files'");
}

static void write_zsh(tool_text *to) {
    text_add(to, "#compdef abut\n"
                 "# zsh completion for abut; made by 'abut completion zsh', do not edit\n"
                 "_abut() {\n"
                 "  local -a commands\n"
                 "  commands=(\n");
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary) {
            text_print(to, "    '%s:", commands[i]->name);
            add_quoted(to, commands[i]->summary, ":\\", "'\\''");
            text_add(to, "'\n");
        }
    text_add(to, "  )\n"
                 "  if ((CURRENT == 2)); then\n"
                 "    _describe command commands\n"
                 "    return\n"
                 "  fi\n"
                 "  local command=$words[2]\n"
                 "  shift words\n"
                 "  ((CURRENT--))\n"
                 "  case $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        if (!commands[i]->summary)
            continue;
        text_print(to, "  %s)\n    _arguments \\\n", commands[i]->name);
        add_zsh_options(to, commands[i]->options);
        add_zsh_options(to, global_options);
        add_zsh_operands(to, commands[i]);
        text_add(to, "\n    ;;\n");
    }
    text_add(to, "  esac\n"
                 "}\n"
                 "_abut \"$@\"\n");
}

static void add_fish_options(tool_text *to, const char *condition, const tool_option *options) {
    for (; options && options->name; options++) {
        text_print(to, "complete -c abut -n '%s' -l %s", condition, options->name);
        if (options->choices) {
            text_add(to, " -x -a '");
            add_choices(to, options->choices);
            text_add(to, "'");
        } else if (options->kind != OPTION_FLAG && options->kind != OPTION_TOLERANCE) {
            text_add(to, takes_file(options) ? " -r -F" : " -x");
        }
        text_add(to, " -d '");
        add_quoted(to, options->help, "\\", "\\'");
        text_add(to, "'\n");
    }
}

static void write_fish(tool_text *to) {
    text_add(to, "# fish completion for abut; made by 'abut completion fish', do not edit\n");
    for (size_t i = 0; commands[i]; i++) {
        if (!commands[i]->summary)
            continue;
        text_print(to, "complete -c abut -n __fish_use_subcommand -f -a %s -d '",
                   commands[i]->name);
        add_quoted(to, commands[i]->summary, "\\", "\\'");
        text_add(to, "'\n");
        tool_text condition = {0};
        text_print(&condition, "__fish_seen_subcommand_from %s", commands[i]->name);
        add_fish_options(to, condition.data ? condition.data : "", commands[i]->options);
        text_free(&condition);
    }
    add_fish_options(to, "not __fish_use_subcommand", global_options);
    text_add(to, "complete -c abut -n '__fish_seen_subcommand_from make' -f -a '");
    for (int i = 0; i < ABUT_SHAPE_COUNT; i++)
        text_print(to, "%s%s", i ? " " : "", abut_shape_kind_name((abut_shape_kind)i));
    text_add(to, "'\n");
}

static int run(tool_run *tool, const tool_arguments *arguments) {
    const char *shell = arguments->operand_count ? arguments->operands[0] : "bash";
    tool_text *to = &tool->out.text;
    if (!word_in(shell, "bash|zsh|fish"))
        return tool_refuse(tool, "no completion for '%s', only for bash, zsh and fish", shell);
    if (strcmp(shell, "zsh") == 0)
        write_zsh(to);
    else if (strcmp(shell, "fish") == 0)
        write_fish(to);
    else
        write_script(to);
    return CODE_FINE;
}

const tool_command command_completion = {
    .name = "completion",
    .operands = "[bash | zsh | fish]",
    .about = "Prints the completion script for a shell, bash by default. To use it at once: source "
             "<(abut completion), or abut completion fish | source",
    .operand_kind = OPERAND_NONE,
    .operand_least = 0,
    .operand_most = 1,
    .run = run,
};
