/* Samples: the counts of the paper, their kinds, and their distribution. */
#include "apps/get.h"
#include "support/support.h"

#include "base/checksum.h"
#include "contact/samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static abut_mesh *mesh_of(abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static abut_samples *samples_of(abut_mesh *mesh, const abut_samples_options *options) {
    abut_samples *samples;
    assert_ok(abut_samples_create(mesh, options, &samples));
    return samples;
}

static uint32_t count_of(abut_mesh *mesh, uint32_t kinds, double cell) {
    abut_samples_options options = abut_samples_options_default();
    options.kinds = kinds;
    options.cell = cell;
    abut_samples *samples = samples_of(mesh, &options);
    uint32_t count = get_samples_arrays(samples).count;
    abut_samples_destroy(samples);
    return count;
}

/* Those of Sundholm (2010): of flat regions only the centre, which is part 0. */
static uint32_t count_without_corners(abut_mesh *mesh, double cell) {
    abut_samples_options options = abut_samples_options_default();
    options.cell = cell;
    abut_samples *samples = samples_of(mesh, &options);
    abut_samples_arrays view = get_samples_arrays(samples);
    uint32_t count = 0;
    for (uint32_t i = 0; i < view.count; i++)
        count += view.samples[i].kind != ABUT_SAMPLE_FACE || view.samples[i].part == 0;
    abut_samples_destroy(samples);
    return count;
}

/* ---- features ---- */

/* Sundholm 2010, table 5.1. 480 samples on 60 edges are 8 on each, so 9 parts: an edge is a fifth
 * of the side L, and the diagonal of a cell from L/45 on, but below L/40. That is a grid of 70 to
 * 77 cells along the cube, such as 80 with a margin of two cells at each end. */
TEST(the_cube_of_the_document) {
    abut_mesh *cube = mesh_of(ABUT_SHAPE_BOX, 5);
    assert_int_equal(abut_mesh_vertex_count(cube), 152);
    assert_int_equal(abut_mesh_triangle_count(cube), 300);
    for (int cells = 69; cells <= 78; cells++) {
        double cell = 1.0 / cells;
        bool fits = cells >= 70 && cells <= 77;
        assert_int_equal(count_of(cube, ABUT_SAMPLES_VERTICES, cell), 56);
        assert_true((count_of(cube, ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES, cell) == 536) ==
                    fits);
        assert_true((count_of(cube, 0, cell) == 542 + 24) == fits); /* four corners a side */
        assert_true((count_without_corners(cube, cell) == 542) == fits);
    }
    abut_field_options options = abut_field_options_default();
    abut_field *field;
    options.cells = 80;
    options.band = 0.001; /* values do not matter here */
    assert_ok(abut_field_create(cube, &options, &field));
    assert_int_equal(count_without_corners(cube, get_field_info(field).grid.cell), 542);
    abut_field_destroy(field);
    abut_mesh_destroy(cube);
}

