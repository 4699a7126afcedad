/* Cache folders: files and links planted by another user are neither read nor followed. */
#include "base/cache.h"
#include "base/system.h"
#include "support/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static abut_context *context;
static uint32_t warnings;
static char warning[2048];

static void take_log(void *user, abut_log_level level, const char *message) {
    warnings += level == ABUT_LOG_WARNING;
    snprintf(warning, sizeof warning, "%s", message);
}

/* How many files this process has open; 0 where the system does not say. */
static int count_open(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static int open_before;

static int set_up(void **state) {
    open_before = count_open();
    context = test_logged(take_log, NULL);
    setenv("ABUT_CACHE_DIR", test_path("cache"), 1);
    return 0;
}

static int tear_down(void **state) {
    abut_context_destroy(context);
    assert_int_equal(open_before, count_open());
    return 0;
}

static abut_status keep(const char *path, const char *text) {
    abuti_sink sink;
    abut_status status = abuti_sink_open_own(&sink, context, path);
    if (status)
        return status;
    abuti_sink_write(&sink, text, strlen(text));
    return abuti_sink_commit(&sink);
}

/* Whether a file is read and holds this. */
static bool holds(const char *path, const char *text) {
    char found[64] = "";
    abuti_source source;
    if (abuti_source_open_own(&source, context, path))
        return false;
    size_t bytes = abuti_source_read(&source, found, sizeof found - 1);
    abuti_source_close(&source);
    return bytes == strlen(text) && strcmp(found, text) == 0;
}

static bool is_as_it_was(const char *path, const char *text) {
    struct stat about;
    char *found = test_read_file(path, NULL);
    assert_non_null(found);
    bool same = strcmp(found, text) == 0;
    free(found);
    assert_int_equal(0, stat(path, &about));
    return same && (about.st_mode & 0777) == 0644;
}

static void make_folder(const char *name, mode_t mode) {
    assert_int_equal(0, mkdir(test_path(name), 0700));
    assert_int_equal(0, chmod(test_path(name), mode));
}

TEST(files_are_the_users_alone) {
    struct stat about;
    mode_t mask = umask(0);
    assert_ok(keep(test_path("new/er/file"), "first"));
    umask(mask);
    assert_true(holds(test_path("new/er/file"), "first"));
    assert_int_equal(0, stat(test_path("new/er/file"), &about));
    assert_int_equal(0600, about.st_mode & 0777);
    assert_int_equal(0, stat(test_path("new/er"), &about));
    assert_int_equal(0700, about.st_mode & 0777);
    assert_ok(keep(test_path("new/er/file"), "second"));
    assert_true(holds(test_path("new/er/file"), "second"));
    assert_int_equal(0, chmod(test_path("new/er/file"), 0660));
    assert_false(holds(test_path("new/er/file"), "second"));
    assert_int_equal(0, unlink(test_path("new/er/file")));
    assert_int_equal(0, rmdir(test_path("new/er"))); /* no temporary file is left */
}

/* A link is replaced by a write and refused by a read, wherever it leads. */
TEST(links_are_not_followed) {
    make_folder("links", 0700);
    char diary[1100];
    snprintf(diary, sizeof diary, "%s", test_file("diary", "precious", 8));
    assert_int_equal(0, chmod(diary, 0644));
    assert_int_equal(0, symlink(diary, test_path("links/file")));
    assert_false(holds(test_path("links/file"), "precious"));
    assert_int_equal(ABUT_ERROR_FILE,
                     abuti_source_open_own(&(abuti_source){0}, context, test_path("links/file")));
    assert_non_null(strstr(abut_last_error(), "a regular file that belongs to you"));
    assert_ok(keep(test_path("links/file"), "entry"));
    assert_true(is_as_it_was(diary, "precious"));
    assert_true(holds(test_path("links/file"), "entry"));
    /* one that leads nowhere creates nothing there */
    assert_int_equal(0, symlink(test_path("nothing"), test_path("links/other")));
    assert_ok(keep(test_path("links/other"), "entry"));
    assert_int_not_equal(0, access(test_path("nothing"), F_OK));
    /* a pipe is not waited for */
    assert_int_equal(0, mkfifo(test_path("links/pipe"), 0600));
    assert_false(holds(test_path("links/pipe"), ""));
    assert_true(is_as_it_was(diary, "precious"));
}

/* What has the name of an entry and is a folder stays. */
TEST(folders_are_not_replaced) {
    make_folder("names", 0700);
    make_folder("names/file", 0700);
    assert_fails(ABUT_ERROR_FILE, "cannot be written", keep(test_path("names/file"), "entry"));
    assert_false(holds(test_path("names/file"), ""));
    assert_int_equal(0, rmdir(test_path("names/file")));
}

/* A folder that others may write is not used, and one warning says so. */
TEST(folders_of_others_are_not_used) {
    static const mode_t modes[] = {0770, 0707, 01777, 0720, 0702};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char name[32], path[1100];
        snprintf(name, sizeof name, "shared%zu", i);
        make_folder(name, modes[i]);
        snprintf(path, sizeof path, "%s/file", test_path(name));
        warnings = 0;
        assert_false(abuti_folder_is_usable(context, path));
        assert_false(abuti_folder_is_usable(context, path));
        assert_int_equal(1, warnings);
        assert_non_null(strstr(warning, "the cache is not used: the folder "));
        assert_non_null(strstr(warning, "can be written by other users"));
        assert_non_null(strstr(warning, "ABUT_CACHE_DIR"));
        assert_fails(ABUT_ERROR_FILE, "can be written by other users", keep(path, "entry"));
        assert_int_equal(0, chmod(test_path(name), 0755));
        assert_true(abuti_folder_is_usable(context, path));
        assert_ok(keep(path, "entry"));
        assert_int_equal(0, chmod(test_path(name), modes[i]));
        assert_false(holds(path, "entry"));
    }
    warnings = 0; /* missing ones are made */
    assert_true(abuti_folder_is_usable(context, test_path("to/be/made/file")));
    assert_int_equal(0, warnings);
}

