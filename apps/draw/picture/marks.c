/* Lines and points within a tile. For each sample, the nearest line or point in front of the
 * surfaces, and the nearest one behind them, which is drawn faintly. Both are found before anything
 * is drawn, so that overlapping ends of lines do not become darker.
 */
#include "picture/picture.h"

#include <string.h>

#define HIDDEN_OPACITY 0.28f /* opacity behind a surface */
#define DEPTH_TOLERANCE \
    0.004f /* depth tolerance of lines on a surface, relative to the size of the scene */
#define RIM_FRACTION 0.16f /* fraction of the radius of a point that its rim takes */

void abuti_marks_box(const picture_scene *scene, uint32_t mark, float box[4]) {
    const scene_mark *m = &scene->marks[mark];
    box[0] = float_min(m->from.x, m->to.x) - m->radius;
    box[1] = float_min(m->from.y, m->to.y) - m->radius;
    box[2] = float_max(m->from.x, m->to.x) + m->radius;
    box[3] = float_max(m->from.y, m->to.y) + m->radius;
}

/* Squared distance from the axis on the screen, and the nearness there. */
static float distance_sq(const scene_mark *m, float x, float y, float *q) {
    float dx = m->to.x - m->from.x, dy = m->to.y - m->from.y;
    float px = x - m->from.x, py = y - m->from.y;
    float length_sq = dx * dx + dy * dy;
    float t = length_sq > 0 ? float_clamp((px * dx + py * dy) / length_sq, 0, 1)
                            : (float)(m->to.z > m->from.z); /* seen end-on: the nearer end */
    px -= t * dx;
    py -= t * dy;
    *q = m->from.z + t * (m->to.z - m->from.z);
    return px * px + py * py;
}

/* The depth by which a line may lie behind a surface and still count as lying on it: a small
 * constant, plus the rise of the surface within half the width of the line. */
static float depth_tolerance(const picture_scene *scene, uint32_t triangle, const scene_mark *m,
                             float q) {
    float near = scene->back.distance > 0 ? 1 + q / scene->back.distance : 1;
    float lift = DEPTH_TOLERANCE * near * near; /* dq / dz */
    float slope = abuti_cover_slope(scene, triangle);
    return lift + float_min(slope * (m->radius + 1), 12 * lift);
}

static void test_pixel(const picture_scene *scene, uint32_t mark, size_t pixel, float x, float y,
                       const visibility *surfaces, mark_layer *layer) {
    const scene_mark *m = &scene->marks[mark];
    float radius_sq = m->radius * m->radius;
    uint32_t last = NO_TRIANGLE;
    float allowed = 0;
    for (int i = 0; i < SAMPLES; i++) {
        float q;
        if (distance_sq(m, x + SAMPLE_X(i), y + SAMPLE_Y(i), &q) > radius_sq)
            continue;
        uint32_t triangle = surfaces->triangle[pixel][i];
        if (triangle != NO_TRIANGLE && triangle != last) {
            last = triangle;
            allowed = depth_tolerance(scene, triangle, m, q);
        }
        bool hidden = triangle != NO_TRIANGLE && q + allowed < surfaces->depth[pixel][i];
        float *depth = hidden ? &layer->hidden_depth[pixel][i] : &layer->depth[pixel][i];
        if (q > *depth) {
            *depth = q;
            (hidden ? layer->hidden : layer->mark)[pixel][i] = mark;
        }
    }
}

/* Reduces [x0, x1] to the pixels of a row that a line may touch: its intersection with the row,
 * extended by its width along the row. */
static void clip_to_row(const scene_mark *m, int tile_x, int y, int *x0, int *x1) {
    float dx = m->to.x - m->from.x, dy = m->to.y - m->from.y;
    float half = (m->radius + 1) * sqrtf(dx * dx + dy * dy);
    if (!(half < 1e4f * fabsf(dy)))
        return; /* nearly parallel to the row */
    float middle = m->from.x + ((float)y + 0.5f - m->from.y) * dx / dy - (float)tile_x;
    half /= fabsf(dy);
    *x0 = (int)float_clamp(middle - half, (float)*x0, TILE);
    *x1 = (int)float_clamp(middle + half, -1, (float)*x1);
}

