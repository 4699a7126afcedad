/* Files of fields: written fields are read back, damaged files are rejected. */
#include "apps/get.h"
#include "support/support.h"

#include "base/checksum.h"
#include "field/field.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- making ---- */

static abut_mesh *torus(abut_context *context) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    shape.segments = 12;
    shape.rings = 8;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

static abut_field *field_of(abut_mesh *mesh, int variant, uint32_t cells) {
    abut_field_options options = abut_field_options_default();
    abut_field *field;
    options.cells = cells;
    options.layout = variant & 1 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
    options.type = variant & 2 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
    options.sign = variant & 2 ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING;
    assert_ok(abut_field_create(mesh, &options, &field));
    return field;
}

typedef struct bytes {
    unsigned char *data;
    size_t count;
} bytes;

static bytes slurp(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes b = {malloc(1 << 24), 0};
    assert_non_null(b.data);
    b.count = fread(b.data, 1, 1 << 24, file);
    assert_true(b.count < 1 << 24);
    fclose(file);
    return b;
}

static void same_fields(const abut_field *a, const abut_field *b) {
    abut_field_info p = get_field_info(a), q = get_field_info(b);
    assert_memory_equal(&p.grid, &q.grid,
                        offsetof(abut_grid, count) + sizeof p.grid.count); /* not its padding */
    assert_true(p.layout == q.layout && p.type == q.type && p.band == q.band && p.step == q.step);
    assert_true(p.lowest == q.lowest && p.highest == q.highest && p.closed == q.closed);
    assert_true(p.sign == q.sign && p.bytes == q.bytes && p.bricks == q.bricks);
    assert_memory_equal(a->values, b->values, a->value_count * field_value_bytes(a));
    if (a->layout == ABUT_FIELD_SPARSE) {
        const uint32_t *n = a->bricks;
        assert_memory_equal(a->index, b->index, sizeof *a->index * n[0] * n[1] * n[2]);
        assert_memory_equal(a->coarse, b->coarse,
                            sizeof *a->coarse * (n[0] + 1) * (n[1] + 1) * (n[2] + 1));
    }
}

/* ---- checksum ---- */

TEST(checksums_are_those_of_the_specification) {
    char text[101];
    for (int i = 0; i < 101; i++)
        text[i] = (char)i;
    assert_true(abuti_checksum("", 0) == 0xEF46DB3751D8E999u);
    assert_true(abuti_checksum("abc", 3) == 0x44BC2CF5AD770999u);
    /* every tail: each byte counts */
    for (size_t length = 1; length <= 101; length++)
        for (size_t at = 0; at < length; at++) {
            uint64_t before = abuti_checksum(text, length);
            text[at] ^= 1;
            assert_true(abuti_checksum(text, length) != before);
            text[at] ^= 1;
        }
}

/* ---- our own ---- */

TEST(fields_come_back) {
    AUTO(mesh) mesh = torus(NULL), *other;
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    assert_ok(abut_shape_create(NULL, &box, &other));
    for (int variant = 0; variant < 8; variant++) {
        AUTO(field) field = field_of(mesh, variant & 3, 45), *back;
        abut_field_write_options options = abut_field_write_options_default();
        options.plain = variant & 4;
        bool is;
        assert_ok(abut_field_write(field, test_path("a.abutf"), &options));
        assert_ok(abut_field_read(NULL, test_path("a.abutf"), &back));
        same_fields(field, back);
        assert_ok(abut_field_matches_mesh(back, mesh, &is));
        assert_true(is);
        assert_ok(abut_field_matches_mesh(back, other, &is));
        assert_false(is);
        /* what was loaded is written as the same bytes */
        bytes first = slurp(test_path("a.abutf"));
        assert_ok(abut_field_write(back, test_path("b.abutf"), &options));
        bytes second = slurp(test_path("b.abutf"));
        assert_int_equal(first.count, second.count);
        assert_memory_equal(first.data, second.data, first.count);
        if (!options.plain && strstr(abut_features(), "zstd"))
            assert_true((double)first.count < 0.9 * (double)get_field_info(field).bytes);
        free(first.data);
        free(second.data);
    }
}

