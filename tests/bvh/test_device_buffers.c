/* Batches with input and results in buffers, by one test body for every function: the bits of
 * host arrays on the CPU, for any choice of arrays in buffers; nothing is written beyond them,
 * or without capacity; and no leak if the device or memory fails. */
#include <stdio.h>

#ifdef ABUT_HAS_OPENCL
#include "device/opencl.h"

#include "device_queries.h"

#include <dlfcn.h>

/* ---- every function that takes arrays ---- */

enum { QUESTIONS, LENGTHS, ANSWERS, ARRAYS, ALL = (1 << ARRAYS) - 1 };
enum { MOST = 3, GUARD = 64, UNTOUCHED = 0x5a };

static double radius;
static abut_scalar_type scalar = ABUT_SCALAR_FLOAT64; /* of points */

typedef enum answer_kind {
    EACH, /* one for each question */
    ROWS, /* up to MOST for each, and counts of 32 bits */
    LISTS /* any number, and offsets of 64 bits */
} answer_kind;

typedef struct door {
    const char *question;
    size_t question_bytes, answer_bytes, compared_bytes;
    answer_kind kind;
    abut_status (*query)(const abut_bvh *bvh, const abut_array a[ARRAYS], size_t count,
                         uint64_t capacity, uint64_t *total);
} door;

#define ASK(name, ...)                                                                           \
    static abut_status ask_##name(const abut_bvh *bvh, const abut_array a[ARRAYS], size_t count, \
                                  uint64_t capacity, uint64_t *total) {                          \
        abut_array points = a[QUESTIONS];                                                        \
        points.type = scalar;                                                                    \
        (void)capacity, (void)total, (void)points;                                               \
        return __VA_ARGS__;                                                                      \
    }
ASK(nearest, abut_nearest_point_batch(bvh, points, count, radius, a[ANSWERS]))
ASK(many, abut_nearest_k_batch(bvh, points, count, radius, MOST, a[ANSWERS], a[LENGTHS]))
ASK(within,
    abut_nearest_within_batch(bvh, points, count, radius, capacity, a[LENGTHS], a[ANSWERS], total))
ASK(inside, abut_sign_inside_batch(bvh, points, count, a[ANSWERS]))
ASK(winding, abut_sign_winding_batch(bvh, points, count, a[ANSWERS]))
ASK(signed, abut_sign_nearest_batch(bvh, points, count, radius, a[ANSWERS]))
ASK(first, abut_ray_first_batch(bvh, a[QUESTIONS], count, HUGE_VAL, a[ANSWERS]))
ASK(any, abut_ray_any_batch(bvh, a[QUESTIONS], count, HUGE_VAL, a[ANSWERS]))
ASK(hits, abut_ray_all_batch(bvh, a[QUESTIONS], count, capacity, a[LENGTHS], a[ANSWERS], total))
ASK(boxes,
    abut_bvh_find_in_box_batch(bvh, a[QUESTIONS], count, capacity, a[LENGTHS], a[ANSWERS], total))

#define NEAREST sizeof(abut_nearest), sizeof(abut_nearest)
#define HIT sizeof(abut_ray_hit), offsetof(abut_ray_hit, triangle) + sizeof(uint32_t)
static const door doors[] = {
    {"point", sizeof(abut_vec3), NEAREST, EACH, ask_nearest},
    {"point", sizeof(abut_vec3), NEAREST, ROWS, ask_many},
    {"point", sizeof(abut_vec3), NEAREST, LISTS, ask_within},
    {"point", sizeof(abut_vec3), sizeof(bool), sizeof(bool), EACH, ask_inside},
    {"point", sizeof(abut_vec3), sizeof(double), sizeof(double), EACH, ask_winding},
    {"point", sizeof(abut_vec3), NEAREST, EACH, ask_signed},
    {"ray", sizeof(abut_ray), HIT, EACH, ask_first},
    {"ray", sizeof(abut_ray), sizeof(bool), sizeof(bool), EACH, ask_any},
    {"ray", sizeof(abut_ray), HIT, LISTS, ask_hits},
    {"box", sizeof(abut_box), sizeof(uint32_t), sizeof(uint32_t), LISTS, ask_boxes},
};
enum { DOORS = sizeof doors / sizeof *doors, FIRST_SIGN = 3, LAST_SIGN = 5 };

static bool asks_points(const door *d) {
    return d->question[0] == 'p';
}

