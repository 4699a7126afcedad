/* Private functions that all modules use: errors, memory, tasks, progress, overflow checks, files.
 */
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

/* Marks the private functions that libabut_picture and libabut_figures call. The shared library
 * exports them; they are no part of its interface, and the libraries must have the same version. */
#define ABUTI_API ABUT_API

/* Stores the message for abut_last_error() and returns `status`, so that a failure is one
 * statement:
 *       return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_x_y: radius is %g; it must be positive", r);
 */
ABUTI_API abut_status abuti_fail(abut_status status, const char *format, ...) ABUTI_PRINTF(2, 3);
/* Fails with ABUT_ERROR_ARGUMENT because the argument is null. */
ABUTI_API abut_status abuti_null(const char *function, const char *argument);
/* The same for a number that is not from `least` to `most`; `unit` ends the sentence. ABUT_OK if
 * the number is in the range. */
abut_status abuti_check_range(const char *function, const char *argument, double number,
                              double least, double most, const char *unit);
/* The same for a length: from 0 to ABUT_COORDINATE_MAX, in the unit of the coordinates. */
abut_status abuti_check_length(const char *function, const char *argument, double length);

/* Copies the text and replaces every byte that is not part of printable UTF-8 by \xNN. Truncates to
 * out_bytes and always terminates the copy. */
void abuti_escape(const char *text, char *out, size_t out_bytes);

/* Copies an options struct over the defaults in `ours`. The caller may have been compiled against
 * an older, shorter struct; the remaining fields keep their defaults. Fails if its size field is
 * below sizeof(size_t) or above ours_bytes. Null options are allowed and change nothing. */
ABUTI_API abut_status abuti_options_read(void *ours, size_t ours_bytes, const void *theirs,
                                         const char *what);

/* Copies `ours` to a struct of the caller, who may have been compiled against an older, shorter
 * struct: copies as many bytes as its size field says and keeps that field. Fails if the size is 0
 * or above ours_bytes. abuti_info_check() only checks the size. */
abut_status abuti_info_check(const void *theirs, size_t ours_bytes, const char *function);
ABUTI_API abut_status abuti_info_write(void *theirs, const void *ours, size_t ours_bytes,
                                       const char *function);

/* For a struct of the caller with lists, which is input and result. abuti_result_read() copies it
 * over `ours`, which it zeroes first, with the size check of abuti_info_write(). Fails if it is
 * null; `name` is the argument. abuti_result_write() copies it back after success and after
 * ABUT_ERROR_BUFFER, and returns `status`. */
abut_status abuti_result_read(void *ours, size_t ours_bytes, const void *theirs,
                              const char *function, const char *name);
abut_status abuti_result_write(void *theirs, const void *ours, abut_status status);

/* ---- output lists (ABUT_LIST) ---- */

/* Validates a list of the caller: fails if the array is null but the capacity is not 0, or if the
 * capacity exceeds the address space. */
abut_status abuti_list_check(const char *function, const char *name, const void *list,
                             uint64_t capacity, size_t element_bytes);
/* Stores the number of elements. Fails with ABUT_ERROR_BUFFER if it exceeds the capacity. */
abut_status abuti_list_count(const char *function, const char *name, uint64_t found,
                             uint64_t capacity, uint64_t *count);
/* The same, and copies the elements if the capacity suffices. */
abut_status abuti_list_write(const char *function, const char *name, const void *from,
                             uint64_t found, size_t element_bytes, void *list, uint64_t capacity,
                             uint64_t *count);
/* The same for a pointer to a structure with the members list, capacity and count. ABUTI_LIST_CHECK
 * also fails if the pointer, which is the argument `name` of the function, is null. */
#define ABUTI_LIST_CHECK(function, name, to) \
    (!(to) ? abuti_null(function, name) : ABUTI_LIST_CHECK_MEMBERS(function, name, to))
