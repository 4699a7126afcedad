/* The benchmark program: a table of cases, a harness that runs them, and results to store and
 * compare. Every case computes a hash of its results, so a benchmark is also a test of
 * determinism: repeats, thread counts, compilers and processors must agree on it. */
#ifndef ABUT_BENCH_H
#define ABUT_BENCH_H

#include "apps/get.h"

#include <abut/abut.h>

#include <stdio.h>

/* ---- cases ---- */

typedef struct bench_case bench_case;

enum { BENCH_KEPT = 1024 };

/* The data of a case. The harness fills the first part, the case the second. */
typedef struct bench_state {
    const bench_case *which;
    abut_context *context; /* counts memory; has the thread count of this run */
    const char *folder;    /* for temporary files; the same for all cases */
    const char *device;    /* the selector of the command line; null = none was given */
    bool quick;            /* small inputs: only hashes matter */

    void *data;      /* which->data_bytes, zeroed; null if that is 0 */
    uint64_t hash;   /* of the result, 0 before each run; set by run or finish */
    double elements; /* processed by one run, counted in `which->unit`; set by setup */
    double bytes;    /* read or written by one run, as a lower bound for its time; set by setup */
    double result_bytes; /* size of the result in memory, or 0; set by finish */
    bool skipped;        /* set by a setup that fails because the machine lacks something */

    struct {
        void *object;
        void (*release)(void *);
    } kept[BENCH_KEPT]; /* released after the teardown, the last one first */
    size_t kept_count;
} bench_state;

typedef struct bench_result bench_result;

/* A status other than ABUT_OK stops the case; abut_last_error() or bench_error() has the reason. */
struct bench_case {
    const char *name;
    const char *unit;                     /* the name of an element: "triangle", "call" */
    size_t data_bytes;                    /* of state->data */
    abut_status (*setup)(bench_state *);  /* once */
    abut_status (*run)(bench_state *);    /* timed, repeated */
    abut_status (*finish)(bench_state *); /* after each run: hash and release the result; or null */
    void (*teardown)(bench_state *);      /* once, also after a failed setup; or null */
    int variant;                          /* for cases that share functions */
    bool threaded;                        /* run with two threads, too */
    double goal_ms;                       /* 0 = none; for two threads if threaded */
    double goal_memory;                   /* peak memory over result_bytes; 0 = none */
    /* Prints details of a result, after its line; may be null. */
    void (*print_details)(const bench_case *, const bench_result *);
};

/* Each ends with a case without a name. */
extern const bench_case bench_create_cases[], bench_file_cases[], bench_topology_cases[],
    bench_repair_cases[], bench_geom_cases[], bench_shape_cases[], bench_picture_cases[],
    bench_bvh_cases[], bench_pair_cases[], bench_machine_cases[], bench_device_cases[],
    bench_device_build_cases[], bench_device_query_cases[], bench_device_field_cases[],
    bench_field_query_cases[], bench_field_files_cases[], bench_list_cases[], bench_contact_cases[],
    bench_world_cases[], bench_field_cases[], bench_motion_cases[], bench_sweep_pair_cases[],
    bench_cloth_cases[], bench_self_cases[], bench_layers_cases[], bench_raster_cases[],
    bench_map_cases[], bench_rival_cases[], bench_dress_cases[], bench_world_mixed_cases[],
    bench_world_step_cases[], bench_world_query_cases[], bench_growth_cases[],
    bench_garment_cases[], bench_cloth_goal_cases[], bench_sud_cases[], bench_brute_cases[],
    bench_robot_cases[];

/* The cases of all tables, counted from 0; null beyond the last. */
const bench_case *bench_case_at(size_t index);
/* Returns whether a case has `part` in its name; null = all. */
bool bench_case_has(const bench_case *which, const char *part);
/* Returns whether it is among the few most informative cases that take little time. */
bool bench_case_is_brief(const bench_case *which);