static size_t bytes_of(const door *d, int which, size_t count, uint64_t capacity) {
    const size_t answers[] = {count, count * MOST, (size_t)capacity};
    const size_t lengths[] = {0, count * sizeof(uint32_t), (count + 1) * sizeof(uint64_t)};
    if (which == QUESTIONS)
        return count * (asks_points(d) && scalar == ABUT_SCALAR_FLOAT32 ? 3 * sizeof(float)
                                                                        : d->question_bytes);
    return which == LENGTHS ? lengths[d->kind] : answers[d->kind] * d->answer_bytes;
}

/* ---- arrays and results of a call ---- */

/* Three arrays of a call, each with a guard behind it; in memory of the host, or in a buffer with
 * a copy of that. */
typedef struct room {
    size_t bytes[ARRAYS];
    unsigned char *host[ARRAYS];
    abut_buffer *buffer[ARRAYS];
    abut_array array[ARRAYS];
    abut_status status;
    uint64_t total;
} room;

/* `there` has a bit for each array that is in a buffer. */
static room make_room(const door *d, unsigned there, const void *questions, size_t count,
                      uint64_t capacity) {
    room r = {.total = UNTOUCHED};
    for (int i = 0; i < ARRAYS; i++) {
        r.bytes[i] = bytes_of(d, i, count, capacity);
        r.host[i] = malloc(r.bytes[i] + GUARD);
        assert_non_null(r.host[i]);
        memset(r.host[i], UNTOUCHED, r.bytes[i] + GUARD);
        if (i == QUESTIONS && r.bytes[i])
            memcpy(r.host[i], questions, r.bytes[i]);
        r.array[i] = abut_array_host(r.host[i]);
        if (there >> i & 1) {
            assert_ok(abut_buffer_create(device, r.bytes[i] + GUARD, &r.buffer[i]));
            assert_ok(abut_buffer_write(r.buffer[i], 0, r.host[i], r.bytes[i] + GUARD));
            r.array[i] = abut_array_buffer(r.buffer[i]);
        }
    }
    return r;
}

/* Brings what is in buffers to the host; what must not change did not. */
static void read_back(room *r, const void *questions) {
    for (int i = 0; i < ARRAYS; i++) {
        if (r->buffer[i])
            assert_ok(abut_buffer_read(r->buffer[i], 0, r->host[i], r->bytes[i] + GUARD));
        for (size_t k = 0; k < GUARD; k++)
            assert_int_equal(UNTOUCHED, r->host[i][r->bytes[i] + k]);
    }
    if (r->bytes[QUESTIONS])
        assert_memory_equal(r->host[QUESTIONS], questions, r->bytes[QUESTIONS]);
}

static void free_room(room *r) {
    for (int i = 0; i < ARRAYS; i++) {
        abut_buffer_destroy(r->buffer[i]);
        free(r->host[i]);
    }
}

static room run_query(const door *d, const abut_bvh *bvh, unsigned there, const void *questions,
                      size_t count, uint64_t capacity) {
    room r = make_room(d, there, questions, count, capacity);
    r.status = d->query(bvh, r.array, count, capacity, &r.total);
    read_back(&r, questions);
    return r;
}

static void assert_same(const door *d, const room *got, const room *wanted) {
    assert_int_equal(wanted->status, got->status);
    assert_int_equal(wanted->total, got->total);
    assert_int_equal(wanted->bytes[LENGTHS], got->bytes[LENGTHS]);
    assert_memory_equal(got->host[LENGTHS], wanted->host[LENGTHS], wanted->bytes[LENGTHS] + GUARD);
    for (size_t at = 0; at < wanted->bytes[ANSWERS]; at += d->answer_bytes)
        if (memcmp(got->host[ANSWERS] + at, wanted->host[ANSWERS] + at, d->compared_bytes) != 0)
            fail_msg("door %zu: answer %zu is another", (size_t)(d - doors), at / d->answer_bytes);
}

static void assert_untouched(const room *r) {
    assert_int_equal(UNTOUCHED, r->total);
    for (int i = LENGTHS; i < ARRAYS; i++)
        for (size_t k = 0; k < r->bytes[i]; k++)
            assert_int_equal(UNTOUCHED, r->host[i][k]);
}

/* ---- meshes and questions ---- */

