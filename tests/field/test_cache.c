/* The cache of fields: read back bit for bit, never used if damaged, and without effect if it
 * cannot be written. */
#include "apps/get.h"
#include "field/field.h"
#include "support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- tools ---- */

typedef struct told {
    uint32_t warnings;
    char last[2048];
} told;

static void take_log(void *user, abut_log_level level, const char *message) {
    told *t = user;
    if (level == ABUT_LOG_WARNING) {
        t->warnings++;
        snprintf(t->last, sizeof t->last, "%s", message);
    }
}

static told heard;

static abut_context *listening(void) {
    abut_context *context = NULL;
    abut_context_options options = abut_context_options_default();
    options.log = take_log;
    options.log_user = &heard;
    options.thread_count = 1;
    heard.warnings = 0;
    assert_ok(abut_context_create(&options, &context));
    return context;
}

static abut_mesh *mesh_of(abut_context *context, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

/* A folder of that name that is not there yet. */
static const char *fresh(const char *name) {
    const char *folder = test_path(name);
    assert_int_not_equal(0, access(folder, F_OK));
    return folder;
}

/* A field with several sets of options. */
static abut_field_options ways(int which) {
    abut_field_options o = abut_field_options_default();
    o.cells = which == 1 ? 7 : 6;
    o.type = which == 2 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
    o.layout = which == 3 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
    o.band = which == 4 ? 0.2 : 0;
    o.sign = which == 5 ? ABUT_SIGN_NORMAL : ABUT_SIGN_AUTO;
    o.margin = which == 6 ? 0.5 : 0;
    return o;
}
enum { WAYS = 7 };

static void same(const abut_field *a, const abut_field *b) {
    abut_field_info x = get_field_info(a), y = get_field_info(b);
    assert_memory_equal(x.grid.count, y.grid.count, sizeof x.grid.count);
    assert_true(x.layout == y.layout && x.type == y.type && x.sign == y.sign &&
                x.closed == y.closed && x.bricks == y.bricks && x.bytes == y.bytes);
    assert_true(x.grid.cell == y.grid.cell && x.grid.origin.x == y.grid.origin.x &&
                x.grid.origin.y == y.grid.origin.y && x.grid.origin.z == y.grid.origin.z);
    assert_true(x.band == y.band && x.step == y.step && x.lowest == y.lowest &&
                x.highest == y.highest);
    assert_memory_equal(a->values, b->values, a->value_count * field_value_bytes(a));
    if (a->layout == ABUT_FIELD_SPARSE) {
        size_t bricks = (size_t)a->bricks[0] * a->bricks[1] * a->bricks[2];
        size_t corners = (a->bricks[0] + 1ul) * (a->bricks[1] + 1) * (a->bricks[2] + 1);
        assert_memory_equal(a->index, b->index, bricks * sizeof *a->index);
        assert_memory_equal(a->coarse, b->coarse, corners * sizeof *a->coarse);
    }
}

/* The number of files; gives the name of the last one. */
static size_t files_in(const char *folder, char path[ABUTI_CACHE_PATH_BYTES]) {
    size_t count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            snprintf(path, ABUTI_CACHE_PATH_BYTES, "%s/%s", folder, entry->d_name);
            count++;
        }
    closedir(opened);
    return count;
}

typedef struct seen {
    size_t count, problems, stored;
    abut_field_cache_entry last;
    abut_field_info info, dense; /* of the last, and of the last dense one */
    char problem[1024];
} seen;

static bool see(void *user, const abut_field_cache_entry *entry) {
    seen *s = user;
    s->count++;
    s->problems += entry->problem != NULL;
    s->stored += (size_t)entry->stored_bytes;
    assert_int_equal(sizeof *entry, entry->size);
    s->last = *entry;
    s->info = *entry->info;
    if (entry->info->layout == ABUT_FIELD_DENSE)
        s->dense = *entry->info;
    if (entry->problem)
        snprintf(s->problem, sizeof s->problem, "%s", entry->problem);
    assert_true(entry->age >= 0 && entry->age < 1000);
    return true;
}

static size_t slurp(const char *path, unsigned char *to, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(to, 1, room, file);
    fclose(file);
    assert_true(got < room);
    return got;
}