#define ABUTI_LIST_CHECK_MEMBERS(function, name, to) \
    abuti_list_check(function, name, (to)->list, (to)->capacity, sizeof *(to)->list)
#define ABUTI_LIST_COUNT(function, name, to, found) \
    abuti_list_count(function, name, found, (to)->capacity, &(to)->count)
#define ABUTI_LIST_WRITE(function, name, to, from, found)                                         \
    abuti_list_write(function, name, from, found, sizeof *(to)->list, (to)->list, (to)->capacity, \
                     &(to)->count)

/* The name of an enumerator from a table of names; null if the value is not in the table. */
#define ABUTI_NAME(names, value) \
    ((size_t)(value) < sizeof(names) / sizeof *(names) ? (names)[value] : NULL)

/* Seconds of a monotonic clock. */
double abuti_seconds(void);

/* ---- context ---- */

/* Returns the context, or the built-in context for null. */
ABUTI_API abut_context *abuti_context_of(abut_context *context);
ABUTI_API abut_context *abuti_context_retain(abut_context *context);
/* From here on, work of this thread uses the thread count, progress callback and cancellation of
 * `context`, also inside objects of other contexts. The outermost call decides: a nested call
 * changes nothing. Returns the value to pass to abuti_context_leave(). Memory still comes from the
 * context of each object. */
abut_context *abuti_context_enter(abut_context *context);
void abuti_context_leave(abut_context *before);
uint32_t abuti_context_threads(const abut_context *context);
void abuti_log(abut_context *context, abut_log_level level, const char *format, ...)
    ABUTI_PRINTF(3, 4);
/* Calls the progress callback. Returns ABUT_OK, or ABUT_ERROR_CANCELLED with the error set. Call it
 * only from the thread that entered the library. */
ABUTI_API abut_status abuti_progress(abut_context *context, const char *stage, double fraction);
/* Sets the fraction that abuti_stop() reports from now on, without calling the callback. Has no
 * effect on worker threads. The caller resets it to 0 at the end. */
void abuti_set_fraction(double fraction);
/* For loops that cannot return a status: true if the progress callback has cancelled the work. May
 * be called from any thread, even every microsecond; calls the callback about 50 times a second.
 * The function that started the loop then converts the flag into a status before it uses unfinished
 * results: abuti_stop_status() and abuti_progress() return ABUT_OK, or ABUT_ERROR_CANCELLED with
 * the error set. */
ABUTI_API bool abuti_stop(abut_context *context, const char *stage);
/* Seconds between two calls of the callback by abuti_stop(). Tests that count calls set it to
 * infinity. */
extern double abuti_progress_interval;
ABUTI_API abut_status abuti_stop_status(const char *stage);

/* ---- memory ---- */

/* Allocates count * element_bytes of uninitialised memory, aligned to 64 bytes. Returns null with
 * the error set if there is no memory or the product overflows; the caller returns
 * ABUT_ERROR_MEMORY. A count of 0 returns a valid pointer. */
ABUTI_API void *abuti_allocate(abut_context *context, size_t count, size_t element_bytes);
/* As abuti_allocate(), filled with zeros. */
ABUTI_API void *abuti_allocate_zeroed(abut_context *context, size_t count, size_t element_bytes);
/* Allocates several arrays, for example
 *       ABUTI_ALLOCATE(context, ABUTI_ARRAY(s.keys, n), ABUTI_ZEROED(s.counts, n))
 * All or none: if there is no memory for one of them, all pointers are null. */
typedef struct abuti_allocation {
    void *pointer; /* address of the pointer to the array */
    size_t count, element_bytes;
    bool is_zeroed;
} abuti_allocation;
abut_status abuti_allocate_list(abut_context *context, const abuti_allocation *list, size_t count);
#define ABUTI_ARRAY(pointer, count) \
    { &(pointer), count, sizeof *(pointer), false }
#define ABUTI_ZEROED(pointer, count) \
    { &(pointer), count, sizeof *(pointer), true }
