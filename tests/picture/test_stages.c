/* The stages of the renderer, each against a plain slow method. */
#include "support/support.h"

#include "picture/picture.h"

#include <stdlib.h>

/* ---- a scene of random triangles straight on the screen ---- */

enum { TRIANGLES = 400, WIDTH = 150, HEIGHT = 110 };
static f3 screen[3 * TRIANGLES];
static uint32_t corners[3 * TRIANGLES], everything[TRIANGLES];

static picture_scene random_scene(uint64_t seed, bool small) {
    test_random random = {seed};
    for (uint32_t i = 0; i < TRIANGLES; i++) {
        double x = test_random_real(&random, -20, WIDTH + 20);
        double y = test_random_real(&random, -20, HEIGHT + 20);
        double size = small ? 6 : test_random_real(&random, 1, 150);
        everything[i] = i;
        for (uint32_t k = 0; k < 3; k++) {
            corners[3 * i + k] = 3 * i + k;
            screen[3 * i + k] = f3_make((float)(x + test_random_real(&random, -size, size)),
                                        (float)(y + test_random_real(&random, -size, size)),
                                        (float)test_random_real(&random, -1, 1));
        }
    }
    picture_scene scene = {.context = abuti_context_of(NULL),
                           .width = WIDTH,
                           .height = HEIGHT,
                           .screen = screen,
                           .corners = corners,
                           .vertex_count = 3 * TRIANGLES,
                           .triangle_count = TRIANGLES};
    abuti_raster_size(&scene.lens, WIDTH, HEIGHT, COVER_BITS);
    return scene;
}

TEST(bins_hold_what_touches_them) {
    for (uint64_t seed = 1; seed <= 6; seed++) {
        picture_scene scene = random_scene(seed, seed % 2);
        bins b;
        assert_ok(abuti_bins_create(&scene, TRIANGLES, everything, abuti_triangle_box, &b));
        assert_true(b.columns == 5 && b.rows == 4);
        for (size_t tile = 0; tile < b.columns * b.rows; tile++) {
            static bool found[TRIANGLES];
            memset(found, 0, sizeof found);
            uint32_t last = 0;
            bool first = true;
            for (bin_iterator walk = abuti_bins_begin(&b, tile); bin_has_next(&walk);) {
                uint32_t i = bin_next(&walk);
                assert_true(first || i > last);
                first = false;
                last = i;
                found[i] = true;
            }
            float left = (float)(tile % b.columns * TILE), top = (float)(tile / b.columns * TILE);
            for (uint32_t i = 0; i < TRIANGLES; i++) {
                float box[4];
                abuti_triangle_box(&scene, i, box);
                if (box[0] < left + TILE && box[2] > left && box[1] < top + TILE && box[3] > top &&
                    box[0] < WIDTH && box[1] < HEIGHT)
                    assert_true(found[i]);
            }
        }
        abuti_bins_destroy(scene.context, &b);
    }
}

/* The slow way: every sample against every triangle, in doubles. Returns the nearest triangle at
 * (x, y); *doubtful where an edge or a second depth is too close to call. */
static uint32_t nearest_at(double x, double y, bool *doubtful) {
    uint32_t best = NO_TRIANGLE;
    double best_q = -1e300, second_q = -1e300;
    for (uint32_t i = 0; i < TRIANGLES; i++) {
        const f3 *v = screen + 3 * i;
        double e[3], area = 0;
        for (int k = 0; k < 3; k++) {
            f3 p = v[(k + 1) % 3], q = v[(k + 2) % 3];
            double dx = (double)q.x - (double)p.x, dy = (double)q.y - (double)p.y;
            e[k] = dx * (y - (double)p.y) - dy * (x - (double)p.x);
            area += e[k];
            if (fabs(e[k]) < 1e-3 * hypot(dx, dy))
                *doubtful = true;
        }
        if ((e[0] > 0) != (area > 0) || (e[1] > 0) != (area > 0) || (e[2] > 0) != (area > 0))
            continue;
        double q = (e[0] * (double)v[0].z + e[1] * (double)v[1].z + e[2] * (double)v[2].z) / area;
        if (fabs(area) < 1)
            *doubtful = true;
        if (q > best_q) {
            second_q = best_q;
            best_q = q;
            best = i;
        } else if (q > second_q) {
            second_q = q;
        }
    }
    if (best != NO_TRIANGLE && best_q - second_q < 1e-3)
        *doubtful = true;
    return best;
}