static void spit(const char *path, const unsigned char *from, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(bytes, fwrite(from, 1, bytes, file));
    fclose(file);
}

/* Changes when a file is added or replaced. */
static uint64_t sum_of_files(const char *folder) {
    uint64_t sum = 0;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened));)
        if (entry->d_name[0] != '.')
            sum += (uint64_t)entry->d_ino * 0x9E3779B97F4A7C15u + 1;
    if (opened)
        closedir(opened);
    return sum;
}

/* Whether these options find a field: one that is built has a file written for it. */
static bool hits(abut_mesh *mesh, abut_field_options o, const abut_field *true_field) {
    abut_field *field = NULL;
    const uint64_t before = sum_of_files(o.cache);
    assert_ok(abut_field_create(mesh, &o, &field));
    assert_ptr_equal(mesh, field->mesh);
    if (true_field)
        same(true_field, field);
    abut_field_destroy(field);
    return before == sum_of_files(o.cache);
}

/* ---- tests ---- */

TEST(fields_are_found_again) {
    abut_context *context = listening();
    AUTO(mesh)
    mesh = mesh_of(context, 2), *again = mesh_of(context, 2), *other = mesh_of(context, 3);
    const char *folder = fresh("found/deeper");
    char path[ABUTI_CACHE_PATH_BYTES];
    abut_field *plain[WAYS];
    for (int i = 0; i < WAYS; i++) {
        abut_field_options o = ways(i);
        assert_ok(abut_field_create(mesh, &o, &plain[i]));
        o.cache = folder;
        assert_false(hits(mesh, o, plain[i]));
        assert_true(hits(again, o, plain[i]));
    }
    for (int i = 0; i < WAYS; i++) {
        abut_field_options o = ways(i);
        o.cache = folder;
        assert_true(hits(mesh, o, plain[i]));
    }
    /* the same grid in other words */
    abut_field_options o = abut_field_options_default();
    o.grid = get_field_info(plain[0]).grid;
    o.cache = folder;
    assert_true(hits(mesh, o, plain[0]));
    seen s = {0};
    assert_ok(abut_field_cache_verify(context, folder, see, &s));
    assert_int_equal(WAYS, s.count);
    assert_int_equal(0, s.problems);
    assert_int_equal(WAYS, files_in(folder, path));
    struct stat about;
    assert_int_equal(0, stat(path, &about));
    assert_int_equal(0600, about.st_mode & 0777);
    assert_true(s.stored > WAYS * 72);
    /* another mesh has another file */
    o = ways(0);
    o.cache = folder;
    abut_field *field;
    assert_ok(abut_field_create(other, &o, &field));
    abut_field_destroy(field);
    assert_int_equal(WAYS + 1, files_in(folder, path));
    assert_int_equal(0, heard.warnings);
    for (int i = 0; i < WAYS; i++)
        abut_field_destroy(plain[i]);
    abut_context_destroy(context);
}

/* A field that follows its mesh is no longer that of the old one. */
TEST(digests_follow_the_mesh) {
    AUTO(mesh) mesh = mesh_of(NULL, 2), *moved = NULL, *copy = NULL;
    abut_pose shift = {.rotation = {0, 0, 0, 1}, .translation = {0.05, 0, 0}};
    abut_field_options o = ways(0);
    o.cache = fresh("follow");
    assert_ok(abut_mesh_transform(mesh, 1, shift, &moved));
    assert_ok(abut_mesh_transform(mesh, 1, shift, &copy));
    for (int found = 0; found < 2; found++) {
        AUTO(field) field;
        bool is = false;
        assert_ok(abut_field_create(mesh, &o, &field));
        assert_ok(abut_field_set_mesh(field, moved, NULL));
        assert_ok(abut_field_matches_mesh(field, copy, &is));
        assert_true(is);
        assert_ok(abut_field_matches_mesh(field, mesh, &is));
        assert_false(is);
    }
}

