/* Ground floor of the API: status codes, error sentences, the context, and the small value types.
 *
 * Rules that hold for every function of the library:
 *  - What can fail returns abut_status; results come through the last arguments, which stay
 *    untouched on failure. abut_last_error() then holds a sentence for people.
 *  - Lists go into the caller's memory: capacity, array, count. Where there are more than the
 *    capacity, the call fails with ABUT_ERROR_BUFFER, the count tells how many there are, and
 *    nothing else is written; so a capacity of 0, with a null array, asks for the count.
 *  - Option structures start with their own size, have an inline default function, and mean
 *    "our choice" wherever a field is zero. A null pointer to options means all defaults.
 *  - A null context means the built-in one: malloc, threads on all cores, silent.
 *  - Objects keep the context they were made with alive, so destroy in any order.
 *  - Every enum abut_x has abut_x_name(), a word for people and programs that stays the same; null
 *    for a value that the enum lacks, so that counting up from 0 lists all. Thread-safe.
 */
#ifndef ABUT_BASE_H
#define ABUT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How public functions are exported and imported. Define ABUT_STATIC to link the static library;
 * the CMake target abut::static does so where it matters, which is on Windows. The build of the
 * library itself defines ABUT_BUILD there. */
#if defined(ABUT_STATIC)
#define ABUT_API
#elif defined(_WIN32) && defined(ABUT_BUILD)
#define ABUT_API __declspec(dllexport)
#elif defined(_WIN32)
#define ABUT_API __declspec(dllimport)
#elif defined(__GNUC__)
#define ABUT_API __attribute__((visibility("default")))
#else
#define ABUT_API
#endif

/* Defines type_default(), which returns a structure that is all zero but for its size. */
#define ABUT_DEFAULT(type)                    \
    static inline type type##_default(void) { \
        type options;                         \
        memset(&options, 0, sizeof options);  \
        options.size = sizeof options;        \
        return options;                       \
    }

#define ABUT_VERSION_MAJOR 0
#define ABUT_VERSION_MINOR 5
#define ABUT_VERSION_PATCH 1

/* Returns the version of the library that is running, as "major.minor.patch". Thread-safe. */
ABUT_API const char *abut_version(void);

/* Returns the optional parts that this build has, as words separated by spaces: "threads", "png",
 * "gltf", "assimp", "opencl", "zstd". An empty string means none of them. Thread-safe. */
ABUT_API const char *abut_features(void);

/* ---- status ---- */

typedef enum abut_status {
    ABUT_OK = 0,
    ABUT_ERROR_ARGUMENT,    /* the caller passed something that the contract forbids */
    ABUT_ERROR_MEMORY,      /* the allocator said no */
    ABUT_ERROR_FILE,        /* a file could not be opened, read, written or replaced */
    ABUT_ERROR_FORMAT,      /* a file or buffer does not hold what its format demands */
    ABUT_ERROR_UNSUPPORTED, /* this build lacks the part that could do it; see abut_features() */
    ABUT_ERROR_LIMIT,       /* more elements than 32-bit indices or size_t can count */
    ABUT_ERROR_BUFFER,      /* the caller's buffer is too small; the needed count was stored */
    ABUT_ERROR_CANCELLED,   /* the progress callback asked to stop */
    ABUT_ERROR_DEVICE       /* there is no such device, or it failed; the CPU path still works */
} abut_status;

/* "file error" and so on; null beyond the last. */
ABUT_API const char *abut_status_name(abut_status status);

/* Returns the sentence that belongs to the last failure on this thread: which file and line, which
 * argument, and what to do. Never null; valid until the next failing call on this thread. Bytes
 * that are not printable UTF-8 (odd file names) appear as \xNN. Thread-safe. */
ABUT_API const char *abut_last_error(void);

/* ---- context ---- */

typedef struct abut_context abut_context;

typedef enum abut_log_level { ABUT_LOG_INFO = 0, ABUT_LOG_WARNING } abut_log_level;

ABUT_API const char *abut_log_level_name(abut_log_level level);

