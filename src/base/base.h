/* What every floor above uses: errors, memory, tasks, progress, checked sizes, files. */
#ifndef ABUTI_BASE_H
#define ABUTI_BASE_H

#include <abut/base.h>

#include <stdio.h>

#if defined(__MINGW32__) && !defined(__clang__)
#define ABUTI_PRINTF(format_index, first) __attribute__((format(gnu_printf, format_index, first)))
#elif defined(__GNUC__)
#define ABUTI_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define ABUTI_PRINTF(format_index, first)
#endif

/* Stores the sentence for abut_last_error() and returns `status`, so that failing is one line:
 *     return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_x_y: radius is %g; it must be positive", r);
 */
abut_status abuti_fail(abut_status status, const char *format, ...) ABUTI_PRINTF(2, 3);
/* The same for an argument that is null and must not be. */
abut_status abuti_null(const char *function, const char *argument);
/* The same for a number that is not from `least` to `most`; `unit` ends the sentence. ABUT_OK if
 * the number is in the range. */
abut_status abuti_check_range(const char *function, const char *argument, double number,
                              double least, double most, const char *unit);
/* The same for a length: from 0 to ABUT_COORDINATE_MAX, in the unit of the coordinates. */
abut_status abuti_check_length(const char *function, const char *argument, double length);

/* Copies text with everything that is not printable UTF-8 as \xNN; always ends it. */
void abuti_escape(const char *text, char *out, size_t out_bytes);

/* Reads an options structure of a caller who may have been compiled against an older, shorter one:
 * copies what is there over the defaults. Fails on a size of 0 or beyond ours. Null options are
 * allowed and change nothing. */
abut_status abuti_options_read(void *ours, size_t ours_bytes, const void *theirs, const char *what);

/* The name of an enumerator out of a table of them; null beyond its end. */
#define ABUTI_NAME(names, value) \
    ((size_t)(value) < sizeof(names) / sizeof *(names) ? (names)[value] : NULL)

/* Of a clock that only goes forward. */
double abuti_seconds(void);

/* ---- context ---- */

/* Never null afterwards: the built-in context stands in for null. */
abut_context *abuti_context_of(abut_context *context);
abut_context *abuti_context_retain(abut_context *context);
/* From here on, threads, progress and cancellation of this thread's work are those of `context`,
 * also inside objects of other contexts. The outermost call decides: inside another one nothing
 * changes. Returns what abuti_context_leave() needs. Memory still comes from the context of each
 * object. */
abut_context *abuti_context_enter(abut_context *context);
void abuti_context_leave(abut_context *before);
uint32_t abuti_context_threads(const abut_context *context);
void abuti_log(abut_context *context, abut_log_level level, const char *format, ...)
    ABUTI_PRINTF(3, 4);
/* ABUT_OK, or ABUT_ERROR_CANCELLED with the error set. Call from the entering thread only. */
abut_status abuti_progress(abut_context *context, const char *stage, double fraction);
/* Sets the fraction that abuti_stop() reports from now on, without a call of the callback. Of no
 * effect on threads that help another one. Who sets it sets it back to 0 at the end. */
void abuti_set_fraction(double fraction);
/* For loops that cannot return a status: whether to give up, since the callback says so. May be
 * called from any thread and as often as every microsecond; asks some fifty times a second. The
 * function that entered such a loop then makes a status of it, before it uses what is unfinished:
 * ABUT_OK, or ABUT_ERROR_CANCELLED with the error set. abuti_progress() does so too. */
bool abuti_stop(abut_context *context, const char *stage);
/* How long abuti_stop() waits before it asks the callback again; tests, which count calls, make it
 * infinite. */
extern double abuti_ask_seconds;
abut_status abuti_stop_status(const char *stage);

/* ---- memory ---- */

/* count x element_bytes of uninitialised memory, aligned to 64. Null with the error set where there
 * is none or the product overflows; the caller returns ABUT_ERROR_MEMORY. A count of 0 gives a
 * valid pointer. */
