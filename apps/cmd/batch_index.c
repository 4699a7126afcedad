/* The index page of a batch: all inputs with their pictures and links to their outputs. It needs
 * no script. Its links are relative to the output folder, which can be moved as a whole. */
#include "batch.h"

#include <string.h>
#include <sys/stat.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>abut batch</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n"
    ":root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6675; --back: #f6f7f9;\n"
    "        --card: #fff; --accent: #2f6fae; --bad: #b3261e }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf1; --soft: #9aa5b4;\n"
    "        --back: #16191f; --card: #20252d; --accent: #7ab2e8; --bad: #f28b82 } }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em;\n"
    "       padding: 0 1.2em; color: var(--ink); background: var(--back) }\n"
    "h1 { font-size: 1.4em } p { color: var(--soft) } a { color: var(--accent) }\n"
    "main { display: grid; gap: 1.2em; align-items: start;\n"
    "       grid-template-columns: repeat(auto-fill, minmax(19em, 1fr)) }\n"
    "section { background: var(--card); border-radius: 10px; overflow: hidden;\n"
    "          box-shadow: 0 1px 8px #0001 }\n"
    "h2 { font-size: 1em; margin: .7em .9em .2em; overflow-wrap: anywhere }\n"
    "img { width: 100%; display: block; background: #fff }\n"
    "ul { margin: .2em 0 .9em; padding: 0 .9em; list-style: none; overflow-wrap: anywhere }\n"
    "small { color: var(--soft) } .bad { color: var(--bad) }\n"
    "</style>\n";

/* Adds a path as the target of a link. */
static void add_address(tool_text *to, const char *path) {
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
            strchr("-._~/", *c))
            text_bytes(to, (const char *)c, 1);
        else
            text_print(to, "%%%02X", *c);
}

static void add_name(tool_text *to, const char *name) {
    tool_text safe = {0};
    text_safe(&safe, name);
    text_html(to, safe.data ? safe.data : "");
    to->failed = to->failed || safe.failed;
    text_free(&safe);
}

static bool is_there(const char *folder, const batch_job *job) {
    tool_text path = {0};
    struct stat about;
    text_print(&path, "%s/%s", folder, job->output);
    bool there = !path.failed && stat(path.data, &about) == 0 && S_ISREG(about.st_mode);
    text_free(&path);
    return there && job->state != JOB_FAILED;
}

/* Adds the pictures first, then a line for each job. */
static void add_input(tool_text *to, const char *folder, const batch_job *jobs, size_t count) {
    text_add(to, "<section>\n");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(path_ending(jobs[i].output), "png") != 0 || !is_there(folder, &jobs[i]))
            continue;
        text_add(to, "<a href=\"");
        add_address(to, jobs[i].output);
        text_add(to, "\"><img loading=\"lazy\" alt=\"\" src=\"");
        add_address(to, jobs[i].output);
        text_add(to, "\"></a>\n");
    }
    text_add(to, "<h2>");
    add_name(to, jobs[0].input);
    text_add(to, "</h2>\n<ul>\n");
    for (size_t i = 0; i < count; i++) {
        text_add(to, "<li>");
        if (is_there(folder, &jobs[i])) {
            text_add(to, "<a href=\"");
            add_address(to, jobs[i].output);
            text_add(to, "\">");
            add_name(to, jobs[i].output);
            text_add(to, "</a> <small>");
            add_name(to, jobs[i].words);
            text_add(to, "</small>");
        } else {
            add_name(to, jobs[i].words);
            text_add(to, ": <span class=\"bad\">");
            add_name(to, jobs[i].error                 ? jobs[i].error
                         : jobs[i].state == JOB_FAILED ? "failed"
                                                       : "not finished");
            text_add(to, "</span>");
        }
        text_add(to, "</li>\n");
    }
    text_add(to, "</ul>\n</section>\n");
}

abut_status batch_index(tool_run *tool, const char *folder, const batch_jobs *jobs) {
    tool_text page = {0}, path = {0};
    size_t made = 0;
    for (size_t i = 0; i < jobs->count; i++)
        made += is_there(folder, &jobs->list[i]);
    text_add(&page, head);
    text_print(
        &page,
        "<h1>abut batch</h1>\n<p>%zu of %zu outputs exist. Written by abut %s.</p>\n<main>\n", made,
        jobs->count, abut_version());
    for (size_t i = 0, end; i < jobs->count; i = end) {
        for (end = i + 1; end < jobs->count; end++)
            if (strcmp(jobs->list[i].input, jobs->list[end].input) != 0)
                break;
        add_input(&page, folder, jobs->list + i, end - i);
    }
    text_add(&page, "</main>\n</html>\n");
    text_print(&path, "%s/index.html", folder);
    struct stat about;
    abut_status status;
    if (page.failed || path.failed)
        status = abut_set_error(ABUT_ERROR_MEMORY, "not enough memory for the index");
    else if (lstat(path.data, &about) == 0 && S_ISLNK(about.st_mode))
        status = abut_set_error(ABUT_ERROR_FILE, "index.html: is a symbolic link, which could "
                                                 "point outside the folder of --out; remove it");
    else
        status = abut_context_write_file(tool->context, path.data, page.data, page.used);
    text_free(&page);
    text_free(&path);
    return status;
}
