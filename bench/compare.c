/* Compares two result files case by case. */
#include "bench.h"

#include <string.h>

static const bench_result *find_result(const bench_results *results, const bench_result *like) {
    for (size_t i = 0; i < results->count; i++)
        if (results->list[i].threads == like->threads && !strcmp(results->list[i].name, like->name))
            return &results->list[i];
    return NULL;
}

static void print_head(const bench_results *before, const bench_results *after) {
    const struct {
        const char *what, *before, *after;
    } lines[] = {
        {"commit", before->commit, after->commit}, {"compiler", before->compiler, after->compiler},
        {"flags", before->flags, after->flags},    {"cpu", before->cpu, after->cpu},
        {"system", before->system, after->system}, {"date", before->date, after->date},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!strcmp(lines[i].before, lines[i].after))
            printf("%-10s%s\n", lines[i].what, lines[i].before);
        else
            printf("%-10s%s -> %s\n", lines[i].what, lines[i].before, lines[i].after);
    }
}

static void print_alone(const bench_results *those, const bench_results *others,
                        const char *where) {
    for (size_t i = 0; i < those->count; i++)
        if (!find_result(others, &those->list[i]))
            printf("%-32s %7u  only in the %s file\n", those->list[i].name, those->list[i].threads,
                   where);
}

static int compare(const bench_results *before, const bench_results *after, bool allow_hash) {
    size_t shared = 0, different = 0;
    print_head(before, after);
    printf("\n%-32s %7s %12s %12s %7s  %s\n", "case", "threads", "old ms", "new ms", "ratio",
           "hash");
    for (size_t i = 0; i < before->count; i++) {
        const bench_result *old = &before->list[i], *new = find_result(after, old);
        if (!new)
            continue;
        bool same = old->hash == new->hash;
        shared++;
        different += !same;
        printf("%-32s %7u %12.4g %12.4g ", old->name, old->threads, old->median_ms, new->median_ms);
        if (old->median_ms > 0)
            printf("%7.3f", new->median_ms / old->median_ms);
        else
            printf("%7s", "-");
        printf("  %s\n", same ? "same" : "different");
    }
    print_alone(before, after, "old");
    print_alone(after, before, "new");
    printf("\n%zu compared, %zu with a different hash\n", shared, different);
    return different && !allow_hash ? 1 : 0;
}

int bench_compare(const char *old_path, const char *new_path, bool allow_hash) {
    bench_results before, after;
    if (!bench_results_read(&before, old_path))
        return 2;
    int code = 2;
    if (bench_results_read(&after, new_path)) {
        if (before.quick != after.quick)
            fprintf(stderr,
                    "abut-bench: only one of '%s' and '%s' was made with --quick, so that their "
                    "inputs differ\n",
                    old_path, new_path);
        else
            code = compare(&before, &after, allow_hash);
        bench_results_clear(&after);
    }
    bench_results_clear(&before);
    return code;
}
