/* abut-check-data PATH: compares continuous collision detection with exact results of
 * PATH/ccd/queries; also whole scenes (check_scenes.c) and signs (check_signs.c).
 * tools/check-data runs it.
 *
 * Every file is CSV with eight rows for each query, four vertices at the start and four at the
 * end, as three fractions and the result. Its folder, "vertex-face" or "edge-edge", gives the
 * features. Each query runs twice, with and without exact arithmetic. The last line has the
 * totals. Exit codes: 0 success; 1 if an impact was missed, a result was wrong by exact
 * arithmetic, or a sign was wrong; 2 for a usage error or missing data. */
#include "check_data.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- queries ---- */

static bool read_row(FILE *file, abut_vec3 *p, int *truth, bool *end) {
    char line[1024];
    double n[6];
    *end = !fgets(line, sizeof line, file);
    if (*end)
        return true;
    if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%d", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5],
               truth) != 7)
        return false;
    /* exact: coordinates are doubles, and so are both parts of the reduced fractions */
    p->x = n[0] / n[1];
    p->y = n[2] / n[3];
    p->z = n[4] / n[5];
    return true;
}

static abut_status check_query(bool edges, const abut_vec3 p[8], int truth, check_totals *totals) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    abut_sweep_result plain, exact;
    abut_status (*sweep)(const abut_vec3 *, const abut_vec3 *, const abut_sweep_find_options *,
                         abut_sweep_result *) =
        edges ? abut_sweep_edge_edge : abut_sweep_vertex_face;
    abut_status status = sweep(p, p + 4, &options, &plain);
    options.exact = true;
    status = status ? status : sweep(p, p + 4, &options, &exact);
    if (status)
        return status;
    totals->queries++;
    totals->missed += truth && !plain.hit;
    totals->false_alarms += !truth && plain.hit;
    totals->exact_wrong += exact.hit != (truth != 0);
    return ABUT_OK;
}

static bool check_file(const char *path, bool edges, check_totals *totals) {
    FILE *file = fopen(path, "r");
    abut_vec3 p[8];
    int truth = 0, at = 0;
    bool end = false, good = file != NULL;
    while (good && !end) {
        good = read_row(file, &p[at], &truth, &end);
        if (good && !end && ++at == 8) {
            good = check_query(edges, p, truth, totals) == ABUT_OK;
            at = 0;
        }
    }
    good = good && at == 0;
    if (!good)
        fprintf(stderr, "abut-check-data: cannot read '%s': %s\n", path,
                file ? "not rows of fractions, eight a query" : "no such file");
    if (file)
        fclose(file);
    return good;
}

/* Visits all files two levels below: PATH/<set>/<features>/<name>.csv. */
static bool check_folder(const char *path, int depth, bool edges, check_totals *totals) {
    DIR *folder = opendir(path);
    bool good = folder != NULL;
    struct dirent *entry;
    while (good && (entry = readdir(folder)) != NULL) {
        char below[PATH_BYTES];
        struct stat about;
        if (entry->d_name[0] == '.' ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below ||
            stat(below, &about) != 0)
            continue;
        if (S_ISDIR(about.st_mode) && depth < 2)
            good = check_folder(below, depth + 1, strcmp(entry->d_name, "edge-edge") == 0, totals);
        else if (S_ISREG(about.st_mode) && depth == 2)
            good = check_file(below, edges, totals);
    }
    if (folder)
        closedir(folder);
    return good;
}

static bool check_queries(const char *data, check_totals *totals) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/ccd/queries", data);
    if (!check_folder(path, 0, false, totals) || totals->queries == 0) {
        fprintf(stderr, "abut-check-data: no queries in '%s'\n", path);
        return false;
    }
    printf("queries: %llu, missed %llu, false alarms %llu; exact: wrong %llu\n",
           (unsigned long long)totals->queries, (unsigned long long)totals->missed,
           (unsigned long long)totals->false_alarms, (unsigned long long)totals->exact_wrong);
    return true;
}

int main(int count, char **arguments) {
    check_totals totals = {0};
    if (count != 2) {
        fprintf(stderr, "usage: abut-check-data PATH (a folder with ccd/queries in it)\n");
        return 2;
    }
    if (!check_queries(arguments[1], &totals) || !check_scenes(arguments[1], &totals) ||
        !check_signs(arguments[1], &totals))
        return 2;
    printf("missed %llu, false alarms %llu, queries %llu, sign errors %llu\n",
           (unsigned long long)totals.missed, (unsigned long long)totals.false_alarms,
           (unsigned long long)totals.queries, (unsigned long long)totals.sign_errors);
    return totals.missed || totals.exact_wrong || totals.sign_errors ? 1 : 0;
}