/* Fails with an error message of the benchmark. */
abut_status bench_fail(abut_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the status of a call that fails. What the calling function has in local variables then is
 * not released: the case is over, and the program reports it. */
#define TRY(call)                              \
    do {                                       \
        const abut_status try_status = (call); \
        if (try_status)                        \
            return try_status;                 \
    } while (0)

/* Zeroed memory that the harness releases at the end of the case; the program ends without memory.
 */
void *bench_array(bench_state *state, size_t count, size_t bytes);
/* Makes the harness destroy an object at the end of the case; null is fine. */
/* clang-format off */
#define BENCH_OBJECTS(X) \
    X(mesh) X(topology) X(bvh) X(field) X(samples) X(device) X(buffer) X(sweep) X(self) X(map) \
    X(radial) X(character) X(raster) X(layers) X(world)
/* clang-format on */
#define BENCH_DECLARE_KEEP(name) void bench_keep_##name(bench_state *state, abut_##name *object);
BENCH_OBJECTS(BENCH_DECLARE_KEEP)
#define BENCH_KEEP_OF(name) , abut_##name * : bench_keep_##name
#define bench_keep(state, object) _Generic((object)BENCH_OBJECTS(BENCH_KEEP_OF))(state, object)
/* TRY with a call that creates an object, which is kept. */
#define MAKE(object, call)         \
    do {                           \
        TRY(call);                 \
        bench_keep(state, object); \
    } while (0)

/* The error message of a failed case: the benchmark's own if there is one, otherwise the
 * library's. */
const char *bench_error(void);

/* Opens the device that the command line or the environment names, otherwise a GPU; a case
 * without either is skipped. The device is kept. */
abut_status bench_device_open(bench_state *state, abut_device **device);

/* ---- inputs and hashes ---- */

/* Uniform bits, the same on every machine (splitmix64). */
uint64_t bench_random(uint64_t *state);
/* A float from lo to hi, as a double. */
double bench_random_real(uint64_t *state, double lo, double hi);
/* The point of the unit circle at a fraction from 0 to 1 of its circumference, exact to
 * rounding; approximate: within a quarter the parameter is not arc length. */
void bench_circle(double share, double *x, double *y);

/* A torus with bumps of segments x rings quads, each divided into two triangles: closed,
 * oriented, and regular like scans and generated meshes. Computed with +, -, x and / only and
 * rounded to float, so that it is the same on every machine. */
typedef struct bench_grid {
    uint32_t segments, rings, vertex_count, triangle_count;
    float *positions;
    uint32_t *indices;
} bench_grid;

abut_status bench_grid_create(uint32_t segments, uint32_t rings, bench_grid *grid);
/* A million triangles, or twenty thousand when quick. */
abut_status bench_grid_million(const bench_state *state, bench_grid *grid);
/* A sphere, for which points near its centre have all triangles equally near; a bumpy torus; a
 * teapot with large and small triangles; or the file that ABUT_BENCH_MESH names, without which
 * the case is skipped. About 70,000 triangles, or a thousand when quick. The mesh is kept. */
typedef enum bench_model {
    BENCH_SPHERE = 0,
    BENCH_TORUS,
    BENCH_TEAPOT,
    BENCH_MESH_FILE
} bench_model;
abut_status bench_model_create(bench_state *state, bench_model model, abut_mesh **mesh);

/* A cube of cells over the box of a mesh and 10%, about its centre; the hash and size of a
 * field. */
abut_grid bench_field_grid(const abut_mesh *mesh, uint32_t cells);
abut_status bench_field_hash(bench_state *state, const abut_field *field);

/* A teapot with a field of 64 cells and 500 surface samples, which are kept; and rotations that are
 * unit quaternions without any rounding. */
abut_status bench_body(bench_state *state, abut_mesh **mesh, abut_field **field,
                       abut_samples **samples);
abut_quat bench_turn(uint32_t i);
/* A monotonic clock; the processor time of all threads; the median of values, which are sorted, or
 * 0 without any. */
double bench_now_ms(void);
double bench_cpu_ms(void);
double bench_median(double *values, uint32_t count);

/* Renumbers vertices and triangles at random: the worst case for caches. */
abut_status bench_grid_shuffle(bench_grid *grid);
void bench_grid_destroy(bench_grid *grid);
abut_status bench_grid_mesh(const bench_state *state, const bench_grid *grid, abut_mesh **mesh);

uint64_t bench_hash(uint64_t hash, const void *data, size_t bytes);
uint64_t bench_hash_mesh(uint64_t hash, const abut_mesh *mesh);
/* Adds the contacts of a world: for each the index of its pair, its id and its depth. */
abut_status bench_hash_contacts(abut_world *world, const abut_contacts *found, uint64_t *hash);
/* Bytes of positions and indices. */
double bench_mesh_bytes(const abut_mesh *mesh);

/* ---- results ---- */

struct bench_result {
    char name[96], unit[16];
    uint32_t threads, repeats;
    double median_ms, minimum_ms;
    double cpu_ms; /* median of the processor time, of all threads: detects a busy machine */
    double elements, bytes; /* of one run */
    uint64_t peak_bytes;    /* through the allocator hook, above what was live before the run */
    double result_bytes;
    uint64_t hash;
};

typedef struct bench_results {
    char commit[128], compiler[128], flags[512], cpu[128], system[128], date[32];
    bool quick;
    size_t count, room;
    bench_result *list;
} bench_results;

/* Fills the head: commit, compiler, processor, system, date. */
void bench_results_begin(bench_results *results);
bool bench_results_add(bench_results *results, const bench_result *result);
void bench_results_clear(bench_results *results);
/* Returns false after a message on standard error. */
bool bench_results_write(const bench_results *results, const char *path);

/* ---- harness ---- */

typedef struct bench_settings {
    const char *filter; /* part of a name, or null */
    const char *folder;
    const char *device;      /* for the cases of devices; null = a GPU if there is one */
    uint32_t repeats;        /* 0 = about `enough_ms` of them, at least 5 */
    double enough_ms;        /* 0 = a second; if it is less, one run may be sufficient */
    bool (*cancelled)(void); /* called before each run; may be null */
    uint32_t threads;        /* 0 = as each case requires */
    bool quick;
} bench_settings;

typedef enum bench_outcome {
    BENCH_SKIPPED = -1,
    BENCH_FINE = 0,
    BENCH_DIFFERS,
    BENCH_BROKEN
} bench_outcome;

/* Runs one case with each of its thread counts (1, and 2 if it is threaded; or that of the
 * settings) and passes every result to `take`. Thread counts must agree on the hash. Outcomes
 * other than BENCH_FINE are explained by bench_error(). */
bench_outcome bench_run(const bench_case *which, const bench_settings *settings,
                        bool (*take)(void *user, const bench_case *which, const bench_result *),
                        void *user);

/* Creates a temporary folder; returns its name in a static buffer, or null after bench_fail(). */
const char *bench_folder_make(void);
/* Removes it with its content. */
void bench_folder_remove(const char *folder);

#endif
