/* Inputs of batches: the same results, bit for bit, from contiguous doubles, from doubles with a
 * stride at an odd address, and from floats; invalid arrays; memory. */
#include "device/array.h"
#include "open.h"

#include <abut/abut.h>

#include <math.h>

enum { COUNT = 40, LIST_MAX = 4096, STRIDE = 100 };

/* ---- forms of an input ---- */

typedef enum form { PACKED, UNALIGNED, STRIDED, FLOATS, STRIDED_FLOATS, FORMS } form;

/* The caller releases the memory. The last element has no space behind it. */
static abut_array make_input(form how, const double *numbers, size_t count, uint32_t per_element,
                             unsigned char **memory) {
    const bool is_float = how >= FLOATS;
    const size_t packed = per_element * (is_float ? sizeof(float) : sizeof(double));
    const size_t stride = how == STRIDED || how == STRIDED_FLOATS ? STRIDE : packed;
    const size_t offset = how == PACKED || how == FLOATS ? 0 : 1;
    unsigned char *bytes = calloc(1, offset + (count ? (count - 1) * stride + packed : 1));
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < per_element; k++) {
            const double number = numbers[i * per_element + k];
            const float rounded = (float)number;
            unsigned char *to = bytes + offset + i * stride;
            assert_true((double)rounded == number);
            if (is_float)
                memcpy(to + k * sizeof rounded, &rounded, sizeof rounded);
            else
                memcpy(to + k * sizeof number, &number, sizeof number);
        }
    *memory = bytes;
    abut_array array =
        is_float ? abut_array_floats(bytes + offset) : abut_array_host(bytes + offset);
    array.stride = stride == packed ? 0 : stride;
    return array;
}

/* A number from -range to range that is exact as a float. */
static double random_number(test_random *random, double range) {
    return round(64 * test_random_real(random, -range, range)) / 64;
}

/* ---- queries ---- */

typedef struct subject {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    abut_world *world;
    abut_layers *layers;
    abut_sweep *sweep;
    abut_radial *radial;
    abut_vec3 *positions; /* of the mesh, exact as floats */
    uint32_t ids[2];
    uint32_t vertex_count;
    /* results */
    uint64_t total, offsets[COUNT + 1];
    abut_nearest nearest[LIST_MAX];
    abut_ray_hit hits[LIST_MAX];
    abut_field_value values[COUNT];
    abut_contact contacts[LIST_MAX];
    abut_radial_answer answers[COUNT];
    abut_world_impact impacts[8];
    uint32_t triangles[LIST_MAX], counts[COUNT];
    double winding[COUNT];
    bool flags[COUNT];
} subject;

typedef struct query {
    const char *name;  /* of the array in messages */
    uint32_t numbers;  /* of an element */
    bool of_positions; /* an element for each vertex of the mesh */
    abut_status (*run)(subject *s, abut_array array, size_t count);
    uint64_t (*hash)(subject *s, size_t count);
} query;

static const abut_character_matrix still = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};

static uint64_t hash(uint64_t h, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return h;
}

/* Hashes the first bytes of each element, without padding. */
static uint64_t hash_list(const void *list, size_t count, size_t stride, size_t bytes) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        h = hash(h, (const unsigned char *)list + i * stride, bytes);
    return h;
}

#define HASH_LIST(list, count) hash_list(list, count, sizeof *(list), sizeof *(list))
#define HASH_HITS(count) \
    hash_list(s->hits, count, sizeof *s->hits, offsetof(abut_ray_hit, triangle) + sizeof(uint32_t))
#define RUN(which, call)                                                      \
    static abut_status run_##which(subject *s, abut_array in, size_t count) { \
        return call;                                                          \
    }
#define QUERY(which, call, result)                           \
    RUN(which, call)                                         \
    static uint64_t hash_##which(subject *s, size_t count) { \
        return result;                                       \
    }
#define OUT abut_array_host