/* Both ready for signs. Takes the mesh. */
static both make_ready(abut_mesh *mesh, bool built_there) {
    both b = {mesh, NULL, NULL};
    assert_ok(abut_bvh_create(mesh, NULL, &b.bvh));
    assert_ok(abut_sign_prepare(b.bvh, NULL));
    if (built_there) {
        assert_ok(build_there(mesh, &b.there));
        assert_ok(abut_sign_prepare(b.there, NULL));
    } else {
        assert_ok(abuti_bvh_copy_to_device(b.bvh, device, &b.there));
    }
    radius = 0.15 * largest_extent(mesh);
    return b;
}

/* The input of a query, from malloc. */
static void *make_questions(const door *d, const abut_mesh *mesh, size_t count, uint64_t seed) {
    abut_ray *rays = make_rays(mesh, count, seed);
    if (d->question[0] == 'r')
        return rays;
    abut_vec3 *points = make_points(mesh, count, seed);
    if (d->question[0] == 'b') {
        abut_box *boxes = (abut_box *)(void *)rays;
        for (size_t i = 0; i < count; i++) {
            abut_vec3 p = points[i];
            double half = radius * (double)(i % 4);
            boxes[i] = (abut_box){vec(clamp(p.x - half), clamp(p.y - half), clamp(p.z)),
                                  vec(clamp(p.x + half), clamp(p.y + half), clamp(p.z + half))};
        }
        free(points);
        return boxes;
    }
    free(rays);
    for (size_t i = 0; i < count && scalar == ABUT_SCALAR_FLOAT32; i++) {
        float at[3] = {(float)points[i].x, (float)points[i].y, (float)points[i].z};
        memcpy((float *)(void *)points + 3 * i, at, sizeof at);
    }
    return points;
}

/* The number of results of a list: returned if the capacity is 0, and nothing is written. */
static uint64_t check_overflow(const door *d, const both *b, const void *questions, size_t count) {
    room none = run_query(d, b->bvh, 0, questions, count, 0);
    const uint64_t total = none.total;
    assert_true(total > count / 4);
    free_room(&none);
    for (int turn = 0; turn < 2 * ARRAYS; turn++) {
        const bool on_device = turn > 0;
        const unsigned there = turn < 2 ? 0 : turn == 2 ? ALL : 1u << (turn - ARRAYS);
        for (int little = 0; little < 2; little++) {
            room r = run_query(d, on_device ? b->there : b->bvh, there, questions, count,
                               little ? total - 1 : 0);
            assert_int_equal(ABUT_ERROR_BUFFER, r.status);
            assert_non_null(strstr(abut_last_error(), "the capacity is"));
            assert_int_equal(total, r.total);
            r.total = UNTOUCHED;
            assert_untouched(&r);
            free_room(&r);
        }
    }
    /* only how many */
    for (int on_device = 0; on_device < 2; on_device++) {
        room r = make_room(d, on_device ? 1 << QUESTIONS : 0, questions, count, 0);
        r.array[LENGTHS] = r.array[ANSWERS] = abut_array_host(NULL);
        assert_int_equal(ABUT_ERROR_BUFFER,
                         d->query(on_device ? b->there : b->bvh, r.array, count, 0, &r.total));
        assert_int_equal(total, r.total);
        free_room(&r);
    }
    return total;
}

/* On the CPU, and on the device with every choice of buffers between `from` and `to`. */
static void check_door(const door *d, const both *b, size_t count, unsigned from, unsigned to) {
    void *questions = make_questions(d, b->mesh, count, 3);
    uint64_t total = d->kind == LISTS ? check_overflow(d, b, questions, count) : 0;
    room wanted = run_query(d, b->bvh, 0, questions, count, total);
    assert_ok(wanted.status);
    if (d->kind == LISTS)
        assert_int_equal(total, wanted.total);
    for (unsigned there = from; there <= to; there++) {
        room got = run_query(d, b->there, there, questions, count, total);
        assert_ok(got.status);
        assert_same(d, &got, &wanted);
        free_room(&got);
    }
    free_room(&wanted);
    free(questions);
}

static void check_doors(both *b, size_t count, unsigned from, unsigned to) {
    for (int i = 0; i < DOORS; i++)
        check_door(&doors[i], b, count, from, to);
    free_both(b);
}

/* ---- answers ---- */

TEST(same_bits) {
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_TORUS, 12), false);
    check_doors(&b, 120, 0, ALL);
    b = make_ready(make_shape(NULL, ABUT_SHAPE_TORUS, 12), true);
    check_doors(&b, 120, ALL, ALL);
    if (!device->info.same_bits)
        return;
    b = make_ready(make_shape(NULL, ABUT_SHAPE_TEAPOT, 3), false); /* signs end on the host */
    for (int i = FIRST_SIGN; i <= LAST_SIGN; i++)
        check_door(&doors[i], &b, 120, 0, ALL);
    free_both(&b);
}

