/* Checks of files that a run will write, before its work. */
#include "tool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of a path, with its last slash and a dot. */
static const char *folder_of(const char *path, tool_text *to) {
    const char *slash = strrchr(path, '/');
    text_clear(to);
    if (slash)
        text_bytes(to, path, (size_t)(slash - path) + 1);
    text_add(to, ".");
    return text_of(to);
}

/* Otherwise errno is the reason. */
static bool can_write(const char *path, tool_text *folder) {
    struct stat about;
    if (stat(path, &about) != 0)
        return errno == ENOENT && path[0] && access(folder_of(path, folder), W_OK | X_OK) == 0;
    if (S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return false;
    }
    return access(path, W_OK) == 0;
}

void target_check(tool_run *tool, const char *path) {
    tool_text folder = {0};
    if (strcmp(path, "-") != 0 && !can_write(path, &folder))
        tool_fail_with(tool, "file error", "%s: cannot be written: %s", path, strerror(errno));
    text_free(&folder);
}

static bool is_same_entry(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool target_is_same(const char *a, const char *b) {
    struct stat x, y;
    tool_text folder = {0};
    const bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
    if (has_a || has_b) /* a device may be written twice */
        return has_a && has_b && S_ISREG(x.st_mode) && is_same_entry(&x, &y);
    const bool same =
        strcmp(path_name(a), path_name(b)) == 0 &&
        (strcmp(a, b) == 0 || (stat(folder_of(a, &folder), &x) == 0 &&
                               stat(folder_of(b, &folder), &y) == 0 && is_same_entry(&x, &y)));
    text_free(&folder);
    return same;
}