TEST(rasters_agree_with_the_slow_way) {
    static visibility seen;
    size_t compared = 0, covered = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        picture_scene scene = random_scene(seed, seed % 2);
        int left = 32 * (int)(seed % 3), top = 32 * (int)(seed % 2);
        float middle[TILE_PIXELS];
        for (int i = 0; i < TILE_PIXELS; i++) {
            middle[i] = EMPTY_DEPTH;
            for (int k = 0; k < SAMPLES; k++) {
                seen.depth[i][k] = EMPTY_DEPTH;
                seen.triangle[i][k] = NO_TRIANGLE;
            }
        }
        static cover_setup setups[TRIANGLES];
        static bool visible[TRIANGLES];
        for (uint32_t i = 0; i < TRIANGLES; i++) {
            visible[i] = abuti_cover_triangle(&scene, i, left, top, &setups[i]);
            if (visible[i]) {
                abuti_cover_visible(&setups[i], i, &seen);
                abuti_cover_middle(&setups[i], middle);
            }
        }
        for (int i = 0; i < TILE_PIXELS; i += 3) {
            int x = i % TILE, y = i / TILE;
            bool doubtful = false;
            uint32_t best = nearest_at(left + x + 0.5, top + y + 0.5, &doubtful);
            assert_true(doubtful || (best == NO_TRIANGLE) == (middle[i] == EMPTY_DEPTH));
            for (int k = 0; k < SAMPLES; k++) {
                doubtful = false;
                best = nearest_at(left + x + (double)SAMPLE_X(k), top + y + (double)SAMPLE_Y(k),
                                  &doubtful);
                if (doubtful)
                    continue;
                assert_int_equal(best, seen.triangle[i][k]);
                compared++;
                covered += best != NO_TRIANGLE;
                if (best != NO_TRIANGLE) { /* the mask says the same, one triangle at a time */
                    float behind[SAMPLES];
                    for (int j = 0; j < SAMPLES; j++)
                        behind[j] = EMPTY_DEPTH;
                    assert_true(visible[best]);
                    assert_true(abuti_cover_mask(&setups[best], x, y, behind) >> k & 1);
                }
            }
        }
    }
    assert_true(compared > 15000 && covered > 4000 && covered < compared);
}

/* A jittered grid as a soup that shares no vertices: every sample inside belongs to exactly one. */
TEST(neighbours_leave_no_holes) {
    enum { N = 14 };
    static f3 grid[N + 1][N + 1];
    static unsigned hits[TILE_PIXELS][SAMPLES];
    test_random random = {3};
    for (int round = 0; round < 20; round++) {
        memset(hits, 0, sizeof hits);
        for (int y = 0; y <= N; y++) /* by no more than half of what would turn a triangle over */
            for (int x = 0; x <= N; x++)
                grid[y][x] =
                    f3_make((float)(3.0 * x - 4 + test_random_real(&random, -0.74, 0.74)),
                            (float)(3.0 * y - 4 + test_random_real(&random, -0.74, 0.74)), 0);
        if (round % 2) /* vertices and edges exactly on samples */
            for (int y = 0; y <= N; y++)
                for (int x = 0; x <= N; x++)
                    grid[y][x] = f3_make((float)(3 * x - 4) + SAMPLE_X(round % 16),
                                         (float)(3 * y - 4) + SAMPLE_Y(round % 16), 0);
        picture_scene scene = {.screen = screen, .corners = corners};
        abuti_raster_size(&scene.lens, WIDTH, HEIGHT, COVER_BITS);
        for (uint32_t i = 0; i < 3; i++)
            corners[i] = i;
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++)
                for (int half = 0; half < 2; half++) {
                    screen[0] = grid[y][x];
                    screen[1] = half ? grid[y + 1][x + 1] : grid[y][x + 1];
                    screen[2] = half ? grid[y + 1][x] : grid[y + 1][x + 1];
                    cover_setup setup;
                    if (!abuti_cover_triangle(&scene, 0, 0, 0, &setup))
                        continue;
                    float behind[SAMPLES];
                    for (int k = 0; k < SAMPLES; k++)
                        behind[k] = EMPTY_DEPTH;
                    for (int j = setup.y0; j <= setup.y1; j++)
                        for (int i = setup.x0; i <= setup.x1; i++) {
                            unsigned mask = abuti_cover_mask(&setup, i, j, behind);
                            for (int k = 0; k < SAMPLES; k++)
                                hits[j * TILE + i][k] += mask >> k & 1;
                        }
                }
        for (int i = 0; i < TILE_PIXELS; i++)
            for (int k = 0; k < SAMPLES; k++)
                assert_int_equal(1, hits[i][k]);
    }
}

