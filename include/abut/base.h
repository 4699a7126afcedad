/* Fundamentals of the API: status codes, error messages, the context and small value types.
 *
 * Conventions of all functions:
 *  - A function that can fail returns abut_status. Its last parameters receive the results. They
 *    are unchanged if the function fails, and abut_last_error() returns a message.
 *  - Output lists of unknown length are structures: list, capacity, count. See ABUT_LIST.
 *  - Structures that may get more members in a later version start with `size` and have an inline
 *    default function, which zeroes them and sets it: options, other inputs, and reports. The
 *    library reads and writes only `size` bytes. So a program that was compiled against an older
 *    version works with a newer library. A size that is larger than the library knows is an
 *    ABUT_ERROR_ARGUMENT.
 *  - Geometry, elements of arrays, output lists and small results of one query, such as
 *    abut_separation, have no size: their layout is fixed.
 *  - In options, a member that is zero selects the default value. A null pointer to options selects
 *    all defaults.
 *  - A null context is the built-in context: malloc, threads on all cores, no log.
 *  - Objects retain their context, so objects and context may be destroyed in any order.
 *  - Every enum abut_x has a function abut_x_name(). It returns a stable name, or null for a value
 *    that the enum does not have. These functions are thread-safe.
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

/* Defines the function type_default(), which returns a zeroed structure with its size set. */
#define ABUT_DEFAULT(type)                    \
    static inline type type##_default(void) { \
        type options;                         \
        memset(&options, 0, sizeof options);  \
        options.size = sizeof options;        \
        return options;                       \
    }

/* Defines the structure type_list, an output list of elements of a type. The caller sets `list` and
 * `capacity`. A function sets `count` to the number of elements that it found, and writes them.
 *  - If there are more elements than the capacity, it returns ABUT_ERROR_BUFFER, sets only `count`,
 *    and writes nothing. The caller provides that many elements and calls it again.
 *  - A null list with capacity 0 queries the count: the call returns ABUT_ERROR_BUFFER, or ABUT_OK
 *    if there are no elements.
 *  - A null list with a capacity, or a capacity beyond the address space, is an
 *    ABUT_ERROR_ARGUMENT. After this and all other errors `count` is unchanged too, unless the
 *    function documents an exception.
 *
 *     abut_ray_hit hits[64];
 *     abut_ray_hit_list found = {hits, 64, 0};
 *     if (!abut_ray_all(bvh, &ray, &found)) ... found.count hits in found.list
 */
#define ABUT_LIST(type)          \
    typedef struct type##_list { \
        type *list;              \
        uint64_t capacity;       \
        uint64_t count;          \
    } type##_list;

/* Output lists of indices, such as those of triangles, and of bytes. See ABUT_LIST. */
typedef struct abut_index_list {
    uint32_t *list;
    uint64_t capacity;
    uint64_t count;
} abut_index_list;
typedef struct abut_byte_list {
    uint8_t *list;
    uint64_t capacity;
    uint64_t count;
} abut_byte_list;

#define ABUT_VERSION_MAJOR 0
#define ABUT_VERSION_MINOR 7
#define ABUT_VERSION_PATCH 0

/* Returns the version of the loaded library as "major.minor.patch". Thread-safe. */
ABUT_API const char *abut_version(void);

/* Returns the optional features of this build, separated by spaces: "threads", "gltf", "urdf",
 * "assimp", "opencl", "zstd". The string is empty if the build has none. Thread-safe. */
ABUT_API const char *abut_features(void);

/* ---- status ---- */

typedef enum abut_status {
    ABUT_OK = 0,
    ABUT_ERROR_ARGUMENT,    /* an argument violates the contract of the function */
    ABUT_ERROR_MEMORY,      /* an allocation failed */
    ABUT_ERROR_FILE,        /* a file cannot be opened, read, written or replaced */
    ABUT_ERROR_FORMAT,      /* the content of a file or buffer violates its format */
    ABUT_ERROR_UNSUPPORTED, /* not possible with this build, input or file version; see
                               abut_features() */
    ABUT_ERROR_LIMIT,       /* a count exceeds its limit, such as that of 32-bit indices */
    ABUT_ERROR_BUFFER,      /* the capacity is too small; lists store the required count */
    ABUT_ERROR_CANCELLED,   /* the progress callback returned false */
    ABUT_ERROR_DEVICE       /* the device does not exist or failed; the CPU path still works */
} abut_status;

/* Returns a name such as "file error"; null for an invalid status. Thread-safe. */
ABUT_API const char *abut_status_name(abut_status status);

/* Returns the message of the last failure on the calling thread. It names the file and line or the
 * argument, and states a remedy. Never null; valid until the next failure on this thread. Bytes
 * that are not printable UTF-8, as in some file names, appear as \xNN. Thread-safe. */
ABUT_API const char *abut_last_error(void);

/* ---- context ---- */

typedef struct abut_context abut_context;

typedef enum abut_log_level { ABUT_LOG_INFO = 0, ABUT_LOG_WARNING } abut_log_level;

/* Returns "info" or "warning". Thread-safe. */
ABUT_API const char *abut_log_level_name(abut_log_level level);