TEST(each_is_what_it_says) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX, ABUT_SHAPE_LETTER_G, ABUT_SHAPE_TUBE,
                                     ABUT_SHAPE_TEAPOT_SOLID};
    for (size_t s = 0; s < sizeof kinds / sizeof *kinds; s++) {
        abut_mesh *mesh = mesh_of(kinds[s], 6);
        abut_samples *samples = samples_of(mesh, NULL);
        abut_samples_arrays view = get_samples_arrays(samples);
        abut_topology *topology;
        abut_bvh *bvh;
        assert_ok(abut_topology_create(mesh, &topology));
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        abut_topology_arrays t = get_topology_arrays(topology);
        assert_int_equal(view.count, view.kind_count[0] + view.kind_count[1] + view.kind_count[2]);
        for (uint32_t i = 0; i < view.count; i++) {
            const abut_sample *sample = &view.samples[i];
            abut_nearest nearest;
            assert_ok(abut_nearest_point(bvh, sample->point, HUGE_VAL, &nearest));
            assert_true(nearest.distance < 1e-12); /* regions like rings too */
            assert_true(fabs(v3_length(sample->normal) - 1) < 1e-12);
            if (i) {
                const abut_sample *before = sample - 1;
                assert_true(before->kind < sample->kind ||
                            (before->kind == sample->kind && (before->element < sample->element ||
                                                              (before->element == sample->element &&
                                                               before->part < sample->part))));
            }
            if (sample->kind == ABUT_SAMPLE_VERTEX) {
                vec3 p = abuti_mesh_position(mesh, sample->element);
                assert_memory_equal(&p, &sample->point, sizeof p);
            } else if (sample->kind == ABUT_SAMPLE_EDGE) {
                vec3 a = abuti_mesh_position(mesh, t.edges[2 * sample->element]),
                     b = abuti_mesh_position(mesh, t.edges[2 * sample->element + 1]);
                double u = v3_length(v3_sub(sample->point, a)),
                       v = v3_length(v3_sub(sample->point, b)), whole = v3_length(v3_sub(a, b));
                assert_true(fabs(u + v - whole) < 1e-12);
                assert_true(u <= (sample->part + 1) * view.spacing * (1 + 1e-9));
            }
        }
        abut_bvh_destroy(bvh);
        abut_topology_destroy(topology);
        abut_samples_destroy(samples);
        abut_mesh_destroy(mesh);
    }
}

/* Every vertex of a curved surface counts; none inside a flat one does, and borders do. */
TEST(what_is_flat) {
    abut_mesh *sphere = mesh_of(ABUT_SHAPE_ICOSPHERE, 32), *sheet = mesh_of(ABUT_SHAPE_SHEET, 5);
    assert_int_equal(count_of(sphere, ABUT_SAMPLES_VERTICES, 0), abut_mesh_vertex_count(sphere));
    assert_int_equal(count_of(sphere, ABUT_SAMPLES_FACES, 0), 0);
    abut_samples *samples = samples_of(sheet, NULL);
    abut_samples_arrays view = get_samples_arrays(samples);
    assert_int_equal(view.kind_count[ABUT_SAMPLE_FACE], 5);
    assert_true(view.kind_count[ABUT_SAMPLE_VERTEX] < abut_mesh_vertex_count(sheet));
    for (uint32_t i = 0; i < view.kind_count[ABUT_SAMPLE_VERTEX]; i++)
        assert_true(fabs(fabs(view.samples[i].point.x) - 0.5) < 1e-12 ||
                    fabs(fabs(view.samples[i].point.y) - 0.5) < 1e-12);
    abut_samples_destroy(samples);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(sphere);
}

/* ---- even ones ---- */

/* The least distance between two samples of the same side, the slow way. */
static double least_distance(const abut_samples_arrays *view) {
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < view->count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (v3_dot(view->samples[i].normal, view->samples[k].normal) >= 0)
                least =
                    fmin(least, v3_length(v3_sub(view->samples[i].point, view->samples[k].point)));
    return least;
}

TEST(even_ones_keep_their_distance) {
    abut_mesh *mesh = mesh_of(ABUT_SHAPE_TORUS, 40);
    abut_samples_options options = abut_samples_options_default();
    test_random random = {5};
    options.radius = 0.08;
    abut_samples *samples = samples_of(mesh, &options);
    abut_samples_arrays view = get_samples_arrays(samples);
    assert_int_equal(view.count, view.kind_count[ABUT_SAMPLE_SURFACE]);
    assert_true(least_distance(&view) >= 0.08);
    /* Darts without end fill a surface to 0.60 of the densest packing. */
    assert_true(view.count > 0.5 * view.area / (0.08 * 0.08 * sqrt(0.75)));
    /* Nowhere on it is a hole much wider than the radius. */
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    for (int round = 0; round < 500; round++) {
        abut_vec3 p = {test_random_real(&random, -2, 2), test_random_real(&random, -2, 2),
                       test_random_real(&random, -1, 1)};
        abut_nearest nearest;
        double least = HUGE_VAL;
        assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &nearest));
        for (uint32_t i = 0; i < view.count; i++)
            least = fmin(least, v3_length(v3_sub(view.samples[i].point, nearest.point)));
        assert_true(least < 1.3 * 0.08);
    }
    abut_bvh_destroy(bvh);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
}

