/* Input streams, and atomic output files: complete or absent. */
#include "support/support.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static abut_context *context;

/* ---- in ---- */

TEST(a_source_shows_every_byte_once) {
    enum { BYTES = 1000003 };
    AUTO_FREE unsigned char *data = malloc(BYTES);
    test_random random = {1};
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)test_random_bits(&random);
    const char *path = test_file("bytes", data, BYTES);
    for (int kind = 0; kind < 2; kind++) {
        abuti_source source;
        if (kind)
            abuti_source_memory(&source, context, data, BYTES, "memory");
        else
            assert_ok(abuti_source_open(&source, context, path));
        assert_int_equal(BYTES, source.total);
        size_t done = 0;
        while (done < BYTES) {
            if (test_random_below(&random, 8) == 0) { /* now and then past the window */
                static unsigned char copy[100000];
                size_t much = test_random_below(&random, sizeof copy);
                size_t got = abuti_source_read(&source, copy, much);
                assert_int_equal(got, much < BYTES - done ? much : BYTES - done);
                assert_memory_equal(data + done, copy, got);
                done += got;
                continue;
            }
            size_t wanted = 1 + test_random_below(&random, ABUTI_SOURCE_LOOKAHEAD);
            size_t visible = abuti_source_fill(&source, wanted);
            assert_true(visible >= wanted || visible == BYTES - done);
            assert_int_equal(done, abuti_source_offset(&source));
            size_t step = wanted < visible ? wanted : visible;
            assert_memory_equal(data + done, source.at, step);
            source.at += step;
            done += step;
        }
        assert_int_equal(0, abuti_source_fill(&source, 1));
        assert_int_equal(BYTES, abuti_source_offset(&source));
        assert_false(source.failed);
        abuti_source_close(&source);
    }
}

TEST(a_source_that_cannot_be) {
    abuti_source source;
    assert_fails(ABUT_ERROR_FILE, "missing: cannot be opened: No such file",
                 abuti_source_open(&source, context, test_path("missing")));
    assert_fails(ABUT_ERROR_FILE, "is a directory",
                 abuti_source_open(&source, context, test_folder()));
    assert_fails(ABUT_ERROR_FILE, "cannot be opened", abuti_source_open(&source, context, ""));
    abuti_source_memory(&source, context, NULL, 0, "nothing");
    assert_int_equal(0, abuti_source_fill(&source, 10));
    abuti_source_close(&source);
    assert_ok(abuti_source_open(&source, context, test_file("empty", "", 0)));
    assert_int_equal(0, source.total);
    assert_int_equal(0, abuti_source_fill(&source, 10));
    abuti_source_close(&source);
}

TEST(a_read_error_is_told) {
    abuti_source source;
    if (access("/proc/self/mem", R_OK) != 0)
        skip();
    assert_ok(abuti_source_open(&source, context, "/proc/self/mem")); /* page 0 cannot be read */
    assert_int_equal(0, abuti_source_fill(&source, 1));
    assert_true(source.failed);
    abuti_source_close(&source);
}

static abut_status open_once(abut_context *counted, void *path) {
    abuti_source source;
    abut_status status = abuti_source_open(&source, counted, path);
    if (!status)
        abuti_source_close(&source);
    return status;
}

/* ---- out ---- */

static void assert_holds(const char *path, const char *text) {
    AUTO_FREE char *data = test_read_file(path, NULL);
    assert_non_null(data);
    assert_string_equal(text, data);
}

/* How many entries the test's folder has: nothing may be left beside the files we made. */
static int count_entries(const char *path) {
    int count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(folder);
    return count;
}

static abut_status write_text(abut_context *with, const char *path, const char *text) {
    abuti_sink sink;
    abut_status status = abuti_sink_open(&sink, with, path);
    if (status)
        return status;
    abuti_sink_write(&sink, text, strlen(text));
    return abuti_sink_commit(&sink);
}

