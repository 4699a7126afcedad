/* Compares whole steps with exact results: every candidate pair of a scene, not only listed
 * ones.
 *
 * A scene is a folder with frames/ (the mesh at the start and at the end), boxes/ (files that
 * end in vf.json or ee.json with pairs of indices: vertices first, then edges, then faces) and
 * mma_bool/ (whether each pair collides, exactly). Pairs that are not listed do not collide. */
#include "apps/get.h"
#include "check_data.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 3, MODES = 3 };

typedef struct element_pair {
    uint32_t first, second;
} element_pair;

typedef struct pair_list {
    element_pair *list; /* from malloc */
    size_t count;
} pair_list;

typedef struct scene {
    char path[PATH_BYTES];
    const char *name;
    abut_mesh *mesh[2];
    abut_vec3 *position[2];
    abut_sweep *motion;
    pair_list truth[2]; /* for each kind; sorted */
    abut_impact_list found;
    abut_sweep_counts counts;
} scene;

static int compare_pairs(const void *a, const void *b) {
    const element_pair *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- reading ---- */

/* Lists up to `most` names in a folder with the given ending, sorted; each is from malloc. */
static size_t list_names(const char *path, const char *ending, char **names, size_t most) {
    DIR *folder = opendir(path);
    size_t count = 0;
    for (const struct dirent *entry; folder && count < most && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name), end = strlen(ending);
        if (entry->d_name[0] == '.' || length < end ||
            strcmp(entry->d_name + length - end, ending) != 0)
            continue;
        names[count] = malloc(length + 1);
        if (names[count])
            memcpy(names[count++], entry->d_name, length + 1);
    }
    if (folder)
        closedir(folder);
    qsort(names, count, sizeof *names, compare_names);
    return count;
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    while (file && text) {
        size_t got = fread(text + used, 1, room - used - 1, file);
        used += got;
        if (!got)
            break;
        if (room - used < 2) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    if (file)
        fclose(file);
    if (text)
        text[used] = 0;
    if (!file) {
        free(text);
        return NULL;
    }
    return text;
}

/* Reads the pairs of a list that collide. */
static bool match_truth(const char *boxes, const char *answers, const uint32_t offset[2],
                        pair_list *truth) {
    size_t room = 0;
    for (const char *at = boxes; *at; at++)
        room += *at == '[';
    truth->list = malloc((room + 1) * sizeof *truth->list);
    if (!truth->list)
        return false;
    while ((boxes = strpbrk(boxes, "0123456789")) && (answers = strpbrk(answers, "tf"))) {
        char *after;
        unsigned long first = strtoul(boxes, &after, 10);
        boxes = strpbrk(after, "0123456789");
        if (!boxes)
            return false;
        unsigned long second = strtoul(boxes, &after, 10);
        boxes = after;
        if (first < offset[0] || second < offset[1])
            return false;
        if (*answers == 't') {
            truth->list[truth->count].first = (uint32_t)(first - offset[0]);
            truth->list[truth->count++].second = (uint32_t)(second - offset[1]);
        }
        answers += *answers == 't' ? 4 : 5;
    }
    qsort(truth->list, truth->count, sizeof *truth->list, compare_pairs);
    return !boxes; /* every pair has a result */
}

static bool read_truth(scene *s, int kind, uint32_t vertices, uint32_t edges) {
    const uint32_t offset[2] = {kind ? vertices : 0, vertices + (kind ? 0 : edges)};
    char path[2 * PATH_BYTES], folder[PATH_BYTES + 16], *names[1];
    snprintf(folder, sizeof folder, "%s/boxes", s->path);
    if (!list_names(folder, kind ? "ee.json" : "vf.json", names, 1))
        return false;
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    char *boxes = read_text(path);
    names[0][strlen(names[0]) - 5] = 0; /* without .json */
    snprintf(path, sizeof path, "%s/mma_bool/%s_mma_bool.json", s->path, names[0]);
    char *answers = read_text(path);
    bool good = boxes && answers && match_truth(boxes, answers, offset, &s->truth[kind]);
    free(names[0]);
    free(boxes);
    free(answers);
    return good;
}

static bool read_frames(scene *s) {
    char folder[PATH_BYTES + 16], path[2 * PATH_BYTES], *names[2] = {NULL, NULL};
    snprintf(folder, sizeof folder, "%s/frames", s->path);
    bool good = list_names(folder, ".ply", names, 2) == 2;
    for (int k = 0; k < 2 && good; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        good = !abut_mesh_read(NULL, path, NULL, &s->mesh[k]);
    }
    free(names[0]);
    free(names[1]);
    uint32_t count = abut_mesh_vertex_count(s->mesh[0]);
    good = good && count == abut_mesh_vertex_count(s->mesh[1]);
    for (int k = 0; k < 2 && good; k++) {
        abut_vec3 o = abut_mesh_local_origin(s->mesh[k]);
        const abut_vec3 *p = abut_mesh_local_positions(s->mesh[k]);
        good = (s->position[k] = malloc(count * sizeof *s->position[k])) != NULL;
        for (uint32_t i = 0; good && i < count; i++)
            s->position[k][i] = (abut_vec3){o.x + p[i].x, o.y + p[i].y, o.z + p[i].z};
    }
    return good;
}

static bool read_scene(scene *s) {
    abut_topology *topology = NULL;
    bool good = read_frames(s) && !abut_topology_create(s->mesh[0], &topology);
    abut_topology_arrays view = get_topology_arrays(topology);
    good = good && read_truth(s, 0, view.vertex_count, view.edge_count) &&
           read_truth(s, 1, view.vertex_count, view.edge_count);
    abut_topology_destroy(topology);
    return good && !abut_sweep_create(s->mesh, 1, NULL, &s->motion);
}

static void free_scene(scene *s) {
    abut_sweep_destroy(s->motion);
    for (int k = 0; k < 2; k++) {
        abut_mesh_destroy(s->mesh[k]);
        free(s->position[k]);
        free(s->truth[k].list);
    }
    free(s->found.list);
}

/* ---- checking ---- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Sets the step and searches it several times. Returns the shortest time, or a negative value on
 * failure. */
static double time_mode(scene *s, abut_sweep_mode mode, bool exact) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    double best = -1;
    options.exact = exact;
    for (int i = 0; i < REPEATS; i++) {
        double began = now_ms();
        abut_status status = abut_sweep_set_positions(s->motion, abut_array_host(s->position[0]),
                                                      abut_array_host(s->position[1]));
        s->counts.size = sizeof s->counts;
        status =
            status ? status : abut_sweep_find(s->motion, mode, &options, &s->found, &s->counts);
        double took = now_ms() - began;
        if (status == ABUT_ERROR_BUFFER) { /* again, with capacity for all impacts */
            free(s->found.list);
            s->found.capacity = s->found.count;
            s->found.list = malloc(s->found.capacity * sizeof *s->found.list);
            if (!s->found.list)
                return -1;
            i--;
            continue;
        }
        if (status)
            return -1;
        best = best < 0 || took < best ? took : best;
    }
    return best;
}