#define ABUTI_ALLOCATE(context, ...)                                      \
    abuti_allocate_list(context, (const abuti_allocation[]){__VA_ARGS__}, \
                        sizeof((const abuti_allocation[]){__VA_ARGS__}) / \
                            sizeof(abuti_allocation))
/* Releases memory of abuti_allocate(). Null is allowed. */
ABUTI_API void abuti_release(abut_context *context, void *memory);
/* Releases several pointers: ABUTI_RELEASE(context, s->keys, s->values, s); */
ABUTI_API void abuti_release_list(abut_context *context, void *const *list, size_t count);
#define ABUTI_RELEASE(context, ...)                           \
    abuti_release_list(context, (void *const[]){__VA_ARGS__}, \
                       sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Grows an array to a capacity (`*room`) of at least `wanted` elements and at least 1.5 times the
 * old capacity. `array` is the address of the pointer, which may change; the first `count` elements
 * are kept. The pointer is null if the capacity is 0. Nothing changes on failure. */
ABUTI_API abut_status abuti_grow(abut_context *context, void *array, size_t count, size_t wanted,
                                 size_t element_bytes, size_t *room);

/* A growing array that keeps its memory between uses; empty if zeroed. */
typedef struct abuti_vector {
    void *data;
    size_t count, room;
} abuti_vector;
/* Ensures a capacity of `room` elements, at least one. Keeps the elements. */
abut_status abuti_vector_reserve(abut_context *context, abuti_vector *vector, size_t room,
                                 size_t element_bytes);
/* Adds an uninitialised element and returns its address, or null with the error set. */
static inline void *abuti_vector_push(abut_context *context, abuti_vector *vector,
                                      size_t element_bytes) {
    if (vector->count == vector->room &&
        abuti_vector_reserve(context, vector, vector->count + 1, element_bytes))
        return NULL;
    return (unsigned char *)vector->data + element_bytes * vector->count++;
}
#define ABUTI_PUSH(context, vector, type) ((type *)abuti_vector_push(context, vector, sizeof(type)))
#define ABUTI_AT(vector, type, index) (((type *)(vector)->data)[index])
/* Empties the vector and returns its elements as an array of exactly that size, which the caller
 * releases; null with the error set if out of memory. */
void *abuti_vector_take(abut_context *context, abuti_vector *vector, size_t element_bytes);

/* Index of the lowest set bit; undefined for 0. */
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
 * [0, count). The chunks depend only on count and grain. Sums that are kept per chunk and added in
 * order therefore do not depend on the number of threads. */
ABUTI_API void abuti_parallel_for(abut_context *context, size_t count, size_t grain,
                                  void (*body)(void *data, size_t chunk, size_t begin, size_t end),
                                  void *data);
/* As abuti_parallel_for(), for long loops: no further chunk starts after the progress callback has
 * cancelled the work; the results are then incomplete. Returns ABUT_OK or ABUT_ERROR_CANCELLED. */
ABUTI_API abut_status
abuti_parallel_try(abut_context *context, const char *stage, size_t count, size_t grain,
                   void (*body)(void *data, size_t chunk, size_t begin, size_t end), void *data);
static inline size_t abuti_chunk_count(size_t count, size_t grain) {
    return count / grain + (count % grain != 0);
}

/* thread_pool.c: the pool that all contexts share.
 *
 * Calls task(data, i) for every i below count, at most 2^31, on the calling thread and on up to
 * `threads` - 1 helpers, and returns when all tasks are done. Inside a task of another run, all
 * tasks run on the calling thread. */
void abuti_pool_run(uint32_t threads, uint32_t count, void (*task)(void *data, uint32_t index),
                    void *data);

/* Number of threads if the context sets none: the environment variable ABUT_THREADS, or the
 * number of processors that this process may use. */
uint32_t abuti_pool_default_threads(void);
uint32_t abuti_pool_processors(void);

/* Populates the pages of memory that is about to be written completely, perhaps for the first time,
 * if the system supports that. One thread handles each large page. Affects only speed. */
void abuti_populate_pages(abut_context *context, void *memory, size_t bytes);

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
    uint64_t consumed;          /* bytes in earlier windows */
    uint64_t total;             /* size of the whole stream, or 0 if unknown (a pipe) */
    uint64_t left;              /* bytes that may still be read from the file */
    bool failed;       /* the operating system reported a read error, or the read was cancelled */
    bool cancelled;    /* by the progress callback */
    const char *stage; /* of progress; null = the callback is not called */
} abuti_source;