TEST(floats) {
    scalar = ABUT_SCALAR_FLOAT32;
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_TORUS, 12), false);
    check_doors(&b, 100, 0, 1);
    scalar = ABUT_SCALAR_FLOAT64;
}

/* A device of little memory: parts begin further and further on in the buffers. */
TEST(parts) {
    uint64_t memory = device->info.memory_bytes;
    device->info.memory_bytes = 1;
    for (uint32_t open = 0; open < 1u + device->info.same_bits; open++) {
        both b = make_ready(make_shape(NULL, open ? ABUT_SHAPE_TEAPOT : ABUT_SHAPE_BOX, 1 + open),
                            false);
        for (int i = open ? FIRST_SIGN : 0; i < (open ? LAST_SIGN + 1 : DOORS); i++)
            check_door(&doors[i], &b, doors[i].kind == EACH ? 4200 : 150, ALL, ALL);
        free_both(&b);
    }
    device->info.memory_bytes = memory;
}

/* Parts of one piece of memory, as a caller has who brings his own OpenCL. */
TEST(sub_buffers) {
    enum { COUNT = 50, APART = 1 << 16 };
    const char *path = getenv("ABUT_OPENCL_LIBRARY");
    void *library = dlopen(path && path[0] ? path : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "clCreateSubBuffer") : NULL;
    __typeof__(&clCreateSubBuffer) make_part;
    assert_non_null(symbol);
    memcpy(&make_part, &symbol, sizeof make_part);
    cl_int error = 0;
    cl_mem whole = abuti_opencl.clCreateBuffer(abut_device_native(device), CL_MEM_READ_WRITE,
                                               (ARRAYS + 1) * APART, NULL, &error);
    assert_int_equal(0, error);
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_TORUS, 8), false);
    for (const door *d = doors; d < doors + DOORS; d++) {
        void *questions = make_questions(d, b.mesh, COUNT, 5);
        room none = run_query(d, b.bvh, 0, questions, COUNT, 0);
        uint64_t capacity = d->kind == LISTS ? none.total : 0;
        room wanted = run_query(d, b.bvh, 0, questions, COUNT, capacity);
        room r = make_room(d, 0, questions, COUNT, capacity);
        for (int i = 0; i < ARRAYS; i++) {
            cl_buffer_region region = {(size_t)(i + 1) * APART, r.bytes[i] + GUARD};
            assert_true(region.size <= APART);
            cl_mem part =
                make_part(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
            assert_int_equal(0, error);
            assert_ok(abut_buffer_wrap(device, part, &r.buffer[i]));
            abuti_opencl.clReleaseMemObject(part); /* the buffer holds it */
            assert_ok(abut_buffer_write(r.buffer[i], 0, r.host[i], region.size));
            r.array[i] = abut_array_buffer(r.buffer[i]);
        }
        assert_ok(r.status = d->query(b.there, r.array, COUNT, capacity, &r.total));
        read_back(&r, questions);
        assert_same(d, &r, &wanted);
        free_room(&none);
        free_room(&wanted);
        free_room(&r);
        free(questions);
    }
    free_both(&b);
    abuti_opencl.clReleaseMemObject(whole);
    dlclose(library);
}

TEST(no_questions) {
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_BOX, 1), false);
    for (const door *d = doors; d < doors + DOORS; d++) {
        room wanted = run_query(d, b.bvh, 0, NULL, 0, 0),
             got = run_query(d, b.there, ALL, NULL, 0, 0);
        assert_ok(wanted.status);
        assert_same(d, &got, &wanted);
        if (d->kind == LISTS)
            assert_true(got.total == 0 && *(uint64_t *)(void *)got.host[LENGTHS] == 0);
        free_room(&wanted);
        free_room(&got);
        const abut_array none[ARRAYS] = {{0}};
        uint64_t total = 0;
        assert_ok(d->query(b.bvh, none, 0, 0, &total));
        assert_ok(d->query(b.there, none, 0, 0, &total));
        assert_int_equal(0, total);
    }
    free_both(&b);
}

/* ---- refusals ---- */

enum { REFUSED = 4 };

/* A call with one wrong array: an error, and nothing is written. */
static void check_refused(const door *d, const abut_bvh *bvh, room *r, const void *questions,
                          abut_status status, const char *part) {
    assert_fails(status, part, d->query(bvh, r->array, REFUSED, 2 * REFUSED, &r->total));
    read_back(r, questions);
    assert_untouched(r);
}