typedef struct abut_context_options {
    size_t size; /* sizeof(abut_context_options), set by the default function */

    /* Memory. Both or neither. `allocate` returns memory aligned to `alignment` (a power of two,
     * at most 64) or null; `release` is never called with null. May be called from workers. */
    void *memory_user;
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *memory);

    /* Tasks: run task(data, i) for every i below count, in any order, on any threads, and return
     * when all are done. Null: the library's own threads, which all callers share. */
    void *task_user;
    void (*run_tasks)(void *user, uint32_t count, void (*task)(void *data, uint32_t index),
                      void *data);
    uint32_t thread_count; /* of the library's own; 0 = as many as the machine offers, 1 = serial;
                            * never more than its processors, or 16 */

    /* Messages that are neither result nor error. Null: dropped. May be called from workers, by
     * several at a time. */
    void *log_user;
    void (*log)(void *user, abut_log_level level, const char *message);

    /* Long work calls this now and then with a fraction from 0 to 1, always on the thread that
     * entered the library. Returning false cancels: the call fails with ABUT_ERROR_CANCELLED and
     * leaves nothing behind. Progress and threads are those of the context of the object that a
     * function is called on: the world, the layers or the map, also for the work on meshes that
     * have another context. */
    void *progress_user;
    bool (*progress)(void *user, const char *stage, double fraction);
} abut_context_options;

ABUT_DEFAULT(abut_context_options)

/* Creates a context. `options` may be null. One context may serve several threads at once if its
 * callbacks can. Thread-safe. */
ABUT_API abut_status abut_context_create(const abut_context_options *options,
                                         abut_context **context);

/* Gives up the caller's hold on a context; objects made with it keep it alive until they go.
 * Null is allowed. Thread-safe. */
ABUT_API void abut_context_destroy(abut_context *context);

/* ---- for code on top ---- */

/* What the library itself takes from a context, for programs whose own work shall share its memory,
 * threads and error sentences; a null context is the built-in one. */

/* Memory for count x element_bytes, aligned to 64; null with the error set where there is none, and
 * the caller returns ABUT_ERROR_MEMORY. Nothing asked for gives a valid pointer. Thread-safe. */
ABUT_API void *abut_context_allocate(abut_context *context, size_t count, size_t element_bytes);
/* Gives it back to the context it came from. Null is allowed. Thread-safe. */
ABUT_API void abut_context_free(abut_context *context, void *memory);
/* Calls body(data, chunk, begin, end) for consecutive ranges of at most `grain` (0 = 1) items that
 * cover [0, count), on all threads of the context, and returns when all are done. How items fall
 * into chunks depends on count and grain alone, so that sums kept by chunk and added in order do
 * not depend on the number of threads. Thread-safe. */
ABUT_API void abut_context_parallel_for(abut_context *context, size_t count, size_t grain,
                                        void (*body)(void *data, size_t chunk, size_t begin,
                                                     size_t end),
                                        void *data);
/* Writes a file, all or nothing: an old one of that name stays until the new one is complete on
 * disk. /dev/stdout is written as it is. Thread-safe. */
ABUT_API abut_status abut_context_write_file(abut_context *context, const char *path,
                                             const void *data, size_t bytes);
/* Stores a sentence for abut_last_error() and returns `status`. Thread-safe. */
ABUT_API abut_status abut_set_error(abut_status status, const char *sentence);

/* ---- value types ---- */

/* No coordinate may be larger than this in magnitude: products of three still fit a double. */
#define ABUT_COORDINATE_MAX 1e90

/* The longest side of the bounding box of a mesh is 0 or at least this: below it, products of three
 * coordinates underflow, and exact tests are not exact. Functions that create a mesh, read one or
 * set its positions refuse smaller ones. Single coordinates may be smaller; docs/limits.md. */
#define ABUT_MESH_SIZE_MIN 1e-90

/* Instead of an index: no such element. */
#define ABUT_NONE UINT32_MAX

typedef struct abut_vec3 {
    double x, y, z;
} abut_vec3;

typedef struct abut_quat {
    double x, y, z, w;
} abut_quat;

/* Rotation first, then translation. A rotation of all zeros counts as no rotation, so that a
 * zeroed pose is the identity; any other is normalised where it is used, in every function. Refused
 * everywhere: what is not finite, a translation beyond ABUT_COORDINATE_MAX. From matrices, composed
 * and so on: abut_pose_from_matrix() and its companions in <abut/geom.h>. */
typedef struct abut_pose {
    abut_quat rotation;
    abut_vec3 translation;
} abut_pose;

typedef struct abut_box {
    abut_vec3 lo, hi;
} abut_box;

#ifdef __cplusplus
}
#endif

#endif
