/* abut-cinder: how many pixels of a dense mesh CInDeR wrongly reports as inside the mesh itself
 * (Malmsten and Klasen 2005, section 4.3.1, figure 14), and what filtering, prevention and offset
 * edges change. Prints an object of JSON; exit code 2 for wrong usage or an error. */
#include "cinder.h"
#include "critter.h"

#include <abut/picture.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: abut-cinder [MODEL [PICTURE]]\n"
    "  MODEL    a closed mesh; without one, or '-', a critter of 16,000 triangles\n"
    "  PICTURE  .png or .ppm: the mesh with its edges, and the pixels that are wrong\n";

enum { SIDE = 512, FIGURE = 450 /* pixels of the image of figure 14, as large as the picture */ };
#define CRITTER_DETAIL 1.5
static const abut_vec3 view = {-0.5, 1, -0.4};
static const double offsets[] = {0.25, 1, 4, 16}; /* in pixel sizes */

#define TRY(call)                       \
    do {                                \
        const abut_status tried = call; \
        if (tried)                      \
            return tried;               \
    } while (0)

/* ---- what is counted ---- */

/* Pixels that report solid 0 inside solid 1 or the other way round. */
static uint64_t count_pair(const cinder_report *report) {
    uint64_t count = 0;
    for (size_t i = 0; i < (size_t)report->width * report->height; i++)
        count += report->image[i] == (1u << 16 | 2) || report->image[i] == (2u << 16 | 1);
    return count;
}

/* The caller releases the image of the report. */
static abut_status run(const abut_collider *solids, uint32_t count, const cinder_options *options,
                       cinder_report *report) {
    abut_world_pair *pairs = NULL;
    uint64_t pair_count;
    TRY(cinder_find(NULL, solids, count, view, options, &pairs, &pair_count, report));
    abut_context_free(NULL, pairs);
    return ABUT_OK;
}

static abut_status count_self(abut_mesh *mesh, const cinder_options *options,
                              cinder_report *report) {
    const abut_collider solid = abut_collider_from_mesh(mesh, abut_pose_identity());
    TRY(run(&solid, 1, options, report));
    abut_context_free(NULL, report->image);
    report->image = NULL;
    return ABUT_OK;
}

/* A ball of a tenth of the size of the mesh, about its vertex nearest to the eye. */
static abut_status make_ball(const abut_mesh *mesh, abut_mesh **ball, abut_pose *pose) {
    const abut_box box = abut_mesh_bounds(mesh);
    const abut_vec3 *p = abut_mesh_local_positions(mesh), origin = abut_mesh_local_origin(mesh);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    double nearest = INFINITY;
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        const double depth = view.x * p[i].x + view.y * p[i].y + view.z * p[i].z;
        if (depth < nearest) {
            nearest = depth;
            pose->translation =
                (abut_vec3){p[i].x + origin.x, p[i].y + origin.y, p[i].z + origin.z};
        }
    }
    shape.radius = 0.1 * fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    shape.segments = 4;
    return abut_shape_create(NULL, &shape, ball);
}

/* Pixels of a true pair: the mesh and a ball, filtered and prevented. */
static abut_status count_hidden(abut_mesh *mesh, uint64_t pixels[2]) {
    abut_mesh *ball;
    abut_pose pose = abut_pose_identity();
    TRY(make_ball(mesh, &ball, &pose));
    const abut_collider solids[] = {abut_collider_from_mesh(mesh, abut_pose_identity()),
                                    abut_collider_from_mesh(ball, pose)};
    abut_status status = ABUT_OK;
    for (int prevent = 0; prevent < 2 && !status; prevent++) {
        const cinder_options options = {.resolution = SIDE, .prevent = prevent};
        cinder_report report = {0};
        status = run(solids, 2, &options, &report);
        if (!status)
            pixels[prevent] = count_pair(&report);
        abut_context_free(NULL, report.image);
    }
    abut_mesh_destroy(ball);
    return status;
}

