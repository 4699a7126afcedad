/* Pages that show a running command: --live. */
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE 0.1 /* seconds of waiting between tests for cancellation */

struct tool_live {
    abut_live *live;
    bool *movable; /* of the names */
    const char **names;
    size_t room;
    uint64_t frames;
    double next; /* time of the next frame */
    bool is_paused;
    uint32_t steps; /* frames to show while it is paused */
    abut_live_event events[ABUT_LIVE_EVENT_MAX];
    size_t event_count;
};

void live_check(tool_run *tool, const tool_arguments *arguments) {
    if (option_given(arguments, "port") && !option_given(arguments, "live"))
        tool_refuse(tool, "--port requires --live");
    if (option_given(arguments, "live") && tool->out.json)
        tool_refuse(tool, "--json does not apply to --live");
}

void live_open(tool_run *tool, const tool_arguments *arguments, uint32_t controls) {
    const tool_given *live = option_given(arguments, "live"),
                     *port = option_given(arguments, "port");
    abut_live_options options = abut_live_options_default();
    abut_live_info info = abut_live_info_default();
    tool_text script = {0}, title = {0};
    if (!live)
        return;
    option_range(tool, port, 1, 65535, "");
    tool_live *made = tool_alloc(sizeof *made);
    view_script(tool, &script);
    for (size_t i = 0; i < arguments->operand_count && i < 4; i++) {
        text_add(&title, i ? ", " : "");
        text_safe(&title, path_name(arguments->operands[i]));
    }
    options.script = script.data;
    options.script_bytes = script.used;
    options.port = port ? port->counts[0] : 0;
    options.title = text_of(&title);
    options.command = tool->command->name;
    options.unit = option_words(arguments, "unit", NULL);
    options.controls = controls;
    ensure(abut_live_create(tool->context, &options, &made->live));
    ensure(abut_live_get_info(made->live, &info));
    tool->live = made;
    fprintf(stderr, "abut: open %s in a browser of this machine; Ctrl-C ends it\n", info.url);
    fflush(stderr);
    text_free(&script);
    text_free(&title);
}

void live_close(tool_run *tool) {
    tool_live *live = tool->live;
    tool->live = NULL;
    if (live)
        abut_live_destroy(live->live);
}

/* The name of a colour in the legend, or null. */
static const char *name_of(const tool_legend *legend, abut_colour colour) {
    for (uint32_t i = 0; legend && i < legend->count; i++) {
        const abut_colour c = legend->entries[i].colour;
        if (fabsf(c.r - colour.r) + fabsf(c.g - colour.g) + fabsf(c.b - colour.b) < 0.004f)
            return legend->entries[i].words;
    }
    return NULL;
}

void live_show(tool_run *tool, const abut_picture *picture, const live_caption *caption) {
    tool_live *live = tool->live;
    const size_t count = abut_picture_item_count(picture);
    abut_live_frame frame = abut_live_frame_default();
    if (!live)
        return;
    while (live->room < count) {
        live->room = 2 * live->room + count;
        live->names = tool_resize(live->names, live->room, sizeof *live->names);
    }
    for (size_t i = 0; i < count; i++) {
        abut_picture_item item = abut_picture_item_default();
        ensure(abut_picture_get_item(picture, i, &item));
        if (!item.mesh)
            break;
        live->names[i] = caption->names ? caption->names[i] : name_of(caption->legend, item.colour);
    }
    frame.names = live->names;
    frame.movable = caption->movable;
    frame.text = caption->text;
    frame.line_name = caption->line_name;
    frame.point_name = caption->point_name;
    ensure(abut_live_show(live->live, picture, &frame));
}

size_t live_poll(tool_run *tool, double seconds, abut_live_event events[ABUT_LIVE_EVENT_MAX]) {
    abut_live_event_list list = {events, ABUT_LIVE_EVENT_MAX, 0};
    const double end = seconds_now() + seconds;
    for (;;) {
        const double left = end - seconds_now();
        ensure(abut_live_poll(tool->live->live, fmin(fmax(left, 0), SLICE), &list));
        if (tool_cancelled())
            tool_fail(tool, ABUT_ERROR_CANCELLED);
        if (list.count || left <= SLICE)
            return (size_t)list.count;
    }
}

/* Waits for events, and responds to those of pauses. */
static void control_frames(tool_run *tool, double seconds) {
    tool_live *live = tool->live;
    const size_t count = live_poll(tool, seconds, live->events);
    live->event_count = 0;
    for (size_t i = 0; i < count; i++) {
        const abut_live_event event = live->events[i];
        if (event.kind == ABUT_LIVE_EVENT_CONTINUE)
            live->is_paused = false;
        else if (event.kind == ABUT_LIVE_EVENT_PAUSE || event.kind == ABUT_LIVE_EVENT_STEP)
            live->is_paused = true;
        else
            live->events[live->event_count++] = event;
        live->steps += event.kind == ABUT_LIVE_EVENT_STEP;
    }
}

const abut_live_event *live_events(const tool_run *tool, size_t *count) {
    *count = tool->live ? tool->live->event_count : 0;
    return tool->live ? tool->live->events : NULL;
}

/* Waits until a page is open. */
static void wait_for_page(tool_run *tool) {
    abut_live_info info = abut_live_info_default();
    progress_erase(tool->progress);
    do {
        control_frames(tool, SLICE / 2);
        ensure(abut_live_get_info(tool->live->live, &info));
    } while (!info.page_count);
}

bool live_show_frame(tool_run *tool, const abut_picture *picture, const live_caption *caption,
                     double seconds) {
    tool_live *live = tool->live;
    tool_text text = {0};
    live_caption shown = *caption;
    if (!live)
        return true;
    text_print(&text, "frame %llu, %.2f s", (unsigned long long)live->frames,
               (double)live->frames * seconds);
    if (caption->text)
        text_print(&text, "\n%s", caption->text);
    shown.text = text_of(&text);
    live_show(tool, picture, &shown);
    text_free(&text);
    if (!live->frames)
        wait_for_page(tool);
    const double wait = live->next - seconds_now();
    control_frames(tool, live->is_paused ? SLICE : fmax(0, wait));
    if (live->is_paused && !live->steps)
        return false;
    live->frames++;
    live->steps -= live->steps > 0;
    live->next = fmax(live->next + seconds, seconds_now());
    return true;
}
