/* Common to all readers: arguments, formats, files, memory, cancellation, threads. */
#include "mesh/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\n";
static const char ply[] = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty "
                          "float y\nproperty float z\nelement face 1\nproperty list uchar int "
                          "vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
static const char stl[] = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
                          "vertex 0 1 0\nendloop\nendfacet\nendsolid a\n";

TEST(checks_arguments) {
    abut_mesh *mesh = (abut_mesh *)&mesh;
    assert_refused("path is null", abut_mesh_read(NULL, NULL, NULL, &mesh));
    assert_refused("mesh is null", abut_mesh_read(NULL, "x", NULL, NULL));
    assert_refused("mesh is null", abut_mesh_read_memory(NULL, obj, 1, "x", NULL, NULL));
    assert_refused("data is null", abut_mesh_read_memory(NULL, NULL, 1, "x", NULL, &mesh));
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.format = (abut_mesh_format)9;
    assert_refused("format 9", abut_mesh_read_memory(NULL, obj, 1, "x", &options, &mesh));
    options = abut_mesh_read_options_default();
    options.triangulation = (abut_triangulation)2;
    assert_refused("triangulation 2", abut_mesh_read(NULL, "x", &options, &mesh));
    options.size = 3;
    assert_refused("size", abut_mesh_read(NULL, "x", &options, &mesh));
    assert_ptr_equal(&mesh, mesh);
}

TEST(names_bad_files) {
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_FILE, "missing.obj: cannot be opened: No such file",
                 abut_mesh_read(NULL, test_path("missing.obj"), NULL, &mesh));
    assert_fails(ABUT_ERROR_FILE, "is a directory",
                 abut_mesh_read(NULL, test_folder(), NULL, &mesh));
    static const char *const empty[] = {"empty.obj", "empty.ply", "empty.stl", "empty", "e.gltf"};
    for (int i = 0; i < 5; i++) {
        assert_fails(ABUT_ERROR_FORMAT, "is empty",
                     abut_mesh_read(NULL, test_file(empty[i], "", 0), NULL, &mesh));
        assert_non_null(strstr(abut_last_error(), empty[i]));
        assert_fails(ABUT_ERROR_FORMAT, "is empty",
                     abut_mesh_read_memory(NULL, NULL, 0, empty[i], NULL, &mesh));
    }
    assert_fails(ABUT_ERROR_FORMAT, "memory: is empty",
                 abut_mesh_read_memory(NULL, NULL, 0, NULL, NULL, &mesh));
    /* names that are not UTF-8, and names longer than a sentence */
    assert_fails(ABUT_ERROR_FORMAT,
                 "odd\\xff\\x01.obj: line 1:", check_read("f 1\n", 4, "odd\xff\x01.obj", &mesh));
    assert_fails(ABUT_ERROR_FORMAT, "odd\\xfe.obj: line 1:",
                 abut_mesh_read(NULL, test_file("odd\xfe.obj", "f 1\n", 4), NULL, &mesh));
    char name[5000];
    memset(name, '\xff', sizeof name);
    strcpy(name + sizeof name - 5, ".obj");
    assert_fails(ABUT_ERROR_FORMAT, ": line 1:", check_read("f 1\n", 4, name, &mesh));
    assert_null(mesh);
}

TEST(a_read_error_is_a_file_error) {
    int memory = open("/proc/self/mem", O_RDONLY); /* its first page cannot be read */
    if (memory < 0)
        skip();
    close(memory);
    static const abut_mesh_format formats[] = {ABUT_MESH_FORMAT_AUTO, ABUT_MESH_FORMAT_OBJ,
                                               ABUT_MESH_FORMAT_PLY, ABUT_MESH_FORMAT_STL};
    for (int i = 0; i < 4; i++) {
        abut_mesh *mesh = NULL;
        abut_mesh_read_options options = check_options(formats[i]);
        assert_fails(ABUT_ERROR_FILE, "/proc/self/mem: byte 0: cannot be read further",
                     abut_mesh_read(NULL, "/proc/self/mem", &options, &mesh));
    }
}

