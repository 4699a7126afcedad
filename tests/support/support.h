/* Helpers for every test program. Includes cmocka with the headers that it requires. */
#ifndef ABUT_TEST_SUPPORT_H
#define ABUT_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <abut/abut.h>

#if defined(__SANITIZE_THREAD__)
#define TEST_THREAD_SANITIZER
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_THREAD_SANITIZER
#elif __has_feature(address_sanitizer)
#define TEST_ADDRESS_SANITIZER
#endif
#endif

/* TEST(shapes) { ... } is a test of its file, whose tests run in the order in which they stand. A
 * file that has to do something before or after has its own main(); the files of a folder are the
 * groups of one program (tests/CMakeLists.txt defines TEST_GROUP and renames main()). */
#define TEST(name) TEST_ADD(name, false)
/* The same for one that works on several threads: all that runs under ThreadSanitizer. */
#define TEST_THREADS(name) TEST_ADD(name, true)
#define TEST_ADD(name, threads)                                      \
    static void name(void **state);                                  \
    __attribute__((constructor)) static void test_add_##name(void) { \
        test_add(TEST_GROUP, #name, name, threads);                  \
    }                                                                \
    static void name(void **state)
void test_add(const char *group, const char *name, void (*test)(void **state), bool threads);
/* Runs the tests of the group that test_main() runs between `before` and `after`, which may be
 * null: how many failed. With ABUT_TEST_THREADS in the environment and not thorough, those of
 * threads alone. */
int test_run(int (*before)(void **state), int (*after)(void **state));

/* A file of a program, and its own main() if it has one. */
typedef struct test_group {
    const char *name;
    int (*run)(void);
    int (*run_arguments)(int argc, char **argv);
} test_group;
/* The main() of every program: `test_<module> GROUP [ARGUMENT...]` runs the tests of test_GROUP.c.
 */
int test_main(const test_group *groups, size_t group_count, int argc, char **argv);
/* From now on leaks do not fail the program: libraries such as OpenCL runtimes have some. */
void test_ignore_leaks(void);

/* A counting allocator that can fail on demand. Zero it, then test_context(). */
typedef struct test_paths test_paths;
typedef struct test_memory {
    uint64_t calls;      /* allocations requested so far */
    uint64_t fail_at;    /* 1 = the first allocation fails, and so on; 0 = none */
    test_paths *paths;   /* or null: of test_every_allocation() */
    uint64_t live_count; /* allocations not yet released */
    uint64_t live_bytes, peak_bytes;
} test_memory;

/* A context on top of `memory` that runs tasks on `threads` threads of its own, however busy the
 * machine is (the library's own may leave the work to one); 1 = serial, as all but TEST_THREADS()
 * have to be. Fails the test if it cannot be made. The context itself is one live allocation, but
 * not one of `calls`. */
abut_context *test_context(test_memory *memory, uint32_t threads);

/* A context that reports progress. */
abut_context *test_watched(bool (*progress)(void *user, const char *stage, double fraction),
                           void *user);

/* A context whose log messages go to `log`. */
abut_context *test_logged(void (*log)(void *user, abut_log_level level, const char *message),
                          void *user);

/* A mesh from doubles and indices of 32 bits; null indices as abut_mesh_create() has them. */
abut_mesh *test_mesh(abut_context *context, const void *positions, uint32_t vertex_count,
                     const void *indices, uint32_t triangle_count);

/* Runs `work` with the 1st, 2nd, ... allocation failing until it succeeds, and checks each time
 * that it returns ABUT_ERROR_MEMORY and that nothing is left allocated. `work` must destroy what it
 * made. Returns how many allocations a run takes. In a thorough run all are tried. Else, where
 * AddressSanitizer watches, of those by the same path of calls the 1st, 2nd, 4th, 8th and so on;
 * elsewhere the first 8 and every 8th. */
uint64_t test_every_allocation(abut_status (*work)(abut_context *context, void *data), void *data);
/* The call or allocation to fail after the n-th, by that rule. */
uint64_t test_next_fault(uint64_t n);