/* Some points are inside, others outside. */
static uint64_t hash_inside_list(const subject *s, size_t count) {
    size_t inside = 0;
    for (size_t i = 0; i < count; i++)
        inside += s->flags[i];
    assert_true(inside > 2 && inside + 2 < count);
    return HASH_LIST(s->flags, count);
}

QUERY(point, abut_nearest_point_batch(s->bvh, in, count, HUGE_VAL, OUT(s->nearest)),
      HASH_LIST(s->nearest, count))
QUERY(neighbours, abut_nearest_k_batch(s->bvh, in, count, 9, 2, OUT(s->nearest), OUT(s->counts)),
      HASH_LIST(s->nearest, 2 * count))
QUERY(within,
      abut_nearest_within_batch(s->bvh, in, count, 0.5, LIST_MAX, OUT(s->offsets), OUT(s->nearest),
                                &s->total),
      HASH_LIST(s->nearest, s->total))
QUERY(inside, abut_sign_inside_batch(s->bvh, in, count, OUT(s->flags)), hash_inside_list(s, count))
QUERY(winding, abut_sign_winding_batch(s->bvh, in, count, OUT(s->winding)),
      HASH_LIST(s->winding, count))
QUERY(sign, abut_sign_nearest_batch(s->bvh, in, count, HUGE_VAL, OUT(s->nearest)),
      HASH_LIST(s->nearest, count))
QUERY(field, abut_field_evaluate_batch(s->field, in, count, ABUT_INTERPOLATION_LINEAR, s->values),
      HASH_LIST(s->values, count))
QUERY(radial, abut_radial_evaluate(s->radial, in, count, 0, OUT(s->answers)),
      hash_list(s->answers, count, sizeof *s->answers, sizeof(double)))
QUERY(first, abut_ray_first_batch(s->bvh, in, count, HUGE_VAL, OUT(s->hits)), HASH_HITS(count))
QUERY(any, abut_ray_any_batch(s->bvh, in, count, HUGE_VAL, OUT(s->flags)),
      HASH_LIST(s->flags, count))
QUERY(all,
      abut_ray_all_batch(s->bvh, in, count, LIST_MAX, OUT(s->offsets), OUT(s->hits), &s->total),
      HASH_HITS(s->total))
QUERY(boxes,
      abut_bvh_find_in_box_batch(s->bvh, in, count, LIST_MAX, OUT(s->offsets), OUT(s->triangles),
                                 &s->total),
      HASH_LIST(s->triangles, s->total))

static abut_status run_contacts(subject *s, abut_array in, size_t count) {
    const abut_collider body = abut_collider_from_field(s->field, NULL, abut_pose_identity());
    abut_contacts found = {.size = sizeof found, .list = s->contacts, .capacity = LIST_MAX};
    abut_status status = abut_contact_points(&body, in, count, 0.1, NULL, &found);
    s->total = found.count;
    return status;
}

static uint64_t hash_contacts(subject *s, size_t count) {
    assert_true(s->total > 0 && s->total <= count);
    return hash_list(s->contacts, s->total, sizeof *s->contacts, 3 * sizeof(double));
}

static uint64_t hash_world(subject *s, size_t count) {
    abut_contacts found = {.size = sizeof found, .list = s->contacts, .capacity = LIST_MAX};
    assert_ok(abut_world_contacts(s->world, &found));
    assert_true(found.count > 0);
    return hash_list(s->contacts, found.count, sizeof *s->contacts, 3 * sizeof(double));
}

static uint64_t hash_layers(subject *s, size_t count) {
    abut_layers_pair pairs[4];
    abut_layers_result result = {.size = sizeof result, .pairs = {pairs, 4, 0}};
    abut_layers_query options = abut_layers_query_default();
    options.resolution = 64;
    assert_ok(abut_layers_find(s->layers, &options, &result));
    assert_int_equal(1, result.pairs.count);
    return hash(pairs[0].pixels, &pairs[0].volume, sizeof pairs[0].volume);
}