TEST_THREADS(threads_do_not_matter) {
    bytes files[2];
    for (uint32_t threads = 1; threads <= 2; threads++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh = torus(context);
        abut_field *field = field_of(mesh, 1, 70);
        assert_ok(abut_field_write(field, test_path("a.abutf"), NULL));
        files[threads - 1] = slurp(test_path("a.abutf"));
        abut_field *back;
        assert_ok(abut_field_read(context, test_path("a.abutf"), &back));
        same_fields(field, back);
        abut_field_destroy(back);
        abut_field_destroy(field);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_int_equal(files[0].count, files[1].count);
    assert_memory_equal(files[0].data, files[1].data, files[0].count);
    free(files[0].data);
    free(files[1].data);
}

/* Each byte of a small file in turn, and every length of it. */
TEST(damage_is_noticed) {
    AUTO(mesh) mesh = torus(NULL);
    for (int variant = 0; variant < 2; variant++) {
        abut_field *field = field_of(mesh, variant, 10), *back = NULL;
        assert_ok(abut_field_write(field, test_path("a.abutf"), NULL));
        bytes file = slurp(test_path("a.abutf"));
        test_random random = {1};
        size_t step = file.count / test_rounds(1500) + 1;
        for (size_t i = 0; i < file.count; i += i < 400 ? 1 : step) {
            unsigned char bit = (unsigned char)(1u << test_random_below(&random, 8));
            file.data[i] ^= bit;
            abut_status status = abut_field_read_memory(NULL, file.data, file.count, "a", &back);
            assert_true(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED);
            assert_memory_equal("a: ", abut_last_error(), 3);
            file.data[i] ^= bit;
            status = abut_field_read_memory(NULL, file.data, i, "a", &back);
            assert_int_equal(ABUT_ERROR_FORMAT, status);
            assert_null(back);
        }
        file.data = realloc(file.data, file.count + 1);
        assert_non_null(file.data);
        file.data[file.count] = 0;
        assert_fails(ABUT_ERROR_FORMAT, "extra bytes at its end",
                     abut_field_read_memory(NULL, file.data, file.count + 1, "a", &back));
        file.data[12] = 9;
        assert_fails(ABUT_ERROR_UNSUPPORTED, "newer version",
                     abut_field_read_memory(NULL, file.data, file.count, "a", &back));
        free(file.data);
        abut_field_destroy(field);
    }
    abut_field *none = NULL;
    assert_fails(ABUT_ERROR_FORMAT, "is empty", abut_field_read_memory(NULL, "", 0, "a", &none));
    assert_fails(ABUT_ERROR_FORMAT, "is not a field",
                 abut_field_read_memory(NULL, "solid of STL", 12, NULL, &none));
    assert_fails(ABUT_ERROR_FILE, "cannot be opened",
                 abut_field_read(NULL, test_path("missing.abutf"), &none));
    assert_refused("null", abut_field_read(NULL, NULL, &none));
}

TEST(what_cannot_be_written_is_told) {
    AUTO(mesh) mesh = torus(NULL);
    AUTO(field) field = field_of(mesh, 0, 10);
    abut_field_write_options options = abut_field_write_options_default();
    assert_refused(".abutf", abut_field_write(field, test_path("a.txt"), NULL));
    assert_fails(ABUT_ERROR_FILE, "cannot be written",
                 abut_field_write(field, test_path("no/where.abutf"), NULL));
    assert_refused("null", abut_field_write(NULL, test_path("a.abutf"), NULL));
    options.format = (abut_field_format)77;
    assert_refused("77", abut_field_write(field, test_path("a"), &options));
    if (access("/dev/full", W_OK) == 0) {
        options.format = ABUT_FIELD_FORMAT_ABUT;
        assert_fails(ABUT_ERROR_FILE, "No space", abut_field_write(field, "/dev/full", &options));
    }
    if (geteuid() != 0) {
        const char *folder = test_path("locked");
        assert_int_equal(0, mkdir(folder, 0500));
        assert_fails(ABUT_ERROR_FILE, "denied",
                     abut_field_write(field, test_path("locked/a.abutf"), NULL));
    }
}

typedef struct job {
    abut_field_format format;
    int variant;
} job;

static abut_status write_and_load(abut_context *context, void *data) {
    const job *j = data;
    abut_field_write_options options = abut_field_write_options_default();
    abut_mesh *mesh = NULL;
    abut_field *field = NULL, *back = NULL;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options how = abut_field_options_default();
    how.cells = 9;
    how.layout = (abut_field_layout)j->variant;
    options.format = j->format;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_field_create(mesh, &how, &field);
    status = status ? status : abut_field_write(field, test_path("memory.file"), &options);
    if (!status && j->format == ABUT_FIELD_FORMAT_ABUT)
        status = abut_field_read(context, test_path("memory.file"), &back);
    abut_field_destroy(back);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(memory_that_fails_is_no_harm) {
    for (int format = ABUT_FIELD_FORMAT_ABUT; format <= ABUT_FIELD_FORMAT_RAW; format++) {
        job j = {(abut_field_format)format, format == ABUT_FIELD_FORMAT_ABUT};
        test_every_allocation(write_and_load, &j);
    }
}

/* A field that was loaded keeps no mesh, and still finds the same contacts. */
TEST(loaded_fields_collide) {
    enum { ROOM = 2000 };
    static abut_contact lists[2][ROOM];
    AUTO(mesh) mesh = torus(NULL);
    AUTO(field) field = field_of(mesh, 0, 24), *back;
    abut_samples *samples;
    abut_contacts found[2] = {{.size = sizeof(abut_contacts), .list = lists[0], .capacity = ROOM},
                              {.size = sizeof(abut_contacts), .list = lists[1], .capacity = ROOM}};
    assert_ok(abut_samples_create(mesh, NULL, &samples));
    assert_ok(abut_field_write(field, test_path("a.abutf"), NULL));
    assert_ok(abut_field_read(NULL, test_path("a.abutf"), &back));
    for (int i = 0; i < 2; i++) {
        const abut_field *of = i ? back : field;
        abut_collider a = abut_collider_from_field(of, samples, abut_pose_identity());
        abut_collider b =
            abut_collider_from_field(of, samples, (abut_pose){{0, 0, 0, 1}, {0.9, 0.1, 0.05}});
        assert_ok(abut_contact_find_sampled(&a, &b, NULL, &found[i]));
    }
    assert_true(found[0].count > 0 && found[0].count < ROOM);
    assert_int_equal(found[0].count, found[1].count);
    for (size_t i = 0; i < found[0].count; i++)
        assert_true(lists[0][i].depth == lists[1][i].depth);
    assert_refused("has no mesh", abut_field_set_mesh(back, mesh, NULL));
    abut_samples_destroy(samples);
}

/* ---- others ---- */

/* What stands in a binary export after its head are the values. */
TEST(exports_hold_the_values) {
    static const char *const names[] = {"a.npy", "a.raw", "a.vti"};
    AUTO(mesh) mesh = torus(NULL);
    for (int variant = 0; variant < 4; variant++) {
        AUTO(field) field = field_of(mesh, variant, 20);
        const uint32_t *n = field->grid.count, zero[3] = {0, 0, 0};
        size_t cells = grid_cells(&field->grid), room = cells * sizeof(float);
        float *values = malloc(room);
        char wanted[200];
        assert_non_null(values);
        assert_ok(abut_field_copy(field, zero, n, values));
        for (int i = 0; i < 3; i++) {
            assert_ok(abut_field_write(field, test_path(names[i]), NULL));
            bytes file = slurp(test_path(names[i]));
            static const char tail[] = "\n  </AppendedData>\n</VTKFile>\n";
            size_t after = i == 2 ? sizeof tail - 1 : 0;
            assert_true(file.count >= room + after);
            size_t head = file.count - room - after;
            assert_memory_equal(file.data + head, values, room);
            if (i == 0) {
                assert_int_equal(head % 64, 0);
                snprintf(wanted, sizeof wanted, "'shape': (%u, %u, %u)", n[2], n[1], n[0]);
                file.data[head - 1] = 0;
                assert_non_null(strstr((char *)file.data + 10, wanted));
            } else if (i == 1) {
                assert_int_equal(head, 0);
            } else {
                uint64_t count;
                memcpy(&count, file.data + head - 8, 8);
                assert_int_equal(count, room);
                assert_int_equal(file.data[head - 9], '_');
                snprintf(wanted, sizeof wanted, "WholeExtent=\"0 %u 0 %u 0 %u\"", n[0] - 1,
                         n[1] - 1, n[2] - 1);
                file.data[head - 9] = 0;
                assert_non_null(strstr((char *)file.data, wanted));
            }
            free(file.data);
        }
        bytes json = slurp(test_path("a.json"));
        snprintf(wanted, sizeof wanted, "\"count\": [%u, %u, %u]", n[0], n[1], n[2]);
        json.data[json.count] = 0;
        assert_non_null(strstr((char *)json.data, wanted));
        free(json.data);
        free(values);
    }
}

/* ---- values of the caller ---- */

TEST(values_of_the_caller_are_kept) {
    abut_grid grid = {{1, 2, 3}, 0.5, {2, 2, 2}};
    float values[8] = {1, 2, 3, 4, 5, 6, 7, -8}, back[8];
    const uint32_t zero[3] = {0, 0, 0};
    abut_field *field = NULL;
    bool is = true;
    AUTO(mesh) mesh = torus(NULL);
    assert_ok(abut_field_create_values(NULL, &grid, values, &field));
    assert_ok(abut_field_copy(field, zero, grid.count, back));
    assert_memory_equal(values, back, sizeof back);
    abut_field_value at;
    assert_ok(abut_field_evaluate(field, (abut_vec3){1.25, 2.25, 3.25}, 0, &at));
    assert_true(at.distance == 20.0 / 8);
    assert_ok(abut_field_matches_mesh(field, mesh, &is));
    assert_false(is);
    abut_field_destroy(field);
    field = NULL;
    values[3] = NAN;
    assert_refused("finite", abut_field_create_values(NULL, &grid, values, &field));
    grid.count[1] = 1;
    assert_refused("at least 2", abut_field_create_values(NULL, &grid, values, &field));
    assert_null(field);
}

/* ---- one field by several processes, which are threads here ---- */

enum { TEAM_MAX = 5 };

/* What all of a team see. */
typedef struct meeting {
    uint32_t count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t waiting;
    uint64_t round;
    const void *own[TEAM_MAX];
    unsigned char file[1 << 20];
    uint64_t file_bytes;
} meeting;

typedef struct member {
    meeting *m;
    abut_mesh *mesh;
    abut_field_options options;
    bool plain;
    abut_field_team team;
    abut_field_info info;
    abut_status status;
    char words[300];
} member;

static void wait_for_all(meeting *m) {
    pthread_mutex_lock(&m->lock);
    uint64_t round = m->round;
    if (++m->waiting == m->count) {
        m->waiting = 0;
        m->round++;
        pthread_cond_broadcast(&m->changed);
    }
    while (round == m->round)
        pthread_cond_wait(&m->changed, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static bool team_gather(void *user, const void *own, const uint64_t *sizes, void *all) {
    member *me = user;
    unsigned char *to = all;
    me->m->own[me->team.rank] = own;
    wait_for_all(me->m);
    for (uint32_t i = 0; i < me->m->count; i++) {
        memcpy(to, me->m->own[i], sizes[i]);
        to += sizes[i];
    }
    wait_for_all(me->m);
    return true;
}

static bool team_write(void *user, uint64_t offset, const void *data, size_t size) {
    member *me = user;
    bool fine = offset + size <= sizeof me->m->file;
    if (fine && size)
        memcpy(me->m->file + offset, data, size);
    pthread_mutex_lock(&me->m->lock);
    if (size && offset + size > me->m->file_bytes)
        me->m->file_bytes = offset + size;
    pthread_mutex_unlock(&me->m->lock);
    wait_for_all(me->m);
    return fine;
}

static void *run_member(void *data) {
    member *me = data;
    me->info = abut_field_info_default();
    me->status =
        abut_field_write_distributed(me->mesh, &me->options, me->plain, &me->team, &me->info);
    snprintf(me->words, sizeof me->words, "%s", me->status ? abut_last_error() : "");
    return NULL;
}

static meeting the_meeting;

/* Each member has a context and a mesh of its own, as processes have. */
static void run_team(uint32_t count, int variant, abut_shape_kind kind, uint64_t fail_at,
                     member members[TEAM_MAX]) {
    pthread_t threads[TEAM_MAX];
    test_memory memory[TEAM_MAX] = {{0}};
    abut_context *contexts[TEAM_MAX];
    the_meeting.count = count;
    the_meeting.file_bytes = 0;
    pthread_mutex_init(&the_meeting.lock, NULL);
    pthread_cond_init(&the_meeting.changed, NULL);
    for (uint32_t i = 0; i < count; i++) {
        member *me = &members[i];
        abut_shape shape = abut_shape_default(kind);
        shape.segments = kind == ABUT_SHAPE_TEAPOT ? 2 : 8;
        shape.rings = 8;
        contexts[i] = test_context(&memory[i], 1);
        *me = (member){.m = &the_meeting, .plain = variant & 4};
        assert_ok(abut_shape_create(contexts[i], &shape, &me->mesh));
        memory[i].fail_at = i == 1 && fail_at ? memory[i].calls + fail_at : 0;
        me->options = abut_field_options_default();
        me->options.cells = 64;
        me->options.layout = ABUT_FIELD_SPARSE;
        me->options.type = variant & 1 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        me->options.sign = variant & 2 ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING;
        me->team = abut_field_team_default();
        me->team.rank = i;
        me->team.count = count;
        me->team.user = me;
        me->team.gather = team_gather;
        me->team.write = team_write;
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < count; i++) {
        abut_mesh_destroy(members[i].mesh);
        abut_context_destroy(contexts[i]);
        assert_int_equal(memory[i].live_count, 0);
    }
    pthread_mutex_destroy(&the_meeting.lock);
    pthread_cond_destroy(&the_meeting.changed);
}

TEST_THREADS(a_team_writes_the_file_of_one) {
    static const struct {
        int variant;
        abut_shape_kind kind;
        uint32_t count;
    } cases[] = {{0, ABUT_SHAPE_TORUS, 1},  {0, ABUT_SHAPE_TORUS, 3},  {5, ABUT_SHAPE_TORUS, 4},
                 {0, ABUT_SHAPE_TEAPOT, 2}, {1, ABUT_SHAPE_TEAPOT, 5}, {2, ABUT_SHAPE_BOX, 2}};
    member members[TEAM_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += test_brief() ? 3 : 1) {
        run_team(cases[i].count, cases[i].variant, cases[i].kind, 0, members);
        abut_shape shape = abut_shape_default(cases[i].kind);
        abut_field_write_options how = abut_field_write_options_default();
        AUTO(mesh) mesh;
        AUTO(field) field;
        AUTO(field) back;
        shape.segments = cases[i].kind == ABUT_SHAPE_TEAPOT ? 2 : 8;
        shape.rings = 8;
        how.plain = cases[i].variant & 4;
        assert_ok(abut_shape_create(NULL, &shape, &mesh));
        assert_ok(abut_field_create(mesh, &members[0].options, &field));
        assert_ok(abut_field_write(field, test_path("one.abutf"), &how));
        bytes one = slurp(test_path("one.abutf"));
        const abut_field_info is = get_field_info(field);
        assert_true(is.bricks > 100); /* two blocks of a file or more */
        assert_true(one.count == the_meeting.file_bytes);
        assert_memory_equal(one.data, the_meeting.file, one.count);
        assert_ok(abut_field_read_memory(NULL, the_meeting.file, one.count, NULL, &back));
        same_fields(field, back);
        for (uint32_t k = 0; k < cases[i].count; k++) {
            assert_ok(members[k].status);
            assert_true(members[k].info.lowest == is.lowest);
            assert_true(members[k].info.highest == is.highest && members[k].info.bytes == is.bytes);
        }
        free(one.data);
    }
}

/* From the third allocation on: the first two are for the exchange between processes. */
TEST_THREADS(what_fails_in_one_of_a_team_fails_in_all) {
    member members[TEAM_MAX];
    uint32_t failures = 0;
    for (uint64_t at = 3; at < 400; at = 2 * at + 1) {
        run_team(3, 0, ABUT_SHAPE_BOX, at, members);
        if (!members[1].status)
            break;
        failures++;
        for (int k = 0; k < 3; k++)
            assert_int_equal(members[k].status, ABUT_ERROR_MEMORY);
        assert_non_null(strstr(members[0].words, "process 1 of 3: out of memory"));
        assert_non_null(strstr(members[2].words, "process 1 of 3: out of memory"));
    }
    assert_true(failures >= 3);
}

enum { DISK_FULL = 1000 }; /* a number of gathers that is never reached */

static bool alone_gather(void *user, const void *own, const uint64_t *sizes, void *all) {
    uint64_t *left = user;
    memcpy(all, own, sizes[0]);
    *left -= *left != DISK_FULL;
    return *left != 0;
}

static bool alone_write(void *user, uint64_t offset, const void *data, size_t size) {
    (void)offset;
    (void)data;
    (void)size;
    return *(uint64_t *)user != DISK_FULL;
}

static abut_status write_alone(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options options = abut_field_options_default();
    abut_field_team team = abut_field_team_default();
    abut_mesh *mesh;
    uint64_t left = *(uint64_t *)data;
    shape.segments = 1;
    options.layout = ABUT_FIELD_SPARSE;
    options.cells = 20;
    team.count = 1;
    team.user = &left;
    team.gather = alone_gather;
    team.write = alone_write;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    if (status)
        return status;
    status = abut_field_write_distributed(mesh, &options, false, &team, NULL);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(a_team_fails_with_a_sentence) {
    uint64_t most = UINT64_MAX, full = DISK_FULL;
    test_every_allocation(write_alone, &most);
    for (uint64_t at = 1; at <= 6; at++) /* all exchanges */
        assert_fails(ABUT_ERROR_FILE, "exchange of data", write_alone(NULL, &at));
    assert_fails(ABUT_ERROR_FILE, "write function", write_alone(NULL, &full));
    AUTO(mesh) mesh = torus(NULL);
    abut_field_options options = abut_field_options_default();
    abut_field_team team = abut_field_team_default();
    assert_refused("mesh", abut_field_write_distributed(NULL, NULL, false, &team, NULL));
    assert_refused("team", abut_field_write_distributed(mesh, NULL, false, NULL, NULL));
    assert_refused("0 of 0", abut_field_write_distributed(mesh, NULL, false, &team, NULL));
    team.count = 1;
    team.user = &most;
    team.gather = alone_gather;
    team.write = alone_write;
    assert_fails(ABUT_ERROR_UNSUPPORTED, "sparse",
                 abut_field_write_distributed(mesh, &options, false, &team, NULL));
}