/* With a BVH the sign method is the one that it is prepared for. */
TEST(hierarchies_have_the_cache_too) {
    AUTO(mesh) mesh = mesh_of(NULL, 2);
    AUTO(bvh) bvh;
    AUTO(field) field;
    AUTO(field) forced;
    abut_field_options o = ways(0);
    abut_sign_options sign = abut_sign_options_default();
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    sign.method = ABUT_SIGN_NORMAL;
    assert_ok(abut_sign_prepare(bvh, &sign));
    o.cache = fresh("hierarchy");
    assert_ok(abut_field_create_from(bvh, &o, &field));
    o.sign = ABUT_SIGN_NORMAL;
    assert_true(hits(mesh, o, field));
    assert_ok(abut_field_create_from(bvh, &o, &forced));
    same(field, forced);
    o.sign = ABUT_SIGN_WINDING;
    assert_false(hits(mesh, o, NULL));
}

static unsigned char file[1 << 16], hurt[1 << 16];

/* Every byte of a file in turn, every length of it, and files that are none: the field is right
 * each time, the damage is reported, and the file is repaired. */
TEST(damage_is_told_and_mended) {
    abut_context *context = listening();
    AUTO(mesh) mesh = mesh_of(context, 1), *other = mesh_of(context, 2);
    char path[ABUTI_CACHE_PATH_BYTES], other_path[ABUTI_CACHE_PATH_BYTES];
    abut_field_options o = ways(0), second = ways(1);
    AUTO(field) right;
    o.cells = 4;
    assert_ok(abut_field_create(mesh, &o, &right));
    o.cache = second.cache = fresh("damage");
    assert_false(hits(mesh, o, right));
    assert_int_equal(1, files_in(o.cache, path));
    size_t bytes = slurp(path, file, sizeof file);
    test_random random = {1};
    uint32_t step = test_rounds(8) == 8 ? 1 : 7;
    for (size_t i = 0; i < bytes; i += step) {
        memcpy(hurt, file, bytes);
        hurt[i] ^= (unsigned char)(1u << test_random_below(&random, 8));
        for (int cut = 0; cut < 2; cut++) {
            spit(path, hurt, cut ? i : bytes);
            heard.warnings = 0;
            assert_false(hits(mesh, o, right));
            assert_int_equal(1, heard.warnings);
            assert_non_null(strstr(heard.last, path));
        }
    }
    assert_int_equal(bytes, slurp(path, hurt, sizeof hurt));
    assert_memory_equal(file, hurt, bytes);
    /* what goes on after its end, is newer, or of another byte order */
    static const struct {
        size_t at;
        unsigned char value;
        const char *words;
    } odd[] = {{12, 3, "newer version"}, {8, 1, "byte order"}, {1, 'b', "is not a cache"}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        memcpy(hurt, file, bytes);
        hurt[odd[i].at] = odd[i].value;
        spit(path, hurt, bytes);
        seen s = {0};
        assert_ok(abut_field_cache_list(context, o.cache, see, &s));
        assert_int_equal(1, s.problems);
        assert_false(hits(mesh, o, right));
        assert_non_null(strstr(heard.last, odd[i].words));
    }
    spit(path, file, bytes + 1);
    assert_false(hits(mesh, o, right));
    /* the file of another mesh */
    assert_ok(abut_field_cache_clear(context, o.cache, 0, NULL, NULL));
    assert_false(hits(other, o, NULL));
    assert_int_equal(1, files_in(o.cache, other_path));
    assert_int_equal(0, rename(other_path, path));
    assert_false(hits(mesh, o, right));
    assert_non_null(strstr(heard.last, "another key"));
    assert_true(hits(mesh, o, right));
    abut_context_destroy(context);
}

/* Of two fields one is damaged: the other is still found, and only that one is reported. A field
 * under a right head that is not that of its key is not used either. */