static abut_status run_world_sweep(subject *s, abut_array in, size_t count) {
    abut_world_impacts found = abut_world_impacts_default();
    found.list = s->impacts;
    found.capacity = 8;
    const abut_pose start = {{0, 0, 0, 1}, {0, 0, 4}};
    abut_status status = abut_world_set_poses(s->world, s->ids, OUT(&start), 1);
    status = status ? status : abut_world_sweep(s->world, s->ids, in, count, NULL, &found);
    s->winding[0] = found.time;
    return status;
}

static uint64_t hash_world_sweep(subject *s, size_t count) {
    assert_true(s->winding[0] > 0 && s->winding[0] < 1);
    return HASH_LIST(s->winding, 1);
}

static uint64_t hash_motion(subject *s, size_t count) {
    AUTO_FREE abut_impact *list = calloc(LIST_MAX, sizeof *list);
    abut_impact_list found = {list, LIST_MAX, 0};
    assert_ok(abut_sweep_find(s->sweep, ABUT_SWEEP_EARLIEST, NULL, &found, NULL));
    assert_int_equal(1, found.count);
    return hash_list(list, 1, sizeof *list, 10 * sizeof(double));
}

static uint64_t hash_radial_samples(subject *s, size_t count) {
    const abut_vec3 points[3] = {{1.5, 0, 0}, {0, 0.25, 0.5}, {0.3, -2, 0.1}};
    assert_ok(abut_radial_evaluate(s->radial, OUT(points), 3, 0, OUT(s->answers)));
    assert_true(s->answers[0].distance < HUGE_VAL);
    return hash_list(s->answers, 3, sizeof *s->answers, sizeof(double));
}

RUN(poses, abut_world_set_poses(s->world, s->ids, in, count))
RUN(layer_poses, abut_layers_set_poses(s->layers, NULL, in, count))
RUN(world_positions, abut_world_set_positions(s->world, s->ids[1], NULL, in))
RUN(layer_positions, abut_layers_set_positions(s->layers, 1, in))
RUN(motion_end, abut_sweep_set_positions(s->sweep, OUT(s->positions), in))
RUN(motion_start, abut_sweep_set_positions(s->sweep, in, OUT(s->positions)))
RUN(radial_positions, abut_radial_set_positions(s->radial, &still, in))

#define ROW(which) run_##which, hash_##which
static const query queries[] = {
    {"points", 3, false, ROW(point)},
    {"points", 3, false, ROW(neighbours)},
    {"points", 3, false, ROW(within)},
    {"points", 3, false, ROW(inside)},
    {"points", 3, false, ROW(winding)},
    {"points", 3, false, ROW(sign)},
    {"points", 3, false, ROW(field)},
    {"points", 3, false, ROW(contacts)},
    {"points", 3, false, ROW(radial)},
    {"rays", 6, false, ROW(first)},
    {"rays", 6, false, ROW(any)},
    {"rays", 6, false, ROW(all)},
    {"boxes", 6, false, ROW(boxes)},
    {"poses", 7, false, run_poses, hash_world},
    {"poses", 7, false, run_layer_poses, hash_layers},
    {"ends", 7, false, ROW(world_sweep)},
    {"positions", 3, true, run_world_positions, hash_world},
    {"positions", 3, true, run_layer_positions, hash_layers},
    {"end", 3, true, run_motion_end, hash_motion},
    {"start", 3, true, run_motion_start, hash_motion},
    {"positions", 3, true, run_radial_positions, hash_radial_samples},
};
enum { QUERIES = sizeof queries / sizeof *queries };

/* ---- subjects ---- */