static void check_refusals(const door *d, const both *b, const void *questions, int which,
                           abut_buffer *foreign) {
    room r = make_room(d, ALL, questions, REFUSED, 2 * REFUSED);
    const abut_array good = r.array[which];
    abut_buffer *small;
    r.array[which].host = r.host[which];
    check_refused(d, b->there, &r, questions, ABUT_ERROR_ARGUMENT,
                  "both a host pointer and a buffer");
    r.array[which] = abut_array_buffer(foreign);
    check_refused(d, b->there, &r, questions, ABUT_ERROR_ARGUMENT, "is not on the device");
    r.array[which] = abut_array_buffer(NULL);
    check_refused(d, b->there, &r, questions, ABUT_ERROR_ARGUMENT, "is null");
    assert_ok(abut_buffer_create(device, r.bytes[which] - 1, &small));
    r.array[which] = abut_array_buffer(small);
    check_refused(d, b->there, &r, questions, ABUT_ERROR_BUFFER, "bytes are needed");
    abut_buffer_destroy(small);
    for (int i = 0; i < ARRAYS; i++)
        r.array[i] = i == which ? good : abut_array_host(r.host[i]);
    check_refused(d, b->bvh, &r, questions, ABUT_ERROR_ARGUMENT, "BVH is on the CPU");
    free_room(&r);
}

static void check_exact_size(const door *d, const both *b, const void *questions) {
    room r = make_room(d, 0, questions, 1, 100);
    for (int i = 0; i < ARRAYS; i++) {
        if (!r.bytes[i])
            continue;
        assert_ok(abut_buffer_create(device, r.bytes[i], &r.buffer[i]));
        assert_ok(abut_buffer_write(r.buffer[i], 0, r.host[i], r.bytes[i]));
        r.array[i] = abut_array_buffer(r.buffer[i]);
    }
    assert_ok(d->query(b->there, r.array, 1, 100, &r.total));
    free_room(&r);
}

TEST(refusals) {
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_BOX, 1), false);
    abut_device *other;
    abut_buffer *foreign;
    assert_ok(abut_device_open(NULL, test_device_name(), &other));
    assert_ok(abut_buffer_create(other, 1 << 16, &foreign));
    for (const door *d = doors; d < doors + DOORS; d++) {
        double(*questions)[6] = make_questions(d, b.mesh, REFUSED, 7);
        for (int which = 0; which < ARRAYS; which++)
            if (which != LENGTHS || d->kind != EACH)
                check_refusals(d, &b, questions, which, foreign);
        check_exact_size(d, &b, questions);
        /* a question that is not legal, in either kind of memory */
        char name[32];
        snprintf(name, sizeof name, "%s 1 ", d->question);
        double *second = (double *)questions + d->question_bytes / sizeof(double), kept = *second;
        const double wrong[] = {NAN, INFINITY, 2 * ABUT_COORDINATE_MAX};
        for (int i = 0; i < 3; i++) {
            *second = wrong[i];
            room r = make_room(d, ALL, questions, REFUSED, 2 * REFUSED);
            assert_int_equal(ABUT_ERROR_ARGUMENT,
                             d->query(b.there, r.array, REFUSED, 2 * REFUSED, &r.total));
            assert_non_null(strstr(abut_last_error(), name));
            free_room(&r);
            r = run_query(d, b.bvh, 0, questions, REFUSED, 2 * REFUSED);
            assert_int_equal(ABUT_ERROR_ARGUMENT, r.status);
            assert_untouched(&r);
            free_room(&r);
        }
        *second = kept;
        if (d->kind == LISTS) {
            room r = make_room(d, ALL, questions, REFUSED, 2 * REFUSED);
            assert_refused("total is null", d->query(b.there, r.array, REFUSED, 2 * REFUSED, NULL));
            read_back(&r, questions);
            assert_untouched(&r);
            free_room(&r);
        }
        free(questions);
    }
    abut_buffer_destroy(foreign);
    abut_device_destroy(other);
    free_both(&b);
}