TEST(finds_the_format) {
    static const struct {
        const char *data, *name;
        uint32_t triangles;
    } cases[] = {{obj, "a.obj", 2},        {obj, "a.OBJ", 2},
                 {obj, "folder.ply/a", 2}, {obj, "a", 2},
                 {obj, NULL, 2},           {obj, "a.unknown", 2},
                 {ply, "a.PLY", 1},        {ply, "ply", 1},
                 {ply, "a.zzz", 1},        {stl, "b.c.StL", 1},
                 {stl, "b.c", 1},          {stl, "/", 1},
                 {ply, "a.obj.ply", 1},    {stl, "a.verylongendingindeed", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(mesh) mesh = NULL;
        assert_ok(check_read(cases[i].data, strlen(cases[i].data), cases[i].name, &mesh));
        assert_int_equal(cases[i].triangles, abut_mesh_triangle_count(mesh));
    }
    char commented[6000]; /* comments as far as one sees */
    memset(commented, '#', sizeof commented);
    strcpy(commented + 5000, "\n");
    strcat(commented, obj);
    abut_mesh *mesh = NULL;
    assert_ok(check_read(commented, strlen(commented), "a", &mesh));
    abut_mesh_destroy(mesh);
    /* the format given beats the ending */
    abut_mesh_read_options options = check_options(ABUT_MESH_FORMAT_PLY);
    assert_ok(abut_mesh_read_memory(NULL, ply, sizeof ply - 1, "a.obj", &options, &mesh));
    abut_mesh_destroy(mesh);
    assert_fails(ABUT_ERROR_FORMAT, "a.obj: has no faces; it begins as PLY does",
                 check_read(ply, sizeof ply - 1, "a.obj", &mesh));
    assert_fails(ABUT_ERROR_FORMAT, "a.obj: has no faces; it begins as a PNG picture does",
                 check_read("\x89PNG\r\n\x1a\n", 8, "a.obj", &mesh));
    assert_fails(ABUT_ERROR_FORMAT, "gzip does: unpack it",
                 check_read("\x1f\x8b\x08", 3, "a.stl", &mesh));
    assert_fails(ABUT_ERROR_UNSUPPORTED, "it begins as a ZIP archive does",
                 check_read("PK\3\4", 4, "a.3mf", &mesh));
    assert_fails(ABUT_ERROR_FORMAT, "a.obj: has no faces",
                 check_read("# ply\n", 6, "a.obj", &mesh));
    assert_null(strstr(abut_last_error(), "begins"));
}

/* A large file through the window, whose edges then fall anywhere, against the same from memory. */
TEST(windows_do_not_show) {
    AUTO(mesh) grid = check_grid(NULL, 120, false);
    static const char *const names[] = {"w.obj", "w.ply", "w.stl", "t.ply", "t.stl"};
    for (int i = 0; i < 5; i++) {
        abut_mesh_write_options options = abut_mesh_write_options_default();
        options.ascii = i >= 3;
        const char *path = test_path(names[i]);
        assert_ok(abut_mesh_write(grid, path, &options));
        size_t bytes;
        AUTO_FREE char *data = test_read_file(path, &bytes);
        assert_true(bytes > 2 * 256 * 1024);
        AUTO(mesh) a = NULL, *b = NULL;
        assert_ok(abut_mesh_read(NULL, path, NULL, &a));
        assert_ok(abut_mesh_read_memory(NULL, data, bytes, path, NULL, &b));
        check_equal(a, b);
        if (i < 2 || i == 3)
            check_equal(a, grid);
    }
}

/* A pipe: no size is known, and bytes come in small pieces. */
typedef struct pipe_job {
    const char *path, *from;
} pipe_job;

static void *feed(void *user) {
    const pipe_job *job = user;
    FILE *from = fopen(job->from, "rb");
    int to = open(job->path, O_WRONLY);
    char piece[1000];
    size_t count;
    while ((count = fread(piece, 1, sizeof piece, from)) > 0)
        if (write(to, piece, count) < 0)
            break;
    close(to);
    fclose(from);
    return NULL;
}

TEST(reads_a_pipe) {
    AUTO(mesh) grid = check_grid(NULL, 40, true);
    static const char *const names[] = {"p.obj", "p.ply", "p.stl", "q.ply", "q.stl"};
    for (int i = 0; i < 5; i++) {
        char from[1100], pipe_path[1100];
        snprintf(from, sizeof from, "%s", test_path(names[i]));
        snprintf(pipe_path, sizeof pipe_path, "%s", test_path("pipe"));
        abut_mesh_write_options write_options = abut_mesh_write_options_default();
        write_options.ascii = i >= 3;
        assert_ok(abut_mesh_write(grid, from, &write_options));
        assert_int_equal(0, mkfifo(pipe_path, 0600));
        pipe_job job = {pipe_path, from};
        pthread_t thread;
        assert_int_equal(0, pthread_create(&thread, NULL, feed, &job));
        AUTO(mesh) piped = NULL, *direct = NULL;
        /* the extension is unknown here; only a binary STL cannot be recognised by its first bytes
         */
        abut_mesh_read_options options =
            check_options(i == 2 ? ABUT_MESH_FORMAT_STL : ABUT_MESH_FORMAT_AUTO);
        assert_ok(abut_mesh_read(NULL, pipe_path, &options, &piped));
        pthread_join(thread, NULL);
        assert_ok(abut_mesh_read(NULL, from, NULL, &direct));
        check_equal(piped, direct);
        unlink(pipe_path);
    }
}

/* ---- memory ---- */

typedef struct memory_case {
    const void *data;
    size_t bytes;
    const char *name;
} memory_case;

static abut_status read_once(abut_context *context, void *user) {
    const memory_case *job = user;
    AUTO(mesh) mesh = NULL;
    abut_status status =
        job->data ? abut_mesh_read_memory(context, job->data, job->bytes, job->name, NULL, &mesh)
                  : abut_mesh_read(context, job->name, NULL, &mesh);
    assert_true(!status == !!mesh);
    return status;
}

TEST(any_allocation_may_fail) {
    static const char quads[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    memory_case cases[] = {{obj, sizeof obj - 1, "a.obj"},
                           {quads, sizeof quads - 1, "q.obj"},
                           {ply, sizeof ply - 1, "a.ply"},
                           {stl, sizeof stl - 1, "a.stl"},
                           {NULL, 0, NULL}};
    cases[4].name = test_file("m.obj", obj, sizeof obj - 1);
    for (int i = 0; i < 5; i++)
        assert_true(test_every_allocation(read_once, &cases[i]) >= 5);
    /* larger ones, whose lists and table grow */
    abut_mesh *grid = check_grid(NULL, 70, true);
    static const char *const names[] = {"g.obj", "g.ply", "g.stl"};
    for (int i = 0; i < 3; i++) {
        memory_case large = {NULL, 0, test_path(names[i])};
        assert_ok(abut_mesh_write(grid, large.name, NULL));
        assert_true(test_every_allocation(read_once, &large) >= 5);
    }
    abut_mesh_destroy(grid);
}

static void check_peak(const char *path, double most) {
    test_memory memory = {0};
    AUTO(context) context = test_context(&memory, 1);
    uint64_t before = memory.live_bytes;
    AUTO(mesh) mesh = NULL;
    assert_ok(abut_mesh_read(context, path, NULL, &mesh));
    double result = 24.0 * abut_mesh_vertex_count(mesh) + 12.0 * abut_mesh_triangle_count(mesh);
    double ratio = (double)(memory.peak_bytes - before) / result;
    print_message("%s: peak %.2f times the result\n", path, ratio);
    assert_true(ratio <= most);
    assert_true((double)(memory.live_bytes - before) <= result + 1000);
}

TEST(memory_stays_below_three_times_the_result) {
    abut_mesh *grid = check_grid(NULL, 300, true);
    static const char *const names[] = {"big.obj", "big.ply", "big.stl", "text.ply", "text.stl"};
    for (int i = 0; i < 5; i++) {
        abut_mesh_write_options options = abut_mesh_write_options_default();
        options.ascii = i >= 3;
        assert_ok(abut_mesh_write(grid, test_path(names[i]), &options));
        check_peak(test_path(names[i]), 3);
    }
    abut_mesh_destroy(grid);
    /* quads, and triangles that share nothing */
    enum { CELLS = 60000 };
    FILE *quads = fopen(test_path("quads.obj"), "w");
    for (int i = 0; i < CELLS; i++)
        fprintf(quads, "v %d 0 0\nv %d 1 0\n%s", i, i, i ? "f -4 -2 -1 -3\n" : "");
    fclose(quads);
    check_peak(test_path("quads.obj"), 3);
    FILE *soup = fopen(test_path("soup.stl"), "w");
    fprintf(soup, "solid\n");
    for (int i = 0; i < CELLS; i++)
        fprintf(soup,
                "facet normal 0 0 1 outer loop vertex %d 0 0 vertex %d 1 0 vertex %d 0 1 "
                "endloop endfacet\n",
                i, i, i);
    fprintf(soup, "endsolid\n");
    fclose(soup);
    check_peak(test_path("soup.stl"), 3);
}

/* A file must not make us take more memory than it has bytes for. */
TEST(a_lie_costs_nothing) {
    static const char *const lies[] = {
        "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty char "
        "x\nproperty "
        "char y\nproperty char z\nelement face 1400000000\nproperty list uchar uchar vertex_indices"
        "\nend_header\n\1\1\1\1\1\1",
        "ply\nformat binary_little_endian 1.0\nelement e 1\nproperty list uint double l\nelement "
        "vertex 1\nproperty char x\nproperty char y\nproperty char z\nelement face 1\nproperty "
        "list "
        "uchar uchar vertex_indices\nend_header\n\xff\xff\xff\xff\1\1\1\1\1\1\1\1\1\1\1\1\1"};
    for (int i = 0; i < 2; i++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, 1);
        abut_mesh *mesh = NULL;
        assert_int_equal(ABUT_ERROR_FORMAT, abut_mesh_read_memory(context, lies[i], strlen(lies[i]),
                                                                  "lie.ply", NULL, &mesh));
        assert_true(memory.peak_bytes < 2000000);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
}

/* ---- progress and log ---- */

typedef struct listener {
    uint32_t calls, stop_at, warnings;
    double last;
    char stage[200], message[400];
} listener;

static bool hear_progress(void *user, const char *stage, double fraction) {
    listener *ear = user;
    assert_true(fraction >= ear->last && fraction <= 1);
    ear->last = fraction;
    snprintf(ear->stage, sizeof ear->stage, "%s", stage);
    return ++ear->calls != ear->stop_at;
}

static void hear_log(void *user, abut_log_level level, const char *message) {
    listener *ear = user;
    ear->warnings += level == ABUT_LOG_WARNING;
    snprintf(ear->message, sizeof ear->message, "%s", message);
}

TEST(can_be_cancelled) {
    AUTO(mesh) grid = check_grid(NULL, 250, true);
    static const char *const names[] = {"c.obj", "c.ply", "c.stl"};
    for (int i = 0; i < 3; i++) {
        const char *path = test_path(names[i]);
        assert_ok(abut_mesh_write(grid, path, NULL));
        uint32_t all_calls = 0; /* the first of them, and some of the others */
        for (uint32_t stop = 0; stop <= all_calls; stop += stop < 3 ? 1 : all_calls / 8 + 1) {
            listener ear = {.stop_at = stop};
            AUTO(context) context = test_watched(hear_progress, &ear);
            abut_mesh *mesh = NULL;
            if (stop) {
                assert_fails(ABUT_ERROR_CANCELLED, names[i],
                             abut_mesh_read(context, path, NULL, &mesh));
                assert_null(mesh);
            } else {
                assert_ok(abut_mesh_read(context, path, NULL, &mesh));
                all_calls = ear.calls;
                assert_true(all_calls >= 2);
                assert_memory_equal("reading ", ear.stage, 8);
                assert_non_null(strstr(ear.stage, names[i]));
                abut_mesh_destroy(mesh);
            }
        }
    }
}

TEST(warns_of_huge_polygons) {
    listener ear = {0};
    AUTO(context) context = test_logged(hear_log, &ear);
    char text[20000] = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for (int face = 0; face < 2; face++) {
        strcat(text, "f 1");
        for (int i = 0; i < 512 + face; i++)
            strcat(text, " 2 3");
        strcat(text, "\n");
    }
    AUTO(mesh) mesh = NULL;
    assert_ok(abut_mesh_read_memory(context, text, strlen(text), "huge.obj", NULL, &mesh));
    assert_int_equal(1023 + 1025, abut_mesh_triangle_count(mesh));
    assert_int_equal(1, ear.warnings);
    assert_non_null(strstr(ear.message, "huge.obj: 2 faces"));
}

/* ---- threads ---- */

static void *read_many(void *user) {
    for (int i = 0; i < 20; i++) {
        abut_mesh *mesh = NULL;
        if (abut_mesh_read(NULL, user, NULL, &mesh))
            return user;
        abut_mesh_destroy(mesh);
        if (check_read("f 1\n", 4, user, &mesh) != ABUT_ERROR_FORMAT)
            return user;
    }
    return NULL;
}

TEST_THREADS(threads_may_read_at_once) {
    AUTO(mesh) grid = check_grid(NULL, 20, false);
    char path[1100];
    snprintf(path, sizeof path, "%s", test_path("shared.obj"));
    assert_ok(abut_mesh_write(grid, path, NULL));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, read_many, path));
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}