/* A ball of radius 0.5 with everything that the queries need. */
static subject *make_subject(abut_context *context) {
    subject *s = calloc(1, sizeof *s);
    assert_non_null(s);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_UVSPHERE);
    shape.segments = 12;
    shape.rings = 8;
    assert_ok(abut_shape_create(context, &shape, &s->mesh));
    s->vertex_count = abut_mesh_vertex_count(s->mesh);
    s->positions = malloc(s->vertex_count * sizeof *s->positions);
    assert_non_null(s->positions);
    assert_ok(abut_mesh_get_positions(s->mesh, s->positions));
    for (uint32_t i = 0; i < 3 * s->vertex_count; i++)
        (&s->positions[0].x)[i] = round(1024 * (&s->positions[0].x)[i]) / 1024;
    assert_ok(abut_bvh_create(s->mesh, NULL, &s->bvh));
    assert_ok(abut_sign_prepare(s->bvh, NULL));
    abut_field_options field = abut_field_options_default();
    field.cell = 1.0 / 16;
    assert_ok(abut_field_create(s->mesh, &field, &s->field));
    assert_ok(abut_world_create(context, NULL, &s->world));
    assert_ok(abut_layers_create(context, NULL, &s->layers));
    for (int i = 0; i < 2; i++) {
        const abut_pose pose = {{0, 0, 0, 1}, {0.75 * i, 0, 0}};
        abut_world_item item = abut_world_item_default();
        item.collider = abut_collider_from_mesh(s->mesh, i ? abut_pose_identity() : pose);
        item.collider.shape.mesh.deforms = i == 1;
        assert_ok(abut_world_add(s->world, &item, &s->ids[i]));
        abut_layers_item solid = abut_layers_item_default();
        solid.collider = abut_collider_from_mesh(s->mesh, pose);
        assert_ok(abut_layers_add(s->layers, &solid, NULL));
    }
    assert_ok(abut_sweep_create(&s->mesh, 1, NULL, &s->sweep));
    abut_radial_axis axis = {0};
    axis.begin.z = -0.5;
    axis.end.z = 0.5;
    axis.normal.x = 1;
    axis.around = 11;
    axis.along = 9;
    abut_radial_options radial = abut_radial_options_default();
    radial.axes = &axis;
    radial.axis_count = 1;
    assert_ok(abut_radial_create_mesh(s->mesh, 1, &radial, &s->radial));
    assert_ok(abut_radial_set_positions(s->radial, &still, OUT(s->positions)));
    return s;
}

static void free_subject(subject *s) {
    abut_radial_destroy(s->radial);
    abut_sweep_destroy(s->sweep);
    abut_layers_destroy(s->layers);
    abut_world_destroy(s->world);
    abut_field_destroy(s->field);
    abut_bvh_destroy(s->bvh);
    abut_mesh_destroy(s->mesh);
    free(s->positions);
    free(s);
}

/* The numbers of an input; sets the number of elements. The caller releases them. */
static double *make_numbers(const query *q, const subject *s, size_t *count) {
    test_random random = {7};
    const bool poses = q->numbers == 7;
    *count = q->of_positions ? s->vertex_count : poses ? 1 : COUNT;
    double *numbers = malloc(*count * q->numbers * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < *count * q->numbers; i++)
        numbers[i] = random_number(&random, q->numbers == 3 ? 0.5 : 0.75);
    for (size_t i = 0; i < *count; i++) {
        double *e = numbers + i * q->numbers;
        if (q->name[0] == 'b')
            for (int k = 0; k < 3; k++)
                e[3 + k] = e[k] + 0.25;
        if (poses)
            memcpy(e, (double[7]){0.25, 0, 0, 1, 0.25, 0, -0.5}, 7 * sizeof *e);
        if (q->of_positions) { /* the ball turned inside out along x, or moved */
            const abut_vec3 p = s->positions[i];
            const bool moves = q->name[0] == 'p';
            e[0] = moves ? p.x + 0.125 : -p.x;
            e[1] = p.y;
            e[2] = p.z;
        }
    }
    return numbers;
}

/* ---- tests ---- */

