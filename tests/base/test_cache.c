/* SHA-256 against its published examples, and the disk cache against every damage. */
#include "base/cache.h"
#include "support/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- SHA-256 ---- */

static void digest_of(const void *data, size_t bytes, size_t piece, char hex[65]) {
    abuti_digest digest;
    unsigned char sum[ABUTI_DIGEST_BYTES];
    abuti_digest_begin(&digest);
    for (size_t at = 0; at < bytes; at += piece)
        abuti_digest_add(&digest, (const char *)data + at, bytes - at < piece ? bytes - at : piece);
    abuti_digest_end(&digest, sum);
    for (int i = 0; i < ABUTI_DIGEST_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

/* The examples of FIPS 180 and the empty message. */
TEST(digest_known_answers) {
    static char million[1000000];
    char hex[65];
    memset(million, 'a', sizeof million);
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    digest_of("", 0, 1, hex);
    assert_string_equal("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hex);
    digest_of("abc", 3, 3, hex);
    assert_string_equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hex);
    digest_of(two, strlen(two), 100, hex);
    assert_string_equal("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", hex);
    for (size_t piece = 1; piece < 200; piece += 63) {
        digest_of(million, sizeof million, piece, hex);
        assert_string_equal("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
                            hex);
    }
}

/* However a message is cut into pieces, and whatever its length next to a block's. */
TEST(digest_pieces) {
    char text[200], whole[65], pieces[65];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        digest_of(text, bytes, sizeof text, whole);
        for (size_t piece = 1; piece < 70; piece += 17) {
            digest_of(text, bytes, piece, pieces);
            assert_string_equal(whole, pieces);
        }
    }
}

/* ---- the cache ---- */

static unsigned char key[ABUTI_DIGEST_BYTES];
static unsigned char program[500];
static unsigned char file[2000];
static size_t file_bytes;
static char path[1024];

static abuti_cache_entry entry_of(const unsigned char *of) {
    abuti_cache_entry entry;
    abuti_cache_find(abuti_context_of(NULL), &abuti_cache_programs, "", of, &entry);
    return entry;
}

static bool load(const unsigned char *of, unsigned char **found, size_t *bytes) {
    abut_context *context = abuti_context_of(NULL);
    const abuti_cache_entry entry = entry_of(of);
    *found = NULL;
    if (abuti_cache_exists(&entry))
        assert_ok(
            abuti_cache_end(context, &entry, abuti_cache_load(context, &entry, found, bytes)));
    return *found != NULL;
}

static void store(const unsigned char *of, size_t bytes) {
    const abuti_cache_entry entry = entry_of(of);
    abuti_cache_store(abuti_context_of(NULL), &entry, program, bytes);
}

static bool cached(void) {
    unsigned char *found;
    size_t bytes = 0;
    if (!load(key, &found, &bytes))
        return false;
    assert_int_equal(sizeof program, bytes);
    assert_memory_equal(program, found, bytes);
    abuti_release(abuti_context_of(NULL), found);
    return true;
}

static void write_file(const void *data, size_t bytes) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(bytes, fwrite(data, 1, bytes, out));
    assert_int_equal(0, fclose(out));
}

static int set_up(void **state) {
    setenv("ABUT_CACHE_DIR", test_path("deep/er/cache"), 1);
    for (size_t i = 0; i < sizeof program; i++)
        program[i] = (unsigned char)(i * i);
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)(200 + i);
    strcpy(path, entry_of(key).path);
    store(key, sizeof program);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    file_bytes = fread(file, 1, sizeof file, in);
    fclose(in);
    assert_true(file_bytes > sizeof program + 64 && file_bytes < sizeof file);
    return 0;
}

TEST(found_again) {
    struct stat about;
    assert_true(cached());
    assert_int_equal(0, stat(path, &about));
    assert_int_equal(0600, about.st_mode & 0777);
    assert_int_equal(0, stat(test_path("deep/er/cache"), &about));
    assert_int_equal(0700, about.st_mode & 0777);
    key[3] ^= 1;
    assert_false(cached());
    key[3] ^= 1;
}

