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

static void print_json(tool_output *out, const abut_field_cache_entry *entry) {
    const abut_field_info *info = entry->info;
    const double counts[3] = {info->grid.count[0], info->grid.count[1], info->grid.count[2]};
    if (entry->mesh[0])
        json_text(out, "mesh", entry->mesh);
    else
        json_null(out, "mesh");
    json_path(out, "file", entry->path);
    json_count(out, "stored_bytes", entry->stored_bytes);
    json_number(out, "age_s", entry->age);
    if (info->bytes) {
        json_numbers(out, "count", counts, 3);
        json_number(out, "cell", info->grid.cell);
        json_text(out, "layout", abut_field_layout_name(info->layout));
        json_text(out, "type", abut_field_type_name(info->type));
        json_number(out, "band", info->band);
        json_count(out, "bytes", info->bytes);
    }
    json_text(out, "problem", entry->problem);
}

/* Prints the last columns of a row in text output. */
static void print_state(cache_view *view, uint64_t bytes, double age, const char *problem) {
    char words[32];
    print_age(words, sizeof words, age);
    print_fact(view->out, "on disk", "%.2f MB", (double)bytes / 1e6);
    print_fact(view->out, "used", "%s", words);
    if (view->verified) {
        out_shade(view->out, problem ? SHADE_BAD : SHADE_GOOD);
        print_fact(view->out, "state", "%s", problem ? "damaged" : "fine");
    }
    if (problem) {
        text_safe(&view->problems, problem);
        text_add(&view->problems, "\n");
    }
}

static bool print_entry(void *user, const abut_field_cache_entry *entry) {
    cache_view *view = user;
    tool_output *out = view->out;
    const uint32_t *n = entry->info->grid.count;
    bool known = entry->info->bytes > 0;
    view->fields++;
    view->damaged += entry->problem != NULL;
    view->bytes += entry->stored_bytes;
    out_object(out, NULL);
    if (out->json) {
        print_json(out, entry);
        out_end(out);
        return true;
    }
    print_fact(out, "mesh", "%.12s", known ? entry->mesh : "?");
    if (known)
        print_fact(out, "cells", "%u x %u x %u", n[0], n[1], n[2]);
    else
        print_fact(out, "cells", "?");
    print_fact(out, "layout", "%s%s", known ? abut_field_layout_name(entry->info->layout) : "?",
               known && entry->info->type == ABUT_FIELD_INT16 ? ", 16 bits" : "");
    print_fact(out, "memory", "%.2f MB", (double)entry->info->bytes / 1e6);
    print_state(view, entry->stored_bytes, entry->age, entry->problem);
    out_end(out);
    return true;
}

static bool print_samples(void *user, const abut_samples_cache_entry *entry) {
    cache_view *view = user;
    tool_output *out = view->out;
    view->samples++;
    view->damaged += entry->problem != NULL;
    view->bytes += entry->stored_bytes;
    out_object(out, NULL);
    if (out->json) {
        json_text(out, "mesh", entry->mesh[0] ? entry->mesh : NULL);
        json_path(out, "file", entry->path);
        json_count(out, "stored_bytes", entry->stored_bytes);
        json_number(out, "age_s", entry->age);
        if (entry->mesh[0]) {
            json_count(out, "samples", entry->count);
            json_count(out, "edges", entry->edge_count);
        }
        json_text(out, "problem", entry->problem);
    } else {
        char samples[16] = "?", edges[16] = "?";
        if (entry->mesh[0]) {
            snprintf(samples, sizeof samples, "%u", entry->count);
            snprintf(edges, sizeof edges, "%u", entry->edge_count);
        }
        print_fact(out, "mesh", "%.12s", entry->mesh[0] ? entry->mesh : "?");
        print_fact(out, "samples", "%s", samples);
        print_fact(out, "edges", "%s", edges);
        print_state(view, entry->stored_bytes, entry->age, entry->problem);
    }
    out_end(out);
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
    abut_status status = verify ? abut_field_cache_verify(tool->context, folder, print_entry, &view)
                                : abut_field_cache_list(tool->context, folder, print_entry, &view);
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