/* No places for each point: counts of 0, but points are looked at all the same. */
TEST(none_nearest) {
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_BOX, 1), false);
    abut_vec3 list[2] = {{0, 0, 0}, {0, 1, 0}};
    uint32_t counts[2] = {77, 77};
    abut_buffer *in, *out;
    assert_ok(abut_buffer_create(device, sizeof list, &in));
    assert_ok(abut_buffer_create(device, sizeof counts, &out));
    assert_ok(abut_buffer_write(out, 0, counts, sizeof counts));
    const abut_array none = abut_array_host(NULL), to = abut_array_buffer(out);
    abut_array points = abut_array_buffer(in);
    list[1].y = NAN;
    assert_ok(abut_buffer_write(in, 0, list, sizeof list));
    assert_refused("point 1", abut_nearest_k_batch(b.there, points, 2, 1, 0, none, to));
    assert_ok(abut_buffer_read(out, 0, counts, sizeof counts));
    assert_true(counts[0] == 77 && counts[1] == 77);
    list[1].y = 1;
    assert_ok(abut_buffer_write(in, 0, list, sizeof list));
    assert_ok(abut_nearest_k_batch(b.there, points, 2, 1, 0, none, to));
    assert_ok(abut_buffer_read(out, 0, counts, sizeof counts));
    assert_true(counts[0] == 0 && counts[1] == 0);
    points.stride = 32;
    assert_refused("contiguous", abut_nearest_k_batch(b.there, points, 2, 1, 0, none, to));
    abut_buffer_destroy(in);
    abut_buffer_destroy(out);
    free_both(&b);
}

TEST(no_doubles) {
    both b = make_ready(make_shape(NULL, ABUT_SHAPE_BOX, 1), false);
    bool doubles = device->info.has_doubles;
    abut_bvh_destroy(b.there);
    device->info.has_doubles = false;
    assert_ok(abuti_bvh_copy_to_device(b.bvh, device, &b.there));
    for (const door *d = doors; d < doors + DOORS; d++) {
        void *questions = make_questions(d, b.mesh, REFUSED, 7);
        room r = make_room(d, ALL, questions, REFUSED, 2 * REFUSED);
        check_refused(d, b.there, &r, questions, ABUT_ERROR_DEVICE, "no doubles");
        free_room(&r);
        free(questions);
    }
    device->info.has_doubles = doubles;
    free_both(&b);
}

/* ---- failures ---- */

enum { ASKED = 12, ROOM = 4000 };

typedef struct asking {
    const door *door;
    room room;
} asking;

static abut_status ask_there(abut_bvh *there, void *data) {
    asking *a = data;
    return a->door->query(there, a->room.array, ASKED, ROOM, &a->room.total);
}

static void check_device_fails(abut_mesh *mesh, int from, int to) {
    both b = make_ready(mesh, false);
    for (const door *d = doors + from; d <= doors + to; d++) {
        void *questions = make_questions(d, b.mesh, ASKED, 3);
        room wanted = run_query(d, b.bvh, 0, questions, ASKED, ROOM);
        assert_ok(wanted.status);
        asking a = {d, make_room(d, ALL, questions, ASKED, ROOM)};
        check_failing(b.bvh, false, ask_there, &a);
        read_back(&a.room, questions);
        assert_same(d, &a.room, &wanted);
        free_room(&wanted);
        free_room(&a.room);
        free(questions);
    }
    free_both(&b);
}

TEST(failing_device) {
    check_device_fails(make_shape(NULL, ABUT_SHAPE_BOX, 1), 0, DOORS - 1);
    if (device->info.same_bits)
        check_device_fails(make_shape(NULL, ABUT_SHAPE_TEAPOT, 2), FIRST_SIGN, LAST_SIGN);
}

static abut_status make_and_ask(abut_context *context, void *data) {
    asking *a = data;
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    box.segments = 1;
    abut_status status = abut_shape_create(context, &box, &mesh);
    status = status ? status : build_there(mesh, &bvh);
    status = status ? status : abut_sign_prepare(bvh, NULL);
    for (int i = 0; i < DOORS && !status; i++)
        status = ask_there(bvh, &a[i]);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(no_memory) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    asking all[DOORS];
    radius = 0.2;
    for (int i = 0; i < DOORS; i++) {
        void *questions = make_questions(&doors[i], mesh, ASKED, 3);
        all[i] = (asking){&doors[i], make_room(&doors[i], ALL, questions, ASKED, ROOM)};
        free(questions);
    }
    assert_true(test_every_allocation(make_and_ask, all) > 20);
    for (int i = 0; i < DOORS; i++)
        free_room(&all[i].room);
    abut_mesh_destroy(mesh);
}

int main(void) {
    RUN_THERE();
}
#else
int main(void) {
    printf("skipped: built without OpenCL\n");
    return 77;
}
#endif