TEST(same_results) {
    uint64_t expected[QUERIES] = {0};
    for (int how = 0; how < FORMS; how++)
        for (int i = 0; i < QUERIES; i++) {
            const query *q = &queries[i];
            subject *s = make_subject(NULL);
            size_t count;
            unsigned char *memory;
            AUTO_FREE double *numbers = make_numbers(q, s, &count);
            const abut_array array = make_input((form)how, numbers, count, q->numbers, &memory);
            assert_ok(q->run(s, array, count));
            free(memory); /* inputs are not used after the call */
            const uint64_t got = q->hash(s, count);
            if (how == PACKED)
                expected[i] = got;
            else if (got != expected[i])
                fail_msg("query %d (%s), form %d: other results", i, q->name, how);
            free_subject(s);
        }
}

/* Each allocation of each query fails once; then the query succeeds with the same results. */
TEST(no_memory) {
    for (int i = 0; i < QUERIES; i++) {
        const query *q = &queries[i];
        uint64_t expected = 0;
        for (int how = PACKED; how <= FLOATS; how += FLOATS) {
            test_memory memory = {0};
            abut_context *context = test_context(&memory, 1);
            subject *s = make_subject(context);
            size_t count;
            unsigned char *bytes;
            double *numbers = make_numbers(q, s, &count);
            const abut_array array = make_input((form)how, numbers, count, q->numbers, &bytes);
            abut_status status = how == PACKED ? q->run(s, array, count) : ABUT_ERROR_MEMORY;
            for (uint64_t n = 1; status == ABUT_ERROR_MEMORY; n++) {
                assert_true(n < 1000);
                memory.fail_at = memory.calls + n;
                status = q->run(s, array, count);
            }
            memory.fail_at = 0;
            assert_ok(status);
            const uint64_t got = q->hash(s, count);
            expected = how == PACKED ? got : expected;
            assert_true(got == expected);
            free(numbers);
            free(bytes);
            free_subject(s);
            abut_context_destroy(context);
            assert_int_equal(0, memory.live_count);
        }
    }
}

/* A call with an invalid array: an error that names it, and no change. */
static void check_refused(const query *q, subject *s, const char *words, abut_array array,
                          size_t count) {
    char part[64];
    snprintf(part, sizeof part, "%s%s", q->name, words);
    memset(&s->total, 0x5a, sizeof *s - offsetof(subject, total));
    assert_refused(part, q->run(s, array, count));
    if (q->hash != hash_contacts && q->hash != hash_world_sweep)
        for (size_t i = offsetof(subject, total); i < sizeof *s; i++)
            assert_int_equal(0x5a, ((unsigned char *)s)[i]);
}

TEST(refusals) {
    subject *s = make_subject(NULL);
    for (const query *q = queries; q < queries + QUERIES; q++) {
        size_t count;
        AUTO_FREE unsigned char *memory = NULL;
        AUTO_FREE double *numbers = make_numbers(q, s, &count);
        const abut_array valid = make_input(PACKED, numbers, count, q->numbers, &memory);
        abut_array array = valid;
        array.type = (abut_scalar_type)3;
        check_refused(q, s, ".type is 3", array, count);
        array.type = (abut_scalar_type)-1;
        check_refused(q, s, ".type is -1", array, count);
        array = valid;
        array.stride = q->numbers * sizeof(double) - 1;
        check_refused(q, s, ".stride is ", array, count);
        array.type = ABUT_SCALAR_FLOAT32;
        array.stride = q->numbers * sizeof(float) - 1;
        check_refused(q, s, ".stride is ", array, count);
        array.stride = SIZE_MAX / 2;
        if (count > 2)
            check_refused(q, s, ".stride is ", array, count);
        if (!q->of_positions && q->numbers < 7)
            check_refused(q, s, " is null", abut_array_host(NULL), count);
        array = valid;
        array.type = ABUT_SCALAR_FLOAT64; /* the same as none */
        assert_ok(q->run(s, array, count));
    }
    free_subject(s);
}