/* Compares the impacts found with the exact results. */
static bool compare_impacts(const scene *s, uint64_t *missed, uint64_t *false_alarms) {
    *missed = *false_alarms = 0;
    for (int kind = 0; kind < 2; kind++) {
        const pair_list *truth = &s->truth[kind];
        element_pair *got = malloc((s->found.count + 1) * sizeof *got);
        size_t count = 0, known = 0;
        if (!got)
            return false;
        for (size_t i = 0; i < s->found.count; i++)
            if ((int)s->found.list[i].kind == kind) {
                got[count].first = s->found.list[i].element[0];
                got[count++].second = s->found.list[i].element[1];
            }
        qsort(got, count, sizeof *got, compare_pairs);
        for (size_t i = 0; i < truth->count; i++)
            known += bsearch(&truth->list[i], got, count, sizeof *got, compare_pairs) != NULL;
        *missed += truth->count - known;
        *false_alarms += count - known;
        free(got);
    }
    return true;
}

static bool run_scene(scene *s, check_totals *totals) {
    static const char *const names[MODES] = {"any", "earliest", "all"};
    uint64_t missed, alarms;
    for (int exact = 0; exact < 2; exact++) {
        for (int mode = 0; mode < MODES; mode++) {
            double ms = time_mode(s, (abut_sweep_mode)mode, exact);
            if (ms < 0)
                return false;
            printf("%s %s%s %.1f ms, %zu impacts, the first at time %.9g\n", s->name, names[mode],
                   exact ? " exact" : "", ms, s->found.count,
                   s->found.count ? s->found.list[0].time : 1.0);
        }
        if (!compare_impacts(s, &missed, &alarms))
            return false;
        printf("%s%s: candidates vertex-face %llu, edge-edge %llu, true hits %zu, missed %llu, "
               "false alarms %llu\n",
               s->name, exact ? " exact" : "", (unsigned long long)s->counts.vertex_face,
               (unsigned long long)s->counts.edge_edge, s->truth[0].count + s->truth[1].count,
               (unsigned long long)missed, (unsigned long long)alarms);
        if (exact) {
            totals->exact_wrong += missed + alarms;
        } else {
            totals->queries += s->counts.vertex_face + s->counts.edge_edge;
            totals->missed += missed;
            totals->false_alarms += alarms;
        }
    }
    return true;
}

bool check_scenes(const char *data, check_totals *totals) {
    char folder[PATH_BYTES], *names[256];
    snprintf(folder, sizeof folder, "%s/ccd/scenes", data);
    size_t count = list_names(folder, "", names, sizeof names / sizeof *names);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        scene s = {.name = names[i]};
        good =
            good && snprintf(s.path, sizeof s.path, "%s/%s", folder, names[i]) < (int)sizeof s.path;
        bool fine = good && read_scene(&s) && run_scene(&s, totals);
        if (good && !fine)
            fprintf(stderr, "abut-check-data: scene '%s' cannot be checked: %s\n", s.path,
                    abut_last_error());
        good = fine;
        free_scene(&s);
        free(names[i]);
    }
    return good;
}
