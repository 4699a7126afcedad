/* The page of a batch, FOLDER/index.html: all inputs, with pictures of them and links to their
 * outputs. It needs no script. Its links are relative to the output folder, which can be moved as a
 * whole. */
#include "batch.h"

#include <string.h>
#include <sys/stat.h>

int64_t batch_file_bytes(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : -1;
}

static const char index_head[] =
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

/* Adds words between two pieces of HTML. */
static void add_name(tool_text *to, const char *before, const char *name, const char *after) {
    tool_text safe = {0};
    text_safe(&safe, name);
    text_add(to, before);
    text_html(to, text_of(&safe));
    text_add(to, after);
}

static bool is_there(const char *folder, const batch_job *job) {
    tool_text path = {0};
    text_print(&path, "%s/%s", folder, job->output);
    return job->state != JOB_FAILED && batch_file_bytes(path.data) >= 0;
}

/* Adds the pictures of an input first, then a line for each job. */
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
    add_name(to, "<h2>", jobs[0].input, "</h2>\n<ul>\n");
    for (size_t i = 0; i < count; i++) {
        if (is_there(folder, &jobs[i])) {
            text_add(to, "<li><a href=\"");
            add_address(to, jobs[i].output);
            add_name(to, "\">", jobs[i].output, "</a> <small>");
            add_name(to, "", jobs[i].words, "</small></li>\n");
        } else {
            add_name(to, "<li>", jobs[i].words, ": <span class=\"bad\">");
            add_name(to, "", jobs[i].error ? jobs[i].error : "not finished", "</span></li>\n");
        }
    }
    text_add(to, "</ul>\n</section>\n");
}

void batch_write_index(tool_run *tool, const char *folder, const batch_jobs *jobs) {
    tool_text page = {0}, path = {0};
    struct stat about;
    size_t made = 0;
    for (size_t i = 0; i < jobs->count; i++)
        made += is_there(folder, &jobs->list[i]);
    text_add(&page, index_head);
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
    if (lstat(path.data, &about) == 0 && S_ISLNK(about.st_mode))
        tool_fail_with(tool, "file error",
                       "index.html: is a symbolic link, which could point outside the folder of "
                       "--out; remove it");
    tool_make_context(tool);
    ensure(abut_context_write_file(tool->context, path.data, page.data, page.used));
}