TEST(cut_anywhere) {
    for (size_t bytes = 0; bytes < file_bytes; bytes++) {
        write_file(file, bytes);
        assert_false(cached());
    }
    file[file_bytes] = 0;
    write_file(file, file_bytes + 1); /* one too long */
    assert_false(cached());
    write_file(file, file_bytes);
    assert_true(cached());
}

TEST(changed_anywhere) {
    for (size_t at = 0; at < file_bytes; at++) {
        int bit = 1 << at % 8;
        file[at] = (unsigned char)(file[at] ^ bit);
        write_file(file, file_bytes);
        if (cached())
            fail_msg("a changed byte %zu went unnoticed", at);
        file[at] = (unsigned char)(file[at] ^ bit);
    }
    write_file(file, file_bytes);
    assert_true(cached());
}

/* A whole entry of another key under this key's name. */
TEST(foreign) {
    unsigned char other[ABUTI_DIGEST_BYTES] = {1};
    store(other, sizeof program);
    assert_int_equal(0, rename(entry_of(other).path, path));
    assert_false(cached());
    const abuti_cache_entry entry = entry_of(key);
    abuti_cache_entry samples = entry; /* of the right key, and another kind */
    samples.kind = &abuti_cache_samples;
    abuti_cache_store(abuti_context_of(NULL), &samples, program, sizeof program);
    assert_false(cached());
    static unsigned char noise[100000];
    write_file(noise, sizeof noise);
    assert_false(cached());
    assert_int_equal(0, remove(path));
    assert_int_equal(0, mkdir(path, 0700));
    assert_false(cached());
    store(key, sizeof program); /* no crash */
    assert_int_equal(0, rmdir(path));
    assert_false(cached());
    write_file(file, file_bytes);
    assert_true(cached());
}

/* What others could have written is not run. */
TEST(writable_for_others) {
    assert_int_equal(0, chmod(path, 0620));
    assert_false(cached());
    assert_int_equal(0, chmod(path, 0602));
    assert_false(cached());
    assert_int_equal(0, chmod(path, 0644));
    assert_true(cached());
}

/* A link in the place of an entry is neither followed nor read, and a folder that others may write
 * is not used: base_folder has the details. */
TEST(planted_link) {
    struct stat about;
    char diary[1100];
    snprintf(diary, sizeof diary, "%s", test_file("diary.program", file, file_bytes));
    assert_int_equal(0, chmod(diary, 0644));
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, symlink(diary, path));
    assert_false(cached()); /* whole, of the user, but it may have come from anywhere */
    store(key, sizeof program);
    assert_true(cached());
    assert_int_equal(0, lstat(path, &about));
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(0, stat(diary, &about));
    assert_true((size_t)about.st_size == file_bytes && (about.st_mode & 0777) == 0644);
    write_file(file, file_bytes);
}

TEST(folder_of_others) {
    const char *folder = test_path("deep/er/cache");
    assert_int_equal(0, chmod(folder, 0777));
    assert_false(cached());
    store(key, sizeof program);
    assert_int_equal(0, chmod(folder, 0700));
    assert_true(cached());
    size_t bytes;
    AUTO_FREE char *now = test_read_file(path, &bytes);
    assert_int_equal(file_bytes, bytes);
    assert_memory_equal(file, now, file_bytes); /* nothing was written meanwhile */
}

TEST(empty_program) {
    unsigned char other[ABUTI_DIGEST_BYTES] = {2}, *found;
    size_t bytes = 9;
    store(other, 0);
    assert_true(load(other, &found, &bytes));
    assert_int_equal(0, bytes);
    abuti_release(abuti_context_of(NULL), found);
}

/* ---- the bound ---- */

static abuti_cache_entry entry_at(unsigned char first) {
    const unsigned char other[ABUTI_DIGEST_BYTES] = {first};
    return entry_of(other);
}

static bool exists(unsigned char first) {
    const abuti_cache_entry entry = entry_at(first);
    return abuti_cache_exists(&entry);
}

