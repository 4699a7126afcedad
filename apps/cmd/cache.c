/* abut cache: lists, verifies and removes the fields and samples of the disk cache. */
#include "tool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct cache_view {
    tool_output *out;
    bool verified;
    tool_text problems; /* text output after the table */
    uint64_t fields, samples, damaged, bytes;
} cache_view;

static void print_age(char *words, size_t bytes, double age) {
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (age >= 2 * units[i].seconds) {
            snprintf(words, bytes, "%.0f %s", floor(age / units[i].seconds), units[i].name);
            return;
        }
    snprintf(words, bytes, "just now");
}

/* Begins the row of an entry. */
static void begin_entry(cache_view *view, const char *mesh, const char *path, uint64_t bytes,
                        double age, bool is_known) {
    tool_output *out = view->out;
    view->bytes += bytes;
    out_object(out, NULL);
    json_text(out, "mesh", mesh[0] ? mesh : NULL);
    json_path(out, "file", path);
    json_count(out, "stored_bytes", bytes);
    json_number(out, "age_s", age);
    print_fact(out, "mesh", "%.12s", is_known ? mesh : "?");
}

/* Ends it with the last columns of text. */
static void end_entry(cache_view *view, uint64_t bytes, double age, const char *problem) {
    tool_output *out = view->out;
    char words[32];
    print_age(words, sizeof words, age);
    json_text(out, "problem", problem);
    print_fact(out, "on disk", "%.2f MB", (double)bytes / 1e6);
    print_fact(out, "used", "%s", words);
    view->damaged += problem != NULL;
    if (view->verified && !out->json) {
        out_shade(out, problem ? SHADE_BAD : SHADE_GOOD);
        print_fact(out, "state", "%s", problem ? "damaged" : "fine");
    }
    if (problem && !out->json) {
        text_safe(&view->problems, problem);
        text_add(&view->problems, "\n");
    }
    out_end(out);
}

static bool print_field(void *user, const abut_field_cache_entry *entry) {
    cache_view *view = user;
    tool_output *out = view->out;
    const abut_field_info *info = entry->info;
    const uint32_t *n = info->grid.count;
    const bool known = info->bytes > 0;
    view->fields++;
    begin_entry(view, entry->mesh, entry->path, entry->stored_bytes, entry->age, known);
    if (known) {
        json_numbers(out, "count", (double[3]){n[0], n[1], n[2]}, 3);
        json_number(out, "cell", info->grid.cell);
        json_text(out, "layout", abut_field_layout_name(info->layout));
        json_text(out, "type", abut_field_type_name(info->type));
        json_number(out, "band", info->band);
        json_count(out, "bytes", info->bytes);
        print_fact(out, "cells", "%u x %u x %u", n[0], n[1], n[2]);
    } else {
        print_fact(out, "cells", "?");
    }
    print_fact(out, "layout", "%s%s", known ? abut_field_layout_name(info->layout) : "?",
               known && info->type == ABUT_FIELD_INT16 ? ", 16 bits" : "");
    print_fact(out, "memory", "%.2f MB", (double)info->bytes / 1e6);
    end_entry(view, entry->stored_bytes, entry->age, entry->problem);
    return true;
}

static bool print_samples(void *user, const abut_samples_cache_entry *entry) {
    cache_view *view = user;
    const bool known = entry->mesh[0];
    view->samples++;
    begin_entry(view, entry->mesh, entry->path, entry->stored_bytes, entry->age, known);
    if (known) {
        json_count(view->out, "samples", entry->count);
        json_count(view->out, "edges", entry->edge_count);
    }
    print_fact(view->out, "samples", known ? "%u" : "?", entry->count);
    print_fact(view->out, "edges", known ? "%u" : "?", entry->edge_count);
    end_entry(view, entry->stored_bytes, entry->age, entry->problem);
    return true;
}

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