/* Others could exchange a folder right below ABUT_CACHE_DIR if that is theirs. */
TEST(folders_below_that_of_others_are_not_used) {
    make_folder("top", 0777);
    make_folder("top/fields", 0700);
    setenv("ABUT_CACHE_DIR", test_path("top"), 1);
    warnings = 0;
    assert_false(abuti_folder_is_usable(context, test_path("top/fields/file")));
    assert_int_equal(1, warnings);
    assert_non_null(strstr(warning, "/top can be written"));
    assert_fails(ABUT_ERROR_FILE, "can be written", keep(test_path("top/fields/file"), "entry"));
    assert_int_equal(0, chmod(test_path("top"), 0700));
    assert_ok(keep(test_path("top/fields/file"), "entry"));
    assert_true(holds(test_path("top/fields/file"), "entry"));
    /* nor is it a link, even of the user: whoever could write ABUT_CACHE_DIR may have planted it */
    assert_int_equal(0, rename(test_path("top/fields"), test_path("top/true")));
    assert_int_equal(0, symlink(test_path("top/true"), test_path("top/fields")));
    assert_false(abuti_folder_is_usable(context, test_path("top/fields/file")));
    assert_non_null(strstr(warning, "is a symbolic link"));
    assert_false(holds(test_path("top/fields/file"), "entry"));
    setenv("ABUT_CACHE_DIR", test_path("cache"), 1);
}

/* The folder itself may be reached by a link of the user: ~/.cache on another disk. */
TEST(a_link_of_the_user_may_lead_to_the_folder) {
    make_folder("disk", 0700);
    assert_int_equal(0, symlink(test_path("disk"), test_path("here")));
    assert_true(abuti_folder_is_usable(context, test_path("here/file")));
    assert_ok(keep(test_path("here//file"), "entry"));
    assert_true(holds(test_path("disk/file"), "entry"));
    assert_int_equal(0, chmod(test_path("disk"), 0777));
    assert_false(abuti_folder_is_usable(context, test_path("here/file")));
}

/* ---- two users ---- */

enum { ATTACKER = 65533, VICTIM = 65534 };

#define CHECK(condition)              \
    do {                              \
        if (!(condition))             \
            _exit(__LINE__ % 70 + 1); \
    } while (0)

/* Runs `work` as a user. */
static void as_user(uid_t user, void (*work)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        CHECK(setgid(user) == 0 && setuid(user) == 0);
        work();
        _exit(0);
    }
    int result;
    assert_int_equal(child, waitpid(child, &result, 0));
    assert_true(WIFEXITED(result));
    assert_int_equal(0, WEXITSTATUS(result));
}

static void plant(void) {
    umask(0);
    CHECK(mkdir(test_path("two/theirs"), 0755) ==
          0); /* no other user may write it, but it belongs to another */
    CHECK(symlink(test_path("two/mine/diary"), test_path("two/theirs/file")) == 0);
    CHECK(symlink(test_path("two/mine"), test_path("two/link")) == 0);
    CHECK(symlink(test_path("two/mine/diary"), test_path("two/shared/file")) == 0);
    FILE *own = fopen(test_path("two/shared/own"), "wb");
    CHECK(own && fputs("foreign", own) >= 0 && fclose(own) == 0);
    CHECK(chmod(test_path("two/shared/own"), 0644) == 0);
}

static void meet_plants(void) {
    struct stat about;
    CHECK(!abuti_folder_is_usable(context, test_path("two/theirs/file")));
    CHECK(strstr(warning, "belongs to another user"));
    CHECK(keep(test_path("two/theirs/file"), "entry") == ABUT_ERROR_FILE);
    CHECK(!holds(test_path("two/theirs/file"), "precious"));
    CHECK(!abuti_folder_is_usable(context, test_path("two/link/diary")));
    CHECK(strstr(warning, "is a symbolic link of another user"));
    CHECK(!holds(test_path("two/link/diary"), "precious"));
    CHECK(keep(test_path("two/link/diary"), "entry") == ABUT_ERROR_FILE);
    CHECK(!abuti_folder_is_usable(context, test_path("two/shared/file")));
    CHECK(!holds(test_path("two/shared/file"), "precious"));
    CHECK(!holds(test_path("two/shared/own"), "foreign"));
    CHECK(keep(test_path("two/shared/file"), "entry") == ABUT_ERROR_FILE);
    CHECK(lstat(test_path("two/shared/file"), &about) == 0 && S_ISLNK(about.st_mode));
}

TEST(another_user_can_plant_nothing) {
    if (getuid() != 0) {
        printf("left out: two users need root\n");
        skip();
    }
    assert_int_equal(0, chmod(test_folder(), 0755));
    make_folder("two", 01777);
    make_folder("two/shared", 0777);
    make_folder("two/mine", 0755);
    char diary[1100];
    snprintf(diary, sizeof diary, "%s", test_file("two/mine/diary", "precious", 8));
    assert_int_equal(0, chmod(diary, 0644));
    assert_int_equal(0, chown(diary, VICTIM, VICTIM));
    assert_int_equal(0, chown(test_path("two/mine"), VICTIM, VICTIM));
    as_user(ATTACKER, plant);
    as_user(VICTIM, meet_plants);
    assert_true(is_as_it_was(diary, "precious"));
}

int main(void) {
    return test_run(set_up, tear_down);
}