static void test_mark(const picture_scene *scene, uint32_t mark, int tile_x, int tile_y,
                      const visibility *surfaces, mark_layer *layer) {
    const scene_mark *m = &scene->marks[mark];
    float box[4], q, far = m->radius + TILE; /* more than half the diagonal of the tile */
    float middle_x = (float)tile_x + TILE / 2, middle_y = (float)tile_y + TILE / 2;
    if (distance_sq(m, middle_x, middle_y, &q) > far * far)
        return;
    abuti_marks_box(scene, mark, box);
    for (int i = 0; i < 4; i++)
        box[i] = float_clamp(box[i] - (float)(i & 1 ? tile_y : tile_x), 0, TILE - 1);
    far = m->radius + 1;
    for (int y = (int)box[1]; y <= (int)box[3]; y++) {
        int x0 = (int)box[0], x1 = (int)box[2];
        clip_to_row(m, tile_x, tile_y + y, &x0, &x1);
        for (int x = x0; x <= x1; x++) {
            float px = (float)(tile_x + x), py = (float)(tile_y + y);
            if (distance_sq(m, px + 0.5f, py + 0.5f, &q) < far * far)
                test_pixel(scene, mark, (size_t)(y * TILE + x), px, py, surfaces, layer);
        }
    }
}

void abuti_marks_find(const picture_scene *scene, const bins *marks, size_t tile, int tile_x,
                      int tile_y, const visibility *surfaces, mark_layer *layer) {
    for (size_t i = 0; i < TILE_PIXELS; i++)
        for (size_t k = 0; k < SAMPLES; k++)
            layer->depth[i][k] = layer->hidden_depth[i][k] = EMPTY_DEPTH;
    memset(layer->mark, 0xff, sizeof layer->mark); /* NO_TRIANGLE */
    memset(layer->hidden, 0xff, sizeof layer->hidden);
    for (bin_iterator walk = abuti_bins_begin(marks, tile); bin_has_next(&walk);)
        test_mark(scene, bin_next(&walk), tile_x, tile_y, surfaces, layer);
}

/* Points have a darker rim, which distinguishes them from a surface of the same colour. */
static f3 mark_colour(const scene_mark *m, float x, float y) {
    if (!m->is_point)
        return m->paint.colour;
    float q, rim = float_max(m->radius * (1 - RIM_FRACTION), m->radius - 2);
    bool outer = distance_sq(m, x, y, &q) > rim * rim && m->radius > 1.5f;
    return outer ? f3_scale(m->paint.colour, 0.35f) : m->paint.colour;
}

void abuti_marks_draw(const picture_scene *scene, const mark_layer *layer, int tile_x, int tile_y,
                      bool hidden, sample_colours colours) {
    for (int pixel = 0; pixel < TILE_PIXELS; pixel++)
        for (int i = 0; i < SAMPLES; i++) {
            uint32_t mark = (hidden ? layer->hidden : layer->mark)[pixel][i];
            if (mark == NO_TRIANGLE)
                continue;
            if (hidden && layer->mark[pixel][i] != NO_TRIANGLE)
                continue; /* a nearer line covers it */
            const scene_mark *m = &scene->marks[mark];
            f3 colour = mark_colour(m, (float)(tile_x + pixel % TILE) + SAMPLE_X(i),
                                    (float)(tile_y + pixel / TILE) + SAMPLE_Y(i));
            float alpha = m->paint.alpha * (hidden ? HIDDEN_OPACITY : 1);
            colours[pixel][i] = f3_mix(colours[pixel][i], colour, alpha);
        }
}