TEST(a_file_appears_when_complete) {
    char path[1100];
    snprintf(path, sizeof path, "%s", test_path("new"));
    int before = count_entries(test_folder());
    abuti_sink sink;
    assert_ok(abuti_sink_open(&sink, context, path));
    abuti_sink_write(&sink, "ab", 2);
    abuti_sink_print(&sink, "%d%c", 12, 'x');
    abuti_sink_write(&sink, "", 0);
    assert_int_not_equal(0, access(path, F_OK));
    assert_ok(abuti_sink_commit(&sink));
    assert_holds(path, "ab12x");
    assert_int_equal(before + 1, count_entries(test_folder()));
    struct stat about;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(0, stat(path, &about));
    assert_int_equal(0666 & ~mask, about.st_mode & 0777);

    assert_ok(abuti_sink_open(&sink, context, path));
    abuti_sink_write(&sink, "other", 5);
    assert_holds(path, "ab12x"); /* not yet */
    abuti_sink_discard(&sink);
    assert_holds(path, "ab12x");
    assert_ok(write_text(context, path, "second"));
    assert_holds(path, "second");
    assert_int_equal(before + 1, count_entries(test_folder()));
}

TEST(permissions_stay) {
    static const mode_t modes[] = {0600, 0640, 0755, 0666};
    for (int i = 0; i < 4; i++) {
        char path[1100];
        snprintf(path, sizeof path, "%s", test_file("modes", "old", 3));
        assert_int_equal(0, chmod(path, modes[i]));
        assert_ok(write_text(context, path, "new"));
        struct stat about;
        assert_int_equal(0, stat(path, &about));
        assert_int_equal(modes[i], about.st_mode & 0777);
        assert_holds(path, "new");
    }
}

TEST(a_link_stays_a_link) {
    char target[1100], link[1100], dangling[1100];
    assert_int_equal(0, mkdir(test_path("links"), 0700));
    snprintf(target, sizeof target, "%s", test_file("links/target", "old", 3));
    snprintf(link, sizeof link, "%s", test_path("link"));
    snprintf(dangling, sizeof dangling, "%s", test_path("dangling"));
    assert_int_equal(0, symlink("links/target", link));
    assert_ok(write_text(context, link, "new"));
    struct stat about;
    assert_int_equal(0, lstat(link, &about));
    assert_true(S_ISLNK(about.st_mode));
    assert_holds(target, "new");
    assert_holds(link, "new");
    assert_int_equal(1, count_entries(test_path("links")));
    /* a link to nothing: whatever happens to it, the file must be there under its name */
    assert_int_equal(0, symlink("links/nowhere", dangling));
    assert_ok(write_text(context, dangling, "made"));
    assert_holds(dangling, "made");
}

TEST(a_target_that_cannot_be) {
    int before = count_entries(test_folder());
    assert_fails(ABUT_ERROR_FILE, "none/file: cannot be written: No such file",
                 write_text(context, test_path("none/file"), "x"));
    assert_fails(ABUT_ERROR_FILE, "cannot be written: Is a directory",
                 write_text(context, test_folder(), "x"));
    assert_fails(ABUT_ERROR_FILE, "cannot be written", write_text(context, "", "x"));
    char name[400];
    memset(name, 'n', sizeof name);
    name[399] = 0;
    assert_fails(ABUT_ERROR_FILE, "name too long", write_text(context, test_path(name), "x"));
    /* the longest name that is possible works, although it leaves no room for an ending */
    name[255] = 0;
    assert_ok(write_text(context, test_path(name), "long"));
    assert_holds(test_path(name), "long");
    unlink(test_path(name));
    assert_int_equal(before, count_entries(test_folder()));
}

/* Runs `work` in a child that is not root, whom permissions would not bind. */
static void as_nobody(void (*work)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(77);
        work();
        _exit(0);
    }
    int result;
    assert_int_equal(child, waitpid(child, &result, 0));
    if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
        skip();
    assert_true(WIFEXITED(result));
    assert_int_equal(0, WEXITSTATUS(result));
}

#define CHECK(condition)              \
    do {                              \
        if (!(condition))             \
            _exit(__LINE__ % 70 + 1); \
    } while (0)

