/* A progress bar on standard error of a terminal. It appears after START_SECONDS of work, is
 * redrawn a few times a second, and is erased before anything else is printed. Its callback also
 * cancels a call after a signal. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define START_SECONDS 0.3   /* seconds before the bar appears */
#define REDRAW_SECONDS 0.05 /* seconds between updates */
#define BAR_COLUMNS 24      /* columns */

struct progress {
    bool wanted, unicode, drawn;
    double started, drawn_at;
    size_t number, total;
    tool_text subject;
};

double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool terminal_width(int descriptor, size_t *width) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    uint32_t count;
    if (columns && read_count(columns, &count) && count <= 10000) {
        *width = count;
        return true;
    }
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return false;
    *width = size.ws_col;
    return true;
}

struct progress *progress_create(bool wanted, bool unicode) {
    struct progress *progress = tool_alloc(sizeof *progress);
    const char *term = getenv("TERM");
    progress->wanted = wanted && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    progress->unicode = unicode;
    progress->started = seconds_now();
    return progress;
}

void progress_start(struct progress *progress, const char *subject) {
    if (!progress)
        return;
    progress_erase(progress);
    progress->started = seconds_now();
    text_clear(&progress->subject);
    text_safe(&progress->subject, path_name(subject));
}

void progress_number(struct progress *progress, size_t number, size_t total) {
    if (!progress)
        return;
    progress->number = number;
    progress->total = total;
}

/* Formats "3/40 SUBJECT: stage", or without numbers. If the stage names the file itself
 * ("reading /models/bunny.obj"), only its first word is used. */
static void add_label(tool_text *to, const struct progress *progress, const char *stage) {
    const char *subject = text_of(&progress->subject);
    tool_text safe = {0};
    text_safe(&safe, stage);
    const char *words = text_of(&safe);
    size_t length = *subject && strstr(words, subject) ? strcspn(words, " ") : strlen(words);
    if (progress->total)
        text_print(to, "%zu/%zu ", progress->number, progress->total);
    text_print(to, "%s%s%.*s", subject, *subject ? ": " : "", (int)length, words);
    text_free(&safe);
}

static void draw_progress_bar(struct progress *progress, const char *stage, double fraction) {
    size_t width = 80;
    terminal_width(STDERR_FILENO, &width);
    tool_text line = {0};
    add_label(&line, progress, stage);
    size_t columns = line.data ? text_columns(line.data) : 0;
    bool fits = columns + BAR_COLUMNS + 8 < width;
    if (fits) {
        int full = (int)(fraction * BAR_COLUMNS + 0.5);
        text_add(&line, "  ");
        for (int i = 0; i < BAR_COLUMNS; i++)
            text_add(&line, i < full            ? progress->unicode ? "\u2588" : "#"
                            : progress->unicode ? "\u2591"
                                                : ".");
    }
    if (columns + 6 < width) /* shorter than the line of the terminal */
        fprintf(stderr, "\r%s %3d%%\033[K", text_of(&line), (int)(100 * fraction));
    fflush(stderr);
    progress->drawn = true;
    text_free(&line);
}

bool progress_report(void *user, const char *stage, double fraction) {
    struct progress *progress = user;
    if (tool_cancelled())
        return false;
    if (!progress || !progress->wanted)
        return true;
    double time = seconds_now();
    if (time - progress->started < START_SECONDS || time - progress->drawn_at < REDRAW_SECONDS)
        return true;
    progress->drawn_at = time;
    draw_progress_bar(progress, stage ? stage : "working", fmin(fmax(fraction, 0), 1));
    return true;
}

void progress_erase(struct progress *progress) {
    if (!progress || !progress->drawn)
        return;
    fprintf(stderr, "\r\033[K");
    fflush(stderr);
    progress->drawn = false;
    progress->drawn_at = 0;
}

void progress_step(tool_run *tool, const char *stage, uint64_t number, uint64_t count) {
    if (!progress_report(tool->progress, stage, (double)number / (double)count))
        tool_fail(tool, ABUT_ERROR_CANCELLED);
}

void progress_frame(tool_run *tool, uint64_t number, uint64_t count) {
    char stage[64];
    snprintf(stage, sizeof stage, "frame %llu of %llu", (unsigned long long)number,
             (unsigned long long)count);
    progress_step(tool, stage, number, count);
}