/* Uniform numbers, the same on every machine (splitmix64); ABUT_TEST_SEED, a number, gives others.
 */
typedef struct test_random {
    uint64_t state;
} test_random;
uint64_t test_random_bits(test_random *random);
double test_random_real(test_random *random, double lo, double hi);
uint32_t test_random_below(test_random *random, uint32_t bound);

/* Whether ABUT_TEST_THOROUGH is set, as `./test thorough` does. */
bool test_thorough(void);
/* Whether a sanitizer makes all slow, and the run is not thorough: inputs that are large or
 * many only to take time may be less then. */
bool test_brief(void);
/* How many rounds of random samples to run: `full` in a thorough run, else an eighth. */
uint32_t test_rounds(uint32_t full);

/* A fresh folder that exists until the program ends; every call gives the same one. */
const char *test_folder(void);
/* "<test_folder>/<name>" in one of 16 rotating buffers. */
const char *test_path(const char *name);
/* Writes bytes to test_path(name) and returns that path. */
const char *test_file(const char *name, const void *data, size_t bytes);

/* The content of a file with a zero behind it, to be freed; null if it cannot be opened. `bytes`
 * may be null. */
char *test_read_file(const char *path, size_t *bytes);

/* AUTO(mesh) m = NULL; declares an abut_mesh * that is destroyed at the end of its scope; AUTO_FREE
 * before a pointer frees memory of malloc(). Not after a failed assertion: cmocka jumps. */
#define AUTO(name) __attribute__((cleanup(test_end_##name))) abut_##name *
#define AUTO_FREE __attribute__((cleanup(test_end_memory)))
#define TEST_END(name, release)                            \
    static inline void test_end_##name(abut_##name **it) { \
        release(*it);                                      \
    }
TEST_END(context, abut_context_destroy)
TEST_END(mesh, abut_mesh_destroy)
TEST_END(topology, abut_topology_destroy)
TEST_END(normals, abut_normals_destroy)
TEST_END(bvh, abut_bvh_destroy)
TEST_END(field, abut_field_destroy)
TEST_END(samples, abut_samples_destroy)
TEST_END(map, abut_map_destroy)
TEST_END(self, abut_self_destroy)
TEST_END(sweep, abut_sweep_destroy)
TEST_END(layers, abut_layers_destroy)
TEST_END(world, abut_world_destroy)
TEST_END(device, abut_device_destroy)
TEST_END(buffer, abut_buffer_destroy)
TEST_END(raster, abut_raster_destroy)
TEST_END(character, abut_character_destroy)
TEST_END(radial, abut_radial_destroy)
TEST_END(cloth, abut_cloth_destroy)
TEST_END(scene, abut_scene_destroy)
TEST_END(robot, abut_robot_destroy)
TEST_END(robot_obstacles, abut_robot_obstacles_destroy)
TEST_END(frames, abut_frames_close)
TEST_END(picture, abut_picture_destroy)
#undef TEST_END
static inline void test_end_memory(void *memory) {
    free(*(void **)memory);
}

/* Topology and measures of a mesh. */
abut_mesh_report test_examine(abut_mesh *mesh);

#define assert_ok(call)                                                                        \
    do {                                                                                       \
        abut_status assert_status = (call);                                                    \
        if (assert_status)                                                                     \
            fail_msg("%s: %s: %s", #call, abut_status_name(assert_status), abut_last_error()); \
    } while (0)
/* The call must fail with this status and a sentence that holds `part`. */
#define assert_fails(status, part, call)                                                      \
    do {                                                                                      \
        assert_int_equal(status, call);                                                       \
        if (!strstr(abut_last_error(), part))                                                 \
            fail_msg("%s: the error says '%s' without '%s'", #call, abut_last_error(), part); \
    } while (0)
/* The same of arguments that are not allowed. */
#define assert_refused(part, call) assert_fails(ABUT_ERROR_ARGUMENT, part, call)

#include <string.h>

#endif