TEST(counts_and_limits_are_kept) {
    abut_mesh *mesh = mesh_of(ABUT_SHAPE_TORUS, 48);
    abut_samples_options options = abut_samples_options_default();
    options.count = 500;
    abut_samples *samples = samples_of(mesh, &options);
    abut_samples_arrays view = get_samples_arrays(samples);
    assert_int_equal(view.count, 500);
    /* Of the densest packing of circles, whose distance would be this, three fifths. */
    assert_true(least_distance(&view) > 0.6 * sqrt(view.area / 500 / sqrt(0.75)));
    abut_samples_destroy(samples);

    options.count = 0;
    options.max_count = 200;
    options.kinds = ABUT_SAMPLES_VERTICES;
    samples = samples_of(mesh, &options);
    view = get_samples_arrays(samples);
    assert_int_equal(view.count, 200);

    assert_true(least_distance(&view) > 0.6 * sqrt(view.area / 200 / sqrt(0.75)));
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);

    /* Many triangles in one place: still fast, and as many as were requested. */
    enum { COPIES = 20000 };
    double positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    uint32_t *indices = malloc(3 * COPIES * sizeof *indices);
    assert_non_null(indices);
    for (uint32_t i = 0; i < 3 * COPIES; i++)
        indices[i] = i % 3;
    mesh = test_mesh(NULL, positions, 3, indices, COPIES);
    options = abut_samples_options_default();
    options.count = 1000;
    samples = samples_of(mesh, &options);
    assert_int_equal(get_samples_arrays(samples).count, 1000);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
    free(indices);
}

TEST_THREADS(same_on_any_number_of_threads) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    abut_samples_options options = abut_samples_options_default();
    abut_samples_arrays first = {0};
    abut_samples *kept = NULL;
    options.kinds = 15;
    options.max_count = 700;
    options.cell = 0.1;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh;
        assert_ok(abut_shape_create(context, &shape, &mesh));
        abut_samples *samples = samples_of(mesh, &options);
        abut_samples_arrays view = get_samples_arrays(samples);
        abut_mesh_destroy(mesh);
        if (!kept) {
            abut_mesh *again;
            assert_ok(abut_shape_create(NULL, &shape, &again));
            kept = samples_of(again, &options);
            first = get_samples_arrays(kept);
            abut_mesh_destroy(again);
        }
        assert_int_equal(view.count, 700);
        for (uint32_t i = 0; i < view.count; i++) {
            assert_memory_equal(&view.samples[i].point, &first.samples[i].point,
                                2 * sizeof(abut_vec3));
            assert_int_equal(view.samples[i].element, first.samples[i].element);
        }
        abut_samples_destroy(samples);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    abut_samples_destroy(kept);
}

/* ---- refusals ---- */

