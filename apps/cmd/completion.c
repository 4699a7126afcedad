/* abut completion (hidden): completion for bash, zsh and fish. The scripts query the command for
 * the candidates of a word: 'abut completion SHELL -- WORD...' prints those of the last WORD, one
 * on each line, with a description after a tab. A line with a colon requests file names. */
#include "tool.h"

#include <string.h>

static const char bash_script[] =
    "# bash completion for abut; made by 'abut completion', do not edit\n"
    "_abut() {\n"
    "  local word\n"
    "  COMPREPLY=()\n"
    "  while IFS=$'\\t' read -r word _; do\n"
    "    if [[ $word == : ]]; then\n"
    "      compopt -o filenames 2>/dev/null\n"
    "      mapfile -t COMPREPLY < <(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
    "    else\n"
    "      COMPREPLY+=(\"$word\")\n"
    "    fi\n"
    "  done < <(\"${COMP_WORDS[0]}\" completion bash -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\n"
    "}\n"
    "complete -F _abut abut\n";

static const char zsh_script[] =
    "#compdef abut\n"
    "# zsh completion for abut; made by 'abut completion zsh', do not edit\n"
    "_abut() {\n"
    "  local -a found\n"
    "  found=(\"${(@f)$(abut completion zsh -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "  if [[ $found[1] == : ]]; then\n"
    "    _files\n"
    "  else\n"
    "    found=(\"${(@)found//:/\\\\:}\")\n"
    "    found=(\"${(@)found/$'\\t'/:}\")\n"
    "    _describe abut found\n"
    "  fi\n"
    "}\n"
    "_abut \"$@\"\n";

static const char fish_script[] =
    "# fish completion for abut; made by 'abut completion fish', do not edit\n"
    "function __abut_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l found (abut completion fish -- $words[2..-1] 2>/dev/null)\n"
    "    if test \"$found[1]\" = :\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    else\n"
    "        printf '%s\\n' $found\n"
    "    end\n"
    "end\n"
    "complete -c abut -f -a '(__abut_complete)'\n";

/* The word to complete, as `head` and `current`: --to=pl has the head --to= in zsh and fish. */
typedef struct completing {
    tool_text *to;
    const char *current;
    int head_length;
    const char *head;
} completing;

static void offer(const completing *c, const char *prefix, const char *word, size_t length,
                  const char *help) {
    tool_text whole = {0};
    text_print(&whole, "%s%.*s", prefix, (int)length, word);
    if (strncmp(whole.data, c->current, strlen(c->current)) == 0)
        text_print(c->to, "%.*s%s\t%s\n", c->head_length, c->head, whole.data, help);
}

static void offer_options(const completing *c, const tool_option *options) {
    for (; options && options->name; options++)
        offer(c, "--", options->name, strlen(options->name), options->help);
}

/* Offers the choices of an option, or file names. */
static void offer_values(const completing *c, const tool_option *option) {
    for (const char *s = option->choices; s && *s; s += strspn(s, "|")) {
        offer(c, "", s, strcspn(s, "|"), "");
        s += strcspn(s, "|");
    }
    if (!option->choices && word_in(option->argument, "FILE|FOLDER"))
        text_add(c->to, ":\n");
}

static void offer_commands(const completing *c) {
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            offer(c, "", commands[i]->name, strlen(commands[i]->name), commands[i]->summary);
}

/* Offers the first operand of a command, or file names. */
static void offer_operands(const completing *c, const tool_command *command, bool first) {
    if (command->operand_kind == OPERAND_SHAPE && first)
        for (int i = 0; i < ABUT_SHAPE_COUNT; i++) {
            const char *name = abut_shape_kind_name((abut_shape_kind)i);
            offer(c, "", name, strlen(name), "");
        }
    else if (command->operand_kind == OPERAND_TOPIC && first) {
        offer_commands(c);
        for (size_t i = 0; help_topics[i]; i++)
            offer(c, "", help_topics[i], strlen(help_topics[i]), "");
    } else if (command->operand_kind == OPERAND_FILES || command->operand_kind == OPERAND_SHAPE)
        text_add(c->to, ":\n");
}

/* The option of a word "--name" that is followed by its value, or null. */
static const tool_option *option_with_value(const tool_command *command, const char *word,
                                            size_t length) {
    const tool_option *option = length > 2 && strncmp(word, "--", 2) == 0
                                    ? option_find(command, word + 2, length - 2)
                                    : NULL;
    return option && option->kind != OPTION_FLAG && option->kind != OPTION_TOLERANCE ? option
                                                                                     : NULL;
}

/* Completes the last of the words. bash splits --name=value into three words. */
static void complete_words(tool_text *to, const char *const *words, size_t count) {
    const tool_command *command = NULL;
    const tool_option *pending = NULL; /* its value follows */
    size_t operands = 0;
    completing c = {to, words[count - 1], 0, ""};
    for (size_t i = 0; i + 1 < count; i++) {
        const char *word = words[i];
        if (strcmp(word, "=") == 0)
            continue;
        if (pending) {
            pending = NULL;
        } else if (word[0] == '-') {
            pending = option_with_value(command, word, strlen(word));
        } else if (!command) {
            command = command_find(word);
            if (!command)
                return;
        } else {
            operands++;
        }
    }
    const char *equals = strncmp(c.current, "--", 2) == 0 ? strchr(c.current, '=') : NULL;
    if (strcmp(c.current, "=") == 0)
        c.current = "";
    if (equals) {
        pending = option_with_value(command, c.current, (size_t)(equals - c.current));
        c.head = c.current;
        c.head_length = (int)(equals + 1 - c.current);
        c.current = equals + 1;
    }
    if (pending) {
        offer_values(&c, pending);
    } else if (c.current[0] == '-') {
        offer_options(&c, command ? command->options : NULL);
        offer_options(&c, global_options);
        if (!command)
            offer(&c, "--", "version", 7, "print the version");
    } else if (!command) {
        offer_commands(&c);
    } else {
        offer_operands(&c, command, operands == 0);
    }
}

static int run_completion(tool_run *tool, const tool_arguments *arguments) {
    const char *shell = arguments->operand_count ? arguments->operands[0] : "bash";
    if (!word_in(shell, "bash|zsh|fish"))
        tool_refuse(tool, "no completion for '%s', only for bash, zsh and fish", shell);
    if (arguments->operand_count > 1)
        complete_words(&tool->out.text, arguments->operands + 1, arguments->operand_count - 1);
    else
        text_add(&tool->out.text, shell[0] == 'b'   ? bash_script
                                  : shell[0] == 'z' ? zsh_script
                                                    : fish_script);
    return CODE_FINE;
}

const tool_command command_completion = {
    .name = "completion",
    .operands = "[bash | zsh | fish] [-- WORD...]",
    .about = "Prints the completion script for a shell, bash by default. To use it at once: source "
             "<(abut completion), or abut completion fish | source. With WORD, prints the "
             "completions of the last one.",
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, UINT32_MAX},
    .run = run_completion,
};