/* Corners as far out as they may be: lanes of 32 bits give the result of 64 bits. */
TEST(large_triangles_do_not_overflow) {
    static visibility seen;
    test_random random = {11};
    size_t parts = 0;
    for (int round = 0; round < 300; round++) {
        uint32_t size = round % 3 ? 16384 : 1u << test_random_below(&random, 15);
        picture_scene scene = {.screen = screen, .corners = corners};
        abuti_raster_size(&scene.lens, size, size, COVER_BITS);
        int tile = (int)test_random_below(&random, (size + TILE - 1) / TILE) * TILE;
        for (uint32_t k = 0; k < 3; k++) {
            double guard = scene.lens.guard * 0.9999, x = test_random_real(&random, -guard, guard);
            corners[k] = k;
            screen[k] = f3_make((float)(round % 2 ? copysign(guard, x) : x),
                                (float)test_random_real(&random, -guard, guard), 0);
        }
        screen[0] = f3_make((float)(tile + test_random_real(&random, 0, 32)),
                            (float)(tile + test_random_real(&random, 0, 32)), 1);
        cover_setup setup;
        if (!abuti_cover_triangle(&scene, 0, tile, tile, &setup))
            continue;
        memset(&seen.triangle, 0xff, sizeof seen.triangle);
        for (int i = 0; i < TILE_PIXELS; i++)
            for (int k = 0; k < SAMPLES; k++)
                seen.depth[i][k] = EMPTY_DEPTH;
        abuti_cover_visible(&setup, 0, &seen);
        float behind[SAMPLES];
        for (int k = 0; k < SAMPLES; k++)
            behind[k] = EMPTY_DEPTH;
        for (int y = setup.y0; y <= setup.y1; y++)
            for (int x = setup.x0; x <= setup.x1; x++) {
                unsigned mask = abuti_cover_mask(&setup, x, y, behind);
                parts += mask && mask != 0xffff;
                for (int k = 0; k < SAMPLES; k++)
                    assert_int_equal(mask >> k & 1, seen.triangle[y * TILE + x][k] == 0);
            }
    }
    assert_true(parts > 1000);
}

/* ---- marks ---- */

/* The slow way: every sample of the tile against every mark, in doubles. */
TEST(marks_agree_with_the_slow_way) {
    enum { MARKS = 60 };
    static scene_mark marks[MARKS];
    static visibility nothing;
    static mark_layer layer;
    test_random random = {9};
    for (int round = 0; round < 20; round++) {
        picture_scene scene = {.context = abuti_context_of(NULL),
                               .width = WIDTH,
                               .height = HEIGHT,
                               .marks = marks,
                               .mark_count = MARKS};
        for (int i = 0; i < MARKS; i++) {
            float *ends[2] = {&marks[i].from.x, &marks[i].to.x};
            for (int k = 0; k < 2; k++) {
                ends[k][0] = (float)test_random_real(&random, -30, WIDTH + 30);
                ends[k][1] = (float)test_random_real(&random, -30, HEIGHT + 30);
                ends[k][2] = (float)test_random_real(&random, -1, 1);
            }
            if (i % 5 == 0)
                marks[i].to.y = marks[i].from.y; /* along a row */
            if (i % 5 == 1)
                marks[i].to.x = marks[i].from.x;
            marks[i].radius = (float)test_random_real(&random, 0.2, i % 9 ? 3 : 12);
        }
        for (int i = 0; i < TILE_PIXELS; i++)
            for (int k = 0; k < SAMPLES; k++)
                nothing.triangle[i][k] = NO_TRIANGLE;
        bins b;
        assert_ok(abuti_bins_create(&scene, MARKS, NULL, abuti_marks_box, &b));
        size_t tile = (size_t)(round % 12);
        int left = (int)(tile % b.columns) * TILE, top = (int)(tile / b.columns) * TILE;
        abuti_marks_find(&scene, &b, tile, left, top, &nothing, &layer);
        for (int pixel = 0; pixel < TILE_PIXELS; pixel++)
            for (int k = 0; k < SAMPLES; k++) {
                double x = left + pixel % TILE + (double)SAMPLE_X(k), best_q = -1e300;
                double y = top + pixel / TILE + (double)SAMPLE_Y(k), second_q = -1e300;
                uint32_t best = NO_TRIANGLE;
                bool doubtful = false;
                for (uint32_t i = 0; i < MARKS; i++) {
                    const scene_mark *m = &marks[i];
                    vec3 from = v3((double)m->from.x, (double)m->from.y, 0);
                    vec3 along = v3_sub(v3((double)m->to.x, (double)m->to.y, 0), from);
                    vec3 to_sample = v3_sub(v3(x, y, 0), from);
                    double t = real_clamp(v3_dot(to_sample, along) / v3_length_sq(along), 0, 1);
                    double far = v3_length(v3_along(to_sample, -t, along)) - (double)m->radius;
                    doubtful = doubtful || fabs(far) < 1e-3;
                    double q = (double)m->from.z + t * ((double)m->to.z - (double)m->from.z);
                    if (far < 0 && q > best_q) {
                        second_q = best_q;
                        best_q = q;
                        best = i;
                    } else if (far < 0 && q > second_q) {
                        second_q = q;
                    }
                }
                doubtful = doubtful || (best != NO_TRIANGLE && best_q - second_q < 1e-3);
                if (!doubtful && x < WIDTH && y < HEIGHT)
                    assert_int_equal(best, layer.mark[pixel][k]);
            }
        abuti_bins_destroy(scene.context, &b);
    }
}

