/* The floor under the scene and the shadow on it.
 *
 * The floor itself is visible only by its shadow. Everything is projected along the key light onto
 * a square map of the floor, as coverage and as height of the occluder. Blurred copies of the
 * coverage represent shadows of occluders at several heights; at each point the mean height around
 * it selects between them. A shadow is therefore sharp at the contact and soft away from it.
 */
#include "picture/picture.h"

#include <string.h>

enum { SIDE = 512, LEVELS = 4, ROWS_PER_TASK = 32 };

/* Blur radius of each level in cells. Three box blurs of radius r approximate a Gaussian with the
 * standard deviation sqrt(r (r + 1)). */
static const int level_radius[LEVELS] = {1, 5, 14, 32};
#define PENUMBRA 0.22f          /* blur per unit of height: the key light is a large area light */
#define FLOOR_DISTANCE_MAX 40.0 /* the floor ends at this distance */

struct shadow {
    f3 along[2]; /* axes of the map, camera coordinates */
    float corner[2], cell;
    float height[SIDE * SIDE];
    float level[LEVELS][SIDE * SIDE];
};

float abuti_floor_depth(const picture_scene *s, float x, float y) {
    const picture_camera *c = &s->camera;
    vec3 n = m3_apply(&c->axes, c->world_up);
    f3 at = unproject(&s->back, x, y, 0);
    vec3 p = v3(at.x, at.y, 0);
    if (!(c->distance > 0)) {
        double z = n.z != 0 ? (c->floor - v3_dot(n, p)) / n.z : -DBL_MAX;
        return fabs(z) < FLOOR_DISTANCE_MAX ? (float)z : EMPTY_DEPTH;
    }
    vec3 eye = v3(c->eye_x, c->eye_y, c->distance), ray = v3_sub(p, eye);
    double t = (c->floor - v3_dot(n, eye)) / v3_dot(n, ray);
    double z = c->distance - t * c->distance;
    if (!(t > 0.01 &&
          z > -FLOOR_DISTANCE_MAX)) /* nor directly in front of the eye, where q becomes large */
        return EMPTY_DEPTH;
    return (float)(c->distance * z / (c->distance - z));
}

/* ---- rendering of the map ---- */

typedef struct map_job {
    const picture_scene *scene;
    struct shadow *shadow;
    f3 *places; /* by vertex: two map coordinates and the height above the floor */
} map_job;

static void map_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const map_job *j = data;
    const picture_scene *s = j->scene;
    f3 n = f3_of(m3_apply(&s->camera.axes, s->camera.world_up)), l = abuti_key_light();
    float floor = (float)s->camera.floor;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        f3 p = unproject(&s->back, s->screen[i].x, s->screen[i].y, s->screen[i].z);
        float height = f3_dot(n, p) - floor;
        p = f3_sub(p, f3_scale(l, height / f3_dot(n, l)));
        j->places[i] = f3_make(f3_dot(p, j->shadow->along[0]), f3_dot(p, j->shadow->along[1]),
                               float_max(height, 0));
    }
}

/* Fits the map to the projections of all corners, with a margin for the blur, and converts these to
 * cells.
 */
static void fit_map(const map_job *j) {
    struct shadow *shadow = j->shadow;
    float lo[2] = {FLT_MAX, FLT_MAX}, hi[2] = {-FLT_MAX, -FLT_MAX};
    for (size_t i = 0; i < 3 * j->scene->triangle_count; i++) {
        f3 p = j->places[j->scene->corners[i]];
        lo[0] = float_min(lo[0], p.x);
        hi[0] = float_max(hi[0], p.x);
        lo[1] = float_min(lo[1], p.y);
        hi[1] = float_max(hi[1], p.y);
    }
    float extent = float_max(float_max(hi[0] - lo[0], hi[1] - lo[1]), 1e-3f);
    shadow->cell = extent / (float)(SIDE - 2 * 3 * level_radius[LEVELS - 1] - 2);
    for (int k = 0; k < 2; k++)
        shadow->corner[k] = 0.5f * (lo[k] + hi[k]) - 0.5f * SIDE * shadow->cell;
    float inverse = 1 / shadow->cell;
    for (size_t i = 0; i < j->scene->vertex_count; i++) {
        j->places[i].x = (j->places[i].x - shadow->corner[0]) * inverse;
        j->places[i].y = (j->places[i].y - shadow->corner[1]) * inverse;
    }
}

/* Draws a triangle into some rows: cells whose centre it covers. Transparent triangles cast a
 * weaker shadow. */
static void map_triangle(const map_job *j, const raster_lens *lens, uint32_t triangle,
                         raster_rect rows) {
    struct shadow *shadow = j->shadow;
    const uint32_t *corner = j->scene->corners + 3 * (size_t)triangle;
    f3 a = j->places[corner[0]], b = j->places[corner[1]], c = j->places[corner[2]];
    cover_setup setup;
    if (float_max(a.y, float_max(b.y, c.y)) < (float)rows.y0 ||
        float_min(a.y, float_min(b.y, c.y)) > (float)(rows.y1 + 1) ||
        !abuti_cover_setup(lens, a, b, c, rows, &setup))
        return;
    float alpha = triangle_paint_of(j->scene, triangle).alpha;
    float weighted = alpha * (a.z + b.z + c.z) / 3; /* height, weighted for the blur */
    for (int y = setup.y0; y <= setup.y1; y++)
        for (int x = setup.x0; x <= setup.x1; x++) {
            if (!raster_covers(setup.side, x, y))
                continue;
            size_t at = (size_t)(y + rows.y0) * SIDE + (size_t)x;
            if (shadow->level[0][at] == 0 || weighted < shadow->height[at])
                shadow->height[at] = weighted;
            shadow->level[0][at] = float_max(shadow->level[0][at], alpha);
        }
}