static void write_read_only(void) {
    CHECK(write_text(context, test_path("open/read-only"), "new") == ABUT_ERROR_FILE);
    CHECK(strstr(abut_last_error(), "open/read-only: cannot be written: Permission denied"));
    CHECK(count_entries(test_path("open")) == 1);
    CHECK(write_text(context, test_path("closed/file"), "new") == ABUT_ERROR_FILE);
    CHECK(strstr(abut_last_error(), "closed/file: cannot be written: Permission denied"));
    abuti_source source;
    CHECK(abuti_source_open(&source, context, test_path("open/read-only")) == ABUT_OK);
    CHECK(abuti_source_open(&source, context, test_path("secret")) == ABUT_ERROR_FILE);
    CHECK(strstr(abut_last_error(), "secret: cannot be opened: Permission denied"));
}

TEST(permissions_bind) {
    assert_int_equal(0, chmod(test_folder(), 0755));
    assert_int_equal(0, mkdir(test_path("open"), 0777));
    assert_int_equal(0, chmod(test_path("open"), 0777));
    assert_int_equal(0, chmod(test_file("open/read-only", "old", 3), 0444));
    assert_int_equal(0, mkdir(test_path("closed"), 0755));
    test_file("closed/file", "old", 3);
    assert_int_equal(0, chmod(test_path("closed/file"), 0666));
    assert_int_equal(0, chmod(test_path("closed"), 0555));
    assert_int_equal(0, chmod(test_file("secret", "old", 3), 0));
    as_nobody(write_read_only);
    assert_holds(test_path("open/read-only"), "old");
    assert_holds(test_path("closed/file"), "old");
    chmod(test_path("closed"), 0755);
}

static abut_status write_much(const char *path) {
    abuti_sink sink;
    abut_status status = abuti_sink_open(&sink, context, path);
    if (status)
        return status;
    for (int i = 0; i < 30000; i++)
        abuti_sink_print(&sink, "%08d", i);
    abuti_sink_write(&sink, "end", 3);
    return abuti_sink_commit(&sink);
}

/* A limit on the size of files stands in for a full disk: the error comes in the middle, or, for
 * what is still in the buffer, at the end. */
TEST(a_full_disk_keeps_the_old_file) {
    char path[1100];
    snprintf(path, sizeof path, "%s", test_file("full", "precious", 8));
    int before = count_entries(test_folder());
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &old));
    static const rlim_t limits[] = {0, 1000, 100000, 239999};
    for (int i = 0; i < 4; i++) {
        small = old;
        small.rlim_cur = limits[i];
        assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
        abut_status status = write_much(path);
        assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &old));
        assert_fails(ABUT_ERROR_FILE,
                     "full: could not be written: File too large; the previous file is "
                     "unchanged",
                     status);
        assert_holds(path, "precious");
        assert_int_equal(before, count_entries(test_folder()));
    }
    assert_ok(write_much(path));
    size_t bytes;
    free(test_read_file(path, &bytes));
    assert_int_equal(240003, bytes);
}

TEST(devices_are_written_directly) {
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_fails(ABUT_ERROR_FILE, "/dev/full: could not be written: No space left",
                 write_text(context, "/dev/full", "x"));
    assert_fails(ABUT_ERROR_FILE, "/dev/full: could not be written: No space left",
                 write_much("/dev/full"));
    assert_null(strstr(abut_last_error(), "unchanged"));
    assert_ok(write_text(context, "/dev/null", "x"));
    struct stat about;
    assert_int_equal(0, stat("/dev/null", &about));
    assert_true(S_ISCHR(about.st_mode));
}

/* A killed writer leaves nothing where files can be without a name, and the old file stays. */
TEST(a_killed_writer_leaves_nothing) {
    char path[1100];
    snprintf(path, sizeof path, "%s", test_file("killed", "precious", 8));
    int before = count_entries(test_folder());
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        abuti_sink sink;
        if (abuti_sink_open(&sink, context, path))
            _exit(1);
        abuti_sink_write(&sink, "half", 4);
        fflush(sink.file);
        _exit(sink.nameless ? 77 : 0); /* without a commit, as a signal would end it */
    }
    int result;
    assert_int_equal(child, waitpid(child, &result, 0));
    assert_true(WIFEXITED(result));
    assert_holds(path, "precious");
    if (WEXITSTATUS(result) != 77)
        skip(); /* this file system, or this machine, has no nameless files */
    assert_int_equal(before, count_entries(test_folder()));
}