TEST(wrong_options_are_refused) {
    abut_mesh *mesh = mesh_of(ABUT_SHAPE_BOX, 2);
    abut_samples *samples = NULL;
    abut_samples_options options = abut_samples_options_default();
    assert_refused("mesh is null", abut_samples_create(NULL, NULL, &samples));
    assert_refused("samples is null", abut_samples_create(mesh, NULL, NULL));
    options.cell = NAN;
    assert_refused("cell", abut_samples_create(mesh, &options, &samples));
    options.cell = 1e-12;
    assert_fails(ABUT_ERROR_LIMIT, "threshold", abut_samples_create(mesh, &options, &samples));
    options.kinds = ABUT_SAMPLES_SURFACE;
    assert_fails(ABUT_ERROR_LIMIT, "radius", abut_samples_create(mesh, &options, &samples));
    options.kinds = 16;
    assert_refused("kinds", abut_samples_create(mesh, &options, &samples));
    options = abut_samples_options_default();
    options.count = 5;
    options.radius = 1;
    assert_refused("set only one", abut_samples_create(mesh, &options, &samples));
    options = abut_samples_options_default();
    options.flat_angle = 90;
    assert_refused("radians", abut_samples_create(mesh, &options, &samples));
    assert_null(samples);
    assert_int_equal(get_samples_arrays(NULL).count, 0);
    abut_samples_destroy(NULL);
    abut_mesh_destroy(mesh);
}

static abut_status make_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_samples_options options = abut_samples_options_default();
    abut_mesh *mesh = NULL;
    abut_samples *samples = NULL;
    options.cache = data;
    options.kinds = 15;
    options.max_count = 50;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_samples_create(mesh, &options, &samples);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(make_all, NULL) > 10);
}

/* ---- the cache ---- */

typedef struct told {
    uint32_t warnings;
    char last[2048];
} told;

static told heard;

static void take_log(void *user, abut_log_level level, const char *message) {
    told *t = user;
    if (level == ABUT_LOG_WARNING) {
        t->warnings++;
        snprintf(t->last, sizeof t->last, "%s", message);
    }
}

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

static abut_mesh *cube_that_listens(uint32_t segments) {
    abut_context *context = listening();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    abut_context_destroy(context); /* held by the mesh */
    return mesh;
}

static void same_vector(abut_vec3 a, abut_vec3 b) {
    assert_memory_equal(&a, &b, sizeof a); /* the sign of zero too */
}

static void same_samples(const abut_samples *a, const abut_samples *b) {
    const abut_samples_arrays *x = &a->view, *y = &b->view;
    assert_true(x->count == y->count && x->edge_count == y->edge_count);
    assert_true(x->spacing == y->spacing && x->area == y->area && !x->edges == !y->edges);
    assert_memory_equal(x->kind_count, y->kind_count, sizeof x->kind_count);
    for (uint32_t i = 0; i < x->count; i++) {
        const abut_sample *s = &x->samples[i], *t = &y->samples[i];
        same_vector(s->point, t->point);
        same_vector(s->normal, t->normal);
        assert_true(s->kind == t->kind && s->element == t->element && s->part == t->part);
    }
    for (uint32_t i = 0; i < x->edge_count; i++) {
        same_vector(x->edges[i].end[0], y->edges[i].end[0]);
        same_vector(x->edges[i].end[1], y->edges[i].end[1]);
        same_vector(x->edges[i].normal, y->edges[i].normal);
        assert_int_equal(x->edges[i].edge, y->edges[i].edge);
    }
    size_t features = x->count + (size_t)x->edge_count;
    same_vector(a->centre, b->centre);
    assert_true(a->radius == b->radius && a->has_vertices == b->has_vertices);
    assert_memory_equal(a->points, b->points, (features + x->edge_count) * sizeof *a->points);
    assert_memory_equal(a->order, b->order, features * sizeof *a->order);
    assert_memory_equal(a->parts, b->parts, sizeof a->parts);
    for (int kind = 0; kind < 2; kind++) {
        const contact_part *p = &a->parts[kind];
        assert_memory_equal(a->balls + p->first_ball, b->balls + p->first_ball,
                            p->balls * sizeof *a->balls);
        assert_memory_equal(a->groups + p->first_group, b->groups + p->first_group,
                            p->groups * sizeof *a->groups);
    }
}

/* How many files of samples a folder has; gives the path of the last. */
static size_t files_in(const char *folder, char path[ABUTI_CACHE_PATH_BYTES]) {
    size_t count = 0;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            assert_true(abuti_folder_is_name(entry->d_name, abuti_cache_samples.suffix));
            snprintf(path, ABUTI_CACHE_PATH_BYTES, "%s/%s", folder, entry->d_name);
            count++;
        }
    if (opened)
        closedir(opened);
    return count;
}