static void map_rows(void *data, size_t chunk, size_t begin, size_t end) {
    const map_job *j = data;
    raster_lens lens = {0};
    (void)chunk;
    abuti_raster_size(&lens, SIDE, SIDE, COVER_BITS);
    for (size_t t = 0; t < j->scene->triangle_count; t++)
        map_triangle(j, &lens, (uint32_t)t, (raster_rect){0, (int)begin, SIDE - 1, (int)end - 1});
}

/* ---- blur ---- */

static void blur_line(float *line, size_t stride, int radius) {
    float copy[SIDE + 2 * 32] = {0}, sum = 0; /* padded with zeros */
    float share = 1 / (float)(2 * radius + 1);
    for (int i = 0; i < SIDE; i++)
        copy[i + radius] = line[(size_t)i * stride];
    for (int i = 0; i < 2 * radius; i++)
        sum += copy[i];
    for (int i = 0; i < SIDE; i++) {
        sum += copy[i + 2 * radius];
        line[(size_t)i * stride] = sum * share;
        sum -= copy[i];
    }
}

/* Map LEVELS is the height. */
static void blur_maps(void *data, size_t chunk, size_t begin, size_t end) {
    struct shadow *shadow = data;
    (void)chunk;
    for (size_t k = begin; k < end; k++) {
        float *map = k < LEVELS ? shadow->level[k] : shadow->height;
        int radius = level_radius[k < LEVELS ? k : LEVELS - 1];
        for (int pass = 0; pass < 3; pass++) {
            for (int i = 0; i < SIDE; i++)
                blur_line(map + i * SIDE, 1, radius);
            for (int i = 0; i < SIDE; i++)
                blur_line(map + i, SIDE, radius);
        }
    }
}

/* The height map becomes the mean height of the occluders of the cell and its surroundings. */
static void blur_levels(abut_context *context, struct shadow *shadow) {
    for (int k = 1; k < LEVELS; k++)
        memcpy(shadow->level[k], shadow->level[0], sizeof shadow->level[0]);
    abuti_parallel_for(context, LEVELS + 1, 1, blur_maps, shadow);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        shadow->height[i] /= float_max(shadow->level[LEVELS - 1][i], 1e-6f);
}

abut_status abuti_shadow_create(picture_scene *s) {
    map_job j = {.scene = s};
    j.shadow = abuti_allocate_zeroed(s->context, 1, sizeof *j.shadow);
    j.places = abuti_allocate(s->context, s->vertex_count, sizeof *j.places);
    s->shadow = j.shadow; /* the scene releases it in all cases */
    if (!j.shadow || !j.places) {
        abuti_release(s->context, j.places);
        return ABUT_ERROR_MEMORY;
    }
    vec3 n = m3_apply(&s->camera.axes, s->camera.world_up);
    vec3 side = fabs(n.x) < 0.9 ? v3(1, 0, 0) : v3(0, 1, 0);
    vec3 first = v3_normalise(v3_cross(n, side));
    j.shadow->along[0] = f3_of(first);
    j.shadow->along[1] = f3_of(v3_cross(n, first));
    abuti_parallel_for(s->context, s->vertex_count, 16384, map_vertices, &j);
    fit_map(&j);
    abuti_parallel_for(s->context, SIDE, ROWS_PER_TASK, map_rows, &j);
    abuti_release(s->context, j.places);
    blur_levels(s->context, j.shadow);
    return ABUT_OK;
}

void abuti_shadow_destroy(abut_context *context, struct shadow *shadow) {
    abuti_release(context, shadow);
}

/* ---- lookup ---- */

static float interpolate_map(const float *map, float x, float y) {
    int ix = (int)x, iy = (int)y;
    float fx = x - (float)ix, fy = y - (float)iy;
    const float *at = map + iy * SIDE + ix;
    float upper = at[0] + fx * (at[1] - at[0]), lower = at[SIDE] + fx * (at[SIDE + 1] - at[SIDE]);
    return upper + fy * (lower - upper);
}

float abuti_shadow_at(const struct shadow *shadow, f3 place) {
    float x = (f3_dot(place, shadow->along[0]) - shadow->corner[0]) / shadow->cell - 0.5f;
    float y = (f3_dot(place, shadow->along[1]) - shadow->corner[1]) / shadow->cell - 0.5f;
    if (!(x > 0 && y > 0 && x < SIDE - 2 && y < SIDE - 2))
        return 0;
    float wanted = PENUMBRA * interpolate_map(shadow->height, x, y) / shadow->cell;
    int k = 0;
    while (k < LEVELS - 2 && wanted > (float)level_radius[k + 1])
        k++;
    float t = (wanted - (float)level_radius[k]) / (float)(level_radius[k + 1] - level_radius[k]);
    float finer = interpolate_map(shadow->level[k], x, y),
          softer = interpolate_map(shadow->level[k + 1], x, y);
    return finer + float_clamp(t, 0, 1) * (softer - finer);
}