/* An entry that was last used at this second. */
static void keep(unsigned char first, time_t second) {
    const abuti_cache_entry entry = entry_at(first);
    abuti_cache_store(abuti_context_of(NULL), &entry, program, sizeof program);
    struct timespec times[2] = {{second, 0}, {second, 0}};
    assert_int_equal(0, utimensat(AT_FDCWD, entry.path, times, 0));
}

TEST(oldest_go_first) {
    abut_context *context = abuti_context_of(NULL);
    char old[1024], folder[1024];
    snprintf(old, sizeof old, "%s", getenv("ABUT_CACHE_DIR"));
    snprintf(folder, sizeof folder, "%s", test_path("bounded"));
    setenv("ABUT_CACHE_DIR", folder, 1);
    for (unsigned char i = 1; i <= 6; i++)
        keep(i, 1000 + 10 * (i % 4)); /* oldest: 4, then 1 and 5, 2 and 6, 3 */
    char foreign_path[1100], part[1100];
    const abuti_cache_entry here = entry_at(6);
    struct stat about;
    assert_int_equal(0, stat(here.path, &about));
    uint64_t one = (uint64_t)about.st_size;
    /* what is not ours stays, whatever its age; what a dead process left goes like an entry */
    snprintf(foreign_path, sizeof foreign_path, "%s/notes.txt", folder);
    snprintf(part, sizeof part, "%s/.abut-1-1", folder);
    for (int i = 0; i < 2; i++) {
        FILE *out = fopen(i ? part : foreign_path, "wb");
        assert_non_null(out);
        assert_int_equal(1, fwrite(program, 100, 1, out));
        assert_int_equal(0, fclose(out));
        struct timespec times[2] = {{5, 0}, {5, 0}};
        assert_int_equal(0, utimensat(AT_FDCWD, i ? part : foreign_path, times, 0));
    }
    abuti_cache_evict(context, &here, 6 * one + 100); /* fits */
    assert_int_equal(0, access(part, F_OK));
    abuti_cache_evict(context, &here, 6 * one);
    assert_int_not_equal(0, access(part, F_OK));
    assert_true(exists(4));
    abuti_cache_evict(context, &here, 5 * one);
    assert_false(exists(4));
    assert_true(exists(1) && exists(5));
    /* reading makes an entry young */
    unsigned char first[ABUTI_DIGEST_BYTES] = {1}, *found;
    size_t bytes;
    assert_true(load(first, &found, &bytes));
    abuti_release(context, found);
    abuti_cache_evict(context, &here, 4 * one);
    assert_true(exists(1) && !exists(5));
    abuti_cache_evict(context, &here, 0); /* except for the one that was just written */
    assert_true(exists(6) && !exists(1) && !exists(2) && !exists(3));
    assert_int_equal(0, access(foreign_path, F_OK));
    /* a write cleans: by ABUT_CACHE_MAX, where that is a number */
    setenv("ABUT_CACHE_MAX", "none", 1);
    keep(7, 2000);
    assert_true(exists(6));
    setenv("ABUT_CACHE_MAX", "0", 1);
    keep(8, 2000);
    assert_true(exists(8) && !exists(6) && !exists(7));
    unsetenv("ABUT_CACHE_MAX");
    abuti_cache_evict(context, &(abuti_cache_entry){&abuti_cache_programs, {0}, "/nowhere/at"}, 0);
    abuti_cache_evict(context, &(abuti_cache_entry){&abuti_cache_programs, {0}, "nothing"}, 0);
    setenv("ABUT_CACHE_DIR", old, 1);
}

TEST(where) {
    setenv("ABUT_CACHE_DIR", "off", 1);
    assert_int_equal(0, entry_of(key).path[0]);
    assert_false(cached());
    store(key, sizeof program);
    unsetenv("ABUT_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    assert_int_equal(0, strncmp(entry_of(key).path, "/somewhere/abut/c8c9cacb", 24));
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/of", 1);
    assert_int_equal(0, strncmp(entry_of(key).path, "/home/of/.cache/abut/c8c9", 25));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(0, entry_of(key).path[0]);
    setenv("ABUT_CACHE_DIR", "/dev/null/no", 1); /* a folder that cannot be */
    assert_false(cached());
    store(key, sizeof program);
}

int main(void) {
    return test_run(set_up, NULL);
}