TEST(damage_of_one_is_not_that_of_all) {
    abut_context *context = listening();
    AUTO(mesh) mesh = mesh_of(context, 1);
    char path[ABUTI_CACHE_PATH_BYTES];
    abut_field_options o = ways(0), second = ways(1);
    o.cache = second.cache = fresh("one");
    assert_false(hits(mesh, o, NULL));
    assert_int_equal(1, files_in(o.cache, path));
    assert_false(hits(mesh, second, NULL));
    size_t bytes = slurp(path, file, sizeof file);
    file[72 + 144 + 30] ^= 1; /* a value of the first */
    spit(path, file, bytes);
    seen s = {0};
    assert_ok(abut_field_cache_verify(context, o.cache, see, &s));
    assert_true(s.count == 2 && s.problems == 1);
    assert_non_null(strstr(s.problem, "the checksum or the compression of a block is wrong"));
    assert_true(hits(mesh, second, NULL));
    assert_int_equal(0, heard.warnings);
    assert_false(hits(mesh, o, NULL));
    assert_int_equal(1, heard.warnings);
    s = (seen){0};
    assert_ok(abut_field_cache_verify(context, o.cache, see, &s));
    assert_true(s.count == 2 && s.problems == 0);
    /* a file that others may write is not believed */
    assert_int_equal(0, chmod(path, 0666));
    assert_false(hits(mesh, o, NULL));
    assert_non_null(strstr(heard.last, "no other user can write"));
    assert_true(hits(mesh, o, NULL));
    assert_true(hits(mesh, second, NULL));
    abut_field *wrong;
    abut_field_options plain = ways(2); /* integers instead of floats */
    field_cache cache;
    plain.cache = NULL;
    assert_ok(abut_field_create(mesh, &plain, &wrong));
    plain = o;
    abut_field *found = NULL;
    assert_ok(abuti_field_cache_load(mesh, &plain, NULL, &cache, &found));
    abut_field_destroy(found);
    abuti_field_cache_store(&cache, wrong);
    abut_field_destroy(wrong);
    assert_false(hits(mesh, o, NULL));
    assert_non_null(strstr(heard.last, "does not match its key"));
    abut_context_destroy(context);
}

/* Two processes that add fields to one file in turn, and to each other's: none is lost. */
TEST(processes_do_not_disturb) {
    enum { PROCESSES = 2, EACH = 12 };
    const char *folder = fresh("both");
    pid_t child[PROCESSES];
    for (int c = 0; c < PROCESSES; c++) {
        child[c] = fork();
        assert_true(child[c] >= 0);
        if (child[c] == 0) {
            int bad = 0;
            abut_context *context = listening();
            abut_mesh *mesh = mesh_of(context, 1);
            for (uint32_t i = 0; i < EACH; i++) {
                abut_field_options o = abut_field_options_default();
                AUTO(field) plain = NULL, *field = NULL;
                o.cells = 4 + 2 * i + (uint32_t)c * (i < EACH / 2); /* the second half is shared */
                bad |= abut_field_create(mesh, &o, &plain) != ABUT_OK;
                o.cache = folder;
                bad |= abut_field_create(mesh, &o, &field) != ABUT_OK;
                bad |= bad || memcmp(plain->values, field->values, plain->value_count * 4) != 0;
            }
            _exit(bad || heard.warnings);
        }
    }
    for (int c = 0; c < PROCESSES; c++) {
        int result = 0;
        assert_int_equal(child[c], waitpid(child[c], &result, 0));
        assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    }
    seen s = {0};
    assert_ok(abut_field_cache_verify(NULL, folder, see, &s));
    assert_int_equal(0, s.problems);
    assert_int_equal(EACH + EACH / 2, s.count);
}

/* Runs `body` in a process without rights over files, if there is such a user. */
static int without_rights(int (*body)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(0);
        _exit(body());
    }
    int result = 0;
    assert_int_equal(child, waitpid(child, &result, 0));
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static char locked[ABUTI_CACHE_PATH_BYTES];

static int build_where_locked(void) {
    abut_context *context = listening();
    abut_mesh *mesh = mesh_of(context, 1);
    abut_field_options o = ways(0);
    abut_field *field = NULL;
    o.cache = locked;
    if (abut_field_create(mesh, &o, &field) || !field)
        return 1;
    return heard.warnings == 1 && strstr(heard.last, "denied") ? 0 : 2;
}