/* ---- normals ---- */

/* A cone of many faces around one place: one smooth group, whatever the number of corners. */
TEST(crowded_places_are_smooth_too) {
    for (uint32_t n = 20; n <= 2000; n *= 10) {
        abut_mesh_input input = abut_mesh_input_default();
        input.position_type = ABUT_SCALAR_FLOAT64;
        AUTO_FREE double *p = malloc((n + 1) * 3 * sizeof *p);
        AUTO_FREE uint32_t *t = malloc(n * 3 * sizeof *t);
        f3 *faces = malloc(n * sizeof *faces), *normals = malloc(3 * n * sizeof *normals);
        AUTO_FREE uint8_t *creases = malloc(3 * n);
        assert_true(p && t && faces && normals && creases);
        p[0] = p[1] = 0;
        p[2] = 0.5;
        for (uint32_t i = 0; i < n; i++) {
            double a = 6.283185307179586 * i / n;
            p[3 * i + 3] = cos(a);
            p[3 * i + 4] = sin(a);
            p[3 * i + 5] = 0;
            t[3 * i] = 0;
            t[3 * i + 1] = 1 + i;
            t[3 * i + 2] = 1 + (i + 1) % n;
            double middle = a + 3.141592653589793 / n;
            faces[i] =
                f3_normalise(f3_make((float)(0.5 * cos(middle)), (float)(0.5 * sin(middle)), 1));
        }
        input.positions = p;
        input.vertex_count = n + 1;
        input.indices = t;
        input.triangle_count = n;
        AUTO(mesh) mesh = NULL;
        assert_ok(abut_mesh_create(NULL, &input, &mesh));
        assert_ok(abuti_corner_normals(abuti_context_of(NULL), mesh, faces, creases, normals));
        for (uint32_t i = 0; i < n; i++) {
            assert_true(normals[3 * i].z > 0.9999f); /* the tip */
            assert_true(creases[3 * i] && !creases[3 * i + 1] && !creases[3 * i + 2]);
            assert_true(f3_dot(normals[3 * i + 1], faces[i]) > 0.97f);
            assert_memory_equal(&normals[3 * i + 2], &normals[3 * ((i + 1) % n) + 1], sizeof(f3));
        }
        free(faces);
        free(normals);
    }
}

/* ---- camera ---- */

TEST(places_come_back_from_the_screen) {
    static const double fields[] = {-1, 0.001, 30, 120};
    test_random random = {5};
    for (int i = 0; i < 40; i++) {
        abut_picture_options options = abut_picture_options_default();
        options.field_of_view = fields[i % 4];
        for (int k = 0; k < 3; k++)
            (&options.eye_direction.x)[k] = test_random_real(&random, -1, 1);
        AUTO(picture) picture = NULL;
        assert_ok(abut_picture_create(NULL, &options, &picture));
        abut_vec3 places[20];
        for (int k = 0; k < 20; k++) {
            places[k] =
                (abut_vec3){test_random_real(&random, 90, 110), test_random_real(&random, 5, 9),
                            test_random_real(&random, -10, 30)};
            assert_ok(abut_picture_add_point(picture, places[k], 1, (abut_colour){0}));
        }
        picture_camera camera;
        assert_ok(abuti_camera_frame(picture, &camera));
        unprojection back = abuti_camera_back(&camera);
        for (int k = 0; k < 20; k++) {
            vec3 p = abuti_camera_point(&camera, places[k]);
            f3 on_screen = camera_project(&camera, p);
            f3 again = unproject(&back, on_screen.x, on_screen.y, on_screen.z);
            assert_true(on_screen.x >= 0 && on_screen.x <= 960);
            assert_true(on_screen.y >= 0 && on_screen.y <= 720);
            assert_true(fabs(p.x - (double)again.x) < 1e-4 && fabs(p.y - (double)again.y) < 1e-4);
            assert_true(fabs(p.z - (double)again.z) < 1e-4);
        }
    }
}