/* Another number where a file was written: it is renamed while the old one is still there. */
static uint64_t sum_of_files(const char *folder) {
    uint64_t sum = 0;
    DIR *opened = opendir(folder);
    struct stat about;
    for (struct dirent *entry; opened && (entry = readdir(opened));)
        if (entry->d_name[0] != '.') {
            assert_int_equal(0, fstatat(dirfd(opened), entry->d_name, &about, 0));
            sum += about.st_ino;
        }
    if (opened)
        closedir(opened);
    return sum;
}

/* Whether samples come from the cache: what is made is written to a new file. They are right in any
 * case. */
static bool hits(abut_mesh *mesh, abut_samples_options o) {
    const char *folder = o.cache;
    uint64_t before = sum_of_files(folder);
    abut_samples *cached = samples_of(mesh, &o);
    o.cache = NULL;
    abut_samples *made = samples_of(mesh, &o);
    same_samples(made, cached);
    abut_samples_destroy(made);
    abut_samples_destroy(cached);
    return sum_of_files(folder) == before;
}

static abut_samples_options ways(int which) {
    abut_samples_options o = abut_samples_options_default();
    o.cell = which == 1 ? 0.1 : 0.2;
    o.threshold = which == 2 ? 0.7 : 0;
    o.flat_angle = which == 3 ? 0.01 : 0;
    o.face_area = which == 4 ? 0.5 : 0;
    o.kinds = which == 5 ? ABUT_SAMPLES_FACES : which == 6 ? ABUT_SAMPLES_SURFACE : 0;
    o.radius = which == 7 ? 0.3 : 0;
    o.count = which == 8 ? 20 : 0;
    o.max_count = which == 9 ? 7 : 0;
    return o;
}
enum { WAYS = 10 };

typedef struct seen {
    size_t count, problems, samples;
    uint64_t bytes;
} seen;

static bool see(void *user, const abut_samples_cache_entry *entry) {
    seen *s = user;
    s->count++;
    s->problems += entry->problem != NULL;
    s->samples += entry->count;
    s->bytes += entry->stored_bytes;
    assert_true(entry->age >= 0 && entry->age < 1000);
    assert_int_equal(entry->problem ? 0 : 64, strlen(entry->mesh));
    return true;
}

static bool see_one(void *user, const abut_samples_cache_entry *entry) {
    see(user, entry);
    return false;
}

TEST(samples_are_found_again) {
    abut_mesh *mesh = cube_that_listens(2), *again = cube_that_listens(2),
              *other = cube_that_listens(3);
    const char *folder = test_path("found/deeper");
    char path[ABUTI_CACHE_PATH_BYTES];
    for (int i = 0; i < WAYS; i++) {
        abut_samples_options o = ways(i);
        o.cache = folder;
        assert_false(hits(mesh, o));
        assert_int_equal(i + 1, files_in(folder, path));
        assert_true(hits(again, o));
    }
    for (int i = 0; i < WAYS; i++) {
        abut_samples_options o = ways(i);
        o.cache = folder;
        assert_true(hits(mesh, o));
    }
    abut_samples_options o = ways(0);
    o.cache = folder;
    o.kinds = ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES | ABUT_SAMPLES_FACES; /* in other words */
    assert_true(hits(mesh, o));
    assert_false(hits(other, o));
    /* none at all are kept too */
    o.kinds = ABUT_SAMPLES_FACES;
    o.face_area = 100;
    assert_false(hits(mesh, o));
    assert_true(hits(mesh, o));
    assert_int_equal(0, heard.warnings);
    seen s = {0}, first = {0};
    uint64_t files = 0, bytes = 0;
    assert_ok(abut_samples_cache_list(NULL, folder, see, &s));
    assert_true(s.count == WAYS + 2 && s.problems == 0 && s.samples > 100);
    assert_ok(abut_samples_cache_list(NULL, folder, see_one, &first));
    assert_int_equal(1, first.count);
    struct stat about;
    files_in(folder, path);
    assert_int_equal(0, stat(path, &about));
    assert_int_equal(0600, about.st_mode & 0777);
    /* fields and samples are cleared each on their own */
    assert_ok(abut_field_cache_clear(NULL, folder, 0, &files, NULL));
    assert_int_equal(0, files);
    assert_ok(abut_samples_cache_clear(NULL, folder, 1000, &files, NULL));
    assert_int_equal(0, files);
    assert_ok(abut_samples_cache_clear(NULL, folder, 0, &files, &bytes));
    assert_true(files == WAYS + 2 && bytes == s.bytes);
    assert_refused("visit", abut_samples_cache_list(NULL, folder, NULL, NULL));
    assert_refused("folder is null", abut_samples_cache_list(NULL, NULL, see, &s));
    assert_refused("age", abut_samples_cache_clear(NULL, folder, -1, NULL, NULL));
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(again);
    abut_mesh_destroy(other);
}