TEST(folders_that_cannot_be_written_do_no_harm) {
    snprintf(locked, sizeof locked, "%s", fresh("locked"));
    assert_int_equal(0, mkdir(locked, 0500));
    assert_int_equal(0, chmod(locked, 0555));
    assert_true(getuid() != 0 || chown(locked, 65534, 65534) == 0); /* the user's own */
    assert_int_equal(0, chmod(test_folder(), 0755)); /* another user may look into it */
    assert_int_equal(0, without_rights(build_where_locked));
    /* a folder that is a file, and one that cannot be named */
    char longer[5000];
    abut_context *context = listening();
    AUTO(mesh) mesh = mesh_of(context, 1);
    abut_field_options o = ways(0);
    abut_field *field;
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = 0;
    const char *folders[] = {test_file("plain", "x", 1), longer};
    for (int i = 0; i < 2; i++) {
        heard.warnings = 0;
        o.cache = folders[i];
        assert_ok(abut_field_create(mesh, &o, &field));
        abut_field_destroy(field);
        assert_true(heard.warnings > 0);
    }
    abut_context_destroy(context);
}

TEST(a_full_disk_does_no_harm) {
    abut_context *context = listening();
    AUTO(mesh) mesh = mesh_of(context, 1);
    char path[ABUTI_CACHE_PATH_BYTES];
    abut_field_options o = ways(0), large = ways(0);
    abut_field *field;
    struct rlimit old, small;
    o.cache = large.cache = fresh("full");
    large.cells = 30;
    assert_false(hits(mesh, o, NULL));
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &old));
    small = old;
    small.rlim_cur = 8192;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    abut_status status = abut_field_create(mesh, &large, &field);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &old));
    assert_ok(status);
    abut_field_destroy(field);
    assert_int_equal(1, heard.warnings);
    assert_non_null(strstr(heard.last, "not stored"));
    assert_int_equal(1, files_in(o.cache, path)); /* and nothing beside it */
    assert_true(hits(mesh, o, NULL));
    assert_false(hits(mesh, large, NULL));
    abut_context_destroy(context);
}

/* Each allocation fails once, of building and keeping, and of finding: the field is right or memory
 * ran out, nothing is left, and the file is whole. */
TEST(memory_that_fails_is_no_harm) {
    char path[ABUTI_CACHE_PATH_BYTES];
    AUTO(mesh) first = mesh_of(NULL, 1);
    abut_field_options o = ways(0);
    AUTO(field) right;
    o.cells = 5;
    assert_ok(abut_field_create(first, &o, &right));
    o.cache = fresh("memory");
    for (int found = 0; found < 2; found++) {
        bool done = false;
        uint64_t failed = 0;
        for (uint64_t n = 1; !done; n++) {
            test_memory memory = {.fail_at = 0};
            abut_context *context = test_context(&memory, 1);
            abut_mesh *mesh = mesh_of(context, 1);
            abut_field *field = NULL;
            if (!found)
                assert_ok(abut_field_cache_clear(context, o.cache, 0, NULL, NULL));
            memory.fail_at = memory.calls + n;
            abut_status status = abut_field_create(mesh, &o, &field);
            done = memory.calls < memory.fail_at;
            assert_true(status == ABUT_OK || status == ABUT_ERROR_MEMORY);
            failed += status != ABUT_OK;
            if (!status)
                same(right, field);
            assert_true(!done || !status);
            abut_field_destroy(field);
            abut_mesh_destroy(mesh);
            abut_context_destroy(context);
            assert_int_equal(0, memory.live_count);
        }
        assert_true(failed > 3);
        seen s = {0};
        assert_ok(abut_field_cache_verify(NULL, o.cache, see, &s));
        assert_true(s.count == 1 && s.problems == 0);
        assert_int_equal(1, files_in(o.cache, path));
    }
}

static abut_status look_through(abut_context *context, void *data) {
    seen s = {0};
    return abut_field_cache_verify(context, data, see, &s);
}

static bool stop(void *user, const abut_field_cache_entry *entry) {
    (void)entry;
    ++*(size_t *)user;
    return false;
}