/* Paths that denote the standard streams, even on systems without such files. */
#define ABUTI_STANDARD_INPUT "/dev/stdin"
#define ABUTI_STANDARD_OUTPUT "/dev/stdout"

abut_status abuti_source_open(abuti_source *source, abut_context *context, const char *path);
/* As abuti_source_open() for an open file, which the source closes. If the descriptor is negative,
 * the file could not be opened and errno has the reason. */
abut_status abuti_source_open_descriptor(abuti_source *source, abut_context *context,
                                         int descriptor, const char *path);
void abuti_source_memory(abuti_source *source, abut_context *context, const void *data,
                         size_t bytes, const char *name);
void abuti_source_close(abuti_source *source);
/* Moves to a range of a file; from now on the stream consists of this range. */
abut_status abuti_source_seek(abuti_source *source, uint64_t offset, uint64_t bytes);
/* Makes at least `wanted` bytes (at most ABUTI_SOURCE_LOOKAHEAD) visible at `at` if the stream has
 * them. Returns the number of visible bytes. */
size_t abuti_source_fill(abuti_source *source, size_t wanted);
#define ABUTI_SOURCE_LOOKAHEAD 4096
/* Copies the next `bytes` bytes; reads long ranges directly, not through the window. Returns the
 * number of bytes copied, which is smaller at the end of the stream. */
size_t abuti_source_read(abuti_source *source, void *to, size_t bytes);
static inline uint64_t abuti_source_offset(const abuti_source *source) {
    return source->consumed + (uint64_t)(source->at - source->start);
}

/* Replaces the status of a reader by ABUT_ERROR_CANCELLED if the source was cancelled: a cancelled
 * source looks truncated to its reader. */
abut_status abuti_source_outcome(const abuti_source *source, abut_status status);

/* A file that is replaced atomically: written to a temporary file in the same folder, synced and
 * renamed. Anything that is not a regular file (a pipe, /dev/stdout) is written directly. The first
 * error is stored and reported by the commit, so writers need not check every call. */
typedef struct abuti_sink {
    abut_context *context;
    char *path, *temporary; /* temporary is null when written directly */
    FILE *file;
    int folder;          /* open folder, closed at the end; or ABUTI_NO_FOLDER */
    size_t folder_bytes; /* length of the folder part of the temporary path */
    bool nameless;       /* the temporary has no name until the commit */
    int error;           /* first errno */
    bool expendable;     /* readers verify the file, so it is not synced before the rename */
} abuti_sink;

ABUTI_API abut_status abuti_sink_open(abuti_sink *sink, abut_context *context, const char *path);
/* As abuti_sink_open() for a file that readers verify, in an open folder
 * (abuti_system_open_private()), which the sink always closes. Only the user can read and write the
 * file. An existing entry of that name, even a symbolic link, is replaced and never followed. */
abut_status abuti_sink_open_in(abuti_sink *sink, abut_context *context, int folder,
                               const char *path);
ABUTI_API void abuti_sink_write(abuti_sink *sink, const void *data, size_t bytes);
ABUTI_API void abuti_sink_print(abuti_sink *sink, const char *format, ...) ABUTI_PRINTF(2, 3);
/* Either call ends the use of the sink. */
ABUTI_API abut_status abuti_sink_commit(abuti_sink *sink);
ABUTI_API void abuti_sink_discard(abuti_sink *sink);

#endif