static unsigned char whole[1 << 14], hurt[1 << 14];

static size_t slurp(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(whole, 1, sizeof whole, file);
    fclose(file);
    assert_true(got < sizeof whole);
    return got;
}

static void spit(const char *path, const unsigned char *from, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(bytes, fwrite(from, 1, bytes, file));
    fclose(file);
}

/* The damage must be reported, the samples correct, and the file repaired. */
static void is_mended(abut_mesh *mesh, abut_samples_options o, const char *words) {
    heard.warnings = 0;
    assert_false(hits(mesh, o));
    assert_int_equal(1, heard.warnings);
    assert_non_null(strstr(heard.last, words));
    assert_true(hits(mesh, o));
    assert_int_equal(1, heard.warnings);
}

/* Every byte in turn and every length. */
TEST(damaged_samples_are_made_anew) {
    const double corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const uint32_t triangle[] = {0, 1, 2};
    abut_context *context = listening();
    abut_mesh *mesh = test_mesh(context, corners, 3, triangle, 1);
    abut_samples_options o = ways(0);
    char path[ABUTI_CACHE_PATH_BYTES];
    o.cell = 0.4;
    o.max_count = 2;
    o.cache = test_path("damaged");
    assert_false(hits(mesh, o));
    assert_int_equal(1, files_in(o.cache, path));
    size_t bytes = slurp(path);
    assert_int_equal(bytes, 72 + 48 + 2 * 64 + 3 * 80 + 8);
    test_random random = {1};
    for (size_t i = 0; i < bytes; i++)
        for (int cut = 0; cut < 2; cut++) {
            memcpy(hurt, whole, bytes);
            hurt[i] ^= (unsigned char)(1u << test_random_below(&random, 8));
            spit(path, hurt, cut ? i : bytes);
            heard.warnings = 0;
            assert_false(hits(mesh, o));
            assert_int_equal(1, heard.warnings);
            assert_non_null(strstr(heard.last, path));
        }
    assert_true(hits(mesh, o));
    memcpy(hurt, whole, bytes);
    spit(path, hurt, bytes + 1);
    seen s = {0};
    assert_ok(abut_samples_cache_list(NULL, o.cache, see, &s));
    assert_true(s.count == 1 && s.problems == 1);
    is_mended(mesh, o, "length");
    hurt[12] = 3;
    spit(path, hurt, bytes);
    is_mended(mesh, o, "newer version");
    assert_int_equal(0, chmod(path, 0666));
    is_mended(mesh, o, "no other user can write");
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

/* Files with a right checksum that lie. */
TEST(hostile_samples_are_made_anew) {
    enum { FILE_HEAD = 72, COUNTS = FILE_HEAD + 32, HEAD = FILE_HEAD + 48, SAMPLE = 64, EDGE = 80 };
    abut_mesh *mesh = cube_that_listens(1);
    abut_samples_options o = ways(0), other = ways(5);
    char path[ABUTI_CACHE_PATH_BYTES], other_path[ABUTI_CACHE_PATH_BYTES];
    o.cell = 0.4;
    o.cache = test_path("hostile");
    other.cache = test_path("hostile_other");
    assert_false(hits(mesh, o));
    assert_int_equal(1, files_in(o.cache, path));
    size_t bytes = slurp(path);
    uint32_t count, edges;
    memcpy(&count, whole + COUNTS, sizeof count);
    memcpy(&edges, whole + COUNTS + 4, sizeof edges);
    assert_true(count > 8 && edges > 1);
    assert_int_equal(bytes, HEAD + SAMPLE * count + EDGE * edges + 8);
    const size_t edge = HEAD + SAMPLE * (size_t)count;
    const double far = 3e90, nan = NAN, negative = -1, long_normal = 1.5;
    const uint32_t huge = 0xffffffffu, even = ABUT_SAMPLE_SURFACE, four = 4, vertices = 8, one = 1;
    const struct {
        size_t at;
        const void *value;
        size_t bytes;
        const char *words;
    } lies[] = {
        {COUNTS, &huge, 4, "length"},
        {COUNTS + 4, &huge, 4, "length"},
        {COUNTS + 8, &negative, 8, "mesh cannot have"},
        {COUNTS + 8, &nan, 8, "mesh cannot have"},
        {HEAD, &far, 8, "mesh cannot have"},
        {HEAD + 8, &nan, 8, "mesh cannot have"},
        {HEAD + 24, &long_normal, 8, "mesh cannot have"},
        {HEAD + 48, &even, 4, "mesh cannot have"}, /* was not requested */
        {HEAD + 48, &four, 4, "mesh cannot have"},
        {HEAD + 48, &huge, 4, "mesh cannot have"},
        {HEAD + 52, &vertices, 4, "mesh cannot have"}, /* beyond the last */
        {HEAD + 52, &one, 4, "mesh cannot have"},      /* twice the same */
        {HEAD + 60, &one, 4, "mesh cannot have"},      /* what is always 0 */
        {edge - SAMPLE + 52, &huge, 4, "mesh cannot have"},
        {edge + 16, &nan, 8, "mesh cannot have"},
        {edge + 48, &far, 8, "mesh cannot have"},
        {edge + 72, &huge, 4, "mesh cannot have"},
        {edge + 76, &one, 4, "mesh cannot have"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(hurt, whole, bytes);
        memcpy(hurt + lies[i].at, lies[i].value, lies[i].bytes);
        uint64_t sum = abuti_checksum(hurt + FILE_HEAD, bytes - FILE_HEAD - 8);
        memcpy(hurt + bytes - 8, &sum, sizeof sum);
        spit(path, hurt, bytes);
        is_mended(mesh, o, lies[i].words);
    }
    /* a file of other options under this name, and no file at all */
    assert_false(hits(mesh, other));
    assert_int_equal(1, files_in(other.cache, other_path));
    assert_int_equal(0, rename(other_path, path));
    is_mended(mesh, o, "another key");
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, mkdir(path, 0700));
    heard.warnings = 0;
    assert_true(hits(mesh, o)); /* it stays a folder */
    assert_int_equal(2, heard.warnings);
    assert_int_equal(0, rmdir(path));
    abut_mesh_destroy(mesh);
}

/* As for fields: a link is replaced and not followed, a folder of others is not used. */
TEST(planted_links_and_folders_of_others) {
    char folder[ABUTI_CACHE_PATH_BYTES], path[ABUTI_CACHE_PATH_BYTES + 300],
        diary[ABUTI_CACHE_PATH_BYTES];
    struct stat about;
    abut_mesh *mesh = cube_that_listens(1);
    abut_samples_options o = ways(0);
    snprintf(folder, sizeof folder, "%s", test_path("planted"));
    o.cache = folder;
    assert_false(hits(mesh, o));
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));)
        if (abuti_folder_is_name(entry->d_name, abuti_cache_samples.suffix))
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(opened);
    snprintf(diary, sizeof diary, "%s", test_path("diary"));
    assert_int_equal(0, rename(path, diary));
    assert_int_equal(0, chmod(diary, 0644));
    assert_int_equal(0, symlink(diary, path));
    is_mended(mesh, o, "belongs to you");
    assert_int_equal(0, lstat(path, &about));
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(0, stat(diary, &about));
    assert_int_equal(0644, about.st_mode & 0777);
    assert_int_equal(0, chmod(folder, 0770));
    heard.warnings = 0;
    for (int i = 0; i < 2; i++) {
        abut_samples *samples;
        abut_samples_options other = ways(1 + i);
        other.cache = folder;
        assert_ok(abut_samples_create(mesh, &other, &samples));
        abut_samples_destroy(samples);
    }
    assert_int_equal(1, heard.warnings);
    assert_non_null(strstr(heard.last, "the cache is not used: the folder "));
    abut_mesh_destroy(mesh);
}