/* A null BVH is refused before an input is converted. */
TEST(no_bvh) {
    static const float numbers[12] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3};
    const abut_array in = abut_array_floats(numbers);
    uint64_t offsets[3], total;
    abut_ray_hit hits[2];
    bool any[2];
    uint32_t triangles[2];
    const abut_array at = abut_array_host(offsets), to = abut_array_host(hits);
    assert_refused("bvh is null", abut_ray_first_batch(NULL, in, 2, 1, to));
    assert_refused("bvh is null", abut_ray_any_batch(NULL, in, 2, 1, abut_array_host(any)));
    assert_refused("bvh is null", abut_ray_all_batch(NULL, in, 2, 2, at, to, &total));
    assert_refused("bvh is null", abut_bvh_find_in_box_batch(NULL, in, 2, 2, at,
                                                             abut_array_host(triangles), &total));
}

/* Outputs have neither type nor stride. */
TEST(outputs) {
    subject *s = make_subject(NULL);
    const abut_vec3 point = {0, 0, 2};
    const abut_ray ray = {{0, 0, 2}, {0, 0, -1}};
    const abut_box box = {{-1, -1, -1}, {1, 1, 1}};
    const abut_array points = OUT(&point), rays = OUT(&ray), boxes = OUT(&box);
    memset(&s->total, 0x5a, sizeof *s - offsetof(subject, total));
    for (int k = 0; k < 2; k++) {
#define ODD(memory)                                                           \
    (abut_array) {                                                            \
        .host = (memory), .type = k ? ABUT_SCALAR_FLOAT64 : ABUT_SCALAR_NONE, \
        .stride = k ? 0 : 256                                                 \
    }
        const char *words[] = {"has a type (0) or a stride (256)", "has a type (1)"};
        assert_refused(words[k], abut_nearest_point_batch(s->bvh, points, 1, 1, ODD(s->nearest)));
        assert_refused(words[k], abut_nearest_k_batch(s->bvh, points, 1, 1, 1, ODD(s->nearest),
                                                      OUT(s->counts)));
        assert_refused(words[k], abut_nearest_k_batch(s->bvh, points, 1, 1, 1, OUT(s->nearest),
                                                      ODD(s->counts)));
        assert_refused(words[k],
                       abut_nearest_within_batch(s->bvh, points, 1, 1, LIST_MAX, ODD(s->offsets),
                                                 OUT(s->nearest), &s->total));
        assert_refused(words[k],
                       abut_nearest_within_batch(s->bvh, points, 1, 1, LIST_MAX, OUT(s->offsets),
                                                 ODD(s->nearest), &s->total));
        assert_refused(words[k], abut_sign_inside_batch(s->bvh, points, 1, ODD(s->flags)));
        assert_refused(words[k], abut_sign_winding_batch(s->bvh, points, 1, ODD(s->winding)));
        assert_refused(words[k], abut_sign_nearest_batch(s->bvh, points, 1, 1, ODD(s->nearest)));
        assert_refused(words[k], abut_radial_evaluate(s->radial, points, 1, 0, ODD(s->answers)));
        assert_refused(words[k], abut_ray_first_batch(s->bvh, rays, 1, 9, ODD(s->hits)));
        assert_refused(words[k], abut_ray_any_batch(s->bvh, rays, 1, 9, ODD(s->flags)));
        assert_refused(words[k], abut_ray_all_batch(s->bvh, rays, 1, LIST_MAX, OUT(s->offsets),
                                                    ODD(s->hits), &s->total));
        assert_refused(words[k],
                       abut_bvh_find_in_box_batch(s->bvh, boxes, 1, LIST_MAX, ODD(s->offsets),
                                                  OUT(s->triangles), &s->total));
    }
    for (size_t i = offsetof(subject, total); i < sizeof *s; i++)
        assert_int_equal(0x5a, ((unsigned char *)s)[i]);
    free_subject(s);
}

