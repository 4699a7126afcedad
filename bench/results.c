/* Result files: one JSON object with the machine in its header and one case per line.
 * bench/compare.py reads them. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "abut-bench 1"

bool bench_results_add(bench_results *results, const bench_result *result) {
    if (results->count == results->room) {
        size_t room = results->room ? 2 * results->room : 64;
        bench_result *list = realloc(results->list, room * sizeof *list);
        if (!list)
            return false;
        results->list = list;
        results->room = room;
    }
    results->list[results->count++] = *result;
    return true;
}

void bench_results_clear(bench_results *results) {
    free(results->list);
    memset(results, 0, sizeof *results);
}

/* ---- writing ---- */

static void write_text(FILE *file, const char *key, const char *text) {
    fprintf(file, "\"%s\": \"", key);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(file, "\\u%04x", *at);
        else
            putc(*at, file);
    }
    putc('"', file);
}

static void write_case(FILE *file, const bench_result *result) {
    double per_second = result->median_ms > 0 ? result->elements / result->median_ms * 1e3 : 0;
    fprintf(file, "{");
    write_text(file, "case", result->name);
    fprintf(file,
            ", \"threads\": %u, \"median_ms\": %.6g, \"minimum_ms\": %.6g, \"cpu_ms\": %.6g, "
            "\"repeats\": %u, "
            "\"peak_bytes\": %llu, \"result_bytes\": %.0f, \"elements\": %.0f, ",
            result->threads, result->median_ms, result->minimum_ms, result->cpu_ms, result->repeats,
            (unsigned long long)result->peak_bytes, result->result_bytes, result->elements);
    write_text(file, "unit", result->unit);
    fprintf(file, ", \"elements_per_s\": %.6g, \"bytes\": %.0f, ", per_second, result->bytes);
    fprintf(file, "\"hash\": \"%016llx\"}", (unsigned long long)result->hash);
}

static void write_all(FILE *file, const bench_results *results) {
    fprintf(file, "{\n");
    write_text(file, "format", FORMAT);
    const struct {
        const char *key, *text;
    } head[] = {
        {"commit", results->commit}, {"compiler", results->compiler}, {"flags", results->flags},
        {"cpu", results->cpu},       {"system", results->system},     {"date", results->date},
    };
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) {
        fprintf(file, ",\n");
        write_text(file, head[i].key, head[i].text);
    }
    fprintf(file, ",\n\"quick\": %s,\n\"cases\": [", results->quick ? "true" : "false");
    for (size_t i = 0; i < results->count; i++) {
        fprintf(file, i ? ",\n" : "\n");
        write_case(file, &results->list[i]);
    }
    fprintf(file, "\n]\n}\n");
}

bool bench_results_write(const bench_results *results, const char *path) {
    size_t length = strlen(path);
    char *beside = malloc(length + sizeof ".part");
    if (!beside) {
        fprintf(stderr, "abut-bench: out of memory\n");
        return false;
    }
    memcpy(beside, path, length);
    memcpy(beside + length, ".part", sizeof ".part");
    FILE *file = fopen(beside, "w");
    bool fine = file != NULL;
    if (file) {
        write_all(file, results);
        fine = !ferror(file);
        fine = !fclose(file) && fine;
        fine = fine && !rename(beside, path);
    }
    if (!fine) {
        fprintf(stderr, "abut-bench: cannot write '%s': %s\n", path, strerror(errno));
        if (file)
            remove(beside);
    }
    free(beside);
    return fine;
}