typedef struct abut_context_options {
    size_t size; /* sizeof(abut_context_options), set by the default function */

    /* Allocator. Set both functions or neither. `allocate` returns memory aligned to `alignment`
     * (a power of two, at most 64), or null. `release` is never called with null. Worker threads
     * may call both. */
    void *memory_user;
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *memory);

    /* Job system. Runs task(data, i) for every i below count, in any order and on any threads.
     * Returns when all tasks have finished. Null = the library's own thread pool, which all callers
     * share. */
    void *task_user;
    void (*run_tasks)(void *user, uint32_t count, void (*task)(void *data, uint32_t index),
                      void *data);
    uint32_t thread_count; /* threads of the pool that a call uses; 1 = serial; 0 = the value of
                            * the environment variable ABUT_THREADS, else all processors that
                            * the process may use. A call never uses more than the larger of 16
                            * and the processor count */

    /* Log. Receives messages that are neither results nor errors; null = discard them. Several
     * worker threads may call it at the same time. */
    void *log_user;
    void (*log)(void *user, abut_log_level level, const char *message);

    /* Progress. Long computations call it periodically with a fraction from 0 to 1, always on the
     * thread that called the library. Return false to cancel: the call then releases what it
     * allocated and returns ABUT_ERROR_CANCELLED. A function uses the progress callback and the
     * threads of the object that it operates on: the world, the layers or the map. This includes
     * work on meshes that belong to another context. */
    void *progress_user;
    bool (*progress)(void *user, const char *stage, double fraction);
} abut_context_options;

ABUT_DEFAULT(abut_context_options)

/* Creates a context. `options` may be null. Several threads may use one context at the same time
 * if its callbacks are thread-safe. Thread-safe. */
ABUT_API abut_status abut_context_create(const abut_context_options *options,
                                         abut_context **context);

/* Releases the caller's reference to a context. The context is freed with the last object that
 * refers to it. Null is allowed. Thread-safe. */
ABUT_API void abut_context_destroy(abut_context *context);

/* ---- services for application code ---- */

/* The allocator, the threads and the error messages of the library, for code built on top of it.
 * A null context is the built-in one. */

/* Allocates count x element_bytes bytes, aligned to 64 bytes. Returns null and sets the error
 * message if the allocation fails or the product overflows; the caller then returns
 * ABUT_ERROR_MEMORY. A size of zero returns a valid pointer. Thread-safe. */
ABUT_API void *abut_context_allocate(abut_context *context, size_t count, size_t element_bytes);
/* Frees memory from abut_context_allocate() of the same context. Null is allowed. Thread-safe. */
ABUT_API void abut_context_free(abut_context *context, void *memory);
/* Divides [0, count) into consecutive chunks of at most `grain` items (0 = 1). Calls
 * body(data, chunk, begin, end) for each chunk, on all threads of the context. Returns when all
 * calls have returned. The division depends only on count and grain. A sum that is accumulated per
 * chunk and added in chunk order therefore does not depend on the number of threads. Thread-safe.
 */
ABUT_API void abut_context_parallel_for(abut_context *context, size_t count, size_t grain,
                                        void (*body)(void *data, size_t chunk, size_t begin,
                                                     size_t end),
                                        void *data);
/* Writes a file atomically: an existing file keeps its content until the new content is complete
 * on disk. Writes /dev/stdout directly. Thread-safe. */
ABUT_API abut_status abut_context_write_file(abut_context *context, const char *path,
                                             const void *data, size_t bytes);
/* Sets the message that abut_last_error() returns on this thread, and returns `status`.
 * Thread-safe. */
ABUT_API abut_status abut_set_error(abut_status status, const char *sentence);

/* ---- value types ---- */

/* The largest magnitude of a coordinate: the product of three coordinates does not overflow a
 * double. */
#define ABUT_COORDINATE_MAX 1e90

/* The smallest size of a mesh: the longest side of its bounding box is 0 or at least this value.
 * Products of three coordinates of a smaller mesh underflow, and predicates are no longer exact.
 * Functions that create a mesh, read one or set its positions return an error for smaller meshes.
 * Single coordinates may be smaller; see docs/limits.md. */
#define ABUT_MESH_SIZE_MIN 1e-90

/* An invalid index: no element. */
#define ABUT_NONE UINT32_MAX

typedef struct abut_vec3 {
    double x, y, z;
} abut_vec3;

typedef struct abut_quat {
    double x, y, z, w;
} abut_quat;

/* A rotation followed by a translation. A rotation of all zeros means no rotation, so a zeroed pose
 * is the identity. All functions normalise other rotations. All functions return an
 * error for values that are not finite and for translations beyond ABUT_COORDINATE_MAX.
 * <abut/geom.h> composes poses and converts them from matrices (abut_pose_from_matrix()). */
typedef struct abut_pose {
    abut_quat rotation;
    abut_vec3 translation;
} abut_pose;

/* Returns the pose without rotation and translation. Thread-safe. */
static inline abut_pose abut_pose_identity(void) {
    abut_pose identity = {{0, 0, 0, 1}, {0, 0, 0}};
    return identity;
}

/* The type of the numbers in an array. */
typedef enum abut_scalar_type {
    ABUT_SCALAR_NONE = 0, /* not specified */
    ABUT_SCALAR_FLOAT64,
    ABUT_SCALAR_FLOAT32
} abut_scalar_type;

/* Returns "none", "float64" or "float32". Thread-safe. */
ABUT_API const char *abut_scalar_type_name(abut_scalar_type type);

/* An axis-aligned bounding box (AABB): its smallest and its largest corner. */
typedef struct abut_box {
    abut_vec3 lo, hi;
} abut_box;

#ifdef __cplusplus
}
#endif

#endif
