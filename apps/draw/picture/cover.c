/* Which samples a triangle covers, and its nearness there: the edge functions of raster_shared.h,
 * at 16 positions of a pixel besides its centre.
 *
 * Samples are odd multiples of 1/32 pixel away from the centre, so that edge functions change by
 * multiples of 2^(shift - 5) between them. In these units, rounded down, they have the same signs.
 * All samples of a pixel at once in 32-bit lanes took 0.78 of the processor time of a picture.
 */
#include "picture/picture.h"

#include <stdlib.h>

void abuti_triangle_box(const picture_scene *scene, uint32_t triangle, float box[4]) {
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    f3 a = scene->screen[corner[0]], b = scene->screen[corner[1]], c = scene->screen[corner[2]];
    box[0] = float_min(a.x, float_min(b.x, c.x));
    box[1] = float_min(a.y, float_min(b.y, c.y));
    box[2] = float_max(a.x, float_max(b.x, c.x));
    box[3] = float_max(a.y, float_max(b.y, c.y));
}

static raster_point raster_point_of(f3 p) {
    return (raster_point){(double)p.x, (double)p.y, (double)p.z};
}

bool abuti_cover_setup(const raster_lens *lens, f3 a, f3 b, f3 c, raster_rect in,
                       cover_setup *setup) {
    const raster_point p[3] = {raster_point_of(a), raster_point_of(b), raster_point_of(c)};
    const int down = (int)lens->shift - 5;
    raster_shape shape;
    for (int k = 0; k < 3; k++)
        if (!raster_is_inside(lens, p[k]))
            return false;
    raster_corners(lens, p[0], p[1], p[2], 0, 0, &shape);
    raster_rect r = raster_rect_clip(raster_rect_of(lens, &shape, 1), in);
    if ((shape.owner & 3) == RASTER_THIN || raster_rect_empty(r))
        return false;
    for (int k = 0; k < 3; k++) {
        raster_side side = raster_side_of(lens, &shape, k), *to = &setup->side[k];
        to->at = (side.at + side.dx * in.x0 + side.dy * in.y0) >> down;
        to->dx = side.dx / ((int64)1 << down);
        to->dy = side.dy / ((int64)1 << down);
        setup->most[k] = 15 * (llabs(to->dx) + llabs(to->dy)) / 32;
    }
    setup->x0 = r.x0 - in.x0;
    setup->y0 = r.y0 - in.y0;
    setup->x1 = r.x1 - in.x0;
    setup->y1 = r.y1 - in.y0;
    for (int k = 0; k < 3; k++) { /* long thin triangles have mostly empty bounding boxes */
        const raster_side *s = &setup->side[k];
        int x = s->dx > 0 ? setup->x1 : setup->x0, y = s->dy > 0 ? setup->y1 : setup->y0;
        if (raster_at(s, x, y) + setup->most[k] < 0)
            return false;
    }
    raster_plane(p[0], p[1], p[2], &shape);
    setup->q = shape.z + shape.zx * in.x0 + shape.zy * in.y0;
    setup->qx = shape.zx;
    setup->qy = shape.zy;
    setup->q_lo = float_min(a.z, float_min(b.z, c.z));
    setup->q_hi = float_max(a.z, float_max(b.z, c.z));
    return true;
}

bool abuti_cover_triangle(const picture_scene *scene, uint32_t triangle, int tile_x, int tile_y,
                          cover_setup *setup) {
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    raster_rect tile = {tile_x, tile_y, tile_x + TILE - 1, tile_y + TILE - 1};
    return abuti_cover_setup(&scene->lens, scene->screen[corner[0]], scene->screen[corner[1]],
                             scene->screen[corner[2]], tile, setup);
}

static float sample_depth(const cover_setup *setup, int x, int y, int sample) {
    float qx = (float)setup->qx, qy = (float)setup->qy;
    float q = (float)(setup->q + setup->qx * x + setup->qy * y);
    return float_clamp(q + (qx * (SAMPLE_X(sample) - 0.5f) + qy * (SAMPLE_Y(sample) - 0.5f)),
                       setup->q_lo, setup->q_hi);
}

unsigned abuti_cover_mask(const cover_setup *setup, int x, int y, const float depth[SAMPLES]) {
    int64 e[3];
    unsigned mask = 0;
    for (int k = 0; k < 3; k++) {
        e[k] = raster_at(&setup->side[k], x, y);
        if (e[k] + setup->most[k] < 0)
            return 0;
    }
    for (int i = 0; i < SAMPLES; i++) {
        bool covers = sample_depth(setup, x, y, i) > depth[i];
        for (int k = 0; k < 3; k++)
            covers &= e[k] + setup->side[k].dx / 32 * (2 * i - 15) +
                          setup->side[k].dy / 32 * (2 * SAMPLE_ROW(i) - 15) >=
                      0;
        mask |= (unsigned)covers << i;
    }
    return mask;
}

void abuti_cover_visible(const cover_setup *setup, uint32_t triangle, visibility *out) {
    for (int y = setup->y0; y <= setup->y1; y++)
        for (int x = setup->x0; x <= setup->x1; x++) {
            float *depth = out->depth[y * TILE + x];
            uint32_t *seen = out->triangle[y * TILE + x];
            const unsigned mask = abuti_cover_mask(setup, x, y, depth);
            for (int i = 0; mask >> i; i++)
                if (mask >> i & 1) {
                    depth[i] = sample_depth(setup, x, y, i);
                    seen[i] = triangle;
                }
        }
}

void abuti_cover_middle(const cover_setup *setup, float depth[TILE_PIXELS]) {
    for (int y = setup->y0; y <= setup->y1; y++)
        for (int x = setup->x0; x <= setup->x1; x++) {
            float here = cover_depth(setup, x, y);
            if (raster_covers(setup->side, x, y) && here > depth[y * TILE + x])
                depth[y * TILE + x] = here;
        }
}

float abuti_cover_slope(const picture_scene *scene, uint32_t triangle) {
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    raster_shape shape;
    raster_plane(raster_point_of(scene->screen[corner[0]]),
                 raster_point_of(scene->screen[corner[1]]),
                 raster_point_of(scene->screen[corner[2]]), &shape);
    return (float)(fabs(shape.zx) + fabs(shape.zy));
}