void *abuti_allocate(abut_context *context, size_t count, size_t element_bytes);
/* The same, zeroed. */
void *abuti_allocate_zeroed(abut_context *context, size_t count, size_t element_bytes);
/* Null is allowed. */
void abuti_release(abut_context *context, void *memory);
/* The same for several: ABUTI_RELEASE(context, s->keys, s->values, s); */
void abuti_release_list(abut_context *context, void *const *list, size_t count);
#define ABUTI_RELEASE(context, ...)                           \
    abuti_release_list(context, (void *const[]){__VA_ARGS__}, \
                       sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Makes room for `wanted` elements, and for half as many again as there was room for, in the array
 * that `array` is the address of and that has `count`; it may move. Null with no room to begin
 * with. On failure all is as before. */
abut_status abuti_grow(abut_context *context, void *array, size_t count, size_t wanted,
                       size_t element_bytes, size_t *room);

/* An array that grows and is kept; zeroed, it is empty. */
typedef struct abuti_vector {
    void *data;
    size_t count, room;
} abuti_vector;
/* Makes room for `room` elements in all, at least one, and keeps those that are there. */
abut_status abuti_vector_reserve(abut_context *context, abuti_vector *vector, size_t room,
                                 size_t element_bytes);

/* The number of the lowest bit that is set; there must be one. */
static inline uint32_t abuti_lowest_bit(uint32_t bits) {
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctz(bits);
#else
    uint32_t k = 0;
    for (; !(bits >> k & 1); k++)
        continue;
    return k;
#endif
}

bool abuti_multiply_overflows(size_t a, size_t b, size_t *product);
bool abuti_add_overflows(size_t a, size_t b, size_t *sum);

/* ---- tasks ---- */

/* Calls body(data, chunk, begin, end) for consecutive ranges of at most `grain` items that cover
 * [0, count). How items fall into chunks depends on count and grain alone, so that sums kept by
 * chunk and added in order do not depend on the number of threads. */
void abuti_parallel_for(abut_context *context, size_t count, size_t grain,
                        void (*body)(void *data, size_t chunk, size_t begin, size_t end),
                        void *data);
/* The same for work that may last: once the callback says so, no more chunks are begun, and what
 * was to be made is unfinished. ABUT_OK or ABUT_ERROR_CANCELLED. */
abut_status abuti_parallel_try(abut_context *context, const char *stage, size_t count, size_t grain,
                               void (*body)(void *data, size_t chunk, size_t begin, size_t end),
                               void *data);
static inline size_t abuti_chunk_count(size_t count, size_t grain) {
    return count / grain + (count % grain != 0);
}

/* Memory that is about to be written from end to end, for the first time perhaps: gets its pages
 * now, where the system can, each large one by one thread. Nothing but speed changes. */
void abuti_get_pages(abut_context *context, void *memory, size_t bytes);

/* ---- files ---- */

/* A stream of bytes from a file or from memory, read forwards once through a window. */
typedef struct abuti_source {
    abut_context *context;
    const char *name;           /* for messages */
    int descriptor;             /* of the file; -1 when reading memory */
    unsigned char *buffer;      /* owned window of a file */
    const unsigned char *start; /* first byte of the window */
    const unsigned char *at;    /* next byte */
    const unsigned char *end;   /* one past the last byte in the window */
    uint64_t consumed;          /* bytes that left earlier windows */
    uint64_t total;             /* size of the whole, or 0 where unknown (a pipe) */
    uint64_t left;              /* bytes that the file may still give */
    bool failed;                /* the operating system reported a read error, or cancelled */
    bool cancelled;             /* by the progress callback */
    const char *stage;          /* of progress; null = the callback is not asked */
} abuti_source;

/* Paths that stand for the streams of the process, whether or not the system has such files. */
#define ABUTI_STANDARD_INPUT "/dev/stdin"
#define ABUTI_STANDARD_OUTPUT "/dev/stdout"

abut_status abuti_source_open(abuti_source *source, abut_context *context, const char *path);
/* The same with a file that is open already, which the source closes; if the descriptor is
 * negative, it was not opened, and errno says why. */
abut_status abuti_source_open_descriptor(abuti_source *source, abut_context *context,
                                         int descriptor, const char *path);
void abuti_source_memory(abuti_source *source, abut_context *context, const void *data,
                         size_t bytes, const char *name);
void abuti_source_close(abuti_source *source);
/* Goes to a part of a file, which from now on is all that there is. */
abut_status abuti_source_seek(abuti_source *source, uint64_t offset, uint64_t bytes);
/* Makes at least `wanted` bytes (at most ABUTI_SOURCE_LOOKAHEAD) visible at `at` if the stream has
 * them; returns how many are visible. */
size_t abuti_source_fill(abuti_source *source, size_t wanted);
#define ABUTI_SOURCE_LOOKAHEAD 4096
/* Copies the next `bytes` bytes, past the window where they are many; returns how many there were.
 */
size_t abuti_source_read(abuti_source *source, void *to, size_t bytes);
static inline uint64_t abuti_source_offset(const abuti_source *source) {
    return source->consumed + (uint64_t)(source->at - source->start);
}

/* The status of what was read: a source that was cancelled looks cut off to its reader. */
abut_status abuti_source_outcome(const abuti_source *source, abut_status status);

/* A file that appears under its name only when complete: written beside it, synced, renamed. What
 * is not a regular file (a pipe, /dev/stdout) is written directly. Errors are kept and reported by
 * the commit, so that writers need not check every call. */
typedef struct abuti_sink {
    abut_context *context;
    char *path, *temporary; /* temporary is null when written directly */
    FILE *file;
    int folder;          /* open, and closed at the end; or ABUTI_NO_FOLDER */
    size_t folder_bytes; /* of the temporary's path */
    bool nameless;       /* the temporary gets its name from the commit */
    int error;           /* first errno */
    bool expendable;     /* readers verify the file: it is not synced before it is renamed */
} abuti_sink;

abut_status abuti_sink_open(abuti_sink *sink, abut_context *context, const char *path);
/* The same for a file that readers verify, in a folder that is open (abuti_system_open_private()),
 * which the sink closes in any case: only the user can read and write it, and what has its name,
 * also a symbolic link, is replaced and never followed. */
abut_status abuti_sink_open_in(abuti_sink *sink, abut_context *context, int folder,
                               const char *path);
void abuti_sink_write(abuti_sink *sink, const void *data, size_t bytes);
void abuti_sink_print(abuti_sink *sink, const char *format, ...) ABUTI_PRINTF(2, 3);
/* Either of these ends the sink. */
abut_status abuti_sink_commit(abuti_sink *sink);
void abuti_sink_discard(abuti_sink *sink);

#endif