static abut_status convert_floats(abut_context *context, void *data) {
    abut_array array = abut_array_floats(data);
    void *copy;
    abut_status status = abuti_array_convert(__func__, "points", context, &array, 2, 3, &copy);
    if (status) {
        assert_null(copy);
        return status;
    }
    assert_true(array.host == copy && array.type == ABUT_SCALAR_NONE && !array.stride);
    for (int i = 0; i < 6; i++)
        assert_true(((const double *)copy)[i] == (double)((const float *)data)[i]);
    abuti_release(context, copy);
    return ABUT_OK;
}

TEST(conversion) {
    float floats[6] = {1, -2.5f, 3, 1e-45f, -0.0f, 0.1f};
    double doubles[6] = {1, 2, 3, 4, 5, 6};
    void *copy;
    assert_int_equal(1, test_every_allocation(convert_floats, floats));
    abut_array array = abut_array_host(doubles);
    array.type = ABUT_SCALAR_FLOAT64;
    array.stride = sizeof(abut_vec3);
    assert_ok(abuti_array_convert(__func__, "points", NULL, &array, 2, 3, &copy));
    assert_true(!copy && array.host == doubles && !array.type && !array.stride);
    array = abut_array_floats(NULL);
    assert_ok(abuti_array_convert(__func__, "points", NULL, &array, 0, 3, &copy));
    assert_true(!copy && !array.host);
    array = abut_array_floats(floats); /* more than memory can hold */
    assert_int_equal(ABUT_ERROR_MEMORY,
                     abuti_array_convert(__func__, "points", NULL, &array, SIZE_MAX / 2, 3, &copy));
    assert_null(copy);
}

/* In buffers only points may be floats, and all elements are contiguous. */
TEST(buffers) {
    if (test_device_absence())
        skip();
    AUTO(device) device = test_device(NULL);
    subject *s = make_subject(NULL);
    abut_bvh_options options = abut_bvh_options_default();
    AUTO(bvh) there = NULL;
    AUTO(buffer) in = NULL;
    options.device = device;
    assert_ok(abut_bvh_create(s->mesh, &options, &there));
    const double zeros[64] = {0};
    assert_ok(abut_buffer_create(device, sizeof zeros, &in));
    assert_ok(abut_buffer_write(in, 0, zeros, sizeof zeros));
    abut_array floats = abut_array_buffer(in), apart = abut_array_buffer(in);
    floats.type = ABUT_SCALAR_FLOAT32;
    apart.stride = 64;
    assert_refused("rays is a buffer of floats",
                   abut_ray_first_batch(there, floats, 1, 9, OUT(s->hits)));
    assert_refused("rays is a buffer of floats",
                   abut_ray_any_batch(there, floats, 1, 9, OUT(s->flags)));
    assert_refused("rays is a buffer of floats",
                   abut_ray_all_batch(there, floats, 1, LIST_MAX, OUT(s->offsets), OUT(s->hits),
                                      &s->total));
    assert_refused("boxes is a buffer of floats",
                   abut_bvh_find_in_box_batch(there, floats, 1, LIST_MAX, OUT(s->offsets),
                                              OUT(s->triangles), &s->total));
    assert_refused("rays.stride is 64, but elements in a buffer must be contiguous",
                   abut_ray_first_batch(there, apart, 1, 9, OUT(s->hits)));
    assert_refused("points.stride is 64, but elements in a buffer must be contiguous",
                   abut_nearest_point_batch(there, apart, 1, 9, OUT(s->nearest)));
    if (device->info.has_doubles) {
        assert_ok(abut_nearest_point_batch(there, floats, 1, 9, OUT(s->nearest)));
        abut_nearest one;
        assert_ok(abut_nearest_point(s->bvh, (abut_vec3){0, 0, 0}, 9, &one));
        assert_true(one.distance == s->nearest[0].distance);
        apart.stride = sizeof(abut_vec3); /* that of contiguous elements */
        assert_ok(abut_nearest_point_batch(there, apart, 1, 9, OUT(s->nearest)));
    }
    free_subject(s);
}