static abut_status print_counts(abut_mesh *mesh) {
    cinder_options options = {.resolution = SIDE};
    cinder_report report, prevented;
    uint64_t pair[2];
    TRY(count_self(mesh, &options, &report));
    options.prevent = true;
    TRY(count_self(mesh, &options, &prevented));
    TRY(count_hidden(mesh, pair));
    printf("{\"triangles\": %u, \"edge_pixels\": %llu, \"self_pixels\": %llu, "
           "\"prevented_self_pixels\": %llu,\n \"ball_pixels\": {\"filtered\": %llu, "
           "\"prevented\": %llu},\n \"offsets\": [",
           abut_mesh_triangle_count(mesh), (unsigned long long)report.edge_pixels,
           (unsigned long long)report.self_pixels, (unsigned long long)prevented.self_pixels,
           (unsigned long long)pair[0], (unsigned long long)pair[1]);
    options.prevent = false;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        options.offset = offsets[i];
        TRY(count_self(mesh, &options, &report));
        printf("%s{\"pixels\": %g, \"self_pixels\": %llu}", i ? ", " : "", offsets[i],
               (unsigned long long)report.self_pixels);
    }
    printf("]}\n");
    return ABUT_OK;
}

/* ---- figure 14 ---- */

/* The mesh with its edges, in the left half. */
static abut_status draw_mesh(abut_mesh *mesh, uint8_t *pixels) {
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture;
    camera.width = camera.height = SIDE;
    camera.eye_direction = (abut_vec3){-view.x, -view.y, -view.z};
    camera.field_of_view = -1;
    camera.background = (abut_colour){1, 1, 1, 1};
    style.colour = (abut_colour){0.80f, 0.62f, 0.42f, 1};
    style.edges = true;
    uint8_t *half = malloc((size_t)4 * SIDE * SIDE);
    abut_status status = half ? abut_picture_create(NULL, &camera, &picture) : ABUT_ERROR_MEMORY;
    if (!status) {
        status = abut_picture_add_mesh(picture, mesh, abut_pose_identity(), &style);
        if (!status)
            status = abut_picture_render(picture, (size_t)4 * SIDE * SIDE, half);
        abut_picture_destroy(picture);
    }
    for (size_t y = 0; y < SIDE && !status; y++)
        memcpy(pixels + 8 * SIDE * y, half + 4 * SIDE * y, (size_t)4 * SIDE);
    free(half);
    return status;
}

/* Its pixels inside itself, in the right half. */
static void draw_self(const cinder_report *report, uint8_t *pixels) {
    const uint32_t left = (SIDE - report->width) / 2, top = (SIDE - report->height) / 2;
    for (uint32_t y = 0; y < report->height; y++)
        for (uint32_t x = 0; x < report->width; x++) {
            const uint32_t colour = report->image[(size_t)y * report->width + x];
            uint8_t *to = pixels + 4 * ((size_t)2 * SIDE * (top + y) + SIDE + left + x);
            if (colour && colour >> 16 == (colour & 0xffff))
                memcpy(to, (const uint8_t[]){140, 25, 190, 255}, 4);
        }
}

static abut_status draw_figure(abut_mesh *mesh, const char *path) {
    const abut_collider solid = abut_collider_from_mesh(mesh, abut_pose_identity());
    const cinder_options options = {.resolution = FIGURE};
    cinder_report report;
    uint8_t *pixels = malloc((size_t)8 * SIDE * SIDE);
    if (!pixels)
        return ABUT_ERROR_MEMORY;
    memset(pixels, 255, (size_t)8 * SIDE * SIDE);
    abut_status status = run(&solid, 1, &options, &report);
    if (!status) {
        draw_self(&report, pixels);
        abut_context_free(NULL, report.image);
        status = draw_mesh(mesh, pixels);
    }
    if (!status)
        status = abut_picture_write_pixels(NULL, path, pixels, 2 * SIDE, SIDE);
    free(pixels);
    return status;
}

int main(int count, char **words) {
    abut_mesh *mesh = NULL;
    if (count > 3 || (count > 1 && words[1][0] == '-' && words[1][1])) {
        fputs(usage, stderr);
        return 2;
    }
    abut_status status = count > 1 && strcmp(words[1], "-") != 0
                             ? abut_mesh_read(NULL, words[1], NULL, &mesh)
                             : critter_create(NULL, CRITTER_DETAIL, &mesh);
    if (!status)
        status = print_counts(mesh);
    if (!status && count > 2)
        status = draw_figure(mesh, words[2]);
    abut_mesh_destroy(mesh);
    if (status)
        fprintf(stderr, "abut-cinder: %s\n", abut_last_error());
    return status ? 2 : 0;
}