/* The streams of a child: what comes in through one pipe goes out through another. */
TEST(standard_streams_are_files) {
    int in[2], out[2];
    assert_int_equal(0, pipe(in));
    assert_int_equal(0, pipe(out));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char data[16] = "";
        abuti_source source;
        dup2(in[0], 0);
        dup2(out[1], 1);
        CHECK(abuti_source_open(&source, context, "/dev/stdin") == ABUT_OK);
        CHECK(abuti_source_read(&source, data, 4) == 4);
        abuti_source_close(&source);
        CHECK(abut_context_write_file(context, "/dev/stdout", data, 4) == ABUT_OK);
        CHECK(abut_context_write_file(context, "/dev/stdout", "!", 1) == ABUT_OK);
        _exit(0);
    }
    assert_int_equal(5, write(in[1], "words", 5));
    close(out[1]);
    char got[16] = "";
    size_t used = 0;
    for (ssize_t more; (more = read(out[0], got + used, sizeof got - 1 - used)) > 0;)
        used += (size_t)more;
    int result;
    assert_int_equal(child, waitpid(child, &result, 0));
    assert_int_equal(0, result);
    assert_string_equal("word!", got);
    close(in[0]);
    close(in[1]);
    close(out[0]);
}

TEST(a_file_is_written_at_once) {
    assert_ok(abut_context_write_file(NULL, test_path("once"), "all of it", 9));
    assert_holds(test_path("once"), "all of it");
    assert_ok(abut_context_write_file(NULL, test_path("once"), NULL, 0));
    assert_holds(test_path("once"), "");
    assert_refused("path is null", abut_context_write_file(NULL, NULL, "x", 1));
    assert_refused("data is null", abut_context_write_file(NULL, test_path("once"), NULL, 1));
}

static bool count_down(void *user, const char *stage, double fraction) {
    int *left = user;
    assert_string_equal("reading", stage);
    return --*left > 0;
}

/* A pipe that never ends is left when the callback says so. */
TEST(an_endless_source_can_be_cancelled) {
    if (access("/dev/zero", R_OK) != 0)
        skip();
    int left = 20;
    abut_context_options options = abut_context_options_default();
    options.progress = count_down;
    options.progress_user = &left;
    AUTO(context) counted = NULL;
    abuti_source source;
    assert_ok(abut_context_create(&options, &counted));
    assert_ok(abuti_source_open(&source, counted, "/dev/zero"));
    source.stage = "reading";
    while (abuti_source_fill(&source, 1))
        source.at = source.end;
    assert_int_equal(0, left);
    assert_true(source.failed && source.cancelled);
    assert_fails(ABUT_ERROR_CANCELLED, "reading: cancelled",
                 abuti_source_outcome(&source, ABUT_ERROR_FORMAT));
    abuti_source_close(&source);
}

static abut_status sink_once(abut_context *counted, void *path) {
    return write_text(counted, path, "x");
}

TEST(any_allocation_may_fail) {
    char path[1100];
    snprintf(path, sizeof path, "%s", test_file("memory", "old", 3));
    int before = count_entries(test_folder());
    assert_int_equal(1, test_every_allocation(open_once, path));
    assert_int_equal(2, test_every_allocation(sink_once, path));
    assert_int_equal(before, count_entries(test_folder()));
    assert_holds(path, "x");
}

TEST(relative_paths_work) {
    char old[1024];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(0, chdir(test_folder()));
    assert_ok(write_text(context, "relative", "x"));
    assert_ok(write_text(context, "./relative", "y"));
    assert_holds("relative", "y");
    assert_int_equal(0, chdir(old));
}

int main(void) {
    context = abuti_context_of(NULL);
    return test_run(NULL, NULL);
}
