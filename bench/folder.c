/* A folder for the temporary files of a run. */
#include "bench.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

const char *bench_folder_make(void) {
    static char folder[512];
    const char *base = getenv("TMPDIR");
    int length =
        snprintf(folder, sizeof folder, "%s/abut-bench-XXXXXX", base && base[0] ? base : "/tmp");
    if (length > 0 && (size_t)length < sizeof folder && mkdtemp(folder))
        return folder;
    bench_fail(ABUT_ERROR_FILE, "cannot make a folder '%s': %s", folder, strerror(errno));
    return NULL;
}

void bench_folder_remove(const char *folder) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