static int list_entries(tool_run *tool, const char *folder, bool verify) {
    tool_output *out = &tool->out;
    cache_view view = {.out = out, .verified = verify};
    out_object(out, NULL);
    out_table(out, "fields");
    abut_status status = verify ? abut_field_cache_verify(tool->context, folder, print_field, &view)
                                : abut_field_cache_list(tool->context, folder, print_field, &view);
    out_end(out);
    out_table(out, "samples");
    if (!status)
        status = abut_samples_cache_list(tool->context, folder, print_samples, &view);
    out_end(out);
    json_count(out, "stored_bytes", view.bytes);
    json_count(out, "damaged", view.damaged);
    if (!tool->quiet && !status && view.samples)
        print_line(out, "%" PRIu64 " field%s, %" PRIu64 " file%s of samples, %.2f MB", view.fields,
                   plural(view.fields), view.samples, plural(view.samples),
                   (double)view.bytes / 1e6);
    else if (!tool->quiet && !status && view.fields)
        print_line(out, "%" PRIu64 " field%s, %.2f MB", view.fields, plural(view.fields),
                   (double)view.bytes / 1e6);
    else if (!tool->quiet && !status)
        print_line(out, "the cache is empty");
    if (view.problems.data) {
        view.problems.data[view.problems.used - 1] = 0; /* the last newline */
        print_line(out, "%s", view.problems.data);
    }
    int code = verify && view.damaged ? CODE_WORK : CODE_FINE;
    if (status)
        code = tool_report_error(tool, status);
    out_end(out);
    return code;
}

static void clear_cache(tool_run *tool, const char *folder, const tool_given *older) {
    tool_output *out = &tool->out;
    uint64_t files, bytes, more_files, more_bytes;
    const double age = older ? 86400 * older->numbers[0] : 0;
    ensure(abut_field_cache_clear(tool->context, folder, age, &files, &bytes));
    ensure(abut_samples_cache_clear(tool->context, folder, age, &more_files, &more_bytes));
    files += more_files;
    bytes += more_bytes;
    out_object(out, NULL);
    json_count(out, "removed", files);
    json_count(out, "bytes", bytes);
    if (!tool->quiet)
        print_line(out, "removed %" PRIu64 " file%s, %.2f MB", files, plural(files),
                   (double)bytes / 1e6);
    out_end(out);
    answer(tool, "%" PRIu64, files);
}

static int run_cache(tool_run *tool, const tool_arguments *arguments) {
    const char *what = arguments->operands[0];
    const char *folder = arguments->operand_count > 1 ? arguments->operands[1] : "";
    const tool_given *older = option_given(arguments, "older");
    if (!word_in(what, "ls|verify|clear"))
        tool_refuse(tool, "'%s' is not one of ls, verify and clear", what);
    if (older && strcmp(what, "clear") != 0)
        tool_refuse(tool, "--older applies to 'abut cache clear' only");
    if (strcmp(what, "clear") == 0) {
        clear_cache(tool, folder, older);
        return CODE_FINE;
    }
    return list_entries(tool, folder, strcmp(what, "verify") == 0);
}

static const tool_option options[] = {
    OPTION("older", "DAYS", POSITIVE, "clear: only files that were not used for this many days"),
    {0}};

const tool_command command_cache = {
    .name = "cache",
    .operands = "ls|verify|clear [FOLDER]",
    .summary = "list, verify or remove the fields and samples cached on disk",
    .about = "Manages the signed distance fields and samples that '--cache' stores, one file for "
             "each mesh and options: 'ls' lists them, 'verify' also reads them to find damage, and "
             "'clear' removes them. The default folder is ~/.cache/abut/fields, or 'fields' in "
             "ABUT_CACHE_DIR. Damaged files are replaced at their next use.",
    .examples = "  abut field bunny.obj --cells 256 --cache\n"
                "  abut cache ls\n"
                "  abut cache verify --json\n"
                "  abut cache clear --older 30\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_cache,
};