TEST(folders_are_listed_and_cleared) {
    AUTO(mesh) mesh = mesh_of(NULL, 2);
    char path[ABUTI_CACHE_PATH_BYTES];
    AUTO(field) field = NULL;
    abut_field_options o = ways(3);
    seen s = {0};
    o.cache = fresh("listed");
    assert_ok(abut_field_cache_list(NULL, o.cache, see, &s));
    assert_int_equal(0, s.count);
    assert_ok(abut_field_create(mesh, &o, &field));
    abut_field_info info = get_field_info(field);
    o = ways(0);
    o.cache = test_path("listed");
    assert_false(hits(mesh, o, NULL));
    assert_ok(abut_field_cache_list(NULL, o.cache, see, &s));
    assert_true(s.count == 2 && s.problems == 0);
    assert_int_equal(64, strlen(s.last.mesh));
    assert_int_equal(6, s.dense.grid.count[0]);
    assert_true(s.dense.bytes == 6 * 6 * 6 * 4 && s.dense.band == (double)INFINITY);
    assert_ok(abut_field_cache_clear(NULL, o.cache, 0, NULL, NULL));
    o = ways(3);
    o.cache = test_path("listed");
    assert_false(hits(mesh, o, field));
    s = (seen){0};
    assert_ok(abut_field_cache_list(NULL, o.cache, see, &s));
    assert_true(s.info.bytes == info.bytes && s.info.bricks == info.bricks);
    assert_true(s.info.highest == 0);
    assert_ok(abut_field_cache_verify(NULL, o.cache, see, &s));
    assert_true(s.info.highest == info.highest && s.info.lowest == info.lowest);
    test_every_allocation(look_through, (void *)(uintptr_t)o.cache);
    size_t calls = 0;
    assert_ok(abut_field_cache_list(NULL, o.cache, stop, &calls));
    assert_int_equal(1, calls);
    /* by age */
    uint64_t files = 9, bytes = 9;
    assert_ok(abut_field_cache_clear(NULL, o.cache, 3600, &files, &bytes));
    assert_true(files == 0 && bytes == 0);
    assert_int_equal(1, files_in(o.cache, path));
    struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    assert_int_equal(0, utimensat(AT_FDCWD, path, old, 0));
    assert_true(hits(mesh, o, field)); /* which makes it young again */
    assert_ok(abut_field_cache_clear(NULL, o.cache, 3600, &files, &bytes));
    assert_int_equal(0, files);
    assert_int_equal(0, utimensat(AT_FDCWD, path, old, 0));
    test_file("listed/mine.txt", "x", 1);
    assert_ok(abut_field_cache_clear(NULL, o.cache, 3600, &files, &bytes));
    assert_true(files == 1 && bytes > 500);
    assert_int_equal(1, files_in(o.cache, path)); /* what is not ours stays */
    assert_refused("null", abut_field_cache_list(NULL, NULL, see, &s));
    assert_refused("visit", abut_field_cache_verify(NULL, "", NULL, NULL));
    assert_refused("null", abut_field_cache_clear(NULL, NULL, 0, NULL, NULL));
    assert_refused("age", abut_field_cache_clear(NULL, "", (double)NAN, NULL, NULL));
    assert_fails(ABUT_ERROR_FILE, "cannot be opened", abut_field_cache_list(NULL, path, see, &s));
}

/* "" is the user's own folder, which can be switched off. */
TEST(the_own_folder_is_taken) {
    char path[ABUTI_CACHE_PATH_BYTES];
    AUTO(mesh) mesh = mesh_of(NULL, 1);
    abut_field *field;
    abut_field_options o = ways(0);
    seen s = {0};
    o.cache = "";
    assert_int_equal(0, setenv("ABUT_CACHE_DIR", "off", 1));
    assert_ok(abut_field_create(mesh, &o, &field));
    abut_field_destroy(field);
    assert_ok(abut_field_cache_list(NULL, "", see, &s));
    assert_int_equal(0, s.count);
    assert_int_equal(0, setenv("ABUT_CACHE_DIR", fresh("own"), 1));
    assert_ok(abut_field_create(mesh, &o, &field));
    abut_field_destroy(field);
    assert_int_equal(1, files_in(test_path("own/fields"), path));
    assert_ok(abut_field_cache_list(NULL, "", see, &s));
    assert_int_equal(1, s.count);
    assert_int_equal(0, unsetenv("ABUT_CACHE_DIR"));
}