/* As a user without rights, if there is one. */
TEST(folders_that_cannot_be_written_do_no_harm) {
    char locked[ABUTI_CACHE_PATH_BYTES];
    snprintf(locked, sizeof locked, "%s", test_path("locked"));
    assert_int_equal(0, mkdir(locked, 0500));
    assert_int_equal(0, chmod(locked, 0555));
    assert_true(getuid() != 0 || chown(locked, 65534, 65534) == 0); /* the user's own */
    assert_int_equal(0, chmod(test_folder(), 0755)); /* another user may look into it */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(0);
        abut_mesh *mesh = cube_that_listens(1);
        abut_samples_options o = ways(0);
        abut_samples *samples = NULL;
        o.cache = locked;
        int bad = abut_samples_create(mesh, &o, &samples) || !samples;
        _exit(bad || heard.warnings != 1 || !strstr(heard.last, "denied"));
    }
    int result = 0;
    assert_int_equal(child, waitpid(child, &result, 0));
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    /* names that are too long */
    char name[ABUTI_CACHE_PATH_BYTES + 10];
    memset(name, 'x', sizeof name - 1);
    for (size_t length = ABUTI_CACHE_PATH_BYTES - 40; length < sizeof name; length += 40) {
        abut_mesh *mesh = cube_that_listens(1);
        abut_samples_options o = ways(0);
        name[length] = 0;
        o.cache = name;
        assert_true(hits(mesh, o));
        assert_int_equal(1, heard.warnings);
        assert_non_null(strstr(heard.last, "too long"));
        name[length] = 'x';
        abut_mesh_destroy(mesh);
    }
}

static abut_status list_all(abut_context *context, void *data) {
    seen s = {0};
    return abut_samples_cache_list(context, data, see, &s);
}

/* Samples that cannot be kept are given all the same. */
TEST(out_of_memory_with_a_cache) {
    char folder[ABUTI_CACHE_PATH_BYTES];
    uint64_t n = 0;
    bool done = false;
    snprintf(folder, sizeof folder, "%s", test_path("memory"));
    while (!done) {
        n = test_next_fault(n);
        test_memory memory = {.fail_at = n};
        abut_context *context = test_context(&memory, 1);
        assert_ok(abut_samples_cache_clear(NULL, folder, 0, NULL, NULL));
        abut_status status = make_all(context, folder);
        done = memory.calls < n;
        assert_true(!status || (status == ABUT_ERROR_MEMORY && !done));
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    assert_true(test_every_allocation(make_all, folder) < n); /* found */
    assert_true(test_every_allocation(list_all, folder) > 2);
}
